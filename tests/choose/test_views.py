"""Which tables are asked: the choice of all choices, and the variances of the specification."""

from __future__ import annotations

import math
import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations

import numpy as np
import pytest

from deniable import rsfd
from deniable.arrays import Floats
from deniable.choose.objective import Objective
from deniable.choose.ranking import Error, divide_people
from deniable.choose.views import Alone, Search, Wanted, choose_views
from deniable.law.law import ReportLaw
from deniable.mechanisms import PROTOCOLS
from deniable.records import Faked

ADULT = (7, 16, 7, 14, 6, 5, 2, 41, 2)


def _draw(seed: int) -> Wanted:
    rng = random.Random(seed)
    d = rng.choice([3, 4, 4, 5])
    every = list(combinations(range(d), 2))
    pairs = sorted(rng.sample(every, rng.randint(1, min(len(every), 6))))
    return Wanted(
        tuple(rng.choice([2, 2, 3, 4, 5, 7]) for _ in range(d)),
        tuple(pairs),
        rng.choice([0.5, 1.0, 2.0, 4.0]),
        tuple(rng.choice([0.3, 1.0, 1.0, 4.0]) for _ in pairs) if rng.random() < 0.7 else (),
        tuple(Alone(rng.choice([2, 9]), rng.choice([1.0, 3.0])) for _ in range(rng.choice([0, 0, 1, 3]))),
        (rng.choice([0, 1]),) * d,
        rng.choice([Objective(), Objective(squares=True), Objective(worst=True)]),
        rng.choice(["SMP", "SMP", "SMP", "SPL", "RS+FD"]),
    )


@cache
def _law(kind: str, epsilon: float, k: int, name: str, count: int) -> ReportLaw:
    """That of one of `count` attributes of a report, by a protocol."""
    if kind == "RS+FD" and count > 1:
        return Faked((rsfd([k, k], epsilon, name).fakes[0],) * count).marginal(0)
    if kind == "RS+FD":
        return PROTOCOLS[name.partition("-")[0]].make(k, epsilon).law
    return PROTOCOLS[name].make(k, epsilon / (count if kind == "SPL" else 1)).law


def _find_error(law: ReportLaw, sums: Floats) -> float:
    """Of one sum from one report, if people are spread evenly."""
    return float(law.sum_errors(sums[None, :])[0] + sums.var())


@cache
def _read(wanted: Wanted, table: tuple[int, ...], count: int) -> Floats:
    """One over the variance of a cell of each pair from one report, by the best protocol, from the laws."""
    shape = [wanted.sizes[j] for j in table]
    cells, at = int(np.prod(shape)), np.indices(shape).reshape(len(shape), -1)
    k = cells + max(wanted.beside[j] for j in table)
    weights, worst = wanted.weights or (1.0,) * len(wanted.pairs), wanted.objective.worst
    tried = []
    for name in ("grr", "oue-z", "sue-z") if wanted.kind == "RS+FD" else ("grr", "ss"):
        found, costs = np.zeros(len(wanted.pairs)), []
        for i, pair in enumerate(wanted.pairs):
            if set(pair) <= set(table):
                cell = np.pad(np.all([at[table.index(j)] == 0 for j in pair], axis=0), (0, k - cells))
                found[i] = 1 / _find_error(
                    _law(wanted.kind, wanted.epsilon, k, name, count), cell.astype(float)
                )
                costs.append(weights[i] / found[i])
        tried.append((max(costs) if worst else sum(costs), found))
    return min(tried, key=lambda one: one[0])[1]


def _count_cells(wanted: Wanted, table: tuple[int, ...]) -> int:
    return math.prod(wanted.sizes[j] for j in table)


def _score(wanted: Wanted, tables: Sequence[tuple[int, ...]]) -> float:
    """What is to be small, from the laws, if people are divided as the planner divides them."""
    count = len(tables) + len(wanted.alone)
    names = ("grr", "oue-z", "sue-z") if wanted.kind == "RS+FD" else ("grr", "ss")
    weights, objective = np.array(wanted.weights or (1.0,) * len(wanted.pairs)), wanted.objective
    own = 1 if wanted.kind == "SMP" else count
    told = np.array([_read(wanted, table, own) for table in tables])
    alone = [
        one.importance
        * min(
            _find_error(_law(wanted.kind, wanted.epsilon, one.k, name, own), np.eye(one.k)[0])
            for name in names
        )
        for one in wanted.alone
    ]
    chances = [1.0] * count
    if wanted.kind == "SMP" and objective.is_absolute:
        each = [[Error(float(w / p), 0.0) for w, p in zip(weights, row, strict=True) if p] for row in told]
        chances = divide_people([*each, *([Error(one, 0.0)] for one in alone)], worst=False)
        if objective.worst:
            largest = [max(one.a for one in some) for some in each] + alone
            chances = [one / sum(largest) for one in largest]
    elif wanted.kind == "SMP":
        most = [float(weights[row > 0].max()) for row in told] + [one.importance for one in wanted.alone]
        chances = [one / sum(most) for one in most]
    held = np.array(chances[: len(tables)]) @ told
    if wanted.kind != "SMP":  # tables of the same people are not added up
        by_size = sorted(zip(tables, told, strict=True), key=lambda one: _count_cells(wanted, one[0]))
        held = np.array([next((p for _, row in by_size if (p := row[i])), 0.0) for i in range(len(weights))])
    if not held.all():
        return math.inf
    errors = list(weights / held)
    if not objective.is_absolute:
        return float(sum(errors) / weights.sum())
    errors += [one / chance for one, chance in zip(alone, chances[len(tables) :], strict=True)]
    if objective.worst:
        return float(max(errors))
    return float(sum(errors) / (weights.sum() + sum(one.importance for one in wanted.alone)))


