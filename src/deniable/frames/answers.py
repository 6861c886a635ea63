"""Reads tables of answers: dataframes of any library, CSV and Parquet files, block by block.

None, NaN and empty text are missing answers. So are empty cells of a CSV file, and cells that say `nan`, as
programs write it, unless that is the name of a value. Every other cell is read as its text.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from deniable.arrays import Integers
from deniable.errors import InvalidParameter, InvalidValue, find_nearest, not_among
from deniable.formatting import shorten_names
from deniable.frames.files import SEPARATORS, require_file, require_pyarrow

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = 1 << 16
"""Rows that are processed at a time."""

PLAN_KEY = b"deniable.plan"
"""The key under which a file of reports names its plan."""

Show = Callable[[int, int], None]
"""Called with how much is done, and how much there is in all."""

DEGREES = ("latitude", "longitude")
"""What the two columns of a location are called, after its name and a dot."""


_ANSWERS = "name the CSV or Parquet file that has the answers"


def columns_of(table: object, names: Sequence[str], locations: Container[str] = ()) -> list[Any]:
    """The named columns, of one length, from a dataframe, a dictionary of columns, or a list of dictionaries.

    A location may have two columns instead of one column of pairs: `home.latitude` and `home.longitude`.
    """
    columns = split_locations(names, column_names(table), locations)
    _refuse_no_location(columns, column_names(table), locations)
    columns_by_name = dict(zip(columns, _columns_of(table, columns), strict=True))
    return [
        columns_by_name[name] if name in columns_by_name else _join_degrees(name, columns_by_name)
        for name in names
    ]


def split_locations(
    names: Sequence[str], columns: Sequence[str], locations: Container[str], where: str = "the table"
) -> list[str]:
    """The columns to read; a location without a column of its own needs both of its columns."""
    chosen: list[str] = []
    for name in names:
        degrees = _degree_columns(name) if name in locations else []
        if name not in columns:
            _refuse_spaces([name, *degrees], columns, where)
        halves = [column for column in degrees if column in columns and column not in names]
        if halves and name in columns:
            quoted = " and ".join(map(repr, halves))
            raise InvalidValue(
                f"{where} has a column {name!r}, and also {quoted}; it must be one or the other: remove what "
                "is wrong"
            )
        if len(halves) == 1:
            absent = next(column for column in degrees if column not in halves)
            raise InvalidValue(
                f"{absent!r} is not a column of {where} ({', '.join(columns)}), and {halves[0]!r} is; "
                f"a location needs both{_suggest_columns(degrees, columns)}"
            )
        chosen += degrees if halves else [name]
    return chosen


def _degree_columns(name: str) -> list[str]:
    """The two columns that a location may have."""
    return [f"{name}.{degrees}" for degrees in DEGREES]


def _suggest_columns(expected: Sequence[str], columns: Sequence[str]) -> str:
    """Suggest columns that seem to be wanted ones under another name."""
    similar = {column: find_nearest(str(column), expected) for column in columns if column not in expected}
    suggestions = [
        f"{name!r} by {column!r}"
        for column, name in similar.items()
        if name is not None and name not in columns
    ]
    return f"; did you mean {' and '.join(suggestions)}?" if suggestions else ""


def _refuse_spaces(expected: Sequence[str], columns: Sequence[str], where: str) -> None:
    """Refuse names that match but for spaces around them, as after the commas of a header."""
    texts = [column for column in columns if isinstance(column, str)]  # a record may have other keys
    spaced = [column for column in texts if column not in expected and column.strip() in expected]
    spaced = [column for column in spaced if column.strip() not in columns]
    if spaced:
        raise InvalidValue(
            f"{spaced[0].strip()!r} is not a column of {where}, but {spaced[0]!r} is: names of columns have "
            "spaces around them; remove the spaces, also those after commas"
        )


def _join_degrees(name: str, columns: Mapping[str, Any]) -> list[Any]:
    """Pairs of latitude and longitude from two columns."""
    return list(zip(*(list(columns[f"{name}.{degrees}"]) for degrees in DEGREES), strict=True))


def _columns_of(table: object, names: Sequence[str]) -> list[Any]:
    if isinstance(table, Mapping):
        _refuse_absent(names, list(map(str, table)))
        columns = [table[name] for name in names]
        for name, column in zip(names, columns, strict=True):
            if isinstance(column, str | bytes) or not hasattr(column, "__len__"):
                raise InvalidValue(f"the column {name!r} must be a list of values, got {column!r}")
        lengths = {name: len(column) for name, column in zip(names, columns, strict=True)}
        if len(set(lengths.values())) > 1:
            raise InvalidValue(f"columns must have one length, got {lengths}")
        return columns
    if isinstance(table, list | tuple):
        return _columns_of_records(table, names)
    return _columns_of_frame(table, names)


def is_table(values: object) -> bool:
    """Whether values are a dataframe or a dictionary of columns, and not one column."""
    if isinstance(values, Mapping):
        return True
    return any(
        hasattr(values, attribute) for attribute in ("columns", "column_names", "to_struct_array")
    ) and not isinstance(values, list | tuple)


def column_names(table: object) -> list[str]:
    """The names of a table's columns."""
    if isinstance(table, Mapping):
        return list(map(str, table))
    if isinstance(table, list | tuple):
        return list(dict.fromkeys(name for record in table for name in record))
    return list(_frame(table).columns)


