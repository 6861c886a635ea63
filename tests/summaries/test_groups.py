"""Intervals of groups cover as often as they say, also those of rare groups that few reports are about."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

import deniable as dn
from deniable.arrays import Floats
from deniable.reports.drawn import draw_tally
from deniable.summaries import groups_of, summaries, totals
from tests import statistics
from tests.cases import by_night

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


@by_night("n", [50, 200, 2000], 200)
@by_night("epsilon", [0.2, 1.0, 2.0], 1.0)
def test_groups_with_distances_are_covered(epsilon: float, n: int) -> None:
    for label, times in held(dn.metric.geometric(81, epsilon), n).items():
        statistics.at_least(times, STUDIES, 0.95, f"{label}, {n} reports at {epsilon:g} per step")


@by_night("n", [50, 200, 2000], 200)
@pytest.mark.parametrize("name", SUPPORTED)
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
            for way, sum_of in enumerate(ways):
                share = sum_of(estimate, values)
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


def test_groups_of_very_many_values_are_quick() -> None:
    m, start = dn.metric.geometric(16_000, 0.5), time.process_time()
    estimate = m.estimate(m.tally(m.privatize(np.arange(16_001), dn.seeded(1))))
    for values in np.array_split(np.arange(16_001), 10):
        assert dn.summaries.sum_of(estimate, values).low < 0.1 < dn.summaries.sum_of(estimate, values).high
    assert time.process_time() - start < 20, "7 s; all rows of the channel are made twice"
