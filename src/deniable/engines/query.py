"""Writes the queries that count a table of reports, and reads tallies from what an engine answers.

A report becomes a few small numbers, its cells. An engine counts rows by cell, and the counts of cells give
the tally. One description of cells for each mechanism serves every engine. Expressions are SQL as DuckDB
writes it, over the columns of the table form.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, singledispatch
from itertools import count
from typing import Any, final

import numpy as np

from deniable.arrays import Integers
from deniable.engines.form import ID, PLAN, REASONS, ROUND, WORD_BYTES, Column, Counted, TableForm
from deniable.errors import InvalidParameter
from deniable.exact import PRIME
from deniable.mechanisms import (
    Direct,
    Hadamard,
    Hashed,
    Linear,
    Mechanism,
    PackedSubset,
    Pooled,
    Subset,
    Tally,
    Unary,
)
from deniable.mechanisms.channels import ChannelMechanism
from deniable.records import RecordMechanism
from deniable.rounds import BitFlip

Run = Callable[[str], Iterable[Sequence[Any]]]
"""Runs a query in DuckDB's words on an engine, and gives its rows."""

KEY = "key "
"""What the name of a key begins with inside of queries."""
MOST_LISTED = 512
"""Numbers of a list that an engine checks one by one."""

_AT_ONCE = 400  # sums in one query: PostgreSQL's rows have at most 1,664 columns


def _name_key(key: str) -> str:
    """The name of a key inside of queries, where no other column can have it."""
    return quote(KEY + key)


