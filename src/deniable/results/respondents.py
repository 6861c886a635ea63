"""Finds shares, means and quantiles of those who answered, from reports of everybody."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from deniable.arrays import Floats
from deniable.estimate import Bins, Estimate, reach_of
from deniable.exact import number
from deniable.formatting import format_count
from deniable.plan.attribute import NO_ANSWER_LABEL, NOT_APPLICABLE
from deniable.results.applicable import find_condition
from deniable.summaries import Summary, quantile_between, sum_of
from deniable.summaries.covariance import error_of
from deniable.summaries.ratios import fieller_ends, ratio_error
from deniable.summaries.totals import Curve, cumulate, rising, weigh

if TYPE_CHECKING:
    from deniable.results.result import Result

ANSWERED = "those who answered"
APPLIES = "those to whom it applies"
BOTH = f"{APPLIES} and who answered"
FILLED = "all reports, with random values in place of missing answers"
_MOST_STEPS = 256  # bins of a range whose cumulative errors are computed; others lie between them

Columns = tuple[Floats, Floats, Floats, Floats]
"""Values, standard errors, and the ends of intervals."""


def name_people(result: Result, name: str, middle: bool = False) -> str | None:
    """Whom an attribute's shares are about, or its mean and quantiles (`middle`); None for everybody."""
    if result.plan is None:
        return None
    content = result.plan.content
    by_name = {one.name: one for one in content.attributes}
    one = by_name[name]
    condition = find_condition(content, name)
    if condition is not None:
        parent = condition[0]
        if parent.answers != name:
            return APPLIES
        return ANSWERED if parent.only_if is None else BOTH
    if content.missing_of(one) == "random":
        return FILLED
    extras = content.extras(one) if middle else ()
    silent, skipped = (label in extras for label in (NO_ANSWER_LABEL, NOT_APPLICABLE))
    return (BOTH if silent else APPLIES) if skipped else ANSWERED if silent else None


@final
@dataclass(frozen=True)
class Respondents:
    """What was counted of an attribute, and how many of all people its results are about."""

    attribute: str
    reports: int
    """By everybody: nobody can see which of them hold a random value."""
    among: str
    share: float
    low: float
    high: float

    def __str__(self) -> str:
        share = f"{100 * self.share:.1f} % ({100 * self.low:.1f} to {100 * self.high:.1f})"
        return f"{format_count(self.reports, 'report')} by everybody; about {share} are {self.among}"

    def about(self) -> dict[str, Any]:
        """Ready for JSON."""
        return asdict(self) | {"text": str(self)}


def find_respondents(result: Result, name: str, level: float) -> Respondents | None:
    """Whom results are about, where random values stand for the others; None where that is not so."""
    people = name_people(result, name)
    if people is None or not result.is_drawn(name):
        return None
    found = share_answered(result, name, level)
    ends = (min(max(one, 0.0), 1.0) for one in (found.value, found.low, found.high))
    return Respondents(name, int(result[name].n), people, *ends)


def correct_shares(result: Result, name: str, sizes: Floats, found: Columns, level: float) -> Columns:
    """Shares of so many values each, among those who answered, where random values stand for the others.

    Each end is Fieller's, from how far the share of all reports reaches on its side.
    """
    assert result.plan is not None
    share, parts = share_answered(result, name, level), sizes / result.domains[name].k
    tail = (1 - level) / 2
    reach = reach_of(tail)
    bottom, unsure = share.value, (max(share.high - share.value, share.value - share.low) / reach) ** 2
    rows = []
    for part, value, error, low, high in zip(parts.tolist(), *(one.tolist() for one in found), strict=True):
        ends = [
            fieller_ends(value - part, bottom, ((far / reach) ** 2, unsure), 0.0, tail)
            for far in (value - low, high - value)
        ]
        below, above = (None if end is None else end[side] + part for side, end in enumerate(ends))
        rows.append(
            (
                (value - part) / bottom + part if bottom > 0 else part,
                # nobody errs by more than everything
                min(ratio_error(value - part, bottom, (error**2, unsure)), 1.0),
                0.0 if below is None else below,
                1.0 if above is None else above,
            )
        )
    value, error, low, high = (np.array(column) for column in zip(*rows, strict=True))
    return value, error, np.minimum(low, value), np.maximum(high, value)


