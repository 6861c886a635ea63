"""Finds shares, means and quantiles of those who answered, from reports of everybody."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, final

import numpy as np

from deniable.arrays import Floats, Integers
from deniable.domain import Range
from deniable.domain.grid import Grid
from deniable.errors import InvalidParameter
from deniable.estimate import Bins, Estimate, MeanEstimate, reach_of
from deniable.exact import number
from deniable.formatting import Printed, format_count
from deniable.plan.attribute import NO_ANSWER_LABEL, NOT_APPLICABLE, Attribute
from deniable.results.estimates import Estimates, bins_of, explain_random, find_condition
from deniable.results.possible_shares import Likely, Shares, read_values
from deniable.summaries import Group, Summary, mean_of, quantile_between, sum_of
from deniable.summaries.ratios import fieller_ends, ratio_error
from deniable.summaries.totals import Curve, cumulate, error_of, rising, weigh

ANSWERED = "those who answered"
APPLIES = "those to whom it applies"
BOTH = f"{APPLIES} and who answered"
FILLED = "all reports, with random values in place of missing answers"
_MOST_ANSWERS = 100  # of more, errors of hashed answers take longer than a page can wait
_MOST_STEPS = 256  # bins of a range whose cumulative errors are computed; others lie between them

Columns = tuple[Floats, Floats, Floats, Floats]
"""Values, standard errors, and the ends of intervals."""


def name_people(estimates: Estimates, name: str, of_mean: bool = False) -> str | None:
    """Whom an attribute's shares are about, or its mean and quantiles (`of_mean`); None for everybody."""
    if estimates.document is None:
        return None
    document = estimates.document
    attribute = document.by_name[name]
    condition = find_condition(document, name)
    if condition is not None:
        parent = condition[0]
        if parent.answers != name:
            return APPLIES
        return ANSWERED if parent.only_if is None else BOTH
    if document.missing_of(attribute) == "random":
        return FILLED
    extras = document.extras(attribute) if of_mean else ()
    silent, skipped = (label in extras for label in (NO_ANSWER_LABEL, NOT_APPLICABLE))
    return (BOTH if silent else APPLIES) if skipped else ANSWERED if silent else None


@final
@dataclass(frozen=True)
class Respondents(Printed):
    """What was counted of an attribute, and how many of all people its results are about."""

    attribute: str
    reports: int
    """How many reports everybody sent: nobody can see which of them hold a random value."""
    among: str
    share: float
    low: float
    high: float

    def __str__(self) -> str:
        share = f"{100 * self.share:.1f} % ({100 * self.low:.1f} to {100 * self.high:.1f})"
        return f"{format_count(self.reports, 'report')} by everybody; about {share} are {self.among}"

    def about(self) -> dict[str, Any]:
        return asdict(self) | {"text": str(self)}


def find_respondents(estimates: Estimates, name: str, level: float) -> Respondents | None:
    """Whom results are about, where random values stand for the others; None where that is not so."""
    people = name_people(estimates, name)
    if people is None or not estimates.is_drawn(name):
        return None
    summary = share_answered(estimates, name, level)
    ends = (min(max(share, 0.0), 1.0) for share in (summary.value, summary.low, summary.high))
    return Respondents(name, int(estimates[name].n), people, *ends)


def correct_shares(estimates: Estimates, name: str, sizes: Floats, columns: Columns, level: float) -> Columns:
    """Shares of so many values each, among those who answered, where random values stand for the others.

    Each end is Fieller's, from how far the share of all reports reaches on its side.
    """
    share, parts = share_answered(estimates, name, level), sizes / estimates.domains[name].k
    tail = (1 - level) / 2
    reach = reach_of(tail)
    bottom, unsure = share.value, (max(share.high - share.value, share.value - share.low) / reach) ** 2
    rows = []
    for part, value, error, low, high in zip(
        parts.tolist(), *(numbers.tolist() for numbers in columns), strict=True
    ):
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


def share_answered(estimates: Estimates, name: str, level: float) -> Summary:
    """The share of reports whose value of this attribute is an answer, where the others are random."""
    parent, codes = _find_condition(estimates, name)
    return sum_of(estimates.shares[parent.name], codes, level)


