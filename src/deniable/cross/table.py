"""Reads a table of two answers: cells, conditional shares, whether they depend, and how they changed.

How the errors of two rounds depend on each other is known where the reports of each person are linked, and
bounded where noise does not add up against people. Else the reaches of both rounds add up, which holds
whatever the dependence is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, final, get_args

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats
from deniable.cross.counted import (
    DIFFERENCE,
    ODDS,
    RATIO,
    Comparison,
    Counted,
    Ends,
    Seen,
    SideCounts,
    Supported,
    compare_shares,
    count_secret,
    find_ratio_ends,
)
from deniable.cross.independence import Evidence, Test, find_noncentral, list_moves
from deniable.cross.spread import OneReport, Supports, fix_total
from deniable.errors import InvalidParameter, not_among
from deniable.estimate import Estimate
from deniable.estimate.consistency import nearest_with_total
from deniable.estimate.intervals import reach_of
from deniable.exact import number
from deniable.formatting import (
    Printed,
    format_count,
    format_percent,
    format_table,
    keep_finite,
    shorten_text,
)
from deniable.frames import Backend, frame_of_rows
from deniable.plot.charts import Bars, plot_bars
from deniable.plot.figure import format_points
from deniable.rounds.differences import VALIDITY, People, Spread, combine_reaches, find_correlation
from deniable.summaries import Summary
from deniable.summaries.ratios import fieller_within, find_fieller_ends, ratio_error

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_Product = tuple[float, Floats]
Repeats = Literal["once", "fresh", "apart", "tied"]
"""How people report again: never, or with fresh noise in every report if they do, with noise that is
independent for different values, or otherwise. Of a plan that asks once, noise alone is fresh where every
report tells of the table: else other people would be drawn for it.
"""
_APART: frozenset[Repeats | None] = frozenset({"once", "fresh", "apart"})
_ROUNDED = 1e-10  # of the largest variance: less is rounding
_MOST_SIDE_BY_SIDE = 5  # columns of a plot
_COMMON = ("n", "level", "test", "effective")  # of all cells
_WHOLE = (0.0, 1.0)
_TINY = 1e-12  # a variance that is 0 but for rounding, beside the largest
_NOBODY = 1e-3  # people of a most likely cell, which a search leaves of none
_RATIOS = (0.0, math.inf)
_ANGLES = 17  # at which two rows with normal errors are compared


@final
@dataclass(frozen=True)
class Side:
    """A question, its answers, and where these are on a scale of numbers, if there is one."""

    name: str
    labels: tuple[str, ...]
    points: tuple[float, ...] | None = None
    no_mean: str = "its answers are no numbers"
    """Why there is no mean of the answers; empty where there is one."""
    within: float = 0.0
    """How far an answer may be from its point: half of the widest bin."""
    text: str = field(default="", compare=False)
    """What people were asked, where the plan has its text."""

    @property
    def size(self) -> int:
        """How many answers there are."""
        return len(self.labels)

    def find(self, label: str | None) -> int:
        """The number of an answer; the first if none is named."""
        if label is None:
            return 0
        if label not in self.labels:
            raise InvalidParameter(not_among(label, f"an answer to {self.name!r} in this table", self.labels))
        return self.labels.index(label)

    def positions(self, positions: Sequence[float] | None = None) -> Floats:
        """Where the answers are: as given, by their scale, or 0, 1, 2, ..."""
        scale = np.arange(self.size) if self.points is None else self.points
        points = np.asarray(scale if positions is None else positions, dtype=np.float64)
        if points.shape != (self.size,) or not np.isfinite(points).all():
            raise InvalidParameter(
                f"the positions of {self.name!r} are {self.size} numbers, got {positions!r}"
            )
        if (points == points[0]).all():
            raise InvalidParameter(
                f"a trend needs two positions of {self.name!r} that differ, got {points[0]:g} for each answer"
            )
        return points


@final
@dataclass(frozen=True, eq=False)
class LikelyTable:
    """Cells that are all possible, for display: sums, error bars and tests are of the unbiased table."""

    cells: Floats
    """The shares of all people, by rows and columns."""
    method: Literal["most likely", "projected"]
    gap: float | None = None
    """How much more likely each report could be at most, as a logarithm; None where nothing was searched."""

    @property
    def shares(self) -> Floats:
        """The share of each column among a row's people; nan where nobody is in the row."""
        rows = self.cells.sum(axis=1, keepdims=True)
        nobody = np.full(self.cells.shape, np.nan)
        return np.asarray(np.divide(self.cells, rows, out=nobody, where=rows > 0))


def _project(cells: Floats) -> Floats:
    """The nearest table without a cell below 0 that adds up to as much, from 0 to 1."""
    total = min(max(float(cells.sum()), 0.0), 1.0)
    return nearest_with_total(cells.ravel(), total).reshape(cells.shape)


