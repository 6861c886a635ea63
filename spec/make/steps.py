"""Makes the vectors of what is remembered: by a device with a cap, and by a collector with invitations.

The client in `device/` follows the steps by the text of spec/wire.md alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any, NamedTuple

import deniable as dn
from deniable import InvalidPlan
from deniable.records import Faked
from deniable.records.fakes import Blank
from deniable.study import Plan
from deniable.tickets import Blinding
from deniable.wire import Report, Wire, to_batch
from spec.make import chains
from spec.make.keys import signing_key
from spec.make.vectors import COLORS, Case, of

SECRET = bytes(range(32))


class Asked(NamedTuple):
    """One answer to one of several plans."""

    plan: int
    city: int = 0
    round: int = 1
    change: bool = False


def ledgers() -> Iterator[Case]:
    """What a device with a cap sends, step by step, and what it counts then."""
    once = of(dn.grr(5, 1.0))
    again = of(dn.rounds.l_grr(5, 1.0, 2.0), rounds=5)
    few = of(dn.rounds.l_grr(5, 1.0, 2.0), rounds=3)
    flips = of(dn.rounds.dbitflip(20, 2.0, bits=4), rounds=2)
    unlike = Faked((Blank(dn.oue(5, 0.5)), Blank(dn.oue(2, 2.0))))
    two = {"color": COLORS, "smokes": ["yes", "no"]}
    fakes = of(unlike, two)
    nested = of(
        dn.records.Split((dn.grr(5, 1.0), unlike)), {"city": [f"city {number}" for number in range(5)], **two}
    )
    kept = json.loads(again.to_json())["losses"]["repeated"]["changing_values"] / 1e9
    later = [Asked(0, round=number) for number in (1, 2, 3)]
    changes = [Asked(0), Asked(0, 3), Asked(0, 3, change=True), Asked(0, change=True), Asked(0, 3)]
    others = [Asked(0), Asked(1), Asked(0, 3, change=True), Asked(0, 4, change=True)]
    yield follow("later rounds at a cap for answers that change", kept, [again], later)
    yield follow("a first round that is a later one", kept, [again], [Asked(0, round=4), Asked(0, round=2)])
    yield follow("rounds at a cap for a value for ever", 2.0, [again], later)
    yield follow("rounds a billionth above a cap", kept - 1e-9, [again], later)
    yield follow(
        "another plan between two rounds", kept + 1.0, [again, once], [later[0], Asked(1), *later[1:]]
    )
    yield follow(
        "another plan after two rounds", kept + 1.0, [again, once], [*later, Asked(1), Asked(0, round=5)]
    )
    yield follow("the same round again counts as one", kept + 1.0, [again, once], [*later[:1] * 3, Asked(1)])
    yield follow("rounds without a bound", 3.0, [flips, once], [*later[:2], Asked(1), later[1]])
    cities = {"city": [f"city {number}" for number in range(5)]}
    titled = [Plan.of(cities, dn.grr(5, 1.0), people=1000, title=f"study {number}") for number in range(1, 7)]
    yield follow("no cap, 4 nats in all", None, titled, [*map(Asked, range(6)), Asked(0)])
    yield follow("no cap, rounds and other plans", None, [few, once, flips], [*later, Asked(1), Asked(2)])
    yield follow("a changed answer", 10.0, [once], changes)
    yield follow("a changed answer at its cap", 2.0 * once.stated.record / 1e9, [once], changes)
    yield follow("a changed answer above the cap", 1.9, [once], changes)
    yield follow("no cap, changed answers up to 4 nats", None, [of(dn.grr(5, 1.5))], several_changes(5))
    yield follow("a changed answer and another plan", kept + 2.5, [once, again], others)
    yield follow("another plan after a changed answer", 2.9, [once, fakes], [*changes[:3], Asked(1)])
    old, new, newest = chains.chains()["more values"][:3]
    turns = [Asked(0), Asked(1, round=2), Asked(2, round=1), Asked(1), Asked(0, round=2)]
    for cap in (20.0, 4.9):
        yield follow(f"plans that continue each other, a cap of {cap:g}", cap, [old, new, newest], turns)
    back = [Asked(2), Asked(0), Asked(1)]
    yield follow("plans that continue each other, the last one first", 20.0, [old, new, newest], back)
    [_, branch] = chains.plan_chain((dn.rounds.l_grr(2, 1.0, 2.0), 2), (dn.rounds.l_grr(4, 1.0, 2.0), 1))
    both = [Asked(1), Asked(3), Asked(0), Asked(2)]
    yield follow("plans that continue the same one", 20.0, [old, new, newest, branch], both)
    for name, plan in (("with fakes", fakes), ("with fakes in a split", nested)):
        yield follow(f"changed answers {name}", 20.0, [plan], several_changes(5))


def several_changes(number: int) -> list[Asked]:
    return [Asked(0, 0), *(Asked(0, city, change=True) for city in range(1, number))]


def follow(name: str, cap: float | None, plans: Sequence[Plan], steps: Sequence[Asked]) -> Case:
    """A device that keeps a ledger; `report` is null where the plan is refused, for its cap or `refused`."""
    ledger = dn.Ledger(secret=SECRET)
    said: list[dict[str, Any]] = []
    for step in steps:
        plan = plans[step.plan]
        refused: dict[str, str] = {}
        answers = {asked: labels[step.city % len(labels)] for asked, labels in plan.labels.items()}
        try:
            client = dn.Client(plan, ledger=ledger, cap=cap)
            report = client.report(answers, step.round, change=step.change).to_bytes().hex()
        except InvalidPlan as refusal:
            report, refused = None, {} if refusal.reason == "cap" else {"refused": refusal.reason}
        told = {"plan": step.plan, "round": step.round, "answers": answers, "change": step.change}
        said.append({**told, "report": report, "counted": ledger.lifetime().changing} | refused)
    texts = [plan.to_json() for plan in plans]
    return {"name": name, "secret": SECRET.hex(), "cap": cap, "plans": texts, "steps": said}


class Delivery(NamedTuple):
    """A batch of reports by their numbers, with what lets one of them in."""

    allowed: str | None
    reports: Sequence[int]
    outcomes: str
    """What becomes of each, as one letter: counted, before, refused."""


def invitations() -> Iterator[Case]:
    """Batches that need invitations or tickets, one after the other, and what becomes of each report."""
    kinds: dict[str, list[Delivery]] = {
        "none": [Delivery(None, [0, 1], "rr"), Delivery("b", [0], "c")],
        "one lets in the first": [Delivery("a", [0, 1, 2], "crr")],
        "one is used once": [Delivery("a", [0], "c"), Delivery("a", [1], "r"), Delivery("b", [1], "c")],
        "the same batch again": [Delivery("a", [0, 1], "cr"), Delivery("a", [0, 1], "br")],
        "a counted report needs none": [Delivery("a", [0], "c"), Delivery(None, [0, 1], "br")],
        "a counted report uses none": [Delivery("a", [0], "c"), Delivery("b", [0, 1], "bc")],
        "a report twice in a batch": [Delivery("a", [0, 0, 1], "cbr")],
        "an unknown one": [Delivery("unknown", [0, 1], "rr"), Delivery("a", [1, 0], "cr")],
        "the other kind": [Delivery("other", [0], "r"), Delivery("a", [0], "c")],
    }
    numbers = count(1)
    for name, deliveries in kinds.items():
        for kind, plan in admitting_plans().items():
            yield deliver(f"{kind}, {name}", kind, plan, deliveries, next(numbers))


def admitting_plans() -> dict[str, Plan]:
    """A plan that takes invitations, and one that takes tickets."""
    plan = of(dn.grr(2, 1.0))
    return {"invitation": plan, "ticket": plan.with_ticket_key(signing_key(1).public)}


def deliver(name: str, kind: str, plan: Plan, deliveries: Sequence[Delivery], number: int) -> Case:
    """Batches in order; codes and ids have the case's number, so that one store can take all cases."""
    prefix = Wire(plan.document).prefix
    reports = [Report(prefix, 1, bytes([number, i] * 8), bytes([i % 2])) for i in range(3)]
    codes = {letter: f"code-{number}-{letter}" for letter in "ab"}
    invited = {letter: f"Invitation {code}" for letter, code in codes.items()}
    if kind == "ticket":
        allowed = {letter: make_ticket(plan.id, code) for letter, code in codes.items()}
        allowed |= {"unknown": make_ticket("0" * 64, codes["a"]), "other": invited["a"]}
    else:
        allowed = {**invited, "unknown": "Invitation none", "other": make_ticket(plan.id, codes["a"])}
    outcomes = {"c": "counted", "b": "counted before", "r": kind}
    sent = [
        {
            "authorization": None if one.allowed is None else allowed[one.allowed],
            "bytes": to_batch([reports[i] for i in one.reports]).hex(),
            "outcomes": [outcomes[letter] for letter in one.outcomes],
        }
        for one in deliveries
    ]
    return {"name": name, "plan": plan.to_json(), "invitations": [*codes.values()], "batches": sent}


def make_ticket(plan_id: str, code: str) -> str:
    """The ticket that this code is exchanged for, as a header says it."""
    key = signing_key(1)
    blinding = Blinding.of(key.public, plan_id, SECRET, code)
    return f"Ticket {blinding.unblind(key.sign(blinding.blinded)).to_text()}"


FILES = {"ledgers": ledgers, "invitations": invitations}
