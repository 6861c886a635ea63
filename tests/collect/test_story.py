"""A scientist's whole study: files, plans, letters, answers in browsers, a second round, results.

One question comes back every week, and others are asked once: two plans, and one survey for whoever answers.
"""

from __future__ import annotations

import csv
import json
import re
import secrets
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect

import deniable as dn
from deniable.client import Client
from tests import statistics
from tests.collect.journeys import EXAMPLES, PATIENCE, Visit, counted
from tests.collect.test_survey import tap_town
from tests.collector import TOKEN, Running, collecting
from tests.design.test_page import designing, opened
from tests.running import Outcome, Run

WEEKLY = """
title = "Sleep and work"
missing = "value"

[repeat]
epsilon_first = 3.0
epsilon_forever = 3.9
rounds = 4

[survey]
introduction = { en = "Two questions, every week.", de = "Zwei Fragen, jede Woche." }
consent = true
responsible = "The institute of sleep"
contact = "sleep@example.org"
thanks = { en = "Until next week.", de = "Bis nächste Woche." }

[attributes.rested]
values = ["yes", "no"]
question = { en = "Are you rested?", de = "Sind Sie ausgeruht?" }
labels = { de = ["ja", "nein"] }

[attributes.work]
values = ["none", "part time", "full time"]
question = { en = "How much do you work?", de = "Wie viel arbeiten Sie?" }
labels = { de = ["gar nicht", "Teilzeit", "Vollzeit"] }
"""
ONCE = """
title = "Home"
epsilon = 1.5

[survey]
introduction = { en = "Five questions, only once.", de = "Fünf Fragen, nur einmal." }
consent = true
responsible = "The institute of sleep"
contact = "sleep@example.org"

[attributes.shares]
yes_no = true
question = { en = "Do you share a bedroom?", de = "Teilen Sie ein Schlafzimmer?" }
labels = { de = ["ja", "nein"] }

[attributes.snoring]
values = ["never", "often"]
only_if = { shares = "yes" }
question = { en = "How often do you hear snoring?", de = "Wie oft hören Sie Schnarchen?" }
labels = { de = ["nie", "oft"] }

[attributes.age]
low = 18
high = 98
step = 10
privacy = "metric"
epsilon = 0.02
question = { en = "How old are you?", de = "Wie alt sind Sie?" }

[attributes.home]
south = 54.0
west = 10.0
north = 54.4
east = 10.8
rows = 4
columns = 5
level = 0.5
radius = 30000
map = "island.geojson"
towns = { "Southport" = [54.12, 10.55] }
question = { en = "Where do you live?", de = "Wo wohnen Sie?" }
"""
PAY = "\n[attributes.pay]\nlow = 0\nhigh = 10000\nmean = true\n"
"""The question that is added on the design page."""
READERS: tuple[tuple[str, ViewportSize], ...] = (
    ("en-US", {"width": 1200, "height": 800}),
    ("de-DE", {"width": 360, "height": 640}),
)
LETTER = "Dear {name},\n\nplease answer at {link}\n\nThank you."
PEOPLE = 120
"""All but the first two answer by a program."""
SIGMAS = 6  # of a normal law, 2e-9 lies farther out; with 60 reports a question it is still below 1e-6
HELD = f"{1 - statistics.SYSTEM_ALPHA:.9f}"
"""The level of intervals that must hold what everybody answered: these reports have no seed."""
WORDS = {
    "en": ("yes", "no", "full time", "often", "9,000", "Until next week."),
    "de": ("ja", "nein", "Vollzeit", "oft", "9.000", "Bis nächste Woche."),
}
LIVES: dict[str, Any] = {"shares": "yes", "snoring": "often", "age": 24, "home": (54.12, 10.55), "pay": 9000}


