"""Counts reports, durably and once each, in SQLite or PostgreSQL.

One transaction takes a batch: the reports, the tallies that they add to and the invitations that they use
change together or not at all. A report is known by its random id, so that it can be sent again until it is
acknowledged.

Data at rest reveals neither which invitation let a report in nor in which order reports came, once the store
is swept (see `sweeping`). A collector sweeps it every minute, when it starts and when it ends. A store also
sweeps after 100,000 reports (PostgreSQL's log once a minute), after a scrub, and when it is closed. Until
then a reader of its files can link them: by the log of SQLite, or in PostgreSQL by its log and by deleted
rows, whose transaction number a report also carries. Backups, replicas and archived logs from that time keep
the link.

If a plan takes tickets, invitations are exchanged for them beforehand. No data, at rest or in flight, reveals
which invitation a ticket comes from.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import final

from deniable.errors import DeniableError, InvalidParameter, suggest_install
from deniable.plan.document import PlanDocument
from deniable.reports import Reports, Tallies
from deniable.store import counting, recount, sweeping
from deniable.store.access import Accesses, Actor, log_action, log_round
from deniable.store.counting import Arrival, Known, Outcome
from deniable.store.database import Database, Exposure, StoreUnavailable
from deniable.store.recount import Histories
from deniable.store.registry import Registry, TokenTable, refuse_other_hashes
from deniable.store.schedule import Offer, Registered, Round, Times
from deniable.store.sweeping import Traces

__all__ = ["Arrival", "Outcome", "Store", "StoreUnavailable", "open_store"]

# attempts to clear what was scrubbed while others read, and seconds between them
_TRIES, _PAUSE = 20, 0.1


def open_store(url: str, create: bool = True) -> Store:
    """The store at `sqlite:///file`, `sqlite:////folder/file` or `postgresql://…`; made if there is none."""
    if url.startswith(("postgresql://", "postgres://")):
        try:
            from deniable.store.postgres import Postgres
        except ImportError:
            raise DeniableError(
                f"PostgreSQL needs psycopg; install it with: {suggest_install('serve')}"
            ) from None
        return Store(Postgres(url, create))
    path = url.removeprefix("sqlite:///")
    if path == url or not path or path.startswith(":memory:"):
        raise InvalidParameter(f"a store is sqlite:///reports.db (a file) or postgresql://…, got {url!r}")
    from deniable.store.sqlite import Sqlite

    return Store(Sqlite(Path(path), create))


@final
class Store:
    """A store in a database. Threads use it one at a time; several stores may share a database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._registry = Registry(database)
        self._histories = Histories(database, self._registry)
        self.access = Accesses(database)
        """Who has a token, and what operators did."""
        self.traces = Traces()
        """What came and is not swept yet; stores of one collector share them."""
        self._sweeping = threading.Lock()
        self.ping()

    @property
    def name(self) -> str:
        """Where it is, without a password."""
        return self._database.name

    def register(self, document: PlanDocument, invited: bool = False) -> None:
        """Collect reports of this plan, in rounds still to be made.

        Whether they take invitations can be changed until the first report is counted.
        """
        document.verify()
        if document.ticket_key is not None and not invited:
            raise InvalidParameter(
                f"plan {document.id[:12]} takes tickets, which invitations are exchanged for; register it "
                "with invited=True"
            )
        with self._database.transaction(write=True):
            self._registry.register(document, invited)

    def plans(self) -> list[Registered]:
        """All plans that were registered, the oldest first."""
        with self._database.transaction():
            return self._registry.load_all()

    def set_round(
        self,
        plan_id: str,
        number: int,
        opens: float | None = None,
        closes: float | None = None,
        by: Actor | None = None,
    ) -> None:
        """Make a round, or change when it is open (seconds since 1970; None is without limit)."""
        self.set_rounds(plan_id, [Times(number, opens, closes)], by)

    def set_rounds(self, plan_id: str, rounds: Iterable[Times], by: Actor | None = None) -> None:
        """Make rounds, or change when they are open: all of them, or none."""
        planned = list(rounds)
        for times in planned:
            if times.opens is not None and times.closes is not None and not times.opens < times.closes:
                raise InvalidParameter(
                    f"a round opens before it closes, got {times.opens:g} and {times.closes:g}"
                )
        with self._database.transaction(write=True):
            for times in planned:
                self._registry.set_round(plan_id, times.number, times.opens, times.closes)
                log_round(self._database, by, plan_id, times)

    def offers(self) -> dict[str, Offer]:
        """What all plans offer now, by their ids; no tallies are read, so that anybody may ask often."""
        with self._database.transaction():
            return self._registry.list_offers()

    def rounds(self, plan_id: str) -> list[Round]:
        """The rounds of a plan, in order."""
        with self._database.transaction():
            return self._registry.list_rounds(self._registry.load(plan_id))

    def add(self, arrivals: Sequence[Arrival], now: float | Callable[[], float]) -> list[Outcome]:
        """Count reports in one transaction; a refused report does not affect the others.

        The outcomes are in the order of the reports.

        The clock is read once nobody else can open or close a round, so that waiting makes no report earlier.

        A report whose id is stored was counted before, whatever it says now, and even if its round has closed
        since.
        """
        outcomes: list[Outcome] = ["counted"] * sum([len(arrival.ids) for arrival in arrivals])
        database = self._database
        if {arrival.plan_id for arrival in arrivals} - self._registry.loaded.keys():
            self.plans()
        # in one order, so that no two collectors wait for each other
        batches = sorted(
            counting.read(arrivals, self._registry.loaded, outcomes),
            key=lambda batch: (batch.known.key, batch.round),
        )
        if not batches:
            return outcomes
        with database.transaction(write=True):
            plans = {batch.known.key: batch.known for batch in batches}
            locked = {key: self._registry.lock(known, shared=True) for key, known in plans.items()}
            when = now() if callable(now) else now
            for batch in batches:
                counting.count(database, batch, locked[batch.known.key], when, outcomes)
        new = outcomes.count("counted")
        if new:
            self._note(new, sum([len(body) for batch in batches for body in batch.bodies]))
        return outcomes

    def invite(self, plan_id: str, hashes: Iterable[bytes], by: Actor | None = None) -> None:
        """Let in one report for each of these: SHA-256 hashes of random tokens."""
        ordered = sorted(hashes)
        refuse_other_hashes(ordered)
        with self._database.transaction(write=True):
            self._registry.add_invitations(self._registry.load(plan_id), ordered)
            log_action(self._database, by, "made invitations", plan_id, f"{len(ordered):,}")

    def invite_first(self, invitations: Mapping[str, Iterable[bytes]], by: Actor | None = None) -> None:
        """Let in the invitations of each plan, or of none: those of a list that was made without this store.

        A plan that has reports is refused, since used invitations are forgotten and would count again.
        """
        with self._database.transaction(write=True):
            for plan_id in sorted(invitations, key=lambda plan_id: self._registry.load(plan_id).key):
                known, ordered = self._registry.load(plan_id), sorted(invitations[plan_id])
                refuse_other_hashes(ordered)
                self._registry.lock(known)  # what is being counted is counted first
                if self._registry.count_reports(known) or self._registry.count_rows(known, "exchanges"):
                    raise InvalidParameter(
                        f"{self.name} has reports of plan {plan_id[:12]} already, and does not know which of "
                        "these invitations were used; register a list before the study begins, or make other "
                        "invitations with --count"
                    )
                self._registry.add_invitations(known, ordered)
                log_action(self._database, by, "made invitations", plan_id, f"{len(ordered):,}")

    def find_unused(self, plan_id: str, hashes: Iterable[bytes], by: Actor | None = None) -> set[bytes]:
        """Finds which of these invitations are still to be used, which tells who took part, and is logged."""
        ordered = sorted(hashes)
        refuse_other_hashes(ordered)
        with self._database.transaction(write=True):
            unused = self._registry.find_unused(self._registry.load(plan_id), ordered)
            log_action(self._database, by, "made reminders", plan_id, f"of {len(ordered):,} invitations")
        return unused

    def exchange(self, plan_id: str, invitation: bytes, blinded: bytes) -> bool:
        """Exchange an invitation for one signature; return whether it may be signed.

        Both are SHA-256 hashes: of the invitation, and of the blinded message. The same two may be signed
        again, since an answer can be lost. Another message for the same invitation may not.
        """
        database = self._database
        with database.transaction(write=True):
            known = self._registry.load(plan_id)
            if not known.takes_tickets:
                raise InvalidParameter(f"plan {plan_id[:12]} takes invitations as they are, without tickets")
            self._registry.lock(known, shared=True)
            if not self._registry.exchange_invitation(known, invitation, blinded):
                return self._registry.was_exchanged(known, invitation, blinded)
        self._note(1, 0)
        return True

    def exchanged(self, plan_id: str) -> int:
        """How many invitations were exchanged for a ticket and not withdrawn since."""
        return self._count_rows("exchanges", plan_id)

    def tickets_used(self, plan_id: str) -> int:
        return self._count_rows("tickets", plan_id)

    def withdraw(self, plan_id: str, by: Actor | None = None) -> int:
        """Withdraw all unused invitations; return how many there were. Traces go as those of used ones do.

        Answers to exchanges are not given again either. Tickets that were made stay valid.
        """
        with self._database.transaction(write=True):
            known = self._registry.load(plan_id)
            self._registry.lock(known)  # what is being counted is counted first
            left, exchanged = self._registry.withdraw_invitations(known)
            log_action(self._database, by, "withdrew invitations", plan_id, f"{left:,}")
        if left or exchanged:
            self.traces.add(left + exchanged, 0)
            # they are withdrawn; this is tried again when the store is closed
            with suppress(StoreUnavailable):
                self.sweep()
        return left

    def invitations_left(self, plan_id: str) -> int:
        return self._count_rows("invitations", plan_id)

    def tallies(self, plan_id: str, number: int | None = None) -> Tallies:
        """All that estimates need, however many reports there are.

        Without a round, those of the only round that has reports. Rounds are not added up: the same people
        answer in each, and keep their first answers, so that error bars of the sum would be too narrow.
        """
        return self.tallied(plan_id, number)[1]

    def tallied(self, plan_id: str, number: int | None = None) -> tuple[int | None, Tallies]:
        """The number of a round and its tallies; None where no round was named, and none has reports."""
        with self._database.transaction():
            known = self._registry.load(plan_id)
            rows = self._registry.add_tallies(known, number)
        reported = {n: row for n, row in rows.items() if row[0]}
        if number is None and len(reported) > 1:
            numbers = ", ".join(map(str, reported))
            whose = "the same people" if known.document.most_reports > 1 else "other people each time"
            raise InvalidParameter(f"{whose} answered in rounds {numbers}; ask for one of them")
        number, row = next(iter(reported.items()), (number, known.sums.zero()))
        return number, known.sums.tallies(row, number)

    def history(self, plan_id: str, number: int) -> list[Tallies]:
        """The tallies of growing numbers of reports, by random id and not by time; the last are of all.

        Those before the last are kept in memory until a tenth more reports came.
        """
        return self._histories.read(plan_id, number)

    def counted(self, plan_id: str, number: int | None = None) -> int:
        """How many reports were counted, in one round or in all."""
        with self._database.transaction():
            return self._registry.count_reports(self._registry.load(plan_id), number)

    def bodies(self, plan_id: str, number: int, block: int = recount.BLOCK) -> Iterator[list[bytes]]:
        """The reports that are not scrubbed, in blocks, ordered by random id; newer ones may be missing."""
        return (bodies for _, _, bodies in self._rows(plan_id, number, block))

    def reports(self, plan_id: str, number: int, block: int = recount.BLOCK) -> Iterator[Reports]:
        """The reports that are not scrubbed, ready to be read; in a linked plan with whose they are."""
        for known, ids, bodies in self._rows(plan_id, number, block):
            yield known.wire.reports(bodies, number, ids)

    def _rows(
        self, plan_id: str, number: int, block: int
    ) -> Iterator[tuple[Known, list[bytes], list[bytes]]]:
        """The plan, ids and bodies of each block of reports that are not scrubbed."""
        after = b""
        while True:
            with self._database.transaction():
                known = self._registry.load(plan_id)
                rows = recount.rows(self._database, known.key, number, after, block)
            if not rows:
                return
            ids = [bytes(row[0]) for row in rows]
            yield known, ids, [row[1] for row in rows]
            after = ids[-1]

    def count_shared(self, plan_id: str, earlier: int, later: int) -> int:
        """How many ids are in both rounds: of a linked plan, how many people answered both."""
        with self._database.transaction():
            key = self._registry.load(plan_id).key
            return recount.count_shared(self._database, key, earlier, later)

    def scrub(self, plan_id: str, number: int | None = None, by: Actor | None = None) -> int:
        """Delete the bodies of reports, in one round or in all; return how many. Ids stay for duplicates."""
        database = self._database
        with database.transaction(write=by is not None):
            known = self._registry.load(plan_id)
            which = "all rounds" if number is None else f"round {number}"
            log_action(database, by, "scrubbed reports", plan_id, which)  # first, in case this is cut short
        before = sum(stored.scrubbed for stored in self.rounds(plan_id))
        numbers = [stored.number for stored in self.rounds(plan_id)] if number is None else [number]
        for round_number in numbers:
            after: bytes | None = b""
            while after is not None:  # a block at a time: others can write in between
                with database.transaction(write=True):
                    self._registry.lock(known)
                    after = recount.scrub(database, known, round_number, after)
        tries = iter(range(_TRIES))
        while not self.sweep(reports=True):
            if next(tries, None) is None:
                raise StoreUnavailable(
                    f"the reports in {self.name} are scrubbed, but somebody has been reading it all the "
                    "while, so that the log still has what they said; scrub again when nobody does"
                )
            time.sleep(_PAUSE)
        return sum(stored.scrubbed for stored in self.rounds(plan_id)) - before

    def check(self) -> list[str]:
        """Count all reports again and compare with the tallies; return what is wrong, in plain words.

        Where reports are scrubbed, the tallies must be those that are left and what was counted when the
        others went.
        """
        # a snapshot of its own, so that nobody waits
        with closing(self._database.again()) as database, database.transaction():
            self.plans()
            plans = sorted(self._registry.loaded.values(), key=lambda known: known.key)
            return recount.check(database, plans)

    def ping(self) -> None:
        """Raise StoreUnavailable unless the database can be read."""
        with self._database.transaction():
            self._database.run("SELECT version FROM deniable")

    def try_write(self) -> None:
        """Raise StoreUnavailable unless something could be made durable, with room for more."""
        self._database.refuse_full_disk()
        with self._database.transaction(write=True):
            self._database.write_nothing()

    def find_damage(self) -> list[str]:
        """What the database finds wrong with its own files; it reads all of them."""
        with self._database.transaction():
            return self._database.damage()

    def exposures(self) -> list[Exposure]:
        """How the database is set up to keep what sweeps clear, with what to do about it."""
        with self._database.transaction():
            return self._database.exposures()

    def tidy(self, log: bool = True) -> None:
        """Sweep, also what a killed collector left; what cannot be done now is tried again later."""
        with suppress(StoreUnavailable):
            self.sweep(log=log)

    def close(self) -> None:
        if self.traces.unswept or self.traces.leaves_log:
            self.tidy()
        self._database.close()

    def sweep(self, reports: bool = False, log: bool = True) -> bool:
        """Sweep, if nobody reads; whether it worked. What reports said goes only where they were scrubbed.

        The database's log may stay all the same, where the store may not drop it: `traces` has both. Without
        `log`, a server's log is left to the next sweep by time.
        """
        if not self._sweeping.acquire(blocking=False):  # another thread does
            return False
        try:
            before = self.traces.begin()
            with self._database.transaction(write=True):
                sweeping.mix(self._database, self.traces.sizes)
            cleared = self._database.clear(reports, log)
            if cleared.tables:
                self.traces.end(before, cleared.log, leaves_log=not log and not cleared.log)
            return cleared.tables
        finally:
            self._sweeping.release()

    def _note(self, new: int, size: int) -> None:
        """Note what came and is durable, and sweep if that is due by its number."""
        if self.traces.add(new, size):
            self.tidy(log=self.traces.log_is_old)

    def _count_rows(self, table: TokenTable, plan_id: str) -> int:
        with self._database.transaction():
            return self._registry.count_rows(self._registry.load(plan_id), table)
