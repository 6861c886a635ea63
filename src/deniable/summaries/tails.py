"""Computes how rarely honest reports look so strange, and from what share on fakes would be noticed."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from deniable.arrays import Floats, Integers
from deniable.estimate import reach_of

POWER = 1.2816
"""How many errors a number lies beyond its limit that is noticed nine times in ten."""
_FEW = 10.0  # expected in a cell of a chi-square
_TRIED = np.geomspace(1e-6, 1.0, 700)  # shares of fakes, in steps of 2 %


def one_sided(deviates: Floats) -> Floats:
    """How often a normal number is so large."""
    from scipy.special import ndtr

    return np.asarray(ndtr(-deviates))


def log_one_sided(deviate: float) -> float:
    """The logarithm of how often a normal number is so large, however rare that is."""
    from scipy.special import log_ndtr

    return float(log_ndtr(-deviate))


def reach_of_log(tail: float) -> float:
    """How large a normal number is that is exceeded so rarely: the inverse of `log_one_sided`."""
    from scipy.special import ndtri_exp

    return -float(ndtri_exp(tail))


def two_sided(deviate: float) -> float:
    """How often a normal number is so far from 0."""
    return float(2 * one_sided(np.abs(deviate)))


def several(p_value: float, times: int) -> float:
    """The p-value of the smallest of several."""
    return min(1.0, p_value * times)


def normal_noticed(error: float, moved: float, tail: float) -> float:
    """The share of fakes that is noticed by a normal number, which all of them would move by this much."""
    return min(1.0, (reach_of(tail) + POWER) * error / moved) if moved > 0 else 1.0


def pool_cells(expected: Floats) -> Integers:
    """Which cell of a chi-square each count belongs to: where few are expected, they are put together."""
    common = expected >= _FEW
    cells = np.where(common, np.cumsum(common) - 1, common.sum())
    last = max(0, int(common.sum()) - 1)
    return np.minimum(cells, last) if expected[~common].sum() < _FEW else cells


def compare_cells(counts: Floats, expected: Floats, cells: Integers) -> float:
    """How often counts differ as much from what is expected."""
    from scipy.special import chdtrc

    seen, usual = np.bincount(cells, counts), np.bincount(cells, expected)
    if usual.size == 1:
        return 1.0
    return float(chdtrc(usual.size - 1, float(((seen - usual) ** 2 / usual).sum())))


def cells_noticed(chance: float, n: float, freedom: int, tail: float) -> float:
    """The share of fakes that is noticed by a chi-square, if all of them are in one cell of this chance."""
    from scipy.special import chdtri, chndtrinc

    if not freedom:
        return 1.0
    moved = float(chndtrinc(chdtri(freedom, tail), freedom, 0.1))
    return min(1.0, math.sqrt(moved / (n * (1 / chance - 1))))


def least_noticed(beyond: Callable[[Floats], Floats]) -> float:
    """The share of fakes from which on all that are tried are noticed: what this gives of them is below 0."""
    quiet = np.flatnonzero(beyond(_TRIED) >= 0)
    return float(_TRIED[min(quiet[-1] + 1, _TRIED.size - 1)]) if quiet.size else float(_TRIED[0])
