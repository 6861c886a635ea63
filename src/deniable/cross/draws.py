"""Draws the counts of support that many studies have, from the law of one report and the true shares."""

from __future__ import annotations

import numpy as np

from deniable.arrays import Floats, Integers
from deniable.law import Law, Marginal
from deniable.law.pairs import Walsh

_FEW = 200  # reports: fewer are drawn one by one, where counts have no law of their own
_CELLS = 1 << 24  # supports that are drawn one by one at most
_BLOCK = 1 << 22  # of them at once


def draw_counts(
    law: Law | Marginal, shares: Floats, n: int, runs: int, generator: np.random.Generator
) -> Floats:
    """How many of n reports support each value, in each of so many studies of people with these shares.

    Exact where reports name one value, support each by its own coin, or are columns of a Hadamard matrix.
    Of other shapes, few reports are drawn one by one, and many by the normal law of their counts.
    """
    shares = shares.clip(0.0, None)
    shares = shares / shares.sum()
    if isinstance(law, Law):
        if law.bitwise:
            people = generator.multinomial(n, shares, size=runs)
            return np.asarray(
                generator.binomial(people, law.p) + generator.binomial(n - people, law.q), dtype=np.float64
            )
        if isinstance(law.pairs, Walsh):
            return _draw_columns(law.pairs, shares, n, runs, generator)
        if law.sizes.tolist() == [1]:
            return _multinomial(law.q + law.gain * shares, n, runs, generator)
        if n < _FEW and n * runs * law.k <= _CELLS:
            return _draw_sets(law, shares, n, runs, generator)
    supported = law.q + law.gain * shares
    spread = law.pairs.joint(shares) - np.outer(supported, supported)
    return np.asarray(n * supported + np.sqrt(n) * draw_normal(spread, runs, generator))


def draw_normal(covariance: Floats, runs: int, generator: np.random.Generator) -> Floats:
    """Normal numbers around 0 with this covariance, a row for each run."""
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(values.clip(0.0, None))
    return np.asarray(generator.standard_normal((runs, len(values))) @ root.T)


def _multinomial(chances: Floats, n: int, runs: int, generator: np.random.Generator) -> Floats:
    chances = chances.clip(0.0, None)
    return np.asarray(generator.multinomial(n, chances / chances.sum(), size=runs), dtype=np.float64)


def _draw_columns(pairs: Walsh, shares: Floats, n: int, runs: int, generator: np.random.Generator) -> Floats:
    """Reports that are columns of a Hadamard matrix, half of which support any one value."""
    columns = np.arange(1 << pairs.bits)
    rows = np.arange(1, shares.size + 1)
    is_supported = np.bitwise_count(columns[:, None] & rows) % 2 == 0
    chances = np.where(is_supported, pairs.p, 1 - pairs.p) @ shares
    return np.asarray(_multinomial(chances, n, runs, generator) @ is_supported)


def _draw_sets(law: Law, shares: Floats, n: int, runs: int, generator: np.random.Generator) -> Floats:
    """Reports one by one: whether the truth is inside, how many values are, and which."""
    k, counts = law.k, []
    chances = np.concatenate([law.inside, law.outside])
    sizes = np.concatenate([law.sizes, law.sizes])
    block = max(_BLOCK // (n * k), 1)
    for start in range(0, runs, block):
        many = min(block, runs - start) * n
        truth = generator.choice(k, size=many, p=shares)
        sets = generator.choice(chances.size, size=many, p=chances / chances.sum())
        order = generator.random((many, k))
        order[np.arange(many), truth] = np.where(sets < law.sizes.size, -1.0, 2.0)
        counts.append(_lowest(order, sizes[sets]).reshape(-1, n, k).sum(axis=1))
    return np.concatenate(counts).astype(np.float64)


def _lowest(order: Floats, sizes: Integers) -> Integers:
    """Where the lowest numbers of each row are, as many as its size."""
    ranks = order.argsort(axis=1).argsort(axis=1)
    return np.asarray(ranks < sizes[:, None], dtype=np.int64)
