"""Shows the figures on two rounds of one attribute."""

from deniable_papers.experiment import Experiment, Shown, Table
from deniable_papers.reproduce.sweeps import (
    ERRORS,
    QUICK_RUNS,
    QUICK_TEXT,
    ask_datasets,
    format_title,
    show_loss,
)
from deniable_papers.studies import allomfree
from deniable_papers.studies.plot.sweeps import allomfree_plot

_COLUMNS = (
    ("dataset", lambda row: row.dataset),
    ("method", lambda row: row.method),
    ("epsilon", lambda row: f"{row.epsilon_forever:g}"),
    ("of one report", lambda row: f"{row.epsilon_first:g}"),
    *ERRORS,
    ("true loss of one", show_loss("loss_record")),
    ("forever", show_loss("loss_forever")),
    ("L-GRR", lambda row: "" if row.direct is None else f"{row.direct} of {row.d}"),
)

EXPERIMENT = Experiment(
    name="allomfree",
    shows=(Shown("ALLOMFREE", "figures of MSE_avg by epsilon_infinity and epsilon_1"),),
    minutes=(1, 0.2),
    data="nursery, adult, ms-fimu, census-income, synthetic; or your own",
    about="""Two rounds on one attribute (ALLOMFREE).

    Reproduces the longitudinal figures of the ALLOMFREE paper. ALLOMFREE as published spends only a part of
    the budget of one report; ALLOMFREE-exact spends all of it.
    """,
    measure=allomfree.reproduce,
    runs=(allomfree.RUNS, QUICK_RUNS),
    quick_text=QUICK_TEXT,
    sizes=(ask_datasets("The datasets.  [default: all]", allomfree.DATASETS),),
    tables=lambda rows, asked: [Table(title=format_title(rows, asked), columns=_COLUMNS, rows=rows)],
    draw=allomfree_plot,
    refusals=lambda row: row.method,
)
