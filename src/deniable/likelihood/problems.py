"""From a mechanism and its tally or reports to what a likelihood needs; what it does not know is refused by
name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial, singledispatch
from typing import Any

import numpy as np

from deniable.arrays import Array, Floats, Integers
from deniable.errors import DeniableError, InvalidParameter, InvalidReport
from deniable.estimate.consistency import simplex
from deniable.law import Law, Marginal, Matrix
from deniable.likelihood.geometric import GeometricChannel, GridChannel
from deniable.likelihood.lines import Window
from deniable.likelihood.problem import Counted, Problem, Reported, Table
from deniable.likelihood.rows import Kept, Supports, packed
from deniable.likelihood.sources import all_counted, celled, of_law, refuse_numbers, table_of
from deniable.mechanisms import ExactMechanism, Mechanism, SetMechanism, Tally, checked_values
from deniable.metric import (
    MOST_ENTRIES,
    Channel,
    Geometric,
    MetricMechanism,
    ProductGeometric,
    SquareWave,
)
from deniable.rounds import BitFlip
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
    if ordered and isinstance(source, MetricMechanism) and len(source.shape) == 2:
        raise InvalidParameter(
            "cells of a grid are not on a line: the end of a row is far from the beginning of the next"
        )
    return replace(problem, shape=(problem.k,) if ordered else ())


@singledispatch
def _problem(source: Any, data: Tally | Array) -> Problem:
    """The problem of a bare channel, a table of probabilities."""
    refuse_numbers(source)
    channel = table_of(source)
    return _counted(channel, data, (channel.k,))


@_problem.register
def _(source: GeometricChannel, data: Tally | Array) -> Problem:
    return _counted(source, data, (source.k,))


@_problem.register
def _(source: Law | Marginal, data: Tally | Array) -> Problem:
    return of_law(source, data)


@_problem.register
def _(source: Channel, data: Tally | Array) -> Problem:
    return _problem(source.of, data)


@_problem.register
def _(source: SetMechanism, data: Tally | Array) -> Problem:
    if source.names_value:
        return _kept(source, data)
    if not isinstance(data, Tally):
        return _reported(source, np.asarray(data))
    tally = source.checked_tally(data)
    again = partial(_cells_again, source, tally.n)
    return celled(tally, np.full(source.k, source.law.q), source.law.gain, again)


@_problem.register
def _(source: MetricMechanism, data: Tally | Array) -> Problem:
    tally = data if isinstance(data, Tally) else source.tally(data)
    return _counted(_channel(source), tally, source.shape)


@_problem.register
def _(source: Mechanism, _: Tally | Array) -> Problem:
    if source.numeric:
        raise InvalidParameter(
            "reports of a number give its mean only: use plan.estimate(tallies), or the mechanism's "
            "estimate(tally); for most likely shares ask for a Range with bins"
        )
    raise InvalidParameter(
        f"the likelihood of {type(source).__name__} is not known here: noisy sums and numeric means have "
        "estimates, not likelihoods; for an attribute of a record mechanism give its marginal(j) and tally"
    )


@singledispatch
def _channel(mechanism: MetricMechanism) -> Table | Window | GeometricChannel | GridChannel:
    """The channel of a metric mechanism, in the form in which it is solved fastest."""
    if mechanism.k * mechanism.outputs > MOST_ENTRIES:
        raise InvalidParameter(
            f"the likelihood of {mechanism.k:,} values and {mechanism.outputs:,} outputs takes a table "
            f"of at most {MOST_ENTRIES:,} numbers; use fewer values or larger cells, or on a grid "
            "measure='manhattan', which needs none"
        )
    return Table(mechanism.law.matrix())


_table = _channel.dispatch(MetricMechanism)


@_channel.register
def _(mechanism: Geometric) -> Table | Window | GeometricChannel | GridChannel:
    return _geometric(mechanism) if mechanism.is_geometric else _table(mechanism)


@_channel.register
def _(mechanism: ProductGeometric) -> Table | Window | GeometricChannel | GridChannel:
    sides = (mechanism.down, mechanism.across)
    if mechanism.k > _DENSE and all(side.is_geometric for side in sides):
        return GridChannel(*map(_geometric, sides))
    return _table(mechanism)


@_channel.register
def _(mechanism: SquareWave) -> Table | Window | GeometricChannel | GridChannel:
    near = Fraction(mechanism.keep, FULL * mechanism.window)
    far = Fraction(FULL - mechanism.keep, FULL * (mechanism.k - 1))
    window = Window(mechanism.k, mechanism.window, float(near), float(far))
    if mechanism.k * mechanism.outputs > MOST_ENTRIES:
        return window
    return Table(mechanism.law.matrix(), window)


def _geometric(mechanism: Geometric) -> GeometricChannel:
    """The table that is sampled is geometric but for single words of 2^64, which no certificate is fine
    enough to tell.
    """
    return GeometricChannel(mechanism.n, mechanism.rate)


def _kept(mechanism: SetMechanism, data: Tally | Array) -> Counted:
    tally = mechanism.checked_tally(data if isinstance(data, Tally) else mechanism.tally(np.asarray(data)))
    return Counted(_kept_rows(mechanism), all_counted(tally))


@lru_cache(maxsize=64)
def _kept_rows(mechanism: SetMechanism) -> Kept:
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


@singledispatch
def layers(mechanism: SetMechanism, reports: Array) -> list[tuple[Array, float]]:
    """How much likelier a report is where it supports the value: one factor, or for BitFlip two nested sets
    with one each.
    """
    _refuse_many(mechanism, reports, 1)
    return [(mechanism.packed_support(reports), mechanism.odds - 1)]


@layers.register
def _(mechanism: BitFlip, reports: Array) -> list[tuple[Array, float]]:
    _refuse_many(mechanism, reports, 2)
    k, law = mechanism.k, mechanism.law
    bits = np.empty((2, (k + 7) // 8, len(reports)), dtype=np.uint8)
    step = max(1, _AT_ONCE // k)
    for start in range(0, len(reports), step):
        some = reports[start : start + step]
        holds = mechanism.support(some)
        bits[0, :, start : start + step] = packed(holds)
        bits[1, :, start : start + step] = packed(holds | ~mechanism.asked(some))
    up, down = law.exact_p / law.exact_q, (1 - law.exact_q) / (1 - law.exact_p)
    return [(bits[0], float((up - 1) * down)), (bits[1], float(down - 1))]


def _refuse_many(mechanism: SetMechanism, reports: Array, several: int) -> None:
    if len(reports) * ((mechanism.k + 7) // 8) * several > MOST_BYTES:
        raise InvalidParameter(
            f"{len(reports):,} different reports about {mechanism.k:,} values do not fit in memory; give the "
            "tally instead, which has a composite likelihood"
        )
