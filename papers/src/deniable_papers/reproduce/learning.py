"""Shows and attacks classifiers that learn from sanitized data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from deniable.formatting import format_count
from deniable_papers.experiment import DIFFERS, Asked, Column, Experiment, Shown, Size, Table, ask_names
from deniable_papers.simulate.measure import with_error
from deniable_papers.studies.applications import learning
from deniable_papers.studies.applications.learning import LearningPoint
from deniable_papers.studies.plot.learning import plot_learning

_MARGIN = "1.5 standard deviations, and 2.6 where there is one run: chance alone does that to one row in 100"


def _show_accuracy(row: LearningPoint) -> str:
    return with_error(row.accuracy, row.stderr) if row.stderr else f"{row.accuracy:.4f}"


def _show_advantage(row: LearningPoint) -> str:
    if row.advantage is None or row.low is None or row.high is None:
        return ""
    return f"{row.advantage:.3f} ({row.low:.3f} to {row.high:.3f})"


def _show(name: str) -> Callable[[LearningPoint], str]:
    return lambda row: "" if getattr(row, name) is None else f"{getattr(row, name):.3f}"


_MODEL: tuple[Column, ...] = (
    ("model", lambda row: row.model),
    ("learned from", lambda row: row.protocol),
)
_EPSILON: Column = ("epsilon", lambda row: "" if row.epsilon is None else f"{row.epsilon:g}")
_ACCURACY: tuple[Column, ...] = (
    *_MODEL,
    ("sanitized", lambda row: str(row.sanitized)),
    _EPSILON,
    ("accuracy", _show_accuracy),
    ("specification", _show("stated")),
    ("", lambda row: DIFFERS if row.differs else ""),
)
_ATTACKS: tuple[Column, ...] = (
    ("attack", lambda row: row.figure),
    *_MODEL,
    _EPSILON,
    ("accuracy", _show("accuracy")),
    ("advantage", _show_advantage),
    ("at most", _show("bound")),
    ("AUC", _show("auc")),
    ("found at 1 %", _show("found_at_1")),
    ("at 0.1 %", _show("found_at_01")),
    ("guessed", _show("success")),
    ("blind", _show("blind")),
)


def _list_tables(rows: Sequence[Any], asked: Asked) -> list[Table]:
    measured = [row for row in rows if row.figure == "accuracy"]
    attacks = [row for row in rows if row.figure != "accuracy"]
    times = f"{format_count(asked.runs, 'run')}, seed {asked.seed}; errors over runs"
    attacked = f"attacks: once, seed {asked.seed}; intervals at 95 %"
    accuracy = f"accuracy on other people: {times}"
    tables = [
        Table(title=accuracy, columns=_ACCURACY, rows=measured, margin=_MARGIN),
        Table(title=attacked, columns=_ATTACKS, rows=attacks),
    ]
    return [table for table in tables if table.rows]


EXPERIMENT = Experiment(
    name="learning",
    shows=(Shown("This project", "classifiers from reports, and attacks on them"),),
    minutes=(6, 0.3),
    data="adult-26k",
    about="""Classifiers that learn from sanitized data.

    Compares LightGBM and naive Bayes on Adult (income above 26,000): from raw rows, without four columns,
    from sanitized rows, and from one report of each person. Then attacks them: who was learned from, and what
    were their columns.
    """,
    measure=learning.reproduce,
    runs=(learning.RUNS, learning.QUICK_RUNS),
    quick_text="Measure two epsilons once, and attack fewer rows: under a minute.",
    sizes=(
        ask_names("--part", "parts", "Parts: accuracy, attacks.  [default: all]"),
        Size(keyword="epsilons", quick=learning.QUICK_EPSILONS),
        Size(keyword="attacked", quick=learning.QUICK_EPSILONS[:1]),
        Size(keyword="rows", quick=learning.QUICK_ROWS),
        Size(keyword="shadows", quick=learning.QUICK_SHADOWS),
    ),
    tables=_list_tables,
    draw=plot_learning,
    guarantees=lambda _: learning.list_guarantees(),
)
