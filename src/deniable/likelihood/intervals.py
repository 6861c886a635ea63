"""Measures how far each share can move before the reports speak against it.

A most likely distribution sits in a corner when the likelihood is nearly flat, and so do those of repeats:
shares that are always 0 have no scatter, though nobody knows them. So intervals also hold what the likelihood
itself does not refuse.

Some values are looked at at a time, so that memory is bounded. For very many reports of sets it looks at
a sample: what they lose is a slope, which is known from all of them, and a curvature, whose terms are
positive, so a sample estimates it well.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from deniable.arrays import Floats, Integers
from deniable.likelihood.problem import Listed
from deniable.likelihood.rows import Decay, Rows, Stacked, Supports

_MOST_CELLS = 1 << 26  # of a table of outputs by values that is searched, but for reports of sets
_SAMPLED_CELLS = 1 << 24
_FEWEST, _MOST = 1 << 12, 1 << 16  # reports of sets in a sample
_AT_ONCE = 1 << 18  # numbers made at a time
_STEPS = 30
_NEAR = 1e-7  # of the way, where its end is known well enough
_ALL = 1 - 1e-6  # beyond this share the rest is too small to say who is in it


class Reach(NamedTuple):
    """The lowest and the highest share of each value that the reports do not refuse."""

    low: Floats
    high: Floats


class _Seen(NamedTuple):
    """The outputs that are looked at, and what all reports say of a step towards everybody with a value."""

    rows: Rows
    outputs: Floats
    likely: Floats
    gains: Floats
    """The mean of how much likelier a report is for each value than for the shares, minus 1: of all reports.
    """

    def excess(self, targets: Floats) -> Floats:
        """How much likelier each output is for each target, minus 1; 0 where nothing was observed."""
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            return np.where(self.outputs > 0, targets / self.likely - 1, 0.0)

    def lost(self, excess: Floats, gains: Floats, part: Floats) -> Floats:
        """How much less likely a report is on average when this part of the way is gone."""
        with np.errstate(divide="ignore"):
            moved = part[:, None] * excess
            return np.asarray((moved - np.log1p(np.maximum(moved, -1.0))) @ self.outputs - part * gains)


def searched(problem: Listed) -> bool:
    """Whether the table is small enough: reports of sets always are, since a sample of them will do."""
    return _cells(problem.rows) <= _MOST_CELLS


def unrefused(problem: Listed, shares: Floats, nats: float) -> Reach:
    """From these shares straight on towards everybody with a value, or nobody, while all reports lose no more
    than `nats`.

    It is a part of what they do not refuse: other ways may lead further. A table that is too large is not
    searched.
    """
    rows, loss = problem.rows, nats / problem.n
    if flat(problem, shares, nats):
        return Reach(np.zeros(rows.k), np.ones(rows.k))
    if not searched(problem):
        return Reach(shares, shares)
    seen = _observe(problem, shares)
    total = seen.rows.forward(np.ones(rows.k))
    low, high = shares.copy(), shares.copy()
    for values in _blocks(seen):
        table = _table(seen.rows, values)
        high[values] += (1 - shares[values]) * _far(seen, table, seen.gains[values], loss)
        is_held = shares[values] > 0
        values, table = values[is_held], table[is_held]
        share, gains = shares[values], seen.gains[values]
        others = np.maximum(total - table, 0.0) / (rows.k - 1)
        by_others = (seen.gains.sum() - gains) / (rows.k - 1)
        rest = np.where(share < _ALL, 1 - share, np.inf)
        without = np.maximum(seen.likely - share[:, None] * table, 0.0) / rest[:, None]
        by_none = np.where(share < _ALL, -share * gains / rest, by_others)
        ways = [(others, by_others), (np.where(share[:, None] < _ALL, without, others), by_none)]
        if problem.shape == (rows.k,):
            before, after = np.abs(values - 1), rows.k - 1 - np.abs(rows.k - 2 - values)
            beside = _table(seen.rows, before) + _table(seen.rows, after)
            ways.append((beside / 2, (seen.gains[before] + seen.gains[after]) / 2))
        low[values] *= 1 - np.max([_far(seen, *way, loss) for way in ways], axis=0)
    return Reach(low, high)


def flat(problem: Listed, shares: Floats, nats: float) -> bool:
    """Whether all reports together prefer these shares to any others by no more than `nats`: then they tell
    next to nothing.

    The likelihood is concave, so that it is lowest where all people have one value; on a line, one of the
    ends. Elsewhere a table that is too large is not looked at.
    """
    rows, loss = problem.rows, nats / problem.n
    if not isinstance(rows, Decay) and not searched(problem):
        return False
    seen = _observe(problem, shares)
    blocks = [np.array([0, rows.k - 1])] if isinstance(rows, Decay) else _blocks(seen)
    for values in blocks:
        excess = seen.excess(_table(seen.rows, values))
        if (seen.lost(excess, seen.gains[values], np.ones(values.size)) > loss).any():
            return False
    return True


def _far(seen: _Seen, targets: Floats, gains: Floats, loss: float) -> Floats:
    """How far each target can be approached; the loss is convex, so Newton's steps come from beyond."""
    excess = seen.excess(targets)
    part = np.ones(len(targets))
    left = np.flatnonzero(seen.lost(excess, gains, part) > loss)
    excess, gains = excess[left], gains[left]
    bent = np.maximum((excess**2) @ seen.outputs, np.finfo(float).tiny)
    # as if the loss were a parabola
    at = np.minimum((gains + np.sqrt(gains**2 + 2 * loss * bent)) / bent, 0.5)
    inner, far = np.zeros(left.size), np.ones(left.size)
    for _ in range(_STEPS):
        lost = seen.lost(excess, gains, at)
        inner, far = np.where(lost <= loss, at, inner), np.where(lost <= loss, far, at)
        slope = at * ((excess**2 / (1 + at[:, None] * excess)) @ seen.outputs) - gains
        with np.errstate(divide="ignore", invalid="ignore"):
            step = at - (lost - loss) / slope
        part[left] = at
        on = ~(np.abs(step - at) <= _NEAR * at)
        if not on.any():
            break
        at = np.where((step > inner) & (step < far), step, (inner + far) / 2)[on]
        left, gains, inner, far = left[on], gains[on], inner[on], far[on]
        if not on.all():
            excess = excess[on]
    return part


