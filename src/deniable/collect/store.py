"""Counts reports, durably and once each, in SQLite or PostgreSQL.

One transaction takes a batch: the reports, the tallies that they add to and the invitations that they use
change together or not at all. A report is known by its random id, so that it can be sent again until it is
acknowledged.

Data at rest reveals neither which invitation let a report in nor in which order reports came, once the store
is swept (see `sweeping`). A collector sweeps it every minute, when it starts and when it ends. A store also
sweeps after 100,000 reports, after a scrub, and when it is closed. Until then a reader of its files
can link them: by the log of SQLite, or in PostgreSQL by its log and by deleted rows, whose transaction number
a report also carries. Backups, replicas and archived logs from that time keep the link.

If a plan takes tickets, invitations are exchanged for them beforehand. No data, at rest or in flight, reveals
which invitation a ticket comes from.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import final

from deniable.arrays import Integers
from deniable.collect import counting, recount, sweeping
from deniable.collect.counting import Arrival, Known, Locked, Outcome, State, is_open
from deniable.collect.database import Database, StoreUnavailable
from deniable.collect.sweeping import Traces
from deniable.errors import DeniableError, InvalidParameter, suggest_install
from deniable.plan import Plan, Tallies

__all__ = [
    "Arrival",
    "Offer",
    "Outcome",
    "Registered",
    "Round",
    "Store",
    "StoreUnavailable",
    "Times",
    "no_round",
    "open_store",
]

# attempts to clear what was scrubbed while others read, and seconds between them
_TRIES, _PAUSE = 20, 0.1


@final
@dataclass(frozen=True)
class Registered:
    """A plan that is collected."""

    plan: Plan
    invited: bool
    """Whether every report takes an invitation."""


@dataclass(frozen=True)
class Times:
    """When a round is open: from `opens` until before `closes` (seconds since 1970; None: no limit)."""

    number: int
    opens: float | None
    closes: float | None

    def is_open(self, now: float) -> bool:
        """Whether reports are taken."""
        return is_open(self.opens, self.closes, now)


@final
@dataclass(frozen=True)
class Round(Times):
    """A round, and how many reports it has."""

    counted: int
    scrubbed: int
    """How many of those counted have no body any more."""


@final
@dataclass(frozen=True)
class Offer:
    """What is public about a plan: whether it takes invitations, and its rounds in order."""

    invited: bool
    rounds: list[Times]


def no_round(plan: Plan, number: int) -> InvalidParameter:
    """The message for a missing round: it was not opened yet, or the plan has no such round."""
    rounds = plan.content.rounds or 1
    if 1 <= number <= rounds:
        return InvalidParameter(
            f"round {number} of plan {plan.id[:12]} was not opened yet; deniable rounds opens it"
        )
    has = f"has rounds 1 to {rounds}" if rounds > 1 else "asks once, in round 1"
    return InvalidParameter(f"plan {plan.id[:12]} has no round {number}: it {has}")


def open_store(url: str, create: bool = True) -> Store:
    """The store at `sqlite:///file`, `sqlite:////folder/file` or `postgresql://…`; made if there is none."""
    if url.startswith(("postgresql://", "postgres://")):
        try:
            from deniable.collect.postgres import Postgres
        except ImportError:
            raise DeniableError(
                f"PostgreSQL needs psycopg; install it with: {suggest_install('serve')}"
            ) from None
        return Store(Postgres(url, create))
    path = url.removeprefix("sqlite:///")
    if path == url or not path or path.startswith(":memory:"):
        raise InvalidParameter(f"a store is sqlite:///reports.db (a file) or postgresql://…, got {url!r}")
    from deniable.collect.sqlite import Sqlite

    return Store(Sqlite(Path(path), create))


@final
class Store:
    """A store in a database. Threads use it one at a time; several stores may share a database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._plans: dict[str, Known] = {}
        self._connections = 0
        self.traces = Traces()
        """What came and is not swept yet; stores of one collector share them."""
        self._sweeping = threading.Lock()
        self.ping()

    @property
    def name(self) -> str:
        """Where it is, without a password."""
        return self._database.name

    def register(self, plan: Plan, invited: bool = False) -> None:
        """Collect reports of this plan, in rounds still to be made.

        Whether they take invitations can be changed until the first report is counted.
        """
        plan.verify()
        if plan.ticket_key is not None and not invited:
            raise InvalidParameter(
                f"plan {plan.id[:12]} takes tickets, which invitations are exchanged for; register it with "
                "invited=True"
            )
        database = self._database
        with database.transaction(write=True):
            new = "INSERT INTO plans (id, document, invited) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING"
            database.run(new, plan.id, plan.to_json(), int(invited))
            [(key,)] = database.run("SELECT key FROM plans WHERE id = ?", plan.id)
            self._refuse_shared_key(plan)
            known = Known(key, plan)
            before = self._lock(known).invited
            if before != invited:
                if self._count_reports(known, None):
                    takes = "takes invitations" if before else "takes no invitations"
                    raise InvalidParameter(
                        f"plan {plan.id[:12]} {takes} and has counted reports; this cannot be changed now"
                    )
                database.run("UPDATE plans SET invited = ? WHERE key = ?", int(invited), key)

    def plans(self) -> list[Registered]:
        """All plans that were registered, the oldest first."""
        with self._database.transaction():
            rows = self._database.run("SELECT id, invited FROM plans ORDER BY key")
            return [Registered(self._load_plan(plan_id).plan, bool(invited)) for plan_id, invited in rows]

    def set_round(
        self, plan_id: str, number: int, opens: float | None = None, closes: float | None = None
    ) -> None:
        """Make a round, or change when it is open (seconds since 1970; None is without limit)."""
        if opens is not None and closes is not None and not opens < closes:
            raise InvalidParameter(f"a round opens before it closes, got {opens:g} and {closes:g}")
        with self._database.transaction(write=True):
            known = self._load_plan(plan_id)
            if not 1 <= number <= known.wire.rounds:
                raise InvalidParameter(f"the plan has rounds 1 to {known.wire.rounds}, got {number}")
            # what is being counted is counted first, and after this nothing that came too late
            self._lock(known)
            nothing = known.sums.write(known.sums.zero())
            when = [None if limit is None else float(limit) for limit in (opens, closes)]
            self._database.run(
                "INSERT INTO rounds (plan, number, opens, closes, scrubbed, last_snapshot) VALUES (?, ?, ?, "
                "?, ?, 0) ON CONFLICT (plan, number) DO UPDATE SET opens = excluded.opens, closes = "
                "excluded.closes",
                *(known.key, number, *when, nothing),
            )

    def offers(self) -> dict[str, Offer]:
        """What all plans offer now, by their ids; no tallies are read, so that anybody may ask often."""
        sql = (
            "SELECT plans.id, plans.invited, rounds.number, rounds.opens, rounds.closes FROM plans LEFT JOIN "
            "rounds ON rounds.plan = plans.key ORDER BY plans.key, rounds.number"
        )
        with self._database.transaction():
            rows = self._database.run(sql)
        found: dict[str, Offer] = {}
        for plan_id, invited, number, opens, closes in rows:
            offer = found.setdefault(plan_id, Offer(bool(invited), []))
            if number is not None:
                offer.rounds.append(Times(number, opens, closes))
        return found

    def rounds(self, plan_id: str) -> list[Round]:
        """The rounds of a plan, in order."""
        with self._database.transaction():
            known = self._load_plan(plan_id)
            sql = "SELECT number, opens, closes, scrubbed FROM rounds WHERE plan = ? ORDER BY number"
            found = self._database.run(sql, known.key)
            totals = recount.add_tallies(self._database, known)
        return [
            Round(number, opens, closes, int(totals[number][0]), known.sums.read_n(gone))
            for number, opens, closes, gone in found
        ]

    def add(self, arrivals: Sequence[Arrival], now: float | Callable[[], float]) -> list[Outcome]:
        """Count reports in one transaction; a refused report does not affect the others.

        The outcomes are in the order of the reports.

        The clock is read once nobody else can open or close a round, so that waiting makes no report earlier.

        A report whose id is stored was counted before, whatever it says now, and even if its round has closed
        since.
        """
        outcomes: list[Outcome] = ["counted"] * sum([len(arrival.ids) for arrival in arrivals])
        database = self._database
        if {arrival.plan_id for arrival in arrivals} - self._plans.keys():
            self.plans()
        # in one order, so that no two collectors wait for each other
        batches = sorted(
            counting.read(arrivals, self._plans, outcomes), key=lambda batch: (batch.known.key, batch.round)
        )
        if not batches:
            return outcomes
        with database.transaction(write=True):
            plans = {batch.known.key: batch.known for batch in batches}
            locked = {key: self._lock(known, shared=True) for key, known in plans.items()}
            when = now() if callable(now) else now
            for batch in batches:
                counting.count(database, batch, locked[batch.known.key], when, outcomes)
        new = outcomes.count("counted")
        if new and self.traces.add(new, sum([len(body) for batch in batches for body in batch.bodies])):
            with suppress(StoreUnavailable):  # the reports are counted; this is tried again later
                self.sweep()
        return outcomes

    def invite(self, plan_id: str, hashes: Iterable[bytes]) -> None:
        """Let in one report for each of these: SHA-256 hashes of random tokens."""
        given = sorted(hashes)
        if any(len(each) != 32 for each in given):
            raise InvalidParameter("an invitation is kept as the SHA-256 of its token, which has 32 bytes")
        with self._database.transaction(write=True):
            key = self._load_plan(plan_id).key
            sql = "INSERT INTO invitations (plan, hash) VALUES (?, ?) ON CONFLICT (plan, hash) DO NOTHING"
            self._database.many(sql, [(key, each) for each in given])

    def exchange(self, plan_id: str, invitation: bytes, blinded: bytes) -> bool:
        """Exchange an invitation for one signature; return whether it may be signed.

        Both are SHA-256 hashes: of the invitation, and of the blinded message. The same two may be signed
        again, since an answer can be lost. Another message for the same invitation may not.
        """
        database = self._database
        with database.transaction(write=True):
            known = self._load_plan(plan_id)
            if not known.takes_tickets:
                raise InvalidParameter(f"plan {plan_id[:12]} takes invitations as they are, without tickets")
            self._lock(known, shared=True)
            there = database.present("invitations", {"plan": known.key}, "hash", [invitation])
            if there and database.use_invitations(known.key, [invitation]):
                new = "INSERT INTO exchanges (plan, hash, blinded) VALUES (?, ?, ?)"
                database.run(new, known.key, invitation, blinded)
                self.traces.add(1, 0)
                return True
            sql = "SELECT blinded FROM exchanges WHERE plan = ? AND hash = ?"
            return [bytes(found) for (found,) in database.run(sql, known.key, invitation)] == [blinded]

    def exchanged(self, plan_id: str) -> int:
        """How many invitations were exchanged for a ticket and not withdrawn since."""
        return self._count_rows("exchanges", plan_id)

    def tickets_used(self, plan_id: str) -> int:
        """How many tickets let in a report."""
        return self._count_rows("tickets", plan_id)

    def withdraw(self, plan_id: str) -> int:
        """Withdraw all unused invitations; return how many there were. Traces go as those of used ones do.

        Answers to exchanges are not given again either. Tickets that were made stay valid.
        """
        with self._database.transaction(write=True):
            known = self._load_plan(plan_id)
            self._lock(known)  # what is being counted is counted first
            [(left,)] = self._database.run("SELECT COUNT(*) FROM invitations WHERE plan = ?", known.key)
            [(exchanged,)] = self._database.run("SELECT COUNT(*) FROM exchanges WHERE plan = ?", known.key)
            self._database.run("DELETE FROM invitations WHERE plan = ?", known.key)
            self._database.run("DELETE FROM exchanges WHERE plan = ?", known.key)
        if left or exchanged:
            self.traces.add(int(left) + int(exchanged), 0)
            # they are withdrawn; this is tried again when the store is closed
            with suppress(StoreUnavailable):
                self.sweep()
        return int(left)

    def invitations_left(self, plan_id: str) -> int:
        """How many invitations were not used yet."""
        return self._count_rows("invitations", plan_id)

    def tallies(self, plan_id: str, number: int | None = None) -> Tallies:
        """All that estimates need, however many reports there are.

        Without a round, those of the only round that has reports. Rounds are not added up: the same people
        answer in each, and keep their first answers, so that error bars of the sum would be too narrow.
        """
        return self.tallied(plan_id, number)[1]

    def tallied(self, plan_id: str, number: int | None = None) -> tuple[int | None, Tallies]:
        """The same, with the number of their round: None where none was named, and none has reports."""
        with self._database.transaction():
            known = self._load_plan(plan_id)
            rows = self._sums(known, number)
        found = {n: row for n, row in rows.items() if row[0]}
        if number is None and len(found) > 1:
            asked = ", ".join(map(str, found))
            raise InvalidParameter(f"the same people answered in rounds {asked}; ask for one of them")
        number, row = next(iter(found.items()), (number, known.sums.zero()))
        return number, known.sums.tallies(row)

    def history(self, plan_id: str, number: int) -> list[Tallies]:
        """The tallies each time the count had grown by the square root of 2; the last are today's."""
        with self._database.transaction():
            known = self._load_plan(plan_id)
            sql = "SELECT n, sums FROM snapshots WHERE plan = ? AND round = ? ORDER BY n"
            found = dict(self._database.run(sql, known.key, number))
            now = self._sums(known, number)[number]
        rows = [*map(known.sums.read, found.values()), now]
        return [known.sums.tallies(row) for row in {int(row[0]): row for row in rows if row[0]}.values()]

    def counted(self, plan_id: str, number: int | None = None) -> int:
        """How many reports were counted, in one round or in all."""
        with self._database.transaction():
            return self._count_reports(self._load_plan(plan_id), number)

    def bodies(self, plan_id: str, number: int, block: int = recount.BLOCK) -> Iterator[list[bytes]]:
        """The reports that are not scrubbed, in blocks, ordered by random id; newer ones may be missing."""
        after = b""
        while True:
            with self._database.transaction():
                rows = recount.rows(self._database, self._load_plan(plan_id).key, number, after, block)
            if not rows:
                return
            yield [body for _, body in rows]
            after = rows[-1][0]

    def scrub(self, plan_id: str, number: int | None = None) -> int:
        """Delete the bodies of reports, in one round or in all; return how many. Ids stay for duplicates."""
        database, known = self._database, self._of(plan_id)
        before = sum(each.scrubbed for each in self.rounds(plan_id))
        for each in [one.number for one in self.rounds(plan_id)] if number is None else [number]:
            after: bytes | None = b""
            while after is not None:  # a block at a time: others can write in between
                with database.transaction(write=True):
                    self._lock(known)
                    after = recount.scrub(database, known, each, after)
        tries = iter(range(_TRIES))
        while not self.sweep(reports=True):
            if next(tries, None) is None:
                raise StoreUnavailable(
                    f"the reports in {self.name} are scrubbed, but somebody has been reading it all the "
                    "while, so that the log still has what they said; scrub again when nobody does"
                )
            time.sleep(_PAUSE)
        return sum(each.scrubbed for each in self.rounds(plan_id)) - before

    def check(self) -> list[str]:
        """Count all reports again and compare with the tallies; return what is wrong, in plain words.

        Where reports are scrubbed, the tallies must be those that are left and what was counted when the
        others went.
        """
        database = self._database.again()  # a snapshot of its own, so that nobody waits
        try:
            with database.transaction():
                self.plans()
                return recount.check(database, sorted(self._plans.values(), key=lambda known: known.key))
        finally:
            database.close()

    def ping(self) -> None:
        """Raise StoreUnavailable unless the database can be read."""
        with self._database.transaction():
            self._database.run("SELECT version FROM deniable")

    def try_write(self) -> None:
        """Raise StoreUnavailable unless something could be made durable, with room for more."""
        self._database.refuse_full_disk()
        with self._database.transaction(write=True):
            self._database.run("UPDATE deniable SET version = version")

    def find_damage(self) -> list[str]:
        """What the database finds wrong with its own files; it reads all of them."""
        with self._database.transaction():
            return self._database.damage()

    def exposures(self) -> list[str]:
        """How the database is set up to keep what sweeps clear, in plain words, with what to do about it."""
        with self._database.transaction():
            return self._database.exposures()

    def tidy(self) -> None:
        """Sweep, also what a killed collector left; what cannot be done now is tried again later."""
        with suppress(StoreUnavailable):
            self.sweep()

    def close(self) -> None:
        """Let go of the database."""
        if self.traces.unswept:
            self.tidy()
        self._database.close()

    def sweep(self, reports: bool = False) -> bool:
        """Sweep, if nobody reads; whether it worked. What reports said goes only where they were scrubbed."""
        if not self._sweeping.acquire(blocking=False):  # another thread does
            return False
        try:
            before = self.traces.begin()
            with self._database.transaction(write=True):
                sweeping.mix(self._database, self.traces.sizes)
            swept = self._database.clear(reports)
            if swept:
                self.traces.end(before)
            return swept
        finally:
            self._sweeping.release()

    def _lock(self, known: Known, shared: bool = False) -> Locked:
        """Lock a plan against writers until the transaction ends; a shared lock lets others add reports."""
        found = self._database.lock_plan(
            known.key,
            shared,
            "SELECT plans.id, plans.invited, rounds.number, rounds.opens, rounds.closes, "
            "rounds.last_snapshot FROM plans LEFT JOIN rounds ON rounds.plan = plans.key WHERE plans.key = "
            f"{known.key:d}",
        )
        if (
            not found or found[0][0] != known.plan.id
        ):  # a backup was put in its place, say: keys mean other plans there
            self._plans.clear()
            raise StoreUnavailable(
                f"{self.name} has been replaced by another one, which has other plans; try again"
            )
        rounds = {number: State(*times) for _, _, number, *times in found if number is not None}
        return Locked(bool(found[0][1]), rounds)

    def _refuse_shared_key(self, plan: Plan) -> None:
        """Refuse a plan whose ticket key another plan has: its tickets would let in reports of both."""
        if plan.ticket_key is None:
            return
        for (other,) in self._database.run("SELECT id FROM plans WHERE id <> ?", plan.id):
            if self._load_plan(other).plan.ticket_key == plan.ticket_key:
                raise InvalidParameter(
                    f"plans {plan.id[:12]} and {other[:12]} have the same ticket key; make one of them again "
                    "with a key of its own",
                    "ticket-key",
                )

    def _of(self, plan_id: str) -> Known:
        with self._database.transaction():
            return self._load_plan(plan_id)

    def _load_plan(self, plan_id: str) -> Known:
        """A registered plan, within a transaction."""
        if self._connections != self._database.connections:
            self._plans.clear()
            self._connections = self._database.connections
        if plan_id not in self._plans:
            rows = self._database.run("SELECT key, document FROM plans WHERE id = ?", plan_id)
            if not rows:
                raise InvalidParameter(f"plan {plan_id[:12]} is not registered in {self.name}")
            self._plans[plan_id] = Known(rows[0][0], Plan.from_json(rows[0][1]))
        return self._plans[plan_id]

    def _sums(self, known: Known, number: int | None) -> dict[int, Integers]:
        found = recount.add_tallies(self._database, known, number)
        if number is not None and not found:
            raise no_round(known.plan, number)
        return found

    def _count_rows(self, table: str, plan_id: str) -> int:
        with self._database.transaction():
            sql = f"SELECT COUNT(*) FROM {table} WHERE plan = ?"
            [(found,)] = self._database.run(sql, self._load_plan(plan_id).key)
        return int(found)

    def _count_reports(self, known: Known, number: int | None) -> int:
        return sum(int(row[0]) for row in self._sums(known, number).values())
