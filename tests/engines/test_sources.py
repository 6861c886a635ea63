"""A plan tallies its reports wherever they lie, and gives what it gives for the reports themselves."""

from __future__ import annotations

import shutil
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import psycopg
import pyarrow as pa
import pytest
from pyarrow import dataset, parquet

import deniable as dn
from deniable.engines import databases
from deniable.engines.query import Query
from deniable.reports.reports import Tallies
from deniable.results.kept_tallies import KeptTallies
from deniable.study.plan import Plan
from deniable.study.study import Study
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


@pytest.mark.parametrize(
    ("names", "values"),
    [
        (DAYS, (date(2026, 11, 15), date(2026, 11, 16))),
        (("3", "12"), (3, 12)),
        (("03", "12"), ("03", "12")),
        (("3", "x"), ("3", "x")),
        (("3", "__HIVE_DEFAULT_PARTITION__"), (3, None)),
    ],
)
def test_windows_have_the_same_keys_from_files_and_engines(
    names: tuple[str, str], values: tuple[Any, Any], lake: Path, tmp_path: Path
) -> None:
    """Rows of another plan are refused in their own window, whoever reads the files."""
    for day, name in zip(DAYS, names, strict=True):
        for plan in (PLAN.id, "f" * 64):
            folder = tmp_path / f"plan={plan}" / f"day={name}"
            folder.mkdir(parents=True)
            rows = parquet.ParquetFile(lake / f"day={day}" / "reports.parquet").read()
            rows = rows.replace_schema_metadata().slice(0, 600 if plan == PLAN.id else 3)
            parquet.write_table(rows, folder / "0.parquet")
    files = dict(PLAN.tally(tmp_path, by="day"))
    assert set(files) == set(values)
    assert [(one.n, one.refused) for one in files.values()] == [(600, {"plan": 3})] * 2
    pattern = tmp_path / "**" / "*.parquet"
    relation = duckdb.sql(f"SELECT * FROM read_parquet('{pattern}', hive_partitioning = true)")
    assert dict(PLAN.tally(relation, by="day")) == files
    if names[0] != "03":  # which Polars takes for 3
        assert dict(PLAN.tally(pl.scan_parquet(tmp_path, hive_partitioning=True), by="day")) == files
    path = tmp_path / "tallies.json"
    KeptTallies.update(path, PLAN.document, tmp_path, by="day")
    assert dict(KeptTallies.read(path, PLAN.document).tally_windows("day")) == files


def test_frames(lake: Path, right: dict[str, Tallies]) -> None:
    rows = read_rows(lake)
    check(right, rows)
    check(right, pl.from_arrow(rows))
    check(right, pl.from_arrow(rows).lazy())  # type: ignore[union-attr]
    check(right, rows.to_pandas(types_mapper=pd.ArrowDtype))


def test_floats_of_pandas_are_read_where_they_are_exact(lake: Path, right: dict[str, Tallies]) -> None:
    """Pandas makes floats of integers that may be missing; above 2^53 they are others, and refused."""
    rows = read_rows(lake)
    with pytest.raises(
        dn.InvalidReport, match=r"the column 'home.0' of a table of reports must hold signed .*dtype_backend="
    ):
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


def test_the_line_that_a_refusal_shows_is_enough(lake: Path, right: dict[str, Tallies]) -> None:
    """Files say their plan in a header that DuckDB does not read."""
    connection, files = require("duckdb").connect(), f"'{lake}/**/*.parquet'"
    with pytest.raises(dn.InvalidReport) as refused:
        PLAN.tally(connection.sql(f"SELECT * FROM {files}"))
    line = "SELECT" + str(refused.value).rpartition("SELECT")[2]
    check(right, connection.sql(line.replace("...", files)))


