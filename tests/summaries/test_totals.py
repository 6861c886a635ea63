"""Checks that sums of shares use that all shares add up to 1: their errors, and those of all other values."""

from __future__ import annotations

import numpy as np
import pytest

import deniable as dn
from deniable.arrays import Floats
from deniable.estimate import Estimate, scored
from deniable.law import Law
from deniable.study import Result
from deniable.summaries import quantile_of, sum_of, totals
from deniable.summaries.totals import error_of, known_squares
from deniable_papers.simulate.drawn import draw_tally
from tests import statistics
from tests.cases import by_night
from tests.statistics import TOTAL_HELD, TOTAL_PEOPLE, TOTAL_STUDIES
from tests.summaries.test_coverage import MAKERS, estimates

K = 20
BUMP = np.exp(-(((np.arange(K) - 6) / 4) ** 2)) + 0.01
BUMP /= BUMP.sum()
RANGES = {"0 to 17": np.arange(18), "0 to 9": np.arange(10), "2 to 4": np.arange(2, 5)}
MECHANISMS: dict[str, dn.mechanisms.SetMechanism] = {
    "oue": dn.oue(K, 1.0),
    "oue, nearly the truth": dn.oue(K, 4.0),
    "olh": dn.olh(K, 2.0),
    "hr": dn.hr(K, 1.0),
    "l_osue": dn.rounds.l_osue(K, 1.0, 2.0),
}
METRIC: dict[str, dn.metric.MetricMechanism] = {
    "geometric": dn.metric.geometric(K - 1, 1.0),
    "planar": dn.metric.planar_geometric((4, 5), 1.0),
}


def test_the_vector_of_a_range() -> None:
    """Vector 7.5: 18 of 20 values whose shares add up to .95, where all shares add up to 1.08."""
    m, n = dn.oue(K, 1.0), 5000
    shares = np.append(np.full(18, 0.95 / 18), [0.065, 0.065])
    estimate = Estimate(n, n * (m.law.q + m.law.gain * shares), m.law)
    chosen = (np.arange(K) < 18).astype(np.float64)
    value, weights = totals.weigh(estimate, chosen)
    squares = known_squares(estimate, chosen, weights)
    assert 1 - weights[0] == pytest.approx(0.899705, abs=1e-6)
    assert value == pytest.approx(0.878024, abs=1e-6)
    assert squares == pytest.approx((7.638915, 7.438326, True), abs=1e-6)
    many, few = sum_of(estimate, range(18)), sum_of(estimate, [18, 19])
    assert (many.value, many.stderr) == pytest.approx((0.878024, 0.036996), abs=1e-6)
    assert (many.low, many.high) == pytest.approx((0.804941, 0.949912), abs=1e-6)
    assert (few.value, few.stderr) == pytest.approx((0.121976, 0.036996), abs=1e-6)
    assert (few.low, few.high) == pytest.approx((0.050088, 0.195059), abs=1e-6)
    assert error_of(estimate, chosen) > 3 * many.stderr, "without the total"


def results_of(name: str, epsilon: float) -> Estimate:
    """A study by this mechanism."""
    if name in METRIC:
        counts = np.random.default_rng(1).multinomial(800, BUMP)
        return METRIC[name].estimate(draw_tally(METRIC[name], counts, np.random.default_rng(2)))
    return estimates(MAKERS[name], epsilon, BUMP, 1)[0]


