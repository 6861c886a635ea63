"""The exact law of what is sent, by full enumeration, from the definitions of the samplers and none of their
formulas.

`law_of` goes by the definition: a word is uniform on 2^64, `word < t` has t cases, and the high half of `word
* m` has as many cases for j as there are such words. `sampled_law` asks the code itself: it feeds `encode`
one word of every kind and weighs each report by the number of such words. The two must agree to the last
word.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from deniable.arrays import Array
from deniable.exact import PRIME
from deniable.mechanisms import Direct, Hadamard, Hashed, Mechanism, Pooled, SetMechanism, SubsetShape, Unary
from deniable.metric import Averaged, Duchi, Geometric, Hybrid, Piecewise, PlanarGeometric, SquareWave
from deniable.randomness.words import DrawnRows
from deniable.records import (
    Blank,
    Fake,
    Faked,
    Guessed,
    Imitated,
    NearBits,
    NearSets,
    Prior,
    RecordMechanism,
    Records,
    Sample,
    Single,
    Split,
)
from deniable.rounds import BitFlip, HashedMemoized, Memoized, PooledMemoized
from deniable.rounds.memoized import MemoizedBuckets

WORDS = 1 << 64
Law = dict[Any, Fraction]
"""How likely every outcome is: a value, a tuple of bits, or a tuple of those."""
FUNCTIONS = [i * 0x9E3779B97F4A7C15 % WORDS for i in range(1, 25)]
"""Words of hash functions that stand for all: which one it is tells nothing, and they send few values to few
buckets in every way that matters.
"""
NUMBERS = (0, 1, 1 << 31, (3 << 30) + 7, 1 << 32)
"""Positions of a number, of 2^32 + 1, that stand for all."""
Record = tuple[int, ...]
Choice = tuple[Fraction, list[int], list[int]]
"""Words with one and the same effect: how likely they are, the first and the last of them."""


# The definitions.


def cells(bound: int) -> list[Fraction]:
    """How likely the high half of word * bound is 0, 1, ..."""
    ends = [-(-WORDS * j // bound) for j in range(bound + 1)]
    return [Fraction(stop - start, WORDS) for start, stop in itertools.pairwise(ends)]


def product(laws: Iterable[Law]) -> Law:
    """Independent outcomes side by side."""
    found: Law = {(): Fraction(1)}
    for law in laws:
        found = {(*before, one): a * b for before, a in found.items() for one, b in law.items()}
    return found


def mixture(weighted: Iterable[tuple[Fraction, Law]]) -> Law:
    """One of the laws, by weight."""
    found: Law = {}
    for weight, law in weighted:
        for outcome, chance in law.items():
            found[outcome] = found.get(outcome, Fraction(0)) + weight * chance
    return found


def direct_law(k: int, keep: int, value: int) -> Law:
    """The value if the first word is below keep, else one of the others by the second word."""
    kept = Fraction(keep, WORDS)
    others = [v for v in range(k) if v != value]
    return {value: kept} | {v: (1 - kept) * cell for v, cell in zip(others, cells(k - 1), strict=True)}


def bits_law(one: int, zero: int, truth: Sequence[bool]) -> Law:
    """Each bit set by a coin of its own."""
    coins = [Fraction(one if true else zero, WORDS) for true in truth]
    return {
        bits: math.prod(
            (coin if bit else 1 - coin for bit, coin in zip(bits, coins, strict=True)), start=Fraction(1)
        )
        for bits in itertools.product((False, True), repeat=len(coins))
    }


def subset_law(k: int, size: int, keep: int, value: int) -> Law:
    """The value is a member if the first word is below keep; the other members are drawn from the others, a
    word each.
    """
    others = [v for v in range(k) if v != value]
    found = []
    for kept, chance in ((True, Fraction(keep, WORDS)), (False, 1 - Fraction(keep, WORDS))):
        for picked, weight in attribute_chances(k - 1, size - kept).items():
            members = {others[i] for i in picked} | ({value} if kept else set())
            found.append((chance * weight, {tuple(v in members for v in range(k)): Fraction(1)}))
    return mixture(found)


def sent(part: SetMechanism, members: Iterable[int], named: object) -> Hashable:
    """A report that is more than the values that it supports: what it names, and which these are."""
    inside = set(members)
    return named, tuple(v in inside for v in range(part.k))


def hashed_law(part: Hashed | HashedMemoized, bucket_law: Callable[[list[int]], Law]) -> Law:
    """A function, and what the buckets of all values under it say."""
    laws = []
    for word in FUNCTIONS:
        a, b = (word >> 33) % (PRIME - 1) + 1, (word >> 2 & PRIME) % PRIME
        buckets = [(a * (v + 1) + b) % PRIME % part.g for v in range(part.k)]
        laws.append((Fraction(1, len(FUNCTIONS)), _under((a, b), buckets, part, bucket_law(buckets))))
    return mixture(laws)


def pooled_law(part: Pooled | PooledMemoized, bucket_law: Callable[[list[int]], Law]) -> Law:
    laws = []
    for function, chance in enumerate(cells(part.pool.size)):
        buckets = part.pool.buckets(function, np.arange(part.k)).tolist()
        laws.append((chance, _under(function, buckets, part, bucket_law(buckets))))
    return mixture(laws)


def hash_law(part: MemoizedBuckets, bucket_law: Callable[[list[int]], Law]) -> Law:
    """The kept function, of the pool or of the device, and what is said of the buckets under it."""
    if isinstance(part, PooledMemoized):
        return pooled_law(part, bucket_law)
    assert isinstance(part, HashedMemoized)
    return hashed_law(part, bucket_law)


def _under(function: object, buckets: list[int], part: SetMechanism, law: Law) -> Law:
    """Buckets, or sequences of them, as reports with their function."""

    def report(bucket: int) -> Hashable:
        return sent(part, (v for v, own in enumerate(buckets) if own == bucket), (function, bucket))

    return {
        tuple(map(report, seen)) if isinstance(seen, tuple) else report(seen): chance
        for seen, chance in law.items()
    }


def hadamard_law(part: Hadamard, value: int | None) -> Law:
    """A column, moved to the half that the first word asks for by the lowest bit of the value's row."""
    columns = range(1 << part.bits)

    def agree(column: int, v: int) -> bool:
        return (column & v + 1).bit_count() % 2 == 0

    def report(column: int) -> Law:
        return {sent(part, (v for v in range(part.k) if agree(column, v)), column): Fraction(1)}

    if value is None:
        return mixture((Fraction(1, len(columns)), report(column)) for column in columns)
    row, kept = value + 1, Fraction(part.keep, WORDS)
    halves = [(True, kept), (False, 1 - kept)]
    return mixture(
        (chance / len(columns), report(y if agree(y, value) == half else y ^ (row & -row)))
        for (half, chance), y in itertools.product(halves, columns)
    )


