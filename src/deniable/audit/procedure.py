"""Runs an audit: some devices, pairs of answers, and trials, from which a bound follows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from typing import Any, final

import numpy as np

from deniable.arrays import Integers
from deniable.audit.bound import Event
from deniable.audit.devices import Devices, make_devices
from deniable.audit.independence import find_repetition
from deniable.audit.observations import HEADER, Unreadable
from deniable.audit.program import Program
from deniable.audit.result import Audit
from deniable.audit.run import Run
from deniable.audit.setting import ROUNDS, VALUE, Claimed, Named, Setting, make_setting
from deniable.audit.turns import Answers, Side
from deniable.errors import InvalidParameter
from deniable.exact import whole_number
from deniable.frames import Show
from deniable.mechanisms import Mechanism
from deniable.mechanisms.base import Per
from deniable.metric import MetricMechanism
from deniable.randomness import Words, checked_source
from deniable.records import RecordMechanism
from deniable.study import Plan

Pairs = Named | Iterable[object]

LEVEL = 0.9999
"""A right client fails one audit in 10,000 at most."""

_PEOPLE = 1000  # a plan says for how many it is, which no audit looks at
_STARTED_TWICE = 256  # reports that are compared between two fresh starts
_FEWEST = 100
_ITSELF = 10_000  # reports, at most, of a client itself in pairs (half as many again are in line-ups)
_ITSELF_SHARE = 50  # trials for each of its trials
_ITSELF_LEAST = 10  # trials, however many rounds there are
_ITSELF_ALPHA = 0.1  # its part of the chance of a false alarm
_NOT_RESTARTED = "so whether its randomness is seeded was not looked at"


def lower_bound(
    client: object,
    pairs: Pairs = "ends",
    trials: float = 10**6,
    *,
    plan: Plan | None = None,
    claim: float | None = None,
    per: Per = "record",
    rounds: int | None = None,
    level: float = LEVEL,
    words: Words | None = None,
    show: Show | None = None,
) -> Audit:
    """Finds an empirical lower bound on the epsilon of a client's reports, with `trials` devices for each of
    two answers.

    The client is a plan or a `dn.Client` (the devices of this library: by its code for many at once, and some
    of them one by one), a client of a class derived from that, a mechanism or a record mechanism (its values
    are numbers), a function of answers, the device's secret and the round (or fewer of them) that returns a
    report's bytes, a command or a `Program`, or `Devices` of your own. With its plan, reports are read as the
    wire says and the claim is the plan's, per record or per attribute, and for metric values by their
    distance; without one, `claim` and `pairs` must be given. Where there is one answer only, two of
    its values are a pair: pairs=[("red", "blue")].

    >>> import deniable as dn
    >>> plan = dn.Study({"color": ["red", "green", "blue"]}, epsilon=1.0).plan(people=1000)
    >>> audit = lower_bound(plan, trials=20_000, words=dn.seeded(1))
    >>> audit, audit.passed
    (<Audit PASS: epsilon >= 0.9..., claim 1.0000, per record>, True)
    >>> lower_bound(dn.oue(10, 1.0), pairs=[(0, 9)], trials=2e4, words=dn.seeded(1))
    <Audit PASS: epsilon >= 0.9..., claim 1.0000, per record>
    """
    got = _resolve_client(client, plan, pairs, claim, rounds, words)
    devices, plan = got.devices, got.plan
    count = int(trials) if isinstance(trials, float) and trials.is_integer() else trials
    trials = whole_number("trials, the number of devices for each answer,", count, _FEWEST)
    if not isinstance(level, float | int | Real) or not 0.5 <= level < 1:
        raise InvalidParameter(
            f"level is how sure the bound must be, from 0.5 to under 1, such as {LEVEL}, got {level!r}"
        )
    setting = make_setting(plan, got.pairs, per, rounds, got.claim)
    source, alpha = checked_source(words), 1 - level
    notes, faults = _compare_restarts(devices, setting, plan is not None)
    itself = devices.itself()
    fewer_trials = max(
        _ITSELF_LEAST, min(max(_FEWEST, trials // _ITSELF_SHARE), _ITSELF // (2 * setting.rounds))
    )
    alpha_of_all = alpha if itself is None else alpha * (1 - _ITSELF_ALPHA)
    runs = [("", Run(devices, plan, setting, trials, source, alpha_of_all))]
    if itself is not None:
        run = Run(itself, plan, setting, fewer_trials, source, alpha * _ITSELF_ALPHA)
        runs.append(("the client itself: ", run))
        notes.insert(
            0,
            f"reports came from the library's code for many devices, and of {run.devices:,} from the client "
            "itself",
        )
    if setting.rounds < setting.planned:
        notes.append(
            f"{setting.rounds} of a device's {setting.planned} reports were looked at; "
            f"rounds={setting.planned} is all"
        )
    if claim is not None and plan is not None and plan.stated.metric is not None:
        notes.append(
            f"all pairs, those that are far apart too, were held to the claim of {setting.claims[0]:g} that "
            "was given, not to what the plan claims by distance"
        )
    events: list[Event] = []
    total, done = sum(run.devices for _, run in runs), 0
    for who, run in runs:
        run_events = run.events(None if show is None else _part(show, done, total), who)
        events += run_events
        if run is not runs[0][1]:
            notes[0] += _say_noticeable(Audit(setting, fewer_trials, level, run_events, ()).noticeable)
        faults += run.faults()
        notes += [f"{who}{easiest}" for easiest in (run.easiest(),) if easiest is not None]
        done += run.devices
    return Audit(setting, trials, level, tuple(events), tuple(faults), tuple(notes))


def _say_noticeable(loss: float) -> str:
    """What may go unnoticed in the reports of the client itself, which are fewer than all."""
    if math.isinf(loss):
        return ", which are too few to show more than is claimed"
    return f", in which less than {loss:.3f} above a claim may go unnoticed"


def _part(show: Show, before: int, total: int) -> Show:
    return lambda done, _: show(before + done, total)


def _compare_restarts(devices: Devices, setting: Setting, planned: bool) -> tuple[list[str], list[str]]:
    """What should be said of two fresh starts, and what is wrong with them.

    Where a report has no header, that is said elsewhere.
    """
    starts, why = devices.start_twice(setting.sides[0], _STARTED_TWICE)
    if starts is None:
        return [f"{why}, {_NOT_RESTARTED}"], []
    reports_of_both = [report for reports in starts for report in reports]
    headed = planned and all(
        len(report) >= HEADER and not isinstance(report, Unreadable) for report in reports_of_both
    )
    repetition = find_repetition(*starts, headed=headed)
    return [], [] if repetition is None else [repetition]


@final
@dataclass(frozen=True)
class AuditedClient:
    """The client that is audited, its plan, and what is asked of it."""

    devices: Devices
    plan: Plan | None
    pairs: Pairs
    claim: float | Claimed | None


def _resolve_client(
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
        devices, known = make_devices(client, plan, words)
        return AuditedClient(devices, known, pairs, claim)
    if plan is not None:
        raise InvalidParameter("a mechanism has a plan of its own; leave plan out, or audit the plan itself")
    if not isinstance(client, MetricMechanism):
        try:
            own_plan = _plan_of(client, rounds)
        except InvalidParameter:
            if claim is None or isinstance(client, RecordMechanism):
                raise
        else:
            return AuditedClient(make_devices(own_plan, None, words)[0], own_plan, pairs, claim)
    chosen = _make_pairs(client, pairs) if isinstance(pairs, str) else pairs
    claimed = _loss_of(client) if claim is None and isinstance(client, MetricMechanism) else claim
    return AuditedClient(_InBytes(client, words), None, chosen, claimed)


def _make_pairs(mechanism: Mechanism, name: str) -> Pairs:
    """Both ends, or every value and the next; of metric values both ends, and some neighbors or all."""
    metric = mechanism if isinstance(mechanism, MetricMechanism) else None
    steps: Iterable[tuple[int, int]]
    if name == "ends":
        steps = () if metric is None else metric.some_neighbors()
    elif name == "every":
        steps = pairwise(range(mechanism.k)) if metric is None else metric.neighbors()
    else:
        return name  # to be refused
    return list(dict.fromkeys([(0, mechanism.k - 1), *steps]))


def _loss_of(mechanism: MetricMechanism) -> Claimed:
    """What it loses of two answers."""
    worst = mechanism.loss()
    return lambda first, second: _loss_between(mechanism, worst, _value(first), _value(second))


def _loss_between(mechanism: MetricMechanism, worst: float, first: object, second: object) -> float:
    """What it loses of two values, by their distance."""
    values = (whole_number("a value", value, 0, mechanism.k - 1) for value in (first, second))
    distance = mechanism.distance(*values)
    return mechanism.loss_at(distance) if math.isfinite(distance) else worst


def _value(answers: Answers) -> Any:
    if set(answers) != {VALUE}:
        raise InvalidParameter(f"a mechanism is asked about numbers, pairs=[(0, 1)], got {dict(answers)}")
    return answers[VALUE]


def _plan_of(client: RecordMechanism | Mechanism, rounds: int | None) -> Plan:
    parts = client.mechanisms if isinstance(client, RecordMechanism) else (client,)
    planned_rounds = ROUNDS if rounds is None and client.repeated else rounds
    names = [f"attribute {j}" for j in range(len(parts))] if isinstance(client, RecordMechanism) else [VALUE]
    sizes = [getattr(part, "k", 0) for part in parts]
    try:
        plan = Plan.of(
            dict(zip(names, map(range, sizes), strict=True)), client, people=_PEOPLE, rounds=planned_rounds
        )
        len(plan.id)  # what a plan cannot hold is refused now
    except InvalidParameter as problem:
        raise InvalidParameter(
            f"an audit of this mechanism needs its plan ({problem}); make one with dn.Plan.of, or claim=1.0 "
            "says what is claimed of the bytes of its reports"
        ) from None
    return plan


@final
class _InBytes(Devices):
    """A mechanism that may be no part of a plan, metric or one of your own: its reports are just bytes."""

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
