"""Which search for which problem, by name or by what is known to be best for it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from deniable.errors import InvalidParameter, not_among
from deniable.law import Floats
from deniable.likelihood import closed
from deniable.likelihood.banded import banded
from deniable.likelihood.found import Found, Progress, Search
from deniable.likelihood.geometric import GeometricChannel
from deniable.likelihood.interior import interior
from deniable.likelihood.problem import Celled, Counted, Grouped, Listed, Problem, Reported, refuse_unordered
from deniable.likelihood.rows import Decay, Kept
from deniable.likelihood.steps import em, ems, squarem
from deniable.mechanism import Array

LIMITS = {
    "auto": 0,
    "closed": 0,
    "composite": 0,
    "interior": 200,
    "squarem": 20_000,
    "em": 100_000,
    "iteration": 100_000,
    "ems": 10_000,
}
"""The methods, and how many steps each takes at most unless told otherwise."""
ALIASES = {"ibu": "em"}
"""Other names of methods: EM is called iterative Bayesian update where noise is on a line."""
_AFFORDABLE = 2e11  # multiplications of tables a step of the interior point may take: two dozen steps, and it is certified
_AFFORDABLE_UNPACKED = 1e10  # the same where reports are unpacked for it: products with packed ones are much cheaper
_MOST_VALUES = 6000  # a table of k x k numbers beyond this is not made


def solve(problem: Problem, method: str, tolerance: float, limit: int | None, progress: Progress | None) -> Found:
    """Search by this method; `auto` chooses."""
    method = ALIASES.get(method, method)
    if method not in LIMITS:
        raise InvalidParameter(not_among(method, "a method", LIMITS))
    if isinstance(problem, Celled):
        if method not in ("auto", "composite"):
            raise InvalidParameter(
                f"{method!r} needs the reports: counts of support alone do not determine their likelihood; "
                "'composite' is what a tally gives"
            )
        return _judged(closed.composite(problem.supported, problem.asked, problem.q, problem.gain), tolerance, progress)
    assert isinstance(problem, Listed)
    chosen = choice(problem) if method == "auto" else method
    if chosen == "composite":
        raise InvalidParameter("these reports have a likelihood of their own; 'composite' is for tallies of support")
    if chosen == "closed":
        if not (isinstance(problem, Counted) and isinstance(problem.channel, Kept)):
            raise InvalidParameter("'closed' is for direct encoding (grr, l_grr), whose maximum has a formula")
        return _judged(closed.direct(problem.outputs, problem.channel), tolerance, progress)
    search = Search(chosen, tolerance, LIMITS[chosen] if limit is None else limit, progress)
    if chosen == "iteration":
        return _iteration(problem, search)
    if chosen == "ems":
        refuse_unordered(problem)
        return ems(problem.rows, problem.outputs, problem.n, search)
    if chosen == "em":
        return em(problem.rows, problem.outputs, search)
    start = problem.guess if isinstance(problem, Reported) else None
    if chosen == "squarem":
        return squarem(problem.rows, problem.outputs, search, start)
    return _interior(problem, search, method == "auto")


def choice(problem: Listed) -> str:
    """The formula where there is one, the interior point where it is affordable, products alone elsewhere."""
    if isinstance(problem, Counted) and isinstance(problem.channel, Kept):
        return "closed"
    if isinstance(problem, Counted) and isinstance(problem.channel, GeometricChannel):
        return "interior"
    k, size = problem.k, problem.rows.size
    parts = problem.parts if isinstance(problem, Grouped) else (problem,)
    most = _AFFORDABLE if all(isinstance(part, Counted) for part in parts) else _AFFORDABLE_UNPACKED
    return "interior" if k <= _MOST_VALUES and (size + k) * k * k <= most else "squarem"


def _interior(problem: Listed, search: Search, goes_on: bool) -> Found:
    if isinstance(problem, Counted) and isinstance(problem.channel, GeometricChannel):
        places = np.flatnonzero(problem.counts)
        named = replace(search, method="banded interior point")
        found = banded(places, problem.channel.epsilon, problem.counts[places] / problem.n, named)
        return replace(found, shares=_spread(found.shares, places, problem.k))
    if problem.k > _MOST_VALUES:
        raise InvalidParameter(f"the interior point needs a table of {problem.k:,} by {problem.k:,} numbers; use 'squarem'")
    found = interior(problem.rows, problem.outputs, replace(search, method="interior point"))
    if found.stop != "rounding limit" or not goes_on:
        return found
    inside = 0.999 * found.shares + 0.001 / problem.k
    further = squarem(problem.rows, problem.outputs, replace(search, method="squarem", limit=LIMITS["squarem"]), inside)
    return further if further.gap < found.gap else found


def _iteration(problem: Listed, search: Search) -> Found:
    """Definition 4.1 of the paper: EM that begins at the reports themselves, which is safe for decaying kernels on a line."""
    if not (isinstance(problem, Counted) and isinstance(problem.channel, GeometricChannel)):
        raise InvalidParameter(
            "'iteration' begins at the reported shares, whose zeros would never recover: that is proven harmless for the "
            "geometric mechanism only; use 'em', which begins uniform"
        )
    places = np.flatnonzero(problem.counts)
    outputs = problem.counts[places] / problem.n
    found = em(Decay(places, problem.channel.epsilon), outputs, search, outputs)
    return replace(found, shares=_spread(found.shares, places, problem.k))


def _spread(shares: Floats, places: Array, k: int) -> Floats:
    whole = np.zeros(k)
    whole[places] = shares
    return whole


def _judged(found: Found, tolerance: float, progress: Progress | None) -> Found:
    if progress is not None:
        progress(found.iterations, found.gap)
    return found if found.gap <= tolerance else replace(found, stop="rounding limit")
