"""Makes the history of a round, and keeps it in memory for as long as it is nearly right."""

from __future__ import annotations

from typing import NamedTuple, final

from deniable.arrays import Integers
from deniable.collect import recount
from deniable.collect.database import Database
from deniable.collect.registry import Registry
from deniable.reports import Tallies


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
                blocks = recount.read_first_reports(database, known.key, number)
        if blocks is not None:
            kept = _Kept(n, *state, list(recount.tally_first_reports(known, blocks)))
            self._kept[key] = kept
        assert kept is not None
        rows = [*[row for row in kept.rows if row[0] < n], *[now] * bool(n)]
        return [known.sums.tallies(row, number) for row in rows]
