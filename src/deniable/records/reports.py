"""Holds the reports of many records, and cuts the bytes that they travel as."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from deniable.arrays import Array, Integers
from deniable.formatting import format_count
from deniable.mechanisms import Mechanism


@final
@dataclass(frozen=True, eq=False)
class Records:
    """Reports of n records: a column for each attribute and, where not all are reported, its reporters."""

    n: int
    columns: tuple[Array, ...]
    reporters: tuple[Integers, ...] | None = None
    """For each attribute, the numbers of the records that report it, in order; None where all report all."""
    groups: Integers | None = None
    """The known group of each record; None where no groups are known."""

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        return (
            f"<Records: {format_count(self.n, 'record')} of {format_count(len(self.columns), 'attribute')}>"
        )

    def select(self, start: int, stop: int) -> Records:
        """The records with these attributes only."""
        reporters = None if self.reporters is None else self.reporters[start:stop]
        return Records(self.n, self.columns[start:stop], reporters)

    def pick(self, rows: Integers) -> Records:
        """Some of the records, in this order."""
        groups = None if self.groups is None else self.groups[rows]
        if self.reporters is None:
            return Records(len(rows), tuple(column[rows] for column in self.columns), None, groups)
        columns, reporters = [], []
        for column, who in zip(self.columns, self.reporters, strict=True):
            place = np.searchsorted(who, rows)
            is_there = np.append(who, -1)[place] == rows
            columns.append(column[place[is_there]])
            reporters.append(np.flatnonzero(is_there))
        return Records(len(rows), tuple(columns), tuple(reporters), groups)

    @staticmethod
    def join(n: int, pieces: Sequence[Records]) -> Records:
        """The attributes of several pieces of the same n records, one after the other."""
        columns = tuple(column for piece in pieces for column in piece.columns)
        if all(piece.reporters is None for piece in pieces):
            return Records(n, columns)
        everyone = np.arange(n)
        reporters: list[Integers] = []
        for piece in pieces:
            reporters += (everyone,) * len(piece.columns) if piece.reporters is None else piece.reporters
        return Records(n, columns, tuple(reporters))

    @staticmethod
    def stack(blocks: Sequence[Records]) -> Records:
        """The records of several blocks, one after the other, with the same attributes."""
        if len(blocks) == 1:
            return blocks[0]
        columns = tuple(
            np.concatenate(parts) for parts in zip(*(block.columns for block in blocks), strict=True)
        )
        n = sum(block.n for block in blocks)
        known = [block.groups for block in blocks if block.groups is not None]
        groups = np.concatenate(known) if known and len(known) == len(blocks) else None
        if all(block.reporters is None for block in blocks):
            return Records(n, columns, None, groups)
        starts = np.cumsum([0, *(block.n for block in blocks)]).tolist()
        reporters = [
            np.concatenate(
                [
                    start + (np.arange(block.n) if block.reporters is None else block.reporters[j])
                    for start, block in zip(starts, blocks, strict=False)
                ]
            )
            for j in range(len(columns))
        ]
        return Records(n, columns, tuple(reporters), groups)


class Span(NamedTuple):
    """Where the report of an attribute is in a body."""

    attribute: int
    start: int
    stop: int


class Cut(NamedTuple):
    """Bodies that hold the same attributes: their numbers, in order, where the attributes are that were found
    so far, and where the last of them ends.
    """

    who: Integers
    spans: tuple[Span, ...]
    end: int


def cut_evenly(raw: bytes, size: int) -> list[bytes]:
    """Pieces of one length, many times faster than slices."""
    pieces: list[bytes] = np.frombuffer(raw, dtype=f"V{size}").tolist()
    return pieces


def join_pieces(part: Mechanism, pieces: Sequence[tuple[Integers, Array]]) -> tuple[Integers, Array]:
    """The reports of one attribute, by the numbers of their bodies."""
    like = part.blank(0)
    if not pieces:
        return np.zeros(0, dtype=np.int64), like
    who = np.concatenate([numbers for numbers, _ in pieces])
    table = np.concatenate([raw for _, raw in pieces])
    if len(pieces) > 1:
        order = np.argsort(who)
        who, table = who[order], table[order]
    return who, np.frombuffer(table.tobytes(), dtype=like.dtype).reshape(len(who), *like.shape[1:])
