"""Counts the people that it takes to find a difference between two rows of a table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from deniable.cross.source import Source
from deniable.cross.spread import OneReport, Supports
from deniable.domain import Product
from deniable.errors import InvalidParameter, not_among
from deniable.estimate.intervals import reach_of
from deniable.exact import number
from deniable.plan.attribute import list_questions

if TYPE_CHECKING:
    from deniable.plan.plan import Plan

SHARE = 0.25
"""The smaller of the two shares, unless another one is given."""
POWER = 0.8
_TAIL = 0.025


def count_people(
    plan: Plan, of: str, by: str, difference: float, share: float = SHARE, power: float = POWER
) -> int:
    """How many people it takes to tell a share from one that is larger by the difference, in two rows.

    All rows are as large. A test at 5 % then finds the difference as often as `power` says.

    >>> from deniable import Range, Study
    >>> asked = {"age": Range(20, 70, step=10), "smoker": ["yes", "no"]}
    >>> study = Study(asked, epsilon=1.0, together=[("age", "smoker")])
    >>> count_people(study.plan(people=1000), of="smoker", by="age", difference=0.05)
    308985
    """
    number("a difference of shares", difference, 0.0, 1.0)
    number("the smaller share", share, 0.0, 1.0 - difference, f"above 0 and below {1 - difference:g}")
    content = plan.content
    questions = list_questions(content.attributes)
    for name in (of, by):
        if name not in questions:
            raise InvalidParameter(not_among(name, "a question", questions))
    needed = 0.0
    for j, one in enumerate(content.attributes):
        law = content.mechanism.marginal(j)
        if of == by or not {of, by} <= set(one.columns) or not isinstance(law, Supports):
            continue
        assert isinstance(one.domain, Product)
        by_name = dict(zip(one.domain.names, one.domain.shape, strict=True))
        rows, columns = by_name[by], by_name[of]
        table = np.full((rows, columns), (1 - share) / (columns - 1))
        table[:, 0] = share
        table[-1, 0], table[-1, 1:] = share + difference, (1 - share - difference) / (columns - 1)
        alike = np.full(content.size(one), 1 / content.size(one))
        source = Source(one.columns, one.domain.shape, 1, alike, OneReport(law))
        true = source.expand((by, of), table / rows)
        weights = np.zeros((rows, columns))
        for row, sign in ((0, -1), (-1, 1)):
            weights[row] = -sign * table[row, 0] * rows
            weights[row, 0] += sign * rows
        sums = weights.reshape(1, -1) @ source.sums((by, of))
        variance = float(source.spread.covariance(true, sums)[0, 0])
        # tables that hold both add what they know
        needed += float(content.mechanism.chance(j)) / variance
    if not needed:
        raise InvalidParameter(
            f"no report holds both {of!r} and {by!r}; ask for them at once: together = [[{by!r}, {of!r}]]"
        )
    reach = reach_of(_TAIL) + reach_of(1 - number("a power", power, 0.5, 1.0))
    return math.ceil((reach / difference) ** 2 / needed)
