"""From a study to its results on the command line: init, plan, verify, privatize, estimate."""

from __future__ import annotations

import csv
import json
import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pyarrow import parquet

import deniable as dn
from deniable.commands.shared import answers, console
from deniable.frames import locate_rows, read_answers
from deniable.study import Plan
from deniable.study.study import Study
from tests import statistics
from tests.running import Run

SHARES = {"car": 0.5, "train": 0.2, "bus": 0.15, "bicycle": 0.1, "on foot": 0.05}


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
    Path("study.toml").write_text(
        f'{extra}\n[attributes]\na = ["x", "y", "z"]\nb = ["1", "2"]\n', encoding="utf-8"
    )
    assert run("plan", "study.toml", "--people", "1e3", "-o", "plan.json", "--force").code == 0


def test_a_plan_that_a_warehouse_counts_needs_no_collector(run: Run) -> None:
    small_plan(run, 'epsilon = 2.0\nobjective = { counted_in = "warehouse" }')
    outcome = run("plan", "study.toml", "--people", "1000", "-o", "plan.json", "--force")
    assert outcome.err.endswith(
        "(docs/pipeline.md): deniable decode plan.json reports.bin -o reports.parquet\n"
    )
    tickets = run("plan", "study.toml", "--people", "1000", "-o", "t.json", "--ticket-key", "t.key")
    assert tickets.err.endswith("next: deniable serve t.json --ticket-key t.key\n"), "they need a collector"


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_from_an_example_study_to_estimates(run: Run, ending: str) -> None:
    assert run("init").err.endswith("then deniable people study.toml --error 10\n")
    planned = run("plan", "study.toml", "--people", "20_000", "-o", "plan.json", "--cite")
    assert planned.err == "wrote plan.json\nnext: deniable serve plan.json\n"
    assert "20,000 people, 3 attributes" in planned.out
    assert "What was considered" in planned.out
    assert "@inproceedings" in planned.out
    plan = Plan.read("plan.json")
    assert plan == Study.read("study.toml").plan(20_000)
    Path("-plan.json").write_bytes(Path("plan.json").read_bytes())
    assert run("verify", "./-plan.json").err == "next: deniable serve ./-plan.json\n"
    verified = run("verify", "plan.json")
    assert (verified.code, verified.err) == (0, "next: deniable serve plan.json\n")
    assert verified.out.startswith(f"plan {plan.id}\nloss per record     1.000000000\n")
    assert "OK" in verified.out
    people = write_people(Path(f"people.{ending}"))
    done = run("privatize", "plan.json", f"people.{ending}", "-o", "out/reports.parquet")
    assert (done.code, done.out) == (0, "")
    assert "wrote 20,000 reports" in done.err
    table = parquet.read_table("out/reports.parquet")
    assert table.num_rows == 20_000
    assert table.column_names == ["transport", "satisfied", "minutes.0"]
    files = ["-o", "e.csv", "-o", "e.json", "--out", "e.parquet", "--plot", "e.png"]
    level = ["--level", f"{1 - statistics.SYSTEM_ALPHA:.9f}"]
    found = run("estimate", "plan.json", "out/reports.parquet", *files, *level)
    assert found.code == 0, found.err
    assert "on foot" in found.out
    assert Path("e.png").stat().st_size > 10_000
    with Path("e.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    *rows, median = rows
    assert (median["attribute"], median["value"], len(rows)) == ("minutes", "median", 5 + 2 + 12)
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
    assert parquet.read_table("e.parquet").num_rows == len(rows) + 1
    printed = run("estimate", "plan.json", "out/reports.parquet", "--json", *level)
    assert printed.out == Path("e.json").read_text(encoding="utf-8")


def test_every_question_that_the_example_leaves_out_can_be_asked(run: Run) -> None:
    run("init")
    lines = Path("study.toml").read_text(encoding="utf-8").splitlines()
    bare = [re.sub(r"^# (?=\[attributes\.|\w+ = )", "", line) for line in lines]
    sections = re.findall(r"^\[attributes\.(\w+)\].*\n((?:\w.*\n)*)", "\n".join(bare), re.MULTILINE)
    asked = dict(sections)
    assert {"media", "moved", "salary", "site", "device", "age", "home", "income"} <= set(asked)
    for name, section in asked.items():
        again = "[repeat]\nepsilon_first = 0.5\nepsilon_forever = 1.0\n" if "repeat = " in section else ""
        text = f"epsilon = 1.0\n[attributes]\nplain = [0, 1]\n[attributes.{name}]\n{section}{again}"
        Path("one.toml").write_text(text, encoding="utf-8")
        planned = run("plan", "one.toml", "--people", "1000", "--json")
        assert planned.code == 0, (text, planned.err)


def test_no_file_is_overwritten_unless_forced(run: Run) -> None:
    small_plan(run)
    Path("data.csv").write_text("a,b\n" + "x,1\ny,2\n" * 50, encoding="utf-8")
    assert run("privatize", "plan.json", "data.csv", "-o", "reports.parquet").code == 0
    commands = {
        "mine.toml": "init mine.toml",
        "mine.csv": "init other.toml --data mine.csv",
        "mine.json": "plan study.toml --people 10 -o mine.json",
        "mine.parquet": "privatize plan.json data.csv -o mine.parquet",
        "table.csv": "estimate plan.json reports.parquet -o table.csv",
        "table.json": "estimate plan.json reports.parquet -o table.json",
        "table.parquet": "estimate plan.json reports.parquet -o table.parquet",
        "mine.png": "estimate plan.json reports.parquet --plot mine.png",
    }
    for name, command in commands.items():
        Path(name).write_bytes(b"precious")
        before = sorted(os.listdir())
        refused = run(*command.split())
        assert (refused.code, refused.out) == (2, "")
        assert (
            refused.err
            == f"error: {name} exists already; choose another name, or overwrite it with --force\n"
        )
        assert Path(name).read_bytes() == b"precious"
        assert sorted(os.listdir()) == before
        forced = run(*command.split(), "--force")
        assert forced.code == 0, forced.err
        assert Path(name).read_bytes() != b"precious"
        assert not any(file.startswith(".") for file in os.listdir())


def test_the_invented_data_fits_the_example(run: Run) -> None:
    assert run("init", "--data", "data.csv").code == 0
    people = pd.read_csv("data.csv")
    assert people.transport.value_counts(normalize=True).round(9).to_dict() == {
        "car": 0.45, "train": 0.2, "bus": 0.15, "bicycle": 0.12, "on foot": 0.08
    }  # fmt: skip
    plan = Study.read("study.toml").plan(1000)
    assert plan.encode(people).shape == (3, 50_000)
    assert "ending in .csv" in run("init", "new.toml", "--data", "data.txt").err
    assert not Path("new.toml").exists()


def test_the_options_of_the_example_that_are_commented_out_work_too(run: Run) -> None:
    run("init")
    text = Path("study.toml").read_text(encoding="utf-8")
    for line in (
        'mechanism = "sample"',
        'protocol = "grr"',
        "[objective]",
        "success_cap = 0.5",
        "bytes_cap = 16",
        "worst = true",
    ):
        assert f"# {line}" in text
        text = text.replace(f"# {line}", line)
    Path("study.toml").write_text(text.replace("success_cap = 0.5", "success_cap = 0.9"), encoding="utf-8")
    assert run("plan", "study.toml", "--people", "1000").code == 0
    again = "[repeat]\nepsilon_first = 1.0\nepsilon_forever = 2.0\nrounds = 10\n"
    head, tail = text.split("[attributes.transport]")
    head = "\n".join(
        line for line in head.splitlines() if not line.startswith(("epsilon", "per", "protocol"))
    )
    tail = "[attributes.transport]" + tail.split("[objective]")[0].replace(
        'protocol = "grr"', 'protocol = "l_grr"'
    )
    Path("study.toml").write_text(f"{head}\n{tail}\n{again}", encoding="utf-8")
    outcome = run("plan", "study.toml", "--people", "1000")
    assert outcome.code == 0, outcome.err
    assert "again and again" in outcome.out


def test_a_plan_that_was_changed_is_refused_with_exit_code_1(run: Run) -> None:
    small_plan(run)
    text = Path("plan.json").read_text(encoding="utf-8")
    Path("plan.json").write_text(text.replace('"people":1000', '"people":1001'), encoding="utf-8")
    Path("data.csv").write_text("a,b\nx,1\n", encoding="utf-8")
    for arguments in (["verify", "plan.json"], ["privatize", "plan.json", "data.csv", "-o", "r.parquet"]):
        refused = run(*arguments)
        assert refused.code == 1
        assert refused.out == ""
        assert refused.err.startswith("error: plan.json is refused: the plan was changed after it was made")
        assert refused.err.count("\n") == 1
    assert not Path("r.parquet").exists()


def test_a_cap_refuses_plans_that_lose_more(run: Run) -> None:
    small_plan(run)
    assert run("verify", "plan.json", "--cap", "2").code == 0
    for cap in ("nan", "-1", "0", "inf", "x"):
        refused = run("verify", "plan.json", "--cap", cap)
        assert (refused.code, refused.out) == (2, "")
        assert cap in refused.err
        assert "such as 0.5 or 2" in refused.err
    refused = run("verify", "plan.json", "--cap", "1")
    assert (refused.code, refused.out) == (1, "")
    assert "more than the cap of 1" in refused.err


def test_json_is_a_flag_everywhere(run: Run) -> None:
    small_plan(run)
    made = run("plan", "study.toml", "--people", "1e3", "--json")
    assert made.out == Path("plan.json").read_text(encoding="utf-8")
    found = json.loads(run("verify", "plan.json", "--json").out)
    assert (found["plan"], found["loss_record"]) == (
        Plan.from_json(made.out).id,
        Plan.from_json(made.out).loss.record,
    )
    refused = run("plan", "study.toml", "--people", "1e3", "--json", "--cite")
    assert (refused.code, refused.out) == (2, "")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("a,b\nx,1\nx,3\n", "data.csv, line 3, column 'b': '3' is not a value of 'b' (1, 2)"),
        ("a,b\n\nx,1\nX,1\n", "data.csv, line 4, column 'a': 'X' is not a value of 'a' (x, y, z)"),
        (
            'a,c,b\nx,"two\nlines",1\nx,,NA\n',
            "data.csv, line 4, column 'b': 'NA' is not a value of 'b' (1, 2); if it means no",
        ),
        (
            "a,b\nx,1\n,1\n",
            "data.csv, line 3, column 'a': there is no answer, and this plan refuses missing ones;",
        ),
        (
            "a,b\nx,1\n,1\n",
            'write in study.toml what it means, missing = "value" (one more value) or missing = "random"',
        ),
        ("a,b\nnan,1\n", "data.csv, line 2, column 'a': there is no answer"),
        ("a,c\nx,1\n", "'b' is not a column of data.csv (a, c)"),
        ("id,bb,a\n1,1,x\n", "'b' is not a column of data.csv (id, bb, a)"),
        ("q,r\nx,1\n", "'a' is not a column of data.csv (q, r); the columns that are asked for: a, b"),
        ("a;b\nx;1\n", "its cells seem to have ';' between them: name that separator (--separator)"),
        ("a,b,b\nx,1,2\n", "'b' occurs twice"),
        ("a,b\nx,1\n\nx,1,2\n", "data.csv, line 4: the number of cells is 3, and that of columns 2"),
        ("a,b\n", "data.csv has no answers"),
        ("", "data.csv is empty; its first line must name the columns: a, b"),
        (
            "a, b\nx,1\n",
            "'b' is not a column of data.csv, but ' b' is: names of columns have spaces around them; remove",
        ),
    ],
)
def test_nothing_is_written_unless_all_answers_can_be_used(run: Run, content: str, reason: str) -> None:
    small_plan(run)
    Path("data.csv").write_text(content, encoding="utf-8")
    refused = run("privatize", "plan.json", "data.csv", "-o", "reports.parquet")
    assert (refused.code, refused.out) == (1, "")
    assert reason in refused.err
    assert refused.err.count("\n") == 1
    assert "missing='" not in refused.err
    assert sorted(file.name for file in Path().iterdir()) == ["data.csv", "plan.json", "study.toml"]


