"""`deniable simulate-people`: files of people who do not exist, and what it refuses."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet
from tests.running import Run

import deniable as dn

STUDY = """\
title = "Smoking"
epsilon = 4.0
target = "smoker"
[attributes]
smoker = { yes_no = true }
sex = ["f", "m"]
town = ["a", "b", "c"]
"""
ASKED = ("simulate-people", "plan.json", "reports.parquet")


@pytest.fixture
def asked(run: Run) -> None:
    """A plan and reports of 3,000 people, in the folder; nobody smokes but men."""
    write_reports(run, STUDY)


def write_reports(run: Run, study: str) -> None:
    rng = np.random.default_rng(1)
    Path("study.toml").write_text(study)
    assert run("plan", "study.toml", "--people", "3000", "-o", "plan.json").code == 0
    sex = rng.choice(["f", "m"], 3000)
    smoker = np.where((sex == "m") & (rng.random(3000) < 0.6), "yes", "no")
    plan = dn.Plan.read(Path("plan.json"))
    people = {"smoker": smoker, "sex": sex, "town": rng.choice(["a", "b", "c"], 3000)}
    plan.write_reports(Path("reports.parquet"), [plan.privatize(people, dn.seeded(1))])


def test_people_are_written_with_a_warning(run: Run, asked: None) -> None:
    shown = run(*ASKED, "--target", "smoker", "--people", "2000", "-o", "p.csv", "-o", "p.parquet")
    assert shown.code == 0, shown.err
    assert "simulated by the tables of 3,000 reports, and have no error bars" in shown.err
    assert "other answers depend on 'smoker' alone" in shown.err
    rows = list(csv.DictReader(Path("p.csv").read_text().splitlines()))
    assert len(rows) == 2000
    assert rows == parquet.read_table("p.parquet").to_pylist()
    assert set(rows[0]) == {"smoker", "sex", "town"}
    smoking = [row["sex"] for row in rows if row["smoker"] == "yes"]
    assert smoking.count("m") > 0.9 * len(smoking) > 0
    again = run(*ASKED, "--target", "smoker", "--people", "2000", "--seed", "2", "-o", "q.csv")
    assert again.code == 0
    assert Path("q.csv").read_bytes() != Path("p.csv").read_bytes()


def test_people_without_a_target_have_shares_and_a_warning(run: Run) -> None:
    write_reports(run, STUDY.replace('target = "smoker"', 'mechanism = "faked"'))
    shown = run(*ASKED, "--people", "500", "-o", "p.csv")
    assert shown.code == 0, shown.err
    assert "simulated by the shares of 3,000 reports, and have no error bars" in shown.err
    assert "the answers of these people do not depend on each other" in shown.err
    rows = list(csv.DictReader(Path("p.csv").read_text().splitlines()))
    assert {row["smoker"] for row in rows if row["sex"] == "f"} == {"yes", "no"}  # nobody smokes but men


def test_what_is_wrong_is_said_before_anything_is_written(run: Run, asked: None) -> None:
    assert "name a file for the people with -o" in run(*ASKED).err
    assert "'age' is not a question" in run(*ASKED, "--target", "age", "-o", "p.csv").err
    assert "give one of both" in run("simulate-people", "plan.json", "--target", "sex", "-o", "p.csv").err
    many = run(*ASKED, "--target", "smoker", "--people", "2000000", "-o", "p.csv")
    assert "not a whole number up to 10^6" in many.err
    assert not Path("p.csv").exists()
