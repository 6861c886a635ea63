"""Writes the queries that count a table of reports, and reads tallies from what an engine answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from typing import Any, final

import numpy as np

from deniable.arrays import Integers
from deniable.engines.counting import Counting, count_by, quote
from deniable.engines.form import ID, PLAN, REASONS, ROUND, Counted, TableForm
from deniable.records import RecordMechanism

Run = Callable[[str], Iterable[Sequence[Any]]]
"""Runs a query in DuckDB's words on an engine, and gives its rows."""

_AT_ONCE = 400  # sums in one query: PostgreSQL's rows have at most 1,664 columns

KEY = "key "
"""What the name of a key begins with inside of queries."""


def name_key(key: str) -> str:
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
        return "".join(f"{name_key(key)}, " for key in self.keys)

    def _sound_rows(self) -> str:
        """The rows and their state; a refused row has no numbers, so that nothing overflows."""
        columns = [quote(column.name) for counting in self.countings for column in counting.columns]
        masked = [f'CASE WHEN "state" = 0 THEN {text} END AS {text}' for text in columns]
        keys = list(map(name_key, self.form.list_keys(self.keys)))
        step = f'SELECT {", ".join([*keys, *masked])}, "state" FROM "final"'
        return f'{self._judged_rows()}, "sound" AS ({step})'

    def _judged_rows(self) -> str:
        """The rows and their state. Only the first step knows the names of the table's columns, which may be
        any.
        """
        form_columns = [column for columns in self.form.columns for column in columns]
        columns = [quote(column.name) for counting in self.countings for column in counting.columns]
        by = self.form.list_keys(self.keys)
        keys = list(map(name_key, by))
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
            copy = f'ROW_NUMBER() OVER (PARTITION BY "id", "state" ORDER BY {ordered})'
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
            name, size = name_key(self.form.group[0]), self.form.group[1]
            valid.append(f"{name} >= 0 AND {name} < {size}")
        if ID in self.extra:
            valid.append('"id" IS NOT NULL')
        return f"CASE {' '.join(cases)} WHEN {' AND '.join(valid)} THEN 0 ELSE 3 END"

    def _holds(self, member: RecordMechanism, first: int) -> str:
        """The row holds as many attributes as a report does."""
        texts = [quote(counting.columns[0].name) for counting in self.countings[first : first + member.d]]
        if member.reports_all:
            return " AND ".join(f"{text} IS NOT NULL" for text in texts)
        counted = " + ".join(f"CASE WHEN {text} IS NULL THEN 0 ELSE 1 END" for text in texts)
        return f"{counted} = {member.reported}"