def test_a_bad_answer_in_a_late_block_leaves_an_older_file_alone(run: Run) -> None:
    small_plan(run)
    Path("data.csv").write_text("a,b\n" + "x,1\n" * 600_000 + "x,9\n", encoding="utf-8")
    Path("reports.parquet").write_bytes(b"older")
    refused = run("privatize", "plan.json", "data.csv", "-o", "reports.parquet", "--force")
    assert refused.code == 1
    assert "data.csv, line 600002, column 'b': '9' is not a value of 'b'" in refused.err
    assert Path("reports.parquet").read_bytes() == b"older"
    assert sorted(os.listdir()) == ["data.csv", "plan.json", "reports.parquet", "study.toml"]


def test_text_stays_text_and_quotes_are_honored(run: Run) -> None:
    Path("study.toml").write_text(
        'epsilon = 30.0\nmechanism = "split"\nprotocol = "oue"\n'
        '[attributes]\ncode = ["007", "7", "NA", "a,b"]\nok = ["true", "null"]\n',
        encoding="utf-8",
    )
    assert run("plan", "study.toml", "--people", "10", "-o", "plan.json").code == 0
    Path("data.csv").write_text("ok,code\n" + 'true,007\nnull,NA\ntrue,"a,b"\n' * 1000, encoding="utf-8")
    assert run("privatize", "plan.json", "data.csv", "-o", "r.parquet", "--seed", "1").code == 0
    rows = json.loads(run("estimate", "plan.json", "r.parquet", "--json").out)["rows"]
    shares = {row["value"]: row["share"] for row in rows}
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
    study = (
        "[attributes]\na = ['x', 'y', 'z']\nb = ['1', '2']\n[repeat]\nepsilon_first = 1.0\nepsilon_forever = "
        "2.0\n"
    )
    Path("study.toml").write_text(study, encoding="utf-8")
    assert run("plan", "study.toml", "--people", "100", "-o", "plan.json").code == 0
    assert "any number of reports" in run("verify", "plan.json").out
    assert run("verify", "plan.json", "--cap", "1.5").code == 1
    Path("data.csv").write_text("a,b\n" + "x,1\ny,2\n" * 50, encoding="utf-8")
    for options, why in (
        ("", "on their own device"),
        (" --seed 1", "say with --round which round this is, from 1 to 10"),
        (" --seed 1 --round 11", "from 1 to 10"),
    ):
        refused = run(*f"privatize plan.json data.csv -o r.parquet{options}".split())
        assert (refused.code, why in refused.err) == (2, True), refused.err
    done = run("privatize", "plan.json", "data.csv", "-o", "r.parquet", "--seed", "1", "--round", "1")
    assert done.code == 0
    assert run("estimate", "plan.json", "r.parquet").code == 0


