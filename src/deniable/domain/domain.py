"""Defines the values of an attribute: labels for people, integers from 0 to k - 1 for mechanisms.

A value outside the domain is refused, never rounded or passed on. A missing answer is -1 here; the study
decides what becomes of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, final, get_args

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats, Integers
from deniable.domain.answer import (
    SELF,
    checked_label,
    composed,
    is_missing,
    label_of,
    numbers_of,
    quote,
    to_list,
)
from deniable.domain.units import (
    FIRST_YEAR,
    LAST_YEAR,
    UNITS,
    Unit,
    date_ends,
    name_counted,
    number_counted,
)
from deniable.errors import InvalidParameter, InvalidValue, find_nearest, not_among, suggest_name
from deniable.exact import positive_epsilon, whole_number
from deniable.formatting import format_count, shorten_names
from deniable.mechanisms import checked_values
from deniable.words import WordArray, below

NO_ANSWER = -1
"""The code of a missing answer."""

_UNKNOWN = -2
MOST_VALUES = 1 << 20
"""Of an attribute: labels, bins or cells. The same for every client."""
LARGEST = 10**15
"""Every float distinguishes integers up to here, and their quotients by powers of ten."""
MOST_DIGITS = 15
"""Decimals of a number."""
_SHOWN = 8
_MOST_BELOW = 1 << 32  # of the positions of a number all but the last are drawn


Privacy = Literal["equal", "metric"]
"""Whether all values are equally indistinguishable, or near ones more than distant ones (metric privacy)."""
Queries = Literal["values", "ranges", "smooth"]
"""What is read of a range: single values, ranges of any length, or a curve of which neighbors are alike."""


class Domain(ABC):
    """The values an attribute can have, in order."""

    if TYPE_CHECKING:  # read-only here, so that a domain may store them or compute them

        @property
        def labels(self) -> tuple[str, ...]:
            """The values' names, in the order of their codes."""

    privacy: Privacy = "equal"
    epsilon: float | None = None
    """For metric privacy: what a study lets a report lose, per unit of distance."""

    @abstractmethod
    def codes(self, values: object, name: str = SELF) -> Integers:
        """Each value's code, or -1 where there is no answer; what is not a value is refused."""

    @property
    def k(self) -> int:
        """The number of values."""
        return len(self.labels)

    @property
    def listed(self) -> bool:
        """Whether its values can be listed; text and codes have too many."""
        return True

    @property
    def is_level(self) -> bool:
        """Whether it is a coarse level of a question, which people answer without knowing of it."""
        return False

    @property
    def shown_labels(self) -> tuple[str, ...]:
        """The labels where values are listed, and else none."""
        return self.labels if self.listed else ()

    @property
    def has_no_answer(self) -> bool:
        """Whether "no answer" can be one of the values; metric values have no position for it."""
        return self.privacy != "metric"

    @property
    def plain(self) -> Domain:
        """The values alone, as a plan has them; the plan's mechanisms say how they are hidden."""
        return self

    def draw(self, words: WordArray) -> Integers:
        """A code for each word, all of them equally likely: for people without an answer."""
        return below(words, min(self.k, _MOST_BELOW)).astype(np.int64)

    @final
    def encode(self, values: object, name: str = SELF) -> Integers:
        """Each value's code; missing answers are refused."""
        codes = self.codes(values, name)
        refuse_missing(codes, name, self.has_no_answer)
        return codes

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
        twice = (
            next((label for i, label in enumerate(known) if label in set(known[:i])), None)
            if _repeats(known)
            else None
        )
        if twice is not None:
            text = f"the label {twice!r} occurs twice; every value needs a name of its own"
            raise InvalidParameter(text, "labels")
        if len(known) < 2:
            raise InvalidParameter(f"an attribute needs at least two values, got {len(known)}", "labels")
        refuse_many_values(len(known))
        object.__setattr__(self, "labels", known)

    def __str__(self) -> str:
        return f"{format_count(len(self.labels), 'value')}: {shorten_names(self.labels, _SHOWN)}"

    @cached_property
    def _lookup(self) -> dict[object, int]:
        return {"": NO_ANSWER, None: NO_ANSWER, **{label: code for code, label in enumerate(self.labels)}}

    def codes(self, values: object, name: str = SELF) -> Integers:
        if isinstance(values, np.ndarray) and values.dtype.kind in "iufUb" and values.ndim == 1:
            distinct, where = np.unique(values, return_inverse=True)
            return self._encode_coded(distinct.tolist(), name)[where]
        return self._encode_coded(to_list(values, name), name)

    def _encode_coded(self, items: Sequence[Any], name: str) -> Integers:
        lookup = self._lookup
        try:
            found = np.fromiter(
                (lookup.get(item, _UNKNOWN) for item in items), dtype=np.int64, count=len(items)
            )
        except TypeError:
            raise InvalidValue(f"the values of {quote(name)} must be text, numbers or booleans") from None
        for i in np.flatnonzero(found == _UNKNOWN).tolist():
            found[i] = self._code(items[i], name)
        return found

    def _code(self, item: object, name: str) -> int:
        if is_missing(item):
            return NO_ANSWER
        code = self._lookup.get(composed(label_of(item)))
        if code is None:
            hint = suggest_name(find_nearest(str(item), self.labels[:10_000]))
            raise InvalidValue(f"{item!r} is not a value of {quote(name)} ({self._listing()}){hint}")
        return code

    def knows(self, item: object) -> bool:
        """Whether this is a value, or a missing answer."""
        try:
            return is_missing(item) or composed(label_of(item)) in self._lookup
        except InvalidValue:
            return False

    def _listing(self) -> str:
        more = f", and {self.k - _SHOWN} more" if self.k > _SHOWN else ""
        return ", ".join(self.labels[:_SHOWN]) + more


