"""Moves locations on the globe, for research: in floating point, so not exactly. Plans use grids of cells."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats
from deniable.errors import InvalidValue, NotExact
from deniable.exact import number, positive_epsilon
from deniable.formatting import format_up
from deniable.randomness import Words, checked_source

EARTH = 6_371_008.8
"""The mean radius of the Earth, in meters."""


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


def per_meter(level: float, radius: float) -> float:
    """Computes the epsilon per meter that loses `level` within this radius in meters, rounded down.

    >>> per_meter(level=2.0, radius=256)
    0.0078125
    """
    meters = number("a radius", radius, 0.0, math.inf, "a positive number of meters")
    exact = Fraction(positive_epsilon(level)) / Fraction(meters)
    nearest = float(exact)
    return nearest if Fraction(nearest) <= exact else math.nextafter(nearest, 0.0)


def great_circle(one: npt.ArrayLike, other: npt.ArrayLike) -> Floats:
    """Measures the meters between locations in degrees, on a sphere (up to 0.6 % off on the ground).

    >>> round(float(great_circle((0, 179.5), (0, -179.5))))
    111195
    """
    a, b = unit_vectors(checked_locations(one)), unit_vectors(checked_locations(other))
    if a.ndim == b.ndim == 2 and len(a) != len(b) and 1 not in (len(a), len(b)):
        raise InvalidValue(
            f"distances are from one location, or from as many as there are others, got {len(a)} and {len(b)}"
        )
    across = np.linalg.norm(np.cross(a, b), axis=-1)
    return np.asarray(EARTH * np.arctan2(across, (a * b).sum(axis=-1)))


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


def unit_vectors(locations: Floats) -> Floats:
    """Locations as points of the unit sphere."""
    latitude, longitude = np.moveaxis(np.radians(locations), -1, 0)
    flat = np.cos(latitude)
    return np.stack([flat * np.cos(longitude), flat * np.sin(longitude), np.sin(latitude)], axis=-1)


def checked_locations(locations: npt.ArrayLike) -> Floats:
    """Latitudes from -90 to 90 degrees and finite longitudes, in pairs."""
    if np.ma.is_masked(locations):
        raise InvalidValue("some locations are masked: leave them out first, since a mask would be dropped")
    try:
        pairs = np.array(locations, dtype=np.float64)
    except (ValueError, TypeError) as problem:
        raise InvalidValue(f"a location is a latitude and a longitude in degrees: {problem}") from None
    if pairs.ndim not in (1, 2) or pairs.shape[-1] != 2:
        raise InvalidValue(f"locations are pairs of latitude and longitude, got shape {pairs.shape}")
    if (
        not np.isfinite(pairs).all()
        or (np.abs(pairs[..., 0]) > 90).any()
        or (np.abs(pairs[..., 1]) > 360).any()
    ):
        raise InvalidValue(
            "a latitude is from -90 to 90 degrees, a longitude from -180 to 180, or up to 360 where it goes "
            "on around the globe"
        )
    return pairs
