"""Answers `deniable conform`: one JSON object for each line, as spec/conformance.md says."""

from __future__ import annotations

import json
import math
from typing import Callable, TextIO

from deniable_device import __version__
from deniable_device.answers import Answers
from deniable_device.client import Client, make_report, questions_of
from deniable_device.codes import read_code
from deniable_device.document import Json
from deniable_device.errors import DeviceError, InvalidAnswer, Refused
from deniable_device.ledger import Ledger
from deniable_device.plan import Plan
from deniable_device.tickets import blind, prepare, unblind
from deniable_device.wire import from_bytes, from_json

LEVELS = ["single", "records", "rounds", "chains", "metric", "text", "tickets", "verify", "read", "ledger"]


class Plans:
    """The plans that were verified last; tests ask for the same ones in a row."""

    MOST = 64

    def __init__(self) -> None:
        self.plans: dict[str, Plan] = {}

    def read(self, text: str) -> Plan:
        """A plan from its text."""
        if text not in self.plans:
            plan = Plan(text)
            while len(self.plans) >= self.MOST:
                del self.plans[next(iter(self.plans))]
            self.plans[text] = plan
        return self.plans[text]


PLANS = Plans()


def verify(request: Json) -> Json:
    """What a plan gives away."""
    return {"losses": Plan(request["plan"]).truth.stated()}


def report(request: Json) -> Json:
    """The bytes of a report, from a secret and perhaps from words."""
    words = [int(word, 16) for word in request["words"]] if "words" in request else None
    report_id = bytes.fromhex(request["id"]) if "id" in request else None
    secret, plan = bytes.fromhex(request["secret"]), PLANS.read(request["plan"])
    made = make_report(plan, request["answers"], secret, request["round"], words, report_id)
    return {"bytes": made.to_bytes().hex()}


def questions(request: Json) -> Json:
    """What a device asks."""
    return {"questions": questions_of(PLANS.read(request["plan"]), bytes.fromhex(request["secret"]))}


def values(request: Json) -> Json:
    """The values of answers to one question."""
    plan = PLANS.read(request["plan"])
    attribute = plan.attributes[0]
    codes: list[Json] = []
    for answer in request["answers"]:
        try:
            code = Answers(plan, {attribute.name: answer}).code(attribute)
        except InvalidAnswer:
            codes.append(None)
            continue
        code = -1 if code is None else code
        codes.append(code if attribute.domain.bits is None else str(code))
    return {"values": codes}


def read(request: Json) -> Json:
    """A report in both forms."""
    plan = PLANS.read(request["plan"])
    if "bytes" in request:
        report = from_bytes(plan, bytes.fromhex(request["bytes"]))
    else:
        report = from_json(plan, request["json"])
    return {"bytes": report.to_bytes().hex(), "json": report.to_json()}


def steps(request: Json) -> Json:
    """What one device sends, step by step, and what all its plans count."""
    ledger = Ledger(secret=bytes.fromhex(request["secret"]))
    if request["cap"] is not None:
        ledger.cap = cap_of(request["cap"])
    answers: list[Json] = []
    for step in request["steps"]:
        cap = cap_of(step["cap"]) if step.get("cap") is not None else None
        answer: dict[str, Json]
        try:
            client = Client(PLANS.read(request["plans"][step["plan"]]), ledger, None, cap)
            sent = client.report(step["answers"], step["round"], change=step["change"])
            answer = {"bytes": sent.to_bytes().hex()}
        except Refused as refusal:
            answer = {"refused": refusal.reason}
        answers.append({**answer, "counted": ledger.total()})
    return {"steps": answers}


def cap_of(cap: Json) -> float:
    """A cap in a line, where an infinite one is a text."""
    return math.inf if cap == "inf" else float(cap)


def code(request: Json) -> Json:
    """What a typed code stands for."""
    typed = read_code(request["typed"])
    return {"tag": typed.tag, "invitations": [typed.invitation(plan) for plan in request["plans"]]}


def blinded(request: Json) -> Json:
    """A message as its signer sees it."""
    prepared, salt = bytes.fromhex(request["prepared"]), bytes.fromhex(request["salt"])
    message = blind(int(request["key"], 16), prepared, salt, int(request["factor"], 16))
    return {"blinded": message.hex()}


def unblinded(request: Json) -> Json:
    """The ticket from a signature."""
    prepared, signature = bytes.fromhex(request["prepared"]), bytes.fromhex(request["signature"])
    return {"ticket": unblind(int(request["key"], 16), prepared, int(request["factor"], 16), signature)}


def prepared(request: Json) -> Json:
    """The message of a ticket."""
    return {"prepared": prepare(request["plan"], bytes.fromhex(request["prefix"])).hex()}


ASKS: dict[str, Callable[[Json], Json]] = {
    "verify": verify,
    "report": report,
    "questions": questions,
    "values": values,
    "read": read,
    "steps": steps,
    "code": code,
    "blind": blinded,
    "unblind": unblinded,
    "prepare": prepared,
}


def answer(line: str) -> Json:
    """The answer to one line."""
    try:
        request = json.loads(line)
        return ASKS[request["ask"]](request)
    except Refused as refusal:
        return {"refused": refusal.reason}
    except DeviceError as problem:
        return {"refused": type(problem).__name__}
    except Exception as problem:
        return {"failed": f"{type(problem).__name__}: {problem}"[:500]}


def serve(lines: TextIO, out: TextIO) -> None:
    """Says what this client does, then answers each line."""
    hello = {"conform": 1, "name": f"deniable_device {__version__}", "levels": LEVELS}
    out.write(json.dumps(hello) + "\n")
    out.flush()
    for line in lines:
        out.write(json.dumps(answer(line)) + "\n")
        out.flush()
