"""The public pool of hash functions: any two values collide equally often, and sums over it are exact."""

from __future__ import annotations

import time

import numpy as np
import pytest

from deniable.randomness.pool import HashPool

POOLS = [(2, 2), (3, 2), (9, 3), (10, 3), (7, 11), (50, 53), (130, 5), (300, 17), (400, 3)]
"""Numbers of values and buckets: as many as the digits tell apart, one more, and few values for the buckets.
Some are summed by transforms, those with few values for their buckets by hashing.
"""


def hash_all(pool: HashPool) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """The buckets of all values, by the definition in spec/wire.md."""
    table = np.zeros((pool.size, pool.k), dtype=np.int64)
    for function in range(pool.size):
        rest, subtracted = function, 0
        while rest >= pool.g**subtracted:
            rest -= pool.g**subtracted
            subtracted += 1
        for digit in range(subtracted):
            multiple = rest // pool.g**digit % pool.g
            table[function] += multiple * (np.arange(pool.k) // pool.g**digit % pool.g)
        table[function] += np.arange(pool.k) // pool.g**subtracted % pool.g
    return table % pool.g


def count_collisions(table: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> set[int]:
    """Under how many functions two different values share a bucket, for all of them."""
    together = sum((row[:, None] == row).astype(np.int64) for row in table)
    assert isinstance(together, np.ndarray)
    return set(together[~np.eye(len(together), dtype=bool)].tolist())


@pytest.mark.parametrize(("k", "g"), POOLS)
def test_any_two_values_collide_equally_often(k: int, g: int) -> None:
    pool = HashPool(k, g)
    table = hash_all(pool)
    assert (pool.buckets(np.arange(pool.size)[:, None], np.arange(k)) == table).all()
    assert count_collisions(table) == {pool.collision * pool.size}


@pytest.mark.parametrize(("k", "g"), POOLS)
def test_sizes_of_buckets_are_those_of_all_buckets(k: int, g: int) -> None:
    pool = HashPool(k, g)
    held = np.concatenate([np.bincount(row, minlength=g) for row in hash_all(pool)])
    sizes, buckets = np.unique(held, return_counts=True)
    assert [array.tolist() for array in pool.count_sizes()] == [sizes.tolist(), buckets.tolist()]


def test_the_sizes_of_millions_of_buckets_take_no_time() -> None:
    """The law of plh(10**5, 20) took half a minute: every bucket was filled."""
    start = time.process_time()
    pool = HashPool(100_000, 157)
    sizes, buckets = pool.count_sizes()
    assert int(buckets.sum()) == pool.cells
    assert int(sizes @ buckets) == pool.size * pool.k
    assert time.process_time() - start < 1


def test_a_pool_without_one_function_is_found_out() -> None:
    table = hash_all(HashPool(130, 5))
    assert all(len(count_collisions(np.delete(table, left_out, axis=0))) > 1 for left_out in (0, 30, 155))


def test_three_values_collide_by_whether_they_are_on_a_line() -> None:
    pool = HashPool(27, 3)
    table = hash_all(pool)

    def together(*values: int) -> int:
        return int((table[:, values] == table[:, values[:1]]).all(axis=1).sum())

    assert together(0, 1, 2) == together(4, 17, 18) == pool.collision * pool.size  # 011, 122 and 200
    assert together(0, 1, 3) == together(4, 17, 22) == pool.collision_of_three * pool.size


@pytest.mark.parametrize(("k", "g"), POOLS)
def test_sums_are_those_of_all_buckets(k: int, g: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniable.randomness.pool._AT_ONCE", 500)  # parts of a few functions
    generator, pool = np.random.default_rng(1), HashPool(k, g)
    table = hash_all(pool)
    weights, cells = generator.integers(0, 99, (2, k)), generator.integers(0, 99, (2, pool.size, g))
    sums = [[np.bincount(row, one, g) for row in table] for one in weights]
    support = [one[np.arange(pool.size)[:, None], table].sum(axis=0) for one in cells]
    assert (pool.sum_buckets(weights) == sums).all()
    assert (pool.sum_buckets(weights[0]) == sums[0]).all()
    assert (pool.sum_support(cells) == support).all()
    monkeypatch.setattr("deniable.randomness.pool._FEW", 0)
    assert (pool.sum_support(cells[0]) == support[0]).all()
