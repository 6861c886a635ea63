"""Reads stored reports again in blocks: to check the tallies, to scrub reports, and to make a history."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, final

import numpy as np

from deniable.arrays import Integers
from deniable.formatting import format_count
from deniable.reports import Tallies
from deniable.store.counting import Known
from deniable.store.database import Database
from deniable.store.registry import Registry, add_tallies

BLOCK = 10_000
"""Reports that are held in memory at a time."""
SOME = tuple(round(64 * 2 ** (step / 2)) for step in range(17))
"""How many reports the estimates of a history are made from, before those of all."""
SOME_BYTES = 16 << 20
"""Bytes of bodies that are read for it, more or less."""
TABLES = ("arrivals", "reports")
"""Where reports are, in the order in which they move: who looks in this order misses none."""


def rows(
    database: Database, key: int, number: int, after: bytes, block: int, scrubbed: bool = False
) -> list[Any]:
    """Ids and bodies of the next reports in the order of their ids."""
    condition = "" if scrubbed else "AND body IS NOT NULL "
    where = f"WHERE plan = ? AND round = ? AND id > ? {condition}ORDER BY id LIMIT ?"
    parts = [f"SELECT id, body FROM (SELECT id, body FROM {table} {where}) AS part" for table in TABLES]
    sql = f"{' UNION ALL '.join(parts)} ORDER BY id LIMIT ?"
    return database.run(sql, *(key, number, after, block) * len(TABLES), block)


def count_shared(database: Database, key: int, earlier: int, later: int) -> int:
    """How many ids are in both of two rounds, whether or not their reports are scrubbed."""
    first = " UNION ALL ".join(f"SELECT id FROM {table} WHERE plan = ? AND round = ?" for table in TABLES)
    again = " OR ".join(
        f"EXISTS (SELECT 1 FROM {table} WHERE plan = ? AND round = ? AND id = part.id)" for table in TABLES
    )
    sql = f"SELECT COUNT(*) FROM ({first}) AS part WHERE {again}"
    [(count,)] = database.run(sql, *(key, earlier) * len(TABLES), *(key, later) * len(TABLES))
    return int(count)


def read_first_reports(database: Database, key: int, number: int) -> list[list[bytes]]:
    """The bodies of a few reports, of some more, and so on: those with the smallest ids, which are random."""
    blocks: list[list[bytes]] = []
    read, after, size = 0, b"", 0
    for n in SOME:
        block = rows(database, key, number, after, n - read)
        if read + len(block) < n:
            break
        blocks.append([body for _, body in block])
        read, after, size = n, block[-1][0], size + sum([len(body) for _, body in block])
        if size > SOME_BYTES:
            break
    return blocks


def tally_first_reports(known: Known, blocks: Iterable[list[bytes]]) -> Iterator[Integers]:
    """The tallies of the first block, of the first two, and so on.

    Nothing of this is stored: tallies of the first reports would tell, beside the bodies, which these were.
    """
    total = known.sums.zero()
    for block in blocks:
        total = total + known.count(known.wire.reports(block))
        yield total


def check(database: Database, plans: Iterable[Known]) -> list[str]:
    """Count all reports again, from one snapshot; return what differs, in plain words."""
    problems = database.damage()
    remaining = dict.fromkeys(_rounds_with_reports(database))
    for known in plans:
        totals = add_tallies(database, known)
        sql = "SELECT number, scrubbed FROM rounds WHERE plan = ? ORDER BY number"
        numbers = database.run(sql, known.key)
        for number, scrubbed in numbers:
            remaining.pop((known.key, number), None)
            where = f"plan {known.document.id[:12]}, round {number}"
            total, gone = totals[number], known.sums.read(scrubbed)
            problems += [f"{where}: {text}" for text in _check(database, known, number, total, gone)]
        if known.takes_tickets:
            problems += _check_tickets(database, known, sum(int(total[0]) for total in totals.values()))
    return problems + [
        f"there are reports of plan number {key}, round {number}, which nobody made"
        for key, number in remaining
    ]


def _check(database: Database, known: Known, number: int, total: Integers, gone: Integers) -> Iterator[str]:
    counted, empty, twice, after = known.sums.zero(), 0, 0, b""
    while block := rows(database, known.key, number, after, BLOCK, scrubbed=True):
        bodies = [body for _, body in block if body is not None]
        reports, sound = known.wire.sound(bodies)
        if not sound.all():
            yield f"{format_count(int((~sound).sum()), 'report')} in another form than the canonical one"
        counted += known.count(reports)
        empty += len(block) - len(bodies)
        twice += len(block) - len({name for name, _ in block})
        after = block[-1][0]
    if twice:
        yield f"{format_count(twice, 'report')} stored twice"
    if empty != gone[0]:
        yield f"{empty} reports have no body, but {gone[0]} were scrubbed"
    yield from _differences(known, total, counted + gone)


def _check_tickets(database: Database, known: Known, counted: int) -> Iterator[str]:
    """Each report was let in by a ticket of its own."""
    [(used,)] = database.run("SELECT COUNT(*) FROM tickets WHERE plan = ?", known.key)
    if used != counted:
        identifier = known.document.id[:12]
        yield f"plan {identifier}: the number of used tickets is {used}, that of reports {counted}"


def _differences(known: Known, total: Integers, counted: Integers) -> Iterator[str]:
    if (total == counted).all():
        return
    if total[0] != counted[0]:
        yield f"the tallies say {format_count(total[0], 'report')}, but there are {counted[0]}"
    else:
        differing = int(np.count_nonzero(total != counted))
        yield f"the tallies differ from a recount in {differing} of {known.sums.size} numbers"


def _rounds_with_reports(database: Database) -> Iterator[tuple[int, int]]:
    """The rounds with reports, from key to key, without reading all reports."""
    for table in TABLES:
        at = (-1, -1)
        sql = f"SELECT plan, round FROM {table} WHERE (plan, round) > (?, ?) ORDER BY plan, round LIMIT 1"
        while next_round := database.run(sql, *at):
            at = next_round[0][0], next_round[0][1]
            yield at


def scrub(database: Database, known: Known, number: int, after: bytes) -> bytes | None:
    """Delete the bodies of one block, with the plan's lock; return where to go on, or None at the end.

    What they add to the tallies is kept apart, so that the rest can still be recounted exactly.
    """
    block = rows(database, known.key, number, after, BLOCK)
    if not block:
        return None
    last: bytes = block[-1][0]
    [(before,)] = database.run("SELECT scrubbed FROM rounds WHERE plan = ? AND number = ?", known.key, number)
    gone = known.sums.read(before) + known.count(known.wire.reports([body for _, body in block]))
    for table in TABLES:
        sql = f"UPDATE {table} SET body = NULL WHERE plan = ? AND round = ? AND id > ? AND id <= ?"
        database.run(sql, known.key, number, after, last)
    sql = "UPDATE rounds SET scrubbed = ? WHERE plan = ? AND number = ?"
    database.run(sql, known.sums.write(gone), known.key, number)
    return last


class _Kept(NamedTuple):
    """Rows of tallies, and what they were made from: reports, scrubbed ones, and the connection's number."""

    reports: int
    scrubbed: int
    connection: int
    rows: list[Integers]


