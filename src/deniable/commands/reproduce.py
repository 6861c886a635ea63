"""`deniable reproduce`: the figures of the papers as tables, JSON or plots, with the true losses beside them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deniable.errors import InvalidParameter, not_among

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from deniable.data import Dataset
    from deniable.studies import allomfree, rsfd

_QUICK_RUNS = 5
_PIPE_WIDTH = 1000  # where no terminal folds it, a row of a table is one line


@click.group("reproduce")
def reproduce() -> None:
    """Reproduce the figures of a paper, with the true losses beside them."""


def _options(command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(
        (
            click.option("--dataset", multiple=True, help="A dataset; may be given several times.  [default: all]"),
            click.option("--runs", type=click.IntRange(1), help="How often each point is measured.  [default: 100]"),
            click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Everything is drawn from it."),
            click.option("--json", "as_json", is_flag=True, help="Print JSON."),
            click.option("--plot", "plot_file", type=click.Path(path_type=Path), help="Draw the figures (png, svg, pdf)."),
            click.option("--quick", is_flag=True, help=f"Only {_QUICK_RUNS} runs, and datasets that need no files."),
        )
    ):
        command = option(command)
    return command


@reproduce.command("rsfd")
@_options
def reproduce_rsfd(
    dataset: Sequence[str], runs: int | None, seed: int, as_json: bool, plot_file: Path | None, quick: bool
) -> None:
    """Figures 6 to 10 of the RS+FD paper: splitting, sampling, and sampling plus fake data.

    Every RS+FD method is there as published, and `at record`: with a true loss per record of no more than epsilon.
    """
    from deniable.studies import rsfd

    _check_plot(plot_file)
    sets = _loaded(dataset, rsfd.DATASETS, quick)
    with _Progress() as progress:
        rows = list(rsfd.reproduce(sets, runs=runs or _runs(rsfd.RUNS, quick), seed=seed, progress=progress.show))
    if plot_file is not None:
        from deniable import plot_studies

        _save(plot_studies.rsfd_plot(rows), plot_file)
    if as_json:
        _print_json(rows)
        return
    headers = ["dataset", "method", "epsilon", "MSE_avg", "unbiased", "true loss per record", "per attribute"]
    cells = [
        [row.dataset, row.method, f"{row.epsilon:.4f}", *_errors(row), *map(_number, (row.loss_record, row.loss_attribute))]
        for row in rows
    ]
    _print_table(_title(rows[0].runs, seed), headers, cells)
    _print_refusals(rows)


@reproduce.command("allomfree")
@_options
def reproduce_allomfree(
    dataset: Sequence[str], runs: int | None, seed: int, as_json: bool, plot_file: Path | None, quick: bool
) -> None:
    """The longitudinal figures of the ALLOMFREE paper: two rounds on one attribute per person.

    ALLOMFREE as published spends only a part of what one report may; ALLOMFREE-exact spends all of it.
    """
    from deniable.studies import allomfree

    _check_plot(plot_file)
    sets = _loaded(dataset, allomfree.DATASETS, quick)
    with _Progress() as progress:
        rows = list(allomfree.reproduce(sets, runs=runs or _runs(allomfree.RUNS, quick), seed=seed, progress=progress.show))
    if plot_file is not None:
        from deniable import plot_studies

        _save(plot_studies.allomfree_plot(rows), plot_file)
    if as_json:
        _print_json(rows)
        return
    headers = ["dataset", "method", "epsilon", "of one report", "MSE_avg", "unbiased", "true loss of one", "for ever", "L-GRR"]
    cells = [
        [
            *(row.dataset, row.method, f"{row.epsilon_forever:g}", f"{row.epsilon_first:g}", *_errors(row)),
            *map(_number, (row.loss_record, row.loss_forever)),
            "" if row.direct is None else f"{row.direct} of {row.d}",
        ]
        for row in rows
    ]
    _print_table(_title(rows[0].runs, seed), headers, cells)
    _print_refusals(rows)


def _runs(usual: int, quick: bool) -> int:
    return _QUICK_RUNS if quick else usual


def _title(runs: int, seed: int) -> str:
    return f"{runs:,} runs, seed {seed}; MSE_avg of estimates clipped at 0 and scaled to a sum of one, as in the papers' code"


def _loaded(asked: Sequence[str], usual: Sequence[str], quick: bool) -> list[Dataset]:
    """The datasets that are asked for; one that is misspelled is refused before any is read."""
    from deniable import data

    names = list(dict.fromkeys(part.strip() for text in asked for part in text.split(",")))
    for name in names:
        if name not in data.NAMES:
            raise InvalidParameter(not_among(name, "a dataset", data.NAMES))
    return [data.load(name) for name in names or (("synthetic-1", "synthetic-5") if quick else usual)]


def _check_plot(file: Path | None) -> None:
    """Refuse what cannot be drawn before any work is done."""
    if file is not None:
        from deniable import plot

        plot.require_matplotlib()
        plot.checked_path(file)


def _save(figure: Figure, file: Path) -> None:
    from deniable import plot

    plot.save(figure, file)
    click.echo(f"wrote {file}", err=True)


def _errors(row: rsfd.Row | allomfree.Row) -> list[str]:
    if row.refused is not None:
        return ["refused", ""]
    pairs = (row.mse_avg, row.mse_avg_stderr), (row.mse_avg_raw, row.mse_avg_raw_stderr)
    return [f"{mean:.3g}" if stderr is None else f"{mean:.3g} +- {stderr:.1g}" for mean, stderr in pairs]


def _number(number: float | None) -> str:
    return "" if number is None else f"{number:.4f}"


class _Progress:
    """A bar on stderr while there is a terminal to see it, gone when the work is done."""

    def __enter__(self) -> _Progress:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = TextColumn("measuring"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
        self._bar = Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())
        self._task = self._bar.add_task("measuring", total=None)
        self._bar.start()
        return self

    def show(self, done: int, total: int) -> None:
        self._bar.update(self._task, completed=done, total=total)

    def __exit__(self, *_problem: object) -> None:
        self._bar.stop()


def _print_json(rows: Sequence[Any]) -> None:
    click.echo(json.dumps([asdict(row) for row in rows], indent=2, allow_nan=False))


def _print_table(title: str, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Numbers to the right; a table that is read by a program is never folded."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=_PIPE_WIDTH)
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 0, 0, 1))
    for header in headers:
        table.add_column(header, justify="left" if header in ("dataset", "method") else "right", no_wrap=header == "method")
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(title, markup=False)
    console.print(table)


def _print_refusals(rows: Sequence[rsfd.Row] | Sequence[allomfree.Row]) -> None:
    """Each reason once."""
    for method, reason in dict.fromkeys((row.method, row.refused) for row in rows if row.refused is not None):
        click.echo(f"refused ({method}): {reason}")
