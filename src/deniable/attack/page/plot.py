"""Draws what an attacker learns from a plan: answers and blind guesses, and people who are found."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from deniable.attack.page.wording import among_best
from deniable.formatting import format_count, shorten_names
from deniable.plot.figure import INK, format_tick, require_matplotlib, style
from deniable.plot.looks import looks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from deniable.attack.page.examined import Examination

_MOST_ANSWERS = 24
_AGAIN = {
    "knows the shares": "one report, knows shares",
    "holds it": "one report, known to hold it",
    "all hold it": "{times} reports, known to hold it",
    "all collections": "{times} collections{at_most}",
    "fresh noise": "{times} collections, all drawn again",
    "both": "{times} collections, knows shares{at_most}",
}
"""What is drawn, of plans that ask again."""
_ONCE = _AGAIN | {
    "all collections": "{times} collections, same noise{at_most}",
    "fresh noise": "{times} collections, fresh noise",
    "both": "{times}, fresh noise, knows shares",  # as clients answer
}
"""The same for plans that ask once: the collections are those of other plans like it."""
_KINDS = ("blind", "one report", "knows the shares", "all collections", "fresh noise", "both")
_MARKS = {"holds it": ("o", "white"), "all hold it": ("D", INK)}
"""What is known of those who are asked, where not all are: marks, since the bars are about everyone."""


def examination_plot(examined: Examination) -> Figure:
    """Draws how often each answer is guessed, and how often a person is found in a background."""
    require_matplotlib()
    from deniable.plot.picture import Picture

    shown = min(len(examined.ignorant.attributes), _MOST_ANSWERS)
    height = max(3.6, 2.2 + 0.62 * shown)
    with style():
        figure = Picture(figsize=(10.4 if examined.found else 6.4, height), layout="constrained")
        widths = [3, 2] if examined.found else [1]
        halves = figure.subfigures(1, len(widths), squeeze=False, width_ratios=widths)[0]
        _answers(halves[0].subplots(), examined, shown)
        if examined.found:
            _people(halves[1].subplots(), examined)
        for half in halves:
            half.legend(loc="outside lower center", ncols=2 if half is halves[0] else 1)
        title = examined.title or f"Plan {examined.plan[:12]}"
        how = f"{format_count(examined.collections, 'collection')}, one run, seed {examined.seed}"
        if examined.people is not None:
            how = f"{format_count(examined.people, 'person')}, {examined.users:,} looked for, {how}"
        else:
            how = f"by the plan alone, {how}"
        figure.suptitle(f"{title}: what an attacker learns\n{how}", x=0.01, ha="left", fontsize=10)
    return figure


def _answers(axes: Axes, examined: Examination, shown: int) -> None:
    attributes = examined.ignorant.attributes[:shown]
    informed = () if examined.informed is None else examined.informed.attributes[:shown]
    lacking = examined.lacking  # of what is not in the table no frequencies are known
    positions = np.arange(shown)
    look_of = looks(_KINDS)
    heights: dict[str, list[float | None]] = {
        "blind": [one.blind for one in attributes],
        "one report": [one.report for one in attributes],
        "knows the shares": [None if one.name in lacking else one.report for one in informed],
    }
    if examined.collections > 1:
        heights |= {
            "all collections": [one.memoized for one in attributes],
            "fresh noise": [one.averaged for one in attributes],
            "both": [
                None if one.name in lacking else one.memoized if examined.noise_kept else one.averaged
                for one in informed
            ],
        }
    drawn = {kind: line for kind, line in heights.items() if any(value is not None for value in line)}
    thick, times = 0.8 / len(drawn), examined.collections
    at_most = " (at most)" if any("memoized" in one.bounds for one in attributes) else ""
    for i, (kind, line) in enumerate(drawn.items()):
        color = "#c8ccd0" if kind == "blind" else look_of[kind]["color"]
        label = (
            (_AGAIN if examined.noise_kept else _ONCE).get(kind, kind).format(times=times, at_most=at_most)
        )
        middle = positions + (i - (len(drawn) - 1) / 2) * thick
        axes.barh(middle, [value or 0.0 for value in line], thick, color=color, label=label)
        if kind == "knows the shares":
            most_frequent = [np.nan if one.name in lacking else one.blind for one in informed]
            axes.plot(
                most_frequent,
                middle,
                "|",
                color=INK,
                markersize=9,
                label="the most frequent answer, without a report",
            )
    for kind, marked in _of_those_asked(examined, shown).items():
        label = _AGAIN[kind].format(times=times)
        marker, face = _MARKS[kind]
        axes.plot(
            marked,
            positions,
            marker,
            color=INK,
            markerfacecolor=face,
            markersize=5,
            label=label,
            clip_on=False,
        )
    axes.set_yticks(positions, [one.name for one in attributes])
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.xaxis.set_major_formatter(format_tick)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("best guess of the answer is right")
    axes.set_title("answers", loc="left")


def _of_those_asked(examined: Examination, shown: int) -> dict[str, list[float]]:
    """Lists the figures of an answer that is known to be in the report, and in all of them."""
    attributes = examined.ignorant.attributes
    if not any(one.report < one.reported - 1e-12 for one in attributes):
        return {}
    found = {"holds it": [one.reported for one in attributes[:shown]]}
    if examined.collections > 1:
        kept = examined.noise_kept
        found["all hold it"] = [
            one.reported_memoized if kept else one.reported_averaged for one in attributes[:shown]
        ]
    return found


def _people(axes: Axes, examined: Examination) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    kinds = [f"{one.background}, {among_best(one.top)}" for one in examined.found]
    look_of = looks(kinds)
    times = [one.collections for one in examined.found]
    apart = 0.03 * (max(times) - min(times) or 1)  # intervals stand side by side, and hide none
    for i, kind in enumerate(names := list(dict.fromkeys(kinds))):
        line = [one for one, name in zip(examined.found, kinds, strict=True) if name == kind]
        reach = [[one.success - one.low for one in line], [one.high - one.success for one in line]]
        heights = [one.success for one in line]
        positions = [one.collections + (i - (len(names) - 1) / 2) * apart for one in line]
        axes.errorbar(positions, heights, reach, label=kind, capsize=1.5, **look_of[kind])
    for top, dashes in zip(dict.fromkeys(one.top for one in examined.found), (":", "-."), strict=False):
        blind = next(one.blind for one in examined.found if one.top == top)
        axes.axhline(blind, color=INK, linewidth=0.8, linestyle=dashes, label=f"blind, {among_best(top)}")
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    if high < 100 * low:  # so few decades that their ends alone would not say enough
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(format_tick)
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_xticks(list(dict.fromkeys(times)))
    which = {
        one.background: one.attributes
        for one in examined.found
        if len(one.attributes) < len(examined.ignorant.attributes)
    }
    named = [
        fill(f"{background}: {shorten_names(attributes)}", 44) for background, attributes in which.items()
    ]
    axes.set_xlabel("\n".join(["collections, 95 % intervals", *named]))
    axes.set_ylabel("people found")
    axes.set_title("people, by a background that has", loc="left")
