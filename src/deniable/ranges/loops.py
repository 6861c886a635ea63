"""Compiles the hot loops of ranges on first use: what a range takes of each level, and how that varies."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deniable.arrays import Array
from deniable.randomness.compilation import compiled


class Nodes(NamedTuple):
    """The nodes of a tree. Tables are of parents by the nodes they hold; levels follow each other."""

    k: int
    divisors: Array
    starts: Array
    """The row of the first parent of each level."""
    noise: Array
    """The variance of each node after the pass upward; 0 where there is no node."""
    parts: Array
    """Each node's part of the variance of all that its parent holds."""
    measured: Array
    """How much its own measurement counts beside those below."""


class Crowd(NamedTuple):
    """What the people of a study add, in tables of the same rows."""

    slopes: Array
    """By all that was measured of a node, there and below."""
    own_slopes: Array
    """By its own measurement."""
    shares: Array
    sums: Array
    """What a node's coefficient adds to the sum of weights, and of shares times weights, of each level."""
    rates: Array
    """How these sums count: squared weights, weights times shares, squared shares; by level."""


class Lines(NamedTuple):
    """The lines of a pool through values of many people, on one level."""

    level: int
    depth: int
    """How many levels up a cut is looked at."""
    values: Array
    shares: Array
    through: Array
    """On which line through each of the values each node is."""
    size: int
    """More than the number of any line."""
    rates: Array
    """How much each two nodes add that are on a line with the person's, and each two others."""


@compiled
def take(nodes: Nodes, first: int, last: int, cuts: Array, taken: Array) -> None:
    """What a sum of leaves takes of the nodes it cuts, and of their siblings.

    cuts[level, end] is the node that an end of the sum cuts, and taken[level, end] the coefficients of all
    nodes of its parent, as they are after the pass upward. Where both ends are in one parent, the first has
    them. Other nodes take what their parent leaves: its coefficient times 1 - measured.
    """
    levels, fanout = nodes.divisors.size, nodes.noise.shape[1]
    for end in range(2):
        at, sign = (last, 1.0) if end == 0 else (first, -1.0)
        if at >= nodes.k:  # up to the very end, all is known
            at, sign = nodes.k - 1, 0.0
        covered = 0.0  # how much of the node at the end is below it
        for level in range(levels - 1, -1, -1):
            node = at // nodes.divisors[level]
            cuts[level, end] = node
            row, place, below = nodes.starts[level] + node // fanout, node % fanout, covered
            covered = nodes.parts[row, place] * below
            for j in range(place):
                covered += nodes.parts[row, j]
            for j in range(fanout):
                cover = 1.0 if j < place else (below if j == place else 0.0)
                taken[level, end, j] = sign * (cover - covered) if nodes.noise[row, j] > 0 else 0.0
    for level in range(levels):
        is_shared = cuts[level, 0] // fanout == cuts[level, 1] // fanout
        if is_shared:
            for j in range(fanout):
                taken[level, 0, j] += taken[level, 1, j]
                taken[level, 1, j] = 0.0
        if level == 0:
            continue
        for end in range(1 if is_shared else 2):
            above = cuts[level - 1, end]
            is_one = cuts[level - 1, 0] // fanout == cuts[level - 1, 1] // fanout
            row = nodes.starts[level - 1] + above // fanout
            left = taken[level - 1, 0 if is_one else end, above % fanout]
            left *= 1 - nodes.measured[row, above % fanout]
            row_below = nodes.starts[level] + cuts[level, end] // fanout
            for j in range(fanout):
                if nodes.noise[row_below, j] > 0:
                    taken[level, end, j] += left


@compiled
def is_cut(cuts: Array, fanout: int, level: int, end: int, place: int) -> bool:
    """Whether a node at an end counts by its own measurement alone: the nodes that it holds have coefficients
    of their own. Leaves hold none.
    """
    if level == len(cuts) - 1 or place == cuts[level, end] % fanout:
        return True
    is_shared = cuts[level, 0] // fanout == cuts[level, 1] // fanout
    return bool(is_shared and place == cuts[level, 1] % fanout)


