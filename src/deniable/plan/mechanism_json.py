"""Writes record mechanisms in a plan, as kinds, parts and numbers, and reads them back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import singledispatch
from typing import Any, final

from deniable.errors import InvalidParameter
from deniable.mechanisms import Mechanism
from deniable.plan.strict_json import (
    InvalidPlan,
    Json,
    checked_fields,
    checked_integer,
    checked_kind,
    checked_list,
    checked_threshold,
    mechanism_from_dict,
    mechanism_to_dict,
)
from deniable.records import Blank, Fake, Guessed, Imitated, Prior, RecordMechanism
from deniable.records.named import RECORD_MECHANISMS


@final
class _Sizes:
    """The numbers of values of a plan's attributes, each taken by a mechanism, in order."""

    def __init__(self, ks: Sequence[int]) -> None:
        self._ks = ks
        self.used = 0

    def take(self) -> int:
        if self.used == len(self._ks):
            raise InvalidPlan(f"there are {len(self._ks)} attributes, but mechanisms for more", "parts")
        self.used += 1
        return self._ks[self.used - 1]


_SETS = ("unary", "subset", "packed-subset", "hashed", "pooled", "hadamard")
_FAKES: dict[str, tuple[Callable[..., Fake], tuple[str, ...], bool]] = {
    "guessed": (Guessed, ("direct", "memoized"), True),
    "imitated": (Imitated, ("direct", *_SETS, "memoized"), True),
    "blank": (Blank, (*_SETS, "memoized", "hashed-memoized", "pooled-memoized", "bit-flip"), False),
}
"""What a fake is called in a plan, which mechanisms it imitates, and whether it has a prior."""
_NESTED = tuple(kind for kind, record in RECORD_MECHANISMS.items() if record.nests)


@singledispatch
def _part_to_dict(part: object) -> Json:
    raise InvalidParameter(f"a plan cannot hold {type(part).__name__}")


@_part_to_dict.register
def _(part: Mechanism) -> Json:
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
    inside = getattr(part, part.part_field) if part.part_field else ()
    parts = {part.part_field: [_part_to_dict(inner) for inner in inside]} if part.part_field else {}
    numbers = {name: getattr(part, name) for name in part.numbers}
    lists = {name: list(listed) for name in part.lists if (listed := getattr(part, name)) is not None}
    thresholds = {name: str(getattr(part, name)) for name in part.thresholds}
    return {"kind": part.kind} | parts | numbers | thresholds | lists


def record_from_dict(data: object, ks: Sequence[int]) -> RecordMechanism:
    """Back from `record_to_dict`, for attributes of these sizes."""
    record = _read_record(data, sizes := _Sizes(ks), tuple(RECORD_MECHANISMS))
    if sizes.used < len(ks):
        raise InvalidPlan(f"there are {len(ks)} attributes, but mechanisms for {sizes.used}", "parts")
    return record


def _read_record(data: object, sizes: _Sizes, kinds: Sequence[str]) -> RecordMechanism:
    kind = checked_kind(data, "a record mechanism", kinds)
    made_by = RECORD_MECHANISMS[kind]
    lists = [name for name in made_by.lists if isinstance(data, dict) and name in data]
    inside = [made_by.part_field] if made_by.part_field else []
    names = ("kind", *inside, *made_by.numbers, *made_by.thresholds, *lists)
    fields = checked_fields(data, f"a {kind} record mechanism", names)
    numbers: Json = {name: checked_integer(fields[name], name) for name in made_by.numbers}
    numbers |= {name: checked_threshold(fields[name], name) for name in made_by.thresholds}
    for name in lists:
        numbers[name] = tuple(checked_integer(item, name) for item in checked_list(fields[name], name))
    members = [
        _MEMBERS[field](item, sizes, made_by)
        for field in inside
        for item in checked_list(fields[field], field)
    ]
    record = made_by.build(members, **numbers)
    for _ in () if inside else record.mechanisms:
        sizes.take()
    return record


def _read_part(data: object, sizes: _Sizes, inside: type[RecordMechanism]) -> object:
    kind = data.get("kind") if isinstance(data, dict) else None
    if inside.takes_records and isinstance(kind, str) and kind in RECORD_MECHANISMS:
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
    if part.k > k + 2:  # before a prior of that size is made
        raise InvalidPlan(f"an attribute has {k} values, its mechanism {part.k}", "fit")
    if fields["prior"] == "uniform":
        return made_by(part, Prior.uniform(part.k))
    weights = checked_list(fields["prior"], "prior")
    prior = Prior(tuple(checked_threshold(weight, "a prior's weight") for weight in weights))
    if prior.k != part.k:
        raise InvalidPlan(f"a prior has {prior.k} weights, its mechanism {part.k} values", "prior")
    return made_by(part, prior)


_MEMBERS: dict[str, Callable[[object, _Sizes, type[RecordMechanism]], Any]] = {
    "parts": _read_part,
    "fakes": _read_fake,
}
"""How the parts of a record mechanism are read, by what they are called."""
