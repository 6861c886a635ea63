"""What all set-valued shapes share: checks at the edge, work in blocks on all cores, one loss,
one estimator.
"""

from __future__ import annotations

import os
import sys
from abc import abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from threading import Lock
from typing import Literal, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Integers
from deniable.errors import InvalidParameter, InvalidReport
from deniable.estimate import Estimate, MeanEstimate
from deniable.exact import log_up
from deniable.law import Law, Marginal
from deniable.mechanisms.base import Mechanism, Tally, in_domain, integers, unmasked
from deniable.words import Rows, WordArray, Words, checked_source

Per = Literal["record", "attribute"]
"""Whose answers are compared: those of any two people, or of two who differ in one answer only."""

BLOCK = 1 << 17  # words worked on at a time: a megabyte, so that nothing large is ever made
COMPILE = (
    1 << 21
)  # with less work than this numpy is done before a compiler would be: 65,536 reports, or fewer large ones
PARALLEL = 1 << 24  # with less work than this one core is done before another has started


class ExactMechanism(Mechanism):
    """A mechanism whose report supports a set of values: one loss, one estimator, and a part of any share."""

    @property
    @abstractmethod
    def ratio(self) -> Fraction:
        """The largest ratio of two values' probabilities of one report, e^loss, with the bias of `below`
        counted.
        """

    @property
    @abstractmethod
    def law(self) -> Law:
        """The law of the report's support."""

    @abstractmethod
    def blank(self, n: int) -> Array:
        """Room for n reports."""

    @abstractmethod
    def encode(self, values: Integers, rows: Rows) -> Array:
        """One report per value that is known to be in the domain, from one row of words each."""

    @abstractmethod
    def canonical(self, reports: Array) -> npt.NDArray[np.bool_]:
        """Which reports, of the right type and size, are in the one form that they have."""

    @final
    def loss(self, per: Per = "record") -> float:
        """The exact epsilon of one report, rounded up. One attribute is the whole record, so that both are
        the same.
        """
        checked_per(per)
        return log_up(self.ratio)

    def success(self, prior: npt.ArrayLike | None = None) -> float:
        return self.law.success(prior)

    @property
    def blind(self) -> float:
        """How often a guess is right without any report."""
        return 1 / self.k

    def estimated(
        self, tally: Tally, law: Law | Marginal, labels: Sequence[object] | None = None
    ) -> Estimate | MeanEstimate:
        """What a tally says, by the law of this mechanism in its share."""
        counted = self.checked_tally(tally)
        return Estimate(counted.n, counted.counts, law, labels, asked=counted.asked)

    @final
    def privatize(self, values: npt.ArrayLike, words: Words | None = None) -> Array:
        given = integers(values, self.k)
        if (
            given.size < BLOCK
        ):  # refused before any word is drawn; a large batch is checked block by block, as it is used
            given = in_domain(given, self.k)
        return self._encode_given(given, checked_source(words).rows(given.size, self.words))

    def _encode_given(self, values: Array, rows: Rows) -> Array:
        """Reports of integers that are still to be checked."""
        return self.encode(in_domain(values, self.k), rows)

    @final
    def estimate(self, tally: Tally) -> Estimate:
        counted = self.checked_tally(tally)
        if counted.counts.dtype.kind == "f":
            raise InvalidReport(
                "a count of reports is a whole number; this tally holds sums of floating-point numbers"
            )
        return Estimate(counted.n, counted.counts, self.law, asked=counted.asked)


