"""Works in blocks on all cores: what mechanisms of fixed-size reports share, whatever their reports mean."""

from __future__ import annotations

import os
import sys
from abc import abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import final

import numpy as np

from deniable.arrays import Array, Integers
from deniable.errors import InvalidReport
from deniable.mechanisms.base import BLOCK, Mechanism
from deniable.mechanisms.checks import in_domain, restore_reports, unmasked
from deniable.mechanisms.tally import Tally
from deniable.randomness.draws import WordArray
from deniable.randomness.words import Rows

# with less work than this numpy is done before a compiler would be: 65,536 reports, or fewer large ones
COMPILE = 1 << 21
PARALLEL = 1 << 24  # with less work than this one core is done before another has started


class Blockwise(Mechanism):
    """A mechanism that works in blocks on all cores, and checks what comes back."""

    @abstractmethod
    def _encode(self, values: Integers, words: WordArray, reports: Array) -> None:
        """Write one report per value, from one row of words each."""

    @abstractmethod
    def _encode_compiled(self, values: Integers, rows: Rows, reports: Array) -> None:
        """Write one report per value by a compiled loop, which draws its words itself."""

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
        return self._encode_blocks(values, rows, is_checked_late=False)

    @final
    def _encode_given(self, values: Array, rows: Rows) -> Array:
        return self._encode_blocks(values, rows, is_checked_late=True)

    def _choose_rows(self, values: Array, rows: Rows) -> Rows:
        """The words that reports are made from: fresh ones."""
        return rows.forget()

    def _encode_blocks(self, values: Array, rows: Rows, is_checked_late: bool) -> Array:
        """Block by block; values that are `given` from outside are checked as they are used."""
        reports, rows = self.blank(len(values)), self._choose_rows(values, rows)
        compiled = worth_compiling(len(values), self._usual_words)
        step = max(1, BLOCK // (self._usual_words if compiled else self.words))
        starts = range(0, len(values), step)

        def work(part: int) -> None:
            block = slice(starts[part], starts[part] + step)
            block_values = in_domain(values[block], self.k) if is_checked_late else values[block]
            if compiled:
                self._encode_compiled(block_values, rows.pick(block), reports[block])
            else:
                self._encode(block_values, rows.pick(block).array(), reports[block])

        run_parts(work, len(starts), compiled and len(values) * self._usual_words >= PARALLEL)
        return reports

    @final
    def tally(self, reports: Array) -> Tally:
        like = self.blank(0)
        array = restore_reports(unmasked(reports), like)
        if array.dtype != like.dtype or array.shape[1:] != like.shape[1:] or array.ndim != like.ndim:
            raise InvalidReport(
                f"reports of this mechanism are {like.dtype} of shape (n, "
                f"{', '.join(map(str, like.shape[1:]))}), got {array.dtype} of shape {array.shape}"
            )
        compiled = worth_compiling(len(array), self._cells_per_report)
        step = 32 * max(1, BLOCK // self.report_bytes)  # what a block costs by itself is then little
        starts = range(0, len(array), step)
        if len(starts) <= 1:
            return Tally(len(array), self._finish(self._checked_cells(array, compiled), len(array)))
        total = self._count(array[:0], False)
        lock = Lock()

        def work(part: int) -> None:
            cells = self._checked_cells(array[starts[part] : starts[part] + step], compiled)
            with lock:
                np.add(total, cells, out=total)

        run_parts(work, len(starts), compiled and len(array) * self._cells_per_report >= PARALLEL)
        return Tally(len(array), self._finish(total, len(array)))

    @final
    def tally_checked(self, reports: Array) -> Tally:
        return self.finish_cells(self.count_cells(reports))

    @final
    def count_cells(self, reports: Array) -> Tally:
        compiled = worth_compiling(len(reports), self._cells_per_report)
        return Tally(len(reports), self._count(np.ascontiguousarray(reports), compiled))

    @final
    def finish_cells(self, cells: Tally) -> Tally:
        return Tally(cells.n, self._finish(cells.counts, cells.n))

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


def worth_compiling(reports: int, work: int) -> bool:
    """Large batches are; where the loops are loaded already, much smaller ones too."""
    return reports * max(work, 32) >= (
        COMPILE >> 4 if "deniable.randomness.kernels" in sys.modules else COMPILE
    )


def run_parts(work: Callable[[int], None], parts: int, side_by_side: bool) -> None:
    """Do the parts one after the other, or on all cores where compiled loops let go of the interpreter."""
    if not side_by_side or parts == 1:
        for part in range(parts):
            work(part)
        return
    work(0)  # compiles once, before the threads start
    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        for done in [pool.submit(work, part) for part in range(1, parts)]:
            done.result()
