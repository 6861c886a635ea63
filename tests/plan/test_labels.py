"""One attribute of a plan, by its labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import deniable as dn
from deniable.estimate import Estimate

ASKED = {"color": ["red", "green", "blue"], "age": dn.Range(0, 100, step=50)}


def test_answers_are_given_by_label_and_shares_come_back_with_them() -> None:
    color = dn.Study(ASKED, epsilon=1.0).plan(1000).attribute("color")
    labels = ["blue", "red", "green"] * 100
    reports = color.privatize(labels, dn.seeded(1))
    np.testing.assert_array_equal(reports, color.mechanism.privatize([2, 0, 1] * 100, dn.seeded(1)))
    np.testing.assert_array_equal(reports, color.privatize(pd.Series(labels, dtype="category"), dn.seeded(1)))
    estimate = color.estimate(color.tally(reports))
    assert isinstance(estimate, Estimate)
    assert estimate.labels == ("red", "green", "blue")
    assert str(color) == f"color: {color.mechanism}"


def test_a_value_that_is_not_one_is_refused() -> None:
    plan = dn.Study(ASKED, epsilon=1.0).plan(1000)
    with pytest.raises(dn.InvalidValue, match="'rod' is not a value of 'color'"):
        plan.attribute("color").privatize(["rod"])
    with pytest.raises(dn.InvalidValue, match="1 of 2 answers to 'color' are missing"):
        plan.attribute("color").privatize(["red", None])
    with pytest.raises(dn.InvalidParameter, match="'colour' is not an attribute"):
        plan.attribute("colour")


def test_no_answer_is_a_value_where_the_plan_says_so() -> None:
    age = dn.Study(ASKED, epsilon=1.0, missing="value").plan(1000).attribute("age")
    assert age.labels[-1] == "no answer"
    made = age.privatize([20, None], dn.seeded(1))
    np.testing.assert_array_equal(made, age.mechanism.privatize([0, 2], dn.seeded(1)))


def test_a_number_has_a_mean() -> None:
    income = dn.Study({"income": dn.Number(0, 10)}, epsilon=4.0).plan(1000).attribute("income")
    mean = income.estimate(income.tally(income.privatize([10.0] * 2000, dn.seeded(1))))
    assert isinstance(mean, dn.metric.MeanEstimate)
    assert mean.mean == pytest.approx(1.0, abs=0.2)
