"""Reads from tallies how frequent each value of a column is in each class, without bias, and how surely."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from deniable.arrays import Floats
from deniable.cross.spread import fix_total
from deniable.domain import Product
from deniable.errors import InvalidParameter
from deniable.estimate import Estimate
from deniable.estimate.consistency import simplex
from deniable.mechanisms import Tally
from deniable.reports import Tallies
from deniable.study import Plan

_NOTHING = "there are no reports yet, so there is nothing to learn from"


@final
@dataclass(frozen=True, eq=False)
class Margin:
    """The shares of a column's values in each class, a row for each, and the variances of these shares."""

    shares: Floats
    variances: Floats
    reported: Floats
    """1 for a class with reports, 0 for one without, whose shares say nothing."""


@final
@dataclass(frozen=True, eq=False)
class Margins:
    """What all reports say: the share of each class, and a margin for each column."""

    classes: Floats
    columns: Mapping[str, Margin]


def read_groups(plan: Plan, groups: Sequence[Mapping[str, Tally]]) -> Margins:
    """From the tallies of each class by itself, where labels are public."""
    people = np.array([sum(tally.n for tally in group.values()) for group in groups], dtype=np.float64)
    if not people.sum():
        raise InvalidParameter(_NOTHING)
    columns = {}
    for j, name in enumerate(plan.names):
        estimates = [_estimate(plan, j, group[name]) for group in groups]
        shares, variances = (np.stack(rows) for rows in zip(*estimates, strict=True))
        reported = np.array([float(group[name].n > 0) for group in groups])
        columns[name] = Margin(shares, variances, reported)
    return Margins((people + 1) / (people.sum() + people.size), columns)


def read_cells(plan: Plan, tallies: Tallies, target: str) -> Margins:
    """From tallies of tables of the label with each column, where labels are protected."""
    if not tallies.n:
        raise InvalidParameter(_NOTHING)
    cells: dict[str, tuple[Floats, Floats]] = {}
    classes, weight = np.zeros(1), 0.0
    for j, attribute in enumerate(plan.document.attributes):
        table = attribute.domain
        assert isinstance(table, Product)
        axis = table.names.index(target)
        tally = tallies[attribute.name]
        values, variances = (
            np.moveaxis(row.reshape(table.shape), axis, 0) for row in _estimate(plan, j, tally)
        )
        values = fix_total(values)
        cells[table.names[1 - axis]] = values, variances
        if tally.n:
            precision = 1 / variances.sum()
            classes = classes + precision * values.sum(axis=1)
            weight += precision
    shares = np.maximum(simplex(classes / weight), 1 / (tallies.n + classes.size))
    shares = shares / shares.sum()
    columns = {}
    for name, (values, variances) in cells.items():
        by_class = shares[:, None]
        reported = np.full(shares.size, float(variances.any()))
        columns[name] = Margin(values / by_class, variances / by_class**2, reported)
    return Margins(shares, columns)


def _estimate(plan: Plan, j: int, tally: Tally) -> tuple[Floats, Floats]:
    """The unbiased shares of an attribute's values and their variances; all alike where nobody reported."""
    part = plan.document.parts[j]
    counted = part.checked_tally(tally)
    if not counted.n:
        return np.full(part.k, 1 / part.k), np.zeros(part.k)
    estimate = part.estimated(counted, plan.mechanism.marginal(j))
    assert isinstance(estimate, Estimate)
    return estimate.frequencies, estimate.stderr**2
