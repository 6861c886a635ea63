"""Tests of independence and of trends with few or noisy reports: vectors, sizes, and no verdict."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import chdtrc

import deniable as dn
from deniable.arrays import Floats
from deniable.cross import CrossTable, independence
from deniable.cross.independence import Evidence, Test
from deniable.mechanisms import Tally
from tests import statistics
from tests.cross.small_nulls import EVEN, NULLS, RARE, SKEW, Null, Rates, measure
from tests.statistics import FEW_RARELY, FEW_SIZE, FEW_STUDIES

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
    assert len(NULLS) == 40


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
