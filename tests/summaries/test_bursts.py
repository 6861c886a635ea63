"""Checks that bursts of fakes are noticed, and that honest waves are not."""

from __future__ import annotations

import math

import numpy as np
import pytest

import deniable as dn
from deniable.arrays import Floats
from deniable.mechanisms import Tally
from deniable.summaries import health
from deniable.summaries.health import Check, check_burst, check_minutes
from tests import statistics
from tests.cases import by_night
from tests.statistics import BURST_STUDIES, HEALTHY_TAIL, NOTICED, NOTICED_STUDIES

MINUTES, PEOPLE, TAIL = 240, 4000, 1e-6
K = 20


def wave(peak: float, decay: float) -> Floats:
    """The rates of people who come by themselves, and of those who follow an e-mail, by minutes."""
    after = np.maximum(np.arange(MINUTES) - 100.0, 0.0)
    return 0.5 + np.where(np.arange(MINUTES) < 100, 0.0, peak * np.exp(-after / decay))


RATES = {
    "few": np.full(MINUTES, 0.2),
    "many": np.full(MINUTES, 50.0),
    "hours": 10 + 10 * np.sin(np.arange(MINUTES) / 40),
    "a quick wave": wave(1000, 2.5),
    "a wave": wave(50, 10),
    "a slow wave": wave(200, 60),
    "a wave at the start": wave(1000, 2.5)[100:],
    "a wave that has begun": wave(1000, 2.5)[:102],
}


def counts(rates: Floats, seed: int, spread: float = 1.0) -> list[int]:
    """Poisson numbers, or with a variance of so many means."""
    generator = np.random.default_rng(seed)
    if spread > 1:
        rates = generator.gamma(rates / (spread - 1), spread - 1)
    return [int(one) for one in generator.poisson(rates)]


def minute(came: list[int], tail: float = TAIL) -> Check:
    found = check_minutes(came, PEOPLE, tail)
    assert found is not None
    return found


@by_night("spread", [1.0, 4.0], 4.0)
@pytest.mark.parametrize("name", RATES)
def test_honest_minutes_raise_no_alarm(name: str, spread: float) -> None:
    found = [minute(counts(RATES[name], seed, spread)).p_value for seed in range(BURST_STUDIES)]
    passed = sum(one >= HEALTHY_TAIL for one in found)
    statistics.at_least(passed, BURST_STUDIES, 1 - HEALTHY_TAIL, f"{name}, {spread:g} times as wide")


def test_waves_are_allowed_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the allowance, every quick wave would be an alarm; and a wave that decays at once is one."""
    assert minute(counts(wave(1000, 0.8), 1)).p_value < TAIL
    monkeypatch.setattr(health, "TIMES", 1.0)
    assert minute(counts(RATES["a quick wave"], 1)).p_value < TAIL


def test_counts_that_scatter_are_allowed_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts with 20 times the variance of Poisson numbers, as those."""
    monkeypatch.setattr(health, "_overdispersion", lambda _: 1.0)
    assert minute(counts(RATES["a slow wave"], 1, 20.0)).p_value < HEALTHY_TAIL


