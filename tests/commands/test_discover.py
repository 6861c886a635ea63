"""`deniable discover`: from files and stores, as text, JSON, tables and pictures; and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import deniable as dn
from deniable.collect.store import Arrival, open_store
from deniable.wire import Wire
from tests.running import Run

STUDY = dn.Study({"word": dn.Text("a-z", longest=5), "smokes": ["yes", "no"]}, epsilon=4.0)
PLAN = STUDY.plan(people=6000)
REPORTS = PLAN.privatize({"word": ["cat"] * 1500 + ["dog"] * 500, "smokes": ["yes"] * 2000}, dn.seeded(1))
STORE = "sqlite:///reports.db"


@pytest.fixture
def written() -> None:
    PLAN.write("plan.json")
    PLAN.write_reports("reports.parquet", REPORTS)


def fill_store() -> None:
    store = open_store(STORE)
    store.register(PLAN)
    store.set_round(PLAN.id, 1)
    store.close()
    add_reports()


def add_reports(first: int = 0) -> None:
    store = open_store(STORE)
    bodies = Wire(PLAN).bodies(REPORTS)
    ids = [(first + i).to_bytes(16, "little") for i in range(len(bodies))]
    store.add([Arrival(PLAN.id, 1, ids, bodies)], 0.0)
    assert store.check() == []
    store.close()


def test_words_are_found_in_a_file(run: Run, written: None) -> None:
    outcome = run("discover", "plan.json", "reports.parquet")
    assert outcome.code == 0, outcome.err
    assert outcome.out == f"{PLAN.discover(REPORTS)}\n"


def test_what_is_found_is_written_and_drawn(run: Run, written: None) -> None:
    Path("words.txt").write_text("cat\n\ndog\nant\n")
    outcome = run(
        *("discover", "plan.json", "reports.parquet", "--words", "words.txt", "--json"),
        *("-o", "found.csv", "-o", "found.json", "--plot", "found.svg"),
    )
    assert outcome.code == 0, outcome.err
    about = json.loads(outcome.out)
    assert [row["value"] for row in about["found"]] == ["cat", "dog"]
    assert (about["plan"], about["candidates"]) == (PLAN.id, 3)
    assert json.loads(Path("found.json").read_text()) == about
    assert Path("found.csv").read_text().splitlines()[1].startswith("cat,0.")
    assert Path("found.svg").stat().st_size > 1000


def test_nothing_is_found_where_nobody_may_be_shown(run: Run, written: None) -> None:
    outcome = run("discover", "plan.json", "reports.parquet", "--least", "5000", "--plot", "found.svg")
    assert outcome.code == 0, outcome.err
    assert "2 values of fewer than 5,000 people: not shown" in outcome.out
    assert not Path("found.svg").exists()


def test_a_store_is_read_and_its_log_says_so(run: Run, written: None) -> None:
    fill_store()
    early = run("store", "scrub", "plan.json", "--store", STORE, "--yes")
    assert early.code == 2
    assert "nobody has searched all reports for the values of 'word'" in early.err
    outcome = run("discover", "plan.json", "--from", STORE)
    assert outcome.code == 0, outcome.err
    assert outcome.out == f"{PLAN.discover(REPORTS)}\n"
    assert "in 2,000 reports" in run("access", "log", "--store", STORE).out
    assert run("estimate", "plan.json", "--from", STORE).code == 0
    assert run("store", "scrub", "plan.json", "--store", STORE, "--yes").code == 0
    late = run("discover", "plan.json", "--from", STORE)
    assert late.code == 2
    assert "what all 2,000 reports say is scrubbed" in late.err


def test_only_a_search_of_all_reports_lets_them_be_scrubbed(run: Run, written: None) -> None:
    fill_store()
    Path("wrong.txt").write_text("Cat\n")
    Path("words.txt").write_text("cat\n")
    assert run("discover", "plan.json", "--from", STORE, "--words", "wrong.txt").code == 1
    assert run("discover", "plan.json", "--from", STORE, "--words", "words.txt").code == 0
    assert run("store", "scrub", "plan.json", "--store", STORE, "--yes").code == 2
    log = run("access", "log", "--store", STORE).out
    assert log.count("looked for values") == 2
    assert "found values" not in log
    assert run("discover", "plan.json", "--from", STORE).code == 0
    add_reports(first=2000)
    assert run("store", "scrub", "plan.json", "--store", STORE, "--yes").code == 2
    assert run("discover", "plan.json", "--from", STORE).code == 0
    assert run("store", "scrub", "plan.json", "--store", STORE, "--yes").code == 0
    add_reports(first=4000)
    assert run("store", "scrub", "plan.json", "--store", STORE, "--yes").code == 2


def test_text_may_be_scrubbed_unfound(run: Run, written: None) -> None:
    fill_store()
    assert run("store", "scrub", "plan.json", "--store", STORE, "--yes", "--unfound").code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("reports.parquet --from reports.parquet", "give one of both"),
        ("--from https://example.org", "name its store"),
        ("reports.parquet --words plan.parquet", "plan.parquet"),
        ("reports.parquet --alpha 2", "alpha"),
        ("reports.parquet --name smokes", "smokes"),
    ],
)
def test_what_cannot_be_found_is_said(options: str, message: str, run: Run, written: None) -> None:
    outcome = run("discover", "plan.json", *options.split())
    assert outcome.code != 0
    assert message in outcome.err
    assert outcome.err.count("\n") == 1
