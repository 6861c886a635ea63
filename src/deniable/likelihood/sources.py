"""Checks the inputs of a likelihood: channels, laws, counts, numbers. Refuses what has no finite channel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial, singledispatch

import numpy as np

from deniable.arrays import Array, Floats, Integers
from deniable.errors import InvalidParameter, InvalidReport
from deniable.exact import whole_number
from deniable.law import Law, Marginal, Matrix, Moments
from deniable.likelihood.problem import Celled, Counted, Problem, Table
from deniable.likelihood.rows import Kept
from deniable.mechanisms import Tally
from deniable.mechanisms.checks import unmasked
from deniable.metric import ContinuousWave, Mean, PlanarLaplace
from deniable.records import RecordMechanism

FEWEST_BINS, MOST_BINS = 8, 256
"""The fewest and the most bins that numbers are counted in, unless others are asked for."""
MOST_ASKED = 1 << 11
"""And the most that can be asked for."""
_ROUNDED = 1e-9  # how far a report may be beyond the ends, by rounding


def build_law_problem(law: Law, data: Tally | Array) -> Problem:
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
        return Counted(Kept(law.k, law.p, law.q), check_outputs(tally))
    refuse_fractions(tally)
    bits = partial(_redraw_bits, law, tally.n) if law.bitwise and tally.asked is None else None
    return count_supports(tally, np.full(law.k, law.q), law.gain, bits)


def build_marginal_problem(law: Marginal, data: Tally | Array) -> Celled:
    """From the law of an attribute whose values are not all supported alike, and its tally."""
    return count_supports(_check_tally(law.k, data), law.q, law.gain, None)


def _redraw_bits(law: Law, n: int, shares: Floats, generator: np.random.Generator) -> Problem:
    """The people with a value, and all others, set its bit independently of all other bits."""
    people = generator.multinomial(n, shares / shares.sum())
    counts = generator.binomial(people, law.p) + generator.binomial(n - people, law.q)
    return build_law_problem(law, Tally(n, counts))


def count_in_bins(wave: ContinuousWave, data: Tally | Array, bins: int | None) -> Counted:
    """Numbers from 0 to 1 in bins, and their reports in twice as many. Unless given, bins are about the root
    of the number of reports.
    """
    if isinstance(data, Tally):
        raise InvalidReport(
            "give the reports of a continuous Square Wave themselves, as its privatize makes them"
        )
    low = -wave.width
    high = 1 + wave.width
    values = unmasked(data)
    try:
        reports = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        reports = np.full(1, np.nan)
    if reports.ndim != 1 or not ((reports >= low - _ROUNDED) & (reports <= high + _ROUNDED)).all():
        raise InvalidReport(f"reports of this Square Wave are a list of numbers from {low:.6g} to {high:.6g}")
    if not reports.size:
        raise InvalidParameter("there are no reports yet, so there is nothing to estimate")
    k = whole_number("bins", choose_bins(reports.size) if bins is None else bins, 2, MOST_ASKED)
    counts = np.histogram(np.clip(reports, low, high), 2 * k, (low, high))[0]
    return Counted(Table(np.maximum(wave.matrix(k, 2 * k), 0.0)), counts.astype(np.int64), (k,))


def choose_bins(n: int) -> int:
    """How many bins n numbers are counted in, unless others are asked for."""
    return min(max(round(math.sqrt(n)), FEWEST_BINS), MOST_BINS)


def count_supports(tally: Tally, q: Floats, gain: float, draw: partial[Problem] | None) -> Celled:
    """The share of the reports about each value that support it."""
    asked_counts = np.full(q.size, tally.n) if tally.asked is None else tally.asked
    if asked_counts.min() < 1:
        raise InvalidParameter(
            "nobody was asked about some of the values yet, so there is nothing to estimate"
        )
    return Celled(tally.n, tally.counts / asked_counts, asked_counts / tally.n, q, gain, draw)


def build_table(source: object) -> Table:
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


def count_values(source: object) -> int:
    """How many values there are, also where nobody has reported."""
    refuse_source(source)
    known = getattr(source, "k", None)
    return known if isinstance(known, int) else build_table(source).k


@singledispatch
def refuse_source(_: object) -> None:
    """Refuse what has no finite channel. Anything that may have one passes."""


@refuse_source.register
def _refuse_tally(_: Tally) -> None:
    raise InvalidParameter("first the mechanism or channel, then its tally or reports: mle(mechanism, tally)")


@refuse_source.register
def _refuse_record_mechanism(_: RecordMechanism) -> None:
    raise InvalidParameter(
        "a record mechanism has a likelihood for each attribute: give the law and the tally of one, "
        "mle(m.marginal(j), tallies[j])"
    )


@refuse_source.register
def _refuse_moments(_: Moments) -> None:
    raise InvalidParameter(
        "a noisy sum has an estimate and no likelihood: use the mechanism's estimate(tally)"
    )


@refuse_source.register
def _refuse_locations(_: PlanarLaplace) -> None:
    raise InvalidParameter(
        "reports of PlanarLaplace are locations, not counted outputs: use planar_geometric on a Grid"
    )


@refuse_source.register
def _refuse_mean(source: Mean) -> None:
    raise InvalidParameter(
        f"{type(source).__name__} is for a mean, which its estimate(tally) gives; for the distribution "
        "of a number use square_wave(epsilon, bins=...)"
    )


def check_outputs(tally: Tally) -> Integers:
    """The counts of outputs. Every report has one output."""
    if tally.n < 1:
        raise InvalidParameter("there are no reports yet, so there is nothing to estimate")
    refuse_fractions(tally)
    if tally.asked is not None or int(tally.counts.sum()) != tally.n:
        raise InvalidReport(f"every report has one output, so the counts must add up to n = {tally.n}")
    return np.asarray(tally.counts, dtype=np.int64)


def refuse_fractions(tally: Tally) -> None:
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
