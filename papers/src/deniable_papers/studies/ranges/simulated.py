"""Simulates people whose ranges are estimated: how far ranges and cumulative shares are off, by method."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats
from deniable.estimate import reach_of, student
from deniable.estimate.consistency import simplex
from deniable.mechanisms import oue
from deniable.metric import square_wave
from deniable.randomness.simulated import numbers_from
from deniable.ranges import RangeEstimate, Tree, plan_tree
from deniable_papers.likelihood import mle_ems
from deniable_papers.simulate.drawn import draw_tally
from deniable_papers.studies.ranges.people import PEOPLE_OF
from deniable_papers.studies.stated import StatedPoint, compare

SIZES = (1024, 65_536)
PEOPLE = 100_000
EPSILONS = (1.0, 4.0)
_STATED_RUNS = 6
_BINS = 256
_BEYOND = 0.00135  # how likely a number is three standard errors above
_LOOKED_AT = 100  # ranges whose intervals are looked at, in every run
_TENTHS = (np.arange(1, 10) / 10).tolist()

_STATED: dict[tuple[int, str], tuple[str, ...]] = {
    (1024, "flat"): (
        *("18.8", "49.7", "47.3", "20.3", "63.1", "90.3"),
        *("2.9", "7.9", "11.3", "2.9", "8.0", "12.1"),
    ),
    (1024, "least squares"): (
        *("20.3", "24.7", "19.4", "19.0", "25.4", "20.5"),
        *("3.1", "4.0", "3.9", "3.2", "3.9", "3.5"),
    ),
    (1024, "isotonic"): (
        *("9.4", "14.7", "13.3", "7.8", "13.6", "14.2"),
        *("2.4", "3.5", "3.6", "2.0", "2.9", "3.1"),
    ),
    (1024, "square wave"): (
        *("1.2", "7.8", "6.9", "16.2", "24.5", "17.0"),
        *(".5", "1.1", "1.2", "13.6", "11.9", "8.9"),
    ),
    (65_536, "flat"): (
        *("157", "548", "839", "158", "496", "675"),
        *("21", "57", "88", "21", "67", "114"),
    ),
    (65_536, "isotonic"): (
        *("9.9", "19.8", "17.7", "11.2", "18.3", "13.9"),
        *("2.6", "4.3", "5.0", "2.3", "4.3", "5.9"),
    ),
}
"""Root mean squared errors x 1000 of ranges of 1/100, of 1/10 and of cumulative shares: smooth and then
heaped shares at epsilon 1, and the same at 4.
"""
_KINDS = ("ranges of 1/100", "ranges of 1/10", "cumulative")


@final
@dataclass(frozen=True, eq=False)
class _Run:
    """What one simulation says of the same people, by method."""

    curves: dict[str, Floats]
    """The share below each edge."""
    held: npt.NDArray[np.bool_]
    """Which intervals of ranges hold."""
    quantiles_held: npt.NDArray[np.bool_]


def measure_errors(k: int, epsilon: float, people: str, runs: int, seed: int) -> Iterator[StatedPoint]:
    """How far each method is off, and how often the intervals of least squares hold."""
    shares = PEOPLE_OF[people](k)
    labels = [(seed, k, epsilon, people, run) for run in range(runs)]
    found = [_simulate(shares, epsilon, numbers_from(*label)) for label in labels]
    asked: dict[str, Any] = {"epsilon": epsilon, "people": PEOPLE, "runs": runs, "seed": seed}
    asked["case"] = f"{k:,} values, {people}"
    first = 6 * EPSILONS.index(epsilon) + 3 * list(PEOPLE_OF).index(people)
    yield from _compare_curves(found, shares, asked, first)
    yield from _count_held(found, asked)


def _compare_curves(
    found: Sequence[_Run], shares: Floats, asked: dict[str, Any], first: int
) -> Iterator[StatedPoint]:
    for method in found[0].curves:
        squares = np.array([_square_errors(run.curves[method], shares) for run in found])
        texts = _STATED.get((shares.size, method))
        for kind, figure in enumerate(_KINDS):
            fields = _compare_root(squares[:, kind], None if texts is None else texts[first + kind])
            yield StatedPoint(figure=figure, method=method, **asked, **fields)


def _count_held(found: Sequence[_Run], asked: dict[str, Any]) -> Iterator[StatedPoint]:
    """How often 95 % intervals hold; those of one run depend on each other, so runs are what counts."""
    for method in ("ranges", "quantiles"):
        held = [run.held if method == "ranges" else run.quantiles_held for run in found]
        rates = np.array([one.mean() for one in held])
        error = float(rates.std(ddof=1)) / math.sqrt(rates.size) if rates.size > 1 else 0.0
        yield StatedPoint(figure="held", method=method, value=float(rates.mean()), stderr=error, **asked)


def _simulate(shares: Floats, epsilon: float, generator: np.random.Generator) -> _Run:
    k = shares.size
    study = simulate_levels(shares, epsilon, PEOPLE, generator)
    flat = oue(k, epsilon)  # errs as olh does, and is drawn at once
    estimate = flat.estimate(draw_tally(flat, generator.multinomial(PEOPLE, shares), generator))
    curves = {
        "flat": _add_up(estimate.frequencies + (1 - estimate.frequencies.sum()) / k),
        "flat, norm-sub first": _add_up(simplex(estimate.frequencies)),
        "least squares": _add_up(study.shares),
        "isotonic": study.curve,
        "square wave": _fit_wave(shares, epsilon, generator),
    }
    below = _add_up(shares)
    ends = np.sort(generator.integers(0, k + 1, (_LOOKED_AT, 2)), axis=1).tolist()
    ranges = [(study.range(*pair), below[pair[1]] - below[pair[0]]) for pair in ends]
    quantiles = [(study.quantile(tau), int(np.searchsorted(below[1:], tau))) for tau in _TENTHS]
    held = np.array([one.low - 1e-12 <= truth <= one.high + 1e-12 for one, truth in ranges])
    return _Run(curves, held, np.array([one.low <= at < one.high for one, at in quantiles]))


def simulate_levels(
    shares: Floats, epsilon: float, people: int, generator: np.random.Generator
) -> RangeEstimate:
    """The ranges of people who are drawn from shares, each of whom reports one level."""
    tree = Tree(shares.size)
    many = generator.multinomial(people, np.full(tree.levels, 1 / tree.levels))
    estimates = []
    for part, divisor, n in zip(plan_tree(tree.k, epsilon), tree.divisors, many, strict=True):
        nodes = np.add.reduceat(shares, np.arange(0, tree.k, divisor))
        estimates.append(part.estimate(draw_tally(part, generator.multinomial(n, nodes), generator)))
    return RangeEstimate(tree, estimates)


def _fit_wave(shares: Floats, epsilon: float, generator: np.random.Generator) -> Floats:
    """Smoothed shares of 256 bins, whose people are spread evenly over each."""
    wave, k = square_wave(epsilon, bins=_BINS), shares.size
    counts = np.add.reduceat(generator.multinomial(PEOPLE, shares), np.arange(0, k, k // _BINS))
    fitted = mle_ems(wave, draw_tally(wave, counts, generator))
    return np.interp(np.arange(k + 1), np.arange(0, k + 1, k // _BINS), _add_up(fitted.shares))


def _add_up(shares: Floats) -> Floats:
    return np.append(0.0, np.cumsum(shares))


def _square_errors(curve: Floats, shares: Floats) -> tuple[float, ...]:
    """The mean squared errors of all ranges of two lengths, and of all cumulative shares."""
    wrong, k = curve - _add_up(shares), shares.size
    lengths = [k // 100, k // 10]
    ranges = [float(np.mean((wrong[length:] - wrong[:-length]) ** 2)) for length in lengths]
    return (*ranges, float(np.mean(wrong[1:-1] ** 2)))


def _compare_root(squares: Floats, stated: str | None) -> dict[str, Any]:
    """The root of a mean of squares x 1000, beside one of as many runs as are stated."""
    runs, root = squares.size, 1000 * math.sqrt(squares.mean())
    spread = float(squares.std(ddof=1)) * 1e6 / (2 * root) if runs > 1 else math.inf
    wider = student(_BEYOND, runs) / reach_of(_BEYOND)  # a few runs can scatter little by chance
    error = spread / math.sqrt(runs) if runs > 1 else 0.0
    fields = compare(root, stated, wider * error, wider * spread / math.sqrt(_STATED_RUNS))
    return {**fields, "stderr": error}
