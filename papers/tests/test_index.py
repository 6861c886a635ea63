"""`deniable reproduce` lists, finds and runs all figures, and keeps the rows of a run that is stopped."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from tests.running import Run

import deniable as dn
from deniable_papers import reproduce
from deniable_papers.data.published import DataUnavailable
from deniable_papers.reproduce import ENTRIES, EXPERIMENTS
from deniable_papers.reproduce.index import Entry, find_entries


def test_without_a_name_every_figure_has_a_line(run: Run) -> None:
    shown = run("reproduce")
    assert shown.code == 0
    lines = [line for line in shown.out.splitlines() if " / " in line][1:]
    assert len(lines) == len(ENTRIES)
    for line, entry in zip(lines, ENTRIES, strict=True):
        for text in (entry.shown.paper, entry.shown.what, entry.command):
            assert text in line
    assert {entry.experiment.name for entry in ENTRIES} == set(EXPERIMENTS)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.command)
def test_every_listed_command_can_be_given(entry: Entry) -> None:
    name, *options = entry.command.split()
    reproduce.reproduce_paper.commands[name].make_context(name, options)


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ("RS+FD figure 8", "rsfd --figure errors"),
        ("rs+fd Fig. 5", "rsfd --figure variances"),
        ("figure 17 of the risks paper", "risks --figure rsrfd"),
        ("ambulances MAPE", "response-time"),
    ],
)
def test_a_figure_is_found_by_words(words: str, command: str, run: Run) -> None:
    assert command in [entry.command for entry in find_entries(ENTRIES, words)]
    assert command in run("reproduce", words).out
    assert command in run("reproduce", *words.split()).out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("rsdf", "did you mean 'rsfd'"),
        (
            "RS+FD figure 80",
            "no command reproduces 'RS[+]FD figure 80'; deniable reproduce lists all",
        ),
        ("figure", "is not a command or a word of a figure"),
    ],
)
def test_words_that_mean_nothing_are_refused(words: str, message: str) -> None:
    with pytest.raises(dn.InvalidParameter, match=message):
        find_entries(ENTRIES, words)


def test_all_commands_are_run_though_one_has_no_data(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(**_given: object) -> Iterator[object]:
        raise DataUnavailable("visits.csv is not here")

    few = {name: EXPERIMENTS[name] for name in ("rsfd", "shuffle", "ranges")}
    few["shuffle"] = replace(few["shuffle"], measure=fail)
    monkeypatch.setattr(reproduce, "EXPERIMENTS", few)
    made = run("reproduce", "--all", "--quick", "--folder", str(tmp_path / "out"))
    assert made.code == 1
    assert "1 of 3 commands did not end" in made.err
    outcomes = re.findall(r"^ (\w+) .*  (done|visits.csv is not here) *$", made.out, re.MULTILINE)
    assert outcomes == [("rsfd", "done"), ("shuffle", "visits.csv is not here"), ("ranges", "done")]
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        f"{name}.{ending}" for name in ("rsfd", "ranges") for ending in ("csv", "png")
    }
    assert run("reproduce", "--all", "--folder", str(tmp_path / "out")).code == 2  # it holds files already


@pytest.mark.parametrize("options", [("--quick",), ("--quick", "rsfd"), ("--folder", "out")])
def test_options_of_all_need_it(options: tuple[str, ...], run: Run) -> None:
    assert run("reproduce", *options).code == 2


def interrupt(process: subprocess.Popen[str]) -> str:
    """What a process says at its end. Python forgets an interrupt that falls into a finalizer, so that a
    person presses the keys again.
    """
    for _ in range(4):
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=20)[1]
    process.kill()
    return process.communicate()[1]


def test_an_interrupted_run_keeps_its_finished_rows(tmp_path: Path) -> None:
    """A real process gets SIGINT soon after its first rows, before it would save them by itself."""
    table = tmp_path / "rows.json"
    code = "from deniable.cli import main; main()"
    options = ["--dataset", "nursery", "--figure", "value,reidentify", "--runs", "50"]
    process = subprocess.Popen(
        [sys.executable, "-c", code, "reproduce", "risks", *options, "--json", "-o", str(table)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None
    printed = 0
    while printed < 3:  # rows are printed as they are done
        line = process.stdout.readline()
        assert line, "the process ended by itself"
        printed += '"figure"' in line
    time.sleep(0.2)
    err = interrupt(process)
    assert process.returncode == 130, err
    rows = json.loads(table.read_text())
    assert len(rows) >= 3
    assert all(row["accuracy"] is not None for row in rows)
    assert f"not complete: {len(rows):,} finished rows kept in {table}" in err


def test_the_page_of_papers_has_every_figure() -> None:
    page = (Path(__file__).parents[2] / "docs" / "papers.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    for entry in ENTRIES:
        stated = [row for row in rows if entry.shown.what in row and f"`{entry.command}`" in row]
        assert len(stated) == 1, entry.shown.what