def _find_condition(estimates: Estimates, name: str) -> tuple[Attribute, list[int]]:
    condition = None if estimates.document is None else find_condition(estimates.document, name)
    assert condition is not None, "random values stand for somebody"
    return condition


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
    variance, unsure = error_of(estimate, upper) ** 2, error_of(estimate, lower) ** 2
    # the variance of a difference says how both err together
    covariance = (variance + unsure - error_of(estimate, upper - lower) ** 2) / 2
    tail = (1 - number("a confidence level", level, 0.0, 1.0)) / 2
    ends = fieller_ends(top, bottom, (variance, unsure), covariance, tail)
    value = top / bottom if bottom > 0 else 0.0
    error = min(ratio_error(top, bottom, (variance, unsure), covariance), 2.0)
    summary = Summary(value, error, *((-1.0, 1.0) if ends is None else ends)).cut(-1.0, 1.0)
    value, low, high = (center + half * place for place in (summary.value, summary.low, summary.high))
    return Summary(value, half * error, low, high)


def quantile_answered(estimates: Estimates, name: str, bins: Bins, share: float, level: float) -> Summary:
    """A quantile among those who answered: the interval holds all positions whose cumulative share may be it.

    The share of people below such a position, less `share` of those who answered, is no farther from 0 than
    its own error allows; so the error of how many answered counts, too.
    """
    checked = number("share", share, 0.0, 1.0)
    curve = cumulative_shares(estimates, name, checked)
    return quantile_between(bins, rising(curve.below), np.append(curve.errors, 0.0), checked, level)


def cumulative_shares(estimates: Estimates, name: str, share: float) -> Curve:
    """The cumulative shares of those who answered, unbiased, and the errors by which each is told from
    `share`: of all bins but the last.
    """
    estimate, k = estimates.shares[name], estimates.domains[name].k
    if not estimates.is_drawn(name) and estimate.k == k:
        return cumulate(estimate, share)
    before = np.arange(1, k) / k
    if estimates.is_drawn(name):
        answered = share_answered(estimates, name, 0.95)
        bottom, unsure = answered.value, answered.stderr**2
    else:
        bottom, unsure = weigh(estimate, (np.arange(estimate.k) < k).astype(np.float64)).value, 0.0
    if bottom <= 0:
        return Curve(before, np.full(k - 1, math.inf))
    reached = cumulate(estimate, share).below[: k - 1]
    below = (reached - before) / bottom + before if estimates.is_drawn(name) else reached / bottom
    steps = np.unique(np.linspace(0, k - 2, min(k - 1, _MOST_STEPS)).astype(np.int64))
    squares = []
    for v in steps.tolist():
        points = (np.arange(estimate.k) <= v).astype(np.float64)
        if estimates.is_drawn(name):
            value, weights = weigh(estimate, points)
            there = before[v] + (share - before[v]) * bottom
            seen, expected = value * (1 - value), there * (1 - there)
            more = (share - before[v]) ** 2 * unsure
        else:
            points[:k] -= share
            value, weights = weigh(estimate, points)
            seen = float(estimate.frequencies @ points**2) - value**2
            expected, more = bottom * share * (1 - share), 0.0
        # people scatter as they would if this were the quantile, or as they were seen to
        scatter = max(expected - seen, 0.0) / estimate.n
        squares.append(error_of(estimate, weights) ** 2 + scatter + more)
    return Curve(below, np.interp(np.arange(k - 1), steps, np.sqrt(squares)) / bottom)


def read_columns(summaries: Sequence[Summary]) -> Columns:
    """Summaries as columns."""
    value, error, low, high = (
        np.array([getattr(summary, of) for summary in summaries], dtype=np.float64)
        for of in ("value", "stderr", "low", "high")
    )
    return value, error, low, high


def correct_mean(estimate: MeanEstimate, parent: Estimate, codes: list[int]) -> MeanEstimate:
    """The mean of those who answered, from -1 to 1; random values are 0 on average.

    What is estimated of all is the share who answered times their mean. Both errors count. That they come
    from the same people makes the ratio less uncertain, and is left out.
    """
    share = sum_of(parent, codes)
    variances = estimate.stderr**2, share.stderr**2

    def ends(tail: float) -> tuple[float, float]:
        known = fieller_ends(estimate.mean, share.value, variances, 0.0, tail)
        if known is None:
            return -1.0, 1.0
        low, high = known
        # one that holds nothing possible is cut where it is shown
        return known if low > 1 or high < -1 else (max(low, -1.0), min(high, 1.0))

    mean = estimate.mean / share.value if share.value > 0 else 0.0
    return MeanEstimate(estimate.n, mean, ratio_error(estimate.mean, share.value, variances), ends)


