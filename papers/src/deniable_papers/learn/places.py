"""Sanitizes places, and makes every feature of a place from its noisy point and public facts only.

A model that also sees the true district, station or address of a point learns the place from these, and the
noise protects nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np
import numpy.typing as npt

from deniable import Grid
from deniable.arrays import Floats, Integers
from deniable.errors import InvalidParameter, InvalidValue
from deniable.exact import number, positive_epsilon
from deniable.formatting import format_count
from deniable.metric import planar_geometric
from deniable.metric.base import ROUNDED_UP
from deniable.metric.globe import EARTH, checked_locations
from deniable.randomness import Words
from deniable_papers.mechanisms import optimal_remap

if TYPE_CHECKING:
    from deniable.metric import PlanarGeometric

NAMES = ("x", "y", "nearest station", "second station", "station", "area", "density")
_BLOCK = 1 << 22  # entries of a table of distances at a time


@final
@dataclass(frozen=True, eq=False)
class PlaceFeatures:
    """Makes features of points from public facts: stations, and earlier places with their areas.

    The columns are x and y in kilometers from the middle of the earlier places, the distances of the two
    nearest stations, which station is the nearest, the area of the nearest earlier place, and the number of
    earlier places within `radius` meters.

    >>> facts = PlaceFeatures(
    ...     stations=[(40.1, -75.3), (40.2, -75.4)],
    ...     history=[(40.1, -75.3), (40.1, -75.301), (40.2, -75.4)],
    ...     areas=[0, 0, 1],
    ... )
    >>> dict(zip(NAMES, facts.compute([(40.101, -75.3)])[0].round(2).tolist(), strict=True))["density"]
    2.0
    """

    stations: npt.ArrayLike
    history: npt.ArrayLike
    areas: npt.ArrayLike
    radius: float = 500.0

    def __repr__(self) -> str:
        return f"<PlaceFeatures: {format_count(len(np.asarray(self.stations)), 'station')}>"

    def __post_init__(self) -> None:
        stations = _checked_table(self.stations, "stations", 2)
        history = _checked_table(self.history, "history", 1)
        areas = np.asarray(self.areas)
        if areas.shape != (len(history),) or areas.dtype.kind not in "iu":
            raise InvalidParameter(f"areas are one whole number for each of {len(history):,} earlier places")
        number("radius", self.radius, 0.0, math.inf, "a positive number of meters")
        for name, value in (("stations", stations), ("history", history), ("areas", areas)):
            object.__setattr__(self, name, value)

    @cached_property
    def middle(self) -> Floats:
        """Where x and y are 0: the median of the earlier places."""
        return np.asarray(np.median(np.asarray(self.history), axis=0))

    def project(self, locations: npt.ArrayLike) -> Floats:
        """The kilometers of locations east and north of the middle, as on a plane."""
        return project_places(locations, self.middle)

    @cached_property
    def _trees(self) -> tuple[Any, Any]:
        from scipy.spatial import cKDTree

        return cKDTree(self.project(self.stations)), cKDTree(self.project(self.history))

    def compute(self, locations: npt.ArrayLike) -> Floats:
        """A row of features for each location, in the order of NAMES."""
        points = self.project(_checked_table(locations, "locations", 1))
        stations, history = self._trees
        gaps, nearest = stations.query(points, k=2)
        area = np.asarray(self.areas)[history.query(points)[1]]
        density = self.count_near(points)
        return np.column_stack([points, gaps, nearest[:, 0], area, density]).astype(np.float64)

    def count_near(self, points: Floats) -> Integers:
        """How many earlier places are within the radius of points of the plane."""
        _, history = self._trees
        return np.asarray(history.query_ball_point(points, self.radius / 1000, return_length=True))


@final
@dataclass(frozen=True, eq=False)
class NoisyPlaces:
    """Places after planar geometric noise: the centers of the reported cells, with what they lose."""

    locations: Floats
    cells: Integers
    """The reported cells of the grid."""
    grid: Grid
    mechanism: PlanarGeometric

    def __repr__(self) -> str:
        return f"<NoisyPlaces: {format_count(len(self.cells), 'place')}, {self.mechanism!r}>"

    def loss_at(self, meters: float) -> float:
        """The most that two places lose that are so far apart.

        Near a border even close places are in different cells, so a cell's diagonal is added.
        """
        apart = number("meters", meters, -1e-9, math.inf, "a number of meters of at least 0")
        return self.mechanism.loss_at(ROUNDED_UP * (apart + math.hypot(*self.grid.steps)))

    def remap(self, history: npt.ArrayLike) -> Floats:
        """Moves the reports to their posterior mean under public earlier places, by the law of this noise.

        Post-processing loses nothing. Each place stands for its cell, also the earlier ones.
        """
        known = self.grid.encode(_checked_table(history, "history", 1))
        prior = np.bincount(known, minlength=len(self.grid.centers))
        best = optimal_remap(self.mechanism, prior, "mean", self.grid.centers)
        return np.asarray(best[self.cells])


def privatize_places(
    locations: npt.ArrayLike, grid: Grid, epsilon: float, words: Words | None = None
) -> NoisyPlaces:
    """Moves each place by planar geometric noise on a grid.

    Two places at d meters lose at most epsilon times d plus the diagonal of a cell, since even close ones may
    be in different cells: `loss_at` says it. With cells that are wide for the noise, that is far more than d
    epsilon. The loss is exact, as the noise is a table of integers. A place outside of the grid is refused.

    >>> import deniable as dn
    >>> county = Grid(south=40.0, west=-75.7, north=40.4, east=-75.0, rows=44, columns=59)
    >>> epsilon = dn.metric.per_meter(0.693, radius=1000)
    >>> found = privatize_places([(40.12, -75.35)] * 2, county, epsilon, dn.seeded(1))
    >>> found.locations.round(3).tolist()
    [[40.141, -75.338], [40.15, -75.326]]
    >>> round(found.loss_at(1000), 2)
    1.68
    """
    mechanism = planar_geometric(grid, epsilon)
    cells = np.asarray(mechanism.privatize(grid.encode(np.asarray(locations)), words), dtype=np.int64)
    return NoisyPlaces(grid.centers[cells], cells, grid, mechanism)


def remap_places(
    reports: npt.ArrayLike, history: npt.ArrayLike, epsilon: float, cell: float = 500.0
) -> Floats:
    """Moves reports of planar Laplace noise to their posterior mean under public earlier places.

    The prior has square cells of `cell` meters. Post-processing loses nothing. It helps where the noise is
    larger than a cell, and harms where it is smaller. Noise on a grid has another law: `NoisyPlaces.remap`.

    >>> town = [(40.10, -75.30)] * 9 + [(40.20, -75.40)]
    >>> remap_places([(40.15, -75.36)], town, epsilon=0.0005).round(2).tolist()
    [[40.12, -75.31]]
    """
    budget = positive_epsilon(epsilon)
    size = number("cell", cell, 0.0, math.inf, "a positive number of meters") / 1000
    known = _checked_table(history, "history", 1)
    middle = np.median(known, axis=0)
    codes, counts = np.unique(np.floor(project_places(known, middle) / size), axis=0, return_counts=True)
    centers = (codes + 0.5) * size
    points = project_places(_checked_table(reports, "reports", 1), middle)
    found = np.empty_like(points)
    step = max(1, _BLOCK // len(centers))
    for start in range(0, len(points), step):
        some = points[start : start + step]
        gaps = np.linalg.norm(some[:, None] - centers, axis=2)
        logs = np.log(counts) - 1000 * budget * gaps
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        found[start : start + step] = weights @ centers / weights.sum(axis=1, keepdims=True)
    return _unproject_places(found, middle)


def project_places(locations: npt.ArrayLike, middle: Floats) -> Floats:
    """Kilometers east and north of the middle, for places within some hundred kilometers of it."""
    latitude, longitude = checked_locations(locations).reshape(-1, 2).T
    scale = EARTH / 1000 * np.pi / 180
    east = (longitude - middle[1]) * scale * np.cos(np.radians(middle[0]))
    return np.column_stack([east, (latitude - middle[0]) * scale])


def _unproject_places(points: Floats, middle: Floats) -> Floats:
    scale = EARTH / 1000 * np.pi / 180
    longitude = middle[1] + points[:, 0] / (scale * np.cos(np.radians(middle[0])))
    return np.column_stack([middle[0] + points[:, 1] / scale, longitude])


def _checked_table(locations: npt.ArrayLike, name: str, least: int) -> Floats:
    found = checked_locations(locations)
    if found.ndim != 2 or len(found) < least:
        raise InvalidValue(f"{name} are a table of at least {least} latitudes and longitudes")
    return found
