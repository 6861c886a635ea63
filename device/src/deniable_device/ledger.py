"""What a device keeps: its secret, what it sent, and what all of its plans give away together.

A ledger is a file of one device. Beside it lies a hidden marker that knows how often the file was written, so
that a copy or an older one is found."""

from __future__ import annotations

import json
import math
import os
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from deniable_device.changes import logarithm
from deniable_device.document import Json
from deniable_device.errors import DeviceError, InvalidParameter, Refused
from deniable_device.losses import billionths, ratio_after
from deniable_device.records import Faked, Split, product

if TYPE_CHECKING:
    from deniable_device.plan import Plan

USUAL_CAP = 4.0
BILLION = 10**9
MOST_WAITING = 32
"""Reports that wait in one ledger: beyond that the oldest is dropped."""
LONGEST_WAIT = 30
"""Days that a report waits before it is dropped."""
SETTLED = {"counted": "", "counted before": "", "closed": "closed"}
"""What a collector says of a report that waits no more, and why it is lost, where it is."""
WHY_LOST = {
    "age": f"its report waited for more than {LONGEST_WAIT} days",
    "number": f"more than {MOST_WAITING} reports waited, and its report was the oldest",
    "closed": "the collector takes no more reports of it",
}


def today() -> int:
    """The day, counted from 1970."""
    return int(time.time() // 86_400)


class Waiting(NamedTuple):
    """A report that waits, of which round it is, and the ticket or the invitation that is sent with it."""

    round: int
    report: bytes
    token: str


class CopiedLedger(DeviceError):
    """A ledger's file that is a copy, or older than the last one that was written."""


def counted(plan: Plan) -> int | None:
    """What a plan counts from its first report on; None has no bound."""
    if plan.rounds is None:
        return int(plan.losses["record"])
    changing: int | None = plan.losses["repeated"]["changing_values"]
    return changing


def counted_again(plan: Plan, reports: int) -> int | None:
    """What a plan without rounds counts with one changed answer after so many reports."""
    parts = plan.record.parts if isinstance(plan.record, Split) else [plan.record]
    ratio = product(
        [
            max(each.ratio() for each in part.mechanisms)
            if isinstance(part, Faked)
            else part.losses(ratio_after(1), 1).record
            for part in parts
        ]
    )
    true = billionths(logarithm(ratio))
    return None if true is None else (reports + 1) * max(int(plan.losses["record"]), true)


def check_cap(cap: float) -> float:
    """A cap that a person can set: a positive number of nats."""
    if isinstance(cap, bool) or not isinstance(cap, (int, float)) or not cap > 0:
        raise InvalidParameter(f"a cap is a positive number of nats, got {cap!r}")
    return float(cap)


def allow(total: int | None, cap: float, what: str = "all plans together") -> None:
    """Refuses a loss above a cap, and names what would give it away."""
    if cap != math.inf and (total is None or total > cap * BILLION):
        loss = "a loss without a bound" if total is None else f"{total / BILLION:.4f} nats"
        raise Refused("cap", f"{what} would give away {loss}; the cap is {cap:g}")


class Entry:
    """What a device remembers of a plan: what it counts, the last report of each round, and all names.

    `waiting` has the days from which on reports wait to be sent, `tokens` what lets them in, and `lost` why
    others were dropped, by round.
    `before` are the plans that it continues, and `chain` is what all of them count together."""

    def __init__(
        self,
        counted: int | None,
        reports: dict[int, bytes],
        names: list[str],
        before: Sequence[str] = (),
        chain: int | None = None,
    ) -> None:
        self.counted, self.reports, self.names = counted, reports, names
        self.before, self.chain = list(before), chain
        self.waiting: dict[int, int] = {}
        self.tokens: dict[int, str] = {}
        self.lost: dict[int, str] = {}

    def settle(self, round: int, lost: str) -> None:
        """Lets a report wait no more: it has arrived, or it is lost, and what let it in is free again."""
        del self.waiting[round]
        if lost:
            self.tokens.pop(round, None)
            self.lost[round] = lost

    @staticmethod
    def of(plan: Plan, counts: int | None) -> Entry:
        """A plan without a report."""
        chain: int | None = plan.losses["chain"]["changing_values"] if plan.before else None
        return Entry(counts, {}, [], [each.id for each in plan.before], chain)


def added(plans: dict[str, Entry]) -> int | None:
    """What plans count together; of those that continue each other, what the last of them states."""
    continued = {each for entry in plans.values() for each in entry.before}
    last = [entry for name, entry in plans.items() if name not in continued]
    counts = [entry.chain if plans.keys() & set(entry.before) else entry.counted for entry in last]
    return None if None in counts else sum(each for each in counts if each is not None)


class Ledger:
    """The plans that a device answered. `path` is the file that keeps it; without one it is kept in memory.

    Python cannot keep others who read this device's files from the secret: the file is only for its owner."""

    def __init__(
        self, path: str | None = None, *, secret: bytes | None = None, take_over: bool = False
    ) -> None:
        self.path = None if path is None else os.path.abspath(path)
        self.secret = secret or secrets.token_bytes(32)
        self.person_cap: float | None = None
        self.plans: dict[str, Entry] = {}
        self.written = 0
        self.take_over = take_over
        if self.path is not None:
            with self.locked():
                if take_over or not os.path.exists(self.path):
                    self.save()
        if secret is not None and secret != self.secret:
            raise InvalidParameter(f"{self.path} has another secret")

    @property
    def cap(self) -> float:
        """The most that the person is willing to give away, 4 nats unless set."""
        return USUAL_CAP if self.person_cap is None else self.person_cap

    @cap.setter
    def cap(self, cap: float) -> None:
        with self.locked():
            self.person_cap = check_cap(cap)
            self.save()

    @property
    def marker(self) -> str:
        """The hidden file beside the ledger."""
        folder, name = os.path.split(str(self.path))
        return os.path.join(folder, f".{name}.marker")

    def total(self) -> int | None:
        """What all plans count, in billionths of a nat; None has no bound."""
        return added(self.plans)

    def with_plan(self, plan: Plan, counts: int | None) -> int | None:
        """What all plans would count, if a plan counted so much."""
        return added({**self.plans, plan.id: Entry.of(plan, counts)})

    def sent(self, plan: Plan, round: int) -> bytes | None:
        """The report that was made for a round."""
        entry = self.plans.get(plan.id)
        return None if entry is None else entry.reports.get(round)

    def check(self, plan: Plan, cap: float | None = None) -> None:
        """Refuses a plan that does not fit below the cap; one that was answered before fits.

        One that shares kept words with another plan, of which neither continues the other, is refused."""
        if plan.id not in self.plans:
            before = {each.id for each in plan.before}
            for name, entry in self.plans.items():
                if name not in before and plan.id not in entry.before and before & {name, *entry.before}:
                    raise Refused("continues", f"plan {name} continues the same plan, and was answered")
            allow(self.with_plan(plan, counted(plan)), self.cap if cap is None else cap)

    def keep(self, plan: Plan, round: int, report: bytes, cap: float | None = None) -> None:
        """Writes down a report before it is sent, if the cap allows it.

        A round has a second report only where its answers changed. One that was made before counts nothing,
        and the round keeps its last new one."""
        self.check(plan, cap)
        entry = self.plans.get(plan.id) or Entry.of(plan, counted(plan))
        name = report[9:29].hex()  # its round and its id
        if name in entry.names:
            return
        counts = entry.counted
        if round in entry.reports:
            counts = counted_again(plan, len(entry.names))
            allow(self.with_plan(plan, counts), self.cap if cap is None else cap)
        entry.counted, entry.reports[round] = counts, report
        entry.names.append(name)
        self.plans[plan.id] = entry
        self.save()

    def postpone(self, plan: Plan, round: int, report: bytes, token: str = "") -> None:
        """Lets the report of a round wait to be sent, with what lets it in and no other report."""
        with self.locked():
            if self.sent(plan, round) != report:
                raise InvalidParameter(
                    "only a report that was made with this ledger can wait in it, of a round the newest; "
                    "make it with Client.open(plan_text, ledger=ledger).report(answers)"
                )
            entry = self.plans[plan.id]
            if token and token in [each for other, each in entry.tokens.items() if other != round]:
                raise InvalidParameter("another report has this ticket or invitation, which lets in one")
            entry.lost.pop(round, None)
            entry.waiting[round], entry.tokens[round] = today(), token
            self.drop()
            self.save()

    def settle(self, plan: Plan, outcomes: dict[int, str]) -> None:
        """Lets reports wait no more, by round: each has arrived, or is lost for a reason."""
        with self.locked():
            entry = self.plans[plan.id]
            settled = [round for round in outcomes if round in entry.waiting]
            for round in settled:
                entry.settle(round, outcomes[round])
            if settled:
                self.save()

    def list_waiting(self, plan: Plan) -> list[Waiting]:
        """The reports of a plan that wait; what is too old or too many, of any plan, is dropped first."""
        with self.locked():
            if self.drop():
                self.save()
            entry = self.plans.get(plan.id)
            if entry is None:
                return []
            return [Waiting(each, entry.reports[each], entry.tokens.get(each, "")) for each in entry.waiting]

    def drop(self) -> bool:
        """Lets reports wait no more that are too old, or the oldest of too many."""
        waiting = sorted(
            (day, place, round)
            for place, entry in enumerate(self.plans.values())
            for round, day in entry.waiting.items()
        )
        old = [each for each in waiting if today() - each[0] > LONGEST_WAIT]
        many = waiting[len(old) :][: max(0, len(waiting) - len(old) - MOST_WAITING)]
        entries = list(self.plans.values())
        for reason, dropped in (("age", old), ("number", many)):
            for _, place, round in dropped:
                entries[place].settle(round, reason)
        return bool(old or many)

    def lost(self, plan: Plan) -> list[str]:
        """A sentence for each round of a plan whose report waited here and was dropped."""
        entry = self.plans.get(plan.id)
        lost = {} if entry is None else entry.lost
        return [f"Round {round} is lost: {WHY_LOST[reason]}." for round, reason in sorted(lost.items())]

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keeps other programs from the file, and reads what they wrote before."""
        if self.path is None:
            yield
            return
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        handle = os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            lock(handle)
            if os.path.exists(self.path) or os.path.exists(self.marker):
                self.load()
            yield
        finally:
            os.close(handle)

    def load(self) -> None:
        """Reads the file, and refuses one that was edited or copied."""
        if not os.path.exists(str(self.path)):
            if self.take_over:
                return
            raise CopiedLedger(
                f"{self.path} is gone, but its marker is there: its reports would not be counted"
            )
        with open(str(self.path), encoding="utf-8") as file:
            text = file.read()
        try:
            tree = json.loads(text)
            self.restore(tree)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise InvalidParameter(
                f"{self.path} is not a ledger, or was edited; it is left as it is"
            ) from None
        if not self.take_over and not self.is_marked():
            raise CopiedLedger(
                f"{self.path} is a copy, or older than its marker; take_over=True goes on with it"
            )

    def restore(self, tree: Json) -> None:
        """Takes over what the file says."""
        if tree["version"] != 1 or set(tree) != {"version", "secret", "cap", "written", "plans"}:
            raise ValueError("another form of ledger")
        plans = {}
        for name, entry in tree["plans"].items():
            counts, names = entry["counted"], [str(bytes.fromhex(report).hex()) for report in entry["names"]]
            if counts is not None and (type(counts) is not int or counts < 0):
                raise ValueError("a loss below 0")
            reports = {int(round): bytes.fromhex(report) for round, report in entry["reports"].items()}
            chain, before = entry.get("chain"), list(map(str, entry.get("before", [])))
            plans[str(name)] = Entry(counts, reports, names, before, None if chain is None else int(chain))
            plans[str(name)].waiting = {int(each): int(day) for each, day in entry.get("waiting", {}).items()}
            for field in ("tokens", "lost"):
                texts = {int(each): str(text) for each, text in entry.get(field, {}).items()}
                setattr(plans[str(name)], field, texts)
        person_cap = None if tree["cap"] is None else check_cap(float(tree["cap"]))
        secret = bytes.fromhex(tree["secret"])
        if len(secret) < 16 or type(tree["written"]) is not int:
            raise ValueError("a secret that is too short")
        self.secret, self.person_cap, self.plans, self.written = secret, person_cap, plans, tree["written"]

    def save(self) -> None:
        """Writes the file and its marker, so that no half of it is ever there."""
        if self.path is None:
            return
        self.written += 1
        plans = {
            name: {
                "counted": entry.counted,
                "names": entry.names,
                "reports": {str(round): report.hex() for round, report in entry.reports.items()},
                "waiting": entry.waiting,
                "tokens": entry.tokens,
                "lost": entry.lost,
                **({"before": entry.before, "chain": entry.chain} if entry.before else {}),
            }
            for name, entry in self.plans.items()
        }
        cap = None if self.person_cap is None else repr(self.person_cap)
        tree = {
            "version": 1,
            "secret": self.secret.hex(),
            "cap": cap,
            "written": self.written,
            "plans": plans,
        }
        replace(self.path, json.dumps(tree, sort_keys=True))
        self.write_marker()
        self.take_over = False

    def is_marked(self) -> bool:
        """Whether the marker is the one that was written here, and says of no later ledger. A program that
        stopped between the two files leaves a ledger that is newer."""
        try:
            with open(self.marker, encoding="utf-8") as file:
                device, number, written = json.load(file)
                state = os.fstat(file.fileno())
        except (OSError, ValueError, TypeError):
            return False
        return bool((device, number) == (state.st_dev, state.st_ino) and self.written >= written)

    def write_marker(self) -> None:
        """Writes into the marker which file it is itself, so that a copy is known, and how often the ledger
        was written."""
        handle = os.open(self.marker, os.O_WRONLY | os.O_CREAT, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            state = os.fstat(file.fileno())
            file.write(json.dumps([state.st_dev, state.st_ino, self.written]).ljust(80))
            file.truncate()
            file.flush()
            os.fsync(file.fileno())


def lock(handle: int) -> None:
    """Waits until no other program has the file open for writing."""
    try:
        import fcntl
    except ImportError:  # Windows, where a second program finds the marker changed
        return
    fcntl.flock(handle, fcntl.LOCK_EX)


def replace(path: str, text: str) -> None:
    """Writes a file that only its owner reads, in one step."""
    draft = f"{path}.{secrets.token_hex(4)}"
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except BaseException:
        if os.path.exists(draft):
            os.remove(draft)
        raise
