"""Draws what an attacker learns from a plan: answers and blind guesses, and people who are found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any, final

import numpy as np

from deniable.attack.results import AttributeSuccess, ReidentificationRate, among_best
from deniable.formatting import shorten_names
from deniable.plot.figure import INK, format_tick, require_matplotlib, style
from deniable.plot.looks import looks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
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
"""What is drawn, of plans that ask once: the collections are those of other plans like it."""
_KINDS = ("blind", "one report", "knows the shares", "all collections", "fresh noise", "both")
_MARKS = {"holds it": ("o", "white"), "all hold it": ("D", INK)}
"""Marks of the figures of people who are asked, where not all are: the bars are about everyone."""


@final
@dataclass(frozen=True)
class Guesses:
    """How often each answer is guessed, by whom, and from what."""

    ignorant: Sequence[AttributeSuccess]
    """By an attacker who thinks that all answers are equally likely."""
    informed: Sequence[AttributeSuccess] | None
    """By an attacker who knows how frequent the answers are; None where nobody does."""
    lacking: Sequence[str]
    """Attributes whose frequencies are not known."""
    collections: int
    noise_kept: bool


def plot_examination(title: str, guesses: Guesses, rates: Sequence[ReidentificationRate]) -> Figure:
    """Draws how often each answer is guessed, and how often a person is found in a background."""
    require_matplotlib()
    from deniable.plot.picture import Picture

    count = min(len(guesses.ignorant), _MOST_ANSWERS)
    height = max(3.6, 2.2 + 0.62 * count)
    with style():
        figure = Picture(figsize=(10.4 if rates else 6.4, height), layout="constrained")
        widths = [3, 2] if rates else [1]
        halves = figure.subfigures(1, len(widths), squeeze=False, width_ratios=widths)[0]
        _answers(halves[0].subplots(), guesses, count)
        if rates:
            _people(halves[1].subplots(), rates, len(guesses.ignorant))
        for half in halves:
            half.legend(loc="outside lower center", ncols=2 if half is halves[0] else 1)
        figure.suptitle(title, x=0.01, ha="left", fontsize=10)
    return figure


def _answers(axes: Axes, guesses: Guesses, count: int) -> None:
    attributes = guesses.ignorant[:count]
    informed = () if guesses.informed is None else guesses.informed[:count]
    lacking = guesses.lacking
    positions = np.arange(count)
    look_of = looks(_KINDS)
    heights: dict[str, list[float | None]] = {
        "blind": [attribute.blind for attribute in attributes],
        "one report": [attribute.report for attribute in attributes],
        "knows the shares": [
            None if attribute.name in lacking else attribute.report for attribute in informed
        ],
    }
    if guesses.collections > 1:
        answered = "memoized" if guesses.noise_kept else "averaged"  # as clients answer
        heights |= {
            "all collections": [attribute.memoized for attribute in attributes],
            "fresh noise": [attribute.averaged for attribute in attributes],
            "both": [
                None if attribute.name in lacking else getattr(attribute, answered) for attribute in informed
            ],
        }
    series = {kind: line for kind, line in heights.items() if any(value is not None for value in line)}
    thick, times = 0.8 / len(series), guesses.collections
    at_most = " (at most)" if any("memoized" in attribute.bounds for attribute in attributes) else ""
    for i, (kind, line) in enumerate(series.items()):
        color = "#c8ccd0" if kind == "blind" else look_of[kind]["color"]
        label = (_AGAIN if guesses.noise_kept else _ONCE).get(kind, kind).format(times=times, at_most=at_most)
        middle = positions + (i - (len(series) - 1) / 2) * thick
        axes.barh(middle, [value or 0.0 for value in line], thick, color=color, label=label)
        if kind == "knows the shares":
            most_frequent = [
                np.nan if attribute.name in lacking else attribute.blind for attribute in informed
            ]
            label = "the most frequent answer, without a report"
            axes.plot(most_frequent, middle, "|", color=INK, markersize=9, label=label)
    for kind, marked in _of_those_asked(guesses, count).items():
        label = _AGAIN[kind].format(times=times)
        marker, face = _MARKS[kind]
        look: dict[str, Any] = {"color": INK, "markerfacecolor": face, "markersize": 5}
        axes.plot(marked, positions, marker, label=label, clip_on=False, **look)
    axes.set_yticks(positions, [attribute.name for attribute in attributes])
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.xaxis.set_major_formatter(format_tick)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("best guess of the answer is right")
    axes.set_title("answers", loc="left")


def _of_those_asked(guesses: Guesses, count: int) -> dict[str, list[float]]:
    """Lists the figures of an answer that is known to be in the report, and in all of them."""
    attributes = guesses.ignorant
    if not any(attribute.report < attribute.reported - 1e-12 for attribute in attributes):
        return {}
    marks = {"holds it": [attribute.reported for attribute in attributes[:count]]}
    if guesses.collections > 1:
        kept = guesses.noise_kept
        marks["all hold it"] = [
            attribute.reported_memoized if kept else attribute.reported_averaged
            for attribute in attributes[:count]
        ]
    return marks


def _people(axes: Axes, rates: Sequence[ReidentificationRate], attributes: int) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    kinds = [f"{rate.background}, {among_best(rate.top)}" for rate in rates]
    look_of = looks(kinds)
    times = [rate.collections for rate in rates]
    apart = 0.03 * (max(times) - min(times) or 1)  # intervals stand side by side, and hide none
    for i, kind in enumerate(names := list(dict.fromkeys(kinds))):
        line = [rate for rate, name in zip(rates, kinds, strict=True) if name == kind]
        reach = [[rate.success - rate.low for rate in line], [rate.high - rate.success for rate in line]]
        heights = [rate.success for rate in line]
        positions = [rate.collections + (i - (len(names) - 1) / 2) * apart for rate in line]
        axes.errorbar(positions, heights, reach, label=kind, capsize=1.5, **look_of[kind])
    for top, dashes in zip(dict.fromkeys(rate.top for rate in rates), (":", "-."), strict=False):
        blind = next(rate.blind for rate in rates if rate.top == top)
        axes.axhline(blind, color=INK, linewidth=0.8, linestyle=dashes, label=f"blind, {among_best(top)}")
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    if high < 100 * low:  # so few decades that their ends alone would not say enough
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(format_tick)
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_xticks(list(dict.fromkeys(times)))
    which = {rate.background: rate.attributes for rate in rates if len(rate.attributes) < attributes}
    backgrounds = [fill(f"{background}: {shorten_names(names)}", 44) for background, names in which.items()]
    axes.set_xlabel("\n".join(["collections, 95 % intervals", *backgrounds]))
    axes.set_ylabel("people found")
    axes.set_title("people, by a background that has", loc="left")
