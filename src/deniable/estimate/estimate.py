"""Estimates frequencies from counts of support, without bias and with honest error bars."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats
from deniable.errors import InvalidParameter
from deniable.estimate import consistency, intervals
from deniable.exact import number
from deniable.formatting import Printed, format_count, format_digits, format_percent
from deniable.frames import Backend, frame_of
from deniable.law import Law, Marginal, Moments
from deniable.law.law import Convention

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Method = Literal["exact", "wilson", "normal", "joined"]
_METHODS: tuple[Method, ...] = ("exact", "wilson", "normal")  # that may be asked for


@final
@dataclass(frozen=True, eq=False)
class Bins:
    """Neighboring bins on a line. An open bin has no end, so nobody knows where its people are."""

    edges: Floats
    open_low: bool = False
    open_high: bool = False
    is_whole: bool = False
    """Whether an answer is the middle of its bin: a whole number, counted one by one."""

    @property
    def k(self) -> int:
        """The number of bins."""
        return int(self.edges.size) - 1

    @cached_property
    def middles(self) -> Floats:
        """The middle of every bin; that of an open bin, as if it were closed."""
        return np.asarray((self.edges[1:] + self.edges[:-1]) / 2)

    @property
    def half(self) -> float:
        """Half of the widest bin: as far as an answer may be from the middle of its bin."""
        return 0.0 if self.is_whole else float(np.diff(self.edges).max()) / 2

    @cached_property
    def ends(self) -> Floats:
        """The edges, infinitely far out where a bin is open."""
        ends = self.edges.copy()
        ends[0], ends[-1] = (-np.inf if self.open_low else ends[0]), (np.inf if self.open_high else ends[-1])
        return ends


class Interval(NamedTuple):
    """Lower and upper ends, one pair per value."""

    low: Floats
    high: Floats


@final
@dataclass(frozen=True, eq=False)
class Estimate(Printed):
    """Estimates how frequent each value is, (count / n - q) / (p - q), from n reports, with the errors.

    Nothing is clipped or rescaled: an estimate may be negative, and its interval may reach below 0 or above
    1. Ask `project` for a distribution.
    """

    n: int
    support_counts: npt.NDArray[Any] = field(repr=False)
    law: Law | Marginal | Moments = field(repr=False)
    labels: Sequence[object] | None = field(default=None, repr=False)
    asked: npt.NDArray[np.int64] | None = field(default=None, repr=False)
    """How many of the n reports are about each value, where not all are."""
    bins: Bins | None = field(default=None, repr=False)
    """Where the values are on a line, if they are bins of a range."""

    def __post_init__(self) -> None:
        if self.n < 1:
            raise InvalidParameter("there are no reports yet, so there is nothing to estimate")
        if self.asked is not None and self.asked.min() < 1:
            raise InvalidParameter(
                "nobody was asked about some of the values yet, so there is nothing to estimate"
            )

    @property
    def k(self) -> int:
        """The number of values."""
        return int(self.support_counts.size)

    @cached_property
    def frequencies(self) -> Floats:
        """The unbiased estimate of each value's share."""
        return self._shares(self.support_counts / self._about)

    @property
    def _about(self) -> int | npt.NDArray[np.int64]:
        return self.n if self.asked is None else self.asked

    @property
    def counts(self) -> Floats:
        """The unbiased estimate of how many of the n people have each value."""
        return self.frequencies * self.n

    @cached_property
    def stderr(self) -> Floats:
        """The standard error of each frequency, the people being a sample of those the study is about."""
        return self.standard_errors("sampled")

    def standard_errors(self, population: Convention = "sampled") -> Floats:
        """Standard errors for a `sampled` population, or for the `fixed` people who answered (smaller)."""
        return self._errors(np.clip(self.frequencies, 0.0, 1.0), population)

    @property
    def method(self) -> Method:
        """How intervals are made unless another way is asked for."""
        if not isinstance(self.law, Moments):
            return "exact"
        if self.law.joined is not None:
            return "joined"
        return "normal" if self.law.inside is None else "wilson"

    def interval(
        self, level: float = 0.95, method: Method | None = None, simultaneous: bool = False
    ) -> Interval:
        """Where the true shares are, with confidence `level` each, or all at once (Bonferroni).

        They are those of the population that the people who answered are a sample of. The shares among these
        very people are held at least as often.

        A count of support is binomial, so an `exact` (Clopper-Pearson) or `wilson` interval for its mean maps
        to one for the share; exact ones are the default. Shares of metric values are not counts: their
        intervals are Wilson's, with the observed noise. Noisy sums have `normal` ones. Neither is exact, and
        `exact` is refused.
        """
        if method is not None and method not in _METHODS:
            raise InvalidParameter(f"method is 'exact', 'wilson' or 'normal', got {method!r}")
        if method == "exact" and isinstance(self.law, Moments):
            raise InvalidParameter(
                "exact intervals need counts of support, and these shares are not counts; ask for "
                "'wilson' or 'normal', which cover about as often as they say"
            )
        tail = (1 - number("a confidence level", level, 0.0, 1.0)) / 2
        return self._ends(tail / self.k if simultaneous else tail, method or self.method)

    def edge_ends(self, level: float = 0.95) -> Interval:
        """The lower ends if everybody were seen to have a value, and the upper ends if nobody were.

        An unbiased share below 0 is below the truth, and so is its interval. Cut to possible shares, it would
        look the most precise and be the least reliable. So intervals as they are shown reach at least as far
        as those of nobody and of everybody do, without luck either way.

        >>> from deniable.mechanisms import Tally, grr
        >>> found = grr(k=8, epsilon=2.0).estimate(Tally(317, [10, 30, *[46] * 5, 47]))
        >>> found.interval().high[:2].round(4).tolist(), found.edge_ends().high[:2].round(4).tolist()
        ([-0.0276, 0.1415], [0.0759, 0.0759])
        """
        tail = (1 - number("a confidence level", level, 0.0, 1.0)) / 2
        if self.method == "exact":
            about = np.broadcast_to(self._about, self.k)
            none, full = np.floor(about * self.law.q), np.ceil(about * self.law.p)
            low, _ = intervals.clopper_pearson(full, about, tail)
            _, high = intervals.clopper_pearson(none, about, tail)
            return Interval(self._shares(low), self._shares(high))
        if isinstance(self.law, Moments) and self.law.joined is not None:
            return Interval(*self.law.joined.find_edges(tail))
        reach = intervals.reach_of(tail)
        below, above = 1 - reach * self.stderr, reach * self.stderr
        if isinstance(self.law, Moments) and self.method == "wilson":
            assert self.law.inside is not None
            assert self.law.outside is not None
            squares = self.law.inside, self.law.outside
            below = np.minimum(below, intervals.scored(np.ones(self.k), self.n, *squares, tail)[0])
            above = np.maximum(above, intervals.scored(np.zeros(self.k), self.n, *squares, tail)[1])
        return Interval(below, above)

    def interval_with_fakes(self, fakes: float, level: float = 0.95, of: int | None = None) -> Interval:
        """Where the true shares of honest people are if at most this share of the reports was made up.

        Nothing is assumed of the fakes: each adds what moves a share most, and all of them may be about one
        value. The intervals are within 0 and 1. Both ends are nan where so few fakes cannot explain a share:
        see `least_fakes`. `of` is how many reports there are in all, where only some are about this
        attribute: fakes may all be among those.

        >>> from deniable.mechanisms import Tally, hr
        >>> m = hr(k=3, epsilon=1.0)
        >>> found = m.estimate(Tally(10_000, [6000, 5000, 4500]))
        >>> for fakes in (0.01, 0.1):
        ...     low, high = found.interval_with_fakes(fakes)
        ...     print([f"{a:.2f} to {b:.2f}" for a, b in zip(low, high, strict=True)])
        ['0.37 to 0.50', '0.00 to 0.06', 'nan to nan']
        ['0.19 to 0.77', '0.00 to 0.29', '0.00 to 0.05']
        >>> [f"{share:.3f}" for share in found.least_fakes()]
        ['0.000', '0.000', '0.080']
        """
        made_up = number("fakes, the share of reports that were made up (0.01 is 1 %),", fakes, 0.0, 1.0)
        share = np.minimum(made_up * (of or self.n) / self._about, 1.0)
        low, high = self.interval(level)
        least, most = self.law.contributions
        with np.errstate(divide="ignore", invalid="ignore"):
            low = np.where(share < 1, (low - share * most) / (1 - share), 0.0)
            high = np.where(share < 1, (high - share * least) / (1 - share), 1.0)
        possible = (low <= 1.0) & (high >= 0.0)
        ends = (np.where(possible, np.clip(end, 0.0, 1.0), np.nan) for end in (low, high))
        return Interval(*ends)

    def least_fakes(self, level: float = 0.95, of: int | None = None) -> Floats:
        """The smallest share of all reports that must have been made up to explain each share: 0 where honest
        people could have it.
        """
        low, high = self.interval(level)
        least, most = self.law.contributions
        with np.errstate(divide="ignore", invalid="ignore"):
            above, below = (low - 1) / (most - 1), high / least
        share = np.maximum(np.where(low > 1, above, 0.0), np.where(high < 0, below, 0.0))
        return np.asarray(np.minimum(share * self._about / (of or self.n), 1.0))

    def _ends(self, tail: float, method: Method) -> Interval:
        """Both ends, each missed with this probability."""
        if method == "normal":
            reach = intervals.reach_of(tail) * self.stderr
            return Interval(self.frequencies - reach, self.frequencies + reach)
        if isinstance(self.law, Moments):
            if method == "joined" and self.law.joined is not None:
                return Interval(*self.law.joined.find_ends(tail))
            return self._scored(self.law, tail)
        counts = self.support_counts.astype(np.float64)
        low, high = (intervals.clopper_pearson if method == "exact" else intervals.wilson)(
            counts, self._about, tail
        )
        return Interval(self._shares(low), self._shares(high))

    def _scored(self, law: Moments, tail: float) -> Interval:
        """Wilson's ends; where the noise was seen and is not known, no nearer than the normal ones."""
        if law.inside is None or law.outside is None:
            return Interval(*intervals.scored(self.frequencies, self.n, 1 + law.noise, law.noise, tail))
        low, high = intervals.scored(self.frequencies, self.n, law.inside, law.outside, tail)
        plain = self._ends(tail, "normal")
        return Interval(np.minimum(low, plain.low), np.maximum(high, plain.high))

    def project(self, method: str) -> Floats:
        """A consistent version by name: clip, norm-sub, norm-cut, norm-mul, simplex, base-cut, isotonic.

        No error bars come with it: a projected estimate is biased.
        """
        return consistency.project(
            method, self.frequencies, lambda: self._ends(0.05 / self.k, self.method).low
        )

    def frame(self, level: float = 0.95, backend: Backend | None = None) -> Any:
        """A dataframe of the library you already have: pandas, polars or pyarrow."""
        ends = self.interval(level)
        columns = {
            "value": list(self._labels()),
            "share": self.frequencies,
            "stderr": self.stderr,
            "low": ends.low,
            "high": ends.high,
            "count": self.counts,
        }
        return frame_of(columns, backend)

    def _shares(self, supported: Floats) -> Floats:
        return np.asarray((supported - self.law.q) / self.law.gain)

    def _errors(self, frequencies: Floats, population: Convention) -> Floats:
        return np.asarray(np.sqrt(self.law.variance(1, frequencies, population) / self._about))

    def _labels(self) -> Sequence[object]:
        return range(self.k) if self.labels is None else self.labels

    def plot(self, level: float = 0.95) -> Figure:
        """A figure of matplotlib: a bar for each value's share, with its interval."""
        from deniable.plot.charts import Bars, plot_bars

        bars = Bars(self.frequencies, "", *self.interval(level))
        title = f"{format_count(self.n, 'report')}: estimated shares with {100 * level:g} % intervals"
        return plot_bars(self._labels(), [bars], title, "share of people")

    def __str__(self) -> str:
        low, high = self.interval()
        limit = 20
        wide = max(12, *(len(str(label)) for label in list(self._labels())[:limit]))
        how = {"wilson": " Wilson", "normal": " normal"}.get(self.method, "")
        lines = [
            f"{format_count(self.n, 'report')}, 95 %{how} intervals",
            f"{'value':>{wide}} {'share':>10} {'low':>10} {'high':>10}",
        ]
        rows = list(zip(self._labels(), self.frequencies, low, high, strict=True))
        for label, *shares in rows[:limit]:
            lines.append(
                f"{label!s:>{wide}} " + " ".join(f"{format_percent(share, 2):>10}" for share in shares)
            )
        if self.k > limit:
            lines.append(f"{'...':>{wide}} and {self.k - limit} more; frame() has them all")
        return "\n".join(lines)


