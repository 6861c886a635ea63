"""Shows who was there on which days, from counts and reports."""

from deniable.commands.shared import console
from deniable.formatting import format_count, format_up
from deniable_papers.experiment import DIFFERS, Experiment, Shown, Table, ask_epsilons, ask_names
from deniable_papers.simulate.measure import with_error
from deniable_papers.studies.applications import synthetic_mobility as study
from deniable_papers.studies.plot.synthetic_mobility import plot_synthetic

_COLUMNS = (
    ("method", lambda row: row.method),
    ("noise", lambda row: row.noise),
    ("epsilon", lambda row: "" if row.epsilon is None else f"{row.epsilon:g}"),
    ("loss", lambda row: "no bound" if row.loss is None else format_up(row.loss)),
    ("tv", lambda row: with_error(row.tv, row.stderr)),
    ("stated", lambda row: console.short(row.stated)),
    ("mre", lambda row: f"{row.mre:.2g}"),
    ("paper", lambda row: "" if row.published_mre is None else f"about {row.published_mre:.0%}"),
    ("residual", lambda row: "" if row.residual is None else f"{row.residual:.1g}"),
    ("sets", lambda row: str(row.cells)),
    ("", lambda row: DIFFERS if row.differs else ""),
)

EXPERIMENT = Experiment(
    name="synthetic-mobility",
    shows=(Shown("Synthetic mobility", "people by days of a week: linear program, 8 % error"),),
    minutes=(1, 0.1),
    data="ms-fimu-visits",
    about="""Synthetic weeks of people (MS-FIMU).

    Finds how many people have each of the 127 sets of days of a week: by the published linear program and by
    maximum entropy from counts of 28 unions, with and without noise; and from reports of the sets.
    """,
    measure=study.reproduce,
    runs=(study.RUNS, 3),
    quick_text="Make only 3 runs.",
    sizes=(
        ask_names("--case", "cases", "The ways to find sets of days, such as maxent-local.  [default: all]"),
        ask_epsilons(study.EPSILONS),
    ),
    tables=lambda rows, asked: [
        Table(
            title=f"{format_count(asked.runs, 'run')}, seed {asked.seed}; tv: total variation from the truth",
            columns=_COLUMNS,
            rows=rows,
            margin="0.02 in total variation, 0.001 of exact counts, 0.05 with the linear program",
        )
    ],
    draw=plot_synthetic,
    guarantees=lambda _: study.state_guarantees(),
    notes=lambda _, asked: [study.describe_durations(asked.seed)],
)