def panel(run: Run, epsilon: str = "epsilon_first = 8.0\nepsilon_forever = 9.0") -> None:
    study = f"[attributes]\na = ['x', 'y', 'z']\nb = ['1', '2']\n[repeat]\n{epsilon}\n"
    Path("study.toml").write_text(study, encoding="utf-8")
    assert run("plan", "study.toml", "--people", "100", "-o", "plan.json").code == 0


def reported(run: Run, data: str, number: int, *more: str) -> pd.DataFrame:
    command = f"privatize plan.json {data} -o r.parquet --seed 1 --round {number} --force"
    done = run(*command.split(), *more)
    assert done.code == 0, done.err
    return parquet.read_table("r.parquet").to_pandas().drop(columns="round")


def test_a_round_is_reproducible_and_another_round_has_fresh_noise(run: Run) -> None:
    panel(run, "epsilon_first = 1.0\nepsilon_forever = 2.0")
    Path("data.csv").write_text("a,b\n" + "x,1\ny,2\n" * 200, encoding="utf-8")
    one, same, two = (reported(run, "data.csv", number) for number in (1, 1, 2))
    assert one.equals(same)
    assert one.isna().equals(two.isna())  # the attribute is kept
    assert not one.equals(two)
    plan = Plan.read("plan.json")
    python = plan.privatize(pd.read_csv("data.csv"), dn.remembering(1, round=2))
    plan.write_reports("python.parquet", python)
    assert parquet.read_table("python.parquet").to_pandas().drop(columns="round").equals(two)


