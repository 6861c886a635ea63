"""Draws Gaussian noise on the integers from a table out of 2^128, and bounds the loss of that table.

The law of variance V gives an integer s the chance f(s) / W, where f(s) = e^(-s^2 / 2V). By Poisson's formula
the total weight W is sqrt(2 pi V) (1 + 2w), where w is the sum of q^(k^2) over k >= 1 and q = e^(-2 pi^2 V).
Tails are bounded from both sides, in integers and decimals.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import cached_property, lru_cache
from math import isqrt
from typing import NamedTuple, final

import numpy as np

from deniable.arrays import Integers
from deniable.errors import InvalidParameter
from deniable.exact import exp_down, exp_up, number, positive_epsilon, power_up, round_up
from deniable.randomness import Words
from deniable_papers.noise.laplace import WIDE, CountNoise, Thresholds, checked_noise_epsilon, checked_shift

GRID = 1024
"""A calibrated sigma is a multiple of 1 / GRID."""
LEAST_SIGMA = Fraction(1, 2)
MOST_SIGMA = 1 << 16
BITS = 256
"""Terms are integers out of 2^BITS."""

_REACH = 184  # at sqrt(184) standard deviations, a chance is below 2^-132
_SLACK = Fraction(1, 1 << 100)  # no table that is made here is farther from its ideal
_CONTEXT = Context(prec=100)
_PI = Decimal(
    "3.14159265358979323846264338327950288419716939937510"
    "58209749445923078164062862089986280348253421170679821480865132823"
)
_MARGIN = Fraction(1, 10**80)  # far above the last digit of a decimal, far below any delta
_VANISHED = -400  # e to this is far below the margin
_SUMMED = 1 << 20  # up to this variance, tails are summed term by term
_DISTORTED = Fraction(1, 10**6)  # a sum of draws whose law is off by more than this factor is convolved
_MOST_CONVOLVED = 1 << 10
_NEGLIGIBLE = 300  # f(s) is below 2^-216 where s^2 is this many times the variance


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
        terms = _falling_terms(variance, 0, isqrt(far.numerator // far.denominator) + 2)
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
        terms = _falling_terms(variance, 0, count)
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


class Bounds(NamedTuple):
    """A number that is between two rationals."""

    low: Fraction
    high: Fraction


def _falling_terms(variance: Fraction, first: int, count: int) -> list[int]:
    """The terms f(first), f(first + 1), … out of 2^BITS, rounded down; number j lacks 2 (j + 1)^2 at most.

    Each is the one before times a factor, and the factor falls by e^(-1/V).
    """
    term = _round_exp(-Fraction(first**2) / (2 * variance))
    factor = _round_exp(-Fraction(2 * first + 1) / (2 * variance))
    fall = _round_exp(-1 / variance)
    terms = []
    for _ in range(count):
        terms.append(term)
        term = term * factor >> BITS
        factor = factor * fall >> BITS
    return terms


def missing_of(count: int) -> int:
    """How much the sum of so many falling terms lacks at most, out of 2^BITS."""
    return 2 * count**3


def _round_exp(exponent: Fraction) -> int:
    low = exp_bounds(exponent).low * (1 << BITS)
    return low.numerator // low.denominator


def exp_bounds(exponent: Fraction) -> Bounds:
    """A power of e whose exponent is not positive."""
    if exponent < _VANISHED:
        return Bounds(Fraction(0), _MARGIN)
    with localcontext(_CONTEXT):
        power = Fraction(_to_decimal(exponent).exp())
    return Bounds(power * (1 - _MARGIN), power * (1 + _MARGIN))


def _to_decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)


def _square_root(number: Fraction) -> Bounds:
    with localcontext(_CONTEXT):
        root = Fraction(_to_decimal(number).sqrt())
    return Bounds(root * (1 - _MARGIN), root * (1 + _MARGIN))


@lru_cache(maxsize=256)
def total_weight(variance: Fraction) -> Bounds:
    """The sum of f over all integers."""
    root = _square_root(2 * Fraction(_PI) * variance)
    wave = _poisson_weight(variance)
    return Bounds(root.low * (1 + 2 * wave.low), root.high * (1 + 2 * wave.high))


def _poisson_weight(variance: Fraction) -> Bounds:
    """The sum w of Poisson's formula: from q + q^4 to q + q^4 / (1 - q^5)."""
    low, high = exp_bounds(-2 * Fraction(_PI) ** 2 * variance)
    return Bounds(low + low**4, high + high**4 / (1 - high**5))


