"""Checks sums over groups of other sizes than in the population: unbiased, with intervals that hold."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.arrays import Floats, Integers
from deniable.errors import InvalidParameter
from deniable.estimate import Estimate, MeanEstimate
from deniable.mechanisms import Tally
from deniable.ranges import RangeEstimate
from deniable.ranges.tree import Tree
from deniable.summaries import mean_of, quantile_of, sum_of
from deniable.summaries.weighted import join_estimates, join_means, rake, weigh_groups
from tests.cases import by_night
from tests.statistics import WEIGHTED_HELD, WEIGHTED_STUDIES

COIN = dn.grr(2, 1.0)


def estimates_of(counts: Sequence[int], people: Sequence[int]) -> list[Estimate]:
    """An estimate of a yes/no question for each group, from how many reports say yes."""
    return [
        COIN.estimate(Tally(n, np.array([count, n - count]))) for count, n in zip(counts, people, strict=True)
    ]


@pytest.mark.parametrize(
    ("counts", "people", "weights", "expected"),
    [
        ([700, 90], [1600, 150], [0.6, 0.4], (0.505410, 0.0381845, 0.429622, 0.578330, 774.194)),
        ([700, 90], [1600, 150], [3e6, 2e6], (0.505410, 0.0381845, 0.429622, 0.578330, 774.194)),
        # of three reports in a group, each end is the farther one: of Jeffreys' limits, and the normal one
        ([40, 3], [100, 3], [0.6, 0.4], (0.802953, 0.230539, 0.324205, 1.254803, 17.5644)),
    ],
)
def test_the_vectors_of_groups(
    counts: list[int], people: list[int], weights: list[float], expected: tuple[float, ...]
) -> None:
    weighing = weigh_groups(weights, people)
    joined = join_estimates(estimates_of(counts, people), weighing)
    low, high = joined.interval()
    numbers = joined.frequencies[0], joined.stderr[0], low[0], high[0], weighing.effective
    assert numbers == pytest.approx(expected, rel=3e-6)


def test_the_vector_of_raking() -> None:
    weighing = rake([[400, 200], [120, 80]], [[0.5, 0.5], [0.6, 0.4]])
    joined = join_estimates(estimates_of([200, 80, 50, 40], [400, 200, 120, 80]), weighing)
    assert weighing.weights == pytest.approx([0.317228, 0.182772, 0.282772, 0.217228], abs=1e-6)
    assert (joined.frequencies[0], joined.stderr[0]) == pytest.approx((0.409457, 0.044208), abs=1e-6)
    low, high = joined.interval()
    normal = 0.409457 - 1.959964 * 0.044208, 0.409457 + 1.959964 * 0.044208
    assert (low[0], high[0]) == pytest.approx(normal, abs=1e-5)


def test_margins_hold_where_cells_are_empty_and_are_refused_where_they_cannot() -> None:
    margins = [0.2, 0.5, 0.3], [0.7, 0.3]
    weighing = rake([[40, 0], [10, 30], [5, 15]], margins)
    table = np.zeros(6)
    table[[0, 2, 3, 4, 5]] = weighing.weights
    assert table.reshape(3, 2).sum(axis=1) == pytest.approx(margins[0], abs=1e-9)
    assert table.reshape(3, 2).sum(axis=0) == pytest.approx(margins[1], abs=1e-9)
    with pytest.raises(InvalidParameter, match="no weights of the groups that reported"):
        rake([[40, 0], [0, 30]], [[0.5, 0.5], [0.6, 0.4]])


def test_sums_are_unbiased_and_vary_as_stated() -> None:
    """All counts of two groups with their chances: the mean is the truth, and the variance is the law's."""
    people, shares, weights = (3, 5), (0.2, 0.9), np.array([0.7, 0.3])
    law, truth = COIN.law, float(weights @ [0.2, 0.9])
    mean = square = stated = 0.0
    for counts in product(*(range(n + 1) for n in people)):
        chances = (
            stats.binom.pmf(count, n, law.q + law.gain * share)
            for count, n, share in zip(counts, people, shares, strict=True)
        )
        chance = float(np.prod(list(chances)))
        value = join_estimates(estimates_of(counts, people), weigh_groups(weights, people)).frequencies[0]
        mean, square = mean + chance * value, square + chance * (value - truth) ** 2
    for weight, n, share in zip(weights, people, shares, strict=True):
        stated += weight**2 * float(law.variance(n, share))
    assert (mean, square) == pytest.approx((truth, stated), abs=1e-12)


