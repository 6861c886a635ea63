"""Forecasts mobile phones in Montreuil from noisy counts, and says whom the noise protects.

The specification took the weekday from the number of a row. One day is missing from the data, so that its
weekend is a day off from then on. Its numbers are compared with that calendar ("rows"); ours has dates.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from typing import Literal, final

from deniable.exact import positive_epsilon
from deniable_papers.learn.gradients import GradientNoise
from deniable_papers.noise import DELTA, DiscreteGaussian
from deniable_papers.studies.applications.forecasting_guarantee import PERSON, PUBLISHED
from deniable_papers.studies.applications.forecasting_models import (
    Calendar,
    ForecastTask,
    Outcome,
    forecast_task,
)
from deniable_papers.studies.applications.processes import run_tasks
from deniable_papers.studies.sweep import Progress, checked_methods

RUNS = 5
QUICK_RUNS = 2
EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Of a person over 72 days."""
QUICK_EPSILONS = (0.25, 1.0, 8.0)

_RIDGE_STATED = {0.25: 1414.0, 0.5: 1274.0, 1.0: 1219.0, 2.0: 1201.0, 4.0: 1195.0, 8.0: 1194.0}
_PUBLISHED_STATED = {160.1: 1198.0, 88.0: 1195.0}
_NOISY_PENALTY = 1e-3
_TREE_RUNS = 3
_GRADIENTS = {
    (1.0, 32, 0.5): (1352.0, 0.0),
    (1.0, 256, 1.5): (1310.0, 0.0),
    (4.0, 256, 0.5): (1355.0, 0.0),
    (35.0, 32, 0.5): (1792.0, 0.0),
    (140.0, 32, 0.5): (2673.5, 473.5),
}
"""Multiplier, batch and clip of noisy gradients; then the stated error of one seed, and half of a stated
range: at 140 it is 2200 to 3147. Five percent may differ, and two standard errors of our own runs.
"""
_GRADIENT_TOLERANCE = 0.05
_GRADIENT_RUNS = 4
_OWN_UNITS = ((35.0, 32, 0.5), (140.0, 32, 0.5))
"""What is also measured with changes in units of their own."""


@final
@dataclass(frozen=True, kw_only=True)
class ForecastPoint:
    """The error of one model at one noise: the mean over runs, and what the specification states."""

    model: str
    calendar: Calendar
    noise: Literal["none", "input", "gradient"] = "none"
    epsilon: float | None = None
    per: str = ""
    """Whom the epsilon is for."""
    sigma: float | None = None
    rmse: float = 0.0
    rmse_sd: float | None = None
    mae: float = 0.0
    runs: int = 1
    seed: int = 1
    stated: float | None = None
    margin: float | None = None
    """How far from the stated error a right build may be."""
    seconds: float = 0.0
    """The time of one fit."""
    figure: str = "forecasting"
    refused: str | None = None
    differs: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        known = self.stated is not None and self.margin is not None
        apart = known and abs(self.rmse - (self.stated or 0.0)) > (self.margin or 0.0)
        object.__setattr__(self, "differs", bool(apart))


@final
@dataclass(frozen=True)
class _Case:
    point: ForecastPoint
    task: ForecastTask
    runs: int = 1


def _list_baselines(_runs: int, _epsilons: Sequence[float]) -> Iterator[_Case]:
    yield _case("persistence", stated=1503.6, margin=0.05)
    yield _case("a week before")
    yield _case("weekday mean")


def _list_ridges(_runs: int, _epsilons: Sequence[float]) -> Iterator[_Case]:
    yield _case("ridge, 6 lags", stated=1288.7, margin=0.5)
    yield _case("ridge, waves", "rows", stated=1191.0, margin=0.5)
    yield _case("ridge", "rows", stated=1193.9, margin=0.5)
    yield _case("ridge")


def _list_trees(runs: int, _epsilons: Sequence[float]) -> Iterator[_Case]:
    yield _case("LightGBM", "rows", stated=1177.0, margin=11.8)
    yield _case("LightGBM")
    yield _noisy_case("LightGBM", "rows", 1.0, min(runs, _TREE_RUNS), 1256.0)


def _list_noisy(runs: int, epsilons: Sequence[float]) -> Iterator[_Case]:
    for sigma in PUBLISHED.values():
        asked = {"sigma": sigma, "stated": _PUBLISHED_STATED[sigma], "runs": runs}
        loss = DiscreteGaussian.of(sigma).epsilon(DELTA, PERSON)
        yield _noisy_case("ridge", "rows", loss, **asked)  # type: ignore[arg-type]
    calendars: tuple[Calendar, ...] = ("rows", "dates")
    for calendar in calendars:
        for epsilon in epsilons:
            stated = _RIDGE_STATED.get(epsilon) if calendar == "rows" else None
            yield _noisy_case("ridge", calendar, epsilon, runs, stated)
    for epsilon in epsilons:
        yield _noisy_case("persistence", "dates", epsilon, runs)


