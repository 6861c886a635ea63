"""`deniable reproduce forecasting`: forecasts counts of people from noisy counts and by noisy gradients."""

from __future__ import annotations

from collections.abc import Sequence

import click

from deniable.commands.shared import console, options
from deniable.commands.shared.options import positive
from deniable.formatting import format_count, format_up
from deniable_papers.reproduce import choices as studies
from deniable_papers.reproduce.applications import DIFFERS, report_rows


@click.command("forecasting")
@studies.options(
    "5",
    "Make only 2 runs, at three epsilons, of ridge and the baselines. Takes half a minute.",
    options.name_option(
        "--part", "Parts: baselines, ridge, input, trees, network, gradients.  [default: all]"
    ),
    options.numbers_option("--epsilons", positive, "Epsilons of a person.  [default: 0.25,0.5,1,2,4,8]"),
)
def reproduce_forecasting(part: Sequence[str], epsilons: Sequence[float], choices: studies.Choices) -> None:
    """Forecasts of counts of people over time.

    Forecasts mobile phones by half hour in a commune and five of its zones. Noise is added to the counts once
    (input), or to the gradients of a network. The table has the true epsilon of each, and whom it protects.
    Trees need the extra `learn`, the network and noisy gradients the extra `deep`. The data come from the
    folder $DENIABLE_DATA or from the clone.
    """
    from deniable_papers.studies.applications import forecasting
    from deniable_papers.studies.applications.forecasting_guarantee import state_guarantees
    from deniable_papers.studies.plot.forecasting import plot_forecasting

    runs = choices.runs or (forecasting.QUICK_RUNS if choices.quick else forecasting.RUNS)
    parts = part or (forecasting.QUICK_PARTS if choices.quick else None)
    budgets = epsilons or (forecasting.QUICK_EPSILONS if choices.quick else forecasting.EPSILONS)
    with console.progress("forecasting") as show:
        heard = studies.announce_duration(show)
        rows = list(forecasting.reproduce(parts, runs, choices.seed, heard, budgets))
    report_rows(
        choices,
        f"{format_count(runs, 'run')} of noise, seed {choices.seed}; RMSE of a series, mean of six",
        rows,
        plot_forecasting,
        (
            ("model", lambda row: row.model),
            ("calendar", lambda row: row.calendar),
            ("noise", lambda row: row.noise),
            ("epsilon", lambda row: "" if row.epsilon is None else format_up(row.epsilon)),
            ("per", lambda row: row.per),
            ("sigma", lambda row: "" if row.sigma is None else f"{row.sigma:.4g}"),
            ("RMSE", lambda row: f"{row.rmse:.1f}"),
            ("sd", lambda row: "" if row.rmse_sd is None else f"{row.rmse_sd:.1f}"),
            ("MAE", lambda row: f"{row.mae:.1f}"),
            ("specification", lambda row: "" if row.stated is None else f"{row.stated:g}"),
            ("", lambda row: DIFFERS if row.differs else ""),
            ("seconds", lambda row: f"{row.seconds:.2f}"),
        ),
        state_guarantees(),
        margin="0.5 with ridge, 1 % with LightGBM, 2 % with noisy counts, 5 % and two standard errors with "
        "noisy gradients",
    )
