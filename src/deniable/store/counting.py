"""Counts a batch of reports in one transaction, for any database: each outcome, and the tallies.

The tallies of a plan are stored as one row of integers, which are added in one step.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Literal, NamedTuple, final

import numpy as np

from deniable.arrays import Integers
from deniable.errors import InvalidReport
from deniable.mechanisms import Tally
from deniable.plan.document import PlanDocument
from deniable.plan.known_groups import add_groups
from deniable.records import Records
from deniable.reports import Reports, Tallies
from deniable.store.database import Database, find_stored
from deniable.store.schedule import Times
from deniable.wire import Wire

Outcome = Literal["counted", "counted before", "form", "invitation", "ticket", "closed", "plan"]
"""What became of a report.

`form`: it is not canonical; `invitation`, `ticket`: it has none that is unused; `closed`: its round is not
open, or does not exist; `plan`: nobody registered its plan.
"""
_STORED = np.dtype("<i8")


class Arrival(NamedTuple):
    """Reports of one plan and round that arrive together: their headers are read, their bodies are not."""

    plan_id: str
    round: int
    ids: Sequence[bytes]
    bodies: Sequence[bytes]
    """As many as there are ids."""
    invitation: bytes | None = None
    """The SHA-256 of the token that came with them: it lets in one of them."""
    ticket: bytes | None = None
    """The hash of the ticket that came with them, which was found valid: it lets in one of them."""


class Locked(NamedTuple):
    """A plan that nobody else changes until the transaction ends."""

    invited: bool
    """Whether it takes invitations."""
    rounds: Mapping[int, Times]


@final
class Known:
    """A registered plan, ready to read and count its reports."""

    def __init__(self, key: int, document: PlanDocument) -> None:
        self.key, self.document, self.wire, self.sums = key, document, Wire(document), Sums(document)
        self.takes_tickets = document.ticket_key is not None

    def count(self, reports: Reports) -> Integers:
        """The sums of reports in canonical form."""
        return self.sums.count(reports.records)


@final
@dataclass(frozen=True)
class Batch:
    """Canonical reports of one plan and round, and their positions among all that arrived."""

    known: Known
    round: int
    positions: Sequence[int]
    ids: Sequence[bytes]
    bodies: Sequence[bytes]
    tokens: Sequence[bytes | None]
    """Hashes of their invitations or, if the plan takes tickets, of their tickets."""
    reports: Reports

    def positions_of(self, ids: Container[bytes]) -> list[int]:
        return [position for position, name in zip(self.positions, self.ids, strict=True) if name in ids]

    def some(self, which: Sequence[int]) -> Batch:
        """A few of them, by their numbers in the batch."""
        if len(which) == len(self.ids):
            return self
        bodies = [self.bodies[i] for i in which]
        return Batch(
            self.known,
            self.round,
            [self.positions[i] for i in which],
            [self.ids[i] for i in which],
            bodies,
            [self.tokens[i] for i in which],
            self.known.wire.reports(bodies),
        )


def read(arrivals: Sequence[Arrival], plans: Mapping[str, Known], outcomes: list[Outcome]) -> list[Batch]:
    """Group reports by plan and round; unreadable ones get their outcome before the database is asked."""
    groups: dict[tuple[str, int], list[tuple[int, Arrival]]] = {}
    start = 0
    for arrival in arrivals:
        groups.setdefault(arrival[:2], []).append((start, arrival))
        start += len(arrival.ids)
    batches = []
    for (plan_id, number), members in groups.items():
        positions = [
            position for start, member in members for position in range(start, start + len(member.ids))
        ]
        known = plans.get(plan_id)
        if known is None:
            _decide(outcomes, positions, "plan")
            continue
        ids = [name for _, member in members for name in member.ids]
        bodies = [body for _, member in members for body in member.bodies]
        tokens = [
            member.ticket if known.takes_tickets else member.invitation
            for _, member in members
            for _ in member.ids
        ]
        reports, sound = known.wire.sound(bodies)
        batch = Batch(known, number, positions, ids, bodies, tokens, reports)
        if not sound.all():
            _decide(outcomes, [positions[i] for i in np.flatnonzero(~sound)], "form")
            batch = batch.some(np.flatnonzero(sound).tolist())
        if batch.ids:
            batches.append(batch)
    return batches


def count(database: Database, batch: Batch, locked: Locked, now: float, outcomes: list[Outcome]) -> None:
    """Count what is new in a batch, with the plan's lock held.

    Other collectors may hold the lock too. An id or an invitation that two of them write at once goes to one:
    the database makes the other wait.
    """
    key, number, known = batch.known.key, batch.round, batch.known
    invited, times = locked.invited, locked.rounds.get(number)
    if times is not None and times.is_open(now):
        fresh = _choose_invited(database, batch, outcomes) if invited else _drop_duplicates(batch, outcomes)
    else:
        fresh = batch.some([])
        _decide(outcomes, batch.positions, "closed")
        _decide(outcomes, batch.positions_of(_find_stored(database, batch)), "counted before")
    if not fresh.ids:
        return
    stored = database.insert(key, number, fresh.ids, fresh.bodies)
    if stored:
        _decide(outcomes, fresh.positions_of(stored), "counted before")
        fresh = fresh.some([i for i, name in enumerate(fresh.ids) if name not in stored])
    if invited:
        fresh = _use_tokens(database, fresh, outcomes)
    if times is not None and fresh.ids:
        _tally(database, batch, known.count(fresh.reports))


def _find_stored(database: Database, batch: Batch) -> set[bytes]:
    return find_stored(database, batch.known.key, batch.round, list(set(batch.ids)))


def _drop_duplicates(batch: Batch, outcomes: list[Outcome]) -> Batch:
    """The reports of a batch without its duplicates."""
    first: dict[bytes, int] = {}
    for i, name in enumerate(batch.ids):
        if first.setdefault(name, i) != i:
            outcomes[batch.positions[i]] = "counted before"
    return batch.some(list(first.values()))


def _choose_invited(database: Database, batch: Batch, outcomes: list[Outcome]) -> Batch:
    """The reports with an unused invitation or ticket, one for each."""
    stored = _find_stored(database, batch)
    batch = _bind_groups(database, batch)
    unused = _find_unused(database, batch)
    first: dict[bytes, int] = {}
    for i, (position, name, token) in enumerate(zip(batch.positions, batch.ids, batch.tokens, strict=True)):
        if name in stored or name in first:
            outcomes[position] = "counted before"  # its invitation was used when it was counted
        elif token is None or token not in unused:
            outcomes[position] = _lacking(batch)
        else:
            unused.remove(token)
            first[name] = i
    return batch.some(list(first.values()))


def bind_group(invitation: bytes, group: int) -> bytes:
    """The hash of an invitation that lets in reports of one known group only."""
    return sha256(invitation + bytes((group,))).digest()


def _bind_groups(database: Database, batch: Batch) -> Batch:
    """Replaces each invitation of a batch by the one to the group that its report names, if there is one."""
    if batch.known.document.known is None or batch.known.takes_tickets:
        return batch
    pairs = zip(batch.tokens, batch.bodies, strict=True)
    bound = [None if token is None else bind_group(token, body[0]) for token, body in pairs]
    hashes = {token for token in bound if token is not None}
    there = (
        database.present("invitations", {"plan": batch.known.key}, "hash", list(hashes)) if hashes else set()
    )
    tokens = [
        grouped if grouped in there else token for grouped, token in zip(bound, batch.tokens, strict=True)
    ]
    return replace(batch, tokens=tokens)


def _find_unused(database: Database, batch: Batch) -> set[bytes]:
    """The invitations that are there, or the tickets that let in nobody yet."""
    tokens = {token for token in batch.tokens if token is not None}
    if not tokens:
        return set()
    head = {"plan": batch.known.key}
    if batch.known.takes_tickets:
        return tokens - database.present("tickets", head, "hash", list(tokens))
    return database.present("invitations", head, "hash", list(tokens))


def _lacking(batch: Batch) -> Outcome:
    return "ticket" if batch.known.takes_tickets else "invitation"


def _use_tokens(database: Database, fresh: Batch, outcomes: list[Outcome]) -> Batch:
    """The reports whose invitation or ticket nobody else uses just now; the others are taken out again."""
    key, tokens = fresh.known.key, [token for token in fresh.tokens if token is not None]
    use = database.use_tickets if fresh.known.takes_tickets else database.use_invitations
    used = use(key, tokens) if tokens else set()
    if len(used) == len(fresh.ids):
        return fresh
    late = [i for i, token in enumerate(fresh.tokens) if token not in used]
    _decide(outcomes, [fresh.positions[i] for i in late], _lacking(fresh))
    database.many(
        "DELETE FROM arrivals WHERE plan = ? AND round = ? AND id = ?",
        [(key, fresh.round, fresh.ids[i]) for i in late],
    )
    return fresh.some([i for i, token in enumerate(fresh.tokens) if token in used])


def _decide(outcomes: list[Outcome], positions: Iterable[int], outcome: Outcome) -> None:
    for position in positions:
        outcomes[position] = outcome


def _tally(database: Database, batch: Batch, added: Integers) -> None:
    """Add to this collector's tallies of the round."""
    key, number, sums = batch.known.key, batch.round, batch.known.sums
    mine = database.collector_number()
    sql = f"SELECT sums FROM tallies WHERE plan = ? AND round = ? AND collector = ? {database.lock}"
    rows = database.run(sql, key, number, mine)
    if rows:
        sql = "UPDATE tallies SET sums = ? WHERE plan = ? AND round = ? AND collector = ?"
    else:
        sql = "INSERT INTO tallies (sums, plan, round, collector) VALUES (?, ?, ?, ?)"
    total = sum((sums.read(raw) for (raw,) in rows), added)
    database.run(sql, sums.write(total), key, number, mine)