@compiled
def sum_noise(nodes: Nodes, firsts: Array, lasts: Array, out: Array) -> None:
    """out[i] = the variance of each sum of leaves by noise alone."""
    levels, fanout = nodes.divisors.size, nodes.noise.shape[1]
    cuts, taken = np.zeros((levels, 2), np.int64), np.zeros((levels, 2, fanout))
    for i in range(firsts.size):
        take(nodes, firsts[i], lasts[i], cuts, taken)
        out[i] = 0.0
        for level in range(levels):
            for end in range(2):
                row = nodes.starts[level] + cuts[level, end] // fanout
                for j in range(fanout):
                    part = nodes.measured[row, j] if is_cut(cuts, fanout, level, end, j) else 1.0
                    out[i] += taken[level, end, j] ** 2 * nodes.noise[row, j] * part


@compiled
def vary(nodes: Nodes, crowd: Crowd, firsts: Array, lasts: Array, out: Array) -> None:
    """out[i] = the variance of each sum of leaves by noise, and by people who are spread."""
    levels, fanout = nodes.divisors.size, nodes.noise.shape[1]
    cuts, taken = np.zeros((levels, 2), np.int64), np.zeros((levels, 2, fanout))
    sums = np.zeros((levels, 2))
    for i in range(firsts.size):
        take(nodes, firsts[i], lasts[i], cuts, taken)
        sums[:] = 0.0
        noise = people = 0.0
        for level in range(levels):
            for end in range(2):
                row = nodes.starts[level] + cuts[level, end] // fanout
                for j in range(fanout):
                    coefficient = taken[level, end, j]
                    if coefficient == 0.0:
                        continue
                    if is_cut(cuts, fanout, level, end, j):
                        measured = nodes.measured[row, j]
                        noise += coefficient * coefficient * nodes.noise[row, j] * measured
                        people += coefficient * coefficient * max(crowd.own_slopes[row, j], 0.0)
                        sums[level, 0] += coefficient * measured
                        sums[level, 1] += coefficient * measured * crowd.shares[row, j]
                    else:
                        noise += coefficient * coefficient * nodes.noise[row, j]
                        people += coefficient * coefficient * max(crowd.slopes[row, j], 0.0)
                        for m in range(level, levels):
                            sums[m, 0] += coefficient * crowd.sums[row, j, m, 0]
                            sums[m, 1] += coefficient * crowd.sums[row, j, m, 1]
        for m in range(levels):
            weights, shares = sums[m, 0], sums[m, 1]
            people += crowd.rates[0, m] * weights * weights + crowd.rates[1, m] * weights * shares
            people -= crowd.rates[2, m] * shares * shares
        out[i, 0] = noise
        out[i, 1] = max(people, 0.0)


