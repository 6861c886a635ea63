"""A transformer reports rows by their law, in pipelines and folds, and refuses what has no domain."""

from __future__ import annotations

import copy
import pickle
import tracemalloc
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator

import deniable as dn
from deniable.learn import Privatizer, tables
from tests import statistics

COLORS = ["red", "green", "blue", "gray"]
PEOPLE = pd.DataFrame(
    {"color": ["red", "blue", "gray"], "age": [34, 51, 19], "height": [1.7, 1.8, 1.6]}, index=["a", "b", "c"]
)
DOMAINS = {"color": COLORS, "age": dn.Range(0, 100)}
Transform = Callable[[pd.DataFrame], Any]


def people_of_one_color(n: int = statistics.LEARN_ROWS) -> pd.DataFrame:
    return pd.DataFrame({"color": ["blue"] * n})


def judge_law(transform: Transform) -> None:
    """Reports of one value, a row each: their counts are what the law says."""
    n = statistics.LEARN_ROWS
    reports = np.asarray(transform(people_of_one_color()))[:, 0]
    law = dn.grr(4, 1.0).law
    expected = [n * (law.p if color == "blue" else law.q) for color in COLORS]
    statistics.goodness_of_fit(
        np.array([(reports == one).sum() for one in COLORS]), np.array(expected), "GRR"
    )


def judge_independence(transform: Transform) -> None:
    """Two tables of equal values agree as often as independent reports do."""
    n = statistics.LEARN_ROWS
    one, other = (np.asarray(transform(people_of_one_color()))[:, 0] for _ in range(2))
    law = dn.grr(4, 1.0).law
    chance = law.p**2 + 3 * law.q**2
    error = (chance * (1 - chance) / n) ** 0.5
    statistics.deviation(float((one == other).mean()), chance, error, "reports of two tables that agree")


def test_rows_are_reported_by_the_law() -> None:
    judge_law(Privatizer({"color": COLORS}, 1.0, words=dn.seeded(1)).fit_transform)


def test_noise_that_is_drawn_once_for_each_value_is_found() -> None:
    def draw_once(table: pd.DataFrame) -> Any:
        values = sorted(set(table["color"]))
        drawn = Privatizer({"color": COLORS}, 1.0, words=dn.seeded(1)).fit_transform(
            pd.DataFrame({"color": values})
        )
        return np.array([drawn[values.index(value)] for value in table["color"]])

    with pytest.raises(AssertionError, match="chi-square"):
        judge_law(draw_once)


def test_folds_have_noise_of_their_own() -> None:
    fitted = Privatizer({"color": COLORS}, 1.0, words=dn.seeded(2)).fit(people_of_one_color(3))
    judge_independence(fitted.transform)
    with pytest.warns(dn.DeniableWarning, match="a clone made reports before"):
        judge_independence(lambda table: clone(fitted).fit_transform(table))  # as a cross-validation does


def test_folds_that_share_their_words_are_found() -> None:
    with pytest.raises(AssertionError, match="standard errors off"):
        judge_independence(
            lambda table: Privatizer({"color": COLORS}, 1.0, words=dn.seeded(2)).fit_transform(table)
        )


@pytest.mark.parametrize("protocol", ["grr", "sue", "oue", "ss", "olh", "blh", "the", "hr", "adaptive"])
def test_indicators_follow_the_law(protocol: str) -> None:
    n = statistics.LEARN_ROWS
    fitted = Privatizer({0: 6}, 1.0, protocol=protocol, output="support", words=dn.seeded(3))
    found = fitted.fit_transform(np.full((n, 1), 4))
    assert found.dtype == np.uint8
    assert found.shape == (n, 6)
    part = fitted.plan_.mechanism.mechanisms[0]
    assert isinstance(part, dn.mechanisms.SetMechanism)
    law = part.law
    for value, share in enumerate(found.mean(axis=0)):
        chance = law.p if value == 4 else law.q
        statistics.deviation(float(share), chance, (chance * (1 - chance) / n) ** 0.5, f"{protocol}, {value}")


def judge_learning(fit: Callable[[pd.DataFrame], Privatizer]) -> None:
    """Whatever the people are like, the plan and the columns that come out are the same."""
    one, other = fit(PEOPLE), fit(PEOPLE.iloc[:1])
    assert one.plan_ == other.plan_
    assert list(one.get_feature_names_out()) == list(other.get_feature_names_out())


