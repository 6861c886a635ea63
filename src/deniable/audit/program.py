"""Audits a client that is a program, in any language: lines of JSON in, lines of reports out.

Each line that the program reads asks for one report: {"answers": {...}, "round": 1, "secret": "00ff..."}. The
secret is the device's, 64 hexadecimal digits, another one for each new device; a device's rounds come one
after the other. For each line the program writes one line: the report's bytes in hexadecimal or base64, or
its JSON form. It may answer line by line or all at the end, and ends when its input does.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
import os
import queue
import re
import secrets
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from tempfile import TemporaryFile
from typing import IO, final

import numpy as np

from deniable.arrays import Integers
from deniable.audit.devices import Copies, Devices, Side
from deniable.audit.observations import Unreadable
from deniable.errors import DeniableError, InvalidParameter
from deniable.study import Plan
from deniable.wire import Refused, Wire

_HEXADECIMAL = re.compile(rb"(?:[0-9a-fA-F]{2})+")
_LONGEST = 1 << 24  # bytes of a line
_SHOWN = 60  # characters of what cannot be read
_WHY = {
    "malformed": "it is none",
    "form": "not canonical: sorted keys, no spaces",
    "version": "another version",
    "plan": "another plan",
    "round": "another round",
    "size": "another size",
}
_ENDING = 1.0  # seconds that a program has to end once its output has ended
_PAUSE = 0.1  # seconds between looks at whether the program still moves


class ProgramFailed(DeniableError):
    """A program that could not be audited: it did not start, ended too early, hung, or wrote something else
    than reports.
    """


@final
class Program(Devices):
    """Devices that a program plays; it is started again for every block of them.

    >>> import sys
    >>> Program([sys.executable, "-c", "print('00ff')"], None).start_twice(({"color": "red"},), 1).reports
    ([b'\\x00\\xff'], [b'\\x00\\xff'])
    """

    at_once = 1 << 14

    def __init__(self, command: str | Sequence[str], plan: Plan | None, timeout: float = 30.0) -> None:
        try:
            self._command = (
                shlex.split(command) if isinstance(command, str) else [str(part) for part in command]
            )
        except ValueError as problem:
            raise InvalidParameter(
                f"the command {command!r} cannot be read ({problem}); quote it as in a shell"
            ) from None
        if not self._command:
            raise InvalidParameter("a command names a program, such as 'node client.js', got none")
        if not timeout > 0:
            raise InvalidParameter(f"timeout is a positive number of seconds, got {timeout}")
        self.plan, self._timeout = plan, timeout
        self._wire = None if plan is None else Wire(plan.document)
        self.headed = plan is not None

    def answer(self, sides: Sequence[Side], who: Integers) -> Sequence[Sequence[bytes]]:
        texts = [[json.dumps(dict(answers), ensure_ascii=False) for answers in side] for side in sides]
        rounds = len(sides[0])
        flat = self._run(self._lines(texts, who), len(who) * rounds)
        return [flat[number::rounds] for number in range(rounds)]

    def start_twice(self, side: Side, count: int) -> Copies:
        """Both starts at once, so that a seed from the clock is the same."""
        nobody = np.zeros(count, dtype=np.int64)
        with ThreadPoolExecutor(2) as pool:
            first, second = pool.map(lambda _: self.answer([side[:1]], nobody)[0], range(2))
        return Copies((first, second))

    @staticmethod
    def _lines(texts: Sequence[Sequence[str]], who: Integers) -> Iterator[bytes]:
        for i in who.tolist():
            secret = secrets.token_hex(32)
            for number, text in enumerate(texts[i], 1):
                yield f'{{"answers": {text}, "round": {number}, "secret": "{secret}"}}\n'.encode()

    def _run(self, lines: Iterator[bytes], count: int) -> list[bytes]:
        """One start of the program: `count` lines in, `count` reports out."""
        with TemporaryFile() as complaints:
            try:
                process = subprocess.Popen(
                    self._command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=complaints,
                    bufsize=0,
                    start_new_session=True,
                )
            except OSError as problem:
                raise ProgramFailed(f"{self._command[0]!r} cannot be started: {problem.strerror}") from None
            feeding, reading = _Feeding(process, lines), _Reading(process)
            try:
                return self._read(process, feeding, reading, count, complaints)
            finally:
                _end(process)
                reading.stop()
                feeding.thread.join()
                for pipe in (process.stdin, process.stdout):
                    if pipe is not None:
                        pipe.close()

    def _read(
        self,
        process: subprocess.Popen[bytes],
        feeding: _Feeding,
        reading: _Reading,
        count: int,
        complaints: IO[bytes],
    ) -> list[bytes]:
        reports: list[bytes] = []
        rest, moved, fed = b"", time.monotonic(), -1
        while True:
            if feeding.done != fed:
                moved, fed = time.monotonic(), feeding.done
            try:
                chunk = reading.chunks.get(timeout=_PAUSE)
            except queue.Empty:
                if time.monotonic() - moved > self._timeout:
                    raise ProgramFailed(
                        f"the program hangs: for {self._timeout:g} s it has neither read nor written; it had "
                        f"written {len(reports)} of {count} reports. Does it end its lines, and flush them "
                        "when its input ends?"
                    ) from None
                continue
            moved = time.monotonic()
            if not chunk:
                break
            *lines, rest = (rest + chunk).split(b"\n")
            reports += [self._report(line, len(reports) + i) for i, line in enumerate(lines, 1)]
            if len(reports) > count or len(rest) > _LONGEST:
                raise ProgramFailed(
                    f"the program writes more than a line for each of the {count} lines that it was given"
                )
        if rest:
            reports.append(self._report(rest, len(reports) + 1))
        if len(reports) != count:
            raise ProgramFailed(
                f"the program ended after {len(reports)} of {count} "
                f"reports{self._last_words(process, complaints)}"
            )
        with contextlib.suppress(subprocess.TimeoutExpired):  # one that does not end is ended
            if process.wait(_ENDING):
                raise ProgramFailed(
                    f"the program wrote all {count} reports and failed "
                    f"then{self._last_words(process, complaints)}"
                )
        return reports

    def _last_words(self, process: subprocess.Popen[bytes], complaints: IO[bytes]) -> str:
        """How it ended, and the line of stderr that says most: the last that names an error, or the last."""
        try:
            code = f", with exit code {process.wait(self._timeout)}"
        except subprocess.TimeoutExpired:
            code = ", closing its output without ending"
        complaints.seek(0)
        said = [line for line in complaints.read().decode(errors="replace").splitlines() if line.strip()]
        errors = [line for line in said if "error" in line.casefold()]
        words = f"; it said: {(errors or said)[-1].strip()[:500]}" if said else ", without a word on stderr"
        return code + words

    def _report(self, line: bytes, number: int) -> bytes:
        """Reads the bytes of a report from its line, or its text if a collector would refuse it."""
        text = line.strip()
        if _HEXADECIMAL.fullmatch(text):
            return bytes.fromhex(text.decode())
        if text.startswith(b"{"):
            if self._wire is None:
                return text
            try:
                return self._wire.from_json(text).to_bytes()
            except Refused as problem:
                unread = Unreadable(text)
                unread.reason = _WHY[problem.reason]
                return unread
        try:
            if text:
                return base64.b64decode(text, validate=True)
        except binascii.Error:
            pass
        excerpt = text.decode(errors="replace")[:_SHOWN]
        raise ProgramFailed(
            f"line {number} of the program's output is no report in hexadecimal, base64 or JSON: {excerpt!r}"
        )


def _end(process: subprocess.Popen[bytes]) -> None:
    """The program, and what it has started, which would keep its pipes open."""
    if hasattr(os, "killpg") and process.returncode is None:  # else the number may be another's by now
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()


@final
class _Feeding:
    """Writes lines to a program as fast as it reads them, and ends its input."""

    def __init__(self, process: subprocess.Popen[bytes], lines: Iterator[bytes]) -> None:
        self.done = 0
        """How many bytes the program has taken."""
        self.thread = threading.Thread(target=self._feed, args=(process, lines), daemon=True)
        self.thread.start()

    def _feed(self, process: subprocess.Popen[bytes], lines: Iterator[bytes]) -> None:
        assert process.stdin is not None
        waiting = b""
        try:
            for line in lines:
                waiting += line
                if len(waiting) > 1 << 15:
                    waiting = self._write(process.stdin, waiting)
            while waiting:
                waiting = self._write(process.stdin, waiting)
            process.stdin.close()
        except OSError:  # it has ended, or was ended: the reader says how
            pass

    def _write(self, pipe: IO[bytes], waiting: bytes) -> bytes:
        written = pipe.write(waiting)
        self.done += written
        return waiting[written:]


@final
class _Reading:
    """Takes what a program writes as it comes, a little ahead; an empty chunk is its end."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.chunks: queue.Queue[bytes] = queue.Queue(maxsize=16)
        self._stopped = False
        self._thread = threading.Thread(target=self._take, args=(process,), daemon=True)
        self._thread.start()

    def _take(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        chunk = b"."
        while chunk and not self._stopped:
            chunk = process.stdout.read(1 << 16)
            self.chunks.put(chunk)

    def stop(self) -> None:
        """What is still to come from a program that has ended is dropped."""
        self._stopped = True
        while self._thread.is_alive():
            with contextlib.suppress(queue.Empty):
                self.chunks.get(timeout=_PAUSE)
