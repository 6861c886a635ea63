"""Simulates people by the results of a study that named a target."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from deniable.cross.star import Star
from deniable.errors import DeniableWarning, InvalidParameter, not_among
from deniable.exact import whole_number
from deniable.explain.question_pairs import list_tables
from deniable.plan.attribute import list_questions
from deniable.results.crossing import cross_estimates, list_agreed

if TYPE_CHECKING:
    from deniable.results.estimates import Estimates

MOST_PEOPLE = 10_000_000
NO_ERROR_BARS = (
    "simulated people have no error bars: what is counted of them is as uncertain as the tables they come "
    "from, and more; for shares, intervals and tests use result.cross. Their other answers depend on the "
    "target alone: how two of these depend on each other is not shown, even where they do"
)


def simulate_people(
    estimates: Estimates, n: int, target: str | None, seed: int
) -> dict[str, npt.NDArray[np.str_]]:
    """Answers of people who do not exist, drawn by the tables of the target with each other question."""
    whole_number("n", n, 1, MOST_PEOPLE)
    whole_number("seed", seed, 0)
    if estimates.document is None:
        raise InvalidParameter("this result does not know its plan; make it by plan.estimate(tallies)")
    questions = list_questions(estimates.document.attributes)
    if target is None:
        raise InvalidParameter(
            "name the target that people are simulated for, such as target='income'; the study must have "
            "asked for its tables: Study(..., target='income')"
        )
    if target not in questions:
        raise InvalidParameter(not_among(target, "a question", questions))
    held = {frozenset(pair) for pair in list_tables(estimates.document)}
    lacking = [name for name in questions if name != target and frozenset((name, target)) not in held]
    if lacking or len(questions) < 2:
        named = ", ".join(map(repr, lacking)) or "no other question"
        raise InvalidParameter(
            f"no report holds {target!r} together with {named}; people are simulated by the tables of a "
            f"target with each other question: Study(..., target={target!r})"
        )
    agreed = list_agreed(estimates)
    tables = [
        cross_estimates(estimates, name, target, find_agreed=lambda: agreed)
        for name in questions
        if name != target
    ]
    warnings.warn(NO_ERROR_BARS, DeniableWarning, stacklevel=3)
    return Star.of(tables).draw(n, np.random.default_rng(seed))
