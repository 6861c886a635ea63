"""Finds the smallest value of a function without a formula: a grid sees every valley, a descent follows."""

from __future__ import annotations

import math
from collections.abc import Callable

_GOLDEN = (math.sqrt(5) - 1) / 2
_GRID = 96


def minimum(score: Callable[[float], float], low: float, high: float) -> float:
    """Where a function of one real number is smallest, to about eight digits."""
    points = [low + (high - low) * i / _GRID for i in range(_GRID + 1)]
    scores = [score(x) for x in points]
    best = min(range(len(points)), key=scores.__getitem__)
    left, right = points[max(best - 1, 0)], points[min(best + 1, _GRID)]
    seen = [(scores[best], points[best])]
    while right - left > 1e-8 * max(1.0, abs(left)):
        left_point, right_point = right - _GOLDEN * (right - left), left + _GOLDEN * (right - left)
        at_left, at_right = score(left_point), score(right_point)
        seen += [(at_left, left_point), (at_right, right_point)]
        left, right = (left, right_point) if at_left <= at_right else (left_point, right)
    return min(seen)[1]


def least(score: Callable[[int], float], low: int, high: int) -> int:
    """The integer where a function is smallest: among all if they are few, else by ever finer grids."""
    while high - low > 2 * _GRID:
        ratio = math.log(high / low)
        points = sorted(
            {min(high, max(low, round(low * math.exp(ratio * i / _GRID)))) for i in range(_GRID + 1)}
        )
        best = min(range(len(points)), key=lambda i: score(points[i]))
        low, high = points[max(best - 1, 0)], points[min(best + 1, len(points) - 1)]
    return min(range(low, high + 1), key=score)
