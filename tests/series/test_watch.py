"""Series of real reports by day: their numbers, drawings and errors, and the job that watches them."""

from __future__ import annotations

import json
import re
import shutil
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
from deniable.collect.warehouse import describe_days
from deniable.errors import DeniableError, FileMissing
from deniable.reports import Tallies
from deniable.results.windows import Windows
from deniable.series.exposition import write_metrics
from deniable.series.plot import choose_lines, find_ends
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
    with pytest.raises(dn.InvalidParameter, match='people is "others" or "population", got \'x\''):
        dn.Series.read(PLAN, daily_lake / "tallies.json", people="x")  # type: ignore[arg-type]
    with pytest.raises(dn.InvalidParameter, match=r"a series is of a plan, .* got list"):
        dn.Series.read([PLAN], daily_lake / "tallies.json")  # type: ignore[arg-type]
    with pytest.raises(dn.InvalidParameter, match="days, in which one false alarm"):
        kept.alarms(days=0.5)


def test_tallies_beside_plans_are_no_plan(daily_lake: Path, tmp_path: Path) -> None:
    tallies = daily_lake / "tallies.json"
    series = dn.Series.read(daily_lake / "*.json", tallies)
    assert series.document == PLAN.document
    with pytest.raises(dn.InvalidPlan, match=r"tallies\.json is a file of tallies, not a plan"):
        dn.Series.read(tallies, tallies)
    shutil.copy(tallies, tmp_path)
    with pytest.raises(FileMissing, match=r"there is no file .*\*\.json; deniable plan makes one"):
        dn.Series.read(tmp_path / "*.json", tallies)
    PLAN.write(tmp_path / "plan.json")
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(dn.InvalidPlan, match=r"other\.json is another JSON file, not a plan"):
        dn.Series.read(tmp_path / "*.json", tallies)


def test_a_share_that_doubles_is_seen_on_its_axis(daily_lake: Path) -> None:
    series = dn.Series.read(PLAN, daily_lake / "tallies.json")
    figure = series.plot("crash")
    wide, tall = figure.get_size_inches()
    [axes] = figure.axes
    steps = [text for text in axes.texts if text.get_text().endswith(" %")]
    assert [text.get_text() for text in steps] == ["0 %", "20 %", "40 %"]
    assert wide > 5, "a panel alone is large"
    lowest, *_, highest = [text.get_position()[1] for text in steps]
    assert 0.4 * tall < highest - lowest < 0.8 * tall, "its share spans the panel"
    points = np.concatenate([np.column_stack(line.get_data()) for line in axes.lines])
    assert (points[np.isfinite(points).all(axis=1)] <= (wide, tall)).all(), "all is inside"
    numbers = np.array([0.95, 0.96, 0.90])
    low, high = find_ends(numbers, numbers - 0.01, numbers + 0.01, is_share=True)
    assert 0.85 < low < 0.9
    assert 0.96 < high < 1.0


def test_an_impossible_number_has_the_interval_that_estimates_show() -> None:
    """Of 100 reports, 15 say yes: fewer than if nobody had it, and the unbiased number is -25 %."""
    plan = dn.Study({"crash": ["yes", "no"]}, epsilon=1.0).plan(people=100)
    tallies = Tallies(plan.id, 100, {"crash": dn.Tally(100, np.array([15, 85]))})
    [row] = dn.Series.of(plan.document, Windows(("day",), {FIRST: tallies})).rows()
    shown = plan.estimate(tallies).frame(backend="pandas").iloc[0]
    assert (row["value"], row["number"] < -0.2, row["low"]) == (shown["value"], True, 0.0)
    assert 0.1 < row["high"] == pytest.approx(shown["high"])


def test_a_figure_shows_alarms_and_then_every_attribute() -> None:
    many, few = [f"{i:02}" for i in range(30)], ["a", "b", "c"]
    plan = dn.Study({"build": many, "crash": ["yes", "no"], "os": few}, epsilon=8.0).plan(people=1000)
    tallies = plan.tally(plan.privatize({"build": many, "crash": ["no"] * 30, "os": few * 10}))
    lines = dn.Series.of(plan.document, Windows(("day",), {FIRST: tallies})).lines
    chosen = [line.title for line in choose_lines(lines, {"build: 29"}, 7)]
    assert chosen == ["build: 29", "build: 00", "build: 01", "crash: yes", "os: a", "os: b", "os: c"]


