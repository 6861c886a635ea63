"""Questions that people expect: all that apply, scales, dates, conditions, and missing answers."""

from __future__ import annotations

import copy
import json
import math
import pickle
import re
import tomllib
from dataclasses import replace
from datetime import date
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.arrays import Floats, Integers
from deniable.audit.setting import make_named_pairs
from deniable.client import Client
from deniable.errors import InvalidParameter, InvalidValue
from deniable.formatting import format_nats, format_up
from deniable.mechanisms import Mechanism
from deniable.plan.metric_losses import loss_to_random
from deniable.results.findings import Findings, FindingsRequest
from deniable.results.respondents import cumulative_shares
from deniable.show.plot import plot_findings
from deniable.show.text import write_text
from deniable.study import Plan, Result
from deniable.study.questionnaire import divide_pages
from deniable.wire import Wire
from spec.make import questionnaires
from tests import statistics
from tests.plan.test_plan import VALIDATOR
from tests.running import Run
from tests.statistics import ANSWERED_STUDIES, COVERED

STUDY = f"""
title = "Media and work"
epsilon = 2

[survey]
pages = [["works", "hours"], ["media", "mood", "age"]]

{questionnaires.TABLES}
[attributes.age]
low = 0
high = 100
step = 5
privacy = "metric"
epsilon = 0.05
missing = true
"""
PERSON: dict[str, Any] = {"works": "yes", "hours": 25, "media": ["tv", "web"], "mood": 6, "age": 47}


@pytest.fixture(scope="module")
def plan() -> Plan:
    return dn.Study.from_dict(tomllib.loads(STUDY)).plan(people=5000)


def test_a_file_and_python_give_the_same_study(plan: Plan) -> None:
    made = dn.Study(
        {
            "works": ["yes", "no"],
            "hours": dn.Range(0, 60, step=20),
            "media": dn.Several(["tv", "radio", "web"]),
            "mood": dn.Range.scale(1, 7),
            "age": dn.Range(0, 100, step=5, privacy="metric", epsilon=0.05),
        },
        epsilon=2,
        title="Media and work",
        missing={"hours": True, "age": "value"},
        only_if={"hours": {"works": ["yes"]}},
        survey=dn.Texts(
            questions={"media": {"en": "Which media do you use?", "de": "Welche Medien nutzen Sie?"}},
            labels={"media": {"de": ["Fernsehen", "Radio", "Netz"]}},
            ends={"mood": {"en": ["not at all", "very much"], "de": ["gar nicht", "sehr"]}},
            pages=[["works", "hours"], ["media", "mood", "age"]],
            other=["media"],
        ),
    )
    assert dn.Study.from_dict(tomllib.loads(STUDY)) == made
    for copied in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert copied == made
        assert hash(copied) == hash(made)
    assert made.plan(people=5000) == plan
    assert Plan.from_json(plan.to_json()) == plan
    VALIDATOR.validate(json.loads(plan.to_json()))


def test_a_question_becomes_attributes_with_the_values_that_it_needs(plan: Plan) -> None:
    assert set(plan.names) == {
        "works",
        "hours",
        *("media: tv", "media: radio", "media: web"),
        "mood",
        "age: answered",
        "age",
    }
    assert plan.labels["hours"][-2:] == ("not applicable", "no answer")
    assert plan.labels["mood"] == tuple("1234567")
    assert plan.labels["media: web"] == plan.labels["age: answered"] == ("yes", "no")
    assert plan.document.missing == "refuse"


def test_a_plan_without_such_questions_is_as_before() -> None:
    fields = json.loads(dn.Study({"works": ["yes", "no"]}, epsilon=1).plan(10).to_json())["attributes"][0]
    assert set(fields) == {"name", "domain"}


def test_answers_become_codes_and_what_does_not_apply_is_filled_in(plan: Plan) -> None:
    people = [PERSON, PERSON | {"works": "no", "hours": None, "media": [], "age": None}]
    codes = dict(zip(plan.names, plan.encode(people).tolist(), strict=True))
    assert codes["hours"] == [1, 3]
    assert [codes[f"media: {one}"] for one in ("tv", "radio", "web")] == [[0, 1], [1, 1], [0, 1]]
    assert codes["mood"] == [5, 5]
    assert codes["age: answered"] == [0, 1]
    assert codes["age"] == [9, -1]
    client = Client(plan, secret=bytes(32), plan_cap=100)
    left_out = {name: answer for name, answer in people[1].items() if answer is not None}
    assert client.report(left_out) == Client(plan, secret=bytes(32), plan_cap=100).report(people[1])


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"works": "no"}, "'hours' has an answer, but is asked only if 'works' is yes; leave it out"),
        ({"hours": "not applicable"}, "'hours' is 'not applicable', but it applies, since 'works' is yes"),
        ({"media": ["tv", "paper"]}, "'paper' is not an option of 'media' (tv, radio, web)"),
        ({"media": None}, "'media' has no answer"),
        ({"media: tv": "yes"}, "there is a column 'media', and also 'media: tv'"),
        ({"mood": 8}, "8 is not a value of 'mood' (1 to 7)"),
        ({"mood": 2.5}, "2.5 is not a whole number, as 'mood' asks for"),
    ],
)
def test_an_answer_that_contradicts_another_is_refused(plan: Plan, changed: Any, why: str) -> None:
    with pytest.raises(InvalidValue, match=re.escape(why)):
        Client(plan, secret=bytes(32), plan_cap=100).report(PERSON | changed)


