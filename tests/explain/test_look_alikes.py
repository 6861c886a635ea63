"""Answers that people cannot tell apart bring a warning; others bring none."""

from __future__ import annotations

import pytest

import deniable as dn
from deniable.explain.explain import list_warnings


def warn(labels: list[str]) -> list[str]:
    plan = dn.Study({"smokes": labels}, epsilon=1.0).plan(people=100_000)
    return [text for text in list_warnings(plan.document, ()) if "People cannot tell" in text]


@pytest.mark.parametrize(
    ("alike", "difference"),
    [
        ("y\u0435s", "differ in CYRILLIC SMALL LETTER IE"),
        ("\uff59\uff45\uff53", "differ in FULLWIDTH LATIN SMALL LETTER Y"),
        ("Yes", "differ in capital letters or spaces alone"),
        ("y es", "differ in capital letters or spaces alone"),
    ],
)
def test_answers_that_look_the_same_are_said(alike: str, difference: str) -> None:
    [text] = warn(["yes", "no", alike])
    assert f"of 'smokes' {difference}" in text


def test_answers_that_look_different_bring_no_warning() -> None:
    assert warn(["yes", "no", "eyes", "да", "nein", "né", "10", "11"]) == []


def test_the_shell_and_python_say_it() -> None:
    plan = dn.Study({"smokes": ["yes", "y\u0435s"]}, epsilon=1.0).plan(people=1000)
    assert "differ in CYRILLIC SMALL LETTER IE" in plan.explain().replace("\n", " ")
