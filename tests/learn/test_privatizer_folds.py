"""A transformer in pipelines and cross-validations: its reports are counted, and second ones warned of."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator

import deniable as dn
from deniable.learn import Privatizer
from tests.learn.test_privatizer import DOMAINS, PEOPLE


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


def test_privatized_once_people_report_once() -> None:
    table, _ = make_folds(Privatizer({"color": 4}, 1.0))
    privatizer = Privatizer({"color": 4}, 1.0)
    reports = privatizer.fit_transform(table)
    cross_validate(LogisticRegression(), reports, np.arange(100) % 2, cv=5)
    assert privatizer.reports_made_ / len(table) == 1.0


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
        found = check_estimator(
            Privatizer({0: numbers}, 1.0, output=output),
            expected_failed_checks=EXPECTED_FAILURES,
            on_skip=None,
        )
    failed = {one["check_name"] for one in found if one["status"] == "xfail"}
    assert failed == set(EXPECTED_FAILURES)  # an entry that is no longer needed is taken out
    assert sum(one["status"] == "passed" for one in found) >= 36
