"""Loads the emergency calls of Montgomery County: place, time, kind and ambulance station."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats
from deniable.data.published import FILES, expected, find
from deniable.errors import DataUnavailable

_FILE = FILES["montgomery-911.csv"]
_HEADER = ("lat", "lng", "desc", "zip", "title", "timeStamp", "twp", "addr", "e")
_STATION = re.compile(r"Station (\w+)")
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
        )


def load_calls() -> Calls:
    """All 9,226 calls, as they are in the file, sorted by time."""
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
        with path.open(encoding="utf-8", newline="") as file:
            header, *rows = list(csv.reader(file))
    except (UnicodeDecodeError, csv.Error, ValueError) as problem:
        raise DataUnavailable(f"{path} is not a CSV file in UTF-8 ({problem}); {expected(_FILE)}") from None
    if tuple(header) != _HEADER:
        raise DataUnavailable(f"{path} has the columns {', '.join(header)}; expected {', '.join(_HEADER)}")
    odd = next((number for number, row in enumerate(rows, 1) if len(row) != _FILE.columns), None)
    if odd is not None:
        raise DataUnavailable(f"{path} has {len(rows[odd - 1])} columns in row {odd}; {expected(_FILE)}")
    if len(rows) != _FILE.rows:
        raise DataUnavailable(f"{path} has {len(rows):,} rows; {expected(_FILE)}")
    return rows
