"""Plans that continue each other: what they carry on and lose, by enumeration, and what devices do."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import deniable as dn
from deniable import Client, InvalidPlan, Ledger
from deniable.client import AboveCap
from deniable.explain.device_limit import describe_room, round_limit, warn_limit
from deniable.mechanisms import Direct, Unary, calibrate
from deniable.plan.chain import find_rounds, list_breaks
from deniable.plan.losses import NANO
from deniable.randomness import FULL
from deniable.randomness.draws import WordArray
from deniable.randomness.simulated import remembering
from deniable.randomness.words import DrawnRows, First, Indices, Rows
from deniable.rounds import Memoized, l_duchi, l_grr, l_osue, l_rsfd, l_soue, l_sue, loloha
from deniable.rounds.carried import (
    Covered,
    Step,
    blur_bits,
    describe_first,
    find_odds,
    grow,
    keep_first,
    leave_out,
    list_steps,
    raise_bits,
    weigh_answers,
)
from deniable.study import Plan
from deniable.study.continued import follow_document
from spec.make.chains import OTHERS, chains, plan_chain
from tests.cases import by_night
from tests.enumeration import Law, again, bits_law, direct_law
from tests.statistics import LAW_REPORTS, goodness_of_fit

Kept = tuple[Any, ...]
State = tuple[Kept, int, tuple[Covered, ...]]
Chain = Sequence[tuple[Memoized, int]]


def changing(plan: Plan, chained: bool = False) -> int:
    """What all reports to a plan, or to its chain, lose if values change."""
    counted = plan.stated.chained.counted if chained else plan.stated.counted
    assert counted is not None
    return counted


def loss_forever(plan: Plan) -> float:
    """What any number of reports of one value to a chain lose."""
    assert plan.loss.chain is not None
    return plan.loss.chain.one_value_forever


def rounds_of(plans: Sequence[Plan]) -> list[tuple[Memoized, int]]:
    """The rounds of the only question of each plan, and how often it is asked."""
    parts = [(find_rounds(plan.document.parts[0]), plan.document.rounds or 1) for plan in plans]
    return [(part, rounds) for part, rounds in parts if part]


def list_kept(chain: Chain, value: int) -> Iterator[tuple[Kept, Fraction]]:
    """What a device keeps for a value in each plan that has it, with its chance."""
    bits = [part.first for part, _ in chain if isinstance(part.first, Unary)]
    if bits:  # all of them are there from the start
        true, other = (list_bit(bits, is_value) for is_value in (True, False))
        for paths in itertools.product(true, repeat=bits[-1].k):
            chances = (true[path] if bit == value else other[path] for bit, path in enumerate(paths))
            kept = zip(*paths, strict=True)
            chance = math.prod(chances, start=Fraction(1))
            yield tuple(each[: part.k] for each, part in zip(kept, bits, strict=True)), chance
        return
    firsts = [(part.k, cast(Direct, part.first).keep, ()) for part, _ in chain]
    yield from list_carried(firsts, value).items()


def list_bit(firsts: Sequence[Unary], is_value: bool) -> dict[tuple[bool, ...], Fraction]:
    """What a device keeps in each plan of the bit of its value, or of another, with its chance."""
    root = firsts[0]
    chance = Fraction(root.one if is_value else root.zero, 1 << 64)
    states: dict[tuple[tuple[bool, ...], bool], Fraction] = {((), True): chance, ((), False): 1 - chance}
    for law in firsts:
        if law.zero < root.zero:
            raising = raise_bits(root, law)
            states = {
                (path, after): sum(
                    (
                        states[path, before] * tossed(raising[2 * is_value + before], after)
                        for before in (False, True)
                    ),
                    Fraction(0),
                )
                for path, after in states
            }
            root = law
        worse = blur_bits(root, law) if law != root else (Fraction(0), Fraction(1))
        states = {
            ((*path, bit), kept): share * tossed(worse[kept], bit)
            for (path, kept), share in states.items()
            for bit in (False, True)
        }
    paths: dict[tuple[bool, ...], Fraction] = defaultdict(Fraction)
    for (path, _), share in states.items():
        paths[path] += share
    return {path: share for path, share in paths.items() if share}


def tossed(chance: Fraction, bit: bool) -> Fraction:
    """How likely a coin of 128 binary digits gives a bit."""
    part = Fraction(int(chance * (1 << 128)), 1 << 128)
    return part if bit else 1 - part


def list_carried(firsts: Sequence[First], value: int) -> dict[Kept, Fraction]:
    """What a device keeps for a value of the last plan in each plan, with its chance; None before it."""
    steps = list_steps(tuple(firsts))
    numbers = [value]
    for before, step in zip(steps[-2::-1], steps[:0:-1], strict=True):
        stay = dict(enumerate(number for number in range(before.k) if number not in step.removed))
        numbers.insert(0, stay.get(numbers[0], -1))
    states: dict[State, Fraction] = {}
    for place, (step, number) in enumerate(zip(steps, numbers, strict=True)):
        is_same = place > 0 and firsts[place][:2] == firsts[place - 1][:2] and not step.removed
        if is_same:  # it reports what the plan before keeps
            states = {((*path, path[-1]), root, rest): law for (path, root, rest), law in states.items()}
            continue
        roots: dict[State, Fraction] = defaultdict(Fraction)
        if not states and number >= 0:
            states = {((None,) * place, -1, ()): Fraction(1)}
        for (path, root, covered), chance in states.items():
            last = () if root < 0 else (Covered(root, steps[place - 1].k, step.before),)
            left = leave_out((*covered, *last), step.removed)
            for x, left_covered, size, share in list_roots(
                number, left[:-1], left[-1] if left else None, step
            ):
                taken = Fraction(step.share, 1 << 64)
                roots[path, x, left_covered] += chance * share * (1 - taken * (step.k - size))
                for added in range(size, step.k):
                    more = (*left_covered, Covered(x, size, step.odds))
                    roots[path, added, more] += chance * share * taken
        states = defaultdict(Fraction)
        for (path, root, covered), chance in roots.items():
            for answer in range(step.k) if step.stay else [root]:
                share = step.move if answer != root else 1 - (step.k - 1) * step.move
                states[(*path, answer), root, covered] += chance * share
    law: dict[Kept, Fraction] = defaultdict(Fraction)
    for (path, _, _), chance in states.items():
        law[path] += chance
    return {path: chance for path, chance in law.items() if chance}


def list_roots(
    value: int, covered: tuple[Covered, ...], kept: Covered | None, step: Step
) -> Iterator[tuple[int, tuple[Covered, ...], int, Fraction]]:
    """Root answers before added ones take over: what they cover, of how many answers, with what chance."""
    if kept is None:
        for root in range(step.k):
            yield root, (), step.k, step.odds ** (root == value) / (step.odds + step.k - 1)
    elif kept.odds >= step.odds:
        yield kept.answer, covered, kept.k, Fraction(1)
    else:
        ranges, left = weigh_answers(value, kept.answer, covered, kept.k, kept.odds, step.odds)
        total = sum(weight * (end - start) for start, end, weight in ranges)
        for start, end, weight in ranges:
            for x in range(start, end):
                yield x, tuple(each for each in left if each.k <= x), kept.k, Fraction(weight, total)


def likelihood(chain: Chain) -> Callable[[Sequence[int], Sequence[object]], float]:
    """The probability of reports of a person who has these values, one for each report, in order."""
    which = [i for i, (_, rounds) in enumerate(chain) for _ in range(rounds)]
    laws: list[dict[object, Law]] = [{} for _ in chain]
    most = chain[-1][0].k
    kept = {value: list(list_kept(chain, value)) for value in range(most)}

    def chance_of(plan: int, answer: object, report: object) -> float:
        if answer not in laws[plan]:
            laws[plan][answer] = again(chain[plan][0].second, answer)
        return float(laws[plan][answer][report])

    def of(values: Sequence[int], reports: Sequence[object]) -> float:
        together = 1.0
        for value in set(values):
            mine = [(which[i], report) for i, report in enumerate(reports) if values[i] == value]
            together *= sum(
                float(chance) * math.prod(chance_of(plan, path[plan], report) for plan, report in mine)
                for path, chance in kept[value]
            )
        return together

    return of


def worst_losses(chain: Chain) -> tuple[float, float]:
    """The losses of one value, and of any sequence of values against any other."""
    of = likelihood(chain)
    sizes = [part.k for part, rounds in chain for _ in range(rounds)]
    are_bits = isinstance(chain[0][0].first, Unary)
    outputs = [list(bits_law(1, 1, [False] * k)) if are_bits else list(range(k)) for k in sizes]
    same = most = 1.0
    constant = [(value,) * len(sizes) for value in range(sizes[0])]
    sequences = list(itertools.product(*map(range, sizes)))
    for reports in itertools.product(*outputs):
        alike, unlike = ([of(values, reports) for values in group] for group in (constant, sequences))
        same, most = max(same, max(alike) / min(alike)), max(most, max(unlike) / min(unlike))
    return math.log(same), math.log(most)


GROWN = {
    "3 to 4": (((l_grr(3, 1, 2), 1), (l_grr(4, 1, 2), 1)), 1.660877),
    "5 to 6": (((l_grr(5, 1, 3), 1), (l_grr(6, 1, 3), 1)), 1.912932),
    "2 to 3, twice": (((l_grr(2, 1, 2), 2), (l_grr(3, 1, 2), 2)), None),
    "2 to 3 to 4": (((l_grr(2, 1, 2), 1), (l_grr(3, 1, 2), 1), (l_grr(4, 1, 2), 1)), None),
    "other second rounds": (((l_grr(3, 1, 2), 1), (l_grr(3, 1.5, 2), 1), (l_grr(3, 1, 2), 1)), None),
    "raised": (((l_grr(3, 1, 2), 2), (l_grr(3, 1, 3), 2)), 2.752412),
    "lowered": (((l_grr(3, 1, 3), 2), (l_grr(3, 1, 2), 2)), 2.752412),
    "lowered, raised, raised": (
        ((l_grr(2, 1, 2.5), 1), (l_grr(2, 1, 2), 1), (l_grr(2, 1, 3), 2), (l_grr(2, 1, 4), 1)),
        None,
    ),
    "raised, 2 to 3, lowered": (((l_grr(2, 1, 2), 1), (l_grr(2, 1, 3), 1), (l_grr(3, 1, 2), 2)), None),
    "lowered and 2 to 3, back": (((l_grr(2, 1, 3), 1), (l_grr(3, 1, 2), 1), (l_grr(3, 1, 3), 1)), None),
    "raised and back": (((l_grr(2, 1, 2), 2), (l_grr(2, 0.01, 3), 1), (l_grr(2, 1, 2), 2)), None),
    "lowered, used twice": (((l_grr(5, 1, 4), 1), (l_grr(5, 0.2, 1.2), 1), (l_grr(5, 0.2, 1.2), 1)), None),
    "a bit": (((l_duchi(1, 2), 2), (l_duchi(1, 3), 2), (l_duchi(1, 2.5), 2)), None),
    "bits, raised": (((l_osue(2, 1, 2), 2), (l_osue(2, 1, 3), 2)), None),
    "bits, lowered": (((l_sue(2, 1, 3), 2), (l_sue(2, 1, 2), 2)), None),
    "bits, lowered and 2 to 3, raised": (
        ((l_osue(2, 1, 2), 1), (l_osue(3, 1, 1.5), 1), (l_osue(3, 1, 3), 1)),
        None,
    ),
    "bits, lowered, raised": (((l_soue(2, 1, 2), 1), (l_sue(2, 1, 1.5), 1), (l_sue(2, 1, 3), 1)), None),
    "bits, raised and back, raised": (
        ((l_soue(2, 1, 2), 1), (l_sue(2, 1, 3), 1), (l_sue(2, 1, 2), 1), (l_sue(2, 1, 4), 1)),
        None,
    ),
    "bits": (((l_osue(2, 1, 2), 1), (l_osue(3, 1, 2), 1)), None),
    "bits, other second rounds": (((l_osue(2, 1, 2), 1), (l_osue(3, 1.5, 2), 1)), None),
}


SLOW = "lowered, used twice", "bits, lowered and 2 to 3, raised", "bits, raised and back, raised"


@by_night("name", GROWN, *SLOW)
def test_a_chain_states_its_losses(name: str) -> None:
    """An unchanged value loses just what is stated, and no sequences of values lose more than the bound."""
    steps, published = GROWN[name]
    plans = plan_chain(*steps)
    chain = rounds_of(plans)
    same, forever = (figure or 0 for figure in (plans[-1].stated.chain or ())[1:3])
    truth, worst = worst_losses(chain)
    assert truth <= same / NANO < truth + 1e-7
    assert published is None or truth == pytest.approx(published, abs=1e-6)
    most = max(part.first.loss() for part, _ in chain)
    assert forever / NANO == pytest.approx(most, abs=1e-7)
    looseness = 2 if isinstance(chain[0][0].first, Unary) else 1.5
    assert worst <= changing(plans[-1], chained=True) / NANO < looseness * worst + 1


def test_changing_values_lose_more_than_the_sum_of_both_plans() -> None:
    """So the sum is no bound of carried answers, and is not stated as one."""
    plans = plan_chain((l_grr(2, 1, 2), 1), (l_grr(3, 1, 2), 1))
    alone = sum(map(changing, plans))
    _, worst = worst_losses(rounds_of(plans))
    assert worst == pytest.approx(2.0698, abs=1e-4)
    assert alone < worst * NANO <= changing(plans[-1], chained=True)


KEPT = {
    "raised": (("abc", 2.0), ("abc", 3.0)),
    "covered, then raised": (("ab", 2.0), ("abc", 2.0), ("abc", 3.0)),
    "raised a little": (("ab", 2.0), ("abcd", 2.0), ("abcd", 2.0 + 1e-9)),
    "raised much": (("ab", 0.2), ("abcd", 0.2), ("abcd", 5.0)),
    "covered twice, then raised": (("ab", 0.3), ("abc", 0.3), ("abcd", 0.3), ("abcd", 3.0)),
    "covered, raised, raised": (("ab", 1.0), ("abc", 1.0), ("abc", 2.0), ("abc", 2.5)),
    "covered, raised much, covered, raised": (
        ("ab", 0.3),
        ("abc", 0.3),
        ("abc", 3.0),
        ("abcd", 3.0),
        ("abcd", 3.1),
    ),
    "added and raised at once": (("ab", 1.0), ("abc", 2.0), ("abcd", 3.0)),
    "added and lowered at once": (("ab", 2.0), ("abc", 1.0), ("abcd", 2.5)),
    "added, lowered and back": (("abc", 2.0), ("abcd", 1.5), ("abcd", 2.0), ("abcde", 1.0)),
    "removed": (("abc", 2.0), ("bc", 2.0)),
    "removed and lowered, raised": (("abcd", 2.0), ("acd", 1.0), ("cd", 1.5), ("cd", 3.0)),
    "added, removed": (("ab", 2.0), ("abc", 2.0), ("ab", 2.0)),
    "all but one removed, others added": (("abc", 2.0), ("cde", 2.0), ("cf", 2.5)),
    "added and raised, removed": (("ab", 0.5), ("abc", 0.5), ("abc", 2.0), ("ab", 2.0)),
    "added, raised, removed and lowered": (("ab", 0.5), ("abc", 0.5), ("abc", 2.0), ("ab", 1.0)),
    "covered twice, removed and raised": (("ab", 0.5), ("abc", 0.5), ("abcd", 1.0), ("acf", 2.0)),
}


def choose_firsts(steps: Sequence[tuple[str, float]]) -> list[First]:
    """The first rounds of plans with these answers and losses, as a study plans them."""
    firsts: list[Direct] = []
    removed: list[tuple[int, ...]] = []
    for place, (labels, forever) in enumerate(steps):
        near = [first for first in firsts if abs(first.loss() - forever) < 1e-10]
        grown = grow(near[-1], len(labels)) if near else None
        firsts.append(grown or calibrate.direct(len(labels), forever))
        had = steps[place - 1][0] if place else ""
        removed.append(tuple(number for number, label in enumerate(had) if label not in labels))
    return [(first.k, first.keep, numbers) for first, numbers in zip(firsts, removed, strict=True)]


@pytest.mark.parametrize("name", KEPT)
def test_kept_answers_have_their_laws_and_lose_the_largest_epsilon_forever(name: str) -> None:
    """Of each plan alone, and of all that any two answers keep while both are there."""
    steps = KEPT[name]
    firsts = choose_firsts(steps)
    laws: dict[str, dict[Kept, Fraction]] = {}
    for end, (labels, _) in reversed(list(enumerate(steps, 1))):  # an answer's law up to its last plan
        for value, label in enumerate(labels):
            laws.setdefault(label, list_carried(firsts[:end], value))
    worst = Fraction(1)
    for place, (labels, _) in enumerate(steps):
        for value, label in enumerate(labels):
            own: dict[int, Fraction] = defaultdict(Fraction)
            for path, chance in laws[label].items():
                own[path[place]] += chance
            k, keep, _ = firsts[place]
            stated = direct_law(k, keep, value)
            assert max(abs(own[kept] / stated[kept] - 1) for kept in range(k)) < Fraction(place + 1, 1 << 45)
    for pair in itertools.combinations(laws, 2):
        both = [place for place, (labels, _) in enumerate(steps) if {*pair} <= {*labels}]
        if not both:
            continue
        kept: list[dict[Kept, Fraction]] = [defaultdict(Fraction) for _ in pair]
        for since, label in zip(kept, pair, strict=True):
            for path, chance in laws[label].items():
                since[path[both[0] : both[-1] + 1]] += chance
        assert kept[0].keys() == kept[1].keys()
        worst = max(worst, *(max(a / kept[1][path], kept[1][path] / a) for path, a in kept[0].items()))
    most = max(Direct(k, keep).ratio for k, keep, _ in firsts)
    assert most * (1 - Fraction(1, 1 << 40)) < worst < most * (1 + Fraction(1, 1 << 40))


@pytest.mark.parametrize("make", [l_osue, l_sue])
@pytest.mark.parametrize(
    "forever",
    [(2.0, 3.0), (3.0, 2.0), (2.0, 1.0, 3.0), (2.0, 3.0, 2.5, 3.5), (3.0, 1.0, 1.0, 3.0), (2.0, 2.0 + 1e-9)],
)
def test_kept_bits_have_their_laws_and_lose_the_largest_epsilon_forever(
    make: Callable[..., Memoized], forever: Sequence[float]
) -> None:
    """Of each plan alone, and of all that two values keep: their two bits are all that differs."""
    firsts = [cast(Unary, make(3, 0.5, each).first) for each in forever]
    true, other = (list_bit(firsts, is_value) for is_value in (True, False))
    for place, first in enumerate(firsts):
        for law, threshold in ((true, first.one), (other, first.zero)):
            chance = sum(share for path, share in law.items() if path[place])
            assert abs(chance - Fraction(threshold, 1 << 64)) < Fraction(1, 1 << 120)
    assert true.keys() == other.keys()
    ratios = [share / other[path] for path, share in true.items()]
    most = max(first.ratio for first in firsts)
    assert abs(max(ratios) / min(ratios) / most - 1) < Fraction(1, 1 << 40)


def test_coins_of_kept_bits_go_on_where_the_first_words_leave_them_open() -> None:
    """A chance between two words of 64 digits is decided by the words behind."""
    unary = Unary(3, 1 << 63, 1 << 62)
    chances = (Fraction(0), Fraction(1, 1 << 63) + Fraction(1, 1 << 65), Fraction(1, 1 << 64), Fraction(1, 2))
    words = np.zeros((2, 2, 64), dtype=np.uint64)
    words[0, :, 62] = 0b010  # the number of the second bit begins like its chance
    words[1, :, 0] = [0b010, 0b000]  # then 1/2, as the chance has it, or 0
    reports = np.array([[0b110], [0b010]], dtype=np.uint8)  # the second bit was set; the third is the value
    drawn = unary.redraw(np.array([2, 2]), reports, chances, [*map(DrawnRows, words)])
    assert drawn.tolist() == [[0b100], [0b110]]


@dataclass(frozen=True)
class OpenRows(Rows):
    """Words by which the first 64 bits are set in the first plan, and left open in the next by 64 digits. All
    other words differ by column.
    """

    width: int
    rounds: tuple[First, ...]
    digits: int
    words: Callable[[int], int] = lambda column: column * 0x9E3779B97F4A7C15 % FULL
    n: int = 1

    @property
    def firsts(self) -> tuple[First, ...]:
        return self.rounds

    def array(self) -> WordArray:
        return np.array([[self.words(column) for column in range(self.width)]], dtype=np.uint64)

    def columns(self, start: int, stop: int) -> OpenRows:
        return replace(self, width=stop - start, words=lambda column: self.words(start + column))

    def pick(self, rows: slice | Indices) -> OpenRows:
        return self

    def recall(self, values: Indices | None = None, plan: int = 0) -> OpenRows:
        def word(column: int) -> int:
            if column >= 64 or values is None or values[0] >= 1 << 20:
                return self.words(column)
            return FULL - 1 if plan == 1 and self.digits >> (63 - column) & 1 else 0

        return replace(self, words=word)


def test_more_bits_leave_those_before_as_they_are() -> None:
    """Also where 64 digits leave a coin open, and the bits take the words of another 64 values."""
    root, target = (cast(Unary, l_osue(64, 0.5, forever).first) for forever in (2.0, 3.0))
    digits = int(raise_bits(root, target)[1] * FULL)
    firsts = tuple((*describe_first(each), ()) for each in (root, target))
    few, many = (
        keep_first(replace(target, k=k), np.array([k - 1]), OpenRows(64 * -(-k // 64), firsts, digits))
        for k in (64, 66)
    )
    assert few[0, :7].tolist() == many[0, :7].tolist()
    assert 0 < np.unpackbits(few[0, :7]).sum() < 56


def test_a_raised_answer_has_the_published_chances() -> None:
    odds = [find_odds(*describe_first(calibrate.direct(3, forever))) for forever in (2.0, 3.0)]
    for kept, published in ((0, [0.991847, 0.004076, 0.004076]), (1, [0.604999, 0.364880, 0.030121])):
        ranges, _ = weigh_answers(0, kept, (), 3, odds[0], odds[1])
        weights = [float(weight) for start, end, weight in ranges for _ in range(start, end)]
        assert np.array(weights) / sum(weights) == pytest.approx(published, abs=1e-6)


def test_no_raised_answer_is_less_likely_than_three_words_can_choose() -> None:
    """Four covered answers whose odds are chosen so that each hides almost all but itself."""
    k, odds, target, covered = 6, Fraction(5), Fraction(8), list[Covered]()
    moved = (target - odds) / ((target - 1) * (target + k - 1))
    for size in (5, 4, 3, 2):
        part = moved * (target - 1) * (1 - Fraction(1, 1 << 63))
        own = (1 + part * (size - 1)) / (1 - part)
        covered.insert(0, Covered(0, size, own))
        moved *= (own + size - 1) * Fraction(1, size << 63)
    for value in range(2):
        ranges, _ = weigh_answers(value, 5, tuple(covered), k, odds, target)
        total = sum(weight * (end - start) for start, end, weight in ranges)
        least = min(weight for _, _, weight in ranges)
        assert 0 < total < least << 129
        assert least << 127 < total, "no answer is as rare as the least"


@by_night("name", ["more values", "covered answers", "less for ever, then more"], "less for ever, then more")
def test_people_keep_their_answers_by_this_law(name: str) -> None:
    plans = chains()[name][:5]
    chain = rounds_of(plans)
    n = LAW_REPORTS // 4 if name == "more values" else 5_000  # each raised answer takes its time
    for value in (0, 1, 3):
        has = [i for i, (part, _) in enumerate(chain) if value < part.k]
        kept = []
        for i in has:
            rows = remembering(5).rows(n, 4).carry(plans[i].document.strands).key_noise(0)
            kept.append(keep_first(chain[i][0].first, np.full(n, value), rows))
        paths = {path[has[0] :]: float(chance) for path, chance in list_kept(chain, value) if chance}
        seen = dict.fromkeys(paths, 0)
        for path in zip(*(column.tolist() for column in kept), strict=True):
            seen[path] += 1
        expected = n * np.array([*paths.values()])
        goodness_of_fit(np.array([*seen.values()]), expected, f"kept answers of {value}, {name}")


@pytest.mark.parametrize("name", ["bits, less and more", "symmetric bits, more and less"])
def test_people_keep_their_bits_by_this_law(name: str) -> None:
    """The bit of their value, that of another one, and one of the next 64, in all plans that have it."""
    plans, n = chains()[name], 20_000
    firsts = [cast(Unary, part.first) for part, _ in rounds_of(plans)]
    kept = []
    for plan, first in zip(plans, firsts, strict=True):
        rows = remembering(5).rows(n, 256).carry(plan.document.strands).key_noise(0)
        kept.append(np.unpackbits(keep_first(first, np.full(n, 1), rows), axis=1, bitorder="little"))
    for bit in (0, 1, 65):
        has = [place for place, first in enumerate(firsts) if bit < first.k]
        chances: dict[tuple[bool, ...], float] = defaultdict(float)
        for path, chance in list_bit(firsts, bit == 1).items():
            chances[tuple(path[place] for place in has)] += float(chance)
        seen = dict.fromkeys(chances, 0)
        for path in zip(*(kept[place][:, bit].astype(bool).tolist() for place in has), strict=True):
            seen[path] += 1
        expected = n * np.array([*chances.values()])
        goodness_of_fit(np.array([*seen.values()]), expected, f"kept bits {bit} of {name}")


REMOVED = [("01", "012", "01"), tuple(letters for letters, _ in OTHERS[:5])]


@by_night("labels", REMOVED, REMOVED[1])
def test_people_keep_what_is_left_where_answers_are_removed(labels: Sequence[str]) -> None:
    """By pairs of plans; one value stays. The first chain covers answers and removes what covers them."""
    added = plan_chain(*((l_grr(len(each), 0.5, 0.6), 1) for each in labels), labels=labels)
    plans, n = added if len(labels) == 3 else chains()["other values"][:5], 4_000
    law = list_carried(plans[-1].document.strands[1].firsts, 1)
    kept = []
    for plan, letters in zip(plans, labels, strict=True):
        rows = remembering(5).rows(n, 4).carry(plan.document.strands).key_noise(0)
        part = find_rounds(plan.document.parts[0])
        assert part is not None
        kept.append(keep_first(part.first, np.full(n, letters.index("1")), rows).tolist())
    for pair in itertools.combinations(range(len(plans)), 2):
        chances: dict[Kept, float] = defaultdict(float)
        for path, chance in law.items():
            chances[path[pair[0]], path[pair[1]]] += float(chance)
        seen = dict.fromkeys(itertools.product(*({both[i] for both in chances} for i in (0, 1))), 0)
        for both in zip(kept[pair[0]], kept[pair[1]], strict=True):
            seen[both] += 1
        expected = n * np.array([chances[both] for both in seen])
        goodness_of_fit(np.array([*seen.values()]), expected, f"kept answers of plans {pair}")


def test_an_answer_that_comes_back_is_another_question() -> None:
    """Its first answer would be drawn again, and somebody who always has it would lose twice."""
    plans = plan_chain((l_grr(3, 1, 2), 2), (l_grr(2, 1, 2), 2), labels=("012", "01"))
    again = Plan.of({"city": ["city 0", "city 1", "city 2"]}, l_grr(3, 1, 2), 1000, rounds=2)
    with pytest.raises(dn.InvalidParameter, match="came back"):
        follow_document(again.document, plans[-1].document)


def test_a_chain_with_removed_answers_states_the_largest_loss() -> None:
    """Also where all mechanisms are equal, since another answer is there for the removed one."""
    for labels in (("012", "12", "123"), ("012", "123")):
        plans = plan_chain(*((l_grr(len(each), 1, 2), 2) for each in labels), labels=labels)
        chain = plans[-1].stated.chain or ()
        assert chain[1] == chain[2]
        assert loss_forever(plans[-1]) == pytest.approx(2)
        assert plans[-1].loss.chain is not None
        assert plans[-1].loss.chain.changing_values_usual == pytest.approx(2 * 4)
        assert changing(plans[-1], chained=True) > changing(plans[-1])


@pytest.mark.parametrize("name", ["more bits", "more values of a hash", "a random answer"])
def test_a_device_keeps_its_answers(name: str) -> None:
    """Second rounds that hide nothing show what is kept: the same in every plan of the chain."""
    last = chains()[name][-1].document
    bare = [replace(plan, claimed=None) for plan in (*last.continues, last)]
    for seed in range(20):
        words = [dn.randomness.device(bytes([seed]) * 32, plan.id, round=1) for plan in bare]
        rows = [
            device.rows(1, plan.words).carry(plan.strands) for device, plan in zip(words, bare, strict=True)
        ]
        kept = [each.columns(0, 2).recall().array().tolist() for each in rows]
        parts = [each.columns(0, 4).key_noise(0) for each in rows]
        of_value = [part.recall(np.array([1])).array().tolist() for part in parts]
        assert kept == kept[:1] * len(kept)
        assert of_value == of_value[:1] * len(of_value)


BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "other answers": ({"asked": ["c", "d"]}, "more at the end"),
    "another order": ({"asked": ["b", "a"]}, "more at the end"),
    "another protocol": ({"mechanism": l_osue(2, 1.0, 2.0)}, "protocol is another"),
    "a large epsilon_forever": ({"mechanism": l_grr(2, 1.0, 12.0)}, "loss or form"),
    "a hash": ({"mechanism": loloha(2, 1.0, 2.0)}, "protocol is another"),
    "a missing answer": ({"missing": "random"}, "missing answer"),
    "another question": ({"name": "y"}, "'y' is added and 'x' is left out"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_another_question_is_not_carried_on(name: str) -> None:
    changes, why = BROKEN[name]
    options = {"name": "x", "asked": ["a", "b"], "mechanism": l_grr(2, 1.0, 2.0), "missing": "refuse"}

    def make(**given: Any) -> Plan:
        part: dict[str, Any] = {**options, **given}
        asked = {str(part["name"]): part["asked"]}
        return Plan.of(asked, part["mechanism"], 1000, rounds=2, missing=part["missing"])

    before, after = make().document, make(**changes).document
    [reason] = list_breaks(before, after)
    assert why in reason
    with pytest.raises(dn.InvalidParameter, match="plan of its own"):
        replace(after, continues=(before,))


def test_fakes_are_carried_on_together_or_not_at_all() -> None:
    fakes = l_rsfd([2, 3], 1.0, 2.0)
    [before, after] = plan_chain((fakes, 2), (fakes, 3))
    assert after.stated.chain == plan_chain((fakes, 5))[0].stated.repeated
    longer = replace(before.document.attributes[1], name="other")
    changed = replace(after.document, attributes=(after.document.attributes[0], longer), continues=())
    assert all(list_breaks(before.document, changed))


@pytest.fixture(scope="module")
def plans() -> list[Plan]:
    return plan_chain(*((l_grr(k, 1.0, 2.0), 2) for k in (3, 4, 5)))


@pytest.mark.parametrize("order", [*itertools.permutations(range(3)), (0,), (1,), (2,), (0, 2), (2, 1)])
def test_a_ledger_counts_a_chain_once(plans: list[Plan], order: Sequence[int]) -> None:
    ledger = Ledger(secret=bytes(32))
    ledger.cap = 50.0
    for place in order:
        Client(plans[place], ledger=ledger).report({"city": "city 0"}, round=1)
    last = plans[max(order)].stated
    counted = last.chained if len(order) > 1 else last
    assert (ledger.lifetime().changing, ledger.lifetime().unchanged) == (counted.counted, counted.unchanged)


def test_a_ledger_keeps_a_chain_in_its_file(plans: list[Plan], tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    for plan in plans[:2]:
        Ledger(path).cap = 20.0
        Client(plan, ledger=Ledger(path)).report({"city": "city 0"}, round=1)
    assert Ledger(path).lifetime().changing == changing(plans[1], chained=True)


def test_a_ledger_refuses_a_branch(plans: list[Plan]) -> None:
    other = Plan.of({"city": [f"city {value}" for value in range(6)]}, l_grr(6, 1.0, 2.0), 1000, rounds=1)
    branch = Plan(follow_document(other.document, plans[0].document))
    for first, second in ((plans[1], branch), (branch, plans[2])):
        ledger = Ledger(secret=bytes(32))
        ledger.cap = math.inf
        Client(first, ledger=ledger).report({"city": "city 0"}, round=1)
        with pytest.raises(InvalidPlan, match="continues the same plan") as refusal:
            Client(second, ledger=ledger)
        assert refusal.value.reason == "continues"
        Client(plans[0], ledger=ledger).report({"city": "city 0"}, round=1)


def test_a_plan_before_is_verified_with_its_own_id(plans: list[Plan]) -> None:
    """The words that a device shares are those of the document that is there, whatever it is called."""
    data = json.loads(plans[1].to_json())
    [before] = data["continues"]
    again_read = Plan.from_json(plans[1].to_json())
    assert again_read == plans[1]
    assert again_read.document.strands[0].plans == ((0, plans[0].id),)
    before["title"] = "Another title"
    moved = follow_document(plans[1].document, replace(plans[0].document, title="Another title"))
    assert moved.strands[0].plans[0][1] != plans[0].id


STUDY = {"crash": ["no", "app", "system"], "country": [f"country {number}" for number in range(14)]}


def test_a_study_continues_a_plan() -> None:
    """Answers are added, and one report loses more: what is kept goes on."""
    budgets: Any = {"epsilon_first": 1.0, "epsilon_forever": 2.0, "rounds": 3}
    before = dn.Study(STUDY, **budgets).plan(people=5_000)
    more = STUDY | {"crash": [*STUDY["crash"], "driver"], "country": [*STUDY["country"], "another"]}
    study = dn.Study(more, **budgets | {"epsilon_first": 1.3})
    after = study.plan(people=80_000, continues=before)
    assert list_breaks(before.document, after.document) == ("", "")
    assert after.loss.record <= 1.3 < after.loss.record + 1e-6
    assert loss_forever(after) == pytest.approx(2.0)
    told = after.explain()
    for text in ("continues plan", "with more answers: driver", "loses 1.3 in place of 1", "these 2 plans"):
        assert text in " ".join(told.split())
    renamed = dn.Study(STUDY | {"crash": ["none", "app", "system"]}, **budgets)
    partly = renamed.plan(people=5_000, continues=before)
    assert "a new question, since its answers are others" in " ".join(partly.explain().split())
    assert loss_forever(partly) == pytest.approx(4.0)
    with pytest.raises(dn.InvalidParameter, match="'country' is left out"):
        dn.Study({"crash": STUDY["crash"]}, **budgets).plan(people=5_000, continues=before)


def test_a_study_that_names_another_protocol_does_not_get_the_old_one() -> None:
    budgets: Any = {"epsilon_first": 1.0, "epsilon_forever": 2.0, "rounds": 3}
    crash = {"crash": ["no", "app"]}
    before = dn.Study(crash, **budgets, protocol="l_grr").plan(people=5_000)
    with pytest.raises(dn.InvalidParameter, match="its protocol is another"):
        dn.Study(crash, **budgets, protocol="l_osue").plan(people=5_000, continues=before)


def test_a_question_of_which_nothing_is_kept_says_why_it_begins_anew() -> None:
    budgets: Any = {"epsilon_first": 1.0, "epsilon_forever": 3.0, "rounds": 3, "changes": ["crash"]}
    questions = {"crash": ["no", "app"], "os": ["ios", "android"]}
    before = dn.Study(questions, **budgets).plan(people=5_000)
    more = dn.Study(questions | {"crash": ["no", "app", "driver"]}, **budgets)
    after = more.plan(people=5_000, continues=before).document
    breaks = dict(zip(after.names, list_breaks(before.document, after), strict=True))
    assert breaks == {
        "os": "",
        "crash": "nothing of it is kept, and its answers or the loss of a report are others",
    }


def test_a_pool_with_another_number_of_functions_says_so() -> None:
    budgets: Any = {"epsilon_first": 1.0, "epsilon_forever": 2.0, "rounds": 2, "protocol": "l_plh"}
    values = [f"value {number}" for number in range(12)]
    before = dn.Study({"x": values[:7]}, **budgets).plan(people=5_000)
    with pytest.raises(dn.InvalidParameter, match="its public pool has another number of functions"):
        dn.Study({"x": values}, **budgets).plan(people=5_000, continues=before)


def test_plans_with_rounds_say_what_they_leave_to_others() -> None:
    budgets: Any = {"epsilon_first": 0.5, "epsilon_forever": 2.0, "rounds": 60}
    study = dn.Study({"crash": ["no", "app"]}, **budgets, turns=3)
    old = study.plan(people=50_000)
    new = dn.Study({"crash": ["no", "app", "driver"]}, **budgets, turns=3).plan(people=50_000, continues=old)
    for plan in (old, new):
        left = 4 - changing(plan, chained=plan is new) / NANO
        text = describe_room(plan.document) or ""
        [room] = re.findall(r"in all: ([\d.]+) is left for plans", text)
        assert left - 0.01 < float(room) <= left
        assert " ".join(plan.explain().split()).count(text) == 1
    short = replace(study, rounds=3, turns=None).plan(people=50_000)
    assert describe_room(short.document) == (describe_room(old.document) or "").replace(" turns ", " rounds ")
    [more] = re.findall(
        r"pays for (\d+) more turns of a plan that continues", describe_room(old.document) or ""
    )
    for turns, is_accepted in ((int(more), True), (int(more) + 1, False)):
        ledger = Ledger(secret=bytes(32))
        veteran = Client(old, ledger=ledger)
        veteran.report({"crash": "no"}, round=veteran.turns[0])
        plan = replace(study, turns=turns).plan(people=50_000, continues=old)
        with nullcontext() if is_accepted else pytest.raises(AboveCap):
            Client(plan, ledger=ledger)
    for epsilon, pays in ((0.05, "at least 12 more rounds"), (1.0, "1 more round"), (1.2, "no other round")):
        tried = replace(study, epsilon_first=epsilon, rounds=3, turns=None).plan(people=50_000)
        assert f" It pays for {pays} of a plan" in (describe_room(tried.document) or ""), epsilon
    assert describe_room(replace(old.document, turns=None)) is None
    refused = dn.Study({"crash": ["no", "app"]}, **budgets, turns=30).plan(people=50_000)
    assert describe_room(refused.document) is None


@pytest.mark.parametrize(("first", "before", "allowed"), [(0.5, 4, 2), (1.0, 3, 0)])
def test_plans_warn_of_devices_that_answered_the_plans_before(
    first: float, before: int, allowed: int
) -> None:
    budgets: Any = {"epsilon_first": first, "epsilon_forever": 2.0, "rounds": 90}
    old = dn.Study({"crash": ["no", "app"]}, **budgets, turns=before).plan(people=50_000)
    wider = {"crash": ["no", "app", "driver"]}

    def device(turns: int) -> tuple[Plan, Client]:
        ledger = Ledger(secret=bytes(32))
        veteran = Client(old, ledger=ledger)
        veteran.report({"crash": "no"}, round=veteran.turns[0])
        plan = dn.Study(wider, **budgets, turns=turns).plan(people=50_000, continues=old)
        return plan, Client(plan, ledger=ledger)

    with pytest.raises(AboveCap):
        device(allowed + 1)
    plan = dn.Study(wider, **budgets, turns=allowed + 1).plan(people=50_000, continues=old)
    text = warn_limit(plan.document)
    assert text is not None
    assert text.startswith("A device that answered the plans before refuses this one")
    assert f"raises the limit to {round_limit(changing(plan, chained=True)):g}: " in text
    if not allowed:
        left = math.floor(400 - changing(old) / NANO * 100) / 100
        assert text.endswith(f"leaves {left:g} of the 4 that it allows. A smaller epsilon_first helps.")
        return
    assert text.endswith(f"It accepts turns = {allowed} in [repeat].")
    plan, _ = device(allowed)
    assert warn_limit(plan.document) is None


@pytest.mark.parametrize(
    ("asked", "protocols", "why"),
    [
        ({}, {"page": "l_osue"}, r"another protocol hides 'page', and takes another number of random words"),
        ({"os": ["a", "b"]}, {}, r"'os' is added"),
        ({"page": None}, {}, r"'page' is left out"),
        ({"page": None, "view": ["x", "y"]}, {}, r"'view' is added and 'page' is left out"),
    ],
)
def test_a_plan_that_carries_on_nothing_names_the_question(
    asked: dict[str, Any], protocols: dict[str, str], why: str
) -> None:
    questions = {"crash": ["no", "app"], "page": ["x", "y", "z"]}
    budgets: dict[str, Any] = {"epsilon_first": 1.0, "epsilon_forever": 3.0, "rounds": 5}
    old = dn.Study(questions, **budgets, protocol="l_grr").plan(people=1000)
    kept = {name: values for name, values in (questions | asked).items() if values}
    new = dn.Study(kept, **budgets, protocol=dict.fromkeys(kept, "l_grr") | protocols)
    with pytest.raises(dn.InvalidParameter, match=rf"carries on nothing of the plan before it \({why}"):
        new.plan(people=1000, continues=old)
