"""Compiles the loop over the ids of reports."""

from __future__ import annotations

import numpy as np

from deniable.arrays import Array, Integers
from deniable.randomness.compilation import compiled


@compiled
def remember(names: Array, factors: Array, before: Array, last: Array, rows: Integers) -> int:
    """Put names into the last table that are in neither; write their numbers, and give how many they are."""
    count = 0
    for i in range(len(names)):
        a, b, c = names[i, 0], names[i, 1], names[i, 2]
        mixed = (
            (a ^ (a >> np.uint64(32))) * factors[0] + (b ^ (b >> np.uint64(32))) * factors[1] + c * factors[2]
        )
        mixed = (mixed ^ (mixed >> np.uint64(32))) * factors[0]
        mixed ^= mixed >> np.uint64(32)
        is_known, at = False, np.uint64(0)
        for table in (before, last):
            mask = np.uint64(len(table) - 1)
            at = mixed & mask
            while table[at, 2] != 0 and not (table[at, 0] == a and table[at, 1] == b and table[at, 2] == c):
                at = (at + np.uint64(1)) & mask
            is_known = is_known or table[at, 2] != 0
        if not is_known:  # where the search of the last table ended
            last[at, 0], last[at, 1], last[at, 2] = a, b, c
            rows[count] = i
            count += 1
    return count
