"""Opens files and dataframes of reports, and reads them piece by piece; warns of files that are copies."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date
from filecmp import cmp
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, final
from urllib.parse import unquote

import numpy as np

from deniable.engines.form import TableForm
from deniable.errors import DeniableWarning, InvalidReport
from deniable.frames import PLAN_KEY, ROWS

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import parquet

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""What a folder says of rows that have no value of its column."""

_DATE, _INTEGER = re.compile(r"\d{4}-\d{1,2}-\d{1,2}"), re.compile(r"0|-?[1-9]\d{0,18}")
_LEAST = 100  # rows: a few reports may come out alike by chance
_END = 1 << 16  # bytes at the end of a file, where Parquet describes what is in it


class RowSource(Protocol):
    """Rows that are read in blocks."""

    @property
    def rows(self) -> int:
        """How many there are; 0 where that is not known."""

    def read(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The named columns, in blocks."""


@final
class DamagedFile(InvalidReport):
    """Raised for a file of reports that cannot be read, or whose checksums do not hold."""

    def __init__(self, path: str | Path, problem: object) -> None:
        first = str(problem).strip().partition("\n")[0].rstrip(".")
        super().__init__(f"{path} is not a file of reports, or is damaged: {first}")
        self.path = Path(path)


@contextmanager
def plain_damage(path: str | Path) -> Iterator[None]:
    """Say of which file it is that pyarrow cannot read a page, or finds another checksum."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError, OverflowError) as problem:
        raise DamagedFile(path, problem) from None


@final
@dataclass(frozen=True)
class Piece:
    """A group of rows of a file, and what the names of its folders say of all of them (`round=2`)."""

    path: str
    metadata: parquet.FileMetaData
    group: int
    folders: Mapping[str, Any]

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return int(self.metadata.row_group(self.group).num_rows)

    def read(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The named columns of its rows, in blocks; one that folders name has the same value in all rows."""
        import pyarrow as pa
        from pyarrow import parquet

        in_file = [name for name in names if name not in self.folders]
        rows = 0
        with (
            plain_damage(self.path),
            parquet.ParquetFile(self.path, metadata=self.metadata, page_checksum_verification=True) as file,
        ):
            # many rows of few columns, so that what a block costs by itself is little
            at_once = max(ROWS, min(4 * ROWS, 32 * ROWS // (len(in_file) + 1)))
            for batch in file.iter_batches(at_once, [self.group], in_file, use_threads=False):
                rows += batch.num_rows
                columns = {name: _read_plain(batch.column(name)) for name in in_file}
                indices = pa.array(np.zeros(batch.num_rows, dtype=np.int8))
                for name in names:
                    if name in self.folders:
                        label = pa.array([self.folders[name]])
                        columns[name] = pa.DictionaryArray.from_arrays(indices, label, safe=False)
                yield pa.RecordBatch.from_pydict(columns)
        if in_file and rows != self.rows:
            raise DamagedFile(self.path, f"it has {rows:,} rows where its footer says {self.rows:,}")


@final
@dataclass(frozen=True)
class Frame:
    """A table in memory, or one that is computed as it is read."""

    batches: Callable[[], Iterator[pa.RecordBatch]]
    rows: int

    def read(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The named columns of its rows, in blocks."""
        import pyarrow as pa

        for batch in self.batches():
            for start in range(0, batch.num_rows, ROWS):
                block = batch.select(list(names)).slice(start, ROWS)
                yield pa.RecordBatch.from_arrays(list(map(_read_plain, block.columns)), names=list(names))


@final
@dataclass(frozen=True)
class File:
    """A file that is opened."""

    path: str
    metadata: parquet.FileMetaData
    kinds: Mapping[str, str]
    """What each column holds, also those that folders name."""
    folders: Mapping[str, Any]
    plan: str | None
    """The plan of all of its rows, if it says so in its header or its folder."""

    @property
    def rows(self) -> int:
        return int(self.metadata.num_rows)

    def list_pieces(self) -> Iterator[Piece]:
        """Its groups of rows."""
        for group in range(self.metadata.num_row_groups):
            yield Piece(self.path, self.metadata, group, self.folders)


def open_file(path: Path, form: TableForm) -> File:
    """What a file says of itself; its header, which a program wrote, is believed before a folder."""
    from pyarrow import parquet

    with plain_damage(path), parquet.ParquetFile(path) as file:
        metadata, schema = file.metadata, file.schema_arrow
    check_footer(path, metadata)
    folders = read_folders(path, form)
    header = (schema.metadata or {}).get(PLAN_KEY)
    if form.plan_column not in schema.names and header is not None:
        folders[form.plan_column] = header.decode("ascii", "replace")
    kinds = {name: _name_value(value) for name, value in folders.items()}
    kinds |= {name: name_kind(schema.field(name).type) for name in schema.names}
    plan = None if form.plan_column in schema.names else folders.get(form.plan_column)
    outside = {name: value for name, value in folders.items() if name not in schema.names}
    return File(str(path), metadata, kinds, outside, plan)


def check_footer(path: str | Path, metadata: parquet.FileMetaData) -> None:
    """Refuse a file whose footer contradicts itself: pages have checksums, and the footer has none."""
    rows = sum(metadata.row_group(i).num_rows for i in range(metadata.num_row_groups))
    if metadata.num_rows != rows:
        raise DamagedFile(path, f"its footer says {metadata.num_rows:,} rows, and {rows:,} of all groups")


def type_folders(files: Sequence[File]) -> list[File]:
    """The files with what folders are called as dates or integers, where all files of them have such names.

    Engines that read folders do so, too: `day=2026-11-15` is a date, `hour=7` an integer. Numbers with zeros
    in front are text.
    """
    typed = list(files)
    for name in dict.fromkeys(name for file in files for name in file.folders):
        texts = [file.folders[name] for file in files if isinstance(file.folders.get(name), str)]
        values = type_texts(texts)
        for i, file in enumerate(typed if texts else []):
            text = file.folders.get(name)
            if name in file.folders and (text is None or isinstance(text, str)):
                kinds = {**file.kinds, name: _name_value(values[texts[0]])}  # of no value, as of the others
                folders = {**file.folders, name: None if text is None else values[text]}
                typed[i] = replace(file, folders=folders, kinds=kinds)
    return typed


def type_texts(texts: Sequence[str]) -> dict[str, date | int | str]:
    """What the names of folders say: dates if all are dates, integers if all are integers, or text."""
    for read in (_read_date, _read_integer):
        values = {text: read(text) for text in texts}
        if all(values.values()):
            return {text: value for text, parsed in values.items() for value in parsed or ()}
    return {text: text for text in texts}


def _read_date(text: str) -> list[date] | None:
    """The date that a text is; None where it is none."""
    try:
        return [date(*map(int, text.split("-")))] if _DATE.fullmatch(text) else None
    except ValueError:
        return None


def _read_integer(text: str) -> list[int] | None:
    """The integer that a text is, without zeros in front; None where it is none."""
    fits = _INTEGER.fullmatch(text) is not None and -(1 << 63) <= int(text) < 1 << 63
    return [int(text)] if fits else None


def _name_value(value: object) -> str:
    return {int: "integer", date: "date"}.get(type(value), "text")


def read_plan(path: Path, form: TableForm) -> str | None:
    """The plan of a file, or of its first row."""
    opened = open_file(path, form)
    if opened.plan is not None:
        return opened.plan
    return next((read_first(piece, form.plan_column) for piece in opened.list_pieces()), None)


def read_first(piece: RowSource, name: str) -> str | None:
    """What a column of text holds in the first row."""
    batch = next(iter(piece.read([name])), None)
    return batch.column(0)[0].as_py() if batch is not None and batch.num_rows else None


def read_folders(path: Path, form: TableForm) -> dict[str, Any]:
    """What the names of folders say (`day=2026-11-15`), as text; rounds and groups are numbers."""
    numbers = {form.round_column} | ({form.group[0]} if form.group else set())
    folders: dict[str, Any] = {}
    for part in path.parent.parts:
        name, equals, value = (unquote(text) for text in part.partition("="))
        if equals:
            text = None if value == NO_VALUE else value
            folders[name] = int(value) if name in numbers and value.isdecimal() else text
    return folders


def _read_plain(array: pa.Array) -> pa.Array:
    """The column as text or integers of a plain type, which all steps know."""
    import pyarrow as pa

    kind = array.type
    if pa.types.is_dictionary(kind) and name_kind(kind.value_type) != "text":
        return array.dictionary_decode()
    return array.cast(pa.string()) if pa.types.is_string_view(kind) else array


def to_arrow(frame: Any, form: TableForm) -> pa.Table:
    """A dataframe of any library that narwhals knows."""
    import narwhals as nw

    try:
        wrapped = nw.from_native(frame, eager_only=True)
    except TypeError:
        raise InvalidReport(
            f"tables of reports are dataframes of pandas, Polars or pyarrow, got {type(frame).__name__}"
        ) from None
    table = wrapped.to_arrow()
    return _read_integers(table, form) if wrapped.implementation.is_pandas() else table


def _read_integers(table: pa.Table, form: TableForm) -> pa.Table:
    """The table with integers where pandas, for want of a null, has floats."""
    import pyarrow as pa

    for column in (column for columns in form.columns for column in columns):
        at = table.schema.get_field_index(column.name)
        # a float above 2^53 may have been another integer
        if at < 0 or column.limit > 1 << 53 or not pa.types.is_floating(table.schema.field(at).type):
            continue
        floats = table.column(at).to_numpy(zero_copy_only=False)
        is_whole = np.isfinite(floats) & (np.floor(floats) == floats) & (np.abs(floats) < 1 << 53)
        numbers = np.where(is_whole, floats, -1).astype(np.int64)  # what is no number of a report is refused
        table = table.set_column(at, column.name, pa.array(numbers, mask=np.isnan(floats)))
    return table


def name_kind(kind: pa.DataType) -> str:
    """What a column holds: "integer", "list" (of integers), "text", "date", "bool" or "other"."""
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(kind):
        return name_kind(kind.value_type)
    if types.is_list(kind) or types.is_fixed_size_list(kind) or types.is_large_list(kind):
        return "list" if name_kind(kind.value_type) == "integer" else "other"
    if types.is_integer(kind):
        return "other" if types.is_uint64(kind) else "integer"
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return "text"
    tests = {"date": types.is_date, "bool": types.is_boolean, "float": types.is_floating}
    return next((name for name, holds in tests.items() if holds(kind)), "other")


def warn_copies(paths: Sequence[Path]) -> None:
    """Warn about files that are equal, byte for byte: noise is random, so that many reports never are."""
    for alike in _group(paths):
        first = alike[0]
        for other in alike[1:]:
            if cmp(first, other, shallow=False) and _count_rows(first) >= _LEAST:
                warnings.warn(
                    f"{other} is a copy of {first}, byte for byte: its reports count twice; leave one of the "
                    "two out",
                    DeniableWarning,
                    stacklevel=2,
                )


def _group(paths: Iterable[Path]) -> list[list[Path]]:
    """Files of one size that end alike: few files are, so that hardly any is read."""
    sizes: dict[int, list[Path]] = {}
    for path in paths:
        if path.is_file():
            sizes.setdefault(path.stat().st_size, []).append(path)
    groups: dict[tuple[int, bytes], list[Path]] = {}
    for size, members in sizes.items():
        for path in members if len(members) > 1 else []:
            groups.setdefault((size, _read_end(path, size)), []).append(path)
    return [members for members in groups.values() if len(members) > 1]


def _read_end(path: Path, size: int) -> bytes:
    with path.open("rb") as file:
        file.seek(max(0, size - _END))
        return file.read()


def _count_rows(path: Path) -> int:
    """How many rows a file has; none where it cannot be read: its reader says what is wrong."""
    from pyarrow import ArrowException, parquet

    try:
        return int(parquet.read_metadata(path).num_rows)
    except (ArrowException, OSError):
        return 0
