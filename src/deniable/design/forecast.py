"""Computes what a study will tell and give away: the figures of `people`, `plan` and `attack`, for a page."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from deniable.explain.choice_reasons import explain_choice, explain_kinds, explain_name, name_use
from deniable.explain.explain import list_warnings, reconsider
from deniable.explain.guesses import guess_questions
from deniable.explain.table_precision import ExpectedTable, expect_tables
from deniable.explain.turnout import explain_turnout
from deniable.study import Plan


def forecast(plan: Plan) -> dict[str, Any]:
    """All figures of a plan, ready for JSON."""
    option = reconsider(plan.document, plan.considered)
    questions = {
        attribute.name: attribute.several or attribute.name
        for attribute in plan.document.attributes
        if attribute.answers is None
    }
    facts: dict[str, Any] = _finite(
        {
            "plan": plan.id,
            "people": plan.document.people,
            "choice": plan.considered[0].name if plan.considered else plan.mechanism.acronym,
            "choice_words": explain_name(plan.considered[0]) if plan.considered else "",
            "kinds": explain_kinds(plan.considered),
            "why": explain_choice(plan.considered),
            "describe": plan.describe().split("\n", 1)[1],
            "report_bytes": option.report_bytes.most,
            "loss": plan.loss.counted,
            "rounds": plan.document.rounds,
            "protection": str(plan.protection),
            "level": plan.protection.level,
            "precisions": [
                precision.to_dict()
                | {
                    "question": questions.get(precision.attribute),  # none is whether a question is answered
                    "what_is_read": precision.describe(),
                    "known": precision.is_known,
                    "known_to_within": precision.format_margin(),
                    "ratio": precision.ratio,
                    "word": name_use(precision.use),
                    "people_enough": precision.people_enough(),
                }
                for precision in plan.precisions()
            ],
            "tables": [_describe_table(table) for table in expect_tables(plan.document)],
            "turnout": explain_turnout(plan.document, option),
            "guesses": [guess.to_dict() for guess in guess_questions(plan.document, option)],
            "warnings": list_warnings(plan.document, plan.considered),
            "text": plan.explain(),
        }
    )
    return facts


def _describe_table(table: ExpectedTable) -> dict[str, Any]:
    """What a table will tell: it is worth reading if shares of a row's people are."""
    return {
        "of": table.of,
        "by": table.by,
        "cell": table.cell.margin,
        "share": table.share.margin,
        "people_for_difference": table.people_for_difference,
        "known": table.share.is_known,
        "known_to_within": table.share.format_margin(),
        "ratio": table.share.ratio,
        "use": table.share.use,
        "word": name_use(table.share.use),
        "sentence": table.describe(),
    }


def _finite(value: Any) -> Any:
    """JSON has no word for infinity."""
    if isinstance(value, Mapping):
        return {name: _finite(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_finite(member) for member in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
