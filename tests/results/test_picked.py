"""Tests what is said of reports that were made by the mechanism and picked."""

from __future__ import annotations

import numpy as np
import pytest

import deniable as dn
from deniable.law import Law
from deniable.results.health import HealthWatch, explain_picked, find_picked
from deniable.study import Plan
from spec.make.keys import signing_key

TOWNS = [f"town {number}" for number in range(20)]
PROTOCOLS = {
    "grr": 12.06,
    "ss": 3.21,
    "sue": 2.54,
    "oue": 3.16,
    "the": 2.66,
    "blh": 2.16,
    "olh": 3.33,
    "hr": 2.16,
}
"""How many people a picked report counts for, of 20 values at epsilon 1: (1 - q) / (p - q)."""


@pytest.mark.parametrize(("name", "people"), PROTOCOLS.items())
def test_a_picked_report_counts_for_as_many_people_as_the_law_says(name: str, people: float) -> None:
    """Reports of any value that the mechanism made, kept where they support the first: all counted, their
    share of it is what one of them counts for.
    """
    plan = dn.Study({"town": TOWNS}, epsilon=1.0, protocol=name).plan(people=1000)
    picked = find_picked(plan.document)
    assert picked is not None
    assert picked.people == pytest.approx(people, abs=0.005)
    (part,) = plan.document.parts
    assert isinstance(part.law, Law)
    assert part.law.p > part.law.q
    made = plan.privatize({"town": TOWNS * 100}, dn.seeded(1)).records.columns[0]
    kept = made[np.asarray(part.supports(made, np.zeros(len(made), dtype=np.int64)))]
    assert 0 < len(kept) < len(made)
    estimate = part.estimate(part.tally(kept))
    assert isinstance(estimate, dn.Estimate)
    share = estimate.frequencies[0]
    assert share == pytest.approx(picked.people, rel=1e-9)


def test_the_health_of_reports_says_what_it_cannot_notice() -> None:
    plan = dn.Study({"town": TOWNS}, epsilon=1.0, protocol="oue").plan(people=2000)
    reports = plan.privatize({"town": TOWNS * 100}, dn.seeded(2))
    watch = HealthWatch(plan.document)
    blocks = list(watch.look([reports]))
    health = watch.health(plan.estimate(plan.tally(blocks)).numbers)
    assert "counts for up to 3.16 people in 'town'" in health.unseen
    assert "--fakes 0.01" in health.unseen
    assert " ".join(health.unseen.split()) in " ".join(str(health).split())
    assert type(health).read(health.about()) == health


def test_where_people_are_invited_it_is_said_what_remains() -> None:
    plan = Plan.of({"town": TOWNS}, dn.grr(20, 1.0), 1000)
    assert "Anybody can send them" in explain_picked(plan.document)
    invited = plan.with_ticket_key(signing_key(1).public)
    assert "each of them one such report a round: that remains" in explain_picked(invited.document)
    three = Plan.of(dict.fromkeys(("a", "b", "c"), TOWNS), dn.smp([20] * 3, 1.0, "oue"), 1000)
    picked = find_picked(three.document)
    assert picked is not None
    assert picked.people == pytest.approx(3 * 3.164, abs=0.005), "every report stands for three people"
