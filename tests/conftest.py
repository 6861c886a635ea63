"""Fixtures for all tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.running import Run, run_with


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run a command in this process, in an empty directory."""
    monkeypatch.chdir(tmp_path)
    return run_with(capsys)
