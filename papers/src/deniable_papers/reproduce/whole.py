"""`deniable reproduce whole`: measures what whole reports with fakes say beyond their tallies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from deniable.commands.shared import console, options
from deniable.formatting import format_count, format_percent
from deniable_papers.reproduce import choices as studies
from deniable_papers.reproduce.points import budgets
from deniable_papers.reproduce.sweeps import load_datasets

if TYPE_CHECKING:
    from deniable_papers.studies.whole import WholePoint

_QUICK_RUNS, _QUICK_PEOPLE, _QUICK_EPSILONS = 2, 5000, (1.0, 4.0)


@click.command("whole")
@studies.options(
    "20",
    f"Make only {_QUICK_RUNS} runs at two epsilons, on {_QUICK_PEOPLE:,} people who need no files.",
    options.name_option("--dataset", "The datasets.  [default: adult, ms-fimu]"),
    options.name_option("--method", "The ways to report.  [default: all]"),
    budgets,
)
def reproduce_whole(
    dataset: Sequence[str], method: Sequence[str], epsilons: Sequence[float], choices: studies.Choices
) -> None:
    """Whole reports against their tallies.

    Reads the same reports of RS+FD and RS+RFD attribute by attribute and as a whole, and those of ALLOMFREE
    round by round and person by person. Measures what the most likely shares gain.
    """
    from deniable_papers.studies import whole
    from deniable_papers.studies.plot.whole import plot_gains

    sets = load_datasets(dataset, whole.DATASETS, choices.quick)
    if choices.quick:
        sets = [replace(people, table=people.table[:_QUICK_PEOPLE]) for people in sets]
    tried = epsilons or (_QUICK_EPSILONS if choices.quick else whole.EPSILONS)
    runs = choices.runs or (_QUICK_RUNS if choices.quick else whole.RUNS)
    with console.progress("measuring") as show:
        heard = studies.announce_duration(show)
        rows = list(whole.reproduce(sets, method or None, tried, runs, choices.seed, heard))
    if studies.write_measurements(choices, rows, plot_gains):
        return
    headers = ["dataset", "method", "epsilon", "unbiased", "composite", "whole", "gain", "variance", "held"]
    cells = [
        [
            row.dataset,
            row.method,
            f"{row.epsilon:g}",
            *_format_errors(row),
        ]
        for row in rows
    ]
    title = (
        f"{format_count(runs, 'run')}, seed {choices.seed}; mean squared errors of a share\n"
        "gain: the part of the composite error that whole reports take away; variance: the same of stated\n"
        "variances; held: how often 95 % intervals from whole reports hold the share"
    )
    console.print_table(title, headers, cells)
    console.print_refusals((row.method, row.refused) for row in rows)


def _format_errors(row: WholePoint) -> list[str]:
    errors = row.mse_unbiased, row.mse_composite, row.mse_whole
    parts = row.variance_gain, row.held
    if row.refused is not None or row.gain is None:
        return ["refused", *([""] * (len(errors) + len(parts)))]
    reach = "" if row.gain_stderr is None else f" +- {100 * row.gain_stderr:.0f}"
    gain = f"{round(100 * row.gain)}{reach} %"
    return [
        *(f"{error:.3g}" for error in errors if error is not None),
        gain,
        *(format_percent(part, 1) for part in parts),
    ]
