"""Makes devices of what an audit is given: a mechanism, a record mechanism or a command."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import singledispatch
from itertools import pairwise
from typing import Any, final

import numpy as np

from deniable.arrays import Integers
from deniable.audit.devices import Answers, Devices, Side, make_devices
from deniable.audit.pairs import VALUE, Named
from deniable.audit.program import Program
from deniable.audit.setting import ROUNDS, Claimed
from deniable.errors import InvalidParameter, NotExact
from deniable.exact import whole_number
from deniable.mechanisms import ExactMechanism, Mechanism
from deniable.metric import MetricMechanism
from deniable.randomness import Words, checked_source
from deniable.records import RecordMechanism
from deniable.study import Plan

Pairs = Named | Iterable[object]
Steps = Sequence[tuple[int, int]]

_PEOPLE = 1000  # a plan says for how many it is, which no audit looks at


@final
@dataclass(frozen=True)
class AuditedClient:
    """The client that is audited, its plan, and what is asked of it."""

    devices: Devices
    plan: Plan | None
    pairs: Pairs
    claim: float | Claimed | None


def resolve_client(
    client: object,
    plan: Plan | None,
    pairs: Pairs,
    claim: float | None,
    rounds: int | None,
    words: Words | None,
) -> AuditedClient:
    """Devices of whatever is given: a mechanism has a plan of its own, whose values are numbers."""
    if isinstance(client, str):
        return AuditedClient(Program(client, plan), plan, pairs, claim)
    if not isinstance(client, RecordMechanism | Mechanism):
        devices, known = make_devices(client, words)
        return AuditedClient(devices, known if plan is None else plan, pairs, claim)
    if plan is not None:
        raise InvalidParameter("a mechanism has a plan of its own; leave plan out, or audit the plan itself")
    if isinstance(client, RecordMechanism | ExactMechanism) and not isinstance(client, MetricMechanism):
        own_plan = _plan_of(client, rounds)
        return AuditedClient(make_devices(own_plan, words)[0], own_plan, pairs, claim)
    chosen = _make_pairs(client, pairs) if isinstance(pairs, str) else pairs
    return AuditedClient(_InBytes(client, words), None, chosen, _loss_of(client) if claim is None else claim)


def _make_pairs(mechanism: Mechanism, name: str) -> Pairs:
    """Both ends, or every value and the next; of metric values both ends, and some neighbors or all."""
    ends = 0, mechanism.k - 1
    if name == "ends":
        return list(dict.fromkeys([ends, *_some_steps(mechanism)]))
    if name == "every":
        return list(dict.fromkeys([ends, *_all_steps(mechanism)]))
    return name  # to be refused


@singledispatch
def _some_steps(_mechanism: Mechanism) -> Steps:
    return ()


@_some_steps.register
def _(mechanism: MetricMechanism) -> Steps:
    return mechanism.some_neighbors()


@singledispatch
def _all_steps(mechanism: Mechanism) -> Steps:
    return tuple(pairwise(range(mechanism.k)))


@_all_steps.register
def _(mechanism: MetricMechanism) -> Steps:
    return mechanism.neighbors()


def _loss_of(mechanism: Mechanism) -> Claimed:
    """What it loses of two answers."""
    try:
        worst = mechanism.loss()
    except NotExact as problem:
        raise InvalidParameter(f"say what is claimed, claim=1.0: {problem}") from None
    return lambda first, second: _loss_between(mechanism, worst, _value(first), _value(second))


@singledispatch
def _loss_between(_mechanism: Mechanism, worst: float, _first: object, _second: object) -> float:
    """What it loses of two values: of any two the same."""
    return worst


@_loss_between.register
def _(mechanism: MetricMechanism, worst: float, first: object, second: object) -> float:
    """By their distance."""
    values = (whole_number("a value", value, 0, mechanism.k - 1) for value in (first, second))
    distance = mechanism.distance(*values)
    return mechanism.loss_at(distance) if math.isfinite(distance) else worst


def _value(answers: Answers) -> Any:
    if set(answers) != {VALUE}:
        raise InvalidParameter(f"a mechanism is asked about numbers, pairs=[(0, 1)], got {dict(answers)}")
    return answers[VALUE]


def _plan_of(client: RecordMechanism | ExactMechanism, rounds: int | None) -> Plan:
    parts = client.mechanisms if isinstance(client, RecordMechanism) else (client,)
    planned_rounds = ROUNDS if rounds is None and parts[0].repeated else rounds
    names = [f"attribute {j}" for j in range(len(parts))] if isinstance(client, RecordMechanism) else [VALUE]
    sizes = [getattr(part, "k", 0) for part in parts]
    try:
        return Plan.of(
            dict(zip(names, map(range, sizes), strict=True)), client, people=_PEOPLE, rounds=planned_rounds
        )
    except InvalidParameter as problem:
        raise InvalidParameter(
            f"an audit of this mechanism needs its plan ({problem}); make one with dn.Plan.of"
        ) from None


@final
class _InBytes(Devices):
    """A mechanism that is no part of a plan by itself, such as one of your own: the bytes of its reports are
    just bytes.
    """

    headed = False

    def __init__(self, mechanism: Mechanism, words: Words | None) -> None:
        self._mechanism, self._words = mechanism, checked_source(words)

    def answer(self, sides: Sequence[Side], who: Integers) -> Sequence[Sequence[bytes]]:
        rounds = []
        for records in zip(*sides, strict=True):
            values = np.array([_value(record) for record in records])[who]
            reports = np.ascontiguousarray(self._mechanism.privatize(values, self._words))
            rounds.append([report.tobytes() for report in reports])
        return rounds
