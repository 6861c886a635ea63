"""Reports a number as part of a record: its mean is estimated, from reports with integer thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, singledispatch
from itertools import pairwise
from typing import final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Floats, Integers
from deniable.errors import InvalidParameter
from deniable.estimate import MeanEstimate
from deniable.formatting import format_percent
from deniable.law.checks import Convention
from deniable.law.contract import ReportLaw
from deniable.mechanisms import ChannelMechanism, Tally
from deniable.metric.means import LAST_POSITION, Duchi, Hybrid, Mean, Piecewise, duchi, hybrid, piecewise
from deniable.randomness.draws import WordArray
from deniable.randomness.words import Rows

MOST_OUTPUTS = 1 << 12
"""Reports of a number are counted by what they say, so that a plan's have few different ones."""
BINS = 1 << 8
"""Bins of a piecewise report in a plan. Up to epsilon 3 its variance is within a thousandth of that with the
finest bins, above it is smaller: 0.991 times that at 4, 0.65 times at 12.
"""
CELLS = 256
"""Equal parts of a range, by which reports of a number are compared."""
_TRIED = 1 << 10


@final
@dataclass(frozen=True)
class Averaged(ChannelMechanism):
    """A mechanism for a mean; values are 2^32 + 1 positions from the lowest number to the highest."""

    of: Duchi | Piecewise | Hybrid

    k = LAST_POSITION + 1
    numeric = True

    def __post_init__(self) -> None:
        if self.of.outputs > MOST_OUTPUTS:
            raise InvalidParameter(
                f"reports of a number in a record are one of at most {MOST_OUTPUTS:,}, got "
                f"{self.of.outputs:,}; use fewer bins",
                "outputs",
            )

    phrase = "one noisy number"
    rows_are = "part of the range"

    @property
    def title(self) -> str:
        return f"Mean by {type(self.of).__name__}"

    def describe_values(self) -> str:
        return "any number of a range"

    def describe_guess(self) -> str:
        right, blind = format_percent(self.success()), format_percent(self.blind)
        return f"half of the range guessed right {right} (blind {blind})"

    @property
    def words(self) -> int:
        return self.of.words

    @property
    def outputs(self) -> int:
        return self.of.outputs

    @property
    def ratio(self) -> Fraction:
        return self.of.ratio

    @cached_property
    def law(self) -> Averages:
        return Averages(self.of)

    def table(self) -> Floats:
        """For cells: equal parts of the range, over each of which numbers are spread evenly."""
        return self.law.table(CELLS)

    @property
    def blind(self) -> float:
        return 0.5

    def success(self, prior: npt.ArrayLike | None = None) -> float:
        """How often the best guess of the half of the range is right; all numbers are equally likely."""
        if prior is not None:
            raise InvalidParameter(
                "of a number it is guessed in which half of its range it is, both being equally likely"
            )
        return self.law.success()

    def supports(self, reports: Array, values: Integers) -> npt.NDArray[np.bool_]:
        """Whether both are on the same side of the middle."""
        return np.asarray((self.of.numbers(reports) > 0) == (2 * values > LAST_POSITION))

    def _encode(self, values: Integers, words: WordArray, reports: Array) -> None:
        reports[:] = self.of.draw_reports(values.astype(np.uint64), words)

    def _encode_compiled(self, values: Integers, rows: Rows, reports: Array) -> None:
        self._encode(values, rows.array(), reports)

    def estimate(self, tally: Tally) -> MeanEstimate:
        """The unbiased mean, from -1 for the lowest number to 1 for the highest."""
        return self.of.estimate(self.checked_tally(tally))

    def estimated(
        self, tally: Tally, law: ReportLaw | None = None, labels: Sequence[object] | None = None
    ) -> MeanEstimate:
        return self.estimate(tally)


