"""A report as it travels: one byte string and one JSON text; whatever is not in that form is refused (spec/wire.md)."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, Literal, NoReturn, final

import numpy as np
import numpy.typing as npt

from deniable.bitflip import BitFlip
from deniable.errors import InvalidReport
from deniable.law import Integers
from deniable.mechanism import Array
from deniable.notation import canonical
from deniable.plan import Plan, Reports
from deniable.repeat import HashedMemoized, Memoized
from deniable.shape import Encoder
from deniable.shapes import Hashed, Subset, Unary
from deniable.share import Records, Sample

VERSION = 1
PREFIX = 8
"""How many bytes of a plan's id a report names."""

Reason = Literal["malformed", "version", "plan", "round", "size", "form"]
"""Why a report is refused: it cannot be read; made by another version, for another plan or another round; too long or
too short for its plan; not in the one form it has."""

_HEADER = struct.Struct(f"<B{PREFIX}sI16s")
_LENGTH = struct.Struct("<I")
_FIELDS = ("id", "plan", "report", "round", "version")


class Refused(InvalidReport):
    """A report that cannot be counted, and why: a word for machines beside the sentence for people."""

    def __init__(self, reason: Reason, text: str) -> None:
        super().__init__(text)
        self.reason = reason


@final
@dataclass(frozen=True)
class Report:
    """A report as it travels. Its id is random: who sends a report twice is counted once."""

    plan: bytes
    """The first bytes of the plan's id."""
    round: int
    id: bytes
    body: bytes

    def to_bytes(self) -> bytes:
        """The canonical bytes."""
        return _HEADER.pack(VERSION, self.plan, self.round, self.id) + self.body

    @staticmethod
    def from_bytes(raw: bytes) -> Report:
        """Read a header; what follows it is for the plan to read."""
        if len(raw) < _HEADER.size:
            raise Refused("malformed", f"a report has at least {_HEADER.size} bytes, got {len(raw)}")
        version, plan, number, name = _HEADER.unpack_from(raw)
        if version != VERSION:
            raise Refused("version", f"this is a report of version {version}, and only version {VERSION} is known here")
        return Report(plan, number, name, bytes(raw[_HEADER.size :]))


def to_batch(reports: Iterable[Report]) -> bytes:
    """Several reports in one message, each preceded by its length."""
    return b"".join(_LENGTH.pack(len(raw)) + raw for raw in (report.to_bytes() for report in reports))


def from_batch(raw: bytes) -> Iterator[bytes]:
    """The bytes of each report of a batch."""
    place = 0
    while place < len(raw):
        if place + _LENGTH.size > len(raw):
            raise Refused("malformed", "the batch ends in the middle of a report's length")
        (length,) = _LENGTH.unpack_from(raw, place)
        place += _LENGTH.size
        if place + length > len(raw):
            raise Refused("malformed", f"a report of the batch has {length} bytes, but only {len(raw) - place} are left")
        yield raw[place : place + length]
        place += length


