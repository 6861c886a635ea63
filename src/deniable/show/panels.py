"""Arranges the panels of a plot of shares: what each shows, its size in inches, and its column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from textwrap import wrap
from typing import NamedTuple

import numpy as np

from deniable.arrays import Floats, Integers
from deniable.domain.grid import Grid
from deniable.estimate import Estimate, MeanEstimate
from deniable.formatting import format_count

_COLUMNS = 3
_TALLER = 1.5  # how much taller a page with fewer columns may be
# inches: how tall and wide a map is, and a value's line in every panel
_MAP, MAP_WIDE, _LINE = 2.3, 2.2, 0.19
WIDE, RIGHT, BELOW = 2.9, 0.25, 0.62  # inches: a panel, what is right of it, and what is below
KEYS = 2
"""Marks and lines that are explained in one line above a panel."""
LETTER, TEXT = 0.068, 0.165  # inches: a letter of the usual width, and a line of text


class Bar(NamedTuple):
    """A value, or a group of neighboring ones, with its share, its interval and other shares by name."""

    label: str
    share: float
    low: float
    high: float
    likely: Mapping[str, float] = {}
    noisy: bool = False
    """Whether it is too noisy to read: then only its interval is drawn."""


class Panel(NamedTuple):
    """An attribute, and what is drawn of it."""

    name: str
    estimate: Estimate | MeanEstimate | None
    """None where it is combined from levels."""
    bars: Sequence[Bar] = ()
    """Those that there is room for, in order."""
    note: str = ""
    """The whole that they are a part of."""
    grid: Grid | None = None
    """Whose cells the values are."""
    shares: Floats | None = None
    """What is drawn on a map, cell by cell."""
    has_intervals: bool = True
    """Whether what is drawn has an interval: a map of what is most likely in each cell has none."""
    method: str = "unbiased"
    """Which shares are drawn."""
    edges: Floats | None = None
    """Where the bars of a range begin and end."""
    side_by_side: bool = False
    """Whether these are all bins of a long range, drawn as steps."""
    positions: Mapping[str, float] = {}
    """Numbers on that line that are marked, by name: its mean and quantiles."""
    blocks: Sequence[tuple[Integers, Bar]] = ()
    """The groups of neighboring cells of a map: which cells, and what is drawn."""
    ends: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """The mean of a number and the ends of its interval."""
    noisy: bool = False
    """Whether that mean is too noisy to read: then only its interval is drawn."""
    counted: str = ""
    """What was counted, in words; else the number of reports."""

    @property
    def is_tall(self) -> bool:
        """Whether it has an axis of its own at the left, in place of a line per value."""
        return self.grid is not None or self.side_by_side

    @property
    def title(self) -> list[str]:
        """In lines that the panel has room for."""
        reports = "" if self.estimate is None else format_count(self.estimate.n, "report")
        text = f"{self.name}: {self.counted or reports}{self.note}"
        return wrap(text, round((WIDE + RIGHT) / LETTER)) or [""]

    @property
    def left(self) -> float:
        """Inches that the labels take."""
        return 0.75 if self.is_tall else 0.2 + LETTER * max((len(bar.label) for bar in self.bars), default=4)

    @property
    def above(self) -> float:
        return 0.12 + TEXT * len(self.title) + self.keyed

    @property
    def keyed(self) -> float:
        """Inches that it takes to explain the marks on bars and the numbers on the line."""
        keys = len(self.positions) + (len(self.bars[0].likely) if self.bars else 0)
        return TEXT * -(-keys // KEYS)

    @property
    def body(self) -> float:
        return _MAP if self.is_tall else _LINE * max(1, len(self.bars))

    @property
    def height(self) -> float:
        return self.above + self.body + BELOW


def what_is_shown(panels: Sequence[Panel], level: float) -> str:
    """Which shares are shown, and whether with intervals."""
    known = [panel.has_intervals for panel in panels]
    if not any(known):
        return "most likely shares, without intervals"
    kinds = list(dict.fromkeys(panel.method for panel in panels if panel.bars or panel.grid))
    kind = kinds[0] if len(kinds) == 1 else "possible"
    which = f"{'nearest possible' if kind == 'projected' else kind} shares" if kinds else "means"
    noisy = any(panel.noisy for panel in panels)
    noisy |= any(panel.shares is not None and np.isnan(panel.shares).any() for panel in panels)
    noisy |= any(bar.noisy for panel in panels for bar in (*panel.bars, *(one for _, one in panel.blocks)))
    return (
        f"{which} with {100 * level:g} % intervals"
        + ("" if all(known) else "; maps without intervals")
        + ("; gray where too noisy to read" if noisy else "")
    )


def in_columns(panels: list[Panel]) -> list[list[Panel]]:
    """In order, down one column and then the next, so that the tallest is as short as can be.

    Of fewer columns, too: they are taken if less of the page is empty, and if it is not much taller.
    """
    n, best = len(panels), []
    for count in range(min(n, _COLUMNS), 0, -1):
        ways = [(0, *cuts, n) for cuts in combinations(range(1, n), count - 1)]
        found = [[panels[start:end] for start, end in pairwise(way)] for way in ways]
        best.append(min(found, key=lambda columns: max(map(height_of, columns))))
    shortest = max(map(height_of, best[0]))
    return min(
        (columns for columns in best if max(map(height_of, columns)) <= _TALLER * shortest), key=_empty
    )


def _empty(columns: list[list[Panel]]) -> float:
    """How much of the page has nothing on it."""
    tall, heights = max(map(height_of, columns)), [height_of(column) for column in columns]
    wide = [max(panel.left for panel in column) + WIDE + RIGHT for column in columns]
    used = sum(height * width for height, width in zip(heights, wide, strict=True))
    return 1 - used / (tall * sum(wide))


def height_of(column: list[Panel]) -> float:
    """Inches that the panels of a column take."""
    return sum(panel.height for panel in column)
