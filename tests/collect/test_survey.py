"""The survey in real browsers: languages, all kinds of questions, a map, and text that nobody listed."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import deniable as dn
from tests.collect.journeys import EXAMPLES, PHONE, check_access, visiting
from tests.collector import Running, post_people

TRANSLATED = dn.Study(
    {"smokes": ["yes", "no"], "income": dn.Number(0, 100_000)},
    epsilon=1.0,
    title="Health",
    survey=dn.Texts(
        title={"en": "Health", "de": "Gesundheit", "ar": "الصحة"},
        introduction={"en": "Two questions.\n\nFor science.", "de": "Zwei Fragen.", "ar": "سؤالان."},
        consent={"en": "I agree <b>freely</b>.", "de": "Ich willige ein.", "ar": "أوافق."},
        responsible="The institute",
        contact="study@example.org",
        privacy_notice="https://example.org/privacy",
        thanks={"en": "Thanks a lot.", "de": "Vielen Dank.", "ar": "شكرا."},
        questions={"smokes": {"en": "Do you smoke?", "de": "Rauchen Sie?", "ar": "هل تدخن؟"}},
        help={"smokes": {"en": "Any tobacco.", "de": "Jeder Tabak."}},
        labels={"smokes": {"de": ["ja", "nein"], "ar": ["نعم", "لا"]}},
    ),
).plan(people=1000)


def choose(page: Page, language: str) -> None:
    page.locator("#language select").select_option(language)
    expect(page.locator(f'#language option[value="{language}"]:checked')).to_have_count(1)


EVERY_KIND = dn.Study(
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


def find(page: Page, name: str) -> str:
    return f"#q{EVERY_KIND.names.index(name)}"


def test_all_kinds_of_questions_on_two_pages(browser: Browser, collector: Running) -> None:
    with visiting(browser, collector, locale="de-DE", viewport=PHONE, bypass_csp=True) as visit:
        page = visit.survey(EVERY_KIND)
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


ISLAND = dn.Study.read(EXAMPLES / "island.toml").plan(people=1000)
DRAWN = dn.Study(
    {"vote": ["left", "right", "none"], "smokes": ["yes", "no"], "town": ["A", "B", "C", "D"]},
    epsilon=1.0,
    title="Three questions",
    mechanism="sample",
    importance={"vote": 20},
    ask="sampled",
).plan(people=1000)


def boxes(found: Locator) -> list[dict[str, float]]:
    edges: list[dict[str, float]] = found.evaluate_all(
        "all => all.map(one => { const {x, y, width, height} = one.getBoundingClientRect();"
        " return {x, y, width, height} })"
    )
    return edges


def overlap(one: dict[str, float], other: dict[str, float]) -> bool:
    return all(
        one[at] < other[at] + other[long] - 1 and other[at] < one[at] + one[long] - 1
        for at, long in (("x", "width"), ("y", "height"))
    )


def cell_pixels(page: Page) -> float:
    """The smaller side of the chosen cell on the screen."""
    [box] = boxes(page.locator(".box .chosen"))
    return min(box["width"], box["height"])


def tap_town(page: Page, name: str) -> None:
    """Tap where a town is: the middle of its dot."""
    dot = page.locator(f".towns text:text-is('{name}')").locator("xpath=preceding-sibling::*[1]")
    [box] = boxes(dot)
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


def test_a_place_is_found_on_the_map(browser: Browser, collector: Running) -> None:
    with visiting(browser, collector, locale="de-DE", viewport=PHONE, bypass_csp=True) as visit:
        page = visit.survey(ISLAND)
        expect(page.locator(".box .outline")).to_be_visible()
        expect(page.locator("#device")).to_be_visible()  # nothing moves any more
        labels = page.locator(".towns text")
        expect(labels.filter(has_text="Southport")).to_have_count(1)
        placed = boxes(labels)
        assert not any(overlap(a, b) for i, a in enumerate(placed) for b in placed[:i])
        [frame] = boxes(page.locator(".box"))
        assert frame["width"] <= PHONE["width"]
        for one in placed:
            assert one["x"] >= frame["x"] - 1
            assert one["x"] + one["width"] <= frame["x"] + frame["width"] + 1
        check_access(page)
        page.locator(".box").scroll_into_view_if_needed()
        tap_town(page, "Southport")
        # its cells are too small for a finger: the first tap makes them larger
        expect(page.locator("figure [role=status]")).to_contain_text("tippen", ignore_case=True)
        expect(page.locator("#q0-latitude")).to_have_value("")
        tap_town(page, "Southport")
        expect(page.locator("figure [role=status]")).to_contain_text("Bei Southport")
        assert cell_pixels(page) >= 24
        latitude = float(page.locator("#q0-latitude").input_value())
        longitude = float(page.locator("#q0-longitude").input_value())
        assert abs(latitude - 54.12) <= 0.4 / 16 / 2
        assert abs(longitude - 10.55) <= 0.8 / 20 / 2
        page.locator("form button.main").click()
        expect(page.locator(".review dd")).to_contain_text(str(latitude).replace(".", ","))
        assert not [one for one in visit.sent if not one.url.startswith((visit.url, "data:", "about:"))]


@pytest.mark.long
def test_only_drawn_questions_are_asked(browser: Browser, collector: Running) -> None:
    with visiting(browser, collector, locale="de-DE", viewport=PHONE, bypass_csp=True) as visit:
        page = visit.survey(DRAWN)
        expect(page.get_by_text("Ihr Gerät hat eine von 3 Fragen ausgelost")).to_be_visible()
        asked = page.locator("form .question")
        expect(asked).to_have_count(1)
        name = page.locator("form legend").inner_text()
        page.locator("summary").first.click()
        expect(page.locator(".drawing")).to_contain_text(re.compile(r"[“„]vote[”“] \d"))
        check_access(page)
        page.reload()
        expect(page.locator("form legend")).to_have_text(name)  # nobody draws again
        page.locator("form input[type=radio]").first.check()
        page.locator("form button.main").click()
        expect(page.locator(".review dd")).to_have_count(1)
        page.locator("button.main").click()
        page.locator(".act button.main").click()
        expect(page.locator(".receipt")).to_be_visible()
        ledger = json.loads(page.evaluate("localStorage.getItem('deniable')"))
        assert len(ledger["entries"]) == 1


SITES = dn.Study(
    {"site": dn.Text("a-z0-9.-", longest=10), "smokes": ["yes", "no"]}, epsilon=2.0, title="Sites"
).plan(people=10_000)
WORDS = dn.Study({"word": dn.Text("a-z", longest=3)}, epsilon=4.0, title="Words").plan(people=3000)
PLANS = [TRANSLATED, EVERY_KIND, MEDIA, ISLAND, DRAWN, SITES, WORDS]


@pytest.mark.long
def test_text_is_asked_once_and_cut_where_people_see_it(browser: Browser, collector: Running) -> None:
    with visiting(browser, collector, locale="de-DE", viewport=PHONE, bypass_csp=True) as visit:
        page = visit.survey(SITES)
        field = page.locator("#q0")
        expect(page.locator("form .question")).to_have_count(2)
        expect(page.locator("#hint-0")).to_contain_text("a\u2013z")
        field.fill("example_org")
        page.locator("form button.main").click()
        expect(page.locator("#complaint-0")).to_contain_text("„_“ ist keines dieser Zeichen.")
        field.fill("e\u0301" * 6)  # as some systems paste six letters
        expect(page.locator("#count-0")).to_have_text("6 von 10 Zeichen")
        field.fill("Whats App")  # the alphabet has no capital letters, and no space
        expect(page.locator(".cut")).to_contain_text("whatsapp")
        expect(page.locator("#count-0")).to_contain_text("8 ")
        field.fill("Example-Site")
        expect(page.locator("#count-0")).not_to_contain_text("12")  # "12 of 10" is no count
        expect(page.locator(".cut")).to_contain_text("example-si")
        check_access(page)
        page.locator("form .choice").first.click()
        page.locator("form button.main").click()
        expect(page.locator(".review dd > bdi").first).to_contain_text("example-si…")
        expect(page.locator(".review dd > bdi").first).to_contain_text("ersten 10 Zeichen")
        page.locator("button.main").click()
        leaves = page.locator(".card.leaves")
        expect(leaves.locator("dt")).to_have_count(2)
        said = leaves.locator("dd")
        texts = [said.nth(i).inner_text() for i in range(2)]
        assert sum("Fach" in text for text in texts) <= 1
        check_access(page)
        page.locator(".act button.main").click()
        expect(page.locator("#receipt")).to_be_visible()


@pytest.mark.long
def test_an_operator_finds_text_that_many_people_gave(browser: Browser, collector: Running) -> None:
    post_people(collector, WORDS, {"word": ["cat"] * 2000 + ["dog"] * 1000})
    with visiting(browser, collector, viewport=PHONE, bypass_csp=True) as visit:
        page = visit.dashboard(WORDS)
        panel = page.get_by_role("article", name="word")
        expect(panel).to_contain_text("Nobody listed these values")
        expect(panel).to_contain_text("of people have is found about half of the time")
        panel.get_by_role("button", name="Find values").click()
        expect(panel.get_by_role("heading", name="2 values found")).to_be_visible(timeout=120_000)
        expect(panel).to_contain_text("A value that nobody has is among those shown in 5 %")
        check_access(page)
        page.get_by_label("Tables").check()
        expect(panel.get_by_role("rowheader")).to_have_text(["cat", "dog"])
        panel.get_by_text("Look up a public list instead").click()
        panel.get_by_label("One value per line").fill("cat\nDog")
        panel.get_by_role("button", name="Find values").click()
        expect(panel.get_by_role("alert")).to_contain_text("'Dog' has 'D'")
        expect(page.locator(".log")).to_contain_text("found values")
