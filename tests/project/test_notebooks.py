"""The notebooks of the gallery run from the first cell to the last, and what they show can be shown."""

from __future__ import annotations

import json
import re
import runpy
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cases import by_night, names

DOCS = Path(__file__).parents[2] / "docs"
TOOL = runpy.run_path(str(DOCS / "notebooks.py"))
NOTEBOOKS = sorted((DOCS / "gallery").glob("*.ipynb"))
MOST_SECONDS = 30  # of processor time; each takes about 3, and a reader waits for it
NAMES = set(names("survey rounds ages-and-places choosing-epsilon attack fairness learning words-and-ranges"))
NIGHTLY = {"ages-and-places", "attack", "choosing-epsilon", "fairness", "learning", "words-and-ranges"}


@pytest.fixture(autouse=True)
def _no_windows() -> Iterator[None]:
    plot = pytest.importorskip("matplotlib.pyplot")
    plot.switch_backend("Agg")
    yield
    plot.close("all")


def test_the_gallery_is_complete_and_linked() -> None:
    assert {file.stem for file in NOTEBOOKS} == NAMES
    linked = re.findall(r"gallery/([\w-]+)\.ipynb", (DOCS / "notebooks.md").read_text(encoding="utf-8"))
    assert set(linked) == NAMES
    pages = re.findall(r'"gallery/([\w-]+)\.md"', (DOCS.parent / "zensical.toml").read_text(encoding="utf-8"))
    assert set(pages) == NAMES


@by_night(
    "notebook", NOTEBOOKS, *(file for file in NOTEBOOKS if file.stem in NIGHTLY), ids=lambda file: file.stem
)
def test_a_notebook_runs_and_shows_what_it_has(notebook: Path, tmp_path: Path) -> None:
    """Warnings are errors, as in every test."""
    began = time.process_time()
    copy = tmp_path / notebook.name
    copy.write_bytes(notebook.read_bytes())
    page = TOOL["write_page"](copy).read_text(encoding="utf-8")
    assert time.process_time() - began < MOST_SECONDS
    pictures = re.findall(r"!\[[^\]]+\]\(([\w-]+\.png)\)", page)
    assert pictures
    for name in pictures:
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_figure_of_pyplot_is_shown_once(notebook: Path) -> None:
    """A notebook shows it by itself, and again as the value of the last line unless a semicolon is there."""
    for cell in TOOL["read_cells"](notebook):
        if "plt.subplots" in cell.source:
            assert cell.source.endswith("\nfigure;")


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_is_of_format_4_and_without_outputs(notebook: Path) -> None:
    data = json.loads(notebook.read_text(encoding="utf-8"))
    assert (data["nbformat"], data["nbformat_minor"]) == (4, 5)
    assert set(data) == {"cells", "metadata", "nbformat", "nbformat_minor"}
    assert set(data["metadata"]) == {"kernelspec", "language_info"}
    identifiers = [cell["id"] for cell in data["cells"]]
    assert len(set(identifiers)) == len(identifiers)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", one) for one in identifiers)
    code = [cell for cell in data["cells"] if cell["cell_type"] == "code"]
    assert 5 <= len(code) <= 10
    assert all((cell["outputs"], cell["execution_count"]) == ([], None) for cell in code)
    assert data["cells"][0]["source"][0].startswith("# ")


def test_a_cell_that_fails_would_be_found(tmp_path: Path) -> None:
    for source, problem in {
        "1 / 0": ZeroDivisionError,
        "import warnings\nwarnings.warn('x')": UserWarning,
        "assert False": AssertionError,
    }.items():
        cell = {"cell_type": "code", "source": [source]}
        path = tmp_path / "wrong.ipynb"
        path.write_text(json.dumps({"nbformat": 4, "cells": [cell]}))
        with pytest.raises(problem):
            TOOL["write_page"](path)
