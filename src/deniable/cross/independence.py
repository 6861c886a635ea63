"""Tests whether two answers depend on each other, with the error that the noise of reports adds.

The difference of a table from independence holds the product of two margins, and so the product of their
errors. Statistics of few or noisy reports are linear in the cells at margins that are possible, and count
what is left of that product. Where counts are small or margins hardly known, simulated studies of independent
answers must agree.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, final

import numpy as np

from deniable.arrays import Floats, Integers
from deniable.estimate.consistency import nearest_with_total, simplex
from deniable.exact import number, whole_number
from deniable.formatting import Printed, format_count, format_digits, keep_finite

Covariance = Callable[[Floats], Floats]
"""The covariance of the cells of a table from one report, if this is the true table, row by row."""
Draw = Callable[[Floats, int, np.random.Generator], Floats]
"""The cells of so many simulated studies of people with this table."""
Points = tuple[Floats, Floats]
"""The positions of rows and columns on their scales."""
Sought = Literal["dependence", "trend", "change"]
Verdict = Literal["found", "not found", "cannot tell"]
LEAST_REPORTS = 10
"""With fewer there is no verdict."""
LEVEL = 0.05
"""How often a test may find what is not there, unless another level is given."""
_QUESTIONS: dict[Sought, str] = {
    "dependence": "the answers depend on each other",
    "trend": "there is a trend",
    "change": "the answers changed",
}
_POWER = 0.8
_STUDIES = 999
_LIKELY = 0.1  # a p-value above it needs no second look
_ENOUGH = 25.0  # expected reports that support a cell
_SURE = 0.1  # the error of a margin
_LARGEST = 0.25  # the variance of a share that may be anything
_RIDGE = 1e-10  # of the mean variance, where noise leaves out a direction
_MOST_CELLS = 64  # of larger tables, simulated studies are weighed as the study itself
_BLOCK = 1 << 22  # numbers of a stack of covariances at once
_TINY = 1e-12


@final
@dataclass(frozen=True)
class Test(Printed):
    """A chi-square statistic and its degrees of freedom; `p` is its probability if nothing is there."""

    __test__ = False  # no test of pytest's

    statistic: float
    degrees: int
    """0 where all reports are of one row or column: then there is nothing to test."""
    n: int
    """How many reports it is of."""
    sought: Sought = "dependence"
    """What is looked for."""
    detectable: float = math.inf
    """How much the share of any column in any one row must differ from that of the others, or change, to be
    found by 80 % of studies like this one; of a trend, as a part of the strongest that is possible. Infinite
    where there is no test.
    """
    direction: str = ""
    """Where a trend goes by the estimate, found or not: "wait rises from f to m"."""
    fewest: int | None = None
    """How many reports the smaller round has, where two are compared."""
    simulated: float | None = None
    """The p-value by simulated studies of independent answers; None where the chi-square law needs no check.
    """

    @property
    def p(self) -> float:
        """How often reports have a statistic at least as large where nothing is there.

        It is the larger one of the chi-square law and of simulated studies; nan where there is no test.
        """
        if self._missing:
            return math.nan
        return max(_find_tail(self.degrees, self.statistic), self.simulated or 0.0)

    @property
    def verdict(self) -> Verdict:
        """Whether it is found at 5 %; "cannot tell" where there is no test, or hardly a chance to find it."""
        if self._missing:
            return "cannot tell"
        if self.p < LEVEL:
            return "found"
        return "cannot tell" if self.detectable >= 1 else "not found"

    @property
    def effect(self) -> float:
        """How much each report adds to the statistic on average, estimated without bias, 0 at least."""
        return max(self.statistic - self.degrees, 0.0) / self.n

    def power(self, n: int, level: float = LEVEL, effect: float | None = None) -> float:
        """How often so many reports find it, if this dependence, or another `effect`, is the true one."""
        return find_power(self.effect if effect is None else effect, self.degrees, n, level)

    def about(self) -> dict[str, Any]:
        """Everything, ready for JSON; an infinite number is null, and so is p where there is no test."""
        return {
            "statistic": self.statistic,
            "degrees": self.degrees,
            "p": keep_finite(self.p),
            "verdict": self.verdict,
            "detectable": keep_finite(self.detectable),
            "sentence": self.sentence,
        }

    @property
    def sentence(self) -> str:
        """What is found; where nothing is, what studies like this one often miss."""
        question = _QUESTIONS[self.sought]
        if self._missing:
            return f"this study could not tell whether {question}: {self._missing}"
        p = f"p = {self.p:.3f}" if self.p >= 0.001 else "p < 0.001"
        if self.verdict == "found":
            return f"{question} ({p}){f': {self.direction}' if self.direction else ''}"
        return f"this study could not tell whether {question} ({p}): {self._say_missed()}"

    def __str__(self) -> str:
        if self._missing:
            return self.sentence
        degrees = "1 degree" if self.degrees == 1 else f"{self.degrees} degrees"
        return f"{self.sentence}; chi-square {self.statistic:.2f} with {degrees} of freedom"

    @property
    def _missing(self) -> str:
        """Why there is no test; empty where there is one."""
        if not self.degrees:
            return "all reports are of one row or column"
        if self.fewest is not None and self.fewest < LEAST_REPORTS:
            return f"a round has {format_count(self.fewest, 'report')}, and a test needs {LEAST_REPORTS}"
        if self.n < LEAST_REPORTS:
            return f"it has {format_count(self.n, 'report')}, and a test needs {LEAST_REPORTS}"
        return ""

    def _say_missed(self) -> str:
        """What more than one of five such studies miss."""
        if self.sought == "trend":
            if self.detectable >= 1:
                return "even the strongest trend is often missed here"
            part = format_digits(100 * self.detectable, 2)
            return f"trends below {part} % of the strongest possible one are often missed here"
        changes = f"{'change' if self.sought == 'change' else 'difference'}s"
        if self.detectable >= 1:
            return (
                f"its smallest row has so few reports that even the largest {changes} there are often missed"
            )
        return f"{changes} below {format_digits(100 * self.detectable, 2)} points are often missed here"


def _find_tail(degrees: int, statistic: float) -> float:
    """How often the chi-square law gives a statistic at least as large."""
    from scipy.special import chdtrc

    return float(chdtrc(degrees, statistic))


def find_power(effect: float, degrees: int, n: int, level: float = LEVEL) -> float:
    """How often a test at this level finds an effect, by the noncentral chi-square distribution."""
    from scipy.special import chdtri, chndtr

    noncentral, limit = whole_number("n", n, 1) * effect, number("a level", level, 0.0, 1.0)
    return 1 - float(chndtr(chdtri(degrees, limit), degrees, noncentral))


def find_noncentral(degrees: int, power: float = _POWER, level: float = LEVEL) -> float:
    """The noncentrality at which a test finds what is there this often."""
    from scipy.special import chdtri, chndtrinc

    level = number("a level", level, 0.0, 1.0)
    return float(chndtrinc(chdtri(degrees, level), degrees, 1 - number("a power", power, level, 1.0)))


def find_dependence(cells: Floats, covariance: Covariance) -> tuple[float, int]:
    """What each of many reports adds to the statistic of independence, and the degrees of freedom.

    The differences from independence are weighed by their own covariance under the nearest independent table,
    to first order: that is for planning. Tests of few reports need more (see `independence`).
    """
    rows, columns = cells.shape
    null = find_null(cells)
    apart = (cells * cells.sum() - np.outer(cells.sum(axis=1), cells.sum(axis=0)))[:-1, :-1].ravel()
    slopes = find_slopes(null)
    noncentrality = apart @ np.linalg.solve(slopes @ covariance(null) @ slopes.T, apart)
    return float(noncentrality), (rows - 1) * (columns - 1)


def list_moves(cells: Floats) -> Floats:
    """How the cells move if a column's share of one row grows by 1: a line for each row and column."""
    moves = []
    for a, base in enumerate(cells.sum(axis=1)):
        shares = cells[a] / max(base, _TINY)
        for b, share in enumerate(shares):
            move = np.zeros(cells.shape)
            move[a] = -base * shares / max(1 - share, _TINY)
            move[a, b] = base
            moves.append(move.ravel())
    return np.array(moves)


