"""Fits each model of the study of forecasting once: to true or noisy counts, scored against true ones."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Literal, NamedTuple, final

import numpy as np

from deniable.arrays import Floats
from deniable.randomness.simulated import seeded
from deniable_papers.data.series import CountSeries, load_paris
from deniable_papers.learn.forecast import (
    LAGS,
    ForecastScore,
    RidgeForecast,
    calendar_columns,
    score_forecast,
    stack_lags,
)
from deniable_papers.learn.gradients import GradientNoise
from deniable_papers.noise import DELTA, DiscreteGaussian

Calendar = Literal["dates", "rows"]
"""Where the weekday comes from: the date, or the number of the row. A missing day moves the latter by one."""

TEST = 336
"""The last rows, a week, are forecast."""
APPEARANCES = 2
"""A person in a zone is also in its commune."""
EPOCHS = 30
"""How often a network sees every window."""

_ONE_THREAD = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
_SCALE = ([1e5, *[1e4] * 5], [2e4, *[4e3] * 5], [2e4, *[4e3] * 5])
"""Round numbers that are known without the data, of a commune and of a zone: level, spread and change. As
specified, changes are in the units of the counts.
"""
_OWN_CHANGE = [5e3, *[1e3] * 5]
"""A change in half an hour, in round numbers: in these units noise on gradients does less harm."""
_DAY, _WEEK = 48, 336
_RECENT = (1, 2, 3, 4, 5, 6)


@final
@dataclass(frozen=True)
class ForecastTask:
    """One fit: a model, the noise of its counts, and the seed of both."""

    model: str
    calendar: Calendar = "dates"
    sigma: Fraction | None = None
    penalty: float = 1e-4
    gradient: GradientNoise | None = None
    batch: int = 32
    own_units: bool = False
    """Whether a network learns changes in units of their own."""
    seed: int = 1


class Outcome(NamedTuple):
    """The errors of a fit, how long it took, and the epsilon of a window where gradients are noisy."""

    score: ForecastScore
    seconds: float
    epsilon: float | None = None


@final
@dataclass(frozen=True, eq=False)
class Known:
    """What a model has: counts, perhaps noisy, and the public calendar."""

    series: CountSeries
    counts: Floats
    calendar: Calendar

    @property
    def start(self) -> int:
        """The first row that is forecast."""
        return len(self.counts) - TEST

    @property
    def slots(self) -> Floats:
        """The half hour of each row, the weekday of each row."""
        rows = np.arange(len(self.counts))
        if self.calendar == "rows":
            return np.column_stack([rows % _DAY, rows // _DAY % 7]).astype(float)
        days = self.series.times.astype("datetime64[D]")
        minutes = (self.series.times - days).astype(np.int64)
        return np.column_stack([minutes // 30, (days.astype(np.int64) + 3) % 7]).astype(float)


def forecast_task(task: ForecastTask) -> Outcome:
    """Fit a model, and score its forecasts of the test week against the true counts."""
    series = _load()
    counts = series.counts.astype(float)
    if task.sigma is not None:
        noise = _table(task.sigma)
        counts += noise.draw(counts.size, seeded(task.seed)).reshape(counts.shape)
    known = Known(series, counts, task.calendar)
    began = time.perf_counter()
    forecast = MODELS[task.model](known, task)
    taken = time.perf_counter() - began
    rows = known.start - max(_RECENT)
    epsilon = None
    if task.gradient is not None:
        epsilon = task.gradient.window_epsilon(rows, task.batch, count_steps(rows, task.batch), DELTA)
    return Outcome(score_forecast(series.counts[known.start :], forecast), taken, epsilon)


def count_steps(rows: int, batch: int) -> int:
    """How often a network is moved."""
    return EPOCHS * (rows // batch)


@cache
def _load() -> CountSeries:
    return load_paris()


@cache
def _table(sigma: Fraction) -> DiscreteGaussian:
    return DiscreteGaussian.of(sigma)


def _persist(known: Known, _task: ForecastTask) -> Floats:
    return known.counts[known.start - 1 : -1]


def _repeat_week(known: Known, _task: ForecastTask) -> Floats:
    return known.counts[known.start - _WEEK : -_WEEK]


def _average_weekday(known: Known, _task: ForecastTask) -> Floats:
    """The mean of the same half hour of the same weekday."""
    cells = (known.slots[:, 0] + _DAY * known.slots[:, 1]).astype(np.int64)
    weights = np.eye(7 * _DAY)[cells]
    past = weights[: known.start]
    means = past.T @ known.counts[: known.start] / past.sum(axis=0)[:, None]
    return np.asarray(weights[known.start :] @ means)


def _ridge(known: Known, task: ForecastTask, lags: tuple[int, ...], columns: Floats | None) -> Floats:
    past = None if columns is None else columns[: known.start]
    model = RidgeForecast.fit(known.counts[: known.start], past, lags=lags, penalty=task.penalty)
    return model.predict(known.counts, columns, start=known.start)


def _ridge_recent(known: Known, task: ForecastTask) -> Floats:
    return _ridge(known, task, _RECENT, None)


def _ridge_waves(known: Known, task: ForecastTask) -> Floats:
    """Sines and cosines of a day and of a week, by the number of the row."""
    angles = 2 * np.pi * np.arange(len(known.counts))[:, None] * np.arange(1, 4)
    waves = [wave(angles / period) for period in (_DAY, _WEEK) for wave in (np.sin, np.cos)]
    return _ridge(known, task, (*_RECENT, 48, 336, 337), np.hstack(waves))


def _ridge_best(known: Known, task: ForecastTask) -> Floats:
    if known.calendar == "dates":
        return _ridge(known, task, LAGS, calendar_columns(known.series.times))
    slot, weekday = known.slots.astype(np.int64).T
    return _ridge(known, task, LAGS, np.eye(2 * _DAY)[slot + _DAY * (weekday >= 5)])


def _boost_trees(known: Known, task: ForecastTask) -> Floats:
    """The change of each series by LightGBM, one thread: threads that wait for each other spin."""
    import lightgbm

    columns = np.hstack([stack_lags(known.counts, _RECENT), known.slots])
    change = np.diff(known.counts, axis=0, prepend=np.nan)
    past = slice(max(_RECENT), known.start)
    forecast = known.counts[known.start - 1 : -1].copy()
    for one in range(change.shape[1]):
        trees = lightgbm.LGBMRegressor(
            n_estimators=200,
            learning_rate=0.05,
            num_leaves=15,
            n_jobs=1,
            force_row_wise=True,
            verbose=-1,
            random_state=task.seed,
        )
        trees.fit(columns[past], change[past, one])
        forecast[:, one] += trees.predict(columns[known.start :])
    return forecast


def _train_network(known: Known, task: ForecastTask) -> Floats:
    """One thread, as with trees; the scale is read from the data only where nothing is promised."""
    if "jax" not in sys.modules:
        os.environ.setdefault("XLA_FLAGS", _ONE_THREAD)
    from deniable_papers.learn.deep import NetworkForecast, SeriesScale

    level, spread, change = _SCALE
    public = SeriesScale.of(level, spread, _OWN_CHANGE if task.own_units else change)
    model = NetworkForecast.fit(
        known.counts[: known.start],
        scale=None if task.gradient is None else public,
        lags=max(_RECENT),
        batch=task.batch,
        epochs=EPOCHS,
        noise=task.gradient,
        words=seeded(task.seed),
    )
    return model.predict(known.counts, start=known.start)


MODELS: dict[str, Callable[[Known, ForecastTask], Floats]] = {
    "persistence": _persist,
    "a week before": _repeat_week,
    "weekday mean": _average_weekday,
    "ridge, 6 lags": _ridge_recent,
    "ridge, waves": _ridge_waves,
    "ridge": _ridge_best,
    "LightGBM": _boost_trees,
    "network": _train_network,
}
"""Every model, by the name that a row has."""
