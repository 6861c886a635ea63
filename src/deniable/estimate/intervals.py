"""Computes ends of intervals of a share or a mean, each missed with a given probability."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats, Integers
from deniable.exact import number

Ends = tuple[Floats, Floats]
_TRIED = 257  # means that are tried at once on either side
_PASSES = 4  # each between two neighbors of the one before
_HALVINGS = 48


def normal_quantile(level: float) -> float:
    """How many standard errors a normal interval reaches to either side."""
    return reach_of((1 - number("a confidence level", level, 0.0, 1.0)) / 2)


def reach_of(tail: float) -> float:
    """How many standard errors a normal number is beyond with this probability."""
    from scipy.special import ndtri

    return -float(ndtri(tail))


def student(tail: float, n: int) -> float:
    """How many standard errors an interval reaches, where the error is that of n numbers as they scatter."""
    from scipy.special import stdtrit

    return -float(stdtrit(max(1, n - 1), tail))


def clopper_pearson(counts: Floats, n: int | npt.NDArray[np.int64], tail: float) -> Ends:
    """The exact ends; Wilson's where both outcomes are counted in billions, and both agree."""
    from scipy.special import betainccinv

    low = exact_low(counts, n, tail)
    high = np.where(counts < n, betainccinv(counts + 1, np.where(counts < n, n - counts, 1), tail), 1.0)
    huge = np.minimum(counts, n - counts) > 1e9
    if huge.any():
        low, high = (
            np.where(huge, wide, exact)
            for wide, exact in zip(wilson(counts, n, tail), (low, high), strict=True)
        )
    return low, high


def exact_low(counts: Floats, n: int | npt.NDArray[Any], tail: float) -> Floats:
    """The least shares that make so large a count likely enough; a sum of chances is such a count, too."""
    from scipy.special import betaincinv

    return np.where(counts > 0, betaincinv(np.where(counts > 0, counts, 1), n - counts + 1, tail), 0.0)


def jeffreys(counts: Floats, n: Floats | int, tail: float) -> Ends:
    """The ends of Jeffreys' interval, which reaches to 0 where nothing is counted, and to 1 where all is.

    Intervals of several groups that are joined by `mover` then hold about as often as they say; exact ones
    would hold more often, and score intervals less.
    """
    from scipy.special import betaincinv

    misses = n - counts
    low = np.where(counts > 0, betaincinv(counts + 0.5, misses + 0.5, tail), 0.0)
    return low, np.where(misses > 0, 1 - betaincinv(misses + 0.5, counts + 0.5, tail), 1.0)


def tango(came: Integers, went: Integers, n: Integers | int, tail: float) -> Ends:
    """Tango's score ends of the difference of two shares of the same n people: so many came, so many went.

    Each end is a difference d at which the observed one, (came - went) / n, is just as unlikely as the tail
    says, by the most likely chances of who came and who went that differ by d.
    """
    reach = reach_of(tail)
    observed: Floats = (came - went) / n

    def is_inside(d: Floats) -> npt.NDArray[np.bool_]:
        """Whether a difference is no further from the observed one than it reaches."""
        middle = (2 * n - came + went) * d - came - went
        root = np.sqrt(np.maximum(middle**2 + 8 * n * went * d * (1 - d), 0.0))
        least = np.maximum((root - middle) / (4 * n), 0.0)
        return np.asarray(n * (observed - d) ** 2 <= reach**2 * np.maximum(2 * least + d * (1 - d), 0.0))

    def end(outermost: float) -> Floats:
        near, far = observed, np.full_like(observed, outermost)
        for _ in range(_HALVINGS):
            tried = (near + far) / 2
            inside = is_inside(tried)
            near, far = np.where(inside, tried, near), np.where(inside, far, tried)
        return near

    return end(-1.0), end(1.0)


def mover(weights: Floats, values: Floats, ends: Ends, correlations: Floats | None = None) -> Ends:
    """The ends of a weighted sum of numbers, one by row, from the ends of each.

    On each side the reaches add up in squares (the method of variance estimates recovery, Zou and Donner).
    Numbers are independent, or their errors agree by these correlations: 0 of a number with itself. They may
    have a third axis, that of the values.

    >>> low, high = mover(np.array([0.5, 0.5]), np.array([1.0, 3.0]), (np.zeros(2), np.array([2.0, 3.0])))
    >>> round(float(low), 3), float(high)
    (0.419, 2.5)
    """
    value = weights @ values
    reaches = [(weights * np.abs(values - end).T).T for end in ends]
    squares = [(reach**2).sum(axis=0) for reach in reaches]
    if correlations is not None:
        squares = [
            square + sum_agreed(reach, correlations) for square, reach in zip(squares, reaches, strict=True)
        ]
    down, up = map(np.sqrt, squares)
    return np.asarray(value - down), np.asarray(value + up)


def sum_agreed(errors: Floats, correlations: Floats) -> Floats:
    """What the variance of a sum has beside the squares of its errors, one by row, which agree so much."""
    if correlations.ndim > errors.ndim:
        return np.asarray(np.einsum("i...,ij...,j...->...", errors, correlations, errors))
    return np.asarray((errors * np.tensordot(correlations, errors, 1)).sum(axis=0))


