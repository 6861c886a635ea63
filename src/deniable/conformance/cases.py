"""Makes cases of the vectors: what a program is asked, what it should answer, and which levels that takes.

Vectors of a collector (batches, rows, invitations) and of screens (protections) are no cases.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, final

from deniable.errors import FileMissing

LEVELS = ("single", "records", "rounds", "chains", "metric", "text", "tickets", "read", "ledger")
"""The levels of cases, in the order of spec/conformance.md."""
VERIFY = "verify"
"""The level of a program that verifies plans of all levels."""
ANY: Final = "any"
"""Stands for a field of an answer that may hold anything."""

_RECORDS = ("split", "sample", "faked", "near-sets", "near-bits", "product", "coarse")
_ROUNDS = ("memoized", "hashed-memoized", "pooled-memoized", "memoized-mean", "bit-flip")
_METRIC = ("grid", "number", "geometric", "planar-geometric", "duchi", "piecewise", "hybrid", "memoized-mean")
_TEXT = ("text", "code", "linear")
_TOGETHER = ("known", "ask", "several", "only_if", "answers", "answered", "exactly", "at_most")
_PLENTY = 1e9  # nats: a cap that everything with a bound is below
_SALT_BYTES = 48

Data = dict[str, Any]


@final
@dataclass(frozen=True)
class Case:
    """A request, and what a right program answers."""

    name: str
    needs: frozenset[str]
    """The levels that a program must state to be asked."""
    request: Mapping[str, Any]
    expected: Mapping[str, Any]

    @property
    def level(self) -> str:
        """The last level that the case needs."""
        return max(self.needs, key=LEVELS.index)


def find_vectors() -> Path:
    """The folder of the vectors: beside the installed package, or in the repository."""
    package = Path(__file__).parents[1]
    for folder in (package / "vectors", package.parents[1] / "spec" / "vectors"):
        if folder.is_dir():
            return folder
    raise FileMissing("this installation has no vectors; install the package again, or name their folder")


def read_cases(folder: Path) -> list[Case]:
    """All cases of the vectors of a folder, file by file."""
    return [case for file, make in _FILES.items() for vector in _read(folder, file) for case in make(vector)]


def sound_plans(cases: Iterable[Case]) -> dict[str, frozenset[str]]:
    """The plans that a client answers somewhere, with the levels that each needs."""
    return {
        case.request["plan"]: _levels(case.request["plan"])
        for case in cases
        if case.request["ask"] == "report" and "refused" not in case.expected
    }


def _read(folder: Path, file: str) -> list[Data]:
    try:
        data = json.loads((folder / f"{file}.json").read_text("utf-8"))
    except FileNotFoundError as problem:
        raise FileMissing(
            f"{folder} has no vectors: {problem.filename} does not exist; name spec/vectors of the repository"
        ) from None
    return data if isinstance(data, list) else [data]


def _case(name: str, needs: Iterable[str], expected: Mapping[str, Any], ask: str, **request: Any) -> Case:
    return Case(name, frozenset(needs), {"ask": ask, **request}, expected)


@lru_cache(maxsize=64)
def _levels(text: str) -> frozenset[str]:
    """The levels that a plan needs; of one that is broken, as far as it can be read."""
    needs = {"single"}
    try:
        plan = json.loads(text)
    except (ValueError, RecursionError):
        return frozenset(needs)
    if not isinstance(plan, dict):
        return frozenset(needs)
    kinds, fields = set[str](), set[str]()
    stated = plan.get("losses")
    losses: Data = stated if isinstance(stated, dict) else {}
    about = {name: part for name, part in plan.items() if name not in ("losses", "texts")}
    _collect(about, kinds, fields)
    attributes = plan.get("attributes")
    if (
        fields.intersection(_TOGETHER)
        or kinds.intersection(_RECORDS)
        or (isinstance(attributes, list) and len(attributes) != 1)
    ):
        needs.add("records")
    stated_rounds = plan.get("rounds") is not None or losses.get("repeated") is not None
    if kinds.intersection(_ROUNDS) or stated_rounds or "linked" in plan:
        needs.add("rounds")
    if kinds.intersection(_METRIC) or "maps" in plan or "metric" in losses:
        needs.add("metric")
    if kinds.intersection(_TEXT):
        needs.add("text")
    if "continues" in plan or "chain" in losses:
        needs.add("chains")
    if "ticket_key" in plan:
        needs.add("tickets")
    return frozenset(needs)


def _collect(data: object, kinds: set[str], fields: set[str]) -> None:
    """The kinds and the names of fields in a document."""
    waiting = [data]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            fields.update(part)
            if isinstance(part.get("kind"), str):
                kinds.add(part["kind"])
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part


def _reports(vector: Data) -> Iterator[Case]:
    """Words in, a report out, which is read in both forms; or a plan or a report that is refused."""
    if "words" not in vector:
        yield from _refusals(vector)
        return
    name, plan, needs = vector["name"], vector["plan"], _levels(vector["plan"])
    request = {field: vector[field] for field in ("plan", "secret", "round", "answers", "words", "id")}
    yield _case(name, needs, {"bytes": vector["bytes"]}, "report", **request)
    forms = {form: vector[form] for form in ("bytes", "json")}
    for form, report in forms.items():
        yield _case(f"{name}, {form}", needs | {"read"}, forms, "read", plan=plan, **{form: report})


def _refusals(vector: Data) -> Iterator[Case]:
    name, plan, refused = vector["name"], vector["plan"], vector["refused"]
    forms = {form: vector[form] for form in ("bytes", "json") if form in vector}
    if forms:
        yield _case(name, _levels(plan) | {"read"}, {"refused": refused}, "read", plan=plan, **forms)
        return
    expected = {"losses": ANY} if refused is None else {"refused": refused}
    yield _case(name, _levels(plan), expected, "verify", plan=plan + " " * vector.get("spaces", 0))


def _losses(vector: Data) -> Iterator[Case]:
    """A plan that states its true losses."""
    plan = vector["plan"]
    yield _case(
        f"losses, {vector['name']}",
        _levels(plan),
        {"losses": json.loads(plan)["losses"]},
        "verify",
        plan=plan,
    )


def _devices(vector: Data) -> Iterator[Case]:
    name, plan = f"a device, {vector['name']}", vector["plan"]
    request = {field: vector[field] for field in ("plan", "secret", "round", "answers")}
    report = vector["report"]
    expected = {"refused": ANY} if report is None else {"bytes": report}
    yield _case(name, _levels(plan), expected, "report", **request)
    if "questions" in vector:
        expected = {"questions": vector["questions"]}
        yield _case(name, _levels(plan), expected, "questions", plan=plan, secret=vector["secret"])


def _rounds(vector: Data) -> Iterator[Case]:
    name, plan, secret = vector["name"], vector["plan"], vector["secret"]
    if "steps" not in vector:
        request = {"secret": secret, "round": vector.get("refused_round", 1), "answers": {"city": "city 1"}}
        yield _case(name, _levels(plan), {"refused": ANY}, "report", plan=plan, **request)
        return
    steps = [
        {"plan": 0, "round": step["round"], "answers": step["answers"], "change": False}
        for step in vector["steps"]
    ]
    expected = {"steps": [{"bytes": step["report"]} for step in vector["steps"]]}
    request = {"plans": [plan], "secret": secret, "cap": _PLENTY, "steps": steps}
    yield _case(name, _levels(plan) | {"ledger"}, expected, "steps", **request)


def _caps(vector: Data) -> Iterator[Case]:
    """Plans that were answered, whatever they give away, and one more that is answered or not."""
    before = [(other["plan"], 1 + i) for other in vector["answered"] for i in range(other["rounds"])]
    plans = list(dict.fromkeys([plan for plan, _ in before] + [vector["plan"]]))
    steps = [_first_answers(plans, plan, i) | {"cap": _PLENTY} for plan, i in before]
    steps.append(_first_answers(plans, vector["plan"], 1))
    last = {"bytes": ANY} if vector["accepted"] else {"refused": "cap"}
    request = {"plans": plans, "secret": "5a" * 32, "cap": vector["cap"], "steps": steps}
    needs = frozenset().union(*map(_levels, plans)) | {"ledger"}
    yield _case(
        f"a cap, {vector['name']}",
        needs,
        {"steps": [{"bytes": ANY}] * len(before) + [last]},
        "steps",
        **request,
    )


def _first_answers(plans: list[str], plan: str, number: int) -> Data:
    attributes = json.loads(plan)["attributes"]
    answers = {attribute["name"]: attribute["domain"]["labels"][0] for attribute in attributes}
    return {"plan": plans.index(plan), "round": number, "answers": answers, "change": False}


def _ledgers(vector: Data) -> Iterator[Case]:
    steps, expected = [], []
    for step in vector["steps"]:
        steps.append({field: step[field] for field in ("plan", "round", "answers", "change")})
        refused = {"refused": step.get("refused", "cap")}
        answer = refused if step["report"] is None else {"bytes": step["report"]}
        expected.append({**answer, "counted": step["counted"]})
    request = {field: vector[field] for field in ("plans", "secret", "cap")}
    needs = frozenset().union(*map(_levels, vector["plans"])) | {"ledger"}
    yield _case(vector["name"], needs, {"steps": expected}, "steps", **request, steps=steps)


def _values(vector: Data) -> Iterator[Case]:
    """Every answer of a vector in one request, so that a wrong one is seen beside the others."""
    plan, answers = vector["plan"], vector["answers"]
    expected = {"values": [value for _, value in answers]}
    listed = [answer for answer, _ in answers]
    yield _case(f"answers, {vector['name']}", _levels(plan), expected, "values", plan=plan, answers=listed)


def _codes(vector: Data) -> Iterator[Case]:
    fields = ("refused",) if "refused" in vector else ("tag", "invitations")
    expected = {field: vector[field] for field in fields}
    request = {"typed": vector["typed"], "plans": vector.get("plans", [])}
    yield _case(f"a code, {vector['name']}", ("tickets",), expected, "code", **request)


def _tickets(vector: Data) -> Iterator[Case]:
    """The cases of RFC 9474 whose salt is as long as a ticket's, and signatures that are none."""
    key = vector["key"]["n"]
    modulus = int(key, 16)
    for case in vector["cases"]:
        if len(case["salt"]) != 2 * _SALT_BYTES:
            continue
        factor = f"{pow(int(case['inv'], 16), -1, modulus):0{len(key)}x}"
        request = {"key": key, "prepared": case["prepared_msg"], "factor": factor}
        yield _case(
            case["name"],
            ("tickets",),
            {"blinded": case["blinded_msg"]},
            "blind",
            **request,
            salt=case["salt"],
        )
        ticket = f"{_base64(case['prepared_msg'])}.{_base64(case['sig'])}"
        signature = case["blind_sig"]
        yield _case(case["name"], ("tickets",), {"ticket": ticket}, "unblind", **request, signature=signature)
        other = signature[:-1] + ("0" if signature[-1] != "0" else "1")
        for name, wrong in (("another signature", other), ("a short signature", signature[2:])):
            full = f"{case['name']}, {name}"
            yield _case(full, ("tickets",), {"refused": ANY}, "unblind", **request, signature=wrong)
    plan, prefix = "3f" * 32, bytes(range(32)).hex()
    prepared = prefix + b"deniable ticket".hex() + plan
    yield _case("a message", ("tickets",), {"prepared": prepared}, "prepare", plan=plan, prefix=prefix)


def _base64(digits: str) -> str:
    return base64.urlsafe_b64encode(bytes.fromhex(digits)).decode().rstrip("=")


_FILES: dict[str, Callable[[Data], Iterator[Case]]] = {
    **dict.fromkeys(("single", "split", "sample", "faked", "near", "nested"), _reports),
    **dict.fromkeys(
        ("questions", "tables", "levels", "known", "repeated", "metric/reports", "text"), _reports
    ),
    "devices": _devices,
    **dict.fromkeys(("answers", "grids", "text-answers"), _values),
    **dict.fromkeys(("refusals", "hostile-plans", "metric/hostile-plans"), _refusals),
    **dict.fromkeys(("hostile-reports", "metric/hostile-reports"), _refusals),
    "losses": _losses,
    "rounds": _rounds,
    "caps": _caps,
    "ledgers": _ledgers,
    "codes": _codes,
    "rfc9474": _tickets,
}
