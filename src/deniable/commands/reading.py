"""Reads studies, plans, answers and reports, and says in plain words what is wrong with a file, and where."""

from __future__ import annotations

import json
import tomllib
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deniable.errors import DeniableError, InvalidParameter, InvalidReport, InvalidValue

if TYPE_CHECKING:
    from deniable.document import Attribute
    from deniable.law import Integers
    from deniable.plan import Plan, Tallies
    from deniable.table import Show

_ABSENT = ("na", "n/a", "none", "null", "-", "?")  # how people write that there is no answer
_WHERE_PLANS_COME_FROM = "a plan is the JSON file that deniable plan writes"


def planned(path: Path, people: int) -> Plan:
    """The plan of a study in a file."""
    from deniable.study import Study

    try:
        study = Study.read(path)
    except InvalidParameter as problem:
        kind = _kind(path)
        if kind and kind != "a study":
            raise DeniableError(f"{path.name} is {kind}, not a study; deniable init writes an example of one") from None
        raise DeniableError(str(problem)) from None
    try:
        return study.plan(people)
    except InvalidParameter as problem:
        raise DeniableError(str(problem)) from None


def read_plan(path: Path) -> Plan:
    """The plan in a file, or what is there instead."""
    from deniable.plan import InvalidPlan, Plan

    try:
        return Plan.read(path)
    except InvalidPlan as problem:
        kind = _kind(path)
        if kind == "a study":
            made = f"deniable plan {path} --people 50000 -o plan.json"
            raise InvalidPlan(f"{path.name} is a study, not a plan; make a plan of it with: {made}") from None
        if kind != "a plan":
            raise InvalidPlan(f"{path.name} is {kind or 'no JSON'}, not a plan; {_WHERE_PLANS_COME_FROM}") from None
        raise InvalidPlan(f"{path.name} is refused: {problem}") from None


def _kind(path: Path) -> str:
    """What a file seems to be, or nothing."""
    content = path.read_bytes()
    if content.startswith(b"PAR1"):
        return "a Parquet file"
    if path.suffix.lower() == ".csv":
        return "a CSV file"
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return ""
    data: Any = None
    for read in (json.loads, tomllib.loads):
        try:
            data = read(text)
            break
        except (ValueError, RecursionError):
            continue
    if isinstance(data, dict) and "version" in data:
        return "a plan"
    if read is tomllib.loads and isinstance(data, dict):
        return "a study" if "attributes" in data else "a TOML file"
    return "" if data is None else "another JSON file"


def read_codes(plan: Plan, path: Path, show: Show) -> Iterator[Integers]:
    """The answers of a file as integers, in blocks; what is refused is named by its line and column."""
    from deniable.table import place_of, read_answers

    done = 0
    for block in read_answers(path, plan.labels, show):
        try:
            codes = plan.encode(block)
        except InvalidValue:
            attribute, row = _first_refused(plan, block)
            answer = block[attribute.name][row : row + 1]
            where = f"{path.name}, {place_of(path, done + row)}, column {attribute.name!r}"
            raise InvalidValue(f"{where}: {_reason(attribute, answer)}") from None
        done += codes.shape[1]
        yield codes


def _first_refused(plan: Plan, block: dict[str, Any]) -> tuple[Attribute, int]:
    """The first row that is refused, and because of which attribute."""
    from deniable.domain import NO_ANSWER

    found = []
    for order, attribute in enumerate(plan.content.attributes):
        column = block[attribute.name]

        def refused(n: int, attribute: Attribute = attribute, column: Any = column) -> bool:
            try:
                codes = attribute.domain.codes(column[:n], attribute.name)
            except InvalidValue:
                return True
            return plan.content.missing == "refuse" and bool((codes == NO_ANSWER).any())

        if refused(len(column)):
            found.append((bisect_left(range(len(column)), True, key=refused) - 1, order))
    row, order = min(found)
    return plan.content.attributes[order], row


def _reason(attribute: Attribute, answer: Any) -> str:
    """Why a column of one answer is refused."""
    try:
        attribute.domain.codes(answer, attribute.name)
    except InvalidValue as problem:
        empty = isinstance(answer[0], str) and answer[0].strip().lower() in _ABSENT
        return f"{problem}; if it means no answer, leave the cell empty" if empty else str(problem)
    return (
        "there is no answer, and this plan refuses missing ones; fill it in, or write in study.toml what it means, "
        'missing = "value" (one more value) or missing = "random" (a random value is reported), and make the plan again'
    )


def read_tallies(plan: Plan, path: Path, show: Show) -> Tallies:
    """All reports of a file, counted."""
    total = None
    for block in plan.read_reports(path, show):
        counted = plan.tally(block)
        total = counted if total is None else total + counted
    if total is None:
        raise InvalidReport(f"there are no reports in {path.name}")
    return total
