"""The names people know for records: the papers' numbers, claims and estimators, and what is true of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable as dn
from deniable.arrays import Array
from deniable.records import (
    Blank,
    Faked,
    Guessed,
    Imitated,
    RecordMechanism,
    equal_part,
    rsfd,
    rsrfd,
    smp,
    spl,
)
from deniable.records.named import REALISTIC_FAKES, amplified

ADULT = [74, 7, 16, 7, 14, 6, 5, 2, 41, 2]
ACS = [92, 25, 5, 2, 2, 9, 4, 5, 5, 4, 2, 18, 2, 2, 3, 9, 3, 6]
NURSERY = [3, 5, 4, 4, 3, 2, 3, 3, 5]
FAKED = ["grr", "oue-z", "oue-r", "sue-z", "sue-r"]


# The printed values.


@pytest.mark.parametrize(
    ("ks", "epsilon", "grr", "unary", "record"),
    [
        (ADULT, 1.0, 1.558, 2.360, 2.900),
        (ADULT, math.log(2), 1.049, 1.717, 2.398),
        (ACS, 1.0, 2.080, 2.789, 3.464),
        (ACS, 5.0, 7.102, 7.637, 7.884),
        (NURSERY, 1.0, 1.185, 1.608, 2.801),
    ],
)
def test_what_published_parameters_give_away(
    ks: list[int], epsilon: float, grr: float, unary: float, record: float
) -> None:
    for protocol, attribute in (
        ("grr", grr),
        ("oue-r", unary),
        ("sue-r", unary),
        ("oue-z", epsilon),
        ("sue-z", epsilon),
    ):
        mechanism = rsfd(ks, epsilon, protocol, "published")
        assert mechanism.claim == epsilon
        assert mechanism.loss("attribute") == pytest.approx(attribute, abs=5.1e-4)
        assert mechanism.loss() == pytest.approx(record, abs=5.1e-4)


# The table of losses per attribute, in closed form.


def closed_form(b: Sequence[float], s: Sequence[float], e: float) -> float:
    """max_j ln(1 + (e - 1) b_j / (b_j + sum of the other s_i))."""
    return max(math.log1p((e - 1) * one / (one + sum(s) - s[j])) for j, one in enumerate(b))


def rows_of_the_table(mechanism: Faked, e: float) -> tuple[list[float], list[float]]:
    """b and s of each attribute, from its kind of fake, its number of values and its prior."""
    b, s = [], []
    for fake in mechanism.fakes:
        k = fake.part.k
        match fake:
            case Guessed(prior=prior):
                q = 1 / (e + k - 1)
                b.append(q / prior.shares.min())
                s.append(q / prior.shares.max())
            case Imitated(part=dn.mechanisms.Unary(), prior=prior):
                least = float(prior.shares.min())
                b.append(1 / (least * e + 1 - least))
                s.append(1 / ((1 - least) * e + least))
            case Blank(part=part):
                b.append((1 - part.law.p) / (1 - float(fake.supported[0])))
                s.append(b[-1])
            case Imitated(prior=prior):
                q, gain = 1 / (e + k - 1), (e - 1) / (e + k - 1)
                b.append(q / (q + gain * float(prior.shares.min())))
                s.append(q / (q + gain * float(prior.shares.max())))
    return b, s


@pytest.mark.parametrize(
    "ks", [(3, 3), (2, 3, 5), (2, 7), (4, 4, 4), (2, 2), (2, 30, 90), tuple(ADULT)], ids=str
)
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_losses_per_attribute_are_those_of_the_table(ks: tuple[int, ...], epsilon: float) -> None:
    d, e = len(ks), math.exp(amplified(epsilon, len(ks)))
    random = np.random.default_rng(4)
    priors = [random.dirichlet(np.ones(k)) + 1e-3 for k in ks]
    protocols = [*FAKED, "adaptive", "ss", "olh", "hr"]
    mechanisms = [rsfd(ks, epsilon, protocol, "published") for protocol in protocols]
    mechanisms += [
        rsrfd(ks, epsilon, priors, protocol, "published") for protocol in ("grr", "oue-r", "sue-r")
    ]
    mechanisms.append(rsrfd(ks, epsilon, priors, "grr", "published", "published"))
    for mechanism in mechanisms:
        assert mechanism.loss() == pytest.approx(amplified(epsilon, d), abs=1e-9)
        assert mechanism.loss("attribute") == pytest.approx(
            closed_form(*rows_of_the_table(mechanism, e), e), abs=1e-9
        )


# Calibration.

SIZES = st.lists(st.integers(2, 30), min_size=2, max_size=5)
BUDGETS = st.floats(math.log(1e-3), math.log(10)).map(math.exp)
CALIBRATIONS = st.sampled_from(["record", "attribute"])
QUICK = settings(max_examples=40)


@QUICK
@given(SIZES, BUDGETS, st.sampled_from(FAKED), CALIBRATIONS)
def test_nobody_loses_more_than_epsilon(ks: list[int], epsilon: float, protocol: str, per: Any) -> None:
    mechanism = rsfd(ks, epsilon, protocol, per)
    assert epsilon - 1e-9 < mechanism.loss(per) <= epsilon
    assert mechanism.loss("attribute") <= mechanism.loss()


@QUICK
@given(
    SIZES,
    BUDGETS,
    st.sampled_from(["grr", "oue-r", "sue-r"]),
    st.sampled_from(["perturbed", "published"]),
    CALIBRATIONS,
)
def test_nor_with_priors(ks: list[int], epsilon: float, protocol: str, fakes: Any, per: Any) -> None:
    priors = [np.random.default_rng(k).dirichlet(np.full(k, 0.3)) for k in ks]
    mechanism = rsrfd(ks, epsilon, priors, protocol, per, fakes, mixed=0.01)
    assert epsilon - 1e-9 < mechanism.loss(per) <= epsilon
    assert mechanism.loss("attribute") <= mechanism.loss()


@QUICK
@given(SIZES, BUDGETS, st.sampled_from(["grr", "oue", "sue", "ss", "olh", "hr"]), st.data())
def test_nor_by_splitting_or_sampling(
    ks: list[int], epsilon: float, protocol: str, data: st.DataObject
) -> None:
    attributes = data.draw(st.integers(1, len(ks)))
    for mechanism in (spl(ks, epsilon, protocol), smp(ks, epsilon, protocol, attributes)):
        assert epsilon - 1e-8 < mechanism.loss() <= epsilon


def test_each_attribute_may_have_its_own_epsilon() -> None:
    budgets = [1.0, 2.0, 0.5]
    split, sampled, two = (
        spl([3, 4, 5], budgets, "grr"),
        smp([3, 4, 5], tuple(budgets), "oue"),
        smp([3, 4, 5], budgets, "grr", 2),
    )
    for mechanism in (split, sampled, two):
        for part, budget in zip(mechanism.mechanisms, budgets, strict=True):
            assert budget - 1e-8 < part.loss() <= budget
        assert 2 - 1e-8 < mechanism.loss("attribute") <= 2
    for mechanism, loss in ((split, 3.5), (sampled, 2.0), (two, 3.0)):
        assert loss - 1e-8 < mechanism.loss() <= loss
    assert sampled.mechanisms == tuple(
        dn.oue(k, budget) for k, budget in zip([3, 4, 5], budgets, strict=True)
    )
    plan = dn.Plan.of({"a": range(3), "b": range(4), "c": range(5)}, sampled, people=100)
    assert dn.Plan.from_json(plan.to_json()) == plan


@pytest.mark.parametrize("name", [spl, smp])
def test_other_lists_of_epsilons_are_refused(name: Any) -> None:
    with pytest.raises(
        dn.InvalidParameter, match="there are 2 attributes, but 3 epsilons; give one for all, or one for each"
    ):
        name([3, 4], [1.0, 2.0, 3.0])
    with pytest.raises(dn.InvalidParameter, match="epsilon of attribute 1 must be a positive number, got 0"):
        name([3, 4], [1.0, 0.0])
    for epsilon in ("1", {"a": 1.0}, None):
        with pytest.raises(dn.InvalidParameter, match="epsilon must be a positive number"):
            name([3, 4], epsilon)


def test_an_epsilon_of_numpy_is_one_and_sets_have_no_order() -> None:
    one: Any
    for one in (np.array(1.0), np.float64(1.0)):
        assert dn.smp([3, 4], one) == dn.smp([3, 4], 1.0)
        assert dn.spl([3, 4], one) == dn.spl([3, 4], 1.0)
    for one, kind in (({1.0, 2.0}, "a set"), ({0: 1.0, 1: 2.0}, "a dictionary")):
        with pytest.raises(dn.InvalidParameter, match=f"or a list of one for each attribute, got {kind}"):
            dn.smp([3, 4], one)


@given(st.floats(1e-3, 50.0), st.integers(1, 1000))
@settings(max_examples=300)
def test_equal_parts_do_not_exceed_the_whole(epsilon: float, parts: int) -> None:
    part = equal_part(epsilon, parts)
    assert Fraction(part) * parts <= Fraction(epsilon)
    assert part == pytest.approx(epsilon / parts, rel=1e-15)


# One estimator: the papers' are special cases of it.

N = 10_000


def grr_pq(k: int, epsilon: float) -> tuple[float, float]:
    return math.exp(epsilon) / (math.exp(epsilon) + k - 1), 1 / (math.exp(epsilon) + k - 1)


def oue_pq(k: int, epsilon: float) -> tuple[float, float]:
    return 0.5, 1 / (math.exp(epsilon) + 1)


def sue_pq(k: int, epsilon: float) -> tuple[float, float]:
    return math.exp(epsilon / 2) / (math.exp(epsilon / 2) + 1), 1 / (math.exp(epsilon / 2) + 1)


PAIRS = {"grr": grr_pq, "oue": oue_pq, "sue": sue_pq}


def check_estimator(
    mechanism: RecordMechanism,
    j: int,
    n: int,
    estimator: Callable[[Array], Array],
    variance: Callable[[Array], Array],
) -> None:
    """The mechanism's estimate of any counts, and its variance at any frequencies, are the paper's."""
    k = mechanism.mechanisms[j].k
    random = np.random.default_rng(j)
    counts = random.integers(0, n, size=k)
    tallies = [dn.Tally(n, np.zeros(part.k, dtype=int)) for part in mechanism.mechanisms]
    tallies[j] = dn.Tally(n, counts)
    found = mechanism.estimate(tallies)[j].frequencies
    np.testing.assert_allclose(found, estimator(counts), rtol=1e-12, atol=1e-12)
    for f in (np.zeros(k), random.dirichlet(np.ones(k))):
        np.testing.assert_allclose(mechanism.marginal(j).variance(n, f), variance(f), rtol=1e-12)
        fixed = variance(f) - f * (1 - f) / n
        np.testing.assert_allclose(mechanism.marginal(j).variance(n, f, "fixed"), fixed, rtol=1e-12)


@pytest.mark.parametrize("protocol", FAKED)
def test_estimator_of_rsfd(protocol: str) -> None:
    ks, epsilon = (3, 8, 12), 0.8
    d, mechanism = len(ks), rsfd(ks, epsilon, protocol, "published")
    for j, k in enumerate(ks):
        p, q = PAIRS[protocol[:3]](k, math.log(d * (math.exp(epsilon) - 1) + 1))
        fakes = {"gr": 1 / k, "-z": q, "-r": (p + (k - 1) * q) / k}[
            "gr" if protocol == "grr" else protocol[-2:]
        ]

        def estimator(counts: Array, p: float = p, q: float = q, fakes: float = fakes) -> Array:
            return np.asarray((d * counts / N - q - (d - 1) * fakes) / (p - q))

        def variance(f: Array, p: float = p, q: float = q, fakes: float = fakes) -> Array:
            t = (q + f * (p - q) + (d - 1) * fakes) / d
            return np.asarray(d**2 * t * (1 - t) / (N * (p - q) ** 2))

        check_estimator(mechanism, j, N, estimator, variance)


NEUTRAL_SIZES = (6, 20, 9)
LOSSES = {
    "grr": (0.484567, 1.125494, 1.675651, 0.228507, 0.154299, 23.6959),
    "ss": (0.472450, 1.059945, 1.743637, 0.414261, 0.317148, 22.9631),
    "olh": (0.452832, 1.0, 1.817240, 0.325122, 0.25, 33.2249),
    "hr": (0.452832, 1.0, 1.817240, 0.577020, 0.5, 42.1442),
}


@pytest.mark.parametrize("protocol", LOSSES)
def test_losses_and_estimators_of_sets_among_fakes_of_nobody(protocol: str) -> None:
    """Each calibration at epsilon 1: what an attribute loses, or a record, and the first one's estimator."""
    record, published, attribute, p, q, variance = LOSSES[protocol]
    kept, claimed, searched = (
        rsfd(NEUTRAL_SIZES, 1.0, protocol, name) for name in ("record", "published", "attribute")
    )
    assert kept.loss() == pytest.approx(1.0, abs=1e-9)
    assert claimed.loss() == pytest.approx(1.817240, abs=5e-7)
    assert kept.loss("attribute") == pytest.approx(record, abs=5e-7)
    assert claimed.loss("attribute") == pytest.approx(published, abs=5e-7)
    assert searched.loss() == pytest.approx(attribute, abs=5e-7)
    marginal = kept.marginal(0)
    assert (marginal.p[0], marginal.q[0]) == pytest.approx((p, q), abs=5e-7)
    assert marginal.variance(1, 0.0)[0] == pytest.approx(variance, abs=5e-5)


