"""Reads what attackers have: reports in any form, background tables and true answers."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Integers
from deniable.attack.likelihoods import Part, Source, cells_of, guessed_of, mechanism_of, parts_of, values_of
from deniable.domain import NO_ANSWER
from deniable.errors import (
    DeniableError,
    DeniableWarning,
    InvalidParameter,
    InvalidReport,
    InvalidValue,
    not_among,
)
from deniable.formatting import shorten_names
from deniable.frames import DEGREES, column_names, columns_of, is_table, split_locations
from deniable.mechanisms.checks import integers
from deniable.records import Records
from deniable.reports import Reports, encode_alone, records_of
from deniable.study import Plan
from deniable.wire import Report, Wire


def records_from(source: Source, reports: object) -> Records:
    """The reports of one collection, whatever they are kept in."""
    if holds_records(reports) and not isinstance(reports, Records | Reports):
        raise InvalidReport(
            "these are answers, not reports: an attacker sees what plan.privatize(people) makes of them"
        )
    if isinstance(source, Plan):
        return _join_blocks(list(blocks_of(source, reports)))
    mechanism_of(source)
    if isinstance(reports, str | Path | Reports) or are_single(reports):
        raise InvalidReport(
            f"these reports were made for a plan; attack that plan, not its {type(source).__name__}"
        )
    if isinstance(source, Part):
        array = np.asarray(reports)
        source.tally(array)  # refuses what cannot have been sent
        return Records(len(array), (array,))
    if not isinstance(reports, Records) or len(reports.columns) != len(parts_of(source)):
        raise InvalidReport(
            "reports of a record mechanism are what it has made, m.privatize(table), got "
            f"{type(reports).__name__}"
        )
    return reports


def _join_blocks(blocks: Sequence[Records]) -> Records:
    """Blocks of reports as one."""
    if not blocks:
        raise InvalidReport("there are no reports to attack")
    if len(blocks) == 1:
        return blocks[0]
    starts = np.cumsum([0, *(block.n for block in blocks)])
    columns = tuple(np.concatenate(parts) for parts in zip(*(block.columns for block in blocks), strict=True))
    if blocks[0].reporters is None:
        return Records(int(starts[-1]), columns)
    moved = [
        [who + start for who in block.reporters or ()]
        for block, start in zip(blocks, starts[:-1], strict=True)
    ]
    return Records(
        int(starts[-1]), columns, tuple(np.concatenate(parts) for parts in zip(*moved, strict=True))
    )


def refuse_known(plan: Plan) -> None:
    """Refuse to look for people by a plan whose reports name groups: what is found would be too little."""
    if plan.document.known is not None:
        raise InvalidParameter(
            f"every report of this plan names {plan.document.known.name!r}, and whoever reads it looks only "
            "among people of that group; attack one group at a time, by the same plan without known groups, "
            "plan.with_known({}), and only the people of that group"
        )


Travelling = Report | bytes | bytearray
"""A report as a client sends it: itself, its bytes, or the bytes of its JSON form."""


def blocks_of(plan: Plan, reports: object) -> Iterator[Records]:
    """All reports, or blocks of them, which must have been made for this plan."""
    if isinstance(reports, str | Path):
        return (block.records for block in plan.read_reports(reports))
    if isinstance(reports, Travelling):
        return iter([_receive_reports(plan, [reports])])
    first, all_reports = _peek_first(reports)
    if isinstance(first, Travelling):
        return iter([_receive_reports(plan, all_reports)])
    return records_of(all_reports, plan.id)


def are_single(reports: object) -> bool:
    """Whether these are reports as they travel, one by one."""
    return isinstance(reports, Travelling) or (
        isinstance(reports, list | tuple) and bool(reports) and isinstance(reports[0], Travelling)
    )


def _peek_first(reports: object) -> tuple[object, object]:
    """The first of several reports, and all of them; what is none is passed on, to be refused."""
    if isinstance(reports, list | tuple):
        return (reports[0] if reports else None), reports
    if not isinstance(reports, Iterator):
        return None, reports
    first = list(islice(reports, 1))
    return (first[0], chain(first, reports)) if first else (None, [])


def _receive_reports(plan: Plan, reports: object) -> Records:
    assert isinstance(reports, Iterable)
    wire = Wire(plan)
    return wire.reports([_check_report(wire, report).body for report in reports]).records


def _check_report(wire: Wire, report: object) -> Report:
    if not isinstance(report, Travelling):
        raise InvalidReport(
            f"reports are all in one form, here as a client sends them, got {type(report).__name__} among "
            "them"
        )
    if isinstance(report, Report):
        return wire.check(report)
    raw = bytes(report)
    return wire.from_json(raw) if raw.startswith(b"{") else wire.check(Report.from_bytes(raw))


_NEAR = 0.75
"""How alike a column's and an attribute's names are, by difflib, for the one to be taken for a slip of the
other.
"""


@final
@dataclass(frozen=True, eq=False)
class Background:
    """A table of people that reports are matched with, by number."""

    names: Sequence[str]
    """The attributes that it has."""
    columns: Array
    """Their values by number, a column per record: a row per attribute, or several where surveys number its
    values apart.
    """
    true_records: Integers
    """Which record is whose: one for each person who reported."""
    survey_rows: Sequence[Sequence[int]] | None = None
    """For each survey, the row of each of its attributes (-1: none); unless given, all of them go by the
    order of the names.
    """

    @property
    def records(self) -> int:
        """How many people are in it."""
        return int(self.columns.shape[1])

    def rows(self, survey: int, names: Sequence[str]) -> Sequence[int]:
        """Where the attributes of a survey are; -1 where they are not."""
        if self.survey_rows is not None:
            return self.survey_rows[survey]
        return [self.names.index(name) if name in self.names else -1 for name in names]


def checked_numbers(what: str, values: npt.ArrayLike, size: int) -> Integers:
    """Integers from 0 to size - 1."""
    try:
        numbers = integers(values, size)
    except DeniableError as problem:
        raise InvalidParameter(f"{what}: {str(problem).split(';')[0]}") from None
    wrong = numbers[(numbers < 0) | (numbers >= size)]
    if wrong.size:
        raise InvalidParameter(f"{what}, each from 0 to {size - 1}, got {wrong[0]}")
    return numbers.astype(np.int64)


def checked_truth(truth: npt.ArrayLike, n: int, names: Sequence[str]) -> Integers:
    """The attribute of each of n reports, by number or by name."""
    what = f"truth is the attribute of each of {n} reports"
    try:
        array = np.asarray(truth)
    except ValueError:
        raise InvalidParameter(f"{what}, in one list, got rows of different lengths") from None
    if array.dtype.kind == "U":
        truth = [_find_number(name, names) for name in array.ravel().tolist()]
    true = checked_numbers(what, truth, len(names))
    if true.size != n:
        raise InvalidParameter(f"{what}, got {true.size} numbers")
    return true


def _find_number(name: str, names: Sequence[str]) -> int:
    if name not in names:
        raise InvalidParameter(not_among(name, "an attribute", names))
    return names.index(name)


def coded_background(plans: Sequence[Plan], background: object) -> tuple[list[str], Array, list[list[int]]]:
    """The attributes that the background has, its values by number, and for each plan the rows of its
    attributes (-1: none).

    A location may have two columns, as wherever people are read. Plans may number the values of an attribute
    differently, by other labels or steps: then it has a row for each way.
    """
    attributes = list(dict.fromkeys(name for plan in plans for name in plan.names))
    locations = {name for plan in plans for name in plan.locations}
    if not holds_records(background):
        raise InvalidParameter(
            "a background is a dataframe, a dictionary of columns or a list of dictionaries, with a record "
            f"per row, got {type(background).__name__}"
        )
    there = column_names(background)
    names = _present(attributes, there, locations)
    for slip in misspelt(attributes, there, locations):
        warnings.warn(slip, DeniableWarning, stacklevel=3)  # the caller of reidentify
    if not names:
        raise InvalidParameter(
            f"the background has none of the attributes asked for: {', '.join(attributes)}"
        )
    answers = dict(zip(names, columns_of(background, names, locations), strict=True))
    coded: dict[object, Integers] = {}
    rows = []
    for plan in plans:
        rows.append([-1] * len(plan.names))
        for j, (attribute, part) in enumerate(
            zip(plan.document.attributes, plan.document.parts, strict=True)
        ):
            if attribute.name in answers:
                way = attribute, part.numeric, plan.document.extras(attribute)
                if way not in coded:
                    coded[way] = _numbers_of(plan, j, answers[attribute.name])
                rows[-1][j] = list(coded).index(way)
    columns = np.stack(list(coded.values()))
    if not columns.size:
        raise InvalidParameter("the background has no rows; give a table with a record per row")
    return names, compact(columns), rows


def encode_people(plan: Plan, people: object) -> Integers:
    """Answers of people by number, a row per attribute, from a table of them; -1 where there is none.

    Columns that are no attribute are left out, and an attribute without a column has no answers.
    """
    if isinstance(people, np.ndarray) and people.dtype.kind in "iu" and people.ndim == 2:
        if len(people) != len(plan.names):
            raise InvalidParameter(
                f"people as numbers have a row per attribute, as plan.encode makes them: {len(plan.names)} "
                f"rows, got {len(people)}"
            )
        return people.astype(np.int64)
    if not holds_records(people):
        raise InvalidParameter(
            "people are a dataframe, a dictionary of columns or a list of dictionaries, with a column for "
            f"each attribute ({shorten_names(plan.names)}), got {type(people).__name__}"
        )
    there = column_names(people)
    names = _present(plan.names, there, plan.locations)
    for slip in misspelt(plan.names, there, plan.locations, "the table of people"):
        warnings.warn(slip, DeniableWarning, stacklevel=4)  # the caller of examine
    if not names:
        raise InvalidParameter(
            f"the table of people has none of the attributes {shorten_names(plan.names)}; its columns are "
            f"{shorten_names(list(map(str, there)))}"
        )
    answers = dict(zip(names, columns_of(people, names, plan.locations), strict=True))
    n = len(next(iter(answers.values())))
    codes = np.full((len(plan.names), n), NO_ANSWER, dtype=np.int64)
    for j, attribute in enumerate(plan.document.attributes):
        if attribute.name in answers:
            codes[j] = encode_alone(plan.document, attribute, answers[attribute.name])
    return codes


def holds_records(people: object) -> bool:
    """Whether it is a dataframe, a dictionary of columns or a list of dictionaries."""
    first = people[0] if isinstance(people, list | tuple) and people else None
    return is_table(people) or isinstance(first, Mapping)


def _numbers_of(plan: Plan, j: int, answers: object) -> Integers:
    """The answers to an attribute as the values that its reports are compared with."""
    attribute, part = plan.document.attributes[j], plan.document.parts[j]
    codes = encode_alone(plan.document, attribute, answers)
    if (codes == NO_ANSWER).any():
        raise InvalidValue(
            f"the background has no {attribute.name!r} in some rows; fill them in, or leave the column out"
        )
    return cells_of(part, codes)


def misspelt(
    attributes: Sequence[str], there: Sequence[str], locations: Container[str], where: str = "the background"
) -> list[str]:
    """Lists warnings of columns that no plan asks for, whose names look like a slip of an attribute's name.

    Such a column is left out, and if it was meant to count, the risk would look smaller. A column whose name
    differs from an attribute's name by case and marks only is refused.
    """
    names = _present(attributes, there, locations)
    used = {column for name in names for column in split_locations([name], there, locations, where)}
    absent = [column for name in attributes if name not in names for column in _columns_for(name, locations)]
    plain = {_plain(name): name for name in absent if _plain(name)}
    slips = []
    for column in there:
        short = _plain(column)
        if column in used:
            continue
        if short in plain:
            raise InvalidValue(
                f"{where} has a column {column!r}, and none {plain[short]!r}, which is asked for; rename it, "
                "or leave it out of the table"
            )
        alike = [
            name for name in plain if _digits(name) == _digits(short)
        ]  # question 1 is no slip of question 2
        nearest = difflib.get_close_matches(short, alike, n=1, cutoff=_NEAR)
        if nearest:
            slips.append(
                f"the column {column!r} of {where} is left out: it is not an attribute that is asked for; "
                f"did you mean {plain[nearest[0]]!r}?"
            )
    return slips


def _present(attributes: Sequence[str], there: Sequence[str], locations: Container[str]) -> list[str]:
    """Lists the attributes that have a column in a table, or the two columns of a location."""
    return [
        name
        for name in attributes
        if any(column in there for column in split_locations([name], there, locations))
    ]


def _columns_for(name: str, locations: Container[str]) -> list[str]:
    """What the columns of an attribute may be called."""
    return [name, *(f"{name}.{degrees}" for degrees in DEGREES)] if name in locations else [name]


def _plain(name: object) -> str:
    return "".join(letter for letter in str(name).casefold() if letter.isalnum())


def _digits(name: str) -> str:
    return "".join(filter(str.isdigit, name))


def compact(columns: Array) -> Array:
    """The smallest numbers that hold the values: a background is read again for every target."""
    return np.ascontiguousarray(columns, dtype=np.uint8 if columns.max(initial=0) < 256 else np.uint32)


def coded_truth(truth: object, names: Sequence[str], n: int, plan: Plan | None) -> Integers:
    """Encodes the truth, a row per attribute: from people, a table of numbers, or one list."""
    if holds_records(truth):
        return _check_rows(_encode_truth(truth, names, plan), len(names), n)
    try:
        array = np.asarray(truth)
    except ValueError:
        raise InvalidParameter(f"{_describe_truth(len(names), n)}, got rows of different lengths") from None
    if array.shape == (n,) and len(names) == 1:
        return _check_rows(array[None] if plan is None else _encode_list(truth, array, names, plan), 1, n)
    return _check_rows(array.T if array.shape == (n, len(names)) else array, len(names), n)


def _describe_truth(d: int, n: int) -> str:
    alone = f", or a list of {n}" if d == 1 else ""
    return (
        f"the truth is a table of people, or has a row of numbers per attribute, {d} rows of {n}, or per "
        f"person{alone}"
    )


def _check_rows(rows: Integers, d: int, n: int) -> Integers:
    if rows.shape != (d, n) or rows.dtype.kind not in "iub":
        raise InvalidParameter(f"{_describe_truth(d, n)}, got {rows.dtype} of shape {rows.shape}")
    return rows


def _encode_truth(people: object, names: Sequence[str], plan: Plan | None) -> Integers:
    """A table of people by number; of numbers, by the half of their range."""
    if plan is None:
        return np.stack([np.asarray(column) for column in columns_of(people, names)])
    rows = zip(plan.document.parts, plan.encode(people)[: len(plan.names)], strict=True)
    return np.stack([guessed_of(part, row) for part, row in rows])


def _encode_list(truth: object, array: Integers, names: Sequence[str], plan: Plan) -> Integers:
    """One attribute: answers wherever all can be, and otherwise numbers of values, -1 for no answer."""
    try:
        return _encode_truth({names[0]: truth}, names, plan)
    except InvalidValue:
        if array.dtype.kind in "iub" and ((array >= -1) & (array < values_of(plan.document.parts[0]))).all():
            return array[None]
        raise
