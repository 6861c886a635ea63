"""Stores reports in PostgreSQL through psycopg 3, for production; several collectors may share it."""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, final

import numpy as np
import psycopg
from psycopg import conninfo, errors
from psycopg.adapt import Dumper
from psycopg.pq import Format, TransactionStatus

from deniable.errors import InvalidParameter
from deniable.store.database import Cleared, Database, Exposure, Pool

_DEFAULTS = {"connect_timeout": "5", "tcp_user_timeout": "15000", "application_name": "deniable"}
_SETTINGS = (
    # nothing is acknowledged before it is durable, whatever the server's default
    "SET synchronous_commit = on",
    "SET lock_timeout = '10s'",
    # every query goes by a key; old statistics must not make it read millions of rows
    "SET enable_seqscan = off",
    "SET enable_bitmapscan = off",
    "SET jit = off",  # it takes longer than any of the queries
    "SET client_min_messages = error",
)
_CHANGING = ("arrivals", "tallies", "invitations", "tickets", "exchanges")
"""Tables whose dead rows tell what happened."""
# attempts to clear while others end their transactions, and seconds between them
_TRIES, _PAUSE = 20, 0.01
_LOCKED, _REWRITTEN, _LOGGED = "5s", "10min", "60s"
"""How long a sweep may work on a table that arriving reports wait for (collectors give up after 10 seconds),
on one that they do not, and on the log. What takes longer on a busy machine is left to the next sweep.
"""
_MIGRATING = 0x64656E69  # the advisory lock for making or changing tables
_COLLECTORS = 64  # collectors that have tallies of their own; more of them wait for each other
_MANY = 100  # reports that are inserted as if none of them were there
_INSERT = (
    # One statement, which sees what was there when nobody was mixing the arrivals. A subquery with LIMIT
    # looks up one key after the other.
    "INSERT INTO arrivals (plan, round, id, body) SELECT {0}, {1}, given.id, given.body FROM "
    "unnest({2}, {3}) AS given (id, body) WHERE (SELECT true FROM reports WHERE plan = {0} AND round = {1} "
    "AND reports.id = given.id LIMIT 1) IS NULL"
)
_INSERT_SOME = f"{_INSERT.format(*'????')} ON CONFLICT DO NOTHING RETURNING id"
_INSERT_MANY = (
    # A function of this connection alone. It catches a repeat, which the server would else write into its
    # messages: the report's id, and the time.
    "CREATE OR REPLACE FUNCTION pg_temp.insert_many(int4, int4, bytea[], bytea[]) RETURNS int8 LANGUAGE "
    f"plpgsql AS $$ DECLARE inserted int8; BEGIN {_INSERT.format('$1', '$2', '$3', '$4')}; GET DIAGNOSTICS "
    "inserted = ROW_COUNT; RETURN inserted; EXCEPTION WHEN unique_violation THEN RETURN NULL; END $$"
)
_REASONS: Mapping[type[psycopg.Error], str] = {
    errors.DiskFull: "its disk is full; make room",
    errors.TooManyConnections: "it has too many connections",
    errors.LockNotAvailable: "another process keeps it locked",
    errors.CannotConnectNow: "it is starting up or shutting down",
    errors.AdminShutdown: "it was shut down",
    errors.ReadOnlySqlTransaction: "it may only be read; is it a standby?",
    errors.DuplicateTable: "its schema has tables of something else; choose another --store, or another "
    "search_path",
}
_NAMES_STATEMENTS = "the server's log names statements and their times"
_LEAST_TELLING: Mapping[str, tuple[str, str]] = {
    "log_statement": ("none", _NAMES_STATEMENTS),
    "log_duration": ("off", _NAMES_STATEMENTS),
    "log_min_duration_statement": ("-1", _NAMES_STATEMENTS),
    "log_min_duration_sample": ("-1", _NAMES_STATEMENTS),
    "log_transaction_sample_rate": ("0", _NAMES_STATEMENTS),
    "auto_explain.log_min_duration": ("-1", _NAMES_STATEMENTS),
    "pgaudit.log": ("none", _NAMES_STATEMENTS),
    "track_commit_timestamp": ("off", "the server keeps the time of every transaction"),
    "archive_mode": ("off", "the server archives its log, which has the time and invitation of every report"),
    "wal_keep_size": ("0", "the server keeps its log, which has the time and invitation of every report"),
    "wal_init_zero": ("on", "new files of the server's log begin with what the disk held"),
    "log_lock_waits": ("off", _NAMES_STATEMENTS),
    "wal_recycle": ("off", "the server uses files of its log again with what they held"),
}
"""The value of each setting that tells least, and what another one does."""
_KEEPS_LOG = ("archive_mode", "wal_keep_size", "wal_recycle")
"""Settings by which the log stays although a sweep dropped it."""

