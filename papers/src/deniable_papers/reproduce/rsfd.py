"""`deniable reproduce rsfd`: reproduces the figures on splitting, sampling and fake data."""

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


@click.command("rsfd")
@sweep_options
def reproduce_rsfd(dataset: Sequence[str], choices: studies.Choices) -> None:
    """Splitting, sampling, and fake data (RS+FD).

    Reproduces figures 6 to 10 of the RS+FD paper. Every RS+FD method is measured as published, and `at
    record`: with a true loss per record of at most epsilon.
    """
    from deniable_papers.studies import rsfd
    from deniable_papers.studies.plot import sweeps as plot_studies

    sets = load_datasets(dataset, rsfd.DATASETS, choices.quick)
    with console.progress("measuring") as show:
        runs = choose_runs(choices, rsfd.RUNS)
        rows = list(rsfd.reproduce(sets, runs=runs, seed=choices.seed, progress=show))
    if studies.write_measurements(choices, rows, plot_studies.rsfd_plot):
        return
    headers = ["dataset", "method", "epsilon", "MSE_avg", "unbiased", "true loss per record", "per attribute"]
    cells = [
        [
            row.dataset,
            row.method,
            f"{row.epsilon:.4f}",
            *format_errors(row),
            *map(format_number, (row.loss_record, row.loss_attribute)),
        ]
        for row in rows
    ]
    console.print_table(format_title(rows[0].runs, choices.seed), headers, cells)
    console.print_refusals((row.method, row.refused) for row in rows)
