"""Several plans behind one link, in a real browser: one survey, two reports."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

import deniable as dn
from deniable.errors import InvalidParameter
from deniable.rounds import l_grr
from deniable.tickets import draw_code
from spec.make.chains import plan_chain
from tests.collect.journeys import PHONE, Visit, counted, set_round, visiting
from tests.collect.test_pages import TICKETED
from tests.collector import Running, collecting

WEEKLY = dn.Study(
    {"How do you feel?": ["well", "so-so", "badly"]},
    epsilon_first=0.5,
    epsilon_forever=1.0,
    rounds=3,
    title="Mood",
    survey=dn.Texts(
        consent={"en": "Asked weekly.", "de": "Jede Woche."}, thanks={"en": "See you.", "de": "Bis bald."}
    ),
).plan(people=1000)
ONCE = dn.Study(
    {"Do you smoke?": ["yes", "no"], "Sport": ["never", "often"]},
    epsilon=1.5,
    mechanism="split",
    title="Habits",
    survey=dn.Texts(consent={"en": "Asked once.", "de": "Nur einmal."}),
).plan(people=1000)
ASIDE = dn.Study(
    {"Tea": ["yes", "no"]}, epsilon=0.5, title="Tea", survey=dn.Texts(title={"en": "Tea", "de": "Tee"})
).plan(people=1000)
BOTH = f"#plan={WEEKLY.id}&plan={ONCE.id}"
PLANS = CLOSED = [WEEKLY, ONCE, ASIDE]


def both(collector: Running) -> tuple[int, int]:
    """How many reports were counted, of either plan."""
    return counted(collector, WEEKLY) + counted(collector, WEEKLY, 2), counted(collector, ONCE)


def plus(before: tuple[int, int], weekly: int, once: int) -> tuple[int, int]:
    return before[0] + weekly, before[1] + once


def answer(page: Page) -> None:
    """Both parts, the review, the consent and the reports."""
    page.locator("form input[type=radio]").first.check()
    page.locator("form:not(.cap) button.main").click()
    expect(page.locator(".part h2")).to_be_focused()  # the second part, and not the first still
    for group in page.locator("form fieldset").all():
        group.locator("input").first.check()
    page.locator("form:not(.cap) button.main").click()


@contextmanager
def following(browser: Browser, collector: Running, link: str, **options: Any) -> Iterator[Visit]:
    with visiting(browser, collector, **options) as visit:
        visit.page.goto(link if link.startswith("http") else f"{collector.url}/{link}")
        yield visit


@pytest.mark.long
def test_one_typed_code_opens_all_plans_of_its_letter(
    browser: Browser, closed: Running, tokens: Callable[..., list[str]]
) -> None:
    """At the collector's bare address; a slip is named before any question, and the wrong plan leads on."""

    before = both(closed)

    def code_of(*plans: dn.Plan) -> str:
        made = tokens(closed, plans, "--count", "1", "--url", closed.url)
        [code] = re.findall(r",((?:\w{4}-){5}\w{2}),", "\n".join(made))
        return str(code)

    habits, weekly, tea = code_of(WEEKLY, ONCE), code_of(WEEKLY), code_of(ASIDE)
    with following(browser, closed, "", viewport=PHONE) as visit:
        page = visit.page
        for typed, said in {
            habits[:-1]: "A code has 22 letters and digits. This has 21.",
            habits[:8] + ("3" if habits[8] != "3" else "4") + habits[9:]: "There is a slip in this code.",
            draw_code(["00" * 32]): "for a study that is not here",
            "a" * 32: "Choose your study below first",
        }.items():
            page.locator("#invitation").fill(typed)
            page.keyboard.press("Enter")
            expect(page.locator("#invitation-complaint")).to_contain_text(said)
            expect(page.locator("#invitation")).to_be_focused()
        page.locator("#invitation").fill(habits.replace("-", " \N{EN DASH} ").lower() + ".")
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_have_text("Mood and Habits")
        expect(page.locator(".part h2")).to_be_focused()
        expect(page).to_have_url(f"{closed.url}/{BOTH}")
        page.goto(f"{closed.url}/#plan={ONCE.id}")  # and the other way round
        expect(page.locator("h1")).to_have_text("Habits")
        expect(page.locator("form input[type=radio]").first).to_be_visible()
        page.goto(f"{closed.url}/{BOTH}")
        expect(page.locator("h1")).to_have_text("Mood and Habits")
        answer(page)
        page.locator("#consent").check()
        page.locator("button.main").click()
        page.locator(".act button.main").click()
        expect(page.locator("#receipt")).to_be_focused()
        assert both(closed) == plus(before, 1, 1)
        asked = [one.url for one in visit.sent if one.method == "POST"]
        assert asked == [f"{closed.url}/reports"] * 2, "no invitation is asked about beforehand"
        set_round(closed, WEEKLY, 2, None)
        page.goto(f"{closed.url}/#plan={ASIDE.id}")  # of another study than the letter
        page.locator("#invitation").fill(weekly)
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_have_text("Mood")
        expect(page.get_by_text("round 2 of 3")).to_be_visible()
        expect(page.locator("form input[type=radio]").first).to_be_visible()
        page.goto(f"{closed.url}/{BOTH}")  # the code was typed for one of them, and serves here
        expect(page.get_by_text("You have answered “Habits” already")).to_be_visible()
        expect(page.locator("form input[type=radio]").first).to_be_visible()
        page.goto(closed.url)
        page.locator("#invitation").fill(tea)
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_have_text("Tea")


