"""What the dashboard and the survey say, in a real browser: losses, options, changes, places, languages."""

from __future__ import annotations

import math
import re

import pytest
from playwright.sync_api import Browser, expect

import deniable as dn
from tests.collect.journeys import EXAMPLES, post, set_round, visiting
from tests.collector import Running

ISLAND = dn.Study.read(EXAMPLES / "island.toml").plan(people=1000)
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
    survey=dn.Texts(
        title={"en": "Media", "de": "Medien"},
        questions={"works": {"en": "Do you work?", "fr": "Travaillez-vous ?"}},
    ),
).plan(people=1000)
WEEKLY = dn.Study(
    {"age": dn.Range(0, 100, step=10)}, epsilon_first=0.5, epsilon_forever=1.0, rounds=2, title="Weekly"
).plan(people=1000)
LONG = dn.Study(
    {f"Question {i}": ["a", "b"] for i in range(8)}, epsilon=1.0, mechanism="sample", title="Long"
).plan(people=1000)

HOURS = dn.Study({"hours": dn.Range(0, 60, step=5)}, epsilon=2.0, protocol="grr", title="Hours").plan(
    people=1000
)
PLANS = [ISLAND, MEDIA, WEEKLY, LONG, HOURS]


@pytest.fixture(scope="module")
def collected(collector: Running) -> Running:
    set_round(collector, WEEKLY, 2, None)
    post(collector, MEDIA, 100, hours=10)
    post(collector, HOURS, 60, hours=10)
    post(collector, WEEKLY, 60, age=40)
    post(collector, WEEKLY, 60, number=2, age=90)
    post(collector, ISLAND, 100, beach=(54.12, 10.55))
    return collector


def test_the_dashboard_says_what_one_answer_gives_away_and_has_one_panel_of_all_that_apply(
    browser: Browser, collected: Running
) -> None:
    answer = MEDIA.loss.answer
    assert answer is not None
    assert MEDIA.loss.attribute < answer < MEDIA.loss.record
    with visiting(browser, collected) as visit:
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


def test_smoothed_shares_are_a_switch(browser: Browser, collected: Running) -> None:
    with visiting(browser, collected) as visit:
        page = visit.dashboard(ISLAND)
        panel = page.get_by_role("region", name="beach", exact=True).first
        expect(panel.get_by_role("heading", name=re.compile("(possible|most likely) shares"))).to_be_visible()
        page.get_by_label("Smoothed").check()
        expect(panel.get_by_role("heading", name=re.compile("smoothed shares"))).to_be_visible()
        assert [one.url for one in visit.sent if "smooth=true" in one.url]
        page.get_by_label("Possible").check()
        expect(panel.get_by_role("heading", name=re.compile("(possible|most likely) shares"))).to_be_visible()
        page = visit.dashboard(HOURS)  # an ordinary range, whose reports name a value
        page.get_by_label("Smoothed").check()
        expect(page.get_by_role("heading", name=re.compile("smoothed shares")).first).to_be_visible()
        page = visit.dashboard(WEEKLY)  # has nothing to smooth
        expect(page.locator(".switch label", has_text="Unbiased")).to_be_visible()
        expect(page.locator(".switch label", has_text="Smoothed")).to_be_hidden()


def test_what_is_too_noisy_is_flagged_and_no_cell_is_listed_that_may_be_empty(
    browser: Browser, collected: Running
) -> None:
    with visiting(browser, collected) as visit:
        page = visit.dashboard(WEEKLY)
        cells = page.locator(".change tr", has=page.get_by_role("rowheader", name="Mean")).locator("td")
        expect(cells.first).to_have_text("too noisy to read")
        low, high = (float(text.replace("\N{MINUS SIGN}", "-")) for text in cells.all_inner_texts()[1:])
        assert -90 <= low < high <= 90  # from the middle of the first bin to that of the last
        page = visit.dashboard(ISLAND)
        page.get_by_label("Unbiased").check()
        caption = page.locator("figure:has(svg.map) figcaption")
        expect(caption).to_contain_text("cells at once, no cell is certainly above 0 yet")
        expect(caption).not_to_contain_text("from \N{MINUS SIGN}")


def test_cells_and_towns_are_said_in_the_language_of_the_page(browser: Browser, collected: Running) -> None:
    with visiting(browser, collected, locale="de-DE") as visit:
        page = visit.survey(ISLAND)
        page.locator(".typed summary").click()
        page.get_by_label("Breite").fill("54,11")
        page.get_by_label("Länge").fill("10,54")
        cell = "54,100 bis 54,125 N; 10,520 bis 10,560 O"
        expect(page.get_by_text(f"Bei Southport, in der Zelle {cell}")).to_be_visible()
        page.locator("main form button.main").click()
        expect(page.locator(".review dd")).to_have_text(f"54,11; 10,54 (bei Southport, die Zelle {cell})")


def test_yes_and_no_and_untranslated_questions(browser: Browser, collected: Running) -> None:
    with visiting(browser, collected, locale="de-DE") as visit:
        page = visit.survey(MEDIA)
        expect(page.get_by_label("Ja", exact=True)).to_be_visible()
        page.get_by_label("Nein", exact=True).check()
        menu = page.locator("#language option")
        expect(menu).to_have_text(
            [
                "English",
                "Deutsch (Fragen auf Englisch)",
                "Français",
                "Español (preguntas en inglés)",
                "Português (perguntas em inglês)",
            ]
        )
        page.locator("#language select").select_option("en")
        expect(page.get_by_label("no", exact=True)).to_be_checked()


def test_one_button_leads_back_from_a_part_with_pages(browser: Browser, collected: Running) -> None:
    with visiting(browser, collected, locale="en-US") as visit:
        page = visit.page
        page.add_init_script("localStorage.setItem('deniable.cap', '6')")  # both together give away 5.3
        page.goto(f"{collected.url}/#plan={WEEKLY.id}&plan={LONG.id}")
        page.locator("main form").get_by_role("textbox").fill("40")
        page.get_by_role("button", name="Next").click()
        back = page.get_by_role("button", name="Back", exact=True)
        expect(page.get_by_role("heading", name="Page 1 of 2")).to_be_visible()
        expect(back).to_have_count(1)
        back.click()
        expect(page.get_by_role("heading", name="Weekly", level=2)).to_be_visible()
        page.get_by_role("button", name="Next").click()
        expect(page.get_by_role("heading", name="Page 1 of 2")).to_be_visible()
        for group in page.locator("form fieldset:visible").all():
            group.locator("input").first.check()
        page.get_by_role("button", name="Next").click()
        expect(page.get_by_role("heading", name="Page 2 of 2")).to_be_visible()
        expect(back).to_have_count(1)
        back.click()
        expect(page.get_by_role("heading", name="Page 1 of 2")).to_be_visible()


def test_the_chosen_language_is_read_whole_on_a_phone(browser: Browser, collected: Running) -> None:
    """It was cut off after "Português (perg", so that nobody read what the questions are in."""
    phone = {"width": 360, "height": 640}
    with visiting(browser, collected, locale="pt-BR", viewport=phone) as visit:
        menu = visit.survey(MEDIA).locator("#language select")
        expect(menu.locator("option:checked")).to_contain_text("perguntas em")
        shown = menu.evaluate("one => one.offsetWidth")
        assert shown == menu.evaluate("one => { one.style.maxWidth = 'none'; return one.offsetWidth }")
        assert visit.page.evaluate("document.documentElement.scrollWidth") == 360