def _observe(problem: Listed, shares: Floats) -> _Seen:
    rows, outputs = problem.rows, problem.outputs
    gains = rows.ascent(outputs, shares) - 1
    rows, outputs = _sample(rows, outputs)
    return _Seen(rows, outputs, rows.forward(shares), gains)


def _sample(rows: Rows, outputs: Floats) -> tuple[Rows, Floats]:
    """A sample of many reports of sets, evenly by how often they came, and always the same."""
    if isinstance(rows, Stacked):
        ends = np.cumsum([part.size for part in rows.parts])[:-1]
        pairs = [
            _sample(part, outputs_of_part)
            for part, outputs_of_part in zip(rows.parts, np.split(outputs, ends), strict=True)
        ]
        return Stacked([part for part, _ in pairs]), np.concatenate([sampled for _, sampled in pairs])
    size = min(max(_SAMPLED_CELLS // rows.k, _FEWEST), _MOST)
    if not isinstance(rows, Supports) or rows.size <= size:
        return rows, outputs
    sums = np.cumsum(outputs)
    positions = (np.arange(size) + np.random.default_rng(1).random(size)) * (sums[-1] / size)
    kept, times = np.unique(np.minimum(np.searchsorted(sums, positions), rows.size - 1), return_counts=True)
    layers = [(np.ascontiguousarray(bits[:, kept]), factor) for bits, factor in rows.layers]
    return Supports(rows.k, layers), times * (sums[-1] / size)


def _cells(rows: Rows) -> int:
    if isinstance(rows, Stacked):
        return sum(_cells(part) for part in rows.parts)
    return 0 if isinstance(rows, Supports) else rows.size * rows.k


def _blocks(seen: _Seen) -> Iterator[Integers]:
    step = max(1, _AT_ONCE // seen.rows.size)
    for start in range(0, seen.rows.k, step):
        yield np.arange(start, min(start + step, seen.rows.k))


def _table(rows: Rows, values: Integers) -> Floats:
    """Some values by all outputs."""
    if isinstance(rows, Stacked):
        return np.concatenate([_table(part, values) for part in rows.parts], axis=1)
    if isinstance(rows, Supports):
        return rows.columns(values)
    people = np.zeros((values.size, rows.k))
    people[np.arange(values.size), values] = 1.0
    return rows.forward(people)
