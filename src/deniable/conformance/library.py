"""Answers the lines of spec/conformance.md with the library's own client.

`python -m deniable.conformance` is the program.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from functools import reduce

from deniable.client import Client, Ledger
from deniable.conformance.cases import LEVELS, VERIFY, Data
from deniable.errors import DeniableError, InvalidParameter, InvalidValue
from deniable.plan import InvalidPlan
from deniable.plan.losses import Stated
from deniable.randomness.simulated import fixed
from deniable.randomness.words import Device
from deniable.study import Plan
from deniable.tickets import PublicKey, Ticket, derive_invitation, message_of, read_code
from deniable.tickets.codes import SYMBOLS
from deniable.wire import Report, Wire

VERSION = 1
"""The version of the protocol."""


def main() -> None:
    """Answer each line, after the first, which says what this client is."""
    levels = [*LEVELS, VERIFY]
    _write({"conform": VERSION, "name": "the Python client of deniable", "levels": levels})
    for line in sys.stdin:
        _write(_answer(json.loads(line)))


def _write(answer: Data) -> None:
    sys.stdout.write(f"{json.dumps(answer)}\n")
    sys.stdout.flush()


def _answer(request: Data) -> Data:
    try:
        answer = _ANSWERS.get(request["ask"])
        if answer is None:
            return {"failed": f"asked for {request['ask']!r}, which this version does not know"}
        return answer(request)
    except DeniableError as refusal:
        return {"refused": getattr(refusal, "reason", "") or type(refusal).__name__}


def _verify(request: Data) -> Data:
    return {"losses": Stated.of(Plan.from_json(request["plan"]).verify()).to_dict()}


def _report(request: Data) -> Data:
    if "words" not in request:
        client = _device(request)
        return {"bytes": client.report(request["answers"], request["round"]).to_bytes().hex()}
    plan, secret = Plan.from_json(request["plan"]), bytes.fromhex(request["secret"])
    words = fixed([int(word, 16) for word in request["words"]])
    body = plan.privatize([request["answers"]], Device(secret, [plan.id], words))
    wire = Wire(plan.document)
    name = bytes.fromhex(request["id"])
    report = Report(wire.prefix, request["round"], name, wire.bodies(body)[0])
    return {"bytes": wire.check(report).to_bytes().hex()}


def _device(request: Data) -> Client:
    return Client(request["plan"], secret=bytes.fromhex(request["secret"]), plan_cap=math.inf)


def _questions(request: Data) -> Data:
    return {"questions": list(_device(request).questions)}


def _values(request: Data) -> Data:
    plan = Plan.from_json(request["plan"])
    [attribute], [part] = plan.document.attributes, plan.document.parts

    def value(answer: object) -> object:
        try:
            [code] = attribute.domain.codes([answer])
        except InvalidValue:
            return None
        return int(code) if part.listed else str(code)

    return {"values": [value(answer) for answer in request["answers"]]}


def _read(request: Data) -> Data:
    wire = Wire(Plan.from_json(request["plan"]).document)
    if "json" in request:
        report = wire.from_json(request["json"].encode())
    else:
        report = wire.check(Report.from_bytes(bytes.fromhex(request["bytes"])))
    return {"bytes": report.to_bytes().hex(), "json": wire.to_json(report).decode()}


def _steps(request: Data) -> Data:
    ledger = Ledger(secret=bytes.fromhex(request["secret"]))
    ledger.cap = request["cap"]

    def follow(step: Data) -> Data:
        try:
            client = Client(request["plans"][step["plan"]], ledger=ledger, cap=step.get("cap"))
            report = client.report(step["answers"], step["round"], change=step["change"])
        except InvalidPlan as refusal:
            return {"refused": refusal.reason}
        return {"bytes": report.to_bytes().hex()}

    return {"steps": [follow(step) | {"counted": ledger.lifetime().changing} for step in request["steps"]]}


def _code(request: Data) -> Data:
    code = read_code(request["typed"])
    invitations = [derive_invitation(code, plan) for plan in request["plans"]]
    tag = reduce(lambda number, symbol: 32 * number + SYMBOLS.index(symbol), code[:4], 0)
    return {"tag": tag, "invitations": invitations}


def _blind(request: Data) -> Data:
    prepared, salt = bytes.fromhex(request["prepared"]), bytes.fromhex(request["salt"])
    key = PublicKey.from_text(request["key"])
    return {"blinded": key.blind(prepared, salt, int(request["factor"], 16)).hex()}


def _unblind(request: Data) -> Data:
    key, prepared = PublicKey.from_text(request["key"]), bytes.fromhex(request["prepared"])
    signature = key.unblind(bytes.fromhex(request["signature"]), int(request["factor"], 16))
    if not key.verify(prepared, signature):
        raise InvalidParameter("the signature is not one of the key")
    return {"ticket": Ticket(prepared, signature).to_text()}


def _prepare(request: Data) -> Data:
    return {"prepared": request["prefix"] + message_of(request["plan"]).hex()}


_ANSWERS: dict[str, Callable[[Data], Data]] = {
    "verify": _verify,
    "report": _report,
    "questions": _questions,
    "values": _values,
    "read": _read,
    "steps": _steps,
    "code": _code,
    "blind": _blind,
    "unblind": _unblind,
    "prepare": _prepare,
}
