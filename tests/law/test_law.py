"""Laws against enumeration of all support sets, against the closed forms of the papers, and at the edges of
floats.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable as dn
from deniable.errors import NotExact
from deniable.law.law import binomial

MANY = settings(max_examples=60)
CHANCE = st.fractions(Fraction(1, 100), Fraction(99, 100), max_denominator=100)

Channel = list[list[Fraction]]
"""channel[v][code] = Pr(the support is the set of bits of code | v)."""


def coins(k: int, p: Fraction, q: Fraction) -> Channel:
    """Every value's bit by itself."""

    def chance(v: int, code: int) -> Fraction:
        hits = [p if u == v else q for u in range(k)]
        return math.prod((hits[u] if code >> u & 1 else 1 - hits[u] for u in range(k)), start=Fraction(1))

    return [[chance(v, code) for code in range(1 << k)] for v in range(k)]


def subsets(k: int, size: int, p: Fraction) -> Channel:
    """All sets of one size: those with v share p, the others the rest."""

    def chance(v: int, code: int) -> Fraction:
        if code.bit_count() != size:
            return Fraction(0)
        return p / comb(k - 1, size - 1) if code >> v & 1 else (1 - p) / comb(k - 1, size)

    return [[chance(v, code) for code in range(1 << k)] for v in range(k)]


def mixed(one: Channel, other: Channel, weight: Fraction) -> Channel:
    return [
        [weight * a + (1 - weight) * b for a, b in zip(x, y, strict=True)]
        for x, y in zip(one, other, strict=True)
    ]


def chained(p1: Fraction, second: Channel) -> Channel:
    """One value by randomized response, then the second channel on what came out."""
    k = len(second)
    q1 = (1 - p1) / (k - 1)
    return [
        [
            sum(((p1 if u == v else q1) * second[u][code] for u in range(k)), Fraction(0))
            for code in range(1 << k)
        ]
        for v in range(k)
    ]


def assert_law_of(channel: Channel, law: dn.law.Law) -> None:
    """p, q, sizes and ratio are those of the channel."""
    k = len(channel)
    supported = [
        [sum(channel[v][code] for code in range(1 << k) if code >> u & 1) for u in range(k)] for v in range(k)
    ]
    assert all(
        supported[v][u] == (law.exact_p if u == v else law.exact_q) for v in range(k) for u in range(k)
    )
    for size in range(k + 1):
        inside = sum(channel[0][code] for code in range(1 << k) if code.bit_count() == size and code & 1)
        outside = sum(channel[0][code] for code in range(1 << k) if code.bit_count() == size and not code & 1)
        at = law.sizes == size
        assert math.isclose(law.inside[at].sum(), inside, abs_tol=1e-14)
        assert math.isclose(law.outside[at].sum(), outside, abs_tol=1e-14)
    if law.ratio is not None:
        assert law.ratio == worst_ratio(channel)


def worst_ratio(channel: Channel) -> Fraction:
    k = len(channel)
    codes = [code for code in range(1 << k) if channel[0][code]]
    return max(channel[v][code] / channel[u][code] for v in range(k) for u in range(k) for code in codes)


@MANY
@given(st.integers(2, 5), CHANCE, CHANCE)
def test_independent_is_the_law_of_coins(k: int, p: Fraction, q: Fraction) -> None:
    assert_law_of(coins(k, p, q), dn.law.Law.independent(k, p, q))


@MANY
@given(st.integers(2, 6), st.data())
def test_fixed_size_is_the_law_of_subsets(k: int, data: st.DataObject) -> None:
    size, p = data.draw(st.integers(1, k - 1)), data.draw(CHANCE)
    assert_law_of(subsets(k, size, p), dn.law.Law.fixed_size(k, size, p))


@MANY
@given(CHANCE, CHANCE, CHANCE, CHANCE)
def test_mix_is_the_law_of_a_mixture(p: Fraction, q: Fraction, p2: Fraction, weight: Fraction) -> None:
    law = dn.law.Law.independent(4, p, q).mix(dn.law.Law.fixed_size(4, 2, p2), weight)
    assert_law_of(mixed(coins(4, p, q), subsets(4, 2, p2), weight), law)
    with pytest.raises(NotExact, match="marginal"):
        law.loss()


