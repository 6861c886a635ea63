"""Divides epsilon among attributes that everybody reports, by what each gains from its part.

A choice is judged by the sum of weighted logarithms of errors. At the least sum, a little more budget gains
as much in each attribute. An error falls smoothly with its budget, so that a few budgets show all of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from deniable.arrays import Floats

_TRIED = 5  # budgets whose errors are computed, for each attribute
_LEAST = 4  # no attribute has less than its equal part over this
_FINE = 1 << 9  # budgets that are compared, between those that were tried
_STEPS = 60  # of halving the price of a budget
_GRAIN = 1 << 30  # parts of a nat that budgets are whole numbers of, so that their sum is exact


def divide_epsilon(
    epsilon: float, weights: Sequence[float], error: Callable[[int, float], float]
) -> tuple[float, ...]:
    """Parts of epsilon, one for each attribute, with nearly the least sum of weighted logarithms of errors.

    `error(j, budget)` is the variance of attribute j. The parts add up to epsilon at most, exactly.

    >>> [round(part, 2) for part in divide_epsilon(1.0, [3.0, 1.0], lambda _, budget: 1 / budget**2)]
    [0.75, 0.25]
    """
    d = len(weights)
    fine = np.geomspace(epsilon / (_LEAST * d), epsilon, _FINE)
    tried = np.geomspace(fine[0], epsilon, _TRIED)
    logs = [
        weight * np.log([error(j, float(budget)) for budget in tried]) for j, weight in enumerate(weights)
    ]
    costs = np.stack([np.interp(np.log(fine), np.log(tried), curve) for curve in logs])
    parts = _spend(epsilon, fine, costs)
    return _round_down(parts * (epsilon / parts.sum()), epsilon)


def _spend(epsilon: float, budgets: Floats, costs: Floats) -> Floats:
    """What each attribute takes at the lowest price at which all of them together do not take too much."""
    low, high = -40.0, 40.0  # logarithms of the price of a nat
    for _ in range(_STEPS):
        middle = (low + high) / 2
        taken = budgets[np.argmin(costs + math.exp(middle) * budgets, axis=1)]
        low, high = (low, middle) if taken.sum() <= epsilon else (middle, high)
    return np.asarray(budgets[np.argmin(costs + math.exp(high) * budgets, axis=1)])


def _round_down(parts: Floats, epsilon: float) -> tuple[float, ...]:
    """Parts that are at most these, and add up to epsilon at most."""
    grains = [math.floor(part * _GRAIN) for part in parts.tolist()]
    while Fraction(sum(grains), _GRAIN) > Fraction(epsilon):
        grains[grains.index(max(grains))] -= 1
    return tuple(grain / _GRAIN for grain in grains)
