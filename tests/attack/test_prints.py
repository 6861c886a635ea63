"""How results of attacks and audits print, and what their plots draw."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.audit import Audit
from tests.plot.test_charts import lengths, texts

PLAN = dn.Study({"color": ["red", "green", "blue"], "smokes": ["yes", "no"]}, epsilon=2.0).plan(10_000)
PEOPLE = {"color": ["red", "green", "blue"] * 20, "smokes": ["yes", "no"] * 30}
REPORTS = PLAN.privatize(PEOPLE, dn.seeded(1))


@pytest.fixture(scope="module")
def audited() -> Audit:
    return dn.audit.lower_bound(PLAN, trials=500)


def test_success_prints_and_draws_blind_and_informed_guesses() -> None:
    found = dn.attack.success(PLAN)
    assert str(found).splitlines()[1].split("  ")[0] == "answer"
    assert f"{100 * found['color'].reported:.3g} %" in str(found)
    drawn = [one for figure in ("blind", "report", "reported") for one in _figures(found, figure)]
    assert lengths(found.plot()) == pytest.approx(drawn)


def _figures(found: Any, figure: str) -> list[float]:
    return [getattr(one, figure) for one in found.attributes]


def test_guesses_print_and_draw_what_the_attacker_expects() -> None:
    found = dn.attack.guess(PLAN, REPORTS)
    assert "best guesses of answers, 60 people" in str(found)
    assert lengths(found.plot()) == pytest.approx(list(found.expected.values()))


def test_reidentification_prints_and_draws_intervals_and_blind_lists() -> None:
    found = dn.attack.reidentify([PLAN], [REPORTS], PEOPLE, top=5)
    assert "60 targets looked for among 60 records" in str(found)
    assert "among the best 5" in str(found)
    figure: Any = found.plot()
    assert lengths(figure) == pytest.approx([found.success(1), found.success(5), 1 / 60, 5 / 60])
    ends = np.array([segment[:, 0] for segment in figure.axes[0].collections[0].get_segments()])
    np.testing.assert_allclose(ends, [found.interval(1), found.interval(5)])


def test_an_examination_prints_its_page() -> None:
    found = dn.attack.examine(PLAN)
    assert str(found) == found.text()
    assert "what an attacker learns" in texts(found.plot())


def test_an_audit_prints_its_verdict_and_draws_bounds_against_the_claim(audited: Audit) -> None:
    assert str(audited) == audited.summary
    figure = audited.plot()
    assert lengths(figure) == pytest.approx([event.bound for event in audited.events])
    assert f"claim {audited.claim:.4f}" in texts(figure)
