"""Holds the most likely shares, how near they are to the maximum, and why the search ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from deniable.arrays import Floats
from deniable.errors import InvalidParameter
from deniable.estimate import Bins, Interval, reach_of
from deniable.estimate.consistency import simplex
from deniable.exact import number, whole_number
from deniable.formatting import Printed, format_count, format_percent
from deniable.frames import frame_of
from deniable.likelihood import smoothing
from deniable.likelihood.certificate import NEGLIGIBLE_GAIN, Solution, Stop, gap_bound, rounding
from deniable.likelihood.intervals import flat, searched, unrefused
from deniable.likelihood.problem import Listed, Problem
from deniable.likelihood.smoothing import PASSES, WEIGHTS, Passes, Smoothing
from deniable.likelihood.solving import solve
from deniable.likelihood.whole_reports import Attribute, Information

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Repeats = Callable[[int, int], None]
"""Hears how many repeats are done, and of how many."""
_MIXED = 0.1  # how much of all shares alike a repeated search begins with: none may begin at zero
_PART = 1e-3  # of what reports could gain over all shares alike: less, where their likelihood is flat


@final
@dataclass(frozen=True, eq=False)
class Likelihood(Printed):
    """What n reports make most likely: a distribution, so biased where unbiased estimates are negative."""

    n: int
    frequencies: Floats = field(repr=False)
    gap: float
    """The mean log-likelihood of a report is below the best possible by at most this, rounded up. For an
    attribute of whole reports it is that of all attributes together.
    """
    iterations: int
    stop: Stop
    method: str
    problem: Problem = field(repr=False)
    smoothing: Smoothing | None = field(default=None, repr=False)
    labels: Sequence[object] | None = field(default=None, repr=False)
    bins: Bins | None = field(default=None, repr=False)
    """Where the values are on a line, if they are bins of a range."""
    _settings: tuple[str, float, int | None] = field(default=("auto", 1e-9, None), repr=False)

    @staticmethod
    def of(problem: Problem, solution: Solution, settings: tuple[str, float, int | None]) -> Likelihood:
        """What a search found."""
        how = solution.iterations, solution.stop, solution.method
        return Likelihood(problem.n, solution.shares, solution.gap, *how, problem, _settings=settings)

    @cached_property
    def log_likelihood(self) -> float:
        """The mean logarithm of a report's likelihood (for sets of values: up to a constant)."""
        return self.problem.likelihood(self.frequencies)

    @property
    def k(self) -> int:
        """The number of values."""
        return int(self.frequencies.size)

    @property
    def certified(self) -> bool:
        """Whether the gap is within the tolerance that was asked for."""
        return self.stop == "certified"

    @property
    def counts(self) -> Floats:
        """How many of the n people have each value, by these shares."""
        return self.frequencies * self.n

    def bootstrap(self, repeats: int = 200, seed: int = 1, progress: Repeats | None = None) -> Floats:
        """Shares found again from reports that people with these shares would send, a row for each repeat.

        Each search begins next to these shares and ends where all reports together could gain 0.001 nats at
        most, which is far less than they scatter. `progress` hears how many repeats are done, and of how
        many. An attribute of whole reports is not searched for again: its shares are moved by the normal law
        of its information, and brought back to shares.
        """
        whole_number("repeats", repeats, 2)
        whole_number("seed", seed, 0)
        if not self.has_errors:
            raise InvalidParameter(
                "a smoothed result has no error bars: it is biased, and repeats with the same smoothing "
                "cannot see how far; take those of the result without smoothing"
            )
        kept: dict[tuple[int, int], Floats] = self._kept
        if (repeats, seed) not in kept:
            generator = np.random.default_rng(seed)
            rows = np.empty((repeats, self.k))
            informed = self._information
            for i in range(repeats):
                if informed is None:
                    rows[i] = self._found_again(self.problem.again(self.frequencies, generator))
                else:
                    rows[i] = simplex(informed.move(self.frequencies, generator))
                if progress is not None:
                    progress(i + 1, repeats)
            rows.setflags(write=False)
            kept[repeats, seed] = rows
        return kept[repeats, seed]

    @property
    def _information(self) -> Information | None:
        return self.problem.information if isinstance(self.problem, Attribute) else None

    @cached_property
    def _kept(self) -> dict[tuple[int, int], Floats]:
        return {}

    @cached_property
    def flat(self) -> bool:
        """Whether all reports together prefer these shares to any others by less than 1.92 nats, as 95 %
        intervals allow.

        Then they say next to nothing, and what is most likely is so by a hair. Counts of support are not
        looked at, nor are tables of outputs by values of more than 67 million numbers (other than one line of
        geometric noise). For an attribute of whole reports: whether all of its 95 % intervals are 0 to 1.
        """
        if self._information is not None:
            ends = self.interval(0.95)
            return bool((ends.low <= 0).all() and (ends.high >= 1).all())
        return isinstance(self.problem, Listed) and flat(
            self.problem, self.frequencies, reach_of(0.025) ** 2 / 2
        )

    @property
    def has_errors(self) -> bool:
        """Whether it has error bars: not if it was smoothed."""
        return self.smoothing is None

    def _found_again(self, problem: Problem) -> Floats:
        method, tolerance, limit = self._settings
        allowed = max(tolerance, NEGLIGIBLE_GAIN / self.n)
        initial = (1 - _MIXED) * self.frequencies + _MIXED / self.k
        if isinstance(problem, Listed):
            rows = problem.rows
            alike = rows.ascent(problem.outputs, np.full(self.k, 1 / self.k))
            at_most = _PART * gap_bound(alike, 1.0, rows.roundings)
            allowed = min(allowed, max(at_most, 4 * rounding(rows.roundings)))
        solution = solve(problem, method, allowed, limit, initial=initial)
        return (solution if solution.gap <= allowed else solve(problem, method, allowed, limit)).shares

    def standard_errors(self, repeats: int = 200, seed: int = 1, progress: Repeats | None = None) -> Floats:
        """How far each share scatters, by parametric bootstrap; where the likelihood reaches farther, half of
        where it does.

        It reaches to the shares that all reports together find less likely by half a nat, as one standard
        error does where a share is well known. For an attribute of whole reports it is by their information.
        """
        if self._information is not None:
            return self._information.standard_errors
        scatter = self.bootstrap(repeats, seed, progress).std(axis=0, ddof=1)
        if not isinstance(self.problem, Listed):
            return np.asarray(scatter)
        likely = unrefused(self.problem, self.frequencies, 0.5)
        return np.asarray(np.maximum(scatter, (likely.high - likely.low) / 2))

    def interval(
        self, level: float = 0.95, repeats: int = 200, seed: int = 1, progress: Repeats | None = None
    ) -> Interval:
        """By parametric bootstrap, its percentiles or its standard errors around the share, whichever reach
        farther.

        They also hold the shares that all reports together hardly find less likely (by 1.92 nats at 95 %), so
        that they are wide where reports say little, and 0 to 1 where the result is `flat`. They are about
        right where a share is well above its standard error. Near zero they are not to be relied on, since
        the maximum sits on the boundary there; the unbiased estimate's intervals are. For counts of support,
        and for counts of outputs where outputs times values exceed 67 million, they are the bootstrap's
        alone, which may be falsely narrow; the printed result says so. Those of an attribute of whole reports
        are where the parabola of the log-likelihood is no lower than that, and hold near zero, too.
        """
        tail = (1 - number("a confidence level", level, 0.0, 1.0)) / 2
        if self._information is not None:
            return self._information.interval(self.frequencies, reach_of(tail))
        rows = self.bootstrap(repeats, seed, progress)
        low, high = np.quantile(rows, [tail, 1 - tail], axis=0)
        reach = reach_of(tail) * rows.std(axis=0, ddof=1)
        low, high = np.minimum(low, self.frequencies - reach), np.maximum(high, self.frequencies + reach)
        if isinstance(self.problem, Listed):
            likely = unrefused(self.problem, self.frequencies, reach_of(tail) ** 2 / 2)
            low, high = np.minimum(low, likely.low), np.maximum(high, likely.high)
        return Interval(np.maximum(low, 0.0), np.minimum(high, 1.0))

    def smooth(
        self,
        weights: Sequence[float] = WEIGHTS,
        passes: Sequence[int] = PASSES,
        folds: int = 5,
        seed: int = 1,
        progress: Passes | None = None,
    ) -> Likelihood:
        """For ordered values and grids: EM with as much smoothing, and as many passes, as predict held-out
        reports best.

        A maximum of likelihood is spiky; where the truth is smooth this is many times nearer. The gap is
        still that of the unsmoothed likelihood. There are no error bars: smoothing is a bias that no
        repetition sees. `progress` hears how many passes over the data are done, and how many there are at
        most.
        """
        problem = smoothing.checked(self.problem)
        setting, shares = smoothing.smoothed(problem, weights, passes, folds, seed, progress)
        rows = problem.rows
        gap = gap_bound(rows.ascent(problem.outputs, shares), 1.0, rows.roundings)
        return replace(
            self,
            frequencies=shares,
            gap=gap,
            iterations=setting.passes,
            stop="passes done",
            method=f"smoothed: {setting.passes} passes with weight {setting.weight:g}",
            smoothing=setting,
        )

    def frame(
        self,
        level: float = 0.95,
        repeats: int = 200,
        seed: int = 1,
        backend: str | None = None,
        progress: Repeats | None = None,
    ) -> Any:
        """A dataframe of the library you already have, like that of an estimate; it takes a bootstrap.

        A smoothed result has no error bars, and its frame no columns for them.
        """
        columns: dict[str, Any] = {"value": list(self._labels()), "share": self.frequencies}
        if self.has_errors:
            ends = self.interval(level, repeats, seed, progress)
            columns |= {"stderr": self.standard_errors(repeats, seed), "low": ends.low, "high": ends.high}
        columns["count"] = self.counts
        return frame_of(columns, backend)

    def _labels(self) -> Sequence[object]:
        return range(self.k) if self.labels is None else self.labels

    def plot(self, level: float | None = None) -> Figure:
        """A figure of matplotlib: a bar for each share; with a level, its interval, by a bootstrap."""
        from deniable.plot.charts import Bars, plot_bars

        ends = (None, None) if level is None else self.interval(level)
        how = "" if level is None else f" with {100 * level:g} % intervals"
        title = f"{format_count(self.n, 'report')}: most likely shares{how}"
        return plot_bars(self._labels(), [Bars(self.frequencies, "", *ends)], title, "share of people")

    def _notes(self) -> list[str]:
        """How the shares were found, and what to be careful of."""
        notes = [
            f"{format_count(self.n, 'report')}, {self.method}, {self.stop}: the log-likelihood per report is "
            f"at most {self.gap:.2g} below the best"
        ]
        if self.flat:
            notes.append("these reports say next to nothing: 95 % intervals allow any shares")
        elif self._searches_alone:
            notes.append("interval() is a bootstrap here: too narrow where reports say little")
        return notes

    @property
    def _searches_alone(self) -> bool:
        """Whether intervals are those of a bootstrap only."""
        if not self.has_errors or self._information is not None:
            return False
        return not (isinstance(self.problem, Listed) and searched(self.problem))

    def __str__(self) -> str:
        limit = 20
        wide = max(12, *(len(str(label)) for label in list(self._labels())[:limit]))
        lines = [*self._notes(), f"{'value':>{wide}} {'share':>10}"]
        pairs = list(zip(self._labels(), self.frequencies, strict=True))
        lines += [f"{label!s:>{wide}} {format_percent(share, 2):>10}" for label, share in pairs[:limit]]
        if self.k > limit:
            lines.append(f"{'...':>{wide}} and {self.k - limit} more; frame() has them all")
        return "\n".join(lines)
