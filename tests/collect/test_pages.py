"""The survey and the dashboard in a real browser, served by a real collector."""

from __future__ import annotations

import csv
import hashlib
import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, Route, expect

import deniable as dn
from deniable.client.client import WAIT
from deniable.collect.access import Actor, draw_token, hash_token
from deniable.collect.files import FOLDER, read_files
from deniable.collect.reading import fetch_tallies
from deniable.collect.store import open_store
from deniable.explain.device_limit import round_limit
from deniable.plan import metric_mechanism
from deniable.reports import Tallies
from deniable.wire import Report, Wire
from tests.collect.journeys import (
    COLOR_RULES,
    COLORS,
    PATIENCE,
    SOURCES,
    Visit,
    check_access,
    counted,
    entries,
    look,
    look_through,
    make,
    open_all,
    post,
    send,
    set_round,
    unfold,
    visiting,
)
from tests.collect.test_health import FAKES, HONEST, PEOPLE, POISONED, reports_of
from tests.collect.test_health import send as send_all
from tests.collector import BINARY, TOKEN, Running, collecting
from tests.keys import signing_key
from tests.running import Run
from tests.services import missing

PHONE = {"width": 390, "height": 844}
CODE = "an_invitation_of_-32-_characters"  # in the form of those that `deniable tokens` makes
LABEL = "<img src=x onerror=alert(1)> & co"

ONCE = dn.Study(
    {"Do you smoke?": ["yes", "no"], "Color": COLORS, "Age": dn.Range(0, 100, step=10, open_high=True)},
    epsilon=3.0,
    mechanism="split",
    missing="value",
    title=f"Habits {LABEL}",
).plan(people=1000)
AGAIN = dn.Study(
    {"How do you feel?": ["well", "so-so", "badly"]},
    epsilon_first=1.0,
    epsilon_forever=2.0,
    rounds=3,
    title="Every month",
).plan(people=1000)
MONTHS = dn.Study(
    {"How do you feel?": ["well", "so-so", "badly"]},
    epsilon_first=1.5,
    epsilon_forever=3.0,
    rounds=3,
    title="Months",
).plan(people=1000)
WEEKS = dn.Study(
    {"How do you feel?": ["well", "so-so", "badly"]},
    epsilon_first=1.0,
    epsilon_forever=2.0,
    rounds=3,
    title="Weeks",
).plan(people=1000)
TWICE = dn.Study(
    {"Hours": dn.Range(0, 24, step=4)}, epsilon_first=1.0, epsilon_forever=2.0, rounds=2, title="Sleep"
).plan(people=1000)
FILLED = dn.Study(
    {"Coffee": ["none", "one", "two", LABEL], "Tea": ["yes", "no"]}, epsilon=2.0, title="Drinks"
).plan(people=1000)
TICKETED = FILLED.with_ticket_key(signing_key(0).public)

TOWN = dn.Grid(
    47.60, 6.80, 47.70, 6.95, rows=8, columns=10, epsilon=dn.metric.per_meter(level=1.0, radius=1000)
)
MIXED, TOWNS = (
    dn.Study(
        {
            "Do you smoke?": ["yes", "no"],
            "Age": dn.Range(0, 100, step=1, privacy="metric", epsilon=0.1, open_high=True),
            "Home": TOWN,
            "Income": dn.Number(0, 10_000, open_high=True),
        },
        epsilon=2.0,
        mechanism="split",
        missing="random",
        title=title,
    ).plan(people=1000)
    for title in ("Town", "Towns")
)
BINNED: dict[str, Any] = {
    "Age": dn.Range(0, 100, step=5, privacy="metric", epsilon=0.5),
    "Hours": dn.Range(0, 24, step=4),
    "Income": dn.Number(0, 10_000),
}
BINS = dn.Study(BINNED, epsilon=4.0, mechanism="split", title="Bins").plan(people=1000)


def fill_in(page: Page) -> None:
    """All of ONCE."""
    page.get_by_role("group", name="Do you smoke?").get_by_label("yes").check()
    page.get_by_label("Color").select_option("blue")
    page.get_by_label("Age", exact=True).fill("42")


PLANS = [ONCE, AGAIN, WEEKS, MONTHS, TWICE, FILLED, MIXED, TOWNS, BINS, HONEST, POISONED]
CLOSED = [FILLED, TICKETED, ONCE]
IN_TOWN: dict[str, Any] = {
    "Age": [*range(20, 80)],
    "Home": [(47.64, 6.86), (47.66, 6.9)],
    "Income": [100.0 * i for i in range(60)],
}


def test_what_leaves_is_what_was_shown_and_no_answer_is_kept(visit: Visit, collector: Running) -> None:
    """It is drawn once and counted once, however often the page is opened or the button is pressed."""
    before = counted(collector, ONCE)
    page = visit.survey(ONCE)
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Habits {LABEL}")
    expect(page.get_by_text("Verified on this device")).to_be_visible()
    expect(page.locator(".headline")).to_contain_text(
        re.compile(r"Anyone who sees your report guesses right at most .*blind guessing: 1 in \d")
    )
    for selector in ("h1 > bdi", "legend > bdi", ".choice bdi", "option[dir=auto]", ".guesses strong > bdi"):
        expect(page.locator(selector).first, selector).to_be_attached()
    expect(page.locator(".drawing")).to_have_count(0)  # all answers are reported
    fill_in(page)
    make(page)
    stays = page.get_by_role("region", name="Stays on this device")
    for answer in ("yes", "blue", "42 (40 to under 50)"):
        expect(stays.get_by_text(answer, exact=True)).to_be_visible()
    leaves = page.get_by_role("region", name="Leaves this device")
    leaves.get_by_text(re.compile("All .* bytes")).click()
    shown = leaves.locator(".bytes code").inner_text().replace(" ", "")
    said = leaves.locator(".chip").all_inner_texts()
    made = entries(page)
    page.reload()
    expect(page.get_by_role("heading", name="Your report has not been sent yet")).to_be_visible()
    assert not [one for one in visit.sent if one.method == "POST"]
    send(page)
    [posted] = [one for one in visit.sent if one.method == "POST"]
    assert posted.post_data_buffer is not None
    assert posted.post_data_buffer.hex() == shown
    whole = page.locator(".receipt code").get_attribute("title")
    assert whole == Report.from_bytes(bytes.fromhex(shown)).id.hex()
    report = json.loads(Wire(ONCE).to_json(Report.from_bytes(bytes.fromhex(shown))))["report"]
    labels = {one.name: [*one.domain.labels, "prefer not to say"] for one in ONCE.document.attributes}
    supported = {name: said if isinstance(said, list) else [said] for name, said in report.items()}
    assert said == [labels[name][code] for name in labels for code in supported[name]]
    assert [one["report"] for one in entries(page)] == [shown]
    stored = page.evaluate("JSON.stringify({...localStorage, ...sessionStorage})")
    assert "blue" not in stored
    assert "42" not in re.sub(r"[0-9a-f]{32,}", "", stored)
    page.reload()
    expect(page.get_by_role("heading", name="You have answered this round")).to_be_visible()
    send(page)
    expect(page.get_by_text("It is counted once.")).to_be_visible()
    assert counted(collector, ONCE) == before + 1
    page.evaluate(  # a browser that lost its list, and has its secret still
        "() => { const kept = JSON.parse(localStorage.getItem('deniable'));"
        " localStorage.setItem('deniable', JSON.stringify({...kept, entries: []})) }"
    )
    page = visit.survey(ONCE)
    fill_in(page)
    make(page)
    assert entries(page) == made


def test_a_phone_by_touch(browser: Browser, collector: Running) -> None:
    with visiting(
        browser, collector, viewport=PHONE, has_touch=True, is_mobile=True, device_scale_factor=2
    ) as visit:
        page = visit.survey(ONCE)
        page.get_by_role("group", name="Do you smoke?").get_by_text("Prefer not to say").tap()
        page.get_by_label("Color").select_option("green")
        page.locator(".question", has=page.get_by_label("Age", exact=True)).get_by_text(
            "Prefer not to say"
        ).tap()
        expect(page.get_by_role("button", name="Review my answers")).to_be_visible()
        small = (
            "nodes => nodes.filter(node => node.offsetParent && node.getBoundingClientRect().height < "
            "44).length"
        )
        assert page.locator("button, select, .choice, input[type=text]").evaluate_all(small) == 0
        page.get_by_role("button", name="Review my answers").tap()
        page.get_by_role("button", name="Make my report").tap()
        expect(
            page.get_by_role("region", name="Stays on this device").get_by_text("Prefer not to say")
        ).to_have_count(2)
        page.get_by_role("button", name="Send").tap()
        expect(page.get_by_role("heading", name="Received, and counted")).to_be_visible()
        page.get_by_text("What I have sent").tap()
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        page = visit.dashboard(FILLED)
        expect(
            page.get_by_role("img", name="Estimates of Coffee").locator("text", has_text=LABEL)
        ).to_be_visible()  # not cut
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        page.get_by_text("Download", exact=True).tap()
        expect(page.locator(".downloads > div")).to_be_visible()  # the click of a tap comes after it
        menu = page.locator(".downloads > div").bounding_box()
        assert menu is not None
        assert menu["x"] >= 0
        assert menu["x"] + menu["width"] <= PHONE["width"]
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def tampered(change: Callable[[dict[str, Any]], None], honest_id: bool) -> tuple[str, str]:
    """A plan that was changed, with the id that fits it or with the old one."""
    data = json.loads(ONCE.to_json())
    change(data)
    if honest_id:
        body = {name: value for name, value in data.items() if name != "id"}
        text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        data["id"] = hashlib.sha256(text.encode()).hexdigest()
    return data["id"], json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def understate(data: dict[str, Any]) -> None:
    data["losses"]["record"] -= 1


def turn_around(data: dict[str, Any]) -> None:
    data["attributes"][0]["domain"]["labels"][0] = "\u202esey"


