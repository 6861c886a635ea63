"""`deniable reproduce discovery`: measures what is found of strings that nobody listed."""

from __future__ import annotations

from collections.abc import Sequence

import click

from deniable.commands.shared import console, options
from deniable.formatting import format_count
from deniable_papers.reproduce import choices as studies
from deniable_papers.reproduce.stated import print_stated

_QUICK_PEOPLE = 10**5


@click.command("discovery")
@studies.options(
    "300",
    "Make only 60 runs, of 100,000 people at most.",
    options.name_option("--part", "Parts: found, errors, shares, limits.  [default: all]"),
)
def reproduce_discovery(part: Sequence[str], choices: studies.Choices) -> None:
    """Strings nobody listed, specified and ours.

    Counts how many of the 20 most common strings are found, how many studies show a string that nobody has,
    how often intervals hold for what is shown, and which share is found about half of the time. Of
    studies with up to a million people, 10 are made at most. Numbers that differ by more than chance and
    rounding are marked.
    """
    from deniable_papers.studies import discovery
    from deniable_papers.studies.plot.discovery import plot_discovery

    runs = choices.runs or (discovery.QUICK_RUNS if choices.quick else discovery.RUNS)
    people = _QUICK_PEOPLE if choices.quick else 10**6
    with console.progress("searching") as show:
        heard = studies.announce_duration(show)
        rows = list(discovery.reproduce(part or None, runs, choices.seed, heard, people))
    if studies.write_measurements(choices, rows, plot_discovery):
        return
    title = f"{format_count(runs, 'run')} (of large studies 10 at most), seed {choices.seed}"
    print_stated(f"{title}; errors of the simulation", rows)
