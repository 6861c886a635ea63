"""A place on a map, and only drawn questions, in a real browser at phone and desk width."""

from __future__ import annotations

import json
import re
import secrets
from pathlib import Path

import httpx
from playwright.sync_api import Browser, Locator, Page, expect

import deniable as dn
from deniable.wire import Report, Wire
from tests.collect.journeys import DESK, EXAMPLES, PHONE, check_access, visiting
from tests.collector import BINARY, TOKEN, Running, collecting

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


def test_the_map_is_used_with_the_keyboard_alone(browser: Browser, collector: Running) -> None:
    with visiting(browser, collector, viewport=PHONE) as visit:
        page = visit.survey(ISLAND)
        drawing = page.locator(".box")
        expect(page.locator("#device")).to_be_visible()  # nothing moves any more
        drawing.focus()
        before = str(drawing.get_attribute("viewBox"))
        page.keyboard.press("+")
        expect(drawing).not_to_have_attribute("viewBox", before)
        expect(page.get_by_role("button", name="Zoom out")).to_be_enabled()
        page.keyboard.press("-")
        expect(drawing).to_have_attribute("viewBox", before)
        expect(page.get_by_role("button", name="Zoom out")).to_be_disabled()
        page.keyboard.press("ArrowRight")  # the middle
        expect(page.locator("#q0-longitude")).not_to_have_value("")
        start = page.locator("#q0-longitude").input_value()
        for _ in range(3):
            page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowUp")
        assert round(float(page.locator("#q0-longitude").input_value()) - float(start), 3) == 0.12
        for _ in range(8):
            page.keyboard.press("+")
        for _ in range(20):
            page.keyboard.press("ArrowLeft")  # to the edge; the view follows
        [cell], [frame] = boxes(page.locator(".box .chosen")), boxes(drawing)
        assert frame["x"] - 2 <= cell["x"] <= frame["x"] + frame["width"]
        assert cell_pixels(page) >= 24
        expect(page.get_by_role("button", name="Zoom in")).to_be_disabled()


def test_a_zoomed_map_is_dragged_and_a_drag_chooses_nothing(browser: Browser, collector: Running) -> None:
    with visiting(browser, collector, viewport=DESK) as visit:
        page = visit.survey(ISLAND)
        expect(page.locator("#device")).to_be_visible()  # nothing moves any more
        for _ in range(2):
            page.get_by_role("button", name="Zoom in").click()
        page.locator(".box").scroll_into_view_if_needed()
        [frame] = boxes(page.locator(".box"))
        before = page.locator(".box").get_attribute("viewBox")
        x, y = frame["x"] + frame["width"] / 2, frame["y"] + frame["height"] / 2
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x - 80, y - 40, steps=4)
        page.mouse.up()
        expect(page.locator(".box")).not_to_have_attribute("viewBox", str(before))
        expect(page.locator("#q0-latitude")).to_have_value("")


def test_the_dashboard_draws_the_same_outline(browser: Browser, collector: Running) -> None:
    wire, people = Wire(ISLAND), [{"beach": (54.1 + i % 20 / 100, 10.4)} for i in range(200)]
    made = wire.bodies(ISLAND.privatize(people, dn.seeded(1)))
    reports = [Report(wire.prefix, 1, secrets.token_bytes(16), body).to_bytes() for body in made]
    batch = b"".join(len(raw).to_bytes(4, "little") + raw for raw in reports)
    answer = httpx.post(f"{collector.url}/reports/batch", content=batch, headers=BINARY, timeout=30)
    assert answer.json()["counted"] == 200
    with visiting(browser, collector, viewport=DESK) as visit:
        page = visit.page
        page.goto(f"{collector.url}/dashboard#plan={ISLAND.id}&token={TOKEN}")
        expect(page.locator("svg.map .outline")).to_be_visible()
        [outline], [frame] = (boxes(page.locator(one)) for one in ("svg.map .outline", "svg.map"))
        assert 0.5 < outline["width"] / frame["width"] < 1
        expect(page.locator("svg.map .towns text", has_text="Southport")).to_have_count(1)
        placed, numbers = boxes(page.locator("svg.map .towns text")), boxes(page.locator("svg.map .block"))
        assert not any(overlap(town, number) for town in placed for number in numbers)


def test_the_legend_of_a_map_tells_what_is_too_noisy_from_nothing(browser: Browser, tmp_path: Path) -> None:
    metric = dn.metric.per_meter(level=1.0, radius=8000)
    beach = dn.Grid(54, 10, 54.4, 10.8, rows=4, columns=4, epsilon=metric)
    plan = dn.Study({"beach": beach}).plan(people=1000)
    with collecting(tmp_path, [plan]) as running:
        wire = Wire(plan)
        made = wire.bodies(plan.privatize([{"beach": (54.15, 10.35)}] * 400, dn.seeded(1)))
        reports = [Report(wire.prefix, 1, secrets.token_bytes(16), body).to_bytes() for body in made]
        batch = b"".join(len(raw).to_bytes(4, "little") + raw for raw in reports)
        assert httpx.post(f"{running.url}/reports/batch", content=batch, headers=BINARY).is_success
        rows = running.get(f"/plans/{plan.id}/estimates", round=1).json()["rows"]
        noisy = [row["noisy"] for row in rows]
        assert 0 < sum(noisy) < len(noisy)
        with visiting(browser, running, viewport=DESK) as visit:
            page = visit.page
            page.goto(f"{running.url}/dashboard#plan={plan.id}&token={TOKEN}")
            expect(page.locator(".legend")).to_contain_text("too noisy to read")
            fills = page.locator("svg.map .cell").evaluate_all(
                "all => all.map(one => [getComputedStyle(one).fill, getComputedStyle(one).fillOpacity])"
            )
            gray = {tuple(fill) for fill, is_noisy in zip(fills, noisy, strict=True) if is_noisy}
            assert len(gray) == 1
            assert not gray & {
                tuple(fill) for fill, is_noisy in zip(fills, noisy, strict=True) if not is_noisy
            }
            expect(page.locator("figcaption")).to_contain_text("Gray is too noisy to read.")


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
