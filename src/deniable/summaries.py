"""Means, cumulative shares and quantiles of values that are numbers or places, with intervals.

From an unbiased estimate they are unbiased, with standard errors from the law: two values are in one report's support
together with chances that the sizes of the support give. From a most likely distribution they come with a bootstrap.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from deniable import consistency
from deniable.errors import InvalidParameter
from deniable.estimate import Estimate
from deniable.exact import number
from deniable.law import Floats, Law, Marginal, Moments
from deniable.likelihood import Likelihood
from deniable.mechanism import checked_values

Result = Estimate | Likelihood


@final
@dataclass(frozen=True)
class Summary:
    """A number, how far it may be off, and where the true one is with the confidence that was asked for."""

    value: float
    stderr: float
    low: float
    high: float


def mean_of(
    result: Result, places: npt.ArrayLike | None = None, level: float = 0.95, repeats: int = 200, seed: int = 1
) -> Summary:
    """The mean of the values' places (0, 1, 2, ... unless given), with a normal interval, or that of a bootstrap.

    On a grid, ask once for each coordinate.

    >>> from deniable.protocols import grr
    >>> from deniable.mechanism import Tally
    >>> m = grr(k=3, epsilon=1.0)
    >>> half = mean_of(m.estimate(Tally(10_000, [5000, 2500, 2500])), places=[0, 50, 100])
    >>> round(half.value, 1), round(half.stderr, 2), half.low < half.value < half.high
    (15.7, 1.14, True)
    """
    points = _points(places, result.k)
    if isinstance(result, Likelihood):
        return _bootstrapped(result, lambda rows: rows @ points, level, repeats, seed)
    center = float(points.min() + points.max()) / 2  # shares of all values add up to 1: only distances from here are estimated
    value = center + float(result.frequencies @ (points - center))
    return _normal(value, _error(result, points - center), level)


def sum_of(result: Estimate, values: npt.ArrayLike, level: float = 0.95) -> Summary:
    """The share of some values together, with its own standard error: what they err in opposite ways cancels.

    >>> from deniable.protocols import grr
    >>> from deniable.mechanism import Tally
    >>> m = grr(k=3, epsilon=1.0)
    >>> two = sum_of(m.estimate(Tally(10_000, [5000, 2500, 2500])), [0, 1])
    >>> round(two.value, 3), round(two.stderr, 3)
    (0.895, 0.012)
    """
    chosen = np.zeros(result.k)
    chosen[checked_values(values, result.k)] = 1.0
    return _normal(float(result.frequencies @ chosen), _error(result, chosen), level)


def circular_mean_of(
    result: Result, level: float = 0.95, length: float = 2 * math.pi, repeats: int = 200, seed: int = 1
) -> Summary:
    """The mean place of values around a circle of this length: the direction of the sum of all directions.

    It is from 0 to the length, value 0 being at 0: in radians unless a length is given, such as 24.0 for hours.
    Without a clear direction (all hours alike) there is none, and its standard error says so. The interval may reach past
    the end of the circle.
    """
    turns = 2 * math.pi * np.arange(result.k) / result.k
    scale = number("length", length, 0.0, math.inf, "a positive number") / (2 * math.pi)
    across, along = np.sin(turns), np.cos(turns)
    angle = math.atan2(float(result.frequencies @ across), float(result.frequencies @ along))
    if isinstance(result, Likelihood):
        turned = np.cos(angle), np.sin(angle)

        def direction(rows: Floats) -> Floats:
            x, y = rows @ along, rows @ across
            return np.asarray(scale * (angle + np.arctan2(y * turned[0] - x * turned[1], x * turned[0] + y * turned[1])))

        found = _bootstrapped(result, direction, level, repeats, seed)
    else:
        size = math.hypot(float(result.frequencies @ across), float(result.frequencies @ along))
        moved = _error(result, across * math.cos(angle) - along * math.sin(angle)) / max(size, 1e-300)
        found = _normal(scale * angle, scale * moved, level)
    shift = scale * 2 * math.pi if found.value < 0 else 0.0
    return Summary(found.value + shift, found.stderr, found.low + shift, found.high + shift)


def quantile_of(
    result: Result,
    share: float,
    places: npt.ArrayLike | None = None,
    level: float = 0.95,
    repeats: int = 200,
    seed: int = 1,
) -> Summary:
    """The first place at which the cumulative share reaches `share`, for values on a line.

    From an estimate, the interval holds all places whose cumulative share may be just that one; the standard error is a
    quarter of its length at 95 %, as for a normal number.
    """
    points, wanted = _points(places, result.k), number("share", share, 0.0, 1.0)
    if (np.diff(points) < 0).any():
        raise InvalidParameter("places on a line must be in ascending order")

    def first(cumulative: Floats) -> Floats:
        return np.asarray(points[np.minimum((cumulative < wanted - 1e-12).sum(axis=-1), result.k - 1)])

    if isinstance(result, Likelihood):
        return _bootstrapped(result, lambda rows: first(np.cumsum(rows, axis=-1)), level, repeats, seed)
    z = _normal_quantile(level)
    cumulative = np.cumsum(consistency.isotonic(result.frequencies))
    errors = np.array([_error(result, _up_to(v, result.k)) for v in range(result.k - 1)] + [0.0])
    low, high = first(cumulative + z * errors), first(cumulative - z * errors)
    return Summary(float(first(cumulative)), float(high - low) / (2 * z), float(low), float(high))


def _up_to(v: int, k: int) -> Floats:
    """The values up to v, or the others with the opposite sign: whichever are fewer err less."""
    chosen = np.arange(k) <= v
    return np.where(chosen, 1.0, 0.0) if 2 * (v + 1) <= k else np.where(chosen, 0.0, -1.0)


def _error(result: Estimate, points: Floats) -> float:
    """The standard error of the sum of frequency times point, the people being a sample."""
    law, shares = result.law, np.clip(result.frequencies, 0.0, 1.0)
    if isinstance(law, Marginal) or result.asked is not None:
        raise InvalidParameter("how the counts of an attribute among fakes, or of a few bits, vary together is not known here")
    mean = float(shares @ points)
    if isinstance(law, Moments) and law.combined is not None:
        return math.sqrt(law.combined(points) / result.n)
    if isinstance(law, Moments):
        noise = float((points**2 * law.noise).sum())
        return math.sqrt(max(noise + float(shares @ points**2) - mean**2, 0.0) / result.n)
    own, together, apart = law.q + shares * law.gain, *_pairs(law)
    total, weighted = points.sum(), float(shares @ points)
    # E of (sum over the support)^2: v alone, then pairs; a pair is supported by `together` if one of it is the truth
    square = float(own @ points**2) + apart * (total**2 - float(points @ points))
    square += (together - apart) * 2 * (weighted * total - float(shares @ points**2))
    average = float(own @ points)
    return math.sqrt(max(square - average**2, 0.0) / result.n) / law.gain


def _pairs(law: Law) -> tuple[float, float]:
    """How likely two values are supported together: one of them being the truth, and neither."""
    s, k = law.sizes.astype(np.float64), law.k
    together = float((law.inside * (s - 1)).sum()) / (k - 1)
    if k == 2:
        return together, 0.0
    inside = float((law.inside * (s - 1) * (s - 2)).sum())
    return together, (inside + float((law.outside * s * (s - 1)).sum())) / ((k - 1) * (k - 2))


def _points(places: npt.ArrayLike | None, k: int) -> Floats:
    points = np.arange(k, dtype=np.float64) if places is None else np.asarray(places, dtype=np.float64)
    if points.shape != (k,) or not np.isfinite(points).all():
        raise InvalidParameter(f"places are {k} numbers, got an array of shape {points.shape}")
    return points


def _normal_quantile(level: float) -> float:
    from scipy.special import ndtri

    return -float(ndtri((1 - number("a confidence level", level, 0.0, 1.0)) / 2))


def _normal(value: float, error: float, level: float) -> Summary:
    reach = _normal_quantile(level) * error
    return Summary(value, error, value - reach, value + reach)


def _bootstrapped(result: Likelihood, function: Callable[[Floats], Floats], level: float, repeats: int, seed: int) -> Summary:
    tail = (1 - number("a confidence level", level, 0.0, 1.0)) / 2
    drawn = np.asarray(function(result.bootstrap(repeats, seed)), dtype=np.float64)
    low, high = np.quantile(drawn, [tail, 1 - tail])
    value = float(np.asarray(function(result.frequencies[None, :]))[0])
    return Summary(value, float(drawn.std(ddof=1)), float(low), float(high))
