"""Remembers what was reported: how many reports were made, and with a memo the noise of every label.

A memo is a secret: the words of a report are computed from it, from the label and from the value. The same
label and value give the same report, and nothing else is stored. Another value has words of its own, so that
two reports of a label never share noise. Whoever has the secret can undo the noise: it is never pickled.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, final

import numpy as np

from deniable.arrays import Array, Integers
from deniable.errors import InvalidParameter
from deniable.mechanisms import ExactMechanism
from deniable.records import RecordMechanism, Records
from deniable.words import DrawnRows, WordArray, Words, checked_source, keyed

Label = str | int
_BLOCK = 1 << 17  # words at a time
_NOT_REPORTED = -1


@final
class Memory:
    """The reports of one transformer, and of all its clones where there is a memo."""

    def __init__(self) -> None:
        self.total = 0
        """How many reports were made."""
        self._tables: list[weakref.ref[Any]] = []
        self._secret: bytes | None = None
        self._seen: dict[tuple[str, Label], set[bytes]] = {}
        self._lost = False

    def __getstate__(self) -> dict[str, Any]:
        """The count alone: a secret does not travel, and labels and values do not either."""
        return {"total": self.total, "_lost": self._lost or self._secret is not None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__()
        vars(self).update(state)

    def notice(self, table: object) -> bool:
        """Whether this very table was reported before; it is known from now on."""
        self._tables = [one for one in self._tables if one() is not None]
        if any(one() is table for one in self._tables):
            return True
        with suppress(TypeError):  # a list cannot be watched
            self._tables.append(weakref.ref(table))
        return False

    def keep_secret(self, words: Words | None) -> None:
        """Have a secret from now on; one that was left behind in another process is not replaced."""
        if self._lost:
            raise InvalidParameter(
                "this transformer was copied or pickled, and its memo does not travel: other reports of the "
                "same rows would be made; privatize once, then cross-validate, or use n_jobs=1"
            )
        if self._secret is None:
            self._secret = checked_source(words).take(4).tobytes()

    def count_labels(self) -> dict[Label, int]:
        """How many different reports each label has given."""
        counts: dict[Label, int] = {}
        for (_, label), reports in self._seen.items():
            counts[label] = counts.get(label, 0) + len(reports)
        return counts

    def privatize(
        self, plan: str, mechanism: RecordMechanism, codes: Integers, labels: Sequence[Label]
    ) -> Records:
        """A report per row of codes, a column per attribute: that of its label and values."""
        held = self._draw_reported(plan, mechanism, labels)
        columns, reporters = [], []
        for j, part in enumerate(mechanism.mechanisms):
            who = np.flatnonzero(held[j])
            columns.append(self._encode(plan, j, part, codes[who, j], [labels[i] for i in who.tolist()]))
            reporters.append(who)
        self._count(plan, np.where(held.T, codes, _NOT_REPORTED), labels)
        return Records(len(codes), tuple(columns), None if held.all() else tuple(reporters))

    def _draw_reported(
        self, plan: str, mechanism: RecordMechanism, labels: Sequence[Label]
    ) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which attributes each label reports: the same for ever, whatever its values."""
        if mechanism.reports_all:
            return np.ones((mechanism.d, len(labels)), dtype=np.bool_)
        words = self._take([(plan, "attribute", label) for label in labels], mechanism.reported)
        return mechanism.draw_reported(DrawnRows(words))

    def _encode(
        self, plan: str, attribute: int, part: ExactMechanism, codes: Integers, labels: Sequence[Label]
    ) -> Array:
        reports = part.blank(len(codes))
        step = max(1, _BLOCK // part.words)
        for low in range(0, len(codes), step):
            here = slice(low, low + step)
            names = zip(labels[here], codes[here].tolist(), strict=True)
            words = self._take([(plan, attribute, label, code) for label, code in names], part.words)
            reports[here] = part.encode(codes[here], DrawnRows(words))
        return reports

    def _take(self, names: Sequence[tuple[Label, ...]], width: int) -> WordArray:
        """The words of each name, which the secret gives again and again."""
        assert self._secret is not None
        words = np.empty((len(names), width), dtype=np.uint64)
        for row, name in zip(words, names, strict=True):
            row[:] = keyed(self._secret, *name).take(width)
        return words

    def _count(self, plan: str, reported: Integers, labels: Sequence[Label]) -> None:
        for label, row in zip(labels, np.ascontiguousarray(reported), strict=True):
            known = self._seen.setdefault((plan, label), set())
            before = len(known)
            known.add(row.tobytes())
            self.total += len(known) - before


def read_labels(table: Any) -> list[Label]:
    """The labels of a table's rows, which name people: whole numbers or text."""
    index = getattr(table, "index", None)
    if index is None or callable(index):
        raise InvalidParameter(
            "memo='index' keeps a report for each row label, and this table has none; give a pandas frame "
            "whose index names the people"
        )
    labels = index.tolist()
    odd = next((one for one in labels if isinstance(one, bool) or not isinstance(one, str | int)), None)
    if odd is not None:
        raise InvalidParameter(f"a row label is a whole number or text, got {odd!r}; set another index")
    return list(labels)
