"""Defines the report that is a value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Integers
from deniable.exact import power_up
from deniable.law import Law
from deniable.mechanisms.checks import checked_k, checked_words
from deniable.mechanisms.sets import Buckets, RoundShape
from deniable.mechanisms.shapes.common import check_keep, keep_or_other, keep_ratio, set_numbers, smallest
from deniable.randomness import FULL
from deniable.randomness.draws import WordArray
from deniable.randomness.words import Rows

_FEW_VALUES = 1 << 12  # whose counts, four times, stay in a near cache


@final
@dataclass(frozen=True)
class Direct(RoundShape):
    """The report is a value: the true one with probability keep / 2^64, else one of the others."""

    k: int
    keep: int

    def __post_init__(self) -> None:
        set_numbers(self, k=checked_k(self.k, 1 << 24, "direct"), keep=checked_words("keep", self.keep))
        check_keep(self.keep, self.k)

    title = "Direct encoding"
    phrase = "one value"
    words = 2
    names_value = True
    kept_parts = 1

    @property
    def report_bytes(self) -> int:
        return smallest(self.k).itemsize

    @property
    def ratio(self) -> Fraction:
        return keep_ratio(self.keep, self.k)

    @cached_property
    def law(self) -> Law:
        return replace(Law.fixed_size(self.k, 1, Fraction(self.keep, FULL)), ratio=self.ratio)

    @property
    def on_buckets(self) -> Buckets:
        return Buckets(self.k, Fraction(self.keep, FULL))

    def cover(self, weights: Sequence[int]) -> tuple[int, int]:
        return min(weights), max(weights)

    def support(self, reports: Array) -> npt.NDArray[np.bool_]:
        return np.asarray(reports[:, None] == np.arange(self.k))

    def supports(self, reports: Array, values: Integers) -> npt.NDArray[np.bool_]:
        return np.asarray(reports == values)

    def supports_each(self, reports: Array, values: Integers) -> npt.NDArray[np.bool_]:
        return np.asarray(reports == values[:, None])

    def blank(self, n: int) -> Array:
        return np.empty(n, dtype=smallest(self.k))

    def _encode(self, values: Integers, words: WordArray, reports: Array) -> None:
        reports[:] = keep_or_other(values.astype(np.uint64), words, self.k, self.keep)

    def _encode_compiled(self, values: Integers, rows: Rows, reports: Array) -> None:
        from deniable.mechanisms.shapes import loops

        loops.direct(values, rows.address(), np.uint64(self.k), np.uint64(self.keep), reports)

    def encode_again(self, reports: Array, rows: Rows) -> Array:
        return self.encode(reports.astype(np.int64), rows)

    def ratio_given(self, set_ratio: Fraction, clear: Fraction, reports: int) -> Fraction:
        # a and r are upper bounds that count the bias of `below`; the chain grows with both
        a, r, k = self.ratio, set_ratio, self.k
        return (a * r + k - 1) / (a + r + k - 2) * Fraction(FULL, FULL - 4 * self.k * (reports + 1))

    def speak(self, reports: int) -> tuple[Fraction, Fraction]:
        ratio = power_up(self.ratio, reports)
        return ratio, ratio

    @property
    def part_ratio(self) -> Fraction:
        return self.ratio

    @property
    def outline(self) -> str:
        return f"one of {self.k:,} values"

    @property
    def form(self) -> str:
        return f"a report is a value from 0 to {self.k - 1}"

    def canonical(self, reports: Array) -> npt.NDArray[np.bool_]:
        return np.asarray(reports < self.k)

    def _count(self, reports: Array, compiled: bool) -> Integers:
        if not compiled or self.k > _FEW_VALUES:
            return np.bincount(reports, minlength=self.k)
        from deniable.mechanisms.shapes import loops

        counts = np.zeros((4, self.k), dtype=np.int64)
        loops.count_values(reports, counts)
        return np.asarray(counts.sum(axis=0))
