"""`deniable rounds`: shows what is open, opens a round, closes one, and makes a schedule of rounds."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, tzinfo
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, final

import click

from deniable.commands.shared import console, reading
from deniable.commands.shared.options import (
    FILE,
    ROUND,
    Type,
    argument,
    as_request,
    option,
    taken,
    whole_from,
    zone_option,
)
from deniable.commands.shared.stores import (
    find_actor,
    find_rounds,
    open_store_of,
    store_option,
    suggest_extra,
)
from deniable.errors import InvalidParameter
from deniable.formatting import format_members, format_time

if TYPE_CHECKING:
    from deniable.results.change import Participation
    from deniable.store.schedule import Every, Times
    from deniable.study import Plan


@final
class Time(Type):
    """A date and time as people write them."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        try:
            read = datetime.fromisoformat(str(value).strip())
            read.timestamp()
        except (ValueError, OverflowError, OSError):
            raise click.BadParameter(
                f"{value!r} is not a time, such as 2027-03-01T08:00 or 2027-03-01T08:00+01:00"
            ) from None
        return read


TIME = Time()
_ANSWERED = {"both": "answered before", "dropped": "dropped out", "joined": "joined"}
"""How many people answered a round and the one before it, or one of them."""


@final
@dataclass(frozen=True)
class RoundsRequest:
    """A plan, its store, and the rounds to open, close or schedule."""

    plan: Path = argument("plan", type=FILE)
    store: str = taken(store_option)
    opens: int | None = option(
        "--open", "opens", type=ROUND, help="Open this round: now, or as --from and --until say."
    )
    start: datetime | None = option(
        "--from",
        "start",
        type=TIME,
        help="When the round, or the first round of a schedule, opens, such as 2027-03-01T08:00.",
    )
    end: datetime | None = option("--until", "end", type=TIME, help="When the round closes.")
    closes: int | None = option("--close", "closes", type=ROUND, help="Close this round now.")
    period: Every | None = taken(
        click.option("--daily", "period", flag_value="day", help="Make a schedule: a round every day."),
        click.option("--weekly", "period", flag_value="week", help="Make a schedule: a round every week."),
        click.option("--monthly", "period", flag_value="month", help="Make a schedule: a round every month."),
    )
    count: int | None = option(
        "--count",
        type=whole_from(1, 10**4),
        help="The number of rounds of the schedule.  [default: all that the plan has left]",
    )
    open_for: str | None = option(
        "--open-for",
        metavar="TIME",
        help="How long each round is open, such as 3d, 12h or 2w.  [default: until the next one opens]",
    )
    zone: tzinfo | None = taken(zone_option("The time zone of all times"))
    dry_run: bool = option("--dry-run", is_flag=True, help="Show the schedule, and store nothing.")
    as_json: bool = taken(console.as_json)


@click.command("rounds")
@as_request(RoundsRequest)
def show_rounds(request: RoundsRequest) -> None:
    """Show, open, close and schedule rounds.

    A running collector on the same store follows at once. A schedule, such as --weekly --from
    2027-03-01T08:00 --count 10, opens rounds at the same time of day, also where clocks change in between.
    Its rounds come after those that the store has.
    """
    if request.period is None and (
        request.count is not None or request.open_for is not None or request.dry_run
    ):
        raise InvalidParameter(
            "--count, --open-for and --dry-run are for a schedule; add --daily, --weekly or --monthly"
        )
    read = reading.read_plan(request.plan)
    if request.period is not None:
        if (request.opens, request.end, request.closes) != (None, None, None) or request.start is None:
            raise InvalidParameter(
                "a schedule takes --from and names no round: leave out --open, --close and --until"
            )
        rounds = _schedule(read, request.start, request.period, request)
        _print_rounds(read, rounds, request.zone, request.as_json, planned=request.dry_run)
        return
    if request.opens is not None and request.opens == request.closes:
        raise InvalidParameter("a round is opened or closed, not both")
    if request.opens is None and (request.start, request.end) != (None, None):
        raise InvalidParameter("--from and --until say when a round is open; name it with --open")
    with suggest_extra():
        from deniable.results.linked import count_participation
        from deniable.store.schedule import Times, no_round

    if request.opens is not None and request.opens > (read.document.rounds or 1):
        raise no_round(read.document, request.opens)
    now = time.time()
    # a round that is to be closed is in a store that is there
    create = request.opens is not None and request.closes is None
    with open_store_of(request.store, read, invited=None, create=create) as opened:
        before = {stored.number: stored for stored in opened.rounds(read.id)}
        changed = []
        if request.closes is not None:
            changed += _close_round(before, request.closes, now)
        if request.opens is not None:
            if (request.start, request.end) == (None, None):
                changed += _open_round(before.get(request.opens), request.opens, now)
            else:
                ends = (_seconds(moment, request.zone) for moment in (request.start, request.end))
                changed.append(Times(request.opens, *ends))
        if changed:
            opened.set_rounds(read.id, changed, find_actor())
        rounds = opened.rounds(read.id)
        answered = count_participation(opened, read.id) if read.document.linked else {}
    if request.opens is not None:
        _warn_of_open_rounds(
            [stored.number for stored in rounds if stored.is_open(now)], request.opens, request.plan
        )
    shown = {later: (since, counts) for (since, later), counts in answered.items()}
    _print_rounds(read, rounds, request.zone, request.as_json, answered=shown)


