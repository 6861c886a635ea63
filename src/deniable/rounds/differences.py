"""Says how far the difference of two rounds may be off: by noise that is kept or not, and by who was drawn.

Noise that a person keeps for an answer is in both rounds, and cancels; that for another answer is
independent. So what people keep of noise is never against a difference. Only the drawing of people can be: if
all of them swap their answers, who was drawn by chance errs twice. What a round errs by drawing is known, so
that its worst case is, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np

from deniable.arrays import Floats
from deniable.records import RecordMechanism
from deniable.rounds.memoized import HashedMemoized, PooledMemoized

People = Literal["population", "same", "others", "linked"]
"""Whose change is meant: of the population that people are drawn from, of the very people who reported, of
the population if other people answered each time, or of those who answered both rounds, by linked reports.
"""
Kind = Literal["value", "group", "mean"]
"""What is compared: the share of a value or of a group of them, or a mean."""
_ROUNDED = 1e-12  # a chance that fakes have of one value more than of another, by rounding
VALIDITY: Mapping[str, str] = {
    "same": "change from the very people who reported in the earlier round to those in the later one",
    "population": "change of the population that people are drawn from, whether or not they answered twice",
    "others": "change of the population that people are drawn from, if other people answered in each round",
    "linked": "change of the people who answered both rounds",
}
"""Whose change it is, in words."""


class Spread(NamedTuple):
    """The variance of a round's numbers in two: by noise, and by which people were drawn; each at most."""

    noise: Floats
    drawn: Floats


def find_against(record: RecordMechanism, attribute: int, kind: Kind = "value") -> float:
    """How much of the mean variance of two rounds' noise may be against their difference, at most.

    None of it is where noise is fresh in every round, or where noise that is kept for different values is
    independent; of means, where there are no fakes, since one that is far from both answers is kept as well.
    Hashed values share a bucket or not by one function that is kept: at worst, three never share one. In a
    public pool it is known how often three do. Of other noise that people keep nothing is known.

    >>> from deniable.records import Single
    >>> from deniable.rounds import l_grr, l_plh, loloha
    >>> record = Single(loloha(40, 1.0, 2.0))
    >>> round(find_against(record, 0), 4), find_against(record, 0, "mean")
    (0.0301, 1.0)
    >>> round(find_against(Single(l_plh(40, 1.0, 2.0)), 0), 4), find_against(Single(l_grr(40, 1.0, 2.0)), 0)
    (0.0034, 0.0)
    """
    part, fake = record.mechanisms[attribute], record.fake(attribute)
    if fake is not None and (kind == "mean" or np.ptp(fake.supported) >= _ROUNDED):
        return 1.0
    if part.keeps_apart or (fake is None and not part.repeated):
        return 0.0
    if kind != "value" or fake is not None or not isinstance(part, HashedMemoized | PooledMemoized):
        return 1.0
    g, p = part.g, part.law.p
    other = (1 - p) / (g - 1)
    if isinstance(part, HashedMemoized):
        return ((p - other) / g) ** 2 / ((1 - 1 / g) / g)
    q, apart = part.law.q, float(part.pool.collision**2 - part.pool.collision_of_three)
    return (p - other) ** 2 * max(apart, 0.0) / (q * (1 - q))


def find_correlation(earlier: Spread, later: Spread, against: float) -> Floats:
    """The least correlation that two rounds' numbers can have, whoever answered in both.

    Where all noise may be against a difference, its error is at most the sum of both.
    """
    if against >= 1.0:
        return np.full(np.shape(later.noise), -1.0)
    covariance = against * (earlier.noise + later.noise) / 2 + np.sqrt(earlier.drawn * later.drawn)
    scale = np.sqrt((earlier.noise + earlier.drawn) * (later.noise + later.drawn))
    return -np.divide(covariance, scale, out=np.zeros_like(covariance), where=scale > 0).clip(0.0, 1.0)


def combine_reaches(reach: Floats | float, other: Floats | float, correlation: Floats | float) -> Floats:
    """How far a difference reaches, of two numbers that reach this far and depend on each other so much."""
    return np.asarray(np.sqrt(np.maximum(reach**2 + other**2 - 2 * correlation * reach * other, 0.0)))
