"""`deniable reproduce shuffle`: bounds what a crowd hides, beside the specification and small truths."""

from __future__ import annotations

from collections.abc import Sequence

import click

from deniable.commands.shared import console, options
from deniable_papers.reproduce import choices as studies
from deniable_papers.reproduce.stated import print_stated


@click.command("shuffle")
@studies.options(
    "1: nothing is random",
    "Only crowds of 10,000 people, and small ones.",
    options.name_option("--part", "Parts: bounds, small.  [default: all]"),
)
def reproduce_shuffle(part: Sequence[str], choices: studies.Choices) -> None:
    """What a crowd hides, as specified and ours.

    Bounds the loss of a whole collection once names and order are stripped, for any mechanism and for each of
    five. Small crowds are enumerated: no bound is below the truth, and a tempting reduction is. Numbers that
    differ by more than rounding and the grouping of cases, 1.5 %, are marked.
    """
    from deniable_papers.studies import shuffle
    from deniable_papers.studies.plot.shuffle import plot_shuffle

    people = shuffle.QUICK_PEOPLE if choices.quick else None
    with console.progress("computing") as show:
        rows = list(shuffle.reproduce(part or None, people, studies.announce_duration(show)))
    if studies.write_measurements(choices, rows, plot_shuffle):
        return
    print_stated("epsilon once shuffled, delta = 1e-6; of small crowds, delta", rows)
