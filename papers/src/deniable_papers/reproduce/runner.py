"""Runs every experiment: reads its options, announces how long it takes, keeps rows as they are done, and
writes, draws and prints them.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Any, TypeVar, final

import click
from click.core import ParameterSource

from deniable.commands.shared import console, writing
from deniable.commands.shared.options import COUNT, SEED
from deniable.formatting import format_count
from deniable_papers.experiment import DIFFERS, OWN, Asked, Experiment, Table

if TYPE_CHECKING:
    from deniable.frames import Show

_Row = TypeVar("_Row", bound=Any)

_WRITTEN_EVERY = 10.0  # seconds
_ANNOUNCED_AFTER = 10.0
_LONG = 60.0
_UNITS = (("day", 86400), ("hour", 3600), ("minute", 60))


@final
@dataclass(frozen=True)
class Choices:
    """What every study is asked: how often to measure, from which seed, and what to write."""

    runs: int | None
    seed: int
    out: Sequence[Path]
    as_json: bool
    plot_files: Sequence[Path]
    figure_folder: Path | None
    force: bool
    quick: bool


def make_command(experiment: Experiment) -> click.Command:
    """The command of an experiment, with its own options and those that every one has."""

    @click.command(experiment.name, help=experiment.about)
    def command(**given: Any) -> None:
        choices = Choices(**{choice.name: given.pop(choice.name) for choice in fields(Choices)})
        if given.get(OWN) is not None and given.get("dataset") and _is_given("dataset"):
            raise click.UsageError("--data and --dataset exclude each other: name one of them")
        writing.check(choices.out, choices.plot_files, choices.force)
        writing.check_folder(choices.figure_folder, choices.force)
        run_experiment(experiment, choices, given)

    often = f"How often to measure each point.  [default: {experiment.runs_text or experiment.runs[0]}]"
    seed = click.option(
        "--seed", type=SEED, default="1", show_default=True, help="The seed of everything random."
    )
    decorators: list[Callable[[Any], Any]] = [size.option for size in experiment.sizes if size.option]
    decorators += [click.option("--runs", type=COUNT, help=often), seed, writing.out, console.as_json]
    decorators += [writing.plot("the figures"), writing.figures("every figure and dataset"), console.force]
    decorators += [click.option("--quick", is_flag=True, help=experiment.quick_text)]
    for decorate in decorators:  # a command keeps the order in which options are added
        command = decorate(command)
    return command


def _is_given(parameter: str) -> bool:
    source = click.get_current_context().get_parameter_source(parameter)
    return source is not None and source is not ParameterSource.DEFAULT


def run_experiment(experiment: Experiment, choices: Choices, given: Mapping[str, Any]) -> None:
    """Measures, writes, draws and prints: whatever differs between studies is in the experiment."""
    sizes = {size.keyword: size.choose(given, choices.quick) for size in experiment.sizes}
    runs = choices.runs or experiment.runs[choices.quick]
    asked = Asked(runs, choices.seed, given, choices.quick)
    with console.progress(experiment.work) as show:
        rows = keep_rows(
            choices,
            experiment.measure(
                **{name: value for name, value in sizes.items() if value is not None},
                runs=runs,
                seed=choices.seed,
                progress=announce_duration(show),
            ),
            experiment.written_refusals,
        )
    rows = list(experiment.finish(rows))
    for warning in experiment.warnings(rows, asked):
        click.echo(warning, err=True)
    is_json = write_rows(choices, rows, experiment)
    if not is_json:
        for table in experiment.tables(rows, asked):
            print_table(table)
    for heading, guarantee in experiment.guarantees(rows):
        lines = "\n".join(f"  {line}" for line in str(guarantee).splitlines())
        click.echo(f"{heading}\n{lines}", err=is_json)
    if is_json:
        return
    for note in experiment.notes(rows, asked):
        click.echo(note)
    named = ((experiment.refusals(row), row.refused) for row in rows)
    console.print_refusals((name, reason) for name, reason in named if name is not None)


def print_table(table: Table) -> None:
    """A table of rows; where some numbers are stated, how many rows differ from them, and by how much."""
    cells = [[show(row) for _, show in table.columns] for row in table.rows]
    headings = [heading for heading, _ in table.columns]
    if table.sparse:
        kept = [place for place in range(len(headings)) if any(line[place] for line in cells)]
        headings = [headings[place] for place in kept]
        cells = [[line[place] for place in kept] for line in cells]
    console.print_table(table.title, headings, cells)
    stated = sum(getattr(row, "stated", None) is not None for row in table.rows)
    if table.margin and stated:
        marked = sum(DIFFERS in line for line in cells)
        of = format_count(stated, "stated number")
        click.echo(f"{marked} of {of} marked as different: farther off than {table.margin}")
    if table.after:
        click.echo(table.after)


def announce_duration(show: Show) -> Show:
    """Shows progress, and says once on stderr how long all of it takes, by its first part."""
    first: tuple[float, int] | None = None  # what is done before the first part is done only once
    said = False

    def step(done: int, total: int) -> None:
        nonlocal first, said
        show(done, total)
        if not done:
            return
        if first is None:
            first = time.monotonic(), done
        passed = time.monotonic() - first[0]
        if not said and done > first[1] and passed >= _ANNOUNCED_AFTER:
            said = True
            left = passed * (total - done) / (done - first[1])
            if left >= _LONG:
                click.echo(
                    f"this takes about {format_duration(left)} more, by the first {passed:.0f} seconds",
                    err=True,
                )

    return step


def format_duration(seconds: float) -> str:
    """About how long, in words.

    >>> format_duration(200), format_duration(40_000), format_duration(300_000)
    ('3 minutes', '11 hours', '3 days')
    """
    unit, size = next(((unit, size) for unit, size in _UNITS if seconds >= 1.5 * size), ("second", 1))
    return format_count(round(seconds / size), unit)


def keep_rows(choices: Choices, rows: Iterable[_Row], with_refused: bool = False) -> list[_Row]:
    """Collects all rows; prints those that are done, and saves them once in a while.

    Where the work stops before its end, by an interrupt or an error, all rows that are done are saved first.
    """
    done, written, is_complete = list[Any](), time.monotonic(), False

    def save() -> None:
        plain = [asdict(row) for row in done if with_refused or row.refused is None]
        writing.write_tables(choices.out, plain, plain, announced=False)  # the end announces it

    try:
        with _json_rows() if _prints_rows(choices.as_json) else nullcontext() as add:
            for row in rows:
                done.append(row)
                if add is not None and (with_refused or row.refused is None):
                    add(asdict(row))
                if choices.out and time.monotonic() - written > _WRITTEN_EVERY:
                    save()
                    written = time.monotonic()
        is_complete = True
    finally:
        if choices.out and done and not is_complete:
            save()
            files = ", ".join(map(str, choices.out))
            click.echo(f"not complete: {format_count(len(done), 'finished row')} kept in {files}", err=True)
    return done


@contextmanager
def _json_rows() -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Prints the rows of a JSON array as they come, and closes it when all is done."""
    before = "["

    def add(row: Mapping[str, Any]) -> None:
        nonlocal before
        click.echo(f"{before}\n{indent(console.json_text(row), '  ').rstrip()}", nl=False)
        before = ","

    yield add
    click.echo("[]" if before == "[" else "\n]")


