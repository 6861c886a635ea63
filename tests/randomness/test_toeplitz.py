"""Linear hashes: ranks and collisions by counting all of them at small sizes, and their buckets."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

from deniable.randomness import toeplitz

Hashes = npt.NDArray[np.uint64]

SIZES = [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3), (6, 2), (6, 6), (8, 3)]


def list_all(bits: int, rows: int) -> tuple[Hashes, Hashes]:
    """All random bits of this size, and the rows of their hashes."""
    every = np.arange(1 << toeplitz.count_random(bits, rows), dtype=np.uint64)
    return every, toeplitz.list_rows(every, np.zeros_like(every), bits, rows)


@pytest.fixture(params=[0, 1, 2, toeplitz.SPARE])
def spare(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Other numbers of spare bits, so that codes of a few bits have some that do not lead."""
    monkeypatch.setattr(toeplitz, "SPARE", request.param)
    return int(request.param)


def hash_slowly(code: int, random: int, rows: int) -> int:
    """The bucket by its definition, with Python's integers."""
    return sum(((code & (random >> j)).bit_count() & 1) << j for j in range(rows))


@pytest.mark.parametrize(
    ("code", "random", "rows", "bucket"),
    [
        (0x3, 0xB, 2, 2),
        (0x123456789ABCD, 0xFEDCBA9876543210, 6, 20),
        (0, 0x123456789ABCDEF, 3, 0),
        (0xC34000000000, 0x123456789ABCDEF, 3, 1),
        (0x3FFFFFFFFFFFFFFF, 0x1ABCDEF0123456789A, 8, hash_slowly((1 << 62) - 1, 0x1ABCDEF0123456789A, 8)),
    ],
)
def test_buckets_are_those_of_the_specification(code: int, random: int, rows: int, bucket: int) -> None:
    low, high = (np.array([part], dtype=np.uint64) for part in (random & (1 << 64) - 1, random >> 64))
    found = toeplitz.hash_codes(toeplitz.list_rows(low, high, 62, rows), np.array([code]))
    assert found.tolist() == [bucket] == [hash_slowly(code, random, rows)]


def test_hashes_go_through_bytes() -> None:
    low, high = np.random.default_rng(1).integers(0, 1 << 63, (2, 50), dtype=np.uint64)
    high &= np.uint64(31)
    again = toeplitz.from_bytes(toeplitz.to_bytes(low, high, 9))
    assert [part.tolist() for part in again] == [low.tolist(), high.tolist()]
    assert bytes(toeplitz.to_bytes(low, high, 9)[0]) == (int(low[0]) | int(high[0]) << 64).to_bytes(
        9, "little"
    )


@pytest.mark.parametrize(("bits", "rows"), SIZES)
def test_hashes_are_fair_if_their_leading_bits_are_independent(bits: int, rows: int, spare: int) -> None:
    every, listed = list_all(bits, rows)
    fair = toeplitz.are_fair(listed, bits)
    lowest = np.uint64(1 << (bits - min(bits, rows + spare)))
    sums = np.zeros((1 << rows, every.size), dtype=np.uint64)
    for chosen in range(1, 1 << rows):
        for j in range(rows):
            sums[chosen] ^= listed[j] * np.uint64(chosen >> j & 1)
    assert np.array_equal(fair, (sums[1:] >= lowest).all(axis=0)), "a sum of rows has a leading bit"
    assert Fraction(int((~fair).sum()), every.size) == toeplitz.chance_dependent(bits, rows)


@pytest.mark.parametrize(("bits", "rows"), SIZES)
@pytest.mark.usefixtures("spare")
def test_codes_collide_as_often_as_is_said(bits: int, rows: int) -> None:
    """All random bits: exactly 1 / g. What is sent, by its exact law: between the ends that are stated."""
    every, listed = list_all(bits, rows)
    fair = toeplitz.are_fair(listed, bits)
    again, low, high = toeplitz.chance_dependent(bits, rows), *toeplitz.bound_collision(bits, rows)
    fixed = toeplitz.fix_hash(bits)
    assert fair[fixed]
    zeros = []
    for difference in range(1, 1 << bits):
        together = toeplitz.hash_codes(listed, np.array(difference)) == 0
        assert int(together.sum()) << rows == every.size
        sent = Fraction(int((together & fair).sum()), every.size) * (1 + again)
        sent += again**2 * int(together[fixed])
        assert low <= sent <= high
        zeros.append(sent)
    average = Fraction((1 << (bits - rows)) - 1, (1 << bits) - 1)
    assert sum(zeros, Fraction(0)) / len(zeros) == average, "a fair hash fills its buckets evenly"


def test_long_codes_collide_with_one_over_g_but_for_little() -> None:
    low, high = toeplitz.bound_collision(50, 3)
    assert low < Fraction(1, 8) < high
    assert high - low < Fraction(1, 2**14) + Fraction(1, 10**5)
    assert high < Fraction(1, 8) * (1 + Fraction(1, 10**4))
