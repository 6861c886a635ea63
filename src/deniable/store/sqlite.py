"""Stores reports in one SQLite file, written by one process at a time, durable after each transaction."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, final

from deniable.errors import InvalidParameter
from deniable.store.database import Cleared, Database, Exposure, Pool, StoreUnavailable, find_stored

PATIENCE = 10.0
"""How many seconds another process may write before this one gives up."""
ROOM = 1 << 20
"""Bytes that must be free on the disk: reports take more than the little that a trial writes."""

_REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full; make room",
    sqlite3.SQLITE_BUSY: "another process keeps it locked",
    sqlite3.SQLITE_LOCKED: "another process keeps it locked",
    sqlite3.SQLITE_IOERR: "the disk cannot be read or written; is it full, or gone?",
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened",
    sqlite3.SQLITE_READONLY: "the file may not be written",
    sqlite3.SQLITE_CORRUPT: "the file is damaged; restore a backup",
    sqlite3.SQLITE_NOTADB: "the file is no SQLite database",
}
_PRAGMAS = (
    "journal_mode = WAL",
    "synchronous = FULL",  # the log is on the disk before anything is acknowledged
    "secure_delete = ON",  # what is deleted is overwritten with zeros
    "cache_size = -32768",  # kilobytes: random ids touch pages all over the file
    # pages: so that most are changed many times before they are written to the file
    "wal_autocheckpoint = 8192",
    "temp_store = MEMORY",  # what is sorted does not go to a file of its own
    "journal_size_limit = 67108864",  # bytes: a log that grew during a long read shrinks again
)
_COMPANIONS = ("-wal", "-shm")
"""What the names of the log and of its index add to the file's."""
_Identity = tuple[int, int]
"""The device and the number of a file: another file of the same name has another identity."""
_EACH = "WITH RECURSIVE each (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM each WHERE n + 1 < ?1)"
"""The positions of values of one length that are stored one after the other."""


