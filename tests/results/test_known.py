"""Groups that the collector knows anyway: what reports hide stays hidden, and tables by groups are exact."""

from __future__ import annotations

import pickle
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.arrays import Floats
from deniable.audit.setting import make_setting
from deniable.cross import CrossTable
from deniable.cross.spread import GroupedReport, OneReport
from deniable.explain.table_precision import count_people, expect_tables
from deniable.mechanisms import Tally
from deniable.plan.known_groups import add_groups
from deniable.reports import Tallies
from deniable.store.counting import Sums
from deniable.study import Plan
from deniable.wire import Refused, Report, Wire
from spec.make.groups import ANSWERS, TRIAL, answers_of, plans
from tests.statistics import CROSSED_HELD, CROSSED_SIZE, CROSSED_STUDIES, TESTED_STUDIES

SMOKING = dn.Study(
    {"age": dn.Range(20, 70, step=10), "smoker": ["yes", "no"]}, epsilon=1.0, known=["age"]
).plan(people=20_000)
COLORS = dn.Study(
    {"arm": ["A", "B"], "color": ["red", "green", "blue"]}, epsilon=1.0, known=["arm"], protocol="grr"
).plan(people=1000)


@pytest.mark.parametrize("name", plans())
def test_the_group_is_all_that_differs_between_groups(name: str) -> None:
    """The same words give the same report but for the byte that names the group: so nothing else depends on
    it, and every loss is that of the plan without groups.
    """
    plan = plans()[name]
    plain, known = plan.with_texts(None).with_known({}), plan.document.known
    assert plan.stated == plain.stated
    assert known is not None
    answers = answers_of(plan)[0]
    bodies = []
    for group in range(known.size):
        parts = np.unravel_index(group, known.shape)
        here: dict[str, Any] = {}
        for (question, domain), code in zip(known.factors, parts, strict=True):
            here[question] = int(code) if isinstance(domain, dn.Range) else domain.labels[int(code)]
        words = dn.remembering(5, dn.seeded(6)) if plan.document.rounds else dn.seeded(5)
        [body] = Wire(plan.document).bodies(plan.privatize([answers | here], words))
        assert body[0] == group
        bodies.append(body[1:])
    words = dn.remembering(5, dn.seeded(6)) if plan.document.rounds else dn.seeded(5)
    hidden = {question: answer for question, answer in answers.items() if question not in known.names}
    [body] = Wire(plain.document).bodies(plain.privatize([hidden], words))
    assert set(bodies) == {body}


@pytest.mark.parametrize("name", ["grr", "ss", "oue", "hr"])
def test_covariances_are_those_of_all_reports_of_all_groups(name: str) -> None:
    """Each report of each group with its probability, against the closed form; the last value is no answer,
    which comes after the cells of all groups.
    """
    mechanism = getattr(dn.mechanisms, name)(3, 1.0)
    law, bases = mechanism.law, np.array([0.3, 0.7])
    shares = np.array([[0.5, 0.3, 0.2], [0.1, 0.7, 0.2]])
    made = mechanism.privatize(np.arange(20_000) % 3, dn.seeded(3))
    _, first = np.unique(made.view(np.uint8).reshape(len(made), -1), axis=0, return_index=True)
    supports = mechanism.support(made[first]).astype(float)
    chances = _chances(name, mechanism, supports)
    spread = GroupedReport(law, 2, 2)
    cells, mean, square = np.zeros(6), np.zeros(6), np.zeros((6, 6))
    for base, share, here in zip(bases, shares, spread.positions, strict=True):
        cells[here] = base * share
        for support, chance in zip(supports, chances @ share, strict=True):
            one = (support - law.q) / law.gain
            added = np.zeros(6)
            added[here] = one - (one.sum() - 1) / 3
            mean += base * chance * added
            square += base * chance * np.outer(added, added)
    np.testing.assert_allclose(mean, cells, atol=1e-12)
    exact = square - np.outer(cells, cells)
    np.testing.assert_allclose(spread.covariance(cells, np.eye(6)), exact, atol=1e-9)


