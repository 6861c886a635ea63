"""Computes what a study will tell and give away: the figures of `people`, `plan` and `attack`, for a page."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from deniable.explain.acronyms import explain_kinds, explain_name
from deniable.explain.choice_reasons import explain_choice, name_use
from deniable.explain.explain import list_warnings, reconsider
from deniable.explain.guesses import guess_questions
from deniable.explain.table_precision import ExpectedTable, expect_tables
from deniable.explain.turnout import explain_turnout
from deniable.study import Plan


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
            "loss": plan.loss.counted,
            "rounds": plan.content.rounds,
            "protection": str(plan.protection),
            "level": plan.protection.level,
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
            "guesses": [guess.to_dict() for guess in guess_questions(plan.content, here)],
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


def _finite(value: Any) -> Any:
    """JSON has no word for infinity."""
    if isinstance(value, Mapping):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
