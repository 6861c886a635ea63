"""Tables at the edge: none, empty ones, and several that are counted at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from pyarrow import parquet

import deniable as dn
from spec.make import rows, vectors
from tests.engines.test_counts import require

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
