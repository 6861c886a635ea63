"""Which tables are asked: the choice of all choices, and the variances of the specification."""

from __future__ import annotations

import random
import time
from itertools import combinations

import numpy as np
import pytest

import deniable as dn
from deniable.arrays import Floats
from deniable.choose.views import Search, choose_views
from deniable.cross.spread import OneReport

Case = tuple[list[int], list[tuple[int, int]], float, int]


def _draw(seed: int) -> Case:
    rng = random.Random(seed)
    d = rng.choice([3, 4, 4, 5])
    sizes = [rng.choice([2, 2, 3, 4, 5, 7]) for _ in range(d)]
    every = list(combinations(range(d), 2))
    pairs = sorted(rng.sample(every, rng.randint(1, min(len(every), 6))))
    return sizes, pairs, rng.choice([0.5, 1.0, 2.0, 4.0]), rng.choice([0, 0, 1, 3])


def test_the_choice_errs_least_of_all_choices() -> None:
    """In 200 random studies, by brute force over all sets of tables."""
    for seed in range(200):
        sizes, pairs, epsilon, alone = _draw(seed)
        search = Search.of(sizes, pairs, epsilon, None, alone)
        count = len(search.tables)
        choices = (np.arange(1, 1 << count)[:, None] >> np.arange(count) & 1).astype(float)
        least = search.scores(choices).min()
        found = choose_views(sizes, pairs, epsilon, None, alone)
        assert found.score <= least * (1 + 1e-9), (sizes, pairs, epsilon, alone)
        held = {pair for table in found.tables for pair in combinations(table, 2)}
        assert set(pairs) <= held


def test_what_tables_tell_is_what_their_reports_tell() -> None:
    """The score by closed forms, against the covariance of reports, for every table of random studies."""
    for seed in range(40):
        sizes, pairs, epsilon, _ = _draw(seed)
        search = Search.of(sizes, pairs, epsilon)
        for table, told in zip(search.tables, search.precision, strict=True):
            np.testing.assert_allclose(told, _read(table, sizes, pairs, epsilon), rtol=1e-6, atol=1e-12)


def _read(table: tuple[int, ...], sizes: list[int], pairs: list[tuple[int, int]], epsilon: float) -> Floats:
    """One over the variance of a cell of each pair from one report, by the better of two protocols."""
    shape = [sizes[j] for j in table]
    k, at = int(np.prod(shape)), np.indices(shape).reshape(len(shape), -1)
    tried = []
    for mechanism in (dn.grr(k, epsilon), dn.ss(k, epsilon)):
        found = np.zeros(len(pairs))
        for i, pair in enumerate(pairs):
            if set(pair) <= set(table):
                cell = np.all([at[table.index(j)] == 0 for j in pair], axis=0).astype(float)
                found[i] = 1 / OneReport(mechanism.law).covariance(np.full(k, 1 / k), cell[None, :])[0, 0]
        tried.append(found)
    return min(tried, key=lambda one: float((1 / one[one > 0]).sum()))


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
    assert choose_views(sizes, pairs, epsilon).score == pytest.approx(score, rel=2e-3)


def test_many_questions_are_planned_soon() -> None:
    """All pairs of ten questions; the bar is 3 seconds of planning, and this takes a part of one."""
    sizes = [2, 5, 4, 3, 2, 6, 7, 2, 2, 9]
    started = time.process_time()
    found = choose_views(sizes, list(combinations(range(10), 2)), 1.0)
    assert time.process_time() - started < 3.0
    assert found.tables


def test_important_pairs_weigh_more() -> None:
    """A view that serves one pair well and two badly is taken if that pair is what matters."""
    sizes, pairs = [2, 2, 9], [(0, 1), (0, 2), (1, 2)]
    plain = choose_views(sizes, pairs, 1.0)
    weighed = choose_views(sizes, pairs, 1.0, [100.0, 1.0, 1.0])
    assert weighed.score != plain.score
