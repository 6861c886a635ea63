"""What an attribute's values are: labels for people, integers from 0 to k - 1 for mechanisms.

A value outside the domain is refused, never rounded or passed on. A missing answer is -1 here, and what becomes of it
is the study's to say.
"""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, final

import numpy as np
import numpy.typing as npt

from deniable.answer import checked_label, composed, is_missing, label_of, listed, numbers_of
from deniable.errors import InvalidParameter, InvalidValue
from deniable.exact import whole_number
from deniable.law import Floats, Integers
from deniable.mechanism import checked_values

NO_ANSWER = -1
"""The code of a missing answer."""

_UNKNOWN = -2
_MOST_BINS = 1 << 16
_LARGEST = 10**15  # integers up to here, and their quotients by powers of ten, are told apart by every float
_MOST_DIGITS = 15
_SHOWN = 8
_SELF = "this attribute"


class Domain(ABC):
    """The values an attribute can have, in order."""

    labels: tuple[str, ...]
    """The values' names, in the order of their codes."""

    @abstractmethod
    def codes(self, values: object, name: str = _SELF) -> Integers:
        """Each value's code, or -1 where there is no answer; what is not a value is refused."""

    @property
    def k(self) -> int:
        """The number of values."""
        return len(self.labels)

    @final
    def encode(self, values: object, name: str = _SELF) -> Integers:
        """Each value's code; missing answers are refused."""
        codes = self.codes(values, name)
        refuse_missing(codes, name)
        return codes

    @final
    def decode(self, codes: npt.ArrayLike) -> list[str]:
        """Each code's label."""
        return [self.labels[code] for code in checked_values(codes, self.k).tolist()]


