"""Tells one complete story on simulated people: question, plan, reports, estimates, loss, attacker.

The story is composed once, as sections of text, tables and drawings. It is shown in the terminal or as a
page.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, final

import numpy as np

from deniable.arrays import Array
from deniable.errors import suggest_install
from deniable.estimate import Estimate
from deniable.formatting import format_percent
from deniable.mechanisms import PROTOCOLS, SubsetShape, ss
from deniable.randomness import system
from deniable.randomness.simulated import seeded
from deniable.simulate import plot
from deniable.simulate.measure import SweepCell, sweep
from deniable.simulate.population import Population

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console

TITLE = "One question, asked without learning anyone's answer"
QUESTION = "On how many days last month did your mental health keep you from work, school or friends?"
PEOPLE = {
    "0 days": 20_650,
    "1 day": 6_900,
    "2 days": 5_450,
    "3 days": 4_150,
    "4 days": 2_900,
    "5 days": 2_400,
    "6-7 days": 2_050,
    "8-10 days": 1_800,
    "11-14 days": 1_350,
    "15-20 days": 1_100,
    "21-27 days": 700,
    "28+ days": 550,
}
"""Simulated: how many of 50,000 people would give each answer. No survey found these numbers."""

EPSILON = 1.0
_COMPARED = ("grr", "oue", "ss")
_EPSILONS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0)
_REPEATS = 30
_EXAMPLE = 8  # the answer of the person whose report is shown


@final
@dataclass(frozen=True)
class Grid:
    """A table of text; the first column names the row."""

    caption: str
    headers: Sequence[str]
    rows: Sequence[Sequence[str]]


@final
@dataclass(frozen=True)
class Drawing:
    """A plot for the page, and what it shows in words."""

    name: str
    description: str
    draw: Callable[[], Figure]


@final
@dataclass(frozen=True)
class Section:
    """A heading and the blocks below it."""

    title: str
    blocks: Sequence[str | Grid | Drawing]


def tell(seed: int | None = None) -> list[Section]:
    """Ask everybody and compose the story, with the system's randomness, or reproducibly with a seed."""
    population = Population("simulated", _truth(), np.array(list(PEOPLE.values())), tuple(PEOPLE))
    mechanism = ss(len(PEOPLE), EPSILON)
    answers = np.repeat(np.arange(population.k), list(PEOPLE.values()))
    reports = mechanism.privatize(answers, system() if seed is None else seeded(seed))
    estimate = mechanism.estimate(mechanism.tally(reports))
    example = int(np.flatnonzero(answers == _EXAMPLE)[0])
    rows = list(
        sweep(
            _COMPARED,
            _EPSILONS,
            [population.k],
            [None],
            lambda _: population,
            repeats=_REPEATS,
            seed=seed or 0,
        )
    )
    return [
        _question(population.n),
        _plan(mechanism),
        _report(mechanism, reports[example : example + 1]),
        _results(estimate, "" if seed is None else f", seed {seed}"),
        _attacker(mechanism),
        _more_people(mechanism),
        _comparison(rows),
        _origin(seed),
    ]


def _question(n: int) -> Section:
    sentence = (
        f'{n:,} people are asked: "{QUESTION}" There are {len(PEOPLE)} possible answers, and some of '
        f"them are hard to give."
    )
    return Section(
        "The question", [sentence, "The people and their answers are simulated for this demonstration."]
    )


def _plan(mechanism: SubsetShape) -> Section:
    law, factor = mechanism.law, math.exp(mechanism.loss())
    return Section(
        "The plan",
        [
            f"Protocol: subset selection (ss). Each device reports a set of {mechanism.size} of the "
            f"{mechanism.k} answers. The true answer is in the set with probability {law.p:.4f}, any other "
            f"answer with {law.q:.4f}.",
            f"Budget: epsilon = {EPSILON:g}. Exact loss of the bytes that are sent: {mechanism.loss()!r}, "
            "rounded up: it is computed from the integers that the device samples with, and never above the "
            "budget.",
            f"What that means: whatever a device sends, no answer makes it more than {factor:.2f} times as "
            "likely as any other answer does. So nobody can be held to the answer that the report seems to "
            "give.",
        ],
    )


def _report(mechanism: SubsetShape, reports: Array) -> Section:
    labels = list(PEOPLE)
    members = [labels[value] for value in np.flatnonzero(mechanism.support(reports)[0])]
    holds = "is" if labels[_EXAMPLE] in members else "is not"
    return Section(
        "What leaves a device",
        [
            f'One person\'s answer is "{labels[_EXAMPLE]}". What left the device is a set, in '
            f"{mechanism.report_bytes} bytes "
            f"({reports.tobytes().hex(' ')}): {', '.join(members)}.",
            f"Here the true answer {holds} in the set. Only this person knows.",
        ],
    )


