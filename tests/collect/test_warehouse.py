"""The dashboard over a table of reports: the last day, all days, alarms, and nothing that takes reports."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from starlette.requests import Request
from starlette.responses import Response

import deniable as dn
from deniable.collect import warehouse
from deniable.collect.intake import Served
from deniable.collect.messages import Refusal
from deniable.collect.openapi import OPERATIONS
from deniable.collect.viewing import Views
from deniable.collect.warehouse import Dashboard, Warehouse
from deniable.rounds import l_grr
from deniable.study import Plan
from spec.make.chains import plan_chain
from tests.collector import HTTP, OPERATOR, Running, collecting, hook
from tests.running import Run
from tests.series.lake import DAYS, FIRST, PLAN
from tests.series.test_chain import BEGIN, LENGTH, NEW, OLD, ROLLED, write_days

if TYPE_CHECKING:
    from playwright.sync_api import Browser

LAST = FIRST + timedelta(days=DAYS - 1)


def ask(view: Callable[[Request], Awaitable[Response]], plan: Plan, query: str = "") -> Any:
    """What a view answers about a plan: JSON, or the text of a file."""
    scope = {"type": "http", "path_params": {"id": plan.id}, "query_string": query.encode(), "headers": []}
    raw = bytes(asyncio.run(cast("Coroutine[Any, Any, Response]", view(Request(scope)))).body)
    return json.loads(raw) if raw.startswith(b"{") else raw.decode()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, daily_lake: Path) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("warehouse")
    (folder / "lake").symlink_to(daily_lake / "lake")
    PLAN.write(folder / "plan.json")
    with collecting(folder, [], "plan.json", "--from", "lake", "--by", "day") as started:
        yield started


def test_the_last_day_is_shown_and_all_days_beside_it(running: Running) -> None:
    plans = running.get("/plans").json()
    assert (plans["by_day"], [plan["id"] for plan in plans["plans"]]) == (True, [PLAN.id])
    lake = running.folder / "lake"
    estimates = running.get(f"/plans/{PLAN.id}/estimates").json()
    day = PLAN.estimate(PLAN.tally(lake / f"day={LAST}"))
    assert estimates["n"] == 300
    assert estimates["rows"][0]["unbiased"] == day["crash"].frequencies[0]
    days, series = running.get(f"/plans/{PLAN.id}/days").json(), dn.Series.read(PLAN, lake)
    assert (days["dates"][-1], len(days["dates"]), days["rate"]) == (str(LAST), DAYS, 0.001)
    assert [line["value"] for line in days["lines"]] == [line.value for line in series.lines]
    numbers = series.lines[0].numbers.tolist()
    assert days["lines"][0]["numbers"] == pytest.approx(numbers, rel=1e-5)
    alarms = series.alarms()
    assert [alarm["text"] for alarm in days["alarms"]] == list(map(str, alarms)) != []
    assert [burst["day"] for burst in days["bursts"]] == list(map(str, alarms.bursts))
    assert running.get("/access").json() == {"name": "main", "role": "reader"}


def test_only_the_token_reads_and_nothing_takes_reports(running: Running) -> None:
    for operation in OPERATIONS:
        path = operation.path.replace("{id}", PLAN.id).replace("{number}", "1")
        answer = HTTP.request(operation.method, f"{running.url}{path}")
        if not hasattr(Views, operation.name) and not hasattr(Dashboard, operation.name):
            assert answer.status_code in (404, 405), operation.name
        elif operation.roles:
            assert answer.status_code == 401, operation.name
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert not {"add_report", "show_survey", "export_reports", "set_round"} & set(dir(Views))


def test_a_day_that_is_asked_for_is_no_parameter(running: Running) -> None:
    for path in ("estimates?day=2026-10-01", "estimates?nope=1", "days?from=2026-10-01", "rounds?round=1"):
        answer = HTTP.get(f"{running.url}/plans/{PLAN.id}/{path}", headers=OPERATOR)
        assert (answer.status_code, answer.json()["reason"]) == (400, "parameter")
        assert "is not a parameter of /plans/{id}/" in answer.json()["detail"]


def test_results_say_that_tables_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    plan = dn.Study({"age": dn.Range(0, 60, step=10), "crash": ["yes", "no"]}, 4.0).plan(people=1000)
    reports = plan.privatize({"age": [5, 25, 45] * 100, "crash": ["yes", "no"] * 150}, dn.seeded(1))
    plan.write_reports(tmp_path / "lake/day=2026-10-01/0.parquet", reports)
    lake = Warehouse([plan], str(tmp_path / "lake"), None, "day", 100, None)
    views = Views(lake, {plan.id: Served(plan)}, "token", 100, days=lake.show_days, show=lake.show)
    asked = {
        views.show_days: "",
        views.show_estimates: "",
        views.show_range: "name=age&low=10&high=30",
        views.show_tallies: "round=1",
    }

    def list_outdated() -> list[Any]:
        return [ask(view, plan, query).get("outdated") for view, query in asked.items()]

    monkeypatch.setattr(warehouse, "SECONDS", 0.0)
    lake.check()
    assert list_outdated() == [None] * len(asked)
    assert "outdated" not in ask(views.show_estimates, plan, "format=csv")
    (tmp_path / "lake").rename(tmp_path / "elsewhere")
    numbers = ask(views.show_estimates, plan)["rows"]
    for outdated in list_outdated():
        assert "there is no file" in outdated["why"]
        assert datetime.now(UTC) - datetime.fromisoformat(outdated["counted"]) < timedelta(minutes=10)
    assert ask(views.show_estimates, plan)["rows"] == numbers
    assert "not read since: there is no file" in ask(views.show_estimates, plan, "format=csv")
    with pytest.raises(Refusal, match=r"cannot be read; they were counted last at 20\d\d-") as refused:
        lake.check()
    assert (refused.value.status, refused.value.reason) == (503, "store")
    assert str(tmp_path) not in refused.value.detail, "whoever asks has shown no token"
    (tmp_path / "elsewhere").rename(tmp_path / "lake")
    lake.check()
    assert list_outdated() == [None] * len(asked)
    assert caplog.messages[-1] == f"the tables of plan {plan.id[:12]} can be read again"

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Warehouse, "_count", fail)
    assert {outdated["why"] for outdated in list_outdated()} == {warehouse._UNEXPECTED}


def test_no_results_of_tables_that_cannot_be_read_are_no_few(
    tmp_path: Path, daily_lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(daily_lake / "tallies.json", tmp_path)
    lake = Warehouse([PLAN], str(tmp_path / "tallies.json"), None, "day", 10_000, None)
    monkeypatch.setattr(warehouse, "SECONDS", 0.0)
    (tmp_path / "tallies.json").write_text("{")
    for show in (lake.show, lake.show_days):
        with pytest.raises(Refusal, match="tables of reports cannot be read") as refused:
            show(PLAN.id)
        assert refused.value.reason == "store"


def test_new_files_are_counted_when_they_come(
    tmp_path: Path, daily_lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(daily_lake, tmp_path, dirs_exist_ok=True)
    later = tmp_path / "later"
    later.mkdir()
    shutil.move(tmp_path / f"lake/day={LAST}", later)
    lake = Warehouse([PLAN], str(tmp_path / "lake"), None, "day", 100, None)
    before = lake.show_days(PLAN.id)
    assert before.dates[-1] == str(LAST - timedelta(days=1))
    shutil.move(later / f"day={LAST}", tmp_path / "lake")
    assert lake.show_days(PLAN.id) is before
    monkeypatch.setattr(warehouse, "SECONDS", 0.0)
    assert lake.show_days(PLAN.id).dates[-1] == str(LAST)
    (tmp_path / "lake/day=2026-12-24").mkdir()
    (tmp_path / "lake/day=2026-12-24/part-0.parquet").write_bytes(b"half of a file")
    assert lake.show_days(PLAN.id).dates[-1] == str(LAST)
    few = Warehouse([PLAN], str(tmp_path / "tallies.json"), None, "day", 10_000, None)
    with pytest.raises(Refusal, match="No day has 10,000 reports yet"):
        few.show_days(PLAN.id)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            ("plan.json", "--from", "lake", "--invited"),
            "takes no reports: leave out what is about taking reports, such as --invited",
        ),
        (
            ("plan.json", "--from", "http://127.0.0.1:1"),
            "a collector or its store has a dashboard of its own",
        ),
        (
            ("--from", "lake/*/*.parquet"),
            "name the plan of these reports: deniable serve plan.json --from lake",
        ),
        (("plan.json", "--from", "lake", "--by", "region"), "region"),
        (
            ("plan.json", "--from", "lake", "--key", "a.key"),
            "name both, with --certificate and --key, or none",
        ),
        ((), "Missing argument 'PLANS...'"),
    ],
)
def test_what_cannot_be_served_is_an_error_in_words(
    running: Running, run: Run, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], text: str
) -> None:
    monkeypatch.chdir(running.folder)
    outcome = run("serve", *arguments, "--port", "0")
    assert outcome.code in (1, 2)
    assert text in outcome.err


def test_the_page_says_what_moved_and_has_no_survey(browser: Browser, running: Running) -> None:
    from playwright.sync_api import expect

    from tests.collect.journeys import check_access, visiting

    with visiting(browser, running, bypass_csp=True) as visit:
        page = visit.dashboard(PLAN)
        moved = page.get_by_role("region", name="What moved")
        expect(moved).to_contain_text("crash: yes rose from")
        expect(moved).to_contain_text("4.0 times the usual reports")
        expect(moved).to_contain_text("Not followed: word, it has 60 values")
        expect(page.get_by_role("img", name="crash: yes by day")).to_be_visible()
        expect(page.get_by_role("img", name="age: mean by day")).to_be_visible()
        expect(page.get_by_role("link", name="Open the survey")).to_have_count(0)
        expect(page.get_by_role("heading", name="Rounds")).to_be_hidden()
        check_access(page)
        page.get_by_text("Tables").click()
        expect(page.get_by_role("table", name="The last days of crash")).to_contain_text(str(LAST))


def test_the_page_says_that_tables_cannot_be_read(browser: Browser, tmp_path: Path, daily_lake: Path) -> None:
    from playwright.sync_api import expect

    from tests.collect.journeys import check_access, visiting

    shutil.copy(daily_lake / "tallies.json", tmp_path)
    PLAN.write(tmp_path / "plan.json")
    soon = hook(tmp_path, "from deniable.collect import warehouse\nwarehouse.SECONDS = 0.0\n")
    options = ["plan.json", "--from", "tallies.json", "--by", "day"]
    with collecting(tmp_path, [], *options, PYTHONPATH=soon) as running:
        assert running.get("/ready").json() == {"status": "ok"}
        with visiting(browser, running, bypass_csp=True) as visit:
            page = visit.dashboard(PLAN)
            old = page.get_by_role("region", name="These results are old")
            expect(page.get_by_role("region", name="What moved")).to_be_visible()
            expect(old).to_have_count(0)
            (tmp_path / "tallies.json").write_text("{")
            page.reload()
            expect(old).to_contain_text(
                "The reason: tallies.json is not a file of kept tallies, or is damaged"
            )
            check_access(page)
        refused = HTTP.get(f"{running.url}/ready")
        assert (refused.status_code, refused.json()["reason"]) == (503, "store")


def write_days_apart(folder: Path) -> tuple[Path, Path]:
    """The folder of the first days, and that of the days on which many people have the new plan."""
    write_days(folder)
    lake, later = folder / "lake", folder / "later"
    later.mkdir()
    for t in range(ROLLED[0] + 2, LENGTH):
        shutil.move(lake / f"day={BEGIN + timedelta(days=t)}", later)
    return lake, later


def test_plans_that_continue_each_other_are_one_with_one_series(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until the new plan has a day with enough reports, the old one is shown; then both are one."""
    lake, later = write_days_apart(tmp_path)
    shown = Warehouse([NEW, OLD], str(lake), None, "day", 120, None)
    assert (list(shown.offers()), shown.show_days(OLD.id).plans) == ([OLD.id], 1)
    for folder in later.iterdir():
        shutil.move(folder, lake)
    monkeypatch.setattr(warehouse, "SECONDS", 0.0)
    assert list(shown.offers()) == [NEW.id]
    days, series = shown.show_days(NEW.id), dn.Series.read(NEW, lake)
    assert (days.plans, len(days.dates), days.reports) == (2, LENGTH, series.reports.tolist())
    assert days.lines[0].numbers[10] == pytest.approx(series.lines[0].numbers[10], rel=1e-5)
    last = lake / f"day={BEGIN + timedelta(days=LENGTH - 1)}"
    assert shown.tallied(NEW.id)[1].tallies == NEW.tally(last).tallies
    with pytest.raises(Refusal, match="shown with another one"):
        shown.show_days(OLD.id)
    views = Views(shown, {NEW.id: Served(NEW)}, "token", 120, show=shown.show)
    for query in ("", "joined=true"):
        assert ask(views.show_estimates, NEW, query)["day"] == days.dates[-1]
    with pytest.raises(Refusal, match="does not say when rounds were open"):
        ask(views.show_estimates, NEW, f"joined=true&round={LENGTH}")
    assert ask(views.show_estimates, NEW, f"round={LENGTH}")["round"] == LENGTH


