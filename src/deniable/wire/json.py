"""Writes what a report of each kind of mechanism says as JSON, and reads it back strictly (spec/wire.md)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import singledispatch
from itertools import pairwise
from typing import Any, Literal, NoReturn

import numpy as np

from deniable.arrays import Array
from deniable.domain import Domain
from deniable.domain.number import Number
from deniable.errors import InvalidReport
from deniable.exact import PRIME
from deniable.mechanisms import (
    ChannelMechanism,
    Direct,
    Hadamard,
    Hashed,
    Linear,
    Mechanism,
    PackedSubset,
    Pooled,
    Subset,
    SubsetShape,
    Unary,
)
from deniable.metric import Averaged, Geometric, PlanarGeometric
from deniable.records.near import Tick
from deniable.rounds import BitFlip

Reason = Literal["malformed", "version", "plan", "round", "size", "form"]
"""Why a report is refused: unreadable; another version, plan or round; a wrong length; not canonical."""


class Refused(InvalidReport):
    """A report that cannot be counted, and why: a word for machines and a sentence for people."""

    def __init__(self, reason: Reason, text: str) -> None:
        super().__init__(text)
        self.reason = reason


def parse_json(raw: bytes) -> object:
    """JSON in UTF-8, or a refusal; a field twice, or 1.0 for 1, shows where it is written."""
    try:
        return _DECODER.decode(raw.decode())
    except Refused:
        raise
    except (ValueError, RecursionError):
        raise Refused("malformed", "this is not JSON in UTF-8") from None


def _read_float(text: str) -> int | float:
    """A number as every language reads it: 1.0 is 1, which is not how a report writes it."""
    number = float(text)
    return int(number) if number.is_integer() else number


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_float=_read_float, parse_constant=_refuse_constant)


@singledispatch
def part_to_json(part: Mechanism, column: Array) -> object:  # noqa: ARG001 it decides which one
    """What a report says, as JSON has it: a number, unless it is of one of these classes."""
    return int(column[0])


@part_to_json.register
def _(part: Unary | SubsetShape, column: Array) -> object:
    return np.flatnonzero(part.support(column)[0]).tolist()


@part_to_json.register
def _(_: Hashed, column: Array) -> object:
    return {name: int(column[name][0]) for name in ("a", "b", "bucket")}


@part_to_json.register
def _(_: Linear, column: Array) -> object:
    return {"bits": column["bits"][0].tobytes().hex(), "bucket": int(column["bucket"][0])}


@part_to_json.register
def _(part: BitFlip, column: Array) -> object:
    about = column["about"][0].tolist()
    support = part.support(column)[0]
    return {"about": about, "set": [value for value in about if support[value]]}


@singledispatch
def part_to_labels(part: Mechanism, column: Array, domain: Domain, labels: Sequence[str]) -> object:  # noqa: ARG001
    """What a report says, for people: the labels of the values that it points to."""
    return [labels[value] for value in np.flatnonzero(part.support(column)[0]).tolist()]


@part_to_labels.register
def _(part: BitFlip, column: Array, _: Domain, labels: Sequence[str]) -> object:
    said = {"about": column["about"][0].tolist(), "set": np.flatnonzero(part.support(column)[0]).tolist()}
    return {name: [labels[value] for value in values] for name, values in said.items()}


@part_to_labels.register
def _(part: Linear, column: Array, _: Domain, __: Sequence[str]) -> object:
    """The hash and the bucket: the values that it points to are too many to list."""
    return part_to_json(part, column)


@part_to_labels.register
def _(part: Averaged, column: Array, domain: Domain, _: Sequence[str]) -> object:
    """The number that it stands for, which may lie far beyond all answers."""
    assert isinstance(domain, Number)
    middle, half = (domain.low + domain.high) / 2, (domain.high - domain.low) / 2
    return float(f"{middle + half * float(part.of.numbers(column)[0]):.6g}")


Reader = Callable[[object, str], bytes]
"""The bytes of a part from what JSON says under a name, in canonical form or refused."""


def _index_reader(bound: int, width: int) -> Reader:
    return lambda said, name: read_integer(said, bound, name).to_bytes(width, "little")


def _output_reader(part: ChannelMechanism) -> Reader:
    return _index_reader(part.outputs, part.report_bytes)


def _bits_reader(k: int, size: int | None = None) -> Reader:
    return lambda said, name: _pack_bits(_read_values(said, k, name, size), k)


def _subset_reader(part: Subset) -> Reader:
    k, size, width = part.k, part.size, part.report_bytes // part.size
    return lambda said, name: b"".join(
        [member.to_bytes(width, "little") for member in _read_values(said, k, name, size)]
    )


def _hashed_reader(part: Hashed) -> Reader:
    g, width = part.g, part.report_bytes - 8

    def read(said: object, name: str) -> bytes:
        fields = _fields(said, ("a", "b", "bucket"), name)
        a, b = read_integer(fields["a"], PRIME, name), read_integer(fields["b"], PRIME, name)
        bucket = read_integer(fields["bucket"], g, name)
        if not a:
            raise Refused("form", f"{name!r} must have a from 1 on")
        return a.to_bytes(4, "little") + b.to_bytes(4, "little") + bucket.to_bytes(width, "little")

    return read


def _linear_reader(part: Linear) -> Reader:
    g, width = part.g, part.report_bytes - 1

    def read(said: object, name: str) -> bytes:
        fields = _fields(said, ("bits", "bucket"), name)
        bucket = read_integer(fields["bucket"], g, name).to_bytes(1, "little")
        raw = hexadecimal(fields["bits"], width, f"bits of {name!r}") + bucket
        if not part.canonical(np.frombuffer(raw, dtype=part.blank(0).dtype))[0]:
            raise Refused("form", f"{name!r}: {part.form}")
        return raw

    return read


def _bit_flip_reader(part: BitFlip) -> Reader:
    k, bits, width = part.k, part.bits, 1 if part.k <= 256 else 2

    def read(said: object, name: str) -> bytes:
        fields = _fields(said, ("about", "set"), name)
        about, values_set = _read_values(fields["about"], k, name, bits), _read_values(fields["set"], k, name)
        if not set(values_set) <= set(about):
            raise Refused("form", f"{name!r} can set only values that it is about")
        positions = b"".join([value.to_bytes(width, "little") for value in about])
        return positions + _pack_bits([about.index(value) for value in values_set], bits)

    return read


_READERS: Mapping[type[Mechanism], Callable[[Any], Reader]] = {
    Direct: lambda part: _index_reader(part.k, part.report_bytes),
    Hadamard: lambda part: _index_reader(1 << part.bits, part.report_bytes),
    Pooled: lambda part: _index_reader(part.pool.cells, part.report_bytes),
    Unary: lambda part: _bits_reader(part.k),
    Subset: _subset_reader,
    PackedSubset: lambda part: _bits_reader(part.k, part.size),
    Hashed: _hashed_reader,
    Linear: _linear_reader,
    BitFlip: _bit_flip_reader,
    Geometric: _output_reader,
    PlanarGeometric: _output_reader,
    Averaged: _output_reader,
    Tick: _output_reader,
}


def reader(part: Mechanism) -> Reader:
    """A reader of one part, in plain Python (fastest for one report), with all sizes looked up before."""
    return _READERS[type(part)](part)


def _pack_bits(positions: Sequence[int], size: int) -> bytes:
    bits = bytearray((size + 7) // 8)
    for position in positions:
        bits[position >> 3] |= 1 << (position & 7)
    return bytes(bits)


def _read_values(said: object, k: int, name: str, count: int | None = None) -> list[int]:
    if not isinstance(said, list):
        raise Refused("malformed", f"{name!r} must be a list of values")
    values = [read_integer(value, k, name) for value in said]
    if count is not None and len(values) != count:
        raise Refused("size", f"{name!r} must have {count} values, got {len(values)}")
    if any(a >= b for a, b in pairwise(values)):
        raise Refused("form", f"the values of {name!r} must be in ascending order, none of them twice")
    return values


def read_integer(said: object, bound: int, name: str) -> int:
    """An integer from 0 to bound - 1."""
    if type(said) is not int:
        raise Refused("malformed", f"{name!r} must have integers from 0 to {bound - 1}")
    if not 0 <= said < bound:
        raise Refused("form", f"{name!r} must have integers from 0 to {bound - 1}, got {said}")
    return said


def _fields(said: object, names: Sequence[str], name: str) -> Mapping[str, Any]:
    if not isinstance(said, dict) or set(said) != set(names):
        raise Refused("malformed", f"{name!r} must be an object with the fields {', '.join(names)}")
    return said


def hexadecimal(said: object, size: int, what: str) -> bytes:
    """Bytes of this number from hexadecimal digits, which have one canonical form."""
    raw = _from_digits(said)
    if len(raw) != size or raw.hex() != said:
        raise Refused("malformed", f"{what} must be {2 * size} digits of lower-case hexadecimal")
    return raw


def _from_digits(said: object) -> bytes:
    try:
        return bytes.fromhex(said) if isinstance(said, str) else b""
    except ValueError:
        return b""
