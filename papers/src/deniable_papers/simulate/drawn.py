"""Draws tallies of simulated people from the law of a mechanism.

A tally is drawn directly where that has the same law as counting reports one by one. (That is up to the
rounding of a probability to a float, and the words' bias of 2^-64.) So a billion people cost no more than a
thousand.
"""

from __future__ import annotations

from functools import singledispatch

import numpy as np
import numpy.typing as npt

from deniable.arrays import Integers
from deniable.errors import InvalidParameter
from deniable.law import Law
from deniable.mechanisms import (
    Direct,
    Hadamard,
    Mechanism,
    Pooled,
    Tally,
    Unary,
)
from deniable.metric import MetricMechanism
from deniable.randomness.simulated import seeded
from deniable.records.near import Tick
from deniable.rounds import Memoized

MOST_PEOPLE = 10**18
MOST_REPORTS = 10**8
"""More reports than this are not made one by one: it would take hours."""

_BLOCK_BYTES = 1 << 25
_DRAWN_AT_ONCE = 1 << 20  # functions of a pool


@singledispatch
def draw_tally(mechanism: Mechanism, true_counts: npt.ArrayLike, generator: np.random.Generator) -> Tally:
    """The tally of reports of true_counts[v] people with each value v, drawn directly where that is exact.

    Subsets and hashes tie the values' counts together in a way that has no shortcut: their reports are really
    made and counted, block by block, from words that the generator seeds.
    """
    counts, n = checked_counts(mechanism, true_counts)
    if n > MOST_REPORTS:
        raise InvalidParameter(
            f"subsets and hashes are made one by one, for at most {MOST_REPORTS:,} people, got {n:,}; ask "
            "fewer, or draw another shape directly (grr, oue, hr, ...)"
        )
    words = seeded(int(generator.integers(1 << 62)))
    total = mechanism.tally(mechanism.privatize(np.zeros(0, dtype=np.int64), seeded(0)))
    step = max(1, min(1 << 20, _BLOCK_BYTES // mechanism.report_bytes))
    ends = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])
    for start in range(0, n, step):
        values = np.repeat(np.arange(mechanism.k), np.diff(np.clip(ends, start, start + step)))
        total += mechanism.tally(mechanism.privatize(values, words))
    return total


@draw_tally.register
def _draw_unary_tally(mechanism: Unary, true_counts: npt.ArrayLike, generator: np.random.Generator) -> Tally:
    """Every bit has its own coin, so every count is the sum of two binomials."""
    counts, n = checked_counts(mechanism, true_counts)
    return Tally(n, draw_bits(mechanism.law, counts, generator))


@draw_tally.register
def _draw_direct_tally(
    mechanism: Direct, true_counts: npt.ArrayLike, generator: np.random.Generator
) -> Tally:
    """With p - q a person reports the truth; all others report any of the k values, equally likely."""
    counts, n = checked_counts(mechanism, true_counts)
    return Tally(n, draw_values(mechanism.law, counts, generator))


@draw_tally.register
def _draw_memoized_tally(
    mechanism: Memoized, true_counts: npt.ArrayLike, generator: np.random.Generator
) -> Tally:
    """One collection: two rounds, of bits or of values, are one round with the chain's own p and q."""
    counts, n = checked_counts(mechanism, true_counts)
    draw = draw_bits if mechanism.bitwise else draw_values
    return Tally(n, draw(mechanism.law, counts, generator))


@draw_tally.register
def _draw_hadamard_tally(
    mechanism: Hadamard, true_counts: npt.ArrayLike, generator: np.random.Generator
) -> Tally:
    """How many agree with their row is a binomial; how many report each column, a tree of fair coins."""
    counts, n = checked_counts(mechanism, true_counts)
    people = np.zeros(1 << mechanism.bits, dtype=np.int64)
    people[1 : mechanism.k + 1] = counts
    agreeing = generator.binomial(people, mechanism.law.p)
    return Tally(n, mechanism.support_counts(_draw_columns(agreeing, people - agreeing, generator), n))


