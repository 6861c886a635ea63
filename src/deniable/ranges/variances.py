"""Computes the variances of sums of shares from all levels: by noise, and by the people who have them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from deniable.arrays import Floats, Integers
from deniable.law import Law
from deniable.ranges.scatter import Scatter
from deniable.ranges.squares import Contrasts, LeastSquares
from deniable.ranges.ties import Ties
from deniable.ranges.tree import Tree

_TIED = 257  # sums at once up to which each counts its ties by itself
_AT_ONCE = 1 << 12  # sums whose variances are computed together


@final
@dataclass(frozen=True, eq=False)
class Variances:
    """The variances of sums of leaves, the people being a sample.

    Of one level it is what `Scatter` says of the weights that a sum takes of its nodes. Weights are those of
    the nodes that a range cuts, and what these leave to the nodes below. So a range takes a few steps for
    each level. What people add is by the shares that are estimated, and never less than nothing.

    Levels of pools add their ties, or take them away; at least half of the noise remains. Ties take all the
    weights of a level, so that a few sums have them, and a curve of many does without.
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
        """Of sums of leaves, each from one up to, but without, another."""
        blocks = (slice(low, low + _AT_ONCE) for low in range(0, len(firsts), _AT_ONCE))
        is_tied = len(firsts) <= _TIED
        found = [self._vary(firsts[block], lasts[block], is_tied) for block in blocks]
        return np.concatenate([np.zeros(0), *found])

    def of_sum(self, points: Floats) -> float:
        """Of the sum of each leaf times a number."""
        weights, shares = self.squares.weights_of(points), self._node_shares
        noise = people = 0.0
        for one, held, scatter, n in zip(weights, shares, self.scatters, self.people, strict=True):
            noise += scatter.own * float(one @ one) / n
            people += scatter.slope * float(one**2 @ held) / n
        pairs = zip(weights, shares, strict=True)
        sums = np.array([[[one.sum()], [one @ held]] for one, held in pairs])
        people = max(people + float(self._add_sums(sums)[0]), 0.0)
        return max(noise + people + self._add_ties(weights), noise / 2)

    def _vary(self, firsts: Integers, lasts: Integers, is_tied: bool) -> Floats:
        contrasts = self.squares.contrasts(firsts, lasts)
        taken, is_cut = self.squares.coefficients(contrasts)
        parents, own = contrasts.parents, self.squares.own[contrasts.parents]
        squares = taken**2
        noise = (squares * self.squares.noise[parents] * np.where(is_cut, own, 1.0)).sum(axis=(0, 2, 3))
        nodes = np.maximum(np.where(is_cut, self._own_slopes[parents], self._slopes[parents]), 0.0)
        people = (squares * nodes).sum(axis=(0, 2, 3))
        cut = np.where(is_cut, taken * own, 0.0)
        sums = np.stack([cut.sum(axis=(2, 3)), (cut * self._shares[parents]).sum(axis=(2, 3))], axis=1)
        if self._tree.levels > 1:
            whole = np.where(is_cut, 0.0, taken)[:-1]
            sums += np.einsum("lnej,lnejmx->mxn", whole, self._sums[parents[:-1]])
        ties = self._tie(contrasts, len(firsts)) if is_tied else np.zeros(len(firsts))
        return np.asarray(
            np.maximum(noise + np.maximum(people + self._add_sums(sums), 0.0) + ties, noise / 2)
        )

    def _tie(self, contrasts: Contrasts, many: int) -> Floats:
        """What the ties of all levels add to the variance of each sum of leaves."""
        found, tied = np.zeros(many), [i for i, ties in enumerate(self._ties) if ties is not None]
        if tied:
            for index in range(many):
                found[index] = self._add_ties(self.squares.spread(contrasts, index, tied[-1] + 1))
        return found

    def _add_ties(self, weights: Sequence[Floats]) -> float:
        """The same of a sum that takes these weights of the nodes of each level."""
        levels = zip(self._ties, weights, self.people, strict=False)
        return sum(ties.add(one) / n for ties, one, n in levels if ties is not None)

    @cached_property
    def _ties(self) -> tuple[Ties | None, ...]:
        levels = zip(self.laws, self._node_shares, self.people, strict=True)
        return tuple(Ties.find(law, shares, n) for law, shares, n in levels)

    @cached_property
    def scatters(self) -> tuple[Scatter, ...]:
        """How a sum of each level scatters where people are spread."""
        return tuple(map(Scatter.of, self.laws))

    def _add_sums(self, sums: Floats) -> Floats:
        """What the sums of weights, and of shares times weights, of each level add to a variance."""
        weights, shares = sums[:, 0], sums[:, 1]
        square, cross, own = self._rates
        return np.asarray(square @ weights**2 + cross @ (weights * shares) - own @ shares**2)

    @cached_property
    def _rates(self) -> Floats:
        """How the sums of each level count: squared weights, weights times shares, and squared shares."""
        rows = [(scatter.square, scatter.cross, 1.0) for scatter in self.scatters]
        return np.asarray(np.array(rows).T / np.array(self.people))

    @cached_property
    def _node_shares(self) -> list[Floats]:
        """The unbiased shares of the nodes of each level."""
        found = [self.shares]
        for _ in range(self._tree.levels - 1):
            found.insert(0, self._tree.fold(found[0]))
        return found

    @cached_property
    def _shares(self) -> Floats:
        """The same in a table of parents by nodes, of all levels."""
        return np.concatenate([self._tree.group(shares) for shares in self._node_shares])

    @cached_property
    def _own_slopes(self) -> Floats:
        """What people at a node add to a variance by its own measurement, times its squared coefficient."""
        rates = [scatter.slope / n for scatter, n in zip(self.scatters, self.people, strict=True)]
        rows = np.diff(self.squares.first_parents, append=len(self._shares))
        return np.asarray(self.squares.own**2 * np.repeat(rates, rows)[:, None] * self._shares)

    @cached_property
    def _slopes(self) -> Floats:
        """The same by all that was measured of the node, there and below."""
        found, starts = self._own_slopes.copy(), self.squares.first_parents
        for level in reversed(range(self._tree.levels - 1)):
            rows = slice(starts[level], starts[level + 1])
            below = found[starts[level + 1] : starts[level + 1] + self._tree.sizes[level]].sum(axis=1)
            found[rows] += (1 - self.squares.own[rows]) ** 2 * self._tree.group(below)
        return found

    @cached_property
    def _sums(self) -> Floats:
        """What a node's coefficient adds to the sum of weights, and of shares times weights, of each level:
        a table of parents by nodes by levels, of all levels but the finest.
        """
        levels, found = self._tree.levels, list[Floats]()
        below = np.zeros((self._tree.sizes[-2], levels, 2))
        below[:, -1] = self._tree.fold(np.stack([np.ones(self._tree.k), self.shares], axis=1))
        for level in reversed(range(levels - 1)):
            part, shares = self.squares.own_parts[level], self._node_shares[level]
            below *= (1 - part)[:, None, None]
            below[:, level] = part[:, None] * np.stack([np.ones_like(shares), shares], axis=1)
            found.insert(0, self._tree.group(below))
            below = self._tree.fold(below)
        return np.concatenate(found)
