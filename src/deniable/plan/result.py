"""Holds what the reports of a plan say: an estimate per attribute, and all of them as one table."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, final

from deniable.domain import Domain, Range
from deniable.domain.grid import Grid
from deniable.errors import InvalidParameter, not_among
from deniable.estimate import Bins, Estimate, MeanEstimate
from deniable.formatting import format_count
from deniable.plan.change import MEAN, Change, People, compare_results
from deniable.tables import Backend, frame_of_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from deniable.summaries import Summary

_WORST = ("fakes low", "fakes high")
_SHARES = ("frequency", "stderr", "low", "high", *_WORST, "projected", "mle", "smoothed")


class Unreported(NamedTuple):
    """An attribute without an estimate yet: how many reports there are, its values' names, and why."""

    n: int
    labels: tuple[str, ...]
    why: str


def bins_of(domain: Domain, k: int) -> Bins | None:
    """Where the values are on a line: of a range, unless having no answer is one of them."""
    if not isinstance(domain, Range) or domain.k != k:
        return None
    return Bins(domain.edges, domain.open_low, domain.open_high)


@final
@dataclass(frozen=True, repr=False)
class Result(Mapping[str, Any]):
    """Estimates by attribute, with the values' names: an `Estimate` of shares, or a `MeanEstimate`."""

    plan_id: str
    n: int
    """How many records were reported."""
    estimates: Mapping[str, Estimate]
    unreported: Mapping[str, Unreported] = field(default_factory=dict)
    """The attributes that nobody has reported yet."""
    title: str = ""
    means: Mapping[str, MeanEstimate] = field(default_factory=dict)
    """The attributes of which the mean is estimated, in their own unit."""
    domains: Mapping[str, Domain] = field(default_factory=dict, compare=False)
    """What the attributes' values are."""
    kept: Mapping[str, bool] = field(default_factory=dict, compare=False)
    """Whether noise that people keep for different values is independent, by attribute; empty where a plan
    asks once.
    """

    def __getitem__(self, name: str) -> Any:
        if name in self.unreported:
            raise KeyError(
                f"{name!r} has {format_count(self.unreported[name].n, 'report')}: {self.unreported[name].why}"
            )
        if name in self.means:
            return self.means[name]
        if name not in self.estimates:
            raise KeyError(not_among(name, "an attribute", [*self.estimates, *self.means]))
        return self.estimates[name]

    def __iter__(self) -> Iterator[str]:
        return iter([*self.estimates, *self.means])

    def __len__(self) -> int:
        return len(self.estimates) + len(self.means)

    def mean(self, name: str, level: float = 0.95, ends: tuple[float, float] | None = None) -> Summary:
        """The mean of a number, or of a range by the middles of its bins, with its standard error and
        interval.

        Where an end of the range is open, `ends` are the numbers that people in its first and last bin are
        taken to have.
        """
        from deniable.summaries import Summary, mean_of

        if name in self.means:
            found = self.means[name]
            return Summary(found.mean, found.stderr, *found.interval(level))
        estimate, bins = self._find_bins(name)
        if not (bins.open_low or bins.open_high):
            return mean_of(estimate, level=level)
        if ends is None:
            raise InvalidParameter(
                f"{name!r} has an open end, so it is not known where the people in its outermost bin are; "
                "give ends=(low, high), or ask for a quantile"
            )
        middles = bins.middles.copy()
        middles[0], middles[-1] = (
            (ends[0] if bins.open_low else middles[0]),
            (ends[1] if bins.open_high else middles[-1]),
        )
        return replace(mean_of(estimate, middles, level), within=bins.half)

    def quantile(self, name: str, share: float = 0.5, level: float = 0.95) -> Summary:
        """The number below which this share of the people is, with its interval: `dn.quantile_of` by the bins
        of a range.

        In a bin people are taken to be spread evenly. A bin without an end is infinitely far out.
        """
        from deniable.summaries import quantile_of

        return quantile_of(self._find_bins(name)[0], share, level=level)

    def has_mean(self, name: str) -> bool:
        """Whether it has a `mean`: a number, or a closed range that everybody answered."""
        domain, estimate = self.domains.get(name), self.estimates.get(name)
        if estimate is None or not isinstance(domain, Range):
            return name in self.means
        return estimate.k == domain.k and not (domain.open_low or domain.open_high)

    def _find_bins(self, name: str) -> tuple[Estimate, Bins]:
        found, domain = self[name], self.domains.get(name)
        if isinstance(domain, Grid):
            raise InvalidParameter(
                f"{name!r} is a location: with grid = result.domains[{name!r}], ask "
                f"dn.mean_of(result[{name!r}], grid.centers[:, 0]) for its latitude, and [:, 1] for its "
                "longitude"
            )
        if not isinstance(found, Estimate) or not isinstance(domain, Range):
            raise InvalidParameter(f"{name!r} is not a range of numbers, so it has no mean and no quantiles")
        bins = bins_of(domain, found.k)
        if bins is None:
            raise InvalidParameter(
                f'{name!r} has "no answer" as a value, which has no position on a line; give dn.mean_of '
                "positions of your own"
            )
        return replace(found, bins=bins), bins

    def rows(
        self, level: float = 0.95, project: str | None = None, fakes: float | None = None
    ) -> list[dict[str, Any]]:
        """A row per value that is estimated, and one per mean, where there are any, in a column `mean`."""
        found = []
        for name, estimate in self.estimates.items():
            low, high = estimate.interval(level)
            projected = None if project is None else estimate.project(project)
            worst = None if fakes is None else estimate.interval_with_fakes(fakes, level, self.n)
            for v, label in enumerate(estimate.labels or range(estimate.k)):
                row = {
                    "attribute": name,
                    "value": label,
                    "frequency": float(estimate.frequencies[v]),
                    "stderr": float(estimate.stderr[v]),
                    "low": float(low[v]),
                    "high": float(high[v]),
                    "count": float(estimate.counts[v]),
                }
                row |= {} if projected is None else {"projected": float(projected[v])}
                if worst is not None:
                    possible = not math.isnan(worst.low[v])
                    ends = zip(_WORST, (worst.low[v], worst.high[v]), strict=True)
                    row |= {end: float(at) if possible else None for end, at in ends}
                found.append(row | {MEAN: None} if self.means else row)
        return found + [self._mean_row(name, level, project) for name in self.means]

    def _mean_row(self, name: str, level: float, project: str | None) -> dict[str, Any]:
        """A mean is no share: the columns of shares are empty."""
        mean = self.means[name]
        low, high = mean.interval(level)
        ends = {"stderr": mean.stderr, "low": low, "high": high}
        row: dict[str, Any] = {"attribute": name, "value": MEAN, "frequency": None, **ends, "count": None}
        return row | ({} if project is None else {"projected": None}) | {MEAN: mean.mean}

    def table(
        self, level: float = 0.95, project: str | None = None, fakes: float | None = None
    ) -> list[dict[str, Any]]:
        """A row per value with all that is known of it, as in `frame`; None where nobody reported."""
        rows = self.rows(level, project, fakes)
        for name, nothing in self.unreported.items():
            rows += [dict.fromkeys(rows[0]) | {"attribute": name, "value": label} for label in nothing.labels]
        known: dict[str, Any] = {**self.estimates, **self.means, **self.unreported}
        ns = {name: one.n for name, one in known.items()}
        return [row | {"n": ns[row["attribute"]], "level": level, "plan": self.plan_id} for row in rows]

    def frame(self, level: float = 0.95, project: str | None = None, backend: Backend | None = None) -> Any:
        """A row per value, as a dataframe of the library you already have: pandas, polars or pyarrow.

        `frequency` is unbiased, `stderr` is its standard error, `low` and `high` are the ends of its interval
        at `level`, and `count` is how many of the `n` people who reported the attribute have the value.
        `projected` is what the consistency step `project` makes of the frequencies. All rows are of one plan,
        `plan_id`, which is no column.
        """
        rows = [
            {name: cell for name, cell in row.items() if name != "plan"} for row in self.table(level, project)
        ]
        return frame_of_rows(rows, backend)

    def change(self, earlier: Result, level: float = 0.95, people: People | None = None) -> Change:
        """The change since an earlier round: of every share and mean, with its interval.

        What people keep is in both rounds, so these depend on each other. Unless `people` says more, the
        intervals of a plan with rounds hold whoever answered in each round. With "same", they hold for these
        very people, if all answered both times, and are narrower; two rounds on values allow that (`l_grr`,
        `l_osue`, ...). With "others", other people answered each time, as in a plan that asks once.
        """
        return compare_results(earlier, self, level, people)

    def plot(self, level: float = 0.95) -> Figure:
        """A figure of matplotlib: every attribute's shares with their intervals; `savefig` keeps it.

        `result[name].plot()` draws one attribute.
        """
        from deniable.plan.plot import shares_plot

        given: object = level
        if isinstance(given, str):
            if given not in self:
                raise InvalidParameter(not_among(given, "an attribute", self))
            raise InvalidParameter(
                f"plot takes a confidence level and draws all attributes; result[{given!r}].plot() draws one"
            )

        return shares_plot(
            self.estimates, self.title or f"Plan {self.plan_id[:12]}", level, self.means, self.domains
        )

    def text(self, level: float = 0.95, project: str | None = None, most: int | None = None) -> str:
        """A plain table per attribute, as in the shell: groups of neighboring values where there are many.

        At most `most` rows of each attribute are shown.
        """
        from deniable.plan.findings import Findings  # which is made from results

        return Findings(self, level, project).text(most=most, shell=False)

    def __str__(self) -> str:
        return self.text(most=20)

    def __repr__(self) -> str:
        names = ", ".join(list(self)[:8]) + (", …" if len(self) > 8 else "")
        return f"<Result of {format_count(self.n, 'record')} for plan {self.plan_id[:12]}: {names}>"

    def _repr_html_(self) -> str:
        parts = [
            f"<h4>{html.escape(name)}</h4>{estimate._repr_html_()}"
            for name, estimate in self.estimates.items()
        ]
        for name, mean in self.means.items():
            low, high = mean.interval()
            parts.append(
                f"<h4>{html.escape(name)}</h4><p>mean {mean.mean:.6g} (95 % interval {low:.6g} to "
                f"{high:.6g})</p>"
            )
        parts += [
            f"<h4>{html.escape(name)}</h4><p>{html.escape(one.why)}</p>"
            for name, one in self.unreported.items()
        ]
        records = format_count(self.n, "record")
        return f"<p>{records} reported for plan {self.plan_id[:12]}</p>{''.join(parts)}"


