"""Studies from anywhere: hostile files give one line, odd columns are refused by name, and nothing changes
afterwards.
"""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from deniable.choose import Objective
from deniable.domain import Range
from deniable.errors import InvalidParameter
from deniable.study.study import Study

ASKED = '[attributes]\na = ["x", "y"]\n'
HOSTILE = {
    "protocol = 3\n" + ASKED: "protocol must be a protocol's name, or a list of names to choose among, got 3",
    "protocol = true\n" + ASKED: "protocol must be a protocol's name, .*, got True",
    "protocol = {a = 3}\n" + ASKED: "the protocol of 'a' must be a protocol's name, .*, got 3",
    "protocol = {a = {b = 3}}\n" + ASKED: "the protocol of 'a' must be",
    "protocol = []\n" + ASKED: "protocol must be",
    "title = 0\n" + ASKED: "a title must be text",
    "mechanism = 3\n" + ASKED: "'3' is not a record mechanism",
    "share = 3\n" + ASKED: "the key share is called mechanism now",
    ASKED
    + '[objective]\nsuccess_cap = "0.5"': "success_cap is a probability above 0 and at most 1, got '0.5'",
    ASKED + "[objective]\nsuccess_cap = true": "success_cap is a probability above 0 and at most 1, got True",
    ASKED + '[objective]\nf = "x"': "f is a share from 0 to 1, got 'x'",
    ASKED + '[objective]\nworst = "yes"': "worst is true or false, got 'yes'",
    ASKED + "[objective]\nbytes_cap = 1.5": "bytes_cap must be an integer",
    ASKED
    + "[repeat]\nrounds = 5": "rounds are for asking again: give epsilon_first and epsilon_forever, or no "
    "rounds",
    "[attributes.a]\nlow = 0\nhigh = 1e300\nstep = 1": "attributes.a: a range's numbers have at most 15 "
    "digits",
    "[attributes.a]\nlow = 0\nhigh = nan\nstep = 1": "attributes.a: high must be a number",
    "[attributes]\na = [1, nan]": "'a': nan is a missing answer",
    "[attributes]\na = [1, 1979-05-27]": "'a': a value is text, a number or a boolean",
    "[attributes]\na = [1, 0x" + "f" * 5000 + "]": "'a': a value that is a number has at most 300 digits",
    "[attributes]\na = [1, " + "9" * 5000 + "]": "5000 digits",
    ASKED + "[objective]\nf = 0x" + "f" * 5000: "digits",
    "[attributes]\na = " + "[" * 5000 + "]" * 5000: "nested too deeply",
    "[attributes]\na = [" + "[" * 200 + "]" * 200 + "]": "'a': a value is text",
    "[attributes.a" + ".b" * 900 + "]\nlow = 3": "attributes.a.b: an attribute has values",
    '[attributes."a\\nb"]\nlow = 3': "an attribute's name must be one line of text",
    '[attributes.a]\n"x\\ny" = 3': r"attributes.a.'x\\ny': an attribute has values",
}


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_a_hostile_file_gives_one_line_with_its_name(number: int, tmp_path: Path) -> None:
    text, reason = list(HOSTILE.items())[number]
    path = tmp_path / "study.toml"
    path.write_text("epsilon = 1.0\n" + text, encoding="utf-8")
    with pytest.raises(InvalidParameter, match=reason) as problem:
        Study.read(path)
    assert str(problem.value).startswith("study.toml")
    assert "\n" not in str(problem.value)


@pytest.mark.parametrize(
    ("repeat", "told"),
    [
        ('epsilon_first = "2"\nepsilon_forever = 3', "epsilon_first must be a positive number, got '2'"),
        ("epsilon_first = 2\nepsilon_forever = -3", "epsilon_forever must be a positive number, got -3"),
        (
            "epsilon_first = 4\nepsilon_forever = 3",
            "epsilon_first, for one report, must be below epsilon_forever, .*, got 4 and 3",
        ),
        (
            "epsilon_first = 3\nepsilon_forever = 3",
            "epsilon_first, for one report, must be below epsilon_forever, .*, got 3 and 3",
        ),
    ],
)
def test_the_budgets_of_rounds_are_named_as_in_the_file(repeat: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(f"{ASKED}[repeat]\n{repeat}\n", encoding="utf-8")
    with pytest.raises(InvalidParameter, match=f"^study.toml: {told}"):
        Study.read(path)


def test_equal_budgets_are_for_what_is_all_kept() -> None:
    plan = Study({"a": ["x", "y"]}, epsilon_first=1.0, epsilon_forever=1.0, protocol="dbitflip").plan(100)
    assert plan.loss.record <= 1.0


def test_what_is_no_table_is_no_study() -> None:
    with pytest.raises(InvalidParameter, match="a study must be a section"):
        Study.from_dict(7)  # type: ignore[arg-type]


def test_protocols_can_be_named_per_study_and_per_attribute() -> None:
    data = {
        "epsilon": 1.0,
        "attributes": {"a": {"values": ["x", "y"], "protocol": "grr"}, "b": ["x", "y"], "c": ["x", "y"]},
    }
    assert Study.from_dict(data).protocol == {"a": "grr"}
    assert Study.from_dict(data | {"protocol": "oue"}).protocol == {"a": "grr", "b": "oue", "c": "oue"}
    assert Study.from_dict(data | {"protocol": {"b": "ss"}}).protocol == {"a": "grr", "b": "ss"}
    assert Study.from_dict(data | {"protocol": ["oue", "hr"]}).plan(100).loss.record <= 1.0


def test_rounds_are_ten_unless_given_and_only_for_asking_again() -> None:
    asked = {"a": ["x", "y"]}
    assert Study(asked, epsilon_first=1.0, epsilon_forever=2.0).plan(100).document.rounds == 10
    assert Study(asked, epsilon_first=1.0, epsilon_forever=2.0, rounds=3).plan(100).document.rounds == 3
    assert Study(asked, epsilon=1.0).plan(100).document.rounds is None
    for rounds in (5, 10):
        with pytest.raises(InvalidParameter, match="rounds are for asking again"):
            Study(asked, epsilon=1.0, rounds=rounds)


def test_a_study_cannot_be_changed_and_can_be_hashed_copied_and_pickled() -> None:
    asked, protocol = {"a": ["x", "y"], "b": Range(0, 10, 1)}, {"a": "grr"}
    study = Study(asked, epsilon=1.0, protocol=protocol, objective=Objective(worst=True))
    asked["c"], protocol["b"] = ["x", "y"], "oue"
    assert list(study.attributes) == ["a", "b"]
    assert study.protocol == {"a": "grr"}
    for mapping in (study.attributes, study.protocol):
        with pytest.raises(TypeError):
            mapping["b"] = "oue"  # type: ignore[index]
    for same in (copy.deepcopy(study), pickle.loads(pickle.dumps(study)), replace(study)):
        assert same == study
        assert hash(same) == hash(study)
    assert len({study, replace(study, epsilon=2.0), replace(study, protocol=["grr", "oue"])}) == 3
