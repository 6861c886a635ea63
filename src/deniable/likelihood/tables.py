"""Finds the most likely table of several questions from reports about some of them each.

A report about some of the questions sums over the answers to all others: its channel is that of its own
cells, composed with summing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import final

import numpy as np

from deniable.arrays import Array, Floats, Integers
from deniable.errors import InvalidParameter
from deniable.exact import number
from deniable.likelihood.fitting import fit
from deniable.likelihood.problem import Counted, Grouped, Problem, Reported
from deniable.likelihood.problems import Source, build_problem
from deniable.likelihood.result import Likelihood
from deniable.likelihood.rows import Rows
from deniable.mechanisms import Tally


def mle_tables(
    parts: Sequence[tuple[Source, Tally | Array, Integers]],
    *,
    method: str = "auto",
    tolerance: float = 1e-9,
    iterations: int | None = None,
) -> Likelihood:
    """The most likely shares of all cells; with each part, the value that its reports have for each cell.

    Cells that no report tells apart share what is theirs in some way; their sums are certain.

    >>> from deniable.mechanisms import grr
    >>> rows, columns = Tally(100, np.array([60, 40])), Tally(100, np.array([70, 30]))
    >>> found = mle_tables([(grr(2, 9.0), rows, [0, 0, 1, 1]), (grr(2, 9.0), columns, [0, 1, 0, 1])])
    >>> [round(float(found.frequencies[cells].sum()), 3) for cells in ([0, 1], [0, 2])]
    [0.6, 0.7]
    """
    exact = number("tolerance", tolerance, 0.0, 1.0)
    if not parts:
        raise InvalidParameter("give at least one part: a mechanism, its tally or reports, and its values")
    built = [_sum_cells(build_problem(source, data), np.asarray(of)) for source, data, of in parts]
    if len(built) == 1:
        return fit(built[0], method, exact, iterations, None)
    return fit(Grouped(tuple(built)), method, exact, iterations, None)


def _sum_cells(problem: Problem, value_of: Integers) -> Counted | Reported:
    if not isinstance(problem, Counted | Reported):
        raise InvalidParameter(
            "sets of values need their reports: counts of support have no likelihood to add"
        )
    if np.array_equal(value_of, np.arange(problem.k)):
        return replace(problem, shape=())
    even = np.full(value_of.size, 1.0 / value_of.size)
    draw = partial(_redraw, problem, value_of)
    return Reported(problem.n, Merged(problem.rows, value_of), problem.outputs, even, draw)


def _redraw(
    problem: Counted | Reported, value_of: Integers, shares: Floats, generator: np.random.Generator
) -> Problem:
    summed = np.zeros(problem.k)
    np.add.at(summed, value_of, shares)
    return _sum_cells(problem.again(summed, generator), value_of)


@final
class Merged(Rows):
    """The rows of values, for cells of which several have one value."""

    def __init__(self, rows: Rows, value_of: Integers) -> None:
        self.rows, self.value_of = rows, value_of
        self.k, self.size, self.logs = value_of.size, rows.size, rows.logs
        self._sums = np.zeros((self.k, rows.k))
        self._sums[np.arange(self.k), value_of] = 1.0

    @property
    def roundings(self) -> int:
        return self.k + self.rows.roundings

    def forward(self, shares: Floats) -> Floats:
        return self.rows.forward(np.ascontiguousarray(shares @ self._sums))

    def backward(self, weights: Floats) -> Floats:
        return np.asarray(self.rows.backward(weights)[..., self.value_of])

    def gram(self, weights: Floats) -> Floats:
        return np.asarray(self.rows.gram(weights)[np.ix_(self.value_of, self.value_of)])
