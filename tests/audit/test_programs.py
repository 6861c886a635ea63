"""Audits of real programs, in Python and in Node, and of programs that do all that programs do wrong; exit
codes.
"""

from __future__ import annotations

import json
import math
import re
import shlex
import shutil
import sys
import time
from pathlib import Path

import pytest

import deniable as dn
from deniable.audit.independence import find_repetition
from deniable.study import Plan
from tests import statistics
from tests.running import Run
from tests.services import missing

LEVEL = 1 - statistics.SYSTEM_ALPHA
"""For right clients, whose words are the operating system's: their audits may fail by chance, so this must be
rare.
"""
SURE = ("--level", f"{LEVEL:.9f}")
NODE_CLIENT = Path(dn.__file__).parent / "collect" / "pages" / "client.mjs"

RIGHT = """
import base64, json, sys
import deniable as dn
from deniable.wire import Wire
plan = dn.Plan.read("plan.json")
for line in sys.stdin:
    asked = json.loads(line)
    client = dn.Client(plan, secret=bytes.fromhex(asked["secret"]), plan_cap=100.0)
    report = client.report(asked["answers"], asked["round"])
    raw = report.to_bytes()
    forms = [raw.hex(), base64.b64encode(raw).decode(), Wire(plan.document).to_json(report).decode()]
    print(forms[FORM])
"""
"""Its reports in hexadecimal, base64 or JSON."""
WORDS = """
import json, random, sys
import deniable as dn
from deniable.randomness.simulated import fixed
from deniable.wire import Report, Wire
plan = dn.Plan.read("plan.json")
wire, draw = Wire(plan.document), random.Random(SEED)
for line in sys.stdin:
    asked = json.loads(line)
    words = fixed([draw.getrandbits(64) for _ in range(plan.words)])
    body = wire.bodies(plan.privatize_codes(plan.encode([asked["answers"]]), words))[0]
    print(Report(wire.prefix, asked["round"], IDENTITY, body).to_bytes().hex())
"""
"""A client with a generator of its own, which keeps nothing from round to round."""


@pytest.fixture
def plan() -> Plan:
    """In a folder of its own, as `plan.json`."""
    made = dn.Study({"color": ["red", "green", "blue"], "smokes": ["yes", "no"]}, epsilon=1.0).plan(
        people=1000
    )
    made.write("plan.json")
    return made


def program(text: str) -> str:
    """A Python program, and the command that runs it."""
    Path("client.py").write_text(text, encoding="utf-8")
    return f"{shlex.quote(sys.executable)} client.py"


def node() -> str:
    if shutil.which("node") is None:
        missing("Node is not installed")
    return f"node {shlex.quote(str(NODE_CLIENT))} plan.json"


def test_a_right_program_passes(run: Run, plan: Plan) -> None:
    """In all forms, one line in this and another in that. The bound is 0.69 with a deviation of 0.05."""
    command = program(RIGHT.replace("FORM", 'int(asked["secret"], 16) % 3'))
    outcome = run("audit", "plan.json", "--command", command, "--trials", "1000", "--json", *SURE)
    assert outcome.code == 0, outcome.out + outcome.err
    found = json.loads(outcome.out)
    assert (found["verdict"], found["plan"], found["command"]) == ("PASS", plan.id, command)
    assert 0.3 < found["lower_bound"] <= found["claim"] == 1.0
    assert found["faults"] == []


@pytest.mark.long
@pytest.mark.parametrize(("rounds", "turns"), [(4, None), (9, 4)])
def test_our_client_in_node_keeps_its_answers(run: Run, rounds: int, turns: int | None) -> None:
    """It fails if it is held to less than it says: so the audit does see what it sends.

    300 devices give a bound of 1.1 with a standard deviation of 0.12, seven of which lie above 0.3.
    """
    made = Plan.of({"x": ["a", "b", "c"]}, dn.rounds.l_grr(3, 1.0, 2.0), people=1000, rounds=rounds)
    made.with_turns(turns).write("plan.json")
    asked = ("audit", "plan.json", "--command", f"{node()} --plan-cap 5", "--json")
    outcome = run(*asked, "--trials", "100", *SURE)
    assert outcome.code == 0, outcome.out + outcome.err
    assert json.loads(outcome.out)["claim"] < 2.0
    assert run(*asked, "--trials", "300", "--claim", "0.3").code == 3


