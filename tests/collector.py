"""A collector in a process of its own, on a free loopback port."""

from __future__ import annotations

import os
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, final

import httpx

import deniable as dn
from deniable.study import Plan
from deniable.wire import Report, Wire

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
        self._command = [sys.executable, "-m", "deniable.cli", "serve", *map(str, files), *options]
        self._environment = os.environ | {"DENIABLE_TOKEN": TOKEN} | environment
        self.http = HTTP
        if "--certificate" in options:  # it and what signed it are in one file
            chain = options[options.index("--certificate") + 1]
            trusted = ssl.create_default_context(cafile=chain)
            self.http = httpx.Client(verify=trusted, limits=httpx.Limits(max_keepalive_connections=0))
        self.url = ""
        self.said = ""
        self.start("--port", "0")

    def start(self, *options: str) -> None:
        """Start it; again, on the same port, if it was there before."""
        port = self.url.rpartition(":")[2]
        options = ("--port", port) if port else options
        with (self.folder / "stderr").open("ab") as errors:
            self.process = subprocess.Popen(
                [*self._command, *options],
                cwd=self.folder,
                env=self._environment,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        assert self.process.stdout is not None
        self.said = ""
        while "dashboard" not in self.said:
            line = self.process.stdout.readline().decode()
            assert line, f"the collector ended: {self.errors()}"
            self.said += line
            if line.startswith("survey"):
                self.url = line.split()[1].rstrip("/")
        self.wait()

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
        self._close()

    def stop(self, number: int = signal.SIGTERM) -> int:
        """As an operator does; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(30)
        self._close()
        return code

    def get(self, path: str, **query: Any) -> httpx.Response:
        """Ask as the operator."""
        return self.http.get(f"{self.url}{path}", params=query, headers=OPERATOR)

    def metrics(self) -> dict[str, float]:
        """What it has counted."""
        lines = self.get("/metrics").text.splitlines()
        return {
            name: float(number)
            for line in lines
            if line[0] != "#"
            for name, _, number in [line.rpartition(" ")]
        }

    def _close(self) -> None:
        if self.process.stdout is not None:
            self.process.stdout.close()


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
    wire = Wire(plan)
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