def test_every_answer_that_one_client_refuses_the_other_does() -> None:
    work = questionnaires.plans()["work"]
    for answers in questionnaires.REFUSED:
        with pytest.raises((InvalidValue, InvalidParameter)):
            Client(work, secret=bytes(32), plan_cap=100).report(answers)


def test_tables_have_a_column_per_option_or_one_with_separators(plan: Plan, run: Run, tmp_path: Path) -> None:
    """Of files, too; an answer that contradicts a condition is refused, and nothing is written."""
    rows = "yes,25,{},6,47\nno,,{},6,\n"
    names = ("works", "hours", "media", "mood", "age")
    one = ",".join(names) + "\n" + rows.format("tv; web", "none of these")
    many = ",".join(names).replace("media", "media: tv,media: radio,media: web") + "\n"
    many += rows.format("yes,no,yes", "no,no,no")
    known, found = str(plan.write(tmp_path / "plan.json")), []
    for number, text in enumerate((one, many)):
        (tmp_path / f"{number}.csv").write_text(text, encoding="utf-8")
        out = str(tmp_path / f"{number}.parquet")
        told = run("privatize", known, str(tmp_path / f"{number}.csv"), "--out", out, "--seed", "1")
        assert told.code == 0, told.err
        [block] = plan.read_reports(tmp_path / f"{number}.parquet")
        found.append(Wire(plan.document).bodies(block))
    assert found[0] == found[1]
    wrong = tmp_path / "wrong.parquet"
    for before, after, why in (
        ("no,,", "no,25,", "'hours' has an answer, but is asked only if 'works' is yes"),
        ("none of these", "tv; paper", "'paper' is not an option of 'media' (tv, radio, web)"),
    ):
        (tmp_path / "wrong.csv").write_text(one.replace(before, after), encoding="utf-8")
        refused = run("privatize", known, str(tmp_path / "wrong.csv"), "--out", str(wrong))
        assert refused.err.startswith(f"error: wrong.csv, line 3: {why}")
    assert not wrong.exists()
    with pytest.raises(InvalidValue, match=r"row 1, counting from 0: the answer to 'media' [^']*$"):
        plan.encode([PERSON, PERSON | {"media": "tv; paper"}])
    assert "'media' asks for all that apply of tv, radio, web" in run("verify", known).out


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"only_if": {"mood": {"works": "yes"}, "works": {"mood": 1}}}, "'mood' must stand before it"),
        ({"only_if": {"hours": {"work": "yes"}}}, "no question 'work' before it (works); did you mean"),
        ({"only_if": {"mood": {"hours": 1}}}, "ask a yes/no question beside it"),
        ({"only_if": {"mood": {"works": "maybe"}}}, "'maybe' is not a value of 'works'"),
        ({"only_if": {"mood": {"works": ["yes", "no"]}}}, "some of its values"),
        ({"only_if": {"mood": "works"}}, "names one attribute and its values"),
        ({"only_if": {"mood": {"media": "paper"}}}, "can depend on one option of 'media'"),
        ({"missing": {"shoes": True}}, "'shoes' is not an attribute"),
        ({"missing": {"mood": "maybe"}}, "'maybe' is not a policy"),
        (
            {"missing": {"works": "random"}, "only_if": {"mood": {"works": "yes"}}},
            "\"random\" of 'works' does",
        ),
        (
            {"missing": {"media": "random"}, "only_if": {"mood": {"media": "tv"}}},
            "\"random\" of 'media' does",
        ),
        ({"missing": "random", "only_if": {"mood": {"works": "yes"}}}, "\"random\" of 'mood' does"),
        ({"missing": {"hours": "random"}, "only_if": {"hours": {"works": "yes"}}}, 'use missing = "value"'),
        ({"survey": dn.Texts(pages=[["works"], ["hours"]])}, "pages have every question once"),
        ({"survey": dn.Texts(ends={"hours": ["a", "b"]})}, "it is not a scale"),
        ({"survey": dn.Texts(other=["mood"])}, "no last answer that stands for others"),
        ({"survey": dn.Texts(other=["shoes"])}, "'shoes' is not an attribute"),
        ({"survey": dn.Texts(ends={"mood": ["a", "b"]}, pages=[["mood", "hours", "works", "media"]])}, ""),
    ],
)
def test_what_a_study_may_not_ask(changed: dict[str, Any], why: str) -> None:
    questions = {
        "works": ["yes", "no"],
        "hours": dn.Range(0, 60, step=20),
        "media": dn.Several(["tv", "web"]),
        "mood": dn.Range.scale(1, 7),
    }
    if not why:
        dn.Study(questions, epsilon=1.0, **changed)
        return
    with pytest.raises(InvalidParameter, match=re.escape(why)):
        dn.Study(questions, epsilon=1.0, **changed)


