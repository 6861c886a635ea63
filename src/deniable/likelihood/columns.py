"""Finds the most likely shares on a line by few positions at a time, where steps on all of them are lost in
rounding.

Few positions have a share at the maximum. The search finds the most likely shares of some positions, adds
those at which the likelihood still grows fastest, leaves out those that have no share, and begins again. A
step on a few hundred distant positions is well conditioned where one on all neighbors is not.
"""

from __future__ import annotations

from dataclasses import replace
from typing import final

import numpy as np

from deniable.arrays import Floats, Integers
from deniable.likelihood.certificate import gap_bound
from deniable.likelihood.interior import interior
from deniable.likelihood.lines import Decay
from deniable.likelihood.rows import Rows, shared
from deniable.likelihood.solution import Search, Solution
from deniable.metric.line import Decaying

_BEGIN = 64  # positions at the beginning
_MOST = 1500  # positions at a time, so that their table is small
_ROUNDS = 200
_STEPS = 60  # of a search on some positions
_PART = 0.1  # of the gap on all positions is enough on some
_PATIENCE = 15  # rounds without progress
_ABSENT = 1e-9  # a share that is left out, times the number of positions


def column_search(kernel: Decaying, outputs: Floats, search: Search, initial: Floats) -> Solution:
    """The shares at all positions, up to the certificate; begins at the likely positions of `initial`."""
    rows = Decay(kernel)
    chosen = _begin(initial)
    best, least, gained = initial, np.inf, 0
    steps = 0
    shares: Floats | None = None
    tolerance = 1e-3
    for turn in range(_ROUNDS):
        columns = Columns(kernel, chosen)
        part = replace(search, tolerance=tolerance, limit=_STEPS, progress=None, further=False)
        solution = interior(columns, outputs, part, start=shares)
        steps += solution.iterations
        expanded = np.zeros(kernel.k)
        expanded[chosen] = solution.shares
        ascent = rows.backward(shared(outputs, rows.forward(expanded)))
        gap = gap_bound(ascent, float(expanded.sum()), rows.roundings)
        if gap < 0.9 * least:
            gained = turn
        if gap < least:
            best, least = expanded, gap
        if search.enough(steps, least):
            return search.done(best, least, steps)
        if turn - gained > _PATIENCE or steps > search.limit:
            break
        tolerance = max(_PART * search.tolerance, min(tolerance, _PART * gap))
        kept = chosen[solution.shares > _ABSENT / chosen.size]
        added = _find_peaks(ascent, kept)
        chosen = np.union1d(kept, added)
        start = expanded[chosen]
        mixed = 0.1 / chosen.size
        shares = 0.9 * start / start.sum() + mixed
    return search.stalled(best, least, steps)


def _begin(initial: Floats) -> Integers:
    """Positions with as many people between each two of them, and as many with as many positions."""
    sums = np.cumsum(initial)
    levels = np.linspace(0.0, sums[-1], _BEGIN)
    evenly = np.linspace(0, initial.size - 1, _BEGIN).astype(np.int64)
    return np.union1d(np.searchsorted(sums, levels).clip(0, initial.size - 1), evenly)


def _find_peaks(ascent: Floats, kept: Integers) -> Integers:
    """Where the likelihood grows fastest between two kept positions, if it grows."""
    edges = np.concatenate([[0], kept, [ascent.size]])
    peaks = [
        low + int(np.argmax(ascent[low:high]))
        for low, high in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
        if high > low
    ]
    positions = np.array(peaks, dtype=np.int64)
    return positions[ascent[positions] > 1.0][: max(0, _MOST - kept.size)]


@final
class Columns(Rows):
    """Outputs at all positions, of people at some of them."""

    def __init__(self, kernel: Decaying, chosen: Integers) -> None:
        self.kernel, self.chosen = kernel, chosen
        self.k, self.size = int(chosen.size), kernel.k
        self.logs = np.zeros(self.size)

    @property
    def roundings(self) -> int:
        return 0  # the certificate is that of all positions, not of these

    def forward(self, shares: Floats) -> Floats:
        expanded = np.zeros(self.size)
        expanded[self.chosen] = shares
        return self.kernel.times(expanded)

    def backward(self, weights: Floats) -> Floats:
        return self.kernel.times(weights)[self.chosen]

    def gram(self, weights: Floats) -> Floats:
        """Sums of weights before, between and after two positions, each decaying from the nearer one."""
        twice = Decaying(self.kernel.positions, 2 * self.kernel.epsilon)
        below = _sum_decaying(weights, twice.ratios)[self.chosen]
        above = _sum_decaying(weights[::-1], twice.ratios[::-1])[::-1][self.chosen]
        sums = np.cumsum(weights)[self.chosen]
        positions = self.kernel.positions[self.chosen]
        low, high = np.triu_indices(self.k)
        between = sums[high] - sums[low] - weights[self.chosen][high]
        between = np.where(low == high, -weights[self.chosen][high], np.maximum(between, 0.0))
        far = np.exp(-self.kernel.epsilon * (positions[high] - positions[low]))
        gram = np.empty((self.k, self.k))
        gram[low, high] = gram[high, low] = far * (below[low] + between + above[high])
        return gram


def _sum_decaying(weights: Floats, ratios: Floats) -> Floats:
    """For each position, the sum of weights up to it, decaying with the distance."""
    from deniable.likelihood import loops

    out = np.empty_like(weights)
    loops.sum_decaying(np.ascontiguousarray(weights), np.ascontiguousarray(ratios), out)
    return out
