"""Writes and reads a report as bytes and as JSON; any other form is refused (spec/wire.md)."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple, final

import numpy as np
import numpy.typing as npt

from deniable.plan import canonical
from deniable.plan.document import PlanDocument
from deniable.plan.known_groups import MOST_GROUPS
from deniable.randomness.words import PSEUDONYM
from deniable.reports import Reports
from deniable.wire.json import (
    Refused,
    hexadecimal,
    parse_json,
    part_to_json,
    part_to_labels,
    read_integer,
    reader,
)

VERSION = 1
PREFIX = 8
"""How many bytes of a plan's id a report names."""

_HEADER = struct.Struct(f"<B{PREFIX}sI16s")
_ID = 13  # where the id begins in a header
_LENGTH = struct.Struct("<I")
_FIELDS = ("id", "plan", "report", "round", "version")
_PATTERNS = 1024  # sets of reported attributes that are remembered as right or wrong


@final
class Report(NamedTuple):
    """A report as it travels. Its id is random: a report that is sent twice is counted once."""

    plan: bytes
    """The first bytes of the plan's id."""
    round: int
    id: bytes
    body: bytes

    def to_bytes(self) -> bytes:
        return _HEADER.pack(VERSION, self.plan, self.round, self.id) + self.body

    @staticmethod
    def from_bytes(raw: bytes) -> Report:
        """Read a header; the plan reads what follows it."""
        if len(raw) < _HEADER.size:
            raise Refused("malformed", f"a report has at least {_HEADER.size} bytes, got {len(raw)}")
        version, plan, number, name = _HEADER.unpack_from(raw)
        if version != VERSION:
            raise Refused(
                "version", f"this is a report of version {version}, and only version {VERSION} is known here"
            )
        return Report(plan, number, name, bytes(raw[_HEADER.size :]))


def to_batch(reports: Iterable[Report]) -> bytes:
    """Several reports in one message, each preceded by its length."""
    return b"".join(_LENGTH.pack(len(raw)) + raw for raw in (report.to_bytes() for report in reports))


def from_batch(raw: bytes) -> Iterator[bytes]:
    """The bytes of each report of a batch."""
    position = 0
    while position < len(raw):
        if position + _LENGTH.size > len(raw):
            raise Refused("malformed", "the batch ends in the middle of a report's length")
        (length,) = _LENGTH.unpack_from(raw, position)
        position += _LENGTH.size
        if position + length > len(raw):
            raise Refused(
                "malformed",
                f"a report of the batch has {length} bytes, but only {len(raw) - position} are left",
            )
        yield raw[position : position + length]
        position += length


def alike(raw: bytes, most: int) -> tuple[Report, list[bytes], list[bytes]] | None:
    """The ids and bodies of reports with the length, plan and round of the first; at most a given number."""
    length = _LENGTH.unpack_from(raw)[0] if len(raw) >= _LENGTH.size else 0
    step = _LENGTH.size + length
    if length < _HEADER.size or len(raw) % step or len(raw) // step > most:
        return None
    heads = np.frombuffer(raw, dtype=np.uint8).reshape(-1, step)[:, : _LENGTH.size + _ID]
    if (heads != heads[0]).any():
        return None
    start, end = _LENGTH.size + _ID, _LENGTH.size + _HEADER.size
    positions = range(0, len(raw), step)
    ids, bodies = [raw[i + start : i + end] for i in positions], [raw[i + end : i + step] for i in positions]
    return Report.from_bytes(raw[_LENGTH.size : step]), ids, bodies


