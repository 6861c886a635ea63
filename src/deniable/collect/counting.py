"""What becomes of each report of a batch, and the tallies that the batch adds to: inside one transaction, for any database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, final

from deniable.collect.database import Database
from deniable.collect.sums import Sums
from deniable.law import Integers
from deniable.plan import Plan, Reports
from deniable.wire import Wire

Outcome = Literal["counted", "counted before", "form", "invitation", "closed", "plan"]
"""What became of a report. `form`: it is not canonical; `invitation`: it has none that is unused; `closed`: its round is
not open, or does not exist; `plan`: nobody registered its plan."""

FIRST_SNAPSHOT = 64
"""So that two snapshots differ by at least 26 reports, and none tells what a single one said."""


class Arrival(NamedTuple):
    """A report as it arrives: its header was read, its body was not."""

    plan_id: str
    round: int
    id: bytes
    body: bytes
    invitation: bytes | None = None
    """The SHA-256 of the token that came with it."""


@final
class Known:
    """A registered plan, ready to read and count its reports."""

    def __init__(self, key: int, plan: Plan) -> None:
        self.key, self.plan, self.wire, self.sums = key, plan, Wire(plan), Sums(plan)

    def count(self, reports: Reports) -> Integers:
        """The sums of reports."""
        return self.sums.of(self.plan.tally(reports))


@final
@dataclass(frozen=True)
class Batch:
    """Reports of one plan and round that are canonical, and their places among the arrivals."""

    known: Known
    round: int
    places: Sequence[int]
    reports: Reports


def read(arrivals: Sequence[Arrival], plans: Mapping[str, Known], outcomes: list[Outcome]) -> list[Batch]:
    """The arrivals by plan and round; what cannot be read gets its outcome here, before the database is asked."""
    groups: dict[tuple[str, int], list[int]] = {}
    for place, arrival in enumerate(arrivals):
        groups.setdefault(arrival[:2], []).append(place)
    batches = []
    for (plan_id, number), places in groups.items():
        known = plans.get(plan_id)
        if known is None:
            continue
        reports, sound = known.wire.sound([arrivals[place].body for place in places])
        if not sound.all():
            for place, good in zip(places, sound.tolist(), strict=True):
                if not good:
                    outcomes[place] = "form"
            places = [place for place, good in zip(places, sound.tolist(), strict=True) if good]
        if places:
            batches.append(Batch(known, number, places, reports))
    return batches


def count(
    database: Database, batch: Batch, arrivals: Sequence[Arrival], invited: bool, now: float, outcomes: list[Outcome]
) -> int:
    """Decide on a batch and count what is new, with the plan's lock held; how many invitations were used."""
    key, number, known = batch.known.key, batch.round, batch.known
    rows = database.run("SELECT opens, closes, sums, snapshot FROM rounds WHERE plan = ? AND number = ?", key, number)
    takes = bool(rows) and is_open(rows[0][0], rows[0][1], now)
    fresh: dict[bytes, int] = {}
    used: list[bytes] = []
    if takes and not invited:
        for place in batch.places:
            if fresh.setdefault(arrivals[place].id, place) != place:
                outcomes[place] = "counted before"
    else:
        some = [arrivals[place] for place in batch.places]
        stored = database.present("reports", {"plan": key, "round": number}, "id", list({one.id for one in some}))
        tokens = {one.invitation for one in some if one.invitation is not None} if takes else set()
        unused = database.present("invitations", {"plan": key}, "hash", list(tokens)) if tokens else set()
        for place, one in zip(batch.places, some, strict=True):
            if one.id in stored or one.id in fresh:
                outcomes[place] = "counted before"  # its invitation was used when it was counted
            elif not takes:
                outcomes[place] = "closed"
            elif one.invitation is None or one.invitation not in unused:
                outcomes[place] = "invitation"
            else:
                unused.remove(one.invitation)
                used.append(one.invitation)
                fresh[one.id] = place
        if used:
            database.many("DELETE FROM invitations WHERE plan = ? AND hash = ?", [(key, each) for each in used])
    if not fresh:
        return 0
    new = database.insert(key, number, list(fresh), [arrivals[place].body for place in fresh.values()])
    for name, place in fresh.items():
        outcomes[place] = "counted" if name in new else "counted before"
    if new:
        reports = batch.reports
        if len(new) < len(batch.places):
            reports = known.wire.reports([arrivals[place].body for name, place in fresh.items() if name in new])
        _tally(database, batch, known.count(reports), rows[0][2], rows[0][3])
    return len(used)


def _tally(database: Database, batch: Batch, added: Integers, before: bytes, snapshot: int) -> None:
    """Add to the round's tallies, and remember what they were whenever there are the square root of 2 times as many."""
    key, number, sums = batch.known.key, batch.round, batch.known.sums
    total = sums.read(before) + added
    stored, n = sums.write(total), int(total[0])
    if n >= FIRST_SNAPSHOT and n * n >= 2 * snapshot * snapshot:
        database.run("INSERT INTO snapshots (plan, round, n, sums) VALUES (?, ?, ?, ?)", key, number, n, stored)
        snapshot = n
    database.run("UPDATE rounds SET sums = ?, snapshot = ? WHERE plan = ? AND number = ?", stored, snapshot, key, number)


def is_open(opens: float | None, closes: float | None, now: float) -> bool:
    """Whether a round takes reports."""
    return (opens is None or now >= opens) and (closes is None or now < closes)
