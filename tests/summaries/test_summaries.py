"""Means and quantiles of ranges: in their own numbers, with errors that are neither too small nor
too large."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
import pytest

import deniable as dn
from deniable.arrays import Floats
from deniable.estimate import normal_quantile
from deniable.likelihood import mle
from deniable.metric import MetricMechanism
from deniable.metric.base import inverted
from deniable.metric.line import GeometricChannel
from deniable.reports import Tallies
from deniable.summaries import mean_of, quantile_of
from deniable.summaries.ratios import fieller_ends
from tests import statistics
from tests.cases import by_night

STUDIES = 60
"""Studies for a scatter: it may then read as 0.5 to 1.7 of the stated error."""
COVERED = 150
"""Studies for each value's interval."""

Draw = Callable[[np.random.Generator, int], Floats]
SHAPES: dict[str, Draw] = {
    "incomes": lambda generator, n: generator.lognormal(7.5, 0.5, n).clip(0, 99_999),
    "even": lambda generator, n: generator.uniform(0, 100_000, n),
    "two": lambda generator, n: np.where(generator.random(n) < 0.3, 2000.0, 90_000.0),
}


def ranged(low: float, high: float, step: float, epsilon: float, metric: bool = True) -> dn.Plan:
    if metric:
        return dn.Study({"x": dn.Range(low, high, step=step, privacy="metric", epsilon=epsilon)}).plan(
            people=20_000
        )
    return dn.Study({"x": dn.Range(low, high, step=step)}, epsilon=epsilon).plan(people=20_000)


def tallied(plan: dn.Plan, values: Floats, seed: int = 1) -> Tallies:
    return plan.tally(plan.privatize({"x": values}, dn.seeded(seed)))


def test_positions_of_a_plan_are_those_of_its_bins() -> None:
    """Neither an estimate nor a most likely histogram answers in numbers of bins."""
    plan, steps = (
        ranged(0, 30_000, 500, 0.0005),
        np.random.default_rng(1).gamma(4, 2000, 20_000).clip(0, 29_999),
    )
    tallies = tallied(plan, steps)
    result, likely = plan.estimate(tallies), plan.mle(tallies, "x")
    for found in (
        result.mean("x"),
        dn.summaries.mean_of(result["x"]),
        dn.summaries.mean_of(likely, repeats=40),
    ):
        statistics.deviation(found.value, float(steps.mean()), found.stderr, "the mean of the steps")
        assert found.within == 250
    for found in (
        result.quantile("x"),
        dn.summaries.quantile_of(result["x"], 0.5),
        dn.summaries.quantile_of(likely, 0.5, repeats=40),
    ):
        assert found.low <= np.median(steps) <= found.high
        assert 5000 < found.value < 10_000
    middles = np.arange(250.0, 30_000, 500)
    assert dn.summaries.mean_of(result["x"], middles).value == dn.summaries.mean_of(result["x"]).value
    assert dn.summaries.mean_of(result["x"], middles).within == 0
    assert "up to 250 more either way" in str(result)


def test_names_are_no_positions() -> None:
    study = dn.Study({"x": dn.Range(0, 30, step=10, open_high=True), "color": ["red", "blue"]}, epsilon=4.0)
    plan = study.plan(people=100)
    answers = {"x": np.arange(100) % 40, "color": np.where(np.arange(100) % 2, "red", "blue")}
    tallies = plan.tally(plan.privatize(answers, dn.seeded(1)))
    result = plan.estimate(tallies)
    for found in (result["color"], plan.mle(tallies, "color")):
        with pytest.raises(
            dn.InvalidParameter, match=r"names \(red, ...\) and no positions on a line; say where they are"
        ):
            dn.summaries.mean_of(found)
        with pytest.raises(dn.InvalidParameter, match="no positions"):
            dn.summaries.quantile_of(found, 0.5)
        assert dn.summaries.mean_of(found, [0, 1], repeats=20).stderr > 0
    for found in (result["x"], plan.mle(tallies, "x")):
        with pytest.raises(dn.InvalidParameter, match=r"open, .*give positions"):
            dn.summaries.mean_of(found)
        assert dn.summaries.quantile_of(found, 0.99, repeats=20).high == math.inf
    assert result.mean("x", ends=(0, 35)).within == 5


