"""`deniable reproduce response-time`: predicts response times from noisy places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from deniable.commands.shared import console, options
from deniable.commands.shared.options import positive
from deniable.formatting import format_count, format_up
from deniable_papers.reproduce import choices as studies
from deniable_papers.reproduce.applications import DIFFERS, report_rows

if TYPE_CHECKING:
    from deniable_papers.studies.applications.response_time import ResponsePoint


@click.command("response-time")
@studies.options(
    "4",
    "Make one run of LightGBM and LASSO.",
    options.name_option("--model", "Models: XGBoost, LightGBM, MLP, LASSO, mean.  [default: all]"),
    options.numbers_option(
        "--radii", positive, "Meters within which places lose ln 2.  [default: 100,300,1000,2000]"
    ),
)
def reproduce_response_time(model: Sequence[str], radii: Sequence[float], choices: studies.Choices) -> None:
    """Response times, from noisy places.

    Places of emergency calls are moved by planar Laplace or planar geometric noise. Every feature of a place
    is made from the noisy point. Minutes until help comes are simulated, since they are not public. The calls
    are a simulated stand-in, and named so, unless the folder $DENIABLE_DATA has montgomery-911.csv.
    """
    from deniable_papers.studies.applications import response_time
    from deniable_papers.studies.plot.response_time import plot_response_time

    runs = choices.runs or (response_time.QUICK_RUNS if choices.quick else response_time.RUNS)
    models = model or (response_time.QUICK_MODELS if choices.quick else None)
    meters = radii or response_time.RADII
    with console.progress("predicting") as show:
        heard = studies.announce_duration(show)
        rows = list(response_time.reproduce(models, meters, runs, choices.seed, heard))
    report_rows(
        choices,
        f"{rows[0].dataset}, {format_count(runs, 'run')}, seed {choices.seed}; errors in minutes; epsilon is "
        "ln 2 / radius",
        rows,
        plot_response_time,
        (
            ("model", lambda row: row.model),
            ("places", _describe_places),
            ("radius, m", lambda row: "" if row.radius is None else f"{row.radius:g}"),
            ("epsilon per km", lambda row: "" if row.epsilon is None else f"{row.epsilon:.3g}"),
            ("exact loss within r", lambda row: "" if row.loss is None else format_up(row.loss)),
            ("moved, m", lambda row: f"{row.moved:.0f}"),
            ("MAE", lambda row: f"{row.mae:.2f}"),
            ("RMSE", lambda row: f"{row.rmse:.2f}"),
            ("R2", lambda row: f"{row.r2:.2f}"),
            ("specification", lambda row: "" if row.stated is None else f"{row.stated:.2f}"),
            ("", lambda row: DIFFERS if row.differs else ""),
        ),
        [("Response time", response_time.GUARANTEE)],
        margin="3 % and two standard errors of these runs",
    )


def _describe_places(row: ResponsePoint) -> str:
    name = "true" if row.protocol == "none" else row.protocol
    if row.remapped:
        return f"{name}, remapped"
    return name if row.tested == "reports" else f"{name}, tested on true ones"
