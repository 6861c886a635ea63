"""Says how well each table of two questions will be known, and how many people find a difference in it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from deniable.arrays import Floats
from deniable.choose import Precision
from deniable.cross.source import Source
from deniable.cross.spread import GroupedReport, OneReport, Supports
from deniable.errors import InvalidParameter
from deniable.estimate.intervals import reach_of
from deniable.exact import number
from deniable.explain.question_pairs import (
    check_questions,
    explain_ungrouped,
    find_domain,
    find_margins,
    find_read,
    is_grouped,
    list_tables,
    sum_source,
)
from deniable.formatting import format_people, format_percent, round_digits
from deniable.mechanisms import grr, ss
from deniable.plan.attribute import Attribute

if TYPE_CHECKING:
    from deniable.plan.document import PlanDocument

DIFFERENCE = 0.05
"""Between two rows, which a study is to find."""
_MOST_CELLS = 1 << 10  # of an attribute or a table: nobody waits for the covariances of more
SHARE = 0.25
"""The smaller of the two shares, unless another one is given."""
_TAIL = 0.025
REACH = reach_of(_TAIL) + reach_of(0.2)
"""How many standard errors a test at 5 % takes to find something in four studies of five."""
_FEW = 20  # people of a group, below which it is nearly a name


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
        answered = self.answered
        supposed = "" if answered is None else f" That is if {format_percent(answered)} of people answer."
        needed = format_people(self.people_for_difference, self.share.people)
        return (
            f"A share of a row's people is known to within {self.share.format_margin()}, a cell, of all "
            f"people, to within {self.cell.format_margin()}. To tell {100 * SHARE:g} % from "
            f"{100 * (SHARE + DIFFERENCE):g} % in two rows takes {needed} people.{supposed}"
        )


def expect_tables(document: PlanDocument) -> list[ExpectedTable]:
    """What every table that the reports of a plan hold will tell; large ones are left out."""
    tables = []
    for by, of in list_tables(document):
        sources = list_held(document, of, by)
        if sources and max(source.values.size for _, source in sources) <= _MOST_CELLS:
            tables.append(_expect_table(document, sources, of, by))
    return tables


def _expect_table(
    document: PlanDocument, sources: list[tuple[float, Source]], of: str, by: str
) -> ExpectedTable:
    rows, columns = find_margins(document, of, by)
    size = rows.side.size, columns.side.size
    cell, share = _combine(document, sources, of, by)
    people, name = document.people, f"{of} by {by}"
    reports = people * float(document.presence)
    return ExpectedTable(
        of,
        by,
        Precision(name, "cell", math.prod(size), people, math.sqrt(cell / reports)),
        Precision(name, "row share", size[1], people, math.sqrt(share / reports)),
        count_people(document, of, by, DIFFERENCE),
        None if sources[0][1].is_complete else sources[0][1].answered,
    )


def _combine(
    document: PlanDocument, sources: list[tuple[float, Source]], of: str, by: str
) -> tuple[float, float]:
    """The variances from one person: of a cell, and of a share of a row's people."""
    precisions = [chance / _vary_first(document, source, of, by) for chance, source in sources]
    cell, share = 1 / np.sum(precisions, axis=0)
    return float(cell), float(share)


def _vary_first(document: PlanDocument, source: Source, of: str, by: str) -> Floats:
    """Variances from one report: of the first cell, and of the first share of the first row's people."""
    margins = rows, columns = find_margins(document, of, by)
    cells = np.outer(rows.sums.sum(axis=1), columns.sums.sum(axis=1))
    part = cells / cells.sum() * source.answered
    sums = np.zeros((2, *part.shape))
    sums[0, 0, 0] = 1.0
    sums[1, 0] = -part[0, 0] / part[0].sum() ** 2
    sums[1, 0, 0] += 1 / part[0].sum()
    weights = sums.reshape(2, -1) @ sum_source(margins, source, of, by)
    return np.asarray(np.diag(source.spread.covariance(source.values, weights)))


def count_people(document: PlanDocument, of: str, by: str, difference: float, share: float = SHARE) -> int:
    """How many people it takes to tell a share from one that is larger by the difference, in two rows.

    All rows are as large, and as many people answer as the plan expects; where it does not say, no answer is
    as likely as any other value. A test at 5 % then finds the difference in four studies of five.

    >>> from deniable import Range, Study
    >>> asked = {"age": Range(20, 70, step=10), "smoker": ["yes", "no"]}
    >>> study = Study(asked, epsilon=1.0, together=[("age", "smoker")])
    >>> count_people(study.plan(people=1000).document, of="smoker", by="age", difference=0.05)
    308985
    """
    number("a difference of shares", difference, 0.0, 1.0)
    number("the smaller share", share, 0.0, 1.0 - difference, f"above 0 and below {1 - difference:g}")
    known = document.known_names
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
    return math.ceil((REACH / difference) ** 2 / needed / float(document.presence))


