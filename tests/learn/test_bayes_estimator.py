"""Naive Bayes from reports as an estimator: options that change, words that are shared, orders and types."""

from __future__ import annotations

from typing import Any

import pytest

import deniable as dn
from deniable.errors import InvalidParameter
from tests.learn.test_bayes import DOMAINS, make_model, make_people


@pytest.mark.parametrize(
    "changed",
    [
        {"epsilon": 0.1},
        {"label": "protected"},
        {"protocol": "oue"},
        {"domains": {**DOMAINS, "sex": ["m", "f"]}},
    ],
)
def test_more_people_answer_what_is_promised_now(changed: dict[str, Any]) -> None:
    """Nobody is reported at an epsilon that was promised to others, nor with a raw label."""
    rows, ill = make_people(200, 20)
    model = make_model("public").partial_fit(rows, ill)
    before = model.tallies_
    model.set_params(**changed)
    with pytest.raises(InvalidParameter, match="make a new model"):
        model.partial_fit(rows, ill)
    assert model.tallies_ is before
    model.set_params(epsilon=4.0, label="public", protocol="adaptive", domains=DOMAINS)
    assert model.partial_fit(rows, ill).tallies_.n == 400


def test_what_only_weighs_reports_may_change() -> None:
    rows, ill = make_people(200, 20)
    model = make_model("public", words=dn.seeded(1)).partial_fit(rows, ill)
    assert model.set_params(damp=0.0, temper=1.0).partial_fit(rows, ill).temper_ == 1.0
