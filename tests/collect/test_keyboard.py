"""A whole survey by the keyboard alone; and axe-core on the dashboard of a reader."""

from __future__ import annotations

from typing import final

from playwright.sync_api import Browser, Locator, Page, expect

import deniable as dn
from tests.collect.journeys import COLORS, DESK, check_access, counted, visiting
from tests.collector import Running

FARTHEST = 30
"""Times that Tab is pressed to reach something: no page here has more to stop at."""

STUDY = dn.Study(
    {
        "smokes": ["yes", "no", "sometimes"],
        "color": COLORS,
        "age": dn.Range(0, 100, step=10),
        "income": dn.Number(0, 100_000),
        "media": dn.Several(["tv", "radio"]),
    },
    epsilon=2.0,
    mechanism="split",
    missing="random",
    title="Health",
    survey=dn.Texts(
        introduction="Four questions.",
        consent="I take part freely.",
        responsible="The institute",
        contact="study@example.org",
        thanks="Thanks a lot.",
        questions={"smokes": "Do you smoke?", "color": "Which color?"},
    ),
).plan(people=1000)
PLANS = [STUDY]


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


def test_a_whole_survey_by_the_keyboard_alone(browser: Browser, collector: Running) -> None:
    before = counted(collector, STUDY)
    with visiting(browser, collector, locale="en-US", viewport=DESK, bypass_csp=True) as visit:
        page = visit.survey(STUDY)
        keys = Keys(page)
        main, heading = page.locator("main"), page.locator("main h2[tabindex]")
        smokes = page.get_by_role("group", name="Do you smoke?")
        expect(smokes).to_be_visible()
        expect(page.locator("#device")).to_be_visible()
        assert page.evaluate("document.documentElement.lang") == "en"
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
        check_access(page)
        keys.press("Space", "ArrowDown", "ArrowDown")
        expect(smokes.get_by_label("sometimes")).to_be_checked()
        keys.tab_to(page.get_by_label("Which color?"))
        keys.press("g")
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
        keys.type("2,500")
        keys.tab_to(page.get_by_label("radio", exact=True))
        keys.press("Space", "Enter")
        # the review, back to the questions, and again
        expect(heading).to_be_focused()
        expect(page.locator(".review dd")).to_have_count(5)
        expect(page.locator(".review dd").nth(1)).to_have_text("green")
        expect(page.locator(".review dd > bdi").nth(3)).to_have_text("2,500")
        expect(page.locator(".review dd > bdi").last).to_have_text("radio")
        keys.tab_to(page.locator(".act button").last)
        keys.press("Enter")
        expect(page.locator("h1")).to_be_focused()
        expect(page.locator("#q3")).to_have_value("2,500")
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
        check_access(page)
        keys.tab_to(page.locator(".act button.main"))
        keys.press("Enter")
        expect(page.locator("#receipt")).to_be_focused()
        expect(page.get_by_text("Thanks a lot.")).to_be_visible()
        check_access(page)
        # what the device remembers, and not to forget it
        forget = page.locator("#device .forget > button")
        keys.tab_to(forget)
        keys.press("Enter")
        expect(page.locator("dialog")).to_be_visible()
        keys.press("Escape")
        expect(forget).to_be_focused()
        assert page.evaluate("document.documentElement.scrollWidth") <= DESK["width"]
    assert counted(collector, STUDY) == before + 1
