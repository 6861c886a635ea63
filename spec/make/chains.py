"""Makes plans that continue others: more answers, other second rounds, questions that break off."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from deniable.domain.number import Number
from deniable.mechanisms import grr
from deniable.records import RecordMechanism, Sample, Split
from deniable.records.single import as_record_mechanism
from deniable.rounds import dbitflip, l_duchi, l_grr, l_osue, l_plh, l_rsfd, l_sue, loloha
from deniable.study import Plan
from deniable.study.continued import follow_document

NAMES = "city", "color", "town"
LEVELS = (3, 2.0), (3, 1.5), (4, 1.8), (4, 3.0), (6, 4.0), (7, 2.0), (7, 4.0)
"""How many answers plans have, and what any number of reports loses."""
COVERED = (2, 0.6), (3, 0.6), (4, 0.6), (4, 1.6), (6, 1.6), (6, 2.0)
"""Answers are covered twice, then raised, so that one of them is made of the raised one; then once more."""

OTHERS = ("01", 0.6), ("012", 0.6), ("0123", 1.6), ("013", 1.6), ("0145", 1.2), ("145", 2.0), ("1456", 1.0)
"""Which answers plans have: some are covered and raised, then removed; others are added, raised, lowered."""


def plan_chain(*steps: tuple[Any, int], labels: Sequence[str] = (), **more: Any) -> list[Plan]:
    """Plans of these mechanisms and rounds, each of which continues those before.

    Answers are numbered, or they are the letters of the plan's labels.
    """
    plans: list[Plan] = []
    for made, rounds in steps:
        mechanism: RecordMechanism = as_record_mechanism(made)
        letters = labels[len(plans)] if labels else range(mechanism.mechanisms[0].k)
        asked: dict[str, Any] = {
            name: [f"{name} {value}" for value in (letters if name == NAMES[0] else range(part.k))]
            for name, part in zip(NAMES, mechanism.mechanisms, strict=False)
            if not part.numeric
        }
        plan = Plan.of(
            asked or {"income": Number(0, 10_000, open_high=True)},
            mechanism,
            people=1000,
            rounds=rounds,
            **more,
        )
        document = follow_document(plan.document, plans[-1].document) if plans else plan.document
        plans.append(replace(plan, document=document))
    return plans


def chains() -> dict[str, list[Plan]]:
    """Every way to carry on, and to break off."""
    bits = l_osue(5, 1.0, 2.0)
    some = (l_grr(3, 1.0, 2.0), bits, loloha(5, 1.0, 2.0))
    more = (l_grr(4, 1.0, 2.0), l_osue(9, 1.0, 2.0), loloha(5, 1.0, 3.0))
    fakes = l_rsfd([3, 5], 1.0, 2.0)
    values = [(l_grr(k, 1.0, 2.0), rounds) for k, rounds in ((2, 2), (3, 2), (3, 3), (6, 1))]
    return {
        "more values": plan_chain(*values),
        "less for ever, then more": plan_chain(*((l_grr(k, 1.0, forever), 2) for k, forever in LEVELS)),
        "more for ever, then back": plan_chain(
            *((l_grr(5, first, forever), 2) for first, forever in ((1, 2), (0.01, 3), (1, 2), (1, 2)))
        ),
        "covered answers": plan_chain(*((l_grr(k, 0.98 * forever, forever), 1) for k, forever in COVERED)),
        "fewer values": plan_chain((l_grr(3, 1.0, 2.0), 2), (l_grr(2, 1.0, 2.0), 3), labels=("012", "12")),
        "other values": plan_chain(
            *((l_grr(len(letters), 0.98 * forever, forever), 1) for letters, forever in OTHERS),
            labels=[letters for letters, _ in OTHERS],
        ),
        "less of a hash": plan_chain(
            (loloha(5, 1.0, 2.0), 2), (loloha(7, 0.5, 1.5), 1), (loloha(7, 1.0, 3.0), 1)
        ),
        "more of a line": plan_chain(*((l_duchi(0.5, forever), 2) for forever in (1.0, 2.0, 1.5))),
        "more bits": plan_chain((bits, 2), (l_osue(7, 1.0, 2.0), 2), (l_osue(66, 1.0, 2.0), 3)),
        "bits, less and more": plan_chain(
            *((l_osue(k, 0.5, forever), 2) for k, forever in ((2, 2), (3, 1.5), (3, 3), (4, 1), (66, 3.5)))
        ),
        "symmetric bits, more and less": plan_chain(
            *((l_sue(k, 0.5, forever), 2) for k, forever in ((3, 2), (3, 3), (4, 1), (70, 2)))
        ),
        "more values of a hash": plan_chain((loloha(5, 1.0, 2.0), 2), (loloha(7, 1.0, 2.0), 13)),
        "more values of a pool": plan_chain((l_plh(5, 1.0, 2.0, 3), 2), (l_plh(9, 1.0, 2.5, 3), 13)),
        "another pool": plan_chain(
            (Sample((l_plh(9, 1.0, 2.0, 3), l_grr(2, 1.0, 2.0))), 2),
            (Sample((l_plh(10, 1.0, 2.0, 3), l_grr(2, 1.0, 2.0))), 2),
        ),
        "other second rounds": plan_chain(*((l_grr(3, first, 2.0), 2) for first in (1.0, 1.5, 1.0))),
        "other second rounds of bits": plan_chain((l_osue(3, 1.0, 2.0), 1), (l_osue(3, 1.5, 2.0), 2)),
        "a line": plan_chain((l_duchi(0.5, 1.0), 2), (l_duchi(0.8, 1.0), 2)),
        "bits without a second round": plan_chain((dbitflip(20, 2.0, 4), 2), (dbitflip(20, 2.0, 4), 1)),
        "a sample that breaks": plan_chain((Sample(some, weights=(3, 2, 1)), 2), (Sample(more), 2)),
        "two of three": plan_chain((Sample(some, 2), 2), (Sample(more, 2), 2), (Sample(more, 2), 1)),
        "a split": plan_chain((Split(some), 2), (Split(more), 2)),
        "a random answer": plan_chain((Sample(some), 2), (Sample(some), 1), missing="random"),
        "fakes": plan_chain((fakes, 2), (fakes, 5)),
        "fresh beside kept": plan_chain(
            (Split((some[0], grr(5, 0.25), grr(2, 0.125))), 3),
            (Split((more[0], grr(5, 0.25), grr(2, 0.25))), 2),
            (Split((more[0], grr(5, 0.25), grr(3, 0.25))), 1),
        ),
    }


def last_plans() -> dict[str, Plan]:
    """The last plan of each chain."""
    return {f"a chain, {name}": plans[-1] for name, plans in chains().items()}


def broken(data: Mapping[str, Any]) -> Iterator[tuple[str, str | None, dict[str, Any]]]:
    """What is wrong with the plans before, as a reason, a name and the fields that are changed."""
    before = data["continues"]
    first = before[0]
    yield "as it is", None, {}
    yield "none", "continues", {"continues": []}
    yield "no list", "type", {"continues": {}}
    yield "a text", "type", {"continues": ["plan"]}
    yield "sixteen", "continues", {"continues": [first] * 16}
    yield "with an id", "fields", {"continues": [{**first, "id": "0" * 64}]}
    yield "with plans before it", "fields", {"continues": [{**first, "continues": []}]}
    yield "another version", "version", {"continues": [{**first, "version": 1}]}
    yield "one that leaks", "leaks", {"continues": [{**first, "losses": {**first["losses"], "record": 1}}]}
    yield "asked once", "rounds", {"continues": [{**first, "rounds": None}]}
    yield "without a field", "fields", {"continues": [{k: v for k, v in first.items() if k != "people"}]}
    [question] = first["attributes"]
    for name, other in {
        "another question": {**question, "name": "other"},
        "other answers": {**question, "domain": {**question["domain"], "labels": ["a", "b", "c"]}},
    }.items():
        yield name, "continues", {"continues": [{**first, "attributes": [other]}]}
    losses = {**first["losses"], "repeated": dict.fromkeys(first["losses"]["repeated"])}
    long = {**first, "rounds": 1000, "losses": losses}
    chained = {**losses, "chain": losses["repeated"]}
    yield "ten thousand rounds", "continues", {"continues": [long, *[{**long, "losses": chained}] * 9]}
