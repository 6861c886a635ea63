"""Every engine counts the same: bit for bit, whatever is in the table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from threading import Barrier
from typing import Any, final

import numpy as np
import psycopg
import pyarrow as pa
import pytest
from pyarrow import parquet

import deniable as dn
from deniable.engines import files
from deniable.engines.databases import DuckTable, Engine, PostgresTable
from deniable.engines.files import open_files
from deniable.engines.form import Counted, TableForm
from deniable.engines.query import Query, quote
from spec.make import rows, vectors
from tests import services
from tests.cases import by_night
from tests.engines.reports import PLAN_ID, break_rows, draw_mechanism, draw_table

Key = tuple[Any, ...]
TABLES = 25
"""Random tables that are counted by every engine."""


def draw_case(seed: int) -> tuple[TableForm, pa.Table, tuple[str, ...], int | None]:
    """A table with rows of every kind, the columns that it is counted by, and the round."""
    generator = np.random.default_rng(seed)
    mechanism = draw_mechanism(generator, seed)
    group = ("arm", 3) if seed % 3 == 0 else None
    names = tuple(f'a {j}."' for j in range(mechanism.d))
    form = TableForm(PLAN_ID, names, mechanism, group, rounds=2 if seed % 10 == 5 else 1)
    table = break_rows(form, draw_table(form, 300, generator), generator)
    n = table.num_rows
    plans = [PLAN_ID] * 8 + ["f" * 64, None]
    table = table.append_column("plan", pa.array([plans[i] for i in generator.integers(0, 10, n)]))
    if seed % 2:
        ids = [None if i < 3 else f"id {i}" for i in generator.integers(0, 220, n).tolist()]
        table = table.append_column("id", pa.array(ids))
    if seed % 5 == 0:
        rounds = [None if i < 0 else i for i in generator.integers(-1, 4, n).tolist()]
        table = table.append_column("round", pa.array(rounds, pa.int32()))
    days = [None if i == 0 else f"day {i}" for i in generator.integers(0, 3, n).tolist()]
    table = table.append_column("day", pa.array(days))
    keys = ("day",) if seed % 4 == 1 else ()
    return form, table, keys if group is None else (*keys, "arm"), 1 if seed % 10 == 0 else None


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


@by_night("seed", range(TABLES), *range(7, TABLES - 1))
def test_duckdb_counts_the_same(seed: int, tmp_path: Path) -> None:
    engine = DuckTable(require("duckdb").connect().from_arrow(draw_case(seed)[1]))
    assert count_inside(engine, seed) == count_files(seed, tmp_path)


@by_night("seed", range(TABLES), *range(7, TABLES - 1))
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


@pytest.mark.parametrize(
    ("seed", "wrong", "by"),
    [
        (2, " >> ", " >> 1 + "),
        (1, '"state" = 0 AND', "1 = 0 AND"),
        (1, f"'{PLAN_ID}'", "'f'"),
        (5, '"round" < 1', '"round" < 0'),
        (5, '"round" > 2', '"round" > 3'),
    ],
)
def test_a_fault_would_be_seen(seed: int, wrong: str, by: str, tmp_path: Path) -> None:
    """An engine that reads the bit beside, counts ids twice, or takes other plans or rounds is found out."""
    engine = Faulty(DuckTable(require("duckdb").connect().from_arrow(draw_case(seed)[1])), wrong, by)
    assert count_inside(engine, seed) != count_files(seed, tmp_path)
    assert engine.changed


@final
@dataclass
class Faulty:
    """An engine that misreads part of each query."""

    engine: Engine
    wrong: str
    by: str
    changed: bool = False

    @property
    def kinds(self) -> Mapping[str, str]:
        return self.engine.kinds

    @property
    def source(self) -> str:
        return self.engine.source

    def run(self, sql: str) -> Iterable[Sequence[Any]]:
        self.changed |= self.wrong in sql
        return self.engine.run(sql.replace(self.wrong, self.by))

    def stream(self, sql: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        return self.engine.stream(sql, schema)


def test_ids_are_compared_in_buckets_and_by_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither several buckets nor ids of one hash change what is counted."""
    right = count_files(1, tmp_path)
    assert sum(one.refused["repeated"] for one in right.values()) > 20
    monkeypatch.setattr(files, "_IDS", 40)
    assert count_files(1, tmp_path) == right
    monkeypatch.setattr(files, "_mix", lambda numbers: numbers % np.uint64(17))
    assert count_files(1, tmp_path) == right