@final
@dataclass(frozen=True)
class Range(Domain):
    """Numbers in bins of one width, from `low` to under `high`; the bin at an open end has no limit.

    A bin is as wide as `step`, which is 1 unless it is given: `Range(0, 10)` has ten bins, for 0 to 9.

    In a study a range with `privacy="metric"` has an epsilon of its own, per unit of its numbers: 0.1 per
    year of age. Distant bins are easier to distinguish, so that estimates get less noise.

    >>> age = Range(0, 100, step=10, open_high=True)
    >>> age.encode([0, 9.99, 10, 104]).tolist(), age.labels[1], age.labels[-1]
    ([0, 0, 1, 9], '10 to under 20', '90 or more')
    """

    low: float
    high: float
    step: float = 1
    open_low: bool = False
    open_high: bool = False
    privacy: Privacy = "equal"
    epsilon: float | None = None
    unit: Unit = ""
    """Where values are counted one by one: "whole" numbers, or the "month" or "year" of a date."""
    queries: Queries | None = None
    """What will be read of it in a study: shares of single "values", or of "ranges" of any length, which are
    then reported in levels. Without it, long ranges have levels. A plan only says how it is reported.
    """

    def __post_init__(self) -> None:
        check_privacy(self)
        if self.queries not in (None, *get_args(Queries)):
            text = not_among(str(self.queries), "what a range is asked for", get_args(Queries))
            raise InvalidParameter(text, "range")
        for end in ("low", "high", "step"):
            object.__setattr__(self, end, plain_number(getattr(self, end), end))
        for end in ("open_low", "open_high"):
            if not isinstance(getattr(self, end), bool):
                raise InvalidParameter(f"{end} is true or false, got {getattr(self, end)!r}")
        if self.step <= 0 or self.high <= self.low:
            raise InvalidParameter(
                f"a range goes up from low by a positive step, got {self.low} to {self.high} by {self.step}",
                "range",
            )
        if self.digits > MOST_DIGITS or max(abs(self.scaled_low), abs(self._scaled_high)) > LARGEST:
            numbers = f"{self.low} to {self.high} by {self.step}"
            raise InvalidParameter(
                f"a range's numbers have at most {MOST_DIGITS} digits, got {numbers}; round them", "range"
            )
        bins, rest = divmod(self._scaled_high - self.scaled_low, self.scaled_step)
        if rest:
            raise InvalidParameter(
                f"step {self.step} does not divide the range from {self.low} to {self.high} into whole bins; "
                "give a step that does"
            )
        if bins < 2:
            raise InvalidParameter(f"a range has 2 bins or more, got {bins:,}; change the step", "range")
        refuse_many_values(bins, "; use a larger step")
        self._check_unit()

    def _check_unit(self) -> None:
        if self.unit not in UNITS:
            raise InvalidParameter(
                f"a range's unit is 'whole', 'month' or 'year', got {self.unit!r}", "range"
            )
        if self.unit and (self.digits or self.step != 1 or self.open_low or self.open_high):
            raise InvalidParameter(
                f"values that are counted one by one ({self.unit}) are whole, with step 1 and no open ends",
                "range",
            )
        if self.unit in ("month", "year"):
            first, last = FIRST_YEAR, LAST_YEAR + 1
            many = 12 if self.unit == "month" else 1
            if not first * many <= self.low or not self.high <= last * many:
                raise InvalidParameter(f"dates have years from {first} to {LAST_YEAR}", "range")

    @staticmethod
    def scale(
        low: int,
        high: int,
        privacy: Privacy = "equal",
        epsilon: float | None = None,
        queries: Queries | None = None,
    ) -> Range:
        """Whole numbers from low to high, both among them.

        >>> Range.scale(1, 7).labels
        ('1', '2', '3', '4', '5', '6', '7')
        """
        for end, given in (("low", low), ("high", high)):
            whole_number(f"{end} of a scale", given, -LARGEST, LARGEST)
        return Range(low, high + 1, 1, privacy=privacy, epsilon=epsilon, unit="whole", queries=queries)

    @staticmethod
    def dates(
        first: object,
        last: object,
        by: str = "month",
        privacy: Privacy = "equal",
        epsilon: float | None = None,
        queries: Queries | None = None,
    ) -> Range:
        """Months or years from one date to another, both among them.

        >>> Range.dates("2020-01-01", "2026-12-31", by="year").labels[-1]
        '2026'
        """
        low, high = date_ends([first, last], by)
        known: Any = by
        return Range(low, high + 1, 1, privacy=privacy, epsilon=epsilon, unit=known, queries=queries)

    def __str__(self) -> str:
        if self.unit:
            counted = "whole number" if self.unit == "whole" else self.unit
            unit = "unit" if self.unit == "whole" else self.unit
            many = format_count(self.k, counted)
            return f"{many} from {self.labels[0]} to {self.labels[-1]}{format_privacy(self, unit)}"
        ends = format_ends(self.low, self.high, self.open_low, self.open_high)
        return f"{self.k:,} bins of {self.step:,}, {ends}{format_privacy(self, 'unit')}"

    @staticmethod
    def from_integers(
        low: int, step: int, bins: int, digits: int, open_low: bool, open_high: bool, unit: Unit = ""
    ) -> Range:
        """Makes a range from integers: its numbers times 10^digits."""
        whole_number("bins", bins, 2, reason="range")
        refuse_many_values(bins)
        whole_number("digits", digits, 0, MOST_DIGITS, reason="range")
        whole_number("step", step, 1, LARGEST, reason="range")
        whole_number("low", low, -LARGEST, LARGEST, reason="range")
        high = whole_number("low + bins * step", low + bins * step, -LARGEST, LARGEST, reason="range")
        return Range(
            from_integer(low, digits),
            from_integer(high, digits),
            from_integer(step, digits),
            open_low,
            open_high,
            unit=unit,
        )

    @cached_property
    def digits(self) -> int:
        """How many decimals the numbers have."""
        return max(0, *(-decimal_exponent(number) for number in (self.low, self.high, self.step)))

    @cached_property
    def scaled_low(self) -> int:
        """The lower end, times 10^digits."""
        return to_integer(self.low, self.digits)

    @cached_property
    def scaled_step(self) -> int:
        """The step, times 10^digits."""
        return to_integer(self.step, self.digits)

    @cached_property
    def _scaled_high(self) -> int:
        return to_integer(self.high, self.digits)

    @cached_property
    def bins(self) -> int:
        """The number of bins."""
        return (self._scaled_high - self.scaled_low) // self.scaled_step

    @property
    def k(self) -> int:
        return self.bins

    @property
    def plain(self) -> Range:
        if self.privacy == "equal" and self.queries is None:
            return self
        return replace(self, privacy="equal", epsilon=None, queries=None)

    @cached_property
    def edges(self) -> Floats:
        """Where the bins begin, and where the last one ends: integers over 10^digits, each rounded once.

        A whole number is in the middle of its bin.
        """
        if self.unit:
            return np.asarray(self.scaled_low - 0.5 + np.arange(self.bins + 1))
        whole = self.scaled_low + self.scaled_step * np.arange(self.bins + 1, dtype=np.int64)
        return np.asarray(whole / float(10**self.digits))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        if self.unit:
            return tuple(name_counted(self.scaled_low + i, self.unit) for i in range(self.bins))
        ends = [
            _plain_text(self.scaled_low + self.scaled_step * i, self.digits) for i in range(self.bins + 1)
        ]
        names = [f"{low} to under {high}" for low, high in pairwise(ends)]
        if self.open_low:
            names[0] = f"under {ends[1]}"
        if self.open_high:
            names[-1] = f"{ends[-2]} or more"
        return tuple(names)

    @property
    def _extent(self) -> str:
        """The range in words; with two open ends it has every number."""
        if self.unit:
            return f"{self.labels[0]} to {self.labels[-1]}"
        if self.open_high:
            return f"{self.low} or more"
        return f"under {self.high}" if self.open_low else f"{self.low} to under {self.high}"

    def codes(self, values: object, name: str = SELF) -> Integers:
        if self.unit:
            values = np.array(number_counted(to_list(values, name), self.unit, name), dtype=np.float64)
        numbers, missing = numbers_of(values, name)
        codes = np.searchsorted(self.edges, numbers, side="right").astype(np.int64) - 1
        outside = ~missing & (
            ((codes < 0) & (not self.open_low)) | ((codes >= self.bins) & (not self.open_high))
        )
        if outside.any():
            wrong = _plain_float(float(numbers[np.argmax(outside)]))
            if self.unit:
                named = name_counted(int(wrong), self.unit)
                raise InvalidValue(f"{named} is not a value of {quote(name)} ({self._extent})")
            end = "open_low" if float(wrong) < self.low else "open_high"
            which = "first" if end == "open_low" else "last"
            raise InvalidValue(
                f"{wrong} is not a value of {quote(name)} ({self._extent})",
                f"widen the range, or set {end} to count it in the {which} bin",
            )
        return np.where(missing, NO_ANSWER, np.clip(codes, 0, self.bins - 1))


