"""Shows the figures on splitting, sampling and fake data."""

from deniable_papers.experiment import Experiment, Table
from deniable_papers.reproduce.sweeps import (
    ERRORS,
    QUICK_RUNS,
    QUICK_TEXT,
    ask_datasets,
    format_title,
    show_loss,
)
from deniable_papers.studies import rsfd
from deniable_papers.studies.plot.sweeps import rsfd_plot

_COLUMNS = (
    ("dataset", lambda row: row.dataset),
    ("method", lambda row: row.method),
    ("epsilon", lambda row: f"{row.epsilon:.4f}"),
    *ERRORS,
    ("true loss per record", show_loss("loss_record")),
    ("per attribute", show_loss("loss_attribute")),
)

EXPERIMENT = Experiment(
    name="rsfd",
    about="""Splitting, sampling, and fake data (RS+FD).

    Reproduces figures 6 to 10 of the RS+FD paper. Every RS+FD method is measured as published, and `at
    record`: with a true loss per record of at most epsilon.
    """,
    measure=rsfd.reproduce,
    runs=(rsfd.RUNS, QUICK_RUNS),
    quick_text=QUICK_TEXT,
    sizes=(ask_datasets("The datasets.  [default: all]", rsfd.DATASETS),),
    tables=lambda rows, asked: [Table(title=format_title(rows, asked), columns=_COLUMNS, rows=rows)],
    draw=rsfd_plot,
    refusals=lambda row: row.method,
)
