"""Maps of grids: reduced from GeoJSON; part of the plan and its id; refused with a reason."""

from __future__ import annotations

import copy
import json
import math
import pickle
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import deniable as dn
from deniable.errors import InvalidParameter
from deniable.plan.maps import MOST_POINTS, SIDE, Map
from deniable.study import Plan
from tests.running import Run

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
BOX = dn.Grid(52.0, 13.0, 53.0, 14.0, rows=4, columns=5, privacy="equal")


def line(*positions: tuple[float, float]) -> dict[str, Any]:
    return {"type": "LineString", "coordinates": [list(one) for one in positions]}


def feature(geometry: dict[str, Any] | None, **properties: Any) -> dict[str, Any]:
    return {"type": "Feature", "properties": properties, "geometry": geometry}


def together(*features: dict[str, Any]) -> dict[str, Any]:
    return {"type": "FeatureCollection", "features": list(features)}


def test_the_example_of_the_documents_becomes_part_of_a_plan(run: Run, tmp_path: Path) -> None:
    study = dn.Study.read(EXAMPLES / "island.toml")
    plan = study.plan(people=2000)
    [(name, drawn)] = plan.document.maps
    assert name == "beach"
    assert [town.name for town in drawn.towns] == ["Southport", "Midbridge", "Westhaven", "Northcliff"]
    assert len(drawn.lines) == 3  # the coast, the islet and the river
    assert Plan.from_json(plan.to_json()) == plan
    assert plan.with_maps({}).id != plan.id
    assert plan.with_maps({}).to_json() == plan.with_maps({}).with_ask("all").to_json()
    assert pickle.loads(pickle.dumps(study)).plan(people=2000).id == plan.id
    assert copy.deepcopy(drawn) == drawn
    plan.write(tmp_path / "plan.json")
    said = run("verify", str(tmp_path / "plan.json")).out
    assert "under the cells of 'beach': a map of 3 lines with" in said
    assert "4 towns: Southport, Midbridge" in said


def test_lines_are_clipped_rounded_and_not_drawn_twice() -> None:
    through = line((12.0, 52.5), (15.0, 52.5))
    found = Map.of(BOX, together(feature(through), feature(through)))
    assert found.lines == ((0, 2048, SIDE, 2048),)
    outside = line((13.2, 52.2), (13.2, 54.0), (13.6, 54.0), (13.6, 52.2))
    assert Map.of(BOX, outside).lines == ((819, 3276, 819, 0), (2457, 0, 2457, 3276))
    square = [[13.25, 52.25], [13.75, 52.25], [13.75, 52.75], [13.25, 52.75], [13.25, 52.25]]
    both = together(
        feature({"type": "Polygon", "coordinates": [square]}),
        feature({"type": "MultiPolygon", "coordinates": [[[[x + 0.5, y] for x, y in square]]]}),
    )
    points = {tuple(one[i : i + 4]) for one in Map.of(BOX, both).lines for i in range(0, len(one) - 2, 2)}
    assert len(points) == 4 + 2  # the common side once, and what lies beyond the box not at all


def test_a_box_across_the_date_line_has_its_map() -> None:
    box = dn.Grid(-20.0, 175.0, -10.0, -175.0, rows=4, columns=4, privacy="equal")
    crossing = line((176.0, -15.0), (179.9, -15.0), (-179.9, -15.0), (-176.0, -15.0))
    assert Map.of(box, crossing).lines == ((409, 2048, 3686, 2048),)
    around = line((-170.0, -15.0), (170.0, -15.0))  # it goes over the date line, too
    assert Map.of(box, around).lines == ((SIDE, 2048, 0, 2048),)
    [town] = Map.of(box, towns={"Suva": (-18.14, 178.44)}).towns
    assert (town.x, town.y) == (round(0.344 * SIDE), round(0.814 * SIDE))


def distance(point: tuple[int, int], start: tuple[int, int], end: tuple[int, int]) -> float:
    """From a point to a step, as everybody learns it."""
    (x, y), (a, b), (c, d) = point, start, end
    length = math.hypot(c - a, d - b)
    if not length:
        return math.hypot(x - a, y - b)
    part = min(1.0, max(0.0, ((x - a) * (c - a) + (y - b) * (d - b)) / length**2))
    return math.hypot(x - a - part * (c - a), y - b - part * (d - b))


