"""A place on a map, and only drawn questions, in a real browser at phone and desk width."""

from __future__ import annotations

import json
import re

from playwright.sync_api import Browser, Locator, Page, expect

import deniable as dn
from tests.collect.journeys import EXAMPLES, PHONE, check_access, visiting
from tests.collector import Running

ISLAND = dn.Study.read(EXAMPLES / "island.toml").plan(people=1000)
DRAWN = dn.Study(
    {
        "vote": ["left", "right", "none"],
        "smokes": ["yes", "no"],
        "town": ["A", "B", "C", "D"],
    },
    epsilon=1.0,
    title="Three questions",
    mechanism="sample",
    importance={"vote": 20},
    ask="sampled",
).plan(people=1000)
PLANS = [ISLAND, DRAWN]


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
