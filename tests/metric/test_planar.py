"""Locations: noise on the globe by Kolmogorov and Smirnov, grids of cells, and what may be done after the
report.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.arrays import Floats
from deniable.domain.grid import Grid
from deniable.errors import NotExact
from deniable.metric import (
    MetricMechanism,
    PlanarGeometric,
    exponential,
    geometric,
    great_circle,
    optimal_remap,
    per_meter,
    planar,
    planar_geometric,
    planar_laplace,
    remap_to,
)
from deniable.metric.globe import EARTH
from deniable.metric.planar import _folded_sums, planar_noise
from deniable.plan import unit_loss
from deniable.randomness import FULL
from tests import statistics

POINTS = 100_000
"""Locations for one comparison by Kolmogorov and Smirnov, which is wrong once in 1 / statistics.ALPHA."""
HERE = [
    (0.0, 0.0),
    (47.64, 6.86),
    (-33.9, 151.2),
    (85.0, 40.0),
    (10.0, 179.99999),
    (-60.0, -179.99999),
    (89.99, 12.0),
]
"""The equator, middle latitudes, near a pole, and next to the antimeridian on both sides."""
EPSILON = 0.01

Privatize = Callable[[Floats, dn.randomness.Words], Floats]


# Planar Laplace.


def bearing(here: tuple[float, float], there: Floats) -> Floats:
    """The direction of the first step of the great circle, from the textbook."""
    (a, x), b, y = np.radians(here), *np.radians(there.T)
    return np.asarray(
        np.arctan2(np.sin(y - x) * np.cos(b), np.cos(a) * np.sin(b) - np.sin(a) * np.cos(b) * np.cos(y - x))
    )


def haversine(here: tuple[float, float], there: Floats) -> Floats:
    """The distance, by another formula than the library's."""
    (a, x), b, y = np.radians(here), *np.radians(there.T)
    h = np.sin((b - a) / 2) ** 2 + np.cos(a) * np.cos(b) * np.sin((y - x) / 2) ** 2
    return np.asarray(2 * EARTH * np.arcsin(np.sqrt(h)))


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
    from deniable.metric.globe import destination

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
    for wrong in ((91.0, 0.0), (0.0, math.nan), (1.0, 2.0, 3.0), "here"):
        with pytest.raises(dn.InvalidValue, match="latitude"):
            planar_laplace(0.01).privatize(wrong)
    with pytest.raises(dn.InvalidParameter, match="radius"):
        per_meter(1.0, 0.0)


def test_a_small_grid_states_its_rate_per_kilometer() -> None:
    """All of it is within 300 m, so that no two cells lose what is stated; but 100 m lose a tenth of it."""
    house = Grid(south=47.600, west=6.800, north=47.602, east=6.802, rows=3, columns=3)
    made = planar_geometric(house, 0.01)
    assert isinstance(made, PlanarGeometric)
    part = PlanarGeometric(
        made.noise, (made.steps[0] * 1000, made.steps[1] * 1000)
    )  # in millimeters, as in a plan
    stated = unit_loss(part, "home")
    assert stated is not None
    assert math.isclose(stated.loss, 10.0, rel_tol=1e-3)
    assert stated.loss > part.loss(), "a rate, not the loss of two of its cells"


def test_epsilon_per_meter_is_rounded_down() -> None:
    """So that what is lost within the radius is never more than the level."""
    for level, radius in ((2.0, 200.0), (1.0, 500.0), (1.0, 3.0), (0.7, 1500.0), (2.0, 256.0)):
        exact = Fraction(level) / Fraction(radius)
        found = per_meter(level, radius)
        assert Fraction(found) <= exact < Fraction(math.nextafter(found, math.inf))


def test_distances_on_the_globe() -> None:
    locations = np.random.default_rng(2).uniform((-90, -180), (90, 180), size=(500, 2))
    for here in HERE:
        np.testing.assert_allclose(great_circle(here, locations), haversine(here, locations), rtol=1e-6)
    assert great_circle((10, 20), (10, 20)) == 0
    assert math.isclose(float(great_circle((90, 0), (-90, 77))), math.pi * EARTH, rel_tol=1e-12)


