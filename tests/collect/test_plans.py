"""Several plans behind one link, in a real browser: one survey, two reports."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

import deniable as dn
from deniable.errors import InvalidParameter
from deniable.rounds import l_grr
from deniable.tickets import draw_code
from spec.make.chains import plan_chain
from tests.collect.journeys import PHONE, Visit, check_access, counted, set_round, visiting
from tests.collect.test_pages import TICKETED
from tests.collector import HTTP, OPERATOR, Running, collecting

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


@pytest.fixture(autouse=True)
def _two_rounds(collector: Running) -> None:
    set_round(collector, WEEKLY, 2, None)


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
def test_two_plans_are_one_survey(browser: Browser, collector: Running) -> None:
    before = both(collector)
    with following(browser, collector, BOTH, locale="de-DE", viewport=PHONE, bypass_csp=True) as visit:
        page = visit.page
        expect(page.locator("h1")).to_have_text("Mood und Habits")
        # the easiest answer first, over all rounds; then the sum of both, counting answers that change
        assert WEEKLY.stated.counted is not None
        times = math.exp((WEEKLY.stated.counted + ONCE.stated.record) / 1e9)
        shown = f"{math.ceil(10 * times) / 10:.1f}"
        box = page.locator("main > .promise")
        expect(box.locator("> .headline")).to_contain_text("78")
        expect(box).to_contain_text(shown.replace(".", ","))
        check_access(page)
        answer(page)
        expect(page.locator(".review dd")).to_have_count(3)
        expect(page.locator("main > .promise.hardly")).to_be_visible()  # the guarantee again, before sending
        page.locator(".review button").first.click()  # back to the question itself, in the first part
        expect(page.locator("form input[type=radio]").first).to_be_focused()
        page.locator("form:not(.cap) button.main").click()
        page.locator("form:not(.cap) button.main").click()
        for consent in ("Jede Woche.", "Nur einmal."):
            expect(page.get_by_text(consent)).to_be_visible()
        page.locator("button.main").click()
        expect(page.locator("#consent")).to_be_focused()
        expect(page.locator(".consent label")).to_contain_text("Mood")
        expect(page.locator(".consent label")).to_contain_text("Habits")
        assert not [one for one in visit.sent if one.method == "POST"]
        check_access(page)
        page.locator("#consent").check()
        page.locator("button.main").click()
        expect(page.locator(".cards")).to_have_count(2)
        check_access(page)
        page.locator(".act button.main").click()
        expect(page.locator("#receipt")).to_be_focused()
        expect(page.get_by_text("Bis bald.")).to_be_visible()
        assert both(collector) == plus(before, 1, 1)
        page.reload()  # of another round, which is open, only the weekly question is asked
        expect(page.get_by_text("„Habits“ haben Sie schon beantwortet")).to_be_visible()
        expect(page.locator("h1")).to_have_text("Mood")
        page.locator("form input[type=radio]").first.check()
        page.locator("form:not(.cap) button.main").click()
        page.locator("#consent").check()
        page.locator("button.main").click()
        page.locator(".act button.main").click()
        expect(page.locator("#receipt")).to_be_focused()
        assert both(collector) == plus(before, 2, 1)
        opens = {"opens": "2999-01-02T08:00:00Z", "closes": None}
        HTTP.put(f"{collector.url}/plans/{WEEKLY.id}/rounds/3", json=opens, headers=OPERATOR)
        page.reload()
        expect(page.locator(".head .notice", has_text="2999")).to_be_visible()


@pytest.mark.long
def test_what_arrived_stays_and_the_rest_is_tried_again(browser: Browser, collector: Running) -> None:
    before = both(collector)
    with following(browser, collector, BOTH) as visit:
        page = visit.page
        answer(page)
        page.locator("#consent").check()
        page.locator("button.main").click()
        failed: list[int] = []

        def refuse_once(route: Route) -> None:
            body = route.request.post_data_buffer or b""
            if body[1:9] == bytes.fromhex(ONCE.id)[:8] and not failed:
                failed.append(1)
                route.fulfill(status=422, json={"reason": "form", "detail": "the network changed it"})
            else:
                route.continue_()

        visit.context.route("**/reports", refuse_once)
        page.locator(".act button.main").click()
        expect(page.get_by_text("“Mood” was received")).to_be_visible()
        expect(page.get_by_text("“Habits” has not arrived")).to_be_visible()
        expect(page.get_by_text("What has arrived stays counted")).to_be_visible()
        assert both(collector) == plus(before, 1, 0)
        set_round(collector, WEEKLY, 1, "2020-01-01T00:00:00Z")  # of the newest round it is answered
        page.reload()  # the report waits on the device: nothing is asked
        expect(page.get_by_text("You have answered “Mood” in this round")).to_be_visible()
        expect(page.locator(".cards")).to_have_count(1)
        page.locator(".act button.main").click()
        expect(page.locator("#receipt")).to_be_focused()
        set_round(collector, WEEKLY, 1, None)
        assert both(collector) == plus(before, 1, 1)
        visit.problems.clear()  # the refusal


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
            expect(page.get_by_text("It continues")).to_be_visible()
            page.get_by_role("link", name=f"plan {old.id[:12]}").click()
            expect(page.get_by_text("It is continued by")).to_be_visible()
            expect(page.locator("nav [aria-current=page]")).to_have_attribute("data-name", new.id)
