"""Draws results, never computes them: error against epsilon, estimates against the truth, attack against epsilon.

Figures are values: nothing here touches matplotlib's global state, so that drawing in a server or a test is safe.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

import numpy as np
import numpy.typing as npt

from deniable.errors import DeniableError, InvalidParameter
from deniable.estimate import Estimate
from deniable.simulate import Row, highest_success

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = {".png": "png", ".svg": "svg", ".pdf": "pdf"}
INK = "#24292f"
"""The color of text and axes, which a page replaces by its own."""

_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c8c8c")  # Okabe and Ito's, told apart by all
_MARKERS = "os^Dv*Xp"
_GRAY = "#8c8c8c"
_MOST_PANELS = 12
_STYLE: dict[Any, Any] = {
    "font.size": 9.0,
    "axes.titlesize": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.alpha": 0.15,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "svg.hashsalt": "deniable",
} | dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color", "grid.color"), INK)


def require_matplotlib() -> None:
    """Refuse in one line where the library that draws is missing, before any long work."""
    if find_spec("matplotlib") is None:
        raise DeniableError("plots need matplotlib; install it with: pip install 'deniable[plot]'")


def checked_path(path: Path) -> Path:
    """A file whose ending says what to write."""
    if path.suffix.lower() not in FORMATS:
        raise InvalidParameter(f"a plot is written to a file ending in {', '.join(FORMATS)}; got {path.name!r}")
    return path


def save(figure: Figure, path: Path) -> Path:
    """Write a figure as png, svg or pdf, by the path's ending; equal figures give equal files."""
    import matplotlib

    kind = FORMATS[checked_path(path).suffix.lower()]
    path.parent.mkdir(parents=True, exist_ok=True)
    dates: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with matplotlib.rc_context(_STYLE):
        figure.savefig(path, format=kind, dpi=160, metadata=dates.get(kind), facecolor="white")
    return path


def inline_svg(figure: Figure, name: str, description: str) -> str:
    """A figure as an element of a page: in the page's own ink, described for who cannot see it, with ids under `name`."""
    import matplotlib

    buffer = io.StringIO()
    with matplotlib.rc_context(_STYLE):
        figure.savefig(buffer, format="svg", transparent=True, metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    drawing = buffer.getvalue()
    drawing = drawing[drawing.index("<svg") :].replace(INK, "currentColor")
    for before in (' id="', 'href="#', "url(#"):
        drawing = drawing.replace(before, f"{before}{name}-")
    label = escape(description, {'"': "&quot;"})
    return drawing.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)


def error_plot(rows: Iterable[Row]) -> Figure:
    """Mean squared error against epsilon: measured points with two standard errors, and the law's line through them."""
    done = _measured(rows)
    looks = _looks(done)

    def draw(axes: Axes, members: Sequence[Row]) -> None:
        for name, group in _lines(members, lambda row: row.expected_mse):
            x = [row.epsilon for row in group]
            errors = [row.metrics["mse"] for row in group]
            reach = [2 * (error.stderr or 0.0) for error in errors]
            axes.plot(x, [row.expected_mse or np.nan for row in group], color=looks[name]["color"], linewidth=1.2)
            looks_like = looks[name] | {"linestyle": "none", "capsize": 2}
            axes.errorbar(x, [error.mean for error in errors], reach, label=name, **looks_like)
        axes.set_yscale("log")
        axes.set_ylabel("mean squared error of a share")

    first = done[0]
    title = "Error against privacy loss: points measured, lines by the law"
    measured = f"{'' if first.project is None else f'after {first.project}, '}population {first.population}"
    panels = _grouped(done, lambda row: f"k = {row.k:,} values, n = {row.n:,} people")
    return _figure(panels, draw, f"{title}\n{measured}, {first.repeats:,} repeats, seed {first.seed}")


def attack_plot(rows: Iterable[Row]) -> Figure:
    """How often the best guess from one report is right, between blind guessing and what the budget allows at most."""
    from matplotlib.ticker import LogLocator, NullLocator

    done = _measured(rows)
    looks = _looks(done)

    def draw(axes: Axes, members: Sequence[Row]) -> None:
        for name, group in _lines(members, lambda row: row.success):
            axes.plot([row.epsilon for row in group], [row.success or np.nan for row in group], label=name, **looks[name])
        k = members[0].k
        low, high = axes.get_xlim()
        x = np.linspace(max(low, 0.0), high, 100).tolist()
        axes.plot(x, highest_success(k, x), color=INK, linewidth=0.9, linestyle="--", label="upper limit")
        axes.plot(x, [1 / k] * len(x), color=_GRAY, linewidth=1.2, linestyle=":", label="blind, 1 / k")
        axes.set_xlim(x[0], x[-1])
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter(_percent)
        axes.yaxis.set_minor_locator(NullLocator())
        axes.set_ylabel("best guess is right")

    title = "Attack against privacy loss\none report; all values equally likely beforehand"
    return _figure(_grouped(done, lambda row: f"k = {row.k:,} values"), draw, title)


