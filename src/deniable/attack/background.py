"""A table of people as the numbers that reports are compared with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from deniable.attack.evidence import cells_of
from deniable.domain import NO_ANSWER
from deniable.errors import DeniableError, InvalidParameter, InvalidValue
from deniable.law import Integers
from deniable.mechanism import Array, checked_values
from deniable.plan import Plan
from deniable.table import column_names, columns_of


def checked_numbers(what: str, given: npt.ArrayLike, size: int) -> Integers:
    """Integers from 0 to size - 1."""
    try:
        return checked_values(given, size)
    except DeniableError as problem:
        raise InvalidParameter(f"{what}: {str(problem).split(';')[0]}") from None


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
    return names, compact(np.stack(coded))


def compact(columns: Array) -> Array:
    """The smallest numbers that hold the values: a background is read again for every target."""
    return np.ascontiguousarray(columns, dtype=np.uint8 if columns.max(initial=0) < 256 else np.uint32)