@pytest.mark.parametrize(
    ("change", "honest_id", "heading", "why"),
    [
        (understate, True, "This study does not keep its promise", "but its thresholds lose"),
        (understate, False, "This study does not keep its promise", "was changed after it was made"),
        (turn_around, True, "", "A label must be visible text on one line"),
    ],
)
def test_a_plan_that_is_not_what_it_says_is_refused(
    visit: Visit, change: Callable[[dict[str, Any]], None], honest_id: bool, heading: str, why: str
) -> None:
    plan_id, text = tampered(change, honest_id)
    listed = {"plans": [{"id": plan_id, "title": "Colors", "invited": False, "round": 1}]}
    visit.context.route("**/plans", lambda route: route.fulfill(json=listed))
    visit.context.route(
        f"**/plans/{plan_id}", lambda route: route.fulfill(body=text, content_type="application/json")
    )
    page = visit.page
    page.goto(f"{visit.url}/")
    expect(page.get_by_text(why)).to_be_visible()
    if heading:
        expect(page.get_by_role("heading", name=heading)).to_be_visible()
    expect(page.get_by_role("button", name="Review my answers")).to_have_count(0)
    visit.context.unroute("**/plans")
    visit.context.route(f"**/plans/{ONCE.id}", lambda route: route.fulfill(body=FILLED.to_json()))
    page = visit.survey(ONCE)
    expect(page.get_by_text("sent a different plan")).to_be_visible()


def test_the_limit_of_the_device_refuses(visit: Visit) -> None:
    """All studies together give away what one may; a report that was made can be sent whatever the limit."""
    page = visit.page
    refusal = page.get_by_role("heading", name="Your limit refuses this study")
    review = page.get_by_role("button", name="Review my answers")
    limit = page.get_by_label("Refuse studies that bring my lifetime loss above")

    def allow(nats: str) -> None:
        limit.fill(nats)
        limit.press("Enter")

    page.goto(f"{visit.url}/#plan={MIXED.id}")
    expect(refusal).to_be_visible()
    expect(page.get_by_text("; your limit is 4.")).to_be_visible()
    expect(review).to_have_count(0)
    expect(limit).to_have_value("4")
    needed = f"{round_limit(MIXED.stated.record):g}"
    expect(page.get_by_text(f"It takes a limit of {needed}. Only you can set it")).to_be_visible()
    visit.survey(ONCE)
    expect(page.get_by_text("Lifetime loss so far: up to 0 of 4")).to_be_visible()
    allow("-3")
    expect(page.get_by_text("The limit is a number above 0.")).to_be_visible()
    allow("2.5")
    expect(refusal).to_be_visible()
    expect(review).to_have_count(0)
    page.get_by_role("link", name="change the limit").click()
    expect(limit).to_be_focused()
    allow("3")
    fill_in(page)
    make(page)
    expect(page.get_by_text("Lifetime loss so far: up to 3 of 3")).to_be_visible()
    visit.survey(AGAIN)  # 3 and 2 are more than 3
    expect(refusal).to_be_visible()
    refused = "The studies that you have answered gave away up to 3. With this one, your lifetime loss would"
    expect(page.get_by_text(refused)).to_be_visible()
    expect(review).to_have_count(0)
    allow("100")
    expect(review).to_be_visible()
    expect(page.get_by_text("Lifetime loss so far: up to 3 of 100")).to_be_visible()
    visit.survey(ONCE)
    allow("0.1")
    expect(page.get_by_role("heading", name="Your report has not been sent yet")).to_be_visible()
    send(page)


def test_a_survey_is_answered_at_one_address(visit: Visit, collector: Running) -> None:
    """By another name of the collector, the browser would not know what it has sent."""
    page = visit.page
    port = collector.url.rpartition(":")[2]
    other = f"http://localhost:{port}/"
    page.goto(f"{other}#plan={ONCE.id}&invitation={CODE}")
    expect(page.get_by_role("heading", name="This survey has another address")).to_be_visible()
    expect(page.get_by_role("button", name="Review my answers")).to_have_count(0)
    page.get_by_role("link", name=f"{collector.url}/").click()
    expect(page.get_by_role("button", name="Review my answers")).to_be_visible()
    assert page.url == f"{collector.url}/#plan={ONCE.id}"
    assert page.evaluate("sessionStorage.getItem('deniable.invitation')") == CODE
    # of the other name the page asked for parts of itself, up to when it was left, and sent nothing there
    asked = [one for one in visit.sent if one.url.startswith(other)]
    assert {one.method for one in asked} == {"GET"}
    visit.sent[:] = [one for one in visit.sent if one not in asked]


def test_rounds_are_asked_one_by_one(visit: Visit, collector: Running) -> None:
    page = visit.survey(AGAIN)
    expect(page.get_by_text("round 1 of 3")).to_be_visible()
    promise = "Anyone who sees your reports of all 3 rounds guesses right"
    expect(page.locator(".promise .headline")).to_contain_text(promise)
    expect(page.locator(".promise .headline")).to_contain_text("even if your answers change")
    unfold(page)
    page.get_by_text("The exact loss").click()
    expect(page.get_by_text("Any number of rounds, if your answers do not change")).to_be_visible()
    expect(page.get_by_text("All 3 rounds, even if answers change")).to_be_visible()
    page.get_by_label("badly").check()
    sent = page.locator(".ledger > summary")
    expect(sent).to_have_text("What I have sent0")
    make(page)
    expect(sent).to_have_text("What I have sent01 made, not sent")
    set_round(collector, AGAIN, 1, "2026-01-01T00:00:00Z")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text("This round has closed. Your report was not counted")).to_be_visible()
    expect(sent).to_have_text("What I have sent01 made, not sent")
    page.reload()
    expect(page.get_by_role("heading", name="This study is closed now")).to_be_visible()
    expect(page.get_by_text("Come back when the next round opens.")).to_be_visible()
    expect(
        page.get_by_text("1 report made on this device has no receipt from the collector.")
    ).to_be_visible()
    expect(page.locator("#study")).not_to_contain_text("You have answered")
    set_round(collector, AGAIN, 2, None)
    page.reload()
    expect(page.get_by_text("round 2 of 3")).to_be_visible()
    page.get_by_label("badly").check()
    make(page)
    send(page)
    assert counted(collector, AGAIN, 2) == 1
    expect(sent).to_have_text("What I have sent11 made, not sent")
    stays = page.get_by_role("region", name="Never left this device")
    expect(stays).to_contain_text("This device made the report from them and then deleted them")
    page.get_by_text("What I have sent").click()
    expect(page.get_by_text("Round 1 · made, no receipt yet")).to_be_visible()
    expect(page.get_by_text("Round 2 · received by the collector")).to_be_visible()
    total = "Lifetime loss over 2 reports, 1 of them without a receipt, if your answers do not change"
    expect(page.get_by_text(total)).to_be_visible()
    expect(page.get_by_text("The same, even if your answers change")).to_be_visible()
    expect(page.get_by_text("In a study with rounds, the limit counts answers that change.")).to_be_visible()


def test_after_the_last_round_nobody_is_asked_to_come_back(
    browser: Browser, visit: Visit, collector: Running
) -> None:
    closed = "2026-01-01T00:00:00Z"
    page = visit.survey(TWICE)
    expect(page.locator(".promise")).to_contain_text(
        "Anyone who sees your reports of both rounds guesses right"
    )
    unfold(page)
    page.get_by_text("The exact loss").click()
    expect(page.get_by_text("Both rounds, even if answers change")).to_be_visible()
    page.get_by_label("Hours").fill("24")
    page.get_by_role("button", name="Review my answers").click()
    expect(page.get_by_text("Please enter a number from 0 to under 24.", exact=True)).to_be_visible()
    expect(page.locator("main")).not_to_contain_text(re.compile("open_|widen"))  # advice for the operator
    page.get_by_label("Hours").fill("8")
    make(page)
    send(page)
    set_round(collector, TWICE, 1, closed)
    page.reload()
    expect(page.get_by_text("Come back when the next round opens.")).to_be_visible()
    expect(page.get_by_text("You have answered 1 round;")).to_be_visible()
    set_round(collector, TWICE, 2, closed)
    page.reload()
    expect(page.get_by_role("heading", name="This study has ended")).to_be_visible()
    expect(page.get_by_text("It takes no more reports.")).to_be_visible()
    expect(page.locator("#study")).not_to_contain_text("Come back")
    with visiting(browser, collector) as other:  # who never answered
        expect(other.survey(TWICE).get_by_role("heading", name="This study has ended")).to_be_visible()
    page = visit.dashboard(TWICE)
    given = page.locator(".panel", has_text="What is given away")
    expect(given).to_contain_text("Any number of rounds, if answers do not change")
    expect(given).to_contain_text("Both rounds, even if answers change")


def test_of_several_open_rounds_the_newest_that_was_not_answered_is_offered(
    visit: Visit, collector: Running
) -> None:
    set_round(collector, WEEKS, 2, None)
    page = visit.survey(WEEKS)
    expect(page.get_by_text("round 2 of 3")).to_be_visible()
    page.get_by_label("badly").check()
    make(page)
    page.reload()  # its report waits, and comes before an older round
    expect(page.get_by_role("heading", name="Your report has not been sent yet")).to_be_visible()
    send(page)
    page.reload()
    expect(page.get_by_text("round 1 of 3")).to_be_visible()
    page.get_by_label("badly").check()
    make(page)
    send(page)
    page.reload()
    expect(page.get_by_text("round 2 of 3")).to_be_visible()
    expect(page.get_by_role("heading", name="You have answered this round")).to_be_visible()
    assert [counted(collector, WEEKS, number) for number in (1, 2)] == [1, 1]


@pytest.mark.parametrize("agrees", [True, False])
def test_the_browser_is_asked_to_keep_what_the_page_stores(visit: Visit, agrees: bool) -> None:
    """Once, when there is something to keep. The page says so if the browser does not agree."""
    answer = str(agrees).lower()
    visit.context.add_init_script(
        "window.asked = 0; let kept = false; if (navigator.storage) {"
        f"navigator.storage.persist = async () => {{ window.asked += 1; kept = {answer}; return kept; }};"
        "navigator.storage.persisted = async () => kept; }"
    )
    page = visit.survey(ONCE)
    fill_in(page)
    assert page.evaluate("window.asked") == 0
    make(page)
    page.get_by_text("What I have sent").click()
    page.wait_for_function("window.asked > 0")
    note = page.get_by_text("This browser may delete what is stored here")
    expect(note).to_be_visible(visible=not agrees)
    assert page.evaluate("window.asked") == 1
    send(page)
    expect(note).to_be_visible(visible=not agrees)


