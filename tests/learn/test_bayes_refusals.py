"""What naive Bayes from reports refuses: wrong options, tables and tallies."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.exceptions import NotFittedError

import deniable as dn
from deniable.errors import InvalidParameter, InvalidReport, InvalidValue
from deniable.study import Plan
from tests.learn.test_bayes import DOMAINS, make_model, make_people


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"epsilon": 0.0}, "epsilon must be a positive number"),
        ({"label": "secret"}, "'secret' is not what a label can be"),
        ({"protocol": "gr"}, "'gr' is not a protocol"),
        ({"target": "sick"}, "'sick' is not a column with a domain"),
        ({"domains": ["a"]}, "domains are the values of each column"),
        ({"domains": {"ill": ["yes", "no"]}}, "no columns beside the label"),
        ({"domains": {**DOMAINS, "age": dn.Range(0, 9, privacy="metric", epsilon=1.0)}}, "'age' cannot be"),
        ({"prior": {"town": [0.5, 0.5]}}, "a share for each of its 10 values"),
        ({"prior": {"city": [0.5, 0.5]}}, "'city' is not a column with a prior"),
        ({"prior": {"sex": {"x": 1.0}}}, "'x' is not a value of 'sex'"),
        ({"prior": {"sex": [1.5, -0.5]}}, "they add up to 1"),
        ({"temper": 0.0}, "temper must be"),
        ({"damp": -1.0}, "damp must be 0 or"),
    ],
)
def test_refused_parameters(options: dict[str, Any], why: str) -> None:
    rows, ill = make_people(50, 16)
    with pytest.raises(InvalidParameter, match=why):
        make_model().set_params(**options).fit(rows, ill)


def test_refused_tables_and_tallies() -> None:
    rows, ill = make_people(50, 17)
    with pytest.raises(NotFittedError):
        make_model().predict(rows)
    with pytest.raises(InvalidValue, match="'more' has no domain"):
        make_model().fit({**rows, "more": ill}, ill)
    with pytest.raises(InvalidValue, match="X holds the label, 'ill'"):
        make_model().fit({**rows, "ill": ill}, ill)
    with pytest.raises(InvalidParameter, match="the classes are those of 'ill'"):
        make_model().partial_fit(rows, ill, classes=["yes", "maybe"])
    make_model().partial_fit(rows, ill, classes=["yes", "no"])
    with pytest.raises(InvalidValue, match="row 0, counting from 0: the answer to 'town' is not"):
        make_model().fit({**rows, "town": ["z"] * 50}, ill)
    with pytest.raises(InvalidParameter, match="no tallies to learn from"):
        make_model().fit_tally(make_model().make_plan(50))
    plan, other = make_model().make_plan(50), make_model().make_plan(51)
    tallies = other.tally(other.privatize({**rows, "ill": ill}))
    with pytest.raises(InvalidReport, match="give the plan that people answered"):
        make_model().fit_tally(plan, tallies)
    empty = plan.tally([])
    with pytest.raises(InvalidParameter, match="no reports yet"):
        make_model().fit_tally(plan, empty)
    strange = Plan.of({"sex": ["f", "m"]}, dn.grr(2, 1.0), 10)
    with pytest.raises(InvalidReport, match="the classifier needs age, town, sex"):
        make_model().fit_tally(strange, tallies)
