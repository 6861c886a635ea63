"""Keeps what a device remembers: its secret, the reports that it sent, and their losses over all studies.

It never holds answers.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import os
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, final

from deniable.client.marker import Marker
from deniable.errors import DeniableError, InvalidParameter
from deniable.exact import log_up
from deniable.plan import NANO, InvalidPlan, Plan
from deniable.plan.limit import DEFAULT_CAP
from deniable.tables import replacing

try:
    import fcntl
except ImportError:  # there is none on Windows: there, one program at a time must use a ledger
    fcntl = None  # type: ignore[assignment]  # a module elsewhere

VERSION = 2


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

    def __post_init__(self) -> None:
        for loss in (self.unchanged, self.changing):
            if loss is not None and (type(loss) is not int or loss < 0):
                raise ValueError(f"a loss is a whole number of billionths from 0 on, got {loss!r}")


@final
@dataclass(frozen=True)
class Lifetime:
    """What all reports of a device give away together, in billionths: a bound by adding up."""

    studies: int
    reports: int
    unchanged: int | None
    """If no answer changed between the rounds of a study; None where a plan has no bound for that."""
    changing: int | None
    """Whatever changed: what a cap is compared with."""


class AboveCap(InvalidPlan):
    """A plan with which the device's total loss would be above the person's cap."""


@final
class Ledger:
    """A device's memory, in a file or, without a path, in this object; entries are stored before sending.

    Several programs may share the file: what was answered is read again, under a lock, before anything is
    drawn. A file that was copied, restored or deleted is refused; `take_over` takes it as it is.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger(Path(folder) / "ledger.json")
    >>> len(ledger.secret), ledger.lifetime().reports
    (32, 0)
    """

    def __init__(
        self, path: str | Path | None = None, secret: bytes | None = None, *, take_over: bool = False
    ) -> None:
        self._path = None if path is None else Path(path)
        self._marker = None if self._path is None else Marker(self._path)
        self._entries: tuple[Entry, ...] = ()
        self._count = 0
        self._turn = threading.RLock()
        self.secret = secrets.token_bytes(32) if secret is None else secret
        if self._path is not None:
            with self._lock_entries(take_over):
                if take_over or not self._path.exists():
                    self._write()

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What was sent, in order."""
        return self._entries

    def once(
        self, plan: Plan, number: int, draw: Callable[[bytes], bytes], cap: float | None = None
    ) -> bytes:
        """The report for this plan and round: drawn, with this device's secret, only if there is none yet."""
        with self._lock_entries():
            before = self._reports(plan, number)
            if before:
                return before[-1]
            self.refuse_above(cap, plan)
            return self._add(plan, number, draw(self.secret), plan.stated.unchanged, plan.stated.counted)

    def change(
        self, plan: Plan, number: int, draw: Callable[[bytes], bytes], cap: float | None = None
    ) -> bytes:
        """One more report for a round that was answered, with its loss; the same answers add nothing."""
        if plan.content.rounds is not None:
            raise InvalidParameter(
                "a plan with rounds takes one report a round; change the answer in the next"
            )
        with self._lock_entries():
            before = self._reports(plan, number)
            if not before:
                return self.once(plan, number, draw, cap)
            report = draw(self.secret)
            if report in before:
                return report
            loss = (len(before) + 1) * bound_linked_loss(plan)
            others = _add_up(one for one in self._entries if one.plan != plan.id)
            _refuse_total(cap, loss, others.changing, "with a changed answer the plan")
            return self._add(plan, number, report, loss, loss)

    def _reports(self, plan: Plan, number: int) -> list[bytes]:
        return [one.report for one in self._entries if one.plan == plan.id and one.round == number]

    def _add(
        self, plan: Plan, number: int, report: bytes, unchanged: int | None, changing: int | None
    ) -> bytes:
        entry = Entry(plan.id, plan.content.title, number, report, unchanged, changing)
        self._entries = (*self._entries, entry)
        self._write()
        return report

    def lifetime(self, also: Plan | None = None) -> Lifetime:
        """The losses of all studies, and of this one if it were answered; all rounds of a plan count once."""
        return _add_up(self._entries, also)

    def refuse_above(self, cap: float | None, plan: Plan) -> None:
        """Refuse a plan that would lift the lifetime loss above a cap; one that was answered adds nothing.

        Without a cap, the plan alone may give away 4 nats.
        """
        if not any(entry.plan == plan.id for entry in self._entries):
            _refuse_total(cap, plan.stated.counted, self.lifetime().changing, "the plan")

    def forget(self) -> None:
        """Delete everything, the secret too; answers are drawn again then, giving away more."""
        with self._lock_entries():
            self._entries = ()
            self.secret = secrets.token_bytes(32)
            self._write()

    @contextmanager
    def _lock_entries(self, take_over: bool = False) -> Iterator[None]:
        """Hold the lock, among threads and programs, with the file's newest content."""
        with self._turn:
            yield from self._lock_file(take_over)

    def _lock_file(self, take_over: bool) -> Iterator[None]:
        if self._path is None or self._marker is None:
            yield
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.with_name(f".{self._path.name}.lock").open("w") as lock:
            if fcntl is not None:
                fcntl.flock(lock, fcntl.LOCK_EX)
            if self._path.exists():
                self.secret, self._count, self._entries, sealed = _read(self._path)
                if sealed and not take_over:
                    self._marker.check(self._count, self.secret)
            elif not take_over:
                self._marker.check_absent()
            yield

    def _write(self) -> None:
        if self._path is None or self._marker is None:
            return
        self._count += 1
        entries = [asdict(entry) | {"report": entry.report.hex()} for entry in self._entries]
        data = {"version": VERSION, "secret": self.secret.hex(), "count": self._count, "entries": entries}
        text = json.dumps(data | {"seal": _seal(self.secret, data)}, indent=1)
        with replacing(self._path, private=True) as temporary, temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        self._marker.write(self._count, self.secret)


