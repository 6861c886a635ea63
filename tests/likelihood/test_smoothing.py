"""Smoothing: of lines, groups and grids, by the same steps however they are computed; and no error bars that
do not hold.

Statistical tests state their sizes here; false-alarm rates are those of `statistics`.
"""

from __future__ import annotations

import math
from importlib import import_module

import numpy as np
import numpy.typing as npt
import pytest

import deniable as dn
from deniable import metric
from deniable.likelihood import mle
from deniable.likelihood.problem import Counted
from deniable.likelihood.rows import Window
from deniable.likelihood.smoothing import PASSES, WEIGHTS
from deniable.likelihood.steps import along, smoothed_by
from deniable.metric.line import GeometricChannel
from deniable.summaries import mean_of, quantile_of
from tests import statistics
from tests.likelihood.test_mle import sample_tally

Floats = npt.NDArray[np.float64]
COVERED_PEOPLE, COVERED_STUDIES, COVERED_REPEATS = 3000, 50, 60
"""Studies of counts 0 to 20 at epsilon 1, each with a bootstrap: 95 % intervals must hold 88 % of the shares
above 2 %.
"""


def hill(n: int, center: float = 0.3, width: float = 0.08) -> Floats:
    shares = np.exp(-(((np.arange(n + 1) / n - center) / width) ** 2) / 2)
    return np.asarray(shares / shares.sum())


def plain_steps(channel: Floats, outputs: Floats, weight: float, passes: int) -> Floats:
    """EM with smoothing, by its definition."""
    k = channel.shape[0]
    p = np.full(k, 1 / k)
    for _ in range(passes):
        p = p * (channel @ (outputs / (p @ channel)))
        wide = np.concatenate([p[:1], p, p[-1:]])
        p = (1 - 2 * weight) * p + weight * (wide[:-2] + wide[2:])
        p /= p.sum()
    return p


@pytest.mark.parametrize("n", [20, 299, 300, 700])
@pytest.mark.parametrize("weight", [0.0, 0.05, 0.5])
def test_compiled_passes_are_those_of_the_definition(n: int, weight: float) -> None:
    """On both sides of the size from which they are compiled."""
    channel = GeometricChannel(n, 0.2)
    tally = sample_tally(channel, hill(n), 5000)
    soft = mle(channel, tally).smooth(weights=(weight,), passes=(37, 61))
    assert soft.smoothing is not None
    wanted = plain_steps(channel.matrix(), tally.counts / 5000, weight, soft.smoothing.passes)
    assert np.allclose(soft.frequencies, wanted, rtol=1e-9, atol=1e-15)


def test_more_passes_are_tried_only_while_they_help() -> None:
    """What was not tried is said, and what was chosen is the best of the rest; the same as if all had been
    tried.
    """
    channel = GeometricChannel(100, 0.5)
    rough = mle(channel, sample_tally(channel, hill(100), 10_000))
    soft = rough.smooth()
    assert soft.smoothing is not None
    held = np.array(soft.smoothing.held_out)
    assert held.shape == (len(WEIGHTS), len(PASSES))
    assert np.isnan(held).any()
    assert np.isfinite(held[:, :2]).all()
    every = []
    for passes in PASSES:
        alone = rough.smooth(passes=(passes,)).smoothing
        assert alone is not None
        every.append([row[0] for row in alone.held_out])
    whole = np.array(every).T
    tried = np.isfinite(held)
    assert np.allclose(held[tried], whole[tried], rtol=1e-12)
    weight, end = np.unravel_index(int(whole.argmax()), whole.shape)
    assert (WEIGHTS[weight], PASSES[end]) == (soft.smoothing.weight, soft.smoothing.passes)


def test_a_window_is_the_table_of_square_wave() -> None:
    m = metric.square_wave(2.0, 40)
    problem = mle(m, m.privatize(np.arange(40), dn.seeded(1))).problem
    assert isinstance(problem, Counted)
    rows, counts = problem.quick
    assert isinstance(rows, Window)
    assert counts.sum() == 40
    table = m.law.matrix().T
    generator = np.random.default_rng(1)
    shares, weights = generator.dirichlet(np.ones(40), size=3), generator.random((3, m.outputs))
    assert np.allclose(rows.forward(shares), shares @ table.T, rtol=1e-12)
    assert np.allclose(rows.backward(weights), weights @ table, rtol=1e-12)
    assert np.allclose(rows.gram(weights[0]), (table.T * weights[0]) @ table, rtol=1e-12)
    spike = np.eye(40)[7]
    assert (rows.forward(spike) > 0).all()
    assert rows.roundings > rows.size


