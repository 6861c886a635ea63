"""Defines the tables of a store, and brings a store of an earlier version up to date.

Nothing here says when a report came, from where, or by which invitation:

- `arrivals` and `reports`: a random id and a body (none once it is scrubbed). A report is in one of them.
  It comes to `arrivals` and may leave for `reports` later (see `sweeping`).
- `rounds`: when a round is open, and the tallies of its scrubbed reports.
- `tallies`: the tallies of a round's reports as rows of integers (see `sums`), one for each collector that
  counts at the same time. They are added when they are read.
- `invitations`: hashes of tokens that are still to be used; one that is used is deleted.
- `exchanges`: invitations that were exchanged for a ticket, and hashes of what was signed blindly for them,
  so that a lost answer can be given again. Nobody can link them to tickets.
- `tickets`: hashes of tickets that let in a report.
- `access`: who has a token of their own, with its hash.
- `actions`: what operators did, and when.
"""

from __future__ import annotations

from collections.abc import Mapping

from deniable.errors import DeniableError

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE plans ({key}, id TEXT NOT NULL UNIQUE, document TEXT NOT NULL, invited INTEGER NOT "
        "NULL)",
        "CREATE TABLE rounds (plan INTEGER NOT NULL, number INTEGER NOT NULL, opens {real}, closes {real}, "
        "sums {bytes} NOT NULL, scrubbed {bytes} NOT NULL, snapshot BIGINT NOT NULL, PRIMARY KEY (plan, "
        "number)){sorted}",
        "CREATE TABLE reports (plan INTEGER NOT NULL, round INTEGER NOT NULL, id {bytes} NOT NULL, body "
        "{bytes}, PRIMARY KEY (plan, round, id)){sorted}",
        "CREATE TABLE snapshots (plan INTEGER NOT NULL, round INTEGER NOT NULL, n BIGINT NOT NULL, sums "
        "{bytes} NOT NULL, PRIMARY KEY (plan, round, n)){sorted}",
        "CREATE TABLE invitations (plan INTEGER NOT NULL, hash {bytes} NOT NULL, PRIMARY KEY (plan, "
        "hash)){sorted}",
    ),
    (
        "CREATE TABLE tallies (plan INTEGER NOT NULL, round INTEGER NOT NULL, collector INTEGER NOT NULL, "
        "sums {bytes} NOT NULL, PRIMARY KEY (plan, round, collector)){sorted}",
        "INSERT INTO tallies (plan, round, collector, sums) SELECT plan, number, 0, sums FROM rounds",
        "ALTER TABLE rounds DROP COLUMN sums",
    ),
    (
        "CREATE TABLE exchanges (plan INTEGER NOT NULL, hash {bytes} NOT NULL, blinded {bytes} NOT NULL, "
        "PRIMARY KEY (plan, hash)){sorted}",
        "CREATE TABLE tickets (plan INTEGER NOT NULL, hash {bytes} NOT NULL, PRIMARY KEY (plan, "
        "hash)){sorted}",
    ),
    (
        "CREATE TABLE arrivals (plan INTEGER NOT NULL, round INTEGER NOT NULL, id {bytes} NOT NULL, body "
        "{bytes}, PRIMARY KEY (plan, round, id)){sorted}",
        # an earlier version, which would not find duplicates among arrivals, can count nothing from now on
        "ALTER TABLE rounds RENAME COLUMN snapshot TO last_snapshot",
    ),
    (
        # beside the bodies of reports, earlier tallies are equations that tell which reports came first
        "DROP TABLE snapshots",
        "ALTER TABLE rounds DROP COLUMN last_snapshot",
        # up to version 3, reports lay in the order of their arrival
        "CREATE TABLE written (plan INTEGER NOT NULL, round INTEGER NOT NULL, id {bytes} NOT NULL, body "
        "{bytes}, PRIMARY KEY (plan, round, id)){sorted}",
        "INSERT INTO written SELECT * FROM reports ORDER BY plan, round, id",
        "DROP TABLE reports",
        "ALTER TABLE written RENAME TO reports",
        # so that the planner's statistics keep no samples of rows that were there earlier
        "{server}ALTER TABLE arrivals ALTER id SET STATISTICS 0, ALTER body SET STATISTICS 0",
        "{server}ALTER TABLE reports ALTER id SET STATISTICS 0, ALTER body SET STATISTICS 0",
        "{server}ALTER TABLE tallies ALTER sums SET STATISTICS 0",
        "{server}ALTER TABLE invitations ALTER hash SET STATISTICS 0",
        "{server}ALTER TABLE exchanges ALTER hash SET STATISTICS 0, ALTER blinded SET STATISTICS 0",
        "{server}ALTER TABLE tickets ALTER hash SET STATISTICS 0",
    ),
    (
        "CREATE TABLE access (name TEXT NOT NULL PRIMARY KEY, role TEXT NOT NULL, hash {bytes} NOT NULL "
        "UNIQUE, added {real} NOT NULL)",
        "CREATE TABLE actions ({key}, time {real} NOT NULL, who TEXT NOT NULL, through TEXT NOT NULL, what "
        "TEXT NOT NULL, plan TEXT, detail TEXT NOT NULL)",
    ),
)
"""What makes version i + 1 from version i, beginning with an empty database; released steps never change."""


def steps(version: int, where: str, words: Mapping[str, str]) -> list[str]:
    """The statements that bring a store of this version to the newest, in its database's dialect."""
    if version > len(MIGRATIONS):
        raise NewerStore(
            f"{where} was written by a newer Deniable (store version {version}; this one knows "
            f"{len(MIGRATIONS)}); install that version, or use another store"
        )
    statements = [
        statement.format_map(words) for migration in MIGRATIONS[version:] for statement in migration
    ]
    return [*statements, f"UPDATE deniable SET version = {len(MIGRATIONS)}"] if statements else []


class NewerStore(DeniableError):
    """A store that a later version has written; it is left as it is."""
