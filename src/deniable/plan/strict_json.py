"""Reads JSON strictly, and writes mechanisms in it: integers and text, one way to write each.

Sizes are JSON integers, thresholds decimal strings (they exceed 2^53). There is no number with a decimal
point anywhere, so that every language reads the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from deniable.errors import DeniableError, InvalidParameter, not_among
from deniable.mechanisms import (
    Direct,
    Hadamard,
    Hashed,
    Linear,
    Mechanism,
    PackedSubset,
    Pooled,
    Subset,
    Unary,
)
from deniable.metric import Averaged, Duchi, Geometric, Hybrid, MetricMechanism, Piecewise, PlanarGeometric
from deniable.randomness import FULL
from deniable.randomness.draws import WordArray
from deniable.rounds import BitFlip, HashedMemoized, Memoized, MemoizedMean, PooledMemoized

Json = dict[str, Any]

LARGEST_INTEGER = (1 << 53) - 1
"""Every language holds integers up to here exactly, and writes them in one way."""
MOST_BYTES = 1 << 22
"""Of a plan's text: a device must not stall on a plan that somebody made for that."""
_DEEPEST = 16
_MOST_DIGITS = 17  # of an integer with its sign
_DECIMAL = re.compile(r"[1-9][0-9]{0,19}")
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


