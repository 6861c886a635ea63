"""Defines the report that is a small set of values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Integers
from deniable.errors import InvalidParameter
from deniable.exact import whole_number
from deniable.formatting import format_count
from deniable.law import Law
from deniable.mechanisms.base import BLOCK
from deniable.mechanisms.checks import checked_k, checked_words
from deniable.mechanisms.sets import SetShape
from deniable.mechanisms.shapes.common import set_numbers, smallest
from deniable.words import FULL, Rows, WordArray, below, chance


@final
@dataclass(frozen=True)
class Subset(SetShape):
    """The report is a set of `size` values in ascending order: the true one is a member with probability keep
    / 2^64.
    """

    k: int
    size: int
    keep: int

    def __post_init__(self) -> None:
        set_numbers(self, k=checked_k(self.k, 1 << 16, "subset"))
        what = "size, the number of members of a subset,"
        set_numbers(self, size=whole_number(what, self.size, 1, self.k - 1, reason="size"))
        set_numbers(self, keep=checked_words("keep", self.keep))
        if self.keep * self.k <= FULL * self.size:
            text = f"keep must be above 2^64 * size / k and below 2^64, got {self.keep}"
            raise InvalidParameter(text, "likelier")

    title = "Subset selection"

    @property
    def phrase(self) -> str:
        return f"a set of {format_count(self.size, 'value')}"

    @property
    def words(self) -> int:
        return 1 + self.size

    @property
    def report_bytes(self) -> int:
        return self.size * smallest(self.k).itemsize

    @property
    def ratio(self) -> Fraction:
        """Each of at most 2 size draws is off by at most (k - 1) / 2^64 of itself: a close upper bound."""
        bias = Fraction(FULL, FULL - 2 * self.size * (self.k - 1))
        return Fraction(self.keep * (self.k - self.size), (FULL - self.keep) * self.size) * bias

    @cached_property
    def law(self) -> Law:
        return replace(Law.fixed_size(self.k, self.size, Fraction(self.keep, FULL)), ratio=self.ratio)

    @cached_property
    def odds(self) -> float:
        p = self.law.exact_p
        return float(p * (self.k - self.size) / ((1 - p) * self.size))

    @property
    def names_value(self) -> bool:
        return self.size == 1

    def support(self, reports: Array) -> npt.NDArray[np.bool_]:
        holds = np.zeros((len(reports), self.k), dtype=bool)
        np.put_along_axis(holds, np.asarray(reports).astype(np.int64), True, axis=1)
        return holds

    def supports(self, reports: Array, values: Integers) -> npt.NDArray[np.bool_]:
        return np.asarray((reports == values[:, None]).any(axis=1))

    def supports_each(self, reports: Array, values: Integers) -> npt.NDArray[np.bool_]:
        return np.array([(reports == value).any(axis=1) for value in values.tolist()])

    def blank(self, n: int) -> Array:
        return np.empty((n, self.size), dtype=smallest(self.k))

    def _encode(self, values: Integers, words: WordArray, reports: Array) -> None:
        if len(values) < 64:
            for i, (value, row) in enumerate(zip(values.tolist(), words.tolist(), strict=True)):
                reports[i] = self._sampled_one(value, row)
            return
        step = max(1, BLOCK // self.k)
        for start in range(0, len(values), step):
            block = slice(start, start + step)
            reports[block] = self._sample(values[block], words[block])

    def _sampled_one(self, value: int, words: list[int]) -> list[int]:
        """The same for one report at a time, as a device makes them."""
        kept = words[0] < self.keep
        members = {value} if kept else set()
        wanted = self.size - kept
        for draw in range(wanted):
            last = self.k - 1 - wanted + draw
            drawn = words[1 + draw] * (last + 1) >> 64
            drawn += drawn >= value
            members.add(drawn if drawn not in members else last + (last >= value))
        return sorted(members)

    def _encode_compiled(self, values: Integers, rows: Rows, reports: Array) -> None:
        from deniable.mechanisms.shapes import loops

        numbers = np.uint64(self.k), np.uint64(self.size), np.uint64(self.keep)
        loops.subset(values, rows.address(), *numbers, reports)

    def _sample(self, values: Integers, words: WordArray) -> Array:
        """Floyd's sampling among the k - 1 others: every set is equally likely, one word a member."""
        rows = np.arange(len(values))
        kept = chance(words[:, 0], self.keep)
        wanted = self.size - kept.astype(np.int64)
        members = np.zeros((len(values), self.k), dtype=bool)
        members[rows, values] = kept
        for draw in range(self.size):
            active = draw < wanted
            last = np.where(active, self.k - 1 - wanted + draw, 0)
            drawn = below(words[:, 1 + draw], (last + 1).astype(np.uint64)).astype(np.int64)
            drawn += drawn >= values
            taken = members[rows, drawn]
            drawn = np.where(taken, last + (last >= values), drawn)
            members[rows[active], drawn[active]] = True
        return np.nonzero(members)[1].reshape(len(values), self.size)

    @property
    def outline(self) -> str:
        return f"a subset of {self.size:,} of {self.k:,}"

    @property
    def form(self) -> str:
        return (
            f"a report is {self.size} values from 0 to {self.k - 1} in ascending order: any other order can "
            "show the truth"
        )

    def canonical(self, reports: Array) -> npt.NDArray[np.bool_]:
        ascending = (reports[:, 1:] > reports[:, :-1]).all(axis=1)
        return np.asarray(ascending & (reports[:, -1] < self.k))

    def _count(self, reports: Array, compiled: bool) -> Integers:
        return np.bincount(reports.reshape(-1), minlength=self.k)
