"""Attacks on splits whose parts are samples and fakes, against full enumeration.

The parts of such a report are independent. Which attributes are reported is known for a sample, and secret
among fakes. Everything is compared with the law of whole reports, record by record.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

import deniable as dn
from deniable import attack
from tests import enumeration, statistics
from tests.attack.averaging import guess_from_collections
from tests.attack.test_attacks import outcomes_of, people_of, sent

SAMPLE = dn.records.Sample((dn.grr(2, 1.0), dn.oue(3, 1.2)))
FAKED = dn.rsfd((3, 2), 1.5, "grr")
NESTED: dict[str, dn.records.Split] = {
    "sample": dn.records.Split((dn.grr(3, 1.0), SAMPLE)),
    "metric and sample": dn.records.Split((dn.metric.geometric(2, 0.7), SAMPLE)),
    "faked": dn.records.Split((dn.grr(3, 1.0), FAKED)),
    "faked bits first": dn.records.Split((dn.rsfd((2, 3), 1.0, "sue-z"), dn.grr(2, 1.0))),
    "sample and faked": dn.records.Split((SAMPLE, FAKED)),
}
SHARES = {2: [0.7, 0.3], 3: [0.6, 0.3, 0.1]}
Joint = dict[tuple[int, ...], float]


def priors_of(mechanism: dn.records.RecordMechanism) -> list[list[float]]:
    return [SHARES[part.k] for part in mechanism.mechanisms]


def weights_of(mechanism: dn.records.RecordMechanism) -> Joint:
    believed = priors_of(mechanism)
    records = enumeration.records_of(mechanism)
    return {record: math.prod(believed[j][v] for j, v in enumerate(record)) for record in records}


def records_from(
    mechanism: dn.records.RecordMechanism, outcomes: Sequence[Sequence[object]]
) -> dn.records.Records:
    """Outcomes of an enumeration as reports; what is None was not reported."""
    columns, reporters = [], []
    for j, part in enumerate(mechanism.mechanisms):
        who = [i for i, outcome in enumerate(outcomes) if outcome[j] is not None]
        columns.append(sent(part, [outcomes[i][j] for i in who]))
        reporters.append(np.array(who, dtype=np.int64))
    partly = any(len(who) < len(outcomes) for who in reporters)
    return dn.records.Records(len(outcomes), tuple(columns), tuple(reporters) if partly else None)


def by_value(joint: Joint, j: int, k: int) -> list[float]:
    return [math.fsum(chance for record, chance in joint.items() if record[j] == v) for v in range(k)]


@pytest.mark.parametrize("name", NESTED)
def test_guesses_are_the_best_there_are(name: str) -> None:
    """The posterior of every report is that of the law, and their mean is the success that is stated."""
    mechanism = NESTED[name]
    _, laws = outcomes_of(mechanism)
    weights, outcomes = weights_of(mechanism), list(next(iter(laws.values())))
    found = attack.guess(mechanism, records_from(mechanism, outcomes), priors_of(mechanism))
    best = np.zeros(mechanism.d)
    for i, outcome in enumerate(outcomes):
        joint = {record: weight * float(laws[record][outcome]) for record, weight in weights.items()}
        for j, part in enumerate(mechanism.mechanisms):
            values = by_value(joint, j, part.k)
            best[j] += max(values)
            assert found.posterior[j, i] == pytest.approx(max(values) / sum(values), abs=1e-9)
            assert values[found.values[j, i]] == pytest.approx(max(values))
    told = attack.success(mechanism, priors_of(mechanism), collections=1).attributes
    for one, right in zip(told, best, strict=True):
        if "report" in one.stderr:
            error = max(one.stderr["report"], 1e-9)
            statistics.deviation(one.report, right, error, f"success of {name}")
        else:
            assert one.report == pytest.approx(right, abs=1e-9)


@pytest.mark.parametrize("name", NESTED)
def test_two_collections_are_put_together(name: str) -> None:
    mechanism = NESTED[name]
    _, laws = outcomes_of(mechanism)
    weights, outcomes = weights_of(mechanism), list(next(iter(laws.values())))
    picked = np.random.default_rng(3).choice(len(outcomes), (60, 2))
    collections = [records_from(mechanism, [outcomes[i] for i in column]) for column in picked.T]
    found = guess_from_collections(mechanism, collections, priors_of(mechanism))
    for i, pair in enumerate(picked):
        joint = {
            record: weight * math.prod(float(laws[record][outcomes[y]]) for y in pair)
            for record, weight in weights.items()
        }
        for j, part in enumerate(mechanism.mechanisms):
            values = by_value(joint, j, part.k)
            assert found.posterior[j, i] == pytest.approx(max(values) / sum(values), abs=1e-9)


@pytest.mark.parametrize("name", ["faked", "faked bits first", "sample and faked"])
def test_the_real_attribute_of_a_part(name: str) -> None:
    """Its posterior is that of the part alone: the rest of the report says nothing of it."""
    mechanism = NESTED[name]
    member, first = next((one, at) for one, at, _ in mechanism.members if isinstance(one, dn.records.Faked))
    believed = priors_of(mechanism)[first : first + member.d]
    real = [
        enumeration.mixture(
            (chance, enumeration.part_law(part, v)) for v, chance in enumerate(map(Fraction, shares))
        )
        for part, shares in zip(member.mechanisms, believed, strict=True)
    ]
    fakes = [enumeration.fake_law(fake) for fake in member.fakes]
    _, laws = outcomes_of(mechanism)
    outcomes = list(next(iter(laws.values())))
    found = attack.sampled_attribute(mechanism, records_from(mechanism, outcomes), priors_of(mechanism))
    assert found.names == tuple(f"attribute {first + j}" for j in range(member.d))
    for i, outcome in enumerate(outcomes):
        ratios = [float(real[j][outcome[first + j]] / fakes[j][outcome[first + j]]) for j in range(member.d)]
        assert found.posterior[i] == pytest.approx(max(ratios) / sum(ratios), abs=1e-9)
        assert ratios[found.attributes[i]] == pytest.approx(max(ratios))
    mean = attack.sampled_success(mechanism, priors_of(mechanism)).value
    alone = attack.sampled_success(member, believed).value
    assert mean == pytest.approx(alone)


def test_simulated_people_report_the_attribute_that_is_said() -> None:
    """The words of a part begin after those of the parts before it."""
    mechanism, n = NESTED["sample and faked"], 20_000
    table = people_of(priors_of(mechanism), n, 5)
    found = attack.sampled_attribute(
        mechanism, mechanism.privatize(table, dn.seeded(6)), priors_of(mechanism)
    )
    right = found.right(attack.real_attributes(mechanism, n, 6))
    statistics.deviation(right, found.expected, math.sqrt(right * (1 - right) / n), "the real attribute")
    assert right > found.blind + 0.02
    blind = found.right(attack.real_attributes(mechanism, n, 7))
    with pytest.raises(AssertionError, match="standard errors off"):
        statistics.deviation(
            blind, found.expected, math.sqrt(blind * (1 - blind) / n), "other people's words"
        )


def test_which_part_with_fakes_is_attacked_is_said() -> None:
    two = dn.records.Split((FAKED, dn.grr(2, 1.0), dn.rsfd((2, 2), 1.0, "grr")))
    plan = dn.Plan.of(
        {name: range(part.k) for name, part in zip("abcde", two.mechanisms, strict=True)}, two, 9
    )
    reports = plan.privatize({name: [0, 1] for name in "abcde"}, dn.seeded(1))
    assert attack.sampled_attribute(plan, reports, among="e").names == ("d", "e")
    assert attack.sampled_attribute(plan, reports, among=0).names == ("a", "b")
    with pytest.raises(dn.InvalidParameter, match=r"2 parts with fakes; say which .* such as among='a'"):
        attack.sampled_attribute(plan, reports)
    with pytest.raises(dn.InvalidParameter, match="'c' is not in a part with fakes"):
        attack.sampled_attribute(plan, reports, among="c")
    with pytest.raises(dn.InvalidParameter, match="'f' is not an attribute"):
        attack.sampled_attribute(plan, reports, among="f")
    with pytest.raises(dn.InvalidParameter, match="here a report names it"):
        attack.sampled_attribute(NESTED["sample"], NESTED["sample"].privatize([[0, 0, 0]], dn.seeded(1)))


def plan_of(mechanism: dn.records.RecordMechanism) -> dn.Plan:
    names = [f"a{j}" for j in range(mechanism.d)]
    asked: dict[str, object] = {}
    for name, part in zip(names, mechanism.mechanisms, strict=True):
        metric = isinstance(part, dn.metric.Geometric)
        asked[name] = dn.Range(0, part.k, step=1) if metric else range(part.k)
    return dn.Plan.of(asked, mechanism, 100)


@pytest.mark.parametrize("name", NESTED)
def test_people_are_ranked_by_the_law_of_their_reports(name: str) -> None:
    """Two surveys: a record's score is the product of how likely both reports are for it."""
    mechanism = NESTED[name]
    plan = plan_of(mechanism)
    table = people_of(priors_of(mechanism), 40, 8)
    people = {f"a{j}": table[:, j] for j in range(mechanism.d)}
    surveys = [plan.privatize(people, dn.seeded(seed)) for seed in (1, 2)]
    found = attack.reidentify([plan, plan], surveys, people, top=3)
    laws = {record: enumeration.law_of(mechanism, record) for record in set(map(tuple, table.tolist()))}
    for i in range(40):
        seen = [outcome_of(mechanism, survey.records, i) for survey in surveys]
        scores = [math.prod(float(laws[tuple(record)][y]) for y in seen) for record in table.tolist()]
        above = sum(score > scores[i] * (1 + 1e-5) for score in scores)
        tied = sum(abs(score / scores[i] - 1) <= 1e-5 for score in scores)
        assert above <= found.above[i] < above + tied
        assert found.above[i] + found.tied[i] <= above + tied
        if "metric" not in name:  # there, different answers can be as likely by chance, up to rounding
            assert (found.above[i], found.tied[i]) == (above, tied)


