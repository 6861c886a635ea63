"""Holds what one kind of report says about several questions at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from deniable.arrays import Floats
from deniable.cross.counted import Supported
from deniable.cross.spread import Spread
from deniable.estimate.consistency import nearest_with_total

MOST_KEPT = 2048
"""Cells of one table whose covariances are kept."""
_TINY = 1e-300


@final
@dataclass(frozen=True, eq=False)
class Source:
    """The unbiased shares of all cells of some questions, and how they vary.

    Values beside the cells, such as no answer, come last. All of them add up to 1.
    """

    names: tuple[str, ...]
    shape: tuple[int, ...]
    n: int
    values: Floats
    spread: Spread
    believed: Floats | None = None
    """The shares whose spread is taken for the true one; the values themselves if this is None."""
    supported: Supported | None = None
    """The counts that the values are from, where each is one of reports."""

    @property
    def size(self) -> int:
        """How many cells there are."""
        return int(np.prod(self.shape))

    @property
    def is_complete(self) -> bool:
        """Whether everybody is in one of the cells."""
        return self.values.size == self.size

    @property
    def answered(self) -> float:
        """The share of people who are in one of the cells."""
        return float(self.values[: self.size].sum())

    def covariance(self, sums: Floats) -> Floats:
        """The covariance of weighted sums of the values."""
        if self.values.size <= MOST_KEPT:
            return np.asarray(sums @ self.each @ sums.T)
        return np.asarray(self.spread.covariance(self._true, sums) / self.n)

    @property
    def _true(self) -> Floats:
        return self.values if self.believed is None else self.believed

    @cached_property
    def each(self) -> Floats:
        """The covariance of the values, of which every sum's is made."""
        return np.asarray(self.spread.covariance(self._true, np.eye(self.values.size)) / self.n)

    def sums(self, names: Sequence[str]) -> Floats:
        """The weights by which the values are summed to the table of these questions, in this order."""
        axes = [self.names.index(name) for name in names]
        at = np.indices(self.shape)[axes].reshape(len(axes), -1)
        shape = tuple(self.shape[axis] for axis in axes)
        where = np.ravel_multi_index(tuple(at), shape)
        weights = np.zeros((int(np.prod(shape)), self.values.size))
        weights[where, np.arange(self.size)] = 1.0
        return weights

    def expand(self, names: Sequence[str], table: Floats) -> Floats:
        """All values of people for whom this is the table of two questions, and nothing else depends."""
        beside = np.clip(self.values[self.size :], 0.0, None)
        answered = max(1 - float(beside.sum()), 0.0)
        cells = nearest_with_total(self.values[: self.size], answered).reshape(self.shape)
        axes = [self.names.index(name) for name in names]
        expanded = table.transpose(np.argsort(axes))
        rest = cells.sum(axis=tuple(axes))
        for axis in sorted(set(range(len(self.shape))) - set(axes)):
            expanded = np.expand_dims(expanded, axis)
        for axis in sorted(axes):
            rest = np.expand_dims(rest, axis)
        joint = (expanded * rest).ravel()
        return np.concatenate([joint * (answered / max(float(joint.sum()), _TINY)), beside])
