"""Checks that fakes are noticed, and that honest reports raise no more alarms than they should."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.arrays import Array
from deniable.collect.health import GROWTH, LOOKS
from deniable.plan import health
from deniable.plan.health import Health, HealthWatch
from deniable.plan.plan import Plan
from deniable.plan.reports import Reports
from deniable.records import Records
from tests import statistics
from tests.statistics import (
    HEALTHY_STUDIES,
    HEALTHY_TAIL,
    SAMPLED_STUDIES,
    WATCHED_LEVEL,
    WATCHED_STUDIES,
)

K, PEOPLE, FAKES = 20, 4000, 200
Make = Callable[[int, float], Any]
MAKERS: dict[str, Make] = {
    **{name: dn.PROTOCOLS[name].make for name in ("grr", "oue", "sue", "ss", "olh", "blh", "hr")},
    "loloha": lambda k, epsilon: dn.loloha(k, epsilon / 2, epsilon),
    "l_osue": lambda k, epsilon: dn.l_osue(k, epsilon / 2, epsilon),
}


def plan_of(name: str, epsilon: float = 1.0) -> Plan:
    made = MAKERS[name](K, epsilon)
    return Plan.of({"town": list(range(K))}, made, 1000, rounds=3 if made.repeated else None)


def reports_of(plan: Plan, seed: int, n: int = PEOPLE) -> Reports:
    shares = np.random.default_rng(seed).dirichlet(np.full(K, 0.5))
    people = np.random.default_rng(seed).choice(K, n, p=shares)
    words = dn.remembering(seed) if plan.content.rounds else dn.seeded(seed)
    return plan.privatize({"town": people}, words)


def health_of(plan: Plan, reports: Reports) -> Health:
    watch = HealthWatch(plan)
    tallies = plan.tally(watch.look([reports]))
    return watch.health(plan.estimate(tallies))


@pytest.mark.parametrize("name", MAKERS)
def test_honest_reports_are_healthy(name: str) -> None:
    """P-values are no smaller than chance has them, in each check by itself."""
    plans = plan_of(name, 1.0), plan_of(name, 4.0)
    passed: dict[str, list[bool]] = {}
    for seed in range(HEALTHY_STUDIES):
        plan = plans[seed % 2]
        for check in health_of(plan, reports_of(plan, seed)).checks:
            passed.setdefault(check.name, []).append(check.p_value >= HEALTHY_TAIL)
    for check_name, some in passed.items():
        statistics.at_least(sum(some), len(some), 1 - HEALTHY_TAIL, f"{check_name} by {name}")


def test_some_of_the_reports_are_judged_by_their_own_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the shares of all reports, 4 in 10 honest studies have pairs with a p-value below one in twenty."""
    monkeypatch.setattr(health, "LOOKED", 2000)
    plan, passed = plan_of("oue"), []
    for seed in range(SAMPLED_STUDIES):
        found = health_of(plan, reports_of(plan, seed, 20_000))
        [pairs] = [check for check in found.checks if check.name == "pairs of values"]
        passed.append(pairs.p_value >= HEALTHY_TAIL)
    statistics.at_least(sum(passed), len(passed), 1 - HEALTHY_TAIL, "pairs in a tenth of the reports")


def test_honest_studies_can_be_watched() -> None:
    """No more alarms than the level says over all looks; if each look had the level, every second study would
    have one.
    """
    plan, healthy = plan_of("hr"), 0
    for seed in range(WATCHED_STUDIES):
        reports, watch = reports_of(plan, seed), HealthWatch(plan)
        tallies, n, alarms = plan.tally(some(reports, 0, 100)), 100, 0
        for _ in watch.look([some(reports, 0, 100)]):
            pass
        while n < PEOPLE:
            more = some(reports, n, n := math.ceil(GROWTH**2 * n))
            tallies += plan.tally(watch.look([more]))
            found = watch.health(plan.estimate(tallies), WATCHED_LEVEL, LOOKS)
            alarms += len(found.alarms)
        healthy += not alarms
    statistics.at_least(healthy, WATCHED_STUDIES, 1 - WATCHED_LEVEL, "studies that are watched")


def some(reports: Reports, start: int, end: int) -> Reports:
    [column] = reports.records.columns
    kept = column[start:end]
    return Reports(reports.plan_id, Records(len(kept), (kept,)))


def push_bits(reports: Array) -> None:
    """Several values at once, and as many others as honest reports have: the sizes are right on average."""
    generator = np.random.default_rng(1)
    bits = generator.random((FAKES, K)) < 0.2
    bits[:, :4] = True
    reports[:FAKES] = np.packbits(bits, axis=1, bitorder="little")


def push_bare_bit(reports: Array) -> None:
    """One value without any noise."""
    bits = np.zeros((FAKES, K), dtype=bool)
    bits[:, 3] = True
    reports[:FAKES] = np.packbits(bits, axis=1, bitorder="little")


def push_function(reports: Array) -> None:
    """One hash function that sends several values into its bucket."""
    reports[:FAKES] = (1, 0, 1)


def push_column(reports: Array) -> None:
    reports[:FAKES] = 21


def push_value(reports: Array) -> None:
    """A direct report counts for many people: some share becomes impossible."""
    reports[:FAKES] = 7
    reports[FAKES : 10 * FAKES] = 8


FAULTS = [
    ("oue", push_bits, "pairs of values"),
    ("oue", push_bare_bit, "sizes of reports"),
    ("oue", push_bare_bit, "sum of shares"),
    ("olh", push_function, "hash functions"),
    ("loloha", push_function, "hash functions"),
    ("hr", push_column, "unused rows"),
    ("grr", push_value, "possible shares"),
]


@pytest.mark.parametrize(("name", "push", "noticed"), FAULTS)
def test_fakes_are_noticed(name: str, push: Callable[[Array], None], noticed: str) -> None:
    plan = plan_of(name, 4.0 if name == "olh" else 1.0)
    reports = reports_of(plan, 1)
    push(reports.records.columns[0])
    found = health_of(plan, reports)
    assert noticed in {check.name for check in found.alarms}
    assert f"ALARM town, {noticed}" in str(found)
    assert found.about()["alarms"] == len(found.alarms)


def test_a_plan_without_anything_known_says_so() -> None:
    plan = Plan.of({"age": dn.Range(0, 30, step=1)}, dn.geometric(29, 0.5), 1000)
    reports = plan.privatize({"age": [3] * 50}, dn.seeded(1))
    assert "nothing about them is known" in str(health_of(plan, reports))


@pytest.mark.parametrize("name", MAKERS)
def test_tallies_alone_have_the_checks_of_shares(name: str) -> None:
    """A collector gives tallies, and no reports to look at."""
    plan = plan_of(name)
    found = HealthWatch(plan).health(plan.estimate(plan.tally(reports_of(plan, 1))))
    assert {check.name for check in found.checks} <= {"sum of shares", "possible shares"}
    assert "no alarm" in str(found)