@final
class Sqlite(Database):
    """A file with a write-ahead log."""

    words: ClassVar[Mapping[str, str]] = {
        "key": "key INTEGER PRIMARY KEY",
        "bytes": "BLOB",
        "real": "REAL",
        "server": "-- ",  # what only a server does is a comment here
        "sorted": " WITHOUT ROWID",  # so that no row number tells in which order reports came
    }
    lock = ""

    def __init__(self, path: Path, create: bool = True) -> None:
        super().__init__(f"sqlite:///{path}")
        self._path = path.absolute()
        self._create = create
        self._connection: sqlite3.Connection | None = None
        self._file: _Identity | None = None
        self._companions: dict[str, _Identity | None] = {}
        self._lost = ""

    def again(self) -> Database:
        return Sqlite(self._path, create=False)

    def run(self, sql: str, *values: object) -> list[Any]:
        return self._open.execute(sql, values).fetchall()

    def many(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        self._open.executemany(sql, rows)

    def insert(self, plan: int, number: int, ids: Sequence[bytes], bodies: Sequence[bytes]) -> set[bytes]:
        lengths: dict[int, list[tuple[bytes, bytes]]] = {}
        for row in sorted(zip(ids, bodies, strict=True)):
            lengths.setdefault(len(row[1]), []).append(row)
        self.run("SAVEPOINT arriving")
        inserted = sum([self._insert(plan, number, rows) for rows in lengths.values()])
        if inserted < len(ids):  # only a query finds which ones are stored
            self.run("ROLLBACK TO arriving")
        self.run("RELEASE arriving")
        if inserted == len(ids):
            return set()
        there = find_stored(self, plan, number, ids)
        for rows in lengths.values():
            self._insert(plan, number, [row for row in rows if row[0] not in there])
        return there

    def _insert(self, plan: int, number: int, rows: Sequence[tuple[bytes, bytes]]) -> int:
        """Insert rows with bodies of one length by one statement; others get a turn between statements."""
        if not rows:
            return 0
        sql = (
            f"INSERT INTO arrivals (plan, round, id, body) {_EACH} SELECT ?4, ?5, substr(?2, 1 + ?3 * n, "
            "?3), substr(?6, 1 + ?7 * n, ?7) FROM each WHERE NOT EXISTS (SELECT 1 FROM reports WHERE plan = "
            "?4 AND round = ?5 AND id = substr(?2, 1 + ?3 * n, ?3)) ON CONFLICT DO NOTHING"
        )
        ids, bodies = b"".join([row[0] for row in rows]), b"".join([row[1] for row in rows])
        values = (len(rows), ids, len(rows[0][0]), plan, number, bodies, len(rows[0][1]))
        inserted = self._open.execute(sql, values).rowcount
        assert inserted >= 0, "only statements that begin with INSERT report the number of inserted rows"
        return inserted

    def present(
        self, table: str, head: Mapping[str, object], column: str, values: Sequence[bytes]
    ) -> set[bytes]:
        if not values:
            return set()
        where = " AND ".join(f"{name} = ?{position}" for position, name in enumerate(head, 4))
        sql = (
            f"{_EACH} SELECT group_concat(n) FROM each WHERE EXISTS (SELECT 1 FROM {table} WHERE {where} AND "
            f"{column} = substr(?2, 1 + ?3 * n, ?3))"
        )
        [(positions,)] = self.run(sql, len(values), b"".join(values), len(values[0]), *head.values())
        return {values[int(position)] for position in positions.split(",")} if positions else set()

    def use_invitations(self, plan: int, hashes: Sequence[bytes]) -> set[bytes]:
        sql = "DELETE FROM invitations WHERE plan = ? AND hash = ?"
        self.many(sql, [(plan, hashed) for hashed in hashes])
        return set(hashes)  # they were there, and nobody else writes

    def use_tickets(self, plan: int, hashes: Sequence[bytes]) -> set[bytes]:
        there = self.present("tickets", {"plan": plan}, "hash", hashes)
        new = set(hashes) - there
        sql = "INSERT INTO tickets (plan, hash) VALUES (?, ?)"
        self.many(sql, [(plan, hashed) for hashed in sorted(new)])
        return new

    def lock_plan(self, plan: int, shared: bool, sql: str) -> list[Any]:
        return self.run(sql)  # a transaction that writes is the only one

    def collector_number(self) -> int:
        return 0

    def lock_arrivals(self) -> None:
        """Do nothing: a transaction that writes is the only one."""

    def release(self, pools: Sequence[Pool]) -> None:
        self._take_out("arrivals")
        self.run("CREATE TEMP TABLE leaving (position INTEGER PRIMARY KEY)")
        # the blobs come from a generator that the operating system seeds
        selection = "SELECT rowid FROM written WHERE plan = ? AND round = ?"
        for pool in pools:
            sql = f"INSERT INTO leaving {selection} ORDER BY randomblob(8) LIMIT -1 OFFSET ?"
            self.run(sql, pool.plan, pool.round, pool.staying)
        self.run("INSERT INTO reports SELECT * FROM written WHERE rowid IN leaving ORDER BY rowid")
        self.run("DELETE FROM written WHERE rowid IN leaving")
        self.run("DROP TABLE leaving")
        self._put_back("arrivals")

    def rewrite(self, table: str) -> None:
        self._take_out(table)
        self._put_back(table)

    def _take_out(self, table: str) -> None:
        """Move the rows of a table to a temporary one, in the order of its first columns, which are unique.

        Deleted all at once, so that pages are overwritten with zeros: within a page, rows lie in the order in
        which they were inserted. Freed pages are used again in an order that tells to which rows they
        belonged, and those were taken as reports came. So they are dealt out at random in between: to all
        rows, also to those that leave the table, since a page that nobody takes stays in that order.
        """
        keys = "1, 2, 3" if table == "arrivals" else "1, 2"
        self.run(f"CREATE TEMP TABLE written AS SELECT * FROM {table} ORDER BY {keys}")
        self.run(f"DELETE FROM {table}")
        self.run(f"INSERT INTO {table} SELECT * FROM written ORDER BY randomblob(8)")
        self.run(f"DELETE FROM {table}")

    def _put_back(self, table: str) -> None:
        self.run(f"INSERT INTO {table} SELECT * FROM written ORDER BY rowid")
        self.run("DROP TABLE written")

    def clear(self, reports: bool, log: bool = True) -> Cleared:
        with self.outside():
            if self._connection is None:
                self._connect()
            self.run("PRAGMA busy_timeout = 0")  # do not wait for readers
            # only the log still has what was overwritten
            done = self._truncate_log() and self._clear_index()
            self.run(f"PRAGMA busy_timeout = {PATIENCE * 1000:.0f}")
            return Cleared(tables=done, log=done)

    def _truncate_log(self) -> bool:
        [(busy, *_)] = self.run("PRAGMA wal_checkpoint(TRUNCATE)")
        return not busy

    def _clear_index(self) -> bool:
        """Clear the index of the log, which lists the pages that were written, in their order.

        The first page of a new log overwrites the list with zeros.
        """
        try:
            self.run("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:  # another process writes
            return False
        self.write_nothing()
        self.run("COMMIT")
        return self._truncate_log()

    def refuse_full_disk(self) -> None:
        if shutil.disk_usage(self._path.parent).free < ROOM:
            reason = _REASONS[sqlite3.SQLITE_FULL]
            raise StoreUnavailable(f"{self.name} cannot be used now: {reason}")

    def damage(self) -> list[str]:
        return [text for (text,) in self.run("PRAGMA quick_check(10)") if text != "ok"]

    def exposures(self) -> list[Exposure]:
        return []

    @property
    def _open(self) -> sqlite3.Connection:
        assert self._connection is not None
        return self._connection

    def _begin(self, write: bool) -> None:
        if self._connection is None:
            self._connect()
        # what is written to a deleted file would be acknowledged, and lost
        if self._identity() != self._file:
            self._drop()
            raise StoreUnavailable(f"{self.name} cannot be used now: the file was moved, deleted or replaced")
        self._refuse_lost_log()
        self._open.execute("BEGIN IMMEDIATE" if write else "BEGIN")

    def _commit(self) -> None:
        self._open.execute("COMMIT")
        self._refuse_lost_log()  # it may have been deleted since the transaction began

    def _refuse_lost_log(self) -> None:
        """Refuse to go on without the log that this connection writes to, after copying it to the file.

        Other connections of this process still have the old log, so that a new one beside it could damage the
        file: only a new start makes one.
        """
        if not self._lost:
            ends = [end for end, file in self._companions.items() if self._identity(end) != file]
            if not ends:
                return
            names = " and ".join(f"{self._path.name}{end}" for end in ends)
            self._lost = (
                f"{self.name} cannot be used any more: {names} was moved, deleted or replaced. "
                f"{self._rescue()} Stop everything that uses the store, then start the collector again, and "
                "run deniable store check"
            )
        raise StoreUnavailable(self._lost)

    def _rescue(self) -> str:
        """Copy what is in the lost log to the file, while this connection still has it; say what was done."""
        try:
            [(busy, logged, copied)] = self.run("PRAGMA wal_checkpoint(FULL)")
        except sqlite3.Error:
            busy = logged = copied = -1
        if busy or logged != copied:
            return "What it held could not be copied to the file: acknowledged reports may be lost."
        return "What it held was copied to the file first."

    def _undo(self) -> None:
        if self._connection is not None and self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _connect(self) -> None:
        if not self._path.exists():
            if self._file is not None:  # a lost file is not replaced in silence
                raise StoreUnavailable(f"{self.name} cannot be used now: the file is gone")
            if not self._create:
                raise InvalidParameter(f"there is no store at {self.name}; deniable serve makes one", "store")
            try:
                os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))  # for nobody else to read
            except OSError as problem:
                raise InvalidParameter(
                    f"{self.name} cannot be made: {problem.strerror}; does its folder exist?"
                ) from None
        elif self._path.is_dir():
            raise InvalidParameter(f"{self.name} is a folder; name a file")
        self._connection = sqlite3.connect(
            self._path, timeout=PATIENCE, isolation_level=None, check_same_thread=False
        )
        self._file = self._identity()
        self.connections += 1
        try:
            for pragma in _PRAGMAS:
                self.run(f"PRAGMA {pragma}")
            if not self._is_current():
                self._connection.execute("BEGIN IMMEDIATE")
                self._migrate()
                self._connection.execute("COMMIT")
            self._companions = {end: self._identity(end) for end in _COMPANIONS}
        except BaseException:
            self._drop()  # which undoes what was begun
            raise

    def _version(self) -> int | None:
        tables = {name for (name,) in self.run("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if "deniable" in tables:
            [(version,)] = self.run("SELECT version FROM deniable")
            return int(version)
        if tables:
            raise InvalidParameter(
                f"{self.name} is a database of something else; choose another file with --store"
            )
        return None

    def _identity(self, end: str = "") -> _Identity | None:
        try:
            state = os.stat(f"{self._path}{end}")
        except OSError:
            return None
        return state.st_dev, state.st_ino

    def _reason(self, problem: BaseException) -> str | None:
        if not isinstance(problem, sqlite3.Error):
            return None
        code = getattr(problem, "sqlite_errorcode", None)
        return _REASONS.get(code & 0xFF if code is not None else -1, str(problem))
