"""States what a store needs of a database, and defines its tables.

All SQL that SQLite and PostgreSQL share is written above this.

Nothing in the tables says when a report came, from where, or by which invitation:

- `arrivals` and `reports`: a random id and a body (none once it is scrubbed). A report is in one of them.
  It comes to `arrivals` and may leave for `reports` later (see `sweeping`).
- `rounds`: when a round is open, and the tallies of its scrubbed reports.
- `tallies`: the tallies of a round's reports as rows of integers (see `counting.Sums`), one for each
  collector that counts at the same time. They are added when they are read.
- `invitations`: hashes of tokens that are still to be used; one that is used is deleted.
- `exchanges`: invitations that were exchanged for a ticket, and hashes of what was signed blindly for them,
  so that a lost answer can be given again. Nobody can link them to tickets.
- `tickets`: hashes of tickets that let in a report.
- `access`: who has a token of their own, with its hash.
- `actions`: what operators did, and when.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, NamedTuple, final

from deniable.errors import DeniableError

_REPORTS = (
    "(plan INTEGER NOT NULL, round INTEGER NOT NULL, id {bytes} NOT NULL, body {bytes}, PRIMARY KEY (plan, "
    "round, id)){sorted}"
)
_HASHES = "(plan INTEGER NOT NULL, hash {bytes} NOT NULL, PRIMARY KEY (plan, hash)){sorted}"
SCHEMA = (
    "CREATE TABLE plans ({key}, id TEXT NOT NULL UNIQUE, document TEXT NOT NULL, invited INTEGER NOT NULL)",
    "CREATE TABLE rounds (plan INTEGER NOT NULL, number INTEGER NOT NULL, opens {real}, closes {real}, "
    "scrubbed {bytes} NOT NULL, PRIMARY KEY (plan, number)){sorted}",
    f"CREATE TABLE arrivals {_REPORTS}",
    f"CREATE TABLE reports {_REPORTS}",
    "CREATE TABLE tallies (plan INTEGER NOT NULL, round INTEGER NOT NULL, collector INTEGER NOT NULL, sums "
    "{bytes} NOT NULL, PRIMARY KEY (plan, round, collector)){sorted}",
    f"CREATE TABLE invitations {_HASHES}",
    "CREATE TABLE exchanges (plan INTEGER NOT NULL, hash {bytes} NOT NULL, blinded {bytes} NOT NULL, PRIMARY "
    "KEY (plan, hash)){sorted}",
    f"CREATE TABLE tickets {_HASHES}",
    "CREATE TABLE access (name TEXT NOT NULL PRIMARY KEY, role TEXT NOT NULL, hash {bytes} NOT NULL UNIQUE, "
    "added {real} NOT NULL)",
    "CREATE TABLE actions ({key}, time {real} NOT NULL, who TEXT NOT NULL, through TEXT NOT NULL, what TEXT "
    "NOT NULL, plan TEXT, detail TEXT NOT NULL)",
    # so that the planner's statistics keep no samples of rows that were there earlier
    "{server}ALTER TABLE arrivals ALTER id SET STATISTICS 0, ALTER body SET STATISTICS 0",
    "{server}ALTER TABLE reports ALTER id SET STATISTICS 0, ALTER body SET STATISTICS 0",
    "{server}ALTER TABLE tallies ALTER sums SET STATISTICS 0",
    "{server}ALTER TABLE invitations ALTER hash SET STATISTICS 0",
    "{server}ALTER TABLE exchanges ALTER hash SET STATISTICS 0, ALTER blinded SET STATISTICS 0",
    "{server}ALTER TABLE tickets ALTER hash SET STATISTICS 0",
)
"""What makes the tables of FIRST, from an empty database."""
FIRST = 6
"""The first version of a store that was released."""
MIGRATIONS: tuple[tuple[str, ...], ...] = ()
"""What makes each later version from the one before; released steps never change."""


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
    def clear(self, reports: bool, log: bool = True) -> Cleared:
        """Clear what changed and deleted rows left in the files, outside transactions; what could be.

        Scrubbed reports are deleted rows, too; they are cleared only where `reports` is true. Without `log`,
        a server's log stays: after each time that it goes, every page that changes is written to it whole.
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
    def write_nothing(self) -> None:
        """Write something, and leave all as it was; SQLite does not write what does not change."""
        for change in ("version + 1", "version - 1"):
            self.run(f"UPDATE deniable SET version = {change}")

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
        for statement in steps(version or 0, self.name, self.words):
            self.run(statement)

    @final
    def _is_current(self) -> bool:
        return self._version() == FIRST + len(MIGRATIONS)


def find_stored(database: Database, plan: int, number: int, ids: Sequence[bytes]) -> set[bytes]:
    """Which reports are stored, by their ids; one that leaves the arrivals meanwhile is found later."""
    head = {"plan": plan, "round": number}
    return database.present("arrivals", head, "id", ids) | database.present("reports", head, "id", ids)


def steps(version: int, where: str, words: Mapping[str, str]) -> list[str]:
    """The statements that bring a store of this version to the newest, in its database's dialect."""
    newest = FIRST + len(MIGRATIONS)
    if version > newest:
        raise NewerStore(
            f"{where} was written by a newer Deniable (store version {version}; this one knows {newest}); "
            "install that version, or use another store"
        )
    if version and version < FIRST:
        raise DeniableError(
            f"{where} was written by a Deniable before 0.1 (store version {version}; this one reads versions "
            f"from {FIRST} on); write its reports to a file with deniable export of that version, and use "
            "another store"
        )
    migrations = MIGRATIONS[version - FIRST :] if version else (SCHEMA, *MIGRATIONS)
    statements = [statement.format_map(words) for migration in migrations for statement in migration]
    return [*statements, f"UPDATE deniable SET version = {newest}"] if statements else []


class NewerStore(DeniableError):
    """A store that a later version has written; it is left as it is."""
