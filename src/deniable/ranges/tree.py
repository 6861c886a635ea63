"""Cuts a range of values into coarser and coarser levels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from deniable.arrays import Array
from deniable.exact import whole_number

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
        """How many nodes each level has."""
        return tuple(-(-self.k // divisor) for divisor in self.divisors)

    @property
    def levels(self) -> int:
        """How many levels there are."""
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
