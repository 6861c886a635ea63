"""Holds what the reports of a plan say: an estimate per attribute, and all of them as one table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np
import numpy.typing as npt

from deniable.domain import Domain, Range
from deniable.domain.grid import Grid
from deniable.errors import InvalidParameter, not_among
from deniable.estimate import Bins, Estimate, MeanEstimate
from deniable.formatting import format_count
from deniable.frames import Backend, frame_of_rows
from deniable.results.applicable import find_condition, mean_among, shares_among
from deniable.results.change import Change, People, compare_results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from deniable.cross import CrossTable
    from deniable.cross.agreement import Agreed
    from deniable.ranges import CumulativeShares, RangeEstimate
    from deniable.reports.reports import Tallies
    from deniable.study.plan import Plan
    from deniable.summaries import Summary


class Unreported(NamedTuple):
    """An attribute without an estimate: how many reports there are, its values' names, and why."""

    n: int
    labels: tuple[str, ...]
    why: str


def bins_of(domain: Domain, k: int) -> Bins | None:
    """Where the values are on a line: of a range, unless having no answer is one of them."""
    if not isinstance(domain, Range) or domain.k != k:
        return None
    return Bins(domain.edges, domain.open_low, domain.open_high, bool(domain.unit))


@final
@dataclass(frozen=True, repr=False)
class Result(Mapping[str, Any]):
    """Estimates by attribute, with the values' names: an `Estimate` of shares, or a `MeanEstimate`."""

    plan_id: str
    n: int
    """How many records were reported."""
    estimates: Mapping[str, Estimate]
    unreported: Mapping[str, Unreported] = field(default_factory=dict)
    """The attributes that nobody has reported yet, or of which it is not known who answered."""
    title: str = ""
    means: Mapping[str, MeanEstimate] = field(default_factory=dict)
    """The attributes of which the mean is estimated, in their own unit."""
    domains: Mapping[str, Domain] = field(default_factory=dict, compare=False)
    """What the attributes' values are."""
    kept: Mapping[str, bool] = field(default_factory=dict, compare=False)
    """Whether noise that people keep for different values is independent, by attribute; empty where a plan
    asks once.
    """
    plan: Plan | None = field(default=None, compare=False)
    """What the reports were made for, and with `tallies` what most likely shares are found from."""
    tallies: Tallies | None = field(default=None, compare=False)
    smooth: bool = False
    """Whether shares of ranges and grids are shown smoothed, as `plan.estimate(..., smooth=True)` asks."""
    ranges: Mapping[str, RangeEstimate] = field(default_factory=dict)
    """The questions that are reported in levels, each by least squares from all of them."""

    def __getitem__(self, name: str) -> Any:
        if name in self.unreported:
            raise KeyError(
                f"{name!r} has {format_count(self.unreported[name].n, 'report')}: {self.unreported[name].why}"
            )
        if name in self.means:
            return self.means[name]
        if name in self.ranges:
            return self.ranges[name]
        if name not in self.estimates:
            raise KeyError(self._point_to_table(name) or not_among(name, "an attribute", list(self)))
        return self.estimates[name]

    def _point_to_table(self, name: str) -> str:
        from deniable.explain.question_pairs import point_to_table

        return "" if self.plan is None else point_to_table(self.plan.content, name)

    def __iter__(self) -> Iterator[str]:
        order = {name: place for place, name in enumerate(self.domains)}
        shares = sorted([*self.estimates, *self.ranges], key=lambda name: order.get(name, len(order)))
        return iter([*(shares if self.ranges else self.estimates), *self.means])

    def __len__(self) -> int:
        return len(self.estimates) + len(self.ranges) + len(self.means)

    @cached_property
    def levels(self) -> dict[str, Estimate]:
        """The estimates of all levels of questions that have some, by attribute: each by its own reports."""
        if self.plan is None:
            return {}
        found: dict[str, Estimate] = {}
        for name, levels in self.plan.content.levels.items():
            if name in self.ranges:
                each = zip(levels, self.ranges[name].estimates, strict=True)
                found |= {one.name: estimate for one, estimate in each}
        return found

    def mean(self, name: str, level: float = 0.95, ends: tuple[float, float] | None = None) -> Summary:
        """The mean of a number, or of a range by the middles of its bins, with its standard error and
        interval. It is of those who answered.

        Where an end of the range is open, `ends` are the numbers that people in its first and last bin are
        taken to have.
        """
        from deniable.summaries import Summary, mean_of

        if name in self.means:
            number = self.means[name]
            return Summary(number.mean, number.stderr, *number.interval(level))
        bins = self._find_bins(name)
        middles = bins.middles.copy()
        if bins.open_low or bins.open_high:
            if ends is None:
                raise InvalidParameter(
                    f"{name!r} has an open end, so it is not known where the people in its outermost bin "
                    "are; give ends=(low, high), or ask for a quantile"
                )
            middles[0], middles[-1] = (
                (ends[0] if bins.open_low else middles[0]),
                (ends[1] if bins.open_high else middles[-1]),
            )
        if name in self.ranges:
            found = self.ranges[name].weigh(middles, level)
        elif self.is_drawn(name):
            found = mean_among(self, name, middles, level)
        elif self.estimates[name].k == middles.size:
            found = mean_of(self.estimates[name], middles, level)
        else:
            from deniable.results.respondents import mean_answered

            found = mean_answered(self.estimates[name], middles, level)
        return replace(found, within=bins.half)

    def quantile(self, name: str, share: float = 0.5, level: float = 0.95) -> Summary:
        """The number below which this share of the people is who answered, with its interval:
        `dn.quantile_of` by the bins of a range.

        In a bin people are taken to be spread evenly. A bin without an end is infinitely far out. On a scale
        of whole numbers it is between the first and the last of them.
        """
        from deniable.results.respondents import quantile_answered

        bins = self._find_bins(name)
        if name in self.ranges:
            found = self.ranges[name].quantile(share, level)
        else:
            found = quantile_answered(self, name, bins, share, level)
        domain = self.domains[name]
        if not isinstance(domain, Range) or domain.unit != "whole":
            return found
        first, last = float(domain.edges[:2].mean()), float(domain.edges[-2:].mean())
        value, low, high = (min(max(one, first), last) for one in (found.value, found.low, found.high))
        return replace(found, value=value, low=low, high=high)

    def range(self, name: str, low: object = None, high: object = None, level: float = 0.95) -> Summary:
        """The share of the people who answered from `low` to under `high`, with its interval.

        Both are edges of the bins of a range, in its own unit; None is an end of it.

        >>> import deniable as dn
        >>> plan = dn.Study({"age": dn.Range(0, 100, step=10)}, epsilon=4.0).plan(people=100)
        >>> reports = plan.privatize({"age": [25] * 40 + [55] * 60}, dn.seeded(1))
        >>> young = plan.estimate(plan.tally(reports)).range("age", 20, 40)
        >>> young.low < 0.4 < young.high
        True
        """
        from deniable.results.range_queries import estimate_range

        return estimate_range(self, name, low, high, level)

    def cdf(self, name: str, level: float = 0.95) -> CumulativeShares:
        """The share of people below each edge of a range, as a curve that never falls, with intervals."""
        from deniable.results.range_queries import cumulate

        return cumulate(self, name, level)

    def among(self, name: str, level: float = 0.95) -> dict[str, Summary]:
        """The share of each value among those to whom the question applies, and who answered it.

        Its interval is Fieller's, which holds where it is uncertain how many these are: then it may be wide.
        """
        return shares_among(self, name, level)

    def has_mean(self, name: str) -> bool:
        """Whether it has a `mean`: a number, or a closed range."""
        domain = self.domains.get(name)
        if name not in (*self.estimates, *self.ranges) or not isinstance(domain, Range):
            return name in self.means
        return not (domain.open_low or domain.open_high) and domain.unit != "month"

    def has_quantiles(self, name: str) -> bool:
        """Whether it has a median that people read: a range, but not of months."""
        domain = self.domains.get(name)
        known = name in self.estimates or name in self.ranges
        return known and isinstance(domain, Range) and domain.unit != "month"

    def is_drawn(self, name: str) -> bool:
        """Whether random values stand for people without an answer."""
        return self.plan is not None and find_condition(self.plan.content, name) is not None

    def _find_bins(self, name: str) -> Bins:
        from deniable.results.range_queries import look_up

        found, domain = look_up(self, name), self.domains.get(name)
        if isinstance(domain, Grid):
            raise InvalidParameter(
                f"{name!r} is a location: with grid = result.domains[{name!r}], ask "
                f"dn.mean_of(result[{name!r}], grid.centers[:, 0]) for its latitude, and [:, 1] for its "
                "longitude"
            )
        if isinstance(found, MeanEstimate) or not isinstance(domain, Range):
            raise InvalidParameter(f"{name!r} is not a range of numbers, so it has no mean and no quantiles")
        bins = bins_of(domain, domain.k)
        assert bins is not None
        return bins

    def frame(
        self,
        level: float = 0.95,
        project: str | None = None,
        backend: Backend | None = None,
        bins: bool = False,
    ) -> Any:
        """What is read of every attribute, as a dataframe of the library you already have: pandas, polars or
        pyarrow.

        `kind` is what a row is about: a value, a group of neighboring ones, a mean or a quantile; or a share
        `among` those who answered, where "not applicable" or "no answer" is one of the values. For long
        ranges and large grids there are groups; `bins` adds every value, as in the files of `deniable
        estimate`. `share` is a possible share, `low` and `high` are the ends of its interval at `level`, and
        `count` is how many of the `n` people who reported the attribute have the value. `unbiased` is the
        unbiased estimate, with `stderr` and its own interval. `projected` is what the consistency step
        `project` makes of it. All rows are of one plan, `plan_id`, which is no column.
        """
        from deniable.results.findings import Findings

        rows = Findings.read(self, level, project).rows.table(bins)
        return frame_of_rows(
            [{name: cell for name, cell in row.items() if name != "plan"} for row in rows], backend
        )

    def change(self, earlier: Result, level: float = 0.95, people: People | None = None) -> Change:
        """The change since an earlier round: of every share and mean, with its interval.

        What people keep is in both rounds, so these depend on each other. Unless `people` says more, the
        intervals of a plan with rounds hold whoever answered in each round. With "same", they hold for the
        very people whose reports are about the question, if all answered both times, and are narrower; two
        rounds on values allow that (`l_grr`, `l_osue`, ...), and plans that ask once and whose every report
        has a real answer to every question.
        With "others", other people answered each time, as in a plan that asks once.
        """
        return compare_results(earlier, self, level, people)

    def cross(self, of: str, by: str, level: float = 0.95) -> CrossTable:
        """The table of two questions that were asked `together`: what share of each row's people, `by`, gave
        each answer to the other, `of`.

        Long ranges are rows of groups. Tables that share a question are made to agree on it.
        """
        from deniable.results.crossing import cross_result

        return cross_result(self, of, by, level)

    def simulate_people(
        self, n: int, target: str | None = None, seed: int = 1
    ) -> dict[str, npt.NDArray[np.str_]]:
        """Answers of n people who do not exist, a column for each question, by the tables of a target.

        The study must have asked for all pairs with it: `Study(..., target="income")`. Given the target,
        other answers are drawn independently, so that nothing else can be learned from them. There are no
        error bars: for shares, intervals and tests take `cross`.
        """
        from deniable.results.synthetic_people import simulate_people

        return simulate_people(self, n, target, seed)

    @cached_property
    def agreed(self) -> Sequence[Agreed]:
        """What the reports of each table, and those about one question, say after these were made to agree:
        what all tables of `cross` are read from. Where they are of the same people, each stays as it is.
        """
        from deniable.cross.agreement import Agreed, agree
        from deniable.results.crossing import are_of_same_people, list_sources

        sources = list_sources(self)
        if self.plan is not None and are_of_same_people(self.plan.content):
            return [Agreed(source, source.values) for source in sources]
        return agree(sources)

    def plot(self, level: float = 0.95, unbiased: bool = False) -> Figure:
        """A figure of matplotlib: every attribute's shares with their intervals; `savefig` keeps it.

        `result[name].plot()` draws one attribute, with `unbiased` shares.
        """
        from deniable.results.findings import Findings

        given: object = level
        if isinstance(given, str):
            if given not in self:
                raise InvalidParameter(not_among(given, "an attribute", self))
            raise InvalidParameter(
                f"plot takes a confidence level and draws all attributes; result[{given!r}].plot() draws one"
            )
        return Findings.read(self, level).plot(unbiased=unbiased)

    def text(
        self,
        level: float = 0.95,
        project: str | None = None,
        most: int | None = None,
        unbiased: bool = False,
    ) -> str:
        """A plain table per attribute, as in the shell: groups of neighboring values where there are many.

        At most `most` rows of each attribute are shown. With `unbiased`, it shows unbiased shares, which may
        be impossible ones.
        """
        from deniable.results.findings import Findings  # which is made from results

        return Findings.read(self, level, project).text(most=most, shell=False, unbiased=unbiased)

    def __str__(self) -> str:
        return self.text(most=20)

    def __repr__(self) -> str:
        names = ", ".join(list(self)[:8]) + (", …" if len(self) > 8 else "")
        return f"<Result of {format_count(self.n, 'record')} for plan {self.plan_id[:12]}: {names}>"

    def _repr_html_(self) -> str:
        from deniable.results.findings import Findings

        return Findings.read(self).html()
