"""`deniable reproduce risks` and `revisited`: the attack studies as tables, JSON or plots, the stronger
attack beside.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deniable.commands import console, studying, writing
from deniable.commands.console import one, positive, several, whole
from deniable.errors import InvalidParameter, not_among
from deniable.formatting import format_percent

if TYPE_CHECKING:
    from deniable.studies.accuracy import AttackPoint

_SHOWN = 40  # rows of a table; all of them are in --json and -o
_NOBODY = 1e-7  # a share of this or less is shown as 0
_QUICK = "Few epsilons, runs, people and attacks, to see that it works."

_budgets = click.option(
    "--epsilons", callback=several(positive), multiple=True, help="Budgets, such as 1,2,4."
)


@click.command("risks")
@studying.options(
    "5; the study has 20",
    f"{_QUICK} Nursery only, unless a dataset is named; as with --users 500 --training 1000. Half a minute.",
    click.option(
        "--dataset",
        callback=studying.names,
        multiple=True,
        help="adult, acs, nursery; several with commas.  [default: all]",
    ),
    click.option(
        "--figure",
        callback=studying.names,
        multiple=True,
        help="value, sampled-attribute, rsrfd, reidentify.  [default: all]",
    ),
    click.option(
        "--attack",
        callback=studying.names,
        multiple=True,
        help="Only these, such as NK-1n,bayes.  [default: all]",
    ),
    _budgets,
    click.option(
        "--users",
        callback=one(partial(whole, least=1)),
        help="Attack only so many people, drawn at random; trained attacks still learn from as many as "
        "published.",
    ),
    click.option(
        "--training",
        callback=one(partial(whole, least=1)),
        help="Trained attacks invent and compromise people as if there were only so many: quicker, and not "
        "as published.",
    ),
)
def reproduce_risks(
    dataset: list[str],
    figure: list[str],
    attack: list[str],
    epsilons: list[float],
    runs: int | None,
    users: int | None,
    training: int | None,
    seed: int,
    out: Sequence[Path],
    as_json: bool,
    plot_files: Sequence[Path],
    force: bool,
    quick: bool,
) -> None:
    """The attack study: values, the sampled attribute, people; as published, and by the strongest attack.

    NK, PK and HM are trained classifiers and need deniable[attack]; bayes needs no training. All classifiers
    on all datasets take DAYS of a core, most of it for adult and acs; how long is told once the first ones
    are trained. Name a figure, a dataset, an attack or epsilons, or begin with --quick. With -o, what is done
    is kept. The datasets are read from the folder $DENIABLE_DATA, or fetched and kept.

    NK invents people (no knowledge), PK compromises some (partial knowledge), HM does both (a hybrid model).

    In reidentify, a background FK (full knowledge) has all columns of the table, and PK (partial knowledge)
    half of them to all but one, drawn anew for each run. By the uniform metric nobody is asked for the same
    attribute twice; by the non-uniform one anybody may be, and then the first report of it is sent again.
    """
    from deniable import data
    from deniable.attack.trained import KNOWLEDGE, require_classifier
    from deniable.studies import risks
    from deniable.studies.plot import risks as plot_risks

    writing.check(out, plot_files, force)
    for name in dataset:
        if name not in risks.DATASETS:
            raise InvalidParameter(not_among(name, "a dataset of this study", risks.DATASETS))
    trains = not figure or {"sampled-attribute", "rsrfd"} & set(figure)
    if trains and (not attack or set(attack) & set(KNOWLEDGE)):
        require_classifier("xgboost")
    sets = [
        data.load(risks.DATASETS[name])
        for name in dict.fromkeys(dataset or (["nursery"] if quick else risks.DATASETS))
    ]
    for people in sets:
        studying.tell_if_all(users, people.n, people.name, "attacked")
    with console.progress("attacking") as show:
        rows = studying.kept_as_done(
            out,
            risks.reproduce(
                *(sets, figure or None, epsilons or (risks.QUICK_EPSILONS if quick else risks.EPSILONS)),
                runs=runs or (risks.QUICK_RUNS if quick else risks.RUNS),
                users=users,
                attacks=attack or None,
                seed=seed,
                progress=studying.estimating(show),
                quick=quick,
                training=training,
            ),
            as_json,
        )
    if studying.told_to_machines(rows, plot_risks.risks_plot, out, plot_files, as_json):
        return
    headers = ["figure", "dataset", "protocol", "attack", "epsilon", "accuracy", "95 %", "blind", "attacked"]
    headers += ["surveys", "top", "background", "metric", "prior"]
    cells = [
        [
            *(row.figure, row.dataset, row.protocol, row.attack, f"{row.epsilon:g}", *_accuracy(row)),
            format_percent(row.baseline),
            f"{row.users:,}" if row.stderr else "",
            *(
                "" if value is None else str(value)
                for value in (row.surveys, row.top, row.background, row.metric, row.prior)
            ),
        ]
        for row in _some(rows)
    ]
    _print(rows, headers, cells)


@click.command("revisited")
@studying.options(
    "20",
    _QUICK,
    click.option(
        "--dataset",
        type=click.Choice(["adult", "synthetic"]),
        default="synthetic",
        show_default=True,
        help="Whose values.",
    ),
    _budgets,
    click.option(
        "--users", callback=one(partial(whole, least=1)), help="Ask only so many people, drawn at random."
    ),
)
def reproduce_revisited(
    dataset: str,
    epsilons: list[float],
    runs: int | None,
    users: int | None,
    seed: int,
    out: Sequence[Path],
    as_json: bool,
    plot_files: Sequence[Path],
    force: bool,
    quick: bool,
) -> None:
    """Error against attack for classical and robust protocols, and which of them nothing beats.

    `published` has the study's formulas, `exact` those of the law, `guess` what was measured. 100 values:
    Adult's ages (read from the folder $DENIABLE_DATA, or fetched and kept), or 50,000 invented people.
    """
    from deniable import data
    from deniable.studies import tradeoffs
    from deniable.studies.plot import risks as plot_risks

    writing.check(out, plot_files, force)
    people = data.load("adult-10") if dataset == "adult" else None
    with console.progress("measuring") as show:
        rows = studying.kept_as_done(
            out,
            tradeoffs.reproduce(
                people,
                epsilons=epsilons or (tradeoffs.QUICK_EPSILONS if quick else tradeoffs.EPSILONS),
                runs=runs or (tradeoffs.QUICK_RUNS if quick else tradeoffs.RUNS),
                users=users,
                seed=seed,
                progress=studying.estimating(show),
            ),
            as_json,
        )
    studying.tell_if_all(users, rows[0].n, rows[0].dataset, "asked")
    if studying.told_to_machines(rows, plot_risks.tradeoffs_plot, out, plot_files, as_json):
        return
    headers = ["protocol", "epsilon", "attack", "accuracy", "95 %", "MSE", "true loss", "nothing beats it"]
    cells = [
        [
            *(row.protocol, f"{row.epsilon:g}", row.attack, *_accuracy(row)),
            "" if row.mse is None else console.with_error(row.mse, row.mse_stderr or None),
            "" if row.loss is None else f"{row.loss:.4f}",
            "yes" if row.pareto else "",
        ]
        for row in _some(rows)
    ]
    _print(rows, headers, cells)


def _some(rows: Sequence[AttackPoint]) -> list[AttackPoint]:
    """As many rows as a table has; where these are not all, some of every figure."""
    places: dict[str, int] = {}
    ranked = []
    for number, row in enumerate(rows):
        places[row.figure] = places.get(row.figure, -1) + 1
        ranked.append((places[row.figure], number))
    return [rows[number] for number in sorted(number for _, number in sorted(ranked)[:_SHOWN])]


def _accuracy(row: AttackPoint) -> list[str]:
    """How often the attack is right, and the interval."""
    if row.accuracy is None:
        return ["refused", ""]
    if row.low is None or row.high is None or not row.stderr:
        return [format_percent(row.accuracy), ""]
    low, high = (0.0 if end < _NOBODY else 100 * end for end in (row.low, row.high))
    return [format_percent(row.accuracy), f"{low:.3g} to {high:.3g} %"]


def _print(rows: Sequence[AttackPoint], headers: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    from deniable.studies.accuracy import describe_measurement

    parts: dict[str, list[AttackPoint]] = {}
    for row in rows:
        values = "" if row.k is None else f", k = {row.k}"
        parts.setdefault(f"{row.figure}, {row.dataset}{values}", []).append(row)
    kept = [i for i in range(len(headers)) if any(row[i] for row in cells)]
    console.print_table(
        "\n".join(f"{what}: {describe_measurement(part)}" for what, part in parts.items()),
        [headers[i] for i in kept],
        [[row[i] for i in kept] for row in cells],
    )
    if len(rows) > _SHOWN:
        click.echo(f"\u2026 and {len(rows) - _SHOWN:,} more; -o writes all, and --json prints them")
    for note in dict.fromkeys((row.protocol, row.metric, row.note) for row in rows if row.note is not None):
        click.echo("note ({}, {} metric): {}".format(*note))
    console.print_refusals((row.protocol, row.refused) for row in rows)