@by_night("bins", [100, 2000], 2000)
@pytest.mark.parametrize("shape", SHAPES)
def test_means_of_fine_bins_scatter_as_they_say(shape: str, bins: int) -> None:
    """Outputs that nobody reports, however many, add nothing to the error; once they made it up to 24 times
    too large.
    """
    plan, generator, n = ranged(0, 100_000, 100_000 / bins, 0.001), np.random.default_rng(5), 5000
    truth = (
        np.floor(SHAPES[shape](np.random.default_rng(6), 2_000_000) * bins / 100_000).mean()
        * (100_000 / bins)
        + 50_000 / bins
    )
    results = [plan.estimate(tallied(plan, SHAPES[shape](generator, n), seed)) for seed in range(STUDIES)]
    found = [result.mean("x") for result in results]
    error = math.sqrt(np.mean([one.stderr**2 for one in found]))
    off = np.array([one.value for one in found]) - truth
    statistics.spread(float((off**2).sum() / error**2), STUDIES, f"means of {shape} in {bins} bins")
    with pytest.raises(AssertionError, match="of the variance"):
        statistics.spread(float((off**2).sum() / error**2) / 6, STUDIES, "an error that is too large")
    statistics.at_least(sum(one.low <= truth <= one.high for one in found), STUDIES, 0.95, "means")


def test_errors_of_many_rare_values_are_not_too_large() -> None:
    """Unbiased shares of 1,000 values that 200 people report are mostly below 0: clipped, they would add up
    to too many.
    """
    m, n, studies = dn.grr(1000, 1.0), 200, statistics.COVERAGE_REPEATS
    values = np.random.default_rng(1).integers(400, 410, n * studies)
    found = [
        dn.summaries.mean_of(m.estimate(m.tally(part)))
        for part in np.split(m.privatize(values, dn.seeded(1)), studies)
    ]
    error = math.sqrt(np.mean([one.stderr**2 for one in found]))
    off = np.array([one.value for one in found]) - 404.5
    statistics.spread(float((off**2).sum() / error**2), studies, "means of many rare values")


def test_a_range_among_fakes_has_a_mean() -> None:
    study = dn.Study(
        {"x": dn.Range(0, 30, step=10), "color": ["red", "blue"]}, epsilon=2.0, mechanism="faked"
    )
    plan = study.plan(people=100)
    answers = {"x": np.arange(100) % 30, "color": np.where(np.arange(100) % 2, "red", "blue")}
    result = plan.estimate(plan.tally(plan.privatize(answers, dn.seeded(1))))
    assert result.has_mean("x")
    assert "20 to under 30" in str(result)
    found = result.mean("x")
    assert abs(found.value - 15) < 5 * found.stderr


def test_quantiles_reach_the_edges_of_their_bins() -> None:
    plan = ranged(0, 100, 10, 3.0, metric=False)
    found = plan.estimate(tallied(plan, np.full(2000, 37.0))).quantile("x")
    assert (found.low, found.high) == (30, 40)
    assert 30 <= found.value <= 40
    incomes, held = ranged(0, 100_000, 1000, 0.001), 0
    for seed in range(STUDIES):
        values = np.random.default_rng(seed).lognormal(7.5, 0.5, 20_000).clip(0, 99_999)
        found = incomes.estimate(tallied(incomes, values, seed)).quantile("x")
        held += found.low <= math.exp(7.5) <= found.high
        assert found.low <= found.value <= found.high
        assert found.low < found.high
    statistics.at_least(held, STUDIES, 0.95, "medians of incomes")


def test_an_even_bin_is_divided_evenly() -> None:
    plan = ranged(0, 100, 50, 8.0, metric=False)
    values = np.repeat([10.0, 60.0], [8000, 12_000])
    result = plan.estimate(tallied(plan, values))
    assert math.isclose(
        result.quantile("x", 0.2).value, 50 * 0.2 / float(result["x"].frequencies[0]), rel_tol=1e-6
    )
    assert abs(result.quantile("x", 0.7).value - 75) < 1.5


MADE: dict[str, MetricMechanism] = {
    "geometric": dn.metric.geometric(12, 0.4),
    "two counts": dn.metric.geometric(1, 0.4),
    "square wave": dn.metric.square_wave(1.0, 12),
    "cells": dn.metric.planar_geometric((3, 4), 0.5),
}


@pytest.mark.parametrize("name", MADE)
def test_running_sums_are_the_sums(name: str) -> None:
    """The error of every cumulative share, and what people add to their own value's, against the written-out
    inverse.
    """
    m, matrix = MADE[name], MADE[name].law.matrix()
    decoder = np.linalg.pinv(matrix.T)
    np.testing.assert_allclose(inverted(matrix), decoder, atol=1e-9)
    shares = np.random.default_rng(1).dirichlet(np.ones(m.outputs))
    sums = np.cumsum(decoder, axis=0)[:-1]
    np.testing.assert_allclose(m._cumulated(shares), (sums**2) @ shares - (sums @ shares) ** 2, rtol=1e-7)
    np.testing.assert_allclose(m._mean_squares, (decoder**2 * matrix).sum(axis=1), rtol=1e-7)


def test_rows_that_depend_on_each_other_are_refused() -> None:
    same = np.array([[0.5, 0.3, 0.2], [0.5, 0.3, 0.2]])
    assert not np.abs(inverted(same) @ same.T - np.eye(2)).max() <= 1e-6