def _columns_of_records(records: Sequence[object], names: Sequence[str]) -> list[Any]:
    for record in records:
        if not isinstance(record, Mapping):
            raise InvalidValue(f"a list of records has a dictionary for each, got {record!r}")
    if records:
        _refuse_absent(names, column_names(records))
    return [[record.get(name) for record in records if isinstance(record, Mapping)] for name in names]


def _columns_of_frame(table: object, names: Sequence[str]) -> list[Any]:
    frame = _frame(table)
    _refuse_absent(names, frame.columns)
    columns = []
    for name in names:
        column = frame[name]
        plain = column.dtype.is_numeric() and not column.is_null().any()
        columns.append(column.to_numpy() if plain else column.to_list())
    return columns


def _frame(table: object) -> Any:
    import narwhals as nw

    is_batch = hasattr(table, "to_struct_array") and hasattr(table, "schema")
    if is_batch and not hasattr(table, "to_batches"):
        import pyarrow as pa

        table = pa.Table.from_batches([table])
    frame = nw.from_native(table, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        hint = "give a dataframe, a dictionary or a list of dictionaries"
        hint = "collect it first" if hasattr(table, "collect") else hint
        raise InvalidValue(f"{type(table).__name__} is not a table that can be read; {hint}")
    return frame


def _refuse_no_location(
    names: Sequence[str], columns: Sequence[str], locations: Container[str], where: str = "the table"
) -> None:
    """Refuse a location without columns: it may have one of pairs, or two."""
    if _other_separator(columns):
        _refuse_absent(names, columns, where)
    for name in names:
        if name in locations and name not in columns and columns:
            degrees = " and ".join(map(repr, _degree_columns(name)))
            raise InvalidValue(
                f"{name!r} is not a column of {where} ({', '.join(columns)}); a location has a column of "
                "pairs, or of texts such as '47.64, 6.86', or two columns, "
                f"{degrees}{_suggest_columns(_degree_columns(name), columns)}"
            )


def _refuse_absent(names: Sequence[str], columns: Sequence[str], where: str = "the table") -> None:
    absent = [name for name in names if name not in columns]
    if not absent:
        return
    _refuse_spaces(absent, columns, where)
    mark = _other_separator(columns)
    if mark is not None:  # one name holds all of them, so that none is near
        raise InvalidValue(
            f"{absent[0]!r} is not a column of {where} ({', '.join(columns)}); its cells seem to have "
            f"{mark!r} between them: name that separator (--separator)"
        )
    reason = not_among(absent[0], f"a column of {where}", columns)
    if len(absent) == len(names):
        reason += f"; the columns that are asked for: {', '.join(names)}"
    elif len(absent) > 1:
        reason += f"; also missing: {', '.join(absent[1:])}"
    raise InvalidValue(reason.replace("?;", "?"))


def _other_separator(columns: Sequence[str]) -> str | None:
    """Guess what separates the cells of a file that was read as one column."""
    return next((mark for mark in ";\t|," if mark in columns[0]), None) if len(columns) == 1 else None


def separator_of(path: Path, separator: str | None = None) -> str | None:
    """What separates the cells of a file of answers; None for Parquet."""
    ending = path.suffix.lower()
    if ending not in (*SEPARATORS, ".parquet"):
        raise InvalidParameter(
            f"answers are read from a file ending in .csv, .tsv or .parquet, got {path.name!r}"
        )
    if separator is not None and (ending == ".parquet" or len(separator) != 1 or separator in '"\r\n'):
        raise InvalidParameter(
            f"a separator is one character between the cells of a CSV file, got {separator!r} for {path.name}"
        )
    return separator or SEPARATORS.get(ending)


def read_answers(
    path: Path,
    labels: Mapping[str, Container[str]],
    show: Show | None = None,
    separator: str | None = None,
    locations: Sequence[str] = (),
) -> Iterator[dict[str, Any]]:
    """The named columns of a CSV or Parquet file, in blocks; the labels decide which cells are missing.

    A location may have two columns: `home.latitude` and `home.longitude`.
    """
    require_pyarrow()
    import pyarrow as pa

    between = separator_of(path, separator)
    require_file(path, _ANSWERS)
    if between is not None and not path.stat().st_size:
        expected = (
            f"{' and '.join(_degree_columns(name))} (or {name}, with pairs)" if name in locations else name
            for name in labels
        )
        raise InvalidValue(
            f"{path.name} is empty; its first line must name the columns: {', '.join(expected)}"
        )
    header = header_of(path, between) if locations != () else []
    names = split_locations(list(labels), header, locations, path.name)
    _refuse_no_location(names, header, locations, path.name)
    known = {name: labels.get(name, ()) for name in names}
    rows = 0
    try:
        for batch, done, total in (
            _parquet_batches(path, names) if between is None else _csv_batches(path, names, between)
        ):
            columns = columns_of(pa.Table.from_batches([batch]), names)
            if between is not None:
                columns = [
                    _blank_nan(column, known[name]) for name, column in zip(names, columns, strict=True)
                ]
            columns_by_name = dict(zip(names, columns, strict=True))
            yield {
                name: columns_by_name[name]
                if name in columns_by_name
                else _join_degrees(name, columns_by_name)
                for name in labels
            }
            rows += batch.num_rows
            if show is not None:
                show(done, total)
    except (pa.ArrowException, UnicodeDecodeError) as problem:
        text = "its text is not UTF-8; save it as CSV in UTF-8" if "utf" in str(problem).lower() else problem
        raise InvalidValue(f"cannot read {path.name}: {text}") from None
    if not rows:
        raise InvalidValue(f"{path.name} has no answers: it names columns, and has no row below them")


def find_lacking(
    path: Path, names: Sequence[str], separator: str | None = None, locations: Container[str] = ()
) -> list[str]:
    """The names for which a CSV or Parquet file has no column."""
    require_pyarrow()
    require_file(path, _ANSWERS)
    header = header_of(path, separator_of(path, separator))
    return [
        name
        for name in names
        if not all(column in header for column in split_locations([name], header, locations, path.name))
    ]


def header_of(path: Path, separator: str | None) -> list[str]:
    """The names of a file's columns; problems of the file are reported when it is read."""
    if separator is not None:
        return next((cells for _, cells in _lines(path, separator)), [])
    import pyarrow as pa
    from pyarrow import parquet

    try:
        return list(parquet.read_schema(path).names)
    except pa.ArrowException:
        return []


def locate_rows(path: Path, rows: Sequence[int], separator: str | None = None) -> list[str]:
    """Where rows of a file, counted from 0, are for a reader of the file: by line, or by row."""
    between = separator_of(path, separator)
    if between is None:
        return [f"row {row + 1}" for row in rows]
    numbers = {row + 1 for row in rows}
    lines = {
        i: line
        for i, (line, _) in enumerate(islice(_lines(path, between), max(numbers, default=0) + 1))
        if i in numbers
    }
    return [f"line {lines[row + 1]}" for row in rows]


def _lines(path: Path, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Each row of a CSV file, and the header, with the line it begins on; slow, so only for messages."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        lines, start, alone = csv.reader(file, delimiter=separator), 1, False
        for i, cells in enumerate(lines):
            if cells or alone:
                yield start, cells
            start = lines.line_num + 1
            alone = len(cells) == 1 if i == 0 else alone


def _blank_nan(column: list[str | None], labels: Container[str]) -> list[str | None]:
    """Cells that say `nan` are missing answers, unless a value is called that."""
    blank = {
        cell
        for cell in set(column)
        if cell is not None and cell.strip().lower() == "nan" and cell not in labels
    }
    return [None if cell in blank else cell for cell in column] if blank else column


def _csv_batches(
    path: Path, names: Sequence[str], separator: str
) -> Iterator[tuple[pa.RecordBatch, int, int]]:
    import pyarrow as pa
    from pyarrow import csv as arrow

    size = path.stat().st_size
    try:
        header_only = arrow.ParseOptions(delimiter=separator)
        # a thread of pyarrow may still read when the process ends; a file of Python's own would abort it
        with pa.OSFile(str(path)) as file, arrow.open_csv(file, parse_options=header_only) as reader:
            header = reader.schema.names
        _refuse_absent(names, header, path.name)
        twice = [name for name in names if header.count(name) > 1]
        if twice:
            raise InvalidValue(f"the column {twice[0]!r} occurs twice in {path.name}; remove one of them")
        options = arrow.ConvertOptions(
            include_columns=list(names),
            column_types=dict.fromkeys(names, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
        )
        # where there is one column, an empty line is an empty cell; elsewhere it is nothing
        parse = arrow.ParseOptions(
            delimiter=separator, newlines_in_values=True, ignore_empty_lines=len(header) > 1
        )
        with (
            pa.OSFile(str(path)) as file,
            arrow.open_csv(file, parse_options=parse, convert_options=options) as reader,
        ):
            for batch in reader:
                yield batch, size if file.closed else file.tell(), size
    except pa.ArrowInvalid:
        _refuse_uneven(path, separator)
        raise


def _refuse_uneven(path: Path, separator: str) -> None:
    """Refuse the first row that has more or fewer cells than there are columns."""
    rows = _lines(path, separator)
    _, header = next(rows, (0, []))
    for line, cells in rows:
        if len(cells) != len(header):
            raise InvalidValue(
                f"{path.name}, line {line}: the number of cells is {len(cells)}, and that of columns "
                f"{len(header)}; a cell with {separator!r} in it needs quotes around it"
            )


def _parquet_batches(path: Path, names: Sequence[str]) -> Iterator[tuple[pa.RecordBatch, int, int]]:
    from pyarrow import parquet

    with path.open("rb") as source, parquet.ParquetFile(source) as file:
        if PLAN_KEY in (file.schema_arrow.metadata or {}):
            raise InvalidValue(f"{path.name} holds reports, not answers; estimate reads reports")
        _refuse_absent(names, file.schema_arrow.names, path.name)
        done = 0
        for batch in file.iter_batches(batch_size=ROWS, columns=list(names)):
            done += batch.num_rows
            yield batch, done, file.metadata.num_rows


class Coded(NamedTuple):
    """A categorical column: its categories in order, and each value's position among them; else -1."""

    categories: list[object]
    codes: Integers


def read_categories(column: Any) -> Coded | None:
    """The codes of a categorical column; None for any other.

    >>> import pandas as pd
    >>> read_categories(pd.Series(["b", "a", "b"], dtype="category"))
    Coded(categories=['a', 'b'], codes=array([1, 0, 1]))
    """
    kind = type(column).__module__.split(".", 1)[0]
    if kind == "pandas" and str(getattr(column, "dtype", "")) == "category":
        # a series has codes in `.cat`; an index and an array have them directly
        inside = getattr(column, "cat", column)
        return Coded(list(inside.categories), np.asarray(inside.codes).astype(np.int64))
    if kind == "polars" and str(getattr(column, "dtype", "")).startswith("Enum"):
        return _code_labels(list(column.dtype.categories), column.to_list())
    if kind == "polars" and str(getattr(column, "dtype", "")).startswith("Categorical"):
        labels = column.to_list()  # these have no order of their own: sorted, as pandas has them
        return _code_labels(sorted({label for label in labels if label is not None}), labels)
    if kind == "pyarrow" and str(getattr(column, "type", "")).startswith("dictionary"):
        joined = column.combine_chunks() if hasattr(column, "combine_chunks") else column
        if hasattr(joined, "unify_dictionaries"):  # a chunked array without chunks, or with several
            joined = joined.unify_dictionaries().chunk(0) if joined.num_chunks else joined.type
        categories = joined.dictionary.to_pylist() if hasattr(joined, "dictionary") else []
        return _code_labels(categories, column.to_pylist())
    return None


def codes_for(values: Any, k: int) -> Any:
    """Codes from 0 to k - 1 of a categorical column of texts with k categories; other values as they are."""
    column = read_categories(values)
    if column is None or not all(isinstance(category, str) for category in column.categories):
        return values
    if len(column.categories) != k and len(column.codes):
        listed = shorten_names([repr(category) for category in column.categories])
        raise InvalidValue(
            f"this column has the categories {listed}, and the mechanism has {k:,} values; list them all, in "
            "order: dn.Categories([...]).encode(column)"
        )
    missing = int((column.codes < 0).sum())
    if missing:
        raise InvalidValue(
            f"{missing} of {len(column.codes)} answers are missing; leave them out, or decide what a missing "
            "answer means first"
        )
    return column.codes


def _code_labels(categories: list[object], labels: list[object]) -> Coded:
    known = {category: code for code, category in enumerate(categories)}
    codes = np.fromiter((known.get(label, -1) for label in labels), np.int64, len(labels))
    return Coded(categories, codes)
