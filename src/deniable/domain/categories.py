"""Lists values by name, of which one is the answer, or all that apply are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from deniable.arrays import Integers
from deniable.domain.answer import SELF, checked_label, composed, is_missing, label_of, quote, to_list
from deniable.domain.domain import NO_ANSWER, Domain, refuse_many_values
from deniable.errors import InvalidParameter, InvalidValue, find_nearest, suggest_name
from deniable.exact import whole_number
from deniable.formatting import Printed, format_allowed, format_count, shorten_names

_UNKNOWN = -2
_SHOWN = 8
_MOST_OPTIONS = 100


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
        if len(set(known)) < len(known):
            twice = next(label for i, label in enumerate(known) if label in set(known[:i]))
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
            codes = np.fromiter(
                (lookup.get(item, _UNKNOWN) for item in items), dtype=np.int64, count=len(items)
            )
        except TypeError:
            raise InvalidValue(f"the values of {quote(name)} must be text, numbers or booleans") from None
        for i in np.flatnonzero(codes == _UNKNOWN).tolist():
            codes[i] = self._code(items[i], name)
        return codes

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


def _label(value: object) -> str:
    if is_missing(value) and not isinstance(value, str):
        raise InvalidParameter(f"{value!r} is a missing answer, not a value; missing='value' makes it one")
    try:
        return checked_label(label_of(value))
    except InvalidValue as problem:
        raise InvalidParameter(str(problem)) from None


@final
@dataclass(frozen=True)
class Several(Printed):
    """Options of which all that apply are chosen, or none. A study asks about each with yes or no.

    Each option is an attribute, so that it takes its part of epsilon, or of the sampling: ask about few. If
    people choose exactly so many options, or at most so many, a report of some options (near sets) errs less.

    >>> print(Several(["tv", "radio", "web"]))
    all that apply of 3 options: tv, radio, web
    >>> print(Several(["tv", "radio", "web"], at_most=2))
    at most 2 of 3 options: tv, radio, web
    """

    options: tuple[str, ...]
    exactly: int | None = None
    """How many options everybody chooses, where that is known."""
    at_most: int | None = None
    """How many options people choose at most."""

    def __init__(
        self, options: Iterable[object], exactly: int | None = None, at_most: int | None = None
    ) -> None:
        try:
            known = Categories(options).labels
        except InvalidParameter as problem:
            raise InvalidParameter(
                str(problem).replace("label", "option").replace("an attribute", "a question")
            ) from None
        if len(known) > _MOST_OPTIONS:
            raise InvalidParameter(f"a question has at most {_MOST_OPTIONS} options, got {len(known)}")
        for option in known:
            if ";" in option or option == "none of these":
                raise InvalidParameter(
                    f"an option is not called {option!r}: tables have ';' between options, and 'none of "
                    "these' where none applies"
                )
        object.__setattr__(self, "options", known)
        object.__setattr__(self, "exactly", exactly)
        object.__setattr__(self, "at_most", at_most)
        list_allowed(exactly, at_most, len(known))

    @property
    def allowed(self) -> range | None:
        """How many options people may choose; None where any number is."""
        return list_allowed(self.exactly, self.at_most, len(self.options))

    def __str__(self) -> str:
        listed = shorten_names(self.options, _SHOWN)
        many = "all that apply" if self.allowed is None else format_allowed(self.allowed)
        return f"{many} of {format_count(len(self.options), 'option')}: {listed}"


def list_allowed(exactly: int | None, at_most: int | None, options: int) -> range | None:
    """How many of so many options people may choose; None where any number is.

    >>> list_allowed(3, None, 10), list_allowed(None, 3, 10), list_allowed(None, None, 10)
    (range(3, 4), range(0, 4), None)
    """
    if exactly is not None and at_most is not None:
        raise InvalidParameter(
            "people choose exactly so many options, or at most so many; give one of them", "questions"
        )
    for name, number in (("exactly", exactly), ("at_most", at_most)):
        if number is not None:
            most = whole_number(
                f"{name}, how many options people choose,", number, 1, options - 1, "questions"
            )
            return range(most if name == "exactly" else 0, most + 1)
    return None
