"""Shrinks the shares of each class toward those of everybody, as far as noise explains the difference.

This is James and Stein's idea: of a difference with length |d| whose noise has the sum of variances s, the
part 1 - s/|d|^2 is kept, and nothing where that is negative. A column that says nothing about the label, or
nothing that can be seen through the noise, then has the same shares in all classes, and moves no prediction.
"""

from __future__ import annotations

import numpy as np

from deniable.arrays import Floats
from deniable.estimate.consistency import simplex
from deniable.learn.margins import Margin

_FLOOR = 0.05  # of the prior: no value is so rare in a class that one answer decides alone
_SPREAD = 0.1  # of a prior that is estimated goes to all values alike
_LEAST = 1e-9  # a share that a public prior has as 0


def shrink_margin(margin: Margin, classes: Floats, prior: Floats | None) -> Floats:
    """The shares of values in each class, a row for each, all positive and each with the sum 1.

    With two classes this is prior + (1 - pi) w d and prior - pi w d, where d is the difference of the two and
    pi the share of the first; with more, each class is compared with all of them together.

    >>> found = Margin(np.array([[0.9, 0.1], [0.5, 0.5]]), np.full((2, 2), 0.01), np.ones(2))
    >>> shrink_margin(found, np.array([0.5, 0.5]), np.array([0.7, 0.3])).round(3).tolist()
    [[0.875, 0.125], [0.525, 0.475]]
    """
    weights = classes * margin.reported
    if not weights.any():
        return np.tile(_spread(prior, margin), (classes.size, 1))
    weights = weights / weights.sum()
    pooled = weights @ margin.shares
    base = _spread(prior, margin, pooled)
    moved = (margin.shares - pooled) * margin.reported[:, None]
    kept = _find_kept(moved, margin.variances, weights)
    found = np.maximum(base + kept[:, None] * moved, np.maximum(_FLOOR * base, _LEAST))
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def _find_kept(moved: Floats, variances: Floats, weights: Floats) -> Floats:
    """The part of each class's difference from everybody that is not noise."""
    pooled = (weights**2) @ variances
    noise = (pooled + (1 - 2 * weights[:, None]) * variances).sum(axis=1)
    length = (moved**2).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(length > 0, np.maximum(0.0, 1 - noise / length), 0.0)


def _spread(prior: Floats | None, margin: Margin, pooled: Floats | None = None) -> Floats:
    """The public shares, or else those that all reports say, with a little of every value."""
    k = margin.shares.shape[1]
    if prior is not None:
        return prior
    if pooled is None:
        return np.full(k, 1 / k)
    return np.asarray((1 - _SPREAD) * simplex(pooled) + _SPREAD / k)