def test_large_channels_and_their_quantiles_are_quick() -> None:
    """By a pseudo-inverse 15 s of both cores; an error for each of 16,001 sums by itself took 81 s."""
    wave, start = dn.metric.square_wave(1.0, 1000), time.process_time()
    estimate = wave.estimate(wave.tally(wave.privatize(np.arange(20_000) % 1000, dn.seeded(1))))
    assert dn.summaries.quantile_of(estimate, 0.5).low < 500 < dn.summaries.quantile_of(estimate, 0.5).high
    assert time.process_time() - start < 8, "1 to 2 s of two cores"
    many, start = dn.metric.geometric(16_000, 0.5), time.process_time()
    estimate = many.estimate(many.tally(many.privatize(np.arange(20_000) % 16_001, dn.seeded(1))))
    assert dn.summaries.quantile_of(estimate, 0.5).low < 6000 < dn.summaries.quantile_of(estimate, 0.5).high
    assert time.process_time() - start < 4, "0.1 s"


def held(m: dn.metric.Geometric, n: int, truth: Floats, bare: bool = False) -> tuple[int, int]:
    """How many studies' worth of intervals hold: a study's err together, so that they count as one; or of
    bare normal ones.

    And in how many studies that of the commonest value does.
    """
    generator, found = np.random.default_rng(n), np.zeros(m.k, dtype=np.int64)
    for _ in range(COVERED):
        values = generator.choice(m.k, n, p=truth)
        tally = m.tally(m.privatize(values, dn.seeded(int(generator.integers(1 << 30)))))
        estimate = m.estimate(tally)
        low, high = estimate.interval(0.95)
        if bare:
            shares = estimate.frequencies
            reach = 1.96 * np.sqrt(np.maximum(m._squares(tally.counts / n) - shares**2, 0.0) / n)
            low, high = shares - reach, shares + reach
        found += (low - 1e-12 <= truth) & (truth <= high + 1e-12)
    return round(found.mean()), int(found[np.argmax(truth)])


