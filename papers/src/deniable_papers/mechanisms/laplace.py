"""Moves locations on the globe, in floating point, so not exactly. Plans use grids of cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats
from deniable.errors import NotExact
from deniable.exact import number, positive_epsilon
from deniable.formatting import format_up
from deniable.metric.globe import EARTH, checked_locations, unit_vectors
from deniable.randomness import Words, checked_source


@final
@dataclass(frozen=True)
class PlanarLaplace:
    """A location moves in a random direction, by a distance with density r e^(-epsilon r), in floats."""

    epsilon: float
    """What the real-valued mechanism loses per meter; the floats that are sent may lose more."""

    words = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive_epsilon(self.epsilon))

    def __repr__(self) -> str:
        return f"PlanarLaplace(epsilon={self.epsilon:.6g})"

    def __str__(self) -> str:
        mean = f"{format_up(self.mean_distance)} m on average"
        loss = f"no exact loss (epsilon {self.epsilon:g} per meter)"
        return f"Planar Laplace noise: a location moves {mean}, {loss}"

    def loss(self) -> NoReturn:
        """Refused: the floats that are sent do not follow the real-valued law that the proof is about."""
        raise NotExact(
            "floating-point noise has no exact loss; use planar_geometric on a Grid, whose table is exact"
        )

    def privatize(self, locations: npt.ArrayLike, words: Words | None = None) -> Floats:
        """Moves one location, or a table of them, in degrees of latitude and longitude, by two words each."""
        places = checked_locations(locations)
        words_drawn = checked_source(words).rows(places.reshape(-1, 2).shape[0], self.words).array()
        uniform = ((words_drawn >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
        return destination(places, self._radius(uniform[:, 0]), 2 * np.pi * uniform[:, 1]).reshape(
            places.shape
        )

    def _radius(self, uniform: Floats) -> Floats:
        """The distance that is exceeded with this probability: (1 + epsilon r) e^(-epsilon r)."""
        from scipy.special import gammainccinv

        return np.asarray(gammainccinv(2.0, uniform) / self.epsilon)

    def within(self, share: float) -> float:
        """The distance that this share of the reports stays within, in meters."""
        return float(self._radius(np.array([1 - number("a share", share, 0.0, 1.0)]))[0])

    @property
    def mean_distance(self) -> float:
        """How far a report is from the location on average, in meters."""
        return 2 / self.epsilon


def planar_laplace(epsilon: float) -> PlanarLaplace:
    """Geo-indistinguishable noise on latitude and longitude: locations d meters apart lose at most d epsilon.

    The density at distance r is epsilon^2 / (2 pi) e^(-epsilon r), so that the radius is a gamma variable of
    shape 2 (the branch -1 of Lambert's W in the papers) and the direction is uniform. The location moves
    along a great circle, which is right at any latitude. For arrays in research only: floating-point noise
    has no exact guarantee, and `loss` says so.

    >>> from deniable.metric import great_circle, per_meter
    >>> mechanism = planar_laplace(epsilon=per_meter(level=2.0, radius=200))
    >>> from deniable.randomness.simulated import seeded
    >>> there = mechanism.privatize((47.64, 6.86), seeded(7))
    >>> there.round(3).tolist(), round(float(great_circle((47.64, 6.86), there)))
    ([47.639, 6.86], 101)
    >>> round(mechanism.mean_distance), round(mechanism.within(0.95))
    (200, 474)

    Reference: andres2013
    """
    return PlanarLaplace(epsilon)


def destination(locations: Floats, distance: npt.ArrayLike, bearing: npt.ArrayLike) -> Floats:
    """Where one gets from locations along a great circle, at a bearing clockwise from north in radians."""
    latitude, longitude = np.radians(locations.reshape(-1, 2)).T
    origin = unit_vectors(locations.reshape(-1, 2))
    zero = np.zeros_like(latitude)
    east = np.stack([-np.sin(longitude), np.cos(longitude), zero], axis=-1)
    north = np.stack(
        [-np.sin(latitude) * np.cos(longitude), -np.sin(latitude) * np.sin(longitude), np.cos(latitude)],
        axis=-1,
    )
    angle, turn = (
        np.broadcast_to(np.asarray(distance) / EARTH, zero.shape),
        np.broadcast_to(bearing, zero.shape),
    )
    ahead = np.cos(turn)[:, None] * north + np.sin(turn)[:, None] * east
    x, y, z = (np.cos(angle)[:, None] * origin + np.sin(angle)[:, None] * ahead).T
    return np.asarray(np.degrees(np.stack([np.arctan2(z, np.hypot(x, y)), np.arctan2(y, x)], axis=-1)))
