"""Results of a population: known groups weighted to their sizes, in all that is read of them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.text import Text

import deniable as dn
from deniable.errors import InvalidParameter
from deniable.reports import Tallies
from deniable.results.findings import Findings, FindingsRequest
from deniable.results.weights import read_weights
from deniable.study import Plan, Result
from deniable_papers.simulate.drawn import draw_tally
from tests.statistics import CROSSED_SIZE, TESTED_STUDIES

REGIONS = {"region": {"north": 0.4, "south": 0.6}}
BOTH = REGIONS | {"arm": {"A": 1, "B": 1}}


def make_plan(**options: Any) -> Plan:
    """Known regions and arms, and secret questions of every kind."""
    attributes = {
        "region": ["north", "south"],
        "arm": ["A", "B"],
        "smokes": ["yes", "no"],
        "drinks": ["yes", "no"],
        "age": dn.Range(20, 80, step=10),
        "pay": dn.Number(0, 100),
        "media": dn.Several(["tv", "web"]),
    }
    study = dn.Study(
        attributes, 2.0, known=["region", "arm"], together=[["drinks", "smokes"]], title="Work", **options
    )
    return study.plan(people=8000)


PLAN = make_plan()


def report(plan: Plan, n: int = 8000, seed: int = 1) -> Result:
    """People of whom too many are of the north, most of all in arm A; only their region matters."""
    generator = np.random.default_rng(seed)
    arm = generator.choice(["A", "B"], n)
    is_north = generator.random(n) < np.where(arm == "A", 0.9, 0.4)
    smokes, drinks = (np.where(generator.random(n) < np.where(is_north, 0.2, 0.6), "yes", "no") for _ in "ab")
    age = np.where(is_north, generator.integers(20, 50, n), generator.integers(40, 80, n))
    answers = {
        "region": np.where(is_north, "north", "south"),
        "arm": arm,
        "smokes": smokes,
        "drinks": drinks,
        "age": age,
        "pay": np.where(is_north, 20.0, 70.0),
        "media": [["tv"] if north else ["web"] for north in is_north.tolist()],
    }
    return plan.estimate(plan.tally(plan.privatize(answers, dn.seeded(seed))))


RESULT = report(PLAN)
WEIGHTED = RESULT.weighted(REGIONS)


@pytest.mark.parametrize("sizes", [REGIONS, BOTH], ids=["regions", "raking"])
def test_all_that_is_read_is_of_the_population(sizes: Mapping[str, Mapping[str, float]]) -> None:
    """Each number with its truth in a population of which 60 % are of the south. The reports alone say else:
    65 % of the people are of the north.
    """
    weighted = RESULT.weighted(sizes)
    smokers, drinkers = (weighted.cross(name, by=other) for name, other in _pair())
    read = {
        "tv": (weighted["media: tv"].frequencies[0], weighted["media: tv"].stderr[0], 0.4),
        "pay": (weighted.mean("pay").value, weighted.mean("pay").stderr, 50.0),
        "age": (weighted.mean("age").value, weighted.mean("age").stderr, 0.4 * 35 + 0.6 * 60),
        "middle": (weighted.range("age", 20, 50).value, weighted.range("age", 20, 50).stderr, 0.4 + 0.15),
        "smokes": (smokers.total("yes").value, smokers.total("yes").stderr, 0.44),
        "drinks": (drinkers.total("yes").value, drinkers.total("yes").stderr, 0.44),
    }
    far = {name: round((value - truth) / error, 1) for name, (value, error, truth) in read.items()}
    assert all(abs(steps) < 4 for steps in far.values()), far
    alone = RESULT.mean("pay")
    assert alone.value + 6 * alone.stderr < 50, "the reports alone are of other people"


def _pair() -> list[tuple[str, str]]:
    return [("smokes", "drinks"), ("drinks", "smokes")]


def test_rows_of_a_known_question_are_made_comparable() -> None:
    """Arms whose people are of other regions differ, until each is weighted."""
    before, after = (result.cross("smokes", by="arm") for result in (RESULT, WEIGHTED))
    assert before.test().p < 0.01 < 0.05 < after.test().p
    assert before.difference("A", "B").high < 0
    assert after.difference("A", "B").low < 0 < after.difference("A", "B").high
    assert after.base("A") == before.base("A"), "how many people an arm has is counted, and not weighted"
    regions = [result.cross("smokes", by="region") for result in (RESULT, WEIGHTED)]
    assert regions[1].shares == pytest.approx(regions[0].shares), "a region is the same people as before"
    assert regions[1].base("south").value == pytest.approx(0.6)
    # the other way round, the columns are known: who smokes, and where
    assert WEIGHTED.cross("region", by="smokes").total("south").value == pytest.approx(0.6)
    assert "weighted to the population by region (north 40 %, south 60 %)" in str(after)
    assert after.about()["weighted"] == after.weighted
    frame = after.frame(backend="pyarrow").to_pylist()
    assert [row["effective"] for row in frame] == [number for number in after.effective for _ in range(2)]
    assert after.effective[0] < regions[0].n / 2 * 0.6, "in arm A most are of the north"


def test_joined_groups_have_one_size() -> None:
    joined = RESULT.weighted({"region": {"north + south": 1}, "arm": {"A": 1, "B": 3}})
    arms = RESULT.weighted({"arm": {"A": 1, "B": 3}})
    assert joined["media: tv"].frequencies == pytest.approx(arms["media: tv"].frequencies)
    table = joined.cross("smokes", by="region")
    assert table.base("north").value == pytest.approx(RESULT.cross("smokes", by="region").base("north").value)
    assert table.cautions[0] == "region = north + south has one size, which is divided as people reported"


def test_what_is_shown_says_that_it_is_weighted() -> None:
    text, frame = WEIGHTED.text(), WEIGHTED.frame(backend="pyarrow").to_pylist()
    assert text.splitlines()[1] == "weighted to the population by region (north 40 %, south 60 %)"
    weighed = WEIGHTED.numbers.weighting
    assert weighed is not None
    effective = weighed.attributes["pay"].effective
    assert f"weighted, are about as good as {effective:,.0f} of a simple sample" in text
    assert {row["effective"] for row in frame if row["attribute"] == "pay"} == {effective}
    assert "effective" not in RESULT.frame(backend="pyarrow").column_names
    about = json.loads(json.dumps(WEIGHTED.find().about()))["weights"]
    assert about["population"] == REGIONS
    assert {row["attribute"] for row in about["attributes"]} == set(WEIGHTED)
    texts = [text.get_text() for text in WEIGHTED.plot().findobj(Text) if isinstance(text, Text)]
    assert any("weighted to the population" in text for text in texts)
    assert any("weighted, as good as" in text for text in texts)


def test_costly_weights_and_small_groups_are_warned_of() -> None:
    result = report(PLAN, 400).weighted({"region": {"north": 1, "south": 60}, "arm": {"A": 1, "B": 200}})
    assert result.numbers.weighting is not None
    warnings = [text for part in result.numbers.weighting.attributes.values() for text in part.warnings]
    assert any("cost more than half of the people" in text for text in warnings)
    assert any(re.search(r"only \d reports? of region = south, arm = A: join", text) for text in warnings)
    assert all(text in result.text() for text in warnings if "more than half" in text)
    assert WEIGHTED.numbers.weighting is not None
    assert not any(part.warnings for part in WEIGHTED.numbers.weighting.attributes.values())


def test_a_question_without_reports_of_a_group_is_refused_alone() -> None:
    plan = dn.Study(
        {"region": ["north", "south", "east"], "smokes": ["yes", "no"], "drinks": ["yes", "no"]},
        1.0,
        known=["region"],
        mechanism="sample",
    ).plan(people=100)
    people = {"region": ["north", "south"] * 50 + ["east"], "smokes": ["yes"] * 101, "drinks": ["no"] * 101}
    weighted = plan.estimate(plan.tally(plan.privatize(people, dn.seeded(3)))).weighted(
        {"region": {"north": 1, "south": 2, "east": 3}}
    )
    [(name, nothing)] = weighted.unreported.items()
    assert len(weighted) == 1
    assert nothing.why == (
        "nobody of region = east reported it, so that the population is not known; join groups, and give "
        "'north + east' one size"
    )
    assert nothing.why in weighted.text()
    with pytest.raises(InvalidParameter, match=re.escape("nobody of region = east")):
        weighted.cross(name, by="region").test()


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({}, "weights are the sizes of known groups"),
        ([1, 2], "weights are the sizes of known groups"),
        ({"regoin": {}}, "'regoin' is not a question that is known (region, arm); did you mean 'region'?"),
        ({"smokes": {"yes": 1, "no": 2}}, "'smokes' is secret: no report says it for certain"),
        ({"region": [0.4, 0.6]}, 'a number for each answer, such as {"north": 0.4, "south": 0.6}'),
        ({"region": {"north": 1}}, "leave out 'south'; everybody is in a group"),
        ({"region": {"north": 1, "sout": 2}}, "'sout' is not an answer to 'region'"),
        ({"region": {"north": 1, "north + south": 2}}, "name 'north' twice"),
        ({"region": {"north": 1, "south": 0}}, "the size of region = south is a number above 0"),
        ({"region": {"north": 1, "south": "many"}}, "the size of region = south is a number above 0"),
        ({"region": {"north": 1, "south": True}}, "the size of region = south is a number above 0"),
        ({"region": {"north": 1, "south": float("inf")}}, "the size of region = south is a number above 0"),
    ],
)
def test_sizes_are_refused_in_words(sizes: Any, message: str) -> None:
    with pytest.raises(InvalidParameter, match=re.escape(message)):
        RESULT.weighted(sizes)


def test_what_weights_cannot_do_is_refused_in_words() -> None:
    secret = dn.Study({"smokes": ["yes", "no"]}, 1.0).plan(people=10)
    with pytest.raises(InvalidParameter, match="this plan knows no groups"):
        secret.estimate(secret.tally(secret.privatize({"smokes": ["yes"] * 10}))).weighted(REGIONS)
    with pytest.raises(InvalidParameter, match="it is weighted already"):
        WEIGHTED.weighted(REGIONS)
    assert RESULT.tallies is not None
    smoothed = PLAN.estimate(RESULT.tallies, smooth=True)
    with pytest.raises(InvalidParameter, match="smoothed shares cannot be weighted"):
        smoothed.weighted(REGIONS)
    for request in (FindingsRequest(mle=True), FindingsRequest(fakes=0.01)):
        with pytest.raises(InvalidParameter, match="read them without weights"):
            Findings.read(WEIGHTED.numbers, request=request)
    with pytest.raises(InvalidParameter, match="weighted alike"):
        WEIGHTED.change(RESULT)
    with pytest.raises(InvalidParameter, match="about a population; leave one of them out"):
        WEIGHTED.change(WEIGHTED, people="same")
    with pytest.raises(InvalidParameter, match="weighted alike"):
        WEIGHTED.cross("smokes", by="arm").change(RESULT.cross("smokes", by="arm"))
    with pytest.raises(InvalidParameter, match="a regression by known questions is not weighted"):
        WEIGHTED.regress("smokes", ["arm"])


def test_changes_and_windows_are_of_the_population() -> None:
    later = report(PLAN, seed=2).weighted(REGIONS)
    change = later.change(WEIGHTED)
    assert change.low["pay"] < 0 < change.high["pay"]
    assert "weighted to the population by region" in change.text()
    assert "weighted to the population by region" in str(change.cross("smokes", by="drinks"))
    assert later.regress("smokes", ["drinks"])["drinks = no"].high < 0


def test_a_file_of_sizes_is_csv_or_json(tmp_path: Path) -> None:
    table, document = tmp_path / "weights.csv", tmp_path / "weights.json"
    table.write_text("question,answer,size\nregion,north,0.4\nregion,south,0.6\n", encoding="utf-8-sig")
    document.write_text(json.dumps(REGIONS), encoding="utf-8")
    assert read_weights(table) == read_weights(document) == REGIONS


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("w.csv", "region,north,0.4\n", "the first line of .* is question,answer,size"),
        (
            "w.csv",
            "question,answer,size\nregion,north,much\n",
            "line 2: the size of region = north is a number",
        ),
        ("w.csv", "question,answer,size\nregion,north\n", "line 2: the size of region = north is a number"),
        ("w.csv", "question,answer,size\nregion,n,1\nregion,n,2\n", "line 3: region = n is there twice"),
        ("w.json", "[", "is no JSON"),
        ("w.json", "[]", "must hold"),
    ],
)
def test_a_file_is_refused_with_its_line(tmp_path: Path, name: str, text: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidParameter, match=message):
        read_weights(path)


def test_a_file_in_another_encoding_is_refused(tmp_path: Path) -> None:
    (path := tmp_path / "w.csv").write_text("question,answer,size\nregion,Süd,1\n", encoding="latin-1")
    with pytest.raises(InvalidParameter, match="is not in UTF-8; save the sizes as CSV UTF-8"):
        read_weights(path)


ARMS = dn.Study(
    {"region": ["north", "south"], "arm": ["A", "B"], "smokes": ["yes", "no"]}, 1.0, known=["region", "arm"]
).plan(people=2000)
PAIRS = dn.Study(
    {"region": ["north", "south"], "smokes": ["yes", "no"], "drinks": ["yes", "no"]},
    3.0,
    known=["region"],
    together=[["smokes", "drinks"]],
).plan(people=2000)


def find_dependence(plan: Plan, seed: int, pair: tuple[str, str], weighted: bool) -> bool:
    """Whether a test at 5 % finds dependence in one study: of answers that depend on the region alone, or of
    independent ones in each region.
    """
    generator = np.random.default_rng(seed)
    known = plan.document.known
    assert known is not None
    regions, parts = ((0.9, 0.1), (0.3, 0.7)), []
    for group in range(known.size):
        region, arm = (group // 2, group % 2) if known.size == 4 else (group, 0)
        n = round(1000 * regions[arm][region])
        share = (0.2, 0.6)[region]
        shares = np.array([share, 1 - share])
        if plan is PAIRS:
            # each region has its own share of smokers, and drinkers are as many everywhere
            shares = np.outer(shares, [0.4, 0.6]).ravel()
        people = generator.multinomial(n, shares)
        tally = draw_tally(plan.document.mechanism.mechanisms[0], people, generator)
        parts.append({plan.names[0]: tally})
    total = sum((part[plan.names[0]] for part in parts[1:]), parts[0][plan.names[0]])
    result = plan.estimate(Tallies(plan.id, total.n, {plan.names[0]: total}, tuple(parts)))
    return (result.weighted(REGIONS) if weighted else result).cross(*pair).test().p < 0.05


@pytest.mark.long
@pytest.mark.parametrize("plan", ["arms", "pairs"])
def test_a_test_of_the_population_has_its_size(plan: str) -> None:
    """Arms of other regions, whose answers depend on the region alone, and two answers that are independent
    in each region.
    """
    chosen, pair = (ARMS, ("smokes", "arm")) if plan == "arms" else (PAIRS, ("smokes", "drinks"))
    rate = np.mean([find_dependence(chosen, seed, pair, True) for seed in range(TESTED_STUDIES)])
    assert CROSSED_SIZE[0] <= rate <= CROSSED_SIZE[1]
    if plan == "arms":
        assert all(find_dependence(chosen, seed, pair, False) for seed in range(20))
