"""Shows what tables of two answers say, beside their specification."""

from deniable.formatting import format_count
from deniable_papers.experiment import Experiment, Shown, ask_names
from deniable_papers.reproduce.stated import list_stated
from deniable_papers.studies import crosstabs
from deniable_papers.studies.plot.crosstabs import plot_crosstabs

EXPERIMENT = Experiment(
    name="crosstabs",
    shows=(Shown("This project", "tables of two answers"),),
    minutes=(15, 0.2),
    data="simulated, adult",
    about="""Tables of two answers, as specified and ours.

    Compares designs by their variance, intervals by how often they hold, tests by how often they reject, and
    tables of Adult (6 runs at most) by their error. Simulated people are compared by how well a classifier
    that learned from them ranks real ones. Numbers that differ by more than chance and rounding are marked.
    """,
    measure=crosstabs.reproduce,
    runs=(crosstabs.RUNS, crosstabs.QUICK_RUNS),
    quick_text="Make only 200 runs, on simulated people who need no files.",
    sizes=(
        ask_names(
            "--part",
            "parts",
            "Parts: designs, intervals, tests, adult, people, example.  [default: all]",
            quick=("designs", "intervals", "tests", "example"),
        ),
    ),
    tables=lambda rows, asked: list_stated(
        f"{format_count(asked.runs, 'run')} (Adult 6 at most), seed {asked.seed}; errors of the simulation",
        rows,
    ),
    draw=plot_crosstabs,
)
