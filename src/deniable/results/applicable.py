"""Estimates answers among those to whom a question applies, and who answered it."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from deniable.arrays import Floats
from deniable.domain import Categories
from deniable.errors import InvalidParameter
from deniable.estimate import Estimate, MeanEstimate
from deniable.plan.attribute import Attribute

if TYPE_CHECKING:
    from deniable.plan.document import Content
    from deniable.results.result import Result
    from deniable.summaries import Summary


def is_drawn(content: Content, one: Attribute) -> bool:
    """Whether a random value takes the place of an answer that does not apply, or is not given."""
    return one.only_if is not None and not content.extras(one)


def find_condition(content: Content, name: str) -> tuple[Attribute, list[int]] | None:
    """The attribute that says whether this one was drawn, and the codes at which it was not; else None."""
    by_name = {one.name: one for one in content.attributes}
    one = by_name.get(name)
    if one is None or one.only_if is None or not is_drawn(content, one):
        return None
    parent = by_name[one.only_if.name]
    assert isinstance(parent.domain, Categories)
    return parent, [parent.domain.labels.index(value) for value in one.only_if.values]


def explain_unknown(content: Content, name: str, reported: Collection[str]) -> str | None:
    """Why it is not known who answered a question for which random values are reported; None where it is.

    Nobody can tell a random value from an answer. So what says who answered must be reported, and must hold
    no random values itself.
    """
    condition = find_condition(content, name)
    if condition is None:
        return None
    parent = condition[0]
    by_name = {one.name: one for one in content.attributes}
    for one in (by_name[name], parent):
        if content.missing_of(one) == "random":
            return _explain_random(one.name)
    return (
        None if parent.name in reported else f"nobody reported {parent.name!r} yet, which says who answered"
    )


def _explain_random(name: str) -> str:
    return (
        f"a missing answer to {name!r} is a random value, so it is not known who answered; make a plan with "
        'missing = "value"'
    )


def correct_mean(found: MeanEstimate, parent: Estimate, codes: list[int]) -> MeanEstimate:
    """The mean of those who answered, from -1 to 1; random values are 0 on average.

    What is estimated of all is the share who answered times their mean. Both errors count. That they come
    from the same people makes the ratio less uncertain, and is left out.
    """
    from deniable.summaries import sum_of
    from deniable.summaries.ratios import fieller_ends, ratio_error

    share = sum_of(parent, codes)
    variances = found.stderr**2, share.stderr**2

    def ends(tail: float) -> tuple[float, float]:
        known = fieller_ends(found.mean, share.value, variances, 0.0, tail)
        if known is None:
            return -1.0, 1.0
        low, high = known
        # one that holds nothing possible is cut where it is shown
        return known if low > 1 or high < -1 else (max(low, -1.0), min(high, 1.0))

    mean = found.mean / share.value if share.value > 0 else 0.0
    return MeanEstimate(found.n, mean, ratio_error(found.mean, share.value, variances), ends)


def mean_among(result: Result, name: str, positions: Floats, level: float) -> Summary:
    """The mean of a range among those who answered, where random values stand for the others."""
    from deniable.summaries import Summary, mean_of

    assert result.plan is not None
    condition = find_condition(result.plan.content, name)
    assert condition is not None
    parent, codes = condition
    estimate = result.estimates[name]
    center = float(positions.mean())
    half = float(np.abs(positions - center).max())
    all_ = mean_of(estimate, (positions - center) / half)
    found = correct_mean(
        MeanEstimate(estimate.n, all_.value, all_.stderr), result.estimates[parent.name], codes
    )
    moved = found.between(center - half, center + half)
    return Summary(moved.mean, moved.stderr, *moved.interval(level))


def shares_among(result: Result, name: str, level: float) -> dict[str, Summary]:
    """The share of each value among those to whom it applies, and who answered, with Fieller's interval.

    All are cut to 0..1.
    """
    from deniable.summaries import Summary, sum_of
    from deniable.summaries.covariance import error_of
    from deniable.summaries.ratios import fieller_ends, ratio_error

    estimate, domain = result[name], result.domains.get(name)
    if name in result.ranges:
        raise InvalidParameter(f"everybody has an answer to {name!r}: result.range({name!r}, low, high)")
    if not isinstance(estimate, Estimate) or domain is None:
        raise InvalidParameter(f"{name!r} is a number, whose mean is estimated: result.mean({name!r})")
    content = None if result.plan is None else result.plan.content
    condition = None if content is None else find_condition(content, name)
    if content is not None and any(
        one.name == name and content.missing_of(one) == "random" for one in content.attributes
    ):
        raise InvalidParameter(f"{name!r}: {_explain_random(name)}")
    labels = [str(label) for label in (estimate.labels or range(estimate.k))][: domain.k]
    tail = (1 - level) / 2
    found = {}
    if condition is None:
        from deniable.results.answered import divide_shares

        columns = divide_shares(estimate, domain.k, [np.array([v]) for v in range(domain.k)], level)
        rows = zip(*(one.tolist() for one in columns), strict=True)
        return {label: Summary(*row).cut() for label, row in zip(labels, rows, strict=True)}
    applies = sum_of(result[condition[0].name], condition[1])
    bottom, variance = applies.value, applies.stderr**2
    add = 1 / domain.k
    for v, label in enumerate(labels):
        one = (np.arange(estimate.k) == v).astype(float)
        top, own = float(estimate.frequencies[v]) - add, error_of(estimate, one) ** 2
        ends = fieller_ends(top, bottom, (own, variance), 0.0, tail)
        low, high = (0.0, 1.0) if ends is None else (ends[0] + add, ends[1] + add)
        value = top / bottom + add if bottom > 0 else math.nan
        found[label] = Summary(value, ratio_error(top, bottom, (own, variance)), low, high).cut()
    return found
