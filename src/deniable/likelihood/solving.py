"""Chooses the search for a problem, by name or by what is known to be best for it, and runs it."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeGuard

import numpy as np

from deniable.arrays import Floats
from deniable.errors import InvalidParameter, not_among
from deniable.likelihood.certificate import Progress, Search, Solution, concave_gap, gap_bound
from deniable.likelihood.interior import banded, column_search, interior
from deniable.likelihood.problem import Celled, Counted, Grouped, Listed, Problem, Reported
from deniable.likelihood.rows import Kept, Window, expand, few_threads, normal
from deniable.likelihood.steps import em, squarem
from deniable.likelihood.whole_reports import BlockNewton, Mixture
from deniable.metric.line import Decaying, GeometricChannel

LIMITS = {"auto": 0, "closed": 0, "composite": 0, "interior": 200, "squarem": 100_000, "em": 100_000}
"""The methods, and how many steps each takes at most unless given. On 10,000 reports of 101 noisy
counts at an epsilon of 0.1 SQUAREM reached 1e-9 within 25,000 steps for 10 of 15 data, within 100,000 (10 s)
for 11; EM took 180,000 to more than a million steps, 5 to 60 s, so it runs only where it is asked for.
"""
# steps of SQUAREM where it was not asked for by name: products of large tables take a tenth of a second
_UNASKED = 20_000
_COLUMN_STEPS = 2000  # of a column search in all, where a step on all positions of a line is lost in rounding
MOVED = {
    name: f"it is in the package for papers: deniable_papers.likelihood.mle_{name}"
    for name in ("ems", "iteration")
}
"""Where those are that were methods."""
ALIASES = {"ibu": "em"}
"""Other names of methods: EM is called iterative Bayesian update where noise is on a line."""
# multiplications of tables a step of the interior point may take, those of 4,600 x 4,600. Random tables took
_AFFORDABLE = 2e11
# it 17 to 18 steps, SQUAREM about 3,000: 0.3 s and 0.5 s (k = 500), 1.3 and 2.4 s (1,000), 9.5 and 42 s
# (2,000), by one thread
# the same where reports are unpacked for it: products with packed ones are much cheaper
_AFFORDABLE_UNPACKED = 1e10
_MOST_VALUES = 6000  # a table of k x k numbers beyond this is not made


def solve(
    problem: Problem,
    method: str,
    tolerance: float,
    limit: int | None,
    progress: Progress | None = None,
    initial: Floats | None = None,
) -> Solution:
    """Search by this method; `auto` chooses. A search that may begin anywhere begins at `initial`."""
    method = ALIASES.get(method, method)
    if method not in LIMITS:
        raise InvalidParameter(not_among(method, "a method", LIMITS, MOVED))
    if isinstance(problem, Celled):
        if method not in ("auto", "composite"):
            raise InvalidParameter(
                f"{method!r} needs the reports: counts of support alone do not determine their likelihood; "
                "'composite' is what a tally gives"
            )
        return _judge(
            composite(problem.supported, problem.asked_shares, problem.q, problem.gain), tolerance, progress
        )
    assert isinstance(problem, Listed)
    chosen = choice(problem) if method == "auto" else method
    if chosen == "composite":
        raise InvalidParameter(
            "these reports have a likelihood of their own; 'composite' is for tallies of support"
        )
    if chosen == "closed":
        if not (isinstance(problem, Counted) and isinstance(problem.channel, Kept)):
            raise InvalidParameter(
                "'closed' is for direct encoding (grr, l_grr), whose maximum has a formula"
            )
        return _judge(direct(problem.outputs, problem.channel), tolerance, progress)
    most = _UNASKED if method == "auto" and chosen == "squarem" else LIMITS[chosen]
    search = Search(chosen, tolerance, most if limit is None else limit, progress, initial is None)
    tables = chosen == "interior" and not _on_a_line(problem)
    with few_threads(problem.rows.work if tables else 0.0):
        return _search(problem, search, method == "auto", initial)


def _on_a_line(problem: Listed) -> TypeGuard[Counted]:
    return isinstance(problem, Counted) and isinstance(problem.channel, GeometricChannel)


def _search(problem: Listed, search: Search, goes_on: bool, initial: Floats | None) -> Solution:
    if search.method == "em":
        return em(problem.rows, problem.outputs, search)
    if search.method == "squarem":
        guess = problem.guess if isinstance(problem, Reported) else None
        return squarem(problem.rows, problem.outputs, search, guess if initial is None else initial)
    return _interior(problem, search, goes_on, initial)


def choice(problem: Listed) -> str:
    """The formula where there is one, the interior point where it is affordable, products alone elsewhere."""
    if isinstance(problem, Counted) and isinstance(problem.channel, Kept):
        return "closed"
    if _on_a_line(problem):
        return "interior"
    # 5 s of 5,000 values; interior: 60 s of 4,000
    if isinstance(problem, Counted) and isinstance(problem.channel, Window):
        return "squarem"
    parts = problem.parts if isinstance(problem, Grouped) else (problem,)
    # whole reports begin near the maximum and take about ten steps
    is_quick = isinstance(problem.rows, Mixture) or all(isinstance(part, Counted) for part in parts)
    most = _AFFORDABLE if is_quick else _AFFORDABLE_UNPACKED
    return "interior" if problem.k <= _MOST_VALUES and problem.rows.work <= most else "squarem"


def _interior(problem: Listed, search: Search, goes_on: bool, initial: Floats | None) -> Solution:
    if isinstance(problem, Counted) and isinstance(problem.channel, GeometricChannel):
        positions = np.flatnonzero(problem.counts)
        banded_search = replace(search, method="banded interior point")
        start = None if initial is None else normal(initial[positions])
        outputs = problem.counts[positions] / problem.n
        solution = banded(positions, problem.channel.epsilon, outputs, banded_search, start)
        if solution.stop == "rounding limit" and goes_on:
            column_settings = replace(search, method="column search", limit=_COLUMN_STEPS)
            kernel = Decaying(positions, problem.channel.epsilon)
            further = column_search(kernel, outputs, column_settings, solution.shares)
            solution = further if further.gap < solution.gap else solution
        return replace(solution, shares=expand(solution.shares, positions, problem.k))
    if problem.k > _MOST_VALUES:
        raise InvalidParameter(
            f"the interior point needs a table of {problem.k:,} by {problem.k:,} numbers; use 'squarem'"
        )
    newton = None
    if isinstance(problem.rows, Mixture):
        newton = BlockNewton(problem.rows)
        initial = problem.guess if initial is None and isinstance(problem, Reported) else initial
    solution = interior(
        problem.rows, problem.outputs, replace(search, method="interior point"), newton, start=initial
    )
    if solution.stop != "rounding limit" or not goes_on:
        return solution
    inside = 0.999 * solution.shares + 0.001 * problem.rows.even
    further = squarem(
        problem.rows, problem.outputs, replace(search, method="squarem", limit=_UNASKED), inside
    )
    return further if further.gap < solution.gap else solution


def _judge(solution: Solution, tolerance: float, progress: Progress | None) -> Solution:
    if progress is not None:
        progress(solution.iterations, solution.gap)
    return solution if solution.gap <= tolerance else replace(solution, stop="rounding limit")


def direct(reported: Floats, rows: Kept) -> Solution:
    """The exact maximum for direct encoding, from the shares of the reported values: sort once, no iteration.

    The m largest stay: with s = (p - q + m q) / (their sum), pi = (s y - q) / (p - q), for the largest m
    whose last one is positive.

    >>> from deniable.likelihood.rows import Kept
    >>> direct(np.array([0.5, 0.3, 0.15, 0.05]), Kept(4, 1 / 2, 1 / 6)).shares.round(12).tolist()
    [0.75, 0.25, 0.0, 0.0]

    Reference: pinzon2026.
    """
    ranked = np.sort(reported)[::-1]
    sums = ranked.cumsum()
    # true for the first ones: it falls with each
    m = int(np.count_nonzero(rows.levels * ranked > rows.q * sums)) - 1
    shares = np.maximum(reported * (rows.levels[m] / (sums[m] * rows.gain)) - rows.q / rows.gain, 0.0)
    shares /= np.add.reduce(shares)
    ascent = rows.backward(reported / rows.forward(shares))
    return Solution(shares, gap_bound(ascent, 1.0, rows.roundings), 0, "certified", "closed form")


def composite(supported: Floats, asked_shares: Floats, q: Floats, gain: float) -> Solution:
    """Each value's count taken for a binomial of its own: the most likely shares of that model, which is not
    the truth.

    supported[v] is the share of the reports about v that support it, asked_shares[v] the share of all
    reports that are about v. The model is concave, and one number makes the shares add up to one.
    """
    from scipy.optimize import brentq

    def chances(price: float) -> Floats:
        scaled = price / (asked_shares * gain)
        root = np.sqrt((1 + scaled) ** 2 - 4 * scaled * supported)
        with np.errstate(divide="ignore", invalid="ignore"):
            falling = np.where(1 + scaled + root > 0, 2 * supported / (1 + scaled + root), 0.0)
            rising = np.where(scaled < -1, (1 + scaled - root) / (2 * scaled), 0.0)
        return np.where(scaled < -1, rising, falling)

    def shares_at(price: float) -> Floats:
        return np.maximum(0.0, (chances(price) - q) / gain)

    low, high = -1.0, 1.0
    while shares_at(low).sum() < 1 and low > -1e18:
        low *= 4
    while shares_at(high).sum() > 1 and high < 1e18:
        high *= 4
    price = float(
        brentq(
            lambda price: float(shares_at(price).sum()) - 1.0, low, high, xtol=1e-300, rtol=1e-15, maxiter=500
        )
    )
    shares = shares_at(price)
    # floats do not distinguish chances this close to each other, and neither do the reports
    if not shares.sum() > 0:
        shares = np.ones(shares.size)
    shares /= shares.sum()
    theta = q + gain * shares
    scale = asked_shares * gain / (theta * (1 - theta))
    gradient = scale * (supported - theta)
    # what is rounded in supported - theta is a part of both, in 1 - theta of 1 / (1 - theta)
    sizes = scale * (supported + theta) + np.abs(gradient) / (1 - theta)
    return Solution(
        shares, concave_gap(gradient, shares, 4 * shares.size, sizes), 0, "certified", "composite"
    )
