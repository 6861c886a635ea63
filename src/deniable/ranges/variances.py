"""Computes the variances of sums of shares from all levels: by noise, and by the people who have them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from deniable.arrays import Floats, Integers
from deniable.law import Law
from deniable.ranges.scatter import Scatter
from deniable.ranges.squares import LeastSquares
from deniable.ranges.ties import Level, Ties
from deniable.ranges.tree import Tree

if TYPE_CHECKING:
    from deniable.ranges.loops import Crowd


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
