"""Only drawn questions are asked: the device draws first, and what it does not ask changes nothing."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import deniable as dn
from deniable.audit.devices import client_of
from deniable.errors import InvalidParameter, InvalidValue
from deniable.study import Plan
from deniable.wire import Wire
from tests.running import Run
from tests.statistics import goodness_of_fit

ASKED = {
    "color": ["red", "green", "blue"],
    "smokes": ["yes", "no"],
    "age": dn.Range(0, 100, step=10),
    "town": ["A", "B", "C", "D"],
}
ANSWERS = {"color": "blue", "smokes": "no", "age": 42, "town": "B"}
KS = [3, 2, 10, 4]
SECRETS = [bytes([i]) * 32 for i in range(40)]
MECHANISMS = {
    "one": dn.smp(KS, 1.0, "grr"),
    "two": dn.smp(KS, 1.0, "grr", attributes=2),
    "weights": dn.smp(KS, 1.0, "grr", weights=[5, 1, 1, 1]),
    "nested": dn.records.Split((dn.grr(3, 0.5), dn.smp([2, 10], 0.5, "grr"), dn.grr(4, 0.5))),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_report_is_that_of_all_answers(name: str) -> None:
    """The same words draw and report: what is not asked has no influence, and what is asked is reported."""
    plan = Plan.of(ASKED, MECHANISMS[name], people=1000)
    sampled = plan.with_ask("sampled")
    for secret in SECRETS:
        client = dn.Client(sampled, secret=secret)
        asked = client.questions
        report = client.report({one: ANSWERS[one] for one in asked})
        held = json.loads(client.readable(report))["report"]
        assert tuple(held) == asked
        codes = sampled.encode([ANSWERS])
        made = sampled.privatize_codes(codes, dn.randomness.device(secret, sampled.id, round=1))
        assert Wire(sampled).bodies(made) == [report.body]
    assert dn.Client(plan, secret=bytes(32)).questions == tuple(ASKED)


def test_only_drawn_questions_are_taken() -> None:
    plan = Plan.of(ASKED, MECHANISMS["one"], people=1000).with_ask("sampled")
    client = dn.Client(plan, secret=bytes(32))
    [asked] = client.questions
    other = next(name for name in ASKED if name != asked)
    with pytest.raises(InvalidParameter, match=f"'{other}' was not drawn by this device, which asks only"):
        client.report({asked: ANSWERS[asked], other: ANSWERS[other]})
    with pytest.raises(InvalidValue, match=f"'{asked}' has no answer"):
        client.report({})
    with pytest.raises(InvalidParameter, match="is not asked in this plan"):
        client.report({asked: ANSWERS[asked], "height": 3})


def test_a_missing_answer_to_a_drawn_question_is_as_the_plan_says() -> None:
    for missing in ("value", "random"):
        study = dn.Study(ASKED, epsilon=1.0, mechanism="sample", missing=missing, ask="sampled")
        client = dn.Client(study.plan(people=1000), secret=bytes(32))
        assert client.report({}).to_bytes() == client.report(dict.fromkeys(client.questions)).to_bytes()


def test_questions_are_drawn_as_often_as_weights_say() -> None:
    """4,000 people tell weights of 5 and 1 from equal ones, whatever the seed."""
    mechanism = MECHANISMS["weights"]
    held = mechanism.draw_reported(dn.seeded(7).rows(4000, mechanism.words))
    assert (held.sum(axis=0) == 1).all()
    goodness_of_fit(held.sum(axis=1), np.array([2500, 500, 500, 500]), "questions drawn by weights")
    with pytest.raises(AssertionError, match="chi-square"):
        goodness_of_fit(held.sum(axis=1), np.full(4, 1000), "questions drawn by equal weights")


def test_a_study_that_asks_only_some_chooses_a_sample() -> None:
    two = {"color": ["red", "green"], "smokes": ["yes", "no"]}
    plain = dn.Study(two, epsilon=4.0).plan(people=1000)
    plan = dn.Study(two, epsilon=4.0, ask="sampled").plan(people=1000)
    assert plan.mechanism.kind == "sample"
    assert json.loads(plan.to_json())["ask"] == "sampled"
    assert "ask" not in json.loads(plain.to_json())
    assert Plan.from_json(plan.to_json()) == plan
    for mechanism, reason in (("split", "every report holds all"), ("faked", "fake data hide")):
        with pytest.raises(InvalidParameter, match=reason):
            dn.Study(two, epsilon=4.0, mechanism=mechanism, ask="sampled").plan(people=1000)
    with pytest.raises(InvalidParameter, match="every report holds all"):
        dn.Study({"color": ["red", "green"]}, epsilon=4.0, ask="sampled").plan(people=1000)
    with pytest.raises(InvalidParameter, match="ask is 'all' or 'sampled', got 'some'"):
        dn.Study(two, epsilon=4.0, ask="some")  # type: ignore[arg-type]  # misspelt


def test_a_file_says_it_and_verify_shows_it(run: Run, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(
        'epsilon = 1\n[survey]\nask = "sampled"\n[attributes]\na = [1, 2]\nb = [1, 2, 3]\n', encoding="utf-8"
    )
    run("plan", str(tmp_path / "study.toml"), "--people", "1000", "-o", str(tmp_path / "plan.json"))
    said = run("verify", str(tmp_path / "plan.json")).out
    assert "a device asks only the questions that it has drawn for its report" in said


def test_the_draw_is_the_same_in_every_round() -> None:
    study = dn.Study(ASKED, epsilon_first=0.5, epsilon_forever=1.0, rounds=3, ask="sampled")
    client = dn.Client(study.plan(people=1000), secret=bytes(32), plan_cap=20.0)
    asked = client.questions
    for number in (1, 2, 3):
        held = json.loads(client.readable(client.report({one: ANSWERS[one] for one in asked}, number)))
        assert tuple(held["report"]) == asked


def test_an_audit_asks_what_was_drawn() -> None:
    plan = Plan.of(ASKED, MECHANISMS["one"], people=1000).with_ask("sampled")
    assert len(client_of(plan)(ANSWERS, bytes(32), 1)) > 29
