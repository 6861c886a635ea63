"""Estimates smooth shares from reports of a square wave: the splines that fit these best."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import final

import numpy as np

from deniable.arrays import Floats
from deniable.errors import InvalidParameter
from deniable.exact import whole_number
from deniable.metric.waves import Wave, best_window

SPLINES = 20
"""How many cubic splines follow the shares: all of a normal curve with a deviation of a twelfth of the range,
and no heap at one value.
"""
_DEGREE = 3
_MOST_OUTPUTS = 1 << 12


@final
@dataclass(frozen=True, eq=False, repr=False)
class SmoothWave(Wave):
    """A wave whose shares are taken for smooth, as their study says: estimates of heaped ones are biased.

    Estimates are linear in the reports. So ranges, means and quantiles have the errors that follow from the
    law, without those of shares that are not smooth.
    """

    metric = False  # any two values are equally indistinguishable, and share the epsilon of a study

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.outputs > _MOST_OUTPUTS:
            raise InvalidParameter(
                f"a square wave has at most {_MOST_OUTPUTS:,} different reports here, got {self.outputs:,}",
                "outputs",
            )

    @cached_property
    def _decoder(self) -> Floats:
        """By least squares among splines, each output weighted by how often people send it who are spread
        evenly: then shares add up to 1.
        """
        splines = cut_splines(self.k, min(SPLINES, self.k))
        rows = splines.T @ self.law.matrix()
        weighted = rows / self.forward(np.full(self.k, 1 / self.k))
        return np.asarray(splines @ np.linalg.solve(weighted @ rows.T, weighted))

    @cached_property
    def contributions(self) -> tuple[float, float]:
        """The most that one report can add to the share of any range, or take from it, times their number."""
        below = np.concatenate([np.zeros((1, self.outputs)), np.cumsum(self._decoder, axis=0)])
        most = float(np.ptp(below, axis=0).max())
        return -most, most


@lru_cache(maxsize=8)
def cut_splines(k: int, many: int) -> Floats:
    """So many splines over a line of k cells, in columns: the share of each cell, by exact integrals.

    >>> shares = cut_splines(100, 20)
    >>> shares.shape, bool(np.allclose(shares.sum(axis=0), 1, rtol=0, atol=1e-12))
    ((100, 20), True)
    """
    from scipy.interpolate import BSpline

    degree = min(_DEGREE, many - 1)
    inner = np.linspace(0.0, 1.0, many - degree + 1)
    knots = np.concatenate([np.zeros(degree), inner, np.ones(degree)])
    below = BSpline(knots, np.eye(many), degree).antiderivative()(np.arange(k + 1) / k)
    shares = np.diff(below, axis=0)
    return np.asarray(shares / shares.sum(axis=0))


def smooth_wave(k: int, epsilon: float) -> SmoothWave:
    """The square wave of a range whose shares are smooth, by the bins that it has.

    >>> smooth_wave(256, 1.0)
    SmoothWave(256 bins, a window of 131: loses 1 at any distance)

    Reference: li2020
    """
    return SmoothWave(*best_window(whole_number("k, the number of values,", k, 2), epsilon))
