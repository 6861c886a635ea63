"""`deniable reproduce risks`: reproduces the attack study, and adds the strongest attack."""

from __future__ import annotations

import click

from deniable.commands.shared import console, options
from deniable.commands.shared.options import COUNT
from deniable.errors import InvalidParameter, not_among
from deniable.formatting import format_percent
from deniable_papers.reproduce import choices as studies
from deniable_papers.reproduce.points import QUICK, budgets, format_accuracy, print_points, select_rows


@click.command("risks")
@studies.options(
    "5; the study has 20",
    f"{QUICK} Without --dataset on nursery only; as with --users 500 --training 1000. Takes half a minute.",
    options.name_option("--dataset", "The datasets: adult, acs, nursery.  [default: all]"),
    options.name_option(
        "--figure", "The figures: value, sampled-attribute, rsrfd, reidentify.  [default: all]"
    ),
    options.name_option("--attack", "The attacks, such as NK-1n,bayes.  [default: all]"),
    budgets,
    click.option(
        "--users",
        type=COUNT,
        help="Attack only this number of people, drawn at random; training stays as published.",
    ),
    click.option(
        "--training",
        type=COUNT,
        help="Train on this number of people: quicker, and not as published.",
    ),
)
def reproduce_risks(
    dataset: list[str],
    figure: list[str],
    attack: list[str],
    epsilons: list[float],
    users: int | None,
    training: int | None,
    choices: studies.Choices,
) -> None:
    """Attacks on values, attributes and people.

    Reproduces the attack study as published, and adds the strongest attack. NK, PK and HM are trained
    classifiers and need the extra `attack`; bayes needs no training. All classifiers on all datasets take
    DAYS of a core, most of it for adult and acs; you see how long once the first ones are trained. Name a
    figure, a dataset, an attack or epsilons, or begin with --quick. With -o, finished rows are kept. The
    datasets come from the folder $DENIABLE_DATA or from the clone, or are fetched and kept.

    NK simulates people (no knowledge), PK compromises some (partial knowledge), HM does both (a hybrid
    model).

    In reidentify, a background FK (full knowledge) has all columns of the table. PK (partial knowledge) has
    half of them to all but one, drawn again for each run. With the uniform metric, nobody is asked for the
    same attribute twice. With the non-uniform one, anybody may be, and then sends the first report again.
    """
    from deniable import data
    from deniable_papers.studies import risks
    from deniable_papers.studies.plot import risks as plot_risks
    from deniable_papers.trained import KNOWLEDGE, require_classifier

    for name in dataset:
        if name not in risks.DATASETS:
            raise InvalidParameter(not_among(name, "a dataset of this study", risks.DATASETS))
    trains = not figure or {"sampled-attribute", "rsrfd"} & set(figure)
    if trains and (not attack or set(attack) & set(KNOWLEDGE)):
        require_classifier("xgboost")
    sets = [
        data.load(risks.DATASETS[name])
        for name in dict.fromkeys(dataset or (["nursery"] if choices.quick else risks.DATASETS))
    ]
    for people in sets:
        studies.warn_if_fewer(users, people.n, people.name, "attacked")
    with console.progress("attacking") as show:
        rows = studies.keep_rows(
            choices,
            risks.reproduce(
                sets,
                figure or None,
                epsilons or (risks.QUICK_EPSILONS if choices.quick else risks.EPSILONS),
                runs=choices.runs or (risks.QUICK_RUNS if choices.quick else risks.RUNS),
                users=users,
                attacks=attack or None,
                seed=choices.seed,
                progress=studies.announce_duration(show),
                quick=choices.quick,
                training=training,
            ),
        )
    if studies.write_rows(choices, rows, plot_risks.risks_plot):
        return
    headers = ["figure", "dataset", "protocol", "attack", "epsilon", "accuracy", "95 %", "blind", "attacked"]
    headers += ["surveys", "top", "background", "metric", "prior"]
    cells = [
        [
            *(row.figure, row.dataset, row.protocol, row.attack, f"{row.epsilon:g}", *format_accuracy(row)),
            format_percent(row.baseline),
            f"{row.users:,}" if row.stderr else "",
            *(
                "" if value is None else str(value)
                for value in (row.surveys, row.top, row.background, row.metric, row.prior)
            ),
        ]
        for row in select_rows(rows)
    ]
    print_points(rows, headers, cells)
