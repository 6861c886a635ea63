"""Checks how badly reports are said to fit honest people, and what is said beside shares that were moved."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.arrays import Floats
from deniable.estimate import Estimate
from deniable.reports import Tallies
from deniable.results.findings import Findings, FindingsRequest
from deniable.results.possible_shares import find_moved
from deniable.results.range_queries import RangeQuery
from deniable.show.text import write_text
from deniable.show.window_findings import WindowFindings
from deniable.summaries.fit import Fit, bound_counts, compare_with_alike, fit_levels, fit_of
from deniable_papers.simulate.drawn import draw_tally
from tests import statistics
from tests.cases import by_night
from tests.statistics import FIT_LEVEL, FIT_PEOPLE, FIT_STUDIES

MECHANISMS: dict[str, dn.mechanisms.SetMechanism] = {
    "grr": dn.grr(20, 1.0),
    "oue": dn.oue(20, 1.0),
    "hr": dn.hr(20, 1.0),
    "ss": dn.ss(20, 1.0),
    "olh": dn.olh(20, 1.0),
    "l_osue": dn.rounds.l_osue(20, 1.0, 2.0),
    "grr of two values": dn.grr(2, 2.0),
}


def populations(k: int) -> Iterator[Floats]:
    """All alike, evenly spread, and some common: none of them has to be the strangest."""
    for weights in (np.eye(k)[0], np.ones(k), 1 / np.arange(1, k + 1)):
        yield weights / weights.sum()


def fake(m: dn.mechanisms.SetMechanism, share: float, n: int, seed: int = 1) -> Estimate:
    """People who are spread evenly over all values but the first, and fakes that support the first alone."""
    generator, fakes = np.random.default_rng(seed), round(share * n)
    people = np.append(0.0, np.full(m.k - 1, 1 / (m.k - 1)))
    counts = draw_tally(m, generator.multinomial(n - fakes, people), generator).counts.copy()
    counts[0] += fakes
    return m.estimate(dn.Tally(n, counts))


def test_the_vector_of_counts() -> None:
    """Vector 7.7."""
    counts = np.array([2737, 1936, *[1990] * 18])
    estimate = MECHANISMS["oue"].estimate(dn.Tally(8000, counts))
    assert bound_counts(estimate) == pytest.approx(8.4917e-07, rel=1e-4)


@by_night("name", MECHANISMS, "oue", "ss", "olh", "l_osue")
def test_honest_people_seldom_fit_badly(name: str) -> None:
    m, generator = MECHANISMS[name], np.random.default_rng(3)
    for people in populations(m.k):
        bad = 0
        for _ in range(FIT_STUDIES):
            tally = draw_tally(m, generator.multinomial(FIT_PEOPLE, people), generator)
            fit = fit_of(m.estimate(tally))
            assert fit is not None
            bad += fit.p_value <= FIT_LEVEL
        statistics.at_least(FIT_STUDIES - bad, FIT_STUDIES, 1 - FIT_LEVEL, f"honest people by {name}")


def test_a_look_without_its_correction_finds_too_many() -> None:
    """The smallest of all tails, as if it were one: most honest studies would fit badly."""
    m, generator, bad = MECHANISMS["oue"], np.random.default_rng(3), 0
    for _ in range(FIT_STUDIES):
        tally = draw_tally(m, generator.multinomial(FIT_PEOPLE, np.eye(20)[0]), generator)
        bad += bound_counts(m.estimate(tally)) / (2 * m.k) <= FIT_LEVEL
    with pytest.raises(AssertionError):
        statistics.at_least(FIT_STUDIES - bad, FIT_STUDIES, 1 - FIT_LEVEL, "the smallest tail")


@pytest.mark.parametrize("name", ["grr", "oue", "hr"])
def test_fakes_that_make_shares_impossible_are_found(name: str) -> None:
    """A tenth of 8,000 reports, of a value that nobody has: found in 9 studies of 10 or more by each."""
    found = [fit_of(fake(MECHANISMS[name], 0.12, 8000, seed)) for seed in range(5)]
    assert sum(fit is not None and fit.is_bad for fit in found) >= 4


@pytest.mark.parametrize("name", MECHANISMS)
def test_fakes_that_leave_shares_possible_are_not_seen(name: str) -> None:
    """Reports of made-up people by the mechanism itself: no test of a tally tells them from others."""
    m = MECHANISMS[name]
    people = np.full(m.k, 200)
    people[0] += 1000
    fit = fit_of(m.estimate(draw_tally(m, people, np.random.default_rng(1))))
    assert fit is not None
    assert not fit.is_bad


def test_the_same_tally_says_the_same() -> None:
    first, again = (compare_with_alike(fake(MECHANISMS["grr"], 0.05, 8000)) for _ in range(2))
    assert first == again
    assert compare_with_alike(dn.grr(20, 1.0).estimate(dn.Tally(20, np.ones(20, dtype=int)))) is None, (
        "too few reports"
    )


def test_metric_reports_have_no_such_test() -> None:
    m = dn.metric.geometric(19, 1.0)
    assert fit_of(m.estimate(m.tally(m.privatize([3] * 50, dn.seeded(1))))) is None


def test_levels_count_as_so_many_looks() -> None:
    bad = fake(MECHANISMS["grr"], 0.2, 8000)
    fit = fit_of(bad)
    assert fit is not None
    assert fit_levels([bad, bad, bad]) == Fit(min(1.0, 3 * fit.p_value))


def study_fakes() -> tuple[dn.Plan, Tallies]:
    """8,000 reports at epsilon 1, of which 800 are of a value that nobody has: its share is above 1."""
    plan = dn.Study({"town": [f"town {v}" for v in range(20)]}, epsilon=1.0, protocol="grr").plan(people=8000)
    estimate = fake(dn.grr(20, 1.0), 0.1, 8000, seed=7)
    assert estimate.frequencies[0] > 1.1
    return plan, Tallies(plan.id, 8000, {"town": dn.Tally(8000, estimate.support_counts)})


def test_every_surface_says_what_was_cut() -> None:
    plan, tallies = study_fakes()
    result = plan.estimate(tallies)
    share = result["town"].frequencies[0]
    cut = f"cut from {100 * share:.3g} %"
    found = Findings(result.numbers)
    bad = str(found.fits["town"])
    assert bad.startswith("These reports fit honest people badly: p = ")
    first, *others = found.about()["rows"]
    assert (first["share"], first["moved_from"]) == (1.0, share)
    assert all(row["moved_from"] is None for row in others if abs(row["unbiased"]) < row["stderr"])
    [fit] = found.about()["fit"]
    assert (fit["attribute"], fit["badly"], fit["text"]) == ("town", True, bad)
    assert fit["p_value"] <= 0.01
    json.dumps(found.about(), allow_nan=False)
    for text in (write_text(found), str(result)):
        assert cut in text
        assert bad in text
    assert cut not in write_text(found, unbiased=True)
    frame = result.frame(backend="pandas")
    assert frame["moved_from"][0] == share
    windows = WindowFindings.of(("day",), {"Monday": result.numbers}, Findings)
    assert cut in windows.text()
    assert f"Monday: {bad}" in windows.text()


def test_a_range_that_was_cut_says_so() -> None:
    plan = dn.Study({"x": dn.Range(0, 100, step=5)}, epsilon=1.0, protocol="grr").plan(people=8000)
    estimate = fake(dn.grr(20, 1.0), 0.2, 8000)
    result = plan.estimate(Tallies(plan.id, 8000, {"x": dn.Tally(8000, estimate.support_counts)}))
    request = FindingsRequest(ranges=[RangeQuery(0, 10), RangeQuery(50, 60)])
    found = Findings.read(result.numbers, request=request)
    row: dict[str, Any] = found.rows.ranges[0]
    assert row["share"] == 1.0
    assert row["moved_from"] == row["unbiased"] > 1.2
    assert f", cut from {100 * row['unbiased']:.3g} %" in write_text(found)


def test_honest_reports_say_nothing() -> None:
    plan = dn.Study({"color": ["red", "green", "blue"]}, epsilon=2.0).plan(people=2000)
    reports = plan.privatize({"color": ["red", "green", "blue", "red"] * 500}, dn.seeded(1))
    text = plan.estimate(plan.tally(reports)).text()
    assert "cut from" not in text
    assert "honest" not in text


@pytest.mark.parametrize(
    ("shown", "unbiased", "moved"),
    [(1.0, 1.22, 1.22), (0.0, -0.05, None), (0.4, 0.3, 0.3), (0.4, 0.35, None)],
)
def test_two_standard_errors_are_said(shown: float, unbiased: float, moved: float | None) -> None:
    assert find_moved(shown, unbiased, 0.04) == moved