def outcome_of(
    mechanism: dn.records.RecordMechanism, records: dn.records.Records, i: int
) -> tuple[object, ...]:
    found: list[object] = []
    reporters = records.reporters or (np.arange(records.n),) * mechanism.d
    for part, column, who in zip(mechanism.mechanisms, records.columns, reporters, strict=True):
        row = np.flatnonzero(who == i)
        found.append(enumeration.outcomes(part, column[row])[0] if row.size else None)
    return tuple(found)


def test_surveys_with_and_without_fakes_are_matched_together() -> None:
    plans = [plan_of(FAKED), plan_of(dn.records.Split((dn.grr(3, 2.0), dn.grr(2, 2.0))))]
    table = people_of([SHARES[3], SHARES[2]], 30, 9)
    people = {"a0": table[:, 0], "a1": table[:, 1]}
    surveys = [plan.privatize(people, dn.seeded(seed)) for seed, plan in enumerate(plans)]
    found = attack.reidentify(plans, surveys, people, top=1)
    for i in range(30):
        scores = np.ones(30)
        for plan, one in zip(plans, surveys, strict=True):
            seen = outcome_of(plan.mechanism, one.records, i)
            laws = [enumeration.law_of(plan.mechanism, tuple(record)) for record in table.tolist()]
            scores *= [float(law[seen]) for law in laws]
        assert found.above[i] == (scores > scores[i] * (1 + 1e-6)).sum()


