"""Checks that the intervals of means, sums, groups and quantiles hold the truth as often as they say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from typing import cast

import numpy as np
import pytest

import deniable as dn
from deniable.arrays import Floats
from deniable.estimate import Estimate
from deniable.law import Law
from deniable.records import RecordMechanism
from deniable.summaries import Summary, mean_of, quantile_of, sum_of, summaries, totals
from tests import statistics
from tests.cases import by_night
from tests.statistics import COVERED, COVERED_PEOPLE, COVERED_STUDIES, WORST_STUDIES

SIZES, EPSILONS = (11, 31, 100), (0.5, 1.0, 3.0, 5.0)
Make = Callable[[int, float], dn.mechanisms.Mechanism | RecordMechanism]
MAKERS: dict[str, Make] = {
    **{name: row.make for name, row in dn.PROTOCOLS.items()},
    "l_grr": lambda k, epsilon: dn.rounds.l_grr(k, epsilon / 2, epsilon),
    "l_osue": lambda k, epsilon: dn.rounds.l_osue(k, epsilon / 2, epsilon),
    "loloha": lambda k, epsilon: dn.rounds.loloha(k, epsilon / 2, epsilon),
    "dbitflip": lambda k, epsilon: dn.rounds.dbitflip(k, epsilon, max(2, k // 4)),
    "spl": lambda k, epsilon: dn.spl([k, 3], 2 * epsilon, "oue"),
    "smp": lambda k, epsilon: dn.smp([k, 3], epsilon, "olh"),
    "rsfd grr": lambda k, epsilon: dn.rsfd([k, 3], epsilon, "grr"),
    "rsfd oue-z": lambda k, epsilon: dn.rsfd([k, 3], epsilon, "oue-z"),
    "rsrfd grr": lambda k, epsilon: dn.records.rsrfd(
        [k, 3], epsilon, [np.arange(1, k + 1), [1, 2, 3]], "grr"
    ),
}
NIGHTLY = (
    *("sue", "the", "blh", "plh", "aue", "ass", "alh", "athe", "adaptive", "l_grr", "loloha", "dbitflip"),
    *("spl", "smp", "rsfd grr", "rsrfd grr"),
)
"""A summary sees a law and its pairs: makers whose laws are like those of another are tried by night."""


def populations(k: int) -> list[Floats]:
    """All alike, some common, and nobody in the upper two thirds."""
    some = [np.ones(k), 1 / np.arange(1, k + 1) ** 1.5, (np.arange(k) < k // 3).astype(np.float64)]
    return [shares / shares.sum() for shares in some]


def estimates(make: Make, epsilon: float, shares: Floats, studies: int, seed: int = 1) -> list[Estimate]:
    """Studies of people drawn from these shares."""
    mechanism, generator = make(shares.size, epsilon), np.random.default_rng(seed)
    people = generator.choice(shares.size, studies * COVERED_PEOPLE, p=shares)
    if isinstance(mechanism, RecordMechanism):
        columns = np.column_stack([people, generator.integers(0, 3, people.size)])
        parts = (
            mechanism.privatize(rows, dn.seeded(seed + study))
            for study, rows in enumerate(np.split(columns, studies))
        )
        return [mechanism.estimate(mechanism.tally(part))[0] for part in parts]
    reports = mechanism.privatize(people, dn.seeded(seed))
    found = (mechanism.estimate(mechanism.tally(part)) for part in np.split(reports, studies))
    return [cast(Estimate, one) for one in found]


def find_mean(result: Estimate, shares: Floats) -> tuple[Summary, float]:
    return mean_of(result), float(shares @ np.arange(shares.size))


def find_sum(result: Estimate, shares: Floats, values: slice) -> tuple[Summary, float]:
    return sum_of(result, np.arange(shares.size)[values]), float(shares[values].sum())


def find_quantile(result: Estimate, shares: Floats, share: float) -> tuple[Summary, float]:
    return quantile_of(result, share), float((np.cumsum(shares) < share - 1e-12).sum())


SUMMARIES: dict[str, Callable[[Estimate, Floats], tuple[Summary, float]]] = {
    "mean": find_mean,
    "lower half": lambda result, shares: find_sum(result, shares, slice(shares.size // 2)),
    "even values": lambda result, shares: find_sum(result, shares, slice(0, None, 2)),
    "quantile 0.1": lambda result, shares: find_quantile(result, shares, 0.1),
    "quantile 0.9": lambda result, shares: find_quantile(result, shares, 0.9),
}
"""Every summary, and the truth that it is about."""


TRIALS = len(SIZES) * len(EPSILONS) * 3 * COVERED_STUDIES


@by_night("name", MAKERS, *NIGHTLY)
def test_summaries_hold_the_truth(name: str) -> None:
    """All populations together, and the worst of them by itself."""
    make = cache(MAKERS[name])
    held: dict[str, list[int]] = {summary: [] for summary in SUMMARIES}
    for seed, (k, epsilon, kind) in enumerate(product(SIZES, EPSILONS, range(3))):
        shares = populations(k)[kind]
        results = estimates(make, epsilon, shares, COVERED_STUDIES, 100 * seed)
        for summary, find in SUMMARIES.items():
            found = [find(result, shares) for result in results]
            held[summary].append(sum(one.low <= truth <= one.high for one, truth in found))
    for summary, times in held.items():
        statistics.at_least(sum(times), TRIALS, COVERED, f"{summary} by {name}")
        statistics.each_at_least(times, COVERED_STUDIES, COVERED, f"{summary} by {name}, the worst")


def test_one_population_that_is_never_held_is_noticed() -> None:
    with pytest.raises(AssertionError):
        statistics.each_at_least([10] * 35 + [2], COVERED_STUDIES, COVERED, "one population")
    statistics.each_at_least([10] * 35 + [6], COVERED_STUDIES, COVERED, "one population")


def test_quantiles_from_the_far_end_do_not_cover(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shares need not add up to 1 here, so that sums from the left are off at the right end."""
    shares = populations(11)[0]
    results = estimates(MAKERS["oue"], 1.0, shares, WORST_STUDIES)

    def count_held() -> int:
        found = (find_quantile(result, shares, 0.9) for result in results)
        return sum(one.low <= truth <= one.high for one, truth in found)

    statistics.at_least(count_held(), WORST_STUDIES, COVERED, "quantile 0.9 by oue")

    def from_the_left(result: Estimate, wanted: float) -> totals.Curve:
        return totals.Curve(np.cumsum(result.frequencies)[:-1], totals.cumulate(result, wanted).errors)

    monkeypatch.setattr(summaries, "cumulate", from_the_left)
    with pytest.raises(AssertionError):
        statistics.at_least(count_held(), WORST_STUDIES, COVERED, "quantiles from the left")


def test_values_that_are_not_alike_are_not_taken_to_be() -> None:
    """In the worst cases known the truth is held; with all pairs of values alike, it is not.

    The total leaves little of the difference: that of LOLOHA's pairs does not show in so many studies.
    """
    shares = populations(100)[1]
    exact = estimates(MAKERS["hr"], 5.0, shares, WORST_STUDIES)

    def count_held(results: Sequence[Estimate]) -> int:
        found = (SUMMARIES["mean"](result, shares) for result in results)
        return sum(one.low <= truth <= one.high for one, truth in found)

    statistics.at_least(count_held(exact), WORST_STUDIES, COVERED, "mean by hr")
    alike = [replace(result, law=replace(cast(Law, result.law), _pairs=None)) for result in exact]
    with pytest.raises(AssertionError):
        statistics.at_least(count_held(alike), WORST_STUDIES, COVERED, "pairs taken to be alike")
