"""Tables of two rounds: vector 10 of the specification, intervals that hold, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import deniable as dn
from deniable.arrays import Floats, Integers
from deniable.cross import CrossTable
from deniable.cross.table import TableChange
from deniable.mechanisms import Tally
from deniable.reports import Reports
from deniable.study import Plan
from tests.statistics import (
    CHANGED_HELD,
    CHANGED_PEOPLE,
    CHANGED_STUDIES,
    LINKED_ERROR,
    LINKED_PEOPLE,
    deviation,
    spread,
)

F1 = np.array([0.4, 0.3, 0.2, 0.1])
MOVES = 0.9 * np.diag(F1) + 0.1 * np.outer(F1, np.full(4, 0.25))
"""Who moves from one value to another, of vector 10."""
OTHER, SAME, FIXED, KEPT = 4.586613, 4.154613, 4.109838, 0.336863
AGAIN = dn.Study(
    {"sex": ["f", "m"], "smoker": ["yes", "no"], "mood": ["good", "bad"]},
    epsilon_first=2.0,
    epsilon_forever=3.0,
    rounds=3,
    together=[("sex", "smoker")],
    mechanism="sample",
)


def _table(shares: Floats, n: int) -> CrossTable:
    law = dn.grr(4, 1.0).law
    estimate = dn.grr(4, 1.0).estimate(Tally(n, np.round(n * (law.q + law.gain * shares)).astype(int)))
    return CrossTable.of_estimate(estimate, ["f", "m"], ["yes", "no"])


def test_variances_of_rounds_are_those_of_the_vector() -> None:
    n = 10**9
    earlier, later = _table(F1, n), _table(MOVES.sum(axis=0), n)
    found = {
        people: n * later.change(earlier, people).cells.stderr[0, 0] ** 2 for people in ("others", "same")
    }
    assert found["others"] == pytest.approx(OTHER, abs=1e-5)
    assert found["same"] == pytest.approx(FIXED, abs=1e-5)
    leave, gain = MOVES[0, 1:].sum(), MOVES[1:, 0].sum()
    assert found["same"] + leave + gain - (gain - leave) ** 2 == pytest.approx(SAME, abs=1e-5)
    # at worst, who was drawn errs twice; of a mechanism that nobody knows, noise may be, too
    drawn = [f * (1 - f) for f in (F1[0], MOVES.sum(axis=0)[0])]
    known, unknown = (
        n
        * replace(later, repeats=how).change(replace(earlier, repeats=how), "population").cells.stderr[0, 0]
        ** 2
        for how in ("apart", None)
    )
    assert known == pytest.approx(OTHER + 2 * np.sqrt(drawn[0] * drawn[1]), abs=1e-5)
    assert unknown == pytest.approx(2 * OTHER, rel=1e-3)


@pytest.mark.parametrize(("kept", "expected"), [(True, KEPT), (False, SAME)])
def test_linked_rounds_err_as_the_vector_says(kept: bool, expected: float) -> None:
    """The paired variance, of a plan whose part is the vector's mechanism; taken as fresh, kept noise would
    seem to err twelve times as much.
    """
    rng, n = np.random.default_rng(4), LINKED_PEOPLE
    values = rng.choice(16, n, p=MOVES.ravel())
    before, after = values // 4, values % 4
    asked = {"sex": ["f", "m"], "smoker": ["yes", "no"]}
    plan = dn.Study(asked, 1.0, together=[("sex", "smoker")]).plan(people=n)
    assert plan.mechanism.mechanisms == (dn.grr(4, 1.0),)
    stays = before == after
    reports = _report(plan, before, stays, kept, 0), _report(plan, after, stays, kept, 1)
    change = plan.compare_rounds(*reports).cross("smoker", by="sex")
    found = n * change.cells.stderr[0, 0] ** 2
    deviation(found, expected, LINKED_ERROR * expected, "the paired variance")
    assert change.people == "linked"
    truth = (np.bincount(after, minlength=4) - np.bincount(before, minlength=4)) / n
    assert np.abs(change.cells.difference.ravel() - truth).max() < 6 * change.cells.stderr.max()


def _report(plan: Plan, values: Integers, stays: Integers, kept: bool, round_: int) -> Reports:
    """Reports by the vector's mechanism: an answer that is kept for each value, and sent as it is."""
    people = {"sex": np.array(["f", "m"])[values // 2], "smoker": np.array(["yes", "no"])[values % 2]}
    fresh = plan.privatize(people, dn.seeded(10 + round_))
    if not kept or round_ == 0:
        return fresh
    first = plan.privatize(people, dn.seeded(10))
    # who stays has the same value in both rounds, so that the same words give the same answer
    column = np.where(stays, first.records.columns[0], fresh.records.columns[0])
    return Reports(plan.id, replace(fresh.records, columns=(column,)))


def _rounds(plan: Plan, seed: int, n: int) -> tuple[tuple[Reports, Reports], float]:
    """Two rounds of the same people, of whom a tenth takes the other answer.

    The true change is of those women who report the table.
    """
    rng = np.random.default_rng(seed)
    sex, moves = rng.choice(["f", "m"], n), rng.random(n) < 0.1
    one = np.where(rng.random(n) < 0.3, "yes", "no")
    two = np.where(moves, np.where(one == "yes", "no", "yes"), one)
    mood = rng.choice(["good", "bad"], n)

    def ask(smoker: object, number: int) -> Reports:
        people = {"sex": sex, "smoker": smoker, "mood": mood}
        return plan.privatize(people, dn.remembering(seed, round=number))

    rounds = ask(one, 1), ask(two, 2)
    who = rounds[0].records.reporters
    assert who is not None
    women = who[0][sex[who[0]] == "f"]
    return rounds, float((two[women] == "yes").mean() - (one[women] == "yes").mean())


@pytest.mark.long
def test_intervals_of_linked_rounds_hold_and_are_the_narrowest() -> None:
    """About all who could have been asked, whose shares change by 0.1 * (0.7 - 0.3)."""
    plan = AGAIN.plan(people=CHANGED_PEOPLE)
    held, widths = [], []
    for seed in range(CHANGED_STUDIES):
        rounds, among = _rounds(plan, seed, CHANGED_PEOPLE)
        earlier, later = (plan.estimate(plan.tally(one)) for one in rounds)
        found = [
            plan.compare_rounds(*rounds).cross("smoker", by="sex"),
            later.change(earlier, people="same").cross("smoker", by="sex"),
            later.change(earlier).cross("smoker", by="sex"),
        ]
        truths = (0.04, among, 0.04)
        held.append([one.low[0, 0] <= is_ <= one.high[0, 0] for one, is_ in zip(found, truths, strict=True)])
        widths.append([float(one.high[0, 0] - one.low[0, 0]) for one in found])
    linked, same, unknown = np.mean(widths, axis=0)
    assert linked < same < unknown
    rates = np.mean(held, axis=0)
    assert (rates >= CHANGED_HELD).all()
    assert rates[2] > 0.99  # the valid one is wide


def test_rounds_that_are_taken_as_fresh_do_not_hold() -> None:
    """The planted fault: where people swap their answers, errors of independent rounds are too small."""
    rng, n = np.random.default_rng(5), LINKED_PEOPLE // 10
    swaps = rng.random(n) < 0.5
    people = {"sex": np.where(swaps, "f", "m"), "smoker": np.where(rng.random(n) < 0.5, "yes", "no")}
    asked = {"sex": ["f", "m"], "smoker": ["yes", "no"]}
    plan = dn.Study(asked, 12.0, together=[("sex", "smoker")]).plan(people=n)
    swapped = {**people, "smoker": np.where(people["smoker"] == "yes", "no", "yes")}
    rounds = plan.privatize(people, dn.seeded(1)), plan.privatize(swapped, dn.seeded(2))
    earlier, later = (plan.estimate(plan.tally(one)).cross("smoker", "sex") for one in rounds)
    paired = plan.compare_rounds(*rounds).cross("smoker", by="sex").stderr
    assert (paired > 1.3 * later.change(earlier, "others").stderr).all()
    assert (paired <= 1.01 * replace(later, repeats=None).change(earlier).stderr).all()


def test_a_change_is_found_and_nothing_is_not() -> None:
    law, rng = dn.grr(4, 2.0).law, np.random.default_rng(6)
    later = np.array([0.5, 0.2, 0.2, 0.1])
    for people in ("others", None):
        found = []
        for shares in (F1, later):
            pairs = [_count(law.q + law.gain * one, rng) for one in (F1, shares)]
            test = pairs[1].change(pairs[0], people).test()
            assert test.degrees == 3
            found.append(test.p)
        assert found[0] > 1e-3
        assert found[1] < 1e-6


def _count(chances: Floats, rng: np.random.Generator) -> CrossTable:
    estimate = dn.grr(4, 2.0).estimate(Tally(20_000, rng.multinomial(20_000, chances)))
    return CrossTable.of_estimate(estimate, ["f", "m"], ["yes", "no"])


def test_sizes_of_tests_of_change_are_right() -> None:
    law, rng, n = dn.grr(4, 1.0).law, np.random.default_rng(7), 3000
    squares = []
    for counts in rng.multinomial(n, law.q + law.gain * F1, size=(300, 2)):
        tables = [
            CrossTable.of_estimate(dn.grr(4, 1.0).estimate(Tally(n, one)), ["f", "m"], ["yes", "no"])
            for one in counts
        ]
        squares.append(tables[1].change(tables[0], "others").test().statistic)
    spread(float(np.sum(squares)), 3 * len(squares), "statistics of no change")


def test_fresh_noise_about_the_same_people_is_known_where_every_report_tells() -> None:
    asked = {"sex": ["f", "m"], "smoker": ["yes", "no"], "town": list("abcdefgh"), "job": list("abcdefgh")}
    pairs = [("sex", "smoker"), ("town", "job")]
    few = {name: asked[name] for name in pairs[0]}
    answers = {name: (values * 500)[:1000] for name, values in asked.items()}
    answers["smoker"] = ["yes", "yes", "no", "no"] * 250  # no cell is rare
    found = {}
    for name, study in {
        "one": dn.Study(few, epsilon=1.0, together=pairs[:1]),
        "split": dn.Study(few, epsilon=1.0, mechanism="split"),
        "two": dn.Study(asked, epsilon=1.0, together=pairs),
    }.items():
        plan = study.plan(people=1000)
        given = {question: answers[question] for question in study.attributes}
        earlier, later = (
            plan.cross(plan.privatize(given, dn.seeded(i)), "smoker", by="sex") for i in range(2)
        )
        assert later.plan_id == plan.id
        assert later.change(earlier).people == "others"
        found[name] = later.repeats
        if name == "two":  # other people are drawn for the table
            with pytest.raises(dn.InvalidParameter, match="whose every report tells of this table"):
                later.change(replace(earlier, n=later.n), "same")
        else:
            same, others = (later.change(earlier, people).cells.stderr for people in ("same", "others"))
            assert (same < others).all()
    assert found == {"one": "fresh", "split": "fresh", "two": "once"}


def test_a_share_that_is_not_known_has_no_change() -> None:
    known, nothing = _table(F1, 10**6), _table(np.full(4, 0.25), 30)
    change = known.change(nothing, "others")
    assert np.isnan(change.difference).all()
    np.testing.assert_allclose(change.low, known.low - 1, atol=1e-9)
    np.testing.assert_allclose(change.high, known.high, atol=1e-9)
    assert "not known" in str(change)
    assert change.about()["cells"][0]["difference"] is None


def test_a_change_is_shown_in_every_form() -> None:
    change = _table(MOVES.sum(axis=0), 10**6).change(_table(F1, 10**6), "others")
    assert isinstance(change, TableChange)
    assert repr(change) == "<TableChange of columns by rows: 2 x 2>"
    frame = change.frame("pandas")
    assert frame["difference"].tolist() == pytest.approx(change.difference.ravel().tolist())
    assert frame["cell_low"].tolist() == pytest.approx(change.cells.low.ravel().tolist())
    assert "if other people answered" in str(change)
    assert "the answers changed (p < 0.001); chi-square" in str(change)
    assert change.about()["test"]["degrees"] == 3
    change.plot()


def test_what_cannot_be_compared_is_refused() -> None:
    one = _table(F1, 1000)
    other = CrossTable.of_estimate(
        dn.grr(4, 1.0).estimate(Tally(4, np.ones(4, dtype=int))), ["f", "m"], ["no", "yes"]
    )
    with pytest.raises(dn.InvalidParameter, match="their rows and columns are the same"):
        one.change(other)
    with pytest.raises(dn.InvalidParameter, match=r"got 'linked'.*plan.compare_rounds"):
        one.change(one, "linked")
    plan = AGAIN.plan(people=1000)
    rounds, _ = _rounds(plan, 1, 1000)
    fewer = _rounds(plan, 1, 900)[0][1]
    with pytest.raises(dn.InvalidParameter, match="1,000 and 900 rows"):
        plan.compare_rounds(rounds[0], fewer).cross("smoker", by="sex")
    tied = replace(one, repeats="tied")
    with pytest.raises(dn.InvalidParameter, match="two rounds on values"):
        tied.change(tied, "same")
    change = plan.estimate(plan.tally(rounds[1])).change(plan.estimate(plan.tally(rounds[0])))
    with pytest.raises(dn.InvalidParameter, match="does not know its results"):
        replace(change, rounds=None).cross("smoker", by="sex")
