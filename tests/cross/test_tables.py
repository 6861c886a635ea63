"""Tables of two answers: exact in small cases, intervals and tests that hold, and faults that are found."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest
from scipy.special import chdtrc, chdtri, chndtr

import deniable as dn
from deniable.arrays import Floats, Integers
from deniable.cross import CrossTable, Side
from deniable.cross.independence import Test, find_dependence, find_power
from deniable.cross.source import Source, agree
from deniable.cross.spread import OneReport, TwoReports
from deniable.law import Law
from deniable.mechanisms import Mechanism, Tally, grr
from deniable.summaries.ratios import find_fieller_ends
from tests import statistics
from tests.cases import by_night

AGES = np.array([0.15, 0.20, 0.25, 0.25, 0.15])
SHARES = np.array([[s, 1 - s] for s in (0.25, 0.30, 0.22, 0.15, 0.08)])
SMOKERS = AGES[:, None] * SHARES


@pytest.mark.parametrize("name", ["grr", "ss", "oue", "sue", "hr"])
def test_covariances_are_those_of_all_reports(name: str) -> None:
    """Each report that a person can make, with its probability, against the closed form."""
    f, law = np.array([0.4, 0.25, 0.2, 0.15]), getattr(dn.mechanisms, name)(4, 1.0).law
    supports, likelihoods = _list_reports(name, 4)
    added = (supports - law.q) / law.gain
    added -= (added.sum(axis=1, keepdims=True) - 1) / 4
    chances = likelihoods @ f
    np.testing.assert_allclose(chances @ added, f, atol=1e-12)
    exact = (added * chances[:, None]).T @ added - np.outer(f, f)
    np.testing.assert_allclose(OneReport(law).covariance(f, np.eye(4)), exact, atol=1e-9)
    sums = np.array([[1.0, 1.0, 0.0, 0.0], [0.5, -1.0, 0.0, 2.0]])
    np.testing.assert_allclose(OneReport(law).covariance(f, sums), sums @ exact @ sums.T, atol=1e-9)


@pytest.mark.parametrize("name", ["grr", "oue", "hr"])
def test_covariances_of_two_reports_are_those_of_all_pairs(name: str) -> None:
    f = np.array([[0.3, 0.1, 0.05], [0.15, 0.25, 0.15]])
    laws = [getattr(dn.mechanisms, name)(k, 1.0).law for k in f.shape]
    found = [_list_reports(name, k) for k in f.shape]
    added = [(supports - law.q) / law.gain for (supports, _), law in zip(found, laws, strict=True)]
    mean, square = np.zeros(6), np.zeros((6, 6))
    for i, j in product(*(range(len(supports)) for supports, _ in found)):
        chance = float(found[0][1][i] @ f @ found[1][1][j])
        both = np.outer(added[0][i], added[1][j]).ravel()
        both -= (both.sum() - 1) / 6
        mean += chance * both
        square += chance * np.outer(both, both)
    np.testing.assert_allclose(mean, f.ravel(), atol=1e-12)
    exact = square - np.outer(f, f)
    np.testing.assert_allclose(TwoReports(*laws).covariance(f.ravel(), np.eye(6)), exact, atol=1e-9)


def _list_reports(name: str, k: int) -> tuple[Floats, Floats]:
    """What every report supports, and how likely it is for each value."""
    mechanism = getattr(dn.mechanisms, name)(k, 1.0)
    made = mechanism.privatize(np.arange(20_000) % k, dn.seeded(3))
    _, first = np.unique(made.view(np.uint8).reshape(len(made), -1), axis=0, return_index=True)
    supports = mechanism.support(made[first])
    if name == "hr":  # all reports are alike
        chances = np.where(supports, mechanism.law.p, 1 - mechanism.law.p) / (len(supports) / 2)
    else:
        logs = [mechanism.law.log_likelihood(int(one.sum())) for one in supports]
        chances = np.exp([np.where(one, *both) for one, both in zip(supports, logs, strict=True)])
    np.testing.assert_allclose(chances.sum(axis=0), 1.0, atol=1e-12)  # so that none is missing
    return supports.astype(float), chances


def _read(mechanism: Mechanism, counts: Integers, n: int, shape: tuple[int, int]) -> CrossTable:
    rows, columns = (list(map(str, range(size))) for size in shape)
    estimate = mechanism.estimate(Tally(n, counts))
    assert isinstance(estimate, dn.Estimate)
    return CrossTable.of_estimate(estimate, rows, columns)


def test_pairs_of_hadamard_rows_are_not_alike() -> None:
    """The planted fault: with exchangeable pairs the error of a sum is 16 % too small."""
    everybody = np.eye(16)[2]
    law = dn.hr(16, 1.0).law
    joint = law.pairs.joint(everybody)
    supported = law.q + law.gain * everybody
    found = float(((joint - np.outer(supported, supported)) / law.gain**2)[:2, :2].sum())
    assert found == pytest.approx(13.693296, abs=1e-6)
    off = joint[~np.eye(16, dtype=bool)].mean()
    alike = np.where(np.eye(16, dtype=bool), joint, off)
    wrong = float(((alike - np.outer(supported, supported)) / law.gain**2)[:2, :2].sum())
    assert wrong < 0.8 * found


def test_what_is_not_known_is_said() -> None:
    table = _read(dn.grr(4, 0.1), np.array([26, 25, 24, 25]), 100, (2, 2))
    assert not table.is_known.any()
    assert "not known" in str(table)
    assert table.frame("pandas")["known"].tolist() == [False] * 4
    assert np.array_equal(table.low, np.zeros((2, 2)))
    assert table.at(0.5).level == 0.5
    nobody = _read(dn.grr(4, 1.0), np.array([10, 10, 40, 40]), 100, (2, 2))
    assert nobody.cells[0].sum() < 0
    assert str(nobody.ratio("1", "0")) == str(nobody.odds("1", "0")) == "not known"
    assert str(nobody.difference("0", "1")) == "not known"


@pytest.mark.parametrize("name", ["grr", "ss", "oue", "sue", "hr"])
def test_a_cell_that_no_report_supports_has_an_error(name: str) -> None:
    """Its variance at the estimate is 0, or less: a page that is looked at early would fail, or be sure."""
    mechanism = getattr(dn.mechanisms, name)(6, 4.0)
    counts = np.array([9, 7, 8, 6, 0, 5])
    table = CrossTable.of_estimate(mechanism.estimate(Tally(35, counts)), ["a", "b", "c"], ["yes", "no"])
    errors = [row["cell_stderr"] for row in table.records()]
    assert min(errors) > 0.01
    assert max(errors) < 1
    assert len(table.about()["cells"]) == 6


def test_positions_and_names_are_checked() -> None:
    table = _read(dn.grr(4, 2.0), np.array([400, 300, 200, 100]), 1000, (2, 2))
    with pytest.raises(dn.InvalidParameter, match="'3' is not an answer to 'rows' in this table"):
        table.ratio("0", "3")
    with pytest.raises(dn.InvalidParameter, match="the positions of 'columns' are 2 numbers"):
        table.trend(columns=[1.0, 2.0, 3.0])
    with pytest.raises(dn.InvalidParameter, match="two positions of 'rows' that differ, got 3 for each"):
        table.trend(rows=[3.0, 3.0])
    with pytest.raises(dn.InvalidParameter, match="a table of 2 rows and 3 columns has 6 cells"):
        CrossTable.of_estimate(dn.grr(4, 2.0).estimate(Tally(4, np.ones(4, dtype=int))), "ab", "abc")


def test_a_share_that_is_plainly_zero_is_known() -> None:
    """Where all of Fieller's set is below 0 or above 1, the interval is around 0 or 1, and holds it."""
    tops, bottoms = np.array([-0.05, 0.45, 0.2, 0.05]), np.array([0.4, 0.4, 0.4, -0.2])
    variance, none = np.full(4, 1e-4), np.zeros(4)
    low, high = find_fieller_ends(tops, bottoms, variance, variance, none, 0.025, (0.0, 1.0))
    np.testing.assert_allclose(low, [0.0, low[1], low[2], 0.0])
    np.testing.assert_allclose(high, [high[0], 1.0, high[2], 1.0])
    assert 0 < high[0] < 0.06
    assert 0.9 < low[1] < 1
    assert 0.4 < low[2] < 0.5 < high[2] < 0.6
    # nobody is seen in the last row: nothing is known
    estimate = dn.grr(4, 2.0).estimate(dn.Tally(10_000, np.array([4700, 700, 2300, 2300])))
    table = CrossTable.of_estimate(estimate, ["f", "m"], ["yes", "no"])
    assert table.cells[0, 1] < 0
    assert table.shown[0].tolist() == [1.0, 0.0]
    assert "0 % (0 % to 1.4" in str(table)


