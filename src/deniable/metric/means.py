"""Estimates means of a number from -1 to 1: reports are unbiased, and losses exact by integer thresholds."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Floats, Integers
from deniable.errors import InvalidParameter, InvalidReport, InvalidValue
from deniable.estimate import MeanEstimate as MeanEstimate
from deniable.estimate import clopper_pearson, scattered
from deniable.exact import log_up, positive_epsilon, whole_number
from deniable.formatting import format_count, format_loss
from deniable.mechanisms import Tally, checked_words
from deniable.mechanisms.calibrate import largest
from deniable.mechanisms.checks import floats, restore_reports, unmasked
from deniable.mechanisms.shapes.common import set_numbers, smallest
from deniable.metric.waves import MOST_BINS, best_keep, checked_window, in_window, window_ratio
from deniable.randomness import FULL, Words, checked_source
from deniable.randomness.draws import WordArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LAST_POSITION = 1 << 32
"""A number is a position from 0 to this, which stand for -1 to 1: far closer than any noise."""
_FINE = 31
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_BLOCK = 1 << 16


class Mean(ABC):
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

    def _repr_html_(self) -> str:
        name, facts = self.describe().split(": ", 1)
        return f"<p><b>{name}</b>: {facts}</p>"

    @final
    def plot(self) -> Figure:
        """A figure of matplotlib: the standard deviation of a report, for each number from -1 to 1."""
        from deniable.plot.charts import plot_curve

        numbers = np.linspace(-1.0, 1.0, 201)
        names = ("true number", "standard deviation of a report")
        return plot_curve(numbers, np.sqrt(self.variance(numbers)), self.describe(), names)

    @final
    def privatize(self, values: npt.ArrayLike, words: Words | None = None) -> Array:
        """One report per number from -1 to 1; anything else is refused."""
        numbers = floats(values, "a list of numbers from -1 to 1")
        if numbers.ndim != 1 or not (np.abs(numbers) <= 1).all():
            raise InvalidValue("values are a list of numbers from -1 to 1; nothing was reported")
        rows = checked_source(words).rows(numbers.size, self.words)
        reports = np.empty(numbers.size, dtype=smallest(self.outputs))
        for start in range(0, numbers.size, _BLOCK):
            block = slice(start, start + _BLOCK)
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


SWITCH = 0.609346
"""Up to this epsilon one bit has the least variance."""
