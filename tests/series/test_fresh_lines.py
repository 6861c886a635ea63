"""Series of a plan that keeps some answers and asks others with fresh noise."""

from __future__ import annotations

import numpy as np
import pytest

import deniable as dn
from deniable.records import Split
from deniable.rounds import l_grr
from deniable.series.lines import read_lines


def test_noise_of_answers_that_change_is_fresh_every_day() -> None:
    asked = {"os": ["a", "b", "c"], "crash": ["yes", "no"]}
    kept, fresh = l_grr(3, 1.0, 2.0), dn.grr(2, 0.5)
    plan = dn.Plan.of(asked, Split((kept, fresh)), people=100, rounds=40)
    answers = {"os": ["a"] * 60 + ["b"] * 40, "crash": ["yes"] * 30 + ["no"] * 70}
    tallies = plan.tally(plan.privatize(answers, dn.remembering(1, round=1)))
    lines, _ = read_lines([(plan.document, [[tallies]])], None)
    share, nothing = np.array([0.3]), np.zeros(1)
    by_name = {line.attribute: line.moments(share, nothing) for line in lines}
    drawn = 0.3 * 0.7
    noise = float(np.asarray(fresh.law.variance(1, [0.3], "fixed"))[0])
    assert by_name["crash"].fresh[0] == pytest.approx(noise)
    assert by_name["crash"].kept[0] == pytest.approx(drawn)
    first = float(np.asarray(kept.first.law.variance(1, [0.3], "fixed"))[0])
    assert by_name["os"].kept[0] == pytest.approx(drawn + first)
