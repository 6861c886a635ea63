"""Takes tables apart into columns, and puts reports together to an array or a frame.

Indicators are bytes, written block by block: beside the result there are only the packed reports.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from deniable.arrays import Array, Integers
from deniable.errors import InvalidParameter, suggest_install
from deniable.learn.columns import Column
from deniable.mechanisms import SetMechanism

_CELLS = 1 << 21  # indicators that are made at a time
NOT_REPORTED = -1
"""The indicators of a column that a row does not report."""


@final
@dataclass(frozen=True)
class Reported:
    """The reports of one column: who reports it, and how a report is read."""

    column: Column
    mechanism: SetMechanism
    reports: Array
    n: int
    who: Integers | None
    """The rows that report it; None where all do."""

    def decode(self) -> Array:
        """A value per row; NaN, or None among texts, where the row does not report this column."""
        shown = self.column.values[self.reports]
        if self.who is None:
            return shown
        numbers = shown.dtype.kind in "iuf"
        whole: Array = np.full(self.n, np.nan) if numbers else np.full(self.n, None, dtype=object)
        whole[self.who] = shown
        return whole

    @property
    def indicator_type(self) -> np.dtype[Any]:
        """Bytes; with a sign where some rows do not report this column."""
        return np.dtype(np.uint8 if self.who is None else np.int8)

    def write_support(self, indicators: Array) -> None:
        """Write which values every report supports: a row per report, a column per value."""
        if self.who is not None:
            indicators[:] = NOT_REPORTED
        step = max(1, _CELLS // self.mechanism.k)
        for low in range(0, len(self.reports), step):
            here = slice(low, low + step)
            rows = here if self.who is None else self.who[here]
            indicators[rows] = self.mechanism.support(self.reports[here])


def is_frame(table: Any) -> bool:
    """Whether this is a frame of pandas or polars, whose columns have a type each."""
    return hasattr(table, "columns") and hasattr(table, "dtypes")


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


def join_array(parts: Sequence[Any], widths: Sequence[int], n: int, support: bool) -> Array:
    """One array with all columns, of the one type that holds them."""
    read = [_as_array(part, support) for part in parts]
    types = [part.indicator_type if isinstance(part, Reported) else part.dtype for part in read]
    numeric = all(dtype.kind in "biuf" for dtype in types)
    result = np.empty((n, sum(widths)), dtype=np.result_type(*types) if numeric else object)
    start = 0
    for part, width in zip(read, widths, strict=True):
        target = result[:, start : start + width]
        if isinstance(part, Reported):
            part.write_support(target)
        else:
            target[:, 0] = part
        start += width
    return result


def _as_array(part: Any, support: bool) -> Any:
    """A column as an array; indicators are left to be written into the result."""
    if not isinstance(part, Reported):
        return np.asarray(part)
    return part if support else part.decode()


def join_frame(parts: Sequence[Any], library: str, index: object, support: bool) -> Any:
    """A frame whose columns have a type each, and numbers for names."""
    try:
        return _join_pandas(parts, index, support) if library == "pandas" else _join_polars(parts, support)
    except ModuleNotFoundError as missing:
        raise InvalidParameter(f"this output needs {missing.name}: {suggest_install('frames')}") from None


def _indicators(part: Reported) -> Array:
    """The indicators of a column, one contiguous array for each value."""
    table = np.empty((part.mechanism.k, part.n), dtype=part.indicator_type).T
    part.write_support(table)
    return table


def _join_pandas(parts: Sequence[Any], index: object, support: bool) -> Any:
    import pandas as pd

    pieces = []
    for part in parts:
        if isinstance(part, Reported) and support:
            pieces.append(pd.DataFrame(_indicators(part), index=index, copy=False))
        else:
            values = part.decode() if isinstance(part, Reported) else part
            pieces.append(pd.Series(values, index=index, copy=False))
    return pd.concat(pieces, axis=1)


def _join_polars(parts: Sequence[Any], support: bool) -> Any:
    import polars as pl

    columns: list[Any] = []
    for part in parts:
        if isinstance(part, Reported) and support:
            columns += list(_indicators(part).T)
        else:
            columns.append(part.decode() if isinstance(part, Reported) else part)
    return pl.DataFrame([pl.Series(str(number), column) for number, column in enumerate(columns)])
