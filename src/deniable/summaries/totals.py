"""Computes the errors of sums and cumulative shares, and the weights with which a sum of shares errs least.

Errors follow from how likely two values are supported together. All shares add up to 1, but estimated shares
of most protocols do not: their sum has an error of its own, which is known to be one. Of points x, `offset +
sum of share * (x - offset)` is unbiased for every offset. It errs least where the offset is the covariance of
the points' sum with the sum of all shares, divided by the variance of the latter. So some values and all
others have sums that add up to 1, with the same error.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats
from deniable.estimate import Estimate
from deniable.estimate.consistency import monotone, simplex
from deniable.law import Law, Moments
from deniable.law.pairs import nearer_sizes, nearer_sums

_ROUNDED = 1e-9  # a part of the mean square that may be rounding; no sum of shares varies so little


class Weighed(NamedTuple):
    """A sum of shares times points, and what each unbiased share is multiplied by in it."""

    value: float
    weights: Floats
    """The points, less the offset."""


class Curve(NamedTuple):
    """The shares of people up to every value but the last, unbiased, and their standard errors."""

    below: Floats
    errors: Floats


def weigh(result: Estimate, points: Floats, center: float = 0.0) -> Weighed:
    """The sum of shares times points that errs least; `center` is the offset where shares add up to 1."""
    ties = ties_of(result)
    offset = center
    if ties is not None:
        offset = float(np.clip(ties @ points / ties.sum(), points.min(), points.max()))
    weights = points - offset
    return Weighed(offset + float(result.frequencies @ weights), weights)


def cumulate(result: Estimate, target: float) -> Curve:
    """The share of people up to every value but the last, and the errors by which each is told from `wanted`.

    The people alone scatter as that share says, and the noise comes on top, as it was seen.
    """
    k, shares, ties = result.k, result.frequencies, ties_of(result)
    reached, variances = nearer_sums(shares), nearer_variances(result)
    if ties is not None:
        together, total = nearer_sums(ties), float(ties.sum())
        offsets = np.clip(together / total, 0.0, 1.0)
        reached = reached + offsets * (1 - shares.sum())
        variances = variances - 2 * offsets * together + offsets**2 * total
    noise = np.maximum(variances - reached * (1 - reached), 0.0)
    is_left = 2 * np.arange(1, k) <= k
    errors = np.sqrt((noise + target * (1 - target)) / result.n)
    return Curve(np.where(is_left, reached, 1 - reached), errors)


def rising(below: Floats) -> Floats:
    """The nearest cumulative shares that never fall and are possible; up to the last value, all people."""
    return np.append(np.clip(monotone(below), 0.0, 1.0), 1.0)


@lru_cache(maxsize=16)
def ties_of(result: Estimate) -> Floats | None:
    """The covariance, for one report, of each share with the sum of all; None where that is always 1."""
    law = result.law
    if result.asked is not None:
        alone, moved, asked_twice = bit_variances(result)
        return np.asarray(result.n * (alone - asked_twice * moved * (moved.sum() - moved)))
    if isinstance(law, Moments) and law.joined is not None:
        return law.joined.tie()
    if isinstance(law, Moments):
        return None if law.combined is not None else np.full(law.k, float(law.noise))
    shares = balance(result.frequencies)
    supported = law.q + law.gain * shares
    size = float(supported.sum())
    ties = (law.pairs.joint_with_size(shares) - supported * size) / law.gain**2
    return ties if float(ties.sum()) > _ROUNDED * (size / law.gain) ** 2 else None


_ALIKE = 1e-9  # a part of the variances on one side that may be rounding


class Squares(NamedTuple):
    """The mean squares of what people with some values, and all others, add to the share of these values."""

    inside: float
    outside: float
    are_exact: bool
    """Whether all people of a side add the same, so that it does not matter who they are."""


def known_squares(result: Estimate, chosen: Floats, weights: Floats) -> Squares:
    """The mean squares by the law, where each share is multiplied by a weight: those of the chosen values are
    greater by 1 than all others.
    """
    law = result.law
    if isinstance(law, Moments):
        noise = float(weights @ weights) * float(law.noise)
        return Squares(1 + noise, noise, are_exact=True)
    blind, squares = float((law.q * weights).sum()), law.pairs.squares(weights)
    variances = (squares - (blind + law.gain * weights) ** 2) / law.gain**2
    sides = chosen > 0, chosen == 0
    inside, outside = (_typical(variances, result.frequencies, side) for side in sides)
    rounding = _ALIKE * float(np.abs(variances).max())
    are_exact = all(float(np.ptp(variances[side])) <= rounding for side in sides if side.any())
    return Squares(1 + inside, outside, are_exact)


def nearer_variances(result: Estimate) -> Floats:
    """The variances, for one report, of all cumulative shares but the last, from the end that is nearer."""
    law, reached = result.law, nearer_sums(result.frequencies)
    if result.asked is not None:
        alone, moved, asked_twice = bit_variances(result)
        pairs = nearer_sums(moved) ** 2 - nearer_sums(moved**2)
        return result.n * (nearer_sums(alone) - asked_twice * pairs)
    if isinstance(law, Moments):
        if law.cumulated is not None:
            return law.cumulated()
        return nearer_sizes(law.k) * law.noise + reached * (1 - reached)
    shares = balance(result.frequencies)
    supported = nearer_sums(np.broadcast_to(law.q, law.k)) + law.gain * nearer_sums(shares)
    return np.asarray((law.pairs.cumulative_squares(shares) - supported**2) / law.gain**2)


def error_of(result: Estimate, points: Floats) -> float:
    """The standard error of the sum of frequency times point, the people being a sample.

    It is linear in the shares, so that unbiased ones give an unbiased variance: none is clipped, since with
    many values that adds up. The least that it can be is that of people who all have one value.
    """
    law, shares = result.law, result.frequencies
    mean = float(shares @ points)
    if isinstance(law, Moments) and law.combined is not None:
        return math.sqrt(law.combined(points) / result.n)
    if isinstance(law, Moments):
        noise = float((points**2 * law.noise).sum())
        return math.sqrt((noise + max(float(shares @ points**2) - mean**2, 0.0)) / result.n)
    if result.asked is not None:
        return math.sqrt(max(_bit_variance(result, points), 0.0))
    blind, squares = float((law.q * points).sum()), law.pairs.squares(points)
    least = float((squares - (blind + law.gain * points) ** 2).min())
    variance = float(balance(shares) @ squares) - (blind + law.gain * mean) ** 2
    return math.sqrt(max(variance, least, 0.0) / result.n) / law.gain


def split_variance(result: Estimate, points: Floats) -> tuple[float, float]:
    """The variance of a sum of shares times points in two: by noise, and by which people were drawn.

    Where noise is not known by the law, all of the variance is taken to be both.
    """
    law, weights = result.law, weigh(result, points).weights
    if isinstance(law, Moments) or result.asked is not None:
        variance = error_of(result, weights) ** 2
        return variance, variance
    shares = simplex(result.frequencies)
    squares = law.pairs.squares(weights) - (float((law.q * weights).sum()) + law.gain * weights) ** 2
    by_draw = float(shares @ weights**2) - float(shares @ weights) ** 2
    return float(shares @ squares) / law.gain**2 / result.n, max(by_draw, 0.0) / result.n


def balance(shares: Floats) -> Floats:
    """Shares that add up to 1, so that what all people have in common is not estimated."""
    return np.asarray(shares + (1 - shares.sum()) / shares.size)


def _typical(squares: Floats, shares: Floats, side: npt.NDArray[np.bool_]) -> float:
    """The mean over the people on this side, as far as one sees any there; else over its values."""
    weights = np.where(side, np.maximum(shares, 0.0), 0.0)
    if weights.sum() == 0:
        weights = (side if side.any() else ~side).astype(np.float64)
    return float(weights @ squares / weights.sum())


def bit_variances(result: Estimate) -> tuple[Floats, Floats, float]:
    """Where people are asked about some values: the variance of each share, how much each person moves it,
    and how many people are asked about two values.
    """
    assert isinstance(result.law, Law)
    assert result.asked is not None
    law, shares, asked_counts, k = result.law, result.frequencies, result.asked, result.k
    supported = np.clip(law.q + law.gain * shares, 0.0, 1.0)
    bits = asked_counts.sum() / result.n
    asked_twice = result.n * bits * (bits - 1) / (k * (k - 1))
    return (
        supported * (1 - supported) / (law.gain**2 * asked_counts),
        shares / asked_counts,
        float(asked_twice),
    )


def _bit_variance(result: Estimate, points: Floats) -> float:
    """The variance of the sum of frequency times point: two bits depend on each other by the person alone."""
    alone, moved, asked_twice = bit_variances(result)
    weighted = points * moved
    return float(points**2 @ alone - asked_twice * (weighted.sum() ** 2 - weighted @ weighted))
