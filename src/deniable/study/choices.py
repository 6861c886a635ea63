"""Checks what a study says of its choices, and which of them it allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from deniable.choose import Considered
from deniable.errors import InvalidParameter
from deniable.plan.document import Ask, refuse_asking


def exclude_unasked(rows: Sequence[Considered], ask: Ask) -> list[Considered]:
    """The same choices, best first, where those that need all answers are excluded if only some are asked."""
    if ask == "all":
        return list(rows)
    allowed, excluded = [], []
    for row in rows:
        if row.mechanism is None or row.why_not is not None:
            excluded.append(row)
            continue
        try:
            refuse_asking(ask, row.mechanism)
            allowed.append(row)
        except InvalidParameter as problem:
            excluded.append(replace(row, why_not=str(problem)))
    return [*allowed, *excluded]


def checked_error(error: float) -> float:
    """A standard error of a share."""
    if not isinstance(error, int | float) or isinstance(error, bool) or not 1e-9 <= error < 1:
        raise InvalidParameter(
            f"error is a standard error of a share, such as 0.01 for a point, got {error!r}"
        )
    return float(error)


def checked_protocol(given: object, what: str) -> str | tuple[str, ...]:
    """A protocol's name, or several."""
    if isinstance(given, str):
        return given
    if not isinstance(given, list | tuple) or not given or not all(isinstance(name, str) for name in given):
        raise InvalidParameter(
            f"{what} must be a protocol's name, or a list of names to choose among, got {given!r}"
        )
    return tuple(given)
