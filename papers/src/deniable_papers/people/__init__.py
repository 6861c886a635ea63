"""Simulates people who do not exist: by the tables of one question, the target, with each other one, or by
the shares of each question alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from deniable.errors import DeniableWarning, InvalidParameter, not_among
from deniable.estimate import Estimate
from deniable.exact import whole_number
from deniable.explain.question_pairs import list_tables
from deniable.plan import Attribute, list_questions
from deniable.study import Result
from deniable_papers.people.star import Star

__all__ = ["Star", "simulate_people"]

_MOST_PEOPLE = 10_000_000
_NO_ERROR_BARS = (
    "simulated people have no error bars: what is counted of them is as uncertain as the tables they come "
    "from, and more; for shares, intervals and tests use result.cross. Their other answers depend on the "
    "target alone: how two of these depend on each other is not shown, even where they do"
)

_APART = (
    "simulated people without a target have answers that do not depend on each other, even where those of "
    "real people do, and no error bars; for tables, name a target: Study(..., target='income')"
)


def simulate_people(
    result: Result, n: int, target: str | None = None, seed: int = 1
) -> dict[str, npt.NDArray[np.str_]]:
    """Answers of n people who do not exist, a column for each question, by the tables of a target.

    The study must have asked for all pairs with it: `Study(..., target="income")`. Given the target, other
    answers are drawn independently, so that nothing else can be learned from them. Without a target, each
    answer is drawn by its own shares, which are all that reports of RS+FD, of one sampled attribute or of
    ALLOMFREE tell. There are no error bars: for shares, intervals and tests take `result.cross`.
    """
    whole_number("n", n, 1, _MOST_PEOPLE)
    whole_number("seed", seed, 0)
    if result.document is None:
        raise InvalidParameter("this result does not know its plan; make it by plan.estimate(tallies)")
    if target is None:
        people = _draw_apart(result, result.document.attributes, n, np.random.default_rng(seed))
        warnings.warn(_APART, DeniableWarning, stacklevel=2)
        return people
    questions = list_questions(result.document.attributes)
    if target not in questions:
        raise InvalidParameter(not_among(target, "a question", questions))
    pairs = {frozenset(pair) for pair in list_tables(result.document)}
    lacking = [name for name in questions if name != target and frozenset((name, target)) not in pairs]
    if lacking or len(questions) < 2:
        missing = ", ".join(map(repr, lacking)) or "no other question"
        raise InvalidParameter(
            f"no report holds {target!r} together with {missing}; people are simulated by the tables of a "
            f"target with each other question: Study(..., target={target!r})"
        )
    tables = [result.cross(name, by=target) for name in questions if name != target]
    warnings.warn(_NO_ERROR_BARS, DeniableWarning, stacklevel=2)
    return Star.of(tables).draw(n, np.random.default_rng(seed))


def _draw_apart(
    result: Result, attributes: Sequence[Attribute], n: int, generator: np.random.Generator
) -> dict[str, npt.NDArray[np.str_]]:
    """Every answer by its own shares, the nearest possible ones."""
    columns = {}
    for attribute in attributes:
        estimate = result[attribute.name]
        if not isinstance(estimate, Estimate) or len(attribute.columns) > 1:
            raise InvalidParameter(
                f"{attribute.name!r} has no shares of one question's answers, by which they could be drawn; "
                "of tables name the target, such as target='income'"
            )
        labels = np.array(list(map(str, estimate.labels or range(estimate.k))))
        columns[attribute.name] = labels[generator.choice(labels.size, n, p=estimate.project("norm-sub"))]
    return columns
