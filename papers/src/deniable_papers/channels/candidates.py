"""Builds channels on a line of values that make the same promise: neighbors lose at most epsilon.

The channels are in floats, for comparing; the mechanisms that devices sample are in integers (see `metric`).
Every channel has an inverse in closed form, so that its risk takes O(n) steps and no matrix. `risk` computes
the same from any matrix.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

import numpy as np

from deniable.arrays import Floats
from deniable.likelihood import GeometricChannel, mle
from deniable.mechanisms import Tally
from deniable_papers.channels.risk import risk

ALL_OF_IT = 1 - 1e-6
"""A channel whose neighbors lose this part of epsilon spends it."""
_ROUNDED = 1 - 1e-12  # what is aimed at, so that rounding keeps the promise
_SCAN, _HALVINGS = 64, 36
_TOLERANCE = 1e-11
_PEOPLE = 1 << 52  # a prior, as counts
_GONE = (
    1e-6  # an output with so small a part of its value's share is one that the search was about to give up
)


def step_loss(channel: Floats) -> float:
    """The smallest epsilon per step of a channel on a line: the worst ratio of neighboring rows."""
    above, below = channel[:-1], channel[1:]
    if ((above > 0) != (below > 0)).any():
        return math.inf
    seen = above > 0
    return float(np.abs(np.log(above[seen]) - np.log(below[seen])).max())


class Candidate(ABC):
    """A channel that is compared: what its neighbors lose, how far off its shares will be, and its matrix."""

    if TYPE_CHECKING:  # read-only here, so that a candidate may store it or compute it

        @property
        def loss(self) -> float:
            """What neighbors lose at most, per step."""

    why_less: str | None
    """Why that can be less than epsilon, if it can."""

    @abstractmethod
    def matrix(self) -> Floats:
        """Rows of Pr(output | value)."""

    @abstractmethod
    def risk(self, prior: Floats, loss: str) -> float:
        """n times the expected loss of the most likely shares from n reports, for large n."""

    @final
    def unspent(self, epsilon: float) -> str | None:
        """Why neighbors lose less than epsilon; None where they lose all of it."""
        return self.why_less if self.loss < ALL_OF_IT * epsilon else None


@final
@dataclass(frozen=True, eq=False)
class Weakening(Candidate):
    """Pr(y | x) = o_y e^(-rate d) / z_x: geometric, exponential, Blahut and Arimoto's."""

    rate: float
    outputs: Floats = field(repr=False)
    """The factor o of each output; 0 for one that is never sent."""
    scales: Floats = field(repr=False)
    """The sum z of each value's row."""
    why_less: str | None = None

    @property
    def loss(self) -> float:
        """The rate, and how much neighbors' scales differ; 0 where all outputs are on one side."""
        sent = np.flatnonzero(self.outputs)
        between = self.scales[sent[0] : sent[-1] + 1]
        return self.rate + float(np.abs(np.diff(np.log(between))).max()) if between.size > 1 else 0.0

    def matrix(self) -> Floats:
        positions, sent = np.arange(self.outputs.size), self.outputs > 0
        heights = np.full((positions.size, positions.size), -np.inf)
        heights[:, sent] = np.log(self.outputs[sent]) - self.rate * np.abs(
            positions[:, None] - positions[sent]
        )
        # a row far from all outputs is still one
        channel = np.exp(heights - heights.max(axis=1, keepdims=True))
        return np.asarray(channel / channel.sum(axis=1, keepdims=True))

    def risk(self, prior: Floats, loss: str) -> float:
        """By the inverse diag(1 / o) K^-1 diag(z), whose middle K^-1 has three diagonals."""
        if not self.outputs.all():
            return math.inf
        kernel = GeometricChannel(prior.size - 1, self.rate).kernel
        main, side = kernel.diagonals
        own, before, after = main * self.scales, np.zeros(prior.size), np.zeros(prior.size)
        before[1:], after[:-1] = side * self.scales[:-1], side * self.scales[1:]
        chances = self.outputs * kernel.times(prior / self.scales)
        sizes = 1 / self.outputs
        before, own, after = before * sizes, own * sizes, after * sizes
        left = np.arange(prior.size)[::-1]
        if (
            loss == "cdf"
            # cumulative: what is before, with one's own, and 1 ever after, since rows of the inverse add up
            # to 1
        ):
            squares = before**2 + (before + own) ** 2 + left
        else:
            weigh = _weights(loss, prior)
            squares = own**2 * weigh
            squares[1:] += before[1:] ** 2 * weigh[:-1]
            squares[:-1] += after[:-1] ** 2 * weigh[1:]
        return _scatter(chances, squares, prior, loss)