@pytest.mark.parametrize("name", [*MAKERS, *METRIC])
def test_a_range_and_all_other_values_agree(name: str) -> None:
    """Values add up to 1, errors are the same within 1 %, and the interval of one is that of the other."""
    for epsilon in (0.5, 4.0):
        estimate = results_of(name, epsilon)
        for some in ([3], [0, 19], np.arange(3), np.arange(9), np.arange(10), np.arange(10, 20)):
            others = np.setdiff1d(np.arange(K), some)
            one, other = sum_of(estimate, some), sum_of(estimate, others)
            assert one.value + other.value == pytest.approx(1.0, abs=1e-9)
            assert one.stderr == pytest.approx(other.stderr, rel=0.01)
            assert (one.low, one.high) == pytest.approx((1 - other.high, 1 - other.low), abs=1e-9)
            shown = one.cut()
            assert 0 <= shown.low <= shown.value <= shown.high <= 1
        low, high = estimate.interval()
        single = sum_of(estimate, [7])
        assert (single.value, single.low, single.high) == (estimate.frequencies[7], low[7], high[7])
        nobody, everybody = sum_of(estimate, []), sum_of(estimate, range(K))
        assert (nobody.value, nobody.stderr, nobody.low, nobody.high) == (0, 0, 0, 0)
        assert (everybody.value, everybody.stderr, everybody.low, everybody.high) == (1, 0, 1, 1)


def count_held(name: str, use_total: bool) -> dict[str, tuple[int, float, float]]:
    """How many intervals of each range hold in studies of one population, the variance of the estimated
    shares, and the variance that is stated, on average.
    """
    m, generator = MECHANISMS[name], np.random.default_rng(5)
    held = dict.fromkeys(RANGES, 0)
    values: dict[str, list[float]] = {label: [] for label in RANGES}
    stated: dict[str, list[float]] = {label: [] for label in RANGES}
    for _ in range(TOTAL_STUDIES):
        people = generator.multinomial(TOTAL_PEOPLE, BUMP)
        estimate = m.estimate(draw_tally(m, people, generator))
        for label, some in RANGES.items():
            found, truth = sum_of(estimate, some), float(BUMP[some].sum())
            value = found.value if use_total else float(estimate.frequencies[some].sum())
            reach = found.value - value
            held[label] += found.low - reach <= truth <= found.high - reach
            values[label].append(value)
            stated[label].append(found.stderr**2)
    return {
        label: (held[label], float(np.var(values[label])), float(np.mean(stated[label]))) for label in RANGES
    }


@by_night("name", MECHANISMS, "oue, nearly the truth", "olh", "l_osue")
def test_errors_are_those_of_the_studies_and_intervals_hold(name: str) -> None:
    for label, (held, scatter, stated) in count_held(name, use_total=True).items():
        statistics.at_least(held, TOTAL_STUDIES, TOTAL_HELD, f"{label} by {name}")
        squares = scatter / stated * (TOTAL_STUDIES - 1)
        statistics.spread(squares, TOTAL_STUDIES - 1, f"{label} by {name}")


@by_night("name", ["oue", "hr"], "hr")
def test_sums_without_the_total_scatter_more(name: str) -> None:
    held, scatter, stated = count_held(name, use_total=False)["0 to 17"]
    with pytest.raises(AssertionError):
        statistics.at_least(held, TOTAL_STUDIES, TOTAL_HELD, "sums from one end")
    assert scatter > 4 * stated


def study_again(n: int = 2000, seed: int = 1) -> tuple[dn.Plan, Result]:
    """A study whose default plan asks again, in which nobody is above 90."""
    study = dn.Study({"x": dn.Range(0, 100, step=5)}, epsilon_first=1.0, epsilon_forever=2.0, rounds=4)
    plan = study.plan(people=n)
    people = {"x": np.random.default_rng(seed).uniform(0, 89, n)}
    return plan, plan.estimate(plan.tally(plan.privatize(people, dn.remembering(seed))))


def test_ranges_of_a_plan_that_asks_again_agree() -> None:
    _, result = study_again()
    estimate = result["x"]
    assert isinstance(estimate, Estimate)
    assert isinstance(estimate.law, Law)
    low, high = result.range("x", 0, 90), result.range("x", 90, 100)
    assert low.value + high.value == pytest.approx(1.0)
    assert low.stderr == pytest.approx(high.stderr, rel=0.01)
    everybody = result.range("x")
    assert (everybody.value, everybody.stderr) == (1.0, 0.0)
    assert str(low) == str(low.cut()), "what is shown is possible"


