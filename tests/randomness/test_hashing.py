"""The hash family ((a (v + 1) + b) mod P) mod g: what is exactly true of it, by counting and by drawing from
it.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

import deniable as dn
from deniable.exact import PRIME
from deniable.randomness import kernels
from deniable.randomness.hashing import collision, hash_values, occupied_buckets
from deniable.randomness.simulated import fixed
from tests import statistics
from tests.cases import by_night
from tests.mechanisms.test_every_mechanism import compile_loops


def drawn(count: int, seed: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Functions of the family, drawn without the library's own sampler."""
    rng = np.random.default_rng(seed)
    return rng.integers(1, PRIME, count), rng.integers(0, PRIME, count)


def buckets(
    a: npt.NDArray[np.int64], b: npt.NDArray[np.int64], k: int, g: int, prime: int = PRIME
) -> npt.NDArray[np.int64]:
    """Every value's bucket under every function, by the definition."""
    return np.asarray((a[:, None] * np.arange(1, k + 1) + b[:, None]) % prime % g)


def distinct(rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """How many different buckets there are in each row."""
    ordered = np.sort(rows, axis=1)
    return np.asarray(1 + np.count_nonzero(ordered[:, 1:] != ordered[:, :-1], axis=1))


@pytest.mark.parametrize("g", [2, 3, 1000, PRIME - 1])
def test_hash_values_in_python_integers(g: int) -> None:
    a = np.array([1, 12345, PRIME - 1], dtype=np.uint32)
    b = np.array([0, 54321, PRIME - 1], dtype=np.uint32)
    table = hash_values(a, b, 50, g)
    assert table.tolist() == [
        [(x * (v + 1) + y) % PRIME % g for v in range(50)]
        for x, y in zip(a.tolist(), b.tolist(), strict=True)
    ]


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "numpy"])
def test_functions_are_in_range_at_the_ends_of_words(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """31 bits of a word for a from 1 to P - 1, the next 31 for b from 0 to P - 1; beyond the range both start
    over.
    """
    compile_loops(monkeypatch, compiled)
    m = dn.mechanisms.lh(5, 1.0, 3)
    numbers = [0, 1, PRIME - 3, PRIME - 2, PRIME - 1, PRIME]
    pairs = list(itertools.product(numbers, numbers))
    words = [word for x, y in pairs for word in (x << 33 | y << 2 | 3, 0, 0)]
    reports = m.privatize(np.arange(len(pairs)) % 5, fixed(words))
    assert reports["a"].tolist() == [x % (PRIME - 1) + 1 for x, _ in pairs]
    assert reports["b"].tolist() == [y % PRIME for _, y in pairs]
    expected = [
        ((x % (PRIME - 1) + 1) * (i % 5 + 1) + y % PRIME) % PRIME % 3 for i, (x, y) in enumerate(pairs)
    ]
    assert reports["bucket"].tolist() == expected, "the coin's word is 0, so every true bucket is kept"
    assert m.tally(reports).n == len(pairs)


@pytest.mark.parametrize("prime", [5, 7, 13, 31])
def test_collision_by_counting_all_functions(prime: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """For a small prime: all a and b, all pairs of values."""
    monkeypatch.setattr("deniable.randomness.hashing.PRIME", prime)
    a, b = (part.reshape(-1) for part in np.meshgrid(np.arange(1, prime), np.arange(prime)))
    for g in range(2, prime):
        table = buckets(a, b, prime - 1, g, prime)
        for other in range(1, prime - 1):
            assert collision(g) == Fraction(int((table[:, 0] == table[:, other]).sum()), a.size)


@pytest.mark.parametrize("g", [2, 3, 1000, PRIME - 1])
def test_collisions_are_about_one_in_g(g: int) -> None:
    assert abs(collision(g) * g - 1) < Fraction(g + 1, PRIME)


@pytest.mark.parametrize("g", [2, 3, 10, 1000])
def test_two_values_fill_two_buckets_unless_they_collide(g: int) -> None:
    assert math.isclose(occupied_buckets(2, g), 2 - 1 / g, rel_tol=1e-12)


@by_night(("k", "g"), [(3, 2), (5, 3), (4, 7), (12, 5), (9, 9)], (12, 5), (9, 9))
def test_occupied_buckets_by_counting_all_functions(k: int, g: int) -> None:
    """For two small primes, all a and b. Residues are not a circle, by an error that falls as 1 / P: two
    primes cancel it.
    """
    averages = []
    for prime in (509, 1021):
        a, b = (part.reshape(-1) for part in np.meshgrid(np.arange(1, prime), np.arange(prime)))
        averages.append(float(distinct(buckets(a, b, k, g, prime)).mean()))
        assert abs(averages[-1] - occupied_buckets(k, g)) < k / prime
    limit = (1021 * averages[1] - 509 * averages[0]) / (1021 - 509)
    assert math.isclose(limit, occupied_buckets(k, g), abs_tol=5e-4)


FAMILY = [(4, 3), (10, 4), (100, 56), (150, 149), (100, 7), (400, 150), (4000, 3500)]


def filled(k: int, g: int, seed: int) -> npt.NDArray[np.int64]:
    """How many buckets are occupied under each of many functions; fewer of them where there are
    many values.
    """
    parts = min(statistics.HASH_FUNCTIONS, 4_000_000 // k) // 500
    return np.concatenate([distinct(buckets(*drawn(500, seed + part), k, g)) for part in range(parts)])


@pytest.mark.parametrize(("k", "g"), FAMILY)
def test_occupied_buckets_by_drawing_functions(k: int, g: int) -> None:
    counts = filled(k, g, seed=0)
    error = counts.std() / math.sqrt(counts.size)
    statistics.deviation(
        float(counts.mean()), occupied_buckets(k, g), error, f"occupied buckets, k = {k} and g = {g}"
    )


@pytest.mark.parametrize(("k", "g"), FAMILY)
def test_best_guess_by_drawing_functions(k: int, g: int) -> None:
    """The attacker sees the function: in each bucket the best guess is a member, or anybody where there is
    none.
    """
    p = math.exp(2.0) / (math.exp(2.0) + g - 1)
    counts = filled(k, g, seed=100)
    successes = (counts * p + (g - counts) * (1 - p) / (g - 1)) / k
    error = successes.std() / math.sqrt(successes.size)
    statistics.deviation(
        float(successes.mean()),
        dn.mechanisms.lh(k, 2.0, g).success(),
        error,
        f"best guess, k = {k} and g = {g}",
    )


def test_best_guess_by_attacking_reports() -> None:
    """From reports alone: guess a supported value, else any."""
    k, n = 20, 200_000
    m = dn.olh(k, 2.0)
    values = dn.randomness.below(dn.seeded(1).take(n), k).astype(np.int64)
    holds = m.support(m.privatize(values, dn.seeded(2)))
    sizes = holds.sum(axis=1)
    # a uniform guess among the supported values is right with this chance
    chance = np.where(sizes > 0, holds[np.arange(n), values] / np.maximum(sizes, 1), 1 / k)
    statistics.deviation(float(chance.mean()), m.success(), chance.std() / math.sqrt(n), "attack on reports")


def test_an_ideal_hash_is_not_this_family() -> None:
    """With about as many buckets as values, the formula for independent buckets is up to 10 % off; else it is
    close.
    """

    def off(k: int, g: int) -> float:
        return g * (1 - (1 - 1 / g) ** k) / occupied_buckets(k, g) - 1

    assert -0.10 < off(150, 149) < -0.05
    assert abs(off(1000, 4)) < 0.01
    assert abs(off(4, 1000)) < 0.01
    assert max(abs(off(k, 149)) for k in range(2, 600, 7)) < 0.11
    m = dn.mechanisms.lh(150, 4.0, 149)
    assert 0.05 < m.success() / m.law.success() - 1 < 0.11


@pytest.mark.parametrize(
    ("k", "g"), [(2, 2), (3, 9), (64, 64), (150, 149), (500, 3), (1000, 1500), (1024, 57), (5000, 20)]
)
def test_compiled_walk_equals_the_table_of_pairs(k: int, g: int) -> None:
    assert math.isclose(g - g * kernels.uncovered(k, float(g)), occupied_buckets(k, g), rel_tol=1e-10)


@pytest.mark.long
def test_many_values_and_buckets_are_taken_from_a_smaller_problem() -> None:
    """The share of occupied buckets goes by k / g alone, to one in a million."""
    k, g = 17_000, 15_000
    assert math.isclose(g - g * kernels.uncovered(k, float(g)), occupied_buckets(k, g), rel_tol=1e-6)


def test_occupied_buckets_grow_with_values_and_with_buckets() -> None:
    """From one way of computing them to the next; never more than there are of either."""
    sizes = [2, 10, 1000, 1023, 1024, 1025, 1026, 3000]
    for g in (2, 57, 1023, 1024, 1025, 1500):
        some = [occupied_buckets(k, g) for k in sizes]
        assert all(one < other + 1e-9 for one, other in itertools.pairwise(some))
        assert all(full <= min(k, g) + 1e-9 for full, k in zip(some, sizes, strict=True))
    for k in sizes:
        more = [occupied_buckets(k, g) for g in (2, 57, 1023, 1024, 1025, 1500)]
        assert all(one < other + 1e-9 for one, other in itertools.pairwise(more))
