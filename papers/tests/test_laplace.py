"""Planar Laplace noise on the globe, by Kolmogorov and Smirnov, and what may be done after a report."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats
from tests import statistics
from tests.metric.test_planar import HERE, haversine

import deniable as dn
from deniable.arrays import Floats
from deniable.errors import NotExact
from deniable.metric import MetricMechanism, geometric, great_circle, per_meter
from deniable_papers.mechanisms import exponential, optimal_remap, planar_laplace, remap_to
from deniable_papers.mechanisms.laplace import destination

POINTS = 100_000
"""Locations for one comparison by Kolmogorov and Smirnov, which is wrong once in 1 / statistics.ALPHA."""
EPSILON = 0.01

Privatize = Callable[[Floats, dn.randomness.Words], Floats]


def bearing(here: tuple[float, float], there: Floats) -> Floats:
    """The direction of the first step of the great circle, from the textbook."""
    (a, x), b, y = np.radians(here), *np.radians(there.T)
    return np.asarray(
        np.arctan2(np.sin(y - x) * np.cos(b), np.cos(a) * np.sin(b) - np.sin(a) * np.cos(b) * np.cos(y - x))
    )


def check_noise(privatize: Privatize, here: tuple[float, float]) -> None:
    there = privatize(np.tile(here, (POINTS, 1)), dn.seeded(3))
    assert (np.abs(there[:, 0]) <= 90).all()
    assert (np.abs(there[:, 1]) <= 180).all()
    radius, angle = haversine(here, there), bearing(here, there)
    for sample, law, what in (
        (radius, stats.gamma(2, scale=1 / EPSILON), "radius"),
        (angle, stats.uniform(-np.pi, 2 * np.pi), "direction"),
        (radius * np.cos(angle), None, "north and south"),
        (radius * np.sin(angle), None, "east and west"),
    ):
        if law is None:  # both marginals have the same law: mean square 3 / epsilon^2
            squares = sample**2
            error = float(squares.std()) / math.sqrt(POINTS)
            statistics.deviation(float(squares.mean()), 3 / EPSILON**2, error, f"spread {what} at {here}")
        else:
            chance = float(stats.kstest(sample, law.cdf).pvalue)
            assert chance >= statistics.ALPHA, (
                f"{what} at {here}: chance does this with probability {chance:.0e}"
            )


@pytest.mark.parametrize("here", HERE)
def test_radius_and_direction(here: tuple[float, float]) -> None:
    check_noise(planar_laplace(EPSILON).privatize, here)


def flat_earth(locations: Floats, words: dn.randomness.Words) -> Floats:
    """The planted fault, of a peer: the step north is stretched as the one east must be."""
    good = planar_laplace(EPSILON).privatize(locations, words)
    stretched = locations[:, 0] + (good[:, 0] - locations[:, 0]) / np.cos(np.radians(locations[:, 0]))
    return np.stack([stretched, good[:, 1]], axis=1)


def no_cosine(locations: Floats, words: dn.randomness.Words) -> Floats:
    """Another: a degree east is taken for as long as one north."""
    good = planar_laplace(EPSILON).privatize(locations, words)
    return np.stack(
        [good[:, 0], locations[:, 1] + (good[:, 1] - locations[:, 1]) * np.cos(np.radians(locations[:, 0]))],
        axis=1,
    )


def exponential_radius(locations: Floats, words: dn.randomness.Words) -> Floats:
    """Another: a radius with the density e^(-epsilon r), without the factor r of a plane."""
    uniform = (words.take(2 * len(locations)).reshape(-1, 2) >> np.uint64(12)) * 2.0**-52 + 1e-17
    return destination(locations, -2 * np.log(uniform[:, 0]) / EPSILON, 2 * np.pi * uniform[:, 1])


@pytest.mark.parametrize("fault", [flat_earth, no_cosine, exponential_radius])
def test_planted_faults_are_found(fault: Privatize) -> None:
    with pytest.raises(AssertionError, match=r"at \(47.64, 6.86\)"):
        check_noise(fault, (47.64, 6.86))


def test_far_noise_over_the_pole() -> None:
    """Distances of hundreds of kilometers from next to the pole, where longitudes mean nothing."""
    for here in ((89.9, 0.0), (-90.0, 50.0)):
        there = planar_laplace(1e-5).privatize(np.tile(here, (POINTS, 1)), dn.seeded(5))
        chance = stats.kstest(great_circle(here, there), stats.gamma(2, scale=1e5).cdf).pvalue
        assert chance >= statistics.ALPHA
        assert (np.abs(there[:, 0]) < 90).all()


def test_one_location_and_many() -> None:
    m = planar_laplace(epsilon=per_meter(level=2.0, radius=200))
    assert (
        repr(planar_laplace(0.0019999999999999996)) == "PlanarLaplace(epsilon=0.002)"
    )  # the number itself is kept
    one = m.privatize((47.64, 6.86), dn.seeded(1))
    assert one.shape == (2,)
    many = m.privatize([(47.64, 6.86)] * 3, dn.seeded(1))
    assert many.shape == (3, 2)
    assert one.tolist() == many[0].tolist()
    assert m.privatize((47.64, 6.86)).shape == (2,)
    assert math.isclose(m.mean_distance, 200)
    assert round(m.within(0.95) * m.epsilon, 2) == 4.74


def test_floats_have_no_exact_loss() -> None:
    with pytest.raises(NotExact, match="no exact loss; use planar_geometric"):
        planar_laplace(0.01).loss()
    assert str(planar_laplace(0.01)) == (
        "Planar Laplace noise: a location moves 200 m on average, no exact loss (epsilon 0.01 per meter)"
    )
    for wrong in ((91.0, 0.0), (45, 400), (0.0, math.nan), (1.0, 2.0, 3.0), "here"):
        with pytest.raises(dn.InvalidValue, match="latitude"):
            planar_laplace(0.01).privatize(wrong)
    with pytest.raises(dn.InvalidValue, match="masked: leave them"):
        planar_laplace(0.1).privatize(np.ma.masked_equal([[1.0, 2.0]], 2))


# After the report.


def test_nearest_admissible_location() -> None:
    rng = np.random.default_rng(1)
    locations = rng.uniform((-80, -180), (80, 180), size=(50, 2))
    points = rng.uniform((-90, -180), (90, 180), size=(300, 2))
    nearest = [int(great_circle(point, locations).argmin()) for point in points]
    assert remap_to(locations)(points).tolist() == nearest
    assert remap_to([(0.0, 179.0), (0.0, 170.0)])((0.0, -179.5)) == 0
    with pytest.raises(dn.InvalidParameter, match="at least one"):
        remap_to((1.0, 2.0))


@pytest.mark.parametrize("channel", [geometric(6, 0.4), exponential(lambda x, y: abs(x - y), 0.7, 7)])
def test_optimal_remap_is_the_best_of_all(channel: MetricMechanism) -> None:
    prior = np.random.default_rng(6).dirichlet(np.full(7, 0.5))
    matrix = channel.law.matrix()
    harm = np.abs(np.arange(7)[:, None] - np.arange(7)) ** 1.5
    found = optimal_remap(channel, prior, harm)
    for y in range(7):
        costs = [(prior * matrix[:, y] * harm[:, z]).sum() for z in range(7)]
        assert costs[found[y]] == pytest.approx(min(costs))
    assert optimal_remap(channel.law, prior).tolist() == (prior[:, None] * matrix).argmax(axis=0).tolist()
    assert optimal_remap(channel.law.exact(), prior).tolist() == optimal_remap(matrix, prior, "mode").tolist()


def test_mean_and_median_of_the_posterior() -> None:
    rng = np.random.default_rng(7)
    points = rng.random((8, 2)) * 10
    apart = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
    m = exponential(apart, 0.5)
    prior = rng.dirichlet(np.ones(8))
    posterior = prior[:, None] * m.law.matrix()
    means, medians = (optimal_remap(m, prior, goal, points) for goal in ("mean", "median"))
    for y in range(8):
        weights = posterior[:, y] / posterior[:, y].sum()
        np.testing.assert_allclose(means[y], weights @ points)
        best = weights @ np.linalg.norm(points - medians[y], axis=1)
        for nudge in rng.normal(size=(200, 2)) * [0.3, 0.3]:
            assert weights @ np.linalg.norm(points - medians[y] - nudge, axis=1) >= best - 1e-9
        assert (weights @ apart >= best - 1e-9).all()


def test_an_output_that_nobody_sends_gets_what_is_best_for_the_prior() -> None:
    """The third output says nothing: not 0 / 0, and not the first value either."""
    channel = np.array([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]])
    prior, points = [1, 3], [0.0, 1.0]
    assert optimal_remap(channel, prior).tolist() == [1, 1, 1]
    assert optimal_remap(channel, prior, [[0, 1], [1, 0]]).tolist() == [1, 1, 1]
    assert optimal_remap(channel, prior, "mean", points).tolist() == [[0.75], [0.75], [0.75]]
    assert optimal_remap(channel, prior, "median", points).tolist() == [[1.0], [1.0], [1.0]]
    assert optimal_remap(channel, [1, 1], "median", points).tolist() == [[0.0], [0.0], [0.0]]
    unseen = optimal_remap(
        np.array([[1.0, 0.0], [0.0, 1.0]]), [1, 0], "median", points
    )  # only who is not there sends it
    assert unseen.tolist() == [[0.0], [0.0]]


def test_remaps_that_are_refused() -> None:
    channel = np.full((3, 3), 1 / 3)
    with pytest.raises(dn.InvalidParameter, match="points"):
        optimal_remap(channel, [1, 1, 1], "mean")
    with pytest.raises(dn.InvalidParameter, match="mode, mean, median"):
        optimal_remap(channel, [1, 1, 1], "average")
    with pytest.raises(dn.InvalidParameter, match="row of probabilities"):
        optimal_remap(channel * 2, [1, 1, 1])
    with pytest.raises(dn.InvalidParameter, match="a row for each"):
        optimal_remap(channel, [1, 1, 1], [[0.0]])
    with pytest.raises(dn.InvalidParameter, match="or a table of numbers with a row for each"):
        optimal_remap(channel, [1, 1, 1], [["a"], ["b"], ["c"]])
    with pytest.raises(dn.InvalidParameter, match="a prior is 3 non-negative weights"):
        optimal_remap(channel, "ab")
    with pytest.raises(dn.InvalidParameter, match=r"of the 3 values, .* shape \(2,\)"):
        optimal_remap(channel, [1, 1, 1], "mean", points=[1, 2])
    with pytest.raises(dn.InvalidParameter, match="all must be finite"):
        optimal_remap(channel, [1, 1, 1], "median", points=[1, 2, np.nan])
