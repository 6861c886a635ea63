"""Naive Bayes from reports passes the checks of scikit-learn, but where domains are required."""

from __future__ import annotations

import pickle
import warnings

import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import check_estimator

import deniable as dn
from tests.learn.test_bayes import make_model, make_people


def test_it_is_an_estimator_of_scikit_learn() -> None:

    rows, ill = make_people(1500, 15)
    frame = pd.DataFrame(rows)
    model = make_model(words=dn.seeded(1))
    copy = clone(model).set_params(epsilon=8.0).fit(frame, pd.Series(ill))
    assert copy.feature_names_in_.tolist() == ["age", "town", "sex"]
    assert pickle.loads(pickle.dumps(copy)).score(frame, ill) == copy.score(frame, ill)
    with pytest.warns(dn.DeniableWarning, match="a clone made reports before"):
        assert cross_val_score(model, frame, ill, cv=3).mean() > 0.6


FEATURES = "its tables have other columns than the domains"


VALUES = "its tables have values or labels outside of the domains, which are refused"


EXPECTED = {
    "check_fit_score_takes_y": FEATURES,
    "check_estimators_overwrite_params": VALUES,
    "check_dont_overwrite_parameters": FEATURES,
    "check_estimators_fit_returns_self": VALUES,
    "check_readonly_memmap_input": VALUES,
    "check_n_features_in_after_fitting": FEATURES,
    "check_positive_only_tag_during_fit": VALUES,
    "check_estimators_dtypes": FEATURES,
    "check_dtype_object": FEATURES,
    "check_estimators_pickle": FEATURES,
    "check_f_contiguous_array_estimator": FEATURES,
    "check_classifier_data_not_an_array": VALUES,
    "check_classifiers_one_label": FEATURES,
    "check_classifiers_classes": VALUES,
    "check_estimators_partial_fit_n_features": VALUES,
    "check_classifiers_train": VALUES,
    "check_classifiers_regression_target": FEATURES,
    "check_supervised_y_2d": FEATURES,
    "check_fit2d_1sample": FEATURES,
    "check_fit2d_1feature": FEATURES,
    "check_dict_unchanged": FEATURES,
    "check_fit2d_predict1d": FEATURES,
}
"""Checks that fail, since they make tables of their own, and domains are required."""


BY_CHANCE = {"check_fit_idempotent"}
"""Each fit makes new reports, so that its predictions may differ."""


def test_the_checks_of_scikit_learn_fail_only_where_domains_are_required() -> None:
    wide = dn.Range(-10, 10, step=5, open_low=True, open_high=True)
    model = dn.learn.PrivateNaiveBayes(1.0, {"a": wide, "b": wide, "y": [0, 1]}, "y")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dn.DeniableWarning)  # the checks report tables again
        results = check_estimator(model, on_fail=None, on_skip=None)
    failed = {one["check_name"] for one in results if one["status"] == "failed"}
    assert failed - BY_CHANCE == set(EXPECTED)
    assert sum(one["status"] == "passed" for one in results) >= 24
