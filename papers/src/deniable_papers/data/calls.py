"""Loads the emergency calls of Montgomery County: place, time, kind and ambulance station.

The package does not carry the calls, since their terms are not known. Where the file is not in the folder
`$DENIABLE_DATA`, calls are simulated from a few facts of the file: a stand-in, and named as such.
"""

from __future__ import annotations

import csv
import json
import re
from dataclasses import dataclass
from io import StringIO
from typing import Any, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats
from deniable.randomness.simulated import numbers_from
from deniable_papers.data.published import (
    FILES,
    DataUnavailable,
    carried_folder,
    expected,
    find,
    present,
    read_text,
)

_FILE = FILES["montgomery-911.csv"]
_HEADER = ("lat", "lng", "desc", "zip", "title", "timeStamp", "twp", "addr", "e")
_STATION = re.compile(r"Station (\w+)")
_FACTS = "montgomery-911-facts.json"
REAL = "montgomery"
STAND_IN = "montgomery (simulated stand-in)"
_METERS = 111_195.0  # in a degree of latitude
_REACH = 2000.0
"""How far a station reaches in the stand-in: calls at a distance d go to it as exp(-d^2 / 2 reach^2)."""
BOX = (39.95, -75.75, 40.50, -75.00)
"""South, west, north and east of the county. Three calls of the file are outside: their places are wrong."""


@final
@dataclass(frozen=True, eq=False)
class Calls:
    """Emergency calls in the order of their times."""

    locations: Floats
    """Latitude and longitude, in degrees."""
    times: npt.NDArray[np.datetime64]
    kinds: npt.NDArray[np.str_]
    """EMS, Fire or Traffic."""
    stations: npt.NDArray[np.str_]
    """The station that is named in the text; empty where none is, or where it is one of the fire service."""
    townships: npt.NDArray[np.str_]
    name: str = REAL
    """Which calls these are: REAL or STAND_IN."""

    @property
    def n(self) -> int:
        """The number of calls."""
        return len(self.times)

    def select(self, chosen: npt.NDArray[np.bool_] | npt.NDArray[np.int64]) -> Calls:
        """Some of the calls."""
        return Calls(
            self.locations[chosen],
            self.times[chosen],
            self.kinds[chosen],
            self.stations[chosen],
            self.townships[chosen],
            self.name,
        )


def load_calls() -> Calls:
    """All 9,226 calls, sorted by time: those of the file where it is, otherwise the simulated stand-in."""
    return simulate_calls() if present(_FILE) is None else _read_calls()


def simulate_calls() -> Calls:
    """A stand-in for the calls, always the same: as many by kind and township, by hour about as many.

    A call is around the center of its township, its time goes by the hour of the day, and an ambulance comes
    from a station nearby. Townships, kinds and times are independent of each other, as they are not in truth.
    """
    facts = _read_facts()
    draw = numbers_from(2015, STAND_IN)
    counts, south, west, spread = np.array(list(facts["townships"].values())).T
    township = draw.permutation(np.repeat(np.arange(len(counts)), counts.astype(np.int64)))
    kinds = draw.permutation(np.repeat(list(facts["kinds"]), list(facts["kinds"].values())))
    degrees = (1000 * spread[township] / _METERS)[:, None] * draw.standard_normal((len(township), 2))
    degrees[:, 1] /= np.cos(np.radians(south[township]))
    places = np.column_stack([south[township], west[township]]) + degrees
    low, high = np.array(BOX).reshape(2, 2)
    places = np.clip(places, low, high)
    stations = np.where(kinds == "EMS", _draw_stations(facts["stations"], places, draw), "")
    places[: facts["outside"]] += 1.0
    minutes = np.arange(np.datetime64(facts["first"], "m"), np.datetime64(facts["last"], "m") + 1)
    rates = np.array(facts["hours"], dtype=np.float64)[minutes.astype("datetime64[h]").astype(np.int64) % 24]
    times = draw.choice(minutes, len(township), p=rates / rates.sum())
    times[:2] = minutes[0], minutes[-1]
    names = np.array(list(facts["townships"]))[township]
    calls = Calls(places, times.astype("datetime64[s]"), kinds, stations, names, STAND_IN)
    return calls.select(np.argsort(calls.times, kind="stable"))


def _draw_stations(
    stations: dict[str, list[float]], places: Floats, draw: np.random.Generator
) -> npt.NDArray[np.str_]:
    """A station for each place: the nearer and the busier, the likelier."""
    counts, south, west = np.array(list(stations.values())).T
    north_south = (places[:, :1] - south) * _METERS
    east_west = (places[:, 1:] - west) * _METERS * np.cos(np.radians(south))
    squares = north_south**2 + east_west**2
    nearness = (squares.min(axis=1, keepdims=True) - squares) / (2 * _REACH**2)
    likelihood = np.cumsum(counts * np.exp(nearness), axis=1)
    chosen = (likelihood < draw.random((len(places), 1)) * likelihood[:, -1:]).sum(axis=1)
    return np.asarray(np.array(list(stations))[chosen])


def _read_facts() -> dict[str, Any]:
    facts: dict[str, Any] = json.loads((carried_folder() / _FACTS).read_text(encoding="utf-8"))
    return facts


def _read_calls() -> Calls:
    rows = _read_rows()
    try:
        places = np.array([row[:2] for row in rows], dtype=np.float64)
        times = np.array([row[5].replace(" ", "T") for row in rows], dtype="datetime64[s]")
    except ValueError as problem:
        raise DataUnavailable(f"{find(_FILE)} has a place or a time that is none: {problem}") from None
    kinds = np.array([row[4].partition(":")[0] for row in rows])
    stations = np.array([_find_station(row[2]) for row in rows])
    townships = np.array([row[6] for row in rows])
    by_time = np.argsort(times, kind="stable")
    return Calls(places, times, kinds, stations, townships).select(by_time)


def in_county(calls: Calls) -> Calls:
    """The calls whose place is in the county's box."""
    south, west, north, east = BOX
    latitude, longitude = calls.locations.T
    inside = (south <= latitude) & (latitude <= north) & (west <= longitude) & (longitude <= east)
    return calls.select(inside)


def _find_station(text: str) -> str:
    found = _STATION.search(text)
    return "" if found is None else found.group(1)


def _read_rows() -> list[list[str]]:
    path = find(_FILE)
    try:
        header, *rows = list(csv.reader(StringIO(read_text(_FILE), newline="")))
    except (csv.Error, ValueError) as problem:
        raise DataUnavailable(f"{path} is not a CSV file ({problem}); {expected(_FILE)}") from None
    if tuple(header) != _HEADER:
        raise DataUnavailable(f"{path} has the columns {', '.join(header)}; expected {', '.join(_HEADER)}")
    odd = next((number for number, row in enumerate(rows, 1) if len(row) != _FILE.columns), None)
    if odd is not None:
        raise DataUnavailable(f"{path} has {len(rows[odd - 1])} columns in row {odd}; {expected(_FILE)}")
    if len(rows) != _FILE.rows:
        raise DataUnavailable(f"{path} has {len(rows):,} rows; {expected(_FILE)}")
    return rows
