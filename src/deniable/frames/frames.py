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


def _find_library(backend: str | None) -> Backend:
    """The named library if it is installed; else the one in use, else the first that is installed."""
    if backend is not None and backend not in _BACKENDS:
        raise InvalidParameter(not_among(str(backend), "a dataframe library", _BACKENDS))
    for name in _BACKENDS:
        if name == backend and find_spec(name):
            return name
    if backend is not None:
        raise InvalidParameter(
            f"{backend} is not installed; pip install {backend}, or name another: {', '.join(_BACKENDS)}"
        )
    installed = [name for name in _BACKENDS if name in sys.modules] or [
        name for name in _BACKENDS if find_spec(name)
    ]
    if installed:
        return installed[0]
    raise InvalidParameter("frame() needs a dataframe library; install pandas, polars or pyarrow")
