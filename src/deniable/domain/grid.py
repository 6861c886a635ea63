"""Divides a box of latitudes and longitudes into cells: locations in, codes out, and back to cell centers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats, Integers
from deniable.domain.answer import SELF, is_missing, number_of, quote
from deniable.domain.domain import (
    NO_ANSWER,
    Domain,
    Privacy,
    check_privacy,
    format_privacy,
    refuse_many_values,
)
from deniable.errors import InvalidParameter, InvalidValue
from deniable.exact import number, whole_number
from deniable.frames import DEGREES, column_names, columns_of, is_table
from deniable.metric import great_circle

_MOST_SIDE = 1 << 12
_CORNERS = ("south", "west", "north", "east")
_NANO = 10**9
_MOST_LATITUDE, _MOST_LONGITUDE = 89_900_000_000, 180_000_000_000
_COLUMNS = (DEGREES, ("lat", "lon"), ("lat", "lng"), ("lat", "long"))  # what people call them


@final
@dataclass(frozen=True)
class Grid(Domain):
    """Cells of a box of latitudes and longitudes, row by row from the southwest; the outside is refused.

    A box that crosses the 180th meridian has a west that is larger than its east. The size of a cell, in
    meters, is that at the edge nearest to a pole, where it is smallest: distances between cells are never
    taken for more than they are on a sphere of radius 6,371,008.8 m. On the ground they can be up to 0.6 %
    shorter, since the earth is not quite a sphere, so that a loss per meter or kilometer is up to 0.6 % more
    there.

    In a study a grid has an epsilon of its own, per meter, such as `per_meter(level=2.0, radius=200)`; with
    `privacy="equal"` its cells are values like others, and share the study's.

    >>> city = Grid(south=47.60, west=6.80, north=47.70, east=6.95, rows=20, columns=20)
    >>> code = city.encode([(47.642, 6.862)])
    >>> code.tolist(), city.decode(code), city.centers[code].round(4).tolist()
    ([168], ['47.6400 to 47.6450 N, 6.8600 to 6.8675 E'], [[47.6425, 6.8638]])
    >>> [round(step) for step in city.steps]
    [556, 561]
    """

    south: float
    west: float
    north: float
    east: float
    rows: int
    columns: int
    privacy: Privacy = "metric"
    epsilon: float | None = None

    def __post_init__(self) -> None:
        check_privacy(self)
        for side in ("rows", "columns"):
            many = whole_number(f"the number of {side}", getattr(self, side), 2, _MOST_SIDE, reason="grid")
            object.__setattr__(self, side, many)
        refuse_many_values(self.k, "; use fewer rows or columns")
        for name, most in (("south", 90.0), ("north", 90.0), ("west", 180.0), ("east", 180.0)):
            allowed = f"a number of degrees from -{most:g} to {most:g}"
            object.__setattr__(
                self, name, number(name, getattr(self, name), -most - 1e-9, most + 1e-9, allowed)
            )
        if not -90 <= self.south < self.north <= 90:
            raise InvalidParameter(
                f"south must be below north, from -90 to 90 degrees, got {self.south} and {self.north}",
                "grid",
            )
        if not 0 < self._wide <= 180:
            raise InvalidParameter(
                "a grid spans at most 180 degrees of longitude, so that the way across it is the short one",
                "grid",
            )
        if max(abs(self.south), abs(self.north)) > 89.9:
            raise InvalidParameter(
                "a grid of latitudes and longitudes has no cells at the poles, from 89.9 degrees on", "grid"
            )

    def __str__(self) -> str:
        box = f"latitude {self.south:g} to {self.north:g}, longitude {self.west:g} to {self.east:g}"
        return f"{self.rows:,} x {self.columns:,} cells, {box}{format_privacy(self, 'meter')}"

    @property
    def _wide(self) -> float:
        """How many degrees of longitude the box spans."""
        return (self.east - self.west) % 360

    @property
    def k(self) -> int:
        return self.rows * self.columns

    @property
    def plain(self) -> Grid:
        return replace(self, privacy="metric", epsilon=None)

    @property
    def corners(self) -> dict[str, int]:
        """South, west, north and east in billionths of a degree, as a plan has them."""
        corners = {}
        for name in _CORNERS:
            degrees = getattr(self, name)
            corners[name] = round(degrees * _NANO)
            if corners[name] / _NANO != degrees:
                raise InvalidParameter(
                    f"a plan holds degrees with at most 9 decimals, got {name} = {degrees}; round it"
                )
        return corners

    @staticmethod
    def from_integers(south: int, west: int, north: int, east: int, rows: int, columns: int) -> Grid:
        """Makes a grid from its corners in billionths of a degree."""
        for name, degrees, most in (
            ("south", south, _MOST_LATITUDE),
            ("north", north, _MOST_LATITUDE),
            ("west", west, _MOST_LONGITUDE),
            ("east", east, _MOST_LONGITUDE),
        ):
            whole_number(f"{name}, in billionths of a degree,", degrees, -most, most, reason="grid")
        return Grid(south / _NANO, west / _NANO, north / _NANO, east / _NANO, rows, columns)

    @cached_property
    def millimeters(self) -> tuple[int, int]:
        """The size of a cell in whole millimeters, rounded down: the distances that a plan counts by."""
        down, across = (math.floor(step * 1000) for step in self.steps)
        if min(down, across) < 1:
            raise InvalidParameter(
                "cells of a grid in a plan are at least a millimeter wide; use larger ones"
            )
        return down, across

    @cached_property
    def steps(self) -> tuple[float, float]:
        """The distance from one row to the next, and from one column to the next, in meters."""
        down = float(great_circle((self.south, 0.0), (self.north, 0.0))) / self.rows
        edge = max(abs(self.south), abs(self.north))
        # along a great circle over the whole box, which is at most the sum of the small ones
        return down, float(great_circle((edge, 0.0), (edge, self._wide))) / self.columns

    @cached_property
    def centers(self) -> Floats:
        """Latitude and longitude of the middle of every cell."""
        latitude = self.south + (np.arange(self.rows) + 0.5) * (self.north - self.south) / self.rows
        longitude = self.west + (np.arange(self.columns) + 0.5) * self._wide / self.columns
        longitude = (longitude + 180) % 360 - 180
        return np.stack(np.broadcast_arrays(latitude[:, None], longitude), axis=-1).reshape(-1, 2)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        return self.labels_between(range(self.rows + 1), range(self.columns + 1))

    def labels_between(self, row_ends: Sequence[int], column_ends: Sequence[int]) -> tuple[str, ...]:
        """The names of blocks of cells, row by row, by the rows and columns where they begin and end."""
        down = np.linspace(self.south, self.north, self.rows + 1)[list(row_ends)]
        right = (self.west + np.arange(self.columns + 1) * self._wide / self.columns + 180) % 360 - 180
        digits = max(
            0,
            1 - math.floor(math.log10(min((self.north - self.south) / self.rows, self._wide / self.columns))),
        )
        rows = _spans([_text(x, digits, "N", "S") for x in down.tolist()])
        columns = _spans([_text(x, digits, "E", "W") for x in right[list(column_ends)].tolist()])
        return tuple(f"{row}, {column}" for row in rows for column in columns)

    def codes(self, values: object, name: str = SELF) -> Integers:
        """Each location's cell, for pairs of latitude and longitude in degrees; a missing one is None or NaN.

        A dataframe or dictionary has a column of each: `latitude` and `longitude`, or `lat` and `lon`.
        """
        pairs = _pairs(values, name)
        missing = np.isnan(pairs).any(axis=1)
        cells, inside = self._cells(pairs)
        if (~inside & ~missing).any():
            location = pairs[np.argmax(~inside & ~missing)]
            latitude, longitude = location.tolist()
            swapped = bool(self._cells(location[None, ::-1])[1].all())
            raise InvalidValue(
                f"({latitude}, {longitude}) is not in the box of {quote(name)} (latitude {self.south} to "
                f"{self.north}, longitude {self.west} to {self.east})",
                "are latitude and longitude swapped?" if swapped else "move it to the edge, or widen the box",
            )
        return np.where(missing, NO_ANSWER, np.where(missing, 0, cells).astype(np.int64))

    def _cells(self, pairs: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """The cell of each location, and whether it is in the box."""
        latitude, longitude = pairs[:, 0], pairs[:, 1]
        across = (longitude - self.west) % 360
        inside = (self.south <= latitude) & (latitude <= self.north)
        inside &= (across <= self._wide) & (np.abs(longitude) <= 360)
        # the product can be rounded up to the number of rows, and the last row holds what is inside
        row = np.floor((latitude - self.south) / (self.north - self.south) * self.rows)
        column = np.floor(across / self._wide * self.columns)
        cells = np.minimum(row, self.rows - 1) * self.columns + np.minimum(column, self.columns - 1)
        return cells, inside


def _pairs(values: object, name: str) -> Floats:
    if is_table(values):
        values = _pairs_of_table(values, name)
    if isinstance(values, np.ndarray) and values.dtype.kind in "iuf":
        pairs = values.astype(np.float64)
    elif isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InvalidValue(
            f"the values of {quote(name)} must be a list of locations, pairs of latitude and longitude, got "
            f"{values!r}"
        )
    else:
        pairs = np.array([location_of(item, name) for item in values], dtype=np.float64)
    if pairs.size == 0:
        return np.zeros((0, 2))
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise InvalidValue(
            f"the values of {quote(name)} must be pairs of latitude and longitude, got shape {pairs.shape}"
        )
    if np.isinf(pairs).any():
        raise InvalidValue(f"the values of {quote(name)} must be pairs of degrees, got one that is infinite")
    return pairs


def _pairs_of_table(table: object, name: str) -> list[tuple[Any, Any]]:
    """Pairs of latitude and longitude from the two columns of a table that have such names."""
    columns = {str(column).lower(): column for column in column_names(table)}
    for pair in [tuple(f"{name}.{degree}".lower() for degree in DEGREES), *_COLUMNS]:
        if all(column in columns for column in pair):
            halves = columns_of(table, [columns[column] for column in pair])
            return list(zip(*map(list, halves), strict=True))
    raise InvalidValue(
        f"a table of locations has columns latitude and longitude, or lat and lon, got "
        f"{', '.join(map(str, columns.values()))}",
        "rename them, or give pairs such as [(47.64, 6.86)]",
    )


def location_of(item: Any, name: str) -> tuple[float, float]:
    """Latitude and longitude, from a pair or from a text with both; NaN where the location is missing."""
    parts: Any = item.split(",") if isinstance(item, str) else item
    is_pair = isinstance(parts, Sequence | np.ndarray) and not isinstance(parts, bytes) and len(parts) == 2
    if is_missing(item) or (is_pair and parts is item and (is_missing(item[0]) or is_missing(item[1]))):
        return math.nan, math.nan
    latitude, longitude = (number_of(parts[0]), number_of(parts[1])) if is_pair else (math.nan, math.nan)
    if math.isnan(latitude) or math.isnan(longitude):
        raise InvalidValue(
            f"the values of {quote(name)} must be pairs of latitude and longitude in degrees, or texts such "
            f"as '47.64, 6.86', got {item!r}"
        )
    return latitude, longitude


def _text(degrees: float, digits: int, positive: str, negative: str) -> tuple[str, str]:
    size = f"{abs(degrees):.{digits}f}"
    return size, negative if degrees < 0 and float(size) else positive


def _spans(ends: list[tuple[str, str]]) -> list[str]:
    spans = []
    for (low, side), (high, other) in pairwise(ends):
        spans.append(f"{low} to {high} {side}" if side == other else f"{low} {side} to {high} {other}")
    return spans
