"""Makes fakes, which depend on nobody's value, and weighs what a real report looks like among them.

A fake hides which attribute of a record was reported. What it costs or saves is in one number per report: how
many times likelier the report is from a person with value v than from the fake. `evidence` lists the extreme
ones, exactly. Where people are asked again, a fake keeps a first answer as a person does, and each
collection gets a fresh report of it.

After several reports of a first answer that is kept, the extreme sequences are constant. For values: let r be
the odds of the second round, c(a) how many reports say a, and x(a) = r^c(a) / (the sum of all). Likelihoods
from a person and from the fake are linear in x, so that their ratio is extreme at a corner of all x. Every x
has a sum of 1 and no entry below 1 / (r^reports + k - 1), and the constant sequences are the corners of just
that. For bits: a bit speaks for its value by a number that grows with how often it is set, and both
likelihoods are linear in the number of each bit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, NoReturn, TypeVar, cast, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Floats, Integers
from deniable.errors import InvalidParameter
from deniable.exact import power_up
from deniable.formatting import Printed, format_count, format_percent, shorten_names
from deniable.law import checked_prior
from deniable.mechanisms import Direct, Mechanism, SetMechanism, SetShape
from deniable.mechanisms.sets import Buckets, Nobody, RoundShape
from deniable.randomness import FULL, below, cell
from deniable.randomness.draws import WordArray
from deniable.randomness.words import Rows

F = TypeVar("F", bound="Fake")
NOT_METRIC = (
    "fakes do not protect a metric value more than sampling one attribute does, and err more; use smp"
)
"""Why no fake imitates reports of a metric value."""


@final
@dataclass(frozen=True)
class Prior(Printed):
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

    @staticmethod
    def of_all(shares: Sequence[npt.ArrayLike], ks: Sequence[int], mixed: float = 0.0) -> tuple[Prior, ...]:
        """From the shares of each attribute."""
        if len(shares) != len(ks):
            raise InvalidParameter(f"there are {len(ks)} attributes, but {len(shares)} priors")
        return tuple(Prior.of(prior, k, mixed) for prior, k in zip(shares, ks, strict=True))

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


class Fake(ABC, Printed):
    """A mechanism whose loss is zero: its report does not depend on the value."""

    part: SetMechanism
    """The mechanism whose reports it imitates: one round, or two of which the first is kept."""

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
    def evidence(self, reports: int = 1) -> list[Evidence]:
        """The extreme pairs over all reports and all pairs of values, equal values included.

        With a first answer that is kept, over all sequences of this many reports of it.
        """

    def slack(self, reports: int = 1) -> Fraction:
        """The factor by which the bias of `below` may move probabilities from those in `evidence`."""
        kept = self.part.repeated and self.part.on_buckets is not None
        return _count_bias(self.part, reports + 1) if kept else Fraction(1)

    @property
    def first(self) -> SetShape:
        """The mechanism of the first answer, which is kept; the only one, where people are asked once."""
        return cast(SetShape, self.part.permanent)

    @property
    def second(self) -> RoundShape:
        """The mechanism by which what is kept is reported."""
        return cast(RoundShape, self.part.one_round)

    def _draw_values(self, rows: Rows) -> Integers:
        """A value from the prior for each row's first word, which is kept where people are asked again."""
        first = rows.columns(0, 1)
        return self.belief.draw((first.recall() if self.part.repeated else first).array()[:, 0])

    def keep(self: F) -> F:
        """The fake of the first answer alone."""
        return replace(self, part=self.part.permanent)  # type: ignore[type-var]  # fakes are dataclasses

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

    part: SetMechanism
    prior: Prior

    def __post_init__(self) -> None:
        if not isinstance(_checked_alone(self.part), Direct):
            _refuse(self.part, "a value, in one round or in two")
        _checked_sizes(self.part, self.prior)

    @property
    def belief(self) -> Prior:
        return self.prior

    @property
    def words(self) -> int:
        return 1 + (self.second.words if self.part.repeated else 0)

    @property
    def phrase(self) -> str:
        return f"a value from a prior, {'kept' if self.part.repeated else 'sent'} as it is"

    def encode(self, rows: Rows) -> Array:
        values = self._draw_values(rows).astype(self.part.blank(0).dtype)
        if not self.part.repeated:
            return values
        return self.second.encode_again(values, rows.columns(1, self.words))

    @property
    def supported(self) -> Floats:
        if not self.part.repeated:
            return self.prior.shares
        law = self.second.law
        return law.q + self.prior.shares * (law.p - law.q)

    def square(self, weights: Floats) -> Floats:
        return np.asarray(weights**2 @ self.supported)

    def evidence(self, reports: int = 1) -> list[Evidence]:
        chances = [Fraction(weight, FULL) for weight in self.prior.extremes]
        return _weigh_values(cast(Buckets, self.part.on_buckets), chances, reports)


