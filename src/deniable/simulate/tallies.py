"""Draws tallies of simulated people from the law of a mechanism or of a record mechanism.

A tally is drawn directly where that has the same law as counting reports one by one. (That is up to the
rounding of a probability to a float, and the words' bias of 2^-64.) So a billion people cost no more than a
thousand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import cast, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats, Integers
from deniable.errors import InvalidParameter
from deniable.estimate import Estimate
from deniable.exact import whole_number
from deniable.law import Law, Marginal
from deniable.law.law import ReportLaw
from deniable.mechanisms import (
    Direct,
    ExactMechanism,
    Hadamard,
    Mechanism,
    Pooled,
    SetMechanism,
    Summed,
    Tally,
    Unary,
)
from deniable.metric import MetricMechanism
from deniable.randomness.simulated import seeded
from deniable.records import Blank, Fake, Guessed, Imitated, RecordMechanism
from deniable.rounds import Memoized
from deniable.simulate.population import MOST_PEOPLE

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
    counts, n = _checked_counts(mechanism, true_counts)
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
    counts, n = _checked_counts(mechanism, true_counts)
    return Tally(n, _draw_bits(mechanism.law, counts, generator))


@draw_tally.register
def _draw_direct_tally(
    mechanism: Direct, true_counts: npt.ArrayLike, generator: np.random.Generator
) -> Tally:
    """With p - q a person reports the truth; all others report any of the k values, equally likely."""
    counts, n = _checked_counts(mechanism, true_counts)
    return Tally(n, _draw_values(mechanism.law, counts, generator))


@draw_tally.register
def _draw_memoized_tally(
    mechanism: Memoized, true_counts: npt.ArrayLike, generator: np.random.Generator
) -> Tally:
    """One collection: two rounds, of bits or of values, are one round with the chain's own p and q."""
    counts, n = _checked_counts(mechanism, true_counts)
    draw = _draw_bits if mechanism.bitwise else _draw_values
    return Tally(n, draw(mechanism.law, counts, generator))


@draw_tally.register
def _draw_hadamard_tally(
    mechanism: Hadamard, true_counts: npt.ArrayLike, generator: np.random.Generator
) -> Tally:
    """How many agree with their row is a binomial; how many report each column, a tree of fair coins."""
    counts, n = _checked_counts(mechanism, true_counts)
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
    counts, n = _checked_counts(mechanism, true_counts)
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
def _draw_summed_tally(
    mechanism: Summed, true_counts: npt.ArrayLike, generator: np.random.Generator
) -> Tally:
    """A Laplace number is the difference of two exponentials, so a sum of n is that of two gammas."""
    counts, n = _checked_counts(mechanism, true_counts)
    noise = generator.standard_gamma(n, size=mechanism.k) - generator.standard_gamma(n, size=mechanism.k)
    return Tally(n, counts + mechanism.scale * noise)


@draw_tally.register
def _draw_metric_tally(
    mechanism: MetricMechanism, true_counts: npt.ArrayLike, generator: np.random.Generator
) -> Tally:
    """People with one value report outputs by its row of the channel: a multinomial each."""
    counts, n = _checked_counts(mechanism, true_counts)
    outputs = np.zeros(mechanism.outputs, dtype=np.int64)
    for value in np.flatnonzero(counts).tolist():
        row = mechanism._rows(value, value + 1)[0]
        outputs += generator.multinomial(counts[value], row / row.sum())
    return Tally(n, outputs)


def is_drawn_directly(mechanism: Mechanism) -> bool:
    """Whether `draw_tally` has a shortcut for this mechanism, or makes its reports one by one."""
    return draw_tally.dispatch(type(mechanism)) is not draw_tally.dispatch(object)


def _draw_bits(law: Law, counts: Integers, generator: np.random.Generator) -> Integers:
    """Counts of independent bits, for one row of true counts or for many."""
    n = counts.sum(axis=-1, keepdims=True)
    return np.asarray(
        generator.binomial(counts, law.p) + generator.binomial(n - counts, law.q), dtype=np.int64
    )


def _draw_values(law: Law, counts: Integers, generator: np.random.Generator) -> Integers:
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


@final
@dataclass(frozen=True, eq=False)
class Draws:
    """Tallies of one attribute of a record mechanism, a row for each run."""

    n: Integers
    counts: Integers
    asked: Integers | None = None
    """How many of the reports are about each value, where not all are."""

    def tally(self, run: int) -> Tally:
        """The tally of one run."""
        return Tally(int(self.n[run]), self.counts[run], None if self.asked is None else self.asked[run])

    def frequencies(self, law: ReportLaw) -> Floats:
        """The unbiased estimates of all runs, a row each."""
        about = np.broadcast_to(self.n[:, None], self.counts.shape) if self.asked is None else self.asked
        by = cast("Law | Marginal", law)  # metric values are estimated by their mechanism
        return Estimate(int(self.n.max()), self.counts, by, asked=about).frequencies


