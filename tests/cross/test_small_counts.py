"""Small counts: rows, sizes, differences and ratios of few reports hold, by sums over all outcomes.

Nothing here is drawn at random but the answers of people in tests of wiring, so that chance plays no part.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.arrays import Floats
from deniable.cross import CrossTable
from deniable.cross.counted import (
    DIFFERENCE,
    ODDS,
    RATIO,
    Comparison,
    Counted,
    Counts,
    Ends,
    NamedCells,
    compare_ends,
    compare_shares,
    find_mid_ends,
    list_angles,
)
from deniable.cross.independence import Evidence
from deniable.cross.spread import GroupedReport, OneReport
from deniable.cross.table import LikelyTable
from deniable.law import Law
from deniable.mechanisms import Tally
from deniable.plan.known_groups import add_groups
from deniable.reports import Tallies
from deniable.study import Plan
from deniable.summaries.ratios import find_fieller_ends
from tests.cases import by_night
from tests.statistics import SMALL_HELD

Z = float(stats.norm.isf(0.025))
SHARES = np.array([0.01, 0.02, 0.05, 0.1, 0.3, 0.5])
CHANNELS = [
    (name, k, epsilon)
    for name, k in (("grr", 2), ("grr", 3), ("oue", 8), ("hr", 8), ("ss", 8), ("olh", 8))
    for epsilon in (0.5, 1.0, 2.0, 4.0, 8.0)
]
SIZES = (1, 2, 3, 5, 10, 20, 50, 100, 300, 500)
PAIRS = ((1, 300), (2, 2), (5, 300), (20, 20), (50, 300))
COMPARED = [
    ("grr", 2, 0.5),
    ("grr", 3, 2.0),
    ("grr", 3, 4.0),
    ("grr", 2, 8.0),
    ("oue", 8, 2.0),
    ("hr", 8, 1.0),
]
SECRET = [(6.0, 300, 0.02), (8.0, 300, 0.02), (8.0, 30, 0.02), (6.0, 300, 0.1), (7.0, 100, 0.1)]
"""Losses, people and shares of the rare row, of tables of 2 x 3 cells."""


def law_of(name: str, k: int, epsilon: float) -> Law:
    law = getattr(dn.mechanisms, name)(k, epsilon).law
    assert isinstance(law, Law)
    return law


def count(law: Law, counts: Any, n: Any) -> Counts:
    return Counts(np.asarray(counts, dtype=float), np.asarray(n, dtype=float), law.q, law.gain)


@pytest.mark.parametrize(
    ("name", "k", "epsilon", "x", "m", "ends"),
    [
        ("grr", 3, 4.0, 0, 20, (0.0, 0.159204)),
        ("grr", 3, 4.0, 1, 20, (0.0, 0.243997)),
        ("grr", 3, 2.0, 5, 5, (0.546188, 1.0)),
        ("ss", 8, 1.0, 20, 50, (0.179660, 1.0)),
        ("olh", 8, 2.0, 10, 50, (0.0, 0.546133)),
        ("hr", 8, 4.0, 14, 20, (0.0, 0.790576)),
    ],
)
def test_exact_rows(name: str, k: int, epsilon: float, x: int, m: int, ends: tuple[float, float]) -> None:
    low, high = count(law_of(name, k, epsilon), [[x]], [[m]]).interval(0.025)
    assert (low[0, 0], high[0, 0]) == pytest.approx(ends, abs=1e-6)


def test_exact_sizes_and_mid_p_ends() -> None:
    low, high = Counts(np.array([0.0, 3.0]), np.array([300.0, 300.0])).interval(0.025)
    np.testing.assert_allclose([*low, *high], [0.0, 0.002067, 0.012221, 0.028945], atol=1e-6)
    _, high = count(law_of("grr", 3, 4.0), [0, 1], 20).find_ends(np.array([Z]))
    np.testing.assert_allclose(high.ravel(), [0.128237, 0.216620], atol=1e-6)


def test_mid_p_ends_solve_their_equation() -> None:
    """Of all counts and of huge ones; no reports say nothing."""
    for n in (1, 2, 7, 300, 10**6):
        x = np.unique(np.linspace(0, n, 9).astype(int))
        for reach in (0.0, 0.3, 1.96, 6.0):
            low, high = find_mid_ends(x, n, reach)
            tail = stats.norm.sf(reach)
            inside = (x > 0) & (x < n)
            above = (stats.binom.sf(x - 1, n, low) + stats.binom.sf(x, n, low))[inside] / 2
            below = (stats.binom.cdf(x, n, high) + stats.binom.cdf(x - 1, n, high))[inside] / 2
            np.testing.assert_allclose(np.append(above, below), tail, rtol=1e-6)
            assert low[0] == 0
            assert high[-1] == 1
    assert [float(end) for end in find_mid_ends(0, 0, 1.96)] == [0.0, 1.0]
    low, high = find_mid_ends(4 * 10**9, 10**10, Z)
    assert (0.4 - low, high - 0.4) == pytest.approx((9.6e-6, 9.6e-6), rel=0.01)


@pytest.mark.parametrize(
    ("k", "epsilon", "counts", "sizes", "difference", "ratio", "odds"),
    [
        (3, 2.0, (0, 106), (1, 299), (-0.446042, 0.694712), (0.0, 3.283409), (0.0, math.inf)),
        (3, 2.0, (9, 100), (20, 300), (-0.139579, 0.500394), (0.603543, 2.659461), (0.497753, 9.639439)),
        (2, 8.0, (3, 50), (5, 300), (0.012336, 0.764738), (1.071273, 6.231555), (1.087497, 64.384441)),
    ],
)
def test_known_pairs(
    k: int,
    epsilon: float,
    counts: tuple[int, int],
    sizes: tuple[int, int],
    difference: tuple[float, float],
    ratio: tuple[float, float],
    odds: tuple[float, float],
) -> None:
    """The vectors, from the counts themselves and from a table of a plan."""
    rows = count(law_of("grr", k, epsilon), np.array(counts)[:, None], np.array(sizes)[:, None])
    asked = {"g": ["A", "B"], "x": list("uvw"[:k])}
    plan = dn.Study(asked, epsilon=epsilon, known=["g"], protocol="grr").plan(people=300)
    rest = [[n - x] + [0] * (k - 2) for x, n in zip(counts, sizes, strict=True)]
    table = read(plan, [[x, *others] for x, others in zip(counts, rest, strict=True)]).cross("x", by="g")
    read_off = (table.difference("A", "B"), table.ratio("A", "B"), table.odds("A", "B"))
    for comparison, wanted, shown in zip(
        (DIFFERENCE, RATIO, ODDS), (difference, ratio, odds), read_off, strict=True
    ):
        found = compare_shares(comparison, rows.look_at(0, 0), rows.look_at(1, 0), Z, 33)
        assert (found.low, found.high) == pytest.approx(wanted, abs=1e-6)
        assert (shown.low, shown.high) == pytest.approx(wanted, abs=1e-6)
        assert shown.low <= shown.value <= shown.high
        assert shown.stderr > 0.1


def test_secret_rows() -> None:
    """The vectors, from a table of an estimate; a table of many reports has Fieller's ends."""
    table = CrossTable.of_estimate(
        dn.grr(6, 6.0).estimate(Tally(300, np.array([4, 1, 1, 150, 72, 72]))), ["a", "b"], ["u", "v", "w"]
    )
    assert (table.low[0, 0], table.high[0, 0]) == pytest.approx((0.221251, 1.0), abs=1e-6)
    difference, ratio = table.difference("a", "b"), table.ratio("a", "b")
    assert (difference.low, difference.high) == pytest.approx((-0.290720, 0.541635), abs=1e-6)
    assert (ratio.low, ratio.high) == pytest.approx((0.432528, 2.181669), abs=1e-6)
    many = CrossTable.of_estimate(
        dn.grr(6, 1.0).estimate(Tally(3000, np.array([800, 500, 430, 470, 420, 380]))), "ab", "uvw"
    )
    assert (many.low[0, 0], many.high[0, 0]) == pytest.approx((0.655042, 0.808440), abs=1e-6)
    cells = many.counted.cells
    assert cells is not None
    low, high = cells.interval(0.025)
    assert (low[0, 0], high[0, 0]) == pytest.approx((0.654941, 0.807771), abs=1e-6)