@final
class Wire:
    """How the reports of one plan are written and read."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.prefix = bytes.fromhex(plan.id)[:PREFIX]
        self.rounds = plan.content.rounds or 1
        self._parts = plan.content.parts
        self._drawn = plan.share.drawn if isinstance(plan.share, Sample) else None
        self._index = np.dtype("<u1" if len(self._parts) <= 256 else "<u2")

    @cached_property
    def lengths(self) -> range:
        """How long a body can be; where an attribute is drawn, some lengths in between are none."""
        sizes = sorted(part.report_bytes for part in self._parts)
        if self._drawn is None:
            return range(sum(sizes), sum(sizes) + 1)
        named = self._drawn * self._index.itemsize
        return range(named + sum(sizes[: self._drawn]), named + sum(sizes[-self._drawn :]) + 1)

    def check(self, report: Report) -> Report:
        """Refuse a report for another plan, for a round that the plan does not have, or of a length that it cannot have."""
        if report.plan != self.prefix:
            raise Refused("plan", f"the report was made for plan {report.plan.hex()}…, this plan is {self.prefix.hex()}…")
        if not 1 <= report.round <= self.rounds:
            raise Refused("round", f"the report was made for round {report.round}; the plan has rounds 1 to {self.rounds}")
        if len(report.body) not in self.lengths:
            allowed = f"{self.lengths[0]}" if len(self.lengths) == 1 else f"{self.lengths[0]} to {self.lengths[-1]}"
            raise Refused("size", f"a report of this plan has {allowed} bytes after its header, got {len(report.body)}")
        return report

    def bodies(self, reports: Reports) -> list[bytes]:
        """The bytes of each record's report, without a header."""
        records = reports.records
        if self._drawn is None:
            joined = np.empty(records.n, dtype=self._layout)
            for name, column in zip(self._names, records.columns, strict=True):
                joined[name] = column
            return [row.tobytes() for row in joined]
        assert records.reporters is not None
        names: list[list[bytes]] = [[] for _ in range(records.n)]
        said: list[list[bytes]] = [[] for _ in range(records.n)]
        for j, (who, column) in enumerate(zip(records.reporters, records.columns, strict=True)):
            number = np.array(j, dtype=self._index).tobytes()
            for i, row in zip(who.tolist(), column, strict=True):
                names[i].append(number)
                said[i].append(row.tobytes())
        return [b"".join(name + part) for name, part in zip(names, said, strict=True)]

    def reports(self, bodies: Sequence[bytes]) -> Reports:
        """Back from `bodies`; a body that is not canonical is refused."""
        found, sound = self.sound(bodies)
        if not sound.all():
            raise Refused(
                "form", f"report {int(np.argmin(sound))} is not in its canonical form; it was changed, or not made here"
            )
        return found

    def sound(self, bodies: Sequence[bytes]) -> tuple[Reports, npt.NDArray[np.bool_]]:
        """The reports of those bodies that are in canonical form, and which they are."""
        records, sound = self._read(bodies)
        for j, (part, column) in enumerate(zip(self._parts, records.columns, strict=True)):
            who = np.arange(records.n) if records.reporters is None else records.reporters[j]
            sound[who[~part.canonical(column)]] = False
        if not sound.all():
            records, _ = self._read([body for body, good in zip(bodies, sound.tolist(), strict=True) if good])
        return Reports(self.plan.id, records), sound

    def _read(self, bodies: Sequence[bytes]) -> tuple[Records, npt.NDArray[np.bool_]]:
        """Cut bodies into parts; a body that cannot be cut is not sound and is left out of the columns."""
        if self._drawn is None:
            size, sound = self._layout.itemsize, np.ones(len(bodies), dtype=bool)
            if any(len(body) != size for body in bodies):
                sound[:] = [len(body) == size for body in bodies]
                bodies = [body if good else bytes(size) for body, good in zip(bodies, sound.tolist(), strict=True)]
            joined = np.frombuffer(b"".join(bodies), dtype=self._layout)
            return Records(len(bodies), tuple(np.ascontiguousarray(joined[name]) for name in self._names)), sound
        return self._read_sample(bodies, self._drawn)

    def _read_sample(self, bodies: Sequence[bytes], drawn: int) -> tuple[Records, npt.NDArray[np.bool_]]:
        """By the attributes that they name: there are few, and the bodies that name the same are cut at once."""
        named_size, sizes = drawn * self._index.itemsize, [part.report_bytes for part in self._parts]
        sound = np.zeros(len(bodies), dtype=bool)
        groups: dict[bytes, list[int]] = {}
        for i, body in enumerate(bodies):
            groups.setdefault(body[:named_size], []).append(i)
        who: list[list[Integers]] = [[np.zeros(0, dtype=np.int64)] for _ in sizes]
        said: list[list[Array]] = [[np.zeros((0, size), dtype=np.uint8)] for size in sizes]
        for head, places in groups.items():
            named = np.frombuffer(head, dtype=self._index).tolist() if len(head) == named_size else []
            if not named or named[-1] >= len(sizes) or any(a >= b for a, b in pairwise(named)):
                continue
            ends = list(accumulate((sizes[j] for j in named), initial=named_size))
            good = [i for i in places if len(bodies[i]) == ends[-1]]
            sound[good] = True
            table = np.frombuffer(b"".join([bodies[i] for i in good]), dtype=np.uint8).reshape(len(good), ends[-1])
            for j, (start, end) in zip(named, pairwise(ends), strict=True):
                who[j].append(np.array(good, dtype=np.int64))
                said[j].append(table[:, start:end])
        reporters, columns = [], []
        for part, numbers, tables in zip(self._parts, who, said, strict=True):
            joined = np.concatenate(numbers)
            order = np.argsort(joined)
            reporters.append(joined[order])
            columns.append(_column(part, np.concatenate(tables)[order].tobytes(), len(joined)))
        return Records(len(bodies), tuple(columns), tuple(reporters)), sound

    def to_json(self, report: Report) -> bytes:
        """The canonical JSON text of a report."""
        records = self.reports([report.body]).records
        said = {
            name: _part_to_json(part, column)
            for name, part, column in zip(self.plan.names, self._parts, records.columns, strict=True)
            if len(column)
        }
        header = {"id": report.id.hex(), "plan": report.plan.hex(), "round": report.round, "version": VERSION}
        return canonical(header | {"report": said})

    def from_json(self, raw: bytes) -> Report:
        """Back from `to_json`; a text that says the same otherwise is refused."""
        return self.from_dict(parsed(raw), raw)

    def from_dict(self, data: object, raw: bytes | None = None) -> Report:
        """A report from the object that its JSON text holds; with that text, it must be the canonical one."""
        if not isinstance(data, dict) or set(data) != set(_FIELDS):
            raise Refused("malformed", f"a report is an object with the fields {', '.join(_FIELDS)}")
        if type(data["version"]) is not int or data["version"] != VERSION:
            raise Refused(
                "version", f"this is a report of version {data['version']!r}, and only version {VERSION} is known here"
            )
        number = data["round"]
        if type(number) is not int or not 0 <= number < 1 << 32:
            raise Refused("malformed", f"round must be a number, got {number!r}")
        header = Report(_hexadecimal(data["plan"], PREFIX), number, _hexadecimal(data["id"], 16), b"")
        if header.plan == self.prefix:  # another plan's answers cannot be read, and are refused for that
            header = Report(header.plan, header.round, header.id, self._body(data["report"]))
        report = self.check(header)
        if raw is not None and self.to_json(report) != raw:
            raise Refused("form", "the report is not in its canonical form (sorted keys, no spaces)")
        return report

    def _body(self, said: object) -> bytes:
        if not isinstance(said, dict):
            raise Refused("malformed", "report must be an object with an entry for each attribute that is reported")
        names = self.plan.names
        for name in said:
            if name not in names:
                raise Refused("malformed", f"{name!r} is not an attribute of this plan")
        if len(said) != (len(names) if self._drawn is None else self._drawn):
            raise Refused("size", f"a report of this plan has another number of attributes, got {len(said)}")
        named = [j for j, name in enumerate(names) if name in said]
        index = np.array(named, dtype=self._index).tobytes() if self._drawn is not None else b""
        return index + b"".join(_part_from_json(self._parts[j], said[names[j]], names[j]) for j in named)

    @cached_property
    def _names(self) -> list[str]:
        return [f"part {j}" for j in range(len(self._parts))]

    @cached_property
    def _layout(self) -> np.dtype[np.void]:
        """One report's parts, one after the other."""
        blanks = [part.blank(0) for part in self._parts]
        return np.dtype([(name, like.dtype, like.shape[1:]) for name, like in zip(self._names, blanks, strict=True)])


