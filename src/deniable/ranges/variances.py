"""Computes the variances of sums of shares from all levels: by noise, and by the people who have them.

`Scatter` is the law of one level where people are spread, `Ties` are what a public pool of hashes adds, which
ties some values together, and `Variances` puts all levels together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from deniable.arrays import Floats, Integers
from deniable.law import Law
from deniable.law.pairs import Alike, Lines
from deniable.ranges.tree import LeastSquares, Tree

if TYPE_CHECKING:
    from deniable.ranges import loops
    from deniable.ranges.loops import Crowd

_TABLED = 256  # nodes of a level whose ties are all kept in a table
_HEAVY = 0.03  # the share of people from which a node of a larger level is a place of many
_MANY = 32  # such nodes at most
_NEAR = 64  # nodes near each end of a sum that are looked at
_SUMS_AT_ONCE = 1 << 12  # sums whose weights are in memory together


@final
@dataclass(frozen=True)
class Scatter:
    """The variance of a weighted sum of estimated shares, from one report of a person drawn from the shares.

    With weights w and shares f it is base sum(w^2) + slope sum(f w^2) + square A^2 + cross A F - F^2, where
    A = sum(w) and F = sum(f w). All two values are taken to be supported together equally often. That is so
    for values, sets and bits. For hashes it is true on average over people who are spread; `Ties` has what
    a pool adds where many people have one value.

    >>> from deniable.mechanisms import oue
    >>> noise = Scatter.of(oue(k=100, epsilon=1.0).law)
    >>> round(noise.base, 4), round(noise.slope, 4), abs(noise.cross) < 1e-9
    (3.6827, 2.0, True)
    """

    base: float
    slope: float
    square: float
    cross: float

    @staticmethod
    def of(law: Law) -> Scatter:
        """From how likely a report supports one value, or two."""
        pairs = Alike.of_sizes(law.k, law.p, law.q, law.sizes, law.inside, law.outside)
        gain, more = law.gain, pairs.together - pairs.apart
        return Scatter(
            base=(law.q - pairs.apart) / gain**2,
            slope=(gain - 2 * more) / gain**2,
            square=(pairs.apart - law.q**2) / gain**2,
            cross=2 * (more - law.q * gain) / gain**2,
        )


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
        for low in range(0, len(firsts), _SUMS_AT_ONCE):
            block = slice(low, low + _SUMS_AT_ONCE)
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


@final
@dataclass(frozen=True, eq=False)
class Variances:
    """The variances of sums of leaves, the people being a sample.

    Of one level it is what `Scatter` says of the weights that a sum takes of its nodes. Weights are those of
    the nodes that a range cuts, and what these leave to the nodes below. So a range takes a few steps for
    each level. What people add is by the shares that are estimated, and never less than nothing.

    Levels of pools add their ties, or take them away; at least half of the noise remains.
    """

    squares: LeastSquares
    laws: tuple[Law, ...]
    """The law of the reports of each level."""
    people: tuple[int, ...]
    """How many report each level."""
    shares: Floats
    """The share of each leaf."""

    @property
    def _tree(self) -> Tree:
        return self.squares.tree

    def of_ranges(self, firsts: Integers, lasts: Integers) -> Floats:
        """The variances of sums of leaves, each from one up to, but without, another."""
        ties = sum(ties_of_level.of_ranges(firsts, lasts) / n for ties_of_level, n in self._tied)
        return self._vary(firsts, lasts, ties)

    def of_curve(self, leaves: Integers) -> Floats:
        """The variances of the sums of all leaves before each of these, which follow each other."""
        ties = sum(ties_of_level.of_curve(leaves) / n for ties_of_level, n in self._tied)
        return self._vary(np.zeros_like(leaves), leaves, ties)

    def of_sum(self, points: Floats) -> float:
        """The variance of the sum of each leaf times a number."""
        weights, shares = self.squares.weights_of(points), self._node_shares
        noise = people = 0.0
        for level_weights, node_shares, scatter, n in zip(
            weights, shares, self.scatters, self.people, strict=True
        ):
            noise += scatter.base * float(level_weights @ level_weights) / n
            people += scatter.slope * float(level_weights**2 @ node_shares) / n
        pairs = zip(weights, shares, strict=True)
        sums = np.array(
            [[[level_weights.sum()], [level_weights @ node_shares]] for level_weights, node_shares in pairs]
        )
        people = max(people + float(self._add_sums(sums)[0]), 0.0)
        ties = sum(
            ties_of_level.of_sum(weights[ties_of_level.level.index]) / n for ties_of_level, n in self._tied
        )
        return max(noise + people + ties, noise / 2)

    def _vary(self, firsts: Integers, lasts: Integers, ties: Floats | int) -> Floats:
        from deniable.ranges import loops

        variances = np.empty((len(firsts), 2))
        loops.vary(self.squares.nodes, self.crowd, firsts, lasts, variances)
        noise, people = variances.T
        return np.asarray(np.maximum(noise + people + ties, noise / 2))

    @cached_property
    def _tied(self) -> list[tuple[Ties, int]]:
        """The levels of pools in which people tie nodes together, and how many report each."""
        tied = list[tuple[Ties, int]]()
        for level, (law, shares, n) in enumerate(zip(self.laws, self._node_shares, self.people, strict=True)):
            ties = Ties.find(Level(self.squares, level), law, shares, n)
            tied += [] if ties is None else [(ties, n)]
        return tied

    @cached_property
    def scatters(self) -> tuple[Scatter, ...]:
        """How a sum of each level scatters where people are spread."""
        return tuple(map(Scatter.of, self.laws))

    @cached_property
    def crowd(self) -> Crowd:
        """What people add, for loops."""
        from deniable.ranges.loops import Crowd

        return Crowd(self._slopes, self._own_slopes, self._shares, self._sums, self._rates)

    def _add_sums(self, sums: Floats) -> Floats:
        """What the sums of weights, and of shares times weights, of each level add to a variance."""
        weights, shares = sums[:, 0], sums[:, 1]
        square, cross, shares_rate = self._rates
        return np.asarray(square @ weights**2 + cross @ (weights * shares) - shares_rate @ shares**2)

    @cached_property
    def _rates(self) -> Floats:
        """How the sums of each level count: squared weights, weights times shares, and squared shares."""
        rows = [(scatter.square, scatter.cross, 1.0) for scatter in self.scatters]
        return np.asarray(np.array(rows).T / np.array(self.people))

    @cached_property
    def _node_shares(self) -> list[Floats]:
        """The unbiased shares of the nodes of each level."""
        shares_by_level = [self.shares]
        for _ in range(self._tree.levels - 1):
            shares_by_level.insert(0, self._tree.fold(shares_by_level[0]))
        return shares_by_level

    @cached_property
    def _shares(self) -> Floats:
        """The unbiased shares of the nodes of all levels, in a table of parents by nodes."""
        return np.concatenate([self._tree.group(shares) for shares in self._node_shares])

    @cached_property
    def _own_slopes(self) -> Floats:
        """What people at a node add to a variance by its own measurement, times its squared coefficient."""
        rates = [scatter.slope / n for scatter, n in zip(self.scatters, self.people, strict=True)]
        rows = np.diff(self.squares.first_parents, append=len(self._shares))
        return np.asarray(self.squares.measured**2 * np.repeat(rates, rows)[:, None] * self._shares)

    @cached_property
    def _slopes(self) -> Floats:
        """How much a node's share adds to a variance, by all measurements there and below."""
        slopes, starts = self._own_slopes.copy(), self.squares.first_parents
        for level in reversed(range(self._tree.levels - 1)):
            rows = slice(starts[level], starts[level + 1])
            below = slopes[starts[level + 1] : starts[level + 1] + self._tree.sizes[level]].sum(axis=1)
            slopes[rows] += (1 - self.squares.measured[rows]) ** 2 * self._tree.group(below)
        return slopes

    @cached_property
    def _sums(self) -> Floats:
        """What a node's coefficient adds to the sum of weights, and of shares times weights, of each level:
        a table of parents by nodes by levels, of all levels but the finest.
        """
        levels, sums = self._tree.levels, list[Floats]()
        if levels == 1:
            return np.zeros((0, self._tree.fanout, 1, 2))
        below = np.zeros((self._tree.sizes[-2], levels, 2))
        below[:, -1] = self._tree.fold(np.stack([np.ones(self._tree.k), self.shares], axis=1))
        for level in reversed(range(levels - 1)):
            part, shares = self.squares.own_parts[level], self._node_shares[level]
            below *= (1 - part)[:, None, None]
            below[:, level] = part[:, None] * np.stack([np.ones_like(shares), shares], axis=1)
            sums.insert(0, self._tree.group(below))
            below = self._tree.fold(below)
        return np.concatenate(sums)


