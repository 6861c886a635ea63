"""Forecasts demand by region from sanitized regions, beside baselines and the exact counts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, final

import numpy as np

from deniable.arrays import Floats, Integers
from deniable.exact import positive_epsilon
from deniable.mechanisms import PROTOCOLS, SetMechanism
from deniable.randomness.simulated import numbers_from
from deniable_papers.learn.demand import (
    PeriodCounts,
    demand_features,
    forecast_seasonal_mean,
    forecast_total_by_share,
)
from deniable_papers.simulate.drawn import draw_tally
from deniable_papers.studies.applications.demand_data import Demand, count_montgomery, simulate_demand
from deniable_papers.studies.applications.demand_stated import state_mae
from deniable_papers.studies.applications.guarantee import Guarantee
from deniable_papers.studies.applications.processes import run_tasks
from deniable_papers.studies.stated import is_apart
from deniable_papers.studies.sweep import Progress, checked_methods

RUNS = 4
QUICK_RUNS = 1
EPSILONS = (0.5, 1.0, 2.0, 4.0, 6.0)
QUICK_EPSILONS = (0.5, 1.0, 2.0)
PROTOCOL_NAMES = ("oue", "grr", "sue")
DATASETS = ("synthetic", "montgomery")
MODELS = ("LightGBM", "XGBoost", "last week", "weekday mean", "total x share")
_TREES: dict[str, Any] = {
    "n_estimators": 150,
    "learning_rate": 0.05,
    "num_leaves": 15,
    "min_child_samples": 100,
    "n_jobs": 1,
    "force_row_wise": True,
    "verbose": -1,
}

_XGBOOST: dict[str, Any] = {
    "n_estimators": 150,
    "learning_rate": 0.05,
    "max_depth": 4,
    "min_child_weight": 100,
    "n_jobs": 1,
}

GUARANTEE = Guarantee(
    published="epsilon for the region of a record",
    true="epsilon for the region of one record; m records of a person lose m epsilon",
    unit="record",
    unprotected=(
        "the time of a record, which is exact",
        "the number of records in each period, which is exact",
        "that a person has records at all",
    ),
)


@final
@dataclass(frozen=True, kw_only=True)
class DemandPoint:
    """How far one model's forecasts are from the true counts."""

    figure: str = "demand"
    dataset: str
    """Which counts these are; the name says whether calls are a simulated stand-in."""
    model: str
    protocol: str
    """How regions are reported: "none" for exact counts."""
    epsilon: float | None
    mae: float
    """The mean absolute error, in records per period and region."""
    mae_sd: float
    """Its standard deviation over runs of the noise; 0 for one run."""
    rmse: float
    r2: float
    noise_floor: float
    """The standard error of a debiased count in one period."""
    runs: int
    seed: int
    stated: float | None = None
    """What the specification has for the mean absolute error."""
    margin: float | None = None
    refused: str | None = None
    differs: bool = field(init=False)
    """Whether the two differ by more than the margin."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "differs", is_apart(self.mae, self.stated, self.margin))


@final
@dataclass(frozen=True)
class _Task:
    dataset: str
    protocol: str
    epsilon: float | None
    run: int
    seed: int


_Scores = dict[str, tuple[float, float, float]]
"""Each model's mean absolute error, root of the mean squared error, and R^2."""


def reproduce(
    datasets: Iterable[str] | None = None,
    protocols: Iterable[str] | None = None,
    epsilons: Sequence[float] = EPSILONS,
    runs: int = RUNS,
    seed: int = 1,
    progress: Progress | None = None,
    processes: int | None = None,
) -> Iterator[DemandPoint]:
    """A row for each dataset, protocol, epsilon and model; exact counts come first."""
    names = checked_methods(datasets, DATASETS, runs, seed, "a dataset")
    reported = checked_methods(protocols, PROTOCOL_NAMES, runs, seed, "a protocol")
    budgets = [positive_epsilon(one) for one in epsilons]
    tasks = []
    for name in names:
        tasks.append(_Task(name, "none", None, 0, seed))
        wanted = reported if name == "synthetic" else reported[:1]
        for protocol in wanted:
            tasks += [_Task(name, protocol, one, run, seed) for one in budgets for run in range(runs)]
    waiting: list[_Scores] = []
    for task, scores in zip(tasks, run_tasks(measure_forecasts, tasks, progress, processes), strict=True):
        waiting.append(scores)
        if task.epsilon is None or task.run == runs - 1:
            yield from _summarize(task, waiting)
            waiting = []


