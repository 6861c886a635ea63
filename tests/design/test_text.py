"""What the design page forecasts of text that nobody listed and of ranges."""

from __future__ import annotations

import deniable as dn
from deniable.design.draft import Question
from deniable.design.forecast import forecast
from deniable.design.preview import preview
from deniable.design.problems import find_unfinished


def test_what_is_still_to_be_written_of_a_text_is_said() -> None:
    for keys, field in (({"alphabet": "", "longest": 3}, "alphabet"), ({"alphabet": "a-z"}, "longest")):
        found = find_unfinished(Question("word", keys))
        assert found is not None
        assert found.field == field
    assert find_unfinished(Question("word", {"alphabet": "a-z", "longest": 3})) is None


def test_simulated_people_have_texts_that_are_found() -> None:
    for levels in (True, False):
        text = dn.Text("a-z", longest=3, levels=levels)
        [found] = preview(dn.Study({"word": text}, epsilon=4.0).plan(people=3000))["questions"]
        best = found["rows"][0]
        assert best["low"] <= best["truth"] <= best["high"]
        assert "in 5 % of studies" in found["why"]


def test_levels_are_guessed_once_and_text_by_two_answers() -> None:
    income = dn.Range(0, 1024, step=1, queries="ranges")
    questions = {"income": income, "word": dn.Text("a-z", longest=3), "smokes": ["yes", "no"]}
    rows = {
        one["attribute"]: one
        for one in forecast(dn.Study(questions, epsilon=4.0).plan(people=3000))["guesses"]
    }
    assert list(rows) == ["income, in 4 groups", "income", "word", "smokes"]
    assert all(one["blind"] <= one["report"] <= one["reported"] <= 1 for one in rows.values())
    assert rows["word"]["blind"] == 0.5
    assert rows["word"]["what"] == "which of two answers it is, at most"


def test_text_hides_no_guess_from_questions_that_depend_on_each_other() -> None:
    asked = {"smokes": ["yes", "no"], "brand": ["a", "b", "c"]}

    def guess(**more: dn.Text) -> dict[str, dict[str, float]]:
        study = dn.Study(asked | more, epsilon=3.0, mechanism="split", only_if={"brand": {"smokes": "yes"}})
        return {one["attribute"]: one for one in forecast(study.plan(people=1000))["guesses"]}

    alone, beside = guess(), guess(word=dn.Text("a-z", longest=5))
    for name in asked:
        assert alone[name]["together"] >= alone[name]["report"]
        assert beside[name]["together"] >= beside[name]["report"]
        assert beside[name]["together_blind"] == alone[name]["together_blind"]
    assert beside["brand"]["together"] > beside["brand"]["report"] + 0.01, "one says something of the other"
