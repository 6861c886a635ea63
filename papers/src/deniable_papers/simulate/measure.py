"""Measures what the laws predict, in sweeps over simulated people."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from typing import Literal, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats
from deniable.errors import InvalidParameter, not_among
from deniable.estimate import Estimate
from deniable.estimate.consistency import NAMES as STEPS
from deniable.exact import positive_epsilon, whole_number
from deniable.formatting import format_digits
from deniable.mechanisms import PROTOCOLS, Protocol, SetMechanism
from deniable.metric import MetricMechanism, OrderedProtocol
from deniable.randomness.simulated import numbers_from
from deniable.rounds import REPEATED, BitFlip, RepeatedProtocol
from deniable_papers.distances import METRICS
from deniable_papers.simulate.distanced import DISTANCED
from deniable_papers.simulate.drawn import draw_tally, is_drawn_directly
from deniable_papers.simulate.population import Population, checked_people, checked_size


def with_error(mean: float, stderr: float | None) -> str:
    """A measured number and its standard error, where there is one."""
    written = format_digits(mean, 3)
    return written if stderr is None else f"{written} +- {format_digits(stderr, 1)}"


@final
@dataclass(frozen=True)
class Mean:
    """An average over repeats and its standard error, which one repeat alone does not give."""

    mean: float
    stderr: float | None

    @staticmethod
    def of(values: Sequence[float] | Floats) -> Mean:
        """The average of these."""
        stderr = float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else None
        return Mean(float(np.mean(values)), stderr)


@final
@dataclass(frozen=True)
class SweepCell:
    """One cell of a sweep: parameters, what the law predicts, and what was measured; or why it failed."""

    protocol: str
    epsilon: float
    k: int
    n: int
    population: str
    repeats: int
    seed: int
    project: str | None
    refused: str | None = None
    drawn: Literal["directly", "by reports"] | None = None
    loss: float | None = None
    """The exact loss of any two values; None for a mechanism that has none."""
    unit_loss: float | None = None
    """For a metric mechanism: the loss of two values one step apart, which epsilon bounds."""
    expected_mse: float | None = None
    """The mean squared error of the unbiased estimates, by the law."""
    success: float | None = None
    report_bytes: int | None = None
    coverage_of: Literal["population", "people"] | None = None
    """Whose shares the intervals should hold: those of the population that people were drawn from, or of the
    people themselves, where all known people were asked. Errors are always those among the people asked.
    """
    metrics: Mapping[str, Mean] = field(default_factory=dict)
    """The METRICS, and `coverage`: how often 95 % intervals hold the true shares of `coverage_of`."""


_Made = SetMechanism | MetricMechanism | BitFlip
"""What estimates shares."""
_Protocol = Protocol | OrderedProtocol | RepeatedProtocol
_Cell = tuple[_Protocol, Population, int | None, SweepCell]


def sweep(
    protocols: Iterable[str | Protocol],
    epsilons: Iterable[float],
    ks: Iterable[int],
    ns: Iterable[int | None],
    population: Callable[[int], Population],
    repeats: int = 20,
    seed: int = 1,
    project: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[SweepCell]:
    """One row per cell, as they finish; each repeat draws and asks new people (n = None: the known people).

    Errors are those of the unbiased estimates, or after the consistency step `project`. A cell depends on the
    seed and on its own parameters, not on the rest of the sweep; protocols and budgets are compared on the
    same people. A cell that a protocol refuses is a row that says why. `progress` is called with how many
    repeats are done, and how many there are.
    """
    rows = [_find_protocol(protocol) if isinstance(protocol, str) else protocol for protocol in protocols]
    budgets = [positive_epsilon(epsilon) for epsilon in epsilons]
    sizes = [n if n is None else checked_people(n) for n in ns]
    populations = [_of_size(population, k) for k in ks]
    whole_number("repeats", repeats, 1)
    whole_number("seed", seed, 0)
    if project is not None and project not in STEPS:
        raise InvalidParameter(not_among(project, "a consistency step", STEPS))
    cells = [
        (
            protocol,
            people,
            n,
            SweepCell(protocol.name, epsilon, people.k, n or people.n, people.name, repeats, seed, project),
        )
        for people, n, epsilon, protocol in product(populations, sizes, budgets, rows)
    ]
    return _measure_cells(cells, progress or (lambda _done, _total: None))


def highest_success(k: int, epsilon: npt.ArrayLike) -> Floats:
    """The most often that a guess among k equally likely values can be right, e / (e + k - 1)."""
    return np.asarray(1 / (1 + (k - 1) * np.exp(-np.asarray(epsilon, dtype=np.float64))))


def _measure_cells(cells: Sequence[_Cell], progress: Callable[[int, int], None]) -> Iterator[SweepCell]:
    mechanism_of = cache(lambda protocol, k, epsilon: protocol.make(k, epsilon))
    total = sum(cell.repeats for *_, cell in cells)
    done = 0
    for protocol, people, n, cell in cells:

        def tell(repeat: int, before: int = done) -> None:
            progress(before + repeat, total)

        try:
            yield _measure_cell(mechanism_of(protocol, cell.k, cell.epsilon), people, n, cell, tell)
        except InvalidParameter as problem:
            yield replace(cell, refused=str(problem))
        done += cell.repeats
        progress(done, total)


def _measure_cell(
    mechanism: _Made, people: Population, n: int | None, cell: SweepCell, tell: Callable[[int], None]
) -> SweepCell:
    who = numbers_from(cell.seed, "people", people.name, people.k, cell.n)
    noise = numbers_from(cell.seed, "reports", people.name, people.k, cell.n, cell.protocol, cell.epsilon)
    seen: dict[str, list[float]] = {name: [] for name in (*METRICS, "coverage")}
    for repeat in range(cell.repeats):
        tell(repeat)
        counts = people.draw_counts(n, who)
        truth = counts / cell.n
        estimate = mechanism.estimate(draw_tally(mechanism, counts, noise))
        shares = estimate.frequencies if cell.project is None else estimate.project(cell.project)
        for name, metric in METRICS.items():
            seen[name].append(metric(shares, truth))
        # intervals are of the population that the people are a sample of
        seen["coverage"].append(_cover(estimate, truth if n is None else people.shares))
    return replace(
        cell,
        coverage_of="people" if n is None else "population",
        drawn="directly" if is_drawn_directly(mechanism) else "by reports",
        loss=mechanism.loss(),
        unit_loss=mechanism.unit_loss,
        expected_mse=mechanism.law.error(cell.n),
        success=mechanism.success(),
        report_bytes=mechanism.report_bytes,
        metrics={name: Mean.of(values) for name, values in seen.items()},
    )


_INSTEAD = {
    **{name: f"use it in Python, deniable_papers.mechanisms.{name}" for name in ("she", "planar_laplace")},
    "planar_geometric": "it is for locations; make a Study with a Grid, whose plan says what to expect",
    **dict.fromkeys(
        ("duchi", "piecewise", "hybrid"),
        "it is for the mean of a number; make a Study with a Number, whose plan says what to expect",
    ),
}
"""What to do with those that are not measured here."""


def _find_protocol(name: str) -> _Protocol:
    """Find a protocol: for values of any kind, for ordered values, or for asking again."""
    protocols: dict[str, _Protocol] = {**PROTOCOLS, **DISTANCED, **REPEATED}
    if name not in protocols:
        raise InvalidParameter(not_among(name, "a protocol", list(protocols), _INSTEAD))
    return protocols[name]


def _cover(estimate: Estimate, truth: Floats) -> float:
    low, high = estimate.interval(0.95)
    return float(((low <= truth) & (truth <= high)).mean())


def _of_size(population: Callable[[int], Population], k: int) -> Population:
    people = population(checked_size(k))
    if people.k != k:
        raise InvalidParameter(
            f"the population {people.name!r} has {people.k} values, but k = {k} was asked for"
        )
    return people
