"""`deniable cross`, and `deniable people --difference`."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deniable as dn
from tests.cases import names
from tests.running import Run

STUDY = """\
title = "Smoking"
epsilon = 2.0
together = [["age", "smoker"]]
[attributes]
age = { low = 18, high = 78, step = 12 }
smoker = { yes_no = true }
"""


@pytest.fixture
def asked(run: Run) -> None:
    """A plan and reports of 4,000 people, in the folder."""
    rng = np.random.default_rng(1)
    Path("study.toml").write_text(STUDY)
    with Path("answers.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["age", "smoker"])
        for age in rng.integers(18, 78, 4000):
            table.writerow([age, "yes" if rng.random() < (0.5 if age < 42 else 0.1) else "no"])
    assert run("plan", "study.toml", "--people", "4000", "-o", "plan.json").code == 0
    assert run("privatize", "plan.json", "answers.csv", "-o", "reports.parquet", "--seed", "1").code == 0


def test_a_table_is_shown_written_and_drawn(run: Run, asked: None) -> None:
    shown = run(
        "cross",
        "plan.json",
        "reports.parquet",
        "--of",
        "smoker",
        "--by",
        "age",
        "-o",
        "t.csv",
        "--plot",
        "t.png",
    )
    assert shown.code == 0, shown.err
    assert "smoker by age: shares of each row's people (4,000 reports)" in shown.out
    assert "the answers depend on each other (p < 0.001); chi-square" in shown.out
    rows = list(csv.DictReader(Path("t.csv").read_text().splitlines()))
    assert [row["test"] for row in rows] == ["the answers depend on each other (p < 0.001)"] * 10
    assert Path("t.png").read_bytes()[:4] == b"\x89PNG"
    told = json.loads(
        run("cross", "plan.json", "reports.parquet", "--of", "smoker", "--by", "age", "--json").out
    )
    assert (told["of"], told["by"], told["columns"]) == ("smoker", "age", ["yes", "no"])
    assert [row["share"] for row in told["cells"]] == pytest.approx([float(row["share"]) for row in rows])
    assert told["test"]["p"] < 0.001


def test_a_change_is_shown_and_written(run: Run, asked: None) -> None:
    assert run("privatize", "plan.json", "answers.csv", "-o", "later.parquet", "--seed", "2").code == 0
    shared = ("cross", "plan.json", "later.parquet", "--of", "smoker", "--by", "age")
    since = (*shared, "--change-from", "reports.parquet")
    shown = run(*since, "-o", "t.csv", "--plot", "t.png")
    assert shown.code == 0, shown.err
    assert "change of the shares of each row's people" in shown.out
    assert "if other people answered in each round" in shown.out
    assert len(Path("t.csv").read_text().splitlines()) == 11
    told = json.loads(run(*since, "--people", "linked", "--json").out)
    assert (told["people"], told["since"], len(told["cells"])) == ("linked", "reports.parquet", 10)
    assert "is about a change" in run(*shared, "--people", "same").err
    refused = run(*shared[:2], *shared[3:], "--from", "sqlite:///a.db", *since[-2:], "--people", "linked")
    assert "does not know who sent what" in refused.err
    same = " ".join(run(*since, "--people", "same").out.split())
    assert "change from the very people who reported in the earlier round" in same


def test_what_is_no_table_is_refused(run: Run, asked: None) -> None:
    wrong = run("cross", "plan.json", "reports.parquet", "--of", "smoker", "--by", "town")
    assert (wrong.code, wrong.err) == (2, "error: 'town' is not a question (age, smoker)\n")
    assert "give one of both" in run("cross", "plan.json", "--of", "smoker", "--by", "age").err


@pytest.mark.parametrize(
    ("mechanism", "words"),
    [
        ("sample", "a report holds only one of the questions or tables, so that no number of reports"),
        ("split", "a report holds 'smoker' and 'sex' in different values, which are not read as one"),
    ],
)
def test_a_question_outside_a_table_is_refused_with_what_to_do(run: Run, mechanism: str, words: str) -> None:
    asked = {"age": ["old", "young"], "smoker": ["yes", "no"], "sex": ["f", "m"], "arm": ["A", "B"]}
    study = dn.Study(asked, epsilon=2.0, known=["arm"], together=[("age", "smoker")], mechanism=mechanism)
    plan = study.plan(people=100)
    plan.write(Path("two.json"))
    people = {name: [values[0], values[1]] * 50 for name, values in asked.items()}
    plan.write_reports(Path("two.parquet"), [plan.privatize(people, dn.seeded(1))])
    refused = run("cross", "two.json", "two.parquet", "--of", "smoker", "--by", "sex")
    assert refused.code == 2
    assert words in refused.err
    assert "ask for both at once: together = [['sex', 'smoker']]" in refused.err
    result = plan.estimate(plan.tally(plan.read_reports(Path("two.parquet"))))
    with pytest.raises(dn.DeniableError, match="ask for both at once"):
        result.cross("smoker", by="sex")


@pytest.mark.parametrize(
    ("question", "name", "answer", "words"),
    [
        (dn.Range(0, 60, step=10, privacy="metric", epsilon=0.02), "q", 5, "a range with privacy = 'equal'"),
        (dn.Number(0, 60), "q", 5, "a range with privacy = 'equal'"),
        (dn.Text("a-z", longest=3), "q", "abc", "with 'q' as a list of values"),
        (dn.Several(["r", "s", "t"]), "q: r", ["r"], "with 'q' as a yes/no question for each option"),
    ],
    ids=names("metric number text options"),
)
def test_what_is_in_no_table_is_to_be_asked_otherwise(
    question: Any, name: str, answer: Any, words: str
) -> None:
    plan = dn.Study({"q": question, "y": ["a", "b"]}, 2.0).plan(people=100)
    reports = plan.privatize([{"q": answer, "y": "a"}] * 100, dn.seeded(1))
    with pytest.raises(dn.DeniableError) as refused:
        plan.estimate(plan.tally(reports)).cross(name, by="y")
    assert "together = [['y', 'q']]" in str(refused.value)
    assert words in str(refused.value)


def test_parts_that_are_given_for_points_are_doubted(run: Run, asked: None) -> None:
    rows = ("--of", "smoker", "--by", "age")
    doubted = run("people", "study.toml", "--difference", "0.05", "--share", "0.2", *rows)
    assert doubted.code == 0
    assert "--difference 0.05 is 0.05 points; if 5 points were meant, write --difference 5\n" in doubted.err
    assert "--share 0.2 is 0.2 percent; if 20 percent were meant, write --share 20\n" in doubted.err
    assert "--error 0.03 is 0.03 points" in run("people", "study.toml", "--error", "0.03").err
    assert run("people", "study.toml", "--difference", "5", "--share", "20", *rows).err.startswith("next: ")


def test_people_for_a_difference(run: Run, asked: None) -> None:
    found = run("people", "study.toml", "--difference", "5", "--of", "smoker", "--by", "age")
    assert "53,961 people at epsilon 2" in found.out
    assert "308,985 at 1" in found.out
    told = json.loads(
        run("people", "study.toml", "--difference", "5", "--of", "smoker", "--by", "age", "--json").out
    )
    assert told["people"] == 53_961
    assert "takes --of and --by" in run("people", "study.toml", "--difference", "5").err
    text = STUDY.replace("step = 12", "step = 12, known = true").replace(
        'together = [["age", "smoker"]]\n', ""
    )
    Path("known.toml").write_text(text)
    found = run("people", "known.toml", "--difference", "5", "--of", "smoker", "--by", "age")
    assert "11,923 people at epsilon 2" in found.out
    given = run("people", "known.toml", "--people", "11923").out
    assert re.search(r"smoker by age +shares of 2 values in each row +[\d.]+ points", given)
    assert "by age" not in run("people", "study.toml", "--people", "11923").out
    assert (
        "below 100 %"
        in run("people", "study.toml", "--difference", "80", "--of", "smoker", "--by", "age").err
    )
    assert "--of is for --difference" in run("people", "study.toml", "--people", "5", "--of", "smoker").err
    assert "give one of" in run("people", "study.toml").err


def test_two_stores_are_compared_by_their_files(run: Run) -> None:
    Path("study.toml").write_text(STUDY)
    run("plan", "study.toml", "--people", "1000", "-o", "plan.json")
    stores = ("--from", "sqlite:///autumn.db", "--change-from", "sqlite:///spring.db")
    told = run("cross", "plan.json", *stores, "--of", "smoker", "--by", "age")
    assert told.code == 2
    assert "deniable export plan.json -o first.parquet" in " ".join(told.err.split())


def test_attack_and_audit_say_what_the_shell_does_without_known_groups(run: Run) -> None:
    """And that helps: the plan of the other questions is attacked and audited."""
    arm = '[attributes.arm]\nvalues = ["A", "B"]\nknown = true\n'
    rest = 'epsilon = 1.0\n[attributes.smoker]\nvalues = ["yes", "no"]\n'
    Path("people.csv").write_text("smoker\n" + "yes\nno\n" * 20)
    Path("study.toml").write_text(rest + arm)
    assert run("plan", "study.toml", "--people", "100", "-o", "plan.json").code == 0
    for verb in (["attack", "plan.json", "--data", "people.csv"], ["audit", "plan.json", "--trials", "1000"]):
        refused = run(*verb)
        assert refused.code == 2
        assert "leave out [attributes.arm] of the study" in " ".join(refused.err.split())
    Path("study.toml").write_text(rest)
    assert run("plan", "study.toml", "--people", "100", "-o", "rest.json").code == 0
    assert run("attack", "rest.json", "--data", "people.csv", "--collections", "1").code == 0
    assert dn.Plan.read("rest.json") == dn.Plan.read("plan.json").with_known({})
