"""Finds the most likely shares by interior points: for any channel with a k x k curvature, and on lines.

Without the constraint that shares add up to one, minimize sum p - sum of q ln(Ap) over p >= 0: at the optimum
they do so by themselves. Primal and dual steps are apart; a dozen or two of them reach the certificate.

Under decaying noise on a line a step takes O(observed values). Between two observed outputs D is convex,
beyond them it falls: so nobody is put where no output was observed, and the certificate on the observed
positions is that of the whole line. On these positions the inverse of the kernel has three diagonals, so
every step is a system with five (or, mixed, with seven) diagonals. Where steps on all positions are lost in
rounding, few positions at a time are searched: few have a share at the maximum. The search finds the most
likely shares of some positions, adds those at which the likelihood still grows fastest, leaves out those that
have no share, and begins again. A step on a few hundred distant positions is well conditioned where one on
all neighbors is not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import NamedTuple, final

import numpy as np

from deniable.arrays import Floats, Integers
from deniable.likelihood.certificate import Search, Solution
from deniable.likelihood.rows import Decay, Rows, expand, shared
from deniable.metric.line import SMALL, Decaying

_PATIENCE = 12  # steps without progress before it is said that floats do not carry further
_TO_BOUNDARY = 0.995
_FALLS = 3.0  # by how much each step beyond the tolerance must divide the gap
# up to _FEW values, _FURTHER such steps; with more, a sixth of those before
_FEW, _FURTHER, _SIXTH = 64, 12, 6
_START = 1e-2  # the complementarity that a start near the maximum begins with
_BEGIN = 64  # positions at the beginning
_MOST = 1500  # positions at a time, so that their table is small
_ROUNDS = 200
_STEPS_OF_PART = 60  # of a search on some positions
_PART = 0.1  # of the gap on all positions is enough on some
_COLUMN_PATIENCE = 15  # rounds without progress
_ABSENT = 1e-9  # a share that is left out, times the number of positions


class Point(NamedTuple):
    """Where a search is: shares, multipliers, what they make likely, and how fast the likelihood grows."""

    p: Floats
    z: Floats
    likely: Floats
    seen: Floats
    """Outputs over their likelihoods."""
    ascent: Floats


class Newton(ABC):
    """Which way to go from a point: the linear system of the step."""

    @abstractmethod
    def move(self, at: Point, mu: float) -> Floats | None:
        """(A' W A + Z / P) move = D - 1 + mu / p; None where rounding does not let it be solved."""

    def takes_care(self) -> bool:
        """Whether there is a slower and more exact way to solve it, which is taken from now on."""
        return False


def interior(
    rows: Rows, outputs: Floats, search: Search, newton: Newton | None = None, start: Floats | None = None
) -> Solution:
    """Up to the certificate; where rounding ends the progress before, the best so far is handed on.

    If the search is `further`, it then goes on while each step still divides the gap by a lot. Near the end
    that is a few cheap steps, and where a multiplier and its share are both 0, shares are only as exact
    as the root of the gap.
    """
    newton = _Cholesky(rows) if newton is None else newton
    p = rows.even if start is None else start
    z = np.ones(rows.k) if start is None else _START / (rows.k * p)
    best, least, last_gain, reached = p, np.inf, 0, 1.0
    step, reached_at, before = -1, -1, np.inf
    for step in range(search.limit + 1):
        likely = rows.forward(p)
        seen = shared(outputs, likely)
        at = Point(p, z, likely, seen, rows.backward(seen))
        gap = rows.gap(at.ascent, p)
        if gap < 0.9 * least:
            last_gain = step
        if gap < least:
            best, least = rows.normal(p), gap
        if search.enough(step, least):
            reached_at = step if reached_at < 0 else reached_at
            slow = (
                step > reached_at and gap * _FALLS > before and not (rows.k <= _FEW and newton.takes_care())
            )
            most = _FURTHER if rows.k <= _FEW else reached_at // _SIXTH
            if not search.further or slow or step - reached_at >= most or step == search.limit:
                return search.done(best, least, step)
        before = gap
        if step - last_gain > _PATIENCE:
            if not newton.takes_care():
                return search.stalled(best, least, step)
            last_gain = step
        # little of the complementarity is kept after a full step, more after a short one
        mu = min(0.8, max(0.1, 1.0 - reached)) * float(p @ z) / rows.k
        move = newton.move(at, mu)
        if move is None:
            return search.done(best, least, step) if reached_at >= 0 else search.stalled(best, least, step)
        turn = mu / p - z - z / p * move
        far, turned = _reach(p, move), _reach(z, turn)
        p, z, reached = p + far * move, z + turned * turn, min(far, turned)
    return search.ended(best, least, step)


def _reach(inside: Floats, move: Floats) -> float:
    """How far one may go so that all stays positive."""
    down = move < 0
    return min(1.0, _TO_BOUNDARY * float((inside[down] / -move[down]).min())) if down.any() else 1.0


@final
class _Cholesky(Newton):
    """By the table of the curvature."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def move(self, at: Point, mu: float) -> Floats | None:
        curvature = self.rows.gram(shared(at.seen, at.likely))
        curvature[np.diag_indices(at.p.size)] += at.z / at.p
        return solve_positive(curvature, at.ascent - 1 + mu / at.p)


def solve_positive(matrix: Floats, right: Floats) -> Floats | None:
    """Solve symmetric positive definite systems, one for each column of a table on the right; if rounding
    made the matrix indefinite, with more diagonal.
    """
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    scale = 1 / np.sqrt(np.diagonal(matrix))
    scaled = matrix * scale[:, None] * scale
    factors = scale if right.ndim == 1 else scale[:, None]
    for extra in (0.0, 1e-14, 1e-12, 1e-10):
        scaled[np.diag_indices(scale.size)] = 1.0 + extra
        try:
            move = factors * cho_solve(
                cho_factor(scaled, lower=True, check_finite=False), factors * right, check_finite=False
            )
        except LinAlgError:
            continue
        if np.isfinite(move).all():
            return np.asarray(move)
    return None


def banded(
    positions: Integers, epsilon: float, shares: Floats, search: Search, start: Floats | None = None
) -> Solution:
    """The shares at the observed positions (all of `shares` are positive), up to the certificate."""
    kernel = Decaying(positions, epsilon)
    if kernel.k == 1:
        return search.done(np.ones(1), 0.0, 0)
    return interior(Decay(kernel), shares, search, _Banded(kernel), start)


@final
class _Banded(Newton):
    """Solves by the inverse T of the kernel on the observed positions: two systems for a step."""

    def __init__(self, kernel: Decaying) -> None:
        self.kernel, self.mixed = kernel, False
        self.main, self.side = kernel.diagonals
        self.ones = np.ones(kernel.k)
        """T times a vector of ones, without cancellation."""
        self.ones[:-1] -= kernel.ratios / (1 + kernel.ratios)
        self.ones[1:] -= kernel.ratios / (1 + kernel.ratios)

    def takes_care(self) -> bool:
        before, self.mixed = self.mixed, True
        return not before

    def move(self, at: Point, mu: float) -> Floats | None:
        curvature, weights = at.z / at.p, at.seen / at.likely
        # T (D - 1 + mu / p), and T D = q / m needs no T
        right = at.seen - self.ones + self.kernel.solved(mu / at.p)
        move = None if self.mixed else self.five(weights, curvature, right)
        if move is not None:
            return move
        self.mixed = True
        move = self.seven(weights, curvature, right)
        if move is None:
            return None
        # once more on what is left over: the system is next to singular
        over = right - weights * self.kernel.times(move) - self.kernel.solved(curvature * move)
        more = self.seven(weights, curvature, over)
        return move if more is None else move + more

    def five(self, weights: Floats, curvature: Floats, right: Floats) -> Floats | None:
        """(W + T E T) dm = right, then dp = T dm; None where rounding has made it indefinite."""
        d, o, e = self.main, self.side, curvature
        main = weights + d * d * e
        main[1:] += o * o * e[:-1]
        main[:-1] += o * o * e[1:]
        first = o * (d[:-1] * e[:-1] + d[1:] * e[1:])
        second = o[:-1] * o[1:] * e[1:-1]
        solved = _solve_five(main, first, second, right.copy())
        if solved is None:
            return None
        move = self.kernel.solved(solved)
        return move if np.isfinite(move).all() else None

    def seven(self, weights: Floats, curvature: Floats, right: Floats) -> Floats | None:
        """[W T; T -1/E] [dm; y] = [right; 0] with y = E dp, the unknowns interleaved; T scaled to numbers
        near 1.
        """
        from scipy.linalg import LinAlgError, solve_banded

        k, scale = self.main.size, float(np.median(self.main))
        d, o = self.main / scale, self.side / scale
        # band[3 + i - j, j] = entry (i, j); rows 2 t: W dm + T y, rows 2 t + 1: T dm - y / E
        band = np.zeros((7, 2 * k))
        band[3, 0::2], band[3, 1::2] = weights, -1 / (scale**2 * curvature)
        band[2, 1::2], band[4, 0::2] = d, d
        band[2, 2::2], band[4, 1:-1:2] = o, o  # (2 t + 1, 2 t + 2) and (2 t + 2, 2 t + 1)
        band[0, 3::2], band[6, 0:-2:2] = o, o  # (2 t, 2 t + 3) and (2 t + 3, 2 t)
        target = np.zeros(2 * k)
        target[0::2] = right
        try:
            solved = solve_banded(
                (3, 3), band, target, overwrite_ab=True, overwrite_b=True, check_finite=False
            )
        except (LinAlgError, ValueError):
            return None
        move = solved[1::2] / (scale * curvature)  # the unknown is scale * y
        return move if np.isfinite(move).all() else None


def _solve_five(main: Floats, first: Floats, second: Floats, right: Floats) -> Floats | None:
    if main.size <= SMALL:
        from scipy.linalg import LinAlgError, solveh_banded

        band = np.zeros((3, main.size))
        band[0], band[1, :-1], band[2, :-2] = main, first, second
        try:
            return np.asarray(solveh_banded(band, right, lower=True, check_finite=False))
        except LinAlgError:
            return None
    from deniable.likelihood import loops

    return right if loops.solve_pentadiagonal(main, first, second, right) else None


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
        part = replace(search, tolerance=tolerance, limit=_STEPS_OF_PART, progress=None, further=False)
        solution = interior(columns, outputs, part, start=shares)
        steps += solution.iterations
        expanded = expand(solution.shares, chosen, kernel.k)
        ascent = rows.ascent(outputs, expanded)
        gap = rows.gap(ascent, expanded)
        if gap < 0.9 * least:
            gained = turn
        if gap < least:
            best, least = expanded, gap
        if search.enough(steps, least):
            return search.done(best, least, steps)
        if turn - gained > _COLUMN_PATIENCE or steps > search.limit:
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

    roundings = 0  # the certificate is that of all positions, not of these

    def forward(self, shares: Floats) -> Floats:
        return self.kernel.times(expand(shares, self.chosen, self.size))

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