def test_nothing_is_learned_from_the_data() -> None:
    judge_learning(Privatizer(DOMAINS, 1.0, output="support").fit)
    unseen = Privatizer(DOMAINS, 1.0).fit(PEOPLE.iloc[:1]).transform(PEOPLE)
    assert unseen.shape == (3, 3)


def test_a_domain_that_is_read_from_the_data_is_found() -> None:
    def read_domain(table: pd.DataFrame) -> Privatizer:
        colors = [*sorted(set(table["color"])), "other"]
        return Privatizer({**DOMAINS, "color": colors}, 1.0, output="support").fit(table)

    with pytest.raises(AssertionError):
        judge_learning(read_domain)


@pytest.mark.parametrize("budget", ["split", "sample", {"color": 0.1, "age": 0.2}])
def test_losses_are_exact_and_those_of_the_plan(budget: Any) -> None:
    fitted = Privatizer(DOMAINS, 0.3, budget=budget).fit(PEOPLE)
    assert fitted.loss_ == fitted.plan_.verify().record <= 0.3
    assert 0.3 - fitted.loss_ < 1e-9
    assert fitted.losses_ == {
        name: part.loss()
        for name, part in zip(fitted.plan_.names, fitted.plan_.mechanism.mechanisms, strict=True)
    }
    if budget != "sample":
        assert sum(fitted.losses_.values()) == pytest.approx(fitted.loss_)
    assert dn.Plan.from_json(fitted.plan_.to_json()).loss.record == fitted.loss_


def test_budgets_without_a_total_are_their_sum() -> None:
    fitted = Privatizer(DOMAINS, budget={"color": 1, "age": 0.5}).fit(PEOPLE)
    assert fitted.losses_ == {"color": pytest.approx(1.0), "age": pytest.approx(0.5)}
    assert fitted.loss_ == pytest.approx(1.5)


def test_protocols_can_differ_by_column() -> None:
    domains = {"color": COLORS, "age": dn.Range(0, 100)}
    fitted = Privatizer(domains, 2.0, protocol={"color": "oue"}, output="support").fit(PEOPLE)
    first, second = fitted.plan_.mechanism.mechanisms
    assert first == dn.oue(4, 1.0)
    assert second == dn.adaptive(100, 1.0)


def test_it_is_a_transformer_like_others() -> None:
    privatizer = Privatizer(DOMAINS, 2.0)
    assert get_tags(privatizer).non_deterministic
    inside = ColumnTransformer([("private", privatizer, ["age", "color"])], remainder="passthrough")
    found = inside.set_output(transform="pandas").fit_transform(PEOPLE)
    assert list(found) == ["private__age", "private__color", "remainder__height"]
    assert inside.named_transformers_["private"].reports_made_ == 3
    changed = clone(privatizer).set_params(epsilon=1.0)
    assert (changed.epsilon, privatizer.epsilon) == (1.0, 2.0)


def make_folds(privatizer: Privatizer) -> tuple[pd.DataFrame, list[Privatizer]]:
    """A pipeline of codes that is cross-validated in five folds: the table, and the fitted transformers."""
    generator = np.random.default_rng(6)
    table = pd.DataFrame({"color": generator.integers(0, 4, 100), "height": generator.normal(size=100)})
    table = table.rename_axis("person")
    pipeline = make_pipeline(privatizer, LogisticRegression())
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        done = cross_validate(pipeline, table, generator.integers(0, 2, 100), cv=5, return_estimator=True)
    expected = [] if privatizer.memo else ["a clone made reports before"]
    assert [str(one.message).partition(",")[0] for one in told] == expected  # once, not in every fold
    return table, [one[0] for one in done["estimator"]]


def test_a_cross_validation_makes_five_reports_of_each_person() -> None:
    privatizer = Privatizer({"color": 4}, 1.0)
    table, fitted = make_folds(privatizer)
    assert privatizer.reports_made_ / len(table) == 5.0  # though it was never fitted itself
    assert privatizer.reports_by_loss_ == {fitted[0].loss_: 500}
    assert {one.reports_made_ for one in fitted} == {500}


def test_a_table_that_is_reported_again_is_warned_of() -> None:
    privatizer = Privatizer(DOMAINS, 2.0)
    privatizer.fit_transform(PEOPLE)
    with pytest.warns(dn.DeniableWarning, match="privatized before: .* lose 2 more; privatize once"):
        privatizer.transform(PEOPLE)
    assert privatizer.reports_made_ == 6
    assert pickle.loads(pickle.dumps(privatizer)).reports_made_ == 6


