"""Computes how well shares are known from the curvature of their likelihood, all attributes together.

The curvature at the maximum is the observed information. A step of Newton from there, without the rule that
no share is below zero, leads to the center: an estimate that is normal about the truth even where the maximum
is at the boundary. An interval is where the curve through the center is no more than 1.92 nats (at 95 %)
below the maximum, so that it holds the maximum, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from deniable.arrays import Floats
from deniable.estimate import Interval
from deniable.likelihood.mixture import Mixture
from deniable.likelihood.rows import shared

_CONDITION = 1e12  # beyond this, floats do not tell a direction that is known little from one that is not


@final
@dataclass(frozen=True, eq=False)
class Information:
    """Where shares are without boundaries, and how far that scatters."""

    center: Floats
    covariance: Floats

    @property
    def standard_errors(self) -> Floats:
        """How far each share scatters; infinite where the reports say nothing."""
        return np.sqrt(np.diagonal(self.covariance))

    def select(self, span: slice) -> Information:
        """That of one attribute, whatever the shares of the others are."""
        return Information(self.center[span], self.covariance[span, span])

    def move(self, shares: Floats, generator: np.random.Generator) -> Floats:
        """Shares as far from these as an estimate is from the truth by chance."""
        if not np.isfinite(self.covariance).all():
            return generator.dirichlet(np.full(shares.size, 0.5))
        return generator.multivariate_normal(shares, self.covariance, method="eigh")

    def interval(self, shares: Floats, reach: float) -> Interval:
        """Around the center, this many standard errors and as far as the most likely shares are."""
        off = np.where(np.isfinite(self.center), shares - self.center, np.inf)
        far = np.hypot(reach * self.standard_errors, off)
        center = np.where(np.isfinite(far), self.center, 0.5)
        return Interval(np.clip(center - far, 0.0, 1.0), np.clip(center + far, 0.0, 1.0))


def observe_information(rows: Mixture, outputs: Floats, n: int, shares: Floats) -> Information:
    """The observed information of all shares, each attribute's on its simplex."""
    likely = rows.forward(shares)
    seen = shared(outputs, likely)
    curvature = rows.gram(shared(seen, likely))
    basis = [_span_differences(part.k) for part in rows.parts]
    moves = np.zeros((rows.k, rows.k - len(basis)))
    column = 0
    for span, part in zip(rows.spans, basis, strict=True):
        moves[span, column : column + part.shape[1]] = part
        column += part.shape[1]
    values, vectors = np.linalg.eigh(moves.T @ curvature @ moves)
    if not values[0] > values[-1] / _CONDITION:
        return Information(np.full(rows.k, np.nan), np.diag(np.full(rows.k, np.inf)))
    ways = moves @ vectors
    inverse = (ways / values) @ ways.T
    return Information(shares + inverse @ rows.backward(seen), inverse / n)


def _span_differences(k: int) -> Floats:
    """An orthonormal basis of all ways to move k shares that leave their sum (Helmert)."""
    basis = np.zeros((k, k - 1))
    for i in range(1, k):
        basis[:i, i - 1] = 1.0
        basis[i, i - 1] = -i
        basis[:, i - 1] /= np.sqrt(i * (i + 1))
    return basis
