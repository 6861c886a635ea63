"""What a store must survive: crowds, kills, restarts, full disks, thieves; and planted faults that these
tests must find.
"""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

import deniable as dn
from deniable.store import counting, postgres, recount, sqlite, sweeping
from deniable.store.database import Cleared, Database
from deniable.store.postgres import Postgres
from deniable.store.sqlite import Sqlite
from deniable.store.store import Arrival, Store, StoreUnavailable, open_store
from deniable.study import Plan
from tests import services
from tests.cases import by_night
from tests.collect.test_store import Make, _close_prepared, counted, hashed, make, opened, prepared, store
from tests.collector import collecting
from tests.forking import FORKS
from tests.store_worker import SAMPLED, SPLIT, add_until_killed, arrivals, deliver

__all__ = ["_close_prepared", "make", "store"]  # fixtures

CROWD, KILLS = 8, 8


def test_a_crowd_delivers_the_same_batches(make: Make) -> None:
    url = make()
    store = prepared(url)
    some = arrivals(SPLIT, 400, 1)
    batches = [some[at : at + 40] for at in range(0, 400, 40)]
    results = []
    for seed in range(CROWD):
        ours, theirs = FORKS.Pipe(duplex=False)
        process = FORKS.Process(target=deliver, args=(url, batches, seed, theirs))
        process.start()
        theirs.close()
        results.append((process, ours))
    assert sum(ours.recv() for _, ours in results) == 400, "each report is counted by one of them"
    for process, ours in results:
        process.join()
        ours.close()
    assert store.tallies(SPLIT.id) == counted(SPLIT, [one.bodies[0] for one in some])
    assert store.check() == []


def test_collectors_that_start_at_once_come_up() -> None:
    """All of them have seen an empty database before the first makes tables."""
    cluster = services.cluster()
    url = cluster.url()
    waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    with ThreadPoolExecutor(4) as pool, psycopg.connect(cluster.address, autocommit=True) as holder:
        holder.execute("SELECT pg_advisory_lock(%s)", [postgres._MIGRATING])
        starts = [pool.submit(open_store, url) for _ in range(4)]
        while cluster.sql(waiting) != [(4,)]:
            time.sleep(0.01)
    for start in starts:
        start.result().close()


def at_commit(monkeypatch: pytest.MonkeyPatch, store: Store, work: Callable[[], object]) -> None:
    """Do some work just before a store commits what it has written, once."""
    database, right = store._database, store._database._commit

    def commit() -> None:
        monkeypatch.setattr(database, "_commit", right)
        work()
        right()

    monkeypatch.setattr(database, "_commit", commit)


