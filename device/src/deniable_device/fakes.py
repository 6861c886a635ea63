"""Fakes: reports of nobody, in place of the answers that a record does not hold.

A fake has pairs (x, y): how much likelier a report is from a value, and from another, than from the fake."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from deniable_device.document import Json, fields, kind_of, threshold
from deniable_device.errors import Refused
from deniable_device.mechanisms import (
    BitFlip,
    Direct,
    Drawn,
    Hadamard,
    Hashed,
    Mechanism,
    Memoized,
    MemoizedBuckets,
    Pooled,
    Subset,
    Unary,
    down,
    fewest,
    hash_function,
    most,
    power,
    read_mechanism,
    up,
)
from deniable_device.words import FULL, Draws, Row, below, choose, distinct

Pairs = list[tuple[Fraction, Fraction]]
LANE = 12
"""The bytes of a lane of a long integer."""
SETS = ("unary", "subset", "packed-subset", "hashed", "pooled", "hadamard")


class Fake(ABC):
    """A report of nobody in the form of a part. `words` is how many columns it takes."""

    parts: ClassVar[tuple[str, ...]]
    """The kinds that its part may have."""
    part: Mechanism
    words: int

    @abstractmethod
    def privatize(self, draws: Draws) -> Json:
        """The part that stands for no answer."""

    @abstractmethod
    def first_round(self) -> Fake:
        """The same fake of what the device keeps for all rounds."""

    @abstractmethod
    def fractions(self, p: Fraction, q: Fraction, g: int) -> list[Fraction]:
        """How likely a fake has a value that a report supports, at least and at most."""

    @abstractmethod
    def set_pairs(self, supported: Fraction, unsupported: Fraction) -> Pairs:
        """The pairs, from how much a report speaks for a value that it supports, and for another."""

    def pairs(self, reports: int) -> Pairs:
        """The pairs after so many reports of one value."""
        part = self.part
        if isinstance(part, (Direct, Hashed, Pooled)):
            p, q, low, high = chances(part.keep, size_of(part))
            return [
                pair
                for f in self.fractions(p, q, size_of(part))
                for pair in [*both(p / f, low / f), (high / f, low / f)]
            ]
        if isinstance(part, (Memoized, MemoizedBuckets)):
            rounds = part if isinstance(part, Memoized) else part.buckets
            return self.repeated_pairs(rounds, reports)
        if isinstance(part, Subset):
            return self.set_pairs(
                Fraction(part.keep * part.k, FULL * part.members),
                Fraction((FULL - part.keep) * part.k, FULL * (part.k - part.members)),
            )
        if isinstance(part, Hadamard):
            return self.set_pairs(Fraction(2 * part.keep, FULL), Fraction(2 * (FULL - part.keep), FULL))
        assert isinstance(part, (Unary, BitFlip))
        supported, unsupported = up(part.one, part.zero), 1 / down(part.one, part.zero)
        if isinstance(part, BitFlip) and part.bits == 1:
            return [*both(supported, Fraction(1)), *both(Fraction(1), unsupported)]
        return self.set_pairs(supported, unsupported)

    def repeated_pairs(self, rounds: Memoized, reports: int) -> Pairs:
        """The pairs around a part whose first answer is kept."""
        first, second, k = rounds.first, rounds.second, rounds.k
        if isinstance(first, Direct) and isinstance(second, Direct):
            p, q, _, _ = chances(first.keep, k)
            gain = power(Fraction(second.keep * (k - 1), FULL - second.keep), reports) - 1
            return [
                pair
                for f in self.fractions(p, q, k)
                for pair in both((1 + gain * p) / (1 + gain * f), (1 + gain * q) / (1 + gain * f))
            ]
        assert isinstance(first, Unary)
        rise, fall = rounds.powers(reports)
        one, zero = first.one, first.zero
        return self.set_pairs(
            (one * rise + FULL - one) / (zero * rise + FULL - zero),
            ((FULL - one) * fall + one) / ((FULL - zero) * fall + zero),
        )

    def slack(self, reports: int) -> Fraction:
        """What rounding adds to the pairs."""
        part = self.part
        count = 0
        if isinstance(part, Subset) and not isinstance(self, Guessed):
            count = 4 * part.members * part.k
        elif isinstance(part, (Direct, Hashed, Pooled)) and isinstance(self, Imitated):
            count = 4 * size_of(part)
        elif isinstance(part, (Memoized, MemoizedBuckets)):
            rounds = part if isinstance(part, Memoized) else part.buckets
            count = 4 * rounds.k * (reports + 1) if isinstance(rounds.first, Direct) else 0
        return Fraction(FULL, FULL - count)


def size_of(part: Direct | Hashed | Pooled) -> int:
    """Among how many values or buckets one is kept."""
    return part.k if isinstance(part, Direct) else part.g


def chances(keep: int, g: int) -> tuple[Fraction, Fraction, Fraction, Fraction]:
    """How likely a value is kept, and another is sent: on average, at least and at most."""
    other = FULL - keep
    low, high = (Fraction(other * words, FULL * FULL) for words in (fewest(g - 1), most(g - 1)))
    return Fraction(keep, FULL), Fraction(other, FULL * (g - 1)), low, high


def both(high: Fraction, low: Fraction) -> Pairs:
    """Every pair of two numbers."""
    return [(high, low), (low, high), (high, high), (low, low)]


class Prior:
    """How likely a fake has each value, in words out of 2^64; `weights` is None where that is uniform."""

    def __init__(self, tree: Json, k: int) -> None:
        self.k = k
        self.weights: list[int] | None = None
        if isinstance(tree, list):
            self.weights = [threshold(text) for text in tree]
            if len(tree) != k or sum(self.weights) != FULL:
                raise Refused("prior", f"a prior has {k} weights that add up to 2^64")
            if self.weights == uniform(k):
                raise Refused("canonical", "this prior is written as 'uniform'")
        elif tree != "uniform":
            raise Refused("type", "a prior is a list or 'uniform'")

    def value(self, word: int) -> int:
        """The value that a word chooses."""
        return below(word, self.k) if self.weights is None else choose(word, self.weights)

    def extremes(self, part: Mechanism) -> list[Fraction]:
        """How likely a fake's value is in a set of those that a report supports, at least and at most."""
        if isinstance(part, Hadamard):
            if self.weights is None:
                ends = uniform_ends(self.k, part.bits)
            else:
                sums = column_sums(self.weights, part.bits)
                ends = min(sums), max(sums)
            return [Fraction(total, FULL) for total in ends]
        if isinstance(part, (Direct, Subset)) or (isinstance(part, Memoized) and is_direct(part)):
            members = part.members if isinstance(part, Subset) else 1
            return [Fraction(total, FULL) for total in self.smallest_and_largest(members)]
        least = fewest(self.k) if self.weights is None else min(self.weights)
        return [Fraction(least, FULL), Fraction(FULL - least, FULL)]

    def smallest_and_largest(self, members: int) -> tuple[int, int]:
        """The sums of so many smallest and so many largest weights."""
        if self.weights is None:
            larger = FULL % self.k
            smaller = self.k - larger
            base = members * fewest(self.k)
            return base + max(0, members - smaller), base + min(members, larger)
        ordered = sorted(self.weights)
        return sum(ordered[:members]), sum(ordered[-members:])


