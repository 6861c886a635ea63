"""Adds Laplace noise to histograms, for research: in floating point, so without an exact guarantee."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Floats
from deniable.errors import InvalidReport, NotExact
from deniable.estimate import Estimate
from deniable.exact import number, positive_epsilon
from deniable.formatting import format_count
from deniable.law import Moments
from deniable.mechanisms import Tally, checked_k, checked_values
from deniable.mechanisms.checks import unmasked
from deniable.randomness import Words, checked_source

_BLOCK = 1 << 17
_FARTHEST = -700.0  # nats, within what floats hold


@final
@dataclass(frozen=True)
class Summed:
    """The report is k floating-point numbers: 1 for the true value, 0 for the others, plus Laplace noise.

    No two machines agree on the last digits of logarithms, and no exact loss can be stated: it is no
    `Mechanism`, and no plan holds it.
    """

    k: int
    epsilon: float
    """What the real-valued mechanism would lose; the floats that are sent may lose more."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", checked_k(self.k, 1 << 20, "summed"))
        object.__setattr__(self, "epsilon", number("epsilon", positive_epsilon(self.epsilon), 1e-9, 1000.0))

    def __str__(self) -> str:
        loss = f"no exact loss (epsilon {self.epsilon:g} without rounding)"
        report = "a report is one noisy number per value"
        return f"Summed histogram, {format_count(self.k, 'value')}: {report}, {loss}"

    @property
    def report_bytes(self) -> int:
        """The size of one report."""
        return 4 * self.k

    @property
    def scale(self) -> float:
        """The scale of the noise: a changed value moves two cells by one each."""
        return 2 / self.epsilon

    @cached_property
    def law(self) -> Moments:
        """The mean and the variance of every cell."""
        return Moments(self.k, 2 * self.scale**2)

    def loss(self) -> NoReturn:
        """Refused: the floats that are sent do not follow the real-valued law that the proof is about."""
        raise NotExact(
            "floating-point noise has no exact loss; use a protocol with integer thresholds, such as oue"
        )

    def success(self) -> float:
        """How often the best guess of the value from one report is right, all values being equally likely."""
        return _largest_cell_success(self.k, self.epsilon)

    def privatize(self, values: npt.ArrayLike, words: Words | None = None) -> Array:
        """One report per value, from a word for each cell."""
        checked = checked_values(values, self.k)
        source = checked_source(words)
        reports = np.empty((checked.size, self.k), dtype=np.float32)
        step = max(1, _BLOCK // self.k)
        for start in range(0, checked.size, step):
            block = reports[start : start + step]
            words_drawn = source.take(block.size).reshape(block.shape)
            uniform = ((words_drawn >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
            sign = np.where(words_drawn & np.uint64(1), self.scale, -self.scale)
            block[:] = sign * np.log(uniform)
            block[np.arange(len(block)), checked[start : start + step]] += 1
        return reports

    def likelihoods(self, reports: Array) -> Floats:
        """How likely each report is from each value, up to a factor of its own.

        (|y| - |y - 1|) epsilon / 2 is in the exponent: beyond 0 and 1 a cell says no more.
        """
        exponents = self.epsilon * np.clip(np.asarray(reports, dtype=np.float64), 0.0, 1.0)
        nearest = exponents.max(axis=1, keepdims=True, initial=-np.inf)
        return np.asarray(np.exp(np.maximum(exponents - nearest, _FARTHEST)))

    def tally(self, reports: Array) -> Tally:
        """Add up the cells of all reports."""
        array = unmasked(reports)
        if array.dtype != np.float32 or array.shape[1:] != (self.k,) or not np.isfinite(array).all():
            raise InvalidReport(f"reports of this mechanism are finite float32 of shape (n, {self.k})")
        return Tally(len(array), array.sum(axis=0, dtype=np.float64))

    def estimate(self, tally: Tally) -> Estimate:
        """Unbiased frequencies with error bars."""
        if not isinstance(tally, Tally):
            raise InvalidReport(
                f"estimates are made from a tally, m.estimate(m.tally(reports)), got {type(tally).__name__}"
            )
        if tally.counts.size != self.k:
            raise InvalidReport(f"this tally counts {tally.counts.size} values, the mechanism has {self.k}")
        return Estimate(tally.n, tally.counts, self.law)


def she(k: int, epsilon: float) -> Summed:
    """Summed histogram: Laplace noise of scale 2 / epsilon on every cell, sent as it is.

    p = 1 and q = 0 in every cell, before the noise. Variance 8 / (n epsilon^2). k floating-point numbers,
    whose noise is never exact: there is no loss to state.

    >>> round(she(k=100, epsilon=1.0).law.variance(n=10_000), 6)
    0.0008

    Reference: wang2017.
    """
    return Summed(k, epsilon)


def _largest_cell_success(k: int, epsilon: float) -> float:
    """How often the true value's cell is the largest: an integral over its noise, in three ranges."""
    t = math.exp(-epsilon / 2)
    x, w = np.polynomial.legendre.leggauss(200)
    log_u = 0.5 * math.log(t) * (1 - x)  # from ln t to 0
    u = np.exp(log_u)
    middle = float((w * (1 - u / 2) ** (k - 1) / u).sum()) * -0.5 * math.log(t)
    return t / (k * 2.0 ** min(k, 1000)) + t / 2 * middle + -math.expm1(k * math.log1p(-t / 2)) / (k * t)
