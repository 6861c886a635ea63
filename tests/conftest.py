"""Fixtures for all tests."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from asyncio import AbstractEventLoop
from asyncio.events import _set_running_loop
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

# Before anything is imported that reads it: threads of XGBoost and BLAS wait for each other by spinning.
# Under load, with tests side by side, that takes many times as long as one thread.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Tests start hundreds of programs. Where bytecode is not kept, each would compile this package again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

import pytest
from hypothesis import settings

from tests.running import Run, run_with

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# And each process of each run would rewrite the assertions of all tests again, which takes 9 seconds.
sys.dont_write_bytecode = False

# The same examples at every run, whatever was run before and however busy the machine is.
settings.register_profile("reproducible", derandomize=True, database=None, deadline=None)
settings.load_profile("reproducible")

# All that is imported and collected stays until the end. To look through it for garbage again and again
# would take a good part of the run.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(20_000)  # thousands of fractions are made and dropped by counting alone
    gc.enable()


def pytest_unconfigure() -> None:
    gc.unfreeze()  # what stays frozen is never freed, and libraries report hundreds of leaks at the end


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run a command in this process, in an empty directory."""
    monkeypatch.chdir(tmp_path)
    return run_with(capsys)


@pytest.fixture(scope="session")
def _launched() -> Iterator[tuple[Browser, AbstractEventLoop]]:
    from tests.collect.journeys import launch

    launched = launch()
    opened, loop = next(launched), asyncio.get_running_loop()
    _set_running_loop(None)
    yield opened, loop
    _set_running_loop(loop)
    next(launched, None)


@pytest.fixture
def browser(_launched: tuple[Browser, AbstractEventLoop]) -> Iterator[Browser]:
    """The one Chromium of this process. Its loop is that of the thread only while a test has it, since other
    tests run loops of their own.
    """
    opened, loop = _launched
    _set_running_loop(loop)
    yield opened
    _set_running_loop(None)


@pytest.fixture(scope="session")
def daily_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of reports by day, their plan and their tallies, which no test changes."""
    from tests.series.lake import write_lake

    folder = tmp_path_factory.mktemp("daily")
    write_lake(folder)
    return folder
