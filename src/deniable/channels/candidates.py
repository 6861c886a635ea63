"""Channels on a line of values that all keep the same promise: neighbors are told apart by at most epsilon.

They are floats, for comparing; the mechanisms that are sampled are in integers (see metric).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from deniable.errors import InvalidParameter
from deniable.law import Floats
from deniable.likelihood.geometric import GeometricChannel

_ROUNDS = 300


def step_loss(channel: Floats) -> float:
    """The smallest epsilon per step of a channel on a line: the worst ratio of neighboring rows, since the rest chains."""
    above, below = channel[:-1], channel[1:]
    if ((above > 0) != (below > 0)).any():
        return math.inf
    seen = above > 0
    return float(np.abs(np.log(above[seen]) - np.log(below[seen])).max())


def geometric(n: int, epsilon: float) -> Floats:
    """Two-sided geometric noise, clamped to the ends."""
    return GeometricChannel(n, epsilon).matrix()


def direct(n: int, epsilon: float) -> Floats:
    """Randomized response: any two values are told apart by epsilon, so neighbors are, too."""
    odds = np.ones((n + 1, n + 1))
    np.fill_diagonal(odds, math.exp(epsilon))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def exponential(n: int, epsilon: float) -> Floats:
    """e^(-epsilon d / 2), scaled to rows of one: the half pays for the scaling, by the usual proof."""
    return _decaying(n, epsilon / 2, np.ones(n + 1))


def calibrated_exponential(n: int, epsilon: float) -> Floats:
    """e^(-b d), scaled to rows of one, with the largest b that keeps the promise."""
    return _calibrated(lambda rate: _decaying(n, rate, np.ones(n + 1)), epsilon)


def blahut_arimoto(n: int, epsilon: float, prior: Floats) -> Floats:
    """o_y e^(-b d), scaled to rows of one: the least information for its mean distance (300 rounds), b calibrated.

    It may give up outputs; then some priors cannot be told from others, and the risk is infinite.
    """
    return _calibrated(lambda rate: _least_informative(n, rate, prior), epsilon)


def _decaying(n: int, rate: float, outputs: Floats) -> Floats:
    places = np.arange(n + 1)
    channel = outputs * np.exp(-rate * np.abs(places[:, None] - places))
    return np.asarray(channel / channel.sum(axis=1, keepdims=True))


def _least_informative(n: int, rate: float, prior: Floats) -> Floats:
    outputs = np.full(n + 1, 1 / (n + 1))
    for _ in range(_ROUNDS):
        after = prior @ _decaying(n, rate, outputs)
        after = np.where(after < 1e-12, 0.0, after)
        after /= after.sum()
        if np.abs(after - outputs).max() < 1e-10:
            break
        outputs = after
    return _decaying(n, rate, outputs)


def _calibrated(make: Callable[[float], Floats], epsilon: float) -> Floats:
    """The largest rate whose channel loses at most epsilon a step; the loss grows with the rate."""
    low, high = 0.0, epsilon
    while step_loss(make(high)) <= epsilon:
        low, high = high, 2 * high
        if high > 1e3:
            raise InvalidParameter(f"no rate spends all of epsilon = {epsilon}")
    for _ in range(36):
        middle = (low + high) / 2
        if step_loss(make(middle)) <= epsilon:
            low = middle
        else:
            high = middle
    return make(low)
