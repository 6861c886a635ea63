"""Columns beside reports: copied as they are, named as not protected, and counted by."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import deniable as dn
from tests.running import Run

PLAN = dn.Plan.of(
    {"color": ["red", "green", "blue"], "smokes": ["yes", "no"]}, dn.spl([3, 2], 4.0), people=90
)
AGAIN = dn.Plan.of({"color": ["red", "blue"]}, dn.rounds.l_grr(2, 1.0, 2.0), people=90, rounds=2)
DAYS = ["2026-11-01", "2026-11-02"]


def write_people(name: str, n: int = 90) -> None:
    """A file of answers with the day, the region and the hour beside them."""
    columns: dict[str, list[Any]] = {
        "name": [f"person {i}" for i in range(n)],
        "color": [["red", "green", "blue"][i % 3] for i in range(n)],
        "smokes": [["yes", "no"][i % 2] for i in range(n)],
        "day": [DAYS[i % 3 == 0] for i in range(n)],
        "region": [["north", "south"][i % 2] for i in range(n)],
        "hour": [i / 7 for i in range(n)],
    }
    if name.endswith(".parquet"):
        table = pa.table(columns | {"day": [date.fromisoformat(day) for day in columns["day"]]})
        parquet.write_table(table.set_column(4, "region", table.column("region").dictionary_encode()), name)
        return
    rows = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    Path(name).write_text("\n".join(rows))


@pytest.mark.parametrize("data", ["people.csv", "people.parquet"])
def test_days_are_estimated_from_a_file_of_answers(data: str, run: Run) -> None:
    PLAN.write("plan.json")
    write_people(data)
    made = run("privatize", "plan.json", data, "-o", "reports.parquet", "--beside", "day,region")
    assert made.err == (
        "wrote 90 reports to reports.parquet\n"
        "columns that the plan does not ask for were left out: name, hour\n"
        "not protected, beside each report as in the file: day, region; 4 combinations, the smallest of 15 "
        "reports\nnext: deniable estimate plan.json reports.parquet\n"
    )
    table = parquet.read_table("reports.parquet")
    assert table.column_names == ["color", "smokes", "day", "region"]
    assert [str(day) for day in table.column("day").to_pylist()] == [DAYS[i % 3 == 0] for i in range(90)]
    assert table.column("region").to_pylist() == ["north", "south"] * 45
    for source in (["reports.parquet"], ["--from", "reports.parquet"]):
        about = json.loads(run("estimate", "plan.json", *source, "--by", "day", "--json").out)
        assert [(one["window"]["day"], one["n"]) for one in about["windows"]] == [
            (DAYS[0], 60),
            (DAYS[1], 30),
        ]
    assert json.loads(run("estimate", "plan.json", "reports.parquet", "--json").out)["n"] == 90
    assert sum(block.n for block in PLAN.read_reports("reports.parquet")) == 90


def test_people_who_are_asked_again_have_columns_beside_their_reports(run: Run) -> None:
    AGAIN.write("plan.json")
    Path("people.csv").write_text("color,day\n" + "red,1\nblue,2\n" * 20)
    arguments = ("--seed", "1", "--round", "2", "-o", "reports.parquet", "--beside", "day")
    done = run("privatize", "plan.json", "people.csv", *arguments)
    assert (done.code, "made no report" in done.err) == (0, False)
    assert [one.n for one in AGAIN.tally("reports.parquet", by="day").values()] == [20, 20]


@pytest.mark.parametrize(
    ("beside", "message"),
    [
        ("smokes", "'smokes' holds answers, which reports protect: beside them it would stand as it is"),
        ("dya", "'dya' is not a column of the table of answers"),
        ("day,day", "a column is named twice beside reports: day, day"),
        ("hour", "the column 'hour' beside reports must hold text or signed integers"),
        ("plan", "a table of reports has a column 'plan' of its own; rename the other"),
        ("Round", "a table of reports has a column 'Round' of its own; rename the other"),
    ],
)
def test_what_cannot_stand_beside_reports_is_refused(beside: str, message: str, run: Run) -> None:
    PLAN.write("plan.json")
    write_people("people.parquet")
    table = parquet.read_table("people.parquet")
    for name in ("plan", "Round"):
        table = table.append_column(name, pa.array(["x"] * 90))
    parquet.write_table(table, "people.parquet")
    outcome = run("privatize", "plan.json", "people.parquet", "-o", "reports.parquet", "--beside", beside)
    assert outcome.code != 0
    assert message in outcome.err
    assert not Path("reports.parquet").exists()


def test_columns_of_locations_are_answers(run: Run) -> None:
    town = dn.Grid(47.0, 6.0, 48.0, 7.0, rows=2, columns=2)
    plan = dn.Plan.of({"home": town}, dn.grr(4, 1.0), people=9)
    plan.write("plan.json")
    Path("people.csv").write_text("home.latitude,home.longitude,day\n" + "47.2,6.3,1\n" * 9)
    wrong = ("--beside", "home.latitude")
    outcome = run("privatize", "plan.json", "people.csv", "-o", "reports.parquet", *wrong)
    assert "'home.latitude' holds answers" in outcome.err
    assert run("privatize", "plan.json", "people.csv", "-o", "reports.parquet", "--beside", "day").code == 0


def test_tables_beside_reports_have_a_row_for_each(tmp_path: Path) -> None:
    reports = PLAN.privatize({"color": ["red"] * 4, "smokes": ["no"] * 4}, dn.seeded(1))
    path = tmp_path / "reports.parquet"
    for days in (["a"] * 3, ["a"] * 5):
        with pytest.raises(dn.InvalidValue, match="columns beside reports have a row for each, got"):
            PLAN.write_reports(path, reports, beside={"day": days})
        assert not path.exists()
    assert PLAN.write_reports(path, [reports, reports], beside={"day": ["a"] * 3 + ["b"] * 5}) == 8
    assert {day: one.n for day, one in PLAN.tally(path, by="day").items()} == {"a": 3, "b": 5}
    with pytest.raises(dn.InvalidParameter, match="into and beside are for dataframes of Spark"):
        PLAN.privatize({"color": ["red"], "smokes": ["no"]}, beside=["day"])  # type: ignore[call-overload]
