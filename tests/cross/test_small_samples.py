"""Tests of independence and of trends with few or noisy reports: vectors, sizes, and no verdict."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.special import chdtrc

import deniable as dn
from deniable.arrays import Array, Floats
from deniable.cross import CrossTable, independence
from deniable.cross.independence import LEAST_REPORTS, Evidence, Test, find_null, find_slopes
from deniable.cross.spread import GroupedReport, OneReport
from deniable.law import Law
from deniable.mechanisms import Tally
from tests import statistics
from tests.statistics import FEW_RARELY, FEW_SIZE, FEW_STUDIES

LEVELS = (0.05, 0.001)
EVEN, SKEW, RARE = None, 0.9, 0.98


class Null(NamedTuple):
    """A protocol, a table of independent answers, and how many people report.

    With `sizes`, the rows are known groups of so many people.
    """

    name: str
    shape: tuple[int, int]
    first: float | None
    """The share of the first row and the first column; the rest are even. All are, if this is None."""
    epsilon: float
    n: int
    sizes: tuple[int, ...] = ()

    @property
    def cells(self) -> Floats:
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
    for degrees, values in (
        ((kept - 1) * (null.shape[1] - 1), stacked.dependence(tables)),
        (1, stacked.trend(tables, both) ** 2),
    ):
        rejected = np.zeros(len(LEVELS))
        for i in np.flatnonzero(chdtrc(degrees, values) <= LEVELS[0]):
            if null.n < LEAST_REPORTS:
                break
            evidence = null.read(tables[i])
            test = evidence.test() if not found else evidence.trend(both)
            np.testing.assert_allclose(test.statistic, values[i], rtol=1e-6)
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


COUNTS = [800, 500, 430, 470, 420, 380]
LOOKED_AT = [
    Null("grr", (2, 3), EVEN, 0.1, 100),
    Null("grr", (3, 3), SKEW, 0.1, 1000),
    Null("grr", (2, 2), EVEN, 8.0, 10),
    Null("hr", (2, 3), EVEN, 0.1, 100),
    Null("ss", (2, 3), EVEN, 0.1, 50),
    Null("grr", (3, 3), EVEN, 4.0, 45, (15, 15, 15)),
    Null("grr", (2, 3), SKEW, 2.0, 301, (1, 300)),
]


def _table(name: str, shape: tuple[int, int], epsilon: float, counts: list[int], n: int) -> CrossTable:
    estimate = getattr(dn.mechanisms, name)(math.prod(shape), epsilon).estimate(Tally(n, np.array(counts)))
    rows, columns = ([f"{side}{i}" for i in range(size)] for side, size in zip("ab", shape, strict=True))
    return CrossTable.of_estimate(estimate, rows, columns)


@pytest.mark.parametrize(
    ("table", "statistic", "p", "trend"),
    [
        (_table("grr", (2, 3), 1.0, COUNTS, 3000), 0.891053, 0.640487, -0.610796),
        (_table("oue", (2, 3), 1.0, COUNTS, 2000), 6.355054, 0.041689, -2.503667),
        (_table("grr", (2, 2), 8.0, [90, 5, 3, 2], 100), 6.295468, 0.012105, None),
        (_table("grr", (2, 3), 0.1, [1, 0, 0, 0, 0, 0], 1), 0.283641, None, None),
    ],
    ids=["grr", "oue", "2x2", "one report"],
)
def test_vectors_of_small_samples(
    table: CrossTable, statistic: float, p: float | None, trend: float | None
) -> None:
    test = table.test()
    assert test.statistic == pytest.approx(statistic, abs=1e-6)
    if p is not None:
        assert float(chdtrc(test.degrees, test.statistic)) == pytest.approx(p, abs=1e-6)
    if trend is not None:
        points = (np.arange(2.0), np.arange(3.0))
        assert table.evidence.find_slope(points) == pytest.approx(trend, abs=1e-6)
        assert table.trend().statistic == pytest.approx(trend**2, abs=1e-5)


def test_simulated_studies_say_the_vector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(independence, "_ENOUGH", math.inf)
    test = _table("oue", (2, 3), 1.0, COUNTS, 2000).test()
    assert test.simulated == pytest.approx(0.045, abs=0.02)
    assert test.p == max(test.simulated or 0.0, 0.0416886302325817)


def test_the_same_tally_has_the_same_p() -> None:
    first, second = (_table("grr", (2, 2), 8.0, [90, 5, 3, 2], 100).test() for _ in range(2))
    assert first.simulated is not None
    assert first == second


def test_a_study_of_few_reports_cannot_tell() -> None:
    """One report gave p < 0.001."""
    for test in (
        _table("grr", (2, 3), 0.1, [1, 0, 0, 0, 0, 0], 1).test(),
        _table("grr", (2, 3), 4.0, [3, 0, 0, 0, 0, 6], 9).test(),
        _table("grr", (2, 3), 4.0, [3, 0, 0, 0, 0, 6], 9).trend(),
    ):
        assert test.verdict == "cannot tell"
        assert math.isnan(test.p)
        assert test.about()["p"] is None
        assert json.loads(json.dumps(test.about()))["verdict"] == "cannot tell"
        assert str(test).startswith("this study could not tell whether ")
        assert str(test).endswith(f"report{'s' * (test.n > 1)}, and a test needs 10")
    enough = _table("grr", (2, 3), 4.0, [3, 0, 0, 0, 0, 7], 10).test()
    assert enough.p < 1


def test_a_study_without_power_cannot_tell() -> None:
    table = _table("grr", (2, 3), 0.1, [20, 15, 15, 20, 15, 15], 100)
    for test in (table.test(), table.trend()):
        assert test.p > 0.05
        assert test.verdict == "cannot tell"
        assert str(test).startswith("this study could not tell whether ")
        assert f"(p = {test.p:.3f})" in str(test)
    assert Test(1.0, 2, 1000, detectable=0.2).verdict == "not found"
    assert Test(30.0, 2, 1000, detectable=math.inf).verdict == "found"
    assert Test(30.0, 2, 1000, "change", 0.2, fewest=9).verdict == "cannot tell"


@pytest.mark.long
def test_tests_of_few_reports_have_their_sizes() -> None:
    """The first-order test, as tables had it, is the planted fault: it rejects up to all studies."""
    found = [measure(null, FEW_STUDIES, i) for i, null in enumerate(LOOKED_AT)]
    for null, rates in zip(LOOKED_AT, found, strict=True):
        for what, (often, rarely) in (("dependence", rates.dependence), ("trend", rates.trend)):
            for rate, limit in ((often, FEW_SIZE), (rarely, FEW_RARELY)):
                kept = round((1 - rate) * FEW_STUDIES)
                statistics.at_least(kept, FEW_STUDIES, 1 - limit, f"{what} of {null}")
    assert _count_faults(found) == 4


def _count_faults(found: list[Rates]) -> int:
    """The nulls whose first-order test is found out."""
    return sum(rates.first_order > 0.25 for rates in found)


def _secret(**options: Any) -> Evidence:
    asked = {"a": ["0", "1"], "b": ["x", "y", "z"]}
    plan = dn.Study(asked, epsilon=2.0, together=[("a", "b")], protocol="grr", **options).plan(people=1000)
    answers: dict[str, list[Any]] = {"a": ["0", "1"] * 150, "b": ["x", "y", "z"] * 100}
    if options:
        answers["b"][::4] = [None] * 75
    return plan.estimate(plan.tally(plan.privatize(answers, dn.seeded(1)))).cross("b", by="a").evidence


def _apart() -> Evidence:
    plan = dn.Study({"a": ["0", "1"], "b": ["x", "y"]}, epsilon=4.0, mechanism="split").plan(people=1000)
    reports = plan.privatize({"a": ["0", "1"] * 150, "b": ["x", "y", "y"] * 100}, dn.seeded(1))
    return plan.cross(reports, "b", by="a").evidence


def _known(by: str, of: str, **options: Any) -> Evidence:
    asked = {"g": ["A", "B", "C"], "x": ["u", "v", "w"], "y": ["0", "1"]}
    plan = dn.Study(asked, epsilon=2.0, known=["g"], mechanism="sample", **options).plan(people=300)
    groups = ["A"] * 200 + ["B"] * 100
    answers: dict[str, list[Any]] = {"g": groups, "x": ["u", "v", "w"] * 100, "y": ["0", "1"] * 150}
    if options:
        answers["x"][::4] = [None] * 75
    return plan.estimate(plan.tally(plan.privatize(answers, dn.seeded(2)))).cross(of, by=by).evidence


@pytest.mark.parametrize(
    "read",
    [
        *(
            lambda name=name, n=n: Null(name, (2, 3), SKEW, 2.0, n).read(np.full((2, 3), 1 / 6))
            for name, n in (("grr", 50), ("oue", 50), ("hr", 50), ("ss", 50), ("olh", 50), ("ss", 500))
        ),
        _secret,
        lambda: _secret(missing="value"),
        _apart,
        lambda: _known("g", "x"),
        lambda: _known("x", "g"),
        lambda: _known("g", "x", missing="value"),
    ],
    ids=[
        *("grr", "oue", "hr", "ss", "olh", "ss-many", "secret", "secret-missing", "apart"),
        *("known", "known-turned", "known-missing"),
    ],
)
def test_simulated_studies_follow_the_law(read: Callable[[], Evidence]) -> None:
    """Their mean is the table, and their covariance is the stated one; stacks say what single tables do."""
    evidence = read()._reported  # a known group without reports is no row
    null = evidence.fit(evidence.cells, evidence.covariance).null
    runs, stated = 4000, evidence.covariance(null) / evidence.n
    drawn = evidence.draw(null, runs, np.random.default_rng(5)).reshape(runs, -1)
    errors = np.sqrt(np.diag(stated) / runs)
    assert np.abs(drawn.mean(axis=0) - null.ravel()).max() < 5 * errors.max()
    assert _distance(np.cov(drawn.T), stated) < 0.12
    assert _distance(np.cov(drawn.T), 1.3 * stated) > 0.15
    tables = np.stack([null, null[::-1]])
    if evidence.known is not None:  # groups keep their sizes
        tables = np.stack([null, null])
    stacked = evidence.stack_covariances(null)(tables)
    np.testing.assert_allclose(stacked, [evidence.covariance(table) for table in tables], atol=1e-9)


def _distance(one: Floats, other: Floats) -> float:
    return float(np.linalg.norm(one - other) / np.linalg.norm(other))


def test_large_tables_are_simulated_with_the_errors_of_the_study() -> None:
    null = Null("grr", (9, 9), RARE, 8.0, 300)
    test = null.read(null.draw(1, 1)[0]).test()
    table = null.draw(1, 1)[0] * 0.5 + 0.5 * np.eye(9) / 9
    strong = null.read(table).test()
    assert strong.simulated is not None
    assert strong.p < 0.01 < test.p


def test_known_groups_say_it_everywhere() -> None:
    """One person of a group, and 299 of another: the test does not tell, and says so in text and JSON."""
    plan = dn.Study({"g": ["A", "B"], "x": ["u", "v", "w"]}, epsilon=2.0, known=["g"]).plan(people=300)
    answers = {"g": ["A"] * 299 + ["B"], "x": ["u", "v", "w"] * 100}
    table = plan.estimate(plan.tally(plan.privatize(answers, dn.seeded(1)))).cross("x", by="g")
    assert table.test().verdict == table.about()["test"]["verdict"] == "cannot tell"
    assert table.test().sentence.endswith("even the largest differences there are often missed")
    assert table.test().sentence in str(table)
