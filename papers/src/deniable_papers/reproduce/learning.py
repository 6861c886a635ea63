"""`deniable reproduce learning`: compares and attacks classifiers that learn from sanitized data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from deniable.commands.shared import console, options
from deniable.formatting import format_count
from deniable_papers.reproduce import choices as studies
from deniable_papers.reproduce.applications import DIFFERS, print_guarantees, print_rows

if TYPE_CHECKING:
    from deniable_papers.studies.applications.learning import LearningPoint

_Column = tuple[str, Callable[["LearningPoint"], str]]
"""A heading, and what it shows of a row."""
_MARGIN = "1.5 standard deviations, and 2.6 where there is one run: chance alone does that to one row in 100"


@click.command("learning")
@studies.options(
    "5",
    "Measure two epsilons once, and attack fewer rows: under a minute.",
    options.name_option("--part", "Parts: accuracy, attacks.  [default: all]"),
)
def reproduce_learning(part: Sequence[str], choices: studies.Choices) -> None:
    """Classifiers that learn from sanitized data.

    Compares LightGBM and naive Bayes on Adult (income above 26,000): from raw rows, without four columns,
    from sanitized rows, and from one report of each person. Then attacks them: who was learned from, and what
    were their columns.
    """
    from deniable_papers.studies.applications import learning
    from deniable_papers.studies.plot.learning import plot_learning

    sizes: dict[str, Any] = {}
    if choices.quick:
        sizes = {
            "epsilons": learning.QUICK_EPSILONS,
            "attacked": learning.QUICK_EPSILONS[:1],
            "rows": learning.QUICK_ROWS,
            "shadows": learning.QUICK_SHADOWS,
        }
    runs = choices.runs or (learning.QUICK_RUNS if choices.quick else learning.RUNS)
    with console.progress("measuring") as show:
        heard = studies.announce_duration(show)
        rows = list(learning.reproduce(part or None, runs, choices.seed, heard, **sizes))
    if studies.write_measurements(choices, rows, plot_learning):
        print_guarantees(learning.list_guarantees(), is_json=choices.as_json)
        return
    measured = [row for row in rows if row.figure == "accuracy"]
    attacks = [row for row in rows if row.figure != "accuracy"]
    times = f"{format_count(runs, 'run')}, seed {choices.seed}; errors over runs"
    if measured:
        print_rows(f"accuracy on other people: {times}", measured, _ACCURACY, _MARGIN)
    if attacks:
        print_rows(f"attacks: once, seed {choices.seed}; intervals at 95 %", attacks, _ATTACKS, "")
    print_guarantees(learning.list_guarantees())


def _show_accuracy(row: LearningPoint) -> str:
    return console.with_error(row.accuracy, row.stderr) if row.stderr else f"{row.accuracy:.4f}"


def _show_advantage(row: LearningPoint) -> str:
    if row.advantage is None or row.low is None or row.high is None:
        return ""
    return f"{row.advantage:.3f} ({row.low:.3f} to {row.high:.3f})"


def _show(number: float | None) -> str:
    return "" if number is None else f"{number:.3f}"


_MODEL: tuple[_Column, ...] = (
    ("model", lambda row: row.model),
    ("learned from", lambda row: row.protocol),
)
_EPSILON: _Column = ("epsilon", lambda row: "" if row.epsilon is None else f"{row.epsilon:g}")
_ACCURACY: tuple[_Column, ...] = (
    *_MODEL,
    ("sanitized", lambda row: str(row.sanitized)),
    _EPSILON,
    ("accuracy", _show_accuracy),
    ("specification", lambda row: _show(row.stated)),
    ("", lambda row: DIFFERS if row.differs else ""),
)
_ATTACKS: tuple[_Column, ...] = (
    ("attack", lambda row: row.figure),
    *_MODEL,
    _EPSILON,
    ("accuracy", lambda row: _show(row.accuracy)),
    ("advantage", _show_advantage),
    ("at most", lambda row: _show(row.bound)),
    ("AUC", lambda row: _show(row.auc)),
    ("found at 1 %", lambda row: _show(row.found_at_1)),
    ("at 0.1 %", lambda row: _show(row.found_at_01)),
    ("guessed", lambda row: _show(row.success)),
    ("blind", lambda row: _show(row.blind)),
)
