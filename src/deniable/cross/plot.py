"""Draws a table of two answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable.plot.charts import Bars, plot_bars

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from deniable.cross.table import CrossTable

_MOST_SIDE_BY_SIDE = 5


def plot_table(table: CrossTable) -> Figure:
    """The share of each column in every row; of two columns, the first says all."""
    columns, of, by = table.columns, table.of.name, table.by.name
    about = f"share of the people in each row, with {100 * table.level:g} % intervals"
    shown = range(1 if len(columns) == 2 else len(columns))
    title = f"{of} by {by} ({table.n:,} reports)"
    shares, low, high = (one.clip(0.0, 1.0) for one in (table.drawn, table.low, table.high))
    if len(shown) <= _MOST_SIDE_BY_SIDE:
        if len(shown) == 1:
            title = f"{of}: {columns[0]}, by {title.removeprefix(f'{of} by ')}"
        bars = [Bars(shares[:, b], columns[b], low[:, b], high[:, b]) for b in shown]
        return plot_bars([f"{row}" for row in table.rows], bars, title, about)
    labels = [f"{row}: {column}" for row in table.rows for column in columns]
    return plot_bars(labels, [Bars(shares.ravel(), "", low.ravel(), high.ravel())], title, about)
