"""Checks that the intervals of means, sums, groups and quantiles hold the truth as often as they say."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import product
from typing import cast

import numpy as np
import numpy.typing as npt
import pytest

import deniable as dn
from deniable.arrays import Floats
from deniable.estimate import Estimate
from deniable.records import RecordMechanism
from deniable.summaries import Summary, groups_of, mean_of, quantile_of, sum_of, summaries, totals
from deniable_papers.simulate.drawn import draw_tally
from tests import statistics
from tests.cases import by_night
from tests.statistics import COVERED, COVERED_PEOPLE, COVERED_STUDIES

SIZES, EPSILONS = (11, 31, 100), (0.5, 1.0, 3.0, 5.0)
Make = Callable[[int, float], dn.mechanisms.Mechanism | RecordMechanism]
MAKERS: dict[str, Make] = {
    **{name: row.make for name, row in dn.PROTOCOLS.items()},
    "l_grr": lambda k, epsilon: dn.rounds.l_grr(k, epsilon / 2, epsilon),
    "l_osue": lambda k, epsilon: dn.rounds.l_osue(k, epsilon / 2, epsilon),
    "loloha": lambda k, epsilon: dn.rounds.loloha(k, epsilon / 2, epsilon),
    "dbitflip": lambda k, epsilon: dn.rounds.dbitflip(k, epsilon, max(2, k // 4)),
    "spl": lambda k, epsilon: dn.spl([k, 3], 2 * epsilon, "oue"),
    "smp": lambda k, epsilon: dn.smp([k, 3], epsilon, "olh"),
    "rsfd grr": lambda k, epsilon: dn.rsfd([k, 3], epsilon, "grr"),
    "rsfd oue-z": lambda k, epsilon: dn.rsfd([k, 3], epsilon, "oue-z"),
    "rsrfd grr": lambda k, epsilon: dn.records.rsrfd(
        [k, 3], epsilon, [np.arange(1, k + 1), [1, 2, 3]], "grr"
    ),
}
NIGHTLY = (
    *("sue", "the", "blh", "plh", "aue", "ass", "alh", "athe", "adaptive", "l_grr", "loloha", "dbitflip"),
    *("spl", "smp", "olh", "l_osue", "rsfd grr", "rsfd oue-z", "rsrfd grr"),
)
"""A summary sees a law and its pairs: makers whose laws are like those of another are tried by night."""


def populations(k: int) -> list[Floats]:
    """All alike, some common, and nobody in the upper two thirds."""
    some = [np.ones(k), 1 / np.arange(1, k + 1) ** 1.5, (np.arange(k) < k // 3).astype(np.float64)]
    return [shares / shares.sum() for shares in some]


def estimates(make: Make, epsilon: float, shares: Floats, studies: int, seed: int = 1) -> list[Estimate]:
    """Studies of people drawn from these shares."""
    mechanism, generator = make(shares.size, epsilon), np.random.default_rng(seed)
    people = generator.choice(shares.size, studies * COVERED_PEOPLE, p=shares)
    if isinstance(mechanism, RecordMechanism):
        columns = np.column_stack([people, generator.integers(0, 3, people.size)])
        parts = (
            mechanism.privatize(rows, dn.seeded(seed + study))
            for study, rows in enumerate(np.split(columns, studies))
        )
        return [mechanism.estimate(mechanism.tally(part))[0] for part in parts]
    reports = mechanism.privatize(people, dn.seeded(seed))
    found = (mechanism.estimate(mechanism.tally(part)) for part in np.split(reports, studies))
    return [cast(Estimate, one) for one in found]


def find_mean(result: Estimate, shares: Floats) -> tuple[Summary, float]:
    return mean_of(result), float(shares @ np.arange(shares.size))


def find_sum(result: Estimate, shares: Floats, values: slice) -> tuple[Summary, float]:
    return sum_of(result, np.arange(shares.size)[values]), float(shares[values].sum())


def find_quantile(result: Estimate, shares: Floats, share: float) -> tuple[Summary, float]:
    return quantile_of(result, share), float((np.cumsum(shares) < share - 1e-12).sum())


SUMMARIES: dict[str, Callable[[Estimate, Floats], tuple[Summary, float]]] = {
    "mean": find_mean,
    "lower half": lambda result, shares: find_sum(result, shares, slice(shares.size // 2)),
    "even values": lambda result, shares: find_sum(result, shares, slice(0, None, 2)),
    "quantile 0.1": lambda result, shares: find_quantile(result, shares, 0.1),
    "quantile 0.9": lambda result, shares: find_quantile(result, shares, 0.9),
}
"""Every summary, and the truth that it is about."""


TRIALS = len(SIZES) * len(EPSILONS) * 3 * COVERED_STUDIES


@by_night("name", MAKERS, *NIGHTLY)
def test_summaries_hold_the_truth(name: str) -> None:
    """All populations together, and the worst of them by itself."""
    make = cache(MAKERS[name])
    held: dict[str, list[int]] = {summary: [] for summary in SUMMARIES}
    for seed, (k, epsilon, kind) in enumerate(product(SIZES, EPSILONS, range(3))):
        shares = populations(k)[kind]
        results = estimates(make, epsilon, shares, COVERED_STUDIES, 100 * seed)
        for summary, find in SUMMARIES.items():
            found = [find(result, shares) for result in results]
            held[summary].append(sum(one.low <= truth <= one.high for one, truth in found))
    for summary, times in held.items():
        statistics.at_least(sum(times), TRIALS, COVERED, f"{summary} by {name}")
        statistics.each_at_least(times, COVERED_STUDIES, COVERED, f"{summary} by {name}, the worst")


def test_one_population_that_is_never_held_is_noticed() -> None:
    with pytest.raises(AssertionError):
        statistics.each_at_least([10] * 35 + [2], COVERED_STUDIES, COVERED, "one population")
    statistics.each_at_least([10] * 35 + [6], COVERED_STUDIES, COVERED, "one population")


STUDIES = 150
"""Studies for every group's interval: 95 % may then read as 85 %."""
AGES = dn.Range(18, 100, step=1, privacy="metric", epsilon=1.0)
PEOPLE = np.exp(-(((np.arange(18, 100) - 38) / 18) ** 2)) + 0.002
PEOPLE /= PEOPLE.sum()
"""Three in ten are from 30 to under 40, and one of 1,500 is 90 or more."""
Shares = dn.mechanisms.SetMechanism | dn.metric.MetricMechanism
SUPPORTED: dict[str, Shares] = {
    "grr": dn.grr(82, 4.0),
    "grr, nearly the truth": dn.grr(82, 9.0),
    "oue": dn.oue(82, 2.0),
    "ss": dn.ss(82, 1.0),
}


