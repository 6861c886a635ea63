"""The law of a report's support: everything else (estimates, variance, loss, attack, choice) is a function of it.

A report supports a set S of values. For a mechanism that treats all values alike the law is, for every size s,
`inside` = Pr(v in S, |S| = s) and `outside` = Pr(v not in S, |S| = s) for the true value v; sizes that cannot happen
are left out. `Moments` is the sibling for noisy sums, `matrix.Matrix` for channels that do not treat all values alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Literal, final

import numpy as np
import numpy.typing as npt

from deniable.errors import InvalidParameter, NotExact
from deniable.exact import log_up, solve, whole_number

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Convention = Literal["sampled", "fixed"]
"""Who the truth is about: people `sampled` from a larger population, or just the `fixed` people who answered."""

_Part = tuple[float, bool, Integers, Floats]  # weight, is v inside, sizes, how likely each size is


def _checked_convention(n: int, population: str) -> None:
    whole_number("n, the number of reports,", n, 1)
    if population not in ("sampled", "fixed"):
        raise InvalidParameter(f"population is 'sampled' or 'fixed', got {population!r}")


@final
@dataclass(frozen=True)
class Law:
    """How likely the true value, and another value, is in the support; with what sizes; and the exact ratio."""

    k: int
    exact_p: Fraction
    """Pr(the true value is supported)."""
    exact_q: Fraction
    """Pr(another value is supported)."""
    ratio: Fraction | None
    """The largest ratio of two values' probabilities of one report, e^loss; None where a marginal has no guarantee."""
    _parts: Callable[[], Iterable[_Part]] = field(repr=False, compare=False)
    _bits: bool = field(default=False, repr=False, compare=False)

    @staticmethod
    def independent(k: int, p: Fraction, q: Fraction) -> Law:
        """Every value is in the support by a coin of its own: unary encodings and thresholded histograms."""

        def parts() -> Iterable[_Part]:
            others, chances = binomial(k - 1, float(q))
            return [(float(p), True, others + 1, chances), (float(1 - p), False, others, chances)]

        ratio = None if q in (0, 1) or p in (0, 1) else _either_way(p * (1 - q) / (q * (1 - p)))
        return Law(k, p, q, ratio, parts, _bits=True)

    @staticmethod
    def fixed_size(k: int, size: int, p: Fraction) -> Law:
        """The support has always the same size: direct encoding (size 1) and subset selection."""

        def parts() -> Iterable[_Part]:
            sizes, sure = np.array([size]), np.ones(1)
            return [(float(p), True, sizes, sure), (float(1 - p), False, sizes, sure)]

        q = (p * (size - 1) + (1 - p) * size) / (k - 1)
        ratio = None if p in (0, 1) else _either_way(p * (k - size) / ((1 - p) * size))
        return Law(k, p, q, ratio, parts)

    @staticmethod
    def from_sizes(k: int, sizes: Integers, counts: Integers, p: Fraction, q: Fraction, ratio: Fraction) -> Law:
        """A block design: `counts[i]` reports support `sizes[i]` values each, likelier by `ratio` where v is inside."""

        def parts() -> Iterable[_Part]:
            inside, outside = counts * sizes / (k * 1.0), counts * (k - sizes) / (k * 1.0)
            return [
                (float(p), True, sizes, inside / inside.sum()),
                (float(1 - p), False, sizes, outside / outside.sum()),
            ]

        return Law(k, p, q, ratio, parts)

    solve = staticmethod(solve)

    def mix(self, other: Law, weight: Fraction) -> Law:
        """This law with probability `weight`, the other one otherwise: what an attribute looks like among fakes."""
        self._same_size(other)
        if not 0 <= weight <= 1:
            raise InvalidParameter(f"a weight is a fraction from 0 to 1, got {weight}")

        def parts() -> Iterable[_Part]:
            for share, law in ((float(weight), self), (float(1 - weight), other)):
                for part, is_inside, sizes, chances in law._parts():
                    yield share * part, is_inside, sizes, chances

        p = weight * self.exact_p + (1 - weight) * other.exact_p
        q = weight * self.exact_q + (1 - weight) * other.exact_q
        return Law(self.k, p, q, None, parts)

    def then(self, second: Law) -> Law:
        """A second round on the first one's report: bit by bit for independent laws, else on a single reported value."""
        self._same_size(second)
        p1, q1, p2, q2 = self.exact_p, self.exact_q, second.exact_p, second.exact_q
        p, q = p1 * p2 + (1 - p1) * q2, q1 * p2 + (1 - q1) * q2
        if self._bits and second._bits:
            return Law.independent(self.k, p, q)
        if self.sizes.tolist() != [1]:
            raise InvalidParameter("a second round needs a first one that reports one value, or independent bits in both")
        k = self.k

        def parts() -> Iterable[_Part]:
            sizes = second.sizes
            other = (second.inside * (sizes - 1) + second.outside * sizes) / (k - 1)
            inside = float(p1) * second.inside + float(1 - p1) * other
            outside = second.inside + second.outside - inside
            return [(1.0, True, sizes, inside), (1.0, False, sizes, outside)]

        return Law(k, p, q, _chained_ratio(k, p1, second), parts)

    def hashed(self, k: int, collision: Fraction | None = None) -> Law:
        """This law on g buckets, seen through a random hash of k values that collide with probability `collision`.

        The sizes are those of an ideal hash, whose values fall independently; p, q and the ratio need no such ideal.
        """
        g = self.k
        together = Fraction(1, g) if collision is None else collision
        apart = (1 - together) / (g - 1)
        p = self.exact_p

        def parts() -> Iterable[_Part]:
            others, chances = binomial(k - 1, float(together))
            strangers, odds = binomial(k - 1, float(apart))
            return [(float(p), True, others + 1, chances), (float(1 - p), False, strangers, odds)]

        return Law(k, p, p * together + (1 - p) * apart, self.ratio, parts)

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
        parts = list(self._parts())
        sizes = np.unique(np.concatenate([sizes for _, _, sizes, _ in parts]))
        inside, outside = np.zeros(sizes.size), np.zeros(sizes.size)
        for weight, is_inside, some, chances in parts:
            np.add.at(inside if is_inside else outside, np.searchsorted(sizes, some), weight * chances)
        return sizes, inside, outside

    @property
    def sizes(self) -> Integers:
        """The sizes a support can have (those of probability below 1e-300 are left out)."""
        return self._table[0]

    @property
    def inside(self) -> Floats:
        """Pr(v in S, |S| = s) for every s in `sizes`."""
        return self._table[1]

    @property
    def outside(self) -> Floats:
        """Pr(v not in S, |S| = s) for every s in `sizes`."""
        return self._table[2]

    def loss(self) -> float:
        """The exact epsilon of one report, rounded up."""
        if self.ratio is None:
            raise NotExact("this law is a mixture's marginal, which guarantees nothing by itself; ask the share it came from")
        return log_up(self.ratio)

    def variance(self, n: int, f: npt.ArrayLike = 0.0, population: Convention = "sampled") -> float | Floats:
        """The variance of an estimated frequency from n reports where the truth is f (0 as in the papers)."""
        _checked_convention(n, population)
        f = np.asarray(f, dtype=np.float64)
        gain, rest = self.gain, float(1 - self.exact_q)  # 1 - q, exact where q is next to 1
        if population == "sampled":
            one = (self.q + f * gain) * (rest - f * gain)
        else:
            one = f * self.p * float(1 - self.exact_p) + (1 - f) * self.q * rest
        variance = one / (n * gain**2)
        return float(variance) if variance.ndim == 0 else variance

    def error(self, n: int, f: float | None = None) -> float:
        """One number for how far off n reports are: the variance averaged over the k values for the people who answered,
        the same whatever the truth is; or, with f, the variance at that frequency (the papers compare at f = 0).
        """
        return float(self.variance(n, 1 / self.k, "fixed") if f is None else self.variance(n, f))

    def success(self, prior: npt.ArrayLike | None = None) -> float:
        """How often the best guess from one report is right, the attacker knowing the law and the prior (uniform)."""
        s, k = self.sizes.astype(np.float64), self.k
        if prior is None:
            with np.errstate(divide="ignore", invalid="ignore"):
                a, b = np.where(s > 0, self.inside / s, 0.0), np.where(s < k, self.outside / (k - s), 0.0)
            return float(np.maximum(a, b).sum())
        return _success_with_prior(self, checked_prior(prior, k))

    def log_likelihood(self, size: int) -> tuple[float, float]:
        """ln Pr(one very set of this size | v inside it) and ln Pr(it | v outside it)."""
        where = np.flatnonzero(self.sizes == size)
        if where.size == 0:
            return -math.inf, -math.inf
        i = int(where[0])
        with np.errstate(divide="ignore"):
            inside, outside = float(np.log(self.inside[i])), float(np.log(self.outside[i]))
        return (
            inside - _log_choose(self.k - 1, size - 1) if size > 0 else -math.inf,
            outside - _log_choose(self.k - 1, size) if size < self.k else -math.inf,
        )

    def _same_size(self, other: Law) -> None:
        if other.k != self.k:
            raise InvalidParameter(f"both laws must have the same number of values, got {self.k} and {other.k}")


