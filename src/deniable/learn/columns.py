"""Reads the protected columns of a table: values become codes, and a report is shown as a value again.

A domain is given, never read from data. A value outside its domain is refused with its row and column, and is
not shown: errors end in logs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from fractions import Fraction
from numbers import Integral, Real
from typing import Any, Literal, final

import numpy as np

from deniable.arrays import Array, Integers
from deniable.domain import NO_ANSWER, Categories, Domain, Range
from deniable.domain.answer import label_of, to_list
from deniable.domain.parsed import as_domain
from deniable.errors import InvalidParameter, InvalidValue, not_among
from deniable.exact import positive_epsilon
from deniable.mechanisms import PROTOCOLS, SetMechanism
from deniable.mechanisms.protocols import MOVED
from deniable.records import RecordMechanism, Sample, Single, Split, equal_part

_ALLOWED = "a column's domain is a list of values, dn.Categories, dn.Range or a number of values k"
_REMEDY = "correct it, or give a domain that has it"
Budget = Literal["split", "sample"] | Mapping[Any, float]
Output = Literal["value", "support"]


@final
@dataclass(frozen=True)
class Column:
    """A protected column: where it is, which values it can have, and how a report names them."""

    name: str
    position: int
    domain: Domain
    values: Array
    """What each code is shown as: a number of a range is the lower end of its bin."""
    is_counted: bool
    """Whether the values are the integers from 0 to k - 1."""

    @property
    def texts(self) -> list[str]:
        """The values as the names of indicators have them."""
        return [str(value) for value in self.values.tolist()]

    def show_as(self, values: Any) -> Column:
        """The column, whose reports are numbers where these values are: categories know them by text."""
        kind = getattr(getattr(values, "dtype", None), "kind", "O")
        items = self.values.tolist()
        if kind not in "iufb" or not all(isinstance(item, str) for item in items):
            return self
        return replace(self, values=_join_values([_parse(item, kind) for item in items]))

    def encode(self, values: Any) -> Integers:
        """Each value's code; the first row that has none is refused."""
        if isinstance(values, np.ndarray) and values.dtype.kind in "iuf" and self._first is not None:
            return self._encode_whole(values)
        try:
            codes = self.domain.codes(values, self.name)
        except InvalidValue:
            raise self._refuse_first(values) from None
        if (codes == NO_ANSWER).any():
            raise self._refuse_missing(int(np.argmax(codes == NO_ANSWER)))
        return codes

    @property
    def _first(self) -> int | None:
        """The first of the values, where these are whole numbers one after the other."""
        if self.is_counted:
            return 0
        scale = isinstance(self.domain, Range) and self.domain.unit == "whole"
        return self.domain.scaled_low if scale and isinstance(self.domain, Range) else None

    def _encode_whole(self, values: Array) -> Integers:
        first = self._first or 0
        inside = (values >= first) & (values < first + self.domain.k)
        if values.dtype.kind == "f":
            inside &= np.floor(values) == values
        if not inside.all():
            row = int(np.argmin(inside))
            if values[row] != values[row]:
                raise self._refuse_missing(row)
            last = first + self.domain.k - 1
            raise InvalidValue(
                f"row {row}, column {self.name!r}: the value is not a whole number from {first} to {last}",
                _REMEDY,
            )
        return values.astype(np.int64) - first

    def _refuse_first(self, values: Any) -> InvalidValue:
        """The refusal of the first row whose value is outside the domain, which halving finds."""
        low, high = 0, len(values)
        while high - low > 1:
            middle = (low + high) // 2
            try:
                self.domain.codes(values[low:middle], self.name)
                low = middle
            except InvalidValue:
                high = middle
        return InvalidValue(
            f"row {low}, column {self.name!r}: the value is not in the domain ({self.domain})", _REMEDY
        )

    def _refuse_missing(self, row: int) -> InvalidValue:
        return InvalidValue(
            f"row {row}, column {self.name!r}: there is no value",
            "fill it in, leave the row out, or replace it by a value of its own that the domain has",
        )


def read_columns(domains: object, names: Sequence[str], has_names: bool) -> list[Column]:
    """The protected columns, in the order of the table; `domains` has their names, or else their numbers."""
    if not isinstance(domains, Mapping) or not domains:
        raise InvalidParameter(
            "domains has the values of every protected column, such as {'smoker': ['yes', 'no']}, got "
            f"{domains!r}; a domain is never read from the data"
        )
    by_position = {_find_position(key, names, has_names): values for key, values in domains.items()}
    return [
        _make_column(names[position], position, by_position[position]) for position in sorted(by_position)
    ]


