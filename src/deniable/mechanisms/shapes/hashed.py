"""Defines the report that is a hash function and a bucket."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Integers
from deniable.exact import PRIME, whole_number
from deniable.law import Law
from deniable.mechanisms.base import BLOCK
from deniable.mechanisms.checks import checked_k, checked_words
from deniable.mechanisms.sets import Buckets, Nobody, SetShape
from deniable.mechanisms.shapes.common import check_keep, keep_or_other, keep_ratio, set_numbers, smallest
from deniable.randomness import FULL, below
from deniable.randomness.draws import WordArray
from deniable.randomness.hashing import collision, hash_function, hash_values, occupied_buckets
from deniable.randomness.words import Rows


@final
@dataclass(frozen=True)
class Hashed(SetShape):
    """The report is a random hash function (a, b) and a bucket: the true value's with probability keep /
    2^64.

    The function is drawn without looking at the value, so it costs no privacy; the loss is that of the
    bucket.
    """

    k: int
    g: int
    keep: int

    def __post_init__(self) -> None:
        set_numbers(self, k=checked_k(self.k, PRIME - 1, "hashed"))
        set_numbers(self, g=whole_number("g, the number of buckets,", self.g, 2, PRIME - 1, reason="g"))
        set_numbers(self, keep=checked_words("keep", self.keep))
        check_keep(self.keep, self.g)

    title = "Local hashing"
    words = 3

    @property
    def phrase(self) -> str:
        return f"a hash function and one of {self.g:,} buckets"

    @property
    def report_bytes(self) -> int:
        return 8 + smallest(self.g).itemsize

    @property
    def ratio(self) -> Fraction:
        return keep_ratio(self.keep, self.g)

    @cached_property
    def law(self) -> Law:
        """Exact in p, q and ratio; its sizes are those of an ideal hash (see `success`)."""
        buckets = replace(Law.fixed_size(self.g, 1, Fraction(self.keep, FULL)), ratio=self.ratio)
        return buckets.hashed(self.k, collision(self.g))

    def success(self, prior: npt.ArrayLike | None = None) -> float:
        """The best guess against this very hash family, whose buckets fill otherwise than an ideal hash's.

        With a prior, the ideal hash stands in.
        """
        if prior is not None:
            return self.law.success(prior)
        full = occupied_buckets(self.k, self.g)
        p = self.law.p
        return (full * p + (self.g - full) * (1 - p) / (self.g - 1)) / self.k

    @property
    def nobody(self) -> Nobody:
        """A function as in any report, and a uniform bucket."""
        share = Fraction(1, self.g)
        return Nobody(2, share, share * collision(self.g), self.g)

    @property
    def on_buckets(self) -> Buckets:
        return Buckets(self.g, Fraction(self.keep, FULL))

    def _encode_nobody(self, words: WordArray, reports: Array) -> None:
        reports["a"], reports["b"] = hash_function(words[:, 0])
        reports["bucket"] = below(words[:, 1], self.g)

    def support(self, reports: Array) -> npt.NDArray[np.bool_]:
        return np.asarray(
            hash_values(reports["a"], reports["b"], self.k, self.g) == reports["bucket"][:, None]
        )

    def supports(self, reports: Array, values: Integers) -> npt.NDArray[np.bool_]:
        known = (np.maximum(values, 0) + 1).astype(np.uint64)
        a, b, bucket = (reports[name].astype(np.uint64) for name in ("a", "b", "bucket"))
        is_supported = (a * known + b) % np.uint64(PRIME) % np.uint64(self.g) == bucket
        return np.asarray(is_supported & (values >= 0))

    def supports_each(self, reports: Array, values: Integers) -> npt.NDArray[np.bool_]:
        return np.array([self.supports(reports, np.full(len(reports), value)) for value in values.tolist()])

    def blank(self, n: int) -> Array:
        return np.empty(n, dtype=[("a", "<u4"), ("b", "<u4"), ("bucket", smallest(self.g))])

    def _encode(self, values: Integers, words: WordArray, reports: Array) -> None:
        a, b = hash_function(words[:, 0])
        true = (a * (values.astype(np.uint64) + np.uint64(1)) + b) % np.uint64(PRIME) % np.uint64(self.g)
        reports["a"], reports["b"] = a, b
        reports["bucket"] = keep_or_other(true, words[:, 1:], self.g, self.keep)

    def _encode_compiled(self, values: Integers, rows: Rows, reports: Array) -> None:
        from deniable.mechanisms.shapes import loops

        words = rows.address()
        as_bytes = reports.view(np.uint8).reshape(values.size, self.report_bytes)
        loops.hashed(values, words, np.uint32(self.g), np.uint64(self.keep), as_bytes)

    @property
    def outline(self) -> str:
        return f"one of {self.g:,} buckets of {self.k:,} values"

    @property
    def form(self) -> str:
        return f"a hashed report has a from 1 to {PRIME - 1}, b below {PRIME} and a bucket below {self.g}"

    def canonical(self, reports: Array) -> npt.NDArray[np.bool_]:
        a, b, bucket = reports["a"], reports["b"], reports["bucket"]
        return np.asarray((a >= 1) & (a < PRIME) & (b < PRIME) & (bucket < self.g))

    @property
    def _cells_per_report(self) -> int:
        return self.k

    def _count(self, reports: Array, compiled: bool) -> Integers:
        if not compiled:
            counts = np.zeros(self.k, dtype=np.int64)
            for row in np.array_split(reports, max(1, len(reports) * self.k // BLOCK)):
                counts += self.support(row).sum(axis=0)
            return counts
        from deniable.mechanisms.shapes import loops

        twos = (self.g & -self.g).bit_length() - 1
        inverse = pow(self.g >> twos, -1, 1 << 32)
        counts = np.zeros(self.k, dtype=np.int64)
        limits = np.uint32(inverse), np.uint32(twos), np.uint32(PRIME // self.g)
        loops.count_hashes(reports["a"], reports["b"], reports["bucket"], *limits, counts)
        return counts