def list_held(document: PlanDocument, of: str, by: str) -> list[tuple[float, Source]]:
    """What one report about each attribute that the table of both questions is read from says, if all
    answers are as likely, and the chance that a person sends such a report.
    """
    known = set(document.known_names)
    sources = []
    for j, attribute in enumerate(document.attributes):
        law = document.mechanism.marginal(j)
        is_about = {of, by} - known <= set(attribute.columns) and is_grouped(document, attribute)
        if not is_about or not isinstance(law, Supports):
            continue
        source = _spread_evenly(document, attribute, law, bool(known & {of, by}))
        sources.append((float(document.mechanism.chance(j)), source))
    return [sources[i] for i in find_read(document, sources, of, by)]


def _vary(source: Source, by: str, of: str, table: Floats, signs: Mapping[int, int]) -> float:
    """The variance from one report of a sum of the first column's shares in some rows, by their signs."""
    rows, columns = table.shape
    weights = np.zeros((rows, columns))
    per_person = rows / source.answered  # one over the people of a row who answer
    for row, sign in signs.items():
        weights[row] = -sign * table[row, 0] * per_person
        weights[row, 0] += sign * per_person
    sums = weights.reshape(1, -1) @ source.sums((by, of))
    return float(source.spread.covariance(source.expand((by, of), table / rows), sums)[0, 0])


def _spread_evenly(document: PlanDocument, attribute: Attribute, law: Supports, is_known: bool) -> Source:
    """A report about an attribute, in one of the known groups where that matters, if all are as likely.

    As many answer as the plan expects; where it does not say, no answer is as likely as any other value.
    """
    cells, size = attribute.domain.k, document.size(attribute)
    answered = cells / size if attribute.answered is None else attribute.turnout
    shares = np.array([answered / cells] * cells + [(1 - answered) / max(size - cells, 1)] * (size - cells))
    known = document.known
    if not is_known or known is None:
        return Source(attribute.columns, attribute.shape, 1, shares, OneReport(law))
    spread = GroupedReport(law, known.size, cells)
    values = np.zeros(known.size * size)
    values[spread.positions] = shares / known.size
    return Source((*known.names, *attribute.columns), (*known.shape, *attribute.shape), 1, values, spread)


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
    lines = [
        f"Known and sent as it is: {known.describe()}. Every report names it, nothing hides it, and no loss "
        "above counts it. It is for what you know of each person anyway."
    ]
    for by in known.names:
        for j, attribute in enumerate(document.attributes):
            law = document.mechanism.marginal(j)
            is_small = attribute.domain.k <= _MOST_CELLS
            if isinstance(law, Supports) and is_grouped(document, attribute) and is_small:
                lines += [_explain_table(document, j, law, of, by) for of in attribute.columns]
    return "\n".join(lines)


def _explain_table(document: PlanDocument, j: int, law: Supports, of: str, by: str) -> str:
    """How well the shares of each group will be known, and how many people it would take otherwise."""
    attribute = document.attributes[j]
    rows, columns = find_domain(document, by).k, find_domain(document, of).k
    table = np.full((rows, columns), 1 / columns)
    source = _spread_evenly(document, attribute, law, True)
    variance = _vary(source, by, of, table, {0: 1})
    reports = document.people * float(document.mechanism.chance(j) * document.presence)
    margin = round_digits(100 * reach_of(_TAIL) * math.sqrt(variance / reports), 2)
    # shares are from 0 to 100 points: a wider margin tells nothing
    known = f"known to within {margin:g} points" if margin < 100 else "not known at all"
    supposed = "" if source.is_complete else f" if {format_percent(source.answered)} of people answer"
    said = f"{of!r} by {by!r}: shares of one of {rows} groups are {known}{supposed}"
    is_special = attribute.columns != (of,) or attribute.only_if is not None or attribute.several is not None
    if is_special or document.rounds is not None or document.mechanism.fake(j) is not None:
        return f"{said}."
    cells, epsilon = rows * columns, document.parts[j].loss()
    if cells > _MOST_CELLS:
        return f"{said}."
    reports_of_cells = (OneReport(make(cells, epsilon).law) for make in (grr, ss))
    even = np.full(cells, 1 / cells)
    sources = (Source((by, of), table.shape, 1, even, spread) for spread in reports_of_cells)
    secret = min(_vary(source, by, of, table, {0: 1}) for source in sources)
    return f"{said}; asked secretly, {by!r} would take {secret / variance:.1f} times as many people."
