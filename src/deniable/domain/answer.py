"""Reads an answer as Python, numpy or a dataframe gives it: text, a number, a boolean, or nothing."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats
from deniable.domain.imitation import refuse_imitation
from deniable.errors import InvalidParameter, InvalidValue

_JOINERS = "\u200c\u200d"
_JOINED = ("Mn", "Mc", "Me", "So", "Sk")
_ARABIC = ("\u0600", "\u08ff")  # the blocks from Arabic to Arabic Extended-A
SELF = "this attribute"
"""How messages name an attribute without a name."""
BLANKS = (
    "\t\n\v\f\r \u00a0\u1680"
    + "".join(map(chr, range(0x2000, 0x200B)))
    + "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""What may surround an answer in text: what `trim` removes in JavaScript, so that clients agree."""
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def checked_text(text: object, what: str) -> str:
    """Text that can be shown and sent: not empty, without control characters or invisible ones."""
    if not isinstance(text, str) or not text:
        raise InvalidParameter(f"{what} must be text that is not empty, got {text!r}", "text")
    if any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in text):
        raise InvalidParameter(
            f"{what} must be one line of text without control characters, got {text!r}", "text"
        )
    if text != text.strip():
        raise InvalidParameter(
            f"{what} has no white space at its ends, got {text!r}; strip it, and where it is used alike",
            "text",
        )
    hidden = _find_hidden(text)
    if hidden is not None:
        raise InvalidParameter(
            f"{what} has no invisible characters, got {text!r}; remove U+{ord(hidden):04X}", "text"
        )
    refuse_imitation(text, what)
    return text


def checked_label(text: object) -> str:
    """The name of a value, composed (NFC), without white space at its ends or invisible characters."""
    return composed(checked_text(text, "a label"))


def composed(text: str) -> str:
    """The text in NFC: a letter and its accent are one character, whichever way they were typed."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _find_hidden(text: str) -> str | None:
    """The first invisible character; a joiner that changes how its neighbors look is allowed."""
    for i, character in enumerate(text):
        if unicodedata.category(character) == "Cf" and not (
            character in _JOINERS and 0 < i < len(text) - 1 and _shows_joiner(text[i - 1])
        ):
            return character
    return None


def _shows_joiner(before: str) -> bool:
    """Whether a joiner shows: after an Arabic letter, a mark or a symbol; the same rule for all clients."""
    return unicodedata.category(before) in _JOINED or _ARABIC[0] <= before <= _ARABIC[1]


def quote(name: str) -> str:
    """Quote the name of an attribute; the phrase for one without a name is not quote."""
    return name if name == SELF else repr(name)


def to_list(values: object, name: str) -> Sequence[Any]:
    """A list from any one-dimensional array-like: Python's, numpy's, or a dataframe library's."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InvalidValue(f"the values of {quote(name)} must be a list, got {values!r}")
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise InvalidValue(f"the values of {quote(name)} must have one dimension, got {values.ndim}")
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(values, method):
            return list(getattr(values, method)())
    return list(values)


def is_missing(item: Any) -> bool:
    """Whether this is how a library marks a missing answer."""
    if item is None or type(item).__name__ in ("NAType", "NaTType") or (isinstance(item, str) and not item):
        return True
    if isinstance(item, Decimal):
        return item.is_nan()
    return isinstance(item, Real) and item != item


def label_of(item: Any) -> str:
    """The text of a value; whole numbers lose their decimal point, which missing answers give them."""
    if isinstance(item, str):
        return item
    if isinstance(item, bool | np.bool_):
        return str(bool(item))
    try:
        if isinstance(item, Integral):
            return str(int(item))
        if isinstance(item, Decimal):
            return str(item)
        if isinstance(item, Real):
            number = float(item)
            return str(int(number)) if number.is_integer() else repr(number)
    except (OverflowError, ValueError):  # beyond every float, or more digits than Python writes
        raise InvalidValue("a value that is a number has at most 300 digits") from None
    raise InvalidValue(f"a value is text, a number or a boolean, got {item!r}")


def people_of(
    people: object, n: int, describe_row: Callable[[int], str] = "row {}, counting from 0".format
) -> list[str]:
    """The names of the people, one for each of n rows, all different; `describe_row` says where a row is."""
    items = to_list(people, "people")
    if len(items) != n:
        raise InvalidValue(
            f"people has a name for each row of answers: there are {n} rows, and {len(items)} names"
        )
    names: dict[str, int] = {}
    for row, item in enumerate(items):
        if is_missing(item):
            raise InvalidValue(
                f"{describe_row(row)}: the person has no name; every person needs a name or a number"
            )
        name = label_of(item)
        if name in names:
            raise InvalidValue(
                f"{describe_row(row)}: person {name!r} answered already ({describe_row(names[name])}); "
                "a person answers once a round"
            )
        names[name] = row
    return list(names)


def numbers_of(values: object, name: str) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Values as floats, and where one is missing."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "iuf" and values.ndim == 1:
        numbers = values.astype(np.float64)
        if np.isinf(numbers).any():
            raise _not_a_number(float(numbers[np.isinf(numbers)][0]), name)
        return numbers, np.isnan(numbers)
    items = to_list(values, name)
    known = {text: _number(text, name) for text in {item for item in items if type(item) is str}}
    parsed = (known[item] if type(item) is str else _number(item, name) for item in items)
    numbers = np.fromiter(parsed, np.float64, len(items))
    return numbers, np.isnan(numbers)


def _number(item: Any, name: str) -> float:
    """A number, or NaN for a missing answer."""
    if is_missing(item):
        return np.nan
    number = number_of(item)
    if not np.isfinite(number):
        raise _not_a_number(item, name)
    return number


def number_of(item: Any) -> float:
    """A number, or its text as people write it in all clients: 47, -4.7, .47, 4.7e1; else NaN."""
    if isinstance(item, str):
        text = item.strip(BLANKS)
        return float(text) if _NUMBER.fullmatch(text) else math.nan
    if isinstance(item, bool | np.bool_) or not isinstance(item, Real | Decimal):
        return math.nan
    try:
        return float(item)
    except (OverflowError, ValueError):  # an integer beyond every float; a number that says it is none
        return math.inf


def _not_a_number(item: Any, name: str) -> InvalidValue:
    if type(item) is not bool and isinstance(item, Integral):
        return InvalidValue(f"a number of more than 300 digits is too large for {quote(name)}")
    return InvalidValue(f"{item!r} is not a number, as {quote(name)} asks for")