def refuse_many_values(k: int, remedy: str = "") -> None:
    """Refuse more values of an attribute than any client takes."""
    if k > MOST_VALUES:
        raise InvalidParameter(
            f"an attribute has at most {MOST_VALUES:,} values, got {k:,}{remedy}", "values"
        )


def check_privacy(domain: Domain) -> None:
    """Refuse an unknown kind of privacy, and an epsilon that is not one of its own."""
    if domain.privacy not in ("equal", "metric"):
        raise InvalidParameter(f"privacy is 'equal' or 'metric', got {domain.privacy!r}")
    if domain.epsilon is None:
        return
    positive_epsilon(domain.epsilon)
    if domain.privacy != "metric":
        raise InvalidParameter(
            "an attribute has an epsilon of its own only with privacy='metric', per unit of distance; all "
            "others share the study's"
        )


def format_ends(low: float, high: float, open_low: bool, open_high: bool) -> str:
    """From where to where numbers go, in words.

    >>> format_ends(0, 1000, False, True)
    'from 0 to 1,000 or more'
    """
    return f"from {low:,}{' or less' if open_low else ''} to {high:,}{' or more' if open_high else ''}"


def format_privacy(domain: Domain, unit: str) -> str:
    """What a report may lose per unit of distance, in words; nothing where all values are alike."""
    if domain.privacy != "metric":
        return ""
    return f", metric{'' if domain.epsilon is None else f' (epsilon {domain.epsilon:g} per {unit})'}"


