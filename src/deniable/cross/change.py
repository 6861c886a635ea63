"""Compares a table of two answers in two rounds: the change of every share, with an interval that holds.

How the errors of two rounds depend on each other is known where other people answered, where the same people
answered with noise that does not add up against them, and where the reports of each person are linked. Else
the reaches of both rounds add up, which holds whatever the dependence is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, final

import numpy as np

from deniable.arrays import Floats
from deniable.cross.counted import Counted
from deniable.cross.hypothesis import Test, find_noncentral, list_moves
from deniable.errors import InvalidParameter
from deniable.estimate.consistency import nearest_with_total
from deniable.formatting import format_count, format_percent, format_table, keep_finite
from deniable.frames import Backend, frame_of_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from deniable.cross.table import CrossTable

Asked = Literal["same", "others", "linked"]
Repeats = Literal["once", "fresh", "apart", "tied"]
"""How people report again: never, or with fresh noise in every report if they do, with noise that is
independent for different values, or otherwise. Of a plan that asks once, noise alone is fresh where every
report tells of the table: else other people would be drawn for it.
"""
VALIDITY: Mapping[str | None, str] = {
    None: "they hold whoever answered in each round",
    "others": "they hold if other people answered in each round",
    "same": "they hold for the very people whose reports are about the question, if all answered both times",
    "linked": "they hold if row i of both rounds is one person",
}
"""For whom intervals hold, by who answered."""
_TINY = 1e-10  # of the largest variance: less is rounding


class Differences(NamedTuple):
    """How much larger each number is in the later round, by rows and columns."""

    difference: Floats
    stderr: Floats
    """Its standard error; the largest that it can be, where nothing is known of dependence."""
    low: Floats
    high: Floats


@final
@dataclass(frozen=True, eq=False)
class TableChange:
    """The change of a table from an earlier round: of the shares of each row's people, and of the cells."""

    earlier: CrossTable
    later: CrossTable
    people: Asked | None = None
    """Who is taken to have answered in both rounds; None where nothing is."""
    between: Floats | None = None
    """The covariance of the earlier with the later cells, row by row; None where it may be any."""

    @property
    def rows(self) -> tuple[str, ...]:
        """The rows' names."""
        return self.later.rows

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns' names."""
        return self.later.columns

    @property
    def level(self) -> float:
        """The confidence level of the intervals."""
        return self.later.level

    @property
    def validity(self) -> str:
        """For whom the intervals hold, in words."""
        return VALIDITY[self.people]

    @property
    def difference(self) -> Floats:
        """How much larger the share of each column among a row's people is; nan where one is not known."""
        return self.shares.difference

    @property
    def stderr(self) -> Floats:
        """The standard errors of these differences, to first order."""
        return self.shares.stderr

    @property
    def low(self) -> Floats:
        """The lower ends of these differences' intervals."""
        return self.shares.low

    @property
    def high(self) -> Floats:
        """The upper ends of these differences' intervals."""
        return self.shares.high

    @cached_property
    def cells(self) -> Differences:
        """The changes of the shares of all people."""
        shape, identity = self.later.cells.shape, np.eye(self.later.cells.size)
        difference = self.later.cells - self.earlier.cells
        error = self._errors(identity, identity).reshape(shape)
        reach = self.later.reach * error
        return Differences(difference, error, difference - reach, difference + reach)

    @cached_property
    def shares(self) -> Differences:
        """The changes of the shares of each row's people.

        Ends are combined as Zou and Donner (2008) do: by how far each interval reaches on its own side.
        """
        shape = self.later.cells.shape
        slopes = [table.share_slopes() for table in (self.earlier, self.later)]
        earlier, other = self.earlier.centers, self.later.centers
        is_known = self.earlier.is_known & self.later.is_known
        # where a round says nothing, its share may be anything, however the other one errs
        dependence = np.where(is_known, self._correlations(*slopes).reshape(shape), -1.0)
        down = combine_reaches(other - self.later.low, self.earlier.high - earlier, dependence)
        up = combine_reaches(self.later.high - other, earlier - self.earlier.low, dependence)
        value = np.where(is_known, other - earlier, np.nan)
        errors = [np.where(is_known, table.stderr, 0.0) for table in (self.earlier, self.later)]
        error = np.where(is_known, combine_reaches(errors[0], errors[1], dependence), np.inf)
        return Differences(value, error, other - earlier - down, other - earlier + up)

    def test(self) -> Test:
        """Whether any cell changed, by a chi-square statistic that knows the noise."""
        error = self._null_covariance()
        values, vectors = np.linalg.eigh(error)
        kept = values > _TINY * max(float(values.max()), 0.0)
        along = (self.later.own - self.earlier.own).ravel() @ vectors[:, kept]
        statistic = float((along**2 / values[kept]).sum())
        degrees = max(int(kept.sum()), 1)
        moves = list_moves(self._pooled) @ vectors[:, kept]
        least = float((moves**2 / values[kept]).sum(axis=1).min())
        missed = math.sqrt(find_noncentral(degrees) / least) if least > 0 else math.inf
        sizes = self.earlier.n, self.later.n
        return Test(statistic, degrees, sum(sizes), "change", missed, fewest=min(sizes))

    def records(self) -> list[dict[str, Any]]:
        """A dictionary for each cell: the change of the share of the row's people, and of all people."""
        by, of, cells, shares = self.later.by.name, self.later.of.name, self.cells, self.shares
        is_known = self.earlier.is_known & self.later.is_known
        return [
            {
                by: row,
                of: column,
                "earlier": float(self.earlier.shares[a, b]),
                "later": float(self.later.shares[a, b]),
                **{name: float(array[a, b]) for name, array in shares._asdict().items()},
                "known": bool(is_known[a, b]),
                **{f"cell_{name}": float(array[a, b]) for name, array in cells._asdict().items()},
                "level": self.level,
            }
            for a, row in enumerate(self.rows)
            for b, column in enumerate(self.columns)
        ]

    def about(self) -> dict[str, Any]:
        """Everything, ready for JSON; an infinite number is null."""
        keys = {self.later.by.name: "row", self.later.of.name: "column"}
        cells = [
            {keys.get(name, name): keep_finite(value) for name, value in row.items() if name != "level"}
            for row in self.records()
        ]
        return {
            "of": self.later.of.name,
            "by": self.later.by.name,
            "n": [self.earlier.n, self.later.n],
            "level": self.level,
            "people": self.people,
            "validity": self.validity,
            "cells": cells,
            "test": self.test().about(),
        }

    def frame(self, backend: Backend | None = None) -> Any:
        """The records as a dataframe of the library you already have: pandas, polars or pyarrow."""
        return frame_of_rows(self.records(), backend)

    def plot(self) -> Figure:
        """A figure of matplotlib: the change of each column's share in every row, with its interval."""
        from deniable.cross.plot import plot_change

        return plot_change(self)

    def __str__(self) -> str:
        heading = (
            f"{self.later.of.name} by {self.later.by.name}: change of the shares of each row's people, "
            f"{100 * self.level:g} % intervals; {self.validity}"
        )
        rows = [
            [row, column, *self._describe(a, b)]
            for a, row in enumerate(self.rows)
            for b, column in enumerate(self.columns)
        ]
        names = [self.later.by.name, self.later.of.name, "earlier", "later", "difference in points"]
        lines = format_table(names, rows, left=names[:2])
        return "\n".join([heading, *lines, str(self.test())])

    def __repr__(self) -> str:
        size = f"{len(self.rows)} x {len(self.columns)}"
        return f"<TableChange of {self.later.of.name} by {self.later.by.name}: {size}>"

    def _describe(self, a: int, b: int) -> list[str]:
        shares = [
            format_percent(table.shares[a, b]) if table.is_known[a, b] else "not known"
            for table in (self.earlier, self.later)
        ]
        texts = [f"{100 * numbers[a, b]:+.1f}" for numbers in (self.difference, self.low, self.high)]
        if math.isnan(self.difference[a, b]):
            texts[0] = "not known"
        return [*shares, f"{texts[0]} ({texts[1]} to {texts[2]})"]

    def _variances(self, earlier: Floats, later: Floats) -> tuple[Floats, Floats]:
        """The variances of weighted sums of the cells of each round; a row has the weights of a sum."""
        pairs = ((earlier, self.earlier), (later, self.later))
        early, other = (np.einsum("ij,jk,ik->i", sums, table.covariance, sums) for sums, table in pairs)
        return early.clip(0.0, None), other.clip(0.0, None)

    def _correlations(self, earlier: Floats, later: Floats) -> Floats:
        early, other = self._variances(earlier, later)
        if self.between is None:
            return np.full(early.size, -1.0)
        covariances = np.einsum("ij,jk,ik->i", earlier, self.between, later)
        scale = np.sqrt(early * other)
        correlations: Floats = np.divide(covariances, scale, out=np.zeros_like(covariances), where=scale > 0)
        return correlations.clip(-1.0, 1.0)

    def _errors(self, earlier: Floats, later: Floats) -> Floats:
        early, other = map(np.sqrt, self._variances(earlier, later))
        return combine_reaches(early, other, self._correlations(earlier, later))

    @cached_property
    def _pooled(self) -> Floats:
        """The table of both rounds, if nothing changed."""
        earlier, other = self.earlier, self.later
        pooled = (earlier.n * earlier.own + other.n * other.own) / (earlier.n + other.n)
        total = min(max(float(pooled.sum()), 0.0), 1.0)
        return nearest_with_total(pooled.ravel(), total).reshape(pooled.shape)

    def _null_covariance(self) -> Floats:
        """The covariance of the differences of cells, if nothing changed."""
        earlier, other = self.earlier, self.later
        if self.people == "linked":
            assert self.between is not None
            return np.asarray(earlier.covariance + other.covariance - self.between - self.between.T)
        shares = self._pooled
        spreads = [table.spread(shares) / table.n for table in (earlier, other)]
        if self.people == "same":
            spreads = [
                spread - table.sampling(shares) / table.n
                for spread, table in zip(spreads, (earlier, other), strict=True)
            ]
        # no dependence makes the error of a difference more than twice that of independent rounds
        return np.asarray(sum(spreads) * (2 if self.people is None else 1))


