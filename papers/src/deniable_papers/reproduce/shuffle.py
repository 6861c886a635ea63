"""Shows what a crowd hides, beside the specification and small truths."""

from deniable_papers.experiment import Experiment, Shown, Size, ask_names
from deniable_papers.reproduce.stated import list_stated
from deniable_papers.studies import shuffle
from deniable_papers.studies.plot.shuffle import plot_shuffle

EXPERIMENT = Experiment(
    name="shuffle",
    shows=(Shown("This project", "what a crowd hides"),),
    minutes=(1, 0.1),
    data="none",
    about="""What a crowd hides, as specified and ours.

    Bounds the loss of a whole collection once names and order are stripped, for any mechanism and for each of
    five. Small crowds are enumerated: no bound is below the truth, and a tempting reduction is. Numbers that
    differ by more than rounding and the grouping of cases, 1.5 %, are marked.
    """,
    measure=shuffle.reproduce,
    runs=(1, 1),
    runs_text="1: nothing is random",
    quick_text="Only crowds of 10,000 people, and small ones.",
    sizes=(
        ask_names("--part", "parts", "Parts: bounds, small.  [default: all]"),
        Size(keyword="people", quick=shuffle.QUICK_PEOPLE),
    ),
    work="computing",
    tables=lambda rows, _: list_stated("epsilon once shuffled, delta = 1e-6; of small crowds, delta", rows),
    draw=plot_shuffle,
)
