"""Decoding by transforms: equal to counting supports, level after level, whatever the sizes of blocks."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import deniable as dn
from deniable import discovery
from deniable.arrays import Array, Integers
from deniable.discovery import decode

EPSILONS = (0.5, 2.0, 6.0)


def send(bits: int, epsilon: float, seed: int) -> tuple[dn.Linear, Array, Integers]:
    """A mechanism, reports of people of whom a third has one code, and how many support every code."""
    m, generator = dn.linear(bits, epsilon), np.random.default_rng(seed)
    people = np.where(generator.random(800) < 1 / 3, 5, generator.integers(0, m.k, 800))
    sent = m.privatize(people, dn.seeded(seed))
    return m, sent, m.support(sent).sum(axis=0)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_transforms_count_what_reports_support(epsilon: float) -> None:
    m, sent, counts = send(11, epsilon, 1)
    for step in (1, 4, 11):
        prefixes = np.arange(1 << (11 - step))[:9]
        for at, found in decode._count_extensions(m, sent, prefixes, step):
            first = int(prefixes[at]) << step
            assert np.array_equal(found, counts[first : first + (1 << step)])
    assert np.array_equal(discovery.count_codes(m, sent, np.arange(m.k)), counts)


def test_small_blocks_and_few_cells_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    m, sent, counts = send(10, 2.0, 2)
    monkeypatch.setattr(decode, "_BLOCK", 100)
    monkeypatch.setattr(decode, "_CELLS", 1 << 6)
    tables = dict(decode._count_extensions(m, sent, np.arange(1 << 5), 5))
    assert np.array_equal(np.concatenate([tables[at] for at in range(1 << 5)]), counts)
    assert np.array_equal(discovery.count_codes(m, sent, np.arange(m.k)), counts)


def test_long_codes_are_counted_alike() -> None:
    """62 bits and 8 rows: the hash has more bits than a word."""
    m = dn.linear(62, 6.0)
    people = np.random.default_rng(3).integers(0, m.k, 300)
    sent = m.privatize(people, dn.seeded(3))
    prefix = np.array([people[0] >> 6])
    ((_, found),) = decode._count_extensions(m, sent, prefix, 6)
    each = m.supports_each(sent, (prefix << 6) + np.arange(64))
    assert np.array_equal(found, each.sum(axis=1))


def test_survivors_are_the_largest_above_chance() -> None:
    m, sent, counts = send(12, 4.0, 4)
    limit = decode.find_limit(m, len(sent), m.k)
    q = 1 / m.g
    reach = (limit - len(sent) * q) / np.sqrt(len(sent) * q * (1 - q))
    assert reach == pytest.approx(2.885, abs=0.4), "the quantile of 1 - 8 / 4096, and a count"
    parts: list[float] = []
    kept = discovery.find_survivors(m, sent, np.zeros(1, dtype=np.int64), 12, 3, parts.append)
    above = np.flatnonzero(counts >= limit)
    best = above[np.lexsort((above, -counts[above]))][:3]
    assert kept.codes.tolist() == best.tolist()
    assert kept.codes[0] == 5
    assert kept.counts.tolist() == counts[best].tolist()
    assert parts == [1.0]


def test_few_candidates_all_survive() -> None:
    m = dn.linear(3, 1.0)
    sent = m.privatize([1] * 20, dn.seeded(1))
    kept = discovery.find_survivors(m, sent, np.zeros(1, dtype=np.int64), 3, 64)
    assert sorted(kept.codes.tolist()) == list(range(8))


def test_steps_that_are_too_long_are_refused() -> None:
    m = dn.linear(40, 1.0)
    with pytest.raises(dn.InvalidParameter, match="1 to 24 bits, got 40"):
        discovery.find_survivors(m, m.privatize([1]), np.zeros(1, dtype=np.int64), 40, 64)


def test_cuts_cover_every_length() -> None:
    assert [discovery.cut_levels(bits) for bits in (30, 50, 60)] == [(15, 30), (20, 35, 50), (20, 40, 60)]
    for bits in range(1, 63):
        cuts = discovery.cut_levels(bits)
        assert cuts[-1] == bits
        steps = np.diff((0, *cuts))
        assert steps.min() > 0
        assert steps.max() <= 20
        assert len(cuts) in discovery.WEIGHTS
    for count, weights in discovery.WEIGHTS.items():
        assert len(weights) == count + 1
        assert len(set(weights[:-1])) <= 1
        assert count == 0 or weights[-1] / sum(weights) == pytest.approx(0.16)


def test_impossible_codes_take_no_place_of_possible_ones() -> None:
    m = dn.linear(12, 4.0)
    sent = m.privatize([5] * 400 + [6] * 300 + [9] * 200, dn.seeded(1))
    start = np.zeros(1, dtype=np.int64)
    every = discovery.find_survivors(m, sent, start, 12, 2)
    odd = discovery.find_survivors(m, sent, start, 12, 2, possible=lambda codes, _: codes % 2 == 1)
    assert every.codes.tolist() == [5, 6]
    assert odd.codes.tolist() == [5, 9]
    assert odd.counts.tolist() == discovery.count_codes(m, sent, odd.codes).tolist()


def test_short_codes_have_few_buckets_and_collide_nearly_evenly() -> None:
    for bits in (8, 10, 15, 20, 50):
        m = dn.linear(bits, 5.5)
        low, high = m.bound_other
        assert m.rows == min(8, max(1, bits - 7))
        assert high - low < Fraction(1, 250)
