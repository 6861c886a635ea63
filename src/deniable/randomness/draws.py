"""Turns words into draws: an event of a given probability, or an integer below a bound."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from deniable.errors import InvalidParameter

WordArray = npt.NDArray[np.uint64]

FULL = 1 << 64
"""The number of different words: a threshold t means a probability of t / FULL."""
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


def chance(word: int | WordArray, threshold: int) -> npt.NDArray[np.bool_]:
    """Is true with probability threshold / 2^64.

    >>> chance(np.array([0, 5, 6], dtype=np.uint64), 6).tolist()
    [True, True, False]
    """
    if not 0 <= threshold < FULL:
        raise InvalidParameter(f"a threshold is an integer from 0 to 2^64 - 1, got {threshold}")
    return np.asarray(np.asarray(word, dtype=np.uint64) < np.uint64(threshold))


def below(word: int | WordArray, bound: int | WordArray) -> WordArray:
    """Turns a word into an integer from 0 to bound - 1, the high half of word * bound; bound is at most 2^32.

    >>> below(np.array([0, 2**63, 2**64 - 1], dtype=np.uint64), 6).tolist()
    [0, 3, 5]
    """
    bounds = np.asarray(bound)
    if bounds.dtype.kind not in "iu" or bool((bounds < 1).any()) or bool((bounds > FULL >> 32).any()):
        raise InvalidParameter(f"a bound is an integer from 1 to 2^32, got {bound}")
    scale = bounds.astype(np.uint64)
    words = np.asarray(word, dtype=np.uint64)
    high = (words >> _HALF) * scale
    return np.asarray((high + (((words & _LOW) * scale) >> _HALF)) >> _HALF, dtype=np.uint64)


def cell(bound: int) -> tuple[int, int]:
    """The fewest and the most words that `below` sends to one integer: the bias that a loss must count."""
    return FULL // bound, -(-FULL // bound)
