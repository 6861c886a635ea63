"""`deniable reproduce synthetic-mobility`: finds who was there on which days, from counts and reports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from deniable.commands.shared import console, options
from deniable.formatting import format_count, format_up
from deniable_papers.reproduce import choices as studies
from deniable_papers.reproduce.applications import DIFFERS, report_rows
from deniable_papers.reproduce.points import budgets

if TYPE_CHECKING:
    from deniable_papers.studies.applications.synthetic_mobility import SyntheticPoint

_QUICK_RUNS = 3


@click.command("synthetic-mobility")
@studies.options(
    "10",
    f"Make only {_QUICK_RUNS} runs.",
    options.name_option("--case", "The ways to find sets of days, such as maxent-local.  [default: all]"),
    budgets,
)
def reproduce_synthetic_mobility(
    case: Sequence[str], epsilons: Sequence[float], choices: studies.Choices
) -> None:
    """Synthetic weeks of people (MS-FIMU).

    Finds how many people have each of the 127 sets of days of a week: by the published linear program and by
    maximum entropy from counts of 28 unions, with and without noise; and from reports of the sets.
    """
    from deniable_papers.studies.applications import synthetic_mobility as study
    from deniable_papers.studies.plot.synthetic_mobility import plot_synthetic

    runs = choices.runs or (_QUICK_RUNS if choices.quick else study.RUNS)
    tried = epsilons or study.EPSILONS
    with console.progress("measuring") as show:
        heard = studies.announce_duration(show)
        rows = list(study.reproduce(case or None, tried, runs, choices.seed, heard))
    title = f"{format_count(runs, 'run')}, seed {choices.seed}; tv: total variation from the truth"
    margin = "0.02 in total variation, 0.001 of exact counts, 0.05 with the linear program"
    report_rows(choices, title, rows, plot_synthetic, _COLUMNS, study.state_guarantees(), margin=margin)
    if not choices.as_json:
        click.echo(study.describe_durations(choices.seed))


def _format_loss(row: SyntheticPoint) -> str:
    return "no bound" if row.loss is None else format_up(row.loss)


_COLUMNS: Sequence[tuple[str, Callable[[SyntheticPoint], str]]] = (
    ("method", lambda row: row.method),
    ("noise", lambda row: row.noise),
    ("epsilon", lambda row: "" if row.epsilon is None else f"{row.epsilon:g}"),
    ("loss", _format_loss),
    ("tv", lambda row: console.with_error(row.tv, row.stderr)),
    ("stated", lambda row: console.short(row.stated)),
    ("mre", lambda row: f"{row.mre:.2g}"),
    ("residual", lambda row: "" if row.residual is None else f"{row.residual:.1g}"),
    ("sets", lambda row: str(row.cells)),
    ("", lambda row: DIFFERS if row.differs else ""),
)
