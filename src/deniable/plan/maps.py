"""Holds the maps of a survey: lines under the cells of a grid, and the names of towns.

They are part of a plan, so that its id covers them, and a device needs nothing from elsewhere to draw them.
Coordinates are whole numbers over the grid's box: x from its west to its east, y from its north to its south.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np

from deniable.arrays import Floats, Integers
from deniable.domain import Domain, checked_text
from deniable.domain.grid import Grid, location_of
from deniable.errors import InvalidParameter, InvalidValue, not_among
from deniable.exact import whole_number
from deniable.formatting import Printed, format_count
from deniable.frames import require_file
from deniable.plan.strict_json import Json, checked_fields, checked_integer, checked_list, checked_string

SIDE = 4095
"""The largest coordinate: a screen shows as many pixels when it is zoomed in."""
MOST_POINTS = 4800
"""Of all lines together, which is about 48 kB of a plan."""
MOST_TOWNS = 200
LONGEST_NAME = 60
_TOLERANCES = (2, 4, 8, 16, 32)
_NO_IMAGE = "a map is an outline, and images under maps are retired; give GeoJSON (.geojson), or towns alone"
_DEPTHS = {
    "Point": 0,
    "MultiPoint": 1,
    "LineString": 1,
    "MultiLineString": 2,
    "Polygon": 2,
    "MultiPolygon": 3,
}
"""How deep the lists of coordinates are, above a position."""
_POINTS = ("Point", "MultiPoint")

Pixel = tuple[int, int]


class Town(NamedTuple):
    """A name on a map, and where it is."""

    name: str
    x: int
    y: int


@final
@dataclass(frozen=True)
class Map(Printed):
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
        if self.box != _box(_checked_grid(domain, name)):
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
        grid = _checked_grid(domain, name)
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
        return Map(_box(grid), tuple(lines), tuple(towns))


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


def _checked_grid(domain: Domain | None, name: str) -> Grid:
    if not isinstance(domain, Grid):
        raise InvalidParameter(f"{name!r} has a map, and is not locations on a grid", "maps")
    return domain


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
    [(x, y)] = _round(np.clip(_place(np.array([[longitude, latitude]]), grid), 0, 1), SIDE).tolist()
    return int(x), int(y)


@final
@dataclass(frozen=True)
class Outline:
    """Lines of whole coordinates, and points with names, in a box."""

    lines: tuple[tuple[Pixel, ...], ...] = ()
    points: tuple[tuple[str, int, int], ...] = ()

    def simplify(self, tolerance: int) -> tuple[tuple[int, ...], ...]:
        """The lines by Douglas and Peucker, each x, y, x, y ...; what is no longer than this is left out."""
        simplified = []
        for line in self.lines:
            points = np.array(line, dtype=np.int64)
            if int(np.ptp(points, axis=0).max()) > tolerance:
                kept = points[_keep_points(points, tolerance)]
                simplified.append(tuple(int(number) for number in kept.reshape(-1)))
        return tuple(simplified)


def read_geojson(data: Mapping[str, Any], grid: Grid, side: int) -> Outline:
    """The part of an outline that is in the box of a grid, in coordinates from 0 to `side`."""
    lines: list[tuple[Pixel, ...]] = []
    points: list[tuple[str, int, int]] = []
    seen: set[frozenset[Pixel]] = set()
    for kind, name, positions in _list_shapes(data, ""):
        placed = _place(positions, grid)
        if kind in _POINTS:
            inside = placed[((placed >= 0) & (placed <= 1)).all(axis=1)] if name else placed[:0]
            points += [(name, int(x), int(y)) for x, y in _round(inside, side)[:1]]
            continue
        for run in _clip(placed, 180 / _width(grid)):
            lines += _drop_seen([(int(x), int(y)) for x, y in _round(run, side)], seen)
    if not lines and not points:
        raise InvalidParameter(
            "nothing of the outline is in the box of the grid; positions are longitude, then latitude, in "
            "degrees"
        )
    return Outline(tuple(lines), tuple(points))


def _list_shapes(data: Any, name: str) -> Iterator[tuple[str, str, Floats]]:
    """All points and lines: kind, name, and positions as longitude and latitude."""
    kind = data.get("type") if isinstance(data, Mapping) else None
    if kind == "FeatureCollection":
        for member in _members(data, "features"):
            yield from _list_shapes(member, name)
    elif kind == "Feature":
        title = (data.get("properties") or {}).get("name")
        if data.get("geometry") is not None:
            yield from _list_shapes(data["geometry"], title.strip() if isinstance(title, str) else "")
    elif kind == "GeometryCollection":
        for member in _members(data, "geometries"):
            yield from _list_shapes(member, name)
    elif kind in _DEPTHS:
        for positions in _flatten(data.get("coordinates"), _DEPTHS[kind]):
            yield kind, name, positions
    else:
        raise InvalidParameter(f"this is not GeoJSON: it has an object of type {kind!r}")


def _members(data: Mapping[str, Any], field: str) -> list[Any]:
    members = data.get(field)
    if not isinstance(members, list):
        raise InvalidParameter(f"this is not GeoJSON: {data['type']} has no list {field!r}")
    return members


def _flatten(coordinates: Any, depth: int) -> Iterator[Floats]:
    if not isinstance(coordinates, list):
        raise InvalidParameter("this is not GeoJSON: coordinates are lists of numbers")
    if depth > 1:
        for pair in coordinates:
            yield from _flatten(pair, depth - 1)
        return
    try:
        pairs = [(float(pair[0]), float(pair[1])) for pair in (coordinates if depth else [coordinates])]
    except (TypeError, ValueError, IndexError, KeyError):
        pairs = [(math.nan, math.nan)]
    points = np.array(pairs, dtype=np.float64).reshape(-1, 2)
    if not np.isfinite(points).all():
        raise InvalidParameter("this is not GeoJSON: a position is longitude and latitude in degrees")
    yield points


def _width(grid: Grid) -> float:
    return (grid.east - grid.west) % 360


def _place(positions: Floats, grid: Grid) -> Floats:
    """Where in the box positions are: from 0 to 1, from its west and from its north."""
    wide = _width(grid)
    across = (positions[:, 0] - (grid.west + wide / 2) + 180) % 360 - 180
    down = (grid.north - positions[:, 1]) / (grid.north - grid.south)
    return np.stack([across / wide + 0.5, down], axis=1)


def _round(placed: Floats, side: int) -> Integers:
    return np.floor(placed * side + 0.5).astype(np.int64)


def _clip(line: Floats, jump: float) -> Iterator[Floats]:
    """The parts of a line that are in the box; a step around the world is not a part of it."""
    run: list[tuple[float, float]] = []
    outside = (
        ((line[:-1] < 0) & (line[1:] < 0)).any(axis=1)
        | ((line[:-1] > 1) & (line[1:] > 1)).any(axis=1)
        | (np.abs(line[1:, 0] - line[:-1, 0]) > jump)
    )
    for (start, end), is_outside in zip(pairwise(line.tolist()), outside.tolist(), strict=True):
        part = None if is_outside else _clip_step(start, end)
        if part is None:
            if len(run) > 1:
                yield np.array(run)
            run = []
            continue
        first, last = part
        if not run or run[-1] != first:
            if len(run) > 1:
                yield np.array(run)
            run = [first]
        run.append(last)
    if len(run) > 1:
        yield np.array(run)


def _clip_step(
    start: list[float], end: list[float]
) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """The part of a straight step in the box (Liang and Barsky); None where there is none."""
    low, high = 0.0, 1.0
    for at, target in zip(start, end, strict=True):
        way = target - at
        if way == 0:
            if not 0 <= at <= 1:
                return None
            continue
        enter, leave = sorted((-at / way, (1 - at) / way))
        low, high = max(low, enter), min(high, leave)
    if low > high:
        return None
    (x, y), (a, b) = start, end
    first = (x, y) if low == 0 else (x + low * (a - x), y + low * (b - y))
    last = (a, b) if high == 1 else (x + high * (a - x), y + high * (b - y))
    return first, last


def _drop_seen(line: list[Pixel], seen: set[frozenset[Pixel]]) -> list[tuple[Pixel, ...]]:
    """The parts of a line that were not drawn yet: neighbors share borders."""
    pieces: list[list[Pixel]] = [[]]
    for pixel, following in pairwise(line):
        if pixel == following:
            continue
        step = frozenset((pixel, following))
        if step in seen:
            pieces.append([])
            continue
        seen.add(step)
        pieces[-1] += [following] if pieces[-1] else [pixel, following]
    return [tuple(part) for part in pieces if part]


def _keep_points(points: Integers, tolerance: int) -> Integers:
    """Which points of a line to keep, so that no other is farther from it than this: in whole numbers."""
    kept = {0, len(points) - 1}
    parts = [(0, len(points) - 1)]
    while parts:
        first, last = parts.pop()
        if last - first < 2:
            continue
        between = points[first + 1 : last] - points[first]
        way = points[last] - points[first]
        length = int(way @ way)
        if length:
            squared = (between[:, 0] * way[1] - between[:, 1] * way[0]) ** 2
        else:  # a ring ends where it begins
            squared = (between**2).sum(axis=1)
        farthest = int(squared.argmax())
        if int(squared[farthest]) > tolerance * tolerance * (length or 1):
            middle = first + 1 + farthest
            kept.add(middle)
            parts += [(first, middle), (middle, last)]
    return np.array(sorted(kept))
