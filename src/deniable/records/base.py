"""How one record of many attributes becomes one report, and what that report gives away: of the record, of an
attribute.

`Split` reports every attribute, `Sample` some of them, `Faked` all of them with only one real. The two
guarantees differ: per record compares any two people, per attribute two who differ in one answer only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Integers
from deniable.errors import InvalidParameter, InvalidReport, InvalidValue
from deniable.exact import log_up, whole_number
from deniable.formatting import format_count
from deniable.law import Law, Marginal
from deniable.mechanisms import ExactMechanism, Tally, checked_per, checked_values, in_domain, worth_compiling
from deniable.mechanisms import Per as Per
from deniable.records.fakes import Evidence, Fake
from deniable.words import Rows, WordArray, Words, below, cell, checked_source

_ROWS = 128  # rows of a table that are compared at a time


@final
@dataclass(frozen=True, eq=False)
class Records:
    """Reports of n records: a column of reports for each attribute and, where not all are reported, who
    reported which.
    """

    n: int
    columns: tuple[Array, ...]
    reporters: tuple[Integers, ...] | None = None
    """For each attribute, the numbers of the records that report it, in order; None where all report all."""

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        return (
            f"<Records: {format_count(self.n, 'record')} of {format_count(len(self.columns), 'attribute')}>"
        )


class RecordMechanism(ABC):
    """A read-only recipe for records, with one mechanism per attribute and a guarantee that is computed, not
    quoted.
    """

    parts: tuple[ExactMechanism, ...]

    @property
    @abstractmethod
    def words(self) -> int:
        """How many 64-bit words one record takes."""

    @abstractmethod
    def ratio(self, per: Per = "record") -> Fraction:
        """The largest ratio of two people's probabilities of one report, exactly: any two, or two who differ
        in one answer.
        """

    @abstractmethod
    def marginal(self, attribute: int) -> Law | Marginal:
        """The law by which one attribute is estimated."""

    @property
    @abstractmethod
    def _reads_all(self) -> bool:
        """Whether most answers of a record are read: then a table is turned into columns first."""

    @abstractmethod
    def encode(self, columns: Integers, rows: Rows) -> Records:
        """Reports of records that are known to be in the domain, one row of values per attribute, one row of
        words each.
        """

    @property
    def d(self) -> int:
        """The number of attributes."""
        return len(self.parts)

    @final
    def loss(self, per: Per = "record") -> float:
        """The exact epsilon of one report, rounded up, per record or per attribute."""
        checked_per(per)
        return log_up(self.ratio(per))

    @final
    def privatize(self, table: npt.ArrayLike, words: Words | None = None) -> Records:
        """One report per row of a table of integers, one column per attribute."""
        columns = self._checked_columns(table)
        return self.encode(columns, checked_source(words).rows(columns.shape[1], self.words))

    @final
    def tally(self, records: Records) -> tuple[Tally, ...]:
        """Count each attribute's reports."""
        if not isinstance(records, Records):
            raise InvalidReport(
                f"a share counts what it has made, share.privatize(table), got {type(records).__name__}"
            )
        if len(records.columns) != self.d:
            raise InvalidReport(
                f"these records have {len(records.columns)} attributes, the share has {self.d}"
            )
        return tuple(part.tally(column) for part, column in zip(self.parts, records.columns, strict=True))

    @final
    def estimate(self, tallies: Sequence[Tally]) -> tuple[Any, ...]:
        """Unbiased frequencies with error bars, one estimate per attribute; of a number, its mean."""
        if not isinstance(tallies, Sequence):
            raise InvalidReport(
                "estimates are made from tallies, share.estimate(share.tally(records)), got "
                f"{type(tallies).__name__}"
            )
        if len(tallies) != self.d:
            raise InvalidReport(f"there are {len(tallies)} tallies, the share has {self.d} attributes")
        return tuple(
            part.estimated(tally, self.marginal(j))
            for j, (part, tally) in enumerate(zip(self.parts, tallies, strict=True))
        )

    def _checked_columns(self, table: npt.ArrayLike) -> Integers:
        """The table as one row of integers per attribute; a copy of it, unless most of it will
        not be read.
        """
        if np.ma.is_masked(table):
            raise InvalidValue(
                "some values are masked: decide what a missing answer means first, since a mask would be "
                "dropped"
            )
        try:
            array = np.asarray(table)
        except (ValueError, TypeError) as problem:
            raise InvalidValue(
                f"a table has a row per record and {self.d} columns of integers: {problem}"
            ) from None
        if array.ndim != 2 or array.shape[1] != self.d:
            raise InvalidValue(f"a table has a row per record and {self.d} columns, got shape {array.shape}")
        if array.dtype.kind not in "iu":
            self._refuse(array)
            return np.zeros((self.d, 0), dtype=np.int64)
        whole = array.astype(np.int64 if array.dtype.kind == "i" else np.uint64, copy=False)
        columns = (_turned(whole) if self._reads_all else whole.T).view(
            np.uint64
        )  # a negative one is huge without its sign
        if (_largest(columns) >= np.array([part.k for part in self.parts])).any():
            self._refuse(whole)
        return columns.view(np.int64)

    def _refuse(self, table: Array) -> None:
        """Say which attribute of a table cannot be reported, and why."""
        for j, part in enumerate(self.parts):
            try:
                checked_values(table[:, j], part.k)
            except InvalidValue as problem:
                raise InvalidValue(f"attribute {j}: {problem}") from None


