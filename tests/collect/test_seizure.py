"""Seizes the live files of a study again and again, and tries to link and to order its reports.

The planted fault is a store that is never swept. There the same reading of the same files succeeds.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from itertools import count
from pathlib import Path
from typing import ClassVar, final

import pytest

import deniable as dn
from deniable.errors import InvalidParameter
from deniable.records import Single
from deniable.store import sweeping
from deniable.store.database import Cleared
from deniable.store.postgres import Postgres
from deniable.store.sqlite import Sqlite
from deniable.store.store import Arrival, StoreUnavailable, open_store
from deniable.store.sweeping import Sweeper, Traces
from deniable.study import Plan
from spec.make.keys import signing_key
from tests import seizure, services
from tests.cases import by_night
from tests.collect.test_store import hashed
from tests.collector import BINARY, HTTP, collecting, small_plan, some_reports
from tests.running import run_in
from tests.seizure import Evidence, Written
from tests.store_worker import FLIPPED, SAMPLED, SPLIT, arrivals

MOST = 2000  # reports, more than a study of a few seconds gets
SEIZURES, PATIENCE = 3, 80  # that must see swept reports, and that are made at most
FEW = 30  # reports of which an order would be seen
KINDS = ("sqlite", "postgres")
CROWD, LONG = 161, 2063  # people with tickets, and the bytes of their reports
_seeds = count(1000)  # no two studies in one PostgreSQL have the same ids
ALIKE = 40  # of 80 places: more than two random orders have in common


@final
class Study:
    """Reports with invitations that come one by one, to a store that may be swept."""

    def __init__(self, kind: str, folder: Path, seconds: float) -> None:
        self._path = folder / "a.db"
        self._cluster = services.cluster() if kind == "postgres" else None
        self._url = f"sqlite:///{self._path}" if self._cluster is None else self._cluster.url()
        self.store = open_store(self._url)
        self.store.register(SPLIT.document, invited=True)
        self.store.set_round(SPLIT.id, 1)
        self._some = [Arrival(*one[:4], hashed(i)) for i, one in enumerate(arrivals(SPLIT, MOST, 1))]
        self.store.invite(SPLIT.id, [hashed(i) for i in range(MOST)])
        self.store.sweep()
        self.came: dict[bytes, float] = {}
        """When the reports were acknowledged."""
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._collect)
        self._sweeper = Sweeper(self.store, seconds)

    def _collect(self) -> None:
        for one in self._some:
            if self._end.wait(0.005):
                return
            assert self.store.add([one], 0.0) == ["counted"]
            self.came[one.ids[0]] = time.time()

    @contextmanager
    def running(self) -> Iterator[None]:
        """While reports come; what is not swept then is left as it is."""
        self._thread.start()
        try:
            yield
        finally:
            self._end.set()
            self._thread.join()
            self._sweeper.close()
            self.store._database.close()

    def seize(self) -> tuple[list[bytes], list[bytes], Evidence]:
        """The reports so far, those of them that were swept, and what the files tell."""
        moment, came = self.store.traces.swept or 0.0, list(self.came.items())
        if self._cluster is None:
            found = seizure.read_sqlite(seizure.seize_sqlite(self._path))
        else:
            found = seizure.read_postgres(seizure.seize_postgres(self._cluster, self._url))
        return [name for name, _ in came], [name for name, when in came if when < moment], found


@final
class Crowd:
    """A study with tickets, long bodies and a small pool; with PostgreSQL, two collectors share it."""

    def __init__(self, kind: str, folder: Path) -> None:
        self._path = folder / "a.db"
        self.cluster = services.cluster() if kind == "postgres" else None
        self._url = f"sqlite:///{self._path}" if self.cluster is None else self.cluster.url()
        self.stores = [open_store(self._url) for _ in range(1 if self.cluster is None else 2)]
        plan = long_plan()
        self.stores[0].register(plan.document, invited=True)
        self.stores[0].set_round(plan.id, 1)
        self._left = [
            Arrival(*one[:4], ticket=hashed(10_000 + i))
            for i, one in enumerate(arrivals(plan, CROWD, next(_seeds)))
        ]
        self.invitations = [hashed(i) for i in range(CROWD)]
        self.stores[0].invite(plan.id, self.invitations)
        self.came: list[Arrival] = []
        self.left: set[bytes] = set()
        """Reports that were seen to have left the pool."""

    @property
    def names(self) -> list[bytes]:
        """The ids of the reports that came, in their order."""
        return [one.ids[0] for one in self.came]

    @property
    def tickets(self) -> list[bytes]:
        """The hashes of their tickets."""
        return [one.ticket for one in self.came if one.ticket is not None]

    def collect(self, n: int) -> None:
        """Take exchanges and reports, one by one, by one collector after the other."""
        for _ in range(n):
            store, one, number = (
                self.stores[len(self.came) % len(self.stores)],
                self._left.pop(),
                len(self.came),
            )
            assert store.exchange(one.plan_id, self.invitations[number], hashed(20_000 + number))
            assert store.add([one], 0.0) == ["counted"]
            self.came.append(one)

    def sweep(self) -> set[bytes]:
        """Sweep by one of the collectors; return the reports that left the pool."""
        store = self.stores[len(self.came) % len(self.stores)]
        assert store.sweep()
        with store._database.transaction():
            gone = {bytes(name) for (name,) in store._database.run("SELECT id FROM reports")} - self.left
        self.left |= gone
        return gone

    def seize(self) -> Evidence:
        """What the files tell."""
        if self.cluster is None:
            return seizure.read_sqlite(seizure.seize_sqlite(self._path))
        return seizure.read_postgres(seizure.seize_postgres(self.cluster, self._url))

    def analyze(self) -> None:
        """Let PostgreSQL sample the rows, as it does by itself from time to time."""
        for store in self.stores[:1]:
            with store._database.outside():
                store._database.run("ANALYZE arrivals, reports, tallies, invitations, exchanges, tickets")

    def close(self) -> None:
        for store in self.stores:
            store._database.close()


@cache
def long_plan() -> Plan:
    """Its reports have 2,063 bytes, which neither database keeps in a row of a page."""
    domain: dict[str, object] = {"n": [str(n) for n in range(8 * LONG)]}
    plan = Plan.of(domain, Single(dn.oue(8 * LONG, 1.0)), people=1000)
    return plan.with_ticket_key(signing_key(0).public)


@pytest.fixture(autouse=True)
def sweep_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeping, "_REST", 1)
    monkeypatch.setattr(sweeping, "_AGAIN", 0.1)


def look(study: Study) -> list[tuple[int, int, int]]:
    """How many swept reports were linked, ordered, and seen in earlier tallies, by each seizure."""
    told: list[tuple[int, int, int]] = []
    with study.running():
        for _ in range(PATIENCE):
            time.sleep(0.4)
            _, swept, found = study.seize()
            if len(swept) >= FEW:
                told.append((found.linked(swept), found.ordered(swept), found.past(len(swept))))
            if len(told) == SEIZURES:
                break
    assert len(told) == SEIZURES, f"it was swept too rarely: {len(study.came)} reports"
    return told


def seize_after_one_sweep(study: Study) -> tuple[list[bytes], Evidence]:
    """The reports that were swept, and what the files tell then."""
    with study.running():
        while len(study.came) < 100:
            time.sleep(0.1)
        tries = iter(range(PATIENCE))
        while not study.store.sweep():  # on a busy machine a table may be locked for too long
            assert next(tries, None) is not None
            time.sleep(0.1)
        _, swept, found = study.seize()
    return swept, found


@by_night("kind", KINDS, "postgres")
def test_what_was_swept_is_neither_linked_nor_ordered(kind: str, tmp_path: Path) -> None:
    assert look(Study(kind, tmp_path, 0.6)) == [(0, 0, 0)] * SEIZURES


def test_what_is_written_again_is_in_no_order() -> None:
    """The first writing counts: what only the second one has came later."""
    names = [bytes([i]) * 16 for i in range(40)]
    twice = [name for name in names for _ in range(2)]
    again = Evidence(groups={"rows": [set(names), set(names[:20])]}, sequences=[Written("pages", twice)])
    later = Evidence(groups={"rows": [set(names[:20]), set(names)]})
    assert (again.find_ordered(names), later.find_ordered(names)) == ({}, {"rows": set(names)})


def test_a_sweep_that_is_under_way_tells_nothing(tmp_path: Path) -> None:
    """Its transaction has written half of the reports again when the server makes a checkpoint."""
    half = (
        "WITH gone AS (DELETE FROM arrivals RETURNING *) INSERT INTO arrivals SELECT * FROM gone ORDER BY 1, "
        "2, 3 LIMIT 40"
    )
    with closing(Crowd("postgres", tmp_path)) as crowd:
        crowd.collect(80)
        crowd.sweep()
        database = crowd.stores[0]._database
        with database.outside():
            database.run("BEGIN")
            database.run(half)
            found = crowd.seize()
            database.run("ROLLBACK")
    assert {80, 40} <= {len(group & set(crowd.names)) for group in found.groups["rows"]}
    assert found.find_ordered(crowd.names) == {}


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_not_swept_is_linked_and_ordered(kind: str, tmp_path: Path) -> None:
    """PostgreSQL overwrites most deleted invitations by itself, but one a page."""
    study = Study(kind, tmp_path, 1000.0)
    with study.running():
        while len(study.came) < 100:
            time.sleep(0.1)
        came, _, found = study.seize()
        while kind == "postgres" and found.linked(came) <= 5 and len(came) < MOST:  # others come meanwhile
            time.sleep(0.4)
            came, _, found = study.seize()
    assert found.ordered(came) == len(came)
    assert found.linked(came) == len(came) if kind == "sqlite" else found.linked(came) > 5
    assert found.past(len(came)) > 0


def test_earlier_tallies_that_sqlite_keeps_are_found(tmp_path: Path) -> None:
    """Planted: those of the first reports stay in a page of their own."""
    study = Study("sqlite", tmp_path, 1000.0)
    with study.running():
        while len(study.came) < 20:
            time.sleep(0.01)
        with study.store._database.transaction(write=True):
            study.store._database.run("CREATE TABLE kept AS SELECT * FROM tallies")
        while len(study.came) < 100:
            time.sleep(0.01)
        assert study.store.sweep()
        _, swept, found = study.seize()
    assert found.past(len(swept)) == 1


def test_the_pages_of_sqlite_alone_tell_the_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the log is truncated, and rows stay where they were inserted."""
    monkeypatch.setattr(Sqlite, "rewrite", lambda *_: None)
    swept, found = seize_after_one_sweep(Study("sqlite", tmp_path, 1000.0))
    assert found.linked(swept) == 0
    assert found.ordered(swept) >= FEW


