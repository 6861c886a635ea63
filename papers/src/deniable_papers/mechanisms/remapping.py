"""Moves reports to a possible location, or to the best guess under a public prior: both without a loss."""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats, Integers
from deniable.errors import InvalidParameter, not_among
from deniable.law import Matrix, checked_prior, finite
from deniable.metric import Channel, MetricMechanism
from deniable.metric.globe import checked_locations, unit_vectors

Goal = Literal["mode", "mean", "median"]
_GOALS = ("mode", "mean", "median")


def remap_to(locations: npt.ArrayLike) -> Callable[[npt.ArrayLike], Integers]:
    """Makes a function that moves reported locations to the nearest of these; post-processing loses nothing.

    >>> stations = [(47.64, 6.86), (47.62, 6.15), (48.86, 2.35)]
    >>> remap_to(stations)([(47.7, 6.9), (48, 2)]).tolist()
    [0, 2]
    """
    from scipy.spatial import cKDTree

    known = checked_locations(locations)
    if known.ndim != 2 or not len(known):
        raise InvalidParameter("locations are a table of at least one latitude and longitude")
    tree = cKDTree(unit_vectors(known))

    def nearest(points: npt.ArrayLike) -> Integers:
        return np.asarray(tree.query(unit_vectors(checked_locations(points)))[1], dtype=np.int64)

    return nearest


def optimal_remap(
    channel: MetricMechanism | Channel | Matrix | Floats,
    prior: npt.ArrayLike,
    loss: Goal | npt.ArrayLike = "mode",
    points: npt.ArrayLike | None = None,
) -> Integers | Floats:
    """Finds what each output is best replaced by, for a public prior; post-processing loses nothing.

    `loss` is a table of loss[x, y], the harm of y where x is true: the answer is then the y of least expected
    harm for each output. "mode" is that for right or wrong. With `points`, coordinates of the values, "mean"
    gives the posterior mean (least squared distance) and "median" the geometric median (least distance) of
    each output. Points are on a line or a plane: of locations on the globe, give meters from one of them,
    since degrees are not alike and longitudes go around. An output that nobody of this prior can send gets
    what is best for the prior alone. The prior must not come from the person's own secret.

    >>> channel = np.array([[0.6, 0.3, 0.1], [0.3, 0.4, 0.3], [0.1, 0.3, 0.6]])
    >>> optimal_remap(channel, [0.8, 0.1, 0.1]).tolist()
    [0, 0, 0]
    >>> optimal_remap(channel, [1, 1, 1], "mean", points=[0, 1, 2]).round(2).tolist()
    [[0.5], [1.0], [1.5]]
    """
    chances = _tabulate(channel)
    shares = checked_prior(prior, len(chances))
    joint = shares[:, None] * chances
    # what nobody of this prior sends says nothing: the prior stands
    joint[:, joint.sum(axis=0) <= 0] = shares[:, None]
    if not isinstance(loss, str):
        allowed = (
            f"loss is 'mode', 'mean', 'median', or a table of numbers with a row for each of {len(chances)} "
            "values"
        )
        harm = finite(loss, allowed)
        if harm.ndim != 2 or len(harm) != len(chances) or not harm.size:
            raise InvalidParameter(f"{allowed}, got shape {harm.shape}")
        return np.asarray((joint.T @ harm).argmin(axis=1))
    if loss not in _GOALS:
        raise InvalidParameter(not_among(loss, "a goal", _GOALS))
    if loss == "mode":
        return np.asarray(joint.argmax(axis=0))
    if points is None:
        raise InvalidParameter(f"the {loss} needs points, the coordinates of the values")
    allowed = f"points are the coordinates of the {len(chances)} values, a number or a row of them for each"
    where = finite(points, allowed)
    if where.ndim not in (1, 2) or len(where) != len(chances) or not where.size:
        raise InvalidParameter(f"{allowed}, got shape {where.shape}")
    where = where.reshape(len(chances), -1)
    posterior = joint / joint.sum(axis=0)
    means: Floats = posterior.T @ where
    if loss == "mean":
        return means
    apart = np.sqrt(((where[:, None] - where) ** 2).sum(axis=2))
    return np.array([_median(p, where, mean, apart) for p, mean in zip(posterior.T, means, strict=True)])


@singledispatch
def _tabulate(channel: Any) -> Floats:
    """The rows of a channel, from a table of numbers that is checked."""
    allowed = "a channel has a row of probabilities for each value"
    rows = finite(channel, allowed)
    if rows.ndim != 2 or (rows < 0).any() or not np.allclose(rows.sum(axis=1), 1.0):
        raise InvalidParameter(f"{allowed}, which adds up to 1")
    return rows


@_tabulate.register
def _tabulate_mechanism(channel: MetricMechanism) -> Floats:
    return channel.law.matrix()


@_tabulate.register
def _tabulate_law(channel: Channel) -> Floats:
    return channel.matrix()


@_tabulate.register
def _tabulate_matrix(channel: Matrix) -> Floats:
    return channel.probabilities


def _median(weights: Floats, points: Floats, start: Floats, apart: Floats) -> Floats:
    """The point of least mean distance: Weiszfeld's steps, then the best of their end and the points."""
    center = start
    for _ in range(200):
        gaps = np.linalg.norm(points - center, axis=1)
        pull = weights / np.maximum(gaps, 1e-12 * (gaps.max() + 1e-300))
        there = pull @ points / pull.sum()
        if np.linalg.norm(there - center) <= 1e-12 * (np.abs(there).max() + 1e-300):
            break
        center = there
    costs = apart @ weights
    best = int(costs.argmin())
    return points[best] if costs[best] <= np.linalg.norm(points - center, axis=1) @ weights else center
