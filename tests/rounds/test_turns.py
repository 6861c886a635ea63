"""Devices that answer in some rounds: which these are, what that loses, and how well a round is known."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import deniable as dn
import deniable_device
from deniable.estimate import Estimate
from deniable.explain.change_precision import count_people_for_change
from deniable.mechanisms import Direct, Unary
from deniable.plan import InvalidPlan
from deniable.randomness import FULL, device
from deniable.reports.privatize import draw_turns, find_turns
from deniable.reports.reports import Reports, add_rounds
from deniable.results.kept_tallies import KeptTallies
from deniable.rounds import Memoized, l_grr
from deniable.store.store import Arrival, open_store
from deniable.study import Plan
from deniable.wire import Wire
from deniable_device.document import seal
from tests.running import Run
from tests.statistics import TURN_PEOPLE, TURN_STUDIES, Array, at_least, deviation, goodness_of_fit

PEOPLE, STUDIES = 2_000, 40
"""Of a simulated study, and how many of them: intervals of 95 % hold the truth in 228 of 240 rounds."""


def plan_of(rounds: int, turns: int | None, people: int = 1000) -> Plan:
    return Plan.of({"smokes": ["yes", "no"]}, l_grr(2, 1.0, 2.0), people, rounds=rounds).with_turns(turns)


def turns_of(plan: Plan, number: int) -> tuple[int, ...]:
    rows = device(number.to_bytes(16, "little"), plan.id).rows(1, 0)
    return tuple(draw_turns(plan.document, rows)[0].tolist())


def agrees(law: Direct | Unary, sent: int, held: int) -> Fraction:
    assert isinstance(law, Direct)
    return Fraction(law.keep if sent == held else FULL - law.keep, FULL)


def probability(part: Memoized, reports: tuple[int, ...], values: tuple[int, ...]) -> Fraction:
    """Of these reports of these values, by the definition: each value has one first answer, which is kept."""
    product = Fraction(1)
    for value in set(values):
        of_value = [report for report, held in zip(reports, values, strict=True) if held == value]
        product *= sum(
            (
                agrees(part.first, kept, value)
                * math.prod((agrees(part.second, report, kept) for report in of_value), start=Fraction(1))
                for kept in (0, 1)
            ),
            Fraction(0),
        )
    return product


@pytest.mark.parametrize(("rounds", "turns"), [(2, 1), (3, 1), (3, 2), (4, 2), (4, 3)])
def test_the_loss_is_that_of_the_turns_since_everybody_sees_them(rounds: int, turns: int) -> None:
    """The worst pair of people, over all answers of all rounds and all that is seen: rounds and reports."""
    plan = plan_of(rounds, turns)
    part = plan.document.parts[0]
    assert isinstance(part, Memoized)
    worst = Fraction(0)
    for schedule in itertools.combinations(range(rounds), turns):
        for reports in itertools.product((0, 1), repeat=turns):
            chances = {
                probability(part, reports, tuple(values[place] for place in schedule))
                for values in itertools.product((0, 1), repeat=rounds)
            }  # the chance of the schedule is the same for all, and leaves the ratio
            worst = max(worst, max(chances) / min(chances))
    true = math.log(worst)
    assert true <= plan.loss.counted <= true + 1e-9
    assert plan.loss == plan_of(turns, None).loss
    amplified = math.log1p(turns / rounds * math.expm1(true))
    assert amplified < true - 0.1  # what would be stated if nobody saw who is silent


def amplify(plan: Plan) -> Iterator[str]:
    """The plan as if nobody saw who is silent, in one figure of its losses after the other."""
    assert plan.document.rounds is not None
    assert plan.document.turns is not None
    share = plan.document.turns / plan.document.rounds
    for figure in ("record", "attribute", "same_value", "changing_values"):
        data = json.loads(plan.to_json())
        del data["id"]
        losses = data["losses"] if figure in data["losses"] else data["losses"]["repeated"]
        if losses[figure] is not None:  # else there is no bound
            losses[figure] = math.ceil(1e9 * math.log1p(share * math.expm1(losses[figure] / 1e9)))
            yield seal(data)


def test_no_figure_is_smaller_since_devices_are_silent() -> None:
    """All figures are those of as many rounds, in words as well; no crowd makes them smaller, and both Python
    clients refuse a plan that states what amplification by sampling would.
    """
    color = list("abc")
    studies = {
        "l_grr": l_grr(3, 1.0, 2.0),
        "l_osue": dn.rounds.l_osue(3, 1.0, 2.0),
        "loloha": dn.rounds.loloha(3, 1.0, 2.0),
        "dbitflip": dn.rounds.dbitflip(3, 2.0, 2),
    }
    for name, mechanism in studies.items():
        few = Plan.of({"color": color}, mechanism, 1_000, rounds=20).with_turns(3)
        always = Plan.of({"color": color}, mechanism, 1_000, rounds=3)
        assert few.loss == always.loss, name
        assert few.with_linked().loss == always.with_linked().loss, name
        figures = [line for line in always.explain().splitlines() if "reports of" in line]
        assert len(figures) >= 2
        assert all(line in few.explain() for line in figures), name
        assert "huffle" not in few.explain()
        with pytest.raises(dn.errors.InvalidParameter, match="a person reports in several rounds"):
            few.shuffled()
        for text in amplify(few):
            with pytest.raises(InvalidPlan) as problem:
                Plan.from_json(text).verify()
            with pytest.raises(deniable_device.Refused) as refusal:
                deniable_device.Client.open(text, secret=bytes(32), cap=1e9)
            assert (problem.value.reason, refusal.value.reason) == ("leaks", "leaks"), (name, text)


def check_schedule(drawn: Array, rounds: int, turns: int) -> None:
    """Every device has as many turns, and every set of rounds is as likely."""
    sets = list(itertools.combinations(range(1, rounds + 1), turns))
    assert (drawn.sum(axis=1) == turns).all(), "a device has another number of turns"
    seen = [tuple((np.flatnonzero(row) + 1).tolist()) for row in drawn]
    counts = np.array([seen.count(chosen) for chosen in sets])
    goodness_of_fit(counts, np.full(len(sets), len(drawn) / len(sets)), "turns that are drawn")


def test_every_set_of_rounds_is_as_likely_and_plans_have_turns_of_their_own() -> None:
    plan, other = plan_of(5, 2), plan_of(5, 2, people=1001)
    drawn = np.zeros((2_000, 5), dtype=bool)
    for number, row in enumerate(drawn):
        row[np.array(turns_of(plan, number)) - 1] = True
    check_schedule(drawn, 5, 2)
    both = [(turns_of(plan, number), turns_of(other, number)) for number in range(1_000)]
    goodness_of_fit(
        np.array([sum(a == b for a, b in both), sum(a != b for a, b in both)]),
        np.array([100.0, 900.0]),
        "turns of one device in two plans",
    )
    rng = np.random.default_rng(7)
    with pytest.raises(AssertionError, match="another number of turns"):  # each round by itself
        check_schedule(rng.random((4_000, 5)) < 2 / 5, 5, 2)
    starts = rng.integers(5, size=(4_000, 1))
    with pytest.raises(AssertionError, match="turns that are drawn"):  # rounds that follow each other
        check_schedule((np.arange(5) - starts) % 5 < 2, 5, 2)


def test_a_round_has_its_part_of_the_people_and_estimates_hold() -> None:
    """The same people all over: each answers twice in six rounds, and 95 of 100 intervals hold the truth."""
    plan = plan_of(6, 2, PEOPLE)
    answers = {"smokes": ["yes"] * (3 * PEOPLE // 10) + ["no"] * (7 * PEOPLE // 10)}
    numbers, covered = np.zeros((STUDIES, 6)), 0
    for study in range(STUDIES):
        for number in range(6):
            tallies = plan.tally(plan.privatize(answers, dn.remembering(study, round=number + 1)))
            numbers[study, number] = tallies.n
            low, high = plan.estimate(tallies)["smokes"].interval()
            covered += bool(low[0] <= 0.3 <= high[0])
    assert (numbers.sum(axis=1) == 2 * PEOPLE).all()
    expected, error = PEOPLE / 3, math.sqrt(PEOPLE * 2 / 9)
    deviation(float(numbers[:, 0].mean()), expected, error / math.sqrt(STUDIES), "reports of the first round")
    squares = ((numbers[:, 0] - expected) / error) ** 2
    deviation(float(squares.mean()), 1.0, math.sqrt(2 / STUDIES), "the spread of reports of the first round")
    at_least(covered, 6 * STUDIES, 0.93, "intervals of rounds that hold the truth")
    with pytest.raises(dn.errors.InvalidParameter, match=r"remembering\(seed, round=1\)"):
        plan.privatize(answers, dn.remembering(1))


def add_up(plan: Plan, drawn: Array) -> list[Estimate]:
    """The shares of each study, a row of people, from their reports of ten rounds together."""
    answers = {"smokes": np.where(drawn.ravel(), "yes", "no")}
    blocks: list[list[Reports]] = [[] for _ in drawn]
    for number in range(1, 11):
        words = dn.remembering(1, round=number)
        reports = plan.privatize(answers, words)
        rows = (
            np.arange(drawn.size)
            if plan.document.turns is None
            else find_turns(plan.document, drawn.size, words, None)
        )
        for study, of_study in enumerate(blocks):
            own = np.flatnonzero(rows // drawn.shape[1] == study)
            of_study.append(replace(reports, records=reports.records.pick(own)))
    always = plan.document.turns is None
    return [
        plan.estimate(add_rounds(map(plan.tally, of_study)) if always else plan.tally(of_study))["smokes"]
        for of_study in blocks
    ]


def test_rounds_of_one_turn_add_up_as_other_people() -> None:
    """Everybody is in one of ten rounds, drawn without replacement: how many people reported is known, and
    intervals and errors are those of so many. Where everybody answers in all rounds, they are too narrow.
    """
    drawn = np.random.default_rng(3).random((TURN_STUDIES, TURN_PEOPLE)) < 0.3
    once, always = (add_up(plan_of(10, turns), drawn) for turns in (1, None))
    assert {estimate.n for estimate in once} == {TURN_PEOPLE}
    covered, repeated = (
        sum(bool(low[0] <= 0.3 <= high[0]) for low, high in (estimate.interval() for estimate in estimates))
        for estimates in (once, always)
    )
    at_least(covered, TURN_STUDIES, 0.95, "intervals of all rounds together")
    squares = [((estimate.frequencies[0] - 0.3) / estimate.stderr[0]) ** 2 for estimate in once]
    spread = math.sqrt(2 / TURN_STUDIES)
    deviation(float(np.mean(squares)), 1.0, spread, "the squared errors of all rounds together")
    with pytest.raises(AssertionError, match="of people who answer ten times"):
        at_least(repeated, TURN_STUDIES, 0.95, "intervals of people who answer ten times")


def test_the_rounds_of_one_turn_are_one_wherever_reports_are(tmp_path: Path) -> None:
    """In memory, in files, in windows, in kept tallies, joined and by day; and not of more turns."""
    plan, people = plan_of(4, 1), [f"p{i}" for i in range(600)]
    answers = {"smokes": ["yes"] * 200 + ["no"] * 400}
    rounds = [plan.privatize(answers, dn.remembering(1, round=i), people=people) for i in range(1, 5)]
    for number, reports in enumerate(rounds, 1):
        for region, part in (
            ("north", reports),
            ("south", plan.privatize(answers, dn.remembering(2, round=number))),
        ):
            plan.write_reports(tmp_path / f"lake/region={region}/day=2026-09-01/{number}.parquet", part)
    tallies = plan.tally(rounds)
    whole = plan.estimate(tallies)
    assert (tallies.n, tallies.round) == (600, None)
    assert 0.25 < whole["smokes"].frequencies[0] < 0.42
    lake = tmp_path / "lake"
    by_region = plan.tally(lake, by="region")
    assert (by_region["north"].tallies, by_region["north"].n) == (tallies.tallies, 600)
    assert (
        plan.estimate(by_region)["north"]["smokes"].interval().low.tolist()
        == whole["smokes"].interval().low.tolist()
    )
    assert plan.tally(lake).n == 1200
    [row] = dn.Series.read(plan, lake / "region=north").rows()
    [low, high] = (end[0] for end in whole["smokes"].interval())
    assert (row["n"], row["low"], row["high"]) == pytest.approx((600, low, high))
    KeptTallies.update(tmp_path / "kept.json", plan.document, lake, by=["region", "round"])
    kept = KeptTallies.read(tmp_path / "kept.json", plan.document)
    assert (kept.tally().n, kept.tally_windows("region")["north"].tallies) == (1200, tallies.tallies)
    results = [plan.estimate(plan.tally(reports)) for reports in rounds]
    joined = plan.join(results)
    assert (joined.n, joined["smokes"].frequencies.tolist()) == (600, whole["smokes"].frequencies.tolist())
    mle = plan.mle(rounds)["smokes"]
    assert mle.frequencies == pytest.approx(whole["smokes"].frequencies, abs=0.01)
    with pytest.raises(dn.errors.InvalidParameter, match=r"each device answers in one of them \(turns = 1\)"):
        plan.join([results[0], results[0]])
    address = f"sqlite:///{tmp_path}/store.db"
    with closing(open_store(address)) as store:
        store.register(plan.document, False)
        for number in (1, 2):
            store.set_round(plan.id, number)
            bodies = Wire(plan.document).bodies(rounds[number - 1])
            store.add(
                [Arrival(plan.id, number, (i.to_bytes(16),), (body,)) for i, body in enumerate(bodies)], 0.0
            )
    with pytest.raises(dn.errors.InvalidParameter, match="other people answered in each of rounds 1 and 2"):
        plan.tally(address)
    of_store = plan.join([plan.estimate(plan.tally(address, number=number)) for number in (1, 2)])
    assert of_store.n == sum(reports.n for reports in rounds[:2])
    twice = plan_of(4, 2)
    reports_twice = [twice.privatize(answers, dn.remembering(1, round=i)) for i in (1, 2)]
    with pytest.raises(dn.InvalidReport, match="the same people answered in rounds 1 and 2"):
        twice.tally(reports_twice)
    with pytest.raises(dn.errors.InvalidParameter, match="two plans or more"):
        twice.join([twice.estimate(twice.tally(reports)) for reports in reports_twice])


def test_planning_counts_the_reports_of_a_round() -> None:
    """What N people tell in m of T rounds is what N m / T people tell who answer in all."""
    few, all_of_them = plan_of(52, 4, 13_000), plan_of(52, None, 1_000)
    [precision], [same] = few.precisions(), all_of_them.precisions()
    assert precision.stderr == pytest.approx(same.stderr)
    assert precision.people == 13_000
    assert precision.people_enough() == pytest.approx(13 * same.people_enough(), abs=13)
    [change], [now] = (count_people_for_change(plan.document, "smokes", 0.05) for plan in (few, all_of_them))
    assert change.others == pytest.approx(13 * now.others, abs=13)
    [linked], [always] = (
        count_people_for_change(plan.with_linked().document, "smokes", 0.05) for plan in (few, all_of_them)
    )
    assert linked.linked is not None
    assert always.linked is not None
    assert linked.linked == pytest.approx(always.linked * (52 / 4) * (51 / 3), rel=1e-3)
    [never] = count_people_for_change(plan_of(52, 1).with_linked().document, "smokes", 0.05)
    assert never.linked is None
    asked = {"smokes": ["yes", "no"]}
    study = dn.Study(asked, epsilon_first=1.0, epsilon_forever=2.0, rounds=52, turns=4)
    every_round = dn.Study(asked, epsilon_first=1.0, epsilon_forever=2.0, rounds=52)
    assert study.people_needed(0.01) == pytest.approx(13 * every_round.people_needed(0.01), abs=13)
    assert study.plan(13_000).document.turns == 4


@pytest.mark.parametrize("turns", [0, 52, 53, True, 2.0, "4"])
def test_turns_are_some_of_the_rounds(turns: object) -> None:
    with pytest.raises(
        dn.errors.InvalidParameter, match=r"turns, .* a whole number from 1 on, below 52 rounds"
    ):
        dn.Study({"a": [1, 2]}, epsilon_first=1.0, epsilon_forever=2.0, rounds=52, turns=turns)  # type: ignore[arg-type]
    with pytest.raises(dn.errors.InvalidParameter, match="turns are for asking again"):
        dn.Study({"a": [1, 2]}, epsilon=1.0, turns=4)


def test_a_study_with_turns_says_so_everywhere(run: Run) -> None:
    Path("study.toml").write_text(
        'title = "Crashes"\n[attributes]\ncrashed = ["yes", "no"]\n'
        "[repeat]\nepsilon_first = 1.0\nepsilon_forever = 2.0\nrounds = 52\nturns = 4\n"
        "[survey]\nconsent = true\n",
        encoding="utf-8",
    )
    assert "so many" not in run("people", "study.toml", "--people", "13000").out
    said = run("plan", "study.toml", "--people", "13000", "-o", "plan.json").out
    for words in (
        "4 of 52 rounds",
        "about 1,000 answer",
        "A device sends nothing in other rounds, which everybody sees",
        "for 4 of 52 rounds together",
    ):
        assert words in " ".join(said.split()), words
    plan = Plan.read("plan.json")
    assert plan.document.turns == 4
    assert plan.document.texts is not None
    assert "4 of 52 rounds" in str(plan.document.texts.consent)
    Path("people.csv").write_text("crashed\n" + "yes\nno\n" * 6_500, encoding="utf-8")
    done = run("privatize", "plan.json", "people.csv", "-o", "reports.parquet", "--seed", "1", "--round", "2")
    count = plan.tally("reports.parquet").n
    silent = f"{13_000 - count:,} rows of 13,000 made no report: each person answers in 4 of 52 rounds"
    assert f"{silent}, and round 2 is not among theirs" in done.err
    deviation(count, 1_000, math.sqrt(13_000 / 13 * 12 / 13), "reports of a round")
