"""Distances against linear programs of another form."""

from __future__ import annotations

import math
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
from deniable_papers.distances import (
    circle_wasserstein,
    cost_wasserstein,
    grid_wasserstein,
    line_wasserstein,
    sliced_wasserstein,
    smoothed_kl,
    total_variation,
    wasserstein,
)

Floats = npt.NDArray[np.float64]
MANY = settings(max_examples=40)


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


def test_what_has_no_shares_is_refused() -> None:
    with pytest.raises(dn.InvalidParameter, match="result that has frequencies, got object"):
        line_wasserstein(object(), [0.5, 0.5])  # type: ignore[arg-type]


def test_distances_take_results() -> None:
    m = dn.metric.geometric(3, 1.0)
    tally = m.tally(m.privatize([0, 1, 2, 3] * 100, dn.seeded(1)))
    truth = [0.25] * 4
    found = dn.mle(m, tally)
    assert line_wasserstein(found, truth) == line_wasserstein(found.frequencies, truth)
    assert total_variation(m.estimate(tally), truth) == pytest.approx(
        np.abs(m.estimate(tally).frequencies - 0.25).sum() / 2
    )
    assert smoothed_kl(found, truth, n=400) == smoothed_kl(found.frequencies, truth, n=400)


HALVES = [0.5, 0.5]


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        (lambda: line_wasserstein(HALVES, HALVES, positions=["a", "b"]), "positions are 2 numbers, got"),
        (lambda: sliced_wasserstein(HALVES, HALVES, positions="ab"), "2 points of two coordinates, got 'ab'"),
        (lambda: sliced_wasserstein(HALVES, HALVES, [(0, 0), (1, 1)], seed=-1), "seed must be an integer"),
        (lambda: cost_wasserstein(HALVES, HALVES, cost="a"), "cost is a table of 2 by 2 distances"),
        (lambda: grid_wasserstein(HALVES, HALVES, shape=2), r"such as \(20, 30\), got 2"),  # type: ignore[arg-type]
        (
            lambda: grid_wasserstein(HALVES, HALVES, shape=(-1, -2)),
            "must be an integer of at least 1, got -1",
        ),
    ],
)
def test_refusals_say_what_was_given(measure: Callable[[], float], message: str) -> None:
    with pytest.raises(dn.InvalidParameter, match=message):
        measure()