def share_answered(result: Result, name: str, level: float) -> Summary:
    """The share of reports whose value of this attribute is an answer, where the others are random."""
    condition = None if result.plan is None else find_condition(result.plan.content, name)
    assert condition is not None, "random values stand for somebody"
    parent, codes = condition
    return sum_of(result.estimates[parent.name], codes, level)


def mean_answered(estimate: Estimate, positions: Floats, level: float) -> Summary:
    """The mean of the first values, which have positions; those after them stand for having no answer.

    It is a ratio of two sums, with Fieller's interval, cut to the positions.
    """
    least, most = float(positions.min()), float(positions.max())
    center, half = (least + most) / 2, max((most - least) / 2, 1e-300)
    has = (np.arange(estimate.k) < positions.size).astype(np.float64)
    points = np.zeros(estimate.k)
    points[: positions.size] = (positions - center) / half
    (top, upper), (bottom, lower) = weigh(estimate, points), weigh(estimate, has)
    own, unsure = error_of(estimate, upper) ** 2, error_of(estimate, lower) ** 2
    # the variance of a difference says how both err together
    both = (own + unsure - error_of(estimate, upper - lower) ** 2) / 2
    tail = (1 - number("a confidence level", level, 0.0, 1.0)) / 2
    ends = fieller_ends(top, bottom, (own, unsure), both, tail)
    value = top / bottom if bottom > 0 else 0.0
    error = min(ratio_error(top, bottom, (own, unsure), both), 2.0)
    found = Summary(value, error, *((-1.0, 1.0) if ends is None else ends)).cut(-1.0, 1.0)
    value, low, high = (center + half * place for place in (found.value, found.low, found.high))
    return Summary(value, half * error, low, high)


def quantile_answered(result: Result, name: str, bins: Bins, share: float, level: float) -> Summary:
    """A quantile among those who answered: the interval holds all positions whose cumulative share may be it.

    A position is held if the share of people below it, less `share` of those who answered, is no farther from
    0 than its own error allows; so the error of how many answered counts, too.
    """
    wanted = number("share", share, 0.0, 1.0)
    curve = cumulative_shares(result, name, wanted)
    return quantile_between(bins, rising(curve.below), np.append(curve.errors, 0.0), wanted, level)


def cumulative_shares(result: Result, name: str, wanted: float) -> Curve:
    """The cumulative shares of those who answered, unbiased, and the errors by which each is told from
    `wanted`: of all bins but the last.
    """
    estimate, k = result.estimates[name], result.domains[name].k
    if not result.is_drawn(name) and estimate.k == k:
        return cumulate(estimate, wanted)
    before = np.arange(1, k) / k
    if result.is_drawn(name):
        answered = share_answered(result, name, 0.95)
        bottom, unsure = answered.value, answered.stderr**2
    else:
        bottom, unsure = weigh(estimate, (np.arange(estimate.k) < k).astype(np.float64)).value, 0.0
    if bottom <= 0:
        return Curve(before, np.full(k - 1, math.inf))
    reached = cumulate(estimate, wanted).below[: k - 1]
    below = (reached - before) / bottom + before if result.is_drawn(name) else reached / bottom
    steps = np.unique(np.linspace(0, k - 2, min(k - 1, _MOST_STEPS)).astype(np.int64))
    squares = []
    for v in steps.tolist():
        points = (np.arange(estimate.k) <= v).astype(np.float64)
        if result.is_drawn(name):
            here, weights = weigh(estimate, points)
            there = before[v] + (wanted - before[v]) * bottom
            seen, expected = here * (1 - here), there * (1 - there)
            more = (wanted - before[v]) ** 2 * unsure
        else:
            points[:k] -= wanted
            here, weights = weigh(estimate, points)
            seen = float(estimate.frequencies @ points**2) - here**2
            expected, more = bottom * wanted * (1 - wanted), 0.0
        # people scatter as they would if this were the quantile, or as they were seen to
        scatter = max(expected - seen, 0.0) / estimate.n
        squares.append(error_of(estimate, weights) ** 2 + scatter + more)
    return Curve(below, np.interp(np.arange(k - 1), steps, np.sqrt(squares)) / bottom)


def read_columns(found: Sequence[Summary]) -> Columns:
    """Summaries as columns."""
    value, error, low, high = (
        np.array([getattr(one, of) for one in found], dtype=np.float64)
        for of in ("value", "stderr", "low", "high")
    )
    return value, error, low, high