# Grids of cells.

CITY = Grid(south=47.60, west=6.80, north=47.70, east=6.95, rows=20, columns=25)
FIJI = Grid(south=-19.0, west=177.0, north=-16.0, east=-179.0, rows=12, columns=16)


@pytest.mark.parametrize("grid", [CITY, FIJI])
def test_cells_and_their_centers(grid: Grid) -> None:
    assert grid.k == len(grid.labels) == len(set(grid.labels)) == len(grid.centers)
    assert grid.encode(grid.centers).tolist() == list(range(grid.k))
    assert grid.decode([0]) == [grid.labels[0]]
    assert grid.encode(list(map(tuple, grid.centers[:3]))).tolist() == [0, 1, 2]
    corners = [(grid.south, grid.west), (grid.north, grid.east)]
    assert grid.encode(corners).tolist() == [0, grid.k - 1]
    assert grid.codes([None, grid.centers[5], (np.nan, 1.0)]).tolist() == [-1, 5, -1]
    assert grid.encode([]).size == 0


def test_cells_across_the_antimeridian() -> None:
    assert FIJI.encode([(-17.6, 179.99), (-17.6, -179.99)]).tolist() == [5 * 16 + 11, 5 * 16 + 12]
    assert "E to" in FIJI.labels[11] or "W" in FIJI.labels[12]
    assert (np.abs(FIJI.centers[:, 1]) <= 180).all()


@pytest.mark.parametrize(
    "location", [(47.59, 6.9), (47.71, 6.9), (47.65, 6.79), (47.65, 6.96), (95.0, 6.9), (47.65, 1e6)]
)
def test_locations_outside_are_refused(location: tuple[float, float]) -> None:
    with pytest.raises(dn.InvalidValue, match="is not in the box of 'home'"):
        CITY.encode([location], "home")


@pytest.mark.parametrize(
    "grid",
    [
        CITY,
        FIJI,
        Grid(60.0, 5.0, 70.0, 30.0, 30, 30),
        Grid(-5.0, -20.0, 30.0, 60.0, 40, 40),
        Grid(80, 0, 89, 170, 9, 9),
    ],
)
def test_distances_are_not_overstated(grid: Grid) -> None:
    """Between cells the grid's distance is at most the true one, so that meters mean meters."""
    pairs = np.random.default_rng(4).integers(0, grid.k, size=(4000, 2))
    (r, c), (s, d) = np.divmod(pairs[:, 0], grid.columns), np.divmod(pairs[:, 1], grid.columns)
    stated = np.hypot((r - s) * grid.steps[0], (c - d) * grid.steps[1])
    true = great_circle(grid.centers[pairs[:, 0]], grid.centers[pairs[:, 1]])
    assert (stated <= true * (1 + 1e-9) + 1e-6).all(), (
        f"overstated by {np.max(stated / np.maximum(true, 1e-9)) - 1:.1e}"
    )


def test_grid_in_meters() -> None:
    """A cell's neighbors and far cells lose what their distance in meters says."""
    epsilon = per_meter(level=1.0, radius=2000)
    m = planar_geometric(CITY, epsilon)
    assert m.k == CITY.k
    assert 0 <= epsilon - m.loss_at(1) < 1e-9
    assert m.loss_at(2000) <= 1.0 + 1e-12
    reports = m.privatize(CITY.encode([(47.65, 6.88)] * 1000), dn.seeded(1))
    moved = great_circle((47.65, 6.88), CITY.centers[reports])
    assert 1500 < moved.mean() < 4500


def test_grids_that_are_refused() -> None:
    for wrong in (
        {"south": 48.0},
        {"north": 91.0},
        {"rows": 1},
        {"columns": 5000},
        {"east": 6.80},
        {"east": 6.70},
        {"west": math.nan},
        {"south": -90.0},
    ):
        numbers = {"south": 47.60, "west": 6.80, "north": 47.70, "east": 6.95, "rows": 20, "columns": 25}
        with pytest.raises(dn.InvalidParameter):
            Grid(**(numbers | wrong))
    for values in ("here", [1.0, 2.0], [("a", "b")], 3):
        with pytest.raises(dn.InvalidValue, match="latitude and longitude"):
            CITY.encode(values)