def bit_flip_law(part: BitFlip, value: int | None) -> Law:
    """Some values, and a coin for each of them."""
    laws = []
    for drawn, chance in attribute_chances(part.k, part.bits).items():
        about = sorted(drawn)
        coins = bits_law(part.one, part.zero, [v == value for v in about])
        flipped = {
            sent(part, (v for v, bit in zip(about, coin, strict=True) if bit), tuple(about)): weight
            for coin, weight in coins.items()
        }
        laws.append((chance, flipped))
    return mixture(laws)


def uniform_law(bound: int) -> Law:
    return dict(enumerate(cells(bound)))


def again(part: Direct | Unary, kept: Hashable) -> Law:
    """A round on what an earlier one gave: a value, or bits."""
    if isinstance(part, Direct):
        assert isinstance(kept, int)
        return direct_law(part.k, part.keep, kept)
    assert isinstance(kept, tuple)
    return bits_law(part.one, part.zero, kept)


@cache
def part_law(part: Mechanism, value: int) -> Law:
    """The law of one report of a value."""
    match part:
        case Direct():
            return again(part, value)
        case Unary():
            return again(part, tuple(v == value for v in range(part.k)))
        case SubsetShape(k=k, size=size, keep=keep):
            return subset_law(k, size, keep, value)
        case Hashed(g=g, keep=keep):
            return hashed_law(part, lambda buckets: direct_law(g, keep, buckets[value]))
        case Pooled(g=g, keep=keep):
            return pooled_law(part, lambda buckets: direct_law(g, keep, buckets[value]))
        case Hadamard():
            return hadamard_law(part, value)
        case BitFlip():
            return bit_flip_law(part, value)
        case Memoized() | MemoizedBuckets():
            return repeated_law(part, value, 1)
        case Geometric():
            return geometric_law(part, value)
        case PlanarGeometric():
            return planar_law(part, value)
        case SquareWave():
            return _window_law(part, value)
        case Averaged(of=of):
            return mean_law(of, value)
    raise AssertionError(f"say how {type(part).__name__} samples")


