"""`deniable reproduce mobility`: measures reports of a week of visits, and what they truly lose."""

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
    from deniable_papers.studies.applications.mobility import MobilityPoint

_QUICK_RUNS, _QUICK_EPSILONS = 2, (1.0, 4.0)


@click.command("mobility")
@studies.options(
    "10",
    f"Make only {_QUICK_RUNS} runs at two epsilons.",
    options.name_option("--method", "The ways to report, such as sample or two-buckets.  [default: all]"),
    budgets,
)
def reproduce_mobility(method: Sequence[str], epsilons: Sequence[float], choices: studies.Choices) -> None:
    """Reports of a week of visits (MS-FIMU).

    Everybody reports one attribute at each visit. Measures the error of all shares on 28 unions of
    consecutive days, and counts what a person's reports truly lose. Errors that are 10 % off those of earlier
    runs, or 15 % off the paper's figure, are marked.
    """
    from deniable_papers.studies.applications import mobility
    from deniable_papers.studies.plot.mobility import plot_mobility

    runs = choices.runs or (_QUICK_RUNS if choices.quick else mobility.RUNS)
    tried = epsilons or (_QUICK_EPSILONS if choices.quick else mobility.EPSILONS)
    with console.progress("measuring") as show:
        heard = studies.announce_duration(show)
        rows = list(mobility.reproduce(method or None, tried, runs, choices.seed, heard))
    title = f"{format_count(runs, 'run')}, seed {choices.seed}; errors of a share (RMSE), losses of a week"
    margin = "10 % of what earlier runs had, or 15 % of the paper's figure"
    report_rows(choices, title, rows, plot_mobility, _COLUMNS, mobility.state_guarantees(), margin=margin)


def _format_loss(row: MobilityPoint) -> str:
    return "no bound" if row.loss is None else format_up(row.loss)


def _mark(row: MobilityPoint) -> str:
    return DIFFERS if row.differs or row.differs_from_paper else ""


_COLUMNS: Sequence[tuple[str, Callable[[MobilityPoint], str]]] = (
    ("method", lambda row: row.method),
    ("noise", lambda row: row.noise),
    ("consistency", lambda row: row.consistency),
    ("claimed", lambda row: "" if row.epsilon is None else f"{row.epsilon:g}"),
    ("loss, worst", _format_loss),
    ("mean", lambda row: console.short(row.loss_mean)),
    ("error", lambda row: console.with_error(row.rmse, row.stderr)),
    ("stated", lambda row: console.short(row.stated)),
    ("paper", lambda row: console.short(row.paper)),
    ("", _mark),
)
