"""Draws Gaussian noise on the integers from a table out of 2^128, and bounds the loss of that table."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import isqrt
from typing import final

import numpy as np

from deniable.arrays import Integers
from deniable.errors import InvalidParameter
from deniable.exact import exp_up, number, positive_epsilon, round_up
from deniable.learn.noise import WIDE, CountNoise, Thresholds, checked_noise_epsilon, checked_shift
from deniable.learn.tails import BITS, exp_bounds, falling_terms, missing_of, shifted_delta, total_weight
from deniable.randomness import Words

GRID = 1024
"""A calibrated sigma is a multiple of 1 / GRID."""
LEAST_SIGMA = Fraction(1, 2)
MOST_SIGMA = 1 << 16

_REACH = 184  # at sqrt(184) standard deviations, a chance is below 2^-132
_SLACK = Fraction(1, 1 << 100)  # no table that is made here is farther from its ideal


@final
@dataclass(frozen=True, repr=False)
class DiscreteGaussian(CountNoise):
    """Gaussian noise on the integers: z has a chance in proportion to e^(-z^2 / 2 sigma^2).

    The chances are integers out of 2^128. `delta` is that of the ideal law, and as much more as the table may
    differ from it: it holds for the bits that are drawn.

    >>> noise = DiscreteGaussian.of(20)
    >>> noise.delta(0.3, counts=2)
    1.94...e-07
    >>> noise.epsilon(1e-7, counts=2)
    0.310...
    """

    sigma: Fraction
    weights: tuple[int, ...]
    """How many of the 2^128 pairs of words give z, and as many -z, for z from 0 on."""

    def __post_init__(self) -> None:
        _check_sigma(self.sigma)
        if min(self.weights) < 0 or 2 * sum(self.weights) - self.weights[0] != WIDE:
            raise InvalidParameter("weights must not be negative, and must add up to 2^128 over both signs")

    def __repr__(self) -> str:
        return f"DiscreteGaussian(sigma={float(self.sigma):.10g})"

    @classmethod
    def of(cls, sigma: float | Fraction) -> DiscreteGaussian:
        """The table of a sigma, from 1/2 to 65,536; what rounding leaves over goes to z = 0."""
        exact = sigma if isinstance(sigma, Fraction) else Fraction(number("sigma", sigma, 0.0, 2.0**64))
        variance = _check_sigma(exact) ** 2
        far = _REACH * variance
        terms = falling_terms(variance, 0, isqrt(far.numerator // far.denominator) + 2)
        weight = total_weight(variance).high
        scale = weight.denominator * WIDE
        over = weight.numerator << BITS
        tails = [term * scale // over for term in terms[1:]]
        return cls(exact, (WIDE - 2 * sum(tails), *tails))

    @classmethod
    def calibrate(cls, epsilon: float, delta: float, counts: int = 1, each: int = 1) -> DiscreteGaussian:
        """The least sigma of the grid that keeps epsilon and delta where one person moves so many counts.

        >>> DiscreteGaussian.calibrate(1.0, 1e-7, counts=6912)
        DiscreteGaussian(sigma=388.977...)
        """
        budget = positive_epsilon(epsilon)
        allowed = Fraction(number("delta", delta, 0.0, 1.0))
        moved = checked_shift(counts, each)
        spare = allowed - (1 + exp_up(budget)) * counts * _SLACK
        if spare <= 0:
            raise InvalidParameter(
                f"delta {delta:g} is too small for a table out of 2^128 at epsilon {epsilon:g}; choose a "
                "larger delta, or Laplace noise, which has none"
            )

        def keeps(steps: int) -> bool:
            return shifted_delta(Fraction(steps, GRID) ** 2, *moved, budget) <= spare

        low = int(LEAST_SIGMA * GRID)
        if keeps(low):
            return cls.of(LEAST_SIGMA)
        high = 2 * low
        while not keeps(high):
            low, high = high, 2 * high
            if high > MOST_SIGMA * GRID:
                raise InvalidParameter(
                    f"epsilon {epsilon:g} at delta {delta:g} for {counts:,} counts needs noise with a "
                    f"deviation above {MOST_SIGMA:,}; choose a larger epsilon, or a shorter series"
                )
        while high - low > 1:
            middle = (low + high) // 2
            if keeps(middle):
                high = middle
            else:
                low = middle
        return cls.of(Fraction(high, GRID))

    @property
    def deviation(self) -> float:
        return float(self.sigma)

    @cached_property
    def distance(self) -> Fraction:
        """The total variation distance between the table and the ideal law, rounded up.

        The differences add up to 0, so that half of the sum of their sizes is at most that of all but z = 0.
        """
        variance = self.sigma**2
        count = len(self.weights)
        terms = falling_terms(variance, 0, count)
        weight = total_weight(variance)
        scale = weight.high.denominator * WIDE
        over = weight.high.numerator << BITS
        pairs = zip(self.weights[1:], terms[1:], strict=True)
        apart = sum(abs(chance * over - term * scale) for chance, term in pairs)
        # what the terms lack, what the total may be less, and what is behind the table
        lacking = Fraction(missing_of(count), 1 << BITS) + weight.high - weight.low
        last = exp_bounds(-Fraction(count**2) / (2 * variance)).high
        behind = last * (1 + variance / count)
        return 2 * (Fraction(apart, scale << BITS) + lacking + behind) / weight.low

    def delta(self, epsilon: float, counts: int = 1, each: int = 1) -> float:
        moved = checked_shift(counts, each)
        checked = checked_noise_epsilon(epsilon)
        ideal = shifted_delta(self.sigma**2, *moved, checked)
        off = (1 + exp_up(checked)) * counts * self.distance
        return round_up(min(Fraction(1), ideal + off))

    @cached_property
    def _thresholds(self) -> Thresholds:
        return Thresholds([*reversed(self.weights[1:]), *self.weights])

    def _draw(self, size: int, words: Words) -> Integers:
        pairs = words.take(2 * size).reshape(size, 2)
        return np.asarray(self._thresholds.find(pairs) - (len(self.weights) - 1))


def _check_sigma(sigma: Fraction) -> Fraction:
    if not LEAST_SIGMA <= sigma <= MOST_SIGMA:
        raise InvalidParameter(
            f"sigma must be from {float(LEAST_SIGMA):g} to {MOST_SIGMA:,}, got {float(sigma):g}"
        )
    return sigma
