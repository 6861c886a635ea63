"""Plays the devices that are audited: anything that makes reports, many at a time or one by one."""

from __future__ import annotations

import inspect
import math
import os
import random
import secrets
import select
import signal
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple, final

import numpy as np

from deniable.arrays import Integers
from deniable.audit.turns import Answers, Side, Turns
from deniable.client import Client
from deniable.errors import InvalidParameter
from deniable.randomness import Words, checked_source
from deniable.randomness.simulated import remembering
from deniable.study import Plan
from deniable.wire import Report, Wire

Reporter = Callable[[Answers, bytes, int], bytes]
"""A client as a function: answers, the device's secret and the round give the bytes of a report; no bytes in
a round that is not its turn, where the plan has turns.
"""

_NO_CAP = math.inf
_END = b"\xff\xff\xff\xff"
_PATIENCE = 60.0  # seconds without a report, after which a copy is taken to hang


class Devices(ABC):
    """New devices, as many as are wanted."""

    headed: bool = True
    """Whether a report has the header of the wire; else it is a body only."""
    at_once: int = 1 << 17
    """How many devices are asked for at a time, at most."""

    @abstractmethod
    def answer(self, sides: Sequence[Side], who: Integers) -> Sequence[Sequence[bytes]]:
        """For each round, the report of each new device; device i answers as sides[who[i]]."""

    def start_twice(self, side: Side, count: int) -> Copies:
        """Makes reports of devices that answer alike, from two fresh starts or copies; they must differ."""
        return Copies(None, "it cannot be started or copied from here")

    def itself(self) -> Devices | None:
        """The devices themselves, where other code than theirs makes the reports."""
        return None

    def faults(self) -> Sequence[str]:
        """What was wrong with when they answered, in words."""
        return ()


@final
class InBulk(Devices):
    """The devices of a plan, by the code that a `Client` runs, for many of them at once.

    Where it has turns, reports are those of a device's turns, one after the other.
    """

    headed = False

    def __init__(self, plan: Plan, words: Words | None = None) -> None:
        self._plan, self._wire = plan, Wire(plan.document)
        self._answering = plan.with_turns(None)
        self._words = checked_source(words)

    def answer(self, sides: Sequence[Side], who: Integers) -> Sequence[Sequence[bytes]]:
        words = self._words
        if self._plan.document.rounds is not None:
            # other devices, with other secrets, in every block
            words = remembering(int(words.take(1)[0]), words)
        reports = []
        for records in zip(*sides, strict=True):
            codes = np.ascontiguousarray(self._plan.encode(list(map(dict, records)))[:, who])
            reports.append(self._wire.bodies(self._answering.privatize_codes(codes, words)))
        return reports

    def start_twice(self, side: Side, count: int) -> Copies:
        """Makes the reports of clients, one by one, in two runs from the same start."""
        everybody = np.zeros(count, dtype=np.int64)
        first, second = (self.itself().answer([side[:1]], everybody)[0] for _ in range(2))
        return Copies((first, second))

    def itself(self) -> OneByOne:
        return OneByOne(client_of(self._plan), self._plan)


@final
class OneByOne(Devices):
    """Devices that a function plays, one report at a time."""

    at_once = 1 << 13

    def __init__(self, report: object, plan: Plan | None) -> None:
        if not callable(report):
            raise InvalidParameter(
                "a client is a plan, a dn.Client, a mechanism, a command such as 'node client.js', or a "
                "function of answers, the device's secret and the round that returns a report's bytes, got "
                f"{type(report).__name__}"
            )
        self._report = _pass_arguments(report)
        self._turns = Turns(plan)

    def answer(self, sides: Sequence[Side], who: Integers) -> Sequence[Sequence[bytes]]:
        rounds: list[list[bytes]] = [[] for _ in sides[0]]
        for i in who.tolist():
            secret = secrets.token_bytes(32)
            questions = self._turns.ask(sides[i], secret)
            reports = [_read_bytes(self._report(turn.answers, secret, turn.round)) for turn in questions]
            for number, report in enumerate(self._turns.keep(questions, reports)):
                rounds[number].append(report)
        return rounds

    def faults(self) -> Sequence[str]:
        return self._turns.faults()

    def start_twice(self, side: Side, count: int) -> Copies:
        """From two copies of this process as it is, each with secrets of its own."""
        return _run_copies(lambda: (self._begin(side) for _ in range(count)))

    def _begin(self, side: Side) -> bytes:
        """The first report of a new device."""
        secret = secrets.token_bytes(32)
        first = next(question for question in self._turns.ask(side[:1], secret) if question.is_turn)
        return _read_bytes(self._report(first.answers, secret, first.round))


def _pass_arguments(report: Callable[..., bytes]) -> Reporter:
    """Makes a function of answers, secret and round from one that takes fewer; defaults stay."""
    try:
        signature = inspect.signature(report)
    except (TypeError, ValueError):  # some that are built in do not say
        return report
    required = [
        parameter
        for parameter in signature.parameters.values()
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
    ]
    count = 3 if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in required) else len(required)
    if not 1 <= count <= 3 or any(parameter.kind is parameter.KEYWORD_ONLY for parameter in required):
        name = getattr(report, "__name__", type(report).__name__)
        raise InvalidParameter(
            "a client is a function of answers, the device's secret and the round, or of the first one or "
            f"two of them; {name}{signature} is not"
        )
    return lambda *arguments: report(*arguments[:count])


