"""Every engine counts the same: bit for bit, whatever is in the table."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pyarrow as pa
import pytest
from pyarrow import parquet

from deniable.engines.counting import quote
from deniable.engines.databases import DuckTable, Engine, PostgresTable, SparkTable
from deniable.engines.files import open_files
from deniable.engines.form import Counted, TableForm
from deniable.engines.query import Query
from tests import services
from tests.engines.reports import PLAN_ID, break_rows, draw_mechanism, draw_table

Key = tuple[Any, ...]
TABLES = 24
"""Random tables that are counted by every engine."""


def draw_case(seed: int) -> tuple[TableForm, pa.Table, tuple[str, ...], int | None]:
    """A table with rows of every kind, the columns that it is counted by, and the round."""
    generator = np.random.default_rng(seed)
    mechanism = draw_mechanism(generator)
    group = ("arm", 3) if seed % 3 == 0 else None
    form = TableForm(PLAN_ID, tuple(f'a {j}."' for j in range(mechanism.d)), mechanism, group)
    table = break_rows(form, draw_table(form, 300, generator), generator)
    n = table.num_rows
    plans = [PLAN_ID] * 8 + ["f" * 64, None]
    table = table.append_column("plan", pa.array([plans[i] for i in generator.integers(0, 10, n)]))
    if seed % 2:
        ids = [None if i < 3 else f"id {i}" for i in generator.integers(0, 220, n).tolist()]
        table = table.append_column("id", pa.array(ids))
    if seed % 5 == 0:
        rounds = [None if i == 0 else i for i in generator.integers(0, 3, n).tolist()]
        table = table.append_column("round", pa.array(rounds, pa.int32()))
    days = [None if i == 0 else f"day {i}" for i in generator.integers(0, 3, n).tolist()]
    table = table.append_column("day", pa.array(days))
    keys = ("day",) if seed % 4 == 1 else ()
    return form, table, keys if group is None else (*keys, "arm"), 1 if seed % 5 == 0 else None


def count_files(seed: int, folder: Path) -> dict[Key, Counted]:
    """What this machine counts in three files."""
    form, table, keys, number = draw_case(seed)
    paths = [folder / f"{i}.parquet" for i in range(3)]
    for i, path in enumerate(paths):
        parquet.write_table(table.slice(120 * i, 120), path, row_group_size=50)
    return open_files(form, paths, keys, number).run()


def count_inside(engine: Engine, seed: int) -> dict[Key, Counted]:
    """What an engine counts in the same table."""
    form, table, keys, number = draw_case(seed)
    extra = form.more_columns & set(table.column_names)
    return Query(form, engine.source, extra, number, keys).run(engine.run)


@pytest.mark.parametrize("seed", range(TABLES))
def test_duckdb_counts_the_same(seed: int, tmp_path: Path) -> None:
    engine = DuckTable(require("duckdb").connect().from_arrow(draw_case(seed)[1]))
    assert count_inside(engine, seed) == count_files(seed, tmp_path)


@pytest.mark.parametrize("seed", range(TABLES))
def test_postgresql_counts_the_same(seed: int, tmp_path: Path) -> None:
    table = draw_case(seed)[1]
    with psycopg.connect(services.cluster().url(), autocommit=True, prepare_threshold=None) as connection:
        copy_table(connection, table)
        assert count_inside(PostgresTable(connection, ("t",)), seed) == count_files(seed, tmp_path)


def copy_table(connection: Any, table: pa.Table) -> None:
    """Copy a table to PostgreSQL."""
    kinds = [
        "bigint[]" if pa.types.is_list(one.type) else "text" if pa.types.is_string(one.type) else "bigint"
        for one in table.schema
    ]
    columns = ", ".join(f"{quote(one.name)} {kind}" for one, kind in zip(table.schema, kinds, strict=True))
    connection.execute(f"CREATE TABLE t ({columns})".encode())
    with connection.cursor().copy("COPY t FROM STDIN") as copy:
        for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
            copy.write_row(row)


@pytest.mark.parametrize("seed", range(0, TABLES, 4))
def test_spark_counts_the_same(seed: int, tmp_path: Path, spark: Any) -> None:
    path = tmp_path / "table.parquet"
    parquet.write_table(draw_case(seed)[1], path)
    found = count_inside(SparkTable(spark.read.parquet(str(path))), seed)
    assert found == count_files(seed, tmp_path)


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    session = require("pyspark.sql").SparkSession.builder.master("local[2]")
    for name, value in {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}.items():
        session = session.config(name, value)
    running = session.getOrCreate()
    yield running
    running.stop()


def test_a_fault_would_be_seen(tmp_path: Path) -> None:
    """An engine that reads one bit too many, or forgets who is refused, counts otherwise."""
    engine = DuckTable(require("duckdb").connect().from_arrow(draw_case(1)[1]))
    right = count_files(1, tmp_path)
    form, table, keys, number = draw_case(1)
    extra = form.more_columns & set(table.column_names)
    for wrong, by in ((" >> ", " >> 1 + "), ('"state" = 0 AND', "1 = 0 AND"), (f"'{PLAN_ID}'", "'f'")):
        sql = Query(form, engine.source, extra, number, keys)._cells_query()
        if wrong in sql:
            found = Query(form, engine.source, extra, number, keys).run(
                lambda text, wrong=wrong, by=by: engine.run(text.replace(wrong, by))
            )
            assert found != right


def require(module: str) -> Any:
    """An engine's library; skip with the reason where it is missing."""
    try:
        return import_module(module)
    except ImportError:
        services.missing(f"{module} is not installed", "make test installs it")
