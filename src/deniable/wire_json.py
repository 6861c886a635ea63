"""The JSON form of reports: what each kind of mechanism says, and strict ways back to its bytes (spec/wire.md, section 2)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal, NoReturn

import numpy as np

from deniable.bitflip import BitFlip
from deniable.errors import InvalidReport
from deniable.exact import PRIME
from deniable.mechanism import Array
from deniable.metric import Averaged, Geometric, PlanarGeometric
from deniable.repeat import HashedMemoized, Memoized
from deniable.shape import Encoder
from deniable.shapes import Direct, Hadamard, Hashed, Subset, Unary

Reason = Literal["malformed", "version", "plan", "round", "size", "form"]
"""Why a report is refused: it cannot be read; made by another version, for another plan or another round; too long or
too short for its plan; not in the one form it has."""


class Refused(InvalidReport):
    """A report that cannot be counted, and why: a word for machines beside the sentence for people."""

    def __init__(self, reason: Reason, text: str) -> None:
        super().__init__(text)
        self.reason = reason


def parsed(raw: bytes) -> object:
    """JSON without floats and without repeated keys, or a refusal."""
    try:
        return _DECODER.decode(raw.decode())
    except Refused:
        raise
    except (ValueError, RecursionError):
        raise Refused("malformed", "this is not JSON in UTF-8") from None


def _refuse_float(number: str) -> NoReturn:
    raise Refused("malformed", f"a report has integers only, got {number[:20]}")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Refused("malformed", "the report has the same field twice")
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_distinct, parse_float=_refuse_float, parse_constant=_refuse_float)


def plain(part: Encoder) -> Encoder:
    """The mechanism of one round with the same reports."""
    if isinstance(part, Memoized):
        return part.second
    return part.like if isinstance(part, HashedMemoized) else part


def part_to_json(part: Encoder, column: Array) -> object:
    """What a report says, as JSON has it."""
    if isinstance(part, Unary):
        return np.flatnonzero(part.support(column)[0]).tolist()
    if isinstance(part, Subset):
        return column[0].tolist()
    if isinstance(part, Hashed):
        return {name: int(column[name][0]) for name in ("a", "b", "bucket")}
    if isinstance(part, BitFlip):
        about = column["about"][0].tolist()
        held = part.support(column)[0]
        return {"about": about, "set": [value for value in about if held[value]]}
    return int(column[0])


def _direct_bytes(part: Direct, said: object, name: str) -> bytes:
    return _integer(said, part.k, name).to_bytes(part.report_bytes, "little")


def _hadamard_bytes(part: Hadamard, said: object, name: str) -> bytes:
    return _integer(said, 1 << part.bits, name).to_bytes(part.report_bytes, "little")


def _output_bytes(part: Geometric | PlanarGeometric | Averaged, said: object, name: str) -> bytes:
    return _integer(said, part.outputs, name).to_bytes(part.report_bytes, "little")


def _unary_bytes(part: Unary, said: object, name: str) -> bytes:
    return _packed(_ascending(said, part.k, name), part.k)


def _subset_bytes(part: Subset, said: object, name: str) -> bytes:
    members = _ascending(said, part.k, name, part.size)
    width = part.report_bytes // part.size
    return b"".join([member.to_bytes(width, "little") for member in members])


def _hashed_bytes(part: Hashed, said: object, name: str) -> bytes:
    fields = _fields(said, ("a", "b", "bucket"), name)
    a, b, bucket = (
        _integer(fields["a"], PRIME, name),
        _integer(fields["b"], PRIME, name),
        _integer(fields["bucket"], part.g, name),
    )
    if not a:
        raise Refused("form", f"{name!r} must have a from 1 on")
    return a.to_bytes(4, "little") + b.to_bytes(4, "little") + bucket.to_bytes(part.report_bytes - 8, "little")


def _bit_flip_bytes(part: BitFlip, said: object, name: str) -> bytes:
    fields = _fields(said, ("about", "set"), name)
    about, held = _ascending(fields["about"], part.k, name, part.bits), _ascending(fields["set"], part.k, name)
    if not set(held) <= set(about):
        raise Refused("size", f"{name!r} can set only values that it is about")
    asked = b"".join([value.to_bytes(1 if part.k <= 256 else 2, "little") for value in about])
    return asked + _packed([about.index(value) for value in held], part.bits)


READERS: Mapping[type[Encoder], Callable[[Any, object, str], bytes]] = {
    Direct: _direct_bytes,
    Hadamard: _hadamard_bytes,
    Unary: _unary_bytes,
    Subset: _subset_bytes,
    Hashed: _hashed_bytes,
    BitFlip: _bit_flip_bytes,
    Geometric: _output_bytes,
    PlanarGeometric: _output_bytes,
    Averaged: _output_bytes,
}
"""The bytes of a part from JSON, in canonical form or refused: in plain Python, since for one report that is fastest."""


def _packed(places: Sequence[int], size: int) -> bytes:
    bits = bytearray((size + 7) // 8)
    for place in places:
        bits[place >> 3] |= 1 << (place & 7)
    return bytes(bits)


def _ascending(said: object, k: int, name: str, count: int | None = None) -> list[int]:
    if not isinstance(said, list) or len(said) > k:
        raise Refused("malformed", f"{name!r} must be a list of at most {k} values")
    values = [_integer(value, k, name) for value in said]
    if count is not None and len(values) != count:
        raise Refused("size", f"{name!r} must have {count} values, got {len(values)}")
    if any(a >= b for a, b in pairwise(values)):
        raise Refused("form", f"the values of {name!r} must be in ascending order, none of them twice")
    return values


def _integer(said: object, bound: int, name: str) -> int:
    if type(said) is not int or not 0 <= said < bound:
        raise Refused("malformed", f"{name!r} must have integers from 0 to {bound - 1}")
    return said


def _fields(said: object, wanted: Sequence[str], name: str) -> Mapping[str, Any]:
    if not isinstance(said, dict) or set(said) != set(wanted):
        raise Refused("malformed", f"{name!r} must be an object with the fields {', '.join(wanted)}")
    return said


def hexadecimal(said: object, size: int) -> bytes:
    """So many bytes, written in the one way there is."""
    if not isinstance(said, str) or len(said) != 2 * size or not set(said) <= set("0123456789abcdef"):
        raise Refused("malformed", f"plan and id are written in lower-case hexadecimal, {2 * size} digits here")
    return bytes.fromhex(said)