def parsed(raw: bytes) -> object:
    """JSON without floats and without repeated keys, or a refusal."""

    def refuse(number: str) -> NoReturn:
        raise Refused("malformed", f"a report has integers only, got {number[:20]}")

    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise Refused("malformed", "the report has the same field twice")
        return found

    try:
        return json.loads(raw.decode(), object_pairs_hook=distinct, parse_float=refuse, parse_constant=refuse)
    except Refused:
        raise
    except (ValueError, RecursionError):
        raise Refused("malformed", "this is not JSON in UTF-8") from None


def _plain(part: Encoder) -> Encoder:
    """The mechanism of one round with the same reports."""
    if isinstance(part, Memoized):
        return part.second
    return part.like if isinstance(part, HashedMemoized) else part


def _column(part: Encoder, raw: bytes, n: int) -> Array:
    like = part.blank(0)
    return np.frombuffer(raw, dtype=like.dtype).reshape(n, *like.shape[1:])


def _part_to_json(part: Encoder, column: Array) -> object:
    plain = _plain(part)
    if isinstance(plain, Unary):
        return np.flatnonzero(plain.support(column)[0]).tolist()
    if isinstance(plain, Subset):
        return column[0].tolist()
    if isinstance(plain, Hashed):
        return {name: int(column[name][0]) for name in ("a", "b", "bucket")}
    if isinstance(plain, BitFlip):
        about = column["about"][0].tolist()
        held = plain.support(column)[0]
        return {"about": about, "set": [value for value in about if held[value]]}
    return int(column[0])