@pytest.mark.long
def test_a_program_whose_json_is_not_canonical(run: Run, plan: Plan) -> None:
    """Nothing else is wrong with it, and nothing else is said of it."""
    command = program(RIGHT.replace("forms[FORM]", "json.dumps(json.loads(forms[2]))"))
    outcome = run("audit", "plan.json", "--command", command, "--trials", "200", "--json", *SURE)
    assert outcome.code == 3
    (fault,) = json.loads(outcome.out)["faults"]
    assert "refuses 600 of 600 reports, by their JSON form (not canonical: sorted keys, no spaces)" in fault


def test_one_sequence_twice_is_no_fault_where_chance_does_it() -> None:
    """Two starts that both sent one and the same report, or two that differ only in order, say nothing."""
    assert find_repetition([b"a"] * 256, [b"a"] * 256, headed=False) is None
    assert find_repetition([b"a", b"b"] * 3, [b"a", b"b"] * 3, headed=False) is None
    assert find_repetition([b"a", b"b"] * 128, [b"b", b"a"] * 128, headed=False) is None
    assert find_repetition([b"a", b"b"] * 128, [b"a", b"b"] * 128, headed=False) is not None


BROKEN = {
    "prints something else": ("print('Hello!')", "line 1 of the program's output is no report"),
    "prints nothing": ("", "ended after 0 of 256 reports, with exit code 0, without a word on stderr"),
    "dies": ("import sys; sys.exit('no plan here')", "with exit code 1; it said: no plan here"),
    "dies midway": (
        "input(); print('00'); raise OSError('disk is full')",
        "after 1 of 256 reports.*OSError: disk is full",
    ),
    "fails at its end": (
        "import sys; [print('00') for line in sys.stdin]; raise OSError('no room for the log')",
        "wrote all 256 reports and failed then, with exit code 1; it said: OSError: no room for the log",
    ),
    "writes too much": ("while True: print('00')", "more than a line for each of the 256 lines"),
    "empty lines": ("while True: print()", "line 1 of the program's output is no report"),
}
PATIENCE = "60"
"""Seconds for a program to start and to move: a tenth of one on a quiet machine."""


@pytest.mark.parametrize("how", BROKEN)
def test_a_program_that_cannot_be_audited(run: Run, plan: Plan, how: str) -> None:
    text, said = BROKEN[how]
    outcome = run("audit", "plan.json", "--command", program(text), "--timeout", PATIENCE)
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith("error: ")
    assert re.search(said, outcome.err), outcome.err


def test_a_program_that_hangs(run: Run, plan: Plan) -> None:
    command = program("import time; time.sleep(600)")
    outcome = run("audit", "plan.json", "--command", command, "--timeout", "0.5")
    assert (outcome.code, outcome.out) == (1, "")
    assert "error: the program hangs: for 0.5 s it has neither read nor written" in outcome.err


def test_what_a_program_has_started_is_ended_with_it(run: Run, plan: Plan) -> None:
    """Else its pipes would stay open, and nobody could tell that it hangs."""
    start = time.monotonic()
    outcome = run("audit", "plan.json", "--command", "sh -c 'sleep 50; true'", "--timeout", "0.5")
    assert outcome.code == 1
    assert "the program hangs" in outcome.err
    assert time.monotonic() - start < 20, "0.5 s and the start of a command; the program sleeps for 50 s"


def test_commands_that_are_none(run: Run, plan: Plan) -> None:
    assert (
        "'no-such-program' cannot be started" in run("audit", "plan.json", "--command", "no-such-program").err
    )
    assert run("audit", "plan.json", "--command", "'unclosed").code == 2
    assert run("audit", "plan.json", "--command", "").code == 2
    assert run("audit", "plan.json", "--trials", "7").code == 2
    assert run("audit", "plan.json", "--rounds", "3").code == 2
    assert run("audit", "plan.json", "--level", "2").code == 2
    assert run("audit", "nowhere.json").code == 1


