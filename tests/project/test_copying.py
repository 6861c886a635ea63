"""Examples of the site are copied as they are typed, without prompts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

THEME = Path(__file__).parents[2] / "docs" / "theme"
PYTHON = (
    '<span class="gp">&gt;&gt;&gt; </span>for k in (2, 3):\n'
    '<span class="gp">... </span>    print(k)\n'
    '<span class="go">2</span>\n<span class="go">3</span>\n'
    '<span class="gp">&gt;&gt;&gt; </span>k\n<span class="go">3</span>\n'
)
SHELL = "$ deniable verify plan.json\nOK\n$ deniable estimate plan.json reports.parquet\n...\n"
PLAIN = "[objective]\nsuccess_cap = 0.2\n"


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page with three examples, as the site has them."""
    opened = browser.new_page()
    blocks = [
        f'<div class="highlight"><pre><code>{text}</code></pre></div>' for text in (PYTHON, SHELL, PLAIN)
    ]
    opened.set_content("".join(blocks))
    opened.add_style_tag(path=THEME / "copying.css")
    opened.add_script_tag(path=THEME / "copying.js")
    yield opened
    opened.close()


def test_the_button_copies_what_is_typed(page: Page) -> None:
    copied = page.evaluate("[...document.querySelectorAll('code')].map((one) => one.dataset.copy ?? null)")
    python = "for k in (2, 3):\n    print(k)\nk"
    shell = "deniable verify plan.json\ndeniable estimate plan.json reports.parquet"
    assert copied == [python, shell, None]


def test_a_selection_has_no_prompts(page: Page) -> None:
    selected = page.evaluate(
        """() => {
          const range = document.createRange();
          range.selectNodeContents(document.querySelector("code"));
          getSelection().removeAllRanges();
          getSelection().addRange(range);
          return getSelection().toString();
        }"""
    )
    assert ">>>" not in selected
    assert "for k in (2, 3):\n    print(k)\n" in selected
