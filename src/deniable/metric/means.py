"""Estimates means of a number from -1 to 1: reports are unbiased, and losses exact by integer thresholds."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial, singledispatch
from itertools import pairwise
from typing import TYPE_CHECKING, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Floats, Integers, list_blocks
from deniable.errors import InvalidParameter, InvalidReport, InvalidValue
from deniable.estimate import MeanEstimate, clopper_pearson, scattered
from deniable.exact import log_up, positive_epsilon, whole_number
from deniable.formatting import Printed, format_count, format_loss, format_percent
from deniable.law.law import Convention, ReportLaw
from deniable.mechanisms import ChannelMechanism, Tally, checked_words
from deniable.mechanisms.calibrate import largest
from deniable.mechanisms.checks import floats, restore_reports, unmasked
from deniable.mechanisms.shapes.common import set_numbers, smallest
from deniable.metric.waves import MOST_BINS, best_keep, checked_window, in_window, window_ratio
from deniable.randomness import FULL, Words, checked_source
from deniable.randomness.draws import WordArray
from deniable.randomness.words import Rows

LAST_POSITION = 1 << 32
"""A number is a position from 0 to this, which stand for -1 to 1: far closer than any noise."""
_FINE = 31
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_BLOCK = 1 << 16
MOST_OUTPUTS = 1 << 12
"""Reports of a number are counted by what they say, so that a plan's have few different ones."""
BINS = 1 << 8
"""Bins of a piecewise report in a plan. Up to epsilon 3 its variance is within a thousandth of that with the
finest bins, above it is smaller: 0.991 times that at 4, 0.65 times at 12.
"""
CELLS = 256
"""Equal parts of a range, by which reports of a number are compared."""
_TRIED = 1 << 10
SWITCH = 0.609346
"""Up to this epsilon one bit has the least variance."""
MEANS = ("duchi", "piecewise", "hybrid")
"""The protocols of a mean, by name."""


class Mean(Printed, ABC):
    """A mechanism for one number from -1 to 1, whose report stands for an unbiased number."""

    words: int

    if TYPE_CHECKING:  # read-only here, so that a mechanism may store it or compute it

        @property
        def outputs(self) -> int:
            """The number of different reports."""

    @property
    @abstractmethod
    def ratio(self) -> Fraction:
        """The largest ratio of two numbers' probabilities of one report."""

    @abstractmethod
    def variance(self, t: npt.ArrayLike = 0.0) -> Floats:
        """The variance of one report about the true number."""

    @abstractmethod
    def draw_reports(self, positions: WordArray, words: WordArray) -> Array:
        """Reports of positions from 0 to 2^32, for -1 to 1, from a row of words each: in integers."""

    @abstractmethod
    def numbers(self, reports: Array) -> Floats:
        """What each report stands for: equal to the true number on average, and mostly outside -1 to 1."""

    @final
    def loss(self) -> float:
        """The exact epsilon of one report, rounded up: for any two numbers, at any distance."""
        return log_up(self.ratio)

    @final
    def describe(self) -> str:
        """What it is, in a line: name, numbers, report, loss and size."""
        size = format_count(smallest(self.outputs).itemsize, "byte")
        report = f"a report is one of {self.outputs:,} numbers that are right on average"
        loss = f"loss {format_loss(self.loss())}"
        return f"{type(self).__name__}, numbers from -1 to 1: {report}, {loss}, {size} a report"

    def __str__(self) -> str:
        return self.describe()

    @final
    def privatize(self, values: npt.ArrayLike, words: Words | None = None) -> Array:
        """One report per number from -1 to 1; anything else is refused."""
        numbers = floats(values, "a list of numbers from -1 to 1")
        if numbers.ndim != 1 or not (np.abs(numbers) <= 1).all():
            raise InvalidValue("values are a list of numbers from -1 to 1; nothing was reported")
        rows = checked_source(words).rows(numbers.size, self.words)
        reports = np.empty(numbers.size, dtype=smallest(self.outputs))
        for block in list_blocks(numbers.size, _BLOCK):
            positions = np.rint((numbers[block] + 1) * (LAST_POSITION / 2)).astype(np.uint64)
            reports[block] = self.draw_reports(positions, rows.pick(block).array())
        return reports

    @final
    def tally(self, reports: Array) -> Tally:
        """How often each report was sent: all that an estimate needs."""
        array = restore_reports(unmasked(reports), np.empty(0, dtype=smallest(self.outputs)))
        if (
            array.ndim != 1
            or array.dtype != smallest(self.outputs)
            or (array.size and int(array.max()) >= self.outputs)
        ):
            raise InvalidReport(
                f"reports of this mechanism are {smallest(self.outputs)} from 0 to {self.outputs - 1}"
            )
        return Tally(array.size, np.bincount(array, minlength=self.outputs))

    @final
    def estimate(self, tally: Tally) -> MeanEstimate:
        """The unbiased mean with its error: the scatter of the reports, or of one number's if they agree."""
        if not isinstance(tally, Tally) or tally.counts.size != self.outputs or tally.counts.sum() != tally.n:
            raise InvalidReport("the estimate of a mean is made from a tally, m.estimate(m.tally(reports))")
        if tally.n < 2:
            raise InvalidParameter("there must be at least two reports, to see how they scatter")
        numbers = self.numbers(np.arange(self.outputs))
        mean = float(tally.counts @ numbers) / tally.n
        scatter = float(tally.counts @ (numbers - mean) ** 2) / (tally.n - 1)
        error = math.sqrt(max(scatter, self._least_variance) / tally.n)
        return MeanEstimate(tally.n, mean, error, partial(self.ends, tally.counts, mean, scatter))

    @cached_property
    def _least_variance(self) -> float:
        return float(np.min(self.variance(np.linspace(-1, 1, 257))))

    def ends(self, counts: Integers, mean: float, scatter: float, tail: float) -> tuple[float, float]:
        """Where the mean may be, each end missed this often: by the bounds on the scatter of reports."""
        return scattered(mean, scatter, int(counts.sum()), self.variance, tail)