def test_a_ratio_without_an_upper_end_says_so() -> None:
    estimate = dn.grr(4, 1.0).estimate(dn.Tally(200, np.array([70, 40, 42, 48])))
    table = CrossTable.of_estimate(estimate, ["f", "m"], ["yes", "no"])
    ratio = table.ratio("f", "m")
    assert math.isinf(ratio.high)
    assert "with no upper limit" in str(ratio)


POINTS = (5.0, 15.0, 25.0)
CELLS = np.array([[0.05, 0.07, 0.08], [0.4, 0.25, 0.15]])
TRUE = CELLS @ POINTS / CELLS.sum(axis=1)
STUDIES = 600
"""Studies of each interval, of which 94 % must hold: 89.5 % may then pass, and 85 % is found out but for
1 in 500.
"""


def read(counts: np.ndarray[tuple[int, ...], np.dtype[np.int64]], level: float = 0.95) -> CrossTable:
    estimate = dn.grr(6, 2.0).estimate(Tally(int(counts.sum()), counts))
    table = CrossTable.of_estimate(estimate, ["f", "m"], ["a", "b", "c"], level)
    return replace(table, of=Side("wait", table.columns, POINTS, "", 5.0))


def draw(n: int, studies: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    law = dn.grr(6, 2.0).law
    return np.random.default_rng(3).multinomial(n, law.q + law.gain * CELLS.ravel(), size=studies)


@by_night("n", [1000, 20_000], 20_000)
def test_intervals_of_means_hold(n: int) -> None:
    held = np.zeros(3, dtype=int)
    for counts in draw(n, STUDIES):
        table = read(counts)
        found = [table.mean("f"), table.mean("m"), table.mean_difference("f", "m")]
        held += [
            one.low <= true <= one.high for one, true in zip(found, (*TRUE, TRUE[0] - TRUE[1]), strict=True)
        ]
    for count, what in zip(held.tolist(), ("f", "m", "their difference"), strict=True):
        statistics.at_least(count, STUDIES, 0.94, f"the mean of {what}, {n} reports")


def test_half_the_error_is_found_out() -> None:
    held = 0
    for counts in draw(20_000, STUDIES):
        found = read(counts).mean_difference("f", "m")
        held += abs(found.value - (TRUE[0] - TRUE[1])) <= 0.98 * found.stderr
    with pytest.raises(AssertionError):
        statistics.at_least(held, STUDIES, 0.94, "a difference with half its error")


def test_bins_are_stated_and_what_has_no_mean_is_refused() -> None:
    table = read(
        np.rint(10**6 * (dn.grr(6, 2.0).law.q + dn.grr(6, 2.0).law.gain * CELLS.ravel())).astype(int)
    )
    assert table.mean("f").value == pytest.approx(TRUE[0], abs=0.01)
    assert table.mean("f").within == 5.0
    assert table.mean_difference("f", "m").within == 10.0
    assert "mean of f: 16.5" in str(table)
    assert str(table.difference("f", "m", "b")).startswith("b: +3.8 points, from ")
    plain = replace(table, of=Side("wait", table.columns))
    with pytest.raises(dn.InvalidParameter, match="'wait' has no mean: its answers are no numbers; give"):
        plain.mean("f")
    assert plain.mean("f", POINTS).within == 0.0
    assert "mean of" not in str(plain)


def test_an_open_end_has_no_mean() -> None:
    study = dn.Study(
        {"wait": dn.Range(0, 60, step=15, open_high=True), "sex": ["f", "m"]},
        epsilon=2.0,
        together=[("wait", "sex")],
    )
    plan = study.plan(people=1000)
    answers = {"wait": [5, 20, 50, 80] * 250, "sex": ["f", "m"] * 500}
    table = plan.estimate(plan.tally(plan.privatize(answers, dn.seeded(1)))).cross("wait", by="sex")
    with pytest.raises(dn.InvalidParameter, match="an end is open"):
        table.mean("f")


EVEN = np.outer([0.15, 0.2, 0.25, 0.25, 0.15], [0.3, 0.7])


def table(n: int, shares: Floats = EVEN) -> CrossTable:
    """As many reports of each kind as are expected; of independent answers, unless others are given."""
    mechanism = grr(10, 1.0)
    counts = np.rint(n * (mechanism.law.q + mechanism.law.gain * shares.ravel())).astype(np.int64)
    rows, columns = list("abcde"), ["yes", "no"]
    return CrossTable.of_estimate(mechanism.estimate(Tally(int(counts.sum()), counts)), rows, columns)


def test_the_stated_difference_is_found_in_four_studies_of_five() -> None:
    """Of the row and column in which it is hardest to find; elsewhere more often."""
    found = table(50_000)
    test = found.test()
    powers = []
    for a in range(5):
        for b in range(2):
            moved = EVEN.copy()
            moved[a, b] += test.detectable * EVEN[a].sum()
            moved[a, 1 - b] -= test.detectable * EVEN[a].sum()
            effect, degrees = find_dependence(moved, found.spread)
            powers.append(find_power(effect, degrees, found.n))
    assert min(powers) == pytest.approx(0.8, abs=0.05)
    assert max(powers) > 0.9


NOT_TOLD = "this study could not tell whether"


@pytest.mark.parametrize(
    ("test", "sentence"),
    [
        (Test(100.0, 4, 1000, detectable=0.1), "the answers depend on each other (p < 0.001)"),
        (
            Test(50.0, 1, 1000, "trend", 0.1, "x rises from a to c"),
            "there is a trend (p < 0.001): x rises from a to c",
        ),
        (
            Test(1.0, 4, 1000, detectable=0.2467),
            f"{NOT_TOLD} the answers depend on each other (p = 0.910): differences below 25 points are often "
            "missed here",
        ),
        (
            Test(1.0, 4, 1000, "change", 0.0312, fewest=400),
            f"{NOT_TOLD} the answers changed (p = 0.910): changes below 3.1 points are often missed here",
        ),
        (
            Test(1.0, 1, 1000, "trend", 0.4),
            f"{NOT_TOLD} there is a trend (p = 0.317): trends below 40 % of the strongest possible one are "
            "often missed here",
        ),
        (
            Test(1.0, 1, 1000, "trend", 1.2),
            f"{NOT_TOLD} there is a trend (p = 0.317): even the strongest trend is often missed here",
        ),
        (
            Test(1.0, 4, 1000, detectable=1.0),
            f"{NOT_TOLD} the answers depend on each other (p = 0.910): its smallest row has so few reports "
            "that even the largest differences there are often missed",
        ),
        (
            Test(0.0, 0, 1000),
            f"{NOT_TOLD} the answers depend on each other: all reports are of one row or column",
        ),
    ],
)
def test_a_test_that_finds_nothing_says_what_it_misses(test: Test, sentence: str) -> None:
    assert test.sentence == test.about()["sentence"] == sentence
    assert str(test).startswith(sentence)
    assert str(test).endswith(" of freedom") == (test.degrees > 0)


def test_the_stated_change_is_found_in_four_studies_of_five() -> None:
    """By the power of the test itself, where the share that is hardest to see moves this much."""
    before = table(50_000)
    missed = before.change(before, "others").test().detectable
    powers = []
    for a in range(5):
        moved = EVEN.copy()
        moved[a] += missed * EVEN[a].sum() * np.array([1.0, -1.0])
        test = table(50_000, moved).change(before, "others").test()
        assert test.degrees == 9
        powers.append(1 - float(chndtr(chdtri(9, 0.05), 9, test.statistic)))
    assert min(powers) == pytest.approx(0.8, abs=0.05)
    assert max(powers) > 0.85


def test_a_trend_says_where_it_goes() -> None:
    rows = np.array([0.2, 0.25, 0.3, 0.35, 0.4])
    rising = table(10**6, 0.2 * np.column_stack([1 - rows, rows]))
    falling = table(10**6, 0.2 * np.column_stack([rows, 1 - rows]))
    assert rising.trend().direction == "columns moves toward no from a to e"
    assert falling.trend().direction == "columns moves toward yes from a to e"
    assert falling.trend(columns=[0, 10]).direction == "columns falls from a to e"
    assert falling.trend(rows=[5, 4, 3, 2, 1], columns=[0, 10]).direction == "columns rises from e to a"


F = np.array([[0.30, 0.10, 0.05], [0.15, 0.25, 0.15]])


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
