"""Intervals of what is shown, given that it has at least some people: exact, by the chances of all counts."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.arrays import Floats, Integers
from deniable.discovery import Decision, Discovery
from tests import statistics

M = dn.mechanisms.linear(50, 2.0)
N, PEOPLE = 16_000, 100_000
TIMES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.5)
"""True shares, in standard deviations."""

Shown = tuple[Integers, Floats, Floats, Floats]


def decide_all() -> Decision:
    """A candidate for every count that matters, each with the alpha of one among 40."""
    counts = np.arange(2700, 2100, -1)
    return Decision(M, np.arange(counts.size), counts, N, alpha=0.05 / 40 * counts.size)


def show(least: int) -> Shown:
    """Counts that are shown, with their shares and intervals."""
    found = Discovery.of(decide_all(), str, people=PEOPLE, limit=0.02, least=least)
    return found.counts, found.shares, found.low, found.high


def filter_estimates(least: int) -> Shown:
    """The planted fault: what was decided is filtered by its estimate afterwards."""
    counts, *stated = show(0)
    common = stated[0] * PEOPLE >= least
    shares, low, high = (one[common] for one in stated)
    return counts[common], shares, low, high


def check_held(shown: Shown) -> None:
    """How often intervals hold and estimates exceed the truth, given that a value is shown."""
    counts, shares, low, high = shown
    least, most = statistics.LEAST_HELD
    for times in TIMES:
        share = times * float(M.law.variance(N)) ** 0.5
        chances = stats.binom.pmf(counts, N, M.law.q + share * M.law.gain)
        chances /= chances.sum()
        held = float(chances[(low <= share) & (share <= high)].sum())
        assert least <= held <= most, f"intervals at {times} standard deviations hold in {held:.1%}"
        above = float(chances[shares > share].sum())
        assert above == pytest.approx(0.5, abs=statistics.LEAST_ABOVE), f"{above:.1%} are above the truth"


@pytest.mark.parametrize("least", [0, 50, 2000, 3000, 6000])
def test_intervals_of_what_enough_people_have_hold(least: int) -> None:
    check_held(show(least))


@pytest.mark.parametrize("least", [50, 2000, 3000, 6000])
def test_intervals_do_not_hold_if_estimates_are_filtered(least: int) -> None:
    with pytest.raises(AssertionError, match=r"hold in|above the truth"):
        check_held(filter_estimates(least))


def test_one_count_decides_who_is_shown() -> None:
    decided = decide_all()
    shown = decided.require(Fraction(3, 100))
    plain = (shown.counts / N - M.law.q) / M.law.gain
    assert np.array_equal(shown.shown, plain >= 0.03)
    assert shown.threshold == shown.counts[shown.shown].min() > decided.threshold
    assert shown.hidden == shown.threshold - decided.threshold
    assert decided.require(Fraction(1, 1000)).threshold == decided.threshold
    assert not decided.require(Fraction(2)).shown.any()


def test_limits_know_how_many_people_are_needed() -> None:
    found = Discovery.of(decide_all(), str, people=PEOPLE, limit=0.02, least=6000)
    assert found.limit == 0.06
    assert "Values with a share of 6 % are found about half of the time." in found.sentences
