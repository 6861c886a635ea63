"""`deniable reproduce allomfree`: reproduces the figures on two rounds of one attribute."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from deniable.commands.reproduce.sweeps import (
    choose_runs,
    format_errors,
    format_number,
    format_title,
    load_datasets,
    sweep_options,
)
from deniable.commands.shared import console, writing


@click.command("allomfree")
@sweep_options
def reproduce_allomfree(
    dataset: Sequence[str],
    runs: int | None,
    seed: int,
    out: Sequence[Path],
    as_json: bool,
    plot_files: Sequence[Path],
    force: bool,
    quick: bool,
) -> None:
    """Two rounds on one attribute (ALLOMFREE).

    Reproduces the longitudinal figures of the ALLOMFREE paper. ALLOMFREE as published spends only a part of
    the budget of one report; ALLOMFREE-exact spends all of it.
    """
    from deniable.studies import allomfree
    from deniable.studies.plot import sweeps as plot_studies

    writing.check(out, plot_files, force)
    sets = load_datasets(dataset, allomfree.DATASETS, quick)
    with console.progress("measuring") as show:
        rows = list(
            allomfree.reproduce(
                sets, runs=runs or choose_runs(allomfree.RUNS, quick), seed=seed, progress=show
            )
        )
    if writing.write_measurements(rows, plot_studies.allomfree_plot, out, plot_files, as_json):
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
    console.print_table(format_title(rows[0].runs, seed), headers, cells)
    console.print_refusals((row.method, row.refused) for row in rows)
