"""Computes how a weighted sum of shares of one level scatters, from the law of its reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from deniable.law import Law
from deniable.law.pairs import Alike


@final
@dataclass(frozen=True)
class Scatter:
    """The variance of a weighted sum of estimated shares, from one report of a person drawn from the shares.

    With weights w and shares f it is base sum(w^2) + slope sum(f w^2) + square A^2 + cross A F - F^2, where
    A = sum(w) and F = sum(f w). All two values are taken to be supported together equally often. That is so
    for values, sets and bits. For hashes it is true on average over people who are spread; `Ties` has what
    a pool adds where many people have one value.

    >>> from deniable.mechanisms import oue
    >>> noise = Scatter.of(oue(k=100, epsilon=1.0).law)
    >>> round(noise.base, 4), round(noise.slope, 4), abs(noise.cross) < 1e-9
    (3.6827, 2.0, True)
    """

    base: float
    slope: float
    square: float
    cross: float

    @staticmethod
    def of(law: Law) -> Scatter:
        """From how likely a report supports one value, or two."""
        pairs = Alike.of_sizes(law.k, law.p, law.q, law.sizes, law.inside, law.outside)
        gain, more = law.gain, pairs.together - pairs.apart
        return Scatter(
            base=(law.q - pairs.apart) / gain**2,
            slope=(gain - 2 * more) / gain**2,
            square=(pairs.apart - law.q**2) / gain**2,
            cross=2 * (more - law.q * gain) / gain**2,
        )
