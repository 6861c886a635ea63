"""Labels in and out: categories of pandas and enums of polars, frames without hashes, groups in print."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pytest

import deniable as dn
from deniable.results.findings import Findings
from deniable.show.text import write_text

GRADES = ["low", "middle", "high"]
TABLES = {
    "pandas": pd.DataFrame({"grade": pd.Categorical(["high", "low"] * 20, categories=GRADES, ordered=True)}),
    "polars": pl.DataFrame({"grade": pl.Series(["high", "low"] * 20, dtype=pl.Enum(GRADES))}),
}


@pytest.mark.parametrize("library", TABLES)
def test_categories_of_frames_are_read_and_written_in_their_order(library: str) -> None:
    """Also those that nobody has."""
    table = TABLES[library]
    study = dn.Study({"grade": GRADES}, epsilon=8.0)
    plan = study.plan(people=1000)
    reports = [plan.privatize(each, dn.seeded(1)) for each in (table, {"grade": ["high", "low"] * 20})]
    one, other = (plan.estimate(plan.tally(each)) for each in reports)
    assert one["grade"].frequencies.tolist() == other["grade"].frequencies.tolist()
    frame = one.frame(backend=library)  # type: ignore[arg-type]
    assert list(frame["value"]) == GRADES
    assert "plan" not in frame.columns


def test_print_shows_what_the_shell_shows() -> None:
    """Groups of a long range, and the first rows of many categories; each says where the rest is."""
    plan = dn.Study(
        {"age": dn.Range(0, 100, step=1), "word": [f"w{i}" for i in range(30)]},
        epsilon=6.0,
        mechanism="split",
    ).plan(people=1000)
    answers = {"age": [30.5] * 200, "word": ["w1"] * 200}
    result = plan.estimate(plan.tally(plan.privatize(answers, dn.seeded(1))))
    shown, shell = str(result), write_text(Findings(result.numbers))
    assert (
        "age (200 reports), nearest possible shares: 100 values in 10 groups; frame(bins=True) has" in shown
    )
    assert "--bins shows every one" in shell
    grouped = [line for line in shell.splitlines() if " to under " in line]
    assert len(grouped) == 10
    assert grouped == [line for line in shown.splitlines() if " to under " in line]
    assert "... and 10 more; frame() has them all" in shown
    assert "w29" in shell
    assert "--" not in shown