def test_what_is_kept_follows_the_person_and_not_the_row(run: Run) -> None:
    """Nearly all noise is kept here, so that a person's reports are nearly always the same."""
    panel(run, "epsilon_first = 1.0\nepsilon_forever = 1.0011")
    people = pd.DataFrame({"id": [f"p{i}" for i in range(400)], "a": ["x", "y"] * 200, "b": ["1", "2"] * 200})
    people.to_csv("one.csv", index=False)
    people.sample(frac=0.9, random_state=3).to_csv("two.csv", index=False)
    people.to_parquet("one.parquet")
    first = reported(run, "one.csv", 1, "--person", "id").set_index(people["id"])
    later = reported(run, "two.csv", 2, "--person", "id").set_index(pd.read_csv("two.csv")["id"])
    rows = first.loc[later.index]
    assert rows.isna().equals(later.isna())
    assert (rows.fillna(9) == later.fillna(9)).all(axis=1).mean() > 0.95
    assert first.reset_index(drop=True).equals(reported(run, "one.parquet", 1, "--person", "id"))
    by_row = reported(run, "two.csv", 2)
    assert (
        not first.iloc[: len(by_row)]
        .isna()
        .reset_index(drop=True)
        .equals(later.isna().reset_index(drop=True))
    )
    assert first.isna().sum().min() > 100


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (
            "id,a,b\nann,x,1\nbob,x,1\nann,y,2\n",
            "line 4: person 'ann' answered already (data.csv, line 2); a person answers",
        ),
        ("id,a,b\nann,x,1\n,x,1\n", "data.csv, line 3: the person has no name"),
        ("a,b\nx,1\n", "'id' is not a column of data.csv"),
    ],
)
def test_everybody_has_a_name_of_their_own(run: Run, content: str, reason: str) -> None:
    panel(run)
    Path("data.csv").write_text(content, encoding="utf-8")
    options = ["--seed", "1", "--round", "1", "--person", "id"]
    refused = run("privatize", "plan.json", "data.csv", "-o", "r.parquet", *options)
    assert (refused.code, refused.out) == (1, "")
    assert reason in refused.err
    small_plan(run)
    refused = run("privatize", "plan.json", "data.csv", "-o", "r.parquet", *options)
    assert refused.code == 2
    assert "for plans that ask again; this one asks once" in refused.err
    assert not Path("r.parquet").exists()


