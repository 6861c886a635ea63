"""`deniable simulate`: its table, its JSON, its files, its plots and its one-line errors."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.running import Run

import deniable as dn
from deniable.errors import suggest_install
from deniable.estimate import consistency
from deniable_papers.simulate import command


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


def test_a_refused_cell_does_not_stop_the_others(run: Run) -> None:
    outcome = run("simulate", "--protocol", "grr,olh", "--n", "1e9", "--repeats", "1")
    assert outcome.code == 0
    assert "refused (olh): subsets and hashes are made one by one" in outcome.out


def test_without_matplotlib_plots_are_refused_before_any_work(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deniable.plot.figure.find_spec", lambda _: None)
    outcome = run("simulate", "--n", "1e7", "--protocol", "olh", "--plot", "x.png")
    assert outcome == (1, "", f"error: plots need matplotlib; install it with: {suggest_install('plot')}\n")


def test_an_interruption_is_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "sweep", interrupted)
    outcome = run("simulate")
    assert (outcome.code, outcome.out, outcome.err.strip()) == (130, "", "error: stopped")


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


def test_tables_are_written_to_files(run: Run, tmp_path: Path) -> None:
    command = "simulate --k 4 --repeats 2 --protocol grr,olh"
    done = run(*command.split(), "-o", "t.csv", "-o", "t.json")
    assert done.err == "wrote t.csv\nwrote t.json\n"
    rows, table = json.loads((tmp_path / "t.json").read_text()), pd.read_csv(tmp_path / "t.csv")
    assert table["protocol"].to_list() == [row["protocol"] for row in rows]
    assert table["mse"].to_list() == pytest.approx([row["metrics"]["mse"]["mean"] for row in rows])
    assert table["mse_stderr"].to_list() == pytest.approx([row["metrics"]["mse"]["stderr"] for row in rows])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
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


def test_help_names_every_consistency_step(run: Run) -> None:
    text = "".join(run("simulate", "--help").out.split())
    assert all(name in text for name in consistency.NAMES)
