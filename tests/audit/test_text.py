"""Audits of text that nobody listed, alone and beside tables: right clients pass, and planted leaks fail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import numpy as np
import pytest

import deniable as dn
from deniable.arrays import Integers
from deniable.audit.devices import Devices
from deniable.audit.setting import make_named_pairs
from deniable.audit.turns import Side
from deniable.wire import Wire
from spec.make.products import SMOKING

STUDY = dn.Study({"word": dn.Text("a-z", longest=7), "smokes": ["yes", "no"]}, epsilon=2.0)
PLAN = STUDY.plan(people=1000)
TRIALS = 4000


@final
class Planted(Devices):
    """Devices whose reports have a fault: of a plan that loses more, or with a hash that knows the word."""

    headed = False

    def __init__(self, plan: dn.Plan, knows: bool) -> None:
        self._plan, self._knows = plan, knows
        self._words = dn.seeded(4)

    def answer(self, sides: Sequence[Side], who: Integers) -> Sequence[Sequence[bytes]]:
        records = [dict(sides[i][0]) for i in who.tolist()]
        reports = self._plan.privatize(records, self._words)
        if self._knows:
            told = np.array([record["word"] == "a" for record in records])
            assert reports.records.reporters is not None
            held = zip(reports.records.reporters, reports.records.columns, strict=True)
            for reported, column in list(held)[:2]:
                column["bits"][:, 0] = column["bits"][:, 0] & 0xFE | told[reported]
        return [Wire(self._plan.document).bodies(reports)]


@pytest.mark.long
def test_a_right_client_loses_less_than_is_stated() -> None:
    found = dn.audit.lower_bound(PLAN, trials=TRIALS, words=dn.seeded(1))
    assert found.passed, found.summary
    assert 1.0 < found.lower_bound <= PLAN.loss.record


@pytest.mark.parametrize("plan", [SMOKING.plan(people=1000), PLAN], ids=["tables", "text"])
def test_people_are_compared_by_questions(plan: dn.Plan) -> None:
    for per, most in (("record", len(plan.names)), ("attribute", 3)):
        for one, other in make_named_pairs(plan, "ends", per, 1):  # type: ignore[arg-type]
            codes = plan.encode([dict(one[0]), dict(other[0])])
            assert 1 <= (codes[:, 0] != codes[:, 1]).sum() <= most


def test_a_client_that_keeps_more_buckets_fails() -> None:
    loud = dn.Plan.of(
        {one.name: one for one in PLAN.document.attributes},
        dn.records.Sample(
            tuple(
                dn.mechanisms.Linear(part.bits, part.rows, part.keep * 3 // 2)
                if isinstance(part, dn.mechanisms.Linear)
                else part
                for part in PLAN.document.parts
            ),
            weights=PLAN.mechanism.weights,  # type: ignore[attr-defined]
        ),
        people=1000,
    )
    found = dn.audit.lower_bound(Planted(loud, knows=False), plan=PLAN, trials=TRIALS)
    assert found.failed, found.summary


def test_a_hash_that_is_chosen_by_the_word_fails() -> None:
    found = dn.audit.lower_bound(Planted(PLAN, knows=True), plan=PLAN, trials=2 * TRIALS)
    assert found.failed, found.summary
