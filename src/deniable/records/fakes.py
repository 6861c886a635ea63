"""Makes fakes, which depend on nobody's value, and weighs what a real report looks like among them.

A fake hides which attribute of a record was reported. What it costs or saves is in one number per report: how
many times likelier the report is from a person with value v than from the fake. `evidence` lists the extreme
ones, exactly.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, singledispatch
from itertools import pairwise
from typing import NamedTuple, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Floats, Integers
from deniable.errors import InvalidParameter
from deniable.formatting import format_count, format_percent, shorten_names
from deniable.law import checked_prior
from deniable.mechanisms import Direct, SetShape, Unary
from deniable.words import FULL, Rows, WordArray, below, cell


class Evidence(NamedTuple):
    """How much likelier than from the fake a report is from each of two values."""

    one: Fraction
    other: Fraction


@final
@dataclass(frozen=True)
class Prior:
    """A public guess of how frequent each value is, in words out of 2^64; no value is left out."""

    weights: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.weights) < 2 or min(self.weights) < 1 or sum(self.weights) != FULL:
            raise InvalidParameter("a prior's weights are positive integers that sum to 2^64", "prior")

    @staticmethod
    def uniform(k: int) -> Prior:
        """All values alike, but for the words left over: the law of `below`."""
        ends = [-(-FULL * v // k) for v in range(k + 1)]
        return Prior(tuple(b - a for a, b in pairwise(ends)))

    @staticmethod
    def of(shares: npt.ArrayLike, k: int, mixed: float = 0.0) -> Prior:
        """From shares; `mixed` of it is spread evenly. A value that nobody is thought to have is refused: a
        report of it would disclose the attribute.
        """
        if not 0 <= mixed <= 1:
            raise InvalidParameter(
                f"mixed, the part that is spread evenly, is between 0 and 1, got {mixed!r}"
            )
        believed = checked_prior(shares, k)
        believed = (1 - mixed) * believed + mixed / k
        if (believed * 2.0**40 < 1).any():
            missing = int((believed * 2.0**40 < 1).sum())
            raise InvalidParameter(
                f"{missing} of {k} values have no share in the prior, so that reporting one would disclose "
                "the attribute; mix the prior with the uniform one (mixed=0.01)"
            )
        weights = [int(share * 2.0**62) * 4 for share in believed]
        weights[int(np.argmax(believed))] += FULL - sum(weights)
        return Prior(tuple(weights))

    def __str__(self) -> str:
        shares = [format_percent(share) for share in self.shares.tolist()]
        return f"Prior, {format_count(self.k, 'value')}: {shorten_names(shares)}"

    @property
    def k(self) -> int:
        """The number of values."""
        return len(self.weights)

    @property
    def extremes(self) -> set[int]:
        """The smallest and the largest weight: ratios to a fake are largest and smallest there."""
        return {min(self.weights), max(self.weights)}

    @property
    def shares(self) -> Floats:
        """The weights as floats."""
        return np.array([weight / FULL for weight in self.weights])

    @cached_property
    def _ends(self) -> WordArray:
        return np.cumsum(np.array(self.weights[:-1], dtype=np.uint64))

    @cached_property
    def _is_uniform(self) -> bool:
        return self == Prior.uniform(self.k)

    def draw(self, words: WordArray) -> Integers:
        """One value per word."""
        return (
            below(words, self.k).astype(np.int64)
            if self._is_uniform
            else np.searchsorted(self._ends, words, side="right")
        )


class Fake(ABC):
    """A mechanism whose loss is zero: its report does not depend on the value."""

    part: SetShape
    """The mechanism whose reports it imitates."""

    @property
    def belief(self) -> Prior:
        """The prior that its value is drawn from."""
        return Prior.uniform(self.part.k)

    @property
    def has_prior(self) -> bool:
        """Whether its value is drawn from what is thought to be frequent, not evenly."""
        return self.belief != Prior.uniform(self.part.k)

    @property
    @abstractmethod
    def words(self) -> int:
        """How many words one fake takes."""

    @abstractmethod
    def encode(self, rows: Rows) -> Array:
        """One fake per row of words."""

    @property
    @abstractmethod
    def supported(self) -> Floats:
        """How likely a fake supports each value."""

    @abstractmethod
    def square(self, weights: Floats) -> Floats:
        """The mean square of the sum of the weights that a fake supports; of a table, row by row."""

    @abstractmethod
    def evidence(self) -> list[Evidence]:
        """The extreme pairs over all reports and all pairs of values, equal values included."""

    @property
    def slack(self) -> Fraction:
        """The factor by which the bias of `below` may move a fake's probability from that in `evidence`."""
        return Fraction(1)

    @property
    @abstractmethod
    def phrase(self) -> str:
        """What a fake is, in a few words."""

    def __str__(self) -> str:
        return f"Fake, {format_count(self.part.k, 'value')}: {self.phrase}"


