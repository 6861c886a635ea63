"""Counts records by region and period from their reports, and forecasts demand from debiased counts.

A record is reported once: its region is sanitized, its period (a day, an hour) is exact. So are the totals.
Debiasing is linear, so that sums and means of counts are unbiased, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Array, Floats, Integers
from deniable.errors import InvalidParameter, InvalidValue
from deniable.exact import whole_number
from deniable.formatting import format_count
from deniable.mechanisms import SetMechanism

LAGS = (1, 2, 3, 7, 14)
WINDOWS = (7, 28, 182, 364)
_YEAR = 365.25


@final
@dataclass(frozen=True, eq=False)
class PeriodCounts:
    """Debiased counts of every region in every period, with their errors.

    >>> from deniable.mechanisms import oue
    >>> support = np.array([[40, 30, 20], [0, 0, 0]])
    >>> found = PeriodCounts(oue(3, 2.0), totals=np.array([100, 0]), support=support)
    >>> found.counts.round(1).tolist()
    [[73.7, 47.5, 21.2], [0.0, 0.0, 0.0]]
    >>> found.stderr.round(1).tolist()
    [[12.1, 10.9, 9.7], [0.0, 0.0, 0.0]]
    """

    mechanism: SetMechanism
    totals: Integers
    """The number of reports in each period, which is exact."""
    support: Integers
    """How many reports of each period support each region."""

    def __post_init__(self) -> None:
        expected = len(self.totals), self.mechanism.k
        if np.shape(self.support) != expected:
            raise InvalidParameter(
                f"support has a row per period and a column per region, {expected}, got "
                f"{np.shape(self.support)}"
            )

    def __repr__(self) -> str:
        return f"<PeriodCounts: {len(self.totals):,} periods, {self.mechanism.k:,} regions>"

    @cached_property
    def counts(self) -> Floats:
        """The unbiased estimate of each count; it may be negative."""
        law = self.mechanism.law
        return np.asarray((self.support - self.totals[:, None] * law.q) / law.gain)

    @cached_property
    def stderr(self) -> Floats:
        """The standard error of each count, for the records that were reported."""
        totals = self.totals[:, None].astype(np.float64)
        shares = np.clip(self.counts / np.maximum(totals, 1), 0.0, 1.0)
        return np.asarray(np.sqrt(totals * self.mechanism.law.variance(1, shares, "fixed")))

    @property
    def noise_floor(self) -> float:
        """The standard error of an empty region's count in a period of average size."""
        return float(np.sqrt(self.totals.mean() * self.mechanism.law.variance(1)))

    def loss(self) -> float:
        """What one record loses of its region; a person with m records loses m times as much."""
        return self.mechanism.loss()


def count_periods(
    mechanism: SetMechanism, reports: Array, periods: npt.ArrayLike, length: int | None = None
) -> PeriodCounts:
    """Counts reports by period: `periods` are 0, 1, … for each report, `length` is how many there are.

    >>> import deniable as dn
    >>> regions = np.array([0] * 300 + [1] * 100 + [2] * 600)
    >>> days = np.arange(1000) % 2
    >>> m = dn.oue(k=3, epsilon=4.0)
    >>> found = count_periods(m, m.privatize(regions, dn.seeded(1)), days)
    >>> found.totals.tolist(), found.counts.round().tolist()
    ([500, 500], [[164.0, 50.0, 322.0], [135.0, 35.0, 301.0]])
    """
    when = np.asarray(periods)
    if when.ndim != 1 or len(when) != len(reports) or when.dtype.kind not in "iu":
        raise InvalidValue(f"periods are one whole number for each of {len(reports):,} reports")
    if when.size and when.min() < 0:
        raise InvalidValue(f"periods are numbered from 0, got {when.min()}")
    when = when.astype(np.int64)
    found = int(when.max()) + 1 if when.size else 0
    if length is None and not found:
        raise InvalidParameter("there are no reports: give length, the number of periods")
    total = found if length is None else whole_number("length", length, max(found, 1))
    order = np.argsort(when, kind="stable")
    ends = np.cumsum(np.bincount(when, minlength=total))[:-1]
    parts = np.split(reports[order], ends)
    tallies = [mechanism.tally(part) for part in parts]
    totals = np.array([tally.n for tally in tallies], dtype=np.int64)
    return PeriodCounts(mechanism, totals, np.array([tally.counts for tally in tallies], dtype=np.int64))


@final
@dataclass(frozen=True, eq=False)
class DemandFeatures:
    """What is known of a region before a period, a row for each region and period with enough history."""

    names: tuple[str, ...]
    table: Floats
    periods: Integers
    """The period that each row is about."""
    regions: Integers
    targets: Floats
    """The debiased count of that region in that period."""

    def __repr__(self) -> str:
        return f"<DemandFeatures: {len(self.table):,} rows, {format_count(len(self.names), 'feature')}>"


