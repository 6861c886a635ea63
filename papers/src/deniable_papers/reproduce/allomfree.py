"""`deniable reproduce allomfree`: reproduces the figures on two rounds of one attribute."""

from __future__ import annotations

from collections.abc import Sequence

import click

from deniable.commands.shared import console
from deniable_papers.reproduce import choices as studies
from deniable_papers.reproduce.sweeps import (
    choose_runs,
    format_errors,
    format_number,
    format_title,
    load_datasets,
    sweep_options,
)


@click.command("allomfree")
@sweep_options
def reproduce_allomfree(dataset: Sequence[str], choices: studies.Choices) -> None:
    """Two rounds on one attribute (ALLOMFREE).

    Reproduces the longitudinal figures of the ALLOMFREE paper. ALLOMFREE as published spends only a part of
    the budget of one report; ALLOMFREE-exact spends all of it.
    """
    from deniable_papers.studies import allomfree
    from deniable_papers.studies.plot import sweeps as plot_studies

    sets = load_datasets(dataset, allomfree.DATASETS, choices.quick)
    with console.progress("measuring") as show:
        runs = choose_runs(choices, allomfree.RUNS)
        rows = list(allomfree.reproduce(sets, runs=runs, seed=choices.seed, progress=show))
    if studies.write_measurements(choices, rows, plot_studies.allomfree_plot):
        return
    headers = [
        "dataset",
        "method",
        "epsilon",
        "of one report",
        "MSE_avg",
        "unbiased",
        "true loss of one",
        "forever",
        "L-GRR",
    ]
    cells = [
        [
            *(
                row.dataset,
                row.method,
                f"{row.epsilon_forever:g}",
                f"{row.epsilon_first:g}",
                *format_errors(row),
            ),
            *map(format_number, (row.loss_record, row.loss_forever)),
            "" if row.direct is None else f"{row.direct} of {row.d}",
        ]
        for row in rows
    ]
    console.print_table(format_title(rows[0].runs, choices.seed), headers, cells)
    console.print_refusals((row.method, row.refused) for row in rows)
