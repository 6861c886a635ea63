"""The collector under load, on loopback, beside what the same parts can do without it; ratios from one run.

`python bench/load.py` prints the tables, checks the bars and rewrites bench/LOAD.md. `--reports 10000000` is
for the bars that speak of so many; the number that was used is in the table.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import socket
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import psutil
import uvloop

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from tests import services  # noqa: E402
from tests.collector import HTTP, OPERATOR, Running  # noqa: E402

import deniable as dn  # noqa: E402
from deniable.client import Client  # noqa: E402
from deniable.store import sweeping  # noqa: E402
from deniable.study import Plan  # noqa: E402
from deniable.wire import Report, Wire  # noqa: E402
from origin import describe_origin  # noqa: E402

CONNECTIONS = (16, 64, 128)
SECONDS = 3.0
TURNS = 5
BATCH = 1000
FLAT = 1.1  # how much more memory the second half of the reports may take
COLLECTORS = 1.1  # how much more CPU a report may take with two collectors on one PostgreSQL
DEVICE = 2.0  # milliseconds: the noise of each answer comes from the secret, by an HMAC of its own
ATTRIBUTES = {f"question {j}": [f"answer {v}" for v in range(10)] for j in range(10)}
Ratio = tuple[str, float, float, float | None]  # what, ours a second, theirs a second, at least


def some_plan() -> Plan:
    return Plan.of(ATTRIBUTES, dn.spl([10] * 10, 5.0, "grr"), people=10_000)


class Reports:
    """An endless supply of different reports, as requests that are ready to be sent."""

    def __init__(self, plan: Plan, kind: str) -> None:
        self._wire, self._kind = Wire(plan.document), kind
        answers = {name: [values[i % 10] for i in range(BATCH)] for name, values in ATTRIBUTES.items()}
        self.bodies = self._wire.bodies(plan.privatize(answers, dn.seeded(1)))
        made = (Report(self._wire.prefix, 1, bytes(16), body) for body in self.bodies)
        self._texts = (
            [self._wire.to_json(report).split(b"0" * 32) for report in made] if kind == "json" else []
        )

    def one(self, i: int) -> bytes:
        if self._kind == "json":
            before, after = self._texts[i % BATCH]
            return self._request(
                "/reports", "application/json", before + os.urandom(16).hex().encode() + after
            )
        return self._request("/reports", "application/octet-stream", self._report(i).to_bytes())

    def batch(self) -> tuple[bytes, list[Report]]:
        reports = [self._report(i) for i in range(BATCH)]
        raw = b"".join(struct.pack("<I", len(each.to_bytes())) + each.to_bytes() for each in reports)
        return raw, reports

    def _report(self, i: int) -> Report:
        return Report(self._wire.prefix, 1, os.urandom(16), self.bodies[i % BATCH])

    @staticmethod
    def _request(path: str, kind: str, body: bytes) -> bytes:
        head = (
            f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nContent-Length: "
            f"{len(body)}\r\n\r\n"
        )
        return head.encode() + body


def rate(url: str, reports: Reports, connections: int) -> float:
    """Answers a second from so many connections, each of which sends a report when the last one
    is answered.
    """
    host, port = url.removeprefix("http://").split(":")

    async def sender(number: int, until: float) -> int:
        reader, writer = await asyncio.open_connection(host, int(port))
        answered, i = 0, number * 31
        while time.perf_counter() < until:
            writer.write(reports.one(i))
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 201"), head[:200]
            await reader.readexactly(int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]))
            answered, i = answered + 1, i + 1
        writer.close()
        return answered

    async def all_senders() -> float:
        start = time.perf_counter()
        found = await asyncio.gather(*(sender(number, start + SECONDS) for number in range(connections)))
        return sum(found) / (time.perf_counter() - start)

    return uvloop.run(all_senders())


def in_turns(ours: Callable[[], float], theirs: Callable[[], float]) -> tuple[float, float]:
    """The rates of the turn whose ratio is the middle one: what else runs here slows two neighbors about as
    much.
    """
    turns = sorted(((ours(), theirs()) for _ in range(TURNS)), key=lambda turn: turn[0] / turn[1])
    return turns[TURNS // 2]


class ParseOnly:
    """The same framework, with an endpoint that reads a report's bytes or JSON and forgets it."""

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.process = subprocess.Popen([sys.executable, str(HERE / "parse_only.py"), str(port)])
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            try:
                httpx.get(self.url, timeout=1)
                return
            except httpx.TransportError:
                time.sleep(0.05)
        raise RuntimeError("the endpoint that only parses did not start")

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()


