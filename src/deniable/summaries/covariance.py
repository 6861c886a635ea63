"""Computes the errors of sums and cumulative shares from how likely two values are supported together."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats
from deniable.estimate import Estimate
from deniable.law import Law, Moments, nearer_sizes, nearer_sums


def known_squares(result: Estimate, chosen: Floats) -> tuple[float, Floats]:
    """The mean squares of what people with one of these values, and all others, add to their share."""
    law, size = result.law, float(chosen.sum())
    if isinstance(law, Moments):
        return 1 + size * law.noise, np.asarray(size * law.noise)
    blind, squares = float((law.q * chosen).sum()), law.pairs.squares(chosen)
    inside, outside = (_typical(squares, result.frequencies, side) for side in (chosen > 0, chosen == 0))
    return (
        (inside - 2 * blind * law.gain - blind**2) / law.gain**2,
        np.asarray((outside - blind**2) / law.gain**2),
    )


def cumulative_errors(result: Estimate, wanted: float) -> Floats:
    """The standard errors of all cumulative shares but the last, from the end that is nearer.

    The people alone scatter as that share says, and the noise comes on top, as it was seen.
    """
    law, reached = result.law, nearer_sums(result.frequencies)
    if result.asked is not None:
        noise = _bit_noise(result)
    elif isinstance(law, Moments):
        noise = (
            nearer_sizes(law.k) * law.noise
            if law.cumulated is None
            else np.maximum(law.cumulated() - reached * (1 - reached), 0.0)
        )
    else:
        supported = nearer_sums(np.broadcast_to(law.q, law.k)) + law.gain * reached
        squares = law.pairs.cumulative_squares(_balanced(result.frequencies))
        noise = np.maximum((squares - supported**2) / law.gain**2 - reached * (1 - reached), 0.0)
    return np.asarray(np.sqrt((noise + wanted * (1 - wanted)) / result.n))


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
    variance = float(_balanced(shares) @ squares) - (blind + law.gain * mean) ** 2
    return math.sqrt(max(variance, least, 0.0) / result.n) / law.gain


def _balanced(shares: Floats) -> Floats:
    """Shares that add up to 1, so that what all people have in common is not estimated."""
    return np.asarray(shares + (1 - shares.sum()) / shares.size)


def _typical(squares: Floats, shares: Floats, side: npt.NDArray[np.bool_]) -> float:
    """The mean over the people on this side, as far as one sees any there; else over its values."""
    weights = np.where(side, np.maximum(shares, 0.0), 0.0)
    if weights.sum() == 0:
        weights = (side if side.any() else ~side).astype(np.float64)
    return float(weights @ squares / weights.sum())


def _bit_variances(result: Estimate) -> tuple[Floats, Floats, float]:
    """Where people are asked about some values: the variance of each share, how much each person moves it,
    and how many people are asked about two values.
    """
    assert isinstance(result.law, Law)
    assert result.asked is not None
    law, shares, asked, k = result.law, result.frequencies, result.asked, result.k
    supported = np.clip(law.q + law.gain * shares, 0.0, 1.0)
    bits = asked.sum() / result.n
    both = result.n * bits * (bits - 1) / (k * (k - 1))
    return supported * (1 - supported) / (law.gain**2 * asked), shares / asked, float(both)


def _bit_variance(result: Estimate, points: Floats) -> float:
    """The variance of the sum of frequency times point: two bits depend on each other by the person alone."""
    own, moved, both = _bit_variances(result)
    each = points * moved
    return float(points**2 @ own - both * (each.sum() ** 2 - each @ each))


def _bit_noise(result: Estimate) -> Floats:
    """The noise of all cumulative shares but the last, for one report, from the end that is nearer."""
    own, moved, both = _bit_variances(result)
    pairs = nearer_sums(moved) ** 2 - nearer_sums(moved**2)
    reached = nearer_sums(result.frequencies)
    return np.maximum(result.n * (nearer_sums(own) - both * pairs) - reached * (1 - reached), 0.0)