@final
@dataclass(frozen=True)
class Guessed(Fake):
    """A value from a prior, sent as it is among direct reports: as published, and open to attacks."""

    part: Direct
    prior: Prior

    def __post_init__(self) -> None:
        _checked_part(self.part, (Direct,))
        _checked_sizes(self.part, self.prior)

    @property
    def belief(self) -> Prior:
        return self.prior

    words = 1
    phrase = "a value from a prior, sent as it is"

    def encode(self, rows: Rows) -> Array:
        return self.prior.draw(rows.array()[:, 0]).astype(self.part.blank(0).dtype)

    @property
    def supported(self) -> Floats:
        return self.prior.shares

    def square(self, weights: Floats) -> Floats:
        return np.asarray(weights**2 @ self.prior.shares)

    def evidence(self) -> list[Evidence]:
        return _direct_evidence(self.part, [Fraction(weight, FULL) for weight in self.prior.extremes])


@final
@dataclass(frozen=True)
class Imitated(Fake):
    """A value drawn from a prior and put through the mechanism, as if a person had it."""

    part: Direct | Unary
    prior: Prior

    def __post_init__(self) -> None:
        _checked_part(self.part, (Direct, Unary))
        _checked_sizes(self.part, self.prior)

    @property
    def belief(self) -> Prior:
        return self.prior

    @property
    def words(self) -> int:
        return 1 + self.part.words

    @property
    def phrase(self) -> str:
        return f"a value from a prior, put through {self.part.describe_name()}"

    def encode(self, rows: Rows) -> Array:
        values = self.prior.draw(rows.columns(0, 1).array()[:, 0])
        return self.part.encode(values, rows.columns(1, self.words))

    @property
    def supported(self) -> Floats:
        law = self.part.law
        return law.q + self.prior.shares * (law.p - law.q)

    def square(self, weights: Floats) -> Floats:
        return np.asarray(self.part.law.pairs.squares(weights) @ self.prior.shares)

    @property
    def slack(self) -> Fraction:
        return Fraction(FULL, FULL - 4 * self.part.k) if self.part.names_value else Fraction(1)

    def evidence(self) -> list[Evidence]:
        return _weigh_imitations(self.part, [Fraction(weight, FULL) for weight in self.prior.extremes])


@final
@dataclass(frozen=True)
class Blank(Fake):
    """All bits clear, put through unary encoding: a person with no value at all."""

    part: Unary

    def __post_init__(self) -> None:
        _checked_part(self.part, (Unary,))

    @property
    def words(self) -> int:
        return self.part.words

    @property
    def phrase(self) -> str:
        return f"no value at all, put through {self.part.describe_name()}"

    def encode(self, rows: Rows) -> Array:
        return self.part.encode(np.full(rows.n, -1), rows)

    @property
    def supported(self) -> Floats:
        return np.full(self.part.k, self.part.law.q)

    def square(self, weights: Floats) -> Floats:
        q = self.part.law.q
        return np.asarray(q * (1 - q) * (weights**2).sum(axis=-1) + (q * weights.sum(axis=-1)) ** 2)

    def evidence(self) -> list[Evidence]:
        law = self.part.law
        return _both_ways(law.exact_p / law.exact_q, (1 - law.exact_p) / (1 - law.exact_q))


def _checked_part(part: object, kinds: tuple[type[SetShape], ...]) -> None:
    """Fakes are worked out for reports of these mechanisms only."""
    if not isinstance(part, kinds):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise InvalidParameter(f"this fake goes with reports of {names}, got {type(part).__name__}")


def _checked_sizes(part: SetShape, prior: Prior) -> None:
    """A fake that no person can send, or the other way round, would disclose the attribute."""
    if part.k != prior.k:
        raise InvalidParameter(f"the prior has {prior.k} values, the mechanism has {part.k}")


@singledispatch
def _weigh_imitations(part: SetShape, shares: list[Fraction]) -> list[Evidence]:
    """The evidence of imitated bits, from the extreme shares of the prior.

    A set bit speaks for its value by `more`, a clear one by `less`. A fake is an average of both, by the
    prior's share of the values whose bits are set: at least one value's, at most all but one's.
    """
    law = part.law
    more, less = law.exact_p / law.exact_q, (1 - law.exact_p) / (1 - law.exact_q)
    found = []
    for covered in {*shares, *(1 - share for share in shares)}:
        average = less + (more - less) * covered
        found += _both_ways(more / average, less / average)
    return found


@_weigh_imitations.register
def _weigh_imitated_values(part: Direct, shares: list[Fraction]) -> list[Evidence]:
    law = part.law
    return _direct_evidence(part, [law.exact_q + share * (law.exact_p - law.exact_q) for share in shares])


def _direct_evidence(part: Direct, fakes: list[Fraction]) -> list[Evidence]:
    kept = Fraction(part.keep, FULL)
    fewest, most = (Fraction(FULL - part.keep, FULL) * Fraction(words, FULL) for words in cell(part.k - 1))
    found = []
    for fake in fakes:
        found += [*_both_ways(kept / fake, fewest / fake), Evidence(most / fake, fewest / fake)]
    return found


def _both_ways(high: Fraction, low: Fraction) -> list[Evidence]:
    return [Evidence(high, low), Evidence(low, high), Evidence(high, high), Evidence(low, low)]