@final
@dataclass(frozen=True)
class Imitated(Fake):
    """A value drawn from a prior and put through the mechanism, as if a person had it."""

    part: SetMechanism
    prior: Prior

    def __post_init__(self) -> None:
        alone = _checked_alone(self.part)
        if alone.repeated or (alone.nobody is None and alone.on_buckets is None):
            _refuse(self.part, "a value or a set of values, in one round, or in two on values or bits")
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
        return self.part.encode(self._draw_values(rows), rows.columns(1, self.words))

    @property
    def supported(self) -> Floats:
        law = self.part.law
        return law.q + self.prior.shares * (law.p - law.q)

    def square(self, weights: Floats) -> Floats:
        return np.asarray(self.part.law.pairs.squares(weights) @ self.prior.shares)

    def slack(self, reports: int = 1) -> Fraction:
        return super().slack(reports) if self.part.repeated else _count_bias(self.part, 1)

    def evidence(self, reports: int = 1) -> list[Evidence]:
        shares = [Fraction(weight, FULL) for weight in self.first.cover(self.prior.weights)]
        buckets = self.part.on_buckets
        if buckets is not None:
            chances = [buckets.q + share * (buckets.p - buckets.q) for share in shares]
            return _weigh_values(buckets, chances, reports)
        more, less = _weigh_sets(self.part, reports)
        averages = (less + (more - less) * share for share in shares)
        return [pair for average in averages for pair in _pair_extremes(more / average, less / average)]


@final
@dataclass(frozen=True)
class Blank(Fake):
    """The report of nobody: a uniform set, column or bucket, or bits of which none is true.

    Every real report is one of two numbers of times as likely. For reports that are values that is a uniform
    value, `Guessed` with `Prior.uniform(k)`.
    """

    part: SetMechanism

    def __post_init__(self) -> None:
        _checked_alone(self.part)
        if self.part.nobody is None:
            _refuse(self.part, "a set of values; that of values is Guessed(part, Prior.uniform(k))")

    has_prior = False

    @property
    def nobody(self) -> Nobody:
        """The law of a report of nobody."""
        return cast(Nobody, self.part.nobody)

    @property
    def words(self) -> int:
        return self.nobody.words

    @property
    def phrase(self) -> str:
        return f"no value at all, put through {self.part.describe_name()}"

    def encode(self, rows: Rows) -> Array:
        return self.part.encode_nobody(rows)

    @property
    def supported(self) -> Floats:
        return np.full(self.part.k, float(self.nobody.share))

    def square(self, weights: Floats) -> Floats:
        share, pair = float(self.nobody.share), float(self.nobody.pair)
        return np.asarray((share - pair) * (weights**2).sum(axis=-1) + pair * weights.sum(axis=-1) ** 2)

    def slack(self, reports: int = 1) -> Fraction:
        """Evidence of buckets counts the bias of each draw already."""
        exact = self.part.repeated or self.part.on_buckets is not None
        return super().slack(reports) if exact else _count_bias(self.part, 1)

    def evidence(self, reports: int = 1) -> list[Evidence]:
        buckets = self.part.on_buckets
        if buckets is not None:
            return _weigh_values(buckets, [Fraction(words, FULL) for words in cell(buckets.k)], reports)
        more, less = _weigh_sets(self.part, reports)
        if self.part.values_asked > 1:
            return _pair_extremes(more, less)
        # a report with one bit says nothing of all other values
        pairs = [*_pair_extremes(more, Fraction(1)), *_pair_extremes(Fraction(1), less)]
        return list(dict.fromkeys(pairs))


