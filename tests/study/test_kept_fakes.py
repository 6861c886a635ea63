"""Plans that ask again among fakes: chosen on request, verified, answered by devices, and read honestly."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import deniable as dn
from deniable.plan import InvalidPlan
from deniable.records import Faked
from deniable.rounds import BitFlip, Memoized
from deniable.study import Plan
from tests.audit.test_audits import Seeded, audited

ASKED = {"color": ["red", "green", "blue"], "smokes": ["yes", "no"], "size": [str(v) for v in range(40)]}
ANSWERS = {"color": "red", "smokes": "no", "size": "7"}


def plan_of(**options: object) -> Plan:
    budgets = {"epsilon_first": 1.0, "epsilon_forever": 2.0, "rounds": 4, "mechanism": "faked"}
    return dn.Study(ASKED, **budgets | options).plan(people=20_000)  # type: ignore[arg-type]


def test_it_is_chosen_on_request_only() -> None:
    assert not isinstance(plan_of(mechanism=None).mechanism, Faked)
    plan = plan_of()
    mechanism = plan.mechanism
    assert isinstance(mechanism, Faked)
    assert mechanism.repeated
    assert mechanism == dn.rounds.l_rsfd([3, 2, 40], 1.0, 2.0)
    again = Plan.from_json(plan.to_json())
    assert (again.id, again.mechanism) == (plan.id, mechanism)
    losses = again.verify().repeated
    assert losses == mechanism.losses(4, 4)
    text = plan.explain()
    assert "first answers, also of fakes, are kept" in " ".join(text.split())
    assert "its attribute, its fakes" in " ".join(text.split())


def test_protocols_can_be_named() -> None:
    parts = plan_of(protocol="l_osue").mechanism.mechanisms
    assert {type(part.first) for part in parts if isinstance(part, Memoized)} == {dn.mechanisms.Unary}
    hashed = plan_of(protocol="loloha").mechanism
    assert hashed == dn.rounds.l_rsfd([3, 2, 40], 1.0, 2.0, "loloha")
    flipped = plan_of(protocol="dbitflip", epsilon_forever=1.0)
    assert {type(part) for part in flipped.mechanism.mechanisms} == {BitFlip}
    assert flipped.verify().repeated.changing_values == math.inf  # type: ignore[union-attr]
    with pytest.raises(dn.InvalidParameter, match="l_oue"):
        plan_of(protocol="l_oue")
    with pytest.raises(dn.InvalidParameter, match="one real attribute per person"):
        plan_of(mechanism="split")
    with pytest.raises(dn.InvalidParameter, match="no fake data"):
        dn.Study(
            {"age": dn.Number(0, 9), "smokes": ["yes", "no"]},
            epsilon_first=1.0,
            epsilon_forever=2.0,
            mechanism="faked",
        ).plan(people=1000)


def test_sampling_errs_less_than_fakes() -> None:
    """In every question: that is why fakes are chosen on request only."""
    for first, forever in ((0.5, 1.0), (2.0, 4.0)):
        for ks in ([2, 2], [3, 5, 4], [2, 50], [10] * 5):
            d, n = len(ks), 10_000
            faked = dn.rounds.l_rsfd(ks, first, forever)
            for j, k in enumerate(ks):
                made = (dn.rounds.l_grr(k, first, forever), dn.rounds.l_osue(k, first, forever))
                sampled = min(mechanism.law.error(n // d, 0.0) for mechanism in made)
                assert sampled < faked.marginal(j).error(n, 0.0)


def test_a_plan_that_states_less_is_refused() -> None:
    data = json.loads(plan_of().to_json())
    for figure, nanos in data["losses"]["repeated"].items():
        less = {**data["losses"]["repeated"], figure: nanos - 2}
        text = json.dumps({**data, "losses": {**data["losses"], "repeated": less}})
        with pytest.raises(InvalidPlan):
            Plan.from_json(text)


def test_a_device_gives_the_same_report_again_and_hides_what_is_not_real() -> None:
    plan = plan_of()
    for number in range(12):
        secret = bytes([number]) * 32
        first = dn.Client(plan, secret=secret, plan_cap=math.inf).report(ANSWERS, round=2)
        assert dn.Client(plan, secret=secret, plan_cap=math.inf).report(ANSWERS, round=2) == first
        rows = dn.randomness.device(secret, plan.id).rows(1, plan.mechanism.words)
        mechanism = plan.mechanism
        assert isinstance(mechanism, Faked)
        real = plan.names[int(mechanism.sampled_attribute(rows)[0])]
        for name, other in (("color", "blue"), ("smokes", "yes"), ("size", "8")):
            if name != real:
                assert (
                    dn.Client(plan, secret=secret, plan_cap=math.inf).report(
                        {**ANSWERS, name: other}, round=2
                    )
                    == first
                )


def test_a_ledger_counts_the_stated_losses() -> None:
    plan = plan_of()
    ledger = dn.Ledger()
    client = dn.Client(plan, ledger=ledger, cap=100.0)
    client.report(ANSWERS, round=1)
    assert ledger.lifetime().changing == plan.stated.counted
    with pytest.raises(dn.InvalidParameter, match="change the answer in the next"):
        client.report({**ANSWERS, "smokes": "yes"}, round=1, change=True)


def test_rounds_are_read_and_what_cannot_be_is_refused() -> None:
    plan = plan_of(protocol="l_grr")
    random = np.random.default_rng(1)
    table = {name: random.choice(labels, 5000).tolist() for name, labels in ASKED.items()}
    rounds = [plan.privatize(table, dn.remembering(3, round=i)) for i in (1, 2)]
    earlier, later = (plan.estimate(plan.tally(reports)) for reports in rounds)
    wide, narrow = later.change(earlier), later.change(earlier, people="same")
    assert (narrow["smokes"].stderr < wide["smokes"].stderr).all()
    assert plan.mle(rounds[0])["smokes"].certified


def test_changes_of_the_same_people_are_covered() -> None:
    """100 pairs of rounds of 400 people, half of whom changed an answer: intervals of 95 % hold the change
    of these people in 90 % of pairs at least. A fault that halved them would hold it in 70 %.
    """
    plan = dn.Study(
        {"a": ["x", "y"], "b": ["x", "y", "z"]},
        epsilon_first=2.0,
        epsilon_forever=3.0,
        rounds=2,
        mechanism="faked",
    ).plan(people=400)
    before = {"a": ["x"] * 300 + ["y"] * 100, "b": (["x", "y", "z", "x"] * 100)}
    after = {"a": ["y"] * 150 + ["x"] * 150 + ["y"] * 100, "b": (["y", "x", "z", "x"] * 100)}
    held = {1.0: 0, 0.5: 0}
    for seed in range(100):
        one, two = (
            plan.estimate(plan.tally(plan.privatize(table, dn.remembering(seed, round=i))))
            for i, table in enumerate((before, after), 1)
        )
        found = two.change(one, people="same")["a"]
        for part in held:
            held[part] += abs(found.difference[0] + 150 / 400) <= part * (found.high[0] - found.low[0]) / 2
    assert held[1.0] >= 90 > held[0.5]


def test_the_same_people_are_refused_where_fakes_may_be_against_them() -> None:
    """Differences of cells, and fakes that prefer a value: what both rounds share need not help."""
    asked = {"a": ["x", "y"], "b": ["x", "y", "z"], "c": ["x", "y"]}
    plan = dn.Study(
        asked, together=[("a", "b")], epsilon_first=1.0, epsilon_forever=2.0, rounds=2, mechanism="faked"
    ).plan(people=400)
    answers = {"a": ["x", "y"] * 200, "b": ["x"] * 400, "c": ["x"] * 400}
    one, two = (
        plan.estimate(plan.tally(plan.privatize(answers, dn.remembering(1, round=i)))) for i in (1, 2)
    )
    with pytest.raises(dn.InvalidParameter, match="people='same'"):
        two.cross("a", by="b").change(one.cross("a", by="b"), people="same")
    two.cross("a", by="b").change(one.cross("a", by="b"))
    mechanism = dn.rounds.l_rsfd([2, 3], 1.0, 2.0, "l_grr", priors=[[0.9, 0.1], [0.2, 0.2, 0.6]])
    skewed = dn.Plan.of({"a": ["x", "y"], "b": ["x", "y", "z"]}, mechanism, people=400, rounds=2)
    one, two = (
        skewed.estimate(skewed.tally(skewed.privatize(answers, dn.remembering(1, round=i)))) for i in (1, 2)
    )
    with pytest.raises(dn.InvalidParameter, match="people='same'"):
        two.change(one, people="same")


@pytest.mark.long
def test_an_audit_holds_clients_to_what_fakes_hide() -> None:
    """People who differ in one answer have a smaller claim than a part alone."""
    mechanism = dn.rounds.l_rsfd([2, 2], 1.0, 2.0, "l_osue-z")
    plan = Plan.of({"a": ["x", "y"], "b": ["x", "y"]}, mechanism, people=100, rounds=3)
    found = audited(Seeded(plan, 1), trials=100, per="attribute", rounds=3)
    assert found.claim == pytest.approx(np.log(float(mechanism.ratio_after(3, "attribute"))))
    assert found.claim < 0.8 * max(part.losses(3, 3).same_value for part in mechanism.mechanisms)
    assert not found.failed