def test_two_plans_that_continue_one_are_shown_once_they_have_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before, both show the plan that they continue, and neither is forgotten."""
    write_days(tmp_path)
    _, other = plan_chain((l_grr(2, 2.0, 3.0), 90), (l_grr(4, 1.5, 3.0), 90))
    lake, later = tmp_path / "lake", tmp_path / "later"
    later.mkdir()
    for path in lake.glob(f"*/{NEW.id[:4]}.parquet"):
        path.rename(later / f"{path.parent.name}.parquet")
    for plans in ([NEW, other], [other, NEW]):
        shown = Warehouse(plans, str(lake), None, "day", 120, None)
        assert list(shown.offers()) == [OLD.id]
        moved = [path.rename(lake / path.stem / "new.parquet") for path in later.iterdir()]
        monkeypatch.setattr(warehouse, "SECONDS", 0.0)
        assert set(shown.offers()) == {OLD.id, NEW.id}
        assert (shown.show_days(OLD.id).plans, shown.show_days(NEW.id).plans) == (1, 2)
        monkeypatch.undo()
        for path in moved:
            path.rename(later / f"{path.parent.name}.parquet")


def test_results_are_of_one_day_though_tables_are_counted_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every look finds one day more, on which 50 more of 300 people have moved to the new plan."""
    lake, later = write_days_apart(tmp_path)
    shown = Warehouse([NEW], str(lake), None, "day", 10, None)
    monkeypatch.setattr(warehouse, "SECONDS", 0.0)
    look, days = Warehouse._look, iter(sorted(later.iterdir()))

    def look_again(counting: Warehouse) -> None:
        shutil.move(next(days), lake)
        look(counting)

    monkeypatch.setattr(Warehouse, "_look", look_again)
    views = Views(shown, {NEW.id: Served(NEW)}, "token", 10, show=shown.show)
    for moved in (100, 150, 200):
        estimates = ask(views.show_estimates, NEW)
        assert [part["n"] for part in estimates["plans"]] == [300 - moved, moved]


