"""Finds the most likely shares by an interior point, for any channel whose k x k curvature can be computed.

Without the constraint that shares add up to one, minimize sum p - sum of q ln(Ap) over p >= 0: at the optimum
they do so by themselves. Primal and dual steps are apart; a dozen or two of them reach the certificate.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple, final

import numpy as np

from deniable.arrays import Floats
from deniable.likelihood.rows import Rows, shared
from deniable.likelihood.solution import Search, Solution

_PATIENCE = 12  # steps without progress before it is said that floats do not carry further
_TO_BOUNDARY = 0.995
_FALLS = 3.0  # by how much each step beyond the tolerance must divide the gap
# up to _FEW values, _FURTHER such steps; with more, a sixth of those before
_FEW, _FURTHER, _SIXTH = 64, 12, 6
_START = 1e-2  # the complementarity that a start near the maximum begins with


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
        mu = centering(reached) * float(p @ z) / rows.k
        move = newton.move(at, mu)
        if move is None:
            return search.done(best, least, step) if reached_at >= 0 else search.stalled(best, least, step)
        turn = mu / p - z - z / p * move
        far, turned = reach(p, move), reach(z, turn)
        p, z, reached = p + far * move, z + turned * turn, min(far, turned)
    return search.ended(best, least, step)


def centering(reached: float) -> float:
    """How much of the complementarity to keep: little after a full step, more after a short one."""
    return min(0.8, max(0.1, 1.0 - reached))


def reach(inside: Floats, move: Floats) -> float:
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
