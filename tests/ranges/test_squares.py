"""Least squares on trees gives what a dense solution gives, and the variances that are published."""

from __future__ import annotations

import numpy as np
import pytest

import deniable as dn
from deniable.ranges import LeastSquares, Tree


def even(fanout: int, levels: int) -> LeastSquares:
    """A full tree whose people are spread evenly over its levels, so that a variance is n Var / V."""
    return LeastSquares(Tree(fanout**levels, fanout), (float(levels),) * levels)


@pytest.mark.parametrize(
    ("fanout", "levels", "first", "last", "stated"),
    [
        (2, 3, 0, 3, 2.232143),
        (2, 3, 2, 7, 2.803571),
        (2, 3, 0, 4, 0.857143),
        (4, 2, 0, 5, 2.575),
        (4, 2, 3, 13, 3.9),
        (4, 5, 100, 200, 13.425896),
        (4, 5, 0, 500, 8.290306),
    ],
)
def test_known_variances(fanout: int, levels: int, first: int, last: int, stated: float) -> None:
    assert even(fanout, levels).variances_of([first], [last])[0] == pytest.approx(stated, abs=1e-6)


def test_a_full_tree_follows_the_formula_of_contrasts() -> None:
    """n Var / V is the sum over levels of |cover - mean|^2 / P, where P adds up all levels below."""
    fanout, levels = 4, 4
    k = fanout**levels
    generator = np.random.default_rng(1)
    for first, last in np.sort(generator.integers(0, k + 1, (50, 2)), axis=1).tolist():
        cover, total = ((np.arange(k) >= first) & (np.arange(k) < last)).astype(np.float64), 0.0
        for level in reversed(range(levels)):
            precision = sum(fanout ** -(below - level) for below in range(level, levels)) / levels
            table = cover.reshape(-1, fanout)
            total += ((table - table.mean(axis=1, keepdims=True)) ** 2).sum() / precision
            cover = table.mean(axis=1)
        assert even(fanout, levels).variances_of([first], [last])[0] == pytest.approx(total, abs=1e-12)


@pytest.mark.parametrize(("k", "fanout"), [(2, 2), (7, 2), (13, 4), (37, 3), (64, 4), (65, 4)])
def test_ragged_trees_agree_with_a_dense_solution(k: int, fanout: int) -> None:
    tree, generator = Tree(k, fanout), np.random.default_rng(k)
    variances = generator.uniform(0.5, 3, tree.levels).tolist()
    found = LeastSquares(tree, variances)
    measured = [generator.normal(size=size) for size in tree.sizes]
    levels = zip(tree.divisors, tree.sizes, strict=True)
    holds = [np.arange(k) // divisor == np.arange(size)[:, None] for divisor, size in levels]
    nodes = np.concatenate(holds).astype(np.float64)
    precision = 1 / np.repeat(variances, tree.sizes)
    bordered = np.zeros((k + 1, k + 1))
    bordered[:k, :k] = nodes.T @ (precision[:, None] * nodes)
    bordered[:k, k] = bordered[k, :k] = 1.0
    inverse = np.linalg.inv(bordered)
    right = np.append(nodes.T @ (precision * np.concatenate(measured)), 1.0)
    assert found.solve(measured) == pytest.approx((inverse @ right)[:k], abs=1e-12)
    firsts, lasts = np.triu_indices(k + 1)
    ranges = ((np.arange(k) >= firsts[:, None]) & (np.arange(k) < lasts[:, None])).astype(np.float64)
    truth = np.einsum("ni,ij,nj->n", ranges, inverse[:k, :k], ranges)
    assert found.variances_of(firsts, lasts) == pytest.approx(truth, abs=1e-12)
    points = generator.normal(size=k)
    weights = np.concatenate(found.weights_of(points))
    assert weights == pytest.approx(precision * (nodes @ inverse[:k, :k] @ points), abs=1e-12)


def test_all_people_are_known() -> None:
    assert even(4, 3).variances_of([0, 5, 64], [64, 5, 64]).tolist() == [0.0, 0.0, 0.0]


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(dn.InvalidParameter, match="integer of at least 2"):
        Tree(1)
    with pytest.raises(dn.InvalidParameter, match="fanout"):
        Tree(10, fanout=1)
    for variances in ((1.0,), (1.0, 0.0), (1.0, np.inf)):
        with pytest.raises(dn.InvalidParameter, match="2 levels"):
            LeastSquares(Tree(16), variances)
