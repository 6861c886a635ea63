"""Makes dataframes of the library that is in use: pandas, polars or pyarrow."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any, Literal

from deniable.errors import InvalidParameter, not_among

Backend = Literal["pandas", "polars", "pyarrow"]
_BACKENDS: tuple[Backend, ...] = ("pandas", "polars", "pyarrow")


def frame_of(columns: Mapping[str, Any], backend: str | None) -> Any:
    """Columns by name as a dataframe."""
    import narwhals as nw

    return nw.from_dict(columns, backend=_find_library(backend)).to_native()


def frame_of_rows(rows: Sequence[Mapping[str, Any]], backend: str | None) -> Any:
    """Rows, at least one and all with the same names, as a dataframe."""
    return frame_of({name: [row[name] for row in rows] for name in rows[0]}, backend)


def _find_library(named: str | None) -> Backend:
    """The named library if it is installed; else the one in use, else the first that is installed."""
    if named is not None and named not in _BACKENDS:
        raise InvalidParameter(not_among(str(named), "a dataframe library", _BACKENDS))
    for name in _BACKENDS:
        if name == named and find_spec(name):
            return name
    if named is not None:
        raise InvalidParameter(
            f"{named} is not installed; pip install {named}, or name another: {', '.join(_BACKENDS)}"
        )
    found = [name for name in _BACKENDS if name in sys.modules] or [
        name for name in _BACKENDS if find_spec(name)
    ]
    if found:
        return found[0]
    raise InvalidParameter("frame() needs a dataframe library; install pandas, polars or pyarrow")