def find_least_row(ends: Any, sizes: tuple[int, ...] = SIZES) -> float:
    """The least coverage of a row over all channels, sizes and shares."""
    held = []
    for channel in CHANNELS:
        law = law_of(*channel)
        for m in sizes:
            x = np.arange(m + 1.0)
            low, high = (end[:, None] for end in ends(law, x, m))
            chances = stats.binom.pmf(x[:, None], m, law.q + law.gain * SHARES)
            held.append((chances * ((low <= SHARES) & (high >= SHARES))).sum(axis=0).min())
    return float(min(held))


def test_rows_of_known_groups_hold() -> None:
    """All 300 settings; the formula that was used before, a normal one at the estimate, is the fault."""
    assert find_least_row(lambda law, x, m: count(law, x, m).interval(0.025)) >= 0.95

    def find_normal(law: Law, x: Floats, m: int) -> Ends:
        share, error = (x / m - law.q) / law.gain, np.sqrt(x / m * (1 - x / m) / m) / law.gain
        return (share - Z * error).clip(0, 1), (share + Z * error).clip(0, 1)

    assert find_least_row(find_normal) < 0.1


def find_least_pair(comparison: Comparison, ends: Any) -> float:
    """The least coverage over all channels, sizes of two groups and pairs of shares."""
    held = []
    for channel in COMPARED:
        law = law_of(*channel)
        for sizes in PAIRS:
            sides = []
            for m in sizes:
                x = np.arange(m + 1.0)
                chances = stats.binom.pmf(x[:, None], m, law.q + law.gain * SHARES)
                kept = chances.max(axis=1) > 1e-7
                sides.append((x[kept], chances[kept]))
            low, high = ends(law, comparison, (sides[0][0], sides[1][0]), sizes)
            for i, one in enumerate(SHARES):
                for j, other in enumerate(SHARES):
                    truth = float(comparison.find(np.asarray(one), np.asarray(other), True))
                    is_held = (low <= truth + 1e-12) & (truth - 1e-12 <= high)
                    held.append(float(sides[0][1][:, i] @ is_held @ sides[1][1][:, j]))
    return min(held)


