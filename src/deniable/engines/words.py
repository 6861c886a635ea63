"""Counts packed reports by the words of their columns: what a bit is need not become a byte first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Integers
from deniable.engines.form import WORD_BYTES, Column, from_columns
from deniable.mechanisms import ExactMechanism, PackedSubset, Tally, Unary
from deniable.mechanisms.blocks import worth_compiling
from deniable.mechanisms.shapes import bits

Flags = npt.NDArray[np.bool_]
_BITS = 8 * WORD_BYTES


@final
@dataclass(frozen=True)
class PackedWords:
    """Reports whose bits are in columns of words, a number for each report in each."""

    mechanism: ExactMechanism
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


def pack_words(
    contents: Sequence[Array], columns: tuple[Column, ...], mechanism: ExactMechanism
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
