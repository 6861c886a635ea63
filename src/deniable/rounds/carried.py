"""Keeps a value for ever where plans add answers or change epsilon_forever.

A device keeps a root answer to each value: by the odds of the largest epsilon_forever so far, among the
answers of the plan. Answers that are added may take it over. Where it is removed, the answer that it covers
is the root again, or a new one is drawn: a removed answer says nothing of those that are left. A larger
epsilon_forever looks at the truth again, and at all that was kept. What a plan with a smaller one reports is
the root answer made worse. A kept bit is an answer of two values, by the odds of a clear bit where it is not
true; bits of answers that are added are there from the start.

So each plan keeps the law that it states, and all of them together lose what the largest one loses.
Thresholds are whole, and the law is off by a few of 2^64 words: plans state `BIAS` for it.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from deniable.arrays import Array, Integers
from deniable.mechanisms import Direct, Unary
from deniable.mechanisms.shapes.common import keep_or_other
from deniable.randomness import FULL
from deniable.randomness.words import First, Rows

BIAS = 1
"""Billionths of a nat that a plan adds to each of its figures, for each attribute and each plan of its chain.

A kept answer is as likely as stated but for a part of 2^19 / 2^64 for each plan before. Both likelihoods of a
ratio are products of as many as there are rounds: at most 10,000 together, and 1,000 of a plan. Bits are many
more, and their chances have 128 binary digits.
"""
_MOST = 1 << 16  # the odds of the kept value, and the number of values
_LEAST = 128  # bits: a raised answer that is possible has at least this part of all chances
_LATE = 1 << 20  # what is added to a value for the words of the last 64 digits of its bits
_HALF = FULL >> 1


class Step(NamedTuple):
    """What becomes of root answers at a plan."""

    k: int
    odds: Fraction
    """How much likelier a root answer is the value than any other."""
    before: Fraction
    """The odds of the plan before; smaller where root answers are raised."""
    stay: int | None
    """The threshold by which the plan's answer is the root answer; None where it always is."""
    removed: tuple[int, ...]
    """The numbers of answers that the plan before had, and this one has not."""

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
    odds = find_odds(first.k, first.keep)
    return Direct(k, _find_keep(odds, k)) if is_fine(first) and k <= _MOST else None


def can_turn(before: Direct | Unary, after: Direct | Unary) -> bool:
    """Whether what is kept by one first round can be made better or worse, so that the other one keeps it."""
    firsts = before, after
    if not all(map(is_fine, firsts)):
        return False
    if isinstance(before, Direct) and isinstance(after, Direct):
        return True
    ones = [(first.one, FULL - first.zero) for first in firsts if isinstance(first, Unary)]
    return all(one == _HALF for one, _ in ones) or all(one == clear for one, clear in ones)


def is_fine(first: Direct | Unary) -> bool:
    """Whether kept answers of a first round can become others: its thresholds are not too coarse."""
    k, keep = describe_first(first)
    return find_odds(k, keep) <= _MOST and k <= _MOST


def describe_first(first: Direct | Unary) -> tuple[int, int]:
    """The number of values of a first round and its threshold; of bits, those of one that is not true."""
    return (2, FULL - first.zero) if isinstance(first, Unary) else (first.k, first.keep)


def find_odds(k: int, keep: int) -> Fraction:
    """How much likelier the true value is than any other."""
    return Fraction(keep * (k - 1), FULL - keep)


def _find_keep(odds: Fraction, k: int) -> int:
    return int(FULL * odds / (odds + k - 1))


def find_move(odds: Fraction, target: Fraction, k: int) -> Fraction:
    """The chance of each other answer where an answer of these odds is made worse, to the target."""
    return (odds - target) / ((odds - 1) * (target + k - 1))


@lru_cache(maxsize=256)
def list_steps(firsts: tuple[First, ...]) -> tuple[Step, ...]:
    """What becomes of root answers by these first rounds."""
    steps: list[Step] = []
    for k, keep, removed in firsts:
        own = find_odds(k, keep)
        before = steps[-1].odds if steps else own
        if keep == _find_keep(before, k):  # the odds of a longer list differ by rounding
            before = own
        odds = max(own, before)
        stay = int(FULL * (1 - (k - 1) * find_move(odds, own, k))) if own < odds else None
        steps.append(Step(k, odds, before, stay, removed))
    return tuple(steps)