def write_rows(choices: Choices, rows: Sequence[Any], experiment: Experiment) -> bool:
    """Write and draw the rows, and report those that are left out. Whether all is printed."""
    kept = [row for row in rows if experiment.written_refusals or row.refused is None]
    if len(kept) < len(rows) and (choices.as_json or choices.out):
        click.echo(f"{format_count(len(rows) - len(kept), 'row')} left out of what is written:", err=True)
        console.print_refusals(((row.protocol, row.refused) for row in rows), err=True)
    if choices.figure_folder is not None:
        parts: dict[str, list[Any]] = {}
        for row in kept:
            parts.setdefault(_name_figure(row), []).append(row)
        drawings = [
            (name, partial(experiment.draw, part))
            for name, part in parts.items()
            if any(row.refused is None for row in part)
        ]
        writing.save_figures(choices.figure_folder, drawings)
    plain = [asdict(row) for row in kept]
    writing.write_tables(choices.out, plain, plain)
    writing.save_plots(choices.plot_files, partial(experiment.draw, kept))
    if choices.as_json and not _prints_rows(choices.as_json):
        console.print_json(plain)
    return choices.as_json


def _name_figure(row: Any) -> str:
    """The figure and the dataset that a row belongs to, how its people are distributed, and what is known."""
    names = (getattr(row, name, None) for name in ("figure", "dataset", "prior", "background", "metric"))
    return " ".join(str(name) for name in names if name)


def _prints_rows(as_json: bool) -> bool:
    """Whether JSON is printed row by row: not on a terminal, where the progress is."""
    return as_json and not sys.stdout.isatty()
