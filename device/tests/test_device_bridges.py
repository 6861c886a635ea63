"""The same bytes as both other clients, of plans and answers at random; and audits."""

from __future__ import annotations

import json
import random
import shlex
import shutil
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from tests.cases import by_night
from tests.random_studies import draw_studies
from tests.services import missing
from vectors import ROOT, Case, check_each, read_plan

import deniable as dn
from deniable_device import InvalidAnswer, Plan, conform
from deniable_device.client import make_report
from deniable_device.domains import Categories, Domain, Number, Range, Text
from deniable_device.wire import from_bytes

DAY, NIGHT = 60, 2000
TRIALS = 3000
FIGURES = ("one_report", "same_value", "one_value_forever", "changing_values", "changing_values_usual")


@lru_cache(maxsize=1)
def random_cases(count: int) -> list[Case]:
    """Plans of every kind with answers and the library's reports."""
    program = [sys.executable, str(ROOT / "js" / "tests" / "cases.py"), "33", str(count)]
    lines = subprocess.run(program, capture_output=True, check=True, text=True).stdout.splitlines()
    return [json.loads(line) for line in lines]


@by_night("count", [DAY, NIGHT], NIGHT)
def test_random_plans_give_the_bytes_and_losses_of_the_library(count: int) -> None:
    def check(case: Case) -> None:
        plan, secret = Plan(case["plan"]), bytes.fromhex(case["secret"])
        words = [int(word, 16) for word in case["words"]]
        report = make_report(plan, case["answers"], secret, case["round"], words, bytes.fromhex(case["id"]))
        device = make_report(plan, case["answers"], secret, case["round"]).to_bytes()
        assert (report.to_bytes().hex(), report.to_json()) == (case["bytes"], case["json"])
        assert device.hex() == case["device"]
        assert from_bytes(plan, device).to_bytes() == device
        truth = plan.truth
        losses = [truth.record, truth.attribute]
        if truth.repeated is not None:
            losses += [truth.repeated[name] for name in FIGURES]
        # the library rounds a logarithm up as a float, and may find one billionth more
        for loss, stated in zip(losses, case["losses"], strict=True):
            assert loss == stated or (loss is not None and loss + 1 == stated)

    check_each(check, random_cases(count))


@by_night("count", [DAY, NIGHT], NIGHT)
def test_random_plans_give_the_bytes_and_losses_of_typescript(count: int) -> None:
    if not (shutil.which("node") and (ROOT / "js" / "node_modules").is_dir()):
        missing("Node or the packages of js/ are not installed", "make js/node_modules/ready installs them")
    lines = []
    for case in random_cases(count):
        fields = ("plan", "secret", "round", "answers")
        lines.append(json.dumps({"ask": "report", **{name: case[name] for name in fields}}))
        lines.append(json.dumps({"ask": "verify", "plan": case["plan"]}))
    program = subprocess.run(
        ["node", str(ROOT / "js" / "conform.mjs")],
        input="\n".join(lines),
        capture_output=True,
        check=True,
        text=True,
    )
    answers = list(map(json.loads, program.stdout.splitlines()))[1:]
    ours = list(map(conform.answer, lines))
    assert len(answers) == len(lines) > 0
    assert [line for line, answer, own in zip(lines, answers, ours, strict=True) if answer != own] == []
    assert not any("failed" in answer for answer in answers)


def draw_answer(dice: random.Random, domain: Domain) -> Any:
    if isinstance(domain, Categories):
        return dice.choice(domain.labels)
    if isinstance(domain, Range):
        return (domain.low + dice.randrange(domain.k) * domain.step) / 10**domain.digits
    if isinstance(domain, Number):
        return dice.uniform(domain.low, domain.high)
    if isinstance(domain, Text):
        return "".join(dice.choices(list(domain.letters), k=dice.randint(1, domain.longest)))
    return dice.randrange(domain.k)


def draw_answers(dice: random.Random, plan: Plan) -> dict[str, Any]:
    """Answers to most questions of a plan; some do not apply, or leave out what must be answered."""
    questions = {factor.name: factor.domain for factor in plan.known}
    questions.update(question for attribute in plan.attributes for question in attribute.questions)
    answers = {name: draw_answer(dice, domain) for name, domain in questions.items() if dice.random() < 0.8}
    for name, options in plan.several.items():
        for option in options:
            answers.pop(option.name, None)
        answers[name] = [option.name[len(name) + 2 :] for option in options if dice.random() < 0.5]
    return answers


@by_night("count", [12, 300], 300)
def test_random_questionnaires_give_the_bytes_of_the_library(count: int, tmp_path: Path) -> None:
    """Conditions, options, tables, levels and known groups; both clients refuse the same answers."""
    dice, outcomes = random.Random(count), []
    for study in draw_studies(count, tmp_path, seed=count):
        text = study.plan.to_json()
        for _ in range(6):
            secret, answers = dice.randbytes(32), draw_answers(dice, read_plan(text))
            try:
                expected = dn.Client(text, secret=secret, plan_cap=1e12).report(answers, 1).to_bytes()
            except dn.DeniableError:
                with pytest.raises(InvalidAnswer):
                    make_report(read_plan(text), answers, secret, 1)
                outcomes.append("refused")
                continue
            assert make_report(read_plan(text), answers, secret, 1).to_bytes() == expected
            outcomes.append("the same")
    assert min(map(outcomes.count, ("refused", "the same"))) > count


def protocols() -> list[str]:
    return sorted(dn.PROTOCOLS)


@by_night("protocol", protocols(), *[name for name in protocols() if name not in ("grr", "oue")])
def test_an_audit_passes(protocol: str, tmp_path: Path) -> None:
    """A right client fails with a chance below 1 in 10,000. The test after this one shows that a client of
    another plan is found."""
    plan = dn.Plan.of({"color": list("abcde")}, dn.PROTOCOLS[protocol].make(5, 1.0), people=1000)
    assert audit(plan, plan, tmp_path).verdict == "PASS"


def test_an_audit_finds_a_client_of_another_plan(tmp_path: Path) -> None:
    loud, plan = (
        dn.Plan.of({"color": ["a", "b"]}, dn.grr(2, epsilon), people=1000) for epsilon in (3.0, 1.0)
    )
    assert audit(plan, loud, tmp_path).verdict == "FAIL"


def audit(plan: Any, used: Any, folder: Path) -> Any:
    """The audit of a device that uses a plan; one that is not the plan's own pretends to be."""
    path = used.write(folder / "plan.json")
    program = shlex.join([sys.executable, str(folder / "program.py")])
    (folder / "program.py").write_text(
        PROGRAM.format(source=str(ROOT / "device" / "src"), plan=str(path), id=plan.id)
    )
    return dn.audit.lower_bound(program, plan=plan, trials=TRIALS, words=dn.seeded(1))


PROGRAM = """
import sys
sys.path.insert(0, {source!r})
import builtins
from deniable_device import __main__
shown = print
def print(line, **options):
    shown(line[:2] + {id!r}[:16] + line[18:] if not options else line, **options)
__main__.print = print
sys.exit(__main__.main([{plan!r}]))
"""
