"""A report as it travels: one byte string and one JSON text, and nothing else is one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from deniable_device.bodies import Cursor, check, is_hexadecimal, is_number, little
from deniable_device.document import Json, write
from deniable_device.errors import Refused
from deniable_device.records import Parts

if TYPE_CHECKING:
    from deniable_device.plan import Plan

VERSION = 1
HEADER = 29
FIELDS = {"version", "plan", "round", "id", "report"}


class Report:
    """A report of a plan: its round, its id, the parts by attribute, and the known group, if there is one."""

    def __init__(self, plan: Plan, round: int, name: bytes, parts: Parts, group: int | None) -> None:
        self.plan, self.round, self.id, self.parts, self.group = plan, round, name, parts, group

    def body(self) -> bytes:
        """What is reported, without the header."""
        return pack(self.plan, self.parts, self.group)

    def to_bytes(self) -> bytes:
        """The report as bytes."""
        header = bytes([VERSION]) + bytes.fromhex(self.plan.id[:16]) + little(self.round, 4) + self.id
        return header + self.body()

    def to_json(self) -> str:
        """The report as a JSON text."""
        return write(
            {
                "version": VERSION,
                "plan": self.plan.id[:16],
                "round": self.round,
                "id": self.id.hex(),
                "report": self.readable(),
            }
        )

    def readable(self) -> dict[str, Json]:
        """What is reported of each attribute, by name."""
        report = {self.plan.attributes[number].name: part for number, part in self.parts.items()}
        return report if self.group is None else {**report, self.plan.group_name: self.group}


def pack(plan: Plan, parts: Parts, group: int | None) -> bytes:
    """The body of a report."""
    return (b"" if group is None else bytes([group])) + plan.record.pack(parts)


def from_bytes(plan: Plan, data: bytes) -> Report:
    """The report that bytes hold, or the reason for which they are refused."""
    check(len(data) >= HEADER, "malformed")
    check(data[0] == VERSION, "version")
    check(data[1:9].hex() == plan.id[:16], "plan")
    number = int.from_bytes(data[9:13], "little")
    check(1 <= number <= (plan.rounds or 1), "round")
    body, head = data[HEADER:], len(plan.known) > 0
    check(plan.record.shortest + head <= len(body) <= plan.record.longest + head, "size")
    cursor = Cursor(body)
    try:
        group = cursor.number(plan.groups, 1) if plan.known else None
        parts = plan.record.unpack(cursor)
    except Refused:
        raise Refused("form") from None
    check(cursor.place == len(body))
    return Report(plan, number, data[13:HEADER], parts, group)


def from_json(plan: Plan, text: str | bytes) -> Report:
    """The report that a JSON text holds, or the reason for which it is refused."""
    tree = parse(text)
    check(isinstance(tree, dict) and set(tree) == FIELDS, "malformed")
    check(is_number(tree["round"]), "malformed")
    check(type(tree["report"]) is dict, "malformed")
    check(is_hexadecimal(tree["plan"], 16) and is_hexadecimal(tree["id"], 32), "malformed")
    reported: dict[str, Json] = tree["report"]
    numbers = {attribute.name: number for number, attribute in enumerate(plan.attributes)}
    for name, part in reported.items():
        known = bool(plan.known) and name == plan.group_name
        if known or name not in numbers:
            check(is_number(part) or not known, "malformed")
        else:
            check(plan.record.is_typed(numbers[name], part), "malformed")
    check(is_number(tree["version"]) and tree["version"] == VERSION, "version")
    check(tree["plan"] == plan.id[:16], "plan")
    check(1 <= tree["round"] <= (plan.rounds or 1), "round")
    group = reported.get(plan.group_name) if plan.known else None
    check(not plan.known or group is not None, "size")
    parts = {numbers[name]: part for name, part in reported.items() if name in numbers}
    plan.record.check(parts)
    check(len(parts) + (group is not None) == len(reported))
    check(group is None or 0 <= group < plan.groups)
    report = Report(plan, tree["round"], bytes.fromhex(tree["id"]), parts, group)
    check(report.to_json() == (text if isinstance(text, str) else text.decode("utf-8")))
    return report


def parse(text: str | bytes) -> Json:
    """The JSON of a text in UTF-8, without constants that JSON does not have."""
    try:
        if isinstance(text, str):
            text.encode("utf-8")
        if isinstance(text, bytes):
            text = text.decode("utf-8")
        return json.loads(text, parse_constant=int, parse_int=read_number, parse_float=read_number)
    except (ValueError, RecursionError):
        raise Refused("malformed") from None


def read_number(digits: str) -> float:
    """A number; 1.0 is read as 1, so that its text is found not to be canonical."""
    value = float(digits)
    return int(value) if value == value // 1 else value
