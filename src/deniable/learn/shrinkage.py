"""Shrinks the shares of each class toward those of everybody, as far as noise explains the difference.

This is James and Stein's idea: of a difference with length |d| whose noise has the sum of variances s, the
part 1 - s/|d|^2 is kept, and nothing where that is negative. A column that says nothing about the label, or
nothing that can be seen through the noise, then has the same shares in all classes, and moves no prediction.

A column is kept for its frequent values, whose noise is small beside their shares. The noise of rare values
is as large, and would decide predictions by itself. So a part of the standard error is added to both shares
before they are compared.
"""

from __future__ import annotations

import numpy as np

from deniable.arrays import Floats
from deniable.estimate.consistency import simplex
from deniable.learn.margins import Margin

_FLOOR = 0.05  # of the prior: no value is so rare in a class that one answer decides alone
_SPREAD = 0.1  # of a prior that is estimated goes to all values alike
_LEAST = 1e-9  # a share that a public prior has as 0


def shrink_margin(margin: Margin, classes: Floats, prior: Floats | None, damp: float = 0.0) -> Floats:
    """The shares of values in each class, a row for each, all positive and each with the sum 1.

    With two classes this is prior + (1 - pi) w d and prior - pi w d, where d is the difference of the two and
    pi the share of the first; with more, each class is compared with all of them together. `damp` is the part
    of the standard error that is added to shares before they are compared with everybody's.

    >>> found = Margin(np.array([[0.9, 0.1], [0.5, 0.5]]), np.full((2, 2), 0.01), np.ones(2))
    >>> for damp in (0.0, 0.5):
    ...     print(shrink_margin(found, np.array([0.5, 0.5]), np.array([0.7, 0.3]), damp).round(3).tolist())
    [[0.875, 0.125], [0.525, 0.475]]
    [[0.858, 0.142], [0.539, 0.461]]
    """
    weights = classes * margin.reported
    if not weights.any():
        return np.tile(_find_base(prior, margin.shares[0]), (classes.size, 1))
    weights = weights / weights.sum()
    pooled = weights @ margin.shares
    base = np.maximum(_find_base(prior, pooled), _LEAST)
    moved = (margin.shares - pooled) * margin.reported[:, None]
    noise = _find_noise(margin.variances, weights)
    kept = _find_kept(moved, noise)
    shrunk = _scale(np.maximum(base + kept[:, None] * moved, _FLOOR * base))
    added = damp * np.sqrt(noise.mean(axis=1, keepdims=True))
    return _scale(base * (shrunk + added) / (base + added))


def _find_noise(variances: Floats, weights: Floats) -> Floats:
    """The variance of each class's difference from everybody, value by value."""
    return np.asarray((weights**2) @ variances + (1 - 2 * weights[:, None]) * variances)


def _find_kept(moved: Floats, noise: Floats) -> Floats:
    """The part of each class's difference from everybody that is not noise."""
    length = (moved**2).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(length > 0, np.maximum(0.0, 1 - noise.sum(axis=1) / length), 0.0)


def _find_base(prior: Floats | None, pooled: Floats) -> Floats:
    """The public shares, or else those that all reports say, with a little of every value."""
    if prior is not None:
        return prior
    return np.asarray((1 - _SPREAD) * simplex(pooled) + _SPREAD / pooled.size)


def _scale(shares: Floats) -> Floats:
    """Rows that add up to 1."""
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))
