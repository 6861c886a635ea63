"""Keeps a value for ever where plans add answers or change epsilon_forever.

A device keeps a root answer to each value: by the odds of the largest epsilon_forever so far, among the
answers of the plan. Answers that are added may take it over. A larger epsilon_forever looks at the truth
again, and at all that was kept. What a plan with a smaller one reports is the root answer made worse.

So each plan keeps the law that it states, and all of them together lose what the largest one loses.
Thresholds are whole, and the law is off by a few of 2^64 words: plans state `BIAS` for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from deniable.arrays import Array, Integers
from deniable.mechanisms import Direct, Unary
from deniable.mechanisms.shapes.common import keep_or_other
from deniable.randomness import FULL
from deniable.randomness.words import Rows

BIAS = 1
"""Billionths of a nat that a plan adds to each of its figures, for each attribute and each plan of its chain.

A kept answer is as likely as stated but for a part of 2^19 / 2^64 for each plan before. Both likelihoods of a
ratio are products of as many as there are rounds: at most 10,000 together, and 1,000 of a plan.
"""
_MOST = 1 << 16  # the odds of the kept value, and the number of values
_LEAST = 128  # bits: a raised answer that is possible has at least this part of all chances


class Step(NamedTuple):
    """What becomes of root answers at a plan."""

    k: int
    odds: Fraction
    """How much likelier a root answer is the value than any other."""
    before: Fraction
    """The odds of the plan before; smaller where root answers are raised."""
    stay: int | None
    """The threshold by which the plan's answer is the root answer; None where it always is."""

    @property
    def move(self) -> Fraction:
        """The chance of each other answer to be the plan's in place of the root answer."""
        return Fraction(0) if self.stay is None else Fraction(FULL - self.stay, FULL * (self.k - 1))

    @property
    def share(self) -> int:
        """The threshold by which each answer that was added takes over a root answer."""
        return -(-FULL // (self.odds + self.k - 1))


class Covered(NamedTuple):
    """A root answer that an added answer took over: it still speaks for its value, which nobody may see."""

    answer: int
    k: int
    """The number of values that the plan before had."""
    odds: Fraction
    """How much likelier the covered answer is the value, given all that was kept after it."""


def grow(first: Direct, k: int) -> Direct | None:
    """The first round of a longer list, at the same odds; None where its thresholds would be too coarse."""
    return Direct(k, _find_keep(find_odds(first), k)) if is_fine(first) and k <= _MOST else None


def is_fine(first: Direct) -> bool:
    """Whether kept answers of a first round can become others: its thresholds are not too coarse."""
    return find_odds(first) <= _MOST and first.k <= _MOST


def find_odds(first: Direct) -> Fraction:
    """How much likelier the true value is than any other."""
    return Fraction(first.keep * (first.k - 1), FULL - first.keep)


def _find_keep(odds: Fraction, k: int) -> int:
    return int(FULL * odds / (odds + k - 1))


def find_move(odds: Fraction, target: Fraction, k: int) -> Fraction:
    """The chance of each other answer where an answer of these odds is made worse, to the target."""
    return (odds - target) / ((odds - 1) * (target + k - 1))


@lru_cache(maxsize=256)
def list_steps(firsts: tuple[tuple[int, int], ...]) -> tuple[Step, ...]:
    """What becomes of root answers by these first rounds: of each, its number of values and its threshold."""
    steps: list[Step] = []
    for k, keep in firsts:
        own = find_odds(Direct(k, keep))
        before = steps[-1].odds if steps else own
        if keep == _find_keep(before, k):  # the odds of a longer list differ by rounding
            before = own
        odds = max(own, before)
        stay = int(FULL * (1 - (k - 1) * find_move(odds, own, k))) if own < odds else None
        steps.append(Step(k, odds, before, stay))
    return tuple(steps)


def keep_first(first: Direct | Unary, values: Integers, rows: Rows) -> Array:
    """The first answer that is kept for each value, with the words of the plans that have had the value."""
    if not rows.firsts:
        return first.encode(values, rows.columns(0, first.words).recall(values))
    kept, steps = first.blank(len(values)), list_steps(rows.firsts)
    covered: list[tuple[Covered, ...]] = [()] * len(values)
    known = 0
    for i, step in enumerate(steps):
        new = np.flatnonzero((values >= known) & (values < step.k))
        root = Direct(step.k, _find_keep(step.odds, step.k))
        kept[new] = root.encode(values[new], rows.pick(new).columns(0, 2).recall(values[new], i))
        old = np.flatnonzero(values < known)
        table = rows.pick(old).recall(values[old], i).array()
        if step.before < step.odds:
            for row, (_, *number) in zip(old.tolist(), table[:, :4].tolist(), strict=True):
                state = int(values[row]), int(kept[row]), covered[row]
                kept[row], covered[row] = raise_answer(*state, known, step.before, step.odds, number)
        turned = table[:, 0] < np.uint64(step.share * (step.k - known))
        for row in old[turned].tolist():
            covered[row] += (Covered(int(kept[row]), known, step.odds),)
        kept[old[turned]] = known + table[turned, 0] // np.uint64(step.share)
        known = step.k
    if step.stay is None:
        return kept
    words = rows.columns(2, 4).recall(values, len(steps) - 1).array()
    return keep_or_other(kept.astype(np.uint64), words, step.k, step.stay).astype(kept.dtype)


def raise_answer(
    value: int,
    kept: int,
    covered: tuple[Covered, ...],
    k: int,
    odds: Fraction,
    target: Fraction,
    number: Sequence[int],
) -> tuple[int, tuple[Covered, ...]]:
    """A root answer of larger odds, of which all that was kept is a part; three words choose it.

    An answer x is as likely as x is at the target's odds, times the chance by which x, made worse, gives what
    was kept. A covered answer, from the last one on, is made of x if x is below its `k`: it is x, or seldom
    another. Else it is what is left of its own law. So all that was kept says of the value what x says, or
    less. A chance below 2^-128 counts as that one, so that three words never leave out what is possible: no
    ratio of two values grows by it.
    """
    weights, left = weigh_answers(value, kept, covered, k, odds, target)
    place = sum(weight * (end - start) for start, end, weight in weights)
    place = place * (number[0] * FULL**2 + number[1] * FULL + number[2]) // FULL**3
    for start, end, weight in weights:
        if place < weight * (end - start):
            answer = start + place // weight
            return answer, tuple(each for each in left if each.k <= answer)
        place -= weight * (end - start)
    raise AssertionError("a number below 1 is below the sum of all chances")


@lru_cache(maxsize=4096)
def weigh_answers(
    value: int, kept: int, covered: tuple[Covered, ...], k: int, odds: Fraction, target: Fraction
) -> tuple[list[tuple[int, int, int]], list[Covered]]:
    """The weight of each raised answer, by ranges of answers, and what covered answers then say."""
    share = (target - odds) / ((target - 1) * (target + k - 1))  # of an answer that is no more than noise
    factors: list[tuple[int, int, Fraction, Fraction, Fraction]] = []
    left: list[Covered] = []
    for answer, size, own in reversed(covered):
        whole, mass = own + size - 1, share * (target + size - 1)
        rest: tuple[Fraction, Fraction]
        gap = (own - 1) / (whole * share * (target - 1)) if share else Fraction(1)
        if gap * FULL >= FULL - 1:
            same, other = Fraction(1), Fraction(0)
            rest = own / whole - target * share, 1 / whole - share
        else:
            same, other = gap + (1 - gap) / size, (1 - gap) / size
            rest = (1 - mass) / size, (1 - mass) / size
        above = rest[answer != value] / (1 - mass)
        factors.append((answer, size, same, other, above))
        if rest[0] > rest[1]:
            left.insert(0, Covered(answer, size, rest[0] / rest[1]))
        share *= other * whole
    points = {value, kept, *(each.answer for each in covered)}
    edges = sorted({0, k, *(each.k for each in covered), *points, *(point + 1 for point in points)})
    weights = []
    for start, end in pairwise(edges):
        weight = target if start == value else Fraction(1)
        if start == kept:
            weight *= (odds * (target + k - 2) - (k - 1)) / (target - odds)
        for answer, size, same, other, above in factors:
            weight *= (same if start == answer else other) if start < size else above
        weights.append((start, end, weight))
    unit = math.lcm(*(weight.denominator for _, _, weight in weights))
    wholes = [(start, end, int(weight * unit)) for start, end, weight in weights]
    total = sum(weight * (end - start) for start, end, weight in wholes)
    return [(start, end, max(each << _LEAST, total) if each else 0) for start, end, each in wholes], left