class _RowMean(NamedTuple):
    summary: Summary
    center: float
    """The mean, or the middle of its interval where nothing is known of it."""
    slopes: Floats
    """How it moves with the cells, to first order."""
    is_known: bool


@final
@dataclass(frozen=True, eq=False)
class CrossTable(Printed):
    """The shares of people with two answers, one by row and one by column, and how far they may be off.

    Cells are unbiased: they may be negative. Shares of a row's people come with intervals within 0..1, all of
    that where too little is known of the row. Where reports are counts of a known group, or few of them name
    the row, intervals are of these counts and hold however few there are; else they are Fieller's. Where none
    of an interval is in 0..1, it is that of the nearest end.

    >>> from deniable.mechanisms import Tally, grr
    >>> estimate = grr(4, 2.0).estimate(Tally(1000, np.array([400, 300, 200, 100])))
    >>> table = CrossTable.of_estimate(estimate, ["f", "m"], ["yes", "no"])
    >>> table.shares.round(2).tolist()
    [[0.6, 0.4], [0.97, 0.03]]
    """

    by: Side
    """The question whose answers are the rows."""
    of: Side
    """The question whose answers are the columns."""
    n: int
    """How many reports it is of."""
    cells: Floats
    """The unbiased shares of all people, by rows and columns."""
    covariance: Floats
    """The covariance of the cells, row by row."""
    spread: Callable[[Floats], Floats] = field(repr=False)
    """The covariance of the cells from one report, if the true table is another one: for tests."""
    sampling: Callable[[Floats], Floats] = field(repr=False)
    """The part of it that is due to which people were sampled."""
    own: Floats = field(repr=False)
    """The cells by the reports about both questions alone."""
    evidence: Evidence = field(repr=False)
    """These cells as tests of dependence look at them."""
    level: float = 0.95
    plan_id: str = ""
    """The plan that the reports were made for, where it is known."""
    repeats: Repeats | None = None
    """How people report again, where it is known."""
    search: Callable[[], LikelyTable | None] | None = field(default=None, repr=False)
    """Finds the most likely table, where reports have a likelihood."""
    counted: Counted = field(default_factory=Counted, repr=False)
    """The counts of reports that it is read from, where these are binomial."""
    weighted: str = ""
    """How known groups were weighted, in words; empty where they were not."""
    cautions: tuple[str, ...] = ()
    """How good the weighted reports are, and what to beware of."""
    effective: tuple[float, ...] = ()
    """How many people of a simple sample the weighted reports about each row are about as good as."""

    @staticmethod
    def of_estimate(
        estimate: Estimate, rows: Sequence[str], columns: Sequence[str], level: float = 0.95
    ) -> CrossTable:
        """From an estimate of all pairs, row by row."""
        if not isinstance(estimate.law, Supports):
            raise InvalidParameter("a table needs counts of support, and these shares are not counts")
        by, of = Side("rows", tuple(rows)), Side("columns", tuple(columns))
        if estimate.k != by.size * of.size:
            raise InvalidParameter(
                f"a table of {by.size} rows and {of.size} columns has {by.size * of.size} cells, and the "
                f"estimate has {estimate.k} values"
            )
        cells, report = fix_total(estimate.frequencies), OneReport(estimate.law)
        identity = np.eye(estimate.k)
        table = cells.reshape(by.size, of.size)
        supported = Supported.of_estimate(estimate, estimate.law, True)

        def spread(other: Floats) -> Floats:
            return report.covariance(other.ravel(), identity)

        def draw(other: Floats, runs: int, generator: np.random.Generator) -> Floats:
            return report.draw(other.ravel(), estimate.n, runs, generator).reshape(-1, *other.shape)

        def count_supports(other: Floats) -> float:
            return report.count_supports(other.ravel(), estimate.n)

        return CrossTable(
            by,
            of,
            estimate.n,
            table,
            report.covariance(cells, identity) / estimate.n,
            spread,
            lambda other: report.sampling(other.ravel(), identity),
            table,
            Evidence(table, estimate.n, spread, draw, count_supports),
            number("a confidence level", level, 0.0, 1.0),
            counted=count_secret(supported, identity, (by.size, of.size)),
        )

    @property
    def rows(self) -> tuple[str, ...]:
        """The rows' names."""
        return self.by.labels

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns' names."""
        return self.of.labels

    @property
    def question_texts(self) -> dict[str, str]:
        """What people were asked, by name, where the plan has its text."""
        return {side.name: side.text for side in (self.of, self.by) if side.text}

    def quote_questions(self) -> list[str]:
        """A line for each question that has a text."""
        return [f"{name}: {shorten_text(text)}" for name, text in self.question_texts.items()]

    def at(self, level: float) -> CrossTable:
        """The table at another confidence level."""
        return replace(self, level=number("a confidence level", level, 0.0, 1.0))

    @cached_property
    def _conditional(self) -> list[list[Summary]]:
        rows, columns = self.cells.shape
        covariance = self.covariance.reshape(rows, columns, rows, columns)
        alike = np.einsum("abac->abc", covariance)  # within a row
        bottom = self.cells.sum(axis=1, keepdims=True)
        variances = np.einsum("abb->ab", alike), alike.sum(axis=(1, 2))[:, None]
        between = alike.sum(axis=2)
        low, high = find_fieller_ends(self.cells, bottom, *variances, between, (1 - self.level) / 2, _WHOLE)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = self.cells / bottom
            square = variances[0] - 2 * ratio * between + ratio**2 * variances[1]
            error = np.where(bottom > 0, np.sqrt(np.maximum(square, 0.0)) / bottom, np.inf)
        share = np.where(bottom > 0, ratio.clip(*_WHOLE), np.nan)
        counts = self.counted.cells
        if counts is not None:
            ends = counts.interval((1 - self.level) / 2)
            errors = np.where(np.isnan(counts.shares), np.inf, np.sqrt(counts.variances))
            seen = counts.shares.clip(*ends), errors, *ends
            fieller = share, error, low, high
            share, error, low, high = (
                np.where(counts.is_needed, *pair) for pair in zip(seen, fieller, strict=True)
            )
        rows = np.stack([share, error, low, high], axis=-1).tolist()
        return [[Summary(*cell) for cell in row] for row in rows]

    @cached_property
    def shares(self) -> Floats:
        """The share of each column among a row's people, row by row; nan where nobody is seen in the row."""
        return np.array([[cell.value for cell in row] for row in self._conditional])

    @cached_property
    def low(self) -> Floats:
        """The lower ends of the shares' intervals."""
        return np.array([[cell.low for cell in row] for row in self._conditional])

    @cached_property
    def high(self) -> Floats:
        """The upper ends of the shares' intervals."""
        return np.array([[cell.high for cell in row] for row in self._conditional])

    @cached_property
    def stderr(self) -> Floats:
        """The standard errors of the shares, to first order; infinite where nobody is seen in the row."""
        return np.array([[cell.stderr for cell in row] for row in self._conditional])

    @cached_property
    def cell_stderr(self) -> Floats:
        """The standard errors of the cells; where nobody is seen, those of the nearest possible share."""
        variances = np.diag(self.covariance)
        if (variances <= _TINY * variances.max()).any():
            possible = np.diag(self.spread(self.find_possible())) / self.n
            variances = np.where(variances > _TINY * variances.max(), variances, possible)
        return np.asarray(np.sqrt(variances.clip(0.0, None)).reshape(self.cells.shape))

    def find_possible(self) -> Floats:
        """The nearest table without a cell below 0 that adds up to as much."""
        return _project(self.own)

    @property
    def is_known(self) -> npt.NDArray[np.bool_]:
        """Whether anything is known of a share: whether its interval is not all from 0 to 1."""
        return np.asarray((self.low > 0) | (self.high < 1))

    @cached_property
    def _likely(self) -> LikelyTable:
        likely = None if self.search is None else self.search()
        return LikelyTable(_project(self.cells), "projected") if likely is None else likely

    def likely(self) -> LikelyTable:
        """The most likely table, or the nearest possible one where tallies have no likelihood.

        It is for display where cells are rare. It has no error bars, and its sums over many rare cells are
        too large: sums, intervals and tests are of the unbiased cells.
        """
        return self._likely

    @property
    def method(self) -> str:
        """How the shares that are shown were found: "unbiased", or where a cell is below 0, by `likely`."""
        return self._likely.method if (self.cells < 0).any() else "unbiased"

    @cached_property
    def shown(self) -> Floats:
        """The shares as people read them, each within its interval; where nothing is known, the middle."""
        if self.method == "unbiased":
            return self.centers
        likely = self._likely.shares
        return self._within(np.where(likely * self.n < _NOBODY, 0.0, likely))

    @property
    def centers(self) -> Floats:
        """The unbiased shares, each within its interval; where nothing is known, the middle of it."""
        return self._within(self.shares)

    def base(self, row: str) -> Summary:
        """The share of a row's people among all."""
        a = self.by.find(row)
        return self._sum(self._weigh_cell(a, 0)[1], self.counted.rows, a)

    def total(self, column: str) -> Summary:
        """The share of a column's people among all."""
        weights, b = np.zeros(self.cells.shape), self.of.find(column)
        weights[:, b] = 1.0
        return self._sum(weights.ravel(), self.counted.columns, b)

    def test(self) -> Test:
        """Whether the two answers are independent, by a chi-square statistic that knows the noise.

        Where few reports or much noise make that law doubtful, simulated studies of independent answers must
        agree. With fewer than 10 reports there is no verdict.
        """
        return self._test

    @cached_property
    def _test(self) -> Test:
        return self.evidence.test()

    def trend(self, rows: Sequence[float] | None = None, columns: Sequence[float] | None = None) -> Test:
        """Whether one answer grows or falls with the other.

        Positions are those of the answers on a scale of numbers, unless they are given; else 0, 1, 2, ...
        """
        points = self.by.positions(rows), self.of.positions(columns)
        test = self.evidence.trend(points)
        if not test.degrees:
            return test
        is_scale = self.of.points is not None or columns is not None
        is_rising = self.evidence.find_slope(points) > 0
        return replace(test, direction=self._say_direction(points, is_rising, is_scale))

    def _say_direction(self, points: tuple[Floats, Floats], is_rising: bool, is_scale: bool) -> str:
        first, last = (self.rows[int(find(points[0]))] for find in (np.argmin, np.argmax))
        goes = "rises" if is_rising else "falls"
        if not is_scale:  # names neither rise nor fall
            goes = f"moves toward {self.columns[int((np.argmax if is_rising else np.argmin)(points[1]))]}"
        return f"{self.of.name} {goes} from {first} to {last}"

    def difference(self, row: str, other: str, column: str | None = None) -> Summary:
        """How much larger a column's share is in one row than in another.

        The interval combines the ends of both rows, so that it holds where few people are in one of them.
        """
        name = self.columns[self.of.find(column)]
        counted = self._compare_counts(DIFFERENCE, row, other, column, name)
        if counted is not None:
            return counted
        weights = self._weigh_cells(row, other, column)
        ratios = [(float(top @ self._flat), float(bottom @ self._flat)) for top, bottom in weights]
        if min(bottom for _, bottom in ratios) <= 0:
            return Summary(math.nan, math.inf, -1.0, 1.0)
        slopes = [(top - x / y * bottom) / y for (top, bottom), (x, y) in zip(weights, ratios, strict=True)]
        seen = [
            Seen(x / y, 0.0, self._find_reached(*weights_of_share, x, y))
            for weights_of_share, (x, y) in zip(weights, ratios, strict=True)
        ]
        error = self._error(slopes[0] - slopes[1])
        # noise that takes from one row gives to others, so that a difference may err more than two rows apart
        apart = math.hypot(*map(self._error, slopes))
        reach = self.reach * (max(error / apart, 1.0) if apart > 0 else 1.0)
        compared = compare_shares(DIFFERENCE, seen[0], seen[1], reach, _ANGLES, name)
        return replace(compared, stderr=error)

    def _compare_counts(
        self, comparison: Comparison, row: str, other: str, column: str | None, points_of: str = ""
    ) -> Summary | None:
        """Compare a column's shares in two rows by their counts; None where normal errors are as good."""
        a, c, b = self.by.find(row), self.by.find(other), self.of.find(column)
        counts = self.counted.cells
        if counts is None or not (counts.is_needed[a, b] or counts.is_needed[c, b]):
            return None
        first, second = counts.look_at(a, b), counts.look_at(c, b)
        return compare_shares(comparison, first, second, self.reach, counts.angles, points_of)

    def _find_reached(self, top: Floats, bottom: Floats, x: float, y: float) -> Callable[[Floats], Ends]:
        """The ends of one share of a row's people at any reach, by Fieller."""
        weights = np.array([top, bottom])
        square = weights @ self.covariance @ weights.T
        variances, between = (float(square[0, 0]), float(square[1, 1])), float(square[0, 1])
        return lambda reach: find_ratio_ends(x, y, variances, between, reach)

    def mean(self, row: str, positions: Sequence[float] | None = None) -> Summary:
        """The mean of a numbered answer among a row's people, by the middles of bins.

        `positions` are numbers for the columns, where they have none or an end is open.
        """
        return self._read_mean(row, positions).summary

    def mean_difference(self, row: str, other: str, positions: Sequence[float] | None = None) -> Summary:
        """How much larger the mean of a numbered answer is in one row than in another.

        Ends are combined as Zou and Donner (2008) do: by how far each interval reaches on its own side.
        """
        first, second = (self._read_mean(name, positions) for name in (row, other))
        is_known = first.is_known and second.is_known
        errors = [self._error(mean.slopes) for mean in (first, second)]
        covariance = float(first.slopes @ self.covariance @ second.slopes)
        # where a row says nothing, its mean may be anything, however the other one errs
        correlation = -1.0
        if is_known:
            correlation = (
                min(max(covariance / (errors[0] * errors[1]), -1.0), 1.0) if min(errors) > 0 else 0.0
            )
        value = first.center - second.center
        down = combine_reaches(
            first.center - first.summary.low, second.summary.high - second.center, correlation
        )
        up = combine_reaches(
            first.summary.high - first.center, second.center - second.summary.low, correlation
        )
        error = float(combine_reaches(errors[0], errors[1], correlation)) if is_known else math.inf
        within = first.summary.within + second.summary.within
        return Summary(value if is_known else math.nan, error, float(value - down), float(value + up), within)

    def _read_mean(self, row: str, positions: Sequence[float] | None) -> _RowMean:
        if positions is None and self.of.no_mean:
            raise InvalidParameter(
                f"{self.of.name!r} has no mean: {self.of.no_mean}; give positions=[...], a number for each "
                f"of its {self.of.size} columns"
            )
        a, points = self.by.find(row), self.of.positions(positions)
        within = 0.0 if positions is not None else self.of.within
        # shares of a row add up to 1: only distances from here are estimated
        middle = float(points.min() + points.max()) / 2
        top, bottom = np.zeros(self.cells.shape), np.zeros(self.cells.shape)
        top[a], bottom[a] = points - middle, 1.0
        weights = np.array([top.ravel(), bottom.ravel()])
        x, y = (weights @ self.cells.ravel()).tolist()
        error = weights @ self.covariance @ weights.T
        variances, covariance = (float(error[0, 0]), float(error[1, 1])), float(error[0, 1])
        limits = float(points.min()) - middle, float(points.max()) - middle
        low, high = fieller_within(x, y, variances, covariance, (1 - self.level) / 2, limits)
        is_known = y > 0 and (low > limits[0] or high < limits[1])
        value = min(max(x / y, limits[0]), limits[1]) if y > 0 else math.nan
        slopes = (weights[0] - x / y * weights[1]) / y if y > 0 else np.zeros(self.cells.size)
        center = min(max(value, low), high) if is_known else (low + high) / 2
        summary = Summary(
            middle + value, ratio_error(x, y, variances, covariance), middle + low, middle + high, within
        )
        return _RowMean(summary, middle + center, slopes, is_known)

    def ratio(self, row: str, other: str, column: str | None = None) -> Summary:
        """How many times as large a column's share is in one row as in another (the relative risk)."""
        counted = self._compare_counts(RATIO, row, other, column)
        if counted is not None:
            return counted
        (x, y), (u, v) = self._weigh_cells(row, other, column)
        # x / y over u / v is one fraction; its top and bottom are products, with their slopes
        return self._divide(self._multiply(x, v), self._multiply(u, y))

    def odds(self, row: str, other: str, column: str | None = None) -> Summary:
        """The ratio of odds, of the column against all others, in one row and in another."""
        counted = self._compare_counts(ODDS, row, other, column)
        if counted is not None:
            return counted
        (x, y), (u, v) = self._weigh_cells(row, other, column)
        return self._divide(self._multiply(x, v - u), self._multiply(u, y - x))

    def _multiply(self, first: Floats, other: Floats) -> _Product:
        """The product of two sums of cells, and how it moves with each cell."""
        a, b = float(first @ self._flat), float(other @ self._flat)
        return a * b, b * first + a * other

    def _divide(self, top: _Product, bottom: _Product) -> Summary:
        """A ratio of two products, with the ends of all ratios that the cells do not exclude."""
        across, along = self.covariance @ top[1], self.covariance @ bottom[1]
        variances = (float(top[1] @ across), float(bottom[1] @ along))
        covariance = float(top[1] @ along)
        low, high = fieller_within(top[0], bottom[0], variances, covariance, (1 - self.level) / 2, _RATIOS)
        value = max(top[0] / bottom[0], 0.0) if bottom[0] > 0 else math.nan
        error = ratio_error(top[0], bottom[0], variances, covariance)
        return Summary(value, error, low, high, is_ratio=True)

    def change(self, earlier: CrossTable, people: People | None = None) -> TableChange:
        """The change since an earlier round: of every share of a row's people, and of every cell.

        It is that of the population that people are drawn from, whether or not they answered twice. With
        "same", it is that of the very people whose reports are about both questions. With "others", other
        people answered each time, as in a plan that asks once.
        """
        return compare_tables(earlier, self, people)

    def share_slopes(self) -> Floats:
        """How each share of a row's people moves with the cells, to first order; a row for each share."""
        slopes = []
        for a in range(self.by.size):
            for b in range(self.of.size):
                top, bottom = self._weigh_cell(a, b)
                x, y = float(top @ self._flat), float(bottom @ self._flat)
                slopes.append((top - x / y * bottom) / y if y > 0 else np.zeros(self._flat.size))
        return np.array(slopes)

    def records(self) -> list[dict[str, Any]]:
        """A dictionary for each cell: the unbiased share of all people, and the share of the row's people."""
        records = []
        for a, row in enumerate(self.rows):
            for b, column in enumerate(self.columns):
                cell = self._conditional[a][b]
                records.append(
                    {
                        self.by.name: row,
                        self.of.name: column,
                        "cell": float(self.cells[a, b]),
                        "cell_stderr": float(self.cell_stderr[a, b]),
                        "share": cell.value,
                        "shown": float(self.shown[a, b]),
                        "low": cell.low,
                        "high": cell.high,
                        "stderr": cell.stderr,
                        "known": bool(self.is_known[a, b]),
                        "n": self.n,
                        "level": self.level,
                        "test": self.test().sentence,
                    }
                    | ({"effective": self.effective[a]} if self.effective else {})
                )
        return records

    def about(self) -> dict[str, Any]:
        """Everything, ready for JSON; an infinite number is null."""
        keys = {self.by.name: "row", self.of.name: "column"}
        rows = [
            {keys.get(name, name): keep_finite(value) for name, value in row.items() if name not in _COMMON}
            for row in self.records()
        ]
        return {
            "of": self.of.name,
            "by": self.by.name,
            "questions": self.question_texts,
            "n": self.n,
            "level": self.level,
            "rows": list(self.rows),
            "columns": list(self.columns),
            "cells": rows,
            "method": self.method,
            "note": self._explain_shown(),
            "weighted": self.weighted,
            "cautions": list(self.cautions),
            "effective": list(self.effective),
            "test": self.test().about(),
        }

    def frame(self, backend: Backend | None = None) -> Any:
        """The records as a dataframe of the library you already have: pandas, polars or pyarrow."""
        return frame_of_rows(self.records(), backend)

    def plot(self) -> Figure:
        """A figure of matplotlib: the share of each column in every row, with its interval."""
        return _plot_table(self)

    def __str__(self) -> str:
        heading = (
            f"{self.of.name} by {self.by.name}: shares of each row's people "
            f"({format_count(self.n, 'report')}), "
            f"{100 * self.level:g} % intervals"
        )
        rows = [
            [row, _format(self.base(row), True), *map(_format, cells, self.is_known[a], self.shown[a])]
            for a, (row, cells) in enumerate(zip(self.rows, self._conditional, strict=True))
        ]
        lines = format_table([self.by.name, "of all", *self.columns], rows)
        means = [] if self.of.no_mean else [f"mean of {row}: {self.mean(row)}" for row in self.rows]
        notes = filter(None, [self.weighted, *self.cautions, self._explain_shown()])
        return "\n".join([heading, *self.quote_questions(), *lines, *means, *notes, str(self.test())])

    def __repr__(self) -> str:
        size = f"{self.by.size} x {self.of.size}"
        return f"<CrossTable of {self.of.name} by {self.by.name}: {size}, {format_count(self.n, 'report')}>"

    def _within(self, shares: Floats) -> Floats:
        middles = (self.low + self.high) / 2
        return np.where(self.is_known & ~np.isnan(shares), shares.clip(self.low, self.high), middles)

    def _explain_shown(self) -> str:
        if self.method == "unbiased":
            return ""
        what = "most likely" if self.method == "most likely" else "nearest possible"
        return (
            f"some cells are estimated below 0, so that shares of the {what} table are shown; intervals, "
            "sums and tests are of the unbiased cells. Intervals are cut at 0 and at 100 %: a narrow one "
            "there is not better known"
        )

    @property
    def _flat(self) -> Floats:
        return self.cells.ravel()

    @property
    def reach(self) -> float:
        """How many standard errors an interval reaches."""
        return reach_of((1 - self.level) / 2)

    def _error(self, weights: Floats) -> float:
        return math.sqrt(max(float(weights @ self.covariance @ weights), 0.0))

    def _sum(self, weights: Floats, counts: SideCounts | None, at: int) -> Summary:
        """A sum of cells; by its count of reports, where that is known."""
        value, error = float(weights @ self._flat), self._error(weights)
        if counts is not None:
            low, high = (float(end[at]) for end in counts.interval((1 - self.level) / 2))
            share, variance = float(counts.shares[at]), float(counts.variances[at])
            return Summary(share, math.sqrt(variance), low, high, edges=(low, high))
        reach = self.reach * error
        cut = Summary(value, error, value - reach, value + reach, edges=(1 - reach, reach)).cut()
        return replace(cut, value=value, edges=(cut.low, cut.high))

    def _weigh_cells(self, row: str, other: str, column: str | None) -> list[tuple[Floats, Floats]]:
        """The weights of a column's cell in two rows, and of each whole row."""
        b = self.of.find(column)
        return [self._weigh_cell(self.by.find(name), b) for name in (row, other)]

    def _weigh_cell(self, a: int, b: int) -> tuple[Floats, Floats]:
        """The weights of one cell, and of its whole row."""
        cell, row = np.zeros(self.cells.shape), np.zeros(self.cells.shape)
        cell[a, b] = 1.0
        row[a] = 1.0
        return cell.ravel(), row.ravel()


