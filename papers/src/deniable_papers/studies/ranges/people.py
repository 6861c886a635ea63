"""Describes the people whose ranges are estimated: smooth shares, and heaps at round values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import betainc

from deniable.arrays import Floats

_HEAPS = 64


def smooth_shares(k: int) -> Floats:
    """Shares of values whose people follow a beta law, Beta(2, 5)."""
    return np.asarray(np.diff(betainc(2, 5, np.arange(k + 1) / k)))


def heaped_shares(k: int) -> Floats:
    """The same, but 15 % of the people have one value, and 60 % round down to one of 64.

    The specification says that three quarters are at one value or at multiples of 1/64 of all. How many are
    at which is not stated; 15 % is what its errors of the square wave fit best, of 15, 20 and 25 %.
    """
    smooth, step = smooth_shares(k), k // _HEAPS
    shares = 0.25 * smooth
    shares[::step] += 0.6 * np.add.reduceat(smooth, np.arange(0, k, step))
    shares[k // 4 + 1] += 0.15
    return np.asarray(shares)


PEOPLE_OF: dict[str, Callable[[int], Floats]] = {"smooth": smooth_shares, "heaped": heaped_shares}
"""How people are spread, by name."""