def geometric_law(part: Geometric, value: int) -> Law:
    """A word below 2^63 goes down by as many steps as there are tails above it, another up by those above its
    mirror.
    """
    tails: list[int] = part.tails.tolist()[1:]
    last = part.n

    def sent(word: int) -> int:
        up = word >= WORDS >> 1
        steps = sum((WORDS - 1 - word if up else word) < tail for tail in tails)
        return min(value + steps, last) if up else max(value - steps, 0)

    cuts = (WORDS >> 1, *tails, *(WORDS - tail for tail in tails))
    return mixture((chance, {sent(first[0]): Fraction(1)}) for chance, first, _ in _cut(*cuts))


def planar_law(part: PlanarGeometric, value: int) -> Law:
    """Every displacement has its words; what would leave the grid stays at its edge."""
    row, column = divmod(value, part.columns)
    found: Law = {}
    for down in range(1 - part.rows, part.rows):
        for right in range(1 - part.columns, part.columns):
            at = min(max(row + down, 0), part.rows - 1), min(max(column + right, 0), part.columns - 1)
            cell = at[0] * part.columns + at[1]
            found[cell] = found.get(cell, Fraction(0)) + Fraction(
                int(part.noise[abs(down), abs(right)]), WORDS
            )
    return found


def mean_law(of: Duchi | Piecewise | Hybrid, position: int) -> Law:
    """By its definition, in integers: a threshold that moves with the number, or a window that does."""
    if isinstance(of, Duchi):
        yes = Fraction(duchi_threshold(of, position), WORDS)
        return {0: 1 - yes, 1: yes}
    if isinstance(of, Hybrid):
        fine = mean_law(of.piecewise, position)
        coarse = {of.piecewise.outputs + bit: chance for bit, chance in mean_law(of.duchi, position).items()}
        share = Fraction(of.share, WORDS)
        return mixture([(share, fine), (1 - share, coarse)])
    low, part = divmod(position * (of.k - 1), 1 << 32)
    up = Fraction(part, 1 << 32)
    return mixture([(1 - up, _window_law(of, low))] + ([(up, _window_law(of, low + 1))] if part else []))


def duchi_threshold(of: Duchi, position: int) -> int:
    moved = abs(position - (1 << 31)) * (of.keep - (WORDS >> 1)) // (1 << 31)
    return (WORDS >> 1) + (moved if position >= 1 << 31 else -moved)


def _window_law(of: Piecewise | SquareWave, value: int) -> Law:
    inside = Fraction(of.keep, WORDS)
    near = {value + j: chance for j, chance in enumerate(cells(of.window))}
    far = {j + (of.window if j >= value else 0): chance for j, chance in enumerate(cells(of.k - 1))}
    return mixture([(inside, near), (1 - inside, far)])


def repeated_law(part: Mechanism, value: int, reports: int) -> Law:
    """The law of several reports of one value: each is a fresh round on the same kept answer."""
    if isinstance(part, MemoizedBuckets):
        rounds_on = part.buckets
        return hash_law(part, lambda buckets: repeated_law(rounds_on, buckets[value], reports))
    if isinstance(part, BitFlip):
        return _repeat(part_law(part, value), reports)
    assert isinstance(part, Memoized)
    if isinstance(part.first, Direct):
        first = part_law(part.first, value)
        rounds = {kept: again(part.second, kept) for kept in first}
        found = mixture((chance, product([rounds[kept]] * reports)) for kept, chance in first.items())
    else:
        found = _repeated_bits(part, value, reports)
    return {outcome[0]: chance for outcome, chance in found.items()} if reports == 1 else found


def _repeat(law: Law, reports: int) -> Law:
    """What is kept whole, so many times."""
    return {(y,) * reports: chance for y, chance in law.items()} if reports > 1 else law


