"""The true answers that guesses are compared with, as people have them, by number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from deniable.arrays import Integers
from deniable.attack.likelihoods import guessed_of, values_of
from deniable.errors import InvalidParameter, InvalidValue
from deniable.plan import Plan
from deniable.tables import columns_of


def coded_truth(truth: object, names: Sequence[str], n: int, plan: Plan | None) -> Integers:
    """A row of numbers per attribute: from a table of people, from a table of numbers, or of one attribute
    from a list.
    """
    if _is_table(truth):
        return _checked(_coded(truth, names, plan), len(names), n)
    try:
        array = np.asarray(truth)
    except ValueError:
        raise InvalidParameter(f"{_wanted(len(names), n)}, got rows of different lengths") from None
    if array.shape == (n,) and len(names) == 1:
        return _checked(array[None] if plan is None else _listed(truth, array, names, plan), 1, n)
    return _checked(array.T if array.shape == (n, len(names)) else array, len(names), n)


def _wanted(d: int, n: int) -> str:
    alone = f", or a list of {n}" if d == 1 else ""
    return (
        f"the truth is a table of people, or has a row of numbers per attribute, {d} rows of {n}, or per "
        f"person{alone}"
    )


def _checked(rows: Integers, d: int, n: int) -> Integers:
    if rows.shape != (d, n) or rows.dtype.kind not in "iub":
        raise InvalidParameter(f"{_wanted(d, n)}, got {rows.dtype} of shape {rows.shape}")
    return rows


def _coded(people: object, names: Sequence[str], plan: Plan | None) -> Integers:
    """A table of people by number; of numbers, by the half of their range."""
    if plan is None:
        return np.stack([np.asarray(column) for column in columns_of(people, names)])
    rows = zip(plan.content.parts, plan.encode(people), strict=True)
    return np.stack([guessed_of(part, row) for part, row in rows])


def _listed(truth: object, array: Integers, names: Sequence[str], plan: Plan) -> Integers:
    """Of one attribute: answers wherever all can be, and otherwise numbers of values, -1 for no answer."""
    try:
        return _coded({names[0]: truth}, names, plan)
    except InvalidValue:
        if array.dtype.kind in "iub" and ((array >= -1) & (array < values_of(plan.content.parts[0]))).all():
            return array[None]
        raise


def _is_table(people: object) -> bool:
    """Whether it is a dataframe, a dictionary of columns or a list of dictionaries."""
    first = people[0] if isinstance(people, list | tuple) and people else None
    return isinstance(people, Mapping) or isinstance(first, Mapping) or hasattr(people, "columns")