def test_mix_refuses_what_is_not_a_mixture() -> None:
    one = dn.law.Law.fixed_size(4, 1, Fraction(1, 2))
    with pytest.raises(dn.InvalidParameter, match="same number of values, got 4 and 5"):
        one.mix(dn.law.Law.fixed_size(5, 1, Fraction(1, 2)), Fraction(1, 2))
    for weight in (Fraction(-1, 2), Fraction(3, 2)):
        with pytest.raises(dn.InvalidParameter, match="a weight is a fraction from 0 to 1"):
            one.mix(one, weight)


@MANY
@given(st.integers(2, 4), CHANCE, CHANCE, CHANCE, CHANCE)
def test_bits_then_bits(k: int, p1: Fraction, q1: Fraction, p2: Fraction, q2: Fraction) -> None:
    """p_s = p1 p2 + (1 - p1) q2, and for q likewise: every bit goes through its own second coin."""
    law = dn.law.Law.independent(k, p1, q1).then(dn.law.Law.independent(k, p2, q2))
    assert_law_of(coins(k, p1 * p2 + (1 - p1) * q2, q1 * p2 + (1 - q1) * q2), law)


@pytest.mark.long
@MANY
@given(st.integers(2, 5), CHANCE, CHANCE, CHANCE, st.data())
def test_one_value_then_anything(
    k: int, p1: Fraction, p2: Fraction, q2: Fraction, data: st.DataObject
) -> None:
    first = dn.law.Law.fixed_size(k, 1, p1)
    size = data.draw(st.integers(1, k - 1))
    assert_law_of(chained(p1, subsets(k, size, p2)), first.then(dn.law.Law.fixed_size(k, size, p2)))
    assert_law_of(chained(p1, coins(k, p2, q2)), first.then(dn.law.Law.independent(k, p2, q2)))


@pytest.mark.parametrize(("forever", "once"), [(2.0, 1.0), (1.0, 0.3), (4.0, 2.4)])
def test_two_rounds_of_unary_encoding(forever: float, once: float) -> None:
    """L-OSUE is oue(epsilon_1) exactly, L-SUE is sue(epsilon_1)."""
    a, c, s, u = math.exp(forever), math.exp(once), math.exp(forever / 2), math.exp(once / 2)

    def chain(p1: float, q1: float, p2: float) -> dn.law.Law:
        second = dn.law.Law.independent(7, Fraction(p2), 1 - Fraction(p2))
        return dn.law.Law.independent(7, Fraction(p1), Fraction(q1)).then(second)

    osue = chain(0.5, 1 / (a + 1), (c * a - 1) / ((c + 1) * (a - 1)))
    sue = chain(s / (s + 1), 1 / (s + 1), (u * s - 1) / ((u + 1) * (s - 1)))
    assert math.isclose(osue.loss(), once, rel_tol=1e-12)
    assert math.isclose(sue.loss(), once, rel_tol=1e-12)
    assert (osue.p, round(osue.q, 12)) == (0.5, round(1 / (c + 1), 12))
    assert math.isclose(sue.p, u / (u + 1), rel_tol=1e-12)


def test_a_second_round_needs_one_value_or_bits() -> None:
    bits, pair, one = dn.oue(6, 1.0).law, dn.ss(6, 0.3).law, dn.grr(6, 1.0).law
    assert pair.sizes.tolist() != [1]
    for first, second in ((pair, one), (bits, one), (pair, bits)):
        with pytest.raises(dn.InvalidParameter, match="reports one value, or independent bits"):
            first.then(second)
    with pytest.raises(dn.InvalidParameter, match="same number of values"):
        one.then(dn.grr(7, 1.0).law)
    marginal = one.then(one.mix(one, Fraction(1, 2)))
    with pytest.raises(NotExact):
        marginal.loss()


