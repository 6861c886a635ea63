"""Computes what a report says about a value, and about being real: every attack is a function of it.

A report of an attribute is a few times likelier from the values that it supports than from the others. So one
table of reports by values, up to a factor for each report, holds all that there is to know. Next to a fake
the factor matters, too: how many times likelier a report is from a person than from the fake. For a number,
the guess is in which half of its range it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from deniable.arrays import Array, Floats, Integers, list_blocks
from deniable.errors import InvalidParameter
from deniable.likelihood.supports import compute_fake_likelihoods, prepare_likelihoods
from deniable.mechanisms import Mechanism
from deniable.mechanisms.base import BLOCK
from deniable.metric import MetricMechanism
from deniable.records import Faked, RecordMechanism, Records
from deniable.records.single import as_record_mechanism
from deniable.rounds import BitFlip, Memoized, MemoizedMean
from deniable.rounds.memoized import MemoizedBuckets
from deniable.study import Plan

Source = Plan | RecordMechanism | Mechanism
"""What reports come from: a plan, a record mechanism or a mechanism."""
Priors = Sequence[Floats]
CELLS = 256
"""Equal parts of a number's range, by which its reports are compared."""
HALVES = ("lower half", "upper half")
_MOST_CELLS = 1 << 24  # of a table of all reports by all values
_LEAST = 2.0**-70  # no report is rarer than 2^-64 for any value, but for the rounding of floats


