"""Keeps a few random bits of a histogram (dBitFlipPM): nothing is fresh, so equal reports say "unchanged"."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Floats, Integers
from deniable.errors import InvalidParameter, InvalidReport
from deniable.exact import whole_number
from deniable.formatting import format_count
from deniable.law import Law
from deniable.mechanisms import Losses, Tally, Unary, checked_k, checked_words
from deniable.mechanisms.losses import MOST_REPORTS, lose_once
from deniable.mechanisms.sets import Nobody
from deniable.mechanisms.shapes.common import draw_members
from deniable.randomness import FULL
from deniable.randomness.words import Rows
from deniable.rounds.memoized import Repeated


@final
@dataclass(frozen=True)
class BitFlip(Repeated):
    """The report is `bits` of the k values, sampled once and public, and a kept random bit for each."""

    k: int
    bits: int
    one: int
    zero: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", checked_k(self.k, 1 << 16, "bit-flip"))
        what = "bits, the number of values that each person is asked about,"
        whole_number(what, self.bits, 1, self.k, reason="bits")
        checked_words("one", self.one)
        checked_words("zero", self.zero)
        if not self.zero < self.one:
            raise InvalidParameter(
                f"thresholds must have 0 < zero < one < 2^64, got {self.zero} and {self.one}", "likelier"
            )

    title = "Bit flipping"

    @property
    def phrase(self) -> str:
        return f"{format_count(self.bits, 'bit')} of {self.k:,} that are kept"

    @property
    def words(self) -> int:
        return self.bits + self._coins.words

    @property
    def report_bytes(self) -> int:
        return self.blank(0).dtype.itemsize

    @property
    def values_asked(self) -> int:
        return self.bits

    @property
    def _coins(self) -> Unary:
        return Unary(max(2, self.bits), self.one, self.zero)

    @property
    def ratio(self) -> Fraction:
        """Two of the bits can differ where both values are asked about; with one bit, only one can."""
        up, down = Fraction(self.one, self.zero), Fraction(FULL - self.zero, FULL - self.one)
        return max(up, down) if self.bits == 1 else up * down

    @cached_property
    def law(self) -> Law:
        """The law of one bit, for the people who are asked about its value: bits / k of all."""
        return Law.independent(self.k, Fraction(self.one, FULL), Fraction(self.zero, FULL))

    def ratio_after(self, reports: int) -> Fraction:
        whole_number("reports", reports, 1, MOST_REPORTS)
        return self.ratio

    @property
    def nobody(self) -> Nobody:
        """The report of nobody: bits for as many sampled values as a person's, all drawn as if false."""
        return Nobody(self.words, self.law.exact_q, self.law.exact_q**2)

    def encode_nobody(self, rows: Rows) -> Array:
        return self.encode(np.full(rows.n, -1), rows)

    def losses(self, reports: int = 10, rounds: int = 10) -> Losses:
        whole_number("reports", reports, 1)
        whole_number("rounds", rounds, 1)
        return lose_once(self.loss(), self.bits + (self.bits < self.k), reports, rounds)

    def success(self, prior: npt.ArrayLike | None = None) -> float:
        """Not more than with all k bits in sight."""
        return self.law.success(prior)

    def blank(self, n: int) -> Array:
        index = "<u1" if self.k <= 256 else "<u2"
        return np.empty(n, dtype=[("about", index, (self.bits,)), ("bits", "u1", ((self.bits + 7) // 8,))])

    def encode(self, values: Integers, rows: Rows) -> Array:
        reports = self.blank(len(values))
        about = self._sample_values(rows.columns(0, self.bits).recall())
        position = np.where((about == values[:, None]).any(axis=1), (about < values[:, None]).sum(axis=1), -1)
        kept = rows.columns(self.bits, self.words).recall(position + 1)
        coins = self._coins.encode(position, kept)[:, : reports["bits"].shape[1]]
        coins[:, -1] &= np.uint8(255 >> (-self.bits % 8))
        reports["about"], reports["bits"] = about, coins
        return reports

    def _sample_values(self, rows: Rows) -> Integers:
        """Which values each person is asked about, in order."""
        return np.nonzero(draw_members(rows.array(), self.k))[1].reshape(rows.n, self.bits)

    @cached_property
    def odds(self) -> float:
        """The odds of a bit that is asked about and set, against one that is asked about and not set."""
        p, q = self.law.exact_p, self.law.exact_q
        return float(p * (1 - q) / (q * (1 - p)))

    def asked(self, reports: Array) -> npt.NDArray[np.bool_]:
        """Which values each report is about, as a table of reports by values."""
        holds = np.zeros((len(reports), self.k), dtype=bool)
        np.put_along_axis(holds, reports["about"].astype(np.int64), True, axis=1)
        return holds

    def likelihoods(self, reports: Array) -> Floats:
        """The bit of a value counts for or against it; a report says nothing about values without a bit.

        Likelihoods are relative to that of a value whose bit is clear.
        """
        p, q = self.law.exact_p, self.law.exact_q
        known = np.where(self.support(reports), self.odds, 1.0)
        return np.where(self.asked(reports), known, float((1 - q) / (1 - p)))

    def support(self, reports: Array) -> npt.NDArray[np.bool_]:
        holds = np.zeros((len(reports), self.k), dtype=bool)
        bits = np.unpackbits(reports["bits"], axis=1, count=self.bits, bitorder="little").astype(bool)
        np.put_along_axis(holds, reports["about"].astype(np.int64), bits, axis=1)
        return holds

    def canonical(self, reports: Array) -> npt.NDArray[np.bool_]:
        about, last = reports["about"], reports["bits"][:, -1]
        ascending = (about[:, 1:] > about[:, :-1]).all(axis=1) & (about[:, -1] < self.k)
        return np.asarray(ascending & (last & (0xFF << (1 + (self.bits - 1) % 8) & 0xFF) == 0))

    @property
    def form(self) -> str:
        values = f"{self.bits} values from 0 to {self.k - 1}"
        return f"it names {values} in ascending order, and sets no bits beyond theirs"

    def tally(self, reports: Array) -> Tally:
        array = np.asarray(reports)
        if array.dtype != self.blank(0).dtype or array.ndim != 1:
            raise InvalidReport(f"reports of this mechanism are {self.blank(0).dtype} in one dimension")
        if not self.canonical(array).all():
            raise InvalidReport(f"a report is not in its canonical form: {self.form}")
        about = array["about"]
        bits = np.unpackbits(array["bits"], axis=1, count=self.bits, bitorder="little")
        asked_counts = np.bincount(about.reshape(-1), minlength=self.k)
        counts = np.bincount(about.reshape(-1), weights=bits.reshape(-1), minlength=self.k)
        return Tally(len(array), counts.astype(np.int64), asked_counts)
