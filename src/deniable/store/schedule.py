"""Says when the rounds of a plan are open, and makes schedules of them by the clocks of the people's zone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Literal, final

from deniable.errors import InvalidParameter
from deniable.formatting import format_count, format_members, format_time
from deniable.plan.document import PlanDocument

Every = Literal["day", "week", "month"]

_LENGTH = re.compile(r"([0-9]{1,5})([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_SAFE_DAY = 28  # the last day that every month has


@final
@dataclass(frozen=True)
class Registered:
    """A plan that is collected."""

    document: PlanDocument
    invited: bool
    """Whether every report takes an invitation."""


@dataclass(frozen=True)
class Times:
    """When a round is open: from `opens` until before `closes` (seconds since 1970; None: no limit)."""

    number: int
    opens: float | None
    closes: float | None

    def is_open(self, now: float) -> bool:
        return (self.opens is None or now >= self.opens) and (self.closes is None or now < self.closes)


@final
@dataclass(frozen=True)
class Round(Times):
    """A round, and how many reports it has."""

    counted: int
    scrubbed: int
    """How many of the counted reports have no body any more."""


@final
@dataclass(frozen=True)
class Offer:
    """What is public about a plan: whether it takes invitations, and its rounds in order."""

    invited: bool
    rounds: list[Times]


def do_overlap(times: Times, other: Times) -> bool:
    """Whether two rounds are open at the same time."""

    def is_before(first: Times, second: Times) -> bool:
        return first.closes is not None and second.opens is not None and first.closes <= second.opens

    return not (is_before(times, other) or is_before(other, times))


def list_opened(rounds: Sequence[Times], now: float) -> list[Times]:
    """The rounds of a plan that have opened by now, in order.

    A round that was opened by hand has no time at which it opened: that is taken to be when the last round
    before it closed.

    >>> list_opened([Times(1, None, 10.0), Times(2, None, None), Times(3, 99.0, None)], now=50.0)
    [Times(number=1, opens=None, closes=10.0), Times(number=2, opens=10.0, closes=None)]
    """
    opened: list[Times] = []
    for times in rounds:
        opens = times.opens
        if opens is None:
            end = now if times.closes is None else min(now, times.closes)
            closings = [before.closes for before in opened if before.closes is not None]
            opens = max((closing for closing in closings if closing < end), default=None)
        if opens is None or opens <= now:
            opened.append(Times(times.number, opens, times.closes))
    return opened


def no_round(document: PlanDocument, number: int) -> InvalidParameter:
    """The message for a missing round: it was not opened yet, or the plan has no such round."""
    rounds = document.rounds or 1
    if 1 <= number <= rounds:
        return InvalidParameter(
            f"round {number} of plan {document.id[:12]} was not opened yet; deniable rounds opens it"
        )
    has = f"has rounds 1 to {rounds}" if rounds > 1 else "asks once, in round 1"
    return InvalidParameter(f"plan {document.id[:12]} has no round {number}: it {has}")


@final
@dataclass(frozen=True)
class Schedule:
    """Rounds that open once every day, week or month at the same time of day."""

    start: datetime
    """When the first round opens: local time without a zone, or in a zone of its own."""
    period: Every
    length: timedelta | None = None
    """How long each round is open; until the next opens if this is None."""
    zone: tzinfo | None = None
    """The people's time zone; this machine's if this is None."""

    def times(self, first: int, count: int) -> list[Times]:
        if self.period == "month" and self._local.day > _SAFE_DAY:
            raise InvalidParameter(
                f"not every month has a day {self._local.day}; begin on day {_SAFE_DAY} of a month or earlier"
            )
        opens = [self._seconds(self._step(position)) for position in range(count + 1)]
        if self.length is None:
            closes = opens[1:]
        else:
            closes = [self._close(self._step(position), self.length) for position in range(count)]
        for number, (end, following) in enumerate(zip(closes, opens[1:], strict=True), first):
            if end > following:
                raise InvalidParameter(
                    f"round {number} would still be open when the next one opens: a round every "
                    f"{self.period} is open for a {self.period} at most"
                )
        return [
            Times(first + i, start, end) for i, (start, end) in enumerate(zip(opens, closes, strict=False))
        ]

    @property
    def _local(self) -> datetime:
        """The start on the people's clock, without its zone."""
        if self.start.tzinfo is None:
            return self.start
        return self.start.astimezone(self.zone).replace(tzinfo=None)

    def _step(self, position: int) -> datetime:
        local = self._local
        try:
            if self.period == "month":
                years, month = divmod(local.month - 1 + position, 12)
                return local.replace(year=local.year + years, month=month + 1)
            return local + timedelta(days=position * (7 if self.period == "week" else 1))
        except (ValueError, OverflowError):
            raise InvalidParameter("the schedule reaches beyond the year 9999; begin earlier") from None

    def _close(self, opens: datetime, length: timedelta) -> float:
        """Whole days end at the same time of day, also where clocks change; hours are hours."""
        days = timedelta(days=length.days)
        return self._seconds(opens + days) + (length - days).total_seconds()

    def _seconds(self, local: datetime) -> float:
        """A moment on the clock, in seconds since 1970; refused where clocks are put forward past it."""
        seconds = local.replace(tzinfo=self.zone).timestamp()
        if datetime.fromtimestamp(seconds, self.zone).replace(tzinfo=None) != local:
            raise InvalidParameter(
                f"{local:%Y-%m-%d %H:%M} does not exist: clocks are put forward past it; choose another time "
                "of day"
            )
        return seconds


def read_length(text: str) -> timedelta:
    """How long a round is open, as people write it.

    >>> read_length("3d"), read_length("36h")
    (datetime.timedelta(days=3), datetime.timedelta(days=1, seconds=43200))
    """
    matched = _LENGTH.fullmatch(text.strip())
    if matched is None or int(matched[1]) == 0:
        raise InvalidParameter(f"{text!r} is no length of time, such as 3d, 12h, 2w or 90m")
    return timedelta(**{_UNITS[matched[2]]: int(matched[1])})


def refuse_schedule(
    document: PlanDocument, planned: Sequence[Times], known: Iterable[Times], now: float
) -> None:
    """Refuse rounds that the plan does not state, that are in the past, or that overlap with known ones."""
    stated, last = document.rounds or 1, planned[-1].number
    if last > stated:
        numbers = f"{planned[0].number}" if len(planned) == 1 else f"{planned[0].number} to {last}"
        raise InvalidParameter(
            f"the plan states its losses for {format_count(stated, 'round')}, and this schedule has rounds "
            f"{numbers}; make fewer, or a plan with more rounds"
        )
    start, end = planned[0].opens, planned[-1].closes
    assert start is not None
    assert end is not None
    if start < now:
        raise InvalidParameter(f"the schedule begins in the past, {format_time(start)}; give a later --from")
    others = [
        times.number
        for times in known
        if any(do_overlap(times, new) for new in planned if new.number != times.number)
    ]
    if others:
        which, are = format_members("round", others), "is" if len(others) == 1 else "are"
        raise InvalidParameter(
            f"{which} of the store {are} open at the same time as this schedule; begin later, or close "
            f"{'it' if len(others) == 1 else 'them'} with --close"
        )
