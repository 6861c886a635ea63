"""Planned margins of questions that not everybody answers, against how results of simulations scatter."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deniable as dn
from tests.running import Run
from tests.statistics import FEW_REPEATS, spread

ASKED: dict[str, Any] = {
    "works": ["yes", "no"],
    "job": ["office", "shop", "farm", "road"],
    "pay": dn.Number(0, 10_000),
    "age": dn.Range(0, 100, privacy="metric", epsilon=0.04),
}
ONLY_IF = {"job": {"works": "yes"}, "pay": {"works": "yes"}}
WORK, TELL, PEOPLE = 0.5, 0.6, 1500


def study(**options: Any) -> dn.Study:
    return dn.Study(
        ASKED, epsilon=6.0, mechanism="split", only_if=ONLY_IF, missing={"age": "value"}, **options
    )


@pytest.mark.long
def test_margins_of_those_who_answer_are_what_results_scatter_by() -> None:
    """200 surveys of 1,500 people: the margins that take it that everybody answers are found to be wrong."""
    plan = study(answered={"job": WORK, "pay": WORK, "age": TELL}).plan(people=PEOPLE)
    stated = {(one.attribute, one.what): one for one in plan.precisions()}
    found: dict[tuple[str, str], list[float]] = {
        key: [] for key in (("job", "share"), ("pay", "mean"), ("age", "mean"))
    }
    draw = np.random.default_rng(1)
    for repeat in range(FEW_REPEATS):
        works, tells = draw.random(PEOPLE) < WORK, draw.random(PEOPLE) < TELL
        answers = {
            "works": np.where(works, "yes", "no").tolist(),
            "job": [
                job if one else None
                for job, one in zip(draw.choice(ASKED["job"], PEOPLE).tolist(), works, strict=True)
            ],
            "pay": [
                pay if one else None
                for pay, one in zip(draw.uniform(0, 10_000, PEOPLE).tolist(), works, strict=True)
            ],
            "age": [
                age if one else None
                for age, one in zip(draw.integers(0, 100, PEOPLE).tolist(), tells, strict=True)
            ],
        }
        result = plan.estimate(plan.tally(plan.privatize(answers, dn.seeded(repeat))))
        found["job", "share"].append(result.among("job")["shop"].value)
        found["pay", "mean"].append(result.mean("pay").value)
        found["age", "mean"].append(result.mean("age").value)
    everybody = {(one.attribute, one.what): one for one in study().plan(people=PEOPLE).precisions()}
    for key, values in found.items():
        one = stated[key]
        error = one.stderr * (one.width or 1.0)
        squares = float(((np.array(values) - np.mean(values)) ** 2).sum())
        spread(squares / error**2, FEW_REPEATS - 1, " ".join(key))
        wrong = everybody[key].stderr * (one.width or 1.0)
        with pytest.raises(AssertionError):
            spread(squares / wrong**2, FEW_REPEATS - 1, " ".join(key))


def test_the_plan_says_what_it_takes_for_granted() -> None:
    """Where a share is stated, it is used; else there is a sentence."""
    plain, stated = (
        study().plan(people=PEOPLE),
        study(answered={"job": 0.5, "pay": 0.5, "age": 0.5}).plan(PEOPLE),
    )
    [sentence] = [
        line for line in plain.explain().replace("\n", " ").split("(95 %") if "take it that" in line
    ]
    margins = {one.attribute: one.format_margin() for one in reversed(stated.precisions())}
    assert "If half of 1,500 people did" in sentence
    for name in ("job", "pay", "age"):
        assert f"{name!r} to within {margins[name]}" in sentence
    assert "take it that" not in stated.explain()
    assert "shares of 4 values, if 50 % answer" in stated.explain()
    ratio = {one.attribute: one.stderr for one in reversed(stated.precisions())}
    for one in reversed(plain.precisions()):
        if one.attribute == "pay":
            assert ratio["pay"] == pytest.approx(2 * one.stderr)


def test_a_plan_that_is_read_back_has_the_same_margins() -> None:
    plan = study(answered={"job": 0.5, "pay": 0.025, "age": 0.6}).plan(PEOPLE)
    again = dn.Plan.from_json(plan.to_json())
    assert again.precisions() == plan.precisions()
    assert {one.attribute: one.answered for one in again.precisions()} == {
        "works": 1.0,
        "job": 0.5,
        "pay": 0.025,
        "age: answered": 1.0,
        "age": 0.6,
    }
    assert "if 2.5 % answer" in again.explain()
    everybody = study(answered=dict.fromkeys(("job", "pay", "age"), 1)).plan(PEOPLE)
    assert everybody.id == study().plan(PEOPLE).id
    assert '"answered":' not in everybody.to_json()


def test_questions_with_the_same_condition_are_answered_by_as_many() -> None:
    """What states no share was planned as if everybody answered it."""
    asked = ASKED | {"media": dn.Several(["tv", "web"]), "hobby": ["a", "b"]}
    one = dn.Study(
        asked,
        epsilon=6.0,
        mechanism="split",
        only_if=ONLY_IF | {"media": {"works": "yes"}, "hobby": {"works": "no"}},
        missing={"age": "value", "pay": "value"},
        answered={"job": 0.4},
    )
    found = {each.name: each.answered for each in one.plan(PEOPLE).document.attributes}
    stated = {name: share for name, share in found.items() if share is not None}
    assert stated == dict.fromkeys(("job", "pay", "media: tv", "media: web"), 400)
    more = replace(one, answered={"job": 0.4, "media": 0.5, "hobby": 0.3}).plan(PEOPLE)
    shares = {each.name: each.answered for each in more.document.attributes}
    assert (shares["job"], shares["pay"], shares["media: tv"], shares["hobby"]) == (400, 500, 500, 300)


def test_options_are_answered_together() -> None:
    asked = {"works": ["yes", "no"], "media": dn.Several(["tv", "web"])}
    one = dn.Study(asked, 1.0, only_if={"media": {"works": "yes"}}, answered={"media": 0.3}).plan(PEOPLE)
    assert [each.answered for each in one.document.attributes] == [None, 300, 300]


@pytest.mark.parametrize(
    ("answered", "why"),
    [
        ({"works": 0.5}, "answered of 'works': everybody answers it"),
        ({"jobs": 0.5}, "'jobs' is not an attribute"),
        ({"job": 0.0}, "must be above 0 and at most 1, got 0.0"),
        ({"job": "half"}, "must be above 0 and at most 1, got 'half'"),
        ({"job": 1 / 3}, "is in thousandths, such as 0.333, got 0.333333"),
        ({"job": 1e-9}, "is in thousandths, such as 0.001, got 1e-09"),
        (0.5, "answered has shares of people by question"),
    ],
)
def test_shares_that_cannot_be_are_refused(answered: object, why: str) -> None:
    with pytest.raises(dn.InvalidParameter, match=why):
        study(answered=answered)


def test_the_file_and_the_command_have_it(run: Run) -> None:
    Path("study.toml").write_text(
        'epsilon = 2.0\n[attributes.works]\nvalues = ["yes", "no"]\n[attributes.job]\nvalues = ["a", "b"]\n'
        'only_if = { works = "yes" }\nanswered = 0.25\n',
        encoding="utf-8",
    )
    assert "shares of 2 values, if 25 % answer" in run("people", "study.toml", "--people", "1000").out
    needed = run("people", "study.toml", "--error", "5")
    assert "if 25 % answer" in needed.out
    assert "take it that everybody" not in needed.out


def test_what_half_of_the_needed_people_tell_is_possible(run: Run) -> None:
    """It was computed for one person: an income of up to 6,000 was known to within 35,200."""
    Path("study.toml").write_text(
        "epsilon = 2.0\n[attributes]\nworks = { yes_no = true }\nincome = { low = 0, high = 6000, "
        'mean = true, only_if = { works = "yes" } }\n',
        encoding="utf-8",
    )
    told = run("people", "study.toml", "--error", "5").out
    found = re.search(r"'income' to within ([0-9.,]+)", told)
    assert found is not None
    assert float(found[1].rstrip(".").replace(",", "")) < 1200


def test_who_answered_is_not_known_among_random_values() -> None:
    with pytest.raises(dn.InvalidParameter, match="a missing answer is a random value, so nobody knows"):
        dn.Study({"rent": ["low", "high"]}, 1.0, missing="random", answered={"rent": 0.5})
