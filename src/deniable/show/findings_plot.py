"""Chooses what a figure shows of findings: possible shares or unbiased ones, in groups or in bins."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from deniable.formatting import format_count
from deniable.results.estimates import MEAN
from deniable.results.findings import name_quantile
from deniable.results.possible_shares import Shares
from deniable.results.range_queries import ShownShare
from deniable.results.respondents import Columns, read_columns
from deniable.show.panels import Bar
from deniable.show.plot import Part, Shown, shares_plot

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from deniable.results.findings import Findings


def plot_findings(
    findings: Findings, bins: bool = False, unbiased: bool = False, only: str | None = None
) -> Figure:
    """Shares with intervals, in groups unless `bins`, and what is likely; of all attributes, or of one."""
    shares = {
        of: {name: one.frequencies for name, one in found.items()}
        for of, found in findings.likelihoods
        if found
    }
    estimates = findings.estimates
    title = estimates.title
    means = findings.unbiased_means if unbiased else findings.means
    values, groups = findings.shares, findings.group_shares
    if unbiased:
        columns = {name: read_columns([one.share for one in all_]) for name, all_ in findings.groups.items()}
        values, groups = _as_shares(findings.unbiased), _as_shares(columns)
    ends = {name: (one.value, one.low, one.high) for name, one in means.items()}
    people = {name: findings.among(name, name in estimates.means) for name in estimates}
    told = {name: one for name, one in people.items() if one is not None}
    noisy = frozenset[str]() if unbiased else findings.noisy_means
    counted = {name: str(one) for name, one in findings.respondents.items()}
    counted |= {name: format_count(estimates[name].n, "report") for name in findings.leveled}
    parts = {
        name: Part(
            one.people,
            list(map(str, one.labels)),
            _as_shares({name: one.unbiased})[name] if unbiased else one.shares,
        )
        for name, one in findings.answered.items()
    }
    shown = Shown(values, groups, ends, told, noisy, counted, parts, _list_ranges(findings, unbiased))
    chosen = [name for name in estimates if only in (None, name)]
    drawn = {name: estimates.shares[name] for name in chosen if name in estimates.shares}
    numbers = {name: estimates.means[name] for name in chosen if name in estimates.means}
    leveled = {name: findings.groups[name] for name in chosen if name in estimates.ranges}
    about = numbers, estimates.domains, bins, shares, _list_positions(findings), shown, leveled
    return shares_plot(drawn, title, findings.level, *about)


def _list_ranges(findings: Findings, unbiased: bool) -> dict[str, list[Bar]]:
    """The shares between two numbers that were asked for, by attribute."""
    found: dict[str, list[Bar]] = {}
    for name, asked in findings.ranges.items():
        for query, raw in asked.items():
            one = ShownShare.of(findings.estimates, name, query, raw)
            share = raw if unbiased else one.share
            bar = Bar(str(query), share.value, share.low, share.high, noisy=one.noisy and not unbiased)
            found.setdefault(name, []).append(bar)
    return found


def _list_positions(findings: Findings) -> dict[str, dict[str, float]]:
    """Means and quantiles of ranges, by name, but for those beyond an open end."""
    found = {
        name: {MEAN: mean.value}
        for name, mean in findings.means.items()
        if name not in findings.estimates.means and name not in findings.noisy_means
    }
    for name, shares in findings.all_quantiles.items():
        told = {
            name_quantile(share): one.value
            for share, one in shares.items()
            if math.isfinite(one.value) and not findings.is_wide(name, one)
        }
        found[name] = found.get(name, {}) | told
    return found


def _as_shares(unbiased: Mapping[str, Columns]) -> dict[str, Shares]:
    """Unbiased columns in place of possible ones."""
    return {name: Shares(value, low, high, "unbiased") for name, (value, _, low, high) in unbiased.items()}
