"""Keeps what a device remembers: its secret, the reports that it sent, and their losses over all studies.

It never holds answers.
"""

from __future__ import annotations

import json
import os
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from deniable.errors import DeniableError
from deniable.plan import NANO, InvalidPlan, Plan, Stated
from deniable.tables import replacing

try:
    import fcntl
except ImportError:  # there is none on Windows: there, one program at a time must use a ledger
    fcntl = None  # type: ignore[assignment]  # a module elsewhere

VERSION = 1


@final
@dataclass(frozen=True)
class Entry:
    """A report that was made, and what its plan states."""

    plan: str
    title: str
    round: int
    report: bytes
    unchanged: int | None
    """The loss of all reports of the plan, in billionths, if the answer never changes; None: no bound."""
    changing: int | None
    """The same, whatever changes."""


@final
@dataclass(frozen=True)
class Lifetime:
    """What all reports of a device give away together, in billionths: a bound by adding up."""

    studies: int
    reports: int
    unchanged: int | None
    """If no answer changed between the rounds of a study; None where a plan has no bound for that."""
    changing: int | None
    """Whatever changed."""


class AboveCap(InvalidPlan):
    """A plan with which the device's total loss would be above the person's cap."""


@final
class Ledger:
    """A device's memory, in a file or, without a path, in this object; entries are stored before sending.

    Several programs may share the file: what was answered is read again, under a lock, before anything is
    drawn.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger(Path(folder) / "ledger.json")
    >>> len(ledger.secret), ledger.lifetime().reports
    (32, 0)
    """

    def __init__(self, path: str | Path | None = None, secret: bytes | None = None) -> None:
        self._path = None if path is None else Path(path)
        self._entries: dict[tuple[str, int], Entry] = {}
        self._turn = threading.RLock()
        self.secret = secrets.token_bytes(32) if secret is None else secret
        if self._path is not None:
            with self._lock_entries():
                if not self._path.exists():
                    self._write()

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What was sent, in order."""
        return tuple(self._entries.values())

    def once(
        self, plan: Plan, number: int, draw: Callable[[bytes], bytes], cap: float | None = None
    ) -> bytes:
        """The report for this plan and round: drawn, with this device's secret, only if there is none yet."""
        with self._lock_entries():
            before = self._entries.get((plan.id, number))
            if before is not None:
                return before.report
            self.refuse_above(cap, plan)
            unchanged, changing = bound_losses(plan.stated)
            entry = Entry(plan.id, plan.content.title, number, draw(self.secret), unchanged, changing)
            self._entries[plan.id, number] = entry
            self._write()
            return entry.report

    def lifetime(self, also: Plan | None = None) -> Lifetime:
        """The losses of all studies, and of this one if it were answered; all rounds of a plan count once."""
        plans = {entry.plan: (entry.unchanged, entry.changing) for entry in self._entries.values()}
        if also is not None:
            plans[also.id] = bound_losses(also.stated)
        unchanged, changing = ([pair[side] for pair in plans.values()] for side in (0, 1))
        return Lifetime(len(plans), len(self._entries), _total(unchanged), _total(changing))

    def refuse_above(self, cap: float | None, plan: Plan) -> None:
        """Refuse a plan that would lift the lifetime loss above a cap; one that was answered adds nothing."""
        if cap is None or any(entry.plan == plan.id for entry in self._entries.values()):
            return
        (alone, _), total = bound_losses(plan.stated), self.lifetime(also=plan).unchanged
        if total is None or alone is None:
            raise AboveCap(
                f"there is no bound on what the plan's reports give away, and this device's cap is {cap:g}"
            )
        if total > cap * NANO:
            before = f", with all answers before {total / NANO:.6g}" if total > alone else ""
            raise AboveCap(
                f"the plan gives away up to {alone / NANO:.6g}{before}, and this device's cap is {cap:g}"
            )

    def forget(self) -> None:
        """Delete everything, the secret too; permanent answers are drawn again then, giving away more."""
        with self._lock_entries():
            self._entries.clear()
            self.secret = secrets.token_bytes(32)
            self._write()

    @contextmanager
    def _lock_entries(self) -> Iterator[None]:
        """Hold the lock, among threads and programs, with the file's newest content."""
        with self._turn:
            yield from self._lock_file()

    def _lock_file(self) -> Iterator[None]:
        if self._path is None:
            yield
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.with_name(f".{self._path.name}.lock").open("w") as lock:
            if fcntl is not None:
                fcntl.flock(lock, fcntl.LOCK_EX)
            if self._path.exists():
                self.secret, self._entries = _read(self._path)
            yield

    def _write(self) -> None:
        if self._path is None:
            return
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
        with replacing(self._path, private=True) as temporary, temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())


def bound_losses(stated: Stated) -> tuple[int | None, int | None]:
    """Bound what all reports of a plan give away, in billionths: for an unchanged answer, and in any case."""
    if stated.repeated is None:
        return stated.record, stated.record
    _, _, unchanged, changing, _ = stated.repeated
    return unchanged, changing


def _total(losses: list[int | None]) -> int | None:
    known = [loss for loss in losses if loss is not None]
    return sum(known) if len(known) == len(losses) else None


def _read(path: Path) -> tuple[bytes, dict[tuple[str, int], Entry]]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["version"] != VERSION:
            raise DeniableError(
                f"{path} is a ledger of version {data['version']}, and only version {VERSION} is known here"
            )
        return bytes.fromhex(data["secret"]), {
            (one.plan, one.round): one for one in map(_entry, data["entries"])
        }
    except (ValueError, KeyError, TypeError) as problem:
        raise DeniableError(
            f"{path} is not a ledger, or is damaged ({problem!r}); it was left as it is"
        ) from None


def _entry(data: Mapping[str, Any]) -> Entry:
    return Entry(**{**data, "report": bytes.fromhex(data["report"])})
