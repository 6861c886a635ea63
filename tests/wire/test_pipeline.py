"""The gateway and the worker of docs/pipeline.md, as programs, with a real queue between them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import deniable as dn
from deniable.wire import Wire
from tests import services
from tests.engines.test_chains import list_chains
from tests.wire.test_received import draw_reports

PAGE = Path(__file__).parents[2] / "docs" / "pipeline.md"
SECONDS = 120
"""How long a program may take until it does what is waited for: it takes 2 s on a quiet machine."""
STOPS = "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)"


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    with services.redis(tmp_path / "redis") as port:
        yield port


def write_programs(folder: Path) -> None:
    """The programs of the page, as they stand there; and a worker that stops before it acknowledges."""
    for text in re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL):
        (folder / text.split()[1].rstrip(":")).write_text(text)
    worker = (folder / "worker.py").read_text()
    assert worker.count("        queue.xack(") == 1
    stopped = worker.replace("        queue.xack(", f"        {STOPS}\n        queue.xack(")
    (folder / "stops.py").write_text(stopped)


def start(folder: Path, port: int, *arguments: str) -> subprocess.Popen[bytes]:
    """A program of the page, which ends with this one."""
    environment = {
        **os.environ,
        "REDIS_PORT": str(port),
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    command = ["sh", "-c", services.TIED, "KILL", sys.executable, *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, cwd=folder, env=environment)


def stop(program: subprocess.Popen[bytes]) -> None:
    """Kill a program, as a power cut does."""
    assert program.stdin is not None
    program.stdin.close()
    assert program.wait() != 0


def wait_until(happened: Callable[[], object]) -> None:
    deadline = time.monotonic() + SECONDS
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def list_files(lake: Path) -> list[Path]:
    """The files that are written; the name of one that is being written begins with a dot."""
    return [path for path in lake.glob("*.parquet") if not path.name.startswith(".")]


def test_a_worker_that_is_killed_loses_and_repeats_nothing(port: int, tmp_path: Path) -> None:
    """It is killed when it has written and not acknowledged: the next one writes the same messages again, and
    every report that a device was told of is counted once, also one that was sent twice. Some devices have
    the plan, and others the one that it continues.
    """
    from redis import Redis

    write_programs(tmp_path)
    old, plan = list_chains()["more bits"][:2]
    plan.write(tmp_path / "plan.json")
    queue, lake, sent = Redis(port=port), tmp_path / "lake", draw_reports(plan, 60, 6)
    http = services.free_port()
    gateway = start(tmp_path, port, "-m", "uvicorn", "gateway:app", "--port", str(http), "--no-access-log")
    services.wait_for(gateway, http, tmp_path / "redis" / "log", "the gateway")
    client = dn.Client(plan, secret=bytes(32), plan_cap=6.0)
    for report in [*sent[:30], *sent[:5]]:
        assert client.send(f"http://127.0.0.1:{http}", report) == "counted"
    for report in draw_reports(old, 7, 8):
        queue.xadd("reports", {"report": report.to_bytes()})
    killed = start(tmp_path, port, "stops.py", "plan.json", "lake")
    wait_until(lambda: list_files(lake))
    for report in sent[30:]:
        client.send(f"http://127.0.0.1:{http}", report)
    queue.xadd("reports", {"report": b"nonsense"})
    stop(killed)
    stop(gateway)
    [group] = queue.xinfo_groups("reports")
    assert group["pending"] == 42
    worker = start(tmp_path, port, "worker.py", "plan.json", "lake")
    wait_until(lambda: queue.xlen("reports") == 0)
    stop(worker)
    wire = Wire(plan.document)
    tallies = plan.tally(lake, number=1)
    assert tallies.tallies == plan.tally(wire.reports([report.body for report in sent], 1)).tallies
    assert (tallies.n, old.tally(lake, number=1).n) == (60, 7)
    assert len(list_files(lake)) == 2
