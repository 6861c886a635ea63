"""Runs the whole system on loopback: a collector in its own process, and simulated people who use HTTP.

Most of them use the Python client; some the TypeScript client in Node, where that is installed. Every device
draws its own randomness from the operating system, so that no two runs are alike.
"""

from __future__ import annotations

import json
import secrets
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import final

import numpy as np

from deniable.client import Client
from deniable.collect.files import FOLDER
from deniable.domain import Range
from deniable.errors import DeniableError
from deniable.study import Plan, Result
from deniable.study.study import Study

TITLE = "How people come to work"
EPSILON = 1.5
SHARES: Mapping[str, Mapping[str, float]] = {
    "How do you get to work?": {"car": 0.44, "train": 0.19, "bus": 0.13, "bicycle": 0.15, "on foot": 0.09},
    "How many minutes does it take?": {"5": 0.21, "20": 0.33, "35": 0.24, "50": 0.14, "65": 0.08},
    "Were you late last week?": {"yes": 0.27, "no": 0.73},
}
"""Simulated: how many of the people would give each answer. No survey found these numbers."""

# one person in ten uses the TypeScript client
_NODE_EVERY = 10
_AT_ONCE = 16
_NODE_CLIENT = FOLDER / "client.mjs"

Answers = dict[str, str]


@final
@dataclass(frozen=True)
class Comparison:
    """One value: what is true of the people, and what the reports say."""

    attribute: str
    value: str
    truth: float
    estimate: float
    low: float
    high: float


def make_plan(people: int) -> Plan:
    """The study of the demo, compiled."""
    how, minutes, late = SHARES
    domains = {
        how: list(SHARES[how]),
        minutes: Range(0, 60, step=15, open_high=True),
        late: list(SHARES[late]),
    }
    return Study(domains, epsilon=EPSILON, title=TITLE).plan(people=people)


def make_people(count: int, seed: int) -> list[Answers]:
    """Simulated people, the same for the same seed."""
    draw = np.random.default_rng(seed)
    columns = {
        name: draw.choice(list(shares), count, p=list(shares.values())) for name, shares in SHARES.items()
    }
    return [{name: str(column[i]) for name, column in columns.items()} for i in range(count)]


@final
class Collector:
    """A collector in a process of its own."""

    def __init__(self, process: subprocess.Popen[str], url: str, dashboard: str, store: str) -> None:
        self.process, self.url, self.dashboard, self.store = process, url, dashboard, store

    def wait(self) -> None:
        """Until it ends, or is interrupted."""
        try:
            self.process.wait()
        except KeyboardInterrupt:
            self.process.wait()


def _exit(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)  # so that the collector is ended, too, and its folder removed


@contextmanager
def collecting(plan: Plan, folder: Path, port: int) -> Iterator[Collector]:
    """Start a collector for a plan in a folder; end it as an operator would."""
    plan.write(folder / "plan.json")
    store = f"sqlite:///{folder / 'reports.db'}"
    command = [sys.executable, "-m", "deniable.cli", "serve", str(folder / "plan.json"), "--port", str(port)]
    command += ["--store", store, "--token-file", str(folder / "operator.token"), "--rate", "0"]
    with (folder / "collector.log").open("w+", encoding="utf-8") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        in_main_thread = threading.current_thread() is threading.main_thread()
        before = signal.signal(signal.SIGTERM, _exit) if in_main_thread else None
        try:
            said = _addresses(process)
            if not said:
                log.seek(0)
                raise DeniableError(f"the collector did not start: {log.read().strip()}")
            yield Collector(process, said["survey"].rstrip("/"), said["dashboard"], store)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.wait(60)
            if process.stdout is not None:
                process.stdout.close()
            if in_main_thread:
                signal.signal(signal.SIGTERM, before)


def _addresses(process: subprocess.Popen[str]) -> dict[str, str]:
    """What it says at its start; empty if it ends instead."""
    said: dict[str, str] = {}
    assert process.stdout is not None
    for line in process.stdout:
        name, _, rest = line.partition(" ")
        said[name] = rest.strip()
        if name == "dashboard":
            return said
    return {}


def answer(
    plan: Plan, people: Sequence[Answers], url: str, folder: Path, show: Callable[[int, int], None]
) -> tuple[int, int]:
    """Every person answers once, over HTTP; how many with the Python client, and how many in Node."""
    node = shutil.which("node")
    by_node = [person for i, person in enumerate(people) if node and i % _NODE_EVERY == 0]
    by_python = [person for i, person in enumerate(people) if not (node and i % _NODE_EVERY == 0)]
    arrived, lock = 0, threading.Lock()

    def one_more() -> None:
        nonlocal arrived
        with lock:
            arrived += 1
            show(arrived, len(people))

    def in_python(person: Answers) -> None:
        # a device of its own: it verifies the plan, and has a secret that nobody else has
        client = Client(plan, secret=secrets.token_bytes(32))
        client.send(url, client.report(person))
        one_more()

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        jobs = (
            [pool.submit(_answer_in_node, str(node), folder / "plan.json", by_node, url, one_more)]
            if by_node
            else []
        )
        jobs += [pool.submit(in_python, person) for person in by_python]
        try:
            for job in as_completed(jobs):
                job.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return len(by_python), len(by_node)


def _answer_in_node(
    node: str, plan: Path, people: Sequence[Answers], url: str, one_more: Callable[[], None]
) -> None:
    command = [node, str(_NODE_CLIENT), str(plan), "--send", url]
    with TemporaryFile("w+", encoding="utf-8") as lines, TemporaryFile("w+", encoding="utf-8") as errors:
        devices = ({"answers": person, "secret": secrets.token_hex(32)} for person in people)
        lines.write("".join(json.dumps(device) + "\n" for device in devices))
        lines.seek(0)
        with subprocess.Popen(
            command, stdin=lines, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process:
            assert process.stdout is not None
            for _ in process.stdout:
                one_more()
        errors.seek(0)
        if process.returncode:
            raise DeniableError(f"the TypeScript client failed: {errors.read().strip()[:500]}")


def compare(plan: Plan, people: Sequence[Answers], result: Result, level: float = 0.95) -> list[Comparison]:
    """Compare the truth about these people with what their reports say."""
    codes = plan.encode(people)[: len(plan.names)]
    rows = []
    for name, column in zip(plan.names, codes, strict=True):
        estimate = result[name]
        truth = np.bincount(column, minlength=len(estimate.frequencies)) / len(people)
        low, high = estimate.interval(level)
        values = zip(plan.labels[name], truth, estimate.frequencies, low, high, strict=True)
        rows += [Comparison(name, label, *map(float, numbers)) for label, *numbers in values]
    return rows