@pytest.mark.parametrize("protocol", REALISTIC_FAKES)
def test_any_protocol_has_realistic_fakes(protocol: str) -> None:
    """A record never loses more than its parts, an attribute less; a uniform prior of sets is nobody's."""
    ks, priors = (4, 7, 3), [[4, 3, 2, 1], [1, 1, 2, 3, 5, 8, 13], [1, 2, 4]]
    mechanism = rsrfd(ks, 1.0, priors, protocol)
    assert mechanism.loss("attribute") < mechanism.loss() <= 1.0
    if protocol in ("ss", "ass"):
        even = rsrfd(ks, 1.0, [np.ones(k) for k in ks], protocol)
        assert even.loss("attribute") == pytest.approx(rsfd(ks, 1.0, protocol).loss("attribute"), abs=1e-12)


@pytest.mark.parametrize(
    ("protocol", "fakes"),
    [("grr", "published"), ("grr", "perturbed"), ("oue-r", "perturbed"), ("sue-r", "perturbed")],
)
def test_estimator_of_rsrfd(protocol: str, fakes: Any) -> None:
    """The papers' two; and GRR with perturbed fakes, where the prior's share is replaced by q + (p - q) times
    it.
    """
    ks, epsilon = (3, 8), 0.8
    priors = [np.random.default_rng(j).dirichlet(np.ones(k)) for j, k in enumerate(ks)]
    d, mechanism = len(ks), rsrfd(ks, epsilon, priors, protocol, "published", fakes)
    for j, k in enumerate(ks):
        p, q = PAIRS[protocol[:3]](k, math.log(d * (math.exp(epsilon) - 1) + 1))
        supported = priors[j] if fakes == "published" else q + (p - q) * priors[j]

        def estimator(counts: Array, p: float = p, q: float = q, supported: Array = supported) -> Array:
            return np.asarray((d * counts - N * (q + (d - 1) * supported)) / (N * (p - q)))

        def variance(f: Array, p: float = p, q: float = q, supported: Array = supported) -> Array:
            gamma = (f * (p - q) + q + (d - 1) * supported) / d
            return np.asarray(d**2 * gamma * (1 - gamma) / (N * (p - q) ** 2))

        check_estimator(mechanism, j, N, estimator, variance)


