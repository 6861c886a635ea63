"""Finds all that tallies say: shares, groups of neighboring values, means, quantiles, what is most likely."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, final

import numpy as np

from deniable.arrays import Floats
from deniable.domain import Range
from deniable.domain.grid import Grid
from deniable.errors import InvalidParameter
from deniable.exact import number
from deniable.formatting import format_count, format_percent
from deniable.plan.change import MEAN
from deniable.plan.plan import Plan, Result, Tallies
from deniable.plan.result import heading, lines_without_shares, share_lines, width_of
from deniable.summaries import Group, Summary, group_rows, groups_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from deniable.likelihood import Likelihood

_LAST = ("n", "level", "plan")  # of a table's columns


@final
@dataclass(frozen=True)
class Findings:
    """What was found, at one confidence level; `refused` says what could not be, and why."""

    result: Result
    level: float = 0.95
    project: str | None = None
    quantiles: Mapping[str, Mapping[float, Summary]] = field(default_factory=dict)
    likely: Mapping[str, Likelihood] = field(default_factory=dict)
    """The most likely shares, by attribute; they have a certificate and no error bars."""
    smoothed: Mapping[str, Likelihood] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    """What was asked for and cannot be estimated: why, by attribute."""
    fakes: float | None = None
    """The share of reports that may have been made up, for the worst case of every share."""
    blocks: bool = True
    """Whether cells of a large grid are put together, too: of 2,000 cells that takes seconds."""

    @staticmethod
    def of(
        plan: Plan,
        tallies: Tallies,
        level: float = 0.95,
        project: str | None = None,
        quantiles: Sequence[float] = (),
        mle: bool = False,
        smooth: bool = False,
        progress: Callable[[int, int], None] | None = None,
        fakes: float | None = None,
    ) -> Findings:
        """Estimate everything that is asked for; smoothing, for ordered values only, takes the most likely
        shares first.

        `progress` hears how much of what is most likely is found, and of how much.
        """
        result = plan.estimate(tallies)
        refused: dict[str, str] = {}
        likely: dict[str, Likelihood] = {}
        smoothed: dict[str, Likelihood] = {}
        names = list(result.estimates) if mle or smooth else []
        for position, name in enumerate(names):
            ordered = isinstance(result.domains[name], Range)
            heard = partial(_heard, progress, position, len(names))
            try:
                heard(0, 1)
                most = plan.mle(tallies, name, ordered=ordered or None)
                likely |= {name: most} if mle else {}
                if smooth and (ordered or isinstance(result.domains[name], Grid)):
                    if _has_no_answer(result, name):
                        raise InvalidParameter(
                            "shares are not smoothed where no answer is a value of its own"
                        )
                    smoothed[name] = most.smooth(progress=heard)
            except InvalidParameter as problem:
                refused[name] = str(problem)
        if smooth and not any(isinstance(domain, Range | Grid) for domain in result.domains.values()):
            raise InvalidParameter(
                "only shares of ordered values can be smoothed, and no attribute here is a range or a grid"
            )
        found = _quantiles(result, quantiles, level, refused)
        return Findings(result, level, project, found, likely, smoothed, refused, fakes)

    def means(self) -> dict[str, Summary]:
        """The means of every number, and of every range that has one."""
        names = [*self.result.estimates, *self.result.means]
        return {name: self.result.mean(name, self.level) for name in names if self.result.has_mean(name)}

    def groups(self) -> dict[str, list[Group]]:
        """Neighboring values together, of every attribute that has too many to look at one by one."""
        domains = self.result.domains
        shares = [
            one
            for one in self.result.estimates.items()
            if self.blocks or not isinstance(domains.get(one[0]), Grid)
        ]
        found = {name: groups_of(estimate, domains.get(name), self.level) for name, estimate in shares}
        return {name: groups for name, groups in found.items() if groups}

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
                for name, (value, share) in self._find_unexplained().items()
            ],
        }
        means = [
            {
                "attribute": name,
                "mean": mean.value,
                **_ends(mean),
                "within": mean.within,
                **self._context(name),
            }
            for name, mean in self.means().items()
        ]
        quantiles = [
            {
                "attribute": name,
                "share": share,
                "quantile": _finite(found.value),
                **_ends(found),
                **self._context(name),
            }
            for name, shares in self.quantiles.items()
            for share, found in shares.items()
        ]
        certificates = [
            {"attribute": name, "of": of, "method": one.method, "stop": one.stop, "gap": _finite(one.gap)}
            for of, found in (("mle", self.likely), ("smoothed", self.smoothed))
            for name, one in found.items()
        ]
        lists = {
            "groups": self._group_rows(),
            "means": means,
            "quantiles": quantiles,
            "certificates": certificates,
        }
        rows = [row for row in self._value_rows() if row["attribute"] not in result.means]
        rows = [{name: cell for name, cell in row.items() if name != MEAN} for row in rows]
        return told | {"rows": rows, **lists, "refused": dict(self.refused)}

    def _context(self, name: str) -> dict[str, Any]:
        """The last columns of a row about this attribute."""
        return dict(zip(_LAST, (self.result[name].n, self.level, self.result.plan_id), strict=True))

    def table(self) -> list[dict[str, Any]]:
        """The same as rows of one table: `kind` tells values, groups, means and quantiles apart."""
        rows = [
            row | {"kind": "value"} for row in self._value_rows() if row["attribute"] not in self.result.means
        ]
        rows += [row | {"kind": "group"} for row in self._group_rows()]
        for name, mean in self.means().items():
            told = {"attribute": name, "value": MEAN, **_ends(mean), MEAN: mean.value, "within": mean.within}
            rows.append(told | self._context(name) | {"kind": "mean"})
        for name, shares in self.quantiles.items():
            for share, found in shares.items():
                told = {
                    "attribute": name,
                    "value": f"quantile {share:g}",
                    **_ends(found),
                    "quantile": _finite(found.value),
                }
                rows.append(told | self._context(name) | {"kind": "quantile"})
        names = dict.fromkeys(name for row in rows for name in row)
        columns: dict[str, Any] = dict.fromkeys(
            ["attribute", "value", "kind", *(one for one in names if one not in _LAST), *_LAST]
        )
        return [columns | row for row in rows]

    def _value_rows(self) -> list[dict[str, Any]]:
        rows = self.result.table(self.level, self.project, self.fakes)
        for of, likely in (("mle", self.likely), ("smoothed", self.smoothed)):
            shares = {name: iter(one.frequencies.tolist()) for name, one in likely.items()}
            rows = (
                [row | {of: next(shares.get(row["attribute"], iter(())), None)} for row in rows]
                if likely
                else rows
            )
        return rows

    def _group_rows(self) -> list[dict[str, Any]]:
        rows = []
        for name, groups in self.groups().items():
            estimate = self.result[name]
            more: dict[str, Floats] = (
                {} if self.project is None else {"projected": estimate.project(self.project)}
            )
            more |= {of: all_[name].frequencies for of, all_ in self._likelihoods if name in all_}
            rows += [row | self._context(name) for row in group_rows(name, estimate, groups, more)]
        return rows

    @property
    def _likelihoods(self) -> tuple[tuple[str, Mapping[str, Likelihood]], ...]:
        return ("mle", self.likely), ("smoothed", self.smoothed)

    def plot(self, bins: bool = False) -> Figure:
        """A figure of matplotlib: shares with intervals, in groups unless `bins`; and what is likely."""
        from deniable.plan.plot import shares_plot

        shares = {
            of: {name: one.frequencies for name, one in found.items()}
            for of, found in self._likelihoods
            if found
        }
        result = self.result
        title = result.title or f"Plan {result.plan_id[:12]}"
        about = result.means, result.domains, bins, shares, self._positions()
        return shares_plot(result.estimates, title, self.level, *about)

    def _positions(self) -> dict[str, dict[str, float]]:
        """Means and quantiles of ranges, by name, but for those beyond an open end."""
        found = {
            name: {MEAN: mean.value} for name, mean in self.means().items() if name in self.result.estimates
        }
        for name, shares in self.quantiles.items():
            told = {
                f"quantile {share:g}": one.value for share, one in shares.items() if math.isfinite(one.value)
            }
            found[name] = found.get(name, {}) | told
        return found

    def text(self, bins: bool = False, most: int | None = None, shell: bool = True) -> str:
        """A plain table per attribute: groups of neighboring values where there are many, unless `bins`.

        At most `most` rows of each are shown. In the `shell` it says which options show more, else which
        methods do.
        """
        result = self.result
        groups = {} if bins else self.groups()
        values, grouped, means = self._value_rows(), self._group_rows(), self.means()
        lines = [heading(result, self.level)]
        for name, estimate in result.estimates.items():
            rows = [row for row in (grouped if name in groups else values) if row["attribute"] == name]
            more = "--bins shows every one" if shell else "frame() has them all"
            shown = f": {len(rows)} groups of {estimate.k:,} values; {more}" if name in groups else ""
            first = rows[:most]
            lines += ["", f"{name} ({format_count(estimate.n, 'report')}){shown}", *share_lines(first)]
            if len(first) < len(rows):
                lines.append(f"{'...':>{width_of(first)}} and {len(rows) - len(first):,} more; {more}")
            lines += self._summary(name, means.get(name), width_of(first), shell)
        return "\n".join([*lines, *lines_without_shares(result, self.level)])

    def _summary(self, name: str, mean: Summary | None, wide: int, shell: bool) -> list[str]:
        """Below an attribute's shares: its mean, its quantiles, and how good what is most likely is."""
        domain, lines = self.result.domains.get(name), []
        line = partial("{:>{wide}} {}".format, wide=wide)
        if mean is not None:
            lines.append(line("mean", _format_summary(mean)))
        elif isinstance(domain, Range) and (domain.open_low or domain.open_high):
            median = "--quantile 0.5" if shell else f"quantile({name!r})"
            lines.append(line("mean", f"not known, since an end of the range is open; ask for {median}"))
        lines += [
            line(f"quantile {share:g}", _format_summary(found))
            for share, found in self.quantiles.get(name, {}).items()
        ]
        for of, found in self._likelihoods:
            if name in found:
                one = found[name]
                best = (
                    f"log-likelihood per report within {one.gap:.2g} of the best"
                    if one.gap < math.inf
                    else "no certificate"
                )
                lines.append(line(of, f"{_how(one)}; {best}"))
        if name in (unexplained := self._find_unexplained()):
            value, share = unexplained[name]
            lines.append(
                line(
                    "fake reports",
                    f"at least {format_percent(share)} of all reports must have been made up to explain "
                    f"{value!r}; there may be more",
                )
            )
        return [*lines, *([line("", self.refused[name])] if name in self.refused else [])]

    def _find_unexplained(self) -> dict[str, tuple[str, float]]:
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
    ranges = [name for name in result.estimates if isinstance(result.domains[name], Range)]
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