def _chances(name: str, mechanism: Any, supports: Floats) -> Floats:
    """How likely each report is for each value."""
    if name == "hr":
        chances = np.where(supports > 0, mechanism.law.p, 1 - mechanism.law.p) / (len(supports) / 2)
    else:
        logs = [mechanism.law.log_likelihood(int(one.sum())) for one in supports]
        chances = np.exp([np.where(one > 0, *both) for one, both in zip(supports, logs, strict=True)])
    np.testing.assert_allclose(chances.sum(axis=0), 1.0, atol=1e-12)  # so that none is missing
    return np.asarray(chances)


def test_expected_counts_give_the_true_shares() -> None:
    """Of groups of any size, and of everybody, weighted by the reports of each."""
    law: Any = SMOKING.mechanism.mechanisms[0].law
    shares, sizes = np.array([0.25, 0.3, 0.22, 0.15, 0.08]), np.array([100, 200, 300, 400, 500]) * 10**9
    groups = tuple(
        {"smoker": Tally(int(n), np.round(n * (law.q + law.gain * np.array([s, 1 - s]))).astype(int))}
        for n, s in zip(sizes, shares, strict=True)
    )
    result = SMOKING.estimate(Tallies(SMOKING.id, int(sizes.sum()), add_groups(groups), groups))
    table = result.cross("smoker", by="age")
    np.testing.assert_allclose(table.shares[:, 0], shares, atol=1e-9)
    np.testing.assert_allclose(table.cells.sum(axis=1), sizes / sizes.sum(), atol=1e-9)
    assert result["smoker"].frequencies[0] == pytest.approx(shares @ sizes / sizes.sum(), abs=1e-9)
    turned = result.cross("age", by="smoker")
    np.testing.assert_allclose(turned.cells, table.cells.T, atol=1e-12)


def _count(plan: Plan, shares: Floats, sizes: tuple[int, ...], rng: np.random.Generator) -> Tallies:
    """Tallies of a study whose mechanism names one value: the counts of a group are multinomial."""
    law: Any = plan.mechanism.mechanisms[0].law
    [name] = plan.names
    drawn = [rng.multinomial(n, law.q + law.gain * share) for n, share in zip(sizes, shares, strict=True)]
    groups = tuple({name: Tally(n, counts)} for n, counts in zip(sizes, drawn, strict=True))
    return Tallies(plan.id, sum(sizes), add_groups(groups), groups, round=1)


def _read(plan: Plan, tallies: Tallies) -> CrossTable:
    return plan.estimate(tallies).cross(plan.names[0], by="arm")


def test_the_test_is_that_of_homogeneity() -> None:
    """T = (F1 - F2)' [C(pooled) (1/n1 + 1/n2)]^-1 (F1 - F2) of two known groups, without the last value.

    The pooled shares are those of half a person more with each value.
    """
    sizes = (700, 300)
    law: Any = COLORS.mechanism.mechanisms[0].law
    shares = np.array([[0.5, 0.3, 0.2], [0.3, 0.3, 0.4]])
    table = _read(COLORS, _count(COLORS, shares, sizes, np.random.default_rng(2)))
    one, other = table.shares
    pooled = (700 * one + 300 * other + 0.5) / 1001.5
    covariance = OneReport(law).covariance(pooled, np.eye(3))[:2, :2] * (1 / 700 + 1 / 300)
    apart = (one - other)[:2]
    test = table.test()
    assert test.degrees == 2
    assert test.statistic == pytest.approx(apart @ np.linalg.solve(covariance, apart), rel=1e-8)


@pytest.mark.long
@pytest.mark.parametrize(("sizes", "seed"), [((500, 500), 1), ((200, 1800), 2)])
def test_equal_groups_are_found_different_as_often_as_stated(sizes: tuple[int, ...], seed: int) -> None:
    rng, shares = np.random.default_rng(seed), np.tile([0.5, 0.4, 0.1], (2, 1))
    found = [_read(COLORS, _count(COLORS, shares, sizes, rng)).test().p < 0.05 for _ in range(TESTED_STUDIES)]
    assert CROSSED_SIZE[0] <= np.mean(found) <= CROSSED_SIZE[1]