@by_night("comparison", [DIFFERENCE, RATIO, ODDS], RATIO, ODDS, ids=["difference", "ratio", "odds"])
def test_comparisons_of_known_groups_hold(comparison: Comparison) -> None:
    def find_circle(law: Law, what: Comparison, x: tuple[Floats, Floats], sizes: tuple[int, int]) -> Ends:
        along, across = list_angles(33, Z)
        one, other = count(law, x[0], sizes[0]).find_ends(along), count(law, x[1], sizes[1]).find_ends(across)
        return compare_ends(what, (one[0][:, None], one[1][:, None]), other)

    assert find_least_pair(comparison, find_circle) >= SMALL_HELD


def test_a_normal_difference_does_not_hold() -> None:
    """The planted fault: first-order errors at the estimates, as tables had them."""

    def find_normal(law: Law, _: Comparison, x: tuple[Floats, Floats], sizes: tuple[int, int]) -> Ends:
        chances = x[0][:, None] / sizes[0], x[1] / sizes[1]
        variances = [one * (1 - one) / m for one, m in zip(chances, sizes, strict=True)]
        value, reach = (chances[0] - chances[1]) / law.gain, Z * np.sqrt(sum(variances)) / law.gain
        return np.asarray(value - reach), np.asarray(value + reach)

    assert find_least_pair(DIFFERENCE, find_normal) < 0.1


