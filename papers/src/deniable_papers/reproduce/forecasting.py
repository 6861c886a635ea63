"""Shows forecasts of counts of people, from noisy counts and by noisy gradients."""

from deniable.formatting import format_count, format_up
from deniable_papers.experiment import DIFFERS, Experiment, Shown, Table, ask_names, ask_numbers
from deniable_papers.studies.applications import forecasting
from deniable_papers.studies.applications.forecasting_guarantee import state_guarantees
from deniable_papers.studies.plot.forecasting import plot_forecasting

_COLUMNS = (
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
)

EXPERIMENT = Experiment(
    name="forecasting",
    shows=(Shown("Mobility forecasts", "RMSE of noisy inputs and of noisy gradients"),),
    minutes=(4, 0.1),
    data="paris-mobility",
    about="""Forecasts of counts of people over time.

    Forecasts mobile phones by half hour in a commune and five of its zones. Noise is added to the counts once
    (input), or to the gradients of a network. The table has the true epsilon of each, and whom it protects.
    """,
    measure=forecasting.reproduce,
    runs=(forecasting.RUNS, forecasting.QUICK_RUNS),
    quick_text="Make only 2 runs, at three epsilons, of ridge and the baselines. Takes half a minute.",
    sizes=(
        ask_names(
            "--part",
            "parts",
            "Parts: baselines, ridge, input, trees, network, gradients.  [default: all]",
            quick=forecasting.QUICK_PARTS,
        ),
        ask_numbers(
            "--epsilons",
            "epsilons",
            "Epsilons of a person.  [default: 0.25,0.5,1,2,4,8]",
            usual=forecasting.EPSILONS,
            quick=forecasting.QUICK_EPSILONS,
        ),
    ),
    work="forecasting",
    tables=lambda rows, asked: [
        Table(
            title=f"{format_count(asked.runs, 'run')} of noise, seed {asked.seed}; RMSE of a series, mean of "
            "six",
            columns=_COLUMNS,
            rows=rows,
            margin="0.5 with ridge, 1 % with LightGBM, 2 % with noisy counts, 5 % and two standard errors "
            "with noisy gradients",
        )
    ],
    draw=plot_forecasting,
    guarantees=lambda _: state_guarantees(),
)