def name_outputs(columns: Sequence[Column], names: Sequence[str], support: bool, passthrough: bool) -> Array:
    """The names of the columns that come out: "age", or with indicators "age=34"."""
    protected = {protected_column.position: protected_column for protected_column in columns}
    outputs: list[str] = []
    for position, name in enumerate(names):
        column = protected.get(position)
        if column is not None and support:
            outputs += [f"{name}={text}" for text in column.texts]
        elif column is not None or passthrough:
            outputs.append(str(name))
    return np.array(outputs, dtype=object)


def _find_position(key: object, names: Sequence[str], has_names: bool) -> int:
    """The number of a column, which is named or, in an array, numbered from 0."""
    if has_names:
        if key not in names:
            raise InvalidParameter(not_among(key, "a column of the table", names))
        return names.index(str(key))
    if isinstance(key, bool) or not isinstance(key, Integral) or not 0 <= int(key) < len(names):
        raise InvalidParameter(
            f"{key!r} is not a column: this table has no names, so domains numbers its columns from 0 to "
            f"{len(names) - 1}"
        )
    return int(key)


def _make_column(name: str, position: int, values: object) -> Column:
    if isinstance(values, bool):
        raise InvalidParameter(f"{_ALLOWED}, got {values!r} for {name!r}")
    if isinstance(values, Integral):
        if int(values) < 2:
            raise InvalidParameter(f"column {name!r} needs two values or more, got k = {values}")
        return Column(name, position, Categories(range(int(values))), np.arange(int(values)), True)
    listed = _as_list(values, name)
    domain = copy(as_domain(listed, name))  # what it computes once is not written into what was given
    if not isinstance(domain, Categories | Range):
        raise InvalidParameter(f"{_ALLOWED}, got {type(domain).__name__} for {name!r}")
    if domain.privacy == "metric":
        raise InvalidParameter(
            f"column {name!r} is a range with metric privacy, whose loss depends on distances; leave "
            "privacy out"
        )
    return Column(name, position, domain, _list_values(domain, listed), False)


def _as_list(values: object, name: str) -> object:
    """The list in an array, an index, a series, or a categorical type; what is none of them as it is."""
    declared = getattr(values, "categories", None)
    if declared is not None and not callable(declared):
        return list(declared)
    if isinstance(values, Domain | Mapping | str | bytes) or not isinstance(values, Iterable):
        return values
    if isinstance(values, set | frozenset | tuple):  # some of them are refused later, with a reason
        return values
    try:
        return list(to_list(values, name))
    except InvalidValue as problem:
        raise InvalidParameter(str(problem)) from None


def _list_values(domain: Categories | Range, values: object) -> Array:
    """What codes are shown as: numbers stay numbers, and other values are as they were given."""
    if isinstance(domain, Range):
        if domain.unit in ("month", "year"):
            return np.array(domain.labels, dtype=object)
        lower = domain.scaled_low + domain.scaled_step * np.arange(domain.bins)
        return lower if not domain.digits else np.asarray(lower / 10**domain.digits)
    return _join_values(list(values) if isinstance(values, list | tuple) else list(domain.labels))


def _join_values(items: Sequence[object]) -> Array:
    """An array of numbers or of truth values, where all are, or else of objects."""
    truths = sum(isinstance(item, bool | np.bool_) for item in items)
    if truths == len(items) or (truths == 0 and all(isinstance(item, Real) for item in items)):
        return np.array(items)
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def _parse(text: str, kind: str) -> object:
    """The number or truth value that a text is for, in a column of such; any other text as it is."""
    if kind == "b":
        return {"True": True, "False": False}.get(text, text)
    try:
        number = int(text) if kind in "iu" else float(text)
    except ValueError:
        return text
    return number if math.isfinite(number) and label_of(number) == text else text


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
    for name in protocols.values():
        if name not in PROTOCOLS:
            raise InvalidParameter(not_among(name, "a protocol of a transformer", PROTOCOLS, MOVED))
    return [str(name) for name in protocols.values()]


def _make_part(column: Column, protocol: str, epsilon: float, output: Output) -> SetMechanism:
    if output == "value" and protocol == "adaptive":
        protocol = "grr"
    try:
        part = PROTOCOLS[protocol].make(column.domain.k, epsilon)
    except InvalidParameter as problem:
        raise InvalidParameter(f"column {column.name!r}: {problem}") from None
    if output == "value" and not part.names_value:
        raise InvalidParameter(
            f"a report of {protocol} is no value of {column.name!r}: it supports a set of values; use "
            "output='support', or protocol 'grr'"
        )
    return part
