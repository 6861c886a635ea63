"""How often intervals of tables hold and tests find what is there, in many studies of each case.

The counts of a study are drawn from the law of all reports. Whole stacks of tables go through the functions
that single ones go through.
"""

from __future__ import annotations

import math
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.arrays import Floats
from deniable.cross import CrossTable
from deniable.cross.independence import find_dependence, find_power
from deniable.cross.spread import OneReport
from deniable.law import Law
from deniable.mechanisms import Tally
from deniable.summaries.ratios import find_fieller_ends
from tests.statistics import STACKED_HELD, STACKED_POWER, STACKED_STUDIES

AGES = np.array([0.15, 0.20, 0.25, 0.25, 0.15])
SHARES = np.array([[s, 1 - s] for s in (0.25, 0.30, 0.22, 0.15, 0.08)])
SMOKERS = AGES[:, None] * SHARES
FEW = np.array([0.02, 0.24, 0.25, 0.25, 0.24])[:, None] * SHARES
"""The same with a small first row."""


class Case(NamedTuple):
    """A protocol, its budget, and how many people have these cells."""

    name: str
    epsilon: float
    n: int
    cells: Floats

    @property
    def law(self) -> Law:
        law = getattr(dn.mechanisms, self.name)(self.cells.size, self.epsilon).law
        assert isinstance(law, Law)
        return law

    def draw(self, studies: int, seed: int) -> Floats:
        """The unbiased cells of many studies: each report supports a set of as many cells."""
        k, law = self.cells.size, self.law
        (size,) = law.sizes.tolist()
        sets = np.array([[v in some for v in range(k)] for some in combinations(range(k), size)])
        inside = law.p / math.comb(k - 1, size - 1)
        outside = (1 - law.p) / math.comb(k - 1, size)
        chances = np.where(sets, inside, outside) @ self.cells.ravel()
        rng = np.random.default_rng(seed)
        counts = rng.multinomial(self.n, chances / chances.sum(), size=studies) @ sets
        return np.asarray((counts / self.n - law.q) / law.gain).reshape(studies, *self.cells.shape)

    def spread(self, tables: Floats) -> Floats:
        """The covariance of one report's cells, for a table or for each of some."""
        flat = tables.reshape(*tables.shape[:-2], -1)
        return OneReport(self.law).covariance(flat, np.eye(self.cells.size))


CASES = [
    Case(*case) for case in product(["grr", "ss"], [0.5, 1.0, 2.0, 4.0], [500, 2000, 20_000], [SMOKERS, FEW])
]
"""The 48 cases of conditional shares."""


def _find_ends(case: Case, tables: Floats) -> tuple[Floats, Floats]:
    """The interval of the share of the first column in the first row, in each study."""
    sums = np.zeros((2, case.cells.size))
    sums[0, 0] = 1.0
    sums[1, : case.cells.shape[1]] = 1.0
    flat = tables.reshape(len(tables), -1)
    spread = OneReport(case.law).covariance(flat, sums) / case.n
    top, bottom = flat @ sums[0], flat @ sums[1]
    return find_fieller_ends(
        top, bottom, spread[:, 0, 0], spread[:, 1, 1], spread[:, 0, 1], 0.025, (0.0, 1.0)
    )


@pytest.mark.long
def test_intervals_of_conditional_shares_hold_in_all_cases() -> None:
    held = []
    for i, case in enumerate(CASES):
        low, high = _find_ends(case, case.draw(STACKED_STUDIES, i))
        held.append(float(((low <= 0.25) & (high >= 0.25)).mean()))
    assert len(held) == 48
    assert min(held) >= STACKED_HELD[0]
    assert max(held) <= STACKED_HELD[1]


@pytest.mark.long
def test_first_order_intervals_do_not_hold_in_all_cases() -> None:
    """The planted fault: around a ratio that lies far off, since few people are in the row, they miss."""
    case = Case("grr", 1.0, 20_000, FEW)
    tables = case.draw(STACKED_STUDIES, 1)
    held = []
    for one in tables[:100]:
        table = _read(case, one)
        reach = 1.96 * table.stderr[0, 0]
        held.append(bool(abs(table.shares[0, 0] - 0.25) <= reach))
    assert np.mean(held) < STACKED_HELD[0]


def _read(case: Case, cells: Floats) -> CrossTable:
    """The table of one study, as a user has it."""
    law = case.law
    counts = np.rint(case.n * (law.q + law.gain * cells.ravel())).astype(np.int64)
    estimate = getattr(dn.mechanisms, case.name)(cells.size, case.epsilon).estimate(Tally(case.n, counts))
    rows, columns = (list(map(str, range(size))) for size in cells.shape)
    return CrossTable.of_estimate(estimate, rows, columns)


def _weigh(case: Case, tables: Floats) -> tuple[Floats, Floats]:
    """The statistics of independence and the squared ones of a trend, of all studies at once."""
    evidence = _read(case, tables[0]).evidence
    fit = evidence.fit(tables, evidence.stack_covariances(case.cells))
    rows, columns = (np.arange(size, dtype=float) for size in case.cells.shape)
    return fit.dependence(tables), fit.trend(tables, (rows, columns)) ** 2


@pytest.mark.parametrize("case", [CASES[4], CASES[27]], ids=lambda case: case.name)
def test_stacks_say_what_single_tables_say(case: Case) -> None:
    tables = case.draw(20, 3)
    low, high = _find_ends(case, tables)
    each, trends = _weigh(case, tables)
    for i, cells in enumerate(tables):
        table = _read(case, cells)
        np.testing.assert_allclose([table.low[0, 0], table.high[0, 0]], [low[i], high[i]], atol=1e-9)
        assert table.test().statistic == pytest.approx(each[i], rel=1e-9)
        assert table.trend().statistic == pytest.approx(trends[i], rel=1e-9)


@pytest.mark.parametrize(
    "case",
    [
        Case("grr", 1.0, 2000, np.array([[0.35, 0.15], [0.25, 0.25]])),
        Case("grr", 2.0, 4000, SMOKERS),
        Case("grr", 1.0, 20_000, SMOKERS),
        Case("ss", 1.0, 20_000, SMOKERS),
    ],
    ids=["2x2", "smokers, 2", "smokers, 1", "smokers, ss"],
)
def test_power_is_as_predicted(case: Case) -> None:
    each, degrees = find_dependence(case.cells, case.spread)
    tables = case.draw(STACKED_STUDIES, 7)
    statistics, _ = _weigh(case, tables)
    found = float((statistics > stats.chi2.isf(0.05, degrees)).mean())
    assert found == pytest.approx(find_power(each, degrees, case.n), abs=STACKED_POWER)