def test_the_far_end_of_a_curve_is_held() -> None:
    """Sums from the left err far more at the right end than the errors from the nearer end say."""
    m, generator = dn.oue(K, 1.0), np.random.default_rng(8)
    truth, held, left = float(BUMP[:18].sum()), 0, 0
    for _ in range(TOTAL_STUDIES):
        estimate = m.estimate(draw_tally(m, generator.multinomial(TOTAL_PEOPLE, BUMP), generator))
        curve = totals.cumulate(estimate, truth)
        reach = 1.96 * curve.errors[17]
        held += abs(curve.below[17] - truth) <= reach
        left += abs(np.cumsum(estimate.frequencies)[17] - truth) <= reach
    statistics.at_least(held, TOTAL_STUDIES, TOTAL_HELD, "the curve at 18 of 20 values")
    with pytest.raises(AssertionError):
        statistics.at_least(left, TOTAL_STUDIES, TOTAL_HELD, "the curve from the left")


def test_the_curve_of_a_result_ends_as_its_ranges_do() -> None:
    _, result = study_again()
    curve = result.cdf("x")
    for edge in (5, 9, 15, 18):
        share = result.range("x", 0, 5 * edge)
        assert curve.unbiased[edge] == pytest.approx(share.value, abs=1e-9)
    assert (np.diff(curve.shares) >= 0).all()
    assert curve.shares[[0, -1]].tolist() == [0.0, 1.0]


def test_a_mean_errs_no_more_than_about_the_middle() -> None:
    """With everybody in one bin and little noise, distances from that bin err less than from the middle."""
    m, points = dn.oue(K, 4.0), np.arange(K, dtype=np.float64)
    estimate = m.estimate(draw_tally(m, np.eye(K, dtype=int)[2] * 2000, np.random.default_rng(1)))
    best = error_of(estimate, totals.weigh(estimate, points).weights)
    assert best < 0.95 * error_of(estimate, points - 9.5)
    assert dn.summaries.mean_of(estimate).stderr == best
    moved = [error_of(estimate, points - offset) for offset in np.linspace(0, 19, 77)]
    assert best <= min(moved) * 1.001


def test_quantiles_use_the_total() -> None:
    """The upper tenth is as long as the lower one of people in the opposite order."""
    m = dn.oue(K, 1.0)
    estimate = m.estimate(draw_tally(m, (4000 * BUMP).astype(int), np.random.default_rng(1)))
    mirrored = m.estimate(dn.Tally(estimate.n, estimate.support_counts[::-1].copy()))
    upper, lower = quantile_of(estimate, 0.9), quantile_of(mirrored, 0.1)
    assert (upper.low, upper.high) == (K - 1 - lower.high, K - 1 - lower.low)


def test_every_offset_is_unbiased_and_the_best_errs_least() -> None:
    """By the exact covariance of bits: the offset minimizes the variance of the sum."""
    law = dn.oue(K, 2.0).law
    supported = law.q + law.gain * BUMP
    covariance = law.pairs.joint(BUMP) - np.outer(supported, supported)
    estimate = Estimate(10**6, 10**6 * supported, law)
    for some in RANGES.values():
        chosen = np.isin(np.arange(K), some).astype(np.float64)
        weighed = totals.weigh(estimate, chosen)
        assert weighed.value == pytest.approx(float(BUMP @ chosen))
        assert _vary(covariance, weighed.weights) <= min(
            _vary(covariance, chosen - offset) for offset in np.linspace(0, 1, 101)
        )


def _vary(covariance: Floats, weights: Floats) -> float:
    return float(weights @ covariance @ weights)


def test_ends_at_nobody_and_everybody_are_those_of_scores() -> None:
    estimate = estimates(MAKERS["oue"], 1.0, BUMP, 1)[0]
    found = sum_of(estimate, range(18))
    chosen = (np.arange(K) >= 18).astype(np.float64)
    squares = known_squares(estimate, chosen, totals.weigh(estimate, chosen).weights)
    lows, highs = scored(np.array([0.0, 1.0]), estimate.n, squares.inside, squares.outside, 0.025)
    assert found.edges == pytest.approx((1 - highs[0], 1 - lows[1]))
