"""Fixtures for all tests."""

from __future__ import annotations

import os
from pathlib import Path

# Before anything is imported that reads it: threads of XGBoost and BLAS wait for each other by spinning,
# which under load,
# with tests side by side, takes many times as long as one thread.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest

from tests.running import Run, run_with


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run a command in this process, in an empty directory."""
    monkeypatch.chdir(tmp_path)
    return run_with(capsys)
