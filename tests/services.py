"""Throw-away services for tests: a PostgreSQL cluster in a temporary folder, on a free loopback port and not
as root; nginx and Caddy; and small disks.
"""

from __future__ import annotations

import atexit
import itertools
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import final

import pytest

_FOLDERS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: -int(folder.parent.name))
TIED = '"$@" & server=$!; exec 3<&0; (cat <&3 >/dev/null; kill -$0 $server) & wait $server'
"""Runs a server until its input is closed, and then sends the signal that the shell is called: even a test
run that is killed leaves none behind."""
_numbers = itertools.count(1)
_FIRST_PORT, _WORKERS, _PORTS = 20_000, 12, 1000
_given = itertools.count(int.from_bytes(os.urandom(2)))  # another run beside this one begins elsewhere


def missing(what: str, remedy: str = "make services installs it") -> None:
    """Skip a test with the reason; where everything must be there (CI=true), fail."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{what}, and in CI nothing is skipped; {remedy}")
    pytest.skip(f"{what}; {remedy}")


@cache
def cluster(where: Path | None = None) -> Cluster:
    """The cluster of this process in a folder, started when it is first asked for and stopped at the end."""
    programs = next((folder for folder in _FOLDERS if (folder / "initdb").exists()), None)
    if programs is None:
        found = shutil.which("initdb")
        programs = Path(found).parent if found else None
    if programs is None:
        missing("PostgreSQL is not installed")
    assert programs is not None
    return Cluster(programs, where)


@final
class Cluster:
    """A running server. It syncs to disk as a real one does, since durability is what is tested."""

    def __init__(self, programs: Path, where: Path | None) -> None:
        self._programs = programs
        self._user = "postgres" if os.getuid() == 0 else None  # PostgreSQL refuses to run as root
        self.folder = Path(tempfile.mkdtemp(prefix="deniable-postgres-", dir=where))
        atexit.register(self._remove)
        if self._user:
            shutil.chown(self.folder, self._user, self._user)
        self.port = free_port()
        made = self._run(
            "initdb",
            "-D",
            str(self.folder / "data"),
            "-U",
            "postgres",
            "-A",
            "trust",
            "--no-locale",
            "-E",
            "UTF8",
        )
        assert made.wait() == 0, "initdb failed"
        self._server = self._start()

    def url(self) -> str:
        """The address of an empty schema, which is as good as an empty database and quicker to make."""
        name = f"s{next(_numbers)}"
        self.sql(f"CREATE SCHEMA {name}")
        return f"{self.address}?options=-csearch_path%3D{name}"

    @property
    def address(self) -> str:
        """The address of the server's own database."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def sql(self, text: str) -> list[tuple[object, ...]]:
        """Run a statement on a connection of its own."""
        import psycopg

        with psycopg.connect(self.address, autocommit=True) as connection:
            cursor = connection.execute(text.encode())
            return cursor.fetchall() if cursor.description else []

    def own(self, folder: Path) -> None:
        """Give a folder to the server's user."""
        if self._user:
            shutil.chown(folder, self._user, self._user)

    def stop(self) -> None:
        """At once, as when the power fails: connections are cut, nothing is written any more."""
        assert self._server.stdin is not None
        self._server.stdin.close()
        self._server.wait()

    def start(self) -> None:
        """Again, with recovery from the log."""
        self._server = self._start()

    def restart(self) -> None:
        """What `pg_ctl restart -m immediate` does."""
        self.stop()
        self.start()

    def _start(self) -> subprocess.Popen[bytes]:
        options = ("-D", str(self.folder / "data"), "-p", str(self.port), "-k", str(self.folder))
        server = self._run(
            "postgres",
            *options,
            "-c",
            "listen_addresses=127.0.0.1",
            "-c",
            "max_connections=40",
            "-c",
            "wal_recycle=off",
        )
        deadline = time.monotonic() + 60
        while self._run("pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)).wait() != 0:
            assert server.poll() is None, "PostgreSQL ended by itself; see its log in the output"
            assert time.monotonic() < deadline, "PostgreSQL did not start in a minute"
            time.sleep(0.05)
        return server

    def _run(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = [str(self._programs / program), *arguments]
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                ["sh", "-c", TIED, "QUIT", *command] if program == "postgres" else command,
                stdin=subprocess.PIPE if program == "postgres" else subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                user=self._user,
                group=self._user,
                extra_groups=[] if self._user else None,
                cwd=self.folder,
            )

    def _remove(self) -> None:
        if hasattr(self, "_server"):
            self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def chromium() -> str:
    """The browser of the tests. Pages behave alike in its headless shell, which has no windows and so takes
    a quarter of the processor time.
    """
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    program = next(filter(None, map(shutil.which, names)), None)
    if program is None:
        missing("Chromium is not installed")
    assert program is not None
    return program


def free_port() -> int:
    """A port on which nobody listens, and that nobody takes until a service does.

    The system gives ports from 32768 on to whoever connects, at any moment. So these are below, and each
    worker of a run has its own.
    """
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    for _ in range(_PORTS):
        port = _FIRST_PORT + worker % _WORKERS * _PORTS + next(_given) % _PORTS
        with socket.socket() as free, suppress(OSError):
            free.bind(("", port))
            return port
    raise RuntimeError("no port is free")


@contextmanager
def redis(folder: Path) -> Iterator[int]:
    """Redis, which has what it acknowledged on the disk; its port."""
    program = shutil.which("redis-server")
    if program is None:
        missing("Redis is not installed")
    assert program is not None
    port = free_port()
    kept = ("--dir", str(folder), "--save", "", "--appendonly", "yes", "--appendfsync", "always")
    command = [program, "--port", str(port), "--bind", "127.0.0.1", "--logfile", str(folder / "log"), *kept]
    folder.mkdir()
    server = subprocess.Popen(["sh", "-c", TIED, "TERM", *command], stdin=subprocess.PIPE)
    try:
        wait_for(server, port, folder / "log", "Redis")
        yield port
    finally:
        assert server.stdin is not None
        server.stdin.close()
        server.wait()


@contextmanager
def nginx(folder: Path, server: str, port: int) -> Iterator[str]:
    """nginx with this `server` block, which listens on the port; its address."""
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    if not Path(program).exists():
        missing("nginx is not installed")
    folder.mkdir()
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = " ".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    user = "user root;" if os.getuid() == 0 else ""
    (folder / "nginx.conf").write_text(
        f"{user} daemon off; pid {folder}/pid; error_log {folder}/log; worker_processes 1; "
        f"worker_rlimit_nofile 8192; events {{ worker_connections 4096; }} http {{ {paths} {server} }}"
    )
    process = subprocess.Popen([program, "-c", str(folder / "nginx.conf"), "-p", str(folder)])
    try:
        wait_for(process, port, folder / "log", "nginx")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


@contextmanager
def caddy(folder: Path, text: str, port: int, **variables: str) -> Iterator[None]:
    """Caddy with this Caddyfile and these variables, which listens on the port."""
    program = shutil.which("caddy")
    if program is None:
        missing("Caddy is not installed")
    assert program is not None
    folder.mkdir()
    (folder / "Caddyfile").write_text(text)
    homes = {"HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    command = [program, "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, env=os.environ | homes | variables, stderr=log, stdout=log)
    try:
        wait_for(process, port, folder / "log", "Caddy")
        yield
    finally:
        process.terminate()
        process.wait()


def wait_for(process: subprocess.Popen[bytes], port: int, log: Path, name: str) -> None:
    """Until a server listens."""
    deadline = time.monotonic() + 60
    while True:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
            return
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, f"{name} does not answer"
        time.sleep(0.05)


@contextmanager
def small_disk(kilobytes: int) -> Iterator[Path]:
    """A file system that is soon full; skipped where none may be mounted."""
    folder = Path(tempfile.mkdtemp(prefix="deniable-disk-"))
    try:
        if subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", folder], capture_output=True
        ).returncode:
            missing("a small disk cannot be mounted, to be filled", "run the tests as root")
        try:
            yield folder
        finally:
            subprocess.run(["umount", "-l", folder], check=True)
    finally:
        folder.rmdir()


def grow(disk: Path, kilobytes: int) -> None:
    """As an operator does who makes room."""
    subprocess.run(["mount", "-o", f"remount,size={kilobytes}k", disk], check=True)
