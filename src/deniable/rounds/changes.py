"""Bounds what the reports of a person whose values change give away, exactly where that is feasible.

A person keeps one answer per value, and each report is a fresh report of the answer that is kept for the
value of that time. So the reports of different values are independent, and their order does not matter.
What counts is the largest ratio between the likeliest and the least likely sequence of values, over all
sequences of reports.

The likelihood of what is observed is log-convex in how the reports are divided among the values. It is
largest where equal reports have one value. It is least where they are divided evenly.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from deniable.exact import log_up, round_up
from deniable.mechanisms import Direct, Unary
from deniable.randomness import FULL

MOST_ROUNDS = 12
"""More rounds than this are bounded: each further one by the loss of a fresh report of what is kept."""
_MOST_STEPS = 8000  # of the division of one histogram of reports among values
_Counts = tuple[int, ...]
_Bits = dict[tuple[int, int], int]
_Pick = Callable[[Iterator[int]], int]


class ChangesLoss(NamedTuple):
    """What a number of reports of changing values give away, rounded up, and whether that is exact."""

    loss: float
    exact: bool


@lru_cache(maxsize=1024)
def bound_changes(first: Direct | Unary, second: Direct | Unary, rounds: int) -> ChangesLoss:
    """What this many reports give away, compared with any other sequence of values."""
    exact_rounds = min(rounds, MOST_ROUNDS)
    if isinstance(first, Direct) and isinstance(second, Direct):
        ratio, exact = _direct_ratio(first, second, exact_rounds)
        loss = Fraction(log_up(ratio))
    else:
        assert isinstance(first, Unary)
        assert isinstance(second, Unary)
        loss, exact = _unary_loss(first, second, exact_rounds), False
    more = (rounds - exact_rounds) * second.kept_parts * Fraction(log_up(second.part_ratio))
    return ChangesLoss(round_up(loss + more), exact and rounds == exact_rounds)


def _direct_ratio(first: Direct, second: Direct, rounds: int) -> tuple[Fraction, bool]:
    """The largest ratio over all histograms of reports, and whether it is exact.

    With r = p2 / q2, the reports of a value v with counts c have the likelihood 1 + sum of w (r^c - 1), but
    for a factor that all sequences have in common. The weight w is p1 for the reports of v itself, else q1.
    """
    table = _DirectTable(first, second, rounds)
    bounds = [(table.bound(counts), counts) for counts in _partitions(rounds, first.k, rounds)]
    best = loose = Fraction(1)
    for bound, counts in sorted(bounds, reverse=True):
        if bound <= best:
            break
        if len(counts) + counts[0] <= first.k:  # each report goes to a value that is not in the histogram
            best = bound
        elif table.steps(counts) <= _MOST_STEPS:
            best = max(best, table.likeliest(counts) / table.least(counts))
        else:
            loose = max(loose, bound)
    # the bias of `below`: a part in 2^64 / (k - 1) for each kept answer and each report, on either side
    bias = Fraction(FULL, FULL - 4 * first.k * rounds)
    return max(best, loose) * bias, best >= loose


class _DirectTable:
    """Likelihoods of counts of reports, as integers over `unit` for each value."""

    def __init__(self, first: Direct, second: Direct, rounds: int) -> None:
        self.k = first.k
        kept, far = second.keep * (self.k - 1), FULL - second.keep
        self.unit: int = FULL * (self.k - 1) * far**rounds
        gains: list[int] = [
            kept**count * far ** (rounds - count) - far**rounds for count in range(rounds + 1)
        ]
        self.own = [first.keep * (self.k - 1) * gain for gain in gains]
        self.other = [(FULL - first.keep) * gain for gain in gains]

    def likeliest(self, counts: _Counts) -> Fraction:
        """Everybody has at each time the value that is reported."""
        return Fraction(math.prod(self.unit + self.own[count] for count in counts), self.unit ** len(counts))

    def bound(self, counts: _Counts) -> Fraction:
        """At least the ratio: by an even division among values, as if none had more weight than others."""
        least = Fraction(self._even(counts, self.k), self.unit ** min(self.k, counts[0]))
        return self.likeliest(counts) / least

    def steps(self, counts: _Counts) -> int:
        """How many ways to take some of the counts `least` compares."""
        first = math.prod(count + 1 for count in counts)
        later = math.prod((count + 1) * (count + 2) // 2 for count in counts)
        return first + (self._free_rows(counts) - 1) * later

    def least(self, counts: _Counts) -> Fraction:
        """The least likelihood over all divisions among values, value by value."""
        rows = self._free_rows(counts)
        products = {counts: 1}
        for row in range(rows):
            lower: dict[_Counts, int] = {}
            for rest, product in products.items():
                for taken in itertools.product(*(range(count + 1) for count in rest)):
                    left = tuple(map(int.__sub__, rest, taken))
                    value = product * self._row(taken, row)
                    if left not in lower or value < lower[left]:
                        lower[left] = value
            products = lower
        others = self.k - len(counts)
        if others:
            ended = (product * self._even(rest, others, counts[0]) for rest, product in products.items())
            return Fraction(min(ended), self.unit ** (rows + min(others, counts[0])))
        ended = (product * self._row(rest, rows) for rest, product in products.items())
        return Fraction(min(ended), self.unit ** (rows + 1))

    def _free_rows(self, counts: _Counts) -> int:
        """How many values are reported and can have any counts: all, but the last of all k takes the rest."""
        return len(counts) - (len(counts) == self.k)

    def _row(self, counts: _Counts, value: int) -> int:
        others = sum(self.other[count] for count in counts)
        return self.unit + others + self.own[counts[value]] - self.other[counts[value]]

    def _even(self, counts: _Counts, rows: int, most: int | None = None) -> int:
        """Divided evenly among values of which none is reported, larger parts together.

        Of two such values, the likelihood of both grows with the difference of any two of their counts.
        """
        used = min(rows, max(counts) if most is None else most)
        product = 1
        for row in range(used):
            product *= self.unit + sum(self.other[-(-max(count - row, 0) // rows)] for count in counts)
        return product


def _partitions(total: int, parts: int, largest: int) -> Iterator[_Counts]:
    """All ways to write a number as a sum of so many positive numbers at most, in descending order."""
    if total == 0:
        yield ()
    elif parts:
        for part in range(min(total, largest), 0, -1):
            for rest in _partitions(total - part, parts - 1, part):
                yield (part, *rest)


def _unary_loss(first: Unary, second: Unary, rounds: int) -> Fraction:
    """The largest loss of all bits: each by its own worst reports and sequences, so a bound of all together.

    A bit of a value that is in neither sequence differs only by how the times are divided. For all of these
    bits the same sequences are the worst. A sequence has at most `rounds` values whose bits can do more.
    """
    k = first.k
    neutral, own_chances = (_bit_chances(threshold, second, rounds) for threshold in (first.zero, first.one))
    rows = min(k - 1, rounds)
    without, within = [], []  # the bit's value is not in the sequence, or is: the likeliest and the least
    for pick in (max, min):
        apart = _divide(neutral, rows, pick)
        totals = [(ones, rounds - ones) for ones in range(rounds + 1)]
        without.append([FULL * apart[total] for total in totals])
        # the value of the bit has one report at least
        within.append([pick(itertools.islice(_split(own_chances, apart, t), 1, None)) for t in totals])
    pairs = {
        (has_value, other): Fraction(log_up(max(map(Fraction, likeliest, least))))
        for has_value, likeliest in enumerate((without[0], within[0]))
        for other, least in enumerate((without[1], within[1]))
    }
    most = min(k, rounds)
    return max(
        in_first * pairs[1, 0]
        + other * pairs[0, 1]
        + in_both * pairs[1, 1]
        + (k - in_first - other - in_both) * pairs[0, 0]
        for in_both in range(most + 1)
        for in_first in range(in_both == 0, most - in_both + 1)
        for other in range(in_both == 0, min(most - in_both, k - in_both - in_first) + 1)
    )


def _bit_chances(threshold: int, second: Unary, rounds: int) -> _Bits:
    """The likelihood of the reports of a bit that is kept set with this threshold, by ones and zeros."""
    return {
        (ones, zeros): threshold * second.one**ones * (FULL - second.one) ** zeros
        + (FULL - threshold) * second.zero**ones * (FULL - second.zero) ** zeros
        for ones in range(rounds + 1)
        for zeros in range(rounds + 1 - ones)
    }


def _divide(chances: _Bits, rows: int, pick: _Pick) -> _Bits:
    """The largest or the least likelihood of ones and zeros that are divided among so many values."""
    if rows == 1:
        return chances
    half = _divide(chances, rows // 2, pick)
    joined = {total: pick(_split(half, half, total)) for total in half}
    return {total: pick(_split(chances, joined, total)) for total in joined} if rows % 2 else joined


def _split(first: _Bits, rest: _Bits, total: tuple[int, int]) -> Iterator[int]:
    """The likelihoods of all ways to divide ones and zeros in two."""
    return (
        first[ones, zeros] * rest[total[0] - ones, total[1] - zeros]
        for ones in range(total[0] + 1)
        for zeros in range(total[1] + 1)
    )
