"""Counts a batch of reports in one transaction, for any database: each outcome, and the tallies."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, final

import numpy as np

from deniable.arrays import Integers
from deniable.collect.database import Database
from deniable.collect.sums import Sums
from deniable.plan import Plan, Reports
from deniable.wire import Wire

Outcome = Literal["counted", "counted before", "form", "invitation", "closed", "plan"]
"""What became of a report.

`form`: it is not canonical; `invitation`: it has none that is unused; `closed`: its round is not open, or
does not exist; `plan`: nobody registered its plan.
"""

FIRST_SNAPSHOT = 64
"""Two snapshots differ by at least 26 reports, so that none reveals what a single report said."""


class Arrival(NamedTuple):
    """Reports of one plan and round that arrive together: their headers are read, their bodies are not."""

    plan_id: str
    round: int
    ids: Sequence[bytes]
    bodies: Sequence[bytes]
    """As many as there are ids."""
    invitation: bytes | None = None
    """The SHA-256 of the token that came with them: it lets in one of them."""


@final
class Known:
    """A registered plan, ready to read and count its reports."""

    def __init__(self, key: int, plan: Plan) -> None:
        self.key, self.plan, self.wire, self.sums = key, plan, Wire(plan), Sums(plan)

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
    invitations: Sequence[bytes | None]
    reports: Reports

    def positions_of(self, ids: Container[bytes]) -> list[int]:
        """The positions of the reports with these ids."""
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
            [self.invitations[i] for i in which],
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
        positions = [position for start, one in members for position in range(start, start + len(one.ids))]
        known = plans.get(plan_id)
        if known is None:
            _decide(outcomes, positions, "plan")
            continue
        ids = [name for _, one in members for name in one.ids]
        bodies = [body for _, one in members for body in one.bodies]
        tokens = [one.invitation for _, one in members for _ in one.ids]
        reports, sound = known.wire.sound(bodies)
        batch = Batch(known, number, positions, ids, bodies, tokens, reports)
        if not sound.all():
            _decide(outcomes, [positions[i] for i in np.flatnonzero(~sound)], "form")
            batch = batch.some(np.flatnonzero(sound).tolist())
        if batch.ids:
            batches.append(batch)
    return batches


def count(database: Database, batch: Batch, invited: bool, now: float, outcomes: list[Outcome]) -> int:
    """Count what is new in a batch, with the plan's lock held; return how many invitations were used."""
    key, number, known = batch.known.key, batch.round, batch.known
    rows = database.run(
        "SELECT opens, closes, sums, snapshot FROM rounds WHERE plan = ? AND number = ?", key, number
    )
    used: list[bytes] = []
    if rows and is_open(rows[0][0], rows[0][1], now):
        if invited:
            fresh = _use_invitations(database, batch, outcomes, used)
        else:
            fresh = _drop_duplicates(batch, outcomes)
    else:
        fresh = batch.some([])
        _decide(outcomes, batch.positions, "closed")
        stored = database.present("reports", {"plan": key, "round": number}, "id", list(set(batch.ids)))
        _decide(outcomes, batch.positions_of(stored), "counted before")
    if not fresh.ids:
        return 0
    stored = database.insert(key, number, fresh.ids, fresh.bodies)
    if stored:
        _decide(outcomes, fresh.positions_of(stored), "counted before")
        fresh = fresh.some([i for i, name in enumerate(fresh.ids) if name not in stored])
    if fresh.ids:
        _tally(database, batch, known.count(fresh.reports), rows[0][2], rows[0][3])
    return len(used)


def _drop_duplicates(batch: Batch, outcomes: list[Outcome]) -> Batch:
    """The reports of a batch without its duplicates."""
    first: dict[bytes, int] = {}
    for i, name in enumerate(batch.ids):
        if first.setdefault(name, i) != i:
            outcomes[batch.positions[i]] = "counted before"
    return batch.some(list(first.values()))


def _use_invitations(database: Database, batch: Batch, outcomes: list[Outcome], used: list[bytes]) -> Batch:
    """The reports with an unused invitation, which is used up now."""
    key = batch.known.key
    stored = database.present("reports", {"plan": key, "round": batch.round}, "id", list(set(batch.ids)))
    tokens = {token for token in batch.invitations if token is not None}
    unused = database.present("invitations", {"plan": key}, "hash", list(tokens)) if tokens else set()
    first: dict[bytes, int] = {}
    for i, (position, name, token) in enumerate(
        zip(batch.positions, batch.ids, batch.invitations, strict=True)
    ):
        if name in stored or name in first:
            outcomes[position] = "counted before"  # its invitation was used when it was counted
        elif token is None or token not in unused:
            outcomes[position] = "invitation"
        else:
            unused.remove(token)
            used.append(token)
            first[name] = i
    if used:
        database.many("DELETE FROM invitations WHERE plan = ? AND hash = ?", [(key, each) for each in used])
    return batch.some(list(first.values()))


def _decide(outcomes: list[Outcome], positions: Iterable[int], outcome: Outcome) -> None:
    for position in positions:
        outcomes[position] = outcome


def _tally(database: Database, batch: Batch, added: Integers, before: bytes, snapshot: int) -> None:
    """Add to the round's tallies; keep a snapshot each time the count grows by the square root of 2."""
    key, number, sums = batch.known.key, batch.round, batch.known.sums
    total = sums.read(before) + added
    stored, n = sums.write(total), int(total[0])
    if n >= FIRST_SNAPSHOT and n * n >= 2 * snapshot * snapshot:
        database.run(
            "INSERT INTO snapshots (plan, round, n, sums) VALUES (?, ?, ?, ?)", key, number, n, stored
        )
        snapshot = n
    database.run(
        "UPDATE rounds SET sums = ?, snapshot = ? WHERE plan = ? AND number = ?",
        stored,
        snapshot,
        key,
        number,
    )


def is_open(opens: float | None, closes: float | None, now: float) -> bool:
    """Whether a round takes reports."""
    return (opens is None or now >= opens) and (closes is None or now < closes)
