"""Consistency steps against brute force, and their properties for any estimates."""

from __future__ import annotations

import itertools
import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import optimize

from deniable.estimate import consistency

Floats = npt.NDArray[np.float64]
MANY = settings(max_examples=100)
ESTIMATES = st.integers(2, 8).flatmap(lambda k: arrays(np.float64, k, elements=st.floats(-2, 2)))
KNOWN = np.array([0.2, 0.7, 0.3, -0.2])


def nearest_distribution(frequencies: Floats) -> Floats:
    """All choices of the values that stay positive: on each, subtract the same number; the nearest feasible
    one wins.
    """
    best, distance = np.zeros(0), math.inf
    for members in itertools.product([False, True], repeat=frequencies.size):
        chosen = np.array(members)
        if not chosen.any():
            continue
        found = np.where(chosen, frequencies - (frequencies[chosen].sum() - 1) / chosen.sum(), 0.0)
        away = float(((found - frequencies) ** 2).sum())
        if (found >= -1e-12).all() and away < distance:
            best, distance = found, away
    return best


def nearest_monotone(values: Floats) -> Floats:
    """The minimax formula: at each position, the largest over starts of the least mean over ends."""
    size = values.size

    def mean(start: int, stop: int) -> float:
        return float(values[start : stop + 1].mean())

    return np.array(
        [max(min(mean(i, j) for j in range(at, size)) for i in range(at + 1)) for at in range(size)]
    )


@MANY
@given(ESTIMATES)
@example(KNOWN)
@example(np.array([-1.0, -1.0]))
@example(np.array([0.5, 0.5]))
@example(np.array([2.0, 2.0, -2.0]))
def test_simplex_is_the_nearest_distribution(frequencies: Floats) -> None:
    found = consistency.simplex(frequencies)
    np.testing.assert_allclose(found, nearest_distribution(frequencies), atol=1e-9)
    assert math.isclose(found.sum(), 1.0, rel_tol=1e-9)
    assert (found >= 0).all()
    # the conditions of Karush, Kuhn and Tucker: one multiplier for all that stay, no smaller than what it
    # takes for the rest
    multiplier = (frequencies - found)[found > 0]
    assert np.ptp(multiplier) < 1e-9
    assert (frequencies[found == 0] <= multiplier.min() + 1e-9).all()


def test_simplex_as_a_general_solver_finds_it() -> None:
    rng = np.random.default_rng(1)
    for k in (3, 10, 30):
        frequencies = rng.normal(1 / k, 0.2, k)
        solved = optimize.minimize(
            lambda x, target=frequencies: ((x - target) ** 2).sum(),
            np.full(k, 1 / k),
            jac=lambda x, target=frequencies: 2 * (x - target),
            bounds=[(0, 1)] * k,
            constraints={"type": "eq", "fun": lambda x: x.sum() - 1, "jac": lambda x: np.ones(x.size)},
            options={"ftol": 1e-14},
        )
        np.testing.assert_allclose(consistency.simplex(frequencies), solved.x, atol=1e-5)


@MANY
@given(ESTIMATES, st.floats(-5, 5))
def test_simplex_does_not_see_a_shift_and_keeps_distributions(frequencies: Floats, shift: float) -> None:
    found = consistency.simplex(frequencies)
    np.testing.assert_allclose(consistency.simplex(frequencies + shift), found, atol=1e-9)
    np.testing.assert_allclose(consistency.simplex(found), found, atol=1e-9)


@pytest.mark.parametrize("size", [1e6, 1e12, 1e17, 1e100])
@pytest.mark.parametrize("method", list(consistency.STEPS))
def test_estimates_of_any_size_are_projected(method: str, size: float) -> None:
    """A tiny epsilon on a large domain makes estimates far larger than one; the largest then takes all."""
    found = consistency.project(method, np.array([-size, 2 * size, 0.0]), lambda: np.ones(3))
    assert np.isfinite(found).all()
    if method != "clip":
        np.testing.assert_allclose(found, [0, 1, 0], atol=1e-9)


@MANY
@given(ESTIMATES)
def test_norm_sub_by_its_own_algorithm(frequencies: Floats) -> None:
    """Zero what is negative, share the rest of the difference among the positive ones, and again until all is
    well.
    """
    found = frequencies.copy()
    active = np.ones(found.size, dtype=bool)
    while True:
        moved = np.where(active, frequencies + (1 - frequencies[active].sum()) / active.sum(), 0.0)
        if (moved[active] > 0).all():
            break
        active &= moved > 0
    np.testing.assert_allclose(consistency.STEPS["norm-sub"](found), moved, atol=1e-9)


