"""Cuts a range of values into coarser and coarser levels, and combines independent estimates of these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from deniable.arrays import Array, Floats, Integers
from deniable.errors import InvalidParameter
from deniable.exact import whole_number

if TYPE_CHECKING:
    from deniable.ranges.loops import Nodes

MOST_FANOUT = 1 << 16


@final
@dataclass(frozen=True)
class Tree:
    """Levels of k ordered values, the coarsest first: a node of a level holds `fanout` nodes of the next.

    The last node of a level holds fewer where k is no power of the fan-out.

    >>> tree = Tree(k=100)
    >>> tree.divisors, tree.sizes
    ((64, 16, 4, 1), (2, 7, 25, 100))
    """

    k: int
    fanout: int = 4

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole_number("k, the number of values,", self.k, 2))
        fanout = whole_number("fanout, the nodes that a node holds,", self.fanout, 2, MOST_FANOUT)
        object.__setattr__(self, "fanout", fanout)

    @cached_property
    def divisors(self) -> tuple[int, ...]:
        """How many values a node of each level holds; the coarsest level has at least two nodes."""
        divisors = [1]
        while divisors[-1] * self.fanout < self.k:
            divisors.append(divisors[-1] * self.fanout)
        return tuple(reversed(divisors))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        return tuple(-(-self.k // divisor) for divisor in self.divisors)

    @property
    def levels(self) -> int:
        return len(self.divisors)

    def group(self, nodes: Array) -> Array:
        """Numbers of a level's nodes, a row for the nodes of each parent; 0 where a parent holds fewer.

        >>> Tree(k=6).group(np.arange(1, 7)).tolist()
        [[1, 2, 3, 4], [5, 6, 0, 0]]
        """
        parents = -(-len(nodes) // self.fanout)
        table = np.zeros((parents * self.fanout, *nodes.shape[1:]), dtype=nodes.dtype)
        table[: len(nodes)] = nodes
        return np.asarray(table.reshape(parents, self.fanout, *nodes.shape[1:]))

    def fold(self, nodes: Array) -> Array:
        """The sums of a level's nodes by parent."""
        return np.asarray(self.group(nodes).sum(axis=1))


@final
@dataclass(frozen=True, eq=False)
class LeastSquares:
    """Shares of all nodes of a tree, each measured with independent noise, that add up to 1.

    On a tree, generalized least squares takes two passes. Upward, a node is the mean of its own measurement
    and the sum of its children, by their precisions. Downward, what children miss of their parent is shared
    out by their variances. Given its parent, a node depends on nothing outside; so a sum of leaves varies
    only by the nodes that it cuts. This holds for ragged trees, too.

    >>> exact = LeastSquares(Tree(k=16), (2.0, 2.0))
    >>> exact.variances_of([0, 3], [5, 13]).round(6).tolist()
    [2.575, 3.9]

    Reference: cormode2019.
    """

    tree: Tree
    variances: Sequence[float]
    """The variance of a measurement, for each level."""

    def __post_init__(self) -> None:
        variances = tuple(float(variance) for variance in self.variances)
        if len(variances) != self.tree.levels or not all(0 < variance < np.inf for variance in variances):
            text = f"a tree of {self.tree.levels} levels needs as many positive variances, got {variances}"
            raise InvalidParameter(text)
        object.__setattr__(self, "variances", variances)

    @cached_property
    def _upward(self) -> tuple[list[Floats], list[Floats]]:
        """For each level, the variance of its nodes after the pass upward, and their own part of the mean."""
        up, own_parts = list[Floats](), list[Floats]()
        for level in reversed(range(self.tree.levels)):
            noise = np.full(self.tree.sizes[level], self.variances[level])
            if up:
                below = self.tree.fold(up[0])
                part = below / (below + noise)
            else:
                part = np.ones_like(noise)
            up.insert(0, np.asarray(noise * part))
            own_parts.insert(0, part)
        return up, own_parts

    @property
    def upward(self) -> list[Floats]:
        """The variances of the nodes of each level, as measured there and below."""
        return self._upward[0]

    @property
    def own_parts(self) -> list[Floats]:
        """How much each node's own measurement counts beside those below."""
        return self._upward[1]

    def carry(self, level: int, measured: Array, below: Array) -> Array:
        """What a node makes of its own number and those of its children: their mean, by precision."""
        part = self.own_parts[level]
        return np.asarray(part * measured + (1 - part) * self.tree.fold(below))

    def solve(self, measured: Sequence[Floats]) -> Floats:
        """The share of every leaf."""
        combined = [measured[-1]]
        for level in reversed(range(self.tree.levels - 1)):
            combined.insert(0, self.carry(level, measured[level], combined[0]))
        total = np.ones(1)
        for shares, variances in zip(combined, self.upward, strict=True):
            table, weights = self.tree.group(shares), self.tree.group(variances)
            missing = total - table.sum(axis=1)
            table += (missing / weights.sum(axis=1))[:, None] * weights
            total = table.ravel()[: shares.size]
        return np.asarray(total)

    @cached_property
    def first_parents(self) -> Integers:
        """Where the parents of each level begin in a table of all levels."""
        many = [-(-size // self.tree.fanout) for size in self.tree.sizes]
        return np.cumsum([0, *many[:-1]])

    @cached_property
    def noise(self) -> Floats:
        """The variances of nodes after the pass upward: a table of parents by nodes, of all levels."""
        return np.concatenate([self.tree.group(variances) for variances in self.upward])

    @cached_property
    def measured(self) -> Floats:
        """How much each node's own measurement counts beside those below, in such a table."""
        return np.concatenate([self.tree.group(part) for part in self.own_parts])

    @cached_property
    def nodes(self) -> Nodes:
        """The tree and its variances, for compiled loops."""
        from deniable.ranges.loops import Nodes

        parts = self.noise / self.noise.sum(axis=1, keepdims=True)  # of all that a parent holds
        divisors = np.array(self.tree.divisors)
        return Nodes(self.tree.k, divisors, self.first_parents, self.noise, parts, self.measured)

    def variances_of(self, firsts: Sequence[int] | Integers, lasts: Sequence[int] | Integers) -> Floats:
        """The variances of sums of leaves, each from one up to, but without, another."""
        from deniable.ranges import loops

        variances, ends = np.empty(len(firsts)), np.array([firsts, lasts], dtype=np.int64)
        loops.sum_noise(self.nodes, ends[0], ends[1], variances)
        return variances

    def weights_of(self, points: Floats) -> list[Floats]:
        """What the sum of each leaf times a number takes of each measurement, level by level."""
        contrasts, means = list[Floats](), points
        for variances in reversed(self.upward):
            table, noise = self.tree.group(means), self.tree.group(variances)
            means = (table * noise).sum(axis=1) / noise.sum(axis=1)
            contrasts.insert(0, (table - means[:, None]).ravel()[: variances.size])
        weights, left = list[Floats](), np.zeros(1)
        for contrast, part in zip(contrasts, self.own_parts, strict=True):
            taken = contrast + np.repeat(left, self.tree.fanout)[: contrast.size]
            weights.append(taken * part)
            left = taken * (1 - part)
        return weights
