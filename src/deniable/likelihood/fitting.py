"""Finds the most likely shares behind reports: of people, groups, attributes, rounds and tables."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from deniable.arrays import Array, Floats, Integers
from deniable.errors import DeniableWarning, InvalidParameter, InvalidReport, not_among
from deniable.estimate import Bins
from deniable.exact import number, whole_number
from deniable.formatting import format_count
from deniable.likelihood.certificate import Progress, Solution
from deniable.likelihood.linked import build_linked_problem
from deniable.likelihood.problem import Counted, Grouped, Problem, Reported
from deniable.likelihood.result import Likelihood
from deniable.likelihood.rows import Merged, few_threads
from deniable.likelihood.solving import LIMITS, solve
from deniable.likelihood.sources import (
    MOST_ASKED,
    Source,
    build_problem,
    choose_bins,
    count_in_bins,
    count_values,
)
from deniable.likelihood.whole_reports import Attribute, Mixture, build_whole_problem, observe_information
from deniable.mechanisms import Tally
from deniable.metric import ContinuousWave
from deniable.records import Faked, Records
from deniable.rounds import Repeated

METHODS = tuple(LIMITS)
"""The methods that can be asked for by name."""
WHOLE_METHODS = ("auto", "interior", "squarem", "em", "ibu")
"""The methods that can be asked for by name, for whole reports."""
_Groups = Sequence[tuple[Source | ContinuousWave, Tally | Array]]


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
    """Finds the most likely shares of the values, from a tally or from the reports themselves.

    Where the outputs are few (direct encoding, geometric noise, Square Wave, any matrix) a tally is all there
    is to know. Sets of values (unary, hashed, subset, Hadamard, bit-flip, two rounds) need the reports; a
    tally of theirs gives a composite likelihood, which `method` of the result then says. `auto` takes the
    formula, the interior point or SQUAREM; `interior`, `squarem`, `em` (also called `ibu`), `ems` (smoothed)
    and `iteration` (the geometric paper's) can be asked for.

    `ems` and `smooth` blur neighbors, so they are for ordered values, those of geometric noise, Square Wave
    and bare matrices, and for cells of a grid. `ordered=True` says that the values of another mechanism are,
    such as bins of a range.

    Reports of a continuous Square Wave, numbers, are counted in bins here: `bins` from 0 to 1, about the root
    of the number of reports unless given (8 to 256), and twice as many for the reports. Means and quantiles
    of the result are from 0 to 1.

    >>> from deniable.metric.line import GeometricChannel
    >>> from deniable.mechanisms import Tally
    >>> channel = GeometricChannel(n=4, epsilon=0.6931471805599453)
    >>> result = mle(channel, Tally(10, [5, 0, 0, 3, 2]))
    >>> result.frequencies.round(4).tolist(), result.stop, result.gap <= 1e-9
    ([0.5029, 0.0, 0.0, 0.4571, 0.04], 'certified', True)

    Reference: kacem2018.
    """
    is_continuous = isinstance(mechanism, ContinuousWave)
    if not is_continuous:
        _refuse_bins(bins)
    problem = _build(mechanism, data, bins, ordered)
    result = _fit(problem, method, tolerance, iterations, progress)
    return replace(result, bins=_build_bins(problem.k)) if is_continuous else result


def mle_groups(
    groups: Iterable[tuple[Source | ContinuousWave, Tally | Array]],
    *,
    bins: int | None = None,
    method: str = "auto",
    tolerance: float = 1e-9,
    iterations: int | None = None,
    progress: Progress | None = None,
    ordered: bool | None = None,
) -> Likelihood:
    """Finds the most likely shares of several groups together, each with a budget or mechanism of its own.

    Tallies of direct encoding, geometric noise or a matrix, and reports of sets, can be mixed. Counts of
    support cannot: they have no likelihood that others could be added to. Groups in which nobody has reported
    yet are left out; they must be about the same values, too.

    Reports of continuous Square Waves are counted in `bins` from 0 to 1, the same for all groups: as many as
    the values of the other groups, or else, unless given, about the root of the number of reports of all of
    them (8 to 256).

    >>> import numpy as np
    >>> from deniable.metric import square_wave
    >>> from deniable.randomness.simulated import seeded
    >>> numbers, strict, loose = np.random.default_rng(1).beta(2, 5, 2000), square_wave(0.5), square_wave(2.0)
    >>> both = mle_groups([(wave, wave.privatize(numbers, seeded(1))) for wave in (strict, loose)])
    >>> both.n, both.k, both.stop
    (4000, 63, 'certified')
    """
    pairs = _check_groups(groups)
    k = _choose_group_bins(pairs, bins)
    parts: list[Counted | Reported] = []
    sizes: list[int | None] = []
    for mechanism, data in pairs:
        if (data.n if isinstance(data, Tally) else np.size(data)) == 0:
            sizes.append(k if isinstance(mechanism, ContinuousWave) else count_values(mechanism))
            continue
        part = _build(mechanism, data, k, ordered)
        if not isinstance(part, Counted | Reported):
            raise InvalidParameter(
                "a group of sets of values needs its reports: counts of support have no likelihood to add"
            )
        parts.append(part)
        sizes.append(part.k)
    if len(set(sizes)) > 1:
        raise InvalidParameter(f"all groups must have the same values, got {sizes}")
    if not pairs:
        raise InvalidParameter("give at least one group: pairs of a mechanism and its tally or reports")
    if not parts:
        raise InvalidParameter("there are no reports yet in any group, so there is nothing to estimate")
    result = _fit(Grouped(tuple(parts)), method, tolerance, iterations, progress)
    return result if k is None else replace(result, bins=_build_bins(k))


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
        raise InvalidParameter(not_among(method, "a method for whole reports", WHOLE_METHODS))
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


def mle_rounds(
    mechanism: Repeated,
    rounds: Sequence[Array],
    *,
    method: str = "auto",
    tolerance: float = 1e-9,
    iterations: int | None = None,
    progress: Progress | None = None,
) -> Likelihood:
    """Finds the most likely shares from reports of the same people over several rounds, with kept answers.

    Row i of every round is person i, whose answer does not change. What a person keeps is summed over, so
    that reports of one person are not taken for those of several.

    >>> import numpy as np
    >>> from deniable.rounds import l_grr
    >>> from deniable.randomness.simulated import remembering
    >>> values = np.random.default_rng(1).choice(3, 2000, p=[0.6, 0.3, 0.1])
    >>> mechanism = l_grr(3, epsilon_first=1.0, epsilon_forever=2.0)
    >>> rounds = [mechanism.privatize(values, remembering(1, round=number)) for number in (1, 2, 3)]
    >>> found = mle_rounds(mechanism, rounds)
    >>> found.n, found.method, found.certified
    (2000, 'interior point, 3 linked rounds', True)

    Reference: arcolezi2022.
    """
    problem = build_linked_problem(mechanism, rounds)
    solution = _search(problem, method, tolerance, iterations, progress)
    how = f"{solution.method}, {format_count(len(rounds), 'linked round')}"
    return Likelihood.of(problem, replace(solution, method=how), (method, float(tolerance), iterations))


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
    return _fit(problem, method, tolerance, iterations, None)


def _check_groups(groups: Iterable[tuple[Source | ContinuousWave, Tally | Array]]) -> _Groups:
    if not isinstance(groups, Iterable):
        raise InvalidParameter(
            "groups are a list of pairs, as in mle_groups([(a, tally_a), (b, tally_b)]), got "
            f"{type(groups).__name__}"
        )
    pairs = list(groups)
    for group in pairs:
        if not isinstance(group, tuple | list) or len(group) != 2:
            raise InvalidParameter(
                f"a group is a pair of a mechanism and its tally or reports, got {type(group).__name__}; as "
                "in mle_groups([(a, tally_a), (b, tally_b)])"
            )
    return pairs


def _choose_group_bins(groups: _Groups, bins: int | None) -> int | None:
    """In how many bins the numbers of all groups are counted; None where no group reports numbers."""
    others = [count_values(source) for source, _ in groups if not isinstance(source, ContinuousWave)]
    if len(others) == len(groups):
        _refuse_bins(bins)
        return None
    if bins is not None:
        return whole_number("bins", bins, 2, MOST_ASKED)
    waves = [data for source, data in groups if isinstance(source, ContinuousWave)]
    numbers = sum(0 if isinstance(data, Tally) else np.size(data) for data in waves)
    return whole_number("bins", others[0] if others else choose_bins(numbers), 2, MOST_ASKED)


def _build(
    source: Source | ContinuousWave, data: Tally | Array, bins: int | None, ordered: bool | None
) -> Problem:
    if isinstance(source, ContinuousWave):
        return count_in_bins(source, data, bins)
    return build_problem(source, data, ordered)


def _refuse_bins(bins: int | None) -> None:
    if bins is not None:
        raise InvalidParameter(
            "bins are for the numbers of a continuous Square Wave; all other mechanisms have their values "
            "already"
        )


def _build_bins(k: int) -> Bins:
    """The values of a continuous Square Wave, from 0 to 1."""
    return Bins(np.linspace(0.0, 1.0, k + 1))


def _fit(
    problem: Problem, method: str, tolerance: float, iterations: int | None, progress: Progress | None
) -> Likelihood:
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
