"""States the law of a report's support; estimates, variance, loss, attack and choice are functions of it.

A report supports a set S of values. For a mechanism that treats all values alike, the law is about every size
s of S and the true value v. It consists of `inside` = Pr(v in S, |S| = s) and `outside` = Pr(v not in S, |S|
= s). Sizes that cannot happen are left out. `Marginal` is the sibling for one attribute among fakes,
`Moments` for noisy sums, `matrix.Matrix` for channels that do not treat all values alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Literal, Protocol, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats, Integers
from deniable.errors import InvalidParameter, NotExact
from deniable.exact import log_up, solve, whole_number
from deniable.formatting import Printed, format_count, format_loss
from deniable.law.pairs import Affine, Alike, Pairs, sum_errors

Convention = Literal["sampled", "fixed"]
"""Whom the truth is about: people `sampled` from a larger population, or the `fixed` people who answered."""


class ReportLaw(Protocol):
    """The law of a report: how many values it is about, and how far off estimates from n reports are."""

    @property
    def k(self) -> int:
        """The number of values."""

    def __hash__(self) -> int:
        """So that what is computed of a law can be kept."""

    @property
    def contributions(self) -> tuple[float, float]:
        """The least and the most that one report can add to a share, times the number of reports.

        A person with a value adds 1 to its share on average. A report that was made up adds what it likes,
        between these.
        """

    def variance(self, n: int, f: npt.ArrayLike = 0.0, population: Convention = "sampled") -> float | Floats:
        """The variance of an estimate from n reports where the truth is f."""

    def error(self, n: int, f: float | None = None) -> float:
        """The variance of an estimate from n reports, averaged over the values; with f, at that share."""

    def sum_errors(self, table: Floats) -> Floats:
        """The variances of weighted sums of shares from one report, a number for each row of weights.

        The person who reports may have any value; how people differ is not counted.
        """


@final
@dataclass(frozen=True)
class _Part:
    """With this weight, v is inside or outside a set of `base` values plus a binomial number of others."""

    weight: float
    inside: bool
    base: int
    trials: int = 0
    chance: float = 0.0

    def scaled(self, weight: float) -> _Part:
        return replace(self, weight=self.weight * weight)


@final
@dataclass(frozen=True)
class Law(Printed):
    """How likely a report supports the true value, or another; with what sizes; and the exact ratio."""

    k: int
    exact_p: Fraction
    """Pr(the true value is supported)."""
    exact_q: Fraction
    """Pr(another value is supported)."""
    ratio: Fraction | None
    """The largest ratio of two values' probabilities of one report, e^loss; None where there is no guarantee.
    """
    _parts: tuple[_Part, ...] = field(repr=False)
    _kind: Literal["bits", "sets", "design"] = field(default="sets", repr=False)
    """Independent bits; sets of a size that are all alike; or a design, which has only some sets of a size.
    """
    _pairs: Pairs | None = field(default=None, repr=False, compare=False)
    """How values are supported together, where their number alone does not say it."""

    @staticmethod
    def independent(k: int, p: Fraction, q: Fraction) -> Law:
        """Each value enters the support by its own coin: unary encodings and thresholded histograms."""
        p, q = _probability(p), _probability(q)
        parts = _Part(float(p), True, 1, k - 1, float(q)), _Part(float(1 - p), False, 0, k - 1, float(q))
        ratio = None if q in (0, 1) or p in (0, 1) else _either_way(p * (1 - q) / (q * (1 - p)))
        return Law(k, p, q, ratio, parts, "bits")

    @staticmethod
    def fixed_size(k: int, size: int, p: Fraction) -> Law:
        """The support has always the same size: direct encoding (size 1) and subset selection."""
        p = _probability(p)
        whole_number("size", size, 1, k - 1)
        q = (p * (size - 1) + (1 - p) * size) / (k - 1)
        ratio = None if p in (0, 1) else _either_way(p * (k - size) / ((1 - p) * size))
        return Law(k, p, q, ratio, (_Part(float(p), True, size), _Part(float(1 - p), False, size)))

    @staticmethod
    def design(
        k: int,
        sizes: Integers,
        counts: Integers,
        p: Fraction,
        q: Fraction,
        ratio: Fraction,
        pairs: Pairs | None = None,
    ) -> Law:
        """A block design: `counts[i]` reports support `sizes[i]` values, and `ratio` favors the true one."""
        inside, outside = counts * sizes, counts * (k - sizes)
        parts = [
            _Part(float(p) * float(w), True, int(s))
            for s, w in zip(sizes, inside / inside.sum(), strict=True)
        ]
        parts += [
            _Part(float(1 - p) * float(w), False, int(s))
            for s, w in zip(sizes, outside / outside.sum(), strict=True)
        ]
        return Law(k, p, q, ratio, tuple(parts), "design", pairs)

    solve = staticmethod(solve)

    def __str__(self) -> str:
        chances = f"the true one with probability {self.p:.4f}, any other with {self.q:.4f}"
        loss = "no loss of its own" if self.ratio is None else f"loss {format_loss(log_up(self.ratio))}"
        return f"Law, {format_count(self.k, 'value')}: a report supports {chances}, {loss}"

    def mix(self, other: Law, weight: Fraction) -> Law:
        """This law with probability `weight`, the other one otherwise: an attribute among fakes."""
        self._same_size(other)
        if not 0 <= weight <= 1:
            raise InvalidParameter(f"a weight is a fraction from 0 to 1, got {weight}")

        parts = [part.scaled(float(weight)) for part in self._parts]
        parts += [part.scaled(float(1 - weight)) for part in other._parts]
        p = weight * self.exact_p + (1 - weight) * other.exact_p
        q = weight * self.exact_q + (1 - weight) * other.exact_q
        return Law(self.k, p, q, None, tuple(parts))

    def then(self, second: Law) -> Law:
        """A second round on the first one's report: bit by bit, or on a single reported value."""
        self._same_size(second)
        p1, q1, p2, q2 = self.exact_p, self.exact_q, second.exact_p, second.exact_q
        p, q = p1 * p2 + (1 - p1) * q2, q1 * p2 + (1 - q1) * q2
        if self._kind == second._kind == "bits":
            return Law.independent(self.k, p, q)
        if self.sizes.tolist() != [1] or second._kind == "design":
            raise InvalidParameter(
                "a second round needs a first one that reports one value, or independent bits in both"
            )
        k, sizes = self.k, second.sizes
        other = (second.inside * (sizes - 1) + second.outside * sizes) / (k - 1)
        inside = float(p1) * second.inside + float(1 - p1) * other
        outside = second.inside + second.outside - inside
        parts = [_Part(float(w), True, int(s)) for s, w in zip(sizes, inside, strict=True)]
        parts += [_Part(float(w), False, int(s)) for s, w in zip(sizes, outside, strict=True)]
        return Law(k, p, q, _chained_ratio(self, second), tuple(parts))

    def hashed(self, k: int, collision: Fraction | None = None) -> Law:
        """This law on g buckets, after a random hash of k values that collide with probability `collision`.

        The sizes are those of an ideal hash, whose values fall independently. Nothing else needs that ideal:
        with a `collision`, the hash is affine, and `pairs` are those of its family.
        """
        g = self.k
        together = Fraction(1, g) if collision is None else collision
        apart = (1 - together) / (g - 1)
        p = self.exact_p
        parts = (
            _Part(float(p), True, 1, k - 1, float(together)),
            _Part(float(1 - p), False, 0, k - 1, float(apart)),
        )
        pairs = None if collision is None else Affine(g, float(p), float(together))
        return Law(k, p, p * together + (1 - p) * apart, self.ratio, parts, _pairs=pairs)

    @property
    def gain(self) -> float:
        """p - q, without the rounding of either."""
        return float(self.exact_p - self.exact_q)

    @property
    def p(self) -> float:
        """Pr(the true value is supported)."""
        return float(self.exact_p)

    @property
    def q(self) -> float:
        """Pr(another value is supported)."""
        return float(self.exact_q)

    @cached_property
    def _table(self) -> tuple[Integers, Floats, Floats]:
        spread = [(part, *binomial(part.trials, part.chance)) for part in self._parts]
        sizes = np.unique(np.concatenate([part.base + others for part, others, _ in spread]))
        inside, outside = np.zeros(sizes.size), np.zeros(sizes.size)
        for part, others, chances in spread:
            np.add.at(
                inside if part.inside else outside,
                np.searchsorted(sizes, part.base + others),
                part.weight * chances,
            )
        return sizes, inside, outside

    @property
    def sizes(self) -> Integers:
        """The sizes a support can have, within forty standard deviations of the mean."""
        return self._table[0]

    @property
    def inside(self) -> Floats:
        """Pr(v in S, |S| = s) for every s in `sizes`."""
        return self._table[1]

    @property
    def outside(self) -> Floats:
        """Pr(v not in S, |S| = s) for every s in `sizes`."""
        return self._table[2]

    @property
    def contributions(self) -> tuple[float, float]:
        """The least and the most that one report can add to a share, times the number of reports."""
        ends = -self.q / self.gain, float(1 - self.exact_q) / self.gain
        return min(ends), max(ends)

    @cached_property
    def pairs(self) -> Pairs:
        """How likely a report supports two values at once."""
        return self._pairs or Alike.of_sizes(self.k, self.p, self.q, self.sizes, self.inside, self.outside)

    @property
    def bitwise(self) -> bool:
        """Whether each value is supported by its own coin."""
        return self._kind == "bits"

    def loss(self) -> float:
        """The exact epsilon of one report, rounded up."""
        if self.ratio is None:
            raise NotExact(
                "no finite loss: this law is a mixture's marginal, or has a report that only one value can "
                "send"
            )
        return log_up(self.ratio)

    def variance(self, n: int, f: npt.ArrayLike = 0.0, population: Convention = "sampled") -> float | Floats:
        """The variance of an estimated frequency from n reports where the truth is f (0 as in the papers)."""
        _check_convention(n, population)
        f = _checked_shares(f)
        gain, rest = self.gain, float(1 - self.exact_q)  # 1 - q, exact where q is next to 1
        if population == "sampled":
            variance_of_report = (self.q + f * gain) * (rest - f * gain)
        else:
            variance_of_report = f * self.p * float(1 - self.exact_p) + (1 - f) * self.q * rest
        variance = variance_of_report / (n * gain**2)
        return float(variance) if variance.ndim == 0 else variance

    def error(self, n: int, f: float | None = None) -> float:
        """Sum up the error of n reports in one number.

        It is the variance averaged over the k values for the people who answered, which does not depend on
        the truth. With f it is the variance at that frequency (the papers compare at f = 0).
        """
        return self._even_error / n if f is None else float(self.variance(n, f))

    @cached_property
    def _even_error(self) -> float:
        return float(self.variance(1, 1 / self.k, "fixed"))

    def sum_errors(self, table: Floats) -> Floats:
        """The variances of weighted sums of shares, from one report of a person who may have any value."""
        return sum_errors(self.pairs, np.asarray(self.q), self.gain, table)

    def success(self, prior: npt.ArrayLike | None = None) -> float:
        """How often the best guess from one report is right, given a prior (uniform by default)."""
        s, k = self.sizes.astype(np.float64), self.k
        if prior is None:
            with np.errstate(divide="ignore", invalid="ignore"):
                a, b = np.where(s > 0, self.inside / s, 0.0), np.where(s < k, self.outside / (k - s), 0.0)
            return float(np.maximum(a, b).sum())
        if self._kind == "design":
            raise NotExact(
                "a design has only some of the sets of a size, so that a prior's success is the mechanism's "
                "to tell"
            )
        return _success_with_prior(self, checked_prior(prior, k))

    def log_likelihood(self, size: int) -> tuple[float, float]:
        """ln Pr(one very set of this size | v inside it) and ln Pr(it | v outside it)."""
        if self._kind == "design":
            raise NotExact(
                "a design has only some of the sets of a size, so that size alone does not tell how likely "
                "one is"
            )
        sides = []
        for is_inside in (True, False):
            logs = [_log_chance(part, size) for part in self._parts if part.inside == is_inside]
            top, members = max(logs), size - 1 if is_inside else size
            if top == -math.inf or not 0 <= members <= self.k - 1:
                sides.append(-math.inf)
            else:
                sides.append(
                    top
                    + math.log(sum(math.exp(log - top) for log in logs))
                    - _log_choose(self.k - 1, members)
                )
        return sides[0], sides[1]

    def _same_size(self, other: Law) -> None:
        if other.k != self.k:
            raise InvalidParameter(
                f"both laws must have the same number of values, got {self.k} and {other.k}"
            )


