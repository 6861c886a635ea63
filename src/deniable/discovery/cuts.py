"""Cuts a code into the prefixes that levels report, and divides people over the levels."""

from __future__ import annotations

from deniable.exact import whole_number
from deniable.words.toeplitz import MOST_BITS

FIRST, STEP = 20, 15
"""Bits of the first prefix at most, and usual bits of a later step: all their values are counted at once."""

WEIGHTS: dict[int, tuple[int, ...]] = {
    0: (1,),
    1: (21, 4),
    2: (21, 21, 8),
    3: (7, 7, 7, 4),
    4: (21, 21, 21, 21, 16),
}
"""How often a person draws each level and, last, the final group, by the number of levels.

The final group has 16 % of people, the levels have equal parts of the rest.
"""


def cut_levels(bits: int) -> tuple[int, ...]:
    """How many bits each level reports, from the shortest prefix to the whole code.

    Few large steps find rarer values than many small ones. The first step is the largest: it has one prefix
    to extend, and later ones up to 64.

    >>> cut_levels(30), cut_levels(50), cut_levels(62)
    ((15, 30), (20, 35, 50), (17, 32, 47, 62))
    """
    bits = whole_number("bits, the length of a code,", bits, 1, MOST_BITS)
    count = -(-bits // FIRST)
    first = min(FIRST, max(bits - STEP * (count - 1), -(-bits // count)))
    cuts, left = [first], bits - first
    for steps in range(count - 1, 0, -1):
        step = -(-left // steps)
        cuts.append(cuts[-1] + step)
        left -= step
    return tuple(cuts)
