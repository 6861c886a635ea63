"""Searches that need products only: EM (also called IBU), EM with smoothing, the iteration of the paper, and SQUAREM.

Each step of EM multiplies the shares by D. It never loses likelihood and is slow near the end: only the certificate
says how near. A share of zero stays zero, so that searches begin with all shares positive.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from deniable.law import Floats
from deniable.likelihood.certificate import gap_bound
from deniable.likelihood.found import Found, Search
from deniable.likelihood.rows import Rows

_SETTLED = 1e-3  # EMS of the Square Wave paper ends when all reports together gain less than this
_HALVINGS = 12


def em(rows: Rows, outputs: Floats, search: Search, start: Floats | None = None) -> Found:
    """Multiply by D until the certificate is within the tolerance."""
    p = np.full(rows.k, 1.0 / rows.k) if start is None else start
    gap, step = math.inf, -1
    for step in range(search.limit + 1):
        ascent = rows.backward(outputs / rows.forward(p))
        gap = gap_bound(ascent, 1.0, rows.roundings)
        if search.enough(step, gap):
            return search.done(p, gap, step)
        if step < search.limit:
            p = normal(p * ascent)
    return search.ended(p, gap, step)


def ems(rows: Rows, outputs: Floats, n: int, search: Search, smooth: Callable[[Floats], Floats] | None = None) -> Found:
    """EM with a smoothing after each step. It is not monotone, and it is not meant to reach the maximum."""
    blur = smoothed_121 if smooth is None else smooth
    p = np.full(rows.k, 1.0 / rows.k)
    last, gap, step = -math.inf, math.inf, -1
    for step in range(search.limit + 1):
        likely = rows.forward(p)
        ascent = rows.backward(outputs / likely)
        gap = gap_bound(ascent, 1.0, rows.roundings)
        now = n * float(outputs @ np.log(likely))
        if search.enough(step, gap):
            return search.done(p, gap, step)
        if abs(now - last) < _SETTLED:
            return Found(p, gap, step, "likelihood settled", search.method)
        last = now
        if step < search.limit:
            p = normal(blur(p * ascent))
    return search.ended(p, gap, step)


def squarem(rows: Rows, outputs: Floats, search: Search, start: Floats | None = None) -> Found:
    """EM with squared extrapolation (Varadhan and Roland, step S3), halved back to EM where it loses likelihood.

    Reference: varadhan2008.
    """
    p = np.full(rows.k, 1.0 / rows.k) if start is None else start
    best, least, used = p, math.inf, 0

    def mapped(shares: Floats) -> tuple[Floats, float, float]:
        """One step of EM, the likelihood before it and the certificate before it."""
        nonlocal used, best, least
        likely = rows.forward(shares)
        ascent = rows.backward(outputs / likely)
        gap = gap_bound(ascent, 1.0, rows.roundings)
        used += 1
        if gap < least:
            best, least = shares, gap
        return normal(shares * ascent), float(outputs @ np.log(likely)), gap

    first, now, _ = mapped(p)
    while True:
        if search.enough(used, least):
            return search.done(best, least, used)
        if used >= search.limit:
            return search.ended(best, least, used)
        second, _, _ = mapped(first)
        r, v = first - p, second - 2 * first + p
        size = float(np.linalg.norm(v))
        length = -max(1.0, float(np.linalg.norm(r)) / size) if size > 0 else -1.0
        for _ in range(_HALVINGS):
            tried = normal(np.maximum(p - 2 * length * r + length * length * v, 0.01 * second))  # shares stay positive
            after, reached, _ = mapped(tried)
            if reached >= now:
                break
            length = (length - 1) / 2
        else:
            tried = second
            after, reached, _ = mapped(tried)
        p, first, now = tried, after, reached


def normal(shares: Floats) -> Floats:
    """Scaled to a sum of one."""
    return np.asarray(shares / shares.sum(axis=-1, keepdims=True))


def smoothed_121(shares: Floats) -> Floats:
    """Neighbors averaged by (1, 2, 1) / 4, and by (2, 1) / 3 at the ends."""
    result = shares.copy()
    result[..., 1:-1] = (shares[..., :-2] + 2 * shares[..., 1:-1] + shares[..., 2:]) / 4
    result[..., 0] = (2 * shares[..., 0] + shares[..., 1]) / 3
    result[..., -1] = (2 * shares[..., -1] + shares[..., -2]) / 3
    return result


def smoothed_by(weight: Floats) -> Callable[[Floats], Floats]:
    """Neighbors averaged by (s, 1 - 2 s, s), what would leave an end staying there; one s for each row of shares."""
    side = weight[:, None]

    def smooth(shares: Floats) -> Floats:
        result = shares * (1 - 2 * side)
        result[..., 1:] += side * shares[..., :-1]
        result[..., :-1] += side * shares[..., 1:]
        result[..., :1] += side * shares[..., :1]
        result[..., -1:] += side * shares[..., -1:]
        return np.asarray(result)

    return smooth
