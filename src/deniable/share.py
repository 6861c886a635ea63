"""How one record of many attributes becomes one report, and what that report gives away: of the record, of an attribute.

`Split` reports every attribute, `Sample` some of them, `Faked` all of them with only one real. The two guarantees differ:
per record compares any two people, per attribute two who differ in one answer only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Literal, final

import numpy as np
import numpy.typing as npt

from deniable.errors import InvalidParameter, InvalidReport, InvalidValue
from deniable.estimate import Estimate
from deniable.exact import log_up, whole_number
from deniable.fakes import Evidence, Fake
from deniable.law import Integers, Law, Marginal
from deniable.mechanism import Array, Tally, checked_values
from deniable.shape import Encoder
from deniable.words import Rows, Words, below, cell, checked_source

Per = Literal["record", "attribute"]


@final
@dataclass(frozen=True, eq=False)
class Records:
    """Reports of n records: a column of reports for each attribute and, where not all are reported, who reported which."""

    n: int
    columns: tuple[Array, ...]
    reporters: tuple[Integers, ...] | None = None
    """For each attribute, the numbers of the records that report it, in order; None where all report all."""


class Share(ABC):
    """A read-only recipe for records, with one mechanism per attribute and a guarantee that is computed, not quoted."""

    parts: tuple[Encoder, ...]

    @property
    @abstractmethod
    def words(self) -> int:
        """How many 64-bit words one record takes."""

    @abstractmethod
    def ratio(self, per: Per = "record") -> Fraction:
        """The largest ratio of two people's probabilities of one report, exactly: any two, or two who differ in one answer."""

    @abstractmethod
    def marginal(self, attribute: int) -> Law | Marginal:
        """The law by which one attribute is estimated."""

    @abstractmethod
    def encode(self, columns: Integers, rows: Rows) -> Records:
        """Reports of records that are known to be in the domain, one row of values per attribute, one row of words each."""

    @property
    def d(self) -> int:
        """The number of attributes."""
        return len(self.parts)

    @final
    def loss(self, per: Per = "record") -> float:
        """The exact epsilon of one report, rounded up, per record or per attribute."""
        if per not in ("record", "attribute"):
            raise InvalidParameter(f"per is 'record' or 'attribute', got {per!r}")
        return log_up(self.ratio(per))

    @final
    def privatize(self, table: npt.ArrayLike, words: Words | None = None) -> Records:
        """One report per row of a table of integers, one column per attribute."""
        columns = self._checked_columns(table)
        return self.encode(columns, checked_source(words).rows(columns.shape[1], self.words))

    @final
    def tally(self, records: Records) -> tuple[Tally, ...]:
        """Count each attribute's reports."""
        if len(records.columns) != self.d:
            raise InvalidReport(f"these records have {len(records.columns)} attributes, the share has {self.d}")
        return tuple(part.tally(column) for part, column in zip(self.parts, records.columns, strict=True))

    @final
    def estimate(self, tallies: Sequence[Tally]) -> tuple[Estimate, ...]:
        """Unbiased frequencies with error bars, one estimate per attribute."""
        if len(tallies) != self.d:
            raise InvalidReport(f"there are {len(tallies)} tallies, the share has {self.d} attributes")
        return tuple(
            Estimate(part.checked_tally(tally).n, tally.counts, self.marginal(j), asked=tally.asked)
            for j, (part, tally) in enumerate(zip(self.parts, tallies, strict=True))
        )

    def _checked_columns(self, table: npt.ArrayLike) -> Integers:
        """The table as one contiguous row of integers per attribute."""
        if np.ma.is_masked(table):
            raise InvalidValue(
                "some values are masked: decide what a missing answer means first, since a mask would be dropped"
            )
        try:
            array = np.asarray(table)
        except (ValueError, TypeError) as problem:
            raise InvalidValue(f"a table has a row per record and {self.d} columns of integers: {problem}") from None
        if array.ndim != 2 or array.shape[1] != self.d:
            raise InvalidValue(f"a table has a row per record and {self.d} columns, got shape {array.shape}")
        columns = np.empty(array.shape[::-1], dtype=array.dtype)
        for start in range(0, len(array), 1024):  # turned in blocks that stay in the nearest cache
            columns[:, start : start + 1024] = array[start : start + 1024].T
        for j, part in enumerate(self.parts):
            try:
                checked_values(columns[j], part.k)
            except InvalidValue as problem:
                raise InvalidValue(f"attribute {j}: {problem}") from None
        return columns.astype(np.int64, copy=False)


@final
@dataclass(frozen=True)
class Split(Share):
    """Every attribute is reported, each with its own part of the budget (SPL)."""

    parts: tuple[Encoder, ...]

    def __post_init__(self) -> None:
        _checked_parts(self.parts)

    @property
    def words(self) -> int:
        return sum(part.words for part in self.parts)

    def ratio(self, per: Per = "record") -> Fraction:
        ratios = [part.ratio for part in self.parts]
        return max(ratios) if per == "attribute" else Fraction(prod(ratios))

    def marginal(self, attribute: int) -> Law:
        return self.parts[attribute].law

    def encode(self, columns: Integers, rows: Rows) -> Records:
        reports, start = [], 0
        for values, part in zip(columns, self.parts, strict=True):
            reports.append(part.encode(values, rows.columns(start, start + part.words)))
            start += part.words
        return Records(rows.n, tuple(reports))