def test_without_a_connection_or_a_receipt_the_report_waits(visit: Visit, collector: Running) -> None:
    page = visit.survey(ONCE)
    fill_in(page)
    make(page)
    before = counted(collector, ONCE)
    portal = "<html>Accept the terms</html>"
    visit.context.route(
        "**/reports", lambda route: route.fulfill(status=200, content_type="text/html", body=portal)
    )
    page.get_by_role("button", name="Send").click()
    expect(
        page.get_by_text("The collector cannot be reached. Your report waits on this device")
    ).to_be_visible()
    assert page.evaluate("localStorage.getItem('deniable.received')") is None
    visit.context.unroute("**/reports")
    visit.context.set_offline(True)
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_text("You are offline. Your report waits on this device")).to_be_visible()
    visit.context.set_offline(False)
    expect(page.get_by_role("heading", name="Received, and counted")).to_be_visible()
    assert counted(collector, ONCE) == before + 1


def test_forgetting_in_one_tab_reaches_the_others(visit: Visit) -> None:
    page = visit.survey(AGAIN, f"&invitation={CODE}")
    expect(page.get_by_role("button", name="Review my answers")).to_be_visible()
    assert page.evaluate("sessionStorage.getItem('deniable.invitation')") == CODE
    before = page.evaluate("JSON.parse(localStorage.getItem('deniable')).secret")
    inert: list[str | None] = []

    def asked_again(route: Route) -> None:
        inert.append(page.locator("#study").get_attribute("inert"))
        route.continue_()

    page.route("**/plans", asked_again)
    other = visit.open()
    other.goto(f"{visit.url}/#plan={AGAIN.id}&invitation={CODE[::-1]}")
    other.get_by_role("button", name="Forget me").click()
    other.get_by_role("button", name="Forget everything").click()
    expect(other.get_by_role("dialog", name="Forget me?")).to_be_hidden()
    for one in (page, other):
        one.wait_for_function("sessionStorage.getItem('deniable.invitation') === null")
    expect(page.locator("#study")).not_to_have_attribute("inert", "")
    assert inert == [""]  # nobody answers the form that is about to go
    expect(page.get_by_role("button", name="Review my answers")).to_be_visible()
    page.get_by_label("badly").check()
    make(page)
    assert len(entries(page)) == 1
    assert page.evaluate("JSON.parse(localStorage.getItem('deniable')).secret") != before


def test_forgetting_is_confirmed(visit: Visit) -> None:
    page = visit.survey(ONCE)
    fill_in(page)
    make(page)
    send(page)
    secret = page.evaluate("JSON.parse(localStorage.getItem('deniable')).secret")
    page.get_by_role("button", name="Forget me").click()
    dialog = page.get_by_role("dialog", name="Forget me?")
    expect(dialog).to_contain_text("Both reports together give away more than was promised")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    assert len(entries(page)) == 1
    page.get_by_role("button", name="Forget me").click()
    page.get_by_role("button", name="Forget everything").click()
    expect(page.get_by_role("button", name="Review my answers")).to_be_visible()
    assert entries(page) == []
    assert secret not in page.evaluate("JSON.stringify({...localStorage, ...sessionStorage})")


def test_an_invitation_lets_one_report_in(
    browser: Browser, closed: Running, tokens: Callable[..., list[str]]
) -> None:
    before = counted(closed, FILLED)
    [invitation] = tokens(closed, [FILLED], "--count", "1")
    with visiting(browser, closed) as visit:
        page = visit.survey(FILLED)
        page.get_by_role("button", name="Continue").click()
        expect(page.get_by_text("Without an invitation the report would be refused.")).to_be_visible()
        expect(page.get_by_label("Your invitation")).to_be_focused()
        expect(page.get_by_label("two")).to_have_count(0)
        page.get_by_label("Your invitation").fill(CODE)
        page.keyboard.press("Enter")
        page.get_by_label("two").check()
        page.get_by_role("group", name="Tea").get_by_label("no").check()
        make(page)
        assert not [one for one in visit.sent if one.method == "POST"]
        page.get_by_role("button", name="Send").click()
        expect(page.get_by_text("the invitation is unknown or was used already")).to_be_visible()
        page.get_by_label("Your invitation").fill(f"  {closed.url}/#invitation={invitation} ")
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Send").click()
        expect(page.get_by_role("heading", name="Received, and counted")).to_be_visible()
        assert [one.header_value("authorization") for one in visit.sent if one.method == "POST"] == [
            f"Invitation {CODE}",
            f"Invitation {invitation}",
        ]
        assert invitation not in page.evaluate("JSON.stringify({...localStorage, ...sessionStorage})"), (
            "it is used"
        )
        page.reload()
        expect(page.get_by_label("Your invitation")).to_be_hidden()
        send(page)
        expect(page.get_by_text("It is counted once.")).to_be_visible()
        assert not [one for one in visit.sent if "tickets" in one.url], "what this plan does not need"
    assert counted(closed, FILLED) == before + 1


def test_a_ticket_is_exchanged_waited_for_and_sent(
    browser: Browser, closed: Running, tokens: Callable[..., list[str]]
) -> None:
    """The invitation and the report leave at different times, by different connections; a page that is opened
    again goes on where it was.
    """
    before = counted(closed, TICKETED)
    made = tokens(closed, [TICKETED], "--count", "2", "--url", closed.url)
    (first, _, link), (_, _, second) = (row.split(",") for row in made)
    with visiting(browser, closed) as visit:
        page = visit.page
        page.goto(link)
        told = page.get_by_text("That you take part can be known")
        expect(told).to_be_hidden()
        page.get_by_text("How your invitation is kept apart from your answer").click()
        expect(told).to_be_visible()
        expect(page.get_by_text("leaves 1 to 10 minutes after the exchange")).to_be_visible()
        expect(page.locator(".promise code")).to_have_text(TICKETED.id)
        make_drinks(page)
        expect(page.get_by_text("so your report leaves 1 to 10 minutes later, at random")).to_be_visible()
        page.get_by_role("button", name="Send", exact=True).click()
        expect(page.get_by_text("Your invitation was exchanged for a ticket.")).to_be_visible()
        expect(page.get_by_role("button", name="Waiting…")).to_be_disabled()
        stored = page.evaluate("JSON.stringify({...localStorage, ...sessionStorage})")
        assert first not in stored, "it is used"
        with page.expect_event("dialog") as leaving:
            page.close(run_before_unload=True)
        assert leaving.value.type == "beforeunload"
        leaving.value.accept()
        page = visit.open()
        page.goto(f"{closed.url}/#plan={TICKETED.id}")
        page.get_by_role("button", name="Send now").click()
        expect(page.get_by_role("heading", name="Received, and counted")).to_be_focused()
        assert page.evaluate("localStorage.getItem('deniable.tickets')") == "{}"
        exchanged, posted = (one for one in visit.sent if one.method == "POST")
        assert exchanged.headers["authorization"] == f"Invitation {first}"
        assert posted.headers["authorization"].startswith("Ticket ")
        page.reload()
        page.get_by_role("button", name="Send again").click()
        expect(page.get_by_role("heading", name="it was counted before")).to_be_focused()
    with visiting(browser, closed) as visit:
        visit.page.clock.install()
        connections = watch_connections(visit)
        visit.page.goto(second)
        make_drinks(visit.page)
        visit.page.get_by_role("button", name="Send", exact=True).click()
        expect(visit.page.get_by_role("button", name="Send now")).to_be_visible()
        visit.page.clock.fast_forward(1000 * WAIT[0] - PATIENCE)  # real time passes beside it
        expect(visit.page.get_by_role("button", name="Send now")).to_be_visible()
        visit.page.clock.fast_forward(1000 * WAIT[1])
        expect(visit.page.get_by_role("heading", name="Received, and counted")).to_be_focused()
        by = {name: connections[name] for name in ("rounds", "signatures", "reports")}
        assert by["reports"] not in (by["rounds"], by["signatures"]), "another connection"
    with visiting(browser, closed) as visit:
        visit.page.goto(link)
        make_drinks(visit.page)
        visit.page.get_by_role("button", name="Send", exact=True).click()
        expect(visit.page.get_by_text("the invitation is unknown or was used already")).to_be_visible()
        visit.page.reload()
        expect(visit.page.get_by_label("Your invitation")).to_be_visible()
        assert [one.method for one in visit.sent].count("POST") == 1, "it is not sent again unasked"
    assert counted(closed, TICKETED) == before + 2


def test_a_report_that_waits_for_its_time_is_stopped(
    browser: Browser, closed: Running, tokens: Callable[..., list[str]]
) -> None:
    """By its own button, also on a page that is opened again; and by forgetting in another tab."""
    before = counted(closed, TICKETED)
    made = tokens(closed, [TICKETED], "--count", "2", "--url", closed.url)
    links = [row.split(",")[2] for row in made]
    with waiting(browser, closed, links[0]) as visit:
        page = visit.page
        page.get_by_role("button", name="Do not send").click()
        expect(page.get_by_text("Nothing was sent. Your report and its ticket wait")).to_be_visible()
        page.clock.fast_forward(1000 * WAIT[1])
        page.reload()
        expect(page.get_by_role("button", name="Send", exact=True)).to_be_enabled()
        assert reports_posted(visit) == 0
        send(page)
        assert reports_posted(visit) == 1, "the person asked for it, and its time has passed"
    with waiting(browser, closed, links[1]) as visit:
        page, other = visit.page, visit.open()
        other.goto(f"{closed.url}/#plan={TICKETED.id}")
        other.get_by_role("button", name="Forget me").click()
        other.get_by_role("button", name="Forget everything").click()
        expect(page.get_by_label("Your invitation")).to_be_visible()
        for one in (page, other):
            one.clock.fast_forward(1000 * WAIT[1])
        page.reload()  # a warning would keep the page here
        expect(page.get_by_label("Your invitation")).to_be_visible()
        assert reports_posted(visit) == 0
    assert counted(closed, TICKETED) == before + 1


SLOW = """
window.fetch = ((real) => async (input, init) => {
  const answer = await real(input, init);
  if (!window.isSlow || !String(input).endsWith("plans")) return answer;
  const late = new DOMException("signal timed out", "TimeoutError");
  return new Response(new ReadableStream({ start: (body) => body.error(late) }), answer);
})(window.fetch);
"""


