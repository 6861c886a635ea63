"""Holds the maps of a survey: lines under the cells of a grid, and the names of towns.

They are part of a plan, so that its id covers them, and a device needs nothing from elsewhere to draw them.
Coordinates are whole numbers over the grid's box: x from its west to its east, y from its north to its south.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, final

from deniable.domain import Domain, checked_text
from deniable.domain.grid import Grid, location_of
from deniable.errors import InvalidParameter, InvalidValue, not_among
from deniable.exact import whole_number
from deniable.formatting import format_count
from deniable.frames import require_file
from deniable.plan.outline import Outline, find_position, read_geojson
from deniable.plan.strict_json import Json, checked_fields, checked_integer, checked_list, checked_string

SIDE = 4095
"""The largest coordinate: a screen shows as many pixels when it is zoomed in."""
MOST_POINTS = 4800
"""Of all lines together, which is about 48 kB of a plan."""
MOST_TOWNS = 200
LONGEST_NAME = 60
_TOLERANCES = (2, 4, 8, 16, 32)
_NO_IMAGE = "a map is an outline, and images under maps are retired; give GeoJSON (.geojson), or towns alone"


class Town(NamedTuple):
    """A name on a map, and where it is."""

    name: str
    x: int
    y: int


@final
@dataclass(frozen=True)
class Map:
    """What is drawn under the cells of a grid, so that people recognize where they are.

    >>> from deniable import Grid
    >>> box = Grid(52.3, 13.0, 52.7, 13.8, rows=8, columns=10)
    >>> river = {"type": "LineString", "coordinates": [[13.0, 52.5], [13.4, 52.52], [13.8, 52.4]]}
    >>> print(Map.of(box, river, towns={"Berlin": (52.52, 13.405)}))
    a map of 1 line with 3 points, and 1 town: Berlin
    """

    box: tuple[int, int, int, int]
    """South, west, north and east of the grid, in billionths of a degree."""
    lines: tuple[tuple[int, ...], ...] = ()
    """Each is x, y, x, y and so on."""
    towns: tuple[Town, ...] = ()

    def __post_init__(self) -> None:
        if not (self.lines or self.towns):
            raise InvalidParameter("a map has lines or towns", "maps")
        self._check_lines()
        self._check_towns()

    def _check_lines(self) -> None:
        points = 0
        for line in self.lines:
            if len(line) < 4 or len(line) % 2:
                raise InvalidParameter("a line of a map is x, y, x, y ... of two points or more", "maps")
            for number in line:
                whole_number("a coordinate of a map", number, 0, SIDE, reason="maps")
            pixels = list(zip(line[::2], line[1::2], strict=True))
            if any(pixel == following for pixel, following in pairwise(pixels)):
                raise InvalidParameter("a line of a map has the same point twice in a row", "maps")
            points += len(pixels)
        if points > MOST_POINTS:
            raise InvalidParameter(
                f"the lines of a map have at most {MOST_POINTS:,} points, got {points:,}", "maps"
            )

    def _check_towns(self) -> None:
        if len(self.towns) > MOST_TOWNS:
            raise InvalidParameter(
                f"a map has at most {MOST_TOWNS} towns, got {len(self.towns):,}; keep those that people know",
                "maps",
            )
        for town in self.towns:
            if len(checked_text(town.name, "the name of a town")) > LONGEST_NAME:
                raise InvalidParameter(
                    f"the name of a town has at most {LONGEST_NAME} characters, got {town.name!r}", "maps"
                )
            for number in (town.x, town.y):
                whole_number("a coordinate of a town", number, 0, SIDE, reason="maps")

    @staticmethod
    def of(
        grid: Grid, outline: Mapping[str, Any] | None = None, *, towns: Mapping[str, Any] | None = None
    ) -> Map:
        """A map for a grid: the lines of GeoJSON, reduced to what a screen shows; and towns.

        Points of the GeoJSON that have a `name` are towns, too. `towns` have latitude and longitude by name.
        """
        drawing = Outline() if outline is None else read_geojson(outline, grid, SIDE)
        marked = [Town(name, *_place_town(name, at, grid)) for name, at in _checked_towns(towns or {})]
        known = {town.name for town in marked}
        marked += [Town(name, x, y) for name, x, y in drawing.points if name not in known]
        return Map(_box(grid), _reduce_lines(drawing), tuple(marked))

    @staticmethod
    def read(path: str | Path, grid: Grid, towns: Mapping[str, Any] | None = None) -> Map:
        """A map for a grid from a file of GeoJSON (.geojson, .json)."""
        file = require_file(Path(path), "it is the map of a grid: GeoJSON")
        if file.suffix.lower() not in (".geojson", ".json"):
            raise InvalidParameter(f"{file.name}: {_NO_IMAGE}")
        try:
            return Map.of(grid, read_outline(file.read_bytes()), towns=towns)
        except InvalidParameter as problem:
            raise InvalidParameter(f"{file.name}: {problem}") from None

    def __str__(self) -> str:
        parts = []
        if self.lines:
            points = sum(map(len, self.lines)) // 2
            parts.append(f"{format_count(len(self.lines), 'line')} with {format_count(points, 'point')}")
        if self.towns:
            names = ", ".join(town.name for town in self.towns)
            parts.append(f"{format_count(len(self.towns), 'town')}: {names}")
        return f"a map of {', and '.join(parts)}"

    def check(self, name: str, domain: Domain | None) -> None:
        """Refuse a map that is not of this attribute."""
        if not isinstance(domain, Grid):
            raise InvalidParameter(f"{name!r} has a map, and is not locations on a grid", "maps")
        if self.box != _box(domain):
            raise InvalidParameter(f"the map of {name!r} was made for another box; make it for this grid")

    def to_dict(self) -> Json:
        """As a plan has it."""
        fields: Json = {}
        if self.lines:
            fields["lines"] = [list(line) for line in self.lines]
        if self.towns:
            fields["towns"] = [town._asdict() for town in self.towns]
        return fields

    @staticmethod
    def from_dict(data: object, domain: Domain | None, name: str) -> Map:
        """Back from `to_dict`, for an attribute with this domain."""
        if not isinstance(domain, Grid):
            raise InvalidParameter(f"{name!r} has a map, and is not locations on a grid", "maps")
        names = [name for name in ("lines", "towns") if isinstance(data, dict) and name in data]
        if isinstance(data, dict) and "image" in data:
            raise InvalidParameter(_NO_IMAGE, "maps")
        fields = checked_fields(data, "a map", names)
        lines = [
            tuple(checked_integer(number, "a coordinate") for number in checked_list(line, "a line"))
            for line in checked_list(fields.get("lines", []), "the lines of a map")
        ]
        towns = []
        for item in checked_list(fields.get("towns", []), "the towns of a map"):
            town = checked_fields(item, "a town", ("name", "x", "y"))
            x, y = (checked_integer(town[side], "a coordinate") for side in "xy")
            towns.append(Town(checked_string(town["name"], "the name of a town"), x, y))
        return Map(_box(domain), tuple(lines), tuple(towns))


def read_outline(raw: bytes) -> Mapping[str, Any]:
    """The GeoJSON of a file."""
    try:
        drawing = json.loads(raw)
    except (ValueError, RecursionError) as problem:
        raise InvalidParameter(f"this is not GeoJSON: {problem}") from None
    if not isinstance(drawing, dict):
        raise InvalidParameter("this is not GeoJSON: it is an object with a type")
    return drawing


def check_maps(maps: Mapping[str, Map], attributes: Mapping[str, Domain]) -> None:
    """Refuse maps of other attributes than grids."""
    for name, drawing in maps.items():
        if name not in attributes:
            raise InvalidParameter(not_among(str(name), "an attribute with a map", attributes), "maps")
        if not isinstance(drawing, Map):
            raise InvalidParameter(f"the map of {name!r} is Map.read(file, grid), got {drawing!r}")
        drawing.check(name, attributes[name])


def _box(grid: Grid) -> tuple[int, int, int, int]:
    corners = grid.corners
    return corners["south"], corners["west"], corners["north"], corners["east"]


def _reduce_lines(outline: Outline) -> tuple[tuple[int, ...], ...]:
    """The lines, as exact as fits."""
    points = 0
    for tolerance in _TOLERANCES:
        lines = outline.simplify(tolerance)
        points = sum(map(len, lines)) // 2
        if points <= MOST_POINTS:
            return lines
    raise InvalidParameter(
        f"the outline has {points:,} points after it was reduced to what a screen shows, and a map has at "
        f"most {MOST_POINTS:,}; leave out streets and buildings"
    )


def _checked_towns(towns: object) -> list[tuple[str, Any]]:
    if not isinstance(towns, Mapping):
        raise InvalidParameter(
            f'towns are latitude and longitude by name, {{"Potsdam" = [52.4, 13.06]}}, got {towns!r}'
        )
    return [(str(name), at) for name, at in towns.items()]


def _place_town(name: str, at: Sequence[float], grid: Grid) -> tuple[int, int]:
    try:
        latitude, longitude = location_of(at, name)
        grid.encode([(latitude, longitude)], name)  # refuses a location outside
    except InvalidValue as problem:
        raise InvalidParameter(f"the town {name!r}: {problem}") from None
    return find_position(latitude, longitude, grid, SIDE)
