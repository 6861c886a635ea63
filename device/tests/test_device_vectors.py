"""Every vector of a client: plans, losses, reports, answers, ledgers, codes and tickets."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from fractions import Fraction
from functools import partial

import pytest
from vectors import ROOT, Case, check_each, read_plan, read_vectors, reason_of

from deniable_device import Client, InvalidAnswer, InvalidParameter, Ledger, Plan, tickets
from deniable_device.answers import Answers
from deniable_device.carried import lifted
from deniable_device.client import make_report, questions_of
from deniable_device.codes import read_code
from deniable_device.wire import from_bytes, from_json

REPORTS = ("single", "split", "sample", "faked", "near", "repeated", "nested", "metric/reports", "devices")
QUESTIONS = ("questions", "tables", "levels", "known", "text")
REFUSED = ("refusals", "hostile-plans", "metric/hostile-plans", "near", "nested")
HOSTILE = ("hostile-reports", "metric/hostile-reports", "near", "nested")


def test_each_plan_is_refused_for_its_reason() -> None:
    def check(case: Case) -> None:
        text = case["plan"] + " " * case.get("spaces", 0)
        assert reason_of(lambda: Plan(text)) == case["refused"]

    plans = [
        case for case in read_vectors(*REFUSED) if "refused" in case and not {"bytes", "json"} & set(case)
    ]
    assert len(plans) > 1000
    check_each(check, plans)


def test_losses_are_the_same_fractions_and_integers() -> None:
    def check(case: Case) -> None:
        truth = read_plan(case["plan"]).truth
        assert tuple(Fraction(*map(int, case[name])) for name in "RA") == (truth.R, truth.A)
        assert truth.stated() == json.loads(case["plan"])["losses"]

    check_each(check, read_vectors("losses"))


def test_reports_have_the_same_bytes_and_json() -> None:
    def check(case: Case) -> None:
        plan, secret = read_plan(case["plan"]), bytes.fromhex(case["secret"])
        words = [int(word, 16) for word in case["words"]] if "words" in case else None
        name = bytes.fromhex(case["id"]) if "id" in case else None
        if case.get("report", "") is None:
            with pytest.raises(InvalidAnswer):
                make_report(plan, case["answers"], secret, case["round"])
            return
        report = make_report(plan, case["answers"], secret, case["round"], words, name)
        data = bytes.fromhex(case.get("bytes") or case["report"])
        assert report.to_bytes() == data
        assert report.to_json() == case.get("json", report.to_json())
        assert from_bytes(plan, data).to_json() == report.to_json()
        assert from_json(plan, report.to_json()).to_bytes() == data
        if "questions" in case:
            assert questions_of(plan, secret) == case["questions"]

    check_each(check, [case for case in read_vectors(*REPORTS, *QUESTIONS) if "refused" not in case])


def test_each_report_is_refused_for_its_reason() -> None:
    def check(case: Case) -> None:
        plan = read_plan(case["plan"])
        if "bytes" in case:
            assert reason_of(lambda: from_bytes(plan, bytes.fromhex(case["bytes"]))) == case["refused"]
        else:
            assert reason_of(lambda: from_json(plan, case["json"])) == case["refused"]

    refused = [case for case in read_vectors(*HOSTILE) if "refused" in case and {"bytes", "json"} & set(case)]
    check_each(check, refused)


def test_answers_have_their_values() -> None:
    def check(case: Case) -> None:
        plan = read_plan(case["plan"])
        attribute = plan.attributes[0]
        for answer, value in case["answers"]:
            try:
                code = Answers(plan, {attribute.name: answer}).code(attribute)
            except InvalidAnswer:
                assert value is None, answer
                continue
            assert (-1 if code is None else code) == (value if value is None else int(value)), answer

    check_each(check, read_vectors("answers", "grids", "text-answers"))


def answer(plan: str, ledger: Ledger, step: Case, reports: list[str]) -> None:
    client = Client.open(plan, ledger=ledger)
    report = client.report(step["answers"], step["round"], change=step["change"])
    reports.append(report.to_bytes().hex())


def test_a_ledger_counts_what_plans_give_away() -> None:
    seen = set()

    def check(case: Case) -> None:
        ledger = Ledger(secret=bytes.fromhex(case["secret"]))
        if case["cap"] is not None:
            ledger.cap = case["cap"]
        for step in case["steps"]:
            reports: list[str] = []
            refused = reason_of(partial(answer, case["plans"][step["plan"]], ledger, step, reports))
            assert refused == (None if step["report"] else step.get("refused", "cap"))
            seen.add((step["round"] > 1, step["change"], refused))
            assert (reports, ledger.total()) == ([step["report"]] if step["report"] else [], step["counted"])

    check_each(check, read_vectors("ledgers"))
    assert {(False, True, "cap"), (False, True, None), (True, False, None)} <= seen


def test_a_cap_is_compared_with_what_a_plan_states() -> None:
    def check(case: Case) -> None:
        ledger = Ledger(secret=bytes(32))
        for before in case["answered"]:
            client = Client.open(before["plan"], ledger=ledger, cap=math.inf)
            for number in range(1, before["rounds"] + 1):
                client.report(first_answers(client.plan), number)
        reason = reason_of(lambda: Client.open(case["plan"], ledger=ledger, cap=case["cap"]))
        assert reason == (None if case["accepted"] else "cap")

    check_each(check, read_vectors("caps"))


def first_answers(plan: Plan) -> dict[str, str]:
    return {attribute.name: attribute.domain.labels[0] for attribute in plan.attributes}


def test_a_round_is_answered_once_and_a_short_secret_refused() -> None:
    def check(case: Case) -> None:
        secret = bytes.fromhex(case["secret"])
        if case.get("refused_secret"):
            with pytest.raises(InvalidParameter, match="at least 16 bytes"):
                Client.open(case["plan"], secret=secret, cap=math.inf)
            return
        client = Client.open(case["plan"], ledger=Ledger(secret=secret), cap=math.inf)
        if "refused_round" in case:
            with pytest.raises(InvalidParameter, match="round must be"):
                client.report(first_answers(client.plan), case["refused_round"])
            return
        alone = Client.open(case["plan"], secret=secret, cap=math.inf)
        for step in case["steps"]:
            for device in (client, alone):
                report = device.report(step["answers"], step["round"])
                assert report.to_bytes().hex() == step["report"]

    check_each(check, read_vectors("rounds"))


def test_codes_stand_for_invitations() -> None:
    def check(case: Case) -> None:
        if "refused" in case:
            assert reason_of(lambda: read_code(case["typed"])) == case["refused"]
            return
        code = read_code(case["typed"])
        assert code.tag == case["tag"]
        assert [code.invitation(plan) for plan in case["plans"]] == case["invitations"]

    check_each(check, read_vectors("codes"))


def rfc9474() -> tuple[int, Case]:
    data = json.loads((ROOT / "spec/vectors/rfc9474.json").read_text("utf-8"))
    return int(data["key"]["n"], 16), data["cases"][0]


def test_tickets_are_those_of_the_standard() -> None:
    key, case = rfc9474()
    prepared, salt = bytes.fromhex(case["prepared_msg"]), bytes.fromhex(case["salt"])
    factor = pow(int(case["inv"], 16), -1, key)
    signature = bytes.fromhex(case["blind_sig"])
    assert tickets.blind(key, prepared, salt, factor).hex() == case["blinded_msg"]
    ticket = tickets.unblind(key, prepared, factor, signature)
    assert tickets.is_signed(key, prepared, bytes.fromhex(case["sig"]))
    assert ticket == ".".join(
        base64.urlsafe_b64encode(data).rstrip(b"=").decode()
        for data in (prepared, bytes.fromhex(case["sig"]))
    )
    wrong = [
        signature[:-1],
        signature[:-1] + bytes([signature[-1] ^ 1]),
        bytes(len(signature)),
        key.to_bytes(len(signature), "big"),
    ]
    refusals = [reason_of(partial(tickets.unblind, key, prepared, factor, each)) for each in wrong]
    assert refusals == ["signature"] * 4


def test_the_same_invitation_has_the_same_blinding() -> None:
    key, _ = rfc9474()
    plan = hashlib.sha256(b"a plan").hexdigest()
    first, again, other = (
        tickets.blinding(key, plan, bytes(32), invitation) for invitation in ("one", "one", "another")
    )
    assert first == again
    assert first.message() != other.message()
    assert first.prepared[32:] == b"deniable ticket" + bytes.fromhex(plan)


def test_no_raised_answer_is_less_likely_than_three_words_can_choose() -> None:
    weights = [Fraction(1, 1 << 200), Fraction(0), Fraction(3), Fraction(1, 1 << 100)]
    ranges = lifted([(start, weight, 2 * weight) for start, weight in enumerate(weights)])
    total = 2 * sum(weights, Fraction(0))
    assert ranges[0] == (0, total / (1 << 128), 2 * total / (1 << 128))
    assert ranges[1:] == [(start, weights[start], 2 * weights[start]) for start in (1, 2, 3)]
