"""Keeps the plans of a store, their rounds, and invitations as hashes.

Every method and function runs within a transaction of the caller.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, final

from deniable.arrays import Integers
from deniable.errors import InvalidParameter
from deniable.plan.document import PlanDocument
from deniable.store.counting import Known, Locked
from deniable.store.database import Database, StoreUnavailable
from deniable.store.schedule import Offer, Registered, Round, Times, no_round

TokenTable = Literal["invitations", "exchanges", "tickets"]


@final
class Registry:
    """The plans in a database, read once per connection."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._plans: dict[str, Known] = {}
        self._connections = 0

    @property
    def loaded(self) -> Mapping[str, Known]:
        return self._plans

    def load(self, plan_id: str) -> Known:
        if self._connections != self._database.connections:
            self._plans.clear()
            self._connections = self._database.connections
        if plan_id not in self._plans:
            rows = self._database.run("SELECT key, document FROM plans WHERE id = ?", plan_id)
            if not rows:
                raise InvalidParameter(f"plan {plan_id[:12]} is not registered in {self._database.name}")
            self._plans[plan_id] = Known(rows[0][0], PlanDocument.from_json(rows[0][1]))
        return self._plans[plan_id]

    def load_all(self) -> list[Registered]:
        rows = self._database.run("SELECT id, invited FROM plans ORDER BY key")
        return [Registered(self.load(plan_id).document, bool(invited)) for plan_id, invited in rows]

    def lock(self, known: Known, shared: bool = False) -> Locked:
        """Lock a plan against writers until the transaction ends; a shared lock lets others add reports."""
        rows = self._database.lock_plan(
            known.key,
            shared,
            "SELECT plans.id, plans.invited, rounds.number, rounds.opens, rounds.closes FROM plans LEFT JOIN "
            f"rounds ON rounds.plan = plans.key WHERE plans.key = {known.key:d}",
        )
        # a backup was put in its place, say: keys mean other plans there
        if not rows or rows[0][0] != known.document.id:
            self._plans.clear()
            raise StoreUnavailable(
                f"{self._database.name} has been replaced by another one, which has other plans; try again"
            )
        rounds = {number: Times(number, *times) for _, _, number, *times in rows if number is not None}
        return Locked(bool(rows[0][1]), rounds)

    def register(self, document: PlanDocument, invited: bool) -> None:
        """Add a plan, or change whether it takes invitations, until its first report is counted."""
        database = self._database
        new = "INSERT INTO plans (id, document, invited) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING"
        database.run(new, document.id, document.to_json(), int(invited))
        [(key,)] = database.run("SELECT key FROM plans WHERE id = ?", document.id)
        self._refuse_shared_key(document)
        known = Known(key, document)
        before = self.lock(known).invited
        if before != invited:
            if self.count_reports(known):
                takes = "takes invitations" if before else "takes no invitations"
                raise InvalidParameter(
                    f"plan {document.id[:12]} {takes} and has counted reports; this cannot be changed now"
                )
            database.run("UPDATE plans SET invited = ? WHERE key = ?", int(invited), key)

    def set_round(self, plan_id: str, number: int, opens: float | None, closes: float | None) -> None:
        """Make a round, or change when it is open."""
        known = self.load(plan_id)
        if not 1 <= number <= known.wire.rounds:
            raise InvalidParameter(f"the plan has rounds 1 to {known.wire.rounds}, got {number}")
        # what is being counted is counted first, and after this nothing that came too late
        self.lock(known)
        nothing = known.sums.write(known.sums.zero())
        when = [None if limit is None else float(limit) for limit in (opens, closes)]
        self._database.run(
            "INSERT INTO rounds (plan, number, opens, closes, scrubbed) VALUES (?, ?, ?, ?, ?) ON "
            "CONFLICT (plan, number) DO UPDATE SET opens = excluded.opens, closes = "
            "excluded.closes",
            *(known.key, number, *when, nothing),
        )

    def list_offers(self) -> dict[str, Offer]:
        """What all plans offer now, by their ids, without their tallies."""
        rows = self._database.run(
            "SELECT plans.id, plans.invited, rounds.number, rounds.opens, rounds.closes FROM plans LEFT JOIN "
            "rounds ON rounds.plan = plans.key ORDER BY plans.key, rounds.number"
        )
        offers: dict[str, Offer] = {}
        for plan_id, invited, number, opens, closes in rows:
            offer = offers.setdefault(plan_id, Offer(bool(invited), []))
            if number is not None:
                offer.rounds.append(Times(number, opens, closes))
        return offers

    def list_rounds(self, known: Known) -> list[Round]:
        sql = "SELECT number, opens, closes, scrubbed FROM rounds WHERE plan = ? ORDER BY number"
        rows = self._database.run(sql, known.key)
        totals = add_tallies(self._database, known)
        return [
            Round(number, opens, closes, int(totals[number][0]), known.sums.read_n(gone))
            for number, opens, closes, gone in rows
        ]

    def add_tallies(self, known: Known, number: int | None = None) -> dict[int, Integers]:
        """The tallies of each round, or of one, which must have been made."""
        totals = add_tallies(self._database, known, number)
        if number is not None and not totals:
            raise no_round(known.document, number)
        return totals

    def count_reports(self, known: Known, number: int | None = None) -> int:
        return sum(int(row[0]) for row in self.add_tallies(known, number).values())

    def add_invitations(self, known: Known, hashes: Iterable[bytes]) -> None:
        """Let in one report for each of these: SHA-256 hashes of random tokens, in order."""
        sql = "INSERT INTO invitations (plan, hash) VALUES (?, ?) ON CONFLICT (plan, hash) DO NOTHING"
        self._database.many(sql, [(known.key, hashed) for hashed in hashes])

    def find_unused(self, known: Known, hashes: Sequence[bytes]) -> set[bytes]:
        """Finds which of these invitations are still to be used."""
        return self._database.present("invitations", {"plan": known.key}, "hash", hashes)

    def exchange_invitation(self, known: Known, invitation: bytes, blinded: bytes) -> bool:
        """Exchange an unused invitation for one signature; return whether this was done."""
        there = self._database.present("invitations", {"plan": known.key}, "hash", [invitation])
        if not there or not self._database.use_invitations(known.key, [invitation]):
            return False
        new = "INSERT INTO exchanges (plan, hash, blinded) VALUES (?, ?, ?)"
        self._database.run(new, known.key, invitation, blinded)
        return True

    def was_exchanged(self, known: Known, invitation: bytes, blinded: bytes) -> bool:
        """Whether the invitation was exchanged before, for the same message."""
        sql = "SELECT blinded FROM exchanges WHERE plan = ? AND hash = ?"
        return [bytes(message) for (message,) in self._database.run(sql, known.key, invitation)] == [blinded]

    def withdraw_invitations(self, known: Known) -> tuple[int, int]:
        """Withdraw unused invitations and answers to exchanges; return how many of each there were."""
        left = self.count_rows(known, "invitations")
        exchanged = self.count_rows(known, "exchanges")
        self._database.run("DELETE FROM invitations WHERE plan = ?", known.key)
        self._database.run("DELETE FROM exchanges WHERE plan = ?", known.key)
        return left, exchanged

    def count_rows(self, known: Known, table: TokenTable) -> int:
        """How many invitations are unused or exchanged, or how many tickets let in a report."""
        [(count,)] = self._database.run(f"SELECT COUNT(*) FROM {table} WHERE plan = ?", known.key)
        return int(count)

    def _refuse_shared_key(self, document: PlanDocument) -> None:
        """Refuse a plan whose ticket key another plan has: its tickets would let in reports of both."""
        if document.ticket_key is None:
            return
        for (other,) in self._database.run("SELECT id FROM plans WHERE id <> ?", document.id):
            if self.load(other).document.ticket_key == document.ticket_key:
                raise InvalidParameter(
                    f"plans {document.id[:12]} and {other[:12]} have the same ticket key; make one of them "
                    "again with a key of its own",
                    "ticket-key",
                )


def add_tallies(database: Database, known: Known, number: int | None = None) -> dict[int, Integers]:
    """The tallies of each round, or of one: those of all collectors together."""
    sql = (
        "SELECT rounds.number, tallies.sums FROM rounds LEFT JOIN tallies ON tallies.plan = rounds.plan AND "
        "tallies.round = rounds.number WHERE rounds.plan = ? "
    )
    if number is None:
        rows = database.run(f"{sql}ORDER BY rounds.number", known.key)
    else:
        rows = database.run(f"{sql}AND rounds.number = ?", known.key, number)
    totals: dict[int, Integers] = {}
    for round_number, raw in rows:
        row = known.sums.zero() if raw is None else known.sums.read(raw)
        totals[round_number] = totals[round_number] + row if round_number in totals else row
    return totals


def refuse_other_hashes(hashes: Iterable[bytes]) -> None:
    """Refuse what cannot be the hash of a token."""
    if any(len(hashed) != 32 for hashed in hashes):
        raise InvalidParameter("an invitation is kept as the SHA-256 of its token, which has 32 bytes")