@pytest.mark.parametrize("options", [["tv"], ["tv", "tv"], ["a;b", "c"], ["none of these", "tv"], "tv"])
def test_what_options_may_not_be(options: Any) -> None:
    with pytest.raises(InvalidParameter):
        dn.Several(options)


def test_dates_are_counted_by_month_or_year() -> None:
    months = dn.Range.dates("2024-11-01", date(2025, 2, 28))
    assert months.labels == ("2024-11", "2024-12", "2025-01", "2025-02")
    assert months.encode(["2024-11", date(2025, 1, 31), "2025-02-01"]).tolist() == [0, 2, 3]
    years = dn.Range.dates("2020-01-01", "2026-12-31", by="year")
    assert years.encode([2020, "2026", "2021-05-06", date(2022, 1, 1)]).tolist() == [0, 6, 1, 2]
    for wrong in ("2025-03", "2025", "March", 2025, "2025-1"):
        with pytest.raises(InvalidValue):
            months.encode([wrong])
    for ends in (("2025", "2026"), ("2026-01", "2025-01")):
        with pytest.raises(InvalidParameter):
            dn.Range.dates(*ends)


def test_the_mean_of_a_scale_is_of_its_numbers() -> None:
    plan = Plan.of({"mood": dn.Range.scale(1, 5)}, dn.grr(5, 12.0), people=1000)
    found = plan.estimate(plan.tally(plan.privatize({"mood": [2, 2, 4, 4] * 250}, dn.seeded(1))))
    assert found.mean("mood").value == pytest.approx(3, abs=0.01)
    assert found.mean("mood").within == 0


def test_questions_keep_their_order_where_the_plan_has_another() -> None:
    ages = dn.Range(0, 100, step=5, privacy="metric", epsilon=0.1)
    study = dn.Study(
        {"age": ages, "works": ["yes", "no"], "why": list("abcde")},
        epsilon=1.0,
        only_if={"why": {"works": "no"}},
    )
    plan = study.plan(people=10_000)
    pages = () if plan.document.texts is None else plan.document.texts.pages
    assert plan.names == ("age", "works", "why") or pages == (("age", "works", "why"),)
    assert divide_pages(list("abcdefg")) == [["a", "b", "c"], ["d", "e", "f", "g"]]


def people_of(n: int, draw: np.random.Generator) -> dict[str, Any]:
    """Seven in ten work. Of these, hours grow with age; half of them say their age and pay."""
    works, says = draw.random(n) < 0.7, draw.random(n) < 0.5
    age: Integers = draw.integers(60, 100, n)
    return {
        "works": np.where(works, "yes", "no").tolist(),
        "hours": [float(draw.integers(0, 30)) if one else None for one in works],
        "age": [float(one) if told else None for one, told in zip(age, says, strict=True)],
        "pay": [900.0 if one else None for one in works],
    }


FILLED = dn.Study(
    {
        "works": ["yes", "no"],
        "hours": dn.Range(0, 60, step=10),
        "age": dn.Range(0, 100, step=20, privacy="metric", epsilon=0.05),
        "pay": dn.Number(0, 1000),
    },
    epsilon=6.0,
    missing={"age": True},
    only_if={"hours": {"works": "yes"}, "pay": {"works": "yes"}},
    mechanism="split",
)