def binomial(trials: int, chance: float) -> tuple[Integers, Floats]:
    """The counts a binomial can have, but for those below 1e-300, and their probabilities.

    Built outward from the mode by ratios of neighbors, so that nothing overflows and the sum is one for any size.
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


def _log_choose(n: int, r: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(r + 1) - math.lgamma(n - r + 1)


def _either_way(ratio: Fraction) -> Fraction:
    """A ratio of two probabilities, the larger over the smaller."""
    return max(ratio, 1 / ratio)


def _chained_ratio(k: int, p1: Fraction, second: Law) -> Fraction | None:
    """The exact ratio of a single value reported with p1, then put through a law whose two levels differ by r.

    A set of s values is likelier for its members by a factor that falls with s: the smallest set decides.
    """
    if second.ratio is None:
        return None
    s = int(second.sizes[0]) if second.sizes.size == 1 else 1
    q1, r = (1 - p1) / (k - 1), second.ratio
    inside = (p1 + (s - 1) * q1) * r + (k - s) * q1
    outside = s * q1 * r + p1 + (k - s - 1) * q1
    return _either_way(inside / outside)


def checked_prior(prior: npt.ArrayLike, k: int) -> Floats:
    """The attacker's beliefs as k probabilities."""
    weights = np.asarray(prior, dtype=np.float64)
    if weights.shape != (k,) or not np.isfinite(weights).all() or (weights < 0).any() or weights.sum() <= 0:
        raise InvalidParameter(f"a prior is {k} non-negative weights, not all zero")
    return np.asarray(weights / weights.sum())


