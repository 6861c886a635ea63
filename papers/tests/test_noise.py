"""Noise on the integers: draws follow their law, and the loss is that of the integers that are drawn."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from sizes import NOISE_DRAWS
from tests import statistics

import deniable as dn
from deniable.errors import InvalidParameter
from deniable.exact import exp_down, log_up
from deniable.randomness import FULL
from deniable.randomness.simulated import fixed
from deniable_papers.noise import CountNoise, DiscreteGaussian, DiscreteLaplace, gaussian
from deniable_papers.noise.gaussian import exp_bounds, shifted_delta, sum_distortion, total_weight, upper_tail
from deniable_papers.noise.laplace import WIDE, Thresholds

SIGMAS = {0.25: 1442, 0.5: 748, 1.0: 389, 2.0: 204, 4.0: 108, 8.0: 58}
"""For a person in two counts at each of 3,456 half hours, at a delta of 1e-7."""
PERSON = 2 * 3456


def continuous(mu: float, epsilon: float) -> float:
    """The delta of Gaussian noise on real numbers: the oracle for large sigma."""
    lost = math.exp(epsilon) * stats.norm.cdf(-mu / 2 - epsilon / mu)
    return float(stats.norm.cdf(mu / 2 - epsilon / mu) - lost)


# What is drawn.


def chances(noise: CountNoise, reach: int) -> np.ndarray:
    """The law of -reach to reach, as the table says it, and of all the rest."""
    if isinstance(noise, DiscreteGaussian):
        side = [weight / WIDE for weight in noise.weights[: reach + 1]]
        law = np.array([*reversed(side[1:]), *side])
    else:
        assert isinstance(noise, DiscreteLaplace)
        ratio = 1 / float(noise.ratio)
        law = (1 - ratio) / (1 + ratio) * ratio ** np.abs(np.arange(-reach, reach + 1))
    return np.append(law, 1 - law.sum())


def compare(noise: CountNoise, law: np.ndarray, words: dn.randomness.Words, size: int, alpha: float) -> float:
    reach = (law.size - 2) // 2
    drawn = noise.draw(size, words)
    seen = np.bincount(np.where(np.abs(drawn) <= reach, drawn + reach, 2 * reach + 1), minlength=law.size)
    return statistics.goodness_of_fit(seen, law * size, repr(noise), alpha=alpha)


@pytest.mark.parametrize(
    "noise", [DiscreteGaussian.of(0.7), DiscreteGaussian.of(3.3), DiscreteLaplace.of(0.6)]
)
def test_draws_follow_their_law_and_a_moved_law_is_found(noise: CountNoise) -> None:
    law = chances(noise, 6)
    compare(noise, law, dn.seeded(5), NOISE_DRAWS, statistics.ALPHA)
    moved = law * (1 + statistics.MOVED_LAW * (-1.0) ** np.arange(law.size))
    with pytest.raises(AssertionError, match="chi-square"):
        compare(noise, moved / moved.sum(), dn.seeded(5), NOISE_DRAWS, statistics.ALPHA)


def test_the_words_of_the_operating_system_are_the_default() -> None:
    noise = DiscreteGaussian.of(2.0)
    one, other = noise.draw(1000), noise.draw(1000)
    assert (one != other).any()
    law = chances(noise, 6)
    compare(noise, law, dn.randomness.system(), statistics.SYSTEM_REPORTS, statistics.SYSTEM_ALPHA)


def test_low_words_decide_where_high_words_are_equal() -> None:
    """Every sum of weights is met by the pair of words that equals it, and missed by the one before."""
    weights = [3, 5, 0, FULL, FULL + 7, 2 * FULL, WIDE - 5 * FULL]
    places = Thresholds(weights)
    sums = list(itertools.accumulate(weights))[:-1]
    for total in sums:
        for pair in (total - 1, total, total + 1):
            found = places.find(np.array([[pair >> 64, pair % FULL]], dtype=np.uint64))
            assert found.tolist() == [sum(one <= pair for one in sums)]


def test_pairs_beyond_the_table_are_drawn_again() -> None:
    """And a low word adds a whole table."""
    noise = DiscreteLaplace.of(2.0)
    assert len(noise.weights) == 4
    top = FULL - 1
    words = [top, top, 0, 0, 0, 0, top, top, 0, 0, top, top]
    assert noise.draw(1, fixed(words)).tolist() == [len(noise.weights)]


def test_no_noise_is_drawn_for_no_count() -> None:
    assert DiscreteGaussian.of(1.0).draw(0).tolist() == []
    with pytest.raises(InvalidParameter, match="number of counts"):
        DiscreteGaussian.of(1.0).draw(-1)


# Tails.


def test_pi_is_that_of_machin() -> None:
    with localcontext(prec=110):

        def arctangent(inverse: int) -> Decimal:
            terms = (Decimal((-1) ** k) / ((2 * k + 1) * Decimal(inverse) ** (2 * k + 1)) for k in range(90))
            return sum(terms, Decimal(0))

        machin = 16 * arctangent(5) - 4 * arctangent(239)
        assert abs(machin - gaussian._PI) < Decimal("1e-105")


@pytest.mark.parametrize("variance", [Fraction(1, 4), Fraction(2), Fraction(900), gaussian._SUMMED])
def test_tails_are_between_their_bounds(variance: Fraction | int) -> None:
    wide = Fraction(variance)
    root = math.sqrt(wide)
    places = np.arange(-int(14 * root) - 2, int(14 * root) + 3)
    law = np.exp(-(places.astype(float) ** 2) / (2 * float(wide)))
    low, high = total_weight(wide)
    assert float(low) == pytest.approx(law.sum(), rel=1e-12)
    assert 0 <= high - low < high / 10**12
    for start in {int(z * root) for z in (-3, -1, 0, 1, 3, 5, 7)}:
        bounds = upper_tail(start, wide)
        assert bounds.low <= bounds.high
        assert float(bounds.high) == pytest.approx(law[places >= start].sum() / law.sum(), rel=1e-9)


@pytest.mark.parametrize("start", [1, 300, 1000, 1500, 4000, 5500, 9000])
def test_sums_and_integrals_of_tails_agree(start: int) -> None:
    """At the variance where one takes over from the other: the sum is within the bounds of the integral."""
    variance = Fraction(gaussian._SUMMED)
    summed = gaussian._sum_tail(start, variance)
    integrated = gaussian._integrate_tail(start, variance)
    assert integrated.low < summed.low <= summed.high < integrated.high
    assert integrated.high - integrated.low < integrated.high / 100_000
    moved = gaussian._sum_tail(start + 1, variance)  # a fault: one step off
    assert not integrated.low < moved.low <= moved.high < integrated.high


def ideal_law(variance: Fraction, reach: int) -> list[Fraction]:
    """The Gaussian law on -reach to reach, all but exactly."""
    terms = [exp_bounds(-Fraction(z * z) / (2 * variance)).low for z in range(-reach, reach + 1)]
    return [term / sum(terms) for term in terms]


def convolve(one: list[Fraction], other: list[Fraction]) -> list[Fraction]:
    result = [Fraction(0)] * (len(one) + len(other) - 1)
    for i, a in enumerate(one):
        for j, b in enumerate(other):
            result[i + j] += a * b
    return [Fraction(int(chance * 2**200), 2**200) for chance in result]


@pytest.mark.parametrize("sigma", [Fraction(1, 2), Fraction(3, 4), Fraction(1), Fraction(2)])
@pytest.mark.parametrize(("counts", "each"), [(1, 1), (1, 2), (2, 1), (3, 1), (2, 2)])
def test_delta_is_that_of_all_sums(sigma: Fraction, counts: int, each: int) -> None:
    """All outputs of tiny cases are enumerated: delta is never below their sum, and hardly above."""
    law = one = ideal_law(sigma**2, 9 * math.ceil(sigma))
    for _ in range(counts - 1):
        law = convolve(law, one)
    shift = counts * each
    for epsilon in (0.0, 0.3, 1.0, 3.0):
        grown = exp_down(epsilon)
        moved = [Fraction(0)] * shift + law
        gains = (
            max(Fraction(0), p - grown * q)
            for p, q in zip(moved, [*law, *[Fraction(0)] * shift], strict=True)
        )
        exact = sum(gains, Fraction(0))
        stated = shifted_delta(sigma**2, counts, each, epsilon)
        # sums that are far from a Gaussian law are convolved: two counts at sigma 1/2 were said to have 1.0
        slack = min(2 * (sum_distortion(sigma**2, counts) - 1) * (1 + grown), Fraction(1, 10**5))
        assert exact - Fraction(1, 10**12) <= stated <= exact + slack + Fraction(1, 10**12)


def test_the_distortion_of_a_sum_holds_and_vanishes() -> None:
    for sigma in (Fraction(1, 2), Fraction(3, 4), Fraction(1)):
        law = ideal_law(sigma**2, 12)
        summed = convolve(law, law)
        wide = ideal_law(2 * sigma**2, 24)
        middle = range(24 - 6, 24 + 7)
        worst = max(max(summed[z] / wide[z], wide[z] / summed[z]) for z in middle)
        assert 1 < worst <= sum_distortion(sigma**2, 2)
    assert sum_distortion(Fraction(9), PERSON) - 1 < Fraction(1, 10**33)


# Losses.


def test_sigmas_are_those_of_the_specification() -> None:
    for epsilon, sigma in SIGMAS.items():
        noise = DiscreteGaussian.calibrate(epsilon, 1e-7, PERSON)
        assert round(noise.deviation) == sigma
        assert 0.9995e-7 < noise.delta(epsilon, PERSON) <= 1e-7
        less = replace(DiscreteGaussian.of(noise.sigma - Fraction(1, 1024)))
        assert less.delta(epsilon, PERSON) > 1e-7


def test_published_sigmas_have_the_true_losses() -> None:
    """By time point, by person in two counts, and by person in all six."""
    for sigma, losses in {160.1: (0.0344, 2.59, 4.75), 88.0: (0.0649, 5.02, 9.40)}.items():
        noise = DiscreteGaussian.of(sigma)
        found = [noise.epsilon(1e-7, counts) for counts in (2, PERSON, 3 * PERSON)]
        assert found == pytest.approx(losses, rel=2e-3)


@pytest.mark.parametrize("sigma", [25.0, 388.98, 5000.0])
def test_delta_is_that_of_real_numbers_for_a_large_sigma(sigma: float) -> None:
    noise = DiscreteGaussian.of(sigma)
    for counts in (400, PERSON):
        mu = math.sqrt(counts) / sigma
        for z in (0.5, 2.0, 5.0):
            epsilon = mu * z
            assert noise.delta(epsilon, counts) == pytest.approx(continuous(mu, epsilon), rel=2e-5, abs=1e-9)


def test_a_large_delta_needs_no_epsilon() -> None:
    assert DiscreteGaussian.of(1000.0).epsilon(0.01) == 0.0


def test_delta_falls_with_epsilon_and_sigma_and_rises_with_counts() -> None:
    noise = DiscreteGaussian.of(4.0)
    by_epsilon = [noise.delta(epsilon / 8) for epsilon in range(20)]
    assert by_epsilon == sorted(by_epsilon, reverse=True)
    by_counts = [noise.delta(0.5, counts) for counts in (1, 2, 3, 10, 100)]
    assert by_counts == sorted(by_counts)
    assert noise.delta(0.5, 2, each=2) > noise.delta(0.5, 2)
    by_sigma = [DiscreteGaussian.of(sigma).delta(0.5) for sigma in (1, 2, 3, 5, 8)]
    assert by_sigma == sorted(by_sigma, reverse=True)


def test_a_table_is_as_far_from_its_ideal_as_it_says() -> None:
    """A table with a fault of one part in a million says so, and its delta counts it."""
    right = DiscreteGaussian.of(3.0)
    assert 0 < right.distance < Fraction(200, WIDE)
    moved = WIDE // 10**6
    middle, beside, *rest = right.weights
    wrong = replace(right, weights=(middle + 2 * moved, beside - moved, *rest))
    assert Fraction(2, 10**6) <= wrong.distance < Fraction(41, 10**7)
    assert wrong.delta(1.0) - right.delta(1.0) > 7e-6
    short = [*right.weights[:12]]
    short[0] += 2 * sum(right.weights[12:])
    cut = replace(right, weights=tuple(short))
    behind = 2 * Fraction(sum(right.weights[12:]), WIDE)
    assert behind <= cut.distance < 5 * behind


def test_laplace_noise_loses_exactly_what_it_says() -> None:
    """The chances of all numbers of steps, and of differences of small ones, have no ratio above it."""
    noise = DiscreteLaplace.of(1.5)
    again = Fraction(noise.again, WIDE)
    total = sum(noise.weights)
    steps = [
        Fraction(weight, total) * (1 - again) * again**block for block in range(6) for weight in noise.weights
    ]
    ratios = [one / other for one, other in itertools.pairwise(steps)]
    assert max(ratios) == noise.ratio
    assert min(ratios) >= 1
    assert noise.loss == log_up(noise.ratio)
    assert noise.ratio <= exp_down(1.5)
    assert 1.5 - noise.loss < 1e-9
    differences = [sum(a * b for a, b in zip(steps, steps[z:], strict=False)) for z in range(4)]
    for one, other in itertools.pairwise(differences):
        assert 1 <= one / other <= noise.ratio * (1 + Fraction(1, 10**12))  # the rest of the sums is cut off


@pytest.mark.parametrize("epsilon", [1e-3, 0.01, 0.3, 1.0, 12.0, 40.0])
def test_laplace_noise_keeps_its_budget(epsilon: float) -> None:
    noise = DiscreteLaplace.of(epsilon)
    assert noise.loss <= epsilon
    assert epsilon - noise.loss < 1e-9 * epsilon
    ratio = math.exp(-epsilon)
    assert noise.deviation == pytest.approx(math.sqrt(2 * ratio) / (1 - ratio), rel=1e-6)
    assert noise.delta(epsilon) == 0.0
    assert 0 < noise.delta(0.0) <= 1
    spread = DiscreteLaplace.calibrate(epsilon, 7, 2)
    assert epsilon * (1 - 1e-9) < spread.epsilon(counts=7, each=2) <= epsilon


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: DiscreteGaussian.of(0.3), "sigma must be from 0.5 to 65,536"),
        (lambda: DiscreteGaussian(Fraction(1), (1, 2)), "add up to 2\\^128"),
        (lambda: DiscreteGaussian.calibrate(1e-3, 1e-9, 10**6), "above 65,536"),
        (lambda: DiscreteGaussian.calibrate(1.0, 2.0), "delta"),
        (lambda: DiscreteGaussian.calibrate(1.0, 1e-31), "too small for a table"),
        (lambda: DiscreteGaussian.calibrate(1.0, 1e-7, 0), "how many counts"),
        (lambda: DiscreteGaussian.of(1.0).delta(-1.0), "a number from 0 to 1000"),
        (lambda: DiscreteGaussian.of(0.5).epsilon(1e-7, 5000), "no epsilon below 500"),
        (lambda: DiscreteLaplace.of(1e-6), "too small"),
        (lambda: DiscreteLaplace((1, 2), 1), "must not rise"),
        (lambda: DiscreteLaplace((WIDE // 2,), 0), "must be possible"),
    ],
)
def test_what_cannot_be_is_refused(make: object, problem: str) -> None:
    with pytest.raises(InvalidParameter, match=problem):
        make()  # type: ignore[operator]
