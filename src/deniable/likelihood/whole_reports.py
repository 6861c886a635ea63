"""Finds the shares of all attributes from whole reports with fakes: their matrix, steps, errors and problem.

A report has one real attribute, drawn with a known chance; the others are fakes. Divided by how likely it is
if all are fakes, its likelihood is a sum over the attributes: chance times how many times likelier its report
is from people than from the fake. That sum is linear in the shares of all attributes, one after the other,
and the shares of each add up to one. So the log-likelihood is concave.

The curvature at the maximum is the observed information. A step of Newton from there, without the rule that
no share is below zero, leads to the center: an estimate that is normal about the truth even where the maximum
is at the boundary. An interval is where the curve through the center is no more than 1.92 nats (at 95 %)
below the maximum, so that it holds the maximum, too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import final

import numpy as np

from deniable.arrays import Array, Floats, Integers
from deniable.errors import InvalidParameter
from deniable.estimate import Interval
from deniable.estimate.consistency import simplex
from deniable.likelihood.certificate import round_up_log
from deniable.likelihood.interior import Newton, Point, solve_positive
from deniable.likelihood.problem import Problem, Reported, refuse_empty
from deniable.likelihood.rows import Rows, Supports, gram_by_blocks, normal, shared
from deniable.likelihood.supports import EVEN, compute_fake_likelihoods, merge_equal, pack_layers
from deniable.randomness.simulated import seeded
from deniable.records import Fake, Faked, Records

_WORK = 1 << 21  # numbers made at a time
_CONDITION = 1e12  # beyond this, floats do not tell a direction that is known little from one that is not


@final
@dataclass(frozen=True, eq=False)
class Attribute(Problem):
    """One attribute of whole reports, whose likelihood is that of all attributes."""

    n: int
    k: int
    level: float
    """The mean logarithm of a whole report's likelihood, up to a constant."""
    information: Information

    def likelihood(self, shares: Floats) -> float:
        return self.level

    def again(self, shares: Floats, generator: np.random.Generator) -> Problem:
        raise InvalidParameter(
            "whole reports are drawn from the shares of all attributes; the errors of one come from the "
            "curvature of the likelihood, which needs no repeats"
        )


def build_whole_problem(mechanism: Faked, records: Records) -> Reported:
    """The shares of all attributes, one after the other, behind whole reports."""
    tallies = mechanism.tally(records)  # refuses what cannot have been sent
    refuse_empty(records.n)
    columns, times = _merge_records(records.columns)
    chance = 1.0 / mechanism.d
    parts = [_build_part(fake, column, chance) for fake, column in zip(mechanism.fakes, columns, strict=True)]
    rows = Mixture(parts, times.size)
    unbiased = np.concatenate([simplex(estimate.frequencies) for estimate in mechanism.estimate(tallies)])
    guess = rows.normal((1 - EVEN) * unbiased + EVEN * rows.even)
    return Reported(records.n, rows, times / records.n, guess, partial(_draw_again, mechanism, records.n))


def _build_part(fake: Fake, reports: Array, chance: float) -> Part:
    mechanism = fake.part
    if mechanism.names_value and reports.ndim == 1:
        all_values = mechanism.blank(mechanism.k)
        all_values[:] = np.arange(mechanism.k)
        return NamedPart(reports, chance / compute_fake_likelihoods(fake, all_values), mechanism.odds)
    levels = chance / compute_fake_likelihoods(fake, reports)
    same = levels.size > 0 and bool((levels == levels[0]).all())
    supports = Supports(mechanism.k, pack_layers(mechanism, reports))
    return SetPart(supports, float(levels[0]) if same else levels)


def _merge_records(columns: Sequence[Array]) -> tuple[list[Array], Integers]:
    """Equal records once, with how often they came, where that is worth it."""
    n = len(columns[0])
    raw = [np.ascontiguousarray(column).view(np.uint8).reshape(n, -1) for column in columns]
    joined, times = merge_equal(np.concatenate(raw, axis=1))
    ends = np.cumsum([0, *(part.shape[1] for part in raw)]).tolist()
    merged = []
    for column, start, stop in zip(columns, ends[:-1], ends[1:], strict=True):
        piece = np.ascontiguousarray(joined[:, start:stop]).view(column.dtype)
        merged.append(piece.reshape(len(times), *column.shape[1:]))
    return merged, times


