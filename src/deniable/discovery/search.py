"""Searches a tree of prefixes level by level, and decides in the final group what is real."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from deniable.arrays import Array
from deniable.discovery.codes import EVERY, Codes
from deniable.discovery.cuts import WHOLE, find_passage
from deniable.discovery.decide import Decision, decide, decide_extensions
from deniable.discovery.decode import find_survivors
from deniable.errors import InvalidParameter
from deniable.frames.answers import Show
from deniable.mechanisms import Linear

_PARTS = 100  # of a level's progress


def discover(
    levels: Sequence[tuple[Linear, Array]],
    final: tuple[Linear, Array],
    *,
    alpha: float = 0.05,
    codes: Codes = EVERY,
    show: Show | None = None,
) -> Decision:
    """Which codes many people have, from reports of prefixes, and of whole codes by a final group.

    `levels` are the mechanism and the reports of each level, the shortest prefix first. The final group
    extends the prefixes that survive and decides which codes are real: its people chose no prefix. Where the
    last level reports whole codes, it decides which of them are. Codes that no value has are no candidates.

    >>> from deniable import seeded
    >>> from deniable.mechanisms import linear
    >>> levels = [linear(bits, 4.0) for bits in (10, 20)]
    >>> people = np.array([77_777] * 600 + [123_456] * 400)
    >>> sent = [(m, m.privatize(people >> (20 - m.bits), seeded(m.bits))) for m in levels]
    >>> found = discover(sent[:-1], sent[-1])
    >>> found.codes[found.shown]
    array([ 77777, 123456])
    """
    bits = [*(level.bits for level, _ in levels), final[0].bits]
    _check_bits(bits)
    passage, prefixes, before = find_passage(bits), np.zeros(1, dtype=np.int64), 0
    for done, (level, reports) in enumerate(levels):
        level.tally(reports)  # refuses what was never sent
        progress = _tell(show, done, len(bits))
        sent = (level, reports)
        prefixes = find_survivors(sent, prefixes, level.bits - before, passage, codes, progress).codes
        before = level.bits
    progress = _tell(show, len(levels), len(bits))
    if before == bits[-1]:
        decision = decide(*final, prefixes, alpha)
    else:
        decision = decide_extensions(final, prefixes, bits[-1] - before, alpha, codes, progress)
    progress(1.0)
    return decision


def _tell(show: Show | None, done: int, groups: int) -> Callable[[float], None]:
    """Shows how much is done, from what part of one group is."""

    def progress(part: float) -> None:
        if show is not None:
            show(int(_PARTS * (done + part)), _PARTS * groups)

    return progress


def _check_bits(bits: Sequence[int]) -> None:
    """Each level must extend the one before, and all must end in whole codes that can be searched."""
    if len(bits) == 1 and bits[0] > WHOLE:
        raise InvalidParameter(
            f"codes of more than {WHOLE} bits are not searched without levels, got {bits[0]}; "
            "decide_listed takes a public list"
        )
    levels = list(bits[:-1])
    if sorted(set(levels)) != levels or (levels and levels[-1] > bits[-1]):
        raise InvalidParameter(
            f"levels report longer and longer prefixes of all {bits[-1]} bits, got {levels}"
        )
