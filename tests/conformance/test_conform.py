"""Our clients answer the vectors by the protocol of spec/conformance.md, and clients with faults are found.

By day a client answers each twentieth case, by night all of them.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

from deniable.audit.command import Command
from deniable.conformance.cases import ANY, LEVELS, VERIFY, Case, find_vectors, read_cases, sound_plans
from deniable.conformance.check import KNOWN, NOT_STATED, Conformance, check_program
from tests.cases import by_night
from tests.running import LIGHT_CLIENT, Run
from tests.services import missing

ROOT = Path(__file__).parents[2]
CLIENTS = {
    "library": [sys.executable, "-m", "deniable.conformance"],
    "TypeScript": ["node", str(ROOT / "js" / "conform.mjs")],
    "device": [*LIGHT_CLIENT, "conform"],
}
FAULTS = {
    "a wrong label": """
        from deniable.randomness import words
        encode = words.encode_label
        words.encode_label = lambda label: encode("Noise" if label == "noise" else label)
        """,
    "p and q swapped": """
        from deniable.mechanisms.shapes import direct
        keep_or_other = direct.keep_or_other
        direct.keep_or_other = lambda values, words, k, keep: keep_or_other(values, words, k, 2**64 - keep)
        """,
    "a refusal that is skipped": """
        from deniable.plan.losses import Stated
        Stated.refuse_less = lambda stated, loss: None
        """,
    "losses rounded down": """
        from deniable.plan.losses import Stated
        from dataclasses import replace
        of = Stated.of
        Stated.of = lambda loss: replace(of(loss), record=of(loss).record - 1)
        """,
}
"""What is changed in the library's client; each of them is a mistake of a person who writes one."""
STATES = {
    "a wrong label": {"report", "steps"},
    "p and q swapped": {"report", "steps"},
    "a refusal that is skipped": {"verify"},
    "losses rounded down": {"verify"},
}
"""What each fault must be found by, and nothing else."""
EVERY = 20
OF_COLLECTORS = ("batches", "invitations", "rows", "protections")
"""Vectors that no client answers: those of a collector, and of what screens say of a plan."""


@cache
def all_cases() -> list[Case]:
    return read_cases(find_vectors())


def command_of(client: str) -> list[str]:
    if client == "TypeScript" and not (shutil.which("node") and (ROOT / "js" / "node_modules").is_dir()):
        missing("Node or the packages of js/ are not installed", "make js/node_modules/ready installs them")
    return CLIENTS[client]


def faulty(fault: str) -> list[str]:
    """The library's client with a fault."""
    lines = [line.strip() for line in fault.strip().splitlines()]
    return [
        sys.executable,
        "-c",
        "\n".join([*lines, "from deniable.conformance.library import main", "main()"]),
    ]


def scripted(*lines: str, then: str = "") -> list[str]:
    """A program that writes these lines, and what it does then."""
    text = "".join(f"print({line!r}, flush=True)\n" for line in lines)
    return [sys.executable, "-c", f"import json, sys\n{text}{then}"]


def first_line(*levels: str, version: int = 1) -> str:
    return json.dumps({"conform": version, "name": "small", "levels": levels})


def check(command: Sequence[str], cases: Sequence[Case]) -> Conformance:
    return check_program(Command(command), cases)


def describe(conformance: Conformance) -> list[str]:
    return [f"{failure.level}, {failure.case.name}: {failure.difference}" for failure in conformance.failures]


@by_night(
    ("client", "every"),
    [*((client, EVERY) for client in CLIENTS), *((client, 1) for client in CLIENTS)],
    *((client, 1) for client in CLIENTS),
)
def test_our_clients_conform(client: str, every: int) -> None:
    chosen = all_cases()[::every]
    conformance = check(command_of(client), chosen)
    assert describe(conformance) == []
    assert conformance.cases == len(chosen)
    assert conformance.client.levels == {*KNOWN}
    assert {row.level for row in conformance.rows} == {*LEVELS}


def test_every_vector_of_a_client_is_asked_for() -> None:
    """Each plan and each report of the vectors is in some request; only those of collectors are left out."""
    asked = {text.strip() for case in all_cases() for text in texts_in(case.request)}
    for file in sorted(find_vectors().rglob("*.json")):
        data = json.loads(file.read_text("utf-8"))
        for vector in data if isinstance(data, list) else data["cases"]:
            if file.stem in OF_COLLECTORS or (file.stem == "rfc9474" and len(vector["salt"]) != 96):
                continue  # a salt of another length is another scheme than that of tickets
            fields = ("plan", "plans", "bytes", "json", "typed", "prepared_msg", "blind_sig")
            texts = [*texts_in([vector[field] for field in fields if field in vector])]
            assert texts, (file.stem, vector["name"])
            assert {text.strip() for text in texts} <= asked, (file.stem, vector["name"])


def texts_in(data: object) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict | list):
        for part in data.values() if isinstance(data, dict) else data:
            yield from texts_in(part)


@by_night("fault", FAULTS, "a wrong label", "losses rounded down")
def test_a_client_with_a_fault_fails(fault: str) -> None:
    conformance = check(faulty(FAULTS[fault]), all_cases()[::EVERY])
    failing = {row.ask for row in conformance.rows if row.failed}
    assert failing
    assert failing <= STATES[fault]
    assert len(conformance.failures) == sum(row.failed for row in conformance.rows)


