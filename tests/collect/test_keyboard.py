"""A whole survey by the keyboard alone, in two languages and at two widths; and axe-core on the dashboard."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, final

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import deniable as dn
from deniable.collect.access import Actor, draw_token, hash_token
from deniable.collect.store import open_store
from tests.cases import by_night
from tests.collect.journeys import COLORS, DESK, PHONE, check_access, counted, post, visiting
from tests.collector import Running, collecting

FARTHEST = 30
"""Times that Tab is pressed to reach something: no page here has more to stop at."""

STUDY = dn.Study(
    {
        "smokes": ["yes", "no", "sometimes"],
        "color": COLORS,
        "age": dn.Range(0, 100, step=10),
        "income": dn.Number(0, 100_000),
    },
    epsilon=2.0,
    mechanism="split",
    missing="random",
    title="Health",
    survey=dn.Texts(
        title={"en": "Health", "de": "Gesundheit"},
        introduction={"en": "Four questions.", "de": "Vier Fragen."},
        consent={"en": "I take part freely.", "de": "Ich nehme freiwillig teil."},
        responsible={"en": "The institute", "de": "Das Institut"},
        contact="study@example.org",
        thanks={"en": "Thanks a lot.", "de": "Vielen Dank."},
        questions={
            "smokes": {"en": "Do you smoke?", "de": "Rauchen Sie?"},
            "color": {"en": "Which color?", "de": "Welche Farbe?"},
        },
        labels={
            "smokes": {"de": ["ja", "nein", "manchmal"]},
            "color": {"de": ["rot", "orange", "gelb", "grün", "blau", "violett", "schwarz", "weiß"]},
        },
    ),
).plan(people=1000)
PLANS = [STUDY]

WORDS = {
    "en": {
        "smokes": ("Do you smoke?", "sometimes"),
        "color": ("Which color?", "g", "green"),
        "income": "2,500",
        "thanks": "Thanks a lot.",
    },
    "de": {
        "smokes": ("Rauchen Sie?", "manchmal"),
        "color": ("Welche Farbe?", "gg", "grün"),
        "income": "2.500",
        "thanks": "Vielen Dank.",
    },
}


@final
class Keys:
    """Presses keys; whatever has the focus is seen, and is seen to have it."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def type(self, text: str) -> None:
        self.page.keyboard.type(text)

    def tab_to(self, wanted: Locator, key: str = "Tab") -> None:
        """Press Tab until this has the focus."""
        expect(wanted).to_be_visible()
        for _ in range(FARTHEST):
            self.press(key)
            if wanted.evaluate("node => node === document.activeElement"):
                return self.check_focus()
        raise AssertionError(f"{wanted} was never focused")

    def check_focus(self) -> None:
        """The focus is inside the window, and drawn on its element or on the label around it."""
        found = self.page.evaluate(
            """() => {
              const node = document.activeElement;
              const { top, bottom, left, right } = node.getBoundingClientRect();
              const shown = [node, node.closest("label")].filter(Boolean).map((one) => getComputedStyle(one));
              return {
                inside: bottom > 0 && top < innerHeight && right > 0 && left < innerWidth,
                drawn: shown.some((one) => one.outlineStyle !== "none" && one.outlineWidth !== "0px"),
              };
            }"""
        )
        assert found == {"inside": True, "drawn": True}, self.page.evaluate(
            "document.activeElement.outerHTML"
        )


