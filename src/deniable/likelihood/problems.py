"""From a mechanism and its tally or reports to what a likelihood needs; what it does not know is refused by
name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Floats, Integers
from deniable.errors import DeniableError, InvalidParameter, InvalidReport
from deniable.estimate.consistency import simplex
from deniable.law import Law, Marginal, Matrix
from deniable.likelihood.geometric import GeometricChannel, GridChannel
from deniable.likelihood.lines import Window
from deniable.likelihood.problem import Counted, Problem, Reported, Table
from deniable.likelihood.rows import Kept, Supports, packed
from deniable.likelihood.sources import all_counted, celled, of_law, refuse_numbers, table_of
from deniable.mechanisms import (
    Direct,
    ExactMechanism,
    Hadamard,
    Hashed,
    Mechanism,
    SetMechanism,
    Subset,
    Tally,
    Unary,
    checked_values,
)
from deniable.metric import (
    MOST_ENTRIES,
    Averaged,
    Channel,
    Geometric,
    MetricMechanism,
    PlanarGeometric,
    ProductGeometric,
    SquareWave,
)
from deniable.rounds import BitFlip, HashedMemoized, Memoized
from deniable.words import FULL
from deniable.words.simulated import seeded

Source = Mechanism | Matrix | Law | Marginal | Channel | GeometricChannel | Sequence[Sequence[float]] | Array
"""What reports can come from: a mechanism, its law, or the channel itself."""
MOST_BYTES = 1 << 30
"""More packed supports than this are not kept; the tally's composite likelihood needs none."""
_DENSE = 1000  # cells whose table is small
_AT_ONCE = 1 << 21
_SAMPLED = 4096


def observed(source: Source, data: Tally | Array, ordered: bool | None = None) -> Problem:
    """The problem of finding the shares behind a tally or an array of reports.

    Values are ordered if that is said, or if the mechanism is for ordered ones, or a bare matrix. Cells know
    their grid.
    """
    try:
        problem = _problem(source, data)
    except InvalidReport as refused:
        if (
            isinstance(data, Tally)
            or not isinstance(source, Mechanism)
            or np.shape(data) != (source.tallied,)
        ):
            raise
        raise InvalidReport(
            f"{refused}; here are as many numbers as a tally has counts: if they are counts of n reports, "
            "give dn.Tally(n, counts)"
        ) from None
    if ordered is None or not isinstance(problem, Counted | Reported):
        return problem
    if ordered and isinstance(source, PlanarGeometric | ProductGeometric):
        raise InvalidParameter(
            "cells of a grid are not on a line: the end of a row is far from the beginning of the next"
        )
    return replace(problem, shape=(problem.k,) if ordered else ())


def _problem(source: Source, data: Tally | Array) -> Problem:
    if isinstance(source, Direct) or (isinstance(source, Memoized) and isinstance(source.first, Direct)):
        return _kept(source, data)
    if isinstance(source, Law | Marginal):
        return of_law(source, data)
    refuse_numbers(source)
    if isinstance(source, Channel):
        return _metric(source.of, data)
    if not isinstance(source, Mechanism):
        channel = source if isinstance(source, GeometricChannel) else table_of(source)
        return _counted(channel, data, (channel.k,))
    if isinstance(source, MetricMechanism):
        return _metric(source, data)
    if isinstance(source, Subset) and source.size == 1:
        return _kept(source, data)
    if isinstance(source, Averaged):
        raise InvalidParameter(
            "reports of a number give its mean only: use plan.estimate(tallies), or the mechanism's "
            "estimate(tally); for most likely shares ask for a Range with bins"
        )
    if not isinstance(source, Unary | Memoized | Subset | Hashed | HashedMemoized | Hadamard | BitFlip):
        raise InvalidParameter(
            f"the likelihood of {type(source).__name__} is not known here: noisy sums and numeric means have "
            "estimates, not likelihoods; for an attribute of a record mechanism give its marginal(j) and "
            "its tally"
        )
    if isinstance(data, Tally):
        tally = source.checked_tally(data)
        again = partial(_cells_again, source, tally.n)
        return celled(tally, np.full(source.k, source.law.q), source.law.gain, again)
    return _reported(source, np.asarray(data))


