"""The searches of publications: EM with smoothing, and EM from the reported shares."""

from __future__ import annotations

import numpy as np
import pytest
from tests.likelihood.test_mle import sample_tally, skewed
from tests.likelihood.test_smoothing import hill

import deniable as dn
from deniable.likelihood import GeometricChannel, mle
from deniable.likelihood.steps import along
from deniable_papers.likelihood import mle_ems, mle_iteration
from deniable_papers.likelihood.searches import smoothed_121


def test_the_papers_iteration_reaches_the_same_optimum() -> None:
    for seed in range(5):
        generator = np.random.default_rng(seed)
        channel = GeometricChannel(12, float(generator.uniform(0.5, 2)))
        counts = generator.integers(0, 50, 13)
        tally = dn.Tally(int(counts.sum()), counts)
        exact, iterated = mle(channel, tally, tolerance=1e-8), mle_iteration(channel, tally, tolerance=1e-8)
        assert iterated.stop == "certified"
        assert abs(exact.log_likelihood - exact.problem.likelihood(iterated.shares)) <= 1e-8
    with pytest.raises(dn.InvalidParameter, match="begins at the reported shares"):
        mle_iteration(GeometricChannel(3, 1.0).matrix(), dn.Tally(4, np.array([1, 1, 1, 1])))


def test_ems_is_smooth_and_says_what_it_is() -> None:
    channel, truth = GeometricChannel(100, 0.1), hill(100)
    tally = sample_tally(channel, truth, 10_000)
    rough, soft = mle(channel, tally), mle_ems(channel, tally)
    assert soft.stop == "passes done"
    assert soft.gap > 1e-9
    assert np.abs(np.diff(soft.shares)).sum() < 0.2 * np.abs(np.diff(rough.frequencies)).sum()
    assert ((soft.shares - truth) ** 2).sum() < 0.1 * ((rough.frequencies - truth) ** 2).sum()


def test_ems_is_for_values_with_neighbors() -> None:
    generator = np.random.default_rng(1)
    tally = dn.Tally(2000, generator.multinomial(2000, np.full(20, 1 / 20)))
    with pytest.raises(dn.InvalidParameter, match="for ordered values"):
        mle_ems(dn.grr(20, 1.0), tally)
    assert mle_ems(dn.grr(20, 1.0), tally, ordered=True).shares.size == 20
    bits = dn.oue(20, 1.0)
    reports = bits.privatize(generator.integers(0, 20, 500), dn.seeded(1))
    assert mle_ems(bits, reports, ordered=True).shares.size == 20
    with pytest.raises(dn.InvalidParameter, match="EMS needs the reports"):
        mle_ems(bits, bits.tally(reports))
    soft = along((4, 5), smoothed_121)(np.eye(20)[2 * 5 + 2]).reshape(4, 5)
    assert np.allclose(soft, np.outer([0, 1 / 4, 1 / 2, 1 / 3], [0, 1 / 4, 1 / 2, 1 / 4, 0]))


@pytest.mark.parametrize(("n", "epsilon"), [(1000, 1.0), (100, 10.0)])
def test_far_values_that_underflow_do_not_end_a_search(n: int, epsilon: float) -> None:
    m, tally = skewed(n, epsilon)
    exact = mle(m, tally)
    for limit in (0, 1, 5, 600):
        for solution in (mle_ems(m, tally, iterations=limit), mle_iteration(m, tally, iterations=limit)):
            assert solution.iterations <= limit
            assert np.isfinite(solution.shares).all()
            assert abs(solution.shares.sum() - 1) < 1e-9
            reached = exact.problem.likelihood(solution.shares)
            assert reached <= exact.log_likelihood + exact.gap + 1e-12
            assert exact.log_likelihood <= reached + solution.gap + 1e-12