def refuse_missing(codes: Integers, name: str, has_no_answer: bool = True) -> None:
    """Refuse codes of missing answers; the remedy depends on whether "no answer" can be a value."""
    missing = int((codes == NO_ANSWER).sum())
    if missing:
        where = (
            f", the first in row {int(np.argmax(codes == NO_ANSWER))}, counting from 0"
            if len(codes) > 1
            else ""
        )
        raise InvalidValue(
            f"{missing} of {len(codes)} answers to {quote(name)} are missing{where}",
            "decide what that means: missing='value' makes it a value of its own, missing='random' answers "
            "at random"
            if has_no_answer
            else "fill them in or leave these people out, or decide that missing='random' answers at random",
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


def plain_number(number: Any, end: str) -> float:
    """An int where it is whole, else a float."""
    try:
        known = (
            not isinstance(number, bool) and isinstance(number, Real | Decimal) and np.isfinite(float(number))
        )
    except (OverflowError, ValueError):
        raise InvalidParameter(f"{end} must be a number of at most {MOST_DIGITS} digits") from None
    if not known:
        raise InvalidParameter(f"{end} must be a number, got {number!r}")
    return _plain_float(float(number)) if not isinstance(number, Integral) else int(number)


def _plain_float(number: float) -> float:
    return int(number) if number.is_integer() and abs(number) < LARGEST * 10 else number


def decimal_exponent(number: float) -> int:
    """The power of ten of its last digit."""
    exponent = Decimal(str(number)).normalize().as_tuple().exponent
    return exponent if isinstance(exponent, int) else 0


def to_integer(number: float, digits: int) -> int:
    """A number times 10^digits."""
    return int(Fraction(str(number)) * 10**digits)


def from_integer(number: int, digits: int) -> float:
    """An integer over 10^digits."""
    return _plain_float(number / 10**digits)


def _plain_text(scaled: int, digits: int) -> str:
    return format(Decimal(scaled).scaleb(-digits), "f") if digits else str(scaled)
