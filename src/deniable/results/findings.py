"""Finds all that tallies say, as people read it: possible shares, groups, means, quantiles, and noise.

This is the one place: the shell, the notebook, the files and the dashboard only lay it out. What was found is
also written as rows, for tables and for JSON.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from deniable.arrays import Floats, Integers
from deniable.domain import Range
from deniable.domain.grid import Grid
from deniable.domain.groups import list_groups
from deniable.errors import InvalidParameter
from deniable.estimate import Interval, normal_quantile
from deniable.exact import number
from deniable.formatting import format_digits
from deniable.plan.attribute import Attribute, list_several
from deniable.results.estimates import MEAN, Estimates, bins_of
from deniable.results.noise import Noise, What, find_noisy, is_wide, judge_mean, judge_median, judge_shares
from deniable.results.possible_shares import (
    Likely,
    Shares,
    as_smoothed,
    find_moved,
    find_shown_likely,
    possible_mean,
    read_groups,
    read_values,
)
from deniable.results.range_queries import RangeQuery, ShownShare, answer_queries, cumulate
from deniable.results.respondents import (
    Answered,
    Columns,
    Respondents,
    correct_shares,
    cumulative_shares,
    find_answered,
    find_mean,
    find_quantile,
    find_respondents,
    has_mean,
    has_quantiles,
    name_people,
    read_columns,
    share_answered,
)
from deniable.results.smoothed import Progress, search_shares
from deniable.summaries import Group, Summary, groups_of, sum_of
from deniable.summaries.fit import Fit, fit_levels, fit_of

if TYPE_CHECKING:
    from deniable.likelihood import Likelihood


MEDIAN = 0.5
RANGE = "range"
"""The kind of rows that are about the people between two numbers."""
AMONG = "among"
"""The kind of rows that are about those who answered, beside rows about everybody."""
WORST = ("fakes low", "fakes high")
"""The columns of the worst case."""
MLE = "mle"
"""The column of the most likely shares."""
EFFECTIVE = "effective"
"""The column of how many people of a simple sample weighted reports are as good as."""
_LAST = ("n", "level", "plan")  # of a table's columns
_Cells = dict[str, Any]
_SHARE = ("share", "low", "high", "count", "noisy", "method")
_UNBIASED = ("unbiased", "stderr", "unbiased_low", "unbiased_high")
MOVED = "moved_from"
"""The column of the unbiased number, where what is shown is more than two standard errors from it."""


class ScaleLabels(NamedTuple):
    """The point of a scale that a quantile is in, and those that hold the ends of its interval."""

    label: str
    low_label: str
    high_label: str


@final
@dataclass(frozen=True)
class FindingsRequest:
    """What is to be found in estimates, beside what is always shown of them."""

    quantiles: Sequence[float] = ()
    ranges: Sequence[RangeQuery] = ()
    mle: bool = False
    likely: Mapping[str, Likelihood] | None = None
    """What reports make most likely: it is then not searched for in the tallies."""
    fakes: float | None = None
    include_slow: bool = True
    """Whether grids are looked at, too, and medians of questions in levels: each may take seconds."""
    progress: Progress | None = None
    """Hears how much of what is most likely is found, and of how much."""


@final
@dataclass(frozen=True)
class Findings:
    """What was found, at one confidence level; `refused` says what could not be, and why."""

    estimates: Estimates
    level: float = 0.95
    quantiles: Mapping[str, Mapping[float, Summary]] = field(default_factory=dict)
    """The quantiles that were asked for, beside the medians."""
    likely: Mapping[str, Likelihood] = field(default_factory=dict)
    """The most likely shares, by attribute; they have a certificate and no error bars."""
    smoothed: Mapping[str, Likelihood] = field(default_factory=dict)
    """The shares that were smoothed, which are then what is shown."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """What was asked for and cannot be estimated: why, by attribute."""
    fakes: float | None = None
    """The share of reports that may have been made up, for the worst case of every share."""
    ranges: Mapping[str, Mapping[RangeQuery, Summary]] = field(default_factory=dict)
    """The shares between two numbers that were asked for, by attribute."""
    include_slow: bool = True
    """Whether grids are looked at, too, and medians of questions in levels: each may take seconds."""

    @staticmethod
    def read(estimates: Estimates, level: float = 0.95, request: FindingsRequest | None = None) -> Findings:
        """Find everything in estimates, which know whether their shares are to be smoothed."""
        request = request or FindingsRequest()
        if estimates.weighting is not None and (request.mle or request.fakes is not None):
            raise InvalidParameter(
                "weighted results have no most likely shares (mle) and no worst case of fakes: both are of "
                "the very reports; read them without weights"
            )
        if estimates.plans and (request.mle or request.fakes is not None):
            raise InvalidParameter(
                "joined results have no most likely shares (mle) and no worst case of fakes: both are of "
                "reports to one plan; leave them out"
            )
        searched = search_shares(
            estimates, request.mle, request.include_slow, request.likely, request.progress
        )
        quantiles, unknown = _find_quantiles(estimates, request.quantiles, level)
        refused = dict(searched.refused)
        for name, why in unknown.items():
            refused[name] = "; ".join(dict.fromkeys([refused.get(name, why), why]))
        return Findings(
            estimates,
            level,
            quantiles=quantiles,
            likely=searched.likely,
            smoothed=searched.smoothed,
            refused=refused,
            fakes=request.fakes,
            ranges=answer_queries(estimates, request.ranges, level),
            include_slow=request.include_slow,
        )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The attributes that have shares, but for grids if they are left out."""
        domains = self.estimates.domains
        names = self.estimates.shares
        return tuple(name for name in names if self.include_slow or not isinstance(domains.get(name), Grid))

    @property
    def leveled(self) -> tuple[str, ...]:
        """The questions that are reported in levels, of which only groups have shares."""
        return tuple(self.estimates.ranges)

    @cached_property
    def shown(self) -> tuple[str, ...]:
        """All that has shares, of values or of groups, in the order of the study."""
        return tuple(name for name in self.estimates if name in {*self.names, *self.leveled})

    @cached_property
    def several(self) -> dict[str, list[Attribute]]:
        """The options that have shares of every question with several answers, by its name."""
        document = self.estimates.document
        several = {} if document is None else list_several(document.attributes)
        known = {
            name: [option for option in options if option.name in self.names]
            for name, options in several.items()
        }
        return {name: options for name, options in known.items() if options}

    @cached_property
    def questions(self) -> tuple[str, ...]:
        """What is shown by itself, in order: questions with their options, and all other attributes."""
        of_option = {
            option.name: question for question, options in self.several.items() for option in options
        }
        order = {name: position for position, name in enumerate(self.estimates.domains)}
        names = sorted((*self.shown, *self.estimates.means), key=lambda name: order.get(name, len(order)))
        return tuple(dict.fromkeys(of_option.get(name, name) for name in names))

    @cached_property
    def means(self) -> dict[str, Summary]:
        """The means of every number, and of every range that has one: possible ones."""
        return {
            name: mean.cut(*possible_mean(self.estimates, name)) for name, mean in self.unbiased_means.items()
        }

    @cached_property
    def unbiased_means(self) -> dict[str, Summary]:
        """Unbiased means by attribute, which may be beyond the ends of their range."""
        names = [name for name in (*self.shown, *self.estimates.means) if has_mean(self.estimates, name)]
        return {name: find_mean(self.estimates, name, self.level) for name in names}

    @cached_property
    def all_quantiles(self) -> dict[str, dict[float, Summary]]:
        """The median of every range, and the quantiles that were asked for."""
        quantiles = {}
        for name in self.shown:
            if has_quantiles(self.estimates, name) and (self.include_slow or name not in self.leveled):
                shares = self.quantiles.get(name, {})
                median = shares.get(MEDIAN) or find_quantile(self.estimates, name, MEDIAN, self.level)
                quantiles[name] = {MEDIAN: median, **shares}
        return quantiles

    @cached_property
    def groups(self) -> dict[str, list[Group]]:
        """Neighboring values together, of every attribute that has too many to look at one by one."""
        estimates = self.estimates
        grouped = {
            name: groups_of(estimates.shares[name], estimates.domains.get(name), self.level)
            for name in self.names
        }
        grouped = {name: self._correct_groups(name, groups) for name, groups in grouped.items() if groups}
        grouped |= {name: self._group_levels(name) for name in self.leveled}
        return {name: grouped[name] for name in self.shown if name in grouped}

    def _group_levels(self, name: str) -> list[Group]:
        """Groups of a question in levels, or its values if it has few of them."""
        domain = self.estimates.domains[name]
        alone = ((label, np.array([v])) for v, label in enumerate(domain.labels))
        return [
            Group(label, values, self._sum_levels(name, values))
            for label, values in list_groups(domain) or alone
        ]

    def _sum_levels(self, name: str, values: Integers) -> Summary:
        first, last = int(values[0]), int(values[-1]) + 1
        return self.estimates.ranges[name].range(first, last, self.level)

    def _correct_groups(self, name: str, groups: list[Group]) -> list[Group]:
        """Groups with their shares among those who answered."""
        if not self.estimates.is_drawn(name):
            return groups
        sizes = np.array([group.values.size for group in groups], dtype=np.float64)
        columns = read_columns([group.share for group in groups])
        rows = zip(*correct_shares(self.estimates, name, sizes, columns, self.level), strict=True)
        shares = [Summary(*map(float, row)) for row in rows]
        return [group._replace(share=share) for group, share in zip(groups, shares, strict=True)]

    @cached_property
    def unbiased(self) -> dict[str, Columns]:
        """Unbiased shares of single values, their errors and the ends of their intervals: of those who
        answered, where random values stand for the others.
        """
        return {name: self.find_unbiased(name, self.level) for name in self.names}

    def find_unbiased(self, name: str, level: float) -> Columns:
        """Unbiased shares of one attribute, with errors and intervals at any level."""
        estimate = self.estimates.shares[name]
        columns = estimate.frequencies, estimate.stderr, *estimate.interval(level)
        if not self.estimates.is_drawn(name):
            return columns
        return correct_shares(self.estimates, name, np.ones(estimate.k), columns, level)

    @cached_property
    def shares(self) -> dict[str, Shares]:
        return {
            name: read_values(columns, self._likely.get(name), self._find_edges(name))
            for name, columns in self.unbiased.items()
        }

    def _find_edges(self, name: str) -> Interval | None:
        """How far intervals reach from nobody and from everybody; not known of those who answered alone."""
        if self.estimates.is_drawn(name):
            return None
        return self.estimates.shares[name].edge_ends(self.level)

    @cached_property
    def group_shares(self) -> dict[str, Shares]:
        return {name: read_groups(groups, self._likely.get(name)) for name, groups in self.groups.items()}

    @cached_property
    def answered(self) -> dict[str, Answered]:
        """What is shown of those who answered, where shares are of everybody; of groups where there are."""
        shares = self.shares | self.group_shares
        answered = {
            name: find_answered(self.estimates, name, self.groups.get(name), shares[name], self.level)
            for name in self.names
        }
        return {name: shares_of for name, shares_of in answered.items() if shares_of is not None}

    @cached_property
    def _likely(self) -> dict[str, Likely]:
        likely = {
            name: as_smoothed(self.smoothed[name])
            if name in self.smoothed
            else find_shown_likely(self.estimates, name)
            for name in self.names
            if not self.estimates.is_drawn(name)
        }
        return {name: shares for name, shares in likely.items() if shares is not None}

    @cached_property
    def noise(self) -> list[Noise]:
        """What is too noisy to read, and what would mend it."""
        estimates, level = self.estimates, self.level
        judged: list[Noise | None] = []
        for name in self.shown:
            if name in self.groups:
                errors = np.array([group.share.stderr for group in self.groups[name]])
                is_map = isinstance(estimates.domains[name], Grid)
                what: What = "block" if is_map else "group"
                fewer = None if is_map else partial(self._regroup, name)
                shares = self.group_shares[name]
                judged.append(judge_shares(estimates, name, shares, errors, what, level, fewer))
            else:
                errors = self.unbiased[name][1]
                judged.append(judge_shares(estimates, name, self.shares[name], errors, "value", level, None))
        for name, mean in self.unbiased_means.items():
            ends = possible_mean(estimates, name)
            judged.append(judge_mean(estimates, name, mean, self.means[name], ends, level))
        for name, shares_ in self.all_quantiles.items():
            if self.is_wide(name, shares_[MEDIAN]):
                judged.append(judge_median(estimates, name, self._find_error(name), level))
        return [noise for noise in judged if noise is not None]

    @property
    def weights(self) -> dict[str, list[str]]:
        """How good each weighted attribute is, in words, and warnings."""
        weighting = self.estimates.weighting
        attributes = {} if weighting is None else weighting.attributes
        return {name: [text, *attributes[name].warnings] for name, text in self._weights.items()}

    @cached_property
    def _weights(self) -> dict[str, str]:
        """How good each weighted attribute is, in words: its standard error, then people."""
        weighting = self.estimates.weighting
        errors = {name: float(columns[1].max()) for name, columns in self.unbiased.items()}
        errors |= {name: max(group.share.stderr for group in self.groups[name]) for name in self.groups}
        texts = {
            name: f"standard error up to {format_digits(100 * errors[name], 2)} points" for name in errors
        }
        means = self.estimates.means
        texts |= {name: f"standard error {format_digits(means[name].stderr, 2)}" for name in means}
        attributes = {} if weighting is None else weighting.attributes
        return {name: f"{text}; {attributes[name]}" for name, text in texts.items() if name in attributes}

    @cached_property
    def fits(self) -> dict[str, Fit]:
        """How badly the reports about each attribute fit honest people, where a tally can say so."""
        estimates = self.estimates
        fits = {name: fit_of(estimates.shares[name]) for name in self.names}
        fits |= {name: fit_levels(list(estimates.ranges[name].estimates)) for name in self.leveled}
        return {name: fit for name in self.shown if (fit := fits[name]) is not None}

    def _find_error(self, name: str) -> float:
        """The largest standard error of the shares below an edge, by which a median is off."""
        if name not in self.estimates.ranges:
            return float(cumulative_shares(self.estimates, name, MEDIAN).errors.max())
        ends = cumulate(self.estimates, name, self.level)
        return float((ends.high - ends.low).max()) / 2 / normal_quantile(self.level)

    @cached_property
    def noisy_means(self) -> frozenset[str]:
        return frozenset(noise.attribute for noise in self.noise if noise.what == MEAN)

    def _regroup(self, name: str, count: int) -> Shares:
        """The shares of so many groups in place of those that are shown; values beside the range stay."""
        if name in self.estimates.ranges:
            blocks = np.array_split(np.arange(self.estimates.domains[name].k), count)
            return read_groups([Group("", codes, self._sum_levels(name, codes)) for codes in blocks], None)
        estimate, k = self.estimates.shares[name], self.estimates.domains[name].k
        parts = [*np.array_split(np.arange(k), count), *(np.array([v]) for v in range(k, estimate.k))]
        groups = [Group("", values, sum_of(estimate, values, self.level)) for values in parts]
        return read_groups(self._correct_groups(name, groups), self._likely.get(name))

    def label_quantile(self, name: str, quantile: Summary) -> ScaleLabels | None:
        """A quantile of values that are counted one by one, as people state it: by labels."""
        domain = self.estimates.domains[name]
        if not isinstance(domain, Range) or not domain.unit:
            return None
        labels, first = self._label_scale(name, domain), domain.edges[0]
        places = (
            math.floor(quantile.value - first),
            math.floor(quantile.low - first),
            math.ceil(quantile.high - first) - 1,
        )
        return ScaleLabels(*(labels[min(max(place, 0), domain.k - 1)] for place in places))

    def _label_scale(self, name: str, domain: Range) -> list[str]:
        """The points of a scale, with what its two ends mean."""
        labels, texts = list(domain.labels), self.estimates.document and self.estimates.document.texts
        ends = texts.ends.get(name) if texts else None
        if texts and isinstance(ends, Mapping):
            for place, meaning in zip((0, -1), ends[texts.language], strict=True):
                labels[place] += f" ({meaning})"
        return labels

    def is_wide(self, name: str, summary: Summary) -> bool:
        domain = self.estimates.domains[name]
        bins = bins_of(domain, domain.k)
        return bins is not None and is_wide(summary, bins)

    def about(self) -> dict[str, Any]:
        """Everything, ready for JSON; an infinitely distant end is null. `rows` are of shares, not means."""
        estimates = self.estimates
        about: dict[str, Any] = {
            "plan": estimates.plan_id,
            "title": estimates.title,
            "n": estimates.n,
            "level": self.level,
        }
        if estimates.plans:
            about["plans"] = [{"plan": result.plan_id, "n": result.n} for result in estimates.plans]
        about["questions"] = dict(estimates.question_texts)
        about["weights"] = None if estimates.weighting is None else estimates.weighting.about(self._weights)
        unexplained = [
            {"attribute": name, "value": value, "least_fakes": share}
            for name, (value, share) in self.find_unexplained().items()
        ]
        searches = [
            {"attribute": name, "of": part.method, "method": part.search, "gap": part.gap}
            for name, part in self._likely.items()
        ]
        certificates = [
            {"attribute": name, "of": of, "method": part.method, "stop": part.stop}
            | {"gap": as_finite(part.gap)}
            for of, likelihoods in self.likelihoods
            for name, part in likelihoods.items()
        ]
        lists = {
            "rows": self.rows.values,
            "groups": self.rows.groups,
            AMONG: self.rows.answered,
            "means": self.rows.means,
            "quantiles": self.rows.quantiles,
            "ranges": self.rows.ranges,
            "noise": [part.about() for part in self.noise],
            "fit": [
                {"attribute": name, "p_value": fit.p_value, "badly": fit.is_bad, "text": str(fit)}
                for name, fit in self.fits.items()
            ],
            "respondents": [part.about() for part in self.respondents.values()],
            "searches": searches,
            "certificates": certificates,
        }
        return (
            about | {"fakes": self.fakes, "unexplained": unexplained} | lists | {"refused": {**self.refused}}
        )

    def among(self, name: str, of_mean: bool = False) -> str | None:
        """Whom shares are about, or a mean and quantiles (`of_mean`); None for everybody."""
        return name_people(self.estimates, name, of_mean)

    @cached_property
    def rows(self) -> FoundRows:
        """What was found, as rows."""
        return FoundRows(self)

    @cached_property
    def respondents(self) -> dict[str, Respondents]:
        """What was counted of attributes whose results are not about everybody, although all report them."""
        names = [*self.names, *self.estimates.means]
        known = {name: find_respondents(self.estimates, name, self.level) for name in names}
        return {name: respondents for name, respondents in known.items() if respondents is not None}

    @property
    def likelihoods(self) -> tuple[tuple[str, Mapping[str, Likelihood]], ...]:
        """The likelihoods that were asked for, by the columns that they are in."""
        return ("mle", self.likely), ("smoothed", self.smoothed)

    def find_unexplained(self) -> dict[str, tuple[str, float]]:
        """The share of each attribute that takes most fake reports, where it takes more than were stated."""
        unexplained = {}
        for name, estimate in self.estimates.shares.items() if self.fakes is not None else ():
            least = estimate.least_fakes(self.level, self.estimates.n)
            worst = int(np.argmax(least))
            if least[worst] > self.fakes:
                labels = estimate.labels or range(estimate.k)
                unexplained[name] = str(labels[worst]), float(least[worst])
        return unexplained


