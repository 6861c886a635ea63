"""`deniable reproduce ranges`: measures how far ranges are off, by method, beside their specification."""

from __future__ import annotations

from collections.abc import Sequence

import click

from deniable.commands.shared import console, options
from deniable.formatting import format_count
from deniable_papers.reproduce import choices as studies
from deniable_papers.reproduce.stated import print_stated


@click.command("ranges")
@studies.options(
    "12",
    "Make only 3 runs, of 1,024 values.",
    options.name_option("--part", "Parts: trees, errors.  [default: all]"),
)
def reproduce_ranges(part: Sequence[str], choices: studies.Choices) -> None:
    """Ranges of many values, specified and ours.

    Compares fan-outs by the variance of a range, and methods by how far ranges and cumulative shares of
    simulated people are off: flat reports, levels by least squares, made to never fall, and a square wave.
    Counts how often intervals of ranges and quantiles hold. Numbers that differ by more than chance and
    rounding are marked.
    """
    from deniable_papers.studies import ranges
    from deniable_papers.studies.plot.ranges import plot_ranges

    runs = choices.runs or (ranges.QUICK_RUNS if choices.quick else ranges.RUNS)
    sizes = ranges.QUICK_SIZES if choices.quick else ranges.SIZES
    with console.progress("measuring") as show:
        heard = studies.announce_duration(show)
        rows = list(ranges.reproduce(part or None, runs, choices.seed, sizes, heard))
    if studies.write_measurements(choices, rows, plot_ranges):
        return
    print_stated(f"{format_count(runs, 'run')}, seed {choices.seed}; errors of the simulation", rows)
