"""Adds the options of every study, announces how long it takes, and keeps rows as they are done."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, fields
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, final

import click

from deniable.commands.shared import console, writing
from deniable.commands.shared.options import COUNT, SEED
from deniable.formatting import format_count

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from deniable.frames import Show

Command = Callable[..., None]
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


def options(runs: str, quick: str, *before: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Options of its own, and those that every study takes, which the command gets as its `choices`.

    What is to be written is checked before anything is measured.
    """
    often = f"How often to measure each point.  [default: {runs}]"

    def add(command: Command) -> Command:
        @wraps(command)
        def run(**given: Any) -> None:
            choices = Choices(**{one.name: given.pop(one.name) for one in fields(Choices)})
            writing.check(choices.out, choices.plot_files, choices.force)
            writing.check_folder(choices.figure_folder, choices.force)
            command(choices=choices, **given)

        found: Command = run
        for option in reversed(
            (
                *before,
                click.option("--runs", type=COUNT, help=often),
                click.option(
                    "--seed",
                    type=SEED,
                    default="1",
                    show_default=True,
                    help="The seed of everything random.",
                ),
                writing.out,
                console.as_json,
                writing.plot("the figures"),
                writing.figures("every figure and dataset"),
                console.force,
                click.option("--quick", is_flag=True, help=quick),
            )
        ):
            found = option(found)
        return found

    return add


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


def warn_if_fewer(users: int | None, people: int, name: str, happens: str) -> None:
    """Say on stderr that there are no more people than this, where more were asked for."""
    if users is not None and users > people:
        click.echo(
            f"{name} has {people:,} people, fewer than --users {users:,}: all {people:,} are {happens}",
            err=True,
        )


def keep_rows(choices: Choices, rows: Iterable[_Row]) -> list[_Row]:
    """Collects all rows; prints those that are done, and saves them once in a while."""
    done, written = list[Any](), time.monotonic()
    with writing.json_rows() if _prints_rows(choices.as_json) else nullcontext() as add:
        for row in rows:
            done.append(row)
            if add is not None and row.refused is None:
                add(asdict(row))
            if choices.out and time.monotonic() - written > _WRITTEN_EVERY:
                plain = [asdict(one) for one in done if one.refused is None]
                writing.write_tables(choices.out, plain, plain, announced=False)  # the end announces it
                written = time.monotonic()
    return done


def write_rows(choices: Choices, rows: Sequence[Any], draw: Callable[[Any], Figure]) -> bool:
    """Write and draw the rows that were kept, and report refused ones. Whether all is printed."""
    kept = [row for row in rows if row.refused is None]
    if len(kept) < len(rows) and (choices.as_json or choices.out):
        click.echo(f"{format_count(len(rows) - len(kept), 'row')} left out of what is written:", err=True)
        console.print_refusals(((row.protocol, row.refused) for row in rows), err=True)
    return write_measurements(choices, kept, draw, printed=_prints_rows(choices.as_json))


def write_measurements(
    choices: Choices, rows: Sequence[Any], draw: Callable[[Any], Figure], printed: bool = False
) -> bool:
    """Write and draw all rows. Whether all is printed."""
    if choices.figure_folder is not None:
        parts: dict[str, list[Any]] = {}
        for row in rows:
            parts.setdefault(_name_figure(row), []).append(row)
        drawings = [
            (name, partial(draw, part))
            for name, part in parts.items()
            if any(row.refused is None for row in part)
        ]
        writing.save_figures(choices.figure_folder, drawings)
    return writing.write_measurements(
        rows, draw, choices.out, choices.plot_files, choices.as_json, printed=printed
    )


def _name_figure(row: Any) -> str:
    """The figure and the dataset that a row belongs to, or how its people are distributed."""
    names = (getattr(row, name, None) for name in ("figure", "dataset", "prior"))
    return " ".join(str(name) for name in names if name)


def _prints_rows(as_json: bool) -> bool:
    """Whether JSON is printed row by row: not on a terminal, where the progress is."""
    return as_json and not sys.stdout.isatty()
