"""Estimates of tables of reports: from files, folders and databases, all of one or each of its windows."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import psycopg
import pyarrow as pa
import pytest
from pyarrow import parquet

import deniable as dn
from tests import services
from tests.engines.test_counts import copy_table
from tests.engines.test_counts import require as require_module
from tests.running import Run

COLORS = ["red", "green", "blue"]
PLAN = dn.Plan.of({"color": COLORS, "smokes": ["yes", "no"]}, dn.spl([3, 2], 4.0), people=400)
AGAIN = dn.Plan.of({"color": COLORS}, dn.rounds.l_grr(3, 2.0, 4.0), people=400, rounds=2)
OTHER = dn.Plan.of({"color": COLORS}, dn.grr(3, 1.0), people=400)
DAYS = ["2026-11-01", "2026-11-02"]


def draw_reports(n: int = 400, seed: int = 1) -> dn.reports.Reports:
    generator = np.random.default_rng(seed)
    answers = {"color": generator.choice(COLORS, n), "smokes": generator.choice(["yes", "no"], n)}
    return PLAN.privatize(answers, dn.seeded(seed))


def make_table() -> pa.Table:
    """400 reports of two days: ten are of another plan, and two come twice."""
    PLAN.write_reports("all.parquet", draw_reports())
    table = parquet.read_table("all.parquet").replace_schema_metadata()
    Path("all.parquet").unlink()
    ids = [f"id {i % 398}" for i in range(400)]
    plans = [OTHER.id if 0 < i <= 10 else PLAN.id for i in range(400)]
    days = [DAYS[i // 200] for i in range(400)]
    for name, cells in (("id", ids), ("plan", plans), ("day", days)):
        table = table.append_column(name, pa.array(cells))
    return table


@pytest.fixture
def lake(run: Run) -> pa.Table:
    """The plan, and a folder of two files."""
    PLAN.write("plan.json")
    table = make_table()
    Path("lake").mkdir()
    for i in range(2):
        parquet.write_table(table.slice(200 * i, 200), f"lake/{i}.parquet")
    return table


@pytest.mark.parametrize("source", ["lake", "lake/*.parquet"])
def test_a_folder_and_a_pattern_are_counted(source: str, lake: pa.Table, run: Run) -> None:
    outcome = run("estimate", "plan.json", "--from", source, "--json")
    assert outcome.code == 0
    assert outcome.err == (
        "11 rows are not counted: 10 of another plan, 1 with an id that was counted already\n"
    )
    about = json.loads(outcome.out)
    assert (about["n"], about["not_counted"]) == (389, {"plan": 10, "repeated": 1})
    told = PLAN.estimate(PLAN.tally("lake"))
    shares = [row["unbiased"] for row in about["rows"] if row["attribute"] == "color"]
    assert shares == told["color"].frequencies.tolist()


def test_what_is_being_written_is_not_counted(lake: pa.Table, run: Run) -> None:
    for name in (".0.parquet.abc.parquet", "_temporary/0.parquet"):
        Path("lake", name).parent.mkdir(exist_ok=True)
        Path("lake", name).write_bytes(b"PAR1")
    assert json.loads(run("estimate", "plan.json", "--from", "lake", "--json").out)["n"] == 389


def test_windows_are_estimated_by_themselves(lake: pa.Table, run: Run) -> None:
    outcome = run(
        "estimate", "plan.json", "--from", "lake", "--by", "day", "-o", "days.csv", "--plot", "days.svg"
    )
    assert outcome.code == 0, outcome.err
    assert "389 records in 2 windows" in outcome.out
    rows = [line.split() for line in outcome.out.splitlines() if line.startswith("  2026-")]
    assert [row[:2] for row in rows] == [[DAYS[0], "189"], [DAYS[1], "200"]] * 2
    assert Path("days.svg").read_text().count(DAYS[0]) >= 1
    assert Path("days.csv").read_text().startswith("day,attribute,value,")
    about = json.loads(run("estimate", "plan.json", "--from", "lake", "--by", "day", "--json").out)
    assert [one["window"] for one in about["windows"]] == [{"day": day} for day in DAYS]
    windows = PLAN.estimate(PLAN.tally("lake", by="day"))
    for one in about["windows"]:
        result = windows[one["window"]["day"]]
        low, high = result["color"].interval()
        found = [row for row in one["rows"] if row["attribute"] == "color"]
        assert [row["unbiased"] for row in found] == result["color"].frequencies.tolist()
        assert [row["unbiased_low"] for row in found] == low.tolist()
        assert [row["unbiased_high"] for row in found] == high.tolist()
    assert str(windows) in outcome.out
    assert about["not_counted"] == {"plan": 10, "repeated": 1}


def test_means_of_windows_say_how_far_bins_may_move_them(run: Run) -> None:
    """As the mean of all reports does: answers are half a bin from its middle at most."""
    plan = dn.Study({"age": dn.Range(0, 100, step=20), "color": COLORS}, epsilon=4.0).plan(people=400)
    plan.write("plan.json")
    generator = np.random.default_rng(1)
    answers = {"age": generator.integers(0, 100, 400), "color": generator.choice(COLORS, 400)}
    reports = plan.privatize(answers, dn.seeded(1))
    plan.write_reports("reports.parquet", reports, beside={"day": np.repeat(DAYS, 200)})
    caveat = "up to 10 more either way, since answers are counted in bins"
    assert run("estimate", "plan.json", "reports.parquet").out.count(caveat) == 1
    by_day = run("estimate", "plan.json", "reports.parquet", "--by", "day").out
    assert by_day.count(caveat) == 1
    assert by_day.index("\nage") < by_day.index(caveat) < by_day.index("\ncolor")


def test_a_database_counts_the_same(lake: pa.Table, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    address = services.cluster().url()
    with psycopg.connect(address, autocommit=True) as connection:
        copy_table(connection, lake)
    inside = run("estimate", "plan.json", "--from", address, "--table", "t", "--by", "day", "--json")
    assert inside.code == 0, inside.err
    assert inside.out == run("estimate", "plan.json", "--from", "lake", "--by", "day", "--json").out
    monkeypatch.setenv("DENIABLE_FROM", address)
    assert json.loads(run("estimate", "plan.json", "--table", "t", "--json").out)["n"] == 389


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        ("--from lake --table t", 2, "only a database has tables"),
        ("--from sqlite:///reports.db --table t", 2, "--table names a table of a database"),
        ("--from sqlite:///reports.db --by day", 2, "--by names columns of a table of reports"),
        ("--from lake --by dya", 1, "did you mean 'day'?"),
        ("--from nowhere/*.parquet", 1, "no file of reports has a name like nowhere/*.parquet"),
        ("--from nowhere", 1, "there is no file nowhere; name files of reports"),
        ("--from localhost:8000", 1, "localhost:8000; the address of a collector begins with http://"),
        ("--from lake --from http://127.0.0.1:1", 2, "several --from are files of reports"),
        ("--from lake --from tallies.json", 2, "several --from are files of reports"),
        ("--from lake/none.duckdb --table t", 1, "there is no DuckDB database lake/none.duckdb"),
        ("--from lake/none.duckdb", 2, "name the table of reports in the database"),
        ("--from lake --by day --change-from 1", 2, "--by shows windows"),
        ("--from lake --round 1", 1, "there are no reports of plan"),
        ("--from lake --round 2", 2, "has no round 2: it asks once, in round 1"),
        ("", 2, "reports come from a file (deniable estimate"),
        ("--from postgresql://u:s3cret@127.0.0.1:1/db --table t", 1, "the database cannot be opened"),
        ("--from postgresql://u:s3cret%zz@127.0.0.1/db --table t", 2, "this is not the address"),
        ("--from postgresql://u:x@s3cret@127.0.0.1:1/db --table t", 1, "the database cannot be opened"),
    ],
)
def test_what_is_wrong_is_said_in_words(
    options: str, code: int, message: str, lake: pa.Table, run: Run
) -> None:
    if "--round" in options:
        table = parquet.read_table("lake/0.parquet")
        Path("lake/1.parquet").unlink()
        parquet.write_table(table.append_column("round", pa.array([2] * 200)), "lake/0.parquet")
    outcome = run("estimate", "plan.json", *options.split())
    assert outcome.code == code
    assert message in outcome.err
    assert "s3cret" not in outcome.err
    assert outcome.out == ""


def test_rounds_are_not_added_up(lake: pa.Table, run: Run) -> None:
    AGAIN.write("plan.json", overwrite=True)
    for i, n in ((1, 189), (2, 200)):
        reports = AGAIN.privatize({"color": ["red", "blue"] * 100}, dn.remembering(1, round=i))
        AGAIN.write_reports("all.parquet", reports, overwrite=True)
        rows = parquet.read_table("all.parquet").replace_schema_metadata().slice(0, n)
        rows = rows.append_column("plan", pa.array([AGAIN.id] * n)).append_column(
            "day", pa.array([f"{i}"] * n)
        )
        Path(f"rounds/round={i}").mkdir(parents=True)
        parquet.write_table(rows, f"rounds/round={i}/0.parquet")
    outcome = run("estimate", "plan.json", "--from", "rounds")
    assert outcome.code == 2
    assert "the same people answered in rounds 1 and 2, which are not added up" in outcome.err
    about = json.loads(run("estimate", "plan.json", "--from", "rounds", "--round", "2", "--json").out)
    assert (about["n"], about["not_counted"]["round"], about["round"]) == (200, 189, 2)
    assert run("estimate", "plan.json", "--from", "rounds", "--by", "day").code == 0
    both = json.loads(run("estimate", "plan.json", "--from", "rounds", "--by", "round", "--json").out)
    assert [(one["window"]["round"], one["n"]) for one in both["windows"]] == [(1, 189), (2, 200)]
    change = run("estimate", "plan.json", "--from", "rounds", "--round", "2", "--change-from", "1", "--json")
    assert json.loads(change.out)["since"] == "1"


def test_files_of_other_plans_in_a_folder_are_not_read(lake: pa.Table, run: Run) -> None:
    """Their columns are others, so that they could not be."""
    OTHER.write_reports("lake/0 first.parquet", OTHER.privatize({"color": ["red"] * 30}))
    about = json.loads(run("estimate", "plan.json", "--from", "lake", "--json").out)
    assert (about["n"], about["not_counted"]["plan"]) == (389, 40)
    PLAN.write_reports("lake/2.parquet", draw_reports(5))
    outcome = run("estimate", "plan.json", "--from", "lake")
    assert (outcome.code, "has no column 'id', and other files have" in outcome.err) == (1, True)


def test_several_files_are_counted_together(lake: pa.Table, run: Run) -> None:
    both = run("estimate", "plan.json", "--from", "lake/0.parquet", "--from", "lake/1.parquet", "--json")
    assert both.code == 0, both.err
    assert both.out == run("estimate", "plan.json", "--from", "lake", "--json").out
    outcome = run("tally", "plan.json", "--from", "lake", "--from", "more", "--keep", "tallies.json")
    assert (outcome.code, "tallies are kept of one folder" in outcome.err) == (2, True)


def test_a_file_without_a_header_is_a_table(lake: pa.Table, run: Run) -> None:
    parquet.write_table(lake, "flat.parquet")
    named = run("estimate", "plan.json", "flat.parquet", "--json")
    assert named.code == 0, named.err
    assert json.loads(named.out)["not_counted"] == {"plan": 10, "repeated": 1}
    assert named.out == run("estimate", "plan.json", "--from", "flat.parquet", "--json").out
    days = run("estimate", "plan.json", "flat.parquet", "--by", "day", "--json")
    assert days.out == run("estimate", "plan.json", "--from", "lake", "--by", "day", "--json").out
    change = run("estimate", "plan.json", "flat.parquet", "--change-from", "lake/0.parquet", "--json")
    assert change.code == 0, change.err
    parquet.write_table(lake.drop_columns(["plan"]), "flat.parquet")
    assert "flat.parquet does not say for which plan" in run("estimate", "plan.json", "flat.parquet").err


def test_a_stray_file_is_named(lake: pa.Table, run: Run) -> None:
    parquet.write_table(lake.drop_columns(["plan"]), "lake/answers.parquet")
    assert (
        "lake/answers.parquet does not say for which plan"
        in run("estimate", "plan.json", "--from", "lake").err
    )
    parquet.write_table(lake.drop_columns(["color"]), "lake/answers.parquet")
    assert (
        "'color' is not a column of lake/answers.parquet"
        in run("estimate", "plan.json", "--from", "lake").err
    )


def test_a_database_of_duckdb_is_a_file(lake: pa.Table, run: Run) -> None:
    duckdb = require_module("duckdb")
    with duckdb.connect("lake.duckdb") as connection:
        connection.register("rows", lake)
        connection.execute("CREATE SCHEMA study")
        connection.execute("CREATE TABLE study.reports AS SELECT * FROM rows")
        connection.execute("CREATE VIEW recent AS SELECT * FROM study.reports")
    expected = run("estimate", "plan.json", "--from", "lake", "--by", "day", "--json").out
    for source, table in (("lake.duckdb", "study.reports"), ("duckdb:///lake.duckdb", "recent")):
        found = run("estimate", "plan.json", "--from", source, "--table", table, "--by", "day", "--json")
        assert found.out == expected, found.err
    missing = run("estimate", "plan.json", "--from", "lake.duckdb", "--table", "none")
    assert (missing.code, "there is no table 'none' in lake.duckdb" in missing.err) == (2, True)
    Path("wrong.duckdb").write_text("text" * 5000)
    outcome = run("estimate", "plan.json", "--from", "wrong.duckdb", "--table", "none")
    assert (outcome.code, "the database cannot be opened" in outcome.err) == (1, True)


@pytest.mark.parametrize(
    ("options", "titles"),
    [
        ("--mle", ["color, most likely shares", "of the best in every window"]),
        ("--fakes 0.01", ["color, if up to 1 % of reports are fake"]),
    ],
)
def test_windows_show_what_is_asked_for(options: str, titles: list[str], lake: pa.Table, run: Run) -> None:
    arguments = ("estimate", "plan.json", "--from", "lake", "--by", "day", *options.split())
    outcome = run(*arguments)
    assert outcome.code == 0, outcome.err
    for title in titles:
        assert title in outcome.out
    about = json.loads(run(*arguments, "--json").out)
    name = {"--mle": "mle", "--fakes": "fakes low"}[options.split()[0]]
    rows = [row for row in about["windows"][0]["rows"] if row["attribute"] == "color"]
    shown = outcome.out.partition(titles[0])[2].splitlines()[2]
    for row in rows:
        assert f"{100 * row[name]:.1f}" in shown
    plain = run(*arguments[:6])
    assert titles[0] not in plain.out


@pytest.mark.parametrize(
    ("protocol", "shown"), [("grr", "age, smoothed shares\n"), ("oue", "  'age' cannot be smoothed: ")]
)
def test_windows_say_whether_shares_are_smoothed(protocol: str, shown: str, run: Run) -> None:
    study = dn.Study({"age": dn.Range(0, 100, step=10)}, epsilon=2.0, protocol=protocol)
    plan = study.plan(people=400)
    plan.write("plan.json")
    reports = plan.privatize({"age": [30, 40] * 200}, dn.seeded(1))
    plan.write_reports("reports.parquet", reports, beside={"day": DAYS * 200})
    outcome = run("estimate", "plan.json", "reports.parquet", "--by", "day", "--smooth")
    assert outcome.code == 0, outcome.err
    assert outcome.out.count(shown) == 1
    assert shown not in run("estimate", "plan.json", "reports.parquet", "--by", "day").out
