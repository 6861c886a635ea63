"""Noisy gradients: each window is clipped, noise is added, none is cut off, and the accountant is right."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import jax
import numpy as np
import pytest
from tests import statistics

import deniable as dn
from deniable.errors import InvalidParameter
from deniable_papers.learn import GradientNoise, deep
from deniable_papers.learn.gradients import gaussian_epsilon
from deniable_papers.learn.network import make_network

NOISE = GradientNoise(multiplier=2.0, clip=0.1)


@pytest.fixture(scope="module")
def counts() -> np.ndarray:
    hours = np.arange(90)[:, None]
    draw = np.random.default_rng(1)
    return np.asarray(500 + 100 * np.sin(2 * np.pi * hours / 24 + np.arange(2)) + draw.normal(0, 10, (90, 2)))


SCALE = deep.SeriesScale.of([500.0] * 2, [100.0] * 2, [30.0] * 2)


@pytest.fixture(scope="module")
def add_up(counts: np.ndarray) -> Callable[[list[float], float], np.ndarray]:
    """Sums of clipped gradients of four windows, whose targets are far off, so that every one is clipped."""
    parameters = make_network(dn.seeded(9), 2, 3)
    windows, targets = deep._cut_windows(counts, SCALE, 4)
    compiled = jax.jit(deep.clipped_sum)

    def add(mask: list[float], clip: float) -> np.ndarray:
        found = compiled(parameters, windows[:4], 100 * targets[:4], np.array(mask), clip)
        return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(found)])

    return add


def test_each_window_is_clipped(add_up: Callable[[list[float], float], np.ndarray]) -> None:
    """One window has the norm of the clip, a masked one adds nothing, and what is not clipped is found."""
    for window in range(4):
        mask = [float(place == window) for place in range(4)]
        assert np.linalg.norm(add_up(mask, NOISE.clip)) == pytest.approx(NOISE.clip, rel=1e-3)
    assert np.linalg.norm(add_up([1.0] * 4, NOISE.clip)) <= 4 * NOISE.clip * 1.001
    assert not add_up([0.0] * 4, NOISE.clip).any()
    assert np.linalg.norm(add_up([1.0, 0.0, 0.0, 0.0], 1e6)) > 100 * NOISE.clip


def test_noise_is_added_and_its_lack_is_found() -> None:
    parameters = make_network(dn.seeded(9), 2, 8)

    def standardized(noise: GradientNoise) -> np.ndarray:
        drawn = jax.tree.leaves(deep.draw_noise(parameters, noise, dn.seeded(4)))
        return np.concatenate([np.ravel(leaf) for leaf in drawn]) / (NOISE.multiplier * NOISE.clip)

    right, silent = standardized(NOISE), standardized(GradientNoise(1e-9, NOISE.clip))
    assert right.size > 500
    statistics.spread(float((right**2).sum()), right.size, "noise of gradients")
    with pytest.raises(AssertionError, match="of the variance"):
        statistics.spread(float((silent**2).sum()), silent.size, "noise of gradients")


def test_batches_are_drawn_window_by_window_and_never_cut_off() -> None:
    rows, batch, steps = 200, 20, 400
    masks = [(chosen, mask) for chosen, mask in deep.draw_batches(rows, batch, steps, dn.seeded(2))]
    sizes = np.array([mask.sum() for _, mask in masks])
    assert {mask.size for _, mask in masks} == {int(sizes.max())}
    chance = batch / rows
    error = math.sqrt(rows * chance * (1 - chance) / steps)
    statistics.deviation(float(sizes.mean()), batch, error, "sizes of batches")
    squares = float(((sizes - batch) ** 2).sum() / (rows * chance * (1 - chance)))
    statistics.spread(squares, steps, "sizes of batches")
    truncated = float(np.minimum(sizes, batch).mean())
    with pytest.raises(
        AssertionError, match="standard errors off"
    ):  # a batch that is cut to its expected size
        statistics.deviation(truncated, batch, error, "sizes of batches")


def test_a_tiny_network_learns_and_says_whom_it_protects(counts: np.ndarray) -> None:
    """With hardly any noise it learns; with much, what it forecasts is noise."""
    asked = {"scale": SCALE, "lags": 4, "hidden": 4, "batch": 8, "epochs": 8, "rate": 0.02}

    def train(multiplier: float) -> tuple[deep.NetworkForecast, float]:
        noise = GradientNoise(multiplier, 1.0)
        made = deep.NetworkForecast.fit(counts[:70], noise=noise, words=dn.seeded(1), **asked)  # type: ignore[arg-type]
        return made, float(((made.predict(counts, start=70) - counts[70:]) ** 2).mean())

    made, error = train(1e-3)
    persistence = float((np.diff(counts, axis=0)[69:] ** 2).mean())
    assert error < 0.8 * persistence
    assert train(1000.0)[1] > 1.2 * error
    assert "a window, not a person" in repr(made)
    assert (made.rows, made.steps) == (66, 64)
    with pytest.raises(InvalidParameter, match="public scale"):
        deep.NetworkForecast.fit(counts[:70], noise=NOISE)
    plain = replace(made, noise=None)
    with pytest.raises(InvalidParameter, match="has no epsilon"):
        plain.epsilon()


def test_the_accountant_agrees_with_formulas() -> None:
    """Where every window is in every batch, and where a few are drawn, which protects more."""
    noise = GradientNoise(20.0, 1.0)
    whole = noise.window_epsilon(rows=100, batch=100, steps=25)
    assert whole == pytest.approx(gaussian_epsilon(5 / 20, 1e-7), rel=0.01)
    assert noise.ordered_epsilon(25) == gaussian_epsilon(5 / 20, 1e-7)
    assert noise.window_epsilon(rows=100, batch=10, steps=25) < 0.3 * whole
    assert noise.person_epsilon(batch=10, steps=25) > 10 * whole


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: GradientNoise(0.0, 1.0), "multiplier must be a positive number"),
        (lambda: GradientNoise(1.0, -1.0), "clip must be a positive number"),
        (lambda: NOISE.window_epsilon(10, 20, 1), "batch must be an integer from 1 to 10"),
        (lambda: deep.SeriesScale.of([1.0], [0.0], [1.0]), "spreads and changes are positive"),
        (lambda: deep.SeriesScale.of([1.0, 2.0], [1.0], [1.0]), "a number for each series"),
    ],
)
def test_what_protects_nobody_is_refused(make: object, problem: str) -> None:
    with pytest.raises(InvalidParameter, match=problem):
        make()  # type: ignore[operator]