@final
@dataclass(frozen=True)
class Split(RecordMechanism):
    """Every attribute is reported, each with its own part of the budget (SPL)."""

    parts: tuple[ExactMechanism, ...]
    _reads_all = True

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
class Sample(RecordMechanism):
    """Some attributes, drawn at random and named in the report, are reported (SMP: one of them)."""

    parts: tuple[ExactMechanism, ...]
    drawn: int = 1
    _reads_all = False

    def __post_init__(self) -> None:
        _checked_parts(self.parts)
        drawn = whole_number("drawn, the number of attributes that are reported,", self.drawn, 1, self.d)
        object.__setattr__(self, "drawn", drawn)

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
        groups = [_grouped(picked[:, draw], columns) for draw in range(self.drawn)]
        reports, reporters = [], []
        for j, part in enumerate(self.parts):
            made = []
            for draw in range(self.drawn):
                (who, values), start = groups[draw][j], self.drawn + draw * room
                checked = in_domain(values, part.k)  # the table itself may have changed since it was checked
                made.append(part.encode(checked, rows.pick(who).columns(start, start + part.words)))
            who = np.concatenate([group[j][0] for group in groups])
            order = np.argsort(who, kind="stable") if self.drawn > 1 else slice(None)
            reports.append(np.concatenate(made)[order])
            reporters.append(who[order])
        return Records(rows.n, tuple(reports), tuple(reporters))


@final
@dataclass(frozen=True)
class Faked(RecordMechanism):
    """One attribute, drawn at random and not named, is reported; the others are fakes (RS+FD, RS+RFD).

    Fakes cancel from every ratio: what is left is a sum, over the attributes, of how much likelier each
    report is from this person than from its fake. So the loss per record is that of the parts, whatever the
    fakes are.
    """

    fakes: tuple[Fake, ...]
    _reads_all = True
    claim: float | None = None
    """What it was asked to keep; with published parameters, what the papers say it keeps. `loss` says what is
    true.
    """

    def __post_init__(self) -> None:
        _checked_parts(self.parts)

    @property
    def parts(self) -> tuple[ExactMechanism, ...]:  # type: ignore[override]
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
        return Marginal(
            law.k,
            (law.p + (d - 1) * fake.supported) / d,
            (law.q + (d - 1) * fake.supported) / d,
            law.gain / d,
        )

    def drawn(self, rows: Rows) -> Integers:
        """Which attribute each row of words reports: a secret, which only who holds the words can know."""
        return _drawn_attributes(rows.columns(0, 1).recall(), self.d)[:, 0].astype(np.int64)

    def encode(self, columns: Integers, rows: Rows) -> Records:
        groups = _grouped(_drawn_attributes(rows.columns(0, 1).recall(), self.d)[:, 0], columns)
        reports, start = [], 1
        for (who, values), fake, width in zip(groups, self.fakes, self._widths, strict=True):
            made = fake.encode(rows.columns(start, start + fake.words))
            made[who] = fake.part.encode(values, rows.pick(who).columns(start, start + fake.part.words))
            reports.append(made)
            start += width
        return Records(rows.n, tuple(reports))


