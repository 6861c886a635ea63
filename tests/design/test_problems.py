"""What is wrong with a draft is said in the library's words, at the field that it is about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from deniable.design.draft import Draft, Question
from deniable.design.problems import Checked
from deniable.design.problems import check as check_in
from tests.cases import check_each


def check(draft: Draft) -> Checked:
    return check_in(draft, Path())


YES_NO = Question("smokes", {"values": ["yes", "no"]})
PLACE = {"south": 47.6, "west": 6.8, "north": 47.7, "east": 6.95, "rows": 8, "columns": 10}

WRONG: dict[str, tuple[dict[str, Any], str | None, str]] = {
    "twice the same": ({"values": ["a", "a"]}, "values", "occurs twice"),
    "an uneven step": ({"low": 0, "high": 10, "step": 3}, "step", "does not divide the range"),
    "no number": ({"low": "many", "high": 10, "step": 1}, "low", "'many'"),
    "upside down": ({"low": 10, "high": 0, "step": 1}, "low", "goes up from low"),
    "too important": ({"values": ["a", "b"], "importance": -1}, "importance", "importance"),
    "a long question": ({"values": ["a", "b"], "question": "?" * 501}, "question", "at most 500"),
    "an unknown key": ({"values": ["a", "b"], "vlues": []}, "vlues", "did you mean 'values'"),
    "an upside-down scale": ({"scale": [7, 1]}, "scale", "up to its highest"),
    "one end": ({"scale": [1, 7], "ends": ["not at all"]}, "ends", "two ends"),
    "no date": ({"dates": ["2020-01-01", "then"]}, "dates", "'then'"),
    "no policy": ({"values": ["a", "b"], "missing": "perhaps"}, "missing", "'perhaps'"),
    "no map": (PLACE | {"epsilon": 0.001, "map": "none.geojson"}, None, "none.geojson"),
    "nothing": ({}, None, ""),
}


UNFINISHED: dict[str, tuple[dict[str, Any], str | None, str]] = {
    "no values": ({"values": []}, "values", "write at least two answers, one per line"),
    "one value": ({"values": ["only"]}, "values", "write at least two answers, one per line"),
    "one option": ({"several": ["tv"]}, "several", "write at least two options, one per line"),
    "half a scale": ({"scale": [1, ""]}, "scale", "write the lowest and the highest number of the scale"),
    "half of the dates": ({"dates": ["", "2029-12-31"]}, "dates", "write the first and the last date"),
    "no step": ({"low": 0, "high": 10}, "step", "write the step"),
    "no ends": ({"mean": True, "low": 0}, "high", "write the highest number"),
    "no epsilon": ({"low": 0, "high": 9, "step": 1, "privacy": "metric"}, "epsilon", "write the epsilon"),
    "no map": ({"rows": 8, "columns": 8}, "south", "ends in the south, north, west and east, in degrees"),
    "no south": ({"north": 47.7, "rows": 8, "columns": 8}, "south", "ends in the south, west and east"),
    "a comma": (PLACE | {"east": "6,9"}, "east", "as a number of degrees such as 6.95, got '6,9'"),
    "no rows": ({key: one for key, one in PLACE.items() if key != "rows"}, "rows", "write the rows of cells"),
    "no radius": (PLACE | {"level": 2}, "radius", "within how many meters"),
}


def test_every_half_written_question_is_blamed_at_its_field_and_the_others_are_planned() -> None:
    def blame(case: tuple[dict[str, Any], str | None, str]) -> None:
        check_one(case, unfinished=False)

    check_each(blame, WRONG.items())


def test_what_is_not_filled_in_yet_is_not_wrong() -> None:
    """A new question was greeted by "needs at least two values, got 0", and "this has no 'south'"."""

    def ask(case: tuple[dict[str, Any], str | None, str]) -> None:
        check_one(case, unfinished=True)

    check_each(ask, UNFINISHED.items())


def check_one(case: tuple[dict[str, Any], str | None, str], unfinished: bool) -> None:
    """One question beside one that is right: what is said of it, and at which field."""
    keys, field, words = case
    checked = check(Draft({"epsilon": 1.0}, (YES_NO, Question("asked", keys))))
    [problem] = checked.problems
    assert (problem.question, problem.unfinished) == (1, unfinished)
    assert words in problem.text
    assert field is None or problem.field == field
    assert "attributes.asked" not in problem.text
    assert checked.study is not None
    assert list(checked.study.attributes) == ["smokes"]


def test_names_are_blamed() -> None:
    asked = [Question(name, {"values": ["a", "b"]}) for name in ("", "one", "one", "two\n")]
    checked = check(Draft({"epsilon": 1.0}, tuple(asked)))
    assert [(one.question, one.field) for one in checked.problems] == [(0, "name"), (2, "name"), (3, "name")]
    assert "short name" in checked.problems[0].text
    assert checked.study is not None
    assert list(checked.study.attributes) == ["one"]


def test_what_is_wrong_with_the_study_is_blamed_there() -> None:
    cases: list[tuple[str, tuple[dict[str, Any], str | None]]] = [
        ("negative", ({"epsilon": -1}, "epsilon")),
        ("no number", ({"epsilon": "much"}, "epsilon")),
        ("none", ({}, "epsilon")),
        ("per", ({"epsilon": 1, "per": "person"}, "per")),
        ("mechanism", ({"epsilon": 1, "mechanism": "spilt"}, None)),
        ("first above forever", ({"repeat": {"epsilon_first": 2, "epsilon_forever": 1}}, "epsilon_first")),
        ("an unknown key", ({"epsilon": 1, "titel": "?"}, None)),
    ]

    def blame(case: tuple[dict[str, Any], str | None]) -> None:
        study, field = case
        checked = check(Draft(study, (YES_NO,)))
        [problem] = checked.problems
        assert checked.study is None
        assert problem.question is None
        assert field is None or problem.field == field

    check_each(blame, cases)


def test_a_question_that_does_not_fit_the_others_is_named() -> None:
    metric = Question("age", {"low": 0, "high": 9, "step": 1, "privacy": "metric", "epsilon": 0.5})
    checked = check(Draft({"epsilon": 1.0, "mechanism": "faked"}, (YES_NO, metric)))
    [problem] = checked.problems
    assert problem.question == 1
    assert "fakes do not protect a metric value" in problem.text


def test_a_metric_question_that_may_be_skipped_is_not_blamed_for_others() -> None:
    """Whether it is answered takes a part of epsilon, which metric questions alone leave out."""
    keys = {"low": 0, "high": 9, "step": 1, "privacy": "metric", "epsilon": 0.5, "missing": "value"}
    checked = check(Draft({"epsilon": 1.0}, (Question("age", keys), Question("half", {"values": []}))))
    assert [one.question for one in checked.problems] == [1]
    assert checked.study is not None


def test_a_condition_is_blamed_where_it_is() -> None:
    """Though the sentence names the other question."""
    for condition in ({"smokes": "maybe"}, {"drinks": "yes"}):
        asked = Question("since", {"values": ["long", "now"], "only_if": condition})
        checked = check(Draft({"epsilon": 1.0}, (YES_NO, asked)))
        [problem] = checked.problems
        assert (problem.question, problem.field) == (1, "only_if")
        assert checked.study is not None
        assert list(checked.study.attributes) == ["smokes", "since"]


def test_two_conditions_without_values_are_each_named_and_the_rest_is_planned() -> None:
    """All figures went, and the first question was blamed for the second."""
    asked = (
        YES_NO,
        Question("since", {"values": ["long", "now"], "only_if": {"smokes": []}}),
        Question("brand", {"values": ["a", "b"], "only_if": {"smokes": ""}, "answered": 0.4}),
        Question("quit", {"values": ["a", "b"], "only_if": {"smokes": "no"}, "answered": 0.5}),
    )
    checked = check(Draft({"epsilon": 1.0}, asked))
    assert [(one.question, one.field, one.unfinished) for one in checked.problems] == [
        (1, "only_if", True),
        (2, "only_if", True),
    ]
    assert {one.text for one in checked.problems} == {
        "choose the answers to 'smokes' after which this is asked"
    }
    assert checked.study is not None
    assert list(checked.study.attributes) == ["smokes", "since", "brand", "quit"]
    assert dict(checked.study.only_if) == {"quit": {"smokes": ("no",)}}
    assert dict(checked.study.answered) == {"quit": 0.5}


def test_two_wrong_conditions_are_each_blamed() -> None:
    asked = (
        YES_NO,
        Question("since", {"values": ["long", "now"], "only_if": {"smokes": "maybe"}}),
        Question("brand", {"values": ["a", "b"], "only_if": {"drinks": "yes"}}),
    )
    checked = check(Draft({"epsilon": 1.0}, asked))
    assert [(one.question, one.field, one.unfinished) for one in checked.problems] == [
        (1, "only_if", False),
        (2, "only_if", False),
    ]
    assert checked.study is not None


def test_a_condition_waits_for_a_question_that_is_half_written() -> None:
    half = Question("smokes", {"values": ["yes"]})
    since = Question("since", {"values": ["long", "now"], "only_if": {"smokes": "yes"}})
    checked = check(Draft({"epsilon": 1.0}, (half, since)))
    assert [one.question for one in checked.problems] == [0]
    assert checked.study is not None
    assert list(checked.study.attributes) == ["since"]


def test_a_right_draft_has_no_problem() -> None:
    assert check(Draft({"epsilon": 1.0}, (YES_NO,))).problems == ()
    nothing = check(Draft({"epsilon": 1.0}))
    assert (nothing.study, nothing.problems) == (None, ())


def test_importance_waits_for_questions_that_are_half_written() -> None:
    asked = Question("asked", {"values": ["only"]})
    checked = check(Draft({"epsilon": 1.0, "importance": {"asked": 2, "smokes": 3}}, (YES_NO, asked)))
    assert [problem.unfinished for problem in checked.problems] == [True]
    assert checked.study is not None
    assert dict(checked.study.importance) == {"smokes": 3}


def test_what_known_questions_cannot_have_is_said() -> None:
    known = Question("region", {"values": ["north", "south"], "known": True, "importance": 2})
    [problem] = check(Draft({"epsilon": 1.0}, (YES_NO, known))).problems
    assert (problem.question, problem.field) == (1, "known")
    assert "leave out its protocol, importance and answered" in problem.text
