"""Makes up reports as the published attacks do, and computes how many of their targets these support.

The attacks are those of Cao, Jia and Gong (2021) on direct, unary and hashed reports. Subsets,
columns of a Hadamard matrix and functions of a public pool are attacked in the same spirit.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from deniable.arrays import Array, Floats, Integers
from deniable.exact import PRIME
from deniable.mechanisms import Direct, Hadamard, Hashed, Pooled, SubsetShape, Unary
from deniable.randomness.simulated import seeded
from deniable_papers.studies.recovery import supported_by_chance

Attack = Literal["RPA", "RIA", "MGA", "MAX"]
"""Random reports; the mechanism's own reports of random targets; reports that support as many targets as the
attacker finds; and as many as there can be, where that is more.
"""
Attacked = Direct | Unary | SubsetShape | Hashed | Pooled | Hadamard
"""The mechanisms that the attacks are for."""
FUNCTIONS = 1000
"""Hash functions that a fake tries, as published: it takes the one that sends most targets to one bucket."""
_FAMILY = 1 << 19  # functions that stand for all, to compute how many targets the best of some sends there
_BATCH = 1 << 16  # functions that are tried at once


def make_fakes(
    mechanism: Attacked, attack: Attack, targets: Integers, count: int, generator: np.random.Generator
) -> Array:
    """This many made-up reports."""
    if attack == "RIA":
        answers = generator.choice(targets, count)
        return mechanism.privatize(answers, seeded(int(generator.integers(1 << 62))))
    if attack == "RPA":
        return _draw(mechanism, count, generator)
    if attack == "MAX" and isinstance(mechanism, Hashed):
        return _send_all_to_one_bucket(mechanism, count, generator)
    return _push(mechanism, targets, count, generator)


def expected_hits(mechanism: Attacked, attack: Attack, targets: Integers) -> float:
    """How many of the targets a fake supports, on average.

    It is exact but for MGA on hashed reports, which is about this very family of functions: half a million
    evenly spread ones stand for it. That moves the number by less than 1 %.
    """
    if attack == "RIA":
        return targets.size * mechanism.law.q + mechanism.law.gain
    if attack == "RPA":
        return targets.size * supported_by_chance(mechanism)
    return float(targets.size) if attack == "MAX" else _hits(mechanism, targets)


def has_more(mechanism: Attacked, targets: Integers) -> bool:
    """Whether some report supports more targets than the published attack finds."""
    return isinstance(mechanism, Hashed) and targets.size > 1


def _draw(mechanism: Attacked, count: int, generator: np.random.Generator) -> Array:
    """Reports drawn evenly from all that are possible."""
    match mechanism:
        case Direct():
            return _filled(mechanism, generator.integers(mechanism.k, size=count))
        case Unary():
            return _packed(generator.random((count, mechanism.k)) < 0.5)
        case SubsetShape():
            none = np.zeros(0, dtype=np.int64)
            return mechanism.write_members(_members(mechanism.k, none, mechanism.size, count, generator))
        case Hadamard():
            return _filled(mechanism, generator.integers(1 << mechanism.bits, size=count))
        case Pooled():
            return _filled(mechanism, generator.integers(mechanism.pool.cells, size=count))
        case Hashed():
            functions = _functions(count, generator)
            return _hashed(mechanism, *functions, generator.integers(mechanism.g, size=count))


def _push(mechanism: Attacked, targets: Integers, count: int, generator: np.random.Generator) -> Array:
    """Reports for the targets: MGA."""
    match mechanism:
        case Direct():
            return _filled(mechanism, generator.choice(targets, count))
        case Unary():
            # all targets, and others until there are as many bits as usual, so that the size says little
            usual = int(mechanism.law.p + (mechanism.k - 1) * mechanism.law.q)
            return _packed(_members(mechanism.k, targets, max(0, usual - targets.size), count, generator))
        case SubsetShape():
            return _push_subset(mechanism, targets, count, generator)
        case Hadamard():
            # columns that support most of the targets; the first one supports all values
            hits = _column_hits(mechanism, targets)
            return _filled(mechanism, generator.choice(np.flatnonzero(hits == hits.max()), count))
        case Pooled():
            hits = _pooled_hits(mechanism, targets)
            return _filled(mechanism, generator.choice(np.flatnonzero(hits == hits.max()), count))
        case Hashed():
            return _push_hashed(mechanism, targets, count, generator)


def _hits(mechanism: Attacked, targets: Integers) -> float:
    """How many targets a report of MGA supports: all, where a report may support any values."""
    match mechanism:
        case Direct():
            return 1.0
        case Unary():
            return float(targets.size)
        case SubsetShape():
            return float(min(targets.size, mechanism.size))
        case Hadamard():
            return float(_column_hits(mechanism, targets).max())
        case Pooled():
            return float(_pooled_hits(mechanism, targets).max())
        case Hashed():
            return _hashed_hits(mechanism, targets)


def _push_subset(
    mechanism: SubsetShape, targets: Integers, count: int, generator: np.random.Generator
) -> Array:
    if targets.size <= mechanism.size:
        others = mechanism.size - targets.size
        return mechanism.write_members(_members(mechanism.k, targets, others, count, generator))
    some = np.argsort(generator.random((count, targets.size)), axis=1)[:, : mechanism.size]
    members = np.zeros((count, mechanism.k), dtype=bool)
    np.put_along_axis(members, targets[some], True, axis=1)
    return mechanism.write_members(members)


def _members(k: int, targets: Integers, others: int, count: int, generator: np.random.Generator) -> Array:
    """Which values each of some sets holds: all targets, and this many others at random."""
    ranks = generator.random((count, k))
    ranks[:, targets] = -1.0
    members = np.zeros((count, k), dtype=bool)
    chosen = np.argpartition(ranks, min(k - 1, targets.size + others), axis=1)[:, : targets.size + others]
    np.put_along_axis(members, chosen, True, axis=1)
    return members


def _packed(members: Array) -> Array:
    return np.packbits(members, axis=1, bitorder="little")


def _filled(mechanism: Direct | Hadamard | Pooled, values: Integers) -> Array:
    reports = mechanism.blank(values.size)
    reports[:] = values
    return reports


def _column_hits(mechanism: Hadamard, targets: Integers) -> Integers:
    every = _filled(mechanism, np.arange(1 << mechanism.bits))
    return np.asarray(mechanism.support(every)[:, targets].sum(axis=1))


def _pooled_hits(mechanism: Pooled, targets: Integers) -> Integers:
    """How many targets each report supports: all functions are public, so that the best one is known."""
    pushed = np.zeros(mechanism.k, dtype=np.int64)
    pushed[targets] = 1
    return np.asarray(mechanism.pool.sum_buckets(pushed).ravel())


def _push_hashed(mechanism: Hashed, targets: Integers, count: int, generator: np.random.Generator) -> Array:
    """The best of some functions for each fake; for one target, any function will do."""
    tried = FUNCTIONS if targets.size > 1 else 1
    found = []
    for some in np.array_split(np.arange(count), max(1, -(-count * tried // _BATCH))):
        a, b = _functions(some.size * tried, generator)
        buckets = _buckets(mechanism, targets, a, b)
        best = _loads(buckets).reshape(-1, tried).argmax(axis=1) + np.arange(some.size) * tried
        buckets = buckets[best]
        fullest = (buckets[:, :, None] == buckets[:, None]).sum(axis=2).argmax(axis=1)
        found.append(_hashed(mechanism, a[best], b[best], buckets[np.arange(some.size), fullest]))
    return np.concatenate(found)


def _hashed_hits(mechanism: Hashed, targets: Integers) -> float:
    if targets.size == 1:
        return 1.0
    counts = np.zeros(targets.size + 1)
    for first in range(0, _FAMILY, _BATCH):
        loads = _loads(_buckets(mechanism, targets, *_spread_functions(first)))
        counts += np.bincount(loads, minlength=counts.size)
    # the best of many is at most m where all of them are
    up_to = np.cumsum(counts) / _FAMILY
    return float((1 - up_to[: targets.size] ** FUNCTIONS).sum())


def _spread_functions(first: int) -> tuple[Integers, Integers]:
    """Some functions after the first so many, evenly spread by the two-dimensional golden ratio."""
    numbers = np.arange(first, first + _BATCH) + 1
    steps = 0.7548776662466927, 0.5698402909980532
    a, b = (1 + (numbers * step % 1.0 * (PRIME - 1)).astype(np.int64) for step in steps)
    return a, b


def _send_all_to_one_bucket(mechanism: Hashed, count: int, generator: np.random.Generator) -> Array:
    """Steps that are multiples of the number of buckets, short enough to stay below the prime: all values
    have the bucket of the start. No search is needed.
    """
    a = mechanism.g * generator.integers(1, PRIME // (2 * mechanism.g * mechanism.k), size=count)
    b = generator.integers(PRIME // 2, size=count)
    return _hashed(mechanism, a, b, b % mechanism.g)


def _functions(count: int, generator: np.random.Generator) -> tuple[Integers, Integers]:
    return generator.integers(1, PRIME, size=count), generator.integers(PRIME, size=count)


def _buckets(mechanism: Hashed, targets: Integers, a: Integers, b: Integers) -> Integers:
    return np.asarray((a[:, None] * (targets + 1) + b[:, None]) % PRIME % mechanism.g)


def _loads(buckets: Integers) -> Integers:
    """How many targets the fullest bucket of each function has: the longest run when they are sorted."""
    ordered, loads = np.sort(buckets, axis=1), np.ones(len(buckets), dtype=np.int64)
    for more in range(1, buckets.shape[1]):
        loads[(ordered[:, more:] == ordered[:, :-more]).any(axis=1)] = more + 1
    return loads


def _hashed(mechanism: Hashed, a: Integers, b: Integers, bucket: Integers) -> Array:
    reports = mechanism.blank(a.size)
    reports["a"], reports["b"], reports["bucket"] = a, b, bucket
    return reports


def expected_gain(
    mechanism: Attacked, attack: Attack, targets: Integers, shares: Floats, fakes: float
) -> float:
    """How much the estimated shares of all targets together grow by this share of fakes, on average."""
    law = mechanism.law
    added = (expected_hits(mechanism, attack, targets) - targets.size * law.q) / law.gain
    return fakes * (added - float(shares[targets].sum()))


def published_gain(
    protocol: str, attack: Attack, epsilon: float, targets: int, k: int, held: float, fakes: float
) -> float | None:
    """The same as published, where a share `held` of people has a target; None where there is no formula."""
    if protocol not in ("grr", "oue", "olh") or attack == "MAX":
        return None
    if attack == "RIA":
        added = 1.0
    elif attack == "RPA":
        added = {"grr": targets / k, "oue": float(targets), "olh": 0.0}[protocol]
    elif protocol == "grr":
        added = 1 + (k - targets) / math.expm1(epsilon)
    else:
        added = 2 * targets + 2 * targets / math.expm1(epsilon)
    return fakes * (added - held)
