"""Variances of ranges are those of all outcomes of a pool, also where most people have one value."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import deniable as dn
from deniable.arrays import Floats
from deniable.estimate import Estimate, normal_quantile
from deniable.mechanisms import Pooled, SetMechanism
from deniable.randomness.pool import HashPool
from deniable.ranges import LeastSquares, RangeEstimate, Scatter, Tree, plan_tree
from deniable.ranges.variances import Level, Ties
from tests.cases import by_night
from tests.statistics import RANGED_ERROR

N = 10**7
CASES = ((256, 1.0), (256, 2.0), (1000, 4.0))
RANGES = 12


def spread_people(k: int, heaped: float, value: int) -> Floats:
    """This part of the people at one value, and the others evenly over all."""
    shares = np.full(k, (1 - heaped) / k)
    shares[value] += heaped
    return shares


def fold(shares: Floats) -> list[Floats]:
    tree = Tree(shares.size)
    return [np.add.reduceat(shares, np.arange(0, tree.k, divisor)) for divisor in tree.divisors]


def expect(parts: Sequence[SetMechanism], shares: Floats) -> RangeEstimate:
    """The estimate of reports that fall just as the law says."""
    levels = zip(parts, fold(shares), strict=True)
    estimates = [Estimate(N, N * (part.law.q + part.law.gain * one), part.law) for part, one in levels]
    return RangeEstimate(Tree(shares.size), estimates)


def enumerate_pool(part: Pooled, shares: Floats, supported: Floats, weights: Floats) -> float:
    """The variance of what one report adds to a weighted sum, over all functions and buckets."""
    other = (1 - part.law.p) / (part.g - 1)
    held = supported @ shares
    chances = (held * part.law.p + (1 - held) * other) / part.pool.size
    sums = supported @ weights
    return float(chances @ sums**2 - (chances @ sums) ** 2) / part.law.gain**2


def find_squares(part: SetMechanism, shares: Floats, weights: Floats) -> float:
    """The same from how likely a report supports each two nodes."""
    mean = part.law.q * weights.sum() + part.law.gain * (shares @ weights)
    return float(part.law.pairs.squares(weights) @ shares - mean**2) / part.law.gain**2


def compare(parts: Sequence[SetMechanism], shares: Floats, supported: Sequence[Floats | None]) -> Floats:
    """Stated variances of ranges, as parts of the exact ones."""
    generator, k = np.random.default_rng(int(1000 * shares.max())), shares.size
    found, ratios = expect(parts, shares), []
    for first, last in np.sort([generator.choice(k + 1, 2, replace=False) for _ in range(RANGES)]).tolist():
        points = np.zeros(k)
        points[first:last] = 1.0
        levels = zip(parts, fold(shares), supported, found.squares.weights_of(points), strict=True)
        exact = 0.0
        for part, one, table, taken in levels:
            if isinstance(part, Pooled) and table is not None:
                exact += enumerate_pool(part, one, table, taken)
            else:
                exact += find_squares(part, one, taken)
        ratios.append(found.variance(first, last) / (exact / N))
        # ranges look at nodes near their ends, and sums of all values at all nodes
        assert found.weigh(points).stderr ** 2 == pytest.approx(
            found.variance(first, last), rel=RANGED_ERROR / 2
        )
    return np.array(ratios)


def enumerate_cases(k: int, epsilon: float) -> list[Floats]:
    """Three values that everybody has, that three quarters have, and that one in twenty has."""
    parts = plan_tree(k, epsilon)
    supported = [
        part.support(np.arange(part.pool.cells)).astype(np.float64) if isinstance(part, Pooled) else None
        for part in parts
    ]
    assert any(table is not None for table in supported)
    values = (0, k // 3, k - 2)
    return [
        compare(parts, spread_people(k, heaped, value), supported)
        for heaped in (1.0, 0.75, 0.05)
        for value in values
    ]


@by_night(("k", "epsilon"), CASES, *CASES[1:])
def test_variances_are_those_of_all_outcomes(k: int, epsilon: float) -> None:
    for ratios in enumerate_cases(k, epsilon):
        assert ratios == pytest.approx(1.0, abs=RANGED_ERROR)


@pytest.mark.parametrize(("k", "epsilon"), [(256, 2.0), (1000, 4.0)])
def test_ties_left_out_are_found_out(k: int, epsilon: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault: all three values are taken to share a bucket equally often."""
    monkeypatch.setattr(Ties, "find", staticmethod(lambda *_: None))
    worst = [float(np.abs(ratios - 1).max()) for ratios in enumerate_cases(k, epsilon)]
    assert max(worst[:3]) > 2 * RANGED_ERROR
    assert max(worst[3:6]) > 1.5 * RANGED_ERROR


