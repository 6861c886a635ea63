"""Asks a program for every case of its levels, and compares what it answers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, final

from deniable.audit.command import Command, ProgramFailed
from deniable.conformance.cases import ANY, LEVELS, VERIFY, Case, sound_plans
from deniable.conformance.library import VERSION
from deniable.frames import Show

_SHOWN = 60  # characters of a line that cannot be read
KNOWN = (*LEVELS, VERIFY)
"""What a program may state."""
NOT_STATED = "not stated"
"""The row of plans beyond the levels of a program, which it must refuse."""


@final
@dataclass(frozen=True)
class Client:
    """What a program states in its first line."""

    name: str
    levels: frozenset[str]


@final
@dataclass(frozen=True)
class Failure:
    """A case that a program answered otherwise than it should."""

    level: str
    case: Case
    answer: Mapping[str, Any]

    @property
    def difference(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """What was expected and what was answered; of two lists, the first parts that differ."""
        for name, parts in self.case.expected.items():
            answered = self.answer.get(name)
            if isinstance(parts, list) and isinstance(answered, list):
                for i, (part, right) in enumerate(zip(answered, parts, strict=False)):
                    if not _is_same([part], [right]):
                        return {f"{name}[{i}]": right}, {f"{name}[{i}]": part}
        return self.case.expected, self.answer


@final
@dataclass(frozen=True)
class Row:
    """How many cases of a level there are for one thing that is asked, and how many failed."""

    level: str
    ask: str
    cases: int
    failed: int


@final
@dataclass(frozen=True)
class Conformance:
    """What a program answered to all cases of its levels."""

    client: Client
    rows: tuple[Row, ...]
    failures: tuple[Failure, ...]

    @property
    def cases(self) -> int:
        """How many cases the program was asked for."""
        return sum(row.cases for row in self.rows)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain data."""
        return {
            "name": self.client.name,
            "levels": sorted(self.client.levels, key=KNOWN.index),
            "cases": self.cases,
            "rows": [asdict(row) for row in self.rows],
            "failures": [
                {
                    "level": failure.level,
                    "name": failure.case.name,
                    "asked": dict(failure.case.request),
                    "expected": dict(failure.case.expected),
                    "answered": dict(failure.answer),
                }
                for failure in self.failures
            ],
        }


def check_program(command: Command, cases: Sequence[Case], show: Show | None = None) -> Conformance:
    """Start a program twice: to read what it states, and to ask for all cases of its levels."""
    [client] = command.run(iter(()), 1, _read_client, "first lines")
    selected = list(_select(client, cases))
    answers: list[Mapping[str, Any]] = []

    def read(line: bytes, number: int) -> None:
        if number > 1:
            answers.append(_read_answer(line, selected[number - 2][1]))
            if show is not None:
                show(len(answers), len(selected))

    lines = (f"{json.dumps(case.request)}\n".encode() for _, case in selected)
    try:
        command.run(lines, len(selected) + 1, read, "lines")
    except ProgramFailed as problem:
        if not 0 < len(answers) < len(selected):
            raise
        level, case = selected[len(answers)]
        raise ProgramFailed(
            f"{problem}; the first line without an answer is {case.name!r} ({level}, {case.request['ask']})"
        ) from None
    failures = [
        Failure(level, case, answer)
        for (level, case), answer in zip(selected, answers, strict=True)
        if not _is_right(answer, case.expected)
    ]
    counts = Counter((level, case.request["ask"]) for level, case in selected)
    wrong = Counter((failure.level, failure.case.request["ask"]) for failure in failures)
    rows = (Row(level, ask, count, wrong[level, ask]) for (level, ask), count in counts.items())
    order = [*LEVELS, NOT_STATED]
    return Conformance(client, tuple(sorted(rows, key=lambda row: order.index(row.level))), tuple(failures))


def _select(client: Client, cases: Sequence[Case]) -> Iterator[tuple[str, Case]]:
    """The cases of the levels that a client states, and plans beyond them, each with its row."""
    for case in cases:
        if case.needs <= client.levels or (VERIFY in client.levels and case.request["ask"] == "verify"):
            yield case.level, case
    if VERIFY not in client.levels:
        for number, (plan, needs) in enumerate(sound_plans(cases).items(), 1):
            if not needs <= client.levels:
                missing = ", ".join(level for level in LEVELS if level in needs - client.levels)
                name = f"plan {number}, which needs {missing}"
                request = {"ask": "verify", "plan": plan}
                yield NOT_STATED, Case(name, needs, request, {"refused": ANY})


def _read_client(line: bytes, number: int) -> Client:
    if number > 1:
        raise ProgramFailed("the program writes a second line before it is asked for anything")
    first = _read_object(line, "the first line of the program")
    if first.get("conform") != VERSION:
        raise ProgramFailed(
            f"the first line of the program must state version {VERSION} of the protocol, "
            f'{{"conform":{VERSION},...}}, got {_excerpt(line)}; spec/conformance.md says how'
        )
    name, levels = first.get("name"), first.get("levels")
    if not isinstance(name, str) or not isinstance(levels, list) or not levels:
        raise ProgramFailed(
            f'the first line of the program must have a "name" and a list of "levels", got {_excerpt(line)}'
        )
    for level in levels:
        if level not in KNOWN:
            raise ProgramFailed(f"{level!r} is no level; the levels are {', '.join(KNOWN)}")
    return Client(name, frozenset(levels))


def _read_answer(line: bytes, case: Case) -> Mapping[str, Any]:
    return _read_object(line, f"the answer to {case.request['ask']!r} ({case.name})")


def _read_object(line: bytes, what: str) -> Mapping[str, Any]:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        raise ProgramFailed(f"{what} is no JSON object on one line: {_excerpt(line)}")
    return data


def _excerpt(line: bytes) -> str:
    return repr(line.decode(errors="replace").strip()[:_SHOWN])


def _is_right(answer: object, expected: Mapping[str, Any]) -> bool:
    """Whether an answer has all fields that are expected; 1.0 and true are not 1."""
    if not isinstance(answer, dict) or "failed" in answer or ("refused" in answer) != ("refused" in expected):
        return False
    return all(name in answer and _is_same(answer[name], value) for name, value in expected.items())


def _is_same(answered: object, expected: object) -> bool:
    if expected == ANY:
        return answered is not None
    if isinstance(expected, list) and any(isinstance(part, dict) for part in expected):
        return (
            isinstance(answered, list)
            and len(answered) == len(expected)
            and all(_is_right(part, right) for part, right in zip(answered, expected, strict=True))
        )
    return json.dumps(answered, sort_keys=True) == json.dumps(expected, sort_keys=True)
