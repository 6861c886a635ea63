"""Reads what an attacker sees: the bytes, and which of the two answers each report supports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Integers
from deniable.mechanisms import Mechanism
from deniable.study import Plan
from deniable.wire import PREFIX, VERSION, Wire

Bytes = npt.NDArray[np.uint8]
Votes = npt.NDArray[np.unsignedinteger[Any]]
"""A row for each person, a column for each device."""

HEADER = 1 + PREFIX + 4 + 16
"""How many bytes of a report come before its body: version, plan, round and id."""
NEITHER, FIRST, SECOND, BOTH, ABSENT, REFUSED = range(6)
"""What a report says of an attribute: which of the pair's answers it supports, that it does not report it, or
nothing.
"""
_TOGETHER = 1 << 22  # reports times values whose support is computed at once
_ID = slice(HEADER - 16, HEADER)


@final
class Unreadable(bytes):
    """A report whose text a collector refuses, so that it has no bytes: the text itself, and the word for
    why.
    """

    reason: str = ""


@final
@dataclass(frozen=True)
class Observations:
    """A block of trials: what was seen, and (for the judge, not for the guess) which answer each
    device held.
    """

    pair: Integers
    second: npt.NDArray[np.bool_]
    bodies: Bytes
    """All rounds' bodies side by side, each with its length in two bytes before it."""
    ids: Bytes
    """All rounds' report ids side by side; no columns where reports have none."""
    identified: npt.NDArray[np.bool_]
    """Whether the ids of all rounds are there."""
    support: Bytes
    """A column for each round and attribute: one of the six states above; no columns without a plan."""


def join(parts: Sequence[Observations]) -> Observations:
    """Blocks, one after the other."""
    columns = zip(*map(_columns, parts), strict=True)
    return Observations(*map(np.concatenate, columns))


def cut(seen: Observations, low: int, high: int) -> Observations:
    """Some of the trials of a block."""
    return Observations(*(column[low:high] for column in _columns(seen)))


def _columns(seen: Observations) -> tuple[npt.NDArray[Any], ...]:
    return seen.pair, seen.second, seen.bodies, seen.ids, seen.identified, seen.support


@final
@dataclass
class Refusals:
    """Reports that a collector would refuse, by the reason."""

    reasons: Counter[str] = field(default_factory=Counter)
    examples: dict[str, bytes] = field(default_factory=dict)

    def add(self, reason: str, wrong: npt.NDArray[np.bool_], reports: Sequence[bytes]) -> None:
        """Count those that are wrong."""
        count = int(wrong.sum())
        if count:
            self.reasons[reason] += count
            self.examples.setdefault(reason, reports[int(np.argmax(wrong))])


