"""Keeps a permanent first answer, and adds a fresh second round to it at every collection.

What repeated reports give away is not one number. `losses` states four: one report; several of an unchanged
value; any number of one value; a sequence in which the value changes.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, cast, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Integers
from deniable.errors import InvalidParameter
from deniable.exact import PRIME, log_up, times_up, whole_number
from deniable.formatting import format_loss
from deniable.law import Law
from deniable.mechanisms import Direct, Hashed, Losses, Mechanism, Pooled, SetMechanism, Tally, Unary
from deniable.mechanisms.losses import MOST_REPORTS
from deniable.mechanisms.sets import Buckets, Nobody
from deniable.mechanisms.shapes.pooled import guess_bucket, pool_law
from deniable.randomness import below
from deniable.randomness.hashing import collision, hash_function, hash_values, occupied_buckets
from deniable.randomness.pool import HashPool
from deniable.randomness.words import Rows
from deniable.rounds.carried import keep_first
from deniable.rounds.changes import ChangesLoss, bound_changes


class Kept(Mechanism):
    """A mechanism for many collections: kept words, so that asking again does not average the noise away."""

    repeated = True

    def describe_loss(self) -> str:
        losses = self.losses(1, 1)
        forever = format_loss(losses.one_value_forever)
        return f"loss {format_loss(losses.one_report)} of one report, {forever} of any number of one value"

    @abstractmethod
    def losses(self, reports: int = 10, rounds: int = 10) -> Losses:
        """All four losses, with `reports` reports of one value and `rounds` reports of changing ones."""


class Repeated(Kept, SetMechanism):
    """A mechanism for many collections whose reports support sets of values."""

    @abstractmethod
    def ratio_after(self, reports: int) -> Fraction:
        """The largest ratio after this many reports of one value, rounded up."""


class ReportedOnce(Kept):
    """A mechanism for many collections whose every report has the form of `one_round`, and is read as one."""

    @property
    def report_bytes(self) -> int:
        return self.one_round.report_bytes

    def blank(self, n: int) -> Array:
        return self.one_round.blank(n)

    def canonical(self, reports: Array) -> npt.NDArray[np.bool_]:
        return self.one_round.canonical(reports)

    def support(self, reports: Array) -> npt.NDArray[np.bool_]:
        return self.one_round.support(reports)

    def supports(self, reports: Array, values: Integers) -> npt.NDArray[np.bool_]:
        return self.one_round.supports(reports, values)

    def supports_each(self, reports: Array, values: Integers) -> npt.NDArray[np.bool_]:
        return self.one_round.supports_each(reports, values)

    def tally(self, reports: Array) -> Tally:
        return self.one_round.tally(reports)

    def tally_checked(self, reports: Array) -> Tally:
        return self.one_round.tally_checked(reports)

    def count_cells(self, reports: Array) -> Tally:
        return self.one_round.count_cells(reports)

    def finish_cells(self, cells: Tally) -> Tally:
        return self.one_round.finish_cells(cells)


@final
@dataclass(frozen=True)
class Memoized(ReportedOnce, Repeated):
    """A permanent answer by `first`, and at each collection a fresh report of it by `second`."""

    first: Direct | Unary
    second: Direct | Unary

    keeps_apart = True

    @property
    def title(self) -> str:
        return f"Memoized {self.second.title.lower()}"

    @property
    def phrase(self) -> str:
        return f"{self.second.phrase}, by a first answer that is kept"

    def __post_init__(self) -> None:
        if type(self.first) is not type(self.second) or self.first.k != self.second.k:
            text = "both rounds must have the same shape and the same number of values"
            raise InvalidParameter(text, "shape")

    @property
    def k(self) -> int:
        return self.first.k

    @property
    def words(self) -> int:
        return self.first.words + self.second.words

    @cached_property
    def law(self) -> Law:
        return replace(self.first.law.then(self.second.law), ratio=self.ratio)

    @cached_property
    def ratio(self) -> Fraction:
        return self.ratio_after(1)

    def ratio_after(self, reports: int) -> Fraction:
        """The largest ratio after this many reports of one value: exact for a few dozen, then rounded up.

        That of any number, `first.ratio`, bounds it.
        """
        whole_number("reports", reports, 1, MOST_REPORTS)
        return self.first.ratio_after(self.second, reports)

    def losses(self, reports: int = 10, rounds: int = 10) -> Losses:
        whole_number("rounds", rounds, 1)
        one_report = self.loss()
        changes = (
            ChangesLoss(one_report, True) if rounds == 1 else bound_changes(self.first, self.second, rounds)
        )
        return Losses(
            one_report=one_report,
            same_value=log_up(min(self.ratio_after(reports), self.first.ratio)),
            one_value_forever=self.first.loss(),
            changing_values=changes.loss,
            changing_values_usual=times_up(self.first.loss(), min(rounds, self.k)),
            reports=reports,
            rounds=rounds,
            changing_values_exact=changes.exact,
        )

    def encode(self, values: Integers, rows: Rows) -> Array:
        kept = keep_first(self.first, values, rows)
        return self.second.encode_again(kept, rows.columns(self.first.words, self.words))

    @property
    def nobody(self) -> Nobody | None:
        if self.first.nobody is None:
            return None
        return Nobody(self.words, self.law.exact_q, self.law.exact_q**2)

    def encode_nobody(self, rows: Rows) -> Array:
        return self.encode(np.full(rows.n, -1), rows)

    @property
    def on_buckets(self) -> Buckets | None:
        first = self.first.on_buckets
        return None if first is None else first._replace(again=self.second.law.exact_p)

    @property
    def permanent(self) -> Direct | Unary:
        return self.first

    @property
    def one_round(self) -> Direct | Unary:
        return self.second

    @property
    def names_value(self) -> bool:
        return self.second.names_value

    @property
    def bitwise(self) -> bool:
        return self.second.bitwise

    def packed_support(self, reports: Array) -> npt.NDArray[np.uint8]:
        return self.second.packed_support(reports)


_Function = tuple[npt.NDArray[np.uint64], ...]


@dataclass(frozen=True)
class MemoizedBuckets(ReportedOnce, Repeated):
    """A hash function that is kept, and two rounds on the bucket: answers are kept per bucket."""

    k: int
    buckets: Memoized

    def __post_init__(self) -> None:
        if not self.buckets.names_value:
            raise InvalidParameter("the rounds on a bucket are direct ones", "shape")
        object.__setattr__(self, "k", self.one_round.k)

    @property
    def phrase(self) -> str:
        return f"one of {self.g:,} buckets, by {self._function} and a first answer that are kept"

    _function: ClassVar[str]
    """What hashes values, in words."""

    @property
    @abstractmethod
    def one_round(self) -> Hashed | Pooled:
        """The mechanism with the threshold of the first round, whose reports have this form."""

    @property
    def permanent(self) -> Hashed | Pooled:
        return self.one_round

    @property
    @abstractmethod
    def occupied(self) -> float:
        """How many buckets hold a value, on average over all functions."""

    @abstractmethod
    def split(self, reports: Array) -> tuple[Integers, Integers]:
        """The bucket of each report, and the buckets of all values by its function."""

    @abstractmethod
    def _draw(self, words: npt.NDArray[np.uint64]) -> _Function:
        """The hash function of each word."""

    @abstractmethod
    def _hash(self, function: _Function, values: Integers) -> Integers:
        """The bucket of each value by its function."""

    @abstractmethod
    def _report(self, function: _Function, buckets: Integers) -> Array:
        """The reports of these functions and buckets."""

    @property
    def g(self) -> int:
        """The number of buckets."""
        return self.buckets.k

    @property
    def words(self) -> int:
        return 1 + self.buckets.words

    @property
    def ratio(self) -> Fraction:
        return self.buckets.ratio

    def ratio_after(self, reports: int) -> Fraction:
        return self.buckets.ratio_after(reports)

    @property
    def nobody(self) -> Nobody:
        """A function that is kept, and two rounds of which the first is a uniform bucket."""
        return self.permanent.nobody._replace(words=2 + self.buckets.second.words)

    def encode_nobody(self, rows: Rows) -> Array:
        kept = rows.columns(0, 2).recall().array()
        first, fresh = below(kept[:, 1], self.g), rows.columns(2, self.nobody.words)
        return self._report(self._draw(kept[:, 0]), self.buckets.second.encode_again(first, fresh))

    @property
    def on_buckets(self) -> Buckets | None:
        return self.buckets.on_buckets

    @cached_property
    def odds(self) -> float:
        p = self.law.exact_p
        return float(p * (self.g - 1) / (1 - p))

    def losses(self, reports: int = 10, rounds: int = 10) -> Losses:
        losses = self.buckets.losses(reports, rounds)
        all_buckets = self.k >= self.g  # some hash function reaches all of them
        return replace(losses, changing_values_exact=losses.changing_values_exact and all_buckets)

    def success(self, prior: npt.ArrayLike | None = None) -> float:
        if prior is not None:
            return self.law.success(prior)
        full, p = self.occupied, self.law.p
        return (full * p + (self.g - full) * (1 - p) / (self.g - 1)) / self.k

    def encode(self, values: Integers, rows: Rows) -> Array:
        function = self._draw(rows.columns(0, 1).recall().array()[:, 0])
        true = self._hash(function, values)
        return self._report(function, self.buckets.encode(true, rows.columns(1, self.words)))


@final
@dataclass(frozen=True)
class HashedMemoized(MemoizedBuckets):
    """A hash function of its own that each device keeps, and two rounds on the bucket (LOLOHA)."""

    title = "Memoized local hashing"
    _function = "a hash function"

    @property
    def one_round(self) -> Hashed:
        return Hashed(self.k, self.g, cast(Direct, self.buckets.first).keep)

    @cached_property
    def law(self) -> Law:
        return self.buckets.law.hashed(self.k, collision(self.g))

    @property
    def occupied(self) -> float:
        return occupied_buckets(self.k, self.g)

    def split(self, reports: Array) -> tuple[Integers, Integers]:
        table = hash_values(reports["a"], reports["b"], self.k, self.g)
        return reports["bucket"].astype(np.int64), table.astype(np.int64)

    def _draw(self, words: npt.NDArray[np.uint64]) -> _Function:
        return hash_function(words)

    def _hash(self, function: _Function, values: Integers) -> Integers:
        a, b = function
        true = (a * (values.astype(np.uint64) + np.uint64(1)) + b) % np.uint64(PRIME) % np.uint64(self.g)
        return true.astype(np.int64)

    def _report(self, function: _Function, buckets: Integers) -> Array:
        reports = self.blank(len(buckets))
        reports["a"], reports["b"] = function
        reports["bucket"] = buckets
        return reports


@final
@dataclass(frozen=True)
class PooledMemoized(MemoizedBuckets):
    """A hash function of a public pool that each device keeps, and two rounds on the bucket.

    Reports are counted by function and bucket, whatever the number of values is.
    """

    title = "Memoized pooled hashing"
    _function = "a public hash function"

    @cached_property
    def one_round(self) -> Pooled:
        return Pooled(self.k, self.g, cast(Direct, self.buckets.first).keep)

    @property
    def pool(self) -> HashPool:
        """The functions."""
        return self.one_round.pool

    @cached_property
    def law(self) -> Law:
        return pool_law(self.pool, self.buckets.law.exact_p, self.ratio)

    @property
    def occupied(self) -> float:
        sizes, counts = self.pool.count_sizes()
        return float(counts[sizes > 0].sum()) / self.pool.size

    def success(self, prior: npt.ArrayLike | None = None) -> float:
        if prior is None:
            return super().success()
        return guess_bucket(self.pool, self.law.p, prior)

    def split(self, reports: Array) -> tuple[Integers, Integers]:
        function, bucket = self.one_round.split(reports)
        return bucket, self.pool.buckets(function[:, None], np.arange(self.k))

    def _draw(self, words: npt.NDArray[np.uint64]) -> _Function:
        return (below(words, self.pool.size),)

    def _hash(self, function: _Function, values: Integers) -> Integers:
        return self.pool.buckets(function[0], values)

    def _report(self, function: _Function, buckets: Integers) -> Array:
        reports = self.blank(len(buckets))
        reports[:] = function[0].astype(np.int64) * self.g + buckets
        return reports