def _metric(mechanism: MetricMechanism, data: Tally | Array) -> Counted:
    tally = data if isinstance(data, Tally) else mechanism.tally(data)
    if isinstance(mechanism, Geometric) and mechanism.is_geometric:
        return _counted(_geometric(mechanism), tally, (mechanism.k,))
    sides = (mechanism.down, mechanism.across) if isinstance(mechanism, ProductGeometric) else ()
    if sides and mechanism.k > _DENSE and all(side.is_geometric for side in sides):
        return _counted(GridChannel(*map(_geometric, sides)), tally, _shape(mechanism))
    window = _window(mechanism)
    if mechanism.k * mechanism.outputs > MOST_ENTRIES:
        if window is None:
            raise InvalidParameter(
                f"the likelihood of {mechanism.k:,} values and {mechanism.outputs:,} outputs takes a table "
                f"of at most {MOST_ENTRIES:,} numbers; use fewer values or larger cells, or on a grid "
                "measure='manhattan', which needs none"
            )
        return _counted(window, tally, _shape(mechanism))
    return _counted(Table(mechanism.law.matrix(), window), tally, _shape(mechanism))


def _shape(mechanism: MetricMechanism) -> tuple[int, ...]:
    """Which values are neighbors, where the mechanism knows."""
    if isinstance(mechanism, ProductGeometric):
        return mechanism.down.k, mechanism.across.k
    if isinstance(mechanism, PlanarGeometric):
        return mechanism.rows, mechanism.columns
    return (mechanism.k,) if isinstance(mechanism, Geometric | SquareWave) else ()


def _window(mechanism: MetricMechanism) -> Window | None:
    if not isinstance(mechanism, SquareWave):
        return None
    near, far = (
        Fraction(mechanism.keep, FULL * mechanism.window),
        Fraction(FULL - mechanism.keep, FULL * (mechanism.k - 1)),
    )
    return Window(mechanism.k, mechanism.window, float(near), float(far))


def _geometric(mechanism: Geometric) -> GeometricChannel:
    """The table that is sampled is geometric but for single words of 2^64, which no certificate is fine
    enough to tell.
    """
    return GeometricChannel(mechanism.n, mechanism.rate)


def _kept(mechanism: Direct | Memoized | Subset, data: Tally | Array) -> Counted:
    tally = mechanism.checked_tally(data if isinstance(data, Tally) else mechanism.tally(np.asarray(data)))
    return Counted(_kept_rows(mechanism), all_counted(tally))


@lru_cache(maxsize=64)
def _kept_rows(mechanism: Direct | Memoized | Subset) -> Kept:
    law = mechanism.law
    return Kept(law.k, law.p, law.q)


def _counted(
    channel: Table | Window | GeometricChannel | GridChannel, data: Tally | Array, shape: tuple[int, ...]
) -> Counted:
    size = channel.size if isinstance(channel, Table | Window) else channel.k
    if isinstance(data, Tally):
        if data.counts.size != size:
            raise InvalidReport(f"this tally counts {data.counts.size} outputs, the channel has {size}")
        return Counted(channel, all_counted(data), shape)
    try:
        reports = checked_values(data, size)
    except DeniableError as problem:
        raise InvalidReport(
            f"reports are outputs of the channel, 0 to {size - 1} (counts go in a Tally): {problem}"
        ) from None
    return Counted(channel, all_counted(Tally(reports.size, np.bincount(reports, minlength=size))), shape)


def _cells_again(
    mechanism: ExactMechanism, n: int, shares: Floats, generator: np.random.Generator
) -> Problem:
    return observed(mechanism, mechanism.tally(_reports(mechanism, n, shares, generator)))


def _reported_again(
    mechanism: SetMechanism, n: int, shares: Floats, generator: np.random.Generator
) -> Problem:
    return _reported(mechanism, _reports(mechanism, n, shares, generator))


def _reports(mechanism: ExactMechanism, n: int, shares: Floats, generator: np.random.Generator) -> Array:
    values = np.repeat(np.arange(mechanism.k), generator.multinomial(n, shares / shares.sum()))
    return mechanism.privatize(values, seeded(int(generator.integers(1 << 62))))


