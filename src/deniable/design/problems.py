"""Finds what is wrong with a draft, question by question, and makes a study of the questions that are right.

The sentences are those of the library. A page shows them at the field that they are about.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

from deniable.design.draft import Draft, Question
from deniable.domain import checked_text
from deniable.errors import DeniableError, InvalidParameter
from deniable.study.questionnaire import list_attributes, read_conditions, read_policies
from deniable.study.study import Study
from deniable.study.toml import list_options

_FIELDS = (
    *("low", "high", "step", "open_low", "open_high", "privacy", "epsilon", "level", "radius"),
    *("south", "west", "north", "east", "rows", "columns", "alphabet", "longest", "queries"),
    *("exactly", "at_most"),
)
"""What a question of numbers, places or text may lack; others name a field only where the question has it."""
_LISTED = ("values", "several", "scale", "dates", "yes_no")
_BUDGET = ("epsilon_first", "epsilon_forever", "rounds", "epsilon")
_TWO_EPSILONS = {"epsilon_first": 0.5, "epsilon_forever": 1.0}
_CONDITION, _ANSWERED = "only_if", "answered"
_TABLES = ("together", "whole", "target")
_PAIR = 2
_REFUSALS = (DeniableError, OSError, TypeError, ValueError, RecursionError)
"""Ours, those of files that a study names, and Python's about keys of a wrong type and very long integers."""
_OF_STUDY = (*_BUDGET, "per", "missing", "mechanism", "title", "ask", *_TABLES)
_CHOSEN = {"values": "answers", "several": "options"}
_PAIRS = {"scale": "the lowest and the highest number of the scale", "dates": "the first and the last date"}
_SIDES = ("south", "north", "west", "east")
_CELLS = {"rows": "the rows of cells", "columns": "the columns of cells"}
_NUMBERS = {"low": "the lowest number", "high": "the highest number"}
_LANGUAGES = {"en": "English", "de": "German", "fr": "French", "es": "Spanish", "pt": "Portuguese"}


@final
@dataclass(frozen=True)
class Problem:
    """What is wrong, of which question (none for the study as a whole), and the key that it is about."""

    text: str
    question: int | None = None
    field: str | None = None
    unfinished: bool = False
    """Whether nothing is wrong, but something is still to be filled in."""


@final
@dataclass(frozen=True)
class Checked:
    """The study of all questions that are right, if there is one, and what is wrong with the others."""

    study: Study | None
    problems: tuple[Problem, ...] = ()


def check(draft: Draft, folder: Path) -> Checked:
    """Make a study of a draft; without the questions that are half-written, where some are.

    A condition that is half-written is left out alone: its question is then asked of everybody. Files that
    the study names, such as maps, are in the folder.
    """
    problems = [*_check_names(draft.questions)]
    study = None if problems else _make_study(draft, folder)
    if isinstance(study, Study):
        return Checked(study)
    if study is not None:
        apart = _check_apart(draft, study, folder)
        if apart is not None:
            return apart
    wrong = {problem.question for problem in problems}
    for i, question in enumerate(draft.questions):
        problem = None if i in wrong else _check_alone(question, i, folder)
        if problem is not None:
            problems.append(problem)
            wrong.add(i)
    free, conditions = _check_conditions(draft, wrong, folder)
    problems = sorted([*problems, *conditions], key=lambda problem: problem.question or 0)
    left = tuple(question for i, question in enumerate(free) if i not in wrong)
    if not left:
        return Checked(None, tuple(problems))
    kept = _keep(draft, left)
    rest = _make_study(kept, folder)
    if isinstance(rest, Study):
        return Checked(rest, tuple(problems))
    apart = _check_apart(kept, rest, folder)
    if apart is not None:
        return Checked(apart.study, (*problems, *apart.problems))
    return Checked(None, (*problems, _place(rest, draft.questions)))


def _check_apart(draft: Draft, text: str, folder: Path) -> Checked | None:
    """The study without its tables, where nothing else is wrong with it."""
    field = next((key for key in _TABLES if key in draft.study), None)
    if field is None:
        return None
    rest = {key: value for key, value in draft.study.items() if key not in _TABLES}
    study = _make_study(replace(draft, study=rest), folder)
    return Checked(study, (Problem(text, None, field),)) if isinstance(study, Study) else None


def _check_names(questions: Sequence[Question]) -> list[Problem]:
    problems, seen = [], set[str]()
    for i, question in enumerate(questions):
        try:
            if question.name:
                checked_text(question.name, "an attribute's name")
        except InvalidParameter as problem:
            problems.append(Problem(str(problem), i, "name"))
        if question.name and question.name in seen:
            text = f"another question is called {question.name!r}; give each a short name of its own"
            problems.append(Problem(text, i, "name"))
        seen.add(question.name)
    return problems