def _format(cell: Summary, is_known: bool, center: float | None = None) -> str:
    if not is_known or math.isnan(cell.value):
        return "not known"
    value = cell.value if center is None else center
    return f"{format_percent(value)} ({format_percent(cell.low)} to {format_percent(cell.high)})"


class Differences(NamedTuple):
    """How much larger each number is in the later round, by rows and columns."""

    difference: Floats
    stderr: Floats
    """Its standard error; the largest that it can be, where nothing is known of dependence."""
    low: Floats
    high: Floats


@final
@dataclass(frozen=True, eq=False)
class TableChange(Printed):
    """The change of a table from an earlier round: of the shares of each row's people, and of the cells."""

    earlier: CrossTable
    later: CrossTable
    people: People = "population"
    """Whose change it is."""
    between: Floats | None = None
    """The covariance of the earlier with the later cells, row by row, of linked reports."""

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
        """Whose change it is, in words."""
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
        early, other = map(np.sqrt, self._variances(identity, identity))
        error = combine_reaches(early, other, self._correlations(identity, identity)).reshape(shape)
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
        return self._test

    @cached_property
    def _test(self) -> Test:
        error = self._null_covariance()
        values, vectors = np.linalg.eigh(error)
        kept = values > _ROUNDED * max(float(values.max()), 0.0)
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
                "test": self.test().sentence,
            }
            for a, row in enumerate(self.rows)
            for b, column in enumerate(self.columns)
        ]

    def about(self) -> dict[str, Any]:
        """Everything, ready for JSON; an infinite number is null."""
        keys = {self.later.by.name: "row", self.later.of.name: "column"}
        cells = [
            {keys.get(name, name): keep_finite(value) for name, value in row.items() if name not in _COMMON}
            for row in self.records()
        ]
        return {
            "of": self.later.of.name,
            "by": self.later.by.name,
            "questions": self.later.question_texts,
            "n": [self.earlier.n, self.later.n],
            "level": self.level,
            "people": self.people,
            "validity": self.validity,
            "weighted": self.later.weighted,
            "cells": cells,
            "test": self.test().about(),
        }

    def frame(self, backend: Backend | None = None) -> Any:
        """The records as a dataframe of the library you already have: pandas, polars or pyarrow."""
        return frame_of_rows(self.records(), backend)

    def plot(self) -> Figure:
        """A figure of matplotlib: the change of each column's share in every row, with its interval."""
        return _plot_change(self)

    def __str__(self) -> str:
        heading = (
            f"{self.later.of.name} by {self.later.by.name}: change of the shares of each row's people, "
            f"{100 * self.level:g} % intervals; {self.validity}"
        )
        heading += f"\n{self.later.weighted}" if self.later.weighted else ""
        rows = [
            [row, column, *self._describe(a, b)]
            for a, row in enumerate(self.rows)
            for b, column in enumerate(self.columns)
        ]
        names = [self.later.by.name, self.later.of.name, "earlier", "later", "difference in points"]
        lines = format_table(names, rows, left=names[:2])
        return "\n".join([heading, *self.later.quote_questions(), *lines, str(self.test())])

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
        if self.people == "population":
            before, after = self._split(earlier, self.earlier, early), self._split(later, self.later, other)
            return find_correlation(before, after, float(self._is_tied))
        if self.between is None:
            return np.zeros(early.size)
        covariances = np.einsum("ij,jk,ik->i", earlier, self.between, later)
        scale = np.sqrt(early * other)
        correlations: Floats = np.divide(covariances, scale, out=np.zeros_like(covariances), where=scale > 0)
        return correlations.clip(-1.0, 1.0)

    @property
    def _is_tied(self) -> bool:
        """Whether noise that is kept may be against a difference, so that nothing is known of dependence."""
        return self.people == "population" and not {self.earlier.repeats, self.later.repeats} <= _APART

    def _split(self, sums: Floats, table: CrossTable, variances: Floats) -> Spread:
        """The variances of weighted sums of a round's cells, by noise and by which people were drawn."""
        sampling = table.sampling(table.find_possible()) / table.n
        by_draw = np.minimum(np.einsum("ij,jk,ik->i", sums, sampling, sums).clip(0.0, None), variances)
        return Spread(variances - by_draw, by_draw)

    @cached_property
    def _pooled(self) -> Floats:
        """The table of both rounds, if nothing changed."""
        earlier, other = self.earlier, self.later
        return _project((earlier.n * earlier.own + other.n * other.own) / (earlier.n + other.n))

    def _null_covariance(self) -> Floats:
        """The covariance of the differences of cells, if nothing changed."""
        earlier, other = self.earlier, self.later
        if self.people == "linked":
            assert self.between is not None
            return np.asarray(earlier.covariance + other.covariance - self.between - self.between.T)
        tables, shares = (earlier, other), self._pooled
        by_draw = np.asarray(sum(table.sampling(shares) / table.n for table in tables))
        error = np.asarray(sum(table.spread(shares) / table.n for table in tables))
        if self._is_tied:  # no dependence makes a difference err more than twice independent rounds
            return 2 * error
        # what people keep is not against them; at most, who was drawn counts twice, or not at all
        times = {"same": -1, "others": 0, "population": 1}[self.people]
        return np.asarray(error + times * by_draw)