def test_equal_groups_of_the_right_sizes_tell_what_all_reports_tell() -> None:
    """Every reading of the joined estimate is that of all reports, where groups are as large as they should
    be and report alike: shares, errors, sums, means, quantiles, and ranges in levels.
    """
    for mechanism in (dn.grr(6, 1.0), dn.oue(6, 1.0), dn.olh(6, 1.0), dn.metric.geometric(5, 1.0)):
        counts = np.array([300, 200, 250, 150, 180, 120][: mechanism.tallied])
        half = mechanism.estimate(Tally(1200, counts))
        everybody = mechanism.estimate(Tally(2400, 2 * counts))
        joined = join_estimates([half, half], weigh_groups([1, 1], [1200, 1200]))
        assert joined.frequencies == pytest.approx(everybody.frequencies)
        assert joined.stderr == pytest.approx(everybody.stderr, rel=1e-3)
        for chosen in ([1, 2], [0], [0, 1, 3, 4]):
            share, expected = sum_of(joined, chosen), sum_of(everybody, chosen)
            assert (share.value, share.stderr) == pytest.approx((expected.value, expected.stderr), rel=1e-3)
            assert share.high - share.low == pytest.approx(expected.high - expected.low, rel=0.03)
            assert share.cut().high == pytest.approx(expected.cut().high, abs=0.01)
        positions = np.arange(6.0)
        means = [mean_of(estimate, positions) for estimate in (joined, everybody)]
        assert (means[0].value, means[0].stderr) == pytest.approx((means[1].value, means[1].stderr), rel=1e-3)
        medians = [quantile_of(estimate, 0.5, positions) for estimate in (joined, everybody)]
        assert medians[0] == medians[1]


def test_ranges_in_levels_are_joined() -> None:
    parts = dn.grr(4, 2.0), dn.grr(16, 2.0)
    counts = np.array([400, 300, 200, 100]), np.array([100, 80, *[60] * 12, 50, 50])
    tree = Tree(k=16)
    half = RangeEstimate(
        tree, [part.estimate(Tally(1000, count)) for part, count in zip(parts, counts, strict=True)]
    )
    everybody = RangeEstimate(
        tree, [part.estimate(Tally(2000, 2 * count)) for part, count in zip(parts, counts, strict=True)]
    )
    joined = RangeEstimate(tree, half.estimates, None, [half, half], weigh_groups([1, 1], [2000, 2000]))
    assert str(joined.range(3, 9)) == str(everybody.range(3, 9))
    assert str(joined.weigh(np.arange(16.0))) == str(everybody.weigh(np.arange(16.0)))
    assert joined.quantile(0.5) == everybody.quantile(0.5)
    assert joined.cdf().high == pytest.approx(everybody.cdf().high)


def test_means_are_joined_by_their_own_ends() -> None:
    groups = [
        MeanEstimate(400, 0.2, 0.1, lambda _: (0.0, 0.5)),
        MeanEstimate(100, -0.4, 0.2, lambda _: (-0.7, 0.0)),
    ]
    joined = join_means(groups, weigh_groups([0.5, 0.5], [400, 100]))
    assert (joined.mean, joined.stderr) == pytest.approx((-0.1, np.hypot(0.05, 0.1)))
    assert joined.interval() == pytest.approx((-0.1 - np.hypot(0.1, 0.15), -0.1 + np.hypot(0.15, 0.2)))


class Setting(NamedTuple):
    """A population of groups, and who came."""

    epsilon: float
    k: int
    people: Integers
    weights: Floats
    shares: Floats
    seed: int


def make_settings(first: int, last: int, least: int, studies: int) -> list[Setting]:
    """Random settings of so many groups, each with at least so many reports."""
    settings = []
    for seed in range(studies):
        generator = np.random.default_rng((first, seed))
        groups, k = int(generator.integers(first, last + 1)), int(generator.integers(2, 21))
        parts = generator.dirichlet(np.full(groups, 3.0))
        people = np.maximum(generator.multinomial(int(generator.integers(100, 1001)), parts), least)
        weights = generator.dirichlet(np.full(groups, 3.0))
        shares = generator.beta(1, k - 1, groups)
        settings.append(Setting(float(generator.uniform(0.5, 6)), k, people, weights, shares, seed))
    return settings


def cover(setting: Setting, method: str | None = None) -> float:
    """How often the interval of a share holds it. Each of the estimate's values is a study by itself."""
    law, generator = dn.grr(setting.k, setting.epsilon).law, np.random.default_rng(setting.seed)
    groups = [
        Estimate(int(n), generator.binomial(n, law.q + law.gain * share, WEIGHTED_STUDIES), law)
        for n, share in zip(setting.people, setting.shares, strict=True)
    ]
    joined = join_estimates(groups, weigh_groups(setting.weights, setting.people))
    low, high = joined.interval() if method is None else joined.interval(method="normal")
    truth = setting.weights @ setting.shares
    return float(((low <= truth) & (truth <= high)).mean())


SETTINGS = make_settings(2, 8, 20, 40)
MANY = make_settings(9, 30, 1, 12)


@by_night("setting", SETTINGS, *SETTINGS[2:], ids=lambda setting: f"{len(setting.people)}-{setting.seed}")
def test_intervals_of_up_to_eight_groups_hold(setting: Setting) -> None:
    assert WEIGHTED_HELD[0] <= cover(setting) <= WEIGHTED_HELD[1]


@by_night("setting", MANY, *MANY[2:], ids=lambda setting: f"{len(setting.people)}-{setting.seed}")
def test_intervals_of_many_small_groups_hold(setting: Setting) -> None:
    """They are the farther of two ends, and may hold too often. Normal ones alone hold too rarely."""
    assert cover(setting) >= WEIGHTED_HELD[0]
    if setting is MANY[1]:
        assert cover(setting, "normal") < WEIGHTED_HELD[0]
