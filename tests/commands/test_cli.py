"""The command line: every command, its JSON, its one-line errors, and how it behaves in a pipe; the demo's
page.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console

import deniable as dn
from deniable.commands.shared import console
from tests.running import Run

PROGRAM = [sys.executable, "-W", "error", "-c", "from deniable.cli import main; main()"]


def test_help_and_version(run: Run) -> None:
    for arguments in ((), ("--help",), ("-h",)):
        outcome = run(*arguments)
        assert outcome.code == 0
        for command in ("demo", "protocols"):
            assert f"  {command}  " in outcome.out
    assert run("--version").out == f"deniable, version {dn.__version__}\n"
    for command in ("demo", "protocols"):
        assert run(command, "--help").out.startswith(f"Usage: deniable {command}")


def test_help_is_quick() -> None:
    seconds = []
    for _ in range(2):  # the first one may have to compile byte code
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([*PROGRAM, "--help"], check=True, capture_output=True, timeout=60)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(seconds) < 0.5


def test_protocols_as_a_table(run: Run) -> None:
    outcome = run("protocols", "--k", "20", "--epsilon", "0.5", "--n", "1e4")
    assert (outcome.code, outcome.err) == (0, "")
    table, _, more = outcome.out.partition("\n\n")
    for family in ("dn.mechanisms.ue(k, epsilon, p)", "dn.mechanisms.lh(k, epsilon, g)", "dn.rr(epsilon)"):
        assert family in more
    lines = table.splitlines()
    assert lines[0] == "k = 20, epsilon = 0.5, n = 10,000; a blind guess is right 5 %"
    rows = {line.split()[0]: line for line in lines[3:]}
    assert list(rows) == list(dn.PROTOCOLS)
    oue = dn.oue(20, 0.5)
    for wanted in (
        "0.5",
        f"{oue.law.q:.3g}",
        "0.500000",
        f"{oue.law.variance(10_000):.3g}",
        f"{100 * oue.success():.3g} %",
    ):
        assert wanted in rows["oue"]
    assert all(rows[name].rstrip().endswith(row.title) for name, row in dn.PROTOCOLS.items())


def test_protocols_as_json(run: Run) -> None:
    facts = json.loads(run("protocols", "--k", "100", "--epsilon", "1.0", "--json").out)
    by_name = {fact["protocol"]: fact for fact in facts}
    assert list(by_name) == [*dn.PROTOCOLS, "geometric", "square_wave", *dn.rounds.REPEATED]
    again = by_name["l_osue"]
    assert (again["loss"], again["per"]) == (0.5, "all reports of a value")
    assert again["variance"] == dn.rounds.l_osue(100, 0.5, 1.0).law.variance(10_000)
    for name in dn.PROTOCOLS:
        mechanism, fact = dn.PROTOCOLS[name].make(100, 1.0), by_name[name]
        assert (fact["p"], fact["q"], fact["success"]) == (
            mechanism.law.p,
            mechanism.law.q,
            mechanism.success(),
        )
        assert fact["variance"] == mechanism.law.variance(10_000)
        assert (fact["report_bytes"], fact["baseline"], fact["refused"]) == (
            mechanism.report_bytes,
            0.01,
            None,
        )
        assert fact["loss"] == mechanism.loss()


def test_refused_protocols_say_why(run: Run) -> None:
    outcome = run("protocols", "--k", "10", "--epsilon", "22")
    assert outcome.code == 0
    assert (
        "refused (olh): epsilon 22.0 gives olh more buckets than it has hashes; use grr or oue" in outcome.out
    )
    facts = {
        fact["protocol"]: fact
        for fact in json.loads(run("protocols", "--k", "10", "--epsilon", "22", "--json").out)
    }
    assert "more buckets" in facts["olh"]["refused"]
    assert facts["olh"]["p"] is None
    assert facts["oue"]["refused"] is None


def test_tables_are_written_to_files(run: Run, tmp_path: Path) -> None:
    command = "protocols --k 10 --epsilon 22"
    done = run(*command.split(), "-o", "t.csv", "-o", "t.json", "-o", "new/t.parquet")
    assert done.code == 0, done.err
    assert done.err == "wrote t.csv\nwrote t.json\nwrote new/t.parquet\n"
    assert (tmp_path / "t.json").read_text() == run(*command.split(), "--json").out
    rows, table = json.loads((tmp_path / "t.json").read_text()), pd.read_csv(tmp_path / "t.csv")
    assert table["protocol"].to_list() == [row["protocol"] for row in rows]
    assert list(table.columns) == list(pd.read_parquet(tmp_path / "new" / "t.parquet").columns)
    assert "t.csv exists already" in run(*command.split(), "-o", "t.csv").err
    assert "ending in .csv, .json, .parquet" in run(*command.split(), "-o", "t.txt").err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("protocols --k 1", "k, the number of values, must be an integer of at least 2, got 1"),
        ("protocols --k=-5", "k, the number of values, must be an integer of at least 2, got -5"),
        ("protocols --epsilon=-1", "epsilon must be a positive number, got -1.0"),
        ("protocols --epsilon x", "'x' is not a number"),
        ("protocols --n 0", "n, the number of reports, must be an integer of at least 1, got 0"),
        ("bogus", "No such command 'bogus'; see deniable --help"),
        (
            "estimate plan.json --project norm-sub reports.csv",
            "--project of deniable estimate is retired; shown shares are possible ones",
        ),
        ("estimate plan.json --recover", "--recover of deniable estimate is retired; read the health"),
        ("estimate plan.json --target=a", "--target of deniable estimate is retired; read the health"),
        ("tour --seed 7", "deniable tour is retired; its pictures are in the notebooks of docs/notebooks.md"),
    ],
)
def test_a_command_that_is_called_wrongly_ends_with_2(
    arguments: str, message: str, run: Run, tmp_path: Path
) -> None:
    _refused(run, arguments, 2, message, tmp_path)


def _refused(run: Run, arguments: str, code: int, message: str, folder: Path) -> None:
    (folder / "people.csv").write_text("id,answer\n1,yes\n2,no\n")
    (folder / "semicolons.csv").write_text("id;answer\n1;yes\n2;no\n")
    (folder / "binary.csv").write_bytes(b"\xff\xfe\x00")
    outcome = run(*arguments.split())
    assert outcome.code == code
    assert outcome.out == ""
    assert outcome.err.startswith("error: ")
    assert message in outcome.err
    assert outcome.err.count("\n") == 1


def test_a_pipe_gets_whole_lines_without_colors() -> None:
    for setting in ({}, {"TERM": "dumb", "COLUMNS": "40"}):
        environment = {key: value for key, value in os.environ.items() if key != "FORCE_COLOR"} | setting
        done = subprocess.run(
            [*PROGRAM, "protocols"], capture_output=True, text=True, timeout=60, env=environment, check=True
        )
        assert "\x1b" not in done.stdout
        assert done.stderr == ""
        assert len(done.stdout.partition("\n\n")[0].splitlines()) == 3 + len(dn.PROTOCOLS)


def test_a_reader_that_leaves_early_is_no_error() -> None:
    process = subprocess.Popen([*PROGRAM, "protocols"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    with process.stderr as errors:
        assert errors.read() == b""
    process.wait(timeout=60)


@pytest.mark.parametrize(("width", "last"), [(80, "bytes"), (62, "error"), (130, "what it does")])
def test_a_terminal_shows_the_columns_it_has_room_for(
    width: int, last: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "console", lambda: Console(width=width))
    table, _, more = run("protocols").out.partition("\n\n")
    assert max(len(line) for line in more.splitlines() if not line.startswith("no room for")) <= width
    lines = table.splitlines()
    assert lines[1].rstrip().endswith(last)
    assert max(map(len, lines[:-1])) <= width
    assert "..." not in lines[3]
    assert ("no room for:" in lines[-1]) == (last != "what it does")


def test_mechanisms_that_know_distances_are_listed_with_both_losses(run: Run) -> None:
    found = run("protocols", "--k", "20", "--epsilon", "0.5")
    assert "Knowing distances: 20 ordered values one step apart, epsilon = 0.5" in found.out
    assert " geometric " in found.out
    assert " square_wave " in found.out
    facts = {
        fact["protocol"]: fact
        for fact in json.loads(run("protocols", "--k", "20", "--epsilon", "0.5", "--json").out)
    }
    line = dn.metric.geometric(19, 0.5)
    assert (facts["geometric"]["unit_loss"], facts["geometric"]["loss"]) == (line.loss_at(1), line.loss())
    assert facts["geometric"]["error"] == line.law.error(10_000)
    assert facts["square_wave"]["unit_loss"] == facts["square_wave"]["loss"]