class InvalidPlan(DeniableError, ValueError):
    """A plan that was edited, is not canonical, does not fit together or leaks more than it states."""

    def __init__(self, message: str = "", reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason
        """Why, in a word that is the same for every client: spec/wire.md lists them."""


def canonical(data: Mapping[str, Any]) -> bytes:
    """Sorted keys, no spaces, UTF-8: equal documents have equal bytes."""
    try:
        return _ENCODER.encode(data).encode()
    except UnicodeEncodeError:
        text = "the plan has text that cannot be written: half of a pair of surrogates"
        raise InvalidPlan(text, "json") from None


def refuse_long(length: int) -> None:
    """Refuse a text of more bytes than a plan may have."""
    if length > MOST_BYTES:
        raise InvalidPlan(f"a plan has at most {MOST_BYTES:,} bytes, got {length:,}", "length")


def parsed(raw: bytes) -> Json:
    """JSON in UTF-8 without fractions, or a refusal; of a field that is there twice, the last one."""
    refuse_long(len(raw))
    try:
        data = json.loads(
            raw.decode(), parse_int=_short_integer, parse_float=_whole_float, parse_constant=_refuse_constant
        )
        too_deep = _is_deeper(data, _DEEPEST)
    except InvalidPlan:
        raise
    except (ValueError, RecursionError) as problem:
        raise InvalidPlan(f"this is not a plan: {problem}", "json") from None
    if not isinstance(data, dict):
        raise InvalidPlan("this is not a plan: a plan is a JSON object", "json")
    if too_deep:
        raise InvalidPlan(f"a plan is nested at most {_DEEPEST} deep", "json")
    return data


def _short_integer(text: str) -> int:
    if len(text) > _MOST_DIGITS or abs(int(text)) > LARGEST_INTEGER:
        raise InvalidPlan(f"a plan has integers below 2^53 only, got {text[:20]}", "integer")
    return int(text)


def _whole_float(text: str) -> int:
    """An integer that is written with a point or an exponent, which other languages cannot tell from 1."""
    number = float(text)
    if not number.is_integer() or abs(number) > LARGEST_INTEGER:
        raise InvalidPlan(f"a plan has integers below 2^53 only, got {text[:20]}", "integer")
    return int(number)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _is_deeper(data: object, most: int) -> bool:
    """Whether lists and objects are nested deeper than this."""
    if not isinstance(data, dict | list):
        return False
    inside = data.values() if isinstance(data, dict) else data
    return most < 1 or any(_is_deeper(value, most - 1) for value in inside if isinstance(value, dict | list))


def checked_kind(data: object, what: str, allowed: Sequence[str]) -> str:
    """The kind of an object, one of those that are allowed."""
    if not isinstance(data, dict) or not isinstance(data.get("kind"), str):
        raise InvalidPlan(f"{what} must be an object with a kind ({', '.join(allowed)})", "kind")
    kind: str = data["kind"]
    if kind not in allowed:
        raise InvalidPlan(not_among(kind, f"{what} that can be here", allowed), "kind")
    return kind


def checked_fields(data: object, what: str, names: Sequence[str]) -> Json:
    """An object with just these fields."""
    if not isinstance(data, dict):
        raise InvalidPlan(f"{what} must be an object with the fields {', '.join(names)}", "type")
    for name in data:
        if name not in names:
            raise InvalidPlan(not_among(str(name), f"a field of {what}", names), "fields")
    for name in names:
        if name not in data:
            raise InvalidPlan(f"{what} has no field {name!r}", "fields")
    return data


def checked_list(data: object, what: str) -> list[Any]:
    """A list."""
    if not isinstance(data, list):
        raise InvalidPlan(f"{what} must be a list", "type")
    return data


def checked_string(data: object, what: str) -> str:
    """Text."""
    if not isinstance(data, str):
        raise InvalidPlan(f"{what} must be text, got {data!r}", "type")
    return data


def checked_boolean(data: object, what: str) -> bool:
    """True or false."""
    if not isinstance(data, bool):
        raise InvalidPlan(f"{what} is true or false, got {data!r}", "type")
    return data


def checked_integer(data: object, what: str) -> int:
    """An integer, which the parser found to be below 2^53; true and false are none."""
    if type(data) is not int:
        raise InvalidPlan(f"{what} must be an integer, got {data!r}", "type")
    return data


def checked_threshold(data: object, what: str) -> int:
    """A positive integer that may exceed 2^53, in decimal digits."""
    if not isinstance(data, str) or not _DECIMAL.fullmatch(data):
        text = f"{what} must be a positive integer in decimal digits, as text, got {data!r}"
        raise InvalidPlan(text, "threshold")
    if int(data) >= FULL:
        raise InvalidPlan(f"{what} must be below 2^64, got {data}", "threshold")
    return int(data)


MOST_BINS = 1 << 12
"""Bins of a range with geometric noise, whose table a plan holds."""
MOST_CELLS = 1 << 11
"""Cells of a grid with planar noise: this many can be verified, and estimated, in a moment."""

_SIZES = ("k", "size", "g", "bits", "rows", "window")
_THRESHOLDS = ("keep", "one", "zero", "share")

_MECHANISMS: dict[str, tuple[type[Mechanism], tuple[str, ...]]] = {
    "direct": (Direct, ("k", "keep")),
    "unary": (Unary, ("k", "one", "zero")),
    "subset": (Subset, ("k", "size", "keep")),
    "packed-subset": (PackedSubset, ("k", "size", "keep")),
    "hashed": (Hashed, ("k", "g", "keep")),
    "pooled": (Pooled, ("k", "g", "keep")),
    "linear": (Linear, ("bits", "rows", "keep")),
    "hadamard": (Hadamard, ("k", "keep")),
    "memoized": (Memoized, ("first", "second")),
    "hashed-memoized": (HashedMemoized, ("k", "buckets")),
    "pooled-memoized": (PooledMemoized, ("k", "buckets")),
    "memoized-mean": (MemoizedMean, ("bit",)),
    "bit-flip": (BitFlip, ("k", "bits", "one", "zero")),
    "geometric": (Geometric, ("tails",)),
    "planar-geometric": (PlanarGeometric, ("steps", "noise")),
}
"""What a mechanism is called in a plan, and what it is made from."""
_MEANS: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "duchi": (Duchi, ("keep",)),
    "piecewise": (Piecewise, ("k", "window", "keep")),
    "hybrid": (Hybrid, ("piecewise", "duchi", "share")),
}
"""Kinds of mechanisms for the mean of a number."""
_KINDS: dict[Any, str] = {
    made_by: kind for kinds in (_MECHANISMS, _MEANS) for kind, (made_by, _) in kinds.items()
}
KINDS = (*_MECHANISMS, *_MEANS)
"""All of them."""
_INSIDE: dict[str, tuple[str, ...]] = {
    "first": ("direct", "unary"),
    "second": ("direct", "unary"),
    "buckets": ("memoized",),
    "bit": ("memoized",),
}


def mechanism_to_dict(mechanism: Mechanism) -> Json:
    """A mechanism as its kind and its numbers."""
    return _made_to_dict(mechanism.of if isinstance(mechanism, Averaged) else mechanism)


def _made_to_dict(mechanism: object) -> Json:
    kind = _KINDS.get(type(mechanism))
    if kind is None:
        raise InvalidParameter(f"a plan cannot hold {type(mechanism).__name__}; it holds {', '.join(KINDS)}")
    names = (_MEANS if kind in _MEANS else _MECHANISMS)[kind][1]
    kept = {"kept": True} if isinstance(mechanism, MetricMechanism) and mechanism.kept else {}
    return {"kind": kind} | {name: _number_to_json(name, getattr(mechanism, name)) for name in names} | kept


