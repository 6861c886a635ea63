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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple, final

from deniable.client.waiting import Loss, Waiting, explain_lost, find_dropped, today
from deniable.errors import DeniableError, InvalidParameter
from deniable.exact import log_up
from deniable.explain.device_limit import DEFAULT_CAP, round_limit
from deniable.formatting import format_count
from deniable.frames import replacing
from deniable.plan import NANO, InvalidPlan
from deniable.study import Plan

try:
    import fcntl
except ImportError:  # there is none on Windows: there, one program at a time must use a ledger
    fcntl = None  # type: ignore[assignment]  # a module elsewhere

VERSION = 5
_ADVICE = (
    "go on with the newest one; if there is none, take this one over on purpose: "
    "dn.Ledger(path, take_over=True). What was sent since is not counted then"
)


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
    """The loss of all reports of the plan, in billionths, if the answer changes; None: no bound."""
    continues: tuple[str, ...] = ()
    """The plans that its plan continues."""
    chain: tuple[int | None, int | None] = (None, None)
    """Both losses of all reports to its plan and to those that it continues."""
    since: int | None = None
    """The day, counted from 1970, from which on it waits to be sent; None where it does not wait."""
    lost: Loss = ""
    """Why it waits no more though it has not arrived; empty where it was not lost."""
    token: str = ""
    """The invitation or the ticket that it waits with, or has arrived with; empty where there is none."""

    def __post_init__(self) -> None:
        for name in ("continues", "chain"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        for loss in (self.unchanged, self.changing, *self.chain):
            if loss is not None and (type(loss) is not int or loss < 0):
                raise ValueError(f"a loss is a whole number of billionths from 0 on, got {loss!r}")

    def settle(self, lost: Loss) -> Entry:
        """The report as it is when it waits no more; a lost one frees the ticket that let it in."""
        return replace(self, since=None, lost=lost, token="" if lost else self.token)

    def to_dict(self) -> dict[str, object]:
        """What a file has of it."""
        written = asdict(self) | {"report": self.report.hex()}
        chain = ("continues", "chain")
        return {name: value for name, value in written.items() if self.continues or name not in chain}


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

    All studies together may give away `cap`: 4 nats, until the person sets another. So a collector that asks
    one question in many plans learns no more than from one plan. A plan whose loss does not fit into what is
    left is refused before anything is drawn. A loss is spent once the report is written down, sent or not.

    Several programs may share the file: what was answered is read again, under a lock, before anything is
    drawn. A file that was copied, restored or deleted is refused; `take_over` takes it as it is.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger(Path(folder) / "ledger.json")
    ...     ledger.cap = 6.0  # the person allows more than 4
    >>> len(ledger.secret), ledger
    (32, <Ledger: 0 reports of 0 plans gave away up to 0 of 6>)
    """

    def __init__(
        self, path: str | Path | None = None, secret: bytes | None = None, *, take_over: bool = False
    ) -> None:
        self._path = None if path is None else Path(path)
        if self._path is not None and self._path.is_dir():
            raise InvalidParameter(f"{self._path} is a folder; a ledger is a file: name one in it")
        self._marker = None if self._path is None else _Marker(self._path)
        self._entries: tuple[Entry, ...] = ()
        self._count = 0
        self._cap: float | None = None
        self._turn = threading.RLock()
        self._is_locked = False
        self.secret = secrets.token_bytes(32) if secret is None else secret
        if self._path is not None:
            with self._lock_entries(take_over):
                if take_over or not self._path.exists():
                    self._write()

    def __repr__(self) -> str:
        lifetime = self.lifetime()
        reports, plans = format_count(lifetime.reports, "report"), format_count(lifetime.studies, "plan")
        lost = "without a bound" if lifetime.changing is None else f"up to {lifetime.changing / NANO:.6g}"
        return f"<Ledger: {reports} of {plans} gave away {lost} of {self.cap:g}>"

    @property
    def cap(self) -> float:
        """The most that all studies together may give away, in nats: 4 until the person sets another.

        Set it to allow more or less, and to None for 4 again. It is kept in the file, so that it holds for
        every program that uses the ledger.
        """
        return DEFAULT_CAP if self._cap is None else self._cap

    @cap.setter
    def cap(self, cap: float | None) -> None:
        checked = None if cap is None else checked_cap(cap)
        with self._lock_entries():
            self._cap = checked
            self._write()

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What was sent, in order."""
        return self._entries

    @property
    def lost(self) -> tuple[str, ...]:
        """A sentence for each report that waited here and was dropped."""
        return tuple(
            explain_lost(entry.round, entry.title, entry.lost) for entry in self._entries if entry.lost
        )

    def postpone(self, report: bytes, token: str = "") -> None:
        """Let a report of this ledger wait to be sent, with what lets it in and no other report."""
        with self._lock_entries():
            if not any(entry.report == report for entry in self._entries):
                raise InvalidParameter(
                    "only a report that was made with this ledger can wait in it; make it with "
                    "Client(plan, ledger=ledger).report(answers)"
                )
            if token and any(entry.token == token and entry.report != report for entry in self._entries):
                kind = token.partition(" ")[0].lower()
                raise InvalidParameter(
                    f"another report of this ledger has this {kind}, which lets in one; give each its own"
                )
            self._entries = tuple(
                replace(entry, since=today(), lost="", token=token) if entry.report == report else entry
                for entry in self._entries
            )
            self._write()
            self.list_waiting("")

    def settle(self, outcomes: Mapping[bytes, Loss]) -> None:
        """Let reports wait no more: each has arrived, or it is lost."""
        with self._lock_entries():
            entries = tuple(
                entry.settle(outcomes[entry.report])
                if entry.since is not None and entry.report in outcomes
                else entry
                for entry in self._entries
            )
            if entries != self._entries:
                self._entries = entries
                self._write()

    def list_waiting(self, plan: str) -> tuple[Waiting, ...]:
        """The reports of a plan that wait; what is too old or too many, of any plan, is dropped first."""
        with self._lock_entries():
            dropped = find_dropped([entry.since for entry in self._entries])
            self.settle({self._entries[place].report: reason for place, reason in dropped.items()})
            waiting = (entry for entry in self._entries if entry.since is not None and entry.plan == plan)
            return tuple(Waiting(entry.report, entry.token) for entry in waiting)

    def once(
        self, plan: Plan, number: int, draw: Callable[[bytes], bytes], cap: float | None = None
    ) -> bytes:
        """The report for this plan and round: drawn, with this device's secret, only if there is none yet."""
        with self._lock_entries():
            before = self._reports(plan, number)
            if before:
                return before[-1]
            self.refuse_above(cap, plan)
            return self._add(_list_losses(plan), number, draw(self.secret))

    def change(
        self, plan: Plan, number: int, draw: Callable[[bytes], bytes], cap: float | None = None
    ) -> bytes:
        """One more report for a round that was answered, with its loss; the same answers add nothing."""
        if plan.document.rounds is not None:
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
            changed = replace(_list_losses(plan), unchanged=loss, changing=loss)
            others = tuple(entry for entry in self._entries if entry.plan != plan.id)
            total = _add_up((*others, changed)).changing
            self._refuse_total(cap, loss, total, "with a changed answer the plan")
            return self._add(changed, number, report)

    def _reports(self, plan: Plan, number: int) -> list[bytes]:
        return [entry.report for entry in self._entries if entry.plan == plan.id and entry.round == number]

    def _add(self, losses: Entry, number: int, report: bytes) -> bytes:
        self._entries = (*self._entries, replace(losses, round=number, report=report))
        self._write()
        return report

    def lifetime(self, also: Plan | None = None) -> Lifetime:
        """The losses of all studies, and of this one if it were answered; all rounds of a plan count once,
        and so do plans that continue each other.
        """
        if also is None or any(entry.plan == also.id for entry in self._entries):
            return _add_up(self._entries)
        return replace(_add_up((*self._entries, _list_losses(also))), reports=len(self._entries))

    def refuse_above(self, cap: float | None, plan: Plan) -> None:
        """Refuse a plan that would lift the loss of all studies above a cap, or above the ledger's own.

        A plan that was answered adds nothing. One that shares kept answers with a plan that was answered is
        refused, unless one of the two continues the other: nobody has added up what they lose together.
        """
        with self._lock_entries():  # another program may have spent, or raised, what this one knows of
            if not any(entry.plan == plan.id for entry in self._entries):
                self._refuse_branch(_list_losses(plan))
                total = self.lifetime(plan).changing
                self._refuse_total(cap, plan.stated.counted, total, "the plan")

    def _refuse_branch(self, plan: Entry) -> None:
        for entry in self._entries:
            are_together = plan.plan in entry.continues or entry.plan in plan.continues
            if not are_together and {plan.plan, *plan.continues} & {entry.plan, *entry.continues}:
                raise InvalidPlan(
                    f"this device answered another plan, {entry.plan[:12]}, that continues the same plan; "
                    "it can answer only one that continues that one",
                    "continues",
                )

    def _refuse_total(self, cap: float | None, alone: int | None, total: int | None, what: str) -> None:
        limit = self.cap if cap is None else cap
        if math.isinf(limit):
            return
        if total is None or alone is None:
            raise AboveCap(
                "there is no bound on what the plan's reports give away if answers change, and this device's "
                f"cap is {limit:g}",
                "cap",
            )
        if total > limit * NANO:
            others = f", with all answers before {total / NANO:.6g}" if total > alone else ""
            need = f"ledger.cap = {round_limit(total):g}"
            if cap is not None:
                need = f"cap={round_limit(total):g}"
            elif not others:
                need += f" (or plan_cap={round_limit(total):g}, without a ledger)"
            raise AboveCap(
                f"{what} gives away up to {alone / NANO:.6g}{others}, and this device's cap is {limit:g}; a "
                f"person who allows it sets {need}",
                "cap",
            )

    def forget(self) -> None:
        """Delete everything, the secret and the cap too; answers are drawn again then, giving away more."""
        with self._lock_entries():
            self._entries, self._cap = (), None
            self.secret = secrets.token_bytes(32)
            self._write()

    @contextmanager
    def _lock_entries(self, take_over: bool = False) -> Iterator[None]:
        """Hold the lock, among threads and programs, with the file's newest content.

        A thread that holds it may ask for it again: the system would let it wait for itself.
        """
        with self._turn:
            if self._is_locked:
                yield
                return
            self._is_locked = True
            try:
                yield from self._lock_file(take_over)
            finally:
                self._is_locked = False

    def _lock_file(self, take_over: bool) -> Iterator[None]:
        if self._path is None or self._marker is None:
            yield
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.with_name(f".{self._path.name}.lock").open("w") as lock:
            if fcntl is not None:
                fcntl.flock(lock, fcntl.LOCK_EX)
            if self._path.exists():
                kept = _read(self._path)
                self.secret, self._count, self._entries = kept.secret, kept.writes, kept.entries
                self._cap = kept.cap
                # one of the first version has no marker, unless it is from before a newer one was here
                if not take_over and (kept.is_sealed or self._marker.exists()):
                    self._marker.check(self._count, self.secret)
            elif not take_over:
                self._marker.check_absent()
            yield

    def _write(self) -> None:
        if self._path is None or self._marker is None:
            return
        self._count += 1
        entries = [entry.to_dict() for entry in self._entries]
        data = {
            "version": VERSION,
            "secret": self.secret.hex(),
            "count": self._count,
            "cap": self._cap,
            "entries": entries,
        }
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


def _list_losses(plan: Plan) -> Entry:
    """What is written down of a plan, without a report."""
    stated, before = plan.stated, plan.document.continues
    together = (stated.chained.unchanged, stated.chained.counted) if before else (None, None)
    ids = tuple(earlier.id for earlier in before)
    return Entry(plan.id, plan.document.title, 0, b"", stated.unchanged, stated.counted, ids, together)


def _add_up(entries: Sequence[Entry]) -> Lifetime:
    """The losses of all plans; of those that continue each other, those that the last of them states."""
    plans = {entry.plan: entry for entry in entries}
    continued = {before for entry in plans.values() for before in entry.continues}
    losses = [
        entry.chain
        if any(before in plans for before in entry.continues)
        else (entry.unchanged, entry.changing)
        for entry in plans.values()
        if entry.plan not in continued
    ]
    unchanged, changing = ([pair[side] for pair in losses] for side in (0, 1))
    return Lifetime(len(plans), len(entries), _total(unchanged), _total(changing))


def checked_cap(cap: float) -> float:
    """A cap, if it is a positive number."""
    if isinstance(cap, bool) or not isinstance(cap, int | float) or not cap > 0:
        raise InvalidParameter(
            "a cap, the most that a person is willing to give away, is a positive number, or math.inf for "
            f"plans without a bound, got {cap!r}"
        )
    return float(cap)


def _total(losses: list[int | None]) -> int | None:
    known = [loss for loss in losses if loss is not None]
    return sum(known) if len(known) == len(losses) else None


def _seal(secret: bytes, data: Mapping[str, object]) -> str:
    """What shows that a file was changed by somebody who does not know how it is made."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return hmac.new(secret, b"deniable ledger" + text.encode(), hashlib.sha256).hexdigest()


class _Kept(NamedTuple):
    """What a ledger's file holds."""

    secret: bytes
    writes: int
    """How often it was written."""
    cap: float | None
    entries: tuple[Entry, ...]
    is_sealed: bool
    """Whether it is of a version with a seal."""


def _read(path: Path) -> _Kept:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        version = data["version"]
        if version not in range(1, VERSION + 1):
            raise DeniableError(
                f"{path} is a ledger of version {version}, and only versions 1 to {VERSION} are known here"
            )
        secret, is_sealed = bytes.fromhex(data["secret"]), version > 1
        if is_sealed and not hmac.compare_digest(data.pop("seal"), _seal(secret, data)):
            raise ValueError("it was changed by another program")
        count = data["count"] if is_sealed else 0
        cap = data["cap"] if version > 2 else None
        entries = tuple(
            Entry(**{**entry, "report": bytes.fromhex(entry["report"])}) for entry in data["entries"]
        )
        return _Kept(secret, count, None if cap is None else checked_cap(cap), entries, is_sealed)
    except RecursionError:
        raise DeniableError(
            f"{path} is not a ledger: it is nested too deeply to be read; it was left as it is"
        ) from None
    except (ValueError, KeyError, TypeError, InvalidParameter) as problem:
        raise DeniableError(
            f"{path} is not a ledger, or is damaged ({problem!r}); it was left as it is"
        ) from None


class CopiedLedger(DeniableError):
    """A ledger that is not the newest one of this device: a copy, or an older state of it."""


@final
class _Marker:
    """Notices that a ledger's file was copied or restored: it stands beside the file, and counts its writes.

    The marker holds its own number in the file system, which a copy does not share. It is written after the
    ledger, so a crash between both leaves it behind, never ahead.
    """

    def __init__(self, ledger: Path) -> None:
        self._ledger = ledger
        self._path = ledger.with_name(f".{ledger.name}.marker")

    def check(self, count: int, secret: bytes) -> None:
        """Refuse a ledger that was copied to this device, or is older than the marker."""
        try:
            text = self._path.read_text(encoding="ascii")
            writes, owner = int(text[:20]), text[21:]
        except (OSError, ValueError):
            raise CopiedLedger(f"{self._ledger} has no marker, so it is a copy; {_ADVICE}") from None
        if owner != self._owner(secret):
            raise CopiedLedger(f"{self._ledger} is a copy from another folder or device; {_ADVICE}")
        if count < writes:
            raise CopiedLedger(f"{self._ledger} is an older state, from a backup; {_ADVICE}")

    def exists(self) -> bool:
        """Whether a ledger with a marker was here."""
        return self._path.exists()

    def check_absent(self) -> None:
        """Refuse to begin anew where there was a ledger."""
        if self.exists():
            raise CopiedLedger(f"there was a ledger {self._ledger}, and it is gone; {_ADVICE}")

    def write(self, count: int, secret: bytes) -> None:
        """Count a write; in the same file, whose number stays."""
        with open(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
            file.write(f"{count:020d} {self._owner(secret)}".encode("ascii"))
            file.truncate()
            file.flush()
            os.fsync(file.fileno())

    def _owner(self, secret: bytes) -> str:
        """A text that only this ledger and this file of the device have."""
        number = self._path.stat().st_ino
        return hmac.new(secret, f"deniable marker {number}".encode(), hashlib.sha256).hexdigest()