def test_an_answer_that_does_not_end_in_time_is_no_error_of_the_page(
    browser: Browser, collector: Running
) -> None:
    """The head of the answer came in time, and its body did not. Nothing is written to the console."""
    with visiting(browser, collector) as visit:
        visit.context.add_init_script(f"window.isSlow = true; {SLOW}")
        page = visit.survey(ONCE)
        expect(page.get_by_text("The collector cannot be reached")).to_be_visible()
        page.evaluate("window.isSlow = false")
        page.get_by_role("button", name="Try again").click()
        expect(page.locator("legend").get_by_text("Do you smoke?")).to_be_visible()
    with visiting(browser, collector) as visit:
        visit.context.add_init_script(f"window.isSlow = true; {SLOW}")
        page = visit.dashboard(FILLED)
        expect(page.get_by_text("The collector cannot be reached")).to_be_visible()


def test_a_ticket_is_good_in_the_next_round(browser: Browser, run: Run, tmp_path: Path) -> None:
    """A round that closes while its report waits leaves the ticket, and another round asks for no other
    invitation.
    """
    plan = TWICE.with_ticket_key(signing_key(0).public)
    signing_key(0).write(tmp_path / "tickets.key", plan.id)
    with collecting(tmp_path, [plan], "--ticket-key", "tickets.key") as running:
        link = run("tokens", "plan-0.json", "--count", "1", "--url", running.url).out.split(",")[-1].strip()
        with visiting(browser, running) as visit:
            page = visit.page
            page.goto(link)
            page.get_by_label("Hours").fill("7")
            make(page)
            page.get_by_role("button", name="Send", exact=True).click()
            expect(page.get_by_role("button", name="Send now")).to_be_visible()
            set_round(running, plan, 1, "2020-01-01T00:00:00Z")
            page.get_by_role("button", name="Send now").click()
            expect(page.get_by_text("So does your ticket")).to_be_visible()
            set_round(running, plan, 2, None)
            page.reload()
            page.get_by_label("Hours").fill("8")
            expect(page.get_by_label("Your invitation")).to_be_hidden()
            make(page)
            expect(page.get_by_role("button", name="Send", exact=True)).to_be_enabled()
            page.get_by_role("button", name="Send", exact=True).click()
            page.get_by_role("button", name="Send now").click()
            expect(page.get_by_role("heading", name="Received, and counted")).to_be_focused()
            assert sum(one.url.endswith("/signatures") for one in visit.sent) == 1
        assert (counted(running, plan), counted(running, plan, 2)) == (0, 1)


@contextmanager
def waiting(browser: Browser, collector: Running, link: str) -> Iterator[Visit]:
    """A visit whose report waits for its time, by a clock that the test moves."""
    with visiting(browser, collector) as visit:
        visit.context.clock.install()
        visit.page.goto(link)
        make_drinks(visit.page)
        visit.page.get_by_role("button", name="Send", exact=True).click()
        expect(visit.page.get_by_role("button", name="Send now")).to_be_visible()
        yield visit


def reports_posted(visit: Visit) -> int:
    return sum(one.url.endswith("/reports") for one in visit.sent)


def watch_connections(visit: Visit) -> dict[str, int]:
    """The number of the connection by which the last answer came, by the end of its address."""
    found: dict[str, int] = {}

    def note(event: dict[str, Any]) -> None:
        answer = event["response"]
        found[answer["url"].rpartition("/")[2]] = answer["connectionId"]

    session = visit.context.new_cdp_session(visit.page)
    session.send("Network.enable")
    session.on("Network.responseReceived", note)
    return found


def make_drinks(page: Page) -> None:
    """All of FILLED, up to the report."""
    page.get_by_role("group", name="Coffee").get_by_label("two").check()
    page.get_by_role("group", name="Tea").get_by_label("no").check()
    make(page)


def invite_one(closed: Running, tokens: Callable[..., list[str]]) -> tuple[str, str]:
    """An invitation, and its link."""
    [made] = tokens(closed, [FILLED], "--count", "1", "--url", closed.url)
    invitation, _, link = made.split(",")
    return invitation, link


def open_drinks(page: Page, link: str) -> None:
    """Open FILLED by a link that has its invitation."""
    page.goto(link)
    expect(page.get_by_role("heading", name="Drinks")).to_be_visible()
    expect(page.get_by_role("button", name="Review my answers")).to_be_visible()
    expect(page.get_by_label("Your invitation")).to_have_count(0)
    assert "invitation" not in page.url


def test_a_missing_invitation_is_reported_before_anything_is_answered(
    browser: Browser, closed: Running, tokens: Callable[..., list[str]]
) -> None:
    before = counted(closed, FILLED)
    invitation, link = invite_one(closed, tokens)
    with visiting(browser, closed) as visit:
        open_drinks(visit.page, link)
    with visiting(browser, closed) as visit:
        page = visit.survey(FILLED, f"&invitation={invitation[:-1]}")
        expect(page.get_by_text("Your link is damaged")).to_be_visible()
        page.get_by_label("Your invitation").fill(f"<{link}>.")
        page.keyboard.press("Enter")
        expect(page.get_by_label("two")).to_be_visible()
        expect(page.get_by_text("Your link is damaged")).to_have_count(0)
        assert page.evaluate("sessionStorage.getItem('deniable.invitation')") == invitation
    with visiting(browser, closed) as visit:
        page = visit.survey(FILLED)
        page.get_by_label("Your invitation").fill(f"{closed.url}/#plan={FILLED.id}")  # a link without one
        page.keyboard.press("Enter")
        expect(page.get_by_text("This link has no invitation.")).to_be_visible()
        page.get_by_label("Your invitation").fill(link)
        page.keyboard.press("Enter")
        page.get_by_label("two").check()
        page.get_by_role("group", name="Tea").get_by_label("no").check()
        make(page)
        expect(page.get_by_label("Your invitation")).to_be_hidden()
        send(page)
    assert counted(closed, FILLED) == before + 1


def test_an_invitation_opens_its_own_plan_and_no_other(
    browser: Browser, closed: Running, tokens: Callable[..., list[str]]
) -> None:
    """Of two plans at one collector; the code of one is never sent with a report of the other."""
    before = counted(closed, FILLED)
    invitation, link = invite_one(closed, tokens)
    with visiting(browser, closed) as visit:
        page = visit.page
        open_drinks(page, link)
        page.get_by_role("link", name="All studies").click()
        expect(page.get_by_role("heading", name="Choose a study")).to_be_visible()
        page.get_by_role("link", name=f"Habits {LABEL}").click()
        expect(page.get_by_label("Your invitation")).to_be_visible()
        page.get_by_role("link", name="All studies").click()
        page.get_by_role("link", name="Drinks").first.click()
        expect(page.get_by_role("button", name="Review my answers")).to_be_visible()
        expect(page.get_by_label("Your invitation")).to_have_count(0)
        make_drinks(page)
        send(page)
        stored = page.evaluate("JSON.stringify({...sessionStorage})")
        assert invitation not in stored
        assert FILLED.id not in stored
    assert counted(closed, FILLED) == before + 1


YEARS = dn.Range(0, 100, step=10, privacy="metric", epsilon=0.5, open_high=True)
METRIC_PARTS = [metric_mechanism(domain) for domain in (YEARS, TOWN)]
NESTED = dn.Plan.of(
    {"Age": YEARS, "Home": TOWN} | {f"Question {n}?": ["yes", "no"] for n in range(3)},
    dn.records.Split((*(part for part in METRIC_PARTS if part is not None), dn.smp([2, 2, 2], 1.0, "grr"))),
    people=1000,
)
MIXTURE = dn.Plan.of(
    {f"Question {n}?": ["yes", "no"] for n in range(6)},
    dn.records.Split(
        (dn.grr(2, 1.0), dn.rsfd([2, 2], 1.0, "grr"), dn.smp([2, 2, 2], 1.0, "grr", attributes=2))
    ),
    people=1000,
)


def test_some_questions_are_reported_by_everybody_and_one_of_the_others_is_sampled(
    browser: Browser, collector: Running
) -> None:
    with visiting(browser, collector, viewport=PHONE) as visit:
        page = visit.survey(NESTED)
        expect(page.locator(".promise .drawing")).to_have_text(
            "Everybody reports “Age” and “Home”, randomized. Your device also draws one of "
            "the other 3 questions. Only that answer is sent, randomized. The others are not sent at all."
        )
        page.get_by_label("Age", exact=True).fill("42")
        page.locator(".typed summary").click()
        page.get_by_label("Latitude").fill("47.64")
        page.get_by_label("Longitude").fill("6.86")
        for n in range(3):
            page.get_by_role("group", name=f"Question {n}?").get_by_label("no").check()
        make(page)
        leaves = page.get_by_role("region", name="Leaves this device")
        expect(leaves.get_by_text("not drawn, and not in the report")).to_have_count(2)
        send(page)
        [posted] = [one for one in visit.sent if one.method == "POST"]
        assert posted.post_data_buffer is not None
        said = json.loads(Wire(NESTED).to_json(Report.from_bytes(posted.post_data_buffer)))["report"]
        assert {"Age", "Home"} < set(said)
        assert len(said) == 3
        assert entries(page)[0]["unchanged"] == NESTED.stated.record
        assert counted(collector, NESTED) == 1
        page = visit.survey(MIXTURE)
        expect(page.locator(".promise .drawing")).to_have_text(
            "Everybody reports “Question 0?”, randomized. Your device also draws one of "
            "“Question 1?” and “Question 2?”. Only that answer is in your report, randomized. Random values "
            "take the place of the others, and nobody can see which is which. Your device also draws 2 of "
            "“Question 3?”, “Question 4?” and “Question 5?”. Only those answers are sent, randomized. The "
            "others are not sent at all."
        )
        post(collector, MIXTURE, 600)
        page = visit.dashboard(MIXTURE)
        expect(page.get_by_role("heading", name="Question 0? 600 reports")).to_be_visible()
        expect(
            page.get_by_role("heading", name=re.compile(r"Question 5\? (3[5-9]|4[0-4])\d reports"))
        ).to_be_visible()


