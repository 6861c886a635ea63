"""Kept answers that are hashed by a public pool: laws and losses by enumeration, and what stays the same."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import deniable as dn
from deniable.exact import log_up
from deniable.mechanisms import Direct
from deniable.plan.chain import is_carried
from deniable.randomness import FULL
from deniable.records import Single
from deniable.rounds import PooledMemoized, l_plh, loloha
from deniable.rounds.differences import find_against
from tests.enumeration import (
    check_ratio,
    log,
    part_law,
    repeated_law,
    sampled_part_law,
    speaks_for,
    worst_ratio,
)

SIZES = [(2, 2), (3, 2), (4, 3), (5, 3), (9, 3), (10, 3)]
"""Values and buckets: buckets that no value has, full planes of digits, and one value more."""


@pytest.mark.parametrize(("k", "g"), SIZES)
def test_losses_are_those_of_all_that_can_be_sent(k: int, g: int) -> None:
    m = l_plh(k, 0.7, 1.3, g)
    for reports in (1, 2):
        truth = worst_ratio(repeated_law(m, value, reports) for value in (0, 1, k - 1))
        check_ratio(m.ratio_after(reports), log_up(m.ratio_after(reports)), truth, f"{reports} reports")
        assert log(truth) <= m.losses(reports=reports).same_value <= log(truth) + 1e-9
    assert 1.3 - 1e-9 < m.losses().one_value_forever == m.permanent.loss() <= 1.3
    assert m.losses(rounds=3) == replace(m.buckets.losses(rounds=3), changing_values_exact=k >= g)


@pytest.mark.parametrize(("k", "g"), SIZES)
def test_the_law_is_that_of_all_outcomes(k: int, g: int) -> None:
    """For every pair of values, not for two that were picked: any two collide equally often."""
    m = l_plh(k, 0.7, 1.3, g)
    laws = [part_law(m, value) for value in range(k)]
    for value, other in product(range(k), repeat=2):
        chance = sum((share for y, share in laws[value].items() if speaks_for(y, other)), Fraction(0))
        exact = m.law.exact_p if value == other else m.law.exact_q
        assert abs(chance - exact) < Fraction(1, 1 << 60), (value, other)
    for prior in (None, [2.0, *[1.0] * (k - 2), 0.5]):
        shares = np.full(k, 1 / k) if prior is None else np.array(prior) / sum(prior)
        best = sum(
            max(float(shares[value] * laws[value].get(y, Fraction(0))) for value in range(k))
            for y in {y for law in laws for y in law}
        )
        assert m.success(prior) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize(("k", "g"), [(2, 2), (3, 2), (4, 3)])
def test_the_sampler_follows_the_definition_to_the_last_word(k: int, g: int) -> None:
    m = l_plh(k, 0.7, 1.3, g)
    for value in range(k):
        assert sampled_part_law(m, value) == part_law(m, value)


def test_the_function_stays_and_a_bucket_keeps_its_answer() -> None:
    """A second round that changes next to nothing shows what is kept: by person, never by value or round."""
    people = 300
    m = l_plh(10, 1.0, 2.0, g=3)
    calm = PooledMemoized(10, replace(m.buckets, second=Direct(3, FULL - (1 << 24))))
    sent = np.array(
        [
            calm.privatize(np.full(people, value), dn.remembering(7, round=i)).astype(np.int64)
            for i, value in enumerate((0, 0, 1, 2, 3, 9, 0), 1)
        ]
    )
    functions, kept = np.divmod(sent, 3)
    assert (functions == functions[0]).all()
    assert len(np.unique(functions)) == m.pool.size == 13
    assert (kept[0] == kept[1]).all()
    assert (kept[0] == kept[6]).all()
    true = m.pool.buckets(functions[0], np.array([[0], [1], [2], [3], [9]]))
    answers = kept[[0, 2, 3, 4, 5]]
    for i, j in product(range(5), repeat=2):
        together = true[i] == true[j]
        assert (answers[i] == answers[j])[together].all(), "a bucket has one answer"
    assert (answers != true).any(axis=1).all(), "some answers are not the truth"


def test_a_public_pool_loses_what_loloha_does_and_errs_as_little() -> None:
    """One report is a hash of the pool with one round; 3 % more variance than loloha's at most."""
    for k, first in product((100, 1000, 20_000), (0.3, 1.0, 2.0, 4.0)):
        m, alone = l_plh(k, first, 2 * first), loloha(k, first, 2 * first)
        assert first - 1e-9 < m.loss() <= first
        assert m.law.variance(1) < 1.03 * alone.law.variance(1)
        once = dn.mechanisms.plh(k, first)
        assert m.g == once.g
        assert m.law.q == pytest.approx(once.law.q, abs=1e-8)
    assert l_plh(1000, 1.0, 2.0).losses().changing_values < loloha(1000, 1.0, 2.0).losses().changing_values


