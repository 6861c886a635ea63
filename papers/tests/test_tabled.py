"""Tables of any metric, in integers: held against their budget, their law and their estimates, as the
library's mechanisms are.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import statistics
from tests.mechanisms.test_every_mechanism import check_batch, compile_loops
from tests.metric.test_mechanisms import (
    SHARES,
    Distance,
    Ends,
    anywhere,
    check_estimates,
    check_exact,
    check_law,
    check_loops,
    check_sampled_law,
    line,
    on_grid,
    ranges,
)

import deniable as dn
from deniable.likelihood import mle
from deniable.metric import geometric
from deniable_papers.mechanisms import Tabled, exponential, tabled, tight_constraints

POINTS = np.random.default_rng(5).random((9, 2)) * 10
RANDOM = np.sqrt(((POINTS[:, None] - POINTS) ** 2).sum(axis=2))


def table_of(distance: Distance, k: int) -> list[list[float]]:
    return [[distance(x, y) for x in range(k)] for y in range(k)]


MAKERS: dict[str, tuple[Callable[[], Tabled], Distance, float]] = {
    "exponential on a line": (lambda: exponential(line, 1.0, 6), line, 1.0),
    "exponential with a floor": (lambda: exponential(line, 4.0, 12), line, 4.0),
    "exponential on points": (lambda: exponential(RANDOM, 0.7), lambda x, y: float(RANDOM[x, y]), 0.7),
    "tight on a line": (lambda: tight_constraints(line, 1.0, 6), line, 1.0),
    "tight on a plane": (
        lambda: tight_constraints(table_of(on_grid(3, "euclidean"), 9), 1.5),
        on_grid(3, "euclidean"),
        1.5,
    ),
}


@cache
def made(name: str) -> Tabled:
    return MAKERS[name][0]()


def ends_of(m: Tabled) -> Ends:
    sums = np.cumsum(m.weights, axis=1, dtype=np.uint64)[:, :-1]
    return [ranges([0, *{int(end) for end in sums.ravel()}])]


@pytest.mark.parametrize("compiled", [False, True], ids=["numpy", "compiled"])
@pytest.mark.parametrize("name", MAKERS)
def test_smallest_epsilon_is_the_nominal_one_or_below(
    name: str, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    compile_loops(monkeypatch, compiled)
    _, distance, epsilon = MAKERS[name]
    check_exact(made(name), distance, epsilon, ends=ends_of(made(name)))


@pytest.mark.parametrize("name", MAKERS)
def test_law_is_what_is_sampled(name: str) -> None:
    check_sampled_law(made(name), ends_of(made(name)))
    check_law(made(name), dn.seeded(1), made(name))
    check_batch(made(name), seed=8)


def test_a_moved_law_is_found() -> None:
    """A rate that is off by twice the stated one percent."""
    moved = exponential(line, 1 + 2 * statistics.MOVED_LAW, 6)
    with pytest.raises(AssertionError, match="outputs"):
        check_law(moved, dn.seeded(1), made("exponential on a line"))


def test_compiled_loops_equal_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    check_loops(exponential(line, 0.5, 40), monkeypatch)


@pytest.mark.parametrize("population", ["sampled", "fixed"])
@pytest.mark.parametrize("name", ["exponential on a line", "exponential on points"])
def test_estimates_scatter_as_they_say(name: str, population: str) -> None:
    shares = np.round(SHARES[made(name).k] * statistics.REPEAT_REPORTS) / statistics.REPEAT_REPORTS
    check_estimates(made(name), shares / shares.sum(), population)


def test_tables_are_values() -> None:
    """They are compared by their integers, can be looked up, and pickled; categories are not smoothed."""
    m = made("exponential on points")
    again = pickle.loads(pickle.dumps(m))
    assert again == m == MAKERS["exponential on points"][0]()
    assert hash(again) == hash(m)
    assert m != made("tight on a plane")
    assert m.loss_at(1e6) == m.loss()
    tally = m.tally(m.privatize(np.arange(2000) % 9, dn.seeded(2)))
    assert mle(m, tally).certified
    with pytest.raises(dn.InvalidParameter, match="for ordered values"):
        mle(m, tally).smooth()


def test_tight_constraints_exist_or_say_so() -> None:
    star = [[0 if x == y else 1 if 0 in (x, y) else 2 for x in range(9)] for y in range(9)]
    plane = table_of(on_grid(6, "euclidean"), 36)
    for metric, epsilon in ((star, 0.5), (star, 1.4), (plane, 0.1), (plane, 0.5)):
        with pytest.raises(dn.InvalidParameter, match="do not exist for this metric and epsilon"):
            tight_constraints(metric, epsilon)
    for metric, epsilon in ((plane, 1.0), (plane, 2.0), (table_of(anywhere, 7), 0.1)):
        m = tight_constraints(metric, epsilon)
        assert 0 <= epsilon - m.loss_at(1) < 1e-9
    cycle = [[min((x - y) % 8, (y - x) % 8) for x in range(8)] for y in range(8)]
    weights = tight_constraints(cycle, 0.3).law.matrix()
    np.testing.assert_allclose(weights[0], np.roll(weights[3], -3), rtol=1e-8)
    product = table_of(on_grid(4, "manhattan"), 12)
    sides = (geometric(n, 0.8).law.matrix() for n in (2, 3))
    np.testing.assert_allclose(tight_constraints(product, 0.8).law.matrix(), np.kron(*sides), rtol=1e-8)


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), k=st.integers(2, 9), epsilon=st.floats(0.01, 6.0))
def test_any_exponential_spends_its_epsilon(seed: int, k: int, epsilon: float) -> None:
    points = np.random.default_rng(seed).random((k, 2)) + 0.1 * np.arange(k)[:, None]
    table = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
    m = exponential(table, epsilon)
    truth = m.law.exact().loss_per(lambda x, y: table[x, y])
    assert truth - 1e-12 <= m.loss_per() <= epsilon
    assert epsilon - m.loss_per() < 1e-9 / table[table > 0].min()


def test_large_tables_of_any_metric(monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiled loop and numpy find the same pairs; what is no metric keeps its epsilon all the same."""
    points = np.random.default_rng(2).random((30, 2))
    table = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
    slow = exponential(table, 2.0)
    monkeypatch.setattr(tabled, "_COMPILE", 1)
    fast = exponential(table, 2.0)
    assert slow == fast
    assert slow.loss_at(1) == fast.loss_at(1)
    crooked = np.array([[0, 1, 5.0], [1, 0, 1], [5, 1, 0]])  # the way over 1 is shorter
    m = exponential(crooked, 0.5)
    truth = m.law.exact().loss_per(lambda x, y: crooked[x, y])
    assert truth - 1e-12 <= m.loss_at(1) <= 0.5
    assert 0.5 - m.loss_at(1) < 1e-8


