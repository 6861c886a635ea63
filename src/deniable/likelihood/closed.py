"""Computes most likely shares by formulas: for direct encoding, and for counts of independent support."""

from __future__ import annotations

import numpy as np

from deniable.arrays import Floats
from deniable.likelihood.certificate import concave_gap, gap_bound
from deniable.likelihood.rows import Kept
from deniable.likelihood.solution import Solution


def direct(reported: Floats, rows: Kept) -> Solution:
    """The exact maximum for direct encoding, from the shares of the reported values: sort once, no iteration.

    The m largest stay: with s = (p - q + m q) / (their sum), pi = (s y - q) / (p - q), for the largest m
    whose last one is positive.

    >>> from deniable.likelihood.rows import Kept
    >>> direct(np.array([0.5, 0.3, 0.15, 0.05]), Kept(4, 1 / 2, 1 / 6)).shares.round(12).tolist()
    [0.75, 0.25, 0.0, 0.0]

    Reference: pinzon2026.
    """
    ranked = np.sort(reported)[::-1]
    sums = ranked.cumsum()
    # true for the first ones: it falls with each
    m = int(np.count_nonzero(rows.levels * ranked > rows.q * sums)) - 1
    shares = np.maximum(reported * (rows.levels[m] / (sums[m] * rows.gain)) - rows.q / rows.gain, 0.0)
    shares /= np.add.reduce(shares)
    ascent = rows.backward(reported / rows.forward(shares))
    return Solution(shares, gap_bound(ascent, 1.0, rows.roundings), 0, "certified", "closed form")


def composite(supported: Floats, asked_shares: Floats, q: Floats, gain: float) -> Solution:
    """Each value's count taken for a binomial of its own: the most likely shares of that model, which is not
    the truth.

    supported[v] is the share of the reports about v that support it, asked_shares[v] the share of all
    reports that are about v. The model is concave, and one number makes the shares add up to one.
    """
    from scipy.optimize import brentq

    def chances(price: float) -> Floats:
        scaled = price / (asked_shares * gain)
        root = np.sqrt((1 + scaled) ** 2 - 4 * scaled * supported)
        with np.errstate(divide="ignore", invalid="ignore"):
            falling = np.where(1 + scaled + root > 0, 2 * supported / (1 + scaled + root), 0.0)
            rising = np.where(scaled < -1, (1 + scaled - root) / (2 * scaled), 0.0)
        return np.where(scaled < -1, rising, falling)

    def shares_at(price: float) -> Floats:
        return np.maximum(0.0, (chances(price) - q) / gain)

    low, high = -1.0, 1.0
    while shares_at(low).sum() < 1 and low > -1e18:
        low *= 4
    while shares_at(high).sum() > 1 and high < 1e18:
        high *= 4
    price = float(
        brentq(
            lambda price: float(shares_at(price).sum()) - 1.0, low, high, xtol=1e-300, rtol=1e-15, maxiter=500
        )
    )
    shares = shares_at(price)
    # floats do not distinguish chances this close to each other, and neither do the reports
    if not shares.sum() > 0:
        shares = np.ones(shares.size)
    shares /= shares.sum()
    theta = q + gain * shares
    scale = asked_shares * gain / (theta * (1 - theta))
    gradient = scale * (supported - theta)
    # what is rounded in supported - theta is a part of both, in 1 - theta of 1 / (1 - theta)
    sizes = scale * (supported + theta) + np.abs(gradient) / (1 - theta)
    return Solution(
        shares, concave_gap(gradient, shares, 4 * shares.size, sizes), 0, "certified", "composite"
    )


def composite_likelihood(
    supported: Floats, asked_shares: Floats, q: Floats, gain: float, shares: Floats
) -> float:
    """The mean over the reports of the logarithm of that model's likelihood."""
    from scipy.special import xlogy

    theta = q + gain * shares
    return float((asked_shares * (xlogy(supported, theta) + xlogy(1 - supported, 1 - theta))).sum())
