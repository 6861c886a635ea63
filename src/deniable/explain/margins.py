"""Lists the rows and columns of a table: answers to a question, or groups of neighboring ones."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, final

import numpy as np

from deniable.arrays import Floats
from deniable.cross import Side, Source
from deniable.domain import Domain, Range
from deniable.domain.groups import list_groups
from deniable.plan.attribute import YES_NO

if TYPE_CHECKING:
    from deniable.plan.document import PlanDocument


@final
@dataclass(frozen=True, eq=False)
class Margin:
    """One side of a table: all answers to a question, or groups of neighboring ones where there are many."""

    side: Side
    sums: Floats
    """The weights of answers in each row or column."""

    @staticmethod
    def of(name: str, domain: Domain) -> Margin:
        groups = list_groups(domain)
        middles, no_mean = None, _say_no_mean(domain)
        if isinstance(domain, Range) and not (domain.open_low or domain.open_high):
            middles = np.array([(low + high) / 2 for low, high in pairwise(domain.edges)])
        if not groups:
            points = None if middles is None else tuple(middles.tolist())
            side = Side(name, domain.labels, points, no_mean, _find_within(domain, 1))
            return Margin(side, np.eye(domain.k))
        sums = np.zeros((len(groups), domain.k))
        for row, (_, values) in zip(sums, groups, strict=True):
            row[values] = 1.0
        points = None if middles is None else tuple((sums @ middles / sums.sum(axis=1)).tolist())
        within = _find_within(domain, max(values.size for _, values in groups))
        return Margin(Side(name, tuple(label for label, _ in groups), points, no_mean, within), sums)

    def spread(self, table: Floats) -> Floats:
        """A table of all answers, whose groups have these rows, spread evenly."""
        return np.asarray((self.sums / self.sums.sum(axis=1, keepdims=True)).T @ table)


def find_domain(document: PlanDocument, name: str) -> Domain:
    """The answers to a question, or to one option of it."""
    return document.domains.get(name, YES_NO)


def find_margins(document: PlanDocument, of: str, by: str) -> tuple[Margin, Margin]:
    """The rows and the columns of a table."""
    return Margin.of(by, find_domain(document, by)), Margin.of(of, find_domain(document, of))


def sum_source(margins: tuple[Margin, Margin], source: Source, of: str, by: str) -> Floats:
    """The weights by which the values of a source are summed to the cells of a table."""
    return np.asarray(np.kron(margins[0].sums, margins[1].sums) @ source.sums((by, of)))


def _say_no_mean(domain: Domain) -> str:
    """Why the answers have no mean; empty where they have one."""
    if not isinstance(domain, Range):
        return "its answers are no numbers"
    if domain.open_low or domain.open_high:
        return "an end is open, so that it is not known where the people in the outermost bin are"
    return "its answers are months" if domain.unit == "month" else ""


def _find_within(domain: Domain, bins: int) -> float:
    """How far an answer may be from the middle of so many bins; a whole number is the middle of its own."""
    if not isinstance(domain, Range):
        return 0.0
    return (bins - 1) / 2 if domain.unit else bins * float(domain.step) / 2
