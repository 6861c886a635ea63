"""What a transformer refuses: values outside their domains, wrong options, unclear tables."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import deniable as dn
from deniable.learn import Privatizer
from tests.learn.test_privatizer import COLORS, DOMAINS, PEOPLE


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
