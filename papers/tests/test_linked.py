"""Likelihoods of the same people over several rounds: against sums over all that may be kept, and the truth.

Statistical tests state their sizes here; false-alarm rates are those of `statistics`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tests import cases, statistics

import deniable as dn
from deniable.arrays import Array
from deniable.errors import InvalidParameter, InvalidReport
from deniable.likelihood import mle
from deniable.likelihood.problem import Counted
from deniable.likelihood.sources import build_problem
from deniable.rounds import Repeated
from deniable_papers.likelihood import build_linked_problem, mle_rounds, mle_rounds_of_plan

Floats = npt.NDArray[np.float64]
MADE: dict[str, Repeated] = {
    "l_grr": dn.rounds.l_grr(3, 1.0, 2.0),
    "l_osue": dn.rounds.l_osue(3, 1.0, 2.0),
    "l_oue": dn.rounds.l_oue(2, 1.0, 2.0),
    "loloha": dn.rounds.loloha(4, 1.0, 2.0),
    "dbitflip": dn.rounds.dbitflip(4, 1.0, 2),
}
ROUNDS = 3
STUDIES, PEOPLE, MANY = 150, 400, 6
"""Studies with several rounds. Twice the log-likelihood that the truth is below the best is chi-square; a
mean that is 1.4 times as large is seen, and rounds taken for fresh ones make it about 2.5 times.
"""


def ask(mechanism: Repeated, values: Array, seed: int, rounds: int = ROUNDS) -> list[Array]:
    return [
        mechanism.privatize(values, dn.remembering(seed, round=number)) for number in range(1, rounds + 1)
    ]


def names(two: dn.rounds.Memoized, named: Sequence[int], value: int) -> float:
    """How likely these named values are, summed over the value that may be kept."""
    first, second = two.first.law, two.second.law
    return sum(
        (first.p if kept == value else first.q)
        * math.prod(second.p if one == kept else second.q for one in named)
        for kept in range(two.k)
    )


def bits(two: dn.rounds.Memoized, reports: Sequence[Sequence[bool]], value: int) -> float:
    """The same of bits, summed over all sets of bits that may be kept."""
    first, second, total = two.first.law, two.second.law, 0.0
    for kept in itertools.product((False, True), repeat=two.k):
        chance = 1.0
        for v, bit in enumerate(kept):
            own = first.p if v == value else first.q
            chance *= own if bit else 1 - own
            for report in reports:
                fresh = second.p if bit else second.q
                chance *= fresh if report[v] else 1 - fresh
        total += chance
    return total


def chance(mechanism: Repeated, reports: Sequence[Array], value: int) -> float:
    """How likely the reports of one person are, by the definition, up to a factor."""
    if isinstance(mechanism, dn.rounds.HashedMemoized):
        function = reports[0]
        bucket = (int(function["a"][0]) * (value + 1) + int(function["b"][0])) % ((1 << 31) - 1) % mechanism.g
        return names(mechanism.buckets, [int(report["bucket"][0]) for report in reports], bucket)
    if isinstance(mechanism, dn.rounds.BitFlip):
        return float(mechanism.likelihoods(reports[0])[0, value])
    assert isinstance(mechanism, dn.rounds.Memoized)
    if mechanism.bitwise:
        return bits(mechanism, [mechanism.support(report)[0].tolist() for report in reports], value)
    return names(mechanism, [int(report[0]) for report in reports], value)


def check_level(name: str) -> None:
    mechanism, generator = MADE[name], np.random.default_rng(1)
    rounds = ask(mechanism, generator.integers(mechanism.k, size=40), 1)
    table = np.array(
        [
            [chance(mechanism, [reports[i : i + 1] for reports in rounds], v) for v in range(mechanism.k)]
            for i in range(40)
        ]
    )
    problem = build_linked_problem(mechanism, rounds)
    off = []
    for _ in range(4):
        shares = generator.dirichlet(np.ones(mechanism.k))
        off.append(problem.likelihood(shares) - float(np.log(table @ shares).mean()))
    assert np.ptp(off) < 1e-12


def test_the_likelihood_is_a_sum_over_what_may_be_kept() -> None:
    cases.check_each(check_level, [(name, name) for name in MADE])


def test_one_round_is_that_of_one_report() -> None:
    for name, mechanism in MADE.items():
        values = np.random.default_rng(2).integers(mechanism.k, size=300)
        [reports] = ask(mechanism, values, 2, rounds=1)
        both = mle_rounds(mechanism, [reports]), mle(mechanism, reports)
        assert np.ptp([one.frequencies for one in both], axis=0).max() < 1e-4, name


def test_many_rounds_do_not_leave_floats() -> None:
    """The odds of 250 reports that agree are about e^1000."""
    for mechanism in (dn.rounds.l_grr(3, 4.0, 6.0), dn.rounds.l_osue(3, 4.0, 6.0)):
        found = mle_rounds(mechanism, ask(mechanism, np.repeat([0, 1], 30), 3, rounds=250))
        assert found.certified
        assert np.abs(found.frequencies - [0.5, 0.5, 0.0]).max() < 0.2


def measure(fresh: bool) -> float:
    """Twice what the truth is below the best, of all reports, summed over the studies."""
    mechanism, truth = dn.rounds.l_grr(3, 1.0, 1.5), np.array([0.5, 0.3, 0.2])
    generator, total = np.random.default_rng(5), 0.0
    for study in range(STUDIES):
        values = generator.choice(3, PEOPLE, p=truth)
        rounds = ask(mechanism, values, study, MANY)
        if fresh:
            pooled = build_problem(mechanism, mechanism.tally(np.concatenate(rounds)))
            assert isinstance(pooled, Counted)
            best = mle(mechanism, np.concatenate(rounds)).frequencies
            total += 2 * pooled.n * (pooled.likelihood(best) - pooled.likelihood(truth))
        else:
            problem = build_linked_problem(mechanism, rounds)
            best = mle_rounds(mechanism, rounds).frequencies
            total += 2 * problem.n * (problem.likelihood(best) - problem.likelihood(truth))
    return total


def test_the_truth_is_as_likely_as_it_should_be() -> None:
    statistics.spread(measure(False), 2 * STUDIES, "linked rounds")


def test_rounds_taken_for_fresh_ones_would_be_seen() -> None:
    with pytest.raises(AssertionError, match="fresh"):
        statistics.spread(measure(True), 2 * STUDIES, "fresh rounds")


def test_intervals_come_from_people_who_are_asked_again() -> None:
    mechanism, values = MADE["l_osue"], np.repeat([0, 1, 2], [60, 30, 10])
    found = mle_rounds(mechanism, ask(mechanism, np.tile(values, 10), 1))
    low, high = found.interval(repeats=20)
    assert (low < [0.6, 0.3, 0.1]).all()
    assert (high > [0.6, 0.3, 0.1]).all()
    assert found.bootstrap(repeats=20).shape == (20, 3)


PLAN = dn.Study(
    {"age": ["young", "old"], "smokes": ["yes", "no", "at times"]},
    epsilon_first=1.0,
    epsilon_forever=2.0,
    rounds=4,
).plan(people=400)


def answers(n: int = 400) -> dict[str, list[str]]:
    draws = np.random.default_rng(8)
    return {
        "age": draws.choice(["young", "old"], n, p=[0.7, 0.3]).tolist(),
        "smokes": draws.choice(["yes", "no", "at times"], n, p=[0.2, 0.7, 0.1]).tolist(),
    }


def test_a_plan_reads_linked_rounds() -> None:
    plan = PLAN
    rounds = [plan.privatize(answers(), dn.remembering(1, round=number)) for number in (1, 2, 3)]
    found = mle_rounds_of_plan(plan, rounds)
    assert list(found) == ["age", "smokes"]
    assert found["age"].method.endswith("3 linked rounds")
    assert found["age"].labels == plan.labels["age"]
    asked: Any = partial(mle_rounds_of_plan, plan)
    others = plan.privatize(answers(), dn.remembering(2, round=2))
    once = dn.Plan.of({"a": ["x", "y"]}, dn.grr(2, 1.0), people=10)
    refused: list[tuple[Callable[[], object], type[Exception], str]] = [
        (lambda: asked(rounds[0]), InvalidParameter, "a list of the reports of each"),
        (lambda: asked([]), InvalidParameter, "no reports yet"),
        (
            lambda: asked([rounds[0], plan.privatize(answers(300), dn.remembering(1, round=2))]),
            InvalidReport,
            "same people",
        ),
        (lambda: mle_rounds_of_plan(once, []), InvalidParameter, "asks once"),
        (lambda: mle_rounds(dn.grr(2, 1.0), []), InvalidParameter, "keep a first answer"),  # type: ignore[arg-type]
        (lambda: mle_rounds(MADE["l_grr"], []), InvalidParameter, "no rounds yet"),
        (
            lambda: mle_rounds(
                MADE["dbitflip"], [ask(MADE["dbitflip"], np.zeros(9, dtype=int), s, 1)[0] for s in (1, 2)]
            ),
            InvalidReport,
            "some differ",
        ),
        (
            lambda: mle_rounds(
                MADE["loloha"], [ask(MADE["loloha"], np.zeros(9, dtype=int), s, 1)[0] for s in (1, 2)]
            ),
            InvalidReport,
            "hash function is kept",
        ),
        (
            lambda: mle_rounds(MADE["l_grr"], [np.zeros(3, dtype=np.uint8), np.zeros(2, dtype=np.uint8)]),
            InvalidReport,
            "row i of every round",
        ),
    ]
    faked = dn.Study(
        {"age": ["young", "old"], "smokes": ["yes", "no"]},
        epsilon_first=1.0,
        epsilon_forever=2.0,
        rounds=4,
        mechanism="faked",
    ).plan(people=400)
    refused.append((lambda: mle_rounds_of_plan(faked, rounds), InvalidParameter, "linked rounds are real"))
    if plan.mechanism.reported < plan.mechanism.d:
        refused.append((lambda: asked([rounds[0], others]), InvalidReport, "same rows"))
    for call, kind, text in refused:
        with pytest.raises(kind, match=text):
            call()