@final
@dataclass(frozen=True)
class Sample(Share):
    """Some attributes, drawn at random and named in the report, are reported (SMP: one of them)."""

    parts: tuple[Encoder, ...]
    drawn: int = 1

    def __post_init__(self) -> None:
        _checked_parts(self.parts)
        whole_number("drawn, the number of attributes that are reported,", self.drawn, 1, self.d)

    @property
    def words(self) -> int:
        return self.drawn * (1 + max(part.words for part in self.parts))

    def ratio(self, per: Per = "record") -> Fraction:
        """Which attributes are named does not depend on the record, so only those that are reported count."""
        ratios = sorted((part.ratio for part in self.parts), reverse=True)
        return ratios[0] if per == "attribute" else Fraction(prod(ratios[: self.drawn]))

    def marginal(self, attribute: int) -> Law:
        return self.parts[attribute].law

    def encode(self, columns: Integers, rows: Rows) -> Records:
        picked = _drawn_attributes(rows.columns(0, self.drawn).recall(), self.d)
        room = self.words // self.drawn - 1
        groups = [_grouped(picked[:, draw], self.d) for draw in range(self.drawn)]
        reports, reporters = [], []
        for j, part in enumerate(self.parts):
            made = []
            for draw in range(self.drawn):
                who, start = groups[draw][j], self.drawn + draw * room
                made.append(part.encode(columns[j][who], rows.pick(who).columns(start, start + part.words)))
            who = np.concatenate([group[j] for group in groups])
            order = np.argsort(who, kind="stable") if self.drawn > 1 else slice(None)
            reports.append(np.concatenate(made)[order])
            reporters.append(who[order])
        return Records(rows.n, tuple(reports), tuple(reporters))


@final
@dataclass(frozen=True)
class Faked(Share):
    """One attribute, drawn at random and not named, is reported; the others are fakes (RS+FD, RS+RFD).

    Fakes cancel from every ratio: what is left is a sum, over the attributes, of how much likelier each report is from
    this person than from its fake. So the loss per record is that of the parts, whatever the fakes are.
    """

    fakes: tuple[Fake, ...]
    claim: float | None = None
    """What it was asked to keep; with published parameters, what the papers say it keeps. `loss` says what is true."""

    def __post_init__(self) -> None:
        _checked_parts(self.parts)

    @property
    def parts(self) -> tuple[Encoder, ...]:  # type: ignore[override]
        return tuple(fake.part for fake in self.fakes)

    @property
    def _widths(self) -> list[int]:
        return [max(fake.words, fake.part.words) for fake in self.fakes]

    @property
    def words(self) -> int:
        return 1 + sum(self._widths)

    def ratio(self, per: Per = "record") -> Fraction:
        return self._ratios[0] if per == "record" else self._ratios[1]

    @cached_property
    def _ratios(self) -> tuple[Fraction, Fraction]:
        evidence = [fake.evidence() for fake in self.fakes]
        fewest, most = cell(self.d)  # the words of an attribute: not quite as many for each
        slack = max(fake.slack for fake in self.fakes) * Fraction(most, fewest)
        record = min(_largest_ratio(evidence) * slack, max(part.ratio for part in self.parts))
        return record, min(_largest_single_ratio(evidence) * slack, record)

    def marginal(self, attribute: int) -> Marginal:
        fake, d = self.fakes[attribute], self.d
        law = fake.part.law
        return Marginal(law.k, (law.p + (d - 1) * fake.supported) / d, (law.q + (d - 1) * fake.supported) / d, law.gain / d)

    def encode(self, columns: Integers, rows: Rows) -> Records:
        groups = _grouped(below(rows.columns(0, 1).recall().array()[:, 0], self.d), self.d)
        reports, start = [], 1
        for values, who, fake, width in zip(columns, groups, self.fakes, self._widths, strict=True):
            made = fake.encode(rows.columns(start, start + fake.words))
            made[who] = fake.part.encode(values[who], rows.pick(who).columns(start, start + fake.part.words))
            reports.append(made)
            start += width
        return Records(rows.n, tuple(reports))


def _checked_parts(parts: Sequence[Encoder]) -> None:
    if len(parts) < 2:
        raise InvalidParameter(f"a share needs at least two attributes, got {len(parts)}; use the mechanism itself for one")


def _grouped(picked: npt.NDArray[np.integer], d: int) -> list[Integers]:
    """Who picked each of d attributes, in order."""
    small = picked.astype(np.uint8 if d <= 256 else np.uint32)
    ends = np.cumsum(np.bincount(small, minlength=d))
    return np.split(np.argsort(small, kind="stable"), ends[:-1])


def _drawn_attributes(rows: Rows, d: int) -> Integers:
    """Each row's attributes, all different, by Floyd's sampling."""
    words = rows.array()
    picked = np.empty((rows.n, rows.width), dtype=np.int64)
    for draw in range(rows.width):
        last = d - rows.width + draw
        found = below(words[:, draw], last + 1).astype(np.int64)
        taken = (picked[:, :draw] == found[:, None]).any(axis=1)
        picked[:, draw] = np.where(taken, last, found)
    return picked


def _largest_ratio(evidence: Sequence[Sequence[Evidence]]) -> Fraction:
    """The largest (sum of ones) / (sum of others), one pair from each attribute, by Dinkelbach's method: exact and finite."""
    ratio = Fraction(1)
    while True:
        chosen = [max(pairs, key=lambda pair: pair.one - ratio * pair.other) for pairs in evidence]
        better = sum((pair.one for pair in chosen), Fraction(0)) / sum(pair.other for pair in chosen)
        if better <= ratio:
            return ratio
        ratio = better


def _largest_single_ratio(evidence: Sequence[Sequence[Evidence]]) -> Fraction:
    """The same where one attribute changes and the others, which do not, say as little as they can."""
    least = [min(min(pair) for pair in pairs) for pairs in evidence]
    worst = Fraction(1)
    for j, pairs in enumerate(evidence):
        rest = sum(least) - least[j]
        worst = max(worst, max((pair.one + rest) / (pair.other + rest) for pair in pairs))
    return worst
