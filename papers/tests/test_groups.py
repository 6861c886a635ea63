"""Most likely shares of several groups of people together, who report in different ways."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.likelihood.test_mle import sample_tally
from tests.likelihood.test_smoothing import hill, plain_steps

import deniable as dn
from deniable import metric
from deniable.likelihood import GeometricChannel, Likelihood, mle
from deniable_papers.likelihood import mle_groups
from deniable_papers.mechanisms import ContinuousWave


def test_groups_of_continuous_waves_are_counted_in_the_same_bins() -> None:
    numbers = np.random.default_rng(1).beta(2, 5, 3000)
    waves = [ContinuousWave(0.5), ContinuousWave(2.0)]
    groups = [wave.count(wave.privatize(numbers, dn.seeded(i)), bins=20) for i, wave in enumerate(waves)]
    both = mle_groups(groups)
    assert (both.k, both.n, both.stop) == (20, 6000, "certified")
    assert float(both.frequencies @ np.arange(0.025, 1, 0.05)) == pytest.approx(numbers.mean(), abs=0.03)
    discrete = dn.metric.square_wave(1.0, bins=20)
    reports = discrete.privatize((numbers * 20).astype(int), dn.seeded(3))
    assert mle_groups([*groups, (discrete, reports)]).n == 9000


def test_groups_with_different_budgets() -> None:
    """Stacked rows are what one likelihood of all groups is; a group without reports of its own
    is refused.
    """
    generator = np.random.default_rng(3)
    values = np.minimum(generator.geometric(0.3, 6000) - 1, 9)
    strict, loose, line = dn.grr(10, 0.5), dn.grr(10, 3.0), GeometricChannel(9, 0.7)
    bits = dn.oue(10, 2.0)
    tallies = (
        strict.tally(strict.privatize(values[:2000], dn.seeded(1))),
        loose.tally(loose.privatize(values[2000:3000], dn.seeded(2))),
    )
    outputs = np.clip(values[3000:4500] + generator.integers(-1, 2, 1500), 0, 9)
    reports = bits.privatize(values[4500:], dn.seeded(3))
    result = mle_groups(
        [(strict, tallies[0]), (loose, tallies[1]), (line, outputs), (bits, reports)], tolerance=1e-8
    )
    assert result.certified
    assert result.n == 6000
    parts = [mle(strict, tallies[0]), mle(loose, tallies[1]), mle(line, outputs), mle(bits, reports)]
    total = sum(part.n * part.problem.likelihood(result.frequencies) for part in parts) / 6000
    assert math.isclose(total, result.log_likelihood, rel_tol=1e-12)
    for part in parts:
        level = (
            sum(other.n * other.problem.likelihood(0.9 * part.frequencies + 0.01) for other in parts) / 6000
        )
        assert level <= result.log_likelihood + result.gap
    for method in ("squarem", "em"):
        again = mle_groups([(strict, tallies[0]), (bits, reports)], method=method, tolerance=1e-6)
        assert again.certified
    with pytest.raises(dn.InvalidParameter, match="needs its reports"):
        mle_groups([(strict, tallies[0]), (bits, bits.tally(reports))])
    with pytest.raises(dn.InvalidParameter, match="at least one group"):
        mle_groups([])
    with pytest.raises(dn.InvalidParameter, match="same values"):
        mle_groups([(strict, tallies[0]), (dn.grr(3, 1.0), dn.Tally(3, np.array([1, 1, 1])))])
    assert result.bootstrap(2, 1).shape == (2, 10)


def test_groups_with_different_budgets_are_smoothed_together() -> None:
    """By the held-out likelihood of all of them: nearer than any group alone, and the same steps as those of
    one matrix.
    """
    truth, people = hill(60, 0.4, 0.1), 20_000
    lines = GeometricChannel(60, 0.1), GeometricChannel(60, 1.0)
    tallies = [sample_tally(line, truth, people // 2, seed) for seed, line in enumerate(lines)]
    rough = mle_groups(list(zip(lines, tallies, strict=True)))
    soft = rough.smooth()
    assert soft.smoothing is not None
    assert soft.stop == "passes done"
    alone = [mle(line, tally).smooth() for line, tally in zip(lines, tallies, strict=True)]

    def off(result: Likelihood) -> float:
        return float(((result.frequencies - truth) ** 2).sum())

    assert off(soft) < 0.1 * off(rough)
    assert off(soft) < off(alone[0])
    both = np.hstack(
        [line.matrix() / 2 for line in lines]
    )  # which group one is in is a coin that says nothing
    counts = np.concatenate([tally.counts for tally in tallies])
    wanted = plain_steps(both, counts / counts.sum(), soft.smoothing.weight, soft.smoothing.passes)
    assert np.allclose(soft.frequencies, wanted, rtol=1e-9, atol=1e-15)
    held = mle(both, dn.Tally(people, counts)).smooth().smoothing
    assert held is not None
    best = np.nanmax(np.array(held.held_out)) + math.log(2)  # the coin's own likelihood
    assert abs(best - np.nanmax(np.array(soft.smoothing.held_out))) < 0.01
    bits = dn.oue(61, 1.0)
    reports = bits.privatize(np.arange(61), dn.seeded(1))
    mixed = mle_groups([(lines[0], tallies[0]), (bits, reports)], ordered=True, method="em", iterations=1)
    with pytest.raises(dn.InvalidParameter, match="counted outputs"):
        mixed.smooth()


def test_empty_groups_are_left_out() -> None:
    m = metric.geometric(5, 1.0)
    tally, empty = dn.Tally(60, np.full(6, 10)), dn.Tally(0, np.zeros(6, dtype=np.int64))
    both = mle_groups([(m, tally), (m, empty), (m, np.zeros(0, dtype=np.int64))])
    assert both.n == 60
    assert np.allclose(both.frequencies, mle(m, tally).frequencies, atol=1e-6)
    for other in (dn.grr(4, 1.0), np.eye(4)):
        with pytest.raises(dn.InvalidParameter, match=r"all groups must have the same values, got \[3, 4\]"):
            mle_groups([(dn.grr(3, 1.0), dn.Tally(6, np.array([1, 2, 3]))), (other, [])])  # type: ignore[list-item]
    with pytest.raises(dn.InvalidParameter, match="no reports yet in any group"):
        mle_groups([(m, empty), (m, empty)])
    with pytest.raises(dn.InvalidParameter, match="a table of chances, got str"):
        mle_groups([("x", [])])  # type: ignore[list-item]
    with pytest.raises(dn.InvalidParameter, match=r"groups are a list of pairs.*got int"):
        mle_groups(5)  # type: ignore[arg-type]


def test_what_is_not_certified_warns() -> None:
    channel = GeometricChannel(20, 0.3)
    tally = sample_tally(channel, hill(20), 5000)
    with pytest.warns(dn.DeniableWarning, match="not certified"):
        mle_groups([(channel, tally), (channel, tally)], tolerance=1e-16)


def test_reports_of_groups_that_say_nothing_say_so() -> None:
    bits, line, nobody = dn.oue(4, 1e-5), metric.geometric(3, 1e-5), np.zeros(50, dtype=int)
    both = mle_groups(
        [
            (bits, bits.privatize(nobody, dn.seeded(1))),
            (line, line.tally(line.privatize(nobody, dn.seeded(1)))),
        ]
    )
    assert both.flat


def test_arguments_at_the_wrong_position_are_named() -> None:
    m = metric.geometric(5, 1.0)
    tally = dn.Tally(6, np.ones(6, dtype=np.int64))
    with pytest.raises(
        dn.InvalidParameter, match="a group is a pair of a mechanism and its tally or reports, got Geometric"
    ):
        mle_groups([m, m])  # type: ignore[list-item]
    with pytest.raises(dn.InvalidParameter, match="a group is a pair"):
        mle_groups([(m, tally, tally)])  # type: ignore[list-item]
    with pytest.raises(dn.InvalidParameter, match="first the mechanism"):
        mle_groups([(tally, m)])  # type: ignore[list-item]
    with pytest.raises(dn.InvalidParameter, match="as in mle_groups"):
        mle_groups((m, tally))  # type: ignore[arg-type]