@final
@dataclass(frozen=True)
class Averages:
    """The law of reports of a number, from 0 for the lowest to 1 for the highest, whose mean is estimated."""

    of: Duchi | Piecewise | Hybrid

    k = 2  # halves, which an attacker guesses
    spread = 1 / 12
    """The variance of numbers that are spread evenly."""

    @property
    def contributions(self) -> tuple[float, float]:
        """The least and the most that one report can add to the mean, times the number of reports."""
        numbers = (self.of.numbers(np.arange(self.of.outputs)) + 1) / 2
        return float(numbers.min()), float(numbers.max())

    def error(self, n: int, f: float | None = None) -> float:
        """The variance about the mean of those who answered, from n reports of evenly spread numbers."""
        return self._one_report / n

    def variance(self, n: int, f: npt.ArrayLike = 0.0, population: Convention = "sampled") -> float:
        """The variance from n reports. For sampled people, the spread of their numbers comes on top."""
        return self.error(n) + (self.spread / n if population == "sampled" else 0.0)

    def sum_errors(self, table: Floats) -> Floats:
        """The variance of the mean, for each row: a number has no shares to be weighed."""
        return np.full(len(table), self._one_report)

    @cached_property
    def _one_report(self) -> float:
        return float(np.mean(self.of.variance(np.linspace(-1, 1, 2 * _TRIED + 1)[1::2]))) / 4

    def success(self) -> float:
        """How often the best guess of the half is right."""
        return self._guess

    @cached_property
    def _guess(self) -> float:
        return float(self.table(2).max(axis=0).sum()) / 2

    def table(self, cells: int) -> Floats:
        """Each output's probability, for numbers spread evenly over each of this many parts of the range."""
        return _tabulate(self.of, cells)


@singledispatch
def _tabulate(mean: Mean, cells: int) -> Floats:
    raise InvalidParameter(f"reports of {type(mean).__name__} have no table of {cells} cells")


@_tabulate.register
def _tabulate_duchi(mean: Duchi, cells: int) -> Floats:
    yes = 0.5 + np.linspace(-1, 1, 2 * cells + 1)[1::2] / (2 * mean.scale)
    return np.column_stack([1 - yes, yes])


@_tabulate.register
def _tabulate_hybrid(mean: Hybrid, cells: int) -> Floats:
    share = mean.share / 2.0**64
    fine = _tabulate_piecewise(mean.piecewise, cells)
    coarse = _tabulate_duchi(mean.duchi, cells)
    return np.hstack([share * fine, (1 - share) * coarse])


@_tabulate.register
def _tabulate_piecewise(mean: Piecewise, cells: int) -> Floats:
    k, window, inside = mean.k, mean.window, mean.keep / 2.0**64
    bins, outputs = np.arange(k)[:, None], np.arange(mean.outputs)
    rows = np.where((outputs >= bins) & (outputs < bins + window), inside / window, (1 - inside) / (k - 1))
    ends = np.linspace(0.0, k - 1, cells + 1)
    return np.stack([_hat(np.arange(k), *part) for part in pairwise(ends)]) @ rows


def _hat(bins: Integers, start: float, stop: float) -> Floats:
    """How often each bin stands for a number from start to stop, in bins; the nearer of two is likelier."""

    def up_to(end: float) -> Floats:
        inside = np.clip(end - bins, -1.0, 1.0)
        return np.asarray(np.where(inside < 0, (1 + inside) ** 2 / 2, 1 - (1 - inside) ** 2 / 2))

    return np.asarray((up_to(stop) - up_to(start)) / (stop - start))


MEANS = ("duchi", "piecewise", "hybrid")
"""The protocols of a mean, by name."""


def averaged(name: str, epsilon: float) -> Averaged:
    """A number's mean, by the name of a protocol, for a part of a record."""
    if name == "duchi":
        return Averaged(duchi(epsilon))
    return Averaged(piecewise(epsilon, BINS) if name == "piecewise" else hybrid(epsilon, BINS))
