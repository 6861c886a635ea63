"""Local hashing by a public pool: exact chances, honest intervals, and what a plain pool would do to them."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import numpy as np
import pytest

import deniable as dn
from deniable.arrays import Integers
from deniable.exact import PRIME
from deniable.explain.guesses import compare_variances
from tests import statistics
from tests.cases import check_each

K = 100
REPORTS = 4_000_000
STUDIES = 20
"""Of all values each: 2,000 intervals, of which statistics.ALPHA lets 92.6 % pass for 95 %."""


def draw_zipf(k: int, n: int, generator: np.random.Generator) -> Integers:
    """How many of n people have each value, where the value of rank r has a share that goes as 1 / r."""
    weights = 1 / np.arange(1, k + 1)
    return np.asarray(generator.multinomial(n, weights / weights.sum()))


COUNTS = draw_zipf(K, REPORTS, np.random.default_rng(1))


def draw_support(
    mechanism: dn.mechanisms.Pooled, table: Integers, counts: Integers, generator: np.random.Generator
) -> Integers:
    """Counts of support where the functions have these buckets, a row each: a multinomial for each value."""
    functions, g = len(table), mechanism.g
    cells = np.zeros((functions, g), dtype=np.int64)
    for value, people in enumerate(counts.tolist()):
        kept = generator.binomial(people, mechanism.law.p)
        cells[np.arange(functions), table[:, value]] += generator.multinomial(
            kept, np.full(functions, 1 / functions)
        )
        others = generator.multinomial(
            people - kept, np.full(functions * (g - 1), 1 / (functions * (g - 1)))
        ).reshape(functions, g - 1)
        for step in range(1, g):
            cells[np.arange(functions), (table[:, value] + step) % g] += others[:, step - 1]
    return np.asarray(cells[np.arange(functions)[:, None], table].sum(axis=0))


def check_coverage(mechanism: dn.mechanisms.Pooled, table: Integers) -> None:
    generator, held = np.random.default_rng(2), 0
    for _ in range(STUDIES):
        tally = dn.Tally(REPORTS, draw_support(mechanism, table, COUNTS, generator))
        low, high = mechanism.estimate(tally).interval(0.95)
        held += int(((low <= COUNTS / REPORTS) & (high >= COUNTS / REPORTS)).sum())
    statistics.at_least(held, STUDIES * K, 0.95, "intervals that hold")


@pytest.mark.long
def test_intervals_hold_and_those_of_a_plain_pool_do_not() -> None:
    """Functions of the usual family, as many as a power of two, collide for some values more than for
    others: the estimates are biased, and with millions of reports that is all one sees.
    """
    mechanism = dn.mechanisms.plh(K, 1.0)
    pool = mechanism.pool
    check_coverage(mechanism, pool.buckets(np.arange(pool.size)[:, None], np.arange(K)))
    a, b = np.random.default_rng(3).integers(1, PRIME, (2, 1024, 1))
    plain = (a * np.arange(1, K + 1) + b) % PRIME % mechanism.g
    with pytest.raises(AssertionError, match="intervals that hold"):
        check_coverage(mechanism, plain)


def test_every_epsilon_has_a_pool_near_the_best_error() -> None:
    for k in (100, 1000, 20_000):
        for epsilon in (0.1, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 5.5):
            m = dn.mechanisms.plh(k, epsilon)
            assert m.law.error(1, 0.0) < 1.03 * dn.olh(k, epsilon).law.error(1, 0.0), (k, epsilon)
            assert m.loss() <= epsilon


def test_olh_with_a_pool_is_plh() -> None:
    assert dn.olh(1000, 1.0, pool=True) == dn.mechanisms.plh(1000, 1.0)
    small = dn.olh(1000, 1.0, pool=1024)
    assert isinstance(small, dn.mechanisms.Pooled)
    assert small == dn.mechanisms.plh(1000, 1.0, 1024)
    assert (small.g, small.pool.size) == (5, 781)
    assert small.law.error(1) > dn.mechanisms.plh(1000, 1.0).law.error(1)
    assert isinstance(dn.olh(1000, 1.0), dn.mechanisms.Hashed)


def test_pools_that_cannot_be_are_refused() -> None:
    def check(case: tuple[object, str]) -> None:
        pool, message = case
        with pytest.raises(dn.InvalidParameter, match=re.escape(message)):
            dn.mechanisms.plh(1000, 1.0, pool)  # type: ignore[arg-type]

    fewest = "pool, the number of hash functions, must be an integer of at least 38"
    cases = {repr(pool): (pool, f"{fewest}, got {pool!r}") for pool in (37, 0, -1, 1024.0, "1024", math.inf)}
    check_each(check, cases.items())
    assert dn.mechanisms.plh(1000, 1.0, 38).g == 37
    with pytest.raises(dn.InvalidParameter, match="k = 1048577 is too large for pooled encoding"):
        dn.mechanisms.plh((1 << 20) + 1, 1.0)
    with pytest.raises(dn.InvalidParameter, match="must be prime, got 4"):
        dn.mechanisms.Pooled(100, 4, 1 << 63)
    with pytest.raises(dn.InvalidParameter, match=r"at most 4,194,304 pairs .* take fewer buckets"):
        dn.mechanisms.Pooled(100_000, 251, 1 << 63)


@pytest.mark.parametrize(
    ("k", "epsilon", "cost"), [(1000, 1.0, "It takes 2.1 % more people"), (100, 4.0, "no more")]
)
def test_plans_explain_what_a_pool_costs(k: int, epsilon: float, cost: str) -> None:
    """The variance of a share that nobody has is larger by a factor that both laws give."""
    part = dn.mechanisms.plh(k, epsilon)
    plan = dn.Plan.of({"town": [str(i) for i in range(k)]}, part, people=1000)
    text = " ".join(plan.explain().split())
    counted = (
        f"'town' is hashed by one of {part.pool.size:,} public functions, and its reports are counted by"
    )
    assert f"{counted} function and bucket: {part.pool.cells:,} numbers" in text
    assert cost in text
    p, q = Fraction(part.keep, 1 << 64), part.pool.collision
    q = p * q + (1 - p) * (1 - q) / (part.g - 1)
    alone = dn.olh(k, part.loss()).law
    exact = float(q * (1 - q) / (p - q) ** 2) / (alone.q * (1 - alone.q) / (alone.p - alone.q) ** 2)
    assert compare_variances(part) == pytest.approx(exact, rel=1e-9)
    assert "public functions" not in dn.Plan.of({"town": ["a", "b"]}, dn.grr(2, 1.0), people=9).explain()
