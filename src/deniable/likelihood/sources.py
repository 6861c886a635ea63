"""What is given beside a mechanism: bare channels, laws by themselves, counts; and what has no finite
channel, refused.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from deniable.arrays import Array, Floats, Integers
from deniable.errors import InvalidParameter, InvalidReport
from deniable.exact import whole_number
from deniable.law import Law, Marginal, Matrix, Moments
from deniable.likelihood.problem import Celled, Counted, Problem, Table
from deniable.likelihood.rows import Kept
from deniable.mechanisms import Tally, unmasked
from deniable.metric import ContinuousWave, Mean, PlanarLaplace

FEWEST_BINS, MOST_BINS = 8, 256
"""The fewest and the most bins that numbers are counted in, unless others are asked for."""
MOST_ASKED = 1 << 11
"""And the most that can be asked for."""
_ROUNDED = 1e-9  # how far a report may be beyond the ends, by rounding


def of_law(law: Law | Marginal, data: Tally | Array) -> Problem:
    """From the law of an attribute alone, and its tally.

    Where a report supports one value, that is the whole channel. Else only each value's own chances are
    known.
    """
    tally = _tallied(law.k, data)
    if isinstance(law, Marginal):
        return celled(tally, law.q, law.gain, None)
    if law.exact_p <= law.exact_q:
        raise InvalidParameter(
            "by this law a report supports the true value no more often than another, so it says nothing "
            "about the value"
        )
    if law.sizes.tolist() == [1]:
        return Counted(Kept(law.k, law.p, law.q), all_counted(tally))
    whole_counts(tally)
    bits = partial(_bits_again, law, tally.n) if law.bitwise and tally.asked is None else None
    return celled(tally, np.full(law.k, law.q), law.gain, bits)


def _bits_again(law: Law, n: int, shares: Floats, generator: np.random.Generator) -> Problem:
    """Each value's count is of its own people, and of all others: bits are independent."""
    people = generator.multinomial(n, shares / shares.sum())
    return of_law(law, Tally(n, generator.binomial(people, law.p) + generator.binomial(n - people, law.q)))


def of_wave(wave: ContinuousWave, data: Tally | Array, bins: int | None) -> Counted:
    """Numbers from 0 to 1 in bins, and their reports in twice as many: about the root of how many there are,
    unless given.
    """
    if isinstance(data, Tally):
        raise InvalidReport(
            "give the reports of a continuous Square Wave themselves, as its privatize makes them"
        )
    low, high, given = -wave.width, 1 + wave.width, unmasked(data)
    try:
        reports = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        reports = np.full(1, np.nan)
    if reports.ndim != 1 or not ((reports >= low - _ROUNDED) & (reports <= high + _ROUNDED)).all():
        raise InvalidReport(f"reports of this Square Wave are a list of numbers from {low:.6g} to {high:.6g}")
    if not reports.size:
        raise InvalidParameter("there are no reports yet, so there is nothing to estimate")
    k = whole_number("bins", usual_bins(reports.size) if bins is None else bins, 2, MOST_ASKED)
    counts = np.histogram(np.clip(reports, low, high), 2 * k, (low, high))[0]
    return Counted(Table(np.maximum(wave.matrix(k, 2 * k), 0.0)), counts.astype(np.int64), (k,))


def usual_bins(n: int) -> int:
    """In how many bins so many numbers are counted, unless it is said."""
    return min(max(round(math.sqrt(n)), FEWEST_BINS), MOST_BINS)


def celled(tally: Tally, q: Floats, gain: float, draw: partial[Problem] | None) -> Celled:
    """How many reports support each value, of those about it."""
    asked = np.full(q.size, tally.n) if tally.asked is None else tally.asked
    if asked.min() < 1:
        raise InvalidParameter(
            "there are values that nobody was asked about yet, so there is nothing to estimate"
        )
    return Celled(tally.n, tally.counts / asked, asked / tally.n, q, gain, draw)


def table_of(source: object) -> Table:
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
            "mle(dn.geometric(5, 1.0), tally), or a channel as a table of probabilities, a row for each value"
        ) from None
    return Table(numbers)


def values_of(source: object) -> int:
    """How many values there are, also where nobody has reported."""
    refuse_numbers(source)
    known = getattr(source, "k", None)
    return known if isinstance(known, int) else table_of(source).k


def refuse_numbers(source: object) -> None:
    """What reports numbers that are not counted by outputs has no finite channel; a tally is no channel at
    all.
    """
    if isinstance(source, Tally):
        raise InvalidParameter(
            "first the mechanism or channel, then its tally or reports: mle(mechanism, tally)"
        )
    if hasattr(source, "marginal"):  # a share, which is made of mechanisms and laws and not known here
        raise InvalidParameter(
            "a record mechanism has a likelihood for each attribute: give the law and the tally of one, "
            "mle(m.marginal(j), tallies[j])"
        )
    if isinstance(source, Moments):
        raise InvalidParameter(
            "a noisy sum has an estimate and no likelihood: use the mechanism's estimate(tally)"
        )
    if isinstance(source, PlanarLaplace):
        raise InvalidParameter(
            "reports of PlanarLaplace are locations, not counted outputs: use planar_geometric on a Grid"
        )
    if isinstance(source, Mean):
        raise InvalidParameter(
            f"{type(source).__name__} is for a mean, which its estimate(tally) gives; for the distribution "
            "of a number use square_wave(epsilon, bins=...)"
        )


def all_counted(tally: Tally) -> Integers:
    """The counts of outputs, of which every report has one."""
    if tally.n < 1:
        raise InvalidParameter("there are no reports yet, so there is nothing to estimate")
    whole_counts(tally)
    if tally.asked is not None or int(tally.counts.sum()) != tally.n:
        raise InvalidReport(f"every report has one output, so the counts must add up to n = {tally.n}")
    return np.asarray(tally.counts, dtype=np.int64)


def whole_counts(tally: Tally) -> None:
    """Counts may be floats, as files give them, if they are whole numbers from 0 on."""
    if tally.counts.dtype.kind == "i":  # a tally has refused what is negative
        return
    odd = (tally.counts % 1 != 0) | (tally.counts < 0)
    if odd.any():
        raise InvalidReport(
            f"counts of reports are whole numbers from 0 on, got {tally.counts[np.argmax(odd)]:g}; give "
            "counts, not shares"
        )


def _tallied(k: int, data: Tally | Array) -> Tally:
    if not isinstance(data, Tally):
        raise InvalidReport(
            f"an attribute's law is fitted to a tally of its {k} values, got {type(data).__name__}"
        )
    if data.counts.size != k:
        raise InvalidReport(f"this tally counts {data.counts.size} values, the law has {k}")
    return data
