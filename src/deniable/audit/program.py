"""Audits a client that is a program, in any language: lines of JSON in, lines of reports out.

Each line that the program reads asks for one report: {"answers": {...}, "round": 1, "secret": "00ff..."}. The
secret is the device's, 64 hexadecimal digits, another one for each new device; a device's rounds come one
after the other. For each line the program writes one line: the report's bytes in hexadecimal or base64, or
its JSON form; where the plan has turns, an empty line in a round that is not its turn. It may answer line by
line or all at the end, and ends when its input does.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import secrets
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import final

import numpy as np

from deniable.arrays import Integers
from deniable.audit.command import Command, ProgramFailed
from deniable.audit.devices import Copies, Devices
from deniable.audit.observations import Unreadable
from deniable.audit.turns import Question, Side, Turns
from deniable.study import Plan
from deniable.wire import Refused, Wire

_HEXADECIMAL = re.compile(rb"(?:[0-9a-fA-F]{2})+")
_SHOWN = 60  # characters of what cannot be read
_WHY = {
    "malformed": "it is none",
    "form": "not canonical: sorted keys, no spaces",
    "version": "another version",
    "plan": "another plan",
    "round": "another round",
    "size": "another size",
}


@final
class Program(Devices):
    """Devices that a program plays; it is started again for every block of them.

    >>> import sys
    >>> Program([sys.executable, "-c", "print('00ff')"], None).start_twice(({"color": "red"},), 1).reports
    ((b'\\x00\\xff',), (b'\\x00\\xff',))
    """

    at_once = 1 << 14

    def __init__(self, command: str | Sequence[str], plan: Plan | None, timeout: float = 30.0) -> None:
        self._command = Command(command, timeout)
        self.plan = plan
        self._wire = None if plan is None else Wire(plan.document)
        self._turns = Turns(plan)
        self.headed = plan is not None

    def answer(self, sides: Sequence[Side], who: Integers) -> Sequence[Sequence[bytes]]:
        texts = {
            id(answers): json.dumps(dict(answers), ensure_ascii=False) for side in sides for answers in side
        }
        asked = [self._ask(sides[i]) for i in who.tolist()]
        lines = (
            f'{{"answers": {texts[id(answers)]}, "round": {number}, "secret": "{secret}"}}\n'.encode()
            for secret, questions in asked
            for answers, number, _ in questions
        )
        count = sum(len(questions) for _, questions in asked)
        answered = iter(self._command.run(lines, count, self._report))
        devices = [
            self._turns.keep(questions, list(islice(answered, len(questions)))) for _, questions in asked
        ]
        return list(zip(*devices, strict=True))

    def start_twice(self, side: Side, count: int) -> Copies:
        """Both starts at once, so that a seed from the clock is the same."""
        nobody = np.zeros(count, dtype=np.int64)
        with ThreadPoolExecutor(2) as pool:
            first, second = pool.map(lambda _: self.answer([side[:1]], nobody)[0], range(2))
        return Copies((first, second))

    def _ask(self, side: Side) -> tuple[str, list[Question]]:
        """The secret of a new device, and what it is asked."""
        secret = secrets.token_bytes(32)
        return secret.hex(), self._turns.ask(side, secret)

    def faults(self) -> Sequence[str]:
        return self._turns.faults()

    def _report(self, line: bytes, number: int) -> bytes:
        """Reads the bytes of a report from its line, or its text if a collector would refuse it."""
        text = line.strip()
        if not text and self._turns.are_drawn:
            return b""
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
