"""Nulls of few or noisy reports, and how often tests of independence and of trends reject them.

All 40 nulls with 3,000 studies each, and the powers, take minutes: `python -m tests.cross.small_nulls`. The
suite looks at some of them with fewer studies.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc

import deniable as dn
from deniable.arrays import Array, Floats
from deniable.cross.independence import LEAST_REPORTS, Evidence, find_null, find_slopes
from deniable.cross.spread import GroupedReport, OneReport
from deniable.law import Law

LEVELS = (0.05, 0.001)
EVEN, SKEW, RARE = None, 0.9, 0.98


class Null(NamedTuple):
    """A protocol, a table of independent answers unless `cells` are others, and how many people report.

    With `sizes`, the rows are known groups of so many people.
    """

    name: str
    shape: tuple[int, int]
    first: float | None
    """The share of the first row and the first column; the rest are even. All are, if this is None."""
    epsilon: float
    n: int
    sizes: tuple[int, ...] = ()
    dependent: Floats | None = None

    @property
    def cells(self) -> Floats:
        if self.dependent is not None:
            return self.dependent
        margins = [_share(size, self.first) for size in self.shape]
        if self.sizes:
            margins[0] = np.array(self.sizes) / sum(self.sizes)
        return np.outer(*margins)

    @property
    def law(self) -> Law:
        k = self.shape[1] if self.sizes else self.shape[0] * self.shape[1]
        law = getattr(dn.mechanisms, self.name)(k, self.epsilon).law
        assert isinstance(law, Law)
        return law

    def draw(self, studies: int, seed: int) -> Floats:
        """The unbiased tables of many studies."""
        drawn = self._spread.draw(self.cells.ravel(), self.n, studies, np.random.default_rng(seed))
        return drawn.reshape(studies, *self.shape)

    def read(self, table: Floats) -> Evidence:
        """What a test looks at in one study."""
        spread, each = self._spread, np.eye(table.size)
        return Evidence(
            table,
            self.n,
            lambda null: spread.covariance(null.ravel(), each),
            lambda null, runs, rng: spread.draw(null.ravel(), self.n, runs, rng).reshape(-1, *null.shape),
            lambda null: spread.count_supports(null.ravel(), self.n),
            "rows" if self.sizes else None,
        )

    @property
    def _spread(self) -> OneReport | GroupedReport:
        if self.sizes:
            return GroupedReport(self.law, *self.shape, np.inf, self.sizes)
        return OneReport(self.law)

    def __str__(self) -> str:
        margins = {EVEN: "even", SKEW: "skew", RARE: "rare"}[self.first]
        people = "+".join(map(str, self.sizes)) if self.sizes else f"{self.n:,}"
        kind = "known " if self.sizes else ""
        return f"{kind}{self.name} {self.shape[0]}x{self.shape[1]} {margins}, {self.epsilon:g}, {people}"


class Rates(NamedTuple):
    """How often a test at 5 % and at 0.1 % finds something."""

    dependence: tuple[float, float]
    trend: tuple[float, float]
    first_order: float
    """The test of independence at 5 % that tables had before, with the first-order variance."""


def measure(null: Null, studies: int, seed: int) -> Rates:
    """Of all studies; only those in which the chi-square law finds something need a look of their own."""
    tables = null.draw(studies, seed)
    first = null.read(tables[0])
    points = tuple(np.arange(size, dtype=float) for size in null.shape)
    kept = np.flatnonzero(first.cells.any(axis=1)).size
    found: list[tuple[float, float]] = []
    stacked = first.fit(tables, first.stack_covariances(null.cells))
    both = (points[0], points[1])
    for degrees, statistics in (
        ((kept - 1) * (null.shape[1] - 1), stacked.dependence(tables)),
        (1, stacked.trend(tables, both) ** 2),
    ):
        rejected = np.zeros(len(LEVELS))
        for i in np.flatnonzero(chdtrc(degrees, statistics) <= LEVELS[0]):
            if null.n < LEAST_REPORTS:
                break
            evidence = null.read(tables[i])
            test = evidence.test() if not found else evidence.trend(both)
            np.testing.assert_allclose(test.statistic, statistics[i], rtol=1e-6)
            rejected += test.p <= np.array(LEVELS)
        found.append((float(rejected[0] / studies), float(rejected[1] / studies)))
    return Rates(found[0], found[1], float((_reject_first_order(null, tables)).mean()))


def _reject_first_order(null: Null, tables: Floats) -> Array:
    """The planted fault: margins' errors are in the difference, and their product is not in its variance."""
    first = null.read(tables[0])
    spread = first.stack_covariances(null.cells)(find_null(tables)) / null.n
    slopes = find_slopes(find_null(tables))
    error = slopes @ spread @ slopes.swapaxes(-2, -1)
    total = tables.sum(axis=(1, 2), keepdims=True)
    apart = tables * total - tables.sum(axis=2, keepdims=True) * tables.sum(axis=1, keepdims=True)
    flat = apart[:, :-1, :-1].reshape(len(tables), -1, 1)
    squares = (flat * (np.linalg.pinv(error) @ flat)).sum(axis=(1, 2))
    return np.asarray(chdtrc((null.shape[0] - 1) * (null.shape[1] - 1), squares) <= LEVELS[0])


