"""Computes what a study will tell and give away: the figures of `people`, `plan` and `attack`, for a page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from deniable.explain.choice_reasons import explain_choice, explain_kinds, explain_name, name_use
from deniable.explain.device_limit import warn_together
from deniable.explain.explain import list_warnings, reconsider
from deniable.explain.guesses import guess_questions
from deniable.explain.table_precision import ExpectedTable, expect_tables
from deniable.explain.turnout import explain_turnout
from deniable.plan.losses import NANO, Protection
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
            "plans": [plan.id],
            "people": plan.document.people,
            "choice": plan.considered[0].name if plan.considered else plan.mechanism.acronym,
            "choice_words": explain_name(plan.considered[0]) if plan.considered else "",
            "kinds": explain_kinds(plan.considered),
            "why": explain_choice(plan.considered),
            "describe": plan.describe().split("\n", 1)[1],
            "report_bytes": option.report_bytes.most,
            "loss": plan.loss.counted,
            "reports": plan.document.rounds and plan.document.most_reports,
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


def forecast_study(plans: Sequence[Plan]) -> dict[str, Any]:
    """All figures of the plans of a study: of what is asked once, of what is asked again, and of both."""
    forecasts = [forecast(plan) for plan in plans]
    if len(plans) == 1:
        return forecasts[0]
    documents = [plan.document for plan in plans]
    protection, limit = Protection.together(documents), warn_together(documents)
    rounds = [plan.document.rounds for plan in plans]
    often = ["once" if number is None else f"in {number} rounds" for number in rounds]
    named = [
        f"asked {words}: {facts['choice_words'] or 'the only question'}"
        for words, facts in zip(often, forecasts, strict=True)
    ]
    together = {
        key: list(chain.from_iterable(facts[key] for facts in forecasts))
        for key in ("plans", "kinds", "precisions", "tables", "guesses", "warnings")
    }
    joined = {
        key: separator.join(facts[key] for facts in forecasts if facts[key])
        for key, separator in {"choice": ", ", "why": " ", "describe": "\n", "text": "\n\n"}.items()
    }
    return (
        forecasts[0]
        | together
        | joined
        | {
            "choice_words": "; ".join(named),
            "report_bytes": max(facts["report_bytes"] for facts in forecasts),
            "loss": None if protection.loss is None else protection.loss / NANO,
            "rounds": max(number or 1 for number in rounds),
            "protection": str(protection),
            "level": protection.level,
            "turnout": " ".join(facts["turnout"] for facts in forecasts if facts["turnout"]) or None,
            "warnings": [*together["warnings"], *([] if limit is None else [limit])],
        }
    )


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
