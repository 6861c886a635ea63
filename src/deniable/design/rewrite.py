"""Writes what a changed study says into the draft of a file: only the keys that differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from deniable.design.draft import Draft, Question
from deniable.design.problems import check
from deniable.domain import Categories, Range
from deniable.domain.categories import Several
from deniable.domain.grid import Grid
from deniable.domain.number import Number
from deniable.errors import InvalidParameter
from deniable.study.study import Study

_VALUES = (
    *("values", "several", "exactly", "at_most", "scale", "yes_no", "rows", "columns"),
    *("low", "high", "step", "open_low", "open_high", "mean", "queries"),
)
"""The keys of a question that may differ where its values do."""
_BUDGET = ("epsilon", "epsilon_first", "epsilon_forever")


def rewrite_draft(draft: Draft, before: Study, after: Study, folder: Path) -> Draft:
    """The draft of one study as that of another one, of which everything is read again.

    Both may be a part of the draft's study: what is asked once, or what is asked again. Questions that are
    not complete, and are in neither study, stay.
    """
    study = dict(draft.study)
    budget = {key: getattr(after, key) for key in _BUDGET if getattr(after, key) != getattr(before, key)}
    if after.repeated and "repeat" in study:
        study["repeat"] = {**study["repeat"], **budget}
    else:
        study = {key: value for key, value in {**study, **budget}.items() if value is not None}
    tables, joined = study.get("together", []), [list(table) for table in after.together]
    if [table for table in tables if tuple(table) in before.together] != joined:  # advice adds wanted tables
        study["together"] = [*(table for table in tables if tuple(table) not in before.together), *joined]
    if not study.get("together"):
        study.pop("together", None)
    if not study.get("together") or (after.together and not after.whole):
        study.pop("whole", None)
    if after.target is None:
        study.pop("target", None)
    gone = before.attributes.keys() - after.attributes.keys()
    questions = [
        _rewrite_question(question, before, after)
        for question in draft.questions
        if question.name not in gone
    ]
    if after.importance != before.importance:
        listed = study.pop("importance", {})
        kept = {name: weight for name, weight in listed.items() if name not in before.importance}
        if kept or after.importance:
            study["importance"] = {**kept, **after.importance}
        questions = [
            _without(question, "importance") if question.name in before.attributes else question
            for question in questions
        ]
    survey = study.get("survey")
    if gone and isinstance(survey, Mapping) and "pages" in survey:
        pages = [[name for name in page if name not in gone] for page in survey["pages"]]
        study["survey"] = {**survey, "pages": [page for page in pages if page]}
    rewritten = Draft(study, tuple(questions))
    written = check(rewritten, folder).study
    if written is None or after not in written.divide():
        raise InvalidParameter(
            "these changes cannot be written into this file, since what it would say is another study; make "
            f"them by hand, or in Python: {', '.join(sorted(gone)) or 'its questions'}"
        )
    return rewritten


def keep_part(draft: Draft, part: Study) -> Draft:
    """The draft of a part of its study alone."""
    study = dict(draft.study)
    if "epsilon" in study and "repeat" in study:
        del study["epsilon" if part.repeated else "repeat"]
    of_part = {
        "together": [table for table in study.get("together", []) if tuple(table) in part.together],
        "importance": {
            n: weight for n, weight in study.get("importance", {}).items() if n in part.importance
        },
    }
    study = {key: of_part.get(key, value) for key, value in study.items() if of_part.get(key, True)}
    if "together" not in study:
        study.pop("whole", None)
    survey = study.get("survey")
    if isinstance(survey, Mapping) and "pages" in survey:
        pages = [[name for name in page if name in part.attributes] for page in survey["pages"]]
        study["survey"] = {**survey, "pages": [page for page in pages if page]}
    return Draft(study, tuple(question for question in draft.questions if question.name in part.attributes))


def _without(question: Question, *keys: str) -> Question:
    return replace(question, keys={key: value for key, value in question.keys.items() if key not in keys})


def _rewrite_question(question: Question, before: Study, after: Study) -> Question:
    """The question with the values, the labels and the privacy that it has in the changed study."""
    name = question.name
    if name not in after.attributes:
        return question
    if name in after.known and name not in before.known:
        question = _without(question, "importance", "answered", "protocol")
        question = replace(question, keys={**question.keys, "known": True})
    values = after.attributes[name]
    if values == before.attributes[name]:
        return question
    question = _without(question, *_VALUES, *(("protocol",) if isinstance(values, Number) else ()))
    keys = {**_write_values(values), **question.keys}
    for kind in ("labels", "ends"):
        stated = getattr(after.survey, kind, {}).get(name, {})
        if kind in keys and not stated:
            del keys[kind]
        elif kind in keys:
            keys[kind] = {language: list(texts) for language, texts in stated.items()}
    if name not in getattr(after.survey, "other", ()):
        keys.pop("other", None)
    return replace(question, keys=keys)


def _write_values(values: object) -> dict[str, Any]:
    """The keys of a section that say what a question's values are."""
    if isinstance(values, Categories):
        return {"values": list(values.labels)}
    if isinstance(values, Several):
        limits = {"exactly": values.exactly, "at_most": values.at_most}
        return {
            "several": list(values.options),
            **{key: most for key, most in limits.items() if most is not None},
        }
    if isinstance(values, Grid):
        return {"rows": values.rows, "columns": values.columns}
    assert isinstance(values, Range | Number), "no other question is changed"
    keys: dict[str, Any] = {"low": values.low, "high": values.high}
    keys |= {end: True for end in ("open_low", "open_high") if getattr(values, end)}
    if isinstance(values, Number):
        return keys | {"mean": True}
    queries = {} if values.queries is None else {"queries": values.queries}
    return keys | {"step": values.step} | queries
