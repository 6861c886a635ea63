"""Studies that ask questions together: plans, answers, tables, and what is refused."""

from __future__ import annotations

import pickle
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import deniable as dn
from deniable.cross import CrossTable
from deniable.explain.table_precision import count_people
from deniable.study import Plan
from spec.make.products import SMOKING
from tests.cases import by_night

N = 60_000


def _people() -> dict[str, object]:
    rng = np.random.default_rng(3)
    ages = rng.choice(5, N, p=[0.15, 0.20, 0.25, 0.25, 0.15])
    smokes = rng.random(N) < np.array([0.25, 0.30, 0.22, 0.15, 0.08])[ages]
    return {
        "age": 18 + 12 * ages,
        "smoker": np.where(smokes, "yes", "no"),
        "sex": rng.choice(["f", "m"], N),
        "mood": rng.integers(1, 6, N),
    }


@pytest.fixture(scope="module")
def result() -> dn.study.Result:
    plan = replace(SMOKING, epsilon=3.0).plan(people=N)
    return plan.estimate(plan.tally(plan.privatize(_people(), dn.seeded(5))))


def test_tables_hold_the_truth_and_agree(result: dn.study.Result) -> None:
    by_age, by_sex = result.cross("smoker", by="age"), result.cross("smoker", by="sex")
    truth = np.array([0.25, 0.30, 0.22, 0.15, 0.08])
    assert (np.abs(by_age.shares[:, 0] - truth) < 5 * by_age.stderr[:, 0]).all()
    assert by_age.total("yes").value == pytest.approx(by_sex.total("yes").value, abs=1e-12)
    assert by_age.test().p < 1e-6
    assert by_sex.test().p > 1e-3
    assert by_age.trend().p < 1e-6
    turned = result.cross("age", by="smoker")
    np.testing.assert_allclose(turned.cells, by_age.cells.T, atol=1e-12)


def test_results_and_plans_point_to_tables(result: dn.study.Result) -> None:
    """By what the shell takes, and not where there are none."""
    named = "smoker by age, smoker by sex, sex by age"
    assert str(result).endswith(f"tables of two answers (result.cross('smoker', by='age')): {named}")
    assert result.document is not None
    shell = f"tables of two answers (deniable cross ... --of smoker --by age): {named}"
    assert shell in " ".join(Plan(result.document).explain().split())
    alone = replace(SMOKING, together=(), survey=None).plan(people=1000)
    assert "tables of two answers" not in alone.explain()


def test_a_question_that_is_only_in_tables_points_to_them(result: dn.study.Result) -> None:
    for name, read in (("smoker", ".total('yes')"), ("age", ".base('18 to under 30')")):
        with pytest.raises(KeyError) as refused:
            result[name]
        assert str(refused.value.args[0]).endswith(f"result.cross('smoker', by='age'){read}")
        assert name not in result
    with pytest.raises(KeyError, match="'town' is not an attribute"):
        result["town"]


@pytest.mark.long
def test_random_values_in_tables_are_warned_of() -> None:
    study = replace(SMOKING, survey=None)
    warned = {
        policy: "show less dependence than there is" in " ".join(each.plan(people=1000).explain().split())
        for policy, each in {
            "random": replace(study, missing="random"),
            "value": replace(study, missing="value"),
            "alone": replace(study, missing="random", together=()),
        }.items()
    }
    assert warned == {"random": True, "value": False, "alone": False}


def test_a_table_that_borrows_errs_less(result: dn.study.Result) -> None:
    table = result.cross("smoker", by="sex")
    alone = CrossTable.of_estimate(result.estimates["sex x smoker"], ["f", "m"], ["yes", "no"])
    assert (np.diag(table.covariance) < np.diag(alone.covariance)).all()
    assert table.total("yes").stderr < 0.8 * alone.total("yes").stderr


