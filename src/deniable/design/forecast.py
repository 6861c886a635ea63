"""Computes what a study will tell and give away: the figures of `people`, `plan` and `attack`, for a page."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from deniable.attack import success
from deniable.domain import Coarse
from deniable.plan import Plan
from deniable.plan.acronyms import explain_kinds, explain_name
from deniable.plan.attribute import list_related
from deniable.plan.explain import list_warnings, reconsider
from deniable.plan.forecast import ExpectedTable, expect_tables
from deniable.plan.reasons import explain_choice, name_use
from deniable.plan.related import guess_related
from deniable.plan.text_questions import list_unlisted
from deniable.plan.turnout import explain_turnout


def forecast(plan: Plan) -> dict[str, Any]:
    """All figures of a plan, ready for JSON."""
    here = reconsider(plan.content, plan.considered)
    questions = {one.name: one.several or one.name for one in plan.content.attributes if one.answers is None}
    found: dict[str, Any] = _finite(
        {
            "plan": plan.id,
            "people": plan.content.people,
            "choice": plan.considered[0].name if plan.considered else plan.mechanism.acronym,
            "choice_words": explain_name(plan.considered[0]) if plan.considered else "",
            "kinds": explain_kinds(plan.considered),
            "why": explain_choice(plan.considered),
            "describe": plan.describe().split("\n", 1)[1],
            "report_bytes": here.report_bytes.most,
            "loss": plan.loss.record,
            "precisions": [
                one.to_dict()
                | {
                    "question": questions.get(one.attribute),  # none is whether a question is answered
                    "what_is_read": one.describe(),
                    "known_to_within": one.format_margin(),
                    "ratio": one.ratio,
                    "word": name_use(one.use),
                    "people_enough": one.people_enough(),
                }
                for one in plan.precisions()
            ],
            "tables": [_describe_table(one) for one in expect_tables(plan)],
            "turnout": explain_turnout(plan.content, here),
            "guesses": list_guesses(plan),
            "warnings": list_warnings(plan.content, plan.stated, plan.considered),
            "text": plan.explain(),
        }
    )
    return found


def _describe_table(one: ExpectedTable) -> dict[str, Any]:
    """What a table will tell: it is worth reading if shares of a row's people are."""
    return {
        "of": one.of,
        "by": one.by,
        "cell": one.cell.margin,
        "share": one.share.margin,
        "people_for_difference": one.people_for_difference,
        "known_to_within": one.share.format_margin(),
        "ratio": one.share.ratio,
        "use": one.share.use,
        "word": name_use(one.share.use),
        "sentence": one.describe(),
    }


def list_guesses(plan: Plan) -> list[dict[str, Any]]:
    """How often an attacker's best guess of each answer is right, with one report and without.

    `together` is the guess from all questions that depend on each other, where there are such. Of levels,
    the one whose group is guessed most often counts, and the values themselves. Of text it is which of two
    answers it is.
    """
    if list_unlisted(plan.content):
        return _guess_beside_text(plan)
    rows: list[dict[str, Any]] = []
    for one in success(plan, None, collections=1).attributes:
        row = {"attribute": one.name, "blind": one.blind, "report": one.report, "reported": one.reported}
        if one.together is not None and one.together_blind is not None:
            row |= {"together": one.together, "together_blind": one.together_blind}
        rows.append(row)
    return _join_levels(plan, rows)


def _join_levels(plan: Plan, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same, with one row for all coarse levels of a question: that of the best guess."""
    levels = {one.name: one.domain for one in plan.content.attributes if isinstance(one.domain, Coarse)}
    easiest: dict[str, dict[str, Any]] = {}
    for row in rows:
        if row["attribute"] in levels:
            domain = levels[row["attribute"]]
            shown = row | {"attribute": f"{domain.question}, in groups of {domain.divisor:,}"}
            best = easiest.setdefault(domain.question, shown)
            if shown["reported"] > best["reported"]:
                easiest[domain.question] = shown
    found = []
    for row in rows:
        name = row["attribute"]
        found += [easiest[name], row] if name in easiest else [row] if name not in levels else []
    return found


def _guess_beside_text(plan: Plan) -> list[dict[str, Any]]:
    """The guesses of each attribute, and of text which of two answers it is."""
    content, rows = plan.content, list[dict[str, Any]]()
    related = {
        one.attribute: {"together": one.guess, "together_blind": one.blind}
        for names in list_related(content.attributes)
        for one in guess_related(content, names) or ()
    }
    for j, one in enumerate(content.attributes):
        if one.domain.listed:
            blind, reported = 1 / content.parts[j].k, content.parts[j].success()
            report = blind + float(content.mechanism.chance(j)) * (reported - blind)
            row = {"attribute": one.name, "blind": blind, "report": report, "reported": reported}
            rows.append(row | related.get(one.name, {}))
    for name, text in list_unlisted(content).items():
        reported = max(part.tell_two() for part in text.mechanisms)
        what = f"{name}, which of two answers it is"
        rows.append({"attribute": what, "blind": 0.5, "report": text.tell_two(), "reported": reported})
    return _join_levels(plan, rows)


def _finite(value: Any) -> Any:
    """JSON has no word for infinity."""
    if isinstance(value, Mapping):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
