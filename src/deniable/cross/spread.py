"""Computes how estimated cells of a table vary together, from the law of one report, and draws studies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, final

import numpy as np

from deniable.arrays import Floats, Integers
from deniable.law import Law, Marginal
from deniable.law.pairs import Walsh
from deniable.summaries.fit import draw_normal

Supports = Law | Marginal
"""A law of reports that support values."""
_FEW = 200  # reports: fewer are drawn one by one, where counts have no law of their own
_MOST_DRAWN = 1 << 24  # supports that are drawn one by one at most
_BLOCK = 1 << 22  # of them at once
Within = Callable[[Floats, Floats], Floats]


class Spread(Protocol):
    """How far one report's cells are from the truth, together."""

    def covariance(self, cells: Floats, sums: Floats) -> Floats:
        """The covariance of weighted sums, one by row, of the cells that one report gives, if these are the
        true ones.
        """

    def sampling(self, cells: Floats, sums: Floats) -> Floats:
        """The part of it that is due to which people were sampled, and not to noise."""

    def draw(self, cells: Floats, n: int, runs: int, generator: np.random.Generator) -> Floats:
        """The unbiased cells of so many studies of n reports each, if these are the true ones."""

    def count_supports(self, cells: Floats, n: int) -> float:
        """How many of n reports support the rarest cell, if these are the true ones."""


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

    def draw(self, cells: Floats, n: int, runs: int, generator: np.random.Generator) -> Floats:
        counts = _draw_counts(self.law, cells, n, runs, generator)
        return fix_total((counts / n - self.law.q) / self.law.gain)

    def count_supports(self, cells: Floats, n: int) -> float:
        return n * float((self.law.q + self.law.gain * cells).min())


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
        products = np.einsum("xij,xkl->ikjl", self._squares[0], mixed, optimize=True).reshape(
            cells.size, cells.size
        )
        return np.asarray(centered @ (products - np.outer(cells, cells)) @ centered.T)

    def sampling(self, cells: Floats, sums: Floats) -> Floats:
        return sampling_covariance(cells, sums)

    def draw(self, cells: Floats, n: int, runs: int, generator: np.random.Generator) -> Floats:
        """Exact where both reports name one value; by the normal law of the cells elsewhere."""
        laws = self.by_row, self.by_column
        if not all(isinstance(law, Law) and law.sizes.tolist() == [1] for law in laws):
            errors = draw_normal(self.covariance(cells, np.eye(cells.size)) / n, runs, generator)
            return fix_total(cells + errors)
        channels = [law.q + law.gain * np.eye(law.k) for law in laws]
        inverses = [(np.eye(law.k) - law.q) / law.gain for law in laws]
        shares = cells.clip(0.0, None).reshape(self.by_row.k, self.by_column.k)
        chances = channels[0].T @ shares @ channels[1]
        observed = generator.multinomial(n, (chances / chances.sum()).ravel(), size=runs) / n
        estimates = inverses[0] @ observed.reshape(runs, *shares.shape) @ inverses[1].T
        return fix_total(estimates.reshape(runs, -1))

    def count_supports(self, cells: Floats, n: int) -> float:
        shares = cells.reshape(self.by_row.k, self.by_column.k)
        by_row, by_column = self.by_row, self.by_column
        alone = np.multiply.outer(shares.sum(axis=1), np.ones(by_column.k)), shares.sum(axis=0)
        chances = by_row.gain * by_column.gain * shares + by_row.q * by_column.q
        chances = chances + by_row.gain * by_column.q * alone[0] + by_row.q * by_column.gain * alone[1]
        return n * float(chances.min())

    @cached_property
    def _squares(self) -> tuple[Floats, Floats]:
        return _mean_products(self.by_row), _mean_products(self.by_column)


