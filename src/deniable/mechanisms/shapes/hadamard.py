"""Defines the report that is a column of a Hadamard matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Integers
from deniable.law import Law, checked_prior
from deniable.law.pairs import Walsh, walsh_transform
from deniable.mechanisms.checks import checked_k, checked_words
from deniable.mechanisms.sets import Nobody, SetShape
from deniable.mechanisms.shapes.common import check_keep, set_numbers, smallest
from deniable.randomness import FULL, chance
from deniable.randomness.draws import WordArray
from deniable.randomness.words import Rows

_HALF, _LOW = np.uint64(32), np.uint64((1 << 32) - 1)  # of a word


@final
@dataclass(frozen=True)
class Hadamard(SetShape):
    """The report is a column of a Hadamard matrix, uniform in the half that agrees with the value's row, or
    else not.

    Report y supports v where (v + 1) and y have an even number of common bits; any two rows share half their
    halves.
    """

    k: int
    keep: int

    def __post_init__(self) -> None:
        k = checked_k(self.k, (1 << 20) - 1, "Hadamard")
        set_numbers(self, k=k, keep=checked_words("keep", self.keep))
        check_keep(self.keep, 2)

    title = "Hadamard response"
    phrase = "a column of a Hadamard matrix"
    words = 2

    @property
    def bits(self) -> int:
        """The matrix has 2^bits columns, more than there are values."""
        return int(self.k).bit_length()

    @property
    def report_bytes(self) -> int:
        return smallest(1 << self.bits).itemsize

    @property
    def ratio(self) -> Fraction:
        return Fraction(self.keep, FULL - self.keep)

    @cached_property
    def law(self) -> Law:
        rows = np.zeros(1 << self.bits, dtype=np.int64)
        rows[1 : self.k + 1] = 1
        sizes, counts = np.unique((self.k + walsh_transform(rows)) // 2, return_counts=True)
        p = Fraction(self.keep, FULL)
        pairs = Walsh(self.bits, float(p))
        return Law.design(self.k, sizes, counts, p, Fraction(1, 2), self.ratio, pairs)

    def success(self, prior: npt.ArrayLike | None = None) -> float:
        """With a prior, the best guess is a column's most common supported value, or else the most common."""
        if prior is None:
            return self.law.success()
        shares, p = checked_prior(prior, self.k), self.law.p
        order = np.argsort(-shares, kind="stable")
        best, left, total = shares[order[0]], np.arange(1 << self.bits, dtype=np.uint64), 0.0
        for rank, value in enumerate(order):
            supports = np.bitwise_count(left & np.uint64(value + 1)) % 2 == 0
            gain = p * shares[value] if rank == 0 else max(p * shares[value], (1 - p) * best)
            total += int(supports.sum()) * gain
            left = left[~supports]
            if left.size == 0:
                break
        return float(total + left.size * (1 - p) * best) / (1 << (self.bits - 1))

    @cached_property
    def odds(self) -> float:
        p = self.law.exact_p
        return float(p / (1 - p))

    @property
    def nobody(self) -> Nobody:
        """Every column is as likely."""
        return Nobody(1, Fraction(1, 2), Fraction(1, 4))

    def cover(self, weights: Sequence[int]) -> tuple[int, int]:
        """From transforms of the high and of the low halves of the weights, which integers hold exactly."""
        rows, words = np.zeros((3, 1 << self.bits), dtype=np.int64), np.array(weights, dtype=np.uint64)
        rows[:, 1 : self.k + 1] = words >> _HALF, words & _LOW, np.ones(self.k, dtype=np.uint64)
        high, low, supported = walsh_transform(rows)
        tells = np.abs(supported) < self.k  # all values, or none, tell no two apart
        high, low = (high + (low >> 32))[tells], (low & 0xFFFFFFFF)[tells]

        def add_up(first: int, rest: int) -> int:
            return (FULL + (first << 32) + rest) // 2

        least, largest = int(high.min()), int(high.max())
        return (
            add_up(least, int(low[high == least].min())),
            add_up(largest, int(low[high == largest].max())),
        )

    def _encode_nobody(self, words: WordArray, reports: Array) -> None:
        reports[:] = words[:, 0] >> np.uint64(64 - self.bits)

    def support(self, reports: Array) -> npt.NDArray[np.bool_]:
        common = np.asarray(reports).astype(np.uint64)[:, None] & np.arange(1, self.k + 1, dtype=np.uint64)
        return np.asarray(np.bitwise_count(common) % 2 == 0)

    def blank(self, n: int) -> Array:
        return np.empty(n, dtype=smallest(1 << self.bits))

    def _encode(self, values: Integers, words: WordArray, reports: Array) -> None:
        row = values + 1
        column = (words[:, 1] >> np.uint64(64 - self.bits)).astype(np.int64)
        agrees = np.bitwise_count(column & row) % 2 == 0
        reports[:] = np.where(agrees == chance(words[:, 0], self.keep), column, column ^ (row & -row))

    def _encode_compiled(self, values: Integers, rows: Rows, reports: Array) -> None:
        from deniable.mechanisms.shapes import loops

        words = rows.address()
        loops.hadamard(values, words, np.uint64(self.bits), np.uint64(self.keep), reports)

    @property
    def outline(self) -> str:
        return f"a half of {self.k:,} values"

    @property
    def form(self) -> str:
        return f"a report is a column from 0 to {(1 << self.bits) - 1}"

    def canonical(self, reports: Array) -> npt.NDArray[np.bool_]:
        return np.asarray(reports < 1 << self.bits)

    def _count(self, reports: Array, compiled: bool) -> Integers:
        return np.bincount(reports, minlength=1 << self.bits)

    def support_counts(self, columns: Integers, n: int) -> Integers:
        """How many of n reports support each value, from how many name each column."""
        return (n + walsh_transform(columns)[1 : self.k + 1]) // 2

    def _finish(self, cells: Integers, n: int) -> Integers:
        return self.support_counts(cells, n)