def _find_quantiles(
    estimates: Estimates, shares: Sequence[float], level: float
) -> tuple[dict[str, dict[float, Summary]], dict[str, str]]:
    """The quantiles of every range, and why a range has none, by attribute."""
    checked = [number("a quantile's share", share, 0.0, 1.0) for share in shares]
    ranges = [name for name in estimates if isinstance(estimates.domains.get(name), Range)]
    if checked and not any(isinstance(domain, Range) for domain in estimates.domains.values()):
        raise InvalidParameter("quantiles are of ranges of numbers, and no attribute here is one")
    quantiles, refused = {}, {}
    for name in ranges if checked else ():
        try:
            quantiles[name] = {share: find_quantile(estimates, name, share, level) for share in checked}
        except InvalidParameter as problem:
            refused[name] = str(problem)
    return quantiles, refused


def tabulate(
    values: Sequence[_Cells],
    groups: Sequence[_Cells],
    answered: Sequence[_Cells],
    means: Sequence[_Cells],
    quantiles: Sequence[_Cells],
    ranges: Sequence[_Cells] = (),
    questions: Mapping[str, str] = MappingProxyType({}),
) -> list[_Cells]:
    """Rows of every kind as one table: each names its kind, and all have the same columns.

    Where people read questions, their texts are a column.
    """
    shares = (("value", values), ("group", groups), (AMONG, answered))
    rows = [row | {"kind": kind} for kind, some in shares for row in some]
    rows += [{"value": MEAN} | row | {"kind": MEAN} for row in means]
    for row in quantiles:
        rest = {name: cell for name, cell in row.items() if name != "share"}
        rows.append({"value": name_quantile(row["share"])} | rest | {"kind": "quantile"})
    rows += [row | {"kind": RANGE} for row in ranges]
    names = dict.fromkeys(name for row in rows for name in row if name not in _LAST)
    columns: _Cells = dict.fromkeys(["attribute", "value", "kind", *names, *_LAST])
    return [columns | row | add_question(questions, row["attribute"]) for row in rows]


