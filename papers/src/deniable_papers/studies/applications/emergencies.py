"""Prepares emergency calls for models of the response time: public facts, simulated minutes, noisy places."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np
import numpy.typing as npt

from deniable import Grid
from deniable.arrays import Floats
from deniable.errors import InvalidParameter
from deniable.randomness.simulated import numbers_from, seeded
from deniable_papers.data.calls import BOX, Calls, in_county, load_calls
from deniable_papers.learn.places import NAMES, PlaceFeatures, privatize_places, remap_places
from deniable_papers.mechanisms import planar_laplace

DROPPED = ("station", "zip code", "township", "address")
"""What else tells the place: columns that no model may see. Stations and townships are found from points."""
GRID = Grid(*BOX, rows=61, columns=63)
"""Cells of 1 km."""
_HISTORY = 0.3
_TRAINING = 0.8
_NEAR = 500.0  # meters within which earlier calls count
_BUSY = 40  # calls that make a station known
_DETOUR = 1.35  # how much longer roads are than straight lines
_RUSH = (7, 8, 16, 17, 18)
_DENSITY = NAMES.index("density")
_NEAREST = NAMES.index("nearest station")


@final
@dataclass(frozen=True, eq=False)
class Emergencies:
    """Calls that a model learns from, public facts, and minutes until help came, which are simulated."""

    calls: Calls
    """All but the public history, by time."""
    history: Calls
    facts: PlaceFeatures
    is_dense: npt.NDArray[np.bool_]
    """Whether the calls are where there are more earlier ones than on average."""
    usual_density: float
    """How many earlier calls there are around an earlier call on average."""

    @property
    def training(self) -> int:
        """How many calls, the first ones, are learned from; the others are for the test."""
        return int(_TRAINING * self.calls.n)

    @property
    def hours(self) -> npt.NDArray[np.int64]:
        """The hour of the day of each call."""
        return np.asarray(self.calls.times.astype("datetime64[h]").astype(np.int64) % 24)

    def describe(self, places: Floats) -> Floats:
        """What a model sees of each call: all of its place from these points, such as the reported ones."""
        features = self.facts.compute(places)
        route = _DETOUR * features[:, _NEAREST]
        is_dense = features[:, _DENSITY] > self.usual_density
        travel = 60 * route / find_speed(is_dense, self.hours)
        return np.hstack([features, route[:, None], travel[:, None], self.known_columns()])

    def known_columns(self) -> Floats:
        """What is known of a call besides its place: its hour, weekday and kind."""
        weekdays = (self.calls.times.astype("datetime64[D]").astype(np.int64) + 3) % 7
        kinds = np.unique(self.calls.kinds, return_inverse=True)[1]
        return np.column_stack([self.hours, weekdays, kinds]).astype(np.float64)


COLUMNS = (*NAMES, "route distance", "travel time", "hour", "weekday", "kind")
"""What a model sees; all before the hour are made from the noisy point. The route is 1.35 times the distance
to the nearest station, and the travel time that of driving it at the usual speed.
"""
CATEGORIES = ("station", "area", "hour", "weekday", "kind")


@lru_cache(maxsize=1)
def _load_county() -> tuple[Calls, Floats]:
    """The calls, and the stations: the median place of its calls stands for a station's public address."""
    calls = in_county(load_calls())
    numbers = Counter(calls.stations.tolist())
    names = sorted(name for name, number in numbers.items() if name and number >= _BUSY)
    places = [np.median(calls.locations[calls.stations == name], axis=0) for name in names]
    return calls, np.array(places)


@lru_cache(maxsize=2)
def load_emergencies(seed: int, run: int = 0) -> Emergencies:
    """Draws which 30 % of the calls are public history; the others are learned from, and predicted."""
    calls, stations = _load_county()
    is_public = numbers_from(seed, "history", run).random(calls.n) < _HISTORY
    history, rest = calls.select(is_public), calls.select(~is_public)
    areas = np.unique(history.townships, return_inverse=True)[1]
    facts = PlaceFeatures(stations, history.locations, areas, _NEAR)
    usual = float(facts.compute(history.locations)[:, _DENSITY].mean())
    return Emergencies(rest, history, facts, facts.compute(rest.locations)[:, _DENSITY] > usual, usual)


def find_speed(is_dense: npt.NDArray[np.bool_], hours: npt.NDArray[np.int64]) -> Floats:
    """How fast an ambulance drives, in km/h: 30 to a dense place, else 50; in rush hours three quarters."""
    return np.where(is_dense, 30.0, 50.0) * np.where(np.isin(hours, _RUSH), 0.75, 1.0)


def simulate_minutes(emergencies: Emergencies, seed: int, run: int) -> Floats:
    """How long each call waits: to turn out, to drive from the nearest station, for accidents a bit more."""
    draw = numbers_from(seed, "minutes", run)
    calls = emergencies.calls
    kilometers = emergencies.facts.compute(calls.locations)[:, _NEAREST]
    speed = find_speed(emergencies.is_dense, emergencies.hours)
    waiting = draw.lognormal(np.log(3), 0.45, calls.n)
    driving = 60 * _DETOUR * kilometers / speed * draw.lognormal(0, 0.25, calls.n)
    return np.asarray(waiting + driving + 0.8 * (calls.kinds == "Traffic"))


def bound_loss(protocol: str, radius: float) -> float | None:
    """The exact loss of two places that are so far apart, cells counted; None for noise in floating point."""
    if protocol != "planar_geometric":
        return None
    return privatize_places(GRID.centers[:1], GRID, float(np.log(2)) / radius, seeded(0)).loss_at(radius)


def sanitize_places(
    emergencies: Emergencies, protocol: str, radius: float, remapped: bool, seed: int
) -> Floats:
    """The places as they are reported: epsilon is ln 2 per radius, in meters."""
    places = emergencies.calls.locations
    epsilon = float(np.log(2)) / radius
    if protocol == "planar_laplace":
        reports = planar_laplace(epsilon).privatize(places, seeded(seed))
        return remap_places(reports, emergencies.history.locations, epsilon) if remapped else reports
    if protocol == "planar_geometric" and not remapped:
        return privatize_places(places, GRID, epsilon, seeded(seed)).locations
    raise InvalidParameter(f"{protocol!r} is not a protocol of this study, or is not remapped here")
