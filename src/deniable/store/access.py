"""Keeps who may read results, operate the collector or scrape its metrics, and logs what operators did.

Tokens are kept as hashes. The log says who did what, and when; it never has anything of a report.
"""

from __future__ import annotations

import re
import secrets
import time
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal, final, get_args

from deniable.errors import InvalidParameter, not_among
from deniable.formatting import format_time
from deniable.store.database import Database
from deniable.store.schedule import Times

Role = Literal["operator", "reader", "metrics"]
Through = Literal["shell", "web"]
What = Literal[
    "opened a round",
    "closed a round",
    "made invitations",
    "made reminders",
    "withdrew invitations",
    "exported reports",
    "looked for values",
    "found values",
    "scrubbed reports",
    "gave access",
    "revoked access",
]

ROLES: tuple[Role, ...] = get_args(Role)
MAIN = "main"
"""Who has the collector's own token (`operator.token`, or DENIABLE_TOKEN)."""

_NAME = re.compile(r"\w[\w.@+-]{0,59}")


@final
@dataclass(frozen=True)
class Actor:
    """Who does something: the name of an access, or of a user of the machine."""

    name: str
    through: Through


@final
@dataclass(frozen=True)
class Access:
    """Somebody with a token."""

    name: str
    role: Role
    added: float
    """When, in seconds since 1970."""


@final
@dataclass(frozen=True)
class Action:
    """What somebody did."""

    time: float
    who: str
    through: Through
    what: What
    plan: str | None
    detail: str


def draw_token() -> str:
    """Draw a token for an access; what begins with a hyphen, a shell would take for an option."""
    while (token := secrets.token_urlsafe(32)).startswith("-"):
        pass
    return token


def hash_token(token: str) -> bytes:
    """What is kept of a token."""
    return sha256(token.encode()).digest()


def log_action(database: Database, by: Actor | None, what: What, plan_id: str | None, detail: str) -> None:
    """Log what somebody did, in the transaction that does it; nothing where nobody is named."""
    if by is None:
        return
    database.run(
        "INSERT INTO actions (time, who, through, what, plan, detail) VALUES (?, ?, ?, ?, ?, ?)",
        *(time.time(), by.name, by.through, what, plan_id, detail),
    )


def log_round(database: Database, by: Actor | None, plan_id: str, times: Times) -> None:
    """Log that a round was opened or closed, now or at a time."""
    closed = times.closes is not None and times.closes <= time.time()
    ends = [("from", times.opens), ("until", times.closes)]
    when = [f"{word} {format_time(at)}" for word, at in ends if at is not None]
    what: What = "closed a round" if closed else "opened a round"
    log_action(database, by, what, plan_id, ", ".join([f"round {times.number}", *when]))


@final
class Accesses:
    """All who have a token of their own, and the log of actions, in a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, name: str, role: str, hashed: bytes, by: Actor | None = None) -> None:
        """Let somebody in by the token of this hash."""
        if role not in ROLES:
            raise InvalidParameter(not_among(role, "a role", ROLES))
        if not _NAME.fullmatch(name):
            raise InvalidParameter(
                "a name has 1 to 60 letters, digits or . @ + - _ and begins with a letter or digit, got "
                f"{name!r}"
            )
        if name == MAIN:
            raise InvalidParameter(f"{MAIN!r} is who has the collector's own token; choose another name")
        with self._database.transaction(write=True):
            if self._database.run("SELECT 1 FROM access WHERE name = ?", name):
                raise InvalidParameter(
                    f"{name!r} has access already; revoke it first, or choose another name"
                )
            new = "INSERT INTO access (name, role, hash, added) VALUES (?, ?, ?, ?)"
            self._database.run(new, name, role, hashed, time.time())
            log_action(self._database, by, "gave access", None, f"to {name}, as {role}")

    def revoke(self, name: str, by: Actor | None = None) -> Access:
        """End somebody's access at once; return what it was."""
        with self._database.transaction(write=True):
            there = {access.name: access for access in self._load()}
            if name not in there:
                known = ", ".join(there) or "nobody has"
                raise InvalidParameter(f"{name!r} has no access here; those who have: {known}")
            self._database.run("DELETE FROM access WHERE name = ?", name)
            log_action(self._database, by, "revoked access", None, f"of {name}, {there[name].role}")
        return there[name]

    def find(self, hashed: bytes) -> Access | None:
        """Who has the token of this hash."""
        with self._database.transaction():
            rows = self._database.run("SELECT name, role, added FROM access WHERE hash = ?", hashed)
        return Access(*rows[0]) if rows else None

    def everybody(self) -> list[Access]:
        with self._database.transaction():
            return self._load()

    def log(self, by: Actor, what: What, plan_id: str | None, detail: str) -> None:
        """Log what somebody is about to do."""
        with self._database.transaction(write=True):
            log_action(self._database, by, what, plan_id, detail)

    def actions(self, most: int = 1000) -> list[Action]:
        """What was done last, the newest first."""
        return self._read_actions(f"ORDER BY key DESC LIMIT {most:d}")

    def list_actions(self, what: What, plan_id: str) -> list[Action]:
        """All actions of one kind with a plan, the newest first."""
        return self._read_actions("WHERE what = ? AND plan = ? ORDER BY key DESC", what, plan_id)

    def _read_actions(self, which: str, *values: object) -> list[Action]:
        sql = f"SELECT time, who, through, what, plan, detail FROM actions {which}"
        with self._database.transaction():
            rows: list[Any] = self._database.run(sql, *values)
        return [Action(*row) for row in rows]

    def _load(self) -> list[Access]:
        rows = self._database.run("SELECT name, role, added FROM access ORDER BY name")
        return [Access(*row) for row in rows]