def _checked_alone(part: object) -> SetMechanism:
    """The mechanism of an answer that is kept or sent, of a part that fakes can imitate."""
    if isinstance(part, Mechanism) and part.metric:
        raise InvalidParameter(NOT_METRIC, "shape")
    if not isinstance(part, SetMechanism):
        _refuse(part, "a value or a set of values")
    return cast(SetMechanism, part.permanent) if part.keeps_apart else part


def _refuse(part: object, allowed: str) -> NoReturn:
    raise InvalidParameter(
        f"this fake goes with a mechanism whose report is {allowed}, got {type(part).__name__}", "shape"
    )


def _checked_sizes(part: SetMechanism, prior: Prior) -> None:
    """A fake that no person can send, or the other way round, would disclose the attribute."""
    if part.k != prior.k:
        raise InvalidParameter(f"the prior has {prior.k} values, the mechanism has {part.k}")


class Evidence(NamedTuple):
    """How much likelier than from the fake a report is from each of two values."""

    first: Fraction
    other: Fraction


def _weigh_values(buckets: Buckets, fakes: list[Fraction], reports: int) -> list[Evidence]:
    """The evidence of values or buckets, from how likely the fake's answer is each extreme."""
    odds = buckets.odds_again
    if odds is None:
        kept = buckets.p
        fewest, most = ((1 - kept) * Fraction(words, FULL) for words in cell(buckets.k - 1))
    else:
        gain = power_up(odds, reports) - 1
        kept, fewest = 1 + gain * buckets.p, 1 + gain * buckets.q
        fakes, most = [1 + gain * fake for fake in fakes], fewest
    evidence = []
    for fake in fakes:
        evidence += [*_pair_extremes(kept / fake, fewest / fake), Evidence(most / fake, fewest / fake)]
    return evidence


def _weigh_sets(part: SetMechanism, reports: int) -> tuple[Fraction, Fraction]:
    """How much a report speaks for a value that it supports, and for another, against nobody's.

    Of bits that are kept, it is one that is always set, and one that is always clear. In imitated reports, a
    fake is an average of both numbers, by the prior's share of what a report supports.
    """
    first = cast(SetMechanism, part.permanent)
    p, q = first.law.exact_p, cast(Nobody, first.nobody).share
    if not part.keeps_apart:
        return p / q, (1 - p) / (1 - q)
    second = cast(SetMechanism, part.one_round).law
    ones = power_up(second.exact_p / second.exact_q, reports)
    zeros = power_up((1 - second.exact_q) / (1 - second.exact_p), reports)
    more = (p * ones + 1 - p) / (q * ones + 1 - q)
    return more, ((1 - p) * zeros + p) / ((1 - q) * zeros + q)


def _count_bias(part: SetMechanism, draws: int) -> Fraction:
    """The slack of so many rounds of draws by `below`.

    The probability of a draw below m is off by a factor from 1 - y to 1 + y, y = (m - 1) / 2^64. So s draws
    move a sum of ratios to fakes by at most ((1 + y) / (1 - y))^s up, for the one value, and as much down,
    for the other: together by less than 1 / (1 - 4 s m / 2^64).
    """
    buckets = part.on_buckets
    cells = cast(Nobody, part.nobody).cells if buckets is None else buckets.k
    return Fraction(FULL, FULL - 4 * cells * draws)


def _pair_extremes(high: Fraction, low: Fraction) -> list[Evidence]:
    """Two values, of which each is spoken for by either number."""
    return [Evidence(high, low), Evidence(low, high), Evidence(high, high), Evidence(low, low)]
