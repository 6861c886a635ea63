"""Whether reports can be written: `/ready` says so, and the log says when that changes, once."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import final

import httpx
import pytest

from deniable.collect.writer import DOUBT, PAUSE, PROOF, Readiness
from deniable.store.database import StoreUnavailable
from tests import services
from tests.collector import BINARY, HTTP, Running, collecting, hook, small_plan, some_reports

PLAN = small_plan()


@final
class Trial:
    """A store that fails when it is told to, and a clock."""

    name = "sqlite:///trial.db"

    def __init__(self) -> None:
        self.problem: str | None = None
        self.trials = 0
        self.now = 100.0

    def try_write(self) -> None:
        self.trials += 1
        if self.problem is not None:
            raise StoreUnavailable(self.problem)


def is_ready(readiness: Readiness) -> bool:
    try:
        readiness.check()
    except StoreUnavailable:
        return False
    return True


def test_a_trial_is_made_only_where_reports_do_not_tell() -> None:
    store = Trial()
    readiness = Readiness(store, lambda: store.now)
    assert is_ready(readiness)
    assert is_ready(readiness)
    assert store.trials == 1, "its outcome holds for a while"
    store.now += PAUSE
    readiness.observe(None)
    assert is_ready(readiness)
    assert store.trials == 1, "reports were just written"
    store.now += PROOF
    assert is_ready(readiness)
    assert store.trials == 2


def test_a_small_trial_does_not_outvote_reports(caplog: pytest.LogCaptureFixture) -> None:
    store = Trial()
    readiness = Readiness(store, lambda: store.now)
    readiness.observe("the disk is full")
    for _ in range(3):
        store.now += DOUBT / 2
        assert not is_ready(readiness)
        readiness.observe("the disk is full")
    assert store.trials == 0
    store.now += DOUBT
    assert is_ready(readiness)
    assert [record.levelno for record in caplog.records] == [logging.ERROR, logging.WARNING]


def test_each_change_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    store = Trial()
    readiness = Readiness(store, lambda: store.now)
    for problem in (None, "gone", "gone", "still gone", None, None, "gone"):
        store.problem, store.now = problem, store.now + PAUSE
        assert is_ready(readiness) is (problem is None)
    assert [record.getMessage() for record in caplog.records] == [
        "not ready, reports are refused: gone",
        "ready again, reports are taken: sqlite:///trial.db can be written",
        "not ready, reports are refused: gone",
    ]


def ask(running: Running) -> tuple[int, str]:
    answer = HTTP.get(f"{running.url}/ready")
    return answer.status_code, answer.json().get("reason", "")


def post(running: Running, seed: int) -> httpx.Response:
    report = some_reports(PLAN, 1, seed)[0].to_bytes()
    return HTTP.post(f"{running.url}/reports", content=report, headers=BINARY)


def fill(file: Path) -> None:
    """Write until the disk is full."""
    with suppress(OSError), file.open("wb", 0) as opened:
        while True:
            opened.write(bytes(4096))


def lines(running: Running) -> list[str]:
    """What the log says about readiness."""
    return [line for line in running.errors().splitlines() if "ready" in line]


def wait_for(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture
def patient(tmp_path: Path) -> str:
    """A path from which Python starts with trials whenever somebody asks."""
    text = "import deniable.collect.writer as readiness\nreadiness.PAUSE = readiness.PROOF = 0.0\n"
    return hook(tmp_path, text)


def test_a_full_disk_is_not_ready(tmp_path: Path, patient: str) -> None:
    with services.small_disk(4000) as disk:
        url = f"sqlite:///{disk}/reports.db"
        with collecting(tmp_path, [PLAN], "--store", url, PYTHONPATH=patient) as running:
            assert (post(running, 1).status_code, ask(running)) == (201, (200, ""))
            fill(disk / "filler")
            assert [ask(running) for _ in range(3)] == [(503, "store")] * 3, "nobody has sent a report yet"
            assert post(running, 2).status_code == 503
            assert HTTP.get(f"{running.url}/health").status_code == 200
            (disk / "filler").unlink()
            assert (post(running, 2).status_code, ask(running)) == (201, (200, ""))
            first, second = lines(running)
            assert first.startswith("not ready, reports are refused: sqlite:///")
            assert first.endswith("the disk is full; make room")
            assert second.startswith("ready again, reports are taken: sqlite:///")


@pytest.mark.long
def test_a_database_that_may_only_be_read_is_not_ready(tmp_path: Path, patient: str) -> None:
    cluster = services.cluster()
    with collecting(tmp_path, [PLAN], "--store", cluster.url(), PYTHONPATH=patient) as running:
        assert ask(running) == (200, "")
        cluster.sql("ALTER SYSTEM SET default_transaction_read_only = on")
        cluster.sql("SELECT pg_reload_conf()")
        try:
            wait_for(lambda: ask(running)[0] == 503)  # it takes a moment to reach all connections
            assert (post(running, 1).status_code, ask(running)) == (503, (503, "store"))
        finally:
            cluster.sql("ALTER SYSTEM RESET default_transaction_read_only")
            cluster.sql("SELECT pg_reload_conf()")
        wait_for(lambda: post(running, 1).status_code == 201)
        assert ask(running) == (200, "")
        assert len(lines(running)) == 2


@pytest.mark.long
def test_a_log_that_is_deleted_under_a_collector_loses_nothing(tmp_path: Path, patient: str) -> None:
    with collecting(tmp_path, [PLAN], PYTHONPATH=patient) as running:
        assert [post(running, seed).status_code for seed in range(20)] == [201] * 20
        (tmp_path / "reports.db-wal").unlink()
        assert [post(running, seed).status_code for seed in range(20, 22)] == [503] * 2
        assert ask(running) == (503, "store")
        [line] = lines(running)
        assert (
            "reports.db-wal was moved, deleted or replaced. What it held was copied to the file first."
            in line
        )
        running.kill()
        running.start()
        assert ask(running) == (200, "")
        assert [post(running, seed).status_code for seed in range(22)] == [200] * 20 + [201] * 2