@final
class Wire:
    """How the reports of one plan are written and read."""

    def __init__(self, document: PlanDocument) -> None:
        self.document = document
        self.prefix = bytes.fromhex(document.id)[:PREFIX]
        self.rounds = document.rounds or 1
        self._names = document.names
        self._parts = document.parts
        self._plain = [part.one_round for part in self._parts]
        self._readers = dict(zip(document.names, map(reader, self._plain), strict=True))
        self.known = document.known
        self._named = 0 if self.known is None else 1  # bytes that name the known group
        lengths = document.mechanism.lengths
        self.lengths = range(lengths.start + self._named, lengths.stop + self._named)
        self._can_hold = lru_cache(_PATTERNS)(self._judge)

    def check(self, report: Report) -> Report:
        """Refuse a report for another plan, or of a round or length that the plan does not have."""
        if report.plan != self.prefix:
            raise Refused(
                "plan",
                f"the report was made for plan {report.plan.hex()}…, this plan is {self.prefix.hex()}…",
            )
        if not 1 <= report.round <= self.rounds:
            raise Refused(
                "round",
                f"the report was made for round {report.round}; the plan has rounds 1 to {self.rounds}",
            )
        if len(report.body) not in self.lengths:
            allowed = (
                f"{self.lengths[0]}" if len(self.lengths) == 1 else f"{self.lengths[0]} to {self.lengths[-1]}"
            )
            raise Refused(
                "size", f"a report of this plan has {allowed} bytes after its header, got {len(report.body)}"
            )
        return report

    def bodies(self, reports: Reports) -> list[bytes]:
        """The bytes of each record's report, without a header."""
        records = reports.records
        bodies = self.document.mechanism.to_bodies(records)
        if self.known is None:
            return bodies
        if records.groups is None:
            raise Refused("form", f"these reports do not say which {self.known.name!r} each is of")
        return [bytes((group,)) + body for group, body in zip(records.groups.tolist(), bodies, strict=True)]

    def reports(
        self, bodies: Sequence[bytes], number: int | None = None, ids: Sequence[bytes] | None = None
    ) -> Reports:
        """The reports of a round from the bodies that `bodies` made; one that is not canonical is refused.

        In a linked plan, their ids say whose they are.
        """
        reports, sound = self.sound(bodies, number)
        if not sound.all():
            raise Refused(
                "form",
                f"report {int(np.argmin(sound))} is not in its canonical form; it was changed, or not made "
                "here",
            )
        if ids is None or not self.document.linked:
            return reports
        return replace(reports, people=np.frombuffer(b"".join(ids), PSEUDONYM))

    def sound(
        self, bodies: Sequence[bytes], number: int | None = None
    ) -> tuple[Reports, npt.NDArray[np.bool_]]:
        """The reports of the bodies in canonical form, and which bodies these are."""
        number = 1 if self.rounds == 1 else number
        if self.known is None:
            records, sound = self.document.mechanism.from_bodies(bodies)
            return Reports(self.document.id, records, number), sound
        groups = np.fromiter((body[0] if body else MOST_GROUPS for body in bodies), np.int64, len(bodies))
        in_group = groups < self.known.size
        records, sound = self.document.mechanism.from_bodies(
            [body[1:] for body, good in zip(bodies, in_group.tolist(), strict=True) if good]
        )
        in_group[in_group] = sound
        return Reports(self.document.id, replace(records, groups=groups[in_group]), number), in_group

    def to_json(self, report: Report) -> bytes:
        records = self.reports([report.body]).records
        said = {
            name: part_to_json(part, column)
            for name, part, column in zip(self._names, self._plain, records.columns, strict=True)
            if len(column)
        }
        if self.known is not None:
            said[self.known.name] = report.body[0]
        header = {"id": report.id.hex(), "plan": report.plan.hex(), "round": report.round, "version": VERSION}
        return canonical(header | {"report": said})

    def to_labels(self, report: Report) -> dict[str, object]:
        """What a report says of each attribute that it holds, in the labels of the values it points to."""
        records = self.reports([report.body]).records
        known = {} if self.known is None else {self.known.name: self.known.labels[report.body[0]]}
        return known | {
            attribute.name: part_to_labels(part, column, attribute.domain, self.document.labels_of(attribute))
            for attribute, part, column in zip(
                self.document.attributes, self._plain, records.columns, strict=True
            )
            if len(column)
        }

    def from_json(self, raw: bytes) -> Report:
        """A report from the text that `to_json` made; any other text of the same content is refused."""
        return self.from_dict(parse_json(raw), raw)

    def from_dict(self, data: object, raw: bytes | None = None) -> Report:
        """A report from the object that its JSON text holds; with that text, it must be the canonical one."""
        if not isinstance(data, dict) or set(data) != set(_FIELDS):
            raise Refused("malformed", f"a report is an object with the fields {', '.join(_FIELDS)}")
        if type(data["version"]) is not int or data["version"] != VERSION:
            raise Refused(
                "version",
                f"this is a report of version {data['version']!r}, and only version {VERSION} is known here",
            )
        number = data["round"]
        if type(number) is not int:
            raise Refused("malformed", f"round must be a whole number, got {number!r}")
        header = Report(
            hexadecimal(data["plan"], PREFIX, "plan"), number, hexadecimal(data["id"], 16, "id"), b""
        )
        if header.plan == self.prefix:  # another plan's answers cannot be read, and are refused for that
            header = Report(header.plan, header.round, header.id, self._body(data["report"]))
        report = self.check(header)
        if raw is not None and canonical(data) != raw:
            raise Refused("form", "the report is not in its canonical form (sorted keys, no spaces)")
        return report

    def _body(self, said: object) -> bytes:
        if not isinstance(said, dict):
            raise Refused(
                "malformed", "report must be an object with an entry for each attribute that is reported"
            )
        group = b""
        if self.known is not None:
            said = dict(said)
            name = self.known.name
            if name not in said:
                raise Refused("size", f"a report of this plan names its group, {name!r}")
            group = bytes((read_integer(said.pop(name), self.known.size, name),))
        reported = [name for name in self._names if name in said]
        if len(reported) < len(said):
            raise Refused(
                "form", f"{next(iter(set(said) - set(self._names)))!r} is not an attribute of this plan"
            )
        if not self._can_hold(tuple([name in said for name in self._names])):
            raise Refused(
                "size", f"no report of this plan holds {' and '.join(map(repr, reported)) or 'nothing'} alone"
            )
        pieces = [self._readers[name](said[name], name) if name in said else None for name in self._names]
        for member, first, _ in self.document.mechanism.members:
            yes = pieces[first : first + member.d].count(b"\0")
            if member.marked is not None and yes not in member.marked:
                raise Refused("form", f"a report of this plan is in another form: {member.form}")
        return group + self.document.mechanism.join_body(pieces)

    def _judge(self, present: tuple[bool, ...]) -> bool:
        """Whether a report can hold just the attributes that are true."""
        return bool(self.document.mechanism.can_hold(np.array(present)[:, None])[0])