def _check_conditions(
    draft: Draft, wrong: Collection[int | None], folder: Path
) -> tuple[list[Question], list[Problem]]:
    """The questions with the conditions that are right, each judged alone, and what is wrong with others.

    A condition on a question that is half-written itself waits for that, and is no problem of its own.
    """
    plain = [_without_condition(other) for other in draft.questions]
    right = tuple(other for i, other in enumerate(plain) if i not in wrong)
    known, names = {other.name for other in right}, {other.name for other in draft.questions}
    checked, problems = list(plain), []
    for i, question in enumerate(draft.questions):
        if i in wrong or _CONDITION not in question.keys:
            continue
        todo = find_open_condition(question)
        if todo is not None:
            problems.append(Problem(todo.text, i, todo.field, unfinished=True))
            continue
        condition = question.keys[_CONDITION]
        if isinstance(condition, Mapping) and any(name in names - known for name in condition):
            continue
        text = _judge_condition([question if other is plain[i] else other for other in right], folder)
        if text is None:
            checked[i] = question
        else:
            problems.append(Problem(text, i, _CONDITION))
    return checked, problems


def _judge_condition(questions: Sequence[Question], folder: Path) -> str | None:
    """What is wrong with the only condition of these questions, by what can be known without a budget."""
    try:
        options = list_options(
            {"attributes": {question.name: dict(question.keys) for question in questions}}, folder
        )
        names = list(options["attributes"])
        policies = read_policies(options.get("missing", "refuse"), names)
        list_attributes(options["attributes"], policies, read_conditions(options["only_if"], names))
    except _REFUSALS as problem:
        return str(problem)
    return None


def _make_study(draft: Draft, folder: Path) -> Study | str:
    """The study, or why there is none."""
    try:
        return Study.from_dict(draft.to_data(), folder)
    except _REFUSALS as problem:
        return str(problem)


def _check_alone(question: Question, i: int, folder: Path) -> Problem | None:
    """What is wrong with a question, or to be filled in, whatever the others are, which it may name."""
    todo = find_unfinished(question)
    if todo is not None:
        return Problem(todo.text, i, todo.field, unfinished=True)
    free = _without_condition(question)
    alone = replace(free, keys={key: value for key, value in free.keys.items() if key != "known"})
    data: dict[str, Any] = {"attributes": {alone.name: dict(alone.keys)}}
    try:
        domain = list_options(data, folder)["attributes"][alone.name]
    except _REFUSALS as problem:
        return _locate(str(problem), i, question)
    budget = {"repeat": _TWO_EPSILONS} if "repeat" in question.keys else {"epsilon": 1.0}
    shared, separate = (_make_study(Draft(keys, (alone,)), folder) for keys in (budget, {}))
    if isinstance(shared, Study) or isinstance(separate, Study):
        return None
    return _locate(separate if getattr(domain, "privacy", "equal") == "metric" else shared, i, question)


def _keep(draft: Draft, questions: Sequence[Question]) -> Draft:
    """The draft with these questions only; its pages and tables name no others."""
    study, names = dict(draft.study), {question.name for question in questions}
    survey = study.get("survey")
    pages = survey.get("pages") if isinstance(survey, Mapping) else None
    if isinstance(survey, Mapping) and isinstance(pages, list):
        kept = [[name for name in page if name in names] for page in pages if isinstance(page, list)]
        study["survey"] = {**survey, "pages": [page for page in kept if page]}
    all_names = {question.name for question in draft.questions}
    waiting = all_names - names
    importance = study.get("importance")
    if isinstance(importance, Mapping):
        study["importance"] = {
            key: weight for key, weight in importance.items() if waiting.isdisjoint(key.split(" x "))
        }
    together = study.get("together")
    if isinstance(together, list):
        study["together"] = [
            group for group in together if not isinstance(group, list) or waiting.isdisjoint(map(str, group))
        ]
    if study.get("target") in waiting or len(names) < _PAIR:
        study.pop("target", None)
    if any("repeat" in question.keys for question in draft.questions):
        secret = [question for question in questions if question.keys.get("known") is not True]
        if not any("repeat" in question.keys for question in secret):
            study.pop("repeat", None)
        if all("repeat" in question.keys for question in secret):
            study.pop("epsilon", None)
    return Draft(study, tuple(questions))


def _without_condition(question: Question) -> Question:
    """The question, asked of everybody; so the share who answer is left out, too."""
    if _CONDITION not in question.keys:
        return question
    keys = {key: value for key, value in question.keys.items() if key not in (_CONDITION, _ANSWERED)}
    return replace(question, keys=keys)


