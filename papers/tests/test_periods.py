"""Counts by period are unbiased with the errors that they state; forecasts see the past only."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sizes import DEMAND_DAYS, DEMAND_MOVED
from tests import statistics

import deniable as dn
from deniable.errors import InvalidParameter, InvalidValue
from deniable_papers.learn import (
    PeriodCounts,
    count_periods,
    demand_features,
    forecast_seasonal_mean,
    forecast_total_by_share,
)

DAILY = np.array([40, 20, 10, 5])
TRUTH = np.tile(DAILY, (DEMAND_DAYS, 1))


def count_days(epsilon: float = 1.0) -> PeriodCounts:
    """Days of the same people, reported and counted."""
    mechanism = dn.oue(len(DAILY), epsilon)
    days = np.repeat(np.arange(len(TRUTH)), DAILY.sum())
    regions = np.tile(np.repeat(np.arange(len(DAILY)), DAILY), len(TRUTH))
    return count_periods(mechanism, mechanism.privatize(regions, dn.seeded(5)), days)


def off_by(found: PeriodCounts) -> float:
    """How many standard errors the worst region's mean is from the truth."""
    errors = (found.counts - TRUTH).mean(axis=0)
    return float(np.abs(errors / (found.stderr.mean(axis=0) / np.sqrt(len(TRUTH)))).max())


def test_counts_are_unbiased_and_err_as_they_say() -> None:
    from scipy.stats import norm

    found = count_days()
    limit = float(norm.isf(statistics.ALPHA / 2))
    assert found.totals.tolist() == TRUTH.sum(axis=1).tolist()
    assert off_by(found) < limit
    spread = (found.counts - TRUTH).std(axis=0) / np.sqrt((found.stderr**2).mean(axis=0))
    assert np.abs(spread - 1).max() < limit / np.sqrt(2 * len(TRUTH))
    assert found.loss() <= 1.0


def test_a_wrong_law_would_be_seen() -> None:
    """The planted fault: reports of one law, counted by another."""
    found = count_days()
    law = found.mechanism.law
    wrong = dn.mechanisms.ue(len(DAILY), 1.0, law.p * (1 + DEMAND_MOVED))
    assert off_by(replace(found, mechanism=wrong)) > 10


def test_a_period_without_reports_counts_nothing() -> None:
    mechanism = dn.grr(3, 1.0)
    found = count_periods(mechanism, mechanism.privatize([0, 1], dn.seeded(1)), [2, 2], length=4)
    assert found.totals.tolist() == [0, 0, 2, 0]
    assert not found.counts[[0, 1, 3]].any()


@pytest.mark.parametrize("periods", [[0], [0, -1], [0.5, 1.0], [[0, 1]]])
def test_wrong_periods_are_refused(periods: list[float]) -> None:
    mechanism = dn.grr(3, 1.0)
    reports = mechanism.privatize([0, 1], dn.seeded(1))
    with pytest.raises(InvalidValue, match="periods are"):
        count_periods(mechanism, reports, periods)


def test_no_reports_need_a_number_of_periods() -> None:
    mechanism = dn.grr(3, 1.0)
    none = mechanism.privatize(np.zeros(0, dtype=np.int64), dn.seeded(1))
    periods = np.zeros(0, dtype=np.uint64)
    with pytest.raises(InvalidParameter, match="give length"):
        count_periods(mechanism, none, periods)
    assert count_periods(mechanism, none, periods, length=2).counts.tolist() == [[0.0] * 3] * 2


def test_wrong_tables_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="features need 364"):
        demand_features(np.ones((300, 2)))
    with pytest.raises(InvalidParameter, match="a row per period"):
        demand_features(np.ones(300))
    with pytest.raises(InvalidParameter, match="totals are one number"):
        forecast_total_by_share(np.ones((3, 2)), [1, 2])
    with pytest.raises(InvalidParameter, match="support has a row"):
        PeriodCounts(dn.oue(3, 1.0), np.array([1]), np.array([[1, 1]]))


def test_nothing_is_made_from_the_future() -> None:
    """Later counts change no feature and no forecast of an earlier period."""
    counts = np.random.default_rng(1).poisson(9.0, (450, 3)).astype(np.float64)
    later = counts.copy()
    later[420:] += 100
    one, other = demand_features(counts), demand_features(later)
    before = one.periods <= 420
    assert np.array_equal(one.table[before], other.table[before])
    assert not np.array_equal(one.table, other.table)
    for forecast in (forecast_seasonal_mean, lambda some: forecast_total_by_share(some, some.sum(axis=1))):
        assert np.array_equal(forecast(counts)[7:421], forecast(later)[7:421])
        assert not np.array_equal(forecast(counts)[421:], forecast(later)[421:])


def test_forecasts_are_never_negative() -> None:
    counts = np.array([[-5.0, 9.0]] * 20)
    assert forecast_seasonal_mean(counts)[-1].tolist() == [0.0, 9.0]
    assert forecast_total_by_share(counts, [4] * 20)[-1].tolist() == [0.0, 9.0]
