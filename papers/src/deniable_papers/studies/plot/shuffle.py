"""Draws what a crowd hides, never computes: a panel for each size of the crowd."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from deniable_papers.studies.plot.stated import Drawing, plot_stated
from deniable_papers.studies.stated import StatedPoint

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_EPSILON = "epsilon once shuffled, delta = 1e-6"
_LABELS = {"bounds": _EPSILON, "small": "delta", "two values": _EPSILON}


def plot_shuffle(rows: Sequence[StatedPoint]) -> Figure:
    """Each bound, for each mechanism and local loss; hollow gray diamonds are what is stated."""
    return plot_stated(rows, Drawing("What a crowd hides", _LABELS, (), _name_case, _name_panel))


def _name_case(row: StatedPoint) -> str:
    if row.figure == "bounds":
        return row.case
    return f"{row.case}, n = {row.people:,}, loss {row.epsilon:g}"


def _name_panel(row: StatedPoint) -> str:
    if row.figure == "bounds":
        return f"{row.people:,} people, local loss {row.epsilon:g}"
    return "small crowds, enumerated" if row.figure == "small" else "two values, enumerated"
