"""Builds the problem of finding shares from a mechanism and its reports; refuses by name what it cannot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial, singledispatch
from typing import NoReturn

import numpy as np

from deniable.arrays import Array, Floats, Integers
from deniable.errors import DeniableError, InvalidParameter, InvalidReport
from deniable.law import Law, Marginal, Matrix
from deniable.likelihood.problem import Celled, Counted, Problem, Reported, Table, refuse_empty
from deniable.likelihood.rows import Kept, Supports, Window
from deniable.likelihood.supports import guess_shares, merge_equal, pack_layers
from deniable.mechanisms import Mechanism, SetMechanism, Tally, checked_values
from deniable.metric import Averaged, Channel, Geometric, Mean, MetricMechanism, SquareWave
from deniable.metric.base import MOST_ENTRIES
from deniable.metric.line import GeometricChannel
from deniable.randomness import FULL
from deniable.randomness.simulated import seeded
from deniable.records import RecordMechanism
from deniable.records.near import Tick
from deniable.rounds import MemoizedMean

Source = Mechanism | Matrix | Law | Marginal | Channel | GeometricChannel | Sequence[Sequence[float]] | Array
"""What reports can come from: a mechanism, its law, or the channel itself."""


def build_problem(source: Source, data: Tally | Array, ordered: bool | None = None) -> Problem:
    """The problem of finding the shares behind a tally or an array of reports.

    Values are ordered if `ordered` says so, if the mechanism is for ordered values, or if the source is a
    bare matrix. Cells know their grid.
    """
    try:
        problem = _build(source, data)
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
    if ordered and len(problem.shape) == 2:
        raise InvalidParameter(
            "cells of a grid are not on a line: the end of a row is far from the beginning of the next"
        )
    return replace(problem, shape=(problem.k,) if ordered else ())


@singledispatch
def _build(source: object, data: Tally | Array) -> Problem:
    """A bare channel is a table of probabilities; all else is refused by what it is."""
    table = _build_table(source)
    return _count_outputs(table, data, (table.k,))


@_build.register
def _build_set_problem(source: SetMechanism, data: Tally | Array) -> Counted | Celled | Reported:
    if source.names_value:
        tally = data if isinstance(data, Tally) else source.tally(np.asarray(data))
        return Counted(_build_kept_rows(source), _check_outputs(source.checked_tally(tally)))
    if isinstance(data, Tally):
        tally = source.checked_tally(data)
        draw = partial(_redraw, source, tally.n, True)
        return _count_supports(tally, np.full(source.k, source.law.q), source.law.gain, draw)
    return _list_reports(source, np.asarray(data))


@_build.register
def _build_tick_problem(source: Tick, data: Tally | Array) -> Counted:
    """One answer of a near report is a channel of two values."""
    tally = data if isinstance(data, Tally) else source.tally(data)
    return _count_outputs(_build_table(source.table()), tally, ())


@_build.register
def _build_metric_problem(source: MetricMechanism, data: Tally | Array) -> Counted:
    tally = data if isinstance(data, Tally) else source.tally(data)
    return _count_outputs(_build_channel(source), tally, source.shape)


@_build.register
def _build_channel_problem(source: Channel, data: Tally | Array) -> Counted:
    return _build_metric_problem(source.of, data)


@_build.register
def _build_line_problem(source: GeometricChannel, data: Tally | Array) -> Counted:
    return _count_outputs(source, data, (source.k,))


@_build.register
def _build_law_problem(law: Law, data: Tally | Array) -> Problem:
    """From the law of an attribute alone, and its tally.

    Where a report supports one value, that is the whole channel. Else only each value's own probabilities are
    known.
    """
    tally = _check_tally(law.k, data)
    if law.exact_p <= law.exact_q:
        raise InvalidParameter(
            "by this law a report supports the true value no more often than another, so it says nothing "
            "about the value"
        )
    if law.sizes.tolist() == [1]:
        return Counted(Kept(law.k, law.p, law.q), _check_outputs(tally))
    _refuse_fractions(tally)
    bits = partial(_redraw_bits, law, tally.n) if law.bitwise and tally.asked is None else None
    return _count_supports(tally, np.full(law.k, law.q), law.gain, bits)


@_build.register
def _build_marginal_problem(law: Marginal, data: Tally | Array) -> Celled:
    """From the law of an attribute whose values are not all supported alike, and its tally."""
    return _count_supports(_check_tally(law.k, data), law.q, law.gain, None)


@_build.register
def _refuse_mean(_: Averaged | MemoizedMean, _data: Tally | Array) -> NoReturn:
    raise InvalidParameter(
        "reports of a number give its mean only: use plan.estimate(tallies), or the mechanism's "
        "estimate(tally); for most likely shares ask for a Range with bins"
    )


@_build.register
def _refuse_mechanism(source: Mechanism, _data: Tally | Array) -> NoReturn:
    raise InvalidParameter(
        f"the likelihood of {type(source).__name__} is not known here; for an attribute of a record "
        "mechanism give its marginal(j) and tally"
    )


@lru_cache(maxsize=64)
def _build_kept_rows(mechanism: SetMechanism) -> Kept:
    law = mechanism.law
    return Kept(law.k, law.p, law.q)


def _list_reports(mechanism: SetMechanism, reports: Array) -> Reported:
    tally = mechanism.tally(reports)  # refuses what cannot have been sent
    refuse_empty(tally.n)
    distinct, times = merge_equal(np.ascontiguousarray(reports))
    supports = Supports(mechanism.k, pack_layers(mechanism, distinct))
    draw = partial(_redraw, mechanism, tally.n, False)
    return Reported(tally.n, supports, times / tally.n, guess_shares(mechanism, tally), draw)


def _redraw(
    mechanism: SetMechanism, n: int, is_tallied: bool, shares: Floats, generator: np.random.Generator
) -> Problem:
    values = np.repeat(np.arange(mechanism.k), generator.multinomial(n, shares / shares.sum()))
    reports = mechanism.privatize(values, seeded(int(generator.integers(1 << 62))))
    return build_problem(mechanism, mechanism.tally(reports) if is_tallied else reports)


def _redraw_bits(law: Law, n: int, shares: Floats, generator: np.random.Generator) -> Problem:
    """The people with a value, and all others, set its bit independently of all other bits."""
    people = generator.multinomial(n, shares / shares.sum())
    counts = generator.binomial(people, law.p) + generator.binomial(n - people, law.q)
    return _build_law_problem(law, Tally(n, counts))


def _count_supports(tally: Tally, q: Floats, gain: float, draw: partial[Problem] | None) -> Celled:
    """The share of the reports about each value that support it."""
    asked_counts = np.full(q.size, tally.n) if tally.asked is None else tally.asked
    if asked_counts.min() < 1:
        raise InvalidParameter(
            "nobody was asked about some of the values yet, so there is nothing to estimate"
        )
    return Celled(tally.n, tally.counts / asked_counts, asked_counts / tally.n, q, gain, draw)


def _build_table(source: object) -> Table:
    """A bare channel, as a table of numbers."""
    if isinstance(source, Matrix):
        return Table(source.probabilities)
    try:
        if isinstance(source, str | bytes) or not (
            isinstance(source, Sequence) or hasattr(source, "__array__")
        ):
            raise TypeError
        numbers = np.asarray(source, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter(
            f"the likelihood of {source!r:.60} is not known here: give a mechanism, as in "
            "mle(dn.metric.geometric(5, 1.0), tally), or a channel as a table of probabilities, a row for "
            "each value"
        ) from None
    return Table(numbers)


@_build.register
def _refuse_tally(_: Tally, _data: Tally | Array) -> NoReturn:
    raise InvalidParameter("first the mechanism or channel, then its tally or reports: mle(mechanism, tally)")


@_build.register
def _refuse_record_mechanism(_: RecordMechanism, _data: Tally | Array) -> NoReturn:
    raise InvalidParameter(
        "a record mechanism has a likelihood for each attribute: give the law and the tally of one, "
        "mle(m.marginal(j), tallies[j])"
    )


@_build.register
def _refuse_mean_source(source: Mean, _data: Tally | Array) -> NoReturn:
    raise InvalidParameter(
        f"{type(source).__name__} is for a mean, which its estimate(tally) gives; for the distribution "
        "of a number use square_wave(epsilon, bins=...)"
    )


def _check_outputs(tally: Tally) -> Integers:
    """The counts of outputs. Every report has one output."""
    refuse_empty(tally.n)
    _refuse_fractions(tally)
    if tally.asked is not None or int(tally.counts.sum()) != tally.n:
        raise InvalidReport(f"every report has one output, so the counts must add up to n = {tally.n}")
    return np.asarray(tally.counts, dtype=np.int64)


def _refuse_fractions(tally: Tally) -> None:
    """Counts may be floats, as files give them, if they are whole numbers from 0 on."""
    if tally.counts.dtype.kind == "i":  # a tally has refused what is negative
        return
    odd = (tally.counts % 1 != 0) | (tally.counts < 0)
    if odd.any():
        raise InvalidReport(
            f"counts of reports are whole numbers from 0 on, got {tally.counts[np.argmax(odd)]:g}; give "
            "counts, not shares"
        )


def _check_tally(k: int, data: Tally | Array) -> Tally:
    if not isinstance(data, Tally):
        raise InvalidReport(
            f"an attribute's law is fitted to a tally of its {k} values, got {type(data).__name__}"
        )
    if data.counts.size != k:
        raise InvalidReport(f"this tally counts {data.counts.size} values, the law has {k}")
    return data


@singledispatch
def _build_channel(mechanism: MetricMechanism) -> Table | Window | GeometricChannel:
    """The channel of a mechanism: a table, unless its rows have a quicker form."""
    return _tabulate(mechanism)


def _tabulate(mechanism: MetricMechanism) -> Table:
    if mechanism.k * mechanism.outputs > MOST_ENTRIES:
        raise InvalidParameter(
            f"the likelihood of {mechanism.k:,} values and {mechanism.outputs:,} outputs takes a table "
            f"of at most {MOST_ENTRIES:,} numbers; use fewer values or larger cells"
        )
    return Table(mechanism.law.matrix())


@_build_channel.register
def _build_line(mechanism: Geometric) -> Table | GeometricChannel:
    # the sampled table differs from it by single words of 2^64, less than any certificate resolves
    ideal = GeometricChannel(mechanism.n, mechanism.rate)
    return ideal if mechanism.is_geometric else _tabulate(mechanism)


@_build_channel.register
def _build_window(mechanism: SquareWave) -> Table | Window:
    inside = Fraction(mechanism.keep, FULL * mechanism.window)
    far = Fraction(FULL - mechanism.keep, FULL * (mechanism.k - 1))
    window = Window(mechanism.k, mechanism.window, float(inside), float(far))
    if mechanism.k * mechanism.outputs > MOST_ENTRIES:
        return window
    return Table(mechanism.law.matrix(), window)


def _count_outputs(
    channel: Table | Window | GeometricChannel, data: Tally | Array, shape: tuple[int, ...]
) -> Counted:
    """How many reports have each output of a channel, from their tally or from the reports themselves."""
    size = channel.size if isinstance(channel, Table | Window) else channel.k
    if isinstance(data, Tally):
        if data.counts.size != size:
            raise InvalidReport(f"this tally counts {data.counts.size} outputs, the channel has {size}")
        return Counted(channel, _check_outputs(data), shape)
    try:
        reports = checked_values(data, size)
    except DeniableError as problem:
        raise InvalidReport(
            f"reports are outputs of the channel, 0 to {size - 1} (counts go in a Tally): {problem}"
        ) from None
    tally = Tally(reports.size, np.bincount(reports, minlength=size))
    return Counted(channel, _check_outputs(tally), shape)
