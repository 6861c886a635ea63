"""Reads a file of answers to a plan, and reports all refused answers at once.

Refused answers are grouped by kind: a column and a reason. Each kind is shown with its count and its first
position. A number that is too large is one kind, whichever number it is.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from deniable.domain import NO_ANSWER, Categories, is_missing, people_of, to_list
from deniable.domain.refusals import problem_of, refused_rows
from deniable.errors import InvalidValue
from deniable.formatting import format_count
from deniable.frames import (
    Show,
    find_lacking,
    header_of,
    locate_rows,
    read_answers,
    separator_of,
    split_locations,
)
from deniable.reports.extra_columns import refuse_beside
from deniable.reports.privatize import choose_columns, drop_skipped, encode_alone, spread_columns

if TYPE_CHECKING:
    import pyarrow as pa

    from deniable.arrays import Integers
    from deniable.plan import Attribute
    from deniable.study import Plan

_ABSENT = ("na", "n/a", "none", "null", "-", "?")  # how people write that there is no answer
_MOST_ANSWERS = 1 << 14  # different ones of a column that are refused and counted, in a few seconds
_EXAMPLES = 3  # of a kind, after the first


@final
@dataclass(frozen=True)
class Answers:
    """A CSV or Parquet file, with the separator of its cells and the column that says who a row is, where
    they are named.
    """

    plan: Plan
    path: Path
    separator: str | None = None
    person: str | None = None
    analyzed: bool = False
    """Whether these are looked at and not collected: no answer is then -1, and so is all of an attribute
    without a column.
    """
    absent: Counter[str] = field(default_factory=Counter)
    """How many answers were missing among those that were read, by attribute, where they are to be random."""
    beside: tuple[str, ...] = ()
    """Columns that are copied beside reports as they are."""
    _people: list[Any] = field(default_factory=list)

    def codes(self, show: Show) -> Iterator[Integers]:
        """The answers as integers, in blocks, up to the first that holds something that is refused."""
        return (codes for codes, _ in self.blocks(show))

    def blocks(self, show: Show) -> Iterator[tuple[Integers, dict[str, Any]]]:
        """The answers as integers, in blocks, with the columns beside each block."""
        columns: dict[str, Any] = {} if self.person is None else {self.person: ()}
        columns |= dict.fromkeys(self.beside, ())
        kinds = _Kinds(self.plan, not self.analyzed)
        for block in read_answers(
            self.path, columns | self._choose_columns(), show, self.separator, self.plan.locations
        ):
            if self.person is not None:
                self._people.extend(to_list(block[self.person], self.person))
            try:
                codes = self._encode(block)
            except InvalidValue as problem:
                kinds.add(block)
                if not kinds.by_reason:  # it is about several columns, or about an option
                    raise self._locate_refusal(problem, block, kinds.rows) from None
            else:
                if not kinds.by_reason:
                    missing = (codes == NO_ANSWER)[: len(self.plan.names)].sum(axis=1).tolist()
                    for attribute, n in zip(self.plan.document.attributes, missing, strict=True):
                        if not attribute.domain.is_level:  # a level has the answers of its question
                            self.absent[attribute.name] += n
                    yield codes, {name: block[name] for name in self.beside}
            kinds.rows += len(next(iter(block.values())))
        if kinds.by_reason:
            raise InvalidValue(self._describe_kinds(kinds))

    def refuse_beside(self) -> None:
        """Refuse columns beside reports that are answers, or that the file does not have."""
        if header := self.header():
            chosen = list(self._choose_columns())
            split = split_locations(chosen, header, self.plan.locations, self.path.name)
            refuse_beside(self.plan.document, [*split, *chosen], self.beside, header)

    def to_arrow(self, blocks: Sequence[Mapping[str, Any]]) -> pa.Table | None:
        """The columns beside some blocks; text, unless the file says what they hold."""
        if not self.beside:
            return None
        import pyarrow as pa
        from pyarrow import parquet

        kinds = dict.fromkeys(self.beside, pa.string())
        if separator_of(self.path, self.separator) is None:
            schema = parquet.read_schema(self.path)
            kinds = {name: schema.field(name).type for name in self.beside}
        plain = {name: getattr(kind, "value_type", kind) for name, kind in kinds.items()}
        return pa.table(
            {
                name: pa.chunked_array([pa.array(block[name], kind) for block in blocks], kind)
                for name, kind in plain.items()
            }
        )

    def _choose_columns(self) -> dict[str, Any]:
        """Chooses the columns to read, with the labels of their values; asks for all if none is there."""
        labels: dict[str, Any] = choose_columns(
            self.plan.document, self.plan.document.attributes, self.header()
        )
        absent: list[str] = []
        if self.analyzed:
            absent = find_lacking(self.path, list(labels), self.separator, self.plan.locations)
        if len(absent) == len(labels):
            return labels
        return {name: labels[name] for name in labels if name not in absent}

    def header(self) -> list[str]:
        """The names of the file's columns; none where it cannot be read, which is said when it is."""
        between = separator_of(self.path, self.separator)
        return header_of(self.path, between) if self.path.is_file() else []

    def _locate_refusal(self, problem: InvalidValue, block: Mapping[str, Any], start: int) -> InvalidValue:
        """Why the first refused row of a block is refused, and where it is in the file."""

        def refuse(first: int, end: int) -> InvalidValue | None:
            try:
                self._encode({name: column[first:end] for name, column in block.items()})
            except InvalidValue as problem:
                return problem
            return None

        rows = range(len(next(iter(block.values()))))
        row = bisect_left(rows, True, key=lambda row: refuse(0, row + 1) is not None)
        return InvalidValue(f"{self._describe_row(start + row)}: {refuse(row, row + 1) or problem}")

    def _encode(self, block: Mapping[str, Any]) -> Integers:
        if not self.analyzed:
            return self.plan.encode(block)
        import numpy as np

        block = spread_columns(self.plan.document.attributes, block)
        rows = np.full((len(self.plan.names), len(next(iter(block.values())))), NO_ANSWER, dtype=np.int64)
        for row, attribute in zip(rows, self.plan.document.attributes, strict=True):
            if attribute.name in block:
                row[:] = encode_alone(self.plan.document, attribute, block[attribute.name])
        return rows

    def people(self) -> list[str] | None:
        """The people of the rows that were read, if the file names them."""
        return None if self.person is None else people_of(self._people, len(self._people), self._describe_row)

    def _describe_row(self, row: int) -> str:
        return f"{self.path.name}, {locate_rows(self.path, [row], self.separator)[0]}"

    def _describe_kinds(self, kinds: _Kinds) -> str:
        listed = sorted(kinds.by_reason.values(), key=lambda kind: kind.row)
        positions = locate_rows(self.path, [kind.row for kind in listed], self.separator)
        lines = [
            f"{position}, column {kind.name!r}: {kind.reason}{kind.describe_others(kind.name in kinds.more)}"
            for kind, position in zip(listed, positions, strict=True)
        ]
        if len(lines) == 1:
            return f"{self.path.name}, {lines[0]}"
        heading = (
            f"{self.path.name}: {len(lines)} kinds of answers are refused{' at least' if kinds.more else ''}"
        )
        return "\n  ".join([heading, *lines])


