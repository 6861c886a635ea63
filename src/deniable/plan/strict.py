"""Documents that are read strictly: integers and text, just the fields that belong there, one way to write
them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from deniable.errors import DeniableError, not_among

Json = dict[str, Any]

_DECIMAL = re.compile(r"[1-9][0-9]{0,19}")
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


class InvalidPlan(DeniableError, ValueError):
    """A plan that was changed by hand, is not in its canonical form, does not fit together or leaks more than
    it states.
    """


def canonical(data: Mapping[str, Any]) -> bytes:
    """Sorted keys, no spaces, UTF-8: equal documents have equal bytes."""
    try:
        return _ENCODER.encode(data).encode()
    except UnicodeEncodeError:
        raise InvalidPlan("the plan has text that cannot be written: half of a pair of surrogates") from None


def parsed(text: str | bytes) -> Json:
    """JSON without floats and without repeated keys, or a refusal."""

    def refuse_float(number: str) -> NoReturn:
        raise InvalidPlan(f"a plan has integers only, got {number}")

    def distinct(pairs: list[tuple[str, Any]]) -> Json:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise InvalidPlan("the plan has the same field twice")
        return found

    try:
        data = json.loads(
            text, object_pairs_hook=distinct, parse_float=refuse_float, parse_constant=refuse_float
        )
    except InvalidPlan:
        raise
    except (ValueError, RecursionError) as problem:
        raise InvalidPlan(f"this is not a plan: {problem}") from None
    if not isinstance(data, dict):
        raise InvalidPlan("this is not a plan: a plan is a JSON object")
    return data


def checked_kind(data: object, what: str, allowed: Sequence[str]) -> str:
    """The kind of an object, one of those that are allowed."""
    if not isinstance(data, dict) or not isinstance(data.get("kind"), str):
        raise InvalidPlan(f"{what} must be an object with a kind ({', '.join(allowed)})")
    kind: str = data["kind"]
    if kind not in allowed:
        raise InvalidPlan(not_among(kind, f"{what} that can be here", allowed))
    return kind


def checked_fields(data: object, what: str, wanted: Sequence[str]) -> Json:
    """An object with just these fields."""
    if not isinstance(data, dict):
        raise InvalidPlan(f"{what} must be an object with the fields {', '.join(wanted)}")
    for name in data:
        if name not in wanted:
            raise InvalidPlan(not_among(str(name), f"a field of {what}", wanted))
    for name in wanted:
        if name not in data:
            raise InvalidPlan(f"{what} has no field {name!r}")
    return data


def checked_list(data: object, what: str) -> list[Any]:
    """A list."""
    if not isinstance(data, list):
        raise InvalidPlan(f"{what} must be a list")
    return data


def checked_string(data: object, what: str) -> str:
    """Text."""
    if not isinstance(data, str):
        raise InvalidPlan(f"{what} must be text, got {data!r}")
    return data


def checked_integer(data: object, what: str) -> int:
    """An integer that every language holds exactly; true and false are none."""
    if type(data) is not int or abs(data) > 1 << 53:
        raise InvalidPlan(f"{what} must be an integer up to 2^53, got {data!r}")
    return data


def checked_threshold(data: object, what: str) -> int:
    """A positive integer that may exceed 2^53, in decimal digits."""
    if not isinstance(data, str) or not _DECIMAL.fullmatch(data):
        raise InvalidPlan(f"{what} must be a positive integer in decimal digits, as text, got {data!r}")
    return int(data)
