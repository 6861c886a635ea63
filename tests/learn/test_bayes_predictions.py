"""What naive Bayes from reports predicts from: rows, rows that lack answers, and reports."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import deniable as dn
from deniable.errors import InvalidReport, InvalidValue
from deniable.study import Plan
from tests.learn.test_bayes import DOMAINS, make_model, make_people


def test_rows_that_are_reports_are_predicted_by_their_likelihood() -> None:
    rows, ill = make_people(5000, 12)
    model = make_model(words=dn.seeded(1)).fit(rows, ill)
    asked = {name: DOMAINS[name] for name in ("age", "town", "sex")}
    plan = Plan.of(asked, dn.spl([6, 10, 2], 3.0, "grr"), 10)
    few = {name: column[:6] for name, column in rows.items()}
    reports = plan.privatize(few, dn.seeded(2))
    found = model.predict_proba_reports(plan, reports)
    score = np.tile(np.log(model.class_shares_), (6, 1))
    for part, column, table in zip(
        plan.document.parts, reports.records.columns, model.tables_.values(), strict=True
    ):
        law = part.law
        assert isinstance(law, dn.law.Law)
        channel = np.full((part.k, part.k), law.q) + np.eye(part.k) * (law.p - law.q)
        score += model.temper_ * np.log(channel[column] @ table.T)
    expected = np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    sampled = model.plan_.privatize({**few, "ill": ill[:6]}, dn.seeded(3))
    assert model.predict_reports(model.plan_, sampled).shape == (6,)
    joint = make_model("protected").make_plan(10)
    with pytest.raises(InvalidReport, match="which is to be predicted"):
        model.predict_reports(joint, joint.privatize({**few, "ill": ill[:6]}))


def test_evidence_is_tempered() -> None:
    """Columns that say the same thing twice: half of the evidence is nearer to the truth than all of it."""
    draw = np.random.default_rng(13)
    ill = draw.random(20_000) < 0.5
    told = np.where(draw.random(20_000) < 0.8, ill, ~ill)
    domains = {"one": [False, True], "two": [False, True], "ill": [False, True]}
    for temper, sure in ((0.5, 0.8), (1.0, 16 / 17)):
        model = dn.learn.PrivateNaiveBayes(6.0, domains, "ill", temper=temper, words=dn.seeded(1))
        model.fit({"one": told, "two": told}, ill)
        assert abs(model.predict_proba({"one": [True], "two": [True]})[0, 1] - sure) < 0.02


def test_missing_answers_say_nothing_and_are_not_learned_from() -> None:
    rows, ill = make_people(2000, 14)
    model = make_model(words=dn.seeded(1)).fit(rows, ill)
    nothing = model.predict_proba({"age": [None], "town": [None], "sex": [None]})
    np.testing.assert_allclose(nothing[0], model.class_shares_)
    with pytest.raises(InvalidValue, match="age"):
        make_model().fit({**rows, "age": [None, *rows["age"][1:]]}, ill)


def test_missing_columns_say_nothing_and_are_not_learned_from() -> None:
    rows, ill = make_people(2000, 14)
    model = make_model(words=dn.seeded(1)).fit(pd.DataFrame(rows), ill)
    some = {"age": rows["age"][:9], "sex": rows["sex"][:9]}
    wanted = model.predict_proba({**some, "town": [None] * 9})
    for table in (some, pd.DataFrame(some), pl.DataFrame(some)):
        np.testing.assert_array_equal(model.predict_proba(table), wanted)
    assert (wanted != model.predict_proba({name: column[:9] for name, column in rows.items()})).any()
    with pytest.raises(InvalidValue, match="'sx' has no domain"):
        model.predict({"age": [20], "sx": ["f"]})
    for learn in (make_model().fit, model.partial_fit):
        with pytest.raises(InvalidValue, match="town"):
            learn(some, ill[:9])
    with pytest.raises(InvalidValue):
        model.predict({})
