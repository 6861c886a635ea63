"""Comparisons of days, their errors, and the rate of false alarms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date, timedelta
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

import deniable as dn
from deniable.arrays import Floats
from deniable.rounds import Memoized, l_grr, l_osue
from deniable.series import Alarm, Rule
from deniable.series.lines import Chances, Line
from deniable.series.rule import BURST, correct_skewness, find_alarms, find_bursts, join_mirrored
from deniable.series.spans import SPANS, Days
from tests.statistics import (
    ALPHA,
    FOUND,
    FOUND_HISTORIES,
    QUIET_DAYS,
    QUIET_HISTORIES,
    QUIET_LINES,
    QUIET_LONG,
    QUIET_RATE,
    at_least,
)

KEPT, FRESH = l_grr(2, 1.0, 2.0), dn.grr(2, 1.0)
_RATES = (KEPT.law.p, KEPT.law.q), (KEPT.permanent.law.p, KEPT.permanent.law.q)


def as_days(n: Floats) -> Days:
    return Days(n, np.ones(len(n), dtype=bool), np.zeros(len(n), dtype=np.int64))


@lru_cache(maxsize=2)
def shared_days(n: tuple[float, ...]) -> Days:
    """The same for many histories, whose weights are then found once."""
    return as_days(np.array(n))


def as_line(counts: npt.NDArray[Any], n: Floats, chances: Chances) -> Line:
    shares = (counts / n - chances.q) / (chances.p - chances.q)
    return Line("crash", "yes", "value", shares, n, chances)


def draw_fresh(rng: np.random.Generator, n: Floats, share: Floats) -> Line:
    """Other people every day."""
    p, q = _RATES[0]
    return as_line(rng.binomial(n.astype(np.int64), q + (p - q) * share), n, Chances(p, q))


def draw_kept(rng: np.random.Generator, n: Floats, share: Floats) -> Line:
    """The same people, one in twenty of whom is another one every day; all keep an answer for each value."""
    (p, q), (p1, q1) = _RATES
    assert isinstance(KEPT, Memoized)
    second, people, counts = KEPT.second.law, int(n[0]), np.zeros(len(n))
    joined = people // 20

    def keep(have: int, lack: int) -> npt.NDArray[np.int64]:
        """People by value and kept answer: yes and yes, yes and no, no and yes, no and no."""
        yes, no = rng.binomial(have, p1), rng.binomial(lack, q1)
        return np.array([yes, have - yes, no, lack - no])

    have = rng.binomial(people, share[0])
    groups = keep(have, people - have)
    for t in range(len(n)):
        groups -= rng.multivariate_hypergeometric(groups, joined)
        have = rng.binomial(joined, share[t])
        groups += keep(have, joined - have)
        if t and share[t] > share[t - 1]:  # what moves, moves for those who are there, too
            moved = rng.binomial(groups[2:], (share[t] - share[t - 1]) / (1 - share[t - 1]))
            groups[2:] -= moved
            groups += keep(int(moved.sum()), 0)
        kept = int(groups[0] + groups[2])
        counts[t] = rng.binomial(kept, second.p) + rng.binomial(people - kept, second.q)
    return as_line(counts, n, Chances(p, q, (p1, q1), is_kept=True))


def draw_varying(rng: np.random.Generator, n: Floats, share: Floats) -> Line:
    """Days vary by two standard errors more than noise."""
    p, q = _RATES[0]
    error = np.sqrt(Chances(p, q).moments(share).fresh / n)
    return draw_fresh(rng, n, np.clip(share + 2 * error * rng.standard_normal(len(n)), 0.0, 1.0))


def list_alarms(line: Line, rule: Rule, lines: int = 1, bursts: Floats | None = None) -> list[Alarm]:
    return list(raise_alarms(line, rule, lines, bursts))


def raise_alarms(line: Line, rule: Rule, lines: int = 1, bursts: Floats | None = None) -> Iterator[Alarm]:
    dates = [date(2026, 1, 1) + timedelta(days=t) for t in range(len(line.n))]
    days = shared_days(tuple(line.n))
    if bursts is None:
        return find_alarms(line, days, dates, np.ones(len(dates)), rule, lines)
    return find_alarms(line, replace(days, quiet=bursts <= BURST), dates, bursts, rule, lines)


def forget_kept(line: Line) -> Line:
    """The same counts, as if nobody kept anything: a planted fault."""
    assert line.chances is not None
    return Line("crash", "yes", "value", line.numbers, line.n, Chances(line.chances.p, line.chances.q))


def test_weights_and_errors_are_those_of_the_specification() -> None:
    comparisons = as_days(np.ones(100)).comparisons
    squares = [1.125, 0.5625, 0.28125, 0.160714, 0.089286]
    assert [c.squares[90] for c in comparisons] == pytest.approx(squares, abs=1e-6)
    overlaps = [1.34375, 1.34375, 1.34375, 1.320153, 1.191964]
    assert [c.kept[90] for c in comparisons] == pytest.approx(overlaps, abs=1e-6)
    days = np.where(np.arange(100) >= 75, 0.10, 0.05)
    for kept, expected in (
        (0.0, [2.3570, 3.3333, 4.7140, 3.5635, 2.3905]),
        (1e-4, [2.0684, 2.6375, 3.1822, 2.0393, 1.1478]),
    ):
        z = [c.add(days)[78] / np.sqrt(4e-4 * c.fresh[78] + kept * c.kept[78]) for c in comparisons]
        assert z == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize(
    ("spread", "expected"), [(False, "3.7190 4.1075 4.4172"), (True, "4.0205 4.5141 4.9250")]
)
def test_limits_are_those_of_a_union_bound(spread: bool, expected: str) -> None:
    limits = [Rule(spread=spread).find_limits(lines, np.full(1, 49.0))[0] for lines in (1, 5, 20)]
    assert limits == pytest.approx([float(limit) for limit in expected.split()], abs=5e-5)


@pytest.mark.parametrize(
    ("mechanism", "noise", "kept"),
    [
        (l_grr(2, 1.0, 2.0), 0.920674, 0.181015),
        (l_grr(5, 1.8, 2.0), 0.473723, 0.348419),
        (l_osue(10, 1.0, 3.0), 3.782694, 0.320564),
    ],
)
def test_what_people_keep_is_told_from_what_is_drawn(mechanism: Memoized, noise: float, kept: float) -> None:
    k, first = mechanism.k, mechanism.permanent.law
    chances = Chances(mechanism.law.p, mechanism.law.q, (first.p, first.q), is_kept=True)
    moments = chances.moments(np.array([1 / k]))
    drawn = (1 - 1 / k) / k
    assert moments.kept[0] == pytest.approx(kept + drawn, abs=2e-6)
    assert moments.fresh[0] == pytest.approx(noise - kept, abs=2e-6)


def test_kept_noise_counts_by_how_many_people_two_days_can_share() -> None:
    alike = as_days(np.full(100, 50.0)).comparisons
    uneven = as_days(np.where(np.arange(100) % 7 < 5, 50.0, 10.0)).comparisons
    for even, other in zip(alike, uneven, strict=True):
        assert even.kept[90] == pytest.approx(as_days(np.ones(100)).comparisons[0].kept[90] / 50, rel=0.2)
        assert even.kept[90] < other.kept[90] < 5 * even.kept[90]


@pytest.mark.parametrize(
    ("draw", "spread", "is_fault"),
    [
        (draw_fresh, False, False),
        (draw_kept, False, False),
        (draw_varying, True, False),
        (draw_kept, False, True),
        (draw_varying, False, True),
    ],
)
def test_quiet_days_raise_no_more_alarms_than_stated(
    draw: Callable[..., Line], spread: bool, is_fault: bool
) -> None:
    rng, rule = np.random.default_rng(11), Rule((QUIET_DAYS - 35) / QUIET_RATE, spread, 0.0)
    n, share = np.full(QUIET_DAYS, 5000.0), np.full(QUIET_DAYS, 0.05)
    histories = QUIET_HISTORIES // 3 if is_fault else QUIET_HISTORIES
    quiet = 0
    for _ in range(histories):
        line = draw(rng, n, share)
        quiet += next(raise_alarms(forget_kept(line) if is_fault else line, rule), None) is None
    if is_fault:
        assert stats.binom.cdf(quiet, histories, 1 - QUIET_RATE) < ALPHA
    else:
        at_least(quiet, histories, 1 - QUIET_RATE, "histories without a false alarm")


@pytest.mark.long
@pytest.mark.parametrize("draw", [draw_fresh, draw_kept])
@pytest.mark.parametrize("spread", [False, True])
def test_ten_thousand_quiet_days_have_ten_alarms_at_most(draw: Callable[..., Line], spread: bool) -> None:
    rng, n = np.random.default_rng(5), np.full(QUIET_LONG, 5000.0)
    rule = Rule(1000, spread, 0.0)
    alarms = [
        alarm
        for _ in range(QUIET_LINES)
        for alarm in list_alarms(draw(rng, n, np.full(QUIET_LONG, 0.05)), rule, QUIET_LINES)
    ]
    quiet = QUIET_LONG - len({alarm.day for alarm in alarms})
    at_least(quiet, QUIET_LONG, 0.999, "quiet days without an alarm")


@pytest.mark.parametrize(("draw", "people"), [(draw_fresh, 2288), (draw_kept, 5000)])
def test_a_doubled_crash_rate_is_found_within_a_week(draw: Callable[..., Line], people: int) -> None:
    rng, n = np.random.default_rng(3), np.full(87, float(people))
    share = np.where(np.arange(87) >= 80, 0.10, 0.05)
    found = 0
    for _ in range(FOUND_HISTORIES):
        alarms = list_alarms(draw(rng, n, share), Rule(1000, spread=False))
        found += any(alarm.day >= date(2026, 1, 1) + timedelta(days=80) for alarm in alarms)
    at_least(found, FOUND_HISTORIES, FOUND, "doubled rates found within a week")


def test_a_burst_is_named_and_left_out_of_all_other_days() -> None:
    rng, n = np.random.default_rng(8), np.full(150, 5000.0)
    n[80] = 20_000
    share = np.full(150, 0.05)
    share[80] = 0.5
    bursts = find_bursts(n)
    assert np.flatnonzero(bursts > 3).tolist() == [80]
    line = draw_fresh(rng, n, share)
    [alarm] = list_alarms(line, Rule(spread=False), bursts=bursts)
    assert (alarm.day, alarm.span, alarm.burst) == (date(2026, 3, 22), 1, 4.0)
    assert "the day has 4.0 times the usual reports" in str(alarm)


def test_reports_that_grow_for_good_are_soon_the_usual_ones() -> None:
    """A rollout to four times the devices, ten days before crashes double twice over."""
    rng, n = np.random.default_rng(8), np.where(np.arange(170) < 100, 5000.0, 20_000.0)
    bursts = find_bursts(n)
    assert np.flatnonzero(bursts > BURST).tolist() == list(range(100, 107))
    for moved in (103, 110):
        line = draw_fresh(rng, n, np.where(np.arange(170) < moved, 0.05, 0.15))
        days = [(alarm.day - date(2026, 1, 1)).days for alarm in list_alarms(line, Rule(), bursts=bursts)]
        assert days[0] in {moved, moved + 1}
        assert len(days) <= 2, "one of days with a burst, and one of others"
    doubling = 200 * 2 ** (np.arange(110) / 12)
    assert not (find_bursts(doubling) > BURST).any()


def test_after_an_alarm_a_baseline_begins_anew() -> None:
    rng, n = np.random.default_rng(8), np.full(300, 20_000.0)
    share = np.where(np.arange(300) < 100, 0.05, np.where(np.arange(300) < 200, 0.10, 0.20))
    for spread in (False, True):
        alarms = list_alarms(draw_fresh(rng, n, share), Rule(spread=spread))
        assert [int((alarm.day - date(2026, 1, 1)).days) // 10 for alarm in alarms] == [10, 20]
        assert alarms[1].before == pytest.approx(0.10, abs=0.02)


@pytest.mark.parametrize("spread", [False, True])
def test_a_day_that_raised_an_alarm_is_in_no_later_baseline_and_spread(spread: bool) -> None:
    rng, n = np.random.default_rng(8), np.full(200, 20_000.0)
    share = np.where(np.arange(200) < 150, 0.05, 0.10)
    share[100] = 0.5
    alarms = list_alarms(draw_fresh(rng, n, share), Rule(spread=spread))
    assert [(alarm.day - date(2026, 1, 1)).days for alarm in alarms] == [100, pytest.approx(151, abs=1)]


def test_a_small_change_of_many_devices_is_no_alarm() -> None:
    rng, n = np.random.default_rng(8), np.full(100, 5e6)
    share = np.where(np.arange(100) >= 80, 0.053, 0.05)
    line = draw_fresh(rng, n, share)
    assert not list_alarms(line, Rule(spread=False))
    assert list_alarms(line, Rule(spread=False, least=0.05))


def find_tails(n: int, share: float, correct: Callable[[Floats, Floats], Floats]) -> float:
    """How likely a day is an alarm, over all counts of it and of its baseline, in parts of what is stated."""
    q, p = 0.0025, 0.9975
    supported, limit = q + (p - q) * share, float(stats.norm.isf(1 / (1000 * 10 * 20)))
    day, baseline = np.arange(int(3 * n * supported) + 40), np.arange(int(16 * n * supported) + 40)
    counts = baseline[:, np.newaxis] / (8 * n)
    moments = Chances(p, q).moments(np.clip((counts - q) / (p - q), 0.0, 1.0))
    variance = moments.fresh / n * 1.125
    plain = (day / n - counts) / (p - q) / np.sqrt(variance)
    third = moments.skewness / n**2 * as_days(np.ones(100)).comparisons[0].cubes[90] / variance**1.5
    chances = stats.binom.pmf(baseline, 8 * n, supported)[:, np.newaxis] * stats.binom.pmf(day, n, supported)
    alarming = np.abs(correct(plain, third)) > limit
    return float((chances * alarming).sum() / (2 * stats.norm.sf(limit)))


@pytest.mark.parametrize(
    ("n", "share"),
    [
        (20, 0.0),
        (40, 0.0),
        (80, 0.001),
        (200, 0.0),
        (200, 0.004),
        (500, 0.004),
        (2000, 0.004),
        (20_000, 0.001),
    ],
)
def test_tails_of_rare_answers_are_the_stated_ones(n: int, share: float) -> None:
    """Exact, up and down, from .05 expected reports of an answer a day on; the first are planted faults."""
    assert find_tails(n, share, lambda z, _: z) > 2
    if n <= 80:
        assert find_tails(n, share, lambda z, skewness: z - skewness * (z**2 - 1) / 6) > 10
    assert find_tails(n, share, correct_skewness) < 1


@pytest.mark.parametrize("skewness", [-20.0, -2.0, -0.1, 0.0, 0.1, 2.0, 20.0])
def test_a_larger_change_is_a_larger_one_however_skewed(skewness: float) -> None:
    z = np.linspace(-30.0, 30.0, 601)
    corrected = correct_skewness(z, np.full(601, skewness))
    assert (np.diff(corrected) >= 0).all()
    assert corrected[0] < corrected[-1]
    near = correct_skewness(z[295:306], np.full(11, 1e-3 * skewness))
    assert near == pytest.approx(z[295:306], abs=1e-2)


def test_the_fall_of_one_answer_is_the_rise_of_others() -> None:
    """Other alarms are of another question or of the same direction, or no day of theirs is the same."""
    first = date(2026, 4, 11)

    def alarm(value: str, now: float, z: float, day: int = 0, span: int = 1, name: str = "crash") -> Alarm:
        return Alarm(first + timedelta(days=day), name, value, "value", span, 0.3, now, z, 4.0)

    rose, fell, late = alarm("app", 0.6, 9.0), alarm("no", 0.1, -7.0), alarm("web", 0.2, -5.0, 2, 4)
    others = [alarm("tv", 0.2, -5.0, 2, 2), alarm("gpu", 0.4, 6.0, 1), alarm("ios", 0.1, -6.0, 0, 1, "os")]
    changes = join_mirrored([fell, *others, late, rose])
    assert [(change.value, [other.value for other in change.mirrored]) for change in changes] == [
        ("app", ["no", "web"]),
        ("ios", []),
        ("gpu", ["tv"]),
    ]
    balanced = [rose, alarm("no", 0.05, -8.0), alarm("gpu", 0.4, 6.0, 1, 2)]
    assert [change.value for change in join_mirrored(balanced)] == ["app", "gpu"]
    text = "app rose from 30 % to 60 %; no fell from 30 % to 10 %; on 2026-04-13 web fell from 30 %"
    assert text in str(changes[0])
    assert [mirrored["value"] for mirrored in changes[0].about()["mirrored"]] == ["no", "web"]


def test_days_without_reports_are_not_compared() -> None:
    rng, n = np.random.default_rng(8), np.full(120, 20_000.0)
    share = np.where(np.arange(120) >= 90, 0.10, 0.05)
    line = draw_fresh(rng, n, share)
    gaps = np.isin(np.arange(120), [50, 51, 60, 88, 90])
    numbers, n = np.where(gaps, np.nan, line.numbers), np.where(gaps, 0.0, n)
    [alarm] = list_alarms(Line("crash", "yes", "value", numbers, n, line.chances), Rule())
    assert alarm.day in {date(2026, 1, 1) + timedelta(days=t) for t in (91, 92)}
    assert alarm.before == pytest.approx(0.05, abs=0.01)
    assert alarm.span in SPANS