def mean_among(estimates: Estimates, name: str, positions: Floats, level: float) -> Summary:
    """The mean of a range among those who answered, where random values stand for the others."""
    parent, codes = _find_condition(estimates, name)
    estimate = estimates.shares[name]
    center = float(positions.mean())
    half = float(np.abs(positions - center).max())
    all_ = mean_of(estimate, (positions - center) / half)
    mean = correct_mean(
        MeanEstimate(estimate.n, all_.value, all_.stderr), estimates.shares[parent.name], codes
    )
    moved = mean.between(center - half, center + half)
    return Summary(moved.mean, moved.stderr, *moved.interval(level))


def shares_among(estimates: Estimates, name: str, level: float) -> dict[str, Summary]:
    """The share of each value among those to whom it applies, and who answered, with Fieller's interval.

    All are cut to 0..1.
    """
    estimate, domain = estimates[name], estimates.domains.get(name)
    if name in estimates.ranges:
        raise InvalidParameter(f"everybody has an answer to {name!r}: result.range({name!r}, low, high)")
    if not isinstance(estimate, Estimate) or domain is None:
        raise InvalidParameter(f"{name!r} is a number, whose mean is estimated: result.mean({name!r})")
    document = estimates.document
    attribute = None if document is None else document.by_name.get(name)
    if document is not None and attribute is not None and document.missing_of(attribute) == "random":
        raise InvalidParameter(f"{name!r}: {explain_random(name)}")
    labels = [str(label) for label in (estimate.labels or range(estimate.k))][: domain.k]
    if not estimates.is_drawn(name):
        columns = divide_shares(estimate, domain.k, [np.array([v]) for v in range(domain.k)], level)
    else:
        unbiased = estimate.frequencies, estimate.stderr, *estimate.interval(level)
        columns = correct_shares(estimates, name, np.ones(estimate.k), unbiased, level)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return {label: Summary(*row).cut() for label, row in zip(labels, rows, strict=True)}


@final
@dataclass(frozen=True, eq=False)
class Answered:
    """The shares of an attribute's values, or of its groups, among those who answered."""

    people: str
    """Who these are, in words."""
    part: float
    """The share of everybody that they are, as it is shown."""
    labels: Sequence[object]
    shares: Shares
    unbiased: Columns
    """Ratios of unbiased shares, their errors to first order, and Fieller's ends."""


def find_answered(
    estimates: Estimates, name: str, groups: Sequence[Group] | None, possible: Shares, level: float
) -> Answered | None:
    """What is shown of those who answered; None where that is what is shown already, or of too many values.

    Each share is the one of everybody that is `possible`, divided by the sum of all answers.
    """
    estimate, domain = estimates.shares[name], estimates.domains.get(name)
    people = name_people(estimates, name, of_mean=True)
    if domain is None or people is None or estimate.k == domain.k:
        return None
    labels: Sequence[object] = estimate.labels or range(estimate.k)
    values = [np.array([v]) for v in range(estimate.k)]
    if groups:
        labels, values = [group.label for group in groups], [group.values for group in groups]
    answers = [codes for codes in values if int(codes[0]) < domain.k]
    if len(answers) > _MOST_ANSWERS:
        return None
    unbiased = divide_shares(estimate, domain.k, answers, level)
    kept = possible.share[: len(answers)]
    part = float(kept.sum())
    share = kept / part if part > 0 else np.clip(unbiased[0], 0.0, 1.0)
    shares = read_values(unbiased, Likely(share, possible.method, "", None))
    return Answered(people, part, labels[: len(answers)], shares, unbiased)