def test_collectors_do_not_wait_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both are in the middle of a transaction at once; their tallies are added when they are read."""
    url = services.cluster().url()
    one, other, some = prepared(url), opened(url), arrivals(SPLIT, 40, 1)
    outcomes = list[str]()
    at_commit(monkeypatch, one, lambda: outcomes.extend(other.add(some[20:], 0.0)))
    assert one.add(some[:20], 0.0) == ["counted"] * 20
    assert outcomes == ["counted"] * 20
    wanted = counted(SPLIT, [each.bodies[0] for each in some])
    assert one.tallies(SPLIT.id) == other.tallies(SPLIT.id) == wanted
    assert one.counted(SPLIT.id) == one.rounds(SPLIT.id)[0].counted == 40
    assert one.check() == []


@pytest.mark.parametrize("locked", [True, False])
def test_a_report_that_moves_is_not_counted_again(monkeypatch: pytest.MonkeyPatch, locked: bool) -> None:
    """It is sent again in the middle of the transaction that takes it out of the arrivals."""
    cluster = services.cluster()
    url = cluster.url()
    one, other, some = prepared(url), opened(url), arrivals(SPLIT, 10, 1)
    one.add(some, 0.0)
    monkeypatch.setattr(sweeping, "POOL", 0)
    if not locked:  # a planted fault
        monkeypatch.setattr(Postgres, "lock_arrivals", lambda _: None)
    outcomes = list[str]()
    again = threading.Thread(target=lambda: outcomes.extend(other.add(some, 0.0)))

    def send() -> None:
        again.start()
        while cluster.sql("SELECT count(*) FROM pg_locks WHERE NOT granted") == [(0,)]:
            time.sleep(0.01)

    at_commit(monkeypatch, one, send)
    with one._database.transaction(write=True):
        sweeping.mix(one._database, {})
    again.join()
    assert (outcomes == ["counted before"] * 10) is locked
    twice = f"plan {SPLIT.id[:12]}, round 1: 10 reports stored twice"
    assert one.check() == ([] if locked else [twice])


def test_reports_leave_a_full_pool_at_random(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 200 in a pool of 40, 160 leave. They are the oldest with a chance of 1e-42."""
    store, some = prepared(make()), arrivals(SPLIT, 200, 1)
    store.add(some, 0.0)
    monkeypatch.setattr(sweeping, "POOL", 40)
    assert store.sweep()
    with store._database.transaction():
        left, gone = (
            [name for (name,) in store._database.run(f"SELECT id FROM {table}")] for table in recount.TABLES
        )
    assert (len(left), len(gone)) == (40, 160)
    ids = [one.ids[0] for one in some]
    assert set(gone) not in (set(ids[:160]), set(sorted(ids)[:160]), set(sorted(ids)[40:]))
    assert store.add(some, 0.0) == ["counted before"] * 200
    assert store.check() == []