def test_a_fine_coast_is_reduced_and_stays_where_it_was() -> None:
    steps = 40_000
    angles = [2 * math.pi * i / steps for i in range(steps + 1)]
    coast = [(13.5 + (0.4 + 0.02 * math.sin(40 * a)) * math.cos(a), 52.5 + 0.4 * math.sin(a)) for a in angles]
    [reduced] = Map.of(BOX, line(*coast)).lines
    points = list(zip(reduced[::2], reduced[1::2], strict=True))
    assert 100 < len(points) < 1000
    for longitude, latitude in coast[::997]:
        at = round((longitude - 13) * SIDE), round((53 - latitude) * SIDE)
        assert min(distance(at, *step) for step in pairwise(points)) < 4


def test_what_is_too_fine_for_a_screen_is_refused_with_advice() -> None:
    teeth = [
        line(*[(13 + x / 200, 52 + (y + 3 * (x % 2)) / 200) for x in range(200)]) for y in range(0, 200, 4)
    ]
    with pytest.raises(InvalidParameter, match=r"at most 4,800; leave out streets"):
        Map.of(BOX, together(*map(feature, teeth)))
    Map.of(BOX, together(*map(feature, teeth[:20])))


@pytest.mark.parametrize(
    ("outline", "problem"),
    [
        ({"type": "Topology"}, "an object of type 'Topology'"),
        ({"type": "FeatureCollection"}, "no list 'features'"),
        ({"type": "LineString", "coordinates": [["a", 1]]}, "longitude and latitude"),
        ({"type": "LineString", "coordinates": [[1]]}, "longitude and latitude"),
        ({"type": "Polygon", "coordinates": 3}, "lists of numbers"),
        (line((52.5, 13.1), (52.6, 13.2)), "longitude, then latitude"),
        (together(feature(None)), "nothing of the outline"),
    ],
)
def test_what_is_no_outline_of_the_box_is_refused(outline: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidParameter, match=problem):
        Map.of(BOX, outline)


def test_images_and_what_is_too_fine_are_refused(tmp_path: Path) -> None:
    for name in ("map.png", "map.JPG", "drawn.svg"):
        (tmp_path / name).write_bytes(b"\x89PNG")
        with pytest.raises(InvalidParameter, match=rf"{name}: .* images under maps are retired"):
            Map.read(tmp_path / name, BOX)
    with pytest.raises(InvalidParameter, match="images under maps are retired; give GeoJSON"):
        Map.from_dict({"image": "iVBORw0KGgo="}, BOX, "home")
    with pytest.raises(InvalidParameter, match="at most 4,800 points"):
        Map(Map.of(BOX, towns={"Here": (52.5, 13.5)}).box, ((0, 0, 1, 1) * (MOST_POINTS // 2) + (2, 2),))


def test_towns_and_maps_are_refused_where_they_do_not_belong(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match=r"the town 'Rome': .* swapped"):
        Map.of(BOX, towns={"Rome": (13.5, 52.5)})
    with pytest.raises(InvalidParameter, match="latitude and longitude by name"):
        Map.of(BOX, towns=["Rome"])  # type: ignore[arg-type]  # a list
    drawn = Map.of(BOX, towns={"Here": (52.5, 13.5)})
    other = dn.Grid(52.0, 13.0, 53.0, 14.5, rows=4, columns=5, privacy="equal")
    with pytest.raises(InvalidParameter, match="made for another box"):
        dn.Study({"home": other}, epsilon=1.0, maps={"home": drawn})
    with pytest.raises(InvalidParameter, match="not locations on a grid"):
        dn.Study({"home": ["a", "b"]}, epsilon=1.0, maps={"home": drawn})
    with pytest.raises(InvalidParameter, match="did you mean 'home'"):
        dn.Study({"home": BOX}, epsilon=1.0, maps={"hom": drawn})
    (tmp_path / "study.toml").write_text(
        'epsilon = 1\n[attributes.color]\nvalues = ["a", "b"]\nmap = "a.geojson"\n', encoding="utf-8"
    )
    with pytest.raises(InvalidParameter, match=r"attributes.color: map and towns are for locations"):
        dn.Study.read(tmp_path / "study.toml")


def test_a_document_that_draws_elsewhere_is_refused() -> None:
    plan = Plan.of({"home": BOX}, dn.grr(20, 1.0), people=100)
    data = json.loads(plan.with_maps({"home": Map.of(BOX, towns={"Here": (52.5, 13.5)})}).to_json())
    assert data["maps"] == {"home": {"towns": [{"name": "Here", "x": 2048, "y": 2048}]}}
    assert "maps" not in json.loads(plan.to_json())
