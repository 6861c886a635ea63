"""One file, from the shell to week 2 in a browser: one survey, then its weekly question alone."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

import deniable as dn
from tests.collect.journeys import PHONE, check_access, counted, visiting
from tests.collector import collecting
from tests.running import Run

TEXT = """\
title = "Work and mood"
epsilon = 1.0

[survey]
introduction = "One of these questions comes back every week."
consent = true
thanks = "See you next week."

[repeat]
epsilon_first = 0.5
epsilon_forever = 1.0

[attributes.mood]
values = ["good", "so-so", "bad"]
repeat = 4

[attributes.smokes]
values = ["yes", "no"]
"""


def test_one_file_is_one_survey_and_its_weekly_question_comes_back(
    browser: Browser, run: Run, tmp_path: Path
) -> None:
    Path("study.toml").write_text(TEXT, encoding="utf-8")
    made = run("plan", "study.toml", "--people", "2000", "-o", "plan.json")
    assert made.code == 0, made.err
    [times] = re.findall(r"more than ([\d.]+) times likelier from one person than another", made.out)
    once, weekly = dn.Plan.read("plan.json"), dn.Plan.read("plan-repeated.json")
    with (
        collecting(tmp_path, [once, weekly]) as collector,
        visiting(browser, collector, viewport=PHONE, bypass_csp=True) as visit,
    ):
        page = visit.page
        page.goto(collector.url)  # the bare address: nobody chooses between parts of one study
        expect(page.locator("h1")).to_have_text("Work and mood")
        expect(page.get_by_text("One of these questions comes back every week.")).to_have_count(1)
        expect(page.locator("main > .promise")).to_contain_text(f"at most {times} times likelier")
        answer(page)
        expect(page.locator(".part h2")).to_have_text("Questions asked 4 times")
        answer(page)
        expect(page.locator(".consent").get_by_text("I take part of my own free will.")).to_have_count(1)
        expect(page.locator(".consent")).to_contain_text(f"at most {times} times likelier")
        expect(page.locator(".consent label")).to_have_text("I agree, for Work and mood")
        check_access(page)
        send(page)
        expect(page.get_by_text("See you next week.")).to_have_count(1)
        assert (counted(collector, once), counted(collector, weekly)) == (1, 1)
        assert run("rounds", "plan-repeated.json", "--close", "1").code == 0
        assert run("rounds", "plan-repeated.json", "--open", "2").code == 0
        page.reload()
        expect(page.get_by_text("You have answered “Questions asked once” already.")).to_be_visible()
        expect(page.locator("form fieldset legend")).to_have_text("mood")
        expect(page.locator("main > .promise")).to_contain_text(
            f"at most {times} times likelier"
        )  # with both
        answer(page)
        send(page)
        assert (counted(collector, once), counted(collector, weekly, 2)) == (1, 1)


def answer(page: Page) -> None:
    """The first answer to the question of the part that is shown."""
    page.locator("form input[type=radio]").first.check()
    page.locator("form:not(.cap) button.main").click()


def send(page: Page) -> None:
    page.locator("#consent").check()
    page.locator("button.main").click()
    page.locator(".act button.main").click()
    expect(page.locator("#receipt")).to_be_focused()
