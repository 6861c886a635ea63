"""Kept tallies: a job may be repeated or killed at any moment, and adds only what is new."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from datetime import date
from pathlib import Path

import psycopg
import pyarrow as pa
import pytest
from pyarrow import parquet

import deniable as dn
from deniable.engines import Request
from deniable.results import kept_tallies as kept
from deniable.results.kept_tallies import KeptTallies
from tests import services
from tests.engines.test_counts import copy_table, require
from tests.running import Run

PLAN = dn.Plan.of({"color": ["red", "green", "blue"]}, dn.grr(3, 2.0), people=400)
OTHER = dn.Plan.of({"color": ["red", "green"]}, dn.grr(2, 1.0), people=400)
KEEP = Path("tallies.json")


def write_day(day: int, n: int, name: str | None = None) -> None:
    answers = {"color": ["red", "green", "blue"][day % 3 : day % 3 + 1] * n}
    path = Path(f"lake/day={day}") / (name or "part-0.parquet")
    PLAN.write_reports(path, PLAN.privatize(answers, dn.seeded(day)), overwrite=True)


@pytest.fixture
def lake(run: Run) -> tuple[str, ...]:
    PLAN.write("plan.json")
    for day in (1, 2):
        write_day(day, 50)
    return ("tally", "plan.json", "--from", "lake", "--keep", str(KEEP), "--by", "day")


def test_new_and_changed_files_are_counted_and_others_are_not(lake: tuple[str, ...], run: Run) -> None:
    outcome = run(*lake)
    assert outcome.out == "counted 2 new partitions, 0 changed; tallies.json has 100 records\n", outcome.err
    before = KEEP.read_bytes()
    assert run(*lake).out.startswith("counted 0 new partitions, 0 changed; ")
    assert KEEP.read_bytes() == before
    write_day(2, 60)
    write_day(3, 10)
    facts = json.loads(run(*lake, "--json").out)
    assert (facts["n"], facts["new"]) == (120, ["day=3/part-0.parquet"])
    assert (facts["changed"], facts["gone"]) == (["day=2/part-0.parquet"], [])
    told = KeptTallies.read(KEEP, PLAN.document)
    assert told.tally() == PLAN.tally("lake")
    assert dict(told.tally_windows("day")) == dict(PLAN.tally("lake", by="day"))
    for more in ((), ("--by", "day")):
        pair = [
            run("estimate", "plan.json", "--from", one, *more, "--json").out for one in ("lake", str(KEEP))
        ]
        assert pair[0] == pair[1] != ""
    Path("lake/day=1/part-0.parquet").unlink()
    before = KEEP.read_bytes()
    outcome = run(*lake)
    assert (outcome.code, KEEP.read_bytes()) == (2, before)
    assert "not there any more: day=1/part-0.parquet. If files were deleted" in outcome.err
    outcome = run(*lake, "--gone", "keep")
    assert "tallies.json has 120 records" in outcome.out
    assert outcome.err == "kept, though not there any more: day=1/part-0.parquet\n"
    outcome = run(*lake, "--gone", "drop")
    assert "tallies.json has 70 records" in outcome.out
    assert outcome.err == "dropped: day=1/part-0.parquet\n"


def test_reports_of_another_plan_make_no_file(lake: tuple[str, ...], run: Run) -> None:
    OTHER.write("plan.json", overwrite=True)
    outcome = run(*lake)
    assert "none of these 100 reports was made for plan" in outcome.err
    assert not KEEP.exists()


def test_an_increment_notes_files_of_another_plan(lake: tuple[str, ...], run: Run) -> None:
    run(*lake)
    for day, n in ((3, 7), (4, 9)):
        path = f"lake/day={day}/part-0.parquet"
        OTHER.write_reports(path, OTHER.privatize({"color": ["red"] * n}, dn.seeded(day)))
    flat = pa.table({"size": [1, 2], "plan": [OTHER.id] * 2})  # whose rows say their plan
    parquet.write_table(flat, "lake/flat.parquet")
    outcome = run(*lake)
    assert (outcome.code, outcome.out) == (
        0,
        "counted 3 new partitions, 0 changed; tallies.json has 100 records\n",
    )
    assert outcome.err == (
        "18 rows are not counted: 18 of another plan\n"
        "of another plan, and not counted: 18 rows of 3 new or changed partitions\n"
    )
    write_day(5, 10)
    facts = json.loads(run(*lake, "--json").out)
    assert (facts["n"], facts["new"], facts["foreign"]) == (110, ["day=5/part-0.parquet"], {})
    assert facts["not_counted"] == {"plan": 18}
    told = KeptTallies.read(KEEP, PLAN.document).tally_windows("day")
    assert {day: (one.n, one.refused.get("plan", 0)) for day, one in told.items()} == {
        1: (50, 0),
        2: (50, 0),
        3: (0, 7),
        4: (0, 9),
        5: (10, 0),
        None: (0, 2),
    }


def test_late_rows_of_a_database(run: Run) -> None:
    PLAN.write("plan.json")
    PLAN.write_reports("all.parquet", PLAN.privatize({"color": ["red", "blue"] * 20}, dn.seeded(1)))
    rows = parquet.read_table("all.parquet").replace_schema_metadata()
    rows = rows.append_column("plan", pa.array([PLAN.id] * 40))
    days = [date(2026, 11, 1 + i // 10).isoformat() if i else None for i in range(40)]
    address = services.cluster().url()
    arguments = ("tally", "plan.json", "--from", address, "--table", "t", "--keep", str(KEEP), "--by", "day")
    with psycopg.connect(address, autocommit=True) as database:
        copy_table(database, rows.append_column("day", pa.array(days)))
        database.execute("ALTER TABLE t ALTER COLUMN day TYPE date USING day::date")
        database.execute("CREATE TABLE later AS SELECT * FROM t WHERE day > '2026-11-02'")
        database.execute("DELETE FROM t WHERE day > '2026-11-02'")
        assert "has 20 records" in run(*arguments).out
        before = KEEP.read_bytes()
        assert json.loads(run(*arguments, "--json").out)["changed"] == []
        assert KEEP.read_bytes() == before
        database.execute("INSERT INTO t SELECT * FROM later")
        database.execute("INSERT INTO t SELECT * FROM t WHERE day = '2026-11-01' LIMIT 3")
        outcome = run(*arguments, "--json")
        facts = json.loads(outcome.out)
        assert (facts["n"], len(facts["new"]), facts["changed"]) == (40, 2, [])
        assert facts["late"] == 3
        assert "warning: 3 rows of earlier windows came late, and are not counted; see --again" in outcome.err
        facts = json.loads(run(*arguments, "--again", "4", "--json").out)
        assert (facts["n"], facts["new"], facts["late"]) == (43, [], 0)
        assert facts["changed"] == ['{"date": "2026-11-01"}']
        database.execute("ALTER TABLE t ADD COLUMN region text DEFAULT 'eu'")
        other = (*arguments[:5], "later", *arguments[6:])
        assert "are of the table 't', got 'later'; name another file" in run(*other).err
        named = run(*arguments[:6], "--keep", "regions.json", "--by", "region", "--by", "day")
        assert "'region' must grow, as what is new comes last" in named.err
        assert not Path("regions.json").exists()
    inside = PLAN.tally(address, "t", by="day")
    assert dict(KeptTallies.read(KEEP, PLAN.document).tally_windows("day")) == dict(inside)


@pytest.mark.parametrize("step", ["os.fsync", "pathlib.Path.replace"])
def test_a_job_that_is_killed_leaves_the_old_file(step: str, lake: tuple[str, ...], run: Run) -> None:
    run(*lake)
    before = KEEP.read_bytes()
    write_day(3, 10)
    module, _, name = step.rpartition(".")
    planted = f"import os, pathlib; {module}.{name} = lambda *_: os._exit(9)"
    code = f"{planted}; from deniable.cli import main; main({list(lake)!r})"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 9
    assert KEEP.read_bytes() == before
    assert "counted 1 new partition, 0 changed" in run(*lake).out
    assert KeptTallies.read(KEEP, PLAN.document).tally() == PLAN.tally("lake")


def test_two_jobs_at_once(lake: tuple[str, ...], run: Run) -> None:
    with kept.lock_file(KEEP):
        outcome = run(*lake)
    assert (outcome.code, outcome.err) == (
        1,
        "error: another job is updating tallies.json; run this when it is done\n",
    )
    assert not KEEP.exists()
    assert run(*lake).code == 0


def test_what_does_not_fit_is_refused(lake: tuple[str, ...], run: Run) -> None:
    run(*lake)
    OTHER.write("other.json")
    assert "reports were made for plan" in run("estimate", "other.json", "--from", str(KEEP)).err
    assert "are kept by day" in run(*lake[:-2]).err
    assert "did you mean 'day'" in run("estimate", "plan.json", "--from", str(KEEP), "--by", "dya").err
    KEEP.write_text("{}")
    assert "is not a file of kept tallies" in run(*lake).err
    os.rename("lake", "round=1")
    asks_again = dn.Plan.of({"color": ["red", "blue"]}, dn.rounds.l_grr(2, 1.0, 2.0), people=400, rounds=2)
    asks_again.write("plan.json", overwrite=True)
    reports = asks_again.privatize({"color": ["red"] * 9}, dn.remembering(1, round=1))
    asks_again.write_reports("round=1/day=1/part-0.parquet", reports, overwrite=True)
    Path("round=1/day=2/part-0.parquet").unlink()
    again = ("tally", "plan.json", "--from", "round=1", "--keep", "more.json", "--by", "day")
    refused = run(*again).err
    assert "these reports are of rounds, which are not added up" in refused
    assert "--by day,round" in refused
    assert run(*again, "--round", "1").code == 0
    before = Path("more.json").read_bytes()
    asked = {"color": ["red", "blue", "green"]}
    next_plan = dn.Plan.of(asked, dn.rounds.l_grr(3, 1.0, 2.0), people=400, rounds=2)
    replace(next_plan, document=replace(next_plan.document, continues=(asks_again.document,))).write(
        "plan.json", overwrite=True
    )
    assert "keep these in another file" in run(*again, "--round", "1", "--gone", "drop").err
    assert Path("more.json").read_bytes() == before, "round 1 of the old plan is none of the new one"


def test_the_hint_about_rounds_names_the_columns_that_were_named() -> None:
    """And not the known group, by which people are counted apart anyway."""
    asked = {"arm": ["A", "B"], "color": ["red", "blue"]}
    plan = dn.Study(asked, known=["arm"], epsilon_first=1.0, epsilon_forever=2.0, rounds=2).plan(people=400)
    with pytest.raises(dn.InvalidParameter, match=r"--by day,round$"):
        assert Request(plan.table_form, ("day",), kept=True).mixes_rounds


def test_another_folder_with_the_same_names_is_refused(lake: tuple[str, ...], run: Run) -> None:
    run(*lake)
    before = KEEP.read_bytes()
    assert json.loads(before)["source"] == "lake"
    shutil.copytree("lake", "other")
    PLAN.write_reports("other/day=1/part-0.parquet", PLAN.privatize({"color": ["red"] * 7}), overwrite=True)
    other = tuple("other" if one == "lake" else one for one in lake)
    outcome = run(*other)
    assert (outcome.code, KEEP.read_bytes()) == (2, before)
    assert "the tallies in tallies.json are of the reports in lake, got other" in outcome.err
    shutil.rmtree("other")
    os.rename("lake", "other")
    assert run(*other).out.startswith("counted 0 new partitions, 0 changed; ")
    assert json.loads(KEEP.read_bytes())["source"] == "other"
    Path("moved").mkdir()
    os.rename("other", "moved/other")
    os.rename(KEEP, f"moved/{KEEP}")
    absolute = str(Path("moved/other").resolve())
    moved = ("tally", "plan.json", "--from", absolute, "--keep", f"moved/{KEEP}", "--by", "day")
    assert run(*moved).out.startswith("counted 0 new partitions, 0 changed; ")
    assert json.loads(Path(f"moved/{KEEP}").read_bytes())["source"] == "other"


def test_another_database_is_refused(run: Run) -> None:
    """Its rows have the same columns, and its windows the same names."""
    PLAN.write("plan.json")
    PLAN.write_reports("all.parquet", PLAN.privatize({"color": ["red", "blue"] * 20}, dn.seeded(1)))
    rows = parquet.read_table("all.parquet").replace_schema_metadata()
    rows = rows.append_column("plan", pa.array([PLAN.id] * 40))
    rows = rows.append_column("day", pa.array(["2026-11-01"] * 40))
    duckdb = require("duckdb")
    for name in ("one", "two"):
        with duckdb.connect(f"{name}.duckdb") as connection:
            connection.register("rows", rows)
            connection.execute("CREATE TABLE t AS SELECT * FROM rows")
    arguments = ("tally", "plan.json", "--table", "t", "--keep", str(KEEP), "--by", "day", "--from")
    assert "has 40 records" in run(*arguments, "one.duckdb").out
    outcome = run(*arguments, "two.duckdb")
    assert (outcome.code, "are of the reports in one.duckdb, got two.duckdb" in outcome.err) == (2, True)
    assert "0 new partitions, 0 changed" in run(*arguments, "duckdb:///one.duckdb").out