def test_a_copy_that_is_fitted_says_that_it_is_not_counted() -> None:
    """A cross-validation with processes sends copies, whose reports the first transformer does not count."""
    privatizer = Privatizer({"color": 4}, 1.0)
    table = pd.DataFrame({"color": [0, 1, 2, 3]})
    sent = pickle.loads(pickle.dumps(clone(privatizer)))
    with pytest.warns(dn.DeniableWarning, match="its reports are not counted by the first one"):
        sent.fit(table)
    sent.fit(table).transform(table)  # it is said once
    assert (privatizer.reports_made_, sent.reports_made_) == (0, 4)
    pickle.loads(pickle.dumps(sent)).transform(table)  # a model that is used elsewhere is fitted already


EXPECTED_FAILURES = {
    "check_estimators_nan_inf": "fit looks at no value; transform refuses those of protected columns",
    "check_estimators_pickle": "a copy makes new reports: it compares them with the reports of the original",
    "check_fit_idempotent": "every transform makes new reports: it compares two of them",
}


@pytest.mark.parametrize("output", ["value", "support"])
def test_scikit_learns_own_checks_pass(output: Any) -> None:
    numbers = dn.Range(-100, 100, step=50, open_low=True, open_high=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks report the same table again and again
        checks = check_estimator(
            Privatizer({0: numbers}, 1.0, output=output),
            expected_failed_checks=EXPECTED_FAILURES,
            on_skip=None,
        )
    failed = {check["check_name"] for check in checks if check["status"] == "xfail"}
    assert failed == set(EXPECTED_FAILURES)  # an entry that is no longer needed is taken out
    assert sum(check["status"] == "passed" for check in checks) >= 36


WHOLE = pd.DataFrame({"a": [1, 2, 3], "b": [7, 8, 9]})


@pytest.mark.parametrize(
    "values",
    [
        np.array([1, 2, 3]),
        np.unique([3, 1, 2, 1]),
        pd.Index([1, 2, 3]),
        pd.Series([1, 2, 3], index=["x", "y", "z"]),
        pd.CategoricalDtype([1, 2, 3]),
        range(1, 4),
        dn.Categories([1, 2, 3]),
        {"values": [1, 2, 3]},
    ],
    ids=lambda values: type(values).__name__,
)
def test_numbers_stay_numbers_whatever_lists_their_values(values: Any) -> None:
    fitted = Privatizer({"a": values}, 30.0).set_output(transform="pandas").fit(WHOLE)
    pd.testing.assert_frame_equal(fitted.transform(WHOLE), WHOLE)  # at this epsilon nothing changes
    assert fitted.set_params(output="support").fit(WHOLE).get_feature_names_out()[0] == "a=1"


@pytest.mark.parametrize(
    ("labels", "given", "dtype"),
    [
        ([True, False], [True, False], "bool"),
        ([0.5, 1.0], [0.5, 1.0], "float64"),
        (["1", "2"], ["1", "2"], "object"),
        ([1, "other"], [1, 1], "object"),
    ],
)
def test_categories_have_the_type_of_the_column(labels: list[Any], given: list[Any], dtype: str) -> None:
    table = pd.DataFrame({"a": given})
    found = Privatizer({"a": dn.Categories(labels)}, 30.0).fit_transform(table)
    assert found[:, 0].tolist() == given
    assert str(found.dtype) == dtype


def test_domains_of_two_dimensions_are_refused() -> None:
    with pytest.raises(dn.InvalidParameter, match="the values of 'a' must have one dimension, got 2"):
        Privatizer({"a": np.ones((2, 2))}, 1.0).fit(WHOLE)


@pytest.mark.parametrize("protocol", [{0: "oue", 1: "grr"}, {"x0": "oue", "x1": "grr"}])
def test_protocols_of_an_array_are_numbered_as_its_domains_are(protocol: Any) -> None:
    fitted = Privatizer({0: 4, 1: 4}, 2.0, protocol=protocol, output="support").fit([[1, 2]])
    assert fitted.plan_.mechanism.mechanisms == (dn.oue(4, 1.0), dn.grr(4, 1.0))


@pytest.mark.parametrize("option", ["protocol", "budget"])
def test_columns_that_are_named_twice_are_refused(option: str) -> None:
    given: dict[str, Any] = {"protocol": {0: "grr", "x0": "oue"}, "budget": {0: 1.0, "x0": 0.5}}
    with pytest.raises(dn.InvalidParameter, match="'x0' is given twice"):
        Privatizer({0: 4}, 1.0, **{option: given[option]}).fit([[1]])


def test_refusals_do_not_show_the_value() -> None:
    fitted = Privatizer({"a": ["x", "y"], "b": dn.Range(0, 10)}, 1.0).fit(WHOLE)
    for table in (WHOLE.assign(a="secret"), WHOLE.assign(a="x", b=4711)):
        with pytest.raises(dn.InvalidValue, match="row 0, column") as refused:
            fitted.transform(table)
        assert "secret" not in str(refused.value)
        assert "4711" not in str(refused.value)
        assert refused.value.__suppress_context__


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("passthrough", True),
        ("output", "value"),
        ("epsilon", 0.1),
        ("domains", {"a": 5, "b": 20}),
        ("domains", {"a": np.arange(4)}),
        ("budget", "sample"),
        ("protocol", "grr"),
        ("memo", "index"),
    ],
)
def test_options_that_change_after_fit_need_another_fit(name: str, value: Any) -> None:
    options: dict[str, Any] = {"domains": {"a": 4}, "epsilon": 4.0, "protocol": "oue"}
    fitted = Privatizer(**options, output="support", passthrough=False).fit(WHOLE)
    fitted.set_params(epsilon=4.0).transform(WHOLE)  # nothing has changed
    fitted.set_params(**{name: value})
    with pytest.raises(dn.InvalidParameter, match=f"{name} was changed after fit.*call fit again"):
        fitted.transform(WHOLE)
    with pytest.raises(dn.InvalidParameter, match=f"{name} was changed after fit"):
        fitted.get_feature_names_out()
    assert fitted.reports_made_ == 3


