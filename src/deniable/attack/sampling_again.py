"""Guesses which attribute among fakes is real from several reports of one person, exactly for small cases.

A person's reports of an attribute are fresh rounds on one first answer, and so are those of a fake that is
kept. So how often each report came says all that they say. Fakes that are drawn again each time give
themselves away: they agree with themselves less often than a real answer does. Fakes that are kept never
change, so that a real answer that changes gives itself away.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from typing import Literal, NamedTuple, cast

import numpy as np
from scipy.special import gammaln

from deniable.arrays import Floats
from deniable.attack.inputs import checked_priors
from deniable.attack.likelihoods import Source
from deniable.attack.results import Chance
from deniable.attack.sampling import Listed, expected_largest, find_hidden, list_fake_chances, list_reports
from deniable.errors import InvalidParameter
from deniable.exact import whole_number
from deniable.mechanisms import SetMechanism
from deniable.records import Fake
from deniable.rounds import BitFlip, Memoized, PooledMemoized
from deniable.rounds.memoized import MemoizedBuckets

_MOST_ATOMS = 1 << 18  # ways in which the reports of an attribute can come
_MOST_FUNCTIONS = 1 << 12


def sampled_success_after(
    plan: Source,
    marginals: object,
    reports: int,
    fakes: Literal["kept", "fresh"] = "kept",
    changed: bool = False,
    among: str | int | None = None,
) -> Chance:
    """Computes how often the best guess of the real attribute is right after several reports of one person.

    The values have the shares `marginals`, which the attacker knows. Fakes are "kept", as every client does,
    or "fresh": drawn again in each round, which nobody should do. With `changed`, every answer changes to
    another one after half of the reports, and the attacker knows when. It is exact where what is kept and
    reported can be listed, and otherwise refused; of local hashing, it is that of an ideal hash.

    >>> from deniable.rounds import l_rsfd
    >>> mechanism = l_rsfd([3, 3, 3], epsilon_first=1.0, epsilon_forever=2.0, protocol="l_grr")
    >>> shares = [[1 / 3] * 3] * 3
    >>> [round(sampled_success_after(mechanism, shares, 10, fakes).value, 3) for fakes in ("kept", "fresh")]
    [0.333, 0.805]
    >>> round(sampled_success_after(mechanism, shares, 10, changed=True).value, 3)
    0.776
    """
    hidden, believed = find_hidden(plan, among), checked_priors(plan, marginals)
    mechanism = hidden.mechanism
    whole_number("reports", reports, 1)
    if not mechanism.repeated:
        raise InvalidParameter("this plan asks once; sampled_success tells what its report gives away")
    if fakes not in ("kept", "fresh"):
        raise InvalidParameter(f"fakes are 'kept' or 'fresh', got {fakes!r}")
    if changed and reports % 2:
        raise InvalidParameter(f"answers change after half of the reports, an even number, got {reports}")
    case = _Case(reports, fakes == "kept", changed)
    shares = (believed[j] for j in hidden.attributes)
    atoms = [_list_sequences(fake, prior, case) for fake, prior in zip(mechanism.fakes, shares, strict=True)]
    return Chance(expected_largest(atoms) / mechanism.d)


class _Case(NamedTuple):
    reports: int
    keeps_fakes: bool
    changes: bool


class _Rounds(NamedTuple):
    """What is kept, and how it is reported: tables of chances."""

    first: Floats
    """Of each answer that is kept, by value."""
    faked: Floats
    """Of each answer that a fake keeps."""
    second: Floats
    """Of each report, by the answer that is kept."""


def _list_sequences(fake: Fake, shares: Floats, case: _Case) -> tuple[Floats, Floats]:
    """All that the reports of an attribute can say: m / F there, and F."""
    part = fake.part
    if isinstance(part, BitFlip):
        return _list_whole(fake, shares, case)
    if not isinstance(part, MemoizedBuckets):
        return _list_counts(_list_rounds(fake), shares, case)
    buckets = _tabulate(part.buckets)
    alike = np.full(part.g, 1 / part.g)
    atoms = [
        _list_counts(_Rounds(buckets.first[list(function)], alike, buckets.second), shares, case)
        for function in _list_functions(part)
    ]
    ratios, chances = zip(*atoms, strict=True)
    return np.concatenate(ratios), np.concatenate(chances) / len(atoms)


def _list_functions(part: MemoizedBuckets) -> Iterable[Iterable[int]]:
    """The buckets of all values by each hash function: of the pool, or by any."""
    pool = part.pool if isinstance(part, PooledMemoized) else None
    if (part.g**part.k if pool is None else pool.size) > _MOST_FUNCTIONS:
        _refuse(part)
    if pool is None:
        return itertools.product(range(part.g), repeat=part.k)
    return list(pool.buckets(np.arange(pool.size)[:, None], np.arange(part.k)))


def _list_rounds(fake: Fake) -> _Rounds:
    part = cast(Memoized, fake.part)
    kept = _list_or_refuse(part.first)
    rounds = _tabulate(part)
    return rounds._replace(faked=kept.base * list_fake_chances(fake.keep(), kept.ratios))


def _tabulate(part: Memoized) -> _Rounds:
    kept = _list_or_refuse(part.first)
    first = (kept.base[:, None] * kept.ratios).T
    if part.names_value:
        sent = _list_or_refuse(part.second)
        return _Rounds(first, np.zeros(part.k), (sent.base[:, None] * sent.ratios).T)
    p, q = part.second.law.p, part.second.law.q
    bits = kept.ratios > 1
    chances = np.where(bits[:, None, :], p, q)
    return _Rounds(first, np.zeros(len(bits)), np.where(bits, chances, 1 - chances).prod(axis=2))


def _list_counts(rounds: _Rounds, shares: Floats, case: _Case) -> tuple[Floats, Floats]:
    """By how often each report came: before the change and after it, where answers change."""
    halves = 2 if case.changes else 1
    size, times = len(rounds.second.T), case.reports // halves
    if math.comb(times + size - 1, size - 1) ** halves > _MOST_ATOMS:
        raise InvalidParameter(
            f"{case.reports} reports, of {size:,} kinds, can come in too many ways to list; take fewer"
        )
    counts = _count_ways(times, size)
    ways = gammaln(times + 1) - gammaln(counts + 1).sum(axis=1)
    by_kept = np.exp(counts @ np.log(rounds.second).T + ways[:, None])
    by_value = by_kept @ rounds.first.T
    fresh = np.exp(counts @ np.log(rounds.faked @ rounds.second) + ways)
    if not case.changes:
        real, faked = by_value @ shares, by_kept @ rounds.faked if case.keeps_fakes else fresh
    else:
        real = (by_value @ _change(shares) @ by_value.T).ravel()
        kept = (by_kept * rounds.faked) @ by_kept.T
        faked = (kept if case.keeps_fakes else np.outer(fresh, fresh)).ravel()
    return real / faked, faked


def _list_whole(fake: Fake, shares: Floats, case: _Case) -> tuple[Floats, Floats]:
    """Reports that are kept whole, so that real ones never differ; the last atom is that they do.

    Which values are asked about is kept, also where the bits of fakes are not.
    """
    part = cast(BitFlip, fake.part)
    if case.changes:
        raise InvalidParameter("reports that are kept whole (dbitflip) show a change: no fake hides it")
    base, ratios = _list_or_refuse(part)
    faked, sets = base * list_fake_chances(fake, ratios), math.comb(part.k, part.bits)
    constant = faked if case.keeps_fakes else (faked * sets) ** case.reports / sets
    others = max(0.0, 1 - float(constant.sum()))
    return np.append(base * (ratios @ shares) / constant, 0.0), np.append(constant, others)


def _change(shares: Floats) -> Floats:
    """How likely each value is first and each other one then: drawn from the shares of the others."""
    pairs = shares[:, None] * shares / (1 - shares[:, None])
    np.fill_diagonal(pairs, 0.0)
    return np.asarray(pairs)


def _count_ways(times: int, size: int) -> Floats:
    """All ways to divide so many reports among the kinds of them, a row each."""
    bars = np.array(list(itertools.combinations(range(times + size - 1), size - 1)), dtype=np.int64)
    bars = bars.reshape(-1, size - 1)
    ends = np.pad(bars, ((0, 0), (1, 1)), constant_values=((0, 0), (-1, times + size - 1)))
    return np.asarray(np.diff(ends, axis=1) - 1.0)


def _list_or_refuse(part: SetMechanism) -> Listed:
    return list_reports(part) or _refuse(part)


def _refuse(part: SetMechanism) -> Listed:
    raise InvalidParameter(
        f"{part.describe_name()} of {part.k:,} values has too many reports to list; take fewer values"
    )
