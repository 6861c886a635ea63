"""Draws what reports say, never computes: a panel per attribute, a line per value with its interval."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, cycle, pairwise
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats, Integers
from deniable.domain import Range
from deniable.domain.grid import Grid
from deniable.domain.number import Number
from deniable.errors import InvalidParameter
from deniable.formatting import format_count, round_digits, shorten_text
from deniable.plot.charts import draw_mean, write_noisy
from deniable.plot.figure import ESTIMATE, INK, NOISE, TRUTH, require_matplotlib, style
from deniable.results.estimates import MEAN
from deniable.results.findings import name_quantile
from deniable.results.noise import find_noisy
from deniable.results.possible_shares import Shares
from deniable.results.range_queries import ShownShare
from deniable.results.respondents import Columns, read_columns
from deniable.show.text import count_reports, name_limit
from deniable.summaries import Group

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from deniable.results.findings import Findings

_MOST_PANELS = 24
_MOST_VALUES = 100  # of an attribute with more, the largest shares are shown
_LARGEST_SHARES = 40
_MANY_BINS = 20  # of a range with more, all are drawn side by side
_LONG = 10_000  # numbers from here on have commas
_AT_RIGHT = 0.98  # of a panel's width, where marks of numbers are
_GRAY = "#c8c8c8"  # of cells that are too noisy to read
_LINES = ("-.", ":", "--", "-")  # of numbers that are marked in a panel
_MARKS = "<Dso"  # and beside it
_COLUMNS = 3
_TALLER = 1.5  # how much taller a page with fewer columns may be
# inches: how tall and wide a map is, and a value's line in every panel
_MAP, _MAP_WIDE, _LINE = 2.3, 2.2, 0.19
_WIDE, _MARGIN, _BELOW = 2.9, 0.25, 0.62  # inches: a panel, what is right of it, and what is below
_QUESTION = 2  # lines that the text of a question has room for
_KEYS = 2
"""Marks and lines that are explained in one line above a panel."""
_LETTER, _TEXT = 0.068, 0.165  # inches: a letter of the usual width, and a line of text


@final
@dataclass(frozen=True)
class _Content:
    """What is drawn of findings: possible shares or `unbiased` ones, in groups unless `bins`."""

    findings: Findings
    bins: bool
    unbiased: bool

    def find_shares(self, name: str) -> Shares:
        return _as_shares(self.findings.unbiased[name]) if self.unbiased else self.findings.shares[name]

    def find_group_shares(self, name: str) -> Shares:
        if not self.unbiased:
            return self.findings.group_shares[name]
        return _as_shares(read_columns([group.share for group in self.findings.groups[name]]))


def plot_findings(
    findings: Findings, bins: bool = False, unbiased: bool = False, only: str | None = None
) -> Figure:
    """The shares of every attribute, or of `only` one, from top to bottom in the order of its values; means,
    a line each; locations, a map.

    Neighboring bins of a long range, and cells of a large grid, are drawn together, unless all `bins` are
    asked for. Other shares of the values, most likely or smoothed ones, are marks on the bars, and a map of
    their own each. Means and quantiles of ranges are marked, too. Panels go down one column and then the
    next, in the order of the attributes. All sizes are in inches, so that a value's bar is as thick in every
    panel.
    """
    require_matplotlib()
    from deniable.plot.picture import Picture

    panels = _list_panels(_Content(findings, bins, unbiased), only)
    columns = in_columns(panels)
    lefts = [max(panel.left for panel in column) for column in columns]
    wide = sum(lefts) + len(columns) * (_WIDE + _MARGIN)
    weighting, kinds = findings.estimates.weighting, what_is_shown(panels, findings.level)
    weights = "" if weighting is None else str(weighting.weights)
    title = ", ".join(filter(None, [findings.estimates.title, weights]))
    heading = [*wrap(title, round(wide / _LETTER / 1.15)), kinds]
    top = 0.2 + 1.15 * _TEXT * len(heading)
    tall = top + max(map(height_of, columns))
    with style():
        figure = Picture(figsize=(wide, tall))
        figure.suptitle("\n".join(heading), x=0.1 / wide, y=1 - 0.1 / tall, ha="left", va="top", fontsize=10)
        x = 0.0
        for left, column in zip(lefts, columns, strict=True):
            x, y = x + left, tall - top
            for panel in column:
                y -= panel.above + panel.body
                width = _WIDE if panel.grid is None else _MAP_WIDE
                axes = figure.add_axes((x / wide, y / tall, width / wide, panel.body / tall))
                scale = None
                if panel.grid is not None:
                    scale = figure.add_axes(
                        ((x + width + 0.1) / wide, y / tall, 0.12 / wide, panel.body / tall)
                    )
                _draw(axes, panel, scale)
                y -= _BELOW
            x += _WIDE + _MARGIN
    return figure


def _count_reports(findings: Findings, name: str) -> str:
    """How many reports were counted, and what they are worth where they are weighted."""
    weighting = findings.estimates.weighting
    weighed = None if weighting is None else weighting.attributes.get(name)
    if weighed is None:
        return count_reports(findings, name)
    return f"{format_count(weighed.n, 'report')}, weighted, as good as {weighed.effective:,.0f}"


def _list_panels(content: _Content, only: str | None) -> list[Panel]:
    """A panel or more for each attribute, in the order of the study."""
    findings, estimates = content.findings, content.findings.estimates
    names = [name for name in findings.questions if only in (None, name)]
    if len(names) > _MOST_PANELS:
        raise InvalidParameter(f"a plot has room for {_MOST_PANELS} attributes, got {len(names)}; plot fewer")
    ranges, positions = _list_ranges(content), _list_positions(findings)
    panels: list[Panel] = []
    for name in names:
        text = estimates.question_texts.get(name, "")
        if name in findings.several:
            panels += _several_panels(content, Panel(name, "", text=text))
            continue
        about, people = Panel(name, _count_reports(findings, name), text=text), _name_people(findings, name)
        if name in estimates.means:
            mean = (findings.unbiased_means if content.unbiased else findings.means)[name]
            noisy = not content.unbiased and name in findings.noisy_means
            domain = estimates.domains.get(name)
            line = (float(domain.low), float(domain.high)) if isinstance(domain, Number) else None
            ends = mean.value, mean.low, mean.high
            panels.append(about._replace(ends=ends, line=line, note=people, noisy=noisy))
        for panel in [] if name in estimates.means else _value_panels(content, about):
            marked = {} if panel.edges is None else positions.get(name, {})
            note, labels = panel.note + people, _label_quantiles(findings, name)
            panels.append(panel._replace(positions=marked, labels=labels, note=note))
        if name in findings.answered:
            part = findings.answered[name]
            shares = _as_shares(part.unbiased) if content.unbiased else part.shares
            bars, note = _largest_bars(list(map(str, part.labels)), shares, {})
            panels.append(about._replace(bars=bars, note=f"{note}, of {part.people}", method=shares.method))
        if name in ranges:
            grouped = name in findings.groups
            shares = content.find_group_shares(name) if grouped else content.find_shares(name)
            note = ", ranges asked for"
            panels.append(about._replace(bars=ranges[name], note=note, method=shares.method))
    return panels


def _several_panels(content: _Content, about: Panel) -> Iterator[Panel]:
    """A bar for each option: who chose it, of everybody, and of those who answered where these differ."""
    findings, options = content.findings, content.findings.several[about.name]

    def draw(name: str, labels: Sequence[str], first: int) -> list[Bar]:
        likely = {of: all_[name].frequencies for of, all_ in findings.likelihoods if name in all_}
        return _bars(labels, content.find_shares(name), likely, range(first, first + len(labels)))

    last = options[-1].name
    bars = [bar for option in options for bar in draw(option.name, [option.option], 0)]
    # who was not asked, or did not answer, is the same of every option
    bars += draw(last, list(map(str, (findings.estimates.shares[last].labels or ())[2:])), 2)
    sizes = [findings.estimates[option.name].n for option in options]
    reports = format_count(max(sizes), "report")
    counted = reports if min(sizes) == max(sizes) else f"{min(sizes):,} to {reports}"
    weighting = findings.estimates.weighting
    if weighting is not None and last in weighting.attributes:
        counted += ", weighted"
    about = about._replace(counted=counted)
    method = content.find_shares(last).method
    yield about._replace(bars=bars, note=f", {name_limit(options)}", method=method)
    if last in findings.answered:
        parts = [(option.option, findings.answered[option.name]) for option in options]
        shares = [
            (label, _as_shares(part.unbiased) if content.unbiased else part.shares) for label, part in parts
        ]
        bars = [bar for label, shares_of in shares for bar in _bars([label], shares_of, {}, [0])]
        note = f", of {findings.answered[last].people}: who chose each"
        yield about._replace(bars=bars, note=note, method=method)


def _name_people(findings: Findings, name: str) -> str:
    people = findings.among(name, name in findings.estimates.means)
    if people is None:
        return ""
    if name not in findings.respondents:
        return f", of {people}"
    return ", mean of these" if name in findings.estimates.means else ", shares of these"


def _value_panels(content: _Content, about: Panel) -> Iterator[Panel]:
    """The shares of an attribute; of a map, another panel for each kind of other shares."""
    findings, name = content.findings, about.name
    likely = {of: shares[name].frequencies for of, shares in findings.likelihoods if name in shares}
    domain, estimate = findings.estimates.domains.get(name), findings.estimates[name]
    is_shown_by_value = content.bins and name not in findings.leveled
    groups, k = [] if is_shown_by_value else findings.groups.get(name, []), estimate.k
    if isinstance(domain, Grid) and domain.k == k:
        about = about._replace(grid=domain, method=content.find_shares(name).method)
        for of, others in likely.items():
            yield about._replace(note=f", {of} shares", shares=others, has_intervals=False)
        if not likely:
            yield _map_panel(content, about, groups)
        return
    edges = domain.edges if isinstance(domain, Range) and domain.k == k else None
    if groups:
        shares = content.find_group_shares(name)
        sums = {of: np.array([all_[group.values].sum() for group in groups]) for of, all_ in likely.items()}
        bars = _bars([group.label for group in groups], shares, sums, range(len(groups)))
        if edges is not None:
            edges = edges[[*(group.values[0] for group in groups), k]]
        note = f", {k:,} values in {len(bars)} groups"
        yield about._replace(bars=bars, note=note, edges=edges, method=shares.method)
        return
    values = content.find_shares(name)
    labels = [str(label) for label in (range(k) if estimate.labels is None else estimate.labels)]
    is_long = edges is not None and k > _MANY_BINS
    bars, note = _bars(labels, values, likely, range(k)), f", {k:,} bins"
    if not is_long:
        bars, note = _largest_bars(labels, values, likely)
    yield about._replace(bars=bars, note=note, edges=edges, side_by_side=is_long, method=values.method)


def _map_panel(content: _Content, about: Panel, groups: Sequence[Group]) -> Panel:
    """Cells by their own shares, or by those of blocks of them."""
    values = content.find_shares(about.name)
    if groups:
        shares = content.find_group_shares(about.name)
        bars = _bars([group.label for group in groups], shares, {}, range(len(groups)))
        blocks = [(group.values, bar) for group, bar in zip(groups, bars, strict=True)]
        note = f", {values.share.size:,} cells in {len(groups)} blocks"
        return about._replace(note=note, blocks=blocks, shares=values.share)
    reach = 100 * float((values.high - values.low).mean()) / 2
    clear = np.where(_judge(values), np.nan, values.share)
    note = f", ± {reach:.1f} points on average"
    return about._replace(note=note, shares=clear)


def _largest_bars(
    labels: Sequence[str], shares: Shares, likely: Mapping[str, Floats]
) -> tuple[list[Bar], str]:
    """A bar for each value that there is room for, and which these are where they are not all."""
    chosen, note, size = np.arange(len(labels)), "", len(labels)
    if size > _MOST_VALUES:
        chosen = np.sort(np.argsort(-shares.share, kind="stable")[:_LARGEST_SHARES])
        note = f", the {len(chosen)} largest of {size:,} shares"
    return _bars([labels[v] for v in chosen.tolist()], shares, likely, chosen.tolist()), note


def _bars(
    labels: Sequence[str], shares: Shares, likely: Mapping[str, Floats], chosen: Sequence[int]
) -> list[Bar]:
    """A bar for each of the chosen ones."""
    noisy = _judge(shares)
    bars = []
    for label, v in zip(labels, chosen, strict=True):
        share, low, high = (float(numbers[v]) for numbers in (shares.share, shares.low, shares.high))
        marks = {of: math.nan if noisy[v] else float(all_[v]) for of, all_ in likely.items()}
        bars.append(Bar(_short(label), share, low, high, marks, bool(noisy[v])))
    return bars


def _judge(shares: Shares) -> npt.NDArray[np.bool_]:
    """Which of these are too noisy to read; unbiased ones are not judged, whatever they are."""
    return find_noisy(shares) & (shares.method != "unbiased")


def _draw(axes: Axes, panel: Panel, scale: Axes | None) -> None:
    axes.set_title("\n".join(panel.title), loc="left", pad=6 + 72 * panel.keyed)
    if panel.grid is not None and scale is not None:
        _draw_map(axes, scale, panel)
        return
    if panel.ends is not None:
        draw_mean(axes, None if panel.noisy else panel.ends[0], panel.ends[1:], panel.line)
        return
    low, middle, high = (100 * np.array([bar[of] for bar in panel.bars]) for of in (2, 1, 3))
    if panel.side_by_side:
        _draw_steps(axes, panel, low, middle, high)
        return
    positions = np.arange(len(panel.bars))
    noisy = np.array([bar.noisy for bar in panel.bars])
    axes.barh(positions[~noisy], middle[~noisy], height=0.8, color=TRUTH, alpha=0.6)
    clear = ~noisy
    axes.errorbar(
        middle[clear],
        positions[clear],
        xerr=[(middle - low)[clear], (high - middle)[clear]],
        color=ESTIMATE,
        linestyle="none",
        capsize=2,
        elinewidth=1,
    )
    for at in positions[noisy].tolist():
        write_noisy(axes, at, f" ({low[at]:.0f} to {high[at]:.0f} %)")
    if not clear.any():
        axes.set_xlim(0, 100)
    for of, marker in zip(panel.bars[0].likely, "oD", strict=False):
        marks = [100 * bar.likely[of] for bar in panel.bars]
        axes.plot(
            marks,
            positions,
            marker,
            color=INK,
            markersize=4,
            markerfacecolor="none",
            label=of,
            linestyle="none",
        )
    for (name, position), marker in zip(panel.positions.items(), cycle(_MARKS), strict=False):
        # as if people were even in a bar; at the right end, where the margin is
        at = np.interp(position, np.asarray(panel.edges), np.arange(len(positions) + 1) - 0.5)
        axes.plot(
            [_AT_RIGHT],
            [float(at)],
            marker,
            transform=axes.get_yaxis_transform(),
            color=INK,
            markersize=5,
            linestyle="none",
            clip_on=False,
            label=_name_position(panel, name, position),
        )
    _draw_keys(axes, panel)
    axes.axvline(0.0, color=INK, linewidth=0.8)
    axes.set_yticks(positions, [bar.label for bar in panel.bars])
    axes.set_ylim(len(positions) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("share of people, %")


def _name_position(panel: Panel, name: str, position: float) -> str:
    """A mean or a quantile with four digits, or its label; years have four, and no comma."""
    if name in panel.labels:
        return f"{name} {panel.labels[name]}"
    rounded = round_digits(position, 4)
    return f"{name} {rounded:,.10g}" if abs(rounded) >= _LONG else f"{name} {rounded:.10g}"


def _draw_keys(axes: Axes, panel: Panel) -> None:
    """What marks and lines mean, between the title and the axes, where nothing else is."""
    if panel.keyed:
        axes.legend(
            fontsize=7,
            loc="lower left",
            bbox_to_anchor=(0, 1),
            ncols=_KEYS,
            borderaxespad=0.2,
            borderpad=0.1,
            frameon=False,
        )


def _draw_steps(axes: Axes, panel: Panel, low: Floats, middle: Floats, high: Floats) -> None:
    """Many bins side by side: a step each, their intervals as a band."""
    edges = panel.edges
    assert edges is not None
    noisy = np.array([bar.noisy for bar in panel.bars])
    for mask, color in ((~noisy, ESTIMATE), (noisy, NOISE)):
        ends = np.where(mask, high, np.nan), np.where(mask, low, np.nan)
        axes.stairs(ends[0], edges, baseline=ends[1], fill=True, color=color, alpha=0.25)
    axes.stairs(np.where(noisy, np.nan, middle), edges, baseline=None, color=ESTIMATE)
    for of, style_of in zip(panel.bars[0].likely, ("-", "--"), strict=False):
        marks = np.array([100 * bar.likely[of] for bar in panel.bars])
        axes.stairs(marks, edges, baseline=None, color=INK, linestyle=style_of, label=of)
    for (name, position), line in zip(panel.positions.items(), cycle(_LINES), strict=False):
        axes.axvline(
            position, color=INK, linewidth=1, linestyle=line, label=_name_position(panel, name, position)
        )
    _draw_keys(axes, panel)
    axes.axhline(0.0, color=INK, linewidth=0.8)
    axes.set_ylim(1.05 * min(0.0, low.min()), 1.05 * max(0.0, high.max()))
    axes.set_xlabel("value, in its own unit")
    axes.set_ylabel("share of people, %")


def _draw_map(axes: Axes, scale: Axes, panel: Panel) -> None:
    """Cells, the north at the top, and a scale of their colors, with two if shares are below 0."""
    grid = panel.grid
    assert grid is not None
    assert panel.shares is not None
    shares_drawn = panel.shares.copy()
    for cells, block in panel.blocks:
        shares_drawn[cells] = np.nan if block.noisy else block.share
    shares = 100 * shares_drawn.reshape(grid.rows, grid.columns)
    # twice an even share at least: else the only one that can be read would be the darkest
    most = max(200 / (len(panel.blocks) or grid.k), float(np.abs(np.nan_to_num(shares)).max()))
    east = grid.east if grid.east > grid.west else grid.east + 360
    box = (grid.west, east, grid.south, grid.north)
    colors, least = ("Reds", 0.0) if not (shares < 0).any() else ("RdBu_r", -most)
    axes.set_facecolor(_GRAY)  # which is seen where a share is too noisy to read
    image = axes.imshow(shares, origin="lower", extent=box, aspect="auto", cmap=colors, vmin=least, vmax=most)
    axes.figure.colorbar(image, cax=scale, label=f"share of people{' in a block' if panel.blocks else ''}, %")
    for values, block in panel.blocks:
        down, across = (float(cells.mean()) + 0.5 for cells in np.divmod(values, grid.columns))
        x, y = (
            box[0] + (box[1] - box[0]) * across / grid.columns,
            box[2] + (box[3] - box[2]) * down / grid.rows,
        )
        dark = abs(block.share) * 100 > 0.6 * most and not block.noisy
        ends = f"{100 * block.low:.0f} to {100 * block.high:.0f}"
        text = f"noisy\n{ends}" if block.noisy else f"{100 * block.share:.1f}\n{ends}"
        axes.text(x, y, text, fontsize=6, ha="center", va="center", color="white" if dark else INK)
    axes.grid(visible=False)
    scale.grid(visible=False)
    axes.set_xlabel("longitude")
    axes.set_ylabel("latitude")
    axes.locator_params(axis="x", nbins=5)


def _short(label: str) -> str:
    return label if len(label) <= 30 else f"{label[:29]}…"


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
    counted: str
    """How many reports were counted, in words."""
    bars: Sequence[Bar] = ()
    """The members that there is room for, in order."""
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
    labels: Mapping[str, str] = {}
    """The points of a scale that quantiles are in, by name."""
    blocks: Sequence[tuple[Integers, Bar]] = ()
    """The groups of neighboring cells of a map: which cells, and what is drawn."""
    ends: tuple[float, float, float] | None = None
    """The mean of a number and the ends of its interval."""
    noisy: bool = False
    """Whether that mean is too noisy to read: then only its interval is drawn."""
    line: tuple[float, float] | None = None
    """The least and the largest number that the mean may be."""
    text: str = ""
    """What people were asked."""

    @property
    def is_tall(self) -> bool:
        """Whether it has an axis of its own at the left, in place of a line per value."""
        return self.grid is not None or self.side_by_side

    @property
    def title(self) -> list[str]:
        """In lines that the panel has room for."""
        width = round((_WIDE + _MARGIN) / _LETTER)
        title = wrap(f"{self.name}: {self.counted}{self.note}", width)
        return [*title, *wrap(shorten_text(self.text, _QUESTION * width), width)] or [""]

    @property
    def left(self) -> float:
        """Inches that the labels take."""
        return 0.75 if self.is_tall else 0.2 + _LETTER * max((len(bar.label) for bar in self.bars), default=4)

    @property
    def above(self) -> float:
        return 0.12 + _TEXT * len(self.title) + self.keyed

    @property
    def keyed(self) -> float:
        """Inches that it takes to explain the marks on bars and the numbers on the line."""
        keys = len(self.positions) + (len(self.bars[0].likely) if self.bars else 0)
        return _TEXT * -(-keys // _KEYS)

    @property
    def body(self) -> float:
        return _MAP if self.is_tall else _LINE * max(1, len(self.bars))

    @property
    def height(self) -> float:
        return self.above + self.body + _BELOW


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
    noisy |= any(
        bar.noisy for panel in panels for bar in (*panel.bars, *(block for _, block in panel.blocks))
    )
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
        layouts = [[panels[start:end] for start, end in pairwise(way)] for way in ways]
        best.append(min(layouts, key=lambda columns: max(map(height_of, columns))))
    shortest = max(map(height_of, best[0]))
    return min(
        (columns for columns in best if max(map(height_of, columns)) <= _TALLER * shortest), key=_empty
    )


def _empty(columns: list[list[Panel]]) -> float:
    """How much of the page has nothing on it."""
    tall, heights = max(map(height_of, columns)), [height_of(column) for column in columns]
    wide = [max(panel.left for panel in column) + _WIDE + _MARGIN for column in columns]
    used = sum(height * width for height, width in zip(heights, wide, strict=True))
    return 1 - used / (tall * sum(wide))


def height_of(column: list[Panel]) -> float:
    """Inches that the panels of a column take."""
    return sum(panel.height for panel in column)


def _list_ranges(content: _Content) -> dict[str, list[Bar]]:
    """The shares between two numbers that were asked for, by attribute."""
    bars: dict[str, list[Bar]] = {}
    for name, queries in content.findings.ranges.items():
        for query, raw in queries.items():
            possible = ShownShare.of(content.findings.estimates, name, query, raw)
            share, noisy = (raw, False) if content.unbiased else (possible.share, possible.noisy)
            bar = Bar(str(query), share.value, share.low, share.high, noisy=noisy)
            bars.setdefault(name, []).append(bar)
    return bars


def _label_quantiles(findings: Findings, name: str) -> dict[str, str]:
    """The points of a scale that quantiles are in, by name."""
    labels = {
        name_quantile(share): findings.label_quantile(name, quantile)
        for share, quantile in findings.all_quantiles.get(name, {}).items()
    }
    return {quantile: point.label for quantile, point in labels.items() if point is not None}


def _list_positions(findings: Findings) -> dict[str, dict[str, float]]:
    """Means and quantiles of ranges, by name, but for those beyond an open end."""
    lines = {
        name: {MEAN: mean.value}
        for name, mean in findings.means.items()
        if name not in findings.estimates.means and name not in findings.noisy_means
    }
    for name, shares in findings.all_quantiles.items():
        positions = {
            name_quantile(share): quantile.value
            for share, quantile in shares.items()
            if math.isfinite(quantile.value) and not findings.is_wide(name, quantile)
        }
        lines[name] = lines.get(name, {}) | positions
    return lines


def _as_shares(unbiased: Columns) -> Shares:
    """Unbiased columns in place of possible ones."""
    value, _, low, high = unbiased
    return Shares(value, low, high, "unbiased")