@final
@dataclass(frozen=True)
class MeanEstimate(Printed):
    """What n reports say about the mean of a number, and how far off that may be."""

    n: int
    mean: float
    stderr: float
    """The standard error, the people being a sample of those the study is about."""
    ends: Callable[[float], tuple[float, float]] | None = field(default=None, repr=False, compare=False)
    """Both ends, from -1 to 1, each missed with this probability; None where only the error is known."""
    line: tuple[float, float] = field(default=(-1.0, 1.0), repr=False)
    """What -1 and 1 stand for."""

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Where the true mean is, with this confidence, of the population that people are a sample of.

        With one bit a report it is exact. Otherwise it holds the means that are near enough by their own
        errors; where nothing is known of these, a mean of many reports is normal.
        """
        tail = (1 - number("a confidence level", level, 0.0, 1.0)) / 2
        if self.ends is not None:
            low, high = (_along(end, self.line) for end in self.ends(tail))
            return low, high
        reach = intervals.reach_of(tail) * self.stderr
        return self.mean - reach, self.mean + reach

    def __str__(self) -> str:
        mean, low, high = (format_digits(end, 6) for end in (self.mean, *self.interval()))
        return f"mean {mean}, from {low} to {high} with 95 % confidence ({format_count(self.n, 'report')})"

    def plot(self, level: float = 0.95) -> Figure:
        """A figure of matplotlib: the mean with its interval, on the line from the lowest number to the
        highest.
        """
        from deniable.plot.charts import plot_mean

        title = f"{format_count(self.n, 'report')}: estimated mean with its {100 * level:g} % interval"
        return plot_mean(self.mean, self.interval(level), self.line, title)

    def between(self, low: float, high: float) -> MeanEstimate:
        """Moves the estimate to numbers from low to high, where these are from -1 to 1."""
        line = _along(self.line[0], (low, high)), _along(self.line[1], (low, high))
        return MeanEstimate(
            self.n, _along(self.mean, (low, high)), self.stderr * (high - low) / 2, self.ends, line
        )


def _along(position: float, line: tuple[float, float]) -> float:
    """Map a position from -1 to 1 to another line."""
    low, high = line
    return low + (position + 1) * (high - low) / 2
