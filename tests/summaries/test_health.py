"""Checks that fakes are noticed, and that honest reports raise no more alarms than they should."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.arrays import Array
from deniable.plan.health import Health, HealthWatch
from deniable.plan.plan import Plan
from deniable.plan.reports import Reports
from tests import statistics
from tests.statistics import HEALTHY_STUDIES, HEALTHY_TAIL

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


def reports_of(plan: Plan, seed: int) -> Reports:
    shares = np.random.default_rng(seed).dirichlet(np.full(K, 0.5))
    people = np.random.default_rng(seed).choice(K, PEOPLE, p=shares)
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