def _heard(
    progress: Callable[[int, int], None] | None, position: int, positions: int, done: int, most: int
) -> None:
    """So much is done of one attribute, which is one of several: in thousandths of each."""
    if progress is not None:
        progress(1000 * position + 1000 * done // most, 1000 * positions)


def _has_no_answer(result: Result, name: str) -> bool:
    """Whether "no answer" is one of the values: it is next to the others, not between them."""
    return bool(result.estimates[name].k > result.domains[name].k)


def _how(found: Likelihood) -> str:
    """By which steps shares were found, in words."""
    if found.smoothing is None:
        return f"{found.method}, {found.stop}"
    passes, weight = f"{found.smoothing.passes:,} passes", found.smoothing.weight
    if weight == 0:
        return f"EM stopped early, after {passes}, chosen by held-out reports; neighbors are not averaged"
    return f"{passes} of EM that give {weight:g} of a share to either neighbor, chosen by held-out reports"


def _format_summary(found: Summary) -> str:
    within = (
        f", and up to {found.within:g} more either way, since answers are counted in bins"
        if found.within
        else ""
    )
    value, low, high = (_format_number(number) for number in (found.value, found.low, found.high))
    return f"{value}, from {low} to {high}{within}"


def _format_number(number: float) -> str:
    return f"{number:.6g}" if math.isfinite(number) else "beyond the open end"


def _ends(found: Summary) -> dict[str, float | None]:
    return {"stderr": _finite(found.stderr), "low": _finite(found.low), "high": _finite(found.high)}


def _finite(position: float) -> float | None:
    return position if math.isfinite(position) else None
