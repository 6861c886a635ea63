"""What the reproductions of papers share: options, how long it takes, and rows that are kept as they are
done.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from deniable.commands.shared import console, writing
from deniable.formatting import format_count

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from deniable.tables import Show

Command = Callable[..., None]
names = console.several(str.strip)
"""Reads an option of names, with commas between them."""
_Row = TypeVar("_Row", bound=Any)

_WRITTEN_EVERY = 10.0  # seconds
_TOLD_AFTER = 10.0  # before, what is done once and for all would count as work
_LONG = 60.0
_UNITS = (("day", 86400), ("hour", 3600), ("minute", 60))


def options(runs: str, quick: str, *before: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Options of its own, and those that every study takes."""
    often = f"How often each point is measured.  [default: {runs}]"

    def add(command: Command) -> Command:
        for option in reversed(
            (
                *before,
                click.option("--runs", type=click.IntRange(1), help=often),
                click.option(
                    "--seed",
                    type=click.IntRange(0),
                    default=1,
                    show_default=True,
                    help="Everything is drawn from it.",
                ),
                writing.out,
                console.as_json,
                writing.plot("the figures"),
                console.force,
                click.option("--quick", is_flag=True, help=quick),
            )
        ):
            command = option(command)
        return command

    return add


def estimating(show: Show) -> Show:
    """A progress that also says, once and on stderr, how long all of it takes, by what the first part of it
    took.
    """
    began, told = time.monotonic(), False

    def step(done: int, total: int) -> None:
        nonlocal told
        show(done, total)
        passed = time.monotonic() - began
        if not told and done and passed >= _TOLD_AFTER:
            told = True
            left = passed * (total - done) / done
            if left >= _LONG:
                click.echo(
                    f"this takes about {duration(left)} more, by the first {passed:.0f} seconds", err=True
                )

    return step


def duration(seconds: float) -> str:
    """About how long, in words.

    >>> duration(200), duration(40_000), duration(300_000)
    ('3 minutes', '11 hours', '3 days')
    """
    unit, size = next(((unit, size) for unit, size in _UNITS if seconds >= 1.5 * size), ("second", 1))
    return format_count(round(seconds / size), unit)


def tell_if_all(users: int | None, people: int, name: str, happens: str) -> None:
    """Say on stderr that there are no more people than this, where more were asked for."""
    if users is not None and users > people:
        click.echo(
            f"{name} has {people:,} people, fewer than --users {users:,}: all {people:,} are {happens}",
            err=True,
        )


def kept_as_done(files: Sequence[Path], rows: Iterable[_Row], as_json: bool) -> list[_Row]:
    """All rows; while they are measured, those that are done are printed, and in the files once
    in a while.
    """
    done, written = list[Any](), time.monotonic()
    with writing.json_rows() if _streams(as_json) else nullcontext() as add:
        for row in rows:
            done.append(row)
            if add is not None and row.refused is None:
                add(asdict(row))
            if files and time.monotonic() - written > _WRITTEN_EVERY:
                plain = [asdict(one) for one in done if one.refused is None]
                writing.write_tables(files, plain, plain, told=False)  # that is told at the end
                written = time.monotonic()
    return done


def told_to_machines(
    rows: Sequence[Any],
    draw: Callable[[Any], Figure],
    tables: Sequence[Path],
    plots: Sequence[Path],
    as_json: bool,
) -> bool:
    """Write and draw what was kept as done; what was refused is no row, but told. Whether all is printed."""
    kept = [row for row in rows if row.refused is None]
    if len(kept) < len(rows) and (as_json or tables):
        click.echo(f"{format_count(len(rows) - len(kept), 'row')} left out of what is written:", err=True)
        console.print_refusals(((row.protocol, row.refused) for row in rows), err=True)
    return writing.measured(kept, draw, tables, plots, as_json, printed=_streams(as_json))


def _streams(as_json: bool) -> bool:
    """Whether JSON is printed row by row: not on a terminal, where the progress is."""
    return as_json and not sys.stdout.isatty()
