"""Computes the errors of sums and cumulative shares from how likely two values are supported together."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats
from deniable.estimate import Estimate
from deniable.law import Law, Moments
from deniable.law.pairs import nearer_sizes, nearer_sums

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
