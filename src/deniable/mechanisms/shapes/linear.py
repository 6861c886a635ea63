"""Defines the report that is a linear hash and a bucket, for codes that are too many to list."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import NoReturn, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Floats, Integers
from deniable.errors import InvalidParameter
from deniable.exact import whole_number
from deniable.law import Law
from deniable.law.law import ReportLaw
from deniable.mechanisms.blocks import Blockwise
from deniable.mechanisms.checks import checked_words
from deniable.mechanisms.shapes.common import check_keep, keep_or_other, keep_ratio, set_numbers
from deniable.mechanisms.tally import Tally
from deniable.randomness import FULL, cell, toeplitz
from deniable.randomness.draws import WordArray
from deniable.randomness.words import Rows

_LISTED = 16  # codes of so many bits can be listed, as tests do


@final
@dataclass(frozen=True)
class Linear(Blockwise):
    """The report is a random linear hash and a bucket: the true code's with probability keep / 2^64.

    Codes have `bits` bits, buckets `rows` bits. The hash is drawn without looking at the code, so it costs no
    privacy; the loss is that of the bucket. Rows of a hash are independent, already in the leading bits of a
    code: every report supports the same number of codes, and no report all short texts. Codes are too many to
    be counted, so a tally counts buckets, and `deniable.discovery` finds those that many people have.

    >>> from deniable.mechanisms import linear
    >>> m = linear(bits=50, epsilon=2.0)
    >>> m.g, m.report_bytes, m.loss() <= 2.0
    (8, 8, True)
    """

    bits: int
    rows: int
    keep: int

    listed = False
    title = "Linear hashing"
    words = 6

    def __post_init__(self) -> None:
        bits = whole_number("bits, the length of a code,", self.bits, 1, toeplitz.MOST_BITS, reason="bits")
        most = min(bits, toeplitz.MOST_ROWS)
        rows = whole_number("rows, the bits of a bucket,", self.rows, 1, most, reason="rows")
        set_numbers(self, bits=bits, rows=rows, keep=checked_words("keep", self.keep))
        check_keep(self.keep, self.g)

    @property
    def k(self) -> int:
        return 1 << self.bits

    @property
    def g(self) -> int:
        """The number of buckets."""
        return 1 << self.rows

    @property
    def tallied(self) -> int:
        return self.g

    @property
    def phrase(self) -> str:
        return f"a linear hash and one of {self.g:,} buckets"

    @property
    def outline(self) -> str:
        return f"one of {self.g:,} buckets of codes of {self.bits} bits"

    def describe_values(self) -> str:
        return f"codes of {self.bits} bits"

    def describe_guess(self) -> str:
        return ""

    @property
    def hash_bytes(self) -> int:
        """The bytes of a report that say which hash it is."""
        return (toeplitz.count_random(self.bits, self.rows) + 7) // 8

    @property
    def report_bytes(self) -> int:
        return self.hash_bytes + 1

    @property
    def ratio(self) -> Fraction:
        return keep_ratio(self.keep, self.g)

    @cached_property
    def law(self) -> Law:
        """Its q is exact on average over all other codes; `bound_other` holds for each of them."""
        size = 1 << (self.bits - self.rows)
        return replace(Law.fixed_size(self.k, size, Fraction(self.keep, FULL)), ratio=self.ratio)

    @property
    def bound_other(self) -> tuple[Fraction, Fraction]:
        """The least and the largest chance that a report supports a code that its sender does not have.

        It is nearly 1 / g, and not the same for all codes: a hash that is not fair is not sent.
        """
        kept, (fewest, most) = Fraction(self.keep, FULL), cell(self.g - 1)
        least, largest = toeplitz.bound_collision(self.bits, self.rows)
        rarest, likeliest = ((1 - kept) * Fraction(times, FULL) for times in (fewest, most))
        return kept * least + rarest * (1 - least), kept * largest + likeliest * (1 - largest)

    def success(self, prior: npt.ArrayLike | None = None) -> float:
        """How often the best guess is right if all codes are equally likely: one of those in the bucket."""
        if prior is not None:
            raise InvalidParameter(
                f"shares of all {self.describe_values()} cannot be listed; leave the prior out"
            )
        return float(Fraction(self.keep, FULL) / (1 << (self.bits - self.rows)))

    def tell_two(self) -> float:
        """How often the best guess is right which of two codes it is, if the hash separates them.

        >>> from deniable.mechanisms import linear
        >>> round(linear(bits=50, epsilon=2.0).tell_two(), 3)
        0.722
        """
        keep = Fraction(self.keep, FULL)
        return float(keep + (1 - keep) * Fraction(self.g - 2, 2 * (self.g - 1)))

    def support(self, reports: Array) -> npt.NDArray[np.bool_]:
        if self.bits > _LISTED:
            raise InvalidParameter(
                f"the values that a report supports are too many to list, 2^{self.bits - self.rows}; "
                "supports(reports, values) looks at given ones"
            )
        rows, is_supported = self._read_rows(reports), np.empty((len(reports), self.k), dtype=bool)
        for code in range(self.k):
            is_supported[:, code] = toeplitz.hash_codes(rows, np.array(code)) == reports["bucket"]
        return is_supported

    def likelihoods(self, reports: Array) -> Floats:
        p = Fraction(self.keep, FULL)
        return np.where(self.support(reports), float(p * (self.g - 1) / (1 - p)), 1.0)

    def supports(self, reports: Array, values: Integers) -> npt.NDArray[np.bool_]:
        is_supported = (
            toeplitz.hash_codes(self._read_rows(reports), np.maximum(values, 0)) == reports["bucket"]
        )
        return np.asarray(is_supported & (values >= 0))

    def supports_each(self, reports: Array, values: Integers) -> npt.NDArray[np.bool_]:
        rows, is_supported = self._read_rows(reports), np.zeros((len(values), len(reports)), dtype=bool)
        for i, value in enumerate(values.tolist()):
            if value >= 0:
                is_supported[i] = toeplitz.hash_codes(rows, np.array(value)) == reports["bucket"]
        return is_supported

    def _read_rows(self, reports: Array) -> npt.NDArray[np.uint64]:
        return toeplitz.list_rows(*toeplitz.from_bytes(reports["bits"]), self.bits, self.rows)

    def blank(self, n: int) -> Array:
        return np.empty(n, dtype=[("bits", "u1", (self.hash_bytes,)), ("bucket", "u1")])

    def _draw_hashes(self, words: WordArray) -> toeplitz.Halves:
        """The hash of each row of words: where it is not fair another, and then a fixed one."""
        low_mask, high_mask = toeplitz.mask_words(self.bits, self.rows)
        low, high = words[:, 0] & low_mask, words[:, 1] & high_mask
        fixed = toeplitz.fix_hash(self.bits)
        for after in ((words[:, 2] & low_mask, words[:, 3] & high_mask), (fixed, 0)):
            bad = ~toeplitz.are_fair(toeplitz.list_rows(low, high, self.bits, self.rows), self.bits)
            low = np.where(bad, after[0], low).astype(np.uint64)
            high = np.where(bad, after[1], high).astype(np.uint64)
        return low, high

    def _encode(self, values: Integers, words: WordArray, reports: Array) -> None:
        low, high = self._draw_hashes(words)
        true = toeplitz.hash_codes(toeplitz.list_rows(low, high, self.bits, self.rows), values)
        reports["bits"] = toeplitz.to_bytes(low, high, self.hash_bytes)
        reports["bucket"] = keep_or_other(true, words[:, 4:], self.g, self.keep)

    def _encode_compiled(self, values: Integers, rows: Rows, reports: Array) -> None:
        from deniable.mechanisms.shapes import loops

        as_bytes = reports.view(np.uint8).reshape(values.size, self.report_bytes)
        masks = toeplitz.mask_words(self.bits, self.rows)
        leading = toeplitz.count_leading(self.bits, self.rows)
        sizes = (self.bits, leading, self.rows)
        loops.linear(values, rows.address(), sizes, masks, np.uint64(self.keep), as_bytes)

    @property
    def form(self) -> str:
        return (
            f"a report has {toeplitz.count_random(self.bits, self.rows)} bits of a hash, whose rows are "
            f"independent in the first {toeplitz.count_leading(self.bits, self.rows)} bits of a code, unused "
            f"bits 0, and a bucket below {self.g}"
        )

    def canonical(self, reports: Array) -> npt.NDArray[np.bool_]:
        low, high = toeplitz.from_bytes(reports["bits"])
        low_mask, high_mask = toeplitz.mask_words(self.bits, self.rows)
        unused = ((low & ~low_mask) == 0) & ((high & ~high_mask) == 0)
        fair = toeplitz.are_fair(toeplitz.list_rows(low, high, self.bits, self.rows), self.bits)
        return np.asarray(unused & fair & (reports["bucket"] < self.g))

    def _count(self, reports: Array, compiled: bool) -> Integers:
        return np.bincount(reports["bucket"], minlength=self.g)

    def estimate(self, tally: Tally) -> NoReturn:
        """Refused: a tally of buckets says nothing of codes."""
        raise InvalidParameter(
            "a tally of hashed codes holds no shares: their values are not listed; plan.discover(reports), "
            "in the shell deniable discover, finds those that many people have"
        )

    def estimated(self, tally: Tally, law: ReportLaw | None = None, labels: object = None) -> NoReturn:
        """Refused as `estimate` is."""
        self.estimate(tally)
