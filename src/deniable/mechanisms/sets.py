"""Estimates shares from sets of values: one law and one estimator for all reports that support a set."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple, cast, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Floats, list_blocks
from deniable.errors import InvalidParameter, InvalidReport
from deniable.estimate import Estimate
from deniable.law import Law, Marginal
from deniable.law.law import ReportLaw
from deniable.mechanisms.base import BLOCK, Mechanism
from deniable.mechanisms.blocks import Blockwise
from deniable.mechanisms.tally import Tally
from deniable.randomness import FULL
from deniable.randomness.draws import WordArray
from deniable.randomness.words import Rows

Naming = Callable[[Mechanism], str | None]
"""Says what a mechanism is called, or None where it has no name of its own."""
_namings: list[Naming] = []


def name_shapes(name_of: Naming) -> Naming:
    """Describe shapes by the names that a function knows, as the table of protocols does."""
    _namings.append(name_of)
    return name_of


class Nobody(NamedTuple):
    """The law of a report of nobody, which hides real ones: each is either of two numbers of times as likely,
    by whether it supports its value.
    """

    words: int
    """How many words it takes."""
    share: Fraction
    """How likely it supports a given value."""
    pair: Fraction
    """How likely it supports two given values."""
    cells: int = 0
    """Among how many cells the draws of a report by `below` choose, all together: their bias moves a
    probability by this many parts in 2^64 at most.
    """


class Buckets(NamedTuple):
    """Reports of one of k buckets: the true one with probability p, every other one as often."""

    k: int
    p: Fraction
    again: Fraction | None = None
    """The p of a second round, where what the first one gives is kept."""

    @property
    def q(self) -> Fraction:
        """How often another bucket is reported."""
        return (1 - self.p) / (self.k - 1)

    @property
    def odds_again(self) -> Fraction | None:
        """How many times likelier the kept bucket is in a second round than another."""
        return None if self.again is None else self.again * (self.k - 1) / (1 - self.again)


class SetMechanism(Mechanism):
    """A mechanism whose report supports a set of values, and that treats all values alike."""

    @property
    def nobody(self) -> Nobody | None:
        """The law of a report of nobody; None where there is none, as where a report names a value."""
        return None

    def encode_nobody(self, rows: Rows) -> Array:
        """One report of nobody per row of words."""
        raise InvalidParameter(f"{self.title} has no report of nobody")

    @property
    def on_buckets(self) -> Buckets | None:
        """How the bucket of a report is made, whose hash function no value changes. A report that is a value
        is its own bucket; None where a report has none.
        """
        return None

    def cover(self, weights: Sequence[int]) -> tuple[int, int]:
        """The least and the largest weight of what a report supports that tells two values apart, or bounds
        of both. Weights are words out of 2^64, one for each value.
        """
        return min(weights), FULL - min(weights)

    @property
    @abstractmethod
    def law(self) -> Law:
        """The law of the report's support."""

    @cached_property
    def odds(self) -> float:
        """How many times likelier a report is from a value that it supports than from another."""
        p, q, buckets = self.law.exact_p, self.law.exact_q, self.on_buckets
        if buckets is not None and buckets.again is None:
            return float(buckets.p / buckets.q)
        return float(p * (1 - q) / (q * (1 - p))) if self.bitwise else float(p / q)

    def success(self, prior: npt.ArrayLike | None = None) -> float:
        return self.law.success(prior)

    def likelihoods(self, reports: Array) -> Floats:
        return np.where(self.support(reports), self.odds, 1.0)

    def packed_support(self, reports: Array) -> npt.NDArray[np.uint8]:
        """Which values each report supports, as bits: eight values to a row, a column for each report."""
        bits = np.empty(((self.k + 7) // 8, len(reports)), dtype=np.uint8)
        for block, table in self._tables(reports):
            bits[:, block] = np.packbits(table, axis=1, bitorder="little").T
        return bits

    def estimated(
        self, tally: Tally, law: ReportLaw | None = None, labels: Sequence[object] | None = None
    ) -> Estimate:
        counted = self.checked_tally(tally)
        # what record mechanisms make of its law
        by = cast("Law | Marginal", self.law if law is None else law)
        return Estimate(counted.n, counted.counts, by, labels, asked=counted.asked)

    @final
    def estimate(self, tally: Tally) -> Estimate:
        counted = self.checked_tally(tally)
        if counted.counts.dtype.kind == "f":
            raise InvalidReport(
                "a count of reports is a whole number; this tally holds sums of floating-point numbers"
            )
        return Estimate(counted.n, counted.counts, self.law, asked=counted.asked)


class SetShape(SetMechanism, Blockwise):
    """A set of values, reported in one round: what the shapes share."""

    def describe_name(self) -> str:
        names = (name_of(self) for name_of in _namings)
        return next((name for name in names if name is not None), self.title)

    def encode_nobody(self, rows: Rows) -> Array:
        reports, fresh = self.blank(rows.n), rows.forget()
        for block in list_blocks(rows.n, BLOCK // max(rows.width, self.report_bytes)):
            self._encode_nobody(fresh.pick(block).array(), reports[block])
        return reports

    def _encode_nobody(self, words: WordArray, reports: Array) -> None:
        """Write one report of nobody per row of words."""
        raise InvalidParameter(f"{self.title} has no report of nobody")


class RoundShape(SetShape):
    """A shape whose report can be kept and reported again, by the same shape with other numbers."""

    @abstractmethod
    def encode_again(self, reports: Array, rows: Rows) -> Array:
        """A second round on the reports of a first one."""

    @final
    def ratio_after(self, second: RoundShape, reports: int) -> Fraction:
        """The largest ratio after this many second reports of what this round has kept, rounded up."""
        return self.ratio_given(*second.speak(reports), reports)

    @abstractmethod
    def ratio_given(self, set_ratio: Fraction, clear: Fraction, reports: int) -> Fraction:
        """The largest ratio after this many reports, which speak so much for what is kept, rounded up."""

    @abstractmethod
    def speak(self, reports: int) -> tuple[Fraction, Fraction]:
        """How much likelier so many reports are that all speak for the kept value, or of a bit: for one that
        is set, and for one that is clear.
        """

    @property
    @abstractmethod
    def kept_parts(self) -> int:
        """How many parts of what is kept may change: the one value, or every bit."""

    @property
    @abstractmethod
    def part_ratio(self) -> Fraction:
        """The largest ratio of two probabilities of one report if a single part of what is kept changes."""