def test_results_say_their_day_or_their_round_and_late_reports_may_be_those_of_the_same_people(
    tmp_path: Path,
) -> None:
    """On the second day a third of the reports are late, of the first round: series, dashboard and estimates
    by day have one interval, which is wider than that of other people.
    """
    cities = ["a", "b", "c"]
    asked: dict[str, Any] = {"city": cities, "hours": dn.Number(0, 10), "age": dn.Range(0, 60, step=10)}
    study = dn.Study(asked, epsilon_first=2.0, epsilon_forever=4.0, rounds=4)
    plan, lake = study.plan(people=1000), tmp_path / "lake"
    sent = [(1, 1, slice(0, 300)), (2, 1, slice(300, 400)), (2, 2, slice(0, 200))]
    answers: dict[str, list[Any]] = {
        "city": ["a", "b", "b", "c"] * 100,
        "hours": [2.0, 7.0] * 200,
        "age": [5, 15, 25, 35] * 100,
    }
    for day, number, who in sent:
        chosen = {name: column[who] for name, column in answers.items()}
        reports = plan.privatize(chosen, dn.remembering(1, round=number), people=range(400)[who])
        plan.write_reports(lake / f"day=2026-09-0{day}/{number}.parquet", reports)
    result = plan.estimate(plan.tally(lake, by="day"))[date(2026, 9, 2)]
    series = dn.Series.read(plan, lake)
    dashboard = Warehouse([plan], str(lake), None, "day", 50, None)
    views = Views(dashboard, {plan.id: Served(plan)}, "token", 50, show=dashboard.show)
    shown = ask(views.show_estimates, plan)
    parts = [{"plan": plan.id, "n": n, "round": number} for n, number in ((100, 1), (200, 2))]
    assert (shown["day"], shown["round"], shown["n"], shown["plans"]) == ("2026-09-02", None, 300, parts)
    found = {(row["attribute"], row["value"]): row for row in series.rows() if row["day"] == shown["day"]}
    assert {name for name, _ in found} == set(asked)
    mixed = {name: result.mean(name) for name in ("hours", "age")}
    for v, label in enumerate(cities):
        row = next(row for row in shown["rows"] if row["value"] == label)
        low, high = (end[v] for end in result["city"].interval())
        assert (row["unbiased_low"], row["unbiased_high"]) == (low, high)
        of_series = found["city", label]
        assert (of_series["low"], of_series["high"]) == (max(low, 0.0), min(high, 1.0))
        assert of_series["number"] == row["unbiased"]
    for row in shown["means"]:
        mean, of_series = mixed[row["attribute"]], found[row["attribute"], "mean"]
        assert (row["unbiased_low"], row["unbiased_high"]) == (mean.low, mean.high)
        assert [of_series[name] for name in ("number", "low", "high")] == [mean.value, mean.low, mean.high]
    others = dn.Series.read(plan, lake, people="others").rows()
    for row in (row for row in others if row["day"] == shown["day"]):
        same = found[row["attribute"], row["value"]]
        assert row["high"] - row["low"] < 0.95 * (same["high"] - same["low"])
    first = ask(views.show_estimates, plan, "round=1")
    alone = plan.estimate(plan.tally(lake, number=1))
    assert (first["day"], first["round"], first["n"], first["plans"]) == (None, 1, 400, [])
    assert [row["unbiased"] for row in first["rows"][:3]] == alone["city"].frequencies.tolist()
    share = ask(views.show_range, plan, "name=age&low=10&high=30&round=1")
    assert (share["day"], share["round"], share["unbiased"]) == (None, 1, alone.range("age", 10, 30).value)
    share = ask(views.show_range, plan, "name=age&low=10&high=30")
    assert (share["day"], share["unbiased"]) == ("2026-09-02", result.range("age", 10, 30).value)
    tallies = ask(views.show_tallies, plan)
    assert (tallies["day"], tallies["round"], tallies["n"]) == ("2026-09-02", 2, 200)
    assert "2026-09-02" in ask(views.show_estimates, plan, "format=csv")
    for query, why in (
        ("round=3", "0 reports so far"),
        ("round=5", "no round 5: it has rounds 1 to 4"),
        ("joined=true", "continues no other one"),
        ("weights={}&joined=true", "leave out one"),
    ):
        with pytest.raises(Refusal, match=why):
            ask(views.show_estimates, plan, query)
    with pytest.raises(Refusal, match="no random order"):
        ask(views.show_history, plan)


