"""Stores the tallies of a plan as one row of integers, which are added in one step."""

from __future__ import annotations

from typing import final

import numpy as np

from deniable.arrays import Integers
from deniable.errors import InvalidReport
from deniable.mechanisms import Tally
from deniable.plan.known_groups import add_groups
from deniable.records import Records
from deniable.reports import Tallies
from deniable.study import Plan

_STORED = np.dtype("<i8")


@final
class Sums:
    """The layout of the row: n, then for each attribute its n, its cells, and how many were asked.

    Cells are what batches add up to. Counts of values are made of them when a row is read: for hashes of a
    pool that takes far longer than to count a batch. Where groups are known, all that follows n is there for
    each of them.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan_id, self._mechanisms = plan.id, [part.one_round for part in plan.document.parts]
        nothing = [part.count_cells(part.blank(0)) for part in self._mechanisms]
        self._parts = [
            (name, tally.counts.size, tally.asked is not None)
            for name, tally in zip(plan.names, nothing, strict=True)
        ]
        self._known = plan.document.known
        blocks = 1 if self._known is None else self._known.size
        self.size = 1 + blocks * sum(1 + size * (1 + has_asked) for _, size, has_asked in self._parts)

    def zero(self) -> Integers:
        """Nothing counted yet."""
        return np.zeros(self.size, dtype=np.int64)

    def count(self, records: Records) -> Integers:
        """The row of reports that are in canonical form."""
        pieces: list[Integers | list[int]] = [[records.n]]
        for group in [records] if self._known is None else self._known.split(records):
            for part, column in zip(self._mechanisms, group.columns, strict=True):
                cells = part.count_cells(column)
                pieces += [[cells.n], cells.counts, *([] if cells.asked is None else [cells.asked])]
        return np.concatenate(pieces)

    def tallies(self, row: Integers, number: int | None) -> Tallies:
        """Tallies of a round from its row; numbers that no reports can give are refused."""
        if self._known is None:
            return Tallies(self._plan_id, int(row[0]), self._read_block(row, 1), round=number)
        step = (self.size - 1) // self._known.size
        groups = tuple(self._read_block(row, start) for start in range(1, self.size, step))
        return Tallies(self._plan_id, int(row[0]), add_groups(groups), groups, round=number)

    def _read_block(self, row: Integers, position: int) -> dict[str, Tally]:
        """The tallies of everybody, or of a group, from where they begin."""
        tallies = {}
        for part, (name, size, has_asked) in zip(self._mechanisms, self._parts, strict=True):
            ends = position + 1, position + 1 + size, position + 1 + size * (1 + has_asked)
            cells = Tally(
                int(row[position]), row[ends[0] : ends[1]], row[ends[1] : ends[2]] if has_asked else None
            )
            tallies[name] = part.finish_cells(cells)
            position = ends[2]
        return tallies

    def read(self, raw: bytes) -> Integers:
        """A row as it is stored."""
        if len(raw) != self.size * _STORED.itemsize:
            raise InvalidReport(
                f"stored tallies have {len(raw)} bytes where {self.size * _STORED.itemsize} belong; restore "
                "a backup"
            )
        return np.frombuffer(raw, dtype=_STORED).astype(np.int64)

    def read_n(self, raw: bytes) -> int:
        """How many reports a row is about, by its first bytes."""
        return int(np.frombuffer(raw, dtype=_STORED, count=1)[0])

    def write(self, row: Integers) -> bytes:
        """A row to be stored."""
        return row.astype(_STORED).tobytes()
