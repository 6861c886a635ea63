"""Audits of plans in which each device answers in some rounds: too often, never, always at the same times."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import deniable_device
from deniable.rounds import l_grr
from deniable.study import Plan
from deniable.wire import Report
from deniable_device.client import make_report, turns_of
from tests.audit.test_audits import SURE, audited
from tests.running import LIGHT_CLIENT, Run

ROUNDS, TURNS = 12, 3
PLAN = Plan.of({"smokes": ["yes", "no"]}, l_grr(2, 1.0, 2.0), 1000, rounds=ROUNDS).with_turns(TURNS)
LIGHT = deniable_device.Plan(PLAN.to_json())
"""Its devices are those that the library's audit looks at here: their code is another one."""
FEW = 100
"""Devices for each answer, of which every one that is wrong is found at once or in one of nine rounds."""
Client = Callable[[dict[str, str], bytes, int], bytes]


def answer_in_turn(answers: dict[str, str], secret: bytes, number: int) -> bytes:
    """The right device."""
    return answer_always(answers, secret, number) if number in turns_of(LIGHT, secret) else b""


def answer_always(answers: dict[str, str], secret: bytes, number: int) -> bytes:
    """A device that answers in every round, as if it were its first turn."""
    turns = turns_of(LIGHT, secret)
    report = make_report(LIGHT, answers, secret, number if number in turns else turns[0])
    return Report.from_bytes(report.to_bytes())._replace(round=number).to_bytes()


def answer_once_more(answers: dict[str, str], secret: bytes, number: int) -> bytes:
    """An unlucky device, which has one turn too many: the round after one of its own."""
    turns = turns_of(LIGHT, secret)
    return answer_always(answers, secret, number) if {number, number - 1} & {*turns} else b""


def answer_first(answers: dict[str, str], secret: bytes, number: int) -> bytes:
    """A device that always has its turns at once, as all others do."""
    return answer_always(answers, secret, number) if number <= TURNS else b""


def hide(answers: dict[str, str], secret: bytes, number: int) -> bytes:
    """A device that is silent where the answer is yes, which everybody sees."""
    return b"" if answers["smokes"] == "yes" else answer_in_turn(answers, secret, number)


def say_another_round(answers: dict[str, str], secret: bytes, number: int) -> bytes:
    """A device whose reports are all of the first round."""
    report = answer_in_turn(answers, secret, number)
    return Report.from_bytes(report)._replace(round=1).to_bytes() if report else b""


TOO_OFTEN = "answered in a round that is not their turn: a device answers in 3 of 12 rounds"
SILENT = "are missing: devices were silent in a round that is their turn"


@pytest.mark.parametrize(
    ("client", "says"),
    [
        (answer_always, f"200 devices of 200 {TOO_OFTEN}"),
        (answer_once_more, TOO_OFTEN),
        (answer_first, SILENT),
        (hide, SILENT),
        (say_another_round, "by their header (version, plan, round)"),
    ],
)
def test_devices_that_answer_at_other_times_fail(client: Client, says: str) -> None:
    audit = audited(client, trials=FEW, plan=PLAN)
    assert audit.verdict == "FAIL"
    assert says in audit.summary


def test_right_devices_pass_against_the_loss_of_their_turns() -> None:
    """One by one and in bulk."""
    assert audited(answer_in_turn, trials=FEW, plan=PLAN, level=SURE).passed
    audit = audited(PLAN, trials=500, level=SURE)
    assert audit.passed
    assert audit.setting.rounds == TURNS
    assert audit.claim == pytest.approx(l_grr(2, 1.0, 2.0).losses(TURNS, ROUNDS).same_value, abs=1e-8)


def test_a_program_is_silent_by_an_empty_line(run: Run) -> None:
    path = PLAN.write("plan.json")
    command = shlex.join([*LIGHT_CLIENT, str(path)])
    done = run("audit", "plan.json", "--trials", str(FEW), "--command", command)
    assert done.code == 0, done.out
    assert "1 pair, 3 rounds" in done.out
    Path("silent.py").write_text("import sys\nfor line in sys.stdin:\n    print()\n", encoding="utf-8")
    done = run("audit", "plan.json", "--trials", str(FEW), "--command", f"{sys.executable} silent.py")
    assert done.code == 3
    assert SILENT in done.out