def list_outcomes(epsilon: float, n: int, row: float) -> tuple[Law, Floats, Floats, Floats]:
    """Every count of the first cell and of its row of 2 x 3 cells, with its chance at each share."""
    law = law_of("grr", 6, epsilon)
    chance_of_row = 3 * law.q + law.gain * row
    named = np.arange(n + 1.0)[stats.binom.pmf(np.arange(n + 1), n, chance_of_row) > 1e-7]
    pairs = np.array([(x, one) for one in named for x in np.arange(one + 1)])
    inside = (law.q + law.gain * row * SHARES) / chance_of_row
    chances = stats.binom.pmf(pairs[:, 1], n, chance_of_row)[:, None] * stats.binom.pmf(
        pairs[:, :1], pairs[:, 1:], inside
    )
    return law, pairs[:, 0], pairs[:, 1], chances


def read_cells(law: Law, x: Floats, named: Floats, n: int) -> NamedCells:
    shape = np.ones((x.size, 1))
    return NamedCells(x[:, None], named[:, None], n * shape, law.q * shape, 3 * law.q * shape, law.gain)


@by_night(("epsilon", "n", "row"), SECRET, *SECRET[2:])
def test_rare_rows_of_secret_tables_hold(epsilon: float, n: int, row: float) -> None:
    """Fieller's interval, which such rows had, is the planted fault."""
    law, x, named, chances = list_outcomes(epsilon, n, row)
    low, high = read_cells(law, x, named, n).interval(0.025)
    held = (chances * ((low <= SHARES + 1e-12) & (high >= SHARES - 1e-12))).sum(axis=0)
    assert held.min() >= SMALL_HELD
    cells = np.stack([x, named - x, 0 * x, n - named, 0 * x, 0 * x], axis=1)
    shares, sums = (cells / n - law.q) / law.gain, np.array([[1.0, 0, 0, 0, 0, 0], [1.0, 1, 1, 0, 0, 0]])
    spread = OneReport(law).covariance(shares, sums) / n
    top, bottom = shares @ sums[0], shares @ sums[1]
    errors = spread[:, 0, 0], spread[:, 1, 1], spread[:, 0, 1]
    low, high = find_fieller_ends(top, bottom, *errors, 0.025, (0.0, 1.0))
    faulty = chances * ((low[:, None] <= SHARES) & (high[:, None] >= SHARES))
    assert faulty.sum(axis=0).min() < SMALL_HELD


@pytest.mark.long
@pytest.mark.parametrize(("epsilon", "n", "row", "other"), [(8.0, 30, 0.1, 0.3), (6.0, 60, 0.05, 0.1)])
def test_differences_of_rare_secret_rows_hold(epsilon: float, n: int, row: float, other: float) -> None:
    """Of two rows: who does not name the first names the second."""
    law, x, named, chances = list_outcomes(epsilon, n, row)
    along, across = list_angles(9, Z)
    cells = read_cells(law, x, named, n)
    of_row = np.unique(named)
    inside = (law.q + law.gain * (1 - row) * other) / (3 * law.q + law.gain * (1 - row))
    held = np.zeros(SHARES.size)
    for one in of_row:
        here, rest = named == one, n - one
        y = np.arange(rest + 1)
        chance = stats.binom.pmf(y, rest, inside)
        y, chance = y[chance > 1e-6], chance[chance > 1e-6]
        first = [cells.look_at(i, 0).ends(along) for i in np.flatnonzero(here).tolist()]
        others = read_cells(law, y, np.full(y.size, rest), n)
        second = [others.look_at(i, 0).ends(across) for i in range(y.size)]
        a, b = ([np.array(ends) for ends in zip(*side, strict=True)] for side in (first, second))
        low, high = compare_ends(DIFFERENCE, (a[0][:, None], a[1][:, None]), (b[0], b[1]))
        for j, share in enumerate(SHARES):
            is_held = (low <= share - other + 1e-12) & (share - other - 1e-12 <= high)
            held[j] += chances[here, j] @ is_held @ chance
    assert held.min() >= SMALL_HELD


def read(plan: Plan, counts: list[list[int]]) -> Any:
    """The result of a plan with one question, from the counts of each known group."""
    [name] = plan.names
    groups = tuple({name: Tally(sum(one), np.array(one))} for one in counts)
    return plan.estimate(Tallies(plan.id, sum(map(sum, counts)), add_groups(groups), groups))