@final
@dataclass
class _Kind:
    """Answers that are refused for one reason: their column, first row, reason and number."""

    name: str
    row: int
    reason: str
    count: int = 0
    answers: list[str] = field(default_factory=list)
    """The different ones, in order."""

    def describe_others(self, more: bool) -> str:
        """How often they are there, and which others there are; `more` if not all were counted."""
        if self.count == 1:
            return ""
        _, *others = self.answers
        also = f"; also {', '.join(others[:_EXAMPLES])}" if others else ""
        if len(others) > _EXAMPLES:
            also += f" and {format_count(len(others) - _EXAMPLES, 'other')}"
        return f" ({'at least ' if more else ''}{self.count:,} times, first here{also})"


@final
@dataclass
class _Kinds:
    """The kinds of refused answers of a file, by column and reason."""

    plan: Plan
    missing: bool
    """Whether a missing answer is refused, where the plan says so."""
    rows: int = 0
    """How many were read before."""
    by_reason: dict[tuple[str, str], _Kind] = field(default_factory=dict)
    known: dict[tuple[str, str], _Kind] = field(default_factory=dict)
    """The kind of each refused answer, by its column and how it is written."""
    more: set[str] = field(default_factory=set)
    """Columns with more refused answers than are counted."""

    def add(self, block: Mapping[str, Any]) -> None:
        """Adds the refused answers of a block."""
        for attribute in self.plan.document.attributes:
            if attribute.name not in block:
                continue
            answers = drop_skipped(attribute, to_list(block[attribute.name], attribute.name))
            must = self.missing and self.plan.document.missing_of(attribute) == "refuse"
            must = must and attribute.only_if is None
            texts = list(map(repr, answers))
            counts = Counter(texts)
            first = dict(zip(reversed(texts), range(len(texts) - 1, -1, -1), strict=True))
            for text in counts:
                if (attribute.name, text) in self.known:
                    self.known[attribute.name, text].count += counts[text]
            new = [text for text in counts if (attribute.name, text) not in self.known]
            room = _MOST_ANSWERS - sum(name == attribute.name for name, _ in self.known)
            for i in refused_rows(attribute.domain, [answers[first[text]] for text in new], must):
                if room == 0:
                    self.more.add(attribute.name)
                    break
                room -= 1
                kind = self._find_kind(attribute, answers[first[new[i]]], self.rows + first[new[i]])
                self.known[attribute.name, new[i]] = kind
                kind.answers.append(new[i])
                kind.count += counts[new[i]]

    def _find_kind(self, attribute: Attribute, answer: Any, row: int) -> _Kind:
        """Finds the kind of a refused answer; a hint for a name is looked for once, since it takes long."""
        absent = isinstance(answer, str) and answer.strip().lower() in _ABSENT
        is_name = isinstance(attribute.domain, Categories) and not is_missing(answer)
        problem = None if is_name else problem_of(attribute.domain, answer, attribute.name)
        reason = (
            "absent" if absent else "name" if is_name else "missing" if problem is None else problem.remedy
        )
        if (attribute.name, reason) not in self.by_reason:
            problem = problem_of(attribute.domain, answer, attribute.name)
            text = self._describe_missing() if problem is None else str(problem)
            text += "; if it means no answer, leave the cell empty" if absent else ""
            self.by_reason[attribute.name, reason] = _Kind(attribute.name, row, text)
        return self.by_reason[attribute.name, reason]

    def _describe_missing(self) -> str:
        value_option = 'missing = "value" (one more value) or ' if self.plan.document.has_no_answer else ""
        return (
            "there is no answer, and this plan refuses missing ones; fill it in, or write in study.toml what "
            "it means, "
            f'{value_option}missing = "random" (a random value is reported), and make the plan again'
        )
