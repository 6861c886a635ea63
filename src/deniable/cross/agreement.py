"""Makes tables agree on the attributes that they share, by generalized least squares, errors kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from deniable.arrays import Floats

Names = tuple[str, ...]


@final
@dataclass(frozen=True, eq=False)
class View:
    """Cells of one table, an axis for each attribute, and their covariance, row by row."""

    names: Names
    cells: Floats
    covariance: Floats


def agree(views: Sequence[View]) -> list[View]:
    """The nearest tables, as their errors weigh, whose margins are the same wherever they share an attribute.

    Errors of different tables are independent. Each table comes with its own covariance; those between
    tables are not kept.
    """
    starts = np.cumsum([0, *(view.cells.size for view in views)])
    rows = _differences(views, starts)
    if not rows.size:
        return list(views)
    flat = np.concatenate([view.cells.ravel() for view in views])
    moved = np.zeros((starts[-1], len(rows)))
    for view, start, stop in zip(views, starts, starts[1:], strict=False):
        moved[start:stop] = view.covariance @ rows[:, start:stop].T
    weights = np.linalg.solve(rows @ moved, moved.T).T
    new = flat - weights @ (rows @ flat)
    found = []
    for view, start, stop in zip(views, starts, starts[1:], strict=False):
        covariance = view.covariance - weights[start:stop] @ moved[start:stop].T
        found.append(View(view.names, new[start:stop].reshape(view.cells.shape), covariance))
    return found


def _differences(views: Sequence[View], starts: Floats) -> Floats:
    """A row for each share of an attribute that two tables both tell: its difference in them."""
    holders: dict[str, list[int]] = {}
    for position, view in enumerate(views):
        for name in view.names:
            holders.setdefault(name, []).append(position)
    rows = []
    for name, held in holders.items():
        margins = {position: _margin(views[position], name) for position in held}
        for one, other in zip(held, held[1:], strict=False):
            # the last share is known from the others
            difference = np.zeros((len(margins[one]) - 1, int(starts[-1])))
            for sign, position in ((1.0, one), (-1.0, other)):
                difference[:, starts[position] : starts[position + 1]] = sign * margins[position][:-1]
            rows.append(difference)
    return np.concatenate(rows) if rows else np.zeros((0, int(starts[-1])))


def _margin(view: View, name: str) -> Floats:
    """Sums the cells of a table to the shares of one attribute."""
    axis = view.names.index(name)
    at = np.indices(view.cells.shape)[axis].ravel()
    return np.asarray(at == np.arange(view.cells.shape[axis])[:, None], dtype=np.float64)