def singles(folder: Path) -> Iterator[Ratio]:
    plan = some_plan()
    parser = ParseOnly()
    running = Running(folder, [plan], ["--rate", "0", "--store", f"sqlite:///{folder}/singles.db"], {})
    try:
        for kind in ("binary", "json"):
            reports = Reports(plan, kind)
            for connections in CONNECTIONS:
                ours, theirs = in_turns(
                    lambda: rate(running.url, reports, connections),  # noqa: B023
                    lambda: rate(parser.url, reports, connections),  # noqa: B023
                )
                yield (
                    f"single {kind}, {connections} connections",
                    ours,
                    theirs,
                    0.5 if connections >= 64 else None,
                )
    finally:
        parser.stop()
        running.stop()


def post_batches(running: Running, reports: Reports, count: int) -> float:
    """Reports a second in batches over HTTP, two at a time."""

    async def sender(client: httpx.AsyncClient, waiting: list[bytes]) -> None:
        while waiting:
            answer = await client.post(
                "/reports/batch", content=waiting.pop(), headers={"Content-Type": "application/octet-stream"}
            )
            assert answer.json()["counted"] == BATCH, answer.text[:200]

    async def both() -> float:
        waiting = [reports.batch()[0] for _ in range(count)]
        async with httpx.AsyncClient(base_url=running.url, timeout=60) as client:
            start = time.perf_counter()
            await asyncio.gather(sender(client, waiting), sender(client, waiting))
            return BATCH * count / (time.perf_counter() - start)

    return uvloop.run(both())


