"""The survey with many kinds of questions, page by page, in real browsers of two languages."""

from __future__ import annotations

from playwright.sync_api import Browser, Page, expect

import deniable as dn
from tests.collect.journeys import DESK, PHONE, check_access, visiting
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
PLANS = [STUDY]


def find(page: Page, name: str) -> str:
    return f"#q{STUDY.names.index(name)}"


def test_all_kinds_of_questions_on_two_pages(browser: Browser, collector: Running) -> None:
    with visiting(browser, collector, locale="de-DE", viewport=PHONE, bypass_csp=True) as visit:
        page = visit.survey(STUDY)
        expect(page.get_by_role("heading", name="Seite 1 von 2")).to_be_visible()
        expect(page.get_by_role("progressbar")).to_have_attribute("value", "1")
        drawn = page.locator(".promise .drawing")
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


def test_the_keyboard_alone_is_enough(browser: Browser, collector: Running) -> None:
    with visiting(browser, collector, viewport=DESK) as visit:
        page = visit.survey(STUDY)
        expect(page.locator(".promise")).to_contain_text("These numbers count that some questions")
        page.locator("input[type=radio]").first.focus()
        page.keyboard.press("ArrowDown")  # no work: the page has no other question then
        page.keyboard.press("Enter")
        expect(page.locator("#page")).to_be_focused()
        page.keyboard.press("Tab")
        page.keyboard.press("Space")  # the first box
        for _ in range(4):
            page.keyboard.press("Tab")
        page.keyboard.press("Space")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Tab")
        page.keyboard.type("47")
        page.keyboard.press("Enter")
        expect(page.locator(".review dd > bdi")).to_have_text(["no", "tv", "2", "47 (45 to under 50)"])
        page.locator(".review .link").first.focus()
        page.keyboard.press("Enter")
        expect(page.locator("input[type=radio]").nth(1)).to_be_focused()