@pytest.mark.long
def test_shares_and_means_of_those_who_answered_hold_as_often_as_they_say() -> None:
    """The share of ten hours among people who work, the mean age of those who say it, and the mean pay.

    An interval that takes the share who answered for certain, or for the whole, misses far more often.
    """
    plan, draw = FILLED.plan(people=500), np.random.default_rng(3)
    truths = {"hours": 1 / 3, "age": 80.0, "pay": 900.0, "mean hours": 15.0, "the oldest": 0.5}
    below = {"hours": (0, 1 / 3), "age": (3, 0.5)}
    held: dict[str, list[bool]] = {name: [] for name in (*truths, *(f"{name} below" for name in below))}
    whole: list[bool] = []
    halved: list[bool] = []
    n, studies = 500, ANSWERED_STUDIES
    codes = plan.encode(people_of(n * studies, draw))
    for study in range(studies):
        rows = codes[:, study * n : (study + 1) * n]
        found = plan.estimate(plan.tally(plan.privatize_codes(rows, dn.seeded(study))))
        shown = {
            "hours": found.among("hours")["10 to under 20"],
            "age": found.mean("age"),
            "pay": found.mean("pay"),
            "mean hours": found.mean("hours"),
            "the oldest": dn.summaries.Summary(
                *(float(one[4]) for one in Findings(found.numbers).unbiased["age"])
            ),
        }
        for name, (code, true) in below.items():
            reached, errors = (one[code] for one in cumulative_shares(found.numbers, name, true))
            held[f"{name} below"].append(bool(abs(reached - true) <= 1.96 * errors))
            halved.append(bool(abs(reached - true) <= 0.98 * errors))
        for name, one in shown.items():
            held[name].append(one.low <= truths[name] <= one.high)
        low, high = found["hours"].interval()
        whole.append(bool(low[1] <= truths["hours"] <= high[1]))
    for name, each in held.items():
        statistics.at_least(sum(each), len(each), COVERED, f"the interval of {name} misses too often")
    assert np.mean(whole) < 0.85
    assert np.mean(halved) < 0.85, "half of the error is too little"


def test_a_scale_with_prefer_not_to_say_has_a_mean_and_a_median() -> None:
    """The plan promised a median, and no result had one."""
    study = dn.Study({"mood": dn.Range.scale(1, 7), "x": ["a", "b"]}, epsilon=6, missing={"mood": True})
    plan = study.plan(people=2000)
    people = {"mood": [5] * 1000 + [6] * 600 + [None] * 400, "x": ["a"] * 2000}
    found = plan.estimate(plan.tally(plan.privatize(people, dn.seeded(1))))
    promised = {one.what for one in plan.precisions() if one.attribute == "mood"}
    assert promised <= {"share", "mean", "median"}
    mean, median = found.mean("mood"), found.quantile("mood")
    assert mean.low < 5.375 < mean.high
    assert mean.high - mean.low < 0.5
    assert median.low <= 5 <= median.high
    about = Findings(found.numbers).about()
    for rows in (about["means"], about["quantiles"]):
        assert [row["among"] for row in rows if row["attribute"] == "mood"] == ["those who answered"]
    assert all("among" not in row for row in about["rows"]), "shares are of everybody"
    assert ", of those who answered" in str(found)
    few = plan.estimate(plan.tally(plan.privatize({"mood": [None] * 60, "x": ["a"] * 60}, dn.seeded(1))))
    assert (few.mean("mood").low, few.mean("mood").high) == (1, 7), "nobody answered, so all is possible"


def test_shares_are_of_those_who_answered_where_others_have_random_values() -> None:
    """All who say their age are 35. The dashboard said that six in ten people are."""
    ages = dn.Range(0, 100, step=1, privacy="metric", epsilon=0.5)
    plan = dn.Study({"age": ages, "pay": dn.Number(0, 10)}, epsilon=6, missing="value").plan(people=3000)
    people = {"age": [35] * 1500 + [None] * 1500, "pay": [5.0] * 3000}
    found = Findings(plan.estimate(plan.tally(plan.privatize(people, dn.seeded(1)))).numbers)
    about = found.about()
    group = next(row for row in about["groups"] if row["value"] == "30 to under 40")
    assert group["among"] == "those who answered"
    assert group["low"] <= 1 <= group["high"]
    assert group["share"] > 0.9
    assert group["count"] == pytest.approx(1500, rel=0.1)
    ages_shown = [row for row in about["rows"] if row["attribute"] == "age"]
    assert {row["among"] for row in ages_shown} == {"those who answered"}
    assert sum(row["share"] for row in ages_shown) == pytest.approx(1)
    assert [row["among"] for row in about["means"]] == ["those who answered"] * 2
    (median,) = about["quantiles"]
    assert median["low"] <= 35 <= median["high"]
    assert "age (3,000 reports by everybody; about" in write_text(found)
    assert "are those who answered), nearest possible shares of these" in write_text(found)
    assert plot_findings(found).axes
    assert plot_findings(found, unbiased=True).axes
    asked = Findings.read(found.estimates, request=FindingsRequest(mle=True))
    assert "values of people without an answer are random" in asked.refused["age"]
    drawn = dn.Study({"a": ["x", "y"]}, epsilon=3, missing="random").plan(people=500)
    mixed = drawn.estimate(drawn.tally(drawn.privatize({"a": ["x"] * 100 + [None] * 400}, dn.seeded(1))))
    assert "all reports, with random values in place of missing answers" in str(mixed)


