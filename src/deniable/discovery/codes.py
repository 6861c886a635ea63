"""Says which codes some value has: a search looks for nothing else."""

from __future__ import annotations

from typing import Protocol, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Integers


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
        """Which codes are possible: all of them."""
        return np.ones(len(codes), dtype=bool)

    def count_possible(self, start: int, end: int) -> int:
        """One for each value of the bits between."""
        return 1 << (end - start)


EVERY = EveryCode()
