"""The simulated day of docs/scale.md: nobody is lost, and too few collectors are noticed."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from deniable.client import delivery

sys.path.append(str(Path(__file__).parents[2] / "bench"))

import queueing

SETTING = queueing.Setting(4, 1000, 10_000, people=6_000_000, seconds=3600, lost=(3000, 3150))
"""An hour in place of a day: 3,380 people come in a second at the peak, when a collector is lost."""


@pytest.fixture(scope="module")
def days() -> dict[int, queueing.Day]:
    return queueing.try_collectors(SETTING, seed=1)


def test_everybody_is_counted_or_waits_at_all_times(days: dict[int, queueing.Day]) -> None:
    assert len(days) > 1
    for day in days.values():
        assert day.arrived[-1] == SETTING.people
        assert np.array_equal(day.arrived, day.counted + day.waiting)
        assert day.waits.sum() == day.counted[-1]


def test_one_collector_fewer_makes_the_queue_grow(days: dict[int, queueing.Day]) -> None:
    *_, few, enough = sorted(days)
    assert days[few].percentile(0.99) > 0
    assert days[enough].percentile(0.99) == 0
    during = slice(SETTING.lost[0] // 60, SETTING.lost[1] // 60)
    assert (np.diff(days[few].waiting[during]) > 0).all()
    assert days[few].waiting.max() > 20 * days[enough].most.max()
    assert days[few].oldest.max() > days[enough].oldest.max()


@pytest.mark.long
def test_a_store_that_is_too_slow_makes_everybody_wait(days: dict[int, queueing.Day]) -> None:
    slow = queueing.simulate_day(replace(SETTING, collectors=max(days), store=1500), seed=1)
    assert slow.waiting[-1] > SETTING.people - 1500 * SETTING.seconds - 1
    assert slow.percentile(0.99) > SETTING.seconds


def test_people_whom_nobody_answered_try_again(days: dict[int, queueing.Day]) -> None:
    """Even with enough collectors: about a share of those who come before the balancer notices."""
    day = days[max(days)]
    came = SETTING.notice * queueing.draw_arrivals(SETTING, np.random.default_rng(1)).max()
    again = day.waits[1:].sum()
    assert 0.7 * came / max(days) < again < 1.3 * came / max(days)


def test_pauses_are_those_of_the_client() -> None:
    assert queueing.LONGEST_PAUSE == delivery._PATIENCE
    random = np.random.default_rng(1)
    for tries, pause in ((0, 1), (6, 6.4), (9, 51.2), (30, 60.0)):
        refused = queueing.Groups(np.zeros(500, int), np.full(500, tries), np.ones(500, int))
        found = [when for when, group in queueing.pause_groups(refused, 0, random) for _ in group.people]
        assert len(found) == 500
        assert max(1, pause / 2) <= min(found) <= max(found) <= np.ceil(1.5 * pause)
        assert max(found) > pause * 1.3 or tries == 0