def compare_tables(earlier: CrossTable, later: CrossTable, people: People | None) -> TableChange:
    """The change from one table to another, by the interval that is valid for who answered."""
    if people not in (None, *get_args(People)) or people == "linked":
        raise InvalidParameter(
            f"people is 'same', 'population', 'others' or None, got {people!r}; for linked reports ask "
            "plan.compare_rounds(earlier, later).cross(of, by)"
        )
    if earlier.weighted != later.weighted or (people == "same" and later.weighted):
        raise InvalidParameter(
            "tables are compared if both are weighted alike, and then they are about a population, not about "
            "the same people: leave out people='same' (--people same)"
        )
    for name in ("by", "of"):
        if getattr(earlier, name) != getattr(later, name):
            raise InvalidParameter(
                f"tables are compared if their rows and columns are the same; one is of {earlier.of.name!r} "
                f"by {earlier.by.name!r}, the other of {later.of.name!r} by {later.by.name!r}, or their "
                "answers differ"
            )
    earlier = earlier.at(later.level)
    if people is None:  # who answers a plan that asks once has no second report
        is_once = later.plan_id == earlier.plan_id and later.repeats in ("once", "fresh")
        people = "others" if is_once else "population"
    if people == "same":
        if later.repeats in ("once", "tied"):
            raise InvalidParameter(
                "people='same' (--people same) is for a plan whose devices keep the noise of each value, by "
                "two rounds on values, or that asks once and whose every report tells of this table; leave "
                "it out for the change of the population"
            )
        earlier, later = _about_these(earlier), _about_these(later)
    return TableChange(earlier, later, people)