_RIGHTS = (
    "SELECT pg_has_role(current_user, 'pg_read_all_stats', 'usage'), "
    "has_function_privilege('pg_switch_wal()', 'execute') AND (SELECT bool_or(rolsuper AND rolname = "
    "current_user OR rolname = 'pg_checkpoint' AND pg_has_role(current_user, oid, 'usage')) FROM pg_roles)"
)
_BYTEA, _ARRAY = 17, 1001  # the numbers of PostgreSQL's types
_HEAD = struct.Struct(">iiIii")  # dimensions, whether there are nulls, type, length, the first position
_LENGTH = struct.Struct(">i")


@final
class Postgres(Database):
    """A database, or the schema of one that its address names by `?options=-csearch_path%3Dname`."""

    words: ClassVar[Mapping[str, str]] = {
        "key": "key INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
        "bytes": "BYTEA",
        "real": "DOUBLE PRECISION",
        "sorted": "",
        "server": "",
    }
    lock = "FOR UPDATE"

    def __init__(self, url: str, create: bool = True) -> None:
        try:
            settings = conninfo.conninfo_to_dict(url)
        except psycopg.Error as problem:
            raise InvalidParameter(f"this is no address of a PostgreSQL database: {problem}") from None
        host, name = settings.get("host") or "localhost", settings.get("dbname") or settings.get("user") or ""
        super().__init__(f"postgresql://{host}:{settings.get('port') or 5432}/{name}")
        self._url = url
        self._address = conninfo.make_conninfo("", **{**_DEFAULTS, **settings})
        self._create = create
        self._connection: psycopg.Connection[tuple[Any, ...]] | None = None
        self._number: int | None = None
        self._inserts_many = False
        """Whether the server has the function for it: an operator may allow none."""

    def again(self) -> Database:
        return Postgres(self._url, create=False)

    def run(self, sql: str, *values: object) -> list[Any]:
        cursor = self._cursor().execute(_translate(sql), values or None)
        return cursor.fetchall() if cursor.description else []

    def many(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        self._cursor().executemany(_translate(sql), rows)

    def insert(self, plan: int, number: int, ids: Sequence[bytes], bodies: Sequence[bytes]) -> set[bytes]:
        # in the order of ids, so that no two collectors wait for each other
        rows = sorted(zip(ids, bodies, strict=True))
        packed = Packed.of([row[0] for row in rows]), Packed.of([row[1] for row in rows])
        if len(ids) >= _MANY and self._inserts_many:
            # Looking for conflicts takes as long as the insert, and many reports have rarely one.
            [(new,)] = self.run("SELECT pg_temp.insert_many(?, ?, ?, ?)", plan, number, *packed)
            if new is not None:
                head = {"plan": plan, "round": number}
                return set() if new == len(ids) else self.present("reports", head, "id", ids)
        inserted = self.run(_INSERT_SOME, plan, number, *packed, plan, number)
        return set() if len(inserted) == len(ids) else set(ids) - {name for (name,) in inserted}

    def present(
        self, table: str, head: Mapping[str, object], column: str, values: Sequence[bytes]
    ) -> set[bytes]:
        where = " AND ".join(f"{name} = ?" for name in head)
        sql = (  # LIMIT makes it look up one key after the other
            "SELECT given.value FROM unnest(?::bytea[]) AS given (value) CROSS JOIN LATERAL (SELECT 1 FROM "
            f"{table} WHERE {where} AND {column} = given.value LIMIT 1) AS found"
        )
        return {value for (value,) in self.run(sql, list(values), *head.values())}

    def use_invitations(self, plan: int, hashes: Sequence[bytes]) -> set[bytes]:
        sql = (
            "DELETE FROM invitations USING unnest(?::bytea[]) AS given (hash) WHERE invitations.plan = ? AND "
            "invitations.hash = given.hash RETURNING invitations.hash"
        )
        return {hashed for (hashed,) in self.run(sql, sorted(hashes), plan)}

    def use_tickets(self, plan: int, hashes: Sequence[bytes]) -> set[bytes]:
        sql = (
            "INSERT INTO tickets (plan, hash) SELECT ?, given.hash FROM unnest(?::bytea[]) AS given (hash) "
            "ON CONFLICT DO NOTHING RETURNING hash"
        )
        return {hashed for (hashed,) in self.run(sql, plan, sorted(hashes))}

    def lock_plan(self, plan: int, shared: bool, sql: str) -> list[Any]:
        # An advisory lock writes nothing, and is given in the order in which it is asked for. The number of a
        # table distinguishes stores in one database.
        verb = "pg_advisory_xact_lock_shared" if shared else "pg_advisory_xact_lock"
        lock = f"SELECT {verb}('plans'::regclass::oid::int4, {plan})"
        assert self._connection is not None
        # both in one message; the second statement sees what was there when the lock was given
        cursor = self._connection.cursor().execute(f"{lock}; {sql}".encode(), prepare=False)
        cursor.nextset()
        return cursor.fetchall()

    def collector_number(self) -> int:
        if self._number is None:  # the lock goes with the connection
            sql = "SELECT pg_try_advisory_lock('tallies'::regclass::oid::int4, ?::int4)"
            free = (number for number in range(_COLLECTORS) if self.run(sql, number)[0][0])
            self._number = next(free, 0)
        return self._number

    def lock_arrivals(self) -> None:
        # all of it is read, and is not to be sorted in files
        self.run("SET LOCAL enable_seqscan = on")
        self.run("SET LOCAL work_mem = '256MB'")
        # readers may go on: they see what was there before
        self.run("LOCK TABLE arrivals, tickets, exchanges IN SHARE ROW EXCLUSIVE MODE")

    def release(self, pools: Sequence[Pool]) -> None:
        ranked = (
            "SELECT *, row_number() OVER (ORDER BY plan, round, id) IN (SELECT unnest(?::int8[])) AS stays "
            "FROM gone"
        )
        rows = "SELECT plan, round, id, body FROM ranked WHERE {} ORDER BY 1, 2, 3"
        self.run(
            f"WITH gone AS (DELETE FROM arrivals RETURNING *), ranked AS MATERIALIZED ({ranked}), older AS "
            f"(INSERT INTO reports {rows.format('NOT stays')}) INSERT INTO arrivals {rows.format('stays')}",
            _choose_positions(pools),
        )

    def rewrite(self, table: str) -> None:
        # then all have the number of one transaction, and lie in the order of their keys
        keys = "1, 2, 3" if table == "arrivals" else "1, 2"
        gone = f"DELETE FROM {table} RETURNING *"
        self.run(f"WITH gone AS ({gone}) INSERT INTO {table} SELECT * FROM gone ORDER BY {keys}")

    def clear(self, reports: bool, log: bool = True) -> Cleared:
        cleaner = Postgres(self._url, create=False)  # so that this connection can add reports meanwhile
        try:
            with cleaner.outside():
                return cleaner._clear((*_CHANGING, *["reports", "rounds"] * reports), log)
        finally:
            cleaner.close()

    def _clear(self, tables: Sequence[str], log: bool) -> Cleared:
        nothing = Cleared(tables=False, log=False)
        self._connect()
        [(free,)] = self.run("SELECT pg_try_advisory_lock('arrivals'::regclass::oid::int4, 0)")
        if not free:  # another collector does this now
            return nothing
        [(now,)] = self.run("SELECT pg_snapshot_xmax(pg_current_snapshot())::xid::text")
        tries = iter(range(_TRIES))
        while self._has_old_readers(now):
            if next(tries, None) is None:
                return nothing
            time.sleep(_PAUSE)
        self.run("SET lock_timeout = '200ms'")  # a process that waits for this lock makes others wait
        try:
            # A plain VACUUM leaves the bytes of deleted rows in the pages; FULL writes the rows that are left
            # to a new file.
            for table in tables:
                self.run(f"SET statement_timeout = '{_LOCKED if table in _CHANGING else _REWRITTEN}'")
                if self.run(f"SELECT pg_relation_size('{table}')") != [(0,)]:
                    self.run(f"VACUUM (FULL) {table}")
        except (errors.LockNotAvailable, errors.QueryCanceled):
            return nothing
        if not log:
            return Cleared(tables=True, log=False)
        try:
            self.run(f"SET statement_timeout = '{_LOGGED}'")
            self._drop_log()
        except (errors.InsufficientPrivilege, errors.QueryCanceled):
            return Cleared(tables=True, log=False)
        return Cleared(tables=True, log=not any(exposure.keeps_log for exposure in self.exposures()))

    def _drop_log(self) -> None:
        """Make the server delete its log of all that happened until now, where it keeps none on purpose."""
        self.run("SELECT pg_switch_wal()")
        self.run("CHECKPOINT")

    def _has_old_readers(self, now: str) -> bool:
        """Whether an open transaction still sees what was deleted before, so that VACUUM cannot remove it."""
        others = (
            "pg_stat_activity WHERE pid <> pg_backend_pid() AND coalesce(datname, current_database()) = "
            "current_database()"
        )
        seen = (
            f"SELECT backend_xmin AS oldest FROM {others} UNION ALL SELECT backend_xid FROM {others} UNION "
            "ALL SELECT xmin FROM pg_replication_slots UNION ALL SELECT transaction FROM pg_prepared_xacts"
        )
        sql = (
            f"SELECT count(*) FROM ({seen}) AS seen WHERE oldest IS NOT NULL AND age(oldest) > "
            "age(?::text::xid)"
        )
        [(count,)] = self.run(sql, now)
        return bool(count)

    def refuse_full_disk(self) -> None:
        """Do nothing: the disk is another machine's."""

    def damage(self) -> list[str]:
        return []

    def exposures(self) -> list[Exposure]:
        names = list(_LEAST_TELLING)
        rows = self.run("SELECT name, setting FROM pg_settings WHERE name = ANY(?) ORDER BY name", names)
        exposures = [
            Exposure(f"{_LEAST_TELLING[name][1]}; set {name} = {_LEAST_TELLING[name][0]}", name in _KEEPS_LOG)
            for name, setting in rows
            if setting != _LEAST_TELLING[name][0]
        ]
        [(slots, replicas)] = self.run(
            "SELECT (SELECT count(*) FROM pg_replication_slots), (SELECT count(*) FROM pg_stat_replication)"
        )
        if slots or replicas:
            text = (
                f"{max(slots, replicas)} replicas receive the server's log, which has the time and "
                "invitation of every report; do without them, or treat them as this server"
            )
            exposures.append(Exposure(text, keeps_log=True))
        [(sees_readers, drops_log)] = self.run(_RIGHTS)
        if not sees_readers:
            text = (
                "a sweep cannot see who reads, and takes old rows for cleared that others still see; GRANT "
                "pg_read_all_stats to this user"
            )
            exposures.append(Exposure(text, keeps_log=False))
        if not drops_log:
            text = (
                "a sweep cannot drop the server's log, which has the time and invitation of every report; "
                "GRANT pg_checkpoint, and EXECUTE ON FUNCTION pg_switch_wal(), to this user"
            )
            exposures.append(Exposure(text, keeps_log=True))
        return exposures

    def _cursor(self) -> psycopg.Cursor[tuple[Any, ...]]:
        if self._connection is None:
            self._connect()
        assert self._connection is not None
        return self._connection.cursor(binary=True)

    def _begin(self, write: bool) -> None:
        sql = "BEGIN" if write else "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
        try:
            self.run(sql)
        except psycopg.OperationalError:
            if self._connection is None or not self._connection.closed:
                raise
            self._drop()  # it was lost while nobody used it, and nothing was begun: try a new one
            self.run(sql)

    def _commit(self) -> None:
        self.run("COMMIT")

    def _undo(self) -> None:
        if self._connection is not None:
            try:
                self.run("ROLLBACK")
            except psycopg.Error:
                self._drop()

    def _drop(self) -> None:
        if self._connection is not None:
            with suppress(psycopg.Error):
                # The server lets go of locks some time after the connection is closed. Until then the next
                # connection would take another number, and make rows of its own.
                status = self._connection.info.transaction_status
                if self._number is not None and status == TransactionStatus.IDLE:
                    self.run("SELECT pg_advisory_unlock_all()")
            with suppress(psycopg.Error):
                self._connection.close()
        self._connection = self._number = None
        self._inserts_many = False

    def _connect(self) -> None:
        self._connection = psycopg.connect(self._address, autocommit=True)
        self._connection.adapters.register_dumper(Packed, PackedDumper)
        self.connections += 1
        try:
            for setting in _SETTINGS:
                self.run(setting)
            if not self._is_current():
                # before the transaction: one that waits for a lock does not see the tables made meanwhile
                self.run("SELECT pg_advisory_lock(?)", _MIGRATING)
                with self._connection.transaction():
                    self._migrate()
                self.run("SELECT pg_advisory_unlock(?)", _MIGRATING)
            with suppress(errors.InsufficientPrivilege, errors.UndefinedObject):
                self.run(_INSERT_MANY)
                self._inserts_many = True
        except BaseException:
            self._drop()
            raise

    def _version(self) -> int | None:
        [(table,)] = self.run("SELECT to_regclass('deniable')::text")
        if table is None and not self._create:
            raise InvalidParameter(f"there is no store at {self.name}; deniable serve makes one", "store")
        return None if table is None else int(self.run("SELECT version FROM deniable")[0][0])

    def _reason(self, problem: BaseException) -> str | None:
        if not isinstance(problem, psycopg.Error):
            return None
        for kind, words in _REASONS.items():
            if isinstance(problem, kind):
                return words
        return " ".join(str(problem).split())


def _choose_positions(pools: Sequence[Pool]) -> list[int]:
    """Which arrivals stay, by their positions from 1 on: at random, by the operating system's numbers."""
    positions: list[int] = []
    first = 1
    for pool in pools:
        keys = np.frombuffer(os.urandom(8 * pool.n), dtype=np.uint64)
        positions += (first + np.argsort(keys)[: pool.staying]).tolist()
        first += pool.n
    return positions


@cache
def _translate(sql: str) -> bytes:
    """Write each ? as psycopg's binary placeholder."""
    return sql.replace("?", "%b").encode()


@final
@dataclass(frozen=True)
class Packed:
    """A value of the type `bytea[]`."""

    raw: bytes

    @staticmethod
    def of(values: Sequence[bytes]) -> Packed:
        """Pack values, of which there is at least one."""
        pieces = [_HEAD.pack(1, 0, _BYTEA, len(values), 1)]
        for value in values:
            pieces.append(_LENGTH.pack(len(value)))
            pieces.append(value)
        return Packed(b"".join(pieces))


@final
class PackedDumper(Dumper):
    """Hands it to psycopg as it is."""

    format = Format.BINARY
    oid = _ARRAY

    def dump(self, obj: Packed) -> bytes:
        """Give the bytes that are sent."""
        return obj.raw
