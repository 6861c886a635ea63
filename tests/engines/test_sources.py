"""A plan tallies its reports wherever they lie, and gives what it gives for the reports themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pandas as pd
import polars as pl
import psycopg
import pyarrow as pa
import pytest
from pyarrow import parquet

import deniable as dn
from deniable.engines import databases
from deniable.plan.plan import Plan
from deniable.plan.reports import Tallies
from deniable.plan.study import Study
from tests import services
from tests.engines.test_counts import copy_table, require

STUDY = Study(
    {"travel": ["car", "bus", "bike"], "age": dn.Range(0, 100, step=10), "home": dn.Range(0, 700, step=10)},
    epsilon=2.0,
    protocol={"travel": "grr", "age": "ss", "home": "oue"},
)
PLAN = STUDY.plan(people=2000)
DAYS = ("2026-11-15", "2026-11-16")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reports of two days, in a file each."""
    folder = tmp_path_factory.mktemp("lake")
    generator = np.random.default_rng(1)
    for number, day in enumerate(DAYS):
        people = {
            "travel": generator.choice(["car", "bus", "bike"], 600),
            "age": generator.integers(0, 100, 600),
            "home": generator.integers(0, 700, 600),
        }
        (folder / f"day={day}").mkdir()
        reports = PLAN.privatize(pd.DataFrame(people), dn.seeded(number))
        PLAN.write_reports(folder / f"day={day}" / "reports.parquet", reports)
    return folder


def read_rows(lake: Path) -> pa.Table:
    """The same reports as one table."""
    tables = []
    for day in DAYS:
        table = parquet.ParquetFile(lake / f"day={day}" / "reports.parquet").read().replace_schema_metadata()
        more = {"plan": PLAN.id, "day": day}
        for name, value in more.items():
            table = table.append_column(name, pa.array([value] * table.num_rows))
        tables.append(table)
    return pa.concat_tables(tables)


@pytest.fixture(scope="module")
def right(lake: Path) -> dict[str, Tallies]:
    """The tallies of each day, from the reports themselves."""
    return {day: PLAN.tally(PLAN.read_reports(lake / f"day={day}" / "reports.parquet")) for day in DAYS}


def check(right: dict[str, Tallies], source: Any, **options: Any) -> None:
    everything = PLAN.tally(source, **options)
    assert everything == sum(right.values())
    assert everything.n == 1200
    assert not everything.refused
    windows = PLAN.tally(source, by="day", **options)
    assert {str(day): tallies for day, tallies in windows.items()} == right


def test_files_by_folder_pattern_and_list(lake: Path, right: dict[str, Tallies]) -> None:
    for source in (lake, str(lake / "*" / "*.parquet"), [str(lake / f"day={day}") for day in DAYS]):
        check(right, source)
    assert PLAN.tally(lake / f"day={DAYS[0]}" / "reports.parquet") == right[DAYS[0]]


def test_frames(lake: Path, right: dict[str, Tallies]) -> None:
    rows = read_rows(lake)
    check(right, rows)
    check(right, pl.from_arrow(rows))
    check(right, pl.from_arrow(rows).lazy())  # type: ignore[union-attr]
    check(right, rows.to_pandas(types_mapper=pd.ArrowDtype))


def test_floats_of_pandas_are_read_where_they_are_exact(lake: Path, right: dict[str, Tallies]) -> None:
    """Pandas makes floats of integers that may be missing; above 2^53 they are others, and refused."""
    rows = read_rows(lake)
    with pytest.raises(dn.InvalidReport, match=r"the column 'home.0' of a table of reports holds integers"):
        PLAN.tally(rows.to_pandas())
    plan = Study(
        {"travel": ["car", "bus", "bike"], "fed": ["yes", "no"]}, epsilon=1.0, mechanism="sample"
    ).plan(100)
    path = lake.parent / "small.parquet"
    plan.write_reports(path, plan.privatize({"travel": ["car"] * 50, "fed": ["no"] * 50}, dn.seeded(3)))
    frame = pd.read_parquet(path).assign(plan=plan.id)
    assert frame["travel"].dtype == np.float64
    assert plan.tally(frame) == plan.tally(path)
    frame.loc[frame["travel"].first_valid_index(), "travel"] = 0.5
    assert plan.tally(frame).refused == {"form": 1}


def test_a_relation_of_duckdb(lake: Path, right: dict[str, Tallies]) -> None:
    check(right, require("duckdb").connect().from_arrow(read_rows(lake)))