def test_an_answer_at_random_is_as_far_as_any_value_of_a_table() -> None:
    """It was as far as the last value."""
    table = exponential(np.array([[0, 5, 1], [5, 0, 4], [1, 4, 0]]), 1.0)
    assert (table.distance(-1, 0), table.distance(2, -1), table.distance(-1, -1)) == (5, 4, 0)


def test_parameters_that_are_refused() -> None:
    cases: list[tuple[Callable[[], object], str]] = [
        (lambda: exponential(line, 1.0), "k, the number of values"),
        (lambda: exponential([[0, 1], [2, 0]], 1.0), "same in both directions"),
        (lambda: exponential([[0, 0], [0, 0]], 1.0), "positive distance"),
        (lambda: exponential([[0, 1]], 1.0), "square table"),
        (lambda: exponential([[0, 1], [1]], 0.5), "square table of numbers"),
        (lambda: exponential("abc", 0.5), "square table of numbers"),
        (lambda: exponential(line, 50.0, 5), "too large"),
        (
            lambda: exponential([[0, 1], [1, 0]], 1.0, 3),
            "k, the number of values, is 3, but the table has distances of 2",
        ),
        (lambda: exponential(abs, 1.0, 3), "a function of two values from 0 to 2"),  # type: ignore[arg-type]
        (lambda: exponential(line, 1e-11, 5), "too small"),
        (lambda: Tabled(np.full((2, 2), 2**62, dtype=np.uint64), np.array([[0, 1], [1, 0]])), "add up to 2"),
    ]
    for make, message in cases:
        with pytest.raises(dn.InvalidParameter, match=message):
            make()