@pytest.mark.long
def test_a_study_from_its_files_to_the_change_between_two_rounds(
    browser: Browser, run: Run, tmp_path: Path
) -> None:
    shutil.copy(EXAMPLES / "island.geojson", tmp_path)
    design(browser)
    names = ["Ada", "Émile", *(f"Person {i}" for i in range(2, PEOPLE))]
    Path("people.csv").write_text("\n".join(["name", *names]) + "\n", encoding="utf-8")
    Path("letter.txt").write_text(LETTER, encoding="utf-8")
    enough = well(run("people", "weekly.toml", "--error", "15", "--json"))
    assert isinstance(enough["people"], int)
    assert 50 < enough["people"] <= PEOPLE
    for name in ("weekly", "once"):
        well(run("plan", f"{name}.toml", "--people", str(PEOPLE), "-o", f"{name}.json"))
        assert "The institute of sleep" in run("verify", f"{name}.json").out
    weekly, once = dn.Plan.read("weekly.json"), dn.Plan.read("once.json")
    with collecting(tmp_path, [weekly, once], "--invited", "--minimum", "50") as collector:
        devices = [browser.new_context(locale=locale, viewport=size) for locale, size in READERS]
        keys = [secrets.token_bytes(32) for _ in names[2:]]
        try:
            for number, rested in ((1, "yes"), (2, "no")):
                open_round(run, number)
                links = invite(run, collector, number)
                for device, link in zip(devices, links, strict=False):
                    answer_in_browser(device, collector, link, number)
                answers = {"rested": rested, "work": "part time"}
                answer_by_program(weekly, keys, answers, collector, links[2:], number)
                assert counted(collector, weekly, number) == PEOPLE
                if number == 1:
                    answer_by_program(once, keys, LIVES, collector, links[2:])
            assert counted(collector, once) == PEOPLE
            read_results(browser, run, collector)
        finally:
            for device in devices:
                device.close()


def design(browser: Browser) -> None:
    """Change a question on the page of `deniable design`, add another one, and save both files."""
    weekly, once = Path("weekly.toml"), Path("once.toml")
    weekly.write_text(WEEKLY, encoding="utf-8")
    once.write_text(ONCE, encoding="utf-8")
    with designing(weekly) as link, opened(browser, link) as page:
        asked = page.get_by_label("What people are asked").first
        expect(asked).to_have_value("Are you rested?")
        asked.fill("Are you rested today?")
        save(page, weekly)
    assert weekly.read_text(encoding="utf-8") == WEEKLY.replace("rested?", "rested today?")
    with designing(once) as link, opened(browser, link) as page:
        page.get_by_role("button", name="A number, for its mean").click()
        page.keyboard.type("pay")
        last = page.locator(".asked").last
        last.get_by_label("From").fill("0")
        last.get_by_label("To").fill("10000")
        expect(page.locator(".known", has_text="pay").first).to_be_visible()
        save(page, once)
    assert once.read_text(encoding="utf-8") == ONCE + PAY


def save(page: Page, file: Path) -> None:
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text(f"Saved in {file}", exact=True)).to_be_visible()


def well(outcome: Outcome) -> dict[str, Any]:
    """What a command printed as JSON, if it did; it must have succeeded."""
    assert outcome.code == 0, outcome.err
    return dict(json.loads(outcome.out)) if outcome.out.startswith("{") else {}


def open_round(run: Run, number: int) -> None:
    if number > 1:
        well(run("rounds", "weekly.json", "--close", str(number - 1)))
    well(run("rounds", "weekly.json", "--open", str(number)))


def invite(run: Run, collector: Running, number: int) -> list[str]:
    """The links of the letters, one a person, in the order of the list: at first to both plans."""
    table, page = Path(f"merge-{number}.csv"), Path(f"letters-{number}.html")
    plans = ["weekly.json", "once.json"][: 3 - number]
    options = ["--addresses", "people.csv", "--url", collector.url, "-o", str(table), "--letters", str(page)]
    well(run("tokens", *plans, *options, "--template", "letter.txt"))
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert page.read_text(encoding="utf-8").count("<svg") == len(rows) == PEOPLE
    return [row["link"] for row in rows]


