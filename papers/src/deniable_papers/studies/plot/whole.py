"""Draws what whole reports gain, never computes: a panel per dataset, a curve per method."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from deniable.formatting import format_count
from deniable_papers.studies.plot.lines import Lines, plot_lines
from deniable_papers.studies.whole import METHODS, WholePoint

_ROOM = 2.0  # points beyond the outermost bars


def _find_ends(rows: Sequence[WholePoint]) -> tuple[float, float]:
    bars = [(100 * (row.gain or 0.0), 200 * (row.gain_stderr or 0.0)) for row in rows]
    low = min(0.0, *(middle - reach for middle, reach in bars)) - _ROOM
    return low, max(0.0, *(middle + reach for middle, reach in bars)) + _ROOM


def _write_title(rows: Sequence[WholePoint]) -> str:
    how = f"{format_count(rows[0].runs, 'run')}, seed {rows[0].seed}, bars of two standard errors"
    return f"Most likely shares: whole reports against tallies\n{how}"


plot_gains = partial(
    plot_lines,
    Lines(
        title=_write_title,
        panel=lambda row: f"{row.dataset}: n = {row.n:,} people, d = {row.d}",
        line=lambda row: row.method,
        names=METHODS,
        x=lambda row: row.epsilon,
        y=lambda row: None if row.gain is None else 100 * row.gain,
        reach=lambda row: 200 * (row.gain_stderr or 0.0),
        labels=("epsilon per record", "squared error taken away (%)"),
        clipped="linear",
        ends=_find_ends,
        finish=lambda axes, _: axes.axhline(0.0, color="gray", linewidth=0.8),
        layout={"size": (4.4, 3.5), "legend_columns": 2},
    ),
)
"""Draws the part of the composite error that whole reports take away."""
