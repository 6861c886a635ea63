"""Errors of discovery: values that nobody has, and intervals of what is shown, each beside planted faults."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.arrays import Array, Floats, Integers
from deniable.discovery import (
    EVERY,
    HELD_OUT,
    Decision,
    Discovery,
    cut_levels,
    decide,
    discover,
    divide_people,
    find_survivors,
    find_threshold,
    state_shown,
)
from deniable.randomness.simulated import numbers_from
from tests import statistics
from tests.cases import by_night

Sent = list[tuple[dn.mechanisms.Linear, Array]]
Decide = Callable[[Sent], Decision]

BITS = 16
"""So few that everybody reports whole codes, and all of them are counted."""


def draw_codes(n: int, generator: np.random.Generator) -> Integers:
    """As many different codes as there are people, or nearly: no code is common."""
    return generator.permutation(np.unique(generator.integers(0, 1 << BITS, n)))


def send_reports(
    codes: Integers, shares: Floats, n: int, generator: np.random.Generator
) -> tuple[Integers, Sent]:
    """The codes that some of n people have, and the reports of the levels and of the final group."""
    cuts = (*cut_levels(BITS), BITS)
    weights = divide_people(cuts, EVERY)
    owned, sent = np.zeros(len(codes), dtype=np.int64), Sent()
    for cut, size in zip(cuts, generator.multinomial(n, np.array(weights) / sum(weights)), strict=True):
        level, counts = dn.mechanisms.linear(cut, 2.0), generator.multinomial(size, shares)
        owned += counts
        prefixes = np.repeat(codes, counts) >> (BITS - cut)
        sent.append((level, level.privatize(prefixes, dn.seeded(int(generator.integers(1 << 62))))))
    return codes[owned > 0], sent


def search(sent: Sent) -> Decision:
    return discover(sent[:-1], sent[-1])


def search_by_survivors(sent: Sent) -> Decision:
    """The planted fault: the reports that chose the candidates decide, and only survivors are counted."""
    level, reports = sent[-1]
    kept = find_survivors((level, reports), np.zeros(1, dtype=np.int64), BITS, HELD_OUT)
    return decide(level, reports, kept.codes)


def check_invented(choose: Decide, studies: int) -> None:
    """How many studies without a common code show one that nobody has."""
    honest = 0
    for study in range(studies):
        generator = numbers_from(study, "invented")
        codes = draw_codes(statistics.INVENTED_PEOPLE, generator)
        shares = np.full(codes.size, 1 / codes.size)
        owned, sent = send_reports(codes, shares, statistics.INVENTED_PEOPLE, generator)
        decided = choose(sent)
        honest += bool(np.isin(decided.codes[decided.shown], owned).all())
    what = "studies without an invented value"
    statistics.at_least(honest, studies, 0.95, what)


INVENTED = [statistics.INVENTED_STUDIES, statistics.INVENTED_BY_NIGHT]


@by_night("studies", INVENTED, INVENTED[1])
def test_values_that_nobody_has_are_rarely_shown(studies: int) -> None:
    check_invented(search, studies)


def test_values_are_invented_if_those_who_chose_them_decide() -> None:
    with pytest.raises(AssertionError, match="studies without an invented value"):
        check_invented(search_by_survivors, statistics.FAULTY_STUDIES)


def check_searches(choose: Decide, studies: int) -> None:
    """How many intervals of codes near the limit hold, of those that are shown."""
    held = shown = 0
    for study in range(studies):
        generator = numbers_from(study, "searched")
        codes = draw_codes(3000, generator)
        shares = np.full(codes.size, 0.632 / (codes.size - 8))
        shares[:8] = 0.046
        _, sent = send_reports(codes, shares, statistics.SEARCHED_PEOPLE, generator)
        decided = choose(sent)
        _, low, high = decided.conditional
        shares_shown = dict(zip(codes.tolist(), shares.tolist(), strict=True))
        truth = np.array([shares_shown.get(code, 0.0) for code in decided.codes[decided.shown].tolist()])
        held += int(((low <= truth) & (truth <= high)).sum())
        shown += truth.size
    assert shown > 3 * studies
    statistics.at_least(held, shown, statistics.SEARCHED_HELD, "conditional intervals that hold")


@pytest.mark.long
def test_intervals_of_whole_searches_hold() -> None:
    check_searches(search, statistics.SEARCHED_STUDIES)


@pytest.mark.long
def test_intervals_of_survivors_do_not_hold() -> None:
    with pytest.raises(AssertionError, match="conditional intervals that hold"):
        check_searches(search_by_survivors, statistics.FAULTY_STUDIES)


def draw_shown(times: float, number: int) -> tuple[dn.mechanisms.Linear, float, int, int, Floats]:
    """Counts that reach the threshold, of a code whose share is so many standard deviations."""
    m, n = dn.mechanisms.linear(50, 2.0), 16_000
    share = times * float(m.law.variance(n)) ** 0.5
    threshold = find_threshold(m, n, 0.05 / 40)
    generator = np.random.default_rng(number)
    chance = m.law.q + share * m.law.gain
    tails = stats.binom.sf(threshold - 1, n, chance) * (1 - generator.random(statistics.SHOWN_COUNTS))
    counts = stats.binom.isf(tails, n, chance)
    return m, share, n, threshold, counts


@pytest.mark.parametrize("times", [0.0, 1.5, 3.0, 4.5])
def test_conditional_intervals_hold(times: float) -> None:
    m, share, n, threshold, counts = draw_shown(times, 1)
    value, low, high = state_shown(m, counts, n, threshold)
    least, most = statistics.SHOWN_HELD
    assert least <= ((low <= share) & (share <= high)).mean() <= most
    if times > 0:
        assert (value > share).mean() == pytest.approx(0.5, abs=0.05)
    plain = (counts / n - m.law.q) / m.law.gain
    assert plain.mean() > share, "the planted fault: a plain share is too large"


def test_plain_intervals_do_not_hold() -> None:
    m, share, n, _, counts = draw_shown(1.5, 2)
    _, low, high = state_shown(m, counts, n, 0)
    assert ((low <= share) & (share <= high)).mean() < 0.7


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


@pytest.mark.long
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