def test_distances_and_means_are_asked_worded_sent_and_counted(browser: Browser, collector: Running) -> None:
    before = counted(collector, MIXED)
    with visiting(browser, collector, viewport=PHONE) as visit:
        page = visit.survey(ONCE)
        expect(page.get_by_text("Verified on this device")).to_be_visible()
        page = visit.survey(MIXED)
        expect(page.locator(".typed summary")).to_be_visible()
        promise = page.locator(".promise")  # its folds are closed: the worst case is said all the same
        expect(promise).to_contain_text(
            "“Age”: Your report hardly distinguishes you from people near you: it is at most 1.11 times "
            "likelier from you than from someone off by 1; from someone off by 20, at most 7.39 times. "
            "It can distinguish you from people far from you: in the worst case, it is at most "
        )
        expect(promise).to_contain_text(
            re.compile(
                r"“Home”: .* from someone 500 m away; .* in the worst case, .* from someone elsewhere in the"
            )
        )
        unfold(page)
        for one in promise.locator(".distant").all():
            expect(one).to_be_visible()
        unfold(page)
        page.get_by_text("Question by question").click()
        expect(page.locator(".guesses")).to_contain_text(
            "guesses right in which half of the range your number is at most"
        )
        unfold(page)
        page.get_by_text("The exact loss").click()
        figures = page.locator(".promise .figures")
        for line in (
            "This report, per 1 in “Age”",
            "This report, per kilometer in “Home”",
            "This report, in the worst case",
        ):
            expect(figures).to_contain_text(line)
        page.locator(".typed summary").click()
        expect(
            page.get_by_text("A latitude from 47.6 to 47.7 and a longitude from 6.8 to 6.95, in degrees.")
        ).to_be_visible()
        expect(page.get_by_text("A number from 0 up; numbers above 10,000 count as 10,000.")).to_be_visible()
        page.get_by_role("group", name="Do you smoke?").get_by_label("yes").check()
        page.get_by_label("Age", exact=True).fill("42")
        page.get_by_label("Latitude").fill("48.64, 6.86")
        page.get_by_label("Longitude").focus()
        expect(page.get_by_label("Longitude")).to_have_value("6.86")
        page.get_by_label("Income").fill("2500")
        page.get_by_role("button", name="Review my answers").click()
        expect(
            page.get_by_text("Please enter a latitude from 47.6 to 47.7 and a longitude from 6.8")
        ).to_be_visible()
        expect(page.get_by_label("Latitude")).to_be_focused()
        page.get_by_label("Latitude").fill("47.64")
        make(page)
        stays, leaves = (
            page.get_by_role("region", name=f"{what} this device") for what in ("Stays on", "Leaves")
        )
        for answer in ("42 (42 to under 43)", f"47.64, 6.86 (the cell {TOWN.labels[34]})", "2,500"):
            expect(stays.get_by_text(answer, exact=True)).to_be_visible()
        _, age, cell, number = leaves.locator(".chip").all_inner_texts()
        expect(leaves).to_contain_text(f"was moved at random to {age}")
        expect(leaves).to_contain_text(f"was moved at random to the cell {cell}")
        expect(leaves).to_contain_text(
            f"stands for {number}, which is correct only on average over many people"
        )
        send(page)
        [posted] = [one for one in visit.sent if one.method == "POST"]
        assert posted.post_data_buffer is not None
        said = json.loads(Wire(MIXED).to_json(Report.from_bytes(posted.post_data_buffer)))["report"]
        assert cell == TOWN.labels[said["Home"]]
        assert age == (str(said["Age"]) if said["Age"] < 99 else "99 or more")
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        assert counted(collector, MIXED) == before + 1
        assert entries(page)[0]["unchanged"] == MIXED.stated.record  # the worst case


