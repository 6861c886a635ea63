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
from deniable.tickets import draw_code
from tests.collect.journeys import PHONE, Visit, check_access, counted, set_round, visiting
from tests.collector import HTTP, OPERATOR, Running, collecting
from tests.keys import signing_key
from tests.running import Run

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


def test_a_page_that_is_left_open_tries_again_by_itself(browser: Browser, collector: Running) -> None:
    before = both(collector)
    with visiting(browser, collector) as visit:
        page = visit.page
        page.clock.install()
        page.goto(f"{collector.url}/{BOTH}")
        answer(page)
        page.locator("#consent").check()
        page.locator("button.main").click()
        visit.context.route("**/reports", lambda route: route.fulfill(status=422, json={"reason": "form"}))
        page.locator(".act button.main").click()
        expect(page.get_by_text("has not arrived")).to_have_count(2)
        visit.context.unroute("**/reports")
        page.clock.fast_forward(21_000)
        expect(page.locator("#receipt")).to_be_focused()
        assert both(collector) == plus(before, 1, 1)
        visit.problems.clear()  # the refusals


def test_a_closed_plan_and_an_unknown_one_are_left_out(browser: Browser, collector: Running) -> None:
    set_round(collector, ONCE, 1, "2020-01-01T00:00:00Z")
    with following(browser, collector, f"{BOTH}&plan={'0' * 64}") as visit:
        page = visit.page
        expect(page.get_by_text("“Habits” is not open now")).to_be_visible()
        expect(page.get_by_text("does not have one of the studies")).to_be_visible()
        expect(page.locator("h1")).to_have_text("Mood")
        expect(page.locator("form input[type=radio]").first).to_be_visible()
    set_round(collector, ONCE, 1, None)


def test_a_consent_is_to_parts_without_one_too(browser: Browser, collector: Running) -> None:
    with following(browser, collector, f"#plan={WEEKLY.id}&plan={ASIDE.id}") as visit:
        page = visit.page
        answer(page)
        expect(page.get_by_text("Asked weekly.")).to_be_visible()
        expect(page.locator(".consent label")).to_contain_text("Mood and Tea")


def test_studies_are_named_in_the_language_of_the_page(browser: Browser, collector: Running) -> None:
    with following(browser, collector, "", locale="de-DE") as visit:
        expect(visit.page.locator(".choices a", has_text="Tee")).to_have_count(1)


def test_another_language_keeps_the_answers_of_all_parts(browser: Browser, collector: Running) -> None:
    with following(browser, collector, BOTH) as visit:
        page = visit.page
        page.locator("form input[type=radio]").nth(1).check()
        page.locator("form:not(.cap) button.main").click()
        expect(page.locator("main h2", has_text="Habits")).to_be_focused()
        page.locator("form input[type=radio]").nth(1).check()
        page.locator("#language select").select_option("de")
        expect(page.get_by_text("Teil 2 von 2")).to_be_visible()
        expect(page.locator("form input[type=radio]").nth(1)).to_be_checked()
        page.locator("form input[type=radio]").nth(2).check()
        page.locator("form:not(.cap) button.main").click()
        expect(page.locator(".review dd")).to_contain_text(["so-so", "Nein", "never"])


def test_a_plan_that_a_link_names_in_two_ways_is_asked_once(browser: Browser, collector: Running) -> None:
    link = f"#plan={ONCE.id}&plan={ONCE.id[:12]}"
    with following(browser, collector, link) as visit:
        page = visit.page
        expect(page.locator("form fieldset")).to_have_count(2)
        expect(page.get_by_text("Part 1 of")).to_have_count(0)
        expect(page.locator("#together")).to_have_count(0)  # there is no sum of losses


def test_a_limit_holds_for_the_sum(browser: Browser, collector: Running) -> None:
    with following(browser, collector, BOTH) as visit:
        page = visit.page
        page.locator("#cap").fill("2")
        page.locator(".cap button").click()
        left_out = "With “Habits”, your lifetime loss would be above your limit of 2. It is left out"
        expect(page.get_by_text(left_out)).to_be_visible()
        expect(page.locator("h1")).to_have_text("Mood")