@by_night(
    ("n", "k", "epsilon"),
    [(300, 101, 5.0), (100, 21, 3.0), (20, 21, 1.0), (100, 21, 0.3)],
    (300, 101, 5.0),
    (100, 21, 0.3),
)
def test_intervals_of_metric_attributes_cover(n: int, k: int, epsilon: float) -> None:
    """People who are spread evenly, by a falling law, or all of one value."""
    m, falling = dn.metric.geometric(k - 1, epsilon), 1 / np.arange(1.0, k + 1)
    for truth in (np.full(k, 1 / k), falling / falling.sum(), np.eye(k)[k // 3]):
        for found in held(m, n, truth):
            statistics.at_least(found, COVERED, 0.95, f"{n} reports of {k} counts")


def test_bare_normal_intervals_do_not_cover() -> None:
    with pytest.raises(AssertionError, match="were promised"):
        statistics.at_least(
            held(dn.metric.geometric(100, 5.0), 300, np.full(101, 1 / 101), bare=True)[0],
            COVERED,
            0.95,
            "bare",
        )


def test_exact_is_refused_where_nothing_is_exact() -> None:
    sums = dn.Estimate(300, np.array([90.0, 110.0, 100.0]), dn.law.Moments(3, 8.0))
    m = dn.metric.geometric(9, 1.0)
    estimate = m.estimate(m.tally(m.privatize(np.arange(300) % 10, dn.seeded(1))))
    for one, name in ((sums, "normal"), (estimate, "wilson")):
        assert one.method == name
        with pytest.raises(dn.InvalidParameter, match="not counts; ask for 'wilson' or 'normal'"):
            one.interval(0.95, "exact")
        np.testing.assert_array_equal(one.interval(0.95), one.interval(0.95, one.method))
        assert (one.interval(0.95, "wilson").high > one.frequencies).all()
    assert "95 % normal intervals" in str(sums)
    assert "95 % Wilson intervals" in str(estimate)
    counted = dn.oue(3, 1.0)
    support = counted.estimate(counted.tally(counted.privatize(np.arange(300) % 3, dn.seeded(1))))
    assert support.method == "exact"
    assert "95 % intervals" in str(support)


def test_large_numbers_have_no_power_of_ten() -> None:
    income = dn.summaries.Summary(1_234_567.0, 251.7, 1_234_000.0, 1_235_100.0)
    assert str(income) == "1,234,570, from 1,234,000 to 1,235,100 (standard error 250)"
    share = dn.summaries.Summary(0.5, 1.5, -1.0, 2.0, points_of="yes")
    assert str(share).endswith("(standard error 150)")


@pytest.mark.parametrize(
    ("variances", "covariance"), [((1e-4, 9e-4), 0.0), ((9e-4, 1e-4), 2e-4), ((4e-4, 4e-4), -1e-4)]
)
def test_the_ends_of_a_ratio_are_as_far_away_as_its_own_error_allows(
    variances: tuple[float, float], covariance: float
) -> None:
    top, bottom, z = 0.2, 0.5, normal_quantile(0.95)
    ends = fieller_ends(top, bottom, variances, covariance, 0.025)
    assert ends is not None
    assert ends[0] < top / bottom < ends[1]
    for ratio in ends:
        error = variances[0] - 2 * ratio * covariance + ratio**2 * variances[1]
        assert (top - ratio * bottom) ** 2 == pytest.approx(z**2 * error)


SCATTERED, PEOPLE = 400, 500
"""Studies whose means are compared with their standard errors: the limits are then about 1 +- 0.36 of the
variance.
"""
# --- summaries
# -----------------------------------------------------------------------------------------------------------

MAKERS: dict[str, Callable[[int, float], dn.mechanisms.SetMechanism | dn.metric.MetricMechanism]] = {
    "grr": dn.grr,
    "oue": dn.oue,
    "ss": lambda k, e: dn.ss(k, e, 3),
    "olh": dn.olh,
}


@pytest.mark.parametrize("name", MAKERS)
def test_means_scatter_as_they_say(name: str) -> None:
    """Bias and variance of the mean over studies whose people are drawn anew; hashes have the ideal's errors,
    nearly.
    """
    mechanism, positions = MAKERS[name](8, 1.0), np.array([0.0, 1, 2, 3, 5, 8, 13, 21])
    truth = np.array([0.3, 0.2, 0.15, 0.1, 0.1, 0.05, 0.05, 0.05])
    generator = np.random.default_rng(8)
    values = generator.choice(8, size=(SCATTERED, PEOPLE), p=truth)
    reports = mechanism.privatize(values.reshape(-1), dn.seeded(31))
    found = [
        mean_of(mechanism.estimate(mechanism.tally(part)), positions) for part in np.split(reports, SCATTERED)
    ]
    error = math.sqrt(np.mean([each.stderr**2 for each in found]))
    off = np.array([each.value for each in found]) - truth @ positions
    statistics.deviation(float(off.mean()), 0.0, error / math.sqrt(SCATTERED), f"mean by {name}")
    statistics.spread(float((off**2).sum() / error**2), SCATTERED, f"scatter of means by {name}")
    statistics.at_least(
        sum(each.low <= truth @ positions <= each.high for each in found),
        SCATTERED,
        0.93,
        f"intervals by {name}",
    )


def test_a_wrong_standard_error_would_be_found() -> None:
    """Errors of the shares taken for independent: for direct encoding, whose counts add up to n, they are
    not.
    """
    mechanism, positions = dn.grr(8, 1.0), np.arange(8.0)
    values = np.random.default_rng(8).integers(0, 8, (SCATTERED, PEOPLE))
    reports = mechanism.privatize(values.reshape(-1), dn.seeded(32))
    estimates = [mechanism.estimate(mechanism.tally(part)) for part in np.split(reports, SCATTERED)]
    off = np.array([mean_of(each, positions).value - 3.5 for each in estimates])
    independent = math.sqrt(np.mean([(each.stderr**2 * positions**2).sum() for each in estimates]))
    with pytest.raises(AssertionError, match="of the variance"):
        statistics.spread(float((off**2).sum() / independent**2), SCATTERED, "errors taken for independent")


def test_summaries_of_likelihoods() -> None:
    channel = GeometricChannel(20, 1.0)
    truth = np.exp(-(((np.arange(21) - 7) / 3.0) ** 2) / 2)
    truth /= truth.sum()
    counts = np.random.default_rng(2).multinomial(20_000, channel.output(truth))
    result = mle(channel, dn.Tally(20_000, counts))
    mean, median = mean_of(result, repeats=60), quantile_of(result, 0.5, repeats=60)
    assert mean.low <= truth @ np.arange(21) <= mean.high
    assert 0 < mean.stderr < 0.1
    assert median.low <= 7 <= median.high
    positions = np.arange(21) * 10.0
    assert math.isclose(mean_of(result, positions, repeats=60).value, 10 * mean.value)


def test_summaries_refuse_what_they_do_not_know() -> None:
    estimate = dn.grr(3, 1.0).estimate(dn.Tally(9, np.array([3, 3, 3])))
    cases: tuple[tuple[Callable[[], object], str], ...] = (
        (lambda: mean_of(estimate, [1, 2]), "3 numbers"),
        (lambda: quantile_of(estimate, 0.5, [3, 2, 1]), "ascending"),
        (lambda: quantile_of(estimate, 1.5), "share"),
        (lambda: mean_of(estimate, level=1.0), "confidence"),
    )
    for call, message in cases:
        with pytest.raises(dn.InvalidParameter, match=message):
            call()
