"""What a survey loads, in a real browser; and files that are sent compressed."""

from __future__ import annotations

import gzip
import http.client
import socket
from dataclasses import dataclass
from typing import final

import pytest
from playwright.sync_api import Browser, expect

import deniable as dn
from deniable.collect.files import FOLDER, accepts_gzip, read_files
from tests.cases import check_each
from tests.collect.journeys import Visit, visiting
from tests.collector import HTTP, OPERATOR, Running

MOST = 120_000
"""Bytes of all that a survey loads, as they are sent."""
LANGUAGES = {"en": "en-US", "de": "de-DE", "fr": "fr-FR", "es": "es-ES", "pt": "pt-PT"}

PLAIN = dn.Study(
    {"smokes": ["yes", "no"], "color": ["red", "green", "blue"], "age": dn.Range(0, 100, step=10)},
    epsilon=1.0,
    title="Plain",
    survey=dn.Texts(
        introduction={"en": "Three questions.", "de": "Drei Fragen."},
        consent={"en": "I agree.", "de": "Ich stimme zu."},
    ),
).plan(people=1000)
MANY = dn.Study(
    {
        "works": {"yes_no": True},
        "hours": dn.Range(0, 60, step=20),
        "media": dn.Several(["tv", "radio", "web"]),
        "mood": dn.Range.scale(1, 7),
        "income": dn.Number(0, 10_000),
    },
    epsilon=2.0,
    title="Many kinds",
    only_if={"hours": {"works": "yes"}},
    survey=dn.Texts(questions={"works": {"en": "Do you work?", "de": "Arbeiten Sie?"}}),
).plan(people=1000)
PLACES = dn.Study(
    {
        "smokes": ["yes", "no"],
        "age": dn.Range(0, 100, step=1, privacy="metric", epsilon=0.1),
        "income": dn.Number(0, 10_000),
        "home": dn.Grid(
            47.60, 6.80, 47.70, 6.95, rows=8, columns=10, epsilon=dn.metric.per_meter(level=1.0, radius=1000)
        ),
    },
    epsilon=2.0,
    mechanism="split",
    title="Places",
).plan(people=1000)
TEXT = dn.Study(
    {"site": dn.Text("a-z0-9.-", longest=10), "smokes": ["yes", "no"]}, epsilon=2.0, title="Sites"
).plan(people=10_000)
PLANS = [PLAIN, MANY, PLACES, TEXT]


@final
@dataclass(frozen=True)
class Load:
    """Files of the pages that were asked for: their names, and their bytes."""

    names: tuple[str, ...]
    sent: int
    raw: int


def load(visit: Visit, plan: dn.Plan) -> Load:
    """Open the survey of a plan, and count what it loads."""
    page = visit.survey(plan)
    expect(page.locator("form .question").first).to_be_visible()
    expect(page.locator("#device")).to_be_visible()  # all has been loaded
    entries = page.evaluate(
        "performance.getEntriesByType('resource').filter(one => one.name.includes('/assets/'))"
        ".map(one => [one.name, one.encodedBodySize, one.decodedBodySize])"
    )
    names = tuple(sorted(name.rpartition("/")[2] for name, _, _ in entries))
    return Load(names, sum(sent for _, sent, _ in entries), sum(raw for _, _, raw in entries))


@pytest.mark.parametrize(("plan", "language"), [(MANY, "de"), (PLACES, "en"), (TEXT, "en")])
def test_a_survey_loads_three_small_files(
    browser: Browser, collector: Running, plan: dn.Plan, language: str
) -> None:
    with visiting(browser, collector, locale=LANGUAGES[language]) as visit:
        loaded = load(visit, plan)
    assert loaded.names == tuple(sorted((f"{language}.json", "pages.css", "survey.js")))
    assert loaded.sent <= MOST, loaded
    assert loaded.raw > 2 * loaded.sent, "it is sent compressed"