def is_direct(part: Memoized) -> bool:
    """Whether both rounds are direct."""
    return isinstance(part.first, Direct)


def uniform(k: int) -> list[int]:
    """How many words `below` sends to each of k values."""
    edges = [-(-value * FULL // k) for value in range(k + 1)]
    return [right - left for left, right in zip(edges, edges[1:])]


@lru_cache(maxsize=256)
def uniform_ends(k: int, bits: int) -> tuple[int, int]:
    """The smallest and the largest of the sums below, where no value is likelier than others."""
    sums = column_sums(uniform(k), bits)
    return min(sums), max(sums)


def column_sums(weights: list[int], bits: int) -> list[int]:
    """For each column of a Hadamard matrix, the sum of the weights of the values that it supports: only of
    columns that support some and not all. All columns are added up at once, in lanes of one long integer."""
    count = 1 << bits
    lanes = [0, *weights, *[0] * (count - 1 - len(weights))]
    total = int.from_bytes(b"".join((weight + FULL).to_bytes(LANE, "little") for weight in lanes), "little")
    offset = FULL  # what every lane has too much, so that none is negative
    ones = int.from_bytes((b"\x01" + bytes(LANE - 1)) * count, "little")
    for bit in range(bits):
        width = LANE << bit
        even = int.from_bytes((b"\xff" * width + bytes(width)) * (count >> bit + 1), "little")
        low, high = total & even, total >> 8 * width & even
        offset *= 2
        total = (low + high) | (low + (ones & even) * offset - high) << 8 * width
    data, whole = total.to_bytes(count * LANE, "little"), sum(weights)
    lanes = [int.from_bytes(data[start : start + LANE], "little") for start in range(0, len(data), LANE)]
    sums = [(whole + lane - offset) // 2 for lane in lanes]
    return [part for part in sums if 0 < part < whole]


class Guessed(Fake):
    """A value from the prior, sent as it is."""

    parts = ("direct", "memoized")

    def __init__(self, part: Mechanism, prior: Prior) -> None:
        if isinstance(part, Memoized) and not is_direct(part):
            raise Refused("shape", "a guess goes through direct rounds")
        self.part, self.prior = part, prior
        self.words = 1 + part.second.words if isinstance(part, Memoized) else 1

    def privatize(self, draws: Draws) -> Json:
        if isinstance(self.part, Memoized):
            return self.part.again(self.prior.value(draws.kept(0)(0)), draws.after(1).noise(0))
        return self.prior.value(draws.noise(0)(0))

    def first_round(self) -> Fake:
        return Guessed(self.part.first, self.prior) if isinstance(self.part, Memoized) else self

    def fractions(self, p: Fraction, q: Fraction, g: int) -> list[Fraction]:
        return self.prior.extremes(self.part)

    def set_pairs(self, supported: Fraction, unsupported: Fraction) -> Pairs:
        raise Refused("kind", "a guess is one value, and its part is a set of them")


class Imitated(Fake):
    """A value from the prior, put through the part."""

    parts = ("direct", *SETS, "memoized")

    def __init__(self, part: Mechanism, prior: Prior) -> None:
        self.part, self.prior, self.words = part, prior, 1 + part.words

    def privatize(self, draws: Draws) -> Json:
        rest = draws.after(1)
        if isinstance(self.part, Memoized):
            value = self.prior.value(draws.kept(0)(0))
            return self.part.twice(value, rest.kept(value + 1), rest.after(self.part.first.words).noise(0))
        assert isinstance(self.part, Drawn)
        return self.part.randomize(self.prior.value(draws.noise(0)(0)), rest.noise(0))

    def first_round(self) -> Fake:
        return Imitated(self.part.first, self.prior) if isinstance(self.part, Memoized) else self

    def fractions(self, p: Fraction, q: Fraction, g: int) -> list[Fraction]:
        return [q + share * (p - q) for share in self.prior.extremes(self.part)]

    def set_pairs(self, supported: Fraction, unsupported: Fraction) -> Pairs:
        values = [unsupported + (supported - unsupported) * share for share in self.prior.extremes(self.part)]
        return [pair for value in values for pair in both(supported / value, unsupported / value)]


class Blank(Fake):
    """The report of nobody."""

    parts = (*SETS, "memoized", "hashed-memoized", "pooled-memoized", "bit-flip")

    def __init__(self, part: Mechanism) -> None:
        if isinstance(part, Memoized) and is_direct(part):
            raise Refused("shape", "a blank goes through rounds of bits")
        self.part, self.words = part, part.words
        if isinstance(part, Subset):
            self.words = part.members
        elif isinstance(part, (Hashed, Pooled)):
            self.words = 2
        elif isinstance(part, Hadamard):
            self.words = 1
        elif isinstance(part, MemoizedBuckets):
            self.words = 2 + part.buckets.second.words

    def privatize(self, draws: Draws) -> Json:
        part = self.part
        if isinstance(part, Memoized):
            return part.twice(None, draws.kept(0), draws.after(part.first.words).noise(0))
        if isinstance(part, MemoizedBuckets):
            kept, fresh = draws.kept(0), draws.after(2).noise(0)
            return part.part(kept(0), part.buckets.again(below(kept(1), part.buckets.k), fresh))
        if isinstance(part, BitFlip):
            return part.privatize(None, draws)
        return self.randomize(draws.noise(0))

    def randomize(self, row: Row) -> Json:
        """The part of nobody that is drawn anew in each round."""
        part = self.part
        if isinstance(part, Unary):
            return part.randomize_set(0, row)
        if isinstance(part, Subset):
            return sorted(distinct(row, part.k, part.members))
        if isinstance(part, Hashed):
            a, b = hash_function(row(0))
            return {"a": a, "b": b, "bucket": below(row(1), part.g)}
        if isinstance(part, Pooled):
            return below(row(0), part.functions) * part.g + below(row(1), part.g)
        assert isinstance(part, Hadamard)
        return row(0) >> 64 - part.bits

    def first_round(self) -> Fake:
        if isinstance(self.part, Memoized):
            return Blank(self.part.first)
        return Blank(self.part.once) if isinstance(self.part, MemoizedBuckets) else self

    def fractions(self, p: Fraction, q: Fraction, g: int) -> list[Fraction]:
        return [Fraction(fewest(g), FULL), Fraction(most(g), FULL)]

    def set_pairs(self, supported: Fraction, unsupported: Fraction) -> Pairs:
        return both(supported, unsupported)


def read_fake(tree: Json) -> Fake:
    """The fake of a plan."""
    kind = kind_of(tree)
    if kind == "blank":
        tree = fields(tree, {"kind": str, "part": object})
        return Blank(read_mechanism(tree["part"], Blank.parts))
    kinds: dict[str, type[Guessed] | type[Imitated]] = {"guessed": Guessed, "imitated": Imitated}
    if kind not in kinds:
        raise Refused("kind", f"there is no fake {kind!r}")
    tree = fields(tree, {"kind": str, "part": object, "prior": object})
    part = read_mechanism(tree["part"], kinds[kind].parts)
    return kinds[kind](part, Prior(tree["prior"], part.k))
