"""Best guesses of questions that depend on each other, against all records and all reports one by one."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

import deniable as dn
import deniable.explain.guesses as related
from deniable.explain.guesses import bound_related, guess_related, list_related_guesses
from deniable.mechanisms import SetMechanism
from deniable.metric import MetricMechanism

ROOT = ["full", "part", "none"]
ASKED: dict[str, Any] = {"works": ROOT, "job": ["shop", "farm"], "boss": ["yes", "no"]}
ONLY_IF: dict[str, dict[str, Any]] = {"job": {"works": ["full", "part"]}, "boss": {"works": "full"}}


def outcomes(name: str, p: float, q: float, k: int, size: int) -> Iterator[tuple[set[int], list[float]]]:
    """All reports of one value out of k, by the definitions of the papers, and how likely each is."""
    if name == "oue":
        for bits in product((0, 1), repeat=k):
            chances = []
            for v in range(k):
                odds = [
                    (p if i == v else q) if bit else 1 - (p if i == v else q) for i, bit in enumerate(bits)
                ]
                chances.append(math.prod(odds))
            yield {i for i in range(k) if bits[i]}, chances
        return
    for chosen in combinations(range(k), size):
        inside, outside = p / math.comb(k - 1, size - 1), (1 - p) / math.comb(k - 1, size)
        yield set(chosen), [inside if v in chosen else outside for v in range(k)]


def brute_force(plan: dn.Plan, protocol: str) -> dict[str, float]:
    """Every record, every report: the likeliest value of each attribute."""
    records = [
        ((w, j if w < 2 else 2, b if w < 1 else 2), 1 / 3 / (2 if w < 2 else 1) / (2 if w < 1 else 1))
        for w in range(3)
        for j in (range(2) if w < 2 else [0])
        for b in (range(2) if w < 1 else [0])
    ]
    assert sum(chance for _, chance in records) == pytest.approx(1)
    listed = []
    for part in plan.mechanism.mechanisms:
        assert isinstance(part, SetMechanism)
        size = int(part.law.sizes[0])
        listed.append([row for _, row in outcomes(protocol, part.law.p, part.law.q, part.k, size)])
    sampled = plan.mechanism.kind == "sample"
    found = dict.fromkeys(plan.names, 0.0)
    reports: list[list[tuple[int, list[float]]]] = (
        [[(j, row)] for j in range(3) for row in listed[j]]
        if sampled
        else [list(enumerate(rows)) for rows in product(*listed)]
    )
    for report in reports:
        often = float(plan.mechanism.chance(report[0][0])) if sampled else 1.0
        for at, name in enumerate(plan.names):
            scores = [0.0] * 3
            for record, chance in records:
                scores[record[at]] += chance * often * math.prod(row[record[j]] for j, row in report)
            found[name] += max(scores)
    return found


@pytest.mark.parametrize("mechanism", ["split", "sample"])
@pytest.mark.parametrize("protocol", ["grr", "oue", "ss"])
def test_guesses_are_those_of_all_reports(mechanism: str, protocol: str) -> None:
    plan = dn.Study(ASKED, epsilon=3.0, only_if=ONLY_IF, mechanism=mechanism, protocol=protocol).plan(1000)
    found = guess_related(plan.document, plan.names)
    assert found is not None
    wanted = brute_force(plan, protocol)
    assert {one.attribute: one.guess for one in found} == pytest.approx(wanted, abs=1e-12)
    assert [one.blind for one in found] == pytest.approx([1 / 3, 1 / 3, 2 / 3])
    text = plan.explain().replace("\n", " ")
    assert f"is right about 'works' {100 * wanted['works']:.1f} % (blind 33.3 %)" in text
    assert "(a bound;" not in text


def test_all_reports_together_tell_more_than_each_alone() -> None:
    """A yes/no question and four that depend on it, all reported: each says whether it applies."""
    four = {name: ["few", "many"] for name in ("hours", "trips", "meals", "calls")}
    plan = dn.Study(
        {"works": ["yes", "no"], **four},
        epsilon=4.0,
        only_if={name: {"works": "yes"} for name in four},
        mechanism="split",
        protocol="grr",
    ).plan(1000)
    works = list_related_guesses(plan.document)["works"]
    alone = plan.mechanism.mechanisms[0].success()
    assert works.blind == 0.5
    assert alone == pytest.approx(0.69, abs=0.001)
    assert works.guess == pytest.approx(0.765, abs=0.01)
    success = dn.attack.success(plan, collections=1)
    found = success["works"]
    assert (found.report, found.together, found.together_blind) == pytest.approx((alone, works.guess, 0.5))
    assert re.search(r"^ *works +2 +50 % +69 % +69 % +76.5 % +50 %$", str(success), re.M), str(success)
    page = " ".join(dn.attack.examine(plan, collections=1).text().split())
    assert "where a question applies: 'works' 76.5 % (blind 50 %), 'hours'" in page
    informed = dn.attack.success(plan, {"works": [0.5, 0.5]}, collections=1)
    assert "related" not in str(informed)


def test_metric_answers_are_counted_in_and_fakes_are_bounded() -> None:
    asked: dict[str, Any] = {
        "works": ["yes", "no"],
        "age": dn.Range(0, 20, step=5, privacy="metric", epsilon=0.1),
    }
    plan = dn.Study(asked, epsilon=1.0, only_if={"age": {"works": "yes"}}, mechanism="split").plan(1000)
    age = list_related_guesses(plan.document)["age"]
    assert age.blind == 0.5
    part, first = (plan.mechanism.mechanisms[plan.names.index(name)] for name in ("age", "works"))
    assert isinstance(part, MetricMechanism)
    assert isinstance(first, SetMechanism)
    works = first.law
    rows = np.array([part.forward(row) for row in np.eye(part.k)])
    best = sum(
        np.maximum(0.5 * seen[0] * rows.max(axis=0) / part.k, 0.5 * seen[1] * rows.mean(axis=0)).sum()
        for seen in ((works.p, works.q), (works.q, works.p))
    )
    assert age.guess == pytest.approx(float(best), abs=1e-12)
    faked = dn.Study(ASKED, epsilon=3.0, only_if=ONLY_IF, mechanism="faked").plan(1000)
    assert guess_related(faked.document, faked.names) is None
    assert "(a bound;" in faked.explain()


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 4.0])
def test_no_guess_of_a_chain_exceeds_its_bound(epsilon: float) -> None:
    """Every record and report of a -> b -> c; most people have no c, and a blind guess says so."""
    names = ["a", "b", "c"]
    plan = dn.Study(
        {name: ["yes", "no"] for name in names},
        epsilon=epsilon,
        only_if={"b": {"a": "yes"}, "c": {"b": "yes"}},
        mechanism="split",
        protocol="grr",
    ).plan(1000)
    records = {(0, 0, 0): 1 / 8, (0, 0, 1): 1 / 8, (0, 1, 2): 1 / 4, (1, 2, 2): 1 / 2}
    laws = [part.law for part in plan.mechanism.mechanisms if isinstance(part, SetMechanism)]
    best = dict.fromkeys(names, 0.0)
    for report in product(range(2), range(3), range(3)):
        scores = np.zeros((3, 3))
        for record, often in records.items():
            pairs = zip(laws, report, record, strict=True)
            likely = often * math.prod(law.p if seen == value else law.q for law, seen, value in pairs)
            for j, value in enumerate(record):
                scores[j, value] += likely
        for j, name in enumerate(names):
            best[name] += float(scores[j].max())
    found = {one.attribute: one for one in bound_related(plan.document, names)}
    assert [found[name].blind for name in names] == [Fraction(1, 2), Fraction(1, 2), Fraction(3, 4)]
    for name in names:
        assert found[name].blind - 1e-12 <= best[name] <= found[name].bound
    stated = re.search(r"'c' at most ([\d.]+) % \(a bound; blind 75.0 %\)", " ".join(plan.explain().split()))
    assert stated is not None
    assert best["c"] <= float(stated[1]) / 100


def test_bounds_of_fakes_count_in_to_whom_a_question_applies() -> None:
    plan = dn.Study(ASKED, epsilon=0.3, only_if=ONLY_IF, mechanism="faked").plan(1000)
    text = " ".join(plan.explain().split())
    stated = re.search(r"is right about 'works' at most [\d.]+ .*'boss' at most ([\d.]+) % \(a bound", text)
    assert stated is not None
    assert float(stated[1]) > 66.7


def test_guesses_are_summed_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """By explain() and by an attack on the same plan; and what a question says of others once for all."""
    plan = dn.Study(ASKED, epsilon=2.5, only_if=ONLY_IF, mechanism="split", protocol="oue").plan(1000)
    merged = []

    def merge(table: np.ndarray) -> np.ndarray:
        merged.append(1)
        return found(table)

    found = related._merge
    monkeypatch.setattr(related, "_merge", merge)
    plan.explain()
    assert len(merged) == 3 + 2 * 2  # one for each target, and two for each of those that depend
    dn.attack.success(dn.Plan.from_json(plan.to_json()), collections=1)
    assert len(merged) == 7


def test_with_rounds_the_guess_is_of_one_round() -> None:
    plan = dn.Study(ASKED, epsilon_first=1.0, epsilon_forever=2.0, rounds=3, only_if=ONLY_IF).plan(1000)
    assert "By all their reports of one round, whoever" in " ".join(plan.explain().split())
