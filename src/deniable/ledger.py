"""What a device remembers: its secret, the reports that it sent, and what they have given away over all studies.

Answers are never in it.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from deniable.document import NANO, Stated
from deniable.errors import DeniableError
from deniable.plan import Plan
from deniable.table import replacing

VERSION = 1


@final
@dataclass(frozen=True)
class Entry:
    """A report that was made, and what its plan states."""

    plan: str
    title: str
    round: int
    report: bytes
    unchanged: int
    """The loss of all of the plan's reports, in billionths, as long as the answer does not change."""
    changing: int | None
    """The same whatever changes; None where there is no bound."""


@final
@dataclass(frozen=True)
class Lifetime:
    """What all reports of a device give away together of the person, by adding up: nobody can do worse."""

    studies: int
    reports: int
    unchanged: float
    """If no answer changed between the rounds of a study."""
    changing: float | None
    """Whatever changed; None where a plan has no bound for that."""


@final
class Ledger:
    """A file on the device. Each entry is on disk before its report can be sent.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger(Path(folder) / "ledger.json")
    >>> len(ledger.secret), ledger.lifetime().reports
    (32, 0)
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._entries: dict[tuple[str, int], Entry] = {}
        if self._path.exists():
            self.secret, self._entries = _read(self._path)
        else:
            self.secret = secrets.token_bytes(32)
            self._write()

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What was sent, in order."""
        return tuple(self._entries.values())

    def find(self, plan: Plan, number: int) -> Entry | None:
        """The report that was made for this plan and round, if there is one."""
        return self._entries.get((plan.id, number))

    def add(self, plan: Plan, number: int, report: bytes) -> None:
        """Write down a report before it is sent."""
        unchanged, changing = stated_for_ever(plan.stated)
        entry = Entry(plan.id, plan.content.title, number, report, unchanged, changing)
        self._entries[plan.id, number] = entry
        self._write()

    def lifetime(self) -> Lifetime:
        """The losses of all studies, added up; a plan with rounds counts once, for all of them."""
        plans = {entry.plan: entry for entry in self._entries.values()}.values()
        changing = [entry.changing for entry in plans]
        return Lifetime(
            studies=len(plans),
            reports=len(self._entries),
            unchanged=sum(entry.unchanged for entry in plans) / NANO,
            changing=None if None in changing else sum(number for number in changing if number is not None) / NANO,
        )

    def forget(self) -> None:
        """Delete everything, the secret too. Permanent answers are drawn anew after this, which gives away more."""
        self._path.unlink(missing_ok=True)
        self._entries.clear()
        self.secret = secrets.token_bytes(32)
        self._write()

    def _write(self) -> None:
        entries = [
            {
                "plan": entry.plan,
                "title": entry.title,
                "round": entry.round,
                "report": entry.report.hex(),
                "unchanged": entry.unchanged,
                "changing": entry.changing,
            }
            for entry in self._entries.values()
        ]
        text = json.dumps({"version": VERSION, "secret": self.secret.hex(), "entries": entries}, indent=1)
        with replacing(self._path) as temporary, temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        self._path.chmod(0o600)


def stated_for_ever(stated: Stated) -> tuple[int, int | None]:
    """What all reports of a plan give away together, in billionths: of an unchanged answer, and whatever changes."""
    if stated.repeated is None:
        return stated.record, stated.record
    _, _, for_ever, changing, _ = stated.repeated
    assert for_ever is not None
    return for_ever, changing


def _read(path: Path) -> tuple[bytes, dict[tuple[str, int], Entry]]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["version"] != VERSION:
            raise DeniableError(f"{path} is a ledger of version {data['version']}, and only version {VERSION} is known here")
        return bytes.fromhex(data["secret"]), {(one.plan, one.round): one for one in map(_entry, data["entries"])}
    except (ValueError, KeyError, TypeError) as problem:
        raise DeniableError(f"{path} is not a ledger, or is damaged ({problem!r}); it was left as it is") from None


def _entry(data: Mapping[str, Any]) -> Entry:
    return Entry(**{**data, "report": bytes.fromhex(data["report"])})
