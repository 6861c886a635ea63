"""Asks again and again without giving the answer away: what is kept, and what is fresh."""

from deniable.rounds.bitflip import BitFlip
from deniable.rounds.means import MemoizedMean
from deniable.rounds.memoized import HashedMemoized, Memoized, PooledMemoized, Repeated
from deniable.rounds.named import (
    dbitflip,
    l_duchi,
    l_grr,
    l_osue,
    l_oue,
    l_plh,
    l_rsfd,
    l_soue,
    l_sue,
    loloha,
)
from deniable.rounds.protocols import REPEATED, RepeatedProtocol

__all__ = [
    "REPEATED",
    "BitFlip",
    "HashedMemoized",
    "Memoized",
    "MemoizedMean",
    "PooledMemoized",
    "Repeated",
    "RepeatedProtocol",
    "dbitflip",
    "l_duchi",
    "l_grr",
    "l_osue",
    "l_oue",
    "l_plh",
    "l_rsfd",
    "l_soue",
    "l_sue",
    "loloha",
]


def __dir__() -> list[str]:
    return sorted(__all__)
