"""`deniable reproduce risks` and `revisited`: the attack studies as tables, JSON or plots, the stronger attack beside."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import click

from deniable.commands import console, writing
from deniable.commands.console import one, positive, several, whole
from deniable.errors import InvalidParameter, not_among

_WRITTEN_EVERY = 10.0  # seconds
_SHOWN = 400  # rows of a table; all of them are in --json and -o

Command = Callable[..., None]
_names = several(str.strip)


def _options(default_runs: str) -> Callable[[Command], Command]:
    """What both studies take."""
    users = "Attack only so many people, drawn at random; trained attacks take them for their n, and so are quicker, too."
    often = f"How often each point is measured.  [default: {default_runs}]"
    drawn = "Everything is drawn from it."

    def add(command: Command) -> Command:
        for option in reversed(
            (
                click.option("--epsilons", callback=several(positive), multiple=True, help="Budgets, such as 1,2,4."),
                click.option("--runs", type=click.IntRange(1), help=often),
                click.option("--users", callback=one(partial(whole, least=1)), help=users),
                click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help=drawn),
                writing.out,
                console.as_json,
                writing.plot("the figures"),
                console.force,
                click.option("--quick", is_flag=True, help="Few epsilons, runs, people and attacks, to see that it works."),
            )
        ):
            command = option(command)
        return command

    return add


@click.command("risks")
@click.option(
    "--dataset", callback=several(str.strip), multiple=True, help="adult, acs, nursery; several with commas.  [default: all]"
)
@click.option(
    "--figure", callback=several(str.strip), multiple=True, help="value, sampled-attribute, rsrfd, reidentify.  [default: all]"
)
@click.option("--attack", callback=several(str.strip), multiple=True, help="Only these, such as NK-1n,bayes.  [default: all]")
@_options("5; the study has 20")
def reproduce_risks(
    dataset: list[str],
    figure: list[str],
    attack: list[str],
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
    """The attack study: values, the sampled attribute, people; as published, and by the strongest attack.

    NK, PK and HM are trained classifiers and need deniable[attack]; bayes needs no training. All attacks on all datasets take
    hours: name a figure, a dataset or an attack, or begin with --quick.
    """
    from deniable import data, plot_risks
    from deniable.attack.trained import KNOWLEDGE, require_classifier
    from deniable.studies import risks

    writing.check(out, plot_files, force)
    for name in dataset:
        if name not in risks.DATASETS:
            raise InvalidParameter(not_among(name, "a dataset of this study", risks.DATASETS))
    trains = not figure or {"sampled-attribute", "rsrfd"} & set(figure)
    if trains and (not attack or set(attack) & set(KNOWLEDGE)):
        require_classifier("xgboost")
    sets = [data.load(risks.DATASETS[name]) for name in dict.fromkeys(dataset or (["nursery"] if quick else risks.DATASETS))]
    with console.progress("attacking") as show:
        rows = _kept_as_done(
            out,
            risks.reproduce(
                *(sets, figure or None, epsilons or (risks.QUICK_EPSILONS if quick else risks.EPSILONS)),
                runs=runs or (risks.QUICK_RUNS if quick else risks.RUNS),
                users=users,
                attacks=attack or None,
                seed=seed,
                progress=show,
                quick=quick,
            ),
        )
    if writing.measured(rows, plot_risks.risks_plot, out, plot_files, as_json):
        return
    headers = [
        "figure",
        "dataset",
        "protocol",
        "attack",
        "epsilon",
        "accuracy",
        "blind",
        "surveys",
        "top",
        "background",
        "metric",
        "prior",
    ]
    cells = [
        [
            *(row.figure, row.dataset, row.protocol, row.attack, f"{row.epsilon:g}"),
            "refused" if row.accuracy is None else _percent(row.accuracy, row.stderr),
            _percent(row.baseline, None),
            *("" if value is None else str(value) for value in (row.surveys, row.top, row.background, row.metric, row.prior)),
        ]
        for row in rows[:_SHOWN]
    ]
    _print(rows, headers, cells, f"n = {', '.join(f'{people.n:,}' for people in sets)}")


@click.command("revisited")
@click.option(
    "--dataset", type=click.Choice(["adult", "synthetic"]), default="synthetic", show_default=True, help="Whose values."
)
@_options("20")
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

    `published` has the study's formulas, `exact` those of the law, `guess` what was measured. 100 values: Adult's ages, or
    50,000 invented people.
    """
    from deniable import data, plot_risks
    from deniable.studies import revisited

    writing.check(out, plot_files, force)
    people = data.load("adult-10") if dataset == "adult" else None
    with console.progress("measuring") as show:
        rows = _kept_as_done(
            out,
            revisited.reproduce(
                people,
                epsilons=epsilons or (revisited.QUICK_EPSILONS if quick else revisited.EPSILONS),
                runs=runs or (revisited.QUICK_RUNS if quick else revisited.RUNS),
                users=users,
                seed=seed,
                progress=show,
            ),
        )
    if writing.measured(rows, plot_risks.revisited_plot, out, plot_files, as_json):
        return
    headers = ["protocol", "epsilon", "attack", "accuracy", "MSE", "true loss", "nothing beats it"]
    cells = [
        [
            *(row.protocol, f"{row.epsilon:g}", row.attack),
            "refused" if row.accuracy is None else _percent(row.accuracy, row.stderr),
            "" if row.mse is None else console.with_error(row.mse, row.mse_stderr),
            "" if row.loss is None else f"{row.loss:.4f}",
            "yes" if row.pareto else "",
        ]
        for row in rows[:_SHOWN]
    ]
    _print(rows, headers, cells, f"{rows[0].dataset}, n = {rows[0].n:,}, k = {rows[0].k}")


def _kept_as_done(files: Sequence[Path], rows: Iterable[Any]) -> list[Any]:
    """All rows; while they are measured, those that are done are in the files already, once in a while."""
    done, written = list[Any](), time.monotonic()
    for row in rows:
        done.append(row)
        if files and time.monotonic() - written > _WRITTEN_EVERY:
            plain = [asdict(one) for one in done]
            writing.write_tables(files, plain, plain)
            written = time.monotonic()
    return done


def _print(rows: Sequence[Any], headers: Sequence[str], cells: Sequence[Sequence[str]], what: str) -> None:
    console.print_table(f"{what}; {rows[0].runs:,} runs, seed {rows[0].seed}", headers, cells)
    if len(rows) > _SHOWN:
        click.echo(f"and {len(rows) - _SHOWN:,} rows more; --json and -o have all of them")
    console.print_refusals((row.protocol, row.refused) for row in rows)


def _percent(share: float, stderr: float | None) -> str:
    return f"{100 * share:.3g} %" if stderr is None else f"{100 * share:.3g} +- {100 * stderr:.1g} %"
