"""Fetches the reports of some attributes from a table, where counts do not say enough."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from typing import Any, final

import numpy as np

from deniable.arrays import Array
from deniable.engines.form import TableForm
from deniable.engines.rows import COUNTED, Rows
from deniable.engines.words import PackedWords


@final
@dataclass
class TableReports:
    """The reports of some attributes, of all rows that are counted; rows of several threads may be added."""

    form: TableForm
    places: tuple[int, ...]
    _blocks: dict[int, list[Array]] = field(default_factory=dict)
    _lock: Any = field(default_factory=Lock)

    def add(self, rows: Rows) -> None:
        """Keep what these rows report."""
        counted = rows.states == COUNTED
        for place in self.places:
            who, reports = rows.reports[place]
            kept = reports[counted[who]]
            block = kept.to_reports() if isinstance(kept, PackedWords) else kept
            with self._lock:
                self._blocks.setdefault(place, []).append(block)

    def clear(self) -> None:
        """Forget all rows: they are to be read again, without those of a damaged file."""
        self._blocks.clear()

    def join(self) -> list[Array]:
        """The reports of each attribute."""
        parts = self.form.mechanism.mechanisms
        return [
            np.concatenate([parts[place].blank(0), *self._blocks.get(place, [])]) for place in self.places
        ]


def list_hashes(form: TableForm) -> list[str]:
    """The columns that hold reports of values that nobody listed."""
    parts = zip(form.columns, form.mechanism.mechanisms, strict=True)
    return [column.name for columns, part in parts if not part.listed for column in columns]