def _number_to_json(name: str, value: Any) -> object:
    if name in _SIZES:
        return value
    if name in _THRESHOLDS:
        return str(value)
    if name in _TABLES:
        return _TABLES[name][0](value)
    return _made_to_dict(value)


def mechanism_from_dict(data: object, kinds: Sequence[str] = KINDS) -> Mechanism:
    """Back from `mechanism_to_dict`, one of these kinds."""
    if isinstance(data, dict) and data.get("kind") == "square-wave":
        raise InvalidPlan(
            "square waves of plans are retired, since their shares were wrong where answers heap; make the "
            "plan again with queries = 'ranges'",
            "kind",
        )
    kind = checked_kind(data, "a mechanism", kinds)
    if kind in _MEANS:
        return Averaged(_mean_from_dict(data, kind))
    made_by, names = _MECHANISMS[kind]
    kept = made_by.metric and isinstance(data, dict) and "kept" in data
    data = checked_fields(data, f"a {kind} mechanism", ("kind", *names, *(("kept",) if kept else ())))
    if kept and not checked_boolean(data["kept"], "kept"):
        raise InvalidPlan("the plan is not in its canonical form: what is not kept says nothing", "canonical")
    numbers = {name: _number_from_json(name, data[name]) for name in names}
    return made_by(**numbers, **({"kept": True} if kept else {}))


def _mean_from_dict(data: object, kind: str) -> Any:
    made_by, names = _MEANS[checked_kind(data, "a mechanism", (kind,))]
    data = checked_fields(data, f"a {kind} mechanism", ("kind", *names))
    return made_by(**{name: _number_from_json(name, data[name]) for name in names})


def _number_from_json(name: str, value: object) -> object:
    if name in _SIZES:
        return checked_integer(value, name)
    if name in _THRESHOLDS:
        return checked_threshold(value, name)
    if name in _TABLES:
        return _TABLES[name][1](checked_list(value, name))
    return _mean_from_dict(value, name) if name in _MEANS else mechanism_from_dict(value, _INSIDE[name])


def _tails_to_json(tails: WordArray) -> list[str]:
    _refuse_large(tails.size, MOST_BINS, "bins of geometric noise", "tails")
    return list(map(str, tails.tolist()))


def _tails_from_json(items: list[Any]) -> WordArray:
    _refuse_large(len(items), MOST_BINS, "bins of geometric noise", "tails")
    return _words(items, "tails")


def _noise_to_json(noise: WordArray) -> list[list[str]]:
    _refuse_large(noise.size, MOST_CELLS, "cells of planar noise", "noise")
    return [list(map(str, row)) for row in noise.tolist()]


def _noise_from_json(items: list[Any]) -> WordArray:
    rows = [checked_list(row, "a row of noise") for row in items]
    if not rows or any(len(row) != len(rows[0]) for row in rows):
        raise InvalidPlan("noise is a table: its rows are of one length", "noise")
    _refuse_large(len(rows) * len(rows[0]), MOST_CELLS, "cells of planar noise", "noise")
    return np.array([_words(row, "noise") for row in rows], dtype=np.uint64)


def _words(items: list[Any], what: str) -> WordArray:
    return np.array([checked_threshold(item, what) for item in items], dtype=np.uint64)


def _steps_to_json(steps: tuple[float, float]) -> list[int]:
    if any(step != int(step) or not 1 <= step <= 1 << 40 for step in steps):
        raise InvalidParameter(
            f"a plan counts distances on a grid in whole millimeters, got cells of {steps[0]:g} by "
            f"{steps[1]:g}; name the epsilon of the grid in a study, which makes such a mechanism"
        )
    return [int(step) for step in steps]


def _steps_from_json(items: list[Any]) -> tuple[float, float]:
    if len(items) != 2:
        raise InvalidPlan("steps are the height and the width of a cell, in millimeters", "steps")
    down, across = (checked_integer(step, "a step") for step in items)
    if not (1 <= down <= 1 << 40 and 1 <= across <= 1 << 40):
        raise InvalidPlan(f"steps are from 1 to 2^40 millimeters, got {down} and {across}", "steps")
    return float(down), float(across)


def _refuse_large(size: int, most: int, what: str, reason: str) -> None:
    if size > most:
        raise InvalidParameter(
            f"a plan holds at most {most:,} {what}, since every device reads its table; got {size:,}", reason
        )


_TABLES: dict[str, tuple[Callable[[Any], object], Callable[[list[Any]], object]]] = {
    "tails": (_tails_to_json, _tails_from_json),
    "noise": (_noise_to_json, _noise_from_json),
    "steps": (_steps_to_json, _steps_from_json),
}
"""How tables of words are written and read."""
