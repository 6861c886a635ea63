"""Takes a collector through everything that goes wrong, while people answer and others attack it.

`python bench/endure.py`, as root, sends 100,000 hostile requests and kills the collector 40 times, half with
each store. Some people answer with tickets, which they exchange invitations for, and some in a round that is
open for a day. It moves the clock, fills the disk, and breaks it so that the kernel remounts it read-only.
Then it compares what was acknowledged with what is counted, and rewrites bench/ENDURANCE.md. The disk is an
ext4 file system in a file, and the clock is that of libfaketime.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from rich.progress import Progress, TaskID

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from tests import services  # noqa: E402
from tests.collector import BINARY, JSON, Running, collecting, small_plan, some_reports  # noqa: E402

from deniable.client import Client, NotSent  # noqa: E402
from deniable.collect.intake import hash_invitation  # noqa: E402
from deniable.store.schedule import Times  # noqa: E402
from deniable.store.store import Store, open_store  # noqa: E402
from deniable.study import Plan  # noqa: E402
from deniable.wire import Report, Wire, to_batch  # noqa: E402
from origin import describe_origin  # noqa: E402
from spec.make.keys import signing_key  # noqa: E402

PLAN = small_plan()
WIRE = Wire(PLAN.document)
TICKETED = small_plan("Tickets").with_ticket_key(signing_key(0).public)
TIMED = small_plan("Rounds", rounds=True)
HALF_A_DAY = 43_200.0  # seconds that round 1 of it is open, before and after the start
NEVER = 20 * 86_400.0, 30 * 86_400.0  # seconds after the start: round 2 is open when the clock never is
INVITED = 20_000
_COUNTED = re.compile(rb'"counted"[],]')  # an outcome; the number of them is "counted":0
PEOPLE, ATTACKERS = 4, 4
KILLS, REQUESTS = 20, 50_000  # for each store
JUMPS = ("+1h", "-1d", "+400d", "-10d", "+0")
MEGABYTES = {"sqlite": 96, "postgresql": 384}


class Disk:
    """An ext4 file system in a file, for one process to fill, break and repair."""

    def __init__(self, folder: Path, megabytes: int) -> None:
        self._image, self.folder = folder / "image", folder / "disk"
        self.folder.mkdir()
        with self._image.open("wb") as image:
            image.truncate(megabytes << 20)
        run("mkfs.ext4", "-q", str(self._image))
        self._mount()

    def _mount(self) -> None:
        run("mount", "-o", "loop,errors=remount-ro", str(self._image), str(self.folder))
        self.folder.chmod(0o755)

    def fill(self) -> None:
        """Write until nothing fits."""
        with suppress(OSError), (self.folder / "ballast").open("wb", buffering=0) as ballast:
            while True:
                ballast.write(bytes(1 << 16))

    def make_room(self) -> None:
        (self.folder / "ballast").unlink()
        os.sync()  # else it is back after the next repair

    def fail(self) -> None:
        """What the kernel does after an error of the medium: it remounts the file system read-only."""
        device = subprocess.check_output(["findmnt", "-no", "SOURCE", str(self.folder)], text=True).strip()
        (Path("/sys/fs/ext4") / Path(device).name / "trigger_fs_error").write_text("a drill")

    def repair(self) -> None:
        """What an operator does then; nobody may use it."""
        unmount = ["umount", str(self.folder)]
        wait_until(  # processes of a server that was stopped may take a moment to end
            lambda: subprocess.run(unmount, stderr=subprocess.DEVNULL, check=False).returncode == 0,
            "somebody uses the disk",
        )
        subprocess.run(["e2fsck", "-fy", str(self._image)], stdout=subprocess.DEVNULL, check=False)
        self._mount()

    def close(self) -> None:
        subprocess.run(["umount", "-l", str(self.folder)], check=False)


def run(*command: str) -> None:
    subprocess.run(command, check=True)


@dataclass
class Ledger:
    """What was sent and what came back, of all threads."""

    acknowledged: dict[bytes, bytes] = field(default_factory=dict)
    ticketed: dict[bytes, bytes] = field(default_factory=dict)
    timed: dict[bytes, bytes] = field(default_factory=dict)
    honest: Counter[int] = field(default_factory=Counter)
    hostile: Counter[int] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    def attacked(self) -> int:
        """Hostile requests so far; those to which nobody listened are not among them."""
        return sum(self.hostile.copy().values())


def answer(ledger: Ledger, running: Running, seed: int) -> None:
    """Be one of the people: send new reports and old ones, each until it is acknowledged."""
    chance = random.Random(seed)
    made: list[Report] = []
    with httpx.Client(timeout=30) as client:
        for block in range(1_000_000):
            new = some_reports(PLAN, 200, seed=seed * 1_000_000 + block)
            while new:
                single = chance.random() < 0.7
                some = [new.pop() for _ in range(min(len(new), 1 if single else 50))]
                some += chance.sample(made, min(len(made), 5)) if not single else []
                deliver(ledger, client, running, some, chance)
                made = [*made[-1000:], *some]
            if ledger.over.is_set():
                return


def deliver(
    ledger: Ledger, client: httpx.Client, running: Running, some: list[Report], chance: random.Random
) -> None:
    path, raw, kind = "/reports/batch", to_batch(some), BINARY
    if len(some) == 1:
        text = chance.random() < 0.5
        path, kind = "/reports", JSON if text else BINARY
        raw = WIRE.to_json(some[0]) if text else some[0].to_bytes()
    while True:
        try:
            came = client.post(f"{running.url}{path}", content=raw, headers=kind)
        except httpx.TransportError:
            time.sleep(0.05)
            continue
        ledger.honest[came.status_code] += 1
        if came.status_code == 503:
            time.sleep(0.05)
            continue
        if came.status_code not in (200, 201):
            ledger.wrong.append(f"an honest report was answered by {came.status_code}: {came.text[:200]}")
        elif not set(came.json().get("outcomes", [])) <= {"counted", "counted before"}:
            ledger.wrong.append(f"an honest batch was answered by {came.text[:200]}")
        else:
            ledger.acknowledged.update((one.id, one.body) for one in some)
        return


def answer_with_tickets(ledger: Ledger, running: Running, seed: int) -> None:
    """Exchange invitations and send reports, each until it is acknowledged; then try each ticket again."""
    for number in range(seed, INVITED):
        client, other = (
            Client(TICKETED, secret=f"{kind} secret of {number}".encode()) for kind in ("first", "other")
        )
        answers = {"color": "red", "smokes": "yes" if number % 3 else "no"}
        report, second = client.report(answers), other.report(answers)
        is_acknowledged = False
        while True:
            try:
                ticket = client.exchange(running.url, f"invitation {number}", attempts=1)
                client.send(running.url, report, ticket=ticket, attempts=1)
                ledger.ticketed[report.id] = report.body
                ledger.honest[201] += 1
                is_acknowledged = True
                other.send(running.url, second, ticket=ticket, attempts=1)
                ledger.wrong.append(f"the ticket of invitation {number} let in two reports")
                break
            except NotSent as problem:
                if is_acknowledged and problem.reason == "ticket":
                    ledger.hostile[problem.status] += 1
                    break
                note_refusal(ledger, problem)
        if ledger.over.is_set():
            return


def note_refusal(ledger: Ledger, problem: NotSent) -> None:
    """Note an answer after which an honest report is sent again."""
    if problem.status:
        ledger.honest[problem.status] += 1
    if problem.status not in (0, 503):
        ledger.wrong.append(f"an honest report was answered by {problem.status}: {problem}")
    time.sleep(0.05)


def answer_in_time(ledger: Ledger, running: Running, seed: int) -> None:
    """Send reports to a round that is open at some of the times to which the clock jumps."""
    with httpx.Client(timeout=30) as client:
        for block in range(1_000_000):
            for report in some_reports(TIMED, 200, seed=seed * 1_000_000 + 5 * 10**8 + block):
                while True:
                    try:
                        came = client.post(
                            f"{running.url}/reports", content=report.to_bytes(), headers=BINARY
                        )
                    except httpx.TransportError:
                        time.sleep(0.05)
                        continue
                    ledger.honest[came.status_code] += 1
                    if came.status_code in (200, 201):
                        ledger.timed[report.id] = report.body
                        break
                    if came.status_code not in (409, 503):
                        ledger.wrong.append(f"a report in time was answered by {came.status_code}")
                    time.sleep(0.05)
                if ledger.over.is_set():
                    return
                time.sleep(0.01)  # others send most


def hostile_requests(seed: int) -> Iterator[bytes]:
    """Requests of which none may be counted."""
    chance = random.Random(seed)
    reports = some_reports(PLAN, 500, seed=10**9 + seed)
    without_ticket = some_reports(TICKETED, 100, seed=10**9 + seed)
    closed = some_reports(TIMED, 100, seed=10**9 + seed, number=2)
    while True:
        report = chance.choice(reports)
        raw, text = report.to_bytes(), WIRE.to_json(report)
        at = chance.randrange(9)  # the version and the plan
        many = 1 + chance.randrange(9000)
        length = len(raw).to_bytes(4, "little")
        uninvited, early = (chance.choice(some).to_bytes() for some in (without_ticket, closed))
        forged = b"Authorization: Ticket " + chance.randbytes(288).hex().encode()
        guessed = b"Authorization: Invitation " + chance.randbytes(8).hex().encode()
        yield chance.choice(
            [
                post(raw[:at] + bytes([raw[at] ^ 0x55]) + raw[at + 1 :]),
                post(raw[: chance.randrange(len(raw))]),
                post(raw + chance.randbytes(1 + chance.randrange(40))),
                post(raw[:-1] + b"\xff"),
                post(chance.randbytes(chance.randrange(200))),
                post(raw, kind=chance.choice(("text/plain", "application/json", "a/b; c", ""))),
                post(text.replace(b":", b": ", 1), kind="application/json"),
                post(text.replace(b"{", b'{"id":0,', 1), kind="application/json"),
                post(text.replace(b"1", b"1e0", 1) + b" ", kind="application/json"),
                post(b"[" * many, kind="application/json"),
                post(b'{"version":' + b"9" * many + b"}", kind="application/json"),
                post(length + raw + b"\xff\xff\xff\xff", "/reports/batch"),
                post((len(raw) + 1).to_bytes(4, "little") + raw, "/reports/batch"),
                post(raw, length=len(raw) + chance.choice((-5, 7))),
                post(raw, length=-1),
                post(raw, more=b"Transfer-Encoding: chunked"),
                post(raw, more=b"X: " + b"y" * (8 * many) + b"\r\nA B: c"),
                post(raw, method=chance.choice(("PUT", "DELETE", "PATCH", "TRACE", "G ET"))),
                post(uninvited),
                post(uninvited, more=forged),
                post(uninvited, more=guessed),
                post(len(uninvited).to_bytes(4, "little") + uninvited, "/reports/batch", more=forged),
                post(chance.randbytes(256), f"/plans/{TICKETED.id}/signatures", more=guessed),
                post(early),
                head("GET", f"/plans/{'../' * (1 + at)}etc/passwd%00"),
                head("GET", "/" + "a" * many),
                head("GET", "/metrics", b"Authorization: Bearer " + chance.randbytes(12).hex().encode()),
                head("POST", f"/plans/{PLAN.id}/rounds", b"Authorization: Bearer x"),
                chance.randbytes(1 + chance.randrange(2000)),
                post(raw)[: chance.randrange(20, 80)],
            ]
        )


def post(
    raw: bytes,
    path: str = "/reports",
    kind: str = "application/octet-stream",
    length: int | None = None,
    more: bytes = b"",
    method: str = "POST",
) -> bytes:
    size = len(raw) if length is None else length
    return head(method, path, f"Content-Type: {kind}\r\nContent-Length: {size}".encode(), more) + raw


def head(method: str, path: str, *more: bytes) -> bytes:
    first = f"{method} {path} HTTP/1.1\r\nHost: here\r\nConnection: close".encode()
    return b"\r\n".join([first, *filter(None, more), b"", b""])


def attack(ledger: Ledger, running: Running, seed: int, requests: int) -> None:
    """Send hostile requests, each over a connection of its own, and note what comes back."""
    port = int(running.url.rpartition(":")[2])
    for raw in hostile_requests(seed):
        if ledger.attacked() >= requests:
            return
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=10) as line:
                with suppress(ConnectionError):
                    line.sendall(raw)
                line.shutdown(socket.SHUT_WR)
                came = b""
                with suppress(ConnectionError):
                    while part := line.recv(4096):
                        came += part
        except OSError:
            time.sleep(0.02)  # nobody listens, or not any more
            continue
        words = came.split(b" ", 2)
        status = int(words[1]) if came.startswith(b"HTTP/") and words[1].isdigit() else 0
        ledger.hostile[status] += 1
        if status == 201 or (status >= 500 and status != 503) or _COUNTED.search(came):
            ledger.wrong.append(f"{raw[:200]!r} was answered by {came[:300]!r}")


def endure(kind: str, requests: int, kills: int, step: Callable[[str], None]) -> Ledger:
    """Take one store through everything; what was wrong is in the ledger."""
    chance, ledger = random.Random(kind), Ledger()
    with tempfile.TemporaryDirectory(prefix="deniable-endure-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # PostgreSQL runs as somebody else
        disk, clock = Disk(folder, MEGABYTES[kind]), folder / "clock"
        clock.write_text("+0")
        cluster = None
        try:
            cluster = services.cluster(disk.folder) if kind == "postgresql" else None
            url = cluster.url() if cluster else f"sqlite:///{disk.folder}/reports.db"
            signing_key(0).write(folder / "tickets.key", TICKETED.id)
            prepare(url)
            options = ("--store", url, "--ticket-key", "tickets.key")
            with collecting(folder, [PLAN, TICKETED, TIMED], *options, **jumping(clock)) as running:
                people = start(answer, ledger, running, PEOPLE)
                people += start(answer_with_tickets, ledger, running, 1)
                people += start(answer_in_time, ledger, running, 1)
                attackers = start(attack, ledger, running, ATTACKERS, requests)
                for n in range(kills):
                    time.sleep(chance.uniform(0.3, 2.0))
                    running.kill()
                    running.start()
                    step(f"killed {n + 1} times")
                for jump in JUMPS:
                    clock.write_text(jump)
                    wait_for_reports(ledger)
                    step(f"the clock is at {jump}")
                disk.fill()
                wait_for_refusal(running)
                disk.make_room()
                wait_for_reports(ledger)
                step("the disk was full")
                disk.fail()
                wait_for_refusal(running)
                server: services.Cluster | Running = cluster or running
                running.kill() if cluster is None else cluster.stop()
                disk.repair()
                server.start()
                wait_for_reports(ledger)
                step("the disk was read-only")
                for one in attackers:
                    one.join()
                ledger.over.set()
                for one in people:
                    one.join()
                assert running.stop() == 0, running.errors()[-2000:]
            ledger.wrong += compare(url, ledger)
            return ledger
        finally:
            ledger.over.set()
            if cluster is not None:
                cluster.stop()
            disk.close()


def prepare(url: str) -> None:
    """Make the invitations and the timed rounds."""
    store, now = open_store(url), time.time()
    store.register(TICKETED.document, invited=True)
    store.set_round(TICKETED.id, 1)
    store.invite(TICKETED.id, [hash_invitation(f"invitation {n}".encode()) for n in range(INVITED)])
    store.register(TIMED.document)
    opens = Times(1, now - HALF_A_DAY, now + HALF_A_DAY), Times(2, now + NEVER[0], now + NEVER[1])
    store.set_rounds(TIMED.id, opens)
    store.close()


def start(
    what: Callable[..., None], ledger: Ledger, running: Running, count: int, *more: object
) -> list[threading.Thread]:
    """Threads that end when the ledger says so."""
    threads = [
        threading.Thread(target=what, args=(ledger, running, n + 1, *more), daemon=True) for n in range(count)
    ]
    for one in threads:
        one.start()
    return threads


def jumping(clock: Path) -> dict[str, str]:
    """What makes a process read its clock from a file."""
    found = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
    assert found is not None, "libfaketime is not installed; apt-get install libfaketime"
    return {
        "LD_PRELOAD": str(found),
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_CACHE_DURATION": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }


def wait_for_reports(ledger: Ledger) -> None:
    """Until many more are acknowledged."""
    enough = len(ledger.acknowledged) + 200
    wait_until(lambda: len(ledger.acknowledged) >= enough, "nothing is acknowledged any more")


def wait_for_refusal(running: Running) -> None:
    """Until the collector says that it cannot store anything; then a while longer."""
    wait_until(lambda: running.get("/ready").status_code == 503, "/ready says that reports can be stored")
    time.sleep(2)
    assert running.get("/health").status_code == 200


def wait_until(true: Callable[[], bool], else_say: str) -> None:
    deadline = time.monotonic() + 180
    while not true():
        assert time.monotonic() < deadline, else_say
        time.sleep(0.05)


def compare(url: str, ledger: Ledger) -> list[str]:
    """In what the store differs from what was acknowledged."""
    store = open_store(url, create=False)
    wrong = [*store.find_damage(), *store.check()]
    for name, plan, acknowledged in (
        ("plain", PLAN, ledger.acknowledged),
        ("with tickets", TICKETED, ledger.ticketed),
        ("timed", TIMED, ledger.timed),
    ):
        wrong += compare_plan(name, store, plan, acknowledged)
    store.close()
    return wrong


def compare_plan(name: str, store: Store, plan: Plan, acknowledged: dict[bytes, bytes]) -> Iterator[str]:
    """In what its counted reports differ from those that were acknowledged."""
    counted = store.counted(plan.id)
    if counted != len(acknowledged):
        yield f"{name}: {counted:,} are counted, but {len(acknowledged):,} were acknowledged"
    if not acknowledged:
        yield f"{name}: nothing was acknowledged"
    if store.tallies(plan.id, 1) != plan.tally(Wire(plan.document).reports(list(acknowledged.values()))):
        yield f"{name}: the tallies are not those of what was acknowledged"


def write(ledgers: dict[str, Ledger], kills: int, origin: str) -> str:
    """The text of bench/ENDURANCE.md."""
    lines = [
        "# The collector through everything that goes wrong",
        "",
        "Made by `make endure`, which needs root for its disks. While people answer and hostile requests",
        f"come in, the collector is killed {kills} times. Its clock jumps ({', '.join(JUMPS)}). Its disk",
        "is full. The kernel remounts it read-only after an error. Every report is sent until it is",
        "acknowledged. Some come with tickets, each of which is tried twice, and some to a round that is",
        "closed at some of these times. At the end the tallies must be those of the acknowledged reports,",
        "each once, and the database must find nothing wrong with its files.",
        "",
        f"{origin}, {os.cpu_count()} cores.",
        "",
        "| store | acknowledged | with tickets | to a timed round | honest requests, by status | hostile "
        "requests, by status | wrong |",
        "|---|--:|--:|--:|---|---|--:|",
    ]
    for kind, ledger in ledgers.items():
        lines.append(
            f"| {kind} | {len(ledger.acknowledged):,} | {len(ledger.ticketed):,} | "
            f"{len(ledger.timed):,} | {by_status(ledger.honest)} | "
            f"{by_status(ledger.hostile)} | {len(ledger.wrong)} |"
        )
    last = (
        "Status 0: the connection was closed without an answer, by a kill or because what came was no HTTP."
    )
    return "\n".join([*lines, "", last, ""])


def by_status(counts: Counter[int]) -> str:
    return ", ".join(f"{status}: {count:,}" for status, count in sorted(counts.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=REQUESTS, help="hostile ones, for each store")
    parser.add_argument("--kills", type=int, default=KILLS, help="for each store")
    parser.add_argument("--store", choices=[*MEGABYTES], help="only this one; writes no file")
    given = parser.parse_args()
    origin = describe_origin()
    ledgers: dict[str, Ledger] = {}
    with Progress() as progress:
        for kind in [given.store] if given.store else MEGABYTES:
            bar = progress.add_task(f"{kind}: starting", total=given.kills + len(JUMPS) + 2)

            def step(words: str, kind: str = kind, bar: TaskID = bar) -> None:
                progress.update(bar, advance=1, description=f"{kind}: {words}")

            ledgers[kind] = endure(kind, given.requests, given.kills, step)
    text = write(ledgers, given.kills, origin)
    print(text)
    wrong = [f"{kind}: {each}" for kind, ledger in ledgers.items() for each in ledger.wrong]
    if wrong:
        sys.exit("\n".join(wrong[:50]))
    if not given.store:
        (HERE / "ENDURANCE.md").write_text(text)


if __name__ == "__main__":
    main()
