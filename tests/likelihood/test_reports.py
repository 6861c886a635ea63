"""Likelihoods of single reports: what a report makes of each value is what its law says, for every set-valued
mechanism.

Statistical tests state their sizes here; false-alarm rates are those of `statistics`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

import deniable as dn
from deniable.arrays import Array
from deniable.likelihood import mle
from deniable.likelihood.problem import Reported
from deniable.likelihood.sources import build_problem
from deniable.likelihood.supports import MOST_BYTES
from tests import statistics

Floats = npt.NDArray[np.float64]
K = 6
COVERED_PEOPLE, COVERED_STUDIES, COVERED_REPEATS = 2000, 60, 80
"""Studies whose 95 % bootstrap intervals must hold 88 % of the shares that are well above zero."""
MADE: dict[str, Callable[[int, float], dn.mechanisms.SetMechanism]] = {
    "oue": dn.oue,
    "sue": dn.sue,
    "the": dn.mechanisms.the,
    "olh": dn.olh,
    "blh": dn.mechanisms.blh,
    "ss": lambda k, epsilon: dn.ss(k, epsilon, 2),
    "hr": dn.hr,
    "plh": dn.mechanisms.plh,
    "l_osue": lambda k, epsilon: dn.rounds.l_osue(k, epsilon, 2 * epsilon),
    "l_sue": lambda k, epsilon: dn.rounds.l_sue(k, epsilon, 2 * epsilon),
    "loloha": lambda k, epsilon: dn.rounds.loloha(k, epsilon, 2 * epsilon),
    "dbitflip": lambda k, epsilon: dn.rounds.dbitflip(k, epsilon, 3),
    "one bit": lambda k, epsilon: dn.rounds.dbitflip(k, epsilon, 1),
}


def people(n: int, k: int = K) -> npt.NDArray[np.int64]:
    return np.minimum(np.random.default_rng(5).geometric(0.4, n) - 1, k - 1)


def row_of(mechanism: dn.mechanisms.SetMechanism, report: Array) -> Floats:
    """How likely one report is for each value, by the mechanism's definition, up to a factor."""
    p, q = mechanism.law.p, mechanism.law.q
    holds = mechanism.support(report)[0]
    if isinstance(mechanism, dn.rounds.BitFlip):
        asked = np.isin(np.arange(mechanism.k), report["about"][0])
        return np.where(asked, np.where(holds, p / q, (1 - p) / (1 - q)), 1.0)
    if isinstance(mechanism, dn.mechanisms.Unary | dn.rounds.Memoized):
        return np.array(
            [
                np.prod(np.where(holds, q, 1 - q)) * (p / q if holds[v] else (1 - p) / (1 - q))
                for v in range(mechanism.k)
            ]
        )
    if isinstance(mechanism, dn.mechanisms.Subset | dn.mechanisms.PackedSubset):
        inside, outside = (
            math.comb(mechanism.k - 1, mechanism.size - 1),
            math.comb(mechanism.k - 1, mechanism.size),
        )
        return np.where(holds, p / inside, (1 - p) / outside)
    if isinstance(mechanism, dn.mechanisms.Hadamard):
        return np.where(holds, p, 1 - p)
    g = mechanism.g  # type: ignore[attr-defined]
    return np.where(holds, p, (1 - p) / (g - 1))


@pytest.mark.parametrize("name", MADE)
def test_rows_are_likelihoods_of_reports(name: str) -> None:
    """Each distinct report's row is proportional to Pr(report | v), and weights count how often it came."""
    mechanism = MADE[name](K, 1.5)
    reports = mechanism.privatize(people(300), dn.seeded(3))
    problem = build_problem(mechanism, reports)
    assert isinstance(problem, Reported)
    assert math.isclose(problem.outputs.sum(), 1.0, rel_tol=1e-12)
    rows = np.array([problem.rows.forward(value) for value in np.eye(K)]).T
    found: dict[tuple[float, ...], float] = {}
    for row, weight in zip(rows, problem.outputs, strict=True):
        key = tuple(np.round(row / row.max(), 9))
        found[key] = found.get(key, 0.0) + weight
    wanted: dict[tuple[float, ...], float] = {}
    for i in range(300):
        row = row_of(mechanism, reports[i : i + 1])
        key = tuple(np.round(row / row.max(), 9))
        wanted[key] = wanted.get(key, 0.0) + 1 / 300
    assert found.keys() == wanted.keys()
    assert all(math.isclose(found[key], wanted[key], rel_tol=1e-9) for key in found)


@pytest.mark.parametrize("name", MADE)
def test_every_mechanism_reaches_its_certificate(name: str) -> None:
    mechanism = MADE[name](K, 2.0)
    reports = mechanism.privatize(people(3000), dn.seeded(4))
    exact = mle(mechanism, reports)
    assert exact.certified
    assert exact.method == "interior point"
    quick = mle(mechanism, reports, method="squarem", tolerance=1e-7)
    assert quick.certified
    assert abs(exact.log_likelihood - quick.log_likelihood) <= 1e-7
    counted = mle(mechanism, mechanism.tally(reports))
    assert counted.method == "composite"
    assert counted.certified
    truth = np.bincount(people(3000), minlength=K) / 3000
    errors = mechanism.estimate(mechanism.tally(reports)).stderr
    assert np.abs(exact.frequencies - truth).max() < 6 * errors.max()
    assert np.abs(counted.frequencies - truth).max() < 6 * errors.max()
    assert (
        exact.log_likelihood >= exact.problem.likelihood(0.999 * counted.frequencies + 0.001 / K) - exact.gap
    )


