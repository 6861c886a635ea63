"""A scientist's whole study: file, plan, letters, answers in browsers, a second round, results."""

from __future__ import annotations

import csv
import json
import re
import secrets
from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, ViewportSize, expect

import deniable as dn
from deniable.client import Client
from tests.collect.test_pages import PATIENCE, Visit, counted
from tests.collect.test_pages import browser as browser
from tests.collector import Running, collecting
from tests.design.test_page import designing, opened
from tests.running import Outcome, Run

STUDY = """
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
READERS: tuple[tuple[str, ViewportSize], ...] = (
    ("en-US", {"width": 1200, "height": 800}),
    ("de-DE", {"width": 360, "height": 640}),
)
LETTER = "Dear {name},\n\nplease answer at {link}\n\nThank you."
PEOPLE = 120
"""All but the first two answer by a program."""
SIGMAS = 6  # of a normal law, 2e-9 lies farther out; with 60 reports a question it is still below 1e-6
WORDS = {"en": ("yes", "full time", "Until next week."), "de": ("ja", "Vollzeit", "Bis nächste Woche.")}


def test_a_study_from_its_file_to_the_change_between_two_rounds(
    browser: Browser, run: Run, tmp_path: Path
) -> None:
    Path("study.toml").write_text(STUDY, encoding="utf-8")
    design(browser)
    names = ["Ada", "Émile", *(f"Person {i}" for i in range(2, PEOPLE))]
    Path("people.csv").write_text("\n".join(["name", *names]) + "\n", encoding="utf-8")
    Path("letter.txt").write_text(LETTER, encoding="utf-8")
    enough = well(run("people", "study.toml", "--error", "15", "--json"))
    assert isinstance(enough["people"], int)
    assert 50 < enough["people"] <= PEOPLE
    well(run("plan", "study.toml", "--people", str(PEOPLE), "-o", "plan.json"))
    assert "The institute of sleep" in run("verify", "plan.json").out
    plan = dn.Plan.read("plan.json")
    with collecting(tmp_path, [plan], "--invited", "--minimum", "50") as collector:
        devices = [browser.new_context(locale=locale, viewport=size) for locale, size in READERS]
        others = [Client(plan, secrets.token_bytes(32)) for _ in names[2:]]
        try:
            for number, rested in ((1, "yes"), (2, "no")):
                open_round(run, number)
                links = invite(run, collector, number)
                for device, link in zip(devices, links, strict=False):
                    answer_in_browser(device, collector, link, rested if number == 2 else None)
                answer_by_program(others, collector, links[2:], number, rested)
                assert counted(collector, plan, number) == PEOPLE
            read_results(browser, run, collector)
        finally:
            for device in devices:
                device.close()


def design(browser: Browser) -> None:
    """Change a question on the page of `deniable design`, and save it."""
    file = Path("study.toml")
    with designing(file) as link, opened(browser, link) as page:
        asked = page.get_by_label("What people are asked").first
        expect(asked).to_have_value("Are you rested?")
        asked.fill("Are you rested today?")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_text("Saved in study.toml", exact=True)).to_be_visible()
    assert file.read_text(encoding="utf-8") == STUDY.replace("rested?", "rested today?")


def well(outcome: Outcome) -> dict[str, object]:
    """What a command printed as JSON, if it did; it must have succeeded."""
    assert outcome.code == 0, outcome.err
    return dict(json.loads(outcome.out)) if outcome.out.startswith("{") else {}


def open_round(run: Run, number: int) -> None:
    if number > 1:
        well(run("rounds", "plan.json", "--close", str(number - 1)))
    well(run("rounds", "plan.json", "--open", str(number)))


def invite(run: Run, collector: Running, number: int) -> list[str]:
    """The links of the letters, one a person, in the order of the list."""
    table, page = Path(f"merge-{number}.csv"), Path(f"letters-{number}.html")
    options = ["--addresses", "people.csv", "--url", collector.url, "-o", str(table), "--letters", str(page)]
    well(run("tokens", "plan.json", *options, "--template", "letter.txt"))
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert page.read_text(encoding="utf-8").count("<svg") == len(rows) == PEOPLE
    return [row["link"] for row in rows]


def answer_in_browser(device: BrowserContext, collector: Running, link: str, rested: str | None) -> None:
    """As a person does who opens the link of a letter, in the language of the browser."""
    visit = Visit(device, collector.url)
    page = visit.page
    page.goto(link)
    page.locator("input[type=radio]").first.wait_for()
    language = str(page.evaluate("document.documentElement.lang"))
    yes, work, thanks = WORDS[language]
    assert "invitation" not in page.url
    page.get_by_label(yes if rested is None else {"de": "nein"}.get(language, "no"), exact=True).check()
    page.get_by_label(work, exact=True).check()
    page.locator("form button.main").click()
    page.locator("#consent").check()
    page.locator("button.main").click()
    expect(page.locator(".cards")).to_be_visible()
    page.locator(".act button.main").click()
    expect(page.get_by_text(thanks)).to_be_visible(timeout=PATIENCE)
    visit.check()
    page.close()


def answer_by_program(
    clients: Sequence[Client], collector: Running, links: Sequence[str], number: int, rested: str
) -> None:
    for client, link in zip(clients, links, strict=True):
        report = client.report({"rested": rested, "work": "part time"}, number)
        assert client.send(collector.url, report, link.partition("invitation=")[2]) == "counted"


def read_results(browser: Browser, run: Run, collector: Running) -> None:
    """The change in the shell, and on the dashboard of a colleague."""
    store = f"sqlite:///{collector.folder}/reports.db"
    options = ["--from", store, "--round", "2", "--change-from", "1", "--people", "same"]
    changes = well(run("estimate", "plan.json", *options, "--json"))
    assert isinstance(changes["rows"], list)
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
        panel.locator("summary").click()
        expect(panel.get_by_role("row", name=re.compile("^yes"))).to_contain_text(re.compile(r"\u2212\d\d"))
        visit.check()
