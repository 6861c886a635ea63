"""Series of real reports by day: their numbers, drawings and errors, and the job that watches them."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.errors import DeniableError, FileMissing
from deniable.results.windows import Windows
from deniable.series.plot import find_ends
from deniable.series.webhook import post
from tests.running import Outcome, Run
from tests.series.lake import DAYS, FIRST, MOVED, PLAN


def watch(run: Run, lake: Path, day: object, *options: str) -> Outcome:
    return run("watch", f"{lake}/plan.json", "--from", f"{lake}/tallies.json", "--day", str(day), *options)


@contextmanager
def listening(status: int, wait: float = 0.0) -> Iterator[tuple[str, list[Any]]]:
    """A real server on a port of this machine, which keeps what it is sent."""
    received: list[Any] = []
    done = threading.Event()

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            done.wait(wait)
            self.send_response(status)
            self.send_header("location", "http://127.0.0.1:9/elsewhere")
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/hook", received
    finally:
        done.set()
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_series_of_files_is_that_of_their_kept_tallies(daily_lake: Path) -> None:
    files = dn.Series.read(daily_lake / "pl*.json", f"{daily_lake}/lake/**/*.parquet", by="day")
    kept = dn.Series.read(PLAN, daily_lake / "tallies.json")
    assert files.frame().equals(kept.frame())
    assert (files.dates[0], len(files.dates)) == (FIRST, DAYS)
    titles = [line.title for line in files.lines]
    assert titles == ["crash: yes", "os: linux", "os: mac", "os: windows", "minutes: mean", "age: mean"]
    assert dict(files.left_out) == {"word": "it has 60 values"}
    day = PLAN.estimate(PLAN.tally(daily_lake / f"lake/day={FIRST}"))
    rows = {row["value"]: row for row in files.rows() if row["day"] == str(FIRST)}
    assert rows["yes"]["number"] == pytest.approx(day["crash"].frequencies[0])
    assert rows["yes"]["low"] == pytest.approx(max(day["crash"].interval().low[0], 0.0))
    means = [row for row in files.rows() if row["day"] == str(FIRST) and row["attribute"] == "age"]
    assert means[0]["number"] == pytest.approx(day.mean("age").value)
    alarms = files.alarms()
    assert {alarm.attribute for alarm in alarms} == {"crash"}
    assert alarms[0].day >= FIRST + timedelta(days=MOVED)
    assert list(alarms.bursts) == [FIRST + timedelta(days=50)]


def test_other_days_and_plans_are_refused_in_words(daily_lake: Path, tmp_path: Path) -> None:
    kept = dn.Series.read(PLAN, daily_lake / "tallies.json")
    with pytest.raises(dn.InvalidParameter, match="did you mean 'crash'"):
        kept.plot("crsh")
    with pytest.raises(dn.InvalidParameter, match="'word' is not followed: it has"):
        kept.plot("word")
    with pytest.raises(FileMissing, match="deniable plan makes one"):
        dn.Series.read(tmp_path / "*.json", daily_lake / "tallies.json")
    for name, plan in (("a", PLAN), ("b", dn.Study({"crash": ["yes", "no"]}, 1.0).plan(100))):
        plan.write(tmp_path / f"{name}.json")
    with pytest.raises(dn.InvalidParameter, match=r"names 2 that do not: .*a\.json"):
        dn.Series.read(tmp_path / "*.json", daily_lake / "tallies.json")
    (tmp_path / "c.json").write_text("{}")
    with pytest.raises(dn.InvalidPlan, match=r"c\.json is refused: "):
        dn.Series.read(tmp_path / "*.json", daily_lake / "tallies.json")
    tallies = PLAN.tally(daily_lake / f"lake/day={FIRST}")
    with pytest.raises(dn.InvalidReport, match="is a column of days, such as 2026-11-17, got 'Tuesday'"):
        dn.Series.of(PLAN.document, Windows(("day",), {"Tuesday": tallies}))
    with pytest.raises(dn.InvalidParameter, match="at most 20,000 days"):
        dn.Series.of(PLAN.document, Windows(("day",), {"1026-01-01": tallies, "2026-01-01": tallies}))
    with pytest.raises(dn.InvalidParameter, match="days, in which one false alarm"):
        kept.alarms(days=0.5)


def test_a_share_that_doubles_is_seen_on_its_axis(daily_lake: Path) -> None:
    series = dn.Series.read(PLAN, daily_lake / "tallies.json")
    [axes] = series.plot("crash").axes
    bottom, top = axes.get_ylim()
    assert bottom == 0.0
    assert 0.3 < top < 0.6
    numbers = np.array([0.95, 0.96, 0.90])
    low, high = find_ends(numbers, numbers - 0.01, numbers + 0.01, is_share=True)
    assert 0.85 < low < 0.9
    assert 0.96 < high < 1.0


def test_watching_tells_a_job_what_moved(daily_lake: Path, run: Run) -> None:
    quiet = watch(run, daily_lake, FIRST + timedelta(days=45), "--metrics", "day.prom")
    assert (quiet.code, quiet.out.count("\n")) == (0, 1)
    assert "0 alarms in 6 series; at most one false alarm in 1,000 days" in quiet.out
    [alarm, *_] = dn.Series.read(PLAN, daily_lake / "tallies.json").alarms()
    with listening(204) as (address, received):
        outcome = watch(run, daily_lake, alarm.day, "--metrics", "day.prom", "--webhook", address, "--json")
        assert outcome.code == 3, outcome.err
        assert received == [json.loads(outcome.out)]
        assert received[0]["alarms"][0]["text"] == str(alarm)
        assert watch(run, daily_lake, FIRST + timedelta(days=45), "--webhook", address).code == 0
        assert len(received) == 1
    text = Path("day.prom").read_text()
    number = r"-?[\d.]+(e-?\d+)?"
    assert all(
        re.fullmatch(rf'# (HELP|TYPE) .*|deniable_\w+\{{(\w+="[^"]*",?)+\}} {number}', line)
        for line in text.splitlines()
    )
    assert re.search(r'deniable_day_alarm\{plan="\w+",attribute="crash",value="yes"\} 1', text)
    assert text.count("} 1\n") == 1 + text.count('deniable_day_burst{plan="' + PLAN.id + '"} 1\n')
    burst = watch(run, daily_lake, FIRST + timedelta(days=50))
    assert (burst.code, "4.0 times the usual reports" in burst.out) == (3, True)


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("2026-11-30",), 1, "there are no reports of 2026-11-30, the day that is watched; the last"),
        (("Monday",), 2, "--day is a day such as 2026-11-17, got 'Monday'"),
        (("2026-10-01", "--alarm", "1.5"), 2, "--alarm is the chance of a false alarm on a day"),
        *(
            (("2026-10-01", "--webhook", address), 2, "a webhook is an address such as https://")
            for address in (
                "ftp://secret",
                "https://me:secret@x",
                "https://x:port/secret",
                "https://x/a secret",
            )
        ),
        (("2026-10-01", "--by", "region"), 2, "'region' is not a column that these tallies are kept by"),
    ],
)
def test_what_cannot_be_watched_is_an_error_in_words(
    daily_lake: Path,
    run: Run,
    arguments: tuple[str, ...],
    code: int,
    text: str,
) -> None:
    outcome = watch(run, daily_lake, *arguments)
    assert (outcome.code, text in outcome.err, "secret" in outcome.err) == (code, True, False), outcome.err


def test_a_job_without_reports_names_what_it_can_watch(
    daily_lake: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DENIABLE_FROM", raising=False)
    outcome = run("watch", f"{daily_lake}/plan.json")
    assert outcome.code == 2
    assert "deniable watch plan.json --from lake" in outcome.err


@pytest.mark.parametrize(
    ("status", "wait", "text"),
    [
        (500, 0.0, "answered 500"),
        (302, 0.0, "answered 302"),
        (99, 0.0, "the address or its answer is not that of HTTP"),
        (204, 30.0, "did not answer within 0.5 seconds"),
    ],
)
def test_a_webhook_that_fails_is_an_error_in_words(status: int, wait: float, text: str) -> None:
    with listening(status, wait) as (address, received):
        with pytest.raises(
            DeniableError, match=rf"the webhook at 127\.0\.0\.1:\d+ did not take the alarms: .*{text}"
        ):
            post(address, {"alarms": []}, seconds=0.5 if wait else 10.0)
        assert received == [{"alarms": []}]
    with pytest.raises(DeniableError, match=r"did not take the alarms: .*refused"):
        post(address, {})
