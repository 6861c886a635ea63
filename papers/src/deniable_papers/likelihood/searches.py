"""Searches for the most likely shares as publications state them: smoothed EM, and EM from the reports."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from deniable.arrays import Array, Floats
from deniable.errors import InvalidParameter
from deniable.likelihood import GeometricChannel
from deniable.likelihood.certificate import Search, Solution
from deniable.likelihood.problem import Counted, Listed, refuse_unordered
from deniable.likelihood.rows import Decay, expand, few_threads, shared
from deniable.likelihood.sources import Source, build_problem
from deniable.likelihood.steps import along, em, level
from deniable.mechanisms import Tally
from deniable.metric.line import Decaying

_SETTLED = 1e-3  # EMS ends when all reports together gain less than this


def mle_ems(
    source: Source, data: Tally | Array, *, iterations: int = 10_000, ordered: bool | None = None
) -> Solution:
    """EM with neighbors averaged after each step, the rule of the square wave paper.

    It is not monotone, and it is not meant to reach the maximum: `stop` says "passes done" where the
    likelihood settled.

    Reference: li2020
    """
    problem = build_problem(source, data, ordered)
    if not isinstance(problem, Listed):
        raise InvalidParameter("EMS needs the reports: counts of support do not determine their likelihood")
    refuse_unordered(problem)
    rows, search, blur = problem.rows, Search("ems", 1e-9, iterations), along(problem.shape, smoothed_121)
    shares, last, gap, step = rows.even, -math.inf, math.inf, -1
    with few_threads(0.0):
        for step in range(iterations + 1):
            likely = rows.forward(shares)
            ascent = rows.backward(shared(problem.outputs, likely))
            gap = rows.gap(ascent, shares)
            now = problem.n * level(problem.outputs, likely)
            if search.enough(step, gap):
                return search.done(shares, gap, step)
            if abs(now - last) < _SETTLED:
                return Solution(shares, gap, step, "passes done", search.method)
            last = now
            if step < iterations:
                after = rows.normal(blur(shares * ascent))
                if not np.isfinite(after).all():
                    return search.stalled(shares, gap, step)
                shares = after
    return search.ended(shares, gap, step)


def smoothed_121(shares: Floats) -> Floats:
    """Neighbors averaged by (1, 2, 1) / 4, and by (2, 1) / 3 at the ends."""
    result = shares.copy()
    result[..., 1:-1] = (shares[..., :-2] + 2 * shares[..., 1:-1] + shares[..., 2:]) / 4
    result[..., 0] = (2 * shares[..., 0] + shares[..., 1]) / 3
    result[..., -1] = (2 * shares[..., -1] + shares[..., -2]) / 3
    return result


def mle_iteration(
    source: Source, data: Tally | Array, *, tolerance: float = 1e-9, iterations: int = 100_000
) -> Solution:
    """EM that begins at the reported shares, Definition 4.1 of the paper, for geometric noise on a line.

    Reference: kacem2018
    """
    problem = build_problem(source, data)
    if not (isinstance(problem, Counted) and isinstance(problem.channel, GeometricChannel)):
        raise InvalidParameter(
            "the iteration begins at the reported shares, whose zeros would never recover: that is proven "
            "harmless for the geometric mechanism only; use mle(..., method='em'), which begins uniform"
        )
    positions = np.flatnonzero(problem.counts)
    outputs = problem.counts[positions] / problem.n
    rows = Decay(Decaying(positions, problem.channel.epsilon))
    solution = em(rows, outputs, Search("iteration", tolerance, iterations), outputs)
    return replace(solution, shares=expand(solution.shares, positions, problem.k))