@by_night(("language", "size"), [("en", DESK), ("de", PHONE)], ("de", PHONE), ids=["en-desk", "de-phone"])
def test_a_whole_survey_by_the_keyboard_alone(
    browser: Browser, collector: Running, language: str, size: dict[str, int]
) -> None:
    words: dict[str, Any] = WORDS[language]
    before = counted(collector, STUDY)
    locale = {"en": "en-US", "de": "de-DE"}[language]
    with visiting(browser, collector, locale=locale, viewport=size, bypass_csp=True) as visit:
        page = visit.survey(STUDY)
        keys = Keys(page)
        main, heading = page.locator("main"), page.locator("main h2[tabindex]")
        smokes = page.get_by_role("group", name=words["smokes"][0])
        expect(smokes).to_be_visible()
        expect(page.locator("#device")).to_be_visible()
        assert page.evaluate("document.documentElement.lang") == language
        # past the header, and the promise unfolded
        keys.press("Tab")
        expect(page.locator("#skip")).to_be_focused()
        keys.check_focus()
        keys.press("Enter")
        expect(main).to_be_focused()
        promise = page.locator(".promise .more")
        keys.tab_to(promise.locator("summary").first)
        keys.press("Enter")
        expect(promise).to_have_attribute("open", "")
        keys.press("Space")
        expect(promise).not_to_have_attribute("open", "")
        # nothing was chosen: the first question is shown to be missing
        review = page.locator("main form button[type=submit]")
        keys.tab_to(review)
        keys.press("Enter")
        expect(smokes.get_by_role("radio").first).to_be_focused()
        expect(smokes.get_by_role("alert")).not_to_be_empty()
        if size is PHONE:  # once is enough: axe takes its time
            check_access(page)
        keys.press("Space", "ArrowDown", "ArrowDown")
        expect(smokes.get_by_label(words["smokes"][1])).to_be_checked()
        keys.tab_to(page.get_by_label(words["color"][0]))
        keys.press(*words["color"][1])  # a letter again and again: a list forgets it after a second
        keys.tab_to(page.locator("#q2"))
        keys.type("forty")
        keys.press("Enter")
        expect(page.locator("#q2")).to_be_focused()
        expect(page.locator("#complaint-2")).not_to_be_empty()
        keys.press(*["Backspace"] * len("forty"))
        keys.type("42")
        keys.tab_to(page.locator("#q3-none"))
        keys.press("Space")
        expect(page.locator("#q3")).to_be_disabled()
        keys.press("Space")
        keys.tab_to(page.locator("#q3"), "Shift+Tab")
        keys.type(words["income"])
        keys.press("Enter")
        # the review, back to the questions, and again
        expect(heading).to_be_focused()
        expect(page.locator(".review dd")).to_have_count(4)
        expect(page.locator(".review dd").nth(1)).to_have_text(words["color"][2])
        expect(page.locator(".review dd").last).to_have_text(words["income"])
        keys.tab_to(page.locator(".act button").last)
        keys.press("Enter")
        expect(page.locator("h1")).to_be_focused()
        expect(page.locator("#q3")).to_have_value(words["income"])
        keys.tab_to(review)
        keys.press("Enter")
        expect(heading).to_be_focused()
        # consent, which must be given
        consent = page.locator("#consent")
        keys.tab_to(page.locator("button.main"))
        keys.press("Enter")
        expect(consent).to_be_focused()
        expect(page.locator("#consent-complaint")).not_to_be_empty()
        keys.press("Space")
        expect(consent).to_be_checked()
        keys.tab_to(page.locator("button.main"))
        keys.press("Enter")
        # the report, and the thanks
        expect(page.locator(".cards")).to_be_visible()
        expect(heading).to_be_focused()
        assert not [one for one in visit.sent if one.method == "POST"]
        if size is PHONE:  # once is enough: axe takes its time
            check_access(page)
        keys.tab_to(page.locator(".act button.main"))
        keys.press("Enter")
        expect(page.locator("#receipt")).to_be_focused()
        expect(page.get_by_text(words["thanks"])).to_be_visible()
        if size is PHONE:  # once is enough: axe takes its time
            check_access(page)
        # what the device remembers, and not to forget it
        forget = page.locator("#device .forget > button")
        keys.tab_to(forget)
        keys.press("Enter")
        expect(page.locator("dialog")).to_be_visible()
        keys.press("Escape")
        expect(forget).to_be_focused()
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    assert counted(collector, STUDY) == before + 1


def test_a_page_that_loses_the_focus_would_be_found(browser: Browser, collector: Running) -> None:
    with visiting(browser, collector, locale="en-US", viewport=DESK, bypass_csp=True) as visit:
        page = visit.survey(STUDY)
        keys = Keys(page)
        review = page.locator("main form button[type=submit]")
        page.add_style_tag(content="* { outline: none !important }")
        with pytest.raises(AssertionError, match="submit"):
            keys.tab_to(review)
        review.evaluate("node => node.tabIndex = -1")
        with pytest.raises(AssertionError, match="focused"):
            keys.tab_to(review)


@pytest.fixture(scope="module")
def links(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, dict[str, str]]]:
    """A collector with results, and the tokens of a reader and of an operator."""
    folder: Path = tmp_path_factory.mktemp("links")
    with collecting(folder, [STUDY], "--minimum", "50") as running:
        post(running, STUDY, 200, age=42, income=2500.0)
        tokens = {"reader": draw_token(), "operator": draw_token()}
        store = open_store(f"sqlite:///{folder}/reports.db", create=False)
        for role, token in tokens.items():
            store.access.add(role, role, hash_token(token), Actor("zoe", "shell"))
        store.close()
        yield running, tokens


@pytest.mark.parametrize(("role", "scheme", "size"), [("reader", "light", DESK), ("operator", "dark", PHONE)])
def test_everybody_can_use_the_dashboard_of_a_reader_and_of_an_operator(
    browser: Browser, links: tuple[Running, dict[str, str]], role: str, scheme: str, size: dict[str, int]
) -> None:
    running, tokens = links
    with visiting(browser, running, color_scheme=scheme, viewport=size, bypass_csp=True) as visit:
        page = visit.page
        page.goto(f"{running.url}/dashboard#plan={STUDY.id}&token={tokens[role]}")
        expect(page.get_by_text(f"{role}, {role}")).to_be_visible()
        expect(page.get_by_role("img", name="Estimates of smokes")).to_be_visible()
        check_access(page)
