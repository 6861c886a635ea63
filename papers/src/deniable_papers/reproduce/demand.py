"""Shows forecasts of demand from sanitized regions."""

from deniable.formatting import format_count
from deniable_papers.experiment import DIFFERS, Experiment, Shown, Table, ask_epsilons, ask_names
from deniable_papers.studies.applications import demand
from deniable_papers.studies.plot.demand import plot_demand

_COLUMNS = (
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
)

EXPERIMENT = Experiment(
    name="demand",
    shows=(Shown("Firefighters", "MAE and RMSE of calls by region and day"),),
    minutes=(3, 0.2),
    data="simulated, montgomery (simulated stand-in)",
    about="""Demand by region, from sanitized regions.

    Every record reports its region once; its day is exact. Two kinds of boosted trees, LightGBM and XGBoost,
    learn from debiased counts of days. They are compared with the mean of equal weekdays, and with a forecast
    of the exact total times debiased shares. Small cities are merged: the 15 townships with most calls are
    regions, and all others together are one more.
    Montgomery's calls are a simulated stand-in, and named so, unless the folder $DENIABLE_DATA has
    montgomery-911.csv.
    """,
    measure=demand.reproduce,
    runs=(demand.RUNS, demand.QUICK_RUNS),
    quick_text="Make one run of OUE, at three epsilons.",
    sizes=(
        ask_names("--dataset", "datasets", "Datasets: synthetic, montgomery.  [default: all]"),
        ask_names("--protocol", "protocols", "Protocols: oue, grr, sue.  [default: all]", quick=("oue",)),
        ask_epsilons(demand.EPSILONS, demand.QUICK_EPSILONS),
    ),
    work="forecasting",
    tables=lambda rows, asked: [
        Table(
            title=f"{format_count(asked.runs, 'run')}, seed {asked.seed}; errors in records per period and "
            "region",
            columns=_COLUMNS,
            rows=rows,
            margin="three standard deviations and the rounding of what is stated",
        )
    ],
    draw=plot_demand,
    guarantees=lambda _: [("Demand", demand.GUARANTEE)],
)
