"""Computes the variance of ranges under each fan-out, and of flat reports: noise alone, as specified."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from deniable.arrays import Floats, Integers
from deniable.randomness.simulated import numbers_from
from deniable.ranges import LeastSquares, Tree
from deniable_papers.studies.stated import StatedPoint, compare

_RANGES = 4000
_STATED_RANGES = 400


class Case(NamedTuple):
    """Ranges of one kind: of a part of all values, or of any length."""

    values: int
    part: int | None
    fanouts: tuple[int, ...]
    plain: tuple[str, ...]
    """What is stated for sums of nodes as they were measured, by fan-out."""
    squares: tuple[str, ...]
    flat: str

    @property
    def name(self) -> str:
        kind = "any range" if self.part is None else f"ranges of 1/{self.part}"
        return f"2^{self.values.bit_length() - 1} values, {kind}"


CASES = (
    Case(1 << 10, 100, (2, 4, 8, 32), ("34", "24", "30", "20"), ("11.8", "10.9", "13.2", "14.7"), "10"),
    Case(1 << 10, None, (2, 4, 8, 32), ("79", "58", "72", "78"), ("18.7", "18.2", "25.7", "29.8"), "171"),
    Case(1 << 16, 10, (2, 4, 8, 16), ("201", "148", "169", "185"), ("44.5", "45.4", "58", "63"), "5,898"),
    Case(
        1 << 20, None, (2, 4, 8, 16), ("355", "264", "283", "315"), ("70.1", "73.9", "91", "107"), "174,804"
    ),
)


def compare_trees(case: Case, seed: int) -> Iterator[StatedPoint]:
    """People times the variance of a range over that of a value, averaged over many ranges.

    People are spread evenly over the levels, and all levels have the same noise.
    """
    firsts, lasts = _draw_ranges(case, numbers_from(seed, case.name))
    for fanout, plain, squares in zip(case.fanouts, case.plain, case.squares, strict=True):
        tree = Tree(case.values, fanout)
        even = LeastSquares(tree, (float(tree.levels),) * tree.levels)
        sums = tree.levels * count_nodes(tree, firsts, lasts)
        solved = even.variances_of(firsts, lasts)
        name = f"{case.name}, fan-out {fanout}"
        yield _make_row(name, "sums of nodes", sums, plain)
        yield _make_row(name, "least squares", solved, squares)
    many = (lasts - firsts).astype(np.float64)
    yield _make_row(f"{case.name}, one level", "flat", many * (1 - many / case.values), case.flat)


def count_nodes(tree: Tree, firsts: Integers, lasts: Integers) -> Floats:
    """The least number of nodes that make up each range, without the node that holds all values.

    >>> tree = Tree(k=16)
    >>> count_nodes(tree, np.array([0, 3, 4]), np.array([16, 9, 8])).tolist()
    [4.0, 3.0, 1.0]
    """
    found = np.zeros(len(firsts))
    low, high = firsts.copy(), lasts.copy()
    for level in reversed(range(tree.levels)):
        is_coarsest = level == 0
        width = tree.divisors[level]
        step = tree.k if is_coarsest else width * tree.fanout
        ends = np.where(high == tree.k, high, high // step * step)  # the last node may hold fewer
        starts = -(-low // step) * step
        is_inside = starts >= ends if not is_coarsest else np.ones(len(low), dtype=bool)
        below = np.where(is_inside, high, starts) - low
        above = np.where(is_inside, 0, high - ends)
        found += -(-below // width) + -(-above // width)
        low, high = np.where(is_inside, high, starts), np.where(is_inside, high, ends)
    return found


def _draw_ranges(case: Case, generator: np.random.Generator) -> tuple[Integers, Integers]:
    if case.part is not None:
        length = case.values // case.part
        firsts = generator.integers(0, case.values - length + 1, _RANGES)
        return firsts, firsts + length
    ends = np.sort(generator.integers(0, case.values + 1, (_RANGES, 2)), axis=1)
    return ends[:, 0], ends[:, 1]


def _make_row(case: str, method: str, found: Floats, stated: str) -> StatedPoint:
    """The mean over our ranges beside that over as many as are stated."""
    spread = float(found.std())
    errors = spread / math.sqrt(found.size), spread / math.sqrt(_STATED_RANGES)
    fields = compare(float(found.mean()), stated, *errors)
    return StatedPoint(figure="variances", case=case, method=method, epsilon=0.0, **fields)
