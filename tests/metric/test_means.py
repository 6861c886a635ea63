"""Means of a number from -1 to 1: unbiased, with the stated variances, and an exact loss."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import deniable as dn
from deniable.arrays import Floats
from deniable.metric import Duchi, Hybrid, Mean, Piecewise, SquareWave, duchi, hybrid, piecewise, square_wave
from deniable.randomness import FULL
from deniable.randomness.simulated import fixed
from tests import statistics
from tests.cases import by_night
from tests.enumeration import exact_log

MAKERS: dict[str, Callable[[float], Mean]] = {
    "duchi": duchi,
    "piecewise": piecewise,
    "piecewise on few bins": lambda epsilon: piecewise(epsilon, 5),
    "hybrid": hybrid,
}
NUMBERS = [-1.0, -0.6, 0.0, 0.37, 1.0]
EPSILONS = [0.1, 0.61, 1.0, 3.0, 8.0]


def check_moments(m: Mean, t: float, law: Mean, words: dn.randomness.Words) -> None:
    """Mean and variance of many reports of one number, against what a law says."""
    n = statistics.ESTIMATE_REPORTS
    sent = law.numbers(m.privatize(np.full(n, t), words))
    variance = float(law.variance(t))
    statistics.deviation(float(sent.mean()), t, math.sqrt(variance / n), f"mean of reports of {t}")
    squares = (sent - t) ** 2
    error = max(float(squares.std()) / math.sqrt(n), 1e-12 * variance)  # one bit about 0 is always as far off
    statistics.deviation(float(squares.mean()), variance, error, f"variance of reports of {t}")


@by_night("epsilon", EPSILONS, EPSILONS[1], EPSILONS[3])
@pytest.mark.parametrize("name", MAKERS)
def test_unbiased_with_the_stated_variance(name: str, epsilon: float) -> None:
    m = MAKERS[name](epsilon)
    for t in NUMBERS:
        check_moments(m, t, m, dn.seeded(2))


@pytest.mark.parametrize("name", MAKERS)
def test_a_moved_probability_is_found(name: str) -> None:
    moved, law = MAKERS[name](1.0 + 2 * statistics.MOVED_ESTIMATE), MAKERS[name](1.0)
    with pytest.raises(AssertionError, match="standard errors off"):
        check_moments(moved, 1.0, law, dn.seeded(2))


def test_no_random_position_between_bins_is_found() -> None:
    """The planted fault: numbers go to the nearest bin, which is biased."""
    m = piecewise(1.0, 5)
    values = np.full(statistics.ESTIMATE_REPORTS, 0.37)
    rounded = np.round((values + 1) * 2) / 2 - 1
    sent = m.numbers(m.privatize(rounded, dn.seeded(2)))
    error = math.sqrt(float(m.variance(0.37)) / values.size)
    with pytest.raises(AssertionError, match="standard errors off"):
        statistics.deviation(float(sent.mean()), 0.37, error, "mean of reports")


@pytest.mark.parametrize("epsilon", [0.05, 0.61, 1.0, 3.0, 8.0])
def test_variances_of_the_papers(epsilon: float) -> None:
    e, z, t = math.exp(epsilon), math.exp(epsilon / 2), np.linspace(-1, 1, 9)
    scale = (e + 1) / (e - 1)
    np.testing.assert_allclose(duchi(epsilon).variance(t), scale**2 - t**2, rtol=1e-8)
    np.testing.assert_allclose(
        piecewise(epsilon).variance(t), t**2 / (z - 1) + (z + 3) / (3 * (z - 1) ** 2), rtol=1e-3
    )
    mixed = hybrid(epsilon)
    if epsilon <= 0.609:
        assert mixed == duchi(epsilon)
    else:
        constant = (z + 3) / (3 * z * (z - 1)) + (e + 1) ** 2 / (z * (e - 1) ** 2)
        np.testing.assert_allclose(mixed.variance(t), constant, rtol=1e-3)
        worst = [float(m.variance(t).max()) for m in (duchi(epsilon), piecewise(epsilon), mixed)]
        assert worst[2] <= min(worst[:2]) * 1.001


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 5.0, 20.0])
@pytest.mark.parametrize("name", MAKERS)
def test_loss_is_at_most_epsilon(name: str, epsilon: float) -> None:
    m = MAKERS[name](epsilon)
    assert 0 <= epsilon - m.loss() < 1e-9


def test_one_bit_in_integers() -> None:
    """How many words say yes, by halving all of them: from -1 to 1, and never more than the ratio allows."""
    m = duchi(0.7)
    counts = []
    for t in [*np.linspace(-1, 1, 33).tolist(), -0.0, 1e-12, math.nextafter(1, 0)]:
        low, high = 0, FULL
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if m.privatize([t], fixed([middle]))[0] else (low, middle)
        counts.append(low)
        assert math.isclose(m.scale * (2 * low / FULL - 1), t, rel_tol=0, abs_tol=1e-9)
    assert (max(counts), min(counts)) == (m.keep, FULL - m.keep)
    truth = max(Fraction(max(counts), min(counts)), Fraction(FULL - min(counts), FULL - max(counts)))
    assert truth == m.ratio
    assert exact_log(truth) <= Decimal(m.loss())
    assert m.loss() <= 0.7


def test_bins_in_integers() -> None:
    """The exact law of a few bins is that of a square wave; numbers between bins are mixtures, which lose no
    more.
    """
    for epsilon in (0.3, 1.0, 4.0):
        m = piecewise(epsilon, 5)
        wave = SquareWave(m.k, m.window, m.keep)
        rows = wave.law.exact().weights
        worst = max(
            Fraction(a, b)
            for one, other in itertools.permutations(rows, 2)
            for a, b in zip(one, other, strict=True)
        )
        assert worst <= m.ratio
        assert exact_log(worst) <= Decimal(epsilon)
        words = dn.seeded(4).take(3 * 5000).reshape(-1, 3)
        for i, t in enumerate(np.linspace(-1, 1, 5).tolist()):
            sent = m.privatize(np.full(5000, t), fixed(words.ravel()))
            assert sent.tolist() == wave.privatize(np.full(5000, i), fixed(words[:, :2].ravel())).tolist()


def test_hybrid_shows_which() -> None:
    m = hybrid(2.0, 64)
    assert isinstance(m, Hybrid)
    reports = m.privatize(np.zeros(statistics.SAMPLE_REPORTS), dn.seeded(3))
    bits = int((reports >= m.piecewise.outputs).sum())
    share = math.exp(-1)
    error = math.sqrt(reports.size * share * (1 - share))
    statistics.deviation(bits, reports.size * share, error, "share of single bits")
    assert m.ratio == max(m.piecewise.ratio, m.duchi.ratio)


@pytest.mark.parametrize("name", MAKERS)
def test_estimates_and_tallies(name: str) -> None:
    m = MAKERS[name](1.0)
    values = np.random.default_rng(1).normal(0.2, 0.3, 50_000).clip(-1, 1)
    reports = m.privatize(values, dn.seeded(5))
    parts = [m.tally(part) for part in np.split(reports, [10_000, 30_000])]
    whole = m.estimate(sum(parts[1:], parts[0]))
    again = m.estimate(m.tally(reports))
    assert whole.n == 50_000
    assert math.isclose(whole.mean, again.mean, rel_tol=1e-9)
    assert math.isclose(whole.stderr, again.stderr, rel_tol=1e-9)
    stated = math.sqrt(float(np.mean(m.variance(values)) + values.var()) / whole.n)
    assert math.isclose(whole.stderr, stated, rel_tol=0.05)
    low, high = whole.interval(1 - statistics.ALPHA)
    assert low < values.mean() < high
    single = [
        m.privatize(values[i : i + 1], fixed(row))
        for i, row in enumerate(dn.seeded(5).take(40 * m.words).reshape(40, -1))
    ]
    assert np.concatenate(single).tolist() == reports[:40].tolist()


PEOPLE: dict[str, Callable[[np.random.Generator, int], tuple[Floats, float]]] = {
    "at the middle": lambda _, n: (np.zeros(n), 0.0),
    "at 0.9": lambda _, n: (np.full(n, 0.9), 0.9),
    "at the end": lambda _, n: (np.ones(n), 1.0),
    "spread evenly": lambda generator, n: (generator.uniform(-1, 1, n), 0.0),
    "one in ten at the other end": lambda generator, n: (np.where(generator.random(n) < 0.1, -1.0, 1.0), 0.8),
}
COVERED = [("duchi", 5.0), ("piecewise", 1.0), ("piecewise", 5.0), ("hybrid", 5.0)]
FEW = [2, 500]
STUDIES = 200
"""For each number of reports, protocol and kind of people: 95 % may then read as 86 %."""


def covered(m: Mean, n: int, people: str, normal: bool = False) -> int:
    """In how many studies the interval, or the one of so many standard errors, holds the truth."""
    values, truth = PEOPLE[people](np.random.default_rng(n), n * STUDIES)
    estimates = [m.estimate(m.tally(part)) for part in np.split(m.privatize(values, dn.seeded(n)), STUDIES)]
    ends = [
        (one.mean - 1.96 * one.stderr, one.mean + 1.96 * one.stderr) if normal else one.interval(0.95)
        for one in estimates
    ]
    assert all(low <= one.mean <= high for one, (low, high) in zip(estimates, ends, strict=True))
    return sum(low - 1e-9 <= truth <= high + 1e-9 for low, high in ends)


@pytest.mark.long
@pytest.mark.parametrize("n", FEW)
@pytest.mark.parametrize(("name", "epsilon"), COVERED)
def test_intervals_cover(name: str, epsilon: float, n: int) -> None:
    m = duchi(epsilon) if name == "duchi" else (piecewise if name == "piecewise" else hybrid)(epsilon, 256)
    for people in PEOPLE:
        statistics.at_least(
            covered(m, n, people), STUDIES, 0.95, f"{name} of {epsilon:g}, {n} reports of people {people}"
        )


def test_intervals_of_so_many_standard_errors_do_not_cover() -> None:
    """Few reports happen to say the same, and one that says another thing comes rarely and counts much."""
    for m, n, people in (
        (duchi(5.0), 2, "at the middle"),
        (duchi(5.0), 20, "at 0.9"),
        (piecewise(8.0, 256), 100, "at the end"),
    ):
        with pytest.raises(AssertionError, match="were promised"):
            statistics.at_least(covered(m, n, people, normal=True), STUDIES, 0.95, "normal intervals")


def test_intervals_of_many_reports_are_hardly_longer() -> None:
    values = np.random.default_rng(1).uniform(-0.5, 0.9, 20_000)
    for m in (duchi(5.0), piecewise(1.0, 256), piecewise(5.0, 256), hybrid(3.0, 256)):
        estimate = m.estimate(m.tally(m.privatize(values, dn.seeded(2))))
        low, high = estimate.interval(0.95)
        assert 0.99 < (high - low) / (2 * 1.96 * estimate.stderr) < 1.03
        moved = estimate.between(10.0, 30.0)
        np.testing.assert_allclose(moved.interval(0.95), (20 + 10 * low, 20 + 10 * high))


def test_what_is_refused() -> None:
    for m in (duchi(1.0), piecewise(1.0), hybrid(1.0)):
        for wrong in ([1.1], [math.nan], [[0.5]], 0.5):
            with pytest.raises(dn.InvalidValue, match="from -1 to 1"):
                m.privatize(wrong)
        with pytest.raises(dn.InvalidValue, match="masked"):
            m.privatize(np.ma.masked_array([0.5, 0.1], mask=[True, False]))
        with pytest.raises(dn.InvalidReport, match="reports of this mechanism"):
            m.tally(np.array([m.outputs], dtype=np.int64))
        with pytest.raises(dn.InvalidReport, match="made from a tally"):
            m.estimate(dn.Tally(3, np.array([1, 1, 1])))
        with pytest.raises(dn.InvalidParameter, match="at least two reports"):
            m.estimate(m.tally(m.privatize([0.5], dn.seeded(1))))
        assert len(m.privatize([], fixed([]))) == 0
    for make in (duchi, piecewise, hybrid):
        with pytest.raises(dn.InvalidParameter, match="positive"):
            make(0.0)
    with pytest.raises(dn.InvalidParameter, match="keep"):
        Duchi(5)
    with pytest.raises(dn.InvalidParameter, match="likelier"):
        Piecewise(5, 3, 5)
    assert square_wave(1.0, 5).words == 2
