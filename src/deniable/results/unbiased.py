"""Estimates the shares and means of a plan's attributes from its tallies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from deniable.domain import Range
from deniable.domain.number import Number
from deniable.engines.form import refuse_other_plan
from deniable.errors import InvalidParameter, InvalidReport
from deniable.estimate import Estimate, MeanEstimate
from deniable.law import Moments
from deniable.plan.levels import find_tree
from deniable.ranges import RangeEstimate
from deniable.reports.reports import Tallies
from deniable.results.estimates import MEAN, Estimates, Unreported, bins_of, explain_unknown, find_condition
from deniable.results.respondents import correct_mean
from deniable.results.smoothed import refuse_unordered
from deniable.results.weights import Weighed, Weighting, Weights
from deniable.rounds.differences import find_against
from deniable.summaries.weighted import Strata

if TYPE_CHECKING:
    from deniable.plan.document import PlanDocument


def estimate_tallies(
    document: PlanDocument,
    tallies: Tallies,
    smooth: bool,
    text_alone: bool = False,
    weights: Weights | None = None,
    may_be_empty: bool = False,
) -> Estimates:
    """The estimates of every attribute, with error bars and labels; names those without reports.

    With weights, they are of a population in which known groups have other sizes. A few reports may give no
    estimate at all, which is refused unless these `may_be_empty`.

    A plan that asks for text alone has no estimates. It is refused unless `text_alone`: the health of its
    reports is looked at all the same.
    """
    refuse_other_plan(tallies.plan_id, document.id)
    if set(tallies.tallies) != set(document.names):
        raise InvalidReport(
            f"there are tallies of {', '.join(tallies.tallies)}; the attributes are "
            f"{', '.join(document.names)}"
        )
    shares: dict[str, Estimate] = {}
    numbers: dict[str, MeanEstimate] = {}
    unreported, weighed = {}, dict[str, Weighed]()
    leveled = {member.name for levels in document.levels.values() for member in levels}
    for j, (attribute, part) in enumerate(document.pairs):
        name, tally = attribute.name, part.checked_tally(tallies[attribute.name])
        # labels of a million values in ten levels take seconds, and only groups of them are shown
        labels = () if name in leveled else document.labels_of(attribute)
        estimate_tally = partial(part.estimated, law=document.mechanism.marginal(j), labels=labels or None)
        try:
            if weights is None or not tally.n:
                estimate = estimate_tally(tally)
            else:
                groups = [group[name] for group in tallies.groups]
                estimate, weighed[name] = weights.join(groups, estimate_tally)
        except InvalidParameter as problem:
            unreported[name] = Unreported(tally.n, labels or (MEAN,), str(problem))
            continue
        if isinstance(estimate, Estimate):
            shares[name] = replace(estimate, bins=bins_of(attribute.domain, estimate.k))
        else:
            numbers[name] = estimate
    ranges = combine_levels(document, shares, unreported)
    if weights is not None:
        _weigh_ranges(document, ranges, unreported, weighed, weights)
    for attribute in document.attributes:
        name = attribute.name
        why = explain_unknown(document, name, shares)
        if why is not None and name not in unreported:
            estimate_lost = numbers.pop(name, None) or shares.pop(name)
            unreported[name] = Unreported(estimate_lost.n, document.labels_of(attribute) or (MEAN,), why)
    means = _list_means(document, numbers, shares)
    if not tallies.n:
        raise InvalidParameter("there are no reports yet, so there is nothing to estimate")
    domains = {member.name: member.domain for member in document.attributes if not member.domain.is_level}
    known = shares | ranges
    parts = {name: known[name] for name in domains if name in known} | means
    if not parts and not may_be_empty and (not text_alone or all(part.listed for part in document.parts)):
        name, nothing = next(iter(unreported.items()))
        raise InvalidParameter(f"{name!r}: {nothing.why}")
    if smooth:
        refuse_unordered(domains.values())
    return Estimates(
        plan_id=document.id,
        n=tallies.n,
        parts=parts,
        unreported=unreported,
        title=document.title,
        domains=domains,
        kept={}
        if document.rounds is None
        else {name: find_against(document.mechanism, j) for j, name in enumerate(document.names)},
        document=document,
        tallies=tallies if weights is None else None,
        smooth=smooth,
        weighting=None if weights is None else Weighting(weights, tallies.groups, weighed),
    )


def weigh_estimates(estimates: Estimates, sizes: object) -> Estimates:
    """The estimates of a population in which known groups have these sizes, by question and answer."""
    document, tallies = estimates.document, estimates.tallies
    if document is None or tallies is None:
        already = "it is weighted already" if estimates.weighting else "it does not know its tallies"
        raise InvalidParameter(f"this result cannot be weighted: {already}; take plan.estimate(tallies)")
    if estimates.smooth:
        raise InvalidParameter("smoothed shares cannot be weighted; make the result without smooth")
    weights = Weights.read(document, sizes)
    if not tallies.groups:
        raise InvalidParameter("these tallies do not say which known group reports are of")
    return estimate_tallies(document, tallies, False, weights=weights)


def combine_levels(
    document: PlanDocument, shares: dict[str, Estimate], unreported: dict[str, Unreported]
) -> dict[str, RangeEstimate]:
    """The ranges that are reported in levels, by least squares; the levels are then no results themselves."""
    ranges = {}
    for name, levels in document.levels.items():
        domain = levels[-1].domain
        if not isinstance(domain, Range):
            lost = [unreported.pop(level.name) for level in levels]
            unreported[name] = Unreported(sum(level.n for level in lost), (), lost[-1].why)
            continue
        estimates = [shares.pop(level.name, None) for level in levels]
        missing = [unreported.pop(level.name) for level in levels if level.name in unreported]
        known = [level for level in estimates if level is not None]
        n = sum(level.n for level in missing) + sum(level.n for level in known)
        try:
            tree = find_tree(domain, levels)
        except InvalidParameter as problem:
            unreported[name] = Unreported(n, (), str(problem))
            continue
        if missing:
            lacking = f"{len(missing)} of {len(levels)} levels {'has' if len(missing) == 1 else 'have'}"
            why = f"{lacking} no reports yet, and all of them are combined"
            unreported[name] = Unreported(n, (), why)
            continue
        ranges[name] = RangeEstimate(tree, known, bins_of(domain, domain.k))
    return ranges


def _weigh_ranges(
    document: PlanDocument,
    ranges: dict[str, RangeEstimate],
    unreported: dict[str, Unreported],
    weighed: dict[str, Weighed],
    weights: Weights,
) -> None:
    """Join each range in levels from those of the groups, which have all levels; note how good it is."""
    for name, pooled in list(ranges.items()):
        levels = [weighed.pop(level.name) for level in document.levels[name]]
        if min(len(level.names) for level in levels) < len(weights.name_cells()):
            why = "a group has no report of one of its levels; join groups, or weigh by fewer questions"
            unreported[name] = Unreported(pooled.n, (), why)
            del ranges[name]
            continue
        strata = [level.law.joined for level in pooled.estimates if isinstance(level.law, Moments)]
        parts = zip(*(part.groups for part in strata if isinstance(part, Strata)), strict=True)
        groups = [RangeEstimate(pooled.tree, part, pooled.bins) for part in parts]
        weighing = weights.weigh([group.n for group in groups])
        weighed[name] = Weighed(pooled.n, weighing, levels[0].names)
        ranges[name] = replace(pooled, groups=groups, weighing=weighing)


def _list_means(
    document: PlanDocument, numbers: Mapping[str, MeanEstimate], shares: Mapping[str, Estimate]
) -> dict[str, MeanEstimate]:
    """The means of numbers in their own units, of those who answered."""
    means = {}
    for attribute in document.attributes:
        if attribute.name not in numbers:
            continue
        mean, condition = numbers[attribute.name], find_condition(document, attribute.name)
        if condition is not None:
            mean = correct_mean(mean, shares[condition[0].name], condition[1])
        assert isinstance(attribute.domain, Number)
        means[attribute.name] = mean.between(attribute.domain.low, attribute.domain.high)
    return means
