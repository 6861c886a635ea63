"""Shares of classes are drawn to the prior by their noise, and rare values are damped."""

from __future__ import annotations

import numpy as np
import pytest

from deniable.arrays import Floats
from deniable.learn.bayes import shrink_margin
from deniable.learn.margins import Margin


def shrink_two(f1: Floats, f0: Floats, variance: float, pi: float, prior: Floats) -> list[Floats]:
    """Two classes, as they are specified."""
    d = f1 - f0
    w = max(0.0, 1 - d.size * variance / float(d @ d))
    found = np.maximum(prior + (1 - pi) * w * d, 0.05 * prior), np.maximum(prior - pi * w * d, 0.05 * prior)
    return [one / one.sum() for one in found]


def test_two_classes_shrink_as_specified() -> None:
    draw = np.random.default_rng(10)
    for _ in range(50):
        k, pi = int(draw.integers(2, 9)), float(draw.uniform(0.1, 0.9))
        prior, f1, f0 = draw.dirichlet(np.ones(k), 3)
        noise = draw.uniform(0, 0.01, 2)
        margin = Margin(np.stack([f1, f0]), np.repeat(noise[:, None], k, axis=1), np.ones(2))
        found = shrink_margin(margin, np.array([pi, 1 - pi]), prior)
        np.testing.assert_allclose(found, shrink_two(f1, f0, noise.sum(), pi, prior), atol=1e-8)


def test_noise_alone_moves_nothing_and_classes_without_reports_have_the_prior() -> None:
    shares = np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5], [1 / 3, 1 / 3, 1 / 3]])
    prior, classes = np.array([0.6, 0.3, 0.1]), np.array([0.4, 0.5, 0.1])
    quiet = shrink_margin(Margin(shares, np.full((3, 3), 9.0), np.ones(3)), classes, prior)
    np.testing.assert_allclose(quiet, np.tile(prior, (3, 1)))
    some = shrink_margin(Margin(shares, np.zeros((3, 3)), np.array([1.0, 1.0, 0.0])), classes, prior)
    np.testing.assert_allclose(some[2], prior)
    assert some[0, 0] > some[1, 0]
    np.testing.assert_allclose(some.sum(axis=1), 1.0)


def test_rare_values_are_damped() -> None:
    """Two values with the same ratio of shares: that of the rare one, which is mostly noise, counts less."""
    shares = np.array([[0.60, 0.02, 0.38], [0.30, 0.01, 0.69]])
    margin = Margin(shares, np.full((2, 3), 0.0004), np.ones(2))
    half = np.array([0.5, 0.5])
    plain, damped = (shrink_margin(margin, half, shares.mean(axis=0), damp) for damp in (0.0, 0.5))
    ratios = [np.log(one[0] / one[1]) for one in (plain, damped)]
    assert ratios[0][0] == pytest.approx(ratios[0][1], rel=0.01)
    assert 0 < ratios[1][1] < 0.75 * ratios[1][0]
    assert ratios[1][0] > 0.9 * ratios[0][0]