def test_a_mean_of_those_who_answered_is_not_made_from_random_values() -> None:
    """Half of all are random, and half of these look like people who answered: 702 of 900 would be shown."""
    study = dn.Study(
        {"works": ["yes", "no"], "pay": dn.Number(0, 1000)}, 4.0, only_if={"pay": {"works": "yes"}}
    )
    fields = study.plan(people=100).document
    for name in ("works", "pay"):
        attributes = tuple(
            replace(one, missing="random") if one.name == name else one for one in fields.attributes
        )
        plan = Plan.of({one.name: one for one in attributes}, fields.mechanism, people=100)
        people = {"works": ["yes"] * 60 + ["no"] * 40, "pay": [900.0] * 60 + [None] * 40}
        found = plan.estimate(plan.tally(plan.privatize(people, dn.seeded(1))))
        assert list(found) == ["works"]
        assert f"a missing answer to {name!r} is a random value, so it is not known who answered" in str(
            found
        )
    alone = Plan.of({"mood": dn.Range.scale(1, 5)}, dn.grr(5, 2.0), people=100, missing="random")
    mood = alone.estimate(alone.tally(alone.privatize({"mood": [2] * 50}, dn.seeded(1))))
    with pytest.raises(InvalidParameter, match='make a plan with missing = "value"'):
        mood.among("mood")


def test_shares_of_those_who_answered_are_possible() -> None:
    """At this epsilon nearly all have an end, or are themselves, below 0 or above 1 before they are cut."""
    study = dn.Study(
        {"works": ["yes", "no"], "hours": ["a", "b", "c"]},
        epsilon=1,
        missing={"hours": True},
        only_if={"hours": {"works": "yes"}},
    )
    plan = study.plan(people=600)
    codes = plan.encode(
        {"works": ["yes"] * 300 + ["no"] * 300, "hours": ["a"] * 270 + ["b"] * 30 + [None] * 300}
    )
    for seed in range(10):
        found = plan.estimate(plan.tally(plan.privatize_codes(codes, dn.seeded(seed))))
        for one in found.among("hours").values():
            assert 0 <= one.low <= one.high <= 1
            assert np.isnan(one.value) or one.low <= one.value <= one.high


def test_results_show_shares_of_those_to_whom_a_question_applies() -> None:
    """Margins of the plan were about these, and results had shares of everybody only.

    Fixed noise of 4,000 people: two thirds of those who work are in an office.
    """
    study = dn.Study(
        {"works": ["yes", "no"], "job": ["office", "shop", "field"]},
        epsilon=6,
        only_if={"job": {"works": "yes"}},
    )
    plan = study.plan(people=4000)
    jobs = ["office"] * 1000 + ["shop"] * 500 + [None] * 2500
    people = {"works": ["no" if one is None else "yes" for one in jobs], "job": jobs}
    found = Findings(plan.estimate(plan.tally(plan.privatize(people, dn.seeded(1)))).numbers)
    rows = found.about()["among"]
    assert [row["value"] for row in rows] == ["office", "shop", "field"]
    assert {row["among"] for row in rows} == {"those to whom it applies"}
    assert sum(row["share"] for row in rows) == pytest.approx(1)
    for row, true in zip(rows, (2 / 3, 1 / 3, 0.0), strict=True):
        assert 0 <= row["low"] <= true <= row["high"] <= 1
        assert not row["noisy"]
    every = [row for row in found.rows.values if row["attribute"] == "job"]
    for row, one in zip(rows, every, strict=False):
        assert row["count"] == pytest.approx(one["count"])
    raw = Result(found.estimates).among("job")["office"]
    assert (rows[0]["low"], rows[0]["high"]) == (raw.low, raw.high)
    assert [row["value"] for row in found.rows.table() if row["kind"] == "among"] == [
        "office",
        "shop",
        "field",
    ]
    assert "job, of those to whom it applies\n" in write_text(found)
    titles = " ".join(axes.get_title(loc="left").replace("\n", " ") for axes in plot_findings(found).axes)
    assert "of those to whom it applies" in titles
    nobody = {"works": ["no"] * 300, "job": [None] * 300}
    none = Findings(plan.estimate(plan.tally(plan.privatize(nobody, dn.seeded(1)))).numbers).about()["among"]
    assert all(row["noisy"] for row in none), "nothing is known of people who do not exist"


@pytest.mark.parametrize("asked", [dn.Range(0, 50, step=10, privacy="metric", epsilon=0.1), dn.Number(0, 50)])
def test_results_are_read_where_hardly_anybody_answered(asked: dn.Range | dn.Number) -> None:
    """Errors are infinite if noise leaves nobody who answered."""
    plan = dn.Study({"x": asked}, epsilon=0.5, missing="value").plan(people=100)
    for seed in (1, 6, 7, 10):
        reports = plan.privatize({"x": [5.0] + [None] * 99}, dn.seeded(seed))
        found = Findings(plan.estimate(plan.tally(reports)).numbers)
        [mean] = [noise for noise in found.noise if noise.what == "mean"]
        assert mean.people > 100
        assert "it takes over 10,000,000 people in place of 100" in write_text(found)


