"""Every number of a plan has one source: shell, Python, design page and attack state the same ones."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from deniable import Study
from deniable.attack import success
from deniable.design.forecast import forecast
from deniable.explain.explain import reconsider
from deniable.explain.guesses import explain_guesses, guess_attributes, guess_questions
from deniable.formatting import format_percent
from tests.cases import check_each
from tests.random_studies import DrawnStudy, draw_studies
from tests.running import run_in

STUDIES = 40
WHOLE = 10
"""Of so many studies, one has all that a page shows computed, which takes longest."""


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, DrawnStudy]]:
    folder = tmp_path_factory.mktemp("studies")
    return [(study.file.read_text(), study) for study in draw_studies(STUDIES, folder)]


def read_rows(text: str, header: str) -> list[list[str]]:
    """The cells of a printed table, row by row."""
    lines = iter(text.splitlines())
    next(line for line in lines if re.match(header, line))
    cells = (re.split(r" {2,}", line.strip()) for line in lines)
    rows = []
    for row in cells:
        if len(row) < 4:
            break
        rows.append(row)
    return rows


def run_people(study: DrawnStudy, *options: str) -> Any:
    outcome = run_in(study.file.parent, "people", study.file.name, *options, "--json")
    assert outcome.code == 0, outcome.err
    return json.loads(outcome.out)


def test_guesses_are_stated_alike(drawn: list[tuple[str, DrawnStudy]]) -> None:
    """By the table of `plan`, and by the attack, which sums them up in its own way."""

    def check(study: DrawnStudy) -> None:
        plan = study.plan
        here = reconsider(plan.document, plan.considered)
        guesses = {guess.attribute: guess for guess in guess_attributes(plan.document, here)}
        for cells in read_rows(explain_guesses(plan.document, here), r"attribute +values"):
            guess = guesses.get(cells[0])
            if guess is not None:  # a level is named by its groups
                assert cells[3] == format_percent(guess.report, 1)
                assert cells[-2] == format_percent(guess.blind, 1)
        for guess in guess_questions(plan.document, here):
            assert 0 < guess.blind <= guess.report + 1e-9 <= guess.reported + 2e-9 <= 1 + 3e-9, guess
            assert guess.most is None or guess.reported <= guess.most + 1e-9, guess
        if not all(part.listed for part in plan.document.parts):
            return
        for row in success(plan, collections=1).attributes:
            guess = guesses[row.name]
            for figure in ("blind", "report", "reported"):
                if figure not in row.stderr and figure not in row.bounds:
                    assert math.isclose(getattr(row, figure), getattr(guess, figure), abs_tol=1e-9), row
            assert row.together == guess.together

    check_each(check, drawn)


def test_a_page_shows_what_the_shell_prints(drawn: list[tuple[str, DrawnStudy]]) -> None:
    def check(study: DrawnStudy) -> None:
        plan = study.plan
        page = forecast(plan)
        here = reconsider(plan.document, plan.considered)
        text = page["text"]
        for row, cells in zip(page["precisions"], read_rows(text, r"question +what is read"), strict=True):
            assert cells[:3] == [row["attribute"], row["what_is_read"], row["known_to_within"]]
            assert int(cells[-1].replace(",", "").removeprefix("over ")) in (row["people_enough"], 10**9)
        assert page["guesses"] == [guess.to_dict() for guess in guess_questions(plan.document, here)]
        printed = " ".join(text.split())
        for guess in page["guesses"]:
            if "most" in guess and "at most" not in guess["what"]:
                name, figures = guess["attribute"], ("report", "reported", "blind")
                report, reported, blind = (format_percent(guess[figure], 1) for figure in figures)
                assert f"{name!r} {report} (if reported {reported}, blind {blind})" in printed
                assert f"{name!r} {math.ceil(1000 * guess['most']) / 10:.1f} %" in printed
        assert all(" ".join(warning.split()) in printed for warning in page["warnings"])

    check_each(check, drawn[::WHOLE])


def test_a_number_beside_text_is_guessed_by_halves() -> None:
    """Once it was said to be guessed in 30.8 % of cases, and in 0.0 % without a report."""
    study = Study({"pay": {"low": 0, "high": 5000, "mean": True}, "word": {"alphabet": "a-z"}}, epsilon=2.0)
    plan = study.plan(people=5000)
    pay, word = guess_questions(plan.document, reconsider(plan.document, plan.considered))
    assert (pay.attribute, pay.what, pay.blind) == ("pay", "in which half of its range it is", 0.5)
    assert 0.5 < pay.report < pay.reported < 1
    assert (word.attribute, word.what) == ("word", "which of two answers it is, at most")


def test_people_are_counted_for_rows_of_known_groups(tmp_path: Path) -> None:
    """Once 450 were said to be enough for all of it, where a row takes three times as many."""
    team, harassed = '{ values = ["a", "b", "c"], known = true }', '{ values = ["yes", "no"] }'
    file = tmp_path / "study.toml"
    file.write_text(f"epsilon = 1.0\n[attributes]\nteam = {team}\nharassed = {harassed}\n", encoding="utf-8")
    people = run_people(DrawnStudy(file, 1, Study.read(file).plan(people=1)), "--error", "10")
    assert [(row["attribute"], row["people"]) for row in people["questions"]] == [
        ("harassed", 450),
        ("harassed by team", 1350),
    ]
    assert people["people"] == 1350
