"""Attacks on plans with text: the other questions are attacked, and the page says what is left out."""

from __future__ import annotations

import numpy as np
import pytest

import deniable as dn
from deniable import attack
from deniable.records import Sample, Split
from deniable.study import Plan

WORD = dn.Text("a-z", longest=5)
ASKED = {"color": ["red", "green", "blue"], "smokes": ["yes", "no"]}
COLOR, SMOKES, HASH = dn.grr(3, 1.0), dn.rr(1.0), dn.mechanisms.linear(25, 1.0)
CASES = {
    "split": (Split((COLOR, HASH, SMOKES)), Split((COLOR, SMOKES))),
    "sample": (Sample((COLOR, HASH, SMOKES)), Sample((COLOR, SMOKES))),
    "weights": (Sample((COLOR, HASH, SMOKES), weights=(2, 4, 1)), Sample((COLOR, SMOKES), weights=(2, 1))),
    "nested": (Split((COLOR, Sample((HASH, SMOKES)))), Split((COLOR, SMOKES))),
}
PEOPLE = {"color": ["red", "blue"] * 20, "word": ["cat"] * 40, "smokes": ["yes", "no", "no", "no"] * 10}


@pytest.mark.parametrize("name", CASES)
def test_figures_are_those_of_the_plan_without_text(name: str) -> None:
    """Also with people, whose text is not looked at."""
    mixed, alone = CASES[name]
    plan = Plan.of({"color": ASKED["color"], "word": WORD, "smokes": ASKED["smokes"]}, mixed, 100)
    without = Plan.of(ASKED, alone, 100)
    assert attack.examine(plan).ignorant == attack.examine(without).ignorant
    found = attack.examine(plan, PEOPLE, collections=2, users=40)
    other = attack.examine(without, {name: PEOPLE[name] for name in ASKED}, collections=2, users=40)
    assert (found.informed, found.found, found.plan) == (other.informed, other.found, plan.id)
    assert found.left_out == ("word",)
    assert "Left out: word, with too many values to guess among" in str(found)
    assert "Left out" not in str(other)
    codes = plan.encode(PEOPLE)
    assert attack.examine(plan, np.asarray(codes), collections=2, users=40).found == found.found


def test_text_alone_and_text_drawn_with_others_are_refused() -> None:
    with pytest.raises(dn.InvalidParameter, match="the plan asks for nothing else"):
        attack.examine(Plan.of({"word": WORD}, HASH, 100))
    both = Plan.of({"word": WORD, **ASKED}, Sample((HASH, COLOR, SMOKES), reported=2), 100)
    with pytest.raises(dn.InvalidParameter, match="attack a plan without the text"):
        attack.examine(both)


def test_levels_of_a_range_are_said_to_be_counted_apart() -> None:
    study = dn.Study({"age": dn.Range(0, 64, queries="ranges"), "smokes": ["yes", "no"]}, epsilon=1.0)
    found = attack.examine(study.plan(people=1000))
    assert found.leveled == ("age",)
    assert "Levels of age count as answers of their own" in str(found)
