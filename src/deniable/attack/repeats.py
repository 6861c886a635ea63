"""Computes how often an attacker is right about an attribute after several reports of it.

What several reports of one value say is how many of them support each value. For bits these counts are
independent, for single values they are multinomial, and both are summed exactly where all values are equally
likely. What has no such sum is simulated and says so: the mean of what a report adds to the posterior of a
blind guess, which is unbiased and never below it.
"""

from __future__ import annotations

import math
from functools import lru_cache, singledispatch

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats, Integers
from deniable.attack.likelihoods import CELLS, Chance, Part, by_cell, by_value, values_of
from deniable.attack.pools import make_pool
from deniable.errors import InvalidParameter
from deniable.exact import whole_number
from deniable.law import checked_prior
from deniable.law.law import binomial
from deniable.mechanisms import Direct, Hashed, SetMechanism, Summed, Unary
from deniable.metric import Averaged
from deniable.randomness.hashing import occupied_buckets
from deniable.randomness.simulated import remembering, seeded
from deniable.rounds import BitFlip, HashedMemoized, Memoized, MemoizedMean
from deniable.simulate.population import numbers_from

MOST_REPORTS = 100
_SIMULATED, _FEWEST = 20_000, 1000
_MOST_WORK = 1 << 27  # people times values times reports


def success_after(part: Part, reports: int, memoized: bool = True, seed: int = 1) -> float:
    """Computes how often the best guess from several reports of one unchanged value is right, if all values
    are equally likely.

    A client that memoizes sends its old report again, or, with a mechanism for repeated collections, fresh
    noise on an answer that it keeps. With memoized=False all is drawn again each time, and averages away.
    `chance_after` says how it is known; what has to be simulated is drawn from the seed.

    >>> import deniable as dn
    >>> [round(success_after(dn.grr(4, 1.0), reports, memoized=False), 3) for reports in (0, 1, 5, 50)]
    [0.25, 0.475, 0.635, 0.992]
    """
    return chance_after(part, reports, memoized, None, seed).value


def chance_after(
    part: Part, reports: int, memoized: bool = True, prior: npt.ArrayLike | None = None, seed: int = 1
) -> Chance:
    """Computes how often the best guess from several reports is right, with a prior (uniform unless given)
    and how it is known.

    >>> import deniable as dn
    >>> [chance_after(one, 5, memoized=False).exact for one in (dn.grr(4, 1.0), dn.ss(9, 1.0))]
    [True, False]
    """
    if not isinstance(part, Part):
        raise InvalidParameter(
            f"this is of one mechanism, such as dn.grr(4, 1.0), got {type(part).__name__}; success takes "
            "plans"
        )
    whole_number("reports", reports, 0, MOST_REPORTS)
    whole_number("seed", seed, 0)
    return chances_after(part, reports, memoized, prior, seed)[reports]


def chances_after(
    part: Part, reports: int, memoized: bool, prior: npt.ArrayLike | None = None, seed: int = 1
) -> tuple[Chance, ...]:
    """Computes how often the best guess is right after 0, 1, ... up to `reports` reports."""
    shares = None
    if prior is not None:
        believed = checked_prior(prior, values_of(part))
        if float(np.ptp(believed)) > 1e-12:  # one that is uniform is as good as none
            shares = tuple(believed.tolist())
    return _chances_after(part, reports, memoized, shares, seed)


_Shares = tuple[float, ...]


@lru_cache(maxsize=1 << 10)
def _chances_after(
    part: Part, reports: int, memoized: bool, prior: _Shares | None, seed: int
) -> tuple[Chance, ...]:
    blind = 1 / values_of(part) if prior is None else max(prior)
    if reports == 0:
        return (Chance(blind),)
    once = _once(part, prior, blind, seed)
    if reports == 1 or (memoized and not isinstance(part, _KEPT)):
        return (Chance(blind), *[once] * reports)
    sums = [_sum_reports(part, m, memoized) for m in range(2, reports + 1)] if prior is None else [None]
    if None not in sums:
        return (Chance(blind), once, *(Chance(chance) for chance in sums if chance is not None))
    return (Chance(blind), once, *_simulate_chances(part, reports, memoized, prior, seed)[1:])