def bare_sqlite(folder: Path, reports: Reports, count: int) -> float:
    """The same rows into the same kind of table, durably, and nothing else."""
    connection = sqlite3.connect(folder / "bare.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    keys = "plan INTEGER, round INTEGER, id BLOB, body BLOB, PRIMARY KEY (plan, round, id)"
    connection.execute(f"CREATE TABLE IF NOT EXISTS reports ({keys}) WITHOUT ROWID")
    made = [[(1, 1, each.id, each.body) for each in reports.batch()[1]] for _ in range(count)]
    start = time.perf_counter()
    for rows in made:
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT INTO reports VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", rows)
        connection.execute("COMMIT")
    found = BATCH * count / (time.perf_counter() - start)
    connection.close()
    return found


def bare_postgres(url: str, reports: Reports, count: int, twice: bool = False) -> float:
    """The same; `twice` deletes and writes all rows again at the end, sorted by ids, as a sweep has to."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        keys = "plan INTEGER, round INTEGER, id BYTEA, body BYTEA, PRIMARY KEY (plan, round, id)"
        connection.execute(f"CREATE TABLE IF NOT EXISTS bare ({keys})")
        connection.execute(f"CREATE TABLE IF NOT EXISTS again ({keys})")
        connection.execute("CREATE TEMPORARY TABLE arriving (id BYTEA, body BYTEA)")
        made = [[(each.id, each.body) for each in reports.batch()[1]] for _ in range(count)]
        start = time.perf_counter()
        for rows in made:
            with connection.transaction():
                with connection.cursor().copy("COPY arriving FROM STDIN") as copy:
                    for row in rows:
                        copy.write_row(row)
                connection.execute(
                    "INSERT INTO bare SELECT 1, 1, id, body FROM arriving ON CONFLICT DO NOTHING"
                )
                connection.execute("TRUNCATE arriving")
        if twice:
            with connection.transaction():
                connection.execute(
                    "WITH gone AS (DELETE FROM bare RETURNING *) INSERT INTO again SELECT * FROM gone "
                    "ORDER BY id"
                )
        return BATCH * count / (time.perf_counter() - start)


def batches(folder: Path, count: int) -> Iterator[Ratio]:
    plan = some_plan()
    reports = Reports(plan, "binary")
    cluster = services.cluster()
    stores: dict[str, tuple[str, Callable[[], float], float | None]] = {
        "SQLite": (f"sqlite:///{folder}/batches.db", lambda: bare_sqlite(folder, reports, count), 0.5),
        # it appends, so that a sweep has to delete each report and write it a second time: a floor
        "PostgreSQL": (cluster.url(), lambda: bare_postgres(cluster.url(), reports, count), 0.4),
        # without what the second writing takes
        "PostgreSQL beside two inserts": (
            cluster.url(),
            lambda: bare_postgres(cluster.url(), reports, count, twice=True),
            0.5,
        ),
    }
    for name, (url, bare, bar) in stores.items():
        run_folder = folder / name
        run_folder.mkdir()
        running = Running(run_folder, [plan], ["--rate", "0", "--store", url], {})
        try:
            ours, theirs = in_turns(lambda: post_batches(running, reports, count), bare)  # noqa: B023
            yield f"batches of {BATCH:,}, {name}", ours, theirs, bar
        finally:
            running.stop()


def collectors(folder: Path, count: int) -> Iterator[str]:
    """CPU seconds of a million reports in batches, of all collectors and the PostgreSQL that they share."""
    plan, cluster = some_plan(), services.cluster()
    reports = Reports(plan, "binary")
    found: dict[int, list[float]] = {}
    for turn in range(TURNS):
        for number in (1, 2):
            url, running = cluster.url(), []
            try:
                for position in range(number):
                    run_folder = folder / f"collectors-{turn}-{number}-{position}"
                    run_folder.mkdir()
                    running.append(Running(run_folder, [plan], ["--rate", "0", "--store", url], {}))
                before = _cpu_seconds()
                with ThreadPoolExecutor() as senders:
                    list(senders.map(lambda one: post_batches(one, reports, count // len(running)), running))  # noqa: B023
                spent = (_cpu_seconds() - before) / (count * BATCH) * 1e6
                found.setdefault(number, []).append(spent)
                estimate = {str(one.get(f"/plans/{plan.id}/tallies").json()) for one in running}
                assert len(estimate) == 1, "all collectors have the same tallies"
            finally:
                for one in running:
                    one.stop()
    ratio = sorted(two / one for one, two in zip(found[1], found[2], strict=True))[TURNS // 2]
    if ratio > COLLECTORS:
        MISSED.append(f"CPU of two collectors: {ratio:.2f} times that of one, not {COLLECTORS}")
    for number, seconds in found.items():
        yield f"| {number} | {sorted(seconds)[TURNS // 2]:.1f} | {ratio if number > 1 else 1:.2f} |"


def _cpu_seconds() -> float:
    """Of all processes that this one started, and of theirs."""
    times = [process.cpu_times() for process in psutil.Process().children(recursive=True)]
    return float(sum(one.user + one.system for one in times))


def large(folder: Path, total: int) -> list[str]:
    """Memory and the time of an estimate as reports arrive."""
    plan = some_plan()
    reports = Reports(plan, "binary")
    run_folder = folder / "large"
    run_folder.mkdir()
    running = Running(run_folder, [plan], ["--rate", "0", "--store", f"sqlite:///{run_folder}/large.db"], {})
    lines, missed, sizes = [], [], []
    batches = max(1, round(total / BATCH))
    step, sent = max(100, -(-batches // 10)), 0
    try:
        while sent < batches * BATCH:
            some = max(1, min(step, batches - sent // BATCH))
            post_batches(running, reports, some)
            sent += BATCH * some
            mebibytes = psutil.Process(running.process.pid).memory_info().rss / 2**20
            kept = min(_estimate_seconds(running, plan) for _ in range(5))
            fresh = min(_fresh_seconds(running, reports, plan) for _ in range(5))
            sent += 5 * BATCH
            lines.append(f"| {sent:,} | {mebibytes:.0f} | {fresh * 1e3:.1f} | {kept * 1e3:.1f} |")
            sizes.append(mebibytes)
            if mebibytes > 300 or fresh > 0.05:
                missed.append(f"{sent:,} reports: {mebibytes:.0f} MiB, {fresh * 1e3:.0f} ms")
    finally:
        running.stop()
    if sizes[-1] > FLAT * sizes[len(sizes) // 2]:
        missed.append(
            f"memory is not flat: {sizes[len(sizes) // 2]:.0f} MiB halfway, {sizes[-1]:.0f} MiB at the end"
        )
    MISSED.extend(missed)
    return lines


def _fresh_seconds(running: Running, reports: Reports, plan: Plan) -> float:
    """Of the first answer after new reports: the collector keeps an answer until others come."""
    post_batches(running, reports, 1)
    return _estimate_seconds(running, plan)


def _estimate_seconds(running: Running, plan: Plan) -> float:
    start = time.perf_counter()
    assert (
        HTTP.get(f"{running.url}/plans/{plan.id}/estimates", headers=OPERATOR, timeout=60).status_code == 200
    )
    return time.perf_counter() - start


def one_record() -> list[str]:
    """How long it takes to privatize one record: what a device does for each report."""
    plan = some_plan()
    answers = {name: labels[3] for name, labels in ATTRIBUTES.items()}
    taken = {
        "Python": _milliseconds(lambda: plan.privatize([answers], dn.randomness.system())),
        "Python, with a new client that verifies and keeps a ledger": _milliseconds(
            lambda: Client(plan, os.urandom(32), cap=6.0).report(answers)
        ),
    }
    bundle = HERE.parent / "js" / "dist" / "client.js"
    program = shutil.which("chromium")
    if bundle.exists() and program:
        from playwright.sync_api import sync_playwright

        with sync_playwright() as started:
            page = started.chromium.launch(executable_path=program, args=["--no-sandbox"]).new_page()
            page.route(
                "**/*", lambda route: route.fulfill(body="<title>bench</title>", content_type="text/html")
            )
            page.route(
                "**/*.js",
                lambda route: route.fulfill(path=bundle.parent / route.request.url.rpartition("/")[2]),
            )
            page.goto(
                "http://localhost/"
            )  # which is answered by the two lines above, and counts as a secure place
            found = page.evaluate(_IN_CHROMIUM, [plan.to_json(), answers])
        taken["Chromium, with a new client that verifies and keeps a ledger"] = found
    else:
        MISSED.append(
            "one record in Chromium: js/dist/client.js (cd js && npm run build) or chromium is not there"
        )
    MISSED.extend(f"one record, {what}: {taken[what]:.2f} ms" for what in taken if taken[what] > DEVICE)
    return [f"| {what} | {took:.2f} |" for what, took in taken.items()]


_IN_CHROMIUM = """async ([text, answers]) => {
  const { Client, Ledger, Plan, memoryStore } = await import("/client.js");
  const plan = await Plan.fromJson(text);
  let best = Infinity;
  for (let turn = 0; turn < 9; turn++) {
    const start = performance.now();
    for (let i = 0; i < 100; i++)
      await new Client(plan, { cap: 6, ledger: new Ledger(memoryStore()) }).report(answers);
    best = Math.min(best, (performance.now() - start) / 100);
  }
  return best;
}"""


def _milliseconds(work: Callable[[], object]) -> float:
    found = []
    for _ in range(9):
        start = time.perf_counter()
        for _ in range(100):
            work()
        found.append((time.perf_counter() - start) * 10)
    return min(found)


MISSED: list[str] = []


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--reports", type=int, default=300_000, help="how many for memory and estimates")
    whole = sweeping.MOST // BATCH  # a turn has one sweep, as a busy collector has
    parser.add_argument("--batches", type=int, default=whole, help="how many batches in a turn")
    options = parser.parse_args()
    lines = [
        f"{describe_origin()}, 2 cores shared with the load and with others; 10 questions, the "
        f"middle one of {TURNS} turns. Only ratios mean something.",
        "",
        "| work | the collector, a second | without it | ratio | at least |",
        "|---|--:|--:|--:|--:|",
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for what, ours, theirs, bar in [*singles(folder), *batches(folder, options.batches)]:
            lines.append(f"| {what} | {ours:,.0f} | {theirs:,.0f} | {ours / theirs:.2f} | {bar or '-'} |")
            print(lines[-1], flush=True)
            if bar is not None and ours / theirs < bar:
                MISSED.append(f"{what}: {ours / theirs:.2f}, not {bar}")
        lines += [
            "",
            "Singles are beside an endpoint of the same framework that only parses the body; batches beside "
            "a bare, durable insert of the same rows into the same database, as it is by default and in the "
            "order in which they come. To hide this order, a sweep of PostgreSQL has to delete each "
            "report and write it a second time; so its bar is lower. What is counted "
            "here is on disk when it is acknowledged: 16 connections never have more than 16 reports on "
            "their way to it, so that the disk is measured there; no bar is set for that.",
            "",
            "| collectors on one PostgreSQL | CPU, seconds a million reports | ratio (at most 1.1) |",
            "|--:|--:|--:|",
            *collectors(folder, 5 * options.batches // 2),  # each of two has a sweep, and one has two
            "",
            "| reports so far | memory, MiB (at most 300) | estimates after new reports, ms (at most 50) | "
            "the same again, ms |",
            "|--:|--:|--:|--:|",
            *large(folder, options.reports),
            "",
            f"| one record of 10 attributes, on a device | ms (at most {DEVICE:g}) |",
            "|---|--:|",
            *one_record(),
        ]
    (HERE / "LOAD.md").write_text(
        "# The collector under load\n\nMade by `make load`.\n\n" + "\n".join(lines) + "\n"
    )
    print("\n".join(lines))
    for line in MISSED:
        print(f"missed: {line}")
    sys.exit(1 if MISSED else 0)


if __name__ == "__main__":
    main()
