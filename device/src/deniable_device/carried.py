"""Kept values where plans add answers or change what any number of reports gives away.

A root answer is kept at the largest odds so far. Answers that are added may take it over, larger odds look at
the truth again, and a plan with smaller odds reports the root answer made worse."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from deniable_device.words import FULL, Row, coins, keep_or_other, mask, random_bits

if TYPE_CHECKING:
    from deniable_device.mechanisms import Unary

MOST = 1 << 16
"""Up to which odds, and how many values, a kept value may become another."""
LATE = 1 << 20
"""What is added to a value for the words of the last 64 digits of its bits."""


First = tuple[int, int, tuple[int, ...]]
"""The first round of a plan: its number of values, its threshold, and what it lacks of the one before."""


class Step(NamedTuple):
    """What becomes of root answers at a plan. The odds say how much likelier one is the value than any other.

    By the thresholds, a plan's answer is the root answer, and each added answer takes over a root answer."""

    k: int
    odds: Fraction
    before: Fraction
    stay: int | None
    share: int
    removed: tuple[int, ...]

    @property
    def move(self) -> Fraction:
        """The chance of each other answer to be the plan's in place of the root answer."""
        return Fraction(0) if self.stay is None else Fraction(FULL - self.stay, FULL * (self.k - 1))


class Covered(NamedTuple):
    """A root answer, of k values, that an added one took over, and how much likelier it is the true one."""

    answer: int
    k: int
    odds: Fraction


def odds_of(k: int, keep: int) -> Fraction:
    """How much likelier the true value is than any other."""
    return Fraction(keep * (k - 1), FULL - keep)


def keep_of(odds: Fraction, k: int) -> int:
    """The threshold of a first round with these odds."""
    return int(FULL * odds / (odds + k - 1))


def is_fine(k: int, keep: int) -> bool:
    """Whether kept answers of a first round can become others: its thresholds are not too coarse."""
    return k <= MOST and odds_of(k, keep) <= MOST


def find_move(odds: Fraction, target: Fraction, k: int) -> Fraction:
    """The chance of each other answer where an answer of these odds is made worse, to the target."""
    return (odds - target) / ((odds - 1) * (target + k - 1))