def test_shares_of_those_who_answered_are_those_of_the_table() -> None:
    age = dn.Range(0, 50, step=10, privacy="metric", epsilon=0.1)
    plan = dn.Study({"age": age}, epsilon=2.0, missing="value").plan(people=1000)
    people = {"age": [5] * 400 + [25] * 400 + [None] * 200}
    result = plan.estimate(plan.tally(plan.privatize(people, dn.seeded(1))))
    columns = np.clip(Findings(result.numbers).unbiased["age"], 0, 1)
    among = [(share.value, share.stderr, share.low, share.high) for share in result.among("age").values()]
    np.testing.assert_allclose(np.transpose(among), columns)


def test_what_nobody_reported_does_not_hide_other_results() -> None:
    """Where nobody said whether there is an answer, a mean that takes all values for answers is not shown."""
    study = dn.Study(
        {
            "age": dn.Range(0, 100, step=10, privacy="metric", epsilon=0.3),
            "x": ["a", "b"],
            "pay": dn.Number(0, 1000),
        },
        epsilon=2,
        missing={"age": True, "pay": True},
    )
    plan = study.plan(people=400)
    people = {"age": [35] * 40, "x": ["a"] * 40, "pay": [900.0] * 40}
    whole = plan.tally(plan.privatize(people, dn.seeded(1)))
    nothing = plan.tally([])
    for name, lost in (("age: answered", "age"), ("pay: answered", "pay")):
        some = replace(whole, tallies={**whole.tallies, name: nothing.tallies[name]})
        found = Findings.read(plan.estimate(some).numbers)
        assert set(plan.names) - set(found.estimates) == {name, lost}
        assert f"nobody reported {name!r} yet, which says who answered" in write_text(found)
        assert lost not in found.means
        assert "x" in found.shares


def test_an_open_end_has_no_mean_of_those_who_answered_either() -> None:
    study = dn.Study(
        {"age": dn.Range(0, 100, step=10, open_high=True, privacy="metric", epsilon=0.3)},
        epsilon=12,
        missing={"age": True},
        mechanism="split",
    )
    plan = study.plan(people=4000)
    people = {"age": [5] * 1000 + [95] * 1000 + [None] * 2000}
    found = plan.estimate(plan.tally(plan.privatize(people, dn.seeded(1))))
    with pytest.raises(InvalidParameter, match="'age' has an open end"):
        found.mean("age")
    told = found.mean("age", ends=(5, 500))
    assert told.low < 252.5 < told.high
    assert told.high - told.low < 100


def test_whether_there_is_an_answer_weighs_as_much_as_its_question() -> None:
    ages = dn.Range(0, 100, step=10, privacy="metric", epsilon=0.3)
    study = dn.Study({"age": ages, "x": ["a", "b"]}, 2, missing={"age": True}, importance={"age": 3})
    weights = {name: one.importance for name, one in study.inquiry.build_task()[0].items()}
    assert weights == {"age: answered": 3, "age": 3, "x": 1}


def direct_table(part: Mechanism) -> Floats:
    """How likely each report of `grr` is, a row for each value."""
    law: Any = part.law
    same, other = float(law.p), float(law.q)
    return np.full((part.k, part.k), other) + (same - other) * np.eye(part.k)


def test_one_answer_loses_no_more_than_is_stated() -> None:
    """All pairs of people who differ in one answer, and in what follows from it, by the law of their reports.

    A loss per attribute is less than what one answer loses.
    """
    study = dn.Study(
        {"media": dn.Several(["tv", "web"]), "works": ["yes", "no"], "hours": ["a", "b"], "why": ["c", "d"]},
        epsilon=3,
        missing={"hours": True},
        only_if={"hours": {"works": "yes"}, "why": {"hours": "a"}},
        mechanism="split",
        protocol="grr",
    )
    plan = study.plan(people=1000)
    works = [
        ("yes", "a", "c"),
        ("yes", "a", "d"),
        ("yes", "b", None),
        ("yes", None, None),
        ("no", None, None),
    ]
    media: list[list[str]] = [[], ["tv"], ["web"], ["tv", "web"]]
    people = [(chosen, *rest) for chosen in media for rest in works]
    codes = plan.encode([dict(zip(study.attributes, one, strict=True)) for one in people]).T
    tables = [np.log(direct_table(part)) for part in plan.mechanism.mechanisms]
    worst = dict.fromkeys(study.attributes, 0.0)
    for i, j in product(range(len(people)), repeat=2):
        differ = [
            name
            for name, *both in zip(study.attributes, people[i], people[j], strict=True)
            if both[0] != both[1]
        ]
        if differ and (len(differ) == 1 or "media" not in differ):
            lost = sum(
                float((table[a] - table[b]).max())
                for table, a, b in zip(tables, codes[i], codes[j], strict=True)
            )
            worst[differ[0]] = max(worst[differ[0]], lost)
    assert plan.loss.answer is not None
    assert max(worst.values()) == pytest.approx(plan.loss.answer, abs=1e-9)
    assert worst["media"] == pytest.approx(plan.document.loss_among(["media: tv", "media: web"]), abs=1e-9)
    assert plan.loss.attribute < 0.9 * worst["media"]
    assert f"{format_nats(plan.loss.answer)} per answer" in plan.explain()
    assert dn.Study({"works": ["yes", "no"]}, 1).plan(people=100).loss.answer is None