def test_a_group_without_reports_is_not_known_anywhere() -> None:
    plan = dn.Study({"g": ["A", "B", "C"], "x": ["u", "v"]}, epsilon=2.0, known=["g"]).plan(people=300)
    table = read(plan, [[200, 98], [0, 0], [2, 0]]).cross("x", by="g")
    assert str(table).count("not known") >= 2
    assert math.isnan(table.shares[1, 0])
    assert table.low[1].tolist() == [0.0, 0.0]
    assert table.high[1].tolist() == [1.0, 1.0]
    assert table.is_known[1].tolist() == [False, False]
    for found in (
        table.difference("A", "B"),
        table.difference("B", "A"),
        table.ratio("B", "A"),
        table.odds("A", "B"),
        table.mean("B", [0, 1]),
        table.mean_difference("A", "B", [0, 1]),
    ):
        assert str(found) == "not known"
        assert math.isinf(found.stderr)
    cells = json.loads(json.dumps(table.about()))["cells"]
    assert [cell["known"] for cell in cells[2:4]] == [False, False]
    assert cells[2]["share"] is None
    assert cells[2]["stderr"] is None
    assert table.frame("pandas")["known"].tolist()[2:4] == [False, False]
    base = table.base("B")
    assert (base.value, base.low) == (0.0, 0.0)
    assert base.high == pytest.approx(0.012221, abs=1e-4)
    assert base.stderr > 0


def test_one_report_is_not_sure() -> None:
    """One report gave "100 % (100 % to 100 %)", and its difference an error of 4 points."""
    plan = dn.Study({"g": ["A", "B"], "x": ["u", "v", "w"]}, epsilon=8.0, known=["g"]).plan(people=300)
    table = read(plan, [[1, 0, 0], [99, 100, 100]]).cross("x", by="g")
    assert table.low[0, 0] < 0.03
    assert table.high[0, 1] > 0.97
    assert table.stderr[0].min() > 0.3
    assert np.sqrt(np.diag(table.covariance)).min() > 0
    difference = table.difference("A", "B")
    assert difference.low < -0.2
    assert difference.high > 0.6
    alone = read(plan, [[1, 0, 0], [0, 0, 0]]).cross("x", by="g").base("A")
    assert (alone.low, alone.high) == pytest.approx((0.025, 1.0))


def test_rows_agree_with_single_questions() -> None:
    """A group is a study of its own: its row has the interval of its reports, and a column that of all."""
    for protocol in ("grr", "oue", "ss", "hr"):
        study = dn.Study({"g": ["A", "B"], "x": list("abcdefgh")}, 1.0, known=["g"], protocol=protocol)
        plan, rng = study.plan(people=100), np.random.default_rng(1)
        people = {"g": ["A"] * 30 + ["B"] * 70, "x": rng.choice(list("abcdefgh"), 100)}
        result = plan.estimate(plan.tally(plan.privatize(people, dn.seeded(2))))
        table = result.cross("x", by="g")
        assert result.tallies is not None
        estimate: Any = plan.mechanism.mechanisms[0].estimate(result.tallies.groups[0]["x"])
        ends = estimate.interval(0.95)
        np.testing.assert_allclose(table.low[0], ends.low.clip(0, 1), atol=1e-12)
        np.testing.assert_allclose(table.high[0], ends.high.clip(0, 1), atol=1e-12)
        np.testing.assert_allclose(table.shares[0], estimate.frequencies.clip(0, 1), atol=1e-12)
        everybody: Any = result["x"]
        whole = everybody.interval(0.95)
        totals = [table.total(column) for column in table.columns]
        np.testing.assert_allclose([one.low for one in totals], whole.low.clip(0, 1), atol=1e-12)
        np.testing.assert_allclose([one.value for one in totals], everybody.frequencies, atol=1e-12)


