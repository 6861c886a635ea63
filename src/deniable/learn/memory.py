"""Remembers what was reported: how many reports at which loss, and with a memo those of every label.

A memo is a secret: the words of a report are computed from it, from the plan, the label and the values. The
same label and values give the same report. Beside the secret, a memo holds the labels in clear, and a keyed
mark of each one's values, by which it knows other values without holding any. Whoever has the secret can undo
the noise, so that it is never pickled.
"""

from __future__ import annotations

import hashlib
import warnings
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, final

import numpy as np

from deniable.arrays import Integers, list_blocks
from deniable.errors import DeniableWarning, InvalidParameter, InvalidValue
from deniable.exact import round_up
from deniable.randomness import Words, checked_source
from deniable.randomness.draws import WordArray
from deniable.randomness.words import DrawnRows, System
from deniable.records import Records
from deniable.study import Plan

Label = str | int
Block = tuple[slice, Records]
"""Some rows, and their reports."""
_ROWS = 1 << 17  # that are reported at a time
_WORDS = 1 << 20  # of a memo, at a time
_ONE_OF_TWO = "make a new transformer, so that all reports of a label are counted, or none"
_ONCE = "privatize once, then cross-validate on the reports"


@final
class Memory:
    """The reports of a transformer and of its clones."""

    def __init__(self) -> None:
        self._made: dict[str, int] = {}
        self._losses: dict[str, float] = {}
        self.repeats = Repeats()
        self._secret: bytes | None = None
        self._marks: dict[str, dict[Label, int]] = {}
        self._lost = False

    def __getstate__(self) -> dict[str, Any]:
        """The counts alone: a secret does not travel, and labels do not either."""
        lost = self._lost or self._secret is not None
        kept = {"_made": dict(self._made), "_losses": dict(self._losses), "_lost": lost}
        return {**kept, "repeats": self.repeats}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__()
        vars(self).update(state)

    @property
    def total(self) -> int:
        """How many reports were made."""
        return sum(self._made.values())

    def count_losses(self) -> dict[float, int]:
        """How many reports were made at each loss."""
        counts: dict[float, int] = {}
        for plan, number in self._made.items():
            loss = self._losses[plan]
            counts[loss] = counts.get(loss, 0) + number
        return counts

    def add_losses(self) -> dict[Label, float]:
        """What each label has lost with all its reports, rounded up."""
        sums: dict[Label, Fraction] = {}
        for plan, marks in self._marks.items():
            loss = Fraction(self._losses[plan])
            for label in marks:
                sums[label] = sums.get(label, 0) + loss
        return {label: round_up(lost) for label, lost in sums.items()}

    def start(self, memo: bool, words: Words | None) -> None:
        """Have a secret from now on, or none; reports with a memo and without one are never mixed."""
        if self._lost:
            raise InvalidParameter(
                "this transformer was copied or pickled, and its memo does not travel: other reports of the "
                "same rows would be made; privatize once, then cross-validate, or use n_jobs=1"
            )
        if not memo and self._secret is not None and self.total:
            raise InvalidParameter(f"reports were made with a memo; {_ONE_OF_TWO}")
        if memo and self._secret is None:
            if self.total:
                raise InvalidParameter(f"reports were made without a memo; {_ONE_OF_TWO}")
            self._secret = checked_source(words).take(4).tobytes()

    def draw(self, plan: Plan, loss: float, codes: Integers, words: Words) -> Iterator[Block]:
        """New reports of all rows, a column of codes per attribute."""
        for block in list_blocks(len(codes), _ROWS):
            records = plan.mechanism.privatize(codes[block], words)
            self._count(plan.id, loss, records.n)
            yield block, records

    def recall(self, plan: Plan, loss: float, codes: Integers, labels: Sequence[Label]) -> Iterator[Block]:
        """The reports of all rows, which are those of their labels.

        Labels are known once all rows are reported: a table that is refused leaves nothing behind.
        """
        mechanism = plan.mechanism
        known = self._marks.setdefault(plan.id, {})
        fresh: dict[Label, int] = {}
        for block in list_blocks(len(codes), min(_ROWS, _WORDS // mechanism.words)):
            block_labels = labels[block]
            words = self._take(plan.id, codes[block], block_labels, 1 + mechanism.words)
            for row, (label, mark) in enumerate(
                zip(block_labels, words[:, 0].tolist(), strict=True), block.start
            ):
                if known.get(label, mark) != mark:
                    raise _refuse_change(row)
                if label not in known:
                    fresh[label] = mark
            columns = np.ascontiguousarray(codes[block].T, dtype=np.int64)
            yield block, mechanism.encode(columns, DrawnRows(words[:, 1:]))
        known.update(fresh)
        self._count(plan.id, loss, len(fresh))

    def _take(self, plan: str, codes: Integers, labels: Sequence[Label], width: int) -> WordArray:
        """The words of each row: SHAKE-256 of the secret, the plan, its codes and its label.

        Only the label has no fixed length, and it comes last: no two rows have the same text.
        """
        assert self._secret is not None
        start = hashlib.shake_256(self._secret + hashlib.sha256(plan.encode()).digest())
        text = np.ascontiguousarray(codes).tobytes()
        size = len(text) // max(1, len(codes))
        streams = []
        for i, label in enumerate(labels):
            stream = start.copy()
            kind = "s" if isinstance(label, str) else "i"
            stream.update(text[i * size : (i + 1) * size] + f"{kind}{label}".encode())
            streams.append(stream.digest(8 * width))
        words = np.frombuffer(b"".join(streams), dtype="<u8").astype(np.uint64, copy=False)
        return words.reshape(len(labels), width)

    def _count(self, plan: str, loss: float, number: int) -> None:
        self._losses[plan] = loss
        self._made[plan] = self._made.get(plan, 0) + number


@final
class LeftBehind(Words):
    """In place of seeded words where an estimator is copied: two copies would give the same noise."""

    def take(self, count: int) -> WordArray:
        raise InvalidParameter(
            "this estimator was copied or pickled, and its seeded words do not travel: every copy would "
            "repeat their noise; give it others with set_params(words=...), or use n_jobs=1"
        )


def leave_behind(words: Words | None) -> Words | None:
    """What a copy of an estimator has for words: the operating system's are new everywhere."""
    if words is None or isinstance(words, System):
        return None if words is None else System()
    return LeftBehind()


def read_labels(table: Any) -> list[Label]:
    """The labels of a table's rows, a person each: text, or whole numbers of an index with a name."""
    index = getattr(table, "index", None)
    if index is None or callable(index):
        raise InvalidParameter(
            "memo='index' keeps a report for each row label, and this table has none; give a pandas frame "
            "whose index names the people"
        )
    labels = list(index.tolist())
    odd = next(
        (label for label in labels if isinstance(label, bool) or not isinstance(label, str | int)), None
    )
    if odd is not None:
        raise InvalidParameter(
            f"a row label is a whole number or text, got {type(odd).__name__}; set another index"
        )
    if index.name is None and any(isinstance(label, int) for label in labels):
        raise InvalidParameter(
            "memo='index' keeps a report for each person, and numbers of an index without a name are "
            'positions: two tables would give different people one report; use table.set_index("person"), '
            'or table.rename_axis("person") if these numbers are people'
        )
    if not index.is_unique:
        row = int(np.argmax(index.duplicated()))
        raise InvalidParameter(
            f"row {row} has the label of an earlier row; with memo='index' a label is one person with one "
            "row; leave the others out, or set an index that names the people"
        )
    return labels


def _refuse_change(row: int) -> InvalidValue:
    return InvalidValue(
        f"row {row} has a label that was reported with other protected values; two different reports would "
        "tell that a value has changed, whatever epsilon is",
        "give the values as they were, or collect values that change with mechanisms for rounds",
    )


@final
class Repeats:
    """The tables that a model and its clones have reported, and which of the clones did it."""

    def __init__(self) -> None:
        self._tables: list[weakref.ref[Any]] = []
        self._clones = 0
        self._reporters: set[int] = set()
        self._told = False
        self._moved = False

    def __getstate__(self) -> dict[str, bool]:
        """Nothing but that it was copied: a table is not known in another process."""
        return {"_moved": True}

    def __setstate__(self, state: dict[str, bool]) -> None:
        self.__init__()
        vars(self).update(state)

    def number_clone(self) -> int:
        """The number of a new clone; that of the first model is 0."""
        self._clones += 1
        return self._clones

    def warn_moved(self, stacklevel: int) -> None:
        """Warn, once, where a copy of a model is fitted: the first model does not count its reports."""
        if self._moved:
            self._moved = False
            warnings.warn(
                "this is a copy, as a cross-validation with n_jobs makes them: its reports are not counted "
                f"by the first one, and who is in several folds loses epsilon in each; {_ONCE}",
                DeniableWarning,
                stacklevel=stacklevel + 1,
            )

    def warn_repeated(self, table: object, clone: int, loss: float, remedy: str, stacklevel: int) -> None:
        """Warn where this table was reported before; and, once, where another clone made reports before."""
        if self._knows(table):
            message = (
                "this table was privatized before: these are second reports of the same people, who lose "
                f"{loss:.4g} more; {remedy}"
            )
        elif self._reporters - {clone} and not self._told:
            message = (
                "a clone made reports before, as the folds of a cross-validation do: who is in several folds "
                f"loses {loss:.4g} in each, and reports_made_ counts them; {remedy}"
            )
        else:
            return
        self._told = True
        warnings.warn(message, DeniableWarning, stacklevel=stacklevel + 1)

    def notice(self, table: object, clone: int) -> None:
        """Know from now on that this clone has reported this table."""
        self._reporters.add(clone)
        self._tables = [part for part in self._tables if part() is not None]
        self._tables += [weakref.ref(part) for part in _watchable(table)]

    def _knows(self, table: object) -> bool:
        """Whether this very table was reported before."""
        parts = _watchable(table)
        return bool(parts) and all(any(known() is part for known in self._tables) for part in parts)


@final
@dataclass
class Count:
    """The reports that a model and its clones have made."""

    reports: int = 0
    repeats: Repeats = field(default_factory=Repeats)


def _watchable(table: object) -> list[object]:
    """The table, or the columns of a dictionary, as far as they can be watched without being kept alive."""
    parts = list(table.values()) if isinstance(table, Mapping) else [table]
    return [part for part in parts if getattr(type(part), "__weakrefoffset__", 0)]