@final
@dataclass(frozen=True, eq=False)
class Clue:
    """Reports of one attribute: whose they are, in ascending order, and the mechanism that made them."""

    attribute: int
    part: Mechanism
    who: Integers
    reports: Array

    def blocks(self) -> Iterator[tuple[Integers, Floats]]:
        """Some people at a time, and how likely their reports are for each value."""
        for block in list_blocks(len(self.who), BLOCK // width(self.part)):
            yield self.who[block], likelihoods(self.part, self.reports[block])


@final
@dataclass(frozen=True)
class Hidden:
    """A part of a report with one real attribute, which is secret; the others are fakes."""

    mechanism: Faked
    first: int
    """The number of its first attribute."""
    start: int
    """The number of its first word."""

    @property
    def attributes(self) -> range:
        """The numbers of its attributes."""
        return range(self.first, self.first + self.mechanism.d)

    def select(self, records: Records) -> Records:
        """Its part of these reports: all people report all of its attributes."""
        return Records(records.n, records.columns[self.first : self.first + self.mechanism.d])


def mechanism_of(source: Source) -> RecordMechanism:
    """How a record becomes a report."""
    if isinstance(source, Plan):
        return source.mechanism
    if not isinstance(source, RecordMechanism | Mechanism):
        raise InvalidParameter(
            f"attack a plan, a record mechanism or a mechanism, got {type(source).__name__}; make a plan "
            "with dn.Study or dn.Plan.of"
        )
    return as_record_mechanism(source)


def parts_of(source: Source) -> tuple[Mechanism, ...]:
    """One mechanism per attribute."""
    return mechanism_of(source).mechanisms


def members_of(source: Source) -> Sequence[tuple[RecordMechanism, int, int]]:
    """The record mechanisms that a report is put together from."""
    return mechanism_of(source).members


def hidden_in(source: Source) -> list[Hidden]:
    """The parts of a report in which it is secret which attribute is real."""
    return [
        Hidden(member, first, start)
        for member, first, start in members_of(source)
        if isinstance(member, Faked)
    ]


def names_of(source: Source) -> tuple[str, ...]:
    """What the attributes are called."""
    return (
        source.names
        if isinstance(source, Plan)
        else tuple(f"attribute {j}" for j in range(len(parts_of(source))))
    )


def clues(source: Source, records: Records) -> list[Clue]:
    """What was reported of each attribute, by whom."""
    everyone = np.arange(records.n)
    reporters = records.reporters or (everyone,) * len(records.columns)
    rows = zip(parts_of(source), reporters, records.columns, strict=True)
    return [Clue(j, part, who, column) for j, (part, who, column) in enumerate(rows)]


def values_of(part: Mechanism) -> int:
    """How many values there are to guess: all of them, or the two halves of a number's range."""
    return len(HALVES) if part.numeric else part.k


def width(part: Mechanism) -> int:
    """How many values a report is compared with: all of them, or the cells of a number's range."""
    return CELLS if part.numeric else part.k


def by_cell(part: Mechanism, shares: Floats) -> Floats:
    """Shares of what is guessed as those of what is compared."""
    return np.repeat(shares * (2 / CELLS), CELLS // 2) if part.numeric else shares


def by_value(part: Mechanism, table: Floats) -> Floats:
    """Rows of what is compared as those of what is guessed."""
    return table.reshape(len(table), len(HALVES), -1).sum(axis=2) if part.numeric else table


def cells_of(part: Mechanism, codes: Integers) -> Integers:
    """What a report is compared with, of values."""
    return np.minimum(codes * CELLS // (part.k - 1), CELLS - 1) if part.numeric else codes


def guessed_of(part: Mechanism, codes: Integers) -> Integers:
    """What is guessed, of values: themselves, or the half of its range in which a number is."""
    return cells_of(part, codes) * len(HALVES) // CELLS if part.numeric else codes


def likelihoods(part: Mechanism, reports: Array) -> Floats:
    """How likely each report is for each value, up to a factor of its own; for a block."""
    if part.metric and part.k * part.tallied > _MOST_CELLS:
        raise InvalidParameter(
            f"{part.k:,} metric values are too many to compare reports with, up to "
            f"{math.isqrt(_MOST_CELLS):,} are; attack the same plan with larger steps or cells, or one "
            "report only (collections=1), which is summed"
        )
    return part.likelihoods(reports)


@final
class RealRatios:
    """How many times likelier each of some reports is from people than from its fake, for any shares.

    What does not depend on the shares is computed once.
    """

    def __init__(self, mechanism: Faked, records: Records) -> None:
        pairs = list(zip(mechanism.fakes, records.columns, strict=True))
        self._real = [prepare_likelihoods(fake.part, column) for fake, column in pairs]
        self._fake = [compute_fake_likelihoods(fake, column) for fake, column in pairs]

    def compute(self, shares: Priors) -> Floats:
        """Attributes by reports."""
        columns = zip(self._real, self._fake, shares, strict=True)
        return np.stack([real(believed) / fake for real, fake, believed in columns])


def compute_real_ratios(mechanism: Faked, records: Records, shares: Priors) -> Floats:
    """Computes how many times likelier each report is from these people than from its fake."""
    return RealRatios(mechanism, records).compute(shares)


class Pool:
    """What several reports of the same n people say together, as it comes in: likelihoods of fresh noise
    multiply.
    """

    def __init__(self, part: Mechanism, n: int) -> None:
        self._part = part
        self._times: Integers = np.zeros(n, dtype=np.int64)
        self._sums = np.zeros((n, width(part)))

    @property
    def reported(self) -> Integers:
        """The people who reported at all."""
        return np.flatnonzero(self._times)

    def add(self, rows: Integers, reports: Array) -> None:
        """One more report of each of these people."""
        if rows.size:
            self._add(rows, reports)
            self._times[rows] += 1

    def _add(self, rows: Integers, reports: Array) -> None:
        """Put what the reports say into the sums."""
        self._sums[rows] += np.log(likelihoods(self._part, reports))

    def table(self) -> Floats:
        """How likely each person's reports are for each value, up to a factor of the person: a row for each
        person who reported.
        """
        sums = self._sums[self.reported]
        return np.asarray(np.exp(sums - sums.max(axis=1, keepdims=True, initial=-np.inf)))


@final
class _Once(Pool):
    """Nothing in a report is ever drawn again: the first one counts."""

    def add(self, rows: Integers, reports: Array) -> None:
        fresh = self._times[rows] == 0
        super().add(rows[fresh], reports[fresh])


class _KeptValue(Pool):
    """Fresh noise on a value that is kept: reports say which one that is."""

    def __init__(self, part: Memoized, n: int) -> None:
        super().__init__(part.second, n)
        self._first = part.first.law

    def table(self) -> Floats:
        second, law = super().table(), self._first
        return np.asarray(law.q * second.sum(axis=1, keepdims=True) + (law.p - law.q) * second)


@final
class _KeptBits(Pool):
    """Fresh noise on bits that are kept: each was set or not, and it is counted how often it shows as set."""

    def __init__(self, part: Memoized, n: int) -> None:
        super().__init__(part.second, n)
        self._first, self._second = part.first.law, part.second.law

    def _add(self, rows: Integers, reports: Array) -> None:
        self._sums[rows] += self._part.support(reports)

    def table(self) -> Floats:
        first, second = self._first, self._second
        counts, times = self._sums[self.reported], self._times[self.reported, None]
        up, down = np.log(second.p / second.q), np.log((1 - second.p) / (1 - second.q))
        evidence = np.exp(np.clip(counts * up + (times - counts) * down, -700, 700))
        ratio = (first.p * evidence + 1 - first.p) / (first.q * evidence + 1 - first.q)
        return np.asarray(ratio / ratio.max(axis=1, keepdims=True, initial=0.0))


@final
class _KeptBucket(_KeptValue):
    """Fresh noise on a bucket that is kept, of a hash that stays the same."""

    def __init__(self, part: MemoizedBuckets, n: int) -> None:
        super().__init__(part.buckets, n)
        self._split = part.split
        self._buckets = np.zeros((n, part.k), dtype=np.int64)

    def _add(self, rows: Integers, reports: Array) -> None:
        bucket, self._buckets[rows] = self._split(reports)
        super()._add(rows, bucket)

    def table(self) -> Floats:
        return np.take_along_axis(super().table(), self._buckets[self.reported], axis=1)


@final
class _KeptSide(_KeptValue):
    """Fresh noise on whether a number is above a line, both of which are kept."""

    def table(self) -> Floats:
        below, above = super().table().T[:, :, None]
        cells = (np.arange(CELLS) + 0.5) / CELLS
        return np.asarray(below * (1 - cells) + above * cells)


def make_pool(part: Mechanism, n: int, memoized: bool) -> Pool:
    """For n people, whose first answers are kept where the mechanism keeps any, or drawn again."""
    if not memoized:
        return Pool(part, n)
    match part:
        case Memoized():
            return _KeptBits(part, n) if part.bitwise else _KeptValue(part, n)
        case MemoizedBuckets():
            return _KeptBucket(part, n)
        case MemoizedMean():
            return _KeptSide(part.bit, n)
        case BitFlip():
            return _Once(part, n)
        case MetricMechanism() if part.kept:
            return _Once(part, n)
        case _:
            return Pool(part, n)
