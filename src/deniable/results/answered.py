"""Finds shares of those who answered, where "not applicable" and "no answer" are values of their own.

Plans say how well these will be known: "of those who work, so many are in an office".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from deniable.arrays import Integers
from deniable.estimate import Estimate
from deniable.results.possible_shares import Likely, Shares, read_values
from deniable.results.respondents import Columns, name_people, read_columns
from deniable.summaries import Group, Summary
from deniable.summaries.covariance import error_of
from deniable.summaries.ratios import fieller_ends, ratio_error
from deniable.summaries.totals import weigh

if TYPE_CHECKING:
    from deniable.results.result import Result

_MOST_ANSWERS = 100  # of more, errors of hashed answers take longer than a page can wait


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
    result: Result, name: str, groups: Sequence[Group] | None, shown: Shares, level: float
) -> Answered | None:
    """What is shown of those who answered; None where that is what is shown already, or of too many values.

    Each share is the one of everybody that is `shown`, divided by the sum of all answers.
    """
    estimate, domain = result.estimates[name], result.domains.get(name)
    people = name_people(result, name, middle=True)
    if domain is None or people is None or estimate.k == domain.k:
        return None
    labels: Sequence[object] = estimate.labels or range(estimate.k)
    values = [np.array([v]) for v in range(estimate.k)]
    if groups:
        labels, values = [one.label for one in groups], [one.values for one in groups]
    answers = [some for some in values if int(some[0]) < domain.k]
    if len(answers) > _MOST_ANSWERS:
        return None
    unbiased = divide_shares(estimate, domain.k, answers, level)
    kept = shown.share[: len(answers)]
    part = float(kept.sum())
    share = kept / part if part > 0 else np.clip(unbiased[0], 0.0, 1.0)
    shares = read_values(unbiased, Likely(share, shown.method, "", None))
    return Answered(people, part, labels[: len(answers)], shares, unbiased)


def divide_shares(estimate: Estimate, answers: int, parts: Sequence[Integers], level: float) -> Columns:
    """The shares of so many values each, divided by the share of all answers, which are the first values.

    Where nobody is seen to have answered, all is possible.
    """
    codes = np.arange(estimate.k)
    every = (codes < answers).astype(np.float64)
    bottom, lower = weigh(estimate, every)
    unsure = error_of(estimate, lower) ** 2
    found = []
    for values in parts:
        top, upper = weigh(estimate, np.isin(codes, values).astype(np.float64))
        own = error_of(estimate, upper) ** 2
        # the variance of a difference says how both err together
        both = (own + unsure - error_of(estimate, upper - lower) ** 2) / 2
        ends = fieller_ends(top, bottom, (own, unsure), both, (1 - level) / 2)
        low, high = (0.0, 1.0) if ends is None else ends
        value = top / bottom if bottom > 0 else values.size / answers
        error = min(ratio_error(top, bottom, (own, unsure), both), 1.0)  # nobody errs by more than everything
        found.append(Summary(value, error, min(low, value), max(high, value)))
    return read_columns(found)