def test_every_language_is_small() -> None:
    """With tickets, which only some studies load, and with the page itself."""
    for language in LANGUAGES:
        names = ("survey.html", "survey.js", "pages.css", "tickets.js", f"{language}.json")
        assert sum(len(gzip.compress((FOLDER / name).read_bytes())) for name in names) < MOST
        assert "<" not in (FOLDER / f"{language}.json").read_text(encoding="utf-8")  # no HTML


def answer(visit: Visit) -> None:
    page = visit.page
    page.get_by_label("yes", exact=True).check()
    page.get_by_label("red", exact=True).check()
    page.locator("#q2").fill("42")
    page.locator("main form button.main").click()


def test_who_loses_the_connection_while_answering_goes_on(browser: Browser, collector: Running) -> None:
    with visiting(browser, collector, locale="en-US") as visit:
        page = visit.survey(PLAIN)
        expect(page.locator("#device")).to_be_visible()
        visit.context.set_offline(True)
        answer(visit)
        page.locator("#consent").check()
        page.locator("button.main").click()
        expect(page.get_by_role("heading", name="Look before you send")).to_be_focused()


# What is sent compressed.


def ask(collector: Running, path: str, *lines: str, method: str = "GET") -> http.client.HTTPResponse:
    """Over a socket of our own, since a client would add headers and undo the encoding."""
    host, port = collector.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as raw:
        request = [f"{method} {path} HTTP/1.1", "Host: x", "Connection: close", *lines, "", ""]
        raw.sendall("\r\n".join(request).encode())
        answer = http.client.HTTPResponse(raw, method=method)
        answer.begin()
        answer.body = answer.read()  # type: ignore[attr-defined]
    return answer


def test_files_of_the_pages_are_sent_compressed(collector: Running) -> None:
    for name, file in read_files().items():
        path = f"/assets/{name}"
        plain, packed = ask(collector, path), ask(collector, path, "Accept-Encoding: br, gzip")
        assert gzip.decompress(packed.body) == plain.body == file.content  # type: ignore[attr-defined]
        assert (plain.headers["content-encoding"], packed.headers["content-encoding"]) == (None, "gzip")
        assert plain.headers["etag"] != packed.headers["etag"]
        assert int(packed.headers["content-length"]) == len(packed.body)  # type: ignore[attr-defined]
        for answer in (plain, packed):
            assert answer.headers["vary"] == "accept-encoding"
            assert answer.headers["content-type"] == file.kind
    path = "/assets/survey.js"
    etag = ask(collector, path, "Accept-Encoding: gzip").headers["etag"]
    again = ask(collector, path, "Accept-Encoding: gzip", f"If-None-Match: {etag}")
    said = again.status, again.headers["vary"], again.headers["content-encoding"]
    assert said == (304, "accept-encoding", None)
    # a copy in the other encoding is not the same
    assert ask(collector, path, f"If-None-Match: {etag}").status == 200
    head = ask(collector, path, "Accept-Encoding: gzip", method="HEAD")
    assert (head.status, head.headers["content-encoding"]) == (200, "gzip")


def test_nothing_else_is_compressed(collector: Running) -> None:
    """The length of a compressed answer tells something of what is in it."""
    paths = ["/plans", f"/plans/{PLAIN.id}", "/metrics", "/openapi.json", f"/plans/{PLAIN.id}/estimates"]
    for path in paths:
        answer = HTTP.get(f"{collector.url}{path}", headers=OPERATOR | {"Accept-Encoding": "gzip"})
        assert "content-encoding" not in answer.headers


def test_what_a_browser_accepts() -> None:
    accepted = {
        "gzip": True,
        "GZIP": True,
        "br, gzip;q=0.5, *;q=0": True,
        "*": True,
        "deflate, *;q=0.1": True,
        "": False,
        "identity": False,
        "br": False,
        "gzip;q=0": False,
        "gzip;q=0.000, *": False,
        "*;q=0": False,
        "gzip;q=much": False,
        "x-gzip": False,
    }

    def check(case: tuple[str, bool]) -> None:
        header, expected = case
        assert accepts_gzip(header) is expected

    check_each(check, [(repr(header), (header, expected)) for header, expected in accepted.items()])
