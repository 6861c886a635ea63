"""`deniable reproduce fairness`: reproduces how sanitized attributes change a model, beside dropping them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from deniable.commands.shared import console, options
from deniable.formatting import format_count, format_loss
from deniable_papers.reproduce import choices as studies
from deniable_papers.reproduce.applications import report_rows
from deniable_papers.reproduce.points import budgets

if TYPE_CHECKING:
    from deniable_papers.studies.applications.fairness import FairnessPoint


@click.command("fairness")
@studies.options(
    "5, the seeds 0 to 4",
    "LSAC and GRR only, with few seeds. Takes under a minute.",
    options.name_option("--dataset", "Tables: adult, acs, lsac.  [default: all]"),
    options.name_option(
        "--mechanism", "Protocols such as GRR, SUE, OUE, SS, OLH, BLH, THE.  [default: GRR, SUE, OUE]"
    ),
    budgets,
    click.option(
        "--split",
        type=click.Choice(["uniform", "k_based"]),
        default="uniform",
        show_default=True,
        help="Divide epsilon equally, or by the number of values.",
    ),
)
def reproduce_fairness(
    dataset: list[str], mechanism: list[str], epsilons: list[float], split: str, choices: studies.Choices
) -> None:
    """Sanitized attributes, accuracy and fairness.

    Four sensitive attributes of the training part are sanitized, and LightGBM predicts for a raw test part.
    NonDP is the model of raw values; `dropped` does without the four attributes, which costs no privacy. SPD,
    EOD and OAD are differences between the groups 1 and 0 of an attribute: of positive predictions, of recall
    and of accuracy. DI is the ratio of positive predictions. The guarantee says what the other columns tell.
    """
    from deniable_papers.studies.applications import fairness
    from deniable_papers.studies.plot.fairness import plot_fairness

    quick = choices.quick
    with console.progress("fitting") as show:
        rows = list(
            fairness.reproduce(
                dataset or (["lsac"] if quick else None),
                mechanism or (["GRR"] if quick else None),
                epsilons or (fairness.QUICK_EPSILONS if quick else fairness.EPSILONS),
                "k_based" if split == "k_based" else "uniform",
                choices.runs or (fairness.QUICK_RUNS if quick else fairness.RUNS),
                choices.seed,
                studies.announce_duration(show),
            )
        )
    models = [row for row in rows if isinstance(row, fairness.FairnessPoint)]
    names = list(dict.fromkeys(row.dataset for row in models))
    guarantees = [(name, fairness.describe_guarantee(name, rows)) for name in names]
    title = f"{format_count(models[0].runs, 'seed')} from 0, noise of seed {choices.seed}, {split} budgets"
    report_rows(choices, title, rows, plot_fairness, _COLUMNS, guarantees, models)
    if not choices.as_json:
        _count_differing(models)


def _show(row: FairnessPoint, metric: str) -> str:
    """A mean, and in parentheses the published one of the same seeds."""
    known = "" if row.published is None else f" ({row.published[metric]:.4f})"
    return f"{getattr(row, metric):.4f}{known}"


_COLUMNS = (
    ("table", lambda row: row.dataset),
    ("mechanism", lambda row: row.mechanism),
    ("epsilon", lambda row: "" if row.epsilon is None else f"{row.epsilon:g}"),
    ("accuracy (published)", lambda row: _show(row, "acc")),
    ("SPD", lambda row: _show(row, "spd")),
    ("EOD", lambda row: _show(row, "eod")),
    ("DI", lambda row: _show(row, "di")),
    ("OAD", lambda row: _show(row, "oad")),
    ("F1", lambda row: _show(row, "f1")),
    ("loss", lambda row: "raw" if row.loss is None else format_loss(row.loss)),
)


def _count_differing(models: Sequence[FairnessPoint]) -> None:
    known = [row for row in models if row.published is not None]
    differing = sum(row.differs for row in known)
    points = format_count(len(known), "point")
    click.echo(
        "farther from what was published than three standard errors (raw values: 0.0005): "
        f"{differing} of {points}"
    )