@pytest.mark.parametrize(("k", "width"), [(2, 3), (5, 1), (5, 5), (4, 9), (60, 7)])
def test_sums_over_windows_lose_no_digits(k: int, width: int) -> None:
    """By differences of running sums, what is small beside a large share came out as nothing."""
    rows = Window(k, width, 1.0, 1e-14)
    apart = np.arange(rows.size)[:, None] - np.arange(k)
    table = np.where((apart >= 0) & (apart < width), 1.0, 1e-14)
    shares, weights = np.full(k, 1e-15), np.full(rows.size, 1e-15)
    shares[0] = weights[0] = 1.0
    assert np.allclose(rows.forward(shares), table @ shares, rtol=1e-14, atol=0)
    assert np.allclose(rows.backward(weights), weights @ table, rtol=1e-14, atol=0)


def test_long_square_waves_need_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """3,400 bins and more were refused, in words that sent people to `mle`, which they had called."""
    m = metric.square_wave(1.0, 60)
    tally = m.tally(m.privatize(np.arange(60).repeat(50), dn.seeded(1)))
    by_table = mle(m, tally)
    monkeypatch.setattr(import_module("deniable.likelihood.sources"), "MOST_ENTRIES", 1000)
    by_sums = mle(m, tally)
    assert (by_table.method, by_sums.method, by_sums.stop) == ("interior point", "squarem", "certified")
    assert by_sums.log_likelihood == pytest.approx(by_table.log_likelihood, abs=2e-9)
    assert (by_sums.interval(repeats=5).high >= by_sums.frequencies).all()
    assert by_sums.smooth(passes=(10,)).frequencies == pytest.approx(
        by_table.smooth(passes=(10,)).frequencies
    )
    monkeypatch.undo()
    long = metric.square_wave(1.0, 4000)
    found = mle(long, long.tally(long.privatize(np.arange(4000), dn.seeded(1))), iterations=20)
    assert (found.k, found.method, found.stop) == (4000, "squarem", "iteration limit")


def test_grids_that_are_too_large_are_refused_with_what_to_do() -> None:
    m = metric.planar_geometric((65, 64), 0.5)
    tally = dn.Tally(4160, np.ones(4160, dtype=np.int64))
    with pytest.raises(dn.InvalidParameter, match=r"4,160 values .* use fewer values or larger cells"):
        mle(m, tally)
    with pytest.raises(dn.InvalidParameter, match="use fewer values, or mle, if it takes this many"):
        m.estimate(tally)


# --- groups and grids
# ----------------------------------------------------------------------------------------------------


def test_grids_are_smoothed_across_and_down() -> None:
    m = metric.planar_geometric((12, 9), 0.5)
    down, across = hill(11, 0.4, 0.2), hill(8, 0.6, 0.2)
    truth = np.outer(down, across).ravel()
    generator = np.random.default_rng(1)
    values = generator.choice(108, 20_000, p=truth)
    rough = mle(m, m.privatize(values, dn.seeded(3)))
    soft = rough.smooth()
    squared = [float(((each.frequencies - truth) ** 2).sum()) for each in (rough, soft)]
    assert squared[1] < 0.1 * squared[0]
    with pytest.raises(dn.InvalidParameter, match="not on a line"):
        mle(m, m.privatize(values, dn.seeded(3)), ordered=True)


def test_a_blur_of_a_grid_is_one_of_each_side() -> None:
    one = np.zeros((2, 20))
    one[0, 2 * 5 + 2], one[1, 0] = 1.0, 1.0  # the middle of 4 x 5 cells, and a corner
    blurred = along((4, 5), smoothed_by(np.array([0.25, 0.1])))(one).reshape(2, 4, 5)
    assert np.allclose(blurred[0], np.outer([0, 0.25, 0.5, 0.25], [0, 0.25, 0.5, 0.25, 0]))
    assert np.allclose(blurred[1], np.outer([0.9, 0.1, 0, 0], [0.9, 0.1, 0, 0, 0]))


