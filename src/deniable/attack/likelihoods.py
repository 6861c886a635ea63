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

from deniable.arrays import Array, Floats, Integers
from deniable.errors import InvalidParameter
from deniable.formatting import format_percent, format_points
from deniable.likelihood.supports import compute_fake_likelihoods, prepare_likelihoods
from deniable.mechanisms import ExactMechanism, Summed
from deniable.mechanisms.base import BLOCK
from deniable.records import Faked, RecordMechanism, Records
from deniable.records.single import as_record_mechanism
from deniable.study import Plan

Part = ExactMechanism | Summed
"""What makes the reports of one attribute: sets of values, or, alone and for research, noisy sums."""
Source = Plan | RecordMechanism | Part
"""What reports come from: a plan, a record mechanism or a mechanism."""
Priors = Sequence[Floats]
CELLS = 256
"""Equal parts of a number's range, by which its reports are compared."""
HALVES = ("lower half", "upper half")
_FARTHEST = -700.0  # nats, within what floats hold
_MOST_CELLS = 1 << 24  # of a table of all reports by all values
_LEAST = 2.0**-70  # no report is rarer than 2^-64 for any value, but for the rounding of floats


@final
@dataclass(frozen=True)
class Chance:
    """A probability: summed exactly, simulated with a standard error, or an upper bound."""

    value: float
    stderr: float = 0.0
    exact: bool = True
    """Whether it is a sum; otherwise it is simulated, and the standard error says how well."""
    bound: bool = False
    """Whether the truth may be below."""

    def __str__(self) -> str:
        how = "" if self.exact else f" (simulated, standard error {format_points(self.stderr)})"
        return f"{'at most ' if self.bound else ''}{format_percent(self.value)}{how}"


@final
@dataclass(frozen=True, eq=False)
class Clue:
    """Reports of one attribute: whose they are, in ascending order, and the mechanism that made them."""

    attribute: int
    part: Part
    who: Integers
    reports: Array

    def blocks(self) -> Iterator[tuple[Integers, Floats]]:
        """Some people at a time, and how likely their reports are for each value."""
        step = max(1, BLOCK // width(self.part))
        for start in range(0, len(self.who), step):
            block = slice(start, start + step)
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


def mechanism_of(source: Source) -> RecordMechanism | Summed:
    """How a record becomes a report."""
    if isinstance(source, Plan):
        return source.mechanism
    if isinstance(source, Summed):
        return source
    if not isinstance(source, RecordMechanism | ExactMechanism):
        raise InvalidParameter(
            f"attack a plan, a record mechanism or a mechanism, got {type(source).__name__}; make a plan "
            "with dn.Study or dn.Plan.of"
        )
    return as_record_mechanism(source)


def parts_of(source: Source) -> tuple[Part, ...]:
    """One mechanism per attribute."""
    mechanism = mechanism_of(source)
    return (mechanism,) if isinstance(mechanism, Summed) else mechanism.mechanisms


def members_of(source: Source) -> Sequence[tuple[RecordMechanism, int, int]]:
    """The record mechanisms that a report is put together from; none where it is a noisy sum."""
    mechanism = mechanism_of(source)
    return () if isinstance(mechanism, Summed) else mechanism.members


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


def values_of(part: Part) -> int:
    """How many values there are to guess: all of them, or the two halves of a number's range."""
    return len(HALVES) if part.numeric else part.k


def width(part: Part) -> int:
    """How many values a report is compared with: all of them, or the cells of a number's range."""
    return CELLS if part.numeric else part.k


def by_cell(part: Part, shares: Floats) -> Floats:
    """Shares of what is guessed as those of what is compared."""
    return np.repeat(shares * (2 / CELLS), CELLS // 2) if part.numeric else shares


def by_value(part: Part, table: Floats) -> Floats:
    """Rows of what is compared as those of what is guessed."""
    return table.reshape(len(table), len(HALVES), -1).sum(axis=2) if part.numeric else table


def cells_of(part: Part, codes: Integers) -> Integers:
    """What a report is compared with, of values."""
    return np.minimum(codes * CELLS // (part.k - 1), CELLS - 1) if part.numeric else codes


def guessed_of(part: Part, codes: Integers) -> Integers:
    """What is guessed, of values: themselves, or the half of its range in which a number is."""
    return cells_of(part, codes) * len(HALVES) // CELLS if part.numeric else codes


def likelihoods(part: Part, reports: Array) -> Floats:
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
