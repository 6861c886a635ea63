"""Shows the figures on splitting, sampling and fake data."""

from __future__ import annotations

from collections.abc import Sequence

from deniable.commands.shared import console
from deniable_papers.experiment import Asked, Experiment, Shown, Table, ask_names
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
    ("d", lambda row: str(row.d)),
    ("method", lambda row: row.method),
    ("epsilon", lambda row: f"{row.epsilon:.4f}"),
    *ERRORS,
    ("variance", lambda row: console.short(row.variance)),
    ("true loss per record", show_loss("loss_record")),
    ("per attribute", show_loss("loss_attribute")),
)


def _list_tables(rows: Sequence[rsfd.RsfdPoint], asked: Asked) -> list[Table]:
    """A table for each figure."""
    titles = {
        "errors": format_title(rows, asked),
        "variances": f"variances at f = 0 of {rsfd.VARIANCE_PEOPLE:,} people, computed from the law",
        "realistic": f"{format_title(rows, asked)}\nRS+RFD: fakes by the true shares with Laplace noise",
    }
    return [
        Table(title=title, columns=_COLUMNS, rows=shown, sparse=True)
        for figure, title in titles.items()
        if (shown := [row for row in rows if row.figure == figure])
    ]


EXPERIMENT = Experiment(
    name="rsfd",
    shows=(
        Shown("RS+FD", "figure 5: variances of the estimates", "--figure variances", data="none"),
        Shown("RS+FD", "figures 6 to 10: MSE_avg of SPL, SMP and RS+FD", "--figure errors"),
        Shown(
            "Risks",
            "figures 5 and 16: MSE_avg of RS+RFD and RS+FD",
            "--figure realistic --dataset acs-employment,adult-10",
            data="acs-employment, adult; or your own",
        ),
    ),
    minutes=(1, 0.2),
    data="nursery, adult, ms-fimu, census-income, synthetic; or your own",
    about="""Splitting, sampling, and fake data (RS+FD).

    Draws MSE_avg against epsilon for SPL[ADP], SMP[ADP] and RS+FD with GRR, OUE-z, OUE-r and ADP, a panel for
    each dataset: figures 6 to 10 of the RS+FD paper. --figure variances draws its figure 5, the variances of
    the estimates. --figure realistic draws RS+RFD beside RS+FD: figures 5 and 16 of the risks paper.

    Every RS+FD method is there as published, and `at record`: with a true loss per record of at most epsilon.
    MSE_avg is that of the unbiased estimates, as printed; `projected` is that of estimates clipped at 0 and
    scaled to a sum of one.
    """,
    measure=rsfd.reproduce,
    runs=(rsfd.RUNS, QUICK_RUNS),
    quick_text=QUICK_TEXT,
    sizes=(
        ask_datasets("The datasets.  [default: all]", rsfd.DATASETS),
        ask_names("--figure", "figures", "The figures: errors, variances, realistic.  [default: errors]"),
    ),
    tables=_list_tables,
    draw=rsfd_plot,
    refusals=lambda row: row.method,
)
