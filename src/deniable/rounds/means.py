"""Estimates means of numbers that people are asked for again and again: what is kept is one random line.

A person keeps a random line in the range, and whether a number is above it is a bit. The bit is right on
average: the number's share of the range is the chance that the line is below. Two rounds report the bit. A
number that moves a little rarely crosses the line, so that the same kept answer is reported.

What reports give away is what reports of a bit do. Given the line, they are reports of bits. A mixture over
lines is no farther apart than the worst line, and the two ends of the range have all bits whatever the line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import cast, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Floats, Integers
from deniable.errors import InvalidParameter
from deniable.estimate import MeanEstimate
from deniable.law.law import ReportLaw
from deniable.mechanisms import Direct, Losses, Tally
from deniable.metric import Averaged, Duchi
from deniable.metric.means import LAST_POSITION, Averages
from deniable.randomness import FULL
from deniable.randomness.words import Rows
from deniable.rounds.memoized import Memoized, ReportedOnce

_HALF = np.uint64(32)


@final
@dataclass(frozen=True)
class MemoizedMean(ReportedOnce):
    """A random line that is kept, and two rounds on whether a number is above it, for the number's mean."""

    bit: Memoized

    k = LAST_POSITION + 1
    numeric = True
    keeps_apart = True

    title = "Memoized mean"
    phrase = "yes or no, by a line and a first answer that are kept"

    def __post_init__(self) -> None:
        if not (self.bit.names_value and self.bit.k == 2):
            raise InvalidParameter("the rounds on a bit are direct ones of two values", "shape")

    @property
    def words(self) -> int:
        return 1 + self.bit.words

    @property
    def ratio(self) -> Fraction:
        return self.bit.ratio

    def losses(self, reports: int = 10, rounds: int = 10) -> Losses:
        """The losses of the bit: it changes at most as often as the number does."""
        return self.bit.losses(reports, rounds)

    def describe_values(self) -> str:
        return self.one_round.describe_values()

    def describe_guess(self) -> str:
        return self.one_round.describe_guess()

    @cached_property
    def one_round(self) -> Averaged:
        """The bit in one round, with the chance of both, whose fraction is rounded to a word."""
        return Averaged(Duchi(round(self.bit.law.exact_p * FULL)))

    @property
    def permanent(self) -> Averaged:
        return Averaged(Duchi(cast(Direct, self.bit.first).keep))

    @property
    def law(self) -> Averages:
        return self.one_round.law

    @property
    def blind(self) -> float:
        return self.one_round.blind

    def success(self, prior: npt.ArrayLike | None = None) -> float:
        return self.one_round.success(prior)

    @property
    def tallied(self) -> int:
        return self.one_round.tallied

    def encode(self, values: Integers, rows: Rows) -> Array:
        line = rows.columns(0, 1).recall().array()[:, 0] >> _HALF
        bits = (line < values.astype(np.uint64)).astype(np.int64)
        reports = self.blank(len(values))
        reports[:] = self.bit.encode(bits, rows.columns(1, self.words))
        return reports

    def likelihoods(self, reports: Array) -> Floats:
        return self.one_round.likelihoods(reports)

    def estimate(self, tally: Tally) -> MeanEstimate:
        """The unbiased mean, from -1 for the lowest number to 1 for the highest."""
        return self.one_round.estimate(tally)

    def estimated(
        self, tally: Tally, law: ReportLaw | None = None, labels: Sequence[object] | None = None
    ) -> MeanEstimate:
        return self.one_round.estimated(tally, law, labels)