def chances(text: str) -> int:
    """How often of 100 times, as a sentence says it."""
    [found] = re.findall(r"guesses right.*? at most (?:(\d+) times in 100|1 time in (\d+))", text)
    return int(found[0]) if found[0] else -(-100 // int(found[1]))


def test_the_headline_is_about_what_is_guessed_most_often(visit: Visit) -> None:
    page = visit.survey(MIXED)
    unfold(page)
    page.get_by_text("Question by question").click()
    said = {
        one.locator("strong").inner_text(): chances(one.inner_text())
        for one in page.locator(".guesses > li").all()
    }
    headline = page.locator(".headline").inner_text()
    mechanism = MIXED.document.mechanism
    assert isinstance(mechanism, dn.records.Split)
    truth = dict(zip(MIXED.names, (part.success() for part in mechanism.mechanisms), strict=True))
    for (
        name,
        chance,
    ) in truth.items():  # as `deniable plan` and `deniable attack` say it; in words it is rounded up
        assert 0 <= said[name] / 100 - chance < 0.02, (name, said[name], chance)
    assert max(said.values()) == chances(headline)
    [easiest] = [name for name, chance in truth.items() if chance == max(truth.values())]
    expect(page.locator(".more > summary + .soft")).to_have_text(
        f"This is for “{easiest}”, the easiest question to guess."
    )


NUMBERED = dn.Study({"Tea": COLORS, "Income": dn.Number(0, 10_000)}, epsilon=1.0, mechanism="split").plan(
    people=1000
)


def test_of_a_number_the_half_is_guessed_and_whole_answers_are_shown_next_to_it(visit: Visit) -> None:
    page = visit.survey(NUMBERED)
    expect(page.locator(".headline")).to_contain_text(
        "guesses right in which half of the range your number is at most"
    )
    expect(page.locator(".more > summary + .soft")).to_contain_text("“Income”")
    expect(page.locator(".promise")).to_contain_text(
        re.compile(
            "Among whole answers, “Tea” is the easiest to guess: Anyone who sees your report guesses "
            "right at most .* 1 in 8"
        )
    )
    expect(page.locator(".distant")).to_have_count(0)


ORDERED = dn.Study(
    {f"Scale {n}": dn.Range(0, 10, step=1, privacy="metric", epsilon=n / 10) for n in range(1, 6)},
    mechanism="split",
).plan(people=1000)


def test_of_many_metric_questions_the_worst_are_shown_at_once(visit: Visit) -> None:
    page = visit.survey(ORDERED)
    shown = page.locator(".distant")
    expect(shown).to_have_count(3)
    for one, n in zip(shown.all(), (5, 4, 3), strict=True):
        expect(one).to_contain_text(f"“Scale {n}”: ")
    more = "2 more questions below: the same kind of guarantee, with smaller losses."
    unfold(page)
    expect(page.get_by_text(more)).to_be_visible()
    page.get_by_text("Question by question").click()
    folded = page.locator(
        ".guesses > li", has_text="In the worst case, it is at most"
    )  # 0.9 and 1.8: not far
    expect(folded).to_have_count(2)
    assert [one.locator("strong").inner_text() for one in folded.all()] == ["Scale 1", "Scale 2"]


def test_a_location_is_written_or_pasted_into_one_field(visit: Visit) -> None:
    page = visit.survey(MIXED)
    page.locator(".typed summary").click()
    latitude, longitude = page.get_by_label("Latitude"), page.get_by_label("Longitude")
    cell = page.get_by_role("group", name="Home").get_by_text("In the cell")
    expect(page.get_by_text("You can paste both at once: 47.656, 6.882")).to_be_visible()

    def both(north: str, east: str) -> None:
        expect(latitude).to_have_value(north)
        expect(longitude).to_have_value(east)

    latitude.focus()
    page.keyboard.type("47.64, 6.86")
    both("47.64, 6.86", "")  # nothing moves while somebody writes
    page.keyboard.press("Tab")
    both("47.64", "6.86")
    expect(cell).to_have_text(f"In the cell {TOWN.labels[34]}")
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.type("47.66, 6.9")
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.press("ControlOrMeta+X")
    latitude.focus()
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.press("ControlOrMeta+V")
    both("47.66", "6.9")  # at once
    for written, found in {
        "(47.64,6.86)": ("47.64", "6.86"),
        "47,64; 6,86": ("47.64", "6.86"),
        "47,64 6,86": ("47.64", "6.86"),
        "\N{MINUS SIGN}12.5, \N{MINUS SIGN}70": ("-12.5", "-70"),
        "47,64": ("47,64", ""),  # one number with a comma
        "47.64,": ("47.64,", ""),
    }.items():
        longitude.fill("")
        latitude.fill("")
        page.keyboard.type(written)
        page.keyboard.press("Tab")
        both(*found)
    latitude.fill("47,64")
    longitude.fill("6,86")
    expect(cell).to_have_text(f"In the cell {TOWN.labels[34]}")
    for group, answer in (("Do you smoke?", "yes"), ("Home", "Prefer not to say")):
        page.get_by_role("group", name=group).get_by_label(answer).check()
    expect(cell).to_have_count(0)
    expect(latitude).to_be_disabled()
    page.get_by_role("group", name="Home").get_by_label("Prefer not to say").uncheck()
    page.get_by_label("Age", exact=True).fill("42")
    page.get_by_label("Income").fill("2500")
    longitude.fill("")
    latitude.fill("6.86, 47.64")
    page.keyboard.press("Enter")  # sends what was not left
    swapped = page.get_by_text(
        "Did you swap latitude and longitude? Please enter a latitude from 47.6 to 47.7"
    )
    expect(swapped).to_be_visible()
    both("6.86", "47.64")
    latitude.fill("50")
    page.get_by_role("button", name="Review my answers").click()
    expect(page.get_by_text("Please enter a latitude from 47.6 to 47.7")).to_be_visible()
    expect(swapped).to_have_count(0)
    latitude.fill("47,64")
    longitude.fill("6,86")
    make(page)
    expect(page.get_by_text(f"47.64, 6.86 (the cell {TOWN.labels[34]})", exact=True)).to_be_visible()


def test_a_cell_is_chosen_on_a_picture_of_the_box(visit: Visit) -> None:
    page = visit.survey(MIXED)
    picture = page.locator(".box")
    expect(picture.locator(".chosen")).to_be_hidden()
    expect(page.locator("#device")).to_be_visible()  # nothing moves any more
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    assert box is not None
    for row, column in ((0, 0), (4, 6), (7, 9)):
        x, y = (
            (column + 0.5) / TOWN.columns * box["width"],
            (TOWN.rows - 0.5 - row) / TOWN.rows * box["height"],
        )
        picture.click(position={"x": x, "y": y})
        label = TOWN.labels[row * TOWN.columns + column]
        expect(page.get_by_text(f"In the cell {label}", exact=True)).to_be_visible()
        marked = picture.locator(".chosen").bounding_box()
        assert marked is not None
        assert abs(marked["x"] + marked["width"] / 2 - box["x"] - x) < 2
        assert abs(marked["y"] + marked["height"] / 2 - box["y"] - y) < 2
        location = (
            float(page.get_by_label("Latitude").input_value()),
            float(page.get_by_label("Longitude").input_value()),
        )
        assert (
            TOWN.labels[
                MIXED.encode([{"Do you smoke?": "yes", "Age": 1, "Home": location, "Income": 1}])[2][0]
            ]
            == label
        )


def test_a_location_is_where_the_device_is(browser: Browser, collector: Running) -> None:
    here, allowed = {"latitude": 47.641234567, "longitude": 6.8612, "accuracy": 20}, ["geolocation"]
    with visiting(browser, collector, geolocation=here, permissions=allowed, viewport=PHONE) as visit:
        page = visit.survey(MIXED)
        home, button = (
            page.get_by_role("group", name="Home"),
            page.get_by_role("button", name="Use my current location"),
        )
        expect(home.get_by_text("Your location stays on this page")).to_be_visible()
        before = len(visit.sent)
        button.click()
        expect(page.get_by_label("Latitude")).to_have_value("47.641235")
        expect(page.get_by_label("Longitude")).to_have_value("6.8612")
        expect(home.get_by_text(f"In the cell {TOWN.labels[34]}")).to_be_visible()
        expect(home.locator(".found")).to_have_text("")
        visit.context.set_geolocation({"latitude": 47.65, "longitude": 6.85, "accuracy": 2500})
        page.reload()
        button.click()
        expect(
            home.get_by_text("This location is accurate only to about 3 km, which is more than a cell.")
        ).to_be_visible()
        visit.context.set_geolocation({"latitude": 12.0, "longitude": 13.0})
        page.reload()
        button.click()
        expect(home.get_by_text("Your location is outside the area")).to_be_visible()
        home.get_by_label("Prefer not to say").check()
        expect(button).to_be_disabled()
        asked = [one.url + str(one.post_data) for one in visit.sent[before:]]
        assert [text for text in asked if re.search(r"47\.6[45]|6\.8[56]|12\.0", text)] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    with visiting(browser, collector) as visit:  # nobody allowed it
        page = visit.survey(MIXED)
        page.get_by_role("button", name="Use my current location").click()
        expect(page.get_by_text("This page may not see your location.")).to_be_visible()
        expect(page.get_by_role("button", name="Use my current location")).to_be_enabled()
        for code, words in (
            (2, "Your device cannot find its location now."),
            (3, "Your device took too long"),
        ):
            fails = f"(_, failed) => setTimeout(() => failed({{code: {code}}}))"
            page.evaluate(f"() => {{ navigator.geolocation.getCurrentPosition = {fails} }}")
            page.get_by_role("button", name="Use my current location").click()
            expect(page.get_by_text(words)).to_be_visible()
    with visiting(browser, collector) as visit:  # a browser that cannot
        visit.context.add_init_script("delete Navigator.prototype.geolocation")
        page = visit.survey(MIXED)
        expect(page.locator(".typed summary")).to_be_visible()
        expect(page.get_by_role("button", name="Use my current location")).to_have_count(0)


def test_the_dashboard_shows_distances_and_means(visit: Visit, collector: Running) -> None:
    post(collector, TOWNS, 400, **IN_TOWN)
    post(collector, TOWNS, 402, **IN_TOWN)
    found = collector.get(f"/plans/{TOWNS.id}/estimates", round=1, level=0.95).json()
    page = visit.dashboard(TOWNS)
    expect(page.get_by_role("img", name="Estimates of Age")).to_be_visible()
    drawn = page.get_by_role("img", name="Estimates of Home").locator("rect")
    blocks = [row for row in found["groups"] if row["attribute"] == "Home"]
    assert len(blocks) < TOWN.k
    expect(drawn).to_have_count(len(blocks))
    titles = drawn.locator("title").all_text_contents()
    assert [title.startswith(row["value"]) for title, row in zip(titles, blocks, strict=True)] == [
        True
    ] * len(blocks)
    page.get_by_text("Tables", exact=True).click()
    expect(page.get_by_role("table", name="Estimates of Home").get_by_role("row")).to_have_count(
        1 + len(blocks)
    )
    page.get_by_text("Charts", exact=True).click()
    page.get_by_text("Unbiased", exact=True).click()
    expect(drawn).to_have_count(TOWN.k)
    tallies = Tallies.from_dict(collector.get(f"/plans/{TOWNS.id}/tallies", round=1).json())
    together = TOWNS.estimate(tallies)["Home"].interval(0.95, simultaneous=True).low
    rows = [row for row in found["rows"] if row["attribute"] == "Home"]
    assert [row["low_together"] for row in rows] == pytest.approx(together.tolist())
    assert not any("low_together" in row for row in found["rows"] if row["attribute"] != "Home")
    sure = [row["value"] for row in rows if row["low_together"] > 0]
    assert sure
    expect(page.locator(".map .cell.sure > title")).to_have_text(
        [re.compile(rf"^{re.escape(value)} ") for value in sure]
    )
    expect(page.get_by_role("region", name="Home")).to_contain_text(f"so that all {TOWN.k} hold at once")
    page.get_by_text("Possible", exact=True).click()
    expect(drawn).to_have_count(len(blocks))
    asides = page.locator(".attribute .aside:not(:empty)")
    expect(asides).to_have_count(len(TOWNS.names) - 1)  # a map is not followed report by report
    sides = asides.evaluate_all("nodes => nodes.map(node => node.getBoundingClientRect().x)")
    assert len(set(sides)) == 1  # all cards have one layout, whether of shares or of a mean
    expect(page.locator(".links code")).to_have_attribute("title", TOWNS.id)
    expect(page.get_by_role("img", name="The mean of Income", exact=True)).to_be_visible()
    means = {one["attribute"]: one for one in found["means"]}
    assert means.keys() == {"Income"}  # an age has an open end, and so no mean
    assert means["Income"]["low"] < 2950 < means["Income"]["high"]
    expect(page.get_by_role("region", name="Age", exact=True)).to_contain_text("so this page shows groups")
    shown = page.get_by_role("region", name="Income").locator(".center")
    expect(shown).to_contain_text(f"{round(means['Income']['mean']):,}"[:3])
    page.get_by_text("Tables", exact=True).click()
    expect(page.get_by_role("table", name="Estimates of Income").get_by_role("row")).to_have_count(2)
    expect(page.get_by_text("One report, per kilometer in “Home”")).to_be_visible()


def test_the_dashboard_says_how_far_a_mean_of_bins_may_be_off(visit: Visit, collector: Running) -> None:
    post(collector, BINS, 300, Age=42, Hours=7, Income=5000.0)
    page = visit.dashboard(BINS)
    region = {name: page.get_by_role("region", name=name, exact=True) for name in BINNED}
    for name, within in (("Age", "2.5"), ("Hours", "2")):
        center = region[name].locator(".center")
        more = f", and up to {within} more either way, since answers are counted in bins"
        expect(center).to_have_text(re.compile(rf"^Mean .* to .*\){more}$"))
    center = region["Income"].locator(".center")
    expect(center).to_have_text(re.compile(r"^Mean .* to [\d,]+\)$"))
    expect(region["Income"].locator(".reported")).to_have_text("300 reports")
    before = center.inner_text()
    page.get_by_label("Confidence").select_option("0.99")
    expect(center).not_to_have_text(before)  # though it has no shares that would change
    post(collector, BINS, 400, Age=42, Hours=7, Income=6000.0)
    look(page)
    expect(region["Income"].locator(".reported")).to_have_text("700 reports")
    expect(region["Age"].get_by_role("heading", name="The mean with more reports")).to_be_visible()
    expect(region["Hours"].get_by_role("heading", name="With more reports", exact=True)).to_be_visible()
    expect(region["Hours"].locator(".steps .small")).to_have_count(
        6
    )  # few bins without distances: shares are followed
    page.get_by_text("Tables", exact=True).click()
    expect(region["Age"].locator(".center")).to_contain_text("up to 2.5 more either way")


def test_what_is_rounded_to_zero_has_no_minus(visit: Visit) -> None:
    def changed(route: Route) -> None:
        answer = route.fetch()
        data = answer.json()
        data["rows"][0] |= {"unbiased": -1e-6, "unbiased_low": -1e-6, "unbiased_high": 0.01}
        data["rows"][1] |= {"unbiased": -0.012, "unbiased_low": -0.1, "unbiased_high": 0.01}
        route.fulfill(response=answer, json=data)

    visit.context.route("**/estimates?*", changed)
    page = visit.dashboard(FILLED)
    page.get_by_text("Tables", exact=True).click()
    page.get_by_text("Unbiased", exact=True).click()
    table = page.get_by_role("table", name="Estimates of Coffee")
    for row, texts in ((1, "0.00 %,0.00 %,1.00 %,0"), (2, "-1.20 %,-10.00 %,1.00 %,-2")):
        cells = table.get_by_role("row").nth(row).get_by_role("cell")
        expect(cells).to_have_text(texts.replace("-", "\N{MINUS SIGN}").split(","))


def test_a_border_on_the_map_takes_the_intervals_of_all_cells_at_once(
    visit: Visit, collector: Running
) -> None:
    post(collector, MIXED, 70, **IN_TOWN)
    post(collector, MIXED, 400, **IN_TOWN)
    page = visit.dashboard(MIXED)
    paths = page.get_by_role("region", name="Age", exact=True).locator(".steps path")
    expect(paths.first).to_be_visible()
    inside = paths.evaluate_all("paths => paths.map(path => Boolean(path.closest('[clip-path]')))")
    assert len(inside) >= 2 * 8  # a band and a line for each
    assert all(inside), "with few reports an interval is wider than any scale"
    given = {
        10: (0.01, -0.01),
        20: (0.02, 0.01),
        30: (-0.01, -0.02),
    }  # a cell's own low end, and the one of all at once

    def changed(route: Route) -> None:
        answer = route.fetch()
        data = answer.json()
        rows = [row for row in data["rows"] if row["attribute"] == "Home"]
        for code, row in enumerate(rows):
            row["unbiased_low"], row["low_together"] = given.get(code, (-0.1, -0.1))
            row["unbiased"] = 1 / TOWN.k
        route.fulfill(response=answer, json=data)

    visit.context.route("**/estimates?*", changed)
    page = visit.dashboard(MIXED)
    page.get_by_text("Unbiased", exact=True).click()
    marked = page.locator(".map .cell.sure > title")
    expect(marked).to_have_count(1)
    expect(marked).to_have_text(re.compile(f"^{re.escape(TOWN.labels[20])} "))
    expect(page.get_by_role("region", name="Home")).to_contain_text(
        "With 95 % confidence, the cell with a border is above 0:"
    )
    darkest = page.locator(".map .cell").first
    expect(darkest).to_have_attribute("fill-opacity", "0.500")  # even shares are not the darkest
    given.clear()
    page.get_by_label("Confidence").select_option("0.99")
    expect(marked).to_have_count(0)
    expect(page.get_by_role("region", name="Home")).to_contain_text(
        f"With 99 % confidence for all {TOWN.k} cells at once, no cell is certainly above 0 yet."
    )


def test_without_https_the_page_says_so(browser: Browser, collector: Running) -> None:
    """As on a phone that was given the plain address of another machine: there is no cryptography for the
    page.
    """
    with browser.new_context() as context:
        plain = "http://survey.example"

        def serve(route: Route) -> None:
            route.fulfill(response=route.fetch(url=route.request.url.replace(plain, collector.url)))

        context.route(f"{plain}/**", serve)
        page = context.new_page()
        page.goto(f"{plain}/#plan={ONCE.id}")
        expect(page.get_by_text("This address does not begin with https")).to_be_visible()
        assert page.evaluate("crypto.subtle") is None
        expect(page.get_by_role("button", name="Review my answers")).to_have_count(0)
        context.unroute_all(behavior="wait")


def test_a_study_is_chosen_among_several(visit: Visit) -> None:
    page = visit.page
    page.goto(f"{visit.url}/")
    page.get_by_role("link", name="Every month").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Every month")
    page.get_by_role("link", name="All studies").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Choose a study")


def test_a_collector_that_is_away_is_said_in_plain_words(visit: Visit) -> None:
    visit.context.route("**/plans", lambda route: route.abort())
    page = visit.page
    page.goto(f"{visit.url}/")
    expect(page.get_by_text("The collector cannot be reached.")).to_be_visible()
    visit.context.unroute("**/plans")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("heading", name="Choose a study")).to_be_visible()
    visit.problems = [text for text in visit.problems if "ERR_FAILED" not in text]


