"""The rules of spec/wire.md in the library; device/tests has them in the device's client."""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction

import pytest

import deniable as dn
from deniable.client import AboveCap
from deniable.plan import InvalidPlan
from deniable.study import Plan
from deniable_device.mechanisms import KINDS
from spec.make import vectors
from spec.make.vectors import Case
from tests.cases import check_each
from tests.plan.test_plan import VALIDATOR
from tests.wire import admission


def plans() -> list[tuple[str, Case]]:
    """Every plan that is refused, or that is just inside of a rule."""
    return [*vectors.read_file("refusals"), *vectors.hostile("plans", "plan")]


def reason_of(case: Case) -> str | None:
    try:
        Plan.from_json(case["plan"] + " " * case.get("spaces", 0))
    except InvalidPlan as refusal:
        return refusal.reason
    return None


def test_each_plan_is_refused_for_its_reason() -> None:
    def check(case: Case) -> None:
        assert reason_of(case) == case["refused"]

    check_each(check, plans())


def test_every_reason_of_the_text_has_a_vector_and_no_other_is_given() -> None:
    text = (vectors.FOLDER.parent / "wire.md").read_text("utf-8")
    sections = text[text.index("**The text**") : text.index("**White space**")] + text[text.index("## 11.") :]
    rules = re.findall(r"^- (`.+?):", sections, re.MULTILINE | re.DOTALL)
    listed = {reason for rule in rules for reason in re.findall(r"`(.+?)`", re.sub(r"\(.*?\)", "", rule))}
    given = {case["refused"] for _, case in vectors.read_file("refusals")}
    assert given == (listed - {"cap"}) | {None}
    assert len(text.split()) <= 9000, "a specification of a client is read in an hour"


def test_a_plan_just_inside_of_a_rule_fits_the_schema() -> None:
    inside = [(name, case) for name, case in plans() if case["refused"] is None]
    assert len(inside) > 50

    def check(case: Case) -> None:
        VALIDATOR.validate(json.loads(case["plan"]))

    check_each(check, inside)


def test_losses_are_the_fractions_of_the_vectors() -> None:
    def check(case: Case) -> None:
        mechanism = Plan.from_json(case["plan"]).mechanism
        assert mechanism.ratio("record") == Fraction(*map(int, case["R"]))
        assert mechanism.ratio("attribute") == Fraction(*map(int, case["A"]))

    check_each(check, vectors.read_file("losses"))


def test_a_cap_is_compared_with_what_the_text_says() -> None:
    def check(case: Case) -> None:
        assert is_answered(case) == case["accepted"]

    check_each(check, vectors.read_file("caps"))


def test_the_text_says_which_report_an_invitation_lets_in() -> None:
    def check(case: Case) -> None:
        sent = [(one["authorization"], bytes.fromhex(one["bytes"])) for one in case["batches"]]
        found = admission.admit(json.loads(case["plan"]), case["invitations"], sent)
        assert found == [one["outcomes"] for one in case["batches"]]

    check_each(check, vectors.read_file("invitations"))


def is_answered(case: Case) -> bool:
    """Whether a device answers a plan after others, of which it answered so many rounds."""
    ledger = dn.Ledger(secret=bytes(32))
    for one in case["answered"]:
        client = dn.Client(Plan.from_json(one["plan"]), ledger=ledger, cap=math.inf)
        for number in range(1, one["rounds"] + 1):
            client.report(first_answers(client.plan), number)
    try:
        client = dn.Client(Plan.from_json(case["plan"]), ledger=ledger, cap=case["cap"])
        client.report(first_answers(client.plan), 1)
    except AboveCap as refusal:
        return refusal.reason != "cap"
    return True


def first_answers(plan: Plan) -> dict[str, str]:
    return {name: labels[0] for name, labels in plan.labels.items()}


def test_a_round_is_answered_once_and_a_short_secret_refused() -> None:
    def check(case: Case) -> None:
        plan, secret = Plan.from_json(case["plan"]), bytes.fromhex(case["secret"])
        if case.get("refused_secret"):
            with pytest.raises(dn.InvalidParameter, match="at least 16 bytes"):
                dn.Client(plan, secret=secret)
            return
        client = dn.Client(plan, secret=secret, plan_cap=math.inf)
        if "refused_round" in case:
            with pytest.raises(dn.InvalidParameter, match="round must be"):
                client.report(first_answers(plan), case["refused_round"])
            return
        for step in case["steps"]:
            report = client.report(step["answers"], step["round"])
            assert report.to_bytes().hex() == step["report"]

    check_each(check, vectors.read_file("rounds"))


def test_the_losses_are_those_of_every_kind() -> None:
    text = "".join(case["plan"] for _, case in vectors.read_file("losses"))
    kinds = [*KINDS, "guessed", "imitated", "blank", "single", "split", "sample", "faked"]
    assert [kind for kind in kinds if f'"kind":"{kind}"' not in text] == []