@final
class Reader:
    """Cuts reports into what is seen of them."""

    def __init__(self, plan: Plan | None, headed: bool, codes: Sequence[Integers]) -> None:
        """For each round, the codes of every side: a row per attribute, a column per side (first, second of
        each pair).
        """
        self._wire = None if plan is None else Wire(plan.document)
        self._plan, self._headed, self._codes = plan, headed and plan is not None, codes
        self._widths: dict[int, int] = {}
        self.refusals = Refusals()
        self._linked = plan is not None and plan.document.linked
        self.unlinked = 0
        """Reports of a linked plan with another id than the first of their device."""

    def read(
        self, reports: Sequence[Sequence[bytes]], pair: Integers, second: npt.NDArray[np.bool_]
    ) -> Observations:
        """All rounds of a block."""
        bodies, ids, support = [], [], []
        identified = np.ones(len(pair), dtype=bool)
        for number, said in enumerate(reports, 1):
            table, lengths = _as_table(said)
            good = _all(said)
            if self._headed:
                read = self._readable(said)
                good = self._check_headers(table, lengths, read, number, said)
                identified &= read & (lengths >= HEADER)
                ids.append(np.pad(table[:, _ID], ((0, 0), (0, 16 - table[:, _ID].shape[1]))))
                table, lengths = table[:, HEADER:], lengths - HEADER
            bodies.append(np.clip(lengths, 0, 0xFFFF).astype("<u2").view(np.uint8).reshape(-1, 2))
            bodies.append(self._align_columns(table, number))
            if self._wire is not None:
                support.append(self._support(said, good, number, pair))
        who = np.flatnonzero(identified)
        ids = ids[: len(self._keep_first([(who, names[who]) for names in ids]))]
        nothing = np.zeros((len(pair), 0), dtype=np.uint8)
        joined = [np.hstack([nothing, *tables]) for tables in (bodies, ids, support)]
        return Observations(pair, second, joined[0], joined[1], identified, joined[2])

    def _readable(self, said: Sequence[bytes]) -> npt.NDArray[np.bool_]:
        """Which reports are bytes; the others are refused for what they are, and looked at no further."""
        if Unreadable not in set(map(type, said)):
            return _all(said)
        why = [report.reason if isinstance(report, Unreadable) else "" for report in said]
        for reason in sorted(set(why) - {""}):
            wrong = np.fromiter((reason_of == reason for reason_of in why), dtype=bool, count=len(why))
            self.refusals.add(f"JSON form ({reason})", wrong, said)
        return np.fromiter((not reason_of for reason_of in why), dtype=bool, count=len(why))

    def _align_columns(self, table: Bytes, number: int) -> Bytes:
        """As many columns in every block, so that what was learned of one fits the next."""
        longest = 0 if self._wire is None else self._wire.lengths[-1]
        width = self._widths.setdefault(number, max(longest, table.shape[1]))
        return np.pad(table[:, :width], ((0, 0), (0, max(0, width - table.shape[1]))))

    def _check_headers(
        self, table: Bytes, lengths: Integers, read: npt.NDArray[np.bool_], number: int, said: Sequence[bytes]
    ) -> npt.NDArray[np.bool_]:
        assert self._wire is not None
        if table.shape[1] < HEADER:
            good = np.zeros(len(said), dtype=bool)
        else:
            right = np.frombuffer(
                bytes([VERSION]) + self._wire.prefix + number.to_bytes(4, "little"), dtype=np.uint8
            )
            good = read & (lengths >= HEADER) & (table[:, : len(right)] == right).all(axis=1)
        self.refusals.add("header (version, plan, round)", read & ~good, said)
        return good

    def _support(
        self, said: Sequence[bytes], good: npt.NDArray[np.bool_], number: int, pair: Integers
    ) -> Bytes:
        """The state of every attribute; what a collector refuses says nothing that is supported."""
        assert self._plan is not None
        codes = self._codes[number - 1]
        states = np.full((len(said), len(self._plan.names)), REFUSED, dtype=np.uint8)
        positions, columns = self._sound(said, good)
        states[positions] = ABSENT
        for j, part, who, column in columns:
            first, second = codes[j, 2 * pair[who]], codes[j, 2 * pair[who] + 1]
            states[who, j] = part.supports(column, first) + 2 * part.supports(column, second).astype(np.uint8)
        return states

    def votes(
        self, reports: Sequence[Sequence[bytes]], codes: Sequence[Integers]
    ) -> tuple[Votes, list[tuple[Integers, Bytes]]]:
        """A row for each of several sides: how many attributes and rounds of each device's reports support
        it. And for each round all ids, with the devices that they are of.
        """
        most = sum(len(numbers) for numbers in codes)
        people, devices = codes[0].shape[1], len(reports[0])
        votes = np.zeros((people, devices), dtype=np.min_scalar_type(most))
        ids: list[tuple[Integers, Bytes]] = []
        for number, (said, numbers) in enumerate(zip(reports, codes, strict=True), 1):
            good = _all(said)
            if self._headed:
                table, lengths = _as_table(said)
                read = self._readable(said)
                good = self._check_headers(table, lengths, read, number, said)
                if table.shape[1] >= HEADER:
                    whose = np.flatnonzero(read & (lengths >= HEADER))
                    ids.append((whose, table[whose, _ID]))
            for j, part, who, column in self._sound(said, good)[1]:
                values, positions = np.unique(numbers[j], return_inverse=True)
                support = part.supports_each(column, values)
                for row, position in enumerate(positions.tolist()):
                    if len(who) == devices:  # a slice of all is added many times faster
                        votes[row] += support[position]
                    else:
                        votes[row, who] += support[position]
        return votes, self._keep_first(ids)

    def _keep_first(self, ids: list[tuple[Integers, Bytes]]) -> list[tuple[Integers, Bytes]]:
        """The ids of each round, and whose they are; of a linked plan those of one, as of all others."""
        if not self._linked:
            return ids
        for whose, names in ids[1:]:
            _, before, after = np.intersect1d(ids[0][0], whose, assume_unique=True, return_indices=True)
            self.unlinked += int((ids[0][1][before] != names[after]).any(axis=1).sum())
        return ids[:1]

    def _sound(
        self, said: Sequence[bytes], good: npt.NDArray[np.bool_]
    ) -> tuple[Integers, list[tuple[int, Mechanism, Integers, Array]]]:
        """Finds the reports that a collector takes; by attribute, its mechanism, reporters and reports."""
        assert self._wire is not None
        assert self._plan is not None
        start, positions = (HEADER if self._headed else 0), np.flatnonzero(good)
        kept = said if start == 0 and good.all() else [said[i][start:] for i in positions.tolist()]
        reports, sound = self._wire.sound(kept)
        wrong = good.copy()
        wrong[positions[sound]] = False
        self.refusals.add("body (not canonical)", wrong, said)
        positions, records = positions[sound], reports.records
        who = (
            [positions] * len(records.columns)
            if records.reporters is None
            else [positions[reporters] for reporters in records.reporters]
        )
        columns = map(np.ascontiguousarray, records.columns)
        return positions, list(zip(range(len(who)), self._plan.document.parts, who, columns, strict=True))


def _all(said: Sequence[bytes]) -> npt.NDArray[np.bool_]:
    return np.ones(len(said), dtype=bool)


def _as_table(reports: Sequence[bytes]) -> tuple[Bytes, Integers]:
    """Byte strings as rows, filled up with zeros, and how long they were."""
    lengths = np.fromiter(map(len, reports), dtype=np.int64, count=len(reports))
    width = int(lengths.max(initial=0))
    even = reports if (lengths == width).all() else [report.ljust(width, b"\0") for report in reports]
    return np.frombuffer(b"".join(even), dtype=np.uint8).reshape(len(reports), width), lengths