def test_all_reports_of_two_values_by_enumeration() -> None:
    """Unary reports of k = 2 are four outputs: reports and the whole channel have the same maximum."""
    mechanism = dn.oue(2, 1.0)
    p, q = mechanism.law.p, mechanism.law.q
    outputs = list(itertools.product((0, 1), repeat=2))
    channel = [
        [
            math.prod(
                (c if bit else 1 - c) for bit, c in zip(bits, (p, q) if v == 0 else (q, p), strict=True)
            )
            for bits in outputs
        ]
        for v in (0, 1)
    ]
    reports = mechanism.privatize(np.arange(500) % 5 // 4, dn.seeded(2))
    bits = mechanism.support(reports).astype(int)
    counts = [int((bits == output).all(axis=1).sum()) for output in outputs]
    by_reports, by_channel = mle(mechanism, reports), mle(channel, dn.Tally(500, np.array(counts)))
    assert np.allclose(by_reports.frequencies, by_channel.frequencies, atol=1e-5)


@pytest.mark.long
def test_bootstrap_intervals_cover() -> None:
    """Where a share is well above its error, 95 % intervals hold it in at least 88 % of the studies."""
    mechanism = dn.grr(5, 2.0)
    truth = np.array([0.4, 0.3, 0.15, 0.1, 0.05])
    generator = np.random.default_rng(9)
    held = 0
    for study in range(COVERED_STUDIES):
        values = np.repeat(np.arange(5), generator.multinomial(COVERED_PEOPLE, truth))
        result = mle(mechanism, mechanism.tally(mechanism.privatize(values, dn.seeded(study))))
        low, high = result.interval(0.95, repeats=COVERED_REPEATS, seed=study)
        held += int(((low <= truth) & (truth <= high))[:4].sum())
    statistics.at_least(held, 4 * COVERED_STUDIES, 0.88, "bootstrap intervals hold the truth")


def test_bootstrap_errors_are_those_of_the_estimate() -> None:
    """Away from the boundary the maximum is the unbiased estimate, and so is its scatter (400 repeats: within
    20 %).
    """
    mechanism = dn.grr(4, 2.0)
    tally = dn.Tally(20_000, np.array([8000, 5000, 4000, 3000]))
    result, estimate = mle(mechanism, tally), mechanism.estimate(tally)
    assert np.allclose(result.frequencies, estimate.frequencies, atol=1e-9)
    assert np.allclose(result.standard_errors(repeats=400), estimate.stderr, rtol=0.2)
    assert result.bootstrap(400, 1) is result.bootstrap(400, 1)
    for data in (mechanism.privatize(people(200, 4), dn.seeded(1)),):
        assert mle(mechanism, data).bootstrap(3, 2).shape == (3, 4)
    bits = dn.oue(4, 2.0)
    reports = bits.privatize(people(500, 4), dn.seeded(1))
    assert np.array_equal(mle(bits, reports).bootstrap(3, 5), mle(bits, reports).bootstrap(3, 5))
    assert mle(bits, bits.tally(reports)).standard_errors(repeats=5).shape == (4,)


def test_equal_reports_are_counted_together() -> None:
    few, many = dn.oue(4, 1.0), dn.oue(64, 1.0)
    problem = build_problem(few, few.privatize(people(20_000, 4), dn.seeded(1)))
    assert isinstance(problem, Reported)
    assert problem.rows.size <= 16
    problem = build_problem(many, many.privatize(people(10_000, 64), dn.seeded(1)))
    assert isinstance(problem, Reported)
    assert problem.rows.size > 9000


def test_memory_is_bounded() -> None:
    """No table of reports by values: 200,000 reports of 200 values would be 320 MB of floats."""
    import tracemalloc

    mechanism = dn.olh(200, 2.0)
    reports = mechanism.privatize(people(200_000, 200), dn.seeded(1))
    mle(mechanism, reports[:100], method="em", iterations=1)  # compiled
    tracemalloc.start()
    result = mle(mechanism, reports, method="em", iterations=2)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert result.stop == "iteration limit"
    assert peak < 120e6


def test_what_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib

    monkeypatch.setattr(importlib.import_module("deniable.likelihood.supports"), "MOST_BYTES", 100)
    mechanism = dn.olh(200, 2.0)
    with pytest.raises(dn.InvalidParameter, match="give the tally instead"):
        mle(mechanism, mechanism.privatize(people(50, 200), dn.seeded(1)))
    assert MOST_BYTES == 1 << 30


def test_reports_that_cannot_have_been_sent_are_refused() -> None:
    mechanism = dn.ss(10, 1.0)
    reports = mechanism.privatize(people(10, 10), dn.seeded(1))
    with pytest.raises(dn.InvalidReport):
        mle(mechanism, reports[:, ::-1])
    with pytest.raises(dn.InvalidParameter, match="no reports yet"):
        mle(mechanism, reports[:0])
