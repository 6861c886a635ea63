"""Adds Laplace noise to histograms, for research: in floating point, so without an exact guarantee."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Floats
from deniable.errors import InvalidParameter, InvalidReport
from deniable.estimate import Estimate
from deniable.exact import number, positive_epsilon
from deniable.law import Moments
from deniable.mechanisms.base import Mechanism
from deniable.mechanisms.checks import checked_k, checked_values, unmasked
from deniable.mechanisms.tally import Tally
from deniable.randomness import Words, checked_source

_BLOCK = 1 << 17
_FARTHEST = -700.0  # nats, within what floats hold


@final
@dataclass(frozen=True)
class Summed(Mechanism):
    """The report is k floating-point numbers: 1 for the true value, 0 for the others, plus Laplace noise."""

    k: int
    epsilon: float
    """What the real-valued mechanism would lose; the floats that are sent may lose more."""

    counts_reports = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", checked_k(self.k, 1 << 20, "summed"))
        object.__setattr__(self, "epsilon", number("epsilon", positive_epsilon(self.epsilon), 1e-9, 1000.0))

    title = "Summed histogram"
    phrase = "one noisy number per value"

    def describe_loss(self) -> str:
        return f"no exact loss (epsilon {self.epsilon:g} without rounding)"

    @property
    def words(self) -> int:
        return self.k

    @property
    def report_bytes(self) -> int:
        return 4 * self.k

    @property
    def scale(self) -> float:
        """The scale of the noise: a changed value moves two cells by one each."""
        return 2 / self.epsilon

    @cached_property
    def law(self) -> Moments:
        return Moments(self.k, 2 * self.scale**2, _largest_cell_success(self.k, self.epsilon))

    def loss(self) -> float:
        return self.law.loss()

    def success(self, prior: npt.ArrayLike | None = None) -> float:
        if prior is not None:
            raise InvalidParameter("a noisy sum's best guess is known for the uniform prior only")
        return self.law.success()

    def privatize(self, values: npt.ArrayLike, words: Words | None = None) -> Array:
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

    def support(self, reports: Array) -> npt.NDArray[np.bool_]:
        """The best guess stands in for the support, which a noisy sum does not have."""
        return np.asarray(reports.argmax(axis=1)[:, None] == np.arange(self.k))

    def likelihoods(self, reports: Array) -> Floats:
        """(|y| - |y - 1|) epsilon / 2 in the exponent: beyond 0 and 1 a cell says no more."""
        exponents = self.epsilon * np.clip(np.asarray(reports, dtype=np.float64), 0.0, 1.0)
        nearest = exponents.max(axis=1, keepdims=True, initial=-np.inf)
        return np.asarray(np.exp(np.maximum(exponents - nearest, _FARTHEST)))

    def tally(self, reports: Array) -> Tally:
        array = unmasked(reports)
        if array.dtype != np.float32 or array.shape[1:] != (self.k,) or not np.isfinite(array).all():
            raise InvalidReport(f"reports of this mechanism are finite float32 of shape (n, {self.k})")
        return Tally(len(array), array.sum(axis=0, dtype=np.float64))

    def estimate(self, tally: Tally) -> Estimate:
        counted = self.checked_tally(tally)
        return Estimate(counted.n, counted.counts, self.law)


def _largest_cell_success(k: int, epsilon: float) -> float:
    """How often the true value's cell is the largest: an integral over its noise, in three ranges."""
    t = math.exp(-epsilon / 2)
    x, w = np.polynomial.legendre.leggauss(200)
    log_u = 0.5 * math.log(t) * (1 - x)  # from ln t to 0
    u = np.exp(log_u)
    middle = float((w * (1 - u / 2) ** (k - 1) / u).sum()) * -0.5 * math.log(t)
    return t / (k * 2.0 ** min(k, 1000)) + t / 2 * middle + -math.expm1(k * math.log1p(-t / 2)) / (k * t)
