"""Turns unbiased estimates into a distribution; each step has a name and is taken only on request.

Unbiased estimates may be negative and need not add up to one. Every step here trades unbiasedness for a
distribution.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from deniable.arrays import Floats
from deniable.errors import InvalidParameter, not_among
from deniable.law.pairs import nearer_sums


def clip(frequencies: Floats) -> Floats:
    """Negative estimates become zero; the sum is left as it falls."""
    return np.maximum(frequencies, 0.0)


def norm_mul(frequencies: Floats) -> Floats:
    """Clip, then scale to a sum of one: what most published code does, and the most biased of all."""
    positive = clip(frequencies)
    total = positive.sum()
    return np.asarray(positive / total) if total > 0 else np.full(frequencies.size, 1 / frequencies.size)


def simplex(frequencies: Floats) -> Floats:
    """The nearest distribution (Euclidean): subtract one number from all and clip, so that the sum is one.

    Of a table, each row is answered by a row.
    """
    ranked = np.sort(frequencies, axis=-1)[..., ::-1]
    gaps = ranked[..., :1] - ranked
    below_top = np.cumsum(gaps, axis=-1)  # differences: sums of huge estimates would lose the one
    ranks = np.arange(1, ranked.shape[-1] + 1)
    stays = ranks * gaps < below_top + 1
    last = ranks.size - 1 - np.argmax(stays[..., ::-1], axis=-1, keepdims=True)
    moved = (1 + np.take_along_axis(below_top, last, axis=-1)) / ranks[last]
    return np.asarray(np.maximum(frequencies - ranked[..., :1] + moved, 0.0))


def nearest_with_total(values: Floats, total: Floats | float) -> Floats:
    """The nearest numbers that are not negative and have this sum; of a table, each row by a row.

    >>> nearest_with_total(np.array([0.3, 0.2, -0.1]), 0.4).round(2).tolist()
    [0.25, 0.15, 0.0]
    """
    scale = np.maximum(total, np.finfo(np.float64).tiny)
    return np.asarray(simplex(values / scale) * scale)


def norm_cut(frequencies: Floats) -> Floats:
    """Keep the largest estimates as they are until they add up to one, and drop the rest."""
    order = np.argsort(-frequencies, kind="stable")
    kept = clip(frequencies[order])
    before = np.cumsum(kept) - kept
    kept = np.minimum(kept, np.maximum(1.0 - before, 0.0))
    result = np.empty_like(kept)
    result[order] = kept
    return result


def isotonic(frequencies: Floats) -> Floats:
    """For ordered values: the nearest cumulative distribution, non-decreasing from 0 to 1, differenced.

    Shares need not add up to 1, so each cumulative share is summed from the end that is nearer.
    """
    k, nearer = frequencies.size, nearer_sums(frequencies)
    from_left = 2 * np.arange(1, k) <= k
    cumulative = np.clip(monotone(np.where(from_left, nearer, 1 - nearer)), 0.0, 1.0)
    return np.diff(cumulative, prepend=0.0, append=1.0)


def monotone(values: Floats) -> Floats:
    """The nearest non-decreasing sequence, by pooling adjacent violators."""
    means: list[float] = []
    sizes: list[int] = []
    for value in values.tolist():
        mean, size = value, 1
        while means and means[-1] > mean:
            mean = (mean * size + means[-1] * sizes[-1]) / (size + sizes[-1])
            size += sizes[-1]
            means.pop()
            sizes.pop()
        means.append(mean)
        sizes.append(size)
    return np.repeat(np.array(means), sizes)


def base_cut(frequencies: Floats, low: Floats) -> Floats:
    """Zero what is not surely above zero: `low` is a lower end for every share, all of them at once."""
    return np.where(low > 0, frequencies, 0.0)


STEPS: dict[str, Callable[[Floats], Floats]] = {
    "clip": clip,
    # adding one number to all positive estimates until they sum to one is that projection
    "norm-sub": simplex,
    "norm-cut": norm_cut,
    "norm-mul": norm_mul,
    "simplex": simplex,
    "isotonic": isotonic,
}
NAMES = (*STEPS, "base-cut")
"""Every step that can be asked for."""


def project(method: str, frequencies: Floats, low: Callable[[], Floats]) -> Floats:
    """Take the named step; `low` has lower ends for all shares at once, for the step that needs them."""
    if method not in NAMES:
        raise InvalidParameter(not_among(method, "a consistency step", NAMES))
    return base_cut(frequencies, low()) if method == "base-cut" else STEPS[method](frequencies)
