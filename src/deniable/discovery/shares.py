"""Divides people over the levels and the final group, so that values as rare as possible are found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from deniable.arrays import Array, Floats
from deniable.discovery.bisection import bisect
from deniable.discovery.codes import EVERY, Codes
from deniable.discovery.limits import list_tails

_PERCENT = 100


def divide_people(bits: Sequence[int], codes: Codes = EVERY) -> tuple[int, ...]:
    """How often each level and, last, the final group is drawn, by the bits that each reports.

    A value is found if it passes all groups. The shares are those at which the least common value has a power
    of one half. They depend on how many codes each group looks at, and not on epsilon or the people.

    >>> divide_people([15, 30, 50]), divide_people([30])
    ((22, 29, 49), (1,))
    """
    return _divide(tuple(list_tails(bits, codes)))


@lru_cache(maxsize=64)
def _divide(tails: tuple[float, ...]) -> tuple[int, ...]:
    from scipy.special import log_ndtr, ndtri

    needed = -np.asarray(ndtri(np.array(tails)))

    def list_margins(price: float) -> Floats:
        """How far above its threshold a value should be in each group, for a price of its log power.

        A group with the share a has the margin f sqrt(a) - needed, so that f^2 is the sum of
        (needed + margin)^2. It is least where every group gains as much power for the same.
        """

        def costs_more(margin: Array) -> Array:
            gain = np.exp(-(margin**2) / 2 - log_ndtr(margin)) / math.sqrt(2 * math.pi)
            return np.asarray(2 * (needed + margin) >= price * gain)

        return bisect(costs_more, -needed, np.full_like(needed, 8.0))

    def is_enough(price: Array) -> bool:
        return float(log_ndtr(list_margins(float(price))).sum()) >= math.log(0.5)

    margins = list_margins(float(bisect(is_enough, 0.0, 1e6)))
    parts = (needed + margins) ** 2
    percent = np.maximum(1, np.rint(_PERCENT * parts / parts.sum())).astype(np.int64)
    percent[-1] = _PERCENT - percent[:-1].sum()
    return tuple(int(part) for part in percent // np.gcd.reduce(percent))