@pytest.mark.parametrize(("bytes_", "left"), [(1 << 20, 120), (590, 59)])
def test_a_pool_is_bounded_in_bytes(
    make: Make, monkeypatch: pytest.MonkeyPatch, bytes_: int, left: int
) -> None:
    """As if the reports had ten bytes each."""
    store, some = prepared(make()), arrivals(SPLIT, 120, 1)
    size = len(some[0].bodies[0])
    store.add(some, 0.0)
    monkeypatch.setattr(sweeping, "POOL_BYTES", bytes_ * size // 10)
    assert store.sweep()
    with store._database.transaction():
        assert store._database.run("SELECT COUNT(*) FROM arrivals") == [(left,)]


def test_a_closed_connection_leaves_its_tallies_to_the_next() -> None:
    """Restarts do not make more and more rows."""
    url = services.cluster().url()
    store = prepared(url)
    for seed in range(3):
        with closing(open_store(url)) as each:
            assert each.add(arrivals(SPLIT, 10, seed), 0.0) == ["counted"] * 10
    with store._database.transaction():
        assert store._database.run("SELECT collector FROM tallies") == [(0,)]
    assert store.counted(SPLIT.id) == 30


def test_a_sweep_on_a_busy_machine_ends_in_time_and_is_made_up_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table that takes too long to rewrite would keep arriving reports waiting until they are refused."""
    store = prepared(services.cluster().url())
    store.add(arrivals(SPLIT, 400, 1), 0.0)
    run, is_slow = Postgres.run, True

    def run_slowly(database: Postgres, sql: str, *values: object) -> list[Any]:
        if is_slow and sql.startswith("VACUUM"):
            return run(database, "SELECT pg_sleep(60)")
        return run(database, sql, *values)

    monkeypatch.setattr(Postgres, "run", run_slowly)
    monkeypatch.setattr(postgres, "_LOCKED", "100ms")
    before = time.monotonic()
    assert not store.sweep()
    assert time.monotonic() - before < 30
    is_slow = False
    monkeypatch.setattr(postgres, "_LOCKED", "60s")
    assert store.sweep()
    assert (store.counted(SPLIT.id), store.check()) == (400, [])


def test_tallies_that_two_connections_share_are_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """With more collectors than numbers, or a pool of connections between them and the database."""
    monkeypatch.setattr(Postgres, "collector_number", lambda _: 0)
    url = services.cluster().url()
    stores, some = [prepared(url), *(opened(url) for _ in range(3))], arrivals(SPLIT, 400, 1)
    assert stores[0].add(some[:40], 0.0) == ["counted"] * 40  # there is a row now

    def work(store: Store, mine: list[Arrival]) -> None:
        for each in mine:
            store.add([each], 0.0)

    with ThreadPoolExecutor(4) as pool:
        assert [*pool.map(work, stores, (some[40 + at :: 4] for at in range(4)))] == [None] * 4
    assert (stores[0].counted(SPLIT.id), stores[0].check()) == (400, [])


def test_an_invitation_that_two_collectors_use_at_once_lets_in_one_report(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url = services.cluster().url()
    one, other = prepared(url, invited=True), opened(url)
    one.invite(SPLIT.id, [hashed(n) for n in range(4)])
    first, second, again = arrivals(SPLIT, 3, 1)
    outcomes = list[str]()
    late = [
        second._replace(invitation=hashed(0)),  # the invitation is being used
        first._replace(invitation=hashed(1)),  # the report is being counted: its invitation stays
        again._replace(invitation=hashed(2)),
    ]
    thread = threading.Thread(target=lambda: outcomes.extend(other.add(late, 0.0)))

    def wait() -> None:
        thread.start()
        time.sleep(0.3)
        assert outcomes == [], "it cannot know before this is committed"

    at_commit(monkeypatch, one, wait)
    assert one.add([first._replace(invitation=hashed(0))], 0.0) == ["counted"]
    thread.join()
    assert outcomes == ["invitation", "counted before", "counted"]
    assert (one.invitations_left(SPLIT.id), one.counted(SPLIT.id), one.check()) == (2, 2, [])


def test_threads_take_turns(store: Store) -> None:
    some, found = arrivals(SPLIT, 400, 1), []

    def work(seed: int) -> None:
        for one in random.Random(seed).sample(some, 60):
            found.extend(store.add([one], 0.0))
            store.tallies(SPLIT.id)

    with ThreadPoolExecutor(CROWD) as pool:
        assert [*pool.map(work, range(CROWD))] == [None] * CROWD
    assert len(found) == CROWD * 60
    assert found.count("counted") == store.counted(SPLIT.id)
    assert store.check() == []


def test_nothing_acknowledged_is_lost_by_a_kill(make: Make) -> None:
    url, draw = make(), random.Random(1)
    store = prepared(url)
    acknowledged: set[bytes] = set()
    for kill in range(KILLS):
        ours, theirs = FORKS.Pipe(duplex=False)
        process = FORKS.Process(target=add_until_killed, args=(url, kill, theirs))
        process.start()
        theirs.close()
        said = [ours.recv_bytes()]
        time.sleep(draw.uniform(0.0, 0.1))
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        try:
            while True:
                said.append(ours.recv_bytes())
        except EOFError:
            ours.close()
        process.join()
        acknowledged.update(text[at : at + 16] for text in said for at in range(0, len(text), 16))
        key, names = {"plan": 1, "round": 1}, list(acknowledged)
        with store._database.transaction():
            found = [store._database.present(table, key, "id", names) for table in recount.TABLES]
        assert (found[0] | found[1], found[0] & found[1]) == (acknowledged, set())
    assert store.counted(SPLIT.id) >= len(acknowledged) >= KILLS
    assert store.check() == []


def fills_and_recovers(store: Store, make_room: Callable[[], None]) -> None:
    """Add until the disk is full, make room, and go on."""
    some = [arrivals(SPLIT, 500, seed) for seed in range(60)]
    added = 0
    reason = ""
    while not reason:
        try:
            store.add(some[added], 0.0)
            added += 1
        except StoreUnavailable as problem:
            reason = str(problem)
    assert "full" in reason
    assert added > 3
    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            store.add(some[added], 0.0)
    make_room()
    assert store.counted(SPLIT.id) == 500 * added
    assert store.add(some[added - 1], 0.0) == ["counted before"] * 500
    assert store.add(some[added], 0.0) == ["counted"] * 500
    assert store.check() == []


def test_the_disk_is_full_sqlite() -> None:
    with services.small_disk(2000) as disk:
        fills_and_recovers(prepared(f"sqlite:///{disk}/reports.db"), lambda: services.grow(disk, 20_000))


def test_the_file_may_not_grow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same where nothing may be mounted."""
    right = sqlite._PRAGMAS
    monkeypatch.setattr(sqlite, "_PRAGMAS", (*right, "max_page_count = 200"))
    store = prepared(f"sqlite:///{tmp_path}/a.db")
    fills_and_recovers(store, lambda: monkeypatch.setattr(sqlite, "_PRAGMAS", right))


def test_the_disk_is_full_postgres() -> None:
    cluster = services.cluster()
    with services.small_disk(3000) as disk:
        cluster.own(disk)
        cluster.sql(f"CREATE TABLESPACE small LOCATION '{disk}'")
        url = cluster.url()
        fills_and_recovers(
            prepared(f"{url}%20-cdefault_tablespace%3Dsmall"), lambda: services.grow(disk, 40_000)
        )
        schema = url.partition("search_path%3D")[2]
        cluster.sql(f"DROP SCHEMA {schema} CASCADE")
        cluster.sql("DROP TABLESPACE small")


def test_another_process_keeps_it_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "PATIENCE", 0.05)
    store, some = prepared(f"sqlite:///{tmp_path}/a.db"), arrivals(SPLIT, 10, 1)
    other = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable, match="another process keeps it locked"):
        store.add(some, 0.0)
    assert store.counted(SPLIT.id) == 0, "it can be read all the same"
    other.close()
    assert store.add(some, 0.0) == ["counted"] * 10