@final
@dataclass(frozen=True)
class Query:
    """The queries that count one table of reports."""

    form: TableForm
    source: str
    """What follows FROM."""
    extra: frozenset[str] = frozenset()
    """Which of `plan`, `round` and `id` the table has."""
    round: int | None = None
    keys: tuple[str, ...] = ()
    """Columns whose values rows are counted by, each combination by itself."""

    @cached_property
    def countings(self) -> tuple[Counting, ...]:
        """How each attribute is counted, under names that no column of the table can take away."""
        names = (f"c{i}" for i in count())
        renamed = (
            tuple(replace(column, name=next(names)) for column in columns) for columns in self.form.columns
        )
        return tuple(map(count_by, renamed, self.form.mechanism.mechanisms))

    def run(self, run: Run) -> dict[tuple[Hashable, ...], Counted]:
        """Count the rows of each combination of keys."""
        cells: dict[tuple[Hashable, ...], Integers] = defaultdict(
            lambda: np.zeros(self._size, dtype=np.int64)
        )
        for *key, cell, rows in run(self._cells_query()):
            cells[tuple(key)][int(cell)] = int(rows)
        sums: dict[tuple[Hashable, ...], list[int]] = defaultdict(list)
        for start in range(0, len(self._conditions), _AT_ONCE):
            for row in run(self._sums_query(self._conditions[start : start + _AT_ONCE])):
                sums[tuple(row[: len(self.keys)])] += [int(count or 0) for count in row[len(self.keys) :]]
        none = [0] * len(self._conditions)  # of a window whose rows are all refused
        return {key: self._finish(counts, sums[key] or none) for key, counts in cells.items()}

    @cached_property
    def _conditions(self) -> list[str]:
        return [condition for counting in self.countings for condition in counting.sums]

    @cached_property
    def _size(self) -> int:
        """How many cells there are: first the reasons, then who reports each attribute, then the rest."""
        return (
            len(REASONS)
            + len(self.form.names)
            + sum(cells.size for counting in self.countings for cells in counting.cells)
        )

    def _finish(self, counts: Integers, sums: Sequence[int]) -> Counted:
        first = len(REASONS)
        states, reported, rest = counts[:first], counts[first : first + len(self.form.names)], counts[first:]
        start, summed, tallies = len(self.form.names), 0, []
        for counting, n in zip(self.countings, reported.tolist(), strict=True):
            arrays = []
            for cells in counting.cells:
                arrays.append(rest[start : start + cells.size])
                start += cells.size
            if counting.sums:
                arrays.append(np.array(sums[summed : summed + len(counting.sums)], dtype=np.int64))
                summed += len(counting.sums)
            tallies.append(counting.finish(arrays, n))
        refused = {why: int(n) for why, n in zip(REASONS[1:], states[1:], strict=True) if n}
        return Counted(int(states[0]), tuple(tallies), refused)

    def _cells_query(self) -> str:
        texts = ['"state"']
        start = len(REASONS)
        for j, counting in enumerate(self.countings):
            texts.append(f"CASE WHEN {quote(counting.columns[0].name)} IS NOT NULL THEN {start + j} END")
        start += len(self.form.names)
        for counting in self.countings:
            for cells in counting.cells:
                texts += [f"{start} + {text}" for text in cells.texts]
                start += cells.size
        keys = self._keys_text
        return (
            f'{self._sound_rows()} SELECT {keys}"cell", COUNT(*) AS "n" FROM (SELECT {keys}'
            f'UNNEST([{", ".join(texts)}]) AS "cell" FROM "sound") AS "spread" WHERE "cell" IS NOT NULL '
            f'GROUP BY {keys}"cell"'
        )

    def _sums_query(self, conditions: Sequence[str]) -> str:
        keys = self._keys_text
        sums = ", ".join(
            f'SUM(CASE WHEN {condition} THEN 1 ELSE 0 END) AS "s{i}"'
            for i, condition in enumerate(conditions)
        )
        grouped = f" GROUP BY {keys.removesuffix(', ')}" if keys else ""
        # a database puts what "sound" holds wherever a sum names it: rows are left out once instead
        return f'{self._judged_rows()} SELECT {keys}{sums} FROM "final" WHERE "state" = 0{grouped}'

    @property
    def _keys_text(self) -> str:
        return "".join(f"{_name_key(key)}, " for key in self.keys)

    def _sound_rows(self) -> str:
        """The rows and their state; a refused row has no numbers, so that nothing overflows."""
        columns = [quote(column.name) for counting in self.countings for column in counting.columns]
        masked = [f'CASE WHEN "state" = 0 THEN {text} END AS {text}' for text in columns]
        keys = list(map(_name_key, self.form.list_keys(self.keys)))
        step = f'SELECT {", ".join([*keys, *masked])}, "state" FROM "final"'
        return f'{self._judged_rows()}, "sound" AS ({step})'

    def _judged_rows(self) -> str:
        """The rows and their state. Only the first step knows the names of the table's columns, which may be
        any.
        """
        form_columns = [column for columns in self.form.columns for column in columns]
        columns = [quote(column.name) for counting in self.countings for column in counting.columns]
        by = self.form.list_keys(self.keys)
        keys = list(map(_name_key, by))
        more = {PLAN: self.form.plan_column}
        more |= {ROUND: self.form.round_column} if self.form.round_column in self.extra else {}
        more |= {ID: ID} if ID in self.extra else {}
        kept = [*keys, *map(quote, more)]
        typed = [
            f"CAST({quote(column.name)} AS BIGINT{'' if column.length is None else '[]'}) AS {text}"
            for text, column in zip(columns, form_columns, strict=True)
        ]
        typed += [f"{quote(key)} AS {text}" for key, text in zip(by, keys, strict=True)]
        typed += [f"{quote(theirs)} AS {quote(name)}" for name, theirs in more.items()]
        steps = {"typed": f'SELECT {", ".join(typed)} FROM {self.source} AS "reports"'}
        judged = f'SELECT {", ".join([*columns, *kept])}, {self._state} AS "state" FROM "typed"'
        if ID not in self.extra:
            steps["final"] = judged
        else:
            steps["judged"] = judged
            # of equal reports in two windows any may count, but in every engine the same; collations differ
            order = [*columns, *(f"MD5(CAST({key} AS VARCHAR))" for key in keys)]
            ordered = ", ".join(f"{key} NULLS LAST" for key in order)
            of_id = f'"id", "state"{", " + quote(ROUND) if ROUND in more else ""}'
            copy = f"ROW_NUMBER() OVER (PARTITION BY {of_id} ORDER BY {ordered})"
            state = 'CASE WHEN "state" = 0 AND "copy" > 1 THEN 4 ELSE "state" END'
            steps["numbered"] = f'SELECT *, {copy} AS "copy" FROM "judged"'
            steps["final"] = f'SELECT {", ".join([*columns, *kept])}, {state} AS "state" FROM "numbered"'
        return f"WITH {', '.join(f'{quote(name)} AS ({step})' for name, step in steps.items())}"

    @property
    def _state(self) -> str:
        """Which of the reasons a row has."""
        cases = [f'WHEN "plan" IS NULL OR "plan" <> \'{self.form.plan_id}\' THEN 1']
        if self.form.round_column in self.extra:
            others = f'"round" < 1 OR "round" > {self.form.rounds}'
            others = others if self.round is None else f'"round" <> {self.round}'
            cases.append(f'WHEN "round" IS NULL OR {others} THEN 2')
        valid = [self._holds(member, first) for member, first, _ in self.form.mechanism.members]
        for counting in self.countings:
            absent = " AND ".join(f"{quote(column.name)} IS NULL" for column in counting.columns)
            valid.append(f"({absent} OR {counting.valid})")
        if self.form.group is not None:
            name, size = _name_key(self.form.group[0]), self.form.group[1]
            valid.append(f"{name} >= 0 AND {name} < {size}")
        if ID in self.extra:
            valid.append('"id" IS NOT NULL')
        return f"CASE {' '.join(cases)} WHEN {' AND '.join(valid)} THEN 0 ELSE 3 END"

    def _holds(self, member: RecordMechanism, first: int) -> str:
        """The row holds as many attributes as a report does."""
        texts = [quote(counting.columns[0].name) for counting in self.countings[first : first + member.d]]
        if member.reports_all:
            is_there = [f"{text} IS NOT NULL" for text in texts]
            if (marked := member.marked) is not None:
                yes = " + ".join(f"CASE WHEN {text} = 0 THEN 1 ELSE 0 END" for text in texts)
                is_there.append(f"{yes} BETWEEN {marked[0]} AND {marked[-1]}")
            return " AND ".join(is_there)
        counted = " + ".join(f"CASE WHEN {text} IS NULL THEN 0 ELSE 1 END" for text in texts)
        return f"{counted} = {member.reported}"


