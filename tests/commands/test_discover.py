"""`deniable discover`: from files and stores, as text, JSON, tables and pictures; and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import deniable as dn
from deniable.reports import Reports
from deniable.store.store import Arrival, open_store
from deniable.wire import Wire
from tests.collector import TOKEN, collecting
from tests.running import Run

STUDY = dn.Study({"word": dn.Text("a-z", longest=5), "smokes": ["yes", "no"]}, epsilon=4.0)
PLAN = STUDY.plan(people=6000)
REPORTS = PLAN.privatize({"word": ["cat"] * 1500 + ["dog"] * 500, "smokes": ["yes"] * 2000}, dn.seeded(1))
STORE = "sqlite:///reports.db"


@pytest.fixture
def written() -> None:
    PLAN.write("plan.json")
    PLAN.write_reports("reports.parquet", REPORTS)


def fill_store(plan: dn.Plan = PLAN, reports: Reports = REPORTS) -> None:
    store = open_store(STORE)
    store.register(plan.document)
    store.set_round(plan.id, 1)
    store.close()
    add_reports(plan=plan, reports=reports)


def add_reports(first: int = 0, plan: dn.Plan = PLAN, reports: Reports = REPORTS) -> None:
    store = open_store(STORE)
    bodies = Wire(plan.document).bodies(reports)
    ids = [(first + i).to_bytes(16, "little") for i in range(len(bodies))]
    store.add([Arrival(plan.id, 1, ids, bodies)], 0.0)
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
    assert "2 values of fewer than 5,000 people, by the plain share: not shown" in outcome.out
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
    assert run("discover", "plan.json", "--from", STORE, "--words", "wrong.txt").code == 1  # before any look
    assert run("discover", "plan.json", "--from", STORE, "--words", "words.txt").code == 0
    assert run("store", "scrub", "plan.json", "--store", STORE, "--yes").code == 2
    log = run("access", "log", "--store", STORE).out
    assert log.count("looked for values") == 1
    assert "found values" not in log
    assert run("discover", "plan.json", "--from", STORE).code == 0
    add_reports(first=2000)
    assert run("store", "scrub", "plan.json", "--store", STORE, "--yes").code == 2
    assert run("discover", "plan.json", "--from", STORE).code == 0
    assert run("store", "scrub", "plan.json", "--store", STORE, "--yes").code == 0
    add_reports(first=4000)
    assert run("store", "scrub", "plan.json", "--store", STORE, "--yes").code == 2


def test_a_refused_look_is_logged_as_refused(run: Run, written: None) -> None:
    fill_store()
    assert run("discover", "plan.json", "--from", STORE, "--alpha", "2").code == 2
    log = run("access", "log", "--store", STORE).out
    assert log.count("looked for values") == log.count("of 'word', round 1: refused") == 1


def test_wrong_options_are_named_as_the_shell_has_them(run: Run, written: None) -> None:
    Path("none.txt").write_text("\n")
    empty = run("discover", "plan.json", "reports.parquet", "--words", "none.txt")
    assert empty.code == 1
    assert "none.txt is empty: a public list has at least one word" in empty.err
    two = dn.Study({"word": dn.Text("a-z", longest=5), "device": dn.Code(bits=20)}, epsilon=4.0)
    two.plan(people=6000).write("two.json")
    several = run("discover", "two.json", "reports.parquet")
    assert several.code == 2
    assert "say which one is meant, as --name word" in " ".join(several.err.split())


def scrub(run: Run, plan: str = "plan.json") -> int:
    return run("store", "scrub", plan, "--store", STORE, "--yes").code


@pytest.mark.parametrize(("longest", "scrubbed"), [(7, 0), (6, 2)])
def test_a_list_is_a_search_where_there_is_no_other(longest: int, scrubbed: int, run: Run) -> None:
    """Without levels, codes of 30 bits are still counted one by one, and those of 35 bits are not."""
    plan = dn.Study({"word": dn.Text("a-z", longest=longest, levels=False)}, epsilon=4.0).plan(people=300)
    plan.write("flat.json")
    fill_store(plan, plan.privatize({"word": ["cat"] * 300}, dn.seeded(1)))
    Path("words.txt").write_text("cat\n")
    assert scrub(run, "flat.json") == 2
    assert run("discover", "flat.json", "--from", STORE, "--words", "words.txt").code == 0
    assert scrub(run, "flat.json") == scrubbed


@pytest.mark.parametrize("options", ["--least 5000", "--alpha 0.001"])
def test_a_look_that_hides_more_than_usual_is_no_search(options: str, run: Run, written: None) -> None:
    fill_store()
    assert run("discover", "plan.json", "--from", STORE, *options.split()).code == 0
    assert scrub(run) == 2


def test_a_larger_least_that_hid_nothing_is_a_search(run: Run, written: None) -> None:
    """Both words have far more than 60 people."""
    fill_store()
    assert run("discover", "plan.json", "--from", STORE, "--least", "60").code == 0
    assert scrub(run) == 0


def test_text_that_nobody_reported_is_not_searched(run: Run, written: None) -> None:
    """Of three people by these words, none draws the text."""
    reports = PLAN.privatize({"word": ["cat"] * 3, "smokes": ["yes"] * 3}, dn.seeded(0))
    counts = {name: tally.n for name, tally in PLAN.tally(reports).tallies.items()}
    assert counts == {name: 3 * (name == "smokes") for name in PLAN.names}
    fill_store(PLAN, reports)
    assert scrub(run) == 0


def test_text_may_be_scrubbed_unfound(run: Run, written: None) -> None:
    fill_store()
    assert run("store", "scrub", "plan.json", "--store", STORE, "--yes", "--unfound").code == 0


def test_a_collector_is_asked_at_its_address(
    run: Run, written: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill_store()
    monkeypatch.setenv("DENIABLE_TOKEN", TOKEN)
    Path("words.txt").write_text("cat\nhippopotamus\n")
    with collecting(tmp_path, [PLAN], "--store", f"sqlite:///{Path('reports.db').resolve()}") as running:
        asked = run("discover", "plan.json", "--from", running.url)
        listed = run(*f"discover plan.json --from {running.url} --words words.txt --json".split())
        wrong = run(*f"discover plan.json --from {running.url} --name smokes".split())
    assert asked.code == 0, asked.err
    assert asked.out == f"{PLAN.discover(REPORTS)}\n"
    own = PLAN.discover(REPORTS, words=["cat", "hippopotamus"]).to_dict()
    assert json.loads(listed.out) == {"plan": PLAN.id} | own
    assert "1 word of the list is cut to 5 letters: hippopotamus." in own["sentences"]
    assert wrong.code == 2
    assert "'smokes'" in wrong.err
    log = run("access", "log", "--store", STORE).out
    assert (log.count("looked for values"), log.count("found values")) == (2, 1)


def test_reports_of_another_plan_are_named(run: Run, written: None) -> None:
    other = dn.Study({"word": dn.Text("a-z", longest=5)}, epsilon=4.0).plan(people=100)
    other.write_reports("other.parquet", other.privatize({"word": ["cat"] * 20}, dn.seeded(1)))
    made = pl.read_parquet("reports.parquet").with_columns(plan=pl.lit(other.id))
    made.write_parquet("table.parquet")
    for options in ("other.parquet", "table.parquet", "--from table.parquet"):
        outcome = run("discover", "plan.json", *options.split())
        assert outcome.code == 1
        assert f"made for plan {PLAN.id[:12]}, but for plan {other.id[:12]}" in outcome.err
    mixed = run("discover", "plan.json", "--from", "reports.parquet", "--from", "other.parquet")
    assert mixed.code == 0, mixed.err
    assert "20 rows are not counted: 20 of another plan." in mixed.out


def test_a_bad_line_of_a_list_is_named_and_equal_words_are_said(run: Run, written: None) -> None:
    Path("bad.txt").write_text("cat\n\ndog\nCat\n")
    outcome = run("discover", "plan.json", "reports.parquet", "--words", "bad.txt")
    assert outcome.code == 1
    assert "bad.txt, line 4: 'Cat' has 'C'" in outcome.err
    Path("same.txt").write_text("hippo\nhippopotamus\ncat\ncat\n")
    outcome = run("discover", "plan.json", "reports.parquet", "--words", "same.txt")
    assert "1 word of the list is cut to 5 letters: hippopotamus." in outcome.out
    assert "Words with one code count once: hippopotamus as hippo." in outcome.out


def test_estimates_of_text_name_the_command(run: Run) -> None:
    plan = dn.Study({"word": dn.Text("a-z", longest=5)}, epsilon=4.0).plan(people=100)
    plan.write("text.json")
    plan.write_reports("text.parquet", plan.privatize({"word": ["cat"] * 20}, dn.seeded(1)))
    outcome = run("estimate", "text.json", "text.parquet")
    assert outcome.code == 2
    assert "in the shell deniable discover" in outcome.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("reports.parquet --from reports.parquet", "give one of both"),
        ("--from http://127.0.0.1:1", "the collector at http://127.0.0.1:1 cannot be reached"),
        ("--from sqlite:///reports.db --table words", "--table names a table of a database"),
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


def test_people_and_plan_say_the_same_number_of_people(run: Run) -> None:
    """A margin of 2.5 points is the share from which on a plan calls what is found useful."""
    text = 'title = "Words"\nepsilon = 2.0\n[attributes]\nword = { alphabet = "a-z", longest = 6 }\n'
    Path("words.toml").write_text(text, encoding="utf-8")
    told = run("people", "words.toml", "--error", "2.5")
    assert "values that are found from 2.5 % on" in told.out
    needed = json.loads(run("people", "words.toml", "--error", "2.5", "--json").out)["people"]
    assert f"a plan to call all of it useful: {needed:,} people" in told.out
    assert f"{needed:,}" in run("plan", "words.toml", "--people", str(needed)).out
    given = json.loads(run("people", "words.toml", "--people", str(needed), "--json").out)
    assert given["questions"][0]["margin"] == pytest.approx(0.025, rel=0.01)
