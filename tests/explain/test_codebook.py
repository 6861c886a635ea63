"""Codebooks: every value that files have, with its code, its labels, and what people were asked."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyreadstat
import pytest

import deniable as dn
from deniable.study import Plan
from tests.running import Run


@pytest.fixture
def plan() -> Plan:
    asked: dict[str, Any] = {
        "works": ["yes", "no"],
        "media": dn.Several(["tv", "web", "radio"]),
        "mood": dn.Range.scale(1, 3),
        "job": ["office", "field"],
        "age": dn.Range(0, 1000, step=1),
        "rent": dn.Number(0, 5000),
        "arm": ["A", "B"],
        "sex": ["f", "m"],
        "tired": ["yes", "no"],
    }
    survey = dn.Texts(
        questions={"mood": {"en": "How are you?", "de": "Wie geht es?"}, "media": "Which?"},
        labels={"works": {"de": ["ja", "nein"]}, "media": {"de": ["Fernsehen", "Netz", "Radio"]}},
        ends={"mood": {"en": ["bad", "good"], "de": ["schlecht", "gut"]}},
    )
    options: dict[str, Any] = {"known": ["arm"], "together": [("sex", "tired")], "survey": survey}
    return dn.Study(asked, epsilon=4.0, only_if={"job": {"works": "yes"}}, **options).plan(people=1000)


def values_of(plan: Plan, name: str) -> list[tuple[Any, ...]]:
    columns = ("code", "value", "label", "label_de")
    return [tuple(map(row.get, columns)) for row in plan.codebook().rows if row["attribute"] == name]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("works", [(0, "yes", "yes", "ja"), (1, "no", "no", "nein")]),
        ("media: tv", [(0, "yes", "tv", "Fernsehen"), (1, "no", "no", "no")]),
        ("media: web", [(0, "yes", "web", "Netz"), (1, "no", "no", "no")]),
        ("mood", [(0, "1", "1 (bad)", "1 (schlecht)"), (1, "2", "2", "2"), (2, "3", "3 (good)", "3 (gut)")]),
        ("arm", [(0, "A", "A", "A"), (1, "B", "B", "B")]),
        ("sex", [(0, "f", "f", "f"), (1, "m", "m", "m")]),
        ("rent", [(None, "a number from 0 to 5,000, for its mean", "", None)]),
    ],
)
def test_a_value_has_its_code_and_labels(plan: Plan, name: str, values: list[tuple[Any, ...]]) -> None:
    assert values_of(plan, name) == values


def test_every_question_says_what_and_whom_it_asks(plan: Plan) -> None:
    about = {row["attribute"]: (row["question"], row["asked_of"]) for row in plan.codebook().rows}
    assert about["mood"] == ("How are you?", "everybody")
    assert about["media: radio"] == ("Which?", "everybody")
    assert about["job"] == ("", "people of whom 'works' is yes")
    assert about["arm"] == ("", "everybody; known")
    assert values_of(plan, "job")[-1][:2] == (2, "not applicable")


def test_files_of_estimates_have_no_value_that_the_codebook_lacks(plan: Plan) -> None:
    answers = {"works": "yes", "media": ["tv"], "mood": 1, "job": "office", "age": 20, "rent": 700.0}
    people = [answers | {"arm": "A", "sex": "f", "tired": "no"}] * 900
    rows = plan.estimate(plan.tally(plan.privatize(people, dn.seeded(1)))).find().rows.values
    known = {(row["attribute"], row["value"]) for row in plan.codebook().rows}
    listed = {(row["attribute"], str(row["value"])) for row in rows if row["attribute"] != "age"}
    assert listed
    assert listed <= known
    assert len(values_of(plan, "age")) == 1


def test_the_shell_writes_what_python_has(
    plan: Plan, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plan.write("plan.json")
    told = run("export", "plan.json", "--codebook", "-o", "c.csv", "--json")
    assert json.loads(told.out) == plan.codebook().about()
    rows = list(csv.DictReader(Path("c.csv").read_text(encoding="utf-8").splitlines()))
    expected = [
        {name: "" if cell is None else str(cell) for name, cell in row.items()}
        for row in plan.codebook().rows
    ]
    assert rows == expected
    assert run("export", "plan.json", "--codebook").out == f"{plan.codebook()}\n"
    assert "a codebook is of a plan" in run("export", "--codebook").err
    assert "--json is for --codebook" in run("export", "plan.json", "--json").err


@pytest.mark.parametrize(("ending", "most"), [("sav", 120), ("dta", 80)])
def test_spss_and_stata_read_labels(run: Run, tmp_path: Path, ending: str, most: int) -> None:
    """Names are those that both allow, no two alike, and long texts are cut between letters."""
    texts = dn.Texts(questions={"9 Größe": "ü" * 100, "drugs": "Which?"})
    asked: dict[str, Any] = {
        "9 Größe": ["s", "m"],
        "9_Groe": ["a", "b"],
        "drugs": dn.Several(["x", "y", "z"]),
    }
    dn.Study({**asked, "age": dn.Range(0, 500)}, 1.0, survey=texts).plan(100).write(tmp_path / "plan.json")
    file = tmp_path / f"labels.{ending}"
    told = run("export", str(tmp_path / "plan.json"), "--codebook", "-o", str(file))
    assert (told.code, told.out) == (0, "")
    rows, about = getattr(pyreadstat, f"read_{ending}")(file)
    assert len(rows) == 0
    assert about.column_names_to_labels == {
        "q_9_Groe": "ü" * (most // 2),
        "q_9_Groe_2": "9_Groe",
        **{f"drugs_{option}": "Which?" for option in "xyz"},
        "age": "age",
    }
    assert about.variable_value_labels["q_9_Groe"] == {0: "s", 1: "m"}
    assert about.variable_value_labels["drugs_y"] == {0: "y", 1: "no"}
    assert "age" not in about.variable_value_labels, "so many values have no labels"
    assert "exists" in run("export", str(tmp_path / "plan.json"), "--codebook", "-o", str(file)).err


def test_labels_are_written_where_another_library_is_in_use(plan: Plan, tmp_path: Path) -> None:
    """pyreadstat takes no table of pyarrow."""
    plan.write(tmp_path / "plan.json")
    program = (
        "import sys, pyarrow, deniable as dn; assert 'pandas' not in sys.modules; "
        "dn.Plan.read('plan.json').codebook().write_labels('labels.sav')"
    )
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
    assert "works" in pyreadstat.read_sav(tmp_path / "labels.sav")[1].column_names
