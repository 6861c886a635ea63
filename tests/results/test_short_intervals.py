"""Checks that intervals as they are shown hold, the shortest of them, too."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.arrays import Floats
from deniable.estimate import Estimate
from deniable.reports import Tallies
from deniable.reports.drawn import draw_tally
from deniable.results.findings import Findings
from deniable.results.possible_shares import Likely, read_values
from deniable.results.range_queries import RangeQuery
from deniable.summaries import sum_of
from tests.statistics import SHORT_HELD, SHORT_STUDIES


def zipf(k: int) -> Floats:
    weights = 1 / np.arange(1, k + 1)
    return np.asarray(weights / weights.sum())


TOWNS = np.array([0.3, 0.2, 0.15, 0.1, 0.08, 0.07, 0.054, 0.046])
CASES: dict[str, tuple[dn.mechanisms.SetMechanism, int, Floats]] = {
    "grr of 8": (dn.grr(8, 2.0), 317, TOWNS),
    "grr of 20": (dn.grr(20, 1.0), 2000, zipf(20)),
    "oue of 20": (dn.oue(20, 1.0), 1000, zipf(20)),
    "hr of 20": (dn.hr(20, 1.0), 1000, zipf(20)),
    "grr of two, one rare": (dn.grr(2, 0.5), 150, np.array([0.98, 0.02])),
}


def show_counts(m: dn.mechanisms.SetMechanism, n: int, has_floor: bool = True) -> tuple[Floats, Floats]:
    """The ends of the shown interval for every count of support, from 0 to n."""
    every = Estimate(n, np.arange(n + 1), m.law)
    shown = Likely(np.clip(every.frequencies, 0.0, 1.0), "most likely", "", None)
    columns = every.frequencies, every.stderr, *every.interval()
    if has_floor:
        found = read_values(columns, shown, every.edge_ends())
        return found.low, found.high
    return np.clip(columns[2], 0.0, 1.0), np.clip(columns[3], 0.0, 1.0)


def hold_by_length(case: str, has_floor: bool = True) -> dict[float, float]:
    """How many intervals hold: of all values and all counts together, and of the shortest parts of them."""
    m, n, shares = CASES[case]
    low, high = show_counts(m, n, has_floor)
    chances = np.array([stats.binom.pmf(np.arange(n + 1), n, m.law.q + m.law.gain * f) for f in shares])
    held = np.array([(low <= f) & (f <= high) for f in shares])
    return _hold_by_length(np.broadcast_to(high - low, held.shape), held, chances / shares.size)


def _hold_by_length(lengths: Floats, held: Any, chances: Floats) -> dict[float, float]:
    """Of intervals with one length, each is as likely to be among the shortest."""
    _, at = np.unique(np.round(lengths, 9), return_inverse=True)
    many = np.bincount(at.ravel(), chances.ravel())
    hits = np.bincount(at.ravel(), (chances * held).ravel()) / many
    before = np.cumsum(many) - many
    parts = {part: np.clip(part - before, 0.0, many) for part in SHORT_HELD}
    return {part: float(inside @ hits / inside.sum()) for part, inside in parts.items()}


@pytest.mark.parametrize("case", CASES)
def test_the_shortest_intervals_hold_as_well(case: str) -> None:
    for part, held in hold_by_length(case).items():
        assert held >= SHORT_HELD[part], f"of the shortest {part:g}: {held:.3f}"


@pytest.mark.parametrize("case", ["grr of 8", "grr of 20", "oue of 20"])
def test_intervals_that_are_only_cut_collapse(case: str) -> None:
    assert hold_by_length(case, has_floor=False)[0.01] < 0.5


@pytest.mark.parametrize(
    ("m", "n", "count", "high"),
    [
        (dn.grr(8, 2.0), 317, 10, 0.075882),
        (dn.grr(8, 2.0), 317, 30, 0.141533),
        (dn.hr(20, 1.0), 1000, 470, 0.136116),
        (dn.oue(20, 1.0), 10**7, 2_689_000, 0.001190),
    ],
)
def test_the_vectors_of_shown_intervals(
    m: dn.mechanisms.SetMechanism, n: int, count: int, high: float
) -> None:
    """Vectors 7.6."""
    found = sum_of(Estimate(n, np.full(m.k, count), m.law), [0]).cut()
    assert (found.low, found.high) == pytest.approx((0.0, high), abs=1e-6)


def test_every_surface_shows_the_floor() -> None:
    """A town with 10 of 317 reports where 27 come by chance: once "0.0 % (0.0 to 1.7)"."""
    names = [f"town {v}" for v in range(8)]
    plan = dn.Study({"town": names}, epsilon=2.0, protocol="grr").plan(people=317)
    counts = np.array([100, 60, 45, 40, 30, 20, 12, 10])
    floor = float(dn.grr(8, 2.0).estimate(dn.Tally(317, counts)).edge_ends().high[7])
    assert floor == pytest.approx(0.075882, abs=1e-6)
    result = plan.estimate(Tallies(plan.id, 317, {"town": dn.Tally(317, counts)}))
    rows = Findings(result.numbers).about()["rows"]
    assert rows[7]["high"] == pytest.approx(floor)
    assert rows[7]["unbiased_high"] < 0.02, "that of the unbiased share stays"
    assert result.frame(backend="pandas").high[7] == pytest.approx(floor)
    assert f"{floor:.4f}" in result.text()
    with pytest.raises(dn.InvalidParameter, match="most, the rows of each attribute, must be an integer"):
        result.text(0.95, "norm-sub")  # type: ignore[arg-type]  # which stood there until it was retired
    drawn: list[Any] = list(result.plot().axes[0].collections)
    ends = [segment[:, 0] for line in drawn for segment in line.get_segments()]
    assert any(np.allclose(pair, [0.0, 100 * floor]) for pair in ends), "the plot"


@cache
def hold_groups() -> tuple[dict[float, float], dict[float, float]]:
    """How many intervals of groups and ranges hold, by length: as shown, and cut at 0 and 1 alone."""
    m, generator, k = dn.oue(60, 1.0), np.random.default_rng(3), 60
    shares = np.repeat([0.6, 0.3, 0.08, 0.01, 0.006, 0.004], 10) / 10
    parts = np.split(np.arange(k), 6)
    lengths, held = np.empty((2, SHORT_STUDIES, 6)), np.empty((2, SHORT_STUDIES, 6), dtype=bool)
    for study in range(SHORT_STUDIES):
        estimate = m.estimate(draw_tally(m, generator.multinomial(600, shares), generator))
        for i, values in enumerate(parts):
            found = sum_of(estimate, values)
            shown = found.cut()
            low, high = np.transpose([(shown.low, shown.high), np.clip([found.low, found.high], 0, 1)])
            lengths[:, study, i] = high - low
            held[:, study, i] = (low <= shares[values].sum()) & (shares[values].sum() <= high)
    even = np.full(held[0].shape, 1 / held[0].size)
    return _hold_by_length(lengths[0], held[0], even), _hold_by_length(lengths[1], held[1], even)


def test_the_shortest_intervals_of_groups_hold_as_well() -> None:
    for part, held in hold_groups()[0].items():
        assert held >= SHORT_HELD[part], f"of the shortest {part:g}: {held:.3f}"


def test_intervals_of_groups_that_are_only_cut_collapse() -> None:
    assert hold_groups()[1][0.01] < 0.75


def test_a_range_that_is_asked_for_is_shown_with_the_floor() -> None:
    plan = dn.Study({"x": dn.Range(0, 100, step=5)}, epsilon=1.0, protocol="oue").plan(people=400)
    result = plan.estimate(plan.tally(plan.privatize({"x": [2] * 400}, dn.seeded(9))))
    queries = [RangeQuery(low, low + 10) for low in range(10, 90, 10)]
    found = Findings.read(result.numbers, ranges=queries)
    assert any(row["unbiased"] < -0.02 for row in found.rows.ranges), "or this test shows nothing"
    for row in found.rows.ranges:
        assert 0 <= row["low"] <= row["share"] <= row["high"] <= 1
        assert row["high"] > 1.9 * row["stderr"]


def test_means_beyond_the_ends_keep_their_length() -> None:
    """A mean of -300 with a reach of 350 is shown as 0 to 350, not as 0 to 50."""
    shown = dn.summaries.Summary(-300.0, 178.0, -650.0, 50.0).cut(0.0, 1000.0)
    assert (shown.value, shown.low, shown.high) == (0.0, 0.0, 350.0)
