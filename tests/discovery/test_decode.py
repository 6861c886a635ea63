"""Decoding by transforms: equal to counting supports, level after level, whatever the sizes of blocks."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

import deniable as dn
from deniable import discovery
from deniable.arrays import Array, Integers
from deniable.discovery import Passage, decode

EPSILONS = (0.5, 2.0, 6.0)
START = np.zeros(1, dtype=np.int64)


def send(bits: int, epsilon: float, seed: int) -> tuple[dn.mechanisms.Linear, Array, Integers]:
    """A mechanism, reports of people of whom a third has one code, and how many support every code."""
    m, generator = dn.mechanisms.linear(bits, epsilon), np.random.default_rng(seed)
    people = np.where(generator.random(800) < 1 / 3, 5, generator.integers(0, m.k, 800))
    sent = m.privatize(people, dn.seeded(seed))
    return m, sent, m.support(sent).sum(axis=0)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_transforms_count_what_reports_support(epsilon: float) -> None:
    m, sent, counts = send(11, epsilon, 1)
    for step in (1, 4, 11):
        prefixes = np.arange(1 << (11 - step))[:9]
        for at, places, found in decode._count_extensions(m, sent, prefixes, step):
            first = int(prefixes[at]) << step
            assert places.tolist() == list(range(1 << step))
            assert np.array_equal(found, counts[first : first + (1 << step)])
    assert np.array_equal(discovery.count_codes(m, sent, np.arange(m.k)), counts)


def test_small_blocks_and_few_cells_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    m, sent, counts = send(10, 2.0, 2)
    monkeypatch.setattr(decode, "_BLOCK", 100)
    monkeypatch.setattr(decode, "_CELLS", 1 << 6)
    tables = list(decode._count_extensions(m, sent, np.arange(1 << 5), 5))
    assert [at for at, _, _ in tables] == list(range(1 << 5))
    assert np.array_equal(np.concatenate([found for _, _, found in tables]), counts)
    assert np.array_equal(discovery.count_codes(m, sent, np.arange(m.k)), counts)


def test_long_codes_are_counted_alike() -> None:
    """62 bits and 8 rows: the hash has more bits than a word."""
    m = dn.mechanisms.linear(62, 6.0)
    people = np.random.default_rng(3).integers(0, m.k, 300)
    sent = m.privatize(people, dn.seeded(3))
    prefix = np.array([people[0] >> 6])
    ((_, _, found),) = decode._count_extensions(m, sent, prefix, 6)
    each = m.supports_each(sent, (prefix << 6) + np.arange(64))
    assert np.array_equal(found, each.sum(axis=1))


def test_survivors_are_the_largest_above_chance() -> None:
    m, sent, counts = send(12, 4.0, 4)
    limit = decode.find_limit(m, len(sent), m.k, 8)
    q = 1 / m.g
    reach = (limit - len(sent) * q) / np.sqrt(len(sent) * q * (1 - q))
    assert reach == pytest.approx(2.885, abs=0.4), "the quantile of 1 - 8 / 4096, and a count"
    parts: list[float] = []
    kept = discovery.find_survivors((m, sent), START, 12, Passage(8, 3), progress=parts.append)
    above = np.flatnonzero(counts >= limit)
    best = above[np.lexsort((above, -counts[above]))][:3]
    assert kept.codes.tolist() == best.tolist()
    assert kept.codes[0] == 5
    assert kept.counts.tolist() == counts[best].tolist()
    assert parts == [1.0]


def test_few_candidates_all_survive() -> None:
    m = dn.mechanisms.linear(3, 1.0)
    sent = m.privatize([1] * 20, dn.seeded(1))
    kept = discovery.find_survivors((m, sent), START, 3)
    assert sorted(kept.codes.tolist()) == list(range(8))


def test_steps_that_are_too_long_are_refused() -> None:
    m = dn.mechanisms.linear(40, 1.0)
    with pytest.raises(dn.InvalidParameter, match="30 bits at a time at most, got 40"):
        discovery.find_survivors((m, m.privatize([1])), START, 40)
    with pytest.raises(
        dn.InvalidParameter, match="more than 30 bits are not searched without levels, got 40"
    ):
        discovery.discover([], (m, m.privatize([1])))
    short = dn.mechanisms.linear(20, 1.0)
    with pytest.raises(dn.InvalidParameter, match=r"longer prefixes of all 40 bits, got \[20, 20\]"):
        discovery.discover([(short, short.privatize([1]))] * 2, (m, m.privatize([1])))


def test_long_steps_are_divided_into_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    m, sent, counts = send(12, 4.0, 5)
    whole = decode.list_supported((m, sent), START, 12, limit=20)
    monkeypatch.setattr(decode, "MOST_SIZE", 7)
    parts: list[float] = []
    divided = decode.list_supported((m, sent), START, 12, limit=20, progress=parts.append)
    assert divided.codes.tolist() == whole.codes.tolist()
    assert divided.counts.tolist() == counts[divided.codes].tolist()
    assert sorted(divided.codes.tolist()) == np.flatnonzero(counts >= 20).tolist()
    assert parts[-1] == 1.0
    assert len(parts) == 32


def test_cuts_cover_every_length() -> None:
    assert [discovery.cut_levels(bits) for bits in (30, 31, 45, 50, 60)] == [
        *((), (15,), (25,)),
        *((15, 30), (20, 40)),
    ]
    for bits in (1, 25, 26, *range(30, 36), 45, 46, 50, 51, 60, 61, 62):
        cuts = (*discovery.cut_levels(bits), bits)
        steps = np.diff((0, *cuts))
        assert steps.min() > 0
        assert steps[0] <= (25 if len(cuts) > 1 else 30)
        assert (steps[1:] <= 20).all()
        weights = discovery.divide_people(cuts)
        assert len(weights) == len(cuts)
        assert np.gcd.reduce(weights) == 1
        assert min(weights) > 0


def test_no_other_division_of_people_finds_rarer_values() -> None:
    """The limit of 50 bits at epsilon 2, where 4 % of the people move from one group to another."""
    levels = [dn.mechanisms.linear(bits, 2.0) for bits in (15, 30, 50)]
    shares = discovery.divide_people((15, 30, 50))
    assert sum(shares) == 100
    least = discovery.detection_limit(levels, shares, 10**6)
    for giver in range(3):
        for taker in range(3):
            moved = list(shares)
            moved[giver] -= 4
            moved[taker] += 4
            assert discovery.detection_limit(levels, moved, 10**6) >= 0.9999 * least
    assert least < 0.97 * discovery.detection_limit(
        [dn.mechanisms.linear(bits, 2.0) for bits in (20, 35, 50, 50)], (7, 7, 7, 4), 10**6
    )


class OddCodes:
    """Only odd codes are possible."""

    def are_possible(self, codes: Integers, bits: int) -> npt.NDArray[np.bool_]:
        return np.asarray(codes % 2 == 1)

    def count_possible(self, start: int, end: int) -> int:
        return 1 << (end - start)


def test_impossible_codes_take_no_place_of_possible_ones() -> None:
    m = dn.mechanisms.linear(12, 4.0)
    sent = m.privatize([5] * 400 + [6] * 300 + [9] * 200, dn.seeded(1))
    every = discovery.find_survivors((m, sent), START, 12, Passage(8, 2))
    odd = discovery.find_survivors((m, sent), START, 12, Passage(8, 2), OddCodes())
    assert every.codes.tolist() == [5, 6]
    assert odd.codes.tolist() == [5, 9]
    assert odd.counts.tolist() == discovery.count_codes(m, sent, odd.codes).tolist()


def test_levels_of_whole_codes_are_searched_by_the_numbers_of_the_specification() -> None:
    """Plans of that form exist: their final group decides what the last level found, at most 64 codes."""
    generator = np.random.default_rng(6)
    codes = np.where(generator.random(6000) < 0.5, 77, generator.integers(0, 1 << 16, 6000))
    levels = [dn.mechanisms.linear(bits, 2.0) for bits in (10, 16, 16)]
    sent = [(m, m.privatize(codes[i::3] >> (16 - m.bits), dn.seeded(i))) for i, m in enumerate(levels)]
    found = discovery.discover(sent[:-1], sent[-1])
    prefixes = discovery.find_survivors(sent[0], START, 10, discovery.HELD_OUT).codes
    last = discovery.find_survivors(sent[1], prefixes, 6, discovery.HELD_OUT).codes
    assert found.candidates == len(found.codes) == len(last) <= 64
    assert set(found.codes.tolist()) == set(last.tolist())
    assert found.codes[found.shown].tolist() == [77]
    assert found.n == 2000


def test_short_codes_have_few_buckets_and_collide_nearly_evenly() -> None:
    for bits in (8, 10, 15, 20, 50):
        m = dn.mechanisms.linear(bits, 5.5)
        low, high = m.bound_other
        assert m.rows == min(8, max(1, bits - 7))
        assert high - low < Fraction(1, 250)