def test_links_for_several_plans_carry_their_invitations(
    browser: Browser, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with collecting(tmp_path, [WEEKLY, ONCE], "--invited") as collector:
        monkeypatch.chdir(tmp_path)
        files = ["plan-0.json", "plan-1.json"]
        made = run("tokens", *files, "--count", "3", "--url", collector.url)
        assert made.code == 0, made.err
        assert "to Mood are unused" in made.err
        links = [row.rpartition(",")[2] for row in made.out.split()[1:] if "#" in row]
        assert len(links) == 3
        assert re.search(
            f"#plan={WEEKLY.id}&invitation=[^&]{{32}}&plan={ONCE.id}&invitation=.{{32}}$", links[0]
        )
        assert "named twice" in run("tokens", files[0], files[0], "--count", "3").err
        with following(browser, collector, links[0]) as visit:
            page = visit.page
            expect(page).to_have_url(f"{collector.url}/{BOTH}")  # the invitations are out of sight
            answer(page)
            page.locator("#consent").check()
            page.locator("button.main").click()
            page.locator(".act button.main").click()
            expect(page.locator("#receipt")).to_be_focused()
        assert (counted(collector, WEEKLY), counted(collector, ONCE)) == (1, 1)
        for plan, answers in (
            (ONCE, {"Do you smoke?": "no", "Sport": "often"}),
            (WEEKLY, {"How do you feel?": "well"}),
        ):
            client = dn.Client(
                plan, secret=bytes(32)
            )  # an app takes the invitation to its plan from the link
            assert client.send(collector.url, client.report(answers, round=1), links[2]) == "counted"
        tea = dn.Client(ASIDE, secret=bytes(32))
        with pytest.raises(InvalidParameter, match="no invitation to plan"):
            tea.send(collector.url, tea.report({"Tea": "no"}), links[2])
        with following(browser, collector, BOTH) as visit:  # somebody types the codes of a letter
            page = visit.page
            codes = re.findall("invitation=([^&]*)", links[1])
            page.locator("#invitation").fill(codes[0])
            page.keyboard.press("Enter")
            expect(page.get_by_text("This has 1 of 2 invitations.")).to_be_visible()
            page.locator("#invitation").fill(" ".join(codes))
            page.keyboard.press("Enter")
            answer(page)
            page.locator("#consent").check()
            page.locator("button.main").click()
            page.locator(".act button.main").click()
            expect(page.locator("#receipt")).to_be_focused()
        with following(browser, collector, f"#plan={ONCE.id}") as visit:  # a link of another plan is pasted
            page = visit.page
            expect(page.locator("h1")).to_have_text("Habits")
            page.locator("#invitation").fill(f"{collector.url}/#plan={WEEKLY.id}&invitation={'a' * 32}")
            page.keyboard.press("Enter")
            expect(page.locator("h1")).to_have_text("Mood")
            page.locator("form input[type=radio]").first.wait_for()
            expect(page.locator("#invitation")).to_have_count(0)


def test_one_typed_code_opens_all_plans_of_its_letter(
    browser: Browser, closed: Running, tokens: Callable[..., list[str]]
) -> None:
    """At the collector's bare address; a slip is named before any question, and the wrong plan leads on."""

    def code_of(*plans: dn.Plan) -> str:
        made = tokens(closed, plans, "--count", "1", "--url", closed.url)
        [code] = re.findall(r",((?:\w{4}-){5}\w{2}),", "\n".join(made))
        return str(code)

    both, weekly, tea = code_of(WEEKLY, ONCE), code_of(WEEKLY), code_of(ASIDE)
    with following(browser, closed, "", viewport=PHONE) as visit:
        page = visit.page
        for typed, said in {
            both[:-1]: "A code has 22 letters and digits. This has 21.",
            both[:8] + ("3" if both[8] != "3" else "4") + both[9:]: "There is a slip in this code.",
            draw_code(["00" * 32]): "for a study that is not here",
            "a" * 32: "Choose your study below first",
        }.items():
            page.locator("#invitation").fill(typed)
            page.keyboard.press("Enter")
            expect(page.locator("#invitation-complaint")).to_contain_text(said)
            expect(page.locator("#invitation")).to_be_focused()
        page.locator("#invitation").fill(both.replace("-", " \N{EN DASH} ").lower() + ".")
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
        assert (counted(closed, WEEKLY), counted(closed, ONCE)) == (1, 1)
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


def test_a_ticket_waits_and_the_other_report_does_not(
    browser: Browser, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = ONCE.with_ticket_key(signing_key(0).public)
    signing_key(0).write(tmp_path / "tickets.key", plan.id)
    with collecting(tmp_path, [WEEKLY, plan], "--invited", "--ticket-key", "tickets.key") as collector:
        monkeypatch.chdir(tmp_path)
        made = run("tokens", "plan-0.json", "plan-1.json", "--count", "1", "--url", collector.url)
        [link] = [row.rpartition(",")[2] for row in made.out.split() if "#" in row]
        with following(browser, collector, link) as visit:
            page = visit.page
            answer(page)
            page.locator("#consent").check()
            page.locator("button.main").click()
            page.locator(".act button.main").click()
            expect(page.get_by_text("“Mood” was received")).to_be_visible()
            expect(page.get_by_role("button", name="Send now")).to_be_visible()
            assert (counted(collector, WEEKLY), counted(collector, plan)) == (1, 0)
            page.on("dialog", lambda dialog: dialog.accept())  # the browser asks whether to leave
            page.reload()  # a page that is opened again goes on where it was
            page.get_by_role("button", name="Send now").click()
            expect(page.locator("#receipt")).to_be_focused()
            assert (counted(collector, WEEKLY), counted(collector, plan)) == (1, 1)
