"""The most likely shares under decaying noise on a line, by an interior point that costs O(observed values) a step.

Between two observed outputs D is convex, beyond them it falls: so nobody is put where no output was observed, and the
certificate on the observed places is that of the whole line. On these places the inverse of the kernel has three
diagonals, so every step is a system with five (or, mixed, with seven) diagonals.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from deniable.law import Floats
from deniable.likelihood.certificate import gap_bound
from deniable.likelihood.found import Found, Search
from deniable.likelihood.interior import centering, reach
from deniable.likelihood.rows import SMALL, Decay

_PATIENCE = 12  # steps without progress before the other system is tried


def banded(places: npt.NDArray[np.int64], epsilon: float, shares: Floats, search: Search) -> Found:
    """The shares at the observed places (all of `shares` are positive), up to the certificate."""
    rows = Decay(places, epsilon)
    if rows.k == 1:
        return search.done(np.ones(1), 0.0, 0)
    inverse = _Inverse(rows)
    p, z = np.full(rows.k, 1.0 / rows.k), np.ones(rows.k)
    best, least, last_gain, mixed, reached = p, np.inf, 0, False, 1.0
    step = -1
    for step in range(search.limit + 1):
        likely = rows.forward(p)
        ascent = rows.backward(shares / likely)
        gap = gap_bound(ascent, float(p.sum()), rows.roundings)
        if gap < 0.9 * least:
            last_gain = step
        if gap < least:
            best, least = p / p.sum(), gap
        if search.enough(step, least):
            return search.done(best, least, step)
        if step - last_gain > _PATIENCE:
            if mixed:
                return search.stalled(best, least, step)
            mixed, last_gain = True, step
        mu = centering(reached) * float(p @ z) / rows.k
        curvature, weights = z / p, shares / likely**2
        right = shares / likely - inverse.ones + inverse.times(mu / p)  # T (D - 1 + mu / p), and T D = q / m needs no T
        move = None if mixed else inverse.five(weights, curvature, right)
        if move is None:
            mixed = True
            move = inverse.seven(weights, curvature, right)
            if move is not None:  # once more on what is left over: the system is next to singular
                over = right - weights * _signed(rows, move) - inverse.times(curvature * move)
                more = inverse.seven(weights, curvature, over)
                move = move if more is None else move + more
        if move is None:
            return search.stalled(best, least, step)
        turn = mu / p - z - curvature * move
        far, turned = reach(p, move), reach(z, turn)
        p, z, reached = p + far * move, z + turned * turn, min(far, turned)
    return search.ended(best, least, step)


def _signed(rows: Decay, move: Floats) -> Floats:
    """The kernel times numbers of either sign."""
    return rows.forward(np.maximum(move, 0.0)) - rows.forward(np.maximum(-move, 0.0))


class _Inverse:
    """The inverse T of the kernel on the observed places, three diagonals; and the two systems for a step."""

    def __init__(self, rows: Decay) -> None:
        extra = rows.ratios**2 / rows.ends
        self.main = np.ones(rows.k)
        self.main[:-1] += extra
        self.main[1:] += extra
        self.side = -rows.ratios / rows.ends
        self.ones = np.ones(rows.k)
        """T times a vector of ones, without cancellation."""
        self.ones[:-1] -= rows.ratios / (1 + rows.ratios)
        self.ones[1:] -= rows.ratios / (1 + rows.ratios)

    def times(self, vector: Floats) -> Floats:
        result = self.main * vector
        result[:-1] += self.side * vector[1:]
        result[1:] += self.side * vector[:-1]
        return np.asarray(result)

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
        move = self.times(solved)
        return move if np.isfinite(move).all() else None

    def seven(self, weights: Floats, curvature: Floats, right: Floats) -> Floats | None:
        """[W T; T -1/E] [dm; y] = [right; 0] with y = E dp, the unknowns interleaved; T scaled to numbers near 1."""
        from scipy.linalg import LinAlgError, solve_banded

        k, scale = self.main.size, float(np.median(self.main))
        d, o = self.main / scale, self.side / scale
        band = np.zeros((7, 2 * k))  # band[3 + i - j, j] = entry (i, j); rows 2 t: W dm + T y, rows 2 t + 1: T dm - y / E
        band[3, 0::2], band[3, 1::2] = weights, -1 / (scale**2 * curvature)
        band[2, 1::2], band[4, 0::2] = d, d
        band[2, 2::2], band[4, 1:-1:2] = o, o  # (2 t + 1, 2 t + 2) and (2 t + 2, 2 t + 1)
        band[0, 3::2], band[6, 0:-2:2] = o, o  # (2 t, 2 t + 3) and (2 t + 3, 2 t)
        wanted = np.zeros(2 * k)
        wanted[0::2] = right
        try:
            solved = solve_banded((3, 3), band, wanted, overwrite_ab=True, overwrite_b=True, check_finite=False)
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
