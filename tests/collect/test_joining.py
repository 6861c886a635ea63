"""Rounds of plans that continue each other, which a collector shows together while one is rolled out."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from pyarrow import parquet

import deniable as dn
from deniable.collect.joining import Before, Joiner
from deniable.collect.messages import Refusal
from deniable.collect.results import estimated
from deniable.reports import Tallies
from deniable.rounds import l_duchi, l_grr
from deniable.store.schedule import Offer, Times
from deniable.study import Plan, Result
from deniable.wire import Wire
from spec.make.chains import plan_chain
from tests.collector import HTTP, OPERATOR, TOKEN, Running, collecting
from tests.running import Outcome, Run

if TYPE_CHECKING:
    from playwright.sync_api import Browser

OLDEST, OLD, NEW = plan_chain((l_grr(2, 1.0, 3.0), 5), (l_grr(2, 2.0, 3.0), 5), (l_grr(3, 1.5, 3.0), 5))
FEWER = plan_chain((l_grr(3, 1.0, 2.0), 2), (l_grr(2, 1.0, 2.0), 3), labels=("012", "12"))
MEANS = plan_chain((l_duchi(0.5, 1.0), 2), (l_duchi(0.5, 2.0), 2))
HOUR = 3600.0
NOW = 100 * HOUR


def tally(plan: Plan, n: int, number: int = 1) -> Tallies:
    """The tallies of n people: half of them have the first answer, the others the last."""
    [name] = plan.document.names
    answers: list[Any] = [0.0, 5000.0] if name == "income" else [plan.labels[name][i] for i in (0, -1)]
    reports = plan.privatize({name: answers * (n // 2)}, dn.remembering(7, round=number))
    tallies = plan.tally(reports)
    return Tallies(plan.id, tallies.n, tallies.tallies, round=number)


@dataclass
class Shelf:
    """Rounds of plans: when each is open, and how many people reported in it."""

    rounds: Mapping[str, Mapping[Times, int]]
    plans: tuple[Plan, ...] = (OLDEST, OLD, NEW)

    def offers(self) -> dict[str, Offer]:
        return {plan_id: Offer(False, list(rounds)) for plan_id, rounds in self.rounds.items()}

    def tallied(self, plan_id: str, number: int | None = None) -> tuple[int | None, Tallies]:
        [plan] = [plan for plan in self.plans if plan.id == plan_id]
        [n] = [n for times, n in self.rounds[plan_id].items() if times.number == number]
        return number, tally(plan, n, number or 1)


def find_rounds(old: Mapping[Times, int], new: Times) -> list[tuple[str, int | None]]:
    """Which rounds of the plan before are joined with one of the new plan, at 100 hours."""
    shelf = Shelf({OLD.id: old, NEW.id: {new: 200}})
    before = Joiner(shelf, [OLD.id, NEW.id], 100).find_before(NEW.document, new.number, NOW)
    return [(tallies.plan_id, tallies.round) for tallies in before.tallies]


def hours(number: int, opens: float | None, closes: float | None) -> Times:
    return Times(number, None if opens is None else opens * HOUR, None if closes is None else closes * HOUR)


def test_rounds_that_were_open_at_the_same_time_are_joined() -> None:
    days = {hours(number, 24 * number, 24 * number + 24): 200 for number in range(1, 5)}
    assert find_rounds(days, hours(2, 48, 72)) == [(OLD.id, 2)]
    assert find_rounds(days, hours(1, 50, 90)) == [(OLD.id, 3)]  # of two, the last
    assert find_rounds(days, hours(1, 50, None)) == [(OLD.id, 4)]  # still open
    assert find_rounds({**days, hours(4, 96, 120): 90}, hours(1, 50, None)) == [(OLD.id, 3)]  # with enough
    assert find_rounds({hours(1, None, None): 100}, hours(1, None, None)) == [(OLD.id, 1)]
    by_hand = {hours(1, None, 30): 200, hours(2, None, 60): 200}
    assert find_rounds(by_hand, hours(3, 20, 40)) == [(OLD.id, 2)]
    assert find_rounds(by_hand, hours(3, 20, 30)) == [(OLD.id, 1)]  # the second opened when the first closed


@pytest.mark.parametrize(
    ("old", "new", "reason", "text"),
    [
        ({hours(1, 1, 20): 200}, hours(2, 20, 40), "parameter", "at the same time as round 2 of this plan"),
        ({hours(1, 120, 140): 200}, hours(1, 20, None), "parameter", "none of its rounds was open"),
        ({hours(3, 1, None): 98}, hours(1, 20, None), "few", "its round 3 has fewer than 100 reports"),
        (
            {hours(1, 1, 30): 98, hours(2, 30, None): 2},
            hours(1, 20, None),
            "few",
            "its rounds 1 and 2 have fewer than 100 reports",
        ),
    ],
)
def test_where_nothing_is_joined_the_reason_is_said(
    old: Mapping[Times, int], new: Times, reason: str, text: str
) -> None:
    with pytest.raises(Refusal, match=f"Nothing can be joined: of plan {OLD.id[:12]}, .*{text}") as refused:
        find_rounds(old, new)
    assert refused.value.reason == reason


def test_plans_that_have_nothing_to_join_are_refused() -> None:
    always = hours(1, None, None)
    shelf = Shelf({plan.id: {always: 200} for plan in (*FEWER, OLD, NEW)}, (*FEWER, OLD, NEW))
    ids = [plan.id for plan in shelf.plans]
    with pytest.raises(Refusal, match="continues no other one"):
        Joiner(shelf, ids, 100).find_before(FEWER[0].document, 1, NOW)
    with pytest.raises(Refusal, match=r"are not collected here: deniable serve old\.json"):
        Joiner(shelf, [NEW.id], 100).find_before(NEW.document, 1, NOW)
    with pytest.raises(Refusal, match=f"of plan {FEWER[0].id[:12]}, answers were removed: city 0"):
        Joiner(shelf, ids, 100).find_before(FEWER[1].document, 1, NOW)


def test_a_plan_with_too_few_reports_is_left_out_and_named() -> None:
    always = hours(1, None, None)
    shelf = Shelf({OLDEST.id: {always: 50}, OLD.id: {always: 200}, NEW.id: {always: 200}})
    before = Joiner(shelf, [OLDEST.id, OLD.id, NEW.id], 100).find_before(NEW.document, 1, NOW)
    shown = estimated(NEW, tally(NEW, 200), 1, 0.95, before=before)
    assert [(part.plan, part.n, part.round) for part in shown.plans] == [(OLD.id, 200, 1), (NEW.id, 200, 1)]
    [left] = shown.not_joined
    assert (left.plan, left.attribute, left.why) == (
        OLDEST.id,
        None,
        "its round 1 has fewer than 100 reports",
    )


def test_means_are_joined_by_numbers_of_people() -> None:
    old, new = MEANS
    parts = tally(old, 300), tally(new, 100)
    shelf = Shelf({old.id: {hours(1, None, None): 300}, new.id: {hours(1, None, None): 100}}, (old, new))
    before = Joiner(shelf, [old.id, new.id], 100).find_before(new.document, 1, NOW)
    [shown] = estimated(new, parts[1], 1, 0.95, before=before).means
    means = [plan.estimate(part)["income"].mean for plan, part in zip(MEANS, parts, strict=True)]
    assert shown.unbiased == pytest.approx((300 * means[0] + 100 * means[1]) / 400)
    assert shown.n == 400


def test_a_question_that_begins_anew_is_of_the_new_plan_alone() -> None:
    budgets: dict[str, Any] = {"epsilon_first": 1.0, "epsilon_forever": 2.0, "rounds": 3}
    old = dn.Study({"crash": ["no", "app"], "mood": ["well", "badly"]}, **budgets).plan(people=1000)
    study = dn.Study({"crash": ["no", "app"], "mood": ["good", "bad"]}, **budgets)
    new = study.plan(people=1000, continues=old)
    tallies = []
    for plan, n in ((old, 600), (new, 400)):
        answers = {name: [labels[0]] * n for name, labels in plan.labels.items()}
        tallies.append(plan.tally(plan.privatize(answers, dn.remembering(7))))
    shown = estimated(new, tallies[1], 1, 0.95, before=Before((tallies[0],)))
    counts = {row.attribute: row.n for row in shown.rows}
    assert counts["mood"] == tallies[1]["mood"].n
    assert counts["crash"] == tallies[0]["crash"].n + tallies[1]["crash"].n
    [left] = shown.not_joined
    assert (left.plan, left.attribute) == (old.id, "mood")
    assert left.why == "its answers are others, and not only fewer, or more at the end"


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The first round of the old plan is closed, and there are few reports about the old plan of a mean."""
    folder = tmp_path_factory.mktemp("joining")
    with collecting(folder, [OLD, NEW, *MEANS], "--minimum", "100") as running:
        ends = (OLD, 1, "2026-01-01T00:00:00Z"), (OLD, 2, None), (MEANS[0], 2, None)
        for plan, number, closes in ends:
            path = f"{running.url}/plans/{plan.id}/rounds/{number}"
            HTTP.put(path, json={"opens": None, "closes": closes}, headers=OPERATOR).raise_for_status()
        for plan, number, n in ((OLD, 2, 600), (NEW, 1, 200)):
            labels = plan.labels["city"]
            reports = plan.privatize(
                {"city": [labels[0], labels[-1]] * (n // 2)}, dn.remembering(3, round=number)
            )
            running.take(plan, Wire(plan.document).bodies(reports), number)
        for plan, number, n in ((MEANS[0], 1, 50), (MEANS[0], 2, 50), (MEANS[1], 1, 400)):
            reports = plan.privatize({"income": [2000.0, 3000.0] * (n // 2)}, dn.remembering(3, round=number))
            running.take(plan, Wire(plan.document).bodies(reports), number)
        yield running


def read_tallies(running: Running, plan: Plan, number: int) -> Result:
    return plan.estimate(Tallies.from_dict(running.get(f"/plans/{plan.id}/tallies", round=number).json()))


def test_the_collector_joins_what_plan_join_joins(collector: Running) -> None:
    shown = collector.get(f"/plans/{NEW.id}/estimates", joined="true", level=0.9).json()
    results = [read_tallies(collector, OLD, 2), read_tallies(collector, NEW, 1)]
    joined = NEW.join(results)["city"]
    assert [row["value"] for row in shown["rows"]] == list(joined.labels)
    assert [row["unbiased"] for row in shown["rows"]] == pytest.approx(joined.frequencies.tolist())
    assert [row["stderr"] for row in shown["rows"]] == pytest.approx(joined.stderr.tolist())
    assert (shown["n"], shown["round"], shown["rows"][0]["n"]) == (800, 1, 800)
    assert shown["plans"] == [
        {"plan": OLD.id, "n": 600, "round": 2},
        {"plan": NEW.id, "n": 200, "round": 1},
    ]
    assert (shown["not_joined"], shown["smoothable"]) == ([], [])
    alone = collector.get(f"/plans/{NEW.id}/estimates").json()
    assert (alone["n"], alone["plans"]) == (200, [])


@pytest.mark.parametrize("path", ["estimates", "range"])
def test_weights_of_joined_results_are_refused(collector: Running, path: str) -> None:
    asked = {"joined": "true", "weights": '{"region": {"north": 1, "south": 1}}'}
    answer = HTTP.get(f"{collector.url}/plans/{NEW.id}/{path}", params=asked, headers=OPERATOR)
    assert answer.status_code == 400
    assert answer.json()["detail"].startswith("Weights are of one plan, and joined results of several")


def test_files_of_joined_shares_have_the_same_numbers(collector: Running) -> None:
    path = f"/plans/{NEW.id}/estimates"
    shown = collector.get(path, joined="true").json()["rows"]
    text = collector.get(path, joined="true", format="csv").text
    rows = list(csv.DictReader(text.splitlines()))
    table = parquet.read_table(io.BytesIO(collector.get(path, joined="true", format="parquet").content))
    unbiased = [row["unbiased"] for row in shown]
    assert [float(row["unbiased"]) for row in rows] == table["unbiased"].to_pylist() == unbiased
    assert {row["plans"] for row in rows} == {f"{OLD.id} {NEW.id}"}
    assert "plans" not in collector.get(path, format="csv").text.splitlines()[0].split(",")


def test_the_collector_refuses_what_cannot_be_joined(collector: Running) -> None:
    def refuse(plan: Plan, **query: Any) -> tuple[int, str]:
        answer = collector.get(f"/plans/{plan.id}/estimates", **query)
        return answer.status_code, answer.json()["detail"]

    status, detail = refuse(OLD, joined="true", round=2)
    assert (status, "The plans that this one continues are not collected here" in detail) == (400, True)
    assert refuse(NEW, joined="yes") == (400, "'yes' is not a value of joined (false, true)")
    assert collector.get(f"/plans/{OLD.id}/range", name="city", joined="true", round=2).status_code == 400


def test_dn_results_and_the_shell_join_two_plans_over_http(
    collector: Running, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = dn.Results(collector.url, TOKEN)
    both = NEW.join([served.read(OLD, 2), served.read(NEW)])
    assert [part.n for part in both.numbers.plans] == [600, 200]
    monkeypatch.setenv("DENIABLE_TOKEN", TOKEN)
    for name, plan in {"old": OLD, "new": NEW, "mean": MEANS[0], "mean-now": MEANS[1]}.items():
        plan.write(f"{name}.json")

    def estimate(plan: str, before: str) -> Outcome:
        return run("estimate", plan, "--from", collector.url, "--continues", before, collector.url, "--json")

    rows = json.loads(estimate("new.json", "old.json:2").out)["rows"]
    assert [row["unbiased"] for row in rows] == pytest.approx(both["city"].frequencies.tolist())
    assert "there is no file older.json" in estimate("new.json", "older.json:2").err
    assert f"round 3 of plan {OLD.id[:12]} was not opened yet" in estimate("new.json", "old.json:3").err
    assert "it has rounds 1 to 5" in estimate("new.json", "old.json:9").err
    choose = "in rounds 1, 2; name one with its plan, such as --continues mean.json:1"
    assert choose in estimate("mean-now.json", "mean.json").err


def test_the_dashboard_shows_a_plan_alone_or_with_those_before_it(
    browser: Browser, collector: Running
) -> None:
    from playwright.sync_api import expect

    from tests.collect.journeys import PHONE, check_access, visiting

    joined = collector.get(f"/plans/{NEW.id}/estimates", joined="true").json()["rows"][0]
    alone = collector.get(f"/plans/{NEW.id}/estimates").json()["rows"][0]

    def describe(row: dict[str, Any]) -> str:
        share, low, high = (f"{100 * row[name]:.1f}" for name in ("share", "low", "high"))
        return f"{share} % ({low} to {high})"

    assert describe(joined) != describe(alone)
    with visiting(browser, collector, viewport=PHONE, bypass_csp=True) as visit:
        page = visit.dashboard(NEW)
        chart = page.get_by_role("img", name="Estimates of city")
        expect(chart).to_contain_text(describe(alone))
        page.get_by_text("With the plans before it").click()
        expect(chart).to_contain_text(describe(joined))
        which = page.get_by_role("region", name="Which plans results are of")
        people = f"600 to plan {OLD.id[:12]} in round 2 and 200 to plan {NEW.id[:12]} in round 1."
        expect(which).to_contain_text(people)
        expect(page.get_by_text("to 2 plans, joined")).to_be_visible()
        check_access(page)
        page.get_by_text("Download", exact=True).click()
        with page.expect_download() as download:
            page.get_by_role("button", name="Estimates, CSV").click()
        assert f"{OLD.id} {NEW.id}" in download.value.path().read_text(encoding="utf-8")
        page = visit.dashboard(MEANS[1])
        page.get_by_text("With the plans before it").click()
        few = f"of plan {MEANS[0].id[:12]}, its rounds 1 and 2 have fewer than 100 reports."
        expect(which).to_contain_text(few)
        expect(page.get_by_text("400", exact=True).first).to_be_visible()
        expect(visit.dashboard(OLD).get_by_text("With the plans before it")).to_be_hidden()