@final
@dataclass(frozen=True)
class Cells:
    """Numbers from 0 to size - 1 that rows are counted by, each row once for each of its numbers."""

    texts: tuple[str, ...]
    size: int


@final
@dataclass(frozen=True)
class Counting:
    """How reports of one attribute are counted."""

    columns: tuple[Column, ...]
    valid: str
    """What must hold of a row that reports the attribute: its report is in canonical form."""
    cells: tuple[Cells, ...]
    """What rows are counted by."""
    sums: tuple[str, ...]
    """Conditions: how many rows meet each is counted in place of cells."""
    finish: Callable[[Sequence[Integers], int], Tally]
    """The tally of n reports, from the counts of each cells, or of the sums."""


def count_by(columns: tuple[Column, ...], mechanism: Mechanism) -> Counting:
    """How the reports in these columns are counted."""
    report_mechanism = mechanism.one_round
    for column in columns:
        if column.length is not None and column.length > MOST_LISTED:
            raise InvalidParameter(
                f"a report lists {column.length:,} values, and engines count lists of up to "
                f"{MOST_LISTED}; tally the reports from Parquet files, which this machine does by itself"
            )
    return _count(report_mechanism, columns)


def quote(name: str) -> str:
    """The name of a column in SQL."""
    return '"' + name.replace('"', '""') + '"'


@singledispatch
def _count(mechanism: Mechanism, columns: tuple[Column, ...]) -> Counting:  # noqa: ARG001
    raise InvalidParameter(
        f"{mechanism.title} cannot be counted by an engine; tally its reports from Parquet"
    )


@_count.register
def _count_number(
    mechanism: Direct | ChannelMechanism | Hadamard | Pooled, columns: tuple[Column, ...]
) -> Counting:
    """A report is one number, and how often each is reported is all that a tally needs."""
    size, text = mechanism.count_cells(mechanism.blank(0)).counts.size, quote(columns[0].name)

    def finish(counts: Sequence[Integers], n: int) -> Tally:
        return mechanism.finish_cells(Tally(n, np.asarray(counts[0])))

    return Counting(columns, f"{text} >= 0 AND {text} < {size}", (Cells((text,), size),), (), finish)


