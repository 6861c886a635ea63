"""Measures how far apart two distributions are: on a line, on a circle, on a grid, or with any cost.

Shares are lists of numbers, or results (`Estimate`, `Likelihood`). Total variation and the divergence need no
positions. The other distances need shares with the same sum; so project unbiased estimates first. Lists whose
sum is far from 1 are refused. `METRICS` measure errors of simulated estimates, whatever these add up to.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from deniable import Grid
from deniable.arrays import Floats
from deniable.errors import InvalidParameter
from deniable.estimate import Estimate
from deniable.exact import number, whole_number
from deniable.law import finite
from deniable.likelihood import Likelihood

Shares = npt.ArrayLike | Estimate | Likelihood
"""Numbers, or a result that has them."""
MOST_PAIRS = 1 << 18
"""Pairs of cells for an exact transport; beyond them, use `sliced_wasserstein`."""
_SAME = 1e-9
_OFF = 0.1  # from a sum of one: unbiased estimates may be off so far, and counts are not


def line_wasserstein(one: Shares, other: Shares, positions: npt.ArrayLike | None = None) -> float:
    """Measures how far shares must move on a line: the area between the cumulative shares.

    Positions are 0, 1, 2, ... unless `positions` gives others, in ascending order.

    >>> line_wasserstein([1, 0, 0], [0, 0, 1]), line_wasserstein([1, 0, 0], [0, 0, 1], positions=[0, 10, 15])
    (2.0, 15.0)
    """
    excess = _excess(one, other)
    points = np.arange(excess.size, dtype=np.float64)
    if positions is not None:
        points = finite(positions, f"positions are {excess.size} numbers")
        if points.shape != excess.shape:
            raise InvalidParameter(
                f"positions are {excess.size} numbers, got an array of shape {points.shape}"
            )
    steps = np.diff(points)
    if (steps < 0).any():
        raise InvalidParameter("positions on a line must be in ascending order")
    return float(np.abs(np.cumsum(excess)[:-1]) @ steps)


def circle_wasserstein(one: Shares, other: Shares, length: float | None = None) -> float:
    """Measures how far shares must move around a circle of equally distant values.

    What flows over each border is the cumulative difference less a constant: the median costs least.

    >>> first, last = [1, 0, 0, 0], [0, 0, 0, 1]
    >>> circle_wasserstein(first, last), circle_wasserstein(first, last, length=24.0)
    (1.0, 6.0)
    """
    excess = _excess(one, other)
    size = (
        1.0 if length is None else number("length", length, 0.0, math.inf, "a positive number") / excess.size
    )
    flows = np.cumsum(excess)
    return float(np.abs(flows - np.median(flows)).sum() * size)


def grid_wasserstein(
    one: Shares,
    other: Shares,
    shape: tuple[int, int],
    metric: Literal["euclidean", "manhattan"] = "euclidean",
    step: float | tuple[float, float] | Grid = 1.0,
) -> float:
    """Measures how far shares must move on a grid of cells, row by row, `step` apart, by a linear program.

    Rows and columns may have steps of their own, in this order; a `Grid` has both, in meters.

    >>> grid_wasserstein([1, 0, 0, 0], [0, 0, 0, 1], shape=(2, 2), metric="manhattan")
    2.0
    >>> round(grid_wasserstein([1, 0, 0, 0], [0, 0, 0, 1], shape=(2, 2)), 6)
    1.414214
    >>> grid_wasserstein([1, 0, 0, 0], [0, 0, 0, 1], shape=(2, 2), step=(300.0, 400.0))
    500.0
    """
    excess = _excess(one, other)
    if not isinstance(shape, Sequence | np.ndarray) or len(shape) != 2:
        raise InvalidParameter(
            f"shape is a number of rows and one of columns, such as (20, 30), got {shape!r}"
        )
    rows, columns = (whole_number("the number of rows, and of columns,", side, 1) for side in shape)
    shape = rows, columns
    if rows * columns != excess.size:
        raise InvalidParameter(
            f"a grid of shape {shape} has {rows * columns} cells, the shares have {excess.size}"
        )
    steps = _steps(step, shape)
    if metric == "manhattan":
        return _grid_flow(excess, shape, steps)
    if metric != "euclidean":
        raise InvalidParameter(f"metric is 'euclidean' or 'manhattan', got {metric!r}")
    # in units of the larger step, so that the program's tolerances suit
    unit = max(steps)
    cells = np.stack(np.unravel_index(np.arange(excess.size), shape), axis=1) * (np.array(steps) / unit)
    return unit * _transport(excess, lambda x, y: np.linalg.norm(cells[x][:, None] - cells[y], axis=2))


def cost_wasserstein(one: Shares, other: Shares, cost: npt.ArrayLike) -> float:
    """Measures how far shares must move if cost[x][y] is the distance of two values, a metric.

    >>> cost_wasserstein([1, 0], [0, 1], cost=[[0, 3], [3, 0]])
    3.0
    """
    excess = _excess(one, other)
    allowed = f"cost is a table of {excess.size} by {excess.size} distances, from 0 on"
    table = finite(cost, allowed)
    if table.shape != (excess.size, excess.size) or (table < 0).any():
        raise InvalidParameter(f"{allowed}, got shape {table.shape}")
    return _transport(excess, lambda x, y: table[np.ix_(x, y)])


def sliced_wasserstein(
    one: Shares, other: Shares, positions: npt.ArrayLike, directions: int = 64, seed: int = 1
) -> float:
    """Averages the distance on lines through the plane over directions: fast, never above the true one."""
    excess = _excess(one, other)
    points = finite(positions, f"positions are {excess.size} points of two coordinates")
    if points.shape != (excess.size, 2):
        raise InvalidParameter(
            f"positions are {excess.size} points of two coordinates, got an array of shape {points.shape}"
        )
    whole_number("directions", directions, 1)
    whole_number("seed", seed, 0)
    turn = float(np.random.default_rng(seed).uniform())
    total = 0.0
    for i in range(directions):
        angle = math.pi * (i + turn) / directions
        along = points @ np.array([math.cos(angle), math.sin(angle)])
        order = np.argsort(along, kind="stable")
        total += float(np.abs(np.cumsum(excess[order])[:-1]) @ np.diff(along[order]))
    return total / directions


def smoothed_kl(estimates: Shares, truth: Shares, n: int) -> float:
    """Measures how surprising the truth is, given estimates from n reports and one more, spread evenly.

    Without that report, a most likely distribution with a zero would be infinitely surprised.

    >>> round(smoothed_kl([1.0, 0.0], [0.5, 0.5], n=99), 4)
    1.9585
    """
    whole_number("n, the number of reports,", n, 1)
    believed, real = np.maximum(_shares(estimates), 0.0), _shares(truth)
    if believed.shape != real.shape or believed.ndim != 1:
        raise InvalidParameter(
            f"estimates and truth must have the same values, got {believed.shape} and {real.shape}"
        )
    believed = (n * believed / max(believed.sum(), 1e-300) + 1 / believed.size) / (n + 1)
    seen = real > 0
    return float(real[seen] @ np.log(real[seen] / believed[seen]))


def total_variation(one: Shares, other: Shares) -> float:
    """Measures half the sum of all differences: the most that the share of any set of values differs by.

    >>> total_variation([0.5, 0.5, 0], [0.2, 0.5, 0.3])
    0.3
    """
    left, right = _shares(one), _shares(other)
    if left.shape != right.shape or left.ndim != 1:
        raise InvalidParameter(f"both must have the same values, got shapes {left.shape} and {right.shape}")
    return float(np.abs(left - right).sum() / 2)


def _shares(source: Shares) -> Floats:
    """Shares as they are, or those of a result."""
    try:
        shares = np.asarray(getattr(source, "frequencies", source), dtype=np.float64)
    except (ValueError, TypeError):
        raise InvalidParameter(
            f"shares are a list of numbers, or a result that has frequencies, got {type(source).__name__}"
        ) from None
    if not np.isfinite(shares).all():
        raise InvalidParameter("shares must be finite")
    # a result's are shares, however far an unbiased estimate is off
    if shares.ndim == 1 and not hasattr(source, "frequencies") and abs(shares.sum() - 1) > _OFF + _SAME:
        raise InvalidParameter(
            f"shares add up to 1, these to {shares.sum():.6g}; divide counts by their sum, and project "
            "unbiased estimates first"
        )
    return shares


def _steps(step: float | tuple[float, float] | Grid, shape: tuple[int, int]) -> tuple[float, float]:
    """From row to row, and from column to column."""
    if isinstance(step, Grid):
        if tuple(shape) != (step.rows, step.columns):
            raise InvalidParameter(
                f"the grid has {step.rows} rows and {step.columns} columns, and shape is {shape}"
            )
        step = step.steps
    steps = tuple(step) if isinstance(step, tuple | list | np.ndarray) else (step, step)
    if len(steps) != 2:
        raise InvalidParameter(
            f"step is one number, or two (from row to row, and from column to column), got {step!r}"
        )
    down, across = (number("step", length, 0.0, math.inf, "a positive number, or two") for length in steps)
    return down, across


def _excess(first: Shares, other: Shares) -> Floats:
    left, right = _shares(first), _shares(other)
    if left.ndim != 1 or left.shape != right.shape or left.size < 2:
        raise InvalidParameter(
            f"both must have the same values, at least two, got shapes {left.shape} and {right.shape}"
        )
    if abs(left.sum() - right.sum()) > _SAME * max(1.0, abs(left).sum()):
        raise InvalidParameter(
            f"shares add up to {left.sum():.6g} and {right.sum():.6g}: what is carried must be the same; "
            "project first"
        )
    excess = left - right
    return np.asarray(excess - excess.sum() / excess.size)


def _transport(excess: Floats, distance: Any) -> float:
    """Move excess to where shares are missing; what can stay does, since costs are a metric."""
    small = 1e-14 * np.abs(excess).max()
    sources, sinks = np.flatnonzero(excess > small), np.flatnonzero(excess < -small)
    if sources.size == 0 or sinks.size == 0:
        return 0.0
    if sources.size * sinks.size > MOST_PAIRS:
        raise InvalidParameter(
            f"{sources.size} by {sinks.size} cells are too many for an exact transport; use "
            "sliced_wasserstein, a lower bound, or the manhattan metric on grids"
        )
    from scipy.sparse import coo_array

    rows, columns = np.divmod(np.arange(sources.size * sinks.size), sinks.size)
    ones, number_of = np.ones(rows.size), np.arange(rows.size)
    leaves = coo_array((ones, (rows, number_of)), shape=(sources.size, rows.size))
    arrives = coo_array((ones, (columns, number_of)), shape=(sinks.size, rows.size))
    supply, demand = excess[sources], -excess[sinks]
    demand = demand * (supply.sum() / demand.sum())
    return _program(distance(sources, sinks).reshape(-1), [leaves, arrives], np.concatenate([supply, demand]))


def _grid_flow(excess: Floats, shape: tuple[int, int], steps: tuple[float, float]) -> float:
    """On a grid with Manhattan distance, flows between neighboring cells are enough."""
    from scipy.sparse import coo_array

    cells = np.arange(excess.size).reshape(shape)
    start = np.concatenate([cells[:, :-1].reshape(-1), cells[:-1, :].reshape(-1)])
    end = np.concatenate([cells[:, 1:].reshape(-1), cells[1:, :].reshape(-1)])
    links = np.concatenate([start, end]), np.concatenate([end, start])
    edges = np.arange(2 * start.size)
    ones, (down, across), unit = np.ones(edges.size), steps, max(steps)
    cost = np.where(links[1] // shape[1] == links[0] // shape[1], across / unit, down / unit)
    leaves = coo_array((ones, (links[0], edges)), shape=(excess.size, edges.size))
    arrives = coo_array((ones, (links[1], edges)), shape=(excess.size, edges.size))
    return unit * _program(cost, [leaves - arrives], excess)


def _program(cost: Floats, blocks: list[Any], right: Floats) -> float:
    from scipy.optimize import linprog
    from scipy.sparse import vstack

    solved = linprog(cost, A_eq=vstack(blocks).tocsc()[:-1], b_eq=right[:-1], method="highs")
    if solved.status != 0:
        raise InvalidParameter(f"the transport has no solution: {solved.message}")
    return float(solved.fun)


def mean_squared_error(estimates: Floats, truth: Floats) -> float:
    """The squared error of a share, averaged over the values."""
    return float(((estimates - truth) ** 2).mean())


def max_error(estimates: Floats, truth: Floats) -> float:
    """The error of the share that is furthest off."""
    return float(np.abs(estimates - truth).max())


def _total_variation(estimates: Floats, truth: Floats) -> float:
    """Half the sum of all errors."""
    return float(np.abs(estimates - truth).sum() / 2)


def wasserstein(estimates: Floats, truth: Floats) -> float:
    """For ordered values: the area between the cumulative shares, in steps from one value to the next."""
    return float(np.abs(np.cumsum(estimates - truth)[:-1]).sum())


def kullback_leibler(estimates: Floats, truth: Floats) -> float:
    """How surprising the truth is to somebody who believes the estimates, in nats.

    Negative estimates count as zero; then 1e-6 is added to every share on both sides, so that it is finite.
    """
    believed, real = np.maximum(estimates, 0.0) + 1e-6, truth + 1e-6
    return float((real / real.sum()) @ np.log(real / real.sum() / (believed / believed.sum())))


METRICS: dict[str, Callable[[Floats, Floats], float]] = {
    "mse": mean_squared_error,
    "max_error": max_error,
    "total_variation": _total_variation,
    "wasserstein": wasserstein,
    "kl": kullback_leibler,
}
"""Every measure of how far estimated shares are from the true ones."""