@MANY
@given(ESTIMATES)
def test_clip_and_norm_mul(frequencies: Floats) -> None:
    clipped = [max(0.0, f) for f in frequencies.tolist()]
    assert consistency.clip(frequencies).tolist() == clipped
    scaled = consistency.norm_mul(frequencies)
    if sum(clipped) > 0:
        np.testing.assert_allclose(scaled, np.array(clipped) / sum(clipped), rtol=1e-9)
    else:
        assert scaled.tolist() == [1 / frequencies.size] * frequencies.size


@MANY
@given(ESTIMATES)
def test_norm_cut_keeps_the_largest(frequencies: Floats) -> None:
    room = 1.0
    expected = np.zeros(frequencies.size)
    for position in sorted(range(frequencies.size), key=lambda i: -frequencies[i]):
        expected[position] = min(max(0.0, frequencies[position]), max(room, 0.0))
        room -= expected[position]
    np.testing.assert_allclose(consistency.norm_cut(frequencies), expected, atol=1e-12)


@MANY
@given(ESTIMATES)
def test_monotone_is_the_nearest_rising_sequence(values: Floats) -> None:
    np.testing.assert_allclose(consistency.monotone(values), nearest_monotone(values), atol=1e-9)


@MANY
@given(ESTIMATES)
def test_isotonic_is_a_distribution_with_the_clipped_rising_sums(frequencies: Floats) -> None:
    found = consistency.isotonic(frequencies)
    assert (found >= 0).all()
    assert math.isclose(found.sum(), 1.0, rel_tol=1e-12)
    ends = range(1, frequencies.size)
    sums = [frequencies[:m].sum() if 2 * m <= frequencies.size else 1 - frequencies[m:].sum() for m in ends]
    np.testing.assert_allclose(
        np.cumsum(found)[:-1], np.clip(nearest_monotone(np.array(sums)), 0, 1), atol=1e-9
    )


@MANY
@given(ESTIMATES.filter(lambda frequencies: frequencies.size % 2 == 1))
def test_isotonic_is_the_same_from_both_ends(frequencies: Floats) -> None:
    mirrored = consistency.isotonic(frequencies[::-1])[::-1]
    np.testing.assert_allclose(consistency.isotonic(frequencies), mirrored, atol=1e-9)


def test_isotonic_takes_sums_from_the_nearer_end() -> None:
    """From the left alone, the last share would have taken up the errors of all others: (.5, .45, .05)."""
    np.testing.assert_allclose(
        consistency.isotonic(np.array([0.5, 0.45, 0.25])), [0.5, 0.25, 0.25], atol=1e-12
    )


@MANY
@given(ESTIMATES, st.floats(0.01, 0.5))
def test_base_cut_keeps_what_is_surely_above_zero_as_it_is(frequencies: Floats, error: float) -> None:
    found = consistency.base_cut(frequencies, frequencies - error)
    assert found.tolist() == [share if share > error else 0 for share in frequencies.tolist()]


def test_known_vectors() -> None:
    """Estimates from reports with shares (.4, .3, .2, .1), as the likelihood notes work them out by hand."""
    np.testing.assert_allclose(consistency.simplex(KNOWN), [2 / 15, 19 / 30, 7 / 30, 0], atol=1e-12)
    np.testing.assert_allclose(consistency.isotonic(KNOWN), [0.2, 0.7, 0.1, 0], atol=1e-12)
    np.testing.assert_allclose(consistency.norm_cut(KNOWN), [0, 0.7, 0.3, 0], atol=1e-12)
    np.testing.assert_allclose(consistency.norm_mul(KNOWN), [1 / 6, 7 / 12, 1 / 4, 0], atol=1e-12)
    np.testing.assert_allclose(consistency.clip(KNOWN), [0.2, 0.7, 0.3, 0])
    np.testing.assert_allclose(consistency.base_cut(KNOWN, KNOWN - 0.25), [0, 0.7, 0.3, 0])


@pytest.mark.parametrize("method", list(consistency.STEPS))
def test_steps_leave_their_input_alone(method: str) -> None:
    frequencies = KNOWN.copy()
    consistency.project(method, frequencies, lambda: np.ones(4))
    assert frequencies.tolist() == KNOWN.tolist()