def _summarize(task: _Task, found: Sequence[_Scores]) -> Iterator[DemandPoint]:
    people = load_demand(task.dataset, task.seed)
    floor = 0.0
    if task.epsilon is not None:
        noise = _make(task, people).law.variance(1)
        floor = math.sqrt(people.totals.mean() * float(noise))
    for model in found[0]:
        maes = np.array([scores[model][0] for scores in found])
        spread = float(maes.std(ddof=1)) if len(maes) > 1 else 0.0
        yield DemandPoint(
            dataset=people.name,
            model=model,
            protocol=task.protocol,
            epsilon=task.epsilon,
            mae=float(maes.mean()),
            mae_sd=spread,
            rmse=float(np.mean([scores[model][1] for scores in found])),
            r2=float(np.mean([scores[model][2] for scores in found])),
            noise_floor=floor,
            runs=len(found),
            seed=task.seed,
            **state_mae(people.name, model, task.protocol, task.epsilon, len(found)),
        )


@lru_cache(maxsize=4)
def load_demand(dataset: str, seed: int) -> Demand:
    """The true counts of a dataset; those of simulated days come from the seed."""
    return simulate_demand(seed) if dataset == "synthetic" else count_montgomery()


def measure_forecasts(task: _Task) -> _Scores:
    """What every model's forecasts are worth, from one sanitized history."""
    people = load_demand(task.dataset, task.seed)
    counts = people.counts.astype(np.float64)
    if task.epsilon is not None:
        labels = ("noise", task.dataset, task.protocol, task.epsilon, task.run)
        counts = sanitize_counts(people, _make(task, people), numbers_from(task.seed, *labels)).counts
    forecasts = _forecast_days(people, counts) if people.season == 7 else _forecast_hours(people, counts)
    if task.epsilon is None and people.means is not None:
        forecasts["oracle"] = people.means[-people.test :]
    return {model: _score(found, people) for model, found in forecasts.items()}


def sanitize_counts(people: Demand, mechanism: SetMechanism, generator: np.random.Generator) -> PeriodCounts:
    """What reports of all records would be counted as; tallies have the law of counted reports."""
    tallies = [draw_tally(mechanism, row, generator) for row in people.counts]
    return PeriodCounts(mechanism, people.totals, np.array([tally.counts for tally in tallies]))


def _make(task: _Task, people: Demand) -> SetMechanism:
    assert task.epsilon is not None
    mechanism = PROTOCOLS[task.protocol].make(people.counts.shape[1], task.epsilon)
    assert isinstance(mechanism, SetMechanism)
    return mechanism


def _forecast_days(people: Demand, counts: Floats) -> dict[str, Floats]:
    """A day ahead, every day of the last year."""
    last = slice(-people.test, None)
    return {
        **_learn_trees(people, counts),
        "last week": forecast_seasonal_mean(counts, 7, 1)[last],
        "weekday mean": forecast_seasonal_mean(counts, 7, 52)[last],
        "total x share": forecast_total_by_share(counts, people.totals)[last],
    }


def _forecast_hours(people: Demand, counts: Floats) -> dict[str, Floats]:
    """The last days by the profile of a day, from all days before them: of the exact total, or of each."""
    hours = np.arange(len(counts)) % people.season
    before = slice(None, -people.test)
    totals = people.totals.astype(np.float64)
    shares = counts[before].sum(axis=0) / totals[before].sum()
    ahead = hours[-people.test :]
    return {
        "total x share": _average_hours(totals[before], hours[before])[ahead][:, None] * shares,
        "profile of each": _average_hours(counts[before], hours[before])[ahead],
    }


def _average_hours(values: Floats, hours: Integers) -> Floats:
    return np.array([values[hours == hour].mean(axis=0) for hour in range(int(hours.max()) + 1)])


def _learn_trees(people: Demand, counts: Floats) -> dict[str, Floats]:
    """Forecasts of two kinds of boosted trees, with the same columns."""
    import lightgbm
    import xgboost

    rows = demand_features(counts)
    is_test = rows.periods >= len(counts) - people.test
    categories = [rows.names.index("season"), rows.names.index("region")]
    known, targets, asked = rows.table[~is_test], rows.targets[~is_test], rows.table[is_test]
    light = lightgbm.LGBMRegressor(random_state=0, **_TREES)
    light.fit(known, targets, categorical_feature=categories)
    extreme = xgboost.XGBRegressor(random_state=0, **_XGBOOST)
    extreme.fit(known, targets)
    return {
        name: np.asarray(model.predict(asked), dtype=np.float64).reshape(people.test, -1)
        for name, model in (("LightGBM", light), ("XGBoost", extreme))
    }


def _score(forecast: Floats, people: Demand) -> tuple[float, float, float]:
    errors = np.maximum(forecast, 0.0) - people.truth  # no count is negative
    squares = float((errors**2).mean())
    return float(np.abs(errors).mean()), math.sqrt(squares), 1 - squares / float(people.truth.var())