def test_the_log_of_postgres_alone_tells_the_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: all is swept, and the log ends; but no checkpoint makes the server delete it."""
    monkeypatch.setattr(Postgres, "_drop_log", lambda database: database.run("SELECT pg_switch_wal()"))
    swept, found = seize_after_one_sweep(Study("postgres", tmp_path, 1000.0))
    assert len(swept) >= FEW
    assert (found.linked(swept), found.ordered(swept)) == (0, len(swept))


@by_night("kind", KINDS, "postgres")
def test_tickets_long_bodies_and_a_pool_that_releases(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing tells the order within the pool, or within those that left it together.

    Two random orders of n places have a common subsequence of ALIKE with a chance of at most C(n, ALIKE) /
    ALIKE!, which is below 1e-9 for n = 80.
    """
    monkeypatch.setattr(sweeping, "POOL", 40)
    with closing(Crowd(kind, tmp_path)) as crowd:
        crowd.collect(80)
        before = crowd.seize()
        assert len(before.places) == 80
        assert crowd.sweep() == set()
        assert crowd.seize().moved_alike(before) < ALIKE
        crowd.collect(40)
        first = crowd.sweep()
        crowd.collect(41)
        second = crowd.sweep()
        if kind == "postgres":
            crowd.analyze()
        found = crowd.seize()
        pool = set(crowd.names) - first - second
        assert [len(some) for some in (first, second, pool)] == [80, 41, 40]
        told = [found.find_ordered(some) for some in (first, second, pool, crowd.tickets, crowd.invitations)]
        assert told == [{}] * 5
        assert found.indexed <= 2
        assert not any(name in found.elsewhere for name in crowd.names)
        assert crowd.stores[0].check() == []