@pytest.mark.parametrize(("k", "g"), [(2, 2), (3, 3), (4, 2), (3, 5)])
def test_hashed_is_the_law_of_an_ideal_hash(k: int, g: int) -> None:
    """All g^k functions, all buckets."""
    p = Fraction(3, 5)
    inside, outside = [Fraction(0)] * (k + 1), [Fraction(0)] * (k + 1)
    supported = [Fraction(0)] * k
    for function in itertools.product(range(g), repeat=k):
        for bucket in range(g):
            chance = (p if bucket == function[0] else (1 - p) / (g - 1)) / g**k
            holds = [v for v in range(k) if function[v] == bucket]
            (inside if 0 in holds else outside)[len(holds)] += chance
            for v in holds:
                supported[v] += chance
    law = dn.law.Law.fixed_size(g, 1, p).hashed(k)
    assert (law.exact_p, law.exact_q) == (supported[0], supported[1]) == (p, Fraction(1, g))
    assert law.ratio == p * (g - 1) / (1 - p)
    np.testing.assert_allclose(
        [law.inside[law.sizes == s].sum() for s in range(k + 1)], np.array(inside, float), atol=1e-15
    )
    np.testing.assert_allclose(
        [law.outside[law.sizes == s].sum() for s in range(k + 1)], np.array(outside, float), atol=1e-15
    )
    rarer = dn.law.Law.fixed_size(g, 1, p).hashed(k, Fraction(1, 10))
    assert rarer.exact_q == p / 10 + (1 - p) * Fraction(9, 10) / (g - 1)


def test_best_guess_refuses_bad_priors() -> None:
    for prior in ([1.0, 1.0], [1.0, -1.0, 1.0], [0.0, 0.0, 0.0], [1.0, math.nan, 1.0]):
        with pytest.raises(dn.InvalidParameter, match="a prior is 3 non-negative weights"):
            dn.grr(3, 1.0).law.success(prior)