@pytest.mark.long
def test_intervals_of_groups_hold_and_those_of_everybody_would_not() -> None:
    """Where groups differ, an interval by the variance of everybody is the planted fault."""
    plan = replace(TRIAL, attributes={"arm": ["A", "B"], "ill": ["yes", "no"]}, epsilon=6.0, survey=None)
    made = plan.plan(people=1000)
    shares, sizes = np.array([[0.02, 0.98], [0.5, 0.5]]), (400, 1200)
    rng, held, faulty = np.random.default_rng(3), [], []
    for _ in range(CROSSED_STUDIES):
        tallies = _count(made, shares, sizes, rng)
        table = _read(made, tallies)
        held.append((table.low[:, 0] <= shares[:, 0]) & (shares[:, 0] <= table.high[:, 0]))
        everybody = made.estimate(tallies)["ill"].stderr[0] * np.sqrt(1600 / np.array(sizes))
        faulty.append(np.abs(table.shares[:, 0] - shares[:, 0]) <= stats.norm.isf(0.025) * everybody)
    assert (np.mean(held, axis=0) >= CROSSED_HELD[0]).all()
    assert np.mean(held) <= CROSSED_HELD[1]
    assert np.mean(faulty, axis=0)[0] > CROSSED_HELD[1]  # too wide where few are ill


def test_few_people_are_needed() -> None:
    """The numbers of the specification: 4.5 to 9 times fewer than where the rows are secret."""
    assert count_people(SMOKING.document, of="smoker", by="age", difference=0.05) == 35_145
    asked = {"age": dn.Range(20, 70, step=10), "smoker": ["yes", "no"]}
    plan = dn.Study(asked, epsilon=2.0, known=["age"]).plan(people=20_000)
    assert count_people(plan.document, of="smoker", by="age", difference=0.05) == 11_923
    with pytest.raises(dn.InvalidParameter, match="got 'age' twice"):
        count_people(plan.document, of="age", by="age", difference=0.05)
    text = " ".join(SMOKING.explain().split())
    assert "Known and sent as it is: 'age' (5 values)" in text
    assert "no loss above counts it" in text
    assert "a report hides only among those that name the same age" in text
    assert "learns at most" not in text, "what a shuffler adds holds for all people, and reports name groups"
    assert "asked secretly, 'age' would take 7.1 times as many people" in text
    assert "Known and sent as it is: 'age'" in str(SMOKING)


def test_losses_compare_people_of_one_group() -> None:
    text = " ".join(SMOKING.explain().split())
    assert "likelier from one person than from another of the same age" in text
    assert "All of this compares people of the same age" in text
    several = " ".join(plans()["split, no answer is random"].explain().split())
    assert "than from another of the same arm, whatever all their answers are" in several
    assert "than from another of the same" not in " ".join(SMOKING.with_known({}).explain().split())


def test_a_group_of_few_is_nearly_a_name() -> None:
    asked = {"region": dn.Range(0, 250, step=1), "smoker": ["yes", "no"]}
    few, enough = (
        " ".join(dn.Study(asked, epsilon=1.0, known=["region"]).plan(people=n).explain().split())
        for n in (300, 5000)
    )
    said = "WARNING. Every report names one of 250 groups (region), and 300 people are 1.2 in each"
    assert said in few
    assert "5,000 are 20 in each" in few
    assert "nearly a name" not in enough
    assert "shares of one of 250 groups are not known at all" in few
    assert "shares of one of 250 groups are known to within" in enough


def test_nobody_is_looked_for_among_all_groups() -> None:
    """A report names its group, so that people of another one are impossible: the risk would be too small."""
    people = {"arm": ["A", "B"] * 20, "color": ["red", "green", "blue", "red"] * 10}
    reports = COLORS.privatize(people, dn.seeded(1))
    with pytest.raises(dn.InvalidParameter, match="only among people of that group"):
        dn.attack.reidentify([COLORS], [reports], people)
    with pytest.raises(dn.InvalidParameter, match="only among people of that group"):
        dn.attack.examine(COLORS, people)
    assert set(dn.attack.examine(COLORS, collections=1).ignorant) == {"color"}
    plain, one = COLORS.with_known({}), {"color": people["color"][::2]}
    found = dn.attack.reidentify([plain], [plain.privatize(one, dn.seeded(1))], one, top=1)
    assert found.blind() == 1 / 20


