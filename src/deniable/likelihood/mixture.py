"""Multiplies by the matrix of whole reports and the values of all attributes, without making it.

A report has one real attribute, drawn with a known chance; the others are fakes. Divided by how likely it is
if all are fakes, its likelihood is a sum over the attributes: chance times how many times likelier its report
is from people than from the fake. That sum is linear in the shares of all attributes, one after the other,
and the shares of each add up to one. So the log-likelihood is concave.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import final

import numpy as np

from deniable.arrays import Array, Floats
from deniable.likelihood.certificate import rounding
from deniable.likelihood.rows import Rows, Supports, normal

_WORK = 1 << 21  # numbers made at a time


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
        highest = best * float(np.add.reduceat(shares, self.starts).max())
        if not math.isfinite(highest) or highest <= 0:
            return math.inf
        return math.log(max(highest, 1.0)) + rounding(self.roundings)

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
        gram = np.zeros((self.k, self.k))
        step = max(1, _WORK // self.k)
        roots = np.sqrt(weights)
        for start in range(0, self.size, step):
            block = slice(start, start + step)
            rows = np.concatenate([part.table(block) for part in self.parts], axis=1)
            rows *= roots[block, None]
            gram += rows.T @ rows
        return gram

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
