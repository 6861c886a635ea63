"""The survey and the dashboard in a real browser, served by a real collector."""

from __future__ import annotations

import csv
import hashlib
import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

import deniable as dn
from deniable.client.client import WAIT
from deniable.collect.files import FOLDER, read_files
from deniable.rounds.differences import People
from deniable.store.access import Actor, draw_token, hash_token
from deniable.store.store import open_store
from deniable.wire import Report, Wire
from spec.make.keys import signing_key
from tests.collect.journeys import (
    COLORS,
    DESK,
    PATIENCE,
    PHONE,
    SOURCES,
    Visit,
    check_access,
    check_colors,
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
from tests.collector import TOKEN, Running, collecting
from tests.services import missing

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
FILLED = dn.Study(
    {"Coffee": ["none", "one", "two", LABEL], "Tea": ["yes", "no"]}, epsilon=2.0, title="Drinks"
).plan(people=1000)
TICKETED = FILLED.with_ticket_key(signing_key(0).public)

TOWN = dn.Grid(
    47.60, 6.80, 47.70, 6.95, rows=8, columns=10, epsilon=dn.metric.per_meter(level=1.0, radius=1000)
)
MIXED = dn.Study(
    {
        "Do you smoke?": ["yes", "no"],
        "Age": dn.Range(0, 100, step=1, privacy="metric", epsilon=0.1, open_high=True),
        "Home": TOWN,
        "Income": dn.Number(0, 10_000, open_high=True),
    },
    epsilon=2.0,
    mechanism="split",
    missing="random",
    title="Town",
).plan(people=1000)


def fill_in(page: Page) -> None:
    """All of ONCE."""
    page.get_by_role("group", name="Do you smoke?").get_by_label("yes").check()
    page.get_by_label("Color").select_option("blue")
    page.get_by_label("Age", exact=True).fill("42")


PLANS = [ONCE, AGAIN, MONTHS, FILLED, MIXED, HONEST, POISONED]
CLOSED = [FILLED, TICKETED]
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
        re.compile(r"Anyone who sees your report guesses right at most .*Blind guessing: 1 in \d")
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
    report = json.loads(Wire(ONCE.document).to_json(Report.from_bytes(bytes.fromhex(shown))))["report"]
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


@pytest.mark.long
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
    results = dn.Results(collector.url, TOKEN)
    earlier, later = (results.read(MONTHS, number) for number in (1, 2))
    changes = page.get_by_role("table", name="Change since round 1: How do you feel?")
    whose: dict[People, str] = {"population": "The population", "same": "Those who reported"}
    for people, label in whose.items():
        page.get_by_label("Whose change").select_option(label)
        row = later.change(earlier, people=people)["How do you feel?"].rows()[0]
        shown = [f"{100 * row[name]:.1f}".replace("-", "\u2212") for name in ("difference", "low", "high")]
        shown[0] = "too noisy to read" if row["noisy"] else shown[0]
        expect(changes.get_by_role("row").nth(1)).to_have_text("well" + "".join(shown))
    assert page.evaluate("window.stays")


@pytest.mark.long
def test_the_dashboard_shows_the_health_of_the_reports(browser: Browser, collector: Running) -> None:
    send_all(collector, reports_of(HONEST, PEOPLE))
    send_all(collector, reports_of(POISONED, PEOPLE, FAKES))
    with visiting(browser, collector, bypass_csp=True, color_scheme="dark", viewport=PHONE) as visit:
        page = visit.dashboard(HONEST)
        expect(
            page.get_by_text("Health of the reports: no alarm in 4 checks at 4,000 reports; honest")
        ).to_be_visible()
        expect(page.get_by_text("people raise one in 1,000 studies.")).to_be_visible()
        fakes = page.get_by_text("Fake reports raise an alarm")
        expect(fakes).to_be_hidden()
        page.locator(".checks > summary").click()
        expect(fakes).to_contain_text("of the reports to a question, and are reports")
        expect(fakes).to_be_visible()
        expect(page.get_by_role("table", name="Checks of the reports").get_by_role("row")).to_have_count(5)
        page = visit.dashboard(POISONED)
        alarm = page.get_by_role("region", name="Health of the reports: 1 alarm")
        expect(alarm).to_contain_text("are supported together by")
        expect(alarm).to_contain_text("No report was removed")
        expect(page.locator("#status")).to_have_text("Health of the reports: 1 alarm.")
        page.locator(".checks > summary").click()
        check_access(page)
        look_through(page)
        expect(page.get_by_role("table", name="Checks of the reports")).to_be_visible()  # it stays open
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


@pytest.mark.long
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


@pytest.mark.long
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


def test_everybody_can_answer(browser: Browser, collector: Running) -> None:
    with visiting(browser, collector, bypass_csp=True, viewport=PHONE) as visit:
        page = visit.survey(ONCE)
        page.get_by_role("button", name="Review my answers").click()
        open_all(page)
        check_colors(page)


@pytest.mark.long
def test_everybody_can_use_the_other_pages(browser: Browser, collector: Running) -> None:
    with visiting(browser, collector, bypass_csp=True, viewport=PHONE) as visit:
        page = visit.survey(ONCE)
        fill_in(page)
        make(page)
        send(page)
        page.get_by_text("What I have sent").click()
        page.get_by_role("button", name="Forget me").click()
        check_colors(page)
        page.get_by_role("button", name="Keep it").click()
        page = visit.survey(MIXED)
        page.get_by_role("button", name="Review my answers").click()
        open_all(page)
        check_access(page)
        post(collector, MIXED, 60, **IN_TOWN)
        page = visit.dashboard(MIXED)
        expect(page.get_by_role("img", name="Estimates of Home")).to_be_visible()
        page.set_viewport_size(DESK)
        check_colors(page)
        page.get_by_text("Tables", exact=True).click()
        check_access(page)


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
    """Three pages with a script each, one stylesheet, tickets, the client for the shell, five languages,
    and the description of the API.
    """
    pages = {f"{page}{kind}" for page in ("survey", "dashboard", "design") for kind in (".html", ".js")}
    languages = {"en.json", "de.json", "fr.json", "es.json", "pt.json"}
    others = {"pages.css", "tickets.js", "client.mjs", "notices.txt", "openapi.json"}
    assert {file.name for file in FOLDER.iterdir()} == pages | languages | others
