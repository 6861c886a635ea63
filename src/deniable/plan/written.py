"""How mechanisms are written in a plan: their kind, and the integers that are sampled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from deniable.errors import InvalidParameter
from deniable.mechanisms import Direct, ExactMechanism, Hadamard, Hashed, Subset, Unary
from deniable.metric import Averaged, Duchi, Geometric, Hybrid, Piecewise, PlanarGeometric
from deniable.plan.strict import (
    InvalidPlan,
    Json,
    checked_fields,
    checked_integer,
    checked_kind,
    checked_list,
    checked_threshold,
)
from deniable.rounds import BitFlip, HashedMemoized, Memoized
from deniable.words import FULL, WordArray

MOST_BINS = 1 << 12
"""Bins of a range with geometric noise, whose table a plan holds."""
MOST_CELLS = 1 << 11
"""Cells of a grid with planar noise: so many can be verified, and estimated, in a moment."""

_SIZES = ("k", "size", "g", "bits", "window")
_THRESHOLDS = ("keep", "one", "zero", "share")

_MECHANISMS: dict[str, tuple[type[ExactMechanism], tuple[str, ...]]] = {
    "direct": (Direct, ("k", "keep")),
    "unary": (Unary, ("k", "one", "zero")),
    "subset": (Subset, ("k", "size", "keep")),
    "hashed": (Hashed, ("k", "g", "keep")),
    "hadamard": (Hadamard, ("k", "keep")),
    "memoized": (Memoized, ("first", "second")),
    "hashed-memoized": (HashedMemoized, ("k", "buckets")),
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
"""The same of mechanisms for the mean of a number."""
KINDS = (*_MECHANISMS, *_MEANS)
"""All of them."""
_INSIDE: dict[str, tuple[str, ...]] = {
    "first": ("direct", "unary"),
    "second": ("direct", "unary"),
    "buckets": ("memoized",),
}


def mechanism_to_dict(mechanism: ExactMechanism) -> Json:
    """A mechanism as its kind and its numbers."""
    made: object = mechanism.of if isinstance(mechanism, Averaged) else mechanism
    kinds: Mapping[str, tuple[Any, tuple[str, ...]]] = (
        _MEANS if isinstance(mechanism, Averaged) else _MECHANISMS
    )
    for kind, (made_by, names) in kinds.items():
        if isinstance(made, made_by):
            return {"kind": kind} | {name: _number_to_json(name, getattr(made, name)) for name in names}
    raise InvalidParameter(f"a plan cannot hold {type(mechanism).__name__}; it holds {', '.join(KINDS)}")


def _number_to_json(name: str, value: Any) -> object:
    if name in _SIZES:
        return value
    if name in _THRESHOLDS:
        return str(value)
    if name in _TABLES:
        return _TABLES[name][0](value)
    return mechanism_to_dict(Averaged(value) if name in _MEANS else value)


def mechanism_from_dict(data: object, kinds: Sequence[str] = KINDS) -> ExactMechanism:
    """Back from `mechanism_to_dict`, one of these kinds."""
    kind = checked_kind(data, "a mechanism", kinds)
    if kind in _MEANS:
        return Averaged(_mean_from_dict(data, kind))
    made_by, names = _MECHANISMS[kind]
    data = checked_fields(data, f"a {kind} mechanism", ("kind", *names))
    return made_by(**{name: _number_from_json(name, data[name]) for name in names})


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
    _refuse_large(tails.size, MOST_BINS, "bins of geometric noise")
    return list(map(str, tails.tolist()))


def _tails_from_json(given: list[Any]) -> WordArray:
    _refuse_large(len(given), MOST_BINS, "bins of geometric noise")
    return _words(given, "tails")


def _noise_to_json(noise: WordArray) -> list[list[str]]:
    _refuse_large(noise.size, MOST_CELLS, "cells of planar noise")
    return [list(map(str, row)) for row in noise.tolist()]


def _noise_from_json(given: list[Any]) -> WordArray:
    rows = [checked_list(row, "a row of noise") for row in given]
    if not rows or any(len(row) != len(rows[0]) for row in rows):
        raise InvalidPlan("noise is a table: its rows are of one length")
    _refuse_large(len(rows) * len(rows[0]), MOST_CELLS, "cells of planar noise")
    return np.array([_words(row, "noise") for row in rows], dtype=np.uint64)


def _words(given: list[Any], what: str) -> WordArray:
    words = [checked_threshold(one, what) for one in given]
    if max(words, default=0) >= FULL:
        raise InvalidPlan(f"{what} are numbers of words below 2^64")
    return np.array(words, dtype=np.uint64)


def _steps_to_json(steps: tuple[float, float]) -> list[int]:
    if any(step != int(step) or not 1 <= step <= 1 << 40 for step in steps):
        raise InvalidParameter(
            f"a plan counts distances on a grid in whole millimeters, got cells of {steps[0]:g} by "
            f"{steps[1]:g}; name the epsilon of the grid in a study, which makes such a mechanism"
        )
    return [int(step) for step in steps]


def _steps_from_json(given: list[Any]) -> tuple[float, float]:
    if len(given) != 2:
        raise InvalidPlan("steps are the height and the width of a cell, in millimeters")
    down, across = (checked_integer(step, "a step") for step in given)
    if not (1 <= down <= 1 << 40 and 1 <= across <= 1 << 40):
        raise InvalidPlan(f"steps are from 1 to 2^40 millimeters, got {down} and {across}")
    return float(down), float(across)


def _refuse_large(size: int, most: int, what: str) -> None:
    if size > most:
        raise InvalidParameter(
            f"a plan holds at most {most:,} {what}, since every device reads its table; got {size:,}"
        )


_TABLES: dict[str, tuple[Callable[[Any], object], Callable[[list[Any]], object]]] = {
    "tails": (_tails_to_json, _tails_from_json),
    "noise": (_noise_to_json, _noise_from_json),
    "steps": (_steps_to_json, _steps_from_json),
}
"""How tables of words are written and read."""
