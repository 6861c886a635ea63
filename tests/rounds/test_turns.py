"""Devices that answer in some rounds: which these are, what that loses, and how well a round is known."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import deniable as dn
import deniable_device
from deniable.explain.change_precision import count_people_for_change
from deniable.mechanisms import Direct, Unary
from deniable.plan import InvalidPlan
from deniable.randomness import FULL, device
from deniable.reports.privatize import draw_turns
from deniable.rounds import Memoized, l_grr
from deniable.study import Plan
from deniable_device.document import seal
from tests.running import Run
from tests.statistics import Array, at_least, deviation, goodness_of_fit

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
        dn.errors.InvalidParameter, match="turns, the number of rounds in which a device answers"
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
    run("privatize", "plan.json", "people.csv", "-o", "reports.parquet", "--seed", "1", "--round", "2")
    deviation(plan.tally("reports.parquet").n, 1_000, math.sqrt(13_000 / 13 * 12 / 13), "reports of a round")
