"""Divides a budget among columns, and makes the record mechanism that keeps it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal

from deniable.errors import InvalidParameter, not_among
from deniable.exact import positive_epsilon
from deniable.learn.columns import Column
from deniable.mechanisms import PROTOCOLS, SetMechanism
from deniable.records import RecordMechanism, Sample, Single, Split, equal_part

Budget = Literal["split", "sample"] | Mapping[Any, float]
Output = Literal["value", "support"]


def make_mechanism(
    columns: Sequence[Column], epsilon: float | None, budget: object, protocol: object, output: Output
) -> RecordMechanism:
    """How a row becomes a report: every column with its part of epsilon, or one of them with all of it."""
    names = _name_protocols(protocol, columns)
    budgets = _divide(columns, epsilon, budget)
    parts = [
        _make_part(column, name, share, output)
        for column, name, share in zip(columns, names, budgets, strict=True)
    ]
    if len(parts) == 1:
        return Single(parts[0])
    return Sample(tuple(parts)) if budget == "sample" else Split(tuple(parts))


def _divide(columns: Sequence[Column], epsilon: float | None, budget: object) -> list[float]:
    """The epsilon of each column."""
    if isinstance(budget, Mapping):
        return _read_budgets(columns, epsilon, budget)
    if budget not in ("split", "sample"):
        raise InvalidParameter(
            f"budget is 'split', 'sample' or {{column: epsilon}} for every protected column, got {budget!r}"
        )
    if epsilon is None:
        raise InvalidParameter("epsilon is missing: give what one report of a row may lose, such as 1.0")
    share = positive_epsilon(epsilon) if budget == "sample" else equal_part(epsilon, len(columns))
    return [share] * len(columns)


def _read_budgets(
    columns: Sequence[Column], epsilon: float | None, budget: Mapping[object, object]
) -> list[float]:
    """Budgets by column, which together are at most epsilon."""
    by_name = _sort_by_name(budget, columns, "a protected column with a budget")
    lacking = [column.name for column in columns if column.name not in by_name]
    if lacking:
        raise InvalidParameter(f"the budget has no epsilon for {', '.join(map(repr, lacking))}")
    budgets = [
        positive_epsilon(by_name[column.name], f"the budget of {column.name!r}")  # type: ignore[arg-type]  # checked there
        for column in columns
    ]
    if epsilon is None:
        return budgets
    total = positive_epsilon(epsilon)
    # as floats, or as they are written: 0.1 and 0.2 are 0.3 in all, although their floats are a little more
    written = sum(Fraction(repr(share)) for share in budgets) <= Fraction(repr(total))
    if not written and sum(map(Fraction, budgets)) > Fraction(total):
        raise InvalidParameter(
            f"the budgets of the columns add up to {math.fsum(budgets):.9g}, more than epsilon {total:.9g}; "
            "lower one of them, or leave epsilon out"
        )
    while sum(map(Fraction, budgets)) > Fraction(total):
        budgets = [math.nextafter(share, 0.0) for share in budgets]
    return budgets


def _sort_by_name(values: Mapping[object, object], columns: Sequence[Column], what: str) -> dict[str, object]:
    """What is given for each column, which is named, or numbered as in an array."""
    names: dict[object, str] = {column.position: column.name for column in columns}
    names |= {column.name: column.name for column in columns}
    by_name: dict[str, object] = {}
    for key, value in values.items():
        if key not in names:
            raise InvalidParameter(not_among(key, what, [column.name for column in columns]))
        if names[key] in by_name:
            raise InvalidParameter(f"{names[key]!r} is given twice, by its name and by its number")
        by_name[names[key]] = value
    return by_name


def _name_protocols(protocol: object, columns: Sequence[Column]) -> list[str]:
    """The protocol of each column."""
    protocols: dict[str, object] = {column.name: protocol for column in columns}
    if isinstance(protocol, Mapping):
        by_name = _sort_by_name(protocol, columns, "a protected column with a protocol")
        protocols = {name: by_name.get(name, "adaptive") for name in protocols}
    allowed = [row.name for row in PROTOCOLS.values() if row.exact]
    for name in protocols.values():
        if name not in allowed:
            raise InvalidParameter(not_among(name, "a protocol of a transformer", allowed))
    return [str(name) for name in protocols.values()]


def _make_part(column: Column, protocol: str, epsilon: float, output: Output) -> SetMechanism:
    if output == "value" and protocol == "adaptive":
        protocol = "grr"
    try:
        part = PROTOCOLS[protocol].make_exact(column.domain.k, epsilon)
    except InvalidParameter as problem:
        raise InvalidParameter(f"column {column.name!r}: {problem}") from None
    if output == "value" and not part.names_value:
        raise InvalidParameter(
            f"a report of {protocol} is no value of {column.name!r}: it supports a set of values; use "
            "output='support', or protocol 'grr'"
        )
    return part
