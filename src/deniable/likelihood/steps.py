"""Searches by products only: EM (also called IBU) and SQUAREM.

Each step of EM multiplies the shares by D. It never loses likelihood and is slow near the end: only the
certificate says how near. A share of zero stays zero, so that searches begin with all shares positive.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import final

import numpy as np

from deniable.arrays import Floats
from deniable.likelihood.certificate import Search, Solution
from deniable.likelihood.rows import Rows, shared

_HALVINGS = 12
_ROUNDED = 1e-15  # of a likelihood: less of a loss than this is rounding


def em(rows: Rows, outputs: Floats, search: Search, start: Floats | None = None) -> Solution:
    """Multiply by D until the certificate is within the tolerance."""
    p = rows.even if start is None else start
    gap, step = math.inf, -1
    for step in range(search.limit + 1):
        ascent = rows.ascent(outputs, p)
        gap = rows.gap(ascent, p)
        if search.enough(step, gap):
            return search.done(p, gap, step)
        if step < search.limit:
            after = rows.normal(p * ascent)
            if not np.isfinite(after).all():
                return search.stalled(p, gap, step)
            p = after
    return search.ended(p, gap, step)


def squarem(rows: Rows, outputs: Floats, search: Search, start: Floats | None = None) -> Solution:
    """EM with squared extrapolation (Varadhan and Roland, step S3), halved back to EM where it loses
    likelihood.

    Reference: varadhan2008.
    """
    path = _Path(rows, outputs, search)
    p = rows.even if start is None else start
    first, now = path.take_step(p)
    while not path.over() and np.isfinite(first).all():
        second, _ = path.take_step(first)
        r, v = first - p, second - 2 * first + p
        size = float(np.linalg.norm(v))
        length = -max(1.0, float(np.linalg.norm(r)) / size) if size > 0 else -1.0
        tried, after, reached = second, second, -math.inf
        for _ in range(_HALVINGS):
            if path.over():
                break
            # shares stay positive
            tried = rows.normal(np.maximum(p - 2 * length * r + length * length * v, 0.01 * second))
            after, reached = path.take_step(tried)
            if reached >= now - _ROUNDED * (1 + abs(now)):
                break
            length = (length - 1) / 2
        else:
            if not path.over():
                tried = second
                after, reached = path.take_step(tried)
        p, first, now = tried, after, reached
    return path.solution()


@final
class _Path:
    """The steps of EM that a search has made, and the best shares on its way."""

    def __init__(self, rows: Rows, outputs: Floats, search: Search) -> None:
        self.rows, self.outputs, self.search = rows, outputs, search
        self.best, self.least, self.used = rows.even, math.inf, -1

    def take_step(self, shares: Floats) -> tuple[Floats, float]:
        """One step of EM, and the likelihood before it."""
        likely = self.rows.forward(shares)
        ascent = self.rows.backward(shared(self.outputs, likely))
        gap = self.rows.gap(ascent, shares)
        self.used += 1
        if gap < self.least:
            self.best, self.least = shares, gap
        self.search.enough(self.used, self.least)
        return self.rows.normal(shares * ascent), level(self.outputs, likely)

    def over(self) -> bool:
        """Whether the certificate is there, or all steps are used up."""
        return self.least <= self.search.tolerance or self.used >= self.search.limit

    def solution(self) -> Solution:
        """The best on the way, and why it ended."""
        if self.least <= self.search.tolerance:
            return self.search.done(self.best, self.least, self.used)
        end = self.search.ended if self.used >= self.search.limit else self.search.stalled
        return end(self.best, self.least, self.used)


def level(outputs: Floats, likely: Floats) -> float:
    """The mean logarithm of the likelihood; what was not observed does not count."""
    seen = outputs > 0
    return float(outputs[seen] @ np.log(likely[seen])) if (likely[seen] > 0).all() else -math.inf


def along(shape: Sequence[int], blur: Callable[[Floats], Floats]) -> Callable[[Floats], Floats]:
    """A blur of neighbors on a line, along each side of a line or grid that is the last axis."""
    if len(shape) == 1:
        return blur
    down, across = shape

    def blur_sides(shares: Floats) -> Floats:
        cells = blur(shares.reshape(*shares.shape[:-1], down, across))
        return np.asarray(blur(cells.swapaxes(-1, -2)).swapaxes(-1, -2).reshape(shares.shape))

    return blur_sides


def smoothed_by(weight: Floats) -> Callable[[Floats], Floats]:
    """Neighbors averaged by (s, 1 - 2 s, s), kept at the ends; one s for each of many shares."""

    def smooth(shares: Floats) -> Floats:
        side = weight.reshape(-1, *([1] * (shares.ndim - 1)))
        result = shares * (1 - 2 * side)
        result[..., 1:] += side * shares[..., :-1]
        result[..., :-1] += side * shares[..., 1:]
        result[..., :1] += side * shares[..., :1]
        result[..., -1:] += side * shares[..., -1:]
        return np.asarray(result)

    return smooth
