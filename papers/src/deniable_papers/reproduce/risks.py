"""Shows the attack study, with the strongest attack added."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from deniable.formatting import format_percent
from deniable_papers import data
from deniable_papers.experiment import (
    Column,
    Experiment,
    Shown,
    Size,
    ask_count,
    ask_epsilons,
    ask_names,
    ask_people,
)
from deniable_papers.reproduce.points import ACCURACY, QUICK, list_notes, list_points, warn_if_fewer
from deniable_papers.reproduce.sweeps import load_datasets
from deniable_papers.studies import risks
from deniable_papers.studies.accuracy import AttackPoint
from deniable_papers.studies.plot.risks import risks_plot


def _show(name: str) -> Callable[[AttackPoint], str]:
    return lambda row: "" if getattr(row, name) is None else str(getattr(row, name))


_COLUMNS: tuple[Column, ...] = (
    ("figure", lambda row: row.figure),
    ("dataset", lambda row: row.dataset),
    ("protocol", lambda row: row.protocol),
    ("attack", lambda row: row.attack),
    ("epsilon", lambda row: f"{row.epsilon:g}"),
    *ACCURACY,
    ("blind", lambda row: format_percent(row.baseline)),
    ("attacked", lambda row: f"{row.users:,}" if row.stderr else ""),
    *((name, _show(name)) for name in ("surveys", "top", "background", "metric", "prior")),
)

EXPERIMENT = Experiment(
    name="risks",
    shows=(
        Shown(
            "Risks",
            "figure 1: values of several surveys (plausible deniability)",
            "--figure value",
            minutes=(8, 0.1),
        ),
        Shown("Risks", "figures of RID-ACC: people found again, SMP and RS+FD", "--figure reidentify"),
        Shown("Risks", "figure 14: AIF-ACC of RS+FD, and the same on ACS", "--figure sampled-attribute"),
        Shown("Risks", "figures 6 and 17: AIF-ACC of RS+RFD, right and wrong priors", "--figure rsrfd"),
    ),
    minutes=(5 * 24 * 60, 1),
    data="adult, acs, nursery; or your own",
    about="""Attacks on values, attributes and people.

    Reproduces the attack study as published, and adds the strongest attack. NK, PK and HM are trained
    classifiers; bayes needs no training. All classifiers on all datasets take
    DAYS of a core, most of it for adult and acs; you see how long once the first ones are trained. Name a
    figure, a dataset, an attack or epsilons, or begin with --quick. With -o, finished rows are kept.

    The figures are named by what they draw. value: how often the values of all surveys are guessed, by
    protocol, measured, by the law and as published (ASR). reidentify: RID-ACC, how often a person is among
    the top 1 or 10 of a background, after 1 to 5 surveys. sampled-attribute, rsrfd: AIF-ACC, how often the
    real attribute is found among fakes of RS+FD and of RS+RFD.

    NK simulates people (no knowledge), PK compromises some (partial knowledge), HM does both (a hybrid
    model).

    In reidentify, a background FK (full knowledge) has all columns of the table. PK (partial knowledge) has
    half of them to all but one, drawn again for each run. With the uniform metric, nobody is asked for the
    same attribute twice. With the non-uniform one, anybody may be, and then sends the first report again.
    """,
    measure=risks.reproduce,
    runs=(risks.RUNS, risks.QUICK_RUNS),
    runs_text="5; the study has 20",
    quick_text=f"{QUICK} Without --dataset on nursery only; as with --users 500 --training 1000. "
    "Takes half a minute.",
    sizes=(
        ask_people(
            ask_names(
                "--dataset",
                "datasets",
                "The datasets: adult, acs, nursery.  [default: all]",
                usual=tuple(risks.DATASETS),
                quick=("nursery",),
                read=partial(load_datasets, known=risks.DATASETS),
            ),
            lambda path: [data.read_people(path)],
        ),
        ask_names(
            "--figure",
            "figures",
            "The figures: value, sampled-attribute, rsrfd, reidentify.  [default: all]",
        ),
        ask_names("--attack", "attacks", "The attacks, such as NK-1n,bayes.  [default: all]"),
        ask_epsilons(risks.EPSILONS, risks.QUICK_EPSILONS),
        ask_count(
            "--users", "Attack only this number of people, drawn at random; training stays as published."
        ),
        ask_count("--training", "Train on this number of people: quicker, and not as published."),
        Size(keyword="quick", quick=True),
    ),
    work="attacking",
    tables=lambda rows, _: list_points(rows, _COLUMNS),
    draw=risks_plot,
    warnings=lambda rows, asked: warn_if_fewer(asked, ((row.dataset, row.n) for row in rows), "attacked"),
    notes=list_notes,
    refusals=lambda row: row.protocol,
    written_refusals=False,
)