def _about_these(table: CrossTable) -> CrossTable:
    """The table by its own reports, and how far it may be off from that of the very people who made them."""
    possible = table.find_possible()  # at shares below 0 noise would be less than none
    fixed = (table.spread(possible) - table.sampling(possible)) / table.n
    return replace(table, cells=table.own, covariance=fixed, counted=Counted())


def _plot_table(table: CrossTable) -> Figure:
    """The share of each column in every row; of two columns, the first says all."""
    columns, of, by = table.columns, table.of.name, table.by.name
    about = f"share of the people in each row, with {100 * table.level:g} % intervals"
    indices = range(1 if len(columns) == 2 else len(columns))
    title = f"{of} by {by} ({format_count(table.n, 'report')}{', weighted' if table.weighted else ''})"
    shares, low, high = (array.clip(0.0, 1.0) for array in (table.shown, table.low, table.high))
    if len(indices) == 1:
        title = f"{of}: {columns[0]}, by {title.removeprefix(f'{of} by ')}"
    title += f": {shorten_text(table.of.text)}" if table.of.text else ""
    if len(indices) <= _MOST_SIDE_BY_SIDE:
        bars = [Bars(shares[:, b], columns[b], low[:, b], high[:, b]) for b in indices]
        return plot_bars([f"{row}" for row in table.rows], bars, title, about)
    labels = [f"{row}: {column}" for row in table.rows for column in columns]
    return plot_bars(labels, [Bars(shares.ravel(), "", low.ravel(), high.ravel())], title, about)


def _plot_change(change: TableChange) -> Figure:
    """The change of each column's share in every row; of two columns, the first says all."""
    of, by, columns = change.later.of.name, change.later.by.name, change.columns
    indices = range(1 if len(columns) == 2 else len(columns))
    title = f"{of}{f': {columns[0]}' if len(indices) == 1 else ''}, by {by}: change from round to round"
    about = f"change of shares of each row's people, in points, with {100 * change.level:g} % intervals"
    values = np.nan_to_num(change.difference)
    noisy = np.isnan(change.difference)
    if len(indices) <= _MOST_SIDE_BY_SIDE:
        bars = [
            Bars(values[:, b], columns[b], change.low[:, b], change.high[:, b], noisy=noisy[:, b].tolist())
            for b in indices
        ]
        return plot_bars(change.rows, bars, title, about, format_points)
    labels = [f"{row}: {column}" for row in change.rows for column in columns]
    ends = (change.low.ravel(), change.high.ravel())
    bars = [Bars(values.ravel(), "", *ends, noisy=noisy.ravel().tolist())]
    return plot_bars(labels, bars, title, about, format_points)
