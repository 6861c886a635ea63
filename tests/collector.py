"""A collector in a process of its own, on a free loopback port."""

from __future__ import annotations

import os
import secrets
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, final

import httpx

import deniable as dn
from deniable.cli import main
from deniable.study import Plan
from deniable.wire import Report, Wire, to_batch
from tests import services
from tests.forking import Forked

TOKEN = "a-token-for-tests-0123456789"
BINARY = {"Content-Type": "application/octet-stream"}
JSON = {"Content-Type": "application/json"}
HTTP = httpx.Client(timeout=30, limits=httpx.Limits(max_keepalive_connections=0))
"""Each request has a connection of its own: a collector may have been killed since the last one."""
OPERATOR = {"Authorization": f"Bearer {TOKEN}"}


@final
class Running:
    """A collector that was started, and how to end it."""

    def __init__(
        self, folder: Path, plans: Sequence[Plan], options: Sequence[str], environment: dict[str, str]
    ) -> None:
        self.folder = folder
        files = []
        for number, plan in enumerate(plans):
            files.append(folder / f"plan-{number}.json")
            plan.write(files[-1])
        self._arguments = ["serve", *map(str, files), *options]
        self._environment = environment
        self.http = HTTP
        if "--certificate" in options:  # it and what signed it are in one file
            chain = options[options.index("--certificate") + 1]
            trusted = ssl.create_default_context(cafile=chain)
            self.http = httpx.Client(verify=trusted, limits=httpx.Limits(max_keepalive_connections=0))
        # one that names the address of a site does not say where it listens
        named = any(option.startswith("--url") for option in options)
        self.url = f"http://127.0.0.1:{services.free_port()}" if named else ""
        self._has_site = named
        self.said = ""
        self.start("--port", "0")

    def start(self, *options: str) -> None:
        """Start it; again, on the same port, if it was there before."""
        port = self.url.rpartition(":")[2]
        options = ("--port", port) if port else options
        printed = self.folder / "stdout"
        printed.write_bytes(b"")
        self.said = ""
        self.process = self._launch([*self._arguments, *options])
        while "dashboard" not in self.said or not self.said.endswith("\n"):
            is_alive = self.process.poll() is None
            self.said = printed.read_text()
            assert is_alive or "dashboard" in self.said, f"the collector ended: {self.errors()}"
            time.sleep(0.01)
        [address] = [line.split()[1] for line in self.said.splitlines() if line.startswith("dashboard")]
        if not self._has_site:
            self.url = address.partition("/dashboard")[0]
        self.wait()

    def _launch(self, arguments: Sequence[str]) -> subprocess.Popen[bytes] | Forked:
        """A collector with variables of its own is a new program: Python may read them when it starts."""
        settings = {"DENIABLE_TOKEN": TOKEN} | self._environment
        if not self._environment:
            return Forked(run_program, arguments, self.folder, os.environ | settings)
        with (self.folder / "stdout").open("ab") as printed, (self.folder / "stderr").open("ab") as errors:
            return subprocess.Popen(
                [sys.executable, "-m", "deniable.cli", *arguments],
                cwd=self.folder,
                env=os.environ | settings,
                stdout=printed,
                stderr=errors,
            )

    def wait(self) -> None:
        """Until it answers."""
        deadline = time.monotonic() + 20
        while True:
            try:
                if self.http.get(f"{self.url}/health", timeout=5).status_code == 200:
                    return
            except httpx.TransportError:
                assert self.process.poll() is None, self.errors()
                assert time.monotonic() < deadline, "the collector does not answer"
                time.sleep(0.01)

    def errors(self) -> str:
        """What it has said on stderr, over all of its starts."""
        return (self.folder / "stderr").read_text()

    def kill(self) -> None:
        """At once, as when the power fails."""
        self.process.kill()
        self.process.wait()

    def stop(self, number: int = signal.SIGTERM) -> int:
        """As an operator does; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(30)

    def get(self, path: str, **query: Any) -> httpx.Response:
        """Ask as the operator."""
        return self.http.get(f"{self.url}{path}", params=query, headers=OPERATOR)

    def send(self, report: Report, **headers: str) -> httpx.Response:
        """One report, in bytes."""
        return self.http.post(f"{self.url}/reports", content=report.to_bytes(), headers=BINARY | headers)

    def take(self, plan: Plan, bodies: Sequence[bytes], number: int = 1) -> None:
        """Count these reports, in one batch and with ids of their own."""
        reports = [
            Report(Wire(plan.document).prefix, number, secrets.token_bytes(16), body) for body in bodies
        ]
        batch = to_batch(reports)
        answer = self.http.post(f"{self.url}/reports/batch", content=batch, headers=BINARY)
        assert answer.json()["counted"] == len(reports), answer.text

    def metrics(self) -> dict[str, float]:
        """What it has counted."""
        lines = self.get("/metrics").text.splitlines()
        return {
            name: float(number)
            for line in lines
            if line[0] != "#"
            for name, _, number in [line.rpartition(" ")]
        }


def run_program(arguments: Sequence[str], folder: Path, environment: dict[str, str]) -> None:
    """What `deniable` does in a process that was forked: with a folder, variables and streams of its own."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number, name in ((1, "stdout"), (2, "stderr")):
        stream = os.open(folder / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.dup2(stream, number)
        os.close(stream)
    main(arguments)


def hook(folder: Path, text: str) -> str:
    """A path from which Python runs these lines when it starts: the value of PYTHONPATH."""
    hooks = folder / "hook"
    hooks.mkdir(exist_ok=True)
    (hooks / "sitecustomize.py").write_text(text)
    return os.pathsep.join([str(hooks), *filter(None, [os.environ.get("PYTHONPATH")])])


@contextmanager
def collecting(folder: Path, plans: Sequence[Plan], *options: str, **environment: str) -> Iterator[Running]:
    """A collector for these plans, ended at the end."""
    running = Running(folder, plans, ["--rate", "0", *options], environment)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.kill()


def small_plan(title: str = "Colors", rounds: bool = False) -> Plan:
    """Two attributes, both reported."""
    asked: dict[str, Any] = {"color": ["red", "green", "blue"], "smokes": ["yes", "no"]}
    if rounds:
        study = dn.Study(asked, epsilon_first=1.0, epsilon_forever=2.0, rounds=3, title=title)
    else:
        study = dn.Study(asked, epsilon=2.0, title=title, mechanism="split")
    return study.plan(people=1000)


def some_reports(plan: Plan, n: int, seed: int = 1, number: int = 1) -> list[Report]:
    """Reports of n people, half of whom say red and yes; ids are reproducible."""
    wire = Wire(plan.document)
    answers = {
        "color": ["red", "green", "blue", "red"] * (n // 4 + 1),
        "smokes": ["yes", "no"] * (2 * (n // 4 + 1)),
    }
    words = dn.remembering(seed) if plan.document.rounds else dn.seeded(seed)
    made = plan.privatize({name: column[:n] for name, column in answers.items()}, words)
    bodies = wire.bodies(made)
    return [
        Report(wire.prefix, number, seed.to_bytes(8, "little") + i.to_bytes(8, "little"), body)
        for i, body in enumerate(bodies)
    ]


def post_people(
    running: Running,
    plan: Plan,
    people: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    number: int = 1,
    seed: int = 1,
) -> None:
    """A batch with the reports of these people."""
    words = dn.remembering(seed, dn.seeded(seed + number - 1))
    running.take(plan, Wire(plan.document).bodies(plan.privatize(people, words)), number)
