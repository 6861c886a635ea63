"""The change of answers with fresh noise in every round, beside answers that are kept."""

from __future__ import annotations

import numpy as np
import pytest

import deniable as dn
from deniable.records import Split
from deniable.rounds import l_grr
from deniable.study import Plan, Result
from tests.statistics import at_least

STUDIES, PEOPLE = 300, 300
"""Pairs of rounds: 95 % may then read as 88 %, and 83 % is found out, as if half of the noise were kept."""
PLAN = Plan.of(
    {"os": ["a", "b"], "crash": ["yes", "no"]},
    Split((l_grr(2, 1.0, 2.0), dn.grr(2, 1.0))),
    people=PEOPLE,
    rounds=2,
)


def two_rounds(seed: int) -> tuple[Result, Result, float]:
    """Both results, and the true change of crashes, of people of whom every other one answers otherwise."""
    crash = np.random.default_rng(seed).integers(0, 2, PEOPLE)
    later = np.where(np.arange(PEOPLE) % 2 == 0, 1 - crash, crash)
    words = dn.remembering(seed, fresh=dn.seeded(seed + STUDIES))
    results = [
        PLAN.estimate(PLAN.tally(PLAN.privatize_codes(np.stack([np.zeros(PEOPLE, dtype=int), codes]), words)))
        for codes in (crash, later)
    ]
    return results[0], results[1], float((later == 0).mean() - (crash == 0).mean())


@pytest.mark.long
def test_intervals_of_a_fresh_change_hold_as_often_as_is_said() -> None:
    held = narrow = 0
    for seed in range(STUDIES):
        before, after, truth = two_rounds(seed)
        change = after.change(before, people="same")["crash"]
        off = abs(change.difference[0] - truth)
        held += bool(change.low[0] <= truth <= change.high[0])
        narrow += bool(off <= (change.high[0] - change.low[0]) / 2 / 2**0.5)  # as if half were kept
    at_least(held, STUDIES, 0.95, "fresh noise")
    assert held < STUDIES  # intervals that are too wide hold always
    with pytest.raises(AssertionError, match="were promised"):
        at_least(narrow, STUDIES, 0.95, "noise that is taken for kept")


def test_fresh_noise_of_two_rounds_has_nothing_in_common() -> None:
    before, after, _ = two_rounds(1)
    noise = [result["crash"].standard_errors("fixed") for result in (before, after)]
    np.testing.assert_allclose(after.change(before, people="same")["crash"].stderr, np.hypot(*noise))
    [people] = PLAN.with_linked().people_for_change("crash", 0.05)
    assert people.linked is not None
    assert people.same is not None
    assert people.linked >= people.same  # nothing that is kept cancels
