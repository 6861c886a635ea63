"""What journeys through the pages share: sizes of windows, a browser of its own for each, and helpers.

One Chromium and two collectors serve all journeys of a process: the fixtures `browser`, `collector` and
`closed`. The plans of the open collector are those in `PLANS` of the modules that conftest.py names. A
journey that counts reports or closes rounds has a plan of its own, or counts from what was there before.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Literal, final

import pytest

from deniable.client import DEFAULT_CAP
from deniable.plan import NANO
from deniable.study import Plan
from tests.collector import HTTP, OPERATOR, TOKEN, Running, post_people
from tests.services import chromium, missing

if find_spec("playwright") is None and os.environ.get("CI") != "true":
    pytest.skip("playwright is not installed", allow_module_level=True)
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    ViewportSize,
    expect,
    sync_playwright,
)

SOURCES = Path(__file__).parents[2] / "js" / "pages"
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
PATIENCE = 20_000  # milliseconds: a busy machine is slow, and nothing waits that long where it works
expect.set_options(timeout=PATIENCE)
PHONE: ViewportSize = {"width": 360, "height": 640}
DESK: ViewportSize = {"width": 1200, "height": 900}
COLORS = ["red", "orange", "yellow", "green", "blue", "violet", "black", "white"]
COLOR_RULES = ("color-contrast", "link-in-text-block")
"""Rules of axe that are about colors. All others are the same in the dark."""


def launch() -> Iterator[Browser]:
    with sync_playwright() as started:
        opened = started.chromium.launch(executable_path=chromium(), args=FLAGS)
        yield opened
        opened.close()


@final
class Visit:
    """A browser of its own, and what must not happen in it."""

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.context, self.url = context, url
        self.problems: list[str] = []
        self.sent: list[Request] = []
        self.page = self.open()

    def open(self) -> Page:
        page = self.context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("console", self._said)
        page.on("pageerror", lambda problem: self.problems.append(str(problem)))
        page.on("request", lambda request: self.sent.append(request))
        return page

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.problems.append(message.text)

    def survey(self, plan: Plan, more: str = "") -> Page:
        self.page.goto("about:blank")
        if max(plan.stated.record, (plan.stated.repeated or (0, 0, 0))[2] or 0) > DEFAULT_CAP * NANO:
            self.allow(1000)
        self.page.goto(f"{self.url}/#plan={plan.id}{more}")
        return self.page

    def allow(self, cap: float) -> None:
        """Set the limit of this browser, from the next page on."""
        set_cap = f"localStorage.setItem('deniable.cap', '{cap}')"
        self.context.add_init_script(f"if (location.protocol !== 'about:') {set_cap}")

    def dashboard(self, plan: Plan) -> Page:
        self.page.goto("about:blank")
        self.page.goto(f"{self.url}/dashboard#plan={plan.id}&token={TOKEN}")
        return self.page

    def check(self) -> None:
        """Refusals that the collector answers with a 4xx are the only complaints, and nothing was asked of
        anybody else.
        """
        refused = r"Failed to load resource.* (4\d\d|ERR_INTERNET)"
        problems = [text for text in self.problems if not re.match(refused, text)]
        assert not problems, problems
        own = (self.url, "about:", "blob:", "data:")
        others = [one.url for one in self.sent if not one.url.startswith(own)]
        assert not others, others


@contextmanager
def visiting(browser: Browser, collector: Running, **options: Any) -> Iterator[Visit]:
    with browser.new_context(**options) as context:
        visit = Visit(context, collector.url)
        yield visit
        for page in context.pages:  # what a route still answers would fail in the next test
            page.unroute_all(behavior="wait")
        context.unroute_all(behavior="wait")
        visit.check()


def post(collector: Running, plan: Plan, n: int, number: int = 1, **given: Any) -> None:
    """Reports of n people, all of whom give the first answer to everything, or this one, or these in turn."""
    answers: dict[str, Any] = {
        one.name: one.domain.labels[0] for one in plan.document.attributes if one.domain.labels
    }
    lists = {name: each if isinstance(each, list) else [each] for name, each in (answers | given).items()}
    post_people(collector, plan, {name: [*islice(cycle(each), n)] for name, each in lists.items()}, number, n)


def look(page: Page) -> None:
    """As when the tab is shown again: the dashboard does not wait for its next turn."""
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


def look_through(page: Page) -> None:
    """The same, until the page has drawn what it found."""
    page.evaluate(
        "() => new Promise(shown => { const updated = document.querySelector('#session span');"
        " new MutationObserver(() => requestAnimationFrame(shown)).observe(updated, {childList: true});"
        " document.dispatchEvent(new Event('visibilitychange')) })"
    )


def counted(collector: Running, plan: Plan, number: int = 1) -> int:
    return int(collector.metrics().get(f'deniable_reports{{plan="{plan.id}",round="{number}"}}', 0))


def set_round(collector: Running, plan: Plan, number: int, closes: str | None) -> None:
    body = json.dumps({"opens": None, "closes": closes})
    answer = HTTP.put(f"{collector.url}/plans/{plan.id}/rounds/{number}", content=body, headers=OPERATOR)
    assert answer.status_code == 200, answer.text


def make(page: Page) -> None:
    page.get_by_role("button", name="Review my answers").click()
    expect(page.get_by_role("heading", name="Your answers", exact=True)).to_be_focused()
    page.get_by_role("button", name="Make my report").click()
    expect(page.get_by_role("heading", name="Look before you send")).to_be_focused()


def unfold(page: Page) -> None:
    """Show the promise in full."""
    more = page.locator(".promise .more")
    if more.get_attribute("open") is None:
        more.locator("summary").first.click()


def send(page: Page) -> None:
    page.get_by_role("button", name=re.compile("^Send")).click()
    expect(page.get_by_role("heading", name="Received")).to_be_focused()


def entries(page: Page) -> list[dict[str, Any]]:
    found = page.evaluate("localStorage.getItem('deniable')")
    return list(json.loads(found)["entries"]) if found else []


def check_access(page: Page, only: Sequence[str] = ()) -> None:
    """Whoever uses a screen reader or sees little contrast can use the page, by all rules or by some."""
    axe = SOURCES / "node_modules" / "axe-core" / "axe.min.js"
    if not axe.exists():
        missing("axe-core is not installed", "make test-js installs it")
    if not page.evaluate("'axe' in window"):  # the page may be the same as before
        page.add_script_tag(path=axe)
    options: dict[str, Any] = {"resultTypes": ["violations"]}
    options |= {"runOnly": {"type": "rule", "values": list(only)}} if only else {}
    found = page.evaluate("async options => (await axe.run(options)).violations", options)
    violations = [
        (one["id"], [node["target"] for node in one["nodes"]]) for one in found if one["impact"] != "minor"
    ]
    assert not violations, violations


def check_colors(page: Page) -> None:
    """Check everything as it is, and colors in the dark too."""
    check_access(page)
    _shine(page, "dark")
    check_access(page, COLOR_RULES)
    _shine(page, "light")


def _shine(page: Page, scheme: Literal["dark", "light"]) -> None:
    """Change the colors, until none is on its way any more."""
    page.emulate_media(color_scheme=scheme)
    page.evaluate("new Promise(requestAnimationFrame)")
    page.evaluate("document.getAnimations().filter(one => one.transitionProperty).map(one => one.finish())")


def open_all(page: Page) -> None:
    """All that is folded, once the page has all of it."""
    expect(page.locator("#device")).to_be_visible()
    for one in page.locator("summary").all():
        one.click()