def test_profiles_multiply_over_parts() -> None:
    """One attribute always, and one of two at random, twice: summed over both draws."""
    mechanism = NESTED["sample"]
    found = attack.success(mechanism, collections=2)
    assert [one.asked for one in found.profiles] == ["mixed", "mixed"]
    for one in found.profiles:
        right = [
            [attack.success_after(part, m, memoized=one.memoized) for m in range(3)]
            for part in mechanism.mechanisms
        ]
        known = whole = 0.0
        for draws in itertools.product((1, 2), repeat=2):
            counts = [2, draws.count(1), draws.count(2)]
            each = [right[j][m] for j, m in enumerate(counts)]
            whole += math.prod(each) / 4
            known += math.prod(chance for chance, m in zip(each, counts, strict=True) if m) / 4
        assert one.whole_record == pytest.approx(whole)
        assert one.all_reported == pytest.approx(known)
        assert one.bound is False


def test_the_page_names_the_part_with_fakes() -> None:
    plan = plan_of(NESTED["faked"])
    table = people_of(priors_of(plan.mechanism), 50, 2)
    found = attack.examine(plan, {f"a{j}": table[:, j] for j in range(3)}, collections=2, users=20)
    [real] = found.real_attributes
    assert (real.names, real.blind) == (("a1", "a2"), 0.5)
    text = " ".join(found.text().split())
    assert "Which attribute of a report is real, among a1, a2, is found for" in text
    assert "some always, some at random" in text
