"""Checks that fakes are noticed, and that honest reports raise no more alarms than they should."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.arrays import Array
from deniable.collect.health import GROWTH
from deniable.exact import PRIME
from deniable.mechanisms import SubsetShape
from deniable.records import Records
from deniable.reports.reports import Reports
from deniable.results import health
from deniable.results.health import Health, HealthWatch
from deniable.study.plan import Plan
from deniable.summaries import health as checks
from deniable.summaries.health import Check
from tests import statistics
from tests.cases import by_night
from tests.statistics import (
    HEALTHY_STUDIES,
    HEALTHY_TAIL,
    NOTICED,
    NOTICED_STUDIES,
    SAMPLED_STUDIES,
    WATCHED_LEVEL,
    WATCHED_STUDIES,
)

K, PEOPLE, FAKES = 20, 4000, 200
Make = Callable[[int, float], Any]
MAKERS: dict[str, Make] = {
    **{name: dn.PROTOCOLS[name].make for name in ("grr", "oue", "sue", "ss", "olh", "blh", "hr")},
    "loloha": lambda k, epsilon: dn.rounds.loloha(k, epsilon / 2, epsilon),
    "l_osue": lambda k, epsilon: dn.rounds.l_osue(k, epsilon / 2, epsilon),
}


def plan_of(name: str, epsilon: float = 1.0) -> Plan:
    made = MAKERS[name](K, epsilon)
    return Plan.of({"town": list(range(K))}, made, 1000, rounds=3 if made.repeated else None)


def reports_of(plan: Plan, seed: int, n: int = PEOPLE, values: int = K) -> Reports:
    shares = np.zeros(K)
    shares[:values] = np.random.default_rng(seed).dirichlet(np.full(values, 0.5))
    people = np.random.default_rng(seed).choice(K, n, p=shares)
    words = dn.remembering(seed) if plan.document.rounds else dn.seeded(seed)
    return plan.privatize({"town": people}, words)


def health_of(plan: Plan, reports: Reports) -> Health:
    watch = HealthWatch(plan.document)
    tallies = plan.tally(watch.look([reports]))
    return watch.health(plan.estimate(tallies).numbers)


@by_night("name", MAKERS, "oue", "sue", "ss", "blh", "hr", "loloha", "l_osue")
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


@pytest.mark.long
def test_honest_studies_can_be_watched() -> None:
    """No more alarms than the level says over all looks; if each look had the level, every second study would
    have one.
    """
    plan, healthy = plan_of("hr"), 0
    for seed in range(WATCHED_STUDIES):
        reports, watch = reports_of(plan, seed), HealthWatch(plan.document)
        tallies, n, alarms = plan.tally(some(reports, 0, 100)), 100, 0
        for _ in watch.look([some(reports, 0, 100)]):
            pass
        while n < PEOPLE:
            more = some(reports, n, n := math.ceil(GROWTH**2 * n))
            tallies += plan.tally(watch.look([more]))
            found = watch.health(plan.estimate(tallies).numbers, WATCHED_LEVEL)
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
    reports[: 2 * FAKES] = 21


def push_value(reports: Array) -> None:
    """A direct report counts for many people: some share becomes impossible."""
    reports[:FAKES] = 7
    reports[FAKES : 10 * FAKES] = 8


def push_values(reports: Array) -> None:
    """No share is impossible alone, but together they are."""
    reports[: 4 * FAKES] = 10 + np.arange(4 * FAKES) % 4


FAULTS = [
    ("oue", push_bits, "pairs of values"),
    ("oue", push_bare_bit, "sizes of reports"),
    ("oue", push_bare_bit, "sum of shares"),
    ("olh", push_function, "hash functions"),
    ("loloha", push_function, "hash functions"),
    ("hr", push_column, "unused rows"),
    ("grr", push_value, "possible shares"),
    ("grr", push_values, "sums of groups"),
]


@pytest.mark.parametrize(("name", "push", "noticed"), FAULTS)
def test_fakes_are_noticed(name: str, push: Callable[[Array], None], noticed: str) -> None:
    plan = plan_of(name, 4.0 if name == "olh" else 1.0)
    reports = reports_of(plan, 1)
    push(reports.records.columns[0])
    found = health_of(plan, reports)
    assert noticed in {check.name for check in found.alarms}
    text = " ".join(str(found).split())
    assert f"ALARM town, {noticed}" in text
    assert health.MEANINGS[noticed] in text
    assert health.advise(found.alarms) in text
    for check in found.checks:
        assert f"{check.name} " in text
        assert check.fakes in text
    assert found.about()["alarms"] == len(found.alarms)


def check_of(attribute: str, noticed: float, p_value: float = 0.5) -> Check:
    return Check(attribute, "possible shares", p_value, "something", noticed, f"fakes of {noticed}")


def test_the_text_names_the_kind_of_fakes_and_stays_short() -> None:
    """Without an alarm one check of each attribute is shown, and with many attributes those of some."""
    quiet = str(Health((check_of("town", 0.2), check_of("town", 0.027), check_of("job", 1.0)), n=900))
    assert quiet.splitlines() == [
        "Health of the reports: no alarm in 3 checks at 900 reports; honest people raise one in 1,000 "
        "studies",
        "  attribute  check            needed  kind of fake reports",
        "  town       possible shares   2.7 %  fakes of 0.027",
        "  job        possible shares   never  fakes of 1.0",
        "  ... and 1 more check; --json has all",
        "  needed: if so many of the reports to this question are fake ones of this kind, the check raises",
        "  an alarm nine times in ten. Other kinds may need a larger share, or never raise one.",
    ]
    assert "below 0.1 %" in str(Health((check_of("town", 1e-7),), n=900))
    many = [check_of(f"question {j}", 0.1) for j in range(30)]
    assert "  ... and 22 more checks; --json has all" in str(Health(tuple(many), n=900)).splitlines()
    loud = str(Health((*many, check_of("town", 0.3, 1e-12)), n=900)).splitlines()
    assert "  ALARM town, possible shares: something (p = 1e-12)" in loud
    first = next(line for line in loud if "fakes of 0." in line)
    assert first.startswith("  town "), "what is wrong is first"
    assert "  ... and 23 more checks; --json has all" in loud


def test_the_verdict_is_about_what_reports_say_and_not_when_they_came() -> None:
    """Else a file of reports, which has no times, would have another verdict than the collector."""
    blind, burst = check_of("town", 1.0), replace(check_of("", 0.3), name="reports in one minute")
    found = Health((blind, burst), n=900)
    assert found.verdict == Health((blind,), n=900).verdict == "too few reports to judge"
    assert Health((blind, replace(burst, p_value=1e-12)), n=900).verdict == "1 alarm"
    assert Health.read(json.loads(json.dumps(found.about()))) == found


@pytest.mark.parametrize(("noticed", "verdict"), [(0.5, "no alarm"), (0.92, "too few reports to judge")])
def test_no_alarm_takes_a_check_that_notices_half_of_fakes(noticed: float, verdict: str) -> None:
    """The best check counts: others of the same reports may be blind."""
    assert Health((check_of("town", noticed), check_of("job", 1.0)), n=900).verdict == verdict


def test_the_advice_has_twice_the_share_that_was_noticed() -> None:
    found = Health((check_of("town", 0.0123, 1e-12), check_of("job", 0.3)), n=900)
    assert "With --fakes 0.025, deniable estimate" in found.about()["advice"]
    assert "if 2.5 % of the reports were made up" in found.about()["advice"]
    assert [one["noticed_of"] for one in found.about()["checks"]] == ["of the reports to this question"] * 2
    blind = Health((check_of("town", 1.0, 1e-12),), n=900)
    assert "With --fakes 0.05, deniable estimate" in blind.about()["advice"]


@pytest.mark.parametrize("n", [1, 2, 99])
@pytest.mark.parametrize("name", MAKERS)
def test_few_reports_are_too_few_to_judge(name: str, n: int) -> None:
    plan = plan_of(name)
    reports = plan.privatize({"town": [plan.labels["town"][0]] * n}, dn.remembering(1))
    found = health_of(plan, reports)
    about = json.loads(json.dumps(found.about(), allow_nan=False))
    assert about["verdict"] == "too few reports to judge"
    assert about["alarms"] == 0
    assert about["too_few"] == ["town"]
    assert str(found) == "Health of the reports: too few reports to judge"


def test_a_question_with_one_report_is_no_error() -> None:
    """Of two reports, each is about one of two questions, or both about the same one."""
    plan = dn.Study({"town": list("abcdef"), "job": list("xyz")}, 1.0, mechanism="sample").plan(100)
    for seed in range(10):
        reports = plan.privatize({"town": ["a", "b"], "job": ["x", "y"]}, dn.seeded(seed))
        found = health_of(plan, reports)
        assert json.dumps(found.about(), allow_nan=False)
        assert found.verdict == "too few reports to judge"
    many = plan.privatize({"town": ["a"] * 150, "job": ["x"] * 150}, dn.seeded(1))
    some = plan.estimate(plan.tally(many))
    assert {name for name, estimate in some.estimates.items() if estimate.n < 100} == {"town", "job"}


def test_a_plan_without_anything_known_says_so() -> None:
    plan = Plan.of({"age": dn.Range(0, 30, step=1)}, dn.metric.geometric(29, 0.5), 1000)
    reports = plan.privatize({"age": [3] * 50}, dn.seeded(1))
    assert "nothing about the reports is known" in str(health_of(plan, reports))


@pytest.mark.parametrize("name", MAKERS)
def test_tallies_alone_have_the_checks_of_shares(name: str) -> None:
    """A collector gives tallies, and no reports to look at."""
    plan = plan_of(name)
    found = HealthWatch(plan.document).health(plan.estimate(plan.tally(reports_of(plan, 1))).numbers)
    assert {check.name for check in found.checks} <= {"sum of shares", "sums of groups", "possible shares"}
    assert "no alarm" in str(found)


def bare_bits(made: Any, count: int) -> Array:
    bits = np.zeros((count, K), dtype=bool)
    bits[:, 3] = True
    return np.packbits(bits, axis=1, bitorder="little")


def all_values(made: Any, count: int) -> Array:
    """The first column of a Hadamard matrix, or a function whose steps are as long as there are buckets."""
    reports = made.blank(count)
    reports[:] = (made.g, 0, 0) if hasattr(made, "g") else 0
    assert made.support(reports).all()
    return reports  # type: ignore[no-any-return]


def by_chance(made: Any, count: int, *values: int, supported: bool = True) -> Array:
    """Reports that support these values, or leave them out, and are otherwise made by chance."""
    generator = np.random.default_rng(5)
    found: list[Array] = []
    while sum(len(some) for some in found) < count:
        seed = int(generator.integers(1 << 40))
        words = dn.remembering(seed) if made.repeated else dn.seeded(seed)
        reports = made.privatize(generator.integers(K, size=20_000), words)
        if hasattr(made, "g"):
            reports["a"] = generator.integers(1, PRIME, len(reports))
            reports["b"] = generator.integers(PRIME, size=len(reports))
            reports["bucket"] = generator.integers(made.g, size=len(reports))
        found.append(reports[(made.support(reports)[:, values] == supported).all(axis=1)])
    return np.concatenate(found)[:count]


def one_report(made: Any, count: int) -> Array:
    return np.repeat(by_chance(made, 1, 3), count, axis=0)


def several_values(made: Any, count: int, values: int) -> Array:
    """As many of the last values as fit in a report, and others by chance if there is room."""
    generator = np.random.default_rng(5)
    order = np.argsort(generator.random((count, K)) - (np.arange(K) >= K - values), axis=1)
    if isinstance(made, SubsetShape):
        return made.write_members(np.argsort(order, axis=1) < made.size)
    reports = made.blank(count)
    reports[:] = order[:, 0]
    return reports  # type: ignore[no-any-return]


MADE_UP: dict[str, Callable[[Any, int], Array]] = {
    checks.ONE_VALUE: bare_bits,
    checks.ALL_VALUES: all_values,
    checks.FOR_VALUE: lambda made, count: by_chance(made, count, K - 1),
    checks.AGAINST_VALUE: lambda made, count: by_chance(made, count, K - 1, supported=False),
    checks.ONE_FUNCTION: one_report,
    checks.ONE_COLUMN: one_report,
    checks.TWO_VALUES: lambda made, count: by_chance(made, count, 3, 4),
}
"""Fakes of every kind that a check says it would notice; nobody has the last value."""
MADE_UP |= {
    checks.SEVERAL_VALUES.format(values): partial(several_values, values=values) for values in (2, 4, 8, 16)
}


def count_alarms(plan: Plan, part: float, studies: int) -> dict[str, int]:
    """In how many studies with this part of its stated share of fakes each check raises an alarm."""
    pools: dict[str, Array] = {}
    alarms: dict[str, int] = {}
    for seed in range(studies):
        reports, generator = reports_of(plan, seed, values=K - 1), np.random.default_rng(seed)
        column = reports.records.columns[0]
        honest = column.copy()
        for said in health_of(plan, reports).checks:
            if said.fakes not in pools:
                pools[said.fakes] = MADE_UP[said.fakes](plan.document.parts[0], PEOPLE)
            count = math.ceil(part * said.noticed * PEOPLE)
            column[generator.permutation(PEOPLE)[:count]] = generator.permutation(pools[said.fakes])[:count]
            alarm = said.name in {one.name for one in health_of(plan, reports).alarms}
            alarms[said.name] = alarms.get(said.name, 0) + alarm
            column[:] = honest
    return alarms


@pytest.mark.long
@pytest.mark.parametrize("name", ["grr", "oue", "ss", "olh", "hr"])
def test_the_stated_share_of_fakes_is_noticed_nine_times_in_ten(name: str) -> None:
    """And a quarter of it is not: the claim is neither false nor idle."""
    plan, few = plan_of(name), NOTICED_STUDIES // 2
    quarter = count_alarms(plan, 0.25, few)
    for check, alarms in count_alarms(plan, 1.0, NOTICED_STUDIES).items():
        statistics.at_least(alarms, NOTICED_STUDIES, NOTICED, f"{check} by {name}")
        with pytest.raises(AssertionError):
            statistics.at_least(quarter[check], few, NOTICED, f"{check} by {name}")


@pytest.mark.parametrize("k", [20, 100, 1000, 5000])
@pytest.mark.parametrize("name", ["grr", "ss"])
def test_shares_that_always_add_up_are_not_checked(name: str, k: int) -> None:
    """Rounding is no variance: fixed sizes have none."""
    made = dn.PROTOCOLS[name].make(k, 1.0)
    estimate = made.estimate(made.tally(made.privatize([0] * 100, dn.seeded(1))))
    assert isinstance(estimate, dn.Estimate)
    assert [one.name for one in checks.check_shares("town", estimate, 0.001)] == [
        "sums of groups",
        "possible shares",
    ]


def test_a_check_that_cannot_notice_says_so() -> None:
    """With two buckets, what fakes do to a pair is what their shares say; and ten reports say little."""
    plan = plan_of("blh")
    found = {one.name: one for one in health_of(plan, reports_of(plan, 1)).checks}
    assert found["pairs of values"].noticed == 1
    few = plan_of("olh").privatize({"town": [1] * 10}, dn.seeded(1))
    assert health_of(plan_of("olh"), few).unjudged == ("town",)
    assert found["hash functions"].p_value == 1
