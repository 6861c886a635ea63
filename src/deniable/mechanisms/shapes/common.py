"""Keeps a value or draws another, and finds the smallest integers that hold one."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from deniable.errors import InvalidParameter
from deniable.randomness import FULL, below, cell, chance
from deniable.randomness.draws import WordArray


def set_numbers(shape: object, **numbers: int) -> None:
    """Store checked numbers as Python's own integers, which do not overflow."""
    for name, number in numbers.items():
        object.__setattr__(shape, name, number)


def keep_or_other(values: WordArray, words: WordArray, k: int, keep: int) -> WordArray:
    """The value itself, or one of the k - 1 others, from two words each."""
    other = below(words[:, 1], k - 1)
    other += other >= values
    return np.where(chance(words[:, 0], keep), values, other)


def draw_members(words: WordArray, k: int) -> npt.NDArray[np.bool_]:
    """A uniform set of the k values for each row of words, one word a member, by Floyd's sampling."""
    n, size = words.shape
    members, rows = np.zeros((n, k), dtype=bool), np.arange(n)
    for draw in range(size):
        last = k - size + draw
        member = below(words[:, draw], last + 1).astype(np.int64)
        members[rows, np.where(members[rows, member], last, member)] = True
    return members


def keep_ratio(keep: int, k: int) -> Fraction:
    """A value is kept, or drawn by another from the rarest cell of `below`."""
    fewest, _ = cell(k - 1)
    return Fraction(keep * FULL, (FULL - keep) * fewest)


def check_keep(keep: int, k: int) -> None:
    """The true one of k values must be likelier than any other."""
    _, most = cell(k - 1)
    if keep * FULL <= (FULL - keep) * most:
        raise InvalidParameter(f"keep must be above 2^64 / {k} and below 2^64, got {keep}", "likelier")


@lru_cache(maxsize=1024)
def smallest(k: int) -> np.dtype[np.unsignedinteger]:
    """The smallest unsigned integer that holds 0 to k - 1, little-endian."""
    return np.dtype(f"<u{next(size for size in (1, 2, 4) if k <= 1 << 8 * size)}")
