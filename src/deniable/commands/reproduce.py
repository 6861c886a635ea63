"""`deniable reproduce`: the figures of the papers as tables, JSON or plots, with the true losses
beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deniable.commands import console, studying, writing
from deniable.commands.console import one, positive, several, whole
from deniable.errors import InvalidParameter, not_among
from deniable.formatting import format_count

if TYPE_CHECKING:
    from deniable.data.datasets import Dataset
    from deniable.studies.sweep import Point

_QUICK_RUNS = 5


@click.group("reproduce")
def reproduce() -> None:
    """Reproduce the figures of a paper, with the true losses beside them."""


_options = studying.options(
    "100",
    f"Only {_QUICK_RUNS} runs, and datasets that need no files.",
    click.option(
        "--dataset",
        callback=studying.names,
        multiple=True,
        help="A dataset; several with commas.  [default: all]",
    ),
)


@reproduce.command("rsfd")
@_options
def reproduce_rsfd(
    dataset: Sequence[str],
    runs: int | None,
    seed: int,
    out: Sequence[Path],
    as_json: bool,
    plot_files: Sequence[Path],
    force: bool,
    quick: bool,
) -> None:
    """Figures 6 to 10 of the RS+FD paper: splitting, sampling, and sampling plus fake data.

    Every RS+FD method is there as published, and `at record`: with a true loss per record of no more than
    epsilon.
    """
    from deniable.studies import rsfd
    from deniable.studies.plot import sweeps as plot_studies

    writing.check(out, plot_files, force)
    sets = _loaded(dataset, rsfd.DATASETS, quick)
    with console.progress("measuring") as show:
        rows = list(rsfd.reproduce(sets, runs=runs or _runs(rsfd.RUNS, quick), seed=seed, progress=show))
    if writing.measured(rows, plot_studies.rsfd_plot, out, plot_files, as_json):
        return
    headers = ["dataset", "method", "epsilon", "MSE_avg", "unbiased", "true loss per record", "per attribute"]
    cells = [
        [
            row.dataset,
            row.method,
            f"{row.epsilon:.4f}",
            *_errors(row),
            *map(_number, (row.loss_record, row.loss_attribute)),
        ]
        for row in rows
    ]
    console.print_table(_title(rows[0].runs, seed), headers, cells)
    console.print_refusals((row.method, row.refused) for row in rows)


@reproduce.command("allomfree")
@_options
def reproduce_allomfree(
    dataset: Sequence[str],
    runs: int | None,
    seed: int,
    out: Sequence[Path],
    as_json: bool,
    plot_files: Sequence[Path],
    force: bool,
    quick: bool,
) -> None:
    """The longitudinal figures of the ALLOMFREE paper: two rounds on one attribute per person.

    ALLOMFREE as published spends only a part of what one report may; ALLOMFREE-exact spends all of it.
    """
    from deniable.studies import allomfree
    from deniable.studies.plot import sweeps as plot_studies

    writing.check(out, plot_files, force)
    sets = _loaded(dataset, allomfree.DATASETS, quick)
    with console.progress("measuring") as show:
        rows = list(
            allomfree.reproduce(sets, runs=runs or _runs(allomfree.RUNS, quick), seed=seed, progress=show)
        )
    if writing.measured(rows, plot_studies.allomfree_plot, out, plot_files, as_json):
        return
    headers = [
        "dataset",
        "method",
        "epsilon",
        "of one report",
        "MSE_avg",
        "unbiased",
        "true loss of one",
        "for ever",
        "L-GRR",
    ]
    cells = [
        [
            *(row.dataset, row.method, f"{row.epsilon_forever:g}", f"{row.epsilon_first:g}", *_errors(row)),
            *map(_number, (row.loss_record, row.loss_forever)),
            "" if row.direct is None else f"{row.direct} of {row.d}",
        ]
        for row in rows
    ]
    console.print_table(_title(rows[0].runs, seed), headers, cells)
    console.print_refusals((row.method, row.refused) for row in rows)


def _runs(usual: int, quick: bool) -> int:
    return _QUICK_RUNS if quick else usual


def _title(runs: int, seed: int) -> str:
    errors = "MSE_avg of estimates clipped at 0 and scaled to a sum of one, as in the papers' code"
    return f"{format_count(runs, 'run')}, seed {seed}; {errors}"


def _loaded(asked: Sequence[str], usual: Sequence[str], quick: bool) -> list[Dataset]:
    """The datasets that are asked for; one that is misspelled is refused before any is read."""
    from deniable import data

    names = list(dict.fromkeys(asked))
    for name in names:
        if name not in data.NAMES:
            raise InvalidParameter(not_among(name, "a dataset", data.NAMES))
    return [data.load(name) for name in names or (("synthetic-1", "synthetic-5") if quick else usual)]


def _errors(row: Point) -> list[str]:
    if row.refused is not None:
        return ["refused", ""]
    pairs = (row.mse_avg, row.mse_avg_stderr), (row.mse_avg_raw, row.mse_avg_raw_stderr)
    return [console.with_error(mean, stderr) for mean, stderr in pairs if mean is not None]


def _number(number: float | None) -> str:
    return "" if number is None else f"{number:.4f}"


@reproduce.command("geometric")
@studying.options(
    "40",
    "Only 3 runs, up to n = 4, uniform people, unless others are named.",
    click.option(
        "--n",
        "ns",
        callback=several(whole),
        multiple=True,
        help="The largest values.  [default: 2,4,8,20,100]",
    ),
    click.option(
        "--epsilons",
        callback=several(positive),
        multiple=True,
        help="Budgets of a step.  [default: 0.1,0.5,1,2]",
    ),
    click.option(
        "--prior", callback=studying.names, multiple=True, help="uniform, zipf, bimodal.  [default: all]"
    ),
    click.option(
        "--channel",
        callback=studying.names,
        multiple=True,
        help="Only these, such as geometric,grr.  [default: all]",
    ),
    click.option(
        "--people",
        callback=one(partial(whole, least=1)),
        default="10_000",
        show_default=True,
        help="Who are asked.",
    ),
)
def reproduce_geometric(
    ns: Sequence[int],
    epsilons: Sequence[float],
    prior: Sequence[str],
    channel: Sequence[str],
    people: int,
    runs: int | None,
    seed: int,
    out: Sequence[Path],
    as_json: bool,
    plot_files: Sequence[Path],
    force: bool,
    quick: bool,
) -> None:
    """The conjecture of the geometric paper: does the truncated geometric reconstruct best at equal privacy?

    Every channel tells neighbors apart by at most epsilon, and the table says by how much where that is less.
    Exact risks for many people stand beside the best there can be (up to n = 8) and measured errors of the
    most likely shares. It is false for small epsilon, true from 1 to 3 on.
    """
    from deniable.studies import geometric
    from deniable.studies.plot import geometric as plot_geometric

    writing.check(out, plot_files, force)
    asked = {"ns": ns, "epsilons": epsilons, "priors": prior, "channels": channel}
    few: dict[str, Any] = {"ns": geometric.QUICK_NS, "priors": ["uniform"]} if quick else {}
    few |= {name: given for name, given in asked.items() if given}
    with console.progress("measuring") as show:
        usual = geometric.QUICK_RUNS if quick else geometric.RUNS
        rows = list(geometric.reproduce(people=people, runs=runs or usual, seed=seed, progress=show, **few))
    if writing.measured(rows, plot_geometric.geometric_plot, out, plot_files, as_json):
        return
    reasons = {
        reason: number
        for number, reason in enumerate(dict.fromkeys(row.unspent for row in rows if row.unspent), 1)
    }
    headers = [
        "prior",
        "n",
        "epsilon",
        "channel",
        "spent",
        "people x L2",
        "no channel below",
        "MSE",
        "W1",
        "KL",
    ]
    cells = [
        [
            *(row.prior, str(row.n), f"{row.epsilon:g}", row.channel),
            _spent(row.step_loss, row.epsilon, None if row.unspent is None else reasons[row.unspent]),
            console.short(row.l2) if row.refused is None else row.refused,
            console.short(row.best_l2),
            *(
                "-" if mean is None else console.with_error(mean, stderr)
                for mean, stderr in (
                    (row.mse, row.mse_stderr),
                    (row.w1, row.w1_stderr),
                    (row.kl_one_more, row.kl_one_more_stderr),
                )
            ),
        ]
        for row in rows
    ]
    title = (
        f"{rows[0].people:,} people, {format_count(rows[0].runs, 'run')}, seed {seed}; most likely shares, "
        "certified to 1e-9"
    )
    console.print_table(title, headers, cells)
    for reason, number in reasons.items():
        named = dict.fromkeys(row.channel for row in rows if row.unspent == reason)
        click.echo(f"({number}) less than epsilon is spent ({', '.join(named)}): {reason}")
    if any(row.refused == geometric.UNDETERMINED for row in rows):
        click.echo(
            "infinite: the channel gives up some outputs, so that its reports do not determine the shares"
        )


def _spent(loss: float | None, epsilon: float, footnote: int | None) -> str:
    """What neighbors lose; which reason there is for its being less than epsilon."""
    if loss is None:
        return "-"
    return f"{epsilon:g}" if footnote is None else f"{loss:.3g} ({footnote})"
