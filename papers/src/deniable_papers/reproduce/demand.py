"""`deniable reproduce demand`: forecasts demand from sanitized regions."""

from __future__ import annotations

from collections.abc import Sequence

import click

from deniable.commands.shared import console, options
from deniable.formatting import format_count
from deniable_papers.reproduce import choices as studies
from deniable_papers.reproduce.applications import DIFFERS, report_rows
from deniable_papers.reproduce.points import budgets


@click.command("demand")
@studies.options(
    "4",
    "Make one run of OUE, at three epsilons.",
    options.name_option("--dataset", "Datasets: synthetic, montgomery.  [default: all]"),
    options.name_option("--protocol", "Protocols: oue, grr, sue.  [default: all]"),
    budgets,
)
def reproduce_demand(
    dataset: Sequence[str], protocol: Sequence[str], epsilons: Sequence[float], choices: studies.Choices
) -> None:
    """Demand by region, from sanitized regions.

    Every record reports its region once; its day is exact. A model learns from debiased counts of days. It is
    compared with the mean of equal weekdays, and with a forecast of the exact total times debiased shares.
    Montgomery's calls are a simulated stand-in, and named so, unless the folder $DENIABLE_DATA has
    montgomery-911.csv.
    """
    from deniable_papers.studies.applications import demand
    from deniable_papers.studies.plot.demand import plot_demand

    runs = choices.runs or (demand.QUICK_RUNS if choices.quick else demand.RUNS)
    chosen = epsilons or (demand.QUICK_EPSILONS if choices.quick else demand.EPSILONS)
    protocols = protocol or (("oue",) if choices.quick else None)
    with console.progress("forecasting") as show:
        heard = studies.announce_duration(show)
        rows = list(
            demand.reproduce(dataset or None, protocols, chosen, runs, seed=choices.seed, progress=heard)
        )
    report_rows(
        choices,
        f"{format_count(runs, 'run')}, seed {choices.seed}; errors in records per period and region",
        rows,
        plot_demand,
        (
            ("dataset", lambda row: row.dataset),
            ("model", lambda row: row.model),
            ("protocol", lambda row: row.protocol),
            ("epsilon", lambda row: "" if row.epsilon is None else f"{row.epsilon:g}"),
            ("noise of a count", lambda row: f"{row.noise_floor:.1f}"),
            ("MAE", lambda row: f"{row.mae:.3f}"),
            ("RMSE", lambda row: f"{row.rmse:.3f}"),
            ("R2", lambda row: f"{row.r2:.3f}"),
            ("specification", lambda row: "" if row.stated is None else f"{row.stated:.4g}"),
            ("", lambda row: DIFFERS if row.differs else ""),
        ),
        [("Demand", demand.GUARANTEE)],
        margin="three standard deviations and the rounding of what is stated",
    )
