"""Schedules of rounds: by local clocks, stored whole or not at all, and never more than a plan states."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

import deniable as dn
from deniable.errors import InvalidParameter
from deniable.store.schedule import Every, Schedule, Times, read_length, refuse_schedule
from deniable.store.store import open_store
from tests.running import Run

BERLIN = ZoneInfo("Europe/Berlin")
PLAN = dn.Study(
    {"How do you feel?": ["well", "badly"]}, epsilon_first=1.0, epsilon_forever=2.0, rounds=10, title="Weeks"
).plan(people=1000)
LATER = f"{datetime.now(UTC).year + 1}-03-01T08:00"


@pytest.fixture
def plan_file(run: Run) -> str:
    PLAN.write(Path("plan.json"))
    return "plan.json"


def local(seconds: float | None) -> str:
    assert seconds is not None
    return f"{datetime.fromtimestamp(seconds, BERLIN):%m-%d %H:%M %Z}"


@pytest.mark.parametrize(
    ("every", "opens", "closes"),
    [
        ("day", ["03-27 08:00 CET", "03-28 08:00 CEST", "03-29 08:00 CEST"], "03-27 20:00 CET"),
        ("week", ["03-27 08:00 CET", "04-03 08:00 CEST", "04-10 08:00 CEST"], "03-27 20:00 CET"),
        ("month", ["03-27 08:00 CET", "04-27 08:00 CEST", "05-27 08:00 CEST"], "03-27 20:00 CET"),
    ],
)
def test_rounds_open_at_the_same_time_of_day(every: Every, opens: list[str], closes: str) -> None:
    """Also where clocks are put forward, on March 28, 2027."""
    found = Schedule(datetime(2027, 3, 27, 8), every, timedelta(hours=12), BERLIN).times(4, 3)
    assert [one.number for one in found] == [4, 5, 6]
    assert [local(one.opens) for one in found] == opens
    assert local(found[0].closes) == closes
    days = Schedule(datetime(2027, 3, 27, 8), "week", timedelta(days=3), BERLIN).times(1, 1)
    assert local(days[0].closes) == "03-30 08:00 CEST"
    until_next = Schedule(datetime(2027, 3, 27, 7, tzinfo=UTC), every, None, BERLIN).times(4, 3)
    assert [local(one.opens) for one in until_next] == opens
    assert [one.closes for one in until_next][:2] == [one.opens for one in until_next][1:]


@pytest.mark.parametrize(
    ("start", "every", "length", "said"),
    [
        (datetime(2027, 3, 1), "day", timedelta(days=2), "a round every day is open for a day at most"),
        (datetime(2027, 1, 31), "month", None, "not every month has a day 31; begin on day 28"),
        (datetime(2027, 3, 27, 2, 30), "day", None, "2027-03-28 02:30 does not exist"),
        (datetime(9999, 12, 31), "week", None, "beyond the year 9999"),
    ],
)
def test_schedules_that_cannot_be(start: datetime, every: Every, length: timedelta | None, said: str) -> None:
    with pytest.raises(InvalidParameter, match=said):
        Schedule(start, every, length, BERLIN).times(1, 3)


def test_what_a_schedule_must_not_do() -> None:
    planned = [Times(2, 100.0, 200.0), Times(3, 300.0, 400.0)]
    for beside in ([], [Times(1, None, 100.0)], [Times(1, 400.0, None)], [Times(1, 200.0, 300.0)]):
        refuse_schedule(PLAN.document, planned, beside, 0.0)
    for other in (Times(1, None, None), Times(1, 0.0, 101.0), Times(1, 399.0, None), Times(1, 150.0, 160.0)):
        with pytest.raises(InvalidParameter, match="round 1 of the store is open at the same time"):
            refuse_schedule(PLAN.document, planned, [other], 0.0)
    with pytest.raises(InvalidParameter, match="begins in the past"):
        refuse_schedule(PLAN.document, planned, [], 101.0)
    with pytest.raises(
        InvalidParameter, match="states its losses for 10 rounds, and this schedule has rounds 9 to"
    ):
        refuse_schedule(PLAN.document, [Times(9, 1.0, 2.0), Times(11, 3.0, 4.0)], [], 0.0)
    for text in ("3", "d", "0d", "3y", "-1d", "1.5h"):
        with pytest.raises(InvalidParameter, match="no length of time, such as 3d"):
            read_length(text)


def test_a_schedule_is_shown_first_and_stored_whole(run: Run, plan_file: str) -> None:
    command = ["rounds", plan_file, "--weekly", "--from", LATER, "--time-zone", "Europe/Berlin"]
    shown = run(*command, "--count", "10", "--open-for", "3d", "--dry-run")
    assert (shown.code, "of which nothing was stored" in shown.out) == (0, True)
    assert shown.out.count("08:00 CE") == 20
    assert os.listdir() == [plan_file], "no store was made"
    refused = run(*command, "--count", "11")
    assert (refused.code, os.listdir()) == (2, [plan_file])
    made = run(*command, "--count", "4", "--open-for", "3d")
    assert made.out.count("not yet") == 4
    store = open_store("sqlite:///reports.db")
    before = store.rounds(PLAN.id)
    with pytest.raises(InvalidParameter):
        store.set_rounds(PLAN.id, [Times(5, 1.0, 2.0), Times(11, 3.0, 4.0)])
    assert store.rounds(PLAN.id) == before, "all or none"
    store.close()
    again = run(*command, "--count", "4")
    assert (again.code, "of the store are open at the same time" in again.err) == (2, True)
    rest = ["rounds", plan_file, "--monthly", "--from", LATER.replace("-03-", "-06-"), "--json"]
    numbers = [(one["number"], one["open"]) for one in json.loads(run(*rest).out)]
    assert numbers == [(number, False) for number in range(1, 11)], "all that the plan has left"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--weekly", "a schedule takes --from"),
        (f"--weekly --from {LATER} --open 2", "leave out --open, --close and --until"),
        ("--count 3", "are for a schedule; add --daily, --weekly or --monthly"),
        (f"--weekly --from {LATER} --time-zone Mars/Base", "not a time zone that this machine knows"),
        ("--daily --from 2026-01-01", "begins in the past"),
    ],
)
def test_options_that_make_no_schedule(options: str, said: str, run: Run, plan_file: str) -> None:
    refused = run("rounds", plan_file, *options.split())
    assert (refused.code, said in refused.err, os.listdir()) == (2, True, [plan_file])