def _reported(mechanism: SetMechanism, reports: Array) -> Reported:
    tally = mechanism.tally(reports)  # refuses what cannot have been sent
    if tally.n < 1:
        raise InvalidParameter("there are no reports yet, so there is nothing to estimate")
    reports, times = _distinct(np.ascontiguousarray(reports))
    found = layers(mechanism, reports)
    guess = np.full(mechanism.k, 1.0 / mechanism.k)
    if tally.asked is None or tally.asked.min() > 0:
        guess = 0.99 * simplex(mechanism.estimate(tally).frequencies) + 0.01 * guess
    again = partial(_reported_again, mechanism, tally.n)
    return Reported(tally.n, Supports(mechanism.k, found), times / tally.n, guess / guess.sum(), again)


def _distinct(reports: Array) -> tuple[Array, Integers]:
    """Equal reports once, with how often they came, where a look at some of them says that this is worth the
    sorting.
    """
    width = reports.dtype.itemsize * int(np.prod(reports.shape[1:], dtype=np.int64))
    whole = reports.reshape(len(reports), -1).view(np.dtype((np.void, width))).reshape(-1)
    if len(reports) > _SAMPLED and np.unique(whole[:: len(reports) // _SAMPLED]).size > 0.9 * _SAMPLED:
        return reports, np.ones(len(reports), dtype=np.int64)
    _, first, times = np.unique(whole, return_index=True, return_counts=True)
    return reports[first], times.astype(np.int64)


def layers(mechanism: ExactMechanism, reports: Array) -> list[tuple[Array, float]]:
    """How much likelier a report is where it supports the value: one factor, or for BitFlip two nested sets
    with one each.
    """
    k, columns = mechanism.k, (mechanism.k + 7) // 8
    several = 2 if isinstance(mechanism, BitFlip) else 1
    if len(reports) * columns * several > MOST_BYTES:
        raise InvalidParameter(
            f"{len(reports):,} different reports about {k:,} values do not fit in memory; give the tally "
            "instead, which has a composite likelihood"
        )
    if isinstance(mechanism, Unary) or (
        isinstance(mechanism, Memoized) and isinstance(mechanism.first, Unary)
    ):
        return [(np.ascontiguousarray(reports.T), odds(mechanism) - 1)]
    bits = np.empty((several, columns, len(reports)), dtype=np.uint8)
    step = max(1, _AT_ONCE // k)
    for start in range(0, len(reports), step):
        some = reports[start : start + step]
        holds = mechanism.support(some)
        bits[0, :, start : start + step] = packed(holds)
        if isinstance(mechanism, BitFlip):
            bits[1, :, start : start + step] = packed(holds | ~_asked(mechanism, some))
    if not isinstance(mechanism, BitFlip):
        return [(bits[0], odds(mechanism) - 1)]
    law = mechanism.law
    up, down = law.exact_p / law.exact_q, (1 - law.exact_q) / (1 - law.exact_p)
    return [(bits[0], float((up - 1) * down)), (bits[1], float(down - 1))]


def _asked(mechanism: BitFlip, reports: Array) -> npt.NDArray[np.bool_]:
    asked = np.zeros((len(reports), mechanism.k), dtype=bool)
    np.put_along_axis(asked, reports["about"].astype(np.int64), True, axis=1)
    return asked


def odds(mechanism: Any) -> float:
    """Pr(report | a value it supports) / Pr(report | another)."""
    law = mechanism.law
    p, rest = law.exact_p, 1 - law.exact_p
    if isinstance(mechanism, Direct) or (
        isinstance(mechanism, Memoized) and isinstance(mechanism.first, Direct)
    ):
        return float(p / law.exact_q)
    if isinstance(mechanism, Unary | Memoized):
        return float(p * (1 - law.exact_q) / (law.exact_q * rest))
    if isinstance(mechanism, Subset):
        return float(p * (mechanism.k - mechanism.size) / (rest * mechanism.size))
    if isinstance(mechanism, Hashed | HashedMemoized):
        return float(p * (mechanism.g - 1) / rest)
    return float(p / rest)