def test_the_adaptive_choice_is_the_one_that_errs_less() -> None:
    """For records with fakes: the smaller of the two variances at f = 0, attribute by attribute."""
    for ks, epsilon in (((2, 3, 50), 1.0), ((4, 8, 16, 32), 0.5), ((2, 10), 3.0)):
        grr, oue, both = (rsfd(ks, epsilon, name, "published") for name in ("grr", "oue-z", "adaptive"))
        for j in range(len(ks)):
            direct, unary = (float(np.mean(mechanism.marginal(j).variance(1))) for mechanism in (grr, oue))
            assert isinstance(
                both.mechanisms[j], dn.mechanisms.Direct if direct <= unary else dn.mechanisms.Unary
            )
            assert float(np.mean(both.marginal(j).variance(1))) == min(direct, unary)
    kinds = {type(part) for part in rsfd((2, 3, 50), 1.0, "adaptive").mechanisms}
    assert kinds == {dn.mechanisms.Direct, dn.mechanisms.Unary}


# What is refused.


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: spl((2, 3), 1.0, "grrr"), r"'grrr' is not a protocol .*did you mean 'grr'\?"),
        (lambda: smp((2, 3), 1.0, "ouee"), r"did you mean 'oue'\?"),
        (
            lambda: smp((2, 3), 1.0, "she"),
            r"'she' is not a protocol .*; no plan can hold it, .* deniable_papers\.mechanisms\.she$",
        ),
        (lambda: rsfd((2, 3), 1.0, "oue"), r"'oue' is not a protocol of RS\+FD .*did you mean 'oue-[zr]'\?"),
        (lambda: rsfd((2, 3), 1.0, "adaptve"), r"did you mean 'adaptive'\?"),
        (
            lambda: rsfd((2, 3), 1.0, "grr", "records"),  # type: ignore[arg-type]
            r"'records' is not a calibration .*did you mean 'record'\?",
        ),
        (
            lambda: rsrfd((2, 3), 1.0, [[1, 1], [1, 1, 1]], "oue-z"),
            r"'oue-z' is not a protocol of RS\+RFD .*'oue-r'\?",
        ),
        (
            lambda: rsrfd((2, 3), 1.0, [[1, 1], [1, 1, 1]], fakes="perturb"),  # type: ignore[arg-type]
            "'perturbed' or 'published', got 'perturb'",
        ),
        (lambda: rsrfd((2, 3), 1.0, [[1, 1]]), "there are 2 attributes, but 1 priors"),
        (lambda: rsrfd((2, 3), 1.0, [[1, 1], [1, 1]]), "a prior is 3 non-negative weights"),
        (lambda: rsrfd((2, 3), 1.0, [[1, 1], [1, 0, 1]]), r"1 of 3 values have no share .* \(mixed=0.01\)"),
        (lambda: smp((2, 3), 1.0, "grr", 3), "from 1 to 2, got 3"),
        (lambda: smp((2, 3), 1.0, "grr", 0), "from 1 to 2, got 0"),
        (lambda: spl((2, 1), 1.0, "grr"), "k, the number of values, must be an integer of at least 2, got 1"),
        (lambda: spl((), 1.0), "number of attributes"),
        (
            lambda: spl(4, 1.0),  # type: ignore[arg-type]
            r"such as \[3, 5, 4\], got 4; for one attribute of 4 values use the mechanism itself",
        ),
        (lambda: smp("34", 1.0), "ks is a list"),  # type: ignore[arg-type]
        (lambda: rsfd({"a": 3}, 1.0), "ks is a list"),  # type: ignore[arg-type]
        (lambda: rsrfd(4, 1.0, [[1, 1]]), "ks is a list"),  # type: ignore[arg-type]
        (lambda: smp((), 1.0), "attributes"),
        (lambda: rsfd((), 1.0), "attributes"),
    ],
)
def test_refusals(make: Callable[[], RecordMechanism], message: str) -> None:
    with pytest.raises(dn.InvalidParameter, match=message):
        make()


