"""Measures on Adult how much tables gain by being possible, and by agreeing with each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from deniable.arrays import Floats, Integers
from deniable.cross import Source
from deniable.cross.source import agree
from deniable.cross.spread import OneReport, fix_total
from deniable.estimate import Estimate
from deniable.estimate.consistency import simplex
from deniable.likelihood import mle
from deniable.mechanisms import Mechanism, adaptive
from deniable.randomness.simulated import numbers_from, seeded
from deniable_papers import data
from deniable_papers.studies.stated import StatedPoint, compare

_STATED_RUNS = 6
GROUPS = (25, 35, 45, 55, 65)
_ALONE: tuple[tuple[tuple[str, str], float, tuple[str, str, str]], ...] = (
    (("sex", "income"), 1.0, ("5.87", "5.87", "5.87")),
    (("sex", "income"), 2.0, ("2.51", "2.51", "2.51")),
    (("sex", "income"), 4.0, (".76", ".76", ".76")),
    (("age", "education"), 1.0, ("9.12", "6.62", "6.61")),
    (("age", "education"), 2.0, ("4.02", "3.27", "3.23")),
    (("age", "education"), 4.0, ("1.21", "1.14", "1.07")),
)
_SHARED = ("marital-status", "income", "sex")
_AGREED: dict[float, tuple[tuple[str, str], ...]] = {
    1.0: (("14.5", "12.9"), ("15.3", "12.0"), ("10.3", "10.7")),
    4.0: (("1.96", "1.60"), ("1.99", "1.46"), ("3.04", "2.25")),
}


def measure_adult(runs: int, seed: int) -> Iterator[StatedPoint]:
    """A thousand times the root of the mean squared error of a cell.

    Ages are in six groups. The specification does not say which; here they end at 25, 35, 45, 55 and 65.
    """
    people = data.load("adult-10")
    columns = dict(zip(people.attributes, people.table.T.astype(np.int64), strict=True))
    sizes = dict(zip(people.attributes, people.ks, strict=True))
    ages = np.array(people.labels[people.attributes.index("age")], dtype=np.int64)[columns["age"]]
    columns["age"], sizes["age"] = np.digitize(ages, GROUPS), len(GROUPS) + 1
    for pair, epsilon, stated in _ALONE:
        shape = sizes[pair[0]], sizes[pair[1]]
        cells = columns[pair[0]] * shape[1] + columns[pair[1]]
        truth = np.bincount(cells, minlength=shape[0] * shape[1]) / people.n
        mechanism = adaptive(truth.size, epsilon)
        generator = numbers_from(seed, "alone", *pair, epsilon)
        errors = np.array([_measure_alone(mechanism, cells, truth, generator) for _ in range(runs)])
        for method, some, text in zip(("raw", "norm-sub", "most likely"), errors.T, stated, strict=True):
            yield _point(" x ".join(pair), method, epsilon, people.n, some, text, seed)
    for epsilon, rows in _AGREED.items():
        generator = numbers_from(seed, "agreed", epsilon)
        found = np.array([_measure_agreed(columns, sizes, epsilon, generator) for _ in range(runs)])
        for i, pair in enumerate(combinations(_SHARED, 2)):
            for j, method in enumerate(("raw", "agreed")):
                case = f"{' x '.join(pair)}, of three"
                yield _point(case, method, epsilon, people.n, found[:, i, j], rows[i][j], seed)


def _point(
    case: str, method: str, epsilon: float, n: int, errors: Floats, stated: str, seed: int
) -> StatedPoint:
    runs = errors.size
    spread = float(errors.std(ddof=1)) if runs > 1 else float("nan")
    fields = compare(float(errors.mean()), stated, spread / runs**0.5, spread / _STATED_RUNS**0.5)
    asked: dict[str, Any] = {"figure": "adult", "case": case, "method": method, "epsilon": epsilon}
    return StatedPoint(**asked, people=n, runs=runs, seed=seed, **fields)


def _measure_alone(
    mechanism: Mechanism, cells: Integers, truth: Floats, generator: np.random.Generator
) -> list[float]:
    reports = mechanism.privatize(cells, seeded(int(generator.integers(1 << 62))))
    estimate = mechanism.estimate(mechanism.tally(reports))
    assert isinstance(estimate, Estimate)
    found = mle(mechanism, reports, tolerance=1e-6).frequencies
    shares = estimate.frequencies
    return [_find_error(one, truth) for one in (shares, simplex(shares), found)]


def _measure_agreed(
    columns: dict[str, Integers], sizes: dict[str, int], epsilon: float, generator: np.random.Generator
) -> list[list[float]]:
    """Three tables, of which everybody reports one."""
    pairs = list(combinations(_SHARED, 2))
    n = len(columns["sex"])
    drawn = generator.integers(len(pairs), size=n)
    sources, truths = [], []
    for number, (one, other) in enumerate(pairs):
        shape = sizes[one], sizes[other]
        cells = columns[one] * shape[1] + columns[other]
        truths.append(np.bincount(cells, minlength=shape[0] * shape[1]) / n)
        mechanism = adaptive(shape[0] * shape[1], epsilon)
        reports = mechanism.privatize(cells[drawn == number], seeded(int(generator.integers(1 << 62))))
        estimate = mechanism.estimate(mechanism.tally(reports))
        values = fix_total(estimate.frequencies)
        sources.append(Source((one, other), shape, estimate.n, values, OneReport(mechanism.law)))
    return [
        [_find_error(one.source.values, truth), _find_error(one.values, truth)]
        for one, truth in zip(agree(sources), truths, strict=True)
    ]


def _find_error(shares: Floats, truth: Sequence[float] | Floats) -> float:
    return float(1000 * np.sqrt(np.mean((shares - np.asarray(truth)) ** 2)))