def wilson(counts: Floats, n: int | npt.NDArray[np.int64], tail: float) -> Ends:
    """The shares whose own variance makes these counts of n likely enough."""
    return scored(counts / n, n, 1.0, 0.0, tail)


def scored(
    shares: Floats,
    n: int | npt.NDArray[np.int64],
    inside: Floats | float,
    outside: Floats | float,
    tail: float,
) -> Ends:
    """Wilson's interval, given the mean squares of what people with and without the value add.

    A share f is kept if the estimate is not more than some standard errors from it, those that it would have
    if f were true: n (estimate - f)^2 <= z^2 (f inside + (1 - f) outside - f^2). The ends are the roots.
    Where a root is no share, the error is that of the nearest one, 0 or 1.
    """
    z2 = reach_of(tail) ** 2
    total, slope = n + z2, np.asarray(inside - outside)
    center = (n * shares + z2 * slope / 2) / total
    noise = outside + slope * shares - shares**2
    reach = np.sqrt(np.maximum(z2 * (n * noise + z2 * outside + z2 * slope**2 / 4), 0.0)) / total
    least, most = (
        np.sqrt(np.maximum(z2 * variance / n, 0.0))
        for variance in (np.asarray(outside), np.asarray(inside - 1.0))
    )
    low, high = center - reach, center + reach
    low = np.where(
        low < 0, np.minimum(shares - least, 0.0), np.where(low > 1, np.maximum(shares - most, 1.0), low)
    )
    high = np.where(
        high > 1, np.maximum(shares + most, 1.0), np.where(high < 0, np.minimum(shares + least, 0.0), high)
    )
    return np.asarray(low), np.asarray(high)


def bounded(mean: float, n: int, tail: float) -> tuple[float, float]:
    """The means that n independent numbers from 0 to 1 with this one can have, whatever their law.

    By Hoeffding's bound in its first form: a mean m is refused at a distance of ln(1 / tail) / n, in relative
    entropy.
    """

    def end(outermost: float) -> float:
        inside, far = mean, outermost
        for _ in range(_HALVINGS):
            middle = (inside + far) / 2
            inside, far = (
                (middle, far) if _entropy(mean, middle) <= math.log(1 / tail) / n else (inside, middle)
            )
        return far

    return end(0.0), end(1.0)


def _entropy(mean: float, tried: float) -> float:
    """The relative entropy of one coin's law to another's."""
    pairs = ((mean, tried), (1 - mean, 1 - tried))
    return sum(
        0.0 if share <= 0 else share * math.log(share / other) if other > 0 else math.inf
        for share, other in pairs
    )


def seen_squares(total: Floats | float, n: int, inside: Floats | float, shares: Floats | float) -> Ends:
    """Mean squares from the sum over n reports: of a report, for errors, and of people without the value.

    A value whose outputs nobody reported still has an error: one more report, of somebody with it, counts in
    that only. In an interval there are two, as Wilson's has.
    """
    squares = (np.asarray(total) + inside) / (n + 1)
    more, clipped = squares + np.asarray(inside) / (n + 1), np.clip(shares, 0.0, 1.0)
    others = np.maximum(more - clipped * inside, 0.0) / np.maximum(1 - clipped, 1e-9)
    return squares, np.asarray(np.minimum(others, np.maximum(inside, more)))


def scattered(
    mean: float, scatter: float, n: int, variance: Callable[[Floats], Floats], tail: float
) -> tuple[float, float]:
    """The means that are near enough to this one of n reports, by the errors that they would have.

    How reports scatter about a mean that is tried lies between the `variance` of people who all have it, and
    that of people at both ends, -1 and 1. In between it is what was seen, by Student's law, since a few
    reports can scatter little by chance, and what was not: people of whom none of n has reported are fewer
    than ln(1 / tail) / n, and at most 2 away from the rest.
    """
    steps, rare = student(tail, n), math.log(1 / tail)
    seen = math.hypot(steps * math.sqrt(scatter / n), 2 * rare / n)
    # for few reports with a known variance: Student's, and never more than Chernoff's
    z = min(steps, math.sqrt(2 * rare))

    squares = float(np.max(variance(np.array([-1.0, 1.0])))) + 1  # a report's mean square at an end

    def reach(tried: Floats) -> Floats:
        inside = np.clip(tried, -1.0, 1.0)
        least, most = (
            z * np.sqrt(np.maximum(variance_at, 0.0) / n)
            for variance_at in (variance(inside), squares - inside**2)
        )
        return np.asarray(np.minimum(np.maximum(seen, least), most))

    def end(sign: float) -> float:
        inside, far = 0.0, z * math.sqrt(squares / n)
        for _ in range(_PASSES):
            away = np.linspace(inside, far, _TRIED)
            last = int(np.flatnonzero(away <= reach(mean + sign * away))[-1])
            inside, far = float(away[last]), float(away[min(last + 1, _TRIED - 1)])
        return mean + sign * inside

    return end(-1.0), end(1.0)