def test_all_kinds_of_refused_answers_are_reported_at_once(run: Run) -> None:
    small_plan(run)
    lines = ["a,b", "x,1", *["yy,1"] * 3, "x,3", *["x,1"] * 70_000, "yy,", "y,2"]
    Path("data.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    refused = run("privatize", "plan.json", "data.csv", "-o", "r.parquet")
    assert refused.code == 1
    heading, *kinds = refused.err.splitlines()
    assert heading == "error: data.csv: 3 kinds of answers are refused"
    assert len(kinds) == 3
    assert kinds[0].startswith("  line 3, column 'a': 'yy' is not a value of 'a' (x, y, z)")
    assert kinds[0].endswith("(4 times, first here)")
    assert kinds[1] == "  line 6, column 'b': '3' is not a value of 'b' (1, 2)"
    assert kinds[2].startswith("  line 70007, column 'b': there is no answer")
    Path("data.csv").write_text("a,b\n" + "x,9\n" * 41, encoding="utf-8")
    refused = run("privatize", "plan.json", "data.csv", "-o", "r.parquet")
    assert (
        refused.err
        == "error: data.csv, line 2, column 'b': '9' is not a value of 'b' (1, 2) (41 times, first here)\n"
    )
    Path("data.csv").write_text("a,b\n" + "".join(f"x{i},1\n" for i in range(99)), encoding="utf-8")
    refused = run("privatize", "plan.json", "data.csv", "-o", "r.parquet")
    assert refused.err == (
        "error: data.csv, line 2, column 'a': 'x0' is not a value of 'a' (x, y, z) (99 "
        "times, first here; also 'x1', 'x2', 'x3' and 95 others)\n"
    )


def test_random_answers_are_counted(run: Run) -> None:
    small_plan(run, 'missing = "random"\nepsilon = 2.0')
    Path("data.csv").write_text("a,b\n" + "x,1\n" * 70_000 + "x,\n,\nnan,2\n,\n", encoding="utf-8")
    done = run("privatize", "plan.json", "data.csv", "-o", "r.parquet")
    told = "6 missing answers drawn at random, as the plan says (a 3, b 3); estimates count them like answers"
    assert done.err.splitlines()[:2] == ["wrote 70,004 reports to r.parquet", told]
    Path("data.csv").write_text("a,b\nx,1\n", encoding="utf-8")
    assert "random" not in run("privatize", "plan.json", "data.csv", "-o", "s.parquet").err


def test_the_names_that_an_empty_file_should_have(run: Run) -> None:
    """A place has two columns, or one of pairs."""
    home = dn.Grid(47.6, 6.8, 47.7, 6.95, rows=4, columns=4, epsilon=0.001)
    Study({"home": home, "a": ["x", "y"]}, epsilon=1.0).plan(100).write("plan.json")
    Path("data.csv").write_text("", encoding="utf-8")
    refused = run("privatize", "plan.json", "data.csv", "-o", "r.parquet").err
    assert "name the columns: home.latitude and home.longitude (or home, with pairs), a\n" in refused


def test_more_refused_answers_than_are_counted(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "_MOST_ANSWERS", 20)
    small_plan(run)
    Path("data.csv").write_text(
        "a,b\n" + "".join(f"x{i},1\n" * 2 for i in range(99)) + "x0,7\n", encoding="utf-8"
    )
    refused = run("privatize", "plan.json", "data.csv", "-o", "r.parquet")
    heading, names, numbers = refused.err.splitlines()
    assert heading == "error: data.csv: 2 kinds of answers are refused at least"
    assert names.endswith("(at least 41 times, first here; also 'x1', 'x2', 'x3' and 16 others)")
    assert numbers == "  line 200, column 'b': '7' is not a value of 'b' (1, 2)"


def test_other_separators(run: Run) -> None:
    small_plan(run)
    Path("data.csv").write_text("a;b\n" + 'x;1\n"y";2\n' * 50, encoding="utf-8")
    Path("data.tsv").write_text("a\tb\n" + "x\t1\ny\t2\n" * 50, encoding="utf-8")
    Path("plain.csv").write_text("a,b\n" + "x,1\ny,2\n" * 50, encoding="utf-8")
    commands = ("plain.csv", "data.tsv", "data.csv --separator ;")
    for i, command in enumerate(commands):
        done = run("privatize", "plan.json", *command.split(), "-o", f"{i}.parquet", "--seed", "7")
        assert done.code == 0, done.err
    tables = [parquet.read_table(f"{i}.parquet") for i in range(3)]
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])
    Path("data.csv").write_text("a;b\nx;1\n\nx;7\n", encoding="utf-8")
    refused = run("privatize", "plan.json", "data.csv", "-o", "r.parquet", "--separator", ";")
    assert "data.csv, line 4, column 'b': '7' is not" in refused.err
    for wrong in (";;", '"', "\n"):
        assert (
            "a separator is one character"
            in run("privatize", "plan.json", "data.csv", "-o", "r.parquet", "--separator", wrong).err
        )