@final
@dataclass(frozen=True)
class Duchi(Mean):
    """The report is yes or no, and stands for one number above 1 or its negative."""

    keep: int
    """How many of the 2^64 words say yes where the number is 1, and no where it is -1."""

    words, outputs = 1, 2

    def __post_init__(self) -> None:
        set_numbers(self, keep=checked_words("keep", self.keep))
        whole_number("keep", self.keep, (FULL >> 1) + 1, reason="likelier")

    @property
    def ratio(self) -> Fraction:
        return Fraction(self.keep, FULL - self.keep)

    @property
    def scale(self) -> float:
        """What a yes stands for: (e^epsilon + 1) / (e^epsilon - 1)."""
        return float(Fraction(FULL, 2 * self.keep - FULL))

    def variance(self, t: npt.ArrayLike = 0.0) -> Floats:
        return np.asarray(self.scale**2 - np.asarray(t, dtype=np.float64) ** 2)

    def draw_reports(self, positions: WordArray, words: WordArray) -> Array:
        """The threshold is half of the words, moved by the number's share of what it may move."""
        center = np.uint64(LAST_POSITION >> 1)
        below_center = positions < center
        size = np.where(below_center, center - positions, positions - center)
        reach = np.uint64(self.keep - (FULL >> 1))
        moved = ((size * (reach >> _HALF)) << np.uint64(1)) + ((size * (reach & _LOW)) >> np.uint64(_FINE))
        middle = np.uint64(FULL >> 1)
        return words[:, 0] < np.where(below_center, middle - moved, middle + moved)

    def numbers(self, reports: Array) -> Floats:
        return np.where(reports, self.scale, -self.scale)

    def ends(self, counts: Integers, mean: float, scatter: float, tail: float) -> tuple[float, float]:
        """How many say yes is binomial, whoever the people are: exact ends."""
        low, high = clopper_pearson(counts[1:].astype(np.float64), int(counts.sum()), tail)
        return float(2 * low[0] - 1) * self.scale, float(2 * high[0] - 1) * self.scale


@final
@dataclass(frozen=True)
class Piecewise(Mean):
    """The report is a bin: mostly in a window that moves with the number, else any other one."""

    k: int
    window: int
    keep: int

    words = 3

    def __post_init__(self) -> None:
        k, window, keep = checked_window(self.k, self.window, self.keep)
        set_numbers(self, k=k, window=window, keep=keep)

    @property
    def outputs(self) -> int:
        """The number of different reports; they are 0 to outputs - 1."""
        return self.k + self.window - 1

    @property
    def ratio(self) -> Fraction:
        return window_ratio(self.k, self.window, self.keep)

    @cached_property
    def _line(self) -> tuple[float, float]:
        """The mean report is start + slope * bin."""
        inside, others, w, m = Fraction(self.keep, FULL), self.k - 1, self.window, self.outputs
        slope = inside - (1 - inside) * w / others
        start = inside * Fraction(w - 1, 2) + (1 - inside) * Fraction(m * (m - 1) - w * (w - 1), 2 * others)
        return float(start), float(slope)

    def numbers(self, reports: Array) -> Floats:
        start, slope = self._line
        return np.asarray((np.asarray(reports, dtype=np.float64) - start) / slope * (2 / (self.k - 1)) - 1)

    def variance(self, t: npt.ArrayLike = 0.0) -> Floats:
        """From the second moments of the two bins that a number falls between."""
        position = (np.asarray(t, dtype=np.float64) + 1) / 2 * (self.k - 1)
        low = np.minimum(np.floor(position), self.k - 2)
        up = position - low
        (start, slope), size = self._line, 2 / (self.k - 1)
        mean = start + slope * position
        second = (1 - up) * self._square(low, mean) + up * self._square(low + 1, mean)
        return np.asarray(second * (size / slope) ** 2)

    def _square(self, value: Floats, about: Floats) -> Floats:
        """The mean square of a bin about a number, for the window at a value."""
        inside, w, m = self.keep / FULL, self.window, self.outputs
        center, middle = value + (w - 1) / 2 - about, (m - 1) / 2 - about
        window_bins, all_bins = w * (center**2 + (w * w - 1) / 12), m * (middle**2 + (m * m - 1) / 12)
        return np.asarray(inside * window_bins / w + (1 - inside) * (all_bins - window_bins) / (self.k - 1))

    def draw_reports(self, positions: WordArray, words: WordArray) -> Array:
        fine = positions * np.uint64(self.k - 1)  # of 2^32 parts of a bin
        low, part = fine >> _HALF, fine & _LOW
        bins = low + ((words[:, 2] >> _HALF) < part)
        return in_window(bins.astype(np.int64), words[:, 0], words[:, 1], self.k, self.window, self.keep)


