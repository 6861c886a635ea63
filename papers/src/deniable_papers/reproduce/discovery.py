"""Shows what is found of strings that nobody listed."""

from deniable.formatting import format_count
from deniable_papers.experiment import Experiment, Shown, Size, ask_names
from deniable_papers.reproduce.stated import list_stated
from deniable_papers.studies import discovery
from deniable_papers.studies.plot.discovery import plot_discovery

EXPERIMENT = Experiment(
    name="discovery",
    shows=(Shown("This project", "strings that nobody listed"),),
    minutes=(30, 0.5),
    data="simulated",
    about="""Strings nobody listed, specified and ours.

    Counts how many of the 20 most common strings are found, how many studies show a string that nobody has,
    how often intervals hold for what is shown, and which share is found about half of the time. Of
    studies with up to a million people, 10 are made at most. Numbers that differ by more than chance and
    rounding are marked.
    """,
    measure=discovery.reproduce,
    runs=(discovery.RUNS, discovery.QUICK_RUNS),
    quick_text="Make only 60 runs, of 100,000 people at most.",
    sizes=(
        ask_names("--part", "parts", "Parts: found, errors, shares, limits.  [default: all]"),
        Size(keyword="people", quick=10**5, usual=10**6),
    ),
    work="searching",
    tables=lambda rows, asked: list_stated(
        f"{format_count(asked.runs, 'run')} (of large studies 10 at most), seed {asked.seed}; errors of the "
        "simulation",
        rows,
    ),
    draw=plot_discovery,
)