@final
@dataclass(frozen=True, eq=False)
class NamedPair:
    """One report that names an answer to each of two questions, which one draw decides together.

    `table` has how likely each pair of answers is named, by rows of true pairs.
    """

    table: Floats

    @cached_property
    def inverse(self) -> Floats:
        """What each pair that is named adds to the shares of all pairs, by rows."""
        return np.asarray(np.linalg.inv(self.table))

    def covariance(self, cells: Floats, sums: Floats) -> Floats:
        return sampling_covariance(cells @ self.table, sums @ self.inverse.T)

    def sampling(self, cells: Floats, sums: Floats) -> Floats:
        return sampling_covariance(cells, sums)

    def draw(self, cells: Floats, n: int, runs: int, generator: np.random.Generator) -> Floats:
        named = _multinomial(cells.clip(0.0, None) @ self.table, n, runs, generator) / n
        return fix_total(named @ self.inverse)

    def count_supports(self, cells: Floats, n: int) -> float:
        return n * float((cells @ self.table).min())


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
    naming: float = 1.0
    """How many reports name their group, for one that is about the question."""
    sizes: tuple[int, ...] = ()
    """How many reports of each group are about the question, where they are counted already."""

    def covariance(self, cells: Floats, sums: Floats) -> Floats:
        return self._join(OneReport(self.law).covariance, cells, sums)

    def sampling(self, cells: Floats, sums: Floats) -> Floats:
        return self._join(sampling_covariance, cells, sums)

    def draw(self, cells: Floats, n: int, runs: int, generator: np.random.Generator) -> Floats:
        """Each group at its size, and weighted by it."""
        simulated = np.zeros((runs, cells.size))
        for position, size in zip(self.positions, self.sizes, strict=True):
            base = float(cells[position].sum())
            if size and base > 0:
                shares = OneReport(self.law).draw(cells[position] / base, size, runs, generator)
                simulated[:, position] = size / n * shares
        return simulated

    def count_supports(self, cells: Floats, n: int) -> float:
        law = OneReport(self.law)
        counts = [
            law.count_supports(cells[position] / cells[position].sum(), size)
            for position, size in zip(self.positions, self.sizes, strict=True)
            if size and cells[position].sum() > 0
        ]
        return min(counts, default=0.0)

    def weigh_by_sizes(self, cells: Floats) -> Floats:
        """The cells with each group weighted by its reports about the question, whose number is no chance."""
        weighted, n = np.zeros(cells.size), max(sum(self.sizes), 1)
        for position, size in zip(self.positions, self.sizes, strict=True):
            base = float(cells[position].sum())
            if size and base > 0:
                weighted[position] = size / n * cells[position] / base
        return weighted

    def _join(self, within: Within, cells: Floats, sums: Floats) -> Floats:
        """What varies within the groups, and their sizes."""
        means = sums @ cells
        covariance = -np.outer(means, means) / self.naming
        for position in self.positions:
            base = float(cells[position].sum())
            if base <= 0:
                continue
            shares, weights = cells[position] / base, sums[:, position]
            inside = weights @ shares
            covariance += base * (within(shares, weights) + np.outer(inside, inside) / self.naming)
        return np.asarray(covariance)

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
    products = []
    for value in np.eye(law.k):
        supported = law.q + law.gain * value
        blind = law.q * (supported[:, None] + supported) - law.q**2
        products.append((law.pairs.joint(value) - blind) / law.gain**2)
    return np.array(products)


def fix_total(cells: Floats) -> Floats:
    """Cells that add up to 1, all moved alike; of a table, each row by a row."""
    return np.asarray(cells - (cells.sum(axis=-1, keepdims=True) - 1) / cells.shape[-1])


def _fix_total_of(sums: Floats) -> Floats:
    """Weights of sums of cells whose total is not yet fixed."""
    return np.asarray(sums - sums.mean(axis=1, keepdims=True))


def _draw_counts(
    law: Law | Marginal, shares: Floats, n: int, runs: int, generator: np.random.Generator
) -> Floats:
    """How many of n reports support each value, in each of so many studies of people with these shares.

    Exact where reports name one value, support each by its own coin, or are columns of a Hadamard matrix.
    Of other shapes, few reports are drawn one by one, and many by the normal law of their counts.
    """
    shares = shares.clip(0.0, None)
    shares = shares / shares.sum()
    if isinstance(law, Law):
        if law.bitwise:
            people = generator.multinomial(n, shares, size=runs)
            return np.asarray(
                generator.binomial(people, law.p) + generator.binomial(n - people, law.q), dtype=np.float64
            )
        if isinstance(law.pairs, Walsh):
            return _draw_columns(law.pairs, shares, n, runs, generator)
        if law.sizes.tolist() == [1]:
            return _multinomial(law.q + law.gain * shares, n, runs, generator)
        if n < _FEW and n * runs * law.k <= _MOST_DRAWN:
            return _draw_sets(law, shares, n, runs, generator)
    supported = law.q + law.gain * shares
    spread = law.pairs.joint(shares) - np.outer(supported, supported)
    return np.asarray(n * supported + np.sqrt(n) * draw_normal(spread, runs, generator))


def _multinomial(chances: Floats, n: int, runs: int, generator: np.random.Generator) -> Floats:
    chances = chances.clip(0.0, None)
    return np.asarray(generator.multinomial(n, chances / chances.sum(), size=runs), dtype=np.float64)


def _draw_columns(pairs: Walsh, shares: Floats, n: int, runs: int, generator: np.random.Generator) -> Floats:
    """Reports that are columns of a Hadamard matrix, half of which support any one value."""
    columns = np.arange(1 << pairs.bits)
    rows = np.arange(1, shares.size + 1)
    is_supported = np.bitwise_count(columns[:, None] & rows) % 2 == 0
    chances = np.where(is_supported, pairs.p, 1 - pairs.p) @ shares
    return np.asarray(_multinomial(chances, n, runs, generator) @ is_supported)


def _draw_sets(law: Law, shares: Floats, n: int, runs: int, generator: np.random.Generator) -> Floats:
    """Reports one by one: whether the truth is inside, how many values are, and which."""
    k, counts = law.k, []
    chances = np.concatenate([law.inside, law.outside])
    sizes = np.concatenate([law.sizes, law.sizes])
    block = max(_BLOCK // (n * k), 1)
    for start in range(0, runs, block):
        many = min(block, runs - start) * n
        truth = generator.choice(k, size=many, p=shares)
        sets = generator.choice(chances.size, size=many, p=chances / chances.sum())
        order = generator.random((many, k))
        order[np.arange(many), truth] = np.where(sets < law.sizes.size, -1.0, 2.0)
        is_supported = order.argsort(axis=1).argsort(axis=1) < sizes[sets][:, None]
        counts.append(is_supported.reshape(-1, n, k).sum(axis=1))
    return np.concatenate(counts).astype(np.float64)
