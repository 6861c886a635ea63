"""Decisions of the final group, and detection limits: the specification's numbers, and refusals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable import discovery
from deniable.discovery.decide import Decision, find_threshold, reach

M = dn.mechanisms.linear(50, 2.0)


def of_counts(*counts: int, candidates: int = 40, n: int = 16_000) -> Decision:
    every = np.array([*counts, *[0] * (candidates - len(counts))])
    return Decision(M, np.arange(candidates), every, n)


def test_numbers_are_those_of_the_specification(monkeypatch: pytest.MonkeyPatch) -> None:
    """Theirs are of codes that collide with probability 1 / g; those of hashes that are sent are close."""
    sent = of_counts(2400, 2178)
    assert sent.threshold == 2129
    monkeypatch.setattr(dn.mechanisms.Linear, "bound_other", (M.law.exact_q, M.law.exact_q))
    made = of_counts(2400, 2178)
    assert made.threshold == 2128
    assert np.abs(np.subtract(made.ends, sent.ends)).max() < 1e-4
    value, low, high = made.conditional
    assert value == pytest.approx([0.064366, 0.027157], abs=5e-7)
    assert low == pytest.approx([0.050190, 0.004986], abs=5e-7)
    assert high == pytest.approx([0.078832, 0.042455], abs=5e-7)


def test_threshold_is_the_least_that_chance_hardly_reaches() -> None:
    likeliest = float(M.bound_other[1])
    for n in (0, 1, 10, 1000, 30_000):
        for tail in (0.5, 0.05, 1e-3, 1e-9):
            least = find_threshold(M, n, tail)
            assert stats.binom.sf(least - 1, n, likeliest) <= tail * (1 + 1e-9)
            assert least == 0 or stats.binom.sf(least - 2, n, likeliest) > tail


def test_tails_are_those_of_a_binomial_count() -> None:
    counts = np.array([-1.0, 0.0, 1.0, 3.0, 10.0, 11.0])
    assert reach(counts, 10, 0.3) == pytest.approx(stats.binom.sf(counts - 1, 10, 0.3), abs=1e-14)


def test_conditional_ends_have_their_tails() -> None:
    made = of_counts(2200)
    _, low, high = made.conditional
    least, most = map(float, M.bound_other)

    def reached(count: int, share: float, q: float) -> float:
        chance = q + share * (M.law.p - q)
        tails = stats.binom.sf([count - 1, made.threshold - 1], 16_000, chance)
        return float(tails[0] / tails[1])

    assert reached(2200, low[0], most) == pytest.approx(0.025, rel=1e-6)
    assert reached(2201, high[0], least) == pytest.approx(0.975, rel=1e-6)


def test_intervals_at_once_are_those_of_a_binomial_share() -> None:
    made = of_counts(2200)
    tail = 0.05 / 80
    low, high = stats.beta.ppf(tail, 2200, 13_801), stats.beta.isf(tail, 2201, 13_800)
    least, most = map(float, M.bound_other)
    assert made.low[0] == pytest.approx((low - most) / (M.law.p - most), rel=1e-9)
    assert made.high[0] == pytest.approx((high - least) / (M.law.p - least), rel=1e-9)
    assert made.shares[0] == pytest.approx((2200 / 16_000 - 1 / 8) / (M.law.p - 1 / 8), rel=1e-9)


def test_short_codes_are_decided_by_the_end_that_favors_nobody() -> None:
    """At 8 bits a hash that is sent is not quite uniform: thresholds and intervals allow for it."""
    short = dn.mechanisms.linear(8, 2.0)
    assert find_threshold(short, 10_000, 1e-3) > find_threshold(dn.mechanisms.linear(50, 2.0), 10_000, 1e-3)
    codes, counts = np.arange(2), np.array([2000, 0])
    assert (
        np.diff(Decision(short, codes, counts, 9000).ends, axis=0)[0, 0]
        > (np.diff(Decision(M, codes, counts, 9000).ends, axis=0)[0, 0])
    )


def test_limits_are_those_of_the_specification() -> None:
    def limit(bits: int, epsilon: float, n: int) -> float:
        cuts, weights = {30: ((15, 30), (21, 21, 8)), 50: ((20, 35, 50), (7, 7, 7, 4))}[bits]
        levels = [dn.mechanisms.linear(cut, epsilon) for cut in (*cuts, bits)]
        return 100 * discovery.detection_limit(levels, weights, n)

    assert limit(50, 2.0, 10**5) == pytest.approx(2.579, abs=5e-4)
    table = {(30, 1.0): 4.6, (30, 2.0): 2.0, (30, 4.0): 0.66, (50, 1.0): 5.8, (50, 4.0): 0.84}
    for (bits, epsilon), percent in table.items():
        assert limit(bits, epsilon, 10**5) == pytest.approx(percent, rel=0.02)
    listed = {1.0: 2.4, 2.0: 1.05, 4.0: 0.34}
    for epsilon, percent in listed.items():
        final = dn.mechanisms.linear(50, epsilon)
        assert 100 * discovery.listed_limit(final, 10**5) == pytest.approx(percent, rel=0.02)
        assert limit(50, epsilon, 10**6) > 200 * discovery.listed_limit(final, 10**6)


def test_limits_beyond_all_people_say_so() -> None:
    assert discovery.listed_limit(dn.mechanisms.linear(50, 0.1), 10) == 1.0
    assert discovery.detection_limit([dn.mechanisms.linear(20, 1.0)] * 2, (21, 4), 1) == 1.0


def test_what_cannot_be_decided_is_refused() -> None:
    sent = M.privatize([1, 2], dn.seeded(1))
    with pytest.raises(dn.InvalidParameter, match="named twice"):
        discovery.decide_listed((M, sent), [3, 4, 3])
    with pytest.raises(dn.InvalidParameter, match="at least one value"):
        discovery.decide_listed((M, sent), [])
    with pytest.raises(dn.InvalidValue, match="codes of 50 bits"):
        discovery.decide_listed((M, sent), [1 << 50])
    with pytest.raises(dn.InvalidValue, match="whole numbers"):
        discovery.decide_listed((M, sent), ["a"])
    with pytest.raises(dn.InvalidParameter, match="alpha"):
        discovery.decide_listed((M, sent), [1], alpha=1.5)
    with pytest.raises(dn.InvalidParameter, match="one weight"):
        discovery.detection_limit([M], (1, 2), 100)
    broken = sent.copy()
    broken["bits"] = 0
    with pytest.raises(dn.InvalidReport, match="rows are independent"):
        discovery.decide_listed((M, broken), [1])


def test_levels_that_do_not_follow_each_other_are_refused() -> None:
    short, whole = dn.mechanisms.linear(15, 2.0), (M, M.privatize([1], dn.seeded(1)))
    with pytest.raises(dn.InvalidParameter, match="decide_listed"):
        discovery.discover([], whole)
    with pytest.raises(dn.InvalidParameter, match="30 bits at a time at most, got 35"):
        discovery.discover([(short, short.privatize([1]))], whole)