@final
@dataclass(frozen=True)
class Categories(Domain):
    """Values with names and no order that matters. Numbers and booleans are known by their text.

    >>> color = Categories(["red", "green", "blue"])
    >>> color.encode(["blue", "red"]).tolist(), color.decode([1])
    ([2, 0], ['green'])
    >>> color.encode(["blu"], "color")
    Traceback (most recent call last):
    deniable.errors.InvalidValue: 'blu' is not a value of 'color' (red, green, blue); did you mean 'blue'?
    """

    labels: tuple[str, ...]

    def __init__(self, labels: Iterable[object]) -> None:
        if isinstance(labels, str | bytes):
            raise InvalidParameter(f"labels are a list of values, got the text {labels!r}; put it in a list")
        known = tuple(map(_label, labels))
        twice = next((label for i, label in enumerate(known) if label in set(known[:i])), None) if _repeats(known) else None
        if twice is not None:
            raise InvalidParameter(f"the label {twice!r} is there twice; every value needs a name of its own")
        if len(known) < 2:
            raise InvalidParameter(f"an attribute needs at least two values, got {len(known)}")
        object.__setattr__(self, "labels", known)

    @cached_property
    def _lookup(self) -> dict[object, int]:
        return {"": NO_ANSWER, None: NO_ANSWER, **{label: code for code, label in enumerate(self.labels)}}

    def codes(self, values: object, name: str = _SELF) -> Integers:
        if isinstance(values, np.ndarray) and values.dtype.kind in "iufUb" and values.ndim == 1:
            distinct, where = np.unique(values, return_inverse=True)
            return self._coded(distinct.tolist(), name)[where]
        return self._coded(listed(values, name), name)

    def _coded(self, items: Sequence[Any], name: str) -> Integers:
        lookup = self._lookup
        try:
            found = np.fromiter((lookup.get(item, _UNKNOWN) for item in items), dtype=np.int64, count=len(items))
        except TypeError:
            raise InvalidValue(f"the values of {name!r} must be text, numbers or booleans") from None
        for i in np.flatnonzero(found == _UNKNOWN).tolist():
            found[i] = self._code(items[i], name)
        return found

    def _code(self, item: object, name: str) -> int:
        if is_missing(item):
            return NO_ANSWER
        code = self._lookup.get(composed(label_of(item)))
        if code is None:
            near = difflib.get_close_matches(str(item), self.labels[:10_000], n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise InvalidValue(f"{item!r} is not a value of {name!r} ({self._listing()}){hint}")
        return code

    def _listing(self) -> str:
        more = f", and {self.k - _SHOWN} more" if self.k > _SHOWN else ""
        return ", ".join(self.labels[:_SHOWN]) + more


@final
@dataclass(frozen=True)
class Range(Domain):
    """Numbers in bins of one width, from `low` to under `high`. With an open end, the last bin on that side has no limit.

    >>> age = Range(0, 100, step=10, open_high=True)
    >>> age.encode([0, 9.99, 10, 104]).tolist(), age.labels[1], age.labels[-1]
    ([0, 0, 1, 9], '10 to under 20', '90 or more')
    """

    low: float
    high: float
    step: float
    open_low: bool = False
    open_high: bool = False

    def __post_init__(self) -> None:
        for end in ("low", "high", "step"):
            object.__setattr__(self, end, _plain(getattr(self, end), end))
        for end in ("open_low", "open_high"):
            if not isinstance(getattr(self, end), bool):
                raise InvalidParameter(f"{end} is true or false, got {getattr(self, end)!r}")
        if self.step <= 0 or self.high <= self.low:
            raise InvalidParameter(f"a range goes up from low by a positive step, got {self.low} to {self.high} by {self.step}")
        if self.digits > _MOST_DIGITS or max(abs(self.scaled_low), abs(self._scaled_high)) > _LARGEST:
            numbers = f"{self.low} to {self.high} by {self.step}"
            raise InvalidParameter(f"a range's numbers have at most {_MOST_DIGITS} digits, got {numbers}; round them")
        bins, rest = divmod(self._scaled_high - self.scaled_low, self.scaled_step)
        if rest:
            raise InvalidParameter(f"step {self.step} does not divide the range from {self.low} to {self.high} into whole bins")
        if not 2 <= bins <= _MOST_BINS:
            raise InvalidParameter(f"a range has from 2 to {_MOST_BINS:,} bins, got {bins:,}; change the step")

    @staticmethod
    def from_integers(low: int, step: int, bins: int, digits: int, open_low: bool, open_high: bool) -> Range:
        """Back from the integers: numbers are integers over 10^digits."""
        whole_number("bins", bins, 2, _MOST_BINS)
        whole_number("digits", digits, 0, _MOST_DIGITS)
        whole_number("step", step, 1, _LARGEST)
        whole_number("low", low, -_LARGEST, _LARGEST)
        high = low + bins * step
        return Range(_scaled(low, digits), _scaled(high, digits), _scaled(step, digits), open_low, open_high)

    @cached_property
    def digits(self) -> int:
        """How many decimals the numbers have."""
        return max(0, *(-_exponent(number) for number in (self.low, self.high, self.step)))

    @cached_property
    def scaled_low(self) -> int:
        """The lower end, times 10^digits."""
        return _whole(self.low, self.digits)

    @cached_property
    def scaled_step(self) -> int:
        """The step, times 10^digits."""
        return _whole(self.step, self.digits)

    @cached_property
    def _scaled_high(self) -> int:
        return _whole(self.high, self.digits)

    @cached_property
    def bins(self) -> int:
        """The number of bins."""
        return (self._scaled_high - self.scaled_low) // self.scaled_step

    @property
    def k(self) -> int:
        return self.bins

    @cached_property
    def edges(self) -> Floats:
        """Where the bins begin, and where the last one ends: integers over 10^digits, each rounded once."""
        whole = self.scaled_low + self.scaled_step * np.arange(self.bins + 1, dtype=np.int64)
        return np.asarray(whole / float(10**self.digits))

    @cached_property
    def labels(self) -> tuple[str, ...]:  # type: ignore[override]
        ends = [_plain_text(self.scaled_low + self.scaled_step * i, self.digits) for i in range(self.bins + 1)]
        names = [f"{low} to under {high}" for low, high in pairwise(ends)]
        if self.open_low:
            names[0] = f"under {ends[1]}"
        if self.open_high:
            names[-1] = f"{ends[-2]} or more"
        return tuple(names)

    @property
    def _extent(self) -> str:
        """All of its numbers, in words; with two open ends there are no others."""
        if self.open_high:
            return f"{self.low} or more"
        return f"under {self.high}" if self.open_low else f"{self.low} to under {self.high}"

    def codes(self, values: object, name: str = _SELF) -> Integers:
        numbers, missing = numbers_of(values, name)
        codes = np.searchsorted(self.edges, numbers, side="right").astype(np.int64) - 1
        outside = ~missing & (((codes < 0) & (not self.open_low)) | ((codes >= self.bins) & (not self.open_high)))
        if outside.any():
            wrong = _plain_float(float(numbers[np.argmax(outside)]))
            end = "open_low" if float(wrong) < self.low else "open_high"
            which = "first" if end == "open_low" else "last"
            raise InvalidValue(
                f"{wrong} is not a value of {name!r} ({self._extent}); "
                f"widen the range, or set {end} to count it in the {which} bin"
            )
        return np.where(missing, NO_ANSWER, np.clip(codes, 0, self.bins - 1))


def as_domain(values: object, name: str = _SELF) -> Domain:
    """A domain as it is, the categories of a list of labels, or what a mapping says as a TOML file does.

    >>> as_domain({"low": 0, "high": 100, "step": 10}) == Range(0, 100, step=10)
    True
    """
    if isinstance(values, Domain):
        return values
    if isinstance(values, Mapping):
        return _written(values, f"attributes.{name}")
    if isinstance(values, set | frozenset):
        raise InvalidParameter(f"{name!r}: a set has no order, and a plan's values have one; give a list")
    if isinstance(values, tuple) and len(values) == 2 and all(_is_number(value) for value in values):
        low, high = values
        raise InvalidParameter(
            f"{name!r}: ({low}, {high}) may be two values or a range; write [{low}, {high}] or Range({low}, {high}, step=...)"
        )
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InvalidParameter(f"{name!r} needs a list of values or a Range, got {values!r}")
    try:
        return Categories(values)
    except InvalidParameter as problem:
        raise InvalidParameter(f"{name!r}: {problem}") from None


def _written(table: Mapping[Any, Any], where: str) -> Domain:
    """The values of an attribute, or its range, by the names that a TOML file has for them."""
    known = ("values",) if "values" in table else ("low", "high", "step", "open_low", "open_high")
    for key in table:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            shown = key if str(key).isprintable() else repr(key)
            raise InvalidParameter(f"{where}.{shown}: an attribute has values, or low, high and step{hint}")
    if "values" in table:
        if not isinstance(table["values"], list):
            raise InvalidParameter(f"{where}.values must be a list, got {table['values']!r}")
        return as_domain(table["values"], where)
    for key in ("low", "high", "step"):
        if key not in table:
            raise InvalidParameter(f"{where} has no {key!r}; an attribute has values, or low, high and step")
    try:
        return Range(**table)
    except InvalidParameter as problem:
        raise InvalidParameter(f"{where}: {problem}") from None


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def refuse_missing(codes: Integers, name: str) -> None:
    """Refuse codes of missing answers."""
    missing = int((codes == NO_ANSWER).sum())
    if missing:
        where = f", the first in row {int(np.argmax(codes == NO_ANSWER))}, counting from 0" if len(codes) > 1 else ""
        raise InvalidValue(
            f"{missing} of {len(codes)} answers to {name!r} are missing{where}; decide what that means: "
            "missing='value' makes it a value of its own, missing='random' answers at random"
        )


def _label(value: object) -> str:
    if is_missing(value) and not isinstance(value, str):
        raise InvalidParameter(f"{value!r} is a missing answer, not a value; missing='value' makes it one")
    try:
        return checked_label(label_of(value))
    except InvalidValue as problem:
        raise InvalidParameter(str(problem)) from None


def _repeats(labels: tuple[str, ...]) -> bool:
    return len(set(labels)) < len(labels)


def _plain(number: Any, end: str) -> float:
    """An int where it is whole, else a float."""
    try:
        known = not isinstance(number, bool) and isinstance(number, Real | Decimal) and np.isfinite(float(number))
    except (OverflowError, ValueError):
        raise InvalidParameter(f"{end} must be a number of at most {_MOST_DIGITS} digits") from None
    if not known:
        raise InvalidParameter(f"{end} must be a number, got {number!r}")
    return _plain_float(float(number)) if not isinstance(number, Integral) else int(number)


def _plain_float(number: float) -> float:
    return int(number) if number.is_integer() and abs(number) < _LARGEST * 10 else number


def _exponent(number: float) -> int:
    exponent = Decimal(str(number)).normalize().as_tuple().exponent
    return exponent if isinstance(exponent, int) else 0


def _whole(number: float, digits: int) -> int:
    return int(Fraction(str(number)) * 10**digits)


def _scaled(number: int, digits: int) -> float:
    return _plain_float(number / 10**digits)


def _plain_text(scaled: int, digits: int) -> str:
    return format(Decimal(scaled).scaleb(-digits), "f") if digits else str(scaled)
