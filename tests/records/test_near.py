"""Check near reports: what they lose by enumeration, what they say, and who may send them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.arrays import Array
from deniable.choose import Objective
from deniable.randomness import FULL
from deniable.randomness.simulated import fixed
from deniable.records import NearBits, NearSets, Records, Split, near_bits, near_sets
from deniable.study import Plan
from tests.audit.test_audits import Seeded, audited
from tests.cases import by_night
from tests.enumeration import check_ratio, law_of, records_of, sampled_law, true_ratio

YES_NO = ["yes", "no"]
OPTIONS = [f"option {number}" for number in range(10)]

SMALL: dict[str, Callable[[], NearSets | NearBits]] = {
    "two of five": lambda: near_sets(5, 2, 1.0),
    "two of five, two near": lambda: near_sets(5, 2, 3.0),
    "three of five": lambda: near_sets(5, 3, 2.0),
    "at most two of four": lambda: near_sets(4, 2, 1.0, at_most=True),
    "one or two of four": lambda: NearSets(4, 2, 1, 2, 1, 3 << 62),
    "three answers": lambda: near_bits(3, 2.0),
    "four answers": lambda: near_bits(4, 3.0),
}


@by_night("name", list(SMALL), "three of five", "three answers")
def test_a_near_report_loses_what_enumeration_finds_and_is_sampled_word_by_word(name: str) -> None:
    mechanism = SMALL[name]()
    check_ratio(mechanism.ratio(), mechanism.loss(), true_ratio(mechanism, "record"), "per record")
    if len(records_of(mechanism)) > math.comb(mechanism.d, mechanism.d // 2):  # two can be one answer apart
        found = true_ratio(mechanism, "attribute")
        check_ratio(mechanism.ratio("attribute"), mechanism.loss("attribute"), found, "per attribute")
    for record in records_of(mechanism)[:8]:
        assert sampled_law(mechanism, record) == law_of(mechanism, record)


LARGE: dict[str, Callable[[], NearSets | NearBits]] = {
    "three of ten, epsilon 1": lambda: near_sets(10, 3, 1.0),
    "three of ten, epsilon 4": lambda: near_sets(10, 3, 4.0),
    "at most three of ten": lambda: near_sets(10, 3, 2.0, at_most=True),
    "ten answers": lambda: near_bits(10, 4.0),
}


@pytest.mark.parametrize("name", [*SMALL, *LARGE])
def test_reports_say_yes_as_often_as_their_marginals_and_pairs_say(name: str) -> None:
    """By enumeration of a few records' reports, which are sampled so, word by word."""
    mechanism = (SMALL | LARGE)[name]()
    records = records_of(mechanism)
    chances = mechanism.pair_chances()
    for record in records[:: 1 + len(records) // 4]:
        law = law_of(mechanism, record)
        if name in LARGE:
            assert sampled_law(mechanism, record) == law
        pairs = [sum(w for y, w in law.items() if y[:2] == pair) for pair in product((0, 1), repeat=2)]
        assert [*map(float, pairs)] == pytest.approx(chances[2 * record[0] + record[1]], abs=1e-15)
    one, zero = chances[0, :2].sum(), chances[2, :2].sum()
    supported = zero + 0.3 * (one - zero)
    variance = np.ravel(mechanism.marginal(0).variance(1, np.array([0.3, 0.7])))[0]
    assert variance == pytest.approx(supported * (1 - supported) / (one - zero) ** 2, rel=1e-12)


def test_a_sampler_that_takes_far_reports_for_near_ones_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    groups, wrong = NearSets._groups, near_sets(5, 2, 3.0)
    record = records_of(wrong)[0]
    monkeypatch.setattr(NearSets, "_groups", lambda self, is_near: groups(self, is_near)[::-1])
    assert len(groups(wrong, False)) > 1
    assert sampled_law(wrong, record) != law_of(wrong, record)


@pytest.mark.parametrize(
    ("epsilon", "size", "least", "keep", "variance"),
    [
        (0.5, 1, 1, 7637649995728411969, 30.520),
        (1.0, 1, 1, 9926221139934917496, 7.0009),
        (2.0, 1, 1, 14019601637322631168, 1.8757),
        (4.0, 2, 2, 14682000900502195805, 0.58970),
    ],
)
def test_near_sets_of_three_of_ten(epsilon: float, size: int, least: int, keep: int, variance: float) -> None:
    mechanism = near_sets(10, 3, epsilon)
    assert mechanism == NearSets(10, 3, 0, size, least, keep)
    assert np.allclose(mechanism.marginal(0).variance(1, np.array([0.3, 0.7])), variance, rtol=1e-4)
    assert mechanism.loss() <= epsilon < mechanism.loss() + 1e-9


@pytest.mark.parametrize(
    ("answers", "epsilon", "least", "keep", "p", "variance", "rare"),
    [
        (5, 2.0, 4, 11627665809165286033, 0.681677, 1.894, 1.73),
        (5, 4.0, 5, 11766119947328643884, 0.813080, 0.638, 0.478),
        (10, 2.0, 7, 11165836836208570799, 0.624898, 4.007, 3.85),
        (10, 4.0, 8, 14010906482321421576, 0.739664, 1.088, 0.928),
    ],
)
def test_near_bits(
    answers: int, epsilon: float, least: int, keep: int, p: float, variance: float, rare: float
) -> None:
    mechanism = near_bits(answers, epsilon)
    assert mechanism == NearBits(answers, least, keep)
    assert mechanism.tick.one / FULL == pytest.approx(p, abs=1e-6)
    for share, known in ((0.5, variance), (0.1, rare)):
        shares = np.array([share, 1 - share])
        assert np.allclose(mechanism.marginal(0).variance(1, shares), known, rtol=3e-3)


def test_known_words_give_known_options() -> None:
    person = np.ones((1, 10), dtype=int)
    person[0, [1, 4, 7]] = 0
    ends = [(0, 0), (0, FULL - 1), (FULL - 1, 0), (FULL - 1, FULL - 1), (FULL - 1, 1 << 63)]
    named = []
    for words in ends:
        records = near_sets(10, 3, 4.0).privatize(person, fixed(list(words)))
        named.append([j for j, column in enumerate(records.columns) if column[0] == 0])
    assert named == [[1, 4], [4, 7], [0, 2], [7, 9], [0, 1]]


def draw_people(mechanism: NearSets | NearBits, n: int) -> Array:
    """People with any set of options, or with any answers."""
    draws = np.random.default_rng(5).random((n, mechanism.d))
    if isinstance(mechanism, NearBits):
        return np.asarray(draws < 0.3)
    return np.asarray(draws.argsort(axis=1) < mechanism.chosen)


def test_reports_that_nobody_sends_are_refused() -> None:
    mechanism = near_sets(10, 3, 4.0)
    records = mechanism.privatize(np.where(draw_people(mechanism, 50), 0, 1), dn.seeded(1))
    assert all(tally.n == 50 for tally in mechanism.tally(records))
    bodies = mechanism.to_bodies(records)
    wrong = [bytes(10), b"\1" * 10, b"\0" + b"\1" * 9, b"\2" + bodies[0][1:]]
    _, sound = mechanism.from_bodies([*bodies[:3], *wrong])
    assert sound.tolist() == [True] * 3 + [False] * 4
    table = np.zeros((10, 1), dtype=np.uint8)
    with pytest.raises(dn.InvalidReport, match="exactly 2 of 10 options"):
        mechanism.tally(Records(1, tuple(table)))


@pytest.mark.parametrize(
    ("chosen", "message"), [(2, "exactly 3 of 10 options, got one with 2"), (4, "got one with 4")]
)
def test_records_with_another_number_of_options_are_refused(chosen: int, message: str) -> None:
    person = np.array([[0] * chosen + [1] * (10 - chosen)])
    with pytest.raises(dn.InvalidValue, match=message):
        near_sets(10, 3, 1.0).privatize(person, dn.seeded(1))


def test_wrong_numbers_are_refused() -> None:
    for make, message in (
        (lambda: near_sets(10, 10, 1.0), "fewer than all of 10 options"),
        (lambda: near_sets(1, 1, 1.0), "options must be an integer from 2 to 100"),
        (lambda: near_sets(10, 3, -1.0), "epsilon must be a positive number"),
        (lambda: near_bits(32, 4.0), "answers must be an integer from 2 to 31"),
        (lambda: NearSets(10, 3, 0, 2, 2, 1), "a near report must be likelier"),
        (lambda: NearSets(10, 3, 0, 9, 2, FULL - 1), "all reports are alike"),
        (lambda: NearSets(100, 3, 0, 20, 1, FULL - 1), "fewer than 2\\^32 reports"),
        (lambda: NearBits(5, 6, FULL - 1), "least must be an integer from 1 to 5"),
    ):
        with pytest.raises(dn.InvalidParameter, match=message):
            make()


# In studies.


def choose(question: dn.Several, epsilon: float, **more: Any) -> Plan:
    return dn.Study({"dishes": question}, epsilon=epsilon, **more).plan(people=1000)


@pytest.mark.parametrize(("epsilon", "saved"), [(0.5, 0.26), (1.0, 0.38), (2.0, 0.52), (4.0, 0.70)])
def test_a_study_takes_near_sets_and_errs_less(epsilon: float, saved: float) -> None:
    plan = choose(dn.Several(OPTIONS, exactly=3), epsilon)
    assert plan.mechanism == near_sets(10, 3, epsilon)
    best, *others = (row for row in plan.considered if row.why_not is None)
    # what people differ by comes on top of the noise of both
    least = min(row.errors[0] for row in others) * 1000 + 0.21
    assert 1 - (best.errors[0] * 1000 + 0.21) / least == pytest.approx(saved, abs=0.005)
    assert best.kind == "NEAR"
    again = Plan.from_json(plan.to_json())
    assert (again.id, again.mechanism) == (plan.id, plan.mechanism)
    assert "{wang2018," in again.cite()


def test_at_most_so_many_is_asked_with_options_that_nobody_sees() -> None:
    plan = choose(dn.Several(OPTIONS, at_most=3), 2.0)
    assert plan.mechanism == near_sets(10, 3, 2.0, at_most=True)
    people = [[], OPTIONS[:1], OPTIONS[4:6], OPTIONS[7:]] * 1000
    shares = plan.estimate(plan.tally(plan.privatize({"dishes": people}, dn.seeded(3))))
    found = [shares[f"dishes: {option}"].frequencies[0] for option in OPTIONS]
    truth = [0.25, 0, 0, 0, 0.25, 0.25, 0, 0.25, 0.25, 0.25]
    error = math.sqrt(float(plan.mechanism.marginal(0).error(4000, 0.25)))
    assert np.abs(np.subtract(found, truth)).max() < 5 * error  # ten of them, one seed in 200,000
    with pytest.raises(dn.InvalidValue, match=r"row 1, counting from 0: .* at most 3 of 10 options, got 4"):
        plan.privatize({"dishes": [[], OPTIONS[:4]]}, dn.seeded(1))
    assert "at most 3 of option 0" in plan.explain()


def test_people_who_may_give_no_answer_are_asked_about_every_option() -> None:
    for missing in ("value", "random"):
        plan = choose(dn.Several(OPTIONS, exactly=3), 1.0, missing=missing)
        assert plan.mechanism.kind == "sample"
        reports = plan.privatize({"dishes": [None, ";".join(OPTIONS[:3])]}, dn.seeded(1))
        assert len(reports) == 2
        with pytest.raises(dn.InvalidValue, match="exactly 3 of 10 options, got 2"):
            plan.privatize({"dishes": [OPTIONS[:2]]}, dn.seeded(1))


def test_limits_are_read_from_a_file_and_refused_where_they_do_not_fit() -> None:
    study = dn.Study.from_dict({"epsilon": 1.0, "attributes": {"dishes": {"several": OPTIONS, "exactly": 3}}})
    assert study.attributes["dishes"] == dn.Several(OPTIONS, exactly=3)
    for limits, message in (
        ({"exactly": 10}, "exactly, how many options people choose, must be an integer from 1 to 9"),
        ({"at_most": 0}, "at_most, how many options people choose, must be an integer from 1 to 9"),
        ({"exactly": 2, "at_most": 3}, "give one of them"),
    ):
        with pytest.raises(dn.InvalidParameter, match=message):
            dn.Several(OPTIONS, **limits)
        with pytest.raises(dn.InvalidParameter, match=message):
            dn.Study.from_dict({"epsilon": 1.0, "attributes": {"dishes": {"several": OPTIONS, **limits}}})


def test_near_bits_are_taken_by_name_or_by_a_guess_from_epsilon_2_on() -> None:
    questions = {f"question {number}": YES_NO for number in range(10)}

    def kind(epsilon: float, f: float | None = None, **more: Any) -> str:
        objective = Objective(f=f)
        return dn.Study(questions, epsilon=epsilon, objective=objective, **more).plan(1000).mechanism.kind

    assert kind(4.0) == "sample"  # nobody says that yes is not rare
    assert kind(4.0, 0.3) == "near-bits"
    assert kind(4.0, 0.05) == kind(2.0, 0.3) == kind(1.9, 0.5) == "sample"
    assert kind(2.0, mechanism="near") == "near-bits"
    with pytest.raises(dn.InvalidParameter, match="near bits are for an epsilon of 2 or more"):
        kind(1.9, mechanism="near")


def test_a_report_beside_another_question_loses_the_sum() -> None:
    questions = {"dishes": dn.Several(OPTIONS, exactly=3), "smokes": YES_NO}
    study = dn.Study(questions, epsilon=4.0, mechanism="near")
    plan = study.plan(people=1000)
    assert isinstance(plan.mechanism, Split)
    assert plan.mechanism.ratio() == near_sets(10, 3, 2.0).ratio() * dn.grr(2, 2.0).ratio
    answers = {"dishes": [OPTIONS[:3]] * 40, "smokes": ["yes", "no"] * 20}
    tallies = plan.tally(plan.privatize(answers, dn.seeded(2)))
    assert plan.estimate(tallies)["smokes"].n == 40
    assert "NEAR[10 near_sets, grr]" in dn.Study(questions, epsilon=1.0).plan(people=1000).explain()


def test_a_plan_with_near_sets_of_other_options_is_refused() -> None:
    plan = choose(dn.Several(OPTIONS, exactly=3), 1.0)
    with pytest.raises(dn.InvalidParameter, match="near sets are for all options of one question"):
        Plan.of(dict.fromkeys(OPTIONS, YES_NO), near_sets(10, 3, 1.0), 1000)
    data = json.loads(plan.to_json())
    assert data["attributes"][0]["exactly"] == 3
    assert Fraction(int(data["mechanism"]["keep"]), FULL) < 1


def test_a_device_draws_other_noise_for_another_set() -> None:
    plan = choose(dn.Several(OPTIONS, exactly=3), 1.0)
    reports = set()
    for chosen in (OPTIONS[:3], OPTIONS[1:4], OPTIONS[:3]):
        client = dn.Client(plan, secret=bytes(range(32)), plan_cap=8)
        reports.add((tuple(chosen), client.report({"dishes": chosen}).to_bytes()))
    assert len(reports) == 2


def test_near_bits_show_how_answers_go_together() -> None:
    n, draws = 100_000, np.random.default_rng(1)
    first = draws.random(n) < 0.4
    second = np.where(first, draws.random(n) < 0.7, draws.random(n) < 0.2)
    people = {f"question {number}": draws.random(n) < 0.3 for number in range(8)}
    people |= {"first": first, "second": second}
    plan = dn.Study(dict.fromkeys(people, YES_NO), epsilon=4.0, mechanism="near").plan(n)
    answers = {name: np.where(is_yes, "yes", "no") for name, is_yes in people.items()}
    reports = plan.privatize(answers, dn.seeded(2))
    table = plan.cross(reports, "second", by="first")
    truth = [[(first & second).mean(), (first & ~second).mean()]]
    truth.append([(~first & second).mean(), (~first & ~second).mean()])
    errors = np.sqrt(np.diagonal(table.covariance)).reshape(2, 2)
    assert (np.abs(table.cells - truth) < 4 * errors).all()  # one seed in 4,000
    # the product of two signs has the mean square 1 / r2^2 = 14.1
    signs = np.array([1.0, -1.0, -1.0, 1.0])
    square = n * signs @ table.covariance @ signs + (signs @ table.cells.ravel()) ** 2
    assert square == pytest.approx(14.1, rel=0.001)
    assert plan.cross(reports, "question 1", by="question 0").test().p > 1e-6
    assert table.test().p < 1e-9


def test_options_of_near_sets_have_tables_where_a_report_names_two() -> None:
    people = {"dishes": [OPTIONS[:3], OPTIONS[3:6], [*OPTIONS[:4:3], OPTIONS[6]], OPTIONS[7:]] * 2500}
    plan = choose(dn.Several(OPTIONS, exactly=3), 4.0)
    reports = plan.privatize(people, dn.seeded(2))
    table = plan.cross(reports, "dishes: option 1", by="dishes: option 0")
    errors = np.sqrt(np.diagonal(table.covariance)).reshape(2, 2)
    assert (np.abs(table.cells - [[0.25, 0.25], [0, 0.5]]) < 4 * errors).all()  # one seed in 4,000
    single = choose(dn.Several(OPTIONS, exactly=3), 1.0)
    with pytest.raises(dn.InvalidParameter, match="names one option at most"):
        single.cross(single.privatize(people, dn.seeded(2)), "dishes: option 1", by="dishes: option 0")


@pytest.mark.long
def test_the_attack_and_the_audit_agree_with_the_law() -> None:
    plan = choose(dn.Several(OPTIONS[:5], exactly=2), 2.0)
    attacked = dn.attack.success(plan, collections=2)
    tick = near_sets(5, 2, 2.0).tick
    assert attacked.attributes[0].report == pytest.approx(0.5 + (tick.one - tick.zero) / FULL / 2)
    assert all(profile.bound for profile in attacked.profiles)
    sure = dn.attack.success(
        choose(dn.Several(OPTIONS[:5], exactly=2), 40.0), [[1, 0]] + [[0.5, 0.5]] * 4, 99
    )
    assert [attribute.averaged for attribute in sure.attributes] == [1.0] * 5
    assert audited(Seeded(plan, 4), trials=20_000).passed
    assert not audited(Seeded(plan, 4), trials=20_000, claim=1.5).passed
