"""Asks again and again without giving the answer away: what is kept, and what is fresh."""

from deniable.mechanisms import Losses
from deniable.rounds.bitflip import BitFlip
from deniable.rounds.means import MemoizedMean
from deniable.rounds.memoized import HashedMemoized, Memoized, Repeated
from deniable.rounds.named import (
    FAKES_AGAIN,
    allomfree,
    dbitflip,
    fake_again,
    l_duchi,
    l_grr,
    l_osue,
    l_oue,
    l_rsfd,
    l_soue,
    l_sue,
    loloha,
)

__all__ = [
    "FAKES_AGAIN",
    "BitFlip",
    "HashedMemoized",
    "Losses",
    "Memoized",
    "MemoizedMean",
    "Repeated",
    "allomfree",
    "dbitflip",
    "fake_again",
    "l_duchi",
    "l_grr",
    "l_osue",
    "l_oue",
    "l_rsfd",
    "l_soue",
    "l_sue",
    "loloha",
]
