"""Bounds how far one fake report moves the share of any range."""

from __future__ import annotations

import numpy as np

from deniable.arrays import Floats
from deniable.ranges.variances import Variances


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