def checked_sizes(ks: Sequence[int]) -> tuple[int, ...]:
    """The number of values of each attribute, as a list of integers."""
    if not isinstance(ks, Iterable) or isinstance(ks, str | Mapping):
        hint = (
            f"; for one attribute of {ks} values use the mechanism itself, such as dn.grr"
            if isinstance(ks, int)
            else ""
        )
        raise InvalidParameter(
            f"ks is a list with the number of values of each attribute, such as [3, 5, 4], got {ks!r}{hint}"
        )
    return tuple(whole_number("k, the number of values,", k, 2) for k in ks)


def _checked_parts(parts: Sequence[ExactMechanism]) -> None:
    if len(parts) < 2:
        raise InvalidParameter(
            f"a share needs at least two attributes, got {len(parts)}; use the mechanism itself for one"
        )


def _turned(table: Array) -> Array:
    """A row for each column, in blocks that stay in the nearest cache."""
    columns = np.empty(table.shape[::-1], dtype=table.dtype)
    for start in range(0, len(table), 1024):
        columns[:, start : start + 1024] = table[start : start + 1024].T
    return columns


def _largest(columns: WordArray) -> WordArray:
    """The largest value of each column (0 where there is none), many rows of a table at a time."""
    d, n = columns.shape
    many = n // _ROWS * _ROWS
    if columns.flags.c_contiguous or not columns.flags.f_contiguous or not many:
        return np.asarray(columns.max(axis=1, initial=0))
    most = columns[:, :many].T.reshape(-1, _ROWS * d).max(axis=0).reshape(_ROWS, d).max(axis=0)
    return np.asarray(np.maximum(most, columns[:, many:].max(axis=1, initial=0)))


def _grouped(picked: npt.NDArray[np.integer], columns: Integers) -> list[tuple[Integers, Integers]]:
    """For each attribute, who picked it, in order, and the values they have there."""
    if not worth_compiling(picked.size, 1):
        d = len(columns)
        order = np.argsort(picked, kind="stable")
        groups = np.split(order, np.cumsum(np.bincount(picked, minlength=d))[:-1])
        return [(who, values[who]) for who, values in zip(groups, columns, strict=True)]
    from deniable.words import kernels

    who, values, ends = (
        np.empty(picked.size, np.int64),
        np.empty(picked.size, np.int64),
        np.empty(len(columns), np.int64),
    )
    kernels.group(picked, columns, ends, who, values)
    return list(zip(np.split(who, ends[:-1]), np.split(values, ends[:-1]), strict=True))


def _drawn_attributes(rows: Rows, d: int) -> npt.NDArray[np.unsignedinteger]:
    """Each row's attributes, all different, by Floyd's sampling."""
    picked = np.empty((rows.n, rows.width), dtype=np.uint8 if d <= 256 else np.uint32)
    if worth_compiling(rows.n, rows.width):
        from deniable.words import kernels

        kernels.draw_attributes(rows.address(), np.uint64(d), picked)
        return picked
    words = rows.array()
    for draw in range(rows.width):
        last = d - rows.width + draw
        found = below(words[:, draw], last + 1)
        taken = (picked[:, :draw] == found[:, None]).any(axis=1)
        picked[:, draw] = np.where(taken, last, found)
    return picked


def _largest_ratio(evidence: Sequence[Sequence[Evidence]]) -> Fraction:
    """The largest (sum of ones) / (sum of others), one pair from each attribute, by Dinkelbach's method:
    exact and finite.
    """
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
