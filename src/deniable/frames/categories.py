"""Reads categorical columns of pandas, polars and pyarrow as codes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from deniable.arrays import Integers
from deniable.errors import InvalidValue
from deniable.formatting import shorten_names


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


def declared_categories(table: Any, name: str) -> list[str] | None:
    """The categories that somebody listed for a column of texts, in their order; None where nobody did.

    pandas and polars (`Enum`) have such lists; elsewhere categories are what happens to be in the column.

    >>> import pandas as pd
    >>> sizes = pd.Categorical(["low", "high"], categories=["low", "middle", "high"])
    >>> declared_categories(pd.DataFrame({"size": sizes}), "size")
    ['low', 'middle', 'high']
    """
    column = None if isinstance(table, list | tuple) else _find_column(table, name)
    kind, dtype = type(column).__module__.split(".", 1)[0], str(getattr(column, "dtype", ""))
    if (kind, dtype) != ("pandas", "category") and not (kind == "polars" and dtype.startswith("Enum")):
        return None
    coded = read_categories(column)
    if coded is None or not all(isinstance(category, str) for category in coded.categories):
        return None
    return [str(category) for category in coded.categories]


def _find_column(table: Any, name: str) -> Any:
    """A column as its own library has it; None for a location, which may have two."""
    try:
        return table[name]
    except (KeyError, LookupError, TypeError, ValueError):
        return None
    except Exception as problem:  # polars has errors of its own
        if type(problem).__module__.startswith("polars"):
            return None
        raise


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
