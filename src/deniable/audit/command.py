"""Runs a program that reads lines and writes lines: how it is started, fed, waited for and ended."""

from __future__ import annotations

import contextlib
import os
import queue
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from tempfile import TemporaryFile
from typing import IO, TypeVar, final

from deniable.errors import DeniableError, InvalidParameter

T = TypeVar("T")

_LONGEST = 1 << 24  # bytes of a line
_ENDING = 1.0  # seconds that a program has to end once its output has ended
_PAUSE = 0.1  # seconds between looks at whether the program still moves


class ProgramFailed(DeniableError):
    """A program that could not be tested: it did not start, ended too early, hung, or wrote something else
    than what it was asked for.
    """


@final
class Command:
    """A program that writes a line for each line that it reads; it is started again for each run."""

    def __init__(self, command: str | Sequence[str], timeout: float = 30.0) -> None:
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
        self._timeout = timeout

    def run(
        self, lines: Iterator[bytes], count: int, read: Callable[[bytes, int], T], what: str = "reports"
    ) -> list[T]:
        """Start the program once, and read `count` lines, each with its number from 1 on."""
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
                return self._read(process, feeding, reading, count, complaints, read, what)
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
        read: Callable[[bytes, int], T],
        what: str,
    ) -> list[T]:
        answers: list[T] = []
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
                        f"written {len(answers)} of {count} {what}. Does it end its lines, and flush them "
                        "when its input ends?"
                    ) from None
                continue
            moved = time.monotonic()
            if not chunk:
                break
            *lines, rest = (rest + chunk).split(b"\n")
            answers += [read(line, len(answers) + i) for i, line in enumerate(lines, 1)]
            if len(answers) > count or len(rest) > _LONGEST:
                raise ProgramFailed(
                    f"the program writes more than a line for each of the {count} lines that it was given"
                )
        if rest:
            answers.append(read(rest, len(answers) + 1))
        if len(answers) != count:
            raise ProgramFailed(
                f"the program ended after {len(answers)} of {count} "
                f"{what}{self._last_words(process, complaints)}"
            )
        with contextlib.suppress(subprocess.TimeoutExpired):  # one that does not end is ended
            if process.wait(_ENDING):
                raise ProgramFailed(
                    f"the program wrote all {count} {what} and failed "
                    f"then{self._last_words(process, complaints)}"
                )
        return answers

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
