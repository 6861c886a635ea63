"""Locations: distances on the globe, and noise on grids of cells."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.arrays import Floats
from deniable.domain.grid import Grid
from deniable.metric import PlanarGeometric, great_circle, per_meter, planar, planar_geometric
from deniable.metric.globe import EARTH
from deniable.metric.planar import _folded_sums, planar_noise
from deniable.plan import unit_loss
from deniable.randomness import FULL

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


def haversine(here: tuple[float, float], there: Floats) -> Floats:
    """The distance, by another formula than the library's."""
    (a, x), b, y = np.radians(here), *np.radians(there.T)
    h = np.sin((b - a) / 2) ** 2 + np.cos(a) * np.cos(b) * np.sin((y - x) / 2) ** 2
    return np.asarray(2 * EARTH * np.arcsin(np.sqrt(h)))


def test_locations_and_radii_that_are_refused() -> None:
    for wrong in ((91.0, 0.0), (0.0, math.nan), (1.0, 2.0, 3.0), "here"):
        with pytest.raises(dn.InvalidValue, match="latitude"):
            great_circle(wrong, (0.0, 0.0))
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


def test_a_loss_that_is_a_bound_is_shown_as_one() -> None:
    """On 64 x 64 cells all pairs are compared, on 65 x 64 they are not; what is stated is never too small."""
    exact, bounded = planar_geometric((64, 64), 40.0), planar_geometric((65, 64), 40.0)
    assert exact.loss_at(1) < 20.4
    assert repr(exact).startswith("PlanarGeometric(64 x 64 cells: loses 20.2588 per")
    assert repr(bounded).startswith("PlanarGeometric(65 x 64 cells: loses at most 40 per unit of distance, ")
    assert exact.loss_at(1) <= bounded.loss_at(1) <= 40.0
