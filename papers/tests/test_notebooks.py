"""The notebooks of papers run from the first cell to the last, and are as those of the gallery."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.project import test_notebooks as gallery

NOTEBOOKS = sorted((Path(__file__).parents[1] / "docs" / "notebooks").glob("*.ipynb"))
_no_windows = gallery._no_windows  # a fixture


def test_all_are_found() -> None:
    assert len(NOTEBOOKS) == 6


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_runs_and_has_its_form(notebook: Path, tmp_path: Path) -> None:
    gallery.test_a_notebook_is_of_format_4_and_without_outputs(notebook)
    gallery.test_a_figure_of_pyplot_is_shown_once(notebook)
    gallery.test_a_notebook_runs_and_shows_what_it_has(notebook, tmp_path)
