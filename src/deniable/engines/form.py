"""Defines the table form of reports: a row per record, and columns of integers that every engine can read.

An attribute has one column, or several where its report has several numbers. All of them are null in the row
of a record that does not report the attribute.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array
from deniable.errors import InvalidParameter, InvalidReport, not_among
from deniable.mechanisms import Mechanism, Tally
from deniable.records import RecordMechanism

PLAN, ROUND, ID = "plan", "round", "id"
"""Columns that a table of reports may have too: its plan, the round, and the id of each report."""

OTHER_PLAN, OTHER_ROUND = "deniable.plan", "deniable.round"
"""The columns of the plan and of the round where an attribute is called `plan` or `round`."""

REASONS = ("counted", "plan", "round", "form", "repeated")
"""What becomes of a row: it is counted, or refused as of another plan, of a round that was not asked for, not
in canonical form, or a second row with the same id in one round."""

WORD_BYTES = 7
"""Bytes of a packed report that share an integer: 56 bits, so that no engine sees a negative number."""


@final
@dataclass(frozen=True)
class Column:
    """A column of the table form: an integer, or a list of integers, in each row."""

    name: str
    limit: int
    """Every number in it is below."""
    length: int | None = None
    """How many numbers a row lists; None where it is one number."""
    word: int | None = None
    """Which word of packed bits it is; None where it is no word."""
    field: str | None = None
    """The field of the report that it holds; None where the report has no fields."""


@final
@dataclass(frozen=True)
class TableForm:
    """The reports of one plan as a table."""

    plan_id: str
    names: tuple[str, ...]
    mechanism: RecordMechanism
    group: tuple[str, int] | None = None
    """The column that numbers the known group, and how many groups there are."""
    rounds: int = 1
    """How many rounds the plan has, counted from 1."""
    linked: bool = False
    """Whether ids are pseudonyms of people, which files of reports have in a column."""

    def list_keys(self, keys: Sequence[str]) -> tuple[str, ...]:
        """What rows are counted by: these columns, then the known group."""
        return tuple(dict.fromkeys((*keys, *(() if self.group is None else (self.group[0],)))))

    @cached_property
    def columns(self) -> tuple[tuple[Column, ...], ...]:
        """The columns of each attribute.

        What follows the name of an attribute follows a dot; or several, until no two columns have one name.
        """
        dot = "."
        while True:
            pairs = zip(self.names, self.mechanism.mechanisms, strict=True)
            by_attribute = tuple(list_columns(name, part, dot) for name, part in pairs)
            names = [column.name for columns in by_attribute for column in columns]
            names += self.list_keys(())
            if len(set(names)) == len(names):
                return by_attribute
            dot += "."

    @cached_property
    def column_names(self) -> tuple[str, ...]:
        """The columns of all attributes, then that of the known group."""
        return (*(column.name for columns in self.columns for column in columns), *self.list_keys(()))

    @cached_property
    def plan_column(self) -> str:
        """The column that says of which plan a row is, whatever attributes are called."""
        return OTHER_PLAN if PLAN in self._taken else PLAN

    @cached_property
    def round_column(self) -> str:
        """The column that says of which round a row is, whatever attributes are called."""
        return OTHER_ROUND if ROUND in self._taken else ROUND

    def fits_beside(self, other: TableForm) -> bool:
        """Whether a table can hold reports in both forms, since no column means two things."""
        if (self.plan_column, self.more_columns) != (other.plan_column, other.more_columns):
            return False
        return all(other._kinds.get(name, kind) == kind for name, kind in self._kinds.items())

    @cached_property
    def _kinds(self) -> dict[str, tuple[str, bool]]:
        """Each column's name, by it in small letters, and whether it holds lists."""
        columns = [column for columns in self.columns for column in columns]
        kinds = {column.name.lower(): (column.name, column.length is not None) for column in columns}
        return kinds | {name.lower(): (name, False) for name in self.list_keys(())}

    @property
    def has_people(self) -> bool:
        """Whether files have the pseudonyms of people: in a linked plan without an attribute called `id`."""
        return self.linked and ID in self.more_columns

    @cached_property
    def _taken(self) -> frozenset[str]:
        return frozenset(name.lower() for name in (*self.column_names, *self.names))

    @cached_property
    def more_columns(self) -> frozenset[str]:
        """The columns of the plan and of the round, and `id` if no attribute is called so, in capitals or
        not.
        """
        return frozenset({ID} - self._taken) | {self.plan_column, self.round_column}