class Shape(ExactMechanism):
    """What the shapes share: work in blocks on all cores, and checks of what comes back."""

    @abstractmethod
    def _encode(self, values: Integers, words: WordArray, reports: Array) -> None:
        """Write one report per value, from one row of words each."""

    @abstractmethod
    def _encode_compiled(self, values: Integers, rows: Rows, reports: Array) -> None:
        """The same by a compiled loop, which draws its words itself."""

    @property
    def _usual_words(self) -> int:
        """How many words a compiled loop takes for one report."""
        return self.words

    @property
    @abstractmethod
    def form(self) -> str:
        """What a canonical report is, in words."""

    @abstractmethod
    def _count(self, reports: Array, compiled: bool) -> Integers:
        """Count a block of reports into cells, which add up over blocks."""

    def _finish(self, cells: Integers, n: int) -> Integers:
        """Turn the cells of n reports into counts of support, where they are not counts already."""
        return cells

    @final
    def encode(self, values: Integers, rows: Rows) -> Array:
        return self._encode_blocks(values, rows, given=False)

    @final
    def _encode_given(self, values: Array, rows: Rows) -> Array:
        return self._encode_blocks(values, rows, given=True)

    def _encode_blocks(self, values: Array, rows: Rows, given: bool) -> Array:
        """Block by block; values that are `given` from outside are checked as they are used."""
        reports, rows = self.blank(len(values)), rows.anew()
        compiled = worth_compiling(len(values), self._usual_words)
        step = max(1, BLOCK // (self._usual_words if compiled else self.words))
        starts = range(0, len(values), step)

        def work(part: int) -> None:
            block = slice(starts[part], starts[part] + step)
            some = in_domain(values[block], self.k) if given else values[block]
            if compiled:
                self._encode_compiled(some, rows.pick(block), reports[block])
            else:
                self._encode(some, rows.pick(block).array(), reports[block])

        _run(work, len(starts), compiled and len(values) * self._usual_words >= PARALLEL)
        return reports

    @final
    def tally(self, reports: Array) -> Tally:
        like = self.blank(0)
        array = as_sent(unmasked(reports), like)
        if array.dtype != like.dtype or array.shape[1:] != like.shape[1:] or array.ndim != like.ndim:
            raise InvalidReport(
                f"reports of this mechanism are {like.dtype} of shape (n, "
                f"{', '.join(map(str, like.shape[1:]))}), got {array.dtype} of shape {array.shape}"
            )
        compiled = worth_compiling(len(array), self._cells_per_report)
        step = 8 * max(1, BLOCK // self.report_bytes)
        starts = range(0, len(array), step)
        if len(starts) <= 1:
            return Tally(len(array), self._finish(self._checked_cells(array, compiled), len(array)))
        total = self._count(array[:0], False)
        lock = Lock()

        def work(part: int) -> None:
            cells = self._checked_cells(array[starts[part] : starts[part] + step], compiled)
            with lock:
                np.add(total, cells, out=total)

        _run(work, len(starts), compiled and len(array) * self._cells_per_report >= PARALLEL)
        return Tally(len(array), self._finish(total, len(array)))

    @final
    def counts(self, reports: Array) -> Integers:
        """How many of a block of reports support each value, where all are known to be in canonical form."""
        compiled = worth_compiling(len(reports), self._cells_per_report)
        return self._finish(self._count(np.ascontiguousarray(reports), compiled), len(reports))

    def _checked_cells(self, reports: Array, compiled: bool) -> Integers:
        """A block of reports, counted if all of them are in canonical form."""
        block = np.ascontiguousarray(reports)
        if not self.canonical(block).all():
            raise InvalidReport(f"a report is not in its canonical form: {self.form}")
        return self._count(block, compiled)

    @property
    def _cells_per_report(self) -> int:
        """How much work it is to count one report."""
        return max(1, self.report_bytes)


def as_sent(reports: Array, like: Array) -> Array:
    """Reports that are one whole number each and went through a list, CSV or JSON, as they were sent; others
    as they are.
    """
    if reports.size == 0 and reports.ndim == 1:
        return like
    if like.dtype.kind != "u" or like.ndim != 1 or reports.ndim != 1 or reports.dtype.kind not in "iu":
        return reports
    if reports.dtype == like.dtype:
        return reports
    if reports.min() < 0 or reports.max() > np.iinfo(like.dtype).max:
        raise InvalidReport(
            f"a report of this mechanism is a whole number that {like.dtype} holds, got {_farthest(reports)}"
        )
    return reports.astype(like.dtype)


def _farthest(reports: Array) -> int:
    return int(reports.min() if reports.min() < 0 else reports.max())


def checked_per(per: str) -> None:
    """Refuse an unknown neighborhood."""
    if per not in ("record", "attribute"):
        raise InvalidParameter(f"per is 'record' or 'attribute', got {per!r}")


def worth_compiling(reports: int, work: int) -> bool:
    """Large batches are; where the loops are loaded already, much smaller ones too."""
    return reports * max(work, 32) >= (COMPILE >> 4 if "deniable.words.kernels" in sys.modules else COMPILE)


def _run(work: Callable[[int], None], parts: int, side_by_side: bool) -> None:
    """Do the parts one after the other, or on all cores where compiled loops let go of the interpreter."""
    if not side_by_side or parts == 1:
        for part in range(parts):
            work(part)
        return
    work(0)  # compiles once, before the threads start
    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        for done in [pool.submit(work, part) for part in range(1, parts)]:
            done.result()
