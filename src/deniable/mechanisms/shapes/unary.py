"""Defines the report of k bits, one for each value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Integers, list_blocks
from deniable.errors import InvalidParameter
from deniable.exact import power_up
from deniable.law import Law
from deniable.mechanisms.base import BLOCK
from deniable.mechanisms.checks import checked_k, checked_words
from deniable.mechanisms.sets import Nobody, RoundShape
from deniable.mechanisms.shapes import bits
from deniable.mechanisms.shapes.common import set_numbers
from deniable.randomness import FULL
from deniable.randomness.draws import WordArray
from deniable.randomness.simulated import SeededRows
from deniable.randomness.words import DrawnRows, Rows, System, SystemRows


@final
@dataclass(frozen=True)
class Unary(bits.Packed, RoundShape):
    """The report is k bits, packed: the true value's is 1 with probability one / 2^64, each other's with zero
    / 2^64.

    The coins of 64 values fall together: word 64 g + l gives binary digit l (the first one first) of the
    numbers that are compared with the thresholds of values 64 g to 64 g + 63, one per bit position.
    """

    k: int
    one: int
    zero: int

    def __post_init__(self) -> None:
        set_numbers(self, k=checked_k(self.k, 1 << 20, "unary"))
        set_numbers(self, one=checked_words("one", self.one), zero=checked_words("zero", self.zero))
        if not self.zero < self.one:
            raise InvalidParameter(
                f"thresholds must have 0 < zero < one < 2^64, got {self.zero} and {self.one}", "likelier"
            )

    title = "Unary encoding"
    phrase = "one bit per value"
    bitwise = True

    @property
    def words(self) -> int:
        return 64 * self._groups

    @property
    def _groups(self) -> int:
        return (self.k + 63) // 64

    @property
    def ratio(self) -> Fraction:
        return Fraction(self.one * (FULL - self.zero), self.zero * (FULL - self.one))

    @cached_property
    def law(self) -> Law:
        return Law.independent(self.k, Fraction(self.one, FULL), Fraction(self.zero, FULL))

    @property
    def nobody(self) -> Nobody:
        """No bit is true."""
        return Nobody(self.words, self.law.exact_q, self.law.exact_q**2)

    def encode_nobody(self, rows: Rows) -> Array:
        return self.encode(np.full(rows.n, -1), rows)

    def encode_again(self, reports: Array, rows: Rows) -> Array:
        """Each bit that is set counts as true."""
        unused = np.zeros((len(reports), 1), dtype=np.int64)
        return self.encode(np.hstack([unused, self._gather(reports).view(np.int64)]), rows)

    def redraw(
        self, values: Integers, reports: Array, chances: Sequence[Fraction], rows: Sequence[Rows]
    ) -> Array:
        """Other bits in place of those of reports, by two rows of words for each.

        A bit is set with one of four chances: that of a value that is not true and a bit that was clear, of
        such a value and a bit that was set, and both for the true value. Coins fall as by `encode`, but have
        128 binary digits: the second rows decide what is open after 64.
        """
        redrawn = np.empty_like(reports)
        for block in list_blocks(len(reports), BLOCK // (2 * self.words)):
            halves = [half.pick(block) for half in rows]
            redrawn[block] = self._redraw(values[block], reports[block], chances, halves)
        return redrawn

    def _redraw(
        self, values: Integers, reports: Array, chances: Sequence[Fraction], rows: Sequence[Rows]
    ) -> Array:
        truth, bits = self._truth(values), self._gather(reports)
        masks = ~truth & ~bits, ~truth & bits, truth & ~bits, truth & bits
        thresholds = [int(chance * FULL**2) for chance in chances]
        undecided, result = ~np.zeros_like(bits), np.zeros_like(bits)
        for half in (0, 1):
            if not undecided.any():
                break
            words = rows[half].array().reshape(*bits.shape, 64)
            for place, word in enumerate(np.moveaxis(words, 2, 0), 1):
                digits = np.zeros_like(bits)
                for mask, threshold in zip(masks, thresholds, strict=True):
                    if threshold >> (128 - 64 * half - place) & 1:
                        digits |= mask
                result |= undecided & digits & ~word
                undecided &= ~(digits ^ word)
        return self._pack(result)

    def _gather(self, reports: Array) -> WordArray:
        """The bits of every 64 values."""
        padded = np.zeros((len(reports), 8 * self._groups), dtype=np.uint8)
        padded[:, : self.report_bytes] = reports
        return padded.view("<u8").astype(np.uint64, copy=False)

    def _pack(self, gathered: WordArray) -> Array:
        """Reports of the bits of every 64 values; those beyond the last value are left out."""
        gathered[:, -1] &= np.uint64(FULL - 1 >> (64 * self._groups - self.k))
        return gathered.astype("<u8").view(np.uint8)[:, : self.report_bytes]

    def ratio_given(self, set_ratio: Fraction, clear: Fraction, reports: int) -> Fraction:
        p, q = self.law.exact_p, self.law.exact_q
        ones = (p * set_ratio + 1 - p) / (q * set_ratio + 1 - q)  # grows with what speaks for a bit
        zeros = ((1 - q) * clear + q) / ((1 - p) * clear + p)
        return ones * zeros

    def speak(self, reports: int) -> tuple[Fraction, Fraction]:
        p, q = self.law.exact_p, self.law.exact_q
        return power_up(p / q, reports), power_up((1 - q) / (1 - p), reports)

    @property
    def part_ratio(self) -> Fraction:
        p, q = self.law.exact_p, self.law.exact_q
        return max(p / q, (1 - q) / (1 - p))

    @property
    def kept_parts(self) -> int:
        return self.k

    def _truth(self, values: Integers) -> WordArray:
        """The true bits of every 64 values: one of them, or none for a fake's -1; or those that are given."""
        if values.ndim == 2:
            return values[:, 1:].astype(np.uint64)
        truth = np.zeros((len(values), self._groups), dtype=np.uint64)
        has = np.flatnonzero(values >= 0)
        truth[has, values[has] >> 6] = np.uint64(1) << (values[has] & 63).astype(np.uint64)
        return truth

    def _encode(self, values: Integers, words: WordArray, reports: Array) -> None:
        bits = words.reshape(len(values), self._groups, 64)
        truth = self._truth(values)
        ones, zeros = _digits(self.one), _digits(self.zero)
        digits = zeros ^ ((zeros ^ ones) & truth[:, :, None])
        # a coin falls at the first digit that differs: it is open as long as all digits before were alike
        alike = np.bitwise_and.accumulate(~(digits ^ bits), axis=2)
        falls = digits & ~bits
        falls[:, :, 1:] &= alike[:, :, :-1]
        reports[:] = self._pack(np.bitwise_or.reduce(falls, axis=2))

    @property
    def _usual_words(self) -> int:
        return 10 * self._groups

    def _encode_compiled(self, values: Integers, rows: Rows, reports: Array) -> None:
        """Toss the coins of `_encode`, each until it falls: about nine words for 64 coins instead of 64."""
        from deniable.mechanisms.shapes import coins

        ones, zeros = _digits(self.one), _digits(self.zero)
        known = values if values.ndim == 2 else values[:, None]
        if isinstance(rows, SeededRows):
            coins.unary_bits(known, self.k, ones, zeros, rows.address(), 0, reports)
        elif isinstance(rows, SystemRows):
            source = System()
            done, stream = 0, np.zeros(0, dtype=np.uint64)
            units = len(known) * self._groups
            while done < units:
                length = min(BLOCK, 10 * (units - done)) + coins.RESERVE
                stream = np.concatenate([stream, source.take(max(0, length - stream.size))])
                where = DrawnRows(stream[:, None]).address()
                done, used = coins.unary_bits(known, self.k, ones, zeros, where, done, reports)
                stream = stream[used:]
        else:
            self._encode(values, rows.array(), reports)

    @property
    def outline(self) -> str:
        return f"a bit for each of {self.k:,} values"

    @property
    def form(self) -> str:
        return f"a report has bits for {self.k} values, and sets none beyond them"

    def canonical(self, reports: Array) -> npt.NDArray[np.bool_]:
        return bits.leave_unused(reports, self.k)


@lru_cache(maxsize=4096)
def _digits(threshold: int) -> WordArray:
    """The 64 binary digits of a threshold, the first one first, each spread over all 64 bit positions."""
    return np.array([(FULL - 1) * (threshold >> (63 - level) & 1) for level in range(64)], dtype=np.uint64)
