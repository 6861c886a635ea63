"""Tests whether two answers depend on each other, with the error that the noise of reports adds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
from scipy.special import chdtrc, chdtri, chndtr, chndtrinc

from deniable.arrays import Floats
from deniable.errors import InvalidParameter
from deniable.estimate.consistency import nearest_with_total
from deniable.exact import number, whole_number
from deniable.formatting import format_count, format_digits, keep_finite

Covariance = Callable[[Floats], Floats]
"""The covariance of the cells of a table from one report, if this is the true table, row by row."""
Sought = Literal["dependence", "trend", "change"]
Verdict = Literal["found", "not found", "cannot tell"]
LEAST_REPORTS = 10
"""With fewer there is no verdict."""
LEVEL = 0.05
"""How often a test may find what is not there, unless another level is given."""
_QUESTIONS: dict[Sought, str] = {
    "dependence": "the answers depend on each other",
    "trend": "there is a trend",
    "change": "anything changed",
}
_POWER = 0.8
_TINY = 1e-12
_MOST_PEOPLE = 1e15


@final
@dataclass(frozen=True)
class Test:
    """A chi-square statistic and its degrees of freedom; `p` is its probability if nothing is there."""

    __test__ = False  # no test of pytest's

    statistic: float
    degrees: int
    """0 where all reports are of one row or column: then there is nothing to test."""
    n: int
    """How many reports it is of."""
    sought: Sought = "dependence"
    """What is looked for."""
    detectable: float | None = None
    """How much the share of any column in any one row must differ from that of the others, or change, to be
    found by 80 % of studies like this one; of a trend, as a part of the strongest that is possible. None
    where it is not computed.
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
        return max(float(chdtrc(self.degrees, self.statistic)), self.simulated or 0.0)

    @property
    def verdict(self) -> Verdict:
        """Whether it is found at 5 %; "cannot tell" where there is no test, or hardly a chance to find it."""
        if self._missing:
            return "cannot tell"
        if self.p < LEVEL:
            return "found"
        return "cannot tell" if self.detectable is not None and self.detectable >= 1 else "not found"

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
            "detectable": None if self.detectable is None else keep_finite(self.detectable),
            "sentence": str(self),
        }

    def __str__(self) -> str:
        if self.verdict == "cannot tell":
            return f"this study cannot tell whether {_QUESTIONS[self.sought]}: {self._say_why()}"
        is_found = self.verdict == "found"
        what = f"no {self.sought}"
        if is_found:
            what = self.sought if self.sought == "dependence" else f"a {self.sought}"
        p = f"p = {self.p:.3f}" if self.p >= 0.001 else "p < 0.001"
        degrees = "1 degree" if self.degrees == 1 else f"{self.degrees} degrees"
        more = f"; {self.direction}" if is_found and self.direction else self._say_detectable()
        return (
            f"{what} is found at {100 * LEVEL:g} % ({p}): chi-square {self.statistic:.2f} with {degrees} of "
            f"freedom{more}"
        )

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

    def _say_why(self) -> str:
        """Why the study cannot tell."""
        if self._missing:
            return self._missing
        if self.sought == "trend":
            return f"not even the strongest trend is found in four studies of five (p = {self.p:.3f})"
        if self.sought == "change":
            return f"its smallest row has too few reports to find a change in it (p = {self.p:.3f})"
        return f"its smallest row has too few reports to find a difference in it (p = {self.p:.3f})"

    def _say_detectable(self) -> str:
        """What a test that finds nothing would have found."""
        if self.detectable is None or self.verdict == "found" or self.sought == "trend":
            return ""
        points, moved = format_digits(100 * self.detectable, 2), "is {} points off"
        if self.sought == "change":
            moved = "changes by {} points"
        return f"; a share of one row that {moved.format(points)} is found in four studies of five"


def find_power(effect: float, degrees: int, n: int, level: float = LEVEL) -> float:
    """How often a test at this level finds an effect, by the noncentral chi-square distribution."""
    return _power_of(whole_number("n", n, 1) * effect, degrees, number("a level", level, 0.0, 1.0))


def find_people(effect: float, degrees: int, power: float = _POWER, level: float = LEVEL) -> int:
    """How many reports it takes to find an effect this often.

    >>> find_people(3.313596e-4, 4), find_people(2.744342e-3, 4)
    (36020, 4350)
    """
    if not effect > 0 or find_noncentral(degrees, power, level) / effect > _MOST_PEOPLE:
        raise InvalidParameter("nothing is there to be found: no number of people would show it")
    return math.ceil(find_noncentral(degrees, power, level) / effect)


def find_noncentral(degrees: int, power: float = _POWER, level: float = LEVEL) -> float:
    """The noncentrality at which a test finds what is there this often."""
    level = number("a level", level, 0.0, 1.0)
    return float(chndtrinc(chdtri(degrees, level), degrees, 1 - number("a power", power, level, 1.0)))


def _power_of(noncentral: float, degrees: int, level: float) -> float:
    return 1 - float(chndtr(chdtri(degrees, level), degrees, noncentral))


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


def find_trend(cells: Floats, covariance: Covariance, points: tuple[Floats, Floats]) -> float:
    """What each of many reports adds to the squared statistic of a linear trend of these positions."""
    by_row, by_column = (
        at - cells.sum(axis=axis) @ at / cells.sum() for axis, at in zip((1, 0), points, strict=True)
    )
    weights = np.outer(by_row, by_column).ravel()
    return float((weights @ cells.ravel()) ** 2 / (weights @ covariance(find_null(cells)) @ weights))


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
