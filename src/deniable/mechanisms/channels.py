"""Counts outputs of a channel, for mechanisms whose report is one of some outputs."""

from __future__ import annotations

from abc import abstractmethod
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Floats, Integers
from deniable.mechanisms.blocks import Blockwise
from deniable.mechanisms.shapes.common import smallest

_LEAST = 2.0**-70  # no report is rarer than 2^-64 for any value, but for the rounding of floats


class ChannelMechanism(Blockwise):
    """A mechanism whose report is one of some outputs, which are counted."""

    if TYPE_CHECKING:  # read-only here, so that a mechanism may store it or compute it

        @property
        def outputs(self) -> int:
            """The number of different reports; they are 0 to outputs - 1."""

    @abstractmethod
    def table(self) -> Floats:
        """How likely every output is: a row for each value, or for each cell where values are too many."""

    def likelihoods(self, reports: Array) -> Floats:
        return _columns(self)[np.asarray(reports, dtype=np.int64)]

    @property
    def tallied(self) -> int:
        return self.outputs

    def support(self, reports: Array) -> npt.NDArray[np.bool_]:
        """The output stands in for the support; the law says which other values are likely."""
        return np.asarray(np.asarray(reports)[:, None] == np.arange(self.outputs))

    @property
    def report_bytes(self) -> int:
        return smallest(self.outputs).itemsize

    def blank(self, n: int) -> Array:
        return np.empty(n, dtype=smallest(self.outputs))

    @property
    def form(self) -> str:
        return f"a report is an output from 0 to {self.outputs - 1}"

    def canonical(self, reports: Array) -> npt.NDArray[np.bool_]:
        return np.asarray(reports < self.outputs)

    def _count(self, reports: Array, compiled: bool) -> Integers:
        return np.bincount(reports, minlength=self.outputs)

    def supports(self, reports: Array, values: Integers) -> npt.NDArray[np.bool_]:
        return np.asarray(reports == values)

    def supports_each(self, reports: Array, values: Integers) -> npt.NDArray[np.bool_]:
        return np.array([self.supports(reports, np.full(len(reports), value)) for value in values.tolist()])


@lru_cache(maxsize=8)
def _columns(mechanism: ChannelMechanism) -> Floats:
    """How likely every output is: a row for each output."""
    return np.ascontiguousarray(np.maximum(mechanism.table(), _LEAST).T)