@final
class Histories:
    """The histories of the rounds that were asked for. One is made again once a tenth more reports came."""

    def __init__(self, database: Database, registry: Registry) -> None:
        self._database, self._registry = database, registry
        self._kept: dict[tuple[str, int], _Kept] = {}

    def read(self, plan_id: str, number: int) -> list[Tallies]:
        """The tallies of growing numbers of reports, by random id; the last are of all, as they are now."""
        database, key, blocks = self._database, (plan_id, number), None
        # nothing is decoded within the transaction: while one is open, the store cannot be swept
        with database.transaction():
            known = self._registry.load(plan_id)
            now = self._registry.add_tallies(known, number)[number]
            sql = "SELECT scrubbed FROM rounds WHERE plan = ? AND number = ?"
            [(raw,)] = database.run(sql, known.key, number)
            n, state = int(now[0]), (known.sums.read_n(raw), database.connections)
            kept = self._kept.get(key)
            if kept is None or kept[1:3] != state or not 10 * kept.reports <= 10 * n < 11 * kept.reports:
                blocks = read_first_reports(database, known.key, number)
        if blocks is not None:
            kept = _Kept(n, *state, list(tally_first_reports(known, blocks)))
            self._kept[key] = kept
        assert kept is not None
        rows = [*[row for row in kept.rows if row[0] < n], *[now] * bool(n)]
        return [known.sums.tallies(row, number) for row in rows]
