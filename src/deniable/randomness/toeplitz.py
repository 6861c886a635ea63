"""Hashes codes of many bits by random bits t: bucket bit j is the parity of x & (t >> j).

Row j of the hash is t >> j, cut to the bits of a code. A hash is fair if its rows are independent where they
are cut to the leading bits of a code. Then it has full rank, and equally many codes in every bucket. t may
have more than 64 bits, so that it is held as a low and a high word.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array

MOST_BITS = 62
"""How many bits a code has at most: signed 64-bit integers hold it in every language, and "no answer"."""
MOST_ROWS = 8
"""Bits of a bucket, which is then one byte."""
SPARE = 13
"""Leading bits that there are beside as many as rows. Short texts end in zeros, and no hash may look at them
alone: with more spare bits, longer texts fit into one bucket; with fewer, codes collide less evenly.
"""

Halves = tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]
"""The low and the high words of hashes."""


def count_random(bits: int, rows: int) -> int:
    """How many random bits a hash has."""
    return bits + rows - 1


def mask_words(bits: int, rows: int) -> tuple[np.uint64, np.uint64]:
    """Which bits of the low and of the high word a hash has."""
    mask = (1 << count_random(bits, rows)) - 1
    return np.uint64(mask & 0xFFFFFFFFFFFFFFFF), np.uint64(mask >> 64)


def count_leading(bits: int, rows: int) -> int:
    """How many bits of a code, from the highest one, must make the rows of a hash independent."""
    return min(bits, rows + SPARE)


def fix_hash(bits: int) -> int:
    """The fair hash that stands for random bits which are not: the bucket is the highest bits of a code."""
    return 1 << (bits - 1)


def list_rows(low: Array, high: Array, bits: int, rows: int) -> npt.NDArray[np.uint64]:
    """The rows of each hash: an array of rows by hashes."""
    mask = np.uint64((1 << bits) - 1)
    hash_rows = np.empty((rows, len(low)), dtype=np.uint64)
    hash_rows[0] = low & mask
    for j in range(1, rows):
        hash_rows[j] = ((low >> np.uint64(j)) | (high << np.uint64(64 - j))) & mask
    return hash_rows


def are_fair(rows: npt.NDArray[np.uint64], bits: int) -> npt.NDArray[np.bool_]:
    """Which hashes, by their rows, are fair: cut to the leading bits, no row is a sum of others."""
    below = np.uint64(bits - count_leading(bits, len(rows)))
    independent = np.ones(rows.shape[1], dtype=bool)
    reduced: list[tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]] = []
    for row in rows:
        left = row >> below
        for earlier, pivot in reduced:
            left ^= np.where(left & pivot, earlier, np.uint64(0))
        independent &= left != 0
        reduced.append((left, left & (~left + np.uint64(1))))
    return independent


def hash_codes(rows: npt.NDArray[np.uint64], codes: Array) -> npt.NDArray[np.uint64]:
    """The bucket of each code under its own hash, or of one code under each."""
    codes = np.asarray(codes).astype(np.uint64)
    buckets = np.zeros(rows.shape[1], dtype=np.uint64)
    for j, row in enumerate(rows):
        parity = (np.bitwise_count(row & codes) & np.uint8(1)).astype(np.uint64)
        buckets |= parity << np.uint64(j)
    return buckets


def to_bytes(low: Array, high: Array, size: int) -> npt.NDArray[np.uint8]:
    """Hashes as rows of this many bytes, the lowest first."""
    pairs = np.stack([low, high], axis=1).astype("<u8")
    return pairs.view(np.uint8)[:, :size]


def from_bytes(written: Array) -> Halves:
    """The low and high words of hashes that `to_bytes` wrote."""
    pairs = np.zeros((len(written), 16), dtype=np.uint8)
    pairs[:, : written.shape[1]] = written
    words = pairs.view("<u8")
    return words[:, 0].astype(np.uint64), words[:, 1].astype(np.uint64)


def chance_dependent(bits: int, rows: int) -> Fraction:
    """How likely random bits make a hash that is not fair.

    >>> chance_dependent(50, 3) == Fraction(1, 2**14)
    True
    """
    return Fraction(1, 1 << (count_leading(bits, rows) - rows + 1))


def bound_collision(bits: int, rows: int) -> tuple[Fraction, Fraction]:
    """Between which ends the chance lies that two different codes share a bucket, whichever they are.

    Of all random bits one part in 2^rows lets them share it. What is not fair is drawn again, and then
    replaced by one fixed hash: of those, any part may have been theirs.
    """
    again, even = chance_dependent(bits, rows), Fraction(1, 1 << rows)
    return max(Fraction(0), (even - again) * (1 + again)), min(Fraction(1), even * (1 + again) + again**2)
