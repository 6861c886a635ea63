"""Defines what is wanted of a choice: the least error, under caps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Literal, final

from deniable.choose.reading import Reading, combine
from deniable.errors import InvalidParameter
from deniable.exact import whole_number
from deniable.formatting import format_count, format_percent
from deniable.law.law import ReportLaw


@final
@dataclass(frozen=True)
class Objective:
    """What is wanted: the least error of what will be read, under caps.

    The error of an attribute is the standard error of what will be read of it: shares of values, groups and
    the mean of a long range, blocks of a map, the mean of a number (see `Reading`). It is taken relative to
    the least that any choice reaches for that attribute. The score of a choice is the geometric mean of these
    ratios, so that the unit of no attribute matters. Important attributes weigh more.

    Errors can also be taken as they are, in points of a share and in parts of a number's range: `squares` and
    `worst`. Each attribute then counts with the first that is read of it, and a table with the cells of its
    pairs. Questions that are hard to know are then drawn more often. Metric attributes have an epsilon of
    their own, and are left out where others are asked.
    """

    success_cap: float | None = None
    """No attacker's guess of an attribute that is reported may be right more often than this, even if it is
    known which one that is. Where people are asked again, it is the guess from any number of reports of one
    value. All values are thought equally likely, unless there are public priors (`consider`), which an
    attacker knows: none can be below the largest.
    """
    bytes_cap: int | None = None
    """No report may take more bytes than this."""
    influence_cap: float | None = None
    """No report that was made up may count for more people than this: 1 % of fake reports then moves a
    share by at most this many points.
    """
    worst: bool = False
    """Judge by the largest error of any attribute, as it is."""
    tolerance: float = 0.03
    """Take the smallest reports among choices whose score is at most this much above the least."""
    f: float | None = None
    """Judge by the variance at this share (the papers: 0) instead of the average over the domain."""
    people: Literal["answered", "everyone"] = "everyone"
    """Whom the error is about where each person reports r attributes of d (SMP): the n r / d people who
    answered for it, or all n. The latter adds f (1 - f) (d / r - 1) / n, averaged over the values of a
    uniform truth, where it is largest: little at small epsilon, and nearly all of the error at large epsilon.
    """
    squares: bool = False
    """Judge by the mean of squared errors, as they are."""

    def __post_init__(self) -> None:
        if self.success_cap is not None and not (_is_number(self.success_cap) and 0 < self.success_cap <= 1):
            raise InvalidParameter(
                f"success_cap is a probability above 0 and at most 1, got {self.success_cap!r}"
            )
        if self.bytes_cap is not None:
            whole_number("bytes_cap", self.bytes_cap, 1)
        if self.influence_cap is not None and not (
            _is_number(self.influence_cap) and 1 < self.influence_cap < math.inf
        ):
            raise InvalidParameter(
                "influence_cap is a number of people that a report may count for, above 1, got "
                f"{self.influence_cap!r}"
            )
        if not (_is_number(self.tolerance) and 0 <= self.tolerance <= 1):
            raise InvalidParameter(
                "tolerance is how much more error a smaller report may have, from 0 to 1 (0.03 is 3 %), got "
                f"{self.tolerance!r}"
            )
        for name in ("worst", "squares"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidParameter(f"{name} is true or false, got {getattr(self, name)!r}")
        if self.worst and self.squares:
            raise InvalidParameter(
                "worst looks at the largest error, squares at the mean of all; give one of them"
            )
        if self.f is not None and not (_is_number(self.f) and 0 <= self.f <= 1):
            raise InvalidParameter(f"f is a share from 0 to 1, got {self.f!r}")
        if self.people not in ("answered", "everyone"):
            raise InvalidParameter(f"people is 'answered' or 'everyone', got {self.people!r}")

    def __str__(self) -> str:
        error = f"the least {self.goal}"
        caps = [] if self.f is None else [f"at a share of {self.f:g}"]
        if self.success_cap is not None:
            caps.append(f"best guess right at most {format_percent(self.success_cap)}")
        if self.bytes_cap is not None:
            caps.append(f"at most {format_count(self.bytes_cap, 'byte')} a report")
        if self.influence_cap is not None:
            caps.append(f"a fake report counts for at most {self.influence_cap:g} people")
        return f"Objective: {', '.join([error, *caps])}"

    @property
    def about_everyone(self) -> bool:
        """Whether what sampling leaves unknown about those who did not answer is counted."""
        return self.people == "everyone" and self.f is None

    @property
    def goal(self) -> str:
        """What is to be small, in words."""
        if self.squares:
            return "mean of squared errors"
        return f"error of the {'worst attribute' if self.worst else 'attributes on average'}"

    @property
    def is_absolute(self) -> bool:
        """Whether errors are taken as they are, and not relative to the least of each attribute."""
        return self.worst or self.squares

    def score(self, variances: Sequence[float], least: Sequence[float], weights: Sequence[float]) -> float:
        """How many times the least standard errors these are: on average, or in the worst attribute."""
        if self.is_absolute:
            join = max if self.worst else math.fsum
            error, least_error = (
                join([weight * variance for weight, variance in zip(weights, values, strict=True)])
                for values in (variances, least)
            )
            return _ratio(error, least_error)
        ratios = [_ratio(variance, other) for variance, other in zip(variances, least, strict=True)]
        if math.inf in ratios:
            return math.inf
        logs = (weight * math.log(ratio) for ratio, weight in zip(ratios, weights, strict=True))
        return math.exp(math.fsum(logs) / math.fsum(weights))

    def cost(self, unit: float, importance: float) -> float:
        """What an attribute with this error adds to what is to be small."""
        if not 0 < unit < math.inf:
            return unit
        return importance * (unit if self.is_absolute else math.log(unit))

    def variances(self, readings: Sequence[Reading], law: ReportLaw, one_in: float) -> tuple[float, ...]:
        """The variance of each reading for one person, if one in `one_in` answers for each value.

        About everyone, what people differ by who were not asked comes on top.
        """
        return tuple(
            reading.noise(law, self.f) * one_in
            + (reading.spread(law) * (one_in - 1) if self.about_everyone else 0.0)
            for reading in readings
        )

    def unit(self, readings: Sequence[Reading], law: ReportLaw, one_in: float) -> float:
        """All of them in one number."""
        return self.combine(readings, self.variances(readings, law, one_in))

    def combine(self, readings: Sequence[Reading], variances: Sequence[float]) -> float:
        """One number for the variances of all readings: by it choices are compared."""
        if not self.is_absolute:
            return combine(variances)
        first = readings[0].what
        pairs = zip(readings, variances, strict=True)
        weighted = [reading.importance * variance for reading, variance in pairs if reading.what == first]
        return max(weighted) if self.worst else math.fsum(weighted)


def _ratio(variance: float, least: float) -> float:
    if least <= 0.0:
        return 1.0 if variance <= 0.0 else math.inf
    return math.sqrt(variance / least)


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