@draw_tally.register
def _draw_pooled_tally(
    mechanism: Pooled, true_counts: npt.ArrayLike, generator: np.random.Generator
) -> Tally:
    """Some people report the bucket of their value under any function; all others any cell, equally likely.

    Where people are fewer than functions times values, each of the former draws a function; else their number
    by function is a multinomial for each value.
    """
    counts, n = checked_counts(mechanism, true_counts)
    pool, p = mechanism.pool, mechanism.law.p
    truthful = generator.binomial(counts, p - (1 - p) / (mechanism.g - 1))
    cells = generator.multinomial(n - truthful.sum(), np.full(pool.cells, 1 / pool.cells))
    if truthful.sum() > pool.size * mechanism.k:
        functions, even = np.arange(pool.size)[:, None], np.full(pool.size, 1 / pool.size)
        parts = -(-pool.size * mechanism.k // _DRAWN_AT_ONCE)
        for block in np.array_split(np.arange(mechanism.k), min(parts, mechanism.k)):
            at = functions * mechanism.g + pool.buckets(functions, block)
            by_function = generator.multinomial(truthful[block], even).T
            np.add.at(cells, at, by_function)
        return Tally(n, mechanism.support_counts(cells))
    ends = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(truthful)])
    for start in range(0, int(ends[-1]), _DRAWN_AT_ONCE):
        values = np.repeat(np.arange(mechanism.k), np.diff(np.clip(ends, start, start + _DRAWN_AT_ONCE)))
        functions = generator.integers(pool.size, size=values.size)
        at = functions * mechanism.g + pool.buckets(functions, values)
        cells += np.bincount(at, minlength=pool.cells)
    return Tally(n, mechanism.support_counts(cells))


@draw_tally.register
def _draw_metric_tally(
    mechanism: MetricMechanism, true_counts: npt.ArrayLike, generator: np.random.Generator
) -> Tally:
    """People with one value report outputs by its row of the channel: a multinomial each."""
    counts, n = checked_counts(mechanism, true_counts)
    outputs = np.zeros(mechanism.outputs, dtype=np.int64)
    for value in np.flatnonzero(counts).tolist():
        row = mechanism._rows(value, value + 1)[0]
        outputs += generator.multinomial(counts[value], row / row.sum())
    return Tally(n, outputs)


@draw_tally.register
def _draw_tick_tally(mechanism: Tick, true_counts: npt.ArrayLike, generator: np.random.Generator) -> Tally:
    """One answer of a near report: of people with a yes and of others, a binomial number says yes."""
    counts, n = checked_counts(mechanism, true_counts)
    yes = generator.binomial(counts, mechanism.table()[:, 0]).sum()
    return Tally(n, np.array([yes, n - yes]))


def is_drawn_directly(mechanism: Mechanism) -> bool:
    """Whether `draw_tally` has a shortcut for this mechanism, or makes its reports one by one."""
    return draw_tally.dispatch(type(mechanism)) is not draw_tally.dispatch(object)


def draw_bits(law: Law, counts: Integers, generator: np.random.Generator) -> Integers:
    """Counts of independent bits, for one row of true counts or for many."""
    n = counts.sum(axis=-1, keepdims=True)
    return np.asarray(
        generator.binomial(counts, law.p) + generator.binomial(n - counts, law.q), dtype=np.int64
    )


def draw_values(law: Law, counts: Integers, generator: np.random.Generator) -> Integers:
    """Counts of reported values, for one row of true counts or for many."""
    truthful = generator.binomial(counts, law.gain)
    others = generator.multinomial((counts - truthful).sum(axis=-1), np.full(law.k, 1 / law.k))
    return np.asarray(truthful + others, dtype=np.int64)


def _draw_columns(agreeing: Integers, disagreeing: Integers, generator: np.random.Generator) -> Integers:
    """How many people report each column of a Hadamard matrix: one that agrees with their row, or not.

    The first bit of the column is a fair coin (but for the row of this bit alone, which decides it). Where
    row and column both have it, agreeing on the rest means the opposite. So each half of the columns is the
    same problem on half the rows.
    """
    agree, differ = agreeing[None, :], disagreeing[None, :]
    while agree.shape[1] > 1:
        half = agree.shape[1] // 2
        zero_agree, zero_differ = generator.binomial(agree, 0.5), generator.binomial(differ, 0.5)
        zero_agree[:, half], zero_differ[:, half] = agree[:, half], 0
        one_agree, one_differ = agree - zero_agree, differ - zero_differ
        zeros = zero_agree[:, :half] + zero_agree[:, half:], zero_differ[:, :half] + zero_differ[:, half:]
        ones = one_agree[:, :half] + one_differ[:, half:], one_differ[:, :half] + one_agree[:, half:]
        agree, differ = (np.stack(pair, axis=1).reshape(-1, half) for pair in zip(zeros, ones, strict=True))
    return np.asarray(agree[:, 0])


def checked_counts(mechanism: Mechanism, true_counts: npt.ArrayLike) -> tuple[Integers, int]:
    """How many people have each value, and how many there are in all."""
    if mechanism.numeric:
        raise InvalidParameter(
            "the mean of a number has no shares, so there are no counts of its values to draw from"
        )
    counts = np.asarray(true_counts)
    if counts.shape != (mechanism.k,) or counts.dtype.kind not in "iu" or counts.min() < 0:
        raise InvalidParameter(f"true counts are {mechanism.k} whole numbers of people, one for each value")
    n = sum(counts.tolist())
    if n > MOST_PEOPLE:
        raise InvalidParameter(f"true counts are of at most {MOST_PEOPLE:.0e} people, got {n}")
    return counts.astype(np.int64), n
