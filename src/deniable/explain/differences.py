"""Counts the people that it takes to find a difference between two rows of a table."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from deniable.arrays import Floats
from deniable.cross.source import Source
from deniable.cross.spread import GroupedReport, OneReport, Supports
from deniable.errors import InvalidParameter
from deniable.estimate.intervals import reach_of
from deniable.exact import number
from deniable.explain.margins import find_domain
from deniable.explain.question_pairs import check_questions, explain_ungrouped, find_read, is_grouped
from deniable.formatting import format_percent, round_digits
from deniable.mechanisms import grr, ss
from deniable.plan.attribute import Attribute

if TYPE_CHECKING:
    from deniable.plan.document import PlanDocument

SHARE = 0.25
"""The smaller of the two shares, unless another one is given."""
POWER = 0.8
_TAIL = 0.025
_FEW = 20  # people of a group, below which it is nearly a name
_MOST_CELLS = 1024  # whose covariance is computed to explain a plan


def count_people(
    document: PlanDocument, of: str, by: str, difference: float, share: float = SHARE, power: float = POWER
) -> int:
    """How many people it takes to tell a share from one that is larger by the difference, in two rows.

    All rows are as large, and as many people answer as the plan expects; where it does not say, no answer is
    as likely as any other value. A test at 5 % then finds the difference as often as `power` says.

    >>> from deniable import Range, Study
    >>> asked = {"age": Range(20, 70, step=10), "smoker": ["yes", "no"]}
    >>> study = Study(asked, epsilon=1.0, together=[("age", "smoker")])
    >>> count_people(study.plan(people=1000).document, of="smoker", by="age", difference=0.05)
    308985
    """
    number("a difference of shares", difference, 0.0, 1.0)
    number("the smaller share", share, 0.0, 1.0 - difference, f"above 0 and below {1 - difference:g}")
    known = () if document.known is None else document.known.names
    check_questions(document, of, by)
    rows, columns = (find_domain(document, name).k for name in (by, of))
    table = np.full((rows, columns), (1 - share) / (columns - 1))
    table[:, 0] = share
    table[-1, 0], table[-1, 1:] = share + difference, (1 - share - difference) / (columns - 1)
    needed = sum(
        chance / _vary(source, by, of, table, {0: -1, rows - 1: 1})
        for chance, source in list_held(document, of, by)
    )
    if not needed and document.known is not None and {of, by} & set(known):
        raise InvalidParameter(explain_ungrouped(document, of if by in known else by))
    if not needed:
        raise InvalidParameter(
            f"no report holds both {of!r} and {by!r}; ask for them at once: together = [[{by!r}, {of!r}]]"
        )
    reach = reach_of(_TAIL) + reach_of(1 - number("a power", power, 0.5, 1.0))
    return math.ceil((reach / difference) ** 2 / needed)


def list_held(document: PlanDocument, of: str, by: str) -> list[tuple[float, Source]]:
    """What one report about each attribute that the table of both questions is read from says, if all
    answers are as likely, and the chance that a person sends such a report.
    """
    known = set(() if document.known is None else document.known.names)
    found = []
    for j, one in enumerate(document.attributes):
        law = document.mechanism.marginal(j)
        if not {of, by} - known <= set(one.columns) or not isinstance(law, Supports):
            continue
        if not is_grouped(document, one):
            continue
        source = _spread_evenly(document, one, law, bool(known & {of, by}))
        found.append((float(document.mechanism.chance(j)), source))
    return [found[i] for i in find_read(document, found, of, by)]


def _vary(source: Source, by: str, of: str, table: Floats, signs: Mapping[int, int]) -> float:
    """The variance from one report of a sum of the first column's shares in some rows, by their signs."""
    rows, columns = table.shape
    weights = np.zeros((rows, columns))
    each = rows / source.answered  # one over the people of a row who answer
    for row, sign in signs.items():
        weights[row] = -sign * table[row, 0] * each
        weights[row, 0] += sign * each
    sums = weights.reshape(1, -1) @ source.sums((by, of))
    return float(source.spread.covariance(source.expand((by, of), table / rows), sums)[0, 0])