def _part_from_json(part: Encoder, said: object, name: str) -> bytes:
    """The bytes of a part; whether they are canonical is seen when they are read."""
    plain, column = _plain(part), part.blank(1)
    if isinstance(plain, Unary):
        column[:] = _packed(_values(said, plain.k, name), plain.k)
    elif isinstance(plain, Subset):
        members = _values(said, plain.k, name)
        if len(members) != plain.size:
            raise Refused("size", f"{name!r} must have {plain.size} values, got {len(members)}")
        column[:] = members
    elif isinstance(plain, Hashed):
        fields = _fields(said, ("a", "b", "bucket"), name)
        for field in ("a", "b", "bucket"):
            column[field] = _integer(fields[field], np.iinfo(column[field].dtype).max + 1, name)
    elif isinstance(plain, BitFlip):
        fields = _fields(said, ("about", "set"), name)
        about, held = _values(fields["about"], plain.k, name), _values(fields["set"], plain.k, name)
        if len(about) != plain.bits or not set(held) <= set(about):
            raise Refused("size", f"{name!r} must be about {plain.bits} values and set some of them")
        column["about"], column["bits"] = about, _packed([about.index(value) for value in held], plain.bits)
    else:
        column[0] = _integer(said, np.iinfo(column.dtype).max + 1, name)
    return column.tobytes()


def _packed(places: Sequence[int], size: int) -> npt.NDArray[np.uint8]:
    bits = np.zeros(size, dtype=np.uint8)
    bits[list(places)] = 1
    return np.packbits(bits, bitorder="little")


def _values(said: object, k: int, name: str) -> list[int]:
    if not isinstance(said, list) or len(said) > k:
        raise Refused("malformed", f"{name!r} must be a list of at most {k} values")
    return [_integer(value, k, name) for value in said]


def _integer(said: object, bound: int, name: str) -> int:
    if type(said) is not int or not 0 <= said < bound:
        raise Refused("malformed", f"{name!r} must have integers from 0 to {bound - 1}")
    return said


def _fields(said: object, wanted: Sequence[str], name: str) -> Mapping[str, Any]:
    if not isinstance(said, dict) or set(said) != set(wanted):
        raise Refused("malformed", f"{name!r} must be an object with the fields {', '.join(wanted)}")
    return said


def _hexadecimal(said: object, size: int) -> bytes:
    if not isinstance(said, str) or len(said) != 2 * size or not set(said) <= set("0123456789abcdef"):
        raise Refused("malformed", f"plan and id are written in lower-case hexadecimal, {2 * size} digits here")
    return bytes.fromhex(said)