def client_of(plan: Plan) -> Reporter:
    """Makes a function of the client of this library: a new device for every secret.

    >>> import deniable as dn
    >>> plan = dn.Study({"color": ["red", "green", "blue"]}, epsilon=1.0).plan(people=1000)
    >>> len(client_of(plan)({"color": "red"}, bytes(32), 1))
    30
    """

    def report(answers: Answers, secret: bytes, number: int) -> bytes:
        client = Client(plan, secret=secret, plan_cap=_NO_CAP)
        if number not in client.turns:
            return b""
        known = {name: answers[name] for name in client.questions if name in answers}
        unknown = {name: answer for name, answer in answers.items() if name not in plan.names}
        return client.report(known | unknown, number).to_bytes()

    return report


def _read_bytes(report: object) -> bytes:
    if isinstance(report, Report):
        return report.to_bytes()
    if not isinstance(report, bytes | bytearray):
        raise InvalidParameter(f"the client must return the bytes of a report, got {type(report).__name__}")
    return bytes(report)


def make_devices(client: object, plan: Plan | None, words: Words | None) -> tuple[Devices, Plan | None]:
    """Devices like this client, and the plan that is given, or theirs where it is known."""
    if isinstance(client, type):
        raise InvalidParameter(
            f"a client is an object, not its class: give {client.__name__}(plan, secret=...), or the plan "
            "itself"
        )
    if isinstance(client, Client):
        if type(client) is not Client or "report" in vars(client):  # not ours, whatever it is called
            return OneByOne(_like(client), client.plan), client.plan if plan is None else plan
        client = client.plan
    if isinstance(client, Plan):
        return InBulk(client, words), client if plan is None else plan
    if isinstance(client, Devices):
        return client, getattr(client, "plan", None) if plan is None else plan
    return OneByOne(client, plan), plan


def _like(client: Client) -> Reporter:
    """New devices of this client's class; where `report` was put into the one object, that object."""
    if "report" in vars(client):
        return lambda answers, _, number: client.report(answers, number).to_bytes()
    kind, plan = type(client), client.plan
    try:
        kind(plan, secret=bytes(32))
    except TypeError as problem:
        raise InvalidParameter(
            f"a new device is {kind.__name__}(plan, secret=...), but that is refused ({problem}); give a "
            "function of answers, the device's secret and the round that returns a report's bytes"
        ) from None

    def report(answers: Answers, secret: bytes, number: int) -> bytes:
        device = kind(plan, secret=secret)
        return device.report(answers, number).to_bytes() if number in device.turns else b""

    return report


class Copies(NamedTuple):
    """What two copies sent; or why there is nothing to compare."""

    reports: tuple[Sequence[bytes], Sequence[bytes]] | None
    why: str = ""


def _run_copies(make: Callable[[], Iterable[bytes]]) -> Copies:
    """What `make` gives in two copies of this process, one after the other."""
    if not hasattr(os, "fork"):
        return Copies(None, "it cannot be copied on this system")
    runs: list[Sequence[bytes]] = []
    for _ in range(2):
        try:
            reports = _run_copy(make)
        except OSError as problem:
            return Copies(None, f"it cannot be copied here ({problem.strerror})")
        if reports is None:
            return Copies(None, "a copy of it does not answer")
        runs.append(reports)
    return Copies((runs[0], runs[1]))


def _run_copy(make: Callable[[], Iterable[bytes]]) -> Sequence[bytes] | None:
    """All reports of a copy; None if it fails or is silent for too long."""
    reading, writing = os.pipe()
    state = random.getstate()  # a copy would draw it again, and hide that somebody has seeded it
    try:
        with warnings.catch_warnings():
            # that other threads are not copied: a copy that waits for one is ended below
            warnings.simplefilter("ignore")
            child = os.fork()
    except OSError:
        os.close(reading)
        os.close(writing)
        raise
    if child == 0:  # pragma: no cover - what runs here is not measured
        random.setstate(state)
        _tell(writing, make)
    os.close(writing)
    said = bytearray()
    try:
        while select.select([reading], [], [], _PATIENCE)[0] and (part := os.read(reading, 1 << 16)):
            said += part
    finally:
        os.close(reading)
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        with suppress(ChildProcessError):  # where nobody waits for children, they are gone by themselves
            os.waitpid(child, 0)
    return _read(bytes(said))


def _tell(writing: int, make: Callable[[], Iterable[bytes]]) -> None:  # pragma: no cover - as above
    """Answers in the copy, and ends it here: nothing at the end of this process is done twice."""
    try:
        with os.fdopen(writing, "wb", buffering=0) as pipe:
            for report in make():
                pipe.write(len(report).to_bytes(4, "little") + report)
            pipe.write(_END)
    finally:
        os._exit(0)


def _read(said: bytes) -> Sequence[bytes] | None:
    """Reports, each with its length before it; without the mark at the end something went wrong."""
    if not said.endswith(_END):
        return None
    reports, position = [], 0
    while position < len(said) - len(_END):
        size = int.from_bytes(said[position : position + 4], "little")
        reports.append(said[position + 4 : position + 4 + size])
        position += 4 + size
    return reports