def _success_with_prior(law: Law, prior: Floats) -> float:
    """Sum over all sets of the best of prior * likelihood; sets of one size differ only in which ranks they hold.

    With the values ranked by prior, the favored side of a set (inside it, where that is likelier) has its best value
    at rank i in choose(k - i, members - 1) sets, and then the other side has the top rank unless i = 1.
    """
    k = law.k
    ranked = np.sort(prior)[::-1]
    total = 0.0
    for size, inside, outside in zip(law.sizes.tolist(), law.inside, law.outside, strict=True):
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
class Marginal:
    """The law of one attribute among fakes: every value has its own chances of support, p and q, that differ by the same.

    It estimates an attribute and guarantees nothing: what a report gives away is a matter of the whole record.
    """

    k: int
    p: Floats
    q: Floats
    gain: float

    def loss(self) -> float:
        """Refused: ask the share."""
        raise NotExact("an attribute among fakes guarantees nothing by itself; ask the share it came from")

    def variance(self, n: int, f: npt.ArrayLike = 0.0, population: Convention = "sampled") -> Floats:
        """The variance of each value's estimated frequency from n reports where the truth is f."""
        _checked_convention(n, population)
        f = np.asarray(f, dtype=np.float64)
        supported = self.q + f * self.gain
        one = supported * (1 - supported) - (f * (1 - f) * self.gain**2 if population == "fixed" else 0.0)
        return np.asarray(one / (n * self.gain**2))

    def error(self, n: int, f: float | None = None) -> float:
        """The variance averaged over the k values for the people who answered; with f, at that frequency."""
        return float(np.mean(self.variance(n, 1 / self.k, "fixed") if f is None else self.variance(n, f)))


@final
@dataclass(frozen=True)
class Moments:
    """The law of a noisy sum: each report adds the truth plus noise of known variance to every cell.

    A real-valued noise is only approximated by floats, so there is no exact loss to be had.
    """

    k: int
    noise: float
    best_guess: float = field(repr=False)

    p, q, gain = 1.0, 0.0, 1.0

    def loss(self) -> float:
        """Refused: the floats that are sent do not follow the real-valued law that a proof is about."""
        raise NotExact("floating-point noise has no exact loss; use a protocol with integer thresholds (oue, the, ...)")

    def variance(self, n: int, f: npt.ArrayLike = 0.0, population: Convention = "sampled") -> float | Floats:
        """The variance of an estimated frequency from n reports where the truth is f."""
        _checked_convention(n, population)
        f = np.asarray(f, dtype=np.float64)
        variance = (self.noise + (f * (1 - f) if population == "sampled" else 0 * f)) / n
        return float(variance) if variance.ndim == 0 else variance

    def error(self, n: int, f: float | None = None) -> float:
        """The variance averaged over the k values for the people who answered; with f, the variance at that frequency."""
        return float(self.variance(n, 1 / self.k, "fixed") if f is None else self.variance(n, f))

    def success(self) -> float:
        """How often the best guess from one report is right, for a uniform prior."""
        return self.best_guess
