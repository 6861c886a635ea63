"""Exported reports: engines count in them what the collector counted, bit for bit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyarrow import parquet

import deniable as dn
from deniable.commands import export
from deniable.reports.reports import Tallies
from deniable.store.store import Arrival, open_store
from deniable.wire import Wire
from spec.make.groups import plans
from tests import services
from tests.collector import small_plan
from tests.running import Run

AGAIN = small_plan("Again", rounds=True)
GROUPS = plans()["two questions"]
CALLED = dn.Plan.of({"plan": ["A", "B", "C"], "round": ["x", "y"]}, dn.spl([3, 2], 2.0), people=10)
"""A plan whose attributes are called like the columns of a table."""

ANSWERS = {
    "color": ["red", "green", "blue"] * 20,
    "smokes": ["yes", "no"] * 30,
    "arm": ["A", "B"] * 30,
    "smoker": ["no", "yes", "no"] * 20,
    "age": list(range(20, 80)),
    "plan": ["A", "B", "C"] * 20,
    "round": ["x", "y"] * 30,
}


def fill(address: str, *rounds: tuple[dn.Plan, int], first: int = 0) -> None:
    store = open_store(address)
    for plan in dict(rounds):
        store.register(plan.document)
    for plan, number in rounds:
        store.set_round(plan.id, number)
        words = dn.remembering(number) if plan.document.rounds else dn.seeded(number)
        bodies = Wire(plan.document).bodies(plan.privatize(ANSWERS, words))
        ids = [
            number.to_bytes(8, "little") + i.to_bytes(8, "little") for i in range(first, first + len(bodies))
        ]
        store.add([Arrival(plan.id, number, ids, bodies)], 0.0)
    store.close()


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_what_is_exported_is_counted_alike(kind: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    address = "sqlite:///reports.db" if kind == "sqlite" else services.cluster().url()
    fill(address, (AGAIN, 1), (AGAIN, 2), (GROUPS, 1))
    monkeypatch.setattr(export, "_AT_ONCE", 25)
    outcome = run("export", "--store", address, "-o", "lake")
    assert outcome.code == 0, outcome.err
    assert outcome.err.count("wrote 60 reports to lake/plan=") == 3
    files = sorted(Path("lake").rglob("*.*"))
    assert len(files) == 3
    for plan, number in ((AGAIN, 1), (AGAIN, 2), (GROUPS, 1)):
        plan.write("plan.json", overwrite=True)
        store = open_store(address)
        collected = store.tallies(plan.id, number)
        store.close()
        found = plan.tally("lake", number=number)
        assert found.to_dict() == collected.to_dict() | {"refused": dict(found.refused)}
        assert sum(found.refused.values()) == 120
        assert Tallies.from_dict(found.to_dict()) == found
        pair = [
            json.loads(run("estimate", "plan.json", "--from", source, "--round", str(number), "--json").out)
            for source in (address, "lake")
        ]
        for name in ("rows", "groups", "means", "quantiles", "n", "round"):
            assert pair[0][name] == pair[1][name]
    held = {name for path in files for name in parquet.read_schema(path).names}
    assert held & {"id", "plan", "round"} == {"round"}, "a plan with rounds says it"


def test_exporting_again_is_safe(run: Run) -> None:
    address = "sqlite:///reports.db"
    fill(address, (AGAIN, 1))
    path = Path(f"lake/plan={AGAIN.id}/round=1/part-0.parquet")
    arguments = ("export", "--store", address, "-o", "lake")
    run(*arguments)
    first = path.read_bytes()
    run(*arguments)
    assert path.read_bytes() == first
    fill(address, (AGAIN, 2))
    assert run(*arguments, "--round", "2").err.count("wrote") == 1
    assert path.read_bytes() == first
    AGAIN.write("plan.json")
    run("store", "scrub", "plan.json", "--round", "1", "--yes")
    outcome = run(*arguments)
    assert f"left {path.parent} as it is: 60 reports are scrubbed since" in outcome.err
    assert path.read_bytes() == first
    assert parquet.ParquetFile(path).metadata.num_rows == 60


def test_reports_that_come_after_others_were_scrubbed_go_beside_them(run: Run) -> None:
    """However many they are: what the file has cannot be had again."""
    address = "sqlite:///reports.db"
    fill(address, (AGAIN, 1))
    arguments = ("export", "--store", address, "-o", "lake")
    run(*arguments)
    AGAIN.write("plan.json")
    run("store", "scrub", "plan.json", "--round", "1", "--yes")
    for first in (100, 200):
        fill(address, (AGAIN, 1), first=first)
    run(*arguments)
    run(*arguments)
    folder = Path(f"lake/plan={AGAIN.id}/round=1")
    held = {path.name: parquet.ParquetFile(path).metadata.num_rows for path in folder.iterdir()}
    assert held == {"part-0.parquet": 60, "part-60.parquet": 120}
    store = open_store(address)
    assert AGAIN.tally("lake", number=1) == store.tallies(AGAIN.id, 1)
    store.close()


def test_reports_that_only_the_tallies_count_are_named(run: Run) -> None:
    address = "sqlite:///reports.db"
    fill(address, (AGAIN, 1))
    AGAIN.write("plan.json")
    run("store", "scrub", "plan.json", "--round", "1", "--yes")
    outcome = run("export", "--store", address, "-o", "lake")
    assert "all of its 60 reports were scrubbed, and only the tallies of the store count them" in outcome.err
    fill(address, (AGAIN, 1), first=100)
    for where in ("lake", "reports.parquet"):
        outcome = run("export", "plan.json", "--store", address, "--round", "1", "-o", where)
        assert "; 60 others were scrubbed and only the tallies of the store count them: " in outcome.err
    run("store", "scrub", "plan.json", "--round", "1", "--yes")
    outcome = run("export", "--store", address, "-o", "lake")
    assert "120 reports are scrubbed since; 60 others are only in the tallies of the store" in outcome.err
    fill(address, (AGAIN, 1), first=200)
    outcome = run("export", "--store", address, "-o", "lake")
    told = (
        "; 60 others were scrubbed and only the tallies of the store count them, and 60 are in the files of"
    )
    assert told in outcome.err


def test_a_failure_leaves_what_was_there(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    address = "sqlite:///reports.db"
    fill(address, (AGAIN, 1))
    run("export", "--store", address, "-o", "lake")
    before = {path: path.read_bytes() for path in Path("lake").rglob("*.parquet")}
    fill(address, (AGAIN, 2))
    monkeypatch.setattr("deniable.wire.Wire.reports", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run("export", "--store", address, "-o", "lake")
    assert {path: path.read_bytes() for path in Path("lake").rglob("*.parquet")} == before


def test_attributes_may_be_called_like_columns(run: Run) -> None:
    fill("sqlite:///reports.db", (CALLED, 1))
    run("export", "-o", "lake")
    assert [str(path) for path in Path("lake").rglob("*.parquet")] == [
        f"lake/deniable.plan={CALLED.id}/deniable.round=1/part-0.parquet"
    ]
    store = open_store("sqlite:///reports.db")
    assert CALLED.tally("lake") == store.tallies(CALLED.id, 1)
    store.close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("-o lake --round 7", "there are no reports to export in sqlite:///reports.db, round 7"),
        ("-o plan.json", "plan.json is a file; reports go to a folder"),
        ("-o lake --store sqlite:///none.db", "there is no store at sqlite:///none.db"),
        ("nope.json", "there is no file nope.json"),
        ("", "name the folder that reports are written to"),
    ],
)
def test_what_cannot_be_exported_is_said(options: str, message: str, run: Run) -> None:
    fill("sqlite:///reports.db", (AGAIN, 1))
    AGAIN.write("plan.json")
    outcome = run("export", *options.split())
    assert (outcome.code, message in outcome.err) == (1 if "no file" in message else 2, True)
    assert not Path("lake").exists()