def test_reports_travel_with_their_group(tmp_path: Path) -> None:
    """By bytes, JSON, Parquet and the row of a store."""
    for name, plan in plans().items():
        words = dn.remembering(1, round=1) if plan.document.rounds else dn.seeded(1)
        reports = plan.privatize(answers_of(plan) * 20, words)
        tallies, wire = plan.tally(reports), Wire(plan.document)
        assert sum(group[plan.names[0]].n for group in tallies.groups) == tallies[plan.names[0]].n
        bodies = wire.bodies(reports)
        assert plan.tally(wire.reports(bodies, 1)) == tallies, name
        one = Report(wire.prefix, 1, bytes(16), bodies[0])
        assert wire.from_json(wire.to_json(one)) == one
        path = tmp_path / f"{name}.parquet"
        plan.write_reports(path, reports)
        assert plan.tally(plan.read_reports(path)) == tallies
        sums = Sums(plan.document)
        assert sums.tallies(sums.count(reports.records), 1) == tallies
        assert Tallies.from_dict(tallies.to_dict()) == tallies
        assert (tallies + tallies) - tallies == tallies
        assert Plan.from_json(plan.to_json()) == plan


def test_a_client_says_the_group() -> None:
    plan = TRIAL.plan(people=1000)
    client = dn.Client(plan, secret=bytes(32))
    assert client.questions[0] == "arm"
    report = client.report(ANSWERS[0])
    assert report.body[0] == 1
    assert '"arm": "B"' in client.readable(report)
    with pytest.raises(dn.InvalidValue, match="'arm' has no answer, and it is known"):
        dn.Client(plan, secret=bytes(32)).report({"smoker": "yes", "age": 43})
    with pytest.raises(dn.InvalidValue, match="'C' is not"):
        dn.Client(plan, secret=bytes(32)).report(ANSWERS[0] | {"arm": "C"})


