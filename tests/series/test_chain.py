"""Series of plans that continue each other: one number a day, from all people who reported to any of them."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy import stats

import deniable as dn
from deniable.results.kept_tallies import KeptTallies
from deniable.results.windows import Windows
from deniable.rounds import l_grr
from deniable.series import Series
from deniable.series.lines import Chances, Line, join_lines
from deniable.series.rule import FIRST, Rule, find_alarms
from deniable.study import Plan
from spec.make.chains import plan_chain
from tests.running import Run
from tests.series.test_rule import as_days
from tests.statistics import ALPHA, QUIET_DAYS, QUIET_HISTORIES, QUIET_RATE, WORST_STUDIES, at_least

OLD, NEW = plan_chain((l_grr(2, 2.0, 3.0), 90), (l_grr(3, 1.5, 3.0), 90))
BEGIN, ROLLED = date(2026, 9, 1), (8, 14)
"""The first day, and the days between which people move to the new plan."""
LENGTH, PEOPLE = 20, 300
LAWS = l_grr(2, 2.0, 4.0).law, l_grr(2, 0.8, 4.0).law


def write_days(folder: Path, plans: tuple[Plan, Plan] = (OLD, NEW), empty: tuple[int, ...] = (3,)) -> None:
    """A folder of reports by day: people move from one plan to the other within a week."""
    rng = np.random.default_rng(4)
    for t in range(LENGTH):
        moved = round(PEOPLE * np.clip((t - ROLLED[0]) / (ROLLED[1] - ROLLED[0]), 0.0, 1.0))
        for plan, n in zip(plans, (PEOPLE - moved, moved), strict=True):
            if n and t not in empty:
                labels = plan.labels["city"]
                people = rng.choice(10_000, n, replace=False)
                answers = {
                    "city": rng.choice(labels, n, p=[0.8, *[0.2 / (len(labels) - 1)] * (len(labels) - 1)])
                }
                reports = plan.privatize(answers, dn.remembering(1, round=t + 1), people)
                day = BEGIN + timedelta(days=t)
                plan.write_reports(folder / f"lake/day={day}/{plan.id[:4]}.parquet", reports)
    for name, plan in zip(("old", "new"), plans, strict=True):
        plan.write(folder / f"{name}.json")


@pytest.fixture(scope="module")
def rolled_out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rolled")
    write_days(folder)
    return folder


def read_shares(series: Series) -> dict[tuple[str, str], float]:
    return {(row["day"], row["value"]): row["number"] for row in series.rows()}


def test_a_day_of_two_plans_is_one_number_by_people(rolled_out: Path) -> None:
    series = dn.Series.read(rolled_out / "*.json", f"{rolled_out}/lake/**/*.parquet", by="day")
    assert (series.document.id, len(series.dates), series.refused) == (NEW.id, LENGTH, {})
    alone = dn.Series.read(OLD, rolled_out / "lake")
    assert f"{alone.refused['plan']:,} rows are not counted: {alone.refused['plan']:,} of" in str(alone)
    added = (BEGIN + timedelta(days=ROLLED[0] + 1), "city: city 2", "it is an answer that was added")
    assert [(begun.day, begun.name, begun.why) for begun in series.breaks] == [added]
    assert series.reports.tolist() == [0.0 if t == 3 else PEOPLE for t in range(LENGTH)]
    assert [line.value for line in series.lines] == [f"city {v}" for v in range(3)]
    shares = read_shares(series)
    for t in (0, 10, 19):
        day = BEGIN + timedelta(days=t)
        parts = [
            plan.estimate(plan.tally(path))
            for plan in (OLD, NEW)
            if (path := rolled_out / f"lake/day={day}/{plan.id[:4]}.parquet").exists()
        ]
        estimate = (NEW.join(parts, "others") if len(parts) > 1 else parts[0])["city"]
        for v, label in enumerate(OLD.labels["city"]):
            assert shares[str(day), label] == pytest.approx(estimate.frequencies[v])
            row = next(r for r in series.rows() if (r["day"], r["value"]) == (str(day), label))
            ends = estimate.interval()
            assert [row["low"], row["high"]] == pytest.approx(
                [np.clip(end[v], 0, 1) for end in ends], abs=1e-9
            )
    assert shares[str(BEGIN), "city 2"] == 0.0
    newest = dn.Series.read(rolled_out / "new.json", f"{rolled_out}/lake/**/*.parquet")
    assert newest.rows() == series.rows()


def test_tallies_that_are_kept_go_on_with_the_new_plan(rolled_out: Path, run: Run) -> None:
    """A job that kept tallies of the old plan goes on with the new one, and counts nothing of it again."""
    lake, kept = str(rolled_out / "lake"), ("--by", "day,round", "--keep", "kept.json", "--json")
    first = json.loads(run("tally", f"{rolled_out}/old.json", "--from", lake, *kept).out)
    assert first["n"] < PEOPLE * (LENGTH - 1)
    assert first["not_counted"]["plan"] > 0
    partitions = json.loads(Path("kept.json").read_text())["partitions"]
    second = json.loads(run("tally", f"{rolled_out}/new.json", "--from", lake, *kept).out)
    assert (second["n"], second["not_counted"], second["foreign"]) == (PEOPLE * (LENGTH - 1), {}, {})
    assert json.loads(Path("kept.json").read_text())["before"][0]["partitions"] == partitions
    third = json.loads(run("tally", f"{rolled_out}/new.json", "--from", lake, *kept).out)
    assert (third["new"], third["changed"]) == ([], [])
    series = dn.Series.read(rolled_out / "new.json", "kept.json")
    assert series.rows() == dn.Series.read(rolled_out / "new.json", lake).rows()
    day = str(BEGIN + timedelta(days=LENGTH - 1))
    for source in ("kept.json", lake):
        watch = ("watch", f"{rolled_out}/new.json", "--from", source, "--day", day, "--metrics", "day.prom")
        watched = run(*watch, "--json", "--force")
        assert (watched.code, json.loads(watched.out)["reports"]) == (0, PEOPLE)
        assert "city: city 2 begins anew" in watched.err
        metrics = Path("day.prom").read_text()
        assert set(re.findall(r'plan="(\w+)"', metrics)) == {OLD.id}, "lines of a graph go on"
        assert f'deniable_day_plan_info{{plan="{OLD.id}",newest="{NEW.id}"}} 1\n' in metrics
    later = str(BEGIN + timedelta(days=ROLLED[0] + 1 + FIRST))  # its alarms have begun
    assert "begins anew" not in run("watch", f"{rolled_out}/new.json", "--from", lake, "--day", later).err


def test_each_day_is_estimated_from_the_reports_to_all_plans(rolled_out: Path, run: Run) -> None:
    """The numbers and intervals of windows by day are those of the series, from files or kept tallies."""
    lake = str(rolled_out / "lake")
    windows = NEW.tally(lake, by="day")
    assert (sum(windows.records.values()), windows.refused) == (PEOPLE * (LENGTH - 1), {})
    days = NEW.estimate(windows)
    for row in dn.Series.read(NEW, lake).rows():
        result = days[date.fromisoformat(row["day"])]
        estimate = result["city"]
        if row["value"] not in estimate.labels:
            assert (row["number"], result.plan_id) == (0.0, OLD.id)
            continue
        v = estimate.labels.index(row["value"])
        assert row["number"] == pytest.approx(estimate.frequencies[v])
        if row["value"] in OLD.labels["city"]:
            ends = [np.clip(end[v], 0, 1) for end in estimate.interval()]
            assert [row["low"], row["high"]] == pytest.approx(ends, abs=1e-9)
    run("tally", f"{rolled_out}/new.json", "--from", lake, "--by", "day,round", "--keep", "by-day.json")
    estimated = [
        run("estimate", f"{rolled_out}/new.json", "--from", source, "--by", "day", *more).out
        for source in (lake, "by-day.json")
        for more in ((), ("--json",))
    ]
    assert estimated[:2] == estimated[2:]
    assert f"for plan {NEW.id[:12]} and 1 plan that it continues" in estimated[0]
    plans = [window.get("plans") for window in json.loads(estimated[1])["windows"]]
    assert plans[9] == [{"plan": OLD.id, "n": 200}, {"plan": NEW.id, "n": 100}]
    assert plans[0] is plans[-1] is None
    table = parquet.read_table(next((rolled_out / "lake").glob(f"*/{NEW.id[:4]}.parquet")))
    with pytest.raises(dn.InvalidReport, match=rf"'{NEW.id}' AS plan"):  # not the plan before
        NEW.tally(table.append_column("day", pa.array(["2026-09-01"] * len(table))), by="day")
    refused = run("estimate", f"{rolled_out}/new.json", "--from", lake, "--by", "day", "--mle")
    assert "joined results have no most likely shares" in refused.err
    assert NEW.id[:12] in run("estimate", f"{rolled_out}/new.json", "--from", lake, "--by", "round").out


def test_a_question_that_begins_anew_has_a_mark_and_no_comparison_over_it() -> None:
    """Two numbers of two questions are not mixed: each day has that to which more people reported."""
    mechanism = dn.records.Sample((l_grr(2, 1.0, 2.0), l_grr(2, 1.0, 2.0)))
    asked = {"city": ["a", "b"], "color": ["green", "red"]}
    before = Plan.of(asked, mechanism, people=1000, rounds=90)
    after = Plan.of(asked | {"color": ["red", "green"]}, mechanism, people=1000, rounds=90)
    plans = before, replace(after, document=replace(after.document, continues=(before.document,)))
    handover, days = 2 * FIRST, 2 * FIRST + 20
    series = Series.of(
        plans[1].document,
        [
            tally_days(plans[0], 0, [400] * handover + [100] * 20, handover),
            tally_days(plans[1], handover - 1, [30] + [300] * 20, handover),
        ],
    )
    lines = {line.attribute: line for line in series.lines}
    [begun] = series.breaks
    assert (begun.day, begun.name) == (BEGIN + timedelta(days=handover), "color")
    assert "begins anew, and is compared with no day before: its answers are others" in str(series)
    assert lines["city"].n[-1] > 1.2 * lines["color"].n[-1]
    assert series.reports[[0, handover - 1, days - 1]].tolist() == [400, 430, 400]
    assert {alarm.attribute for alarm in series.alarms()} == {"city"}
    [axes] = series.plot().axes
    titles = {text.get_text(): text.get_position()[0] for text in axes.texts}
    city, color = (titles[line.title] for line in series.lines)
    assert city < color < titles[" asked anew"], "the mark is in the second panel"
    assert [text.get_text() for text in axes.texts].count(" asked anew") == 1


def tally_days(plan: Plan, first: int, n: list[int], handover: int) -> Windows:
    """Days on which all people have one answer, and from the handover on another."""
    tallies = {}
    for t, people in enumerate(n, first):
        rows = {name: [sorted(labels)[t >= handover]] * people for name, labels in plan.labels.items()}
        tallies[BEGIN + timedelta(days=t)] = plan.tally(plan.privatize(rows, dn.remembering(t)))
    return Windows(("day",), tallies)


def test_a_plan_that_few_people_ever_had_ends_no_series() -> None:
    """A plan that asks anew is tried by a few; all then move to the next one, which asks anew again."""
    mechanism = dn.records.Sample((l_grr(2, 1.0, 2.0), l_grr(2, 1.0, 2.0)))
    plans: list[Plan] = []
    for colors in (["green", "red"], ["red", "green"], ["green", "red"]):
        plan = Plan.of({"city": ["a", "b"], "color": colors}, mechanism, people=1000, rounds=90)
        before = (*plans[-1].document.continues, plans[-1].document) if plans else ()
        plans.append(replace(plan, document=replace(plan.document, continues=before)))
    windows = [
        tally_days(plans[0], 0, [100] * 8, LENGTH),
        tally_days(plans[1], 4, [10] * 4, LENGTH),
        tally_days(plans[2], 6, [50, 50, 150, 150], LENGTH),
    ]
    series = Series.of(plans[2].document, windows)
    [begun] = series.breaks
    assert (begun.day, begun.name) == (BEGIN + timedelta(days=8), "color")
    [color] = [line for line in series.lines if line.attribute == "color"]
    of_days = [plans[0 if t < 8 else 2].estimate(windows[0 if t < 8 else 2][day]) for t, day in days_of(10)]
    assert color.n.tolist() == [result["color"].n for result in of_days]
    place = plans[0].labels["color"].index(color.value)
    assert color.numbers == pytest.approx([result["color"].frequencies[place] for result in of_days])


def days_of(length: int) -> list[tuple[int, date]]:
    """The first days, and their numbers."""
    return [(t, BEGIN + timedelta(days=t)) for t in range(length)]


def test_a_question_without_one_of_its_answers_is_compared_with_no_day_before() -> None:
    """Who had the answer that was removed has another one now: no number moved."""
    more, fewer = plan_chain((l_grr(3, 2.0, 4.0), 90), (l_grr(2, 2.0, 4.0), 90), labels=("012", "12"))
    series = Series.of(
        fewer.document, [tally_days(more, 0, [300] * 62, 0), tally_days(fewer, 59, [310] * 21, 0)]
    )
    [begun] = series.breaks
    assert (begun.day, begun.name, begun.why) == (
        BEGIN + timedelta(days=59),
        "city",
        "answers were removed: city 0",
    )
    [line] = series.lines
    assert line.n.tolist() == [300] * 59 + [310] * 21
    assert list(series.alarms(spread=False)) == []


def draw_rollout(rng: np.random.Generator, share: np.ndarray, moved: np.ndarray) -> list[Line]:
    """The lines of two plans, of which the second errs far more; other people each day."""
    lines = []
    later = np.round(3000 * moved)
    for law, n in zip(LAWS, (3000 - later, later), strict=True):
        counts = rng.binomial(n.astype(np.int64), law.q + law.gain * share)
        with np.errstate(invalid="ignore"):
            numbers = (counts / n - law.q) / law.gain
        lines.append(Line("crash", "yes", "value", numbers, n, Chances(law.p, law.q)))
    return lines


@pytest.mark.parametrize("is_fault", [False, True])
def test_a_rollout_raises_no_more_alarms_than_stated(is_fault: bool) -> None:
    """Days of a plan that errs more are compared with those of one that errs less."""
    rng = np.random.default_rng(12)
    moved = np.clip((np.arange(QUIET_DAYS) - 60) / 14, 0.0, 1.0)
    dates = [date(2026, 1, 1) + timedelta(days=t) for t in range(QUIET_DAYS)]
    rule = Rule((QUIET_DAYS - FIRST) / QUIET_RATE, False, 0.0)
    histories = QUIET_HISTORIES // 3 if is_fault else QUIET_HISTORIES
    quiet, days = 0, as_days(np.full(QUIET_DAYS, 3000.0))
    for _ in range(histories):
        line = join_lines(draw_rollout(rng, np.full(QUIET_DAYS, 0.2), moved))
        if is_fault:  # as if all reports were of the first plan
            line = replace(line, plans=(), chances=line.plans[0].chances)
        quiet += next(find_alarms(line, days, dates, np.ones(QUIET_DAYS), rule, 1), None) is None
    if is_fault:
        assert stats.binom.cdf(quiet, histories, 1 - QUIET_RATE) < ALPHA
    else:
        at_least(quiet, histories, 1 - QUIET_RATE, "histories without a false alarm")


def test_intervals_of_a_day_hold_and_would_not_by_precision() -> None:
    """People who move first are not like others: a fifth of the old ones have it, and a third of the new."""
    rng, shares, n = np.random.default_rng(9), np.array([0.2, 0.3]), np.array([3000.0, 1000.0])
    laws = dn.grr(2, 1.0).law, dn.grr(2, 2.0).law
    truth = float(n @ shares / n.sum())
    lines = []
    for law, share, people in zip(laws, shares, n, strict=True):
        counts = rng.binomial(int(people), law.q + law.gain * share, WORST_STUDIES)
        numbers = (counts / people - law.q) / law.gain
        lines.append(Line("a", "b", "value", numbers, np.full(WORST_STUDIES, people), Chances(law.p, law.q)))
    low, high = join_lines(lines).interval(0.95)
    at_least(int(((low <= truth) & (truth <= high)).sum()), WORST_STUDIES, 0.94, "intervals by people")
    precision = np.array([1 / np.var(line.numbers) for line in lines])
    weights = precision / precision.sum()
    number = sum(weight * line.numbers for weight, line in zip(weights, lines, strict=True))
    reach = 1.959964 / np.sqrt(precision.sum())
    held = float((np.abs(number - truth) <= reach).mean())
    assert held < 0.75


def test_days_of_a_plan_without_reports_are_no_error(tmp_path: Path) -> None:
    """The new plan has no reports yet, or the old ones are deleted."""
    write_days(tmp_path)
    for path in tmp_path.glob(f"lake/*/{NEW.id[:4]}.parquet"):
        path.unlink()
    only_old = dn.Series.read(tmp_path / "new.json", f"{tmp_path}/lake")
    assert (only_old.plans, only_old.dates[-1]) == (1, BEGIN + timedelta(days=ROLLED[1] - 1))
    kept, _ = KeptTallies.begin(NEW.document, ("day", "round")).count(str(tmp_path / "lake"))
    assert Series.of(NEW.document, kept.list_windows("day")).rows() == only_old.rows()
    write_days(tmp_path / "other", tuple(plan_chain((l_grr(2, 1.0, 2.0), 90), (l_grr(3, 1.0, 2.0), 90))))  # type: ignore[arg-type]
    with pytest.raises(dn.InvalidReport, match="was made for plan"):
        dn.Series.read(tmp_path / "new.json", f"{tmp_path}/other/lake")


@pytest.mark.parametrize("turns", [(1, 2), (2, 1), (None, 1), (1, 1)])
def test_a_day_of_several_rounds_is_that_of_estimates_whatever_turns_plans_have(
    turns: tuple[int | None, int | None], tmp_path: Path
) -> None:
    """Rounds of a plan with one turn are of other people, and those of another one may be of the same."""
    budgets: Any = {"epsilon_first": 1.0, "epsilon_forever": 2.0, "rounds": 4}
    old = dn.Study({"city": ["a", "b"]}, **budgets, turns=turns[0]).plan(people=1000)
    study = dn.Study({"city": ["a", "b", "c"]}, **budgets, turns=turns[1])
    new = study.plan(people=1000, continues=old)
    for plan, people in ((old, range(800)), (new, range(800, 1600))):
        for number in (1, 2):
            reports = plan.privatize({"city": ["a", "b"] * 400}, dn.remembering(1, round=number), people)
            plan.write_reports(tmp_path / f"day={BEGIN}/{plan.id[:4]}-{number}.parquet", reports)
    shares = new.estimate(new.tally(tmp_path, by="day"))[BEGIN]["city"]
    low, high = shares.interval()
    series = dn.Series.read(new, tmp_path)
    rows = series.rows()
    assert [row["value"] for row in rows] == list(shares.labels or ())
    parts = [part for line in series.lines for part in line.parts]
    assert all(part.chances and part.chances.is_kept for part in parts), "people may report to both plans"
    (of_old,) = dn.Series.read(old, tmp_path).lines
    assert of_old.chances is not None
    assert of_old.chances.is_kept == (turns[0] != 1)
    for row, *expected in zip(rows, shares.frequencies, low.clip(0), high.clip(max=1), strict=True):
        assert [row[name] for name in ("number", "low", "high")] == pytest.approx(expected, abs=1e-3)
