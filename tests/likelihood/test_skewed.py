"""Reports from one corner of a long line or a large grid: far from all people floats underflow, and every
search goes on.

Also what a search costs beside its arithmetic: steps that were not asked for, and threads that wait for each
other.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import deniable as dn
from deniable import metric
from deniable.likelihood import GeometricChannel, Likelihood, mle
from deniable.likelihood.certificate import Search
from deniable.likelihood.problem import Counted
from deniable.likelihood.rows import ONE_IS_ENOUGH, Dense, Rows, few_threads
from deniable.likelihood.steps import em, squarem
from deniable.metric.line import Decaying, tridiagonal

Floats = npt.NDArray[np.float64]
SEARCHES = ("auto", "interior", "em", "ibu", "squarem")


def skewed(n: int, epsilon: float) -> tuple[metric.Geometric, dn.Tally]:
    """5,000 counts of 40 or so, whatever the largest one is."""
    m = metric.geometric(n, epsilon)
    values = np.clip(np.random.default_rng(3).gamma(2, 20, 5000).astype(int), 0, n)
    return m, m.tally(m.privatize(values, dn.seeded(5)))


def assert_distribution(result: Likelihood) -> None:
    assert np.isfinite(result.frequencies).all()
    assert (result.frequencies >= 0).all()
    assert abs(result.frequencies.sum() - 1) < 1e-9
    assert np.isfinite(result.gap)
    assert np.isfinite(result.log_likelihood)


@pytest.mark.parametrize(("n", "epsilon"), [(1000, 1.0), (1000, 2.0), (100, 10.0)])
def test_far_values_that_underflow_do_not_end_a_search(n: int, epsilon: float) -> None:
    """EM drives far shares to zero, and there an output that nobody sent has the likelihood 0: 0 / 0 was the
    end of all.
    """
    m, tally = skewed(n, epsilon)
    exact = mle(m, tally)
    assert exact.certified
    for method in SEARCHES:
        result = mle(m, tally, method=method, iterations=600)
        assert_distribution(result)
        assert result.log_likelihood <= exact.log_likelihood + exact.gap + 1e-12
        assert exact.log_likelihood <= result.log_likelihood + result.gap + 1e-12
        assert exact.log_likelihood - result.log_likelihood < 1e-5
    soft = exact.smooth()
    assert_distribution(soft)
    assert soft.stop == "passes done"
    values = np.clip(np.random.default_rng(3).gamma(2, 20, 5000).astype(int), 0, n)
    truth = np.bincount(values, minlength=n + 1) / 5000
    off = [float(np.abs(np.cumsum(each.frequencies - truth)).sum()) for each in (exact, soft)]
    assert off[1] < 1.5 * off[0] + 0.2, (
        "the smoothed ones are about where the people are, on a line of 100 or 1,000"
    )


@pytest.mark.parametrize("reports", [1, 500])
@pytest.mark.parametrize("method", SEARCHES)
def test_all_reports_at_one_end(reports: int, method: str) -> None:
    m = metric.geometric(100, 10.0)
    tally = dn.Tally(reports, np.bincount([0] * reports, minlength=101))
    result = mle(m, tally, method=method)
    assert_distribution(result)
    assert result.frequencies[0] > 1 - 1e-9
    if reports > 1:
        soft = result.smooth()
        assert_distribution(soft)
        assert soft.frequencies[0] > 0.9
    else:
        with pytest.raises(dn.InvalidParameter, match="1 report cannot be dealt to 5 folds"):
            result.smooth()


class _Failing(Rows):
    """Rows whose products are numbers a few times, and then are not: what floats may come to."""

    def __init__(self, good: int) -> None:
        self.inner = Dense(np.array([[0.7, 0.2, 0.1], [0.1, 0.7, 0.2], [0.2, 0.1, 0.7]]))
        self.k = self.size = 3
        self.logs, self.good = self.inner.logs, good

    def forward(self, shares: Floats) -> Floats:
        return self.inner.forward(shares)

    def backward(self, weights: Floats) -> Floats:
        self.good -= 1
        return self.inner.backward(weights) * (1.0 if self.good > 0 else np.nan)

    def gram(self, weights: Floats) -> Floats:
        return self.inner.gram(weights)


@pytest.mark.parametrize("search", [em, squarem])
def test_what_is_not_a_number_ends_a_search_with_the_best_before(search: Callable[..., object]) -> None:
    for good in (1, 2, 5):
        found = search(_Failing(good), np.array([0.5, 0.3, 0.2]), Search("x", 1e-14, 1000))
        assert found.stop == "rounding limit"  # type: ignore[attr-defined]
        assert np.isfinite(found.shares).all()  # type: ignore[attr-defined]


def test_no_search_takes_more_steps_than_asked_for() -> None:
    """SQUAREM looked at its limit only between rounds of up to fifteen steps."""
    m, tally = skewed(300, 0.3)
    for method in ("squarem", "em", "interior"):
        for limit in (0, 1, 2, 5, 17, 100, 301):
            heard: list[int] = []
            result = mle(
                m,
                tally,
                method=method,
                iterations=limit,
                progress=lambda step, _, heard=heard: heard.append(step),  # type: ignore[misc]
            )
            assert result.iterations <= limit
            assert max(heard) <= limit
            assert_distribution(result)
            if method == "squarem":
                assert result.iterations == limit
                assert result.stop == "iteration limit"


def test_one_inverse_for_the_table_and_for_the_channel() -> None:
    """Of all positions and of some: the kernel of the pairs, inverted; far tails with all their digits."""
    positions = np.array([0, 1, 2, 5, 6, 11, 40])
    kernel = Decaying(positions, 0.3)
    assert np.allclose(np.array([kernel.solved(row) for row in kernel.table]), np.eye(7), atol=1e-12)
    assert np.allclose(tridiagonal(np.ones(3), np.full(2, 2.0), np.array([1.0, 10.0, 100.0])), [21, 212, 120])
    m = metric.geometric(400, 0.5)
    channel = GeometricChannel(400, m.rate)
    shares = np.zeros(401)
    shares[:10] = 0.1
    exact = shares @ m.law.matrix()
    assert exact[350] < 1e-18, "a few words of 2^64"
    assert np.allclose(m.forward(shares), exact, rtol=1e-9, atol=0), (
        "a Fourier transform of it all loses these"
    )
    assert np.allclose(m._inverse(exact), shares, atol=1e-12)
    inverse = np.linalg.inv(channel.matrix())
    assert np.allclose(channel.squares(shares), shares @ inverse**2, rtol=1e-9)
    assert np.allclose(channel.weighing(np.arange(401)), inverse @ np.arange(401), rtol=1e-9)


def test_small_searches_take_one_thread() -> None:
    """As many as before afterwards, also where two threads search at once and after an error."""

    def blas() -> set[int]:
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    with threadpool_limits(2, "blas"):
        seen: list[set[int]] = []
        m = metric.square_wave(1.0, 50)
        mle(m, m.privatize(np.arange(50), dn.seeded(1)), progress=lambda *_: seen.append(blas()))
        assert seen
        assert set().union(*seen) == {1}
        assert blas() == {2}
        with few_threads(2 * ONE_IS_ENOUGH):
            assert blas() == {2}
        with few_threads(2 * 2500.0**3):
            assert blas() == {1}, (
                "a table of 2,500 x 2,500: two threads took 4 to 6 s a step on busy cores, one 1 to 2 s"
            )
        others = [
            threading.Thread(target=mle, args=(m, m.privatize(np.arange(50), dn.seeded(i)))) for i in range(4)
        ]
        for thread in others:
            thread.start()
        for thread in others:
            thread.join()
        assert blas() == {2}
        with pytest.raises(ZeroDivisionError), few_threads(0.0):
            raise ZeroDivisionError
        assert blas() == {2}


def test_a_bootstrap_of_a_grid_is_not_minutes() -> None:
    """144 cells: a repeat begins next to the shares that were found, and by one thread. 200 repeats took ten
    minutes.
    """
    m = metric.planar_geometric((12, 12), 1.0)
    cells = np.clip(np.rint(np.random.default_rng(1).normal(4, 2, (20_000, 2))), 0, 11).astype(int)
    result = mle(m, m.privatize(cells @ [12, 1], dn.seeded(2)))
    assert isinstance(result.problem, Counted)
    heard: list[tuple[int, int]] = []
    start = time.process_time()
    low, high = result.interval(repeats=20, progress=lambda done, of: heard.append((done, of)))
    assert time.process_time() - start < 10, "0.4 s on a quiet core"
    assert heard == [(i, 20) for i in range(1, 21)]
    assert (low <= result.frequencies).all()
    assert (result.frequencies <= high).all()
    frame = mle(m, m.privatize(cells @ [12, 1], dn.seeded(2))).frame(
        repeats=5, backend="polars", progress=lambda *_: heard.clear()
    )
    assert heard == []
    assert (frame["low"] <= frame["share"]).all()
    assert (frame["share"] <= frame["high"]).all()