@pytest.mark.parametrize("protocol", ["grr", "oue"])
def test_groups_of_values_and_no_answers_are_counted(protocol: str) -> None:
    """Columns of several values, rows of several groups, people who do not answer, and turned tables."""
    asked = {"region": ["n", "s"], "arm": ["A", "B"], "age": dn.Range(0, 60), "smoker": ["yes", "no"]}
    rng, n = np.random.default_rng(3), 400
    people: dict[str, Any] = {
        "region": rng.choice(["n", "s"], n),
        "arm": ["A"] * 4 + ["B"] * (n - 4),
        "age": rng.integers(0, 60, n),
        "smoker": rng.choice(["yes", "no"], n),
    }
    cases: Any = (("refuse", ("age", "smoker")), ("value", ("smoker",)), ("refuse", ("age",)))
    for missing, names in cases:
        study = dn.Study(
            {name: asked[name] for name in ("region", "arm", *names)},
            epsilon=4.0,
            known=["region", "arm"],
            protocol=protocol,
            missing=missing,
        )
        plan, answers = study.plan(people=n), dict(people)
        if missing == "value":
            answers["smoker"] = [None if i % 3 == 0 else one for i, one in enumerate(people["smoker"])]
        answers = {name: answers[name] for name in ("region", "arm", *names)}
        result = plan.estimate(plan.tally(plan.privatize(answers, dn.seeded(4))))
        for name in names:
            table = result.cross(name, by="arm")
            assert (table.high - table.low)[0].min() > 0.2, (name, missing)
            assert (table.stderr[0] > 0.05).all()
            assert table.difference("A", "B").stderr > 0.05
            assert table.base("A").low < 0.01 < table.base("A").high
            for found in (table.difference("A", "B"), table.ratio("A", "B"), table.odds("B", "A")):
                assert found.low <= found.high
            turned = result.cross("arm", by=name)
            assert (turned.low <= turned.high).all()
            assert turned.base(turned.rows[0]).low <= turned.base(turned.rows[0]).high


def test_tables_without_counts_stay_fiellers() -> None:
    table = CrossTable.of_estimate(
        dn.oue(6, 1.0).estimate(Tally(3000, np.array([800, 500, 430, 470, 420, 380]))), "ab", "uvw"
    )
    assert table.counted.cells is None
    few = CrossTable.of_estimate(
        dn.grr(4, 2.0).estimate(Tally(100, np.array([40, 30, 20, 10]))), ["f", "m"], ["yes", "no"]
    )
    bare = replace(few, counted=Counted())
    assert few.counted.cells is not None
    np.testing.assert_allclose(bare.shares, few.shares, atol=1e-12)
    np.testing.assert_allclose(bare.low, few.low, atol=0.1)


def test_means_of_few_reports_hold() -> None:
    """Over all counts of three values; an error at the estimates, as means had it, vanishes."""
    study = dn.Study({"g": ["A", "B"], "x": ["u", "v", "w"]}, 4.0, known=["g"], protocol="grr")
    plan, law, positions = study.plan(people=300), law_of("grr", 3, 4.0), [0.0, 1.0, 2.0]
    populations = np.array([[0.98, 0.01, 0.01], [0.9, 0.1, 0.0], [1 / 3, 1 / 3, 1 / 3], [0.5, 0.0, 0.5]])
    truth, held, errors, faulty = populations @ positions, np.zeros(4), [], []
    for first in range(6):
        for second in range(6 - first):
            counts = [first, second, 5 - first - second]
            table = read(plan, [counts, [100, 100, 100]]).cross("x", by="g")
            chances = [stats.multinomial.pmf(counts, 5, law.q + law.gain * shares) for shares in populations]
            mean = table.mean("A", positions)
            held += chances * ((mean.low - 1e-9 <= truth) & (mean.high + 1e-9 >= truth))
            errors.append(mean.stderr)
            spread = GroupedReport(law, 2, 3).covariance(table.cells.ravel(), np.eye(6)) / table.n
            faulty.append(replace(table, covariance=spread).mean("A", positions).stderr)
    assert held.min() >= SMALL_HELD
    assert min(errors) > 0.1
    assert min(faulty) == 0


