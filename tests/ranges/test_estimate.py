"""Intervals of ranges and quantiles hold as often as they say, and variances are those of the law."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import beta

import deniable as dn
from deniable.arrays import Floats
from deniable.estimate import Bins, Estimate
from deniable.estimate.consistency import simplex
from deniable.mechanisms import Direct, Hashed, Pooled, SetMechanism, Tally
from deniable.ranges import LeastSquares, RangeEstimate, Scatter, Tree, plan_tree
from deniable.ranges.parts import choose_part
from deniable_papers.simulate.drawn import draw_tally
from tests.cases import by_night
from tests.statistics import RANGED_ERROR, RANGED_HELD, RANGED_PEOPLE, RANGED_STUDIES, each_at_least, spread

K = 60
TREE = Tree(K)
RANGES = ((0, 7), (3, 50), (20, 21), (13, 33))
QUANTILES = (0.1, 0.5, 0.9)
OFTEN = 10**5


def smooth(k: int = K) -> Floats:
    return np.asarray(np.diff(beta.cdf(np.arange(k + 1) / k, 2, 5)))


def heaped(k: int = K) -> Floats:
    """A quarter of the people at one value, and half of them at every tenth."""
    shares = 0.25 * smooth(k)
    shares[k // 3] += 0.25
    shares[::10] += 0.5 * np.add.reduceat(smooth(k), np.arange(0, k, 10))
    return np.asarray(shares)


PEOPLE = {"smooth": smooth(), "heaped": heaped()}


def fold(shares: Floats, tree: Tree = TREE) -> list[Floats]:
    return [np.add.reduceat(shares, np.arange(0, tree.k, divisor)) for divisor in tree.divisors]


def bitwise(epsilon: float) -> list[SetMechanism]:
    """Levels whose tallies are drawn at once."""
    return [dn.grr(TREE.sizes[0], epsilon), *(dn.oue(size, epsilon) for size in TREE.sizes[1:])]


def draw(
    parts: Sequence[SetMechanism], shares: Floats, weights: Sequence[float], generator: np.random.Generator
) -> list[Estimate]:
    """The levels of one study, whose people are a sample, each of whom reports one level."""
    many = generator.multinomial(RANGED_PEOPLE, np.array(weights) / sum(weights))
    levels = zip(parts, fold(shares), many, strict=True)
    return [
        part.estimate(draw_tally(part, generator.multinomial(n, one), generator)) for part, one, n in levels
    ]


def count_held(studies: Sequence[RangeEstimate], shares: Floats) -> tuple[list[int], list[int]]:
    """How many of the intervals hold, for each range and for each quantile."""
    below = np.append(0.0, np.cumsum(shares))
    ranges, quantiles = [0] * len(RANGES), [0] * len(QUANTILES)
    for study in studies:
        for i, (first, last) in enumerate(RANGES):
            found = study.range(first, last)
            ranges[i] += found.low <= below[last] - below[first] <= found.high
        for i, wanted in enumerate(QUANTILES):
            at = int(np.searchsorted(below[1:], wanted))
            found = study.quantile(wanted)
            quantiles[i] += found.low <= at < found.high
    return ranges, quantiles


@by_night("people", PEOPLE, *list(PEOPLE)[1:])
@by_night("epsilon", [1.0, 4.0], 4.0)
def test_intervals_hold(people: str, epsilon: float) -> None:
    """Of ranges and of quantiles, and the scatter of all ranges is the one that the law states."""
    generator, shares, parts = np.random.default_rng(7), PEOPLE[people], bitwise(epsilon)
    found = [RangeEstimate(TREE, draw(parts, shares, (3, 1, 2), generator)) for _ in range(RANGED_STUDIES)]
    ranges, quantiles = count_held(found, shares)
    each_at_least(ranges, RANGED_STUDIES, RANGED_HELD, f"ranges of {people} shares at epsilon {epsilon}")
    each_at_least(quantiles, RANGED_STUDIES, RANGED_HELD, f"quantiles of {people} shares")
    truth = known(parts, shares, [RANGED_PEOPLE * one // 6 for one in (3, 1, 2)])
    for first, last in RANGES:
        values = np.array([one.range(first, last).value for one in found])
        squares = float(((values - shares[first:last].sum()) ** 2).sum()) / (
            truth.variance(first, last) * OFTEN
        )
        spread(squares, RANGED_STUDIES, f"the scatter of {first} to {last}")


def test_shares_that_were_projected_are_not_summed() -> None:
    """Norm-sub before summing, a planted fault: most cumulative shares are then off, and ours are not."""
    k, generator = 1024, np.random.default_rng(7)
    tree, shares = Tree(k), smooth(k)
    levels = []
    for size, one in zip(tree.sizes, fold(shares, tree), strict=True):
        part = dn.oue(size, 1.0)
        levels.append(part.estimate(draw_tally(part, generator.multinomial(20_000, one), generator)))
    study, truth = RangeEstimate(tree, levels), np.append(0.0, np.cumsum(shares))
    error = study.cdf().high - study.cdf().unbiased
    ours = np.abs(study.cdf().unbiased - truth)
    planted = np.abs(np.append(0.0, np.cumsum(simplex(levels[-1].frequencies))) - truth)
    assert (ours <= error + 1e-12).mean() > 0.8
    assert (planted <= error).mean() < 0.4
    assert planted.max() > 0.15 > 2 * ours.max()


def test_errors_that_ignore_who_reports_which_level_are_found_out() -> None:
    generator, shares, parts = np.random.default_rng(7), PEOPLE["smooth"], bitwise(1.0)
    studies, ignorant = [], []
    for _ in range(RANGED_STUDIES // 3):
        study = RangeEstimate(TREE, draw(parts, shares, (1, 1, 20), generator))
        studies.append(study.range(16, 40).value)
        even = [float(part.law.variance(1)) * 3 / study.n for part in parts]
        ignorant.append(float(LeastSquares(TREE, even).variances_of([16], [40])[0]))
    squares = float(((np.array(studies) - shares[16:40].sum()) ** 2 / ignorant).sum())
    with pytest.raises(AssertionError, match="of the variance"):
        spread(squares, len(studies), "a range with people spread evenly over the levels")


def known(parts: Sequence[SetMechanism], shares: Floats, people: Sequence[int]) -> RangeEstimate:
    """The estimate of reports that fall just as the law says; people count so often that rounding does not
    matter, and variances are as much smaller.
    """
    found, tree = [], Tree(shares.size)
    for part, one, n in zip(parts, fold(shares, tree), people, strict=True):
        counts = np.round(n * OFTEN * (part.law.q + part.law.gain * one)).astype(np.int64)
        found.append(part.estimate(Tally(n * OFTEN, counts)))
    return RangeEstimate(tree, found)


def exact_variance(
    parts: Sequence[SetMechanism], shares: Floats, found: RangeEstimate, points: Floats
) -> float:
    """The variance of a weighted sum, from how likely each report supports each two nodes of its level."""
    total = 0.0
    weights = found.squares.weights_of(points)
    for part, one, taken, level in zip(
        parts, fold(shares, found.tree), weights, found.estimates, strict=True
    ):
        mean = part.law.q * taken.sum() + part.law.gain * (one @ taken)
        square = float(part.law.pairs.squares(taken) @ one)
        total += (square - mean**2) / part.law.gain**2 / level.n
    return total


@pytest.mark.parametrize("k", [60, 256])
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 4.0])
@pytest.mark.parametrize("people", ["smooth", "heaped"])
def test_variances_are_those_of_the_law(k: int, epsilon: float, people: str) -> None:
    """Exactly, where a level reports a value or a set; a pool of hashes ties neighbors together a little."""
    shares, parts = (smooth(k) if people == "smooth" else heaped(k)), plan_tree(k, epsilon)
    found = known(parts, shares, [5000, *[1000] * (len(parts) - 1)])
    has_hashes = any(isinstance(part, Pooled) for part in parts)
    for first, last in ((0, k // 5), (k // 3, k // 3 + 1), (k // 3 - 3, k // 3 + 2), (k // 2, k), (2, k - 9)):
        chosen = ((np.arange(k) >= first) & (np.arange(k) < last)).astype(np.float64)
        truth = exact_variance(parts, shares, found, chosen)
        error, allowed = found.range(first, last).stderr, RANGED_ERROR if has_hashes else 2e-7
        assert error**2 == pytest.approx(truth, rel=allowed)
        assert found.weigh(chosen).stderr ** 2 == pytest.approx(found.variance(first, last), rel=1e-9)
        assert found.weigh(chosen).value == pytest.approx(found.range(first, last).value, abs=1e-12)
    positions = np.arange(0.5, k)
    mean = found.weigh(positions)
    assert mean.value == pytest.approx(positions @ shares, rel=1e-4)
    assert mean.stderr**2 == pytest.approx(
        exact_variance(parts, shares, found, positions), rel=RANGED_ERROR if has_hashes else 1e-7
    )


def test_the_curve_and_the_quantiles_of_known_shares() -> None:
    found = known(bitwise(1.0), smooth(), [1000, 1000, 1000])
    curve = found.cdf()
    assert curve.edges.tolist() == list(range(K + 1))
    assert curve.shares == pytest.approx(np.append(0.0, np.cumsum(smooth())), abs=1e-5)
    assert curve.shares[0] == 0.0
    assert curve.shares[-1] == 1.0
    assert (np.diff(curve.shares) >= 0).all()
    assert curve.low[0] == curve.high[0] == 0.0
    assert curve.low[-1] == curve.high[-1] == 1.0
    assert found.shares.sum() == pytest.approx(1.0, abs=1e-12)
    median = found.quantile(0.5)
    assert median.low <= median.value <= median.high
    assert median.value == pytest.approx(beta.ppf(0.5, 2, 5) * K, abs=0.05)
    assert len(curve.frame()) == K + 1
    assert curve.plot().axes
    assert "median" in str(found)


@by_night("share", [1e-6, 0.1, 0.25, 0.5, 0.99], 1e-6)
def test_quantiles_look_at_few_edges_and_miss_none(share: float) -> None:
    """The interval is that of the errors of all edges, also where a heap makes some larger."""
    k = 3000
    found = known(plan_tree(k, 2.0), heaped(k), [2] * Tree(k).levels)
    low, high = found.cdf().low, found.cdf().high
    some = np.flatnonzero((low[:-1] <= share) & (high[1:] >= share))
    quantile = found.quantile(share)
    assert (quantile.low, quantile.high) == (some[0], some[-1] + 1)


def test_bins_move_quantiles_to_their_edges() -> None:
    plain = known(bitwise(1.0), smooth(), [1000, 1000, 1000])
    bins = Bins(np.linspace(1000, 1000 + 10 * K, K + 1), open_high=True)
    moved = RangeEstimate(TREE, plain.estimates, bins)
    assert moved.quantile(0.5).value == pytest.approx(1000 + 10 * plain.quantile(0.5).value)
    assert moved.quantile(1 - 1e-12).high == np.inf
    assert moved.cdf().edges.tolist() == bins.edges.tolist()
    with pytest.raises(dn.InvalidParameter, match="5 bins"):
        RangeEstimate(TREE, plain.estimates, Bins(np.arange(6.0)))


def test_a_range_of_few_values_has_one_level() -> None:
    part = dn.grr(3, 1.0)
    plain = part.estimate(Tally(1000, np.array([400, 320, 280])))
    found = RangeEstimate(Tree(3), [plain])
    assert found.shares == pytest.approx(plain.frequencies, abs=1e-12)
    assert found.range(1, 2).stderr == pytest.approx(plain.stderr[1], rel=1e-9)
    assert found.range(1, 3).value == pytest.approx(plain.frequencies[1:].sum(), abs=1e-12)


def test_few_reports_are_named() -> None:
    generator = np.random.default_rng(1)
    few = RangeEstimate(TREE, draw(bitwise(4.0), smooth(), (500, 500, 1), generator))
    assert "the level of 60 parts has only" in few.few
    assert "few" not in str(few)
    assert few.few in str(few)
    enough = RangeEstimate(TREE, draw(bitwise(4.0), smooth(), (1, 1, 1), generator))
    assert enough.few == ""


def test_what_makes_no_sense_is_refused() -> None:
    found = known(bitwise(1.0), smooth(), [1000, 1000, 1000])
    for first, last in ((-1, 3), (5, 4), (0, K + 1)):
        with pytest.raises(dn.InvalidParameter, match="integer from"):
            found.range(first, last)
    with pytest.raises(dn.InvalidParameter, match="from 0 to 60"):
        found.variance(-1, 3)
    for share in (0.0, 1.0, float("nan")):
        with pytest.raises(dn.InvalidParameter, match="share"):
            found.quantile(share)
    with pytest.raises(dn.InvalidParameter, match="60 numbers"):
        found.weigh([1.0, 2.0])
    with pytest.raises(dn.InvalidParameter, match="nodes"):
        RangeEstimate(Tree(61), found.estimates)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 6.0])
def test_levels_take_the_mechanism_that_errs_least(epsilon: float) -> None:
    for k in (4, 16, 64, 1000):
        chosen = choose_part(k, epsilon)
        assert chosen.k == k
        assert chosen.loss() <= epsilon
        for other in (dn.grr(k, epsilon), dn.olh(k, epsilon)):
            assert Scatter.of(chosen.law).base <= 1.05 * Scatter.of(other.law).base
        assert chosen.report_bytes <= 12
    assert isinstance(choose_part(1 << 21, epsilon), Hashed)


def test_large_budgets_leave_plain_values() -> None:
    assert isinstance(choose_part(1000, 25.0), Direct)


def even(fanout: int, levels: int) -> LeastSquares:
    """A full tree whose people are spread evenly over its levels, so that a variance is n Var / V."""
    return LeastSquares(Tree(fanout**levels, fanout), (float(levels),) * levels)


@pytest.mark.parametrize(
    ("fanout", "levels", "first", "last", "stated"),
    [
        (2, 3, 0, 3, 2.232143),
        (2, 3, 2, 7, 2.803571),
        (2, 3, 0, 4, 0.857143),
        (4, 2, 0, 5, 2.575),
        (4, 2, 3, 13, 3.9),
        (4, 5, 100, 200, 13.425896),
        (4, 5, 0, 500, 8.290306),
    ],
)
def test_known_variances(fanout: int, levels: int, first: int, last: int, stated: float) -> None:
    assert even(fanout, levels).variances_of([first], [last])[0] == pytest.approx(stated, abs=1e-6)


def test_a_full_tree_follows_the_formula_of_contrasts() -> None:
    """n Var / V is the sum over levels of |cover - mean|^2 / P, where P adds up all levels below."""
    fanout, levels = 4, 4
    k = fanout**levels
    generator = np.random.default_rng(1)
    for first, last in np.sort(generator.integers(0, k + 1, (50, 2)), axis=1).tolist():
        cover, total = ((np.arange(k) >= first) & (np.arange(k) < last)).astype(np.float64), 0.0
        for level in reversed(range(levels)):
            precision = sum(fanout ** -(below - level) for below in range(level, levels)) / levels
            table = cover.reshape(-1, fanout)
            total += ((table - table.mean(axis=1, keepdims=True)) ** 2).sum() / precision
            cover = table.mean(axis=1)
        assert even(fanout, levels).variances_of([first], [last])[0] == pytest.approx(total, abs=1e-12)


@pytest.mark.parametrize(("k", "fanout"), [(2, 2), (7, 2), (13, 4), (37, 3), (64, 4), (65, 4)])
def test_ragged_trees_agree_with_a_dense_solution(k: int, fanout: int) -> None:
    tree, generator = Tree(k, fanout), np.random.default_rng(k)
    variances = generator.uniform(0.5, 3, tree.levels).tolist()
    found = LeastSquares(tree, variances)
    measured = [generator.normal(size=size) for size in tree.sizes]
    levels = zip(tree.divisors, tree.sizes, strict=True)
    holds = [np.arange(k) // divisor == np.arange(size)[:, None] for divisor, size in levels]
    nodes = np.concatenate(holds).astype(np.float64)
    precision = 1 / np.repeat(variances, tree.sizes)
    bordered = np.zeros((k + 1, k + 1))
    bordered[:k, :k] = nodes.T @ (precision[:, None] * nodes)
    bordered[:k, k] = bordered[k, :k] = 1.0
    inverse = np.linalg.inv(bordered)
    right = np.append(nodes.T @ (precision * np.concatenate(measured)), 1.0)
    assert found.solve(measured) == pytest.approx((inverse @ right)[:k], abs=1e-12)
    firsts, lasts = np.triu_indices(k + 1)
    ranges = ((np.arange(k) >= firsts[:, None]) & (np.arange(k) < lasts[:, None])).astype(np.float64)
    truth = np.einsum("ni,ij,nj->n", ranges, inverse[:k, :k], ranges)
    assert found.variances_of(firsts, lasts) == pytest.approx(truth, abs=1e-12)
    points = generator.normal(size=k)
    weights = np.concatenate(found.weights_of(points))
    assert weights == pytest.approx(precision * (nodes @ inverse[:k, :k] @ points), abs=1e-12)


def test_all_people_are_known() -> None:
    assert even(4, 3).variances_of([0, 5, 64], [64, 5, 64]).tolist() == [0.0, 0.0, 0.0]


def test_trees_that_make_no_sense_are_refused() -> None:
    with pytest.raises(dn.InvalidParameter, match="integer of at least 2"):
        Tree(1)
    with pytest.raises(dn.InvalidParameter, match="fanout"):
        Tree(10, fanout=1)
    for variances in ((1.0,), (1.0, 0.0), (1.0, np.inf)):
        with pytest.raises(dn.InvalidParameter, match="2 levels"):
            LeastSquares(Tree(16), variances)


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


@by_night(("k", "epsilon"), [(64, 1.0), (100, 4.0), (256, 2.0)], (100, 4.0), (256, 2.0))
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
