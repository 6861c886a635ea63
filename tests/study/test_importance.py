"""How much questions and tables weigh, and how people are divided among them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import deniable as dn

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


@pytest.mark.parametrize("objective", [dn.Objective(), WORST, SQUARES])
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
