"""Defines the report that is a function of a public pool and a bucket."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Integers
from deniable.errors import InvalidParameter
from deniable.exact import whole_number
from deniable.law import Law, checked_prior
from deniable.law.pairs import Lines
from deniable.mechanisms.checks import checked_k, checked_words
from deniable.mechanisms.sets import Buckets, Nobody, SetShape
from deniable.mechanisms.shapes.common import check_keep, keep_or_other, keep_ratio, set_numbers, smallest
from deniable.randomness import FULL, below
from deniable.randomness.draws import WordArray
from deniable.randomness.pool import HashPool
from deniable.randomness.words import Rows

MOST_VALUES = 1 << 20
MOST_BUCKETS = 251
MOST_CELLS = 1 << 22
"""Pairs of a function and a bucket: a tally counts them all."""


_PRIMES = [g for g in range(2, MOST_BUCKETS + 1) if all(g % divisor for divisor in range(2, g))]


@final
@dataclass(frozen=True)
class Pooled(SetShape):
    """The report is a function of a public pool and a bucket, in one number: the true value's bucket with
    probability keep / 2^64.

    The function is drawn without looking at the value, so it costs no privacy; the loss is that of the
    bucket. Counts of functions and buckets are all that a tally needs of the reports.
    """

    k: int
    g: int
    keep: int

    def __post_init__(self) -> None:
        set_numbers(self, k=checked_k(self.k, MOST_VALUES, "pooled"))
        g = whole_number("g, the number of buckets,", self.g, 2, MOST_BUCKETS, reason="g")
        if g not in _PRIMES:
            raise InvalidParameter(f"g, the number of buckets of a pool, must be prime, got {g}", "g")
        set_numbers(self, g=g, keep=checked_words("keep", self.keep))
        check_keep(self.keep, g)
        if self.pool.cells > MOST_CELLS:
            raise InvalidParameter(
                f"a pool has at most {MOST_CELLS:,} pairs of a function and a bucket, and this one has "
                f"{self.pool.cells:,}; take fewer buckets",
                "g",
            )

    title = "Pooled local hashing"
    words = 3

    @property
    def phrase(self) -> str:
        return f"one of {self.pool.size:,} public hash functions and one of {self.g:,} buckets"

    @cached_property
    def pool(self) -> HashPool:
        """The functions."""
        return HashPool(self.k, self.g)

    @property
    def report_bytes(self) -> int:
        return smallest(self.pool.cells).itemsize

    @property
    def ratio(self) -> Fraction:
        return keep_ratio(self.keep, self.g)

    @cached_property
    def law(self) -> Law:
        return pool_law(self.pool, Fraction(self.keep, FULL), self.ratio)

    def success(self, prior: npt.ArrayLike | None = None) -> float:
        return self.law.success() if prior is None else guess_bucket(self.pool, self.law.p, prior)

    @property
    def nobody(self) -> Nobody:
        """A function as in any report, and a uniform bucket."""
        share = Fraction(1, self.g)
        return Nobody(2, share, share * self.pool.collision, self.g)

    @property
    def on_buckets(self) -> Buckets:
        return Buckets(self.g, Fraction(self.keep, FULL))

    def _encode_nobody(self, words: WordArray, reports: Array) -> None:
        reports[:] = below(words[:, 0], self.pool.size) * np.uint64(self.g) + below(words[:, 1], self.g)

    def support(self, reports: Array) -> npt.NDArray[np.bool_]:
        function, bucket = self.split(reports)
        return np.asarray(self.pool.buckets(function[:, None], np.arange(self.k)) == bucket[:, None])

    def supports(self, reports: Array, values: Integers) -> npt.NDArray[np.bool_]:
        function, bucket = self.split(reports)
        return np.asarray((self.pool.buckets(function, np.maximum(values, 0)) == bucket) & (values >= 0))

    def supports_each(self, reports: Array, values: Integers) -> npt.NDArray[np.bool_]:
        return np.array([self.supports(reports, np.full(len(reports), value)) for value in values.tolist()])

    def blank(self, n: int) -> Array:
        return np.empty(n, dtype=smallest(self.pool.cells))

    def split(self, reports: Array) -> tuple[Integers, Integers]:
        """The function and the bucket of each report."""
        function, bucket = np.divmod(np.asarray(reports).astype(np.int64), self.g)
        return function, bucket

    def _encode(self, values: Integers, words: WordArray, reports: Array) -> None:
        function = below(words[:, 0], self.pool.size)
        true = self.pool.buckets(function, values).astype(np.uint64)
        bucket = keep_or_other(true, words[:, 1:], self.g, self.keep)
        reports[:] = function * np.uint64(self.g) + bucket

    def _encode_compiled(self, values: Integers, rows: Rows, reports: Array) -> None:
        from deniable.mechanisms.shapes import loops

        words = rows.address()
        size, keep = np.uint64(self.pool.size), np.uint64(self.keep)
        loops.pooled(values, words, size, np.uint64(self.g), keep, reports)

    @property
    def outline(self) -> str:
        return f"one of {self.g:,} buckets of {self.k:,} values, by a public pool"

    @property
    def form(self) -> str:
        return f"a report is a number from 0 to {self.pool.cells - 1}"

    def canonical(self, reports: Array) -> npt.NDArray[np.bool_]:
        return np.asarray(reports < self.pool.cells)

    def _count(self, reports: Array, compiled: bool) -> Integers:
        return np.bincount(reports, minlength=self.pool.cells)

    def support_counts(self, cells: Integers) -> Integers:
        """How many reports support each value, from how many there are of each function and bucket."""
        return self.pool.sum_support(cells.reshape(self.pool.size, self.g))

    def _finish(self, cells: Integers, n: int) -> Integers:
        return self.support_counts(cells)


def pool_law(pool: HashPool, p: Fraction, ratio: Fraction) -> Law:
    """The law of a bucket of a function of the pool, which is the true one with probability p."""
    together = pool.collision
    q = p * together + (1 - p) * (1 - together) / (pool.g - 1)
    return Law.design(pool.k, *pool.count_sizes(), p, q, ratio, Lines(pool, float(p)))


def guess_bucket(pool: HashPool, p: float, prior: npt.ArrayLike) -> float:
    """How often the best guess is right of an attacker with a prior: the most common value of the reported
    bucket, or else the most common of all.
    """
    shares = checked_prior(prior, pool.k)
    order = np.argsort(-shares, kind="stable")
    # a report from outside its bucket is as likely from any value, so the most common is guessed
    floor = shares[order[0]] * (1 - p) / (pool.g - 1)
    left = np.ones((pool.size, pool.g), dtype=bool)
    functions, total = np.arange(pool.size), 0.0
    for value in order.tolist():
        gain = p * shares[value]
        if gain <= floor or functions.size == 0:
            break
        buckets = pool.buckets(functions, value)
        total += int(left[functions, buckets].sum()) * gain
        left[functions, buckets] = False
        functions = functions[left[functions].any(axis=1)]
    return float(total + int(left.sum()) * floor) / pool.size


@lru_cache(maxsize=1024, typed=True)
def find_pool(k: int, epsilon: float, most: int | None = None) -> HashPool:
    """The pool with the least error of a value that nobody has, of at most so many functions."""
    pools = [pool for pool in (HashPool(k, g) for g in _PRIMES) if pool.cells <= MOST_CELLS]
    fewest = min(pool.size for pool in pools)
    most = most if most is None else whole_number("pool, the number of hash functions,", most, fewest)

    def error(pool: HashPool) -> float:
        g, together = pool.g, float(pool.collision)
        odds = math.exp(min(epsilon, 40.0))
        other = 1 / (odds + g - 1)
        q = together * odds * other + (1 - together) * other
        # p - q is (1 - together) (odds - 1) other, and odds - 1 is the same for all
        return q * (1 - q) / ((1 - together) * other) ** 2

    return min((pool for pool in pools if most is None or pool.size <= most), key=error)