@compiled
def fill_window(
    nodes: Nodes, cuts: Array, taken: Array, where: tuple[int, int, int], window: Array
) -> tuple[int, int]:
    """The weights of the nodes of a level near an end: the first of them, and how many there are.

    `where` is the level, how many levels up its nodes share a parent, and the end.
    """
    level, depth, end = where
    fanout = nodes.noise.shape[1]
    top = max(level - depth + 1, 0)
    is_shared = cuts[top, 0] // fanout == cuts[top, 1] // fanout
    base = cuts[top, end] // fanout * fanout
    many = min(fanout, -(-nodes.k // nodes.divisors[top]) - base)
    for j in range(many):
        window[j] = taken[top, 0 if is_shared else end, j]
    for below in range(top + 1, level + 1):
        start = nodes.starts[below - 1]
        is_one = cuts[below, 0] // fanout == cuts[below, 1] // fanout
        for i in range(many - 1, -1, -1):  # from the last on, so that nothing is overwritten before its turn
            node = base + i
            left = window[i] * (1 - nodes.measured[start + node // fanout, node % fanout])
            for j in range(fanout):
                window[i * fanout + j] = left
            for cut in range(2):
                if cuts[below, cut] // fanout == node:
                    for j in range(fanout):
                        window[i * fanout + j] = taken[below, 0 if is_one else cut, j]
        base *= fanout
        many = min(many * fanout, -(-nodes.k // nodes.divisors[below]) - base)
    for i in range(many):
        node = base + i
        window[i] *= nodes.measured[nodes.starts[level] + node // fanout, node % fanout]
    return base, many


@compiled
def weigh_level(nodes: Nodes, level: int, firsts: Array, lasts: Array, out: Array) -> None:
    """out[i] = what each sum of leaves takes of each measurement of a level."""
    levels, fanout = nodes.divisors.size, nodes.noise.shape[1]
    cuts, taken = np.zeros((levels, 2), np.int64), np.zeros((levels, 2, fanout))
    window = np.zeros(fanout ** (level + 1))
    for i in range(firsts.size):
        take(nodes, firsts[i], lasts[i], cuts, taken)
        many = fill_window(nodes, cuts, taken, (level, level + 1, 0), window)[1]
        for j in range(many):
            out[i, j] = window[j]


@compiled
def tie(nodes: Nodes, lines: Lines, firsts: Array, lasts: Array, out: Array) -> None:
    """out[i] = what lines through values of many people add to the variance of each sum, from one report.

    Only nodes near the ends of a sum are looked at: others have small weights, which cancel.
    """
    levels, fanout = nodes.divisors.size, nodes.noise.shape[1]
    cuts, taken = np.zeros((levels, 2), np.int64), np.zeros((levels, 2, fanout))
    windows = np.zeros((2, fanout**lines.depth))
    bases, many = np.zeros(2, np.int64), np.zeros(2, np.int64)
    sums = np.zeros(lines.size)
    top = max(lines.level - lines.depth + 1, 0)
    for i in range(firsts.size):
        take(nodes, firsts[i], lasts[i], cuts, taken)
        ends = 1 if cuts[top, 0] // fanout == cuts[top, 1] // fanout else 2
        total = squares_total = 0.0
        for end in range(ends):
            where = lines.level, lines.depth, end
            bases[end], many[end] = fill_window(nodes, cuts, taken, where, windows[end])
            for j in range(many[end]):
                total += windows[end, j]
                squares_total += windows[end, j] ** 2
        added = 0.0
        for value in range(lines.values.size):
            mine = squares = 0.0
            through = lines.through[value]
            for end in range(ends):
                at = lines.values[value] - bases[end]
                if 0 <= at < many[end]:
                    mine = windows[end, at]
                    windows[end, at] = 0.0
                for j in range(many[end]):
                    sums[through[bases[end] + j]] += windows[end, j]
            for end in range(ends):
                for j in range(many[end]):
                    line = through[bases[end] + j]
                    squares += sums[line] ** 2
                    sums[line] = 0.0
                at = lines.values[value] - bases[end]
                if 0 <= at < many[end]:
                    windows[end, at] = mine
            rest = squares_total - mine**2
            others = (total - mine) ** 2 - rest
            added += lines.shares[value] * (lines.rates[0] * (squares - rest) + lines.rates[1] * others)
        out[i] = added


@compiled
def reach(nodes: Nodes, sums: Array, factors: Array, lasts: Array, out: Array) -> None:
    """out[i] = what the sum of all leaves up to an edge takes of a level, the last that has a factor.

    These are the sums of its positive and of its negative weights, and the largest of each.

    A weight is at most the coefficient of a node above times the factor of that level.
    """
    levels, fanout = nodes.divisors.size, nodes.noise.shape[1]
    cuts, taken = np.zeros((levels, 2), np.int64), np.zeros((levels, 2, fanout))
    last = factors.size - 1
    for i in range(lasts.size):
        take(nodes, 0, lasts[i], cuts, taken)
        out[i] = 0.0
        for level in range(factors.size):
            for end in range(2):
                row = nodes.starts[level] + cuts[level, end] // fanout
                for j in range(fanout):
                    coefficient = taken[level, end, j]
                    if coefficient == 0.0 or (level < last and is_cut(cuts, fanout, level, end, j)):
                        continue
                    weight = nodes.measured[row, j] if level == last else sums[row, j, last, 0]
                    side = 0 if coefficient > 0 else 1
                    out[i, side] += abs(coefficient) * weight
                    out[i, side + 2] = max(out[i, side + 2], abs(coefficient) * factors[level])
