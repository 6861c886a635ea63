"""Finds the best of all channels that keep the promise, for few values, and certifies that none is better.

Every column v of such a channel has neighbors v_i / v_(i+1) within e^epsilon. Splitting it into extreme ones
loses no information, and these are the 2^n zigzags v_i = e^(-epsilon h_i) with steps of h of +1 or -1. So the
best channel is a choice of weights for zigzags, such that rows add up to one, and its risk is a convex
function of the weights.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from deniable.arrays import Floats
from deniable.errors import InvalidParameter
from deniable.likelihood.rows import few_threads
from deniable_papers.channels.candidates import step_loss
from deniable_papers.channels.risk import directions, weighing

MOST_SEARCHED = 8
"""The best channel is searched for up to this n (256 zigzags)."""
MOST_TESTED = 12
"""A channel is tested against all others up to this n (4,096 zigzags)."""
_TOLERANCE = 1e-7


def zigzags(n: int, epsilon: float) -> Floats:
    """All 2^n extreme columns, their largest entry being 1."""
    steps = 1 - 2 * ((np.arange(1 << n)[:, None] >> np.arange(n)) & 1)
    heights = np.hstack([np.zeros((1 << n, 1), dtype=np.int64), np.cumsum(steps, axis=1)])
    heights -= heights.min(axis=1, keepdims=True)
    return np.asarray(np.exp(-epsilon * heights).T)


@final
@dataclass(frozen=True, eq=False)
class Optimum:
    """A channel, its risk, and a risk that no channel with the same promise can go below."""

    channel: Floats
    risk: float
    bound: float


def lower_bound(channel: Floats, epsilon: float, prior: Floats, loss: str) -> float:
    """Bound the risk of all channels that keep the promise from below, for up to 12 steps.

    The bound is tight for the best channel. With multipliers y such that y.v is at least s(v) = |L M^-1
    U'v|^2 / (prior.v) for all zigzags v, no risk is below risk^2 / sum y. The multipliers are solved from the
    channel's own columns, then raised until they hold for all.
    """
    if prior.size - 1 > MOST_TESTED:
        raise InvalidParameter(f"all zigzags can be tried for up to n = {MOST_TESTED}, got {prior.size - 1}")
    columns = channel[:, channel.sum(axis=0) > 0]
    multipliers = np.asarray(
        np.linalg.lstsq(columns.T, _gains(columns, columns, prior, loss), rcond=None)[0], dtype=np.float64
    )
    tried = zigzags(prior.size - 1, epsilon)
    return _bound(_risk(columns, prior, loss), multipliers, tried, _gains(columns, tried, prior, loss))


def optimum(n: int, epsilon: float, prior: Floats, loss: str) -> Optimum:
    """The best channel for up to 8 steps, by Newton's method with a barrier on the weights of all zigzags."""
    if n > MOST_SEARCHED:
        raise InvalidParameter(f"the best channel is searched for up to n = {MOST_SEARCHED}, got {n}")
    with few_threads(8.0**n):
        return _search_optimum(n, epsilon, prior, loss)


def _search_optimum(n: int, epsilon: float, prior: Floats, loss: str) -> Optimum:
    columns = zigzags(n, epsilon)
    start = np.linalg.lstsq(columns @ columns.T, np.ones(n + 1), rcond=None)[0]
    weights = columns.T @ start
    if weights.min() <= 0:
        # by symmetry all zigzags together are nearly constant; geometric columns make up the rest
        weights = np.full(columns.shape[1], 0.5 / columns.sum(axis=1).max())
        own = [
            int(np.abs(columns - _peak(n, epsilon, j)[:, None]).max(axis=0).argmin()) for j in range(n + 1)
        ]
        weights[own] += np.linalg.solve(columns[:, own], 1 - columns @ weights)
    if weights.min() <= 0:
        raise InvalidParameter(f"no start was found for n = {n}, epsilon = {epsilon}; try a larger epsilon")
    found = _descend(columns, weights, prior, loss)
    channel = _restore_promise(found.channel, epsilon)
    return Optimum(channel, max(found.risk, _risk(channel, prior, loss)), found.bound)