def _repeated_bits(part: Memoized, value: int, reports: int) -> Law:
    """The same for bits, each with a kept coin and fresh coins of its own: bit by bit, then all of them."""
    first, second = part.first, part.second
    assert isinstance(first, Unary)
    assert isinstance(second, Unary)
    columns = []
    for v in range(part.k):
        kept = Fraction(first.one if v == value else first.zero, WORDS)
        coins = [(kept, Fraction(second.one, WORDS)), (1 - kept, Fraction(second.zero, WORDS))]
        columns.append(
            mixture((weight, product([{True: coin, False: 1 - coin}] * reports)) for weight, coin in coins)
        )
    return {tuple(zip(*bits, strict=True)): chance for bits, chance in product(columns).items()}


@cache
def fake_law(fake: Fake) -> Law:
    """The law of a fake."""
    if isinstance(fake.part, Memoized | MemoizedBuckets):
        return {outcome[0]: chance for outcome, chance in repeated_fake_law(fake, 1).items()}
    match fake:
        case Guessed(prior=prior):
            return {v: Fraction(weight, WORDS) for v, weight in enumerate(prior.weights)}
        case Imitated(part=part, prior=prior):
            return mixture(
                (Fraction(weight, WORDS), part_law(part, v)) for v, weight in enumerate(prior.weights)
            )
        case Blank(part=Unary() as part):
            return again(part, (False,) * part.k)
        case Blank(part=SubsetShape(k=k, size=size)):
            drawn = attribute_chances(k, size).items()
            return mixture((c, {tuple(v in members for v in range(k)): Fraction(1)}) for members, c in drawn)
        case Blank(part=Hashed(g=g) as part):
            return hashed_law(part, lambda _: uniform_law(g))
        case Blank(part=Pooled(g=g) as part):
            return pooled_law(part, lambda _: uniform_law(g))
        case Blank(part=Hadamard() as part):
            return hadamard_law(part, None)
        case Blank(part=BitFlip() as part):
            return bit_flip_law(part, None)
    raise AssertionError(f"say how {type(fake).__name__} samples")


def repeated_fake_law(fake: Fake, reports: int) -> Law:
    """The law of several reports of a fake whose first answer is kept."""
    if isinstance(fake.part, MemoizedBuckets):
        buckets = Guessed(fake.part.buckets, Prior.uniform(fake.part.g))
        return hash_law(fake.part, lambda _: repeated_fake_law(buckets, reports))
    if isinstance(fake.part, BitFlip):
        return {(y,) * reports: chance for y, chance in fake_law(fake).items()}
    assert isinstance(fake.part, Memoized)
    first, second = fake.part.first, fake.part.second
    match fake:
        case Guessed(prior=prior):
            kept = fake_law(Guessed(first, prior))
        case Imitated(prior=prior):
            kept = fake_law(Imitated(first, prior))
        case _:
            kept = fake_law(Blank(first))
    return mixture((chance, product([again(second, one)] * reports)) for one, chance in kept.items())


def repeated_records_law(mechanism: Faked, record: Record, reports: int) -> Law:
    """The law of several reports of one record among fakes: all first answers are kept, and which is real."""
    real = [
        repeated_law(fake.part, value, reports) for fake, value in zip(mechanism.fakes, record, strict=True)
    ]
    if reports == 1:
        real = [{(y,): chance for y, chance in law.items()} for law in real]
    faked = [repeated_fake_law(fake, reports) for fake in mechanism.fakes]
    return mixture(
        (chance, product([*faked[:j], real[j], *faked[j + 1 :]]))
        for j, chance in enumerate(cells(mechanism.d))
    )


def owners(weights: Sequence[int]) -> list[int]:
    """The attribute of each number below the sum of the weights."""
    return [j for j, weight in enumerate(weights) for _ in range(weight)]


def attribute_chances(
    d: int, reported: int, weights: Sequence[int] | None = None
) -> dict[tuple[int, ...], Fraction]:
    """Floyd's sampling: draw t is among the first d - reported + t + 1, and the last of them if that
    is taken. By weights, one number below their sum says which attribute it is.
    """
    if weights is not None:
        drawn: dict[tuple[int, ...], Fraction] = {(j,): Fraction(0) for j in range(d)}
        for j, cell in zip(owners(weights), cells(sum(weights)), strict=True):
            drawn[j,] += cell
        return drawn
    found: dict[tuple[int, ...], Fraction] = {(): Fraction(1)}
    for last in range(d - reported, d):
        longer: dict[tuple[int, ...], Fraction] = {}
        for picked, chance in found.items():
            for j, cell in enumerate(cells(last + 1)):
                more = (*picked, last if j in picked else j)
                longer[more] = longer.get(more, Fraction(0)) + chance * cell
        found = longer
    return found


