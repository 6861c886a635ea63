"""Draws the rows of the reproductions, never computes: error against epsilon, one panel per dataset."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from deniable.errors import InvalidParameter
from deniable.plot import _COLORS, _MARKERS, _STYLE
from deniable.studies import allomfree, rsfd

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_AT_RECORD = " at record"
_AnyRow = TypeVar("_AnyRow", rsfd.Row, allomfree.Row)


class _Point(Protocol):
    """What the rows of both studies have."""

    @property
    def method(self) -> str: ...
    @property
    def mse_avg(self) -> float | None: ...
    @property
    def mse_avg_stderr(self) -> float | None: ...


def rsfd_plot(rows: Sequence[rsfd.Row]) -> Figure:
    """As published (solid) and at equal true loss (dashed); above, what RS+FD truly loses per record as published."""
    done = _drawable([row for row in rows if row.refused is None])
    looks = _looks([name for name in rsfd.METHODS if not name.endswith(_AT_RECORD)])
    panels: dict[str, list[rsfd.Row]] = {}
    for row in done:
        panels.setdefault(row.dataset, []).append(row)

    def draw(axes: Axes, name: str) -> None:
        members = panels[name]
        for method in dict.fromkeys(row.method for row in members):
            look = looks[method.removesuffix(_AT_RECORD)]
            if method.endswith(_AT_RECORD):
                look = look | {"linestyle": "--", "markerfacecolor": "white"}
            line = sorted((row for row in members if row.method == method), key=lambda row: row.epsilon)
            _line(axes, [row.epsilon for row in line], line, look)
        epsilons = sorted({row.epsilon for row in members})
        axes.set_xticks(epsilons, [_as_logarithm(epsilon) for epsilon in epsilons])
        axes.set_xlabel("epsilon that is claimed")
        true = {row.epsilon: row.loss_record for row in members if _published_fake(row.method)}
        if true:
            above = axes.secondary_xaxis("top")
            above.set_xticks(list(true), [f"{loss:.2f}" for loss in true.values()])
            above.set_xlabel("true loss of RS+FD per record")
        first = members[0]
        axes.set_title(f"{name}: n = {first.n:,} people, d = {first.d}", loc="left")

    title = "RS+FD, SMP and SPL, solid as published;\ndashed (at record): a record truly loses no more than epsilon"
    return _figure(list(panels), draw, f"{title}\n{_how(done[0].runs, done[0].seed)}", 3)


def allomfree_plot(rows: Sequence[allomfree.Row]) -> Figure:
    """One collection of each dataset, for each part of the budget that one report may spend."""
    done = _drawable([row for row in rows if row.refused is None])
    looks = _looks(list(allomfree.METHODS))
    panels: dict[str, list[allomfree.Row]] = {}
    for row in done:
        part = row.epsilon_first / row.epsilon_forever
        panels.setdefault(f"{row.dataset}: n = {row.n:,}, d = {row.d}, one report {part:.2g} epsilon", []).append(row)

    def draw(axes: Axes, name: str) -> None:
        members = panels[name]
        for method in dict.fromkeys(row.method for row in members):
            line = sorted((row for row in members if row.method == method), key=lambda row: row.epsilon_forever)
            _line(axes, [row.epsilon_forever for row in line], line, looks[method])
        axes.set_xlabel("epsilon of all reports of one value")
        axes.set_title(name, loc="left")

    title = "Two rounds on one attribute per person:\nthe error of one collection"
    return _figure(list(panels), draw, f"{title}\n{_how(done[0].runs, done[0].seed)}", 2)


def _how(runs: int, seed: int) -> str:
    return f"estimates clipped at 0 and rescaled, {runs:,} runs, seed {seed}"


def _published_fake(method: str) -> bool:
    return method.startswith("RS+FD") and not method.endswith(_AT_RECORD)


def _line(axes: Axes, x: Sequence[float], points: Sequence[_Point], look: dict[str, Any]) -> None:
    reach = [2 * (point.mse_avg_stderr or 0.0) for point in points]
    heights = [math.nan if point.mse_avg is None else point.mse_avg for point in points]
    axes.errorbar(x, heights, reach, label=points[0].method, capsize=1.5, **look)
    axes.set_yscale("log")
    axes.set_ylabel("MSE_avg")


def _as_logarithm(epsilon: float) -> str:
    whole = round(math.exp(epsilon))
    return f"ln {whole}" if math.isclose(math.log(max(whole, 1)), epsilon, rel_tol=1e-3) else f"{epsilon:.3g}"


def _looks(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    return {
        name: {"color": color, "marker": marker, "markersize": 4.0, "linewidth": 1.1, "elinewidth": 0.8}
        for name, color, marker in zip(names, _COLORS, _MARKERS, strict=False)
    }


def _drawable(rows: Sequence[_AnyRow]) -> Sequence[_AnyRow]:
    if not rows:
        raise InvalidParameter("there is nothing to plot: every row was refused")
    return rows


def _figure(panels: Sequence[str], draw: Callable[[Axes, str], None], title: str, most: int) -> Figure:
    """One panel per name, side by side and below, with one legend for all."""
    import matplotlib
    from matplotlib.figure import Figure

    columns = min(len(panels), most)
    lines = -(-len(panels) // columns)
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(0.8 + 4.4 * columns, 1.6 + 3.4 * lines), layout="constrained")
        grid = figure.subplots(lines, columns, squeeze=False).flatten()
        for axes, name in zip(grid, panels, strict=False):
            draw(axes, name)
        for axes in grid[len(panels) :]:
            axes.set_axis_off()
        figure.suptitle(title, x=0.01, ha="left", fontsize=10)
        named = {label: handle for axes in grid for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
        figure.legend(named.values(), named.keys(), loc="outside lower center", ncols=2 * columns)
    return figure