def answer_in_browser(device: BrowserContext, collector: Running, link: str, number: int) -> None:
    """As a person does who opens the link of a letter, in the language of the browser."""
    visit = Visit(device, collector.url)
    page = visit.page
    page.goto(link)
    if number == 1:  # all rounds together, if answers change, are above the limit of a device
        page.locator("#cap").fill("40")
        page.locator("form.cap button").click()
    page.locator("input[type=radio]").first.wait_for()
    language = str(page.evaluate("document.documentElement.lang"))
    yes, no, work, often, pay, thanks = WORDS[language]
    assert "invitation" not in page.url
    page.get_by_label(yes if number == 1 else no, exact=True).check()
    page.get_by_label(work, exact=True).check()
    page.locator("form:not(.cap) button.main").click()
    if number == 1:
        answer_once(page, yes, often, pay)
    expect(page.locator(".review dd")).to_have_count(7 if number == 1 else 2)
    page.locator("#consent").check()
    page.locator("button.main").click()
    expect(page.locator(".cards")).to_have_count(2 if number == 1 else 1)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator(".act button.main").click()
    expect(page.get_by_text(thanks)).to_be_visible(timeout=PATIENCE)
    visit.check()
    page.close()


def answer_once(page: Page, yes: str, often: str, pay: str) -> None:
    """The second part: what applies only to some, an age, a place on the map, and a number."""
    snoring = page.get_by_label(often, exact=True)
    expect(snoring).to_be_hidden()
    page.get_by_label(yes, exact=True).check()
    snoring.check()
    page.get_by_label(re.compile("^(How old|Wie alt)")).fill("24")
    expect(page.locator(".box .outline")).to_be_visible()
    page.locator(".box").scroll_into_view_if_needed()
    tap_town(page, "Southport")
    expect(page.locator("figure [role=status]")).to_contain_text("Southport")
    page.get_by_label("pay", exact=True).fill(pay)
    page.locator("form:not(.cap) button.main").click()


def answer_by_program(
    plan: dn.Plan,
    keys: Sequence[bytes],
    answers: Mapping[str, Any],
    collector: Running,
    links: Sequence[str],
    number: int = 1,
) -> None:
    for key, link in zip(keys, links, strict=True):
        client = Client(plan, key, plan_cap=20.0)
        assert client.send(collector.url, client.report(answers, number), link) == "counted"


def read_results(browser: Browser, run: Run, collector: Running) -> None:
    """What was asked once, and the change, in the shell; and on the dashboard of a colleague."""
    store = f"sqlite:///{collector.folder}/reports.db"
    found = well(run("estimate", "once.json", "--from", store, "--level", HELD, "--json"))
    means = {one["attribute"]: one for one in found["means"]}
    for name in ("age", "pay"):
        assert means[name]["low"] <= LIVES[name] <= means[name]["high"], "as everybody answered"
    options = ["--from", store, "--round", "2", "--change-from", "1", "--people", "same"]
    changes = well(run("estimate", "weekly.json", *options, "--json"))
    [change] = [row for row in changes["rows"] if (row["attribute"], row["value"]) == ("rested", "yes")]
    assert abs(change["difference"] + 1) < SIGMAS * change["stderr"], "everybody said yes, and then no"
    assert change["high"] < -0.5
    link = re.search(r"http\S+", run("access", "add", "anna", "--url", collector.url, "--store", store).out)
    assert link
    with browser.new_context() as context:
        visit = Visit(context, collector.url)
        visit.page.goto(link[0])
        expect(visit.page.get_by_text("anna, reader")).to_be_visible()
        panel = visit.page.locator(".change").first
        expect(panel.get_by_role("row", name=re.compile("^yes"))).to_contain_text(re.compile(r"\u2212\d\d"))
        visit.page.get_by_role("link", name="Home").click()
        expect(visit.page.locator("svg.map .outline")).to_be_visible()
        expect(visit.page.get_by_role("region", name="pay").locator(".center")).to_contain_text("Mean")
        visit.check()
    open_round(run, 3)  # nobody has answered it, and the fourth is not open yet
    Path("token").write_text(TOKEN, encoding="utf-8")
    options = ["--change-from", "1", "--every-round", "--people", "same", "--token-file", "token", "--json"]
    for source in (store, collector.url):
        series = well(run("estimate", "weekly.json", "--from", source, *options))
        assert [each["round"] for each in series["rounds"]] == [2]
