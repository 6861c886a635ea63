"""`deniable reproduce crosstabs`: measures what tables of two answers say, beside their specification."""

from __future__ import annotations

from collections.abc import Sequence

import click

from deniable.commands.shared import console, options
from deniable.formatting import format_count
from deniable_papers.reproduce import choices as studies
from deniable_papers.reproduce.stated import print_stated

_QUICK_PARTS = ("designs", "intervals", "tests", "example")


@click.command("crosstabs")
@studies.options(
    "2000",
    "Make only 200 runs, on simulated people who need no files.",
    options.name_option(
        "--part", "Parts: designs, intervals, tests, adult, people, example.  [default: all]"
    ),
)
def reproduce_crosstabs(part: Sequence[str], choices: studies.Choices) -> None:
    """Tables of two answers, as specified and ours.

    Compares designs by their variance, intervals by how often they hold, tests by how often they reject, and
    tables of Adult (6 runs at most) by their error. Simulated people are compared by how well a classifier
    that learned from them ranks real ones. Numbers that differ by more than chance and rounding are marked.
    """
    from deniable_papers.studies import crosstabs
    from deniable_papers.studies.plot.crosstabs import plot_crosstabs

    runs = choices.runs or (crosstabs.QUICK_RUNS if choices.quick else crosstabs.RUNS)
    parts = part or (_QUICK_PARTS if choices.quick else None)
    with console.progress("measuring") as show:
        heard = studies.announce_duration(show)
        rows = list(crosstabs.reproduce(parts, runs, choices.seed, heard))
    if studies.write_measurements(choices, rows, plot_crosstabs):
        return
    title = f"{format_count(runs, 'run')} (Adult 6 at most), seed {choices.seed}; errors of the simulation"
    print_stated(title, rows)