@final
@dataclass(frozen=True)
class Hybrid(Mean):
    """The report is a piecewise one with this many of the 2^64 words, else a yes or no; it shows which."""

    piecewise: Piecewise
    duchi: Duchi
    share: int

    words = 5

    def __post_init__(self) -> None:
        checked_words("share", self.share)

    @property
    def outputs(self) -> int:
        """The number of different reports; they are 0 to outputs - 1."""
        return self.piecewise.outputs + 2

    @property
    def ratio(self) -> Fraction:
        return max(self.piecewise.ratio, self.duchi.ratio)

    def variance(self, t: npt.ArrayLike = 0.0) -> Floats:
        share = self.share / FULL
        return np.asarray(share * self.piecewise.variance(t) + (1 - share) * self.duchi.variance(t))

    def draw_reports(self, positions: WordArray, words: WordArray) -> Array:
        fine = self.piecewise.draw_reports(positions, words[:, 1:4])
        coarse = self.duchi.draw_reports(positions, words[:, 4:])
        return np.where(words[:, 0] < np.uint64(self.share), fine, coarse + np.uint64(self.piecewise.outputs))

    def numbers(self, reports: Array) -> Floats:
        bins = np.asarray(reports, dtype=np.int64)
        coarse = bins >= self.piecewise.outputs
        return np.where(
            coarse, self.duchi.numbers(bins > self.piecewise.outputs), self.piecewise.numbers(bins)
        )


def duchi(epsilon: float) -> Duchi:
    """One bit for the mean of a number t from -1 to 1: yes with probability 1/2 + t / (2 C), standing for C
    or -C.

    C = (e^epsilon + 1) / (e^epsilon - 1). The variance of a report is C^2 - t^2. Choose it at a small
    epsilon.

    >>> m = duchi(epsilon=0.5)
    >>> m.loss() <= 0.5, round(m.scale, 4), round(float(m.variance(0.0)), 2)
    (True, 4.083, 16.67)

    Reference: duchi2018
    """
    return Duchi(largest(lambda keep: Fraction(keep, FULL - keep), epsilon, (FULL >> 1) + 1, FULL - 1))


def piecewise(epsilon: float, bins: int = 1 << 16) -> Piecewise:
    """A number on a grid near a stretched t, for the mean of a number t from -1 to 1, with an exact
    guarantee.

    With z = e^(epsilon / 2) a window of 1 / (z + 1) of all outputs moves with t and holds the report with
    probability z / (z + 1). The variance of a report is t^2 / (z - 1) + (z + 3) / (3 (z - 1)^2), up to the
    width of a bin, which `variance` counts. A number between two bins goes to either, so that nothing is
    biased. Choose it above epsilon 1.3.

    >>> m = piecewise(epsilon=2.0)
    >>> m.loss() <= 2, round(float(m.variance(0.0)), 4), round(float(m.variance(1.0)), 4)
    (True, 0.6456, 1.2276)

    Reference: wang2019
    """
    k = whole_number("bins", bins, 2, MOST_BINS)
    window = max(1, round((k - 1) / math.exp(min(positive_epsilon(epsilon), 80.0) / 2)))
    return Piecewise(k, window, best_keep(k, window, epsilon))


def hybrid(epsilon: float, bins: int = 1 << 16) -> Hybrid | Duchi:
    """Mixes two: piecewise with probability 1 - e^(-epsilon / 2), else duchi; up to an epsilon of 0.61 just
    duchi.

    Its variance above that is the same for all t: (z + 3) / (3 z (z - 1)) + (e^epsilon + 1)^2 / (z (e^epsilon
    - 1)^2), with z = e^(epsilon / 2). The largest variance over t is the least of the three.

    >>> m = hybrid(epsilon=2.0)
    >>> m.loss() <= 2, [round(float(m.variance(t)), 4) for t in (0.0, 0.5, 1.0)]
    (True, [1.0423, 1.0423, 1.0423])

    Reference: wang2019
    """
    if positive_epsilon(epsilon) <= SWITCH:
        return duchi(epsilon)
    share = min(FULL - 1, round(Fraction(-math.expm1(-epsilon / 2)) * FULL))
    return Hybrid(piecewise(epsilon, bins), duchi(epsilon), share)


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
    blind = 0.5

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


def averaged(name: str, epsilon: float) -> Averaged:
    """A number's mean, by the name of a protocol, for a part of a record."""
    if name == "duchi":
        return Averaged(duchi(epsilon))
    return Averaged(piecewise(epsilon, BINS) if name == "piecewise" else hybrid(epsilon, BINS))
