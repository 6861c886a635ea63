"""Computes between what the lower bound of a right client is, from how often it is guessed right."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deniable.audit.bound import lower_epsilon
from deniable.estimate import exact_low

_TAIL = 1e-8  # the chance of each of three steps to be too narrow at the lower end
_USUAL = 0.025  # how often the upper end is exceeded


class Counts(NamedTuple):
    """How many devices there were, for how many of them there was a guess, and how many were right."""

    devices: int
    guesses: int
    right: int


def expected_range(right_client: Counts, devices: int, guesses: int, alpha: float) -> tuple[float, float]:
    """Finds the ends of the lower bound from that many devices of a right client, of which others were
    counted.

    Of right clients 3 in 10^8 at most are below the lower end; it counts what the counts themselves may be
    off. About 1 in 40 is above the upper end. More or fewer guesses than are likely count as the most or the
    fewest that are.
    """
    from scipy.stats import binom

    fewest, most = _find_shares(right_client.guesses, right_client.devices)
    least = float(binom.ppf(_TAIL, devices, fewest))
    count = float(np.clip(guesses, least, float(binom.isf(_TAIL, devices, most))))
    if count <= 0:
        return 0.0, float(lower_epsilon(devices, devices, alpha))
    low, _ = _find_shares(right_client.right, right_client.guesses)
    middle = right_client.right / max(1, right_client.guesses)
    ends = [binom.ppf(_TAIL, count, low), binom.isf(_USUAL, count, middle)]
    first, last = lower_epsilon(ends, [count, count], alpha).tolist()
    return first, max(first, last)


def _find_shares(count: int, total: int) -> tuple[float, float]:
    """Both ends of what such a count says of its probability, exactly (Clopper-Pearson)."""
    if not total:
        return 0.0, 1.0
    low, rest = exact_low(np.array([count, total - count], dtype=float), total, _TAIL).tolist()
    return low, 1 - rest
