"""How mechanisms, fakes, shares and domains are written in a plan: integers and text, strict to read, one way
to write.

Sizes are JSON integers, thresholds decimal strings (they exceed 2^53). There is no number with a decimal
point anywhere, so that every language reads the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from deniable.domain import Categories, Domain, Range
from deniable.domain.grid import Grid
from deniable.domain.number import Number
from deniable.errors import InvalidParameter
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
from deniable.records import (
    Blank,
    Fake,
    Faked,
    Guessed,
    Imitated,
    Prior,
    RecordMechanism,
    Sample,
    Single,
    Split,
)

_FAKES: dict[str, tuple[Callable[..., Fake], tuple[str, ...]]] = {
    "guessed": (Guessed, ("direct",)),
    "imitated": (Imitated, ("direct", "unary")),
    "blank": (Blank, ("unary",)),
}
"""What a fake is called in a plan, and which mechanisms it imitates."""


def _fake_to_dict(fake: Fake) -> Json:
    kind = next(kind for kind, (made_by, _) in _FAKES.items() if type(fake) is made_by)
    data: Json = {"kind": kind, "part": mechanism_to_dict(fake.part)}
    if isinstance(fake, Guessed | Imitated):
        uniform = fake.prior == Prior.uniform(fake.prior.k)
        data["prior"] = "uniform" if uniform else [str(weight) for weight in fake.prior.weights]
    return data


def _fake_from_dict(data: object, k: int) -> Fake:
    kind = checked_kind(data, "a fake", tuple(_FAKES))
    made_by, kinds = _FAKES[kind]
    data = checked_fields(
        data, f"a {kind} fake", ("kind", "part") if kind == "blank" else ("kind", "part", "prior")
    )
    part = mechanism_from_dict(data["part"], kinds)
    if kind == "blank":
        return made_by(part)
    if part.k > k + 1:  # before a prior of that size is made
        raise InvalidPlan(f"an attribute has {k} values, its mechanism {part.k}")
    if data["prior"] == "uniform":
        prior = Prior.uniform(part.k)
    else:
        weights = tuple(
            checked_threshold(weight, "a prior's weight") for weight in checked_list(data["prior"], "prior")
        )
        prior = Prior(weights)
    if prior.k != part.k:
        raise InvalidPlan(f"a prior has {prior.k} weights, its mechanism {part.k} values")
    return made_by(part, prior)


def record_to_dict(mechanism: RecordMechanism) -> Json:
    """A record mechanism as its kind and its parts."""
    if isinstance(mechanism, Faked):
        return {"kind": "faked", "fakes": [_fake_to_dict(fake) for fake in mechanism.fakes]}
    data: Json = {"kind": mechanism.kind, "parts": list(map(mechanism_to_dict, mechanism.mechanisms))}
    return data | {"drawn": mechanism.reported} if isinstance(mechanism, Sample) else data


def record_from_dict(data: object, ks: Sequence[int]) -> RecordMechanism:
    """Back from `record_to_dict`, for attributes of these sizes."""
    kind = checked_kind(data, "a share", ("single", "split", "sample", "faked"))
    inside = "fakes" if kind == "faked" else "parts"
    data = checked_fields(
        data, f"a {kind} share", ("kind", inside, "drawn") if kind == "sample" else ("kind", inside)
    )
    members = checked_list(data[inside], inside)
    if len(members) != len(ks):
        raise InvalidPlan(f"there are {len(ks)} attributes, but mechanisms for {len(members)}")
    if kind == "faked":
        return Faked(tuple(_fake_from_dict(fake, k) for fake, k in zip(members, ks, strict=True)))
    parts = tuple(map(mechanism_from_dict, members))
    if kind == "single":
        if len(parts) != 1:
            raise InvalidPlan(f"a single share has one attribute, got {len(parts)}")
        return Single(parts[0])
    if kind == "sample":
        return Sample(parts, checked_integer(data["drawn"], "drawn"))
    return Split(parts)


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
