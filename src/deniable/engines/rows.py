"""Reads rows of the table form: which of them are reports of the plan, and what these report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Integers
from deniable.engines.form import ID, REASONS, WORD_BYTES, Column, Counted, TableForm, from_columns
from deniable.errors import InvalidReport
from deniable.mechanisms import Mechanism, PackedSubset, Tally, Unary
from deniable.mechanisms.blocks import worth_compiling
from deniable.mechanisms.shapes import bits
from deniable.records import RecordMechanism, Records

if TYPE_CHECKING:
    import pyarrow as pa

States = npt.NDArray[np.int8]
COUNTED, _PLAN, _ROUND, _FORM, REPEATED = range(len(REASONS))
Flags = npt.NDArray[np.bool_]
_BITS = 8 * WORD_BYTES


@final
@dataclass(frozen=True)
class Rows:
    """What becomes of each row; and for each attribute the rows that report it, and their reports."""

    states: States
    reports: tuple[tuple[Integers | slice, Array | PackedWords], ...]

    def count(self, form: TableForm, is_counted: Flags | None = None) -> Counted:
        """Count these rows, or some of them; tallies are not finished, as blocks are to be added up."""
        states = self.states if is_counted is None else self.states[is_counted]
        times = [len(states)]  # all are counted
        if states.any():
            times = np.bincount(states, minlength=len(REASONS)).tolist()
        counted = self.states == COUNTED if is_counted is None else is_counted & (self.states == COUNTED)
        everybody = times[COUNTED] == len(self.states)
        # only to be counted, so that nobody needs to know whose they are; and in canonical form already
        tallies = tuple(
            _tally_part(part, reports if everybody else reports[counted[who]])
            for part, (who, reports) in zip(form.mechanism.mechanisms, self.reports, strict=True)
        )
        refused = {why: n for why, n in zip(REASONS, times, strict=False) if n and why != REASONS[COUNTED]}
        return Counted(int(times[COUNTED]), tallies, refused)


@final
@dataclass(frozen=True)
class RowReader:
    """Reads blocks of rows."""

    form: TableForm
    extra: frozenset[str] = frozenset()
    """Which of `plan`, `round` and `id` the rows have."""
    number: int | None = None
    """The round that is read; None for all that the plan has."""

    @cached_property
    def names(self) -> list[str]:
        """The columns that are read."""
        more = [name for name in (self.form.plan_column, self.form.round_column, ID) if name in self.extra]
        return [*self.form.column_names, *more]

    def read(self, batch: pa.RecordBatch) -> Rows:
        """Read a block: a row that no device can have sent is refused, not mended."""
        n = batch.num_rows
        sound = np.ones(n, dtype=bool)
        # where nothing is null one row stands for all of them
        full = not any(
            batch.column(column.name).null_count for columns in self.form.columns for column in columns
        )
        is_held = np.ones((len(self.form.names), 1 if full else n), dtype=bool)
        reports: list[tuple[Integers | slice, Array | PackedWords]] = []
        parts = zip(self.form.columns, self.form.mechanism.mechanisms, strict=True)
        for j, (columns, part) in enumerate(parts):
            arrays = [batch.column(column.name) for column in columns]
            if not full:
                is_held[j] = find_valid(arrays[0])
                for array in arrays[1:]:
                    sound &= find_valid(array) == is_held[j]
            rows = is_held[j] & sound  # all of them are not listed
            who = slice(None) if full or rows.all() else np.flatnonzero(rows)
            contents, is_whole = _read_numbers(arrays, columns, who)
            packed = _pack_words(contents, columns, part)
            if packed is None:
                decoded, canonical = from_columns(contents, columns, part)
                sound[who] &= canonical & is_whole
                reports.append((who, decoded))
            else:
                sound[who] &= packed.find_canonical()
                reports.append((who, packed))
        sound &= self.form.mechanism.can_hold(is_held)
        for member, first, _ in self.form.mechanism.members:
            if member.marked is not None:
                sound &= _find_possible(member, reports[first : first + member.d], n)
        if self.form.group is not None:
            numbers = self.read_groups(batch)
            sound &= (numbers >= 0) & (numbers < self.form.group[1])
        if ID in self.extra:
            sound &= find_valid(batch.column(ID))
        states = np.zeros(n, dtype=np.int8)
        if not sound.all():
            states[~sound] = _FORM
        if self.form.round_column in self.extra:
            _mark_others(batch.column(self.form.round_column), self._has_round, states, _ROUND)
        if self.form.plan_column in self.extra:  # it is not asked for where a file's header said it
            _mark_others(batch.column(self.form.plan_column), self._has_plan, states, _PLAN)
        return Rows(states, tuple(reports))

    def _has_round(self, array: pa.Array) -> Flags:
        from pyarrow import compute

        if self.number is not None:
            return _read_flags(compute.equal(array, self.number))
        least, most = compute.greater_equal(array, 1), compute.less_equal(array, self.form.rounds)
        return _read_flags(compute.and_(least, most))

    def _has_plan(self, array: pa.Array) -> Flags:
        from pyarrow import compute

        return _read_flags(compute.equal(array, self.form.plan_id))

    def read_records(self, batch: pa.RecordBatch) -> Records:
        """The records of a block in which every row must be a report of the plan."""
        rows = self.read(batch)
        if (rows.states != COUNTED).any():
            raise InvalidReport(self._explain(batch, int(np.argmax(rows.states != COUNTED))))
        columns = tuple(
            column.to_reports() if isinstance(column, PackedWords) else column for _, column in rows.reports
        )
        everyone = np.arange(batch.num_rows)
        reporters = None
        if not self.form.mechanism.reports_all:
            reporters = tuple(everyone[who] for who, _ in rows.reports)
        groups = None if self.form.group is None else self.read_groups(batch)
        return Records(batch.num_rows, columns, reporters, groups)

    def read_groups(self, batch: pa.RecordBatch) -> Integers:
        """The number of each row's known group; -1 where there is none."""
        assert self.form.group is not None
        numbers = batch.column(self.form.group[0]).fill_null(-1).to_numpy(zero_copy_only=False)
        return np.asarray(numbers.astype(np.int64))

    def _explain(self, batch: pa.RecordBatch, row: int) -> str:
        """What is wrong with a row."""
        mechanism = self.form.mechanism
        if self.form.group is not None and self.form.group[0] in batch.schema.names:
            name, size = self.form.group
            number = int(self.read_groups(batch)[row])
            if number < 0:
                return f"a report does not say which {name!r} it is of"
            if number >= size:
                return f"{name!r} has {size} values, numbered from 0; a report has number {number}"
        is_held = np.array([find_valid(batch.column(columns[0].name))[row] for columns in self.form.columns])
        if not mechanism.can_hold(is_held[:, None])[0]:
            count = int(is_held.sum())
            others = " others" if count == mechanism.reported else ""
            rule = f"a record reports {mechanism.reported} of {mechanism.d} attributes"
            return f"{rule}, got one with {count}{others}"
        for columns, part, reported in zip(self.form.columns, mechanism.mechanisms, is_held, strict=True):
            arrays = [batch.column(column.name).slice(row, 1) for column in columns]
            if not reported:
                continue
            if any(array.null_count for array in arrays):
                return "a report has a part that is missing"
            contents, is_whole = _read_numbers(arrays, columns, slice(None))
            if not is_whole[0] or not from_columns(contents, columns, part)[1][0]:
                return f"a report is not in its canonical form: {part.form}"
        impossible = next((member.form for member, _, _ in mechanism.members if member.marked), None)
        if impossible is not None:
            return f"a report is not in its canonical form: {impossible}"
        return "a report has a part that is missing"