def compare_tables(earlier: CrossTable, later: CrossTable, people: Asked | None) -> TableChange:
    """The change from one table to another, by the interval that is valid for who answered."""
    if people not in (None, "same", "others"):
        raise InvalidParameter(
            f"people is 'same', 'others' or None, got {people!r}; for linked reports ask "
            "plan.cross_rounds(earlier, later, of, by)"
        )
    for name in ("by", "of"):
        if getattr(earlier, name) != getattr(later, name):
            raise InvalidParameter(
                f"tables are compared if their rows and columns are the same; one is of {earlier.of.name!r} "
                f"by {earlier.by.name!r}, the other of {later.of.name!r} by {later.by.name!r}, or their "
                "answers differ"
            )
    earlier = earlier.at(later.level)
    if people is None and later.plan_id == earlier.plan_id and later.repeats in ("once", "fresh"):
        people = "others"  # who answers a plan that asks once has no second report
    nothing = None if people is None else np.zeros(later.covariance.shape)
    if people == "same":
        if later.repeats in ("once", "tied"):
            raise InvalidParameter(
                "people='same' (--people same) is for a plan whose devices keep the noise of each value, by "
                "two rounds on values, or that asks once and whose every report tells of this table; leave "
                "it out for intervals that hold whoever answered"
            )
        if earlier.n != later.n:
            raise InvalidParameter(
                f"one round has {format_count(earlier.n, 'report')} about both questions and the other "
                f"{later.n:,}, so not "
                "the same people answered; leave people='same' (--people same) out"
            )
        earlier, later = _about_these(earlier), _about_these(later)
    return TableChange(earlier, later, people, nothing)


def _about_these(table: CrossTable) -> CrossTable:
    """The table by its own reports, and how far it may be off from that of the very people who made them."""
    possible = table.find_possible()  # at shares below 0 noise would be less than none
    fixed = (table.spread(possible) - table.sampling(possible)) / table.n
    return replace(table, cells=table.own, covariance=fixed, counted=Counted())


def combine_reaches(reach: Floats | float, other: Floats | float, correlation: Floats | float) -> Floats:
    """How far a difference reaches, of two numbers that reach this far and depend on each other so much."""
    return np.asarray(np.sqrt(np.maximum(reach**2 + other**2 - 2 * correlation * reach * other, 0.0)))
