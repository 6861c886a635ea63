"""Says how well each table of two questions will be known, and how many people find a difference in it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from deniable.arrays import Floats
from deniable.choose import Precision
from deniable.cross.source import Source
from deniable.explain.differences import SHARE, count_people, list_held
from deniable.explain.margins import find_margins, sum_source
from deniable.explain.question_pairs import list_tables
from deniable.formatting import format_people, format_percent

if TYPE_CHECKING:
    from deniable.plan.document import PlanDocument

DIFFERENCE = 0.05
"""Between two rows, which a study is to find."""
_MOST_CELLS = 1 << 10  # of an attribute: a page does not wait for the sums of more


@final
@dataclass(frozen=True)
class ExpectedTable:
    """What a study will tell of one table, if all answers are as likely."""

    of: str
    by: str
    cell: Precision
    """How well the share of a cell among all people will be known."""
    share: Precision
    """How well the share of an answer among a row's people will be known."""
    people_for_difference: int
    """How many people it takes to tell 25 % from 30 % in two rows, in four studies of five."""
    answered: float | None = None
    """The share of people who are taken to answer, where that need not be all."""

    def describe(self) -> str:
        """In two sentences, or three."""
        answered = self.answered
        supposed = "" if answered is None else f" That is if {format_percent(answered)} of people answer."
        return (
            f"A share of a row's people is known to within {self.share.format_margin()}, a cell, of all "
            f"people, to within {self.cell.format_margin()}. To tell {100 * SHARE:g} % from "
            f"{100 * (SHARE + DIFFERENCE):g} % in two rows takes {format_people(self.people_for_difference)} "
            f"people.{supposed}"
        )


def expect_tables(document: PlanDocument) -> list[ExpectedTable]:
    """What every table that the reports of a plan hold will tell; large ones are left out.

    >>> from deniable import Range, Study
    >>> asked = {"age": Range(20, 70, step=10), "smoker": ["yes", "no"]}
    >>> plan = Study(asked, epsilon=2.0, together=[("age", "smoker")]).plan(people=20_000)
    >>> [table] = expect_tables(plan.document)
    >>> table.share.format_margin(), table.people_for_difference
    ('4 points', 53961)
    """
    found = []
    for by, of in list_tables(document):
        held = list_held(document, of, by)
        if held and max(source.values.size for _, source in held) <= _MOST_CELLS:
            found.append(_expect_table(document, held, of, by))
    return found


def _expect_table(
    document: PlanDocument, held: list[tuple[float, Source]], of: str, by: str
) -> ExpectedTable:
    rows, columns = find_margins(document, of, by)
    size = rows.side.size, columns.side.size
    cell, share = _combine(document, held, of, by)
    people, name = document.people, f"{of} by {by}"
    return ExpectedTable(
        of,
        by,
        Precision(name, "cell", math.prod(size), people, math.sqrt(cell / people)),
        Precision(name, "row share", size[1], people, math.sqrt(share / people)),
        count_people(document, of, by, DIFFERENCE),
        None if held[0][1].is_complete else held[0][1].answered,
    )


def _combine(
    document: PlanDocument, held: list[tuple[float, Source]], of: str, by: str
) -> tuple[float, float]:
    """The variances from one person: of a cell, and of a share of a row's people."""
    each = [chance / _vary_first(document, source, of, by) for chance, source in held]
    cell, share = 1 / np.sum(each, axis=0)
    return float(cell), float(share)


def _vary_first(document: PlanDocument, source: Source, of: str, by: str) -> Floats:
    """The same from one report: of the first cell, and of the first share of the first row's people."""
    margins = rows, columns = find_margins(document, of, by)
    cells = np.outer(rows.sums.sum(axis=1), columns.sums.sum(axis=1))
    part = cells / cells.sum() * source.answered
    sums = np.zeros((2, *part.shape))
    sums[0, 0, 0] = 1.0
    sums[1, 0] = -part[0, 0] / part[0].sum() ** 2
    sums[1, 0, 0] += 1 / part[0].sum()
    weights = sums.reshape(2, -1) @ sum_source(margins, source, of, by)
    return np.asarray(np.diag(source.spread.covariance(source.values, weights)))
