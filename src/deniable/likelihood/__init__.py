"""The most likely shares behind privatized reports, with a certificate: closed forms, interior points, EM and its relatives.

`mle` is the way in. It never ends early without saying so: `gap` bounds how far the mean log-likelihood can be from the
best, and `stop` says why the search ended.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from deniable.bins import Bins
from deniable.errors import InvalidParameter
from deniable.exact import number, whole_number
from deniable.likelihood.found import Found, Progress, Stop
from deniable.likelihood.given import of_wave, values_of
from deniable.likelihood.observed import Source, observed
from deniable.likelihood.problem import Counted, Grouped, Problem, Reported
from deniable.likelihood.result import Likelihood
from deniable.likelihood.smoothing import Smoothing
from deniable.likelihood.solving import LIMITS, solve
from deniable.mechanism import Array, Tally
from deniable.metric import ContinuousWave
from deniable.metric.line import GeometricChannel

METHODS = tuple(LIMITS)
"""What can be asked for by name."""

__all__ = [
    "METHODS",
    "Found",
    "GeometricChannel",
    "Likelihood",
    "Progress",
    "Smoothing",
    "Stop",
    "mle",
    "mle_groups",
]


def mle(
    mechanism: Source | ContinuousWave,
    data: Tally | Array,
    *,
    bins: int | None = None,
    method: str = "auto",
    tolerance: float = 1e-9,
    iterations: int | None = None,
    progress: Progress | None = None,
    ordered: bool | None = None,
) -> Likelihood:
    """The most likely shares of the values, from a tally or from the reports themselves.

    Where the outputs are few (direct encoding, geometric noise, Square Wave, any matrix) a tally is all there is to know.
    Sets of values (unary, hashed, subset, Hadamard, bit-flip, two rounds) need the reports; a tally of theirs gives a
    composite likelihood, which `method` of the result then says. `auto` takes the formula, the interior point or SQUAREM;
    `interior`, `squarem`, `em` (also called `ibu`), `ems` (smoothed) and `iteration` (the geometric paper's) can be asked for.

    `ems` and `smooth` blur neighbors, so they are for ordered values, those of geometric noise, Square Wave and bare matrices,
    and for cells of a grid. `ordered=True` says that the values of another mechanism are, such as bins of a range.

    Reports of a continuous Square Wave, numbers, are counted in bins here: `bins` from 0 to 1, about the root of the number of
    reports unless given (8 to 256), and twice as many for the reports. Means and quantiles of the result are from 0 to 1.

    >>> from deniable.mechanism import Tally
    >>> channel = GeometricChannel(n=4, epsilon=0.6931471805599453)
    >>> result = mle(channel, Tally(10, [5, 0, 0, 3, 2]))
    >>> result.frequencies.round(4).tolist(), result.stop, result.gap <= 1e-9
    ([0.5029, 0.0, 0.0, 0.4571, 0.04], 'certified', True)

    Reference: kacem2018.
    """
    if isinstance(mechanism, ContinuousWave):
        problem = of_wave(mechanism, data, bins)
        found = _fitted(problem, method, tolerance, iterations, progress)
        return replace(found, bins=Bins(np.linspace(0.0, 1.0, problem.k + 1)))
    if bins is not None:
        raise InvalidParameter(
            "bins are for the numbers of a continuous Square Wave; all other mechanisms have their values already"
        )
    return _fitted(observed(mechanism, data, ordered), method, tolerance, iterations, progress)


def mle_groups(
    groups: Iterable[tuple[Source, Tally | Array]],
    *,
    method: str = "auto",
    tolerance: float = 1e-9,
    iterations: int | None = None,
    progress: Progress | None = None,
    ordered: bool | None = None,
) -> Likelihood:
    """The same for groups of people with the same shares, who report with different budgets or in different ways.

    Tallies of direct encoding, geometric noise or a matrix, and reports of sets, can be mixed. Counts of support cannot:
    they have no likelihood that others could be added to. Groups in which nobody has reported yet are left out;
    they must be about the same values, too.
    """
    parts, sizes, empty = [], [], 0
    if not isinstance(groups, Iterable):
        raise InvalidParameter(
            f"groups are a list of pairs, as in mle_groups([(a, tally_a), (b, tally_b)]), got {type(groups).__name__}"
        )
    for group in groups:
        if not isinstance(group, tuple | list) or len(group) != 2:
            raise InvalidParameter(
                f"a group is a pair of a mechanism and its tally or reports, got {type(group).__name__}; "
                "as in mle_groups([(a, tally_a), (b, tally_b)])"
            )
        mechanism, data = group
        if (data.n if isinstance(data, Tally) else np.size(data)) == 0:
            sizes.append(values_of(mechanism))
            empty += 1
            continue
        problem = observed(mechanism, data, ordered)
        if not isinstance(problem, Counted | Reported):
            raise InvalidParameter("a group of sets of values needs its reports: counts of support have no likelihood to add")
        parts.append(problem)
        sizes.append(problem.k)
    if len(set(sizes)) > 1:
        raise InvalidParameter(f"all groups must have the same values, got {sizes}")
    if empty and not parts:
        raise InvalidParameter("there are no reports yet in any group, so there is nothing to estimate")
    if not parts:
        raise InvalidParameter("give at least one group: pairs of a mechanism and its tally or reports")
    return _fitted(Grouped(tuple(parts)), method, tolerance, iterations, progress)


def _fitted(problem: Problem, method: str, tolerance: float, iterations: int | None, progress: Progress | None) -> Likelihood:
    exact = number("tolerance", tolerance, 0.0, 1.0)
    if iterations is not None:
        whole_number("iterations", iterations, 0)
    found = solve(problem, method, exact, iterations, progress)
    return Likelihood.of(problem, found, (method, exact, iterations))