def normal_sum_of(estimate: dn.Estimate, values: npt.ArrayLike, level: float = 0.95) -> dn.summaries.Summary:
    """As it once was: some standard errors to either side, those of the reports that happened to come."""
    chosen = np.isin(np.arange(estimate.k), values).astype(np.float64)
    error = totals.error_of(estimate, chosen)
    return summaries._normal(float(estimate.frequencies @ chosen), error, level, estimate.n)


def held(m: Shares, n: int, plain: bool = False, people: Floats = PEOPLE) -> dict[str, int]:
    """How many of the studies' intervals hold, by group; the widest is of nearly all people."""
    generator = np.random.default_rng(n)
    groups = {
        group.label: group.values
        for group in groups_of(m.estimate(draw_tally(m, np.full(82, 9), generator)), AGES)
    }
    groups |= {"20 to under 70": np.arange(2, 52)}
    found = dict.fromkeys(groups, 0)
    for _ in range(STUDIES):
        estimate = m.estimate(draw_tally(m, generator.multinomial(n, people), generator))
        for label, values in groups.items():
            share = (normal_sum_of if plain else dn.summaries.sum_of)(estimate, values)
            found[label] += share.low - 1e-12 <= float(people[values].sum()) <= share.high + 1e-12
    return found


@pytest.mark.long
@pytest.mark.parametrize("n", [50, 200, 2000])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 2.0])
def test_groups_with_distances_are_covered(epsilon: float, n: int) -> None:
    for label, times in held(dn.metric.geometric(81, epsilon), n).items():
        statistics.at_least(times, STUDIES, 0.95, f"{label}, {n} reports at {epsilon:g} per step")


