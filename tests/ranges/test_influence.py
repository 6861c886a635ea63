"""No report moves the share of any range by more than is stated, and some come near."""

from __future__ import annotations

from itertools import combinations

import numpy as np

import deniable as dn
from deniable.arrays import Floats
from deniable.estimate import Estimate
from deniable.mechanisms import Pooled, SetMechanism
from deniable.ranges import RangeEstimate, Tree, plan_tree
from tests.cases import by_night

N = 1000  # reports of each level
NEAR = 0.45
"""Which part of the bound the worst report reaches at least; seen are 0.5 to 0.85."""


def expect(k: int, epsilon: float) -> RangeEstimate:
    parts = plan_tree(k, epsilon)
    return RangeEstimate(Tree(k), [Estimate(N, np.full(part.k, N / part.k), part.law) for part in parts])


def move(found: RangeEstimate, level: int, supported: Floats) -> float:
    """How many people a report counts for in the range that it moves most, all levels together."""
    none = [np.zeros(size) for size in found.tree.sizes]
    law = found.estimates[level].law
    told = none.copy()
    told[level] = (supported - law.q) / law.gain
    below = np.append(0.0, np.cumsum(found.squares.solve(told) - found.squares.solve(none)))
    return found.tree.levels * float(below.max() - below.min())


def list_sets(part: SetMechanism) -> Floats:
    """All outcomes; of sets that are too many, those of neighbors."""
    if isinstance(part, Pooled):
        return np.asarray(part.support(np.arange(part.pool.cells)), dtype=np.float64)
    size = int(part.law.sizes.max())
    chosen = (
        list(combinations(range(part.k), size))
        if part.k <= 16
        else [range(low, low + size) for low in range(part.k - size + 1)]
    )
    found = np.zeros((len(chosen), part.k))
    for row, some in zip(found, chosen, strict=True):
        row[list(some)] = 1.0
    return found


@by_night(("k", "epsilon"), [(64, 1.0), (100, 4.0), (256, 2.0)], (64, 1.0))
def test_no_report_moves_a_range_by_more_than_the_bound(k: int, epsilon: float) -> None:
    found, parts = expect(k, epsilon), plan_tree(k, epsilon)
    worst = max(move(found, level, row) for level, part in enumerate(parts) for row in list_sets(part))
    bound = found.bound_influence(N * len(parts))
    assert NEAR * bound < worst <= bound


def test_what_a_report_adds_to_one_node_is_no_bound() -> None:
    """A planted fault: a report supports several nodes of a range at once."""
    found = expect(256, 2.0)
    single = max(estimate.law.contributions[1] for estimate in found.estimates) * len(found.estimates)
    worst = max(move(found, 3, row) for row in list_sets(plan_tree(256, 2.0)[3]))
    assert worst > 2 * single


def test_a_plan_states_the_bound_of_ranges() -> None:
    plan = dn.Study({"income": dn.Range(0, 256, queries="ranges")}, epsilon=2.0).plan(people=1000)
    told = " ".join(plan.explain().split())
    assert "1 % of them moves the share of a range of 'income' by up to 42.7 points" in told
