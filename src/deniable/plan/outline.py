"""Reduces GeoJSON to the lines and names that a screen shows of a box of latitudes and longitudes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, final

import numpy as np

from deniable.arrays import Floats, Integers
from deniable.domain.grid import Grid
from deniable.errors import InvalidParameter

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


def find_position(latitude: float, longitude: float, grid: Grid, side: int) -> Pixel:
    """The coordinates of a location in the box."""
    [(x, y)] = _round(np.clip(_place(np.array([[longitude, latitude]]), grid), 0, 1), side).tolist()
    return int(x), int(y)


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
