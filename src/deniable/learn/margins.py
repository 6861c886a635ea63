"""Reads from tallies how frequent each value of a column is in each class, without bias, and how surely."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from deniable.arrays import Floats
from deniable.cross.spread import fix_total
from deniable.domain import Product
from deniable.errors import DeniableWarning, InvalidParameter, InvalidReport
from deniable.estimate import Estimate
from deniable.estimate.consistency import simplex
from deniable.learn.questions import Label, Questions
from deniable.mechanisms import Tally
from deniable.reports import Tallies
from deniable.results.windows import Windows
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


def add_tallies(tallies: Sequence[object]) -> Tallies | Windows:
    """Adds tallies exactly: all of them, or those of each class."""
    for tally in tallies:
        if not isinstance(tally, Tallies | Windows):
            kind = type(tally).__name__
            raise InvalidReport(f"a model is made from tallies, plan.tally(reports), got {kind}")
    _refuse_twice(tallies)
    plain = [tally for tally in tallies if isinstance(tally, Tallies)]
    windows = [tally for tally in tallies if isinstance(tally, Windows)]
    if plain and windows:
        raise InvalidReport("tallies by a column and tallies of a plan that holds the label do not add up")
    if not tallies:
        raise InvalidParameter("there are no tallies to learn from; plan.tally(reports) makes them")
    if plain:
        return sum(plain[1:], plain[0])
    by_key = dict(windows[0].tallies)
    for more in windows[1:]:
        for key, tally in more.items():
            by_key[key] = by_key[key] + tally if key in by_key else tally
    return Windows(windows[0].by, by_key)


def _refuse_twice(tallies: Sequence[object]) -> None:
    """Refuse the same tallies twice; equal ones may be of other people, so they are only warned of."""
    for i, tally in enumerate(tallies):
        if any(tally is before for before in tallies[:i]):
            raise InvalidParameter(
                "the same tallies are given twice, and their people would count double; give each once"
            )
        if any(tally == before for before in tallies[:i]):
            warnings.warn(
                "two tallies are equal, as those of one file that is read twice: if they are of the same "
                "people, give one of them",
                DeniableWarning,
                stacklevel=5,
            )


def read_margins(
    plan: Plan, tallies: Tallies | Windows, label: Label | None, questions: Questions
) -> Margins:
    """The shares of all values in all classes, wherever the label is."""
    if isinstance(tallies, Tallies):
        _refuse_plan(tallies, plan)
        if label == "protected":
            return read_cells(plan, tallies, questions.target)
        if label == "public" and tallies.groups:
            return read_groups(plan, tallies.groups)
        raise InvalidReport(
            f"these tallies do not say which class reports are of; tally by the column that holds the label, "
            f'plan.tally(table, by="{questions.target}"), or make it a known group of the plan'
        )
    if label is not None or len(tallies.by) != 1:
        raise InvalidReport(
            "tallies by a column are for plans that ask for the columns alone; the label is that one column"
        )
    nothing = dict(zip(plan.names, plan.mechanism.tally_nothing(), strict=True))
    groups = [nothing] * questions.classes.k
    for key, tally in tallies.items():
        _refuse_plan(tally, plan)
        [code] = questions.classes.encode([key], questions.target).tolist()
        groups[code] = dict(tally.tallies)
    return read_groups(plan, groups)


def _refuse_plan(tallies: Tallies, plan: Plan) -> None:
    if tallies.plan_id != plan.id:
        raise InvalidReport(
            f"tallies are of plan {tallies.plan_id[:12]}, and this plan is {plan.id[:12]}; give the plan "
            "that people answered"
        )