@final
@dataclass(frozen=True)
class Counted:
    """The tallies of some rows, and how many others were refused, by reason."""

    n: int
    tallies: tuple[Tally, ...]
    refused: Mapping[str, int]
    round: int | None = None
    """The round that all of them are of, where several were told apart."""

    def __add__(self, other: Counted) -> Counted:
        refused = {
            why: self.refused.get(why, 0) + other.refused.get(why, 0)
            for why in REASONS
            if why in self.refused or why in other.refused
        }
        tallies = tuple(tally + more for tally, more in zip(self.tallies, other.tallies, strict=True))
        return Counted(self.n + other.n, tallies, refused, other.round if self.round is None else self.round)

    def finish(self, mechanism: RecordMechanism) -> Counted:
        """The tallies, of what blocks of rows added up to."""
        parts = zip(mechanism.mechanisms, self.tallies, strict=True)
        return replace(self, tallies=tuple(part.finish_cells(tally) for part, tally in parts))


@final
class MissingColumn(InvalidReport):
    """Raised for a table that lacks a column of the reports of a plan."""


def check_columns(
    form: TableForm,
    kinds: Mapping[str, str],
    keys: Sequence[str] = (),
    number: int | None = None,
    path: str | None = None,
) -> None:
    """Refuse a table that lacks a column, or whose column holds something else than it must; files by name.

    `kinds` are "integer", "list" (of integers), "text", "date", "bool", "float" and "other".
    """
    required: dict[str, tuple[str, ...]] = {
        column.name: ("integer",) if column.length is None else ("list",)
        for columns in form.columns
        for column in columns
    }
    for key in keys:
        if key in required or (key == ID and ID in form.more_columns):
            raise InvalidParameter(
                f"windows are by what is known of reports, such as the day, not by {key!r}"
            )
    if form.group is not None:
        required[form.group[0]] = ("integer",)
    this, where = ("this table", "the table of reports") if path is None else (path, path)
    if form.plan_column not in kinds:
        mend = _suggest_plan(form) if set(form.column_names) <= set(kinds) else ""
        raise InvalidReport(
            f"{this} does not say for which plan its reports were made: that is a column "
            f"{form.plan_column!r} with the plan's id, or the name of a folder; if it holds answers, "
            f"privatize them first{mend}"
        )
    if form.rounds > 1 and form.round_column not in kinds:
        raise InvalidReport(explain_no_round(form, this))
    if number is not None and form.round_column not in kinds:
        raise InvalidReport(f"round {number} is asked for, and {this} has no column {form.round_column!r}")
    required[form.plan_column] = ("text",)
    more: dict[str, tuple[str, ...]] = {form.round_column: ("integer",), ID: ("text", "integer")}
    required |= {name: allowed for name, allowed in more.items() if name in form.more_columns & set(kinds)}
    required = dict.fromkeys(keys, WINDOWS) | required
    for name, allowed in required.items():
        if name not in kinds:
            text = not_among(name, f"a column of {where}", list(kinds))
            if name in keys:
                raise InvalidReport(text)
            raise MissingColumn(f"{text}; is this the plan that they were made for?")
        if kinds[name] not in allowed:
            holds = " or ".join(_HOLDS[kind] for kind in allowed)
            mend = "; pandas makes floats of them where some are missing: give the file, or read it with "
            mend = f'{mend}dtype_backend="pyarrow"' if kinds[name] == "float" else ""
            mend = "; of a time, make a column of its days" if name in keys else mend
            there = "a table of reports" if path is None else path
            raise InvalidReport(f"the column {name!r} of {there} must hold {holds}{mend}")


def explain_no_round(form: TableForm, table: str) -> str:
    """Why a table that does not say the round of its reports is refused, and how to say it."""
    name = form.round_column
    column = name if name == ROUND else f'"{name}"'
    return (
        f"{table} does not say of which round its reports are, and this plan has rounds 1 to {form.rounds}: "
        f"the same people answer in each, so that rounds are not added up. Say it in a column {name!r} "
        f"(SELECT *, 2 AS {column} FROM ...), or put the file into a folder {name}=2"
    )


def _suggest_plan(form: TableForm) -> str:
    """The line that adds the plan's column, which only the header of a file of reports has."""
    column = form.plan_column if form.plan_column == PLAN else f'"{form.plan_column}"'
    return f"; if all its reports are of this plan, add it: SELECT *, '{form.plan_id}' AS {column} FROM ..."