@MANY
@given(st.integers(2, 30), CHANCE, CHANCE)
def test_likelihoods_of_all_sets_sum_to_one(k: int, p: Fraction, q: Fraction) -> None:
    for law in (
        dn.law.Law.independent(k, p, q),
        dn.law.Law.fixed_size(k, k // 2, p),
        dn.law.Law.fixed_size(4, 1, p).hashed(k),
    ):
        total = 0.0
        for size in range(k + 1):
            inside, outside = law.log_likelihood(size)
            total += math.exp(inside) * comb(k - 1, size - 1) if size else 0.0
            total += math.exp(outside) * comb(k - 1, size)
        assert math.isclose(total, 1.0, rel_tol=1e-9)
    assert dn.law.Law.fixed_size(k, 1, p).log_likelihood(0) == (-math.inf, -math.inf)


@MANY
@given(CHANCE, CHANCE)
def test_a_loss_is_never_negative(p: Fraction, q: Fraction) -> None:
    """Where the support speaks against the true value, what is lost is the inverse ratio."""
    for law in (
        dn.law.Law.independent(4, p, q),
        dn.law.Law.fixed_size(4, 1, p),
        dn.law.Law.fixed_size(5, 3, q),
    ):
        assert law.loss() >= 0
    lost = p * (1 - q) / (q * (1 - p))
    assert math.isclose(
        dn.law.Law.independent(4, p, q).loss(), abs(math.log(lost)), rel_tol=1e-12, abs_tol=1e-15
    )


def test_a_bit_that_is_sure_has_no_finite_loss() -> None:
    for p, q in ((Fraction(1), Fraction(1, 2)), (Fraction(1, 2), Fraction(0))):
        with pytest.raises(NotExact):
            dn.law.Law.independent(3, p, q).loss()
    with pytest.raises(NotExact):
        dn.law.Law.fixed_size(3, 1, Fraction(1)).loss()


@MANY
@given(CHANCE, CHANCE, st.floats(0, 1), st.integers(1, 10**9))
def test_variance_by_its_definition(p: Fraction, q: Fraction, f: float, n: int) -> None:
    """n f coins of p and n (1 - f) of q where the people are fixed; n coins of one mean where they are a
    sample.
    """
    if p == q:
        p = q / 2
    law = dn.law.Law.independent(5, p, q)
    gain = float(p - q)
    fixed = (f * float(p * (1 - p)) + (1 - f) * float(q * (1 - q))) / (n * gain**2)
    mean = float(q) + f * gain
    assert math.isclose(law.variance(n, f, "fixed"), fixed, rel_tol=1e-9)
    assert math.isclose(law.variance(n, f), mean * (1 - mean) / (n * gain**2), rel_tol=1e-9)
    assert math.isclose(law.variance(n, f), fixed + f * (1 - f) / n, rel_tol=1e-9)
    several = np.array([f, 0.0, 1.0])
    assert np.asarray(law.variance(n, several)).tolist() == [law.variance(n, share) for share in several]


def test_error_is_an_average_that_needs_no_truth() -> None:
    """Averaged over the values, the variance for fixed people is the same for every distribution."""
    law = dn.ss(6, 0.7).law
    for seed in range(3):
        truth = np.random.default_rng(seed).dirichlet(np.ones(6))
        assert math.isclose(np.mean(law.variance(100, truth, "fixed")), law.error(100), rel_tol=1e-12)
    assert law.error(100, 0.0) == law.variance(100)


def test_variance_refuses_nobody_and_unknown_conventions() -> None:
    for law in (dn.oue(4, 1.0).law, dn.law.Moments(4, 2.0)):
        with pytest.raises(
            dn.InvalidParameter, match="n, the number of reports, must be an integer of at least 1, got 0"
        ):
            law.variance(0)
        with pytest.raises(dn.InvalidParameter, match="population is 'sampled' or 'fixed', got 'all'"):
            law.variance(10, 0.0, "all")  # type: ignore[arg-type]


def test_variances_of_a_noisy_sum() -> None:
    law = dn.law.Moments(4, 2.0)
    assert law.noise == 2.0
    assert law.variance(10, 0.5) == (2 + 0.25) / 10
    assert law.variance(10, 0.5, "fixed") == 0.2
    assert law.error(10) == 0.2
    with pytest.raises(TypeError, match="positional"):
        dn.law.Moments(4, 2.0, 0.5)  # type: ignore[call-arg, arg-type]


@pytest.mark.parametrize("chance", [0.0, 1e-12, 1e-4, 0.3, 0.5, 1 - 1e-9, 1.0])
@pytest.mark.parametrize("trials", [0, 1, 9, 10_000])
def test_binomial(trials: int, chance: float) -> None:
    from scipy import stats

    counts, chances = binomial(trials, chance)
    assert math.isclose(chances.sum(), 1.0, rel_tol=1e-13)
    np.testing.assert_allclose(chances, stats.binom.pmf(counts, trials, chance), rtol=1e-8, atol=1e-280)
    left_out = np.setdiff1d(np.arange(trials + 1), counts)
    assert stats.binom.pmf(left_out, trials, chance).sum() < 1e-100


def laws(k: int, epsilon: float) -> dict[str, dn.law.Law]:
    """One law of every kind at this k and epsilon."""
    grr, oue = dn.grr(k, epsilon).law, dn.oue(k, epsilon).law
    return {
        "independent": oue,
        "symmetric": dn.sue(k, epsilon).law,
        "one value": grr,
        "half": dn.ss(k, epsilon, k // 2).law,
        "hashed": dn.mechanisms.lh(k, epsilon, 4).law,
        "block design": dn.hr(k, epsilon).law,
        "bits then bits": oue.then(oue),
        "one value then bits": grr.then(oue),
        "mixture": grr.mix(oue, Fraction(1, 3)),
    }


@pytest.mark.parametrize("kind", list(laws(2, 1.0)))
@pytest.mark.parametrize(("k", "epsilon"), [(10_000, 1e-4), (10_000, 20.0), (2, 1e-4), (2, 20.0)])
def test_laws_are_safe_at_the_edges(kind: str, k: int, epsilon: float) -> None:
    """No warning (they are errors here), nothing that is not a number, sums of one, a best guess within its
    bounds.
    """
    law = laws(k, epsilon)[kind]
    assert (law.inside >= 0).all()
    assert (law.outside >= 0).all()
    assert abs(law.inside.sum() + law.outside.sum() - 1) < 1e-12
    assert math.isfinite(law.variance(1))
    assert law.variance(1) > 0
    bound = math.exp(epsilon) / (math.exp(epsilon) + k - 1)
    assert (1 - 1e-12) / k <= law.success() <= bound * (1 + 1e-12)
    if kind == "mixture":
        assert law.ratio is None
    else:
        assert 0 < law.loss() <= epsilon
    prior = np.random.default_rng(1).dirichlet(np.ones(k))
    if kind == "block design":  # which sets there are, only the mechanism knows
        with pytest.raises(NotExact):
            law.success(prior)
    else:
        assert prior.max() * (1 - 1e-12) <= law.success(prior) <= 1 + 1e-12