def law_of(mechanism: RecordMechanism, record: Record) -> Law:
    """The law of the report of a record: a tuple with an outcome per attribute, None where it is not
    reported.
    """
    if isinstance(mechanism, NearSets | NearBits):
        return near_law(mechanism, record)
    parts = [part_law(part, value) for part, value in zip(mechanism.mechanisms, record, strict=True)]
    match mechanism:
        case Single():
            return product(parts)
        case Split():
            law: Law = {(): Fraction(1)}
            for member, some in _members(mechanism, record):
                pairs = itertools.product(law.items(), law_of(member, some).items())
                law = {(*one, *more): p * q for (one, p), (more, q) in pairs}
            return law
        case Sample(reported=reported, weights=weights):
            silent: Law = {None: Fraction(1)}
            return mixture(
                (chance, product([law if j in picked else silent for j, law in enumerate(parts)]))
                for picked, chance in attribute_chances(mechanism.d, reported, weights).items()
            )
        case Faked(fakes=fakes):
            faked = [fake_law(fake) for fake in fakes]
            return mixture(
                (chance, product([*faked[:j], parts[j], *faked[j + 1 :]]))
                for j, chance in enumerate(cells(mechanism.d))
            )
    raise AssertionError(f"say how {type(mechanism).__name__} samples")


def near_reports(mechanism: NearSets | NearBits, record: Record) -> list[tuple[int, Record]]:
    """All reports in the order of their ranks, each with the number of places in which it is true."""
    if isinstance(mechanism, NearBits):
        d = mechanism.answers
        return [
            (i, tuple(value if j in same else 1 - value for j, value in enumerate(record)))
            for i in range(d + 1)
            for same in itertools.combinations(range(d), i)
        ]
    options, lacking = mechanism.options, mechanism.chosen - record.count(0)
    chosen = [j for j, value in enumerate(record) if value == 0]
    chosen += range(options, options + lacking)
    others = [j for j in range(options + mechanism.spare) if j not in chosen]
    return [
        (i, tuple(int(j not in (*some, *more)) for j in range(options)))
        for i in range(mechanism.size + 1)
        for some in itertools.combinations(chosen, i)
        for more in itertools.combinations(others, mechanism.size - i)
    ]


def near_law(mechanism: NearSets | NearBits, record: Record) -> Law:
    """The first word says whether the report is near, the second which one it is."""
    reports, kept = near_reports(mechanism, record), Fraction(mechanism.keep, WORDS)
    sides = [(kept, [one for i, one in reports if i >= mechanism.least])]
    sides.append((1 - kept, [one for i, one in reports if i < mechanism.least]))
    return mixture(
        (weight * cell, {one: Fraction(1)})
        for weight, side in sides
        for one, cell in zip(side, cells(len(side)), strict=True)
    )


def _members(mechanism: Split, record: Record) -> Iterator[tuple[RecordMechanism, Record]]:
    """The parts of a split, each with its own answers of a record."""
    first = 0
    for part in mechanism.parts:
        member = Single(part) if isinstance(part, Mechanism) else part
        yield member, record[first : first + member.d]
        first += member.d


def records_of(mechanism: RecordMechanism) -> list[Record]:
    """Every record there can be."""
    records = itertools.product(*(values_of(part) for part in mechanism.mechanisms))
    if isinstance(mechanism, NearSets):
        return [record for record in records if record.count(0) in mechanism.allowed]
    return list(records)


def values_of(part: Mechanism) -> Sequence[int]:
    """All values; of a number, some positions, both ends among them."""
    return NUMBERS if isinstance(part, Averaged) else range(part.k)


# What is lost.


def worst_ratio(laws: Iterable[Law]) -> Fraction:
    """The largest ratio of two of these laws over all outcomes."""
    known = list(laws)
    return max(max(law[y] for law in known) / min(law[y] for law in known) for y in known[0])


def true_ratio(mechanism: RecordMechanism, per: str) -> Fraction:
    """The largest ratio of two people's probabilities of one report: any two, or two who differ in one
    answer.
    """
    laws = {record: law_of(mechanism, record) for record in records_of(mechanism)}
    if per == "record":
        return worst_ratio(laws.values())
    worst = Fraction(1)
    for j, part in enumerate(mechanism.mechanisms):
        for record in laws:
            if record[j] == 0:
                neighbors = [(*record[:j], value, *record[j + 1 :]) for value in values_of(part)]
                alike = [laws[neighbor] for neighbor in neighbors if neighbor in laws]
                worst = max(worst, worst_ratio(alike))
    return worst


