"""From a study to its results on the command line: init, plan, verify, privatize, estimate."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from pyarrow import parquet

from deniable import cli
from deniable.commands.plan import COMMANDS
from deniable.plan import Plan
from deniable.study import Study

for command in COMMANDS:
    cli.commands.add_command(command)


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Outcome]
SHARES = {"car": 0.5, "train": 0.2, "bus": 0.15, "bicycle": 0.1, "on foot": 0.05}


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run a command in this process, in an empty directory."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> Outcome:
        code = 0
        try:
            cli.main(arguments)
        except SystemExit as stop:
            code = int(stop.code or 0)
        return Outcome(code, *capsys.readouterr())

    return call


def write_people(path: Path, n: int = 20_000, seed: int = 1) -> pd.DataFrame:
    numbers = np.random.default_rng(seed)
    people = pd.DataFrame(
        {
            "id": np.arange(n),
            "transport": numbers.choice(list(SHARES), n, p=list(SHARES.values())),
            "minutes": numbers.gamma(4.0, 9.0, n).round(1),
            "satisfied": numbers.choice(["yes", "no"], n, p=[0.7, 0.3]),
        }
    )
    if path.suffix == ".csv":
        people.to_csv(path, index=False)
    else:
        people.to_parquet(path, index=False)
    return people


def small_plan(run: Run, extra: str = "epsilon = 2.0") -> None:
    Path("study.toml").write_text(f'{extra}\n[attributes]\na = ["x", "y", "z"]\nb = ["1", "2"]\n', encoding="utf-8")
    assert run("plan", "study.toml", "--people", "1e3", "-o", "plan.json").code == 0


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_from_an_example_study_to_estimates(run: Run, ending: str) -> None:
    made = run("init")
    assert made.code == 0
    assert "deniable plan study.toml --people 50000" in made.out
    planned = run("plan", "study.toml", "--people", "20_000", "-o", "plan.json", "--cite")
    assert planned.code == 0
    assert "20,000 people, 3 attributes" in planned.out
    assert "What was considered" in planned.out
    assert "@inproceedings" in planned.out
    plan = Plan.read("plan.json")
    assert plan == Study.read("study.toml").plan(20_000)
    verified = run("verify", "plan.json")
    assert verified.code == 0
    assert verified.out.startswith(f"plan {plan.id}\nloss per record     1.000000000\n")
    assert "OK" in verified.out
    people = write_people(Path(f"people.{ending}"))
    done = run("privatize", "plan.json", f"people.{ending}", "-o", "out/reports.parquet")
    assert (done.code, done.out) == (0, "")
    assert "wrote 20,000 reports" in done.err
    table = parquet.read_table("out/reports.parquet")
    assert table.num_rows == 20_000
    assert table.column_names == ["transport", "satisfied", "minutes"]
    files = ["--csv", "e.csv", "--json", "e.json", "--parquet", "e.parquet", "--plot", "e.png"]
    level, project = ["--level", "0.9999999"], ["--project", "norm-sub"]
    found = run("estimate", "plan.json", "out/reports.parquet", *files, *level, *project)
    assert found.code == 0, found.err
    assert "on foot" in found.out
    assert Path("e.png").stat().st_size > 10_000
    with Path("e.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 5 + 2 + 12
    truth: dict[str, float] = {}
    for name in ("transport", "satisfied"):
        truth |= people[name].value_counts(normalize=True).to_dict()
    for row in rows:
        if row["attribute"] != "minutes":
            assert float(row["low"]) <= truth[row["value"]] <= float(row["high"])
    bins = np.bincount(np.minimum(people["minutes"] // 10, 11).astype(int), minlength=12) / len(people)
    for row, share in zip(rows[7:], bins, strict=True):
        assert float(row["low"]) <= share <= float(row["high"])
    about = json.loads(Path("e.json").read_text(encoding="utf-8"))
    assert about["plan"] == plan.id
    assert about["n"] == 20_000
    assert [row["value"] for row in about["rows"]] == [row["value"] for row in rows]
    assert parquet.read_table("e.parquet").num_rows == len(rows)
    printed = run("estimate", "plan.json", "out/reports.parquet", "--csv", "-", *level, *project)
    assert printed.out == Path("e.csv").read_text(encoding="utf-8")
    as_json = run("estimate", "plan.json", "out/reports.parquet", "--json", "-", *level, *project)
    assert json.loads(as_json.out) == about


def test_init_does_not_overwrite(run: Run) -> None:
    Path("mine.toml").write_text("precious", encoding="utf-8")
    refused = run("init", "mine.toml")
    assert refused.code == 2
    assert "--force" in refused.err
    assert Path("mine.toml").read_text(encoding="utf-8") == "precious"
    assert run("init", "mine.toml", "--force").code == 0
    assert "epsilon" in Path("mine.toml").read_text(encoding="utf-8")


def test_the_options_of_the_example_that_are_commented_out_work_too(run: Run) -> None:
    run("init")
    text = Path("study.toml").read_text(encoding="utf-8")
    for line in ('share = "sample"', 'protocol = "grr"', "[objective]", "success_cap = 0.5", "bytes_cap = 16"):
        assert f"# {line}" in text
        text = text.replace(f"# {line}", line)
    Path("study.toml").write_text(text.replace("success_cap = 0.5", "success_cap = 0.9"), encoding="utf-8")
    assert run("plan", "study.toml", "--people", "1000").code == 0
    again = "[repeat]\nepsilon_first = 1.0\nepsilon_forever = 2.0\nrounds = 10\n"
    head, tail = text.split("[attributes]")
    head = "\n".join(line for line in head.splitlines() if not line.startswith(("epsilon", "per", "protocol")))
    tail = "[attributes]" + tail.split("[objective]")[0].replace('protocol = "grr"', 'protocol = "l_grr"')
    Path("study.toml").write_text(f"{head}\n{tail}\n{again}", encoding="utf-8")
    outcome = run("plan", "study.toml", "--people", "1000")
    assert outcome.code == 0, outcome.err
    assert "again and again" in outcome.out


def test_a_plan_that_was_changed_is_refused_with_exit_code_2(run: Run) -> None:
    small_plan(run)
    text = Path("plan.json").read_text(encoding="utf-8")
    Path("plan.json").write_text(text.replace('"people":1000', '"people":1001'), encoding="utf-8")
    Path("data.csv").write_text("a,b\nx,1\n", encoding="utf-8")
    for arguments in (["verify", "plan.json"], ["privatize", "plan.json", "data.csv", "-o", "r.parquet"]):
        refused = run(*arguments)
        assert refused.code == 2
        assert refused.out == ""
        assert refused.err.startswith("error: plan.json is refused: the plan was changed after it was made")
        assert refused.err.count("\n") == 1
    assert not Path("r.parquet").exists()


def test_a_cap_refuses_plans_that_lose_more(run: Run) -> None:
    small_plan(run)
    assert run("verify", "plan.json", "--cap", "2").code == 0
    assert run("verify", "plan.json", "--cap", "nan").code == 2
    refused = run("verify", "plan.json", "--cap", "1")
    assert refused.code == 2
    assert "more than the cap of 1" in refused.err


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("a,b\nx,1\nx,3\n", "'3' is not a value of 'b' (1, 2)"),
        ("a,b\nx,1\n,1\n", "1 of 2 answers to 'a' are missing"),
        ("a,c\nx,1\n", "'b' is not a column of the table (a, c)"),
        ("a,b,b\nx,1,2\n", "'b' is there twice"),
        ("a,b\nx,1\nx,1,2\n", "cannot read data.csv"),
        ("", "cannot read data.csv"),
    ],
)
def test_nothing_is_written_unless_all_answers_can_be_used(run: Run, content: str, reason: str) -> None:
    small_plan(run)
    Path("data.csv").write_text(content, encoding="utf-8")
    refused = run("privatize", "plan.json", "data.csv", "-o", "reports.parquet")
    assert refused.code == 2
    assert reason in refused.err
    assert sorted(file.name for file in Path().iterdir()) == ["data.csv", "plan.json", "study.toml"]


def test_a_bad_answer_in_a_late_block_leaves_an_older_file_alone(run: Run) -> None:
    small_plan(run)
    Path("data.csv").write_text("a,b\n" + "x,1\n" * 600_000 + "x,9\n", encoding="utf-8")
    Path("reports.parquet").write_bytes(b"older")
    assert run("privatize", "plan.json", "data.csv", "-o", "reports.parquet").code == 2
    assert Path("reports.parquet").read_bytes() == b"older"
    assert sorted(file.name for file in Path().iterdir()) == ["data.csv", "plan.json", "reports.parquet", "study.toml"]


def test_text_stays_text_and_quotes_are_honored(run: Run) -> None:
    Path("study.toml").write_text(
        'epsilon = 30.0\nshare = "split"\nprotocol = "oue"\n'
        '[attributes]\ncode = ["007", "7", "NA", "a,b"]\nok = ["true", "null"]\n',
        encoding="utf-8",
    )
    assert run("plan", "study.toml", "--people", "10", "-o", "plan.json").code == 0
    Path("data.csv").write_text("ok,code\n" + 'true,007\nnull,NA\ntrue,"a,b"\n' * 1000, encoding="utf-8")
    assert run("privatize", "plan.json", "data.csv", "-o", "r.parquet", "--seed", "1").code == 0
    rows = json.loads(run("estimate", "plan.json", "r.parquet", "--json", "-").out)["rows"]
    shares = {row["value"]: row["frequency"] for row in rows}
    assert shares["7"] == pytest.approx(0, abs=0.05)
    assert shares["007"] == pytest.approx(1 / 3, abs=0.1)
    assert shares["null"] == pytest.approx(1 / 3, abs=0.1)


def test_seeded_reports_are_reproducible_and_say_that_they_protect_nobody(run: Run) -> None:
    small_plan(run)
    Path("data.csv").write_text("a,b\n" + "x,1\ny,2\n" * 50, encoding="utf-8")
    for name in ("one", "two"):
        outcome = run("privatize", "plan.json", "data.csv", "-o", f"{name}.parquet", "--seed", "7")
        assert "simulated" in outcome.err
    assert parquet.read_table("one.parquet").equals(parquet.read_table("two.parquet"))


def test_people_who_are_asked_again_are_simulated_only(run: Run) -> None:
    study = "[attributes]\na = ['x', 'y', 'z']\nb = ['1', '2']\n[repeat]\nepsilon_first = 1.0\nepsilon_forever = 2.0\n"
    Path("study.toml").write_text(study, encoding="utf-8")
    assert run("plan", "study.toml", "--people", "100", "-o", "plan.json").code == 0
    assert "any number of reports" in run("verify", "plan.json").out
    assert run("verify", "plan.json", "--cap", "1.5").code == 2
    Path("data.csv").write_text("a,b\n" + "x,1\ny,2\n" * 50, encoding="utf-8")
    refused = run("privatize", "plan.json", "data.csv", "-o", "r.parquet")
    assert refused.code == 2
    assert "on their own device" in refused.err
    assert run("privatize", "plan.json", "data.csv", "-o", "r.parquet", "--seed", "1").code == 0
    assert run("estimate", "plan.json", "r.parquet").code == 0


def test_reports_of_another_plan_are_refused(run: Run) -> None:
    small_plan(run)
    Path("data.csv").write_text("a,b\n" + "x,1\n" * 10, encoding="utf-8")
    run("privatize", "plan.json", "data.csv", "-o", "r.parquet")
    small_plan(run, "epsilon = 1.0")
    refused = run("estimate", "plan.json", "r.parquet")
    assert refused.code == 2
    assert "reports were made for plan" in refused.err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["plan", "nothing.toml", "--people", "10"], "nothing.toml"),
        (["plan", "study.toml"], "--people"),
        (["plan", "study.toml", "--people", "many"], "'many' is not a number of people"),
        (["plan", "study.toml", "--people", "0"], "'0' is not a number of people"),
        (["plan", "study.toml", "--people", "1.5"], "'1.5' is not"),
        (["verify", "nothing.json"], "nothing.json"),
        (["verify", "study.toml"], "this is not a plan"),
        (["privatize", "plan.json", "nothing.csv", "-o", "r.parquet"], "nothing.csv"),
        (["privatize", "plan.json", "nothing.parquet", "-o", "r.parquet"], "nothing.parquet"),
        (["privatize", "plan.json", "study.toml", "-o", "r.parquet"], "ending in .csv or .parquet"),
        (["privatize", "plan.json", "data.csv"], "--out"),
        (["privatize", "plan.json", "data.csv", "-o", "r.txt"], "ending in .parquet"),
        (["estimate", "plan.json", "nothing.parquet"], "nothing.parquet"),
        (["estimate", "plan.json", "data.csv"], "not a file of reports"),
        (["estimate", "plan.json", "data.csv", "--plot", "e.txt"], "a plot is written to"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_exit_code_2(run: Run, arguments: list[str], reason: str) -> None:
    small_plan(run)
    Path("data.csv").write_text("a,b\nx,1\n", encoding="utf-8")
    refused = run(*arguments)
    assert refused.code == 2
    assert refused.err.startswith("error: ")
    assert reason in refused.err
    assert refused.err.count("\n") == 1
    assert "Traceback" not in refused.err


def test_no_reports_and_bad_levels(run: Run) -> None:
    small_plan(run)
    Path("data.csv").write_text("a,b\n", encoding="utf-8")
    assert run("privatize", "plan.json", "data.csv", "-o", "r.parquet").code == 0
    assert "no reports" in run("estimate", "plan.json", "r.parquet").err
    Path("data.csv").write_text("a,b\n" + "x,1\n" * 50, encoding="utf-8")
    assert run("privatize", "plan.json", "data.csv", "-o", "r.parquet").code == 0
    assert "confidence level" in run("estimate", "plan.json", "r.parquet", "--level", "2").err
    assert "did you mean 'simplex'" in run("estimate", "plan.json", "r.parquet", "--project", "simplx").err
