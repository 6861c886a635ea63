"""Turning unbiased estimates into a distribution. Each step has a name and is taken only when asked for.

Unbiased estimates may be negative and need not add up to one; every step here trades that honesty for a shape.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from deniable.errors import InvalidParameter, not_among

Floats = npt.NDArray[np.float64]


def clip(frequencies: Floats) -> Floats:
    """Negative estimates become zero; the sum is left as it falls."""
    return np.maximum(frequencies, 0.0)


def norm_mul(frequencies: Floats) -> Floats:
    """Clip, then scale to a sum of one: what most published code does, and the most biased of all."""
    positive = clip(frequencies)
    total = positive.sum()
    return np.asarray(positive / total) if total > 0 else np.full(frequencies.size, 1 / frequencies.size)


def simplex(frequencies: Floats) -> Floats:
    """The nearest distribution (Euclidean): subtract one number from all and clip, so that the sum is one."""
    ranked = np.sort(frequencies)[::-1]
    excess = np.cumsum(ranked) - 1
    ranks = np.arange(1, ranked.size + 1)
    last = np.flatnonzero(ranked - excess / ranks > 0)[-1]
    return np.asarray(np.maximum(frequencies - excess[last] / ranks[last], 0.0))


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
    """For ordered values: the nearest non-decreasing cumulative distribution, clipped to 0..1 and differenced."""
    cumulative = np.clip(monotone(np.cumsum(frequencies)), 0.0, 1.0)
    cumulative[-1] = 1.0
    return np.diff(cumulative, prepend=0.0)


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


def base_cut(frequencies: Floats, stderr: Floats, alpha: float = 0.05) -> Floats:
    """Zero what is not significantly above zero, at level alpha over all values together."""
    from scipy.special import ndtri

    return np.where(frequencies > ndtri(1 - alpha / frequencies.size) * stderr, frequencies, 0.0)


STEPS: dict[str, Callable[[Floats], Floats]] = {
    "clip": clip,
    "norm-sub": simplex,  # adding one number to all positive estimates until they sum to one is that projection
    "norm-cut": norm_cut,
    "norm-mul": norm_mul,
    "simplex": simplex,
    "isotonic": isotonic,
}


def project(method: str, frequencies: Floats, stderr_at_zero: Floats) -> Floats:
    """Take the named step; `stderr_at_zero` is what an estimate of a value that nobody has would scatter by."""
    if method == "base-cut":
        return base_cut(frequencies, stderr_at_zero)
    if method not in STEPS:
        raise InvalidParameter(not_among(method, "a consistency step", [*STEPS, "base-cut"]))
    return STEPS[method](frequencies)
