"""Computes how counts of support vary together, and so the errors of sums and cumulative shares.

The sizes of a support give the chance that two values are both in it.
"""

from __future__ import annotations

import math

import numpy as np

from deniable.arrays import Floats
from deniable.errors import InvalidParameter
from deniable.estimate import Estimate
from deniable.law import Law, Marginal, Moments


def pairs(law: Law) -> tuple[float, float]:
    """How likely a report supports two values: if one of them is the truth, and if neither is."""
    s, k = law.sizes.astype(np.float64), law.k
    together = float((law.inside * (s - 1)).sum()) / (k - 1)
    if k == 2:
        return together, 0.0
    inside = float((law.inside * (s - 1) * (s - 2)).sum())
    return together, (inside + float((law.outside * s * (s - 1)).sum())) / ((k - 1) * (k - 2))


def sums_squared(law: Law, shares: Floats) -> Floats:
    """The variance, for one report, of the sums of the first shares."""
    together, apart = pairs(law)
    sizes, reached = np.arange(1.0, law.k), np.cumsum(shares)[:-1]
    supported = law.q * sizes + law.gain * reached
    square = supported + apart * sizes * (sizes - 1) + (together - apart) * 2 * reached * (sizes - 1)
    return np.asarray((square - supported**2) / law.gain**2)


def known_squares(law: Law | Marginal | Moments, size: int) -> tuple[float, Floats]:
    """The mean squares of what people with one of these values, and all others, add to their share."""
    if isinstance(law, Moments):
        return 1 + size * law.noise, np.asarray(size * law.noise)
    assert isinstance(law, Law)
    together, apart = pairs(law)
    blind, others = law.q * size, size - 1
    inside = blind + law.gain + others * (2 * together + (size - 2) * apart)
    outside = blind + size * others * apart
    return (inside - 2 * blind * law.gain - blind**2) / law.gain**2, np.asarray(
        (outside - blind**2) / law.gain**2
    )


def cumulative_errors(result: Estimate, wanted: float) -> Floats:
    """The standard errors of all cumulative shares but the last, by running sums.

    The people alone scatter as that share says, and the noise comes on top, as it was seen.
    """
    law, shares = result.law, result.frequencies
    _refuse_unknown(result)
    reached = np.cumsum(shares)[:-1]
    if isinstance(law, Moments) and law.cumulated is not None:
        variances = law.cumulated()
    elif isinstance(law, Moments):
        fewer = np.minimum(np.arange(1, law.k), np.arange(law.k - 1, 0, -1))
        variances = fewer * law.noise + reached * (1 - reached)
    else:
        assert isinstance(law, Law)
        up, down = sums_squared(law, shares), sums_squared(law, shares[::-1])[::-1]
        # the values up to there, or the others: whichever are fewer err less
        half = 2 * np.arange(1, law.k) <= law.k
        variances = np.where(half, up, down)
        reached = np.where(half, reached, 1 - np.cumsum(shares[::-1])[-2::-1])
    noise = np.maximum(variances - reached * (1 - reached), 0.0)
    return np.asarray(np.sqrt((noise + wanted * (1 - wanted)) / result.n))


def error_of(result: Estimate, points: Floats) -> float:
    """The standard error of the sum of frequency times point, the people being a sample.

    It is linear in the shares, so that unbiased ones give an unbiased variance: none is clipped, since with
    many values that adds up. The least that it can be is that of people who all have one value.
    """
    law, shares = result.law, result.frequencies
    _refuse_unknown(result)
    mean = float(shares @ points)
    if isinstance(law, Moments) and law.combined is not None:
        return math.sqrt(law.combined(points) / result.n)
    if isinstance(law, Moments):
        noise = float((points**2 * law.noise).sum())
        return math.sqrt((noise + max(float(shares @ points**2) - mean**2, 0.0)) / result.n)
    assert isinstance(law, Law)
    together, apart = pairs(law)
    total, squares = float(points.sum()), float(points @ points)
    # E of (sum over the support)^2: v alone, then pairs; a pair is supported by `together` if one of it is
    # the truth
    blind = law.q * squares + apart * (total**2 - squares)
    # by people who have the value
    added = law.gain * points**2 + (together - apart) * 2 * (points * total - points**2)
    least = float((blind + added - (law.q * total + law.gain * points) ** 2).min())
    variance = blind + float(shares @ added) - (law.q * total + law.gain * mean) ** 2
    return math.sqrt(max(variance, least, 0.0) / result.n) / law.gain


def _refuse_unknown(result: Estimate) -> None:
    if isinstance(result.law, Marginal) or result.asked is not None:
        raise InvalidParameter(
            "how the counts of an attribute among fakes, or of a few bits, vary together is not known here"
        )