def keep_first(first: Direct | Unary, values: Integers, rows: Rows) -> Array:
    """The first answer that is kept for each value, with the words of the plans that have had the value."""
    if not rows.firsts:
        return first.encode(values, rows.columns(0, first.words).recall(values))
    if isinstance(first, Unary):
        return _keep_bits(first, values, rows)
    kept, steps = first.blank(len(values)), list_steps(rows.firsts)
    covered: list[tuple[Covered, ...]] = [()] * len(values)
    known = 0
    before = np.full(len(values), -1)
    for i, (step, numbers) in enumerate(zip(steps, _number_values(values, steps), strict=True)):
        has = np.flatnonzero(numbers >= 0)
        drawn, sizes = before[has] < 0, np.full(len(has), known - len(step.removed))
        mine = rows.pick(has)
        table = np.array(mine.recall(numbers[has], i).array()[:, :4])
        again = mine.recall(numbers[has] + _MOST, i).array()[:, :4] if step.removed else table
        for place in np.flatnonzero(~drawn) if step.removed or step.before < step.odds else ():
            row = has[place]
            root = Covered(int(kept[row]), known, step.before)
            if root.answer in step.removed:
                table[place] = again[place]
            roots = leave_out((*covered[row], root), step.removed)
            covered[row] = roots[:-1]
            drawn[place] = not roots
            if roots:
                kept[row], sizes[place], odds = roots[-1]
                if odds < step.odds:
                    state = int(numbers[row]), int(kept[row]), covered[row], int(sizes[place])
                    number = table[place, 1:].tolist()
                    kept[row], covered[row] = raise_answer(*state, odds, step.odds, number)
        added = ~drawn & (table[:, 0] < np.uint64(step.share) * (step.k - sizes).astype(np.uint64))
        for row, size in zip(has[added].tolist(), sizes[added].tolist(), strict=True):
            covered[row] += (Covered(int(kept[row]), size, step.odds),)
        kept[has[added]] = sizes[added] + (table[added, 0] // np.uint64(step.share)).astype(np.int64)
        values_drawn, keep = numbers[has[drawn]].astype(np.uint64), _find_keep(step.odds, step.k)
        kept[has[drawn]] = keep_or_other(values_drawn, table[drawn], step.k, keep)
        known, before = step.k, numbers
    if step.stay is None:
        return kept
    words = rows.columns(2, 4).recall(values, len(steps) - 1).array()
    return keep_or_other(kept.astype(np.uint64), words, step.k, step.stay).astype(kept.dtype)


def _keep_bits(first: Unary, values: Integers, rows: Rows) -> Array:
    """The bits that are kept for each value: root bits, redrawn by each plan with larger odds. Those of the
    last plan are redrawn once more where its odds are smaller.
    """
    words, steps = rows.columns(0, first.words), list_steps(rows.firsts)
    laws = [
        replace(first, one=_HALF if first.one == _HALF else keep, zero=FULL - keep)
        for _, keep, _ in rows.firsts
    ]
    root = laws[0]
    kept = root.encode(values, words.recall(values))
    for plan, step in enumerate(steps):
        chances = None
        if step.before < step.odds:
            chances = raise_bits(root, laws[plan])
            root = laws[plan]
        elif plan == len(steps) - 1 and step.stay is not None:
            chances = blur_bits(root, first)
        if chances is not None:
            halves = [words.recall(values + late, plan) for late in (0, _LATE)]
            kept = first.redraw(values, kept, chances, halves)
    return kept


def raise_bits(root: Unary, target: Unary) -> tuple[Fraction, ...]:
    """The chances that a root bit of larger odds is set: for a value that is not true and a bit that was
    clear, or set; then for the true value. Made worse, it is the bit that was kept.
    """
    turn, stay = blur_bits(target, root)[:2]
    return tuple(
        Fraction(wanted * share, FULL * part)
        for kept, wanted in ((root.zero, target.zero), (root.one, target.one))
        for part, share in ((1 - Fraction(kept, FULL), turn), (Fraction(kept, FULL), stay))
    )


def blur_bits(root: Unary, target: Unary) -> tuple[Fraction, ...]:
    """The chances that a bit that is made worse is set: where it was clear, or set, whatever is true."""
    odds, worse = (find_odds(*describe_first(each)) for each in (root, target))
    turn = find_move(odds, worse, 2)
    return (turn, 1 - turn) * 2


def _number_values(values: Integers, steps: Sequence[Step]) -> list[Integers]:
    """The numbers that values of the last plan have in each plan; -1 in plans that do not have them."""
    numbers = [np.asarray(values, dtype=np.int64)]
    for before, step in reversed(list(pairwise(steps))):
        left = np.delete(np.arange(before.k), step.removed)
        after = numbers[0]
        is_older = (after >= 0) & (after < len(left))
        numbers.insert(0, np.where(is_older, left[np.where(is_older, after, 0)], -1))
    return numbers


def leave_out(roots: Sequence[Covered], removed: Sequence[int]) -> tuple[Covered, ...]:
    """What is left of covered answers, and of the root answer behind them, where answers are removed.

    The last one that is left is the root answer. Given all that follow it, it has its own law, and those that
    were removed say nothing of a value that is left.
    """
    return tuple(
        Covered(answer - bisect_left(removed, answer), k - bisect_left(removed, k), odds)
        for answer, k, odds in roots
        if answer not in removed
    )


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