@_count.register
def _count_linear(mechanism: Linear, columns: tuple[Column, ...]) -> Counting:
    """No engine tells hashes of full rank: rows with one are fetched, and none of them is counted inside."""
    return Counting(columns, "FALSE", (), (), lambda _counts, _n: mechanism.tally(mechanism.blank(0)))


def _take_counts(counts: Sequence[Integers], n: int) -> Tally:
    """The tally where counts are of values already."""
    return Tally(n, np.asarray(counts[0]))


@_count.register
def _count_unary(mechanism: Unary, columns: tuple[Column, ...]) -> Counting:
    return _count_bits(mechanism.k, columns, "")


@_count.register
def _count_packed(mechanism: PackedSubset, columns: tuple[Column, ...]) -> Counting:
    members = " + ".join(f"CAST(BIT_COUNT({quote(column.name)}) AS BIGINT)" for column in columns)
    return _count_bits(mechanism.k, columns, f" AND {members} = {mechanism.size}")


def _count_bits(k: int, columns: tuple[Column, ...], more: str) -> Counting:
    """A report is packed bits: rows are counted by each of its bytes."""
    cells = []
    for byte in range(-(-k // 8)):
        word, shift = divmod(byte, WORD_BYTES)
        cells.append(Cells((f"(({quote(columns[word].name)} >> {8 * shift}) & 255)",), 256))

    def finish(counts: Sequence[Integers], n: int) -> Tally:
        bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
        return Tally(
            n, np.concatenate([bytes_counted @ bits.astype(np.int64) for bytes_counted in counts])[:k]
        )

    return Counting(columns, _limit_words(columns, k) + more, tuple(cells), (), finish)


def _limit_words(columns: Sequence[Column], bits: int) -> str:
    """Words have no bit beyond the last of so many."""
    limits = [1 << min(8 * WORD_BYTES, bits - 8 * WORD_BYTES * word) for word in range(len(columns))]
    return " AND ".join(
        f"{quote(column.name)} >= 0 AND {quote(column.name)} < {limit}"
        for column, limit in zip(columns, limits, strict=True)
    )


@_count.register
def _count_subset(mechanism: Subset, columns: tuple[Column, ...]) -> Counting:
    text = quote(columns[0].name)
    cells = Cells(tuple(f"{text}[{i}]" for i in range(1, mechanism.size + 1)), mechanism.k)
    return Counting(columns, _ascends(text, mechanism.size, mechanism.k), (cells,), (), _take_counts)


def _ascends(text: str, size: int, k: int) -> str:
    """A list has this many different numbers below k, in ascending order."""
    steps = [f"{text}[{i}] < {text}[{i + 1}]" for i in range(1, size)]
    return " AND ".join(
        [f"ARRAY_LENGTH({text}) = {size}", f"{text}[1] >= 0", *steps, f"{text}[{size}] < {k}"]
    )


@_count.register
def _count_hashed(mechanism: Hashed, columns: tuple[Column, ...]) -> Counting:
    a, b, bucket = (quote(column.name) for column in columns)
    function = f"{a} >= 1 AND {a} < {PRIME} AND {b} >= 0 AND {b} < {PRIME}"
    valid = f"{function} AND {bucket} >= 0 AND {bucket} < {mechanism.g}"
    sums = tuple(
        f"(({a} * {value + 1} + {b}) % {PRIME}) % {mechanism.g} = {bucket}" for value in range(mechanism.k)
    )
    return Counting(columns, valid, (), sums, _take_counts)


@_count.register
def _count_flips(mechanism: BitFlip, columns: tuple[Column, ...]) -> Counting:
    """Each value that a report is about is counted with its bit."""
    about, words = quote(columns[0].name), columns[1:]
    k, bits = mechanism.k, mechanism.bits
    valid = f"{_ascends(about, bits, k)} AND {_limit_words(words, bits)}"
    texts = []
    for i in range(bits):
        word, shift = divmod(i, 8 * WORD_BYTES)
        texts.append(f"(2 * {about}[{i + 1}] + (({quote(words[word].name)} >> {shift}) & 1))")

    def finish(counts: Sequence[Integers], n: int) -> Tally:
        pairs = counts[0].reshape(k, 2)
        return Tally(n, pairs[:, 1], pairs.sum(axis=1))

    return Counting(columns, valid, (Cells(tuple(texts), 2 * k),), (), finish)
