"""Finds all that tallies say, as people read it: possible shares, groups, means, quantiles, and noise.

This is the one place: the shell, the notebook, the files and the dashboard only lay it out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, final

import numpy as np

from deniable.arrays import Integers
from deniable.domain import Range
from deniable.domain.grid import Grid
from deniable.domain.groups import list_groups
from deniable.errors import InvalidParameter
from deniable.estimate import Interval, normal_quantile
from deniable.exact import number
from deniable.results.answered import Answered, find_answered
from deniable.results.change import MEAN
from deniable.results.noise import Noise, What, is_wide, judge_median, judge_middle, judge_shares
from deniable.results.possible_shares import (
    Likely,
    Shares,
    as_smoothed,
    find_likely,
    possible_mean,
    read_groups,
    read_values,
)
from deniable.results.range_queries import RangeQuery, answer_queries
from deniable.results.respondents import (
    Columns,
    Respondents,
    correct_shares,
    cumulative_shares,
    find_respondents,
    name_people,
    read_columns,
)
from deniable.results.result import bins_of
from deniable.results.rows import AMONG, MEDIAN, FoundRows, as_finite
from deniable.results.smoothed import Progress, search_shares
from deniable.study.plan import Plan, Result, Tallies
from deniable.summaries import Group, Summary, groups_of, sum_of
from deniable.summaries.fit import Fit, fit_levels, fit_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from deniable.likelihood import Likelihood


@final
@dataclass(frozen=True)
class Findings:
    """What was found, at one confidence level; `refused` says what could not be, and why."""

    result: Result
    level: float = 0.95
    project: str | None = None
    quantiles: Mapping[str, Mapping[float, Summary]] = field(default_factory=dict)
    """Those that were asked for, beside the medians."""
    likely: Mapping[str, Likelihood] = field(default_factory=dict)
    """The most likely shares, by attribute; they have a certificate and no error bars."""
    smoothed: Mapping[str, Likelihood] = field(default_factory=dict)
    """Those that were smoothed, which are then what is shown."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """What was asked for and cannot be estimated: why, by attribute."""
    fakes: float | None = None
    """The share of reports that may have been made up, for the worst case of every share."""
    ranges: Mapping[str, Mapping[RangeQuery, Summary]] = field(default_factory=dict)
    """The shares between two numbers that were asked for, by attribute."""
    cells: bool = True
    """Whether grids are looked at, too, and medians of questions in levels: each may take seconds."""

    @staticmethod
    def of(
        plan: Plan,
        tallies: Tallies,
        level: float = 0.95,
        project: str | None = None,
        quantiles: Sequence[float] = (),
        mle: bool = False,
        smooth: bool = False,
        progress: Progress | None = None,
        fakes: float | None = None,
        likely: Mapping[str, Likelihood] | None = None,
        ranges: Sequence[RangeQuery] = (),
    ) -> Findings:
        """Estimate everything that is asked for; smoothing, for ordered values only, takes the most likely
        shares first.

        `progress` hears how much of what is most likely is found, and of how much. What reports make most
        likely is `likely`: it is then not found from the tallies.
        """
        result = plan.estimate(tallies, smooth)
        return Findings.read(
            result, level, project, quantiles, mle, progress, fakes, likely=likely, ranges=ranges
        )

    @staticmethod
    def read(
        result: Result,
        level: float = 0.95,
        project: str | None = None,
        quantiles: Sequence[float] = (),
        mle: bool = False,
        progress: Progress | None = None,
        fakes: float | None = None,
        cells: bool = True,
        likely: Mapping[str, Likelihood] | None = None,
        ranges: Sequence[RangeQuery] = (),
    ) -> Findings:
        """The same of a result, which knows whether its shares are to be smoothed."""
        asked = search_shares(result, mle, result.smooth, progress, cells, likely)
        found = _quantiles(result, quantiles, level, asked.refused)
        between = answer_queries(result, ranges, level)
        told = (asked.likely, asked.smoothed, asked.refused, fakes, between, cells)
        return Findings(result, level, project, found, *told)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The attributes that have shares, but for grids if they are left out."""
        domains = self.result.domains
        names = self.result.estimates
        return tuple(name for name in names if self.cells or not isinstance(domains.get(name), Grid))

    @property
    def leveled(self) -> tuple[str, ...]:
        """The questions that are reported in levels, of which only groups have shares."""
        return tuple(self.result.ranges)

    @cached_property
    def shown(self) -> tuple[str, ...]:
        """All that has shares, of values or of groups, in the order of the study."""
        return tuple(name for name in self.result if name in {*self.names, *self.leveled})

    @cached_property
    def means(self) -> dict[str, Summary]:
        """The means of every number, and of every range that has one: possible ones."""
        return {
            name: found.cut(*possible_mean(self.result, name)) for name, found in self.unbiased_means.items()
        }

    @cached_property
    def unbiased_means(self) -> dict[str, Summary]:
        """The same, which may be beyond the ends."""
        names = [*self.shown, *self.result.means]
        return {name: self.result.mean(name, self.level) for name in names if self.result.has_mean(name)}

    @cached_property
    def all_quantiles(self) -> dict[str, dict[float, Summary]]:
        """The median of every range, and the quantiles that were asked for."""
        found = {}
        for name in self.shown:
            if self.result.has_quantiles(name) and (self.cells or name not in self.leveled):
                asked = self.quantiles.get(name, {})
                median = asked.get(MEDIAN) or self.result.quantile(name, MEDIAN, self.level)
                found[name] = {MEDIAN: median, **asked}
        return found

    @cached_property
    def groups(self) -> dict[str, list[Group]]:
        """Neighboring values together, of every attribute that has too many to look at one by one."""
        result = self.result
        found = {
            name: groups_of(result.estimates[name], result.domains.get(name), self.level)
            for name in self.names
        }
        found = {name: self._correct_groups(name, groups) for name, groups in found.items() if groups}
        found |= {name: self._group_levels(name) for name in self.leveled}
        return {name: found[name] for name in self.shown if name in found}

    def _group_levels(self, name: str) -> list[Group]:
        """Groups of a question in levels, or its values if it has few of them."""
        domain = self.result.domains[name]
        alone = ((label, np.array([v])) for v, label in enumerate(domain.labels))
        return [
            Group(label, values, self._sum_levels(name, values))
            for label, values in list_groups(domain) or alone
        ]

    def _sum_levels(self, name: str, values: Integers) -> Summary:
        first, last = int(values[0]), int(values[-1]) + 1
        return self.result.ranges[name].range(first, last, self.level)

    def _correct_groups(self, name: str, groups: list[Group]) -> list[Group]:
        """The same groups, of those who answered."""
        if not self.result.is_drawn(name):
            return groups
        sizes = np.array([group.values.size for group in groups], dtype=np.float64)
        columns = read_columns([group.share for group in groups])
        rows = zip(*correct_shares(self.result, name, sizes, columns, self.level), strict=True)
        shares = [Summary(*map(float, row)) for row in rows]
        return [group._replace(share=share) for group, share in zip(groups, shares, strict=True)]

    @cached_property
    def unbiased(self) -> dict[str, Columns]:
        """Unbiased shares of single values, their errors and the ends of their intervals: of those who
        answered, where random values stand for the others.
        """
        return {name: self.find_unbiased(name, self.level) for name in self.names}

    def find_unbiased(self, name: str, level: float) -> Columns:
        """The same of one attribute, at any level."""
        estimate = self.result.estimates[name]
        columns = estimate.frequencies, estimate.stderr, *estimate.interval(level)
        if not self.result.is_drawn(name):
            return columns
        return correct_shares(self.result, name, np.ones(estimate.k), columns, level)

    @cached_property
    def shares(self) -> dict[str, Shares]:
        """What is shown of single values."""
        return {
            name: read_values(columns, self._likely.get(name), self._find_edges(name))
            for name, columns in self.unbiased.items()
        }

    def _find_edges(self, name: str) -> Interval | None:
        """How far intervals reach from nobody and from everybody; not known of those who answered alone."""
        if self.result.is_drawn(name):
            return None
        return self.result.estimates[name].edge_ends(self.level)

    @cached_property
    def group_shares(self) -> dict[str, Shares]:
        """What is shown of groups."""
        return {name: read_groups(groups, self._likely.get(name)) for name, groups in self.groups.items()}

    @cached_property
    def answered(self) -> dict[str, Answered]:
        """What is shown of those who answered, where shares are of everybody; of groups where there are."""
        shown = self.shares | self.group_shares
        found = {
            name: find_answered(self.result, name, self.groups.get(name), shown[name], self.level)
            for name in self.names
        }
        return {name: one for name, one in found.items() if one is not None}

    @cached_property
    def _likely(self) -> dict[str, Likely]:
        found = {
            name: as_smoothed(self.smoothed[name])
            if name in self.smoothed
            else find_likely(self.result, name)
            for name in self.names
            if not self.result.is_drawn(name)
        }
        return {name: one for name, one in found.items() if one is not None}

    @cached_property
    def noise(self) -> list[Noise]:
        """What is too noisy to read, and what would mend it."""
        result, level = self.result, self.level
        found: list[Noise | None] = []
        for name in self.shown:
            if name in self.groups:
                errors = np.array([group.share.stderr for group in self.groups[name]])
                is_map = isinstance(result.domains[name], Grid)
                what: What = "block" if is_map else "group"
                fewer = None if is_map else partial(self._regroup, name)
                shares = self.group_shares[name]
                found.append(judge_shares(result, name, shares, errors, what, level, fewer))
            else:
                errors = self.unbiased[name][1]
                found.append(judge_shares(result, name, self.shares[name], errors, "value", level, None))
        for name, mean in self.unbiased_means.items():
            ends = possible_mean(result, name)
            found.append(judge_middle(result, name, mean, self.means[name], ends, level))
        for name, shares_ in self.all_quantiles.items():
            if self.is_wide(name, shares_[MEDIAN]):
                found.append(judge_median(result, name, self._find_error(name), level))
        return [one for one in found if one is not None]

    @cached_property
    def fits(self) -> dict[str, Fit]:
        """How badly the reports about each attribute fit honest people, where a tally can say so."""
        result = self.result
        found = {name: fit_of(result.estimates[name]) for name in self.names}
        found |= {name: fit_levels(list(result.ranges[name].estimates)) for name in self.leveled}
        return {name: fit for name in self.shown if (fit := found[name]) is not None}

    def _find_error(self, name: str) -> float:
        """The largest standard error of the shares below an edge, by which a median is off."""
        if name not in self.result.ranges:
            return float(cumulative_shares(self.result, name, MEDIAN).errors.max())
        ends = self.result.cdf(name, self.level)
        return float((ends.high - ends.low).max()) / 2 / normal_quantile(self.level)

    @cached_property
    def noisy_means(self) -> frozenset[str]:
        """The attributes whose means are too noisy to read."""
        return frozenset(one.attribute for one in self.noise if one.what == MEAN)

    def _regroup(self, name: str, count: int) -> Shares:
        """The shares of so many groups in place of those that are shown; values beside the range stay."""
        if name in self.result.ranges:
            some = np.array_split(np.arange(self.result.domains[name].k), count)
            return read_groups([Group("", one, self._sum_levels(name, one)) for one in some], None)
        estimate, k = self.result.estimates[name], self.result.domains[name].k
        parts = [*np.array_split(np.arange(k), count), *(np.array([v]) for v in range(k, estimate.k))]
        groups = [Group("", values, sum_of(estimate, values, self.level)) for values in parts]
        return read_groups(self._correct_groups(name, groups), self._likely.get(name))

    def is_wide(self, name: str, found: Summary) -> bool:
        """Whether a quantile is too noisy to read."""
        domain = self.result.domains[name]
        bins = bins_of(domain, domain.k)
        return bins is not None and is_wide(found, bins)

    def about(self) -> dict[str, Any]:
        """Everything, ready for JSON; an infinitely distant end is null. `rows` are of shares, not means."""
        result = self.result
        told = {
            "plan": result.plan_id,
            "title": result.title,
            "n": result.n,
            "level": self.level,
            "project": self.project,
            "fakes": self.fakes,
            "unexplained": [
                {"attribute": name, "value": value, "least_fakes": share}
                for name, (value, share) in self.find_unexplained().items()
            ],
        }
        searches = [
            {"attribute": name, "of": one.method, "method": one.search, "gap": one.gap}
            for name, one in self._likely.items()
        ]
        certificates = [
            {"attribute": name, "of": of, "method": one.method, "stop": one.stop, "gap": as_finite(one.gap)}
            for of, found in self.likelihoods
            for name, one in found.items()
        ]
        lists = {
            "rows": self.rows.values,
            "groups": self.rows.groups,
            AMONG: self.rows.answered,
            "means": self.rows.means,
            "quantiles": self.rows.quantiles,
            "ranges": self.rows.ranges,
            "noise": [one.about() for one in self.noise],
            "fit": [
                {"attribute": name, "p_value": fit.p_value, "badly": fit.is_bad, "text": str(fit)}
                for name, fit in self.fits.items()
            ],
            "respondents": [one.about() for one in self.respondents.values()],
            "searches": searches,
            "certificates": certificates,
        }
        return told | lists | {"refused": dict(self.refused)}

    def among(self, name: str, middle: bool = False) -> str | None:
        """Whom shares are about, or a mean and quantiles (`middle`); None for everybody."""
        return name_people(self.result, name, middle)

    @cached_property
    def rows(self) -> FoundRows:
        """The same as rows."""
        return FoundRows(self)

    @cached_property
    def respondents(self) -> dict[str, Respondents]:
        """What was counted of attributes whose results are not about everybody, although all report them."""
        names = [*self.names, *self.result.means]
        found = {name: find_respondents(self.result, name, self.level) for name in names}
        return {name: one for name, one in found.items() if one is not None}

    @property
    def likelihoods(self) -> tuple[tuple[str, Mapping[str, Likelihood]], ...]:
        """What was asked for beside the shares that are shown, by name."""
        return ("mle", self.likely), ("smoothed", self.smoothed)

    def plot(self, bins: bool = False, unbiased: bool = False, only: str | None = None) -> Figure:
        """A figure of matplotlib: shares with intervals, in groups unless `bins`; and what is likely.

        It is of all attributes, or of one `only`.
        """
        from deniable.show.findings_plot import plot_findings

        return plot_findings(self, bins, unbiased, only)

    def text(
        self, bins: bool = False, most: int | None = None, shell: bool = True, unbiased: bool = False
    ) -> str:
        """A plain table per attribute: groups of neighboring values where there are many, unless `bins`.

        At most `most` rows of each are shown. In the `shell` it says which options show more, else which
        methods do. With `unbiased` it shows unbiased shares, which may be impossible ones.
        """
        from deniable.show.text import write_text

        return write_text(self, bins, most, shell, unbiased)

    def html(self) -> str:
        """The same for a notebook."""
        from deniable.show.text import write_html

        return write_html(self)

    def find_unexplained(self) -> dict[str, tuple[str, float]]:
        """The share of each attribute that takes most fake reports, where it takes more than were stated."""
        found = {}
        for name, estimate in self.result.estimates.items() if self.fakes is not None else ():
            least = estimate.least_fakes(self.level, self.result.n)
            worst = int(np.argmax(least))
            if least[worst] > self.fakes:
                labels = estimate.labels or range(estimate.k)
                found[name] = str(labels[worst]), float(least[worst])
        return found


def _quantiles(
    result: Result, shares: Sequence[float], level: float, refused: dict[str, str]
) -> dict[str, dict[float, Summary]]:
    asked = [number("a quantile's share", share, 0.0, 1.0) for share in shares]
    ranges = [name for name in result if isinstance(result.domains.get(name), Range)]
    if asked and not any(isinstance(domain, Range) for domain in result.domains.values()):
        raise InvalidParameter("quantiles are of ranges of numbers, and no attribute here is one")
    found = {}
    for name in ranges if asked else ():
        try:
            found[name] = {share: result.quantile(name, share, level) for share in asked}
        except InvalidParameter as problem:
            refused[name] = "; ".join(
                dict.fromkeys([*([refused[name]] if name in refused else []), str(problem)])
            )
    return found