def _results(estimate: Estimate, note: str) -> Section:
    truth, (low, high) = _truth(), estimate.interval(0.95)
    inside = (low <= truth) & (truth <= high)
    rows = [
        (
            label,
            *(f"{100 * x:.2f}" for x in shares),
            f"{100 * ends[0]:.2f} to {100 * ends[1]:.2f}",
            "yes" if is_inside else "no",
        )
        for label, *shares, ends, is_inside in zip(
            PEOPLE, truth, estimate.frequencies, zip(low, high, strict=True), inside, strict=True
        )
    ]
    headers = ("answer", "truth", "estimate", "95 % interval", "inside?")
    return Section(
        "What the collector learns",
        [
            f"From {estimate.n:,} such reports, and nothing else, the share of each answer is estimated "
            "without bias.",
            Grid("Share of each answer, in percent", headers, rows),
            f"{int(inside.sum())} of {inside.size} intervals hold the truth; in the long run at least 95 in "
            "100 do.",
            Drawing(
                "histogram",
                "Bars of the true share of each answer, with the estimates and their 95 % intervals as "
                "points on top.",
                lambda: plot.histogram_plot(estimate, truth, list(PEOPLE), note),
            ),
        ],
    )


def _attacker(mechanism: SubsetShape) -> Section:
    truth = _truth()
    most, informed = float(truth.max()), mechanism.success(truth)
    more = f"{100 * (informed - most):.2f} points more"
    gained = "the report adds nothing to that" if informed - most < 5e-5 else more
    return Section(
        "What an attacker learns",
        [
            f"Whoever sees your report, and holds all {mechanism.k} answers equally likely before, guesses "
            f"right at most {_one_in(mechanism.success())}. Blind guessing is right "
            f"{_one_in(1 / mechanism.k)}.",
            "Whoever knows how common each answer is can guess the most common one for everybody, which is "
            f"right for {format_percent(most, 2)} of the people. With your report the best guess is right "
            f"for {format_percent(informed, 2)}: {gained}.",
        ],
    )


def _more_people(mechanism: SubsetShape) -> Section:
    rows = []
    for n in (1_000, 10_000, 50_000, 1_000_000, 1_000_000_000):
        error = 100 * math.sqrt(mechanism.law.error(n))
        rows.append((f"{n:,}", f"{error:.3f}", f"{1.96 * error:.3f}"))
    headers = ("people", "standard error", "95 % interval: plus or minus")
    return Section(
        "More people, less error",
        [
            "The noise of each report stays as it is, and so does each person's protection. The error of the "
            "totals goes down with the square root of the number of people: four times as many people, half "
            "the error.",
            Grid("Error of a share by number of people, in percentage points", headers, rows),
        ],
    )


def _comparison(rows: Sequence[SweepCell]) -> Section:
    cells = []
    for row in rows:
        if row.epsilon == EPSILON and row.expected_mse and row.success:
            errors = math.sqrt(row.expected_mse), math.sqrt(row.metrics["mse"].mean)
            figures = (
                *(f"{100 * error:.3f}" for error in errors),
                format_percent(row.success, 2),
                f"{row.report_bytes}",
            )
            cells.append((row.protocol, *figures, PROTOCOLS[row.protocol].title))
    headers = (
        "protocol",
        "error by the law",
        "error measured",
        "best guess is right",
        "bytes",
        "what it does",
    )
    best = min((row for row in rows if row.epsilon == EPSILON), key=lambda row: row.expected_mse or math.inf)
    return Section(
        "Three protocols compared",
        [
            "All spend the same budget. The standard errors of a share, in percentage points, are predicted "
            f"by the law and measured over {rows[0].repeats} repeats of the whole study; {best.protocol} "
            "errs least here.",
            Grid(f"Three protocols at epsilon = {EPSILON:g}, {rows[0].n:,} people", headers, cells),
            Drawing(
                "error",
                "Mean squared error falls as epsilon grows; the points measured for each protocol follow the "
                "line of its law.",
                lambda: plot.error_plot(rows),
            ),
            Drawing(
                "attack",
                "The attacker's success grows with epsilon, from blind guessing up to at most the limit that "
                "epsilon sets.",
                lambda: plot.attack_plot(rows),
            ),
        ],
    )


def _origin(seed: int | None) -> Section:
    if seed is None:
        text = "The reports were made with the operating system's randomness: run it again and they differ. "
        text += "The comparison of protocols is a simulation with seed 0."
    else:
        text = (
            f"Everything here was made from the seed {seed}, so that it can be made again. Real reports "
            "never use a seed."
        )
    return Section("How this was made", [text])


