"""States the law of a noisy sum, by its moments."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats
from deniable.errors import NotExact
from deniable.formatting import format_count
from deniable.law.checks import Convention, check_convention, checked_shares


@final
@dataclass(frozen=True)
class Moments:
    """The law of a noisy sum: each report adds the truth plus noise of known variance to every cell.

    A real-valued noise is only approximated by floats, so there is no exact loss to be had.
    """

    k: int
    noise: float
    best_guess: float = field(repr=False)
    combined: Callable[[Floats], float] | None = field(default=None, repr=False, compare=False)
    """The variance, for one report, of a weighted sum of shares, where the noise of cells is dependent."""
    cumulated: Callable[[], Floats] | None = field(default=None, repr=False, compare=False)
    """The variance, for one report, of every cumulative share but the last."""
    inside: Floats | None = field(default=None, repr=False, compare=False)
    """The mean square of what a person with the value adds to its share, where that is not plain noise."""
    outside: Floats | None = field(default=None, repr=False, compare=False)
    """The mean square of what all other people add to the share of a value, as observed."""
    grouped: Callable[[Floats], tuple[float, float]] | None = field(default=None, repr=False, compare=False)
    """The mean square of what people with any of several values add to the sum of these shares, and the
    observed sum over all reports.
    """
    contributions: tuple[float, float] = field(default=(-math.inf, math.inf), repr=False, compare=False)
    """The least and the most that one report can add to a share, times the number of reports; noise that is
    not bounded allows anything.
    """

    p, q, gain = 1.0, 0.0, 1.0

    def __str__(self) -> str:
        noise = f"a report adds noise of variance {self.noise:.4g} to each"
        return f"Law of a noisy sum, {format_count(self.k, 'value')}: {noise}"

    def loss(self) -> float:
        """Refused: the floats that are sent do not follow the real-valued law that a proof is about."""
        raise NotExact(
            "floating-point noise has no exact loss; use a protocol with integer thresholds (oue, the, ...)"
        )

    def variance(self, n: int, f: npt.ArrayLike = 0.0, population: Convention = "sampled") -> float | Floats:
        """The variance of an estimated frequency from n reports where the truth is f."""
        check_convention(n, population)
        f = checked_shares(f)
        variance = (self.noise + (f * (1 - f) if population == "sampled" else 0 * f)) / n
        return float(variance) if variance.ndim == 0 else variance

    def error(self, n: int, f: float | None = None) -> float:
        """The variance averaged over the k values for the people who answered; with f, at that frequency."""
        return float(self.variance(n, 1 / self.k, "fixed") if f is None else self.variance(n, f))

    def sum_errors(self, table: Floats) -> Floats:
        """The variances of weighted sums of shares, from one report: noise of cells adds up."""
        return np.asarray((table**2).sum(axis=-1) * self.noise)

    def success(self) -> float:
        """How often the best guess from one report is right, for a uniform prior."""
        return self.best_guess
