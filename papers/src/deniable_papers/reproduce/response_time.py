"""Shows predictions of response times from noisy places."""

from deniable.formatting import format_count, format_percent, format_up
from deniable_papers.experiment import DIFFERS, Experiment, Shown, Table, ask_names, ask_numbers
from deniable_papers.studies.applications import response_time
from deniable_papers.studies.plot.response_time import plot_response_time


def _describe_places(row: response_time.ResponsePoint) -> str:
    name = "true" if row.protocol == "none" else row.protocol
    if row.remapped:
        return f"{name}, remapped"
    return name if row.tested == "reports" else f"{name}, tested on true ones"


_COLUMNS = (
    ("model", lambda row: row.model),
    ("places", _describe_places),
    ("radius, m", lambda row: "" if row.radius is None else f"{row.radius:g}"),
    ("epsilon per km", lambda row: "" if row.epsilon is None else f"{row.epsilon:.3g}"),
    ("exact loss within r", lambda row: "" if row.loss is None else format_up(row.loss)),
    ("moved, m", lambda row: f"{row.moved:.0f}"),
    ("MAE", lambda row: f"{row.mae:.2f}"),
    ("RMSE", lambda row: f"{row.rmse:.2f}"),
    ("MAPE", lambda row: format_percent(row.mape)),
    ("R2", lambda row: f"{row.r2:.2f}"),
    ("specification", lambda row: "" if row.stated is None else f"{row.stated:.2f}"),
    ("", lambda row: DIFFERS if row.differs else ""),
)

EXPERIMENT = Experiment(
    name="response-time",
    shows=(Shown("Ambulances", "RMSE, MAE, MAPE and R2 of response times, by radius"),),
    minutes=(4, 0.2),
    data="montgomery (simulated stand-in)",
    about="""Response times, from noisy places.

    Places of emergency calls are moved by planar Laplace or planar geometric noise. Every feature of a place
    is made from the noisy point: distances to stations, route distance, travel time, area and density.
    Minutes until help comes are simulated, since they are not public. The calls are a simulated stand-in, and
    named so, unless the folder $DENIABLE_DATA has montgomery-911.csv.
    """,
    measure=response_time.reproduce,
    runs=(response_time.RUNS, response_time.QUICK_RUNS),
    quick_text="Make one run of LightGBM and LASSO.",
    sizes=(
        ask_names(
            "--model",
            "models",
            "Models: XGBoost, LightGBM, MLP, LASSO, mean.  [default: all]",
            quick=response_time.QUICK_MODELS,
        ),
        ask_numbers(
            "--radii", "radii", "Meters within which places lose ln 2.  [default: 100,300,1000,2000]"
        ),
    ),
    work="predicting",
    tables=lambda rows, asked: [
        Table(
            title=f"{rows[0].dataset}, {format_count(asked.runs, 'run')}, seed {asked.seed}; errors in "
            "minutes; epsilon is ln 2 / radius",
            columns=_COLUMNS,
            rows=rows,
            margin="3 % and two standard errors of these runs",
        )
    ],
    draw=plot_response_time,
    guarantees=lambda _: [("Response time", response_time.GUARANTEE)],
)
