"""Finds the step of an interior point where the shares of each attribute add up to one."""

from __future__ import annotations

from typing import final

import numpy as np

from deniable.arrays import Floats
from deniable.likelihood.interior import Newton, Point, solve_positive
from deniable.likelihood.mixture import Mixture
from deniable.likelihood.rows import shared


@final
class BlockNewton(Newton):
    """By the table of the curvature, with a multiplier for each attribute, so that no sum changes."""

    def __init__(self, rows: Mixture) -> None:
        self.rows = rows
        self.sums = np.repeat(np.eye(len(rows.parts)), [part.k for part in rows.parts], axis=0)
        """Values by attributes: whose each value is."""

    def move(self, at: Point, mu: float) -> Floats | None:
        curvature = self.rows.gram(shared(at.seen, at.likely))
        # sums of one's own do not change, so that this changes no step, and one does not need to cancel: some
        # fakes let the likelihood see no difference between more people in one attribute and in another
        curvature += np.diagonal(curvature).mean() * (self.sums @ self.sums.T)
        curvature[np.diag_indices(at.p.size)] += at.z / at.p
        right = np.column_stack([at.ascent + mu / at.p, self.sums])
        solved = solve_positive(curvature, right)
        if solved is None:
            return None
        free, responses = solved[:, 0], solved[:, 1:]
        move = free - responses @ np.linalg.solve(self.sums.T @ responses, self.sums.T @ free)
        return np.asarray(move) if np.isfinite(move).all() else None
