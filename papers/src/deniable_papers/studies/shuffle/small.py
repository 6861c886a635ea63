"""Enumerates small crowds: what is true, beside each bound, and beside one that is none."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations_with_replacement, product
from typing import final

import numpy as np

from deniable.arrays import Floats
from deniable.crowd import shuffled
from deniable.crowd.deltas import Blanket, Coins
from deniable.mechanisms import SetMechanism, grr, lh, oue
from deniable_papers.studies.shuffle.bounds import GROUPED
from deniable_papers.studies.stated import StatedPoint, compare

Counts = dict[tuple[int, ...], float]


@final
@dataclass(frozen=True, eq=False)
class SmallCrowd:
    """Reports of sets of values, each e or 1 times as likely as a common one: as many as can be enumerated.

    A set is all that matters of a report: those that support the same values are equally likely from any.
    """

    laws: Floats
    """How likely each set is, by value."""

    @staticmethod
    def of(ratio: float, k: int, supported: float | None = None) -> SmallCrowd:
        """Sets of a single value, or of each value by a coin of its own, which comes up this often."""
        sets = np.array(list(product((False, True), repeat=k)))
        if supported is None:
            blanket = (sets.sum(axis=1) == 1) / k
        else:
            blanket = np.where(sets, supported, 1 - supported).prod(axis=1)
        likely = blanket * np.where(sets.T, ratio, 1.0)
        held = blanket > 0
        return SmallCrowd(np.asarray((likely / likely.sum(axis=1, keepdims=True))[:, held]))

    def find_worst(self, n: int, epsilon: float) -> float:
        """The smallest delta that holds for one person's change, whatever all others have."""
        values = range(len(self.laws))
        crowds = combinations_with_replacement(values, n - 1)
        return max(self._tell(crowd, epsilon) for crowd in crowds)

    def _tell(self, crowd: Sequence[int], epsilon: float) -> float:
        rest = count_reports([self.laws[value] for value in crowd])
        one, other = (add_report(rest, self.laws[value]) for value in (0, 1))
        return max(find_delta(one, other, epsilon), find_delta(other, one, epsilon))


def count_reports(people: Sequence[Floats]) -> Counts:
    """The law of how many reports of each kind a crowd sends."""
    kinds = len(people[0])
    nobody: Counts = {(0,) * kinds: 1.0}
    return reduce(add_report, people, nobody)


def add_report(crowd: Counts, person: Floats) -> Counts:
    """The same with one person more."""
    found: Counts = {}
    for counts, chance in crowd.items():
        for kind, likely in enumerate(person.tolist()):
            key = (*counts[:kind], counts[kind] + 1, *counts[kind + 1 :])
            found[key] = found.get(key, 0.0) + chance * likely
    return found


def find_delta(one: Counts, other: Counts, epsilon: float) -> float:
    """By how much one law exceeds e^epsilon times the other."""
    factor = math.exp(epsilon)
    return sum(max(chance - factor * other.get(counts, 0.0), 0.0) for counts, chance in one.items())


def reduce_to_three(k: int, n: int, ratio: float, epsilon: float) -> float:
    """The tempting reduction of direct reports to three kinds, of which one is common to both answers."""
    total = ratio + k - 1
    own, other = ratio / total, 1 / total
    person = np.array([own, other, 1 - own - other])
    rest = [np.array([other, other, 1 - 2 * other])] * (n - 1)
    one, swapped = (count_reports([law, *rest]) for law in (person, person[[1, 0, 2]]))
    return find_delta(one, swapped, epsilon)


def enumerate_small() -> Iterator[StatedPoint]:
    """Deltas of a few people: what is true, what bounds say, and what a trap says."""
    cases: tuple[tuple[str, SetMechanism, float, int, float, str, str], ...] = (
        ("grr 3", grr(3, 1.0), 1.0, 6, 0.1, ".145644", ".145644"),
        ("oue 3", oue(3, 2.0), 2.0, 4, 0.4, ".233549", ".256810"),
        ("olh, 3 buckets", lh(3, 1.0, g=3), 1.0, 2, 0.4, ".091288", ".116926"),
        ("grr 4", grr(4, 1.0), 1.0, 5, 0.4, ".053361", ".055790"),
    )
    for case, mechanism, local, n, epsilon, truth, bound in cases:
        supported = None if case.startswith("grr") else _find_supported(mechanism, n)
        crowd = SmallCrowd.of(float(mechanism.ratio), 4 if case == "grr 4" else 3, supported)
        yield _make_row(case, "true", local, n, crowd.find_worst(n, epsilon), truth)
        blanket = _cover(mechanism, n).delta(epsilon)
        yield _make_row(case, "privacy blanket", local, n, blanket, bound)
    trap = reduce_to_three(4, 5, float(grr(4, 1.0).ratio), 0.4)
    yield _make_row("grr 4", "trap: a third, common kind", 1.0, 5, trap, ".051612")
    yield from _compare_coins()


def _find_supported(mechanism: SetMechanism, n: int) -> float:
    """How often a report that looks at no value supports each: bits and ideal hashes have coins for that."""
    blanket = _cover(mechanism, n)
    return float(blanket.one + blanket.both)


def _cover(mechanism: SetMechanism, n: int) -> Blanket:
    return Blanket(n, mechanism.ratio, mechanism.law.exact_p, mechanism.law.exact_q)


def _compare_coins() -> Iterator[StatedPoint]:
    """Two values: others who all agree are not the worst crowd."""
    n, epsilon = 8, 0.1
    coins = Coins(n, grr(2, 1.0).law.p)
    agreed = max(coins.delta_of(0, epsilon), coins.delta_of(n - 1, epsilon))
    yield _make_row("grr 2", "others agree", 1.0, n, agreed, ".112941")
    yield _make_row("grr 2", "worst crowd", 1.0, n, coins.delta(epsilon), ".117439")
    for local, stated in ((1.0, ".126614"), (2.0, ".323324")):
        found = shuffled(grr(2, local), 1000, 1e-6, "exact").epsilon
        fields = compare(found, stated)
        yield StatedPoint(
            figure="two values", case="grr 2", method="worst crowd", epsilon=local, people=1000, **fields
        )


def _make_row(case: str, method: str, epsilon: float, n: int, value: float, stated: str) -> StatedPoint:
    fields = compare(value, stated, 0.0, GROUPED * float(stated) if "blanket" in method else 0.0)
    return StatedPoint(figure="small", case=case, method=method, epsilon=epsilon, people=n, **fields)
