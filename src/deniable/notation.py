"""How mechanisms, fakes, shares and domains are written in a plan: integers and text, strict to read, one way to write.

Sizes are JSON integers, thresholds decimal strings (they exceed 2^53). There is no number with a decimal point anywhere,
so that every language reads the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from deniable.bitflip import BitFlip
from deniable.domain import Categories, Domain, Range
from deniable.errors import DeniableError, InvalidParameter, not_among
from deniable.fakes import Blank, Fake, Guessed, Imitated, Prior
from deniable.repeat import HashedMemoized, Memoized
from deniable.shape import Encoder
from deniable.shapes import Direct, Hadamard, Hashed, Subset, Unary
from deniable.share import Faked, Sample, Share, Split

Json = dict[str, Any]

_DECIMAL = re.compile(r"[1-9][0-9]{0,19}")
_SIZES = ("k", "size", "g", "bits")
_THRESHOLDS = ("keep", "one", "zero")


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


class InvalidPlan(DeniableError, ValueError):
    """A plan that was changed by hand, is not in its canonical form, does not fit together or leaks more than it states."""


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
        data = json.loads(text, object_pairs_hook=distinct, parse_float=refuse_float, parse_constant=refuse_float)
    except InvalidPlan:
        raise
    except (ValueError, RecursionError) as problem:
        raise InvalidPlan(f"this is not a plan: {problem}") from None
    if not isinstance(data, dict):
        raise InvalidPlan("this is not a plan: a plan is a JSON object")
    return data


_MECHANISMS: dict[str, tuple[type[Encoder], tuple[str, ...]]] = {
    "direct": (Direct, ("k", "keep")),
    "unary": (Unary, ("k", "one", "zero")),
    "subset": (Subset, ("k", "size", "keep")),
    "hashed": (Hashed, ("k", "g", "keep")),
    "hadamard": (Hadamard, ("k", "keep")),
    "memoized": (Memoized, ("first", "second")),
    "hashed-memoized": (HashedMemoized, ("k", "buckets")),
    "bit-flip": (BitFlip, ("k", "bits", "one", "zero")),
}
"""What a mechanism is called in a plan, and what it is made from."""

_INSIDE: dict[str, tuple[str, ...]] = {"first": ("direct", "unary"), "second": ("direct", "unary"), "buckets": ("memoized",)}
_FAKES: dict[str, tuple[Callable[..., Fake], tuple[str, ...]]] = {
    "guessed": (Guessed, ("direct",)),
    "imitated": (Imitated, ("direct", "unary")),
    "blank": (Blank, ("unary",)),
}
"""What a fake is called in a plan, and which mechanisms it imitates."""


def mechanism_to_dict(mechanism: Encoder) -> Json:
    """A mechanism as its kind and its numbers."""
    for kind, (made_by, names) in _MECHANISMS.items():
        if isinstance(mechanism, made_by):
            return {"kind": kind} | {name: _number_to_json(name, getattr(mechanism, name)) for name in names}
    raise InvalidParameter(f"a plan cannot hold {type(mechanism).__name__}; it holds {', '.join(_MECHANISMS)}")


def _number_to_json(name: str, value: Any) -> object:
    if name in _SIZES:
        return value
    return str(value) if name in _THRESHOLDS else mechanism_to_dict(value)


def mechanism_from_dict(data: object, kinds: Sequence[str] = tuple(_MECHANISMS)) -> Encoder:
    """Back from `mechanism_to_dict`, one of these kinds."""
    kind = _kind(data, "a mechanism", kinds)
    made_by, names = _MECHANISMS[kind]
    data = checked_fields(data, f"a {kind} mechanism", ("kind", *names))
    return made_by(**{name: _number_from_json(name, data[name]) for name in names})


def _number_from_json(name: str, value: object) -> object:
    if name in _SIZES:
        return checked_integer(value, name)
    return _threshold(value, name) if name in _THRESHOLDS else mechanism_from_dict(value, _INSIDE[name])


def _fake_to_dict(fake: Fake) -> Json:
    kind = next(kind for kind, (made_by, _) in _FAKES.items() if type(fake) is made_by)
    data: Json = {"kind": kind, "part": mechanism_to_dict(fake.part)}
    if isinstance(fake, Guessed | Imitated):
        uniform = fake.prior == Prior.uniform(fake.prior.k)
        data["prior"] = "uniform" if uniform else [str(weight) for weight in fake.prior.weights]
    return data


def _fake_from_dict(data: object, k: int) -> Fake:
    kind = _kind(data, "a fake", tuple(_FAKES))
    made_by, kinds = _FAKES[kind]
    data = checked_fields(data, f"a {kind} fake", ("kind", "part") if kind == "blank" else ("kind", "part", "prior"))
    part = mechanism_from_dict(data["part"], kinds)
    if kind == "blank":
        return made_by(part)
    if part.k > k + 1:  # before a prior of that size is made
        raise InvalidPlan(f"an attribute has {k} values, its mechanism {part.k}")
    if data["prior"] == "uniform":
        prior = Prior.uniform(part.k)
    else:
        weights = tuple(_threshold(weight, "a prior's weight") for weight in checked_list(data["prior"], "prior"))
        prior = Prior(weights)
    if prior.k != part.k:
        raise InvalidPlan(f"a prior has {prior.k} weights, its mechanism {part.k} values")
    return made_by(part, prior)


def share_to_dict(share: Share | Encoder) -> Json:
    """A share as its kind and its mechanisms; a mechanism alone is a share of one."""
    if isinstance(share, Encoder):
        return {"kind": "single", "parts": [mechanism_to_dict(share)]}
    if isinstance(share, Faked):
        return {"kind": "faked", "fakes": [_fake_to_dict(fake) for fake in share.fakes]}
    parts = [mechanism_to_dict(part) for part in share.parts]
    if isinstance(share, Sample):
        return {"kind": "sample", "drawn": share.drawn, "parts": parts}
    if isinstance(share, Split):
        return {"kind": "split", "parts": parts}
    raise InvalidParameter(f"a plan cannot hold the share {type(share).__name__}")


def share_from_dict(data: object, ks: Sequence[int]) -> Share | Encoder:
    """Back from `share_to_dict`, for attributes of these sizes."""
    kind = _kind(data, "a share", ("single", "split", "sample", "faked"))
    inside = "fakes" if kind == "faked" else "parts"
    data = checked_fields(data, f"a {kind} share", ("kind", inside, "drawn") if kind == "sample" else ("kind", inside))
    members = checked_list(data[inside], inside)
    if len(members) != len(ks):
        raise InvalidPlan(f"there are {len(ks)} attributes, but mechanisms for {len(members)}")
    if kind == "faked":
        return Faked(tuple(_fake_from_dict(fake, k) for fake, k in zip(members, ks, strict=True)))
    parts = tuple(map(mechanism_from_dict, members))
    if kind == "single":
        if len(parts) != 1:
            raise InvalidPlan(f"a single share has one attribute, got {len(parts)}")
        return parts[0]
    if kind == "sample":
        return Sample(parts, checked_integer(data["drawn"], "drawn"))
    return Split(parts)


def domain_to_dict(domain: Domain) -> Json:
    """A domain as its labels or its integers."""
    if isinstance(domain, Categories):
        return {"kind": "categories", "labels": list(domain.labels)}
    if isinstance(domain, Range):
        numbers = {"low": domain.scaled_low, "step": domain.scaled_step, "bins": domain.bins, "digits": domain.digits}
        return {"kind": "range", **numbers, "open_low": domain.open_low, "open_high": domain.open_high}
    raise InvalidParameter(f"a plan cannot hold the domain {type(domain).__name__}")


def domain_from_dict(data: object) -> Domain:
    """Back from `domain_to_dict`."""
    kind = _kind(data, "a domain", ("categories", "range"))
    if kind == "categories":
        data = checked_fields(data, "categories", ("kind", "labels"))
        return Categories([checked_string(label, "a label") for label in checked_list(data["labels"], "labels")])
    numbers, ends = ("low", "step", "bins", "digits"), ("open_low", "open_high")
    data = checked_fields(data, "a range", ("kind", *numbers, *ends))
    low, step, bins, digits = (checked_integer(data[name], name) for name in numbers)
    return Range.from_integers(low, step, bins, digits, data["open_low"], data["open_high"])


def _kind(data: object, what: str, allowed: Sequence[str]) -> str:
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


def _threshold(data: object, what: str) -> int:
    if not isinstance(data, str) or not _DECIMAL.fullmatch(data):
        raise InvalidPlan(f"{what} must be a positive integer in decimal digits, as text, got {data!r}")
    return int(data)