@final
class Sums:
    """The layout of the row: n, then for each attribute its n, its cells, and how many were asked.

    Cells are what batches add up to. Counts of values are made of them when a row is read: for hashes of a
    pool that takes far longer than to count a batch. Where groups are known, all that follows n is there for
    each of them.
    """

    def __init__(self, document: PlanDocument) -> None:
        self._plan_id, self._mechanisms = document.id, [part.one_round for part in document.parts]
        nothing = [part.count_cells(part.blank(0)) for part in self._mechanisms]
        self._parts = [
            (name, tally.counts.size, tally.asked is not None)
            for name, tally in zip(document.names, nothing, strict=True)
        ]
        self._known = document.known
        blocks = 1 if self._known is None else self._known.size
        self.size = 1 + blocks * sum(1 + size * (1 + has_asked) for _, size, has_asked in self._parts)

    def zero(self) -> Integers:
        return np.zeros(self.size, dtype=np.int64)

    def count(self, records: Records) -> Integers:
        """The row of reports that are in canonical form."""
        pieces: list[Integers | list[int]] = [[records.n]]
        for group in [records] if self._known is None else self._known.split(records):
            for part, column in zip(self._mechanisms, group.columns, strict=True):
                cells = part.count_cells(column)
                pieces += [[cells.n], cells.counts, *([] if cells.asked is None else [cells.asked])]
        return np.concatenate(pieces)

    def tallies(self, row: Integers, number: int | None) -> Tallies:
        """Tallies of a round from its row; numbers that no reports can give are refused."""
        if self._known is None:
            return Tallies(self._plan_id, int(row[0]), self._read_block(row, 1), round=number)
        step = (self.size - 1) // self._known.size
        groups = tuple(self._read_block(row, start) for start in range(1, self.size, step))
        return Tallies(self._plan_id, int(row[0]), add_groups(groups), groups, round=number)

    def _read_block(self, row: Integers, position: int) -> dict[str, Tally]:
        """The tallies of everybody, or of a group, from where they begin."""
        tallies = {}
        for part, (name, size, has_asked) in zip(self._mechanisms, self._parts, strict=True):
            ends = position + 1, position + 1 + size, position + 1 + size * (1 + has_asked)
            cells = Tally(
                int(row[position]), row[ends[0] : ends[1]], row[ends[1] : ends[2]] if has_asked else None
            )
            tallies[name] = part.finish_cells(cells)
            position = ends[2]
        return tallies

    def read(self, raw: bytes) -> Integers:
        """A row as it is stored."""
        if len(raw) != self.size * _STORED.itemsize:
            raise InvalidReport(
                f"stored tallies have {len(raw)} bytes where {self.size * _STORED.itemsize} belong; restore "
                "a backup"
            )
        return np.frombuffer(raw, dtype=_STORED).astype(np.int64)

    def read_n(self, raw: bytes) -> int:
        """How many reports a row is about, by its first bytes."""
        return int(np.frombuffer(raw, dtype=_STORED, count=1)[0])

    def write(self, row: Integers) -> bytes:
        return row.astype(_STORED).tobytes()