def _restore_promise(channel: Floats, epsilon: float) -> Floats:
    """Mix in as little of a constant report as undoes rounding, so that no step loses more than epsilon."""
    constant = channel.mean(axis=0)
    part = 2.0**-52
    mixed = channel
    while step_loss(mixed) > epsilon:
        mixed = (1 - part) * channel + part * constant
        part *= 2
    return mixed


def _peak(n: int, epsilon: float, j: int) -> Floats:
    return np.asarray(np.exp(-epsilon * np.abs(np.arange(n + 1) - j)))


def _descend(columns: Floats, weights: Floats, prior: Floats, loss: str) -> Optimum:
    basis, k = directions(prior.size), prior.size
    moves = basis.T @ columns / np.sqrt(prior @ columns)
    target = weighing(loss, prior) @ basis
    target = target.T @ target
    barrier = float(np.trace(np.linalg.solve((moves * weights) @ moves.T, target))) / weights.size
    best = Optimum(columns * weights, math.inf, 0.0)
    for _ in range(400):
        inverse = np.linalg.inv((moves * weights) @ moves.T)
        middle = inverse @ target @ inverse
        near, far = moves.T @ inverse @ moves, moves.T @ middle @ moves
        gains, risk = np.diagonal(far).copy(), float(np.trace(inverse @ target))
        gradient = -gains - barrier / weights
        curvature = 2 * near * far
        curvature[np.diag_indices(weights.size)] += barrier / weights**2
        # scaled by the weights, so that the system is well conditioned
        scaled = curvature * weights[:, None] * weights
        sides = columns * weights
        system = np.block([[scaled, sides.T], [sides, np.zeros((k, k))]])
        right = np.concatenate([-gradient * weights, 1 - columns @ weights])
        try:
            solved = np.linalg.solve(system, right)
        except np.linalg.LinAlgError:
            break
        move, multipliers = solved[: weights.size], -solved[weights.size :]
        bound = _bound(risk, -multipliers if multipliers.sum() < 0 else multipliers, columns, gains)
        if risk / max(bound, 1e-300) - 1 < (
            best.risk / max(best.bound, 1e-300) - 1 if best.bound > 0 else math.inf
        ):
            best = Optimum(columns * weights, risk, bound)
        if best.bound > 0 and best.risk <= best.bound * (1 + _TOLERANCE):
            break
        down = move < 0
        length = min(1.0, 0.95 * float((-1 / move[down]).min())) if down.any() else 1.0
        weights = weights * (1 + length * move)
        if length > 0.5:
            barrier *= 0.3
    return best


def _gains(columns: Floats, tried: Floats, prior: Floats, loss: str) -> Floats:
    """How fast the risk falls with the weight of each column that is tried."""
    basis = directions(prior.size)
    moves = basis.T @ columns
    info = (moves / (prior @ columns)) @ moves.T
    pulled = weighing(loss, prior) @ basis @ np.linalg.solve(info, basis.T @ tried)
    return np.asarray((pulled**2).sum(axis=0) / (prior @ tried))


def _risk(columns: Floats, prior: Floats, loss: str) -> float:
    basis = directions(prior.size)
    moves = basis.T @ columns
    weights = weighing(loss, prior) @ basis
    return float(np.trace(np.linalg.solve((moves / (prior @ columns)) @ moves.T, weights.T @ weights)))


def _bound(risk: float, multipliers: Floats, tried: Floats, gains: Floats) -> float:
    """risk^2 / sum y, with y raised until y.v >= s(v) everywhere; 0 where raising does not help."""
    held = multipliers @ tried
    if not np.isfinite(held).all() or held.min() <= 0:
        return 0.0
    raised = multipliers * max(1.0, float((gains / held).max()) * (1 + 1e-12))
    return min(risk, risk * risk / float(raised.sum()))
