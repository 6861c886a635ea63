"""Writes fakes, record mechanisms and domains in a plan, and reads them strictly: there is one way to write
each.

Sizes are JSON integers, thresholds decimal strings (they exceed 2^53). There is no number with a decimal
point anywhere, so that every language reads the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import singledispatch
from typing import Any, final

from deniable.domain import Categories, Domain, Range
from deniable.domain.grid import Grid
from deniable.domain.number import Number
from deniable.errors import InvalidParameter
from deniable.mechanisms import ExactMechanism
from deniable.plan.strict import (
    InvalidPlan,
    Json,
    checked_fields,
    checked_integer,
    checked_kind,
    checked_list,
    checked_string,
    checked_threshold,
)
from deniable.plan.written import mechanism_from_dict, mechanism_to_dict
from deniable.records import RECORD_MECHANISMS, Blank, Fake, Guessed, Imitated, Prior, RecordMechanism


@final
class _Sizes:
    """The numbers of values of a plan's attributes, each taken by a mechanism, in order."""

    def __init__(self, ks: Sequence[int]) -> None:
        self._ks = ks
        self.used = 0

    def take(self) -> int:
        """The next one."""
        if self.used == len(self._ks):
            raise InvalidPlan(f"there are {len(self._ks)} attributes, but mechanisms for more")
        self.used += 1
        return self._ks[self.used - 1]


_FAKES: dict[str, tuple[Callable[..., Fake], tuple[str, ...], bool]] = {
    "guessed": (Guessed, ("direct",), True),
    "imitated": (Imitated, ("direct", "unary"), True),
    "blank": (Blank, ("unary",), False),
}
"""What a fake is called in a plan, which mechanisms it imitates, and whether it has a prior."""
_NESTED = tuple(kind for kind, one in RECORD_MECHANISMS.items() if one.nests)


@singledispatch
def _part_to_dict(part: object) -> Json:
    raise InvalidParameter(f"a plan cannot hold {type(part).__name__}")


@_part_to_dict.register
def _(part: ExactMechanism) -> Json:
    return mechanism_to_dict(part)


@_part_to_dict.register
def _(part: Fake) -> Json:
    kind, has_prior = next((kind, prior) for kind, (cls, _, prior) in _FAKES.items() if type(part) is cls)
    data: Json = {"kind": kind, "part": mechanism_to_dict(part.part)}
    if not has_prior:
        return data
    uniform = part.belief == Prior.uniform(part.belief.k)
    return data | {"prior": "uniform" if uniform else [str(weight) for weight in part.belief.weights]}


@_part_to_dict.register
def record_to_dict(part: RecordMechanism) -> Json:
    """A record mechanism as its kind, its parts and its numbers."""
    parts = [_part_to_dict(one) for one in getattr(part, part.part_field)]
    return {"kind": part.kind, part.part_field: parts} | {name: getattr(part, name) for name in part.numbers}


def record_from_dict(data: object, ks: Sequence[int]) -> RecordMechanism:
    """Back from `record_to_dict`, for attributes of these sizes."""
    found = _read_record(data, sizes := _Sizes(ks), tuple(RECORD_MECHANISMS))
    if sizes.used < len(ks):
        raise InvalidPlan(f"there are {len(ks)} attributes, but mechanisms for {sizes.used}")
    return found


def _read_record(data: object, sizes: _Sizes, kinds: Sequence[str]) -> RecordMechanism:
    kind = checked_kind(data, "a record mechanism", kinds)
    made_by = RECORD_MECHANISMS[kind]
    fields = checked_fields(
        data, f"a {kind} record mechanism", ("kind", made_by.part_field, *made_by.numbers)
    )
    numbers = {name: checked_integer(fields[name], name) for name in made_by.numbers}
    read = _MEMBERS[made_by.part_field]
    members = [
        read(one, sizes, made_by) for one in checked_list(fields[made_by.part_field], made_by.part_field)
    ]
    return made_by.build(members, **numbers)


