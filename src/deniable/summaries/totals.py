"""Uses that all shares add up to 1: finds the weights with which a sum of shares errs least.

Estimated shares of most protocols do not add up to 1: their sum has an error of its own, which is known to be
one. Of points x, `offset + sum of share * (x - offset)` is unbiased for every offset. It errs least where the
offset is the covariance of the points' sum with the sum of all shares, divided by the variance of the latter.
So some values and all others have sums that add up to 1, with the same error.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from deniable.arrays import Floats
from deniable.estimate import Estimate
from deniable.estimate.consistency import monotone
from deniable.law import Moments
from deniable.law.pairs import nearer_sums
from deniable.summaries.covariance import balance, bit_variances, nearer_variances

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
    ties = _ties_of(result)
    offset = center
    if ties is not None:
        offset = float(np.clip(ties @ points / ties.sum(), points.min(), points.max()))
    weights = points - offset
    return Weighed(offset + float(result.frequencies @ weights), weights)


def cumulate(result: Estimate, target: float) -> Curve:
    """The share of people up to every value but the last, and the errors by which each is told from `wanted`.

    The people alone scatter as that share says, and the noise comes on top, as it was seen.
    """
    k, shares, ties = result.k, result.frequencies, _ties_of(result)
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
def _ties_of(result: Estimate) -> Floats | None:
    """The covariance, for one report, of each share with the sum of all; None where that is always 1."""
    law = result.law
    if result.asked is not None:
        alone, moved, asked_twice = bit_variances(result)
        return np.asarray(result.n * (alone - asked_twice * moved * (moved.sum() - moved)))
    if isinstance(law, Moments):
        return None if law.combined is not None else np.full(law.k, float(law.noise))
    shares = balance(result.frequencies)
    supported = law.q + law.gain * shares
    size = float(supported.sum())
    ties = (law.pairs.joint_with_size(shares) - supported * size) / law.gain**2
    return ties if float(ties.sum()) > _ROUNDED * (size / law.gain) ** 2 else None