@pytest.mark.parametrize("sizes", [(3, 3), (5, 20)])
def test_changes_of_small_groups_hold(sizes: tuple[int, int]) -> None:
    plan = dn.Study({"g": ["A", "B"], "x": ["u", "v"]}, 4.0, known=["g"], protocol="grr").plan(people=300)
    law, held = law_of("grr", 2, 4.0), np.zeros((SHARES.size, SHARES.size))
    rounds = [[read(plan, [[x, m - x], [150, 150]]).cross("x", by="g") for x in range(m + 1)] for m in sizes]
    truth = SHARES - SHARES[:, None]
    for i, earlier in enumerate(rounds[0]):
        for j, later in enumerate(rounds[1]):
            change = later.change(earlier, "others")
            assert change.stderr[0, 0] > 0.1
            low, high = change.low[0, 0], change.high[0, 0]
            chances = np.outer(
                stats.binom.pmf(i, sizes[0], law.q + law.gain * SHARES),
                stats.binom.pmf(j, sizes[1], law.q + law.gain * SHARES),
            )
            held += chances * ((low <= truth + 1e-12) & (high >= truth - 1e-12))
    assert held.min() >= SMALL_HELD


def test_a_row_below_nobody_is_as_unsure_as_one_of_nobody() -> None:
    """Cut at 0, its interval would be from 0 to 0: it reaches as far as that of nobody."""
    low, even = (
        CrossTable.of_estimate(dn.oue(4, 1.0).estimate(Tally(400, np.array(counts))), "ab", "uv").base("a")
        for counts in ([60, 60, 190, 190], [108, 108, 150, 150])
    )
    assert low.value < -0.2, "or this test shows nothing"
    assert (low.low, even.low) == (0.0, 0.0)
    assert low.high == pytest.approx(Z * low.stderr)
    assert low.high > 0.1
    assert str(low).startswith("0, from 0 to 0.1")


def test_no_cell_is_certain_to_be_empty() -> None:
    """Far fewer reports than come by chance alone were shown as "0 % (0 % to 0 %)"."""
    secret = CrossTable.of_estimate(
        dn.grr(4, 2.0).estimate(Tally(400, np.array([200, 100, 80, 20]))), "ab", "uv"
    )
    asked = {"g": ["A", "B"], "x": list("uvwxyz")}
    plan = dn.Study(asked, epsilon=1.0, known=["g"], protocol="grr").plan(people=300)
    known = read(plan, [[70, 70, 70, 50, 37, 3], [1, 1, 1, 1, 1, 1]]).cross("x", by="g")
    for table, row, column in ((secret, 1, 1), (known, 0, 5)):
        assert table.low[row, column] == 0
        assert 0.05 < table.high[row, column] < 0.5
    full = CrossTable.of_estimate(
        dn.grr(4, 1.0).estimate(Tally(400, np.array([150, 20, 115, 115]))), "ab", "uv"
    )
    assert 0.5 < full.low[0, 0] < 0.99
    assert full.high[0, 0] == 1


def test_a_cell_that_a_search_leaves_empty_is_shown_as_empty() -> None:
    """It read "below 1 in 10^15"."""
    estimate = dn.grr(4, 2.0).estimate(Tally(400, np.array([190, 100, 80, 30])))
    likely = LikelyTable(np.array([[0.5, 0.3], [0.2, 1e-17]]), "most likely")
    table = replace(CrossTable.of_estimate(estimate, "ab", "uv"), search=lambda: likely)
    assert (table.method, table.shown[1, 1]) == ("most likely", 0.0)
    assert "1 in" not in str(table)


def test_no_study_is_rarer_than_one_among_all_that_were_simulated() -> None:
    """A study beside 999 others, none of which differs as much, is the first of 1,000: p is not 0."""

    def repeat(null: Floats, runs: int, _: np.random.Generator) -> Floats:
        return np.repeat(null[None], runs, axis=0)

    def vary(table: Floats) -> Floats:
        return np.asarray(np.diag(table.ravel()) - np.outer(table, table))

    apart = np.array([[0.5, 0.0], [0.0, 0.5]])
    found = Evidence(apart, 40, vary, repeat, lambda _: 1.0).test()
    assert found.simulated == 1 / 1000
    assert found.p >= 1 / 1000
