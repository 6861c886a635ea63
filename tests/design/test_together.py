"""Answers that are read together: chosen on the design page, judged beforehand, and written into the file."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path
from typing import Any

import deniable as dn
from deniable.design.draft import Draft, Question
from deniable.design.preview import preview
from deniable.design.problems import check
from deniable.explain.table_precision import expect_tables

TEXT = """\
# Smoking.
title = "Town"
epsilon = 2.0

[attributes.age]
low = 18
high = 78
step = 12

[attributes.smoker]
values = ["yes", "no"]

[attributes.sex]
values = ["f", "m"]

[attributes.arm]
values = ["A", "B"]
known = true
"""
ASKED = (
    Question("age", {"low": 18, "high": 78, "step": 12}),
    Question("smoker", {"values": ["yes", "no"]}),
    Question("sex", {"values": ["f", "m"]}),
)


def test_tables_are_expected_as_margins_and_sample_sizes_say() -> None:
    """A pair as its attribute's own margins; of a view of three, each pair; by known groups, as is said."""
    asked: dict[str, Any] = {"age": dn.Range(20, 70, step=10), "smoker": ["yes", "no"]}
    plan = dn.Study(asked, epsilon=1.0, together=[("age", "smoker")]).plan(people=20_000)
    [table] = expect_tables(plan.document)
    cell, share = plan.precisions()
    assert math.isclose(table.cell.stderr, cell.stderr, rel_tol=1e-9)
    assert math.isclose(table.share.stderr, share.stderr, rel_tol=1e-9)
    assert (table.share.count, table.people_for_difference) == (2, 308_985)
    assert "takes 308,985 people" in table.describe()
    three = {name: ["yes", "no"] for name in "abc"}
    view = dn.Study(three, epsilon=1.0, together=[("a", "b", "c")]).plan(people=1000)
    assert view.names == ("a x b x c",)
    found = expect_tables(view.document)
    assert [(one.by, one.of) for one in found] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert math.isclose(1000 * found[0].cell.stderr ** 2, 4.845, rel_tol=0.001)  # the specification
    known = dn.Study(asked, epsilon=1.0, known=["age"]).plan(people=20_000)
    [by_group] = expect_tables(known.document)
    assert by_group.people_for_difference == 35_145
    assert f"known to within {by_group.share.format_margin()}" in known.explain().replace("\n", " ")


def test_long_ranges_are_expected_by_the_groups_that_are_read() -> None:
    asked: dict[str, Any] = {"age": dn.Range(0, 100), "smoker": ["yes", "no"]}
    plan = dn.Study(asked, epsilon=2.0, together=[("age", "smoker")]).plan(people=20_000)
    [table] = expect_tables(plan.document)
    assert table.cell.count == 20


def test_simulated_people_show_tables_beside_the_truth() -> None:
    plan = dn.Study.from_dict(tomllib.loads('together = [["age", "smoker"], ["sex", "smoker"]]\n' + TEXT))
    shown = preview(plan.plan(people=50_000), seed=3)
    assert shown["questions"] == []
    tables = {(one["of"], one["by"]): one for one in shown["tables"]}
    assert list(tables) == [
        ("smoker", "age"),
        ("smoker", "sex"),
        ("age", "arm"),
        ("smoker", "arm"),
        ("sex", "arm"),
    ]
    assert [one["value"] for one in tables["smoker", "arm"]["rows"]] == ["A", "B"]
    # 13 intervals of 95 %: three or more miss in 2.5 % of seeds, and this seed is fixed
    rows = [row for one in shown["tables"] for row in one["rows"]]
    assert sum(not row["low"] <= row["truth"] <= row["high"] for row in rows) <= 2
    spread = [row["truth"] for row in tables["smoker", "age"]["rows"]]
    assert max(spread) - min(spread) > 0.05  # answers depend on each other
    few = preview(plan.plan(people=1), seed=1)
    assert len(few["tables"]) < 5


def test_what_is_wrong_with_tables_is_blamed_there_and_the_rest_is_planned() -> None:
    study = {"epsilon": 1.0, "together": [["age", "none"]]}
    checked = check(Draft(study, ASKED), Path())
    [problem] = checked.problems
    assert (problem.question, problem.field) == (None, "together")
    assert "'none'" in problem.text
    assert checked.study is not None
    assert checked.study.together == ()
    both = check(Draft({"epsilon": 1.0, "together": [["age", "sex"]], "target": "age"}, ASKED), Path())
    assert [one.field for one in both.problems] == ["together"]


def test_tables_wait_for_questions_that_are_half_written() -> None:
    half = (*ASKED, Question("job", {"values": ["one"]}))
    tables = [["age", "smoker"], ["job", "smoker"]]
    checked = check(Draft({"epsilon": 1.0, "together": tables}, half), Path())
    assert [(one.question, one.field) for one in checked.problems] == [(3, "values")]
    assert checked.study is not None
    assert checked.study.together == (("age", "smoker"),)
    target = check(Draft({"epsilon": 1.0, "target": "job"}, half), Path())
    assert target.study is not None
    assert target.study.target is None
