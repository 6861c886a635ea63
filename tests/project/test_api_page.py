"""The page of names is what its build writes, and has every public name with a description."""

from __future__ import annotations

import inspect
import re
import runpy
from pathlib import Path

import pytest

import deniable as dn

DOCS = Path(__file__).parents[2] / "docs"
BUILD = runpy.run_path(str(DOCS / "api.py"))
ROOMS = [name for name in dn.__all__ if inspect.ismodule(getattr(dn, name))]
PUBLIC = [name for name in dn.__all__ if name not in ROOMS]
PUBLIC += [f"{room}.{name}" for room in ROOMS for name in getattr(dn, room).__all__ if name not in dn.__all__]


def described(page: str) -> dict[str, str]:
    """The names of a page, of tables and headings, with what stands behind them."""
    rows = re.findall(r"^\| `([\w.]+)[^`]*` \| (.*) \|$", page, re.MULTILINE)
    classes = re.findall(r"^### ([\w.]+)\n\n(.*)$", page, re.MULTILINE)
    return dict([*rows, *classes])


@pytest.fixture(scope="module")
def page() -> str:
    """The page as it is built now."""
    return str(BUILD["page"]())


def test_the_committed_page_is_what_the_build_writes(page: str) -> None:
    stale = "docs/api.md is stale: run `.venv/bin/python docs/api.py`"
    assert (DOCS / "api.md").read_text(encoding="utf-8") == page, stale


def test_every_public_name_has_a_description(page: str) -> None:
    found = described(page)
    assert [name for name in PUBLIC if not found.get(name, "").strip()] == []


def test_every_member_has_a_description(page: str) -> None:
    assert [line for line in page.splitlines() if line.startswith("| `") and line.endswith("|  |")] == []


def test_descriptions_are_first_sentences() -> None:
    first = BUILD["first_sentence"]
    assert first("Counts reports,\nall of them. And more.\n\nLast.") == "Counts reports, all of them."
    assert (
        first("A channel (k < 2, p = 0.5) of e.g. two values")
        == "A channel (k < 2, p = 0.5) of e.g. two values"
    )


def test_calls_are_written_without_types() -> None:
    def call(k: int, *, among: str | None = None, seed: object = object()) -> dn.Tally:
        raise NotImplementedError

    assert BUILD["signature_of"](call, "f", frozenset({"Tally"})) == "f(k, *, among=None, seed=...) -> Tally"
