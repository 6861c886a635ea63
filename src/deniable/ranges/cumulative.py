"""Holds the cumulative shares of a range of values, with the intervals of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

import numpy as np

from deniable.arrays import Floats
from deniable.formatting import fill_paragraph, format_count
from deniable.frames import Backend, frame_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DRAWN = 1000  # points of a curve


@final
@dataclass(frozen=True, eq=False)
class CumulativeShares:
    """The share of people below each edge: for display, as a curve that never falls.

    The curve is biased, as everything that was made to look like a distribution is. The ends are those of
    the unbiased shares, so that the curve may lie outside of a few of them.
    """

    n: int
    edges: Floats = field(repr=False)
    shares: Floats = field(repr=False)
    """The curve, from 0 at the first edge to 1 at the last."""
    unbiased: Floats = field(repr=False)
    """What the reports say of each edge, by least squares."""
    low: Floats = field(repr=False)
    high: Floats = field(repr=False)
    level: float = 0.95
    """How often the ends of one edge hold."""
    name: str = ""
    """The question that it is of."""

    def frame(self, backend: Backend | None = None) -> Any:
        """A dataframe of the library you already have: pandas, polars or pyarrow."""
        columns = {
            "below": self.edges,
            "share": self.shares,
            "unbiased": self.unbiased,
            "low": self.low,
            "high": self.high,
        }
        return frame_of(columns, backend)

    def plot(self) -> Figure:
        """A figure of matplotlib: the curve, and the interval of each edge around it."""
        from deniable.plot.figure import ESTIMATE, TRUTH, format_tick, style
        from deniable.plot.picture import Picture

        indices = np.unique(np.linspace(0, self.edges.size - 1, _DRAWN).astype(np.int64))
        across = self.edges[indices]
        # a share below 0 is below the truth: its interval reaches as far as it would from 0
        beyond = self.unbiased - np.clip(self.unbiased, 0, 1)
        low, high = self.low - np.maximum(beyond, 0), self.high - np.minimum(beyond, 0)
        ends = np.clip(low[indices], 0, 1), np.clip(high[indices], 0, 1)
        whose = f"{self.name}, " if self.name else ""
        reports = format_count(self.n, "report")
        title = f"{whose}{reports}: cumulative shares with {100 * self.level:g} % intervals"
        with style():
            figure = Picture(figsize=(5.4, 3.2), layout="constrained")
            axes = figure.subplots()
            axes.fill_between(across, *ends, color=TRUTH, alpha=0.35, linewidth=0, label="interval of each")
            axes.plot(across, self.shares[indices], color=ESTIMATE, label="people below")
            axes.set_xlim(float(across[0]), float(across[-1]))
            axes.set_ylim(0.0, 1.0)
            axes.yaxis.set_major_formatter(format_tick)
            axes.set_title(fill_paragraph(title, 64), loc="left", fontsize=10)
            axes.set_xlabel(self.name or "value")
            axes.set_ylabel("share of people below")
            axes.legend(loc="lower right")
        return figure

    def __str__(self) -> str:
        return f"Cumulative shares at {self.edges.size:,} edges, {format_count(self.n, 'report')}"