def _find_possible(
    member: RecordMechanism, reports: Sequence[tuple[Integers | slice, Array | PackedWords]], n: int
) -> Flags:
    """Which of n rows can be reports of a member all of whose attributes are reported together."""
    columns = []
    for who, column in reports:
        assert isinstance(column, np.ndarray)
        columns.append(np.zeros(n, dtype=column.dtype))
        columns[-1][who] = column
    return member.find_possible(columns)


def _tally_part(part: Mechanism, reports: Array | PackedWords) -> Tally:
    return reports.tally() if isinstance(reports, PackedWords) else part.count_cells(reports)


def find_valid(array: pa.Array) -> Flags:
    """Which cells are not null."""
    if not array.null_count:
        return np.ones(len(array), dtype=bool)
    return np.asarray(array.is_valid().to_numpy(zero_copy_only=False))


def _mark_others(array: pa.Array, holds: Callable[[pa.Array], Flags], states: States, mark: int) -> None:
    """Mark rows whose value is another one than it must be, or none."""
    import pyarrow as pa

    if not isinstance(array, pa.DictionaryArray):
        same = holds(array)
    else:
        is_same = holds(array.dictionary)
        if not array.null_count and is_same.all():
            return
        same = np.append(is_same, False)[array.indices.fill_null(-1).to_numpy(zero_copy_only=False)]
    states[~same] = mark


