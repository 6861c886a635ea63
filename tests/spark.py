"""Throw-away Spark for tests: a cluster of a master and two workers on loopback, and drivers in processes of
their own, since py4j leaves sockets open, whose warnings would end other tests.
"""

from __future__ import annotations

import atexit
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, final

import psutil

from tests import services

SECONDS = 600
"""How long anything of Spark may take. The slowest here takes 25 s of two processors."""
QUICK = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xshare:auto -Djava.net.preferIPv4Stack=true"
"""Short lives: what a better compiler would cost is never earned back."""


def require_spark() -> None:
    """Skip the test where Spark cannot run, but fail in continuous integration."""
    if find_spec("pyspark") is None:
        services.missing("pyspark is not installed", "make test installs it")
    if shutil.which("java") is None:
        services.missing("Java is not installed")


@cache
def cluster() -> SparkCluster:
    """The cluster of this process, started when it is first asked for and stopped at the end."""
    require_spark()
    return SparkCluster()


def environment_in(folder: Path) -> dict[str, str]:
    """What a driver needs to find Spark and a folder, and tasks this package."""
    return {
        **os.environ,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(folder),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }


@final
class SparkCluster:
    """A running master and its two workers, of one core each."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="deniable-spark-"))
        self._running: list[subprocess.Popen[bytes]] = []
        atexit.register(self._remove)
        port = services.free_port()
        self.address = f"spark://127.0.0.1:{port}"
        self._start("master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
        self._await("master.Master", "Starting Spark master", 1)
        self._workers = [self._start_worker() for _ in range(2)]
        self._await("worker.Worker", "Successfully registered with master", 2)

    def start_driver(self) -> SparkDriver:
        """A driver, with an executor on each worker."""
        return SparkDriver(self.address, self.folder)

    def kill_worker(self, executor: int) -> None:
        """End an executor, by the number of its process, and its worker, as a power cut does."""
        process = psutil.Process(executor)
        worker = process.parent()
        assert worker is not None
        assert worker.pid in self._workers
        for one in (worker, process):
            one.send_signal(signal.SIGKILL)

    def _start_worker(self) -> int:
        work = str(self.folder / f"work{len(self._running)}")
        options = ("--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--webui-port", "0")
        process = self._start("worker.Worker", *options, "--work-dir", work, self.address)
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:  # the shell has one child that is Java
            for one in psutil.Process(process.pid).children():
                if one.name() == "java":
                    return int(one.pid)
            time.sleep(0.02)
        raise AssertionError("a worker did not start")

    def _start(self, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        import pyspark

        jars = Path(pyspark.__file__).parent / "jars"
        home = {"SPARK_HOME": str(jars.parent), "SPARK_SCALA_VERSION": "2.13"}
        command = ["java", *QUICK.split(), "-Xmx256m", "-cp", f"{jars}/*", f"org.apache.spark.deploy.{name}"]
        with (self.folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                ["sh", "-c", services.TIED, "TERM", *command, *arguments],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env=environment_in(self.folder) | home,
            )
        self._running.append(process)
        return process

    def _await(self, name: str, text: str, times: int) -> None:
        deadline = time.monotonic() + SECONDS
        while self._count(name, text) < times:
            log = (self.folder / f"{name}.log").read_text()
            assert time.monotonic() < deadline, f"{name} did not start: {log[-2000:]}"
            time.sleep(0.05)

    def _count(self, name: str, text: str) -> int:
        return (self.folder / f"{name}.log").read_text().count(text)

    def _remove(self) -> None:
        for process in self._running:
            assert process.stdin is not None
            process.stdin.close()
        for process in self._running:
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


@final
class SparkDriver:
    """A driver in a process of its own, which does the cases of tests/engines/spark_driver.py."""

    def __init__(self, address: str, folder: Path) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="driver-", dir=folder))
        self._log = self.folder / "log"
        self._calls = 0
        module = "tests.engines.spark_driver"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", module, address, str(self.folder), QUICK],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=Path(__file__).parents[1],
                env=environment_in(folder),
            )

    def call(self, case: str, **given: Any) -> Any:
        """What a case finds."""
        return self.finish(self.begin(case, **given))

    def begin(self, case: str, **given: Any) -> int:
        """Let a case begin; its number."""
        self._calls += 1
        assert self._process.stdin is not None
        text = json.dumps({"number": self._calls, "case": case, "given": given})
        self._process.stdin.write(text.encode() + b"\n")
        self._process.stdin.flush()
        return self._calls

    def finish(self, number: int) -> Any:
        """What a case found."""
        self.wait_for(lambda: self.is_done(number))
        problem, result = pickle.loads((self.folder / f"{number}.pickle").read_bytes())
        assert problem is None, problem
        return result

    def is_done(self, number: int) -> bool:
        """Whether a case has ended."""
        return (self.folder / f"{number}.pickle").exists()

    def wait_for(self, happened: Callable[[], Any]) -> None:
        """Wait until something happens; the driver must live so long."""
        deadline = time.monotonic() + SECONDS
        while not happened():
            assert self._process.poll() is None, f"the driver ended: {self._log.read_text()[-3000:]}"
            assert time.monotonic() < deadline, f"Spark takes too long: {self._log.read_text()[-3000:]}"
            time.sleep(0.02)

    def kill(self) -> None:
        """End it and its Java at once, as a power cut does."""
        for process in [psutil.Process(self._process.pid), *psutil.Process(self._process.pid).children(True)]:
            process.kill()
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def stop(self) -> None:
        """End it; its executors end, too."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
