"""`deniable rounds`: shows what is open, opens a round, closes one."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import click

from deniable.commands.shared import console, reading
from deniable.commands.shared.options import FILE, ROUND, Type
from deniable.commands.shared.stores import open_store_of, store_option, suggest_extra
from deniable.errors import InvalidParameter
from deniable.formatting import format_members, format_time

if TYPE_CHECKING:
    from deniable.collect.offers import Times
    from deniable.collect.store import Store


@final
class Time(Type):
    """A date and time as people write them; the time zone is this machine's unless it is given."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            return datetime.fromisoformat(str(value).strip()).timestamp()
        except (ValueError, OverflowError, OSError):
            raise click.BadParameter(
                f"{value!r} is not a time, such as 2027-03-01T08:00 or 2027-03-01T08:00+01:00"
            ) from None


TIME = Time()


@click.command("rounds")
@click.argument("plan", type=FILE)
@store_option
@click.option("--open", "opens", type=ROUND, help="Open this round: now, or as --from and --until say.")
@click.option(
    "--from", "start", type=TIME, help="When the round opens, such as 2027-03-01T08:00 (local time)."
)
@click.option("--until", "end", type=TIME, help="When the round closes.")
@click.option("--close", "closes", type=ROUND, help="Close this round now.")
@console.as_json
def show_rounds(
    plan: Path,
    store: str,
    opens: int | None,
    start: float | None,
    end: float | None,
    closes: int | None,
    as_json: bool,
) -> None:
    """Show, open and close rounds.

    A running collector on the same store follows at once.
    """
    if opens is not None and opens == closes:
        raise InvalidParameter("a round is opened or closed, not both")
    if opens is None and (start, end) != (None, None):
        raise InvalidParameter("--from and --until say when a round is open; name it with --open")
    read = reading.read_plan(plan)
    now = time.time()
    with suggest_extra(), open_store_of(store, read, invited=None, create=opens is not None) as opened:
        before = {each.number: each for each in opened.rounds(read.id)}
        if closes is not None:
            _close_round(opened, read.id, before, closes, now)
        if opens is not None:
            if (start, end) == (None, None):
                _open_round(opened, read.id, before.get(opens), opens, now)
            else:
                opened.set_round(read.id, opens, start, end)
        rounds = opened.rounds(read.id)
    found: list[dict[str, Any]] = [
        {
            "number": each.number,
            "open": each.is_open(now),
            "opens": None if each.opens is None else format_time(each.opens),
            "closes": None if each.closes is None else format_time(each.closes),
            "reports": each.counted,
        }
        for each in rounds
    ]
    if as_json:
        console.print_json(found)
        return
    if not found:
        click.echo("no round was opened yet; deniable serve opens the first, or --open one now")
        return
    rows = [
        [
            str(one["number"]),
            _describe_state(each, now),
            one["opens"] or "",
            one["closes"] or "",
            f"{one['reports']:,}",
        ]
        for one, each in zip(found, rounds, strict=True)
    ]
    console.print_table(f"rounds of plan {read.id[:12]}", ["round", "open", "from", "until", "reports"], rows)


def _close_round(store: Store, plan_id: str, before: Mapping[int, Times], number: int, now: float) -> None:
    """Close a round now; one that is closed stays as it is."""
    if number not in before:
        opened = (
            f"only {format_members('round', before)} {'was' if len(before) == 1 else 'were'}"
            if before
            else "none was"
        )
        raise InvalidParameter(f"round {number} was never opened, so it cannot be closed; {opened}")
    start, end = before[number].opens, before[number].closes
    if end is not None and end <= now:
        click.echo(f"round {number} is closed already, since {format_time(end)}; it stays as it is", err=True)
    else:
        store.set_round(plan_id, number, None if start is not None and start >= now else start, now)


def _open_round(store: Store, plan_id: str, before: Times | None, number: int, now: float) -> None:
    """Open a round now; one that is open without an end stays as it is, and one with an end loses it."""
    if before is not None and before.closes is None and before.is_open(now):
        click.echo(f"round {number} is open already; it stays as it is", err=True)
    else:
        # no time is stored for "now": a clock that is ahead would refuse reports until others agree with it
        start = before.opens if before is not None and before.is_open(now) else None
        store.set_round(plan_id, number, start, None)


def _describe_state(round_: Times, now: float) -> str:
    """Whether a round is open, in a word of the table."""
    if round_.is_open(now):
        return "yes"
    return "not yet" if round_.opens is not None and round_.opens > now else "no"
