"""Estimates the shares and means of a plan's attributes from its tallies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from deniable.domain import Range
from deniable.domain.number import Number
from deniable.errors import InvalidParameter, InvalidReport
from deniable.estimate import Estimate, MeanEstimate
from deniable.plan.levels import find_tree
from deniable.ranges import RangeEstimate
from deniable.reports.reports import Tallies, refuse_other_plan
from deniable.results.applicable import correct_mean, explain_unknown, find_condition
from deniable.results.change import MEAN
from deniable.results.result import Result, Unreported, bins_of
from deniable.results.smoothed import refuse_unordered

if TYPE_CHECKING:
    from deniable.plan.document import Content
    from deniable.study.plan import Plan


def estimate_tallies(plan: Plan, tallies: Tallies, smooth: bool, text_alone: bool = False) -> Result:
    """The estimates of every attribute, with error bars and labels; names those without reports.

    A plan that asks for text alone has no estimates. It is refused unless `text_alone`: the health of its
    reports is looked at all the same.
    """
    refuse_other_plan(tallies.plan_id, plan.id)
    if set(tallies.tallies) != set(plan.names):
        raise InvalidReport(
            f"there are tallies of {', '.join(tallies.tallies)}; the attributes are {', '.join(plan.names)}"
        )
    found: dict[str, Estimate] = {}
    numbers: dict[str, MeanEstimate] = {}
    unreported = {}
    leveled = {one.name for levels in plan.content.levels.values() for one in levels}
    for j, (attribute, part) in enumerate(zip(plan.content.attributes, plan.content.parts, strict=True)):
        name, tally = attribute.name, part.checked_tally(tallies[attribute.name])
        # labels of a million values in ten levels take seconds, and only groups of them are shown
        labels = () if name in leveled else plan.content.labels(attribute)
        try:
            estimate = part.estimated(tally, plan.mechanism.marginal(j), labels or None)
        except InvalidParameter as problem:
            unreported[name] = Unreported(tally.n, labels or (MEAN,), str(problem))
            continue
        if isinstance(estimate, Estimate):
            found[name] = replace(estimate, bins=bins_of(attribute.domain, estimate.k))
        else:
            numbers[name] = estimate
    ranges = combine_levels(plan.content, found, unreported)
    for attribute in plan.content.attributes:
        name = attribute.name
        why = explain_unknown(plan.content, name, found)
        if why is not None and name not in unreported:
            shown = numbers.pop(name, None) or found.pop(name)
            unreported[name] = Unreported(shown.n, plan.content.labels(attribute) or (MEAN,), why)
    means = _list_means(plan, numbers, found)
    if not tallies.n:
        raise InvalidParameter("there are no reports yet, so there is nothing to estimate")
    told_of_text = text_alone and not all(part.listed for part in plan.content.parts)
    if not found and not means and not ranges and not told_of_text:
        name, nothing = next(iter(unreported.items()))
        raise InvalidParameter(f"{name!r}: {nothing.why}")
    domains = {one.name: one.domain for one in plan.content.attributes if not one.domain.is_level}
    if smooth:
        refuse_unordered(domains.values())
    kept = _keep_apart(plan)
    told = (found, unreported, plan.content.title, means, domains, kept)
    return Result(plan.id, tallies.n, *told, plan, tallies, smooth, ranges)


def combine_levels(
    content: Content, found: dict[str, Estimate], unreported: dict[str, Unreported]
) -> dict[str, RangeEstimate]:
    """The ranges that are reported in levels, by least squares; the levels are then no results themselves."""
    ranges = {}
    for name, levels in content.levels.items():
        own = levels[-1].domain
        if not isinstance(own, Range):
            lost = [unreported.pop(one.name) for one in levels]
            unreported[name] = Unreported(sum(one.n for one in lost), (), lost[-1].why)
            continue
        each = [found.pop(one.name, None) for one in levels]
        missing = [unreported.pop(one.name) for one in levels if one.name in unreported]
        known = [one for one in each if one is not None]
        n = sum(one.n for one in missing) + sum(one.n for one in known)
        try:
            tree = find_tree(own, levels)
        except InvalidParameter as problem:
            unreported[name] = Unreported(n, (), str(problem))
            continue
        if missing:
            have = "has" if len(missing) == 1 else "have"
            why = (
                f"{len(missing)} of {len(levels)} levels {have} no reports yet, and all of them are combined"
            )
            unreported[name] = Unreported(n, (), why)
            continue
        ranges[name] = RangeEstimate(tree, known, bins_of(own, own.k))
    return ranges


def _list_means(
    plan: Plan, numbers: Mapping[str, MeanEstimate], found: Mapping[str, Estimate]
) -> dict[str, MeanEstimate]:
    """The means of numbers in their own units, of those who answered."""
    means = {}
    for attribute in plan.content.attributes:
        if attribute.name not in numbers:
            continue
        mean, condition = numbers[attribute.name], find_condition(plan.content, attribute.name)
        if condition is not None:
            mean = correct_mean(mean, found[condition[0].name], condition[1])
        assert isinstance(attribute.domain, Number)
        means[attribute.name] = mean.between(attribute.domain.low, attribute.domain.high)
    return means


def _keep_apart(plan: Plan) -> dict[str, bool]:
    """Whether noise that is kept for different values is independent, by attribute."""
    if plan.content.rounds is None:
        return {}
    return {
        name: part.keeps_apart and _is_uniform(plan, j)
        for j, (name, part) in enumerate(zip(plan.names, plan.mechanism.mechanisms, strict=True))
    }


def _is_uniform(plan: Plan, attribute: int) -> bool:
    """Whether fakes of an attribute, where there are any, treat all values alike."""
    fake = plan.mechanism.fake(attribute)
    return fake is None or bool(np.ptp(fake.supported) < 1e-12)
