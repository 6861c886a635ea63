"""States the contract of every mechanism.

The tree has two branches below `Mechanism`: a report supports a set of values (sets.py), or it is one of
the outputs of a channel (channels.py). What works in blocks is shared by both (blocks.py).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import wraps
from typing import TYPE_CHECKING, ClassVar, Literal, TypeVar, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Floats, Integers, list_blocks
from deniable.errors import InvalidParameter, InvalidReport
from deniable.estimate import Estimate, MeanEstimate
from deniable.exact import log_up
from deniable.formatting import Printed, format_count, format_loss, format_percent
from deniable.law.law import ReportLaw
from deniable.mechanisms.checks import in_domain, integers
from deniable.mechanisms.losses import Losses, lose_each_time
from deniable.mechanisms.tally import Tally
from deniable.randomness import Words, checked_source
from deniable.randomness.words import Rows

Per = Literal["record", "attribute"]
"""Whose answers are compared: those of any two people, or of two who differ in one attribute only."""

BLOCK = 1 << 17  # words worked on at a time: a megabyte, so that nothing large is ever made
_AT_ONCE = 1 << 21  # reports times values whose support is computed at once

M = TypeVar("M", bound="Mechanism")


def _refuse_arguments(loss: Callable[[M], float]) -> Callable[[M], float]:
    """The loss takes no arguments; a distance, given to it, is refused with the way to `loss_at`."""

    @wraps(loss)
    def checked(self: M, *arguments: object, **keywords: object) -> float:
        if arguments or keywords:
            way = "give the distance to loss_at(distance)" if self.metric else "leave the argument out"
            raise InvalidParameter(f"loss() is the largest loss of any two values and takes nothing; {way}")
        return loss(self)

    return checked


class Mechanism(Printed, ABC):
    """Turns a value and some words into a report, read-only and with a law that is known exactly.

    Its loss is exact, too, computed from the integers that are sampled: it can be a part of any record.
    """

    if TYPE_CHECKING:  # read-only here, so that a mechanism may store it or compute it

        @property
        def k(self) -> int:
            """The number of values; they are 0 to k - 1."""

    keeps_apart: ClassVar[bool] = False
    """Whether the noise that a person keeps for one value is independent of that for another."""
    listed: ClassVar[bool] = True
    """Whether its values can be listed; else a tally has no count for each of them."""
    metric: ClassVar[bool] = False
    """Whether its loss depends on the distance of two values."""
    numeric: ClassVar[bool] = False
    """Whether it is for the mean of a number, and not for shares of values."""

    @property
    def repeated(self) -> bool:
        """Whether it is made for asking again: part of its words are kept."""
        return False

    @property
    @abstractmethod
    def words(self) -> int:
        """How many 64-bit words one report takes."""

    @property
    @abstractmethod
    def report_bytes(self) -> int:
        """The size of one report."""

    @property
    @abstractmethod
    def law(self) -> ReportLaw:
        """The law of a report."""

    @abstractmethod
    def success(self, prior: npt.ArrayLike | None = None) -> float:
        """How often the best guess of the value from one report is right; `prior` is uniform unless given."""

    @abstractmethod
    def support(self, reports: Array) -> npt.NDArray[np.bool_]:
        """Which values each report supports, as a table of reports by values (for small batches)."""

    @abstractmethod
    def likelihoods(self, reports: Array) -> Floats:
        """How likely each report is from each value, up to a factor of its own (for small batches)."""

    @abstractmethod
    def tally(self, reports: Array) -> Tally:
        """Count how many reports support each value; a report that cannot have been sent is refused."""

    def estimate(self, tally: Tally) -> Estimate | MeanEstimate:
        """Unbiased frequencies with error bars, or an unbiased mean."""
        return self.estimated(tally)

    @property
    def title(self) -> str:
        """What its shape is called."""
        return type(self).__name__

    @property
    def phrase(self) -> str:
        """What a report is, in a few words, such as "one bit per value"."""
        return ""

    @property
    def blind(self) -> float:
        """How often a guess is right without any report."""
        return 1 / self.k

    def describe(self, loss: str | None = None) -> str:
        """What it is, in a line: name, values, report, loss (in given words, or its own), guess, size."""
        report = f"a report is {self.phrase}" if self.phrase else ""
        facts = [report, loss or self.describe_loss(), self.describe_guess()]
        size = f"{format_count(self.report_bytes, 'byte')} a report"
        return f"{self.describe_name()}, {self.describe_values()}: {', '.join([*filter(None, facts), size])}"

    def describe_name(self) -> str:
        """The name of the protocol that makes it, or else what its shape is called."""
        return self.title

    def describe_values(self) -> str:
        """How many values there are, in words."""
        return format_count(self.k, "value")

    def describe_loss(self) -> str:
        """What a report loses, in words."""
        return f"loss {format_loss(self.loss())}"

    def describe_guess(self) -> str:
        """How often the best guess is right, in words; nothing where it takes long to know."""
        return f"best guess right {format_percent(self.success())} (blind {format_percent(self.blind)})"

    def __str__(self) -> str:
        return self.describe()

    @property
    def outline(self) -> str:
        """What a report is, in a few words, where no protocol is known by name."""
        return type(self).__name__

    @property
    def unit_loss(self) -> float | None:
        """What values one unit of distance apart lose at most; None where the loss knows no distance."""
        return None

    @property
    def tallied(self) -> int:
        """How many counts a tally has: one per value, unless a report is about something else."""
        return self.k

    @final
    def checked_tally(self, tally: Tally) -> Tally:
        """Refuse what is not a tally, or one of some other number of values."""
        if not isinstance(tally, Tally):
            raise InvalidReport(
                f"estimates are made from a tally, m.estimate(m.tally(reports)), got {type(tally).__name__}"
            )
        if tally.counts.size != self.tallied:
            raise InvalidReport(
                f"this tally counts {tally.counts.size} values, the mechanism has {self.tallied}"
            )
        if tally.counts.dtype.kind == "f" and (tally.counts % 1).any():
            odd = tally.counts[np.argmax(tally.counts % 1 > 0)]
            raise InvalidReport(f"counts of reports are whole numbers, got {odd:g}; give counts, not shares")
        return tally

    @property
    @abstractmethod
    def ratio(self) -> Fraction:
        """The largest ratio of two values' probabilities of a report, e^loss, with the bias of `below`."""

    @abstractmethod
    def blank(self, n: int) -> Array:
        """Room for n reports."""

    @abstractmethod
    def encode(self, values: Integers, rows: Rows) -> Array:
        """One report per value that is known to be in the domain, from one row of words each."""

    @abstractmethod
    def canonical(self, reports: Array) -> npt.NDArray[np.bool_]:
        """Which reports, of the right type and size, are in the one form that they have."""

    @property
    def form(self) -> str:
        """What a canonical report is, in words: that of one round."""
        return self.one_round.form

    @abstractmethod
    def estimated(
        self, tally: Tally, law: ReportLaw | None = None, labels: Sequence[object] | None = None
    ) -> Estimate | MeanEstimate:
        """What a tally says; sets of values go by the law that is given, which others have of their own."""

    @final
    @_refuse_arguments
    def loss(self) -> float:
        """The exact epsilon of one report, rounded up: for any two values."""
        return log_up(self.ratio)

    @final
    def privatize(self, values: npt.ArrayLike, words: Words | None = None) -> Array:
        """One report per value, from these words; without words, from the operating system's."""
        codes = integers(values, self.k)
        # refused before any word is drawn; a large batch is checked block by block, as it is used
        if codes.size < BLOCK:
            codes = in_domain(codes, self.k)
        return self._encode_given(codes, checked_source(words).rows(codes.size, self.words))

    def _encode_given(self, values: Array, rows: Rows) -> Array:
        """Reports of integers that are still to be checked."""
        return self.encode(in_domain(values, self.k), rows)

    def losses(self, reports: int = 10, rounds: int = 10) -> Losses:
        """All four losses, with `reports` reports of one value and `rounds` reports of changing ones.

        Where nothing is kept, every report adds its whole loss.
        """
        return lose_each_time(self.loss(), reports, rounds)

    @property
    def names_value(self) -> bool:
        """Whether a report supports exactly one value."""
        return False

    @property
    def bitwise(self) -> bool:
        """Whether a report has a bit for every value, each by a coin of its own."""
        return False

    @property
    def packed(self) -> bool:
        """Whether a report is bits, packed into bytes, one for every value."""
        return self.bitwise

    def tally_checked(self, reports: Array) -> Tally:
        """The tally of reports that are known to be in canonical form."""
        return self.tally(reports)

    def count_cells(self, reports: Array) -> Tally:
        """What blocks of such reports add up to; `finish_cells` makes the tally of it, once for all."""
        return self.tally_checked(reports)

    def finish_cells(self, cells: Tally) -> Tally:
        """The tally of reports whose cells were counted."""
        return cells

    @property
    def permanent(self) -> Mechanism:
        """The mechanism whose report tells as much as any number of reports of one value."""
        return self

    @property
    def values_asked(self) -> int:
        """How many of the values a report is about."""
        return self.k

    @property
    def one_round(self) -> Mechanism:
        """The mechanism of one round with the same reports: itself, where nothing is kept."""
        return self

    def supports(self, reports: Array, values: Integers) -> npt.NDArray[np.bool_]:
        """Whether each report supports one value, its own; -1, no answer, is never supported."""
        known, is_supported = np.maximum(values, 0), np.zeros(len(reports), dtype=bool)
        for block, table in self._tables(reports):
            is_supported[block] = np.take_along_axis(table, known[block, None], axis=1)[:, 0]
        return np.asarray(is_supported & (values >= 0))

    def supports_each(self, reports: Array, values: Integers) -> npt.NDArray[np.bool_]:
        """Which reports support each of several values, a row per value; -1 is never supported."""
        is_supported = np.zeros((len(values), len(reports)), dtype=bool)
        for block, table in self._tables(reports):
            is_supported[:, block] = (table[:, np.maximum(values, 0)].astype(bool) & (values >= 0)).T
        return is_supported

    def _tables(self, reports: Array) -> Iterator[tuple[slice, npt.NDArray[np.bool_]]]:
        """Which values reports support, a block of them at a time."""
        for block in list_blocks(len(reports), _AT_ONCE // self.k):
            yield block, self.support(reports[block])


def checked_per(per: str) -> None:
    """Refuse an unknown neighborhood."""
    if per not in ("record", "attribute"):
        raise InvalidParameter(f"per is 'record' or 'attribute', got {per!r}")