@final
@dataclass(frozen=True, eq=False)
class Direct(Candidate):
    """Randomized response: any two values lose epsilon, so neighbors do, too."""

    n: int
    loss: float
    why_less: str | None = None

    def matrix(self) -> Floats:
        odds = np.ones((self.n + 1, self.n + 1))
        np.fill_diagonal(odds, math.exp(self.loss))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))

    def risk(self, prior: Floats, loss: str) -> float:
        """By the inverse (1 - q) / (p - q) on the diagonal and -q / (p - q) elsewhere."""
        q = 1 / (math.exp(self.loss) + self.n)
        gain = math.expm1(self.loss) * q
        if loss == "cdf":
            reached = q * np.arange(1, prior.size + 1)
            squares = float((reached**2).sum()) + np.cumsum((1 - 2 * reached)[::-1])[::-1]
        else:
            weigh = _weights(loss, prior)
            squares = q * q * float(weigh.sum()) + (1 - 2 * q) * weigh
        return _scatter(q + gain * prior, squares / gain**2, prior, loss)


@final
@dataclass(frozen=True, eq=False)
class MatrixCandidate(Candidate):
    """Any matrix."""

    table: Floats = field(repr=False)
    why_less: str | None = None

    @property
    def loss(self) -> float:
        """From the rows."""
        return step_loss(self.table)

    def matrix(self) -> Floats:
        return self.table

    def risk(self, prior: Floats, loss: str) -> float:
        return risk(self.table, prior, loss)


def geometric(n: int, epsilon: float) -> Weakening:
    """Two-sided geometric noise, clamped to the ends."""
    return Weakening(epsilon, GeometricChannel(n, epsilon).ends, np.ones(n + 1))


def direct(n: int, epsilon: float) -> Direct:
    """Randomized response."""
    return Direct(n, epsilon)


def exponential(n: int, epsilon: float) -> Weakening:
    """e^(-epsilon d / 2), scaled to rows of one: the half pays for the scaling, by the usual proof."""
    return _scaled(
        epsilon / 2,
        np.ones(n + 1),
        "as proven: half of epsilon is kept for the scaling of rows, needed or not",
    )


def calibrated_exponential(n: int, epsilon: float) -> Weakening:
    """e^(-b d), scaled to rows of one, with the largest b that keeps the promise.

    `deniable_papers.mechanisms.exponential` is the exact one. Scales are concave along the line, so that the
    loss is that of the first step, and it grows with b.
    """
    from scipy.optimize import brentq

    target, alike = epsilon * _ROUNDED, np.ones(n + 1)
    rate = brentq(
        lambda b: _scaled(b, alike).loss - target, epsilon / 2 * (1 - 1e-9), epsilon, xtol=1e-300, rtol=1e-14
    )
    made = _scaled(float(rate), alike)
    return made if made.loss <= epsilon else _scaled(float(rate) * _ROUNDED, alike)


def blahut_arimoto(n: int, epsilon: float, prior: Floats) -> Weakening:
    """o_y e^(-b d), scaled to rows of one: the least information for its mean distance.

    The rate b is the largest that keeps the promise. The channel may give up outputs; then reports do not
    determine the shares, and the risk is infinite. As b grows,
    they come back one by one, and where the outermost does, the loss jumps to 2 b before it falls again. So
    the loss does not grow with b, the rates are scanned from epsilon down to epsilon / 2 (which always keeps
    the promise), and where the largest that is allowed ends at a jump, epsilon is not spent.
    """
    low, high = epsilon / 2 * _ROUNDED, None
    for rate in np.linspace(epsilon, epsilon / 2, _SCAN)[:-1]:
        if _least_informative(n, float(rate), prior).loss <= epsilon * _ROUNDED:
            low = float(rate)
            break
        high = float(rate)
    if high is not None:
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if _least_informative(n, middle, prior).loss <= epsilon * _ROUNDED:
                low = middle
            else:
                high = middle
    return _least_informative(n, low, prior)


def _least_informative(n: int, rate: float, prior: Floats) -> Weakening:
    """Solve Blahut and Arimoto's iteration: o maximizes sum_x prior_x ln z_x, with z_x = sum_y o_y e^(-b d).

    These are the most likely shares behind reports that are spread as the prior, through geometric noise of
    this rate.
    """
    noise = GeometricChannel(n, rate)
    outputs = noise.inverse(prior)
    if outputs.min() < 0:
        counts = np.maximum(1, np.round(prior * _PEOPLE)).astype(np.int64)
        outputs = mle(noise, Tally(int(counts.sum()), counts), tolerance=_TOLERANCE).frequencies
    outputs = np.where(outputs < _GONE * prior, 0.0, outputs)
    if np.count_nonzero(outputs) == 1:
        why = "at such a rate the least information is zero: all values send the same"
    else:
        why = "with a larger rate a further output comes in at an end, which would lose more than epsilon"
    return _scaled(rate, outputs / outputs.sum(), why)


def _scaled(rate: float, outputs: Floats, why_less: str | None = None) -> Weakening:
    return Weakening(rate, outputs, GeometricChannel(outputs.size - 1, rate).kernel.times(outputs), why_less)


def _weights(loss: str, prior: Floats) -> Floats:
    """How much the square of each share's error counts."""
    return np.ones(prior.size) if loss == "l2" else 1 / (2 * prior)


def _scatter(chances: Floats, squares: Floats, prior: Floats, loss: str) -> float:
    """The variance of what a report adds to the estimate: its mean square less the squared prior."""
    known = float(
        (np.cumsum(prior) ** 2).sum() if loss == "cdf" else (prior**2 * _weights(loss, prior)).sum()
    )
    return float(chances @ squares) - known
