"""Text that nobody listed and ranges on the design page, and what it forecasts of them."""

from __future__ import annotations

import tomllib
from pathlib import Path

from playwright.sync_api import Browser, expect

import deniable as dn
from deniable.design.draft import Question
from deniable.design.forecast import forecast
from deniable.design.preview import preview
from deniable.design.problems import find_unfinished
from tests.collect.journeys import check_access
from tests.design.test_page import DESK, designing, opened

TEXT = """epsilon = 4.0

[attributes.income]
low = 0
high = 1024
step = 1
"""


def test_text_and_ranges_are_asked_for_and_their_results_are_shown(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(TEXT, encoding="utf-8")
    with designing(file) as link, opened(browser, link, viewport=DESK, bypass_csp=True) as page:
        page.get_by_label("Ranges and quantiles will be read").check()
        page.get_by_role("button", name="Text that nobody listed").click()
        page.keyboard.type("word")
        page.get_by_label("Letters", exact=True).fill("")
        expect(page.locator("#session")).to_contain_text("write the letters that a text may have")
        page.get_by_label("Letters", exact=True).fill("a-z")
        page.get_by_label("Letters that are kept").fill("3")
        expect(page.locator(".attack")).to_contain_text("word, which of two answers it is, at most")
        expect(page.locator(".known", has_text="word").first).to_be_visible()
        check_access(page)
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_text("Saved in study.toml", exact=True)).to_be_visible()
    written = tomllib.loads(file.read_text(encoding="utf-8"))["attributes"]
    assert written["income"]["queries"] == "ranges"
    assert written["word"] == {"alphabet": "a-z", "longest": 3}


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