def _read_flags(array: pa.Array) -> Flags:
    """Booleans, of which those that are not known do not hold."""
    return np.asarray(array.fill_null(False).to_numpy(zero_copy_only=False))


def _read_numbers(
    arrays: Sequence[pa.Array], columns: Sequence[Column], who: Integers | slice
) -> tuple[list[Array], Flags]:
    """The numbers of these rows; and which rows list as many numbers as they must."""
    import pyarrow as pa

    taken = arrays if isinstance(who, slice) else [array.take(pa.array(who)) for array in arrays]
    is_whole = np.ones(len(taken[0]), dtype=bool)
    contents = []
    for array, column in zip(taken, columns, strict=True):
        if column.length is None:
            contents.append(array.to_numpy(zero_copy_only=False))
        else:
            contents.append(_read_lists(array, column.length, is_whole))
    return contents, is_whole


def _read_lists(array: pa.Array, length: int, is_whole: Flags) -> Array:
    """Lists of one length as a table; a row of another length, or with a null in it, is not whole."""
    from pyarrow import compute

    sizes = compute.list_value_length(array).to_numpy(zero_copy_only=False)
    flat = array.flatten()
    if not flat.null_count and (sizes == length).all():
        return np.asarray(flat.to_numpy(zero_copy_only=False)).reshape(len(array), length)
    table = np.full((len(array), length), -1, dtype=np.int64)
    for i, numbers in enumerate(array.to_pylist()):
        is_whole[i] = len(numbers) == length and None not in numbers
        if is_whole[i]:
            table[i] = numbers
    return table


@final
@dataclass(frozen=True)
class PackedWords:
    """Reports whose bits are in columns of words, a number for each report in each."""

    mechanism: Mechanism
    columns: tuple[Column, ...]
    contents: tuple[Array, ...]

    def __getitem__(self, rows: Flags) -> PackedWords:
        return PackedWords(self.mechanism, self.columns, tuple(content[rows] for content in self.contents))

    def find_canonical(self) -> Flags:
        """Which reports are in canonical form: no bit beyond the last value, and as many as there must be."""
        report_mechanism = self.mechanism.one_round
        sound = np.ones(len(self.contents[0]), dtype=bool)
        for word, content in enumerate(self.contents):
            # a negative number is huge without its sign
            sound &= content.view(np.uint64) < np.uint64(1 << min(_BITS, report_mechanism.k - _BITS * word))
        if isinstance(report_mechanism, PackedSubset):
            members = sum(np.bitwise_count(content) for content in self.contents)
            sound &= np.asarray(members == report_mechanism.size)
        return sound

    def tally(self) -> Tally:
        """How many reports support each value, if all of them are in canonical form."""
        counts = np.concatenate([_count_word(content) for content in self.contents])
        return Tally(len(self.contents[0]), counts[: self.mechanism.k])

    def to_reports(self) -> Array:
        """The reports as bytes."""
        return from_columns(self.contents, self.columns, self.mechanism)[0]


def _pack_words(
    contents: Sequence[Array], columns: tuple[Column, ...], mechanism: Mechanism
) -> PackedWords | None:
    """The reports of these columns, if that is what they are."""
    if not isinstance(mechanism.one_round, Unary | PackedSubset):
        return None
    wide = tuple(np.ascontiguousarray(content, dtype="<i8") for content in contents)
    return PackedWords(mechanism, columns, wide)


def _count_word(content: Array) -> Integers:
    """How often each bit of a word is set."""
    as_bytes = content.view(np.uint8).reshape(-1, 8)
    return bits.count_members(as_bytes, 64, worth_compiling(len(as_bytes), 8))[:_BITS]
