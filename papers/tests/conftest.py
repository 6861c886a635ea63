"""Fixtures and settings for the tests of papers: those of the library's tests, and one for public data."""

from pathlib import Path

import pytest
from tests.conftest import pytest_collection_finish as pytest_collection_finish
from tests.conftest import pytest_unconfigure as pytest_unconfigure
from tests.conftest import run as run

from deniable_papers.data import published


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The package without the data that it carries: a folder of this test's own, and an empty cache."""
    monkeypatch.setenv(published.FOLDER, str(tmp_path))
    monkeypatch.setattr(published, "carried_folder", lambda: tmp_path / "absent")
    monkeypatch.setattr(published, "_cache", lambda: tmp_path / "absent")
    return tmp_path
