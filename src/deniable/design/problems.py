"""Finds what is wrong with a draft, question by question, and makes a study of the questions that are right.

The sentences are those of the library. A page shows them at the field that they are about.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

from deniable.design.draft import Draft, Question
from deniable.domain import checked_text
from deniable.errors import DeniableError, InvalidParameter
from deniable.plan.sections import list_options
from deniable.plan.study import Study

_FIELDS = (
    *("low", "high", "step", "open_low", "open_high", "privacy", "epsilon", "level", "radius"),
    *("south", "west", "north", "east", "rows", "columns"),
)
"""What a question of numbers or places may lack; other words name a field only where the question has it."""
_LISTED = ("values", "several", "scale", "dates", "yes_no")
_BUDGET = ("epsilon_first", "epsilon_forever", "rounds", "epsilon")
_CONDITION = "only_if"
_REFUSALS = (DeniableError, OSError, TypeError, ValueError, RecursionError)
"""Ours, those of files that a study names, and Python's about keys of a wrong type and very long integers."""
_OF_STUDY = (*_BUDGET, "per", "missing", "mechanism", "title", "ask")


@final
@dataclass(frozen=True)
class Problem:
    """What is wrong, of which question (none for the study as a whole), and the key that it is about."""

    text: str
    question: int | None = None
    field: str | None = None


@final
@dataclass(frozen=True)
class Checked:
    """The study of all questions that are right, if there is one, and what is wrong with the others."""

    study: Study | None
    problems: tuple[Problem, ...] = ()


def check(draft: Draft, folder: Path) -> Checked:
    """Make a study of a draft; without the questions that are half-written, where some are.

    Files that it names, such as maps, are in the folder.
    """
    named = [*_check_names(draft.questions)]
    whole = None if named else _make_study(draft, folder)
    if isinstance(whole, Study):
        return Checked(whole)
    wrong = {one.question for one in named}
    for i, question in enumerate(draft.questions):
        problem = None if i in wrong else _check_alone(question, folder)
        if problem is not None:
            named.append(_locate(problem, i, question))
            wrong.add(i)
    left = tuple(one for i, one in enumerate(draft.questions) if i not in wrong)
    if not left:
        return Checked(None, tuple(named))
    rest = _make_study(_keep(draft, left), folder)
    if isinstance(rest, Study):
        return Checked(rest, tuple(named))
    for i, question in enumerate(draft.questions):
        if _CONDITION in question.keys and i not in wrong:
            free = tuple(_without_condition(one) if one is question else one for one in left)
            study = _make_study(_keep(draft, free), folder)
            if isinstance(study, Study):
                return Checked(study, (*named, Problem(rest, i, _CONDITION)))
    return Checked(None, (*named, _place(rest, draft.questions)))


def _check_names(questions: Sequence[Question]) -> list[Problem]:
    found, seen = [], set[str]()
    for i, one in enumerate(questions):
        try:
            checked_text(one.name, "an attribute's name")
        except InvalidParameter as problem:
            text = str(problem) if one.name else "give the question a short name, for files and plots"
            found.append(Problem(text, i, "name"))
        if one.name in seen:
            text = f"another question is called {one.name!r}; give each a short name of its own"
            found.append(Problem(text, i, "name"))
        seen.add(one.name)
    return found


def _make_study(draft: Draft, folder: Path) -> Study | str:
    """The study, or why there is none."""
    try:
        return Study.from_dict(draft.to_data(), folder)
    except _REFUSALS as problem:
        return str(problem)


def _check_alone(question: Question, folder: Path) -> str | None:
    """What is wrong with a question whatever the others are, which it may name."""
    alone = _without_condition(question)
    data: dict[str, Any] = {"attributes": {alone.name: dict(alone.keys)}}
    try:
        domain = list_options(data, folder)["attributes"][alone.name]
    except _REFUSALS as problem:
        return str(problem)
    shared, own = (_make_study(Draft(budget, (alone,)), folder) for budget in ({"epsilon": 1.0}, {}))
    if isinstance(shared, Study) or isinstance(own, Study):
        return None
    return own if getattr(domain, "privacy", "equal") == "metric" else shared


def _keep(draft: Draft, questions: Sequence[Question]) -> Draft:
    """The draft with these questions only; its pages name no others."""
    survey, names = draft.study.get("survey"), {one.name for one in questions}
    pages = survey.get("pages") if isinstance(survey, Mapping) else None
    if not isinstance(survey, Mapping) or not isinstance(pages, list):
        return replace(draft, questions=tuple(questions))
    kept = [[name for name in page if name in names] for page in pages if isinstance(page, list)]
    study = {**draft.study, "survey": {**survey, "pages": [page for page in kept if page]}}
    return Draft(study, tuple(questions))


def _without_condition(question: Question) -> Question:
    return replace(question, keys={key: one for key, one in question.keys.items() if key != _CONDITION})


def _locate(text: str, i: int, question: Question) -> Problem:
    """The problem of one question at its field, without the name that is above it."""
    name = question.name
    listed = next((key for key in _LISTED if key in question.keys), None)
    fields = (*question.keys, *(_FIELDS if listed is None else ()))
    field = _first_named(text.replace(name, "") if len(name) > 3 else text, fields)
    for before in (
        f"attributes.{name}: ",
        f"attributes.{name}.",
        f"attributes.{name} ",
        f"{name!r}: ",
        f"'attributes.{name}': ",
    ):
        text = text.removeprefix(before)
    if text.startswith("has no "):
        text = f"this {text}"
    return Problem(text, i, field or listed)


def _place(text: str, questions: Sequence[Question]) -> Problem:
    """A problem of the whole study: at the question that it names, or at the key of the study."""
    for i, one in enumerate(questions):
        if repr(one.name) in text or f"attributes.{one.name}" in text:
            return _locate(text, i, one)
    return Problem(text, None, _first_named(text, _OF_STUDY))


def _first_named(text: str, fields: Sequence[str]) -> str | None:
    """The field that a sentence names first."""
    places: Mapping[str, int] = {
        field: found.start() for field in fields if (found := re.search(rf"\b{field}\b", text))
    }
    return min(places, key=places.__getitem__, default=None)
