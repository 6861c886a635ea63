"""`deniable estimate --range`: shares between two numbers, as text, as rows and by windows."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import deniable as dn
from deniable.results.findings import Findings, FindingsRequest
from deniable.results.range_queries import RangeQuery
from deniable.show.plot import plot_findings
from spec.make import levels
from tests.running import Run

N = 3000


@pytest.fixture
def reports(run: Run) -> dn.Plan:
    """The reports of 3,000 people over two days, in files of the folder that commands run in."""
    plan = levels.BESIDE.plan(people=N)
    answers = {"income": np.arange(N) % 1000, "sex": ["f", "m"] * (N // 2)}
    plan.write("plan.json")
    days = pa.table({"day": ["mon", "tue", "tue"] * (N // 3)})
    plan.write_reports("reports.parquet", plan.privatize(answers, dn.seeded(4)), beside=days)
    return plan


@pytest.mark.usefixtures("reports")
def test_any_range_is_shown_with_its_interval(run: Run) -> None:
    told = run("estimate", "plan.json", "reports.parquet", "--range", "200:500", "--range", "income=:300")
    assert told.code == 0, told.err
    assert "200 to under 500" in told.out
    assert "under 300" in told.out
    told = run("estimate", "plan.json", "reports.parquet", "--range", ":")
    assert "all values" in told.out, told.err
    about = json.loads(run("estimate", "plan.json", "reports.parquet", "--range", "200:500", "--json").out)
    [row] = about["ranges"]
    assert (row["attribute"], row["value"]) == ("income", "200 to under 500")
    assert row["unbiased_low"] < 0.3 < row["unbiased_high"]
    assert {row["attribute"] for row in about["groups"]} == {"income"}
    assert run("estimate", "plan.json", "reports.parquet", "--range", "200:500", "-o", "out.csv").code == 0


def test_a_plot_draws_the_ranges_that_are_asked_for(reports: dn.Plan) -> None:
    tallies = reports.tally("reports.parquet")
    asked = [RangeQuery(200, 500), RangeQuery(None, 300, "income")]
    for unbiased in (False, True):
        findings = Findings.read(reports.estimate(tallies).numbers, request=FindingsRequest(ranges=asked))
        figure = plot_findings(findings, unbiased=unbiased)
        titles = [axes.get_title(loc="left") for axes in figure.axes]
        assert [title.split(":")[0] for title in titles] == ["income", "income", "sex"]
        assert "ranges asked for" in " ".join(titles[1].split())
        labels = [text.get_text() for text in figure.axes[1].get_yticklabels()]
        assert labels == ["200 to under 500", "under 300"]


@pytest.mark.usefixtures("reports")
def test_windows_have_the_range_each(run: Run) -> None:
    told = run("estimate", "plan.json", "reports.parquet", "--by", "day", "--range", "200:500")
    assert told.code == 0, told.err
    assert told.out.count("200 to under 500") == 1
    asked = ("--by", "day", "--range", "200:500", "--json")
    about: dict[str, Any] = json.loads(run("estimate", "plan.json", "reports.parquet", *asked).out)
    assert [len(one["ranges"]) for one in about["windows"]] == [1, 1]


@pytest.mark.usefixtures("reports")
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("7", "two numbers"),
        ("5:20", "not an edge"),
        ("nan:20", "must be a number, got 'nan'"),
        ("2,5:20", "must be a number, got '2,5'"),
        ("-10:20", "-10 is outside 'income'"),
        ("sex=1:2", "not a range"),
        ("pay=1:2", "a range that was reported"),
    ],
)
def test_what_is_no_range_is_refused(run: Run, given: str, said: str) -> None:
    told = run("estimate", "plan.json", "reports.parquet", "--range", given)
    assert told.code != 0
    assert said in told.err