def list_steps(firsts: Sequence[First]) -> list[Step]:
    """What becomes of root answers by these first rounds."""
    steps: list[Step] = []
    for k, keep, removed in firsts:
        own = odds_of(k, keep)
        before = steps[-1].odds if steps else own
        if keep == keep_of(before, k):  # the odds of a longer list differ by rounding
            before = own
        odds = max(own, before)
        stay = int(FULL * (1 - (k - 1) * find_move(odds, own, k))) if own < odds else None
        steps.append(Step(k, odds, before, stay, -int(-FULL // (odds + k - 1)), removed))
    return steps


def kept_value(value: int, firsts: Sequence[First], rows: Callable[[int, int], Row]) -> int:
    """The first answer to a value, with the words of all plans, by the value and the plan; those without the
    value are passed over. Words of a root answer that is drawn again are those of a value 2^16 further."""
    steps = list_steps(firsts)
    numbers = [value]
    for before, step in zip(steps[-2::-1], steps[:0:-1]):
        removed = set(step.removed)
        left = [number for number in range(before.k) if number not in removed]
        after = numbers[0]
        numbers.insert(0, left[after] if 0 <= after < len(left) else -1)
    roots: list[Covered] = []
    for plan, (step, number) in enumerate(zip(steps, numbers)):
        if number < 0:
            continue
        row = rows(number, plan)
        if roots and roots[-1].answer in step.removed:
            row = rows(number + MOST, plan)
        roots = left_of(
            [*roots[:-1], *(root._replace(odds=step.before) for root in roots[-1:])], step.removed
        )
        if not roots:
            roots = [
                Covered(keep_or_other(number, step.k, keep_of(step.odds, step.k), row), step.k, step.odds)
            ]
            continue
        *covered, (answer, size, odds) = roots
        if odds < step.odds:
            answer, covered = raised(number, answer, covered, size, odds, step.odds, row)
        if row(0) < step.share * (step.k - size):
            covered.append(Covered(answer, size, step.odds))
            answer = size + row(0) // step.share
        roots = [*covered, Covered(answer, step.k, step.odds)]
    if step.stay is None:
        return roots[-1].answer
    return keep_or_other(roots[-1].answer, step.k, step.stay, lambda column: rows(value, plan)(2 + column))


def kept_bits(
    value: int, first: Unary, firsts: Sequence[First], rows: Callable[[int, int], Row]
) -> list[int]:
    """The bits that are kept for a value, with the words of all plans: root bits, which each plan of larger
    odds draws again, and the last plan once more where its odds are smaller."""
    is_symmetric = first.one + first.zero == FULL
    laws = [(keep if is_symmetric else first.one, FULL - keep) for _, keep, _ in firsts]
    steps, root = list_steps(firsts), laws[0]
    kept = random_bits(first.k, 1 << value, *root, rows(value, 0))
    for plan, step in enumerate(steps):
        chances: tuple[Fraction, ...] = ()
        if step.before < step.odds:
            chances, root = raised_bits(root, laws[plan], step), laws[plan]
        elif plan == len(steps) - 1 and step.stay is not None:
            turn = find_move(step.odds, odds_of(2, FULL - first.zero), 2)
            chances = (turn, 1 - turn) * 2
        if chances:
            halves = [rows(value + late, plan) for late in (0, LATE)]
            kept = redrawn(first.k, value, kept, chances, halves)
    return kept


def redrawn(
    k: int, value: int, kept: list[int], chances: Sequence[Fraction], rows: Sequence[Row]
) -> list[int]:
    """Other bits in place of those that are kept, with a chance each: of other values, for a bit that was
    clear or set, then of this value. Their numbers have 128 binary digits, by two rows of words."""
    true, bits = 1 << value, mask(kept)
    places = (~true & ~bits, ~true & bits, true & ~bits, true & bits)
    return coins(k, [(each, int(chance * FULL**2)) for each, chance in zip(places, chances)], rows)


def raised_bits(root: tuple[int, int], target: tuple[int, int], step: Step) -> tuple[Fraction, ...]:
    """The chances of a root bit of larger odds, where the value is another one: for a bit that was clear, or
    set; then the same for the bit of the value. Thresholds are those of a bit that is true, or not."""
    turn = find_move(step.odds, step.before, 2)
    return tuple(
        Fraction(after, FULL) * share
        for before, after in zip(root[::-1], target[::-1])
        for share in (turn / (1 - Fraction(before, FULL)), (1 - turn) / Fraction(before, FULL))
    )


def left_of(roots: Sequence[Covered], removed: Sequence[int]) -> list[Covered]:
    """What is left of covered answers, and of the root answer behind them, where answers are removed.

    The last one that is left is the root answer."""

    def below(number: int) -> int:
        return sum(each < number for each in removed)

    return [
        Covered(answer - below(answer), k - below(k), odds)
        for answer, k, odds in roots
        if answer not in removed
    ]


def raised(
    value: int, kept: int, covered: Sequence[Covered], k: int, odds: Fraction, target: Fraction, row: Row
) -> tuple[int, list[Covered]]:
    """A root answer of larger odds, of which all that was kept is a part, and what it covers; three words
    choose it."""
    share = (target - odds) / ((target - 1) * (target + k - 1))
    factors = []
    left: list[Covered] = []
    for answer, size, own in reversed(covered):
        whole, rest = own + size - 1, 1 - share * (target + size - 1)
        few, many = (own - 1) / whole, share * (target - 1)
        if few * FULL >= many * (FULL - 1):
            gap, other = Fraction(1), Fraction(0)
            true, any_other = own / whole - target * share, 1 / whole - share
        else:
            gap = few / many
            other = (1 - gap) / size
            true = any_other = rest / size
        factors.append((answer, size, gap + other, other, (true if answer == value else any_other) / rest))
        if true > any_other:
            left.insert(0, Covered(answer, size, true / any_other))
        share *= other * whole
    points = {value, kept, *(each.answer for each in covered)}
    edges = sorted({0, k, *(each.k for each in covered), *points, *(point + 1 for point in points)})
    ranges = []
    for start, end in zip(edges, edges[1:]):
        weight = target if start == value else Fraction(1)
        if start == kept:
            weight *= (odds * (target + k - 2) - (k - 1)) / (target - odds)
        for answer, size, same, other, above in factors:
            weight *= (same if start == answer else other) if start < size else above
        ranges.append((start, weight, weight * (end - start)))
    ranges = lifted(ranges)
    place = sum(mass for _, _, mass in ranges) * Fraction((row(1) * FULL + row(2)) * FULL + row(3), FULL**3)
    for start, weight, mass in ranges:
        if place < mass:
            answer = start + int(place / weight)
            return answer, [each for each in left if each.k <= answer]
        place -= mass
    raise AssertionError("a number below 1 is below the sum of all chances")


def lifted(ranges: Sequence[tuple[int, Fraction, Fraction]]) -> list[tuple[int, Fraction, Fraction]]:
    """Starts, weights and sums of ranges of answers, where a weight that is not 0 is at least a 2^128th of
    all."""
    least = sum((mass for _, _, mass in ranges), Fraction(0)) / (1 << 128)
    return [
        (start, least, mass / weight * least) if 0 < weight < least else (start, weight, mass)
        for start, weight, mass in ranges
    ]