def test_an_attribute_without_reports_leaves_the_others(run: Run) -> None:
    small_plan(run)
    Path("data.csv").write_text("a,b\nx,1\n", encoding="utf-8")
    assert (
        "wrote 1 report to" in run("privatize", "plan.json", "data.csv", "-o", "r.parquet", "--seed", "1").err
    )
    found = run("estimate", "plan.json", "r.parquet", "-o", "e.csv", "--plot", "e.png")
    assert found.code == 0, found.err
    assert "(0 reports): there are no reports yet" in found.out
    table = pd.read_csv("e.csv")
    assert sorted(table.groupby("attribute")["n"].max()) == [0, 1]
    assert table[table["n"] == 0]["share"].isna().all()
    assert len(table) == 5
    printed = json.loads(run("estimate", "plan.json", "r.parquet", "--json").out)
    assert [row["share"] is None for row in printed["rows"]] == table["share"].isna().to_list()


def test_a_study_for_which_there_is_no_plan_is_named(run: Run) -> None:
    Path("mine.toml").write_text(
        'epsilon = 1.0\n[objective]\nsuccess_cap = 0.01\n[attributes]\na = ["x", "y"]\n', encoding="utf-8"
    )
    outcome = run("plan", "mine.toml", "--people", "100")
    assert (outcome.code, outcome.err.startswith("error: mine.toml: nothing fits this study")) == (1, True)


def test_a_table_stands_alone_and_plots_may_be_several(run: Run) -> None:
    small_plan(run, 'title = "Our study"\nepsilon = 2.0')
    Path("data.csv").write_text("a,b\n" + "x,1\ny,2\n" * 50, encoding="utf-8")
    run("privatize", "plan.json", "data.csv", "-o", "r.parquet")
    plots = ["--plot", "one.svg", "--plot", "two.png"]
    found = run(
        "estimate", "plan.json", "r.parquet", "-o", "e.csv", "-o", "e.parquet", *plots, "--level", "0.9"
    )
    assert found.code == 0, found.err
    assert Path("two.png").exists()
    assert "Our study" in Path("one.svg").read_text(encoding="utf-8")
    for table in (pd.read_csv("e.csv"), pd.read_parquet("e.parquet")):
        assert list(table.columns[-3:]) == ["n", "level", "plan"]
        assert table.groupby("attribute")["n"].first().sum() == 100
        assert set(table["level"]) == {0.9}
        assert set(table["plan"]) == {Plan.read("plan.json").id}
    refused = run("estimate", "plan.json", "r.parquet", "--plot", "x.png", "--plot", "x.png")
    assert (refused.code, refused.err.count("named twice")) == (2, 1)