def find_null(cells: Floats) -> Floats:
    """The independent table with the nearest possible margins, of a table or of a stack of them."""
    total = np.clip(cells.sum(axis=(-2, -1)), _TINY, 1.0)[..., None]
    by_row, by_column = (nearest_with_total(cells.sum(axis=axis), total) for axis in (-1, -2))
    return np.asarray(by_row[..., :, None] * by_column[..., None, :] / total[..., None])


def find_slopes(null: Floats) -> Floats:
    """How the differences from independence, without the last row and column, move with the cells."""
    rows, columns = null.shape[-2:]
    by_row, by_column = null.sum(axis=-1), null.sum(axis=-2)
    one_row, one_column = np.eye(rows)[:-1], np.eye(columns)[:-1]
    total = null.sum(axis=(-2, -1))[..., None, None, None, None]
    slopes = total * np.einsum("ik,jl->ijkl", one_row, one_column)
    slopes = slopes - np.einsum("ik,...j,l->...ijkl", one_row, by_column[..., :-1], np.ones(columns))
    slopes -= np.einsum("...i,k,jl->...ijkl", by_row[..., :-1], np.ones(rows), one_column)
    slopes += null[..., :-1, :-1, None, None]
    return np.asarray(slopes.reshape(*null.shape[:-2], -1, rows * columns))