@pytest.mark.parametrize("epsilon", [0, -1.0, float("nan"), float("inf"), "1", None])
@pytest.mark.parametrize(
    "make", [spl, smp, rsfd, lambda ks, epsilon: rsrfd(ks, epsilon, [[1, 1], [1, 1, 1]])]
)
def test_epsilon_must_be_positive(make: Any, epsilon: Any) -> None:
    with pytest.raises(dn.InvalidParameter, match="epsilon must be a positive number"):
        make((2, 3), epsilon)


def test_a_prior_with_an_empty_cell_can_be_mixed() -> None:
    mechanism = rsrfd((2, 3), 1.0, [[1, 1], [1, 0, 1]], "grr", mixed=0.01)
    assert mechanism.loss() <= 1.0
    prior = mechanism.fakes[1]
    assert isinstance(prior, Imitated)
    np.testing.assert_allclose(prior.prior.shares, [0.495 + 0.01 / 3, 0.01 / 3, 0.495 + 0.01 / 3], atol=1e-15)


@pytest.mark.parametrize("ks", [(2, 3), (3, 5, 4), (2, 30), (4, 4, 19, 3)])
@pytest.mark.parametrize("epsilon", [0.5, 1.375, 2.5])
@pytest.mark.parametrize("calibration", ["record", "attribute"])
def test_the_adaptive_choice_errs_no_more_than_either_of_its_own(
    ks: tuple[int, ...], epsilon: float, calibration: Any
) -> None:
    """Where the choice flips, the loss jumps: what is left of the budget must not make it worse than a fixed
    choice.
    """

    def error(protocol: str) -> float:
        mechanism = dn.rsfd(ks, epsilon, protocol, calibration)
        assert mechanism.loss(per=calibration) <= epsilon
        return sum(float(mechanism.marginal(j).error(1, 0.0)) for j in range(len(ks)))

    assert error("adaptive") <= min(error("grr"), error("oue-z")) * (1 + 1e-9)
