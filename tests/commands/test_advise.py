"""`deniable advise`: the numbers of Python, and changes that are written into a copy of the file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deniable.advise.needs import Wants, count_people
from deniable.study.study import Study
from tests.cases import names
from tests.running import Run

TEXT = """\
# Written by hand.
epsilon = 1.0  # as the board wants it

[attributes]
drugs = ["yes", "no"]

[attributes.town]  # where people live
values = ["a", "b", "c", "d", "e", "f", "g", "h"]
question = { en = "Where?", de = "Wo?" }
labels = { de = ["A", "B", "C", "D", "E", "F", "G", "H"] }
"""


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Study:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(TEXT, encoding="utf-8")
    return Study.read("study.toml")


def test_the_numbers_are_those_of_python(study: Study, run: Run) -> None:
    advice = study.advise(2_000, may_know=["town"])
    asked = ("advise", "study.toml", "--people", "2,000", "--may-know", "town")
    assert json.loads(run(*asked, "--json").out) == json.loads(json.dumps(advice.to_dict()))
    printed = run(*asked)
    assert printed.out == f"{advice}\n"
    again = "next: deniable advise study.toml --people 2000 --may-know town --apply 1 -o better.toml\n"
    assert printed.err == again


def test_a_plan_of_noise_says_who_advises(study: Study, run: Run) -> None:
    """At 5,560 people all of it is useful."""
    says = "next: to see what would make it useful: deniable advise study.toml --people 200\n"
    assert run("plan", "study.toml", "--people", "200").err.startswith(says)
    assert "advise" not in run("plan", "study.toml", "--people", "5560").err
    assert study.plan(200).precisions()[-1].use == "noise"


def test_changes_are_written_into_a_copy_that_keeps_its_comments(study: Study, run: Run) -> None:
    advice = study.advise(2_000)
    numbers = range(1, len(advice) + 1)
    for number in numbers:
        applied = run(
            "advise",
            "study.toml",
            "--people",
            "2000",
            "--apply",
            f"{number}",
            "-o",
            f"{number}.toml",
            "--json",
        )
        assert applied.code == 0
        facts, proposal = json.loads(applied.out), advice[number - 1]
        assert facts["people_needed"] == proposal.people_needed
        changed = Study.read(f"{number}.toml")
        assert changed == proposal.study
        people = count_people(changed.plan(proposal.people), Wants.read("useful", changed))
        assert people == proposal.people_needed
        text = Path(f"{number}.toml").read_text(encoding="utf-8")
        assert "# Written by hand." in text
        assert "# as the board wants it" in text
    assert Path("study.toml").read_text(encoding="utf-8") == TEXT


def test_a_table_that_is_only_wanted_is_written_into_the_copy(study: Study, run: Run) -> None:
    asked = ("--people", "2000", "--want", "drugs by town=25", "--apply", "1", "-o", "better.toml")
    assert run("advise", "study.toml", *asked).code == 0
    changed = Study.read("better.toml")
    assert changed == study.advise(2_000, want={"drugs by town": 25})[0].study
    assert changed.together


def test_several_proposals_are_made_together(study: Study, run: Run) -> None:
    assert run("advise", "study.toml", "--people", "2e3", "--apply", "1,2", "-o", "both.toml").code == 0
    assert Study.read("both.toml") == study.advise(2_000).combine([1, 2]).study


def test_questions_for_other_people_get_a_file(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    questions = "\n".join(f'q{i} = ["yes", "no"]' for i in range(10))
    Path("ten.toml").write_text(f"epsilon = 0.5\n[attributes]\n{questions}\n", encoding="utf-8")
    ten = Study.read("ten.toml")
    advice = ten.advise(3_000)
    [number] = [i for i, proposal in enumerate(advice, 1) if proposal.people_apart]
    assert run("advise", "ten.toml", "--people", "3000", "--apply", f"{number}", "-o", "nine.toml").code == 0
    apart = Study.read("nine-apart.toml")
    assert list(apart.attributes) == ["q9"]
    needed = count_people(apart.plan(1_000), Wants.read("useful", apart))
    assert needed == advice[number - 1].people_apart


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--apply", "1"], "--apply and -o go together"),
        (["-o", "better.toml"], "--apply and -o go together"),
        (["--apply", "first", "-o", "better.toml"], "such as 1,3; got 'first'"),
        (["--apply", "99", "-o", "better.toml"], "proposals are numbered"),
        (["--apply", "1", "-o", "better.json"], "a study is written to a file ending in .toml"),
        (["--apply", "1", "-o", "study.toml"], "study.toml exists already"),
        (["--want", "clear", "--want", "town=10"], "--want is one word for everything"),
        (["--want", "perfect"], "not how well answers can be known"),
        (["--want", "twon=10"], "did you mean 'town'?"),
        (["--may-know", "region"], "may_know: 'region' is not a question of this study"),
    ],
    ids=names("alone nowhere word many ending there both level name unknown"),
)  # fmt: skip
def test_what_is_wrong_is_said(study: Study, run: Run, options: list[str], words: str) -> None:
    outcome = run("advise", "study.toml", "--people", "2000", *options)
    assert outcome.code in (1, 2)
    assert words in outcome.err