def _draw_again(mechanism: Faked, n: int, shares: Floats, generator: np.random.Generator) -> Reported:
    """Reports depend on the shares of single attributes only, so these are drawn independently."""
    ends = np.cumsum([part.k for part in mechanism.parts])[:-1]
    table = [
        generator.choice(shares_of_one.size, n, p=shares_of_one / shares_of_one.sum())
        for shares_of_one in np.split(shares, ends)
    ]
    words = seeded(int(generator.integers(1 << 62)))
    return build_whole_problem(mechanism, mechanism.privatize(np.column_stack(table), words))


class Part(ABC):
    """What the reports of one attribute say about its values: chance times likelihood, over the fake's."""

    k: int

    @abstractmethod
    def forward(self, shares: Floats) -> Floats:
        """For each report, the sum over the values."""

    @abstractmethod
    def backward(self, weights: Floats) -> Floats:
        """For each value, the sum over the reports of weight times this."""

    @abstractmethod
    def table(self, span: slice) -> Floats:
        """Some reports by all values."""


@final
class NamedPart(Part):
    """Reports that name a value: how much each speaks for all values, and how many times more for its own."""

    def __init__(self, reported: Array, levels: Floats, odds: float) -> None:
        self.k, self.reported, self.levels, self.odds = levels.size, reported, levels, odds

    def forward(self, shares: Floats) -> Floats:
        return np.asarray((self.levels * (shares.sum() + (self.odds - 1) * shares))[self.reported])

    def backward(self, weights: Floats) -> Floats:
        weighed = self.levels * np.bincount(self.reported, weights, minlength=self.k)
        return np.asarray(weighed.sum() + (self.odds - 1) * weighed)

    def table(self, span: slice) -> Floats:
        return np.asarray(self.by_value[self.reported[span]])

    @cached_property
    def by_value(self) -> Floats:
        """How likely each value that can be named is, a row for each, by true values."""
        return np.asarray(self.levels[:, None] * (1 + (self.odds - 1) * np.eye(self.k)))


@final
class SetPart(Part):
    """Reports that support sets of values, and how much each speaks for a value that it does not support."""

    def __init__(self, supports: Supports, levels: Floats | float) -> None:
        self.k, self.supports, self.levels = supports.k, supports, levels

    def forward(self, shares: Floats) -> Floats:
        return np.asarray(self.levels * self.supports.forward(shares))

    def backward(self, weights: Floats) -> Floats:
        return self.supports.backward(weights * self.levels)

    def table(self, span: slice) -> Floats:
        rows = self.supports.table(span)
        rows *= self.levels if isinstance(self.levels, float) else self.levels[span, None]
        return rows


@final
class Mixture(Rows):
    """Whole reports by the values of all attributes, one after the other."""

    def __init__(self, parts: Sequence[Part], size: int) -> None:
        self.parts, self.size = tuple(parts), size
        self.k = sum(part.k for part in parts)
        self.logs = np.zeros(size)
        ends = np.cumsum([0, *(part.k for part in parts)])
        self.starts = ends[:-1]
        """Where each attribute begins."""
        self.spans = [slice(*pair) for pair in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]

    @property
    def roundings(self) -> int:
        return self.k + self.size + 4 * len(self.parts)

    @property
    def work(self) -> float:
        if all(isinstance(part, NamedPart) for part in self.parts):
            return float(self.size) * len(self.parts) ** 2 + float(self.k) ** 3
        return super().work

    @property
    def even(self) -> Floats:
        return np.concatenate([np.full(part.k, 1.0 / part.k) for part in self.parts])

    def normal(self, shares: Floats) -> Floats:
        return np.concatenate([normal(shares[..., span]) for span in self.spans], axis=-1)

    def gap(self, ascent: Floats, shares: Floats) -> float:
        """The best shares of each attribute are among its values, so that Jensen's bound is the logarithm of
        the sum over the attributes of the largest D of each.
        """
        best = float(np.maximum.reduceat(ascent, self.starts).sum())
        return round_up_log(best * float(np.add.reduceat(shares, self.starts).max()), self.roundings)

    def forward(self, shares: Floats) -> Floats:
        likely = np.zeros(self.size)
        for part, span in zip(self.parts, self.spans, strict=True):
            likely += part.forward(shares[span])
        return likely

    def backward(self, weights: Floats) -> Floats:
        return np.concatenate([part.backward(weights) for part in self.parts])

    def gram(self, weights: Floats) -> Floats:
        naming = [part for part in self.parts if isinstance(part, NamedPart)]
        if len(naming) == len(self.parts):
            return self._gram_pairs(naming, weights)
        return gram_by_blocks(self.k, weights, self._table, _WORK)

    def _table(self, span: slice) -> Floats:
        return np.concatenate([part.table(span) for part in self.parts], axis=1)

    def _gram_pairs(self, parts: Sequence[NamedPart], weights: Floats) -> Floats:
        """From how much weight the reports of any two attributes have together."""
        gram = np.empty((self.k, self.k))
        for i, part in enumerate(parts):
            for j, other in enumerate(parts[: i + 1]):
                pairs = part.reported.astype(np.intp) * other.k + other.reported
                table = np.bincount(pairs, weights, minlength=part.k * other.k).reshape(part.k, other.k)
                products = part.by_value.T @ table @ other.by_value
                gram[self.spans[i], self.spans[j]] = products
                gram[self.spans[j], self.spans[i]] = products.T
        return gram


