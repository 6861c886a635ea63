"""Finds what must never come twice: report ids, and the same reports from the same start."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import final

import numpy as np

from deniable.audit.observations import HEADER, Bytes

_CERTAIN = 1e-9  # chance of a false alarm


@final
class Ids:
    """Report ids so far."""

    def __init__(self) -> None:
        self._seen: list[np.ndarray[tuple[int, int], np.dtype[np.uint64]]] = []

    def add(self, ids: Bytes) -> None:
        """The ids of a block, several rounds side by side."""
        if ids.size:
            self._seen.append(np.ascontiguousarray(ids).reshape(-1, 16).view(np.uint64))

    def repeated(self) -> int:
        """How many came again, in all of their 128 bits."""
        if not self._seen:
            return 0
        ids = np.concatenate(self._seen)
        ids = ids[np.lexsort((ids[:, 0], ids[:, 1]))]
        return int((ids[1:] == ids[:-1]).all(axis=1).sum())


def find_repetition(earlier: Sequence[bytes], later: Sequence[bytes], headed: bool) -> str | None:
    """What is wrong with the reports of two fresh starts, in words; None if nothing is.

    Independent reports of the same answer may come in any order: that both starts gave the very same sequence
    has a chance of one in the number of its different orders.
    """
    start = HEADER if headed else 0
    first, second = ([report[start:] for report in reports] for reports in (earlier, later))
    ids = [report[HEADER - 16 : HEADER] for report in (*earlier, *later)] if headed else []
    if len(set(ids)) < len(ids):
        return (
            "report ids come again: an observer of two reports knows that one source made them, and it is "
            "not random"
        )
    if first != second:
        return None
    orders = math.lgamma(len(first) + 1) - sum(math.lgamma(count + 1) for count in Counter(first).values())
    if orders < -math.log(_CERTAIN):
        return None
    return (
        f"from the same start it sent the same {len(first)} reports twice: its randomness is seeded or kept "
        "in its memory, not the operating system's, and anyone who has it can undo it"
    )