def test_one_change_is_one_alarm_of_a_job_and_of_the_dashboard() -> None:
    """On the last day 60 % in place of 20 % have linux: 20 standard errors. Both others fall."""
    plan = dn.Study({"os": ["linux", "mac", "windows"]}, epsilon=8.0).plan(people=1000)
    tallies = {}
    for t in range(45):
        linux = 400 if t < 44 else 1200
        others = (2000 - linux) // 2
        answers = ["linux"] * linux + ["mac"] * others + ["windows"] * others
        tallies[FIRST + timedelta(days=t)] = plan.tally(plan.privatize({"os": answers}, dn.seeded(t)))
    series = dn.Series.of(plan.document, Windows(("day",), tallies))
    [alarm] = series.alarms()
    assert {alarm.value, *(other.value for other in alarm.mirrored)} == {"linux", "mac", "windows"}
    assert str(series.alarms()).startswith("1 alarm in 3 series; at most one false alarm in 1,000 days")
    [shown] = describe_days(series, "day").alarms
    assert shown.text == str(alarm)
    assert len(shown.mirrored) == 2
    assert (
        write_metrics(series, series.alarms(), alarm.day).count('"} 1\n') == 4 + 1
    )  # of numbers, and a burst


def test_the_day_after_an_alarm_is_quiet_in_text_metrics_and_webhook(tmp_path: Path, run: Run) -> None:
    """From the last but one day on 30 % in place of 20 % have linux; a day later both others have fallen."""
    plan = dn.Study({"os": ["linux", "mac", "windows"]}, epsilon=8.0).plan(people=1000)
    path, lake = plan.write(tmp_path / "plan.json"), tmp_path / "lake"
    for t in range(46):
        linux = 400 if t < 44 else 570
        others = (2000 - linux) // 2
        systems = ["linux"] * linux + ["mac"] * others + ["windows"] * others
        answers = {"os": np.random.default_rng(t).permutation(systems)}
        day = FIRST + timedelta(days=t)
        plan.write_reports(lake / f"day={day}/a.parquet", plan.privatize(answers, dn.seeded(t)))
    [alarm] = dn.Series.read(plan, lake).alarms()
    later = {other.value for other in alarm.mirrored if other.day > alarm.day}
    assert (alarm.day, alarm.value, later) == (FIRST + timedelta(days=44), "linux", {"mac", "windows"})
    with listening(204) as (address, received):
        options = ("--from", str(lake), "--metrics", "day.prom", "--webhook", address)
        for t, moved in ((44, ["linux"]), (45, [])):
            received.clear()
            watched = str(FIRST + timedelta(days=t))
            outcome = run("watch", str(path), *options, "--day", watched)
            assert outcome.code == (3 if moved else 0), outcome.err
            assert f"{watched}: {len(moved)} alarm" in outcome.out
            assert [each["value"] for message in received for each in message["alarms"]] == moved
            shown = re.findall(r'deniable_day_alarm\{.*value="(\w+)"\} 1', Path("day.prom").read_text())
            assert shown == moved
            is_told = f"part of the change that began on {alarm.day}: " in outcome.err
            assert is_told is (t == 45)


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
    assert text.count("} 1\n") == 2 + text.count('deniable_day_burst{plan="' + PLAN.id + '"} 1\n')
    burst = watch(run, daily_lake, FIRST + timedelta(days=50))
    assert (burst.code, "4.0 times the usual reports" in burst.out) == (3, True)


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("2026-11-30",), 1, "there are no reports of 2026-11-30, the day that is watched; the last"),
        (("Monday",), 2, "--day is a day such as 2026-11-17, got 'Monday'"),
        (
            ("2026-10-01", "--alarm", "1.5"),
            2,
            "--alarm is the chance of a false alarm on a day, above 0 and below 1, got 1.5",
        ),
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
        (("2026-10-01", "--metrics", "typo/x.prom"), 2, "there is no folder typo for the file of --metrics"),
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
    assert not Path("typo").exists()


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