@pytest.mark.parametrize("name", RATES)
def test_the_stated_burst_is_noticed(name: str) -> None:
    alarms = 0
    for seed in range(NOTICED_STUDIES):
        came = counts(RATES[name], seed)
        came[20 + seed * (len(came) - 40) // NOTICED_STUDIES] += math.ceil(minute(came).noticed * PEOPLE)
        alarms += minute(came).p_value < TAIL
    statistics.at_least(alarms, NOTICED_STUDIES, NOTICED, f"bursts among {name}")


def test_a_burst_is_described() -> None:
    came = [2] * 40 + [90] + [4] * 20
    assert minute(came).saw == (
        "90 reports came in one minute, 21 minutes ago; in the five minutes before there were 2 a minute, "
        "and in the five minutes after 4"
    )


@pytest.mark.parametrize("minutes_ago", [58, 56, 40, 5, 3, 2])
def test_bursts_are_seen_near_the_start_and_the_end(minutes_ago: int) -> None:
    came = counts(np.full(60, 5.0), 1)
    assert minute(came).p_value > HEALTHY_TAIL
    came[-minutes_ago] += 200
    found = minute(came)
    assert found.p_value < TAIL
    assert f" {minutes_ago} minutes ago; in the " in found.saw


def test_bursts_that_are_never_seen() -> None:
    """The blind spots that the documents state: just after a start, just now, all the time, and in a row."""
    quiet = counts(np.full(60, 5.0), 1)
    for minutes_ago in (60, 59, 1):
        came = list(quiet)
        came[-minutes_ago] += 200
        assert minute(came).p_value > HEALTHY_TAIL
    often = [one + 200 * (j % 4 == 0) for j, one in enumerate(quiet)]
    in_a_row = [one + 200 * (30 <= j < 34) for j, one in enumerate(quiet)]
    assert minute(often).p_value > HEALTHY_TAIL
    assert minute(in_a_row).p_value > HEALTHY_TAIL


def test_short_times_say_nothing() -> None:
    assert check_minutes([3] * (health.LEAST - 1), PEOPLE, TAIL) is None
    assert minute([0] * health.LEAST).p_value == 1


def tallies(
    seed: int, drawn: int, fakes: int = 0, protocol: str = "oue", other: bool = False
) -> tuple[Tally, Tally, dn.Estimate]:
    """The reports of one minute and all others; fakes all support the first value."""
    generator = np.random.default_rng(seed)
    m = dn.PROTOCOLS[protocol].make(K, 1.0)
    people = generator.choice(K, PEOPLE, p=generator.dirichlet(np.full(K, 0.5)))
    if other:
        people[:drawn] = 0
    counted = m.tally(m.privatize(people[fakes:drawn], dn.seeded(seed)))
    made_up = generator.random((fakes, K)) < float(np.mean(m.law.q))
    made_up[:, 0] = True
    burst = Tally(drawn, counted.counts + made_up.sum(axis=0))
    others = m.tally(m.privatize(people[drawn:], dn.seeded(seed + 1)))
    return burst, others, m.estimate(burst + others)


def burst_check(made: tuple[Tally, Tally, dn.Estimate]) -> Check:
    found = check_burst("town", *made, TAIL)
    assert found is not None
    return found


@by_night("protocol", ["grr", "oue", "ss", "olh", "hr"], "oue", "olh", "hr")
def test_people_of_one_minute_are_like_others(protocol: str) -> None:
    found = [burst_check(tallies(seed, 150, protocol=protocol)).p_value for seed in range(BURST_STUDIES)]
    passed = sum(one >= HEALTHY_TAIL for one in found)
    statistics.at_least(passed, BURST_STUDIES, 1 - HEALTHY_TAIL, f"minutes by {protocol}")


def test_people_who_are_not_like_others_are_seen() -> None:
    """The assumption matters: all of this minute have one value, and none of them is a fake."""
    assert burst_check(tallies(1, 1000, protocol="grr", other=True)).p_value < TAIL


def test_the_stated_share_of_fakes_in_a_burst_is_noticed() -> None:
    drawn, alarms = 300, 0
    for seed in range(NOTICED_STUDIES):
        said = burst_check(tallies(seed, drawn))
        fakes = math.ceil(said.noticed * PEOPLE)
        assert fakes < drawn
        alarms += burst_check(tallies(seed, drawn, fakes)).p_value < TAIL
    statistics.at_least(alarms, NOTICED_STUDIES, NOTICED, "fakes in a burst")
    saw = burst_check(tallies(1, drawn, 200)).saw
    assert "of the 300 reports of the busiest minute support value 0" in saw


def test_the_p_value_is_exact_for_few_reports() -> None:
    """One of two reports supports a value, and so do none of six others: one pair in four has it."""
    m = dn.grr(2, 1.0)
    made = Tally(2, np.array([1, 1])), Tally(6, np.array([0, 6]))
    assert burst_check((*made, m.estimate(made[0] + made[1]))).p_value == pytest.approx(2 * 2 * 0.25)
