"""Places are sanitized with an exact loss, and features are made from the points that they are given."""

from __future__ import annotations

import math

import numpy as np
import pytest

import deniable as dn
from deniable.errors import InvalidParameter, InvalidValue
from deniable_papers.learn import PlaceFeatures, privatize_places, remap_places
from deniable_papers.learn.places import NAMES
from deniable_papers.mechanisms import planar_laplace

COUNTY = dn.Grid(south=40.0, west=-75.7, north=40.4, east=-75.0, rows=20, columns=25)
DRAW = np.random.default_rng(3)
HISTORY = np.column_stack([DRAW.normal(40.2, 0.02, 400), DRAW.normal(-75.4, 0.02, 400)])
STATIONS = [(40.1, -75.3), (40.2, -75.4), (40.3, -75.5)]


def test_features_are_distances_as_on_the_globe() -> None:
    facts = PlaceFeatures(STATIONS, HISTORY, np.zeros(400, dtype=np.int64), radius=1000)
    points = np.array([(40.21, -75.41), (40.12, -75.31)])
    found = dict(zip(NAMES, facts.compute(points).T, strict=True))
    gaps = np.array([dn.metric.great_circle(points, station) for station in STATIONS]) / 1000
    nearest = np.sort(gaps, axis=0)
    assert found["station"].tolist() == gaps.argmin(axis=0).tolist()
    assert found["nearest station"] == pytest.approx(nearest[0], rel=2e-3)
    assert found["second station"] == pytest.approx(nearest[1], rel=2e-3)
    near = [(dn.metric.great_circle(HISTORY, point) < 1000).sum() for point in points]
    assert np.abs(found["density"] - near).max() <= 2


def test_noise_has_an_exact_loss_that_counts_a_cell_more() -> None:
    """The worst two points of neighboring cells lose more than epsilon times their distance."""
    epsilon = dn.metric.per_meter(math.log(2), radius=1000)
    found = privatize_places(HISTORY, COUNTY, epsilon, dn.seeded(1))
    rows = found.mechanism.law.matrix()
    apart = np.log(rows[0] / rows[1]).max()
    assert apart <= found.loss_at(1.0) <= found.mechanism.loss()
    assert found.loss_at(1000) == pytest.approx(epsilon * (1000 + math.hypot(*COUNTY.steps)), rel=1e-6)
    assert np.array_equal(COUNTY.encode(found.locations), found.cells)


def test_remapping_helps_against_large_noise_only() -> None:
    for radius, helps in ((1000.0, True), (20.0, False)):
        epsilon = math.log(2) / radius
        reports = planar_laplace(epsilon).privatize(HISTORY[200:], dn.seeded(2))
        mapped = remap_places(reports, HISTORY[:200], epsilon)
        before, after = (dn.metric.great_circle(HISTORY[200:], some).mean() for some in (reports, mapped))
        assert bool(after < before) is helps


def test_reports_on_a_grid_are_remapped_by_their_own_law() -> None:
    """The posterior is that of the table; the law of Laplace noise, the planted fault, gives another."""
    found = privatize_places(HISTORY[200:], COUNTY, math.log(2) / 1000, dn.seeded(2))
    mapped = found.remap(HISTORY[:200])
    weights = np.bincount(COUNTY.encode(HISTORY[:200]), minlength=500) * found.mechanism.law.matrix().T
    wanted = weights[found.cells] @ COUNTY.centers / weights[found.cells].sum(axis=1, keepdims=True)
    assert mapped == pytest.approx(wanted, abs=1e-9)
    other = remap_places(found.locations, HISTORY[:200], math.log(2) / 1000)
    gaps = [
        np.square(dn.metric.great_circle(HISTORY[200:], some)).mean() for some in (mapped, found.locations)
    ]
    assert gaps[0] < gaps[1]
    assert np.abs(dn.metric.great_circle(mapped, other)).max() > 100


def test_close_places_on_a_grid_lose_more_than_their_distance() -> None:
    """So that nobody reads "at most d epsilon" of the recommended noise."""
    epsilon = math.log(2) / 300
    found = privatize_places(HISTORY[:1], COUNTY, epsilon, dn.seeded(2))
    assert found.loss_at(300) > 4 * 300 * epsilon
    assert "d plus the diagonal of a cell" in " ".join((privatize_places.__doc__ or "").split())


def test_wrong_places_are_refused() -> None:
    with pytest.raises(InvalidValue, match="not in the box"):
        privatize_places([(41.0, -75.3)], COUNTY, 0.001)
    with pytest.raises(InvalidValue, match="at least 2 latitudes"):
        PlaceFeatures(STATIONS[:1], HISTORY, np.zeros(400, dtype=np.int64))
    with pytest.raises(InvalidParameter, match="areas are one whole number"):
        PlaceFeatures(STATIONS, HISTORY, [0])
    with pytest.raises(InvalidParameter, match="cell must be"):
        remap_places(HISTORY, HISTORY, 0.001, cell=-1)
