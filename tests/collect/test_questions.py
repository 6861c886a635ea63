"""The survey with many kinds of questions, page by page, and what the dashboard says of them."""

from __future__ import annotations

import math

from playwright.sync_api import Browser, Page, expect

import deniable as dn
from tests.collect.journeys import PHONE, check_access, post, visiting
from tests.collector import Running

STUDY = dn.Study(
    {
        "works": {"yes_no": True},
        "hours": dn.Range(0, 60, step=20),
        "media": dn.Several(["tv", "radio", "web"]),
        "mood": dn.Range.scale(1, 7),
        "age": dn.Range(0, 100, step=5, privacy="metric", epsilon=0.02),
        "moved": dn.Range.dates("2020-01-01", "2026-12-31"),
    },
    epsilon=2.0,
    title="Media and work",
    missing={"hours": True, "age": True},
    only_if={"hours": {"works": "yes"}, "moved": {"media": "web"}},
    survey=dn.Texts(
        questions={
            "works": {"en": "Do you work?", "de": "Arbeiten Sie?"},
            "media": {"en": "Which media?", "de": "Welche Medien?"},
            "mood": {"en": "Are you happy?", "de": "Sind Sie glücklich?"},
        },
        labels={"works": {"de": ["ja", "nein"]}, "media": {"de": ["Fernsehen", "Radio", "Netz"]}},
        ends={"mood": {"en": ["not at all", "very much"], "de": ["gar nicht", "sehr"]}},
        pages=[["works", "hours"], ["media", "mood", "age", "moved"]],
    ),
).plan(people=5000)
MEDIA = dn.Study(
    {
        "works": {"yes_no": True},
        "hours": dn.Range(0, 60, step=5),
        "media": dn.Several(["tv", "radio", "web"]),
    },
    epsilon=3.0,
    mechanism="split",
    only_if={"hours": {"works": "yes"}},
    title="Media",
).plan(people=1000)
PLANS = [STUDY, MEDIA]


def find(page: Page, name: str) -> str:
    return f"#q{STUDY.names.index(name)}"


def test_all_kinds_of_questions_on_two_pages(browser: Browser, collector: Running) -> None:
    with visiting(browser, collector, locale="de-DE", viewport=PHONE, bypass_csp=True) as visit:
        page = visit.survey(STUDY)
        expect(page.get_by_role("heading", name="Seite 1 von 2")).to_be_visible()
        expect(page.get_by_role("progressbar")).to_have_attribute("value", "1")
        drawn = page.locator(".promise .drawing")
        expect(page.locator(".promise")).to_contain_text("manche Fragen etwas über andere aussagen")
        expect(drawn).to_contain_text("„age“")
        expect(drawn).to_contain_text("eine von den anderen 8 Antworten")
        hours = page.locator(find(page, "hours"))
        expect(hours).to_be_hidden()  # until people say that they work
        page.locator("form button.main").click()
        expect(page.locator("input[type=radio]").first).to_be_focused()
        page.get_by_label("ja", exact=True).check()
        hours.fill("25")
        check_access(page)
        page.locator("form button.main").click()
        expect(page.locator("#page")).to_be_focused()
        check_access(page)
        boxes = page.get_by_role("group", name="Welche Medien?")
        boxes.get_by_label("Nichts davon").check()
        boxes.get_by_label("Netz").check()
        expect(boxes.get_by_label("Nichts davon")).not_to_be_checked()  # it stands alone
        for box in page.locator(".step").all():
            area = box.bounding_box()
            assert area is not None
            assert min(area["width"], area["height"]) >= 24
        page.locator(".step input").nth(6).check()
        page.locator(f"{find(page, 'age')}-none").check()
        page.locator(f"{find(page, 'moved')}-month").select_option("03")
        page.locator(find(page, "moved")).select_option("2022")
        page.locator("form button.main").click()
        expect(page.locator(".review dd > bdi")).to_have_text(
            [
                "ja",
                page.locator(".review dd > bdi").nth(1).inner_text(),
                "Netz",
                "7",
                "Keine Angabe",
                "März 2022",
            ]
        )
        check_access(page)
        page.locator(".review .link").nth(2).click()  # back to the media, on their page
        expect(boxes.get_by_label("Netz")).to_be_focused()
        boxes.get_by_label("Nichts davon").check()
        expect(page.locator(find(page, "moved"))).to_be_hidden()
        page.locator("form button.main").click()
        expect(page.locator(".review dd > bdi")).to_have_count(5)
        page.locator("button.main").click()
        expect(page.locator(".cards")).to_be_visible()
        check_access(page)
        page.locator(".act button.main").click()
        expect(page.locator("#receipt")).to_be_visible()


def test_the_dashboard_says_what_one_answer_gives_away_and_has_one_panel_of_all_that_apply(
    browser: Browser, collector: Running
) -> None:
    post(collector, MEDIA, 100, hours=10)
    answer = MEDIA.loss.answer
    assert answer is not None
    assert MEDIA.loss.attribute < answer < MEDIA.loss.record
    with visiting(browser, collector) as visit:
        page = visit.dashboard(MEDIA)
        lines = page.locator(".figures").first
        label = "One report, between people who differ in one answer"
        value = lines.locator("dt", has_text=label).locator("xpath=following-sibling::dd[1]")
        expect(value).to_have_text(f"{math.ceil(1000 * answer - 1e-6) / 1000:g}")
        expect(page.get_by_text("These guesses count that")).to_be_visible()
        panel = page.get_by_role("region", name="media", exact=True).first
        expect(panel).to_contain_text("all that apply: who chose each")
        page.get_by_label("Tables").check()
        rows = panel.locator("table").first.locator("tbody th")
        expect(rows).to_have_text(["tv", "radio", "web"])
        expect(page.get_by_role("region", name="media: tv", exact=True)).to_have_count(0)