@pytest.mark.parametrize(
    "questions",
    [
        {"attributes": {"x": ["a", "b"], "media": dn.Several(["tv", "web"])}},
        {"attributes": {"x": ["a", "b"], "pay": dn.Number(0, 9)}, "missing": {"pay": True}},
        {"attributes": {"x": ["a", "b"], "y": ["a", "b"]}, "only_if": {"y": {"x": "a"}}},
    ],
)
def test_a_budget_per_attribute_is_for_answers_that_are_one(questions: dict[str, Any]) -> None:
    with pytest.raises(
        InvalidParameter, match=r"can change 2 \(.*\), and would lose more; use per = 'record'"
    ):
        dn.Study(epsilon=1.0, per="attribute", **questions)


def test_no_answer_differs_from_any_value_by_what_is_stated() -> None:
    """The uniform mixture of all ages, against each; the report of whether it is answered adds to it."""
    ages = dn.Range(0, 100, step=1, privacy="metric", epsilon=0.1)
    study = dn.Study(
        {"age": ages, "pay": dn.Number(0, 9)}, 2, missing={"age": True, "pay": True}, mechanism="split"
    )
    plan = study.plan(people=1000)
    parts = dict(zip(plan.names, plan.mechanism.mechanisms, strict=True))
    assert isinstance(parts["age"], dn.metric.Geometric)
    law = parts["age"].table()
    apart = float(np.abs(np.log(law / law.mean(axis=0))).max())
    own, is_exact = loss_to_random(parts["age"])
    assert is_exact
    assert own == pytest.approx(apart, abs=1e-9)
    assert own < 0.9 * parts["age"].loss()
    assert loss_to_random(parts["pay"]) == (parts["pay"].loss(), False)
    text = " ".join(plan.explain().split())
    both = format_up(own + parts["age: answered"].loss())
    assert f"the report of 'age' itself loses at most {format_up(own)} (compared with the mixture" in text
    assert f"a whole report at most {both}" in text
    assert (
        f"the report of 'pay' itself loses at most {format_up(parts['pay'].loss())} (a bound: its "
        "worst case)" in text
    )


def test_the_loss_of_an_optional_metric_value_is_said_to_be_a_bound() -> None:
    """Who gives no answer has a random age: nobody differs by both worst cases. All pairs are enumerated."""
    study = dn.Study(
        {"age": dn.Range(0, 5, step=1, privacy="metric", epsilon=0.5)},
        1,
        missing={"age": True},
        mechanism="split",
    )
    plan = study.plan(people=1000)
    age, answered = (plan.mechanism.mechanisms[plan.names.index(name)] for name in ("age", "age: answered"))
    assert isinstance(age, dn.metric.Geometric)
    law, coin = age.table(), 1 / (1 + math.exp(-answered.loss()))
    people = [np.outer([coin, 1 - coin], row) for row in law]
    people.append(np.outer([1 - coin, coin], law.mean(axis=0)))
    lost = max(float(np.log(one / other).max()) for one in people for other in people)
    assert (plan.loss.record, lost) == pytest.approx((3.0, 2.238), abs=0.001)
    text = " ".join(plan.explain().split())
    assert "What one report gives away (at most, rounded up, in nats)" in text
    assert f"no two people lose more than {format_up(lost)} by both attributes" in text
    assert f"it adds up the worst case of each, {format_up(plan.loss.record)}" in text
    sampled = replace(study, mechanism="sample").plan(people=1000)
    assert "gives away (exact, rounded up, in nats)" in sampled.explain(), "of one attribute nothing is added"


