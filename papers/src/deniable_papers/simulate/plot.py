"""Draws results, never computes them: error and attack against epsilon, estimates against the truth."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from deniable.estimate import Estimate
from deniable.plot.charts import panels
from deniable.plot.figure import ESTIMATE, INK, TRUTH, format_tick, require_matplotlib, style
from deniable_papers.curves import Curve, draw_curves, drawable, find_ends, grouped, value_axis
from deniable_papers.looks import looks
from deniable_papers.simulate.measure import SweepCell, highest_success

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_GRAY = "#8c8c8c"
_MOST_LABELS = 30
_EPSILON = "privacy loss epsilon (nats)"


def error_plot(rows: Iterable[SweepCell]) -> Figure:
    """Mean squared error against epsilon: measured points with two standard errors, and the law's line."""
    done = _select_measured(rows)
    look_of = looks(row.protocol for row in done)

    def draw(axes: Axes, members: Sequence[SweepCell]) -> None:
        curves = []
        for name, group in _lines(members, lambda row: row.expected_mse):
            x = [row.epsilon for row in group]
            errors = [row.metrics["mse"] for row in group]
            reach = [2 * (error.stderr or 0.0) for error in errors]
            axes.plot(
                x, [row.expected_mse or np.nan for row in group], color=look_of[name]["color"], linewidth=1.2
            )
            look = look_of[name] | {"linestyle": "none"}
            curves.append(Curve(x, [error.mean for error in errors], reach, name, look))
        known = [row.expected_mse for row in members if row.expected_mse]
        draw_curves(axes, curves, find_ends([*known, *(y for curve in curves for y in curve.y)]))
        axes.set_ylabel("mean squared error of a share")
        axes.set_xlabel(_EPSILON)

    first = done[0]
    title = "Error against privacy loss: points measured, lines by the law"
    measured = f"{'' if first.project is None else f'after {first.project}, '}population {first.population}"
    panels = grouped(done, lambda row: f"k = {row.k:,} values, n = {row.n:,} people")
    return _figure(panels, draw, f"{title}\n{measured}, {first.repeats:,} repeats, seed {first.seed}")


def attack_plot(rows: Iterable[SweepCell]) -> Figure:
    """How often the best guess from one report is right, between blind guessing and the budget's limit."""
    from matplotlib.ticker import LogLocator, NullLocator

    done = _select_measured(rows)
    look_of = looks(row.protocol for row in done)

    def draw(axes: Axes, members: Sequence[SweepCell]) -> None:
        for name, group in _lines(members, lambda row: row.success):
            axes.plot(
                [row.epsilon for row in group],
                [row.success or np.nan for row in group],
                label=name,
                **look_of[name],
            )
        k = members[0].k
        low, high = axes.get_xlim()
        x = np.linspace(max(low, 0.0), high, 100).tolist()
        axes.plot(x, highest_success(k, x), color=INK, linewidth=0.9, linestyle="--", label="upper limit")
        axes.plot(x, [1 / k] * len(x), color=_GRAY, linewidth=1.2, linestyle=":", label="blind, 1 / k")
        axes.set_xlim(x[0], x[-1])
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter(format_tick)
        axes.yaxis.set_minor_locator(NullLocator())
        axes.set_ylabel("best guess is right")
        axes.set_xlabel(_EPSILON)

    title = "Attack against privacy loss\none report; all values equally likely beforehand"
    return _figure(grouped(done, lambda row: f"k = {row.k:,} values"), draw, title)


def histogram_plot(
    estimate: Estimate,
    truth: npt.ArrayLike,
    labels: Sequence[str] | None = None,
    note: str = "",
    level: float = 0.95,
) -> Figure:
    """The truth as bars, and the estimate of each value as a point with its interval."""
    require_matplotlib()
    from deniable.plot.picture import Picture

    low, high = estimate.interval(level)
    middle = estimate.frequencies
    positions = np.arange(estimate.k)
    with style():
        figure = Picture(figsize=(5.2, 3.6), layout="constrained")
        axes = figure.subplots()
        axes.bar(positions, np.asarray(truth), width=0.8, color=TRUTH, alpha=0.6, label="truth")
        reach = np.stack([middle - low, high - middle])
        size = 3.5 if estimate.k <= 40 else 1.5
        look: dict[str, Any] = {
            "color": ESTIMATE,
            "marker": "o",
            "markersize": size,
            "linestyle": "none",
            "capsize": size - 1,
        }
        axes.errorbar(
            positions,
            middle,
            reach,
            label=f"estimate, {100 * level:g} % interval",
            elinewidth=size / 3,
            **look,
        )
        value_axis(axes, estimate.k, labels, _MOST_LABELS)
        axes.yaxis.set_major_formatter(format_tick)
        axes.set_ylabel("share of people")
        axes.set_xlabel("" if labels else "value")
        axes.set_title(
            f"Estimates against the truth\nn = {estimate.n:,} people, k = {estimate.k:,} values{note}",
            loc="left",
        )
        axes.legend(loc="best")
    return figure


def _figure(
    groups: dict[str, list[SweepCell]], draw: Callable[[Axes, Sequence[SweepCell]], None], title: str
) -> Figure:
    return panels(groups, draw, title, what="choices of k and n", legend_columns=5)


def _select_measured(rows: Iterable[SweepCell]) -> Sequence[SweepCell]:
    return drawable(sorted((row for row in rows if row.refused is None), key=lambda row: row.epsilon))


def _lines(
    rows: Iterable[SweepCell], height: Callable[[SweepCell], float | None]
) -> list[tuple[str, list[SweepCell]]]:
    """One line per protocol, from the highest right end down, as the legend lists them."""
    return sorted(
        grouped(rows, lambda row: row.protocol).items(), key=lambda line: -(height(line[1][-1]) or 0.0)
    )