def heading(result: Result, level: float) -> str:
    """The first line of a result as text."""
    records = format_count(result.n, "record")
    return f"{records} reported for plan {result.plan_id[:12]}; {100 * level:g} % intervals"


def width_of(rows: Sequence[Mapping[str, Any]]) -> int:
    """How many characters the values of these rows take."""
    return max(12, *(len(str(row["value"])) for row in rows))


def share_lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """An attribute's shares as text, with the columns that its rows have."""
    wide, first = width_of(rows), rows[0]
    columns = [one for one in _SHARES if first.get(one) is not None or (one in first and one in _WORST)]
    lines = [f"{'value':>{wide}}" + "".join(f"{one:>11}" for one in columns)]
    for row in rows:
        cells = (f"{row[one]:11.4f}" if row[one] is not None else f"{'impossible':>11}" for one in columns)
        lines.append(f"{row['value']!s:>{wide}}" + "".join(cells))
    return lines


def lines_without_shares(result: Result, level: float) -> list[str]:
    """The attributes that have a mean only, or nothing yet, as text."""
    lines = []
    for name, mean in result.means.items():
        names = "".join(f"{one:>13}" for one in (MEAN, "stderr", "low", "high"))
        numbers = "".join(f"{one:13.6g}" for one in (mean.mean, mean.stderr, *mean.interval(level)))
        lines += ["", f"{name} ({format_count(mean.n, 'report')})", " " * 12 + names, " " * 12 + numbers]
    for name, nothing in result.unreported.items():
        lines += ["", f"{name} ({format_count(nothing.n, 'report')}): {nothing.why}"]
    return lines