def _once(part: Part, prior: _Shares | None, blind: float, seed: int) -> Chance:
    """One report. Hashes and noisy sums are summed only where all values are equally likely, a few bits of
    all not at all.
    """
    if (prior is not None and isinstance(part, _WITHOUT_PRIOR)) or _reports_some_bits(part):
        return _simulate_chances(part, 1, True, prior, seed)[0]
    if prior is not None and isinstance(part, Averaged | MemoizedMean):
        return Chance(float((part.law.table(2) * np.array(prior)[:, None]).max(axis=0).sum()))
    return Chance(max(blind, part.success(prior)))


_KEPT = (Memoized, HashedMemoized, MemoizedMean)
"""Mechanisms with fresh noise on what is kept."""
_WITHOUT_PRIOR = (Hashed, HashedMemoized, Summed)
"""Mechanisms whose exact chance is known only where all values are equally likely."""


def _reports_some_bits(part: Part) -> bool:
    return isinstance(part, BitFlip) and part.bits < part.k


@singledispatch
def _sum_reports(part: Part, reports: int, memoized: bool) -> float | None:  # noqa: ARG001
    """The exact chance after several reports, all values being equally likely; None where it has no sum."""
    return None


@_sum_reports.register(Direct)
@_sum_reports.register(Unary)
@_sum_reports.register(BitFlip)
def _sum_fresh_reports(part: SetMechanism, reports: int, memoized: bool) -> float | None:  # noqa: ARG001
    """Independent reports of one value; a few bits of all have no sum."""
    if _reports_some_bits(part):
        return None
    law = part.law
    if part.names_value:
        return plurality(part.k, law.p, law.q, reports)
    return most_supported(binomial_law(reports, law.p), binomial_law(reports, law.q), part.k)


@_sum_reports.register
def _sum_kept_reports(part: Memoized, reports: int, memoized: bool) -> float | None:
    """Fresh rounds on a kept answer reveal that answer, and no more."""
    if not memoized:
        return _sum_fresh_reports(part, reports, memoized)
    if part.names_value:
        return _find_kept_value(part, reports)
    first, second = part.first.law, part.second.law
    ones, zeros = binomial_law(reports, second.p), binomial_law(reports, second.q)
    return most_supported(
        first.p * ones + (1 - first.p) * zeros, first.q * ones + (1 - first.q) * zeros, part.k
    )


@_sum_reports.register
def _sum_hashed_reports(part: HashedMemoized, reports: int, memoized: bool) -> float | None:
    """Reports of a kept bucket rank all buckets, and the best guess is the first of them that holds a value.

    With two buckets that is known where the first one holds none. With more it depends on how many are
    empty, of which only the mean is known.
    """
    if not memoized or part.g != 2:
        return None
    right, full = _find_kept_value(part.buckets, reports), occupied_buckets(part.k, part.g)
    return (full * right + (2 - full) * (1 - right)) / part.k


@_sum_reports.register
def _sum_reports_of_numbers(part: MemoizedMean, reports: int, memoized: bool) -> float | None:
    """The kept bit of a number is right about its half three times in four, numbers being spread evenly."""
    if not memoized:
        return None
    right = _find_kept_value(part.bit, reports)
    return 0.25 + right / 2


def _find_kept_value(part: Memoized, reports: int) -> float:
    """How often the value that most reports name is the true one, where a value is kept and named again."""
    kept, majority = part.first.law.p, plurality(part.k, part.second.law.p, part.second.law.q, reports)
    return kept * majority + (1 - kept) * (1 - majority) / (part.k - 1)


