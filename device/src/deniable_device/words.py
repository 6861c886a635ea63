"""Words of 64 bits, all from the secret of a device: the same secret gives the same report for ever."""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Sequence
from typing import Callable, Union

FULL = 1 << 64
Label = Union[str, int, bytes]
Row = Callable[[int], int]
"""Which word stands in a column, counted from the first of those that a mechanism has."""


def chance(word: int, threshold: int) -> bool:
    """Whether an event of chance threshold / 2^64 happens."""
    return word < threshold


def below(word: int, count: int) -> int:
    """A number from 0 to count - 1."""
    return word * count >> 64


def keep_or_other(value: int, k: int, keep: int, row: Row) -> int:
    """The value with a chance, else one of the k - 1 others."""
    if chance(row(0), keep):
        return value
    other = below(row(1), k - 1)
    return other + (other >= value)


def choose(word: int, weights: Sequence[int]) -> int:
    """The number of the first weight at which the sum of the weights exceeds the word."""
    for number, weight in enumerate(weights):
        word -= weight
        if word < 0:
            return number
    raise ValueError("the weights add up to less than the word")


def distinct(row: Row, count: int, size: int) -> list[int]:
    """The `size` different numbers below `count` that Floyd's sampling draws, in the order of the draws."""
    drawn: dict[int, None] = {}
    for turn in range(size):
        number = below(row(turn), count - size + turn + 1)
        drawn[count - size + turn if number in drawn else number] = None
    return list(drawn)


def mask(values: Iterable[int]) -> int:
    """The number whose bits of these places are set."""
    total = 0
    for value in values:
        total |= 1 << value
    return total


def places(bits: int) -> list[int]:
    """The ascending places of the bits that are set."""
    return [place for place, digit in enumerate(reversed(f"{bits:b}")) if digit == "1"]


def bit_words(k: int) -> int:
    """How many words k bits take: 64 for each 64 bits."""
    return 64 * -(-k // 64)


def random_bits(k: int, truth: int, one: int, zero: int, row: Row) -> list[int]:
    """The places of k bits that are set, where those of `truth` are true."""
    return coins(k, [(truth, one), (~truth, zero)], [row])


def coins(k: int, limits: Sequence[tuple[int, int]], rows: Sequence[Row]) -> list[int]:
    """The places of k bits that are set: each compares a number with the threshold of its place, of 64 binary
    digits for each row of words.

    A word holds one digit of 64 numbers, so 64 bits are compared at once, until all are decided."""
    full, digits = FULL - 1, 64 * len(rows)
    chosen: list[int] = []
    for first in range(0, k, 64):
        smaller, equal = 0, min(full, (1 << k - first) - 1)
        for digit in range(digits):
            word, limit = rows[digit // 64](first + digit % 64), 0
            for bits, threshold in limits:
                if threshold >> digits - 1 - digit & 1:
                    limit |= bits >> first & full
            smaller |= equal & limit & ~word
            equal &= ~(word ^ limit)
            if not equal:
                break
        chosen += [first + place for place in places(smaller)]
    return chosen


def label_bytes(label: Label) -> bytes:
    """A label with its kind and its length, so that no two lists of labels have the same bytes."""
    if isinstance(label, str):
        kind, data = b"s", label.encode()
    elif isinstance(label, int):
        kind, data = b"i", str(label).encode()
    else:
        kind, data = b"b", label
    return kind + len(data).to_bytes(8, "little") + data


class Stream:
    """The key stream of a secret and labels, in blocks of 32 bytes."""

    def __init__(self, secret: bytes, *labels: Label) -> None:
        self.secret = secret
        self.prefix = b"".join(map(label_bytes, labels))
        self.blocks: dict[int, bytes] = {}

    def block(self, number: int) -> bytes:
        """The block of a number, from 0."""
        if number not in self.blocks:
            message = self.prefix + number.to_bytes(8, "little")
            self.blocks[number] = hmac.digest(self.secret, message, "sha256")
        return self.blocks[number]

    def word(self, column: int) -> int:
        """The word of a column, from 0."""
        start = column % 4 * 8
        return int.from_bytes(self.block(column // 4)[start : start + 8], "little")


class Strand:
    """The plans whose words are kept: the first that has a question, then those whose first round is another.

    `firsts` are the first rounds of each, where a kept value may become another."""

    def __init__(self, plans: Sequence[str], firsts: Sequence[tuple[int, int, tuple[int, ...]]]) -> None:
        self.plans, self.firsts = plans, firsts


class Device:
    """All words of one device for one round of a plan.

    `strands` are those of the record and of each attribute. `fresh` are words of a test, for the whole
    record, which take the place of the noise."""

    def __init__(
        self,
        secret: bytes,
        plan: str,
        round: int,
        strands: Sequence[Strand],
        fresh: Sequence[int] | None = None,
    ) -> None:
        self.secret, self.plan, self.round, self.strands, self.fresh = secret, plan, round, strands, fresh

    def kept(self, label: int, strand: int = 0, plan: int = 0) -> Row:
        """Words that are the same in all rounds: for value v those of v + 1, for no value those of 0."""
        return Stream(self.secret, self.strands[strand].plans[plan], label).word

    def noise(self, attribute: int, label: Label, column: int) -> Row:
        """Words of this round, for what begins at a column of the record."""
        if self.fresh is not None:
            fresh = self.fresh
            return lambda number: fresh[column + number]
        return Stream(self.secret, self.plan, "noise", self.round, attribute, label).word

    def pseudonym(self) -> bytes:
        """The 16 bytes by which the reports of one person are known, where a plan links its rounds."""
        return Stream(self.secret, self.plan, "linked").block(0)[:16]

    def turns(self, number: int, rounds: int) -> list[int]:
        """The rounds in which this device answers, in order, where a plan has it draw so many of them."""
        drawn = distinct(Stream(self.secret, self.plan, "turns").word, rounds, number)
        return sorted(place + 1 for place in drawn)

    def report_id(self, body: bytes) -> bytes:
        """The 16 bytes by which a report that is sent twice is known."""
        return Stream(self.secret, self.plan, "id", self.round, body).block(0)[:16]


class Draws:
    """The words of one attribute: its number, the first of its columns, and how many of these were used."""

    def __init__(self, device: Device, attribute: int, column: int, used: int = 0) -> None:
        self.device, self.attribute, self.column, self.used = device, attribute, column, used

    def noise(self, label: int) -> Row:
        """Words of this round for value v, whose label is v + 1; 0 is for no value."""
        row, used = self.device.noise(self.attribute, label, self.column), self.used
        return lambda number: row(used + number)

    @property
    def strand(self) -> Strand:
        """The plans whose words the attribute keeps."""
        return self.device.strands[1 + self.attribute]

    def kept(self, label: int, plan: int = 0) -> Row:
        """Words of all rounds for value v, whose label is v + 1; 0 is for no value."""
        row, start = self.device.kept(label, 1 + self.attribute, plan), self.column + self.used
        return lambda number: row(start + number)

    def after(self, used: int) -> Draws:
        """The words that follow the first `used` of these."""
        return Draws(self.device, self.attribute, self.column, self.used + used)
