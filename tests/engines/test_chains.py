"""Every engine counts the plans of a chain alike, in one table of reports to all of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import psycopg
import pyarrow as pa
import pytest
from pyarrow import parquet

from deniable.engines import Request, TableForm
from deniable.mechanisms import Mechanism
from deniable.records.single import as_record_mechanism
from deniable.results.windows import Windows, count_windows, join_refused, tally_chain
from deniable.rounds import dbitflip, l_grr
from deniable.study import Plan
from spec.make.chains import chains
from tests import services, spark
from tests.cases import by_night
from tests.engines.reports import break_rows, draw_table
from tests.engines.test_counts import copy_table, require

CHAINS, ROWS = 60, 120
"""Random tables, and the rows of each plan in them."""
SEEDS = range(CHAINS)
BY_DAY = ["more values", "more bits", "more values of a hash", "a sample that breaks", "fakes"]
BY_NIGHT = [seed for seed in SEEDS if seed >= len(BY_DAY)]
SPARKS = range(8)
"""Tables that Spark counts by night."""
ROUNDS = "round"


@cache
def list_chains() -> dict[str, list[Plan]]:
    """Every way to carry on, and to break off; planning them takes a second."""
    return chains()


@cache
def draw_chain(seed: int) -> tuple[list[Plan], pa.Table]:
    """Plans that continue each other, and a table of reports to them, to other plans, and of broken rows."""
    generator = np.random.default_rng(seed)
    names = [*BY_DAY, *(name for name in list_chains() if name not in BY_DAY)]
    plans = list_chains()[names[seed % len(names)]]
    parts = []
    for plan in plans:
        form = plan.table_form
        rows = break_rows(form, draw_table(form, ROWS, generator), generator)
        n = rows.num_rows
        ids = [plan.id] * 8 + ["f" * 64, None]
        rows = rows.append_column("plan", pa.array([ids[i] for i in generator.integers(0, 10, n)]))
        rounds = generator.integers(0, form.rounds + 2, n).tolist()
        rows = rows.append_column(ROUNDS, pa.array(rounds, pa.int64()))
        reports = [f"id {i}" for i in generator.integers(0, 90, n).tolist()]  # some come again, in both plans
        rows = rows.append_column("id", pa.array(reports))
        days = [None if i == 0 else f"2026-11-0{i}" for i in generator.integers(0, 4, n).tolist()]
        parts.append(rows.append_column("day", pa.array(days)))
    table = pa.concat_tables(parts, promote_options="default")
    return plans, table.take(generator.permutation(table.num_rows))


def count(plans: Sequence[Plan], source: object, table: str | None = None) -> list[Windows]:
    return tally_chain(plans[-1].document, source, table, "day", None, None)


def count_files(seed: int, folder: Path) -> list[Windows]:
    """What this machine counts in two files, each with rows of all plans."""
    plans, table = draw_chain(seed)
    for i, start in enumerate((0, 100)):
        part = table.slice(start, 100 if i == 0 else None)
        parquet.write_table(part, folder / f"{i}.parquet", row_group_size=40)
    return count(plans, folder)


@by_night("seed", range(CHAINS), *BY_NIGHT)
def test_files_duckdb_and_frames_count_all_plans_alike(seed: int, tmp_path: Path) -> None:
    plans, table = draw_chain(seed)
    windows = count_files(seed, tmp_path)
    assert [next(iter(each.values())).plan_id for each in windows] == [plan.id for plan in plans]
    assert windows == count(plans, table) == count(plans, pl.from_arrow(table))
    assert windows == count(plans, require("duckdb").connect().from_arrow(table))


@by_night("seed", range(CHAINS), *BY_NIGHT)
def test_postgresql_counts_all_plans_alike(seed: int, tmp_path: Path) -> None:
    plans, table = draw_chain(seed)
    address = services.cluster().url()
    with psycopg.connect(address, autocommit=True, prepare_threshold=None) as connection:
        copy_table(connection, table)
    assert count(plans, address, "t") == count_files(seed, tmp_path)


@pytest.mark.long
def test_spark_counts_all_plans_alike(tmp_path: Path) -> None:
    spark.require_spark()
    driver, expected = spark.SparkDriver("local[2]", tmp_path), {}
    for seed in SPARKS:
        (tmp_path / str(seed)).mkdir()
        expected[seed] = count_files(seed, tmp_path / str(seed))
    assert driver.call("count chains", folder=str(tmp_path), seeds=list(SPARKS)) == expected
    driver.stop()


@pytest.mark.parametrize("seed", range(len(BY_DAY)))
def test_each_plan_has_its_own_rows_and_all_rows_are_accounted_for(seed: int) -> None:
    """A table of the rows of one plan alone gives the counts that this plan has in the table of all."""
    plans, table = draw_chain(seed)
    windows = count(plans, table)
    for plan, each in zip(plans, windows, strict=True):
        own = table.filter(pa.compute.equal(table["plan"], plan.id))
        request = Request(plan.table_form, each.by)
        alone = count_windows(plan.document, request, own)
        assert {key: (part.n, part.tallies) for key, part in alone.items() if part.n} == {
            key: (part.n, part.tallies) for key, part in each.items() if part.n
        }
        assert sum(part.n for part in each.values()) > ROWS // 20
    refused = join_refused(plans[-1].id, windows)
    assert sum(refused.values()) + sum(part.n for each in windows for part in each.values()) == table.num_rows
    assert refused["plan"] == table.num_rows - sum(
        int(pa.compute.sum(pa.compute.equal(table["plan"], plan.id)).as_py()) for plan in plans
    )


def test_a_table_holds_plans_whose_columns_mean_the_same() -> None:
    def make_form(name: str, mechanism: Mechanism) -> TableForm:
        return TableForm("0" * 64, (name,), as_record_mechanism(mechanism), rounds=2)

    bits, values = dbitflip(5, 1.0, 2), l_grr(3, 1.0, 2.0)
    newest = make_form("crash", bits)  # with lists in "crash.about"
    for name, mechanism, is_held in (
        ("crash", bits, True),
        ("crash", values, True),
        ("Crash", bits, False),
        ("crash.about", values, False),
        ("plan", values, False),
        ("id", values, False),
    ):
        other = make_form(name, mechanism)
        assert newest.fits_beside(other) == other.fits_beside(newest) == is_held, name
    for plans in list_chains().values():
        assert plans[-1].document.plans_in_table == tuple(plan.document for plan in reversed(plans))


def test_a_table_without_the_columns_of_a_plan_has_no_reports_of_it() -> None:
    """The newest plan has a column more, and nobody has reported to it yet."""
    plans, table = draw_chain(1)
    old = table.filter(pa.compute.equal(table["plan"], plans[0].id))
    names = [*plans[0].table_form.column_names, "plan", ROUNDS, "id", "day"]
    windows: list[Any] = [
        count(plans, source)
        for source in (old.select(names), require("duckdb").connect().from_arrow(old.select(names)))
    ]
    assert windows[0] == windows[1]
    counted = {part.plan_id for each in windows[0] for part in each.values() if part.n}
    assert counted == {plans[0].id}
