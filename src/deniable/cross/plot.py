"""Draws a table of two answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from deniable.formatting import format_count
from deniable.plot.charts import Bars, plot_bars
from deniable.plot.figure import format_points

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from deniable.cross.change import TableChange
    from deniable.cross.table import CrossTable

_MOST_SIDE_BY_SIDE = 5


def plot_table(table: CrossTable) -> Figure:
    """The share of each column in every row; of two columns, the first says all."""
    columns, of, by = table.columns, table.of.name, table.by.name
    about = f"share of the people in each row, with {100 * table.level:g} % intervals"
    indices = range(1 if len(columns) == 2 else len(columns))
    title = f"{of} by {by} ({format_count(table.n, 'report')})"
    shares, low, high = (array.clip(0.0, 1.0) for array in (table.shown, table.low, table.high))
    if len(indices) <= _MOST_SIDE_BY_SIDE:
        if len(indices) == 1:
            title = f"{of}: {columns[0]}, by {title.removeprefix(f'{of} by ')}"
        bars = [Bars(shares[:, b], columns[b], low[:, b], high[:, b]) for b in indices]
        return plot_bars([f"{row}" for row in table.rows], bars, title, about)
    labels = [f"{row}: {column}" for row in table.rows for column in columns]
    return plot_bars(labels, [Bars(shares.ravel(), "", low.ravel(), high.ravel())], title, about)


def plot_change(change: TableChange) -> Figure:
    """The change of each column's share in every row; of two columns, the first says all."""
    of, by, columns = change.later.of.name, change.later.by.name, change.columns
    indices = range(1 if len(columns) == 2 else len(columns))
    title = f"{of}{f': {columns[0]}' if len(indices) == 1 else ''}, by {by}: change from round to round"
    about = f"change of shares of each row's people, in points, with {100 * change.level:g} % intervals"
    values = np.nan_to_num(change.difference)
    noisy = np.isnan(change.difference)
    if len(indices) <= _MOST_SIDE_BY_SIDE:
        bars = [
            Bars(values[:, b], columns[b], change.low[:, b], change.high[:, b], noisy=noisy[:, b].tolist())
            for b in indices
        ]
        return plot_bars(change.rows, bars, title, about, format_points)
    labels = [f"{row}: {column}" for row in change.rows for column in columns]
    ends = (change.low.ravel(), change.high.ravel())
    bars = [Bars(values.ravel(), "", *ends, noisy=noisy.ravel().tolist())]
    return plot_bars(labels, bars, title, about, format_points)
