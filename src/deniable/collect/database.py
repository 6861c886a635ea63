"""States what a store needs of a database; all SQL that SQLite and PostgreSQL share is written above this."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, NamedTuple, final

from deniable.collect import schema
from deniable.errors import DeniableError


class StoreUnavailable(DeniableError):
    """The database cannot be used now. Nothing was half-written; the same reports can be sent again."""


class Cleared(NamedTuple):
    """What was cleared of the traces that changed and deleted rows left."""

    tables: bool
    """Whether the files of the tables are."""
    log: bool
    """Whether the database's log is, too."""


class Exposure(NamedTuple):
    """How a database is set up to keep what sweeps clear."""

    text: str
    """What it keeps, and what to do about it."""
    keeps_log: bool
    """Whether the log stays after a sweep, here or elsewhere."""


class Pool(NamedTuple):
    """The arrivals of a plan and round, in which later ones are mixed."""

    plan: int
    round: int
    n: int
    staying: int
    """How many of them stay, when others leave for `reports`."""


class Database(ABC):
    """One connection, made when it is needed and again after it was lost. Threads take turns."""

    words: ClassVar[Mapping[str, str]]
    """How this database calls the types in `schema`."""
    lock: ClassVar[str]
    """What makes a SELECT keep other writers from its rows until the transaction ends."""

    def __init__(self, name: str) -> None:
        self.name = name
        """Where it is, without a password."""
        self._turn = threading.RLock()
        self._closed = False
        self.connections = 0
        """How many connections were made: an earlier one may have read from another database."""

    @abstractmethod
    def again(self) -> Database:
        """Another connection to the same database, which must exist."""

    @abstractmethod
    def run(self, sql: str, *values: object) -> list[Any]:
        """Run one statement with ? for each value, and fetch what it gives."""

    @abstractmethod
    def many(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        """Run one statement for each row."""

    @abstractmethod
    def insert(self, plan: int, number: int, ids: Sequence[bytes], bodies: Sequence[bytes]) -> set[bytes]:
        """Insert arrivals with different ids, except those whose id is stored; return the stored ids."""

    @abstractmethod
    def present(
        self, table: str, head: Mapping[str, object], column: str, values: Sequence[bytes]
    ) -> set[bytes]:
        """Which values a column has, in the rows that begin with this head."""

    @abstractmethod
    def use_invitations(self, plan: int, hashes: Sequence[bytes]) -> set[bytes]:
        """Delete invitations; return those that were there, and that nobody else deletes."""

    @abstractmethod
    def use_tickets(self, plan: int, hashes: Sequence[bytes]) -> set[bytes]:
        """Insert hashes of tickets; return those that were not there, and that nobody else inserts."""

    @abstractmethod
    def lock_plan(self, plan: int, shared: bool, sql: str) -> list[Any]:
        """Keep others from changing a plan until the transaction ends, or unless shared from adding to it.

        What this statement without values finds once it is locked.
        """

    @abstractmethod
    def collector_number(self) -> int:
        """Under which number this connection keeps tallies: others that write now have other numbers."""

    @abstractmethod
    def lock_arrivals(self) -> None:
        """Keep others from adding reports and using tickets until the transaction ends."""

    @abstractmethod
    def release(self, pools: Sequence[Pool]) -> None:
        """Write all locked arrivals again, in the order of their keys, and let some go to `reports`.

        `pools` are all that there are, in the order of their plans and rounds. Those that stay are chosen at
        random.
        """

    @abstractmethod
    def rewrite(self, table: str) -> None:
        """Write all rows of a locked table again, in the order of their keys."""

    @abstractmethod
    def clear(self, reports: bool) -> Cleared:
        """Clear what changed and deleted rows left in the files, outside transactions; what could be.

        Scrubbed reports are deleted rows, too; they are cleared only where this is asked for.
        """

    @abstractmethod
    def refuse_full_disk(self) -> None:
        """Raise StoreUnavailable if the disk has no room for reports, where that can be known."""

    @abstractmethod
    def damage(self) -> list[str]:
        """What the database finds wrong with its own files."""

    @abstractmethod
    def exposures(self) -> list[Exposure]:
        """How the database is set up to keep what sweeps clear."""

    @abstractmethod
    def _begin(self, write: bool) -> None:
        """Begin a transaction, to read from one snapshot or to write; connect where necessary."""

    @abstractmethod
    def _commit(self) -> None:
        """Make it durable."""

    @abstractmethod
    def _undo(self) -> None:
        """Forget the transaction."""

    @abstractmethod
    def _drop(self) -> None:
        """Forget the connection, if there is one."""

    @abstractmethod
    def _reason(self, problem: BaseException) -> str | None:
        """A problem of the database in plain words; None for other problems."""

    @abstractmethod
    def _version(self) -> int | None:
        """The version of the tables, None where there are none."""

    @final
    @contextmanager
    def outside(self) -> Iterator[None]:
        """Report problems of work outside a transaction in plain words."""
        with self._turn:
            if self._closed:
                raise StoreUnavailable(f"{self.name} was closed")
            try:
                yield
            except BaseException as problem:
                reason = self._reason(problem)
                if reason is None:
                    raise
                self._drop()
                raise StoreUnavailable(f"{self.name} cannot be used now: {reason}") from problem

    @final
    @contextmanager
    def transaction(self, write: bool = False) -> Iterator[None]:
        """All of it or nothing."""
        with self.outside():
            self._begin(write)
            try:
                yield
                self._commit()
            except BaseException as problem:
                if self._reason(problem) is None:
                    self._undo()
                raise

    @final
    def close(self) -> None:
        """Let go of the connection, for good."""
        with self._turn:
            self._closed = True
            self._drop()

    @final
    def _migrate(self) -> None:
        """Bring the tables up to date, within a transaction that keeps other writers away."""
        version = self._version()
        if version is None:
            self.run("CREATE TABLE deniable (version INTEGER NOT NULL)")
            self.run("INSERT INTO deniable (version) VALUES (0)")
        for statement in schema.steps(version or 0, self.name, self.words):
            self.run(statement)

    @final
    def _is_current(self) -> bool:
        return self._version() == len(schema.MIGRATIONS)
