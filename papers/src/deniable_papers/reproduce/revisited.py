"""Shows the error of protocols beside the success of attacks."""

from deniable_papers import data
from deniable_papers.experiment import (
    Column,
    Experiment,
    Shown,
    ask_choice,
    ask_count,
    ask_epsilons,
    ask_people,
)
from deniable_papers.reproduce.points import ACCURACY, QUICK, list_notes, list_points, warn_if_fewer
from deniable_papers.simulate.measure import with_error
from deniable_papers.studies import tradeoffs
from deniable_papers.studies.plot.risks import tradeoffs_plot

_COLUMNS: tuple[Column, ...] = (
    ("protocol", lambda row: row.protocol),
    ("epsilon", lambda row: f"{row.epsilon:g}"),
    ("attack", lambda row: row.attack),
    *ACCURACY,
    ("MSE", lambda row: "" if row.mse is None else with_error(row.mse, row.mse_stderr or None)),
    ("true loss", lambda row: "" if row.loss is None else f"{row.loss:.4f}"),
    ("nothing beats it", lambda row: "yes" if row.pareto else ""),
)

EXPERIMENT = Experiment(
    name="revisited",
    shows=(Shown("Revisiting", "figures of MSE against ASR, classical and refined protocols"),),
    minutes=(6, 0.5),
    data="simulated, adult; or your own",
    about="""Error against attack success, by protocol.

    Compares classical and robust protocols, and names those that nothing beats. `published` has the study's
    formulas, `exact` those of the law, `guess` what was measured. There are 100 values: those of
    50,000 simulated people, or Adult's ages. --data takes the first column of a file.
    """,
    measure=tradeoffs.reproduce,
    runs=(tradeoffs.RUNS, tradeoffs.QUICK_RUNS),
    quick_text=QUICK,
    sizes=(
        ask_people(
            ask_choice(
                "--dataset",
                "people",
                "The values: Adult's ages, or those of simulated people.",
                ["adult", "synthetic"],
                "synthetic",
                read=lambda name: data.load("adult-10") if name == "adult" else None,
            ),
            data.read_people,
        ),
        ask_epsilons(tradeoffs.EPSILONS, tradeoffs.QUICK_EPSILONS),
        ask_count("--users", "Ask only this number of people, drawn at random."),
    ),
    tables=lambda rows, _: list_points(rows, _COLUMNS),
    finish=tradeoffs.mark_front,
    draw=tradeoffs_plot,
    warnings=lambda rows, asked: warn_if_fewer(asked, [(rows[0].dataset, rows[0].n)], "asked"),
    notes=list_notes,
    refusals=lambda row: row.protocol,
    written_refusals=False,
)
