"""Finds the most likely shares behind reports: of people, attributes and tables."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from deniable.arrays import Array, Floats, Integers
from deniable.errors import DeniableWarning, InvalidParameter, InvalidReport, not_among
from deniable.exact import number, whole_number
from deniable.likelihood.certificate import Progress, Solution
from deniable.likelihood.problem import Counted, Grouped, Problem, Reported
from deniable.likelihood.result import Likelihood
from deniable.likelihood.rows import Merged, few_threads
from deniable.likelihood.solving import MOVED, solve
from deniable.likelihood.sources import Source, build_problem
from deniable.likelihood.whole_reports import Attribute, Mixture, build_whole_problem, observe_information
from deniable.mechanisms import Tally
from deniable.records import Faked, Records

WHOLE_METHODS = ("auto", "interior", "squarem", "em", "ibu")
"""The methods that can be asked for by name, for whole reports."""


def mle(
    mechanism: Source,
    data: Tally | Array,
    *,
    method: str = "auto",
    tolerance: float = 1e-9,
    iterations: int | None = None,
    progress: Progress | None = None,
    ordered: bool | None = None,
) -> Likelihood:
    """Finds the most likely shares of the values, from a tally or from the reports themselves.

    Where the outputs are few (direct encoding, geometric noise, Square Wave, any matrix) a tally is all there
    is to know. Sets of values (unary, hashed, subset, Hadamard, bit-flip, two rounds) need the reports; a
    tally of theirs gives a composite likelihood, which `method` of the result then says. `auto` takes the
    formula, the interior point or SQUAREM; `interior`, `squarem` and `em` (also called `ibu`) can be asked
    for.

    `smooth` blurs neighbors, so it is for ordered values, those of geometric noise, Square Wave and bare
    matrices, and for cells of a grid. `ordered=True` says that the values of another mechanism are, such as
    bins of a range.

    >>> from deniable.metric.line import GeometricChannel
    >>> from deniable.mechanisms import Tally
    >>> channel = GeometricChannel(n=4, epsilon=0.6931471805599453)
    >>> result = mle(channel, Tally(10, [5, 0, 0, 3, 2]))
    >>> result.frequencies.round(4).tolist(), result.stop, result.gap <= 1e-9
    ([0.5029, 0.0, 0.0, 0.4571, 0.04], 'certified', True)

    Reference: kacem2018.
    """
    return fit(build_problem(mechanism, data, ordered), method, tolerance, iterations, progress)


def mle_record(
    mechanism: Faked,
    records: Records,
    *,
    method: str = "auto",
    tolerance: float = 1e-9,
    iterations: int | None = None,
    progress: Progress | None = None,
) -> tuple[Likelihood, ...]:
    """Finds the most likely shares of all attributes from whole reports with fakes (RS+FD, RS+RFD).

    Which attribute of a report is real is not known. Its likelihood is the sum over all that it may be, so
    that what the other attributes report counts, too. One result for each attribute; all have the certificate
    of the whole. `auto` takes the interior point or SQUAREM; `interior`, `squarem` and `em` can be asked for.

    >>> import numpy as np
    >>> from deniable.records import rsfd
    >>> from deniable.randomness.simulated import seeded
    >>> people = np.random.default_rng(1).integers([2, 3], size=(2000, 2))
    >>> mechanism = rsfd([2, 3], epsilon=2.0)
    >>> one, other = mle_record(mechanism, mechanism.privatize(people, seeded(1)))
    >>> one.k, other.k, other.method, other.certified
    (2, 3, 'interior point, whole reports', True)

    Reference: arcolezi2021.
    """
    if not isinstance(mechanism, Faked):
        raise InvalidParameter(
            "mle_record is for reports with fakes (RS+FD, RS+RFD); without fakes take each attribute alone, "
            f"mle(mechanism, reports), got {type(mechanism).__name__}"
        )
    if not isinstance(records, Records):
        raise InvalidReport(f"records are what m.privatize(table) gives, got {type(records).__name__}")
    if method not in WHOLE_METHODS:
        raise InvalidParameter(not_among(method, "a method for whole reports", WHOLE_METHODS, MOVED))
    problem = build_whole_problem(mechanism, records)
    solution = _search(problem, method, tolerance, iterations, progress)
    rows = problem.rows
    assert isinstance(rows, Mixture)
    with few_threads(0.0):
        information = observe_information(rows, problem.outputs, problem.n, solution.shares)
    level = problem.likelihood(solution.shares)
    labeled = replace(solution, method=f"{solution.method}, whole reports")
    return tuple(
        Likelihood.of(
            Attribute(problem.n, span.stop - span.start, level, information.select(span)),
            replace(labeled, shares=solution.shares[span]),
            (method, tolerance, iterations),
        )
        for span in rows.spans
    )


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
    if not parts:
        raise InvalidParameter("give at least one part: a mechanism, its tally or reports, and its values")
    built = [_sum_cells(build_problem(source, data), np.asarray(of)) for source, data, of in parts]
    problem = built[0] if len(built) == 1 else Grouped(tuple(built))
    return fit(problem, method, tolerance, iterations)


def fit(
    problem: Problem, method: str, tolerance: float, iterations: int | None, progress: Progress | None = None
) -> Likelihood:
    """Finds the most likely shares of a problem, with a warning where they are not certified."""
    solution = _search(problem, method, tolerance, iterations, progress)
    return Likelihood.of(problem, solution, (method, float(tolerance), iterations))


def _search(
    problem: Problem, method: str, tolerance: float, iterations: int | None, progress: Progress | None
) -> Solution:
    exact = number("tolerance", tolerance, 0.0, 1.0)
    if iterations is not None:
        whole_number("iterations", iterations, 0)
    solution = solve(problem, method, exact, iterations, progress)
    if solution.stop in ("iteration limit", "rounding limit") and iterations is None:
        warnings.warn(
            f"the most likely shares are not certified ({solution.stop} of {solution.method}): the "
            f"log-likelihood per report is up to {solution.gap:.2g} below the best, where {exact:g} was "
            "asked for",
            DeniableWarning,
            stacklevel=4,
        )
    return solution


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