def require(module: str) -> Any:
    """An engine's library; skip with the reason where it is missing."""
    try:
        return import_module(module)
    except ImportError:
        services.missing(f"{module} is not installed", "make test installs it")


AT_ONCE = 2
ROWS = 10_000
"""Rows of each file, so that counting takes longer than threads take to start."""


def write_file(path: Path, plan: dn.Plan, seed: int) -> None:
    """Reports of many people, with ids of which some come twice."""
    answers = vectors.answers_of(plan)
    people = [answers[i % len(answers)] for i in range(ROWS)]
    plan.write_reports(path, plan.privatize(people, dn.remembering(seed, round=1)))
    table = parquet.read_table(path)
    ids = [f"{seed} {i * 7 % (ROWS - 500)}" for i in range(ROWS)]
    parquet.write_table(table.append_column("id", [ids]), path, row_group_size=ROWS // 4)


def test_two_tallies_at_once_are_those_one_after_the_other(tmp_path: Path) -> None:
    """Both at once, of two plans and of one: nothing that a count keeps is shared with another count."""
    plans = [rows.plans()[name] for name in ("hashed", "several words")]
    paths = [tmp_path / f"{i}.parquet" for i in range(len(plans))]
    for seed, (plan, path) in enumerate(zip(plans, paths, strict=True)):
        write_file(path, plan, seed)
    right = [plan.tally(path) for plan, path in zip(plans, paths, strict=True)]
    assert [one.refused for one in right] == [{"repeated": 500}] * len(plans)
    for pairs in ((0, 1), (0, 0), (1, 1)):
        together = Barrier(AT_ONCE)

        def count(which: int, together: Barrier = together) -> Any:
            together.wait(timeout=30)
            return plans[which].tally(paths[which])

        with ThreadPoolExecutor(AT_ONCE) as pool:
            assert list(pool.map(count, pairs)) == [right[which] for which in pairs]


def test_a_table_with_no_rows_has_n_0(tmp_path: Path) -> None:
    """An engine and files say the same of nothing; there is nothing to estimate."""
    for name in ("direct", "unary", "subset", "hashed", "bit-flip", "sampled", "known groups"):
        plan = rows.plans()[name]
        nothing = plan.tally([])
        table = rows.to_table(plan, [])
        path = tmp_path / f"{name}.parquet"
        parquet.write_table(table, path)
        written = tmp_path / f"{name} written.parquet"
        plan.write_reports(written, plan.privatize(vectors.answers_of(plan)[:0], dn.remembering(1)))
        for source in (table, path, written, require("duckdb").connect().from_arrow(table)):
            found = plan.tally(source)
            assert found == nothing
            assert (found.n, found.refused) == (0, {})


def test_an_empty_file_and_an_empty_folder_are_refused_in_plain_words(tmp_path: Path) -> None:
    plan = rows.plans()["direct"]
    empty = tmp_path / "empty.parquet"
    empty.write_bytes(b"")
    with pytest.raises(dn.InvalidReport, match=r"empty.parquet is not a file of reports, or is damaged"):
        plan.tally(empty)
    folder = tmp_path / "folder"
    folder.mkdir()
    for source in (folder, [folder], folder / "*.parquet", str(folder / "**")):
        with pytest.raises(
            dn.DeniableError,
            match=r"there is no Parquet file of reports in|no file of reports has a name like",
        ):
            plan.tally(source)
