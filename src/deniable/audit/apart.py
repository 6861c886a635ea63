"""How far apart values with distances are, and which of them have none between them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from deniable.metric import Geometric, MetricMechanism, PlanarGeometric, ProductGeometric, Tabled

Steps = Sequence[tuple[int, int]]

_ROUNDED_UP = 1 + 1e-15  # more than a root in floating point errs by


def apart(mechanism: MetricMechanism, one: int, other: int) -> int | float:
    """In the unit that its losses go by; an answer at random (-1) is as far away as any value is.

    Of other mechanisms than these it is infinite if the values differ: what they lose by distance is their
    worst case.
    """
    if isinstance(mechanism, Geometric):
        return _along(one, other, mechanism.k)
    if isinstance(mechanism, Tabled):
        return float(mechanism.distances[one, other])
    if not isinstance(mechanism, PlanarGeometric | ProductGeometric):
        return 0 if one == other else math.inf
    rows, columns = _sides(mechanism)
    (row, column), (down, across) = ((-1, -1) if code < 0 else divmod(code, columns) for code in (one, other))
    high, wide = mechanism.steps
    legs = _along(row, down, rows) * high, _along(column, across, columns) * wide
    return _ROUNDED_UP * (math.hypot(*legs) if isinstance(mechanism, PlanarGeometric) else sum(legs))


def neighbors(mechanism: MetricMechanism) -> Steps:
    """All values that have none between them; by a table of distances, each value and the nearest one."""
    if isinstance(mechanism, Tabled):
        far = np.where(np.eye(mechanism.k, dtype=bool), np.inf, mechanism.distances)
        return sorted(
            {(min(one, other), max(one, other)) for one, other in enumerate(far.argmin(axis=1).tolist())}
        )
    grid = isinstance(mechanism, PlanarGeometric | ProductGeometric)
    return across_and_down(*_sides(mechanism)) if grid else list(pairwise(range(mechanism.k)))


def some_neighbors(mechanism: MetricMechanism) -> Steps:
    """A few of them: at both ends and in the middle; of a grid in a corner and in the middle, across and
    down.
    """
    if isinstance(mechanism, Tabled):
        every = neighbors(mechanism)
        return [every[place] for place in sorted({0, (len(every) - 1) // 2, len(every) - 1})]
    if not isinstance(mechanism, PlanarGeometric | ProductGeometric):
        return sorted(
            {(low, low + 1) for low in (0, (mechanism.k - 1) // 2, mechanism.k - 2) if low + 1 < mechanism.k}
        )
    rows, columns = _sides(mechanism)
    middle = (rows - 1) // 2 * columns + (columns - 1) // 2
    return sorted({(cell, cell + step) for cell in (0, middle) for step in (1, columns)})


def across_and_down(rows: int, columns: int) -> Steps:
    """The cells of a grid that have a side in common."""
    across = [(cell, cell + 1) for cell in range(rows * columns) if (cell + 1) % columns]
    return across + [(cell, cell + columns) for cell in range((rows - 1) * columns)]


def _sides(mechanism: MetricMechanism) -> tuple[int, int]:
    if isinstance(mechanism, ProductGeometric):
        return mechanism.down.k, mechanism.across.k
    assert isinstance(mechanism, PlanarGeometric)
    return mechanism.rows, mechanism.columns


def _along(one: int, other: int, size: int) -> int:
    if one == other:
        return 0
    if min(one, other) >= 0:
        return abs(one - other)
    known = max(one, other)
    return max(known, size - 1 - known)