def test_guesses_from_all_that_depends_on_each_other_are_stated() -> None:
    """Of four questions that apply or not, an exact guess of the first is right more often than from its own
    report. With fakes it is bounded.
    """
    names = ["c1", "c2", "c3", "c4"]
    study = dn.Study(
        {"works": ["yes", "no"], **{name: ["a", "b"] for name in names}},
        epsilon=4,
        mechanism="split",
        protocol="grr",
        only_if={name: {"works": "yes"} for name in names},
    )
    plan = study.plan(people=1000)
    first, *rest = [direct_table(part) for part in plan.mechanism.mechanisms]
    yes, no = first[0], first[1]
    for table in rest:
        yes, no = np.multiply.outer(yes, (table[0] + table[1]) / 2), np.multiply.outer(no, table[2])
    best = float(np.maximum(yes, no).sum() / 2)
    text = " ".join(plan.explain().split())
    assert plan.mechanism.mechanisms[0].success() < 0.7 < 0.76 < best
    assert f"is right about 'works' {100 * best:.1f} % (blind 50.0 %)" in text
    faked = " ".join(replace(study, mechanism="faked").plan(people=1000).explain().split())
    stated = re.search(r"'works' at most ([\d.]+) % \(a bound;", faked)
    assert stated is not None
    assert best <= float(stated[1]) / 100
    assert "a bound" not in dn.Study({"works": ["yes", "no"]}, 1).plan(people=100).explain()


def test_results_show_one_block_for_a_question_with_several_answers() -> None:
    """And say whom shares of metric values are about."""
    plans = questionnaires.plans()
    work = plans["work"]
    text = str(
        work.estimate(work.tally(work.privatize([questionnaires.ANSWERS["work"][0]] * 50, dn.seeded(1))))
    )
    block = text[text.index("media, all that apply: who chose each") :].split("\n\n")[0]
    names = re.findall(r"^ +(\w+) ", block, re.M)
    assert names == ["value", "tv", "web", "noise"]
    assert block.splitlines()[1] == "Which?"
    assert block.splitlines()[2].split()[-1] == "reports"
    assert (
        " options are too noisy to read: to be readable at all it takes about" in block
        or "1 of 2 options is" in block
    )
    assert "media: tv" not in text
    distant = plans["distant"]
    people = [questionnaires.ANSWERS["distant"][0]] * 50
    found = distant.estimate(distant.tally(distant.privatize(people, dn.seeded(1))))
    assert "of those to whom it applies and who answered" in str(found)
    assert re.search(
        r"^age \(50 reports by everybody; about [\d.]+ % \([\d.]+ to [\d.]+\) are those to whom it applies "
        r"and who answered\), nearest possible shares of these$",
        str(found),
        re.M,
    )
    [age, pay] = Findings.read(found.numbers).about()["respondents"]
    assert (age["attribute"], pay["attribute"]) == ("age", "pay")
    assert age["reports"] == 50
    share = found["age: answered"].frequencies[0]
    assert age["share"] == pytest.approx(min(max(share, 0), 1))
    assert age["low"] <= age["share"] <= age["high"]
    assert pay["among"] == "those to whom it applies"
    assert pay["text"] in str(found)
    assert found.has_quantiles("age")


def test_records_that_an_audit_compares_can_be_given() -> None:
    """And where the claim is of one attribute, one differs."""
    for plan in questionnaires.plans().values():
        for per in ("record", "attribute"):
            for pair in make_named_pairs(plan, "every", per, 1):
                plan.encode([dict(side[0]) for side in pair])
                differ = [name for name in plan.names if pair[0][0][name] != pair[1][0][name]]
                assert differ
                assert per == "record" or len(differ) == 1


def test_an_explanation_names_the_protocol_of_each_attribute() -> None:
    """Also where the plan has another order than the study."""
    ages = dn.Range(0, 100, step=5, privacy="metric", epsilon=0.1)
    study = dn.Study({"works": ["yes", "no"], "age": ages, "why": list("abcde")}, epsilon=1.0)
    lines = study.plan(people=10_000).explain().splitlines()
    assert any(re.match(r"age +20 +geometric ", line) for line in lines)


@pytest.mark.parametrize(
    ("policies", "wanted"),
    [
        (
            dict.fromkeys(("works", "media", "age"), True),
            "A missing answer to 'works' or 'media' is one more value, \"no answer\".",
        ),
        ({"age": True}, "A record with a missing answer to 'works' or 'media' is refused."),
        (
            {"media": "random"},
            "A record with a missing answer to 'works' or 'age' is refused. A missing answer to 'media' is a "
            "random value.",
        ),
        ({}, "A record with a missing answer is refused."),
    ],
)
def test_missing_answers_are_explained_by_question(policies: dict[str, Any], wanted: str) -> None:
    asked = {"works": ["yes", "no"], "media": dn.Several(["tv", "web"]), "age": dn.Number(0, 100)}
    text = " ".join(dn.Study(asked, epsilon=3.0, missing=policies).plan(people=5000).explain().split())
    assert f" secret random numbers. {wanted} 'media' asks for all that apply" in text
