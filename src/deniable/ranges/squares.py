"""Combines independent estimates of all levels by generalized least squares, and states variances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Floats, Integers
from deniable.errors import InvalidParameter
from deniable.ranges.tree import Tree

_SIGNS = np.array([1.0, -1.0])  # what is below the last leaf, without what is below the first


class Contrasts(NamedTuple):
    """What sums of leaves take of each level: a sum cuts two of its parents, by level, sum and end."""

    parents: Integers
    """The two parents of each level that each sum cuts; levels follow each other in one table of parents."""
    places: Integers
    """Which of the nodes that a parent holds is cut."""
    weights: Floats
    """How much the nodes count beside each other; 0 at the second parent where both are the same."""

    @property
    def is_shared(self) -> npt.NDArray[np.bool_]:
        """Whether both ends are in one parent."""
        return np.asarray(self.parents[..., 0] == self.parents[..., 1])


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
        if len(variances) != self.tree.levels or not all(0 < one < np.inf for one in variances):
            text = f"a tree of {self.tree.levels} levels needs as many positive variances, got {variances}"
            raise InvalidParameter(text)
        object.__setattr__(self, "variances", variances)

    @cached_property
    def _upward(self) -> tuple[list[Floats], list[Floats]]:
        """For each level, the variance of its nodes after the pass upward, and their own part of the mean."""
        up, own = list[Floats](), list[Floats]()
        for level in reversed(range(self.tree.levels)):
            noise = np.full(self.tree.sizes[level], self.variances[level])
            if up:
                below = self.tree.fold(up[0])
                part = below / (below + noise)
            else:
                part = np.ones_like(noise)
            up.insert(0, np.asarray(noise * part))
            own.insert(0, part)
        return up, own

    @property
    def upward(self) -> list[Floats]:
        """The variances of the nodes of each level, as measured there and below."""
        return self._upward[0]

    @property
    def own_parts(self) -> list[Floats]:
        """How much each node's own measurement counts beside those below."""
        return self._upward[1]

    def carry(self, level: int, here: Array, below: Array) -> Array:
        """What a node makes of its own number and those of its children: their mean, by precision."""
        part = self.own_parts[level]
        return np.asarray(part * here + (1 - part) * self.tree.fold(below))

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

    def contrasts(self, firsts: Integers, lasts: Integers) -> Contrasts:
        """The weights of sums of leaves, each from one up to, but without, another.

        The sum is a constant plus these weights times what nodes are after the pass upward.
        """
        ends = np.stack([lasts, firsts], axis=-1)
        sign = np.where(ends < self.tree.k, _SIGNS, 0.0)  # up to the very end, all is known
        nodes = np.minimum(ends, self.tree.k - 1) // self._divisors
        parents, place = np.divmod(nodes, self.tree.fanout)
        parents += self.first_parents[:, None, None]
        parts = self._parts[parents]
        is_cut = self._slots == place[..., None]
        cover = (self._slots < place[..., None]).astype(np.float64)
        whole, cut = (cover * parts).sum(axis=-1), (is_cut * parts).sum(axis=-1)
        covered = np.zeros((self.tree.levels + 1, *ends.shape))  # how much of the node at an end is below it
        for level in reversed(range(self.tree.levels)):
            covered[level] = whole[level] + cut[level] * covered[level + 1]
        cover += is_cut * covered[1:, ..., None]
        weights = np.where(parts > 0, sign[..., None] * (cover - covered[:-1, ..., None]), 0.0)
        found = Contrasts(parents, place, weights)
        is_shared = found.is_shared[..., None]
        weights[..., 0, :] += np.where(is_shared, weights[..., 1, :], 0.0)
        weights[..., 1, :] = np.where(is_shared, 0.0, weights[..., 1, :])
        return found

    def coefficients(self, contrasts: Contrasts) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """What the sums take of each node as it is after the pass upward, and which nodes are cut.

        A node that is cut counts by its own measurement alone, since the nodes it holds have coefficients of
        their own: their contrast, and what their parent leaves them. Leaves hold none, so they count as cut.
        """
        parents, places, weights = contrasts
        noise, is_shared = self.noise[parents], contrasts.is_shared[..., None]
        at = places[..., None] == self._slots
        # where both ends are in one parent, its nodes have weights at the first end only
        both = weights + np.where(is_shared[..., None], weights[..., ::-1, :], 0.0)
        taken, rest = (both * at).sum(axis=-1), ((1 - self.own[parents]) * at).sum(axis=-1)
        left = np.zeros(places.shape)
        for level in range(1, self.tree.levels):
            left[level] = rest[level - 1] * (taken[level - 1] + left[level - 1])
        found = weights + left[..., None] * (noise > 0)
        found[..., 1, :] *= ~is_shared
        is_cut = at.copy()
        is_cut[..., 0, :] |= at[..., 1, :] & is_shared
        is_cut[-1] = True
        return found, is_cut

    @cached_property
    def _slots(self) -> Integers:
        return np.arange(self.tree.fanout)

    @cached_property
    def _divisors(self) -> Integers:
        return np.array(self.tree.divisors)[:, None, None]

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
    def own(self) -> Floats:
        """How much each node's own measurement counts beside those below, in such a table."""
        return np.concatenate([self.tree.group(part) for part in self.own_parts])

    @cached_property
    def _parts(self) -> Floats:
        """Each node's part of the variance of all that its parent holds."""
        return np.asarray(self.noise / self.noise.sum(axis=1, keepdims=True))

    def variances_of(self, firsts: Sequence[int] | Integers, lasts: Sequence[int] | Integers) -> Floats:
        """The variances of sums of leaves, each from one up to, but without, another."""
        parents, _, weights = self.contrasts(np.asarray(firsts), np.asarray(lasts))
        return np.asarray((weights**2 * self.noise[parents]).sum(axis=(0, 2, 3)))

    def spread(self, contrasts: Contrasts, index: int, levels: int) -> list[Floats]:
        """What one of the sums takes of each measurement, for so many levels from the coarsest on."""
        found, left = list[Floats](), np.zeros(1)
        for level in range(levels):
            table = np.repeat(left[:, None], self.tree.fanout, axis=1)
            rows = contrasts.parents[level, index] - self.first_parents[level]
            for row, weights in zip(rows.tolist(), contrasts.weights[level, index], strict=True):
                table[row] += weights
            part = self.own_parts[level]
            taken = table.ravel()[: part.size]
            found.append(taken * part)
            left = taken - found[-1]
        return found

    def weights_of(self, points: Floats) -> list[Floats]:
        """What the sum of each leaf times a number takes of each measurement, level by level."""
        contrasts, means = list[Floats](), points
        for variances in reversed(self.upward):
            table, noise = self.tree.group(means), self.tree.group(variances)
            means = (table * noise).sum(axis=1) / noise.sum(axis=1)
            contrasts.insert(0, (table - means[:, None]).ravel()[: variances.size])
        found, left = list[Floats](), np.zeros(1)
        for contrast, part in zip(contrasts, self.own_parts, strict=True):
            taken = contrast + np.repeat(left, self.tree.fanout)[: contrast.size]
            found.append(taken * part)
            left = taken * (1 - part)
        return found