def binomial(trials: int, chance: float) -> tuple[Integers, Floats]:
    """The counts a binomial can have, within forty standard deviations, and their probabilities.

    Built outward from the mode by ratios of neighbors, so that nothing overflows and the sum is one for any
    size.
    """
    if trials == 0 or chance <= 0.0:
        return np.array([0]), np.ones(1)
    if chance >= 1.0:
        return np.array([trials]), np.ones(1)
    mode = min(trials, int((trials + 1) * chance))
    reach = 40 + int(40 * math.sqrt(trials * chance * (1 - chance)))
    low, high = max(0, mode - reach), min(trials, mode + reach)
    odds = chance / (1 - chance)
    up = np.arange(mode, high, dtype=np.float64)
    down = np.arange(mode, low, -1, dtype=np.float64)
    with np.errstate(under="ignore"):
        above = np.cumprod((trials - up) / (up + 1) * odds)
        under = np.cumprod(down / ((trials - down + 1) * odds))[::-1]
    weights = np.concatenate([under, np.ones(1), above])
    return np.arange(low, high + 1), weights / weights.sum()


def binomial_law(trials: int, chance: float) -> Floats:
    """How likely every number of successes is, from 0 to all."""
    counts, chances = binomial(trials, chance)
    law = np.zeros(trials + 1)
    law[counts] = chances
    return law


