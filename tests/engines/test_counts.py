"""Every engine counts the same: bit for bit, whatever is in the table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from deniable.engines.counting import quote
from deniable.engines.databases import DuckTable, Engine, PostgresTable, SparkTable
from deniable.engines.files import open_files, open_frame
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
    form, table, keys, number = draw_case(seed)
    return Query(form, engine.source, form.more_columns & set(table.column_names), number, keys).run(
        engine.run
    )


@pytest.mark.parametrize("seed", range(TABLES))
def test_duckdb_counts_the_same(seed: int, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    table = draw_case(seed)[1]
    assert count_inside(DuckTable(duckdb.connect().from_arrow(table)), seed) == count_files(seed, tmp_path)