def draw_record_tallies(
    mechanism: RecordMechanism,
    true_counts: Sequence[npt.ArrayLike],
    runs: int,
    generator: np.random.Generator,
) -> tuple[Draws, ...]:
    """The tallies of many runs of a record mechanism, given how many people have each value.

    The tallies of one attribute have the same law as counting real records. Those of different attributes are
    drawn independently. That is their law for `Split`; for the others it is not, since a person who reports
    one attribute leaves out (or fakes) the rest. So errors of an attribute and their averages are right; do
    not look for correlations.
    """
    whole_number("runs", runs, 1)
    if len(true_counts) != mechanism.d:
        raise InvalidParameter(
            f"the record mechanism has {mechanism.d} attributes, but there are true counts of "
            f"{len(true_counts)}"
        )
    known = [
        _checked_counts(part, counts) for part, counts in zip(mechanism.mechanisms, true_counts, strict=True)
    ]
    if len({n for _, n in known}) > 1:
        raise InvalidParameter(
            f"true counts of every attribute are of the same people, got {[n for _, n in known]}"
        )
    return tuple(
        _draw_attribute(mechanism, j, np.tile(counts, (runs, 1)), generator)
        for j, (counts, _) in enumerate(known)
    )


def _draw_attribute(
    mechanism: RecordMechanism, attribute: int, people: Integers, generator: np.random.Generator
) -> Draws:
    """Each person reports an attribute by a coin, so the number of reporters with each value is binomial."""
    part, chance, fake = (
        mechanism.mechanisms[attribute],
        mechanism.chance_real(attribute),
        mechanism.fake(attribute),
    )
    reporters = people if chance == 1 else generator.binomial(people, float(chance))
    real = _draw_reports(part, reporters, generator)
    if fake is None:
        return real
    faked = _draw_fakes(fake, (people - reporters).sum(axis=1), generator)
    return Draws(people.sum(axis=1), real.counts + faked)


@singledispatch
def _draw_reports(part: ExactMechanism, people: Integers, generator: np.random.Generator) -> Draws:
    """One tally of a mechanism for each row of people, one by one."""
    return _draw_one_by_one(part, people, generator)


@_draw_reports.register
def _draw_set_reports(part: SetMechanism, people: Integers, generator: np.random.Generator) -> Draws:
    """All at once where a law does it, else one by one."""
    if not (part.bitwise or part.names_value):
        return _draw_one_by_one(part, people, generator)
    draw = _draw_bits if part.bitwise else _draw_values
    return Draws(people.sum(axis=1), draw(part.law, people, generator))


def _draw_one_by_one(part: ExactMechanism, people: Integers, generator: np.random.Generator) -> Draws:
    tallies = [draw_tally(part, row, generator) for row in people]
    about = [tally.asked for tally in tallies if tally.asked is not None]
    counts = np.array([tally.counts for tally in tallies])
    return Draws(people.sum(axis=1), counts, np.array(about) if about else None)


@singledispatch
def _draw_fakes(fake: Fake, _fakes: Integers, _generator: np.random.Generator) -> Integers:
    """How many fakes support each value, a row for each number of fakes."""
    raise InvalidParameter(
        f"there is no shortcut for fakes of {type(fake).__name__}; make the records instead"
    )


@_draw_fakes.register
def _draw_blank_fakes(fake: Blank, fakes: Integers, generator: np.random.Generator) -> Integers:
    law = fake.part.law
    return np.asarray(generator.binomial(fakes[:, None], law.q, (fakes.size, law.k)), dtype=np.int64)


@_draw_fakes.register
def _draw_guessed_fakes(fake: Guessed, fakes: Integers, generator: np.random.Generator) -> Integers:
    return np.asarray(generator.multinomial(fakes, fake.supported), dtype=np.int64)


@_draw_fakes.register
def _draw_imitated_fakes(fake: Imitated, fakes: Integers, generator: np.random.Generator) -> Integers:
    values = np.asarray(generator.multinomial(fakes, fake.prior.shares), dtype=np.int64)
    return _draw_reports(fake.part, values, generator).counts


def _checked_counts(mechanism: Mechanism, true_counts: npt.ArrayLike) -> tuple[Integers, int]:
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
