"""How much to smooth, by held-out likelihood: reports are dealt to folds, and each is predicted from the others.

Only counts of outputs are needed: which of equal reports goes to which fold does not matter, so that the counts are dealt
themselves (binomial thinning).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from deniable.errors import InvalidParameter
from deniable.exact import whole_number
from deniable.law import Floats
from deniable.likelihood.problem import Counted, Problem, refuse_unordered
from deniable.likelihood.steps import normal, smoothed_by

WEIGHTS = (0.0, 0.01, 0.05, 0.25)
PASSES = (10, 30, 100, 300, 1000)


@final
@dataclass(frozen=True)
class Smoothing:
    """What was chosen: after each of so many steps of EM, so much of each share goes to either neighbor."""

    weight: float
    passes: int
    held_out: tuple[tuple[float, ...], ...]
    """The mean log-likelihood of held-out reports, by weight and number of passes."""


def chosen(problem: Problem, weights: Sequence[float], passes: Sequence[int], folds: int, seed: int) -> Smoothing:
    """The weight and the number of passes that predict held-out reports best."""
    counted = checked(problem)
    whole_number("folds", folds, 2)
    sides, ends = _settings(weights, passes)
    dealt = np.random.default_rng(seed).multinomial(counted.counts[counted.observed], np.full(folds, 1 / folds)).T
    kept = dealt.sum(axis=0) - dealt
    if (dealt.sum(axis=1) == 0).any() or (kept.sum(axis=1) == 0).any():
        raise InvalidParameter(f"{counted.n} reports are too few for {folds} folds")
    trained = np.tile(kept / kept.sum(axis=1, keepdims=True), (sides.size, 1))
    tested = np.tile(dealt, (sides.size, 1))
    scores = np.zeros((sides.size, ends.size))
    for step, p in _passes(counted, trained, np.repeat(sides, folds), int(ends[-1])):
        if step in ends:
            logs = (tested * (np.log(counted.rows.forward(p)) + counted.rows.logs)).sum(axis=1)
            scores[:, np.searchsorted(ends, step)] = logs.reshape(-1, folds).sum(axis=1) / counted.n
    best = np.unravel_index(int(scores.argmax()), scores.shape)
    return Smoothing(float(sides[best[0]]), int(ends[best[1]]), tuple(tuple(map(float, row)) for row in scores))


def smoothed(problem: Problem, smoothing: Smoothing) -> Floats:
    """Smooth by what was chosen."""
    counted = checked(problem)
    steps = _passes(counted, counted.outputs[None, :], np.array([smoothing.weight]), smoothing.passes)
    ((_, p),) = deque(steps, maxlen=1)
    return np.asarray(p[0])


def checked(problem: Problem) -> Counted:
    """Smoothing is for ordered values whose outputs are counted."""
    if not isinstance(problem, Counted):
        raise InvalidParameter("smoothing is for ordered values with counted outputs: geometric noise, Square Wave, any matrix")
    refuse_unordered(problem)
    return problem


def _passes(counted: Counted, outputs: Floats, sides: Floats, most: int) -> Iterator[tuple[int, Floats]]:
    """Steps of EM with smoothing, for many data and weights at once."""
    smooth = smoothed_by(sides)
    p = np.full((sides.size, counted.k), 1 / counted.k)
    for step in range(1, most + 1):
        p = normal(smooth(p * counted.rows.backward(outputs / counted.rows.forward(p))))
        yield step, p


def _settings(weights: Sequence[float], passes: Sequence[int]) -> tuple[Floats, Floats]:
    sides, ends = np.asarray(weights, dtype=np.float64), np.unique(np.asarray(passes))
    if sides.ndim != 1 or sides.size == 0 or not ((sides >= 0) & (sides <= 0.5)).all():
        raise InvalidParameter(f"smoothing weights are from 0 to 0.5, got {list(weights)}")
    if ends.size == 0 or ends.dtype.kind not in "iu" or ends[0] < 1:
        raise InvalidParameter(f"passes are whole numbers of at least 1, got {list(passes)}")
    return sides, ends
