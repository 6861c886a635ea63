"""Balances error and attack as Revisiting LDP protocols (2025) does, with its formulas corrected.

Every protocol is there with the figures that the study computes (`published`), with those of the law
(`exact`), and as measured (`guess`). What differs: the success of hashing takes the mean size of a support
for its size; errors of direct encoding and subsets are those of a value that nobody has; thresholded
histograms run at a noise that spends less than epsilon; p of attack-aware unary encoding is searched on a
grid too coarse near 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from deniable.arrays import Integers
from deniable.attack.values import guess_values
from deniable.errors import InvalidParameter
from deniable.exact import positive_epsilon, whole_number
from deniable.mechanisms import (
    Hashed,
    SetMechanism,
    Unary,
    alh,
    ass,
    athe,
    aue,
    grr,
    lh,
    olh,
    oue,
    ss,
    sue,
    the,
    ue,
)
from deniable.mechanisms.calibrate import theta_for
from deniable.randomness import FULL
from deniable.randomness.simulated import numbers_from, seeded
from deniable_papers.data import Dataset
from deniable_papers.distances import mean_squared_error
from deniable_papers.simulate.population import dirichlet
from deniable_papers.studies.accuracy import AttackPoint, add_chance, add_no_chance, frame, over_runs
from deniable_papers.studies.sweep import AGES, Progress, checked_methods, take_attribute

__all__ = ["EPSILONS", "METHODS", "RUNS", "AttackPoint", "frame", "mark_front", "reproduce"]

EPSILONS = (0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0)
RUNS = 20
QUICK_EPSILONS, QUICK_RUNS = (1.0, 4.0, 8.0), 2
K = AGES
SIMULATED = 50_000
_GRID = 100
_SAME = 1e-9


def _published_aue(k: int, epsilon: float) -> Unary:
    """The p of a grid of 100."""
    made = [ue(k, epsilon, float(p)) for p in np.linspace(0.5, 0.999999, _GRID)]
    return min(made, key=lambda m: m.law.success() + m.law.error(1, 0.0))


def _published_alh(k: int, epsilon: float) -> Hashed:
    """The number of buckets by the approximate success."""
    most = max(k - 1, round(math.exp(epsilon)) + 1)

    def score(g: int) -> float:
        e = math.exp(epsilon)
        return e / (e + g - 1) / max(k / g, 1) + (e - 1 + g) ** 2 / ((e - 1) ** 2 * (g - 1))

    return lh(k, epsilon, min(range(2, min(most, 100_000) + 1), key=score))


def _published_the(k: int, epsilon: float) -> Unary:
    """Laplace noise of scale 2 / epsilon, at the threshold that errs least with it: the bits spend less than
    epsilon.
    """
    return _make_thresholded(k, epsilon, theta_for(epsilon / 2))


def _published_athe(k: int, epsilon: float) -> Unary:
    made = [_make_thresholded(k, epsilon, float(theta)) for theta in np.linspace(0.5, 1.0, _GRID)]
    return min(made, key=lambda m: m.law.success() + m.law.error(1, 0.0))


def _make_thresholded(k: int, epsilon: float, theta: float) -> Unary:
    p, q = 1 - math.exp(epsilon * (theta - 1) / 2) / 2, math.exp(-epsilon * theta / 2) / 2
    return Unary(k, min(FULL - 1, round(p * FULL)), max(1, round(q * FULL)))


METHODS: dict[str, Callable[[int, float], SetMechanism]] = {
    "GRR": grr,
    "SS": ss,
    "SUE": sue,
    "OUE": oue,
    "OLH": olh,
    "THE": the,
    "THE as published": _published_the,
    "ASS": ass,
    "AUE": aue,
    "AUE as published": _published_aue,
    "ALH": alh,
    "ALH as published": _published_alh,
    "ATHE": athe,
    "ATHE as published": _published_athe,
}
"""Classical protocols, robust ones at equal weights of error and attack, and those once more as the study
finds them.
"""


def reproduce(
    people: Dataset | None = None,
    methods: Iterable[str] | None = None,
    epsilons: Iterable[float] = EPSILONS,
    runs: int = RUNS,
    users: int | None = None,
    seed: int = 1,
    progress: Progress | None = None,
) -> Iterator[AttackPoint]:
    """Rows by protocol and epsilon, as they are done: published, exact, measured.

    People are Adult's by age, in 100 values, those of another dataset by its first attribute, or simulated
    ones. `users` asks this many of them, drawn at random. `mark_front` says which rows nothing beats.
    """
    names = checked_methods(methods, METHODS, runs, seed)
    budgets = [positive_epsilon(epsilon) for epsilon in epsilons]
    dataset, values, k = _take_values(people, seed)
    if users is not None and whole_number("users", users, 1) < values.size:
        values = numbers_from(seed, "users").choice(values, users, replace=False)
    n = values.size
    same = AttackPoint(
        figure="pareto",
        dataset=dataset,
        protocol="",
        epsilon=0.0,
        attack="exact",
        runs=runs,
        n=n,
        users=n,
        d=1,
        seed=seed,
        k=k,
        baseline=1 / k,
    )
    cells = [replace(same, protocol=name, epsilon=epsilon) for name in names for epsilon in budgets]
    return _measure_all(cells, values, progress)


def _take_values(people: Dataset | None, seed: int) -> tuple[str, Integers, int]:
    if people is not None:
        return take_attribute(people)
    counts = dirichlet(K, seed=seed).draw_counts(SIMULATED, numbers_from(seed, "people"))
    return "synthetic", np.repeat(np.arange(K), counts), K


def _measure_all(
    cells: Sequence[AttackPoint], values: Integers, progress: Progress | None
) -> Iterator[AttackPoint]:
    for done, asked in enumerate(cells, 1):
        try:
            yield from _rows(asked, METHODS[asked.protocol](asked.k or K, asked.epsilon), values)
        except InvalidParameter as problem:
            yield replace(asked, refused=str(problem))
        if progress is not None:
            progress(done, len(cells))


def _rows(asked: AttackPoint, mechanism: SetMechanism, values: Integers) -> Iterator[AttackPoint]:
    n, law = asked.n, mechanism.law
    loss = mechanism.loss()
    for attack, success, mse in (
        ("exact", mechanism.success(), law.error(n)),
        ("published", published_success(mechanism), law.error(n, 0.0)),
    ):
        computed = replace(
            asked, attack=attack, mse=mse, mse_stderr=0.0, mse_low=mse, mse_high=mse, loss=loss
        )
        yield add_no_chance(computed, success)
    truth = np.bincount(values, minlength=mechanism.k) / n
    draws = numbers_from(asked.seed, "revisited", asked.dataset, asked.protocol, asked.epsilon)
    right, errors = np.empty(asked.runs), np.empty(asked.runs)
    for run in range(asked.runs):
        reports = mechanism.privatize(values, seeded(int(draws.integers(1 << 62))))
        right[run] = (guess_values(mechanism, reports, draws) == values).mean()
        errors[run] = mean_squared_error(mechanism.estimate(mechanism.tally(reports)).frequencies, truth)
    error, low, high = over_runs(errors)
    seen = replace(asked, attack="guess", mse=float(errors.mean()), loss=loss)
    if asked.runs > 1:  # one run says nothing of the scatter of its error
        seen = replace(seen, mse_stderr=error, mse_low=max(0.0, low), mse_high=high)
    yield add_chance(seen, right)


def published_success(mechanism: SetMechanism) -> float:
    """The study's formula: for hashing by the mean size of a support; elsewhere it is exact, where its sums
    do not overflow.
    """
    if isinstance(mechanism, Hashed):
        return mechanism.law.p / max(mechanism.k / mechanism.g, 1)
    return mechanism.law.success()


def mark_front(rows: Sequence[AttackPoint]) -> Iterator[AttackPoint]:
    """Mark what nothing else beats in both: less error and fewer right guesses."""
    figures = [(row.accuracy, row.mse) for row in rows if row.attack == "exact"]
    exact = [(right, error) for right, error in figures if right is not None and error is not None]
    for row in rows:
        if row.attack != "exact" or row.accuracy is None or row.mse is None:
            yield row
            continue
        right, error = row.accuracy * (1 - _SAME), row.mse * (1 - _SAME)
        beaten = any((a < right and b <= row.mse) or (a <= row.accuracy and b < error) for a, b in exact)
        yield replace(row, pareto=not beaten)