@pytest.mark.parametrize(("k", "g"), [(9, 3), (27, 3), (8, 2), (16, 2), (25, 5)])
def test_what_may_be_against_a_difference(k: int, g: int) -> None:
    """Brute force over functions: the covariance of how often two answers support a third value, beside the
    noise of one. The bound holds for all, and is reached.
    """
    m = l_plh(k, 1.0, 2.0, g)
    p, q = m.law.p, m.law.q
    buckets = m.pool.buckets(np.arange(m.pool.size)[:, None], np.arange(k))
    chances = np.where(buckets[:, :, None] == buckets[:, None, :], p, (1 - p) / (g - 1))  # of v, given x
    means = chances.mean(axis=0)
    worst = 0.0
    for value in range(k):
        seen = chances[:, :, value] - means[:, value]
        covariance = seen.T @ seen / m.pool.size
        worst = max(worst, float(-covariance.min()) / (q * (1 - q)))
    against = find_against(Single(m), 0)
    assert worst <= against + 1e-12
    assert worst == pytest.approx(against, rel=1e-9)


def test_the_same_pool_is_carried_and_another_begins_anew() -> None:
    old = l_plh(5, 1.0, 2.0, g=3)
    for k, first, forever, is_same in (
        (5, 1.5, 2.0, 1),
        (9, 1.0, 2.0, 1),
        (9, 1.0, 2.5, 1),
        (10, 1.0, 2.0, 0),
    ):
        new = l_plh(k, first, forever, g=3)
        assert (new.pool.size == old.pool.size) == is_same
        assert is_carried(old, new) == is_same
    assert not is_carried(old, l_plh(5, 1.0, 2.0, g=2))


def test_pools_that_cannot_be_are_refused() -> None:
    for g, message in ((4, "must be prime, got 4"), (252, "from 2 to 251"), (1, "from 2 to 251")):
        with pytest.raises(dn.InvalidParameter, match=re.escape(message)):
            l_plh(10, 1.0, 2.0, g)
    with pytest.raises(dn.InvalidParameter, match=r"at most 4,194,304 pairs .* take fewer buckets"):
        l_plh(100_000, 1.0, 2.0, 251)
    with pytest.raises(dn.InvalidParameter, match="k = 1048577 is too large for pooled encoding"):
        l_plh((1 << 20) + 1, 1.0, 2.0)
    with pytest.raises(dn.InvalidParameter, match="direct ones"):
        PooledMemoized(10, dn.rounds.l_osue(3, 0.5, 1.0))
    with pytest.raises(dn.InvalidParameter, match="epsilon_first, for one report, must be below"):
        l_plh(10, 2.0, 1.0)


def test_the_plan_says_what_counting_takes() -> None:
    towns = {"town": [str(i) for i in range(1000)]}
    pooled, alone = (
        " ".join(dn.Plan.of(towns, make(1000, 1.0, 2.0), people=1000, rounds=4).explain().split())
        for make in (l_plh, loloha)
    )
    assert (
        "one of 1,093 public functions, and its reports are counted by function and bucket: 3,279" in pooled
    )
    assert "It takes 2.1 % more people" in pooled
    assert "counting takes 1,000 hashes a report" in alone