@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")  # Ibis calls what DuckDB renamed
def test_a_table_of_ibis(lake: Path, right: dict[str, Tallies]) -> None:
    check(right, ibis.duckdb.connect().create_table("reports", read_rows(lake)))
    address = services.cluster().url()
    with psycopg.connect(address, autocommit=True) as connection:
        copy_table(connection, read_rows(lake))
    there = ibis.connect(address)
    check(right, there.table("t").filter(ibis._["plan"] == PLAN.id))
    there.disconnect()


def test_a_table_of_postgresql(lake: Path, right: dict[str, Tallies]) -> None:
    address = services.cluster().url()
    with psycopg.connect(address, autocommit=True) as connection:
        copy_table(connection, read_rows(lake))
    check(right, address, table="t")
    with pytest.raises(dn.DeniableError, match="there is no table 'nowhere'"):
        PLAN.tally(address, table="nowhere")
    with pytest.raises(
        dn.InvalidParameter, match='name the table of reports in the database: table="reports"'
    ):
        PLAN.tally(address)


def test_a_database_that_does_not_answer_is_named_without_its_password() -> None:
    with pytest.raises(dn.DeniableError, match="the database cannot be opened") as caught:
        PLAN.tally(f"postgresql://ann:secret@127.0.0.1:{services.free_port()}/study", table="t")
    assert "secret" not in str(caught.value)


def test_counts_are_of_one_moment(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports that come between two queries of a count are in none of them."""
    asked = {"home": [str(i) for i in range(40)], "travel": ["car", "bus"]}
    plan = Plan.of(asked, dn.spl([40, 2], 2.0, "olh"), 1000)
    reports = plan.privatize({"home": ["7"] * 50, "travel": ["car"] * 50}, dn.seeded(3))
    path = lake.parent / "hashed.parquet"
    plan.write_reports(path, reports)
    rows = parquet.read_table(path).replace_schema_metadata().append_column("plan", pa.array([plan.id] * 50))
    address = services.cluster().url()
    with psycopg.connect(address, autocommit=True) as connection:
        copy_table(connection, rows)
        run = databases.PostgresTable.run

        def run_and_add(table: databases.PostgresTable, sql: str) -> Any:
            found = run(table, sql)
            connection.execute("INSERT INTO t SELECT * FROM t LIMIT 5")
            return found

        monkeypatch.setattr(databases.PostgresTable, "run", run_and_add)
        assert plan.tally(address, table="t") == plan.tally(path)


def test_windows_are_estimated_each_with_intervals(lake: Path, right: dict[str, Tallies]) -> None:
    results = PLAN.estimate(PLAN.tally(lake, by="day"))
    assert [str(day) for day in results] == list(DAYS)
    frame = results.frame(backend="pandas")
    assert {"day", "share", "low", "high"} <= set(frame.columns)
    one = PLAN.estimate(right[DAYS[1]]).frame(backend="pandas").query("attribute == 'travel'")
    mine = frame[(frame["day"].astype(str) == DAYS[1]) & (frame["attribute"] == "travel")]
    assert mine["share"].tolist() == one["share"].tolist()


def test_what_cannot_be_counted_is_refused_with_what_to_do(lake: Path) -> None:
    rows = read_rows(lake)
    wrong: list[tuple[Any, str]] = [
        (rows.drop_columns(["plan"]), "does not say for which plan its reports were made"),
        (rows.drop_columns(["travel"]), "'travel' is not a column of the table of reports"),
        (
            rows.set_column(0, "travel", rows.column("travel").cast(pa.string())),
            "'travel' of a table of reports holds integers",
        ),
        (
            rows.set_column(rows.column_names.index("plan"), "plan", pa.array(["0" * 64] * rows.num_rows)),
            r"none of these 1,200 reports was made for plan",
        ),
    ]
    for source, message in wrong:
        with pytest.raises(dn.InvalidReport, match=message):
            PLAN.tally(source)
    with pytest.raises(
        dn.InvalidReport, match=r"'dya' is not a column of the table of reports.*did you mean 'day'"
    ):
        PLAN.tally(rows, by="dya")
    with pytest.raises(dn.InvalidParameter, match='by names a column, such as by="day"'):
        PLAN.tally(rows, by=[])
    with pytest.raises(dn.InvalidParameter, match="only a database has tables"):
        PLAN.tally(rows, table="reports")


@pytest.mark.parametrize(
    ("module", "extra"), [("duckdb", "duckdb"), ("psycopg", "postgres"), ("pyspark", "spark")]
)
def test_a_missing_extra_is_named_in_a_line(module: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(databases, "find_spec", lambda name: None if name == module else object())
    with pytest.raises(dn.DeniableError, match=rf"^this needs {module}; install it with: .*\[{extra}\]'$"):
        databases.require(module, extra)