def test_the_dashboard_is_for_the_operator(visit: Visit) -> None:
    page = visit.page
    page.goto(f"{visit.url}/dashboard#plan={FILLED.id}")
    page.get_by_label("Your token").fill("not the token")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text(
        re.compile(
            "This token is not valid, or not any more. If it is yours alone, ask an operator for another one."
        )
    )
    page.get_by_label("Your token").fill(TOKEN)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Drinks")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Your token")).to_be_visible()
    assert TOKEN not in page.evaluate("JSON.stringify({...localStorage, ...sessionStorage})")
    visit.dashboard(FILLED)
    expect(page.get_by_role("heading", name="Drinks")).to_be_visible()
    assert TOKEN not in page.url


def test_a_reader_sees_results_and_nothing_to_change(browser: Browser, tmp_path: Path) -> None:
    with collecting(tmp_path, [MONTHS, FILLED], "--minimum", "50") as running:
        post(running, FILLED, 400)
        with visiting(browser, running) as visit:
            read_as_anna_and_ben(visit, tmp_path)


def read_as_anna_and_ben(visit: Visit, folder: Path) -> None:
    tokens = {"anna": draw_token(), "ben": draw_token()}
    store = open_store(f"sqlite:///{folder}/reports.db", create=False)
    store.access.add("anna", "reader", hash_token(tokens["anna"]), Actor("zoe", "shell"))
    store.access.add("ben", "operator", hash_token(tokens["ben"]), Actor("zoe", "shell"))
    page, changes = visit.page, ["Open round 2", "Tallies, JSON", "Reports, Parquet"]
    page.goto(f"{visit.url}/dashboard#plan={MONTHS.id}&token={tokens['anna']}")
    expect(page.get_by_text("anna, reader")).to_be_visible()
    expect(page.get_by_role("heading", name="What is given away")).to_be_visible()
    page.get_by_role("link", name="Drinks").click()
    expect(page.get_by_role("img", name="Estimates of Coffee")).to_be_visible()
    page.get_by_text("Download", exact=True).click()
    expect(page.get_by_role("button", name="Estimates, CSV")).to_be_visible()
    for name in [*changes, "Close round 1"]:
        expect(page.get_by_role("button", name=name)).to_have_count(0)
    for name in ("What operators did", "The collector"):
        expect(page.get_by_role("heading", name=name)).to_have_count(0)
    asked = {one.url.removeprefix(visit.url).partition("?")[0] for one in visit.sent}
    assert not {"/metrics", "/actions"} & asked, "what would be refused is not asked for"
    # another link in the same tab: nothing of the earlier one stays
    page.goto(f"{visit.url}/dashboard#plan={MONTHS.id}&token={tokens['ben']}")
    expect(page.get_by_text("ben, operator")).to_be_visible()
    log = page.get_by_role("table", name="What operators did")
    expect(log.locator("tbody tr").first).to_contain_text(re.compile("zoe.*gave access.*to ben, as operator"))
    page.get_by_role("button", name="Open round 2").click()
    expect(log.locator("tbody tr").first).to_contain_text(re.compile("ben.*opened a round.*round 2"))
    store.access.revoke("ben")
    store.close()
    look(page)
    expect(page.get_by_role("alert")).to_contain_text("This token is not valid, or not any more.")
    expect(log).to_have_count(0)


def test_refused_reports_are_distinguished_from_other_refusals(browser: Browser, tmp_path: Path) -> None:
    options = ("--minimum", "50", "--rate", "10")
    with collecting(tmp_path, [FILLED], *options) as running, visiting(browser, running) as visit:
        assert httpx.get(f"{running.url}/nowhere").status_code == 404
        assert running.get("/metrics").status_code == 200
        page = visit.dashboard(FILLED)  # asks for results too early
        expect(page.get_by_role("heading", name="Nothing to show yet")).to_be_visible()
        panel = page.locator(".panel", has_text="The collector")
        refused = panel.locator("dt", has_text="Reports refused").locator("+ dd")
        look(page)
        expect(panel).to_contain_text("Other requests refused: 2")
        expect(refused).to_have_text("0")
        for body in (b"nonsense", b"more nonsense"):
            assert httpx.post(f"{running.url}/reports", content=body, headers=BINARY).status_code == 400
        look(page)
        expect(refused).to_have_text("2")
        panel.get_by_text("Why reports were refused").click()
        expect(panel.locator("details[open] dl")).to_have_text(re.compile("^cannot be read2$"))
        expect(panel).to_contain_text("Other requests refused: 2")
        # another sender, who asks more than 10 times a second (500 times are usual), is slowed down
        with httpx.Client(transport=httpx.HTTPTransport(local_address="127.0.0.2")) as hurried:
            for _ in range(5000):
                if hurried.post(f"{running.url}/reports", content=b"", headers=BINARY).status_code == 429:
                    break
        look(page)
        expect(panel).to_contain_text(re.compile("Asked to come again later: [1-9]"))


def test_the_dashboard_follows_the_reports(visit: Visit, collector: Running) -> None:
    page = visit.dashboard(MONTHS)
    expect(page.get_by_role("heading", name="Nothing to show yet")).to_be_visible()
    page.evaluate("window.stays = true")
    reports = page.locator(".fact", has_text="Reports")
    post(collector, MONTHS, 40)
    expect(page.get_by_text("40 reports so far; results appear from 50 on.")).to_be_visible()
    post(collector, MONTHS, 64)
    look(page)
    expect(reports).to_contain_text("104")
    chart = page.get_by_role("img", name="Estimates of How do you feel?")
    said = chart.locator("desc")
    first = said.text_content()
    assert first
    page.get_by_role("button", name="Open round 2").click()
    expect(
        page.get_by_text("Rounds 1 and 2 are open at the same time. The survey offers each device the newest")
    ).to_be_visible()
    post(collector, MONTHS, 640)
    post(collector, MONTHS, 100, number=2)
    look(page)
    expect(reports).to_contain_text("744")
    expect(page.get_by_role("group", name="How do you feel?, with more reports")).to_be_visible()
    expect(page.get_by_role("group", name="How do you feel?, from round to round")).to_be_visible()
    expect(said).not_to_have_text(first)
    drawing = chart.element_handle()
    assert drawing is not None
    look_through(page)
    assert drawing.evaluate("node => node.isConnected")  # nothing new: nothing is drawn again
    page.get_by_label("Round", exact=True).select_option("2")
    expect(reports).to_contain_text("100")
    expect(page.get_by_role("heading", name="Change since round 1").first).to_be_visible()
    earlier, later = (
        MONTHS.estimate(fetch_tallies(MONTHS, collector.url, number, TOKEN).tallies) for number in (1, 2)
    )
    row = later.change(earlier)["How do you feel?"].rows()[0]
    shown = [f"{100 * row[name]:.1f}".replace("-", "\u2212") for name in ("difference", "low", "high")]
    shown[0] = "too noisy to read" if row["noisy"] else shown[0]
    changes = page.get_by_role("table", name="Change since round 1: How do you feel?")
    expect(changes.get_by_role("row").nth(1)).to_have_text("well" + "".join(shown))
    assert page.evaluate("window.stays")


def test_the_dashboard_does_without_the_counters(visit: Visit) -> None:
    statuses = [403, 200]
    visit.context.route(
        "**/metrics", lambda route: route.fulfill(status=statuses[0], body="<html>not for you</html>")
    )
    while statuses:
        page = visit.dashboard(FILLED)
        expect(page.get_by_role("img", name="Estimates of Coffee")).to_be_visible()
        expect(page.locator(".fact", has_text="Reports")).to_contain_text("400")
        expect(page.get_by_role("table", name="Rounds")).to_contain_text("400")
        expect(page.get_by_text("This page cannot read its counters.")).to_be_visible()
        expect(page.locator("#trouble")).to_have_text("")
        page.goto("about:blank")
        del statuses[0]


