"""The design page in a real browser, at phone and desk width, served by `deniable design`."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import tomllib
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from deniable.collect.serving import listen
from deniable.commands.design import _open_browser as open_browser
from deniable.design import app
from tests.collect.journeys import DESK, PATIENCE, PHONE, check_colors
from tests.design.samples import KINDS, TEXT
from tests.running import Run


@contextmanager
def designing(file: Path) -> Iterator[str]:
    """The server of `deniable design` in this process, which starts sooner; its link."""
    with listen("127.0.0.1", 0) as taken:
        designer = app.make_designer(file, None, taken)
        server = app.make_server(designer)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [taken]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{taken.getsockname()[1]}/{designer.token}/"
        finally:
            server.should_exit = True
            thread.join(30)
    assert not thread.is_alive()


@contextmanager
def designing_apart(file: Path) -> Iterator[str]:
    """`deniable design` in a process of its own, ended by Ctrl+C; its link."""
    command = [sys.executable, "-m", "deniable.cli", "design", str(file), "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().split()[1]
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@contextmanager
def opened(browser: Browser, link: str, **options: Any) -> Iterator[Page]:
    """A page, and what must not happen on it."""
    problems: list[str] = []
    with browser.new_context(locale="en-US", **options) as context:
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda problem: problems.append(str(problem)))
        page.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(link)
        yield page
        page.goto("about:blank")
    assert [one for one in problems if not re.search(r"Failed to load resource.* 4\d\d", one)] == []
    assert [one for one in asked if not one.startswith((link, "about:", "data:"))] == []


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "study.toml"
    found.write_text(TEXT, encoding="utf-8")
    return found


def tab_to(page: Page, wanted: str) -> None:
    """Press Tab until the element with this id has the focus."""
    for _ in range(80):
        if page.evaluate("document.activeElement.id") == wanted:
            return
        page.keyboard.press("Tab")
    pytest.fail(f"the Tab key never comes to {wanted}")


def id_of(page: Page, name: str) -> str:
    """The id of the question with this short name, as the page counts them."""
    short = page.locator("summary strong", has_text=re.compile(f"^{name}$"))
    return str(short.get_attribute("id")).removesuffix("-short")


@pytest.mark.long
def test_a_study_is_made_from_nothing_with_the_keyboard_alone(
    browser: Browser, tmp_path: Path, run: Run
) -> None:
    """And its numbers are those of the shell; then it is read back."""
    file = tmp_path / "study.toml"
    with designing_apart(file) as link, opened(browser, link, viewport=PHONE) as page:
        press, write = page.keyboard.press, page.keyboard.type
        expect(page.get_by_text("A study asks at least one question")).to_be_visible()
        expect(page.locator("#session")).to_contain_text("Cannot be saved yet: it has no question")
        tab_to(page, "title")
        write("Votes & habits")
        tab_to(page, "add-choice")
        press("Enter")
        write("vote")  # over the name that was proposed
        press("Tab")
        press("Tab")
        write("Whom would you vote for?")
        press("Tab")
        write("left\nmiddle")
        press("Enter")
        write("right")
        first = page.locator(".asked").first
        expect(first.locator(".verdict")).to_have_text(re.compile(r"± \d+ points: useful"))
        tab_to(page, "add-yesno")
        press("Enter")
        write("smokes")
        tab_to(page, f"{id_of(page, 'smokes')}-up")
        press("Enter")
        expect(page.locator(".asked strong")).to_have_text(["smokes", "vote"])
        expect(page.locator(f"#{id_of(page, 'smokes')}-up")).to_be_focused()
        known = page.locator(".known .margin").first
        expect(known).to_contain_text("points")
        before = known.inner_text()
        tab_to(page, "people-slider")
        for _ in range(30):
            press("ArrowRight")
        expect(known).not_to_have_text(before)
        before, guess = known.inner_text(), page.locator(".attack .margin").first.inner_text()
        tab_to(page, "epsilon-slider")
        for _ in range(10):
            press("ArrowRight")
        expect(known).not_to_have_text(before)
        expect(page.locator(".attack .margin").first).not_to_have_text(guess)
        people = int(page.locator("#people").input_value())
        epsilon = float(page.locator("#epsilon").input_value())
        assert people > 2000
        assert epsilon > 1
        page.wait_for_selector(".figures-of[aria-busy=false]")
        press("Control+s")
        expect(page.get_by_text("Saved in study.toml", exact=True)).to_be_visible()
        assert tomllib.loads(file.read_text(encoding="utf-8")) == {
            "title": "Votes & habits",
            "epsilon": epsilon,
            "attributes": {
                "smokes": {"yes_no": True},
                "vote": {"values": ["left", "middle", "right"], "question": "Whom would you vote for?"},
            },
        }
        found = json.loads(run("people", str(file), "--people", str(people), "--json").out)
        shown = page.locator(".known")
        for i, one in enumerate(found["questions"]):
            expect(shown.nth(i)).to_contain_text(one["sentence"])
            expect(shown.nth(i)).to_contain_text(one["attribute"])
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.reload()
        expect(page.locator("#title")).to_have_value("Votes & habits")
        expect(page.locator("#people")).to_have_value(str(people))
        expect(page.locator("#epsilon")).to_have_value(f"{epsilon:g}")
        expect(page.locator(".asked strong")).to_have_text(["smokes", "vote"])
        expect(shown).to_have_count(2)


def test_a_file_is_changed_and_all_else_in_it_stays(browser: Browser, file: Path) -> None:
    with designing(file) as link, opened(browser, link, viewport=DESK) as page:
        page.locator(".asked > summary", has_text="smokes").click()
        asked = page.get_by_label("What people are asked").first
        expect(asked).to_have_value("Do you smoke?")
        expect(page.locator(".asked").first.get_by_text("Also in: de.")).to_be_visible()
        asked.fill("Do you smoke now?")
        expect(page.get_by_text("Not saved yet")).to_be_visible()
        page.locator("#epsilon").fill("1.5")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_text("Saved in study.toml", exact=True)).to_be_visible()
        wanted = TEXT.replace("Do you smoke?", "Do you smoke now?").replace("epsilon = 2.0", "epsilon = 1.5")
        assert file.read_text(encoding="utf-8") == wanted
        file.write_text(TEXT.replace("by hand", "by another hand"), encoding="utf-8")
        page.get_by_text("What the survey says").click()
        page.get_by_label("Each person is asked").select_option("sampled")
        page.locator("#title").fill("City")
        page.get_by_role("button", name="Save").click()
        page.get_by_role("button", name="Cancel").click()
        assert "City" not in file.read_text(encoding="utf-8")
        page.get_by_role("button", name="Save").click()
        page.get_by_role("button", name="Write mine over it").click()
        expect(page.get_by_text("Saved in study.toml", exact=True)).to_be_visible()
        text = file.read_text(encoding="utf-8")
        assert "by another hand" in text
        assert 'title = "City"' in text
        assert tomllib.loads(text)["survey"]["ask"] == "sampled"


@pytest.mark.long
def test_the_survey_is_shown_and_sends_nothing(browser: Browser, file: Path) -> None:
    sent: list[str] = []
    text = TEXT.partition("[attributes.age]")[0] + TEXT[TEXT.index("[survey]") :]
    file.write_text(text, encoding="utf-8")
    with designing(file) as link, opened(browser, link, viewport=DESK) as page:
        page.on("request", lambda one: sent.append(one.url) if one.method != "GET" else None)
        survey = page.frame_locator("iframe")
        expect(survey.get_by_text("Three questions.")).to_be_visible()
        survey.get_by_label("yes", exact=True).check()
        survey.get_by_role("button", name="Review my answers").click()
        survey.get_by_role("button", name="Make my report").click()
        survey.get_by_role("button", name="Send").click()
        expect(survey.get_by_text(re.compile("This is a preview: nothing is sent"))).to_be_visible()
        assert [url for url in sent if "/survey/" in url] == []
        assert page.evaluate("localStorage.length + sessionStorage.length") == 0
        page.locator("#title").fill("Another title")
        expect(survey.get_by_role("heading", level=1)).to_have_text("Another title")


@pytest.mark.long
def test_everybody_can_use_the_page(browser: Browser, file: Path) -> None:
    file.write_text(KINDS, encoding="utf-8")
    with designing(file) as link, opened(browser, link, viewport=DESK, bypass_csp=True) as page:
        expect(page.locator(".share").first).to_be_visible()
        page.locator("#add-choice").click()
        expect(page.locator(".complaint.open").last).to_be_visible()
        page.get_by_label("Answers, one per line").last.focus()
        page.locator("#title").focus()
        expect(page.locator("[aria-invalid=true]").first).to_be_visible()
        page.get_by_label("Texts below are in").select_option("de")
        for one in page.locator("main details > summary").all():
            if one.evaluate("node => !node.parentElement.open"):
                one.click()
        check_colors(page)
        expect(page.locator(".asked").first.locator(".complaint:not(:empty)")).to_have_count(0)
        page.set_viewport_size(PHONE)
        page.get_by_label("People are asked", exact=True).select_option("again")
        expect(page.get_by_label("Epsilon of any number of reports")).to_be_visible()
        check_colors(page)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_browser_for_terminals_is_not_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    opened_by: list[str] = []
    for kind in (webbrowser.BackgroundBrowser, webbrowser.GenericBrowser):
        monkeypatch.setattr(kind, "open", lambda one, link: opened_by.append(f"{one.name} {link}"))
        monkeypatch.setattr(webbrowser, "get", lambda kind=kind: kind("see"))
        open_browser("http://127.0.0.1:1/token/")
    assert opened_by == ["see http://127.0.0.1:1/token/"]


def test_no_browser_is_opened_for_what_is_no_study(run: Run, tmp_path: Path) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text("epsilon = = 1\n", encoding="utf-8")
    for name, words in (("broken.toml", "not valid TOML"), ("study.json", "ending in .toml")):
        done = run("design", str(tmp_path / name), "--no-browser")
        assert done.code in (1, 2)
        assert words in done.err
        assert done.out == ""
    assert os.listdir(tmp_path) == ["broken.toml"]