@pytest.mark.parametrize(
    ("rows", "columns", "steps", "rate"),
    [(2, 3, (1.0, 1.0), 0.3), (5, 40, (1.0, 3.0), 0.05), (50, 9, (0.5, 2.0), 0.1)],
)
def test_noise_beyond_the_grid_is_summed_whole(
    rows: int, columns: int, steps: tuple[float, float], rate: float
) -> None:
    """Beside the plain sum over all displacements there are; a table whose sum misses a few far rows is seen
    to differ.
    """
    far = [math.ceil(56 / (rate * step)) for step in steps]
    terms = np.exp(-rate * np.hypot(*np.ix_(steps[0] * np.arange(far[0]), steps[1] * np.arange(far[1]))))
    for lost, same in ((0, True), (far[0] // 4, False)):
        part = terms[: far[0] - lost] if same else np.delete(terms, slice(rows, rows + lost), axis=0)
        plain = part[:rows, :columns].copy()
        plain[-1, :-1] = part[rows - 1 :, : columns - 1].sum(axis=0)
        plain[:-1, -1] = part[: rows - 1, columns - 1 :].sum(axis=1)
        plain[-1, -1] = part[rows - 1 :, columns - 1 :].sum()
        found = _folded_sums(rows, columns, steps, rate)
        assert bool((np.abs(found - plain) <= 1e-12 * plain + 1e-20).all()) is same


@pytest.mark.parametrize(
    ("grid", "epsilon"), [((2, 2), 1e-4), ((10, 10), 1e-4), ((30, 20), 2e-3), ((200, 200), 0.01)]
)
def test_low_rates_are_kept(grid: tuple[int, int], epsilon: float) -> None:
    """Where noise goes over tens of thousands of cells, and the word for staying is one of the smallest."""
    assert 0.9 * epsilon < planar_geometric(grid, epsilon).loss_at(1) <= epsilon


@pytest.mark.parametrize(("error", "same"), [(2.0**-50, True), (2.0**-30, False)])
def test_the_last_digits_of_floats_do_not_change_the_words(
    error: float, same: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They differ from one processor to the next; the same study must have the same plan."""
    rng = np.random.default_rng(1)
    kinds: list[tuple[int, int, tuple[float, float], float]] = [
        (3, 4, (300.0, 400.0), 0.002),
        (9, 9, (1.0, 1.0), 3.0),
    ]
    words = [planar_noise(*kind) for kind in kinds]

    def elsewhere(*kind: Any) -> Floats:
        sums = _folded_sums(*kind)
        return np.asarray(sums * (1 + error * rng.uniform(-1, 1, size=sums.shape)))

    monkeypatch.setattr(planar, "_folded_sums", elsewhere)
    assert (
        all(np.array_equal(planar_noise(*kind), made) for kind, made in zip(kinds, words, strict=True))
        is same
    )


def test_no_word_takes_more_than_rounding_may_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planar, "_exact_total", lambda _: FULL - 2**40)
    with pytest.raises(dn.InvalidParameter, match="too fine for a table"):
        planar_geometric((3, 4), 1.0)


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


def test_a_loss_that_is_a_bound_is_shown_as_one() -> None:
    """On 64 x 64 cells all pairs are compared, on 65 x 64 they are not; what is stated is never too small."""
    exact, bounded = planar_geometric((64, 64), 40.0), planar_geometric((65, 64), 40.0)
    assert exact.loss_at(1) < 20.4
    assert repr(exact).startswith("PlanarGeometric(64 x 64 cells: loses 20.2588 per")
    assert repr(bounded).startswith("PlanarGeometric(65 x 64 cells: loses at most 40 per unit of distance, ")
    assert exact.loss_at(1) <= bounded.loss_at(1) <= 40.0


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
