"""The most likely table: certified, nearer to the truth, and shown where cells are rare."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

import deniable as dn
from deniable.arrays import Floats
from deniable.likelihood.fitting import mle_tables
from deniable.mechanisms import Tally
from deniable.reports import Reports
from deniable.study import Plan
from spec.make.products import SMOKING

N = 6000
ASKED = {"m": list("abcdef"), "i": ["low", "high"], "s": ["f", "x"]}
RARE = np.array([0.5, 0.3, 0.17, 0.01, 0.01, 0.01])


def _ask(epsilon: float, seed: int, n: int = N) -> tuple[Plan, Reports, Floats]:
    """Three questions in pairs, most of whose cells are rare, and the true table of the first two."""
    study = dn.Study(ASKED, epsilon, together=list(combinations("mis", 2)), mechanism="sample")
    plan = study.plan(people=n)
    rng = np.random.default_rng(seed)
    m = rng.choice(6, n, p=RARE)
    i, s = (rng.random(n) < 0.1 + 0.1 * m).astype(int), rng.integers(0, 2, n)
    people = {name: np.array(ASKED[name])[codes] for name, codes in (("m", m), ("i", i), ("s", s))}
    truth = np.zeros((6, 2))
    np.add.at(truth, (m, i), 1 / n)
    return plan, plan.privatize(people, dn.seeded(seed)), truth


def test_the_most_likely_table_is_certified_possible_and_nearer_to_the_truth() -> None:
    errors = []
    for seed in range(3):
        plan, reports, truth = _ask(1.0, seed, 3000)
        assert len(plan.names) > 2
        found = plan.mle_cross(reports, "i", by="m", tolerance=1e-8)
        table = plan.cross(reports, "i", by="m")
        assert (found.method, found.cells.shape) == ("most likely", (6, 2))
        assert found.gap is not None
        assert found.gap <= 1e-8
        assert (found.cells >= 0).all()
        assert found.cells.sum() == pytest.approx(1.0, abs=1e-9)
        errors.append([float(((one - truth) ** 2).mean()) for one in (found.cells, table.cells)])
    likely, linear = np.mean(errors, axis=0)
    assert likely < 0.8 * linear


def test_certified_shares_of_merged_cells_are_those_of_one_table() -> None:
    """Where one source tells all, a second that tells nothing changes nothing; its values are merged."""
    tally = Tally(1000, np.array([400, 100, 300, 200]))
    alone = dn.mle(dn.grr(4, 1.0), tally)
    nothing = Tally(1000, np.array([500, 500]))
    both = mle_tables(
        [(dn.grr(4, 1.0), tally, np.arange(4)), (dn.grr(2, 1e-6), nothing, np.array([0, 0, 1, 1]))]
    )
    np.testing.assert_allclose(both.frequencies, alone.frequencies, atol=1e-5)
    assert both.certified
    with pytest.raises(dn.InvalidParameter, match="need their reports"):
        mle_tables([(dn.oue(4, 1.0), tally, np.arange(4))])
    with pytest.raises(dn.InvalidParameter, match="at least one part"):
        mle_tables([])


def test_rare_cells_show_the_most_likely_table() -> None:
    plan, reports, _ = _ask(3.0, 3, 1500)
    tallies = plan.tally(reports)
    table = plan.estimate(tallies).cross("i", by="m")
    assert (table.cells < 0).any()
    assert table.method == "most likely"
    assert table.likely().gap is not None
    assert (table.likely().cells >= 0).all()
    assert ((table.shown >= table.low) & (table.shown <= table.high)).all()
    assert table.frame("pandas")["shown"].tolist() == table.shown.ravel().tolist()
    assert table.about()["note"] in str(table)
    assert "estimated below 0" in str(table)
    turned = plan.mle_cross(tallies, "m", by="i")
    np.testing.assert_allclose(turned.cells.T, table.likely().cells, atol=1e-4)
    # what is tested and summed stays as it is
    assert table.test().statistic == replace(table, search=None).test().statistic
    assert table.base("a") == replace(table, search=None).base("a")


def test_counts_of_support_show_the_nearest_possible_table() -> None:
    plan, reports, _ = _ask(1.0, 3)
    assert not all(part.names_value for part in plan.mechanism.mechanisms)
    table = plan.estimate(plan.tally(reports)).cross("i", by="m")
    assert (table.cells < 0).any()
    assert (table.method, table.likely().gap) == ("projected", None)
    assert table.likely().cells.sum() == pytest.approx(1.0)


def test_possible_tables_are_shown_as_they_are() -> None:
    plan = replace(SMOKING, epsilon=6.0).plan(people=N)
    rng = np.random.default_rng(1)
    people = {
        "age": rng.integers(18, 78, N),
        "smoker": rng.choice(["yes", "no"], N),
        "sex": rng.choice(["f", "m"], N),
        "mood": rng.integers(1, 6, N),
    }
    result = plan.estimate(plan.tally(plan.privatize(people, dn.seeded(1))))
    table = result.cross("smoker", by="age")
    assert table.method == "unbiased"
    np.testing.assert_array_equal(table.shown, table.shares)
    assert table.about()["note"] == ""


def test_no_answer_is_no_cell_of_the_most_likely_table() -> None:
    plan = replace(SMOKING, epsilon=4.0, missing="value").plan(people=N)
    rng = np.random.default_rng(2)
    people = {
        "age": rng.integers(18, 78, N),
        "smoker": [None if i % 4 == 0 else "yes" for i in range(N)],
        "sex": rng.choice(["f", "m"], N),
        "mood": rng.integers(1, 6, N),
    }
    reports = plan.privatize(people, dn.seeded(1))
    found = plan.mle_cross(reports, "smoker", by="age")
    assert found.cells.sum() == pytest.approx(0.75, abs=0.1)
    assert (found.cells >= 0).all()


def test_what_has_no_most_likely_table_is_refused() -> None:
    plan, reports, _ = _ask(1.0, 1, 600)
    with pytest.raises(dn.InvalidParameter, match="is not a question"):
        plan.mle_cross(reports, "town", by="m")
    faked = replace(SMOKING, mechanism="faked").plan(people=100)
    with pytest.raises(dn.InvalidParameter, match="reports with fakes"):
        faked.mle_cross(reports, "smoker", by="age")
    with pytest.raises(dn.InvalidParameter, match="no report holds both 'mood' and 'age'"):
        SMOKING.plan(people=100).mle_cross([], "mood", by="age")
    trial = dn.Study({"arm": ["A", "B"], "smoker": ["yes", "no"]}, epsilon=1.0, known=["arm"])
    with pytest.raises(dn.InvalidParameter, match=r"'arm' is known.*plan.cross\(.*\).likely\(\)"):
        trial.plan(people=100).mle_cross([], "smoker", by="arm")