def _log_choose(n: int, r: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(r + 1) - math.lgamma(n - r + 1)


def _either_way(ratio: Fraction) -> Fraction:
    """A ratio of two probabilities, the larger over the smaller."""
    return max(ratio, 1 / ratio)


def _chained_ratio(first: Law, second: Law) -> Fraction | None:
    """The exact ratio of a single reported value, put through a law whose two levels differ by r.

    Where a set is likelier for its members (r > 1) it is so by a factor that falls with its size, so that the
    smallest set decides; where it is likelier for the others, the largest.
    """
    if first.ratio is None or second.ratio is None:
        return None
    k = first.k
    a = first.ratio if first.exact_p >= first.exact_q else 1 / first.ratio
    r = second.ratio if second.exact_p >= second.exact_q else 1 / second.ratio
    s = int(second.sizes[0]) if second.sizes.size == 1 else (1 if r > 1 else k - 1)
    return _either_way(((a + s - 1) * r + k - s) / (s * r + a + k - s - 1))


def _probability(p: Fraction) -> Fraction:
    try:
        exact = Fraction(p)
    except (TypeError, ValueError, OverflowError):
        exact = Fraction(-1)
    if not 0 <= exact <= 1:
        raise InvalidParameter(f"a probability is a fraction from 0 to 1, got {p!r}")
    return exact


def _log_chance(part: _Part, size: int) -> float:
    """ln Pr(this part, with a set of this size)."""
    hits = size - part.base
    if part.weight <= 0 or not 0 <= hits <= part.trials:
        return -math.inf
    if part.chance in (0.0, 1.0):
        return math.log(part.weight) if hits == part.trials * part.chance else -math.inf
    odds = hits * math.log(part.chance) + (part.trials - hits) * math.log1p(-part.chance)
    return math.log(part.weight) + _log_choose(part.trials, hits) + odds


def _success_with_prior(law: Law, prior: Floats) -> float:
    """Sum over all sets the best of prior * likelihood; sets of one size differ only in the ranks they hold.

    With the values ranked by prior, the favored side of a set (inside it, where that is likelier) has its
    best value at rank i in choose(k - i, members - 1) sets, and then the other side has the top rank unless i
    = 1.
    """
    k = law.k
    ranked = np.sort(prior)[::-1]
    total = 0.0
    for size, inside, outside in zip(law.sizes.tolist(), law.inside, law.outside, strict=True):
        if inside + outside < 1e-20:  # thousands of sizes that together cannot change the last digit
            continue
        favors_inside = size == k or (size > 0 and inside * (k - size) >= outside * size)
        members, favored, other = (size, inside, outside) if favors_inside else (k - size, outside, inside)
        if members == 0 or members == k:
            total += favored * ranked[0]
            continue
        # Pr(best rank is i) times the number of sets, as a share of the sets that hold one given value
        steps = np.arange(1, k - members + 1, dtype=np.float64)
        with np.errstate(under="ignore"):
            share = np.concatenate([np.ones(1), np.cumprod((k - steps - members + 1) / (k - steps))])
        scores = favored * ranked[: share.size]
        scores[1:] = np.maximum(scores[1:], ranked[0] * other * members / (k - members))
        total += float(scores @ share)
    return float(total)


@final
@dataclass(frozen=True, eq=False)
class Marginal(Printed):
    """The law of one attribute among fakes: each value has its own p and q, and all have the same p - q.

    It estimates an attribute and guarantees nothing: what a report gives away is a matter of the whole
    record.
    """

    k: int
    p: Floats
    q: Floats
    gain: float
    pairs: Pairs = field(repr=False)
    """How likely a report supports two values at once."""

    def __str__(self) -> str:
        chances = (
            f"the true one with probability {self.p.min():.4f} to {self.p.max():.4f}, "
            f"any other with {self.q.min():.4f} to {self.q.max():.4f}"
        )
        return f"Marginal law, {format_count(self.k, 'value')}: a report supports {chances}"

    @property
    def contributions(self) -> tuple[float, float]:
        """The least and the most that one report can add to a share, times the number of reports."""
        ends = np.concatenate([-self.q, 1 - self.q]) / self.gain
        return float(ends.min()), float(ends.max())

    def loss(self) -> float:
        """Refused: ask the record mechanism."""
        raise NotExact(
            "an attribute among fakes guarantees nothing by itself; ask the record mechanism it came from"
        )

    def variance(self, n: int, f: npt.ArrayLike = 0.0, population: Convention = "sampled") -> Floats:
        """The variance of each value's estimated frequency from n reports where the truth is f."""
        _check_convention(n, population)
        f = _checked_shares(f)
        supported = self.q + f * self.gain
        variance_of_report = supported * (1 - supported) - (
            f * (1 - f) * self.gain**2 if population == "fixed" else 0.0
        )
        return np.asarray(variance_of_report / (n * self.gain**2))

    def error(self, n: int, f: float | None = None) -> float:
        """The variance averaged over the k values for the people who answered; with f, at that frequency."""
        return float(np.mean(self.variance(n, 1 / self.k, "fixed") if f is None else self.variance(n, f)))

    def sum_errors(self, table: Floats) -> Floats:
        """The variances of weighted sums of shares, from one report of a person who may have any value."""
        return sum_errors(self.pairs, self.q, self.gain, table)


class Joined(Protocol):
    """What shares that are joined from independent estimates know of their own errors."""

    def find_ends(self, tail: float) -> tuple[Floats, Floats]:
        """The ends of the intervals of all shares, each missed with this probability."""

    def find_edges(self, tail: float) -> tuple[Floats, Floats]:
        """The lower ends if everybody were seen to have a value, and the upper ends if nobody were."""

    def sum_ends(
        self, chosen: Floats, value: float, error: float, tail: float
    ) -> tuple[tuple[float, float], tuple[float, float]]:
        """Ends and edges of the share of the chosen values together, which are 1."""

    def tie(self) -> Floats | None:
        """The covariance, for one report, of each share with the sum of all; None where that is always 1."""


@final
@dataclass(frozen=True)
class Moments(Printed):
    """The law of a noisy sum: each report adds the truth plus noise of known variance to every cell."""

    k: int
    noise: float
    _: KW_ONLY
    combined: Callable[[Floats], float] | None = field(default=None, repr=False, compare=False)
    """The variance, for one report, of a weighted sum of shares, where the noise of cells is dependent."""
    cumulated: Callable[[], Floats] | None = field(default=None, repr=False, compare=False)
    """The variance, for one report, of every cumulative share but the last."""
    inside: Floats | None = field(default=None, repr=False, compare=False)
    """The mean square of what a person with the value adds to its share, where that is not plain noise."""
    outside: Floats | None = field(default=None, repr=False, compare=False)
    """The mean square of what all other people add to the share of a value, as observed."""
    grouped: Callable[[Floats], tuple[float, float]] | None = field(default=None, repr=False, compare=False)
    """The mean square of what people with any of several values add to the sum of these shares, and the
    observed sum over all reports.
    """
    contributions: tuple[float, float] = field(default=(-math.inf, math.inf), repr=False, compare=False)
    """The least and the most that one report can add to a share, times the number of reports; noise that is
    not bounded allows anything.
    """
    joined: Joined | None = field(default=None, repr=False, compare=False)
    """The estimates that the shares are joined from, which know their errors better than moments do."""

    p, q, gain = 1.0, 0.0, 1.0

    def __str__(self) -> str:
        noise = f"a report adds noise of variance {self.noise:.4g} to each"
        return f"Law of a noisy sum, {format_count(self.k, 'value')}: {noise}"

    def variance(self, n: int, f: npt.ArrayLike = 0.0, population: Convention = "sampled") -> float | Floats:
        """The variance of an estimated frequency from n reports where the truth is f."""
        _check_convention(n, population)
        f = _checked_shares(f)
        variance = (self.noise + (f * (1 - f) if population == "sampled" else 0 * f)) / n
        return float(variance) if variance.ndim == 0 else variance

    def error(self, n: int, f: float | None = None) -> float:
        """The variance averaged over the k values for the people who answered; with f, at that frequency."""
        return self._even_error / n if f is None else float(self.variance(n, f))

    @cached_property
    def _even_error(self) -> float:
        return float(self.variance(1, 1 / self.k, "fixed"))

    def sum_errors(self, table: Floats) -> Floats:
        """The variances of weighted sums of shares, from one report: noise of cells adds up."""
        return np.asarray((table**2).sum(axis=-1) * self.noise)


def _check_convention(n: int, population: str) -> None:
    """Refuse a number of reports that is none, and people who are neither sampled nor fixed."""
    whole_number("n, the number of reports,", n, 1)
    if population not in ("sampled", "fixed"):
        raise InvalidParameter(f"population is 'sampled' or 'fixed', got {population!r}")


def _checked_shares(f: npt.ArrayLike) -> Floats:
    """Shares of the people, each from 0 to 1."""
    shares = np.asarray(f, dtype=np.float64)
    if not ((shares >= 0) & (shares <= 1)).all():
        raise InvalidParameter(f"f, a share of the people, is from 0 to 1, got {f!r}")
    return shares


def checked_prior(prior: npt.ArrayLike, k: int) -> Floats:
    """The attacker's beliefs as k probabilities."""
    allowed = f"a prior is {k} non-negative weights, not all zero"
    weights = finite(prior, allowed)
    if weights.shape != (k,) or (weights < 0).any() or weights.sum() <= 0:
        raise InvalidParameter(allowed)
    return np.asarray(weights / weights.sum())


def finite(values: npt.ArrayLike, allowed: str) -> Floats:
    """A table or list of finite numbers; anything else is refused with what is allowed."""
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameter(f"{allowed}, got {values!r:.60}") from None
    if not np.isfinite(numbers).all():
        raise InvalidParameter(f"{allowed}; all must be finite")
    return numbers