def check_beside(form: TableForm, kinds: Mapping[str, str]) -> None:
    """Refuse extra columns that are answers, that reports have themselves, or that are no windows."""
    for name, kind in kinds.items():
        if name in form.names:
            raise InvalidParameter(
                f"{name!r} is an answer that reports protect: beside them it would stand as it is"
            )
        if name.lower() in {column.lower() for column in (*form.column_names, *form.more_columns)}:
            raise InvalidParameter(f"a table of reports has a column {name!r} of its own; rename the other")
        if kind not in WINDOWS:
            holds = " or ".join(_HOLDS[window] for window in WINDOWS)
            raise InvalidParameter(
                f"the column {name!r} beside reports must hold {holds}; of a time, make a column of its days"
            )


_HOLDS = {
    "integer": "signed integers of at most 64 bits",
    "list": "lists of signed integers of at most 64 bits",
    "text": "text",
    "date": "dates",
    "bool": "booleans",
}
WINDOWS = ("text", "integer", "date", "bool")
"""What columns hold that windows may be by."""


def list_columns(name: str, mechanism: Mechanism, dot: str = ".") -> tuple[Column, ...]:
    """The columns of an attribute."""
    like = mechanism.blank(0)
    if like.dtype.names is None:
        return _plain_columns(name, like.dtype, like.shape[1:], mechanism.packed, None, dot)
    columns: list[Column] = []
    for field in like.dtype.names:
        inner = like.dtype[field]
        columns += _plain_columns(f"{name}{dot}{field}", inner.base, inner.shape, field == "bits", field, dot)
    return tuple(columns)


def _plain_columns(
    name: str, dtype: np.dtype[Any], shape: tuple[int, ...], packed: bool, field: str | None, dot: str
) -> tuple[Column, ...]:
    if not packed:
        return (Column(name, 1 << (8 * dtype.itemsize), shape[0] if shape else None, None, field),)
    words = -(-shape[0] // WORD_BYTES)
    limits = [1 << (8 * min(WORD_BYTES, shape[0] - WORD_BYTES * word)) for word in range(words)]
    return tuple(Column(f"{name}{dot}{word}", limits[word], None, word, field) for word in range(words))


def to_columns(reports: Array, columns: Sequence[Column]) -> list[Array]:
    """The content of an attribute's columns."""
    return [
        _to_column(reports if column.field is None else reports[column.field], column) for column in columns
    ]


def _to_column(reports: Array, column: Column) -> Array:
    if column.word is None:
        return np.ascontiguousarray(reports).astype(integer_type(column))
    piece = reports[:, WORD_BYTES * column.word : WORD_BYTES * (column.word + 1)]
    wide = np.zeros((len(reports), 8), dtype=np.uint8)
    wide[:, : piece.shape[1]] = piece
    return np.asarray(wide.view("<i8")[:, 0])


def from_columns(
    contents: Sequence[Array], columns: Sequence[Column], mechanism: Mechanism
) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Reports from the content of their columns, and which of them are in canonical form."""
    n = len(contents[0])
    reports = mechanism.blank(n)
    sound = np.ones(n, dtype=bool)
    for content, column in zip(contents, columns, strict=True):
        inside = (content >= 0) & (content < column.limit)
        sound &= inside if inside.ndim == 1 else inside.all(axis=1)
        target = reports if column.field is None else reports[column.field]
        if column.word is None:
            target[...] = content
            continue
        start = WORD_BYTES * column.word
        width = min(WORD_BYTES, target.shape[1] - start)
        as_bytes = np.ascontiguousarray(content, dtype="<i8").view(np.uint8).reshape(n, 8)
        target[:, start : start + width] = as_bytes[:, :width]
    return reports, sound & mechanism.canonical(reports)


def integer_type(column: Column) -> np.dtype[Any]:
    """The smallest signed integer that holds every number of a column: engines differ in unsigned ones."""
    sizes: Mapping[str, int] = {"<i2": 1 << 15, "<i4": 1 << 31, "<i8": 1 << 63}
    return np.dtype(next(name for name, most in sizes.items() if column.limit <= most))


def refuse_other_plan(plan_id: str, expected: str, what: str = "reports") -> None:
    """Refuse what was made for another plan."""
    if plan_id != expected:
        raise InvalidReport(
            f"{what} were made for plan {plan_id[:12]}, this plan is {expected[:12]}; give the "
            "plan that they were made for"
        )