def sum_distortion(variance: Fraction, draws: int) -> Fraction:
    """By which factor at most a chance of a sum of draws differs from that of the Gaussian of its variance.

    A sum of two draws of variances A and B has the chances of the Gaussian law of A + B, times a sum of
    Gaussian terms around a point between two integers. By Poisson's formula, that sum is within 1 +- 2w of
    its mean. Its variance is AB / (A + B), which is at least half of a draw's.
    """
    wave = _poisson_weight(variance / 2).high
    return power_up((1 + 2 * wave) / (1 - 2 * wave), draws - 1)


@lru_cache(maxsize=1024)
def upper_tail(start: int, variance: Fraction) -> Bounds:
    """The chance of `start` or more under the Gaussian law on the integers."""
    if start <= 0:
        rest = upper_tail(1 - start, variance)
        return Bounds(1 - rest.high, 1 - rest.low)
    return _sum_tail(start, variance) if variance <= _SUMMED else _integrate_tail(start, variance)


def _sum_tail(start: int, variance: Fraction) -> Bounds:
    """Adds terms; from s on, they add up to f(s) and the integral from s: at most f(s) (1 + V/s)."""
    far = _NEGLIGIBLE * variance
    end = max(start, isqrt(far.numerator // far.denominator) + 1)
    count = end - start + 1
    *terms, last = _falling_terms(variance, start, count)
    low = sum(terms)
    high = low + missing_of(count) + last * (1 + variance / end) + missing_of(count) * (variance / end)
    weight = total_weight(variance)
    return Bounds(low / weight.high / (1 << BITS), high / weight.low / (1 << BITS))


def _integrate_tail(start: int, variance: Fraction) -> Bounds:
    """Takes the integral from start - 1/2, and bounds how far the sum is from it.

    A term, less the integral over the unit around it, is minus the integral of K f'', with K from 0 to 1/8.
    Beyond one standard deviation f'' is positive, and its integral is -f'. Before, neither its positive nor
    its negative part has an integral above 1 / sqrt(V).
    """
    edge = start - Fraction(1, 2)
    tail = _normal_tail(edge**2 / variance)
    weight = total_weight(variance)
    if edge**2 >= variance:
        below = edge / variance * exp_bounds(-(edge**2) / (2 * variance)).high / 8
        above = Fraction(0)
    else:
        below = above = 1 / _square_root(variance).low / 8
    wave = _poisson_weight(variance).high
    low = tail.low / (1 + 2 * wave) - below / weight.low
    return Bounds(max(Fraction(0), low), tail.high + above / weight.low)


def _normal_tail(square: Fraction) -> Bounds:
    """The chance of more than z under the normal law, given z^2: 1/2 less a series of positive terms."""
    density = exp_bounds(-square / 2)
    if density.low == 0:
        return density
    with localcontext(_CONTEXT):
        decimal = _to_decimal(square)
        term = total = decimal.sqrt()
        odd = 3
        # where an odd number is twice z^2, terms fall by half, and all the rest is below the last one
        while odd < 2 * decimal or term > Decimal("1e-99"):
            term = term * decimal / odd
            total += term
            odd += 2
        series = Fraction(total)
    middle = Fraction(1, 2) - density.low * series / _square_root(2 * Fraction(_PI)).high
    return Bounds(max(Fraction(0), middle - 3 * _MARGIN), middle + 3 * _MARGIN)


def shifted_delta(variance: Fraction, counts: int, each: int, epsilon: float) -> Fraction:
    """The delta at epsilon, rounded up, of Gaussian noise on the integers if `counts` counts move by `each`.

    The loss of an output depends only on the sum S of the noise of these counts. It is above epsilon where S
    is above epsilon V / each - counts each / 2. The delta is the chance of that, less e^epsilon times the
    chance that S is beyond it by counts * each.
    """
    edge = Fraction(epsilon) * variance / each - Fraction(counts * each, 2)
    start = edge.numerator // edge.denominator + 1
    moved = sum_tail(start, variance, counts).high
    other = sum_tail(start + counts * each, variance, counts).low
    return min(Fraction(1), moved - exp_down(epsilon) * other)


def sum_tail(start: int, variance: Fraction, draws: int) -> Bounds:
    """The chance that a sum of so many draws is `start` or more.

    Where noise is so little that the sum is far from a Gaussian law, the laws of the draws are convolved.
    """
    distortion = sum_distortion(variance, draws)
    if distortion - 1 > _DISTORTED and draws * _reach(variance) <= _MOST_CONVOLVED:
        laws = _convolve_draws(variance, draws)
        first = max(start + len(laws.low) // 2, 0)
        scale = 1 << BITS
        high = Fraction(sum(laws.high[first:]), scale) + draws * _beyond(variance)
        return Bounds(Fraction(sum(laws.low[first:]), scale), min(Fraction(1), high))
    tail = upper_tail(start, draws * variance)
    return Bounds(tail.low / distortion, tail.high * distortion)


class _Laws(NamedTuple):
    """Chances out of 2^BITS of all sums, from the least to the largest: at least and at most these."""

    low: list[int]
    high: list[int]


@lru_cache(maxsize=64)
def _convolve_draws(variance: Fraction, draws: int) -> _Laws:
    """The law of a sum of draws, none of which is beyond the reach: by halves, with rounding kept apart."""
    if draws == 1:
        count = _reach(variance) + 1
        weight = total_weight(variance)
        low, high = [], []
        for j, term in enumerate(_falling_terms(variance, 0, count)):
            low.append(int(term / weight.high))
            high.append(int((term + 2 * (j + 1) ** 2) / weight.low) + 1)
        return _Laws([*low[:0:-1], *low], [*high[:0:-1], *high])
    first, second = _convolve_draws(variance, draws // 2), _convolve_draws(variance, draws - draws // 2)
    return _Laws(_multiply(first.low, second.low, 0), _multiply(first.high, second.high, 1))


def _multiply(first: list[int], second: list[int], rounded: int) -> list[int]:
    """The convolution of two laws out of 2^BITS, rounded down, and up by 1 where `rounded` is 1.

    Laws are digits of two long numbers, so that one product has all sums of products.
    """
    width = 2 * BITS // 8 + 8
    numbers = [
        int.from_bytes(b"".join(term.to_bytes(width, "little") for term in law), "little")
        for law in (first, second)
    ]
    size = len(first) + len(second) - 1
    product = (numbers[0] * numbers[1]).to_bytes(width * (size + 1), "little")
    terms = (int.from_bytes(product[width * i : width * (i + 1)], "little") for i in range(size))
    return [(term >> BITS) + rounded for term in terms]


def _reach(variance: Fraction) -> int:
    """The last integer of a convolved law: beyond it, all chances together are below 2^-200."""
    far = _NEGLIGIBLE * variance
    return isqrt(far.numerator // far.denominator) + 1


def _beyond(variance: Fraction) -> Fraction:
    """The chance of a draw beyond the reach, at most."""
    end = _reach(variance) + 1
    last = exp_bounds(-Fraction(end**2) / (2 * variance)).high
    return 2 * last * (1 + variance / end) / total_weight(variance).low