def test_people_are_written_as_people_write_numbers(run: Run) -> None:
    small_plan(run)
    plans = {
        run("plan", "study.toml", "--people", people, "--json").out
        for people in ("50,000", "50000", "5e4", "50_000")
    }
    assert len(plans) == 1
    assert "50,00" in run("plan", "study.toml", "--people", "50,00").err


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (
            "plan nothing.toml --people 10",
            1,
            "there is no file nothing.toml; `deniable init` writes an example",
        ),
        ("plan plan.json --people 10", 1, "plan.json is a plan, not a study"),
        ("plan data.csv --people 10", 1, "data.csv is a CSV file, not a study"),
        ("plan study.toml", 2, "--people"),
        ("plan study.toml --people many", 2, "'many' is not a whole number"),
        ("plan study.toml --people 0", 2, "it must be at least 1, got 0"),
        ("plan study.toml --people 1.5", 2, "'1.5' is not"),
        ("plan study.toml --people 10 -o plan.txt", 2, "a plan is written to a file ending in .json"),
        ("plan questions.toml --people 10", 1, "it has no [attributes]"),
        ("plan wrong.toml --people 10", 1, "wrong.toml: 'epsilom' is not a key of the study"),
        ("verify nothing.json", 1, "nothing.json"),
        (
            "verify study.toml",
            1,
            "is a study, not a plan; make a plan of it with: deniable plan study.toml --people",
        ),
        ("verify data.csv", 1, "data.csv is a CSV file, not a plan"),
        ("verify half.json", 1, "half.json is no JSON, not a plan"),
        ("verify other.json", 1, "other.json is another JSON file, not a plan"),
        ("privatize plan.json nothing.csv -o r.parquet", 1, "nothing.csv"),
        ("privatize plan.json nothing.parquet -o r.parquet", 1, "nothing.parquet"),
        ("privatize plan.json study.toml -o r.parquet", 2, "ending in .csv, .tsv or .parquet"),
        ("privatize data.csv plan.json -o r.parquet", 1, "data.csv is a CSV file, not a plan"),
        ("privatize plan.json data.csv", 2, "--out"),
        ("privatize plan.json data.csv -o r.txt", 2, "ending in .parquet"),
        ("estimate plan.json nothing.parquet", 1, "nothing.parquet"),
        ("estimate plan.json data.csv", 1, "data.csv is not a file of reports"),
        ("estimate plan.json data.csv --plot e.txt", 2, "a plot is written to"),
        ("estimate plan.json data.csv -o e.png", 2, "ending in .csv, .json, .parquet; got 'e.png'"),
    ],
)
def test_what_cannot_be_done_is_one_line(run: Run, arguments: str, code: int, reason: str) -> None:
    small_plan(run)
    Path("data.csv").write_text("a,b\nx,1\n", encoding="utf-8")
    Path("wrong.toml").write_text("epsilom = 1.0\n[attributes]\na = ['x', 'y']\n", encoding="utf-8")
    Path("questions.toml").write_text('[questions]\nsite = ["a", "b"]\n', encoding="utf-8")
    Path("half.json").write_text(Path("plan.json").read_text(encoding="utf-8")[:99], encoding="utf-8")
    Path("other.json").write_text("[1, 2]", encoding="utf-8")
    refused = run(*arguments.split())
    assert (refused.code, refused.out) == (code, "")
    assert refused.err.startswith("error: ")
    assert reason in refused.err
    assert refused.err.count("\n") == 1
    assert "Traceback" not in refused.err


def test_reports_are_not_answers_and_answers_are_not_reports(run: Run) -> None:
    small_plan(run)
    pd.DataFrame({"a": ["x"] * 9, "b": ["1"] * 9}).to_parquet("data.parquet")
    assert run("privatize", "plan.json", "data.parquet", "-o", "r.parquet").code == 0
    assert (
        "holds reports, not answers" in run("privatize", "plan.json", "r.parquet", "-o", "again.parquet").err
    )
    assert "if it holds answers, privatize them first" in run("estimate", "plan.json", "data.parquet").err
    assert "r.parquet is a Parquet file, not a plan" in run("verify", "r.parquet").err


def test_a_bad_answer_in_a_parquet_file_is_named_by_its_row(run: Run) -> None:
    small_plan(run)
    pd.DataFrame({"a": ["x"] * 9, "b": [1, 2] * 4 + [3]}).to_parquet("data.parquet")
    refused = run("privatize", "plan.json", "data.parquet", "-o", "r.parquet")
    assert refused.code == 1
    assert "data.parquet, row 9, column 'b': 3 is not a value of 'b' (1, 2)" in refused.err


