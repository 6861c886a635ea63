"""Damaged files of reports are found by checksums, set aside and named; all others are counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.results.kept_tallies import KeptTallies
from tests.cases import check_each
from tests.running import Run

COLORS = [f"color {i}" for i in range(20)]
PLANS = {
    "direct": dn.Plan.of({"color": COLORS}, dn.grr(20, 2.0), people=400),
    "packed": dn.Plan.of({"color": COLORS}, dn.oue(20, 2.0), people=400),
    "hashed": dn.Plan.of({"color": COLORS}, dn.olh(20, 2.0), people=400),
}
PLAN = PLANS["packed"]
FLIPS = 60


def write(path: Path, n: int = 300, plan: dn.Plan = PLAN, seed: int = 1) -> Path:
    reports = plan.privatize({"color": [COLORS[i % 2] for i in range(n)]}, dn.seeded(seed))
    plan.write_reports(path, reports, overwrite=True, beside={"hour": [i % 2 for i in range(n)]})
    return path


def flip(path: Path, bit: int) -> None:
    raw = bytearray(path.read_bytes())
    raw[bit // 8] ^= 1 << bit % 8
    path.write_bytes(raw)


def find_page(path: Path) -> int:
    """A bit in the middle of the first page, which no footer describes."""
    return 8 * 200 if path.stat().st_size > 2000 else 8 * 60


@pytest.mark.long
def test_no_flipped_bit_changes_counts_unnoticed(tmp_path: Path) -> None:
    """A flip is refused, or nothing that is counted is in that bit, such as a column that is not read."""

    def check(plan: dn.Plan) -> None:
        path = write(tmp_path / f"{plan.id}.parquet", plan=plan)
        right, by_hour = plan.tally(path), dict(plan.tally(path, by="hour"))
        raw, refused = path.read_bytes(), 0
        for bit in np.random.default_rng(12).integers(0, 8 * len(raw), FLIPS).tolist():
            flip(path, bit)
            reads: list[Any] = [
                lambda: plan.tally(path) == right,
                lambda: dict(plan.tally(path, by="hour")) == by_hour,
                lambda: plan.tally(plan.read_reports(path)) == right,
            ]
            for read in reads:
                try:
                    assert read(), f"bit {bit} changed counts"
                except dn.InvalidReport:
                    refused += 1
            path.write_bytes(raw)
        assert refused > FLIPS, "most bits are of pages, which have checksums"

    check_each(check, PLANS.items())


def test_a_damaged_file_is_set_aside_and_named(tmp_path: Path) -> None:
    for day in (1, 2, 3):
        write(tmp_path / f"day={day}" / "0.parquet", 100 * day, seed=day)
    bad = tmp_path / "day=2" / "0.parquet"
    whole = bad.read_bytes()
    for harm in (lambda: flip(bad, find_page(bad)), lambda: bad.write_bytes(whole[:500])):
        harm()
        with pytest.warns(
            dn.DeniableWarning, match=r"day=2/0\.parquet is not a file of reports, or is damaged"
        ):
            assert PLAN.tally(tmp_path).n == 400
        with pytest.warns(dn.DeniableWarning, match="it is set aside, and its reports are not counted"):
            assert {day: one.n for day, one in PLAN.tally(tmp_path, by="day").items()} == {1: 100, 3: 300}
        with pytest.raises(dn.InvalidReport, match="is damaged"):
            PLAN.tally(bad)
        with pytest.raises(dn.InvalidReport, match="is damaged"):
            list(PLAN.read_reports(bad))
        bad.write_bytes(whole)
    assert PLAN.tally(tmp_path).n == 600


def test_a_daily_job_goes_on_without_a_damaged_file(run: Run) -> None:
    PLAN.write("plan.json")
    bad = write(Path("lake/day=2026-11-02/0.parquet"), 50)
    whole = bad.read_bytes()
    flip(bad, find_page(bad))
    job = ("tally", "plan.json", "--from", "lake", "--keep", "kept.json", "--by", "day")
    assert "is damaged" in run(*job).err, "nothing else is there"
    write(Path("lake/day=2026-11-01/0.parquet"), 40, seed=2)
    outcome = run(*job)
    assert (outcome.code, outcome.out) == (
        0,
        "counted 1 new partition, 0 changed; kept.json has 40 records\n",
    )
    assert outcome.err == "warning: damaged, and set aside until mended: day=2026-11-02/0.parquet\n"
    assert json.loads(run(*job, "--json").out)["damaged"] == ["day=2026-11-02/0.parquet"]
    bad.write_bytes(whole)
    facts = json.loads(run(*job, "--json").out)
    assert (facts["n"], facts["new"], facts["damaged"]) == (90, ["day=2026-11-02/0.parquet"], [])
    bad.write_bytes(whole[:300])  # what was counted stays counted
    outcome = run(*job, "--json")
    assert (outcome.code, json.loads(outcome.out)["n"]) == (0, 90)
    assert KeptTallies.read("kept.json", PLAN.document).n == 90
