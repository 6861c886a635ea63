"""Measures how far estimated shares are from the true ones, in several ways."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from deniable.arrays import Floats


def mean_squared_error(estimates: Floats, truth: Floats) -> float:
    """The squared error of a share, averaged over the values."""
    return float(((estimates - truth) ** 2).mean())


def max_error(estimates: Floats, truth: Floats) -> float:
    """The error of the share that is furthest off."""
    return float(np.abs(estimates - truth).max())


def total_variation(estimates: Floats, truth: Floats) -> float:
    """Half the sum of all errors."""
    return float(np.abs(estimates - truth).sum() / 2)


def wasserstein(estimates: Floats, truth: Floats) -> float:
    """For ordered values: the area between the cumulative shares, in steps from one value to the next."""
    return float(np.abs(np.cumsum(estimates - truth)[:-1]).sum())


def kullback_leibler(estimates: Floats, truth: Floats) -> float:
    """How surprising the truth is to somebody who believes the estimates, in nats.

    Negative estimates count as zero; then 1e-6 is added to every share on both sides, so that it is finite.
    """
    believed, real = np.maximum(estimates, 0.0) + 1e-6, truth + 1e-6
    return float((real / real.sum()) @ np.log(real / real.sum() / (believed / believed.sum())))


METRICS: dict[str, Callable[[Floats, Floats], float]] = {
    "mse": mean_squared_error,
    "max_error": max_error,
    "total_variation": total_variation,
    "wasserstein": wasserstein,
    "kl": kullback_leibler,
}
"""Every measure of how far estimated shares are from the true ones."""
