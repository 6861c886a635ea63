"""What all set-valued shapes share: checks at the edge, work in blocks on all cores, one loss, one estimator."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import final

import numpy as np
import numpy.typing as npt

from deniable.errors import InvalidReport
from deniable.estimate import Estimate
from deniable.exact import log_up
from deniable.law import Integers, Law
from deniable.mechanism import Array, Mechanism, Tally, checked_values
from deniable.words import WordArray, Words, system

BLOCK = 1 << 17  # words or cells worked on at a time: a megabyte, so that nothing large is ever made
COMPILE = 1 << 21  # with less work than this numpy is done before a compiler would be


class Shape(Mechanism):
    """What the shapes share: checks at the edge, work in blocks on all cores, one loss, one estimator."""

    @property
    @abstractmethod
    def ratio(self) -> Fraction:
        """The largest ratio of two values' probabilities of one report, e^loss, with the bias of `below` counted."""

    @property
    @abstractmethod
    def law(self) -> Law:
        """The law of the report's support."""

    @abstractmethod
    def _blank(self, n: int) -> Array:
        """Room for n reports."""

    @abstractmethod
    def _encode(self, values: Integers, words: WordArray, reports: Array, compiled: bool) -> None:
        """Write one report per value, from one row of words each."""

    def _encode_lazily(self, values: Integers, source: Words, reports: Array) -> bool:
        """A chance to make all reports of a large batch in another way with the same law; False where there is none."""
        return False

    @abstractmethod
    def _checked(self, reports: Array) -> None:
        """Refuse reports that are not canonical (right type and shape are known)."""

    @abstractmethod
    def _count(self, reports: Array, compiled: bool) -> Integers:
        """Count a block of reports into cells, which add up over blocks."""

    def _finish(self, cells: Integers, n: int) -> Integers:
        """Turn the cells of n reports into counts of support, where they are not counts already."""
        return cells

    @final
    def loss(self) -> float:
        return log_up(self.ratio)

    @final
    def privatize(self, values: npt.ArrayLike, words: Words | None = None) -> Array:
        checked = checked_values(values, self.k)
        source = system() if words is None else words
        reports = self._blank(checked.size)
        compiled = checked.size * self.words >= COMPILE
        if compiled and self._encode_lazily(checked, source, reports):
            return reports
        step = max(1, BLOCK // self.words)
        bounds = [(start, min(start + step, checked.size)) for start in range(0, checked.size, step)]
        sources = source.split([(stop - start) * self.words for start, stop in bounds])

        def work(part: int) -> None:
            start, stop = bounds[part]
            drawn = sources[part].take((stop - start) * self.words).reshape(stop - start, self.words)
            self._encode(checked[start:stop], drawn, reports[start:stop], compiled)

        run(work, len(bounds), compiled)
        return reports

    @final
    def tally(self, reports: Array) -> Tally:
        like = self._blank(0)
        array = np.asarray(reports)
        if array.dtype != like.dtype or array.shape[1:] != like.shape[1:] or array.ndim != like.ndim:
            raise InvalidReport(
                f"reports of this mechanism are {like.dtype} of shape (n, {', '.join(map(str, like.shape[1:]))}), "
                f"got {array.dtype} of shape {array.shape}"
            )
        compiled = len(array) * self._cells_per_report >= COMPILE
        step = 8 * max(1, BLOCK // (8 * self._cells_per_report))
        starts = range(0, len(array), step)
        cells: list[Integers] = [np.zeros(0, dtype=np.int64)] * len(starts)

        def work(part: int) -> None:
            block = np.ascontiguousarray(array[starts[part] : starts[part] + step])
            self._checked(block)
            cells[part] = self._count(block, compiled)

        run(work, len(starts), compiled)
        total = np.asarray(np.sum(cells, axis=0, dtype=np.int64)) if cells else self._count(array, False)
        return Tally(len(array), self._finish(total, len(array)))

    @property
    def _cells_per_report(self) -> int:
        """How much work it is to count one report."""
        return max(1, self.report_bytes)

    @final
    def estimate(self, tally: Tally) -> Estimate:
        counted = self.checked_tally(tally)
        return Estimate(counted.n, counted.counts, self.law)


def run(work: Callable[[int], None], parts: int, compiled: bool) -> None:
    """Do the parts one after the other, or, where compiled loops let go of the interpreter, side by side."""
    if compiled and parts > 1:
        from deniable import kernels

        work(0)  # compiles once, before the threads start
        kernels.side_by_side(lambda part: work(part + 1), parts - 1)
    else:
        for part in range(parts):
            work(part)
