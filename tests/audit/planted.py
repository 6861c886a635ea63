"""Plants faults in what devices send, for audits to find."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np

import deniable as dn
from deniable.arrays import Integers
from deniable.audit.devices import Devices, InBulk
from deniable.audit.turns import Side
from deniable.randomness.simulated import fixed
from deniable.study import Plan
from deniable.wire import Report, Wire

Client = Callable[[dict[str, object], bytes, int], bytes]


class Headed(Devices):
    """Right devices of a plan with headers and ids, and words that are the same in every run.

    Devices of a linked plan have one id each, unless they are not to be linked.
    """

    def __init__(self, plan: Plan, seed: int, is_linked: bool = True) -> None:
        self._is_linked = is_linked and plan.document.linked
        self.plan, self._right, self._prefix = plan, InBulk(plan, dn.seeded(seed)), Wire(plan.document).prefix
        self._draw = random.Random(seed)

    def answer(self, sides: Sequence[Side], who: Integers) -> Sequence[Sequence[bytes]]:
        rounds = self._right.answer(sides, who)
        ids = [self._draw.randbytes(16 * len(who)) for _ in rounds]
        ids = [ids[0]] * len(rounds) if self._is_linked else ids
        return [
            self._add_headers(number, *both) for number, both in enumerate(zip(rounds, ids, strict=True), 1)
        ]

    def _add_headers(self, number: int, bodies: Sequence[bytes], ids: bytes) -> list[bytes]:
        before = Report(self._prefix, number, bytes(16), b"").to_bytes()[:-16]
        return [before + ids[16 * i : 16 * i + 16] + body for i, body in enumerate(bodies)]


class Recorded(Devices):
    """Devices whose reports are kept: another audit that asks the same gets the same, without drawing it."""

    def __init__(self, devices: Headed) -> None:
        self.plan, self._devices = devices.plan, devices
        self._asked: list[Integers] = []
        self._sent: list[Sequence[Sequence[bytes]]] = []
        self._next: int | None = None

    def rewind(self) -> None:
        """From here on, send what was sent."""
        self._next = 0

    def answer(self, sides: Sequence[Side], who: Integers) -> Sequence[Sequence[bytes]]:
        if self._next is None:
            self._asked.append(who)
            self._sent.append(self._devices.answer(sides, who))
            return self._sent[-1]
        assert np.array_equal(self._asked[self._next], who), "another audit asks something else"
        self._next += 1
        return self._sent[self._next - 1]


class Correlated(Devices):
    """Devices that split, and use one noise for some of their attributes: the words of the first of them."""

    headed = False

    def __init__(self, plan: Plan, attributes: Sequence[int], seed: int) -> None:
        self.plan, self._attributes, self._words = plan, attributes, dn.seeded(seed)

    def answer(self, sides: Sequence[Side], who: Integers) -> Sequence[Sequence[bytes]]:
        codes = self.plan.encode([dict(side[0]) for side in sides])[:, who]
        shared, columns = np.empty(0, dtype=np.uint64), []
        for j, part in enumerate(self.plan.document.parts):
            words = self._words.take(part.words * len(who))
            if j in self._attributes:
                words = shared = shared if shared.size else words
            column = np.ascontiguousarray(part.privatize(codes[j], fixed(words)))
            columns.append(column.reshape(len(who), -1).view(np.uint8))
        return [[report.tobytes() for report in np.hstack(columns)]]


class Plain(Devices):
    """Devices that do not randomize one of several attributes, whose reports are a byte each."""

    headed = False

    def __init__(self, plan: Plan, attribute: int, seed: int) -> None:
        self.plan, self._attribute, self._right = plan, attribute, InBulk(plan, dn.seeded(seed))

    def answer(self, sides: Sequence[Side], who: Integers) -> Sequence[Sequence[bytes]]:
        codes = self.plan.encode([dict(side[0]) for side in sides])[self._attribute, who]
        (bodies,) = self._right.answer(sides, who)
        j = self._attribute
        return [
            [
                body[:j] + bytes([code]) + body[j + 1 :]
                for body, code in zip(bodies, codes.tolist(), strict=True)
            ]
        ]


class Changed(Devices):
    """Right devices of one attribute whose reports, a byte each, are then changed."""

    headed = False

    def __init__(self, plan: Plan, change: Callable[[int], int], seed: int) -> None:
        self.plan, self._change, self._right = plan, change, InBulk(plan, dn.seeded(seed))

    def answer(self, sides: Sequence[Side], who: Integers) -> Sequence[Sequence[bytes]]:
        (bodies,) = self._right.answer(sides, who)
        return [[bytes([self._change(body[0])]) for body in bodies]]


def clock_client(plan: Plan, reports_a_tick: int) -> Client:
    """A client that seeds its noise by a clock, which ticks every so many reports."""
    wire, count = Wire(plan.document), 0

    def report(answers: dict[str, object], secret: bytes, number: int) -> bytes:
        nonlocal count
        count += 1
        body = wire.bodies(plan.privatize([answers], dn.seeded(count // reports_a_tick)))[0]
        return Report(wire.prefix, number, secret[:16], body).to_bytes()

    return report


def id_client(plan: Plan, identify: Callable[[int, bytes], bytes], seed: int) -> Client:
    """A client with right bodies whose id is made of the answer to `x` and 16 random bytes."""
    wire, words = Wire(plan.document), dn.seeded(seed)

    def report(answers: dict[str, object], secret: bytes, number: int) -> bytes:
        body = wire.bodies(plan.privatize([answers], words))[0]
        name = identify(int(str(answers["x"])), secret[:16])
        return Report(wire.prefix, number, name, body).to_bytes()

    return report


def in_parity(answer: int, name: bytes) -> bytes:
    """An id whose number of ones is even or odd as the answer is."""
    odd = (int.from_bytes(name, "big").bit_count() + answer) % 2
    return bytes([name[0] ^ odd, *name[1:]])


def in_residue(answer: int, name: bytes) -> bytes:
    """An id that leaves the answer when it is divided by 5."""
    number = int.from_bytes(name, "big") >> 1  # so that what is added does not overflow
    return (number + (answer - number) % 5).to_bytes(16, "big")


def in_exclusive_or(answer: int, name: bytes) -> bytes:
    """An id whose bytes, joined by exclusive or, are the answer."""
    joined = reduce(lambda one, other: one ^ other, name[:15])
    return bytes([*name[:15], joined ^ answer])


def in_hash(answer: int, name: bytes) -> bytes:
    """An id whose third and fourth byte add up to a number whose place in a secret table is the answer."""
    table = random.Random(8).sample(range(256), 256)
    total = next(total for total in range(name[0], name[0] + 256) if table[total % 256] % 3 == answer)
    return bytes([*name[:3], (total - name[2]) % 256, *name[4:]])


def remember_before() -> Callable[[int, bytes], bytes]:
    """Ids whose last byte is the answer of the device before."""
    last = 0

    def identify(answer: int, name: bytes) -> bytes:
        nonlocal last
        name, last = bytes([*name[:15], last]), answer
        return name

    return identify


def stale_client(plan: Plan, seed: int) -> Client:
    """A client that reports what the device before answered."""
    wire, words, last = Wire(plan.document), dn.seeded(seed), {"x": "0"}

    def report(answers: dict[str, object], secret: bytes, number: int) -> bytes:
        nonlocal last
        body, last = wire.bodies(plan.privatize([last], words))[0], {"x": str(answers["x"])}
        return Report(wire.prefix, number, secret[:16], body).to_bytes()

    return report