def _spread_evenly(document: PlanDocument, one: Attribute, law: Supports, is_known: bool) -> Source:
    """A report about an attribute, in one of the known groups where that matters, if all are as likely.

    As many answer as the plan expects; where it does not say, no answer is as likely as any other value.
    """
    cells, size = one.domain.k, document.size(one)
    answered = cells / size if one.answered is None else one.turnout
    shares = np.array([answered / cells] * cells + [(1 - answered) / max(size - cells, 1)] * (size - cells))
    known = document.known
    if not is_known or known is None:
        return Source(one.columns, one.shape, 1, shares, OneReport(law))
    spread = GroupedReport(law, known.size, cells)
    values = np.zeros(known.size * size)
    values[spread.positions] = shares / known.size
    return Source((*known.names, *one.columns), (*known.shape, *one.shape), 1, values, spread)


def _suppose(source: Source) -> str:
    """How many people are taken to answer, where that need not be all."""
    return "" if source.is_complete else f" if {format_percent(source.answered)} of people answer"


def warn_groups(document: PlanDocument) -> str | None:
    """Warn of known groups that are so small that they name people, or None."""
    known = document.known
    if known is None or document.people >= _FEW * known.size:
        return None
    return (
        f"Every report names one of {known.size} groups ({known.name}), and {document.people:,} people are "
        f"{document.people / known.size:.1f} in each, on average: a group of few is nearly a name. Know "
        f"fewer groups, or ask more people: {_FEW * known.size:,} are {_FEW} in each."
    )


def explain_known(document: PlanDocument) -> str:
    """What is known and sent as it is, what tables by it will tell, and what that saves."""
    known = document.known
    if known is None:
        return ""
    found = [
        f"Known and sent as it is: {known.describe()}. Every report names it, nothing hides it, and no loss "
        "above counts it. It is for what you know of each person anyway."
    ]
    for by in known.names:
        for j, one in enumerate(document.attributes):
            law = document.mechanism.marginal(j)
            if isinstance(law, Supports) and is_grouped(document, one) and one.domain.k <= _MOST_CELLS:
                found += [_explain_table(document, j, law, of, by) for of in one.columns]
    return "\n".join(found)


def _explain_table(document: PlanDocument, j: int, law: Supports, of: str, by: str) -> str:
    """How well the shares of each group will be known, and how many people it would take otherwise."""
    one, rows, columns = document.attributes[j], find_domain(document, by).k, find_domain(document, of).k
    table = np.full((rows, columns), 1 / columns)
    source = _spread_evenly(document, one, law, True)
    variance = _vary(source, by, of, table, {0: 1})
    reports = document.people * float(document.mechanism.chance(j))
    margin = round_digits(100 * reach_of(_TAIL) * math.sqrt(variance / reports), 2)
    # shares are from 0 to 100 points: a wider margin tells nothing
    known = f"known to within {margin:g} points" if margin < 100 else "not known at all"
    said = f"{of!r} by {by!r}: shares of one of {rows} groups are {known}{_suppose(source)}"
    is_special = one.columns != (of,) or one.only_if is not None or one.several is not None
    if is_special or document.rounds is not None or document.mechanism.fake(j) is not None:
        return f"{said}."
    cells, epsilon = rows * columns, document.parts[j].loss()
    if cells > _MOST_CELLS:
        return f"{said}."
    secret = min(
        _vary(
            Source((by, of), table.shape, 1, np.full(cells, 1 / cells), OneReport(make(cells, epsilon).law)),
            by,
            of,
            table,
            {0: 1},
        )
        for make in (grr, ss)
    )
    return f"{said}; asked secretly, {by!r} would take {secret / variance:.1f} times as many people."