def _warn_of_open_rounds(numbers: Sequence[int], opened: int, plan: Path) -> None:
    """A round stays open until it is closed, and its reports are counted there."""
    others = [number for number in numbers if number != opened]
    if opened in numbers and others:
        stay = "is open, too, and still takes" if len(others) == 1 else "are open, too, and still take"
        console.warn(
            f"{format_members('round', others)} {stay} reports; to close one: "
            f"{console.write_command('rounds', plan, '--close', others[0])}"
        )


def _schedule(plan: Plan, start: datetime, period: Every, request: RoundsRequest) -> Sequence[Times]:
    """Makes a schedule after the rounds that are there, and stores it unless it is only to be shown."""
    with suggest_extra():
        from deniable.store.schedule import Schedule, read_length, refuse_schedule

    length = None if request.open_for is None else read_length(request.open_for)
    schedule = Schedule(start, period, length, request.zone)

    def planned(known: Sequence[Times]) -> Sequence[Times]:
        first = max((times.number for times in known), default=0) + 1
        upcoming = schedule.times(
            first, max(1, (plan.document.rounds or 1) - first + 1) if request.count is None else request.count
        )
        refuse_schedule(plan.document, upcoming, known, time.time())
        return upcoming

    known: Sequence[Times] = find_rounds(plan, request.store)
    upcoming = planned(known)  # before a store is made for nothing
    if request.dry_run:
        return [*known, *upcoming]
    with open_store_of(request.store, plan, invited=None) as opened:
        opened.set_rounds(plan.id, planned(opened.rounds(plan.id)), find_actor())
        return opened.rounds(plan.id)


def _seconds(moment: datetime | None, zone: tzinfo | None) -> float | None:
    """Seconds since 1970; a time without a zone is in this one."""
    if moment is None:
        return None
    return (moment.replace(tzinfo=zone) if moment.tzinfo is None else moment).timestamp()


def _print_rounds(
    plan: Plan,
    rounds: Sequence[Times],
    zone: tzinfo | None,
    as_json: bool,
    planned: bool = False,
    answered: Mapping[int, tuple[int, Participation]] = MappingProxyType({}),
) -> None:
    """Prints the rounds; of a linked plan, how many people answered each and the one before it, too."""
    from deniable.store.schedule import Round

    now = time.time()
    facts: list[dict[str, Any]] = [
        {
            "number": times.number,
            "open": times.is_open(now),
            "opens": None if times.opens is None else format_time(times.opens),
            "closes": None if times.closes is None else format_time(times.closes),
            "reports": times.counted if isinstance(times, Round) else 0,
        }
        for times in rounds
    ]
    for fact in facts:
        if fact["number"] in answered:
            since, counts = answered[fact["number"]]
            fact |= {"since": since} | asdict(counts)
    if as_json:
        console.print_json(facts)
        return
    if not facts:
        click.echo("no round was opened yet; deniable serve opens the first, or --open one now")
        return
    shown = _ANSWERED if answered else {}
    rows = [
        [
            str(fact["number"]),
            _describe_state(times, now),
            _format_local(times.opens, zone),
            _format_local(times.closes, zone),
            f"{fact['reports']:,}",
            *(f"{fact[name]:,}" if name in fact else "" for name in shown),
        ]
        for fact, times in zip(facts, rounds, strict=True)
    ]
    title = f"rounds of plan {plan.id[:12]}{', of which nothing was stored' if planned else ''}"
    headers = ["round", "open", "from", "until", "reports", *shown.values()]
    console.print_table(title, headers, rows)
    if shown:
        click.echo("compared with the round before that has reports, person by person")


def _format_local(seconds: float | None, zone: tzinfo | None) -> str:
    """A moment as people of the time zone read it; in UTC where none was named."""
    if seconds is None:
        return ""
    if zone is None:
        return format_time(seconds)
    return f"{datetime.fromtimestamp(seconds, zone):%a %Y-%m-%d %H:%M %Z}"


def _close_round(before: Mapping[int, Times], number: int, now: float) -> list[Times]:
    """A round as it is when it closes now; nothing, where it is closed."""
    from deniable.store.schedule import Times

    if number not in before:
        opened = (
            f"only {format_members('round', before)} {'was' if len(before) == 1 else 'were'}"
            if before
            else "none was"
        )
        raise InvalidParameter(f"round {number} was never opened, so it cannot be closed; {opened}")
    start, end = before[number].opens, before[number].closes
    if end is not None and end <= now:
        console.note(f"round {number} is closed already, since {format_time(end)}; it stays as it is")
        return []
    return [Times(number, None if start is not None and start >= now else start, now)]


def _open_round(before: Times | None, number: int, now: float) -> list[Times]:
    """A round as it is when it opens now; nothing, where it is open without an end, and one with an end loses
    it.
    """
    from deniable.store.schedule import Times

    if before is not None and before.closes is None and before.is_open(now):
        console.note(f"round {number} is open already; it stays as it is")
        return []
    # no time is stored for "now": a clock that is ahead would refuse reports until others agree with it
    return [Times(number, before.opens if before is not None and before.is_open(now) else None, None)]


def _describe_state(round_: Times, now: float) -> str:
    """Whether a round is open, in a word of the table."""
    if round_.is_open(now):
        return "yes"
    return "not yet" if round_.opens is not None and round_.opens > now else "no"
