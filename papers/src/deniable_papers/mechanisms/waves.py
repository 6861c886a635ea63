"""Reports numbers by a continuous square wave, in floats: near the true number with one density, elsewhere
with another.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NoReturn, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats
from deniable.errors import InvalidReport, InvalidValue, NotExact
from deniable.estimate import Bins
from deniable.exact import number, positive_epsilon, whole_number
from deniable.likelihood import Likelihood, mle
from deniable.mechanisms import Tally
from deniable.mechanisms.checks import floats, unmasked
from deniable.metric.waves import half_window
from deniable.randomness import Words, checked_source

_FEWEST_BINS, _MOST_BINS = 8, 256
"""The fewest and the most bins that numbers are counted in, unless others are asked for."""
_MOST_ASKED = 1 << 11
"""The most bins that can be asked for."""
_ROUNDED = 1e-9  # how far a report may be beyond the ends, by rounding


@final
@dataclass(frozen=True)
class ContinuousWave:
    """A number from 0 to 1 becomes one from -width to 1 + width, mostly within width of it, in floats.

    The library's `square_wave(epsilon, bins)` has bins, and an exact loss.

    Reference: li2020
    """

    epsilon: float
    """What the real-valued mechanism loses; the floats that are sent may lose more."""

    words = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", number("epsilon", positive_epsilon(self.epsilon), 1e-9, 700.0))

    def __str__(self) -> str:
        window = f"a report is a number mostly within {self.width:.4g} of the true one"
        return f"Square wave, numbers from 0 to 1: {window}, no exact loss (epsilon {self.epsilon:g})"

    @property
    def width(self) -> float:
        """Half the window: the width whose report reveals most about the value."""
        return half_window(self.epsilon)

    @property
    def densities(self) -> tuple[float, float]:
        """How dense reports are in the window, and outside."""
        outside = 1 / (2 * self.width * math.exp(self.epsilon) + 1)
        return math.exp(self.epsilon) * outside, outside

    def loss(self) -> NoReturn:
        """Refused: the floats that are sent do not follow the real-valued law that the proof is about."""
        raise NotExact("floating-point noise has no exact loss; use dn.metric.square_wave(epsilon, bins)")

    def privatize(self, values: npt.ArrayLike, words: Words | None = None) -> Floats:
        """One report per number, from two words each."""
        numbers = floats(values, "a list of numbers from 0 to 1")
        if numbers.ndim != 1 or not ((numbers >= 0) & (numbers <= 1)).all():
            raise InvalidValue("values are a list of numbers from 0 to 1")
        words_drawn = checked_source(words).rows(numbers.size, self.words).array()
        coin, position = ((words_drawn >> np.uint64(12)).astype(np.float64) + 0.5).T * 2.0**-52
        b = self.width
        outside = np.where(position < numbers, position - b, position + b)
        return np.asarray(
            np.where(coin < 2 * b * self.densities[0], numbers + (2 * position - 1) * b, outside)
        )

    def matrix(self, bins: int, outputs: int | None = None) -> Floats:
        """How likely a report is in each of these bins from -width to 1 + width, from values spread evenly
        over each of these bins from 0 to 1: by exact integrals.

        >>> rows = ContinuousWave(1.0).matrix(4, 8)
        >>> rows.shape, bool(np.allclose(rows.sum(axis=1), 1, rtol=0, atol=1e-12))
        ((4, 8), True)
        """
        inputs = whole_number("bins", bins, 1, 1 << 14)
        ends = np.linspace(
            -self.width, 1 + self.width, (whole_number("outputs", outputs or bins, 1, 1 << 14)) + 1
        )
        starts = np.arange(inputs + 1) / inputs
        b, (inside, far) = self.width, self.densities

        def area(x: Floats) -> Floats:
            """The integral of the length of what lies within b, twice."""
            return np.where(np.abs(x) <= b, x * x / 2, b * np.abs(x) - b * b / 2)

        corner = area(ends[None, :] - starts[:, None])
        overlap = (corner[:-1, 1:] - corner[1:, 1:] - corner[:-1, :-1] + corner[1:, :-1]) * inputs
        return np.asarray(far * np.diff(ends) + (inside - far) * overlap)

    def count(self, data: npt.ArrayLike, bins: int | None = None) -> tuple[Floats, Tally]:
        """The channel of numbers in bins, and how many reports are in each of twice as many: what `mle` and
        `mle_groups` take. Unless given, bins are about the root of the number of reports.
        """
        low, high = -self.width, 1 + self.width
        values = unmasked(np.asanyarray(data))
        try:
            reports = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            reports = np.full(1, np.nan)
        if reports.ndim != 1 or not ((reports >= low - _ROUNDED) & (reports <= high + _ROUNDED)).all():
            raise InvalidReport(
                f"reports of this Square Wave are a list of numbers from {low:.6g} to {high:.6g}"
            )
        usual = min(max(round(math.sqrt(reports.size)), _FEWEST_BINS), _MOST_BINS)
        k = whole_number("bins", usual if bins is None else bins, 2, _MOST_ASKED)
        counts = np.histogram(np.clip(reports, low, high), 2 * k, (low, high))[0]
        return np.maximum(self.matrix(k, 2 * k), 0.0), Tally(reports.size, counts.astype(np.int64))


def mle_wave(wave: ContinuousWave, reports: npt.ArrayLike, bins: int | None = None) -> Likelihood:
    """Finds the most likely shares of bins from 0 to 1; means and quantiles of the result are from 0 to 1.

    >>> from deniable.randomness.simulated import seeded
    >>> wave, numbers = ContinuousWave(2.0), np.random.default_rng(1).beta(2, 5, 2000)
    >>> found = mle_wave(wave, wave.privatize(numbers, seeded(1)))
    >>> found.n, found.k, found.stop
    (2000, 45, 'certified')
    """
    matrix, tally = wave.count(reports, bins)
    return replace(mle(matrix, tally), bins=Bins(np.linspace(0.0, 1.0, len(matrix) + 1)))
