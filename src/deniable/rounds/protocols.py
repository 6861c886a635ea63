"""Lists the protocols for asking again by name, for the command line: each made from k and one epsilon."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from deniable.mechanisms.protocols import Row
from deniable.rounds.bitflip import BitFlip
from deniable.rounds.memoized import Memoized, MemoizedBuckets
from deniable.rounds.named import dbitflip, l_grr, l_osue, l_oue, l_plh, l_soue, l_sue, loloha


@final
@dataclass(frozen=True)
class RepeatedProtocol(Row):
    """A row of the table: which function makes a mechanism for asking again, and how it is called."""

    function: Callable[..., Memoized | MemoizedBuckets | BitFlip]
    make: Callable[[int, float], Memoized | MemoizedBuckets | BitFlip]
    """Calls the function for k values: epsilon bounds all reports of one value, half of it one report."""


def _halve(
    function: Callable[[int, float, float], Memoized | MemoizedBuckets],
) -> Callable[[int, float], Memoized | MemoizedBuckets]:
    return lambda k, epsilon: function(k, epsilon / 2, epsilon)


REPEATED: dict[str, RepeatedProtocol] = {
    row.name: row
    for row in (
        *(RepeatedProtocol(function, _halve(function)) for function in (l_grr, l_sue, l_oue, l_osue, l_soue)),
        RepeatedProtocol(loloha, _halve(loloha)),
        RepeatedProtocol(l_plh, _halve(l_plh)),
        RepeatedProtocol(dbitflip, lambda k, epsilon: dbitflip(k, epsilon, k)),
    )
}
"""Every protocol for asking again, by name; `dbitflip` reports all bits, and no second noise hides them."""