def test_long_ranges_are_rows_of_groups() -> None:
    study = dn.Study({"age": dn.Range(20, 70), "smoker": ["yes", "no"]}, 3.0, together=[("age", "smoker")])
    plan = study.plan(people=N)
    people = _people()
    given = {"age": np.minimum(np.asarray(people["age"]) + 2, 69), "smoker": people["smoker"]}
    table = plan.estimate(plan.tally(plan.privatize(given, dn.seeded(6)))).cross("smoker", by="age")
    assert table.rows == tuple(f"{low} to under {low + 5}" for low in range(20, 70, 5))
    assert table.by.points == tuple(low + 2.5 for low in range(20, 70, 5))


def test_views_of_three_are_read_in_pairs() -> None:
    bits = {name: ["0", "1"] for name in "abc"}
    plan = dn.Study(bits, epsilon=3.0, together=[("a", "b", "c")]).plan(people=N)
    assert plan.names == ("a x b x c",)
    rng = np.random.default_rng(1)
    a, c = rng.integers(0, 2, N), rng.integers(0, 2, N)
    people = {
        "a": a.astype(str),
        "b": np.where(rng.random(N) < 0.8, a, 1 - a).astype(str),
        "c": c.astype(str),
    }
    result = plan.estimate(plan.tally(plan.privatize(people, dn.seeded(7))))
    assert result.cross("b", by="a").shares[0, 0] == pytest.approx(0.8, abs=0.03)
    assert result.cross("c", by="a").test().p > 1e-4
    assert result.cross("b", by="a").test().p < 1e-9


def test_no_answer_is_beside_the_table() -> None:
    plan = replace(SMOKING, epsilon=3.0, missing="value").plan(people=N)
    people = _people()
    half = np.arange(N) % 4 == 0
    people["smoker"] = [
        None if lacks else answer for lacks, answer in zip(half, np.asarray(people["smoker"]), strict=True)
    ]
    result = plan.estimate(plan.tally(plan.privatize(people, dn.seeded(8))))
    table = result.cross("smoker", by="age")
    assert float(table.cells.sum()) == pytest.approx(0.75, abs=0.05)
    assert table.shares[1, 0] == pytest.approx(0.3, abs=5 * table.stderr[1, 0])
    assert table.test().p < 1e-6


def test_split_reports_are_read_in_pairs() -> None:
    plain = replace(SMOKING, epsilon=6.0, together=(), mechanism="split", survey=None)
    plan = plain.plan(people=N)
    reports = plan.privatize(_people(), dn.seeded(9))
    table = plan.cross(reports, "smoker", by="age")
    assert table.shares[1, 0] == pytest.approx(0.3, abs=5 * table.stderr[1, 0])
    assert plan.cross([reports, reports], "smoker", by="age").n == 2 * N
    with pytest.raises(dn.InvalidParameter, match="the reports themselves hold both"):
        plan.estimate(plan.tally(reports)).cross("smoker", by="age")
    two = dn.Plan.of(plain.attributes, dn.smp([5, 2, 2, 5], 6.0, "grr", attributes=2), people=N)
    found = two.cross(two.privatize(_people(), dn.seeded(10)), "smoker", by="age")
    assert found.n == pytest.approx(N / 6, rel=0.05)
    assert found.shares[1, 0] == pytest.approx(0.3, abs=5 * found.stderr[1, 0])


@pytest.mark.parametrize(
    ("mechanism", "why"), [("sample", "only one of the"), ("faked", "only one real answer")]
)
def test_reports_without_dependence_say_so(mechanism: str, why: str) -> None:
    plan = replace(SMOKING, together=(), mechanism=mechanism, survey=None).plan(people=1000)
    reports = plan.privatize({name: column[:1000] for name, column in _people().items()}, dn.seeded(1))  # type: ignore[index]
    with pytest.raises(dn.InvalidParameter, match=f"{why}.*no number of reports.*together"):
        plan.cross(reports, "smoker", by="age")
    with pytest.raises(dn.InvalidParameter, match=f"{why}.*no number of reports.*together"):
        plan.estimate(plan.tally(reports)).cross("smoker", "age")