@final
@dataclass(frozen=True, eq=False)
class Evidence:
    """The cells that a test looks at, and what chance makes of independent answers."""

    cells: Floats
    """Unbiased shares of all people, by rows and columns."""
    n: int
    """How many reports they are of."""
    covariance: Covariance
    """The covariance of the cells from one report, if this is the true table, row by row."""
    draw: Draw
    count_supports: Callable[[Floats], float]
    """The smallest expected number of reports that support a cell, if this is the true table."""
    known: Literal["rows", "columns"] | None = None
    """The side whose sizes are known without noise."""
    is_mixture: bool = True
    """Whether the covariance is that of one person, or of one in each group of the known side."""

    def test(self) -> Test:
        """Whether the two answers are independent."""
        rows, columns = (kept.size for kept in self._kept)
        if min(rows, columns) < 2:
            return Test(0.0, 0, self.n)
        reported = self._reported
        model = reported.fit(reported.cells, reported.covariance)
        degrees = (rows - 1) * (columns - 1)
        statistic = float(model.dependence(reported.cells))
        simulated = reported.simulate(model, degrees, statistic, _Fit.dependence)
        detectable = model.find_detectable(degrees)
        return Test(statistic, degrees, self.n, detectable=detectable, simulated=simulated)

    def trend(self, points: Points) -> Test:
        """Whether one answer grows or falls with the other, by these positions; its direction is not said."""
        kept_points = tuple(at[kept] for at, kept in zip(points, self._kept, strict=True))
        if min(len(set(at.tolist())) for at in kept_points) < 2:
            return Test(0.0, 0, self.n, "trend")
        reported = self._reported
        at_row, at_column = kept_points
        model = reported.fit(reported.cells, reported.covariance)

        def square(fit: _Fit, cells: Floats, model: _Fit | None = None) -> Floats:
            return fit.trend(cells, (at_row, at_column), model) ** 2

        statistic = float(square(model, reported.cells))
        simulated = reported.simulate(model, 1, statistic, square)
        detectable = math.sqrt(find_noncentral(1)) / model.strongest_trend((at_row, at_column))
        return Test(statistic, 1, self.n, "trend", detectable, simulated=simulated)

    def find_slope(self, points: Points) -> float:
        """The statistic of a trend with its sign: above 0 where one answer rises with the other."""
        at_row, at_column = (at[kept] for at, kept in zip(points, self._kept, strict=True))
        reported = self._reported
        return float(
            reported.fit(reported.cells, reported.covariance).trend(reported.cells, (at_row, at_column))
        )

    def fit(self, cells: Floats, covariance: Covariance) -> _Fit:
        """Independent answers with the nearest possible margins, of a table or of a stack of them."""
        total = np.clip(cells.sum(axis=(-2, -1)), _TINY, 1.0)
        by_row, by_column = (simplex(cells.sum(axis=axis) / total[..., None]) for axis in (-1, -2))
        added = 1.0 if self.known is None else 0.5
        if self.known != "rows":
            by_row = _smooth(by_row, self.n, added)
        if self.known != "columns":
            by_column = _smooth(by_column, self.n, added)
        null = total[..., None, None] * by_row[..., :, None] * by_column[..., None, :]
        return _Fit(total, by_row, by_column, null, covariance(null) / self.n)

    def simulate(
        self, model: _Fit, degrees: int, statistic: float, find: Callable[[_Fit, Floats, _Fit | None], Floats]
    ) -> float | None:
        """The p-value by studies of independent answers; None where the chi-square law needs no check.

        The same tally gives the same studies.
        """
        if _find_tail(degrees, statistic) > _LIKELY or self.n < 1:
            return None
        if self.count_supports(model.null) >= _ENOUGH and model.largest_error() <= _SURE:
            return None
        seed = hashlib.blake2b(np.round(self.cells, 9).tobytes() + b"%d" % self.n, digest_size=16).digest()
        generator = np.random.default_rng(int.from_bytes(seed))
        stack = self.draw(model.null, _STUDIES, generator)
        if self.cells.size > _MOST_CELLS:
            squares = find(self.fit(stack, np.zeros_like), stack, model)
        else:
            covariance = self.stack_covariances(model.null)
            parts = np.array_split(stack, -(-len(stack) * self.cells.size**2 // _BLOCK))
            squares = np.concatenate([find(self.fit(part, covariance), part, None) for part in parts])
        # of equal tallies, rounding must not tell which statistic is the larger one
        return float(1 + (squares >= statistic * (1 - 1e-9)).sum()) / (1 + _STUDIES)

    def stack_covariances(self, null: Floats) -> Covariance:
        """The covariance of one report for a stack of tables, from that of people who are all in one cell.

        A report is of one person, so that the squares of its cells are a mean over people.
        """
        if not self.is_mixture:
            return lambda tables: np.array([self.covariance(table) for table in tables])
        total, size = float(null.sum()), null.size
        squares = np.empty((size, size, size))
        for cell in range(size):
            alone = np.zeros(size)
            alone[cell] = total
            squares[cell] = self.covariance(alone.reshape(null.shape)) + np.outer(alone, alone)
        rows, columns = np.indices(null.shape).reshape(2, -1)
        group = {"rows": rows, "columns": columns, None: np.zeros(size, dtype=np.int64)}[self.known]
        is_together = group[:, None] == group

        def mix(tables: Floats) -> Floats:
            means = _flatten(tables) * (total / tables.sum(axis=(-2, -1)))[..., None]
            products = means[..., :, None] * means[..., None, :]
            if self.known is not None:  # the sizes of groups do not vary
                bases = means @ is_together
                products = products * is_together / np.maximum(bases, _TINY)[..., None]
            return np.asarray(np.tensordot(means / total, squares, axes=1) - products)

        return mix

    @cached_property
    def _kept(self) -> tuple[Integers, Integers]:
        """The rows and columns that reports tell of: a known group may have none yet."""
        return np.flatnonzero(self.cells.any(axis=1)), np.flatnonzero(self.cells.any(axis=0))

    @cached_property
    def _reported(self) -> Evidence:
        """The part of the table that reports tell of."""
        if tuple(kept.size for kept in self._kept) == self.cells.shape:
            return self
        rows, columns = self._kept
        inside = np.ix_(rows, columns)
        flat = np.arange(self.cells.size).reshape(self.cells.shape)[inside].ravel()

        def fill(null: Floats) -> Floats:
            full = np.zeros(self.cells.shape)
            full[inside] = null
            return full

        return replace(
            self,
            cells=self.cells[inside],
            covariance=lambda null: self.covariance(fill(null))[np.ix_(flat, flat)],
            draw=lambda null, runs, generator: self.draw(fill(null), runs, generator)[:, rows][:, :, columns],
            count_supports=lambda null: self.count_supports(fill(null)),
        )


@final
class _Fit(NamedTuple):
    """Independent answers that are nearest to a table, or to each of a stack of them."""

    total: Floats
    """The share of people who are in a cell."""
    by_row: Floats
    by_column: Floats
    """The shares of rows and columns among them."""
    null: Floats
    spread: Floats
    """The covariance of the cells from all reports."""

    def dependence(self, cells: Floats, model: _Fit | None = None) -> Floats:
        """The chi-square statistic of independence; where a model is given, with the errors of that one."""
        apart = self._differences(cells)
        if model is None:
            solved = np.linalg.solve(self._variance(), apart[..., None])[..., 0]
        else:
            solved = np.linalg.solve(model._variance(), apart.T).T
        return np.asarray((apart * solved).sum(axis=-1))

    def trend(self, cells: Floats, points: Points, model: _Fit | None = None) -> Floats:
        """The standardized covariance of both positions; where a model is given, with the error of it."""
        weights = self._weigh(points)
        error = (self if model is None else model)._trend_error(points)
        return np.asarray((weights * _flatten(cells)).sum(axis=-1) / error)

    def strongest_trend(self, points: Points) -> float:
        """The largest statistic of a trend, up or down, that people with these margins can have."""
        cumulative, steps = [], []
        for at, shares in zip(points, (self.by_row, self.by_column), strict=True):
            order = np.argsort(at, kind="stable")
            cumulative.append(np.cumsum(shares[order])[:-1])
            steps.append(np.diff(at[order]))
        product = np.multiply.outer(*cumulative)
        most = np.minimum.outer(*cumulative) - product
        least = np.maximum(np.add.outer(*cumulative) - 1, 0.0) - product
        reached = max(abs(float(steps[0] @ side @ steps[1])) for side in (most, least))
        return max(float(self.total) * reached / float(self._trend_error(points)), _TINY)

    def find_detectable(self, degrees: int) -> float:
        """How much any share of one row must differ from the others' to be found by 80 % of such studies.

        The other columns of the row give what one of them takes, as they have it.
        """
        apart = self._slopes() @ list_moves(self.null).T
        least = float((apart * np.linalg.solve(self._variance(), apart)).sum(axis=0).min())
        return math.sqrt(find_noncentral(degrees) / least) if least > 0 else math.inf

    def largest_error(self) -> float:
        """The largest standard error of the share of a row or a column."""
        return math.sqrt(max(float(_diagonal(margin).max()) for margin in self._margins()))

    def _differences(self, cells: Floats) -> Floats:
        """From independence at these margins, without the last row and column."""
        rows, columns = cells.sum(axis=-1), cells.sum(axis=-2)
        expected = rows[..., :, None] * self.by_column[..., None, :]
        expected = expected + self.by_row[..., :, None] * columns[..., None, :]
        product = self.by_row[..., :, None] * self.by_column[..., None, :]
        apart = cells - expected + product * cells.sum(axis=(-2, -1), keepdims=True)
        return _flatten(apart[..., :-1, :-1])

    def _slopes(self) -> Floats:
        return np.asarray(find_slopes(self.null) / self.total[..., None, None])

    def _variance(self) -> Floats:
        """The covariance of the differences: by the reports, and by the product of both margins' errors."""
        slopes = self._slopes()
        first_order = slopes @ self.spread @ slopes.swapaxes(-2, -1)
        by_row, by_column = (_cap(margin[..., :-1, :-1]) for margin in self._margins())
        product = np.einsum("...ik,...jl->...ijkl", by_row, by_column).reshape(first_order.shape)
        variance = first_order + self.total[..., None, None] ** 2 * product
        ridge = _RIDGE * _diagonal(variance).mean(axis=-1)
        return np.asarray(variance + ridge[..., None, None] * np.eye(variance.shape[-1]))

    def _margins(self) -> tuple[Floats, Floats]:
        """The covariances of the shares of rows, and of columns."""
        rows, columns = self.null.shape[-2:]
        covariances = []
        for shares, sums in (
            (self.by_row, np.kron(np.eye(rows), np.ones(columns))),
            (self.by_column, np.kron(np.ones(rows), np.eye(columns))),
        ):
            slopes = (sums - shares[..., :, None]) / self.total[..., None, None]
            covariances.append(slopes @ self.spread @ slopes.swapaxes(-2, -1))
        return covariances[0], covariances[1]

    def _weigh(self, points: Points) -> Floats:
        """The products of both positions, each from its mean."""
        by_row, by_column = (
            at - (shares @ at)[..., None]
            for at, shares in zip(points, (self.by_row, self.by_column), strict=True)
        )
        return _flatten(by_row[..., :, None] * by_column[..., None, :])

    def _trend_error(self, points: Points) -> Floats:
        weights = self._weigh(points)
        first_order = np.einsum("...i,...ij,...j->...", weights, self.spread, weights)
        by_row, by_column = (
            np.einsum("i,...ij,j->...", at, _cap(margin), at)
            for at, margin in zip(points, self._margins(), strict=True)
        )
        variance = first_order + self.total**2 * by_row * by_column
        return np.asarray(np.sqrt(np.maximum(variance, np.finfo(np.float64).tiny)))


def _smooth(shares: Floats, n: int, added: float) -> Floats:
    """Shares as if somebody more, or half of a person, were in each."""
    return np.asarray((n * shares + added) / (n + added * shares.shape[-1]))


def _cap(covariance: Floats) -> Floats:
    """A covariance of shares, scaled down where a variance is more than any share can have."""
    largest = np.maximum(_diagonal(covariance).max(axis=-1), _TINY)
    return np.asarray(covariance * np.minimum(1.0, _LARGEST / largest)[..., None, None])


def _diagonal(covariance: Floats) -> Floats:
    return np.asarray(np.diagonal(covariance, axis1=-2, axis2=-1))


def _flatten(cells: Floats) -> Floats:
    return cells.reshape(*cells.shape[:-2], -1)