def print_story(sections: Sequence[Section], console: Console) -> None:
    """The story in the terminal, without the drawings."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    console.print(Text(TITLE, style="bold underline"))
    for section in sections:
        console.print(Text(f"\n{section.title}", style="bold"))
        for block in section.blocks:
            if isinstance(block, str):
                console.print(Text(block), width=min(console.width, 100))
            elif isinstance(block, Grid):
                table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1))
                for number, header in enumerate(block.headers):
                    table.add_column(
                        Text(header),
                        justify="right" if number and _is_number(block.rows[0][number]) else "left",
                    )
                for row in block.rows:
                    table.add_row(*(Text(cell) for cell in row))
                console.print(table)


def write_page(sections: Sequence[Section], path: Path) -> Path:
    """The story as one file that needs nothing else: it loads no script, no font and no picture."""
    path.parent.mkdir(parents=True, exist_ok=True)
    body = "\n".join(
        f"<section>\n<h2>{_safe(s.title)}</h2>\n{''.join(map(_element, s.blocks))}</section>"
        for s in sections
    )
    path.write_text(_PAGE.replace("TITLE", _safe(TITLE)).replace("BODY", body), encoding="utf-8")
    return path


def _element(block: str | Grid | Drawing) -> str:
    if isinstance(block, str):
        return f"<p>{_safe(block)}</p>\n"
    if isinstance(block, Grid):
        head = "".join(
            f'<th scope="col"{_align(cell)}>{_safe(header)}</th>'
            for header, cell in zip(block.headers, ("", *block.rows[0][1:]), strict=True)
        )
        rows = "".join(f"<tr>{_row_cells(row)}</tr>\n" for row in block.rows)
        caption = f"<caption>{_safe(block.caption)}</caption>"
        table = f"<table>{caption}\n<thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table>"
        return (
            f'<div class="wide" tabindex="0" role="region" '
            f'aria-label="{_safe(block.caption)}">{table}</div>\n'
        )
    if find_spec("matplotlib") is None:
        return (
            f"<p>{_safe(block.description)} (No plot: matplotlib is missing; install it with: "
            f"{_safe(suggest_install('plot'))}.)</p>\n"
        )
    drawing = plot.inline_svg(block.draw(), block.name, block.description)
    return f"<figure>{drawing}<figcaption>{_safe(block.description)}</figcaption></figure>\n"


def _row_cells(row: Sequence[str]) -> str:
    cells = "".join(f"<td{_align(cell)}>{_safe(cell)}</td>" for cell in row[1:])
    return f'<th scope="row">{_safe(row[0])}</th>{cells}'


def _truth() -> np.typing.NDArray[np.float64]:
    counts = np.array(list(PEOPLE.values()), dtype=np.float64)
    return np.asarray(counts / counts.sum())


def _one_in(chance: float) -> str:
    return f"1 time in {1 / chance:.3g} ({format_percent(chance, 2)})"


def _align(cell: str) -> str:
    kind = "number" if _is_number(cell) else "text" if " " in cell else ""
    return f' class="{kind}"' if kind else ""


def _is_number(text: str) -> bool:
    return text.lstrip("-")[:1].isdigit()


def _safe(text: str) -> str:
    return html.escape(text)


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Deniable: TITLE</title>
<style>
:root { --ink: #24292f; --soft: #57606a; --paper: #ffffff;
        --line: #d0d7de; --band: #f6f8fa; --accent: #0b5cad; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --soft: #9da7b3; --paper: #0f1318;
          --line: #30363d; --band: #171c23; --accent: #6cb6ff; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.6 system-ui, sans-serif; }
main { max-width: 46rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0.5rem 0; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 0.4rem; color: var(--accent); }
p { margin: 0.5rem 0; overflow-wrap: anywhere; }
.wide { overflow-x: auto; margin: 0.9rem 0; }
table { border-collapse: collapse; font-size: 0.92rem; min-width: 60%; }
caption { text-align: left; color: var(--soft); padding-bottom: 0.3rem; }
th, td { padding: 0.28rem 0.7rem; border-bottom: 1px solid var(--line); text-align: left;
         vertical-align: top; }
thead th { background: var(--band); }
tbody th { font-weight: 600; white-space: nowrap; }
.number { text-align: right; }
td.number { white-space: nowrap; font-variant-numeric: tabular-nums; }
td.text { min-width: 12rem; }
figure { margin: 1.2rem 0; }
figure svg { display: block; width: 100%; max-width: 38rem; height: auto; }
figcaption { color: var(--soft); font-size: 0.9rem; }
@media (max-width: 32rem) {
  table { font-size: 0.8rem; }
  th, td { padding: 0.25rem 0.3rem; }
}
</style>
</head>
<body>
<main>
<h1>TITLE</h1>
BODY
</main>
</body>
</html>
"""