def _simulate_chances(
    part: Part, reports: int, memoized: bool, prior: _Shares | None, seed: int
) -> list[Chance]:
    """Simulates chances after 1, 2, ... reports: a blind guess exactly, and the mean gain."""
    draws = numbers_from(seed, "reports of one value", repr(part), memoized, prior)
    shares = np.full(values_of(part), 1 / values_of(part)) if prior is None else np.array(prior)
    cells, blind = by_cell(part, shares), int(np.argmax(shares))
    people = min(_SIMULATED, max(_FEWEST, _MOST_WORK // (cells.size * reports)))
    step, gains = max(1, (1 << 21) // cells.size), np.empty((reports, people))
    for start in range(0, people, step):
        block = slice(start, min(people, start + step))
        values = _values(part, draws.choice(cells.size, block.stop - start, p=cells), draws)
        together, kept = make_pool(part, values.size, memoized), int(draws.integers(1 << 62))
        for m in range(reports):
            memory = kept if memoized else int(draws.integers(1 << 62))
            sent = part.privatize(values, remembering(memory, seeded(int(draws.integers(1 << 62)))))
            together.add(np.arange(values.size), sent)
            table = by_value(part, together.table() * cells)
            gains[m, block] = (table.max(axis=1) - table[:, blind]) / table.sum(axis=1)
    errors = gains.std(axis=1, ddof=1) / math.sqrt(people)
    pairs = zip(gains.mean(axis=1).tolist(), errors.tolist(), strict=True)
    return [Chance(float(shares[blind]) + gain, error, exact=False) for gain, error in pairs]


def _values(part: Part, cells: Integers, draws: np.random.Generator) -> Integers:
    """Values in these cells."""
    if not part.numeric:
        return cells
    size = (part.k - 1) // CELLS
    return np.asarray(cells * size + draws.integers(0, size, cells.size))


def binomial_law(trials: int, chance: float) -> Floats:
    """How likely every number of successes is, from 0 to all."""
    counts, chances = binomial(trials, chance)
    law = np.zeros(trials + 1)
    law[counts] = chances
    return law


def most_supported(true: Floats, other: Floats, k: int) -> float:
    """Pr(the true value's count is the largest of k independent ones), ties drawn: sum over c of Pr(true = c)
    times (F(c)^k - F(c - 1)^k) / (k Pr(other = c)), written so that nothing cancels.
    """
    below = np.minimum(np.cumsum(other), 1.0)
    with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
        part = np.minimum(other / below, 1.0)
        tied = np.where(part > 0, -np.expm1(k * np.log1p(-part)) / (k * part), 1.0)
        terms = true * below ** (k - 1) * tied
    return float(np.nansum(np.where(below > 0, terms, 0.0)))


def plurality(k: int, p: float, q: float, reports: int) -> float:
    """Pr(the true value is named most often in some single values), ties drawn.

    Named a Poisson number of times each, the values are independent; the coefficient of all reports together
    undoes that.
    """
    n, total = reports, 0.0
    true, other = _poisson(n * p, n), _poisson(n * q, n)
    for c in range(1, n + 1):
        fewer = np.where(np.arange(n - c + 1) < c, other[: n - c + 1], 0.0)  # another value, named less often
        for ties in range(min(k - 1, (n - c) // c) + 1):
            left = n - c - ties * c
            rest = _power(fewer[: left + 1], k - 1 - ties)[left]
            total += true[c] * math.comb(k - 1, ties) * other[c] ** ties * rest / (ties + 1)
    return float(total / _poisson(n, n)[n])


def _poisson(mean: float, most: int) -> Floats:
    counts = np.arange(most + 1)
    logs = np.array([math.lgamma(count + 1) for count in counts])
    return np.asarray(np.exp(counts * math.log(mean) - mean - logs))


def _power(series: Floats, exponent: int) -> Floats:
    """A power of a series, cut off where the series is."""
    size, result, base = series.size, np.zeros(series.size), series.copy()
    result[0] = 1.0
    while exponent:
        if exponent & 1:
            result = np.convolve(result, base)[:size]
        exponent >>= 1
        if exponent:
            base = np.convolve(base, base)[:size]
    return result
