"""Chooses the tables that are asked, so that all wanted pairs of questions can be read.

A person reports one of the tables, drawn at random and named, with the whole budget. A view of three
questions answers three pairs at once; it has more cells, and sums over these are noisier.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats

MOST_CELLS = 1 << 16
_FEW = 14  # all choices of so many tables are looked at
_GAIN = 1 - 1e-9  # less is rounding


@final
@dataclass(frozen=True)
class Views:
    """Tables, each as the numbers of its questions; `score` is n times the mean variance of a cell of the
    wanted pairs.
    """

    tables: tuple[tuple[int, ...], ...]
    score: float


def choose_views(
    sizes: Sequence[int],
    pairs: Sequence[tuple[int, int]],
    epsilon: float,
    weights: Sequence[float] | None = None,
    alone: int = 0,
) -> Views:
    """The tables by which the wanted pairs err least, if `alone` more questions are sampled beside them.

    >>> choose_views([2, 2, 2], [(0, 1), (0, 2), (1, 2)], epsilon=1.0).tables
    ((0, 1, 2),)
    >>> choose_views([2, 5, 4], [(0, 1), (0, 2), (1, 2)], epsilon=1.0).tables
    ((0, 1), (0, 2), (1, 2))
    """
    search = Search.of(sizes, pairs, epsilon, weights, alone)
    best = search.find_best()
    tables = tuple(table for table, used in zip(search.tables, best, strict=True) if used)
    return Views(tables, search.score(best))


@final
@dataclass(frozen=True, eq=False)
class Search:
    """All tables that could be asked, and what one report of each says about each wanted pair."""

    tables: tuple[tuple[int, ...], ...]
    precision: Floats
    """One over the variance of a cell of a pair, by rows for tables; 0 where a table does not hold it."""
    weights: Floats
    alone: int

    @staticmethod
    def of(
        sizes: Sequence[int],
        pairs: Sequence[tuple[int, int]],
        epsilon: float,
        weights: Sequence[float] | None = None,
        alone: int = 0,
    ) -> Search:
        """Wanted pairs, views of three that hold two of them or more, and one view of all."""
        tables = tuple(_list_tables(sizes, pairs))
        precision = np.array([_read_pairs(table, sizes, pairs, epsilon) for table in tables])
        given = np.ones(len(pairs)) if weights is None else np.asarray(weights, dtype=np.float64)
        return Search(tables, precision, given / given.sum(), alone)

    def score(self, used: Floats) -> float:
        """N times the mean variance of a cell of the wanted pairs, if these tables are sampled alike."""
        return float(self.scores(used[None, :])[0])

    def scores(self, used: Floats) -> Floats:
        """The same of several choices, one by row."""
        with np.errstate(divide="ignore"):  # what no table holds is never known
            variances = np.maximum(used.sum(axis=1) + self.alone, 1)[:, None] / (used @ self.precision)
        return np.asarray(variances @ self.weights)

    def find_best(self) -> Floats:
        """Which tables err least: of all choices where these are few, else of those that are tried."""
        count = len(self.tables)
        if count > _FEW:
            return min(map(self.improve, self.starts()), key=self.score)
        choices = (np.arange(1, 1 << count)[:, None] >> np.arange(count) & 1).astype(np.float64)
        return np.asarray(choices[np.argmin(self.scores(choices))])

    def starts(self) -> Iterator[Floats]:
        """The wanted pairs, all views of three, and the view of all, where there are such."""
        sizes = np.array(list(map(len, self.tables)))
        for size in dict.fromkeys([2, 3, int(sizes.max())]):
            used = (sizes == size).astype(np.float64)
            if (used @ self.precision).all():
                yield used

    def improve(self, used: Floats) -> Floats:
        """Adds and leaves out tables as long as that helps; a view may take the place of all its pairs."""
        while True:
            moves = np.concatenate(list(self._moves(used)))
            scores = self.scores(moves)
            best = int(np.argmin(scores))
            if not scores[best] < self.score(used) * _GAIN:
                return used
            used = moves[best]

    def _moves(self, used: Floats) -> Iterator[Floats]:
        changed = np.abs(used - np.eye(len(used)))  # a row for each table, which is added or left out
        yield changed
        new = changed.diagonal()[:, None]
        yield np.where(self._inside, 1 - new, changed)

    @cached_property
    def _inside(self) -> npt.NDArray[np.bool_]:
        """Which tables, by columns, are a part of which."""
        sets = list(map(set, self.tables))
        return np.array([[other < table for other in sets] for table in sets])


def _list_tables(sizes: Sequence[int], pairs: Sequence[tuple[int, int]]) -> Iterator[tuple[int, ...]]:
    wanted = [tuple(sorted(pair)) for pair in pairs]
    yield from wanted
    asked = sorted({j for pair in wanted for j in pair})
    larger = [*combinations(asked, 3), *([tuple(asked)] if len(asked) > 3 else [])]
    for table in larger:
        held = sum(set(pair) <= set(table) for pair in wanted)
        if held > 1 and math.prod(sizes[j] for j in table) <= MOST_CELLS:
            yield table


def _read_pairs(
    table: tuple[int, ...], sizes: Sequence[int], pairs: Sequence[tuple[int, int]], epsilon: float
) -> list[float]:
    """One over the variance of a cell of each pair, by the protocol that reads the pairs of a table best."""
    cells = math.prod(sizes[j] for j in table)
    inside = [set(pair) <= set(table) for pair in pairs]
    together = [
        cells // (sizes[a] * sizes[b]) if held else 0 for (a, b), held in zip(pairs, inside, strict=True)
    ]
    tried = [
        [_find_variance(cells, size, epsilon, kept) if size else math.inf for size in together]
        for kept in {1, max(1, round(cells / (math.exp(epsilon) + 1)))}
    ]
    best = min(tried, key=lambda one: math.fsum(variance for variance in one if variance < math.inf))
    return [1 / variance for variance in best]


def _find_variance(cells: int, together: int, epsilon: float, kept: int) -> float:
    """The variance of a sum of this many cells from one report, a set of `kept` cells, if all are alike."""
    odds, k, s = math.exp(epsilon), cells, kept
    p = s * odds / (s * odds + k - s)
    q = (p * (s - 1) + (1 - p) * s) / (k - 1)
    both_in = p * (s - 1) / (k - 1)
    both_out = (p * (s - 1) * (s - 2) + (1 - p) * s * (s - 1)) / ((k - 1) * (k - 2)) if k > 2 else 0.0
    share = together / cells
    supported = together * q + (p - q) * share
    pairs = together * (together - 1) * both_out + 2 * (together - 1) * (both_in - both_out) * share
    return (supported + pairs - supported**2) / (p - q) ** 2