@pytest.mark.long
def test_the_choice_errs_least_of_all_choices() -> None:
    """In 100 random studies, by brute force over all sets of tables: with weights of pairs, the largest error
    or the sum of squares in place of the mean, "no answer", questions beside tables, and other record
    mechanisms. What is least is computed from the laws of the protocols themselves.
    """
    kinds = Counter[tuple[str, str]]()
    for seed in range(100):
        wanted = _draw(seed)
        search = Search(wanted)
        count = len(search.tables)
        choices = (np.arange(1, 1 << count)[:, None] >> np.arange(count) & 1).astype(float)
        scores = search.scores(choices)
        found = choose_views(wanted)
        assert found.score <= scores.min() * (1 + 1e-9), wanted
        assert set(wanted.pairs) <= {pair for table in found.tables for pair in combinations(table, 2)}
        assert found.score == pytest.approx(_score(wanted, found.tables), rel=1e-6), wanted
        for i in random.Random(seed).sample(range(len(choices)), min(2, len(choices))):
            some = [table for table, used in zip(search.tables, choices[i], strict=True) if used]
            assert scores[i] == pytest.approx(_score(wanted, some), rel=1e-6), (wanted, some)
        kinds[wanted.kind, wanted.objective.goal] += 1
    assert min(kinds.values()) >= 2
    assert len(kinds) == 9


@pytest.mark.parametrize("worst", [False, True])
def test_people_are_divided_as_is_best(worst: bool) -> None:
    """Where no pair is in two tables, no other division of people errs less."""
    rng = np.random.default_rng(5)
    for seed in range(100):
        drawn = _draw(seed)
        wanted = replace(drawn, kind="SMP", objective=Objective(worst=worst, squares=not worst))
        tables = [tuple(sorted(pair)) for pair in wanted.pairs]
        least = _score(wanted, tables)
        weights = np.array(wanted.weights or (1.0,) * len(tables))
        errors = [float(w / _read(wanted, one, 1).max()) for w, one in zip(weights, tables, strict=True)]
        errors += [
            one.importance
            * min(
                _find_error(_law(wanted.kind, wanted.epsilon, one.k, name, 1), np.eye(one.k)[0])
                for name in ("grr", "ss")
            )
            for one in wanted.alone
        ]
        total = 1.0 if worst else weights.sum() + sum(one.importance for one in wanted.alone)
        others = rng.dirichlet(np.full(len(errors), 20.0), 200)
        found = errors / others
        assert least <= (found.max(axis=1) if worst else found.sum(axis=1) / total).min() * (1 + 1e-9)
        equal = np.array(errors) * len(errors)
        assert least <= (equal.max() if worst else equal.sum() / total) * (1 + 1e-9)


@pytest.mark.parametrize(("epsilon", "equal", "divided"), [(4.0, 7.80, 3.17), (1.0, 132.0, 123.0)])
def test_the_worst_table_of_adult(epsilon: float, equal: float, divided: float) -> None:
    """As specified: people who are divided by errors make all 36 tables equally good."""
    pairs = tuple(combinations(range(9), 2))
    search = Search(Wanted(ADULT, pairs, epsilon, objective=Objective(worst=True)))
    tables = np.array([len(table) == 2 for table in search.tables])
    variances = 1 / search.precision[tables].max(axis=1)
    assert len(pairs) * variances.max() == pytest.approx(equal, rel=5e-3)
    assert search.score(tables.astype(float)) == pytest.approx(divided, rel=5e-3)
    assert search.score(tables.astype(float)) == pytest.approx(variances.sum(), rel=1e-12)


@pytest.mark.parametrize(
    ("sizes", "epsilon", "score"),
    [
        ([2, 2], 1.0, 2.077),
        ([2, 5], 1.0, 3.000),
        ([2, 2, 2], 1.0, 4.845),
        ([2, 5, 4], 1.0, 9.159),
        ([2, 5, 4], 4.0, 0.251),
        ([7, 2, 2], 4.0, 0.247),
        ([5, 5, 5], 2.0, 2.002),
        ([2] * 6, 1.0, 24.23),
    ],
)
def test_scores_are_those_of_the_specification(sizes: list[int], epsilon: float, score: float) -> None:
    pairs = list(combinations(range(len(sizes)), 2))
    assert choose_views(Wanted(tuple(sizes), tuple(pairs), epsilon)).score == pytest.approx(score, rel=2e-3)


@pytest.mark.parametrize("objective", [Objective(), Objective(worst=True)])
@pytest.mark.parametrize("kind", ["SMP", "SPL"])
def test_many_questions_are_planned_soon(objective: Objective, kind: str) -> None:
    """All pairs of ten questions; the bar is 3 seconds of planning, and this takes a part of it."""
    sizes = (2, 5, 4, 3, 2, 6, 7, 2, 2, 9)
    started = time.process_time()
    found = choose_views(
        Wanted(sizes, tuple(combinations(range(10), 2)), 1.0, objective=objective, kind=kind)
    )
    assert time.process_time() - started < 3.0
    assert found.tables


def test_important_pairs_weigh_more() -> None:
    """A view that serves one pair well and two badly is taken if the others do not matter."""
    wanted = Wanted((2, 2, 5), ((0, 1), (0, 2), (1, 2)), 2.0)
    assert choose_views(wanted).tables != choose_views(replace(wanted, weights=(100.0, 1.0, 1.0))).tables
