"""Takes the pictures of the pages in docs/images: `.venv/bin/python docs/screens.py`, with Debian's Chromium.

People answer at random, so that the numbers on the pictures are others every time.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright

import deniable as dn
from deniable import demo

IMAGES = Path(__file__).parent / "images"
PHONE = {"width": 390, "height": 1060}
DESK = {"width": 1200, "height": 1200}
PEOPLE = 3_000
SHARES = {
    "transport": [0.18, 0.17, 0.29, 0.36],
    "smokes": [0.27, 0.73],
    "sleeps": [0.41, 0.59],
    "lonely": [0.22, 0.78],
}
STUDY = """\
title = "Living in town"
epsilon = 1.5

[attributes.vote]
values = ["left", "middle", "right", "none"]
question = "Whom would you vote for?"

[attributes.smokes]
yes_no = true
question = "Do you smoke?"

[attributes.minutes]
low = 0
high = 60
step = 10
question = "How long is your way to work?"
"""


def make_plan() -> dn.Plan:
    """A study of five questions."""
    asked = {
        "transport": ["on foot", "by bicycle", "by bus or train", "by car"],
        "age": dn.Range(18, 90, step=6),
        "smokes": ["yes", "no"],
        "sleeps": ["yes", "no"],
        "lonely": ["yes", "no"],
    }
    texts = {
        "transport": "How do you usually get to work?",
        "age": "How old are you?",
        "smokes": "Do you smoke?",
        "sleeps": "Do you sleep badly?",
        "lonely": "Do you feel lonely?",
    }
    study = dn.Study(asked, epsilon=2.0, title="Health in Belfort", survey=dn.Texts(questions=texts))
    return study.plan(people=PEOPLE)


def draw_people() -> list[dict[str, object]]:
    """Simulated answers."""
    rng = np.random.default_rng(1)
    plan = make_plan()
    labels = {one.name: one.domain.labels for one in plan.document.attributes}
    columns = {
        name: rng.choice(np.array(labels[name], dtype=object), PEOPLE, p=shares)
        for name, shares in SHARES.items()
    }
    ages = np.clip(rng.normal(47, 16, PEOPLE), 18, 89)
    return [
        {"age": float(ages[i])} | {name: str(column[i]) for name, column in columns.items()}
        for i in range(PEOPLE)
    ]


def take_survey(browser: Browser, url: str, folder: Path) -> Iterator[Path]:
    """A question below the guarantee, a look at the report, and the receipt."""
    page = browser.new_page(viewport=PHONE, locale="en-US")  # type: ignore[arg-type]
    page.goto(url)
    expect(page.locator("form .question").first).to_be_visible()
    yield take(page, folder / "question.png")
    for question in page.locator("form .question").all():
        number = question.locator("input[type=text], input[type=number]")
        if number.count():
            number.first.fill("47")
        else:
            question.get_by_role("radio").first.check()
    page.get_by_role("button", name="Review my answers").click()
    page.get_by_role("button", name="Make my report").click()
    page.get_by_role("heading", name="Leaves this device").scroll_into_view_if_needed()
    page.evaluate("window.scrollBy(0, 330)")
    yield take(page, folder / "report.png")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_text("Received, and counted")).to_be_visible()
    page.evaluate("window.scrollTo(0, 0)")
    yield take(page, folder / "receipt.png")


def take(page: Page, file: Path) -> Path:
    """What the window shows now."""
    page.wait_for_timeout(500)
    page.screenshot(path=file)
    return file


def join_pictures(files: list[Path], target: Path) -> None:
    """Side by side, with gray between them."""
    pictures = [Image.open(file).convert("RGB") for file in files]
    gap, height = 20, max(one.height for one in pictures)
    joined = Image.new("RGB", (sum(one.width + gap for one in pictures) - gap, height), "#d9dcd6")
    left = 0
    for one in pictures:
        joined.paste(one, (left, 0))
        left += one.width + gap
    joined.quantize(256).save(target, optimize=True)


@contextmanager
def designing(folder: Path) -> Iterator[str]:
    """The design page of a study, in a process of its own."""
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "deniable.cli",
        "design",
        "study.toml",
        "--people",
        "4000",
        "--no-browser",
    ]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        link = next(found[0] for line in process.stdout if (found := re.search(r"http://\S+", line)))
        try:
            yield link
        finally:
            process.terminate()


def main() -> None:
    """Take all pictures."""
    plan = make_plan()
    with sync_playwright() as played, TemporaryDirectory() as made:
        folder = Path(made)
        browser = played.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        with demo.collecting(plan, folder, 0) as collector:
            demo.answer(plan, draw_people(), collector.url, folder, lambda *_: None)
            page = browser.new_page(viewport=DESK, locale="en-US")  # type: ignore[arg-type]
            page.goto(collector.dashboard)
            expect(page.get_by_role("img").first).to_be_visible(timeout=60_000)
            page.wait_for_timeout(2000)
            join_pictures([take(page, folder / "dashboard.png")], IMAGES / "dashboard.png")
            join_pictures(list(take_survey(browser, collector.url, folder)), IMAGES / "survey.png")
        with designing(folder) as link:
            page = browser.new_page(viewport={"width": 1280, "height": 1000}, locale="en-US")
            page.goto(link)
            expect(page.locator(".known").nth(2)).to_be_visible(timeout=60_000)
            page.locator("summary", has_text="vote").first.click()
            join_pictures([take(page, folder / "design.png")], IMAGES / "design.png")
        browser.close()


if __name__ == "__main__":
    main()