def test_people_for_a_difference() -> None:
    """The numbers of the specification; another question that is sampled takes its part of the people."""
    asked = {"age": dn.Range(20, 70, step=10), "smoker": ["yes", "no"]}
    for epsilon, people in ((1.0, 308_985), (2.0, 53_961)):
        plan = dn.Study(asked, epsilon=epsilon, together=[("age", "smoker")]).plan(people=1000)
        assert count_people(plan.document, "smoker", "age", 0.05) == people
    more = dn.Study({**asked, "town": ["a", "b"]}, 2.0, together=[("age", "smoker")], mechanism="sample")
    assert count_people(more.plan(people=1000).document, "smoker", "age", 0.05) == pytest.approx(
        2 * 53_961, abs=2
    )
    with pytest.raises(dn.InvalidParameter, match="no report holds both"):
        count_people(more.plan(people=1000).document, "smoker", "town", 0.05)
    with pytest.raises(dn.InvalidParameter, match="a table is of two questions, got 'smoker' twice"):
        count_people(more.plan(people=1000).document, "smoker", "smoker", 0.05)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("age", "a list of pairs"),
        (["age", "smoker"], "a list of pairs"),
        ([("age",)], "a list of pairs"),
        ([("age", "smokes")], "'smokes' is not a question.*did you mean 'smoker'"),
        ([("age", "age")], "names a question twice"),
        ([("age", "media")], "asks for all that apply"),
        ([("age", "hours")], "it applies only to some"),
        ([("age", "pay")], "'pay' cannot be in a table"),
        ([("age", "year")], "at most 65,536 cells"),
        ([("age", "smoker"), ("age", "sex")], "must mean the same"),
    ],
)
def test_what_no_table_holds_is_refused(given: object, why: str) -> None:
    asked = {
        "age": dn.Range(18, 78, step=12),
        "smoker": ["yes", "no"],
        "sex": ["f", "m"],
        "works": ["yes", "no"],
        "hours": dn.Range(0, 60, step=20),
        "media": dn.Several(["tv", "web"]),
        "pay": dn.Number(0, 1000),
        "year": dn.Range(0, 20_000),
    }
    with pytest.raises(dn.InvalidParameter, match=why):
        dn.Study(
            asked,
            1.0,
            only_if={"hours": {"works": "yes"}},
            missing={"sex": True},
            together=given,  # type: ignore[arg-type]
        )


def test_a_study_with_tables_is_a_value() -> None:
    assert pickle.loads(pickle.dumps(SMOKING)) == SMOKING
    assert hash(SMOKING) == hash(replace(SMOKING))
    data = {
        "epsilon": 1.0,
        "together": [["age", "smoker"]],
        "attributes": {"age": [1, 2], "smoker": ["yes", "no"]},
    }
    assert dn.Study.from_dict(data).together == (("age", "smoker"),)


def test_what_will_be_read_of_a_table_is_stated() -> None:
    """As in section 3 of the specification, if all answers are equally frequent."""
    asked = {"age": dn.Range(20, 70, step=10), "smoker": ["yes", "no"]}
    plan = dn.Study(asked, epsilon=1.0, together=[("age", "smoker")]).plan(people=20_000)
    cells, rows = plan.precisions()
    assert (cells.what, cells.describe(), cells.format_margin()) == (
        "cell",
        "shares of 10 cells",
        "2.4 points",
    )
    assert (rows.what, rows.describe()) == ("row share", "shares of 2 values in each row")
    assert 0.07 < rows.margin < 0.11


def test_a_question_that_others_depend_on_is_asked_by_itself_too() -> None:
    asked = {"works": ["yes", "no"], "sex": ["f", "m"], "hours": dn.Range(0, 60, step=20)}
    study = dn.Study(asked, 3.0, only_if={"hours": {"works": "yes"}}, together=[("sex", "works")])
    plan = study.plan(people=1000)
    assert plan.names == ("sex x works", "works", "hours")
    people = {"works": ["yes", "no"] * 500, "sex": ["f", "m"] * 500, "hours": [30, None] * 500}
    table = plan.estimate(plan.tally(plan.privatize(people, dn.seeded(2)))).cross("works", by="sex")
    assert table.shares[0, 0] > 0.9


