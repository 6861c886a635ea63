"""Writes tables to files by their endings, and draws plots: what `-o` and `--plot` do in every verb."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deniable.commands.shared import console
from deniable.commands.shared.options import FILE
from deniable.errors import InvalidParameter
from deniable.frames.files import csv_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENDINGS = (".csv", ".json", ".parquet")
FIGURES = (".pdf", ".svg", ".png")
out = click.option(
    "-o",
    "--out",
    type=FILE,
    multiple=True,
    help="Write the table to a file (.csv, .json, .parquet); may be repeated.",
)


def plot(what: str, name: str = "--plot") -> Callable[[Any], Any]:
    """An option that draws, once or several times."""
    into = f"{name.strip('-').replace('-', '_')}_files"
    return click.option(
        name,
        into,
        type=FILE,
        multiple=True,
        help=f"Draw {what} to a file (.png, .svg, .pdf); may be repeated.",
    )


def figures(what: str) -> Callable[[Any], Any]:
    """An option that draws figures for print into a folder."""
    return click.option(
        "--figures",
        "figure_folder",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="FOLDER",
        help=f"Draw {what} for print, each to files of its own (.pdf, .svg, .png).",
    )


def check_folder(folder: Path | None, overwrite: bool) -> None:
    """Refuse a folder for figures that holds other files, before any work is done."""
    if folder is None:
        return
    from deniable.plot.figure import require_matplotlib

    require_matplotlib()
    if folder.is_dir() and any(folder.iterdir()) and not overwrite:
        raise InvalidParameter(f"{folder} holds files already; name another folder, or say --force")


def save_figures(folder: Path | None, drawings: Iterable[tuple[str, Callable[[], Figure]]]) -> None:
    """Draw each figure to files that are named for it."""
    if folder is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    taken: dict[str, int] = {}
    for name, draw in drawings:
        plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "figure"
        taken[plain] = taken.get(plain, 0) + 1
        number = f"-{taken[plain]}" if taken[plain] > 1 else ""
        figure = draw()
        for ending in FIGURES:
            _save_plot(figure, folder / f"{plain}{number}{ending}")


def check(tables: Sequence[Path], plots: Sequence[Path], overwrite: bool) -> None:
    """Refuse what cannot be written before any work is done."""
    for file in tables:
        console.refuse_ending(file, ENDINGS, "the table (a plot: --plot)")
    console.refuse_existing(tables, overwrite)
    if plots:
        from deniable.plot.figure import checked_path, require_matplotlib

        require_matplotlib()
        for file in plots:
            checked_path(file)
        console.refuse_existing(plots, overwrite)
    files = [*tables, *plots]
    if len(set(files)) < len(files):
        raise InvalidParameter("the same file is named twice; give each result a file of its own")


def write_tables(
    files: Sequence[Path], rows: Sequence[Mapping[str, Any]], data: object, announced: bool = True
) -> None:
    """Rows as CSV or Parquet, and as JSON just what --json prints."""
    flat = [_flatten(row) for row in rows]
    columns = dict.fromkeys(name for row in flat for name in row)
    complete = [dict.fromkeys(columns) | row for row in flat]
    encoders = {".csv": csv_bytes, ".parquet": _encode_parquet}
    for file in files:
        with console.writing(file, announced=announced) as temporary:
            encode = encoders.get(file.suffix.lower())
            temporary.write_bytes(console.json_text(data).encode() if encode is None else encode(complete))


def save_plots(files: Sequence[Path], draw: Callable[[], Figure]) -> None:
    """Draw a figure to each of these files."""
    for file in files:
        _save_plot(draw(), file)


def _save_plot(figure: Figure, file: Path) -> None:
    """Draw a figure to a file, wholly or not at all."""
    from deniable.plot.figure import save

    with console.writing(file) as temporary:
        save(figure, temporary)


def _flatten(row: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Flattens the tables inside a row: a mean has its own name, and its error follows it."""
    cells: dict[str, Any] = {}
    for name, cell in row.items():
        if isinstance(cell, Mapping):
            cells |= _flatten(cell, before if name == "metrics" else f"{before}{name}_")
        else:
            cells[before.rstrip("_") if before and name == "mean" else f"{before}{name}"] = cell
    return cells


def _encode_parquet(rows: Sequence[Mapping[str, Any]]) -> bytes:
    from deniable.frames import require_pyarrow

    require_pyarrow()
    import pyarrow as pa
    from pyarrow import parquet

    sink = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(rows), sink)
    return sink.getvalue()