@by_night(
    ("kind", "limit", "most"),
    [(kind, limit, most) for kind in KINDS for limit, most in (("POOL", 40), ("POOL_BYTES", 150))],
    ("postgres", "POOL_BYTES", 150),
)
def test_each_plan_and_round_has_a_pool_of_its_own(
    kind: str, limit: str, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small study beside a large one: what leaves together, and what stays, is never less than a pool.

    A limit of bytes is one of reports of mean length. Here 30 of 4 or 6 bytes have a standard deviation of
    5.5 bytes at most, so that a quarter less is seen with a chance below 1e-10.
    """
    monkeypatch.setattr(sweeping, limit, most)
    small, large, medium = (SAMPLED, 1), (SPLIT, 1), (FLIPPED, 2)
    came = {small: 1, medium: 5, large: 60}  # before each of 20 sweeps
    url = f"sqlite:///{tmp_path / 'a.db'}" if kind == "sqlite" else services.cluster().url()
    with closing(open_store(url)) as store:
        waiting = {}
        for group, n in came.items():
            plan, number = group
            store.register(plan.document)
            store.set_round(plan.id, number)
            waiting[group] = arrivals(plan, 20 * n, next(_seeds), number)
        names = {one.ids[0]: (group, one) for group, some in waiting.items() for one in some}
        left, stayed, releases = set[bytes](), set[bytes](), []
        for _ in range(20):
            for group, n in came.items():
                store.add([waiting[group].pop() for _ in range(n)], 0.0)
            with store._database.transaction(write=True):
                sweeping.mix(store._database, {})
                now, stayed = (
                    {bytes(name) for (name,) in store._database.run(f"SELECT id FROM {table}")}
                    for table in ("reports", "arrivals")
                )
            releases += [now - left] * (now > left)
            left = now
        assert store.check() == []

    def measure(group: tuple[Plan, int], some: set[bytes]) -> int:
        bodies = [names[name][1].bodies[0] for name in some if names[name][0] == group]
        return len(bodies) if limit == "POOL" else sum(map(len, bodies))

    for group, n in came.items():
        found = [measure(group, some) for some in (*releases, stayed)]
        assert (sum(map(bool, found)) > 1) == (group != small), found
        least = most if limit == "POOL" else most * 3 // 4
        assert group == small or min(filter(None, found)) >= least, found
        assert group != small or found[-1] == measure(group, set(names))
        assert n * 20 == sum(names[name][0] == group for name in left | stayed)


@pytest.mark.long
def test_what_a_sweep_of_postgres_must_not_forget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: rows are updated, so that long bodies stay where they are; tickets are left alone; the server
    samples ids; and nobody makes a checkpoint.
    """

    def update(database: Postgres, table: str) -> None:
        if table == "arrivals":
            database.run("UPDATE arrivals SET round = round")

    monkeypatch.setattr(Postgres, "rewrite", update)
    monkeypatch.setattr(Postgres, "_drop_log", lambda _: None)
    with closing(Crowd("postgres", tmp_path)) as crowd:
        with crowd.stores[0]._database.transaction(write=True):
            crowd.stores[0]._database.run("ALTER TABLE arrivals ALTER id SET STATISTICS -1")
        crowd.collect(80)
        before = crowd.seize()
        crowd.sweep()
        crowd.analyze()
        found = crowd.seize()
    assert found.moved_alike(before) == 80
    assert found.find_ordered(crowd.names).keys() == {"log", "pages"}
    assert found.find_ordered(crowd.tickets).keys() == {"log", "pages", "rows"}
    assert found.find_ordered(crowd.invitations).keys() >= {"pages", "rows"}
    assert sum(name in found.elsewhere for name in crowd.names) >= FEW


def test_what_a_sweep_of_sqlite_must_not_forget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: pages are used again as they were freed; tickets are left alone; the log's index stays."""

    def write_once(database: Sqlite, table: str) -> None:
        if table == "arrivals":
            database.run("CREATE TEMP TABLE written AS SELECT * FROM arrivals ORDER BY 1, 2, 3")
            database.run("DELETE FROM arrivals")
            database.run("INSERT INTO arrivals SELECT * FROM written ORDER BY rowid")
            database.run("DROP TABLE written")

    monkeypatch.setattr(Sqlite, "rewrite", write_once)
    monkeypatch.setattr(Sqlite, "_clear_index", lambda _: True)
    with closing(Crowd("sqlite", tmp_path)) as crowd:
        crowd.collect(80)
        before = crowd.seize()
        crowd.sweep()
        found = crowd.seize()
    assert found.moved_alike(before) >= ALIKE
    assert found.find_ordered(crowd.names) == {}
    assert found.find_ordered(crowd.tickets).keys() == {"pages"}
    assert found.find_ordered(crowd.invitations).keys() == {"pages"}
    assert found.indexed > 80


def test_settings_that_tell_more_are_named(tmp_path: Path) -> None:
    """As for a user who has no rights, with a server that keeps much; then with the rights it takes."""
    cluster = services.cluster()
    url, schema = cluster.url(), f"s{id(tmp_path)}"
    cluster.sql("CREATE ROLE clerk LOGIN")
    cluster.sql(f"CREATE SCHEMA {schema} AUTHORIZATION clerk")
    mine = f"{cluster.address.replace('postgres@', 'clerk@')}?options=-csearch_path%3D{schema}"
    cluster.sql("ALTER ROLE clerk SET log_statement = 'all'")
    cluster.sql("ALTER ROLE clerk SET log_min_duration_statement = 0")
    cluster.sql("SELECT pg_create_physical_replication_slot('standby')")
    try:
        with closing(open_store(mine)) as store:
            found = store.exposures()
            assert [one.text.rpartition("; ")[2] for one in found] == [
                "set log_min_duration_statement = -1",
                "set log_statement = none",
                "do without them, or treat them as this server",
                "GRANT pg_read_all_stats to this user",
                "GRANT pg_checkpoint, and EXECUTE ON FUNCTION pg_switch_wal(), to this user",
            ]
            assert [one.keeps_log for one in found] == [False, False, True, False, True]
            store.register(small_plan().document)
            assert store.sweep()
            assert (store.traces.swept is None, store.traces.log_swept) == (False, None)
            checked = run_in(tmp_path, "store", "check", "--store", mine)
            assert "sweeps clear the tables but not the log" in checked.out
    finally:
        cluster.sql("SELECT pg_drop_replication_slot('standby')")
    cluster.sql("ALTER ROLE clerk RESET ALL")
    cluster.sql("GRANT pg_checkpoint, pg_read_all_stats TO clerk")
    cluster.sql("GRANT EXECUTE ON FUNCTION pg_switch_wal() TO clerk")
    for each in (mine, url, f"sqlite:///{tmp_path}/a.db"):
        with closing(open_store(each)) as store:
            assert store.exposures() == []
            assert store.sweep()
            assert store.traces.log_swept == store.traces.swept


def test_a_store_sweeps_by_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What counts is all that came: exchanges without a report, too."""
    monkeypatch.setattr(sweeping, "MOST", 5)
    with closing(Crowd("sqlite", tmp_path)) as crowd:
        [store], plan, unswept = crowd.stores, long_plan(), []
        for number in range(11):
            assert store.exchange(plan.id, crowd.invitations[number], hashed(20_000 + number))
            unswept.append(store.traces.unswept)
        assert unswept == [1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1]
        assert store.exchange(plan.id, crowd.invitations[0], hashed(20_000))
        assert store.traces.unswept == 1


def test_a_server_keeps_its_log_between_sweeps_by_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sweep by number drops only an old log. What it left goes by time, or when the store ends."""
    monkeypatch.setattr(sweeping, "MOST", 5)
    monkeypatch.setattr(sweeping, "SECONDS", 1e9)
    drops: list[bool] = []

    def clear(reports: bool, log: bool = True) -> Cleared:
        drops.append(log)
        return Cleared(tables=True, log=log)

    with closing(Crowd("sqlite", tmp_path)) as crowd:
        [store], plan = crowd.stores, long_plan()
        monkeypatch.setattr(store._database, "clear", clear)
        for number in range(10):
            assert store.exchange(plan.id, crowd.invitations[number], hashed(30_000 + number))
        assert (drops, store.traces.unswept, store.traces.is_due) == ([True, False], 0, True)
        store.tidy()
        assert (drops[-1], store.traces.is_due) == (True, False)
        monkeypatch.setattr(sweeping, "SECONDS", 0.0)
        for number in range(10, 15):
            assert store.exchange(plan.id, crowd.invitations[number], hashed(30_000 + number))
        assert drops == [True, False, True, True], "the log is old"
        monkeypatch.setattr(sweeping, "SECONDS", 1e9)
        for number in range(15, 20):
            assert store.exchange(plan.id, crowd.invitations[number], hashed(30_000 + number))
        assert drops[-1] is False
        store.close()
        assert drops[-1] is True, "nobody sweeps by time after the end"


SEED = 0x5EED_BAD_5EED_BAD0  # ids begin with it, as no other bytes do


@pytest.mark.long
def test_sweeps_by_number_leave_a_young_log_to_those_by_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages are then written whole to PostgreSQL's log once a minute, and not for each 100,000 reports."""
    monkeypatch.setattr(sweeping, "MOST", 50)
    monkeypatch.setattr(sweeping, "SECONDS", 1e9)
    cluster, plan = services.cluster(), small_plan()
    store = open_store(cluster.url())
    store.register(plan.document)
    store.set_round(plan.id, 1)

    def bring(seed: int) -> tuple[int, bool, bool]:
        """After a sweep by number: how many reports are unswept, is one in the log, is a sweep due."""
        reports = some_reports(plan, 50, SEED + seed)
        store.add([Arrival(plan.id, 1, [one.id for one in reports], [one.body for one in reports])], 0.0)
        log = b"".join(file.read_bytes() for file in (cluster.folder / "data" / "pg_wal").glob("0*"))
        return store.traces.unswept, any(one.id in log for one in reports), store.traces.is_due

    with closing(store):
        assert bring(1) == (0, False, False), "no sweep dropped the log before"
        assert bring(2) == (0, True, True)
        monkeypatch.setattr(sweeping, "SECONDS", 0.0)
        assert bring(3) == (0, False, False), "it is old"
        monkeypatch.setattr(sweeping, "SECONDS", 1e9)
        assert bring(4) == (0, True, True)
    log = b"".join(file.read_bytes() for file in (cluster.folder / "data" / "pg_wal").glob("0*"))
    assert not any(report.id in log for report in some_reports(plan, 50, SEED + 4)), (
        "the end of a store drops it"
    )


def test_a_collector_sweeps_by_time(tmp_path: Path) -> None:
    plan = small_plan()
    with collecting(tmp_path, [plan], "--sweep", "0.2") as running:
        [report] = some_reports(plan, 1)
        came, deadline = time.time(), time.monotonic() + 30
        sent = HTTP.post(f"{running.url}/reports", content=report.to_bytes(), headers=BINARY)
        assert sent.status_code == 201
        found = running.metrics()
        while found["deniable_unswept"] or found["deniable_log_swept_timestamp_seconds"] < came:
            assert time.monotonic() < deadline, found
            time.sleep(0.05)
            found = running.metrics()
        assert found["deniable_swept_timestamp_seconds"] > came
        assert (tmp_path / "reports.db-wal").stat().st_size == 0


@pytest.mark.parametrize("seconds", ["0", "nan", "4000"])
def test_seconds_that_are_none(seconds: str, tmp_path: Path) -> None:
    small_plan().write(tmp_path / "plan.json")
    refused = run_in(tmp_path, "serve", "plan.json", "--sweep", seconds)
    assert (refused.code, "from 0.1 to 3600" in refused.err or "number" in refused.err) == (2, True)


def test_a_sweep_that_does_not_succeed_is_tried_again_and_named(caplog: pytest.LogCaptureFixture) -> None:
    class Read:
        """A store that somebody reads for a while."""

        traces, tries = Traces(), 0

        def sweep(self) -> bool:
            self.tries += 1
            if self.tries > 12:
                self.traces.end(self.traces.begin(), log=True)
            return self.tries > 12

    store = Read()
    store.traces.add(3, 0)
    sweeper, deadline = Sweeper(store, 0.001), time.monotonic() + 30
    while store.traces.unswept or len(caplog.messages) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    sweeper.close()
    assert [text[:38] for text in caplog.messages] == [
        "the store could not be swept 10 times ",
        "the store is swept again",
    ]
    assert store.tries == 13


def test_what_an_earlier_process_left_is_swept_without_a_new_report() -> None:
    """And a sweep that fails, however it does, is not the last one."""
    swept = threading.Event()

    class Left:
        traces = Traces()
        failures: ClassVar[list[Exception]] = [InvalidParameter("no"), StoreUnavailable("busy")]

        def sweep(self) -> bool:
            if self.failures:
                raise self.failures.pop()
            self.traces.end(self.traces.begin(), log=True)
            swept.set()
            return True

    sweeper = Sweeper(Left(), 0.01)
    assert swept.wait(30)
    sweeper.close()
    assert not Left.traces.is_due
