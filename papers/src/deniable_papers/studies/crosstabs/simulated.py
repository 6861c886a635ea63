"""Simulates many small studies: how often intervals hold, and how often tests reject independence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import chdtri

from deniable.arrays import Floats, Integers
from deniable.cross import CrossTable
from deniable.cross.independence import find_dependence, find_power
from deniable.cross.spread import OneReport
from deniable.estimate import reach_of
from deniable.law import Law
from deniable.mechanisms import Tally, grr
from deniable.randomness.simulated import numbers_from
from deniable_papers.studies.crosstabs.exact import AGES, SMOKERS, SMOKING
from deniable_papers.studies.stated import StatedPoint, compare

_FEW = np.array([0.02, 0.24, 0.25, 0.25, 0.24])[:, None] * np.stack([SMOKING, 1 - SMOKING], axis=1)
_TABLES = {"row of 15 %": SMOKERS, "row of 2 %": _FEW}
_STATED_RUNS = 2000
_STATED_TESTS = 600  # of the specification's own test; of a naive one it is as many as of intervals
_STATED_POWER = 1000

_HELD: tuple[tuple[str, float, int, tuple[str, str], tuple[str, str]], ...] = (
    ("row of 15 %", 0.5, 500, (".992", ".945"), ("3.88", "1.00")),
    ("row of 15 %", 1.0, 2000, (".964", ".950"), ("0.97", "0.72")),
    ("row of 15 %", 4.0, 500, (".945", ".947"), ("0.25", "0.26")),
    ("row of 2 %", 1.0, 20_000, (".988", ".957"), ("2.44", "1.00")),
    ("row of 2 %", 4.0, 500, (".975", ".924"), ("1.25", "1.00")),
)


def measure_intervals(runs: int, seed: int) -> Iterator[StatedPoint]:
    """How often 95 % intervals of the share of smokers among the youngest hold, and how wide they are."""
    truth, reach = SMOKING[0], reach_of(0.025)
    for name, epsilon, n, held, widths in _HELD:
        mechanism = grr(SMOKERS.size, epsilon)
        counts = _draw_counts(mechanism.law, _TABLES[name], n, runs, numbers_from(seed, name, epsilon, n))
        tables = [_read(mechanism.estimate(Tally(n, one))) for one in counts]
        ends = {
            "delta": [_first_order(table, reach) for table in tables],
            "Fieller": [(float(table.low[0, 0]), float(table.high[0, 0])) for table in tables],
        }
        asked: dict[str, Any] = {"case": name, "epsilon": epsilon, "people": n, "runs": runs, "seed": seed}
        for i, (method, some) in enumerate(ends.items()):
            low, high = np.array(some).T
            hits = (low <= truth) & (truth <= high)
            yield StatedPoint(figure="coverage", method=method, **asked, **_compare_rate(hits, held[i]))
            width = np.sort(high - low)
            off = 1.5 * runs**0.5
            around = [width[int(np.clip(runs / 2 + sign * off, 0, runs - 1))] for sign in (-1, 1)]
            stderr = float(around[1] - around[0]) / 6
            fields = compare(float(np.median(width)), widths[i], stderr, stderr)
            yield StatedPoint(figure="widths", method=method, **asked, **fields)


_NULLS: tuple[tuple[str, Floats, int, tuple[str, str]], ...] = (
    ("2 x 2", np.outer([0.8, 0.2], [0.9, 0.1]), 500, (".655", ".048")),
    ("2 x 2", np.outer([0.8, 0.2], [0.9, 0.1]), 20_000, ("1.000", ".065")),
    ("4 x 4", np.outer([0.4, 0.3, 0.2, 0.1], np.full(4, 0.25)), 500, (".056", ".037")),
    ("5 x 2", np.outer(AGES, [0.2, 0.8]), 500, (".067", ".033")),
    ("5 x 2", np.outer(AGES, [0.2, 0.8]), 20_000, (".445", ".062")),
)
_ALTERNATIVES: tuple[tuple[str, Floats, int, tuple[str, str, str]], ...] = (
    ("2 x 2", np.array([[0.35, 0.15], [0.25, 0.25]]), 2000, (".743", ".760", ".080")),
    ("smokers, 5 x 2", SMOKERS, 20_000, (".507", ".515", ".065")),
)
_LEVEL = 0.05


def measure_tests(runs: int, seed: int) -> Iterator[StatedPoint]:
    """How often tests of independence at 5 % reject, where it holds, and where it does not."""
    epsilon = 1.0
    for case, cells, n, stated in _NULLS:
        law = grr(cells.size, epsilon).law
        counts = _draw_counts(law, cells, n, runs, numbers_from(seed, "null", case, n))
        asked: dict[str, Any] = {"case": case, "epsilon": epsilon, "people": n, "runs": runs, "seed": seed}
        naive = _reject_naive(counts.reshape(-1, *cells.shape))
        yield StatedPoint(
            figure="size", method="naive chi-square", **asked, **_compare_rate(naive, stated[0])
        )
        found = _reject(law, counts, cells.shape)
        fields = _compare_rate(found, stated[1], _STATED_TESTS)
        yield StatedPoint(figure="size", method="with the noise", **asked, **fields)
    for case, cells, n, texts in _ALTERNATIVES:
        law = grr(cells.size, epsilon).law
        generator = numbers_from(seed, "alternative", case, n)
        asked = {"case": case, "epsilon": epsilon, "people": n}
        found = _reject(law, _draw_counts(law, cells, n, runs, generator), cells.shape)
        simulated: dict[str, Any] = {"runs": runs, "seed": seed}
        fields = _compare_rate(found, texts[0], _STATED_POWER)
        yield StatedPoint(figure="power", method="with the noise", **asked, **simulated, **fields)
        each, degrees = find_dependence(cells, _spread(law))
        fields = compare(find_power(each, degrees, n), texts[1])
        yield StatedPoint(figure="power", method="predicted", **asked, **fields)
        laws = [grr(k, epsilon / 2).law for k in cells.shape]
        by_row, by_column = (law.q + law.gain * np.eye(law.k) for law in laws)
        reports = generator.multinomial(n, (by_row @ cells @ by_column).ravel(), size=runs)
        naive = _reject_naive(reports.reshape(-1, *cells.shape))
        fields = _compare_rate(naive, texts[2], _STATED_POWER)
        yield StatedPoint(figure="power", method="split, chi-square", **asked, **simulated, **fields)


def _compare_rate(
    hits: npt.NDArray[np.bool_], stated: str, stated_runs: int = _STATED_RUNS
) -> dict[str, Any]:
    """With the errors of both, at the rate that is stated, or near it where that is 0 or 1."""
    rate = min(max(float(stated), 0.5 / stated_runs), 1 - 0.5 / stated_runs)
    one, other = ((rate * (1 - rate) / n) ** 0.5 for n in (hits.size, stated_runs))
    return compare(float(hits.mean()), stated, one, other)


def _draw_counts(law: Law, cells: Floats, n: int, runs: int, generator: np.random.Generator) -> Integers:
    """The tallies of many studies, exactly as reports of single values are distributed."""
    return np.asarray(generator.multinomial(n, law.q + law.gain * cells.ravel(), size=runs))


def _read(estimate: Any) -> CrossTable:
    rows, columns = SMOKERS.shape
    return CrossTable.of_estimate(
        estimate, [str(row) for row in range(rows)], [str(column) for column in range(columns)]
    )


def _first_order(table: CrossTable, reach: float) -> tuple[float, float]:
    cells = table.cells[0]
    share = float(cells[0] / cells.sum())
    slopes = np.zeros(table.cells.shape)
    slopes[0] = -share
    slopes[0, 0] += 1
    weights = slopes.ravel() / cells.sum()
    error = float(weights @ table.covariance @ weights) ** 0.5
    return share - reach * error, share + reach * error


def _spread(law: Law) -> Callable[[Floats], Floats]:
    return lambda cells: OneReport(law).covariance(cells.ravel(), np.eye(cells.size))


def _reject(law: Law, counts: Integers, shape: tuple[int, ...]) -> npt.NDArray[np.bool_]:
    found = []
    for one in counts:
        n = int(one.sum())
        each, degrees = find_dependence(((one / n - law.q) / law.gain).reshape(shape), _spread(law))
        found.append(n * each > chdtri(degrees, _LEVEL))
    return np.array(found)


def _reject_naive(counts: Integers) -> npt.NDArray[np.bool_]:
    """The chi-square of the reports themselves, as if they were answers."""
    by_row, by_column = counts.sum(axis=2, keepdims=True), counts.sum(axis=1, keepdims=True)
    expected = by_row * by_column / counts.sum(axis=(1, 2), keepdims=True)
    statistic = ((counts - expected) ** 2 / expected).sum(axis=(1, 2))
    degrees = (counts.shape[1] - 1) * (counts.shape[2] - 1)
    return np.asarray(statistic > chdtri(degrees, _LEVEL))