def _list_networks(_runs: int, _epsilons: Sequence[float]) -> Iterator[_Case]:
    yield _case("network", stated=1261.0, margin=35.0)


def _list_gradients(runs: int, _epsilons: Sequence[float]) -> Iterator[_Case]:
    for case, (stated, reach) in _GRADIENTS.items():
        margin = reach + _GRADIENT_TOLERANCE * stated
        yield _gradient_case(*case, runs=min(runs, _GRADIENT_RUNS), stated=stated, margin=margin)
    for case in _OWN_UNITS:
        yield _gradient_case(*case, runs=min(runs, _GRADIENT_RUNS), own_units=True)


def _gradient_case(
    multiplier: float,
    batch: int,
    clip: float,
    runs: int,
    stated: float | None = None,
    margin: float | None = None,
    own_units: bool = False,
) -> _Case:
    point = ForecastPoint(
        model=f"network, batches of {batch}" + (", changes in own units" if own_units else ""),
        calendar="dates",
        noise="gradient",
        per="window",
        sigma=multiplier,
        stated=stated,
        margin=margin,
    )
    noise = GradientNoise(multiplier, clip)
    return _Case(point, ForecastTask("network", gradient=noise, batch=batch, own_units=own_units), runs)


PARTS: dict[str, Callable[[int, Sequence[float]], Iterator[_Case]]] = {
    "baselines": _list_baselines,
    "ridge": _list_ridges,
    "input": _list_noisy,
    "trees": _list_trees,
    "network": _list_networks,
    "gradients": _list_gradients,
}
"""What is measured: all of it, or only the parts that are named."""
QUICK_PARTS = ("baselines", "ridge", "input")


def _case(
    model: str, calendar: Calendar = "dates", stated: float | None = None, margin: float | None = None
) -> _Case:
    point = ForecastPoint(model=model, calendar=calendar, stated=stated, margin=margin)
    return _Case(point, ForecastTask(model, calendar))


def _noisy_case(
    model: str,
    calendar: Calendar,
    epsilon: float,
    runs: int,
    stated: float | None = None,
    sigma: float | None = None,
) -> _Case:
    """Noise on the input; its sigma is given, or that of the epsilon of a person. Two percent may differ."""
    exact = calibrate_sigma(epsilon) if sigma is None else Fraction(sigma)
    point = ForecastPoint(
        model=model,
        calendar=calendar,
        noise="input",
        epsilon=epsilon,
        per="person",
        sigma=float(exact),
        stated=stated,
        margin=None if stated is None else 0.02 * stated,
    )
    return _Case(point, ForecastTask(model, calendar, exact, _NOISY_PENALTY), runs)


@cache
def calibrate_sigma(epsilon: float) -> Fraction:
    """The sigma of a person who is in two counts over all half hours."""
    return DiscreteGaussian.calibrate(epsilon, DELTA, PERSON).sigma


def reproduce(
    parts: Iterable[str] | None = None,
    runs: int = RUNS,
    seed: int = 1,
    progress: Progress | None = None,
    epsilons: Sequence[float] = EPSILONS,
    processes: int | None = None,
) -> Iterator[ForecastPoint]:
    """A row for each model and noise, as they are done; noisy ones are the means over runs."""
    names = checked_methods(parts, PARTS, runs, seed, "a part")
    budgets = [positive_epsilon(epsilon) for epsilon in epsilons]
    cases = [case for name in names for case in PARTS[name](runs, budgets)]
    tasks = [replace(case.task, seed=1000 * seed + run) for case in cases for run in range(case.runs)]
    if set(names) <= set(QUICK_PARTS):
        processes = 1  # to start another takes longer than a ridge
    outcomes = run_tasks(forecast_task, tasks, progress, processes)
    for case in cases:
        yield _summarize(case, [next(outcomes) for _ in range(case.runs)], seed)


def _summarize(case: _Case, outcomes: Sequence[Outcome], seed: int) -> ForecastPoint:
    errors = [outcome.score.rmse for outcome in outcomes]
    spread = statistics.stdev(errors) if len(errors) > 1 else None
    return replace(
        case.point,
        rmse=statistics.fmean(errors),
        rmse_sd=spread,
        margin=widen_margin(case.point, spread, len(errors)),
        mae=statistics.fmean(outcome.score.mae for outcome in outcomes),
        epsilon=case.point.epsilon if outcomes[0].epsilon is None else outcomes[0].epsilon,
        seconds=statistics.fmean(outcome.seconds for outcome in outcomes),
        runs=len(errors),
        seed=seed,
    )


def widen_margin(point: ForecastPoint, spread: float | None, runs: int) -> float | None:
    """The margin of a row; that of noisy gradients has two standard errors of our own runs more."""
    if point.margin is None or spread is None or point.noise != "gradient":
        return point.margin
    return point.margin + 2 * spread / math.sqrt(runs)