def test_an_app_takes_the_invitation_to_its_plan_from_a_link_of_several(
    closed: Running, tokens: Callable[..., list[str]]
) -> None:
    rows = tokens(closed, [WEEKLY, ONCE], "--count", "2", "--url", closed.url)
    [first, second] = [row.rpartition(",")[2] for row in rows if "#" in row]
    assert re.search(f"#plan={WEEKLY.id}&invitation=[^&]{{32}}&plan={ONCE.id}&invitation=.{{32}}$", first)
    for plan, answers in (
        (ONCE, {"Do you smoke?": "no", "Sport": "often"}),
        (WEEKLY, {"How do you feel?": "well"}),
    ):
        client = dn.Client(plan, secret=bytes(32))
        assert client.send(closed.url, client.report(answers, round=1), second) == "counted"
    tea = dn.Client(ASIDE, secret=bytes(32))
    with pytest.raises(InvalidParameter, match="no invitation to plan"):
        tea.send(closed.url, tea.report({"Tea": "no"}), second)


@pytest.mark.long
def test_a_ticket_waits_and_the_other_report_does_not(
    browser: Browser, closed: Running, tokens: Callable[..., list[str]]
) -> None:
    rows = tokens(closed, [ASIDE, TICKETED], "--count", "1", "--url", closed.url)
    [link] = [row.rpartition(",")[2] for row in rows if "#" in row]
    before = counted(closed, ASIDE), counted(closed, TICKETED)
    with following(browser, closed, link) as visit:
        page = visit.page
        answer(page)
        page.locator("button.main").click()
        page.locator(".act button.main").click()
        expect(page.get_by_text("“Tea” was received")).to_be_visible()
        expect(page.get_by_role("button", name="Send now")).to_be_visible()
        assert (counted(closed, ASIDE), counted(closed, TICKETED)) == plus(before, 1, 0)
        page.on("dialog", lambda dialog: dialog.accept())  # the browser asks whether to leave
        page.reload()  # a page that is opened again goes on where it was
        page.get_by_role("button", name="Send now").click()
        expect(page.locator("#receipt")).to_be_focused()
        assert (counted(closed, ASIDE), counted(closed, TICKETED)) == plus(before, 1, 1)


def test_plans_that_continue_each_other_are_one_line_with_a_way_to_both(
    browser: Browser, tmp_path: Path
) -> None:
    """The newest is shown first, and leads to the one before, whose rounds an operator still opens."""
    old, new = plan_chain((l_grr(2, 1.0, 2.0), 2), (l_grr(3, 1.0, 2.0), 2))
    with collecting(tmp_path, [old, new, ONCE]) as running:
        listed = {plan["id"]: plan["continues"] for plan in running.get("/plans").json()["plans"]}
        assert listed == {old.id: [], new.id: [old.id], ONCE.id: []}
        with visiting(browser, running) as visit:
            page = visit.dashboard(new)
            expect(page.get_by_role("navigation", name="Studies").get_by_role("link")).to_have_count(2)
            expect(page.get_by_text("It continues plan")).to_be_visible()
            page.get_by_role("link", name=f"plan {old.id[:12]}").click()
            expect(page.get_by_text("It is continued by")).to_be_visible()
            expect(page.locator("nav [aria-current=page]")).to_have_attribute("data-name", new.id)