def test_fitted_options_are_the_same_after_they_were_pickled() -> None:
    fitted = Privatizer({"a": np.arange(4)}, 4.0).fit(WHOLE)
    assert pickle.loads(pickle.dumps(fitted)).transform(WHOLE.copy()).shape == (3, 2)


def test_reports_are_counted_by_loss() -> None:
    privatizer = Privatizer({"a": 4}, 8.0)
    first = privatizer.fit(WHOLE).loss_
    privatizer.transform(WHOLE)
    second = privatizer.set_params(epsilon=1.0).fit(WHOLE).loss_
    privatizer.transform(WHOLE.iloc[:2])
    assert privatizer.reports_by_loss_ == {first: 3, second: 2}
    assert Privatizer({"a": 4}, 8.0).reports_made_ == 0


@pytest.mark.parametrize("send", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_seeded_words_do_not_travel(send: Callable[[Privatizer], Privatizer]) -> None:
    sent = send(Privatizer({"a": 4}, 1.0, words=dn.seeded(3)).fit(WHOLE))
    with pytest.raises(dn.InvalidParameter, match=r"its seeded words do not travel.*n_jobs=1"):
        sent.transform(WHOLE)
    assert sent.reports_made_ == 0
    sent.set_params(words=dn.seeded(4)).transform(WHOLE)
    assert sent.reports_made_ == 3


def test_words_of_the_system_are_new_in_every_copy() -> None:
    table = pd.DataFrame({"a": [1] * 6000})
    fitted = Privatizer({"a": 4}, 1.0, words=dn.randomness.system()).fit(table)
    fitted.transform(table)
    copies = [pickle.loads(pickle.dumps(fitted)) for _ in range(2)]
    one, other = (each.transform(table)[:, 0] for each in copies)
    assert not np.array_equal(one, other)


def test_columns_come_out_in_their_order_with_their_types() -> None:
    fitted = Privatizer(DOMAINS, 50.0).set_output(transform="pandas").fit(PEOPLE)
    found = fitted.transform(PEOPLE)
    pd.testing.assert_frame_equal(found, PEOPLE)  # at this epsilon nothing changes
    assert fitted.unprotected_ == ["height"]
    frame = pl.from_pandas(PEOPLE)
    as_polars = Privatizer(DOMAINS, 50.0).set_output(transform="polars")
    assert as_polars.fit_transform(frame).equals(frame)
    bare = Privatizer(DOMAINS, 50.0, passthrough=False).fit(PEOPLE)
    assert bare.unprotected_ == []
    assert bare.transform(PEOPLE).tolist() == PEOPLE[["color", "age"]].to_numpy().tolist()
    assert list(bare.get_feature_names_out()) == ["color", "age"]


def test_the_output_that_is_asked_for_comes_out() -> None:
    asked = Privatizer(DOMAINS, 50.0).set_output(transform="pandas")
    assert isinstance(clone(asked.set_output(transform=None)).fit_transform(PEOPLE), pd.DataFrame)
    with config_context(transform_output="polars"):
        assert isinstance(Privatizer(DOMAINS, 50.0).fit_transform(PEOPLE), pl.DataFrame)
        array = Privatizer(DOMAINS, 50.0).set_output(transform="default").fit_transform(PEOPLE)
    assert isinstance(array, np.ndarray)


def test_names_that_are_not_those_of_the_table_are_refused() -> None:
    fitted = Privatizer(DOMAINS, 1.0).fit(PEOPLE)
    assert fitted.get_feature_names_out(list(PEOPLE)).tolist() == ["color", "age", "height"]
    with pytest.raises(ValueError, match="is not equal to feature_names_in_"):
        fitted.get_feature_names_out(["color", "age", "weight"])


def test_columns_of_all_kinds_are_read_and_keep_their_type() -> None:
    table = pd.DataFrame(
        {
            "c": pd.Categorical(["a", "b", "a"]),
            "i": pd.array([0, 1, 2], dtype="Int64"),
            "b": [True, False, True],
            "m": ["2024-05", "2024-06", "2024-07"],
            "f": [0.5, 1.5, 0.5],
        }
    )
    months = dn.Range.dates("2024-01", "2024-12")
    domains = {"c": ["a", "b"], "i": 3, "b": [True, False], "m": months, "f": [0.5, 1.5]}
    for given in (table, pl.from_pandas(table)):
        fitted = Privatizer(domains, 150.0).set_output(transform="pandas").fit(given)
        found = fitted.transform(given)
        assert found.to_numpy().tolist() == table.to_numpy().tolist()
        assert [dtype.kind for dtype in found.dtypes[["i", "b", "f"]]] == ["i", "b", "f"]
    few = Privatizer(domains, 30.0, budget="sample", words=dn.seeded(8)).set_output(transform="pandas")
    sampled = few.fit_transform(pd.concat([table] * 40, ignore_index=True))
    assert (sampled.notna().sum(axis=1) == 1).all()
    assert set(sampled["b"].dropna()) == {True, False}


def test_indicators_are_named_by_their_values() -> None:
    domains = {"color": COLORS, "age": dn.Range(0, 60, step=20)}
    fitted = Privatizer(domains, 50.0, protocol="grr", output="support").set_output(transform="pandas")
    found = fitted.fit_transform(PEOPLE)
    ages = ["age=0", "age=20", "age=40"]
    assert list(found) == [*(f"color={color}" for color in COLORS), *ages, "height"]
    assert found[ages].to_numpy().tolist() == [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    assert {str(dtype) for dtype in found[ages].dtypes} == {"uint8"}
    numbered = Privatizer({1: 3}, 1.0, output="support").fit([[0.5, 2]])
    assert list(numbered.get_feature_names_out()) == ["x0", "x1=0", "x1=1", "x1=2"]


def test_what_is_not_sampled_is_missing() -> None:
    people = pd.DataFrame({"color": ["red"] * 200, "age": [34] * 200})
    values = Privatizer(DOMAINS, 1.0, budget="sample").set_output(transform="pandas").fit_transform(people)
    missing = values.isna()
    assert (missing.sum(axis=1) == 1).all()
    assert 0 < missing["color"].sum() < 200
    bits = Privatizer(DOMAINS, 1.0, budget="sample", output="support").fit_transform(people)
    assert bits.dtype == np.int8
    colors, ages = (bits[:, :4] == -1).all(axis=1), (bits[:, 4:] == -1).all(axis=1)
    assert (colors != ages).all()
    assert ((bits == -1).sum(axis=1) == np.where(colors, 4, 100)).all()


def test_indicators_are_made_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    table = np.random.default_rng(4).integers(0, 7, (1000, 2))
    made = []
    for cells in (1 << 21, 64):
        monkeypatch.setattr(tables, "_CELLS", cells)
        fitted = Privatizer({0: 7, 1: 7}, 2.0, protocol="oue", output="support", words=dn.seeded(5))
        made.append(fitted.fit_transform(table))
    assert np.array_equal(*made)


@pytest.mark.parametrize("output", ["default", "pandas"])
def test_beside_the_indicators_there_is_only_a_block_of_them(output: str) -> None:
    """A second copy of them would take 30 MB more, and floats 240 MB."""
    table = np.full((300_000, 1), 4)
    fitted = Privatizer({0: 100}, 1.0, protocol="oue", output="support", words=dn.seeded(6))
    fitted.set_output(transform=output).fit_transform(table.copy())  # loads compiled loops, once
    tracemalloc.start()
    try:
        found = fitted.transform(table)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.shape == (300_000, 100)
    assert 30e6 < peak < 30e6 + 16e6


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("color", "blu", r"row 1, column 'color': the value is not in the domain \(4 values: red, "),
        (
            "age",
            120,
            r"row 1, column 'age': the value is not in the domain \(100 bins of 1, .*\); correct it, or",
        ),
        ("age", None, "row 1, column 'age': there is no value; fill it in"),
        ("age", float("inf"), "row 1, column 'age': the value is not in the domain"),
        ("coded", 3, "row 1, column 'coded': the value is not a whole number from 0 to 2; correct it"),
        ("coded", 0.5, "row 1, column 'coded': the value is not a whole number"),
        ("coded", None, "row 1, column 'coded': there is no value"),
        ("scale", 8, "row 1, column 'scale': the value is not a whole number from 1 to 7"),
    ],
)
def test_values_outside_their_domain_are_refused_with_row_and_column(
    column: str, value: object, message: str
) -> None:
    table = PEOPLE.assign(coded=[0, 1, 2], scale=[1, 7, 4])
    fitted = Privatizer({**DOMAINS, "coded": 3, "scale": dn.Range.scale(1, 7)}, 1.0).fit(table)
    fitted.transform(table)
    table[column] = [table[column].iloc[0], value, table[column].iloc[2]]
    with pytest.raises(dn.InvalidValue, match=message):
        fitted.transform(table)
    assert fitted.reports_made_ == 3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"domains": None}, "domains has the values of every protected column"),
        ({"domains": {}}, "a domain is never read from the data"),
        ({"domains": {"colour": COLORS}}, "'colour' is not a column .*did you mean 'color'"),
        ({"domains": {0: 3}}, "0 is not a column of the table"),
        ({"domains": {"color": True}}, "a column's domain is a list of values"),
        ({"domains": {"color": 1}}, "needs two values or more"),
        ({"domains": {"color": dn.Number(0, 1)}}, "got Number for 'color'"),
        ({"domains": {"age": dn.Range(0, 100, privacy="metric", epsilon=0.1)}}, "metric privacy"),
        ({"epsilon": None}, "epsilon is missing"),
        ({"epsilon": -1.0}, "epsilon must be a positive number"),
        ({"epsilon": 100.0}, "column 'color': epsilon 50.0 is too large"),
        ({"budget": "equal"}, "budget is 'split', 'sample' or"),
        ({"budget": {"color": 1.0}}, "the budget has no epsilon for 'age'"),
        ({"budget": {"color": 1.0, "age": 1.5}}, "add up to 2.5, more than epsilon 2"),
        ({"budget": {"color": 1.0, "age": 1.0, "height": 1.0}}, "'height' is not a protected column"),
        ({"protocol": "grrr"}, "'grrr' is not a protocol .*did you mean 'grr'"),
        ({"protocol": "she"}, "'she' is not a protocol"),
        ({"protocol": "oue"}, "a report of oue is no value of 'color'.*output='support'"),
        ({"protocol": {"height": "grr"}}, "'height' is not a protected column"),
        ({"output": "posterior"}, "output is 'value' or 'support'"),
        ({"memo": "rows"}, "memo is None or 'index'"),
        ({"words": 7}, "words come from a source"),
    ],
)
def test_wrong_options_are_refused_with_what_is_allowed(given: dict[str, Any], message: str) -> None:
    with pytest.raises(dn.InvalidParameter, match=message):
        Privatizer(**{"domains": DOMAINS, "epsilon": 2.0, **given}).fit(PEOPLE)


def test_tables_that_cannot_be_told_apart_are_refused() -> None:
    twice = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(dn.InvalidParameter, match="two columns have the same name"):
        Privatizer({"a": 3}, 1.0).fit(twice)
    with pytest.raises(dn.InvalidParameter, match="name the columns of a frame by text"):
        Privatizer({0: 3}, 1.0).fit(pd.DataFrame([[1, 2]], columns=[5, 0]))
    with pytest.raises(dn.InvalidParameter, match="0 samples"):
        Privatizer({"color": COLORS}, 1.0).fit(PEOPLE.iloc[:0])