def test_a_file_that_is_gone_is_not_written_to(tmp_path: Path) -> None:
    store = prepared(f"sqlite:///{tmp_path}/a.db")
    (tmp_path / "a.db").rename(tmp_path / "b.db")
    with pytest.raises(StoreUnavailable, match="moved, deleted or replaced"):
        store.add(arrivals(SPLIT, 1, 1), 0.0)
    with pytest.raises(StoreUnavailable, match="the file is gone"):
        store.ping()
    (tmp_path / "b.db").rename(tmp_path / "a.db")
    assert store.add(arrivals(SPLIT, 1, 1), 0.0) == ["counted"]
    store.close()
    with pytest.raises(StoreUnavailable, match="was closed"):
        store.ping()


@pytest.mark.parametrize("end", ["-wal", "-shm"])
@pytest.mark.parametrize("first", ["writer", "reader"])
def test_a_log_that_is_gone_is_not_written_to(tmp_path: Path, end: str, first: str) -> None:
    """What was acknowledged is copied to the file, so that a kill loses nothing."""
    url, some = f"sqlite:///{tmp_path}/a.db", arrivals(SPLIT, 300, 1)
    store = prepared(url)
    reader = open_store(url)
    assert reader.counted(SPLIT.id) == 0
    assert store.add(some[:200], 0.0) == ["counted"] * 200
    (tmp_path / f"a.db{end}").unlink()
    for _ in range(2):  # it does not pass
        if first == "reader":
            with pytest.raises(StoreUnavailable, match=f"{end} was moved, deleted or replaced"):
                reader.ping()
        with pytest.raises(StoreUnavailable, match="held was copied to the file first"):
            store.add(some[200:], 0.0)
    killed = tmp_path / "killed"
    killed.mkdir()
    for file in tmp_path.glob("a.db*"):
        (killed / file.name).write_bytes(file.read_bytes())
    with closing(open_store(f"sqlite:///{killed}/a.db")) as after:
        assert (after.counted(SPLIT.id), after.check()) == (200, [])
    store.close()
    reader.close()
    with closing(open_store(url)) as after:
        assert after.add(some, 0.0) == ["counted before"] * 200 + ["counted"] * 100
        assert after.check() == []


