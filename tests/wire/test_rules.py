"""The rules of spec/wire.md: the library, and a reading of the text alone, refuse the same plans alike."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Callable, Iterator
from fractions import Fraction

import pytest

import deniable as dn
from deniable.client import AboveCap
from deniable.plan import InvalidPlan
from deniable.study import Plan
from spec.make import vectors
from spec.make.vectors import Case
from spec.reading import memory, reader
from tests.cases import check_each
from tests.plan.test_plan import VALIDATOR


def plans() -> list[tuple[str, Case]]:
    """Every plan that is refused, or that is just inside of a rule."""
    return [*vectors.read_file("refusals"), *vectors.hostile("plans", "plan")]


def reason_of(read: Callable[[str], object], case: Case) -> str | None:
    try:
        read(case["plan"] + " " * case.get("spaces", 0))
    except reader.Refusal as refusal:
        return str(refusal)
    except InvalidPlan as refusal:
        return refusal.reason
    return None


@pytest.mark.parametrize("read", [Plan.from_json, reader.read], ids=["library", "text alone"])
def test_each_plan_is_refused_for_its_reason(read: Callable[[str], object]) -> None:
    def check(case: Case) -> None:
        assert reason_of(read, case) == case["refused"]

    check_each(check, plans())


def test_every_reason_of_the_text_has_a_vector_and_no_other_is_given() -> None:
    text = (vectors.FOLDER.parent / "wire.md").read_text("utf-8")
    sections = text[text.index("**The text**") : text.index("**White space**")] + text[text.index("## 11.") :]
    rules = re.findall(r"^- (`.+?):", sections, re.MULTILINE | re.DOTALL)
    listed = {reason for rule in rules for reason in re.findall(r"`(.+?)`", re.sub(r"\(.*?\)", "", rule))}
    given = {case["refused"] for _, case in vectors.read_file("refusals")}
    assert given == (listed - {"cap"}) | {None}


def test_a_plan_just_inside_of_a_rule_fits_the_schema() -> None:
    inside = [(name, case) for name, case in plans() if case["refused"] is None]
    assert len(inside) > 50

    def check(case: Case) -> None:
        VALIDATOR.validate(json.loads(case["plan"]))

    check_each(check, inside)


def test_the_reading_of_the_text_uses_nothing_of_the_library() -> None:
    for file, own in (("reader.py", set()), ("memory.py", {"spec.reading.reader"})):
        tree = ast.parse((vectors.FOLDER.parent / "reading" / file).read_text("utf-8"))
        others = {name for name in imported(tree) if name.startswith(("deniable", "spec", "tests", "numpy"))}
        assert others == own


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def test_the_text_gives_the_losses_that_the_library_states() -> None:
    """Each ratio is the same fraction, and each figure the same integer."""

    def check(case: Case) -> None:
        plan, truth = Plan.from_json(case["plan"]), reader.read(case["plan"])["truth"]
        for name, ratio in (("R", plan.mechanism.ratio("record")), ("A", plan.mechanism.ratio("attribute"))):
            assert truth[name] == Fraction(*map(int, case[name])) == ratio
        stated = json.loads(case["plan"])["losses"]
        units = (stated.get("metric") or {"units": []})["units"]
        assert truth["record"] == stated["record"]
        assert truth["attribute"] == stated["attribute"]
        assert truth.get("repeated") == stated["repeated"]
        assert truth.get("metric", {"units": []})["units"] == [one["loss"] for one in units]

    check_each(check, vectors.read_file("losses"))


def test_a_cap_is_compared_with_what_the_text_says() -> None:
    def check(case: Case) -> None:
        plan = reader.read(case["plan"])
        before = [reader.read(one["plan"]) for one in case["answered"]]
        assert reader.is_allowed(plan, case["cap"], before) == case["accepted"]
        assert is_answered(case) == case["accepted"]

    check_each(check, vectors.read_file("caps"))


def test_a_device_that_remembers_counts_what_the_text_says() -> None:
    """The text alone says what is sent and counted, if it is told what would be drawn."""
    seen = set()

    def check(case: Case) -> None:
        plans = [reader.read(text) for text in case["plans"]]
        device = memory.Memory(case["cap"])
        for step in case["steps"]:
            text, secret = case["plans"][step["plan"]], bytes.fromhex(case["secret"])
            report = (
                dn.Client(text, secret=secret, plan_cap=math.inf)
                .report(step["answers"], step["round"])
                .to_bytes()
                .hex()
            )
            sent = device.answer(plans[step["plan"]], step["round"], step["change"], report)
            assert (sent, device.total()) == (step["report"], step["counted"])
            seen.add((step["round"] > 1, step["change"], sent is None, step["counted"] is None))

    check_each(check, vectors.read_file("ledgers"))
    assert {(False, True, True, False), (False, True, False, False), (True, False, False, False)} <= seen


def test_the_text_says_which_report_an_invitation_lets_in() -> None:
    def check(case: Case) -> None:
        sent = [(one["authorization"], bytes.fromhex(one["bytes"])) for one in case["batches"]]
        found = memory.admit(reader.read(case["plan"]), case["invitations"], sent)
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
    kinds = [*reader.NUMBERS, *reader.FAKES, "single", "split", "sample", "faked"]
    assert [kind for kind in kinds if f'"kind":"{kind}"' not in text] == []
