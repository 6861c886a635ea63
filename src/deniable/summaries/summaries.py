"""Estimates means, cumulative shares and quantiles of values that are numbers or positions, with intervals.

From an unbiased estimate they are unbiased, with standard errors from the law. From a most likely
distribution they come with a bootstrap. Neighboring values are also summed in groups: single bins or cells
scatter widely, and their groups are known far better.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats, Integers
from deniable.domain import Domain
from deniable.domain.groups import list_groups
from deniable.errors import InvalidParameter
from deniable.estimate import Bins, Estimate, normal_quantile, reach_of, scored, seen_squares, student
from deniable.exact import number
from deniable.formatting import Printed, format_digits
from deniable.law import Moments, finite
from deniable.likelihood import Likelihood
from deniable.mechanisms import checked_values
from deniable.summaries.totals import cumulate, error_of, known_squares, rising, weigh

Result = Estimate | Likelihood


@final
@dataclass(frozen=True)
class Summary(Printed):
    """A number, how far it may be off, and where the true one is with the confidence that was asked for.

    For a smoothed result only the number is known: no repetition shows its bias, so error and ends are nan.
    """

    value: float
    stderr: float
    low: float
    high: float
    within: float = 0.0
    """How much farther value and ends may be off, since bins hide answers: half a bin for a mean."""
    is_ratio: bool = field(default=False, kw_only=True)
    """Whether an infinite end means that there is no limit; else the end of a range is open."""

    points_of: str = field(default="", kw_only=True)
    """The column of a table whose shares it is a difference of, which is shown in points."""

    edges: tuple[float, float] | None = field(default=None, repr=False, compare=False, kw_only=True)
    """The ends for a share: the lower one if everybody were seen in it, the upper one if nobody were."""

    def cut(self, least: float = 0.0, most: float = 1.0) -> Summary:
        """The number as it is shown: a possible one, in an interval of possible ones.

        A number below what is possible is below the truth, and so is its interval: cut off, it would look the
        most precise and be the least reliable. So an interval reaches at least as far as it would from
        `least` or from `most`.
        """
        low, high = self.low, self.high
        if self.edges is not None:
            low, high = min(low, self.edges[0]), max(high, self.edges[1])
        elif self.value < least:
            high += least - self.value
        elif self.value > most:
            low -= self.value - most
        value, low, high = (min(max(end, least), most) for end in (self.value, low, high))
        return replace(self, value=value, low=min(low, value), high=max(high, value))

    def __str__(self) -> str:
        if self.edges is not None:
            return str(replace(self.cut(), edges=None))
        if math.isnan(self.low):
            return f"{format_digits(self.value, 6)} (smoothed, so without error bars)"
        if math.isnan(self.value):
            return "not known"
        if self.points_of:
            value, low, high = (
                f"{100 * number_shown:+.1f}" for number_shown in (self.value, self.low, self.high)
            )
            error = format_digits(100 * self.stderr, 2)
            return f"{self.points_of}: {value} points, from {low} to {high} (standard error {error})"
        within = f"; bins add up to {format_digits(self.within, 6)} either way" if self.within else ""
        ends = f"from {_format_end(self.low)} to {_format_end(self.high)}"
        if self.is_ratio and math.isinf(self.high):
            ends = f"from {format_digits(self.low, 6)}, with no upper limit"
        error = format_digits(self.stderr, 2)
        return f"{_format_end(self.value)}, {ends} (standard error {error}){within}"


def _format_end(position: float) -> str:
    return format_digits(position, 6) if math.isfinite(position) else "beyond the open end"


def mean_of(
    result: Result,
    positions: npt.ArrayLike | None = None,
    level: float = 0.95,
    repeats: int = 200,
    seed: int = 1,
) -> Summary:
    """Estimates the mean of the values' positions, with an interval.

    The interval of an estimate is normal (Student's). That of most likely shares is a bootstrap: its
    percentiles or its standard error, whichever reach farther, and all positions where the likelihood is
    `flat`.

    `positions` has a number for each value. It may be left out for bins of a range, whose middles are used
    (an answer may be half a bin from it, which is `within`). It may also be left out for values without
    names, which are at 0, 1, 2, ... On a grid, ask once for each coordinate.

    >>> from deniable.mechanisms import grr
    >>> from deniable.mechanisms import Tally
    >>> m = grr(k=3, epsilon=1.0)
    >>> half = mean_of(m.estimate(Tally(10_000, [5000, 2500, 2500])), positions=[0, 50, 100])
    >>> round(half.value, 1), round(half.stderr, 2), half.low < half.value < half.high
    (15.7, 1.14, True)
    """
    _refuse_other(result)
    points, bins = _points(result, positions), _bins(result, positions)
    if bins is not None and (bins.open_low or bins.open_high):
        raise InvalidParameter(
            "an end of the range is open, so it is not known where the people in its outermost bin are; "
            "give positions=[...], one for each bin, or ask for a quantile"
        )
    if isinstance(result, Likelihood):
        ends = float(points.min()), float(points.max())
        summary = _bootstrap(result, lambda rows: rows @ points, ends, level, repeats, seed)
    else:
        weighed = weigh(result, points, float(points.min() + points.max()) / 2)
        summary = _normal(weighed.value, error_of(result, weighed.weights), level, result.n)
    return summary if bins is None else replace(summary, within=bins.half)


def sum_of(
    result: Result, values: npt.ArrayLike, level: float = 0.95, repeats: int = 200, seed: int = 1
) -> Summary:
    """Estimates the share of some values together; its standard error lets opposite errors cancel.

    All shares add up to 1, whatever their estimates add up to: the sum is the one that errs least (`weigh`),
    and that of all other values is 1 minus it, with the same error. The interval is Wilson's: it holds the
    shares that are near enough by the errors that they would have. Where these depend on who the people are,
    it holds the normal one, too. For metric values the noise of people without these values is the observed
    one, and two more reports of people with them count: a value whose neighborhood nobody reported need not
    be rare. For one value it is `interval`. For a most likely distribution it is a bootstrap, and holds what
    the intervals of single values allow.

    >>> from deniable.mechanisms import grr
    >>> from deniable.mechanisms import Tally
    >>> m = grr(k=3, epsilon=1.0)
    >>> two = sum_of(m.estimate(Tally(10_000, [5000, 2500, 2500])), [0, 1])
    >>> round(two.value, 3), round(two.stderr, 3)
    (0.895, 0.012)
    """
    _refuse_other(result)
    chosen = np.zeros(result.k)
    chosen[checked_values(values, result.k)] = 1.0
    if isinstance(result, Likelihood):
        return _likely_sum(result, chosen, level, repeats, seed)
    size = int(chosen.sum())
    if size in (0, result.k):
        everybody = float(size > 0)
        return Summary(everybody, 0.0, everybody, everybody)
    if size == 1:
        v = int(np.argmax(chosen))
        ends = result.interval(level)
        least, most = result.edge_ends(level)
        return Summary(
            float(result.frequencies[v]),
            float(result.stderr[v]),
            float(ends.low[v]),
            float(ends.high[v]),
            edges=(float(least[v]), float(most[v])),
        )
    is_half = 2 * size == result.k
    if 2 * size > result.k or (is_half and chosen[0] == 0):
        return _complement(_sum_chosen(result, 1 - chosen, level))
    return _sum_chosen(result, chosen, level)


def _complement(others: Summary) -> Summary:
    """The share of everybody else."""
    assert others.edges is not None
    return Summary(
        1 - others.value,
        others.stderr,
        1 - others.high,
        1 - others.low,
        edges=(1 - others.edges[1], 1 - others.edges[0]),
    )


def _sum_chosen(result: Estimate, chosen: Floats, level: float) -> Summary:
    """The share of at most half of the values, which are 1."""
    if chosen.sum() == 1:
        return sum_of(result, np.flatnonzero(chosen), level)
    tail, law = (1 - number("a confidence level", level, 0.0, 1.0)) / 2, result.law
    value, weights = weigh(result, chosen)
    error = error_of(result, weights)
    if isinstance(law, Moments) and law.joined is not None:
        ends, edges = law.joined.sum_ends(chosen, value, error, tail)
        return Summary(value, error, *ends, edges=edges)
    inside, outside, are_exact = 0.0, 0.0, False
    if isinstance(law, Moments) and law.grouped is not None:
        inside, seen = law.grouped(chosen)
        squares, others = seen_squares(seen, result.n, inside, value)
        error = max(error, math.sqrt(max(float(squares) - value**2, 0.0) / result.n))
        outside = float(others)
    elif result.asked is None:
        inside, outside, are_exact = known_squares(result, chosen, weights)
    reach = 0.0 if are_exact else student(tail, result.n) * error
    if result.asked is not None:
        return Summary(value, error, value - reach, value + reach, edges=(1 - reach, reach))
    # the ends from this share, from nobody and from everybody
    lows, highs = scored(np.array([value, 0.0, 1.0]), result.n, inside, outside, tail)
    return Summary(
        value,
        error,
        min(float(lows[0]), value - reach) if reach else float(lows[0]),
        max(float(highs[0]), value + reach) if reach else float(highs[0]),
        edges=(min(float(lows[2]), 1 - reach), max(float(highs[1]), reach)),
    )


def _likely_sum(result: Likelihood, chosen: Floats, level: float, repeats: int, seed: int) -> Summary:
    """By bootstrap, within what the intervals of the single values allow."""
    # all values together have everybody, and no values nobody
    possible = float(chosen.all()), float(chosen.any())
    summary = _bootstrap(result, lambda rows: rows @ chosen, possible, level, repeats, seed)
    if not result.has_errors or chosen.all() or not chosen.any():
        return summary
    single, ends = chosen.sum() == 1, result.interval(level, repeats, seed)
    errors = result.standard_errors(repeats, seed)
    error = float(errors[np.argmax(chosen)]) if single else max(summary.stderr, 0.5 if result.flat else 0.0)
    low = ends.low[chosen > 0].min() if single else 1 - ends.high[chosen == 0].max()
    return Summary(
        summary.value,
        error,
        max(0.0, min(summary.low, low)),
        max(summary.high, float(ends.high[chosen > 0].max())),
    )


def quantile_of(
    result: Result,
    share: float,
    positions: npt.ArrayLike | None = None,
    level: float = 0.95,
    repeats: int = 200,
    seed: int = 1,
) -> Summary:
    """Estimates where the cumulative share of values on a line reaches `share`: a position, or inside a bin.

    In bins of a range people are taken to be spread evenly, and the interval reaches to the outer edges of
    the bins that it ends in: nobody knows where in a bin its people are. A bin without an end is infinitely
    far out. From an estimate, the interval holds all positions whose cumulative share may be `share`; the
    standard error is a quarter of its length at 95 %, as for a normal number.
    """
    _refuse_other(result)
    points, bins = _points(result, positions), _bins(result, positions)
    target = number("share", share, 0.0, 1.0)
    if (np.diff(points) < 0).any():
        raise InvalidParameter("positions on a line must be in ascending order")
    z = normal_quantile(level)
    if isinstance(result, Likelihood):
        tail, cumulative = (1 - level) / 2, np.cumsum(result.frequencies)
        at = int(_first(cumulative, target))
        if not result.has_errors:
            return _bare(float(points[at]) if bins is None else interpolate(bins, cumulative, at, target))
        # both ends: repeats of a flat likelihood say nothing
        low, high = (int(_first(np.full(result.k, below), target)) for below in (1.0, 0.0))
        if not result.flat:
            repeated = _first(np.cumsum(result.bootstrap(repeats, seed), axis=-1), target)
            least, most = np.quantile(repeated, [tail, 1 - tail], method="nearest").tolist()
            low, high = min(int(least), at), max(int(most), at)
    else:
        curve = cumulate(result, target)
        cumulative, errors = rising(curve.below), z * np.append(curve.errors, 0.0)
        low, high = (int(_first(cumulative + side, target)) for side in (errors, -errors))
    if bins is not None:
        return _span_bins(bins, cumulative, (low, high), target, z)
    at = int(_first(cumulative, target))
    return span_quantile(float(points[at]), float(points[low]), float(points[high]), z)


def quantile_between(bins: Bins, cumulative: Floats, errors: Floats, target: float, level: float) -> Summary:
    """A quantile by cumulative shares of bins whose errors are known, one for each bin, the last 0."""
    z = normal_quantile(level)
    low, high = (int(_first(cumulative + side * errors, target)) for side in (z, -z))
    return _span_bins(bins, cumulative, (low, high), target, z)


def _first(cumulative: Floats, target: float) -> npt.NDArray[np.int64]:
    """The first value whose cumulative share (in the last axis) reaches the target."""
    return np.asarray(np.minimum((cumulative < target - 1e-12).sum(axis=-1), cumulative.shape[-1] - 1))


def _span_bins(bins: Bins, cumulative: Floats, ends: tuple[int, int], target: float, z: float) -> Summary:
    """From the lower edge of the first bin to the upper edge of the last one."""
    value = interpolate(bins, cumulative, int(_first(cumulative, target)), target)
    return span_quantile(value, float(bins.ends[ends[0]]), float(bins.ends[ends[1] + 1]), z)


def span_quantile(value: float, low: float, high: float, z: float) -> Summary:
    """A quantile whose ends are z standard errors from it; its error is not known at an open end."""
    return Summary(value, (high - low) / (2 * z) if math.isfinite(value) else math.inf, low, high)


def interpolate(bins: Bins, cumulative: Floats, at: int, target: float) -> float:
    """Where in a bin the cumulative share is reached, if its people are spread evenly."""
    low, high = float(bins.ends[at]), float(bins.ends[at + 1])
    if not (math.isfinite(low) and math.isfinite(high)):
        return low if math.isinf(low) else high
    before = float(cumulative[at - 1]) if at else 0.0
    part = (target - before) / max(float(cumulative[at]) - before, 1e-300)
    return low + (high - low) * min(max(part, 0.0), 1.0)


def _refuse_other(result: object) -> None:
    if not isinstance(result, Estimate | Likelihood):
        raise InvalidParameter(
            "means, sums and quantiles are of a result, which knows its errors: m.estimate(tally) or mle(m, "
            f"tally), got {type(result).__name__}"
        )


def _bins(result: Result, positions: npt.ArrayLike | None) -> Bins | None:
    """The bins that give positions, unless others are given."""
    return result.bins if positions is None else None


def _points(result: Result, positions: npt.ArrayLike | None) -> Floats:
    if positions is None and result.bins is not None:
        return result.bins.middles
    if positions is None and result.labels is not None:
        raise InvalidParameter(
            f"the values have names ({result.labels[0]!s}, ...) and no positions on a line; say where they "
            f"are with positions=[...], {result.k} numbers"
        )
    points = (
        np.arange(result.k, dtype=np.float64)
        if positions is None
        else finite(positions, f"positions are {result.k} numbers")
    )
    if points.shape != (result.k,):
        raise InvalidParameter(f"positions are {result.k} numbers, got an array of shape {points.shape}")
    return points


def _normal(value: float, error: float, level: float, n: int) -> Summary:
    """By Student's law: the error is one of n reports as they scatter, or nearly so."""
    reach = student((1 - number("a confidence level", level, 0.0, 1.0)) / 2, n) * error
    return Summary(value, error, value - reach, value + reach)


def _bootstrap(
    result: Likelihood,
    function: Callable[[Floats], Floats],
    ends: tuple[float, float],
    level: float,
    repeats: int,
    seed: int,
) -> Summary:
    """Take percentiles of repeats, or their standard error around the value, whichever reach farther.

    Repeats of a flat likelihood say nothing: then everything between the ends is possible.
    """
    tail = (1 - number("a confidence level", level, 0.0, 1.0)) / 2
    value = float(np.asarray(function(result.frequencies[None, :]))[0])
    if not result.has_errors:
        return _bare(value)
    least, most = min(ends[0], value), max(ends[1], value)  # a rounding beyond them
    if result.flat:
        return Summary(value, (most - least) / 2, least, most)
    repeated = np.asarray(function(result.bootstrap(repeats, seed)), dtype=np.float64)
    low, high = np.quantile(repeated, [tail, 1 - tail])
    error = float(repeated.std(ddof=1))
    reach = reach_of(tail) * error
    return Summary(
        value, error, max(least, min(float(low), value - reach)), min(most, max(float(high), value + reach))
    )


def _bare(value: float) -> Summary:
    return Summary(value, math.nan, math.nan, math.nan)


class Group(NamedTuple):
    """Some neighboring values: their common name, their numbers, and their share with its own error."""

    label: str
    values: Integers
    share: Summary


def groups_of(estimate: Estimate, domain: Domain | None, level: float = 0.95) -> list[Group]:
    """About ten groups of the bins of a long range, or sixteen blocks of a large grid; else no groups.

    "No answer", where it is a value, stays on its own.

    >>> from deniable.metric import geometric
    >>> from deniable.domain import Range
    >>> ages, m = Range(18, 98, step=1), geometric(79, 0.5)
    >>> found = groups_of(m.estimate(m.tally(m.privatize([2] * 50 + [40] * 50))), ages)
    >>> [group.label for group in found[:2]], len(found), found[0].values.tolist()
    (['18 to under 20', '20 to under 30'], 9, [0, 1])
    """
    members = list_groups(domain)
    if domain is None or not members:
        return []
    if estimate.k > domain.k and estimate.labels is not None:
        members = [*members, *((str(estimate.labels[v]), np.array([v])) for v in range(domain.k, estimate.k))]
    return [Group(label, values, sum_of(estimate, values, level)) for label, values in members]
