"""Files and tables of reports know their round, and rounds are not added up."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import dataset, parquet

import deniable as dn
from deniable.reports import Tallies
from deniable.results.kept_tallies import KeptTallies
from tests import statistics
from tests.cases import check_each
from tests.running import Run

COLORS = ["red", "green", "blue"]
PLAN = dn.Plan.of({"color": COLORS}, dn.rounds.l_grr(3, 1.0, 2.0), people=400, rounds=10)
ONCE = dn.Plan.of({"color": COLORS}, dn.grr(3, 1.0), people=400)
PEOPLE = {"color": COLORS * 40}
NAMED = "does not say of which round its reports are, and this plan has rounds 1 to 10"

Read = Callable[[Path], object]
TABLES: dict[str, Read] = {
    "a file": lambda path: path,
    "DuckDB": lambda path: duckdb.sql(f"SELECT * FROM '{path}'"),
    "Polars": pl.read_parquet,
    "Polars, lazy": pl.scan_parquet,
    "pandas": lambda path: parquet.read_table(path).to_pandas(),
    "pyarrow": parquet.read_table,
    "a dataset": dataset.dataset,
}


def reports(number: int, plan: dn.Plan = PLAN, seed: int = 1) -> dn.reports.Reports:
    return plan.privatize(PEOPLE, dn.remembering(seed, round=number))


def write_without_round(path: Path, number: int = 2) -> Path:
    """A file as the program wrote it before reports knew their round; its rows say their plan."""
    PLAN.write_reports(path, reports(number), overwrite=True)
    rows = parquet.read_table(path).drop(["round"])
    rows = rows.append_column("plan", pa.array([PLAN.id] * rows.num_rows))
    parquet.write_table(rows.replace_schema_metadata(), path)
    return path


def test_every_table_says_its_round_or_is_refused(tmp_path: Path) -> None:
    old = write_without_round(tmp_path / "old.parquet")
    PLAN.write_reports(tmp_path / "new.parquet", reports(2))
    rows = parquet.read_table(tmp_path / "new.parquet")
    rows = rows.append_column("plan", pa.array([PLAN.id] * rows.num_rows)).replace_schema_metadata()
    parquet.write_table(rows, tmp_path / "new.parquet")
    expected = PLAN.tally(reports(2))

    def check(read: Read) -> None:
        for asked in ({}, {"number": 2}, {"by": "round"}, {"by": "plan"}):
            with pytest.raises(dn.InvalidReport, match=NAMED):
                PLAN.tally(read(old), **asked)
        assert PLAN.tally(read(tmp_path / "new.parquet")) == expected
        assert expected.round == 2

    check_each(check, TABLES.items())


def test_reports_are_written_and_read_with_their_round(tmp_path: Path) -> None:
    file = tmp_path / "reports.parquet"
    assert PLAN.write_reports(file, [reports(1), reports(3)]) == 240
    assert parquet.read_table(file)["round"].to_pylist() == [1] * 120 + [3] * 120
    assert [(block.round, block.n) for block in PLAN.read_reports(file)] == [(1, 120), (3, 120)]
    for total in (PLAN.read_reports(file), [reports(1), reports(3)]):
        with pytest.raises(dn.InvalidReport, match="the same people answered in rounds 1 and 3"):
            PLAN.tally(total)
    with pytest.raises(dn.InvalidParameter, match="the same people answered in rounds 1 and 3"):
        PLAN.tally(file)
    PLAN.write_reports(tmp_path / "later.parquet", [reports(10), reports(2)])
    with pytest.raises(dn.InvalidParameter, match="answered in rounds 2 and 10"):
        PLAN.tally(tmp_path / "later.parquet")
    windows = PLAN.tally(file, by="round")
    assert {number: tallies.round for number, tallies in windows.items()} == {1: 1, 3: 3}
    assert windows[3] == PLAN.tally(reports(3))
    unsaid = PLAN.privatize(PEOPLE, dn.remembering(1))
    with pytest.raises(dn.InvalidReport, match="these reports do not say of which round they are"):
        PLAN.write_reports(tmp_path / "none.parquet", unsaid)
    assert PLAN.write_reports(tmp_path / "said.parquet", replace(unsaid, round=2)) == 120
    with pytest.raises(dn.InvalidReport, match="reports are of round 11, and this plan has rounds 1 to 10"):
        PLAN.write_reports(tmp_path / "none.parquet", replace(unsaid, round=11))
    ONCE.write_reports(tmp_path / "once.parquet", ONCE.privatize(PEOPLE))
    assert parquet.read_table(tmp_path / "once.parquet").column_names == ["color"]


def test_tallies_of_rounds_are_not_added_up() -> None:
    one, two = (PLAN.tally(reports(number)) for number in (1, 2))
    totals: list[Callable[[], object]] = [lambda: one + two, lambda: sum([one, two]), lambda: two - one]
    for total in totals:
        with pytest.raises(dn.InvalidReport, match="the same people answered in rounds 1 and 2"):
            total()
    unsaid = PLAN.tally(PLAN.privatize(PEOPLE, dn.remembering(1)))
    for other in (one, unsaid):
        with pytest.raises(dn.InvalidReport, match="only where all of them say that they are of one round"):
            unsaid + other
    assert (one + PLAN.tally(reports(1, seed=2))).n == 240
    assert (PLAN.tally([]) + one).round == 1
    assert Tallies.from_dict(json.loads(json.dumps(two.to_dict()))) == two
    assert (ONCE.tally(ONCE.privatize(PEOPLE)) + ONCE.tally(ONCE.privatize(PEOPLE))).n == 240
    for read in (PLAN.mle, lambda blocks: PLAN.mle(blocks, "color")):
        with pytest.raises(dn.InvalidReport, match="the same people answered in rounds 1 and 2"):
            read([reports(1), reports(2)])


def test_the_shell_refuses_what_says_no_round(tmp_path: Path, run: Run) -> None:
    PLAN.write("plan.json")
    Path("people.csv").write_text("color\n" + "\n".join(PEOPLE["color"]) + "\n")
    for number in ("1", "2"):
        command = ("privatize", "plan.json", "people.csv", "-o", f"lake/{number}.parquet", "--seed", "7")
        assert run(*command, "--round", number).code == 0
    keep = ("tally", "plan.json", "--from", "lake", "--keep", "kept.json", "--by", "round")
    assert run(*keep).code == 0
    for source in ("lake", "kept.json"):
        refused = run("estimate", "plan.json", "--from", source)
        assert refused.code != 0, source
        assert "the same people answered in rounds 1 and 2" in refused.err, source
        assert "choose one with --round" in refused.err, source
        about = json.loads(run("estimate", "plan.json", "--from", source, "--round", "2", "--json").out)
        assert (about["n"], about["round"]) == (120, 2), source
    assert run("estimate", "plan.json", "lake/2.parquet").code == 0
    assert KeptTallies.read("kept.json", PLAN.document).n == 240
    old = write_without_round(Path("old.parquet"))
    header = {b"deniable.plan": PLAN.id.encode()}
    written = parquet.read_table(old).drop(["plan"]).replace_schema_metadata(header)
    parquet.write_table(written, "header.parquet")
    for file in ("old.parquet", "header.parquet"):
        commands: list[tuple[str, ...]] = [
            ("estimate", "plan.json", file),
            ("estimate", "plan.json", "--from", file),
            ("tally", "plan.json", "--from", file, "--keep", "more.json", "--round", "2"),
        ]
        for refused_command in commands:
            outcome = run(*refused_command)
            assert outcome.code != 0, refused_command
            assert NAMED in outcome.err, refused_command
            assert "put the file into a folder round=2" in outcome.err, refused_command
    Path("round=2").mkdir()
    parquet.write_table(written, "round=2/header.parquet")
    assert run("estimate", "plan.json", "round=2/header.parquet").code == 0
    [block] = PLAN.read_reports("round=2/header.parquet")
    assert block.round == 2


def test_a_question_may_be_called_round(tmp_path: Path) -> None:
    plan = dn.Plan.of({"round": COLORS}, dn.rounds.l_grr(3, 1.0, 2.0), people=400, rounds=2)
    file = tmp_path / "reports.parquet"
    plan.write_reports(file, plan.privatize({"round": COLORS * 9}, dn.remembering(1, round=2)))
    assert parquet.read_table(file).column_names == ["round", "deniable.round"]
    assert plan.tally(file).round == 2
    assert plan.tally(file, by="deniable.round")[2].n == 27


@pytest.mark.long
def test_intervals_of_files_of_several_rounds_hold(tmp_path: Path) -> None:
    """Added up, as before, the reports of ten rounds give intervals that hold 70 % of the time here."""
    truth = np.array([0.6, 0.3, 0.1])
    rng = np.random.default_rng(13)
    held = fault = 0
    for study in range(studies := statistics.ROUNDS_STUDIES):
        people = {"color": rng.choice(COLORS, 400, p=truth)}
        blocks = [PLAN.privatize(people, dn.remembering(study, round=i)) for i in range(1, 11)]
        file = tmp_path / f"{study}.parquet"
        PLAN.write_reports(file, blocks)
        windows = PLAN.estimate(PLAN.tally(file, by="round"))
        held += _holds(windows[int(rng.integers(1, 11))], truth)  # one, as rounds are of the same people
        added: Any = sum(replace(PLAN.tally(block), round=1) for block in blocks)
        fault += _holds(PLAN.estimate(added), truth)
    statistics.at_least(held, studies, 0.94, "an interval of one round in a file of ten")
    assert fault < 0.88 * studies, "rounds that are added up were not found out"


def _holds(result: Any, truth: np.ndarray[Any, Any]) -> bool:
    low, high = result["color"].interval(0.95)
    return bool(low[0] <= truth[0] <= high[0])


def write_late(lake: Path) -> None:
    """Three days, of which the second has 12 late reports of the round before."""
    for day, number in ((1, 1), (2, 2), (3, 3)):
        PLAN.write_reports(lake / f"day=2026-11-0{day}" / "part-0.parquet", reports(number))
    late = PLAN.privatize({"color": COLORS * 4}, dn.remembering(2, round=1))
    PLAN.write_reports(lake / "day=2026-11-02" / "part-1.parquet", late)


def test_a_day_with_late_reports_is_estimated(tmp_path: Path, run: Run) -> None:
    plan, lake, kept = str(PLAN.write(tmp_path / "plan.json")), tmp_path / "lake", tmp_path / "kept.json"
    write_late(lake)
    counted = PLAN.tally(lake, by="day")
    assert list(counted.records.values()) == [120, 132, 120]
    assert [(tallies.n, tallies.round) for tallies in counted.values()] == [(120, 1), (120, 2), (120, 3)]
    results = list(PLAN.estimate(counted).values())
    assert [result.n for result in results] == [120, 132, 120]
    files = [lake / "day=2026-11-02" / f"part-{part}.parquet" for part in (0, 1)]
    usual, late = (PLAN.estimate(PLAN.tally(file))["color"].frequencies for file in files)
    assert np.allclose(results[1]["color"].frequencies, (120 * usual + 12 * late) / 132)
    KeptTallies.update(kept, PLAN.document, lake, by=("day", "round"))
    outputs = [run("estimate", plan, "--from", str(place), "--by", "day") for place in (lake, kept)]
    assert outputs[0].code == 0
    assert outputs[0].out == outputs[1].out
    assert "1 window with reports of several rounds" in outputs[0].out
    with pytest.raises(dn.InvalidParameter, match="answered in rounds 1, 2 and 3, which are not added up"):
        PLAN.tally(
            duckdb.sql(f"SELECT *, '{PLAN.id}' AS plan, 'north' AS area FROM '{lake}/**/*.parquet'"),
            by="area",
        )


def test_intervals_of_a_day_hold_if_people_are_late(tmp_path: Path) -> None:
    """All send two reports on one day. The spread of 200 days is known to within 5 %, the limit is 4 such."""
    shares, errors = [], []
    for seed in range(200):
        folder = tmp_path / str(seed)
        for number in (1, 2):
            words = dn.remembering(seed, round=number)
            file = folder / "day=2026-11-01" / f"{number}.parquet"
            PLAN.write_reports(file, PLAN.privatize(PEOPLE, words))
        [result] = PLAN.estimate(PLAN.tally(folder, by="day")).values()
        shares.append(result["color"].frequencies)
        errors.append(result["color"].stderr)
    spread, stated = np.std(shares, axis=0).mean(), np.mean(errors)
    assert 0.75 * stated < spread < 1.2 * stated
