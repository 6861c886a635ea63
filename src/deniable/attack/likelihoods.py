"""What a report says about a value, and about being real: the likelihoods that every attack here is a
function of.

A report of an attribute is a few times likelier from the values that it supports than from the others, so
that one table of reports by values, up to a factor for each report, holds all that there is to know. Beside a
fake the factor matters, too: how many times likelier a report is from a person than from the fake. Of a
number it is guessed in which half of its range it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np

from deniable.arrays import Array, Floats, Integers
from deniable.errors import InvalidParameter
from deniable.likelihood.problems import layers, odds
from deniable.likelihood.rows import Supports
from deniable.mechanisms import BLOCK, Direct, ExactMechanism, Summed, Unary
from deniable.metric import Averaged, MetricMechanism
from deniable.plan import Plan
from deniable.records import (
    Blank,
    Fake,
    Faked,
    Guessed,
    Imitated,
    RecordMechanism,
    Records,
    as_record_mechanism,
)
from deniable.rounds import BitFlip

Part = ExactMechanism | Summed
"""What makes the reports of one attribute: sets of values, or, alone and for research, noisy sums."""
Source = Plan | RecordMechanism | Part
"""What reports come from: a plan, or the share or the mechanism itself."""
Priors = Sequence[Floats]
CELLS = 256
"""Equal parts of a number's range, by which its reports are told apart."""
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
            some = slice(start, start + step)
            yield self.who[some], likelihoods(self.part, self.reports[some])


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


def hidden_in(source: Source) -> list[Hidden]:
    """The parts of a report in which it is secret which attribute is real."""
    mechanism = mechanism_of(source)
    members = () if isinstance(mechanism, Summed) else mechanism.members
    return [Hidden(one, first, start) for one, first, start in members if isinstance(one, Faked)]


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
    return len(HALVES) if isinstance(part, Averaged) else part.k


def width(part: Part) -> int:
    """How many values a report is compared with: all of them, or the cells of a number's range."""
    return CELLS if isinstance(part, Averaged) else part.k


def by_cell(part: Part, shares: Floats) -> Floats:
    """Shares of what is guessed as those of what is compared."""
    return np.repeat(shares * (2 / CELLS), CELLS // 2) if isinstance(part, Averaged) else shares


def by_value(part: Part, table: Floats) -> Floats:
    """Rows of what is compared as those of what is guessed."""
    return table.reshape(len(table), len(HALVES), -1).sum(axis=2) if isinstance(part, Averaged) else table


def cells_of(part: Part, codes: Integers) -> Integers:
    """What a report is compared with, of values."""
    return np.minimum(codes * CELLS // (part.k - 1), CELLS - 1) if isinstance(part, Averaged) else codes


def guessed_of(part: Part, codes: Integers) -> Integers:
    """What is guessed, of values: themselves, or the half of its range in which a number is."""
    return cells_of(part, codes) * len(HALVES) // CELLS if isinstance(part, Averaged) else codes


@lru_cache(maxsize=8)
def _columns(part: MetricMechanism | Averaged) -> Floats:
    """How likely every output is: a row per output, a column per value or cell."""
    if isinstance(part, MetricMechanism) and part.k * part.outputs > _MOST_CELLS:
        raise InvalidParameter(
            f"{part.k:,} values with distances are too many to compare reports with, up to "
            f"{math.isqrt(_MOST_CELLS):,} are; attack the same plan with larger steps or cells, or one "
            "report only (collections=1), which is summed"
        )
    table = part.law.table(CELLS) if isinstance(part, Averaged) else part.law.matrix()
    return np.ascontiguousarray(np.maximum(table, _LEAST).T)


def likelihoods(part: Part, reports: Array) -> Floats:
    """How likely each report is for each value, up to a factor of its own; for a block."""
    if isinstance(
        part, Summed
    ):  # (|y| - |y - 1|) epsilon / 2 in the exponent: beyond 0 and 1 a cell tells no more
        told = part.epsilon * np.clip(np.asarray(reports, dtype=np.float64), 0.0, 1.0)
        return np.asarray(
            np.exp(np.maximum(told - told.max(axis=1, keepdims=True, initial=-np.inf), _FARTHEST))
        )
    if isinstance(part, MetricMechanism | Averaged):
        return _columns(part)[np.asarray(reports, dtype=np.int64)]
    if isinstance(part, BitFlip):
        return Supports(part.k, layers(part, reports)).table(slice(None))
    return np.where(part.support(reports), odds(part), 1.0)


def expected(part: ExactMechanism, reports: Array, shares: Floats) -> Floats:
    """How likely each report is if the value is drawn from these shares, up to the same factor; no table is
    made.
    """
    if isinstance(part, Direct):
        return np.asarray(1.0 + (odds(part) - 1.0) * shares)[reports]
    return Supports(part.k, layers(part, reports)).forward(shares)


def faked(fake: Fake, reports: Array) -> Floats:
    """How likely each report is from the fake, up to the same factor."""
    law = fake.part.law
    if isinstance(fake, Guessed):
        return np.asarray(fake.prior.shares / law.q)[reports]
    if isinstance(fake, Imitated):
        return expected(fake.part, reports, fake.prior.shares)
    if not isinstance(fake, Blank) or not isinstance(fake.part, Unary):
        raise InvalidParameter(f"how likely a report is from {type(fake).__name__} is not known here")
    return np.full(len(reports), float((1 - law.exact_q) / (1 - law.exact_p)))


def realness(share: Faked, records: Records, shares: Priors) -> Floats:
    """How many times likelier each report is from people with these shares than from its fake: attributes by
    people.
    """
    return np.stack(
        [
            expected(fake.part, column, believed) / faked(fake, column)
            for fake, column, believed in zip(share.fakes, records.columns, shares, strict=True)
        ]
    )
