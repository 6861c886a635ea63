"""Shows how far ranges are off, by method, beside their specification."""

from deniable.formatting import format_count
from deniable_papers.experiment import Experiment, Shown, Size, ask_names
from deniable_papers.reproduce.stated import list_stated
from deniable_papers.studies import ranges
from deniable_papers.studies.plot.ranges import plot_ranges

EXPERIMENT = Experiment(
    name="ranges",
    shows=(Shown("This project", "ranges of many values"),),
    minutes=(2, 0.2),
    data="simulated",
    about="""Ranges of many values, specified and ours.

    Compares fan-outs by the variance of a range, and methods by how far ranges and cumulative shares of
    simulated people are off: flat reports, levels by least squares, made to never fall, and a square wave.
    Counts how often intervals of ranges and quantiles hold. Numbers that differ by more than chance and
    rounding are marked.
    """,
    measure=ranges.reproduce,
    runs=(ranges.RUNS, ranges.QUICK_RUNS),
    quick_text="Make only 3 runs, of 1,024 values.",
    sizes=(
        ask_names("--part", "parts", "Parts: trees, errors.  [default: all]"),
        Size(keyword="sizes", quick=ranges.QUICK_SIZES, usual=ranges.SIZES),
    ),
    tables=lambda rows, asked: list_stated(
        f"{format_count(asked.runs, 'run')}, seed {asked.seed}; errors of the simulation", rows
    ),
    draw=plot_ranges,
)