TARGETED = {"a": ["0", "1"], "b": ["x", "y", "z"], "c": ["u", "v"]}


def test_a_target_asks_for_its_pairs_alone(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    rows = [f"{name} = {values}" for name, values in TARGETED.items()]
    file.write_text("\n".join(['epsilon = 4.0\ntarget = "c"\n[attributes]', *rows]))
    plan = dn.Study.read(file).plan(people=1000)
    assert plan.id == dn.Study(TARGETED, epsilon=4.0, target="c").plan(people=1000).id
    held = {frozenset(pair) for one in plan.document.attributes for pair in combinations(one.columns, 2)}
    assert {frozenset("ac"), frozenset("bc")} <= held


def test_targets_that_cannot_be_are_refused() -> None:
    with pytest.raises(dn.InvalidParameter, match="give target or together, not both"):
        dn.Study(TARGETED, epsilon=1.0, target="c", together=[("a", "c")])
    with pytest.raises(dn.InvalidParameter, match="'d' is not a question that can be the target"):
        dn.Study(TARGETED, epsilon=1.0, target="d")
    with pytest.raises(dn.InvalidParameter, match="not simulated with known groups"):
        dn.Study(TARGETED, epsilon=1.0, target="c", known=["a"])
    with pytest.raises(dn.InvalidParameter, match="needs other questions"):
        dn.Study({"c": ["0", "1"]}, epsilon=1.0, target="c")


ASKED = {
    "town": [str(i) for i in range(6)],
    "job": [str(i) for i in range(4)],
    "sex": ["f", "m"],
    "smoker": ["yes", "no"],
}
STUDY = dn.Study(ASKED, 1.0, together=[("town", "job"), ("sex", "smoker")])
WORST, SQUARES = dn.Objective(worst=True), dn.Objective(squares=True)


def _chances(study: dn.Study) -> dict[str, float]:
    plan = study.plan(people=10_000)
    return {name: float(plan.mechanism.chance(j)) for j, name in enumerate(plan.names)}


@pytest.mark.long
def test_the_worst_table_is_as_good_as_the_others() -> None:
    """Tables of 24 and of 4 cells: equal chances would leave the large one 1.31 times the error."""
    usual = STUDY.plan(people=10_000)
    assert _chances(STUDY) == {"town x job": 0.5, "sex x smoker": 0.5}
    plan = replace(STUDY, objective=WORST).plan(people=10_000)
    large, small = plan.considered[0].standard_errors
    assert large == pytest.approx(small, rel=2e-3)
    assert large < 0.9 * usual.considered[0].standard_errors[0]
    text = " ".join(plan.explain().split())
    assert "drawn at random ('town x job' 62.6 %, 'sex x smoker' 37.4 %)" in text
    assert "As wanted, the error of the worst attribute is to be the least." in text
    assert "As wanted" not in usual.explain()
    assert dn.Plan.from_json(plan.to_json()).mechanism == plan.mechanism


def test_squares_divide_people_by_roots_of_variances() -> None:
    plan = replace(STUDY, objective=SQUARES).plan(people=10_000)
    laws = [plan.mechanism.marginal(j) for j in range(2)]
    variances = [law.error(1) + (1 - 1 / law.k) / law.k for law in laws]
    roots = np.sqrt(variances)
    assert list(_chances(replace(STUDY, objective=SQUARES)).values()) == pytest.approx(
        roots / roots.sum(), abs=1e-3
    )


@by_night("objective", [dn.Objective(), WORST, SQUARES], WORST)
def test_an_important_table_is_drawn_more_often(objective: dn.Objective) -> None:
    usual = _chances(replace(STUDY, objective=objective))
    for name in ("sex x smoker", "smoker x sex", "smoker"):
        found = _chances(replace(STUDY, objective=objective, importance={name: 3}))
        assert found["sex x smoker"] > 1.2 * usual["sex x smoker"], name
    both = {"smoker": 3, "sex x smoker": 1.0}  # a table's own weight goes before that of its questions
    assert _chances(replace(STUDY, objective=objective, importance=both)) == usual


def test_pairs_of_one_view_have_weights_of_their_own() -> None:
    """A view holds all pairs of three questions, two of which are wanted, one three times as much."""
    bits = {name: ["0", "1"] for name in "abc"} | {"d": ["0", "1"]}
    study = dn.Study(bits, 4.0, together=[("a", "b"), ("b", "c")], importance={"a x b": 3}, objective=SQUARES)
    (question, alone) = study.inquiry.build_task()[0].values()
    assert question.importance == 3
    assert [round(one.importance, 3) for one in question.readings] == [1.0, 0.0, 0.333]
    assert alone.importance == 1
    three = dn.Study(bits, 4.0, together=[("a", "b", "c")], importance={"a x b x c": 2, "c x a": 5})
    asked = three.inquiry.build_task()[0]
    assert {name: one.importance for name, one in asked.items()} == {"a x b x c": 5, "d": 1}


def test_files_have_the_importance_of_tables(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    lines = [
        "epsilon = 1.0",
        'together = [["age", "smoker"], ["sex", "smoker"]]',
        "[importance]",
        '"age x smoker" = 3',
        "[objective]",
        "squares = true",
        "[attributes]",
        "age = [1, 2, 3]",
        'smoker = ["yes", "no"]',
        "[attributes.sex]",
        'values = ["f", "m"]',
        "importance = 2",
    ]
    file.write_text("\n".join(lines))
    study = dn.Study.read(file)
    assert study.importance == {"age x smoker": 3, "sex": 2}
    assert study.objective == SQUARES
    file.write_text("\n".join(lines).replace('"age x smoker" = 3', "sex = 3"))
    with pytest.raises(dn.InvalidParameter, match="the importance of 'sex' is given twice"):
        dn.Study.read(file)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"importance": {"town x sex": 2}}, "'town x sex' is not an attribute, or a table that is wanted"),
        ({"importance": {"town x job": 2, "job x town": 3}}, "'town x job' is given twice"),
        ({"importance": {"town x sex": 2}}, "smoker, town x job, sex x smoker, job x town, smoker x sex\\)"),
        ({"importance": {"town x job": 0}}, "the importance of 'town x job'"),
        ({"importance": {"town x job": "3"}}, "the importance of 'town x job'"),
        ({"importance": 3}, "importance is by name"),
        ({"objective": "worst"}, "objective is an Objective"),
    ],
)
def test_wrong_weights_are_refused(changed: dict[str, object], why: str) -> None:
    with pytest.raises(dn.InvalidParameter, match=why):
        replace(STUDY, **changed)  # type: ignore[arg-type]


