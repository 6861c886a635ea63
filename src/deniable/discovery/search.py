"""Searches a tree of prefixes level by level, and decides in the final group what is real."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deniable.arrays import Array
from deniable.discovery.decide import Decision, decide
from deniable.discovery.decode import Possible, find_survivors
from deniable.errors import InvalidParameter
from deniable.exact import whole_number
from deniable.mechanisms import Linear
from deniable.tables.answers import Show

MOST = 64
"""Prefixes that survive a level at most."""
_PARTS = 100  # of a level's progress


def discover(
    levels: Sequence[tuple[Linear, Array]],
    final: tuple[Linear, Array],
    *,
    alpha: float = 0.05,
    most: int = MOST,
    possible: Possible | None = None,
    show: Show | None = None,
) -> Decision:
    """Which codes many people have, from reports of prefixes, and of whole codes by a final group.

    `levels` are the mechanism and the reports of each level, the shortest prefix first and the whole code
    last. Everything but the candidates comes from the final group: its people chose none of them. Codes that
    are not `possible`, since no text has them, are no candidates.

    >>> from deniable import linear, seeded
    >>> levels = [linear(bits, 4.0) for bits in (10, 20, 20)]
    >>> people = np.array([77_777] * 600 + [123_456] * 400)
    >>> sent = [(m, m.privatize(people >> (20 - m.bits), seeded(m.bits + i))) for i, m in enumerate(levels)]
    >>> found = discover(sent[:-1], sent[-1])
    >>> found.codes[found.shown]
    array([ 77777, 123456])
    """
    most = whole_number("most, the number of prefixes that survive a level,", most, 1)
    _check_levels([level for level, _ in levels], final[0])
    prefixes, before, total = np.zeros(1, dtype=np.int64), 0, _PARTS * (len(levels) + 1)
    for done, (level, reports) in enumerate(levels):
        level.tally(reports)  # refuses what was never sent

        def progress(part: float, done: int = done) -> None:
            if show is not None:
                show(int(_PARTS * (done + part)), total)

        kept = find_survivors(level, reports, prefixes, level.bits - before, most, progress, possible)
        prefixes, before = kept.codes, level.bits
    made = decide(*final, prefixes, alpha)
    if show is not None:
        show(total, total)
    return made


def _check_levels(levels: Sequence[Linear], final: Linear) -> None:
    """Each level must extend the one before, and the last have all bits."""
    bits = [level.bits for level in levels]
    if not bits:
        raise InvalidParameter("there is no level that finds candidates; decide_listed takes a public list")
    if sorted(set(bits)) != bits or bits[-1] != final.bits:
        raise InvalidParameter(
            f"levels report longer and longer prefixes, the last all {final.bits} bits, got {bits}"
        )
