"""`deniable reproduce revisited`: compares the error of protocols with the success of attacks."""

from __future__ import annotations

import click

from deniable.commands.shared import console
from deniable.commands.shared.options import COUNT
from deniable_papers.reproduce import choices as studies
from deniable_papers.reproduce.points import QUICK, budgets, format_accuracy, print_points, select_rows


@click.command("revisited")
@studies.options(
    "20",
    QUICK,
    click.option(
        "--dataset",
        type=click.Choice(["adult", "synthetic"]),
        default="synthetic",
        show_default=True,
        help="The values: Adult's ages, or those of simulated people.",
    ),
    budgets,
    click.option("--users", type=COUNT, help="Ask only this number of people, drawn at random."),
)
def reproduce_revisited(
    dataset: str,
    epsilons: list[float],
    users: int | None,
    choices: studies.Choices,
) -> None:
    """Error against attack success, by protocol.

    Compares classical and robust protocols, and names those that nothing beats. `published` has the study's
    formulas, `exact` those of the law, `guess` what was measured. There are 100 values: Adult's ages (from
    the folder $DENIABLE_DATA, from the clone, or fetched and kept), or those of 50,000 simulated people.
    """
    from deniable import data
    from deniable_papers.studies import tradeoffs
    from deniable_papers.studies.plot import risks as plot_risks

    people = data.load("adult-10") if dataset == "adult" else None
    with console.progress("measuring") as show:
        rows = studies.keep_rows(
            choices,
            tradeoffs.reproduce(
                people,
                epsilons=epsilons or (tradeoffs.QUICK_EPSILONS if choices.quick else tradeoffs.EPSILONS),
                runs=choices.runs or (tradeoffs.QUICK_RUNS if choices.quick else tradeoffs.RUNS),
                users=users,
                seed=choices.seed,
                progress=studies.announce_duration(show),
            ),
        )
    studies.warn_if_fewer(users, rows[0].n, rows[0].dataset, "asked")
    if studies.write_rows(choices, rows, plot_risks.tradeoffs_plot):
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