def test_a_small_client_must_refuse_what_is_beyond_its_levels() -> None:
    """Every plan that needs another level is asked for, and a client that verifies it fails."""
    small = """
        import json, sys
        from deniable.conformance import library
        library.LEVELS, library.VERIFY = ["single"], "read"
        """
    cases = all_cases()[::EVERY]
    conformance = check(faulty(small), cases)
    beyond = [needs for needs in sound_plans(cases).values() if not needs <= {"single", "read"}]
    [row] = [row for row in conformance.rows if row.level == NOT_STATED]
    assert row.cases == row.failed == len(beyond) > 20
    assert {failure.level for failure in conformance.failures} == {NOT_STATED}
    assert {row.level for row in conformance.rows} == {"single", "read", NOT_STATED}
    nothing = scripted(first_line("single"), then='for line in sys.stdin: print(\'{"refused": "kind"}\')')
    refusing = check(nothing, cases)
    assert not [row for row in refusing.rows if row.level == NOT_STATED and row.failed]
    assert [row for row in refusing.rows if row.level == "single" and row.failed]


def test_a_program_that_only_verifies_gets_plans_of_all_levels() -> None:
    program = "from deniable.conformance import library; library.LEVELS = []"
    conformance = check(faulty(program), all_cases()[::EVERY])
    assert (conformance.failures, {row.ask for row in conformance.rows}) == ((), {"verify"})
    assert {"single", "records", "rounds", "metric", "text"} <= {row.level for row in conformance.rows}


def test_only_equal_answers_are_right() -> None:
    case = Case("case", frozenset({"single"}), {"ask": "values"}, {"values": [1, None, -1]})
    for answer, is_right in {
        '{"values":[1,null,-1]}': True,
        '{"values":[1,null,-1],"more":2}': True,
        '{"values":[1.0,null,-1]}': False,
        '{"values":[true,null,-1]}': False,
        '{"values":[1,null]}': False,
        '{"values":null}': False,
        '{"values":[1,null,-1],"refused":"x"}': False,
        '{"values":[1,null,-1],"failed":"x"}': False,
        '{"refused":"x"}': False,
        "{}": False,
    }.items():
        program = scripted(first_line("single"), then=f"for line in sys.stdin: print({answer!r})")
        assert (check(program, [case]).failures == ()) is is_right, answer
    refused = Case("case", frozenset({"single"}), {"ask": "verify"}, {"refused": "leaks"})
    anyhow = Case("case", frozenset({"single"}), {"ask": "report"}, {"refused": ANY})
    for answer, failing in {'{"refused":"leaks"}': 0, '{"refused":"id"}': 1, "{}": 2}.items():
        program = scripted(first_line("single"), then=f"for line in sys.stdin: print({answer!r})")
        assert len(check(program, [refused, anyhow]).failures) == failing, answer


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (scripted(), "ended after 0 of 1 first lines, with exit code 0"),
        (scripted("hello"), "the first line of the program is no JSON object on one line: 'hello'"),
        (
            scripted(first_line("single", version=2)),
            'must state version 1 of the protocol, {"conform":1,...}',
        ),
        (scripted('{"conform":1,"levels":["single"]}'), 'must have a "name" and a list of "levels"'),
        (scripted(first_line("hard")), "'hard' is no level; the levels are single, records, rounds"),
        (scripted(first_line("single"), "{}"), "writes a second line before it is asked for anything"),
        (
            scripted(first_line("single"), then="for line in sys.stdin: print('x')"),
            "the answer to 'report' (grr 2, 0) is no JSON object on one line: 'x'",
        ),
        (
            scripted(
                first_line("single"),
                then="next(sys.stdin, None) and print('{}') or None\nnext(sys.stdin, 0) and [][0]",
            ),
            "list index out of range; the first line without an answer is 'grr 2, 1' (single, report)",
        ),
        (["no-such-program"], "'no-such-program' cannot be started"),
    ],
)
def test_a_program_that_does_not_follow_the_protocol_is_named(
    run: Run, program: list[str], said: str
) -> None:
    outcome = run("conform", "--command", shlex.join(program))
    assert outcome.code == 1
    assert said in outcome.err


def test_the_command_prints_what_fails(run: Run) -> None:
    wrong = 'for line in sys.stdin: print(\'{"failed": "not done"}\')'
    program = shlex.join(scripted(first_line("tickets"), then=wrong))
    outcome = run("conform", "--command", program)
    assert outcome.code == 4
    assert re.search(r"tickets +code +22 +0 +22", outcome.out)
    assert 'expected  {"tag": 259059' in outcome.out
    assert 'answered  {"failed": "not done"}' in outcome.out
    assert re.search(r"and [\d,]+ more cases; --json has all", outcome.out)
    data = json.loads(run("conform", "--command", program, "--json").out)
    assert (data["name"], data["levels"]) == ("small", ["tickets"])
    assert len(data["failures"]) == data["cases"] == sum(row["cases"] for row in data["rows"])
    assert run("conform", "--command", "'unclosed").code == 2


def test_the_page_of_the_protocol_names_all_levels_and_requests() -> None:
    text = (ROOT / "spec" / "conformance.md").read_text("utf-8")
    for name in {*LEVELS, VERIFY, *(case.request["ask"] for case in all_cases())}:
        assert f"| `{name}` |" in text, name