def divide_shares(estimate: Estimate, answers: int, parts: Sequence[Integers], level: float) -> Columns:
    """The shares of so many values each, divided by the share of all answers, which are the first values.

    Where nobody is seen to have answered, all is possible.
    """
    codes = np.arange(estimate.k)
    is_answer = (codes < answers).astype(np.float64)
    bottom, lower = weigh(estimate, is_answer)
    unsure = error_of(estimate, lower) ** 2
    summaries = []
    for values in parts:
        top, upper = weigh(estimate, np.isin(codes, values).astype(np.float64))
        variance = error_of(estimate, upper) ** 2
        # the variance of a difference says how both err together
        covariance = (variance + unsure - error_of(estimate, upper - lower) ** 2) / 2
        ends = fieller_ends(top, bottom, (variance, unsure), covariance, (1 - level) / 2)
        low, high = (0.0, 1.0) if ends is None else ends
        value = top / bottom if bottom > 0 else values.size / answers
        # nobody errs by more than everything
        error = min(ratio_error(top, bottom, (variance, unsure), covariance), 1.0)
        summaries.append(Summary(value, error, min(low, value), max(high, value)))
    return read_columns(summaries)


def find_mean(
    estimates: Estimates, name: str, level: float = 0.95, ends: tuple[float, float] | None = None
) -> Summary:
    """The mean of a number, or of a range by the middles of its bins, with its error and interval."""
    if name in estimates.means:
        number = estimates.means[name]
        return Summary(number.mean, number.stderr, *number.interval(level))
    bins = _find_bins(estimates, name)
    middles = bins.middles.copy()
    if bins.open_low or bins.open_high:
        if ends is None:
            raise InvalidParameter(
                f"{name!r} has an open end, so it is not known where the people in its outermost bin "
                "are; give ends=(low, high), or ask for a quantile"
            )
        middles[0] = ends[0] if bins.open_low else middles[0]
        middles[-1] = ends[1] if bins.open_high else middles[-1]
    if name in estimates.ranges:
        mean = estimates.ranges[name].weigh(middles, level)
    elif estimates.is_drawn(name):
        mean = mean_among(estimates, name, middles, level)
    elif estimates.shares[name].k == middles.size:
        mean = mean_of(estimates.shares[name], middles, level)
    else:
        mean = mean_answered(estimates.shares[name], middles, level)
    return replace(mean, within=bins.half)


def find_quantile(estimates: Estimates, name: str, share: float = 0.5, level: float = 0.95) -> Summary:
    """The number below which this share of the people is who answered, with its interval."""
    bins = _find_bins(estimates, name)
    if name in estimates.ranges:
        quantile = estimates.ranges[name].quantile(share, level)
    else:
        quantile = quantile_answered(estimates, name, bins, share, level)
    domain = estimates.domains[name]
    if not isinstance(domain, Range) or domain.unit != "whole":
        return quantile
    first, last = float(domain.edges[:2].mean()), float(domain.edges[-2:].mean())
    value, low, high = (min(max(end, first), last) for end in (quantile.value, quantile.low, quantile.high))
    return replace(quantile, value=value, low=low, high=high)


def has_mean(estimates: Estimates, name: str) -> bool:
    """Whether an attribute has a mean, as a number and a closed range have."""
    domain = estimates.domains.get(name)
    if name in estimates.means:
        return True
    if name not in estimates.parts or not isinstance(domain, Range):
        return False
    return not (domain.open_low or domain.open_high) and domain.unit != "month"


def has_quantiles(estimates: Estimates, name: str) -> bool:
    """Whether an attribute has a median that people read, as a range has, but not one of months."""
    domain = estimates.domains.get(name)
    return name in estimates.parts and isinstance(domain, Range) and domain.unit != "month"


def _find_bins(estimates: Estimates, name: str) -> Bins:
    estimate, domain = estimates.look_up(name), estimates.domains.get(name)
    if isinstance(domain, Grid):
        raise InvalidParameter(
            f"{name!r} is a location: with grid = result.domains[{name!r}], ask "
            f"dn.summaries.mean_of(result[{name!r}], grid.centers[:, 0]) for its latitude, and [:, 1] for "
            "its longitude"
        )
    if isinstance(estimate, MeanEstimate) or not isinstance(domain, Range):
        raise InvalidParameter(f"{name!r} is not a range of numbers, so it has no mean and no quantiles")
    bins = bins_of(domain, domain.k)
    assert bins is not None
    return bins