def bound_linked_loss(plan: Plan) -> int:
    """Bound what one more report of a person gives away, in billionths, beside another of the same plan.

    Both have the same real attributes. So what fakes hide in one report does not count in two: the loss is
    that of a report whose real attribute is known.
    """
    ratio = Fraction(1)
    for member, _, _ in plan.mechanism.members:
        has_fakes = member.fake(0) is not None
        ratio *= max(part.ratio for part in member.mechanisms) if has_fakes else member.ratio()
    return max(math.ceil(Fraction(log_up(ratio)) * NANO), plan.stated.record)


def _add_up(entries: Iterable[Entry], also: Plan | None = None) -> Lifetime:
    known = tuple(entries)
    plans = {entry.plan: (entry.unchanged, entry.changing) for entry in known}
    if also is not None:
        plans.setdefault(also.id, (also.stated.unchanged, also.stated.counted))
    unchanged, changing = ([pair[side] for pair in plans.values()] for side in (0, 1))
    return Lifetime(len(plans), len(known), _total(unchanged), _total(changing))


def _refuse_total(cap: float | None, alone: int | None, before: int | None, what: str) -> None:
    limit = DEFAULT_CAP if cap is None else cap
    shown = f"this device's cap is {limit:g}"
    if cap is None:
        before, shown = (
            0,
            f"a device without a cap of its own allows {limit:g}; a larger cap=... allows more",
        )
    total = _total([alone, before])
    if math.isinf(limit):
        return
    if total is None or alone is None:
        raise AboveCap(
            f"there is no bound on what the plan's reports give away if answers change, and {shown}", "cap"
        )
    if total > limit * NANO:
        others = f", with all answers before {total / NANO:.6g}" if total > alone else ""
        raise AboveCap(f"{what} gives away up to {alone / NANO:.6g}{others}, and {shown}", "cap")


def _total(losses: list[int | None]) -> int | None:
    known = [loss for loss in losses if loss is not None]
    return sum(known) if len(known) == len(losses) else None


def _seal(secret: bytes, data: Mapping[str, object]) -> str:
    """What shows that a file was changed by somebody who does not know how it is made."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return hmac.new(secret, b"deniable ledger" + text.encode(), hashlib.sha256).hexdigest()


def _read(path: Path) -> tuple[bytes, int, tuple[Entry, ...], bool]:
    """Secret, number of writes and entries of a file, and whether it is of a version with a seal."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        version = data["version"]
        if version not in (1, VERSION):
            raise DeniableError(
                f"{path} is a ledger of version {version}, and only versions 1 and {VERSION} are known here"
            )
        secret, sealed = bytes.fromhex(data["secret"]), version == VERSION
        if sealed and not hmac.compare_digest(data.pop("seal"), _seal(secret, data)):
            raise ValueError("it was changed by another program")
        return secret, data["count"] if sealed else 0, tuple(map(_entry, data["entries"])), sealed
    except (ValueError, KeyError, TypeError) as problem:
        raise DeniableError(
            f"{path} is not a ledger, or is damaged ({problem!r}); it was left as it is"
        ) from None


def _entry(data: Mapping[str, Any]) -> Entry:
    return Entry(**{**data, "report": bytes.fromhex(data["report"])})