def test_a_table_of_ibis_is_refused_in_a_sentence() -> None:
    table = type("Table", (), {"__module__": "ibis.expr.types.relations"})()
    with pytest.raises(dn.InvalidParameter, match="tables of Ibis are retired; write their rows to Parquet"):
        PLAN.tally(table)


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
        (
            rows.drop_columns(["plan"]),
            f"does not say for which plan its reports were made.*: SELECT \\*, '{PLAN.id}' AS plan FROM",
        ),
        (rows.drop_columns(["plan", "travel"]), "if it holds answers, privatize them first$"),
        (rows.drop_columns(["travel"]), "'travel' is not a column of the table of reports"),
        (
            rows.set_column(0, "travel", rows.column("travel").cast(pa.string())),
            "'travel' of a table of reports must hold signed integers",
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


NAMES = ("state", "cell", "n", "copy", "sound", "typed", "reports", "c0", "key day", "Plan", "ID", 'a"b')
"""Names that a query has inside, or that differ from those of other columns by case."""


def test_no_name_of_a_column_changes_a_count(tmp_path: Path) -> None:
    """Attributes and windows are called whatever people call them: US states are the likeliest window."""
    asked = {name: ["yes", "no", "maybe"] for name in NAMES}
    plan = Plan.of(asked, dn.records.Sample((dn.grr(3, 1.0),) * len(NAMES), reported=6), 1000)
    generator = np.random.default_rng(2)
    people = {name: generator.choice(["yes", "no", "maybe"], 90) for name in NAMES}
    path = tmp_path / "reports.parquet"
    plan.write_reports(path, plan.privatize(people, dn.seeded(5)))
    right = plan.tally(path)
    assert right.n == 90
    rows = parquet.read_table(path).replace_schema_metadata()
    with pytest.raises(dn.InvalidReport, match=r"that is a column 'deniable.plan' with the plan's id"):
        plan.tally(rows)  # which could be answers
    rows = rows.append_column("deniable.plan", pa.array([plan.id] * 90))
    assert plan.table_form.more_columns == {"deniable.plan", "round"}
    connection = require("duckdb").connect()
    connection.execute("CREATE TABLE reports AS SELECT 42 AS x")
    assert plan.tally(connection.from_arrow(rows)) == right
    with psycopg.connect(services.cluster().url(), autocommit=True) as opened:
        copy_table(opened, rows)
        form = plan.table_form
        counted = Query(form, '"t"').run(databases.PostgresTable(opened, ("t",)).run)
        assert tuple(counted[()].tallies) == tuple(right.tallies.values())


@pytest.mark.parametrize("window", ["state", "cell", "n", "copy", "c0", "key state"])
def test_windows_may_have_any_name(window: str, lake: Path) -> None:
    rows = read_rows(lake).append_column(window, pa.array([0, 1] * 600, pa.int16()))
    here = PLAN.tally(rows, by=window)
    assert [one.n for one in here.values()] == [600, 600]
    there = PLAN.tally(require("duckdb").connect().from_arrow(rows), by=window)
    assert dict(there) == dict(here)


def test_a_file_that_is_named_twice_is_counted_once(lake: Path, right: dict[str, Tallies]) -> None:
    everything = sum(right.values())
    assert PLAN.tally(str(lake / "**")) == everything
    assert (
        PLAN.tally([lake / f"day={DAYS[0]}" / "reports.parquet", str(lake / "*" / "*.parquet")]) == everything
    )


def test_a_copy_of_a_file_is_noticed(lake: Path, tmp_path: Path) -> None:
    """It counts twice; files without rows are often equal, and add nothing."""
    shutil.copytree(lake, tmp_path / "lake")
    original = tmp_path / "lake" / f"day={DAYS[0]}" / "reports.parquet"
    shutil.copy(original, original.with_name("reports-1.parquet"))
    with pytest.warns(dn.DeniableWarning, match=r"reports.*parquet is a copy of .*byte for byte.*twice"):
        PLAN.tally(tmp_path / "lake")
    empty = parquet.read_table(original).slice(0, 0)
    for name in ("reports-1.parquet", "reports-2.parquet"):
        parquet.write_table(empty, original.with_name(name))
    assert PLAN.tally(tmp_path / "lake") == PLAN.tally(lake)


def test_addresses_are_never_shown(lake: Path) -> None:
    for scheme in ("mysql", "postgresql+psycopg", "s3"):
        with pytest.raises(
            dn.InvalidParameter, match=r"from postgresql://, spark:// and duckdb:/// addresses, got"
        ) as caught:
            PLAN.tally(f"{scheme}://ann:secret@host/db", table="t")
        assert "secret" not in str(caught.value)


def test_a_round_that_nobody_states_is_refused(lake: Path) -> None:
    with pytest.raises(dn.InvalidReport, match=r"round 1 is asked for, and .* has no column 'round'"):
        PLAN.tally(lake, number=1)
    with pytest.raises(dn.InvalidParameter, match="has no round 3: it asks once, in round 1"):
        PLAN.tally(lake, number=3)


def test_rounds_that_the_plan_does_not_have_are_refused(lake: Path) -> None:
    rows = read_rows(lake)
    rounds = [None, 0, 2, 1] * 300
    found = PLAN.tally(rows.append_column("round", pa.array(rounds, pa.int64())))
    assert (found.n, found.refused) == (300, {"round": 900})


@pytest.mark.filterwarnings("ignore:.* is a copy of")
def test_folders_keep_their_text_and_headers_win(lake: Path, tmp_path: Path) -> None:
    content = (lake / f"day={DAYS[0]}" / "reports.parquet").read_bytes()
    for folder in ("region=01", "region=1", "_region=2", "_temporary"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.parquet").write_bytes(content)
    assert PLAN.tally([tmp_path / "region=01", tmp_path / "region=1"]).n == 1200
    assert set(PLAN.tally([tmp_path / "region=01", tmp_path / "region=1"], by="region")) == {"01", "1"}
    assert PLAN.tally(tmp_path).n == 1800
    other = Study({"travel": ["car", "bus", "bike"], "fed": ["yes", "no"]}, epsilon=1.0).plan(100)
    (tmp_path / f"plan={other.id}").mkdir()
    wrong = tmp_path / f"plan={other.id}" / "a.parquet"
    wrong.write_bytes(content)
    with pytest.raises(dn.InvalidReport, match="none of these 600 reports was made for plan"):
        other.tally(wrong)


def test_files_of_different_widths_have_their_repeated_ids_found(lake: Path, tmp_path: Path) -> None:
    rows = read_rows(lake).append_column("id", pa.array([str(i) for i in range(1200)]))
    wide = rows.set_column(0, "travel", rows.column("travel").cast(pa.int64()))
    at = wide.column_names.index("id")
    wide = wide.set_column(at, "id", wide.column("id").cast(pa.large_string()))
    parquet.write_table(rows, tmp_path / "a.parquet")
    parquet.write_table(wide, tmp_path / "b.parquet")
    found = PLAN.tally(tmp_path)
    assert (found.n, found.refused) == (1200, {"repeated": 1200})
    parquet.write_table(wide.set_column(at, "id", pa.array(range(1200))), tmp_path / "b.parquet")
    with pytest.raises(dn.InvalidReport, match="files differ in what their column 'id' holds"):
        PLAN.tally(tmp_path)


def test_columns_beside_reports_may_have_any_type(lake: Path, right: dict[str, Tallies]) -> None:
    address = services.cluster().url()
    with psycopg.connect(address, autocommit=True) as connection:
        copy_table(connection, read_rows(lake))
        connection.execute("ALTER TABLE t ADD COLUMN v tsvector, ADD COLUMN w timestamptz DEFAULT now()")
    check(right, address, table="t")
    with pytest.raises(dn.InvalidReport, match="'w' of a table of reports must hold text or signed integers"):
        PLAN.tally(address, table="t", by="w")


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ("travel", "windows are by what is known of reports, such as the day, not by 'travel'"),
        (["day", "day"], "by names a column twice: day, day"),
    ],
)
def test_what_is_no_window_is_refused(by: Any, message: str, lake: Path) -> None:
    with pytest.raises(dn.InvalidParameter, match=message):
        PLAN.tally(lake, by=by)


def test_datasets_and_columns_with_dictionaries(lake: Path, right: dict[str, Tallies]) -> None:
    rows = read_rows(lake)
    coded = rows.set_column(0, "travel", rows.column("travel").dictionary_encode())
    check(right, coded)
    check(right, dataset.dataset(rows))
    with pytest.raises(dn.InvalidReport, match="dataframes of pandas, Polars or pyarrow, got Series"):
        PLAN.tally(pd.Series([1, 2]))


@pytest.mark.parametrize(
    ("module", "extra"), [("duckdb", "duckdb"), ("psycopg", "postgres"), ("pyspark", "spark")]
)
def test_a_missing_extra_is_named_in_a_line(module: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(databases, "find_spec", lambda name: None if name == module else object())
    with pytest.raises(dn.DeniableError, match=rf"^this needs {module}; install it with: .*\[{extra}\]'$"):
        databases.require(module, extra)
