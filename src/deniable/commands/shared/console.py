"""Prints results as tables or JSON, shows progress, and refuses to overwrite files.

Results go to stdout and nothing else does; progress and what was written go to stderr. No existing file is
overwritten without `--force`.
"""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deniable.errors import InvalidParameter
from deniable.formatting import format_digits

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from deniable.frames import Show

as_json = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
force = click.option("--force", is_flag=True, help="Overwrite existing files.")

# columns of text, the others being numbers
_TEXTS = ["question", "answer", "protocol", "mechanism", "method", "drawn", "what it does", "noise"]
_TEXTS += ["epsilon per", "dataset", "model", "calendar", "per", "figure", "data"]
_TEXTS += ["paper", "figure or table", "deniable reproduce", "what happened", "level", "asked to"]
_LINE_EVERY = 30.0  # seconds; a log needs no more, and short work none
_PIPE_WIDTH = 1000  # where no terminal folds it, a row of a table is one line


def refuse_existing(files: Iterable[Path], overwrite: bool) -> None:
    """Refuse, before any work is done, to overwrite what nobody asked to overwrite."""
    for file in files:
        if file.is_dir():
            raise InvalidParameter(f"{file} is a folder; name a file")
        if file.exists() and not overwrite:
            raise InvalidParameter(
                f"{file} exists already; choose another name, or overwrite it with --force"
            )


def refuse_ending(file: Path, endings: Iterable[str], what: str) -> None:
    """Refuse a file whose ending does not say how to write it."""
    allowed = list(endings)
    if file.suffix.lower() not in allowed:
        raise InvalidParameter(
            f"{what} is written to a file ending in {', '.join(allowed)}; got {file.name!r}"
        )


@contextmanager
def writing(file: Path, private: bool = False, announced: bool = True) -> Iterator[Path]:
    """A temporary file that takes the place of a file when all of it is written; then says so.

    A private file is for its owner only.
    """
    from deniable.frames import replacing

    with replacing(file, private) as temporary:
        yield temporary
    if announced:
        note(f"wrote {file}")


def note(text: str) -> None:
    """Say something beside the results, on stderr."""
    click.echo(text, err=True)


def warn(text: str) -> None:
    """Say on stderr what may be wrong."""
    note(f"warning: {text}")


def say_next(*words: object, before: str = "") -> None:
    """Say on stderr which command comes next, with the files just used; `before` is what to do first."""
    note(f"next: {before}{write_command(*words)}")


def free_name(name: str) -> str:
    """A name of a file that does not exist yet: this one, or with a number before its ending."""
    path = Path(name)
    names = (path.with_stem(f"{path.stem}-{i}") if i > 1 else path for i in count(1))
    return str(next(file for file in names if not file.exists()))


def write_command(*words: object) -> str:
    """A command as a shell takes it; a file whose name begins with a dash is not taken for an option."""
    texts = [f"./{word}" if isinstance(word, Path) and f"{word}"[0] == "-" else f"{word}" for word in words]
    return shlex.join(["deniable", *texts])


@contextmanager
def progress(text: str) -> Iterator[Show]:
    """A bar on stderr that goes when the work is done; without a terminal, a line now and then."""
    if not sys.stderr.isatty():
        yield _print_lines(text)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = TextColumn(text), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()
    # what goes to stdout meanwhile stays there
    with Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False) as bar:
        task = bar.add_task(text, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _print_lines(text: str) -> Show:
    began = last = time.monotonic()

    def show(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _LINE_EVERY and done < total:
            last = now
            note(f"{text}: {100 * done / total:.0f} % after {now - began:.0f} seconds")

    return show


def console() -> Console:
    """Where results are printed: as wide as the terminal, or as a row needs."""
    from rich.console import Console

    return Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=_PIPE_WIDTH)


def print_json(data: object) -> None:
    """Any plain data, on stdout."""
    click.echo(json_text(data), nl=False)


def json_text(data: object) -> str:
    """Plain data as JSON that people can read."""
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def print_table(title: str, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print as many columns as the terminal has room for: a number is never folded or cut."""
    from rich.measure import Measurement

    page, columns = console(), len(headers)
    room = page.options.update(width=_PIPE_WIDTH)
    while columns > 1 and Measurement.get(page, room, _table(headers, rows, columns)).minimum > page.width:
        columns -= 1
    page.print(title, markup=False)
    page.print(_table(headers, rows, columns))
    if columns < len(headers):
        click.echo(f"no room for: {', '.join(headers[columns:])}; widen the terminal or use --json")


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]], columns: int) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 0, 0, 1))
    for header, *cells in list(zip(headers, *rows, strict=True))[:columns]:
        least = 30 if header == "what it does" else max(map(len, (header, *cells)))
        table.add_column(header, justify="left" if header in _TEXTS else "right", min_width=least)
    for row in rows:
        table.add_row(*map(Text, row[:columns]))
    return table


def print_refusals(reasons: Iterable[tuple[str, str | None]], err: bool = False) -> None:
    """Each reason once, with all that gave it."""
    names: dict[str, dict[str, None]] = {}
    for name, reason in reasons:
        if reason is not None:
            names.setdefault(reason, {})[name] = None
    for reason, refused in names.items():
        click.echo(f"refused ({', '.join(refused)}): {reason}", err=err)


def refuse_if_all_refused(reasons: Sequence[str | None]) -> None:
    """Refuse where every one is refused."""
    if reasons and all(reasons):
        raise InvalidParameter(reasons[0] or "")


def short(number: float | None) -> str:
    """Three digits; nothing where there is no number."""
    return "" if number is None else format_digits(number, 3)
