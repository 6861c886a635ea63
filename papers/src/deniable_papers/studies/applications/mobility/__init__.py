"""Reproduces reports of a week of visits: one attribute of each person, on unions of consecutive days.

Everybody keeps one attribute for the whole week. A report enters each union of consecutive days that its
person visited, once. As published, noise is fresh at each visit, and epsilon is claimed for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np

from deniable.exact import positive_epsilon
from deniable.randomness.simulated import numbers_from
from deniable_papers.studies.applications.guarantee import Guarantee
from deniable_papers.studies.applications.mobility.losses import count_losses
from deniable_papers.studies.applications.mobility.reports import (
    STEP_NAMES,
    Method,
    Noise,
    make_reports,
    measure_errors,
    measure_sampling,
    measure_uniform,
)
from deniable_papers.studies.applications.mobility.statement import state_week
from deniable_papers.studies.applications.mobility.week import Week, load_week, take_day
from deniable_papers.studies.applications.processes import run_tasks
from deniable_papers.studies.sweep import Progress, checked_methods

__all__ = ["EPSILONS", "METHODS", "PARTS", "RUNS", "MobilityPoint", "reproduce", "state_guarantees"]

PARTS = ("week", "day")
DAY_EPSILON = 1.0
"""The budget of a day that is estimated alone."""
EPSILONS = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
RUNS = 10
METHODS: dict[str, tuple[Method, Noise]] = {
    "sample": ("sample", "fresh"),
    "kept": ("sample", "kept"),
    "seventh": ("sample", "seventh"),
    "two-rounds": ("sample", "two rounds"),
    "two-buckets": ("sample", "two buckets"),
    "split": ("split", "fresh"),
}
"""What is reported, and where its noise comes from. The first is what was published (M2)."""
_MARGIN = 0.10  # to what was stated, as a part of it
PAPER_MARGIN = 0.15
_PAPER = (0.0583, 0.0282, 0.0103, 0.0053, 0.0035, 0.0030, 0.0029)
"""Read off the figure of the paper."""
_STATED: dict[tuple[str, str], Sequence[float]] = {
    ("sample", "clip"): (0.0558, 0.0256, 0.0091, 0.0050, 0.0036, 0.0032, 0.0029),
    ("sample", "norm-sub"): (0.0472, 0.0220, 0.0083, 0.0047, 0.0035, 0.0031, 0.0030),
    ("seventh", "clip"): (0.141, 0.117, 0.085, 0.063, 0.050, 0.040, 0.032),
}
"""What other runs of the same steps have found."""


@final
@dataclass(frozen=True, kw_only=True)
class MobilityPoint:
    """The error of one method at one epsilon, and what it truly loses."""

    figure: str = "week"
    """What is estimated: all unions of days of the week, or one day, such as "day 3"."""
    method: str
    noise: str
    epsilon: float | None
    """What is claimed; None for baselines."""
    consistency: str
    rmse: float
    """The root of the mean squared error of 64 shares, averaged over 28 unions and the runs."""
    stderr: float | None
    """Of one run alone there is none."""
    loss: float | None
    """The true loss of a week, for the person who loses most; None where there is no bound."""
    loss_mean: float | None
    """The mean over people of the loss against weeks that change at the same times."""
    people: int
    runs: int
    seed: int
    stated: float | None = None
    margin: float = _MARGIN
    paper: float | None = None
    """The figure of the paper."""
    refused: str | None = None

    @property
    def differs(self) -> bool:
        """Whether it is farther from what was stated than it may be."""
        return self.stated is not None and abs(self.rmse / self.stated - 1) > self.margin

    @property
    def differs_from_paper(self) -> bool:
        """Whether it is farther from the figure of the paper than it may be."""
        return self.paper is not None and abs(self.rmse / self.paper - 1) > PAPER_MARGIN


@final
@dataclass(frozen=True)
class _Task:
    """One method at one epsilon; its numbers come from its seed and its names."""

    name: str
    epsilon: float
    runs: int
    seed: int


def reproduce(
    methods: Iterable[str] | None = None,
    epsilons: Iterable[float] = EPSILONS,
    runs: int = RUNS,
    seed: int = 1,
    progress: Progress | None = None,
    processes: int | None = None,
    parts: Iterable[str] | None = None,
) -> Iterator[MobilityPoint]:
    """Two rows for each method and epsilon, as they are done: with norm-sub, and clipped as published.

    Two baselines come first, unless methods are named: shares that are alike, and reports without noise. The
    part `day` estimates each day alone, by Smp[GRR] at epsilon 1; only the week is measured unless it is
    named.
    """
    chosen = checked_methods(parts or PARTS[:1], PARTS, runs, seed, "a part")
    names = checked_methods(methods, METHODS, runs, seed)
    budgets = [positive_epsilon(epsilon) for epsilon in epsilons]
    tasks = [_Task(name, epsilon, runs, seed) for name in names for epsilon in budgets]
    if "day" in chosen:
        yield from _measure_days(runs, seed)
    if "week" not in chosen:
        return
    if methods is None:
        yield from _measure_baselines(runs, seed)
    for rows in run_tasks(_measure, tasks, progress, processes):
        yield from rows


@lru_cache(maxsize=1)
def _load() -> Week:
    """Once for each process."""
    return load_week()


def _measure_baselines(runs: int, seed: int) -> Iterator[MobilityPoint]:
    week = _load()
    numbers = numbers_from(seed, "mobility", "baselines")
    sampled = [measure_sampling(week, int(numbers.integers(1 << 62))) for _ in range(runs)]
    errors = {"uniform": [measure_uniform(week)], "sample": sampled}
    for method, found in errors.items():
        yield MobilityPoint(
            method=method,
            noise="none",
            epsilon=None,
            consistency="none",
            rmse=float(np.mean(found)),
            stderr=_find_stderr(found),
            loss=0.0 if method == "uniform" else None,
            loss_mean=0.0 if method == "uniform" else None,
            people=week.people,
            runs=len(found),
            seed=seed,
        )


def _measure_days(runs: int, seed: int) -> Iterator[MobilityPoint]:
    """Each day alone: everybody who is there reports one attribute by GRR, and loses epsilon, no more."""
    week = _load()
    for day in range(week.days):
        alone = take_day(week, day)
        numbers = numbers_from(seed, "mobility", "day", day)
        samples = [
            make_reports(alone, "sample", "fresh", DAY_EPSILON, int(numbers.integers(1 << 62)))
            for _ in range(runs)
        ]
        losses = count_losses(alone, samples[0])
        errors = [measure_errors(alone, reports) for reports in samples]
        for step in STEP_NAMES:
            rmses = [error[step] for error in errors]
            yield MobilityPoint(
                figure=f"day {day + 1}",
                method="sample",
                noise="fresh",
                epsilon=DAY_EPSILON,
                consistency=step,
                rmse=float(np.mean(rmses)),
                stderr=_find_stderr(rmses),
                loss=losses.worst,
                loss_mean=losses.mean,
                people=alone.people,
                runs=runs,
                seed=seed,
            )


def _find_stderr(found: Sequence[float]) -> float | None:
    return float(np.std(found, ddof=1) / np.sqrt(len(found))) if len(found) > 1 else None


def _measure(task: _Task) -> list[MobilityPoint]:
    week = _load()
    method, noise = METHODS[task.name]
    numbers = numbers_from(task.seed, "mobility", task.name, task.epsilon)
    errors: dict[str, list[float]] = {step: [] for step in STEP_NAMES}
    losses = None
    for _ in range(task.runs):
        made = make_reports(week, method, noise, task.epsilon, int(numbers.integers(1 << 62)))
        losses = count_losses(week, made) if losses is None else losses
        for step, error in measure_errors(week, made).items():
            errors[step].append(error)
    assert losses is not None
    return [
        MobilityPoint(
            method=method,
            noise=noise,
            epsilon=task.epsilon,
            consistency=step,
            rmse=float(np.mean(found)),
            stderr=_find_stderr(found),
            loss=losses.worst if np.isfinite(losses.worst) else None,
            loss_mean=losses.mean,
            people=week.people,
            runs=task.runs,
            seed=task.seed,
            stated=_find_stated(_STATED.get((task.name, step)), task.epsilon),
            paper=_find_stated(_PAPER if (task.name, step) == ("sample", "clip") else None, task.epsilon),
        )
        for step, found in errors.items()
    ]


def _find_stated(numbers: Sequence[float] | None, epsilon: float) -> float | None:
    return None if numbers is None or epsilon not in EPSILONS else numbers[EPSILONS.index(epsilon)]


def state_guarantees() -> list[tuple[str, Guarantee]]:
    """What each way to report protects, with numbers of these people."""
    return state_week(_load())
