"""Finds files to read, recognizes their kind, and writes files whole, CSV so that no spreadsheet runs it."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from deniable.errors import DeniableError, FileMissing, InvalidParameter, find_nearest, suggest_install

SEPARATORS = {".csv": ",", ".tsv": "\t"}
"""What separates the cells of a text file, by its ending, unless another separator is named."""
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "\t", "\r")  # also in full width
_NUMBER = r"[-+]?[0-9]+(?:\.[0-9]+)?"
_HARMLESS = re.compile(rf"{_NUMBER}(?: to under {_NUMBER}| or more)?")  # numbers, and the names of their bins


def require_pyarrow() -> None:
    """Refuse in one line where the library that reads and writes files is missing."""
    if find_spec("pyarrow") is None:
        raise DeniableError(f"files of reports need pyarrow; install it with: {suggest_install('frames')}")


def read_utf8(path: Path, saved: str) -> str:
    """The text of a file in UTF-8; `saved` says how to save another one."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidParameter(f"{path} is not in UTF-8; save {saved}") from None


PLAN = "a plan"
TALLIES = "a file of tallies"


def file_kind(path: Path) -> str:
    """What a file seems to be, or nothing."""
    content = path.read_bytes()
    if content.startswith(b"PAR1"):
        return "a Parquet file"
    if not content.strip():
        return "empty"
    if path.suffix.lower() in SEPARATORS:
        return "a CSV file"
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return ""
    data: Any = None
    for read in (json.loads, tomllib.loads):
        try:
            data = read(text)
            break
        except (ValueError, RecursionError):
            continue
    if isinstance(data, dict) and "version" in data:
        return PLAN
    if read is tomllib.loads and isinstance(data, dict):
        return "a study" if "attributes" in data else "a TOML file"
    if isinstance(data, dict) and ("kept_tallies" in data or {"plan", "tallies"} <= data.keys()):
        return TALLIES
    return "" if data is None else "another JSON file"


def read_toml(file: Path) -> dict[str, Any]:
    """What the file of a study holds; of one that is not in TOML it says what it seems to be."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as problem:
        kind = file_kind(file)
        mixed = f"{file.name} is {kind}, not a study" + ("; Plan.read reads it" if kind == PLAN else "")
        why = (
            "its lists or sections are nested too deeply" if isinstance(problem, RecursionError) else problem
        )
        raise InvalidParameter(mixed if kind else f"{file.name} is not valid TOML: {why}") from None


def require_file(path: Path, remedy: str) -> Path:
    """The path of an existing file; else a refusal with the nearest name, or with what to do."""
    if path.is_dir():
        raise FileMissing(f"{path} is a folder; name a file in it")
    if not path.exists():
        suggestion = _find_alike(path)
        raise FileMissing(
            f"there is no file {path}; " + (f"did you mean {suggestion!r}?" if suggestion else remedy)
        )
    return path


def _find_alike(path: Path) -> str | None:
    """The file in the same folder that was probably meant: with the same ending, or with another one."""
    beside = list(path.parent.iterdir()) if path.parent.is_dir() else []
    stem = find_nearest(path.stem, [file.stem for file in beside if file.suffix == path.suffix])
    if stem is not None:
        return stem + path.suffix
    return next((file.name for file in beside if file.stem == path.stem), None)


def refuse_existing(path: Path, overwrite: bool) -> None:
    """Refuse to overwrite what nobody asked to overwrite."""
    if path.exists() and not overwrite:
        raise InvalidParameter(f"{path} exists already; choose another name, or say overwrite=True")


def _sync(folder: Path) -> None:
    """Make a new name durable, where a folder can be opened."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def replacing(path: Path, private: bool = False) -> Iterator[Path]:
    """A temporary name in the same folder, which replaces the path on success; nothing half-written stays.

    The folder is made if it does not exist. Only its owner can ever read a private file, which is also synced
    to disk.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    target = path.resolve()  # a link stays one, and what it points to is written
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=target.suffix)
    except OSError as problem:
        raise OSError(problem.errno, problem.strerror, str(path)) from None
    os.close(handle)
    try:
        yield Path(name)
        if not private:
            mask = os.umask(0)
            os.umask(mask)
            Path(name).chmod(0o666 & ~mask)
        Path(name).replace(target)
        if private:
            _sync(target.parent)
    finally:
        Path(name).unlink(missing_ok=True)


def csv_bytes(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """A table with a header, in UTF-8; all rows have the columns of the first."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(escape_formula, rows[0]))
    writer.writerows([escape_formula(cell) for cell in row.values()] for row in rows)
    return text.getvalue().encode()


def escape_formula(cell: object) -> object:
    """Put an apostrophe before text that a spreadsheet would run as a formula.

    >>> [escape_formula(cell) for cell in ("=HYPERLINK(...)", "red", -0.5, "-10 to under 0")]
    ["'=HYPERLINK(...)", 'red', -0.5, '-10 to under 0']
    """
    if isinstance(cell, str) and cell.startswith(_FORMULA) and not _HARMLESS.fullmatch(cell):
        return f"'{cell}"
    return cell