def histogram_plot(
    estimate: Estimate, truth: npt.ArrayLike, labels: Sequence[str] | None = None, note: str = "", level: float = 0.95
) -> Figure:
    """The truth as bars, and the estimate of each value as a point with its interval."""
    import matplotlib
    from matplotlib.figure import Figure

    low, high = estimate.interval(level)
    middle = estimate.frequencies
    places = np.arange(estimate.k)
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(5.2, 3.6), layout="constrained")
        axes = figure.subplots()
        axes.bar(places, np.asarray(truth), width=0.8, color="#56b4e9", alpha=0.6, label="truth")
        reach = np.stack([middle - low, high - middle])
        size = 3.5 if estimate.k <= 40 else 1.5
        look: dict[str, Any] = {"color": "#d55e00", "marker": "o", "markersize": size, "linestyle": "none", "capsize": size - 1}
        axes.errorbar(places, middle, reach, label=f"estimate, {100 * level:g} % interval", elinewidth=size / 3, **look)
        axes.axhline(0.0, color=INK, linewidth=0.8)
        if labels is not None and estimate.k <= 30:
            axes.set_xticks(places, labels, rotation=35, ha="right", rotation_mode="anchor")
        axes.grid(axis="x", visible=False)
        axes.yaxis.set_major_formatter(_percent)
        axes.set_ylabel("share of people")
        axes.set_xlabel("" if labels else "value")
        axes.set_title(f"Estimates against the truth\nn = {estimate.n:,} people, k = {estimate.k:,} values{note}", loc="left")
        axes.legend(loc="best")
    return figure


def _figure(panels: dict[str, list[Row]], draw: Callable[[Axes, Sequence[Row]], None], title: str) -> Figure:
    """One panel per group, side by side and below, with one legend for all."""
    import matplotlib
    from matplotlib.figure import Figure

    if len(panels) > _MOST_PANELS:
        raise InvalidParameter(f"a plot has room for {_MOST_PANELS} choices of k and n, got {len(panels)}; plot fewer")
    columns = min(len(panels), 3)
    lines = -(-len(panels) // columns)
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(0.6 + 4.6 * columns, 1.4 + 3.0 * lines), layout="constrained")
        grid = figure.subplots(lines, columns, squeeze=False).flatten()
        for axes, (name, members) in zip(grid, panels.items(), strict=False):
            draw(axes, members)
            axes.set_title(name, loc="left")
            axes.set_xlabel("privacy loss epsilon (nats)")
        for axes in grid[len(panels) :]:
            axes.set_axis_off()
        figure.suptitle(title, x=0.01, ha="left", fontsize=10)
        named = {label: handle for axes in grid for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
        figure.legend(named.values(), named.keys(), loc="outside lower center", ncols=5 * columns)
    return figure


def _measured(rows: Iterable[Row]) -> list[Row]:
    done = sorted((row for row in rows if row.refused is None), key=lambda row: row.epsilon)
    if not done:
        raise InvalidParameter("there is nothing to plot: every row was refused")
    return done


def _grouped(rows: Iterable[Row], key: Callable[[Row], str]) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def _looks(rows: Iterable[Row]) -> dict[str, dict[str, Any]]:
    """A color and a marker for each protocol, the same in every panel."""
    names = dict.fromkeys(row.protocol for row in rows)
    return {
        name: {"color": color, "marker": marker, "markersize": 4.0, "linewidth": 1.2}
        for name, color, marker in zip(names, cycle(_COLORS), cycle(_MARKERS), strict=False)
    }


def _lines(rows: Iterable[Row], height: Callable[[Row], float | None]) -> list[tuple[str, list[Row]]]:
    """One line per protocol, from the highest right end down, as the legend lists them."""
    return sorted(_grouped(rows, lambda row: row.protocol).items(), key=lambda line: -(height(line[1][-1]) or 0.0))


def _percent(share: float, _position: float) -> str:
    return f"{100 * share:g} %"