def exact_log(ratio: Fraction) -> Decimal:
    """ln(ratio) to sixty digits."""
    with localcontext(prec=60):
        return (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()


def log(ratio: Fraction) -> float:
    """ln(ratio) to all digits of a float, nothing cancelled."""
    return float(exact_log(ratio))


def check_ratio(stated: Fraction, loss: float, truth: Fraction, what: str) -> None:
    """What is stated is never below the truth, by not so much as one word, and at most 1e-9 above."""
    assert stated >= truth, (
        f"{what}: the ratio that is stated is below the truth by {float(truth / stated - 1):.1e} of itself"
    )
    exact = log(truth)
    assert Decimal(loss) >= exact_log(truth), f"{what}: the stated loss {loss!r} is below the truth {exact!r}"
    assert loss - exact < 1e-9, f"{what}: the stated loss {loss!r} is far above the truth {exact!r}"


# Sequences of values.


def sequence_law(part: Memoized, values: Sequence[int]) -> Callable[[Sequence[Hashable]], Fraction]:
    """How likely a sequence of reports is: a sum over all tables of kept answers, one answer for
    every value.
    """
    rounds = {kept: again(part.second, kept) for kept in part_law(part.first, 0)}
    tables = [
        (
            kept,
            math.prod((part_law(part.first, v)[answer] for v, answer in enumerate(kept)), start=Fraction(1)),
        )
        for kept in itertools.product(rounds, repeat=part.k)
    ]

    def chance(reports: Sequence[Hashable]) -> Fraction:
        return sum(
            (
                weight
                * math.prod(
                    (rounds[kept[v]][y] for v, y in zip(values, reports, strict=True)), start=Fraction(1)
                )
                for kept, weight in tables
            ),
            Fraction(0),
        )

    return chance


# The sampler itself.


def _cut(*cuts: int) -> list[Choice]:
    """One word, for every range between two cuts."""
    edges = sorted({0, WORDS, *cuts})
    return [(Fraction(stop - first, WORDS), [first], [stop - 1]) for first, stop in itertools.pairwise(edges)]


def _below(bound: int) -> list[Choice]:
    return _cut(*(-(-WORDS * j // bound) for j in range(bound)))


def _functions() -> list[Choice]:
    return [(Fraction(1, len(FUNCTIONS)), [word], [word]) for word in FUNCTIONS]


def _joined(columns: Sequence[list[Choice]]) -> list[Choice]:
    """Independent choices, their words one after the other."""
    return [
        (
            math.prod((chance for chance, _, _ in picked), start=Fraction(1)),
            [word for _, first, _ in picked for word in first],
            [word for _, _, last in picked for word in last],
        )
        for picked in itertools.product(*columns)
    ]


def _padded(choices: list[Choice], width: int) -> list[Choice]:
    """With words that must not matter: all bits clear at the one end, all set at the other."""
    return [
        (chance, first + [0] * (width - len(first)), last + [WORDS - 1] * (width - len(last)))
        for chance, first, last in choices
    ]


def _across(choices: list[Choice], k: int) -> list[Choice]:
    """The numbers of k coins as 64 words: word l has digit l of every number; what is beyond must
    not matter.
    """

    def words(numbers: list[int], beyond: int) -> list[int]:
        return [
            sum((number >> (63 - level) & 1) << i for i, number in enumerate(numbers)) | beyond >> k << k
            for level in range(64)
        ]

    return [(chance, words(first, 0), words(last, WORDS - 1)) for chance, first, last in choices]


@cache
def _part_choices(part: Mechanism) -> list[Choice]:
    match part:
        case Direct(k=k, keep=keep):
            return _joined([_cut(keep), _below(k - 1)])
        case Unary(k=k, one=one, zero=zero):
            return _across(_joined([_cut(one, zero)] * k), k)
        case SubsetShape(k=k, size=size, keep=keep):
            # a draw is below one number of candidates or another, by whether the value is kept
            bounds = [(k - size + draw, k - size + draw + 1) for draw in range(size)]
            cuts = [[-(-WORDS * j // bound) for bound in pair for j in range(bound)] for pair in bounds]
            return _joined([_cut(keep), *(_cut(*ends) for ends in cuts)])
        case Hashed(g=g, keep=keep):
            return _joined([_functions(), _cut(keep), _below(g - 1)])
        case Pooled(g=g, keep=keep):
            return _joined([_below(part.pool.size), _cut(keep), _below(g - 1)])
        case Hadamard(keep=keep):
            return _joined([_cut(keep), _below(1 << part.bits)])
        case BitFlip(k=k, bits=bits, one=one, zero=zero):
            drawn = [_below(last + 1) for last in range(k - bits, k)]
            return _joined([*drawn, _part_choices(Unary(max(2, bits), one, zero))])
        case MemoizedBuckets(buckets=buckets):
            return _joined([_function_choices(part), _part_choices(buckets)])
        case Memoized(first=first, second=second):
            return _joined([_part_choices(first), _part_choices(second)])
        case Geometric(tails=tails):
            return _cut(WORDS >> 1, *tails.tolist(), *(WORDS - tail for tail in tails.tolist()))
        case PlanarGeometric():
            return _cut(*part._ascending.tolist())
        case SquareWave():
            return _window_choices(part)
        case Averaged(of=of):
            return _mean_choices(of)
    raise AssertionError(f"say which choices {type(part).__name__} makes")


def _function_choices(part: MemoizedBuckets) -> list[Choice]:
    return _below(part.pool.size) if isinstance(part, PooledMemoized) else _functions()


def _mean_choices(of: Duchi | Piecewise | Hybrid) -> list[Choice]:
    if isinstance(of, Duchi):
        return _cut(*(duchi_threshold(of, position) for position in NUMBERS))
    if isinstance(of, Hybrid):
        return _joined([_cut(of.share), _mean_choices(of.piecewise), _mean_choices(of.duchi)])
    rounded = _cut(*((position * (of.k - 1) % (1 << 32)) << 32 for position in NUMBERS))
    return _joined([_window_choices(of), rounded])


def _window_choices(of: Piecewise | SquareWave) -> list[Choice]:
    positions = [-(-WORDS * j // bound) for bound in (of.window, of.k - 1) for j in range(bound)]
    return _joined([_cut(of.keep), _cut(*positions)])


def _fake_choices(fake: Fake) -> list[Choice]:
    match fake:
        case Guessed(prior=prior):
            return _cut(*itertools.accumulate(prior.weights))
        case Imitated(part=part, prior=prior):
            return _joined([_cut(*itertools.accumulate(prior.weights)), _part_choices(part)])
        case Blank(part=SubsetShape(k=k, size=size)):
            return _joined([_below(last + 1) for last in range(k - size, k)])
        case Blank(part=Hashed(g=g)):
            return _joined([_functions(), _below(g)])
        case Blank(part=MemoizedBuckets(buckets=buckets) as part):
            return _joined([_function_choices(part), _below(buckets.k), _part_choices(buckets.second)])
        case Blank(part=Pooled(g=g) as part):
            return _joined([_below(part.pool.size), _below(g)])
        case Blank(part=Hadamard() as part):
            return _below(1 << part.bits)
        case Blank(part=part):
            return _part_choices(part)
    raise AssertionError(f"say which choices {type(fake).__name__} makes")


def _record_choices(mechanism: RecordMechanism) -> Iterator[list[Choice]]:
    """The choices for a record, in lists that are alike in which attributes are reported."""
    match mechanism:
        case Single(part=part):
            yield _part_choices(part)
        case Split():
            nothing = (0,) * mechanism.d
            each = [list(_record_choices(member)) for member, _ in _members(mechanism, nothing)]
            yield from (_joined(list(some)) for some in itertools.product(*each))
        case Sample(parts=parts, weights=weights) if weights is not None:
            for j, word in zip(owners(weights), _below(sum(weights)), strict=True):
                yield _joined([[word], _padded(_part_choices(parts[j]), mechanism.words - 1)])
        case Sample(parts=parts, reported=reported):
            room = mechanism.words // reported - 1
            for draws in itertools.product(
                *(enumerate(_below(last + 1)) for last in range(mechanism.d - reported, mechanism.d))
            ):
                picked: list[int] = []
                for last, (j, _) in enumerate(draws, mechanism.d - reported):
                    picked.append(last if j in picked else j)
                yield _joined(
                    [
                        *([word] for _, word in draws),
                        *(_padded(_part_choices(parts[j]), room) for j in picked),
                    ]
                )
        case Faked(fakes=fakes):
            for j, word in enumerate(_below(mechanism.d)):
                made = [
                    _part_choices(fake.part) if i == j else _fake_choices(fake)
                    for i, fake in enumerate(fakes)
                ]
                widths = [max(fake.words, fake.part.words) for fake in fakes]
                yield _joined(
                    [[word], *(_padded(some, width) for some, width in zip(made, widths, strict=True))]
                )
        case NearSets() | NearBits():
            near, far = _cut(mechanism.keep)
            for side, size in zip((near, far), mechanism.sizes, strict=True):
                yield _joined([[side], _below(size)])
        case _:
            raise AssertionError(f"say which choices {type(mechanism).__name__} makes")


def outcomes(part: Mechanism, reports: Array) -> list[Hashable]:
    """Reports as the outcomes of the definition."""
    if isinstance(part, Hashed | MemoizedBuckets | Pooled | Hadamard | BitFlip):
        return [
            (_named(part, report), tuple(map(bool, bits)))
            for report, bits in zip(reports, part.support(reports), strict=True)
        ]
    if reports.ndim == 1:
        return [int(report) for report in reports]
    return [tuple(map(bool, bits)) for bits in part.support(reports)]


def _named(part: Mechanism, report: Any) -> object:
    """What a report says but for the values that it supports."""
    match part:
        case Hashed() | HashedMemoized():
            return (int(report["a"]), int(report["b"])), int(report["bucket"])
        case Pooled() | PooledMemoized():
            return divmod(int(report), part.g)
        case BitFlip():
            return tuple(report["about"].tolist())
    return int(report)


def speaks_for(outcome: Any, value: int) -> bool:
    """Whether an outcome supports a value: it is that value, or holds its bit."""
    if not isinstance(outcome, tuple):
        return bool(outcome == value)
    return bool(outcome[1][value] if isinstance(outcome[-1], tuple) else outcome[value])


def record_outcomes(mechanism: RecordMechanism, records: Records) -> list[Hashable]:
    """One tuple per record, with None where an attribute is not reported."""
    table: list[list[Hashable]] = [[None] * mechanism.d for _ in range(records.n)]
    for j, (part, column) in enumerate(zip(mechanism.mechanisms, records.columns, strict=True)):
        who = range(records.n) if records.reporters is None else records.reporters[j]
        for i, outcome in zip(who, outcomes(part, column), strict=True):
            table[i][j] = outcome
    return [tuple(row) for row in table]


def _sample_values(choices: Sequence[Choice], end: int) -> DrawnRows:
    return DrawnRows(np.array([choice[1 + end] for choice in choices], dtype=np.uint64))


def _weighed(choices: list[Choice], firsts: list[Hashable], lasts: list[Hashable]) -> Law:
    assert firsts == lasts, "a threshold is not where the definition says it is"
    return mixture(
        (chance, {outcome: Fraction(1)}) for (chance, _, _), outcome in zip(choices, firsts, strict=True)
    )


def sampled_part_law(part: Mechanism, value: int) -> Law:
    """The law of a report, asked of the code: one word of every kind, the first and the last of each."""
    choices = _part_choices(part)
    values = np.full(len(choices), value)
    firsts, lasts = (outcomes(part, part.encode(values, _sample_values(choices, end))) for end in (0, 1))
    return _weighed(choices, firsts, lasts)


def sampled_fake_law(fake: Fake) -> Law:
    """The law of a fake, asked of the code."""
    choices = _fake_choices(fake)
    firsts, lasts = (outcomes(fake.part, fake.encode(_sample_values(choices, end))) for end in (0, 1))
    return _weighed(choices, firsts, lasts)


def sampled_law(mechanism: RecordMechanism, record: Record) -> Law:
    """The law of a record's report, asked of the code."""
    found = []
    for choices in _record_choices(mechanism):
        columns = np.repeat(np.array(record)[:, None], len(choices), axis=1)
        firsts, lasts = (
            record_outcomes(mechanism, mechanism.encode(columns, _sample_values(choices, end)))
            for end in (0, 1)
        )
        found.append((Fraction(1), _weighed(choices, firsts, lasts)))
    return mixture(found)
