"""Shows how sanitized attributes change a model, beside dropping them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from deniable.formatting import format_count, format_loss
from deniable_papers.experiment import (
    Asked,
    Column,
    Experiment,
    Shown,
    Table,
    ask_choice,
    ask_epsilons,
    ask_names,
)
from deniable_papers.reproduce.sweeps import load_present
from deniable_papers.studies.applications import fairness
from deniable_papers.studies.applications.fairness import FairnessPoint
from deniable_papers.studies.applications.guarantee import Guarantee
from deniable_papers.studies.plot.fairness import plot_fairness


def _show(metric: str) -> Callable[[FairnessPoint], str]:
    """A mean, and in parentheses the published one of the same seeds."""

    def show(row: FairnessPoint) -> str:
        known = "" if row.published is None else f" ({row.published[metric]:.4f})"
        return f"{getattr(row, metric):.4f}{known}"

    return show


_COLUMNS: tuple[Column, ...] = (
    ("table", lambda row: row.dataset),
    ("mechanism", lambda row: row.mechanism),
    ("epsilon", lambda row: "" if row.epsilon is None else f"{row.epsilon:g}"),
    ("accuracy (published)", _show("acc")),
    ("SPD", _show("spd")),
    ("EOD", _show("eod")),
    ("DI", _show("di")),
    ("OAD", _show("oad")),
    ("F1", _show("f1")),
    ("loss", lambda row: "raw" if row.loss is None else format_loss(row.loss)),
)


def _select_models(rows: Sequence[Any]) -> list[FairnessPoint]:
    return [row for row in rows if isinstance(row, FairnessPoint)]


def _list_tables(rows: Sequence[Any], asked: Asked) -> list[Table]:
    models = _select_models(rows)
    seeds = format_count(models[0].runs, "seed")
    title = f"{seeds} from 0, noise of seed {asked.seed}, {asked.given['split']} budgets"
    return [Table(title=title, columns=_COLUMNS, rows=models)]


def _state_guarantees(rows: Sequence[Any]) -> list[tuple[str, Guarantee]]:
    names = dict.fromkeys(row.dataset for row in _select_models(rows))
    return [(name, fairness.describe_guarantee(name, rows)) for name in names]


def _count_differing(rows: Sequence[Any], _asked: Asked) -> list[str]:
    known = [row for row in _select_models(rows) if row.published is not None]
    differing = sum(row.differs for row in known)
    return [
        "farther from what was published than three standard errors (raw values: 0.0005): "
        f"{differing} of {format_count(len(known), 'point')}"
    ]


def _leave_out_missing(names: Sequence[str]) -> list[str]:
    """The tables whose files are here; names that the study does not know are left for it to refuse."""
    known = {name: fairness.CASES.get(name.lower()) for name in names}
    return list(load_present(names, lambda name: None if (case := known[name]) is None else case.load()))


EXPERIMENT = Experiment(
    name="fairness",
    shows=(Shown("Fairness", "accuracy, SPD, EOD, OAD and DI by epsilon"),),
    minutes=(35, 0.3),
    data="adult-26k, acs-coverage, lsac",
    about="""Sanitized attributes, accuracy and fairness.

    Four sensitive attributes of the training part are sanitized, and LightGBM predicts for a raw test part.
    NonDP is the model of raw values; `dropped` does without the four attributes, which costs no privacy. SPD,
    EOD and OAD are differences between the groups 1 and 0 of an attribute: of positive predictions, of recall
    and of accuracy. DI is the ratio of positive predictions. The guarantee says what the other columns tell.
    """,
    measure=fairness.reproduce,
    runs=(fairness.RUNS, fairness.QUICK_RUNS),
    runs_text="5, the seeds 0 to 4",
    quick_text="LSAC and GRR only, with few seeds. Takes under a minute.",
    sizes=(
        ask_names(
            "--dataset",
            "datasets",
            "Tables: adult, acs, lsac.  [default: all]",
            usual=tuple(fairness.CASES),
            quick=["lsac"],
            read=_leave_out_missing,
        ),
        ask_names(
            "--mechanism",
            "mechanisms",
            "Protocols such as GRR, SUE, OUE, SS, OLH, BLH, THE.  [default: GRR, SUE, OUE]",
            quick=["GRR"],
        ),
        ask_epsilons(fairness.EPSILONS, fairness.QUICK_EPSILONS),
        ask_choice(
            "--split",
            "split",
            "Divide epsilon equally, or by the number of values.",
            ["uniform", "k_based"],
            "uniform",
        ),
    ),
    work="fitting",
    tables=_list_tables,
    draw=plot_fairness,
    guarantees=_state_guarantees,
    notes=_count_differing,
)
