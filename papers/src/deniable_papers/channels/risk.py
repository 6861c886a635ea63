"""Computes the error of the most likely shares from many reports, exactly, by Fisher information."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import numpy as np

from deniable.arrays import Floats
from deniable.errors import InvalidParameter, not_among

Loss = Literal["l2", "cdf", "kl"]
LOSSES = ("l2", "cdf", "kl")
"""Squared error of the shares, of the cumulative shares, and half the relative one (Kullback-Leibler)."""
_SINGULAR = 1e-14


def checked_loss(loss: str) -> str:
    """One of the losses."""
    if loss not in LOSSES:
        raise InvalidParameter(not_among(loss, "a loss", LOSSES))
    return loss


def weighing(loss: str, prior: Floats) -> Floats:
    """The matrix L of a loss |L (estimate - truth)|^2."""
    if checked_loss(loss) == "cdf":
        return np.tril(np.ones((prior.size, prior.size)))
    if loss == "kl":
        if (prior <= 0).any():
            raise InvalidParameter("the kl loss needs a prior in which every value occurs")
        return np.diag(1 / np.sqrt(2 * prior))
    return np.eye(prior.size)


@lru_cache(maxsize=64)
def directions(k: int) -> Floats:
    """An orthonormal basis of changes that leave the sum of the shares alone, as columns (Helmert's)."""
    ranks = np.arange(1, k)
    columns = np.where(np.arange(k)[:, None] < ranks, 1.0, 0.0)
    columns[ranks, ranks - 1] = -ranks
    basis = np.asarray(columns / np.sqrt(ranks * (ranks + 1.0)))
    basis.setflags(write=False)
    return basis


def information(columns: Floats, prior: Floats) -> Floats:
    """The Fisher information of one report: columns of the channel, weighted by their chances."""
    chances = prior @ columns
    seen = chances > 0
    moves = directions(prior.size).T @ columns[:, seen]
    return np.asarray((moves / chances[seen]) @ moves.T)


def risk(channel: Floats, prior: Floats, loss: str = "l2") -> float:
    """n times the expected loss of the most likely shares, for large n; infinite if not unique."""
    weights, info = weighing(loss, prior) @ directions(prior.size), information(channel, prior)
    values, vectors = np.linalg.eigh(info)
    if values[0] <= _SINGULAR * values[-1]:
        return float("inf")
    return float((((weights @ vectors) ** 2) / values).sum())
