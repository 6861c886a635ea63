"""Takes tables apart into columns, and puts reports together to an array or a frame.

Reports are written block by block into the columns of the result. Indicators are bytes: beside the result
there is only a block of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from deniable.arrays import Array, Integers, list_blocks
from deniable.errors import InvalidParameter, suggest_install
from deniable.learn.columns import Column
from deniable.mechanisms import SetMechanism
from deniable.records import RecordMechanism

_CELLS = 1 << 21  # indicators that are made at a time
NOT_REPORTED = -1
"""The indicators of a column that a row does not report."""


@final
@dataclass(frozen=True)
class Layout:
    """How the reports of a column come out: as one column of values, or as an indicator per value."""

    column: Column
    mechanism: SetMechanism
    support: bool
    sampled: bool
    """Whether some rows do not report this column."""

    @property
    def width(self) -> int:
        """How many columns come out."""
        return self.mechanism.k if self.support else 1

    @property
    def dtype(self) -> np.dtype[Any]:
        """Bytes for indicators, with a sign where some are missing; for values, what holds them and NaN."""
        if self.support:
            return np.dtype(np.int8 if self.sampled else np.uint8)
        kind = self.column.values.dtype
        if not self.sampled:
            return kind
        return np.dtype(np.float64 if kind.kind in "iuf" else object)

    def write(self, target: Array, reports: Array, who: Integers | None) -> None:
        """Write the reports of some rows; `who` of them report this column, or all."""
        if who is not None:
            missing = NOT_REPORTED if self.support else self._missing
            target[:] = missing
        if not self.support:
            target[slice(None) if who is None else who, 0] = self.column.values[reports]
            return
        for block in list_blocks(len(reports), _CELLS // self.mechanism.k):
            target[block if who is None else who[block]] = self.mechanism.support(reports[block])

    @property
    def _missing(self) -> float | None:
        return np.nan if self.dtype.kind == "f" else None


def is_frame(table: Any) -> bool:
    """Whether this is a frame of pandas or polars, whose columns have a type each."""
    return hasattr(table, "columns") and hasattr(table, "dtypes")


def refuse_same_names(frame: Any) -> None:
    """Refuse a frame with two columns of one name."""
    if len(set(frame.columns)) < len(frame.columns):
        raise InvalidParameter("two columns have the same name; a domain would be for one of them only")


def refuse_unnamed(frame: Any) -> None:
    """Refuse a frame without rows, or whose columns have neither names nor their own numbers."""
    unnamed = [name for name in frame.columns if not isinstance(name, str)]
    if unnamed and unnamed != list(range(len(frame.columns))):
        raise InvalidParameter(f"name the columns of a frame by text: one is called {unnamed[0]!r}")
    if not len(frame):
        raise InvalidParameter("the table has 0 samples; a minimum of 1 is required")


def read_column(table: Any, position: int) -> Any:
    """A column as an array of numbers, or else as it is."""
    if isinstance(table, np.ndarray):
        return table[:, position]
    column = table.iloc[:, position] if hasattr(table, "iloc") else table[:, position]
    dtype = column.dtype
    plain = isinstance(dtype, np.dtype) and dtype.kind in "iufb"
    if plain or (hasattr(dtype, "is_numeric") and dtype.is_numeric()):
        return column.to_numpy()
    return column


def encode_table(columns: Sequence[Column], table: Any) -> Integers:
    """The codes of all protected columns; every value is checked before any is reported."""
    largest = max(column.domain.k for column in columns) - 1
    codes = np.empty((len(table), len(columns)), dtype=np.min_scalar_type(largest))
    for j, column in enumerate(columns):
        codes[:, j] = column.encode(read_column(table, column.position))
    return codes


def make_layouts(
    columns: Sequence[Column], mechanism: RecordMechanism, support: bool, table: Any
) -> dict[int, Layout]:
    """How the reports of each protected column of this table come out, by the column's number."""
    layouts = {}
    for column, part in zip(columns, mechanism.mechanisms, strict=True):
        assert isinstance(part, SetMechanism)  # no other is made
        converted = column.show_as(read_column(table, column.position))
        layouts[column.position] = Layout(converted, part, support, not mechanism.reports_all)
    return layouts


def allocate_array(parts: Sequence[Any], n: int) -> tuple[Array, list[Array]]:
    """One array for all columns, of the one type that holds them, and the place of each layout in it."""
    read = [part if isinstance(part, Layout) else np.asarray(part) for part in parts]
    types = [part.dtype for part in read]
    widths = [part.width if isinstance(part, Layout) else 1 for part in read]
    numeric = all(dtype.kind in "biuf" for dtype in types)
    result = np.empty((n, sum(widths)), dtype=np.result_type(*types) if numeric else object)
    places = []
    start = 0
    for part, width in zip(read, widths, strict=True):
        target = result[:, start : start + width]
        if isinstance(part, Layout):
            places.append(target)
        else:
            target[:, 0] = part
        start += width
    return result, places


def allocate_columns(parts: Sequence[Any], n: int) -> list[Array]:
    """An array for each layout, whose columns are contiguous: a frame takes them as they are."""
    layouts = [part for part in parts if isinstance(part, Layout)]
    return [np.empty((layout.width, n), dtype=layout.dtype).T for layout in layouts]


def join_frame(parts: Sequence[Any], places: Sequence[Array], library: str, index: object) -> Any:
    """A frame whose columns have a type each, and numbers for names; layouts are replaced by their places."""
    filled = iter(places)
    columns = [next(filled) if isinstance(part, Layout) else part for part in parts]
    try:
        return _join_pandas(columns, index) if library == "pandas" else _join_polars(columns)
    except ModuleNotFoundError as missing:
        raise InvalidParameter(f"this output needs {missing.name}: {suggest_install('frames')}") from None


def _join_pandas(columns: Sequence[Any], index: object) -> Any:
    import pandas as pd

    pieces = []
    for column in columns:
        if isinstance(column, np.ndarray) and column.ndim == 2 and column.shape[1] > 1:
            pieces.append(pd.DataFrame(column, index=index, copy=False))
        else:
            values = column[:, 0] if isinstance(column, np.ndarray) and column.ndim == 2 else column
            pieces.append(pd.Series(values, index=index, copy=False))
    return pd.concat(pieces, axis=1)


def _join_polars(columns: Sequence[Any]) -> Any:
    import polars as pl

    single: list[Any] = []
    for column in columns:
        single += list(column.T) if isinstance(column, np.ndarray) and column.ndim == 2 else [column]
    return pl.DataFrame([pl.Series(str(number), column) for number, column in enumerate(single)])
