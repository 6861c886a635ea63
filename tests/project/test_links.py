"""Links of the documents lead to pages and headings that are there, and the site lists every page."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("spec/*.md"), *ROOT.glob("papers/docs/*.md")]
_CODE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_MADE = re.compile(r"gallery/[\w-]+\.md")  # pages that `make docs` writes


def prose_of(page: Path) -> str:
    return _CODE.sub("", page.read_text(encoding="utf-8"))


@cache
def anchors(page: Path) -> set[str]:
    """What a link may name after its #, by the rule of the site."""
    headings = re.findall(r"^#+ (.*)$", prose_of(page), re.MULTILINE)
    plain = (re.sub(r"[^\w\s-]", "", heading).strip().lower() for heading in headings)
    return {re.sub(r"[-\s]+", "-", heading) for heading in plain}


def broken(text: str, page: Path) -> list[str]:
    """Links of a page's text that lead nowhere."""
    wrong = []
    for link in _LINK.findall(text):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if re.match(r"\w+:", link) or _MADE.search(path):
            continue
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            wrong.append(link)
    return wrong


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert broken(prose_of(page), page) == []


def listed(entries: list[dict[str, object]]) -> Iterator[str]:
    """The pages of the site's navigation."""
    for entry in entries:
        for target in entry.values():
            if isinstance(target, list):
                yield from listed(target)
            else:
                yield str(target)


def test_the_site_lists_every_page_once() -> None:
    settings = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))
    pages = [page for page in listed(settings["project"]["nav"]) if "/" not in page]
    assert sorted(pages) == sorted(page.name for page in ROOT.glob("docs/*.md"))


def test_a_link_that_leads_nowhere_would_be_found() -> None:
    index = ROOT / "docs" / "index.md"
    assert broken("[a](theory.md#the-parts) [b](theories.md) [c](theory.md#parts)", index) == [
        "theories.md",
        "theory.md#parts",
    ]
