"""Whatever is refused is refused by an error of ours, in words that say what was given, what is allowed and
what to do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.client import Client
from deniable.metric import great_circle
from deniable.metric.line import GeometricChannel
from deniable.study import Plan
from spec.make import vectors

CITY = dn.Grid(47.6, 6.8, 47.7, 6.95, rows=20, columns=20)
HOME = Plan.of({"home": vectors.TOWN}, vectors.metric_parts()[2], 10)
WRONG: Any = object()
LINE = dn.metric.geometric(19, 0.5)
SMOKES = {"smokes": ["yes", "no"]}

HALVES, EVEN = [0.5, 0.5], np.full((2, 2), 0.5)
LIKELY = dn.mle(LINE, dn.Tally(40, np.full(20, 2)))

REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "text for a mean": (
        lambda: dn.metric.duchi(1.0).privatize(["a"]),
        "list of numbers from -1 to 1: got text",
    ),
    "text for a piece": (
        lambda: dn.metric.piecewise(1.0).privatize(["a"]),
        "list of numbers from -1 to 1: got text",
    ),
    "text for both": (lambda: dn.metric.hybrid(1.0).privatize([WRONG]), "list of numbers from -1 to 1"),
    "another size": (
        lambda: LINE.estimate(dn.Tally(10, np.array([4, 3, 2, 1]))),
        "counts of 20 outputs, got 4",
    ),
    "another sum": (
        lambda: LINE.estimate(dn.Tally(10, np.ones(20, int))),
        "add up to its 10 reports, got 20",
    ),
    "fractions": (lambda: LINE.estimate(dn.Tally(10, np.full(20, 0.5))), "a whole number for each output"),
    "fractions of values": (
        lambda: dn.grr(3, 1.0).estimate(dn.Tally(10, np.array([3.5, 3.5, 3]))),
        "whole numbers, got 3.5",
    ),
    "a box without a name": (lambda: CITY.codes([(1, 2)]), r"not in the box of this attribute \(lat"),
    "a number's epsilon": (
        lambda: dn.Study({"income": dn.Number(0, 10)}, epsilon=100).plan(100),
        "epsilon = 100 hides nothing: .* at 4 for 98.2 %",
    ),
    "an epsilon for ever": (
        lambda: dn.Study(SMOKES, epsilon_first=1.0, epsilon_forever=1000.0, rounds=3).plan(100),
        "epsilon_forever = 1000 hides nothing",
    ),
    "together with what is not asked": (
        lambda: dn.Study(SMOKES | {"age": ["young", "old"]}, epsilon=1.0, together=[("age", "smoke")]),
        r"together: 'smoke' is not a question of this study \(smokes, age\); did you mean 'smokes'\?",
    ),
    "a scale that goes down": (lambda: dn.Range.scale(5, 1), r"such as \[1, 5\], got \[5, 1\]"),
    "a scale of one number": (lambda: dn.Range.scale(3, 3), r"up to its highest, .* got \[3, 3\]"),
    "dates that go back": (
        lambda: dn.Range.dates("2026-01-01", "2020-01-01", by="year"),
        "from the first year up to a later one, got 2026-01-01 and 2020-01-01",
    ),
    "a typo": (
        lambda: dn.Study.from_dict(
            {"epsilon": 1, "attributes": {"income": {"low": 0, "high": 10, "maen": True}}}
        ),
        "attributes.income.maen: .* and no 'maen'; did you mean 'mean'?",
    ),
    "a typo of a grid": (
        lambda: dn.Study.from_dict(
            {"attributes": {"home": {"south": 47.6, "west": 6.8, "north": 47.7, "row": 10}}}
        ),
        "^attributes.home.row: locations on a grid may have south, .* radius, and no 'row'; did you mean "
        "'rows'[?]$",
    ),
    "an epsilon of a list": (
        lambda: dn.Study({"b": {"values": ["x", "y"], "epsilon": 0.5}, "c": ["u", "v"]}, epsilon=1.0),
        r"^attributes.b.epsilon: a list of values has no epsilon of its own: only metric ranges .* "
        r"dn.smp\(sizes, epsilons\)",
    ),
    "an epsilon of a mean": (
        lambda: dn.Study({"pay": {"low": 0, "high": 9, "mean": True, "privacy": "metric"}}, epsilon=1.0),
        "^attributes.pay.privacy: a number whose mean is wanted has no privacy of its own",
    ),
    "a step of a list": (
        lambda: dn.Study({"b": {"values": ["x", "y"], "step": 5}}, epsilon=1.0),
        "^attributes.b.step: 'step' is for a range, and this is a list of values, which has values$",
    ),
    "no place": (
        lambda: HOME.encode({"income": [1]}),
        "'home' is not a column .* or two columns, 'home.latitude' and 'home.longitude'",
    ),
    "far around": (
        lambda: dn.metric.great_circle((45, 400), (0.0, 0.0)),
        "or up to 360 where it goes on around the globe",
    ),
    "per meter": (
        lambda: dn.metric.planar_geometric(CITY, 0.5),
        r"epsilon is per meter on a Grid, .* use per_meter\(level",
    ),
    "half a year": (lambda: LINE.privatize([3.5]), "round numbers to whole ones"),
    "texts for a mean's places": (
        lambda: dn.summaries.mean_of(LIKELY, positions=["a"] * 20),
        "positions are 20 numbers, got",
    ),
    "texts for shares": (lambda: LINE.forward(["a"] * 20), "shares are 20 numbers, got"),
    "texts for outputs": (
        lambda: GeometricChannel(1, 1.0).inverse(["a", "b"]),
        "one number for each of the 2 values",
    ),
    "too few shares": (
        lambda: GeometricChannel(3, 1.0).output(HALVES),
        r"of the 4 values and outputs, got .* \(2,\)",
    ),
    "texts for weights": (lambda: LIKELY.smooth(weights=["a"]), "smoothing weights are from 0 to 0.5, got"),  # type: ignore[list-item]
    "places under a mask": (
        lambda: dn.metric.great_circle(np.ma.masked_equal([[1.0, 2.0]], 2), (0.0, 0.0)),
        "masked: leave them",
    ),
    "places of two and three": (
        lambda: great_circle([(0, 0)] * 2, [(0, 0)] * 3),
        "as many as there are others, got 2 and 3",
    ),
    "halves for reports of a mean": (
        lambda: dn.metric.duchi(1.0).tally(np.array([0.5])),
        "are uint8 from 0 to 1",
    ),
    "another output of a mean": (
        lambda: dn.metric.duchi(1.0).tally(np.array([0, 2])),
        "are uint8 from 0 to 1",
    ),
    "no method": (
        lambda: dn.mle(LINE, dn.Tally(20, np.ones(20, int)), method=WRONG),
        "is not a method .auto, closed",
    ),
    "no step": (
        lambda: LINE.estimate(dn.Tally(40, np.full(20, 2))).project(WRONG),
        "is not a consistency step .clip",
    ),
    "next to no epsilon": (
        lambda: dn.metric.planar_geometric((30, 30), 1e-6),
        "epsilon 1e-06 is too small .* or larger cells",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_say_what_was_given_and_what_to_do(name: str) -> None:
    act, words = REFUSED[name]
    with pytest.raises(dn.DeniableError, match=words):
        act()


def test_reports_of_a_mean_may_have_been_a_list() -> None:
    """As those of all other mechanisms, through CSV or JSON."""
    for m in (dn.metric.duchi(1.0), dn.metric.piecewise(1.0), dn.metric.hybrid(1.0)):
        reports = m.privatize([0.5, -0.5, 1, -1], dn.seeded(1))
        assert m.tally(reports.tolist()) == m.tally(reports.astype(np.int64)) == m.tally(reports)
        assert m.tally([]).n == 0  # type: ignore[arg-type]


def test_a_channel_may_be_a_dataframe() -> None:
    pd = pytest.importorskip("pandas")
    tally = dn.Tally(10, np.array([4, 6]))
    rows = [[0.5, 0.5], [0.2, 0.8]]
    assert dn.mle(pd.DataFrame(rows), tally).frequencies.tolist() == dn.mle(rows, tally).frequencies.tolist()


def test_a_mean_loses_at_most_epsilon_for_any_two_numbers() -> None:
    for m in (dn.metric.duchi(1.0), dn.metric.piecewise(1.0), dn.metric.hybrid(1.0)):
        assert 1 - 1e-9 < m.loss() <= 1


def test_a_device_takes_a_location_in_two_parts() -> None:
    client = Client(HOME, secret=bytes(32))
    whole = client._encode_answers({"home": (47.6033, 6.8149)})
    assert (
        client._encode_answers(client._join_degrees({"home.latitude": 47.6033, "home.longitude": "6.8149"}))
        == whole
    ).all()
    client.report({"home.latitude": 47.6033, "home.longitude": 6.8149})
    for absent in ({"home.latitude": 47.6033}, {"home.latitude": 47.6033, "home.longitude": None}):
        with pytest.raises(dn.InvalidValue, match="'home' has no answer"):
            Client(HOME, secret=bytes(32)).report(absent)
    with pytest.raises(dn.InvalidParameter, match="is not asked in this plan"):
        Client(HOME, secret=bytes(32)).report({"house.latitude": 1})


def test_a_warning_writes_numbers_of_people_alike() -> None:
    warned = dn.Study({"town": [str(i) for i in range(50)]}, epsilon=0.5).plan(20_000).explain()
    assert "With 20,000 people the answer would be noise" in warned
    assert "20000" not in warned
