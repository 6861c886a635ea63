"""Keeps invitations as hashes, and exchanges them. Every function runs within a transaction of the caller."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from deniable.collect.counting import Known
from deniable.collect.database import Database
from deniable.errors import InvalidParameter

Table = Literal["invitations", "exchanges", "tickets"]


def add_invitations(database: Database, known: Known, hashes: Iterable[bytes]) -> None:
    """Let in one report for each of these: SHA-256 hashes of random tokens, in order."""
    sql = "INSERT INTO invitations (plan, hash) VALUES (?, ?) ON CONFLICT (plan, hash) DO NOTHING"
    database.many(sql, [(known.key, hashed) for hashed in hashes])


def exchange_invitation(database: Database, known: Known, invitation: bytes, blinded: bytes) -> bool:
    """Exchange an unused invitation for one signature; return whether this was done."""
    there = database.present("invitations", {"plan": known.key}, "hash", [invitation])
    if not there or not database.use_invitations(known.key, [invitation]):
        return False
    new = "INSERT INTO exchanges (plan, hash, blinded) VALUES (?, ?, ?)"
    database.run(new, known.key, invitation, blinded)
    return True


def was_exchanged(database: Database, known: Known, invitation: bytes, blinded: bytes) -> bool:
    """Whether the invitation was exchanged before, for the same message."""
    sql = "SELECT blinded FROM exchanges WHERE plan = ? AND hash = ?"
    return [bytes(message) for (message,) in database.run(sql, known.key, invitation)] == [blinded]


def withdraw_invitations(database: Database, known: Known) -> tuple[int, int]:
    """Withdraw unused invitations and answers to exchanges; return how many of each there were."""
    left = count_rows(database, known, "invitations")
    exchanged = count_rows(database, known, "exchanges")
    database.run("DELETE FROM invitations WHERE plan = ?", known.key)
    database.run("DELETE FROM exchanges WHERE plan = ?", known.key)
    return left, exchanged


def count_rows(database: Database, known: Known, table: Table) -> int:
    """How many invitations are unused or exchanged, or how many tickets let in a report."""
    [(count,)] = database.run(f"SELECT COUNT(*) FROM {table} WHERE plan = ?", known.key)
    return int(count)


def refuse_other_hashes(hashes: Iterable[bytes]) -> None:
    """Refuse what cannot be the hash of a token."""
    if any(len(hashed) != 32 for hashed in hashes):
        raise InvalidParameter("an invitation is kept as the SHA-256 of its token, which has 32 bytes")
