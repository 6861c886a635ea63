"""Says which codes some value has, into which prefixes levels cut them, and how many of these go on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Integers
from deniable.exact import whole_number
from deniable.randomness.toeplitz import MOST_BITS

WHOLE = 30
"""Bits of a code up to which all codes are counted, and nobody reports a prefix."""
STEP = 20
"""Bits that the final group, and every level but the first, add at most."""
_ALONE = 25  # bits of a prefix at most, where it is the only one
_FIRST = 15  # bits of the first prefix at least: shorter ones have fewer buckets, and err more


class Codes(Protocol):
    """Codes of some number of bits, not all of which need be possible."""

    def are_possible(self, codes: Integers, bits: int) -> npt.NDArray[np.bool_]:
        """Which codes, of their first `bits` bits, some value has."""

    def count_possible(self, start: int, end: int) -> int:
        """How many possible codes of `end` bits have the same first `start` bits, at most."""


@final
class EveryCode:
    """All codes are possible."""

    def are_possible(self, codes: Integers, bits: int) -> npt.NDArray[np.bool_]:
        return np.ones(len(codes), dtype=bool)

    def count_possible(self, start: int, end: int) -> int:
        return 1 << (end - start)


EVERY = EveryCode()


@final
class Passage(NamedTuple):
    """How many prefixes go on from a level."""

    chance: int
    """Prefixes that chance lets through, on average."""
    most: int
    """Prefixes that go on at most."""


HELD_OUT = Passage(8, 64)
"""Where the last level reports whole codes, and the final group only decides: the specification's numbers."""
EXTENDED = Passage(16, 64)
"""Where the final group extends the prefixes of the last level, and decides."""


def find_passage(bits: Sequence[int]) -> Passage:
    """What the levels of a plan let through, by the bits of each, and last of the final group."""
    return HELD_OUT if len(bits) > 1 and bits[-2] == bits[-1] else EXTENDED


def cut_levels(bits: int) -> tuple[int, ...]:
    """How many bits each level reports, from the shortest prefix up; the final group reports all.

    Every group is one more test that a value must pass, with fewer people in each. So there are as few as can
    be searched in seconds: no level up to 30 bits, one up to 45, then two.

    >>> cut_levels(30), cut_levels(45), cut_levels(50), cut_levels(62)
    ((), (25,), (15, 30), (22, 42))
    """
    bits = whole_number("bits, the length of a code,", bits, 1, MOST_BITS)
    if bits <= WHOLE:
        return ()
    last = bits - STEP
    return (max(_FIRST, last),) if last <= _ALONE else (max(_FIRST, last - STEP), last)
