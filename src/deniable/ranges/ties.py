"""Computes what a public pool of hashes adds to the variances of sums: it ties some values together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from deniable.arrays import Floats, Integers
from deniable.law import Law
from deniable.law.lines import Lines
from deniable.law.pairs import Alike
from deniable.ranges.scatter import Scatter
from deniable.ranges.squares import LeastSquares

if TYPE_CHECKING:
    from deniable.ranges import loops

_TABLED = 256  # nodes of a level whose ties are all kept in a table
_HEAVY = 0.03  # the share of people from which a node of a larger level is a place of many
_MANY = 32  # such nodes at most
_NEAR = 64  # nodes near each end of a sum that are looked at
_AT_ONCE = 1 << 12  # sums whose weights are in memory together


@final
@dataclass(frozen=True, eq=False)
class Level:
    """A level of a tree, and what sums of leaves take of it."""

    squares: LeastSquares
    index: int

    def weigh(self, firsts: Integers, lasts: Integers) -> Floats:
        """What each sum of leaves takes of each measurement of the level, by rows."""
        from deniable.ranges import loops

        weights = np.empty((len(firsts), self.squares.tree.sizes[self.index]))
        loops.weigh_level(self.squares.nodes, self.index, firsts, lasts, weights)
        return weights

    def find_edges(self, leaves: Integers) -> tuple[Integers, Integers]:
        """The edges of the nodes that hold these leaves, from the first on, and the node of each leaf among
        them.
        """
        tree = self.squares.tree
        nodes = leaves // tree.divisors[self.index]
        edges = np.arange(nodes[0], nodes[-1] + 2) * tree.divisors[self.index]
        return np.minimum(edges, tree.k), nodes - nodes[0]

    def cover(self, leaves: Integers) -> Floats:
        """Which part of its node is below each leaf, by the variances of what the node holds."""
        tree, nodes = self.squares.tree, self.squares.nodes
        covered = np.zeros(len(leaves))
        for level in reversed(range(self.index + 1, tree.levels)):
            row, place = np.divmod(leaves // tree.divisors[level], tree.fanout)
            row += nodes.starts[level]
            covered = self._before[row, place] + nodes.parts[row, place] * covered
        return covered

    @cached_property
    def _before(self) -> Floats:
        """The parts of the nodes that a parent holds before each."""
        parts = self.squares.nodes.parts
        return np.asarray(np.cumsum(parts, axis=1) - parts)


@final
@dataclass(frozen=True, eq=False)
class Ties:
    """What the variance of a weighted sum is beyond that of `Scatter`, from one report of a level.

    Any two values share a bucket of the pool equally often. A third one shares it more often where it is on
    the line of the two. On average over people who are spread, `Scatter` counts that; where many people have
    one value, the lines through it say how the sum scatters. Small levels count all their people. In large
    ones each person moves less, so that only values of many people count.
    """

    level: Level
    pairs: Lines
    alike: Alike
    gain: float
    shares: Floats
    """The share of each node."""
    heaviest: Integers
    """The nodes whose lines are looked at, where there is no table of all."""

    @staticmethod
    def find(level: Level, law: Law, shares: Floats, n: int) -> Ties | None:
        """The ties of a level, if its reports are of a pool and enough people have one value."""
        if not isinstance(law.pairs, Lines):
            return None
        pairs = Alike.of_sizes(law.k, law.p, law.q, law.sizes, law.inside, law.outside)
        least = max(_HEAVY, 4 * math.sqrt(Scatter.of(law).base / n))
        heaviest = np.argsort(-shares, kind="stable")[:_MANY]
        heaviest = heaviest[shares[heaviest] > least]
        ties = Ties(level, law.pairs, pairs, law.gain, shares, heaviest)
        return ties if ties._is_tabled or heaviest.size else None

    @property
    def _is_tabled(self) -> bool:
        return self.shares.size <= _TABLED

    def of_sum(self, weights: Floats) -> float:
        """How much it adds to a sum that takes these weights; it may be less than nothing."""
        if self._is_tabled:
            return float(weights @ self._table @ weights)
        rates = self._rates
        total, squares = float(weights.sum()), float(np.square(weights).sum())
        added = 0.0
        for node, lines in zip(self.heaviest.tolist(), self._lines.through, strict=True):
            mine = float(weights[node])
            on_lines = float(np.square(np.bincount(lines, weights)).sum()) - squares
            others = (total - mine) ** 2 - (squares - mine**2)
            added += float(self.shares[node]) * (rates[0] * on_lines + rates[1] * others)
        return added

    def of_ranges(self, firsts: Integers, lasts: Integers) -> Floats:
        """How much it adds to sums of leaves, each from one up to, but without, another."""
        from deniable.ranges import loops

        added = np.empty(len(firsts))
        if not self._is_tabled:
            loops.tie(self.level.squares.nodes, self._lines, firsts, lasts, added)
            return added
        for low in range(0, len(firsts), _AT_ONCE):
            block = slice(low, low + _AT_ONCE)
            weights = self.level.weigh(firsts[block], lasts[block])
            added[block] = ((weights @ self._table) * weights).sum(axis=1)
        return added

    def of_curve(self, leaves: Integers) -> Floats:
        """How much it adds to the sums of all leaves before each of these, which follow each other.

        Between two edges of the level's nodes, weights are a mean of those at the two: by which part of the
        node is covered. So a square of them follows from the squares at the edges, and that of the node.
        """
        edges, at = self.level.find_edges(leaves)
        covered = self.level.cover(leaves)
        sums, nodes = self.of_ranges(np.zeros_like(edges), edges), self.of_ranges(edges[:-1], edges[1:])
        mean = (1 - covered) * sums[at] + covered * sums[at + 1]
        return np.asarray(mean - covered * (1 - covered) * nodes[at])

    @cached_property
    def _rates(self) -> Floats:
        """How much each two nodes add that are on a line with the person's, and each two others."""
        pool, p = self.pairs.pool, self.pairs.p
        other = (1 - p) / (pool.g - 1)
        two, three = float(pool.collision), float(pool.collision_of_three)
        apart = other * two + (p - other) * three
        return np.array([(p - other) * (two - three), apart - self.alike.apart]) / self.gain**2

    @cached_property
    def _lines(self) -> loops.Lines:
        """The lines through the heaviest nodes."""
        from deniable.ranges import loops

        pool, fanout = self.pairs.pool, self.level.squares.tree.fanout
        through = np.stack([pool.lines_through(node) for node in self.heaviest.tolist()]).astype(np.int32)
        depth = 1
        while fanout ** (depth + 1) <= _NEAR:
            depth += 1
        shares, size = self.shares[self.heaviest], pool.g**pool.digits
        return loops.Lines(self.level.index, depth, self.heaviest, shares, through, size, self._rates)

    @cached_property
    def _table(self) -> Floats:
        """What each two nodes add, by all people."""
        k = self.shares.size
        tied, kept = np.empty((k, k)), np.arange(k)
        for node in range(k):
            lines = self.pairs.pool.lines_through(node)
            tied[node] = np.bincount(lines, self.shares)[lines] - self.shares  # of others on the line of two
        # a person is on no line with oneself, so that two others are all that count
        others = self.shares.sum() - self.shares[:, None] - self.shares
        table = self._rates[0] * tied + self._rates[1] * others
        table[kept, kept] = 0.0
        return np.asarray(table)