def test_the_last_day_joins_what_was_reported_to_both_plans(browser: Browser, tmp_path: Path) -> None:
    """Shares and numbers of people are those of the day in estimates by day, and the page says so."""
    from playwright.sync_api import expect

    from tests.collect.journeys import visiting

    write_days(tmp_path)
    for t in range(ROLLED[0] + 4, LENGTH):
        shutil.rmtree(tmp_path / f"lake/day={BEGIN + timedelta(days=t)}")
    with collecting(tmp_path, [], "new.json", "--from", "lake") as running:
        estimates = running.get(f"/plans/{NEW.id}/estimates").json()
        days = NEW.estimate(NEW.tally(tmp_path / "lake", by="day"))
        day = days[BEGIN + timedelta(days=ROLLED[0] + 3)]
        assert estimates["n"] == day.n == 300
        last = ROLLED[0] + 3
        plans = [{"plan": plan.id, "n": 150, "round": last + 1} for plan in (OLD, NEW)]
        assert (estimates["plans"], estimates["not_joined"]) == (plans, [])
        assert (estimates["day"], estimates["round"]) == (str(BEGIN + timedelta(days=last)), last + 1)
        assert [row["unbiased"] for row in estimates["rows"]] == day["city"].frequencies.tolist()
        with visiting(browser, running, bypass_csp=True) as visit:
            page = visit.dashboard(NEW)
            moved = page.get_by_role("region", name="What moved")
            parts = [f"150 to plan {plan.id[:12]} in round {last + 1}" for plan in (OLD, NEW)]
            expect(moved).to_contain_text(f"Results of the last day are joined: {' and '.join(parts)}.")
            expect(page.get_by_text(f", in round {last + 1}")).to_be_visible()
            expect(page.get_by_text("on the last day")).to_be_visible()


def test_the_dashboard_of_two_plans_is_one_line(browser: Browser, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    from tests.collect.journeys import visiting

    write_days(tmp_path)
    with collecting(tmp_path, [], "old.json", "new.json", "--from", "lake") as running:
        assert [plan["id"] for plan in running.get("/plans").json()["plans"]] == [NEW.id]
        assert running.get(f"/plans/{OLD.id}/rounds").json()["rounds"] == []
        with visiting(browser, running, bypass_csp=True) as visit:
            page = visit.dashboard(NEW)
            moved = page.get_by_role("region", name="What moved")
            expect(moved).to_contain_text("all people who reported to any of 2 plans")
            expect(page.get_by_role("img", name="city: city 2 by day")).to_be_visible()
            expect(page.get_by_role("navigation", name="Studies")).to_have_count(0)