def test_a_log_that_goes_during_a_transaction_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, some, right = prepared(f"sqlite:///{tmp_path}/a.db"), arrivals(SPLIT, 10, 1), counting._tally

    def unlink(*given: Any) -> None:
        right(*given)
        (tmp_path / "a.db-wal").unlink()

    monkeypatch.setattr(counting, "_tally", unlink)
    with pytest.raises(StoreUnavailable, match=r"a\.db-wal was moved, deleted or replaced"):
        store.add(some, 0.0)
    store.close()
    monkeypatch.undo()
    with closing(open_store(f"sqlite:///{tmp_path}/a.db")) as after:
        assert after.add(some, 0.0) == ["counted before"] * 10, "it was written, but not acknowledged"


def test_what_is_acknowledged_is_on_the_disk(store: Store) -> None:
    database = store._database
    if isinstance(database, Sqlite):
        assert database.run("PRAGMA journal_mode") == [("wal",)]
        assert database.run("PRAGMA synchronous") == [(2,)]
    else:
        assert database.run("SHOW synchronous_commit") == [("on",)]


class Broken:
    """A database that fails at its i-th statement, as when it is lost just then."""

    def __init__(self, database: Database, at: int) -> None:
        self._database, self._left = database, at

    def __getattr__(self, name: str) -> Any:
        if name in ("run", "many", "insert", "present", "lock_plan", "use_invitations", "use_tickets"):
            if self._left == 0:
                raise (
                    psycopg.OperationalError("lost")
                    if isinstance(self._database, Postgres)
                    else sqlite3.OperationalError("lost")
                )
            self._left -= 1
        return getattr(self._database, name)


def count_failures(store: Store, work: Callable[[], object], show: Callable[[], object]) -> int:
    """Lose the database at each statement of some work: nothing of it remains until all of it is done."""
    whole, before, failures = store._database, show(), 0
    while True:
        store._database = store._registry._database = Broken(whole, failures)  # type: ignore[assignment]
        try:
            work()
            return failures
        except StoreUnavailable:
            failures += 1
        finally:
            store._database = store._registry._database = whole
        assert (show(), store.check()) == (before, [])


def lost_at_any_statement(url: str) -> None:
    store = prepared(url, invited=True)
    store.invite(SPLIT.id, [hashed(n) for n in range(200)])
    some = [one._replace(invitation=hashed(n)) for n, one in enumerate(arrivals(SPLIT, 100, 1))]

    def show() -> tuple[int, int, int]:
        history = store.history(SPLIT.id, 1)
        return store.counted(SPLIT.id), store.invitations_left(SPLIT.id), len(history)

    assert show() == (0, 200, 0)
    assert count_failures(store, lambda: store.add(some, 0.0), show) >= 7
    assert show()[:2] == (100, 100)
    assert store.check() == []


def test_nothing_is_half_written(make: Make) -> None:
    lost_at_any_statement(make())