def demand_features(
    counts: npt.ArrayLike,
    lags: tuple[int, ...] = LAGS,
    windows: tuple[int, ...] = WINDOWS,
    season: int = 7,
    cycles: int = 8,
    year: float = _YEAR,
) -> DemandFeatures:
    """Makes features of earlier counts only: lags, means of windows and of equal weekdays, the calendar.

    `counts` has a row per period. The means take most of the noise out: the mean of w debiased counts errs
    sqrt(w) times less than one.

    >>> rows = demand_features(np.arange(60.0).reshape(30, 2), lags=(1,), windows=(7,), cycles=2)
    >>> rows.names
    ('lag 1', 'mean of 7', 'mean of 2 equal', 'season', 'year sin', 'year cos', 'region')
    >>> rows.table[0, :4].tolist(), float(rows.targets[0]), int(rows.periods[0])
    ([26.0, 20.0, 7.0, 0.0], 28.0, 14)
    """
    values = _checked_counts(counts)
    length, regions = values.shape
    first = max(*lags, *windows, season * cycles)
    if first >= length:
        raise InvalidParameter(
            f"features need {first} earlier periods, and there are {length} in all; use shorter windows"
        )
    when = np.arange(first, length)
    sums = np.concatenate([np.zeros((1, regions)), np.cumsum(values, axis=0)])
    named = {f"lag {lag}": values[when - lag] for lag in lags}
    named |= {f"mean of {window}": (sums[when] - sums[when - window]) / window for window in windows}
    equal = np.mean([values[when - season * cycle] for cycle in range(1, cycles + 1)], axis=0)
    named[f"mean of {cycles} equal"] = equal
    angle = 2 * np.pi * when / year
    for name, column in (("season", when % season), ("year sin", np.sin(angle)), ("year cos", np.cos(angle))):
        named[name] = np.broadcast_to(column[:, None], equal.shape)
    named["region"] = np.broadcast_to(np.arange(regions), equal.shape)
    table = np.column_stack([np.ravel(column) for column in named.values()]).astype(np.float64)
    where = np.tile(np.arange(regions), len(when))
    return DemandFeatures(tuple(named), table, np.repeat(when, regions), where, values[first:].ravel())


def forecast_seasonal_mean(counts: npt.ArrayLike, season: int = 7, cycles: int = 52) -> Floats:
    """Forecasts every period by the mean of up to `cycles` earlier ones that are whole seasons before it.

    A period without an earlier one is nan. No count is negative, so a forecast below 0 becomes 0.

    >>> forecast_seasonal_mean([1, 2, 3, 4, 5, 6], season=2, cycles=2).tolist()
    [nan, nan, 1.0, 2.0, 2.0, 3.0]
    """
    values = np.asarray(counts, dtype=np.float64)
    whole_number("season", season, 1)
    whole_number("cycles", cycles, 1)
    sums = np.zeros_like(values)
    number = np.zeros(len(values))
    for cycle in range(1, cycles + 1):
        back = season * cycle
        if back >= len(values):
            break
        sums[back:] += values[:-back]
        number[back:] += 1
    with np.errstate(invalid="ignore"):
        return np.maximum((sums.T / number).T, 0.0)


def forecast_total_by_share(
    counts: npt.ArrayLike, totals: npt.ArrayLike, total_forecast: npt.ArrayLike | None = None
) -> Floats:
    """Forecasts the exact total and divides it by the shares of the regions in all earlier periods.

    All history takes nearly all noise out of a share; the total has none. The total is forecast by the mean
    of 8 equal weekdays unless a forecast of it is given. Choose it where shares change slowly. A forecast
    below 0 becomes 0.

    >>> counts = np.array([[1.0, 3.0], [2.0, 2.0], [1.0, 3.0]])
    >>> forecast_total_by_share(counts, [4, 4, 4], total_forecast=[4, 4, 8])[2].tolist()
    [3.0, 5.0]
    """
    values = _checked_counts(counts)
    known = np.asarray(totals, dtype=np.float64)
    if known.shape != (len(values),):
        raise InvalidParameter(
            f"totals are one number for each of {len(values)} periods, got shape {known.shape}"
        )
    ahead = forecast_seasonal_mean(known, cycles=8) if total_forecast is None else np.asarray(total_forecast)
    before = np.cumsum(values, axis=0) - values
    people = np.cumsum(known) - known
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.maximum(before / people[:, None] * ahead[:, None], 0.0)


def _checked_counts(counts: npt.ArrayLike) -> Floats:
    values = np.asarray(counts, dtype=np.float64)
    if values.ndim != 2 or not values.size or not np.isfinite(values).all():
        raise InvalidParameter(
            f"counts are a table of numbers, a row per period and a column per region, got {values.shape}"
        )
    return values