def test_one_way_to_judge() -> None:
    with pytest.raises(dn.InvalidParameter, match="give one of them"):
        dn.Objective(worst=True, squares=True)
    with pytest.raises(dn.InvalidParameter, match="squares is true or false, got 1"):
        dn.Objective(squares=1)  # type: ignore[arg-type]
    assert str(SQUARES) == "Objective: the least mean of squared errors"


@pytest.mark.parametrize("mechanism", ["split", "faked", "sample"])
def test_tables_are_chosen_for_the_mechanism_that_is_named(mechanism: str) -> None:
    """Every table of a split takes its part of epsilon, so that one view of three is better than pairs."""
    asked = {"a": list("123"), "b": list("123"), "c": list("1234")}
    study = dn.Study(asked, 1.0, together=[("a", "b", "c")], mechanism=mechanism)
    plan = study.plan(people=10_000)
    assert len(plan.names) == (3 if mechanism == "sample" else 1)
    assert plan.loss.record <= 1.0


def test_people_are_divided_where_they_are_asked_again() -> None:
    study = dn.Study(ASKED, together=STUDY.together, epsilon_first=1.0, epsilon_forever=2.0, objective=WORST)
    large, small = study.plan(people=1000).considered[0].standard_errors
    assert large == pytest.approx(small, rel=2e-3)
