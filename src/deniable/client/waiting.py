"""Says which reports wait on a device that is offline, for how long, and what becomes of them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, final

from deniable.formatting import Printed, format_count

MOST_WAITING = 32
"""Reports that wait in one ledger: beyond that the oldest is dropped."""
LONGEST_WAIT = 30
"""Days that a report waits before it is dropped."""
_DAY = 86_400

Loss = Literal["", "age", "number", "closed"]
SETTLED: dict[str, Loss] = {"counted": "", "counted before": "", "closed": "closed"}
"""What a collector says of a report that waits no more, and why it is lost, where it is."""
_WHY = {
    "age": f"its report waited for more than {LONGEST_WAIT} days",
    "number": f"more than {MOST_WAITING} reports waited, and its report was the oldest",
    "closed": "the collector takes no more reports of it",
}


class Waiting(NamedTuple):
    """A report that waits on a device."""

    report: bytes
    token: str
    """The invitation or the ticket that is sent with it, as in a header; empty where there is none."""


@final
@dataclass(frozen=True)
class Delivery(Printed):
    """What became of the reports of a plan that waited on a device."""

    arrived: int
    waiting: int
    lost: tuple[str, ...]
    """A sentence for each round that was lost."""

    def __str__(self) -> str:
        counts = f"{format_count(self.arrived, 'report')} arrived, {self.waiting:,} still waiting."
        return " ".join([counts, *self.lost])


def today() -> int:
    """The day, counted from 1970."""
    return int(time.time() // _DAY)


def find_dropped(since: Sequence[int | None]) -> dict[int, Loss]:
    """Which reports wait no longer, by their places: those that are too old, and the oldest of too many.

    `since` has the day from which on each waits, None where it does not.
    """
    ages = {i: today() - day for i, day in enumerate(since) if day is not None}
    old: dict[int, Loss] = {i: "age" for i, age in ages.items() if age > LONGEST_WAIT}
    rest = sorted((i for i in ages if i not in old), key=lambda i: (-ages[i], i))
    return old | dict.fromkeys(rest[: max(0, len(rest) - MOST_WAITING)], "number")


def explain_lost(number: int, title: str, reason: Loss) -> str:
    """A sentence on a round that is lost."""
    of = f" of {title!r}" if title else ""
    return f"Round {number}{of} is lost: {_WHY[reason]}."
