"""`deniable reproduce revisited`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click

from deniable.commands.reproduce.points import QUICK, budgets, format_accuracy, print_points, select_rows
from deniable.commands.shared import console, studies, writing
from deniable.commands.shared.console import one, whole


@click.command("revisited")
@studies.options(
    "20",
    QUICK,
    click.option(
        "--dataset",
        type=click.Choice(["adult", "synthetic"]),
        default="synthetic",
        show_default=True,
        help="Whose values.",
    ),
    budgets,
    click.option(
        "--users", callback=one(partial(whole, least=1)), help="Ask only so many people, drawn at random."
    ),
)
def reproduce_revisited(
    dataset: str,
    epsilons: list[float],
    runs: int | None,
    users: int | None,
    seed: int,
    out: Sequence[Path],
    as_json: bool,
    plot_files: Sequence[Path],
    force: bool,
    quick: bool,
) -> None:
    """Error against attack for classical and robust protocols, and which of them nothing beats.

    `published` has the study's formulas, `exact` those of the law, `guess` what was measured. 100 values:
    Adult's ages (read from the folder $DENIABLE_DATA, or fetched and kept), or 50,000 invented people.
    """
    from deniable import data
    from deniable.studies import tradeoffs
    from deniable.studies.plot import risks as plot_risks

    writing.check(out, plot_files, force)
    people = data.load("adult-10") if dataset == "adult" else None
    with console.progress("measuring") as show:
        rows = studies.kept_as_done(
            out,
            tradeoffs.reproduce(
                people,
                epsilons=epsilons or (tradeoffs.QUICK_EPSILONS if quick else tradeoffs.EPSILONS),
                runs=runs or (tradeoffs.QUICK_RUNS if quick else tradeoffs.RUNS),
                users=users,
                seed=seed,
                progress=studies.estimating(show),
            ),
            as_json,
        )
    studies.tell_if_all(users, rows[0].n, rows[0].dataset, "asked")
    if studies.told_to_machines(rows, plot_risks.tradeoffs_plot, out, plot_files, as_json):
        return
    headers = ["protocol", "epsilon", "attack", "accuracy", "95 %", "MSE", "true loss", "nothing beats it"]
    cells = [
        [
            *(row.protocol, f"{row.epsilon:g}", row.attack, *format_accuracy(row)),
            "" if row.mse is None else console.with_error(row.mse, row.mse_stderr or None),
            "" if row.loss is None else f"{row.loss:.4f}",
            "yes" if row.pareto else "",
        ]
        for row in select_rows(rows)
    ]
    print_points(rows, headers, cells)