def add_question(questions: Mapping[str, str], name: str) -> dict[str, str]:
    """The column with a question's text, which is there if any question has one."""
    return {"question": questions.get(name, "")} if questions else {}


@final
@dataclass(frozen=True)
class FoundRows:
    """What was found, as rows: a dictionary for each value, group, mean or quantile."""

    findings: Findings

    def table(self, bins: bool = True) -> list[dict[str, Any]]:
        """All rows as one table: `kind` tells values, groups, means and quantiles apart, and shares
        among those who answered.

        Without bins, single values are left out where there are groups.
        """
        values = [row for row in self.values if bins or row["attribute"] not in self.findings.groups]
        texts = self.findings.estimates.question_texts
        return tabulate(values, self.groups, self.answered, self.means, self.quantiles, self.ranges, texts)

    @cached_property
    def means(self) -> list[dict[str, Any]]:
        rows = []
        for name, mean in self.findings.means.items():
            raw = self.findings.unbiased_means[name]
            row = {"attribute": name, "mean": mean.value, "low": mean.low, "high": mean.high}
            row |= {"within": mean.within, "noisy": name in self.findings.noisy_means}
            row |= dict(zip(_UNBIASED, (raw.value, raw.stderr, raw.low, raw.high), strict=True))
            row |= {MOVED: find_moved(mean.value, raw.value, raw.stderr)}
            rows.append(row | self._name_people(name, of_mean=True) | self._context(name))
        return rows

    @cached_property
    def quantiles(self) -> list[dict[str, Any]]:
        """A row per median, and per quantile that was asked for."""
        return [
            {
                "attribute": name,
                "share": share,
                "quantile": as_finite(quantile.value),
                **{of: as_finite(getattr(quantile, of)) for of in ("low", "high", "stderr")},
                "noisy": self.findings.is_wide(name, quantile),
                **self._label(name, quantile),
                **self._name_people(name, of_mean=True),
                **self._context(name),
            }
            for name, shares in self.findings.all_quantiles.items()
            for share, quantile in shares.items()
        ]

    def _label(self, name: str, quantile: Summary) -> dict[str, str]:
        """The points of a scale, as columns that rows of other numbers do not have."""
        labels = self.findings.label_quantile(name, quantile)
        return {} if labels is None else labels._asdict()

    @cached_property
    def ranges(self) -> list[dict[str, Any]]:
        """A row per share between two numbers that was asked for."""
        rows = []
        for name, queries in self.findings.ranges.items():
            for between, raw in queries.items():
                possible = ShownShare.of(self.findings.estimates, name, between, raw)
                share, n = possible.share, self._count(name)
                row = {"attribute": name, "value": str(between), "share": share.value, "low": share.low}
                row |= {
                    "high": share.high,
                    "count": None if n is None else share.value * n,
                    "noisy": possible.noisy,
                }
                row |= dict(zip(_UNBIASED, (raw.value, raw.stderr, raw.low, raw.high), strict=True))
                row |= {MOVED: possible.moved_from}
                rows.append(row | self._name_people(name, of_mean=True) | self._context(name))
        return rows

    @cached_property
    def values(self) -> list[dict[str, Any]]:
        """A row per value, with nothing in it where nobody reported."""
        rows: list[dict[str, Any]] = []
        for name in self.findings.names:
            estimate = self.findings.estimates.shares[name]
            more: dict[str, Sequence[Any]] = {}
            if self.findings.fakes is not None:
                worst = self._find_worst(name)
                more = {end: list(map(as_finite, at)) for end, at in zip(WORST, worst, strict=True)}
            labels = range(estimate.k) if estimate.labels is None else estimate.labels
            rows += self._share_rows(
                name, labels, self.findings.shares[name], self.findings.unbiased[name], more
            )
        columns = rows[0] if rows else dict.fromkeys(("attribute", "value", *_SHARE, *_UNBIASED, MOVED))
        for name, nothing in self.findings.estimates.unreported.items():
            empty = dict.fromkeys(columns)
            labels = () if nothing.labels == (MEAN,) else nothing.labels  # a number has no shares
            rows += [empty | {"attribute": name, "value": label} | self._context(name) for label in labels]
        return rows

    def _find_worst(self, name: str) -> tuple[Floats, Floats]:
        """Where each share is in the worst case that fakes allow; nan where they cannot explain it."""
        estimates, fakes = self.findings.estimates, self.findings.fakes
        estimate, n = estimates.shares[name], estimates.n
        assert fakes is not None
        if not self.findings.estimates.is_drawn(name):
            return estimate.interval_with_fakes(fakes, self.findings.level, n)
        # fakes may also be about who answered, and then anything is possible
        return np.zeros(estimate.k), np.ones(estimate.k)

    @cached_property
    def groups(self) -> list[dict[str, Any]]:
        rows = []
        for name, groups in self.findings.groups.items():
            unbiased = read_columns([group.share for group in groups])
            labels = [group.label for group in groups]
            rows += self._share_rows(name, labels, self.findings.group_shares[name], unbiased, {})
        return rows

    @cached_property
    def answered(self) -> list[dict[str, Any]]:
        """A row per value, or per group, of those who answered."""
        return [
            row | {AMONG: part.people} | self._context(name)
            for name, part in self.findings.answered.items()
            for row in _list_shares(
                name, part.labels, part.shares, part.unbiased, self._count(name, part.part)
            )
        ]

    def _share_rows(
        self,
        name: str,
        labels: Sequence[object],
        shares: Shares,
        unbiased: tuple[Floats, ...],
        more: Mapping[str, Sequence[Any]],
    ) -> list[dict[str, Any]]:
        part = 1.0
        if self.findings.estimates.is_drawn(name):
            part = min(
                max(share_answered(self.findings.estimates, name, self.findings.level).value, 0.0), 1.0
            )
        n = self._count(name, part)
        columns = dict(more) | {
            of: self._sums(name, frequencies, shares.share.size) for of, frequencies in self._others(name)
        }
        about = self._name_people(name, of_mean=False) | self._context(name)
        return [
            row | {of: column[v] for of, column in columns.items()} | about
            for v, row in enumerate(_list_shares(name, labels, shares, unbiased, n))
        ]

    def _count(self, name: str, part: float = 1.0) -> float | None:
        """How many people reported this attribute, or were a part of them; None of a population."""
        estimates = self.findings.estimates
        return None if estimates.weighting is not None else float(estimates[name].n) * part

    def _others(self, name: str) -> list[tuple[str, Floats]]:
        """Other shares of single values that were asked for, by name."""
        return [
            (of, likelihood[name].frequencies)
            for of, likelihood in self.findings.likelihoods
            if name in likelihood and name not in self.findings.leveled
        ]  # questions in levels have no shares of single values

    def _sums(self, name: str, shares: Floats, size: int) -> list[float]:
        """Shares of values, or their sums where rows are groups."""
        if size == shares.size:
            return [float(share) for share in shares]
        return [float(shares[group.values].sum()) for group in self.findings.groups[name]]

    def _context(self, name: str) -> dict[str, Any]:
        """The last columns of a row about this attribute."""
        estimates = self.findings.estimates
        known = estimates.unreported.get(name) or estimates[name]
        weighted = {}
        if estimates.weighting is not None:
            weighed = estimates.weighting.attributes.get(name)
            weighted = {EFFECTIVE: None if weighed is None else weighed.effective}
        return weighted | dict(zip(_LAST, (known.n, self.findings.level, estimates.plan_id), strict=True))

    def _name_people(self, name: str, of_mean: bool) -> dict[str, str]:
        """Whom a row is about, as a column that rows about everybody do not have."""
        people = self.findings.among(name, of_mean)
        return {} if people is None else {"among": people}


def _list_shares(
    name: str, labels: Sequence[object], shares: Shares, unbiased: Sequence[Floats], n: float | None
) -> Iterator[dict[str, Any]]:
    """A row for each share of n people, or of a population: what is shown, and what is unbiased."""
    noisy = find_noisy(shares).tolist()
    columns = (column.tolist() for column in (shares.share, shares.low, shares.high, *unbiased))
    for label, is_noisy, share, low, high, *raw in zip(labels, noisy, *columns, strict=True):
        cells = (share, low, high, None if n is None else share * n, is_noisy, shares.method)
        row = {"attribute": name, "value": label, **dict(zip(_SHARE, cells, strict=True))}
        yield row | dict(zip(_UNBIASED, raw, strict=True)) | {MOVED: find_moved(share, raw[0], raw[1])}


def name_quantile(share: float) -> str:
    """What a quantile is called."""
    return "median" if share == MEDIAN else f"quantile {share:g}"


def as_finite(position: float) -> float | None:
    """A position for JSON, which has no infinite ones."""
    return float(position) if math.isfinite(position) else None