def test_reports_that_no_collector_takes_fail(run: Run, plan: Plan) -> None:
    """They are read as bytes, whatever they are."""
    command = program("import sys, os\nfor line in sys.stdin: print(os.urandom(31).hex())")
    outcome = run("audit", "plan.json", "--command", command, "--trials", "200")
    assert outcome.code == 3
    assert "FAIL: a collector refuses 600 of 600 reports, by their header" in outcome.out


@pytest.mark.long
def test_the_python_client_of_a_plan(run: Run, plan: Plan) -> None:
    outcome = run("audit", "plan.json", "--trials", "2000", *SURE)
    assert outcome.code == 0
    assert "the Python client: 2,000 devices for each answer, 3 pairs" in outcome.out
    failed = run(
        "audit", "plan.json", "--trials", "20_000", "--claim", "0.5", "--per", "attribute", "--pairs", "every"
    )
    assert failed.code == 3
    assert "FAIL: epsilon is at least" in failed.out
    assert "above the claim of 0.5000" in failed.out


@pytest.mark.long
def test_a_program_that_sends_one_value_only_is_suspicious(run: Run) -> None:
    """It gives nothing away, but a right client does: neither a pass nor a failure."""
    made = Plan.of({"x": ["a", "b", "c"]}, dn.grr(3, 1.0), people=1000)
    made.write("plan.json")
    text = WORDS.replace("SEED", "").replace("IDENTITY", "draw.randbytes(16)")
    command = program(text.replace(", body).to_bytes", ", bytes([1])).to_bytes"))
    outcome = run("audit", "plan.json", "--command", command, "--trials", "1000")
    assert outcome.code == 4, outcome.out + outcome.err
    assert "SUSPICIOUS: 'supports one of the two answers only' shows 0.0000, but 0." in outcome.out
    assert "what a right client shows by fixed guesses" in outcome.out
    assert "PASS" not in outcome.out


@pytest.mark.long
def test_a_program_is_started_twice_at_once(run: Run) -> None:
    """So that a seed from the clock is the same: here the seed is how many have started until both have."""
    made = Plan.of({"x": ["a", "b", "c"]}, dn.grr(3, 1.0), people=1000)
    made.write("plan.json")
    seed = """
import os, pathlib, time
(pathlib.Path("started") / str(os.getpid())).touch()
end = time.monotonic() + 20
while time.monotonic() < end and len(os.listdir("started")) < 2:
    time.sleep(0.01)
together = len(os.listdir("started")) == 2 and time.monotonic() < end
"""
    Path("started").mkdir()
    text = WORDS.replace("SEED", "7 if together else os.getpid()").replace("IDENTITY", "os.urandom(16)")
    outcome = run("audit", "plan.json", "--command", program(seed + text), "--trials", "100")
    assert "from the same start it sent the same 256 reports twice" in outcome.out, outcome.out + outcome.err


def test_a_program_without_a_plan(tmp_path: Path) -> None:
    """Any format: here a word, randomized by a coin."""
    text = """
import json, random, sys
for line in sys.stdin:
    lie = random.random() < 0.2
    print((b"yes" if (json.loads(line)["answers"]["ill"] == "yes") != lie else b"no").hex())
"""
    script = tmp_path / "client.py"
    script.write_text(text, encoding="utf-8")
    client = dn.audit.Program([sys.executable, str(script)], None)
    found = dn.audit.lower_bound(
        client, [({"ill": "yes"}, {"ill": "no"})], trials=5000, claim=0.5, level=LEVEL
    )
    assert not found.passed
    assert 0.9 < found.lower_bound < math.log(4)
    assert found.faults == ()
    command = shlex.join([sys.executable, str(script)])  # as the command line takes it
    assert not dn.audit.lower_bound(command, ({"ill": "yes"}, {"ill": "no"}), trials=2000, claim=0.5).passed


def test_without_a_plan_nothing_is_taken_for_an_id(tmp_path: Path) -> None:
    """Long reports of another format, alike in all bytes but the last."""
    script = tmp_path / "client.py"
    script.write_text(
        "import os, sys\nfor line in sys.stdin: print('00' * 40 + os.urandom(1).hex())", encoding="utf-8"
    )
    client = dn.audit.Program([sys.executable, str(script)], None)
    found = dn.audit.lower_bound(client, [({"x": 1}, {"x": 2})], trials=200, claim=0.5, level=LEVEL)
    assert found.faults == ()
    assert found.lower_bound < 0.5
