"""Forecasts the next counts of series by ridge regression on lags and a public calendar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats
from deniable.errors import InvalidParameter
from deniable.exact import number, whole_number
from deniable.law import finite

LAGS = (1, 2, 3, 4, 5, 6, 47, 48, 49, 335, 336, 337)
"""The last three hours of half hours, and the same time a day and a week before."""
PENALTY = 1e-3
"""The penalty of a row, on columns that are scaled to one."""

_MINUTES = 24 * 60


class ForecastScore(NamedTuple):
    """Errors of forecasts: of each series over time, and then the mean over the series."""

    rmse: float
    mae: float


@final
@dataclass(frozen=True, eq=False, repr=False)
class RidgeForecast:
    """A linear forecast of all series from all series: lags of counts, and columns that everybody knows.

    It is fitted to counts that may be noisy. What it learns from them has their guarantee.

    >>> import numpy as np
    >>> day = 100 + 50 * np.sin(2 * np.pi * np.arange(480) / 48)
    >>> model = RidgeForecast.fit(day[:400], lags=(1, 2, 48), penalty=1e-6)
    >>> score_forecast(day[400:], model.predict(day, start=400)).rmse < 0.1
    True
    """

    lags: tuple[int, ...]
    center: Floats
    scale: Floats
    offset: Floats
    weights: Floats

    def __repr__(self) -> str:
        return f"<RidgeForecast: {self.offset.size} series from {self.center.size} columns>"

    @classmethod
    def fit(
        cls,
        counts: npt.ArrayLike,
        calendar: npt.ArrayLike | None = None,
        *,
        lags: Sequence[int] = LAGS,
        penalty: float = PENALTY,
    ) -> RidgeForecast:
        """Fit to counts, a row for each time point; `calendar` has a row of known columns for each."""
        table = _read_table(counts, "counts")
        steps = tuple(whole_number("a lag", lag, 1) for lag in lags)
        if not steps:
            raise InvalidParameter("name at least one lag, such as lags=(1, 2, 48)")
        price = number("penalty", penalty, 0.0, np.inf, "a positive number")
        if len(table) < max(steps) + 2:
            raise InvalidParameter(
                f"a lag of {max(steps)} needs more than {max(steps) + 1} time points, got {len(table):,}; "
                "give more of them, or shorter lags"
            )
        columns = stack_lags(table, steps, calendar, len(table))[max(steps) :]
        targets = table[max(steps) :]
        center = columns.mean(axis=0)
        scale = columns.std(axis=0)
        scale[scale == 0] = 1.0
        offset = targets.mean(axis=0)
        scaled = (columns - center) / scale
        inner = scaled.T @ scaled + price * len(scaled) * np.eye(scaled.shape[1])
        weights = np.linalg.solve(inner, scaled.T @ (targets - offset))
        return cls(steps, center, scale, offset, weights)

    def predict(
        self,
        counts: npt.ArrayLike,
        calendar: npt.ArrayLike | None = None,
        *,
        start: int,
        stop: int | None = None,
    ) -> Floats:
        """Forecast the rows from `start` to before `stop`, each from the rows before it.

        Without `stop` these are all rows that are there. Rows after the last count are forecast from
        forecasts, as far as the calendar goes; `start=len(counts)` without `stop` is the next row alone.
        """
        given = np.asarray(counts)
        table = _read_table(counts, "counts")
        known = len(table) + (start == len(table))
        end = whole_number("stop", known if stop is None else stop, 1)
        first = whole_number("start", start, max(self.lags), end - 1)
        while len(table) + 1 < end:
            table = np.vstack([table, self._predict(table, calendar, len(table), len(table) + 1)])
        found = self._predict(table, calendar, first, end)
        return np.asarray(found[:, 0] if given.ndim == 1 else found)

    def _predict(self, table: Floats, calendar: npt.ArrayLike | None, first: int, end: int) -> Floats:
        columns = stack_lags(table, self.lags, calendar, end)[first:]
        if columns.shape[1] != self.center.size:
            raise InvalidParameter(
                f"the forecast was fitted to {self.center.size} columns, and these are {columns.shape[1]}; "
                "give the same series and the same calendar"
            )
        return np.asarray((columns - self.center) / self.scale @ self.weights + self.offset)


def stack_lags(
    table: Floats, lags: Sequence[int], calendar: npt.ArrayLike | None = None, rows: int | None = None
) -> Floats:
    """All series at each lag, and the calendar; a lag that reaches before the first row has no number."""
    size = len(table) if rows is None else rows
    stacked = np.full((size, len(lags) * table.shape[1]), np.nan)
    for place, lag in enumerate(lags):
        known = table[: size - lag]
        stacked[lag : lag + len(known), place * table.shape[1] :][:, : table.shape[1]] = known
    if calendar is None:
        return stacked
    beside = _read_table(calendar, "the calendar")
    if len(beside) < size:
        raise InvalidParameter(f"the calendar has {len(beside):,} rows for {size:,} time points")
    return np.hstack([stacked, beside[:size]])


def calendar_columns(times: npt.ArrayLike, per_day: int = 48) -> Floats:
    """A column for each time of a working day, and for each of a weekend; one of them is 1 in a row.

    >>> columns = calendar_columns(["2020-08-24T00:30", "2020-08-29T23:30"])
    >>> columns.shape, columns.argmax(axis=1).tolist()
    ((2, 96), [1, 95])
    """
    parts = whole_number("per_day", per_day, 1, _MINUTES)
    minutes = np.asarray(times, dtype="datetime64[m]")
    days = minutes.astype("datetime64[D]")
    part = (minutes - days).astype(np.int64) * parts // _MINUTES
    weekday = (days.astype(np.int64) + 3) % 7  # 1970 began on a Thursday
    return np.asarray(np.eye(2 * parts)[part + parts * (weekday >= 5)])


def score_forecast(truth: npt.ArrayLike, forecast: npt.ArrayLike) -> ForecastScore:
    """The errors of forecasts of one series, or of several.

    >>> score_forecast([[1, 2], [3, 4]], [[1, 2], [3, 6]])
    ForecastScore(rmse=0.7071067811865476, mae=0.5)
    """
    wrong = _read_table(truth, "the truth") - _read_table(forecast, "the forecast")
    return ForecastScore(float(np.sqrt((wrong**2).mean(axis=0)).mean()), float(np.abs(wrong).mean()))


def _read_table(numbers: npt.ArrayLike, name: str) -> Floats:
    """Numbers as a table: a row for each time point."""
    table = finite(numbers, f"{name} must be finite numbers")
    if table.ndim not in (1, 2) or not table.size:
        raise InvalidParameter(f"{name} must have a row for each time point, got the shape {table.shape}")
    return table[:, None] if table.ndim == 1 else table