@by_night("n", [50, 200, 2000], 200, 2000)
@by_night("name", SUPPORTED, "grr", "oue")
def test_groups_of_counts_of_support_are_covered(name: str, n: int) -> None:
    for label, times in held(SUPPORTED[name], n).items():
        statistics.at_least(times, STUDIES, 0.95, f"{label}, {n} reports by {name}")


@pytest.mark.parametrize("epsilon", [1.0, 2.0])
def test_normal_intervals_of_rare_groups_do_not_cover(epsilon: float) -> None:
    found = held(dn.metric.geometric(81, epsilon), 50, plain=True)
    for label in ("70 to under 80", "80 to under 90", "90 to under 100"):
        with pytest.raises(AssertionError, match="were promised"):
            statistics.at_least(found[label], STUDIES, 0.95, label)


def test_normal_intervals_of_rare_counts_do_not_cover() -> None:
    found = held(SUPPORTED["grr, nearly the truth"], 50, plain=True)
    with pytest.raises(AssertionError, match="were promised"):
        statistics.at_least(found["18 to under 20"], STUDIES, 0.95, "one in fifty people")


@pytest.mark.long
def test_blocks_of_a_grid_are_covered() -> None:
    """A few people in one corner, the rest around the middle."""
    town = dn.Grid(47.6, 6.8, 47.7, 6.95, rows=12, columns=12, epsilon=0.01)
    m, generator, n = dn.metric.planar_geometric((12, 12), 2.0), np.random.default_rng(4), 60
    down, across = np.divmod(np.arange(144), 12)
    people = np.exp(-((down - 5.5) ** 2 + (across - 5.5) ** 2) / 6) + 0.0005
    people /= people.sum()
    blocks = [
        group.values for group in groups_of(m.estimate(draw_tally(m, np.full(144, 9), generator)), town)
    ]
    found = np.zeros((2, len(blocks)), dtype=int)
    ways: list[Callable[..., summaries.Summary]] = [dn.summaries.sum_of, normal_sum_of]
    for _ in range(STUDIES):
        estimate = m.estimate(draw_tally(m, generator.multinomial(n, people), generator))
        for i, values in enumerate(blocks):
            for way, share_of in enumerate(ways):
                share = share_of(estimate, values)
                found[way, i] += share.low <= float(people[values].sum()) <= share.high
    for times in found[0].tolist():
        statistics.at_least(times, STUDIES, 0.95, f"a block of a grid, {n} reports")
    with pytest.raises(AssertionError, match="were promised"):
        statistics.at_least(int(found[1].min()), STUDIES, 0.95, "a block by a normal interval")


def test_a_group_that_nobody_reported_is_not_known_to_be_empty() -> None:
    """50 people of 20 at 0.2 per step: of those from 70 to under 80 once 0 +- 0.7 % was said, whatever the
    truth.
    """
    m = dn.metric.geometric(81, 0.2)
    counts = np.zeros(82, dtype=np.int64)
    counts[2] = 50
    share = dn.summaries.sum_of(m.estimate(dn.Tally(50, counts)), np.arange(52, 62))
    assert share.high > 0.5
    assert share.stderr > 0.2
    assert normal_sum_of(m.estimate(dn.Tally(50, counts)), np.arange(52, 62)).high < 0.05, "the fault"


@pytest.mark.parametrize(
    "m", [dn.metric.geometric(81, 1.0), dn.grr(82, 3.0), dn.oue(82, 1.0), dn.ss(82, 1.0)], ids=repr
)
def test_squares_are_those_of_the_reports(m: Shares) -> None:
    """One value's group is the value, all values together are everybody, and ends meet the estimate's own
    error.
    """
    estimate = m.estimate(draw_tally(m, (2000 * PEOPLE).astype(int), np.random.default_rng(1)))
    one, (low, high) = dn.summaries.sum_of(estimate, [30]), estimate.interval(0.95)
    assert (one.low, one.high) == (low[30], high[30])
    group = dn.summaries.sum_of(estimate, np.arange(22, 32))
    assert group.low < group.value < group.high
    assert group.high - group.low == pytest.approx(4 * group.stderr, rel=0.1), "many reports: nearly normal"
