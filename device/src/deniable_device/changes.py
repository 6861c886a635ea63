"""What answers that change give away over rounds: the largest ratio over all histories of what was sent.

Logarithms are whole numbers of units, rounded up, so that sums of them are never too small."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import product as combinations
from math import prod

from deniable_device.mechanisms import Direct, Memoized, Unary
from deniable_device.words import FULL

UNIT = 10**40
CONTEXT = Context(prec=80)
DIGITS = 400
ONE = 1 << DIGITS
"""The number 1 in the products below, which are whole numbers of a small unit."""
LONGEST = 12
"""For how many rounds all histories are searched; each further one adds what a second report gives away."""
STEPS = 8000


def logarithm(ratio: Fraction) -> int:
    """The natural logarithm of a ratio, in units, rounded up."""
    if ratio == 1:
        return 0
    above, below = ratio.numerator, ratio.denominator
    up, down = (max(0, number.bit_length() - DIGITS) for number in (above, below))
    quotient = CONTEXT.divide(Decimal((above >> up) + (up > 0)), Decimal(below >> down))
    value = CONTEXT.add(CONTEXT.ln(quotient), CONTEXT.multiply(Decimal(up - down), CONTEXT.ln(Decimal(2))))
    return int(CONTEXT.multiply(value, Decimal(UNIT)).to_integral_value(ROUND_CEILING)) + 1


def changing_values(rounds: Memoized, reports: int) -> int:
    """The loss of so many reports of answers that change, in units."""
    first, second = rounds.first, rounds.second
    if reports == 1:
        return logarithm(rounds.after(1))
    more = max(0, reports - LONGEST)
    if isinstance(first, Direct) and isinstance(second, Direct):
        loss = direct_changes(rounds.k, first.keep, second.keep, reports - more)
        return loss + more * logarithm(second.ratio())
    assert isinstance(first, Unary)
    assert isinstance(second, Unary)
    loss = unary_changes(rounds.k, first.one, first.zero, second.one, second.zero, reports - more)
    bit = max(Fraction(second.one, second.zero), Fraction(FULL - second.zero, FULL - second.one))
    return loss + more * rounds.k * logarithm(bit)


def histograms(total: int, largest: int, values: int) -> Iterator[tuple[int, ...]]:
    """All falling lists of at most so many positive numbers that add up to a total."""
    if total == 0:
        yield ()
    elif values:
        for first in range(min(total, largest), 0, -1):
            for rest in histograms(total - first, first, values - 1):
                yield (first, *rest)


class DirectSearch:
    """Histories of reports through two direct rounds. `true` and `other` say how much likelier so many equal
    reports are from a value that is kept, weighted by how likely it is kept, in whole numbers of a unit."""

    def __init__(self, k: int, first: int, second: int, reports: int) -> None:
        self.k = k
        p, q = Fraction(first, FULL), Fraction(FULL - first, FULL * (k - 1))
        gain = Fraction(second * (k - 1), FULL - second)
        gains = [gain**count - 1 for count in range(reports + 1)]
        self.true = [int(p * each * ONE) for each in gains]
        self.other = [int(q * each * ONE) for each in gains]

    def likeliest(self, histogram: Sequence[int]) -> int:
        """How likely the likeliest sequence of answers makes these reports, rounded up."""
        result = ONE
        for count in histogram:
            result = (result * (ONE + self.true[count] + 1) >> DIGITS) + 1
        return result

    def spread(self, counts: Sequence[int], lines: int) -> int:
        """A bound from below on how likely the least likely sequence makes reports that are no line's own."""
        result = ONE
        for line in range(min(lines, max(counts, default=0))):
            shares = [-(-max(count - line, 0) // lines) for count in counts]
            result = result * (ONE + sum(self.other[share] for share in shares)) >> DIGITS
        return result

    def line(self, number: int, counts: Sequence[int]) -> int:
        """How likely a value makes the reports that are counted on its line."""
        others = sum(self.other[count] for place, count in enumerate(counts) if place != number)
        return ONE + self.true[counts[number]] + others

    def bound(self, histogram: Sequence[int]) -> Fraction:
        """A bound from above on the ratio."""
        return Fraction(self.likeliest(histogram), self.spread(histogram, self.k))

    def is_searched(self, histogram: Sequence[int]) -> bool:
        """Whether the bound is not the ratio itself, and the search for it is short."""
        free = self.free(histogram)
        steps = prod(count + 1 for count in histogram)
        steps += (free - 1) * prod((count + 1) * (count + 2) // 2 for count in histogram)
        return len(histogram) + histogram[0] > self.k and steps <= STEPS

    def free(self, histogram: Sequence[int]) -> int:
        """How many lines of a table are chosen freely."""
        return len(histogram) - (len(histogram) == self.k)

    def ratio(self, histogram: Sequence[int]) -> Fraction:
        """The ratio, from the least likely table of all."""
        least = {tuple(histogram): ONE}
        for number in range(self.free(histogram)):
            least = self.next_line(number, least)
        if len(histogram) < self.k:
            lines = self.k - len(histogram)
            last = min(value * self.spread(rest, lines) for rest, value in least.items())
        else:
            last = min(value * self.line(self.k - 1, rest) for rest, value in least.items())
        return Fraction(self.likeliest(histogram), last >> DIGITS)

    def next_line(self, number: int, least: dict[tuple[int, ...], int]) -> dict[tuple[int, ...], int]:
        """The least product for everything that can be left after one line more."""
        following: dict[tuple[int, ...], int] = {}
        for rest, value in least.items():
            for counts in combinations(*(range(count + 1) for count in rest)):
                left = tuple(count - used for count, used in zip(rest, counts))
                product = value * self.line(number, counts) >> DIGITS
                if left not in following or product < following[left]:
                    following[left] = product
        return following


@lru_cache(maxsize=256)
def direct_changes(k: int, first: int, second: int, reports: int) -> int:
    """The loss of reports through two direct rounds: the largest ratio over all histograms of reports.

    A histogram is searched only where its bound is above what others have."""
    search = DirectSearch(k, first, second, reports)
    bounds = [(search.bound(each), each) for each in histograms(reports, reports, k)]
    best = Fraction(1)
    for bound, histogram in sorted(bounds, reverse=True):
        if bound <= best:
            break
        best = max(best, search.ratio(histogram) if search.is_searched(histogram) else bound)
    return logarithm(best * Fraction(FULL, FULL - 4 * k * reports))


Extremes = dict[tuple[int, int], tuple[int, int]]
"""For so many ones and zeros, the largest and the least likelihood, as whole numbers."""


@lru_cache(maxsize=256)
def unary_changes(k: int, one: int, zero: int, second_one: int, second_zero: int, reports: int) -> int:
    """The loss of reports through two rounds of bits, from histories of bits that are true or not."""

    def likelihood(kept: int, ones: int, zeros: int) -> int:
        true: int = second_one**ones * (FULL - second_one) ** zeros
        false: int = second_zero**ones * (FULL - second_zero) ** zeros
        return kept * true + (FULL - kept) * false

    counts = [(ones, zeros) for ones in range(reports + 1) for zeros in range(reports + 1 - ones)]
    inside = {each: likelihood(one, *each) for each in counts}
    outside = {each: likelihood(zero, *each) for each in counts}
    cells = min(k - 1, reports)
    out: Extremes = {each: (value, value) for each, value in outside.items()}
    for _ in range(cells - 1):
        out = joined(out, outside, counts)
    apart = {each: value for each, value in inside.items() if each != (0, 0)}
    within = joined(out, apart, [(ones, reports - ones) for ones in range(reports + 1)])
    ends = [(out[each][0] * FULL, out[each][1] * FULL, *within[each]) for each in within]
    neither = logarithm(max(Fraction(out_most, out_least) for out_most, out_least, _, _ in ends))
    gained = logarithm(max(Fraction(in_most, out_least) for _, out_least, in_most, _ in ends))
    lost = logarithm(max(Fraction(out_most, in_least) for out_most, _, _, in_least in ends))
    twice = logarithm(max(Fraction(in_most, in_least) for _, _, in_most, in_least in ends))
    most = min(k, reports)
    return max(
        gained * i + lost * j + twice * b + neither * (k - i - j - b)
        for b in range(most + 1)
        for i in range(most + 1 - b)
        for j in range(most + 1 - b)
        if i + b and j + b and i + j + b <= k
    )


def joined(out: Extremes, cell: dict[tuple[int, int], int], counts: list[tuple[int, int]]) -> Extremes:
    """The largest and the least products of what is known with one cell more."""
    result: Extremes = {}
    for ones, zeros in counts:
        products = [
            (value * out[ones - i, zeros - z][0], value * out[ones - i, zeros - z][1])
            for (i, z), value in cell.items()
            if i <= ones and z <= zeros
        ]
        result[ones, zeros] = max(most for most, _ in products), min(least for _, least in products)
    return result