def bound_influence(variances: Variances, people: int) -> float:
    """How many people one report counts for, at most, in the share of a range, of so many who report.

    A report of a level with n reports supports a set S of its nodes. It moves the share of a range by
    (w(S) - q w(all)) / gain / n, where w are the weights that least squares gives the range. These are the
    weights up to its last edge without those up to its first. So w(S) is at most the positive weights up to
    the one and the negative ones up to the other; of a set of s nodes, at most s times the largest. Both are
    convex between two edges of the level's nodes, since the weights are a mean of those there. So the edges
    of the nodes have the largest.
    """
    return max(_bound_level(variances, level, people) for level in range(len(variances.laws)))


def _bound_level(variances: Variances, level: int, people: int) -> float:
    from deniable.ranges import loops

    squares, law = variances.squares, variances.laws[level]
    tree = squares.tree
    edges = np.minimum(np.arange(tree.sizes[level] + 1) * tree.divisors[level], tree.k)
    reaches = np.empty((edges.size, 4))
    loops.reach(squares.nodes, variances.crowd.sums, _list_factors(variances, level), edges, reaches)
    sums, largest = reaches[:, :2], reaches[:, 2:]
    q, always = float(np.max(law.q)), sums[:, 0] - sums[:, 1]
    up, down = np.minimum(sums, float(law.sizes.max()) * largest).T
    most = float((up - q * always).max() + (down + q * always).max())
    return most / law.gain * people / variances.people[level]


def _list_factors(variances: Variances, level: int) -> Floats:
    """How much of a node's coefficient a node of the level weighs at most, for each level from the top on."""
    own_parts = variances.squares.own_parts
    left = [float(own_parts[level].max())]
    for above in reversed(range(level)):
        left.insert(0, left[0] * float(1 - own_parts[above].min()))
    return np.array(left)
