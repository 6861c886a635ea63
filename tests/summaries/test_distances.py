"""Distances against linear programs of another form, and summaries against their own scatter."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.stats import wasserstein_distance

import deniable as dn
from deniable.likelihood import mle
from deniable.metric.line import GeometricChannel
from deniable.summaries import (
    circle_wasserstein,
    cost_wasserstein,
    grid_wasserstein,
    line_wasserstein,
    mean_of,
    quantile_of,
    sliced_wasserstein,
    smoothed_kl,
    total_variation,
)
from deniable.summaries.distances import wasserstein
from tests import statistics

Floats = npt.NDArray[np.float64]
MANY = settings(max_examples=40)
STUDIES, PEOPLE = 400, 500
"""Studies whose means are compared with their standard errors: the limits are then about 1 +- 0.36 of the
variance.
"""
COVERED = 200
"""Studies whose 95 % intervals must hold the truth in at least 90 %."""


def full_program(one: Floats, other: Floats, cost: Floats) -> float:
    """Transport with all k^2 pairs, by its definition."""
    k = one.size
    leaves = np.kron(np.eye(k), np.ones((1, k)))
    arrives = np.kron(np.ones((1, k)), np.eye(k))
    solved = linprog(
        cost.reshape(-1), A_eq=np.vstack([leaves, arrives])[:-1], b_eq=np.concatenate([one, other])[:-1]
    )
    return float(solved.fun)


def two(k: int, seed: int) -> tuple[Floats, Floats]:
    generator = np.random.default_rng(seed)
    return generator.dirichlet(np.full(k, 0.5)), generator.dirichlet(np.full(k, 0.5))


@MANY
@given(st.integers(2, 9), st.integers(0, 2**32))
def test_lines_and_circles_are_transports(k: int, seed: int) -> None:
    one, other = two(k, seed)
    apart = np.abs(np.arange(k)[:, None] - np.arange(k)).astype(np.float64)
    assert math.isclose(
        line_wasserstein(one, other), full_program(one, other, apart), rel_tol=1e-6, abs_tol=1e-9
    )
    assert math.isclose(line_wasserstein(one, other), wasserstein(one, other), rel_tol=1e-12, abs_tol=1e-15)
    around = np.minimum(apart, k - apart)
    assert math.isclose(
        circle_wasserstein(one, other), full_program(one, other, around), rel_tol=1e-6, abs_tol=1e-9
    )
    positions = np.sort(np.random.default_rng(seed).uniform(-5, 5, k))
    by_scipy = wasserstein_distance(positions, positions, one, other)
    assert math.isclose(line_wasserstein(one, other, positions), by_scipy, rel_tol=1e-9, abs_tol=1e-12)
    assert math.isclose(
        cost_wasserstein(one, other, around), circle_wasserstein(one, other), rel_tol=1e-6, abs_tol=1e-9
    )


@pytest.mark.parametrize("shape", [(1, 5), (2, 3), (3, 3), (4, 3)])
def test_grids_are_transports(shape: tuple[int, int]) -> None:
    one, other = two(math.prod(shape), sum(shape))
    cells = np.stack(np.unravel_index(np.arange(one.size), shape), axis=1).astype(np.float64)
    straight = np.linalg.norm(cells[:, None] - cells, axis=2)
    blocks = np.abs(cells[:, None] - cells).sum(axis=2)
    assert math.isclose(grid_wasserstein(one, other, shape), full_program(one, other, straight), rel_tol=1e-6)
    assert math.isclose(
        grid_wasserstein(one, other, shape, "manhattan", 3.0),
        3 * full_program(one, other, blocks),
        rel_tol=1e-6,
    )
    sliced = sliced_wasserstein(one, other, cells)
    assert 0 < sliced <= grid_wasserstein(one, other, shape) * (1 + 1e-9)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_rows_and_columns_have_steps_of_their_own(metric: Literal["euclidean", "manhattan"]) -> None:
    city = dn.Grid(47.60, 6.80, 47.70, 6.95, rows=3, columns=4)
    one, other = two(12, 5)
    apart = np.abs(
        (cells := np.stack(np.unravel_index(np.arange(12), (3, 4)), axis=1) * np.array(city.steps))[:, None]
        - cells
    )
    cost = np.linalg.norm(apart, axis=2) if metric == "euclidean" else apart.sum(axis=2)
    wanted = full_program(one, other, cost)
    assert math.isclose(grid_wasserstein(one, other, (3, 4), metric, city.steps), wanted, rel_tol=1e-6)
    assert math.isclose(grid_wasserstein(one, other, (3, 4), metric, city), wanted, rel_tol=1e-6)
    with pytest.raises(dn.InvalidParameter, match="3 rows and 4 columns"):
        grid_wasserstein(one, other, (4, 3), metric, city)
    for step in ((1.0,), (1.0, -1.0), (1.0, 2.0, 3.0)):
        with pytest.raises(dn.InvalidParameter, match="step"):
            grid_wasserstein(one, other, (3, 4), metric, step)  # type: ignore[arg-type]


def test_what_is_far_from_a_sum_of_one_is_no_distribution() -> None:
    counts, halves = [3, 4], [0.5, 0.5]
    calls: tuple[Callable[[Any], float], ...] = (
        lambda shares: total_variation(shares, halves),
        lambda shares: total_variation(halves, shares),
        lambda shares: line_wasserstein(shares, shares),
        lambda shares: smoothed_kl(shares, halves, 10),
        lambda shares: smoothed_kl(halves, shares, 10),
    )
    for call in calls:
        with pytest.raises(dn.InvalidParameter, match="add up to 1, these to 7; divide counts by their sum"):
            call(counts)
        with pytest.raises(dn.InvalidParameter, match="finite"):
            call([math.nan, 1.0])
    # estimates may be negative, and off a little; a result's are shares, however far they are off
    assert math.isclose(line_wasserstein([-0.1, 1.1], halves), 0.6)
    assert math.isclose(total_variation([0.55, 0.52], halves), 0.035)
    few = dn.oue(50, 0.5).estimate(dn.Tally(20, np.full(50, 12)))
    assert abs(few.frequencies.sum() - 1) > 1
    assert total_variation(few, np.full(50, 0.02)) > 1


def test_equal_shares_are_at_no_distance() -> None:
    one, _ = two(9, 1)
    assert line_wasserstein(one, one) == circle_wasserstein(one, one) == 0.0
    assert grid_wasserstein(one, one, (3, 3)) == 0.0
    assert grid_wasserstein(one, one, (3, 3), "manhattan") == 0.0
    assert abs(smoothed_kl(one, one, 10**9)) < 1e-8


def test_large_grids() -> None:
    one, other = two(900, 3)
    assert grid_wasserstein(one, other, (30, 30), "manhattan") > 0
    with pytest.raises(dn.InvalidParameter, match="sliced_wasserstein"):
        grid_wasserstein(*two(4900, 3), (70, 70))


def test_refusals() -> None:
    cases: tuple[tuple[Callable[[], object], str], ...] = (
        (lambda: line_wasserstein([1, 0], [0.5, 0.4]), "project first"),
        (lambda: line_wasserstein([1, 0], [1, 0, 0]), "same values"),
        (lambda: line_wasserstein([1, 0], [0, 1], [1, 0]), "ascending"),
        (lambda: line_wasserstein([1, 0], [0, 1], [1, 2, 3]), "2 numbers"),
        (lambda: line_wasserstein([math.nan, 0], [0, 1]), "finite"),
        (lambda: circle_wasserstein([1, 0], [0, 1], -1.0), "positive"),
        (lambda: grid_wasserstein([1, 0], [0, 1], (2, 2)), "4 cells"),
        (lambda: grid_wasserstein([1, 0], [0, 1], (1, 2), "chebyshev"), "manhattan"),  # type: ignore[arg-type]
        (lambda: cost_wasserstein([1, 0], [0, 1], [[0, 1]]), "2 by 2"),
        (lambda: sliced_wasserstein([1, 0], [0, 1], [0, 1]), "two coordinates"),
        (lambda: smoothed_kl([1, 0], [1, 0, 0], 5), "same values"),
    )
    for call, message in cases:
        with pytest.raises(dn.InvalidParameter, match=message):
            call()


def test_one_more_report_makes_surprise_finite() -> None:
    assert math.isclose(
        smoothed_kl([1, 0], [0.5, 0.5], 99), 0.5 * math.log(0.5 / 0.995) + 0.5 * math.log(0.5 / 0.005)
    )
    assert smoothed_kl([1.0, 0.0], [0.0, 1.0], 10**6) < 15


# --- summaries
# -----------------------------------------------------------------------------------------------------------

MADE: dict[str, Callable[[int, float], dn.mechanisms.SetMechanism | dn.metric.MetricMechanism]] = {
    "grr": dn.grr,
    "oue": dn.oue,
    "ss": lambda k, e: dn.ss(k, e, 3),
    "olh": dn.olh,
}


@pytest.mark.parametrize("name", MADE)
def test_means_scatter_as_they_say(name: str) -> None:
    """Bias and variance of the mean over studies whose people are drawn anew; hashes have the ideal's errors,
    nearly.
    """
    mechanism, positions = MADE[name](8, 1.0), np.array([0.0, 1, 2, 3, 5, 8, 13, 21])
    truth = np.array([0.3, 0.2, 0.15, 0.1, 0.1, 0.05, 0.05, 0.05])
    generator = np.random.default_rng(8)
    values = generator.choice(8, size=(STUDIES, PEOPLE), p=truth)
    reports = mechanism.privatize(values.reshape(-1), dn.seeded(31))
    found = [
        mean_of(mechanism.estimate(mechanism.tally(part)), positions) for part in np.split(reports, STUDIES)
    ]
    error = math.sqrt(np.mean([each.stderr**2 for each in found]))
    off = np.array([each.value for each in found]) - truth @ positions
    statistics.deviation(float(off.mean()), 0.0, error / math.sqrt(STUDIES), f"mean by {name}")
    statistics.spread(float((off**2).sum() / error**2), STUDIES, f"scatter of means by {name}")
    statistics.at_least(
        sum(each.low <= truth @ positions <= each.high for each in found),
        STUDIES,
        0.93,
        f"intervals by {name}",
    )


def test_a_wrong_standard_error_would_be_found() -> None:
    """Errors of the shares taken for independent: for direct encoding, whose counts add up to n, they are
    not.
    """
    mechanism, positions = dn.grr(8, 1.0), np.arange(8.0)
    values = np.random.default_rng(8).integers(0, 8, (STUDIES, PEOPLE))
    reports = mechanism.privatize(values.reshape(-1), dn.seeded(32))
    estimates = [mechanism.estimate(mechanism.tally(part)) for part in np.split(reports, STUDIES)]
    off = np.array([mean_of(each, positions).value - 3.5 for each in estimates])
    independent = math.sqrt(np.mean([(each.stderr**2 * positions**2).sum() for each in estimates]))
    with pytest.raises(AssertionError, match="of the variance"):
        statistics.spread(float((off**2).sum() / independent**2), STUDIES, "errors taken for independent")


def test_quantiles_of_many_counts_are_quick() -> None:
    """Each of 4,096 cumulative shares has an error of its own: 11 s if each takes a handful of Fourier
    transforms.
    """
    m = dn.metric.geometric(4095, 0.1)
    reports = m.privatize(np.random.default_rng(1).binomial(4095, 0.3, 100_000), dn.seeded(1))
    estimate = m.estimate(m.tally(reports))
    start = time.process_time()
    median = quantile_of(estimate, 0.5)
    assert time.process_time() - start < 4, "0.4 s on two busy cores"
    assert 1200 < median.low <= 0.3 * 4095 + 1 <= median.high < 1260


def test_quantiles_cover() -> None:
    mechanism, truth = dn.oue(20, 1.5), np.full(20, 1 / 20)
    generator = np.random.default_rng(3)
    held = 0
    for study in range(COVERED):
        values = generator.integers(0, 20, 2000)
        tally = mechanism.tally(mechanism.privatize(values, dn.seeded(study)))
        found = quantile_of(mechanism.estimate(tally), 0.52)
        held += int(found.low <= 10 <= found.high)
        assert found.low <= found.value <= found.high
    assert np.searchsorted(np.cumsum(truth), 0.52) == 10
    statistics.at_least(held, COVERED, 0.9, "quantile intervals")


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
