"""Questions that are reported in levels: what a plan has of them, what it loses, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.arrays import Integers
from deniable.domain import Coarse
from deniable.explain.guesses import bound_group, guess_factor
from deniable.plan import Attribute
from deniable.records import Sample, Split
from deniable.results.findings import Findings, FindingsRequest
from deniable.results.range_queries import RangeQuery, find_bins
from deniable.show.text import write_text
from deniable.study import Plan, Result
from deniable.summaries import Summary
from spec.make import levels

LONG = dn.Range(0, 5000, queries="ranges")


@pytest.mark.parametrize("divisor", [2, 3, 64, 99])
def test_a_level_divides_codes_and_names_its_ends(divisor: int) -> None:
    base = dn.Range(0, 100)
    level = Coarse("age", base, divisor)
    answers = np.arange(100)
    assert level.encode({"age": answers}).tolist() == (answers // divisor).tolist()
    assert level.k == len(level.labels) == 99 // divisor + 1
    assert level.labels[0].startswith("0 to under ")
    assert level.labels[-1].endswith("100")
    assert level.codes([None, 5]).tolist() == [-1, 5 // divisor]


@pytest.mark.parametrize("divisor", [0, 1, 100, 2.0, True])
def test_divisors_that_make_no_level_are_refused(divisor: Any) -> None:
    with pytest.raises(dn.InvalidParameter, match="from 2 to 99"):
        Coarse("age", dn.Range(0, 100), divisor)


def test_only_ranges_without_distances_have_levels() -> None:
    for base in (dn.Categories(["a", "b", "c"]), dn.Range(0, 9, privacy="metric", epsilon=0.1)):
        with pytest.raises(dn.InvalidParameter, match="cannot be reported in levels"):
            Coarse("age", base, 2)


def test_the_loss_of_a_plan_is_that_of_one_level() -> None:
    plan = levels.ALONE.plan(people=1000)
    assert isinstance(plan.mechanism, Sample)
    assert plan.mechanism.ratio() == max(part.ratio for part in plan.mechanism.mechanisms)
    assert plan.loss.record <= 1.0
    assert plan.loss.answer == plan.loss.record
    assert Plan.from_json(plan.to_json()) == plan


def test_levels_go_from_the_coarsest_to_single_values() -> None:
    plan = dn.Study({"income": LONG}, epsilon=1.0).plan(people=1000)
    sizes = [one.domain.k for one in plan.document.attributes]
    assert plan.names == (*(f"income by {4**power}" for power in range(6, 0, -1)), "income")
    assert sizes == [2, 5, 20, 79, 313, 1250, 5000]
    assert [part.k for part in plan.document.parts] == sizes


def test_long_ranges_have_levels_unless_values_are_wanted() -> None:
    def count(domain: dn.Range, **more: Any) -> int:
        return len(dn.Study({"income": domain, "sex": ["f", "m"]}, epsilon=1.0, **more).plan(1000).names)

    assert count(dn.Range(0, 4095)) == 2
    assert count(dn.Range(0, 4096)) == 7
    assert count(dn.Range(0, 4096, queries="values")) == 2
    assert count(dn.Range(0, 4096, privacy="metric", epsilon=0.1)) == 2
    assert count(dn.Range(0, 4096), missing="value") == 2
    assert count(dn.Range(0, 4096), protocol="grr") == 2
    assert count(dn.Range(0, 4096), mechanism="faked", protocol="grr") == 2


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"missing": "value"}, "yes/no question"),
        ({"mechanism": "faked"}, "fakes"),
        ({"protocol": "olh"}, "protocol"),
        ({"protocol": {"income": "olh"}}, "protocol"),
        ({"together": [("income", "sex")]}, "larger step"),
        ({"objective": dn.Objective(success_cap=0.9)}, "caps"),
        ({"epsilon": None, "epsilon_first": 1.0, "epsilon_forever": 2.0}, "asking again"),
    ],
)
def test_what_goes_with_no_levels_is_refused_with_a_reason(more: dict[str, Any], told: str) -> None:
    with pytest.raises(dn.InvalidParameter, match=told) as problem:
        replace(levels.BESIDE, importance={}, **more)
    assert "'income'" in str(problem.value)


def test_distances_have_no_levels() -> None:
    with pytest.raises(dn.InvalidParameter, match="metric"):
        dn.Study({"age": dn.Range(0, 99, privacy="metric", epsilon=0.1, queries="ranges")})
    with pytest.raises(dn.InvalidParameter, match="'smooth' is retired"):
        dn.Range(0, 99, queries="smooth")  # type: ignore[arg-type]
    with pytest.raises(dn.InvalidParameter, match="'range' is not"):
        dn.Range(0, 99, queries="range")  # type: ignore[arg-type]


def test_a_record_draws_questions_by_importance_and_levels_evenly() -> None:
    plan = levels.BESIDE.plan(people=1000)
    chances = {name: plan.mechanism.chance(j) for j, name in enumerate(plan.names)}
    assert chances == {name: Fraction(3, 16) for name in plan.names[:-1]} | {"sex": Fraction(1, 4)}
    assert plan.loss.record <= 1.0


def test_a_split_asks_one_level_and_all_others() -> None:
    plan = replace(levels.BESIDE, mechanism="split").plan(people=1000)
    assert isinstance(plan.mechanism, Split)
    assert plan.mechanism.reported == 2
    assert plan.loss.record <= 1.0
    assert all(part.loss() <= 0.5 for part in plan.document.parts)


def test_random_answers_fall_into_groups_by_their_size() -> None:
    """The last of two groups has 36 of 100 values: a group that is drawn evenly would have half of them."""
    level = Coarse("income", dn.Range(0, 100), 64)
    words = dn.seeded(3).take(20_000)
    assert level.draw(words).tolist() == (dn.Range(0, 100).draw(words) // 64).tolist()
    assert abs(level.draw(words).mean() - 0.36) < 0.02


def test_a_plan_without_single_values_is_refused() -> None:
    level = Coarse("income", dn.Range(0, 100), 64)
    with pytest.raises(dn.InvalidParameter, match="must be an attribute itself"):
        Plan.of({level.name: Attribute(level.name, level)}, dn.grr(2, 1.0), people=10)


def test_a_plan_in_which_no_answer_is_a_value_is_refused() -> None:
    base = dn.Range(0, 100)
    level = Coarse("income", base, 64)
    asked = {level.name: Attribute(level.name, level), "income": base}
    with pytest.raises(dn.InvalidParameter, match="yes/no question"):
        Plan.of(asked, dn.smp([3, 101], 1.0, "grr"), people=10, missing="value")


def test_a_file_names_what_is_read() -> None:
    study = dn.Study.from_dict(
        {"epsilon": 1.0, "attributes": {"age": {"low": 0, "high": 100, "step": 1, "queries": "ranges"}}}
    )
    assert study.plan(people=10).names == ("age by 64", "age by 16", "age by 4", "age")


def collect(study: dn.Study, answers: dict[str, Any], seed: int = 1) -> tuple[Plan, Result]:
    plan = study.plan(people=len(next(iter(answers.values()))))
    return plan, plan.estimate(plan.tally(plan.privatize(answers, dn.seeded(seed))))


@pytest.fixture(scope="module")
def incomes() -> tuple[Integers, Result]:
    numbers = np.random.default_rng(5)
    given = (1000 * numbers.beta(2, 5, 40_000)).astype(np.int64)
    answers = {"income": given, "sex": numbers.choice(["f", "m"], given.size)}
    study = replace(
        levels.BESIDE, attributes={"income": dn.Range(0, 1000, queries="ranges"), "sex": ["f", "m"]}
    )
    return given, collect(replace(study, epsilon=4.0), answers)[1]


def test_a_question_with_levels_is_one_result(incomes: tuple[Integers, Result]) -> None:
    given, result = incomes
    assert list(result) == ["income", "sex"]
    assert set(result.domains) == {"sex", "income"}
    assert result["income"].n + result["sex"].n == given.size
    assert set(result.levels) == {"income by 256", "income by 64", "income by 16", "income by 4", "income"}
    rows = result.frame(backend="pyarrow", bins=True).to_pylist()
    assert {row["attribute"] for row in rows} == {"sex", "income"}
    assert [row["kind"] for row in rows if row["attribute"] == "income"] == ["group"] * 10 + [
        "mean",
        "quantile",
    ]
    assert "income by" not in result.text()


def test_shares_between_two_numbers_hold_the_truth(incomes: tuple[Integers, Result]) -> None:
    """At five standard errors, one of these fails in a million runs; the seed is fixed."""
    given, result = incomes
    for low, high in ((0, 100), (100, 437), (None, 500), (250, None)):
        found = result.range("income", low, high)
        true = ((given >= (low or 0)) & (given < (high or 1000))).mean()
        assert abs(found.value - true) < 5 * found.stderr < 0.25
    assert result.range("income", None, None) == Summary(1.0, 0.0, 1.0, 1.0)


def test_quantiles_means_and_curves_hold_the_truth(incomes: tuple[Integers, Result]) -> None:
    given, result = incomes
    median, mean, curve = result.quantile("income"), result.mean("income"), result.cdf("income")
    assert median.low <= np.median(given) <= median.high
    assert abs(mean.value - 0.5 - given.mean()) < 5 * mean.stderr < 100
    assert curve.edges[[0, -1]].tolist() == [0.0, 1000.0]
    assert (np.diff(curve.shares) >= 0).all()
    assert curve.frame(backend="pyarrow").num_rows == 1001
    [axes] = curve.plot().axes
    assert axes.get_xlabel() == "income"
    assert axes.get_title(loc="left").startswith("income, ")


def test_ends_that_are_no_edges_are_refused() -> None:
    study = dn.Study({"income": levels.INCOME, "born": levels.BIRTH}, epsilon=2.0)
    answers = {"income": [5, 2000] * 200, "born": ["1950-01", "1999-12"] * 200}
    result = collect(study, answers)[1]
    assert result.range("income", 10, 500).stderr > 0
    assert result.range("born", "1960-01", "2010-01").stderr > 0
    for low, high, told in (
        (5, 20, "not an edge"),
        (0, 2000, "open end, and 2000 is beyond it"),
        (2000, None, "open end, and 2000 is beyond it"),
        (-10, 20, r"-10 is outside 'income' .* leave that end out, for under 20$"),
        (-20, -10, "outside 'income' .* nobody is in it"),
        (0, 1000, "open end"),
        (20, 20, "goes from"),
        ("a", 20, "must be a number"),
        (True, 20, "must be a number"),
    ):
        with pytest.raises(dn.InvalidParameter, match=told):
            result.range("income", low, high)
    with pytest.raises(dn.InvalidParameter, match="not a month"):
        result.range("born", 3, None)


@pytest.mark.long
def test_advice_about_tables_is_not_refused() -> None:
    text = " ".join(levels.BESIDE.plan(people=10_000).explain().split())
    assert "together = [[...]] in the study, where 'income' has fewer values and queries = 'values'." in text
    alone = " ".join(levels.ALONE.plan(people=10_000).explain().split())
    assert "What helps: invitations" in alone
    assert "fewer questions" not in alone
    few = dn.Range(0, 1000, step=100, queries="values")
    study = replace(
        levels.BESIDE, attributes={"income": few, "sex": ["f", "m"]}, together=[["income", "sex"]]
    )
    assert study.plan(people=10_000).loss.record <= 1.0


def test_ends_outside_a_closed_range_say_which_range_is_meant() -> None:
    domain = dn.Range(0, 10_000, step=10)
    assert find_bins(domain, "pay", "2e1", "1,000") == (2, 100)
    for low, high, told in (
        (20, 12_000, r"^12000 is outside 'pay' \(.*\); leave that end out, for 20 or more$"),
        ("-5", "100", r"^-5 is outside 'pay' \(.*\); leave that end out, for under 100$"),
        (-5, 12_000, r"leave that end out, for all values$"),
        (12_000, 13_000, "the range 12000 to under 13000 is outside 'pay'"),
        (10_000, None, "the range 10000 or more is outside 'pay'"),
        (None, 0, "the range under 0 is outside 'pay'"),
    ):
        with pytest.raises(dn.InvalidParameter, match=told):
            find_bins(domain, "pay", low, high)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (":", "all values"),
        ("pay=:", "all values"),
        ("2e4:", "20000 or more"),
        ("20,000:40,000.5", "20000 to under 40000.5"),
        (":1950-01", "under 1950-01"),
        (":1e-999999", "under 1e-999999"),
    ],
)
def test_a_range_is_shown_in_plain_numbers(given: str, shown: str) -> None:
    assert str(RangeQuery.read(given)) == shown


def test_a_name_that_is_no_question_is_a_wrong_parameter(incomes: tuple[Integers, Result]) -> None:
    result = incomes[1]
    for ask in (result.range, result.quantile, result.cdf, result.mean):
        with pytest.raises(dn.InvalidParameter, match=r"^'incme' is not an attribute .* 'income'"):
            ask("incme")
    with pytest.raises(KeyError):
        result["incme"]


def test_ranges_of_few_people_are_too_noisy_to_read() -> None:
    """By the rule of groups: the interval of a tenth of all values may be 20 points wide, or 2 shares."""
    asked = [RangeQuery(0, 100), RangeQuery(0, 900)]
    for people, noisy in ((200, True), (400_000, False)):
        plan = levels.ALONE.plan(people=people)
        answers = {"income": np.arange(people) % 1000}
        result = plan.estimate(plan.tally(plan.privatize(answers, dn.seeded(3))))
        findings = Findings.read(result.numbers, request=FindingsRequest(ranges=asked))
        rows = [row for row in findings.about()["ranges"] if row["attribute"] == "income"]
        assert [row["noisy"] for row in rows] == [noisy, noisy]
        assert ("0 to under 100 too noisy to read, from" in write_text(findings)) is noisy


def test_flat_ranges_have_shares_between_numbers_too() -> None:
    numbers = np.random.default_rng(6)
    ages = numbers.integers(0, 100, 20_000)
    for domain, more in (
        (dn.Range(0, 100, step=10), {"epsilon": 2.0}),
        (dn.Range(0, 100, step=10, privacy="metric", epsilon=0.2), {}),
        (dn.Range(0, 100, step=10), {"epsilon": 2.0, "missing": "value"}),
    ):
        result = collect(dn.Study({"age": domain}, **more), {"age": ages})[1]
        found, curve = result.range("age", 20, 50), result.cdf("age")
        assert abs(found.value - 0.3) < 5 * found.stderr < 0.2
        assert np.abs(curve.shares - np.linspace(0, 1, 11)).max() < 0.1
    with pytest.raises(dn.InvalidParameter, match="not a range"):
        collect(dn.Study({"sex": ["f", "m"]}, epsilon=1.0), {"sex": ["f", "m"]})[1].range("sex", 0, 1)


def test_a_level_without_reports_leaves_the_question_unknown() -> None:
    plan, result = collect(levels.BESIDE, {"income": [5] * 12, "sex": ["f"] * 12})
    few = plan.estimate(plan.tally(plan.privatize({"income": [5] * 3, "sex": ["f"] * 3}, dn.seeded(1))))
    assert "income" in result or "income" in result.unreported
    assert "of 4 levels" in few.unreported["income"].why
    assert list(few.unreported) == ["income"]


def test_levels_are_not_mistaken_for_questions_of_a_likelihood() -> None:
    """Each level by itself has the reports of few people."""
    study = dn.Study({"income": levels.INCOME, "word": dn.Text("a-z", 4), "sex": ["f", "m"]}, epsilon=1.0)
    plan = study.plan(people=300)
    reports = plan.privatize({"income": [5] * 300, "word": ["cat"] * 300, "sex": ["f"] * 300}, dn.seeded(1))
    found = plan.mle(reports)
    assert list(found) == ["sex"]
    assert list(found.refused) == ["income", "word"]
    with pytest.raises(dn.InvalidParameter, match=r"result\.range\('income'"):
        plan.mle(reports, "income by 16")
    with pytest.raises(dn.InvalidParameter, match=r"plan\.discover\(reports, name='word'\)"):
        plan.mle(plan.tally(reports), "word")


def test_tables_with_levels_are_refused_with_a_reason(incomes: tuple[Integers, Result]) -> None:
    result = incomes[1]
    with pytest.raises(dn.InvalidParameter, match="reported in levels"):
        result.cross("income", by="sex")
    with pytest.raises(dn.InvalidParameter, match=r"result\.range"):
        result.among("income")
    assert result.document is not None
    assert result.tallies is not None
    with pytest.raises(dn.InvalidParameter, match=r"result\.range"):
        Plan(result.document).mle(result.tallies, "income")
    findings = Findings.read(result.numbers, request=FindingsRequest(mle=True))
    assert "most likely shares (mle) and smoothed ones are not shown" in write_text(findings)
    plan = replace(levels.BESIDE, known=["sex"], importance={}).plan(people=1000)
    assert "income by" not in plan.explain()
    tallies = plan.tally(plan.privatize({"income": [5] * 400, "sex": ["f", "m"] * 200}, dn.seeded(1)))
    assert list(plan.estimate(tallies)) == ["income"]
    with pytest.raises(dn.InvalidParameter, match="reported in levels"):
        plan.estimate(tallies).cross("income", by="sex")


@pytest.mark.long
def test_a_plan_says_once_how_well_ranges_will_be_known() -> None:
    plan = dn.Study({"income": dn.Range(0, 65_536)}, epsilon=1.0).plan(people=1_000_000)
    assert [(one.attribute, one.what) for one in plan.precisions()] == [
        ("income", "group"),
        ("income", "median"),
    ]
    told = " ".join(plan.explain().split())
    assert "'income' is reported in 8 levels" in told
    assert "A record with a missing answer is refused." in told
    again = Plan.from_json(plan.to_json())
    assert again.precisions() == plan.precisions()


@pytest.mark.parametrize("epsilon", [1.0, 3.0])
def test_reports_of_all_levels_say_no_more_about_a_group_than_is_stated(epsilon: float) -> None:
    """Every report of every level is listed; those of finer levels say more than nothing."""
    plan = dn.Study({"age": dn.Range(0, 64, queries="ranges"), "sex": ["f", "m"]}, epsilon).plan(people=1000)
    content, (coarsest, *_) = plan.document, plan.document.levels["age"]
    blind = 1 / coarsest.domain.k
    gains = []
    for level in content.levels["age"]:
        j = content.attributes.index(level)
        guess = guess_factor(content.parts[j], (coarsest.domain.k, level.domain.k // coarsest.domain.k), 0)
        assert guess is not None
        gains.append(float(content.mechanism.chance(j)) * (guess - blind))
    assert gains[0] < sum(gains) <= bound_group(content, "age") - blind
    stated = f"{np.ceil(1000 * bound_group(content, 'age')) / 10:.1f} % (blind {100 * blind:.1f} %)"
    told = " ".join(plan.explain().split())
    assert f"right in which of {coarsest.domain.k} groups of 'age' at most {stated}" in told


def test_a_warning_says_which_level_reveals_an_answer() -> None:
    told = " ".join(dn.Study({"income": LONG}, epsilon=3.0).plan(people=1000).explain().split())
    assert "those who report 'income, in 2 groups'" in told
    assert "The same goes for 'income, in 5 groups'" in told


def test_expected_errors_are_those_of_results(incomes: tuple[Integers, Result]) -> None:
    """Of groups, on average; people who have the values add to the noise of reports."""
    result = incomes[1]
    assert result.document is not None
    found = np.array([result.range("income", low, low + 100).stderr for low in range(0, 1000, 100)])
    expected = next(one.stderr for one in Plan(result.document).precisions() if one.attribute == "income")
    assert 0.9 < np.sqrt((found**2).mean()) / expected < 1.1


def test_a_median_is_promised_wherever_it_is() -> None:
    """In the middle, an edge of the coarsest level, it is known more than twice as well."""
    plan = dn.Study({"income": dn.Range(0, 4096)}, epsilon=1.0).plan(people=1_000_000)
    [promised] = [one for one in plan.precisions() if one.what == "median"]
    result = plan.estimate(plan.tally(plan.privatize({"income": np.arange(4096)}, dn.seeded(2))))
    errors = np.array([result.range("income", None, cut).stderr for cut in range(13, 4096, 25)])
    assert promised.stderr > 0.95 * errors.max() * np.sqrt(4096 / plan.document.people)


def test_a_preview_shows_the_question_once() -> None:
    from deniable.design.preview import preview

    found = preview(levels.BESIDE.plan(people=2000))
    assert [one["attribute"] for one in found["questions"]] == ["income", "sex"]
    assert len(found["questions"][0]["rows"]) == 10
    assert found["questions"][0]["middle"]["what"] == "median"
