"""A file is read, changed and written; what nobody changed stays as it was, byte for byte."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.commands.init import EXAMPLE
from deniable.design.draft import Draft, Question, note_people, read_people
from deniable.errors import InvalidParameter
from tests.cases import check_each

RICH = """\
# How the study came about.
title = { en = "Health", de = "Gesundheit" }  # two languages
epsilon = 2.0 # per report
when = 2026-11-16
most = inf

[attributes]
smokes = ["yes", "no"]  # plain

# Ages are sensitive.
[attributes.age]
low = 18
high = 98 # nobody is older
step = 1
unknown = { deep = [1, 2.5, "three"] }

[attributes."a name, with: marks"]
values = [1, 2, 3]
question = "How many?"

[survey]
introduction = \"\"\"
First.

Second.\"\"\"
"""


def names(text: str) -> list[str]:
    return list(tomllib.loads(text)["attributes"])


def through(draft: Draft) -> Draft:
    """As the page gets it and sends it back."""
    return Draft.from_json(draft.to_json())


def test_what_nobody_changed_is_written_byte_for_byte() -> None:
    for text in (EXAMPLE, RICH, "", "epsilon = 1\n"):
        assert through(Draft.read(text)).write(text) == text


def test_one_change_is_one_line() -> None:
    draft = Draft.read(RICH)
    study = {**draft.study, "epsilon": 3, "title": {"en": "Health", "de": "Wohlbefinden"}}
    written = replace(draft, study=study).write(RICH)
    expected = RICH.replace("epsilon = 2.0 #", "epsilon = 3 #").replace("Gesundheit", "Wohlbefinden")
    assert written == expected
    age = draft.questions[1]
    higher = replace(age, keys={**age.keys, "high": 108})
    questions = (draft.questions[0], higher, draft.questions[2])
    assert replace(draft, questions=questions).write(RICH) == RICH.replace("high = 98 #", "high = 108 #")


def test_questions_are_added_removed_renamed_and_sorted() -> None:
    draft = Draft.read(RICH)
    smokes, age, marks = draft.questions
    new = Question("pay", {"low": 0, "high": 10_000, "mean": True})
    cases: dict[str, tuple[Question, ...]] = {
        "at the end": (smokes, age, marks, new),
        "in the middle": (smokes, new, age, marks),
        "removed": (smokes, marks),
        "none left": (),
        "renamed": (smokes, replace(age, name="years"), marks),
        "sorted": (marks, age, smokes),
        "a bare list with help": (replace(smokes, keys={**smokes.keys, "help": "Any tobacco."}), age, marks),
        "names exchanged": (replace(smokes, name="age"), replace(age, name="smokes"), marks),
        "twice from one": (smokes, age, replace(age, name="other age")),
    }

    def check(questions: tuple[Question, ...]) -> None:
        wanted = replace(draft, questions=questions)
        written = wanted.write(RICH)
        assert names(written) == [one.name for one in questions]
        assert Draft.read(written).to_data() == wanted.to_data()
        assert "# How the study came about." in written
        assert "# two languages" in written
        if age in questions or any(one.was == "age" for one in questions):
            assert "# nobody is older" in written

    check_each(check, cases.items())


def test_a_file_is_made_from_nothing() -> None:
    draft = Draft(
        {"title": "New", "epsilon": 1.5, "survey": {"introduction": "One.\n\nTwo.", "consent": True}},
        (Question("vote", {"values": ["left", "right"], "question": "Whom?"}),),
    )
    written = draft.write("")
    assert Draft.read(written).to_data() == draft.to_data()
    assert '[attributes.vote]\nvalues = ["left", "right"]\n' in written
    assert 'introduction = """One.\n\nTwo."""' in written


_TEXT = st.text("ab\"'\\\n#=[] é", max_size=8)
_VALUE = st.one_of(_TEXT, st.booleans(), st.integers(-9, 9), st.floats(-1, 1).filter(lambda one: one != 0))
_KEYS = st.dictionaries(
    st.sampled_from(["values", "low", "help", "labels"]), _VALUE | st.lists(_VALUE, max_size=3)
)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.dictionaries(st.sampled_from(["title", "epsilon", "survey"]), _VALUE | _KEYS),
    st.lists(st.tuples(st.sampled_from("abcde"), _KEYS), unique_by=lambda one: one[0], max_size=4),
)
def test_anything_is_read_back_as_it_was_written(study: dict[str, Any], asked: list[tuple[str, Any]]) -> None:
    """Over a file that has something else, with or without the same names."""
    for before in ("", RICH):
        there = list(Draft.read(before).to_data()["attributes"])
        was = [*there, *[None] * 9]
        questions = tuple(Question(name, keys, was[i]) for i, (name, keys) in enumerate(asked))
        wanted = Draft(study, questions)
        assert Draft.read(wanted.write(before)).to_data() == wanted.to_data()


def test_what_cannot_be_kept_is_refused() -> None:
    draft = Draft.read(RICH)
    twice = replace(draft, questions=(draft.questions[0], replace(draft.questions[1], name="smokes")))
    with pytest.raises(InvalidParameter, match="same short name"):
        twice.write(RICH)
    nested = {"study": {"attributes": {}}, "questions": []}
    cases: list[dict[str, Any]] = [{}, {"study": {}}, nested, {"study": {}, "questions": [1]}]
    for wrong in cases:
        with pytest.raises(InvalidParameter):
            Draft.from_json(wrong)
    apart = (
        "epsilon = 1.0\n[attributes.a]\nyes_no = true\n[importance]\na = 2\n[attributes.b]\nyes_no = true\n"
    )
    fewer = Draft(Draft.read(apart).study, Draft.read(apart).questions[:1])
    with pytest.raises(InvalidParameter, match="put all sections of attributes next to each other"):
        fewer.write(apart)


def test_people_are_in_the_command_of_a_comment(tmp_path: Path) -> None:
    assert read_people(EXAMPLE) == 50_000
    assert read_people(RICH) is None
    assert read_people("# --people 1e4") == 10_000
    assert read_people("# --people 1.5.2") is None
    noted = note_people(RICH, 2000, "study.toml")
    assert noted.endswith(RICH)
    assert read_people(noted) == 2000
    assert note_people(EXAMPLE, 50_000, "study.toml") == EXAMPLE
    assert note_people(EXAMPLE, 70, "study.toml") == EXAMPLE.replace("--people 50000", "--people 70")