def test_a_group_that_is_not_there_is_refused() -> None:
    plan = plans()["one question"]
    wire = Wire(plan.document)
    [body] = wire.bodies(plan.privatize([{"arm": "A", "smoker": "yes"}], dn.seeded(1)))
    found, sound = wire.sound([body, bytes([2]) + body[1:], body])
    assert sound.tolist() == [True, False, True]
    assert found.n == 2
    with pytest.raises(Refused, match="canonical"):
        wire.reports([bytes([2]) + body[1:]])


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"known": "arm"}, "known is a list of questions"),
        ({"known": [["arm"]]}, r"got \['arm'\] among them; name each"),
        ({"known": ["leg"]}, "'leg' is not a question that can be known"),
        ({"known": ["arm", "arm"]}, "names a question twice"),
        ({"known": ["arm", "smoker", "age"]}, "there is nothing to ask"),
        ({"together": [("arm", "smoker")]}, "leave it out of together"),
        ({"only_if": {"age": {"arm": "A"}}}, "no question depends on it"),
        ({"importance": {"arm": 2.0}}, "leave out its protocol, importance and answered"),
    ],
)
def test_studies_that_do_not_fit_are_refused(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(dn.InvalidParameter, match=words):
        replace(TRIAL, survey=None, **changed)


def test_tables_that_are_not_there_are_refused() -> None:
    plan = plans()["two known, and a table"]
    result = plan.estimate(plan.tally(plan.privatize(answers_of(plan) * 50, dn.seeded(1))))
    assert result.cross("smoker", by="arm").rows == ("A", "B")
    assert result.cross("smoker", by="region").by.size == 3
    with pytest.raises(dn.InvalidParameter, match="both known"):
        result.cross("arm", by="region")
    few = Tallies(COLORS.id, 3, {"color": Tally(3, np.array([1, 1, 1]))}, round=1)
    with pytest.raises(dn.InvalidParameter, match="do not say which 'arm'"):
        COLORS.estimate(few).cross("color", by="arm")
    with pytest.raises(dn.InvalidReport, match="known group"):
        _ = few + _count(COLORS, np.full((2, 3), 1 / 3), (5, 5), np.random.default_rng(1))
    with pytest.raises(dn.InvalidParameter, match="an audit would find at once"):
        make_setting(COLORS, "ends", "record", None, None)


def test_a_table_has_no_answers_beside_it() -> None:
    """No answer is a value of the question, in every group, and not a column."""
    plan = plans()["no answer is a value"]
    people = answers_of(plan) * 400
    table = plan.estimate(plan.tally(plan.privatize(people, dn.seeded(2)))).cross("smoker", by="arm")
    assert table.columns == ("yes", "no")
    assert table.cells.sum() < 1


def test_a_consent_and_a_study_file_say_it(tmp_path: Path) -> None:
    from deniable.explain.consent import generate_consent
    from deniable.messages import LANGUAGES

    plan = TRIAL.plan(people=1000)
    groups = {"en": "same group", "de": "Gruppe", "fr": "groupe", "es": "grupo", "pt": "grupo"}
    for language in LANGUAGES:
        text = generate_consent(plan.document, language)
        assert text.count("arm") == 1
        assert groups[language] in text
        assert groups[language] not in generate_consent(plan.with_known({}).document, language)
    path = tmp_path / "study.toml"
    text = (
        'epsilon = 1.0\n[attributes]\nsmoker = { yes_no = true }\narm = { values = ["A", "B"], known = %s }\n'
    )
    path.write_text(text % "true")
    study = dn.Study.read(path)
    assert study.known == ("arm",)
    assert "arm: 2 values: A, B, known and sent as it is" in str(study)
    assert study == pickle.loads(pickle.dumps(study))
    assert study.plan(people=100).names == ("smoker",)
    path.write_text(text % "1")
    with pytest.raises(dn.InvalidParameter, match="known is true or false"):
        dn.Study.read(path)


PLAN = dn.Study(
    {
        "arm": ["A", "B"],
        "works": ["yes", "no"],
        "hours": ["few", "some", "many"],
        "media": dn.Several(["tv", "web"]),
    },
    epsilon=3.0,
    known=["arm"],
    only_if={"hours": {"works": "yes"}},
    mechanism="sample",
    protocol="grr",
).plan(people=10_000)
HOURS = np.array([[0.30, 0.24, 0.06, 0.40], [0.10, 0.08, 0.02, 0.80]])
"""By group: the same shares of those who work, who are 60 % in one and 20 % in the other."""


def count(plan: Plan, name: str, shares: Floats, sizes: tuple[int, ...], counts: Any) -> Tallies:
    """Tallies in which one attribute was reported; `counts` draws them by the chances of all reports."""
    law: Any = plan.mechanism.mechanisms[plan.names.index(name)].law
    groups = []
    for n, share in zip(sizes, shares, strict=True):
        tallies = {
            one: Tally(0, np.zeros(part.k, int))
            for one, part in zip(plan.names, plan.document.parts, strict=True)
        }
        groups.append(tallies | {name: Tally(n, counts(n, law.q + law.gain * share))})
    return Tallies(plan.id, sum(sizes), add_groups(groups), tuple(groups))


def expect(n: int, chances: Floats) -> Any:
    return np.round(n * chances).astype(np.int64)


def test_shares_are_of_those_to_whom_it_applies() -> None:
    many = (10**12, 10**12)  # so that rounding is far below the tolerance
    table = PLAN.estimate(count(PLAN, "hours", HOURS, many, expect)).cross("hours", by="arm")
    assert table.columns == ("few", "some", "many")
    np.testing.assert_allclose(table.shares, np.tile([0.5, 0.4, 0.1], (2, 1)), atol=1e-9)
    np.testing.assert_allclose(table.cells, HOURS[:, :3] / 2, atol=1e-9)  # of all people
    assert table.test().statistic < 1e-6


def test_every_option_has_a_table() -> None:
    shares, many = np.array([[0.7, 0.3], [0.2, 0.8]]), (10**12, 3 * 10**12)
    tallies = count(PLAN, "media: web", shares, many, expect)
    table = PLAN.estimate(tallies).cross("media: web", by="arm")
    assert table.columns == ("yes", "no")
    np.testing.assert_allclose(table.shares, shares, atol=1e-9)
    turned = PLAN.estimate(tallies).cross("arm", by="media: web")
    np.testing.assert_allclose(turned.cells, table.cells.T, atol=1e-12)
    with pytest.raises(dn.InvalidParameter, match="each of its options has a table by 'arm': 'media: tv'"):
        PLAN.estimate(tallies).cross("media", by="arm")
    with pytest.raises(dn.InvalidParameter, match="there are no reports about 'media: tv' yet"):
        PLAN.estimate(tallies).cross("media: tv", by="arm")


@pytest.mark.long
def test_intervals_hold_and_the_test_has_its_size_where_it_applies_to_few() -> None:
    """Though it applies to three times as many people of one group: that is no dependence.

    The planted fault are shares of the whole group.
    """
    rng, sizes = np.random.default_rng(4), (1500, 1500)
    held, faulty, rejected = [], [], []
    true, reach = np.array([0.5, 0.4, 0.1]), 1.96
    for _ in range(TESTED_STUDIES):
        tallies = count(PLAN, "hours", HOURS, sizes, rng.multinomial)
        table = PLAN.estimate(tallies).cross("hours", by="arm")
        held.append((table.low <= true) & (table.high >= true))
        faulty.append(np.abs(2 * table.cells[1] - true) <= 2 * reach * table.stderr[1])
        rejected.append(table.test().p < 0.05)
    assert (np.mean(held, axis=0) >= CROSSED_HELD[0]).all()
    assert np.mean(held) <= CROSSED_HELD[1]
    assert np.mean(faulty) < CROSSED_HELD[0]
    assert CROSSED_SIZE[0] <= np.mean(rejected) <= CROSSED_SIZE[1]


def test_people_answer_and_the_plan_says_what_tables_tell() -> None:
    """From answers to tables: 20,000 people in four attributes, five standard errors."""
    rng = np.random.default_rng(5)
    n = 20_000
    is_b, works = rng.random(n) < 0.5, rng.random(n) < 0.6
    few = rng.random(n) < np.where(is_b, 0.7, 0.3)
    people = {
        "arm": np.where(is_b, "B", "A"),
        "works": np.where(works, "yes", "no"),
        "hours": np.where(works, np.where(few, "few", "many"), "not applicable"),
        "media": np.where(is_b, "tv;web", "none of these"),
    }
    result = PLAN.estimate(PLAN.tally(PLAN.privatize(people, dn.seeded(6))))
    hours, media = result.cross("hours", by="arm"), result.cross("media: tv", by="arm")
    assert (np.abs(hours.shares[:, 0] - [0.3, 0.7]) < 5 * hours.stderr[:, 0]).all()
    assert (np.abs(media.shares[:, 0] - [0, 1]) < 5 * media.stderr[:, 0]).all()
    assert hours.test().p < 1e-6
    text = " ".join(PLAN.explain().split())
    assert re.search(
        r"'hours' by 'arm': shares of one of 2 groups are known to within [\d.]+ points if 75 % of", text
    )
    [hours_by_arm] = [one for one in expect_tables(PLAN.document) if one.of == "hours"]
    assert hours_by_arm.describe().endswith("That is if 75 % of people answer.")
    [works_by_arm] = [one for one in expect_tables(PLAN.document) if one.of == "works"]
    assert "of people answer" not in works_by_arm.describe()
    assert "'media: web' by 'arm': shares of one of 2 groups" in text
    assert count_people(PLAN.document, of="media: tv", by="arm", difference=0.05) > 1000


def test_secret_tables_say_what_to_ask_instead() -> None:
    asked: dict[str, Any] = {
        "works": ["yes", "no"],
        "hours": ["few", "many"],
        "media": dn.Several(["a", "b"]),
    }
    conditions = {"hours": {"works": "yes"}}
    for name, words in (
        ("media", "a yes/no question for each option"),
        ("hours", "with an answer for those"),
    ):
        with pytest.raises(dn.InvalidParameter, match=words):
            dn.Study(asked, epsilon=1.0, only_if=conditions, together=[("works", name)])
    plan = dn.Study(asked, epsilon=1.0, only_if=conditions, mechanism="sample").plan(people=400)
    people = [{"works": "yes", "hours": "few", "media": ["a"]}, {"works": "no", "media": []}] * 200
    result = plan.estimate(plan.tally(plan.privatize(people, dn.seeded(1))))
    for name, words in (("media: a", "yes/no question"), ("hours", "to whom it does not apply")):
        with pytest.raises(dn.InvalidParameter, match=words):
            result.cross(name, by="works")


def test_split_reports_hold_tables_of_options() -> None:
    """Each option is reported beside the others, so that pairs are read through both."""
    asked: dict[str, Any] = {"sex": ["f", "m"], "media": dn.Several(["a", "b"])}
    plan = dn.Study(asked, epsilon=9.0, mechanism="split").plan(people=4000)
    rng = np.random.default_rng(7)
    is_f = rng.random(4000) < 0.5
    people = {"sex": np.where(is_f, "f", "m"), "media": np.where(is_f, "a", "b")}
    table = plan.cross(plan.privatize(people, dn.seeded(7)), "media: a", by="sex")
    assert (np.abs(table.shares[:, 0] - [1, 0]) < 5 * table.stderr[:, 0]).all()