def _locate(text: str, i: int, question: Question) -> Problem:
    """The problem of one question at its field, without the name that is above it."""
    name = question.name
    listed = next((key for key in _LISTED if key in question.keys), None)
    fields = (*question.keys, *(_FIELDS if listed is None else ()))
    field = _first_named(text.replace(name, "") if len(name) > 3 else text, fields)
    section = f"attributes.{name}"
    for before in (f"{section}: ", f"{section}.", f"{section} ", f"{name!r}: ", f"'{section}': "):
        text = text.removeprefix(before)
    if text.startswith("has no "):
        text = f"this {text}"
    return Problem(text, i, field or listed)


def _place(text: str, questions: Sequence[Question]) -> Problem:
    """A problem of the whole study: at the question that it names, or at the key of the study."""
    for i, question in enumerate(questions):
        if repr(question.name) in text or f"attributes.{question.name}" in text:
            return _locate(text, i, question)
    return Problem(text, None, _first_named(text, _OF_STUDY))


def _first_named(text: str, fields: Sequence[str]) -> str | None:
    """The field that a sentence names first."""
    places: Mapping[str, int] = {
        field: match.start() for field in fields if (match := re.search(rf"\b{field}\b", text))
    }
    return min(places, key=places.__getitem__, default=None)


@final
@dataclass(frozen=True)
class Unfinished:
    """What is to be filled in, and the key that it is about."""

    text: str
    field: str


def find_unfinished(question: Question) -> Unfinished | None:
    """The first thing that nobody has filled in yet; None where what is there can be judged."""
    keys = question.keys
    if not question.name:
        return Unfinished("give the question a short name, for files and plots", "name")
    for key, what in _CHOSEN.items():
        if isinstance(keys.get(key), list) and len(keys[key]) < 2:
            return Unfinished(f"write at least two {what}, one per line", key)
    for key, what in _PAIRS.items():
        pair = keys.get(key)
        if isinstance(pair, list) and any(end == "" for end in pair):
            return Unfinished(f"write {what}", key)
    labels = keys.get("labels")
    for language, texts in labels.items() if isinstance(labels, Mapping) else ():
        if isinstance(texts, list) and any(text == "" for text in texts):
            return Unfinished(f"write every answer in {_LANGUAGES.get(language, language)}", "labels")
    if any(key in keys for key in (*_SIDES, *_CELLS)):
        return _find_side(keys)
    if "low" in keys or "high" in keys or "step" in keys:
        required = dict(_NUMBERS) | ({} if "mean" in keys else {"step": "the step"})
        lacking = [key for key in required if key not in keys]
        if lacking:
            return Unfinished(f"write {_join([required[key] for key in lacking])}", lacking[0])
    if "alphabet" in keys or "longest" in keys:
        return _find_letters(keys)
    if keys.get("privacy") == "metric" and "epsilon" not in keys:
        return Unfinished("write the epsilon of this question", "epsilon")
    return None


def find_open_condition(question: Question) -> Unfinished | None:
    """That nobody has chosen yet after which answers the question is asked."""
    condition = question.keys.get(_CONDITION)
    if not isinstance(condition, Mapping) or len(condition) != 1:
        return None
    [(name, values)] = condition.items()
    if values not in ([], "", None):
        return None
    return Unfinished(f"choose the answers to {name!r} after which this is asked", _CONDITION)


def _find_side(keys: Mapping[str, Any]) -> Unfinished | None:
    sides = [key for key in _SIDES if key not in keys]
    if sides:
        where = _join(sides)
        return Unfinished(f"write where the map ends in the {where}, in degrees", sides[0])
    for key in _SIDES:
        if isinstance(keys[key], str):
            return Unfinished(f"write the {key} as a number of degrees such as 6.95, got {keys[key]!r}", key)
    cells = [key for key in _CELLS if key not in keys]
    if cells:
        return Unfinished(f"write {_join([_CELLS[key] for key in cells])}", cells[0])
    if keys.get("privacy") == "equal" or "epsilon" in keys or ("level" in keys and "radius" in keys):
        return None
    lacking = "radius" if "level" in keys else "level"
    return Unfinished("write how much is lost at most, and within how many meters", lacking)


def _find_letters(keys: Mapping[str, Any]) -> Unfinished | None:
    if keys.get("alphabet", "") == "":
        return Unfinished("write the letters that a text may have, such as a-z", "alphabet")
    return None if "longest" in keys else Unfinished("write how many letters are kept", "longest")


def _join(parts: list[str]) -> str:
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last