@final
class BlockNewton(Newton):
    """By the table of the curvature, with a multiplier for each attribute, so that no sum changes."""

    def __init__(self, rows: Mixture) -> None:
        self.rows = rows
        self.sums = np.repeat(np.eye(len(rows.parts)), [part.k for part in rows.parts], axis=0)
        """Values by attributes: whose each value is."""

    def move(self, at: Point, mu: float) -> Floats | None:
        curvature = self.rows.gram(shared(at.seen, at.likely))
        # sums of one's own do not change, so that this changes no step, and one does not need to cancel: some
        # fakes let the likelihood see no difference between more people in one attribute and in another
        curvature += np.diagonal(curvature).mean() * (self.sums @ self.sums.T)
        curvature[np.diag_indices(at.p.size)] += at.z / at.p
        right = np.column_stack([at.ascent + mu / at.p, self.sums])
        solved = solve_positive(curvature, right)
        if solved is None:
            return None
        free, responses = solved[:, 0], solved[:, 1:]
        move = free - responses @ np.linalg.solve(self.sums.T @ responses, self.sums.T @ free)
        return np.asarray(move) if np.isfinite(move).all() else None


@final
@dataclass(frozen=True, eq=False)
class Information:
    """Where shares are without boundaries, and how far that scatters."""

    center: Floats
    covariance: Floats

    @property
    def standard_errors(self) -> Floats:
        """How far each share scatters; infinite where the reports say nothing."""
        return np.sqrt(np.diagonal(self.covariance))

    def select(self, span: slice) -> Information:
        """The information about one attribute, whatever the shares of the others are."""
        return Information(self.center[span], self.covariance[span, span])

    def move(self, shares: Floats, generator: np.random.Generator) -> Floats:
        """Shares as far from these as an estimate is from the truth by chance."""
        if not np.isfinite(self.covariance).all():
            return generator.dirichlet(np.full(shares.size, 0.5))
        return generator.multivariate_normal(shares, self.covariance, method="eigh")

    def interval(self, shares: Floats, reach: float) -> Interval:
        """Around the center, this many standard errors and as far as the most likely shares are."""
        off = np.where(np.isfinite(self.center), shares - self.center, np.inf)
        far = np.hypot(reach * self.standard_errors, off)
        center = np.where(np.isfinite(far), self.center, 0.5)
        return Interval(np.clip(center - far, 0.0, 1.0), np.clip(center + far, 0.0, 1.0))


def observe_information(rows: Mixture, outputs: Floats, n: int, shares: Floats) -> Information:
    """The observed information of all shares, each attribute's on its simplex."""
    likely = rows.forward(shares)
    seen = shared(outputs, likely)
    curvature = rows.gram(shared(seen, likely))
    basis = [_span_differences(part.k) for part in rows.parts]
    moves = np.zeros((rows.k, rows.k - len(basis)))
    column = 0
    for span, part in zip(rows.spans, basis, strict=True):
        moves[span, column : column + part.shape[1]] = part
        column += part.shape[1]
    values, vectors = np.linalg.eigh(moves.T @ curvature @ moves)
    if not values[0] > values[-1] / _CONDITION:
        return Information(np.full(rows.k, np.nan), np.diag(np.full(rows.k, np.inf)))
    ways = moves @ vectors
    inverse = (ways / values) @ ways.T
    return Information(shares + inverse @ rows.backward(seen), inverse / n)


def _span_differences(k: int) -> Floats:
    """An orthonormal basis of all ways to move k shares that leave their sum (Helmert)."""
    basis = np.zeros((k, k - 1))
    for i in range(1, k):
        basis[:i, i - 1] = 1.0
        basis[i, i - 1] = -i
        basis[:, i - 1] /= np.sqrt(i * (i + 1))
    return basis
