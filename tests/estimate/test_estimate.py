"""Estimates and their intervals: against the formulas, against scipy's, and by how often they
hold the truth.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import stats

import deniable as dn
from deniable.estimate import Interval, consistency, normal_quantile
from deniable.frames import Backend
from tests import statistics
from tests.mechanisms.test_every_mechanism import SHARES, made

Floats = npt.NDArray[np.float64]
Method = Literal["exact", "wilson"]

CLASSICAL = ["grr", "sue", "oue", "the", "blh", "olh", "plh", "ss", "hr"]
SMALL = [20, 50, 200]


def estimate_of(counts: list[int], n: int) -> dn.Estimate:
    """By a law whose p = 3/4 and q = 1/4 make for round numbers."""
    return dn.Estimate(
        n, np.array(counts), dn.law.Law.independent(len(counts), Fraction(3, 4), Fraction(1, 4))
    )


@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
def test_a_normal_interval_leaves_half_of_the_rest_on_either_side(level: float) -> None:
    assert normal_quantile(level) == pytest.approx(-stats.norm.ppf((1 - level) / 2))


def test_frequencies_are_unbiased_by_their_formula() -> None:
    """(count / n - q) / (p - q), neither clipped nor rescaled."""
    estimate = estimate_of([30, 10, 50], 40)
    assert estimate.frequencies.tolist() == [1.0, 0.0, 2.0]
    assert estimate.counts.tolist() == [40.0, 0.0, 80.0]
    assert estimate_of([0, 40, 20], 40).frequencies.tolist() == [-0.5, 1.5, 0.5]
    assert (estimate.n, estimate.k) == (40, 3)


def test_standard_errors_of_both_conventions() -> None:
    """A sample of people scatters by f (1 - f) / n more than the noise alone."""
    estimate = estimate_of([20, 10], 40)
    assert estimate.frequencies.tolist() == [0.5, 0.0]
    noise = (3 / 16) / 40 * 4  # p (1 - p) = q (1 - q) = 3/16, and (p - q)^2 = 1/4
    np.testing.assert_allclose(estimate.standard_errors("fixed"), [math.sqrt(noise)] * 2)
    np.testing.assert_allclose(estimate.stderr, [math.sqrt(noise + 0.25 / 40), math.sqrt(noise)])
    np.testing.assert_array_equal(estimate.standard_errors(), estimate.stderr)
    # what is estimated below 0 or above 1 has the errors of 0 or 1
    np.testing.assert_allclose(estimate_of([0, 40], 40).stderr, [math.sqrt(noise)] * 2)


@pytest.mark.parametrize("method", ["exact", "wilson"])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("n", [1, 7, 200])
def test_intervals_are_those_of_scipy_mapped_through_the_law(n: int, level: float, method: Method) -> None:
    counts = sorted({0, 1, n // 3, n - 1, n})
    estimate = estimate_of(counts, n) if len(counts) > 1 else estimate_of([0, 1], n)
    low, high = estimate.interval(level, method)
    for i, count in enumerate(estimate.support_counts.tolist()):
        ends = stats.binomtest(count, n).proportion_ci(level, method)
        np.testing.assert_allclose(
            [low[i], high[i]], [2 * (ends.low - 0.25), 2 * (ends.high - 0.25)], rtol=1e-9, atol=1e-12
        )
    assert (low <= estimate.frequencies + 1e-12).all()
    assert (estimate.frequencies <= high + 1e-12).all()


def test_simultaneous_intervals_share_the_error() -> None:
    estimate = estimate_of([3, 20, 31, 18], 40)
    together, each = estimate.interval(0.95, simultaneous=True), estimate.interval(1 - 0.05 / 4)
    np.testing.assert_allclose(together, each, rtol=1e-12)
    assert (together.low < estimate.interval(0.95).low).all()


def test_large_numbers_of_reports() -> None:
    """Counts of 10^12: the intervals are those of the normal law, and nothing overflows."""
    n = 10**12
    estimate = estimate_of([n // 3, n // 2, 0, n], n)
    for method in ("exact", "wilson"):
        low, high = estimate.interval(0.95, method)
        half = stats.norm.ppf(0.975) * estimate.stderr
        np.testing.assert_allclose((high - low)[:2] / 2, half[:2], rtol=1e-4)
        assert np.isfinite(low).all()
        assert np.isfinite(high).all()


def all_intervals(
    m: dn.mechanisms.Mechanism, n: int, method: Method, level: float = 0.95, simultaneous_of: int = 1
) -> Interval:
    """The interval that every possible count would give."""
    assert isinstance(m.law, dn.law.Law)
    return dn.Estimate(n, np.arange(n + 1), m.law).interval(1 - (1 - level) / simultaneous_of, method)


@pytest.mark.parametrize("n", SMALL)
@pytest.mark.parametrize("name", CLASSICAL)
def test_coverage_by_summing_over_all_counts(name: str, n: int) -> None:
    """A count of support in a sample is binomial, so coverage is a finite sum: exact intervals never fall
    below 95 %.
    """
    m = made(name, 6, 1.0)
    assert isinstance(m.law, dn.law.Law)
    truths = np.linspace(0, 1, 101)
    means = m.law.q + truths * (m.law.p - m.law.q)
    chances = stats.binom.pmf(np.arange(n + 1), n, means[:, None])
    covered: dict[str, Floats] = {}
    methods: list[Method] = ["exact", "wilson"]
    for method in methods:
        low, high = all_intervals(m, n, method)
        holds = (low <= truths[:, None] + 1e-12) & (truths[:, None] <= high + 1e-12)
        covered[method] = (chances * holds).sum(axis=1)
    assert covered["exact"].min() >= 0.95
    assert covered["exact"].mean() < 0.985
    assert abs(covered["wilson"].mean() - 0.95) < 0.015
    assert covered["wilson"].min() > 0.9


def support_counts(m: dn.mechanisms.Mechanism, n: int, repeats: int) -> npt.NDArray[np.int64]:
    """Counts of support in that many surveys of the same n people."""
    values = np.tile(np.repeat(np.arange(m.k), np.round(SHARES * n).astype(int)), repeats)
    holds = m.support(m.privatize(values, dn.seeded(n)))
    return np.asarray(holds.reshape(repeats, -1, m.k).sum(axis=1))


def coverage(counts: npt.NDArray[np.int64], ends: Interval) -> npt.NDArray[np.bool_]:
    return (ends.low[counts] <= SHARES) & (ends.high[counts] >= SHARES)


@pytest.mark.parametrize("name", ["grr", "oue", "olh"])
def test_coverage_for_fixed_people(name: str) -> None:
    """Made for samples, the intervals are wide enough for the people who answered too."""
    m = made(name, 6, 1.0)
    held = coverage(support_counts(m, 100, statistics.COVERAGE_REPEATS), all_intervals(m, 100, "exact"))
    for value in range(m.k):
        statistics.at_least(
            int(held[:, value].sum()), statistics.COVERAGE_REPEATS, 0.95, f"intervals of {value}"
        )


def test_noisy_sums_have_normal_intervals() -> None:
    estimate = dn.Estimate(100, np.array([10.0, 50.0, 45.0]), dn.law.Moments(3, 8.0))
    low, high = estimate.interval(0.9)
    error = np.sqrt((8 + np.array([0.1 * 0.9, 0.25, 0.45 * 0.55])) / 100)
    np.testing.assert_allclose(estimate.stderr, error)
    np.testing.assert_allclose(high - estimate.frequencies, 1.6448536269514722 * error)
    np.testing.assert_allclose(estimate.frequencies - low, 1.6448536269514722 * error)
    wider = estimate.interval(0.9, simultaneous=True)
    np.testing.assert_allclose(wider.high - estimate.frequencies, stats.norm.ppf(1 - 0.1 / 6) * error)


@pytest.mark.parametrize("level", [0, 1, -0.5, 1.5, 95, math.nan])
def test_levels_are_between_zero_and_one(level: float) -> None:
    with pytest.raises(dn.InvalidParameter, match="a confidence level must be a number between 0 and 1, got"):
        estimate_of([1, 2], 4).interval(level)


def test_unknown_methods_are_refused() -> None:
    with pytest.raises(dn.InvalidParameter, match="method is 'exact', 'wilson' or 'normal', got 'wald'"):
        estimate_of([1, 2], 4).interval(0.9, "wald")  # type: ignore[arg-type]


def test_nobody_cannot_be_estimated() -> None:
    m = dn.oue(4, 1.0)
    with pytest.raises(dn.InvalidParameter, match="no reports yet"):
        m.estimate(dn.Tally(0, [0, 0, 0, 0]))  # type: ignore[arg-type]


@pytest.mark.parametrize("method", [*consistency.STEPS, "base-cut"])
def test_projections_by_name(method: str) -> None:
    estimate = estimate_of([18, 25, 11, 9], 40)
    projected = estimate.project(method)
    assert projected.shape == (4,)
    assert (projected >= 0).all()
    if method not in ("clip", "base-cut", "norm-cut"):
        assert math.isclose(projected.sum(), 1.0, rel_tol=1e-12)
    if (
        method == "base-cut"
    ):  # kept where so many reports, if nobody had it (q = 1/4), are rarer than 5 % over four values
        rare = stats.binom.sf(np.array([18, 25, 11, 9]) - 1, 40, 0.25) < 0.05 / 4
        np.testing.assert_allclose(projected, np.where(rare, estimate.frequencies, 0))
    else:
        np.testing.assert_array_equal(projected, consistency.STEPS[method](estimate.frequencies))
    np.testing.assert_allclose(
        estimate.frequencies, [0.4, 0.75, 0.05, -0.05], err_msg="the estimate is left as it was"
    )


@pytest.mark.parametrize("method", ["mean", "", "Clip"])
def test_unknown_projections_are_refused(method: str) -> None:
    with pytest.raises(dn.InvalidParameter, match=r"is not a consistency step \(clip, norm-sub, norm-cut"):
        estimate_of([1, 2], 4).project(method)


FRAMES: dict[Backend, Any] = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table}


@pytest.mark.parametrize("backend", list(FRAMES))
def test_frames_of_every_library(backend: Backend) -> None:
    estimate = dn.Estimate(40, np.array([20, 10]), estimate_of([1, 2], 40).law, labels=["yes", "no"])
    frame: Any = estimate.frame(0.9, backend)
    assert isinstance(frame, FRAMES[backend])
    names = frame.column_names if backend == "pyarrow" else list(frame.columns)
    assert names == ["value", "share", "stderr", "low", "high", "count"]
    columns = {name: list(frame[name].to_pylist() if backend == "pyarrow" else frame[name]) for name in names}
    assert columns["value"] == ["yes", "no"]
    np.testing.assert_allclose(columns["share"], estimate.frequencies)
    np.testing.assert_allclose(columns["stderr"], estimate.stderr)
    np.testing.assert_allclose([columns["low"], columns["high"]], estimate.interval(0.9))
    np.testing.assert_allclose(columns["count"], [20, 0])


def test_frames_without_labels_or_library() -> None:
    """Values are numbered, and the library is one that is there."""
    frame = estimate_of([20, 10], 40).frame()
    assert type(frame) in FRAMES.values()
    assert list(frame["value"]) == [0, 1]


def test_text_of_many_values_says_how_many_are_left_out() -> None:
    m = dn.oue(150, 1.0)
    estimate = m.estimate(m.tally(m.privatize(np.arange(150), dn.seeded(1))))
    text = str(estimate).splitlines()
    assert text[0] == "150 reports, 95 % intervals"
    assert len(text) == 2 + 20 + 1
    assert text[-1].endswith("130 more; frame() has them all")
