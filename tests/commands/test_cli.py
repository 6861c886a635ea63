"""The command line: every command, its JSON, its one-line errors, and how it behaves in a pipe; the demo's
page.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from rich.console import Console

import deniable as dn
from deniable.commands import simulate
from deniable.commands.shared import console
from deniable.errors import suggest_install
from deniable.metric.table import DISTANCED
from tests.running import Run

PROGRAM = [sys.executable, "-W", "error", "-c", "from deniable.cli import main; main()"]


def test_help_and_version(run: Run) -> None:
    for arguments in ((), ("--help",), ("-h",)):
        outcome = run(*arguments)
        assert outcome.code == 0
        for command in ("demo", "protocols", "simulate"):
            assert f"  {command}  " in outcome.out
    assert run("--version").out == f"deniable, version {dn.__version__}\n"
    for command in ("demo", "protocols", "simulate"):
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
    assert list(by_name) == [*dn.PROTOCOLS, *DISTANCED]
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


def test_simulate_as_a_table(run: Run) -> None:
    several = (
        "--protocol",
        "grr,oue",
        "--protocol",
        "hr",
        "--epsilon",
        "0.5,1",
        "--epsilon",
        "2",
        "--k",
        "5,10",
    )
    people = ("--n", "1e3,2_000", "--population", "normal:0.2", "--repeats", "2", "--seed", "3")
    outcome = run("simulate", *several, *people)
    assert (outcome.code, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    whose = "coverage is of the shares of the population"
    assert lines[0] == f"population normal:0.2, 2 repeats, seed 3; {whose}; blind guess 1 / k"
    cells = [tuple(line.split()[:4]) for line in lines[3:]]
    assert len(cells) == 36
    assert set(cells) == set(
        product(("grr", "oue", "hr"), ("0.5", "1", "2"), ("5", "10"), ("1,000", "2,000"))
    )
    for header in (
        "mse",
        "expected mse",
        "coverage",
        "best guess",
        "wasserstein (steps)",
        "kl (nats)",
        "total variation",
        "max error",
    ):
        assert header in lines[1]


def test_simulate_as_json_is_reproducible(run: Run) -> None:
    def rows(*more: str) -> list[dict[str, Any]]:
        outcome = run("simulate", "--k", "8", "--n", "500", "--repeats", "3", "--json", *more)
        assert (outcome.code, outcome.err) == (0, "")
        found: list[dict[str, Any]] = json.loads(outcome.out)
        return found

    once = rows("--protocol", "all")
    assert [row["protocol"] for row in once] == list(dn.PROTOCOLS)
    assert once == rows("--protocol", "all")
    assert once[2:3] == rows("--protocol", "oue")
    assert once[2]["metrics"] != rows("--protocol", "oue", "--seed", "2")[0]["metrics"]
    assert once[2]["metrics"] != rows("--protocol", "oue", "--project", "norm-sub")[0]["metrics"]
    assert once[0]["metrics"]["mse"].keys() == {"mean", "stderr"}
    assert [row["protocol"] for row in rows()] == ["grr", "oue", "olh", "ss", "hr"]


def test_simulate_on_a_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(
        "id,answer\n" + "".join(f"{i},{'yes' if i % 3 else 'no'}\n" for i in range(300))
    )
    asked = (
        "simulate",
        "--data",
        "people.csv",
        "--column",
        "answer",
        "--protocol",
        "grr",
        "--repeats",
        "2",
        "--json",
    )
    (known,) = json.loads(run(*asked).out)
    assert (known["k"], known["n"], known["population"]) == (2, 300, "answer")
    drawn = json.loads(run(*asked, "--n", "50,1e9").out)
    assert [row["n"] for row in drawn] == [50, 10**9]


def test_simulate_draws_plots(run: Run, tmp_path: Path) -> None:
    asked = ("simulate", "--protocol", "grr", "--k", "4", "--epsilon", "1,2", "--repeats", "2", "--json")
    outcome = run(*asked, "--plot", "new/error.png", "--plot-attack", "attack.svg")
    assert outcome.code == 0
    assert len(json.loads(outcome.out)) == 2
    assert outcome.err == "wrote new/error.png\nwrote attack.svg\n"
    assert (tmp_path / "new/error.png").read_bytes().startswith(b"\x89PNG")
    refused = run(*asked, "--plot", "other.png", "--plot-attack", "attack.svg")
    assert (refused.code, refused.out) == (2, "")
    assert "attack.svg exists already" in refused.err
    assert not (tmp_path / "other.png").exists()
    assert run(*asked, "--plot-attack", "attack.svg", "--force").code == 0
    assert sorted(file.name for file in tmp_path.iterdir()) == ["attack.svg", "new"]
    assert "<svg" in (tmp_path / "attack.svg").read_text()


def test_several_plots_and_none_that_wins_silently(run: Run) -> None:
    asked = ("simulate", "--protocol", "grr", "--k", "4", "--epsilon", "1,2", "--repeats", "2")
    assert run(*asked, "--plot", "one.png", "--plot", "two.svg").err == "wrote one.png\nwrote two.svg\n"
    refused = run(*asked, "--plot", "three.png", "--plot-attack", "three.png")
    assert (refused.code, refused.out) == (2, "")
    assert "the same file is named twice" in refused.err


@pytest.mark.parametrize(
    "command", ["simulate --k 4 --repeats 2 --protocol grr,olh", "protocols --k 10 --epsilon 22"]
)
def test_tables_are_written_to_files(command: str, run: Run, tmp_path: Path) -> None:
    done = run(*command.split(), "-o", "t.csv", "-o", "t.json", "-o", "new/t.parquet")
    assert done.code == 0, done.err
    assert done.err == "wrote t.csv\nwrote t.json\nwrote new/t.parquet\n"
    assert (tmp_path / "t.json").read_text() == run(*command.split(), "--json").out
    rows, table = json.loads((tmp_path / "t.json").read_text()), pd.read_csv(tmp_path / "t.csv")
    assert table["protocol"].to_list() == [row["protocol"] for row in rows]
    assert list(table.columns) == list(pd.read_parquet(tmp_path / "new" / "t.parquet").columns)
    if "simulate" in command:
        assert table["mse"].to_list() == pytest.approx([row["metrics"]["mse"]["mean"] for row in rows])
        assert table["mse_stderr"].to_list() == pytest.approx(
            [row["metrics"]["mse"]["stderr"] for row in rows]
        )
    assert "t.csv exists already" in run(*command.split(), "-o", "t.csv").err
    assert "ending in .csv, .json, .parquet" in run(*command.split(), "-o", "t.txt").err


def test_a_refused_cell_does_not_stop_the_others(run: Run) -> None:
    outcome = run("simulate", "--protocol", "grr,olh", "--n", "1e9", "--repeats", "1")
    assert outcome.code == 0
    assert "refused (olh): subsets and hashes are made one by one" in outcome.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("protocols --k 1", "k, the number of values, must be an integer of at least 2, got 1"),
        ("protocols --k=-5", "k, the number of values, must be an integer of at least 2, got -5"),
        ("protocols --epsilon=-1", "epsilon must be a positive number, got -1.0"),
        ("protocols --epsilon x", "'x' is not a number"),
        ("protocols --n 0", "n, the number of reports, must be an integer of at least 1, got 0"),
        ("simulate --protocol gr", "'gr' is not a protocol (grr, sue"),
        ("simulate --protocol gr", "did you mean 'grr'?"),
        ("simulate --k 1", "must be an integer of at least 2, got 1"),
        ("simulate --epsilon=-1", "epsilon must be a positive number, got -1.0"),
        ("simulate --epsilon 1,,2", "'' is not a number"),
        ("simulate --epsilon nan", "epsilon must be a positive number, got nan"),
        ("simulate --epsilon 99 --protocol grr", "epsilon 99.0 is too large"),
        ("simulate --n 0", "n, the number of people, must be an integer from 1"),
        ("simulate --n 1.5", "'1.5' is not a whole number up to 10^18, such as 10000, 10_000 or 1e4"),
        ("simulate --n 1e999999999", "is not a whole number up to 10^18"),
        ("simulate --n 1e9 --protocol ss", "made one by one"),
        ("simulate --population zip", "did you mean 'zipf'?"),
        ("simulate --project normsub", "did you mean 'norm-sub'?"),
        ("simulate --repeats 0", "repeats must be an integer of at least 1, got 0"),
        ("simulate --data people.csv", "--data and --column go together"),
        ("simulate --data people.csv --column answer --k 3", "--data brings its own people and values"),
        ("simulate --plot error.gif", "ending in .png, .svg, .pdf; got 'error.gif'"),
        ("simulate --bogus", "No such option"),
        ("simulate extra", "unexpected extra argument"),
        ("bogus", "No such command 'bogus'; see deniable --help"),
        ("tour --seed 7", "deniable tour is retired; its pictures are in the notebooks of docs/notebooks.md"),
    ],
)
def test_a_command_that_is_called_wrongly_ends_with_2(
    arguments: str, message: str, run: Run, tmp_path: Path
) -> None:
    _refused(run, arguments, 2, message, tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            "simulate --data people.csv --column anser",
            "not a column of people.csv (id, answer); did you mean 'answer'?",
        ),
        (
            "simulate --data semicolons.csv --column answer",
            "; its cells have ';' between them, and need commas here",
        ),
        ("simulate --data missing.csv --column a", "cannot use missing.csv: No such file or directory"),
        ("simulate --data . --column a", "cannot use .: Is a directory"),
        ("simulate --data binary.csv --column a", "binary.csv is not a CSV file in UTF-8"),
    ],
)
def test_a_file_that_cannot_be_used_ends_with_1(
    arguments: str, message: str, run: Run, tmp_path: Path
) -> None:
    _refused(run, arguments, 1, message, tmp_path)


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


def test_without_matplotlib_plots_are_refused_before_any_work(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deniable.plot.figure.find_spec", lambda _: None)
    outcome = run("simulate", "--n", "1e7", "--protocol", "olh", "--plot", "x.png")
    assert outcome == (1, "", f"error: plots need matplotlib; install it with: {suggest_install('plot')}\n")


def test_an_interruption_is_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(simulate, "sweep", interrupted)
    outcome = run("simulate")
    assert (outcome.code, outcome.out, outcome.err.strip()) == (130, "", "error: stopped")


def test_a_pipe_gets_whole_lines_without_colors() -> None:
    for setting in ({}, {"TERM": "dumb", "COLUMNS": "40"}):
        environment = {key: value for key, value in os.environ.items() if key != "FORCE_COLOR"} | setting
        done = subprocess.run(
            [*PROGRAM, "protocols"], capture_output=True, text=True, timeout=60, env=environment, check=True
        )
        assert "\x1b" not in done.stdout
        assert done.stderr == ""
        assert len(done.stdout.partition("\n\n")[0].splitlines()) == 3 + len(dn.PROTOCOLS)


@pytest.mark.parametrize(
    "command", ["protocols", "simulate --json --k 2,3,4,5,6,7,8 --epsilon 1,2,3,4,5,6,7,8,9 --repeats 1"]
)
def test_a_reader_that_leaves_early_is_no_error(command: str) -> None:
    process = subprocess.Popen([*PROGRAM, *command.split()], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    with process.stderr as errors:
        assert errors.read() == b""
    process.wait(timeout=60)


@pytest.mark.parametrize(("width", "last"), [(80, "bytes"), (62, "best guess"), (130, "what it does")])
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
    assert "Knowing distances: 20 ordered values one step apart, epsilon = 0.5 per unit" in found.out
    for name in ("geometric", "planar_geometric", "square_wave", "duchi"):
        assert f" {name} " in found.out
    facts = {
        fact["protocol"]: fact
        for fact in json.loads(run("protocols", "--k", "20", "--epsilon", "0.5", "--json").out)
    }
    line = dn.metric.geometric(19, 0.5)
    assert (facts["geometric"]["unit_loss"], facts["geometric"]["loss"]) == (line.loss_at(1), line.loss())
    assert facts["geometric"]["variance"] == line.law.error(10_000)
    assert facts["square_wave"]["unit_loss"] == facts["square_wave"]["loss"]
    assert "Grid" in facts["planar_geometric"]["refused"]


def test_ordered_values_are_simulated_by_what_knows_distances(run: Run) -> None:
    options = ["--k", "20", "--n", "20_000", "--repeats", "5", "--epsilon", "1"]
    rows = json.loads(run("simulate", "--protocol", "grr,geometric,square_wave", *options, "--json").out)
    found = {row["protocol"]: row for row in rows}
    assert found["geometric"]["refused"] is None
    assert found["geometric"]["unit_loss"] <= 1 < 18 < found["geometric"]["loss"]
    assert found["square_wave"]["loss"] <= 1
    assert found["geometric"]["metrics"]["mse"]["mean"] < found["grr"]["metrics"]["mse"]["mean"] / 3
    assert found["geometric"]["expected_mse"] == dn.metric.geometric(19, 1.0).law.error(20_000)
    assert "geometric: epsilon is per step" in run("simulate", "--protocol", "geometric", *options).out


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("duchi", "make a Study with a Number"),
        ("planar_geometric", "make a Study with a Grid"),
        ("geometrc", "'geometric'?"),
    ],
)
def test_what_is_not_for_ordered_values_is_refused_with_what_to_do(run: Run, name: str, words: str) -> None:
    refused = run("simulate", "--protocol", name)
    assert refused.code == 2
    assert words in refused.err
