"""Shows reports of a week of visits, and what they truly lose."""

from deniable.commands.shared import console
from deniable.formatting import format_count, format_up
from deniable_papers.experiment import DIFFERS, Experiment, Shown, Table, ask_epsilons, ask_names
from deniable_papers.simulate.measure import with_error
from deniable_papers.studies.applications import mobility
from deniable_papers.studies.plot.mobility import plot_mobility

_COLUMNS = (
    ("figure", lambda row: row.figure),
    ("method", lambda row: row.method),
    ("noise", lambda row: row.noise),
    ("consistency", lambda row: row.consistency),
    ("claimed", lambda row: "" if row.epsilon is None else f"{row.epsilon:g}"),
    ("loss, worst", lambda row: "no bound" if row.loss is None else format_up(row.loss)),
    ("mean", lambda row: console.short(row.loss_mean)),
    ("error", lambda row: with_error(row.rmse, row.stderr)),
    ("stated", lambda row: console.short(row.stated)),
    ("paper", lambda row: console.short(row.paper)),
    ("", lambda row: DIFFERS if row.differs or row.differs_from_paper else ""),
)

EXPERIMENT = Experiment(
    name="mobility",
    shows=(
        Shown("Mobility reports", "RMSE by epsilon over 28 unions of days"),
        Shown("Mobility reports", "shares of one day by Smp[GRR], epsilon 1", "--part day"),
    ),
    minutes=(2, 0.2),
    data="ms-fimu-visits, ms-fimu-marginals",
    about="""Reports of a week of visits (MS-FIMU).

    Everybody reports one attribute at each visit (Smp[GRR]). Measures the error of all shares on 28 unions of
    consecutive days, and counts what a person's reports truly lose. Errors that are 10 % off those of earlier
    runs, or 15 % off the paper's figure, are marked.
    """,
    measure=mobility.reproduce,
    runs=(mobility.RUNS, 2),
    quick_text="Make only 2 runs at two epsilons.",
    sizes=(
        ask_names(
            "--method", "methods", "The ways to report, such as sample or two-buckets.  [default: all]"
        ),
        ask_epsilons(mobility.EPSILONS, (1.0, 4.0)),
        ask_names("--part", "parts", "Parts: week; day, each day alone at epsilon 1.  [default: week]"),
    ),
    tables=lambda rows, asked: [
        Table(
            title=f"{format_count(asked.runs, 'run')}, seed {asked.seed}; errors of a share (RMSE), losses "
            "of a week",
            columns=_COLUMNS,
            rows=rows,
            margin="10 % of what earlier runs had, or 15 % of the paper's figure",
        )
    ],
    draw=plot_mobility,
    guarantees=lambda _: mobility.state_guarantees(),
)