def _read_part(data: object, sizes: _Sizes, inside: type[RecordMechanism]) -> object:
    if inside.takes_records and isinstance(data, dict) and data.get("kind") in RECORD_MECHANISMS:
        return _read_record(data, sizes, _NESTED)
    sizes.take()
    return mechanism_from_dict(data)


def _read_fake(data: object, sizes: _Sizes, _inside: type[RecordMechanism]) -> Fake:
    kind = checked_kind(data, "a fake", tuple(_FAKES))
    made_by, kinds, has_prior = _FAKES[kind]
    fields = checked_fields(data, f"a {kind} fake", ("kind", "part", *(("prior",) if has_prior else ())))
    part, k = mechanism_from_dict(fields["part"], kinds), sizes.take()
    if not has_prior:
        return made_by(part)
    if part.k > k + 1:  # before a prior of that size is made
        raise InvalidPlan(f"an attribute has {k} values, its mechanism {part.k}")
    if fields["prior"] == "uniform":
        return made_by(part, Prior.uniform(part.k))
    weights = checked_list(fields["prior"], "prior")
    prior = Prior(tuple(checked_threshold(weight, "a prior's weight") for weight in weights))
    if prior.k != part.k:
        raise InvalidPlan(f"a prior has {prior.k} weights, its mechanism {part.k} values")
    return made_by(part, prior)


_MEMBERS: dict[str, Callable[[object, _Sizes, type[RecordMechanism]], Any]] = {
    "parts": _read_part,
    "fakes": _read_fake,
}
"""How the parts of a record mechanism are read, by what they are called."""


def domain_to_dict(domain: Domain) -> Json:
    """A domain as its labels or its integers."""
    if isinstance(domain, Categories):
        return {"kind": "categories", "labels": list(domain.labels)}
    if isinstance(domain, Range):
        numbers = {
            "low": domain.scaled_low,
            "step": domain.scaled_step,
            "bins": domain.bins,
            "digits": domain.digits,
        }
        return {"kind": "range", **numbers, "open_low": domain.open_low, "open_high": domain.open_high}
    if isinstance(domain, Number):
        ends = {"low": domain.scaled_low, "high": domain.scaled_high, "digits": domain.digits}
        return {"kind": "number", **ends, "open_low": domain.open_low, "open_high": domain.open_high}
    if isinstance(domain, Grid):
        return {"kind": "grid", **domain.corners, "rows": domain.rows, "columns": domain.columns}
    raise InvalidParameter(f"a plan cannot hold the domain {type(domain).__name__}")


def domain_from_dict(data: object) -> Domain:
    """Back from `domain_to_dict`."""
    kind = checked_kind(data, "a domain", ("categories", "range", "number", "grid"))
    if kind == "categories":
        data = checked_fields(data, "categories", ("kind", "labels"))
        return Categories(
            [checked_string(label, "a label") for label in checked_list(data["labels"], "labels")]
        )
    if kind == "grid":
        numbers, _ = _numbers(data, "a grid", ("south", "west", "north", "east", "rows", "columns"))
        return Grid.from_integers(*numbers)
    if kind == "number":
        numbers, ends = _numbers(data, "a number", ("low", "high", "digits"), ("open_low", "open_high"))
        low, high, digits = numbers
        return Number.from_integers(low, high, digits, *ends)
    numbers, ends = _numbers(data, "a range", ("low", "step", "bins", "digits"), ("open_low", "open_high"))
    low, step, bins, digits = numbers
    return Range.from_integers(low, step, bins, digits, *ends)


def _numbers(
    data: object, what: str, names: Sequence[str], ends: Sequence[str] = ()
) -> tuple[list[int], list[bool]]:
    """Integers, and whether ends are open, which the domain itself checks."""
    fields = checked_fields(data, what, ("kind", *names, *ends))
    return [checked_integer(fields[name], name) for name in names], [fields[end] for end in ends]
