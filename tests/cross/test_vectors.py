"""The test vectors of the specification of cross-tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.special import chdtrc

import deniable as dn
from deniable.arrays import Floats
from deniable.cross import CrossTable
from deniable.cross.independence import find_dependence
from deniable.cross.source import Source, agree
from deniable.cross.spread import OneReport, TwoReports
from deniable.law import Law
from deniable.mechanisms import Tally

F = np.array([[0.30, 0.10, 0.05], [0.15, 0.25, 0.15]])
SMOKERS = np.array([0.15, 0.20, 0.25, 0.25, 0.15])[:, None] * np.array(
    [[s, 1 - s] for s in (0.25, 0.30, 0.22, 0.15, 0.08)]
)


@pytest.mark.parametrize(
    ("name", "epsilon", "expected"),
    [
        ("grr", 1.0, (3.183833, -0.601488, -0.645586, -0.430993, 5.041702)),
        ("ss", 1.0, (2.752875, -0.533800, -0.554769, -0.478958, 4.710083)),
        ("oue", 1.0, (4.192694, -0.030000, -0.045000, -0.005000, 11.745583)),
        ("hr", 1.0, (4.592694, 0.078198, -0.045000, 0.644186, 15.793141)),
        ("grr", 2.0, (0.676828, -0.117105, -0.139931, -0.052975, 0.937533)),
    ],
)
def test_covariances_of_cells(name: str, epsilon: float, expected: tuple[float, ...]) -> None:
    law = getattr(dn.mechanisms, name)(6, epsilon).law
    f = F.ravel()
    g = law.q + law.gain * f
    c = (law.pairs.joint(f) - np.outer(g, g)) / law.gain**2
    found = c[0, 0], c[0, 1], c[0, 5], c[1, 2], c[:3, :3].sum()
    np.testing.assert_allclose(found, expected, atol=2e-6)


@pytest.mark.parametrize(("name", "row", "cell"), [("oue", 6.021542, 3.506690), ("hr", 6.805146, None)])
def test_a_fixed_total_halves_the_variance_of_margins(name: str, row: float, cell: float | None) -> None:
    c = OneReport(getattr(dn.mechanisms, name)(6, 1.0).law).covariance(F.ravel(), np.eye(6))
    assert c[:3, :3].sum() == pytest.approx(row, abs=1e-6)
    if cell is not None:
        assert c[0, 0] == pytest.approx(cell, abs=1e-6)


def test_a_table_of_counts() -> None:
    m = dn.grr(6, 1.0)
    estimate = m.estimate(Tally(3000, np.array([800, 500, 430, 470, 420, 380])))
    table = CrossTable.of_estimate(estimate, ["a0", "a1"], ["b0", "b1", "b2"])
    expected = [0.615853, 0.166667, 0.061857, 0.121748, 0.046884, -0.013008]
    np.testing.assert_allclose(table.cells.ravel(), expected, atol=1e-6)
    assert table.shares[0, 0] == pytest.approx(0.729358, abs=1e-6)
    assert table.stderr[0, 0] == pytest.approx(0.038940, abs=1e-6)
    assert table.low[0, 0] == pytest.approx(0.655042, abs=1e-6)
    assert table.high[0, 0] == pytest.approx(0.808440, abs=1e-6)
    each, degrees = find_dependence(table.cells, table.spread)
    assert 3000 * each == pytest.approx(0.894576, abs=1e-6)
    assert degrees == 2
    assert float(chdtrc(2, 3000 * each)) == pytest.approx(0.639360, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "epsilon", "each"),
    [("grr", 1.0, 3.313596e-4), ("grr", 2.0, 2.744342e-3), ("ss", 1.0, 4.386572e-4)],
)
def test_noncentrality_of_one_report(name: str, epsilon: float, each: float) -> None:
    spread = _spread(getattr(dn.mechanisms, name)(10, epsilon).law)
    assert find_dependence(SMOKERS, spread)[0] == pytest.approx(each, rel=1e-6)


def test_two_reports_with_half_of_the_budget_each() -> None:
    c = TwoReports(dn.grr(2, 0.5).law, dn.grr(3, 0.5).law).covariance(F.ravel(), np.eye(6))
    np.testing.assert_allclose(np.diag(c)[:3], [32.642875, 31.218896, 29.605800], atol=2e-6)


def test_tables_that_share_an_attribute_agree() -> None:
    """The vector's variances, where each half of the people answers one of the two tables."""
    other = np.array([[0.25, 0.20], [0.30, 0.25]])
    sources = [
        Source(names, cells.shape, 1, cells.ravel(), Halved(OneReport(dn.grr(cells.size, 1.0).law)))
        for names, cells in ((("a", "b"), F), (("a", "c"), other))
    ]
    margins = [source.covariance(source.sums(["a"]))[0, 0] for source in sources]
    np.testing.assert_allclose(margins, [10.083404, 5.532482], atol=1e-6)
    agreed = agree(sources)
    found = [one.covariance(one.source.sums(["a"]))[0, 0] for one in agreed]
    np.testing.assert_allclose(found, [3.572404, 3.572404], atol=1e-6)
    cells = [one.covariance(np.eye(one.source.size))[0, 0] for one in agreed]
    assert sources[0].covariance(np.eye(6))[0, 0] == pytest.approx(6.367666, abs=1e-6)
    np.testing.assert_allclose(cells, [5.317338, 3.632260], atol=1e-6)


@dataclass(frozen=True)
class Halved:
    """The spread of a report that only half of the people make."""

    spread: OneReport

    def covariance(self, cells: Floats, sums: Floats) -> Floats:
        return 2 * self.spread.covariance(cells, sums)

    def sampling(self, cells: Floats, sums: Floats) -> Floats:
        return 2 * self.spread.sampling(cells, sums)

    def draw(self, cells: Floats, n: int, runs: int, generator: np.random.Generator) -> Floats:
        raise NotImplementedError

    def count_supports(self, cells: Floats, n: int) -> float:
        raise NotImplementedError


def _spread(law: Law) -> Callable[[Floats], Floats]:
    return lambda cells: OneReport(law).covariance(cells.ravel(), np.eye(cells.size))
