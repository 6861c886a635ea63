"""How counts of support vary together: two values are in one report's support with chances that the sizes of it give."""

from __future__ import annotations

import numpy as np

from deniable.law import Floats, Law, Marginal, Moments


def pairs(law: Law) -> tuple[float, float]:
    """How likely two values are supported together: one of them being the truth, and neither."""
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
    """The mean squares of what a report adds to the share of so many values, from who has one of them and from who has not."""
    if isinstance(law, Moments):
        return 1 + size * law.noise, np.asarray(size * law.noise)
    assert isinstance(law, Law)
    together, apart = pairs(law)
    blind, others = law.q * size, size - 1
    inside = blind + law.gain + others * (2 * together + (size - 2) * apart)
    outside = blind + size * others * apart
    return (inside - 2 * blind * law.gain - blind**2) / law.gain**2, np.asarray((outside - blind**2) / law.gain**2)