# --- error bars
# ----------------------------------------------------------------------------------------------------------


def test_what_was_smoothed_has_no_error_bars() -> None:
    """Its intervals covered 17 to 60 % where they said 95: repeats with the same smoothing have the same
    bias.
    """
    channel = GeometricChannel(50, 0.2)
    tally = sample_tally(channel, hill(50), 5000)
    soft = mle(channel, tally).smooth()
    for asked in ("interval", "standard_errors", "bootstrap"):
        with pytest.raises(dn.InvalidParameter, match="a smoothed result has no error bars"):
            getattr(soft, asked)()
    assert not soft.has_errors
    mean, median = mean_of(soft), quantile_of(soft, 0.5)
    assert mean.value == pytest.approx(float(soft.frequencies @ np.arange(51)))
    assert median.value == int((np.cumsum(soft.frequencies) < 0.5).sum())
    assert all(math.isnan(end) for one in (mean, median) for end in (one.stderr, one.low, one.high)), (
        "never an interval"
    )
    assert soft.frame(backend="polars").columns == ["value", "share", "count"]
    assert "per report is at most" in str(soft)


def test_shares_are_inside_their_own_intervals() -> None:
    """A share of 6e-13 was below its own low end of 1.5e-12: repeats end at other roundings."""
    channel = GeometricChannel(40, 0.3)
    result = mle(channel, sample_tally(channel, hill(40), 2000))
    low, high = result.interval(repeats=20)
    assert (low >= 0).all()
    assert (low <= result.frequencies).all()
    assert (result.frequencies <= high).all()
    assert (high <= 1).all()


@pytest.mark.long
def test_intervals_of_noisy_counts_cover() -> None:
    """Shares above 2 %, all of them and those of the worst value; intervals half as wide do not, so that it
    would be seen.
    """
    channel, truth = GeometricChannel(20, 1.0), hill(20, 0.4, 0.15)
    large = truth > 0.02
    held, halved = np.zeros(int(large.sum())), 0
    for study in range(COVERED_STUDIES):
        result = mle(channel, sample_tally(channel, truth, COVERED_PEOPLE, study))
        low, high = result.interval(repeats=COVERED_REPEATS, seed=study)
        held += ((low <= truth) & (truth <= high))[large]
        middle, half = (low + high) / 2, (high - low) / 4
        halved += int((np.abs(truth - middle) <= half)[large].sum())
    statistics.at_least(
        int(held.sum()), held.size * COVERED_STUDIES, 0.88, "bootstrap intervals hold the truth"
    )
    assert held.min() / COVERED_STUDIES > 0.8
    with pytest.raises(AssertionError):
        statistics.at_least(halved, held.size * COVERED_STUDIES, 0.88, "half of them do")


def test_repeats_are_exact_enough() -> None:
    """A repeat that begins nearby ends where one that begins anywhere does, but for far less than repeats
    scatter.
    """
    m = metric.square_wave(1.0, 30)
    result = mle(m, m.privatize(np.random.default_rng(1).binomial(29, 0.3, 5000), dn.seeded(1)))
    repeats = result.bootstrap(4, 1)
    generator = np.random.default_rng(1)
    for row in repeats:
        again = result.problem.again(result.frequencies, generator)
        assert isinstance(again, Counted)
        exact = mle(m.law.matrix(), dn.Tally(5000, again.counts))
        assert exact.log_likelihood - again.likelihood(row) <= 1e-3 / 5000 + 1e-9


# --- what people get wrong
# -----------------------------------------------------------------------------------------------


def test_arguments_at_the_wrong_position_are_named() -> None:
    m = metric.geometric(5, 1.0)
    tally = dn.Tally(6, np.ones(6, dtype=np.int64))
    with pytest.raises(dn.InvalidParameter, match="first the mechanism or channel, then its tally"):
        mle(tally, m)  # type: ignore[arg-type]
