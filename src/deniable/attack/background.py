"""A table of people as the numbers that reports are compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from deniable.attack.evidence import cells_of
from deniable.domain import NO_ANSWER
from deniable.errors import DeniableError, InvalidParameter, InvalidValue
from deniable.law import Integers
from deniable.mechanism import Array, integers
from deniable.plan import Plan
from deniable.table import column_names, columns_of


@final
@dataclass(frozen=True, eq=False)
class Background:
    """A table of people that reports are matched with, by number."""

    names: Sequence[str]
    """The attributes that it has."""
    columns: Array
    """Their values, a row per attribute, a column per record."""
    own: Integers
    """Which record is whose: one for each person who reported."""

    @property
    def records(self) -> int:
        """How many people are in it."""
        return int(self.columns.shape[1])

    def column(self, name: str) -> int:
        """Where an attribute is; -1 where it is not."""
        return self.names.index(name) if name in self.names else -1


def checked_numbers(what: str, given: npt.ArrayLike, size: int) -> Integers:
    """Integers from 0 to size - 1."""
    try:
        numbers = integers(given, size)
    except DeniableError as problem:
        raise InvalidParameter(f"{what}: {str(problem).split(';')[0]}") from None
    wrong = numbers[(numbers < 0) | (numbers >= size)]
    if wrong.size:
        raise InvalidParameter(f"{what}, each from 0 to {size - 1}, got {wrong[0]}")
    return numbers.astype(np.int64)


def checked_truth(truth: npt.ArrayLike, n: int, d: int) -> Integers:
    """The attribute of each of n reports."""
    what = f"truth is the attribute of each of {n} reports"
    true = checked_numbers(what, truth, d)
    if true.size != n:
        raise InvalidParameter(f"{what}, got {true.size} numbers")
    return true


def coded_background(plans: Sequence[Plan], background: object) -> tuple[list[str], Array]:
    """The attributes that the background has, and its values by number, a row per attribute."""
    domains = {
        one.name: (one.domain, part, plan)
        for plan in plans
        for one, part in zip(plan.content.attributes, plan.content.parts, strict=True)
    }
    names = [name for name in column_names(background) if name in domains]
    if not names:
        raise InvalidParameter(f"the background has none of the attributes asked for: {', '.join(domains)}")
    coded = []
    for name, column in zip(names, columns_of(background, names), strict=True):
        domain, part, plan = domains[name]
        codes = domain.codes(column, name)
        if (codes == NO_ANSWER).any():
            if plan.content.missing != "value":
                raise InvalidValue(f"the background has no {name!r} in some rows; fill them in, or leave the column out")
            codes = np.where(codes == NO_ANSWER, domain.k, codes)
        coded.append(cells_of(part, codes))
    if not coded[0].size:
        raise InvalidParameter("the background has no rows; give a table with a record per row")
    return names, compact(np.stack(coded))


def compact(columns: Array) -> Array:
    """The smallest numbers that hold the values: a background is read again for every target."""
    return np.ascontiguousarray(columns, dtype=np.uint8 if columns.max(initial=0) < 256 else np.uint32)
