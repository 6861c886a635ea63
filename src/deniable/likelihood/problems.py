"""Builds the problem of finding shares from a mechanism and its reports; refuses by name what it cannot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial, singledispatch
from typing import NoReturn

import numpy as np

from deniable.arrays import Array, Floats
from deniable.errors import InvalidParameter, InvalidReport
from deniable.estimate.consistency import simplex
from deniable.law import Law, Marginal, Matrix
from deniable.likelihood.channels import build_channel, count_outputs
from deniable.likelihood.geometric import GeometricChannel
from deniable.likelihood.problem import Celled, Counted, Problem, Reported
from deniable.likelihood.rows import Kept, Supports
from deniable.likelihood.sources import (
    build_law_problem,
    build_marginal_problem,
    build_table,
    check_outputs,
    count_supports,
    refuse_source,
)
from deniable.likelihood.supports import merge_equal, pack_layers
from deniable.mechanisms import ExactMechanism, Mechanism, SetMechanism, Tally
from deniable.metric import Averaged, Channel, MetricMechanism
from deniable.randomness.simulated import seeded
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
    refuse_source(source)
    table = build_table(source)
    return count_outputs(table, data, (table.k,))


@_build.register
def _build_set_problem(source: SetMechanism, data: Tally | Array) -> Counted | Celled | Reported:
    if source.names_value:
        tally = data if isinstance(data, Tally) else source.tally(np.asarray(data))
        return Counted(_build_kept_rows(source), check_outputs(source.checked_tally(tally)))
    if isinstance(data, Tally):
        tally = source.checked_tally(data)
        draw = partial(_redraw_counts, source, tally.n)
        return count_supports(tally, np.full(source.k, source.law.q), source.law.gain, draw)
    return _list_reports(source, np.asarray(data))


@_build.register
def _build_metric_problem(source: MetricMechanism, data: Tally | Array) -> Counted:
    tally = data if isinstance(data, Tally) else source.tally(data)
    return count_outputs(build_channel(source), tally, source.shape)


@_build.register
def _build_channel_problem(source: Channel, data: Tally | Array) -> Counted:
    return _build_metric_problem(source.of, data)


@_build.register
def _build_line_problem(source: GeometricChannel, data: Tally | Array) -> Counted:
    return count_outputs(source, data, (source.k,))


_build.register(Law, build_law_problem)
_build.register(Marginal, build_marginal_problem)


@_build.register
def _refuse_mean(_: Averaged | MemoizedMean, _data: Tally | Array) -> NoReturn:
    raise InvalidParameter(
        "reports of a number give its mean only: use plan.estimate(tallies), or the mechanism's "
        "estimate(tally); for most likely shares ask for a Range with bins"
    )


@_build.register
def _refuse_mechanism(source: Mechanism, _data: Tally | Array) -> NoReturn:
    raise InvalidParameter(
        f"the likelihood of {type(source).__name__} is not known here: noisy sums and numeric means have "
        "estimates, not likelihoods; for an attribute of a record mechanism give its marginal(j) and tally"
    )


@lru_cache(maxsize=64)
def _build_kept_rows(mechanism: SetMechanism) -> Kept:
    law = mechanism.law
    return Kept(law.k, law.p, law.q)


def _list_reports(mechanism: SetMechanism, reports: Array) -> Reported:
    tally = mechanism.tally(reports)  # refuses what cannot have been sent
    if tally.n < 1:
        raise InvalidParameter("there are no reports yet, so there is nothing to estimate")
    distinct, times = merge_equal(np.ascontiguousarray(reports))
    supports = Supports(mechanism.k, pack_layers(mechanism, distinct))
    guess = np.full(mechanism.k, 1.0 / mechanism.k)
    if tally.asked is None or tally.asked.min() > 0:
        guess = 0.99 * simplex(mechanism.estimate(tally).frequencies) + 0.01 * guess
    draw = partial(_redraw_reports, mechanism, tally.n)
    return Reported(tally.n, supports, times / tally.n, guess / guess.sum(), draw)


def _redraw_counts(
    mechanism: ExactMechanism, n: int, shares: Floats, generator: np.random.Generator
) -> Problem:
    return build_problem(mechanism, mechanism.tally(_draw_reports(mechanism, n, shares, generator)))


def _redraw_reports(
    mechanism: SetMechanism, n: int, shares: Floats, generator: np.random.Generator
) -> Problem:
    return _list_reports(mechanism, _draw_reports(mechanism, n, shares, generator))


def _draw_reports(mechanism: ExactMechanism, n: int, shares: Floats, generator: np.random.Generator) -> Array:
    values = np.repeat(np.arange(mechanism.k), generator.multinomial(n, shares / shares.sum()))
    return mechanism.privatize(values, seeded(int(generator.integers(1 << 62))))