def test_tallies_outside_the_transaction_are_found(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault."""
    right = counting._tally

    def wrong(database: Database, *given: Any) -> None:
        database._commit()
        database._begin(write=True)
        right(database, *given)

    monkeypatch.setattr(counting, "_tally", wrong)
    with pytest.raises(AssertionError):
        lost_at_any_statement(make())


def test_duplicates_that_are_counted_are_found(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault."""
    right, some = store._database.insert, arrivals(SPLIT, 30, 1)

    def wrong(*given: Any) -> set[bytes]:
        right(*given)
        return set()  # as if none had been there

    monkeypatch.setattr(store._database, "insert", wrong)
    store.add(some, 0.0)
    store.add(some[:7], 0.0)
    assert store.check() == [f"plan {SPLIT.id[:12]}, round 1: the tallies say 37 reports, but there are 30"]


def spend(store: Store, n: int) -> list[bytes]:
    """Use n invitations of 2 n, one report at a time; their hashes."""
    store.invite(SPLIT.id, [hashed(i) for i in range(2 * n)])
    some = [Arrival(*one[:4], hashed(2 * i)) for i, one in enumerate(arrivals(SPLIT, n, 1))]
    for at in range(0, n, 10):
        assert set(store.add(some[at : at + 10], 0.0)) == {"counted"}
    assert store.invitations_left(SPLIT.id) == n
    return [one.invitation for one in some if one.invitation]


def traces(files: Iterable[Path], hashes: Iterable[bytes]) -> int:
    """How many of the hashes are in the files."""
    found = b"".join(file.read_bytes() for file in files)
    return sum(each in found for each in hashes)


@pytest.mark.parametrize("swept", [True, False])
def test_used_and_withdrawn_invitations_leave_no_trace(
    make: Make, swept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not swept:  # a planted fault
        monkeypatch.setattr(Store, "sweep", lambda *_, **__: False)
    url, kept = make(), [hashed(n) for n in range(800, 900)]
    store = prepared(url, invited=True)
    used = spend(store, 400)
    store.invite(SAMPLED.id, kept)
    store.sweep()
    assert (traces(files_of(url), used) == 0) is swept
    assert store.withdraw(SPLIT.id) == 400
    assert (traces(files_of(url), [hashed(2 * n + 1) for n in range(400)]) == 0) is swept
    store._database.close()
    assert traces(files_of(url), kept) == 100, "this is where they are"


def files_of(url: str) -> list[Path]:
    """The files of a store, as they are on the disk; in PostgreSQL, those of its tables."""
    if url.startswith("sqlite"):
        path = Path(url.removeprefix("sqlite:///"))
        return sorted(path.parent.glob(f"{path.name}*"))
    cluster = services.cluster()
    cluster.sql("CHECKPOINT")
    where = f"relnamespace = '{url.partition('search_path%3D')[2]}'::regnamespace AND relkind IN ('r', 'i')"
    tables = cluster.sql(f"SELECT pg_relation_filepath(oid) FROM pg_class WHERE {where}")
    return [cluster.folder / "data" / str(path) for (path,) in tables]


def test_a_start_clears_away_what_a_killed_collector_left(tmp_path: Path) -> None:
    url = services.cluster().url()
    killed = prepared(url, invited=True)
    used = spend(killed, 100)
    killed._database.close()  # without anything that is done at an end
    assert traces(files_of(url), used) == 100
    with collecting(tmp_path, [SPLIT], "--store", url):
        assert traces(files_of(url), used) == 0


def test_traces_that_a_reader_keeps_are_cleared_away_later(tmp_path: Path) -> None:
    store = prepared(f"sqlite:///{tmp_path}/a.db", invited=True)
    with closing(sqlite3.connect(tmp_path / "a.db", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT COUNT(*) FROM invitations").fetchall()
        used = spend(store, 100)
        store.tidy()
        assert traces(tmp_path.iterdir(), used) == 100, "it reads from the log"
        assert store.traces.unswept == 100
    store.tidy()
    assert (store.traces.unswept, traces(tmp_path.iterdir(), used)) == (0, 0)


def test_traces_that_a_reader_keeps_in_postgres_are_cleared_away_later() -> None:
    url = services.cluster().url()
    store = prepared(url, invited=True)
    with psycopg.connect(url) as reader:
        reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        reader.execute(
            "SELECT COUNT(*) FROM plans"
        )  # it never looked at invitations, and yet sees those of that time
        used = spend(store, 100)
        store.tidy()
        assert (store.traces.unswept, traces(files_of(url), used)) == (100, 100)
    store.tidy()
    assert (store.traces.unswept, traces(files_of(url), used)) == (0, 0)
    with psycopg.connect(url) as reader:
        reader.execute("LOCK TABLE invitations IN ACCESS SHARE MODE")
        assert not store.sweep()


WORDS = Plan.of({"word": [f"word {v}" for v in range(1000)]}, dn.olh(1000, 3.0), people=1000)


@by_night("whole", [True, False], False)
def test_what_is_scrubbed_leaves_no_trace(make: Make, monkeypatch: pytest.MonkeyPatch, whole: bool) -> None:
    """Reports with a hash function each, so that every body can be told from all else in the files."""
    url = make()
    if not whole:  # a planted fault
        monkeypatch.setattr(sqlite, "_PRAGMAS", (*sqlite._PRAGMAS, "secure_delete = OFF"))
        plain = Cleared(True, True)
        monkeypatch.setattr(
            Postgres, "clear", lambda database, *_: plain if database.run("VACUUM arrivals") == [] else None
        )
    store = opened(url)
    store.register(WORDS.document)
    store.set_round(WORDS.id, 1)
    some = arrivals(WORDS, 3000, 1)
    for at in range(0, 3000, 300):
        store.add(some[at : at + 300], 0.0)
    assert store.scrub(WORDS.id) == 3000
    files = files_of(url)
    left = traces(files, [one.bodies[0] for one in some])
    assert (left == 0) is whole
    assert traces(files, [one.ids[0] for one in some]) > 2900, (
        "this is where they were; a page may end within an id"
    )


def test_who_scrubs_during_a_read_of_postgres_is_warned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniable.store.store._PAUSE", 0.001)
    monkeypatch.setattr("deniable.store.store._TRIES", 2)
    url = services.cluster().url()
    store = prepared(url)
    store.add(arrivals(SPLIT, 50, 1), 0.0)
    with psycopg.connect(url) as reader:
        reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        reader.execute("SELECT COUNT(*) FROM plans")
        with pytest.raises(StoreUnavailable, match="somebody has been reading"):
            store.scrub(SPLIT.id)
    assert store.scrub(SPLIT.id) == 0


def test_a_store_that_replaces_another_is_not_mistaken_for_it(tmp_path: Path) -> None:
    """There the same keys are other plans': reports must not be counted for those."""
    path, other = tmp_path / "a.db", tmp_path / "b.db"
    for file, plans in ((path, (SPLIT, SAMPLED)), (other, (SAMPLED, SPLIT))):
        with closing(open_store(f"sqlite:///{file}")) as made:
            for plan in plans:
                made.register(plan.document)
                made.set_round(plan.id, 1)
    store, reader = opened(f"sqlite:///{path}"), opened(f"sqlite:///{path}")
    some = arrivals(SPLIT, 20, 1)
    assert store.add(some[:5], 0.0).count("counted") == 5
    assert reader.counted(SPLIT.id) == 5
    for name in ("a.db", "a.db-wal", "a.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    other.rename(path)
    for _ in range(2):  # the file is another one; then its plans have other keys
        with pytest.raises(StoreUnavailable):
            store.add(some, 0.0)
    assert store.add(some, 0.0).count("counted") == 20
    with pytest.raises(StoreUnavailable):
        reader.counted(SPLIT.id)
    assert (reader.counted(SPLIT.id), reader.counted(SAMPLED.id), reader.check()) == (20, 0, [])


def test_no_column_relates_an_invitation_or_a_time_to_a_report(store: Store) -> None:
    database = store._database
    store.add(arrivals(SPLIT, 1, 1), 0.0)
    if isinstance(database, Sqlite):
        columns = [name for _, name, *_ in database.run("PRAGMA table_info(reports)")]
        with pytest.raises(sqlite3.OperationalError, match="no such column"):
            database.run("SELECT rowid FROM reports")
    else:
        where = "table_name = 'reports' AND table_schema = current_schema()"
        sql = f"SELECT column_name::text FROM information_schema.columns WHERE {where}"
        columns = [name for (name,) in database.run(sql)]
    assert sorted(columns) == ["body", "id", "plan", "round"]
