"""Defines the reports that are a set of values of fixed size: listed, or as packed bits."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Integers, list_blocks
from deniable.errors import InvalidParameter
from deniable.exact import whole_number
from deniable.formatting import format_count
from deniable.law import Law
from deniable.mechanisms.base import BLOCK
from deniable.mechanisms.checks import checked_k, checked_words
from deniable.mechanisms.sets import Nobody, SetShape
from deniable.mechanisms.shapes import bits
from deniable.mechanisms.shapes.common import draw_members, set_numbers, smallest
from deniable.randomness import FULL, below, chance
from deniable.randomness.draws import WordArray
from deniable.randomness.words import Rows


@dataclass(frozen=True)
class SubsetShape(SetShape):
    """A set of `size` values: the true one is a member with probability keep / 2^64.

    How the set is written says nothing of the value. `Subset` lists its members, `PackedSubset` has a bit for
    each value.
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

    @property
    def nobody(self) -> Nobody:
        """Every set is as likely."""
        share, others = Fraction(self.size, self.k), Fraction(self.size - 1, self.k - 1)
        return Nobody(self.size, share, share * others, self.size * self.k)

    def cover(self, weights: Sequence[int]) -> tuple[int, int]:
        ordered = sorted(weights)
        return sum(ordered[: self.size]), sum(ordered[-self.size :])

    def _encode_nobody(self, words: WordArray, reports: Array) -> None:
        for block in list_blocks(len(words), BLOCK // self.k):
            reports[block] = self.write_members(draw_members(words[block], self.k))

    @abstractmethod
    def write_members(self, members: npt.NDArray[np.bool_]) -> Array:
        """The reports of sets, given as a table of reports by values."""

    def _encode(self, values: Integers, words: WordArray, reports: Array) -> None:
        for block in list_blocks(len(values), BLOCK // self.k):
            sample = self._sample_each if len(values) < 64 else self._sample
            reports[block] = self.write_members(sample(values[block], words[block]))

    def _sample_each(self, values: Integers, words: WordArray) -> npt.NDArray[np.bool_]:
        """The members of each set, one report at a time, as a device makes them."""
        members = np.zeros((len(values), self.k), dtype=bool)
        for i, (value, row) in enumerate(zip(values.tolist(), words.tolist(), strict=True)):
            members[i, list(self._sampled_one(value, row))] = True
        return members

    def _sampled_one(self, value: int, words: list[int]) -> set[int]:
        kept = words[0] < self.keep
        members = {value} if kept else set()
        count = self.size - kept
        for draw in range(count):
            last = self.k - 1 - count + draw
            member = words[1 + draw] * (last + 1) >> 64
            member += member >= value
            members.add(member if member not in members else last + (last >= value))
        return members

    @property
    def _numbers(self) -> tuple[np.uint64, np.uint64, np.uint64]:
        return np.uint64(self.k), np.uint64(self.size), np.uint64(self.keep)

    def _sample(self, values: Integers, words: WordArray) -> npt.NDArray[np.bool_]:
        """Floyd's sampling among the k - 1 others: every set is equally likely, one word a member."""
        rows = np.arange(len(values))
        kept = chance(words[:, 0], self.keep)
        count = self.size - kept.astype(np.int64)
        members = np.zeros((len(values), self.k), dtype=bool)
        members[rows, values] = kept
        for draw in range(self.size):
            active = draw < count
            last = np.where(active, self.k - 1 - count + draw, 0)
            member = below(words[:, 1 + draw], (last + 1).astype(np.uint64)).astype(np.int64)
            member += member >= values
            taken = members[rows, member]
            member = np.where(taken, last + (last >= values), member)
            members[rows[active], member[active]] = True
        return members

    @property
    def outline(self) -> str:
        return f"a subset of {self.size:,} of {self.k:,}"


@final
@dataclass(frozen=True)
class Subset(SubsetShape):
    """The report is a set of `size` values in ascending order: the true one is a member with probability keep
    / 2^64.
    """

    @property
    def report_bytes(self) -> int:
        return self.size * smallest(self.k).itemsize

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

    def write_members(self, members: npt.NDArray[np.bool_]) -> Array:
        return np.nonzero(members)[1].astype(smallest(self.k)).reshape(len(members), self.size)

    def _encode_compiled(self, values: Integers, rows: Rows, reports: Array) -> None:
        from deniable.mechanisms.shapes import loops

        loops.subset(values, rows.address(), *self._numbers, reports)

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


@final
@dataclass(frozen=True)
class PackedSubset(bits.Packed, SubsetShape):
    """The report of `Subset` as k bits, packed: those of the `size` members are set.

    It is shorter where a set holds more than an eighth of the values (a sixteenth of more than 256).
    """

    packed = True

    def write_members(self, members: npt.NDArray[np.bool_]) -> Array:
        return bits.pack_members(members)

    def _encode_compiled(self, values: Integers, rows: Rows, reports: Array) -> None:
        from deniable.mechanisms.shapes import loops

        loops.packed_subset(values, rows.address(), *self._numbers, reports)

    @property
    def form(self) -> str:
        return f"a report has bits for {self.k} values, sets {self.size} of them, and none beyond them"

    def canonical(self, reports: Array) -> npt.NDArray[np.bool_]:
        sized = bits.count_set(reports) == self.size
        return np.asarray(sized & bits.leave_unused(reports, self.k))
