"""Finds the most likely shares under decaying noise on a line, in O(observed values) a step.

Between two observed outputs D is convex, beyond them it falls: so nobody is put where no output was observed,
and the certificate on the observed positions is that of the whole line. On these positions the inverse of the
kernel has three diagonals, so every step is a system with five (or, mixed, with seven) diagonals.
"""

from __future__ import annotations

from typing import final

import numpy as np

from deniable.arrays import Floats, Integers
from deniable.likelihood.interior import Newton, Point, interior
from deniable.likelihood.lines import Decay
from deniable.likelihood.solution import Search, Solution
from deniable.metric.line import SMALL, Decaying


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