def find_exact(parts: Sequence[SetMechanism], shares: Floats, found: RangeEstimate, ends: list[int]) -> float:
    """The variance of a range, from how likely each report supports each two nodes of its level."""
    points = np.zeros(shares.size)
    points[slice(*ends)] = 1.0
    exact = 0.0
    for part, one, taken in zip(parts, fold(shares), found.squares.weights_of(points), strict=True):
        exact += find_squares(part, one, taken)
    return exact / N


def compare_heaps(epsilon: float) -> tuple[Floats, Floats]:
    """Stated variances of ranges at two heaps, and of the curve there, as parts of the exact ones."""
    k, heaps = 4096, (1365, 819)
    shares, parts = np.full(k, 0.25 / k), plan_tree(k, epsilon)
    shares[list(heaps)] += 0.4, 0.35
    found = expect(parts, shares)
    ranges = [[heap + low, heap + high] for heap in heaps for low, high in ((0, 1), (-3, 2), (0, 400))]
    edges = [heap + more for heap in heaps for more in (0, 1, 7)]
    stated = [found.variance(*ends) / find_exact(parts, shares, found, ends) for ends in ranges]
    curve = ((found.cdf().high - found.cdf().unbiased) / normal_quantile(0.95)) ** 2
    drawn = [curve[edge] / find_exact(parts, shares, found, [0, edge]) for edge in edges]
    return np.array(stated), np.array(drawn)


@pytest.mark.parametrize("epsilon", [1.0, 2.0])
def test_ranges_and_curves_at_several_heaps_have_the_exact_variance(epsilon: float) -> None:
    for ratios in compare_heaps(epsilon):
        assert ratios == pytest.approx(1.0, abs=RANGED_ERROR)


def test_a_heap_that_is_left_out_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault: only the lines through the largest heap count."""
    monkeypatch.setattr("deniable.ranges.variances._MANY", 1)
    assert max(float(np.abs(ratios - 1).max()) for ratios in compare_heaps(2.0)) > RANGED_ERROR


@pytest.mark.parametrize(("k", "g"), [(9, 3), (20, 3), (50, 7)])
def test_values_on_a_line_share_their_buckets(k: int, g: int) -> None:
    """Exactly those that share a bucket with both whenever the two share one."""
    pool = HashPool(k, g)
    held = pool.buckets(np.arange(pool.size)[:, None], np.arange(k))
    for value in (0, k // 2, k - 1):
        lines, alike = pool.lines_through(value), held == held[:, [value]]
        assert lines[value] == 0
        for other in set(range(k)) - {value}:
            on_line = alike[alike[:, other]].all(axis=0)
            on_line[value] = False
            assert (on_line == (lines == lines[other])).all()


def test_only_pools_where_many_people_have_a_value_have_ties() -> None:
    level = Level(LeastSquares(Tree(1000), (1.0,) * 5), 4)
    assert Ties.find(level, dn.grr(1000, 1.0).law, spread_people(1000, 1.0, 3), N) is None
    law = dn.mechanisms.plh(1000, 4.0).law
    assert Ties.find(level, law, spread_people(1000, 0.0, 3), N) is None
    found = Ties.find(level, law, spread_people(1000, 0.5, 3), N)
    assert found is not None
    assert found.heaviest.tolist() == [3]
    few = round(Scatter.of(law).base / 0.15**2)
    assert Ties.find(level, law, spread_people(1000, 0.5, 3), few) is None
