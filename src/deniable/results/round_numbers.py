"""Reads the numbers of one round that are compared with those of another: how far they are off, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from deniable.arrays import Floats, Integers
from deniable.domain import Range
from deniable.results.estimates import Estimates, bins_of
from deniable.results.findings import Findings
from deniable.results.possible_shares import possible_mean
from deniable.results.respondents import Columns, read_columns
from deniable.rounds import differences
from deniable.rounds.differences import Kind, Spread
from deniable.summaries.totals import split_variance


class Numbers(NamedTuple):
    """Numbers of one round, their standard errors, the ends of their intervals, and why they err."""

    value: Floats
    stderr: Floats
    low: Floats
    high: Floats
    spread: Spread

    def pick(self, places: Integers) -> Numbers:
        """The numbers at these places."""
        spread = Spread(self.spread.noise[places], self.spread.drawn[places])
        return Numbers(self.value[places], self.stderr[places], self.low[places], self.high[places], spread)

    def keep_noise(self) -> Numbers:
        """The numbers of the very people who reported, which err by noise alone."""
        error = np.minimum(np.sqrt(self.spread.noise), self.stderr)
        part = np.divide(error, self.stderr, out=np.ones_like(error), where=self.stderr > 0)
        low, high = (self.value + part * (end - self.value) for end in (self.low, self.high))
        return Numbers(self.value, error, low, high, Spread(error**2, np.zeros_like(error)))


def read_shares(findings: Findings, name: str) -> Numbers:
    """The shares of single values."""
    columns, estimate = findings.unbiased[name], findings.estimates.shares[name]
    if _is_mixed(findings.estimates, name):
        return Numbers(*columns, _know_nothing(columns))
    noise = estimate.standard_errors("fixed") ** 2
    return Numbers(*columns, Spread(noise, np.maximum(estimate.stderr**2 - noise, 0.0)))


def read_groups(findings: Findings, name: str) -> Numbers:
    """The shares of groups of neighboring values."""
    groups, estimate = findings.groups[name], findings.estimates.shares.get(name)
    columns = read_columns([group.share for group in groups])
    if estimate is None:
        return Numbers(*columns, _know_nothing(columns))
    sums = [np.isin(np.arange(estimate.k), group.values).astype(np.float64) for group in groups]
    return Numbers(*columns, _split_sums(findings.estimates, name, columns, sums))


def read_mean(findings: Findings, name: str) -> Numbers:
    """The mean of a number, or of a range."""
    estimates, columns = findings.estimates, read_columns([findings.unbiased_means[name]])
    mean, _, low, high = (float(column[0]) for column in columns)
    if name in estimates.means and not _is_mixed(estimates, name):
        # the mean that its interval allows for which people may differ most
        least, most = possible_mean(estimates, name)
        likely = min(max((least + most) / 2, low), high)
        by_draw = np.array([max((likely - least) * (most - likely), 0.0) / estimates.means[name].n])
        return Numbers(*columns, Spread(columns[1] ** 2, np.minimum(by_draw, columns[1] ** 2)))
    domain, estimate = estimates.domains[name], estimates.shares.get(name)
    if estimate is None or not isinstance(domain, Range):
        return Numbers(*columns, _know_nothing(columns))
    return Numbers(*columns, _split_sums(estimates, name, columns, [find_points(estimates, name, mean)]))


def find_points(estimates: Estimates, name: str, mean: float) -> Floats:
    """How much the share of each value moves the mean of a range: that of those who answered moves with the
    others by their number alone.
    """
    domain, estimate = estimates.domains[name], estimates.shares[name]
    assert isinstance(domain, Range)
    bins = bins_of(domain, domain.k)
    assert bins is not None
    answered = float(estimate.frequencies[: domain.k].sum())
    points = np.zeros(estimate.k)
    points[: domain.k] = (bins.middles - mean) / answered if answered > 0 else np.nan
    return points


def find_against(rounds: Sequence[Estimates], name: str, kind: Kind) -> float:
    """How much of the noise of two rounds may be against their difference, at most; all of a population's,
    since of weighted numbers it is not known what is noise.
    """
    if any(estimates.kept and estimates.weighting is not None for estimates in rounds):
        return 1.0
    return max(
        differences.find_against(estimates.document.mechanism, estimates.document.names.index(name), kind)
        if estimates.kept and estimates.document is not None
        else 0.0
        for estimates in rounds
    )


def _is_mixed(estimates: Estimates, name: str) -> bool:
    """Whether noise and drawing are not told apart: where values are filled in, or groups are weighted."""
    return estimates.weighting is not None or estimates.is_drawn(name)


def _split_sums(estimates: Estimates, name: str, columns: Columns, sums: Sequence[Floats]) -> Spread:
    """The variances of sums of shares, by noise and by drawing; at most, where they are not told apart."""
    if _is_mixed(estimates, name) or not np.isfinite(sums).all():
        return _know_nothing(columns)
    parts = np.array([split_variance(estimates.shares[name], points) for points in sums])
    return Spread(parts[:, 0], parts[:, 1])


def _know_nothing(columns: Columns) -> Spread:
    """All of the variance may be due to either."""
    return Spread(columns[1] ** 2, columns[1] ** 2)
