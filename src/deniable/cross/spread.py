"""Computes how the estimated cells of a table vary together, from the law of one report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, final

import numpy as np

from deniable.arrays import Floats, Integers
from deniable.law import Law, Marginal

Supports = Law | Marginal
"""A law of reports that support values."""
_Within = Callable[[Floats, Floats], Floats]


class Spread(Protocol):
    """How far one report's cells are from the truth, together."""

    def covariance(self, cells: Floats, sums: Floats) -> Floats:
        """The covariance of weighted sums, one by row, of the cells that one report gives, if these are the
        true ones.
        """

    def sampling(self, cells: Floats, sums: Floats) -> Floats:
        """The part of it that is due to which people were sampled, and not to noise."""


@final
@dataclass(frozen=True)
class OneReport:
    """One report that supports some of the cells.

    Where supports need not add up to the same number, the cells' total is fixed at 1: that is unbiased, and
    halves the variance of margins.
    """

    law: Supports

    def covariance(self, cells: Floats, sums: Floats) -> Floats:
        law, centered = self.law, _fix_total_of(sums)
        supported = (law.q + law.gain * cells) @ centered.T
        joint = law.pairs.joint_sums(centered, cells)
        return np.asarray((joint - supported[..., :, None] * supported[..., None, :]) / law.gain**2)

    def sampling(self, cells: Floats, sums: Floats) -> Floats:
        return sampling_covariance(cells, sums)


@final
@dataclass(frozen=True)
class TwoReports:
    """Two reports of one person, one about rows and one about columns, whose noise is independent."""

    by_row: Supports
    by_column: Supports

    def covariance(self, cells: Floats, sums: Floats) -> Floats:
        shares = cells.reshape(self.by_row.k, self.by_column.k)
        centered = _fix_total_of(sums)
        mixed = np.tensordot(shares, self._squares[1], axes=1)
        found = np.einsum("xij,xkl->ikjl", self._squares[0], mixed, optimize=True).reshape(
            cells.size, cells.size
        )
        return np.asarray(centered @ (found - np.outer(cells, cells)) @ centered.T)

    def sampling(self, cells: Floats, sums: Floats) -> Floats:
        return sampling_covariance(cells, sums)

    @cached_property
    def _squares(self) -> tuple[Floats, Floats]:
        return _mean_products(self.by_row), _mean_products(self.by_column)


@final
@dataclass(frozen=True)
class GroupedReport:
    """One report of a person whose group is known, about the other question.

    The cells are those of all groups, then what is beside them (no answer), group by group. Only which people
    were sampled varies the size of a group.
    """

    law: Supports
    groups: int
    size: int
    """How many cells a group has."""
    named: float = 1.0
    """How many reports name their group, for one that is about the question."""

    def covariance(self, cells: Floats, sums: Floats) -> Floats:
        return self._join(OneReport(self.law).covariance, cells, sums)

    def sampling(self, cells: Floats, sums: Floats) -> Floats:
        return self._join(sampling_covariance, cells, sums)

    def _join(self, within: _Within, cells: Floats, sums: Floats) -> Floats:
        """What varies within the groups, and their sizes."""
        means = sums @ cells
        found = -np.outer(means, means) / self.named
        for here in self.positions:
            base = float(cells[here].sum())
            if base <= 0:
                continue
            shares, weights = cells[here] / base, sums[:, here]
            inside = weights @ shares
            found += base * (within(shares, weights) + np.outer(inside, inside) / self.named)
        return np.asarray(found)

    @cached_property
    def positions(self) -> Integers:
        """Where the cells of each group are, a row for each."""
        inside = np.arange(self.groups * self.size).reshape(self.groups, self.size)
        beside = np.arange(self.groups * (self.law.k - self.size)).reshape(self.groups, -1)
        return np.hstack([inside, inside.size + beside])


def sampling_covariance(cells: Floats, sums: Floats) -> Floats:
    """How weighted sums of the cells of one person who is drawn at random vary together."""
    means = sums @ cells
    return np.asarray((sums * cells) @ sums.T - np.outer(means, means))


def _mean_products(law: Supports) -> Floats:
    """The mean products of what a report adds to each two shares, for each true value."""
    found = []
    for value in np.eye(law.k):
        supported = law.q + law.gain * value
        blind = law.q * (supported[:, None] + supported) - law.q**2
        found.append((law.pairs.joint(value) - blind) / law.gain**2)
    return np.array(found)


def fix_total(cells: Floats) -> Floats:
    """Cells that add up to 1, all moved alike."""
    return np.asarray(cells - (cells.sum() - 1) / cells.size)


def _fix_total_of(sums: Floats) -> Floats:
    """Weights of sums of cells whose total is not yet fixed."""
    return np.asarray(sums - sums.mean(axis=1, keepdims=True))