def _share(size: int, first: float | None) -> Floats:
    if first is None:
        return np.full(size, 1 / size)
    return np.array([first, *[(1 - first) / (size - 1)] * (size - 1)])


NULLS = [
    Null("grr", (2, 3), EVEN, 0.001, 10),
    Null("grr", (2, 3), EVEN, 0.1, 1),
    Null("grr", (2, 3), EVEN, 0.1, 100),
    Null("grr", (3, 3), SKEW, 0.1, 1000),
    Null("grr", (2, 2), SKEW, 0.5, 200),
    Null("grr", (2, 2), RARE, 1.0, 5000),
    Null("grr", (2, 2), EVEN, 8.0, 10),
    Null("grr", (5, 2), SKEW, 1.0, 500),
    Null("grr", (6, 6), RARE, 1.0, 1000),
    Null("grr", (6, 6), RARE, 8.0, 100),
    Null("grr", (6, 6), RARE, 8.0, 1000),
    Null("grr", (3, 3), EVEN, 4.0, 30),
    Null("grr", (3, 3), RARE, 4.0, 300),
    Null("grr", (4, 4), SKEW, 2.0, 2000),
    Null("grr", (2, 3), SKEW, 8.0, 50),
    Null("oue", (3, 3), RARE, 0.5, 300),
    Null("oue", (3, 3), SKEW, 1.0, 50),
    Null("oue", (2, 2), EVEN, 0.01, 5000),
    Null("oue", (2, 2), RARE, 8.0, 100),
    Null("oue", (4, 4), EVEN, 1.0, 5000),
    Null("oue", (6, 6), SKEW, 4.0, 500),
    Null("oue", (2, 3), SKEW, 4.0, 20),
    Null("hr", (4, 4), RARE, 4.0, 30),
    Null("hr", (2, 3), EVEN, 0.1, 100),
    Null("hr", (3, 3), SKEW, 1.0, 1000),
    Null("hr", (2, 2), RARE, 8.0, 500),
    Null("ss", (3, 3), SKEW, 0.5, 100),
    Null("ss", (4, 4), RARE, 1.0, 1000),
    Null("ss", (2, 3), EVEN, 0.1, 50),
    Null("ss", (5, 2), SKEW, 2.0, 5000),
    Null("olh", (3, 3), RARE, 1.0, 500),
    Null("olh", (2, 3), SKEW, 2.0, 100),
    Null("grr", (3, 3), EVEN, 4.0, 45, (15, 15, 15)),
    Null("grr", (3, 3), RARE, 4.0, 45, (15, 15, 15)),
    Null("grr", (2, 3), SKEW, 2.0, 301, (1, 300)),
    Null("grr", (2, 2), EVEN, 8.0, 10, (5, 5)),
    Null("grr", (4, 3), SKEW, 8.0, 12, (3, 3, 3, 3)),
    Null("oue", (2, 4), RARE, 4.0, 300, (10, 290)),
    Null("hr", (3, 3), SKEW, 1.0, 45, (15, 15, 15)),
    Null("ss", (2, 6), SKEW, 0.1, 300, (10, 290)),
]
"""Epsilon .001 to 8, one to 5,000 people."""
SMOKERS = np.array([0.15, 0.20, 0.25, 0.25, 0.15])[:, None] * np.array(
    [[s, 1 - s] for s in (0.25, 0.30, 0.22, 0.15, 0.08)]
)
_DOUBLED = (np.ones((4, 4)) + np.eye(4)) / 20
POWERS = [
    Null("grr", (2, 2), EVEN, 1.0, 2000, dependent=np.array([[0.35, 0.15], [0.25, 0.25]])),
    Null("grr", (2, 2), EVEN, 8.0, 100, dependent=np.array([[0.35, 0.15], [0.25, 0.25]])),
    Null("grr", (5, 2), EVEN, 1.0, 20_000, dependent=SMOKERS),
    Null("grr", (5, 2), EVEN, 4.0, 800, dependent=SMOKERS),
    Null("oue", (4, 4), EVEN, 1.0, 5000, dependent=_DOUBLED),
]
"""Dependent answers, where the first-order test has its size."""


def main(studies: int) -> None:
    print(
        "| null: protocol, table, margins, epsilon, people | 5 % | 0.1 % | trend 5 % | 0.1 % | before 5 % |"
    )
    print("|---|--:|--:|--:|--:|--:|")
    for cases in (NULLS, POWERS):
        for i, null in enumerate(cases):
            rates = measure(null, studies, 1000 + i)
            shown = " | ".join(f"{rate:.4f}" for rate in (*rates.dependence, *rates.trend, rates.first_order))
            print(f"| {null} | {shown} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3000)