def test_nan_is_no_answer_in_a_file_as_in_python(run: Run) -> None:
    attributes = "[attributes]\na = ['x', 'y']\n[attributes.b]\nlow = 0\nhigh = 4\nstep = 1\n"
    Path("study.toml").write_text(f"epsilon = 1.0\nmissing = 'value'\n{attributes}", encoding="utf-8")
    plan = Study.read("study.toml").plan(10)
    Path("data.csv").write_text("a,b\nx,1\nnan,NaN\n,\ny,3.5\n", encoding="utf-8")
    (block,) = read_answers(Path("data.csv"), plan.labels)
    python = {"a": ["x", float("nan"), None, "y"], "b": [1, np.nan, None, 3.5]}
    assert plan.encode(block).tolist() == plan.encode(python).tolist() == [[0, 2, 2, 1], [1, 4, 4, 3]]
    (named,) = read_answers(Path("data.csv"), {"a": ("x", "nan"), "b": ()})
    assert named["a"] == ["x", "nan", None, "y"]


def test_an_empty_line_of_a_single_column_is_a_missing_answer(run: Run) -> None:
    Path("data.csv").write_text("a\nx\n\ny\n", encoding="utf-8")
    (block,) = read_answers(Path("data.csv"), {"a": ("x", "y")})
    assert block["a"] == ["x", None, "y"]
    assert locate_rows(Path("data.csv"), [0, 2, 1]) == ["line 2", "line 4", "line 3"]


def test_no_reports_and_bad_levels(run: Run) -> None:
    small_plan(run)
    plan = Plan.read("plan.json")
    plan.write_reports("none.parquet", iter([]))
    refused = run("estimate", "plan.json", "none.parquet")
    assert (refused.code, refused.err) == (1, "error: there are no reports in none.parquet\n")
    pd.DataFrame({"a": [], "b": []}).to_parquet("data.parquet")
    assert (
        "data.parquet has no answers" in run("privatize", "plan.json", "data.parquet", "-o", "r.parquet").err
    )
    assert not Path("r.parquet").exists()
    Path("data.csv").write_text("a,b\n" + "x,1\n" * 50, encoding="utf-8")
    assert run("privatize", "plan.json", "data.csv", "-o", "r.parquet").code == 0
    assert "confidence level" in run("estimate", "plan.json", "r.parquet", "--level", "2").err


def test_long_work_shows_a_bar(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[tuple[int, int]] = []

    class Bar:
        def __enter__(self) -> object:
            return lambda *pair: heard.append(pair)

        def __exit__(self, *_: object) -> None:
            pass

    monkeypatch.setattr(console, "progress", lambda _: Bar())
    small_plan(run)
    pd.DataFrame({"a": ["x"] * 200_000, "b": ["1"] * 200_000}).to_parquet("data.parquet")
    for command in ("privatize plan.json data.parquet -o r.parquet", "estimate plan.json r.parquet"):
        heard.clear()
        assert run(*command.split()).code == 0
        assert len(heard) > 2
        assert heard == sorted(heard)
        assert heard[-1] == (200_000, 200_000)


@pytest.mark.parametrize("cells", ["x,,5", "x,3,"])
def test_what_to_do_about_a_missing_number_can_be_done(run: Run, cells: str) -> None:
    study = (
        'epsilon = 1.0\n[attributes.a]\nvalues = ["x", "y"]\n[attributes.age]\nlow = 0\nhigh = 9\nstep = 1\n'
    )
    study += 'privacy = "metric"\nepsilon = 0.5\n[attributes.income]\nlow = 0\nhigh = 10\nmean = true\n'
    Path("study.toml").write_text(study, encoding="utf-8")
    Path("data.csv").write_text(f"a,age,income\n{cells}\n", encoding="utf-8")
    assert run("plan", "study.toml", "--people", "100", "-o", "plan.json").code == 0
    refused = run("privatize", "plan.json", "data.csv", "-o", "r.parquet")
    assert refused.code == 1
    assert 'missing = "value"' not in refused.err
    assert 'missing = "random" (a random value is reported), and make the plan again' in refused.err
    Path("study.toml").write_text(f'missing = "random"\n{study}', encoding="utf-8")
    assert run("plan", "study.toml", "--people", "100", "-o", "plan.json", "--force").code == 0
    assert run("privatize", "plan.json", "data.csv", "-o", "r.parquet").code == 0
