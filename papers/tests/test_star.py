"""Simulated people: their tables with the target are those that were estimated, and nothing else is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from tests import statistics
from tests.cross.test_beside import SKIPS, draw

import deniable as dn
from deniable.arrays import Floats
from deniable.cross import CrossTable, Side
from deniable.study.result import Result
from deniable_papers.people import Star, simulate_people
from deniable_papers.people.star import project_shares, rake

ASKED = {"a": ["0", "1"], "b": ["x", "y", "z"], "c": ["u", "v"]}
STUDY = dn.Study(ASKED, epsilon=4.0, target="c")
N = 200_000


def ask(study: dn.Study = STUDY, n: int = 20_000) -> Result:
    """People whose a and b depend on c, and on each other given c."""
    rng = np.random.default_rng(1)
    c = rng.random(n) < 0.3
    a = rng.random(n) < np.where(c, 0.8, 0.3)
    b = np.where(a, 2, rng.integers(0, 3, n))
    people = {name: np.array(ASKED[name])[one.astype(int)] for name, one in (("a", a), ("b", b), ("c", c))}
    plan = study.plan(people=n)
    words = dn.remembering(1, round=1) if plan.mechanism.repeated else dn.seeded(1)
    return plan.estimate(plan.tally(plan.privatize(people, words)))


def count(people: Mapping[str, npt.NDArray[np.str_]], of: str, by: str) -> Floats:
    pairs = [[np.mean((people[by] == r) & (people[of] == c)) for c in ASKED[of]] for r in ASKED[by]]
    return np.array(pairs)


def judge(found: Floats, expected: Floats) -> None:
    """Shares of N simulated people."""
    for one, other in zip(found.ravel().tolist(), expected.ravel().tolist(), strict=True):
        statistics.deviation(one, other, (other * (1 - other) / N) ** 0.5, "a share of simulated people")


def test_pairs_with_the_target_are_the_tables() -> None:
    result = ask()
    with pytest.warns(dn.DeniableWarning, match="simulated people have no error bars"):
        people = simulate_people(result, N, "c", seed=3)
    for name in ("a", "b"):
        judge(count(people, name, "c"), result.cross(name, by="c").cells)
    # the planted fault: the tables without their dependence are not what is drawn
    table = result.cross("a", by="c").cells
    with pytest.raises(AssertionError):
        judge(count(people, "a", "c"), np.outer(table.sum(axis=1), table.sum(axis=0)))


def test_other_answers_are_independent_given_the_target() -> None:
    star = Star.of([ask().cross(name, by="c") for name in ("a", "b")])
    people = star.draw(N, np.random.default_rng(4))
    (_, _, a), (_, _, b) = star.others
    expected = np.einsum("t,ti,tj->ij", star.shares, a, b)
    judge(count(people, "b", "a"), expected)


def test_the_target_has_the_same_shares_in_all_tables() -> None:
    """Also where estimates are impossible: at a small epsilon cells are below 0."""
    result = ask(dn.Study(ASKED, epsilon=0.2, target="c"), 500)
    tables = [result.cross(name, by="c") for name in ("a", "b")]
    assert min(table.cells.min() for table in tables) < 0
    star = Star.of(tables)
    assert star.shares.sum() == pytest.approx(1.0)
    for _, _, shares in star.others:
        np.testing.assert_allclose(shares.sum(axis=1), 1.0)
        assert shares.min() >= 0


def test_noise_is_drawn_toward_independence() -> None:
    """Of few people, dependence errs less than in tables that are only projected; of many, it stays."""
    errors = []
    for seed in range(20):
        star, tables, truth = draw_tables(2000, seed)
        for (_, _, shares), table, true in zip(star.others, tables, truth, strict=True):
            projected = project_shares(table.cells.ravel()).reshape(table.cells.shape)
            found = [star.shares[:, None] * shares, projected]
            errors.append([abs(depart(one) - depart(true)).sum() for one in found])
    ours, raw = np.mean(errors, axis=0)
    assert ours < 0.8 * raw
    star, tables, _ = draw_tables(10**7, 1)
    for (_, _, shares), table in zip(star.others, tables, strict=True):
        np.testing.assert_allclose(star.shares[:, None] * shares, table.cells, atol=1e-3)


def depart(cells: Floats) -> Floats:
    return cells - np.outer(cells.sum(axis=1), cells.sum(axis=0))


def draw_tables(n: int, seed: int) -> tuple[Star, list[CrossTable], list[Floats]]:
    """Two tables of a target, of 8 columns each, some rare."""
    rng = np.random.default_rng(seed)
    target, tables, truths = np.array([0.7, 0.3]), [], []
    for name in ("a", "b"):
        margin = rng.dirichlet(np.full(8, 0.7))
        tilted = margin * rng.lognormal(0.0, 0.5, 8)
        given = np.stack([margin, tilted / tilted.sum()])
        truth = target[:, None] * given
        mechanism = dn.grr(16, 2.0)
        law = mechanism.law
        counts = rng.multinomial(n, law.q + law.gain * truth.ravel())
        found = CrossTable.of_estimate(mechanism.estimate(dn.Tally(n, counts)), ["0", "1"], list("abcdefgh"))
        tables.append(replace(found, of=Side(name, found.columns)))
        truths.append(truth)
    return Star.of(tables), tables, truths


def test_raking_keeps_margins_and_odds() -> None:
    cells = np.array([[0.3, 0.1], [0.2, 0.4]])
    found = rake(cells, np.array([0.5, 0.5]), np.array([0.6, 0.4]))
    np.testing.assert_allclose(found.sum(axis=1), 0.5)
    np.testing.assert_allclose(found.sum(axis=0), [0.6, 0.4])
    assert found[0, 0] * found[1, 1] / (found[0, 1] * found[1, 0]) == pytest.approx(6.0)
    empty = rake(np.array([[0.0, 0.0], [0.5, 0.5]]), np.array([0.1, 0.9]), np.array([0.5, 0.5]))
    np.testing.assert_allclose(empty.sum(axis=1), [0.1, 0.9])
    gone = rake(cells, np.array([0.0, 1.0]), np.array([0.6, 0.4]))
    np.testing.assert_allclose(gone, [[0.0, 0.0], [0.6, 0.4]])


def test_few_reports_are_enough_to_simulate() -> None:
    """Estimates far below 0 once had a covariance that is none."""
    asked = {"job": [str(i) for i in range(8)], "town": [str(i) for i in range(14)], "sex": ["f", "m"]}
    study = dn.Study(asked, epsilon=2.0, target="job", missing="value")
    plan, generator = study.plan(people=1000), np.random.default_rng(3)
    for n in (20, 40, 150):
        answers = {
            name: [values[i] for i in generator.integers(0, len(values), n)] for name, values in asked.items()
        }
        result = plan.estimate(plan.tally(plan.privatize(answers, dn.seeded(n))))
        with pytest.warns(dn.DeniableWarning):
            people = simulate_people(result, 30, target="job")
        assert set(people) == set(asked)


@pytest.mark.parametrize("protocol", ["faked", "sample", "kept"])
def test_without_a_target_each_answer_has_its_own_shares(protocol: str) -> None:
    """RS+FD, SMP and ALLOMFREE: nothing is drawn but the shares of each question."""
    studies = {
        "faked": dn.Study(ASKED, epsilon=4.0, mechanism="faked", protocol="ss"),
        "sample": dn.Study(ASKED, epsilon=4.0, mechanism="sample"),
        "kept": dn.Study(ASKED, epsilon_first=2.0, epsilon_forever=4.0, rounds=2, mechanism="sample"),
    }
    result = ask(studies[protocol])
    with pytest.warns(dn.DeniableWarning, match="answers that do not depend on each other"):
        people = simulate_people(result, N, seed=3)
    assert set(people) == set(ASKED)
    shares = {name: result[name].project("norm-sub") for name in ASKED}
    for of, by in (("b", "a"), ("b", "c"), ("a", "c")):
        judge(count(people, of, by), np.outer(shares[by], shares[of]))


def test_people_are_refused_without_tables_of_the_target() -> None:
    plan = dn.Study({"mean": dn.Number(0, 10), "a": ["0", "1"]}, epsilon=4.0).plan(people=100)
    answers = {"mean": [1.0, 9.0] * 50, "a": ["0", "1"] * 50}
    with pytest.raises(dn.InvalidParameter, match="'mean' has no shares of one question's answers"):
        simulate_people(plan.estimate(plan.tally(plan.privatize(answers, dn.seeded(1)))), 10)
    result = ask()
    with pytest.raises(dn.InvalidParameter, match="of tables name the target"):
        simulate_people(result, 10)
    with pytest.raises(dn.InvalidParameter, match="no report holds 'a' together with 'b'"):
        simulate_people(ask(dn.Study(ASKED, epsilon=1.0, together=[("a", "c")])), 10, "a")
    with pytest.raises(dn.InvalidParameter, match="'d' is not a question"):
        simulate_people(result, 10, "d")


def test_simulated_people_are_like_those_who_answered() -> None:
    """With tables projected to a total of one, 34 % had the target's rare answer."""
    asked = {"level": ["hi", "lo"], "other": ["u", "v"]}
    study = dn.Study(asked, epsilon=6.0, target="level", missing="value", protocol="grr")
    plan = study.plan(people=1000)
    cells = np.array([[0.08, 0.02], [0.27, 0.63]])
    [one] = plan.document.attributes
    shares = np.append((cells if one.columns[0] == "level" else cells.T) * (1 - SKIPS), SKIPS)
    result = draw(plan, {one.name: shares}, 1_000_000, np.random.default_rng(4))
    table = result.cross("other", by="level")
    star = Star.of([table])
    np.testing.assert_allclose(star.shares, table.cells.sum(axis=1) / table.cells.sum())
    # drawn toward independence by the noise of a million reports
    np.testing.assert_allclose(star.others[0][2], table.shares, atol=1e-4)
    assert star.shares[0] == pytest.approx(0.1, abs=0.01)  # above five standard errors
