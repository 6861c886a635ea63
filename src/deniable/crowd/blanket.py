"""Bounds what a crowd hides by its privacy blanket: the part of every report that no value moves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple, final

import numpy as np

from deniable.arrays import Floats
from deniable.crowd.tails import ROUNDING, group, tail

_OTHERS, _ONE, _BOTH = 32, 256, 8  # groups of each number that are looked at one by one
_RARE = 1e-22  # cases that are rarer are counted together, as if nobody hid


class _Cells(NamedTuple):
    """Cases of a crowd, each with its chance: the blanket's reports, and how many support which value."""

    reports: Floats
    single: Floats
    """How many support one of the two values, but not the other."""
    spare: Floats
    """How many fewer there may be in the case."""
    double: Floats
    chances: Floats
    rest: float
    """How likely it is none of these cases."""


@final
@dataclass(frozen=True)
class Blanket:
    """A report is e or 1 times as likely as one of the blanket, as it supports the value or not.

    So a report is, with probability `gamma`, one of the blanket, drawn without looking at the value. `one` is
    the chance that it supports the first of two values but not the second, `both` that it supports both.
    All of them follow from the law: from p, q and the ratio e.

    Reference: balle2019.
    """

    n: int
    ratio: Fraction
    p: Fraction
    q: Fraction

    @cached_property
    def gamma(self) -> Fraction:
        """The chance that a report is the blanket's: p = e gamma s and 1 - p = gamma (1 - s)."""
        return self.p / self.ratio + 1 - self.p

    @cached_property
    def both(self) -> Fraction:
        """Pr(a report of the blanket supports two values), by q = gamma (one + e both)."""
        return (self.q / self.gamma - self._supported) / (self.ratio - 1)

    @cached_property
    def one(self) -> Fraction:
        """Pr(a report of the blanket supports the first of two values, but not the second)."""
        return self._supported - self.both

    @property
    def _supported(self) -> Fraction:
        return self.p / self.ratio / self.gamma

    def delta(self, epsilon: float) -> float:
        """The smallest delta for this epsilon, or slightly more.

        With M + 1 reports of the blanket, of which N0 support the one value and N1 the other, it is the mean
        of gamma [(1 - X) + (e - 1) (N0 - X N1) / (M + 1)]_+ for X = e^epsilon. Given how many support just
        one of the two, each of these is a fair coin.
        """
        cells = self._cells
        x, odds = math.exp(epsilon), float(self.ratio - 1)
        # a case of at most `one` such reports: the coins that may be missing add spread, but no mean
        lift = cells.spare * odds * math.expm1(epsilon) / 2
        constant = -math.expm1(epsilon) * (cells.reports + odds * cells.double) + lift
        least = np.ceil((x * cells.single - constant / odds) / (1 + x))
        above = odds * (1 + x) * cells.single / 2 * tail(np.maximum(cells.single - 1, 0), 0.5, least - 1)
        slope = constant - odds * x * cells.single
        below = slope * tail(cells.single, 0.5, least)
        excess = np.maximum(above + below, 0.0) + ROUNDING * (above + np.maximum(below, 0.0))
        mean = float(cells.chances @ (excess / cells.reports))
        return float(self.gamma) * (mean + cells.rest * float(self.ratio)) * (1 + ROUNDING)

    @cached_property
    def _cells(self) -> _Cells:
        """More reports of the blanket hide more, as do more that support both: a group is its smallest."""
        chance_of_one = float(2 * self.one)
        chance_of_both = float(self.both / (1 - 2 * self.one)) if 2 * self.one < 1 else 0.0
        others = group(self.n - 1, float(self.gamma), _OTHERS)
        reports = others.first[0] + 1
        singles = group(reports, chance_of_one, _ONE)
        weights = others.chances[0][:, None] * singles.chances
        row, column = np.nonzero(weights)
        most = singles.last[row, column]
        doubles = group(reports[row] - most, chance_of_both, _BOTH)
        rest = (
            others.outside[0] + others.chances[0] @ singles.outside + weights[row, column] @ doubles.outside
        )
        chances = weights[row, column][:, None] * doubles.chances
        case, double = np.nonzero(chances > _RARE)
        rest += chances[chances <= _RARE].sum()
        return _Cells(
            reports=reports[row][case],
            single=most[case],
            spare=(most - singles.first[row, column])[case],
            double=doubles.first[case, double],
            chances=chances[case, double],
            rest=float(rest),
        )
