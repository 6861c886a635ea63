"""Reads the protected columns of a table: values become codes, and a report is shown as a value again.

A domain is given, never read from data. A value outside its domain is refused with its row and column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, final

import numpy as np

from deniable.arrays import Array, Integers
from deniable.domain import NO_ANSWER, Categories, Domain, Range
from deniable.domain.parsed import as_domain
from deniable.errors import InvalidParameter, InvalidValue, not_among

_ALLOWED = "a column's domain is a list of values, dn.Categories, dn.Range or a number of values k"


@final
@dataclass(frozen=True)
class Column:
    """A protected column: where it is, which values it can have, and how a report names them."""

    name: str
    position: int
    domain: Domain
    values: Array
    """What each code is shown as: a number of a range is the lower end of its bin."""
    whole: bool
    """Whether the values are the integers from 0 to k - 1."""

    @property
    def texts(self) -> list[str]:
        """The values as the names of indicators have them."""
        return [str(value) for value in self.values.tolist()]

    def encode(self, values: Any) -> Integers:
        """Each value's code; the first row that has none is refused."""
        if isinstance(values, np.ndarray) and values.dtype.kind in "iuf" and self._first is not None:
            return self._encode_whole(values)
        try:
            codes = self.domain.codes(values, self.name)
        except InvalidValue as problem:
            raise self._locate(values, problem) from None
        if (codes == NO_ANSWER).any():
            raise self._refuse_missing(int(np.argmax(codes == NO_ANSWER)))
        return codes

    @property
    def _first(self) -> int | None:
        """The first of the values, where these are whole numbers one after the other."""
        if self.whole:
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
                f"row {row}, column {self.name!r}: {values[row]:.17g} is not a whole number from {first} to "
                f"{last}; correct it, or give a domain that has it"
            )
        return values.astype(np.int64) - first

    def _locate(self, values: Any, problem: InvalidValue) -> InvalidValue:
        """The same refusal with the first row that causes it, which halving finds."""
        low, high = 0, len(values)
        while high - low > 1:
            middle = (low + high) // 2
            try:
                self.domain.codes(values[low:middle], self.name)
                low = middle
            except InvalidValue:
                high = middle
        try:
            self.domain.codes(values[low:high], self.name)
        except InvalidValue as first:
            problem = first
        return InvalidValue(f"row {low}, column {self.name!r}: {problem.message}", problem.remedy)

    def _refuse_missing(self, row: int) -> InvalidValue:
        return InvalidValue(
            f"row {row}, column {self.name!r}: there is no value",
            "fill it in, leave the row out, or replace it by a value of its own that the domain has",
        )


def read_columns(domains: object, names: Sequence[str], named: bool) -> list[Column]:
    """The protected columns, in the order of the table; `domains` has their names, or else their numbers."""
    if not isinstance(domains, Mapping) or not domains:
        raise InvalidParameter(
            "domains has the values of every protected column, such as {'smoker': ['yes', 'no']}, got "
            f"{domains!r}; a domain is never read from the data"
        )
    found = {_find_position(key, names, named): values for key, values in domains.items()}
    return [_make_column(names[position], position, found[position]) for position in sorted(found)]


def _find_position(key: object, names: Sequence[str], named: bool) -> int:
    """The number of a column, which is named or, in an array, numbered from 0."""
    if named:
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
    domain = copy(as_domain(values, name))  # what it computes once is not written into what was given
    if not isinstance(domain, Categories | Range):
        raise InvalidParameter(f"{_ALLOWED}, got {type(domain).__name__} for {name!r}")
    if domain.privacy == "metric":
        raise InvalidParameter(
            f"column {name!r} is a range with metric privacy, whose loss depends on distances; leave "
            "privacy out"
        )
    return Column(name, position, domain, _list_values(domain, values), False)


def _list_values(domain: Categories | Range, given: object) -> Array:
    """What codes are shown as: numbers stay numbers, and other values are as they were given."""
    if isinstance(domain, Range):
        if domain.unit in ("month", "year"):
            return np.array(domain.labels, dtype=object)
        lower = domain.scaled_low + domain.scaled_step * np.arange(domain.bins)
        return lower if not domain.digits else np.asarray(lower / 10**domain.digits)
    items: list[object] = list(domain.labels)
    if isinstance(given, Sequence) and not isinstance(given, str | bytes):
        items = list(given)
    truths = sum(isinstance(item, bool | np.bool_) for item in items)
    if truths == len(items) or (truths == 0 and all(isinstance(item, Real) for item in items)):
        return np.array(items)
    shown = np.empty(len(items), dtype=object)
    shown[:] = items
    return shown