def test_the_dashboard_shows_the_health_of_the_reports(browser: Browser, tmp_path: Path) -> None:
    with collecting(tmp_path, [HONEST, POISONED]) as running:
        send_all(running, reports_of(HONEST, PEOPLE))
        send_all(running, reports_of(POISONED, PEOPLE, FAKES))
        with visiting(browser, running, bypass_csp=True, color_scheme="dark", viewport=PHONE) as visit:
            page = visit.dashboard(HONEST)
            expect(
                page.get_by_text("Health of the reports: no alarm in 4 checks at 4,000 reports; honest")
            ).to_be_visible()
            expect(
                page.get_by_text("people raise one in 1,000 studies. Fake reports raise an alarm")
            ).to_be_visible()
            expect(page.get_by_text("of the reports to a question, and are reports")).to_be_visible()
            page.get_by_text("All checks").click()
            expect(page.get_by_role("table", name="Checks of the reports").get_by_role("row")).to_have_count(
                5
            )
            page = visit.dashboard(POISONED)
            alarm = page.get_by_role("region", name="Health of the reports: 1 alarm")
            expect(alarm).to_contain_text("are supported together by")
            expect(alarm).to_contain_text("No report was removed")
            expect(page.locator("#status")).to_have_text("Health of the reports: 1 alarm.")
            page.get_by_text("All checks").click()
            check_access(page)
            look_through(page)
            expect(page.get_by_role("table", name="Checks of the reports")).to_be_visible()  # it stays open
            assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_the_dashboard_shows_what_is_chosen(visit: Visit, collector: Running) -> None:
    page = visit.dashboard(FILLED)
    page.get_by_text("Tables", exact=True).click()
    table = page.get_by_role("table", name="Estimates of Coffee")
    rows = collector.get(f"/plans/{FILLED.id}/estimates", round=1, level=0.95).json()["rows"]
    expect(table.get_by_role("row").nth(1)).to_contain_text(f"{100 * rows[0]['share']:.2f} %")
    expect(table.get_by_role("rowheader", name=LABEL)).to_be_visible()
    page.get_by_label("Confidence").select_option("0.99")
    high = collector.get(f"/plans/{FILLED.id}/estimates", round=1, level=0.99).json()["rows"][0]["high"]
    expect(table.get_by_role("row").nth(1)).to_contain_text(f"{100 * high:.2f} %")
    page.get_by_text("Charts", exact=True).click()
    expect(page.get_by_role("link", name="Read the plan")).to_have_attribute("href", f"plans/{FILLED.id}")
    expect(page.get_by_role("heading", name="What is given away")).to_be_visible()
    expect(page.get_by_role("heading", name="The collector")).to_be_visible()


def test_the_dashboard_opens_and_closes_rounds(visit: Visit, collector: Running) -> None:
    page = visit.dashboard(FILLED)

    def state() -> dict[str, Any]:
        [found] = collector.get(f"/plans/{FILLED.id}/rounds").json()["rounds"]
        return dict(found)

    dialog = page.get_by_role("dialog", name="Close round 1?")
    for leave in ("Enter", "Escape"):
        page.get_by_role("button", name="Close round 1").click()
        expect(dialog).to_contain_text("the collector refuses its reports")
        page.get_by_role("button", name="Leave it open").focus()
        page.keyboard.press(leave)
        expect(dialog).to_have_count(0)
        assert state()["open"] is True
    page.get_by_role("button", name="Close round 1").click()
    page.get_by_role("button", name="Close it").click()
    expect(page.get_by_role("button", name="Open round 1")).to_be_focused()
    assert state()["open"] is False
    page.get_by_role("button", name="Open round 1").click()
    expect(page.get_by_role("button", name="Close round 1")).to_be_visible()
    assert state()["open"] is True
    page.get_by_role("button", name="Close round 1").click()
    closed = "2026-01-01T00:00:00Z"
    set_round(collector, FILLED, 1, closed)  # by somebody else, while the question is on the screen
    try:
        page.get_by_role("button", name="Close it").click()
        expect(page.get_by_text("Round 1 was closed already, on Jan 1, 2026")).to_be_visible()
        assert state()["closes"] == closed
        expect(page.get_by_role("button", name="Open round 1")).to_be_visible()
    finally:
        set_round(collector, FILLED, 1, None)


def test_a_drawing_shows_intervals_by_their_ends_and_no_line_crosses_its_words(
    visit: Visit, collector: Running
) -> None:
    page = visit.dashboard(FILLED)
    row = collector.get(f"/plans/{FILLED.id}/estimates", round=1).json()["rows"][0]
    ends = [f"{100 * row[end]:.1f}".replace("-", "\N{MINUS SIGN}") for end in ("share", "low", "high")]
    chart = page.get_by_role("img", name="Estimates of Coffee")
    expect(chart.get_by_text(f"{ends[0]} % ({ends[1]} to {ends[2]})")).to_be_visible()
    expect(page.locator("main")).not_to_contain_text("±")
    expect(page.get_by_role("heading", name="Coffee")).to_contain_text(f"{row['n']} reports")
    note = page.get_by_text("can lie outside 0 to 100 %")
    expect(note).to_have_count(0)  # possible shares cannot
    page.locator(".switch").get_by_text("Unbiased", exact=True).click()
    expect(note).to_be_visible()
    page.locator(".switch").get_by_text("Possible", exact=True).click()
    expect(note).to_have_count(0)
    table = page.get_by_role("table", name="Rounds")
    aligned = "nodes => nodes.map(node => getComputedStyle(node).textAlign)"
    expect(table.get_by_role("row")).to_have_count(2)
    assert set(table.locator("th, td").evaluate_all(aligned)) == {"left"}

    def meet(one: dict[str, float], other: dict[str, float]) -> bool:
        across = min(one["right"], other["right"]) - max(one["left"], other["left"])
        return (
            across >= 0 and min(one["bottom"], other["bottom"]) - max(one["top"], other["top"]) >= 0
        )  # a line has no width

    boxes = "nodes => nodes.map(node => node.getBoundingClientRect().toJSON())"
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        visit.dashboard(FILLED)
        expect(chart).to_be_visible()
        words = chart.locator("text").evaluate_all(boxes)
        drawn = chart.locator("line, circle, rect:not(clipPath rect)").evaluate_all(boxes)
        assert len(words) > 8
        assert len(drawn) > 16
        assert [(word, line) for word in words for line in drawn if meet(word, line)] == []


def test_the_numbers_can_be_downloaded(visit: Visit, collector: Running, tmp_path: Path) -> None:
    page = visit.dashboard(FILLED)
    expect(page.get_by_role("img", name="Estimates of Coffee")).to_be_visible()
    page.get_by_text("Download", exact=True).click()
    files = {}
    for name in (
        "Estimates, CSV",
        "Estimates, JSON",
        "Estimates, Parquet",
        "Tallies, JSON",
        "Reports, Parquet",
    ):
        with page.expect_download() as waiting:
            page.get_by_role("button", name=name).click()
        files[name] = tmp_path / waiting.value.suggested_filename
        waiting.value.save_as(files[name])
    wanted = collector.get(f"/plans/{FILLED.id}/estimates", round=1).json()
    assert json.loads(files["Estimates, JSON"].read_text()) == wanted
    rows = list(csv.DictReader(files["Estimates, CSV"].read_text().splitlines()))
    assert [(row["value"], int(row["n"])) for row in rows] == [
        (row["value"], row["n"]) for row in wanted["rows"]
    ]
    assert {(row["plan"], row["round"], row["level"]) for row in rows} == {(FILLED.id, "1", "0.95")}
    assert json.loads(files["Tallies, JSON"].read_text())["n"] == wanted["n"]
    for name in ("Estimates, Parquet", "Reports, Parquet"):
        assert files[name].read_bytes()[:4] == b"PAR1"


@pytest.mark.parametrize(("scheme", "rules"), [("light", ()), ("dark", COLOR_RULES)])
def test_everybody_can_use_the_pages(
    browser: Browser, collector: Running, scheme: Any, rules: Sequence[str]
) -> None:
    with visiting(browser, collector, color_scheme=scheme, bypass_csp=True, viewport=PHONE) as visit:
        page = visit.survey(ONCE)
        page.get_by_role("button", name="Review my answers").click()
        open_all(page)
        check_access(page, rules)
        fill_in(page)
        make(page)
        send(page)
        page.get_by_text("What I have sent").click()
        page.get_by_role("button", name="Forget me").click()
        check_access(page, rules)
        page.get_by_role("button", name="Keep it").click()
        if scheme == "light":
            page = visit.survey(MIXED)
            page.get_by_role("button", name="Review my answers").click()
            open_all(page)
            check_access(page, rules)
        post(collector, MIXED, 60, **IN_TOWN)
        page = visit.dashboard(MIXED)
        expect(page.get_by_role("img", name="Estimates of Home")).to_be_visible()
        page.set_viewport_size({"width": 1280, "height": 900})
        check_access(page, rules)
        if scheme == "light":
            page.get_by_text("Tables", exact=True).click()
            check_access(page, rules)


def test_a_rebuild_gives_the_same_bytes(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None or not (SOURCES / "node_modules").is_dir():
        missing("the pages' tools are not installed", "make test-js installs them")
    assert node is not None
    subprocess.run([node, SOURCES / "build.mjs", tmp_path], check=True, capture_output=True)
    built = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert built == {file.name: file.read_bytes() for file in FOLDER.iterdir()}


def test_libraries_in_the_pages_come_with_their_licenses() -> None:
    """A license asks to be copied with the library, also in the wheel and from the collector."""
    text = (FOLDER / "notices.txt").read_text(encoding="utf-8")
    libraries = "@observablehq/plot (ISC)", "d3-array (ISC)", "d3-scale (ISC)", "isoformat (ISC)"
    for name in (*libraries, "@cloudflare/blindrsa-ts (Apache-2.0)", "sjcl ((BSD-2-Clause OR GPL-2.0-only))"):
        assert f"\n{name}\n" in text
    assert text.count("Copyright") >= 15
    assert "notices.txt" in read_files()


def test_the_pages_are_few_files() -> None:
    """Three pages with a script each, one stylesheet, tickets, the client for the shell, five languages."""
    pages = {f"{page}{kind}" for page in ("survey", "dashboard", "design") for kind in (".html", ".js")}
    languages = {"en.json", "de.json", "fr.json", "es.json", "pt.json"}
    others = {"pages.css", "tickets.js", "client.mjs", "notices.txt"}
    assert {file.name for file in FOLDER.iterdir()} == pages | languages | others


PLANS += [NUMBERED, ORDERED, NESTED, MIXTURE]
